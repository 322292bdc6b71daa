/* A barrier by two counters in shared memory (barrier.h). The memory is not an MPI window, because Open
 * MPI 4.1 names its windows by process ids, and crashes if each process has a PID namespace of its own. */
#include "barrier.h"

#include <sched.h>
#include <stdlib.h>

#include "fatal.h"
#include "mpi_team.h"

enum { CACHE_LINE_BYTES = 128, SPINS_BEFORE_YIELD = 2000 };

/* A number on a cache line of its own. */
typedef struct {
    _Alignas(CACHE_LINE_BYTES) atomic_int value;
} line_t;

typedef struct {
    line_t arrived; /* how many members have entered the current barrier */
    line_t round;   /* how many barriers all members have entered */
    line_t flag[TOGETHER_FLAG_COUNT];
} shared_t;

struct together {
    MPI_Comm node; /* the members on this node */
    pto_shared_handle_t handle;
    int rank;
    shared_t *shared;
    int size;
};

together_t *together_create(MPI_Comm comm) {
    together_t *together = must_allocate(1, sizeof *together);
    MPI_DO(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &together->node));
    MPI_DO(MPI_Comm_set_errhandler(together->node, MPI_ERRORS_RETURN));
    MPI_DO(MPI_Comm_rank(together->node, &together->rank));
    MPI_DO(MPI_Comm_size(together->node, &together->size));
    pto_error_t err = {0};
    void *memory = NULL; /* its counters and flags are 0 at first */
    if (pto_mpi_share(together->node, sizeof(shared_t), &memory, &together->handle, &err) != PTO_OK)
        die("%s", err.message);
    together->shared = memory;
    return together;
}

void together_destroy(together_t *together) {
    if (together != NULL) {
        MPI_DO(MPI_Barrier(together->node)); /* every member has left the last barrier */
        MPI_DO(MPI_Comm_free(&together->node));
        pto_team_unshare(together->rank, together->shared, &together->handle);
        free(together);
    }
}

void together_await(atomic_int *flag, int value) {
    for (int spins = 0; atomic_load_explicit(flag, memory_order_acquire) != value; spins++)
        if (spins >= SPINS_BEFORE_YIELD)
            sched_yield();
}

void together_wait(together_t *together) {
    if (together->size == 1)
        return;
    shared_t *shared = together->shared;
    int round = atomic_load_explicit(&shared->round.value, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&shared->arrived.value, 1, memory_order_acq_rel) == together->size - 1) {
        atomic_store_explicit(&shared->arrived.value, 0, memory_order_relaxed);
        atomic_store_explicit(&shared->round.value, round + 1, memory_order_release);
    } else {
        together_await(&shared->round.value, round + 1);
    }
}

atomic_int *together_flag(together_t *together, int index) { return &together->shared->flag[index].value; }
