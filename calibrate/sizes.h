/* Chooses which sizes of a case are measured, and how often. The plan is adaptive: it assumes that the cost
 * is piecewise linear in the bytes, and measures more where the medians so far do not show the pieces
 * clearly.
 *
 * The sizes of --bytes are the steps of a ladder. A size is measured in at least two visits, each of several
 * samples. They lie apart in time, because a slow phase of the machine spoils all samples of a visit. The
 * first pass measures every second power of two. Then
 *
 *   - an interval is halved while a size at one of its ends lies off the line between its neighbours, which a
 *     third visit must confirm,
 *   - a limit, where the cost jumps between two steps of the ladder (as between protocols), is bisected
 *     until it is known to an eighth,
 *   - a size is visited again until its median is known as precisely as the fit of its line needs.
 *
 * An exhaustive plan measures all steps of the ladder and nothing between, each until its own median is
 * known. The plan needs no MPI: the lead of a case makes it and tells the other members. */
#ifndef PORTOLAN_CALIBRATE_SIZES_H
#define PORTOLAN_CALIBRATE_SIZES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int64_t from_bytes; /* the ladder: from_bytes * factor^k up to to_bytes; empty if to_bytes is less */
    int64_t to_bytes;
    int64_t factor;     /* a power of two */
    int64_t unit_bytes; /* sizes between the steps are multiples of it */
    int repeats;        /* maximum number of samples of a size */
    bool every_size;    /* the first pass measures all steps */
    bool exhaustive;
} sizes_options_t;

typedef struct {
    int64_t bytes;
    int earlier_samples; /* of earlier visits */
    /* The visit ends when one of these three is true: */
    int max_samples;  /* the size has this number of samples, earlier ones included */
    double error;     /* the median is known to this fraction; 0: ignored */
    double slow_s;    /* a sample is slow, which means that it took longer than this */
    int iterations;   /* of a repetition: the initial number, then the final one */
    double bound_s;   /* upper bound of an iteration, about; 0: unknown */
    double reserve_s; /* time that must be left for later visits; else this one is to be refused */
    int max_rests;    /* how often the warm-up may wait while the machine is slow */
} visit_t;

typedef struct sizes sizes_t;

/* Returns the iterations of a repetition that is long compared with the clock's cost and resolution. */
int sizes_iterations(double once_s);
/* Ends the job if memory runs out, as all of calibrate does. */
sizes_t *sizes_create(const sizes_options_t *options);
void sizes_destroy(sizes_t *sizes);
/* Finds the next visit, to be answered by sizes_record or sizes_refuse; returns false if there is none. */
bool sizes_next(sizes_t *sizes, visit_t *visit);
/* Copies the samples of earlier visits to `seconds`. */
void sizes_recall(const sizes_t *sizes, const visit_t *visit, double *seconds);
/* Returns whether a visit has enough samples. `seconds`: all of the size's, newest last; may be reordered. */
bool sizes_enough(const sizes_t *sizes, const visit_t *visit, double *seconds, int count);
/* Records the samples after a visit, given as in sizes_enough. */
void sizes_record(sizes_t *sizes, const visit_t *visit, double *seconds, int count);
/* Tells the plan that there is no time for the visit, and so none for larger sizes. */
void sizes_refuse(sizes_t *sizes, const visit_t *visit);
/* Returns an estimate of the number of visits that are still to be made; at least 1. */
int sizes_left(const sizes_t *sizes);
/* Return the number of steps of the ladder, and that of the steps that there was no time for. */
int sizes_ladder_count(const sizes_options_t *options);
int sizes_left_out(const sizes_t *sizes);

#endif
