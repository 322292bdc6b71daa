/* Ping-pong: a message to a partner and one of the same size back; half of their time is one way. It is
 * measured at every level of the job, between host buffers and between GPU buffers.
 *
 * Ping-pong to: both messages go from GPU memory to host memory, or from host to GPU memory.
 *
 * Exchange: both messages at the same time. They take as long as one if the two directions share nothing.
 * They take twice as long within a node if each process's CPU copies what it sends and what it receives, and
 * between nodes if the acknowledgement that one message waits for is queued behind the data of the other. */
#include <stdio.h>

#include "fatal.h"
#include "memory.h"
#include "pairs.h"

static void list_level(const job_t *job, const char *benchmark, pto_space_t space, pto_level_t level,
                       case_list_t *list) {
    char missing[CASE_NAME_MAX];
    snprintf(missing, sizeof missing, "%s_%s", benchmark, pto_space_name(space));
    for (int i = pairs_cases(job, space, level, benchmark, missing, list); i < list->case_count; i++) {
        list->cases[i].space = pto_space_name(space);
        list->cases[i].buffers = space;
    }
}

static void list_levels(const job_t *job, const char *benchmark, case_list_t *list) {
    for (pto_space_t space = 0; space < PTO_SPACE_COUNT; space++) {
        const char *why = job_no_messages(job, space);
        if (why != NULL) {
            case_skip(list, why, "%s_%s", benchmark, pto_space_name(space));
            continue;
        }
        /* For host memory, it doesn't matter whether processes share a GPU. */
        pto_level_t first = space == PTO_SPACE_GPU ? PTO_LEVEL_ON_GPU : PTO_LEVEL_ON_SOCKET;
        for (pto_level_t level = first; level < PTO_LEVEL_COUNT; level++)
            list_level(job, benchmark, space, level, list);
    }
}

static void list_cases(const job_t *job, case_list_t *list) { list_levels(job, "ping_pong", list); }

/* Lists cases between host and GPU memory, if the processes have GPUs. */
static void list_mixed(const job_t *job, case_list_t *list) {
    const char *why = job_no_messages(job, PTO_SPACE_GPU);
    if (why != NULL)
        case_skip(list, why, "ping_pong_to");
    for (pto_level_t level = 0; why == NULL && level < PTO_LEVEL_COUNT; level++) {
        pair_t pairs[PAIRS_MAX];
        int count = pairs_find(job, PTO_SPACE_GPU, level, pairs);
        for (int i = 0; i < PTO_SPACE_COUNT * count; i++) {
            case_t *added = pairs_case(list, "ping_pong_to", &pairs[i / PTO_SPACE_COUNT]);
            added->buffers = (pto_space_t)(i % PTO_SPACE_COUNT);
            added->from_other = true;
            added->space = pto_space_name(added->buffers);
            added->level = pto_level_name(level);
        }
    }
}

static void list_exchanges(const job_t *job, case_list_t *list) { list_levels(job, "exchange", list); }

static void go_and_return(const work_t *work, int64_t bytes) {
    ping_pong_buffers_t *state = work->state;
    MPI_Comm comm = work->comm;
    int count = (int)bytes;
    if (work->me == 0) {
        MPI_DO(MPI_Send(state->outgoing, count, MPI_BYTE, 1, 0, comm));
        MPI_DO(MPI_Recv(state->incoming, count, MPI_BYTE, 1, 0, comm, MPI_STATUS_IGNORE));
    } else {
        MPI_DO(MPI_Recv(state->incoming, count, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE));
        MPI_DO(MPI_Send(state->outgoing, count, MPI_BYTE, 0, 0, comm));
    }
}

const benchmark_t bench_ping_pong = {
    .name = "ping_pong",
    .summary = "a message there and back between two processes, each level, host and GPU buffers",
    .state_bytes = sizeof(ping_pong_buffers_t),
    .list = list_cases,
    .open = ping_pong_open,
    .once = go_and_return,
    .times = TIMES_ROUND_TRIP,
};

const benchmark_t bench_ping_pong_to = {
    .name = "ping_pong_to",
    .summary = "the same between host and GPU memory, from the other to this one",
    .state_bytes = sizeof(ping_pong_buffers_t),
    .list = list_mixed,
    .open = ping_pong_open,
    .once = go_and_return,
    .times = TIMES_ROUND_TRIP,
};

static void exchange(const work_t *work, int64_t bytes) {
    ping_pong_buffers_t *state = work->state;
    MPI_Comm comm = work->comm;
    MPI_Request request[2];
    int count = (int)bytes, other = 1 - work->me;
    MPI_DO(MPI_Irecv(state->incoming, count, MPI_BYTE, other, 0, comm, &request[0]));
    MPI_DO(MPI_Isend(state->outgoing, count, MPI_BYTE, other, 0, comm, &request[1]));
    MPI_DO(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
}

const benchmark_t bench_exchange = {
    .name = "exchange",
    .summary = "a message each way at once between two processes, each level, host and GPU buffers",
    .state_bytes = sizeof(ping_pong_buffers_t),
    .list = list_exchanges,
    .open = ping_pong_open,
    .once = exchange,
};
