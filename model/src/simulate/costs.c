/* Computes the cost of one message, copy, reduction or wait by the functions that prices use, so that a new
 * term of the model applies to prices and simulations alike. */
#include <math.h>

#include "price/copies.h"
#include "simulate/simulate_internal.h"

pto_level_t pto_sim_level_within(const pto_sim_t *sim, const pto_proc_t *proc, int64_t peer_rank) {
    int64_t own_gpu = pto_sim_gpu(sim, proc->rank), gpu = pto_sim_gpu(sim, peer_rank);
    if (gpu == own_gpu)
        return PTO_LEVEL_ON_GPU;
    int64_t first = (int64_t)proc->node * sim->layout->gpus_per_node;
    bool same_socket =
        (own_gpu - first) / sim->layout->gpus_per_socket == (gpu - first) / sim->layout->gpus_per_socket;
    return same_socket ? PTO_LEVEL_ON_SOCKET : PTO_LEVEL_ON_NODE;
}

/* What the cost of a message at one of its ends depends on. */
typedef struct {
    int64_t bytes;
    uint32_t step;
    pto_level_t level;
    uint8_t moved; /* see pto_side_t */
} cost_key_t;

/* The time of a message alone on the link of its sender's (`sends`) or receiver's node. */
static double link_s(const pto_sim_t *sim, const cost_key_t *key, pto_space_t space, bool sends) {
    double s_per_byte = sends ? sim->view[key->step].injection_s_per_byte : sim->ejection_s_per_byte[space];
    return key->level == PTO_LEVEL_OFF_NODE ? (double)key->bytes * s_per_byte : 0;
}

static pto_sim_cost_t cost_of(pto_sim_t *sim, const pto_passage_t *passage, const cost_key_t *key,
                              pto_space_t space) {
    pto_charge_t charge = {.stage = ""};
    charge.at_once = passage->walk.stage->order == PTO_ORDER_AT_ONCE;
    pto_charge_mixed(&charge, sim->plan);
    for (int level = 0; level < PTO_LEVEL_COUNT; level++)
        charge.moved[level] = key->moved & 1u << level;
    pto_status_t status =
        pto_charge_messages(&charge, sim->machine, space, key->level, key->bytes, 1, sim->err);
    pto_charge_message_rows(&charge, sim->machine, space,
                            pto_step_rows(sim->plan, pto_plan_step(sim->plan, (int)key->step)));
    if (status != PTO_OK)
        sim->status = status;
    pto_sim_cost_t cost = {.alpha_s = charge.alpha.s + charge.other.s,
                           .alone_s = charge.on_node.s + charge.off_node.s,
                           .link_s = {link_s(sim, key, space, false), link_s(sim, key, space, true)}};
    cost.bytes_s = cost.alone_s + (passage->walk.lanes >= 0 ? pto_charge_staged(&charge, sim->machine).s : 0);
    return cost;
}

/* The cost of a message that is not delayed; INFINITY where the machine has no such messages. */
static double alone_s(const pto_sim_t *sim, pto_space_t space, pto_level_t level, int64_t bytes) {
    const pto_cost_row_t *row = pto_machine_message(sim->machine, space, level, bytes);
    return row ? row->postal.alpha_s.value + row->postal.beta_s_per_byte.value * (double)bytes : INFINITY;
}

/* Returns the space of a message; if its ends are in two, the more expensive one, as in price. */
static pto_space_t space_of(const pto_sim_t *sim, const pto_stage_t *stage, const cost_key_t *key) {
    const pto_step_t *sends = pto_plan_step(sim->plan, (int)key->step);
    pto_level_t level = key->level;
    pto_space_t space = pto_plan_buffer(sim->plan, sends->source.buffer)->space, other = space;
    for (int i = 0; i < stage->step_count; i++) {
        const pto_step_t *step = pto_plan_step(sim->plan, stage->step_first + i);
        if (step->kind == PTO_STEP_RECV)
            other = pto_plan_buffer(sim->plan, step->target.buffer)->space;
    }
    bool costs_more =
        other != space && alone_s(sim, other, level, key->bytes) > alone_s(sim, space, level, key->bytes);
    return costs_more ? other : space;
}

void pto_sim_compute_cost(pto_sim_t *sim, const pto_passage_t *passage, uint8_t moved, uint32_t step,
                          pto_level_t level, int64_t bytes, pto_known_cost_t *place) {
    cost_key_t key = {.bytes = bytes, .step = step, .level = level, .moved = moved};
    pto_space_t space = space_of(sim, passage->walk.stage, &key);
    const pto_cost_row_t *row = pto_machine_message(sim->machine, space, level, bytes);
    *place = (pto_known_cost_t){.bytes = bytes,
                                .rest = pto_cost_rest(passage, moved, step, level),
                                .space = space,
                                .held_back = row && row->protocol == PTO_PROTOCOL_RENDEZVOUS,
                                .cost = cost_of(sim, passage, &key, space)};
}

/* Returns price's limit on a node that sends one message, which is linear in its bytes. Contention for
 * receivers is left out, since it is simulated. */
static double limit_s(const pto_sim_t *sim, const pto_step_t *step, double bytes) {
    pto_outflow_t outflow = {0};
    pto_charge_t charge = {.stage = ""};
    charge.moved[PTO_LEVEL_OFF_NODE] = true;
    pto_outflow_add_sum(&outflow, pto_plan_buffer(sim->plan, step->source.buffer)->space, step->peers.kind,
                        false, pto_plan_request(sim->plan)->layout.nodes, 1, bytes);
    return pto_charge_time(&charge, sim->machine, &outflow).s;
}

double pto_sim_injection_s_per_byte(const pto_sim_t *sim, const pto_step_t *step) {
    return limit_s(sim, step, 1) - limit_s(sim, step, 0);
}

double pto_sim_rate_s(const pto_sim_t *sim, const pto_step_t *step) { return limit_s(sim, step, 0); }

/* The limit of injection, since machine files do not distinguish the two. */
double pto_sim_ejection_s_per_byte(const pto_machine_t *machine, pto_space_t space) {
    const pto_param_t *limit = &machine->injection_s_per_byte[space];
    return pto_param_known(limit) ? limit->value : 0;
}

/* Returns the minimum time per byte of a message alone, over the spaces and sizes of the machine. */
static double least_s_per_byte(const pto_machine_t *machine) {
    double least = INFINITY;
    for (int space = 0; space < PTO_SPACE_COUNT; space++) {
        const pto_cost_table_t *tables[] = {&machine->messages[space][PTO_LEVEL_OFF_NODE],
                                            pto_machine_gap(machine, (pto_space_t)space, PTO_LEVEL_OFF_NODE)};
        for (int t = 0; t < 2; t++)
            for (int i = 0; tables[t] && i < tables[t]->count; i++)
                least = fmin(least, tables[t]->row[i].postal.beta_s_per_byte.value);
    }
    return least;
}

bool pto_sim_is_limited(const pto_sim_t *sim, pto_link_kind_t kind) {
    if (kind != PTO_LINK_INJECTION && kind != PTO_LINK_EJECTION)
        return true;
    double s_per_byte = 0;
    for (int i = 0; i < sim->plan->steps.count; i++)
        s_per_byte = fmax(s_per_byte, sim->view[i].injection_s_per_byte);
    for (int space = 0; space < PTO_SPACE_COUNT && kind == PTO_LINK_EJECTION; space++)
        s_per_byte = fmax(s_per_byte, sim->ejection_s_per_byte[space]);
    double together = s_per_byte * (double)sim->ranks_per_node * (1 + 1e-9); /* more than rounding */
    return together > least_s_per_byte(sim->machine);
}

pto_one_copy_t pto_sim_one_copy(const pto_local_t *local) {
    return (pto_one_copy_t){.kind = local->copy.kind,
                            .strided = local->copy.strided,
                            .pageable = local->copy.pageable,
                            .bytes = local->copy.bytes,
                            .piece_bytes = local->copy.bytes / local->copy.pieces,
                            .reach = local->copy.reach,
                            .behind = local->behind};
}

static pto_status_t charge_copy(const pto_sim_t *sim, const pto_local_t *local, int64_t engine_bytes,
                                pto_charge_t *charge) {
    pto_remote_access_t access = {local->copy.how, local->copy.reach, local->copy.most_bytes, engine_bytes};
    if (local->copy.in_kernel)
        return pto_charge_remote(charge, sim->machine, access, sim->err);
    if (local->copy.between_gpus)
        return pto_charge_peer_copy(charge, sim->machine, local->copy.reach, local->behind, local->copy.bytes,
                                    engine_bytes, sim->err);
    pto_charge_rows(charge, sim->machine, local->copy.kind, local->copy.rows);
    return pto_charge_one_copy(charge, sim->machine, pto_sim_one_copy(local), engine_bytes, sim->err);
}

/* Returns a cache key of all that charge_copy depends on but bytes. Bit 63 makes it different from all keys
 * of pto_sim_step_key, in the same cache. */
static uint64_t copy_key(const pto_local_t *local) {
    const pto_sim_copy_t *copy = &local->copy;
    unsigned flags = (unsigned)copy->between_gpus << 1 | copy->pageable;
    unsigned kinds = (unsigned)copy->kind << 8 | (unsigned)copy->reach << 4 | (unsigned)local->behind;
    return UINT64_C(1) << 63 | (uint64_t)copy->rows << 16 | kinds << 2 | flags;
}

double pto_sim_copy_s(pto_sim_t *sim, const pto_local_t *local, int64_t engine_bytes) {
    pto_known_copy_t *known = pto_sim_known_copy(sim, local->copy.bytes, engine_bytes, copy_key(local));
    if (known->is_known && !local->copy.in_kernel)
        return known->copy.alone_s;
    pto_charge_t charge = {.stage = ""};
    pto_status_t status = charge_copy(sim, local, engine_bytes, &charge);
    if (status != PTO_OK)
        sim->status = status;
    known->is_known = !local->copy.in_kernel;
    known->copy.alone_s = charge.other.s;
    return charge.other.s;
}

double pto_sim_queued_copy_s(const pto_sim_t *sim, const pto_local_t *local, int64_t waiting) {
    pto_charge_t charge = {.stage = ""};
    pto_charge_queued(&charge, sim->machine, pto_sim_one_copy(local), waiting);
    pto_charge_rows(&charge, sim->machine, local->copy.kind, local->copy.rows);
    return charge.other.s;
}

double pto_sim_queueing_s(const pto_sim_t *sim, pto_copy_kind_t kind) {
    pto_charge_t charge = {.stage = ""};
    pto_charge_queueing(&charge, sim->machine, kind);
    return charge.other.s;
}

double pto_sim_reduce_s(pto_sim_t *sim, const pto_step_t *step, int64_t source_bytes, int64_t target_bytes) {
    pto_known_copy_t *known = pto_sim_known_copy(sim, source_bytes, target_bytes,
                                                 pto_sim_step_key(sim, step, 0, PTO_BEHIND_NOTHING));
    if (!known->is_known) {
        pto_charge_t charge = {.stage = ""};
        pto_step_charge_reduce(sim->plan, sim->machine, step, target_bytes, source_bytes, &charge);
        known->copy.alone_s = charge.other.s;
        known->is_known = true;
    }
    return known->copy.alone_s;
}

double pto_sim_kernel_bytes_s(const pto_sim_t *sim, int64_t bytes) {
    pto_charge_t charge = {.stage = ""};
    pto_charge_kernel_bytes(&charge, sim->machine, bytes);
    return charge.other.s;
}

double pto_sim_launch_s(const pto_sim_t *sim) {
    pto_charge_t charge = {.stage = ""};
    if (sim->lines)
        pto_charge_run_by_lines(&charge, sim->machine, sim->plan, sim->lines);
    else
        pto_charge_launch(&charge, sim->machine);
    return charge.other.s;
}

double pto_sim_signal_s(const pto_sim_t *sim, const pto_step_t *step) {
    if (sim->lines) /* the data carry the flags */
        return 0;
    pto_charge_t charge = {.stage = ""};
    pto_charge_wait(&charge, sim->machine, step);
    return charge.other.s;
}
