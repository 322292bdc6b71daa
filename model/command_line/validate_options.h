/* The options of portolan-validate. They do not need MPI, because `portolan completion` lists them, too. */
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
    pto_options_t shared; /* must be first: the options on scenarios are stored at its offsets */
    const char *device;   /* by its name */
    const char *out_path; /* NULL: no file */
    bool force;           /* replace an existing file at out_path */
    int repeats;
    int queued;        /* runs queued back to back before the wait; 0: wait for each run */
    bool enqueue;      /* queue them in one stream by pto_exec_enqueue */
    int graph;         /* runs captured in one graph; 0: no graphs */
    bool nccl_windows; /* time NCCL's plans again on registered windows */
    bool check_only;
    bool version; /* print the version, run nothing */
    bool own_algorithms;
    bool each_algorithm; /* strategy own_algorithm: run every algorithm, not the cheapest alone */
    bool energy;
    bool powers;            /* measure the powers of a machine file's `energy`, run nothing */
    double energy_window_s; /* minimum time to measure energy for */
    const char *powercap;   /* the folder in which the kernel exposes RAPL's counters */
    double timeout_s;
    int op;              /* a pto_op_t */
    int placement;       /* a pto_placement_t */
    int wait;            /* a pto_wait_t */
    int pattern;         /* a pto_pattern_t */
    int64_t local_bytes; /* PTO_PATTERN_GLOBAL_SUM: bytes that each owner sums before the allreduce */
} pto_validate_options_t;

extern const pto_syntax_t pto_validate_syntax;

#endif
