/* Checks lanes: parallel branches and pipeline stages of a rank, which may overlap in time (plan.h). Each
 * lane has a vector clock of its own: it starts with the rank's clock at the fork and is joined into that at
 * the end of the node. Races between two lanes of one rank are then found in the same way as races between
 * ranks.
 *
 * The walk visits the stages in one of the possible orders. Every other order has the same result: accesses
 * to the same bytes are ordered, messages match within a stage, and only one lane of a node raises (or
 * awaits) each flag. */
#include <stdlib.h>

#include "check/check_internal.h"

/* The lane that raises (or awaits) a flag. Node -1: none yet. */
typedef struct {
    int node;
    int lane;
    const char *stage;
} flag_user_t;

/* Records that a step raises (or awaits) a flag. Fails if another lane of the same node does so, too. */
static bool use_flag(pto_checker_t *checker, const pto_walk_t *walk, const pto_step_t *step,
                     flag_user_t *user) {
    if (user->node == walk->lanes && user->lane != walk->lane)
        return pto_check_fail(
            checker, 0, "flag '%s' is %s in lane %d (stage '%s') and in lane %d (stage '%s')",
            pto_plan_flag_name(checker->plan, step->flag), step->kind == PTO_STEP_WAIT ? "awaited" : "raised",
            user->lane, user->stage, walk->lane, walk->stage->name);
    *user = (flag_user_t){walk->lanes, walk->lane, walk->stage->name};
    return true;
}

bool pto_check_lanes(pto_checker_t *checker) {
    int flags = pto_plan_flag_count(checker->plan);
    bool ok = true;
    if (checker->lanes == 1 || flags == 0)
        return true;
    flag_user_t *users = calloc(2 * (size_t)flags, sizeof *users);
    if (!users)
        return pto_check_out_of_memory(checker);
    for (int i = 0; i < 2 * flags; i++)
        users[i].node = -1;
    pto_walk_t walk;
    pto_walk_begin(&walk, checker->plan);
    while (ok && pto_walk_next(&walk))
        for (int i = 0; i < walk.stage->step_count && ok && walk.lanes >= 0 && walk.branch < 0; i++) {
            const pto_step_t *step = pto_plan_step(checker->plan, walk.stage->step_first + i);
            if (pto_step_is_signal(step))
                ok = use_flag(checker, &walk, step, &users[2 * step->flag + (step->kind == PTO_STEP_WAIT)]);
        }
    free(users);
    return ok;
}

static int64_t in_lane(const pto_checker_t *checker, int64_t rank, int lane) {
    return rank + lane * checker->walked;
}

void pto_check_order_lanes(pto_checker_t *checker, int from_lane, int to_lane) {
    for (int64_t rank = 0; rank < checker->walked; rank++)
        pto_clocks_order(&checker->clocks, in_lane(checker, rank, from_lane),
                         in_lane(checker, rank, to_lane));
}

static void forget_slots(pto_checker_t *checker) {
    for (int64_t i = 0; i < checker->slot_count && checker->slot; i++)
        free(checker->slot[i]);
    free(checker->slot);
    checker->slot = NULL;
    checker->slot_count = 0;
}

/* Orders the lanes of the current node after what its ranks have done before. */
static bool fork(pto_checker_t *checker) {
    const pto_node_t *node = pto_plan_node(checker->plan, checker->walk.lanes);
    int lanes = pto_node_lane_count(checker->plan, checker->walk.lanes);
    for (int lane = 1; lane < lanes; lane++)
        pto_check_order_lanes(checker, 0, lane);
    if (node->kind != PTO_NODE_PIPELINE || node->depth >= node->to - node->from)
        return true;
    checker->slot_count = node->depth * checker->walked;
    checker->slot = calloc((size_t)checker->slot_count, sizeof *checker->slot);
    return checker->slot || pto_check_out_of_memory(checker);
}

static void join(pto_checker_t *checker) {
    int lanes = pto_node_lane_count(checker->plan, checker->lanes_node);
    for (int lane = 1; lane < lanes; lane++)
        pto_check_order_lanes(checker, lane, 0);
    forget_slots(checker);
}

/* Returns the clocks of all ranks at the end of the chunk that last used the current chunk's slot. */
static uint32_t **slots(pto_checker_t *checker) {
    const pto_node_t *node = pto_plan_node(checker->plan, checker->walk.lanes);
    return checker->slot + (checker->walk.k - node->from) % node->depth * checker->walked;
}

bool pto_check_begin_lanes(pto_checker_t *checker) {
    const pto_walk_t *walk = &checker->walk;
    checker->clocks.stage = walk->stage;
    if (walk->lanes != checker->lanes_node) {
        if (checker->lanes_node >= 0)
            join(checker);
        checker->lanes_node = walk->lanes;
        if (walk->lanes >= 0 && !fork(checker))
            return false;
    }
    pto_walk_after_t after = pto_walk_after(walk);
    for (int64_t rank = 0; rank < checker->walked; rank++) {
        if (after.chunk >= 0)
            pto_clocks_order(&checker->clocks, in_lane(checker, rank, walk->lane - 1),
                             in_lane(checker, rank, walk->lane));
        if (after.slot >= 0)
            pto_clocks_join(&checker->clocks, rank, slots(checker)[rank], rank);
    }
    return true;
}

void pto_check_end_lanes(pto_checker_t *checker) {
    int last = checker->slot ? pto_node_lane_count(checker->plan, checker->walk.lanes) - 1 : -1;
    for (int64_t rank = 0; rank < checker->walked && checker->walk.lane == last; rank++) {
        int64_t from = in_lane(checker, rank, last);
        pto_clocks_release(&checker->clocks, from);
        free(slots(checker)[rank]);
        slots(checker)[rank] = pto_clocks_snapshot(&checker->clocks, from);
    }
}

void pto_check_leave_lanes(pto_checker_t *checker) {
    if (checker->lanes_node >= 0)
        join(checker);
    checker->lanes_node = -1;
    checker->clocks.stage = NULL;
}
