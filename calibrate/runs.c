/* Times runs of a benchmark (runs.h), and the `once` of benchmarks without a trial of their own. */
#include "runs.h"

#include "fatal.h"

/* The number of runs of a graph: enough to take a while, but no more than a program would capture. */
enum { RUNS_MIN = 5, RUNS_MAX = 100 };
static const int64_t runs_bytes = INT64_C(1) << 26;

static int run_count(int64_t bytes) {
    int64_t runs = bytes > 0 ? runs_bytes / bytes : RUNS_MAX;
    if (runs < RUNS_MIN)
        return RUNS_MIN;
    return runs > RUNS_MAX ? RUNS_MAX : (int)runs;
}

void runs_open(runs_t *runs, const work_t *work, void (*enqueue)(const work_t *work, int64_t bytes)) {
    *runs = (runs_t){.work = work, .enqueue = enqueue, .bytes = -1};
}

static void enqueue_runs(const runs_t *runs) {
    for (int i = 0; i < runs->count; i++)
        runs->enqueue(runs->work, runs->bytes);
}

static void prepare(runs_t *runs, int64_t bytes) {
    runs_close(runs);
    runs->bytes = bytes;
    runs->count = run_count(bytes);
    runs->enqueue(runs->work, bytes);
    GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
    if (runs->work->job->runs != PTO_RUNS_GRAPH)
        return;
    GPU_DO(gpu.bench->graph_begin(gpu.stream, &gpu_error));
    enqueue_runs(runs);
    GPU_DO(gpu.bench->graph_end(gpu.stream, &runs->graph, &gpu_error));
}

void runs_synchronize(const work_t *work) {
    const int *member = work->bench_case->member;
    const process_t *process = work->job->process;
    if (process[member[0]].node != process[member[work->bench_case->member_count - 1]].node)
        MPI_DO(MPI_Barrier(work->comm));
    together_wait(work->together);
}

double runs_s(runs_t *runs, int64_t bytes, int iterations) {
    if (runs->bytes != bytes)
        prepare(runs, bytes);
    int launches = (iterations + runs->count - 1) / runs->count;
    runs_synchronize(runs->work);
    double start = now_s();
    for (int i = 0; i < launches; i++) {
        if (runs->graph != NULL)
            GPU_DO(gpu.bench->graph_launch(runs->graph, gpu.stream, &gpu_error));
        else
            enqueue_runs(runs);
    }
    GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
    return (now_s() - start) / launches / runs->count * iterations;
}

double runs_waited_s(const work_t *work, void (*call)(const work_t *work, int64_t bytes), int64_t bytes,
                     int iterations) {
    double seconds = 0.0;
    for (int i = 0; i < iterations; i++) {
        runs_synchronize(work);
        seconds -= now_s();
        call(work, bytes);
        together_wait(work->together);
        seconds += now_s();
    }
    return seconds;
}

double work_trial(const work_t *work, const benchmark_t *benchmark, int64_t bytes, int iterations) {
    if (benchmark->trial != NULL)
        return benchmark->trial(work, bytes, iterations);
    if (benchmark->times == TIMES_TOGETHER)
        return runs_waited_s(work, benchmark->once, bytes, iterations);
    bool acts = benchmark->times != TIMES_LEAD || work->me == 0;
    double start = now_s();
    for (int i = 0; i < iterations && acts; i++)
        benchmark->once(work, bytes);
    double elapsed_s = now_s() - start;
    if (benchmark->times != TIMES_EACH && work->me != 0)
        return 0.0;
    return benchmark->times == TIMES_ROUND_TRIP ? elapsed_s / 2.0 : elapsed_s;
}

void runs_close(runs_t *runs) {
    if (runs->graph != NULL)
        GPU_DO(gpu.bench->graph_destroy(runs->graph, &gpu_error));
    runs->graph = NULL;
    runs->bytes = -1;
}
