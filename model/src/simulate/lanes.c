/* The lanes of a rank: parallel branches of a plan, and stages of a pipeline, which it works on at the same
 * time. Each lane is simulated as a process of its own. It begins a stage when the other lanes have ended the
 * stages that it waits for (pto_walk_after_t). A rank's lanes, of one plan or of several plans, share its
 * sending and its receiving side, each copy direction of its GPU, and its CPU: each of these serves one lane
 * at a time. */
#include "simulate/simulate_internal.h"

bool pto_sim_may_start(const pto_sim_t *sim, uint32_t rank) {
    const pto_proc_t *proc = &sim->proc[rank];
    const pto_walk_after_t *after = &proc->at->after;
    const uint32_t *reached = &sim->reached[proc->rank * sim->lanes];
    for (uint32_t lane = 0; lane < sim->lanes; lane++) /* all that comes before the lanes has ended */
        if (reached[lane] <= after->fork)
            return false;
    if (after->chunk >= 0 &&
        reached[proc->lane - 1] <= after->chunk + 1) /* the stage before, in this chunk */
        return false;
    if (after->slot < 0)
        return true;
    const int last_lane = pto_node_lane_count(sim->plan, proc->at->walk.lanes) - 1;
    return reached[last_lane] > after->slot + 1; /* the chunk whose buffer is reused */
}

bool pto_sim_is_later_chunk(const pto_sim_t *sim, const pto_proc_t *proc) {
    const pto_node_t *node = proc->at->walk.lanes < 0 ? NULL : pto_plan_node(sim->plan, proc->at->walk.lanes);
    return node && node->kind == PTO_NODE_PIPELINE && proc->at->walk.k > node->from;
}

void pto_sim_wake_lanes(pto_sim_t *sim, uint32_t rank, pto_proc_state_t state) {
    pto_lane_set_t set = state == PTO_PROC_LANE ? PTO_LANES_WAIT : PTO_LANES_QUEUE;
    bool exact = sim->all->lanes <= 64; /* no other lanes share a bit: their states need not be read */
    pto_sim_lane_t other;
    for (uint32_t i = 1; sim->all->lanes > 1 && pto_sim_next_lane(sim, rank, set, &i, &other);)
        if ((exact || other.sim->proc[other.rank].state == state) &&
            &other.sim->proc[other.rank] != &sim->proc[rank])
            pto_sim_set(other.sim, other.rank, PTO_SLOT_RUN, sim->now_s);
}

/* Returns whether another lane of the rank has the resource that this one wants, or gets it first. It gets it
 * first if it has waited longer or, of lanes that have waited as long, if it is the later one, which works on
 * the older chunk. */
static bool has_precedence(pto_sim_lane_t other, const pto_sim_t *sim, uint32_t rank) {
    const pto_local_t *theirs = &other.sim->local[other.rank], *own = &sim->local[rank];
    if (theirs->holds == own->wants)
        return true;
    bool later = other.sim->proc[other.rank].lane > sim->proc[rank].lane;
    return theirs->wants == own->wants &&
           (theirs->wants_s < own->wants_s || (theirs->wants_s == own->wants_s && later));
}

bool pto_sim_take_resource(pto_sim_t *sim, uint32_t rank, pto_lane_resource_t resource) {
    pto_local_t *local = &sim->local[rank];
    if (!local->wants)
        local->wants_s = sim->now_s;
    local->wants = (uint8_t)(resource + 1);
    pto_sim_put_lane(sim, &sim->proc[rank], PTO_LANES_USE, true);
    pto_sim_lane_t other;
    for (uint32_t i = 1; pto_sim_next_lane(sim, rank, PTO_LANES_USE, &i, &other);)
        if (&other.sim->local[other.rank] != local && has_precedence(other, sim, rank))
            return false;
    local->holds = local->wants;
    local->wants = 0;
    return true;
}

void pto_sim_give_resource(pto_sim_t *sim, uint32_t rank) {
    sim->local[rank].holds = 0;
    pto_sim_put_lane(sim, &sim->proc[rank], PTO_LANES_USE, false);
    pto_sim_wake_lanes(sim, rank, PTO_PROC_RESOURCE);
}

_Thread_local int64_t pto_lanes_found;

pto_sim_lane_t pto_sim_lane_at(const pto_sim_t *sim, int64_t job_rank, uint32_t lane) {
    const pto_sims_t *all = sim->all;
    int call = all->calls - 1;
    pto_lanes_found++;
    if (!all->owner)
        return (pto_sim_lane_t){all->sim, (uint32_t)job_rank + lane * sim->ranks};
    while (all->first_lane[call] > lane)
        call--;
    uint32_t rank = all->member[(int64_t)call * all->ranks + job_rank];
    pto_sim_t *owner = pto_sim_owner(sim, &rank);
    return (pto_sim_lane_t){owner, rank + (lane - all->first_lane[call]) * owner->ranks};
}
