/* Graph launch: a captured graph of one kernel that does nothing, until the host sees its end; beside
 * kernel_launch, which is the same kernel by itself. */
#include "benchmark.h"
#include "fatal.h"
#include "launching.h"

static void list_cases(const job_t *job, case_list_t *list) {
    if (job->no_gpu[0] != '\0') {
        case_skip(list, "graph_launch", job->no_gpu);
        return;
    }
    case_t *added = case_add(list, "graph_launch", 1);
    added->space = pto_space_name(PTO_SPACE_GPU);
    added->sized = false;
    added->member[0] = 0;
}

static void *open_case(const work_t *work) {
    (void)work;
    void *graph = NULL;
    GPU_DO(gpu.bench->graph_create(gpu.stream, &graph, &gpu_error));
    return graph;
}

static double trial(void *graph, int64_t bytes, int iterations) {
    (void)bytes;
    return launching_s(gpu.bench->graph_launch, graph, iterations);
}

static void close_case(void *graph) { GPU_DO(gpu.bench->graph_destroy(graph, &gpu_error)); }

const benchmark_t bench_graph_launch = {
    .name = "graph_launch",
    .group = "signals",
    .rows = "graph_launch",
    .summary = "a captured graph of one empty kernel until its end",
    .list = list_cases,
    .open = open_case,
    .trial = trial,
    .close = close_case,
};
