/* Executes single tasks (tasks.h). Work for the device is enqueued in the lane's stream. The stream is
 * drained before the CPU or MPI needs its results. */
#include "tasks.h"

#include "choices.h"
#include "device/reduce.h"
#include "kernel_nodes.h"
#include "mpi_part.h"
#include "nccl/nccl_collective.h"

static const struct {
    const char *activity;
    const char *needs; /* besides the device; for a copy or reduction, if it is not on the device */
    bool keeps_stream; /* it can be executed while the lane's stream still holds work */
} kinds[] = {
    [PTO_TASK_POST] = {"starting messages", "MPI for messages", false},
    [PTO_TASK_FINISH] = {"waiting for messages", "MPI for messages", true},
    [PTO_TASK_MOVE] = {"copying", "the CPU for copies", false},
    [PTO_TASK_REDUCE] = {"reducing", "the CPU for reductions", false},
    [PTO_TASK_SIGNAL] = {"signalling", "the CPU for flags in host memory", false},
    [PTO_TASK_WAIT] = {"waiting for a signal", "the CPU for flags in host memory", true},
    [PTO_TASK_LIBRARY] = {"in MPI's collective", "the MPI library's collective", false},
    [PTO_TASK_KERNEL] = {"in a kernel", NULL, false},
    [PTO_TASK_NCCL] = {"in NCCL's collective", NULL, true},
    [PTO_TASK_MARK] = {"ending a chunk", NULL, true},
    [PTO_TASK_AFTER] = {"waiting for another lane", NULL, false},
    [PTO_TASK_CHOOSE] = {"beginning to choose", "the CPU for choices", false},
    [PTO_TASK_CHOSEN] = {"ending a branch", "the CPU for choices", true},
};
_Static_assert(sizeof kinds / sizeof *kinds == PTO_TASK_COUNT, "every kind has a row");

const char *pto_task_activity(pto_task_kind_t kind) { return kinds[kind].activity; }

pto_status_t pto_lane_settle(pto_exec_t *exec, pto_lane_t *lane, bool wait, bool *finished,
                             pto_error_t *err) {
    if (exec->kernel)
        return pto_kernel_settle(exec, wait, finished, err);
    *finished = true;
    if (!lane->pending)
        return PTO_OK;
    pto_status_t status =
        wait ? exec->device->finish(lane->stream, err) : exec->device->poll(lane->stream, finished, err);
    lane->pending = status == PTO_OK && !*finished;
    return status;
}

static pto_status_t do_moves(pto_exec_t *exec, pto_lane_t *lane, const pto_task_t *task, pto_error_t *err) {
    const pto_exec_move_t *item = (const pto_exec_move_t *)exec->moves.item + task->first;
    pto_datatype_t datatype = pto_plan_request(exec->plan)->datatype;
    pto_status_t status = PTO_OK;
    for (int i = 0; i < task->count && status == PTO_OK; i++) {
        if (item[i].divisor != 0)
            status = exec->device->divide(item[i].move.target, item[i].move.source,
                                          item[i].move.bytes / (size_t)pto_datatype_bytes(datatype), datatype,
                                          item[i].divisor, lane->stream, err);
        else if (item[i].on_device)
            status = exec->device->copy(&item[i].move, lane->stream, err);
        else
            pto_copy_host(&item[i].move);
        lane->pending |= item[i].on_device;
    }
    return status;
}

static pto_status_t do_reductions(pto_exec_t *exec, pto_lane_t *lane, const pto_task_t *task,
                                  pto_error_t *err) {
    const pto_exec_reduction_t *item = (const pto_exec_reduction_t *)exec->reductions.item + task->first;
    pto_datatype_t datatype = pto_plan_request(exec->plan)->datatype;
    pto_status_t status = PTO_OK;
    for (int i = 0; i < task->count && status == PTO_OK; i++) {
        const void *const *source = (const void *const *)exec->sources.item + item[i].source_first;
        bool several = item[i].fresh || item[i].source_count > 1;
        if (!item[i].on_device)
            pto_reduce_many_host(item[i].target, item[i].fresh, source, item[i].source_count, item[i].count,
                                 datatype, exec->op);
        else if (several)
            status = exec->device->reduce_many(item[i].target, item[i].fresh, source, item[i].source_count,
                                               item[i].count, datatype, exec->op, lane->stream, err);
        else
            status = exec->device->reduce(item[i].target, source[0], item[i].count, datatype, exec->op,
                                          lane->stream, err);
        lane->pending |= item[i].on_device;
    }
    return status;
}

static void do_signals(pto_exec_t *exec, const pto_task_t *task) {
    const pto_exec_signal_t *signal = (const pto_exec_signal_t *)exec->signals.item + task->first;
    for (int i = 0; i < task->count; i++)
        atomic_fetch_add_explicit(signal[i].counter, 1, memory_order_release);
}

static pto_status_t await_signal(const pto_exec_t *exec, const pto_exec_signal_t *signal, bool wait,
                                 bool *finished, pto_error_t *err) {
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

/* Several waits can share a counter, which receives `stride` signals per run; each keeps its own count. */
static pto_status_t do_waits(pto_exec_t *exec, const pto_task_t *task, bool wait, bool *finished,
                             pto_error_t *err) {
    pto_exec_signal_t *signal = (pto_exec_signal_t *)exec->signals.item + task->first;
    pto_status_t status = PTO_OK;
    *finished = true;
    for (int i = 0; i < task->count && status == PTO_OK && *finished; i++)
        status = await_signal(exec, &signal[i], wait, finished, err);
    for (int i = 0; i < task->count && status == PTO_OK && *finished; i++)
        signal[i].seen += signal[i].stride;
    return status;
}

/* Returns whether the task's copies or reductions run on the device. */
static bool on_device(const pto_exec_t *exec, const pto_task_t *task) {
    if (task->kind == PTO_TASK_MOVE)
        return ((const pto_exec_move_t *)exec->moves.item)[task->first].on_device;
    return task->kind == PTO_TASK_REDUCE &&
           ((const pto_exec_reduction_t *)exec->reductions.item)[task->first].on_device;
}

static pto_exec_event_t *event_of(const pto_exec_t *exec, const pto_task_t *mark) {
    return (pto_exec_event_t *)exec->events.item + mark->first;
}

static pto_exec_event_t *awaited_event(const pto_exec_t *exec, const pto_task_t *after) {
    return event_of(exec, (const pto_task_t *)exec->lane[after->first].tasks.item + after->count);
}

bool pto_task_may_follow(const pto_exec_t *exec, const pto_task_t *task) {
    return task->kind != PTO_TASK_AFTER ||
           atomic_load_explicit(&exec->lane[task->first].next, memory_order_relaxed) > task->count;
}

/* If the stream is empty, the lane's work so far has completed, so there is no event to wait for. */
static pto_status_t do_mark(pto_exec_t *exec, const pto_lane_t *lane, const pto_task_t *task,
                            pto_error_t *err) {
    pto_exec_event_t *mark = event_of(exec, task);
    mark->recorded = lane->pending;
    return lane->pending ? exec->device->event_record(mark->event, lane->stream, err) : PTO_OK;
}

/* Returns whether the lane's next task is work for the device. */
static bool device_is_next(const pto_exec_t *exec, const pto_lane_t *lane, const pto_task_t *task) {
    const pto_task_t *end = (const pto_task_t *)lane->tasks.item + lane->tasks.count;
    do {
        task++;
    } while (task < end && task->kind == PTO_TASK_AFTER);
    return task < end && (task->kind == PTO_TASK_MARK || on_device(exec, task));
}

/* If device work is next, the stream waits for the event; otherwise the process does. */
static pto_status_t do_after(pto_exec_t *exec, pto_lane_t *lane, const pto_task_t *task, bool *finished,
                             pto_error_t *err) {
    *finished = pto_task_may_follow(exec, task);
    if (!*finished)
        return PTO_OK;
    const pto_exec_event_t *marked = awaited_event(exec, task);
    if (!marked->recorded)
        return PTO_OK;
    if (!device_is_next(exec, lane, task))
        return exec->device->event_poll(marked->event, finished, err);
    lane->pending = true;
    return exec->device->event_follow(marked->event, lane->stream, err);
}

static pto_status_t do_task(pto_exec_t *exec, pto_lane_t *lane, const pto_task_t *task, bool wait,
                            bool *finished, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    *finished = true;
    if (task->kind == PTO_TASK_KERNEL)
        return pto_kernel_start(exec, task->first, wait, finished, err);
    if (task->kind == PTO_TASK_AFTER)
        return do_after(exec, lane, task, finished, err);
    if (!kinds[task->kind].keeps_stream && !on_device(exec, task))
        status = pto_lane_settle(exec, lane, wait, finished, err);
    else if (exec->kernel)
        status = pto_kernel_settle(exec, wait, finished, err);
    if (status != PTO_OK || !*finished)
        return status;
    switch (task->kind) {
    case PTO_TASK_MOVE:
        return do_moves(exec, lane, task, err);
    case PTO_TASK_REDUCE:
        return do_reductions(exec, lane, task, err);
    case PTO_TASK_FINISH:
        return exec->job.team->mpi->finish(exec, task, wait, finished, err);
    case PTO_TASK_WAIT:
        return do_waits(exec, task, wait, finished, err);
    case PTO_TASK_NCCL:
        return pto_nccl_run(exec, task->first, wait, finished, err);
    case PTO_TASK_MARK:
        return do_mark(exec, lane, task, err);
    case PTO_TASK_POST:
        return exec->job.team->mpi->post(exec, task, err);
    case PTO_TASK_SIGNAL:
        do_signals(exec, task);
        return PTO_OK;
    case PTO_TASK_LIBRARY:
        *finished = wait || exec->waiting;
        return *finished ? exec->job.team->mpi->call(exec, task->first, err) : PTO_OK;
    case PTO_TASK_CHOOSE:
        pto_choices_begin(exec, task->first);
        return PTO_OK;
    case PTO_TASK_CHOSEN:
        pto_choice_completed(exec, task->first);
        return PTO_OK;
    case PTO_TASK_KERNEL:
    case PTO_TASK_AFTER:
    case PTO_TASK_COUNT:
        break;
    }
    return PTO_OK;
}

pto_status_t pto_lane_do(pto_exec_t *exec, pto_lane_t *lane, const pto_task_t *task, bool wait,
                         bool *finished, pto_error_t *err) {
    pto_gate_t gate = task->choice ? pto_choice_gate(exec, lane, task) : PTO_GATE_OPEN;
    *finished = gate != PTO_GATE_UNKNOWN;
    pto_status_t status = gate == PTO_GATE_OPEN ? do_task(exec, lane, task, wait, finished, err) : PTO_OK;
    if (task->choice && !*finished)
        pto_choice_waits(exec, task);
    return status;
}

const char *pto_task_needs(const pto_exec_t *exec, const pto_task_t *task) {
    if (task->choice)
        return kinds[PTO_TASK_CHOOSE].needs;
    return on_device(exec, task) ? NULL : kinds[task->kind].needs;
}

pto_status_t pto_task_enqueue(pto_exec_t *exec, const pto_task_t *task, void *stream, pto_error_t *err) {
    pto_lane_t lane = {.stream = stream};
    if (task->kind == PTO_TASK_KERNEL)
        return exec->device->kernels->enqueue(((pto_exec_kernel_t *)exec->kernels.item)[task->first].handle,
                                              stream, err);
    if (task->kind == PTO_TASK_NCCL)
        return pto_nccl_enqueue(exec, task->first, stream, err);
    if (task->kind == PTO_TASK_MARK)
        return exec->device->event_record(event_of(exec, task)->event, stream, err);
    if (task->kind == PTO_TASK_AFTER)
        return exec->device->event_follow(awaited_event(exec, task)->event, stream, err);
    return task->kind == PTO_TASK_MOVE ? do_moves(exec, &lane, task, err)
                                       : do_reductions(exec, &lane, task, err);
}
