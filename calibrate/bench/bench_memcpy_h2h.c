/* Copies within host memory by the CPU: 1 .. n processes of one socket copy at the same time, each to its own
 * memory, from memory that it touched first itself (on_socket) or that a process of another socket touched
 * first (off_socket). `procs` counts the processes that copy. They synchronize before and after every copy,
 * so that all n share the memory's bandwidth. Each copy is at a new offset, so that its data are not in the
 * CPU's caches, as in a plan. */
#include <stdlib.h>
#include <string.h>

#include "fatal.h"
#include "memory.h"
#include "shm.h"

/* The offset of the next copy is a multiple of OFFSET_BYTES. */
enum { TAG_SEGMENT = 8, OFFSET_BYTES = 65 * 1024 };

/* Copies go through buffers of at least this size. Off the socket none is larger: /dev/shm may be small. */
static const int64_t region_bytes = INT64_C(1) << 24;

/* Finds the processes of node 0 on rank 0's socket, or on the first other one. Returns how many. */
static int find_processes(const job_t *job, bool on_socket, int *found) {
    int count = 0;
    for (int rank = 0; rank < job->size; rank++) {
        const process_t *process = &job->process[rank];
        if (process->node == job->process[0].node &&
            (process->socket == job->process[0].socket) == on_socket &&
            (count == 0 || process->socket == job->process[found[0]].socket))
            found[count++] = rank;
    }
    return count;
}

/* Members 0 .. procs - 1 copy; off the socket, each from the memory of the member `procs` after it. */
static void add_case(const int *copying, const int *partners, int procs, case_list_t *list) {
    bool on_socket = partners == NULL;
    case_t *added = case_add_in(list, "memcpy_h2h", PTO_SPACE_CPU, on_socket ? procs : 2 * procs);
    added->procs = procs;
    added->level = pto_reach_name(on_socket ? PTO_REACH_ON_SOCKET : PTO_REACH_OFF_SOCKET);
    added->max_bytes = on_socket ? added->max_bytes : region_bytes;
    memcpy(added->member, copying, (size_t)procs * sizeof *copying);
    if (partners != NULL)
        memcpy(added->member + procs, partners, (size_t)procs * sizeof *partners);
}

static void list_cases(const job_t *job, case_list_t *list) {
    int *here = must_allocate((size_t)job->size, sizeof *here);
    int *there = must_allocate((size_t)job->size, sizeof *there);
    int max = find_processes(job, true, here), most_there = find_processes(job, false, there);
    for (int procs = 1; procs != 0; procs = next_count(procs, max))
        add_case(here, NULL, procs, list);
    max = max < most_there ? max : most_there; /* off the socket, each has a partner there */
    if (max == 0)
        case_skip(list, "all processes of the first node sit on one socket", "memcpy_h2h_off_socket");
    for (int procs = max > 0 ? 1 : 0; procs != 0; procs = next_count(procs, max))
        add_case(here, there, procs, list);
    free(here);
    free(there);
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
    state->at += (bytes + OFFSET_BYTES - 1) / OFFSET_BYTES * OFFSET_BYTES;
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
