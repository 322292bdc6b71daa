/* Printing for `portolan score`. */
#ifndef PTO_SCORE_TABLE_H
#define PTO_SCORE_TABLE_H

#include "command_line/options.h"
#include "portolan/score.h"

typedef struct {
    pto_format_t format;
    bool by_nodes;
    bool cells;
    pto_bandwidth_t bandwidth; /* of cells */
    bool leave_one_out;
    bool baselines;
    bool all;         /* every column, however wide */
    bool model_error; /* nothing but the machine file's key */
    bool in_sample;   /* terms were fitted to these cells */
} score_print_t;

/* Print a predicted score to standard output. Errors: PTO_ERR_MEMORY. */
pto_status_t score_print(const pto_score_t *score, const pto_collectives_t *collectives,
                         const pto_machine_t *machine, const score_print_t *how, pto_error_t *err);

#endif
