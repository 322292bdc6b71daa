/* Ping-pong: a message to a partner and one of the same size back, half of which is one way. Every level of
 * the job, host and GPU buffers. */
#include <stdio.h>
#include <stdlib.h>

#include "benchmark.h"
#include "fatal.h"
#include "memory.h"
#include "pairs.h"

typedef struct {
    const work_t *work;
    void *outgoing;
    void *incoming;
} state_t;

static void list_level(const job_t *job, pto_space_t space, pto_level_t level, case_list_t *list) {
    pair_t pairs[PAIRS_MAX];
    int count = pairs_find(job, space, level, pairs);
    if (count == 0) {
        char what[CASE_NAME_MAX];
        snprintf(what, sizeof what, "ping_pong_%s_%s", pto_space_name(space), pto_level_name(level));
        case_skip(list, what, pairs_missing(level));
    }
    for (int i = 0; i < count; i++) {
        case_t *added = case_add(list, "ping_pong", 2);
        added->space = pto_space_name(space);
        added->level = pto_level_name(level);
        added->buffers = space;
        snprintf(added->pair, sizeof added->pair, "%d-%d", pairs[i].a, pairs[i].b);
        added->member[0] = pairs[i].a;
        added->member[1] = pairs[i].b;
    }
}

static void list_cases(const job_t *job, case_list_t *list) {
    for (pto_space_t space = 0; space < PTO_SPACE_COUNT; space++) {
        const char *why = job_no_messages(job, space);
        if (why != NULL) {
            char what[CASE_NAME_MAX];
            snprintf(what, sizeof what, "ping_pong_%s", pto_space_name(space));
            case_skip(list, what, why);
            continue;
        }
        /* For host memory it doesn't matter which process drives which GPU. */
        pto_level_t first = space == PTO_SPACE_GPU ? PTO_LEVEL_ON_GPU : PTO_LEVEL_ON_SOCKET;
        for (pto_level_t level = first; level < PTO_LEVEL_COUNT; level++) {
            list_level(job, space, level, list);
        }
    }
}

static void *open_case(const work_t *work) {
    state_t *state = must_allocate(1, sizeof *state);
    state->work = work;
    state->outgoing = buffer_allocate(work->what->buffers, work->most_bytes);
    state->incoming = buffer_allocate(work->what->buffers, work->most_bytes);
    return state;
}

static double trial(void *opaque, int64_t bytes, int iterations) {
    state_t *state = opaque;
    MPI_Comm comm = state->work->comm;
    int count = (int)bytes;
    double start = now_s();
    for (int i = 0; i < iterations; i++) {
        if (state->work->me == 0) {
            MPI_DO(MPI_Send(state->outgoing, count, MPI_BYTE, 1, 0, comm));
            MPI_DO(MPI_Recv(state->incoming, count, MPI_BYTE, 1, 0, comm, MPI_STATUS_IGNORE));
        } else {
            MPI_DO(MPI_Recv(state->incoming, count, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE));
            MPI_DO(MPI_Send(state->outgoing, count, MPI_BYTE, 0, 0, comm));
        }
    }
    return state->work->me == 0 ? (now_s() - start) / 2.0 : 0.0;
}

static void close_case(void *opaque) {
    state_t *state = opaque;
    buffer_free(state->work->what->buffers, state->outgoing);
    buffer_free(state->work->what->buffers, state->incoming);
    free(state);
}

const benchmark_t bench_ping_pong = {
    .name = "ping_pong",
    .group = "ping_pong",
    .rows = "ping_pong",
    .summary = "a message there and back between two processes, each level, host and GPU buffers",
    .list = list_cases,
    .open = open_case,
    .trial = trial,
    .close = close_case,
};
