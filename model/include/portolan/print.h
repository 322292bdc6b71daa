/* A plan as readable text: what one of its ranks does, stage by stage. */
#ifndef PORTOLAN_PRINT_H
#define PORTOLAN_PRINT_H

#include <stdio.h>

#include "portolan/api.h"
#include "portolan/plan.h"

PTO_API_BEGIN

/* Longer lists are truncated, and the text says how much was omitted. */
enum {
    PTO_PRINT_PEERS_MAX = 6,       /* peers of one step */
    PTO_PRINT_RANGES_MAX = 3,      /* byte ranges of one slice */
    PTO_PRINT_ITERATIONS_MAX = 64, /* of an unrolled loop */
    PTO_PRINT_SIZES_MAX = 4096,    /* messages of one step whose sizes are examined */
};

/* Print the part of `rank`. A loop is printed once, with peers and blocks as expressions in k. With `unroll`
 * every iteration is printed, with the peers' ranks and places and the byte ranges. The caller frees `*text`
 * with free(). Errors: PTO_ERR_RANGE for a rank that the layout lacks, PTO_ERR_MEMORY. */
pto_status_t pto_print(const pto_plan_t *plan, int64_t rank, bool unroll, char **text, pto_error_t *err);

/* Write the messages of all ranks as a GOAL schedule in LogGOPSim's text form (T. Hoefler, T. Schneider, A.
 * Lumsdaine, "LogGOPSim", LSAP 2010), with the stage's instance as tag. A rank's messages of one stage
 * require those of its stage before; copies and reductions are left out. Errors: PTO_ERR_NOT_APPLICABLE if
 * the plan has no messages, if NCCL sends them, or if stages overlap. Errors of the stream are the caller's
 * to find. */
pto_status_t pto_print_goal(const pto_plan_t *plan, FILE *stream, pto_error_t *err);

PTO_API_END

#endif
