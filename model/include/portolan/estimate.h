/* Estimates: what a collective of any size costs on one layout, and by which strategy, in well under a
 * microsecond. For compilers and schedulers, which ask often and have no communicator.
 *
 * The table of a collective has the prices of pto_predict_one at powers of two, and of the strategies that
 * are the cheapest there at as many sizes in between as it takes. An estimate is interpolated linearly
 * between two sizes. Where the price of the size in the middle is off that line by more than
 * PTO_ESTIMATE_TOLERANCE, or has another strategy, both halves are looked at in turn, down to a 256th of the
 * size. A size at which the price jumps, as between the protocols of messages, is found as exactly as that.
 */
#ifndef PORTOLAN_ESTIMATE_H
#define PORTOLAN_ESTIMATE_H

#include "portolan/api.h"
#include "portolan/pick.h"

PTO_API_BEGIN

#define PTO_ESTIMATE_TOLERANCE 0.005

/* Does not change, so that several threads may use it. */
typedef struct pto_estimates pto_estimates_t;

/* Price a table. `cell` has the collective and the layout; its `bytes` are the largest size (0: 1 GiB). The
 * table ends below that where no strategy applies, as where memory does not suffice. Takes some hundred
 * prices: milliseconds, or seconds where many routes have chunks to choose. The machine is not needed
 * afterwards; free `*estimates` with pto_estimates_destroy. Errors: those of pto_predict_one;
 * PTO_ERR_TOO_LARGE where a sweep of the powers of two is above the limit of work (pick.h). */
pto_status_t pto_estimates_create(const pto_machine_t *machine, const pto_ask_t *cell,
                                  pto_estimates_t **estimates, pto_error_t *err);

/* NULL is allowed. */
void pto_estimates_destroy(pto_estimates_t *estimates);

/* The sizes that were priced, in increasing order. */
int pto_estimates_count(const pto_estimates_t *estimates);
int64_t pto_estimates_bytes(const pto_estimates_t *estimates, int index);

/* Seconds, and the strategy if `strategy` is not NULL. Sizes below one element cost what one does. NaN and
 * NULL: the size is negative or above the table. */
double pto_estimate(const pto_estimates_t *estimates, int64_t bytes, const pto_strategy_t **strategy);

PTO_API_END

#endif
