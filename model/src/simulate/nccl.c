/* NCCL's own collectives: a meeting of all owners, and the time that price charges from when the last has
 * come.
 */
#include "price/nccl.h"
#include "simulate/simulate_internal.h"

static bool takes_part(const pto_sim_t *sim, uint32_t rank) {
    return pto_nccl_takes_core(sim->plan, rank % sim->layout->cores_per_gpu);
}

/* Start it: all leave it at one time. */
static void start(pto_sim_t *sim) {
    pto_charge_t charge;
    pto_charge_begin(&charge, "", false);
    pto_status_t status = pto_charge_nccl(&charge, sim->machine, sim->plan, sim->err);
    if (status != PTO_OK) {
        sim->status = status;
        return;
    }
    sim->in_nccl = 0;
    sim->nccl_began_s = sim->now_s;
    for (uint32_t rank = 0; rank < sim->ranks; rank++)
        if (takes_part(sim, rank))
            pto_sim_set(sim, rank, PTO_SLOT_RUN, sim->now_s + charge.other_s);
}

void pto_sim_nccl_enter(pto_sim_t *sim, uint32_t rank) {
    pto_proc_t *proc = &sim->proc[rank];
    pto_walk_leave_collective(&proc->walk);
    if (!takes_part(sim, rank))
        return;
    proc->state = PTO_PROC_NCCL;
    proc->stage_s = sim->now_s;
    if (++sim->in_nccl == (uint32_t)pto_layout_owner_count(sim->layout))
        start(sim);
}

void pto_sim_nccl_leave(pto_sim_t *sim, uint32_t rank) {
    pto_proc_t *proc = &sim->proc[rank];
    proc->local_waiting_s += sim->nccl_began_s - proc->stage_s;
    proc->local_busy_s += sim->now_s - sim->nccl_began_s;
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
