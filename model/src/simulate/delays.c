/* Delays of a message at its two ends: by data that the process moves in the other direction at the same
 * time, and by the links of the sender's and the receiver's node. run.c calls this file when a message begins
 * or may end; a link that has let a message through calls pto_sim_through.
 *
 * A message joins a link when it begins. How long it takes there depends on the messages that join later, so
 * through_s is INFINITY until the link has let it through. When the side would end undelayed, run.c brings
 * the link up to date and asks it. If the message is not through, the side waits: `waits` names the link that
 * will wake it. A link for which no side waits needs no event. */
#include <math.h>

#include "simulate/simulate_internal.h"

/* Returns the side of a rank, in any lane, that sends or receives a message within its node; NULL: none. */
static pto_side_t *moving_side(pto_sim_t *sim, uint32_t rank, bool sends, pto_space_t space) {
    pto_side_t *side = pto_sim_busy_side(&sim, rank, sends);
    const pto_message_t *message = side ? pto_message_at(&sim->pool, side->message) : NULL;
    return message && message->level != PTO_LEVEL_OFF_NODE && message->space == (uint8_t)space ? side : NULL;
}

/* Makes a message take longer at one of its ends; the event at its former end then finds it not done. */
static void lengthen(pto_side_t *side, bool sends, double seconds) {
    side->bytes_s += seconds;
    if (sends && side->through_s[PTO_THROUGH_LINK] != INFINITY)
        side->through_s[PTO_THROUGH_LINK] += seconds;
}

void pto_sim_share_both_ways(pto_sim_t *sim, uint32_t rank, pto_side_t *side, bool sends, double alone_s) {
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
    double slowdown = side->bytes_s / alone_s; /* by a pipeline's copies: messages.staged */
    double both_busy_s = fmin(left_s, side->bytes_s);
    double seconds = both_ways->value * both_busy_s / slowdown; /* docs/model.md, 10a */
    side->bytes_s += seconds; /* not `lengthen`: its through_s is still that of the message before */
    lengthen(other, !sends, seconds);
}

void pto_sim_interrupt(pto_sim_t *sim, uint32_t rank, double seconds) {
    for (int sends = 0; sends < 2; sends++) {
        pto_side_t *side = moving_side(sim, rank, sends == 1, PTO_SPACE_CPU);
        if (side && side->start_s + side->bytes_s > sim->now_s)
            lengthen(side, sends == 1, seconds);
    }
}

double pto_sim_wire_latency_s(const pto_sim_t *sim, const pto_proc_t *proc, const pto_side_t *side,
                              const pto_message_t *message, double alpha_s) {
    const pto_param_t *latency = &sim->machine->latency_s[message->space];
    bool sends = side == &proc->out;
    if (!pto_param_known(latency) || message->level != PTO_LEVEL_OFF_NODE || proc->at->walk.lanes >= 0 ||
        side->moved & 1u << PTO_LEVEL_OFF_NODE)
        return 0;
    double free_s = sends ? latency->value : fmin(sim->now_s - message->start_s, latency->value);
    return fmin(free_s, alpha_s);
}

/* Returns the kind of the link, or the set of links, that a message shares with others at one of its ends. */
static pto_link_kind_t links_of(const pto_sim_t *sim, const pto_message_t *message, bool sends) {
    if (message->level != PTO_LEVEL_OFF_NODE)
        return PTO_LINK_ROUTES;
    if (sim->machine->fabric.levels > 0)
        return PTO_LINK_FABRIC;
    return sends ? PTO_LINK_INJECTION : PTO_LINK_EJECTION;
}

/* Returns whether a side waits until a link of its message wakes it, instead of asking the link when it would
 * end undelayed. It does if the link has delayed its last message, and so may delay this one. Of several such
 * links, the side waits for the first. */
static bool waits_for_link(pto_sim_t *sim, pto_link_kind_t kind, uint32_t rank, pto_side_t *side) {
    const pto_link_t *link = pto_link_of(sim, kind, sim->proc[rank].node);
    if (side->waits != PTO_LINKS_PER_NODE)
        return true;
    if (!link->has_delayed)
        return false;
    side->waits = (uint8_t)kind;
    pto_link_wait(sim, kind, sim->proc[rank].node);
    return true;
}

bool pto_sim_enter_node(pto_sim_t *sim, uint32_t rank, const pto_message_t *message) {
    pto_side_t *in = &sim->proc[rank].in;
    double ejection_s = in->link_s;
    bool limited = ejection_s > 0 && sim->limited[PTO_LINK_EJECTION];
    if (limited)
        pto_link_join(sim, PTO_LINK_EJECTION, rank, ejection_s, message->bytes);
    else if (ejection_s > 0 || !pto_sim_flows(sim, (pto_level_t)message->level) ||
             !pto_routes_join(sim, false, rank, message))
        return false;
    in->through_s[PTO_THROUGH_LINK] = INFINITY;
    return waits_for_link(sim, limited ? PTO_LINK_EJECTION : links_of(sim, message, false), rank, in);
}

bool pto_sim_wait_for_sender(pto_sim_t *sim, const pto_proc_t *sender, uint8_t *waits) {
    for (int i = 0; i < 2; i++) {
        if (sender->out.through_s[i] != INFINITY)
            continue;
        const pto_message_t *message = pto_message_at(&sim->pool, sender->out.message);
        pto_link_kind_t kind = i == PTO_THROUGH_LINK ? links_of(sim, message, true) : PTO_LINK_RATE;
        pto_link_advance(sim, kind, sender->node);
        if (sender->out.through_s[i] != INFINITY)
            continue;
        *waits = (uint8_t)kind;
        pto_link_wait(sim, kind, sender->node);
        return false;
    }
    return true;
}

bool pto_sim_leave_node(pto_sim_t *sim, uint32_t rank, const pto_message_t *message) {
    const pto_step_view_t *view = &sim->view[message->step];
    pto_side_t *out = &sim->proc[rank].out;
    double injection_s = out->link_s;
    bool waits = false;
    if (pto_sim_flows(sim, (pto_level_t)message->level) && pto_routes_join(sim, true, rank, message)) {
        out->through_s[PTO_THROUGH_LINK] = INFINITY;
        waits = waits_for_link(sim, links_of(sim, message, true), rank, out);
    }
    if (message->level != PTO_LEVEL_OFF_NODE)
        return waits;
    if (injection_s > 0 && sim->limited[PTO_LINK_INJECTION]) {
        pto_link_join(sim, PTO_LINK_INJECTION, rank, injection_s, message->bytes);
        out->through_s[PTO_THROUGH_LINK] = INFINITY;
        waits = waits_for_link(sim, PTO_LINK_INJECTION, rank, out);
    }
    if (view->rate_s > 0) {
        pto_link_join(sim, PTO_LINK_RATE, rank, view->rate_s + injection_s, message->bytes);
        out->through_s[PTO_THROUGH_RATE] = INFINITY;
        waits = waits_for_link(sim, PTO_LINK_RATE, rank, out);
    }
    return waits;
}

bool pto_sim_wait_for_receiver(pto_sim_t *sim, pto_proc_t *proc, const pto_message_t *message) {
    pto_link_kind_t kind = links_of(sim, message, false);
    pto_link_advance(sim, kind, proc->node);
    if (proc->in.through_s[PTO_THROUGH_LINK] != INFINITY)
        return true;
    proc->in.waits = (uint8_t)kind;
    pto_link_wait(sim, kind, proc->node);
    return false;
}

/* If a side waits for this link, sets its event to `time_s`, its earliest possible end. `waits` points to the
 * side's own field: pto_side_t.waits or, of a receiver, pto_proc_t.waits_sender. */
static void wake(pto_sim_t *sim, pto_link_t *link, pto_link_kind_t kind, uint8_t *waits, uint32_t rank,
                 pto_slot_t slot, double time_s) {
    if (*waits != (uint8_t)kind)
        return;
    *waits = PTO_LINKS_PER_NODE;
    link->waiting--;
    pto_sim_set(sim, rank, slot, time_s > sim->now_s ? time_s : sim->now_s);
}

/* A message has passed the link of its receiver. */
static void end_arrival(pto_sim_t *sim, pto_link_t *link, pto_link_kind_t kind, uint32_t rank,
                        double time_s) {
    pto_proc_t *proc = &sim->proc[rank];
    double alone_s = proc->in.start_s + proc->in.bytes_s;
    double late_s = pto_sim_excess(time_s, alone_s);
    link->waiting_s += late_s;
    link->has_delayed = late_s > 0;
    proc->in.through_s[PTO_THROUGH_LINK] = time_s;
    wake(sim, link, kind, &proc->in.waits, rank, PTO_SLOT_RECV,
         (late_s > 0 ? time_s : alone_s) + proc->in.alpha_s);
}

/* A message has passed the link, or the message rate, of its sender's node. This may wake the sender, and the
 * receiver if it is receiving this message. The time at the rate includes alpha; that at a link does not. */
static void end_departure(pto_sim_t *sim, pto_link_t *link, pto_link_kind_t kind, uint32_t rank,
                          double time_s) {
    pto_proc_t *proc = &sim->proc[rank];
    const pto_message_t *message = pto_message_at(&sim->pool, proc->out.message);
    pto_proc_t *target = &sim->proc[message->target];
    bool by_rate = kind == PTO_LINK_RATE;
    double alone_s = proc->out.start_s + proc->out.bytes_s + (by_rate ? proc->out.alpha_s : 0);
    double late_s = pto_sim_excess(time_s, alone_s);
    link->waiting_s += late_s;
    link->has_delayed = late_s > 0;
    if (!by_rate && time_s < alone_s)
        time_s = alone_s;
    proc->out.through_s[by_rate ? PTO_THROUGH_RATE : PTO_THROUGH_LINK] = time_s;
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
