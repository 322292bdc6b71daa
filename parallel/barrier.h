/* Shared memory of the processes of a node: a barrier that they leave within a fraction of a microsecond,
 * where MPI_Barrier lets them go microseconds apart, and tens of microseconds over a network. */
#ifndef PTO_BARRIER_H
#define PTO_BARRIER_H

#include <mpi.h>
#include <stdatomic.h>

enum { TOGETHER_FLAG_COUNT = 2 };

typedef struct together together_t;

/* Collective over `comm`; members of one node share the result. */
together_t *together_create(MPI_Comm comm);
void together_destroy(together_t *together);

/* Return when every member on this node has called. */
void together_wait(together_t *together);

/* Two flags, 0 at first, each on a cache line of its own. */
atomic_int *together_flag(together_t *together, int index);

/* Spin until the flag has this value, leaving the core to others after a while: they may be what sets it. */
void together_await(atomic_int *flag, int value);

#endif
