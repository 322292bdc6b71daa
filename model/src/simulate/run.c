/* The event loop of a simulation: sending, matching, receiving, and passing from stage to stage.
 *
 * A rank has a sending and a receiving side. Each moves one message at a time, so a stage's sends add up, its
 * receives add up, and the longer sum counts. A message is one transfer: its reception overlaps its sending.
 * The reception begins once the message has started, its receive is posted and the receiving side is free. It
 * does not end before the last byte has left. Let a message have alpha 1 and beta times bytes 4. A sender
 * that begins at 0 is done at 5. So is a receiver that begins at 0; one that is busy until 3 is done at 8.
 *
 * Sends are generated from the plan one by one; only messages in flight, or held back until their receive is
 * posted, have a record. On its way, a message may be in three places: in out.queue of its sender, until the
 * sending side takes it; in the heap `early` of its target, until the target has reached its stage; in
 * in.queue of its target, until the receiving side is free.
 *
 * Every message passes through this file, so its functions are inlined into one loop, which is compiled
 * twice. A simulation is `plain` if nothing delays its messages: one plan, no lanes, no limiting links, no
 * trace (is_plain in views.c). The loop for plain simulations omits the code that these cannot need. */
#include <math.h>

#include "portolan/progress.h"
#include "simulate/moves.h"

PTO_SIM_HOT bool messages_ended(const pto_proc_t *proc) {
    return proc->sends_open == 0 && proc->recvs_open == 0 && proc->sends_made_all;
}

static uint32_t instance_of(const pto_proc_t *proc) { return (uint32_t)proc->at->walk.instance; }

/* Sets the event of a side to the time when it is done if no link delays it. */
PTO_SIM_HOT void set_end(pto_sim_t *sim, uint32_t rank, const pto_side_t *side, pto_slot_t slot) {
    pto_sim_set(sim, rank, slot, sim->now_s + (side->alpha_s + side->bytes_s));
}

/* Returns whether the end of a side's message, end_s, has come; if not, sets the side's next event to it. */
PTO_SIM_HOT bool is_done(pto_sim_t *sim, uint32_t rank, pto_slot_t slot, double end_s) {
    if (!pto_sim_before(sim->now_s, end_s))
        return true;
    pto_sim_set(sim, rank, slot, end_s);
    return false;
}

PTO_SIM_HOT double later(double a_s, double b_s) { return a_s < b_s ? b_s : a_s; }

/* --- both sides ----------------------------------------------------------------------------------------- */

/* The cost of a message at a side. */
PTO_SIM_HOT const pto_known_cost_t *cost_at(pto_sim_t *sim, const pto_proc_t *proc, const pto_side_t *side,
                                            const pto_message_t *message) {
    return pto_sim_message_cost(sim, proc->at, side->moved, message->step, (pto_level_t)message->level,
                                message->bytes);
}

/* Assigns a message to a side, which begins to move it. */
PTO_SIM_HOT void start_side(pto_sim_t *sim, const pto_proc_t *proc, pto_side_t *side, uint32_t number,
                            const pto_message_t *message, const pto_sim_cost_t *cost, bool plain) {
    bool sends = side == &proc->out;
    if (!plain)
        pto_sim_put_lane(sim, proc, sends ? PTO_LANES_SEND : PTO_LANES_RECV, true);
    side->message = number;
    side->start_s = sim->now_s;
    side->alpha_s = cost->alpha_s;
    side->bytes_s = cost->bytes_s;
    side->link_s = cost->link_s[sends];
    if (!plain && sim->has_wire_latency)
        side->alpha_s -= pto_sim_wire_latency_s(sim, proc, side, message, cost->alpha_s);
    side->moved |= (uint8_t)(1u << message->level);
    if (!plain && sim->both_ways)
        pto_sim_share_both_ways(sim, (uint32_t)(proc - sim->proc), side, sends, cost->alone_s);
}

static void show_message(pto_sim_t *sim, uint32_t rank, const pto_side_t *side,
                         const pto_message_t *message) {
    bool sends = side == &sim->proc[rank].out;
    pto_sim_span(sim, sends ? PTO_RESOURCE_SEND : PTO_RESOURCE_RECV, rank,
                 sim->proc[sends ? message->target : message->source].rank, message->bytes, side->start_s);
}

/* A message has ended at one of its ends; the second one frees its record. */
PTO_SIM_HOT void end_message(pto_sim_t *sim, uint32_t rank, pto_side_t *side, pto_message_t *message,
                             pto_side_use_t *use, bool plain) {
    if (!plain && sim->options->visit)
        show_message(sim, rank, side, message);
    use->stage_busy_s += sim->now_s - side->start_s;
    use->link_s += side->link_s;
    if (message->one_end)
        pto_pool_give(&sim->pool, side->message);
    else
        message->one_end = true;
    side->message = 0;
    const pto_proc_t *proc = &sim->proc[rank];
    if (!plain)
        pto_sim_put_lane(sim, proc, side == &proc->out ? PTO_LANES_SEND : PTO_LANES_RECV, false);
}

/* A side's last message of the stage has ended. */
PTO_SIM_HOT void close_side(const pto_sim_t *sim, pto_side_t *side, double stage_s, pto_side_use_t *use) {
    use->busy_s += use->stage_busy_s;
    use->waiting_s += pto_sim_excess(sim->now_s, stage_s + use->stage_busy_s);
    use->stage_busy_s = 0;
    side->moved = 0;
}

/* --- receiving ------------------------------------------------------------------------------------------ */

PTO_SIM_HOT void start_receiving(pto_sim_t *sim, uint32_t rank, uint32_t number, const pto_message_t *message,
                                 bool plain) {
    pto_proc_t *proc = &sim->proc[rank];
    if (proc->recvs_open == 0) {
        pto_sim_fail(sim, PTO_ERR_INVALID_PLAN, rank, "is sent a message that it does not receive");
        return;
    }
    start_side(sim, proc, &proc->in, number, message, &cost_at(sim, proc, &proc->in, message)->cost, plain);
    proc->in.through_s[PTO_THROUGH_LINK] = sim->now_s;
    proc->in.through_s[PTO_THROUGH_SENDER] = 0;
    if (plain || sim->is_free || !pto_sim_enter_node(sim, rank, message))
        set_end(sim, rank, &proc->in, PTO_SLOT_RECV);
}

static bool side_is_busy(pto_sim_t *sim, uint32_t rank, bool sends) {
    return pto_sim_busy_side(&sim, rank, sends) != NULL;
}

/* A posted message has reached its target, which receives it now or, if the side is busy, later. */
PTO_SIM_HOT void arrive(pto_sim_t *sim, uint32_t number, const pto_message_t *message, bool plain) {
    uint32_t rank = message->target;
    pto_proc_t *proc = &sim->proc[rank];
    if (!(plain ? proc->in.message != 0 : side_is_busy(sim, rank, false))) {
        start_receiving(sim, rank, number, message, plain);
        return;
    }
    pto_queue_add(&sim->pool, &proc->in.queue, number);
    if (!plain)
        pto_sim_put_lane(sim, proc, PTO_LANES_TO_RECV, true);
}

/* Returns whether a message has passed its sender's links; if not, waits for the first that is left. */
PTO_SIM_HOT bool has_passed_links(pto_sim_t *sim, const pto_proc_t *sender, uint8_t *waits, bool plain) {
    bool known = plain || (sender->out.through_s[PTO_THROUGH_LINK] != INFINITY &&
                           sender->out.through_s[PTO_THROUGH_RATE] != INFINITY);
    return known || pto_sim_wait_for_sender(sim, sender, waits);
}

/* Returns whether the receiving side is done; if not, sets its next event, or waits for a link. */
PTO_SIM_HOT bool received(pto_sim_t *sim, uint32_t rank, const pto_message_t *message, bool plain) {
    pto_proc_t *proc = &sim->proc[rank];
    if (!plain && proc->in.through_s[PTO_THROUGH_LINK] == INFINITY &&
        !pto_sim_wait_for_receiver(sim, proc, message))
        return false;
    const pto_proc_t *sender = &sim->proc[message->source];
    bool sending = sender->out.message == proc->in.message;
    if (sending && !has_passed_links(sim, sender, &proc->waits_sender, plain))
        return false;
    double last_byte_s = later(proc->in.start_s + proc->in.bytes_s, proc->in.through_s[PTO_THROUGH_LINK]);
    double left_sender_s =
        sending ? sender->out.through_s[PTO_THROUGH_LINK] : proc->in.through_s[PTO_THROUGH_SENDER];
    last_byte_s = later(last_byte_s, left_sender_s);
    double end_s = last_byte_s + proc->in.alpha_s;
    return is_done(sim, rank, PTO_SLOT_RECV,
                   sending ? later(end_s, sender->out.through_s[PTO_THROUGH_RATE]) : end_s);
}

/* The receiving side is free: the next lane that has a message waiting receives it. */
PTO_SIM_HOT void receive_next(pto_sim_t *sim, uint32_t rank, bool plain) {
    uint32_t next = 0;
    pto_sim_lane_t lane = {sim, rank};
    if (plain)
        next = pto_queue_take(&sim->pool, &sim->proc[rank].in.queue);
    for (uint32_t i = 1; !plain && !next && pto_sim_next_lane(sim, rank, PTO_LANES_TO_RECV, &i, &lane);) {
        pto_proc_t *proc = &lane.sim->proc[lane.rank];
        next = pto_queue_take(&lane.sim->pool, &proc->in.queue);
        if (!next)
            pto_sim_put_lane(lane.sim, proc, PTO_LANES_TO_RECV, false);
    }
    if (next)
        start_receiving(lane.sim, lane.rank, next, pto_message_at(&lane.sim->pool, next), plain);
}

/* The side may be done with its message. Returns whether the stage's messages may have ended. */
PTO_SIM_HOT bool recv_event(pto_sim_t *sim, uint32_t rank, bool plain) {
    pto_proc_t *proc = &sim->proc[rank];
    if (!proc->in.message)
        return false;
    pto_message_t *message = pto_message_at(&sim->pool, proc->in.message);
    if (!received(sim, rank, message, plain))
        return false;
    uint32_t source = message->source - proc->lane * sim->ranks;
    proc->expected -= pto_sim_message_digest(source, message->bytes);
    proc->recvs_open--;
    end_message(sim, rank, &proc->in, message, &proc->receiving, plain);
    if (proc->recvs_open == 0) {
        if (proc->expected != 0)
            pto_sim_fail(sim, PTO_ERR_INVALID_PLAN, rank,
                         "is sent messages of other ranks or sizes than it receives");
        close_side(sim, &proc->in, proc->stage_s, &proc->receiving);
    }
    receive_next(sim, rank, plain);
    return messages_ended(proc);
}

/* --- sending -------------------------------------------------------------------------------------------- */

/* Returns how many stages the target has gone beyond the one that receives the message; negative: it has not
 * reached it. */
PTO_SIM_HOT int64_t stages_ahead(const pto_sim_t *sim, const pto_message_t *message) {
    return sim->proc[message->target].at->walk.instance - (int64_t)message->instance;
}

/* Returns whether the target has posted the receive of a message, or has even left its stage (an error). */
PTO_SIM_HOT bool is_posted(const pto_sim_t *sim, const pto_message_t *message, bool plain) {
    int64_t ahead = stages_ahead(sim, message);
    return ahead > 0 || (ahead == 0 && (plain || sim->proc[message->target].state != PTO_PROC_LANE));
}

PTO_SIM_HOT void start_sending(pto_sim_t *sim, uint32_t rank, uint32_t number, pto_message_t *message,
                               const pto_known_cost_t *known, bool plain) {
    pto_proc_t *proc = &sim->proc[rank];
    message->start_s = sim->now_s;
    message->waits = false;
    if (!known)
        known = cost_at(sim, proc, &proc->out, message);
    start_side(sim, proc, &proc->out, number, message, &known->cost, plain);
    proc->out.through_s[PTO_THROUGH_LINK] = sim->now_s + proc->out.bytes_s;
    proc->out.through_s[PTO_THROUGH_RATE] = sim->now_s;
    if (plain || sim->is_free || !pto_sim_leave_node(sim, rank, message))
        set_end(sim, rank, &proc->out, PTO_SLOT_SEND);
    if (!is_posted(sim, message, plain))
        pto_heap_add(&sim->pool, &sim->proc[message->target].early, number);
    else if (stages_ahead(sim, message) == 0)
        arrive(sim, number, message, plain);
    else
        pto_sim_fail(sim, PTO_ERR_INVALID_PLAN, message->target,
                     "has already left the stage of a message sent to it");
}

/* Creates the record of a send, and finds its cost; 0 on failure. */
PTO_SIM_HOT uint32_t make_message(pto_sim_t *sim, const pto_proc_t *proc, int64_t peer_rank, int64_t bytes,
                                  const pto_known_cost_t **known, bool plain) {
    uint32_t number = pto_pool_take(&sim->pool);
    if (!number) {
        sim->status = pto_error_set(sim->err, PTO_ERR_MEMORY, "out of memory for %lu messages in flight",
                                    (unsigned long)sim->pool.used);
        return 0;
    }
    uint32_t step = (uint32_t)(proc->at->walk.stage->step_first + proc->send_step);
    pto_level_t level = pto_sim_level(sim, proc, peer_rank, plain);
    const pto_known_cost_t *cost = pto_sim_message_cost(sim, proc->at, proc->out.moved, step, level, bytes);
    *known = cost;
    int64_t target = plain ? peer_rank : pto_sim_representative(sim, peer_rank) + proc->lane * sim->ranks;
    *pto_message_at(&sim->pool, number) = (pto_message_t){.bytes = bytes,
                                                          .source = (uint32_t)(proc - sim->proc),
                                                          .target = (uint32_t)target,
                                                          .instance = instance_of(proc),
                                                          .step = step & PTO_MESSAGE_STEP_MASK,
                                                          .space = cost->space,
                                                          .level = level,
                                                          .waits = cost->held_back};
    return number;
}

/* Puts a message into the queue from which the sending side of its rank takes the next one (take_next). */
PTO_SIM_HOT void queue_send(pto_sim_t *sim, uint32_t rank, uint32_t number, bool plain) {
    pto_proc_t *proc = &sim->proc[rank];
    pto_queue_add(&sim->pool, &proc->out.queue, number);
    if (!plain)
        pto_sim_put_lane(sim, proc, PTO_LANES_TO_SEND, true);
}

/* Returns the message to send next: the first one in the queue, else the next one of the plan; 0: none. Sets
 * `*known` to its cost, if that has been found. */
PTO_SIM_HOT uint32_t take_next(pto_sim_t *sim, pto_proc_t *proc, const pto_known_cost_t **known, bool plain) {
    uint32_t number = pto_queue_take(&sim->pool, &proc->out.queue);
    int64_t peer_rank, bytes;
    *known = NULL;
    if (number || !pto_sim_next_send(sim, proc, &peer_rank, &bytes))
        return number;
    number = make_message(sim, proc, peer_rank, bytes, known, plain);
    if (number) {
        proc->sends_open++;
        sim->messages++;
    }
    return number;
}

/* The sending side is free. A rendezvous message whose receive is not posted is queued and checked again
 * after all other events of this time (`is_retry`). If the receive is still not posted, the message goes to
 * its target's heap, where it waits for the receive (take_early), and the next message is tried. */
PTO_SIM_HOT void send_next(pto_sim_t *sim, uint32_t rank, bool is_retry, bool plain) {
    pto_proc_t *proc = &sim->proc[rank];
    const pto_known_cost_t *known;
    uint32_t number;
    while ((number = take_next(sim, proc, &known, plain))) {
        if (!plain && side_is_busy(sim, rank, true)) {
            queue_send(sim, rank, number, plain);
            return;
        }
        pto_message_t *message = pto_message_at(&sim->pool, number);
        if (!message->waits || is_posted(sim, message, plain)) {
            start_sending(sim, rank, number, message, known, plain);
            return;
        }
        if (!is_retry) {
            queue_send(sim, rank, number, plain);
            pto_sim_set(sim, rank, PTO_SLOT_RETRY, sim->now_s);
            return;
        }
        message->start_s = sim->now_s;
        pto_heap_add(&sim->pool, &sim->proc[message->target].early, number);
    }
}

/* Returns whether the sending side is done; if not, sets its next event, or waits for a link. */
PTO_SIM_HOT bool sent(pto_sim_t *sim, uint32_t rank, bool plain) {
    pto_proc_t *proc = &sim->proc[rank];
    if (!has_passed_links(sim, proc, &proc->out.waits, plain))
        return false;
    double end_s = later(proc->out.through_s[PTO_THROUGH_LINK] + proc->out.alpha_s,
                         proc->out.through_s[PTO_THROUGH_RATE]);
    return is_done(sim, rank, PTO_SLOT_SEND, end_s);
}

/* Returns whether a rank has messages of its stage to send. */
PTO_SIM_HOT bool has_more(const pto_proc_t *proc) {
    return proc->state == PTO_PROC_MESSAGES && (proc->out.queue.first || !proc->sends_made_all);
}

/* The sending side is free for all lanes. */
PTO_SIM_HOT void send_more(pto_sim_t *sim, uint32_t rank, bool plain) {
    pto_sim_lane_t lane = {sim, rank};
    if (plain && has_more(&sim->proc[rank]))
        send_next(sim, rank, false, plain);
    for (uint32_t i = 1; !plain && pto_sim_next_lane(sim, rank, PTO_LANES_TO_SEND, &i, &lane);) {
        const pto_proc_t *proc = &lane.sim->proc[lane.rank];
        if (has_more(proc))
            send_next(lane.sim, lane.rank, false, plain);
        else
            pto_sim_put_lane(lane.sim, proc, PTO_LANES_TO_SEND, false);
    }
}

/* The side may be done with its message. Returns whether the stage's messages may have ended. */
PTO_SIM_HOT bool send_event(pto_sim_t *sim, uint32_t rank, bool plain) {
    pto_proc_t *proc = &sim->proc[rank];
    if (!proc->out.message || !sent(sim, rank, plain))
        return false;
    pto_message_t *message = pto_message_at(&sim->pool, proc->out.message);
    pto_proc_t *target = &sim->proc[message->target];
    if (target->in.message == proc->out.message)
        target->in.through_s[PTO_THROUGH_SENDER] = proc->out.through_s[PTO_THROUGH_LINK];
    end_message(sim, rank, &proc->out, message, &proc->sending, plain);
    proc->sends_open--;
    send_more(sim, rank, plain);
    if (proc->sends_open == 0 && proc->sends_made_all)
        close_side(sim, &proc->out, proc->stage_s, &proc->sending);
    return messages_ended(proc);
}

/* --- stages --------------------------------------------------------------------------------------------- */

/* Continues the messages whose receives have just been posted: one that its sender has started arrives; one
 * that was held back returns to its sender's queue. */
static void take_early(pto_sim_t *sim, pto_proc_t *proc, bool plain) {
    while (proc->early && sim->status == PTO_OK &&
           pto_message_at(&sim->pool, proc->early)->instance <= instance_of(proc)) {
        uint32_t number = pto_heap_take(&sim->pool, &proc->early);
        const pto_message_t *message = pto_message_at(&sim->pool, number);
        if (!message->waits) {
            arrive(sim, number, message, plain);
            continue;
        }
        queue_send(sim, message->source, number, plain);
        if (!sim->proc[message->source].out.message)
            send_next(sim, message->source, false, plain);
    }
}

/* Posts the receives of the stage that a rank has entered, and begins its sends. */
PTO_SIM_HOT void post(pto_sim_t *sim, uint32_t rank, bool plain) {
    pto_proc_t *proc = &sim->proc[rank];
    bool sends = proc->at->view->sends;
    proc->stage_s = sim->now_s;
    pto_sim_count_receives(sim, proc, plain);
    proc->sends_made_all = !sends;
    if (sends && !plain)
        pto_sim_put_lane(sim, proc, PTO_LANES_TO_SEND, true);
    if (sends)
        pto_sim_begin_sends(sim, proc, proc->at->view->first_send);
    if (proc->early)
        take_early(sim, proc, plain);
    if (sends && sim->status == PTO_OK)
        send_next(sim, rank, false, plain);
}

/* Begins a stage's only local step, which nothing slows; false if it takes no time. A copy that an engine
 * carries has three events: one now (JOINS), one at its end (COPIES), and another one then (LEAVES). A copy
 * that shares its engine has the same ones (engines.c), so simultaneous events have the same order. */
PTO_SIM_HOT bool begin_only_local(pto_sim_t *sim, uint32_t rank, pto_sim_move_t *move) {
    pto_proc_t *proc = &sim->proc[rank];
    pto_behind_t behind = pto_sim_behind(proc, move);
    if (!move->known || move->behind != behind)
        pto_sim_find_only_local(sim, rank, behind, move);
    proc->stage_s = sim->now_s;
    proc->streams = move->streams && (move->takes_time || proc->streams);
    if (!move->takes_time)
        return false;
    double end_s = sim->now_s + move->copy.alone_s;
    if (move->joins)
        sim->hot[rank].end_s = end_s;
    proc->state = move->joins ? PTO_PROC_JOINS : PTO_PROC_LEAVES;
    pto_sim_set(sim, rank, PTO_SLOT_RUN, move->joins ? sim->now_s : end_s);
    return true;
}

/* Handles an event of such a step. Returns whether the step has ended. */
PTO_SIM_HOT bool only_local_event(pto_sim_t *sim, uint32_t rank) {
    pto_proc_t *proc = &sim->proc[rank];
    pto_local_hot_t *hot = &sim->hot[rank];
    if (proc->state != PTO_PROC_LEAVES) {
        bool begins = proc->state == PTO_PROC_JOINS && pto_sim_before(sim->now_s, hot->end_s);
        proc->state = begins ? PTO_PROC_COPIES : PTO_PROC_LEAVES;
        pto_sim_set(sim, rank, PTO_SLOT_RUN, begins ? hot->end_s : sim->now_s);
        return false;
    }
    const pto_sim_move_t *move = proc->at->only_local;
    double busy_s = sim->now_s - proc->stage_s;
    hot->busy_s += busy_s;
    if (move->copy.bytes > 0)
        pto_engine_at(sim, pto_sim_place(sim, proc->rank), move->copy.engine)->busy_s += busy_s;
    proc->state = PTO_PROC_BETWEEN;
    return true;
}

/* Begins the stage that a rank has reached. `follows`: see pto_sim_prepare_locals. */
PTO_SIM_HOT void open_stage(pto_sim_t *sim, uint32_t rank, bool follows, bool plain) {
    pto_proc_t *proc = &sim->proc[rank];
    const pto_stage_view_t *view = proc->at->view;
    if (proc->at->ends_streams)
        proc->streams = false;
    bool prepares = view->locals && !(plain && proc->at->only_local);
    if (view->signals_early || prepares || proc->streams)
        pto_sim_prepare_locals(sim, rank, follows);
    proc->state = view->messages ? PTO_PROC_MESSAGES : PTO_PROC_LOCAL;
    if (view->messages || proc->early)
        post(sim, rank, plain);
}

void pto_sim_open_stage(pto_sim_t *sim, uint32_t rank, bool follows) {
    open_stage(sim, rank, follows, false);
}

/* Goes to the next stage and begins it, or skips it; false if the rank waits for lanes or has ended. */
PTO_SIM_HOT bool begin_next_stage(pto_sim_t *sim, uint32_t rank, bool plain) {
    pto_proc_t *proc = &sim->proc[rank];
    if (!proc->at->plain && proc->at->walk.branch >= 0 && sim->local[rank].in_branch)
        pto_sim_leave_branch(sim, rank);
    if (!pto_sim_next_stage(sim, proc)) {
        pto_sim_end_rank(sim, rank);
        return false;
    }
    proc->stage_s = proc->at->plain ? sim->now_s : proc->stage_s;
    if (!proc->at->plain && !pto_sim_enter_stage(sim, rank))
        return proc->state != PTO_PROC_LANE;
    open_stage(sim, rank, true, plain);
    return true;
}

/* Continues a rank's local steps; true when the stage's last one has ended. */
PTO_SIM_HOT bool run_locals(pto_sim_t *sim, uint32_t rank, bool plain) {
    pto_sim_move_t *alone = plain ? sim->proc[rank].at->only_local : NULL;
    return alone ? !begin_only_local(sim, rank, alone) : pto_sim_run_local(sim, rank);
}

/* Continues a rank until it has to wait. In each stage, its state goes BETWEEN, MESSAGES, LOCAL, BETWEEN. */
PTO_SIM_HOT void pass(pto_sim_t *sim, uint32_t rank, bool plain) {
    pto_proc_t *proc = &sim->proc[rank];
    while (sim->status == PTO_OK) {
        if (proc->state == PTO_PROC_MESSAGES && !messages_ended(proc))
            return;
        if (proc->state == PTO_PROC_NCCL || proc->state == PTO_PROC_ENDED)
            return;
        if (proc->state != PTO_PROC_BETWEEN) {
            proc->state = proc->state == PTO_PROC_MESSAGES ? PTO_PROC_LOCAL : proc->state;
            if (proc->at->view->locals && !run_locals(sim, rank, plain))
                return;
            proc->state = PTO_PROC_BETWEEN;
        }
        if (!begin_next_stage(sim, rank, plain))
            return;
    }
}

/* --- events --------------------------------------------------------------------------------------------- */

/* Handles an event of a rank, which continues if its messages or its local step may have ended. */
PTO_SIM_HOT void rank_event(pto_sim_t *sim, uint32_t rank, pto_slot_t slot, bool plain) {
    bool passes = false;
    switch (slot) {
    case PTO_SLOT_RUN:
        passes = plain && sim->proc[rank].state >= PTO_PROC_JOINS ? only_local_event(sim, rank)
                                                                  : pto_sim_run_event(sim, rank);
        break;
    case PTO_SLOT_SEND:
        passes = send_event(sim, rank, plain);
        break;
    case PTO_SLOT_RECV:
        passes = recv_event(sim, rank, plain);
        break;
    case PTO_SLOT_RETRY:
        if (!sim->proc[rank].out.message)
            send_next(sim, rank, true, plain);
        break;
    case PTO_SLOTS_PER_RANK:
        break;
    }
    if (passes)
        pass(sim, rank, plain);
}

/* Handles the event of a slot; returns the simulation that it belongs to. */
PTO_SIM_HOT pto_sim_t *handle(pto_sim_t *first, uint32_t slot, bool plain) {
    if (slot < first->job.first_link_slot) {
        uint32_t rank = slot / PTO_SLOTS_PER_RANK;
        pto_sim_t *sim = plain ? first : pto_sim_owner(first, &rank);
        rank_event(sim, rank, (pto_slot_t)(slot % PTO_SLOTS_PER_RANK), plain);
        return sim;
    }
    if (slot < first->job.first_gpu_slot)
        pto_link_event(first, slot - first->job.first_link_slot);
    else
        pto_gpu_event(first, slot - first->job.first_gpu_slot);
    return first;
}

/* How often a simulation checks whether it has been interrupted. */
enum { EVENTS_PER_POLL = 1 << 16 };

/* Starts all ranks of a plan that does not follow another one. */
PTO_SIM_HOT bool begin(pto_sim_t *sim, bool plain) {
    for (uint32_t rank = 0; !sim->follows && rank < sim->ranks * sim->lanes && sim->status == PTO_OK; rank++)
        if (sim->proc[rank].state == PTO_PROC_BETWEEN)
            pass(sim, rank, plain);
    return sim->status == PTO_OK;
}

PTO_SIM_HOT void run(pto_sims_t *all, pto_agenda_t *agenda, bool plain) {
    pto_sim_t *first = all->sim, *sim = first;
    uint32_t slot, until_poll = EVENTS_PER_POLL;
    double time_s;
    for (uint32_t i = 0; i < all->count; i++)
        if (!begin(&all->sim[i], plain))
            return;
    while (sim->status == PTO_OK && pto_agenda_take(agenda, &slot, &time_s)) {
        if (time_s > first->now_s)
            first->now_s = time_s;
        if (--until_poll == 0) {
            until_poll = EVENTS_PER_POLL;
            first->events += EVENTS_PER_POLL;
            if (pto_is_stopped()) {
                pto_sim_fail(first, PTO_ERR_INTERRUPTED, 0, "is interrupted");
                break;
            }
        }
        sim = handle(first, slot, plain);
    }
    first->events += EVENTS_PER_POLL - until_poll;
}

static void run_plain(pto_sims_t *all, pto_agenda_t *agenda) { run(all, agenda, true); }
static void run_any(pto_sims_t *all, pto_agenda_t *agenda) { run(all, agenda, false); }

void pto_sims_run_events(pto_sims_t *all, pto_agenda_t *agenda) {
    if (all->sim->is_plain)
        run_plain(all, agenda);
    else
        run_any(all, agenda);
}
