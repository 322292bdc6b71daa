/* A barrier for the processes of a node in shared memory, and flags beside it. Processes leave the barrier
 * within a fraction of a microsecond, but MPI_Barrier within several, and over a network within tens. */
#ifndef PTO_BARRIER_H
#define PTO_BARRIER_H

#include <mpi.h>
#include <stdatomic.h>

enum { TOGETHER_FLAG_COUNT = 2 };

typedef struct together together_t;

/* Collective over `comm`; members of one node share the result. */
together_t *together_create(MPI_Comm comm);
void together_destroy(together_t *together);

/* The barrier: returns when every member on this node has called it. */
void together_wait(together_t *together);

/* Two flags, 0 at first, each on a cache line of its own. */
atomic_int *together_flag(together_t *together, int index);

/* Spins until the flag has this value, and after a while yields the core, which its setter may need. */
void together_await(atomic_int *flag, int value);

#endif
