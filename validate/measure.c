/* One plan, run: first that its results are right, then how long it takes. */
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
#include "portolan/strategy.h"
#include "reference.h"
#include "start.h"
#include "validate.h"

enum { CHECKED_RUNS = 3, WARM_RUNS = 3, POISON = 0xa5 };

/* --- how long a wait may be ----------------------------------------------------------------------------- */

double local_limit_s(void) { return 10 * guard_timeout_s(); }

/* The executor has its own watchdog, which restarts with each queued run. */
static void leave_to_executor(void) { guard_tick(INFINITY); }

/* The others may still be in the runs that this process has ended. */
static void await_others(const settings_t *settings) {
    guard_tick((2 + settings->options.queued) * guard_timeout_s());
}

/* --- buffers -------------------------------------------------------------------------------------------- */

/* A process's buffers on the device, and host memory to fill and look at them. */
typedef struct {
    void *in;
    void *out;
    void *host;
    reference_host_t second; /* of a second pattern */
    int64_t in_bytes;
    int64_t out_bytes;
    int64_t owner; /* number among the owners; -1: a helper */
    bool windows;  /* NCCL allocated the buffers */
    work_t work;
    void *stream; /* where runs are enqueued */
    void *graph;
} user_t;

static pto_status_t make_buffer(const settings_t *settings, const pto_plan_t *plan, const user_t *user,
                                pto_role_t role, int64_t bytes, void **memory, pto_error_t *err) {
    if (!user->windows)
        return pto_exec_user_allocate(plan, settings->device, role, bytes, memory, err);
    if (!settings->device->nccl)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "the device '%s' has no NCCL",
                             settings->device->name);
    return bytes > 0 ? settings->device->nccl->allocate((size_t)bytes, memory, err) : PTO_OK;
}

static void free_buffer(const settings_t *settings, const pto_plan_t *plan, const user_t *user,
                        pto_role_t role, void *memory) {
    if (!user->windows)
        pto_exec_user_release(plan, settings->device, role, memory);
    else if (settings->device->nccl)
        settings->device->nccl->release(memory, NULL);
}

static pto_status_t make_user(const settings_t *settings, const pto_plan_t *plan, int64_t rank, bool windows,
                              user_t *user, pto_error_t *err) {
    const pto_layout_t *layout = &pto_plan_request(plan)->layout;
    pto_rank_t place = pto_layout_rank(layout, rank);
    *user = (user_t){.owner = -1, .windows = windows};
    pto_status_t status = settings->device->select(place.gpu, err);
    if (status != PTO_OK || place.core >= layout->owners_per_gpu)
        return status;
    user->owner = rank / layout->procs_per_gpu * layout->owners_per_gpu + place.core;
    user->in_bytes = pto_exec_user_bytes(plan, rank, PTO_ROLE_IN);
    user->out_bytes = pto_exec_user_bytes(plan, rank, PTO_ROLE_OUT);
    int64_t most = user->in_bytes > user->out_bytes ? user->in_bytes : user->out_bytes;
    status = make_buffer(settings, plan, user, PTO_ROLE_IN, user->in_bytes, &user->in, err);
    if (status == PTO_OK)
        status = make_buffer(settings, plan, user, PTO_ROLE_OUT, user->out_bytes, &user->out, err);
    if (status == PTO_OK)
        status = settings->device->allocate_staging((size_t)most, &user->host, err);
    if (status == PTO_OK)
        status = reference_host_make(plan, settings->device, rank, &user->second, err);
    if (status == PTO_OK)
        status = work_create(settings, pto_plan_request(plan), user->owner, user->in, user->out, most,
                             &user->work, err);
    return status;
}

static void free_user(const settings_t *settings, const pto_plan_t *plan, user_t *user) {
    free_buffer(settings, plan, user, PTO_ROLE_IN, user->in);
    free_buffer(settings, plan, user, PTO_ROLE_OUT, user->out);
    settings->device->release_staging(user->host, NULL);
    reference_host_free(settings->device, &user->second);
    work_free(&user->work);
}

/* Fresh input, poisoned output. */
static pto_status_t refresh(const settings_t *settings, const pto_plan_t *plan, const user_t *user,
                            uint64_t seed, pto_error_t *err) {
    if (user->owner < 0)
        return PTO_OK;
    const pto_request_t *request = pto_plan_request(plan);
    reference_host_fill(seed, user->owner, &user->second);
    if (pto_collective_data(request->collective) == PTO_DATA_GRID) /* in place */
        reference_fill(request, settings->op, seed, user->owner, user->host, user->out_bytes);
    else
        memset(user->host, POISON, (size_t)user->out_bytes);
    pto_status_t status =
        pto_device_copy(settings->device, user->out, user->host, (size_t)user->out_bytes, err);
    if (user->work.pattern)
        return status == PTO_OK ? user->work.pattern->fill(&user->work, seed, err) : status;
    reference_fill(request, settings->op, seed, user->owner, user->host, user->in_bytes);
    return status == PTO_OK
               ? pto_device_copy(settings->device, user->in, user->host, (size_t)user->in_bytes, err)
               : status;
}

static pto_status_t look(const settings_t *settings, const pto_plan_t *plan, const user_t *user,
                         uint64_t seed, pto_error_t *err) {
    if (user->owner < 0)
        return PTO_OK;
    if (user->work.pattern)
        return user->work.pattern->compare(&user->work, seed, err);
    pto_status_t status =
        pto_device_copy(settings->device, user->host, user->out, (size_t)user->out_bytes, err);
    if (status == PTO_OK)
        status = reference_host_compare(pto_plan_request(plan), seed, user->owner, &user->second, err);
    if (status != PTO_OK)
        return status;
    return reference_compare(pto_plan_request(plan), settings->op, seed, user->owner, user->host,
                             user->out_bytes, err);
}

/* --- runs ----------------------------------------------------------------------------------------------- */

static pto_status_t enqueue(const user_t *user, pto_exec_t *exec, int runs, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    for (int i = 0; i < runs && status == PTO_OK; i++)
        status = pto_exec_enqueue(exec, user->stream, err);
    return status;
}

/* A first run outside the graph, in which NCCL connects its members. */
static pto_status_t make_graph(const settings_t *settings, user_t *user, pto_exec_t *exec, pto_error_t *err) {
    const pto_device_bench_t *bench = settings->device->bench;
    if (!bench)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "device %s has no graphs", settings->device->name);
    pto_status_t status = enqueue(user, exec, 1, err);
    if (status == PTO_OK)
        status = settings->device->finish(user->stream, err);
    if (status == PTO_OK)
        status = bench->graph_begin(user->stream, err);
    if (status != PTO_OK)
        return status;
    status = enqueue(user, exec, settings->options.graph, err);
    pto_status_t ended = bench->graph_end(user->stream, &user->graph, status == PTO_OK ? err : NULL);
    return status == PTO_OK ? ended : status;
}

static pto_status_t make_stream(const settings_t *settings, user_t *user, pto_exec_t *exec,
                                pto_error_t *err) {
    if (!settings->options.enqueue && settings->options.graph == 0)
        return PTO_OK;
    pto_status_t status = settings->device->stream_create(&user->stream, err);
    return status == PTO_OK && settings->options.graph > 0 ? make_graph(settings, user, exec, err) : status;
}

/* Before the executor: NCCL does not give up its communicator as long as a graph uses it. */
static void free_stream(const settings_t *settings, const user_t *user) {
    if (user->graph)
        settings->device->bench->graph_destroy(user->graph, NULL);
    if (user->stream)
        settings->device->stream_destroy(user->stream, NULL);
}

/* In a stream of the program's; `*runs` says how many, which graphs may round up. */
static pto_status_t repeat_in_stream(const settings_t *settings, const user_t *user, pto_exec_t *exec,
                                     int *runs, double *enqueue_s, pto_error_t *err) {
    const int each = user->graph ? settings->options.graph : 1, launches = (*runs + each - 1) / each;
    await_others(settings); /* the executor's watchdog does not see these runs */
    const double began_s = now_s();
    pto_status_t status = user->graph ? PTO_OK : enqueue(user, exec, *runs, err);
    for (int i = 0; i < launches && user->graph && status == PTO_OK; i++)
        status = settings->device->bench->graph_launch(user->graph, user->stream, err);
    *enqueue_s = (now_s() - began_s) / launches;
    *runs = launches * each;
    return status == PTO_OK ? settings->device->finish(user->stream, err) : status;
}

/* One run, or as many as are queued; `*runs` says how many these were. On the same input each gives the same.
 */
static pto_status_t repeat(const settings_t *settings, const user_t *user, pto_exec_t *exec, int *runs,
                           double *enqueue_s, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    *runs = settings->options.queued > 0 ? settings->options.queued : 1;
    if (pattern_of(settings)) {
        *runs = pattern_of(settings)->steps;
        return work_steps(settings, &user->work, exec, err);
    }
    if (user->stream)
        return repeat_in_stream(settings, user, exec, runs, enqueue_s, err);
    if (settings->options.queued == 0)
        return pto_exec_run(exec, err);
    for (int i = 0; i < settings->options.queued && status == PTO_OK; i++)
        status = pto_exec_queue(exec, err);
    return status == PTO_OK ? pto_exec_wait(exec, err) : status;
}

static pto_status_t check_runs(const settings_t *settings, const pto_plan_t *plan, const user_t *user,
                               pto_exec_t *exec, uint64_t seed, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    double enqueue_s = 0;
    int runs = 1;
    guard_step(local_limit_s(), "checking results");
    for (uint64_t run = 0; run < CHECKED_RUNS && status == PTO_OK; run++) {
        status = refresh(settings, plan, user, seed + run, err);
        leave_to_executor();
        if (status == PTO_OK)
            status = repeat(settings, user, exec, &runs, &enqueue_s, err);
        guard_tick(local_limit_s());
        if (status == PTO_OK)
            status = look(settings, plan, user, seed + run, err);
    }
    return status;
}

/* The times of a repeat, as MPI_Allreduce takes them: of the slowest process, of the latest one. */
enum { LASTED, LATE, REPEAT_TIMES };

/* Every repeat begins at once for all processes and lasts until the last one has ended. */
static pto_status_t time_repeat(const settings_t *settings, const user_t *user, pto_exec_t *exec,
                                double most_s[REPEAT_TIMES], double *enqueue_s, pto_error_t *err) {
    int runs = 1;
    guard_tick(0);
    double began_s = start_together();
    leave_to_executor();
    pto_status_t status = repeat(settings, user, exec, &runs, enqueue_s, err);
    double mine_s[REPEAT_TIMES] = {[LASTED] = (now_s() - began_s) / runs, [LATE] = start_late_s()};
    await_others(settings);
    if (status == PTO_OK)
        MPI_Allreduce(mine_s, most_s, REPEAT_TIMES, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return status;
}

/* A repeat for which a process came late is made again, but on a busy machine not for ever. */
static pto_status_t time_runs(const settings_t *settings, const user_t *user, pto_exec_t *exec,
                              double *sample_s, double *enqueue_s, pto_error_t *err) {
    const int repeats = settings->options.repeats;
    pto_status_t status = PTO_OK;
    guard_step(local_limit_s(), "waiting for all processes to have checked their results");
    MPI_Barrier(MPI_COMM_WORLD);
    guard_step(0, "timing %d repeats", repeats);
    for (int i = -WARM_RUNS, again = 0; i < repeats && status == PTO_OK;) {
        double most_s[REPEAT_TIMES] = {0};
        status = time_repeat(settings, user, exec, most_s, &enqueue_s[i < 0 ? 0 : i], err);
        if (status == PTO_OK && most_s[LATE] > 0 && i >= 0 && again < repeats) {
            again++;
            continue;
        }
        if (i >= 0)
            sample_s[i] = most_s[LASTED];
        i++;
    }
    return status;
}

/* Time the kernel alone in the same way, and take its median out of the samples. */
static pto_status_t take_out_kernel(const settings_t *settings, const user_t *user, cell_t *cell,
                                    pto_error_t *err) {
    pto_status_t status = PTO_OK;
    double *kernel_s = must_allocate((size_t)settings->options.repeats, sizeof *kernel_s);
    for (int i = -WARM_RUNS; i < settings->options.repeats && status == PTO_OK; i++) {
        await_others(settings);
        MPI_Barrier(MPI_COMM_WORLD);
        double began_s = now_s();
        status = work_steps(settings, &user->work, NULL, err);
        double mine_s = (now_s() - began_s) / pattern_of(settings)->steps;
        if (status == PTO_OK)
            MPI_Allreduce(&mine_s, &kernel_s[i < 0 ? 0 : i], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    if (status == PTO_OK)
        cell->kernel_s = pto_quantile(kernel_s, settings->options.repeats, 0.5);
    for (int i = 0; i < cell->sample_count; i++)
        cell->sample_s[i] -= cell->kernel_s;
    free(kernel_s);
    return status;
}

/* The interval of the median by order statistics (normal approximation of the binomial): it assumes nothing
 * about how times are distributed. */
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

/* Returns how many repeats more fill the window: at most twice as many as before, till it is known how long
 * one takes. */
static int repeats_more(double window_s, double elapsed_s, int repeats) {
    double left = ceil((window_s - elapsed_s) / elapsed_s * repeats);
    int more = left > 0 ? (int)fmin(left, 2.0 * repeats) : 0;
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return more;
}

/* Repeats as for the times: each begins at a barrier. The barrier's energy is included. */
static pto_status_t measure_energy(const settings_t *settings, const user_t *user, pto_exec_t *exec,
                                   cell_t *cell, pto_error_t *err) {
    const energy_job_t *job = &settings->job;
    double before[ENERGY_COUNT] = {0}, used[ENERGY_COUNT] = {0};
    guard_step(0, "measuring energy");
    MPI_Barrier(MPI_COMM_WORLD);
    pto_status_t status = agree_on_status(job->comm, energy_read(job, before, err), err);
    double began_s = now_s();
    int repeats = 0;
    for (int more = 1; more > 0 && status == PTO_OK;) {
        for (int i = 0; i < more && status == PTO_OK; i++, repeats++) {
            int runs = 1;
            double enqueue_s = 0;
            await_others(settings);
            MPI_Barrier(MPI_COMM_WORLD);
            leave_to_executor();
            status = repeat(settings, user, exec, &runs, &enqueue_s, err);
            cell->energy_runs += runs;
        }
        await_others(settings);
        if (status == PTO_OK)
            more = repeats_more(job->window_s, now_s() - began_s, repeats);
    }
    cell->energy_run_s = (now_s() - began_s) / cell->energy_runs;
    if (status != PTO_OK)
        return status;
    status = energy_read(job, used, err);
    for (int i = 0; i < ENERGY_COUNT; i++)
        used[i] = (used[i] - before[i]) / cell->energy_runs;
    return energy_add_up(job, status, used, cell->joules, err);
}

/* The choices of policies since `earlier`, as far as this process knows them. */
static int choices_since(const pto_exec_t *exec, const pto_exec_choices_t *earlier,
                         pto_exec_choices_t *chosen) {
    int count = 0;
    for (; count < CHOSEN_MAX && pto_exec_choices(exec, count, &chosen[count]); count++)
        for (int i = 0; earlier && i <= chosen[count].members; i++)
            chosen[count].runs[i] -= earlier[count].runs[i];
    return count;
}

static pto_status_t check_and_time(const settings_t *settings, const pto_plan_t *plan, const user_t *user,
                                   pto_exec_t *exec, uint64_t seed, cell_t *cell, pto_error_t *err) {
    pto_status_t status = check_runs(settings, plan, user, exec, seed, err);
    if (status != PTO_OK || settings->options.check_only)
        return status;
    cell->sample_count = settings->options.repeats;
    cell->sample_s = must_allocate((size_t)cell->sample_count, sizeof *cell->sample_s);
    double *enqueue_s = must_allocate((size_t)cell->sample_count, sizeof *enqueue_s);
    pto_exec_choices_t earlier[CHOSEN_MAX];
    choices_since(exec, NULL, earlier);
    status = time_runs(settings, user, exec, cell->sample_s, enqueue_s, err);
    cell->enqueue_s = pto_quantile(enqueue_s, settings->options.repeats, 0.5);
    free(enqueue_s);
    cell->chosen_count = choices_since(exec, earlier, cell->chosen);
    if (status == PTO_OK && pattern_of(settings))
        status = take_out_kernel(settings, user, cell, err);
    if (status != PTO_OK)
        return status;
    summarise(cell);
    return settings->options.energy ? measure_energy(settings, user, exec, cell, err) : PTO_OK;
}

/* Everybody begins at once and the slowest counts, as in a run. Where one fails, all do. */
static pto_status_t make_executor(const settings_t *settings, const pto_plan_t *plan, const user_t *user,
                                  pto_exec_t **exec, double *slowest_s, pto_error_t *err) {
    guard_step(local_limit_s(), "waiting for all processes to have their buffers");
    MPI_Barrier(MPI_COMM_WORLD);
    /* The executor's watchdog, which is on for the most of it, shall have its say first. */
    guard_step(2 * guard_timeout_s(), "making the executor");
    double began_s = now_s();
    pto_exec_options_t options = settings->exec;
    options.host_in = user->second.in;
    options.host_out = user->second.out;
    options.nccl_windows = user->windows;
    pto_status_t status = pto_exec_create(plan, MPI_COMM_WORLD, settings->device, user->in, user->out,
                                          settings->op, &options, exec, err);
    double mine_s = now_s() - began_s;
    if (status == PTO_OK)
        MPI_Allreduce(&mine_s, slowest_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return status;
}

pto_status_t measure_cell(const settings_t *settings, const pto_plan_t *plan, int64_t point, cell_t *cell,
                          pto_error_t *err) {
    int64_t rank = 0;
    user_t user;
    pto_exec_t *exec = NULL;
    guard_step(local_limit_s(), "placing the processes");
    pto_status_t status =
        pto_exec_place(&pto_plan_request(plan)->layout, MPI_COMM_WORLD, &settings->exec, &rank, err);
    if (status == PTO_OK)
        status = pattern_allowed(settings, pto_plan_request(plan), err);
    if (status != PTO_OK)
        return status;
    guard_step(local_limit_s(), "making buffers");
    status = make_user(settings, plan, rank, cell->windows, &user, err);
    if (cell->windows) { /* helpers need no NCCL */
        pto_status_t agreed = agree_on_status(MPI_COMM_WORLD, status, err);
        status = agreed != PTO_OK ? agreed : status;
    }
    if (status == PTO_OK)
        status = make_executor(settings, plan, &user, &exec, &cell->setup_s, err);
    if (status == PTO_OK)
        status = make_stream(settings, &user, exec, err);
    if (status == PTO_OK)
        status = check_and_time(settings, plan, &user, exec, 1000003 * (uint64_t)(point + 1), cell, err);
    /* The run's own time-out watches its end. Some processes have more to check than others. */
    guard_step(local_limit_s(), "waiting for all processes to have their results");
    if (status == PTO_OK)
        MPI_Barrier(MPI_COMM_WORLD);
    guard_step(local_limit_s(), "freeing the executor");
    free_stream(settings, &user);
    pto_exec_destroy(exec);
    free_user(settings, plan, &user);
    return status;
}
