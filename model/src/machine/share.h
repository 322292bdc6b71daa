/* A machine as seen by one of several communicators that use its nodes at the same time. */
#ifndef PTO_MACHINE_SHARE_H
#define PTO_MACHINE_SHARE_H

#include "machine/machine_internal.h"

/* How many communicators share a node's NICs (1 if they stay on it), its links, and a socket's memory. */
typedef struct {
    int64_t network;
    int64_t links;
    int64_t memory;
} pto_sharers_t;

/* Make a copy of the machine in which shared resources are slower by these factors. The caller frees
 * `*shared` with pto_machine_destroy. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_machine_share(const pto_machine_t *machine, pto_sharers_t sharers, pto_machine_t **shared,
                               pto_error_t *err);

#endif
