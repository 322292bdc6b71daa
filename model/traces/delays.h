/* Calls whose processes have all been found, by one clock: the input of late.c and slow.c. */
#ifndef PTO_TRACES_DELAYS_H
#define PTO_TRACES_DELAYS_H

#include "timeline.h"

/* A call, by all its processes. */
typedef struct {
    const pto_timed_t *timed; /* by rank; of a message, the sender comes first */
    int procs;
    double arrival_s;     /* of the last one that others wait for */
    double transfer_s;    /* after it; negative: clocks are unknown */
    double low_s, high_s; /* the same, as far as clocks are known */
    bool is_crowded;      /* a message that shares its time with one that its sender sent before */
    bool tells;           /* who is late */
} pto_matched_t;

/* The clock of a process, as a straight line beside the others'. */
typedef struct {
    bool is_known;
    int part; /* clocks are comparable within a part of the job whose processes have calls together */
    double middle_s, offset_s, drift;
    double noise_s; /* the median distance from the line */
} pto_process_clock_t;

typedef struct {
    const pto_recording_options_t *options;
    int procs; /* the highest rank and one */
    pto_process_clock_t *clock;
    double
        leaving_s; /* by which processes may leave the calls that clocks are fitted to at different times */
    size_t count;
    pto_matched_t *matched;
    pto_delays_t *found;
} pto_comparison_t;

/* A value of one process or place; what a median is taken of. */
typedef struct {
    int place;
    double at;
    double value;
} pto_item_t;

/* Returns whether others wait for this process. */
bool pto_is_awaited(const pto_timed_t *timed);
/* Returns a time by a process's clock, by that of all. */
double pto_comparison_time(const pto_comparison_t *comparison, const pto_timed_t *timed, double seconds);
/* By place, then `at`. */
int pto_item_compare(const void *left, const void *right);
/* Returns the median of their values; may change their order. */
double pto_item_median(pto_item_t *item, size_t count);
/* A normal distribution's standard deviation, by its median absolute deviation. */
#define PTO_SPREAD_OF_NORMAL 1.4826
/* Returns the median distance from `middle`, as a standard deviation. */
double pto_item_spread(const pto_item_t *item, size_t count, double middle, double *scratch);
/* False: out of memory. */
bool pto_delays_add(pto_delays_t *delays, const pto_delay_t *delay);

/* Which processes and nodes come late. False: out of memory. */
bool pto_find_late(pto_comparison_t *comparison);
/* Which nodes and links are slow. False: out of memory. */
bool pto_find_slow(pto_comparison_t *comparison);

#endif
