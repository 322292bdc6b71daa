/* A barrier by two counters in an MPI shared-memory window. */
#include "barrier.h"

#include <sched.h>
#include <stdlib.h>

#include "fatal.h"

enum { CACHE_LINE_BYTES = 128, SPINS_BEFORE_YIELD = 2000 };

typedef struct {
    _Alignas(CACHE_LINE_BYTES) atomic_int value;
} line_t;

typedef struct {
    line_t arrived;
    line_t round;
    line_t flag[TOGETHER_FLAG_COUNT];
} shared_t;

struct together {
    MPI_Comm node;
    MPI_Win window;
    shared_t *shared;
    int size;
};

together_t *together_create(MPI_Comm comm) {
    together_t *together = must_allocate(1, sizeof *together);
    MPI_DO(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &together->node));
    MPI_DO(MPI_Comm_set_errhandler(together->node, MPI_ERRORS_RETURN));
    int rank = 0;
    MPI_DO(MPI_Comm_rank(together->node, &rank));
    MPI_DO(MPI_Comm_size(together->node, &together->size));
    MPI_Aint bytes = rank == 0 ? (MPI_Aint)(sizeof(shared_t) + CACHE_LINE_BYTES) : 0;
    void *base = NULL;
    MPI_DO(MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, together->node, &base, &together->window));
    int unit = 0;
    MPI_DO(MPI_Win_shared_query(together->window, 0, &bytes, &unit, &base));
    size_t past =
        (size_t)base % CACHE_LINE_BYTES; /* equal for all: windows start on pages or headers alike */
    together->shared = (shared_t *)((char *)base + (CACHE_LINE_BYTES - past) % CACHE_LINE_BYTES);
    if (rank == 0) {
        atomic_init(&together->shared->arrived.value, 0);
        atomic_init(&together->shared->round.value, 0);
        for (int i = 0; i < TOGETHER_FLAG_COUNT; i++)
            atomic_init(&together->shared->flag[i].value, 0);
    }
    MPI_DO(MPI_Barrier(together->node));
    return together;
}

void together_destroy(together_t *together) {
    if (together != NULL) {
        MPI_DO(MPI_Win_free(&together->window));
        MPI_DO(MPI_Comm_free(&together->node));
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
