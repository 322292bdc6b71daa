/* What the fit to collectives shares: the cells, what they say of a machine, and the tables of the library.
 */
#ifndef PORTOLAN_FIT_COLLECTIVES_H
#define PORTOLAN_FIT_COLLECTIVES_H

#include "portolan/fit.h"
#include "portolan/score.h"

enum { COLLECTIVE_CANDIDATES_MAX = 32 };

typedef struct {
    pto_score_t score;
    pto_machine_t machine; /* what is fitted so far */
    int64_t without_nodes;
    pto_error_t *err;
    pto_status_t status; /* of the first price that failed */
} collective_fit_t;

static inline bool collective_fit_has(const collective_fit_t *fit, const pto_score_cell_t *cell) {
    return cell->nodes != fit->without_nodes && !cell->own_algorithms &&
           cell->candidate_count <= COLLECTIVE_CANDIDATES_MAX;
}

/* ln(predicted / measured); where nothing is predicted, as if it were e times dearer. */
double collective_fit_miss(collective_fit_t *fit, const pto_score_cell_t *cell, int candidate,
                           const pto_library_rule_t *rule, pto_request_t *request);

/* How badly a cell is predicted, given its candidates' misses: their mean size, and the regret of the pick
 * that they lead to. */
double collective_fit_badness(const pto_score_cell_t *cell, const double *miss);

/* Where a library changes algorithms. */
typedef struct {
    pto_collective_t collective;
    int64_t bytes;
} collective_switch_t;

/* Choose the tables of the machine anew, with at most `room` switches, which are noted; returns their number
 * in
 * `*switch_count`. Errors: PTO_ERR_MEMORY, those of prices. */
pto_status_t collective_fit_library(collective_fit_t *fit, int room, collective_switch_t *switches,
                                    int *switch_count);

#endif
