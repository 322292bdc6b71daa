/* Which sizes of a case are measured, and how often: a plan that follows the medians so far. The sizes of
 * --bytes are a ladder; the first pass measures every second power of two of it, in two visits that lie
 * apart, because a slow spell of the machine spoils all samples of a visit. Then
 *
 *   - an interval is halved while a size at one of its ends lies off the line between its neighbours, and a
 *     third visit confirms it,
 *   - a limit, at which the cost jumps between two steps of the ladder, is bisected to an eighth,
 *   - a size is visited again until its median is known as well as its line needs. Slow visits and others
 * make it unknown.
 *
 * An exhaustive plan measures every size of the ladder, nothing between, each until its own median is known.
 * Needs no MPI: the lead of a case plans, and tells the others. */
#ifndef PORTOLAN_CALIBRATE_SIZES_H
#define PORTOLAN_CALIBRATE_SIZES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int64_t from_bytes; /* the ladder: from_bytes factor^k up to to_bytes, none if to_bytes is less */
    int64_t to_bytes;
    int64_t factor;     /* a power of two */
    int64_t unit_bytes; /* sizes between those of the ladder are multiples */
    int repeats;        /* the most samples of a size */
    bool every_size;    /* leave none of the ladder out */
    bool exhaustive;
} sizes_options_t;

/* One visit of a size. */
typedef struct {
    int64_t bytes;
    int had;          /* samples of earlier visits */
    int most;         /* samples in all; the visit ends with as many, or earlier: */
    double error;     /* when the median is known to this fraction; 0: never */
    int iterations;   /* of a repetition: to begin with; then those it had */
    double bound_s;   /* an iteration takes about this at the most; 0: unknown */
    double reserve_s; /* must be left for later visits, or this one would not be worth its time */
    double slow_s;    /* a sample that takes longer is slow, and the visit ends with it */
    int rests;        /* how often to wait while the machine is as slow as that */
} visit_t;

typedef struct sizes sizes_t;

/* Iterations of a repetition that is long enough for the clock's own cost and resolution not to show. */
int sizes_iterations(double once_s);

/* Ends the job where memory runs out, as all of calibrate does. */
sizes_t *sizes_create(const sizes_options_t *options);
void sizes_destroy(sizes_t *sizes);

/* The next visit; false if there is none. It must be answered by sizes_take or sizes_refuse. */
bool sizes_next(sizes_t *sizes, visit_t *visit);

/* Copies the samples of earlier visits to `seconds`. */
void sizes_recall(const sizes_t *sizes, const visit_t *visit, double *seconds);

/* Returns whether a visit has as many samples as it needs, the newest last. `seconds` may be reordered. */
bool sizes_enough(const sizes_t *sizes, const visit_t *visit, double *seconds, int count);

/* The visit has been made: all samples of its size, the newest last. `seconds` may be reordered. */
void sizes_take(sizes_t *sizes, const visit_t *visit, double *seconds, int count);

/* There was no time for the visit, so there is none for larger sizes either. */
void sizes_refuse(sizes_t *sizes, const visit_t *visit);

/* Returns how many visits are still to be made, as far as is known; at least 1. */
int sizes_left(const sizes_t *sizes);

/* Steps of the ladder; those above the largest size that there was time for. */
int sizes_ladder_count(const sizes_options_t *options);
int sizes_left_out(const sizes_t *sizes);

#endif
