/* Copies within host memory by the CPU: 1 .. n processes of one socket at once, each to its own memory, from
 * memory that it touched first itself (on_socket) or that a process of another socket touched first
 * (off_socket). `procs` counts the processes that copy. They synchronize before and after every copy, so that
 * all n share the memory's bandwidth. Every copy is at another offset, because the data of a plan's copies
 * are not in the CPU's caches either. */
#include <string.h>

#include "fatal.h"
#include "memory.h"
#include "shm.h"

enum { TAG_SEGMENT = 8, PLACE_BYTES = 65 * 1024 };

/* Copies go through buffers of at least this size. Off the socket none is larger: /dev/shm may be small. */
static const int64_t region_bytes = INT64_C(1) << 24;

/* Returns the index-th process of node 0 on a socket; -1: none. */
static int process_of_socket(const job_t *job, int socket, int index) {
    for (int rank = 0; rank < job->size; rank++) {
        const process_t *process = &job->process[rank];
        if (process->node == job->process[0].node && process->socket == socket && index-- == 0)
            return rank;
    }
    return -1;
}

/* Returns a socket of node 0 that is not rank 0's; -1: none. */
static int other_socket(const job_t *job) {
    for (int rank = 0; rank < job->size; rank++)
        if (job->process[rank].node == job->process[0].node &&
            job->process[rank].socket != job->process[0].socket)
            return job->process[rank].socket;
    return -1;
}

static int count_of(const job_t *job, int socket) {
    int count = 0;
    while (process_of_socket(job, socket, count) >= 0)
        count++;
    return count;
}

/* Members 0 .. procs - 1 copy; off the socket, each from the memory of the member `procs` after it. */
static void add_case(const job_t *job, int from_socket, int procs, case_list_t *list) {
    int socket = job->process[0].socket;
    bool on_socket = from_socket == socket;
    case_t *added = case_add_in(list, "memcpy_h2h", PTO_SPACE_CPU, on_socket ? procs : 2 * procs);
    added->procs = procs;
    added->level = pto_reach_name(on_socket ? PTO_REACH_ON_SOCKET : PTO_REACH_OFF_SOCKET);
    added->max_bytes = on_socket ? added->max_bytes : region_bytes;
    for (int i = 0; i < added->member_count; i++)
        added->member[i] = process_of_socket(job, i < procs ? socket : from_socket, i % procs);
}

static void list_cases(const job_t *job, case_list_t *list) {
    int socket = job->process[0].socket, other = other_socket(job);
    int max = count_of(job, socket), most_there = other < 0 ? 0 : count_of(job, other);
    for (int procs = 1; procs != 0; procs = next_count(procs, max))
        add_case(job, socket, procs, list);
    max = max < most_there ? max : most_there; /* off the socket, each has a partner there */
    if (max == 0)
        case_skip(list, "all processes of the first node sit on one socket", "memcpy_h2h_off_socket");
    for (int procs = max > 0 ? 1 : 0; procs != 0; procs = next_count(procs, max))
        add_case(job, other, procs, list);
}

typedef struct {
    bool on_socket;
    bool copies;
    void *source; /* off the socket, a shared segment that the partner, which does not copy, created */
    pto_shared_handle_t segment;
    void *target;
    int64_t bytes; /* of source and target */
    int64_t at;    /* the offset of the next copy */
} state_t;

/* The member that copies opens the segment of its partner. */
static void share_segment(const work_t *work) {
    state_t *state = work->state;
    pto_error_t err = {0};
    pto_status_t status = PTO_OK;
    int procs = work->bench_case->procs, size = (int)sizeof state->segment;
    if (!state->copies) {
        status = pto_shared_create((size_t)state->bytes, &state->source, &state->segment, &err);
        if (status == PTO_OK) {
            memset(state->source, 1, (size_t)state->bytes);
            MPI_DO(MPI_Send(&state->segment, size, MPI_BYTE, work->me - procs, TAG_SEGMENT, work->comm));
        }
    } else {
        MPI_DO(MPI_Recv(&state->segment, size, MPI_BYTE, work->me + procs, TAG_SEGMENT, work->comm,
                        MPI_STATUS_IGNORE));
        status = pto_shared_open(&state->segment, &state->source, &err);
    }
    if (status != PTO_OK)
        die("%s", err.message);
}

static void open_case(const work_t *work) {
    state_t *state = work->state;
    state->on_socket = work->bench_case->member_count == work->bench_case->procs;
    state->copies = work->me < work->bench_case->procs;
    state->bytes = work->max_bytes > region_bytes ? work->max_bytes : region_bytes;
    if (state->copies)
        state->target = memory_buffer(work, PTO_SPACE_CPU, state->bytes);
    if (state->on_socket)
        state->source = memory_buffer(work, PTO_SPACE_CPU, state->bytes);
    else
        share_segment(work);
}

static void copy_one(state_t *state, int64_t bytes) {
    state->at = state->at + bytes <= state->bytes ? state->at : 0;
    memcpy((char *)state->target + state->at, (const char *)state->source + state->at, (size_t)bytes);
    state->at += (bytes + PLACE_BYTES - 1) / PLACE_BYTES * PLACE_BYTES;
}

/* A process that copies alone need not synchronize with its partner, which only provides memory. */
static double trial(const work_t *work, int64_t bytes, int iterations) {
    state_t *state = work->state;
    bool synchronizes = work->bench_case->procs > 1;
    double start = now_s();
    for (int i = 0; i < iterations; i++) {
        if (synchronizes)
            together_wait(work->together);
        if (state->copies)
            copy_one(state, bytes);
        if (synchronizes)
            together_wait(work->together);
    }
    return state->copies ? now_s() - start : 0;
}

static void close_case(const work_t *work) {
    state_t *state = work->state;
    if (!state->on_socket && state->copies)
        pto_shared_close(state->source, &state->segment);
    MPI_DO(MPI_Barrier(work->comm));
    if (!state->copies)
        pto_shared_destroy(state->source, &state->segment);
}

const benchmark_t bench_memcpy_h2h = {
    .name = "memcpy_h2h",
    .group = "copies",
    .summary = "1 .. n processes of a socket copying within host memory at once",
    .state_bytes = sizeof(state_t),
    .list = list_cases,
    .open = open_case,
    .trial = trial,
    .close = close_case,
};
