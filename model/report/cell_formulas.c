/* Makes the formulas of all plans of a cell (cell_formulas.h). A formula is made from a tape: the record of
 * the operations on parameters by which pto_price computed a price (tape/tape.h). It holds as long as the
 * comparisons on the tape have the same results. So a plan is priced at many trial values of the parameters:
 * where none of its formulas holds, one more is made. */
#include "report/cell_formulas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "decide/candidates.h"
#include "plan/plan_internal.h"

/* FORMULAS_MAX: of a plan. STEPS: trials of each parameter alone. */
enum { FORMULAS_MAX = 12, STEPS = 6, RANDOM_TRIALS = 24 };

/* The state while the plans of a cell are visited. */
typedef struct {
    const pto_machine_t *machine;
    const pto_formula_variable_t *variable;
    int variable_count;
    double *original; /* the variables' values on the machine */
    double *value;    /* their values in a trial */
    pto_cell_formulas_t cell;
    pto_error_t refused; /* why the cell has no formulas; its status is PTO_OK if it has */
} maker_t;

/* Adds the formula of a plan's price at the current parameters. `*fits` is false if the price needs
 * operations that a tape cannot record. */
static pto_status_t make_formula(maker_t *maker, const pto_plan_t *plan, bool *fits, pto_error_t *err) {
    pto_price_t price = {0};
    pto_tape_t *tape = pto_tape_begin();
    if (!tape)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a formula");
    pto_status_t status = pto_price(plan, maker->machine, &price, NULL, err);
    tape = pto_tape_end(tape, price.seconds);
    *fits = status != PTO_OK || tape != NULL;
    if (status == PTO_OK && tape)
        status = pto_formulas_add(&maker->cell.formulas, tape, err);
    pto_tape_destroy(tape);
    return status;
}

/* Whether any formula of a plan holds at the trial's values. */
static bool any_holds(const maker_t *maker, const pto_candidate_t *candidate) {
    const pto_formulas_t *formulas = &maker->cell.formulas;
    const size_t variables = (size_t)formulas->variable_count;
    double *value = malloc((variables + (size_t)formulas->operation_count + 1) * sizeof *value);
    double seconds;
    bool holds = false;
    if (!value)
        return false;
    memcpy(value, maker->value, variables * sizeof *value);
    pto_formulas_operate(formulas, value); /* after the variables */
    for (int i = 0; i < candidate->formula_count && !holds; i++)
        holds = pto_formula_price(formulas, candidate->formula_first + i, value, &seconds);
    free(value);
    return holds;
}

static pto_param_t *param_of(const maker_t *maker, int variable) {
    return (pto_param_t *)maker->variable[variable].param; /* of a machine that may be changed */
}

static void set_params(const maker_t *maker, const double *value) {
    for (int i = 0; i < maker->variable_count; i++)
        param_of(maker, i)->value = value[i];
}

/* A pseudorandom number from 0 to 1: the same sequence in all runs. */
static double unit_random(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 11) / (double)(UINT64_C(1) << 53);
}

/* Sets the values of a trial. The first trial has the original values. In the next ones, a single parameter
 * is at or between its bounds; in the last ones, all parameters are at random values between theirs. */
static void set_trial(const maker_t *maker, int trial, uint64_t *random) {
    /* The logarithm of a value, from the original (0) to the low bound (-1) or to the high one (1). */
    static const double step[STEPS] = {-1, -0.5, -0.25, 0.25, 0.5, 1};
    int singles = STEPS * maker->variable_count;
    for (int i = 0; i < maker->variable_count; i++) {
        const pto_formula_variable_t *variable = &maker->variable[i];
        double way = trial > singles ? 2 * unit_random(random) - 1 : 0;
        if (trial >= 1 && trial <= singles && (trial - 1) / STEPS == i)
            way = step[(trial - 1) % STEPS];
        double bound = way < 0 ? variable->low : variable->high;
        maker->value[i] = maker->original[i] * pow(bound / maker->original[i], fabs(way));
    }
}

/* Adds the formulas of a plan, which becomes `candidate`, to the cell; `*fits` as above. */
static pto_status_t add_formulas(maker_t *maker, const pto_plan_t *plan, pto_candidate_t *candidate,
                                 bool *fits, pto_error_t *err) {
    pto_formulas_t *formulas = &maker->cell.formulas;
    pto_status_t status = PTO_OK;
    uint64_t random = 1;
    int trials = 1 + STEPS * maker->variable_count + RANDOM_TRIALS;
    candidate->formula_first = formulas->formula_count;
    for (int trial = 0; trial < trials && candidate->formula_count < FORMULAS_MAX; trial++) {
        set_trial(maker, trial, &random);
        if (any_holds(maker, candidate))
            continue;
        set_params(maker, maker->value);
        status = make_formula(maker, plan, fits, err);
        set_params(maker, maker->original);
        if (status != PTO_OK || !*fits)
            break;
        candidate->formula_count++;
        if (formulas->formula[formulas->formula_count - 1].count == 0) /* has no conditions: always holds */
            break;
    }
    return status;
}

/* Adds a plan that the strategy may choose: a callback of pto_plan_candidates; the context is a maker_t. */
static pto_status_t visit(pto_plan_t **visited, bool in_chunks, void *context, pto_error_t *err) {
    maker_t *maker = context;
    pto_cell_formulas_t *cell = &maker->cell;
    const pto_plan_t *plan = *visited;
    const pto_request_t *request = &plan->request;
    pto_candidate_t candidate = {.algorithm = request->algorithm,
                                 .chunks = request->chunks,
                                 .staged_members = request->staged_members,
                                 .in_chunks = in_chunks};
    bool fits = true;
    if (maker->refused.status != PTO_OK)
        return PTO_OK;
    pto_error_t fault = {.status = PTO_OK};
    pto_status_t status = add_formulas(maker, plan, &candidate, &fits, &fault);
    if (status == PTO_OK && !fits)
        status = pto_error_set(&fault, PTO_ERR_TOO_LARGE,
                               "the price depends on parameters by more than sums and maxima");
    if (status == PTO_ERR_TOO_LARGE) { /* not returned: it would end a search for chunks */
        maker->refused = fault;
        return PTO_OK;
    }
    if (status != PTO_OK) {
        if (err)
            *err = fault;
        return status;
    }
    if (!PTO_EXTEND(cell->candidate, cell->count))
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for formulas");
    cell->candidate[cell->count++] = candidate;
    return PTO_OK;
}

pto_status_t pto_cell_formulas(const pto_scenario_t *scenario, const pto_machine_t *machine, int64_t point,
                               const pto_strategy_t *strategy, const pto_formula_variable_t *variable,
                               int variable_count, pto_cell_formulas_t *formulas, pto_error_t *err) {
    pto_error_t reason = {.status = PTO_OK};
    maker_t maker = {.machine = machine, .variable = variable, .variable_count = variable_count};
    maker.original = calloc(2 * (size_t)variable_count + 1, sizeof *maker.original);
    if (!maker.original)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for formulas");
    maker.value = maker.original + variable_count;
    maker.cell.formulas = (pto_formulas_t){.variable = variable, .variable_count = variable_count};
    for (int i = 0; i < variable_count; i++)
        maker.original[i] = variable[i].param->value;
    pto_status_t status = pto_plan_candidates(scenario, machine, point, strategy,
                                              &(pto_visit_candidate_t){visit, &maker}, &reason);
    free(maker.original);
    if (status == PTO_OK && maker.refused.status != PTO_OK) {
        status = maker.refused.status;
        reason = maker.refused;
    }
    if (status != PTO_OK) {
        pto_cell_formulas_fini(&maker.cell);
        if (!pto_leaves_cell_out(status)) {
            if (err)
                *err = reason;
            return status;
        }
        memcpy(maker.cell.reason, reason.message, sizeof maker.cell.reason);
    }
    *formulas = maker.cell;
    return PTO_OK;
}

void pto_cell_formulas_fini(pto_cell_formulas_t *formulas) {
    pto_formulas_fini(&formulas->formulas);
    free(formulas->candidate);
    *formulas = (pto_cell_formulas_t){0};
}
