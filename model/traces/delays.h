/* Calls of which all processes are known, on one clock: what delays.c finds and late.c and slow.c use. */
#ifndef PTO_TRACES_DELAYS_H
#define PTO_TRACES_DELAYS_H

#include "timeline.h"

/* A call of all its processes. */
typedef struct {
    const pto_timed_t *timed; /* of each process, by rank; the sender of a message comes first */
    int procs;
    double arrival_s;     /* of the last process that others wait for */
    double transfer_s;    /* from then on; negative if clocks are unknown */
    double low_s, high_s; /* bounds of transfer_s, given the uncertainty of clocks */
    bool is_contended;    /* a message that overlaps with an earlier one of its sender */
    bool shows_lateness;  /* late.c can use the call to find who is late */
} pto_matched_t;

/* The clock of a process: its difference from the others' is a straight line. */
typedef struct {
    bool is_known;
    int part; /* of the job: clocks can be compared within a part, whose processes have calls together */
    double middle_s, offset_s, drift;
    double noise_s; /* median distance from the line */
} pto_process_clock_t;

typedef struct {
    const pto_recording_options_t *options;
    int procs; /* the highest rank + 1 */
    pto_process_clock_t *clock;
    double exit_skew_s; /* how far apart processes may leave the calls that clocks are fitted to */
    size_t count;
    pto_matched_t *matched;
    pto_delays_t *found;
} pto_comparison_t;

/* A value of one process or place, for medians. */
typedef struct {
    int place;
    double at;
    double value;
} pto_item_t;

/* Returns whether others wait for this process. */
bool pto_is_awaited(const pto_timed_t *timed);
/* Converts a time of a process's own clock to the common one. */
double pto_comparison_time(const pto_comparison_t *comparison, const pto_timed_t *timed, double seconds);
/* Sorts by place, then by `at`. */
int pto_item_compare(const void *left, const void *right);
/* Returns the median of the values; may reorder them. */
double pto_item_median(pto_item_t *item, size_t count);
/* Standard deviation of a normal distribution over its median absolute deviation. */
#define PTO_SPREAD_OF_NORMAL 1.4826
/* Returns the median distance from `middle`, scaled to a standard deviation. */
double pto_item_spread(const pto_item_t *item, size_t count, double middle, double *scratch);
/* False if out of memory, as from the two below. */
bool pto_delays_add(pto_delays_t *delays, const pto_delay_t *delay);
/* Adds the processes and nodes that arrive late. */
bool pto_find_late(pto_comparison_t *comparison);
/* Adds the nodes and links that are slow. */
bool pto_find_slow(pto_comparison_t *comparison);

#endif
