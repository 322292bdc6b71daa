/* Measures the powers of a machine file (docs/formats.md, `energy`) and prints them. For each state of the
 * job, the energy counters are read before and after a window of time. In the states the job is idle, all
 * processes poll, the GPUs copy, or the GPUs reduce. The process that reads a GPU's counter also keeps that
 * GPU busy; all other processes sleep. */
#include <math.h>

#include "clock.h"
#include "guard.h"
#include "validate.h"

/* Measured windows of each state, and Student's 97.5 percent quantile for WINDOWS - 1 degrees of freedom. */
enum { WINDOWS = 4, WORK_BYTES = 64 << 20 };
static const double student_quantile = 3.182;

/* Length of a window, as a share of job.window_s. A short one suffices: the windows of a state follow one
 * another directly, so energy that a counter shows too late for one window is counted in the next. */
static const double window_share = 0.5;

/* Idle processes sleep this much longer than a window, so that they do not yet poll in MPI_Barrier. */
static const double sleep_longer_s = 0.05;

/* The power in a state. */
typedef struct {
    double mean_w[ENERGY_COUNT]; /* sum of all counters */
    double half_w[ENERGY_COUNT]; /* half of the 95 percent interval */
} power_t;

/* The data that a process's GPU works on; without a stream, the process has no GPU to keep busy. */
typedef struct {
    const pto_device_t *device;
    void *stream;
    void *target;
    void *source;
    void *staging;
} workload_t;

/* What a process does again and again while it is in a state. */
typedef pto_status_t (*state_t)(const workload_t *workload, pto_error_t *err);

/* Does what a process does while it waits for a message. */
static pto_status_t poll(const workload_t *workload, pto_error_t *err) {
    (void)workload, (void)err;
    int there = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    return PTO_OK;
}

static pto_status_t copy(const workload_t *workload, pto_error_t *err) {
    const pto_move_t out = {workload->staging, workload->source, WORK_BYTES, 1, WORK_BYTES, WORK_BYTES};
    const pto_move_t in = {workload->target, workload->staging, WORK_BYTES, 1, WORK_BYTES, WORK_BYTES};
    pto_status_t status = workload->device->copy(&out, workload->stream, err);
    if (status == PTO_OK)
        status = workload->device->copy(&in, workload->stream, err);
    return status == PTO_OK ? workload->device->finish(workload->stream, err) : status;
}

static pto_status_t reduce(const workload_t *workload, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    for (int i = 0; i < 16 && status == PTO_OK; i++)
        status = workload->device->reduce(workload->target, workload->source, WORK_BYTES / sizeof(float),
                                          PTO_DATATYPE_FLOAT, PTO_OP_MAX, workload->stream, err);
    return status == PTO_OK ? workload->device->finish(workload->stream, err) : status;
}

/* Keeps this process in a state for some time. It sleeps if `state` is NULL, or if the state needs a GPU and
 * this process has none to keep busy. */
static pto_status_t stay_in(const settings_t *settings, const workload_t *workload, state_t state,
                            double seconds, pto_error_t *err) {
    bool reads = settings->job.source[ENERGY_GPUS].meter || settings->job.source[ENERGY_CPUS].meter;
    pto_status_t status = PTO_OK;
    if (!state || (state != poll && !workload->stream))
        rest(reads ? seconds : seconds + sleep_longer_s);
    else
        for (double began_s = now_s(); now_s() - began_s < seconds && status == PTO_OK;)
            status = state(workload, err);
    return status;
}

static void release(workload_t *workload) {
    if (workload->stream)
        workload->device->stream_destroy(workload->stream, NULL);
    workload->device->release(workload->target, NULL);
    workload->device->release(workload->source, NULL);
    workload->device->release_staging(workload->staging, NULL);
}

/* Every process allocates memory on its GPU; those that read a GPU's counter get a workload. */
static pto_status_t prepare(const settings_t *settings, int64_t gpu, workload_t *workload, pto_error_t *err) {
    *workload = (workload_t){.device = settings->device};
    pto_status_t status = workload->device->select(gpu, err);
    size_t bytes = settings->job.source[ENERGY_GPUS].meter ? WORK_BYTES : 1;
    if (status == PTO_OK)
        status = workload->device->allocate(bytes, &workload->target, err);
    if (status == PTO_OK)
        status = workload->device->allocate(bytes, &workload->source, err);
    if (status == PTO_OK)
        status = workload->device->allocate_staging(bytes, &workload->staging, err);
    if (status == PTO_OK && bytes > 1)
        status = workload->device->stream_create(&workload->stream, err);
    return status;
}

static pto_status_t measure_window(const settings_t *settings, const workload_t *workload, state_t state,
                                   double watts[ENERGY_COUNT], pto_error_t *err) {
    double before[ENERGY_COUNT] = {0}, after[ENERGY_COUNT] = {0}, mine_w[ENERGY_COUNT] = {0};
    guard_step(guard_timeout_s() + window_share * settings->job.window_s + sleep_longer_s,
               "measuring powers");
    MPI_Barrier(MPI_COMM_WORLD);
    pto_status_t status = energy_read(&settings->job, before, err);
    double began_s = now_s();
    if (status == PTO_OK)
        status = stay_in(settings, workload, state, window_share * settings->job.window_s, err);
    if (status == PTO_OK)
        status = energy_read(&settings->job, after, err);
    double seconds = now_s() - began_s;
    for (int i = 0; i < ENERGY_COUNT; i++)
        mine_w[i] = (after[i] - before[i]) / seconds;
    return energy_add_up(&settings->job, status, mine_w, watts, err);
}

/* The first window is discarded: clock rates and voltages adapt to the load. */
static pto_status_t measure_state(const settings_t *settings, const workload_t *workload, state_t state,
                                  power_t *power, pto_error_t *err) {
    double watts[WINDOWS][ENERGY_COUNT];
    pto_status_t status = measure_window(settings, workload, state, watts[0], err);
    for (int i = 0; i < WINDOWS && status == PTO_OK; i++)
        status = measure_window(settings, workload, state, watts[i], err);
    for (int kind = 0; kind < ENERGY_COUNT && status == PTO_OK; kind++) {
        double sum = 0, squares = 0;
        for (int i = 0; i < WINDOWS; i++)
            sum += watts[i][kind];
        for (int i = 0; i < WINDOWS; i++)
            squares += pow(watts[i][kind] - sum / WINDOWS, 2);
        power->mean_w[kind] = sum / WINDOWS;
        power->half_w[kind] = student_quantile * sqrt(squares / (WINDOWS - 1) / WINDOWS);
    }
    return status;
}

static void print_power(FILE *file, const char *before, const char *key, double mean_w, double half_w) {
    fprintf(file, "%s%s: %.4g, %s_95: [%.4g, %.4g]", before, key, mean_w, key, fmax(mean_w - half_w, 0),
            mean_w + half_w);
}

static void print_gpus(FILE *file, double gpus, const power_t *idle, const power_t *copying,
                       const power_t *reducing) {
    const int kind = ENERGY_GPUS;
    double idle_w = idle->mean_w[kind] / gpus;
    print_power(file, "  gpu: {", "idle_w", idle_w, idle->half_w[kind] / gpus);
    /* Not below idle: that can only be noise. */
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
    workload_t workload = {.device = settings->device};
    power_t idle = {0}, polling = {0}, copying = {0}, reducing = {0};
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    const pto_layout_t *layout = &options->scenario.layout;
    guard_step(0, "preparing to measure powers");
    pto_status_t status = pto_exec_place(layout, MPI_COMM_WORLD, &settings->exec, &rank, err);
    if (status == PTO_OK)
        status = prepare(settings, pto_layout_rank(layout, rank).gpu, &workload, err);
    if (status == PTO_OK)
        status = measure_state(settings, &workload, NULL, &idle, err);
    if (status == PTO_OK)
        status = measure_state(settings, &workload, poll, &polling, err);
    if (status == PTO_OK && source[ENERGY_GPUS].counter_count > 0)
        status = measure_state(settings, &workload, copy, &copying, err);
    if (status == PTO_OK && source[ENERGY_GPUS].counter_count > 0)
        status = measure_state(settings, &workload, reduce, &reducing, err);
    release(&workload);
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
