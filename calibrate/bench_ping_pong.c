/* Ping-pong: a message to a partner and one of the same size back, half of which is one way. Every level of
 * the job, host and GPU buffers. */

#include "benchmark.h"
#include "fatal.h"
#include "memory.h"
#include "pairs.h"

static void list_level(const job_t *job, pto_space_t space, pto_level_t level, case_list_t *list) {
    pair_t pairs[PAIRS_MAX];
    int count = pairs_find(job, space, level, pairs);
    if (count == 0) {
        case_missing(list, pairs_missing(level), "ping_pong_%s_%s", pto_space_name(space),
                     pto_level_name(level));
    }
    for (int i = 0; i < count; i++) {
        case_t *added = pairs_case(list, "ping_pong", &pairs[i]);
        added->space = pto_space_name(space);
        added->level = pto_level_name(level);
        added->buffers = space;
    }
}

static void list_cases(const job_t *job, case_list_t *list) {
    for (pto_space_t space = 0; space < PTO_SPACE_COUNT; space++) {
        const char *why = job_no_messages(job, space);
        if (why != NULL) {
            case_missing(list, why, "ping_pong_%s", pto_space_name(space));
            continue;
        }
        /* For host memory it doesn't matter which process drives which GPU. */
        pto_level_t first = space == PTO_SPACE_GPU ? PTO_LEVEL_ON_GPU : PTO_LEVEL_ON_SOCKET;
        for (pto_level_t level = first; level < PTO_LEVEL_COUNT; level++)
            list_level(job, space, level, list);
    }
}

static double trial(void *opaque, int64_t bytes, int iterations) {
    there_and_back_t *state = opaque;
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

const benchmark_t bench_ping_pong = {
    .name = "ping_pong",
    .group = "ping_pong",
    .rows = "ping_pong",
    .summary = "a message there and back between two processes, each level, host and GPU buffers",
    .list = list_cases,
    .open = there_and_back_open,
    .trial = trial,
    .close = there_and_back_close,
};
