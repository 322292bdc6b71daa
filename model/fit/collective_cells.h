/* The state of a fit to collectives, and its objective: how far a machine's predictions of the measured cells
 * (score.h) are off. Used by collectives.c and library_tables.c. */
#ifndef PTO_FIT_COLLECTIVE_CELLS_H
#define PTO_FIT_COLLECTIVE_CELLS_H

#include "machine/machine_internal.h"
#include "portolan/fit.h"
#include "portolan/score.h"
#include "prices.h"

enum { COLLECTIVE_CANDIDATES_MAX = 32 };

typedef struct {
    pto_score_t score;
    pto_machine_t *machine; /* with the values fitted so far */
    pto_fit_prices_t *prices;
    fit_price_t **price; /* cache: of each candidate of each cell, by the machine's tables; NULL: none yet */
    pto_error_t *err;
    pto_status_t status; /* the first error */
} collective_fit_t;

/* Whether a cell takes part in the fit. */
static inline bool collective_fit_has(const pto_score_cell_t *cell) {
    return !cell->own_algorithms && cell->candidate_count <= COLLECTIVE_CANDIDATES_MAX;
}

/* A candidate's miss: ln(predicted / measured), or 1 without a prediction. The rest as in pto_score_price. */
double collective_fit_miss(collective_fit_t *fit, const pto_score_cell_t *cell, int candidate,
                           const pto_library_rule_t *rule, int64_t *call_bytes);

/* The badness of a cell, which the fit minimises: the candidates' mean |miss| plus the pick's regret. */
double collective_fit_badness(const pto_score_cell_t *cell, const double *miss);

/* For a score that has been collected; release frees it, too. Errors: PTO_ERR_MEMORY. */
pto_status_t collective_fit_allocate(collective_fit_t *fit);
void collective_fit_release(collective_fit_t *fit);

/* Empty the cache, before the machine or its library's tables change. */
void collective_fit_forget_tables(collective_fit_t *fit);

#endif
