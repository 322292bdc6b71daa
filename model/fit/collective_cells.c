/* The objective of a fit to collectives, for one measured cell (collective_cells.h). */
#include "collective_cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t candidates_count(const collective_fit_t *fit) {
    return (size_t)fit->score.cell_count * COLLECTIVE_CANDIDATES_MAX;
}

pto_status_t collective_fit_allocate(collective_fit_t *fit) {
    fit->price = calloc(candidates_count(fit) + 1, sizeof(fit_price_t *));
    return fit->price ? PTO_OK
                      : pto_error_set(fit->err, PTO_ERR_MEMORY, "out of memory for a fit to collectives");
}

void collective_fit_release(collective_fit_t *fit) {
    free(fit->price);
    pto_score_fini(&fit->score);
}

void collective_fit_forget_tables(collective_fit_t *fit) {
    memset(fit->price, 0, candidates_count(fit) * sizeof(fit_price_t *));
}

static void find_params(const pto_machine_t *machine, const pto_param_t *param[FIT_PRICE_PARAMS]) {
    const pto_cost_table_t *reduce = &machine->reduce[PTO_SPACE_CPU];
    const pto_param_t *const found[FIT_PRICE_PARAMS] = {
        &machine->copies[PTO_COPY_H2H][PTO_REACH_ON_SOCKET].beta_s_per_byte,
        &machine->pageable[PTO_COPY_H2D].alpha_s,
        &machine->pageable[PTO_COPY_D2H].alpha_s,
        &machine->injection_s_per_message[PTO_SPACE_CPU],
        reduce->count > 0 ? &reduce->row[0].postal.beta_s_per_byte : NULL,
        &machine->contention,
    };
    memcpy(param, found, sizeof found);
}

/* Without a rule, the machine's tables choose one, so the price is cached until they change. */
static double price(collective_fit_t *fit, const pto_score_cell_t *cell, int candidate,
                    const pto_library_rule_t *rule, int64_t *call_bytes) {
    double seconds = 0;
    fit_price_call_t call = {.cell = cell, .candidate = candidate, .machine = fit->machine, .rule = rule};
    fit_price_t **known = &fit->price[(cell - fit->score.cell) * COLLECTIVE_CANDIDATES_MAX + candidate];
    fit_price_t *found = rule ? NULL : *known;
    find_params(fit->machine, call.param);
    if (!found)
        found = fit_price_find(fit->prices, &call);
    if (!rule)
        *known = found;
    fit->status = found ? fit_price_seconds(found, &call, call_bytes, &seconds, fit->err)
                        : pto_error_set(fit->err, PTO_ERR_MEMORY, "out of memory for a fit to collectives");
    return seconds;
}

double collective_fit_miss(collective_fit_t *fit, const pto_score_cell_t *cell, int candidate,
                           const pto_library_rule_t *rule, int64_t *call_bytes) {
    double seconds = fit->status == PTO_OK ? price(fit, cell, candidate, rule, call_bytes) : 0;
    return seconds > 0 ? log(seconds / cell->candidate[candidate].measured_s) : 1;
}

double collective_fit_badness(const pto_score_cell_t *cell, const double *miss) {
    double sum = 0, least_s = INFINITY;
    int pick = 0;
    for (int c = 0; c < cell->candidate_count; c++) {
        double predicted_s = exp(miss[c]) * cell->candidate[c].measured_s;
        sum += fabs(miss[c]);
        if (predicted_s < least_s) {
            least_s = predicted_s;
            pick = c;
        }
    }
    return sum / cell->candidate_count + pto_score_regret(cell, pick);
}
