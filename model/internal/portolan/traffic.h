/* The traffic matrix of a plan, computed without running it: messages and bytes from each process to each. */
#ifndef PORTOLAN_TRAFFIC_H
#define PORTOLAN_TRAFFIC_H

#include <stdint.h>

#include "portolan/api.h"
#include "portolan/plan.h"

PTO_C_BEGIN

typedef enum {
    PTO_TRAFFIC_MESSAGE, /* a message of MPI */
    PTO_TRAFFIC_ACCESS,  /* a copy or reduction that moves bytes between the memories of two processes */
    PTO_TRAFFIC_NCCL,    /* either, in stages that a collective of NCCL replaces */
    PTO_TRAFFIC_COUNT
} pto_traffic_kind_t;

const char *pto_traffic_kind_name(pto_traffic_kind_t value);

/* The sum over all messages or accesses from one rank to another, of one kind and between the same spaces. */
typedef struct {
    int64_t source; /* logical ranks */
    int64_t destination;
    pto_space_t source_space;
    pto_space_t destination_space;
    pto_traffic_kind_t kind;
    int64_t messages; /* of an access: copies or reductions */
    int64_t bytes;    /* of a reduction: those read */
} pto_traffic_pair_t;

typedef void (*pto_traffic_visit_t)(void *context, const pto_traffic_pair_t *pair);

/* Visit every pair that exchanges anything, by increasing source, destination, spaces and kind. Collectives
 * are counted as their algorithm's own messages. Empty messages that are sent count. Memory grows with the
 * pairs of one node. Errors: PTO_ERR_TOO_LARGE (the limits of pto_price_walk), PTO_ERR_INVALID_PLAN (a send
 * without a receive), PTO_ERR_MEMORY. */
pto_status_t pto_plan_traffic(const pto_plan_t *plan, pto_traffic_visit_t visit, void *context,
                              pto_error_t *err);

PTO_C_END

#endif
