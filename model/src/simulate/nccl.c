/* NCCL's own collectives, which start when the last member has arrived. All members leave at the same time,
 * after the time that price charges. */
#include "price/nccl.h"
#include "simulate/simulate_internal.h"

/* Starts the collective. Sets the time when all members leave it. */
static void start(pto_sim_t *sim, const pto_node_t *node) {
    pto_charge_t charge;
    pto_charge_begin(&charge, "", NULL);
    pto_extrapolation_t extrapolated;
    pto_status_t status =
        pto_charge_nccl(&charge, sim->machine, sim->plan, node, NULL, &extrapolated, sim->err);
    if (status != PTO_OK) {
        sim->status = status;
        return;
    }
    sim->in_nccl = 0;
    sim->nccl_began_s = sim->now_s;
    for (uint32_t rank = 0; rank < sim->ranks; rank++)
        if (pto_collective_member(sim->plan, node, rank) >= 0)
            pto_sim_set(sim, rank, PTO_SLOT_RUN, sim->now_s + charge.other.s);
}

void pto_sim_nccl_enter(pto_sim_t *sim, uint32_t rank) {
    pto_proc_t *proc = &sim->proc[rank];
    const pto_node_t *node = pto_plan_node(sim->plan, proc->at->walk.collective);
    if (pto_collective_member(sim->plan, node, rank) < 0)
        return;
    proc->state = PTO_PROC_NCCL;
    proc->stage_s = sim->now_s;
    if (++sim->in_nccl == (uint32_t)pto_plan_group(sim->plan, node->group)->size)
        start(sim, node);
}

void pto_sim_nccl_leave(pto_sim_t *sim, uint32_t rank) {
    pto_proc_t *proc = &sim->proc[rank];
    sim->local[rank].waiting_s += sim->nccl_began_s - proc->stage_s;
    sim->hot[rank].busy_s += sim->now_s - sim->nccl_began_s;
    proc->state = PTO_PROC_BETWEEN;
    if (!sim->options->visit || sim->now_s <= sim->nccl_began_s)
        return;
    pto_span_t span = {.resource = PTO_RESOURCE_LOCAL,
                       .node = proc->node,
                       .index = rank,
                       .name = pto_nccl_stage,
                       .peer_rank = -1,
                       .start_s = sim->nccl_began_s,
                       .end_s = sim->now_s};
    sim->options->visit(sim->options->context, &span);
}
