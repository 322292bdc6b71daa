/* Either nodes of a plan (plan.h): for every other member k of a group, member 0 chooses whether the two take
 * branch A or B. In the simulation, member 0 learns of arrivals and ends without delay, runs the policy
 * (policy.c), and announces its choices without delay. The lanes (parallel branches) of member 0 and of
 * member k wait for the choice. */
#include "simulate/simulate_internal.h"

static pto_sim_either_t *either_of(const pto_sim_t *sim, const pto_walk_t *walk) {
    return &sim->either[pto_plan_either_count(sim->plan, walk->lanes)];
}

/* Returns the index of a process's rank among the node's members. */
static int64_t member_index(const pto_sim_t *sim, const pto_proc_t *proc) {
    int group = pto_plan_node(sim->plan, proc->at->walk.lanes)->group;
    return pto_group_index(sim->plan, pto_plan_group(sim->plan, group), proc->rank);
}

static void wake_waiting(pto_sim_t *sim) {
    for (uint32_t rank = 0; rank < sim->ranks * sim->lanes; rank++)
        if (sim->proc[rank].state == PTO_PROC_LANE)
            pto_sim_set(sim, rank, PTO_SLOT_RUN, sim->now_s);
}

/* Announces the choices that the policy has made, to all lanes that wait for one. */
static void announce(pto_sim_t *sim, pto_sim_either_t *either) {
    int member;
    pto_branch_t branch;
    bool any = false;
    while (pto_policy_next(&either->policy, &member, &branch)) {
        either->branch[1 + member] = 1 + (int)branch;
        any = true;
    }
    if (any)
        wake_waiting(sim);
}

/* Begins the policy. A policy that learns from earlier runs begins with the numbers of staged members for
 * which the plan is priced. */
static void begin(pto_sim_t *sim, const pto_walk_t *walk) {
    pto_sim_either_t *either = either_of(sim, walk);
    const pto_node_t *node = pto_plan_node(sim->plan, walk->lanes);
    const pto_staged_t *staged = &sim->plan->request.staged_members;
    either->begun = true;
    pto_policy_init(&either->policy, node->policy, (int)(node->to - node->from),
                    (int)(either == sim->either ? staged->in : staged->out));
    pto_policy_begin(&either->policy);
    announce(sim, either);
}

/* Decides for a lane of member 0 in a branch. Only the first lane that takes the branch passes stages marked
 * `once`; the other lanes wait until it has passed, and skip them. */
static pto_sim_gate_t pass_once(pto_sim_either_t *either, const pto_walk_t *walk) {
    int *first = &either->first_lane[walk->branch];
    if (*first == 0)
        *first = walk->lane;
    if (!walk->stage->once || *first == walk->lane)
        return PTO_SIM_PASSES;
    return either->once_passed[walk->branch] ? PTO_SIM_SKIPS : PTO_SIM_UNKNOWN;
}

pto_sim_gate_t pto_sim_gate(pto_sim_t *sim, uint32_t rank) {
    const pto_proc_t *proc = &sim->proc[rank];
    const pto_walk_t *walk = &proc->at->walk;
    pto_sim_either_t *either = either_of(sim, walk);
    int64_t me = member_index(sim, proc);
    if (me != 0 && me != walk->k)
        return PTO_SIM_SKIPS;
    if (!either->begun)
        begin(sim, walk);
    if (me != 0 && !either->arrived[walk->lane]) {
        either->arrived[walk->lane] = true;
        pto_policy_arrived(&either->policy, walk->lane - 1);
        announce(sim, either);
    }
    if (either->branch[walk->lane] == 0)
        return PTO_SIM_UNKNOWN;
    if (either->branch[walk->lane] != 1 + walk->branch)
        return PTO_SIM_SKIPS;
    pto_sim_gate_t gate = me == 0 ? pass_once(either, walk) : PTO_SIM_PASSES;
    sim->local[rank].in_branch = gate == PTO_SIM_PASSES;
    return gate;
}

void pto_sim_leave_branch(pto_sim_t *sim, uint32_t rank) {
    const pto_proc_t *proc = &sim->proc[rank];
    pto_walk_t ahead = proc->at->walk;
    bool branch_goes_on = pto_walk_next(&ahead) && ahead.lanes == proc->at->walk.lanes &&
                          ahead.lane == proc->at->walk.lane && ahead.branch == proc->at->walk.branch;
    pto_sim_either_t *either = either_of(sim, &proc->at->walk);
    sim->local[rank].in_branch = false;
    if (member_index(sim, proc) != 0)
        return;
    if (proc->at->walk.stage->once) {
        either->once_passed[proc->at->walk.branch] = true;
        wake_waiting(sim);
    }
    if (branch_goes_on)
        return;
    pto_policy_completed(&either->policy, (pto_branch_t)proc->at->walk.branch);
    announce(sim, either);
}
