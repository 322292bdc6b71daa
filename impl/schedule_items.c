/* The items of a schedule: copies, reductions, messages and signals. A slice of the plan becomes ranges of
 * bytes, and a step becomes one item for each range that is contiguous on both sides. */
#include "schedule_items.h"

#include <stdlib.h>

#include "buffers.h"
#include "mpi_part.h"

pto_status_t pto_schedule_out_of_memory(pto_error_t *err) {
    return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a schedule");
}

static bool add_range(pto_byte_ranges_t *ranges, int64_t offset_bytes, int64_t bytes) {
    pto_byte_range_t *range = pto_vector_add(&ranges->list, sizeof *range);
    ranges->failed = !range;
    if (range)
        *range = (pto_byte_range_t){ranges->base + offset_bytes, bytes};
    ranges->bytes += bytes;
    return range != NULL;
}

/* For pto_slice_visit_by: appends a range. In line format, each block has its own lines and tags, so the
 * range becomes one range for each block; pto_lines guarantees that ranges are whole blocks. */
static bool note_range(void *context, int64_t offset_bytes, int64_t bytes) {
    pto_byte_ranges_t *ranges = context;
    if (!ranges->lines)
        return add_range(ranges, offset_bytes, bytes);
    int64_t at = 0, lines_at = 0; /* offset of a block without, and with, lines and tags */
    const int64_t end = offset_bytes + bytes;
    bool added = true;
    for (int64_t block = 0; at < end && added; block++) {
        int64_t block_bytes =
            pto_buffer_block_bytes(ranges->exec->plan, ranges->buffer, ranges->holder, block);
        if (at >= offset_bytes && block_bytes > 0)
            added = add_range(ranges, lines_at, block_bytes);
        at += block_bytes;
        lines_at += pto_spot_bytes(true, block_bytes);
    }
    return added;
}

pto_status_t pto_ranges_collect(const pto_exec_t *exec, const pto_slice_t *slice, const pto_action_t *action,
                                pto_byte_ranges_t *ranges, pto_error_t *err) {
    ranges->list.count = 0;
    ranges->bytes = 0;
    ranges->failed = false;
    int64_t holder = pto_slice_holder(exec->plan, slice, action);
    ranges->base = pto_exec_memory(exec, slice->buffer, holder);
    ranges->copy_stride_bytes = pto_exec_copy_stride_bytes(exec, slice->buffer, holder);
    ranges->lines = slice->buffer == exec->lines;
    ranges->exec = exec;
    ranges->buffer = slice->buffer;
    ranges->holder = holder;
    pto_slice_visit_by(exec->plan, exec->offsets, slice, action, note_range, ranges);
    return ranges->failed ? pto_schedule_out_of_memory(err) : PTO_OK;
}

static pto_status_t collect(pto_schedule_t *builder, const pto_slice_t *slice, const pto_action_t *action,
                            pto_byte_ranges_t *ranges) {
    return pto_ranges_collect(builder->exec, slice, action, ranges, builder->err);
}

static bool in_device(const pto_schedule_t *builder, const pto_slice_t *slice) {
    return pto_plan_buffer(builder->exec->plan, slice->buffer)->space == PTO_SPACE_GPU;
}

static pto_vector_t *tasks_of(const pto_schedule_t *builder) {
    return &builder->exec->lane[builder->walk->lane].tasks;
}

pto_status_t pto_schedule_append(pto_schedule_t *builder, int lane, pto_task_kind_t kind, int first,
                                 int count) {
    const pto_walk_t *walk = builder->walk;
    pto_task_t *entry = pto_vector_add(&builder->exec->lane[lane].tasks, sizeof *entry);
    if (!entry)
        return pto_schedule_out_of_memory(builder->err);
    *entry = (pto_task_t){kind,        first,           count,        walk->stage->name, walk->k,
                          walk->lanes, builder->choice, walk->branch, walk->stage->once};
    return PTO_OK;
}

/* Returns whether two items may be in one task: copies and reductions must run on the same processor. */
static bool are_alike(const pto_exec_t *exec, pto_task_kind_t kind, int one, int other) {
    const pto_exec_move_t *move = exec->moves.item;
    const pto_exec_reduction_t *reduction = exec->reductions.item;
    if (kind == PTO_TASK_MOVE)
        return move[one].on_device == move[other].on_device;
    return kind != PTO_TASK_REDUCE || reduction[one].on_device == reduction[other].on_device;
}

pto_status_t pto_schedule_add(pto_schedule_t *builder, pto_task_kind_t kind, int first, int count) {
    const pto_vector_t *task = tasks_of(builder);
    pto_task_t *last = task->count ? (pto_task_t *)task->item + task->count - 1 : NULL;
    if (last && last->kind == kind && last->first + last->count == first && kind != PTO_TASK_LIBRARY &&
        kind != PTO_TASK_NCCL && last->stage == builder->walk->stage->name && last->k == builder->walk->k &&
        last->choice == builder->choice && last->branch == builder->walk->branch &&
        are_alike(builder->exec, kind, first - 1, first)) {
        last->count += count;
        return PTO_OK;
    }
    return pto_schedule_append(builder, builder->walk->lane, kind, first, count);
}

static pto_spot_t spot_at(const pto_byte_ranges_t *ranges, char *at) {
    return (pto_spot_t){at, ranges->copy_stride_bytes, ranges->lines};
}

/* Returns the rest of a range after its first `bytes`. Lines are only used as a whole. */
static pto_byte_range_t rest_of(const pto_byte_ranges_t *ranges, pto_byte_range_t range, int64_t bytes) {
    return (pto_byte_range_t){range.at + (ranges->lines ? 0 : bytes), range.bytes - bytes};
}

pto_status_t pto_schedule_move(pto_schedule_t *builder, const pto_move_t *move, bool on_device,
                               int64_t divisor) {
    pto_vector_t *moves = &builder->exec->moves;
    pto_exec_move_t *added = pto_vector_add(moves, sizeof *added);
    if (!added)
        return pto_schedule_out_of_memory(builder->err);
    *added = (pto_exec_move_t){*move, on_device, divisor};
    return pto_schedule_add(builder, PTO_TASK_MOVE, moves->count - 1, 1);
}

/* Returns the byte at `offset` of consecutive ranges, and the bytes that follow it in its range. */
static pto_byte_range_t range_at(const pto_byte_ranges_t *ranges, int64_t offset) {
    const pto_byte_range_t *range = ranges->list.item;
    for (; offset >= range->bytes; range++)
        offset -= range->bytes;
    return rest_of(ranges, *range, offset);
}

/* Appends, to a kernel's program, the longest reduction into the beginning of `target` that is contiguous in
 * all sources. `done`: bytes of the whole target before that. Sets the reduction's bytes. */
static pto_status_t add_kernel_reduction(pto_schedule_t *builder, const pto_step_t *step,
                                         pto_byte_range_t target, int64_t done, int64_t *bytes) {
    int64_t target_bytes = builder->target.bytes, count = builder->source.bytes / target_bytes;
    pto_spot_t into = spot_at(&builder->target, target.at);
    *bytes = target.bytes;
    for (int64_t i = 0; i < count; i++) {
        pto_byte_range_t source = range_at(&builder->source, i * target_bytes + done);
        *bytes = source.bytes < *bytes ? source.bytes : *bytes;
    }
    bool added = pto_program_reduce(builder->program, into, *bytes) &&
                 (step->fresh || pto_program_source(builder->program, into, *bytes));
    for (int64_t i = 0; i < count && added; i++) {
        char *source = range_at(&builder->source, i * target_bytes + done).at;
        added = pto_program_source(builder->program, spot_at(&builder->source, source), *bytes);
    }
    return added ? PTO_OK : pto_schedule_out_of_memory(builder->err);
}

/* Appends the same reduction outside of kernels. */
static pto_status_t add_reduction(pto_schedule_t *builder, const pto_step_t *step, pto_byte_range_t target,
                                  int64_t done, bool on_device, int64_t *bytes) {
    pto_exec_t *exec = builder->exec;
    int64_t element = pto_datatype_bytes(pto_plan_request(exec->plan)->datatype);
    int64_t target_bytes = builder->target.bytes, count = builder->source.bytes / target_bytes;
    pto_exec_reduction_t *reduction = pto_vector_add(&exec->reductions, sizeof *reduction);
    if (!reduction)
        return pto_schedule_out_of_memory(builder->err);
    int first = exec->sources.count;
    *bytes = target.bytes;
    for (int64_t i = 0; i < count; i++) {
        pto_byte_range_t source = range_at(&builder->source, i * target_bytes + done);
        const void **place = pto_vector_add(&exec->sources, sizeof *place);
        if (!place)
            return pto_schedule_out_of_memory(builder->err);
        *place = source.at;
        *bytes = source.bytes < *bytes ? source.bytes : *bytes;
    }
    *reduction = (pto_exec_reduction_t){target.at, first, (int)count, step->fresh, (size_t)(*bytes / element),
                                        on_device};
    return pto_schedule_add(builder, PTO_TASK_REDUCE, exec->reductions.count - 1, 1);
}

/* The source may be several times as long as the target: it then consists of several sources. */
static pto_status_t build_reduction(pto_schedule_t *builder, const pto_step_t *step, bool on_device) {
    pto_status_t status = PTO_OK;
    for (int64_t done = 0, bytes = 0; done < builder->target.bytes && status == PTO_OK; done += bytes) {
        pto_byte_range_t target = range_at(&builder->target, done);
        status = builder->program ? add_kernel_reduction(builder, step, target, done, &bytes)
                                  : add_reduction(builder, step, target, done, on_device, &bytes);
    }
    return status;
}

/* A copy of equal rows, collected range by range. */
typedef struct {
    char *target;
    char *source;
    pto_rows_t to; /* no rows: nothing has been collected */
    pto_rows_t from;
} row_copy_t;

static pto_status_t add_copy(pto_schedule_t *builder, const row_copy_t *copy, bool on_device) {
    bool in_place = copy->target == copy->source && copy->to.pitch_bytes == copy->from.pitch_bytes;
    if (copy->to.rows == 0 || in_place)
        return PTO_OK;
    if (builder->program)
        return pto_program_move(builder->program, spot_at(&builder->target, copy->target), &copy->to,
                                spot_at(&builder->source, copy->source), &copy->from)
                   ? PTO_OK
                   : pto_schedule_out_of_memory(builder->err);
    const pto_move_t move = {copy->target,
                             copy->source,
                             (size_t)copy->to.bytes,
                             (size_t)copy->to.rows,
                             (size_t)copy->to.pitch_bytes,
                             (size_t)copy->from.pitch_bytes};
    return pto_schedule_move(builder, &move, on_device, 0);
}

/* Adds the ranges to the copy if they are its next row. Returns whether they are. */
static bool add_row(const pto_schedule_t *builder, row_copy_t *copy, const char *target, const char *source,
                    int64_t bytes) {
    if (copy->to.rows == 0 || builder->target.lines || builder->source.lines)
        return false;
    int64_t to = pto_rows_next(&copy->to, target - copy->target, bytes);
    int64_t from = pto_rows_next(&copy->from, source - copy->source, bytes);
    if (to == 0 || from == 0)
        return false;
    pto_rows_add(&copy->to, to);
    pto_rows_add(&copy->from, from);
    return true;
}

/* Copies the ranges of the source to those of the target, which have the same total size. */
static pto_status_t build_copy(pto_schedule_t *builder, bool on_device) {
    pto_status_t status = PTO_OK;
    pto_byte_range_t *source = builder->source.list.item, *target = builder->target.list.item;
    row_copy_t copy = {0};
    int s = 0, t = 0;
    while (status == PTO_OK && s < builder->source.list.count && t < builder->target.list.count) {
        int64_t bytes = source[s].bytes < target[t].bytes ? source[s].bytes : target[t].bytes;
        if (!add_row(builder, &copy, target[t].at, source[s].at, bytes)) {
            status = add_copy(builder, &copy, on_device);
            copy = (row_copy_t){target[t].at, source[s].at, pto_rows_of(bytes), pto_rows_of(bytes)};
        }
        source[s] = rest_of(&builder->source, source[s], bytes);
        target[t] = rest_of(&builder->target, target[t], bytes);
        s += source[s].bytes == 0;
        t += target[t].bytes == 0;
    }
    return status == PTO_OK ? add_copy(builder, &copy, on_device) : status;
}

pto_status_t pto_schedule_local(pto_schedule_t *builder, const pto_action_t *action) {
    const pto_step_t *step = action->step;
    bool on_device = in_device(builder, &step->source) || in_device(builder, &step->target);
    pto_status_t status = collect(builder, &step->source, action, &builder->source);
    if (status == PTO_OK)
        status = collect(builder, &step->target, action, &builder->target);
    if (status != PTO_OK)
        return status;
    return step->kind == PTO_STEP_COPY ? build_copy(builder, on_device)
                                       : build_reduction(builder, step, on_device);
}

pto_status_t pto_schedule_message(pto_schedule_t *builder, const pto_action_t *action) {
    const pto_step_t *step = action->step;
    bool sends = step->kind == PTO_STEP_SEND;
    pto_byte_ranges_t *ranges = &builder->source;
    pto_status_t status = collect(builder, sends ? &step->source : &step->target, action, ranges);
    if (status != PTO_OK || (ranges->bytes == 0 && !step->send_empty))
        return status;
    const pto_job_t *job = &builder->exec->job;
    return job->team->mpi->message(builder, sends, ranges, job->team_rank[action->peer_rank]);
}

static pto_status_t add_kernel_flag(pto_schedule_t *builder, const pto_action_t *action, bool sends) {
    if (builder->exec->lines >= 0)
        return PTO_OK;
    int64_t from = sends ? action->rank : action->peer_rank, to = sends ? action->peer_rank : action->rank;
    pto_spot_t flag = {.at = pto_exec_kernel_flag(builder->exec, from, to, action->step->flag)};
    bool added = pto_program_flag(builder->program, sends ? PTO_KERNEL_SIGNAL : PTO_KERNEL_WAIT, flag);
    return added ? PTO_OK : pto_schedule_out_of_memory(builder->err);
}

pto_status_t pto_schedule_signal(pto_schedule_t *builder, const pto_action_t *action) {
    pto_exec_t *exec = builder->exec;
    bool sends = action->step->kind == PTO_STEP_SIGNAL;
    if (exec->job.node_of[action->rank] != exec->job.node_of[action->peer_rank])
        return pto_error_set(builder->err, PTO_ERR_NOT_APPLICABLE,
                             "ranks %lld and %lld signal through shared memory, but are on different nodes",
                             (long long)action->rank, (long long)action->peer_rank);
    if (builder->program)
        return add_kernel_flag(builder, action, sends);
    atomic_uint_fast64_t *counter =
        sends ? pto_exec_counter(exec, action->rank, action->peer_rank, action->step->flag)
              : pto_exec_counter(exec, action->peer_rank, action->rank, action->step->flag);
    pto_exec_signal_t *signal = pto_vector_add(&exec->signals, sizeof *signal);
    if (!signal)
        return pto_schedule_out_of_memory(builder->err);
    signal->counter = counter;
    signal->peer = exec->job.team_rank[action->peer_rank];
    return pto_schedule_add(builder, sends ? PTO_TASK_SIGNAL : PTO_TASK_WAIT, exec->signals.count - 1, 1);
}
