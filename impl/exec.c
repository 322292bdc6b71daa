/* Creates, runs and destroys executors (portolan/exec.h). A run advances each lane of the schedule
 * (executor.h) through its tasks. While a task of one lane waits, the other lanes advance. */
#include <stdlib.h>
#include <time.h>

#include "base/hash.h"
#include "buffers.h"
#include "choices.h"
#include "kernel_nodes.h"
#include "mpi_part.h"
#include "nccl/nccl_collective.h"
#include "portolan/strategy.h"
#include "schedule.h"
#include "tasks.h"
#include "watchdog.h"

/* --- running ------------------------------------------------------------------------------------------- */

/* For tests: delays this process at random, if the options ask for it. */
static void delay(pto_exec_t *exec) {
    if (exec->options.delay_max_s <= 0)
        return;
    exec->random = exec->random * 6364136223846793005u + 1442695040888963407u;
    double seconds = exec->options.delay_max_s * (double)(exec->random >> 33) / 2147483648.0;
    struct timespec pause = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&pause, NULL);
}

/* Ends the run with an error. Its message begins with the lane's place in the plan. */
static pto_status_t fail(pto_exec_t *exec, int lane, pto_status_t status, pto_error_t *err) {
    char where[256];
    pto_exec_where(exec, lane, where, sizeof where);
    exec->failed = true;
    exec->active = false;
    if (!err)
        return status;
    pto_error_t why = *err;
    return pto_error_set(err, status, "%s: %s", where, why.message);
}

/* Executes a lane's tasks up to the first that cannot finish yet. Sets whether all have finished. */
static pto_status_t advance_lane(pto_exec_t *exec, int index, bool wait, bool *finished, pto_error_t *err) {
    pto_lane_t *lane = &exec->lane[index];
    const pto_task_t *task = lane->tasks.item;
    int next = atomic_load_explicit(&lane->next, memory_order_relaxed);
    *finished = true;
    for (; next < lane->tasks.count; next++) {
        atomic_store_explicit(&lane->next, next, memory_order_relaxed);
        delay(exec);
        pto_status_t status = pto_lane_do(exec, lane, &task[next], wait, finished, err);
        if (status != PTO_OK)
            return fail(exec, index, status, err);
        if (!*finished)
            return PTO_OK;
    }
    atomic_store_explicit(&lane->next, next, memory_order_relaxed);
    return PTO_OK;
}

/* Advances each lane once without blocking: a lane may wait for another one. */
static pto_status_t advance_lanes(pto_exec_t *exec, bool *finished, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    *finished = true;
    for (int i = 0; i < exec->lane_count && status == PTO_OK; i++) {
        bool ended = false;
        if (exec->options.delay_max_s == 0 || exec->random >> 40 & 1) /* for tests: in any order */
            status = advance_lane(exec, i, false, &ended, err);
        else
            delay(exec);
        *finished &= ended;
    }
    return status;
}

static pto_status_t advance_all(pto_exec_t *exec, bool wait, bool *finished, pto_error_t *err) {
    int spins = 0;
    if (exec->lane_count == 1)
        return advance_lane(exec, 0, wait, finished, err);
    pto_status_t status = advance_lanes(exec, finished, err);
    while (status == PTO_OK && wait && !*finished) {
        status = pto_job_rest(&exec->job, &spins, err);
        status =
            status == PTO_OK ? advance_lanes(exec, finished, err) : fail(exec, PTO_LANE_BUSY, status, err);
    }
    return status;
}

/* Returns the error of enqueued runs. The host takes no part in them, so only its next call reports it. */
static pto_status_t check_enqueued(pto_exec_t *exec, pto_error_t *err) {
    if (exec->failed || !pto_kernels_gave_up(exec))
        return PTO_OK;
    pto_error_set(
        err, PTO_ERR_TIMEOUT,
        "an enqueued run waited %g s for another process's kernel and gave up; its results and those "
        "of later runs are wrong",
        exec->watchdog.timeout_s);
    return fail(exec, 0, PTO_ERR_TIMEOUT, err);
}

static pto_status_t advance(pto_exec_t *exec, bool wait, bool *finished, pto_error_t *err) {
    pto_status_t status = advance_all(exec, wait, finished, err);
    if (status != PTO_OK || !*finished)
        return status;
    status = pto_lane_settle(exec, &exec->lane[0], wait, finished, err);
    if (status != PTO_OK)
        return fail(exec, 0, status, err);
    if (*finished) {
        for (int i = 1; i < exec->lane_count; i++)
            exec->lane[i].pending = false; /* lane 0 waited for all of them */
        pto_choices_end(exec);
        exec->active = false;
        exec->queued = false;
        atomic_store_explicit(&exec->watchdog.began_ns, 0, memory_order_relaxed);
        return check_enqueued(exec, err); /* runs that were enqueued before this one */
    }
    return PTO_OK;
}

static void set_next(pto_exec_t *exec, int next) {
    for (int i = 0; i < exec->lane_count; i++)
        atomic_store_explicit(&exec->lane[i].next, next, memory_order_relaxed);
}

pto_status_t pto_exec_check_idle(pto_exec_t *exec, pto_error_t *err) {
    pto_status_t status = check_enqueued(exec, err);
    if (status != PTO_OK || (!exec->active && !exec->failed))
        return status;
    return pto_error_set(err, PTO_ERR_RANGE,
                         exec->failed ? "an earlier run failed" : "a run is already active");
}

static pto_status_t begin(pto_exec_t *exec, pto_error_t *err) {
    pto_status_t status = pto_exec_check_idle(exec, err);
    if (status != PTO_OK)
        return status;
    exec->active = true;
    exec->run++;
    set_next(exec, 0);
    atomic_store_explicit(&exec->watchdog.began_ns, PTO_BEGAN_NOW, memory_order_relaxed);
    return PTO_OK;
}

pto_status_t pto_exec_start(pto_exec_t *exec, pto_error_t *err) {
    bool finished;
    pto_status_t status = begin(exec, err);
    return status == PTO_OK ? advance(exec, false, &finished, err) : status;
}

pto_status_t pto_exec_test(pto_exec_t *exec, bool *finished, pto_error_t *err) {
    *finished = !exec->active;
    return exec->active ? advance(exec, false, finished, err) : check_enqueued(exec, err);
}

static int tasks_done(const pto_exec_t *exec) {
    int done = 0;
    for (int i = 0; i < exec->lane_count; i++)
        done += atomic_load_explicit(&exec->lane[i].next, memory_order_relaxed);
    return done;
}

/* Polls until the run completes or the time is up, since a blocking call could neither time out nor sleep.
 * When a task completes, sleeps become short again. */
static pto_status_t poll_until_done(pto_exec_t *exec, pto_error_t *err) {
    bool finished = false;
    int spins = 0, done_before = -1;
    exec->waiting = true;
    atomic_store_explicit(&exec->watchdog.began_ns, pto_now_ns(), memory_order_relaxed);
    pto_status_t status = advance(exec, false, &finished, err);
    while (status == PTO_OK && !finished) {
        int done = tasks_done(exec);
        if (exec->options.wait == PTO_WAIT_SLEEP && done != done_before)
            spins = 0;
        done_before = done;
        status = pto_job_rest(&exec->job, &spins, err);
        if (status == PTO_OK)
            status = pto_exec_deadline(exec, err);
        status =
            status == PTO_OK ? advance(exec, false, &finished, err) : fail(exec, PTO_LANE_BUSY, status, err);
    }
    exec->waiting = false;
    return status;
}

pto_status_t pto_exec_wait(pto_exec_t *exec, pto_error_t *err) {
    bool finished;
    pto_error_t ignored;
    if (!exec->active)
        return check_enqueued(exec, err);
    if (exec->options.wait == PTO_WAIT_SLEEP ||
        (exec->options.timeout_s >= 0 && exec->options.on_timeout == PTO_TIMEOUT_RETURN))
        return poll_until_done(exec, err ? err : &ignored);
    exec->waiting = true;
    pto_status_t status = advance(exec, true, &finished, err);
    exec->waiting = false;
    return status;
}

pto_status_t pto_exec_run(pto_exec_t *exec, pto_error_t *err) {
    pto_status_t status = begin(exec, err);
    return status == PTO_OK ? pto_exec_wait(exec, err) : status;
}

/* --- queued and enqueued runs -------------------------------------------------------------------------- */

static pto_queue_t can_queue(const pto_exec_t *exec) {
    if (!pto_plan_is_one_launch(exec->plan)) /* also a grid without neighbors, as of a single process */
        return PTO_QUEUE_BY_PROCESSES;
    return exec->shadow_in || exec->shadow_out ? PTO_QUEUE_SHADOWED : PTO_QUEUE_YES;
}

/* Returns what the CPU or MPI must do in this process's runs, in words, and the stage; NULL: nothing. */
static const char *first_host_need(const pto_exec_t *exec, const char **stage) {
    *stage = NULL;
    for (int lane = 0; lane < exec->lane_count; lane++) {
        const pto_vector_t *tasks = &exec->lane[lane].tasks;
        for (int i = 0; i < tasks->count; i++) {
            const pto_task_t *task = (const pto_task_t *)tasks->item + i;
            const char *need = pto_task_needs(exec, task);
            *stage = task->stage;
            if (need)
                return need;
        }
    }
    return NULL;
}

static pto_status_t refuse_enqueued(const pto_exec_t *exec, pto_error_t *err) {
    const char *stage = NULL, *need = first_host_need(exec, &stage);
    const char *strategy = pto_plan_request(exec->plan)->strategy->name;
    if (need && stage)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "%s needs %s (stage '%s') in every run: runs cannot be enqueued in a stream",
                             strategy, need, stage);
    return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                         "%s needs %s in every run: runs cannot be enqueued in a stream", strategy,
                         need ? need : "the CPU or MPI on other processes");
}

/* Collective: agree on errors, and on whether all processes can queue runs, or enqueue them. */
static pto_status_t agree_on_executor(pto_exec_t *exec, pto_status_t status, pto_error_t *err) {
    const char *stage;
    int64_t least[2] = {-(int64_t)can_queue(exec), !first_host_need(exec, &stage)};
    status = pto_agree_least(exec->job.team, status, least, 2, err); /* one process that cannot is enough */
    exec->queue = (pto_queue_t)-least[0];
    exec->stream_ordered = least[1] != 0;
    return status;
}

static pto_status_t check_queueable(const pto_exec_t *exec, pto_error_t *err) {
    if (exec->queue == PTO_QUEUE_YES)
        return PTO_OK;
    if (exec->queue == PTO_QUEUE_BY_PROCESSES)
        return pto_error_set(
            err, PTO_ERR_NOT_APPLICABLE,
            "%s needs more than one kernel or NCCL call, so its processes take part in every "
            "run: runs cannot be queued",
            pto_plan_request(exec->plan)->strategy->name);
    return pto_error_set(
        err, PTO_ERR_NOT_APPLICABLE,
        "a process's buffers are copied before or after each run, because other processes cannot "
        "access them, they are in place or the result is an average: runs cannot be queued");
}

pto_status_t pto_exec_queue(pto_exec_t *exec, pto_error_t *err) {
    bool finished;
    pto_status_t status = check_queueable(exec, err);
    if (status == PTO_OK && exec->queued)
        exec->active = false; /* runs queued earlier do not block another one */
    if (status == PTO_OK)
        status = begin(exec, err);
    if (status != PTO_OK)
        return status;
    exec->queued = true;
    delay(exec);
    pto_lane_t *lane = &exec->lane[0];
    const pto_task_t *task = lane->tasks.item;
    /* pto_nccl_queue enqueues the call even if the device's call blocks, which pto_lane_do would not. */
    if (lane->tasks.count > 0)
        status = task->kind == PTO_TASK_NCCL ? pto_nccl_queue(exec, task->first, err)
                                             : pto_lane_do(exec, lane, task, false, &finished, err);
    atomic_store_explicit(&lane->next, lane->tasks.count, memory_order_relaxed);
    return status == PTO_OK ? PTO_OK : fail(exec, 0, status, err);
}

bool pto_exec_is_stream_ordered(const pto_exec_t *exec) { return exec->stream_ordered; }

/* Enqueues the tasks that lane `index` has left, up to one that must follow tasks of other lanes that are not
 * enqueued yet. Lane 0 uses the caller's stream. */
static pto_status_t enqueue_lane(pto_exec_t *exec, int index, void *stream, pto_error_t *err) {
    pto_lane_t *lane = &exec->lane[index];
    const pto_task_t *task = lane->tasks.item;
    pto_status_t status;
    int next = atomic_load_explicit(&lane->next, memory_order_relaxed);
    for (; next < lane->tasks.count && pto_task_may_follow(exec, &task[next]); next++) {
        status = pto_task_enqueue(exec, &task[next], index == 0 ? stream : lane->stream, err);
        if (status != PTO_OK)
            return fail(exec, index, status, err);
        atomic_store_explicit(&lane->next, next + 1, memory_order_relaxed);
    }
    return PTO_OK;
}

/* Enqueues the lanes in turn, until all tasks of lane 0 are enqueued, which joins all others. This ends,
 * because lanes wait for each other in the order of pto_walk_next, and so not in a cycle. */
static pto_status_t enqueue_lanes(pto_exec_t *exec, void *stream, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    const pto_lane_t *first = &exec->lane[0];
    set_next(exec, 0);
    while (status == PTO_OK && atomic_load_explicit(&first->next, memory_order_relaxed) < first->tasks.count)
        for (int i = 0; i < exec->lane_count && status == PTO_OK; i++)
            status = enqueue_lane(exec, i, stream, err);
    return status;
}

/* Enqueued work uses no state of the host, so that a graph can repeat it. */
pto_status_t pto_exec_enqueue(pto_exec_t *exec, void *stream, pto_error_t *err) {
    if (!exec->stream_ordered)
        return refuse_enqueued(exec, err);
    pto_status_t status = pto_exec_check_idle(exec, err);
    if (status != PTO_OK)
        return status;
    delay(exec);
    exec->enqueued = true;
    return enqueue_lanes(exec, stream, err);
}

/* Makes every lane wait for the stream, since any may be the first to use the input. */
pto_status_t pto_exec_follow(pto_exec_t *exec, void *stream, pto_error_t *err) {
    const pto_device_t *device = exec->device;
    pto_status_t status = PTO_OK;
    if (exec->active && !exec->queued)
        return pto_error_set(err, PTO_ERR_RANGE, "a run is already active");
    if (!exec->follow_event)
        status = device->event_create(&exec->follow_event, err);
    if (status == PTO_OK)
        status = device->event_record(exec->follow_event, stream, err);
    for (int i = 0; i < exec->lane_count && status == PTO_OK; i++) {
        exec->lane[i].pending = true;
        status = device->event_follow(exec->follow_event, exec->lane[i].stream, err);
    }
    return status;
}

/* --- creating ------------------------------------------------------------------------------------------ */

/* Returns whether a stage sends messages; with `from_device`, only those from GPU memory count. */
static bool sends_messages(const pto_plan_t *plan, const pto_stage_t *stage, bool from_device) {
    for (int i = 0; i < stage->step_count; i++) {
        const pto_step_t *step = pto_plan_step(plan, stage->step_first + i);
        if (step->kind == PTO_STEP_SEND &&
            (!from_device || pto_plan_buffer(plan, step->source.buffer)->space == PTO_SPACE_GPU))
            return true;
    }
    return false;
}

/* Checks that the team has MPI if the plan needs it, and that MPI accepts the device's memory. */
static pto_status_t check_messages(const pto_exec_t *exec, pto_error_t *err) {
    const char *name = pto_plan_request(exec->plan)->strategy->name;
    const bool has_mpi = exec->job.team->mpi != NULL;
    const bool from_device = has_mpi; /* with MPI, only messages from GPU memory may fail */
    if (has_mpi && exec->device->mpi_reaches())
        return PTO_OK;
    for (int n = 0; n < pto_plan_node_count(exec->plan); n++) {
        const pto_node_t *node = pto_plan_node(exec->plan, n);
        const bool sends = node->kind == PTO_NODE_STAGE &&
                           sends_messages(exec->plan, pto_plan_stage(exec->plan, node->stage), from_device);
        if (pto_runs_by_nccl(node))
            n += node->span; /* NCCL accesses GPU memory without MPI */
        else if (!has_mpi && pto_runs_by_library(exec, node))
            return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                                 "%s runs MPI's own collective, which takes a team of MPI's processes", name);
        else if (!has_mpi && sends)
            return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                                 "%s sends messages, which takes a team of MPI's processes", name);
        else if (sends)
            return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                                 "%s sends from GPU memory, but this MPI library does not accept device "
                                 "pointers (MPIX_Query_cuda_support() returns 0)",
                                 name);
    }
    return PTO_OK;
}

static pto_status_t check_applicable(const pto_exec_t *exec, pto_error_t *err) {
    const pto_request_t *request = pto_plan_request(exec->plan);
    const bool reduces = pto_collective_reduces(request->collective);
    pto_status_t status = pto_plan_runnable(exec->plan, err);
    if (status != PTO_OK)
        return status;
    if (exec->options.nccl_windows && !pto_nccl_does_all(exec->plan))
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "symmetric windows are for plans of NCCL's alone, and %s is none",
                             request->strategy->name);
    if (exec->options.own_algorithms && request->layout.in_host && request->algorithm->shares_host)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "%s shares host memory, and the data are in each process's own",
                             request->algorithm->name);
    if (exec->divisor != 0 && request->layout.in_host)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "a GPU divides sums to averages, and the data are in host memory");
    if (reduces)
        status = pto_op_takes(exec->divisor != 0 ? PTO_OP_AVG : exec->op, request->datatype, err);
    if (status != PTO_OK)
        return status;
    if (reduces && request->bytes % pto_datatype_bytes(request->datatype))
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "%s: %lld bytes are not a whole number of %s elements",
                             pto_collective_name(request->collective), (long long)request->bytes,
                             pto_datatype_name(request->datatype));
    return check_messages(exec, err);
}

/* Returns a digest of everything that must be equal on all processes, except a matrix of byte counts. */
static uint64_t digest(const pto_exec_t *exec) {
    uint64_t all = pto_plan_digest_of_form(exec->plan);
    const uint64_t more[] = {exec->op,
                             (uint64_t)exec->divisor,
                             exec->options.placement,
                             exec->options.own_algorithms,
                             exec->options.nccl_windows,
                             (uint64_t)(exec->device->name[0]), /* devices differ in the first letter */
                             (uint64_t)exec->options.slice_bytes};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        all = pto_hash_add(all, more[i] + 1);
    return all;
}

/* The lanes of an either node share a stream: the work of a stage marked `once`, which one lane enqueues,
 * then precedes the other lanes' later work. */
static int stream_count(const pto_exec_t *exec) {
    bool either = pto_plan_either_count(exec->plan, pto_plan_node_count(exec->plan)) > 0;
    return either ? 2 : exec->lane_count;
}

static pto_status_t create_streams(pto_exec_t *exec, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    int count = stream_count(exec);
    for (int i = 0; i < count && status == PTO_OK; i++)
        status = exec->device->stream_create(&exec->lane[i].stream, err);
    for (int i = count; i < exec->lane_count; i++)
        exec->lane[i].stream = exec->lane[1].stream;
    return status;
}

/* For an average, the executor divides the plan's sum, unless NCCL does the whole collective. */
static void set_op(pto_exec_t *exec, pto_op_t op) {
    const pto_request_t *request = pto_plan_request(exec->plan);
    bool divides =
        op == PTO_OP_AVG && pto_collective_reduces(request->collective) && !pto_nccl_does_all(exec->plan);
    exec->op = divides ? PTO_OP_SUM : op;
    exec->divisor = divides ? pto_layout_owner_count(&request->layout) : 0;
}

/* Prepares what needs no other process. From here on, the watchdog watches. */
static pto_status_t prepare_local(pto_exec_t *exec, pto_error_t *err) {
    pto_status_t status = pto_watchdog_begin(exec, err);
    atomic_store(&exec->watchdog.began_ns, pto_now_ns());
    if (status == PTO_OK)
        status = pto_job_allocate(&pto_plan_request(exec->plan)->layout, &exec->job, err);
    if (status == PTO_OK)
        status = check_applicable(exec, err);
    if (status == PTO_OK)
        status = create_streams(exec, err);
    return status == PTO_OK ? pto_exec_prepare_binding(exec, err) : status;
}

/* Collective. A process that has failed still takes part, so that all agree only once, at the end. */
static pto_status_t prepare_with_others(pto_exec_t *exec, const void *in, void *out, pto_error_t *err) {
    pto_status_t status = pto_offsets_create(exec->plan, exec->job.logical, &exec->offsets, err);
    status = pto_exec_bind(exec, in, out, status, err);
    if (exec->job.team->mpi)
        status = exec->job.team->mpi->prepare(exec, status, err);
    status = pto_nccl_prepare(exec, status, err);
    if (status == PTO_OK && !exec->peer_failed)
        status = pto_schedule_build(exec, err);
    pto_offsets_destroy(exec->offsets);
    exec->offsets = NULL;
    if (status == PTO_OK && !exec->peer_failed)
        status = pto_rebind_prepare(exec, err);
    if (status == PTO_OK && !exec->peer_failed)
        status = pto_kernels_make(exec, err);
    return agree_on_executor(exec, status, err);
}

static pto_status_t prepare(pto_exec_t *exec, const void *in, void *out, pto_error_t *err) {
    pto_status_t status = pto_agree_same(exec->job.team, prepare_local(exec, err), digest(exec), err);
    if (status == PTO_OK)
        status = pto_job_place(&pto_plan_request(exec->plan)->layout, &exec->options, &exec->job, err);
    if (status == PTO_OK && pto_plan_has_matrix(exec->plan))
        status = pto_job_is_balanced(&exec->job, pto_plan_matrix_sum(exec->plan, exec->job.logical), err);
    if (status == PTO_OK)
        status = pto_kernels_agree(exec, err);
    if (status == PTO_OK)
        status = prepare_with_others(exec, in, out, err);
    atomic_store(&exec->watchdog.began_ns, 0);
    return status;
}

/* NULL: out of memory. */
static pto_exec_t *allocate(const pto_plan_t *plan, const pto_device_t *device, pto_op_t op,
                            const pto_exec_options_t *options) {
    pto_exec_t *created = calloc(1, sizeof *created);
    if (!created)
        return NULL;
    created->plan = plan;
    created->device = device;
    set_op(created, op);
    created->options = options ? *options : (pto_exec_options_t){0};
    created->random = created->options.delay_seed;
    created->lines = PTO_LINES_NONE;
    created->lane_count = pto_plan_lane_count(plan);
    created->lane = calloc((size_t)created->lane_count, sizeof *created->lane);
    if (!created->lane) {
        free(created);
        return NULL;
    }
    set_next(created, -1);
    return created;
}

/* A process that is out of memory still agrees with the others, which would otherwise wait for it. */
pto_status_t pto_exec_create_in(const pto_plan_t *plan, const pto_team_t *team, const pto_device_t *device,
                                const void *in, void *out, pto_op_t op, const pto_exec_options_t *options,
                                pto_exec_t **exec, pto_error_t *err) {
    pto_error_t ignored = {0};
    err = err ? err : &ignored;
    pto_exec_t *created = allocate(plan, device, op, options);
    if (!created)
        return pto_agree_same(team, pto_error_set(err, PTO_ERR_MEMORY, "out of memory for an executor"), 0,
                              err);
    pto_job_init(team, created->options.wait, &created->job);
    pto_status_t status = prepare(created, in, out, err);
    if (status != PTO_OK) {
        pto_exec_destroy(created);
        return status;
    }
    *exec = created;
    return PTO_OK;
}

static void abandon(const pto_team_t *team) {
    if (team->abandon)
        team->abandon(team->context);
}

void pto_exec_destroy(pto_exec_t *exec) {
    if (!exec)
        return;
    /* Other processes may still access this memory, and waiting for them could take forever. */
    if (exec->failed && exec->options.on_timeout == PTO_TIMEOUT_RETURN) {
        abandon(exec->job.team);
        return;
    }
    /* Watch what follows: it waits for the other processes, which may not come, and after a failed run,
     * freeing device memory waits for a kernel that may still wait for other GPUs. */
    pto_watchdog_watch_end(exec);
    pto_kernels_free(exec);
    pto_schedule_free(exec);
    if (exec->job.team->mpi)
        exec->job.team->mpi->free(exec);
    pto_nccl_free(exec);
    bool is_free = pto_exec_unbind(exec);
    if (!is_free)
        abandon(exec->job.team);
    if (exec->follow_event)
        exec->device->event_destroy(exec->follow_event, NULL);
    for (int i = 0; i < stream_count(exec); i++)
        if (exec->lane[i].stream)
            exec->device->stream_destroy(exec->lane[i].stream, NULL);
    if (is_free)
        pto_exec_own_release(exec->plan, exec->device, &exec->options, exec->own);
    pto_watchdog_end(exec);
    pto_job_free(&exec->job);
    free(exec->lane);
    free(exec);
}
