/* A machine as one of several communicators has it that use its nodes at once. */
#ifndef PTO_MACHINE_SHARE_H
#define PTO_MACHINE_SHARE_H

#include "machine/machine_internal.h"

/* How many communicators use the NICs of a node (1 where they stay on it), the links of a node, and the
 * memory of a socket. */
typedef struct {
    int64_t network;
    int64_t links;
    int64_t memory;
} pto_sharers_t;

/* A copy in which every byte on what is shared takes as many times as long. The caller frees `*shared` with
 * pto_machine_destroy. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_machine_share(const pto_machine_t *machine, pto_sharers_t sharers, pto_machine_t **shared,
                               pto_error_t *err);

#endif
