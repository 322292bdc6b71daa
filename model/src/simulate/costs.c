/* The cost of one message, copy, reduction or wait, computed by price's own functions, so that a new term of
 * the model applies to both. */
#include <math.h>
#include <string.h>

#include "price/copies.h"
#include "simulate/simulate_internal.h"

pto_level_t pto_sim_level(const pto_sim_t *sim, const pto_proc_t *a, const pto_proc_t *b) {
    if (a->node != b->node)
        return PTO_LEVEL_OFF_NODE;
    if (a->gpu == b->gpu)
        return PTO_LEVEL_ON_GPU;
    int64_t first = (int64_t)a->node * sim->layout->gpus_per_node;
    bool same_socket =
        (a->gpu - first) / sim->layout->gpus_per_socket == (b->gpu - first) / sim->layout->gpus_per_socket;
    return same_socket ? PTO_LEVEL_ON_SOCKET : PTO_LEVEL_ON_NODE;
}

pto_status_t pto_sim_message_cost(const pto_sim_t *sim, const pto_proc_t *proc, const pto_side_t *side,
                                  const pto_message_t *message, pto_sim_cost_t *cost) {
    pto_charge_t charge;
    pto_charge_begin(&charge, "", NULL);
    charge.at_once = proc->walk.stage->order == PTO_ORDER_AT_ONCE;
    memcpy(charge.moved, side->moved, sizeof charge.moved);
    pto_status_t status = pto_charge_messages(&charge, sim->machine, (pto_space_t)message->space,
                                              (pto_level_t)message->level, message->bytes, 1, sim->err);
    pto_charge_message_rows(&charge, sim->machine, (pto_space_t)message->space,
                            pto_step_rows(sim->plan, pto_plan_step(sim->plan, (int)message->step)));
    cost->alpha_s = charge.alpha.s + charge.other.s;
    cost->alone_s = charge.on_node.s + charge.off_node.s;
    cost->bytes_s = cost->alone_s + (proc->walk.lanes < 0 ? 0 : pto_charge_staged(&charge, sim->machine).s);
    return status;
}

/* What a message costs that nothing else delays; INFINITY where the machine has no such messages. */
static double alone_s(const pto_sim_t *sim, pto_space_t space, pto_level_t level, int64_t bytes) {
    const pto_cost_row_t *row = pto_machine_message(sim->machine, space, level, bytes);
    return row ? row->postal.alpha_s.value + row->postal.beta_s_per_byte.value * (double)bytes : INFINITY;
}

pto_space_t pto_sim_message_space(const pto_sim_t *sim, const pto_proc_t *proc, pto_level_t level,
                                  int64_t bytes) {
    const pto_stage_t *stage = proc->walk.stage;
    pto_space_t space = pto_plan_buffer(sim->plan, proc->send.step->source.buffer)->space, other = space;
    for (int i = 0; i < stage->step_count; i++) {
        const pto_step_t *step = pto_plan_step(sim->plan, stage->step_first + i);
        if (step->kind == PTO_STEP_RECV)
            other = pto_plan_buffer(sim->plan, step->target.buffer)->space;
    }
    bool costs_more = other != space && alone_s(sim, other, level, bytes) > alone_s(sim, space, level, bytes);
    return costs_more ? other : space;
}

bool pto_sim_is_held_back(const pto_sim_t *sim, pto_space_t space, pto_level_t level, int64_t bytes) {
    const pto_cost_row_t *row = pto_machine_message(sim->machine, space, level, bytes);
    return row && row->protocol == PTO_PROTOCOL_RENDEZVOUS;
}

/* Price's limit on a node's sends, which grows in proportion to the bytes. */
static double limit_s(const pto_sim_t *sim, const pto_step_t *step, double messages, double bytes_each) {
    pto_outflow_t outflow = {0};
    pto_charge_t charge;
    pto_charge_begin(&charge, "", NULL);
    charge.moved[PTO_LEVEL_OFF_NODE] = true;
    pto_outflow_add(&outflow, sim->plan, step, messages, bytes_each);
    return pto_charge_time(&charge, sim->machine, &outflow).s;
}

double pto_sim_injection_s_per_byte(const pto_sim_t *sim, const pto_step_t *step) {
    return limit_s(sim, step, 1, 1) - limit_s(sim, step, 1, 0);
}

double pto_sim_rate_s(const pto_sim_t *sim, const pto_step_t *step) { return limit_s(sim, step, 1, 0); }

/* Uses injection's limit, since no machine file distinguishes the two. Contention for receivers is not added,
 * because the simulation models it directly. */
double pto_sim_ejection_s_per_byte(const pto_sim_t *sim, pto_space_t space) {
    const pto_param_t *limit = &sim->machine->injection_s_per_byte[space];
    return pto_param_known(limit) ? limit->value : 0;
}

static pto_status_t charge_copy(const pto_sim_t *sim, const pto_proc_t *proc, int64_t engine_bytes,
                                pto_charge_t *charge) {
    pto_remote_access_t access = {proc->copy_how, proc->copy_reach, proc->copy_most_bytes, engine_bytes};
    if (proc->copy_in_kernel)
        return pto_charge_remote(charge, sim->machine, access, sim->err);
    if (proc->copy_between_gpus)
        return pto_charge_peer_copy(charge, sim->machine, proc->copy_reach, proc->behind, proc->copy_bytes,
                                    engine_bytes, sim->err);
    pto_charge_rows(charge, sim->machine, proc->copy_kind, proc->copy_rows);
    return pto_charge_one_copy(charge, sim->machine,
                               (pto_one_copy_t){.kind = proc->copy_kind,
                                                .reach = proc->copy_reach,
                                                .pageable = proc->copy_pageable,
                                                .behind = proc->behind,
                                                .own_bytes = proc->copy_bytes,
                                                .engine_bytes = engine_bytes},
                               sim->err);
}

double pto_sim_copy_s(pto_sim_t *sim, const pto_proc_t *proc, int64_t engine_bytes) {
    pto_charge_t charge;
    pto_charge_begin(&charge, "", NULL);
    pto_status_t status = charge_copy(sim, proc, engine_bytes, &charge);
    if (status != PTO_OK)
        sim->status = status;
    return charge.other.s;
}

bool pto_sim_copy_is_queued(const pto_sim_t *sim, pto_copy_kind_t kind) {
    return pto_copy_is_queued(sim->machine, kind);
}

static pto_queued_copy_t queued_copy(const pto_proc_t *proc) {
    return (pto_queued_copy_t){.kind = proc->copy_kind,
                               .strided = proc->copy_strided,
                               .pageable = proc->copy_pageable,
                               .bytes = proc->copy_bytes,
                               .piece_bytes = proc->copy_bytes / proc->copy_pieces,
                               .reach = proc->copy_reach,
                               .behind = proc->behind};
}

double pto_sim_queued_copy_s(const pto_sim_t *sim, const pto_proc_t *proc, int64_t waiting) {
    pto_charge_t charge;
    pto_charge_begin(&charge, "", NULL);
    pto_charge_queued(&charge, sim->machine, queued_copy(proc), waiting);
    pto_charge_rows(&charge, sim->machine, proc->copy_kind, proc->copy_rows);
    return charge.other.s;
}

pto_copy_resource_t pto_sim_copy_resource(const pto_sim_t *sim, const pto_proc_t *proc) {
    return pto_copy_resource(sim->machine, queued_copy(proc));
}

double pto_sim_copy_hold_s(const pto_sim_t *sim, const pto_proc_t *proc) {
    return pto_copy_hold(sim->machine, queued_copy(proc)).s;
}

double pto_sim_queueing_s(const pto_sim_t *sim, pto_copy_kind_t kind) {
    pto_charge_t charge;
    pto_charge_begin(&charge, "", NULL);
    pto_charge_queueing(&charge, sim->machine, kind);
    return charge.other.s;
}

double pto_sim_reduce_s(const pto_sim_t *sim, const pto_action_t *action) {
    pto_charge_t charge;
    pto_charge_begin(&charge, "", NULL);
    pto_reduction_charge_one(sim->plan, sim->machine, action, &charge);
    return charge.other.s;
}

double pto_sim_kernel_bytes_s(const pto_sim_t *sim, int64_t bytes) {
    pto_charge_t charge;
    pto_charge_begin(&charge, "", NULL);
    pto_charge_kernel_bytes(&charge, sim->machine, bytes);
    return charge.other.s;
}

double pto_sim_launch_s(const pto_sim_t *sim) {
    pto_charge_t charge;
    pto_charge_begin(&charge, "", NULL);
    pto_charge_launch(&charge, sim->machine);
    return charge.other.s;
}

double pto_sim_signal_s(const pto_sim_t *sim, const pto_step_t *step) {
    pto_charge_t charge;
    pto_charge_begin(&charge, "", NULL);
    pto_charge_wait(&charge, sim->machine, step);
    return charge.other.s;
}
