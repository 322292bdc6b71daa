/* State of a fit to collectives, and how well a machine predicts its cells. */
#ifndef PORTOLAN_FIT_COLLECTIVE_CELLS_H
#define PORTOLAN_FIT_COLLECTIVE_CELLS_H

#include "machine/machine_internal.h"
#include "portolan/fit.h"
#include "portolan/score.h"
#include "price/tape.h"

enum { COLLECTIVE_CANDIDATES_MAX = 32 };

/* Tapes of one candidate's price, the latest first: with other parameters, other comparisons hold. */
enum { COLLECTIVE_TAPES_MAX = 16 };

typedef struct {
    int count;
    bool refused;
    pto_tape_t *tape[COLLECTIVE_TAPES_MAX];
} collective_tapes_t;

typedef struct {
    pto_score_t score;
    pto_machine_t *machine;    /* with the values fitted so far */
    collective_tapes_t *tapes; /* of each candidate of each cell, while only values change; else NULL */
    pto_error_t *err;
    pto_status_t status; /* of the first price that failed */
} collective_fit_t;

static inline bool collective_fit_has(const pto_score_cell_t *cell) {
    return !cell->own_algorithms && cell->candidate_count <= COLLECTIVE_CANDIDATES_MAX;
}

/* ln(predicted / measured); 1 if there is no prediction. `rule` and `call_bytes` as in pto_score_price. */
double collective_fit_miss(collective_fit_t *fit, const pto_score_cell_t *cell, int candidate,
                           const pto_library_rule_t *rule, int64_t *call_bytes);

/* Badness of a cell, given the misses of its candidates: the mean of |miss| plus the regret of the pick that
 * they lead to. */
double collective_fit_badness(const pto_score_cell_t *cell, const double *miss);

/* Keep tapes of prices without a rule, until the end. Between, the machine's fitted values change, but none
 * becomes known or unknown. */
void collective_fit_begin_tapes(collective_fit_t *fit);
void collective_fit_end_tapes(collective_fit_t *fit);

#endif
