/* A price that is computed repeatedly with other values of a few parameters. A tape (tape/tape.h) records the
 * arithmetic of a price. A short tape keeps only the operations that depend on these parameters; replaying it
 * is much faster than pricing the plan. A tape holds only while its comparisons have the recorded results, so
 * several are kept for one price. Internal to libportolan. */
#ifndef PTO_DECIDE_KEPT_PRICE_H
#define PTO_DECIDE_KEPT_PRICE_H

#include "tape/tape.h"

enum { PTO_KEPT_TAPES_MAX = 16 };

/* `known` has a bit for each parameter: set if the machine has it. A price has at most 6 parameters, since
 * pto_kept_price_t.refused has a bit for each combination. */
typedef struct {
    unsigned known;
    pto_short_tape_t *tape;
} pto_kept_tape_t;

/* Must be zeroed at first. */
typedef struct {
    uint64_t refused; /* bit `known`: with these parameters, the price cannot be recorded */
    int count;
    pto_kept_tape_t kept[PTO_KEPT_TAPES_MAX]; /* the most recently used first */
} pto_kept_price_t;

/* Intermediate results of replays; prices share them. Must be zeroed at first. The caller frees `place`. */
typedef struct {
    double *place;
    size_t count;
} pto_kept_scratch_t;

/* Computes the price by a tape that holds for these parameter values. Returns false if there is none: price
 * the plan between pto_kept_price_begin and pto_kept_price_end. */
bool pto_kept_price_find(pto_kept_price_t *price, unsigned known, const double *value,
                         const pto_kept_scratch_t *scratch, double *seconds);
/* Begins to record a price. Returns NULL if it cannot be recorded. */
pto_tape_t *pto_kept_price_begin(const pto_kept_price_t *price, unsigned known);
/* Keeps the tape of a price of `seconds`, reduced to the `count` parameters. Frees `tape`, which may be NULL.
 */
void pto_kept_price_end(pto_kept_price_t *price, unsigned known, pto_tape_t *tape, double seconds,
                        const pto_param_t *const *param, int count, pto_kept_scratch_t *scratch);
/* Keeps a copy of a tape, reduced to the parameters. Does nothing when out of memory. */
void pto_kept_price_add(pto_kept_price_t *price, unsigned known, const pto_tape_t *tape,
                        const pto_param_t *const *param, int count, pto_kept_scratch_t *scratch);
void pto_kept_price_fini(pto_kept_price_t *price);

#endif
