/* Estimates the work and memory of checking a plan, so that a check that is too large is refused before it
 * starts. Work is counted in touches of about half a microsecond: one for each stage that a rank passes, one
 * for each block that a copy, a reduction or a message moves, three for each message, and for its clock, if
 * memory is shared, one per 200 entries. */
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "check/check_internal.h"
#include "plan/plan_internal.h"
#include "portolan/strategy.h"

enum {
    MESSAGE_TOUCHES = 3,
    ENTRIES_PER_TOUCH = 200, /* entries of clocks that are joined in the time of a touch */
    TOUCHES_PER_ITEM = 5,    /* the limit of touches divided by that of items in memory */
    ENTRIES_PER_ITEM = 16,   /* entries of clocks in the memory of an item */
    SHARED_ITEMS = 4         /* items in the trace of a shared buffer, for each of its spans */
};

/* The work and memory of a check, while they are counted. */
typedef struct {
    const pto_plan_t *plan;
    int64_t ranks;
    int64_t walked; /* the number of ranks that are walked: all, or those of one node */
    int64_t clocks; /* entries of a clock: one for each lane of each rank that shares a rank's memory */
    bool *shared;   /* by buffer */
    int runs;       /* that are walked (pto_check_runs); more than one: memory is shared */
    int64_t touches;
    int64_t kept; /* items in memory: spans, ends of messages, clocks; about 45 bytes each */
} size_count_t;

static void add(int64_t *total, int64_t count) { *total = pto_saturating_sum(*total, count); }

/* Returns the share of all ranks' work or memory that is due to the ranks that are walked. */
static int64_t walked_share(const size_count_t *count, int64_t all) {
    return all == INT64_MAX ? all : all / (count->ranks / count->walked);
}

static bool is_shared(const pto_plan_t *plan, int buffer) {
    if (pto_plan_lane_count(plan) > 1)
        return true;
    for (int i = 0; i < plan->steps.count; i++) {
        const pto_step_t *step = pto_plan_step(plan, i);
        if (pto_step_is_local(step) &&
            ((step->source.buffer == buffer && step->source.holder != PTO_HOLDER_SELF) ||
             (step->target.buffer == buffer && step->target.holder != PTO_HOLDER_SELF)))
            return true;
    }
    return false;
}

static int64_t blocks_of(const pto_slice_t *slice, int64_t k, int64_t core) {
    int64_t blocks_per_index = slice->bundle > 1 ? slice->bundle : 1;
    if (slice->fold > 0)
        blocks_per_index = 2;
    return pto_saturating_product(pto_slice_block_count(slice, k, core, 0), blocks_per_index);
}

static void count_step(size_count_t *count, const pto_step_t *step, int64_t k, int64_t *messages) {
    int64_t actions = walked_share(count, pto_step_actions(count->plan, step, k));
    if (step->kind == PTO_STEP_SEND) {
        int64_t touches = pto_saturating_sum(MESSAGE_TOUCHES, blocks_of(&step->source, k, step->core_first));
        if (count->runs > 1)
            add(&touches, count->clocks / ENTRIES_PER_TOUCH);
        add(&count->touches, pto_saturating_product(actions, touches));
        add(messages, actions);
    } else if (pto_step_is_local(step)) {
        add(&count->touches,
            pto_saturating_product(actions,
                                   pto_saturating_sum(1, blocks_of(&step->source, k, step->core_first))));
    } else if (step->kind != PTO_STEP_RECV) {
        add(&count->touches, actions);
    }
}

static void count_stages(size_count_t *count) {
    int64_t max_messages = 0; /* of a stage */
    pto_walk_t walk;
    pto_walk_begin(&walk, count->plan);
    while (pto_walk_next(&walk)) {
        int64_t messages = 0;
        add(&count->touches, count->walked);
        if (walk.lanes >= 0)
            add(&count->touches, pto_saturating_product(count->walked, count->clocks / ENTRIES_PER_TOUCH));
        for (int i = 0; i < walk.stage->step_count; i++)
            count_step(count, pto_plan_step(count->plan, walk.stage->step_first + i), walk.k, &messages);
        max_messages = messages > max_messages ? messages : max_messages;
    }
    add(&count->kept, pto_saturating_product(2, max_messages));
}

/* The user's input is one span; any other buffer of a rank has one per block. */
static void count_buffers(size_count_t *count) {
    const pto_layout_t *layout = &count->plan->request.layout;
    for (int b = 0; b < pto_plan_buffer_count(count->plan); b++) {
        const pto_buffer_t *buffer = pto_plan_buffer(count->plan, b);
        int64_t holders =
            buffer->group == PTO_GROUP_LEADERS
                ? layout->nodes
                : pto_saturating_product(layout->nodes * layout->gpus_per_node, buffer->core_count);
        int64_t stride = buffer->held_stride > 1 ? buffer->held_stride : 1;
        int64_t sharers = buffer->cyclic != PTO_CYCLIC_NONE ? buffer->cyclic_count : 1;
        int64_t spans =
            walked_share(count, pto_saturating_product((holders + stride - 1) / stride,
                                                       (buffer->block_count + sharers - 1) / sharers));
        if (!pto_role_is_input(buffer->role))
            add(&count->kept, spans);
        if (count->shared[b])
            add(&count->kept, pto_saturating_product(SHARED_ITEMS, spans));
    }
    if (count->runs > 1) /* two clocks of each lane: now and next */
        add(&count->kept,
            pto_saturating_product(pto_saturating_product(count->walked, pto_plan_lane_count(count->plan)),
                                   count->clocks) /
                (ENTRIES_PER_ITEM / 2));
    for (int n = 0; n < count->plan->nodes.count; n++) {
        const pto_node_t *node = pto_plan_node(count->plan, n);
        if (node->kind == PTO_NODE_PIPELINE && node->depth < node->to - node->from)
            add(&count->kept,
                pto_saturating_product(node->depth, pto_saturating_product(count->walked, count->clocks) /
                                                        ENTRIES_PER_ITEM));
    }
}

/* Returns the ranks of one node if all nodes do the same. Finding a fault may then take more. */
static int64_t ranks_to_walk(const pto_plan_t *plan, int64_t ranks) {
    pto_rotation_t *rotation = calloc((size_t)pto_plan_buffer_count(plan) + 1, sizeof *rotation);
    bool alike = rotation && pto_check_nodes_alike(plan, rotation);
    free(rotation);
    return alike ? ranks / plan->request.layout.nodes : ranks;
}

pto_status_t pto_check_size(const pto_plan_t *plan, int64_t limit, int64_t *touched, pto_error_t *err) {
    int64_t before = touched ? *touched : 0;
    size_count_t count = {.plan = plan, .ranks = pto_layout_rank_count(&plan->request.layout)};
    count.clocks = pto_saturating_product(pto_check_sharing_ranks(plan), pto_plan_lane_count(plan));
    count.walked = ranks_to_walk(plan, count.ranks);
    if (limit <= 0)
        limit = PTO_CHECK_LIMIT;
    pto_status_t status = pto_check_ranks(count.ranks, err);
    if (status != PTO_OK)
        return status;
    count.shared = calloc((size_t)pto_plan_buffer_count(plan) + 1, sizeof *count.shared);
    if (!count.shared)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for the size of a plan");
    for (int b = 0; b < pto_plan_buffer_count(plan); b++)
        count.shared[b] = is_shared(plan, b);
    count.runs = pto_check_runs(plan, count.shared);
    count_stages(&count);
    count_buffers(&count);
    free(count.shared);
    int64_t touches = pto_saturating_product(pto_saturating_product(count.runs, pto_check_assignments(plan)),
                                             count.touches);
    if (touches <= limit - before && count.kept <= limit / TOUCHES_PER_ITEM) {
        if (touched)
            *touched += touches;
        return PTO_OK;
    }
    char earlier[64] = "";
    if (before > 0)
        snprintf(earlier, sizeof earlier, " of which other plans take %lld,", (long long)before);
    return pto_error_set(
        err, PTO_ERR_TOO_LARGE,
        "checking %s by %s touches %lld blocks, messages and clocks and keeps %lld; the limit "
        "is %lld,%s and %lld (--limit N raises the first to N, the second to N / %d)",
        plan->request.strategy->name, plan->request.algorithm->name, (long long)touches,
        (long long)count.kept, (long long)limit, earlier, (long long)(limit / TOUCHES_PER_ITEM),
        TOUCHES_PER_ITEM);
}
