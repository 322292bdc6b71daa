/* Messages of the simulator: sending, matching, receiving.
 *
 * A rank has a sending and a receiving side. Each moves one message at a time, so a stage's sends add up, its
 * receives add up, and the longer sum counts. A message is one transfer: it is received while it is sent,
 * once it has started, its receive is posted and the receiving side is free, and not before its last byte has
 * left. Sends are generated from the plan one by one, never as a list; only messages in flight, or held back
 * until their receive is posted, have a record. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "simulate/moves.h"

/* --- properties of messages ----------------------------------------------------------------------------- */

static uint32_t instance_of(const pto_proc_t *proc) { return (uint32_t)proc->at->walk.instance; }

/* Called by both ends; the second call frees the record. */
static void release(pto_sim_t *sim, uint32_t number, pto_message_t *message) {
    if (message->one_end)
        pto_pool_give(&sim->pool, number);
    else
        message->one_end = true;
}

/* --- receiving ------------------------------------------------------------------------------------------ */

/* The side of a rank, in whatever lane, that sends or receives a message within its node; NULL: none. */
static pto_side_t *moving_side(pto_sim_t *sim, uint32_t rank, bool sends, pto_space_t space) {
    for (uint32_t i = 0; i < sim->all->lanes; i++) {
        pto_sim_lane_t lane = pto_sim_other_lane(sim, rank, i);
        pto_proc_t *proc = &lane.sim->proc[lane.rank];
        pto_side_t *side = sends ? &proc->out : &proc->in;
        const pto_message_t *message = side->message ? pto_message_at(&lane.sim->pool, side->message) : NULL;
        if (message && message->level != PTO_LEVEL_OFF_NODE && message->space == (uint8_t)space)
            return side;
    }
    return NULL;
}

/* A message, at one of its ends, takes longer from now on. It is looked at again when it would have ended. */
static void lengthen(pto_side_t *side, bool sends, double seconds) {
    side->bytes_s += seconds;
    if (sends && side->through_s[0] != INFINITY)
        side->through_s[0] += seconds;
}

/* A process that sends and receives at once does both slower: each waits for a part of what the other does
 * meanwhile. */
static void share_both_ways(pto_sim_t *sim, uint32_t rank, pto_side_t *side, bool sends, double alone_s) {
    const pto_message_t *message = pto_message_at(&sim->pool, side->message);
    const pto_param_t *both_ways = &sim->machine->both_ways[message->space];
    pto_side_t *other = pto_param_known(both_ways) && message->level != PTO_LEVEL_OFF_NODE
                            ? moving_side(sim, rank, !sends, (pto_space_t)message->space)
                            : NULL;
    if (!other || alone_s == 0)
        return;
    double left_s = other->start_s + other->bytes_s - sim->now_s;
    if (left_s <= 0)
        return;
    double slower = side->bytes_s / alone_s; /* by what a pipeline's copies take */
    double seconds = both_ways->value * fmin(left_s, side->bytes_s) / slower;
    side->bytes_s += seconds;
    lengthen(other, !sends, seconds);
}

void pto_sim_interrupt(pto_sim_t *sim, uint32_t rank, double seconds) {
    for (int sends = 0; sends < 2; sends++) {
        pto_side_t *side = moving_side(sim, rank, sends == 1, PTO_SPACE_CPU);
        if (side && side->start_s + side->bytes_s > sim->now_s)
            lengthen(side, sends == 1, seconds);
    }
}

/* What passes between the ends of a message occupies neither: its sender is done earlier, and of its receiver
 * only what has not passed since the message left. Later messages in flight pay their gap, without it. */
static double latency_apart_s(const pto_sim_t *sim, const pto_proc_t *proc, const pto_side_t *side,
                              const pto_message_t *message, double alpha_s) {
    const pto_param_t *latency = &sim->machine->latency_s[message->space];
    bool sends = side == &proc->out;
    if (!pto_param_known(latency) || message->level != PTO_LEVEL_OFF_NODE || proc->at->walk.lanes >= 0 ||
        side->moved & 1u << PTO_LEVEL_OFF_NODE)
        return 0;
    double passed_s = sends ? latency->value : fmin(sim->now_s - message->start_s, latency->value);
    return fmin(passed_s, alpha_s);
}

/* Assign a message to a side, and find its cost there. */
static inline void start_side(pto_sim_t *sim, const pto_proc_t *proc, pto_side_t *side, uint32_t number,
                              const pto_message_t *message) {
    const pto_sim_cost_t *cost = &pto_sim_message_cost(sim, proc->at, side->moved, message->step,
                                                       (pto_level_t)message->level, message->bytes)
                                      ->cost;
    side->message = number;
    side->start_s = sim->now_s;
    side->alpha_s = cost->alpha_s;
    side->bytes_s = cost->bytes_s;
    if (sim->latency_apart)
        side->alpha_s -= latency_apart_s(sim, proc, side, message, cost->alpha_s);
    side->moved |= (uint8_t)(1u << message->level);
    if (sim->both_ways)
        share_both_ways(sim, (uint32_t)(proc - sim->proc), side, side == &proc->out, cost->alone_s);
}

/* Set the event at which a side would be done if no link delayed it. */
static void set_end(pto_sim_t *sim, uint32_t rank, const pto_side_t *side, pto_slot_t slot) {
    pto_sim_set(sim, rank, slot, sim->now_s + (side->alpha_s + side->bytes_s));
}

/* The links on which a message shares with others at one of its ends. */
static pto_link_kind_t links_of(const pto_sim_t *sim, const pto_message_t *message, bool sends) {
    if (message->level != PTO_LEVEL_OFF_NODE)
        return PTO_LINK_ROUTES;
    if (sim->machine->fabric.levels > 0)
        return PTO_LINK_FABRIC;
    return sends ? PTO_LINK_INJECTION : PTO_LINK_EJECTION;
}

/* Returns whether a side whose message is on a link waits for a link to wake it. It does if this one delayed
 * its last message and so will probably delay this one; otherwise the side polls at its own end. */
static bool expect_delay(pto_sim_t *sim, pto_link_kind_t kind, uint32_t rank, pto_side_t *side) {
    const pto_link_t *link = pto_link_of(sim, kind, sim->proc[rank].node);
    if (!link->held_up || side->waits != PTO_LINKS_PER_NODE)
        return side->waits != PTO_LINKS_PER_NODE;
    side->waits = (uint8_t)kind;
    pto_link_wait(sim, kind, sim->proc[rank].node);
    return true;
}

/* What a message needs of the link of its sender's or receiver's node. */
static inline double link_s(const pto_sim_t *sim, const pto_message_t *message, bool sends) {
    double s_per_byte = sends ? sim->view[message->step].injection_s_per_byte
                              : sim->ejection_s_per_byte[message->space];
    return message->level == PTO_LEVEL_OFF_NODE ? (double)message->bytes * s_per_byte : 0;
}

/* Put a message on the links of its receiver that can delay it. Returns whether the receiver waits for one. */
static bool enter_node(pto_sim_t *sim, uint32_t rank, const pto_message_t *message) {
    pto_side_t *in = &sim->proc[rank].in;
    double ejection_s = link_s(sim, message, false);
    if (ejection_s > 0 && !sim->limited[PTO_LINK_EJECTION])
        return false;
    if (ejection_s > 0)
        pto_link_join(sim, PTO_LINK_EJECTION, rank, ejection_s, message->bytes);
    else if (!pto_sim_flows(sim, (pto_level_t)message->level) || !pto_routes_join(sim, false, rank, message))
        return false;
    in->through_s[0] = INFINITY;
    return expect_delay(sim, links_of(sim, message, false), rank, in);
}

static inline void start_receiving(pto_sim_t *sim, uint32_t rank, uint32_t number,
                                   const pto_message_t *message) {
    pto_proc_t *proc = &sim->proc[rank];
    if (proc->recvs_open == 0) {
        pto_sim_fail(sim, PTO_ERR_INVALID_PLAN, rank, "is sent a message that it does not receive");
        return;
    }
    start_side(sim, proc, &proc->in, number, message);
    proc->in.through_s[0] = sim->now_s;
    proc->in.through_s[1] = 0;
    bool free = !sim->has_flows && !sim->limited[PTO_LINK_EJECTION];
    if (free || !enter_node(sim, rank, message))
        set_end(sim, rank, &proc->in, PTO_SLOT_RECV);
}

static inline void arrive(pto_sim_t *sim, uint32_t number, const pto_message_t *message) {
    uint32_t rank = message->target;
    if (pto_sim_side_is_busy(sim, rank, false))
        pto_queue_add(&sim->pool, &sim->proc[rank].in.queue, number);
    else
        start_receiving(sim, rank, number, message);
}

static bool will_be_through(pto_sim_t *sim, const pto_proc_t *sender, uint8_t *waits) {
    for (int i = 0; i < 2; i++) {
        if (sender->out.through_s[i] != INFINITY)
            continue;
        const pto_message_t *message = pto_message_at(&sim->pool, sender->out.message);
        pto_link_kind_t kind = i == 0 ? links_of(sim, message, true) : PTO_LINK_RATE;
        pto_link_advance(sim, kind, sender->node);
        if (sender->out.through_s[i] != INFINITY)
            continue;
        *waits = (uint8_t)kind;
        pto_link_wait(sim, kind, sender->node);
        return false;
    }
    return true;
}

/* Whether a sender's links have let its message through; if not, wait for the first one that has not. */
static inline bool is_through(pto_sim_t *sim, const pto_proc_t *sender, uint8_t *waits) {
    bool known = sender->out.through_s[0] != INFINITY && sender->out.through_s[1] != INFINITY;
    return known || will_be_through(sim, sender, waits);
}

/* Whether a side is done that would be at end_s; if not, that becomes its next event. */
static inline bool is_done(pto_sim_t *sim, uint32_t rank, pto_slot_t slot, double end_s) {
    if (!pto_sim_before(sim->now_s, end_s))
        return true;
    pto_sim_set(sim, rank, slot, end_s);
    return false;
}

static double later(double a_s, double b_s) { return a_s < b_s ? b_s : a_s; }

/* Whether the receiving side is done with its message; if not, its next event is set, or it waits for a
 * link. */
static inline bool received(pto_sim_t *sim, uint32_t rank, const pto_message_t *message) {
    pto_proc_t *proc = &sim->proc[rank];
    if (proc->in.through_s[0] == INFINITY) {
        pto_link_kind_t kind = links_of(sim, message, false);
        pto_link_advance(sim, kind, proc->node);
        if (proc->in.through_s[0] == INFINITY) {
            proc->in.waits = (uint8_t)kind;
            pto_link_wait(sim, kind, proc->node);
            return false;
        }
    }
    const pto_proc_t *sender = &sim->proc[message->source];
    bool sending = sender->out.message == proc->in.message;
    if (sending && !is_through(sim, sender, &proc->waits_sender))
        return false;
    double last_byte_s = later(proc->in.start_s + proc->in.bytes_s, proc->in.through_s[0]);
    last_byte_s = later(last_byte_s, sending ? sender->out.through_s[0] : proc->in.through_s[1]);
    double end_s = last_byte_s + proc->in.alpha_s;
    return is_done(sim, rank, PTO_SLOT_RECV, sending ? later(end_s, sender->out.through_s[1]) : end_s);
}

static inline void end_message(pto_sim_t *sim, uint32_t rank, pto_side_t *side, pto_message_t *message,
                               pto_side_use_t *use) {
    bool sends = side == &sim->proc[rank].out;
    if (sim->options->visit)
        pto_sim_span(sim, sends ? PTO_RESOURCE_SEND : PTO_RESOURCE_RECV, rank,
                     sim->proc[sends ? message->target : message->source].rank, message->bytes,
                     side->start_s);
    use->stage_busy_s += sim->now_s - side->start_s;
    use->link_s += link_s(sim, message, sends);
    release(sim, side->message, message);
    side->message = 0;
}

/* A side's last message of the stage has ended. */
static inline void close_side(const pto_sim_t *sim, pto_side_t *side, double stage_s, pto_side_use_t *use) {
    use->busy_s += use->stage_busy_s;
    use->waiting_s += pto_sim_excess(sim->now_s, stage_s + use->stage_busy_s);
    use->stage_busy_s = 0;
    side->moved = 0;
}

/* The receiving side is free: the next lane that has a message waiting receives it. */
static void receive_next(pto_sim_t *sim, uint32_t rank) {
    for (uint32_t i = 1; i <= sim->all->lanes; i++) {
        pto_sim_lane_t lane = pto_sim_other_lane(sim, rank, i);
        uint32_t next = pto_queue_take(&lane.sim->pool, &lane.sim->proc[lane.rank].in.queue);
        if (next) {
            start_receiving(lane.sim, lane.rank, next, pto_message_at(&lane.sim->pool, next));
            return;
        }
    }
}

bool pto_sim_recv_event(pto_sim_t *sim, uint32_t rank) {
    pto_proc_t *proc = &sim->proc[rank];
    if (!proc->in.message)
        return false;
    pto_message_t *message = pto_message_at(&sim->pool, proc->in.message);
    if (!received(sim, rank, message))
        return false;
    uint32_t source = message->source - proc->lane * sim->ranks;
    proc->expected -= pto_sim_message_digest(source, message->bytes);
    proc->recvs_open--;
    end_message(sim, rank, &proc->in, message, &proc->receiving);
    if (proc->recvs_open == 0 && proc->expected != 0)
        pto_sim_fail(sim, PTO_ERR_INVALID_PLAN, rank,
                     "is sent messages of other ranks or sizes than it receives");
    if (proc->recvs_open == 0)
        close_side(sim, &proc->in, proc->stage_s, &proc->receiving);
    receive_next(sim, rank);
    return pto_sim_messages_ended(proc);
}

/* --- sending -------------------------------------------------------------------------------------------- */

/* Put a message on the links of its sender that can delay it. Returns whether the sender waits for one. */
static bool leave_node(pto_sim_t *sim, uint32_t rank, const pto_message_t *message) {
    const pto_step_view_t *view = &sim->view[message->step];
    pto_side_t *out = &sim->proc[rank].out;
    double injection_s = link_s(sim, message, true);
    bool waits = false;
    if (pto_sim_flows(sim, (pto_level_t)message->level) && pto_routes_join(sim, true, rank, message)) {
        out->through_s[0] = INFINITY;
        waits = expect_delay(sim, links_of(sim, message, true), rank, out);
    }
    if (message->level != PTO_LEVEL_OFF_NODE)
        return waits;
    if (injection_s > 0 && sim->limited[PTO_LINK_INJECTION]) {
        pto_link_join(sim, PTO_LINK_INJECTION, rank, injection_s, message->bytes);
        out->through_s[0] = INFINITY;
        waits = expect_delay(sim, PTO_LINK_INJECTION, rank, out);
    }
    if (view->rate_s > 0) {
        pto_link_join(sim, PTO_LINK_RATE, rank, view->rate_s + injection_s, message->bytes);
        out->through_s[1] = INFINITY;
        waits = expect_delay(sim, PTO_LINK_RATE, rank, out);
    }
    return waits;
}

static bool is_posted(const pto_sim_t *sim, const pto_message_t *message) {
    const pto_proc_t *target = &sim->proc[message->target];
    return target->at->walk.instance > (int64_t)message->instance ||
           (target->at->walk.instance == (int64_t)message->instance && target->state != PTO_PROC_LANE);
}

static void start_sending(pto_sim_t *sim, uint32_t rank, uint32_t number, pto_message_t *message) {
    pto_proc_t *proc = &sim->proc[rank];
    message->start_s = sim->now_s;
    start_side(sim, proc, &proc->out, number, message);
    message->waits = false;
    proc->out.through_s[0] = sim->now_s + proc->out.bytes_s;
    proc->out.through_s[1] = sim->now_s;
    bool free =
        !sim->has_flows && !sim->limited[PTO_LINK_INJECTION] && sim->view[message->step].rate_s == 0;
    if (free || !leave_node(sim, rank, message))
        set_end(sim, rank, &proc->out, PTO_SLOT_SEND);
    pto_proc_t *target = &sim->proc[message->target];
    if (target->at->walk.instance > (int64_t)message->instance)
        pto_sim_fail(sim, PTO_ERR_INVALID_PLAN, message->target,
                     "has already left the stage of a message sent to it");
    else if (is_posted(sim, message))
        arrive(sim, number, message);
    else
        pto_heap_add(&sim->pool, &target->early, number);
}

/* Make a record of a send; 0 on failure. */
static uint32_t make_message(pto_sim_t *sim, uint32_t rank, int64_t peer_rank, int64_t bytes) {
    const pto_proc_t *proc = &sim->proc[rank];
    uint32_t number = pto_pool_take(&sim->pool);
    if (!number) {
        sim->status = pto_error_set(sim->err, PTO_ERR_MEMORY, "out of memory for %lld messages in flight",
                                    (long long)sim->pool.in_flight);
        return 0;
    }
    const pto_passage_t *at = proc->at;
    uint32_t step = (uint32_t)(at->walk.stage->step_first + proc->send_step);
    pto_level_t level = pto_sim_level(sim, proc, peer_rank);
    const pto_known_cost_t *cost = pto_sim_message_cost(sim, at, proc->out.moved, step, level, bytes);
    *pto_message_at(&sim->pool, number) =
        (pto_message_t){.bytes = bytes,
                        .source = rank,
                        .target = (uint32_t)pto_sim_stand_in(sim, peer_rank) + proc->lane * sim->ranks,
                        .instance = instance_of(proc),
                        .step = step & PTO_MESSAGE_STEP_MASK,
                        .space = cost->space,
                        .level = level,
                        .waits = cost->held_back};
    return number;
}

/* The message to send next: one that was held back and may now start, else the next of the plan; 0: none. */
static uint32_t take_next(pto_sim_t *sim, uint32_t rank) {
    pto_proc_t *proc = &sim->proc[rank];
    uint32_t number = pto_queue_take(&sim->pool, &proc->out.queue);
    int64_t peer_rank, bytes;
    if (number || !pto_sim_next_send(sim, proc, &peer_rank, &bytes))
        return number;
    number = make_message(sim, rank, peer_rank, bytes);
    if (number) {
        proc->sends_open++;
        sim->messages++;
    }
    return number;
}

/* The sending side is free. A message that must wait for its receive is checked again after all other events
 * of this time. If it still must wait, it is held back and the next one is tried. */
static void send_next(pto_sim_t *sim, uint32_t rank, bool second_look) {
    pto_proc_t *proc = &sim->proc[rank];
    uint32_t number;
    while ((number = take_next(sim, rank))) {
        if (pto_sim_side_is_busy(sim, rank, true)) {
            pto_queue_add(&sim->pool, &proc->out.queue, number);
            return;
        }
        pto_message_t *message = pto_message_at(&sim->pool, number);
        if (!message->waits || is_posted(sim, message)) {
            start_sending(sim, rank, number, message);
            return;
        }
        if (!second_look) {
            pto_queue_add(&sim->pool, &proc->out.queue, number);
            pto_sim_set(sim, rank, PTO_SLOT_LOOK, sim->now_s);
            return;
        }
        message->start_s = sim->now_s;
        pto_heap_add(&sim->pool, &sim->proc[message->target].early, number);
    }
}

void pto_sim_look_event(pto_sim_t *sim, uint32_t rank) {
    if (!sim->proc[rank].out.message)
        send_next(sim, rank, true);
}

static bool sent(pto_sim_t *sim, uint32_t rank) {
    pto_proc_t *proc = &sim->proc[rank];
    if (!is_through(sim, proc, &proc->out.waits))
        return false;
    double end_s = later(proc->out.through_s[0] + proc->out.alpha_s, proc->out.through_s[1]);
    return is_done(sim, rank, PTO_SLOT_SEND, end_s);
}

bool pto_sim_send_event(pto_sim_t *sim, uint32_t rank) {
    pto_proc_t *proc = &sim->proc[rank];
    if (!proc->out.message || !sent(sim, rank))
        return false;
    pto_message_t *message = pto_message_at(&sim->pool, proc->out.message);
    pto_proc_t *target = &sim->proc[message->target];
    if (target->in.message == proc->out.message)
        target->in.through_s[1] = proc->out.through_s[0];
    end_message(sim, rank, &proc->out, message, &proc->sending);
    proc->sends_open--;
    for (uint32_t i = 1; i <= sim->all->lanes; i++) {
        pto_sim_lane_t lane = pto_sim_other_lane(sim, rank, i);
        const pto_proc_t *other = &lane.sim->proc[lane.rank];
        if (other->state == PTO_PROC_MESSAGES && (other->out.queue.first || !other->sends_made_all))
            send_next(lane.sim, lane.rank, false);
    }
    if (proc->sends_open == 0 && proc->sends_made_all)
        close_side(sim, &proc->out, proc->stage_s, &proc->sending);
    return pto_sim_messages_ended(proc);
}

/* A side that waits for this link checks again, at the earliest time when it can be done. */
static void wake(pto_sim_t *sim, pto_link_t *link, pto_link_kind_t kind, uint8_t *waits, uint32_t rank,
                 pto_slot_t slot, double time_s) {
    if (*waits != (uint8_t)kind)
        return;
    *waits = PTO_LINKS_PER_NODE;
    link->waiting--;
    pto_sim_set(sim, rank, slot, time_s > sim->now_s ? time_s : sim->now_s);
}

/* A link of the receiver has let its message through. */
static void end_arrival(pto_sim_t *sim, pto_link_t *link, pto_link_kind_t kind, uint32_t rank,
                        double time_s) {
    pto_proc_t *proc = &sim->proc[rank];
    double alone_s = proc->in.start_s + proc->in.bytes_s;
    double late_s = pto_sim_excess(time_s, alone_s);
    link->waiting_s += late_s;
    link->held_up = late_s > 0;
    proc->in.through_s[0] = time_s;
    wake(sim, link, kind, &proc->in.waits, rank, PTO_SLOT_RECV,
         (late_s > 0 ? time_s : alone_s) + proc->in.alpha_s);
}

/* A link of the sender, or its node's message rate, has let its message through. It may wake the
 * sender, and the receiver if it is receiving this message. */
static void end_departure(pto_sim_t *sim, pto_link_t *link, pto_link_kind_t kind, uint32_t rank,
                          double time_s) {
    pto_proc_t *proc = &sim->proc[rank];
    const pto_message_t *message = pto_message_at(&sim->pool, proc->out.message);
    pto_proc_t *target = &sim->proc[message->target];
    bool by_rate = kind == PTO_LINK_RATE;
    double alone_s = proc->out.start_s + proc->out.bytes_s + (by_rate ? proc->out.alpha_s : 0);
    double late_s = pto_sim_excess(time_s, alone_s);
    link->waiting_s += late_s;
    link->held_up = late_s > 0;
    if (!by_rate && time_s < alone_s)
        time_s = alone_s;
    proc->out.through_s[by_rate] = time_s;
    wake(sim, link, kind, &proc->out.waits, rank, PTO_SLOT_SEND, time_s + (by_rate ? 0 : proc->out.alpha_s));
    if (target->in.message && pto_message_at(&sim->pool, target->in.message) == message)
        wake(sim, link, kind, &target->waits_sender, message->target, PTO_SLOT_RECV,
             time_s + (by_rate ? 0 : target->in.alpha_s));
}

void pto_sim_through(pto_sim_t *sim, pto_link_kind_t kind, bool sends, uint32_t rank, double time_s) {
    pto_link_t *link = pto_link_of(sim, kind, sim->proc[rank].node);
    if (!sends)
        end_arrival(sim, link, kind, rank, time_s);
    else
        end_departure(sim, link, kind, rank, time_s);
}

/* --- a stage's messages --------------------------------------------------------------------------------- */

/* Messages that arrived early for this stage, or waited for it, may continue. */
static void take_early(pto_sim_t *sim, uint32_t rank) {
    pto_proc_t *proc = &sim->proc[rank];
    while (proc->early && sim->status == PTO_OK &&
           pto_message_at(&sim->pool, proc->early)->instance <= instance_of(proc)) {
        uint32_t number = pto_heap_take(&sim->pool, &proc->early);
        const pto_message_t *message = pto_message_at(&sim->pool, number);
        if (!message->waits) {
            arrive(sim, number, message);
            continue;
        }
        pto_queue_add(&sim->pool, &sim->proc[message->source].out.queue, number);
        if (!sim->proc[message->source].out.message)
            send_next(sim, message->source, false);
    }
}

void pto_sim_post(pto_sim_t *sim, uint32_t rank) {
    pto_proc_t *proc = &sim->proc[rank];
    bool sends = proc->at->view->sends;
    proc->stage_s = sim->now_s;
    pto_sim_count_receives(sim, proc);
    proc->sends_made_all = !sends;
    if (sends)
        pto_sim_begin_sends(sim, proc, proc->at->view->send_first);
    if (proc->early)
        take_early(sim, rank);
    if (sends && sim->status == PTO_OK)
        send_next(sim, rank, false);
}
