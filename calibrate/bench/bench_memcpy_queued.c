/* Queued copies: 1, 2, 4 ... 64 copies at different addresses are enqueued in one stream, which is then
 * drained. `messages` is the number of copies. The seconds are of all of them. */
#include "fatal.h"
#include "memcpy_common.h"

enum { QUEUED_MAX = 64 };

/* A larger copy takes far longer than queueing it. */
static const int64_t max_bytes = INT64_C(1) << 20;

static void add_case(const job_t *job, pto_copy_kind_t kind, int copies, case_list_t *list) {
    case_t *added = copying_own_case(job, "memcpy_queued", kind, list);
    added->messages = copies;
    added->max_bytes = max_bytes;
    added->room = copies;
}

static void list_cases(const job_t *job, case_list_t *list) {
    for (pto_copy_kind_t kind = PTO_COPY_H2D; kind <= PTO_COPY_D2D; kind++)
        for (int copies = 1; copies <= QUEUED_MAX; copies *= 2)
            add_case(job, kind, copies, list);
}

static void copy_once(const work_t *work, int64_t bytes) {
    const copying_t *copying = work->state;
    size_t size = (size_t)bytes, all = (size_t)work->bench_case->messages * size;
    for (size_t at = 0; at < all; at += size) {
        const pto_move_t move = copying_move(copying, at, size);
        GPU_DO(gpu.device->copy(&move, gpu.stream, &gpu_error));
    }
    GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
}

const benchmark_t bench_memcpy_queued = {
    .name = "memcpy_queued",
    .group = "copies",
    .rows = "memcpy_queued_h2d, memcpy_queued_d2h, memcpy_queued_d2d",
    .summary = "1 .. 64 copies that are queued in a stream and waited for once",
    .gpu_only = "memcpy_queued",
    .state_bytes = sizeof(copying_t),
    .list = list_cases,
    .open = copying_open,
    .once = copy_once,
};
