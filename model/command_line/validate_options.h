/* portolan-validate's command line. It is here, and knows no MPI, so that `portolan completion` has it too.
 */
#ifndef PTO_VALIDATE_OPTIONS_H
#define PTO_VALIDATE_OPTIONS_H

#include "options.h"

/* The timed part: the collective alone, or an application's kernel with it. */
typedef enum {
    PTO_PATTERN_COLLECTIVE,
    PTO_PATTERN_GLOBAL_SUM,
    PTO_PATTERN_STENCIL2D,
    PTO_PATTERN_COUNT
} pto_pattern_t;

typedef struct {
    pto_options_t shared; /* first: the options on scenarios are applied to it */
    const char *device;   /* by its name */
    const char *out_path; /* NULL: no file */
    bool force;           /* it may exist */
    int repeats;
    int queued;        /* runs that a repeat queues before it waits; 0: each run is waited for */
    bool enqueue;      /* in one stream of the program's */
    int graph;         /* runs captured in one graph; 0: no graphs */
    bool nccl_windows; /* a second cell for plans by NCCL */
    bool check_only;
    bool version; /* print it, run nothing */
    bool own_algorithms;
    bool each_algorithm; /* a cell for each that own_algorithm may run */
    bool energy;
    bool powers;
    double energy_window_s; /* the least to measure energy for */
    const char *powercap;   /* where the kernel shows RAPL */
    double timeout_s;
    int op;              /* a pto_op_t */
    int placement;       /* a pto_placement_t */
    int wait;            /* a pto_wait_t */
    int pattern;         /* a pto_pattern_t */
    int64_t local_bytes; /* PTO_PATTERN_GLOBAL_SUM: that each owner sums before the exchange */
} pto_validate_options_t;

extern const pto_syntax_t pto_validate_syntax;

#endif
