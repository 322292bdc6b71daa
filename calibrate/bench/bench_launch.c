/* Launches of an empty kernel. The time is always that of one kernel:
 *   - kernel_launch: until the host sees its end;
 *   - kernel_enqueue: the host's call alone, with many in a row;
 *   - graph_launch: as a captured graph, until the host sees its end;
 *   - kernel_queued: each additional kernel in a stream. After one kernel that is not timed, a thousand are
 *     launched and the stream is synchronized once. */
#include "benchmark.h"
#include "fatal.h"

/* In the order of the rows. */
typedef enum { LAUNCH, ENQUEUE } kind_t;

enum { QUEUED = 1000 };

/* After each launch that is waited for, the host spins for a while, which is not timed. So it is busy, as
 * between a plan's launches: a launch right after another one takes a fifth less. */
static const double pause_s = 20e-6;

/* Returns the seconds of `iterations` launches into the GPU's stream, each until the host sees its end. */
static double launching_s(pto_status_t (*launch)(void *graph, void *stream, pto_error_t *err), void *graph,
                          int iterations) {
    double seconds = 0;
    for (int i = 0; i < iterations; i++) {
        double start = now_s();
        GPU_DO(launch(graph, gpu.stream, &gpu_error));
        GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
        double end = now_s();
        seconds += end - start;
        while (now_s() - end < pause_s) {
        }
    }
    return seconds;
}

static pto_status_t launch_empty(void *nothing, void *stream, pto_error_t *err) {
    (void)nothing;
    return gpu.bench->launch_empty(stream, err);
}

static double trial_kernel(const work_t *work, int64_t bytes, int iterations) {
    (void)bytes;
    if (work->bench_case->detail[0] == LAUNCH)
        return launching_s(launch_empty, NULL, iterations);
    double start = now_s();
    for (int i = 0; i < iterations; i++)
        GPU_DO(gpu.bench->launch_empty(gpu.stream, &gpu_error));
    double elapsed = now_s() - start;
    GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
    return elapsed;
}

/* Always launches a thousand, whatever the iterations, which is long enough for the clock. */
static double trial_queued(const work_t *work, int64_t bytes, int iterations) {
    (void)work;
    (void)bytes;
    GPU_DO(gpu.bench->launch_empty(gpu.stream, &gpu_error));
    double start = now_s();
    for (int i = 0; i < QUEUED; i++)
        GPU_DO(gpu.bench->launch_empty(gpu.stream, &gpu_error));
    GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
    return (now_s() - start) / QUEUED * iterations;
}

static void open_graph(const work_t *work) {
    void **graph = work->state;
    GPU_DO(gpu.bench->graph_begin(gpu.stream, &gpu_error));
    GPU_DO(gpu.bench->launch_empty(gpu.stream, &gpu_error));
    GPU_DO(gpu.bench->graph_end(gpu.stream, graph, &gpu_error));
}

static double trial_graph(const work_t *work, int64_t bytes, int iterations) {
    void *const *graph = work->state;
    (void)bytes;
    return launching_s(gpu.bench->graph_launch, *graph, iterations);
}

static void close_graph(const work_t *work) {
    void *const *graph = work->state;
    GPU_DO(gpu.bench->graph_destroy(*graph, &gpu_error));
}

const benchmark_t bench_kernel_launch = {
    .name = "kernel_launch",
    .group = "signals",
    .rows = "kernel_launch, kernel_enqueue",
    .summary = "an empty kernel until its end, and the host's part alone",
    .gpu_only = "kernel_launch",
    .trial = trial_kernel,
};

const benchmark_t bench_kernel_queued = {
    .name = "kernel_queued",
    .group = "signals",
    .summary = "each of a thousand empty kernels that are queued and waited for once",
    .gpu_only = "kernel_queued",
    .trial = trial_queued,
};

const benchmark_t bench_graph_launch = {
    .name = "graph_launch",
    .group = "signals",
    .summary = "a captured graph of one empty kernel until its end",
    .gpu_only = "graph_launch",
    .state_bytes = sizeof(void *),
    .open = open_graph,
    .trial = trial_graph,
    .close = close_graph,
};
