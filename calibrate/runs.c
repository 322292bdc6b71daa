/* Times the `once` of benchmarks that have no `trial` of their own, in the way that their times_t states
 * (benchmark.h). Called by the engine for each repetition. */
#include "benchmark.h"
#include "fatal.h"

/* The number of runs of a batch: enough to take a while, but no more than a program would capture in a graph.
 * Between the limits, the runs of a batch move runs_bytes. */
enum { RUNS_MIN = 5, RUNS_MAX = 100 };
static const int64_t runs_bytes = INT64_C(1) << 26;

static int run_count(int64_t bytes) {
    int64_t runs = bytes > 0 ? runs_bytes / bytes : RUNS_MAX;
    if (runs < RUNS_MIN)
        return RUNS_MIN;
    return runs > RUNS_MAX ? RUNS_MAX : (int)runs;
}

static void enqueue_runs(const work_t *work, const benchmark_t *benchmark) {
    for (int i = 0; i < work->run_count; i++)
        benchmark->once(work, work->bytes);
}

/* Makes a run that is not timed, in which NCCL connects its members, and then captures the graph, if --runs
 * asks for one. */
static void prepare_runs(work_t *work, const benchmark_t *benchmark) {
    work->run_count = run_count(work->bytes);
    benchmark->once(work, work->bytes);
    GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
    if (work->job->runs != PTO_RUNS_GRAPH)
        return;
    GPU_DO(gpu.bench->graph_begin(gpu.stream, &gpu_error));
    enqueue_runs(work, benchmark);
    GPU_DO(gpu.bench->graph_end(gpu.stream, &work->graph, &gpu_error));
}

/* Whether runs are enqueued without waiting for each. */
static bool follow_each_other(const work_t *work, const benchmark_t *benchmark) {
    return benchmark->times == TIMES_RUNS && work->job->runs != PTO_RUNS_WAITED;
}

static void resize(work_t *work, const benchmark_t *benchmark, int64_t bytes) {
    work_end_runs(work);
    work->bytes = bytes;
    if (benchmark->resize != NULL)
        benchmark->resize(work, bytes);
    if (follow_each_other(work, benchmark))
        prepare_runs(work, benchmark);
}

/* A barrier of all members: between nodes by MPI_Barrier, then within each node by shared memory, so that the
 * members of a node leave at the same time. Members are listed node by node. */
static void synchronize(const work_t *work) {
    const int *member = work->bench_case->member;
    const process_t *process = work->job->process;
    if (process[member[0]].node != process[member[work->bench_case->member_count - 1]].node)
        MPI_DO(MPI_Barrier(work->comm));
    together_wait(work->together);
}

/* Times batches of runs. Returns the mean seconds of a run times `iterations`. */
static double batches_s(const work_t *work, const benchmark_t *benchmark, int iterations) {
    int launches = (iterations + work->run_count - 1) / work->run_count;
    synchronize(work);
    double start = now_s();
    for (int i = 0; i < launches; i++) {
        if (work->graph != NULL)
            GPU_DO(gpu.bench->graph_launch(work->graph, gpu.stream, &gpu_error));
        else
            enqueue_runs(work, benchmark);
    }
    GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
    return (now_s() - start) / launches / work->run_count * iterations;
}

/* Times each iteration from a barrier until the last member on this node has ended it; returns the sum. */
static double together_s(const work_t *work, const benchmark_t *benchmark, int iterations) {
    double seconds = 0.0;
    for (int i = 0; i < iterations; i++) {
        synchronize(work);
        seconds -= now_s();
        benchmark->once(work, work->bytes);
        if (benchmark->times == TIMES_RUNS)
            GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
        together_wait(work->together);
        seconds += now_s();
    }
    return seconds;
}

double work_trial(work_t *work, const benchmark_t *benchmark, int64_t bytes, int iterations) {
    if (work->bytes != bytes)
        resize(work, benchmark, bytes);
    if (benchmark->trial != NULL)
        return benchmark->trial(work, bytes, iterations);
    if (follow_each_other(work, benchmark))
        return batches_s(work, benchmark, iterations);
    if (benchmark->times == TIMES_TOGETHER || benchmark->times == TIMES_RUNS)
        return together_s(work, benchmark, iterations);
    bool acts = benchmark->times != TIMES_LEAD || work->me == 0;
    double start = now_s();
    for (int i = 0; i < iterations && acts; i++)
        benchmark->once(work, bytes);
    double elapsed_s = now_s() - start;
    if (benchmark->times == TIMES_ROUND_TRIP)
        return work->me < work->bench_case->procs ? elapsed_s / 2.0 : 0.0;
    return acts ? elapsed_s : 0.0;
}

void work_end_runs(work_t *work) {
    if (work->graph != NULL)
        GPU_DO(gpu.bench->graph_destroy(work->graph, &gpu_error));
    work->graph = NULL;
}
