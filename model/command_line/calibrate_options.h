/* portolan-calibrate's command line. It is here, and knows no MPI, so that `portolan completion` has it too.
 */
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
    bool estimate;    /* say how long it will take, and measure nothing */
    bool exhaustive;  /* measure all sizes, each until it is settled by itself */
    bool topology;    /* write the node's topology, and measure nothing */
    const char *from; /* of the node in this file of hwloc's; NULL: this one */
    const char *only; /* names with commas between them; NULL: all */
    const char *out;  /* "-": standard output */
    const char *machine;
    pto_runs_t runs; /* how what can be enqueued is run */
    int64_t from_bytes;
    int64_t to_bytes;
    int64_t factor; /* from one size to the next; a power of two */
    double budget_s;
    double timeout_s;
    int repeats;
} pto_calibrate_options_t;

extern const pto_syntax_t pto_calibrate_syntax;

#endif
