#include "runs.h"

#include "fatal.h"

/* As many runs as take a while, but no more than a program would capture. */
enum { RUNS_LEAST = 5, RUNS_MOST = 100 };
static const int64_t runs_bytes = INT64_C(1) << 26;

static int runs_of(int64_t bytes) {
    int64_t runs = bytes > 0 ? runs_bytes / bytes : RUNS_MOST;
    return runs < RUNS_LEAST ? RUNS_LEAST : runs > RUNS_MOST ? RUNS_MOST : (int)runs;
}

void runs_open(runs_t *runs, const work_t *work, void (*enqueue)(const work_t *work, int64_t bytes)) {
    *runs = (runs_t){.work = work, .enqueue = enqueue, .bytes = -1};
}

static void enqueue_each(const runs_t *runs) {
    for (int i = 0; i < runs->each; i++)
        runs->enqueue(runs->work, runs->bytes);
}

static void prepare(runs_t *runs, int64_t bytes) {
    runs_close(runs);
    runs->bytes = bytes;
    runs->each = runs_of(bytes);
    runs->enqueue(runs->work, bytes);
    GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
    if (runs->work->job->runs != PTO_RUNS_GRAPH)
        return;
    GPU_DO(gpu.bench->graph_begin(gpu.stream, &gpu_error));
    enqueue_each(runs);
    GPU_DO(gpu.bench->graph_end(gpu.stream, &runs->graph, &gpu_error));
}

void runs_meet(const work_t *work) {
    const int *member = work->what->member;
    const process_t *process = work->job->process;
    if (process[member[0]].node != process[member[work->what->member_count - 1]].node)
        MPI_DO(MPI_Barrier(work->comm));
    together_wait(work->together);
}

double runs_s(runs_t *runs, int64_t bytes, int iterations) {
    if (runs->bytes != bytes)
        prepare(runs, bytes);
    int launches = (iterations + runs->each - 1) / runs->each;
    runs_meet(runs->work);
    double start = now_s();
    for (int i = 0; i < launches; i++) {
        if (runs->graph != NULL)
            GPU_DO(gpu.bench->graph_launch(runs->graph, gpu.stream, &gpu_error));
        else
            enqueue_each(runs);
    }
    GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
    return (now_s() - start) / launches / runs->each * iterations;
}

double runs_waited_s(const work_t *work, void (*call)(const work_t *work, int64_t bytes), int64_t bytes,
                     int iterations) {
    double seconds = 0.0;
    for (int i = 0; i < iterations; i++) {
        runs_meet(work);
        seconds -= now_s();
        call(work, bytes);
        together_wait(work->together);
        seconds += now_s();
    }
    return seconds;
}

double work_trial(const work_t *work, const benchmark_t *benchmark, int64_t bytes, int iterations) {
    bool waits = benchmark->times == TIMES_LEAD && work->me != 0;
    if (benchmark->trial != NULL)
        return benchmark->trial(work, bytes, iterations);
    if (benchmark->times == TIMES_TOGETHER)
        return runs_waited_s(work, benchmark->once, bytes, iterations);
    double start = now_s();
    for (int i = 0; i < iterations && !waits; i++)
        benchmark->once(work, bytes);
    double elapsed_s = now_s() - start;
    if (benchmark->times == TIMES_EACH)
        return elapsed_s;
    return work->me != 0 ? 0.0 : benchmark->times == TIMES_LEAD ? elapsed_s : elapsed_s / 2.0;
}

void runs_close(runs_t *runs) {
    if (runs->graph != NULL)
        GPU_DO(gpu.bench->graph_destroy(runs->graph, &gpu_error));
    runs->graph = NULL;
    runs->bytes = -1;
}
