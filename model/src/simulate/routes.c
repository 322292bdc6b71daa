/* Links within a node, the memory of its sockets, and links between nodes, shared by the messages, copies and
 * reductions that use them.
 *
 * A flow is the bytes of one of these on the links of its path. A path that crosses a link twice, as a copy
 * within a socket's memory does, takes two shares of it. Rates are max-min fair: none can grow unless one
 * that is no larger shrinks. They are found by progressive filling (Bertsekas and Gallager, Data
 * Networks, 6.5.2), with no flow faster than it is alone, whenever a flow begins or ends. As on other links,
 * an end is an event only if a side waits for it: a flow that nothing slows ends when its message or copy
 * does. */
#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "simulate/simulate_internal.h"

static pto_routes_t *routes_of(const pto_sim_t *sim, pto_link_kind_t kind, int32_t node) {
    return &sim->job.routes[kind == PTO_LINK_FABRIC ? sim->nodes : node];
}

/* Resets the rates of all flows, and the capacities of all their links. */
static void begin_sharing(pto_sim_t *sim, pto_flow_t *flow, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        flow[i].fixed = false;
        for (int j = 0; j < pto_path_length(&flow[i].path); j++) {
            pto_capacity_t *capacity = &sim->job.capacity[pto_path_link(&flow[i].path, j)];
            capacity->left_bytes_per_s = capacity->bytes_per_s;
            capacity->flows = 0;
        }
    }
    for (int32_t i = 0; i < count; i++)
        for (int j = 0; j < pto_path_length(&flow[i].path); j++)
            sim->job.capacity[pto_path_link(&flow[i].path, j)].flows++;
}

/* Returns the rate that a flow could have now: the smallest share of its links, or its rate alone. */
static double possible_rate(const pto_sim_t *sim, pto_flow_t *flow) {
    double share = INFINITY;
    for (int j = 0; j < pto_path_length(&flow->path); j++) {
        const pto_capacity_t *capacity = &sim->job.capacity[pto_path_link(&flow->path, j)];
        share = fmin(share, capacity->left_bytes_per_s / capacity->flows);
    }
    bool slowed = share * (1 + 1e-12) < flow->max_bytes_per_s; /* by more than rounding */
    flow->bytes_per_s = slowed ? share : flow->max_bytes_per_s;
    return flow->bytes_per_s;
}

static void fix_rate(pto_sim_t *sim, pto_flow_t *flow) {
    flow->fixed = true;
    flow->slowed = flow->slowed || flow->bytes_per_s < flow->max_bytes_per_s;
    for (int j = 0; j < pto_path_length(&flow->path); j++) {
        pto_capacity_t *capacity = &sim->job.capacity[pto_path_link(&flow->path, j)];
        capacity->left_bytes_per_s = fmax(0, capacity->left_bytes_per_s - flow->bytes_per_s);
        capacity->flows--;
    }
}

/* Progressive filling: the flows with the lowest possible rate get it; the others share what these leave. */
static void share(pto_sim_t *sim, pto_flow_t *flow, int32_t count) {
    begin_sharing(sim, flow, count);
    for (int32_t left = count; left > 0;) {
        double least = INFINITY;
        for (int32_t i = 0; i < count; i++)
            if (!flow[i].fixed)
                least = fmin(least, possible_rate(sim, &flow[i]));
        for (int32_t i = 0; i < count; i++)
            if (!flow[i].fixed && flow[i].bytes_per_s <= least * (1 + 1e-12)) {
                fix_rate(sim, &flow[i]);
                left--;
            }
    }
}

static double end_s(const pto_link_t *link, const pto_flow_t *flow) {
    return flow->slowed ? link->at_s + flow->left_bytes / flow->bytes_per_s : flow->alone_until_s;
}

double pto_routes_next_s(const pto_sim_t *sim, pto_link_kind_t kind, int32_t node) {
    const pto_link_t *link = pto_link_of(sim, kind, node);
    double next_s = INFINITY;
    for (int32_t i = 0; i < link->jobs; i++)
        next_s = fmin(next_s, end_s(link, &routes_of(sim, kind, node)->flow[i]));
    return next_s;
}

static void progress(pto_link_t *link, pto_flow_t *flow, double to_s) {
    for (int32_t i = 0; i < link->jobs && to_s > link->at_s; i++)
        flow[i].left_bytes = fmax(0, flow[i].left_bytes - (to_s - link->at_s) * flow[i].bytes_per_s);
    link->at_s = fmax(link->at_s, to_s);
}

/* Notifies the message or copy of a flow. One that was never slowed ends at the time that its side knows. */
static void end_flow(pto_sim_t *sim, pto_link_kind_t kind, int32_t node, pto_flow_t flow) {
    pto_link_t *link = pto_link_of(sim, kind, node);
    uint32_t rank = flow.proc;
    pto_sim_t *owner = pto_sim_owner(sim, &rank);
    pto_local_t *local = &owner->local[rank];
    if (flow.use != PTO_FLOW_COPY) {
        pto_sim_through(owner, kind, flow.use == PTO_FLOW_SEND, rank, flow.slowed ? link->at_s : 0);
        return;
    }
    link->waiting_s += flow.slowed ? pto_sim_excess(link->at_s, flow.alone_until_s) : 0;
    if (--local->copy_flows > 0 || !local->copy_waits)
        return;
    local->copy_waits = false;
    link->waiting--;
    pto_sim_set(owner, rank, PTO_SLOT_RUN, fmax(link->at_s, sim->now_s));
}

/* Ends the flows that are due, and shares the links among the others. */
static void end_flows(pto_sim_t *sim, pto_link_kind_t kind, int32_t node) {
    pto_link_t *link = pto_link_of(sim, kind, node);
    pto_flow_t *flow = routes_of(sim, kind, node)->flow;
    for (int32_t i = link->jobs - 1; i >= 0; i--) {
        if (pto_sim_before(link->at_s, end_s(link, &flow[i])))
            continue;
        pto_flow_t ended = flow[i];
        flow[i] = flow[--link->jobs];
        end_flow(sim, kind, node, ended);
    }
    if (link->jobs == 0)
        pto_link_idle(sim, kind, node);
    share(sim, flow, link->jobs);
}

void pto_routes_advance(pto_sim_t *sim, pto_link_kind_t kind, int32_t node) {
    pto_link_t *link = pto_link_of(sim, kind, node);
    while (link->jobs > 0) {
        double next_s = pto_routes_next_s(sim, kind, node);
        if (pto_sim_before(sim->now_s, next_s))
            break;
        progress(link, routes_of(sim, kind, node)->flow, fmin(next_s, sim->now_s));
        end_flows(sim, kind, node);
    }
    progress(link, routes_of(sim, kind, node)->flow, sim->now_s);
}

bool pto_flow_begin(pto_sim_t *sim, pto_link_kind_t kind, pto_flow_use_t use, uint32_t rank, pto_path_t path,
                    int64_t bytes, double alone_s) {
    int32_t node = sim->proc[rank].node;
    pto_routes_t *routes = routes_of(sim, kind, node);
    if (pto_path_length(&path) == 0 || bytes == 0)
        return false;
    pto_link_t *link = pto_link_begin(sim, kind, node, bytes);
    if (!PTO_RESERVE(routes->flow, routes->room, link->jobs + 1)) {
        sim->status = pto_error_set(sim->err, PTO_ERR_MEMORY, "out of memory for flows");
        return false;
    }
    routes->flow[link->jobs++] =
        (pto_flow_t){.path = path,
                     .use = use,
                     .proc = sim->first_proc + rank,
                     .alone_until_s = sim->now_s + alone_s,
                     .max_bytes_per_s = alone_s > 0 ? (double)bytes / alone_s : INFINITY,
                     .left_bytes = (double)bytes};
    share(sim, routes->flow, link->jobs);
    if (link->waiting > 0)
        pto_link_schedule(sim, kind, node);
    return true;
}

bool pto_copy_is_through(pto_sim_t *sim, uint32_t rank) {
    pto_local_t *local = &sim->local[rank];
    int32_t node = sim->proc[rank].node;
    if (local->copy_flows > 0)
        pto_link_advance(sim, PTO_LINK_ROUTES, node);
    if (local->copy_flows == 0)
        return true;
    if (!local->copy_waits)
        pto_link_wait(sim, PTO_LINK_ROUTES, node);
    local->copy_waits = true;
    return false;
}

/* Returns the part of the path between two GPUs of a node, or their sockets, that belongs to the side. */
static pto_path_t path_within(const pto_sim_t *sim, bool sends, const pto_message_t *message) {
    pto_space_t space = (pto_space_t)message->space;
    return pto_path_of_end(&sim->shared_links, sends ? PTO_END_SENDER : PTO_END_RECEIVER,
                           (pto_memory_t){pto_sim_gpu(sim, sim->proc[message->source].rank), space},
                           (pto_memory_t){pto_sim_gpu(sim, sim->proc[message->target].rank), space});
}

static pto_path_t path_between_nodes(const pto_sim_t *sim, bool sends, const pto_message_t *message,
                                     pto_fabric_path_t *kept) {
    int32_t from = sim->proc[message->source].node, to = sim->proc[message->target].node;
    *kept = pto_fabric_path(&sim->machine->fabric, sim->layout, sends ? PTO_END_SENDER : PTO_END_RECEIVER,
                            from, to);
    for (int i = 0; i < kept->count; i++)
        kept->link[i] += sim->job.first_fabric_link;
    return (pto_path_t){.route_count = kept->count, .route = kept->link};
}

bool pto_routes_join(pto_sim_t *sim, bool sends, uint32_t rank, const pto_message_t *message) {
    bool off_node = message->level == PTO_LEVEL_OFF_NODE;
    pto_side_t *side = sends ? &sim->proc[rank].out : &sim->proc[rank].in;
    pto_path_t path = off_node ? path_between_nodes(sim, sends, message, &sim->fabric_path[2 * rank + !sends])
                               : path_within(sim, sends, message);
    return pto_flow_begin(sim, off_node ? PTO_LINK_FABRIC : PTO_LINK_ROUTES,
                          sends ? PTO_FLOW_SEND : PTO_FLOW_RECV, rank, path, message->bytes, side->bytes_s);
}
