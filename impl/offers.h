/* Exchanges the memory that processes of a node access in each other: each offers its buffers and kernel
 * flags, and opens those of others that its part of the plan uses. */
#ifndef PTO_OFFERS_H
#define PTO_OFFERS_H

#include "executor.h"

/* Allocates memory for `count` offers of each process of the node. */
pto_status_t pto_offers_prepare(pto_exec_t *exec, size_t count, pto_error_t *err);

/* Collective over the node: exchange all offers, and open what this process uses. A process that has already
 * failed passes its `status`, takes part nevertheless and gets it back. */
pto_status_t pto_offers_share(pto_exec_t *exec, pto_status_t status, pto_error_t *err);

#endif
