/* Ping-pong with a derived datatype: rows with gaps in memory, like the columns of a grid, in one message.
 * MPI packs them by the CPU, or by one copy for each row of GPU memory. `messages` is the bytes of a row,
 * `bytes` those of all. As packing does not depend on the level, only the nearest pair is measured. */
#include <stdlib.h>

#include "fatal.h"
#include "memory.h"
#include "pairs.h"

/* Rows share no cache line, as in memcpy_strided. In GPU memory, Open MPI takes 15 microseconds for each. */
enum { PITCH_BYTES = 512, CPU_ROWS_MAX = 65536, GPU_ROWS_MAX = 1024 };

static const int row_bytes[] = {4, 64};

static void list_space(const job_t *job, pto_space_t space, case_list_t *list) {
    const char *why = job_no_messages(job, space);
    pair_t pairs[PAIRS_MAX];
    pto_level_t level = PTO_LEVEL_ON_SOCKET;
    while (why == NULL && level < PTO_LEVEL_COUNT && pairs_find(job, space, level, pairs) == 0)
        level++;
    if (why == NULL && level == PTO_LEVEL_COUNT)
        why = pairs_why_none(PTO_LEVEL_ON_SOCKET);
    if (why != NULL) {
        case_skip(list, why, "ping_pong_strided_%s", pto_space_name(space));
        return;
    }
    for (size_t i = 0; i < sizeof row_bytes / sizeof *row_bytes; i++) {
        case_t *added = pairs_case(list, "ping_pong_strided", &pairs[0]);
        added->space = pto_space_name(space);
        added->level = pto_level_name(level);
        added->buffers = space;
        added->messages = row_bytes[i];
        added->min_bytes = row_bytes[i];
        added->max_bytes = (int64_t)(space == PTO_SPACE_CPU ? CPU_ROWS_MAX : GPU_ROWS_MAX) * row_bytes[i];
    }
}

static void list_cases(const job_t *job, case_list_t *list) {
    for (pto_space_t space = 0; space < PTO_SPACE_COUNT; space++)
        list_space(job, space, list);
}

static void open_case(const work_t *work) {
    ping_pong_buffers_t *state = work->state;
    int64_t bytes = work->max_bytes / work->bench_case->messages * PITCH_BYTES;
    state->outgoing = memory_buffer(work, work->bench_case->buffers, bytes);
    state->incoming = memory_buffer(work, work->bench_case->buffers, bytes);
}

/* Returns a datatype like those of the executor, which may be slower than an MPI vector. */
static MPI_Datatype type_of(int rows, int bytes) {
    int *lengths = must_allocate((size_t)rows, sizeof *lengths);
    MPI_Aint *places = must_allocate((size_t)rows, sizeof *places);
    MPI_Datatype type;
    for (int i = 0; i < rows; i++) {
        lengths[i] = bytes;
        places[i] = (MPI_Aint)i * PITCH_BYTES;
    }
    MPI_DO(MPI_Type_create_hindexed(rows, lengths, places, MPI_BYTE, &type));
    MPI_DO(MPI_Type_commit(&type));
    free(lengths);
    free(places);
    return type;
}

static double trial(const work_t *work, int64_t bytes, int iterations) {
    ping_pong_buffers_t *state = work->state;
    MPI_Comm comm = work->comm;
    int row = (int)work->bench_case->messages;
    MPI_Datatype type = type_of((int)(bytes / row), row);
    MPI_DO(MPI_Barrier(comm));
    double start = now_s();
    for (int i = 0; i < iterations; i++) {
        if (work->me == 0) {
            MPI_DO(MPI_Send(state->outgoing, 1, type, 1, 0, comm));
            MPI_DO(MPI_Recv(state->incoming, 1, type, 1, 0, comm, MPI_STATUS_IGNORE));
        } else {
            MPI_DO(MPI_Recv(state->incoming, 1, type, 0, 0, comm, MPI_STATUS_IGNORE));
            MPI_DO(MPI_Send(state->outgoing, 1, type, 0, 0, comm));
        }
    }
    double elapsed_s = now_s() - start;
    MPI_DO(MPI_Type_free(&type));
    return work->me == 0 ? elapsed_s / 2.0 : 0.0;
}

const benchmark_t bench_ping_pong_strided = {
    .name = "ping_pong_strided",
    .group = "ping_pong",
    .summary = "rows that are apart, in one message there and back, host and GPU buffers",
    .state_bytes = sizeof(ping_pong_buffers_t),
    .list = list_cases,
    .open = open_case,
    .trial = trial,
};
