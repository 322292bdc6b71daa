/* The powers of a machine file (docs/formats.md, `energy`): counters over a time in which everything rests,
 * all processes poll, GPUs copy, or GPUs reduce. Each GPU works at the hands of the process that reads its
 * counter; all others sleep. */
#include <math.h>

#include "clock.h"
#include "guard.h"
#include "validate.h"

/* Windows for each state; the quantile is Student's for 97.5 percent and one degree of freedom less. */
enum { WINDOWS = 4, WORK_BYTES = 64 << 20 };
static const double student = 3.182;

/* Length of each window, as a share of the job's window. Windows of a state follow one another directly, so
 * energy that a counter's update interval cuts off from one window is counted in the next. */
static const double window_share = 0.5;

/* Sleepers wait this much longer than a window, so that none polls before the measuring processes end. */
static const double sleep_longer_s = 0.05;

typedef struct {
    double mean_w[ENERGY_COUNT]; /* of all counters together */
    double half_w[ENERGY_COUNT]; /* of the 95 percent interval */
} power_t;

/* The data that a GPU works on. */
typedef struct {
    const pto_device_t *device;
    void *stream;
    void *target;
    void *source;
    void *staging;
} bench_t;

typedef pto_status_t (*state_t)(const settings_t *settings, const bench_t *bench, double seconds,
                                pto_error_t *err);

static pto_status_t sleep_for(const settings_t *settings, const bench_t *bench, double seconds,
                              pto_error_t *err) {
    (void)bench;
    (void)err;
    bool reads = settings->job.source[ENERGY_GPUS].meter || settings->job.source[ENERGY_CPUS].meter;
    rest(reads ? seconds : seconds + sleep_longer_s);
    return PTO_OK;
}

/* As a process waits for a message. */
static pto_status_t poll(const settings_t *settings, const bench_t *bench, double seconds, pto_error_t *err) {
    (void)settings;
    (void)bench;
    (void)err;
    int there = 0;
    for (double began_s = now_s(); now_s() - began_s < seconds;)
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    return PTO_OK;
}

static pto_status_t copy(const settings_t *settings, const bench_t *bench, double seconds, pto_error_t *err) {
    if (!bench->stream)
        return sleep_for(settings, bench, seconds, err);
    const pto_move_t out = {bench->staging, bench->source, WORK_BYTES, 1, WORK_BYTES, WORK_BYTES};
    const pto_move_t in = {bench->target, bench->staging, WORK_BYTES, 1, WORK_BYTES, WORK_BYTES};
    pto_status_t status = PTO_OK;
    for (double began_s = now_s(); now_s() - began_s < seconds && status == PTO_OK;) {
        status = bench->device->copy(&out, bench->stream, err);
        if (status == PTO_OK)
            status = bench->device->copy(&in, bench->stream, err);
        if (status == PTO_OK)
            status = bench->device->finish(bench->stream, err);
    }
    return status;
}

static pto_status_t reduce(const settings_t *settings, const bench_t *bench, double seconds,
                           pto_error_t *err) {
    if (!bench->stream)
        return sleep_for(settings, bench, seconds, err);
    pto_status_t status = PTO_OK;
    for (double began_s = now_s(); now_s() - began_s < seconds && status == PTO_OK;) {
        for (int i = 0; i < 16 && status == PTO_OK; i++)
            status = bench->device->reduce(bench->target, bench->source, WORK_BYTES / sizeof(float),
                                           PTO_DATATYPE_FLOAT, PTO_OP_MAX, bench->stream, err);
        if (status == PTO_OK)
            status = bench->device->finish(bench->stream, err);
    }
    return status;
}

static void release(bench_t *bench) {
    if (bench->stream)
        bench->device->stream_destroy(bench->stream, NULL);
    bench->device->release(bench->target, NULL);
    bench->device->release(bench->source, NULL);
    bench->device->release_staging(bench->staging, NULL);
}

/* Every process allocates on its GPU; the processes that read a GPU's counter get a workload. */
static pto_status_t prepare(const settings_t *settings, int64_t gpu, bench_t *bench, pto_error_t *err) {
    *bench = (bench_t){.device = settings->device};
    pto_status_t status = bench->device->select(gpu, err);
    size_t bytes = settings->job.source[ENERGY_GPUS].meter ? WORK_BYTES : 1;
    if (status == PTO_OK)
        status = bench->device->allocate(bytes, &bench->target, err);
    if (status == PTO_OK)
        status = bench->device->allocate(bytes, &bench->source, err);
    if (status == PTO_OK)
        status = bench->device->allocate_staging(bytes, &bench->staging, err);
    if (status == PTO_OK && bytes > 1)
        status = bench->device->stream_create(&bench->stream, err);
    return status;
}

/* --- one state ------------------------------------------------------------------------------------------ */

static pto_status_t measure_window(const settings_t *settings, const bench_t *bench, state_t state,
                                   double watts[ENERGY_COUNT], pto_error_t *err) {
    double before[ENERGY_COUNT] = {0}, after[ENERGY_COUNT] = {0}, mine_w[ENERGY_COUNT] = {0};
    guard_step(guard_timeout_s() + window_share * settings->job.window_s + sleep_longer_s,
               "measuring powers");
    MPI_Barrier(MPI_COMM_WORLD);
    pto_status_t status = energy_read(&settings->job, before, err);
    double began_s = now_s();
    if (status == PTO_OK)
        status = state(settings, bench, window_share * settings->job.window_s, err);
    if (status == PTO_OK)
        status = energy_read(&settings->job, after, err);
    double seconds = now_s() - began_s;
    for (int i = 0; i < ENERGY_COUNT; i++)
        mine_w[i] = (after[i] - before[i]) / seconds;
    return energy_add_up(&settings->job, status, mine_w, watts, err);
}

/* The first window is not counted: clocks and voltages follow the load. */
static pto_status_t measure_state(const settings_t *settings, const bench_t *bench, state_t state,
                                  power_t *power, pto_error_t *err) {
    double watts[WINDOWS][ENERGY_COUNT];
    pto_status_t status = measure_window(settings, bench, state, watts[0], err);
    for (int i = 0; i < WINDOWS && status == PTO_OK; i++)
        status = measure_window(settings, bench, state, watts[i], err);
    for (int kind = 0; kind < ENERGY_COUNT && status == PTO_OK; kind++) {
        double sum = 0, squares = 0;
        for (int i = 0; i < WINDOWS; i++)
            sum += watts[i][kind];
        for (int i = 0; i < WINDOWS; i++)
            squares += pow(watts[i][kind] - sum / WINDOWS, 2);
        power->mean_w[kind] = sum / WINDOWS;
        power->half_w[kind] = student * sqrt(squares / (WINDOWS - 1) / WINDOWS);
    }
    return status;
}

/* --- printing ------------------------------------------------------------------------------------------- */

static void print_power(FILE *file, const char *before, const char *key, double mean_w, double half_w) {
    fprintf(file, "%s%s: %.4g, %s_95: [%.4g, %.4g]", before, key, mean_w, key, fmax(mean_w - half_w, 0),
            mean_w + half_w);
}

static void print_gpus(FILE *file, double gpus, const power_t *idle, const power_t *copying,
                       const power_t *reducing) {
    const int kind = ENERGY_GPUS;
    double idle_w = idle->mean_w[kind] / gpus;
    print_power(file, "  gpu: {", "idle_w", idle_w, idle->half_w[kind] / gpus);
    /* Never below idle: that would only be noise. */
    print_power(file, ", ", "copy_w", fmax(copying->mean_w[kind] / gpus, idle_w),
                copying->half_w[kind] / gpus);
    print_power(file, ", ", "kernel_w", fmax(reducing->mean_w[kind] / gpus, idle_w),
                reducing->half_w[kind] / gpus);
    fprintf(file, "}\n");
}

static void print_cpus(FILE *file, double hosts, double processes, const power_t *idle,
                       const power_t *polling) {
    const int kind = ENERGY_CPUS;
    print_power(file, "  cpu: {", "idle_w", idle->mean_w[kind] / hosts, idle->half_w[kind] / hosts);
    print_power(file, ", ", "core_w", fmax(polling->mean_w[kind] - idle->mean_w[kind], 0) / processes,
                hypot(polling->half_w[kind], idle->half_w[kind]) / processes);
    fprintf(file, "}\n");
}

pto_status_t measure_powers(const settings_t *settings, const pto_options_t *options, FILE *file,
                            pto_error_t *err) {
    const energy_source_t *source = settings->job.source;
    int64_t rank = 0;
    int world_rank = 0, processes = 0;
    bench_t bench = {.device = settings->device};
    power_t idle = {0}, polling = {0}, copying = {0}, reducing = {0};
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    const pto_layout_t *layout = &options->scenario.layout;
    guard_step(0, "preparing to measure powers");
    pto_status_t status = pto_exec_place(layout, MPI_COMM_WORLD, &settings->exec, &rank, err);
    if (status == PTO_OK)
        status = prepare(settings, pto_layout_rank(layout, rank).gpu, &bench, err);
    if (status == PTO_OK)
        status = measure_state(settings, &bench, sleep_for, &idle, err);
    if (status == PTO_OK)
        status = measure_state(settings, &bench, poll, &polling, err);
    if (status == PTO_OK && source[ENERGY_GPUS].counter_count > 0)
        status = measure_state(settings, &bench, copy, &copying, err);
    if (status == PTO_OK && source[ENERGY_GPUS].counter_count > 0)
        status = measure_state(settings, &bench, reduce, &reducing, err);
    release(&bench);
    if (status != PTO_OK || world_rank != 0)
        return status;
    report_sources(file, settings);
    fprintf(file, "energy:\n");
    if (source[ENERGY_GPUS].counter_count > 0)
        print_gpus(file, source[ENERGY_GPUS].counter_count, &idle, &copying, &reducing);
    if (source[ENERGY_CPUS].counter_count > 0)
        print_cpus(file, source[ENERGY_CPUS].counter_count, processes, &idle, &polling);
    return PTO_OK;
}
