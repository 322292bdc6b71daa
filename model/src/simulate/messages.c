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

#include "simulate/simulate_internal.h"

/* --- the pool ------------------------------------------------------------------------------------------- */

static bool pool_grow(pto_pool_t *pool) {
    pto_message_t **grown = realloc(pool->block, (pool->block_count + 1) * sizeof *grown);
    if (grown)
        pool->block = grown;
    pto_message_t *block = grown ? malloc(sizeof *block << PTO_POOL_BLOCK_BITS) : NULL;
    if (block)
        pool->block[pool->block_count++] = block;
    return block != NULL;
}

/* The number of an unused message; 0 when out of memory. */
static uint32_t pool_take(pto_pool_t *pool) {
    uint32_t number = pool->free_first;
    if (number) {
        pool->free_first = pto_message_at(pool, number)->next;
    } else {
        number = ++pool->used;
        if (number >> PTO_POOL_BLOCK_BITS >= pool->block_count && !pool_grow(pool))
            return 0;
    }
    if (++pool->in_flight > pool->most_in_flight)
        pool->most_in_flight = pool->in_flight;
    return number;
}

static void pool_give(pto_pool_t *pool, uint32_t number) {
    pto_message_at(pool, number)->next = pool->free_first;
    pool->free_first = number;
    pool->in_flight--;
}

void pto_pool_fini(pto_pool_t *pool) {
    for (uint32_t i = 0; i < pool->block_count; i++)
        free(pool->block[i]);
    free(pool->block);
}

/* --- queues, and heaps by stage ------------------------------------------------------------------------- */

static void queue_add(pto_pool_t *pool, pto_message_queue_t *queue, uint32_t number) {
    pto_message_at(pool, number)->next = 0;
    if (queue->first)
        pto_message_at(pool, queue->last)->next = number;
    else
        queue->first = number;
    queue->last = number;
}

static uint32_t queue_take(pto_pool_t *pool, pto_message_queue_t *queue) {
    uint32_t number = queue->first;
    if (number)
        queue->first = pto_message_at(pool, number)->next;
    return number;
}

static bool earlier(const pto_message_t *a, const pto_message_t *b) {
    if (a->instance != b->instance)
        return a->instance < b->instance;
    return a->start_s < b->start_s || (a->start_s == b->start_s && a->source < b->source);
}

/* Skew heaps (Sleator and Tarjan 1986): union is the only operation needed, with logarithmic amortised
 * cost. */
static uint32_t heap_unite(pto_pool_t *pool, uint32_t a, uint32_t b) {
    uint32_t root = 0;
    uint32_t *place = &root;
    while (a && b) {
        if (earlier(pto_message_at(pool, b), pto_message_at(pool, a))) {
            uint32_t other = a;
            a = b;
            b = other;
        }
        *place = a;
        pto_message_t *message = pto_message_at(pool, a);
        a = message->right;
        message->right = message->next;
        place = &message->next;
    }
    *place = a ? a : b;
    return root;
}

static void heap_add(pto_pool_t *pool, uint32_t *heap, uint32_t number) {
    pto_message_t *message = pto_message_at(pool, number);
    message->next = 0;
    message->right = 0;
    *heap = heap_unite(pool, *heap, number);
}

static uint32_t heap_take(pto_pool_t *pool, uint32_t *heap) {
    uint32_t number = *heap;
    const pto_message_t *message = pto_message_at(pool, number);
    *heap = heap_unite(pool, message->next, message->right);
    return number;
}

/* --- properties of messages ----------------------------------------------------------------------------- */

static uint32_t instance_of(const pto_proc_t *proc) { return (uint32_t)proc->walk.instance; }

/* Added for each message that a rank expects and subtracted for each that arrives. A sum of 0 at a stage's
 * end shows that they are the same messages, in any order, without a list of them. Constants: SplitMix64. */
static uint64_t message_digest(int64_t source, int64_t bytes) {
    uint64_t hash = ((uint64_t)source + 1) * 0x9e3779b97f4a7c15u + (uint64_t)bytes;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
    return hash ^ (hash >> 27);
}

static pto_step_view_t *view_of(const pto_sim_t *sim, const pto_step_t *step) {
    return &sim->view[step - pto_plan_step(sim->plan, 0)];
}

/* Number of peers of an action. Values that are the same for all ranks are computed once. */
static int64_t peer_count(const pto_sim_t *sim, const pto_action_t *action) {
    pto_step_view_t *view = view_of(sim, action->step);
    if (!view->alike)
        return pto_step_peer_count(sim->plan, action);
    if (view->k != action->k) {
        view->k = action->k;
        view->bytes = -1;
        view->peers = pto_step_peer_count(sim->plan, action);
    }
    return view->peers;
}

static int64_t message_bytes(const pto_sim_t *sim, const pto_action_t *action) {
    pto_step_view_t *view = view_of(sim, action->step);
    if (!view->alike || view->k != action->k)
        return pto_slice_bytes(sim->plan, pto_message_slice(action->step), action);
    if (view->bytes < 0)
        view->bytes = pto_slice_bytes(sim->plan, pto_message_slice(action->step), action);
    return view->bytes;
}

/* Called by both ends; the second call frees the record. */
static void release(pto_sim_t *sim, uint32_t number) {
    pto_message_t *message = pto_message_at(&sim->pool, number);
    if (message->one_end)
        pool_give(&sim->pool, number);
    else
        message->one_end = true;
}

bool pto_sim_messages_ended(const pto_proc_t *proc) {
    return proc->sends_open == 0 && proc->recvs_open == 0 && proc->sends_made_all;
}

/* --- receiving ------------------------------------------------------------------------------------------ */

typedef struct {
    const pto_sim_t *sim; /* whose message it is */
    pto_side_t *side;     /* NULL: none */
} moving_t;

/* The side of a rank, in whatever lane, that sends or receives a message within its node. */
static moving_t moving_side(const pto_sim_t *sim, uint32_t rank, bool sends, pto_space_t space) {
    for (uint32_t i = 0; i < sim->all->lanes; i++) {
        pto_sim_lane_t lane = pto_sim_other_lane(sim, rank, i);
        pto_proc_t *proc = &lane.sim->proc[lane.rank];
        pto_side_t *side = sends ? &proc->out : &proc->in;
        const pto_message_t *message = side->message ? pto_message_at(&lane.sim->pool, side->message) : NULL;
        if (message && message->level != PTO_LEVEL_OFF_NODE && message->space == (uint8_t)space)
            return (moving_t){lane.sim, side};
    }
    return (moving_t){NULL, NULL};
}

/* A message, at one of its ends, takes longer from now on. It is looked at again when it would have ended. */
static void lengthen(const pto_sim_t *sim, pto_side_t *side, bool sends, double seconds) {
    pto_message_t *message = pto_message_at(&sim->pool, side->message);
    side->cost.bytes_s += seconds;
    if (sends && message->through_s[0] != INFINITY)
        message->through_s[0] += seconds;
}

/* A process that sends and receives at once does both slower: each waits for a part of what the other does
 * meanwhile. */
static void share_both_ways(pto_sim_t *sim, uint32_t rank, pto_side_t *side, bool sends) {
    const pto_message_t *message = pto_message_at(&sim->pool, side->message);
    const pto_param_t *both_ways = &sim->machine->both_ways[message->space];
    moving_t other = {NULL, NULL};
    if (pto_param_known(both_ways) && message->level != PTO_LEVEL_OFF_NODE)
        other = moving_side(sim, rank, !sends, (pto_space_t)message->space);
    double left_s = other.side ? other.side->start_s + other.side->cost.bytes_s - sim->now_s : 0;
    if (left_s <= 0 || side->cost.alone_s == 0)
        return;
    double slower = side->cost.bytes_s / side->cost.alone_s; /* by what a pipeline's copies take */
    double seconds = both_ways->value * fmin(left_s, side->cost.bytes_s) / slower;
    side->cost.bytes_s += seconds;
    lengthen(other.sim, other.side, !sends, seconds);
}

void pto_sim_interrupt(pto_sim_t *sim, uint32_t rank, double seconds) {
    for (int sends = 0; sends < 2; sends++) {
        moving_t moving = moving_side(sim, rank, sends == 1, PTO_SPACE_CPU);
        if (moving.side && moving.side->start_s + moving.side->cost.bytes_s > sim->now_s)
            lengthen(moving.sim, moving.side, sends == 1, seconds);
    }
}

/* Assign a message to a side, and compute its cost there. */
static void start_side(pto_sim_t *sim, uint32_t rank, pto_side_t *side, uint32_t number) {
    const pto_message_t *message = pto_message_at(&sim->pool, number);
    pto_status_t status = pto_sim_message_cost(sim, &sim->proc[rank], side, message, &side->cost);
    if (status != PTO_OK)
        sim->status = status;
    side->message = number;
    side->start_s = sim->now_s;
    side->moved[message->level] = true;
    share_both_ways(sim, rank, side, side == &sim->proc[rank].out);
}

/* Set the event at which a side would be done if no link delayed it. */
static void set_end(pto_sim_t *sim, uint32_t rank, const pto_side_t *side, pto_slot_t slot) {
    pto_sim_set(sim, rank, slot, sim->now_s + (side->cost.alpha_s + side->cost.bytes_s));
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
    side->waits = kind;
    pto_link_wait(sim, kind, sim->proc[rank].node);
    return true;
}

static void start_receiving(pto_sim_t *sim, uint32_t rank, uint32_t number) {
    pto_proc_t *proc = &sim->proc[rank];
    const pto_message_t *message = pto_message_at(&sim->pool, number);
    if (proc->recvs_open == 0) {
        pto_sim_fail(sim, PTO_ERR_INVALID_PLAN, rank, "is sent a message that it does not receive");
        return;
    }
    start_side(sim, rank, &proc->in, number);
    double link_s = (double)message->bytes * pto_sim_ejection_s_per_byte(sim, (pto_space_t)message->space);
    bool waits = false;
    proc->ejected_s = sim->now_s;
    if (message->level == PTO_LEVEL_OFF_NODE && link_s > 0) {
        proc->ejected_s = INFINITY;
        pto_link_join(sim, PTO_LINK_EJECTION, rank, link_s, message->bytes);
        waits = expect_delay(sim, PTO_LINK_EJECTION, rank, &proc->in);
    } else if (pto_routes_join(sim, false, rank, message)) {
        proc->ejected_s = INFINITY;
        waits = expect_delay(sim, links_of(sim, message, false), rank, &proc->in);
    }
    if (!waits)
        set_end(sim, rank, &proc->in, PTO_SLOT_RECV);
}

static void arrive(pto_sim_t *sim, uint32_t number) {
    uint32_t rank = pto_message_at(&sim->pool, number)->target;
    pto_proc_t *proc = &sim->proc[rank];
    if (pto_sim_side_is_busy(sim, rank, false))
        queue_add(&sim->pool, &proc->in.queue, number);
    else
        start_receiving(sim, rank, number);
}

/* Whether the sender's links have let the message through; if not, wait for the first one that has not. */
static bool is_through(pto_sim_t *sim, const pto_message_t *message, pto_link_kind_t *waits) {
    const pto_link_kind_t kinds[] = {links_of(sim, message, true), PTO_LINK_RATE};
    for (int i = 0; i < 2; i++) {
        if (message->through_s[i] != INFINITY)
            continue;
        int32_t node = sim->proc[message->source].node;
        pto_link_advance(sim, kinds[i], node);
        if (message->through_s[i] != INFINITY)
            continue;
        *waits = kinds[i];
        pto_link_wait(sim, kinds[i], node);
        return false;
    }
    return true;
}

/* Whether a side whose last byte passes at last_byte_s is done, by the message rate's limit too; if not, the
 * end becomes its next event. */
static bool is_done(pto_sim_t *sim, uint32_t rank, pto_slot_t slot, double last_byte_s, double alpha_s,
                    const pto_message_t *message) {
    double end_s = last_byte_s + alpha_s;
    end_s = end_s < message->through_s[1] ? message->through_s[1] : end_s;
    if (!pto_sim_before(sim->now_s, end_s))
        return true;
    pto_sim_set(sim, rank, slot, end_s);
    return false;
}

/* Whether the receiving side is done with its message; if not, its next event is set, or it waits for a
 * link. */
static bool received(pto_sim_t *sim, uint32_t rank) {
    pto_proc_t *proc = &sim->proc[rank];
    const pto_message_t *message = pto_message_at(&sim->pool, proc->in.message);
    pto_link_kind_t kind = links_of(sim, message, false);
    if (proc->ejected_s == INFINITY)
        pto_link_advance(sim, kind, proc->node);
    if (proc->ejected_s == INFINITY) {
        proc->in.waits = kind;
        pto_link_wait(sim, kind, proc->node);
        return false;
    }
    if (!is_through(sim, message, &proc->waits_sender))
        return false;
    double last_byte_s = proc->in.start_s + proc->in.cost.bytes_s;
    last_byte_s = last_byte_s < proc->ejected_s ? proc->ejected_s : last_byte_s;
    last_byte_s = last_byte_s < message->through_s[0] ? message->through_s[0] : last_byte_s;
    return is_done(sim, rank, PTO_SLOT_RECV, last_byte_s, proc->in.cost.alpha_s, message);
}

static void end_message(pto_sim_t *sim, pto_resource_t resource, uint32_t rank, pto_side_t *side,
                        int64_t peer_rank) {
    const pto_message_t *message = pto_message_at(&sim->pool, side->message);
    if (sim->options->visit)
        pto_sim_span(sim, resource, rank, peer_rank, message->bytes, side->start_s);
    side->stage_busy_s += sim->now_s - side->start_s;
    side->stage_end_s = sim->now_s;
    release(sim, side->message);
    side->message = 0;
}

/* The receiving side is free: the next lane that has a message waiting receives it. */
static void receive_next(pto_sim_t *sim, uint32_t rank) {
    for (uint32_t i = 1; i <= sim->all->lanes; i++) {
        pto_sim_lane_t lane = pto_sim_other_lane(sim, rank, i);
        uint32_t next = queue_take(&lane.sim->pool, &lane.sim->proc[lane.rank].in.queue);
        if (next) {
            start_receiving(lane.sim, lane.rank, next);
            return;
        }
    }
}

bool pto_sim_recv_event(pto_sim_t *sim, uint32_t rank) {
    pto_proc_t *proc = &sim->proc[rank];
    if (!proc->in.message || !received(sim, rank))
        return false;
    const pto_message_t *message = pto_message_at(&sim->pool, proc->in.message);
    proc->expected -= message_digest(sim->proc[message->source].rank, message->bytes);
    proc->recvs_open--;
    end_message(sim, PTO_RESOURCE_RECV, rank, &proc->in, sim->proc[message->source].rank);
    if (proc->recvs_open == 0 && proc->expected != 0)
        pto_sim_fail(sim, PTO_ERR_INVALID_PLAN, rank,
                     "is sent messages of other ranks or sizes than it receives");
    receive_next(sim, rank);
    return pto_sim_messages_ended(proc);
}

/* --- sending -------------------------------------------------------------------------------------------- */

/* Advance to the next non-empty send of the stage; false if there is none left. */
static bool next_send(pto_sim_t *sim, pto_proc_t *proc, int64_t *bytes) {
    const pto_stage_t *stage = proc->walk.stage;
    while (!proc->sends_made_all) {
        while (proc->send_next < proc->send_count) {
            if (!pto_step_peer(sim->plan, proc->send_next++, &proc->send))
                continue;
            *bytes = message_bytes(sim, &proc->send);
            if (*bytes > 0 || proc->send.step->send_empty)
                return true;
        }
        proc->send_next = 0;
        proc->send_count = 0;
        if (++proc->send_step >= stage->step_count) {
            proc->sends_made_all = true;
            break;
        }
        const pto_step_t *step = pto_plan_step(sim->plan, stage->step_first + proc->send_step);
        if (step->kind == PTO_STEP_SEND &&
            pto_step_acts(sim->plan, step, proc->rank, proc->walk.k, &proc->send))
            proc->send_count = peer_count(sim, &proc->send);
    }
    return false;
}

/* Put a message on the links of its sender that limit it. Returns whether the sender waits for one of them.
 */
static bool leave(pto_sim_t *sim, uint32_t rank, pto_message_t *message) {
    const pto_step_view_t *view = &sim->view[message->step];
    pto_side_t *out = &sim->proc[rank].out;
    double injection_s = (double)message->bytes * view->injection_s_per_byte;
    bool waits = false;
    if (pto_routes_join(sim, true, rank, message)) {
        message->through_s[0] = INFINITY;
        waits = expect_delay(sim, links_of(sim, message, true), rank, out);
    }
    if (message->level != PTO_LEVEL_OFF_NODE)
        return waits;
    if (injection_s > 0) {
        message->through_s[0] = INFINITY;
        pto_link_join(sim, PTO_LINK_INJECTION, rank, injection_s, message->bytes);
        waits = expect_delay(sim, PTO_LINK_INJECTION, rank, out);
    }
    if (view->rate_s > 0) {
        message->through_s[1] = INFINITY;
        pto_link_join(sim, PTO_LINK_RATE, rank, view->rate_s + injection_s, message->bytes);
        waits = expect_delay(sim, PTO_LINK_RATE, rank, out);
    }
    return waits;
}

static bool is_posted(const pto_sim_t *sim, const pto_message_t *message) {
    const pto_proc_t *target = &sim->proc[message->target];
    return target->walk.instance > (int64_t)message->instance ||
           (target->walk.instance == (int64_t)message->instance && target->state != PTO_PROC_LANE);
}

static void start_sending(pto_sim_t *sim, uint32_t rank, uint32_t number) {
    pto_proc_t *proc = &sim->proc[rank];
    pto_message_t *message = pto_message_at(&sim->pool, number);
    start_side(sim, rank, &proc->out, number);
    message->start_s = sim->now_s;
    message->waits = false;
    message->through_s[0] = sim->now_s + proc->out.cost.bytes_s;
    message->through_s[1] = sim->now_s;
    if (!leave(sim, rank, message))
        set_end(sim, rank, &proc->out, PTO_SLOT_SEND);
    pto_proc_t *target = &sim->proc[message->target];
    if (target->walk.instance > (int64_t)message->instance)
        pto_sim_fail(sim, PTO_ERR_INVALID_PLAN, message->target,
                     "has already left the stage of a message sent to it");
    else if (is_posted(sim, message))
        arrive(sim, number);
    else
        heap_add(&sim->pool, &target->early, number);
}

/* Make a record of the current send; 0 on failure. */
static uint32_t make_message(pto_sim_t *sim, uint32_t rank, int64_t bytes) {
    pto_proc_t *proc = &sim->proc[rank];
    const pto_step_t *step = proc->send.step;
    uint32_t number = pool_take(&sim->pool);
    if (!number) {
        sim->status = pto_error_set(sim->err, PTO_ERR_MEMORY, "out of memory for %lld messages in flight",
                                    (long long)sim->pool.in_flight);
        return 0;
    }
    pto_level_t level = pto_sim_level(sim, proc, &sim->proc[proc->send.peer_rank]);
    pto_space_t space = pto_sim_message_space(sim, proc, level, bytes);
    *pto_message_at(&sim->pool, number) =
        (pto_message_t){.bytes = bytes,
                        .source = rank,
                        .target = (uint32_t)proc->send.peer_rank + proc->lane * sim->ranks,
                        .instance = instance_of(proc),
                        .step = (uint32_t)(step - pto_plan_step(sim->plan, 0)),
                        .space = (uint8_t)space,
                        .level = (uint8_t)level,
                        .waits = pto_sim_is_held_back(sim, space, level, bytes)};
    return number;
}

/* The message to send next: one that was held back and may now start, else the next of the plan; 0: none. */
static uint32_t take_next(pto_sim_t *sim, uint32_t rank) {
    pto_proc_t *proc = &sim->proc[rank];
    uint32_t number = queue_take(&sim->pool, &proc->out.queue);
    int64_t bytes;
    if (number || !next_send(sim, proc, &bytes))
        return number;
    number = make_message(sim, rank, bytes);
    if (number) {
        proc->sends_made++;
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
            queue_add(&sim->pool, &proc->out.queue, number);
            return;
        }
        pto_message_t *message = pto_message_at(&sim->pool, number);
        if (!message->waits || is_posted(sim, message)) {
            start_sending(sim, rank, number);
            return;
        }
        if (!second_look) {
            queue_add(&sim->pool, &proc->out.queue, number);
            pto_sim_set(sim, rank, PTO_SLOT_LOOK, sim->now_s);
            return;
        }
        message->start_s = sim->now_s;
        heap_add(&sim->pool, &sim->proc[message->target].early, number);
    }
}

void pto_sim_look_event(pto_sim_t *sim, uint32_t rank) {
    if (!sim->proc[rank].out.message)
        send_next(sim, rank, true);
}

static bool sent(pto_sim_t *sim, uint32_t rank) {
    pto_proc_t *proc = &sim->proc[rank];
    const pto_message_t *message = pto_message_at(&sim->pool, proc->out.message);
    return is_through(sim, message, &proc->out.waits) &&
           is_done(sim, rank, PTO_SLOT_SEND, message->through_s[0], proc->out.cost.alpha_s, message);
}

bool pto_sim_send_event(pto_sim_t *sim, uint32_t rank) {
    pto_proc_t *proc = &sim->proc[rank];
    if (!proc->out.message || !sent(sim, rank))
        return false;
    const pto_message_t *message = pto_message_at(&sim->pool, proc->out.message);
    end_message(sim, PTO_RESOURCE_SEND, rank, &proc->out, sim->proc[message->target].rank);
    proc->sends_open--;
    for (uint32_t i = 1; i <= sim->all->lanes; i++) {
        pto_sim_lane_t lane = pto_sim_other_lane(sim, rank, i);
        if (lane.sim->proc[lane.rank].state == PTO_PROC_MESSAGES)
            send_next(lane.sim, lane.rank, false);
    }
    return pto_sim_messages_ended(proc);
}

/* A side that waits for this link checks again, at the earliest time when it can be done. */
static void wake(pto_sim_t *sim, pto_link_t *link, pto_link_kind_t kind, pto_link_kind_t *waits,
                 uint32_t rank, pto_slot_t slot, double time_s) {
    if (*waits != kind)
        return;
    *waits = PTO_LINKS_PER_NODE;
    link->waiting--;
    pto_sim_set(sim, rank, slot, time_s > sim->now_s ? time_s : sim->now_s);
}

/* A link of the receiver has let its message through. */
static void end_arrival(pto_sim_t *sim, pto_link_t *link, pto_link_kind_t kind, uint32_t rank,
                        double time_s) {
    pto_proc_t *proc = &sim->proc[rank];
    double alone_s = proc->in.start_s + proc->in.cost.bytes_s;
    double late_s = pto_sim_excess(time_s, alone_s);
    link->waiting_s += late_s;
    link->held_up = late_s > 0;
    proc->ejected_s = time_s;
    wake(sim, link, kind, &proc->in.waits, rank, PTO_SLOT_RECV,
         (late_s > 0 ? time_s : alone_s) + proc->in.cost.alpha_s);
}

/* A link of the sender, or its node's message rate, has let its message through. It may wake the
 * sender, and the receiver if it is receiving this message. */
static void end_departure(pto_sim_t *sim, pto_link_t *link, pto_link_kind_t kind, uint32_t rank,
                          double time_s) {
    pto_proc_t *proc = &sim->proc[rank];
    pto_message_t *message = pto_message_at(&sim->pool, proc->out.message);
    pto_proc_t *target = &sim->proc[message->target];
    bool by_rate = kind == PTO_LINK_RATE;
    double alone_s = proc->out.start_s + proc->out.cost.bytes_s + (by_rate ? proc->out.cost.alpha_s : 0);
    double late_s = pto_sim_excess(time_s, alone_s);
    link->waiting_s += late_s;
    link->held_up = late_s > 0;
    if (!by_rate && time_s < alone_s)
        time_s = alone_s;
    message->through_s[by_rate] = time_s;
    wake(sim, link, kind, &proc->out.waits, rank, PTO_SLOT_SEND,
         time_s + (by_rate ? 0 : proc->out.cost.alpha_s));
    if (target->in.message && pto_message_at(&sim->pool, target->in.message) == message)
        wake(sim, link, kind, &target->waits_sender, message->target, PTO_SLOT_RECV,
             time_s + (by_rate ? 0 : target->in.cost.alpha_s));
}

void pto_sim_through(pto_sim_t *sim, pto_link_kind_t kind, bool sends, uint32_t rank, double time_s) {
    pto_link_t *link = pto_link_of(sim, kind, sim->proc[rank].node);
    if (!sends)
        end_arrival(sim, link, kind, rank, time_s);
    else
        end_departure(sim, link, kind, rank, time_s);
}

/* --- a stage's messages --------------------------------------------------------------------------------- */

static void count_receives(pto_sim_t *sim, uint32_t rank, const pto_step_t *step) {
    pto_proc_t *proc = &sim->proc[rank];
    pto_action_t action;
    if (!pto_step_acts(sim->plan, step, proc->rank, proc->walk.k, &action))
        return;
    int64_t peers = peer_count(sim, &action);
    for (int64_t j = 0; j < peers; j++) {
        if (!pto_step_peer(sim->plan, j, &action))
            continue;
        int64_t bytes = message_bytes(sim, &action);
        if (bytes == 0 && !step->send_empty)
            continue;
        proc->recvs_open++;
        proc->expected += message_digest(action.peer_rank, bytes);
    }
}

/* Messages that arrived early for this stage, or waited for it, may continue. */
static void take_early(pto_sim_t *sim, uint32_t rank) {
    pto_proc_t *proc = &sim->proc[rank];
    while (proc->early && sim->status == PTO_OK &&
           pto_message_at(&sim->pool, proc->early)->instance <= instance_of(proc)) {
        uint32_t number = heap_take(&sim->pool, &proc->early);
        const pto_message_t *message = pto_message_at(&sim->pool, number);
        if (!message->waits) {
            arrive(sim, number);
            continue;
        }
        queue_add(&sim->pool, &sim->proc[message->source].out.queue, number);
        if (!sim->proc[message->source].out.message)
            send_next(sim, message->source, false);
    }
}

void pto_sim_post(pto_sim_t *sim, uint32_t rank) {
    pto_proc_t *proc = &sim->proc[rank];
    const pto_stage_t *stage = proc->walk.stage;
    bool sends = pto_sim_stage(sim, proc)->sends;
    proc->stage_s = sim->now_s;
    proc->recvs_open = 0;
    proc->expected = 0;
    memset(proc->out.moved, 0, sizeof proc->out.moved);
    memset(proc->in.moved, 0, sizeof proc->in.moved);
    proc->out.stage_busy_s = 0;
    proc->in.stage_busy_s = 0;
    proc->out.stage_end_s = sim->now_s;
    proc->in.stage_end_s = sim->now_s;
    for (int i = 0; i < stage->step_count; i++) {
        const pto_step_t *step = pto_plan_step(sim->plan, stage->step_first + i);
        if (step->kind == PTO_STEP_RECV)
            count_receives(sim, rank, step);
    }
    proc->sends_made = 0;
    proc->send_next = 0;
    proc->send_count = 0;
    proc->send_step = -1;
    proc->sends_made_all = !sends;
    if (proc->early)
        take_early(sim, rank);
    if (sends && sim->status == PTO_OK)
        send_next(sim, rank, false);
}
