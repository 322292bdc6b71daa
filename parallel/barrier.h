/* A barrier for the processes of a node in shared memory, and two flags. Processes leave it within a fraction
 * of a microsecond of each other; they leave MPI_Barrier within several and, over a network, within tens. */
#ifndef PTO_BARRIER_H
#define PTO_BARRIER_H

#include <mpi.h>
#include <stdatomic.h>

enum { TOGETHER_FLAG_COUNT = 2 };

typedef struct together together_t;

/* Collective over `comm`. The members of each node get a barrier of their own. Ends the job on an error. */
together_t *together_create(MPI_Comm comm);
void together_destroy(together_t *together);

/* Enters the barrier: returns when every member on this node has entered it. */
void together_wait(together_t *together);

/* Returns flag 0 or 1. Flags are 0 at first, and each is on a cache line of its own. */
atomic_int *together_flag(together_t *together, int index);

/* Spins until the flag has this value. After a while it yields the core, which the process that sets it may
 * need. */
void together_await(atomic_int *flag, int value);

#endif
