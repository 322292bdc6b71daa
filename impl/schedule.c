/* Builds the flat schedule: the tasks of one process, in order in each lane (executor.h), with all addresses,
 * sizes and peers resolved.
 *
 * The builder walks through the plan's stages in order and appends what this process does in each of them.
 * Steps outside of lanes are in lane 0. A node with lanes forks and joins by tasks MARK and AFTER, for
 * example a node with three branches:
 *
 *   lane 0: ... MARK a, tasks of branch 0, AFTER b, AFTER c, ...
 *   lane 1: AFTER a, tasks of branch 1, MARK b
 *   lane 2: AFTER a, tasks of branch 2, MARK c */
#include <stdlib.h>

#include "choices.h"
#include "members.h"
#include "mpi_part.h"
#include "nccl/nccl_collective.h"
#include "schedule.h"
#include "schedule_items.h"

/* Appends the items of one action: of what this process does in a step with one peer. */
typedef pto_status_t (*build_t)(pto_schedule_t *builder, const pto_action_t *action);

static pto_status_t build_actions(pto_schedule_t *builder, const pto_step_t *step, build_t build) {
    const pto_plan_t *plan = builder->exec->plan;
    pto_action_t action;
    if (!pto_step_acts(plan, step, builder->exec->job.logical, builder->walk->k, &action))
        return PTO_OK;
    pto_status_t status = PTO_OK;
    for (int64_t next = 0; status == PTO_OK && pto_step_next(plan, &next, &action);)
        status = build(builder, &action);
    return status;
}

/* Returns NULL for a launch, which needs no task of its own: the work that it launches has one. */
static build_t builder_of_kind(pto_step_kind_t kind) {
    switch (kind) {
    case PTO_STEP_SEND:
    case PTO_STEP_RECV:
        return pto_schedule_message;
    case PTO_STEP_COPY:
    case PTO_STEP_REDUCE:
        return pto_schedule_local;
    case PTO_STEP_SIGNAL:
    case PTO_STEP_WAIT:
        return pto_schedule_signal;
    case PTO_STEP_LAUNCH:
    case PTO_STEP_COUNT:
        break;
    }
    return NULL;
}

/* Builds all steps of one kind in the current stage. */
static pto_status_t build_all_of_kind(pto_schedule_t *builder, pto_step_kind_t kind) {
    const pto_stage_t *stage = builder->walk->stage;
    pto_status_t status = PTO_OK;
    for (int i = 0; i < stage->step_count && status == PTO_OK; i++) {
        const pto_step_t *step = pto_plan_step(builder->exec->plan, stage->step_first + i);
        if (step->kind == kind)
            status = build_actions(builder, step, builder_of_kind(kind));
    }
    return status;
}

/* Builds a stage whose steps are concurrent. Posts receives first, so that messages do not arrive unexpected.
 * Then starts sends and signals, does local work while they are in flight, and waits last. */
static pto_status_t build_concurrent(pto_schedule_t *builder) {
    static const pto_step_kind_t meanwhile[] = {PTO_STEP_SIGNAL, PTO_STEP_COPY, PTO_STEP_REDUCE};
    int first = builder->exec->requests.count;
    pto_status_t status = build_all_of_kind(builder, PTO_STEP_RECV);
    if (status == PTO_OK)
        status = build_all_of_kind(builder, PTO_STEP_SEND);
    int count = builder->exec->requests.count - first;
    if (status == PTO_OK && count > 0)
        status = pto_schedule_add(builder, PTO_TASK_POST, first, count);
    for (int i = 0; i < 3 && status == PTO_OK; i++)
        status = build_all_of_kind(builder, meanwhile[i]);
    if (status == PTO_OK && count > 0)
        status = pto_schedule_add(builder, PTO_TASK_FINISH, first, count);
    return status == PTO_OK ? build_all_of_kind(builder, PTO_STEP_WAIT) : status;
}

static pto_status_t build_sequence(pto_schedule_t *builder) {
    const pto_stage_t *stage = builder->walk->stage;
    pto_status_t status = PTO_OK;
    for (int i = 0; i < stage->step_count && status == PTO_OK; i++) {
        const pto_step_t *step = pto_plan_step(builder->exec->plan, stage->step_first + i);
        build_t build = builder_of_kind(step->kind);
        if (build)
            status = build_actions(builder, step, build);
    }
    return status;
}

static pto_status_t build_steps(pto_schedule_t *builder) {
    return builder->walk->stage->order == PTO_ORDER_AT_ONCE ? build_concurrent(builder)
                                                            : build_sequence(builder);
}

/* Appends the call of MPI's collective. The call's index is the number of such nodes before its own. It is
 * counted here, because the walk skips nodes whose stages are all empty, as with one member. */
static pto_status_t build_call(pto_schedule_t *builder) {
    int index = 0;
    for (int n = 0; n < builder->collective; n++)
        index += pto_runs_by_library(builder->exec, pto_plan_node(builder->exec->plan, n));
    return builder->exec->job.team->mpi->takes_part(builder->exec, index)
               ? pto_schedule_add(builder, PTO_TASK_LIBRARY, index, 1)
               : PTO_OK;
}

/* Steps inside a kernel are added to its program. The first one also adds the kernel and its task. */
static pto_status_t build_in_kernel(pto_schedule_t *builder) {
    if (!builder->program) {
        pto_exec_kernel_t *kernel = pto_vector_add(&builder->exec->kernels, sizeof *kernel);
        if (!kernel)
            return pto_schedule_out_of_memory(builder->err);
        pto_status_t status =
            pto_schedule_append(builder, 0, PTO_TASK_KERNEL, builder->exec->kernels.count - 1, 1);
        if (status != PTO_OK)
            return status;
        builder->program = &kernel->program;
    }
    return build_sequence(builder);
}

/* If this process does nothing in the kernel that is being built, removes its task, the last of lane 0. */
static void end_kernel(pto_schedule_t *builder) {
    if (builder->program && builder->program->ops.count == 0)
        builder->exec->lane[0].tasks.count--;
    builder->program = NULL;
}

static bool begins_kernel(const pto_schedule_t *builder) {
    const pto_stage_t *stage = builder->walk->stage;
    return stage->step_count > 0 &&
           pto_plan_step(builder->exec->plan, stage->step_first)->kind == PTO_STEP_LAUNCH;
}

static pto_status_t build_nccl(pto_schedule_t *builder) {
    int index = pto_nccl_index(builder->exec, builder->collective);
    if (index < 0)
        return PTO_OK;
    static const pto_stage_t stage = {.name = "NCCL"}; /* the task's name, instead of its first stage's */
    const pto_walk_t *walk = builder->walk;
    pto_walk_t renamed = *walk;
    renamed.stage = &stage;
    builder->walk = &renamed;
    pto_status_t status = pto_schedule_add(builder, PTO_TASK_NCCL, index, 1);
    builder->walk = walk;
    return status;
}

/* NCCL's call, or the library's, replaces all stages of its node: it is added at the first one. */
static pto_status_t build_collective(pto_schedule_t *builder) {
    if (builder->collective == builder->walk->collective)
        return PTO_OK;
    builder->collective = builder->walk->collective;
    return pto_walk_in_nccl(builder->walk) ? build_nccl(builder) : build_call(builder);
}

/* Returns the index of the first of `count` new events; -1: out of memory. */
static int new_events(pto_schedule_t *builder, int count) {
    pto_vector_t *events = &builder->exec->events;
    int first = events->count;
    for (int i = 0; i < count; i++)
        if (!pto_vector_add(events, sizeof(pto_exec_event_t)))
            return -1;
    return first;
}

/* Appends a mark to a lane, which records `event`, or a new event if that is negative. */
static pto_status_t add_mark(pto_schedule_t *builder, int lane, int event) {
    if (event < 0)
        event = new_events(builder, 1);
    return event < 0 ? pto_schedule_out_of_memory(builder->err)
                     : pto_schedule_append(builder, lane, PTO_TASK_MARK, event, 1);
}

static int last_task(const pto_schedule_t *builder, int lane) {
    return builder->exec->lane[lane].tasks.count - 1;
}

/* Lane 0 continues once all others have ended. */
static pto_status_t join_lanes(pto_schedule_t *builder) {
    bool either = pto_plan_node(builder->exec->plan, builder->lanes)->kind == PTO_NODE_EITHER;
    pto_status_t status = PTO_OK;
    for (int lane = 1; lane < builder->lanes_begun && status == PTO_OK; lane++) {
        if (either)
            status = pto_schedule_append(builder, lane, PTO_TASK_CHOSEN, pto_choice_of(builder, lane), 1);
        if (status == PTO_OK)
            status = add_mark(builder, lane, -1);
        if (status == PTO_OK)
            status = pto_schedule_append(builder, 0, PTO_TASK_AFTER, lane, last_task(builder, lane));
    }
    builder->lanes = -1;
    return status;
}

/* In a pipeline, each lane has `depth` events for the ends of chunks. With depth 2, chunks 0, 2, 4, ... of a
 * lane use one event: when chunk 2 ends, everything that waits for chunk 0 has begun. */
static pto_status_t fork_lanes(pto_schedule_t *builder) {
    const pto_walk_t *walk = builder->walk;
    const pto_node_t *node = pto_plan_node(walk->plan, walk->lanes);
    int64_t chunks = node->to - node->from;
    int lanes = pto_node_lane_count(walk->plan, walk->lanes);
    builder->lanes = walk->lanes;
    builder->lanes_begun = 1;
    builder->chunk_ends.count = 0;
    builder->event_depth = (int)(node->depth < chunks ? node->depth : chunks);
    builder->event_first = new_events(builder, lanes * builder->event_depth);
    pto_status_t status =
        builder->event_first < 0 ? pto_schedule_out_of_memory(builder->err) : add_mark(builder, 0, -1);
    builder->fork_mark = last_task(builder, 0);
    return status;
}

/* Begins a stage in a lane: appends waits for the stages that pto_walk_after names. In a pipeline these are
 * the chunk's previous stage, in the lane before, and the end of the chunk that used the same slot before:
 * with depth 2, chunk 5 begins after chunk 3 has ended. A single lane needs no such waits. */
static pto_status_t begin_in_lane(pto_schedule_t *builder) {
    const pto_walk_t *walk = builder->walk;
    pto_walk_after_t after = pto_walk_after(walk);
    pto_status_t status = PTO_OK;
    if (walk->lane >= builder->lanes_begun) {
        builder->lanes_begun = walk->lane + 1;
        status = pto_schedule_append(builder, walk->lane, PTO_TASK_AFTER, 0, builder->fork_mark);
    }
    if (status == PTO_OK && after.chunk >= 0)
        status = pto_schedule_append(builder, walk->lane, PTO_TASK_AFTER, walk->lane - 1,
                                     last_task(builder, walk->lane - 1));
    if (status == PTO_OK && after.slot >= 0 && builder->lanes_begun > 1) {
        const pto_node_t *node = pto_plan_node(walk->plan, walk->lanes);
        const int *chunk_end = builder->chunk_ends.item;
        const int64_t chunk_before = walk->k - node->from - node->depth;
        status =
            pto_schedule_append(builder, walk->lane, PTO_TASK_AFTER, node->span - 1, chunk_end[chunk_before]);
    }
    return status;
}

/* Marks the end of a chunk's stage; in the last lane, that is the end of the chunk. */
static pto_status_t end_in_pipeline(pto_schedule_t *builder, const pto_node_t *node) {
    const pto_walk_t *walk = builder->walk;
    int event = builder->event_first + walk->lane * builder->event_depth +
                (int)((walk->k - node->from) % builder->event_depth);
    pto_status_t status = add_mark(builder, walk->lane, event);
    if (status != PTO_OK || walk->lane < node->span - 1)
        return status;
    int *end = pto_vector_add(&builder->chunk_ends, sizeof *end);
    if (!end)
        return pto_schedule_out_of_memory(builder->err);
    *end = last_task(builder, walk->lane);
    return PTO_OK;
}

static bool acts_in_stage(const pto_schedule_t *builder) {
    const pto_stage_t *stage = builder->walk->stage;
    pto_action_t action;
    for (int i = 0; i < stage->step_count; i++)
        if (pto_step_acts(builder->exec->plan, pto_plan_step(builder->exec->plan, stage->step_first + i),
                          builder->exec->job.logical, builder->walk->k, &action))
            return true;
    return false;
}

static pto_status_t begin_either(pto_schedule_t *builder) {
    builder->lanes = builder->walk->lanes;
    builder->lanes_begun = 1;
    pto_status_t status = pto_choices_add(builder);
    if (status == PTO_OK)
        status = pto_schedule_append(builder, 0, PTO_TASK_CHOOSE, builder->exec->eithers.count - 1, 1);
    if (status == PTO_OK)
        status = add_mark(builder, 0, -1);
    builder->fork_mark = last_task(builder, 0);
    return status;
}

/* Member 0 has a lane for each other member. The other members do everything in lane 0. Tasks of a branch
 * have a `choice`: they are done only if the branch is chosen. Those of the common part (-1) have none. */
static pto_status_t build_in_either(pto_schedule_t *builder) {
    const pto_walk_t *walk = builder->walk;
    pto_status_t status = builder->lanes == walk->lanes ? PTO_OK : begin_either(builder);
    if (status != PTO_OK || !acts_in_stage(builder))
        return status;
    pto_walk_t in_own_lane = *walk;
    in_own_lane.lane = pto_choices_last(builder)->chooses ? walk->lane : 0;
    if (in_own_lane.lane >= builder->lanes_begun) {
        builder->lanes_begun = in_own_lane.lane + 1;
        status = pto_schedule_append(builder, in_own_lane.lane, PTO_TASK_AFTER, 0, builder->fork_mark);
    }
    builder->walk = &in_own_lane;
    builder->choice = walk->branch < 0 ? 0 : 1 + pto_choice_of(builder, walk->lane);
    if (status == PTO_OK)
        status = build_steps(builder);
    builder->choice = 0;
    builder->walk = walk;
    return status;
}

static pto_status_t build_in_lane(pto_schedule_t *builder) {
    const pto_walk_t *walk = builder->walk;
    const pto_node_t *node = pto_plan_node(walk->plan, walk->lanes);
    pto_status_t status = builder->lanes == walk->lanes ? PTO_OK : fork_lanes(builder);
    if (status == PTO_OK)
        status = begin_in_lane(builder);
    if (status == PTO_OK)
        status = build_steps(builder);
    return status == PTO_OK && node->kind == PTO_NODE_PIPELINE ? end_in_pipeline(builder, node) : status;
}

static pto_status_t build_stage(pto_schedule_t *builder) {
    const pto_walk_t *walk = builder->walk;
    pto_status_t status = PTO_OK;
    if (walk->kernel < 0 || begins_kernel(builder))
        end_kernel(builder);
    if (builder->lanes >= 0 && builder->lanes != walk->lanes)
        status = join_lanes(builder);
    if (status != PTO_OK)
        return status;
    if (walk->kernel >= 0)
        return build_in_kernel(builder);
    if (pto_walk_in_nccl(walk) || pto_walk_in_library(builder->exec, walk))
        return build_collective(builder);
    if (walk->lanes < 0)
        return build_steps(builder);
    return pto_plan_node(walk->plan, walk->lanes)->kind == PTO_NODE_EITHER ? build_in_either(builder)
                                                                           : build_in_lane(builder);
}

/* Copies a whole user buffer to or from its shadow, if it has one. Divides it if there is a divisor. */
static pto_status_t copy_whole_buffer(pto_schedule_t *builder, pto_role_t role, void *target,
                                      const void *source, int64_t divisor) {
    static const pto_stage_t stage = {.name = "user's buffer"};
    pto_walk_t outside = {.stage = &stage, .lanes = -1, .branch = -1};
    if (!target || !source)
        return PTO_OK;
    /* cppcheck-suppress autoVariables; until the end of this function only */
    builder->walk = &outside;
    size_t bytes = (size_t)pto_exec_user_bytes(builder->exec->plan, builder->exec->job.logical, role);
    const pto_move_t whole = {target, source, bytes, 1, bytes, bytes};
    pto_status_t status = bytes > 0 ? pto_schedule_move(builder, &whole, true, divisor) : PTO_OK;
    builder->walk = NULL;
    return status;
}

static pto_status_t create_events(pto_exec_t *exec, pto_error_t *err) {
    pto_exec_event_t *event = exec->events.item;
    pto_status_t status = PTO_OK;
    for (int i = 0; i < exec->events.count && status == PTO_OK; i++)
        status = exec->device->event_create(&event[i].event, err);
    return status;
}

static int compare_counters(const void *one, const void *other) {
    const pto_exec_signal_t *const *a = one, *const *b = other;
    if ((*a)->counter != (*b)->counter)
        return (*a)->counter < (*b)->counter ? -1 : 1;
    return (*a > *b) - (*a < *b);
}

/* Several waits may share a counter. Sets `seen` and `stride` so that each takes its own signal: of 2 waits
 * per run, the first one takes signals 1, 3, 5, ..., and the second one 2, 4, 6, ... */
static pto_status_t number_waits(pto_exec_t *exec, pto_error_t *err) {
    pto_exec_signal_t *signal = exec->signals.item;
    int count = exec->signals.count;
    pto_exec_signal_t **sorted = calloc((size_t)count + 1, sizeof *sorted);
    if (!sorted)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for signals");
    for (int i = 0; i < count; i++)
        sorted[i] = &signal[i];
    qsort(sorted, (size_t)count, sizeof(pto_exec_signal_t *), compare_counters);
    for (int first = 0, end; first < count; first = end) { /* [first, end) share a counter */
        for (end = first; end < count && sorted[end]->counter == sorted[first]->counter; end++)
            sorted[end]->seen += (uint64_t)(end - first);
        for (int i = first; i < end; i++)
            sorted[i]->stride = (uint64_t)(end - first);
    }
    free(sorted);
    return PTO_OK;
}

pto_status_t pto_schedule_build(pto_exec_t *exec, pto_error_t *err) {
    pto_schedule_t builder = {.exec = exec, .err = err, .collective = -1, .lanes = -1};
    pto_walk_t walk;
    pto_status_t status = copy_whole_buffer(&builder, PTO_ROLE_IN, exec->shadow_in, exec->user_in, 0);
    if (status == PTO_OK && pto_collective_data(pto_plan_request(exec->plan)->collective) == PTO_DATA_GRID)
        status =
            copy_whole_buffer(&builder, PTO_ROLE_OUT, exec->shadow_out, exec->user_out, 0); /* in place */
    builder.walk = &walk;
    pto_walk_begin(&walk, exec->plan);
    while (status == PTO_OK && pto_walk_next(&walk))
        status = build_stage(&builder);
    end_kernel(&builder);
    if (status == PTO_OK && builder.lanes >= 0)
        status = join_lanes(&builder);
    if (status == PTO_OK)
        status = copy_whole_buffer(&builder, PTO_ROLE_OUT, exec->quotient ? exec->quotient : exec->user_out,
                                   exec->shadow_out, exec->divisor);
    if (status == PTO_OK)
        status = copy_whole_buffer(&builder, PTO_ROLE_OUT, exec->user_out, exec->quotient, 0);
    free(builder.source.list.item);
    free(builder.target.list.item);
    free(builder.chunk_ends.item);
    if (status == PTO_OK)
        status = create_events(exec, err);
    return status == PTO_OK ? number_waits(exec, err) : status;
}

void pto_schedule_free(pto_exec_t *exec) {
    const pto_exec_event_t *event = exec->events.item;
    for (int i = 0; i < exec->events.count; i++)
        if (event[i].event)
            exec->device->event_destroy(event[i].event, NULL);
    for (int i = 0; i < exec->lane_count; i++)
        free(exec->lane[i].tasks.item);
    free(exec->events.item);
    free(exec->moves.item);
    free(exec->reductions.item);
    free(exec->sources.item);
    free(exec->signals.item);
    free(exec->eithers.item);
    free(exec->choices.item);
}
