/* Creating, running and destroying an executor: the interpreter of the flat schedule. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "buffers.h"
#include "kernel_nodes.h"
#include "mpi_collective.h"
#include "nccl_collective.h"
#include "portolan/strategy.h"
#include "reduce.h"
#include "schedule.h"
#include "watchdog.h"

/* --- doing one entry ----------------------------------------------------------------------------------- */

/* The device's own wait may keep a core busy. */
static pto_status_t sleep_until_finished(pto_exec_t *exec, pto_error_t *err) {
    bool finished = false;
    int spins = 0;
    pto_status_t status = exec->device->poll(exec->stream, &finished, err);
    while (status == PTO_OK && !finished) {
        status = pto_job_rest(&exec->job, &spins, err);
        if (status == PTO_OK)
            status = exec->device->poll(exec->stream, &finished, err);
    }
    return status;
}

static pto_status_t finish(pto_exec_t *exec, pto_error_t *err) {
    return exec->options.wait == PTO_WAIT_SLEEP ? sleep_until_finished(exec, err)
                                                : exec->device->finish(exec->stream, err);
}

/* Drain the stream before the CPU or MPI reads its results. */
static pto_status_t settle(pto_exec_t *exec, bool wait, bool *finished, pto_error_t *err) {
    if (exec->kernel)
        return pto_kernel_settle(exec, wait, finished, err);
    *finished = true;
    if (!exec->pending)
        return PTO_OK;
    pto_status_t status = wait ? finish(exec, err) : exec->device->poll(exec->stream, finished, err);
    exec->pending = status == PTO_OK && !*finished;
    return status;
}

static pto_status_t message_error(const pto_exec_t *exec, const pto_task_t *task, int code,
                                  pto_error_t *err) {
    const pto_exec_end_t *end = (const pto_exec_end_t *)exec->ends.item + task->first;
    for (int i = 0; code == MPI_ERR_IN_STATUS && i < task->count; i++) {
        int cause = exec->statuses[i].MPI_ERROR;
        if (cause == MPI_SUCCESS || cause == MPI_ERR_PENDING)
            continue;
        pto_error_t why;
        pto_mpi(cause, end[i].sends ? "send to" : "receive from", &why);
        return pto_error_set(err, PTO_ERR_IO, "message with MPI rank %d: %s", end[i].peer, why.message);
    }
    return pto_mpi(code, "MPI_Waitall", err);
}

static pto_status_t do_finish(pto_exec_t *exec, const pto_task_t *task, bool wait, bool *finished,
                              pto_error_t *err) {
    MPI_Request *request = (MPI_Request *)exec->requests.item + task->first;
    int flag = 1;
    int code = wait ? MPI_Waitall(task->count, request, exec->statuses)
                    : MPI_Testall(task->count, request, &flag, exec->statuses);
    *finished = flag != 0;
    return code == MPI_SUCCESS ? PTO_OK : message_error(exec, task, code, err);
}

static pto_status_t do_moves(pto_exec_t *exec, const pto_task_t *task, pto_error_t *err) {
    const pto_exec_move_t *item = (const pto_exec_move_t *)exec->moves.item + task->first;
    pto_status_t status = PTO_OK;
    bool finished;
    for (int i = 0; i < task->count && status == PTO_OK; i++) {
        const pto_move_t *move = &item[i].move;
        if (item[i].on_device) {
            status = exec->device->copy(move, exec->stream, err);
            exec->pending = true;
            continue;
        }
        status = settle(exec, true, &finished, err);
        for (size_t row = 0; row < move->rows; row++)
            memcpy((char *)move->target + row * move->target_pitch_bytes,
                   (const char *)move->source + row * move->source_pitch_bytes, move->bytes);
    }
    return status;
}

static pto_status_t do_reductions(pto_exec_t *exec, const pto_task_t *task, pto_error_t *err) {
    const pto_exec_reduction_t *item = (const pto_exec_reduction_t *)exec->reductions.item + task->first;
    pto_datatype_t datatype = pto_plan_request(exec->plan)->datatype;
    pto_status_t status = PTO_OK;
    bool finished;
    for (int i = 0; i < task->count && status == PTO_OK; i++) {
        const void *const *source = (const void *const *)exec->sources.item + item[i].source_first;
        bool several = item[i].fresh || item[i].source_count > 1;
        if (!item[i].on_device) {
            status = settle(exec, true, &finished, err);
            if (status == PTO_OK)
                pto_reduce_many_host(item[i].target, item[i].fresh, source, item[i].source_count,
                                     item[i].count, datatype, exec->op);
            continue;
        }
        status = several
                     ? exec->device->reduce_many(item[i].target, item[i].fresh, source, item[i].source_count,
                                                 item[i].count, datatype, exec->op, exec->stream, err)
                     : exec->device->reduce(item[i].target, source[0], item[i].count, datatype, exec->op,
                                            exec->stream, err);
        exec->pending = true;
    }
    return status;
}

static void do_signals(pto_exec_t *exec, const pto_task_t *task) {
    const pto_exec_signal_t *signal = (const pto_exec_signal_t *)exec->signals.item + task->first;
    for (int i = 0; i < task->count; i++)
        atomic_fetch_add_explicit(signal[i].counter, 1, memory_order_release);
}

static pto_status_t await(const pto_exec_t *exec, const pto_exec_signal_t *signal, bool wait, bool *finished,
                          pto_error_t *err) {
    pto_status_t status = PTO_OK;
    int spins = 0;
    while (atomic_load_explicit(signal->counter, memory_order_acquire) < signal->seen + 1) {
        *finished = false;
        if (!wait || status != PTO_OK)
            return status;
        status = pto_job_rest(&exec->job, &spins, err);
    }
    *finished = true;
    return PTO_OK;
}

/* Several waits can share one counter, which receives `stride` signals per run. Each wait keeps its own
 * count. */
static pto_status_t do_waits(pto_exec_t *exec, const pto_task_t *task, bool wait, bool *finished,
                             pto_error_t *err) {
    pto_exec_signal_t *signal = (pto_exec_signal_t *)exec->signals.item + task->first;
    pto_status_t status = PTO_OK;
    *finished = true;
    for (int i = 0; i < task->count && status == PTO_OK && *finished; i++)
        status = await(exec, &signal[i], wait, finished, err);
    for (int i = 0; i < task->count && status == PTO_OK && *finished; i++)
        signal[i].seen += signal[i].stride;
    return status;
}

static pto_status_t do_post(pto_exec_t *exec, const pto_task_t *task, pto_error_t *err) {
    return PTO_MPI(MPI_Startall(task->count, (MPI_Request *)exec->requests.item + task->first), err);
}

static pto_status_t do_one(pto_exec_t *exec, const pto_task_t *task, bool wait, bool *finished,
                           pto_error_t *err) {
    pto_status_t status = PTO_OK;
    *finished = true;
    if (task->kind == PTO_TASK_KERNEL)
        return pto_kernel_start(exec, task->first, wait, finished, err);
    if (exec->kernel)
        status = pto_kernel_settle(exec, wait, finished, err);
    if (status != PTO_OK || !*finished)
        return status;
    if (task->kind == PTO_TASK_MOVE)
        return do_moves(exec, task, err);
    if (task->kind == PTO_TASK_REDUCE)
        return do_reductions(exec, task, err);
    if (task->kind == PTO_TASK_FINISH)
        return do_finish(exec, task, wait, finished, err);
    if (task->kind == PTO_TASK_WAIT)
        return do_waits(exec, task, wait, finished, err);
    if (task->kind == PTO_TASK_NCCL)
        return pto_nccl_run(exec, task->first, wait, finished, err);
    status = settle(exec, wait, finished, err);
    if (status != PTO_OK || !*finished)
        return status;
    if (task->kind == PTO_TASK_POST)
        return do_post(exec, task, err);
    if (task->kind == PTO_TASK_SIGNAL) {
        do_signals(exec, task);
        return PTO_OK;
    }
    *finished = wait || exec->waiting;
    return *finished ? pto_library_call(exec, (pto_library_call_t *)exec->calls.item + task->first, err)
                     : PTO_OK;
}

/* --- running ------------------------------------------------------------------------------------------- */

/* For tests: make the processes drift apart. */
static void delay(pto_exec_t *exec) {
    exec->random = exec->random * 6364136223846793005u + 1442695040888963407u;
    double seconds = exec->options.delay_max_s * (double)(exec->random >> 33) / 2147483648.0;
    struct timespec pause = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&pause, NULL);
}

static pto_status_t fail(pto_exec_t *exec, pto_status_t status, pto_error_t *err) {
    char where[256];
    pto_exec_where(exec, where, sizeof where);
    exec->failed = true;
    exec->under_way = false;
    if (!err)
        return status;
    pto_error_t why = *err;
    return pto_error_set(err, status, "%s: %s", where, why.message);
}

static pto_status_t advance(pto_exec_t *exec, bool wait, bool *finished, pto_error_t *err) {
    const pto_task_t *task = exec->tasks.item;
    int next = atomic_load_explicit(&exec->next, memory_order_relaxed);
    *finished = true;
    for (; next < exec->tasks.count; next++) {
        atomic_store_explicit(&exec->next, next, memory_order_relaxed);
        if (exec->options.delay_max_s > 0)
            delay(exec);
        pto_status_t status = do_one(exec, &task[next], wait, finished, err);
        if (status != PTO_OK)
            return fail(exec, status, err);
        if (!*finished)
            return PTO_OK;
    }
    atomic_store_explicit(&exec->next, next, memory_order_relaxed);
    pto_status_t status = settle(exec, wait, finished, err);
    if (status != PTO_OK)
        return fail(exec, status, err);
    if (*finished) {
        exec->under_way = false;
        exec->queued = false;
        atomic_store_explicit(&exec->watchdog.began_ns, 0, memory_order_relaxed);
    }
    return PTO_OK;
}

static pto_status_t begin(pto_exec_t *exec, pto_error_t *err) {
    if (exec->under_way || exec->failed)
        return pto_error_set(err, PTO_ERR_RANGE,
                             exec->failed ? "an earlier run failed" : "a run is already active");
    exec->under_way = true;
    exec->run++;
    atomic_store_explicit(&exec->next, 0, memory_order_relaxed);
    atomic_store_explicit(&exec->watchdog.began_ns, pto_now_ns(), memory_order_relaxed);
    return PTO_OK;
}

pto_status_t pto_exec_start(pto_exec_t *exec, pto_error_t *err) {
    bool finished;
    pto_status_t status = begin(exec, err);
    return status == PTO_OK ? advance(exec, false, &finished, err) : status;
}

pto_status_t pto_exec_test(pto_exec_t *exec, bool *finished, pto_error_t *err) {
    *finished = !exec->under_way;
    return exec->under_way ? advance(exec, false, finished, err) : PTO_OK;
}

/* A blocking call could neither time out nor sleep, so poll until the run completes or the time is up. Each
 * step's naps begin short. */
static pto_status_t poll_until_done(pto_exec_t *exec, pto_error_t *err) {
    bool finished = false;
    int spins = 0, next = -1;
    exec->waiting = true;
    atomic_store_explicit(&exec->watchdog.began_ns, pto_now_ns(), memory_order_relaxed);
    pto_status_t status = advance(exec, false, &finished, err);
    while (status == PTO_OK && !finished) {
        int now = atomic_load_explicit(&exec->next, memory_order_relaxed);
        if (exec->options.wait == PTO_WAIT_SLEEP && now != next)
            spins = 0;
        next = now;
        status = pto_job_rest(&exec->job, &spins, err);
        if (status == PTO_OK)
            status = pto_exec_deadline(exec, err);
        status = status == PTO_OK ? advance(exec, false, &finished, err) : fail(exec, status, err);
    }
    exec->waiting = false;
    return status;
}

pto_status_t pto_exec_wait(pto_exec_t *exec, pto_error_t *err) {
    bool finished;
    pto_error_t ignored;
    if (!exec->under_way)
        return PTO_OK;
    if (exec->options.wait == PTO_WAIT_SLEEP ||
        (exec->options.timeout_s >= 0 && exec->options.on_timeout == PTO_TIMEOUT_RETURN))
        return poll_until_done(exec, err ? err : &ignored);
    return advance(exec, true, &finished, err);
}

pto_status_t pto_exec_run(pto_exec_t *exec, pto_error_t *err) {
    pto_status_t status = begin(exec, err);
    return status == PTO_OK ? pto_exec_wait(exec, err) : status;
}

/* If any rank needs staging copies, no rank can queue. */
static pto_queue_t queue_of(const pto_exec_t *exec) {
    const pto_node_t *first = pto_plan_node(exec->plan, 0);
    if ((first->kind != PTO_NODE_KERNEL && !pto_runs_by_nccl(first)) ||
        first->span != pto_plan_node_count(exec->plan) - 1)
        return PTO_QUEUE_BY_PROCESSES;
    return exec->shadow_in || exec->shadow_out ? PTO_QUEUE_STANDS_IN : PTO_QUEUE_YES;
}

/* Collective: agree on whether all processes can queue runs. */
static pto_status_t agree_on_queueing(pto_exec_t *exec, pto_error_t *err) {
    int mine = (int)queue_of(exec), most = mine;
    pto_status_t status = PTO_MPI(MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, exec->job.comm), err);
    exec->queue = (pto_queue_t)most;
    return status;
}

static pto_status_t queueable(const pto_exec_t *exec, pto_error_t *err) {
    switch (exec->queue) {
    case PTO_QUEUE_YES:
        return PTO_OK;
    case PTO_QUEUE_BY_PROCESSES:
        return pto_error_set(
            err, PTO_ERR_NOT_APPLICABLE,
            "%s needs more than one kernel or NCCL call, so its processes take part in every "
            "run: runs cannot be queued",
            pto_plan_request(exec->plan)->strategy->name);
    case PTO_QUEUE_STANDS_IN:
        break;
    }
    return pto_error_set(
        err, PTO_ERR_NOT_APPLICABLE,
        "a process's buffers are copied before or after each run, because other processes cannot "
        "access them or they are in place: runs cannot be queued");
}

pto_status_t pto_exec_queue(pto_exec_t *exec, pto_error_t *err) {
    bool finished;
    pto_status_t status = queueable(exec, err);
    if (status == PTO_OK && exec->queued)
        exec->under_way = false; /* runs queued earlier do not block another one */
    if (status == PTO_OK)
        status = begin(exec, err);
    if (status != PTO_OK)
        return status;
    exec->queued = true;
    if (exec->options.delay_max_s > 0)
        delay(exec);
    const pto_task_t *task = exec->tasks.item;
    if (exec->tasks.count > 0) /* enqueued whether or not NCCL's call blocks */
        status = task->kind == PTO_TASK_NCCL ? pto_nccl_queue(exec, task->first, err)
                                             : do_one(exec, task, false, &finished, err);
    atomic_store_explicit(&exec->next, exec->tasks.count, memory_order_relaxed);
    return status == PTO_OK ? PTO_OK : fail(exec, status, err);
}

/* --- making -------------------------------------------------------------------------------------------- */

static bool messages_from_device(const pto_plan_t *plan, const pto_stage_t *stage) {
    for (int i = 0; i < stage->step_count; i++) {
        const pto_step_t *step = pto_plan_step(plan, stage->step_first + i);
        if (step->kind == PTO_STEP_SEND && pto_plan_buffer(plan, step->source.buffer)->space == PTO_SPACE_GPU)
            return true;
    }
    return false;
}

static pto_status_t applicable(const pto_exec_t *exec, pto_error_t *err) {
    const pto_request_t *request = pto_plan_request(exec->plan);
    int64_t element = pto_datatype_bytes(request->datatype);
    pto_status_t status = pto_plan_runnable(exec->plan, err);
    if (status != PTO_OK)
        return status;
    if (pto_collective_reduces(request->collective) && request->datatype == PTO_DATATYPE_BYTE)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "bytes can't be reduced; name another datatype");
    if (pto_collective_reduces(request->collective) && request->bytes % element)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "%s: %lld bytes are not a whole number of %s elements",
                             pto_collective_name(request->collective), (long long)request->bytes,
                             pto_datatype_name(request->datatype));
    if (exec->device->mpi_reaches())
        return PTO_OK;
    for (int n = 0; n < pto_plan_node_count(exec->plan); n++) {
        const pto_node_t *node = pto_plan_node(exec->plan, n);
        if (pto_runs_by_nccl(node))
            n += node->span; /* NCCL accesses GPU memory without MPI */
        else if (node->kind == PTO_NODE_STAGE &&
                 messages_from_device(exec->plan, pto_plan_stage(exec->plan, node->stage)))
            return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                                 "%s sends from GPU memory, but this MPI library does not accept device "
                                 "pointers (MPIX_Query_cuda_support() returns 0)",
                                 request->strategy->name);
    }
    return PTO_OK;
}

/* A digest of everything that must be equal on all processes. */
static uint64_t digest(const pto_exec_t *exec) {
    uint64_t all = pto_plan_digest(exec->plan);
    const uint64_t more[] = {exec->op, exec->options.placement, exec->options.own_algorithms,
                             (uint64_t)(exec->device->name[0])};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        all = (all ^ (more[i] + 1)) * 0x100000001b3u;
    return all;
}

/* Waits on one counter take its signals in turn: the i-th of m waits per run takes signals i, i + m, ... */
static void number_waits(pto_exec_t *exec) {
    pto_exec_signal_t *signal = exec->signals.item;
    for (int i = 0; i < exec->signals.count; i++) {
        signal[i].stride = 0;
        for (int j = 0; j < exec->signals.count; j++) {
            bool same = signal[j].counter == signal[i].counter;
            signal[i].stride += same;
            signal[i].seen += same && j < i;
        }
    }
}

static pto_status_t prepare(pto_exec_t *exec, const void *in, void *out, pto_error_t *err) {
    pto_status_t status = pto_watchdog_begin(exec, err);
    atomic_store(&exec->watchdog.began_ns, pto_now_ns());
    status = pto_agree(exec->job.comm, status, err);
    if (status == PTO_OK)
        status = pto_same_everywhere(exec->job.comm, digest(exec), err);
    if (status == PTO_OK)
        status = pto_agree(exec->job.comm, applicable(exec, err), err);
    if (status == PTO_OK)
        status = pto_agree(exec->job.comm, exec->device->stream_create(&exec->stream, err), err);
    exec->bound = calloc((size_t)pto_plan_buffer_count(exec->plan), sizeof *exec->bound);
    if (status == PTO_OK)
        status = pto_agree(
            exec->job.comm,
            exec->bound ? PTO_OK : pto_error_set(err, PTO_ERR_MEMORY, "out of memory for buffers"), err);
    if (status == PTO_OK)
        status = pto_kernels_agree(exec, err);
    if (status == PTO_OK)
        status = pto_exec_bind(exec, in, out, err);
    if (status == PTO_OK)
        status = pto_library_prepare(exec, err);
    if (status == PTO_OK)
        status = pto_nccl_prepare(exec, err);
    if (status == PTO_OK)
        status = pto_agree(exec->job.comm, pto_schedule_build(exec, err), err);
    if (status == PTO_OK)
        status = pto_kernels_make(exec, err);
    if (status == PTO_OK)
        status = agree_on_queueing(exec, err);
    if (status == PTO_OK)
        number_waits(exec);
    atomic_store(&exec->watchdog.began_ns, 0);
    return status;
}

pto_status_t pto_exec_create(const pto_plan_t *plan, MPI_Comm comm, const pto_device_t *device,
                             const void *in, void *out, pto_op_t op, const pto_exec_options_t *options,
                             pto_exec_t **exec, pto_error_t *err) {
    pto_error_t ignored;
    pto_exec_t *made = calloc(1, sizeof *made);
    if (!err)
        err = &ignored;
    if (!made)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for an executor");
    made->plan = plan;
    made->device = device;
    made->op = op;
    made->options = options ? *options : (pto_exec_options_t){0};
    made->random = made->options.delay_seed;
    made->lines = PTO_LINES_NONE;
    atomic_init(&made->next, -1);
    pto_status_t status =
        pto_job_create(&pto_plan_request(plan)->layout, comm, &made->options, &made->job, err);
    if (status != PTO_OK) {
        free(made);
        return status;
    }
    status = prepare(made, in, out, err);
    if (status != PTO_OK) {
        pto_exec_destroy(made);
        return status;
    }
    *exec = made;
    return PTO_OK;
}

void pto_exec_destroy(pto_exec_t *exec) {
    if (!exec)
        return;
    /* Other processes may still access this memory, and waiting for them could take forever. */
    if (exec->failed && exec->options.on_timeout == PTO_TIMEOUT_RETURN)
        return;
    /* After a failed run a kernel may still wait for other GPUs, and freeing device memory would wait for
     * the kernel. */
    if (exec->failed) {
        atomic_store(&exec->next, -1);
        atomic_store(&exec->watchdog.began_ns, pto_now_ns());
    } else {
        pto_watchdog_end(exec);
    }
    pto_kernels_free(exec);
    pto_schedule_free(exec);
    pto_library_free(exec);
    pto_nccl_free(exec);
    pto_exec_unbind(exec);
    if (exec->stream)
        exec->device->stream_destroy(exec->stream, NULL);
    exec->device->release(exec->own_in, NULL);
    exec->device->release(exec->own_out, NULL);
    pto_watchdog_end(exec);
    pto_job_free(&exec->job);
    free(exec);
}
