/* Checking either nodes. A plan is proved for every choice of its members, run by run, from a few: each walk
 * of the plan takes one.
 *
 * In the branches of an either node, member 0 and member k use flags of their own, with each other only, and
 * choices order nothing. So an order between what two members do comes about by their own branches and by
 * what lies outside of the nodes, and whether two accesses race depends on the choices of two members (of
 * one, if member 0 makes the other access). Each pair of choices, of any two members in any two nodes or
 * runs, is walked with all four pairs of branches: numbered from 0, choices are A or B by one bit of their
 * numbers, for every bit, and then the other way round. Any two numbers differ in a bit.
 *
 * Where members also signal each other outside of the nodes, an order can lead through a third member's
 * branch. It is then walked in both of its branches, but not together with every pair of the others. */
#include <stdlib.h>

#include "check/check_internal.h"
#include "portolan/strategy.h"

/* --- the choices ---------------------------------------------------------------------------------------- */

enum { RUNS = 2, ALIKE = 2 /* all take A, all take B */ };

typedef struct {
    const pto_plan_t *plan;
    int number;
} assignment_t;

static bool by_bit(const void *context, int run, int either, int64_t k) {
    const assignment_t *assignment = context;
    const pto_plan_t *plan = assignment->plan;
    int64_t eithers = pto_plan_either_count(plan, pto_plan_node_count(plan));
    int64_t item = (run % RUNS * eithers + either) * pto_plan_lane_count(plan) + k;
    int bit = (assignment->number - ALIKE) / 2;
    if (assignment->number < ALIKE)
        return assignment->number == PTO_BRANCH_B;
    return (item >> bit & 1) == (assignment->number - ALIKE) % 2;
}

int pto_check_assignments(const pto_plan_t *plan) {
    int64_t eithers = pto_plan_either_count(plan, pto_plan_node_count(plan));
    return eithers == 0 ? 1 : ALIKE + 2 * (int)pto_log2_ceil(RUNS * eithers * pto_plan_lane_count(plan));
}

pto_status_t pto_check(const pto_plan_t *plan, pto_check_report_t *report, pto_error_t *err) {
    assignment_t assignment = {.plan = plan};
    pto_check_report_t made = {0};
    pto_status_t status = pto_check_assigned(plan, by_bit, &assignment, &made, err);
    int count = status == PTO_OK ? pto_check_assignments(plan) : 0;
    for (assignment.number = 1; assignment.number < count && status == PTO_OK; assignment.number++)
        status = pto_check_assigned(plan, by_bit, &assignment, &made, err);
    if (status != PTO_OK)
        return status;
    made.assignments = count;
    *report = made;
    return PTO_OK;
}

/* --- once for a plan ------------------------------------------------------------------------------------ */

static bool is_member(const pto_checker_t *checker, const pto_group_t *group, int64_t rank, int64_t k) {
    int64_t index = pto_group_index(checker->plan, group, rank);
    return index == 0 || index == k;
}

/* Returns whether what a rank does in the step is between member 0 and member k; once for all k, by member 0
 * alone. */
static bool actor_right(pto_checker_t *checker, const pto_walk_t *walk, const pto_step_t *step,
                        int64_t rank) {
    const pto_node_t *either = pto_plan_node(checker->plan, walk->lanes);
    const pto_group_t *group = pto_plan_group(checker->plan, either->group);
    pto_action_t action;
    if (!pto_check_actor(checker, step, rank))
        return false;
    if (!pto_step_acts(checker->plan, step, rank, walk->k, &action))
        return true;
    bool right = is_member(checker, group, rank, walk->stage->once ? 0 : walk->k);
    right = right && (!walk->stage->once || step->peers.kind == PTO_PEERS_NONE);
    bool meets = step->peers.kind != PTO_PEERS_NONE;
    for (int64_t next = 0; right && meets && pto_step_next(checker->plan, &next, &action);) {
        if (!pto_check_peer(checker, &action))
            return false;
        right = is_member(checker, group, action.peer_rank, walk->k);
    }
    return right || pto_check_fail(checker, rank, "acts in member %lld's branch of an either node",
                                   (long long)walk->k);
}

/* A flag's place: 1 + 2 * node + branch in a branch of an either node, else 0; -1: not used yet. */
static bool flag_right(pto_checker_t *checker, const pto_walk_t *walk, const pto_step_t *step, int *place) {
    int here = walk->branch < 0 ? 0 : 1 + 2 * walk->lanes + walk->branch;
    if (place[step->flag] >= 0 && place[step->flag] != here)
        return pto_check_fail(checker, 0,
                              "flag '%s' is used inside and outside of a branch of an either node",
                              pto_plan_flag_name(checker->plan, step->flag));
    place[step->flag] = here;
    return true;
}

static bool stage_right(pto_checker_t *checker, const pto_walk_t *walk, int *place) {
    bool right = true;
    for (int i = 0; i < walk->stage->step_count && right; i++) {
        const pto_step_t *step = pto_plan_step(checker->plan, walk->stage->step_first + i);
        if (pto_step_is_signal(step))
            right = flag_right(checker, walk, step, place);
        for (int64_t rank = 0; rank < checker->ranks && right && walk->branch >= 0; rank++)
            right = actor_right(checker, walk, step, rank);
    }
    return right;
}

/* The flags of a node are the policy's. */
static bool take_flags(pto_checker_t *checker, int *place) {
    for (int n = 0; n < pto_plan_node_count(checker->plan); n++) {
        const pto_node_t *node = pto_plan_node(checker->plan, n);
        if (node->kind != PTO_NODE_EITHER)
            continue;
        if (node->flag < 0 || node->flag + 2 >= pto_plan_flag_count(checker->plan))
            return pto_check_fail(checker, 0, "an either node names flags that don't exist");
        for (int i = 0; i < 1 + PTO_BRANCH_COUNT; i++)
            place[node->flag + i] = 1 + 2 * pto_plan_node_count(checker->plan) + n;
    }
    return true;
}

bool pto_check_eithers(pto_checker_t *checker) {
    int flags = pto_plan_flag_count(checker->plan);
    if (pto_plan_either_count(checker->plan, pto_plan_node_count(checker->plan)) == 0)
        return true;
    int *place = calloc((size_t)flags + 1, sizeof *place);
    if (!place)
        return pto_check_out_of_memory(checker);
    for (int i = 0; i < flags; i++)
        place[i] = -1;
    bool right = take_flags(checker, place);
    pto_walk_begin(&checker->walk, checker->plan);
    while (right && pto_walk_next(&checker->walk))
        right = stage_right(checker, &checker->walk, place);
    if (right)
        pto_walk_begin(&checker->walk, checker->plan);
    free(place);
    return right;
}

/* --- for each stage ------------------------------------------------------------------------------------- */

bool pto_check_is_passed(pto_checker_t *checker) {
    const pto_walk_t *walk = &checker->walk;
    bool enters = walk->lanes != checker->lanes_node;
    for (int branch = 0; branch < PTO_BRANCH_COUNT && (enters || walk->branch < 0); branch++)
        checker->first_lane[branch] = -1;
    if (walk->branch < 0)
        return true;
    int either = pto_plan_either_count(checker->plan, walk->lanes);
    if (checker->takes_b(checker->context, checker->run, either, walk->k) != (walk->branch == PTO_BRANCH_B))
        return false;
    if (!pto_check_begin_lanes(checker)) /* so that the lanes have begun */
        return false;
    int *first = &checker->first_lane[walk->branch];
    if (*first < 0)
        *first = walk->lane;
    if (!walk->stage->once || *first == walk->lane)
        return true;
    pto_check_order(checker, *first, walk->lane);
    return false;
}
