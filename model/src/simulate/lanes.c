/* Lanes of a rank in the simulator. Each lane passes through its own stages; it starts one when the lanes
 * that the stage waits for have come far enough. A rank's lanes share its sending and its receiving side,
 * each copy direction of its GPU, and its CPU: each serves one lane at a time. */
#include "simulate/simulate_internal.h"

/* The same rank's process in another lane. */
static uint32_t in_lane(const pto_sim_t *sim, uint32_t rank, uint32_t lane) {
    return rank % sim->ranks + lane * sim->ranks;
}

static bool has_ended(const pto_sim_t *sim, uint32_t rank, uint32_t lane, int64_t instance) {
    const pto_proc_t *proc = &sim->proc[in_lane(sim, rank, lane)];
    return proc->state == PTO_PROC_ENDED || proc->walk.instance > instance;
}

bool pto_sim_may_start(const pto_sim_t *sim, uint32_t rank) {
    const pto_proc_t *proc = &sim->proc[rank];
    pto_walk_after_t after = pto_walk_after(&proc->walk);
    for (uint32_t lane = 0; lane < sim->lanes; lane++)
        if (lane != proc->lane && !has_ended(sim, rank, lane, after.fork - 1))
            return false;
    if (after.chunk >= 0 && !has_ended(sim, rank, proc->lane - 1, after.chunk))
        return false;
    return after.slot < 0 ||
           has_ended(sim, rank, (uint32_t)pto_node_lane_count(sim->plan, proc->walk.lanes) - 1, after.slot);
}

bool pto_sim_is_later_chunk(const pto_sim_t *sim, const pto_proc_t *proc) {
    const pto_node_t *node = proc->walk.lanes < 0 ? NULL : pto_plan_node(sim->plan, proc->walk.lanes);
    return node && node->kind == PTO_NODE_PIPELINE && proc->walk.k > node->from;
}

bool pto_sim_next_stage(pto_sim_t *sim, uint32_t rank) {
    pto_proc_t *proc = &sim->proc[rank];
    while (pto_walk_next(&proc->walk)) {
        if (proc->walk.lane == (int)proc->lane)
            return true;
        if (pto_walk_in_nccl(&proc->walk))
            pto_walk_leave_collective(&proc->walk);
    }
    return false;
}

void pto_sim_wake_lanes(pto_sim_t *sim, uint32_t rank, pto_proc_state_t state) {
    for (uint32_t lane = 0; lane < sim->lanes && sim->lanes > 1; lane++) {
        uint32_t other = in_lane(sim, rank, lane);
        if (other != rank && sim->proc[other].state == state)
            pto_sim_set(sim, other, PTO_SLOT_RUN, sim->now_s);
    }
}

/* --- what lanes share ----------------------------------------------------------------------------------- */

/* Whether `other` has what this one wants, or has waited for it longer; of two equals, the later lane is the
 * one with the older chunk. */
static bool comes_before(const pto_proc_t *other, const pto_proc_t *proc) {
    if (other == proc || other->holds == proc->wants)
        return other != proc;
    return other->wants == proc->wants &&
           (other->wants_s < proc->wants_s || (other->wants_s == proc->wants_s && other->lane > proc->lane));
}

bool pto_sim_take_resource(pto_sim_t *sim, uint32_t rank, pto_lane_resource_t resource) {
    pto_proc_t *proc = &sim->proc[rank];
    if (!proc->wants)
        proc->wants_s = sim->now_s;
    proc->wants = (int)resource + 1;
    for (uint32_t lane = 0; lane < sim->lanes; lane++)
        if (comes_before(&sim->proc[in_lane(sim, rank, lane)], proc))
            return false;
    proc->holds = proc->wants;
    proc->wants = 0;
    return true;
}

void pto_sim_give_resource(pto_sim_t *sim, uint32_t rank) {
    sim->proc[rank].holds = 0;
    pto_sim_wake_lanes(sim, rank, PTO_PROC_RESOURCE);
}

uint32_t pto_sim_other_lane(const pto_sim_t *sim, uint32_t rank, uint32_t further) {
    return in_lane(sim, rank, (sim->proc[rank].lane + further) % sim->lanes);
}

bool pto_sim_side_is_busy(const pto_sim_t *sim, uint32_t rank, bool sends) {
    for (uint32_t i = 0; i < sim->lanes; i++) {
        const pto_proc_t *proc = &sim->proc[pto_sim_other_lane(sim, rank, i)];
        if (sends ? proc->out.message : proc->in.message)
            return true;
    }
    return false;
}
