/* Walks a plan's stages in order, iteration by iteration (pto_walk_t). Says which earlier stages a stage
 * waits for (pto_walk_after), and checks how nodes are nested. Every interpreter reads plans by this walk. A
 * node's body follows it in the list of nodes, so the walk is a position in this list, with the innermost
 * enclosing node of each kind. Loops, pipelines and either nodes do not nest in each other: `loop` is any of
 * these. */
#include "plan/plan_internal.h"
#include "portolan/policy.h"

/* Sets of kinds, a bit each. */
enum {
    STAGE = 1u << PTO_NODE_STAGE,
    IN_SEQUENCE = STAGE | 1u << PTO_NODE_LOOP | 1u << PTO_NODE_COLLECTIVE | 1u << PTO_NODE_KERNEL,
    BRANCH = 1u << PTO_NODE_BRANCH,
    PIPELINE = 1u << PTO_NODE_PIPELINE,
};

/* The kinds of nodes; the last row is the plan itself. */
static const struct {
    const char *name;
    unsigned contains; /* the set of kinds that its body may contain */
    bool repeats;      /* the body runs for k in [from, to) */
    bool has_lanes;
} kinds[PTO_NODE_COUNT + 1] = {
    [PTO_NODE_STAGE] = {"a stage", 0, false, false},
    [PTO_NODE_LOOP] = {"a loop", IN_SEQUENCE, true, false},
    [PTO_NODE_COLLECTIVE] = {"a collective", IN_SEQUENCE | PIPELINE, false, false},
    [PTO_NODE_KERNEL] = {"a kernel", IN_SEQUENCE, false, false},
    [PTO_NODE_PARALLEL] = {"a parallel node", BRANCH, false, true},
    [PTO_NODE_BRANCH] = {"a branch", STAGE | 1u << PTO_NODE_LOOP, false, false},
    [PTO_NODE_PIPELINE] = {"a pipeline", STAGE, true, true},
    [PTO_NODE_EITHER] = {"an either node", BRANCH, true, true},
    [PTO_NODE_COUNT] = {"a plan", ((1u << PTO_NODE_COUNT) - 1) & ~(unsigned)BRANCH, false, false},
};

bool pto_node_repeats(pto_node_kind_t kind) { return kinds[kind].repeats; }

void pto_walk_begin(pto_walk_t *walk, const pto_plan_t *plan) {
    *walk = (pto_walk_t){
        .plan = plan, .instance = -1, .collective = -1, .kernel = -1, .lanes = -1, .branch = -1, .loop = -1};
}

/* At the end of a loop's body: goes back to its start, or leaves the loop. */
static void close_loop(pto_walk_t *walk) {
    const pto_node_t *loop = pto_plan_node(walk->plan, walk->loop);
    if (walk->loop == walk->lanes)
        walk->lane = -1; /* the next iteration numbers its lanes anew */
    if (++walk->k < loop->to) {
        walk->next = walk->loop + 1;
        return;
    }
    walk->loop = -1;
    walk->k = 0;
}

/* Leaves the nodes that end here. */
static void close_nodes(pto_walk_t *walk) {
    if (walk->collective >= 0 && walk->next == walk->collective_end)
        walk->collective = -1;
    if (walk->kernel >= 0 && walk->next == walk->kernel_end)
        walk->kernel = -1;
    if (walk->lanes >= 0 && walk->next == walk->lanes_end) {
        walk->lanes = -1;
        walk->lane = 0;
        walk->branch = -1;
    }
}

static bool is_either(const pto_plan_t *plan, int index) {
    return index >= 0 && pto_plan_node(plan, index)->kind == PTO_NODE_EITHER;
}

static void enter_stage(pto_walk_t *walk, const pto_node_t *node) {
    walk->stage = pto_plan_stage(walk->plan, node->stage);
    walk->instance++;
    if (walk->lanes < 0) {
        walk->lane = 0;
        walk->fork = walk->instance;
    } else if (walk->lanes == walk->loop && !is_either(walk->plan, walk->lanes)) {
        walk->lane++; /* in a pipeline, each stage is a lane; elsewhere enter_branch sets the lane */
    }
}

/* Enters a branch of a parallel or an either node. `end`: the first node after the branch. An either node's
 * first branch is visited for the first k only, the others for each k. */
static void enter_branch(pto_walk_t *walk, int index, int end) {
    walk->lane++;
    walk->lane_first = walk->instance + 1;
    if (!is_either(walk->plan, walk->lanes))
        return;
    int64_t iteration = walk->k - pto_plan_node(walk->plan, walk->lanes)->from;
    int first_branch = walk->lanes + 1;
    int second_branch = first_branch + 1 + pto_plan_node(walk->plan, first_branch)->span;
    if (index == first_branch) {
        walk->branch = -1;
        walk->lane = 0;
        walk->next = iteration > 0 ? end : walk->next;
    } else {
        walk->branch = index == second_branch ? PTO_BRANCH_A : PTO_BRANCH_B;
        walk->lane = 1 + (int)iteration;
    }
}

static void enter_lanes(pto_walk_t *walk, int index, int end) {
    walk->lanes = index;
    walk->lanes_end = end;
    walk->lane = -1;
    walk->fork = walk->instance + 1;
}

/* Enters a node that is not a stage, or skips it if it repeats its body zero times. */
static void enter_node(pto_walk_t *walk, int index, const pto_node_t *node) {
    int end = index + 1 + node->span;
    bool repeats = pto_node_repeats(node->kind);
    if (repeats && node->from >= node->to) {
        walk->next = end;
        return;
    }
    if (repeats) {
        walk->loop = index;
        walk->loop_end = end;
        walk->k = node->from;
    }
    if (node->kind == PTO_NODE_COLLECTIVE) {
        walk->collective = index;
        walk->collective_end = end;
    } else if (node->kind == PTO_NODE_KERNEL) {
        walk->kernel = index;
        walk->kernel_end = end;
    } else if (node->kind == PTO_NODE_BRANCH) {
        enter_branch(walk, index, end);
    } else if (kinds[node->kind].has_lanes) {
        enter_lanes(walk, index, end);
    }
}

bool pto_walk_next(pto_walk_t *walk) {
    for (;;) {
        if (walk->loop >= 0 && walk->next == walk->loop_end) {
            close_loop(walk);
            continue;
        }
        close_nodes(walk);
        if (walk->next == walk->plan->nodes.count)
            return false;
        int index = walk->next++;
        const pto_node_t *node = pto_plan_node(walk->plan, index);
        if (node->kind != PTO_NODE_STAGE) {
            enter_node(walk, index, node);
            continue;
        }
        enter_stage(walk, node);
        return true;
    }
}

void pto_walk_leave_loop(pto_walk_t *walk) {
    walk->next = walk->loop_end;
    walk->k = pto_plan_node(walk->plan, walk->loop)->to - 1;
}

int pto_node_lane_count(const pto_plan_t *plan, int index) {
    const pto_node_t *node = pto_plan_node(plan, index);
    if (node->kind == PTO_NODE_PIPELINE)
        return node->span;
    if (node->kind == PTO_NODE_EITHER)
        return 1 + (int)(node->to - node->from);
    int count = 0;
    for (int i = index + 1; i <= index + node->span; i++)
        count += pto_plan_node(plan, i)->kind == PTO_NODE_BRANCH;
    return count;
}

int pto_plan_either_count(const pto_plan_t *plan, int nodes) {
    int count = 0;
    for (int i = 0; i < nodes; i++)
        count += is_either(plan, i);
    return count;
}

int pto_plan_lane_count(const pto_plan_t *plan) {
    int max_count = 1;
    for (int i = 0; i < plan->nodes.count; i++) {
        int count = kinds[pto_plan_node(plan, i)->kind].has_lanes ? pto_node_lane_count(plan, i) : 0;
        max_count = count > max_count ? count : max_count;
    }
    return max_count;
}

pto_walk_after_t pto_walk_after(const pto_walk_t *walk) {
    pto_walk_after_t after = {walk->fork, -1, -1, -1};
    if (walk->lanes < 0)
        return after;
    const pto_node_t *node = pto_plan_node(walk->plan, walk->lanes);
    if (node->kind != PTO_NODE_PIPELINE) {
        after.lane = walk->instance > walk->lane_first ? walk->instance - 1 : -1;
        return after;
    }
    int64_t stages = node->span; /* the walk visits all of these for a chunk, then for the next chunk */
    if (walk->k > node->from)
        after.lane = walk->instance - stages;
    if (walk->lane > 0)
        after.chunk = walk->instance - 1;
    else if (walk->k - node->from >= node->depth) /* lane 0; one instance earlier is the last lane */
        after.slot = walk->instance - 1 - (node->depth - 1) * stages;
    return after;
}

/* An either node contains three branches, of stages only. */
static pto_status_t check_either(const pto_plan_t *plan, int index, pto_error_t *err) {
    int branches = 0, end = index + 1 + pto_plan_node(plan, index)->span;
    for (int i = index + 1; i < end; i++) {
        pto_node_kind_t kind = pto_plan_node(plan, i)->kind;
        branches += kind == PTO_NODE_BRANCH;
        if (kind != PTO_NODE_BRANCH && kind != PTO_NODE_STAGE)
            return pto_error_set(err, PTO_ERR_INVALID_PLAN, "an either node contains %s", kinds[kind].name);
    }
    if (branches == 3)
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_INVALID_PLAN, "an either node has %d branches; it must have 3",
                         branches);
}

/* Checks the nodes directly in the body [first, until) of a node of kind `outer`. */
static pto_status_t check_body(const pto_plan_t *plan, int first, int until, pto_node_kind_t outer,
                               pto_error_t *err) {
    pto_status_t status = PTO_OK;
    for (int i = first; i < until && status == PTO_OK; i++) {
        const pto_node_t *node = pto_plan_node(plan, i);
        if (!(kinds[outer].contains >> node->kind & 1))
            return pto_error_set(err, PTO_ERR_INVALID_PLAN, "%s contains %s", kinds[outer].name,
                                 kinds[node->kind].name);
        if (kinds[node->kind].has_lanes && pto_node_lane_count(plan, i) > PTO_LANES_MAX)
            return pto_error_set(err, PTO_ERR_INVALID_PLAN, "%s has %d lanes; the maximum is %d",
                                 kinds[node->kind].name, pto_node_lane_count(plan, i), PTO_LANES_MAX);
        if (node->kind == PTO_NODE_PIPELINE && node->depth < 1)
            return pto_error_set(err, PTO_ERR_INVALID_PLAN, "a pipeline has depth %lld; it must be 1 or more",
                                 (long long)node->depth);
        if (node->kind == PTO_NODE_EITHER)
            status = check_either(plan, i, err);
        if (status == PTO_OK)
            status = check_body(plan, i + 1, i + 1 + node->span, node->kind, err);
        i += node->span;
    }
    return status;
}

pto_status_t pto_lanes_check(const pto_plan_t *plan, pto_error_t *err) {
    return check_body(plan, 0, plan->nodes.count, PTO_NODE_COUNT, err);
}
