/* Shared copies: 1 .. procs_per_gpu processes of every GPU of a node copy at the same time, each the full
 * size between pinned memory and its own buffer on the GPU, or between two such buffers. `procs` counts the
 * processes of one GPU. All processes synchronize before and after every copy: without MPS, a GPU serves its
 * processes in time slices of tens of microseconds. A process that copies repeatedly would fit many small
 * copies into its slice, but one that copies once has to wait for it. Strided copies, of eight rows with gaps
 * of the same length, use another path through the GPU and are measured separately. In duplex, neighbouring
 * processes of a GPU, and neighbouring GPUs, copy in opposite directions. */
#include <stdio.h>

#include "memcpy_common.h"

enum { ROWS = 8 };
enum { DETAIL_KIND, DETAIL_PATTERN };

typedef enum { CONTIGUOUS, STRIDED, DUPLEX } pattern_t;

/* Returns the number of processes that every device has. */
static int min_per_device(const job_t *job) {
    for (int count = 0;; count++) {
        for (int device = 0; device < job->device_count; device++)
            if (job_process_of_device(job, device, count) < 0)
                return count;
    }
}

static void add_case(const job_t *job, const char *what, pto_copy_kind_t kind, pattern_t pattern, int procs,
                     case_list_t *list) {
    char name[CASE_NAME_MAX];
    snprintf(name, sizeof name, "memcpy_shared_%s", what);
    case_t *added = case_add(list, name, procs * job->device_count);
    added->procs = procs;
    added->buffers = PTO_SPACE_GPU;
    added->detail[DETAIL_KIND] = (int)kind;
    added->detail[DETAIL_PATTERN] = (int)pattern;
    added->min_bytes = pattern == STRIDED ? ROWS : 1;
    added->room = pattern == STRIDED ? 2 : 1;
    bool on_socket = true;
    for (int i = 0; i < added->member_count; i++) {
        int device = i % job->device_count;
        added->member[i] = job_process_of_device(job, device, i / job->device_count);
        on_socket = on_socket && job_on_socket(job, added->member[i], device);
    }
    added->level = on_socket ? "on_socket" : "off_socket";
}

static void list_cases(const job_t *job, case_list_t *list) {
    static const struct {
        const char *what;
        pto_copy_kind_t kind;
        pattern_t pattern;
    } shared[] = {{"h2d", PTO_COPY_H2D, CONTIGUOUS},      {"d2h", PTO_COPY_D2H, CONTIGUOUS},
                  {"d2d", PTO_COPY_D2D, CONTIGUOUS},      {"strided_h2d", PTO_COPY_H2D, STRIDED},
                  {"strided_d2h", PTO_COPY_D2H, STRIDED}, {"duplex", PTO_COPY_H2D, DUPLEX}};
    int max = min_per_device(job);
    if (max == 0) {
        case_skip(list, "fewer processes than GPUs on the node", "memcpy_shared");
        return;
    }
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        for (int procs = 1; procs != 0; procs = next_count(procs, max))
            add_case(job, shared[i].what, shared[i].kind, shared[i].pattern, procs, list);
    if (max == 1)
        case_skip(list, "the job has one process for each GPU", "memcpy_shared_more");
}

static void open_case(const work_t *work) {
    const int *detail = work->bench_case->detail;
    int device = work->me % work->job->device_count, turn = work->me / work->job->device_count;
    bool to_host = detail[DETAIL_PATTERN] == DUPLEX && (device + turn) % 2 != 0;
    copying_make(work, to_host ? PTO_COPY_D2H : (pto_copy_kind_t)detail[DETAIL_KIND], false);
}

static void copy_once(const work_t *work, int64_t bytes) {
    const copying_t *copying = work->state;
    pto_move_t move = copying_move(copying, 0, (size_t)bytes);
    if (work->bench_case->detail[DETAIL_PATTERN] == STRIDED) {
        move.rows = ROWS;
        move.bytes /= ROWS;
        move.target_pitch_bytes = copying->kind == PTO_COPY_H2D ? 2 * move.bytes : move.bytes;
        move.source_pitch_bytes = copying->kind == PTO_COPY_H2D ? move.bytes : 2 * move.bytes;
    }
    copy_and_wait(move);
}

const benchmark_t bench_memcpy_shared = {
    .name = "memcpy_shared",
    .group = "copies",
    .rows = "memcpy_shared_h2d, memcpy_shared_d2h, memcpy_shared_d2d, memcpy_shared_strided_h2d, "
            "memcpy_shared_strided_d2h, memcpy_shared_duplex",
    .summary = "1 .. n processes of each GPU of a node copying at once",
    .gpu_only = "memcpy_shared",
    .state_bytes = sizeof(copying_t),
    .list = list_cases,
    .open = open_case,
    .once = copy_once,
    .times = TIMES_TOGETHER,
};
