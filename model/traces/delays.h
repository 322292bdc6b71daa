/* Matched calls, with the times of all their processes on one clock. delays.c makes them from a timeline;
 * late.c and slow.c judge by them which processes, nodes and links make others wait. */
#ifndef PTO_TRACES_DELAYS_H
#define PTO_TRACES_DELAYS_H

#include "timeline.h"

/* A matched call: the calls of all its processes. Times are on the common clock. */
typedef struct {
    const pto_timed_t *timed; /* of each process, by rank; the sender of a message comes first */
    int procs;
    double arrival_s;     /* when the last process that others wait for began its call */
    double transfer_s;    /* time from then until the end; negative if clocks are unknown */
    double low_s, high_s; /* bounds of transfer_s, given the uncertainty of clocks */
    bool is_contended;    /* a message that overlaps with an earlier one of its sender */
    bool shows_lateness;  /* late.c can use the call to find which process is late */
} pto_matched_t;

/* The clock of a process. At its own time t, it is offset_s + drift * (t - middle_s) ahead of the common one.
 */
typedef struct {
    bool is_known;
    int part; /* clocks are comparable only within a part of the job, whose processes have calls together */
    double middle_s, offset_s, drift;
    double noise_s; /* median distance of the process's exits from this line */
} pto_process_clock_t;

typedef struct {
    const pto_recording_options_t *options;
    int procs;                  /* the highest rank + 1 */
    pto_process_clock_t *clock; /* by rank */
    double exit_skew_s;         /* how far apart processes may leave the calls that clocks are fitted to */
    size_t count;
    pto_matched_t *matched; /* by communicator and routine, then in the order of the calls */
    pto_delays_t *found;
} pto_comparison_t;

/* A value, for a median over the values of the same place. */
typedef struct {
    int place;  /* a process, or another index of what the value belongs to */
    double key; /* the order within a place: a time, or another property of the value */
    double value;
} pto_item_t;

/* Returns whether others wait for this process in its call. */
bool pto_is_awaited(const pto_timed_t *timed);
/* Converts a time of a process's own clock to the common one. */
double pto_comparison_time(const pto_comparison_t *comparison, const pto_timed_t *timed, double seconds);
/* Sorts by place, then by key. */
int pto_item_compare(const void *left, const void *right);
/* Returns the median of the values; may reorder them. */
double pto_item_median(pto_item_t *item, size_t count);
/* The ratio of a normal distribution's standard deviation to its median absolute deviation. */
#define PTO_SPREAD_OF_NORMAL 1.4826
/* Returns the median distance from `middle`, scaled to a standard deviation. */
double pto_item_spread(const pto_item_t *item, size_t count, double middle, double *scratch);
/* Adds a delay. False if out of memory, as from the next two functions. */
bool pto_delays_add(pto_delays_t *delays, const pto_delay_t *delay);
/* Adds the processes and nodes that arrive late (late.c). */
bool pto_find_late(pto_comparison_t *comparison);
/* Adds the nodes and links that are slow (slow.c). */
bool pto_find_slow(pto_comparison_t *comparison);

#endif
