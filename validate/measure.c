/* Runs one plan: first checks its results, then measures its times and, if asked for, its energy. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "clock.h"
#include "fatal.h"
#include "guard.h"
#include "pattern.h"
#include "portolan/bench.h"
#include "portolan/nccl.h"
#include "portolan/score.h"
#include "reference.h"
#include "start.h"
#include "validate.h"

enum { CHECKED_RUNS = 3, WARM_RUNS = 3, POISON = 0xa5 };

/* --- time limits (guard.h) ------------------------------------------------------------------------------ */

double local_limit_s(void) { return 10 * guard_timeout_s(); }

/* While the executor runs, its own watchdog watches, whose time starts again with each queued run. */
static void leave_to_executor(void) { guard_tick(INFINITY); }

/* Allows for runs that other processes still execute after this one has completed them. */
static void await_others(const settings_t *settings) {
    guard_tick((2 + settings->options.queued) * guard_timeout_s());
}

/* --- buffers -------------------------------------------------------------------------------------------- */

/* What this process needs to run the plan: its executor and its buffers. A helper has no buffers. */
typedef struct {
    const settings_t *settings;
    const pto_plan_t *plan;
    pto_exec_t *exec;
    void *in, *out; /* the user's buffers on the device */
    void *host;     /* host memory for copies of them */
    int64_t in_bytes, out_bytes;
    reference_host_t host_buffers; /* of a plan that also exchanges data in host memory */
    int64_t owner;                 /* index among the owners; -1: a helper */
    bool windows;                  /* NCCL allocated the buffers (cell_t) */
    work_t work;                   /* of a pattern */
    void *stream;                  /* where runs are enqueued; NULL: they are not */
    void *graph;                   /* of several runs; NULL: none */
} process_t;

static pto_status_t make_buffer(const process_t *process, pto_role_t role, void **memory, pto_error_t *err) {
    const pto_device_t *device = process->settings->device;
    int64_t bytes = role == PTO_ROLE_IN ? process->in_bytes : process->out_bytes;
    if (!process->windows)
        return pto_exec_user_allocate(process->plan, device, role, bytes, memory, err);
    if (!device->nccl)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "the device '%s' has no NCCL", device->name);
    return bytes > 0 ? device->nccl->allocate((size_t)bytes, memory, err) : PTO_OK;
}

static void free_buffer(const process_t *process, pto_role_t role, void *memory) {
    const pto_device_t *device = process->settings->device;
    if (!process->windows)
        pto_exec_user_release(process->plan, device, role, memory);
    else if (device->nccl)
        device->nccl->release(memory, NULL);
}

static pto_status_t make_buffers(process_t *process, int64_t rank, pto_error_t *err) {
    const pto_device_t *device = process->settings->device;
    const pto_request_t *request = pto_plan_request(process->plan);
    const pto_layout_t *layout = &request->layout;
    pto_rank_t place = pto_layout_rank(layout, rank);
    process->owner = -1;
    pto_status_t status = device->select(place.gpu, err);
    if (status != PTO_OK || place.core >= layout->owners_per_gpu)
        return status;
    process->owner = rank / layout->procs_per_gpu * layout->owners_per_gpu + place.core;
    process->in_bytes = pto_exec_user_bytes(process->plan, rank, PTO_ROLE_IN);
    process->out_bytes = pto_exec_user_bytes(process->plan, rank, PTO_ROLE_OUT);
    int64_t most = process->in_bytes > process->out_bytes ? process->in_bytes : process->out_bytes;
    status = make_buffer(process, PTO_ROLE_IN, &process->in, err);
    if (status == PTO_OK)
        status = make_buffer(process, PTO_ROLE_OUT, &process->out, err);
    if (status == PTO_OK)
        status = device->allocate_staging((size_t)most, &process->host, err);
    if (status == PTO_OK)
        status = reference_host_make(process->plan, device, rank, &process->host_buffers, err);
    if (status == PTO_OK)
        status = work_create(process->settings, request, process->owner, process->in, process->out, most,
                             &process->work, err);
    return status;
}

static void free_buffers(process_t *process) {
    const pto_device_t *device = process->settings->device;
    free_buffer(process, PTO_ROLE_IN, process->in);
    free_buffer(process, PTO_ROLE_OUT, process->out);
    device->release_staging(process->host, NULL);
    reference_host_free(device, &process->host_buffers);
    work_free(&process->work);
}

/* Writes new input, and output that is certainly wrong. */
static pto_status_t fill_buffers(const process_t *process, uint64_t seed, pto_error_t *err) {
    const pto_device_t *device = process->settings->device;
    const pto_request_t *request = pto_plan_request(process->plan);
    pto_op_t op = process->settings->op;
    if (process->owner < 0)
        return PTO_OK;
    reference_host_fill(seed, process->owner, &process->host_buffers);
    if (pto_collective_data(request->collective) == PTO_DATA_GRID) /* in place */
        reference_fill(request, op, seed, process->owner, process->host, process->out_bytes);
    else
        memset(process->host, POISON, (size_t)process->out_bytes);
    pto_status_t status =
        pto_device_copy(device, process->out, process->host, (size_t)process->out_bytes, err);
    if (process->work.pattern)
        return status == PTO_OK ? process->work.pattern->fill(&process->work, seed, err) : status;
    reference_fill(request, op, seed, process->owner, process->host, process->in_bytes);
    return status == PTO_OK
               ? pto_device_copy(device, process->in, process->host, (size_t)process->in_bytes, err)
               : status;
}

static pto_status_t check_output(const process_t *process, uint64_t seed, pto_error_t *err) {
    const pto_request_t *request = pto_plan_request(process->plan);
    if (process->owner < 0)
        return PTO_OK;
    if (process->work.pattern)
        return process->work.pattern->compare(&process->work, seed, err);
    pto_status_t status = pto_device_copy(process->settings->device, process->host, process->out,
                                          (size_t)process->out_bytes, err);
    if (status == PTO_OK)
        status = reference_host_compare(request, seed, process->owner, &process->host_buffers, err);
    if (status != PTO_OK)
        return status;
    return reference_compare(request, process->settings->op, seed, process->owner, process->host,
                             process->out_bytes, err);
}

/* --- runs ----------------------------------------------------------------------------------------------- */

static pto_status_t enqueue(const process_t *process, int runs, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    for (int i = 0; i < runs && status == PTO_OK; i++)
        status = pto_exec_enqueue(process->exec, process->stream, err);
    return status;
}

/* Captures the runs of one graph. A run outside the graph comes first, so that NCCL can connect its members.
 */
static pto_status_t make_graph(process_t *process, pto_error_t *err) {
    const pto_device_t *device = process->settings->device;
    const pto_device_bench_t *bench = device->bench;
    if (!bench)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "device %s has no graphs", device->name);
    pto_status_t status = enqueue(process, 1, err);
    if (status == PTO_OK)
        status = device->finish(process->stream, err);
    if (status == PTO_OK)
        status = bench->graph_begin(process->stream, err);
    if (status != PTO_OK)
        return status;
    status = enqueue(process, process->settings->options.graph, err);
    pto_status_t ended = bench->graph_end(process->stream, &process->graph, status == PTO_OK ? err : NULL);
    return status == PTO_OK ? ended : status;
}

static pto_status_t make_stream(process_t *process, pto_error_t *err) {
    const settings_t *settings = process->settings;
    if (!settings->options.enqueue && settings->options.graph == 0)
        return PTO_OK;
    pto_status_t status = settings->device->stream_create(&process->stream, err);
    return status == PTO_OK && settings->options.graph > 0 ? make_graph(process, err) : status;
}

/* Must be called before the executor is destroyed: NCCL cannot free a communicator that a graph uses. */
static void free_stream(const process_t *process) {
    if (process->graph)
        process->settings->device->bench->graph_destroy(process->graph, NULL);
    if (process->stream)
        process->settings->device->stream_destroy(process->stream, NULL);
}

/* A repeat (see cell_t): its number of runs, and the time of one call that enqueues a run or launches a
 * graph. */
typedef struct {
    int runs;
    double enqueue_s;
} repeat_t;

/* Enqueues the runs, or launches graphs of several runs each, and waits for their end. Graphs may round the
 * number of runs up. */
static pto_status_t repeat_in_stream(const process_t *process, repeat_t *made, pto_error_t *err) {
    const settings_t *settings = process->settings;
    const int runs_per_launch = process->graph ? settings->options.graph : 1;
    const int launches = (made->runs + runs_per_launch - 1) / runs_per_launch;
    await_others(settings); /* the executor's watchdog does not watch these runs */
    const double began_s = now_s();
    pto_status_t status = process->graph ? PTO_OK : enqueue(process, made->runs, err);
    for (int i = 0; i < launches && process->graph && status == PTO_OK; i++)
        status = settings->device->bench->graph_launch(process->graph, process->stream, err);
    made->enqueue_s = (now_s() - began_s) / launches;
    made->runs = launches * runs_per_launch;
    return status == PTO_OK ? settings->device->finish(process->stream, err) : status;
}

/* Executes a repeat, and waits for its end. All its runs have the same result. */
static pto_status_t repeat(const process_t *process, repeat_t *made, pto_error_t *err) {
    const settings_t *settings = process->settings;
    const int queued = settings->options.queued;
    pto_status_t status = PTO_OK;
    *made = (repeat_t){.runs = queued > 0 ? queued : 1};
    if (pattern_of(settings)) {
        made->runs = pattern_of(settings)->steps;
        return work_steps(settings, &process->work, process->exec, err);
    }
    if (process->stream)
        return repeat_in_stream(process, made, err);
    if (queued == 0)
        return pto_exec_run(process->exec, err);
    for (int i = 0; i < queued && status == PTO_OK; i++)
        status = pto_exec_queue(process->exec, err);
    return status == PTO_OK ? pto_exec_wait(process->exec, err) : status;
}

/* Runs the plan a few times with different inputs, and checks the results. */
static pto_status_t check_runs(const process_t *process, uint64_t seed, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    repeat_t made;
    guard_step(local_limit_s(), "checking results");
    for (uint64_t run = 0; run < CHECKED_RUNS && status == PTO_OK; run++) {
        status = fill_buffers(process, seed + run, err);
        leave_to_executor();
        if (status == PTO_OK)
            status = repeat(process, &made, err);
        guard_tick(local_limit_s());
        if (status == PTO_OK)
            status = check_output(process, seed + run, err);
    }
    return status;
}

/* --- times and energy ----------------------------------------------------------------------------------- */

/* Times of a repeat for MPI_Allreduce: its duration, and by how much the process was late (start.h). */
enum { DURATION, LATENESS, TIME_COUNT };

/* Times a repeat, which all processes start together. Sets the maxima over all processes. */
static pto_status_t time_repeat(const process_t *process, double max_s[TIME_COUNT], double *enqueue_s,
                                pto_error_t *err) {
    repeat_t made;
    guard_tick(0);
    double began_s = start_together();
    leave_to_executor();
    pto_status_t status = repeat(process, &made, err);
    double own_s[TIME_COUNT] = {[DURATION] = (now_s() - began_s) / made.runs, [LATENESS] = start_late_s()};
    *enqueue_s = made.enqueue_s;
    await_others(process->settings);
    if (status == PTO_OK)
        MPI_Allreduce(own_s, max_s, TIME_COUNT, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return status;
}

/* Times all repeats, after WARM_RUNS that do not count. A repeat for which a process was late is discarded
 * and made again, but at most as often as there are repeats: on a busy machine, some process may always be
 * late. */
static pto_status_t time_runs(const process_t *process, double *sample_s, double *enqueue_s,
                              pto_error_t *err) {
    const int repeats = process->settings->options.repeats;
    pto_status_t status = PTO_OK;
    guard_step(local_limit_s(), "waiting for all processes to have checked their results");
    MPI_Barrier(MPI_COMM_WORLD);
    guard_step(0, "timing %d repeats", repeats);
    for (int i = -WARM_RUNS, discarded = 0; i < repeats && status == PTO_OK;) {
        double max_s[TIME_COUNT] = {0};
        status = time_repeat(process, max_s, &enqueue_s[i < 0 ? 0 : i], err);
        if (status == PTO_OK && max_s[LATENESS] > 0 && i >= 0 && discarded < repeats) {
            discarded++;
            continue;
        }
        if (i >= 0)
            sample_s[i] = max_s[DURATION];
        i++;
    }
    return status;
}

/* Measures a pattern's kernel alone, and subtracts its median time from the samples. */
static pto_status_t subtract_kernel(const process_t *process, cell_t *cell, pto_error_t *err) {
    const settings_t *settings = process->settings;
    pto_status_t status = PTO_OK;
    double *kernel_s = must_allocate((size_t)settings->options.repeats, sizeof *kernel_s);
    for (int i = -WARM_RUNS; i < settings->options.repeats && status == PTO_OK; i++) {
        await_others(settings);
        MPI_Barrier(MPI_COMM_WORLD);
        double began_s = now_s();
        status = work_steps(settings, &process->work, NULL, err);
        double own_s = (now_s() - began_s) / pattern_of(settings)->steps;
        if (status == PTO_OK)
            MPI_Allreduce(&own_s, &kernel_s[i < 0 ? 0 : i], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    if (status == PTO_OK)
        cell->kernel_s = pto_quantile(kernel_s, settings->options.repeats, 0.5);
    for (int i = 0; i < cell->sample_count; i++)
        cell->sample_s[i] -= cell->kernel_s;
    free(kernel_s);
    return status;
}

/* Computes the statistics of the samples. The interval of the median is from order statistics (normal
 * approximation of the binomial distribution), so it does not depend on the distribution of the times. */
static void summarise(cell_t *cell) {
    int n = cell->sample_count;
    double *sorted = must_allocate((size_t)n, sizeof *sorted);
    memcpy(sorted, cell->sample_s, (size_t)n * sizeof *sorted);
    cell->median_s = pto_quantile(sorted, n, 0.5); /* sorts */
    double half = 1.96 * sqrt(n) / 2;
    int low = (int)floor((n - 1) / 2.0 - half), high = (int)ceil((n - 1) / 2.0 + half);
    cell->least_s = sorted[0];
    cell->low_s = sorted[low < 0 ? 0 : low];
    cell->high_s = sorted[high >= n ? n - 1 : high];
    free(sorted);
}

/* Collective. Returns how many additional repeats fill the window: at most twice as many as before, since
 * their duration is known better with each round. */
static int additional_repeats(double window_s, double elapsed_s, int repeats) {
    double left = ceil((window_s - elapsed_s) / elapsed_s * repeats);
    int additional = left > 0 ? (int)fmin(left, 2.0 * repeats) : 0;
    MPI_Bcast(&additional, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return additional;
}

/* Measures the energy of enough repeats to fill the window. Each begins at a barrier, whose energy is
 * included. */
static pto_status_t measure_energy(const process_t *process, cell_t *cell, pto_error_t *err) {
    const energy_job_t *job = &process->settings->job;
    double before[ENERGY_COUNT] = {0}, used[ENERGY_COUNT] = {0};
    guard_step(0, "measuring energy");
    MPI_Barrier(MPI_COMM_WORLD);
    pto_status_t status = agree_on_status(job->comm, energy_read(job, before, err), err);
    double began_s = now_s();
    int repeats = 0;
    for (int more = 1; more > 0 && status == PTO_OK;) {
        for (int i = 0; i < more && status == PTO_OK; i++, repeats++) {
            repeat_t made;
            await_others(process->settings);
            MPI_Barrier(MPI_COMM_WORLD);
            leave_to_executor();
            status = repeat(process, &made, err);
            cell->energy_runs += made.runs;
        }
        await_others(process->settings);
        if (status == PTO_OK)
            more = additional_repeats(job->window_s, now_s() - began_s, repeats);
    }
    cell->energy_run_s = (now_s() - began_s) / cell->energy_runs;
    if (status != PTO_OK)
        return status;
    status = energy_read(job, used, err);
    for (int i = 0; i < ENERGY_COUNT; i++)
        used[i] = (used[i] - before[i]) / cell->energy_runs;
    return energy_add_up(job, status, used, cell->joules, err);
}

/* Sets the choices of the executor's policies since `earlier`; NULL: since the beginning. Returns the number
 * of policies. */
static int choices_since(const pto_exec_t *exec, const pto_exec_choices_t *earlier,
                         pto_exec_choices_t *chosen) {
    int count = 0;
    for (; count < CHOSEN_MAX && pto_exec_choices(exec, count, &chosen[count]); count++)
        for (int i = 0; earlier && i <= chosen[count].members; i++)
            chosen[count].runs[i] -= earlier[count].runs[i];
    return count;
}

static pto_status_t check_and_time(const process_t *process, uint64_t seed, cell_t *cell, pto_error_t *err) {
    const settings_t *settings = process->settings;
    pto_status_t status = check_runs(process, seed, err);
    if (status != PTO_OK || settings->options.check_only)
        return status;
    cell->sample_count = settings->options.repeats;
    cell->sample_s = must_allocate((size_t)cell->sample_count, sizeof *cell->sample_s);
    double *enqueue_s = must_allocate((size_t)cell->sample_count, sizeof *enqueue_s);
    pto_exec_choices_t earlier[CHOSEN_MAX];
    choices_since(process->exec, NULL, earlier);
    status = time_runs(process, cell->sample_s, enqueue_s, err);
    cell->enqueue_s = pto_quantile(enqueue_s, settings->options.repeats, 0.5);
    free(enqueue_s);
    cell->chosen_count = choices_since(process->exec, earlier, cell->chosen);
    if (status == PTO_OK && pattern_of(settings))
        status = subtract_kernel(process, cell, err);
    if (status != PTO_OK)
        return status;
    summarise(cell);
    return settings->options.energy ? measure_energy(process, cell, err) : PTO_OK;
}

/* Makes the executor. All processes begin together, and the slowest one counts, as in a run. If one fails,
 * all do. */
static pto_status_t make_executor(process_t *process, double *slowest_s, pto_error_t *err) {
    const settings_t *settings = process->settings;
    guard_step(local_limit_s(), "waiting for all processes to have their buffers");
    MPI_Barrier(MPI_COMM_WORLD);
    /* The executor's own watchdog, which watches most of this step, must time out first. */
    guard_step(2 * guard_timeout_s(), "making the executor");
    double began_s = now_s();
    pto_exec_options_t options = settings->exec;
    options.host_in = process->host_buffers.in;
    options.host_out = process->host_buffers.out;
    options.nccl_windows = process->windows;
    pto_status_t status = pto_exec_create(process->plan, MPI_COMM_WORLD, settings->device, process->in,
                                          process->out, settings->op, &options, &process->exec, err);
    double own_s = now_s() - began_s;
    if (status == PTO_OK)
        MPI_Allreduce(&own_s, slowest_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return status;
}

pto_status_t measure_cell(const settings_t *settings, const pto_plan_t *plan, int64_t point, cell_t *cell,
                          pto_error_t *err) {
    int64_t rank = 0;
    process_t process = {.settings = settings, .plan = plan, .windows = cell->windows};
    guard_step(local_limit_s(), "placing the processes");
    pto_status_t status =
        pto_exec_place(&pto_plan_request(plan)->layout, MPI_COMM_WORLD, &settings->exec, &rank, err);
    if (status == PTO_OK)
        status = pattern_allowed(settings, pto_plan_request(plan), err);
    if (status != PTO_OK)
        return status;
    guard_step(local_limit_s(), "making buffers");
    status = make_buffers(&process, rank, err);
    if (cell->windows) { /* helpers do not need NCCL and may succeed alone */
        pto_status_t agreed = agree_on_status(MPI_COMM_WORLD, status, err);
        status = agreed != PTO_OK ? agreed : status;
    }
    if (status == PTO_OK)
        status = make_executor(&process, &cell->setup_s, err);
    if (status == PTO_OK)
        status = make_stream(&process, err);
    if (status == PTO_OK)
        status = check_and_time(&process, 1000003 * (uint64_t)(point + 1), cell, err);
    /* The time-out of runs does not apply here: some processes have more results to check than others. */
    guard_step(local_limit_s(), "waiting for all processes to have their results");
    if (status == PTO_OK)
        MPI_Barrier(MPI_COMM_WORLD);
    guard_step(local_limit_s(), "freeing the executor");
    free_stream(&process);
    pto_exec_destroy(process.exec);
    free_buffers(&process);
    return status;
}
