/* Kernel launch: of a kernel that does nothing, until the host sees its end (kernel_launch), and the host's
 * part alone where many follow one another (kernel_enqueue). */
#include "benchmark.h"
#include "fatal.h"
#include "launching.h"

typedef enum { LAUNCH, ENQUEUE } kind_t;

static void list_cases(const job_t *job, case_list_t *list) {
    const char *const names[] = {[LAUNCH] = "kernel_launch", [ENQUEUE] = "kernel_enqueue"};
    if (job->no_gpu[0] != '\0') {
        case_skip(list, "kernel_launch", job->no_gpu);
        return;
    }
    for (int kind = LAUNCH; kind <= ENQUEUE; kind++) {
        case_t *added = case_add(list, names[kind], 1);
        added->space = pto_space_name(PTO_SPACE_GPU);
        added->sized = false;
        added->detail[0] = kind;
        added->member[0] = 0;
    }
}

static void *open_case(const work_t *work) { return (void *)work; }

static pto_status_t launch_empty(void *nothing, void *stream, pto_error_t *err) {
    (void)nothing;
    return gpu.bench->launch_empty(stream, err);
}

static double trial(void *opaque, int64_t bytes, int iterations) {
    (void)bytes;
    const work_t *work = opaque;
    if (work->what->detail[0] == LAUNCH) {
        return launching_s(launch_empty, NULL, iterations);
    }
    double start = now_s();
    for (int i = 0; i < iterations; i++) {
        GPU_DO(gpu.bench->launch_empty(gpu.stream, &gpu_error));
    }
    double elapsed = now_s() - start;
    GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
    return elapsed;
}

static void close_case(void *opaque) { (void)opaque; }

const benchmark_t bench_kernel_launch = {
    .name = "kernel_launch",
    .group = "signals",
    .rows = "kernel_launch, kernel_enqueue",
    .summary = "an empty kernel until its end, and the host's part alone",
    .list = list_cases,
    .open = open_case,
    .trial = trial,
    .close = close_case,
};
