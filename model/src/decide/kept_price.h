/* A price that is computed repeatedly with other values of a few parameters, kept as short tapes
 * (tape/tape.h): several, as each holds for certain results of its comparisons. Internal to libportolan. */
#ifndef PTO_DECIDE_KEPT_PRICE_H
#define PTO_DECIDE_KEPT_PRICE_H

#include "tape/tape.h"

enum { PTO_KEPT_TAPES_MAX = 16 };

typedef struct {
    unsigned known;
    pto_short_tape_t *tape;
} pto_kept_tape_t;

/* Zeroed at first. `known` says which of the parameters the machine has, by a bit for each; there are at most
 * 6, since `refused` has a bit for each of their combinations. */
typedef struct {
    uint64_t refused; /* a bit for each value of `known` with which the price cannot be recorded */
    int count;
    pto_kept_tape_t kept[PTO_KEPT_TAPES_MAX]; /* the most recently used first */
} pto_kept_price_t;

/* Scratch for replays, which prices share. Zeroed at first; free `place`. */
typedef struct {
    double *place;
    size_t count;
} pto_kept_scratch_t;

/* Computes the price by a tape that holds for these values. False: there is none; price the plan between
 * pto_kept_price_begin and pto_kept_price_end. */
bool pto_kept_price_find(pto_kept_price_t *price, unsigned known, const double *value,
                         const pto_kept_scratch_t *scratch, double *seconds);
/* Begins to record a price; NULL: it cannot be recorded. */
pto_tape_t *pto_kept_price_begin(const pto_kept_price_t *price, unsigned known);
/* Keeps the tape of a price of `seconds`; `param` is that of pto_tape_shorten. Frees `tape`. */
void pto_kept_price_end(pto_kept_price_t *price, unsigned known, pto_tape_t *tape, double seconds,
                        const pto_param_t *const *param, int count, pto_kept_scratch_t *scratch);
/* Keeps a tape, reduced to the parameters; nothing when out of memory. */
void pto_kept_price_add(pto_kept_price_t *price, unsigned known, const pto_tape_t *tape,
                        const pto_param_t *const *param, int count, pto_kept_scratch_t *scratch);
/* Frees the tapes. */
void pto_kept_price_fini(pto_kept_price_t *price);

#endif
