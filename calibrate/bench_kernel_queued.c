/* Queued kernels: the cost of each additional kernel in a stream. After one kernel that is not timed, a
 * thousand empty ones are launched and the stream is synchronized once. The time recorded is that of one
 * kernel. */
#include "benchmark.h"
#include "fatal.h"

enum { QUEUED = 1000 };

static void list_cases(const job_t *job, case_list_t *list) {
    if (job->no_gpu[0] != '\0') {
        case_skip(list, "kernel_queued", job->no_gpu);
        return;
    }
    case_t *added = case_add(list, "kernel_queued", 1);
    added->space = pto_space_name(PTO_SPACE_GPU);
    added->sized = false;
    added->member[0] = 0;
}

static void *open_case(const work_t *work) { return (void *)work; }

/* Whatever the iterations: a thousand are long enough for the clock. */
static double trial(void *opaque, int64_t bytes, int iterations) {
    (void)opaque;
    (void)bytes;
    GPU_DO(gpu.bench->launch_empty(gpu.stream, &gpu_error));
    double start = now_s();
    for (int i = 0; i < QUEUED; i++) {
        GPU_DO(gpu.bench->launch_empty(gpu.stream, &gpu_error));
    }
    GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
    return (now_s() - start) / QUEUED * iterations;
}

static void close_case(void *opaque) { (void)opaque; }

const benchmark_t bench_kernel_queued = {
    .name = "kernel_queued",
    .group = "signals",
    .rows = "kernel_queued",
    .summary = "each of a thousand empty kernels that are queued and waited for once",
    .list = list_cases,
    .open = open_case,
    .trial = trial,
    .close = close_case,
};
