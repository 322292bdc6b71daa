/* Checks plans with either nodes, in which a choice between branch A and branch B is made for each member k
 * in each run. There are too many combinations of choices to prove each of them, so pto_check proves the plan
 * for a few, which are called assignments.
 *
 * That is enough, since whether two accesses race depends on the choices of at most two members: in a branch,
 * member 0 and member k use flags of their own, with each other only, and choices order nothing. So it is
 * enough that any two choices (of any members, nodes and runs) meet in all four combinations of branches. The
 * choices are numbered from 0. Besides all A and all B, the plan is proved twice for each bit of the numbers:
 * with B where the bit is set, and with B where it is not. Any two numbers differ in a bit.
 *
 * Where members also signal each other outside of either nodes, an order can lead through a third member's
 * branch. That member then takes both branches, but not with every combination of the other two. */
#include <stdlib.h>

#include "check/check_internal.h"
#include "portolan/strategy.h"

enum { RUNS = 2, UNIFORM = 2 /* assignments: all take A, all take B */ };

typedef struct {
    const pto_plan_t *plan;
    int number; /* from 0; the first UNIFORM ones are uniform */
} assignment_t;

/* Returns a choice of an assignment (pto_choices_t.takes_b). */
static bool by_bit(const void *context, int run, int either, int64_t k) {
    const assignment_t *assignment = context;
    const pto_plan_t *plan = assignment->plan;
    int64_t eithers = pto_plan_either_count(plan, pto_plan_node_count(plan));
    int64_t choice = (run % RUNS * eithers + either) * pto_plan_lane_count(plan) + k;
    int bit = (assignment->number - UNIFORM) / 2;
    if (assignment->number < UNIFORM)
        return assignment->number == PTO_BRANCH_B;
    return (choice >> bit & 1) == (assignment->number - UNIFORM) % 2;
}

int pto_check_assignments(const pto_plan_t *plan) {
    int64_t eithers = pto_plan_either_count(plan, pto_plan_node_count(plan));
    return eithers == 0 ? 1 : UNIFORM + 2 * (int)pto_log2_ceil(RUNS * eithers * pto_plan_lane_count(plan));
}

pto_status_t pto_check(const pto_plan_t *plan, pto_check_report_t *report, pto_error_t *err) {
    assignment_t assignment = {.plan = plan};
    const pto_choices_t choices = {by_bit, &assignment};
    pto_check_report_t proved = {0};
    pto_status_t status = pto_check_assigned(plan, &choices, &proved, err);
    int count = status == PTO_OK ? pto_check_assignments(plan) : 0;
    for (assignment.number = 1; assignment.number < count && status == PTO_OK; assignment.number++)
        status = pto_check_assigned(plan, &choices, &proved, err);
    if (status != PTO_OK)
        return status;
    proved.assignments = count;
    *report = proved;
    return PTO_OK;
}

static bool is_member(const pto_checker_t *checker, const pto_group_t *group, int64_t rank, int64_t k) {
    int64_t index = pto_group_index(checker->plan, group, rank);
    return index == 0 || index == k;
}

/* Checks that a rank's part in a step of a branch is between member 0 and member k; in a stage marked `once`,
 * that it is by member 0 alone. */
static bool check_actor(pto_checker_t *checker, const pto_walk_t *walk, const pto_step_t *step,
                        int64_t rank) {
    const pto_node_t *either = pto_plan_node(checker->plan, walk->lanes);
    const pto_group_t *group = pto_plan_group(checker->plan, either->group);
    pto_action_t action;
    if (!pto_check_actor(checker, step, rank))
        return false;
    if (!pto_step_acts(checker->plan, step, rank, walk->k, &action))
        return true;
    bool ok = is_member(checker, group, rank, walk->stage->once ? 0 : walk->k);
    bool has_peers = step->peers.kind != PTO_PEERS_NONE;
    ok = ok && !(walk->stage->once && has_peers);
    for (int64_t next = 0; ok && has_peers && pto_step_next(checker->plan, &next, &action);) {
        if (!pto_check_peer(checker, &action))
            return false;
        ok = is_member(checker, group, action.peer_rank, walk->k);
    }
    return ok || pto_check_fail(checker, rank, "acts in member %lld's branch of an either node",
                                (long long)walk->k);
}

/* Checks that a flag is used in one place only: a branch of an either node (1 + 2 * node + branch), or
 * outside of all branches (0). `place`: by flag; -1: not used yet. */
static bool check_flag(pto_checker_t *checker, const pto_walk_t *walk, const pto_step_t *step, int *place) {
    int here = walk->branch < 0 ? 0 : 1 + 2 * walk->lanes + walk->branch;
    if (place[step->flag] >= 0 && place[step->flag] != here)
        return pto_check_fail(checker, 0,
                              "flag '%s' is used inside and outside of a branch of an either node",
                              pto_plan_flag_name(checker->plan, step->flag));
    place[step->flag] = here;
    return true;
}

static bool check_stage(pto_checker_t *checker, const pto_walk_t *walk, int *place) {
    bool ok = true;
    for (int i = 0; i < walk->stage->step_count && ok; i++) {
        const pto_step_t *step = pto_plan_step(checker->plan, walk->stage->step_first + i);
        if (pto_step_is_signal(step))
            ok = check_flag(checker, walk, step, place);
        for (int64_t rank = 0; rank < checker->ranks && ok && walk->branch >= 0; rank++)
            ok = check_actor(checker, walk, step, rank);
    }
    return ok;
}

/* Reserves the flags of either nodes, which only their policies use. */
static bool reserve_flags(pto_checker_t *checker, int *place) {
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
    bool ok = reserve_flags(checker, place);
    pto_walk_begin(&checker->walk, checker->plan);
    while (ok && pto_walk_next(&checker->walk))
        ok = check_stage(checker, &checker->walk, place);
    if (ok)
        pto_walk_begin(&checker->walk, checker->plan);
    free(place);
    return ok;
}

bool pto_check_executes_stage(pto_checker_t *checker) {
    const pto_walk_t *walk = &checker->walk;
    bool enters = walk->lanes != checker->lanes_node;
    for (int branch = 0; branch < PTO_BRANCH_COUNT && (enters || walk->branch < 0); branch++)
        checker->first_lane[branch] = -1;
    if (walk->branch < 0)
        return true;
    int either = pto_plan_either_count(checker->plan, walk->lanes);
    const pto_choices_t *choices = checker->choices;
    if (choices->takes_b(choices->context, checker->run, either, walk->k) != (walk->branch == PTO_BRANCH_B))
        return false;
    if (!pto_check_begin_lanes(checker)) /* even if the stage is then skipped: its lane continues after it */
        return false;
    int *first = &checker->first_lane[walk->branch];
    if (*first < 0)
        *first = walk->lane;
    if (!walk->stage->once || *first == walk->lane)
        return true;
    pto_check_order_lanes(checker, *first, walk->lane);
    return false;
}
