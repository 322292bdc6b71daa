/* simulate: all ranks of a plan, each passing through its stages independently (portolan/simulate.h).
 *
 * In a stage a rank first raises its flags if the steps run at once, then moves its messages, then does its
 * local steps one after another. Each rank has three slots (its local work, its sending and its receiving
 * side), with at most one outstanding event each. */
#include "portolan/simulate.h"

#include <stdlib.h>
#include <string.h>

#include "portolan/strategy.h"
#include "simulate/simulate_internal.h"
#include "simulate/size.h"

/* --- signals -------------------------------------------------------------------------------------------- */

/* The counter of pending signals from `from` to `to`. */
static int32_t *raised(const pto_sim_t *sim, int flag, int64_t from, int64_t to) {
    size_t row = (size_t)flag * sim->ranks + (size_t)to;
    return &sim->raised[row * sim->ranks_per_node + (size_t)sim->proc[from].place_in_node];
}

static bool all_raised(const pto_sim_t *sim, pto_action_t *action) {
    int64_t peers = pto_step_peer_count(sim->plan, action);
    for (int64_t j = 0; j < peers; j++)
        if (pto_step_peer(sim->plan, j, action) &&
            *raised(sim, action->step->flag, action->peer_rank, action->rank) == 0)
            return false;
    return true;
}

static void take_raised(const pto_sim_t *sim, pto_action_t *action) {
    int64_t peers = pto_step_peer_count(sim->plan, action);
    for (int64_t j = 0; j < peers; j++)
        if (pto_step_peer(sim->plan, j, action))
            --*raised(sim, action->step->flag, action->peer_rank, action->rank);
}

/* Raise a flag for every peer; waiting peers check again. */
static void raise_flags(pto_sim_t *sim, pto_action_t *action) {
    int64_t peers = pto_step_peer_count(sim->plan, action);
    for (int64_t j = 0; j < peers && sim->status == PTO_OK; j++) {
        if (!pto_step_peer(sim->plan, j, action))
            continue;
        uint32_t to = (uint32_t)pto_sim_stand_in(sim, action->peer_rank);
        if (pto_sim_node(sim, action->peer_rank) != sim->proc[action->rank].node) {
            pto_sim_fail(sim, PTO_ERR_INVALID_PLAN, to, "is signalled from another node");
            return;
        }
        ++*raised(sim, action->step->flag, action->rank, to);
        for (uint32_t lane = 0; lane < sim->lanes; lane++)
            if (sim->proc[to + lane * sim->ranks].state == PTO_PROC_FLAGS)
                pto_sim_set(sim, to + lane * sim->ranks, PTO_SLOT_RUN, sim->now_s);
    }
}

/* --- local steps ---------------------------------------------------------------------------------------- */

/* The local step of a rank at `position`. In a sequence these are all steps, in order. If steps run at once,
 * signals have already been raised, and waits come last. NULL: the step is not due now. */
static const pto_step_t *local_step(const pto_sim_t *sim, const pto_stage_t *stage, int position) {
    const pto_step_t *step = pto_plan_step(sim->plan, stage->step_first + position % stage->step_count);
    if (pto_step_is_message(step))
        return NULL;
    if (stage->order == PTO_ORDER_SEQUENCE)
        return position < stage->step_count ? step : NULL;
    bool last = step->kind == PTO_STEP_WAIT;
    return step->kind != PTO_STEP_SIGNAL && last == (position >= stage->step_count) ? step : NULL;
}

/* Spend `seconds` of the rank's own time; false if that is none. */
static bool spend(pto_sim_t *sim, uint32_t rank, double seconds) {
    if (seconds <= 0)
        return false;
    pto_sim_set(sim, rank, PTO_SLOT_RUN, sim->now_s + seconds);
    return true;
}

/* Take what the step uses of its rank; false, and wait for it, if another lane does. */
static bool begin_use(pto_sim_t *sim, uint32_t rank, const pto_step_t *step) {
    if (sim->all->lanes == 1 || pto_sim_take_resource(sim, rank, pto_lane_resource(sim->plan, step)))
        return true;
    sim->proc[rank].state = PTO_PROC_RESOURCE;
    return false;
}

/* Begin a reduction, with the current peer; by the CPU it also occupies the memory of its socket. */
static bool reduce(pto_sim_t *sim, uint32_t rank, const pto_action_t *action) {
    const pto_step_t *step = action->step;
    double seconds = pto_sim_reduce_s(sim, action);
    if (seconds <= 0)
        return false;
    if (!begin_use(sim, rank, step))
        return true;
    if (sim->shared_links.memory_s_per_byte) {
        int64_t bytes =
            pto_reduction_traffic(sim->machine, step, pto_slice_bytes(sim->plan, &step->source, action),
                                  pto_slice_bytes(sim->plan, &step->target, action));
        pto_path_t path = pto_reduction_path(&sim->shared_links, sim->plan, step, action->rank);
        sim->local[rank].copy_flows +=
            pto_flow_begin(sim, PTO_LINK_ROUTES, PTO_FLOW_COPY, rank, path, bytes, seconds);
    }
    return spend(sim, rank, seconds);
}

/* As price's: outside lanes and the library's collectives. */
static bool may_stream(const pto_sim_t *sim, const pto_proc_t *proc) {
    const pto_walk_t *walk = &proc->at->walk;
    return walk->lanes < 0 &&
           (walk->collective < 0 || pto_plan_node(sim->plan, walk->collective)->by != PTO_DONE_BY_LIBRARY);
}

/* Begin a step; false if it took no time, so that the rank continues. */
static bool begin_local(pto_sim_t *sim, uint32_t rank, pto_action_t *action) {
    pto_proc_t *proc = &sim->proc[rank];
    pto_local_t *local = &sim->local[rank];
    const pto_step_t *step = action->step;
    bool streams = may_stream(sim, proc) && pto_step_streams(sim->plan, step);
    int64_t bytes;
    if (!streams)
        local->streams = false;
    switch (step->kind) {
    case PTO_STEP_LAUNCH:
        return spend(sim, rank, pto_sim_launch_s(sim));
    case PTO_STEP_COPY:
        if (step->in_kernel)
            return pto_engine_join_kernel(sim, action);
        bytes = pto_copy_bytes(sim->plan, action);
        if (bytes > 0 && proc->at->walk.lanes < 0) {
            local->behind = streams && local->streams ? PTO_BEHIND_COPY : PTO_BEHIND_NOTHING;
            local->streams = streams;
        }
        if (bytes > 0 && begin_use(sim, rank, step))
            pto_engine_join(sim, rank, action, bytes);
        return bytes > 0;
    case PTO_STEP_REDUCE:
        return reduce(sim, rank, action);
    case PTO_STEP_SIGNAL:
        raise_flags(sim, action);
        return false;
    case PTO_STEP_WAIT:
        if (!all_raised(sim, action)) {
            proc->state = PTO_PROC_FLAGS;
            return true;
        }
        take_raised(sim, action);
        proc->state = PTO_PROC_LOCAL;
        return spend(sim, rank, pto_sim_signal_s(sim, step));
    case PTO_STEP_SEND:
    case PTO_STEP_RECV:
    case PTO_STEP_COUNT:
        break;
    }
    return false;
}

/* Copies and reductions with peers are done one peer after another. A kernel's threads do all peers of a step
 * together. */
static bool is_for_each_peer(const pto_step_t *step) {
    return pto_step_is_local(step) && !step->in_kernel && step->peers.kind != PTO_PEERS_NONE;
}

/* Begin a step, or its part for the next peers; false if none is left that takes time. */
static bool begin_next(pto_sim_t *sim, uint32_t rank, pto_action_t *action) {
    pto_local_t *local = &sim->local[rank];
    sim->proc[rank].stage_s = sim->now_s;
    if (!is_for_each_peer(action->step))
        return begin_local(sim, rank, action);
    int64_t peers = pto_step_peer_count(sim->plan, action);
    while (local->local_peer < peers)
        if (pto_step_peer(sim->plan, local->local_peer++, action) && begin_local(sim, rank, action))
            return true;
    return false;
}

/* Continue a rank's local steps; true when the stage's last one has ended. */
static bool run_local(pto_sim_t *sim, uint32_t rank) {
    const pto_proc_t *proc = &sim->proc[rank];
    pto_local_t *local = &sim->local[rank];
    const pto_stage_t *stage = proc->at->walk.stage;
    int positions = stage->order == PTO_ORDER_SEQUENCE ? stage->step_count : 2 * stage->step_count;
    for (; local->local_step < positions && sim->status == PTO_OK; local->local_step++) {
        const pto_step_t *step = local_step(sim, stage, local->local_step);
        pto_action_t action;
        if (!step || !pto_step_acts(sim->plan, step, proc->rank, proc->at->walk.k, &action))
            continue;
        if (begin_next(sim, rank, &action))
            return false;
        local->local_peer = 0;
    }
    return sim->status == PTO_OK;
}

/* --- stages --------------------------------------------------------------------------------------------- */

/* Raise the flags that come first; a message or a signal ends a stream of copies. */
static void begin_at_once(pto_sim_t *sim, uint32_t rank) {
    const pto_proc_t *proc = &sim->proc[rank];
    const pto_stage_t *stage = proc->at->walk.stage;
    for (int i = 0; i < stage->step_count; i++) {
        const pto_step_t *step = pto_plan_step(sim->plan, stage->step_first + i);
        bool signals = proc->at->view->signals_first && step->kind == PTO_STEP_SIGNAL;
        pto_action_t action;
        if ((!signals && !pto_step_is_message(step)) ||
            !pto_step_acts(sim->plan, step, proc->rank, proc->at->walk.k, &action))
            continue;
        sim->local[rank].streams = false;
        if (signals)
            raise_flags(sim, &action);
    }
}

/* Begin a stage; in lanes, its first copy follows the previous chunk's if `follows`. */
static void open_stage(pto_sim_t *sim, uint32_t rank, bool follows) {
    pto_proc_t *proc = &sim->proc[rank];
    const pto_stage_view_t *view = proc->at->view;
    if (view->signals_first || (sim->has_locals && sim->local[rank].streams))
        begin_at_once(sim, rank);
    if (view->locals) {
        pto_local_t *local = &sim->local[rank];
        local->rank = proc->rank;
        local->behind = follows && pto_sim_is_later_chunk(sim, proc) ? PTO_BEHIND_CHUNK : PTO_BEHIND_NOTHING;
        local->local_step = 0;
        local->local_peer = 0;
    }
    proc->state = view->messages ? PTO_PROC_MESSAGES : PTO_PROC_LOCAL;
    if (view->messages || proc->early)
        pto_sim_post(sim, rank);
}

/* Whether the rank begins the stage that it has reached; if not, it waits for other lanes, or skips it. */
static bool enter_stage(pto_sim_t *sim, uint32_t rank) {
    pto_proc_t *proc = &sim->proc[rank];
    pto_sim_gate_t gate = PTO_SIM_PASSES;
    if (sim->lanes > 1 && !pto_sim_may_start(sim, rank))
        gate = PTO_SIM_UNKNOWN;
    else if (proc->at->walk.branch >= 0)
        gate = pto_sim_gate(sim, rank);
    proc->state = gate == PTO_SIM_UNKNOWN ? PTO_PROC_LANE : PTO_PROC_BETWEEN;
    return gate == PTO_SIM_PASSES;
}

/* A rank that has ended all its lanes begins the plan that follows. */
static void begin_next_plan(pto_sim_t *sim, uint32_t rank) {
    pto_sim_t *next = sim->next;
    uint32_t first = sim->proc[rank].rank;
    for (uint32_t lane = 0; lane < sim->lanes && next; lane++)
        if (sim->proc[first + lane * sim->ranks].state != PTO_PROC_ENDED)
            return;
    for (uint32_t lane = 0; next && lane < next->lanes; lane++) {
        uint32_t other = first + lane * next->ranks;
        if (next->proc[other].state != PTO_PROC_BETWEEN)
            continue;
        next->proc[other].stage_s = sim->now_s;
        pto_sim_set(next, other, PTO_SLOT_RUN, sim->now_s);
    }
}

static void end_rank(pto_sim_t *sim, uint32_t rank) {
    sim->proc[rank].state = PTO_PROC_ENDED;
    sim->proc[rank].stage_s = sim->now_s;
    pto_sim_wake_lanes(sim, rank, PTO_PROC_LANE);
    begin_next_plan(sim, rank);
}

/* Advance a rank as far as possible without time passing. */
static void pass(pto_sim_t *sim, uint32_t rank) {
    pto_proc_t *proc = &sim->proc[rank];
    while (sim->status == PTO_OK && proc->state != PTO_PROC_ENDED) {
        if (proc->state == PTO_PROC_BETWEEN) {
            if (proc->at->walk.branch >= 0 && sim->local[rank].in_branch)
                pto_sim_leave_branch(sim, rank);
            if (!pto_sim_next_stage(sim, proc)) {
                end_rank(sim, rank);
                return;
            }
            pto_sim_wake_lanes(sim, rank, PTO_PROC_LANE);
            if (pto_walk_in_nccl(&proc->at->walk)) {
                sim->local[rank].streams = false;
                pto_sim_nccl_enter(sim, rank);
                continue;
            }
            proc->stage_s = sim->now_s;
            if (!enter_stage(sim, rank)) {
                if (proc->state == PTO_PROC_LANE)
                    return;
                continue;
            }
            open_stage(sim, rank, true);
        }
        if (proc->state == PTO_PROC_NCCL)
            return;
        if (proc->state == PTO_PROC_MESSAGES) {
            if (!pto_sim_messages_ended(proc))
                return;
            proc->state = PTO_PROC_LOCAL;
        }
        if (proc->at->view->locals && !run_local(sim, rank))
            return;
        proc->state = PTO_PROC_BETWEEN;
    }
}

/* Other lanes let this one begin its stage, or its current step. */
static void leave_wait(pto_sim_t *sim, uint32_t rank) {
    pto_proc_t *proc = &sim->proc[rank];
    pto_local_t *local = &sim->local[rank];
    local->waiting_s += sim->now_s - proc->stage_s;
    if (proc->state == PTO_PROC_BETWEEN) {
        open_stage(sim, rank, sim->now_s == proc->stage_s);
    } else {
        proc->state = PTO_PROC_LOCAL;
        if (is_for_each_peer(local_step(sim, proc->at->walk.stage, local->local_step)))
            local->local_peer--; /* begin with the same peer again */
    }
    pass(sim, rank);
}

/* A rank's local step has ended, or its flags may all be raised now. */
static void run_event(pto_sim_t *sim, uint32_t rank) {
    pto_proc_t *proc = &sim->proc[rank];
    pto_local_t *local = &sim->local[rank];
    if (proc->state == PTO_PROC_NCCL)
        pto_sim_nccl_leave(sim, rank);
    if (proc->state == PTO_PROC_RESOURCE || (proc->state == PTO_PROC_LANE && enter_stage(sim, rank))) {
        leave_wait(sim, rank);
        return;
    }
    if (proc->state == PTO_PROC_LANE)
        return;
    if (proc->state == PTO_PROC_BETWEEN)
        local->waiting_s += sim->now_s - proc->stage_s;
    if (proc->state == PTO_PROC_FLAGS) {
        double since_s = proc->stage_s;
        const pto_step_t *step = local_step(sim, proc->at->walk.stage, local->local_step);
        pto_action_t action;
        if (!pto_step_acts(sim->plan, step, proc->rank, proc->at->walk.k, &action) ||
            !all_raised(sim, &action))
            return;
        local->waiting_s += sim->now_s - since_s;
        proc->state = PTO_PROC_LOCAL;
        proc->stage_s = sim->now_s;
        if (begin_local(sim, rank, &action))
            return;
    }
    if (proc->state == PTO_PROC_LOCAL) {
        if (pto_engine_begin_turn(sim, rank) || !pto_copy_is_through(sim, rank))
            return;
        local->busy_s += sim->now_s - proc->stage_s;
        if (sim->options->visit && sim->now_s > proc->stage_s)
            pto_sim_span(sim, PTO_RESOURCE_LOCAL, rank, -1, local->copy_bytes, proc->stage_s);
        if (local->copy_bytes > 0)
            pto_engine_leave(sim, rank);
        if (local->holds)
            pto_sim_give_resource(sim, rank);
        const pto_step_t *step = local_step(sim, proc->at->walk.stage, local->local_step);
        if (step && !is_for_each_peer(step)) /* else run_local continues with the next peer */
            local->local_step++;
    }
    pass(sim, rank);
}

/* --- events --------------------------------------------------------------------------------------------- */

static void rank_event(pto_sim_t *sim, uint32_t rank, pto_slot_t slot) {
    switch (slot) {
    case PTO_SLOT_RUN:
        run_event(sim, rank);
        break;
    case PTO_SLOT_SEND:
        if (pto_sim_send_event(sim, rank))
            pass(sim, rank);
        break;
    case PTO_SLOT_RECV:
        if (pto_sim_recv_event(sim, rank))
            pass(sim, rank);
        break;
    case PTO_SLOT_LOOK:
        pto_sim_look_event(sim, rank);
        break;
    case PTO_SLOTS_PER_RANK:
        break;
    }
}

static void run_events(pto_sims_t *all, pto_agenda_t *agenda) {
    pto_sim_t *first = all->sim, *sim = first;
    uint32_t slot;
    double time_s, now_s = 0;
    for (uint32_t i = 0; i < all->count; i++)
        if (all->sim[i].status != PTO_OK)
            return;
    while (sim->status == PTO_OK && pto_agenda_take(agenda, &slot, &time_s)) {
        now_s = time_s > now_s ? time_s : now_s;
        first->now_s = now_s;
        first->events++;
        if (slot >= first->first_gpu_slot) {
            sim = first;
            pto_gpu_event(sim, slot - first->first_gpu_slot);
        } else if (slot >= first->first_link_slot) {
            sim = first;
            pto_link_event(sim, slot - first->first_link_slot);
        } else {
            uint32_t rank = slot / PTO_SLOTS_PER_RANK;
            sim = pto_sim_owner(first, &rank);
            rank_event(sim, rank, (pto_slot_t)(slot % PTO_SLOTS_PER_RANK));
        }
    }
}

/* No events are left, but some rank has not ended. Report the one at the earliest stage, since the others may
 * be waiting for it. */
static void find_stuck(pto_sim_t *sim) {
    uint32_t procs = sim->ranks * sim->lanes, stuck = procs;
    for (uint32_t rank = 0; rank < procs; rank++)
        if (sim->proc[rank].state != PTO_PROC_ENDED && sim->proc[rank].state != PTO_PROC_LANE &&
            (stuck == procs || sim->proc[rank].at->walk.instance < sim->proc[stuck].at->walk.instance))
            stuck = rank;
    for (uint32_t rank = 0; rank < procs && stuck == procs; rank++)
        if (sim->proc[rank].state != PTO_PROC_ENDED)
            stuck = rank;
    if (stuck == procs)
        return;
    const pto_proc_t *proc = &sim->proc[stuck];
    if (proc->state == PTO_PROC_NCCL)
        pto_sim_fail(sim, PTO_ERR_INVALID_PLAN, stuck, "waits in NCCL for one that never comes");
    else if (proc->state == PTO_PROC_LANE)
        pto_sim_fail(sim, PTO_ERR_INVALID_PLAN, stuck, "waits for a choice that never comes");
    else if (proc->state == PTO_PROC_FLAGS)
        pto_sim_fail(sim, PTO_ERR_INVALID_PLAN, stuck, "waits for a signal that never comes");
    else if (proc->recvs_open > 0)
        pto_sim_fail(sim, PTO_ERR_INVALID_PLAN, stuck, "waits for a message that never comes");
    else
        pto_sim_fail(sim, PTO_ERR_INVALID_PLAN, stuck, "sends a message whose receive is never posted");
}

/* --- the simulation ------------------------------------------------------------------------------------- */

static void place_ranks(pto_sim_t *sim) {
    for (uint32_t i = 0; i < sim->ranks * sim->lanes; i++) {
        pto_proc_t *proc = &sim->proc[i];
        uint32_t rank = i % sim->ranks;
        proc->rank = rank;
        proc->lane = i / sim->ranks;
        proc->node = (int32_t)pto_sim_node(sim, rank);
        proc->place_in_node = (int32_t)(rank % sim->ranks_per_node);
        proc->out.waits = PTO_LINKS_PER_NODE;
        proc->in.waits = PTO_LINKS_PER_NODE;
        proc->waits_sender = PTO_LINKS_PER_NODE;
        if (!pto_core_acts(sim->plan, rank % sim->layout->procs_per_gpu))
            proc->state = PTO_PROC_ENDED;
    }
}

/* Whether expressions are the same for all cores and peers. */
static bool same_for_all(const pto_expr_t *const *expr, int count) {
    for (int i = 0; i < count; i++)
        if (expr[i]->core || expr[i]->peer)
            return false;
    return true;
}

/* Whether a group's members are all ranks, in order, and its steps are for all processes. */
static bool is_by_index(const pto_sim_t *sim, const pto_step_t *step) {
    const pto_group_t *group = pto_plan_group(sim->plan, step->group);
    pto_peers_kind_t peers = step->peers.kind;
    return group->size == pto_layout_rank_count(&sim->plan->request.layout) && group->fold == 0 &&
           sim->layout->procs_per_gpu == 1 && step->core_first == 0 && step->core_count > 0 &&
           (peers == PTO_PEERS_SHIFT || peers == PTO_PEERS_XOR);
}

static void view_message_step(pto_sim_t *sim, const pto_step_t *step, pto_step_view_t *view) {
    const pto_slice_t *slice = pto_message_slice(step);
    const pto_buffer_t *buffer = pto_plan_buffer(sim->plan, slice->buffer);
    const pto_expr_t *blocks[] = {&slice->first, &slice->run, &slice->stride, &slice->until};
    const pto_expr_t *peers[] = {&step->peers.first, &step->peers.stride, &step->peers.until};
    view->alike = same_for_all(blocks, 4) && same_for_all(peers, 3) && buffer->blocks == PTO_BLOCKS_EQUAL &&
                  buffer->cyclic == PTO_CYCLIC_NONE && buffer->split <= 1 && slice->parts == 0 &&
                  slice->share == PTO_SHARE_ALL && slice->chunks <= 1;
    view->by_index = is_by_index(sim, step);
    if (step->kind != PTO_STEP_SEND)
        return;
    view->injection_s_per_byte = pto_sim_injection_s_per_byte(sim, step);
    view->rate_s = pto_sim_rate_s(sim, step);
}

static void view_plan(pto_sim_t *sim) {
    for (int i = 0; i < sim->plan->stages.count; i++) {
        const pto_stage_t *stage = pto_plan_stage(sim->plan, i);
        pto_stage_view_t *view = &sim->stage[i];
        for (int j = stage->step_first; j < stage->step_first + stage->step_count; j++) {
            const pto_step_t *step = pto_plan_step(sim->plan, j);
            bool message = pto_step_is_message(step);
            bool first = step->kind == PTO_STEP_SIGNAL && stage->order == PTO_ORDER_AT_ONCE;
            view->sends = view->sends || step->kind == PTO_STEP_SEND;
            view->messages = view->messages || message;
            view->signals_first = view->signals_first || first;
            view->locals = view->locals || (!message && !first);
            sim->has_locals = sim->has_locals || !message;
            if (message)
                view_message_step(sim, step, &sim->view[j]);
        }
    }
    for (int kind = 0; kind < PTO_LINKS_PER_NODE; kind++) /* a trace shows all; other plans may share them */
        sim->limited[kind] =
            sim->options->visit || sim->all->count > 1 || pto_sim_is_limited(sim, (pto_link_kind_t)kind);
}

/* What is shared in a node, and the links of a fabric. */
static bool find_capacities(pto_sim_t *sim) {
    const pto_fabric_t *fabric = &sim->machine->fabric;
    int64_t nodes = sim->layout->nodes, between = pto_fabric_link_count(fabric, nodes);
    sim->first_fabric_link = sim->shared_links.count;
    sim->capacity = calloc((size_t)(sim->first_fabric_link + between) + 1, sizeof *sim->capacity);
    if (!sim->capacity)
        return false;
    for (int i = 0; i < sim->first_fabric_link; i++)
        sim->capacity[i].bytes_per_s = 1 / pto_link_s_per_byte(&sim->shared_links, i)->value;
    for (int64_t i = 0; i < between; i++)
        sim->capacity[sim->first_fabric_link + i].bytes_per_s =
            1 / pto_fabric_s_per_byte(fabric, nodes, i)->value;
    return true;
}

/* What is of one plan alone. */
static bool allocate(pto_sim_t *sim) {
    size_t flags = (size_t)pto_plan_flag_count(sim->plan) * sim->ranks * sim->ranks_per_node;
    sim->view = calloc((size_t)sim->plan->steps.count + 1, sizeof *sim->view);
    sim->stage = calloc((size_t)sim->plan->stages.count + 1, sizeof *sim->stage);
    sim->raised = calloc(flags + 1, sizeof *sim->raised);
    sim->either =
        calloc((size_t)pto_plan_either_count(sim->plan, sim->plan->nodes.count) + 1, sizeof *sim->either);
    bool flows = sim->machine->fabric.levels > 0;
    sim->fabric_path = calloc(flows ? 2 * (size_t)sim->ranks * sim->lanes : 1, sizeof *sim->fabric_path);
    return sim->view && sim->stage && sim->raised && sim->either && sim->fabric_path;
}

/* What all plans share, first in the one given. */
static bool allocate_shared(pto_sims_t *all, pto_sim_t *sim, pto_agenda_t *agenda) {
    size_t nodes = (size_t)sim->nodes;
    size_t links = nodes * PTO_LINKS_PER_NODE;
    size_t engines = (size_t)sim->gpus * PTO_ENGINES_PER_GPU;
    int64_t ranks_per_node = pto_layout_rank_count(sim->layout) / sim->layout->nodes;
    sim->agenda = agenda;
    sim->first_link_slot = all->procs * PTO_SLOTS_PER_RANK;
    sim->first_gpu_slot = sim->first_link_slot + (uint32_t)links;
    all->proc = aligned_alloc(_Alignof(pto_proc_t), all->procs * sizeof *all->proc);
    if (all->proc)
        memset(all->proc, 0, all->procs * sizeof *all->proc);
    all->local = calloc(all->procs, sizeof *all->local);
    sim->link_size = sizeof(pto_link_t) + (size_t)ranks_per_node * all->lanes * sizeof(pto_engine_job_t);
    sim->links = calloc(links, sim->link_size);
    sim->engine = calloc(engines, sizeof *sim->engine);
    sim->line_s = calloc((size_t)sim->gpus * PTO_COPY_RESOURCE_COUNT, sizeof *sim->line_s);
    sim->routes = calloc(nodes + 1, sizeof *sim->routes);
    return pto_agenda_init(agenda, sim->first_gpu_slot + (uint32_t)sim->gpus) && all->proc && all->local &&
           sim->links && sim->engine && sim->line_s && sim->routes && find_capacities(sim);
}

/* All of it, and each plan's share in what the first one has. */
static bool allocate_all(pto_sims_t *all, pto_agenda_t *agenda) {
    bool complete = allocate_shared(all, all->sim, agenda);
    uint32_t procs = 0;
    for (uint32_t i = 0; i < all->count && complete; i++) {
        pto_sim_t *sim = &all->sim[i];
        sim->agenda = agenda;
        sim->first_link_slot = all->sim->first_link_slot;
        sim->first_gpu_slot = all->sim->first_gpu_slot;
        sim->link_size = all->sim->link_size;
        sim->links = all->sim->links;
        sim->engine = all->sim->engine;
        sim->line_s = all->sim->line_s;
        sim->routes = all->sim->routes;
        sim->capacity = all->sim->capacity;
        sim->first_fabric_link = all->sim->first_fabric_link;
        sim->first_proc = procs;
        sim->proc = all->proc + procs;
        sim->local = all->local + procs;
        procs += sim->ranks * sim->lanes;
        complete = allocate(sim);
    }
    return complete;
}

static void release(pto_sims_t *all, pto_agenda_t *agenda) {
    pto_sim_t *first = all->sim;
    for (uint32_t i = 0; i < all->count; i++) {
        pto_pool_fini(&all->sim[i].pool);
        free(all->sim[i].view);
        free(all->sim[i].stage);
        free(all->sim[i].raised);
        free(all->sim[i].either);
        free(all->sim[i].fabric_path);
        pto_passages_fini(&all->sim[i].passages);
    }
    pto_agenda_fini(agenda);
    free(all->proc);
    free(all->local);
    free(first->links);
    free(first->engine);
    free(first->line_s);
    for (int64_t node = 0; first->routes && node <= first->nodes; node++)
        free(first->routes[node].flow);
    free(first->routes);
    free(first->capacity);
}

static void begin(pto_sim_t *sim) {
    for (uint32_t rank = 0; !sim->follows && rank < sim->ranks * sim->lanes && sim->status == PTO_OK; rank++)
        if (sim->proc[rank].state == PTO_PROC_BETWEEN)
            pass(sim, rank);
}

pto_status_t pto_sims_run(pto_sims_t *all, pto_error_t *err) {
    pto_agenda_t agenda = {0};
    pto_status_t status = PTO_OK;
    if (!allocate_all(all, &agenda)) {
        release(all, &agenda);
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for %lu ranks", (unsigned long)all->procs);
    }
    for (uint32_t i = 0; i < all->count; i++) {
        place_ranks(&all->sim[i]);
        view_plan(&all->sim[i]);
        pto_passages_begin(&all->sim[i], all->sim[i].ranks * all->sim[i].lanes);
    }
    for (uint32_t i = 0; i < all->count; i++)
        begin(&all->sim[i]);
    run_events(all, &agenda);
    for (uint32_t i = 0; i < all->count && status == PTO_OK; i++)
        status = all->sim[i].status;
    for (uint32_t i = 0; i < all->count && status == PTO_OK; i++) {
        find_stuck(&all->sim[i]);
        status = all->sim[i].status;
    }
    if (status == PTO_OK && agenda.out_of_memory)
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory for events");
    if (status == PTO_OK)
        pto_sim_report(all, all->simulation);
    release(all, &agenda);
    return status;
}

pto_status_t pto_simulate(const pto_plan_t *plan, const pto_machine_t *machine,
                          const pto_simulate_options_t *options, pto_simulation_t *simulation,
                          pto_error_t *err) {
    const pto_layout_t *layout = &plan->request.layout;
    pto_sim_t sim = pto_sim_of(plan, machine, layout, options, err);
    pto_status_t status = pto_simulate_check_size(plan, machine, sim.options, NULL, err);
    if (status == PTO_OK)
        status = pto_links_check(&sim.shared_links, err);
    if (status != PTO_OK)
        return status;
    sim.nodes = layout->nodes / pto_simulate_nodes_of_one(plan, machine, sim.options);
    sim.gpus = sim.nodes * layout->gpus_per_node;
    sim.ranks = (uint32_t)sim.nodes * sim.ranks_per_node;
    pto_sims_t all = {.sim = &sim,
                      .count = 1,
                      .procs = sim.ranks * sim.lanes,
                      .calls = 1,
                      .ranks = sim.ranks,
                      .lanes = sim.lanes,
                      .simulation = simulation};
    sim.all = &all;
    return pto_sims_run(&all, err);
}
