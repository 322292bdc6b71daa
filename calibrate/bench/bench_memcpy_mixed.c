/* Mixed copies (Faraji's thesis, Figures 5.1 and 5.2): n processes of one GPU copy at the same time, k of
 * them by CUDA IPC into a buffer of the first, the others between their own GPU memory and pinned host
 * memory. `procs` is n, and the column `pair` has k. All synchronize before and after every copy, as in
 * memcpy_shared. The rows _ipc and _staged have the time of the slowest process that copies in that way. */
#include <stdio.h>

#include "fatal.h"
#include "memcpy_common.h"
#include "memory.h"

enum { DETAIL_KIND, DETAIL_BY_IPC };
enum { PART_IPC, PART_STAGED };

static const int64_t min_bytes = 4;
static const int64_t max_bytes = INT64_C(1) << 24;

static void add_case(const job_t *job, pto_copy_kind_t kind, int procs, int by_ipc, case_list_t *list) {
    char name[CASE_NAME_MAX / 2];
    snprintf(name, sizeof name, "memcpy_mixed_%s", pto_copy_kind_name(kind));
    case_t *added = case_add(list, name, procs);
    added->procs = procs;
    added->level = "on_gpu";
    added->buffers = PTO_SPACE_GPU;
    added->detail[DETAIL_KIND] = (int)kind;
    added->detail[DETAIL_BY_IPC] = by_ipc;
    added->min_bytes = min_bytes;
    added->max_bytes = max_bytes;
    snprintf(added->pair, sizeof added->pair, "ipc=%d", by_ipc);
    if (by_ipc > 0)
        snprintf(added->part[PART_IPC], CASE_NAME_MAX, "%s_ipc", name);
    if (by_ipc < procs)
        snprintf(added->part[PART_STAGED], CASE_NAME_MAX, "%s_staged", name);
    for (int i = 0; i < procs; i++)
        added->member[i] = job_process_of_device(job, 0, i);
}

/* Returns the next number of processes to measure, 0 after `max`: 2, 4, 8, ... `max`. */
static int next_procs(int procs, int max) {
    if (procs == max)
        return 0;
    return 2 * procs < max ? 2 * procs : max;
}

static void list_cases(const job_t *job, case_list_t *list) {
    int max = 0;
    while (job_process_of_device(job, 0, max) >= 0)
        max++;
    if (max < 2) {
        case_skip(list, "the job has one process for each GPU", "memcpy_mixed");
        return;
    }
    for (pto_copy_kind_t kind = PTO_COPY_H2D; kind <= PTO_COPY_D2H; kind++)
        for (int procs = 2; procs != 0; procs = next_procs(procs, max))
            for (int by_ipc = 0; by_ipc <= procs; by_ipc++)
                add_case(job, kind, procs, by_ipc, list);
}

typedef struct {
    bool by_ipc;      /* of the last members, as many as DETAIL_BY_IPC */
    together_t *part; /* the members that copy the same way */
    double part_s;
    void *own;    /* GPU memory */
    void *shared; /* member 0's buffer, as addressed here; NULL: not opened */
    void *host;   /* pinned; NULL: none */
} mixed_t;

/* All members take part; those that copy by IPC get the buffer of member 0. */
static void share_buffer(const work_t *work) {
    mixed_t *mixed = work->state;
    pto_memory_handle_t handle;
    if (work->me == 0) {
        mixed->shared = memory_buffer(work, PTO_SPACE_GPU, work->bench_case->member_count * work->max_bytes);
        GPU_DO(gpu.device->export_memory(mixed->shared, &handle, &gpu_error));
    }
    MPI_DO(MPI_Bcast(&handle, (int)sizeof handle, MPI_BYTE, 0, work->comm));
    if (work->me > 0 && mixed->by_ipc)
        mixed->shared = memory_opened(work, &handle);
    memory_is_shared(work);
}

static void open_case(const work_t *work) {
    mixed_t *mixed = work->state;
    MPI_Comm part = MPI_COMM_NULL;
    mixed->by_ipc = work->me >= work->bench_case->member_count - work->bench_case->detail[DETAIL_BY_IPC];
    MPI_DO(MPI_Comm_split(work->comm, mixed->by_ipc, work->me, &part));
    mixed->part = together_create(part);
    MPI_DO(MPI_Comm_free(&part));
    mixed->own = memory_buffer(work, PTO_SPACE_GPU, work->max_bytes);
    if (!mixed->by_ipc)
        mixed->host = memory_pinned(work, work->max_bytes);
    share_buffer(work);
}

static pto_move_t move_of(const work_t *work, size_t bytes) {
    const mixed_t *mixed = work->state;
    if (mixed->by_ipc)
        return move_of_bytes((char *)mixed->shared + work->me * work->max_bytes, mixed->own, bytes);
    return work->bench_case->detail[DETAIL_KIND] == PTO_COPY_H2D
               ? move_of_bytes(mixed->own, mixed->host, bytes)
               : move_of_bytes(mixed->host, mixed->own, bytes);
}

static double trial(const work_t *work, int64_t bytes, int iterations) {
    mixed_t *mixed = work->state;
    const pto_move_t move = move_of(work, (size_t)bytes);
    double seconds = 0;
    mixed->part_s = 0;
    for (int i = 0; i < iterations; i++) {
        together_wait(work->together);
        double start = now_s();
        copy_and_wait(move);
        together_wait(mixed->part);
        mixed->part_s += now_s() - start;
        together_wait(work->together);
        seconds += now_s() - start;
    }
    return seconds;
}

static void parts(const work_t *work, double seconds[CASE_PART_MAX]) {
    const mixed_t *mixed = work->state;
    seconds[mixed->by_ipc ? PART_IPC : PART_STAGED] = mixed->part_s;
}

static void close_case(const work_t *work) {
    const mixed_t *mixed = work->state;
    together_destroy(mixed->part);
}

const benchmark_t bench_memcpy_mixed = {
    .name = "memcpy_mixed",
    .group = "copies",
    .rows = "memcpy_mixed_h2d, memcpy_mixed_d2h, and of each _ipc and _staged",
    .summary = "processes of one GPU copying at once, some by CUDA IPC and some to or from the host",
    .gpu_only = "memcpy_mixed",
    .state_bytes = sizeof(mixed_t),
    .list = list_cases,
    .open = open_case,
    .trial = trial,
    .parts = parts,
    .close = close_case,
};
