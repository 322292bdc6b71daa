/* Benchmarks of two processes that send messages to each other.
 *
 * ping_pong: a message to a partner and one of the same size back; half of their time is one way. It is
 * measured at every level of the job, between host buffers and between GPU buffers.
 *
 * ping_pong_to: both messages go from GPU memory to host memory, or from host to GPU memory.
 *
 * ping_pong_strided: messages with a derived datatype, which is rows with gaps in memory, like the columns of
 * a grid. MPI packs them by the CPU, or by one copy for each row of GPU memory. `messages` is the bytes of a
 * row, `bytes` those of all rows. As packing does not depend on the level, only the nearest pair is measured.
 *
 * exchange: both messages at the same time. They take as long as one if the two directions share nothing.
 * They take twice as long within a node if each process's CPU copies what it sends and what it receives, and
 * between nodes if the acknowledgement that one message waits for is queued behind the data of the other. */
#include <stdio.h>
#include <stdlib.h>

#include "fatal.h"
#include "memory.h"
#include "pairs.h"

/* Rows share no cache line, as in memcpy_strided. In GPU memory, Open MPI takes 15 microseconds for each. */
enum { PITCH_BYTES = 512, CPU_ROWS_MAX = 65536, GPU_ROWS_MAX = 1024 };

static const int row_bytes[] = {4, 64};

static void list_levels(const job_t *job, const char *benchmark, pto_space_t space, case_list_t *list) {
    char missing[CASE_NAME_MAX];
    snprintf(missing, sizeof missing, "%s_%s", benchmark, pto_space_name(space));
    /* For host memory, it doesn't matter whether processes share a GPU. */
    pto_level_t first = space == PTO_SPACE_GPU ? PTO_LEVEL_ON_GPU : PTO_LEVEL_ON_SOCKET;
    for (pto_level_t level = first; level < PTO_LEVEL_COUNT; level++)
        pairs_cases(job, space, level, space, benchmark, missing, list);
}

static void list_cases(const job_t *job, pto_space_t space, case_list_t *list) {
    list_levels(job, "ping_pong", space, list);
}

static void list_exchanges(const job_t *job, pto_space_t space, case_list_t *list) {
    list_levels(job, "exchange", space, list);
}

/* Lists cases between host and GPU memory, if the processes have GPUs. */
static void list_mixed(const job_t *job, case_list_t *list) {
    const char *why = job_no_messages(job, PTO_SPACE_GPU);
    if (why != NULL)
        case_skip(list, why, "ping_pong_to");
    for (pto_level_t level = 0; why == NULL && level < PTO_LEVEL_COUNT; level++) {
        pair_t pairs[PAIRS_MAX];
        int count = pairs_find(job, PTO_SPACE_GPU, level, pairs);
        for (int i = 0; i < PTO_SPACE_COUNT * count; i++) {
            case_t *added = pairs_case(list, "ping_pong_to", &pairs[i / PTO_SPACE_COUNT],
                                       pto_level_name(level), (pto_space_t)(i % PTO_SPACE_COUNT));
            added->space = pto_space_name(added->buffers);
            added->from_other = true;
        }
    }
}

static void list_strided(const job_t *job, pto_space_t space, case_list_t *list) {
    pair_t pairs[PAIRS_MAX];
    pto_level_t level = PTO_LEVEL_ON_SOCKET;
    while (level < PTO_LEVEL_COUNT && pairs_find(job, space, level, pairs) == 0)
        level++;
    if (level == PTO_LEVEL_COUNT) {
        case_skip(list, pairs_why_none(PTO_LEVEL_ON_SOCKET), "ping_pong_strided_%s", pto_space_name(space));
        return;
    }
    for (size_t i = 0; i < sizeof row_bytes / sizeof *row_bytes; i++) {
        case_t *added = pairs_case(list, "ping_pong_strided", &pairs[0], pto_level_name(level), space);
        added->space = pto_space_name(space);
        added->messages = row_bytes[i];
        added->min_bytes = row_bytes[i];
        added->max_bytes = (int64_t)(space == PTO_SPACE_CPU ? CPU_ROWS_MAX : GPU_ROWS_MAX) * row_bytes[i];
        added->room = PITCH_BYTES / row_bytes[i];
    }
}

static void use_bytes(const work_t *work, int64_t bytes) {
    ping_pong_buffers_t *state = work->state;
    state->type = MPI_BYTE;
    state->count = (int)bytes;
}

/* Makes a datatype of `rows` rows of `bytes`. It is an hindexed type, as the executor uses it, which may be
 * slower than an MPI vector. */
static void make_type(int rows, int bytes, MPI_Datatype *type) {
    int *lengths = must_allocate((size_t)rows, sizeof *lengths);
    MPI_Aint *displacements = must_allocate((size_t)rows, sizeof *displacements);
    for (int i = 0; i < rows; i++) {
        lengths[i] = bytes;
        displacements[i] = (MPI_Aint)i * PITCH_BYTES;
    }
    MPI_DO(MPI_Type_create_hindexed(rows, lengths, displacements, MPI_BYTE, type));
    MPI_DO(MPI_Type_commit(type));
    free(lengths);
    free(displacements);
}

static void free_type(const work_t *work) {
    ping_pong_buffers_t *state = work->state;
    if (state->count > 0)
        MPI_DO(MPI_Type_free(&state->type));
    state->count = 0;
}

static void use_rows(const work_t *work, int64_t bytes) {
    ping_pong_buffers_t *state = work->state;
    free_type(work);
    make_type((int)(bytes / work->bench_case->messages), work->bench_case->messages, &state->type);
    state->count = 1;
}

static void go_and_return(const work_t *work, int64_t bytes) {
    const ping_pong_buffers_t *state = work->state;
    MPI_Comm comm = work->comm;
    (void)bytes;
    if (work->me == 0) {
        MPI_DO(MPI_Send(state->outgoing, state->count, state->type, 1, 0, comm));
        MPI_DO(MPI_Recv(state->incoming, state->count, state->type, 1, 0, comm, MPI_STATUS_IGNORE));
    } else {
        MPI_DO(MPI_Recv(state->incoming, state->count, state->type, 0, 0, comm, MPI_STATUS_IGNORE));
        MPI_DO(MPI_Send(state->outgoing, state->count, state->type, 0, 0, comm));
    }
}

static void exchange(const work_t *work, int64_t bytes) {
    ping_pong_buffers_t *state = work->state;
    MPI_Comm comm = work->comm;
    MPI_Request request[2];
    int count = (int)bytes, other = 1 - work->me;
    MPI_DO(MPI_Irecv(state->incoming, count, MPI_BYTE, other, 0, comm, &request[0]));
    MPI_DO(MPI_Isend(state->outgoing, count, MPI_BYTE, other, 0, comm, &request[1]));
    MPI_DO(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
}

const benchmark_t bench_ping_pong = {
    .name = "ping_pong",
    .summary = "a message there and back between two processes, each level, host and GPU buffers",
    .state_bytes = sizeof(ping_pong_buffers_t),
    .list_in = list_cases,
    .open = ping_pong_open,
    .resize = use_bytes,
    .once = go_and_return,
    .times = TIMES_ROUND_TRIP,
};

const benchmark_t bench_ping_pong_to = {
    .name = "ping_pong_to",
    .summary = "the same between host and GPU memory, from the other to this one",
    .state_bytes = sizeof(ping_pong_buffers_t),
    .list = list_mixed,
    .open = ping_pong_open,
    .resize = use_bytes,
    .once = go_and_return,
    .times = TIMES_ROUND_TRIP,
};

const benchmark_t bench_ping_pong_strided = {
    .name = "ping_pong_strided",
    .group = "ping_pong",
    .summary = "rows that are apart, in one message there and back, host and GPU buffers",
    .state_bytes = sizeof(ping_pong_buffers_t),
    .list_in = list_strided,
    .open = ping_pong_open,
    .resize = use_rows,
    .once = go_and_return,
    .times = TIMES_ROUND_TRIP,
    .close = free_type,
};

const benchmark_t bench_exchange = {
    .name = "exchange",
    .summary = "a message each way at once between two processes, each level, host and GPU buffers",
    .state_bytes = sizeof(ping_pong_buffers_t),
    .list_in = list_exchanges,
    .open = ping_pong_open,
    .once = exchange,
};
