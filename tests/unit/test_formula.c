/* The formulas that a report holds give the prices of the program with other parameters, or say that they
 * don't know. */
#include "decide/candidates.h"
#include "made_machine.h"
#include "must.h"
#include "report/cell_formulas.h"
#include "sample.h"
#include "test.h"

enum { VARIABLES = 6, TRIALS = 12 };

static const double range = 16;

typedef struct {
    pto_machine_t *machine;
    pto_machine_param_t *param;
    int param_count;
    uint64_t random;
    int64_t cells;
    int64_t prices;  /* compared */
    int64_t unknown; /* no formula holds */
    int64_t refused;
    int64_t extrapolated; /* cells of NCCL beyond what was measured */ /* the price is not a formula */
} work_t;

static double unit_random(work_t *work) {
    work->random = work->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(work->random >> 11) / (double)(UINT64_C(1) << 53);
}

/* Returns the price by the first formula that holds; -1: none does. */
static double candidate_value(const pto_cell_formulas_t *cell, const pto_candidate_t *candidate,
                              const double *value) {
    double seconds = -1;
    for (int i = 0; i < candidate->formula_count; i++)
        if (pto_formula_price(&cell->formulas, candidate->formula_first + i, value, &seconds))
            return seconds;
    return -1;
}

/* Returns the price with these values of the variables and all operations, chosen as pto_plan_choose and the
 * page's script do; -1: it is not known. */
static double cell_value(const pto_cell_formulas_t *cell, const double *value) {
    double best_s = INFINITY;
    for (int i = 0; i < cell->count;) {
        double algorithm_s = INFINITY;
        const pto_candidate_t *first = &cell->candidate[i];
        bool ended = false;
        for (; i < cell->count && cell->candidate[i].algorithm == first->algorithm; i++) {
            double seconds = ended ? 0 : candidate_value(cell, &cell->candidate[i], value);
            if (seconds < 0)
                return -1;
            if (!ended)
                algorithm_s = fmin(algorithm_s, seconds);
            ended = ended || (first->in_chunks && seconds > PTO_HOPELESS * algorithm_s);
        }
        best_s = fmin(best_s, algorithm_s);
    }
    return isinf(best_s) ? -1 : best_s;
}

static double formulas_value(const pto_cell_formulas_t *cell, const double *variable) {
    const size_t variables = (size_t)cell->formulas.variable_count;
    double *value = calloc(variables + (size_t)cell->formulas.operation_count + 1, sizeof *value);
    assert_non_null(value);
    memcpy(value, variable, variables * sizeof *value);
    pto_formulas_operate(&cell->formulas, value);
    double seconds = cell_value(cell, value);
    free(value);
    return seconds;
}

/* The parameters that most seconds of the prediction come from. */
static int largest_terms(const pto_prediction_t *prediction, pto_formula_variable_t variable[VARIABLES]) {
    int count = 0;
    while (count < VARIABLES) {
        const pto_term_t *found = NULL;
        for (int t = 0; t < prediction->explanation.count; t++) {
            const pto_term_t *term = &prediction->explanation.term[t];
            bool taken = !term->param || !(term->seconds > 0);
            for (int i = 0; i < count && !taken; i++)
                taken = variable[i].param == term->param;
            if (!taken && (!found || term->seconds > found->seconds))
                found = term;
        }
        if (!found)
            break;
        double value = found->param->value;
        variable[count++] = (pto_formula_variable_t){found->param, value / range, value * range};
    }
    return count;
}

static void compare(work_t *work, const pto_scenario_t *scenario, int64_t point,
                    const pto_strategy_t *strategy, const pto_cell_formulas_t *formulas,
                    const pto_formula_variable_t *variable, int count) {
    double kept[VARIABLES], value[VARIABLES];
    for (int i = 0; i < count; i++)
        kept[i] = variable[i].param->value;
    for (int trial = 0; trial < TRIALS; trial++) {
        for (int i = 0; i < count; i++) {
            bool moves = trial > 0 && (trial % count == i || (trial > count && (trial / 2 + 1) % count == i));
            value[i] = moves ? kept[i] * pow(range, 2 * unit_random(work) - 1) : kept[i];
            ((pto_param_t *)variable[i].param)->value = value[i];
        }
        pto_plan_t *plan = NULL;
        pto_price_t price = {0};
        assert_int_equal(pto_plan_choose(scenario, work->machine, point, strategy, &plan, &price, NULL, NULL),
                         PTO_OK);
        double seconds = formulas_value(formulas, value);
        if (seconds < 0)
            work->unknown++;
        else if (fabs(seconds - price.seconds) > 1e-9 * price.seconds)
            fail_msg("%s by %s at %lld bytes: %.17g, not %.17g (trial %d)",
                     pto_collective_name(scenario->collective), strategy->name,
                     (long long)scenario->bytes.value[point], seconds, price.seconds, trial);
        work->prices++;
        pto_plan_destroy(plan);
        if (trial == 0)
            assert_true(seconds > 0);
    }
    for (int i = 0; i < count; i++)
        ((pto_param_t *)variable[i].param)->value = kept[i];
}

static void check_scenario(work_t *work, const char *text) {
    const int64_t every = test_sample() > 1 ? 5 : 1;
    pto_scenario_t scenario;
    pto_predictions_t predictions;
    pto_error_t err = {0};
    if (pto_scenario_parse(text, strlen(text), "made", &scenario, &err) != PTO_OK)
        fail_msg("%s: %s", text, err.message);
    assert_int_equal(pto_scenario_bind(&scenario, work->machine, NULL), PTO_OK);
    if (pto_predict(&scenario, work->machine, true, &predictions, NULL) != PTO_OK) {
        pto_scenario_fini(&scenario);
        return;
    }
    for (int64_t point = 0; point < predictions.point_count; point++)
        for (int s = 0; s < predictions.strategy_count; s++) {
            pto_formula_variable_t variable[VARIABLES];
            const pto_prediction_t *prediction = pto_prediction_at(&predictions, point, s);
            pto_cell_formulas_t formulas;
            if (!prediction->applicable || prediction->price.seconds <= 0 || work->cells++ % every != 0)
                continue;
            int count = largest_terms(prediction, variable);
            assert_int_equal(pto_cell_formulas(&scenario, work->machine, point, predictions.strategy[s],
                                               variable, count, &formulas, NULL),
                             PTO_OK);
            if (formulas.reason[0] && strcmp(predictions.strategy[s]->name, "nccl") == 0)
                fail_msg("nccl has no formula: %s", formulas.reason);
            work->extrapolated += prediction->price.extrapolated.gpus > 0;
            if (formulas.reason[0])
                work->refused++;
            else
                compare(work, &scenario, point, predictions.strategy[s], &formulas, variable, count);
            pto_cell_formulas_fini(&formulas);
        }
    pto_predictions_fini(&predictions);
    pto_scenario_fini(&scenario);
}

static void check_machine(work_t *work) {
    static const char *const layouts[] = {"{nodes: 1, gpus_per_node: 4, procs_per_gpu: 2}",
                                          "{nodes: 4, gpus_per_node: 4, procs_per_gpu: 2}",
                                          "{nodes: 3, gpus_per_node: 2, procs_per_gpu: 1}"};
    for (int c = 0; c < PTO_COLLECTIVE_COUNT; c++)
        for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
            char text[512];
            if (c == PTO_COLLECTIVE_HALO || c == PTO_COLLECTIVE_PAIR || c == PTO_COLLECTIVE_ALLTOALLV ||
                (c == PTO_COLLECTIVE_MESSAGES && l == 0))
                continue;
            snprintf(text, sizeof text,
                     "scenario: x\nmachine: m\ncollective: %s\nlayout: %s\nbytes: [64, 65536, 1048576]\n",
                     pto_collective_name((pto_collective_t)c), layouts[l]);
            check_scenario(work, text);
        }
    static const char *const others[] = {
        "scenario: x\nmachine: m\ncollective: pair\ndistance: off_node\nbytes: [4096, 1048576, 16777216]\n",
        "scenario: x\nmachine: m\ncollective: alltoallv\nlayout: {nodes: 2, gpus_per_node: 2, procs_per_gpu: "
        "2}\nbytes: [4096, 1048576]\ncounts: {skew: 0.5, seed: 1}\n",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        check_scenario(work, others[i]);
}

TEST(formulas_are_prices_where_every_term_counts) {
    work_t work = {.machine = kept_machine(), .random = 1};
    check_machine(&work);
    print_message("# %lld prices, %lld not known, %lld cells refused\n", (long long)work.prices,
                  (long long)work.unknown, (long long)work.refused);
    assert_true(work.prices > (test_sample() > 1 ? 200 : 1000) && work.extrapolated > 0);
    assert_true(work.unknown * 4 < work.prices);
}

TEST(formulas_are_prices_on_machines) {
    static const char *const paths[] = {"scenarios/machines/summit-spectrum-refit.yaml",
                                        "scenarios/machines/h200-x4.yaml",
                                        "scenarios/machines/lassen-spectrum-refit.yaml"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        work_t work = {.machine = must_open(paths[i]), .random = 1};
        check_machine(&work);
        print_message("# %s: %lld prices, %lld not known, %lld cells refused\n", paths[i],
                      (long long)work.prices, (long long)work.unknown, (long long)work.refused);
        assert_true(work.prices > 100);
        assert_true(work.unknown * 10 < work.prices);
    }
}
