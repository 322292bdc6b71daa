/* Simulates a plan (portolan/simulate.h): the local steps of ranks (copies, reductions, signals, waits), and
 * the simulation as a whole. If the steps of a stage run at the same time (PTO_ORDER_AT_ONCE), a rank first
 * raises its flags. Then it moves its messages (run.c), then it does its local steps one after another. */
#include "portolan/simulate.h"

#include "portolan/strategy.h"
#include "simulate/moves.h"
#include "simulate/size.h"

/* Returns the counter of pending signals from `from` to `to`. */
static int32_t *raised(const pto_sim_t *sim, int flag, int64_t from, int64_t to) {
    size_t row = (size_t)flag * sim->ranks + (size_t)to;
    return &sim->raised[row * sim->ranks_per_node + (size_t)from % sim->ranks_per_node];
}

static bool all_raised(const pto_sim_t *sim, pto_action_t *action) {
    for (int64_t next = 0; pto_step_next(sim->plan, &next, action);)
        if (*raised(sim, action->step->flag, action->peer_rank, action->rank) == 0)
            return false;
    return true;
}

static void take_raised(const pto_sim_t *sim, pto_action_t *action) {
    for (int64_t next = 0; pto_step_next(sim->plan, &next, action);)
        --*raised(sim, action->step->flag, action->peer_rank, action->rank);
}

/* Raises a flag for every peer, and wakes peers that wait. */
static void raise_flags(pto_sim_t *sim, pto_action_t *action) {
    for (int64_t next = 0; sim->status == PTO_OK && pto_step_next(sim->plan, &next, action);) {
        uint32_t to = (uint32_t)pto_sim_representative(sim, action->peer_rank);
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

/* Returns the local step at `position`, or NULL: none is due there. In a sequence, the positions are those of
 * the steps. Otherwise each step has two positions, `position` and `position` + count: waits are due at the
 * second one, other steps at the first. */
static pto_sim_move_t *local_move(const pto_passage_t *passage, int position) {
    int count = passage->walk.stage->step_count;
    pto_sim_move_t *move = &passage->move[position < count ? position : position - count];
    if (move->sends || move->receives)
        return NULL;
    if (passage->walk.stage->order == PTO_ORDER_SEQUENCE)
        return position < count ? move : NULL;
    bool is_wait = move->step->kind == PTO_STEP_WAIT, is_second = position >= count;
    return move->step->kind != PTO_STEP_SIGNAL && is_wait == is_second ? move : NULL;
}

/* As pto_step_acts, without arithmetic where all ranks act. */
static bool acts(const pto_sim_t *sim, const pto_proc_t *proc, const pto_sim_move_t *move,
                 pto_action_t *action) {
    int64_t k = proc->at->walk.k, rank = proc->rank;
    if (!move->all_act)
        return pto_step_acts(sim->plan, move->step, rank, k, action);
    *action =
        (pto_action_t){.step = move->step, .rank = rank, .me = rank, .k = k, .peer = -1, .peer_rank = -1};
    return true;
}

/* Keeps the rank busy for `seconds`. Returns false if these are 0. */
static bool spend(pto_sim_t *sim, uint32_t rank, double seconds) {
    if (seconds <= 0)
        return false;
    pto_sim_set(sim, rank, PTO_SLOT_RUN, sim->now_s + seconds);
    return true;
}

/* Takes the resource of its rank that a step uses; false, and waits for it, if another lane has it. */
static bool take_resource(pto_sim_t *sim, uint32_t rank, const pto_step_t *step) {
    if (sim->all->lanes == 1 || pto_sim_take_resource(sim, rank, pto_lane_resource(sim->plan, step)))
        return true;
    sim->proc[rank].state = PTO_PROC_RESOURCE;
    pto_sim_put_lane(sim, &sim->proc[rank], PTO_LANES_QUEUE, true);
    return false;
}

/* Begins a reduction, with the current peer. A reduction by the CPU also occupies the memory of its socket.
 * Returns false if it takes no time. */
static bool reduce(pto_sim_t *sim, uint32_t rank, pto_sim_move_t *move, const pto_action_t *action) {
    const pto_step_t *step = action->step;
    int64_t source_bytes = pto_sim_slice_bytes(sim, move, 0, action);
    int64_t target_bytes = pto_sim_slice_bytes(sim, move, 1, action);
    double seconds = pto_sim_reduce_s(sim, step, source_bytes, target_bytes);
    if (seconds <= 0)
        return false;
    if (!take_resource(sim, rank, step))
        return true;
    if (sim->shared_links.memory_s_per_byte) {
        int64_t bytes = pto_reduction_traffic(sim->machine, step, source_bytes, target_bytes);
        pto_path_t path = pto_reduction_path(&sim->shared_links, sim->plan, step, action->rank);
        sim->local[rank].copy_flows +=
            pto_flow_begin(sim, PTO_LINK_ROUTES, PTO_FLOW_COPY, rank, path, bytes, seconds);
    }
    return spend(sim, rank, seconds);
}

/* Begins a copy; false if it has nothing to copy. */
static bool copy(pto_sim_t *sim, uint32_t rank, pto_sim_move_t *move, const pto_action_t *action) {
    pto_proc_t *proc = &sim->proc[rank];
    int64_t bytes =
        move->view->joins ? pto_copy_bytes(sim->plan, action) : pto_sim_slice_bytes(sim, move, 0, action);
    if (bytes > 0 && proc->at->walk.lanes < 0) {
        sim->local[rank].behind = pto_sim_behind(proc, move);
        proc->streams = move->streams;
    }
    if (bytes > 0 && take_resource(sim, rank, action->step))
        pto_engine_join(sim, rank, action, move->view->on_gpu, bytes);
    return bytes > 0;
}

/* Begins a step; false if it took no time, so that the rank continues. */
static bool begin_local(pto_sim_t *sim, uint32_t rank, pto_sim_move_t *move, pto_action_t *action) {
    pto_proc_t *proc = &sim->proc[rank];
    const pto_step_t *step = action->step;
    if (!move->streams)
        proc->streams = false;
    if (sim->lines && step->in_kernel && pto_step_is_local(step)) /* the launch takes the whole run's time */
        return false;
    switch (step->kind) {
    case PTO_STEP_LAUNCH:
        return spend(sim, rank, pto_sim_launch_s(sim));
    case PTO_STEP_COPY:
        if (step->in_kernel)
            return pto_engine_join_kernel(sim, action);
        return copy(sim, rank, move, action);
    case PTO_STEP_REDUCE:
        return reduce(sim, rank, move, action);
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

/* Begins a step or, of a step done for each peer, the part of the next peer that takes time. Returns false if
 * nothing is left that takes time. */
static bool begin_next(pto_sim_t *sim, uint32_t rank, pto_sim_move_t *move, pto_action_t *action) {
    pto_local_t *local = &sim->local[rank];
    sim->proc[rank].stage_s = sim->now_s;
    if (!move->view->for_each_peer)
        return begin_local(sim, rank, move, action);
    int64_t peers = pto_step_peer_count(sim->plan, action);
    while (local->local_peer < peers)
        if (pto_step_peer(sim->plan, local->local_peer++, action) && begin_local(sim, rank, move, action))
            return true;
    return false;
}

bool pto_sim_run_local(pto_sim_t *sim, uint32_t rank) {
    const pto_proc_t *proc = &sim->proc[rank];
    pto_local_t *local = &sim->local[rank];
    const pto_stage_t *stage = proc->at->walk.stage;
    int positions = stage->order == PTO_ORDER_SEQUENCE ? stage->step_count : 2 * stage->step_count;
    for (; local->local_step < positions && sim->status == PTO_OK; local->local_step++) {
        pto_sim_move_t *move = local_move(proc->at, local->local_step);
        pto_action_t action;
        if (!move || !acts(sim, proc, move, &action))
            continue;
        if (begin_next(sim, rank, move, &action))
            return false;
        local->local_peer = 0;
    }
    return sim->status == PTO_OK;
}

void pto_sim_find_only_local(pto_sim_t *sim, uint32_t rank, pto_behind_t behind, pto_sim_move_t *move) {
    const pto_proc_t *proc = &sim->proc[rank];
    pto_local_t *local = &sim->local[rank];
    pto_action_t action;
    acts(sim, proc, move, &action);
    local->rank = proc->rank;
    local->behind = behind;
    bool copies = move->step->kind == PTO_STEP_COPY;
    int64_t bytes = pto_sim_slice_bytes(sim, move, 0, &action);
    if (copies)
        pto_engine_find_copy(sim, &action, bytes, local);
    else
        local->copy = (pto_sim_copy_t){
            .alone_s = pto_sim_reduce_s(sim, move->step, bytes, pto_sim_slice_bytes(sim, move, 1, &action))};
    move->copy = local->copy;
    local->copy.bytes = 0; /* it is in no engine's list */
    move->takes_time = copies ? move->copy.bytes > 0 : move->copy.alone_s > 0;
    move->joins = copies && !move->copy.queued;
    move->behind = behind;
    move->known = true;
}

/* Raises the flags that come first. A message or a signal drains a stream of copies. */
static void begin_at_once(pto_sim_t *sim, uint32_t rank) {
    pto_proc_t *proc = &sim->proc[rank];
    const pto_stage_t *stage = proc->at->walk.stage;
    for (int i = 0; i < stage->step_count; i++) {
        const pto_step_t *step = pto_plan_step(sim->plan, stage->step_first + i);
        bool signals = proc->at->view->signals_early && step->kind == PTO_STEP_SIGNAL;
        pto_action_t action;
        if ((!signals && !pto_step_is_message(step)) ||
            !pto_step_acts(sim->plan, step, proc->rank, proc->at->walk.k, &action))
            continue;
        proc->streams = false;
        if (signals)
            raise_flags(sim, &action);
    }
}

void pto_sim_prepare_locals(pto_sim_t *sim, uint32_t rank, bool follows) {
    const pto_proc_t *proc = &sim->proc[rank];
    pto_local_t *local = &sim->local[rank];
    if (proc->at->view->signals_early || proc->streams)
        begin_at_once(sim, rank);
    if (!proc->at->view->locals)
        return;
    local->rank = proc->rank;
    bool later_chunk = follows && !proc->at->plain && pto_sim_is_later_chunk(sim, proc);
    local->behind = later_chunk ? PTO_BEHIND_CHUNK : PTO_BEHIND_NOTHING;
    local->local_step = 0;
    local->local_peer = 0;
}

/* Returns whether the rank begins its stage; if not, it waits for other lanes, or skips the stage. */
static bool may_begin(pto_sim_t *sim, uint32_t rank) {
    pto_proc_t *proc = &sim->proc[rank];
    pto_sim_gate_t gate = PTO_SIM_PASSES;
    if (sim->lanes > 1 && !pto_sim_may_start(sim, rank))
        gate = PTO_SIM_UNKNOWN;
    else if (proc->at->walk.branch >= 0)
        gate = pto_sim_gate(sim, rank);
    proc->state = gate == PTO_SIM_UNKNOWN ? PTO_PROC_LANE : PTO_PROC_BETWEEN;
    pto_sim_put_lane(sim, proc, PTO_LANES_WAIT, gate == PTO_SIM_UNKNOWN);
    return gate == PTO_SIM_PASSES;
}

bool pto_sim_enter_stage(pto_sim_t *sim, uint32_t rank) {
    pto_proc_t *proc = &sim->proc[rank];
    pto_sim_wake_lanes(sim, rank, PTO_PROC_LANE);
    if (pto_walk_in_nccl(&proc->at->walk)) {
        proc->streams = false;
        pto_sim_nccl_enter(sim, rank);
        return false;
    }
    proc->stage_s = sim->now_s;
    return may_begin(sim, rank);
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

void pto_sim_end_rank(pto_sim_t *sim, uint32_t rank) {
    pto_proc_t *proc = &sim->proc[rank];
    proc->state = PTO_PROC_ENDED;
    proc->stage_s = sim->now_s;
    if (sim->lanes > 1)
        sim->reached[proc->rank * sim->lanes + proc->lane] = UINT32_MAX;
    pto_sim_wake_lanes(sim, rank, PTO_PROC_LANE);
    begin_next_plan(sim, rank);
}

/* Continues a lane that has waited for other lanes: begins its stage, or its current step. */
static void leave_wait(pto_sim_t *sim, uint32_t rank) {
    pto_proc_t *proc = &sim->proc[rank];
    pto_local_t *local = &sim->local[rank];
    local->waiting_s += sim->now_s - proc->stage_s;
    if (proc->state == PTO_PROC_BETWEEN) {
        pto_sim_open_stage(sim, rank, sim->now_s == proc->stage_s);
    } else {
        proc->state = PTO_PROC_LOCAL;
        pto_sim_put_lane(sim, proc, PTO_LANES_QUEUE, false);
        if (local_move(proc->at, local->local_step)->view->for_each_peer)
            local->local_peer--; /* begin with the same peer again */
    }
}

/* A rank's local step has ended. Returns whether the rank may continue; if not, the step waits for its turn
 * or its links. */
static bool end_local(pto_sim_t *sim, uint32_t rank) {
    const pto_proc_t *proc = &sim->proc[rank];
    pto_local_t *local = &sim->local[rank];
    bool waits = local->copy_end_s != 0 && pto_engine_begin_turn(sim, rank);
    if (waits || (local->copy_flows > 0 && !pto_copy_is_through(sim, rank)))
        return false;
    sim->hot[rank].busy_s += sim->now_s - proc->stage_s;
    if (sim->options->visit && sim->now_s > proc->stage_s)
        pto_sim_span(sim, PTO_RESOURCE_LOCAL, rank, -1, local->copy.bytes, proc->stage_s);
    if (local->copy.bytes > 0)
        pto_engine_leave(sim, rank);
    if (local->holds)
        pto_sim_give_resource(sim, rank);
    const pto_sim_move_t *move = local_move(proc->at, local->local_step);
    if (move && !move->view->for_each_peer) /* else run_local continues with the next peer */
        local->local_step++;
    return true;
}

/* The flags that a rank waits for may all be raised now. */
static bool flags_event(pto_sim_t *sim, uint32_t rank) {
    pto_proc_t *proc = &sim->proc[rank];
    double since_s = proc->stage_s;
    pto_sim_move_t *move = local_move(proc->at, sim->local[rank].local_step);
    pto_action_t action;
    if (!acts(sim, proc, move, &action) || !all_raised(sim, &action))
        return false;
    sim->local[rank].waiting_s += sim->now_s - since_s;
    proc->state = PTO_PROC_LOCAL;
    proc->stage_s = sim->now_s;
    return !begin_local(sim, rank, move, &action) && end_local(sim, rank);
}

bool pto_sim_run_event(pto_sim_t *sim, uint32_t rank) {
    const pto_proc_t *proc = &sim->proc[rank];
    if (proc->state == PTO_PROC_LOCAL)
        return end_local(sim, rank);
    if (proc->state == PTO_PROC_FLAGS)
        return flags_event(sim, rank);
    if (proc->state == PTO_PROC_NCCL)
        pto_sim_nccl_leave(sim, rank);
    if (proc->state == PTO_PROC_RESOURCE || (proc->state == PTO_PROC_LANE && may_begin(sim, rank)))
        leave_wait(sim, rank);
    else if (proc->state == PTO_PROC_LANE)
        return false;
    else if (proc->state == PTO_PROC_BETWEEN)
        sim->local[rank].waiting_s += sim->now_s - proc->stage_s;
    return true;
}

/* Called when no events are left. If ranks have not ended, reports the one at the earliest stage: the others
 * may be waiting for it. */
static void report_deadlock(pto_sim_t *sim) {
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

pto_status_t pto_sims_run(pto_sims_t *all, pto_error_t *err) {
    pto_agenda_t agenda = {0};
    pto_status_t status = PTO_OK;
    if (!pto_sims_allocate(all, &agenda)) {
        pto_sims_release(all, &agenda);
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for %lu ranks", (unsigned long)all->procs);
    }
    pto_sims_run_events(all, &agenda);
    for (uint32_t i = 0; i < all->count && status == PTO_OK; i++)
        status = all->sim[i].status;
    if (status == PTO_OK && agenda.out_of_memory)
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory for events");
    for (uint32_t i = 0; i < all->count && status == PTO_OK; i++) {
        report_deadlock(&all->sim[i]);
        status = all->sim[i].status;
    }
    if (status == PTO_OK)
        pto_sim_report(all, all->simulation);
    pto_sims_release(all, &agenda);
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
    if (status == PTO_OK)
        status = pto_runs_check(plan, machine, err);
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
