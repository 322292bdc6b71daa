/* A cache of prices of measured collectives for a fit, which needs them again and again while it changes a
 * few numbers of the machine. Pricing a collective once records its arithmetic on a tape (tape/tape.h), to be
 * replayed with other values. */
#ifndef PTO_FIT_PRICES_H
#define PTO_FIT_PRICES_H

#include "machine/machine_internal.h"
#include "portolan/fit.h"
#include "portolan/score.h"

/* The parameters that a fit to collectives changes; all others keep their values. */
enum { FIT_PRICE_PARAMS = 6 };

/* A call to price. */
typedef struct {
    const pto_score_cell_t *cell;
    int candidate;
    const pto_machine_t *machine;
    const pto_library_rule_t *rule;             /* NULL: the machine's table; as in pto_score_price */
    const pto_param_t *param[FIT_PRICE_PARAMS]; /* of the machine; NULL: it has no such row */
} fit_price_call_t;

/* One candidate of a cell with one choice of the library. Owned by the prices. */
typedef struct fit_price fit_price_t;

/* Forgets all prices unless they are of this machine. The machine has no tables of the library, and the
 * parameters that a fit changes are unknown. */
void fit_prices_use(pto_fit_prices_t *prices, const pto_machine_t *machine);

/* Returns the price of a call. NULL: out of memory. */
fit_price_t *fit_price_find(pto_fit_prices_t *prices, const fit_price_call_t *call);

/* Sets the seconds of a price with the current values of the parameters; `call` is one for which it was
 * found. The rest is as in pto_score_price. */
pto_status_t fit_price_seconds(fit_price_t *price, const fit_price_call_t *call, int64_t *call_bytes,
                               double *seconds, pto_error_t *err);

#endif
