/* The options of portolan-calibrate. They do not need MPI, because `portolan completion` lists them, too. */
#ifndef PTO_CALIBRATE_OPTIONS_H
#define PTO_CALIBRATE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "arguments.h"
#include "portolan/machine.h"

typedef struct {
    bool version;
    bool list;
    bool force;
    bool progress;
    bool estimate;    /* print how long the benchmarks would take, and run none */
    bool exhaustive;  /* measure every size until its own median is settled */
    bool topology;    /* write the node's topology, and run no benchmark */
    const char *from; /* with `topology`: hwloc's XML of another node; NULL: this node */
    const char *only; /* comma-separated names of benchmarks and groups; NULL: all */
    const char *out;  /* "-": standard output */
    const char *machine;
    pto_runs_t runs; /* how kernel launches and NCCL calls are timed */
    int64_t from_bytes;
    int64_t to_bytes;
    int64_t factor; /* between consecutive sizes; a power of two */
    double budget_s;
    double timeout_s;
    int repeats;
} pto_calibrate_options_t;

extern const pto_syntax_t pto_calibrate_syntax;

#endif
