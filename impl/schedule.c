/* The flat schedule: what one process does, in order, with all addresses, sizes and peers resolved. */
#include <stdlib.h>
#include <string.h>

#include "exec_internal.h"

/* An MPI count is an int; longer ranges are split. */
#define PIECE_BYTES_MAX ((int64_t)1 << 30)

static pto_status_t out_of_memory(pto_error_t *err) {
    return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a schedule");
}

/* --- byte ranges --------------------------------------------------------------------------------------- */

typedef struct {
    char *at;
    int64_t bytes;
} range_t;

typedef struct {
    pto_vector_t list; /* range_t */
    char *base;
    int64_t apart_bytes; /* distance between the copies of a double-buffered buffer */
    bool lines;
    int64_t bytes; /* sum over the list */
    bool failed;
} ranges_t;

static bool note_range(void *context, int64_t offset_bytes, int64_t bytes) {
    ranges_t *ranges = context;
    range_t *range = pto_vector_add(&ranges->list, sizeof *range);
    ranges->failed = !range;
    if (range)
        *range = (range_t){ranges->base + pto_spot_bytes(ranges->lines, offset_bytes), bytes};
    ranges->bytes += bytes;
    return range != NULL;
}

/* State while the schedule is built. */
typedef struct {
    pto_exec_t *exec;
    const pto_walk_t *walk;
    pto_error_t *err;
    ranges_t source;
    ranges_t target;
    int collective; /* the collective whose call has been added; -1: none */
    int most_requests;
    pto_program_t *program; /* program of the current kernel; NULL: outside kernels */
    pto_task_t launch;      /* entry of the current kernel */
} builder_t;

static pto_status_t collect(builder_t *builder, const pto_slice_t *slice, const pto_action_t *action,
                            ranges_t *ranges) {
    const pto_exec_t *exec = builder->exec;
    ranges->list.count = 0;
    ranges->bytes = 0;
    ranges->failed = false;
    int64_t holder = pto_slice_holder(exec->plan, slice, action);
    ranges->base = pto_exec_memory(exec, slice->buffer, holder);
    ranges->apart_bytes = pto_exec_apart_bytes(exec, slice->buffer, holder);
    ranges->lines = slice->buffer == exec->lines;
    pto_slice_visit(exec->plan, slice, action, note_range, ranges);
    return ranges->failed ? out_of_memory(builder->err) : PTO_OK;
}

static bool in_device(const builder_t *builder, const pto_slice_t *slice) {
    return pto_plan_buffer(builder->exec->plan, slice->buffer)->space == PTO_SPACE_GPU;
}

/* --- entries ------------------------------------------------------------------------------------------- */

/* Append an item: extend the last entry if it has the same kind and stage, otherwise begin a new one. */
static pto_status_t add_task(builder_t *builder, pto_task_kind_t kind, int first, int count) {
    pto_vector_t *task = &builder->exec->tasks;
    pto_task_t *last = task->count ? (pto_task_t *)task->item + task->count - 1 : NULL;
    if (last && last->kind == kind && last->first + last->count == first && kind != PTO_TASK_LIBRARY &&
        kind != PTO_TASK_NCCL && last->stage == builder->walk->stage->name && last->k == builder->walk->k) {
        last->count += count;
        return PTO_OK;
    }
    pto_task_t *entry = pto_vector_add(task, sizeof *entry);
    if (!entry)
        return out_of_memory(builder->err);
    *entry = (pto_task_t){kind, first, count, builder->walk->stage->name, builder->walk->k};
    return PTO_OK;
}

static pto_spot_t spot_at(const ranges_t *ranges, char *at) {
    return (pto_spot_t){at, ranges->apart_bytes, ranges->lines};
}

/* The rest of a range after its first `bytes`. */
static range_t after(const ranges_t *ranges, range_t range, int64_t bytes) {
    return (range_t){range.at + pto_spot_bytes(ranges->lines, bytes), range.bytes - bytes};
}

/* --- copies and reductions ----------------------------------------------------------------------------- */

/* Add `piece` to the move as another row if it continues the same stride. */
static bool extend_move(pto_exec_move_t *last, const pto_move_t *piece, bool on_device) {
    pto_move_t *move = &last->move;
    if (last->on_device != on_device || move->bytes != piece->bytes)
        return false;
    ptrdiff_t target_step = (char *)piece->target - (char *)move->target;
    ptrdiff_t source_step = (const char *)piece->source - (const char *)move->source;
    ptrdiff_t rows = (ptrdiff_t)move->rows;
    ptrdiff_t least = (ptrdiff_t)(move->bytes) * rows;
    if (target_step < least || source_step < least || target_step % rows || source_step % rows)
        return false;
    if (rows > 1 && (target_step / rows != (ptrdiff_t)move->target_pitch_bytes ||
                     source_step / rows != (ptrdiff_t)move->source_pitch_bytes))
        return false;
    move->target_pitch_bytes = (size_t)(target_step / rows);
    move->source_pitch_bytes = (size_t)(source_step / rows);
    move->rows++;
    return true;
}

static pto_status_t add_move(builder_t *builder, char *target, const char *source, int64_t bytes,
                             bool on_device, int *own_first) {
    pto_vector_t *moves = &builder->exec->moves;
    if (target == source)
        return PTO_OK; /* in place */
    pto_move_t piece = {target, source, (size_t)bytes, 1, (size_t)bytes, (size_t)bytes};
    if (moves->count > *own_first &&
        extend_move((pto_exec_move_t *)moves->item + moves->count - 1, &piece, on_device))
        return PTO_OK;
    pto_exec_move_t *move = pto_vector_add(moves, sizeof *move);
    if (!move)
        return out_of_memory(builder->err);
    *move = (pto_exec_move_t){piece, on_device};
    return add_task(builder, PTO_TASK_MOVE, moves->count - 1, 1);
}

/* The byte at `offset` of consecutive ranges, and the bytes that follow it in its range. */
static range_t range_at(const ranges_t *ranges, int64_t offset) {
    const range_t *range = ranges->list.item;
    for (; offset >= range->bytes; range++)
        offset -= range->bytes;
    return after(ranges, *range, offset);
}

/* The longest reduction that is contiguous in target and sources, from byte `done` of the target on. */
static pto_status_t add_kernel_reduction(builder_t *builder, const pto_step_t *step, range_t target,
                                         int64_t done, int64_t *bytes) {
    int64_t whole = builder->target.bytes, count = builder->source.bytes / whole;
    pto_spot_t into = spot_at(&builder->target, target.at);
    *bytes = target.bytes;
    for (int64_t i = 0; i < count; i++) {
        range_t source = range_at(&builder->source, i * whole + done);
        *bytes = source.bytes < *bytes ? source.bytes : *bytes;
    }
    bool added = pto_program_reduce(builder->program, into, *bytes) &&
                 (step->fresh || pto_program_source(builder->program, into, *bytes));
    for (int64_t i = 0; i < count && added; i++) {
        char *source = range_at(&builder->source, i * whole + done).at;
        added = pto_program_source(builder->program, spot_at(&builder->source, source), *bytes);
    }
    return added ? PTO_OK : out_of_memory(builder->err);
}

/* The longest reduction into `target` that is contiguous in all sources, from byte `done` of the whole
 * target on. */
static pto_status_t add_reduction(builder_t *builder, const pto_step_t *step, range_t target, int64_t done,
                                  bool on_device, int64_t *bytes) {
    pto_exec_t *exec = builder->exec;
    int64_t element = pto_datatype_bytes(pto_plan_request(exec->plan)->datatype);
    int64_t whole = builder->target.bytes, count = builder->source.bytes / whole;
    pto_exec_reduction_t *reduction = pto_vector_add(&exec->reductions, sizeof *reduction);
    if (!reduction)
        return out_of_memory(builder->err);
    int first = exec->sources.count;
    *bytes = target.bytes;
    for (int64_t i = 0; i < count; i++) {
        range_t source = range_at(&builder->source, i * whole + done);
        const void **place = pto_vector_add(&exec->sources, sizeof *place);
        if (!place)
            return out_of_memory(builder->err);
        *place = source.at;
        *bytes = source.bytes < *bytes ? source.bytes : *bytes;
    }
    *reduction = (pto_exec_reduction_t){target.at, first, (int)count, step->fresh, (size_t)(*bytes / element),
                                        on_device};
    return add_task(builder, PTO_TASK_REDUCE, exec->reductions.count - 1, 1);
}

/* The source may be a multiple of the target's size: its pieces are combined. */
static pto_status_t build_reduction(builder_t *builder, const pto_step_t *step, bool on_device) {
    pto_status_t status = PTO_OK;
    for (int64_t done = 0, bytes = 0; done < builder->target.bytes && status == PTO_OK; done += bytes) {
        range_t target = range_at(&builder->target, done);
        status = builder->program ? add_kernel_reduction(builder, step, target, done, &bytes)
                                  : add_reduction(builder, step, target, done, on_device, &bytes);
    }
    return status;
}

static pto_status_t add_kernel_move(builder_t *builder, char *target, char *source, int64_t bytes) {
    if (target == source)
        return PTO_OK; /* in place */
    return pto_program_move(builder->program, spot_at(&builder->target, target),
                            spot_at(&builder->source, source), bytes)
               ? PTO_OK
               : out_of_memory(builder->err);
}

/* Pair the ranges of both sides, which have the same total size, piece by piece. */
static pto_status_t build_copy(builder_t *builder, bool on_device) {
    int own_first = builder->exec->moves.count;
    pto_status_t status = PTO_OK;
    range_t *source = builder->source.list.item, *target = builder->target.list.item;
    int s = 0, t = 0;
    while (status == PTO_OK && s < builder->source.list.count && t < builder->target.list.count) {
        int64_t bytes = source[s].bytes < target[t].bytes ? source[s].bytes : target[t].bytes;
        status = builder->program
                     ? add_kernel_move(builder, target[t].at, source[s].at, bytes)
                     : add_move(builder, target[t].at, source[s].at, bytes, on_device, &own_first);
        source[s] = after(&builder->source, source[s], bytes);
        target[t] = after(&builder->target, target[t], bytes);
        s += source[s].bytes == 0;
        t += target[t].bytes == 0;
    }
    return status;
}

static pto_status_t build_local(builder_t *builder, const pto_action_t *action) {
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

/* --- messages ------------------------------------------------------------------------------------------ */

static int piece_count(const ranges_t *ranges) {
    const range_t *range = ranges->list.item;
    int count = 0;
    for (int i = 0; i < ranges->list.count; i++)
        count += (int)((range[i].bytes - 1) / PIECE_BYTES_MAX + 1);
    return count;
}

/* A committed datatype for ranges that are not contiguous. */
static pto_status_t make_type(builder_t *builder, const ranges_t *ranges, int pieces, MPI_Datatype *type) {
    int *lengths = calloc((size_t)pieces, sizeof *lengths);
    MPI_Aint *places = calloc((size_t)pieces, sizeof *places);
    pto_status_t status = lengths && places ? PTO_OK : out_of_memory(builder->err);
    const range_t *range = ranges->list.item;
    int made = 0;
    for (int i = 0; i < ranges->list.count && lengths && places; i++)
        for (int64_t done = 0; done < range[i].bytes; done += PIECE_BYTES_MAX) {
            int64_t left = range[i].bytes - done;
            lengths[made] = (int)(left < PIECE_BYTES_MAX ? left : PIECE_BYTES_MAX);
            places[made++] = (MPI_Aint)(range[i].at - ranges->base + done);
        }
    if (status == PTO_OK)
        status = PTO_MPI(MPI_Type_create_hindexed(pieces, lengths, places, MPI_BYTE, type), builder->err);
    if (status == PTO_OK)
        status = PTO_MPI(MPI_Type_commit(type), builder->err);
    free(lengths);
    free(places);
    return status;
}

static pto_status_t add_request(builder_t *builder, bool sends, void *at, int count, MPI_Datatype type,
                                int peer) {
    pto_exec_t *exec = builder->exec;
    int tag = (int)(builder->walk->instance % 32768); /* MPI guarantees tags up to 32767 */
    pto_exec_end_t *end = pto_vector_add(&exec->ends, sizeof *end);
    MPI_Request *request = end ? pto_vector_add(&exec->requests, sizeof *request) : NULL;
    if (!request)
        return out_of_memory(builder->err);
    *end = (pto_exec_end_t){sends, peer};
    *request = MPI_REQUEST_NULL;
    if (sends)
        return PTO_MPI(MPI_Send_init(at, count, type, peer, tag, exec->job.comm, request), builder->err);
    return PTO_MPI(MPI_Recv_init(at, count, type, peer, tag, exec->job.comm, request), builder->err);
}

static pto_status_t build_message(builder_t *builder, const pto_action_t *action) {
    const pto_step_t *step = action->step;
    bool sends = step->kind == PTO_STEP_SEND;
    ranges_t *ranges = &builder->source;
    int peer = builder->exec->job.mpi_of[action->peer_rank];
    pto_status_t status = collect(builder, sends ? &step->source : &step->target, action, ranges);
    if (status != PTO_OK || (ranges->bytes == 0 && !step->send_empty))
        return status;
    int pieces = piece_count(ranges);
    const range_t *range = ranges->list.item;
    if (pieces == 0)
        return add_request(builder, sends, ranges->base, 0, MPI_BYTE, peer);
    if (pieces == 1)
        return add_request(builder, sends, range->at, (int)range->bytes, MPI_BYTE, peer);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    status = make_type(builder, ranges, pieces, &type);
    if (status == PTO_OK)
        status = add_request(builder, sends, ranges->base, 1, type, peer);
    if (type != MPI_DATATYPE_NULL)
        MPI_Type_free(&type); /* the request keeps a reference */
    return status;
}

/* --- signals ------------------------------------------------------------------------------------------- */

static pto_status_t add_kernel_flag(builder_t *builder, const pto_action_t *action, bool sends) {
    if (builder->exec->lines >= 0)
        return PTO_OK;
    int64_t from = sends ? action->rank : action->peer_rank, to = sends ? action->peer_rank : action->rank;
    pto_spot_t flag = {.at = pto_exec_kernel_flag(builder->exec, from, to, action->step->flag)};
    bool added = pto_program_flag(builder->program, sends ? PTO_KERNEL_SIGNAL : PTO_KERNEL_WAIT, flag);
    return added ? PTO_OK : out_of_memory(builder->err);
}

static pto_status_t build_signal(builder_t *builder, const pto_action_t *action) {
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
        return out_of_memory(builder->err);
    signal->counter = counter;
    signal->peer = exec->job.mpi_of[action->peer_rank];
    return add_task(builder, sends ? PTO_TASK_SIGNAL : PTO_TASK_WAIT, exec->signals.count - 1, 1);
}

/* --- stages -------------------------------------------------------------------------------------------- */

typedef pto_status_t (*build_t)(builder_t *builder, const pto_action_t *action);

static pto_status_t each_action(builder_t *builder, const pto_step_t *step, build_t build) {
    const pto_plan_t *plan = builder->exec->plan;
    pto_action_t action;
    if (!pto_step_acts(plan, step, builder->exec->job.logical, builder->walk->k, &action))
        return PTO_OK;
    pto_status_t status = PTO_OK;
    for (int64_t next = 0; status == PTO_OK && pto_step_next(plan, &next, &action);)
        status = build(builder, &action);
    return status;
}

/* NULL: a launch needs no entry, the work that it launches has one. */
static build_t build_of(pto_step_kind_t kind) {
    switch (kind) {
    case PTO_STEP_SEND:
    case PTO_STEP_RECV:
        return build_message;
    case PTO_STEP_COPY:
    case PTO_STEP_REDUCE:
        return build_local;
    case PTO_STEP_SIGNAL:
    case PTO_STEP_WAIT:
        return build_signal;
    case PTO_STEP_LAUNCH:
    case PTO_STEP_COUNT:
        break;
    }
    return NULL;
}

/* Build all steps of one kind in the current stage. */
static pto_status_t each_of_kind(builder_t *builder, pto_step_kind_t kind) {
    const pto_stage_t *stage = builder->walk->stage;
    pto_status_t status = PTO_OK;
    for (int i = 0; i < stage->step_count && status == PTO_OK; i++) {
        const pto_step_t *step = pto_plan_step(builder->exec->plan, stage->step_first + i);
        if (step->kind == kind)
            status = each_action(builder, step, build_of(kind));
    }
    return status;
}

/* Post receives first, so that messages do not arrive unexpected. Then start sends and signals, do local
 * work while they are in flight, and wait last. */
static pto_status_t build_at_once(builder_t *builder) {
    int first = builder->exec->requests.count;
    pto_status_t status = each_of_kind(builder, PTO_STEP_RECV);
    if (status == PTO_OK)
        status = each_of_kind(builder, PTO_STEP_SEND);
    int count = builder->exec->requests.count - first;
    if (count > builder->most_requests)
        builder->most_requests = count;
    if (status == PTO_OK && count > 0)
        status = add_task(builder, PTO_TASK_POST, first, count);
    if (status == PTO_OK)
        status = each_of_kind(builder, PTO_STEP_SIGNAL);
    if (status == PTO_OK)
        status = each_of_kind(builder, PTO_STEP_COPY);
    if (status == PTO_OK)
        status = each_of_kind(builder, PTO_STEP_REDUCE);
    if (status == PTO_OK && count > 0)
        status = add_task(builder, PTO_TASK_FINISH, first, count);
    return status == PTO_OK ? each_of_kind(builder, PTO_STEP_WAIT) : status;
}

static pto_status_t build_sequence(builder_t *builder) {
    const pto_stage_t *stage = builder->walk->stage;
    pto_status_t status = PTO_OK;
    for (int i = 0; i < stage->step_count && status == PTO_OK; i++) {
        const pto_step_t *step = pto_plan_step(builder->exec->plan, stage->step_first + i);
        build_t build = build_of(step->kind);
        if (build)
            status = each_action(builder, step, build);
    }
    return status;
}

/* The library's call replaces all stages of its node. */
static pto_status_t build_call(builder_t *builder) {
    if (builder->collective == builder->walk->collective)
        return PTO_OK;
    const pto_library_call_t *calls = builder->exec->calls.item;
    builder->collective = builder->walk->collective;
    /* Calls are in the order of their nodes. A node whose stages are all empty (n = 1) is skipped. */
    int index = 0;
    for (int n = 0; n < builder->collective; n++)
        index += pto_runs_by_library(builder->exec, pto_plan_node(builder->exec->plan, n));
    return calls[index].comm == MPI_COMM_NULL ? PTO_OK : add_task(builder, PTO_TASK_LIBRARY, index, 1);
}

/* Steps inside a kernel are added to its program, which is one entry. `end_kernel` appends the entry, unless
 * the process takes no part. */
static pto_status_t build_in_kernel(builder_t *builder) {
    const pto_stage_t *stage = builder->walk->stage;
    if (!builder->program) {
        pto_exec_kernel_t *kernel = pto_vector_add(&builder->exec->kernels, sizeof *kernel);
        if (!kernel)
            return out_of_memory(builder->err);
        builder->program = &kernel->program;
        builder->launch =
            (pto_task_t){PTO_TASK_KERNEL, builder->exec->kernels.count - 1, 1, stage->name, builder->walk->k};
    }
    return build_sequence(builder);
}

static pto_status_t end_kernel(builder_t *builder) {
    bool takes_part = builder->program && builder->program->ops.count > 0;
    builder->program = NULL;
    pto_task_t *entry = takes_part ? pto_vector_add(&builder->exec->tasks, sizeof *entry) : NULL;
    if (entry)
        *entry = builder->launch;
    return takes_part && !entry ? out_of_memory(builder->err) : PTO_OK;
}

static bool begins_kernel(const builder_t *builder) {
    const pto_stage_t *stage = builder->walk->stage;
    return stage->step_count > 0 &&
           pto_plan_step(builder->exec->plan, stage->step_first)->kind == PTO_STEP_LAUNCH;
}

/* NCCL's call does, too. */
static pto_status_t build_nccl(builder_t *builder) {
    if (builder->collective == builder->walk->collective)
        return PTO_OK;
    builder->collective = builder->walk->collective;
    int part = pto_nccl_part(builder->exec, builder->collective);
    if (part < 0)
        return PTO_OK;
    static const pto_stage_t stage = {.name = "NCCL"};
    const pto_walk_t *kept = builder->walk;
    pto_walk_t around = *kept;
    around.stage = &stage;
    builder->walk = &around;
    pto_status_t status = add_task(builder, PTO_TASK_NCCL, part, 1);
    builder->walk = kept;
    return status;
}

static pto_status_t build_stage(builder_t *builder) {
    int collective = builder->walk->collective;
    if (builder->walk->kernel < 0 || begins_kernel(builder)) {
        pto_status_t status = end_kernel(builder);
        if (status != PTO_OK)
            return status;
    }
    if (builder->walk->kernel >= 0)
        return build_in_kernel(builder);
    if (pto_walk_in_nccl(builder->walk))
        return build_nccl(builder);
    if (collective >= 0 && pto_runs_by_library(builder->exec, pto_plan_node(builder->exec->plan, collective)))
        return build_call(builder);
    return builder->walk->stage->order == PTO_ORDER_AT_ONCE ? build_at_once(builder)
                                                            : build_sequence(builder);
}

/* Copy a whole user buffer to or from its substitute. */
static pto_status_t build_shadow(builder_t *builder, pto_role_t role, void *target, const void *source) {
    static const pto_stage_t stage = {.name = "user's buffer"};
    pto_walk_t around = {.stage = &stage};
    if (!target || !source)
        return PTO_OK;
    builder->walk = &around;
    int first = builder->exec->moves.count;
    int64_t bytes = pto_exec_user_bytes(builder->exec->plan, builder->exec->job.logical, role);
    pto_status_t status = bytes > 0 ? add_move(builder, target, source, bytes, true, &first) : PTO_OK;
    builder->walk = NULL;
    return status;
}

pto_status_t pto_schedule_build(pto_exec_t *exec, pto_error_t *err) {
    builder_t builder = {.exec = exec, .err = err, .collective = -1};
    pto_walk_t walk;
    pto_status_t status = build_shadow(&builder, PTO_ROLE_IN, exec->shadow_in, exec->user_in);
    builder.walk = &walk;
    pto_walk_begin(&walk, exec->plan);
    while (status == PTO_OK && pto_walk_next(&walk))
        status = build_stage(&builder);
    if (status == PTO_OK)
        status = end_kernel(&builder);
    if (status == PTO_OK)
        status = build_shadow(&builder, PTO_ROLE_OUT, exec->user_out, exec->shadow_out);
    free(builder.source.list.item);
    free(builder.target.list.item);
    exec->statuses = calloc((size_t)builder.most_requests + 1, sizeof *exec->statuses);
    return status == PTO_OK && !exec->statuses ? out_of_memory(err) : status;
}

void pto_schedule_free(pto_exec_t *exec) {
    MPI_Request *request = exec->requests.item;
    for (int i = 0; i < exec->requests.count; i++)
        if (request[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&request[i]);
    free(exec->tasks.item);
    free(exec->requests.item);
    free(exec->ends.item);
    free(exec->moves.item);
    free(exec->reductions.item);
    free(exec->sources.item);
    free(exec->signals.item);
    free(exec->statuses);
}
