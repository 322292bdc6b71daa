/* How badly a machine predicts one measured cell. */
#include "collective_cells.h"

#include <math.h>

double collective_fit_miss(collective_fit_t *fit, const pto_score_cell_t *cell, int candidate,
                           const pto_library_rule_t *rule, int64_t *call_bytes) {
    double seconds = 0;
    if (fit->status == PTO_OK)
        fit->status = pto_score_price(cell, candidate, fit->machine, rule, call_bytes, &seconds, fit->err);
    return seconds > 0 ? log(seconds / cell->candidate[candidate].measured_s) : 1;
}

double collective_fit_badness(const pto_score_cell_t *cell, const double *miss) {
    double sum = 0;
    int pick = 0;
    for (int c = 0; c < cell->candidate_count; c++) {
        sum += fabs(miss[c]);
        if (exp(miss[c]) * cell->candidate[c].measured_s < exp(miss[pick]) * cell->candidate[pick].measured_s)
            pick = c;
    }
    return sum / cell->candidate_count + pto_score_regret(cell, pick);
}
