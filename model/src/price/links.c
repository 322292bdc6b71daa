/* The links within a node, in the price: what each carries in a stage, and what the busiest of an actor's
 * adds to its own costs. Bytes are counted on every node that has actors; where an actor stands for processes
 * of all nodes, on the first node, or on as many as can differ. */
#include <math.h>
#include <stdlib.h>

#include "price/pricing.h"

/* --- memory --------------------------------------------------------------------------------------------- */

static bool any_xor(const pto_plan_t *plan) {
    for (int i = 0; i < plan->steps.count; i++)
        if (pto_plan_step(plan, i)->peers.kind == PTO_PEERS_XOR)
            return true;
    return false;
}

/* A message to index xor v stays on a node of m members only if v < m, so that nodes repeat after 2 m at
 * most. */
static int64_t nodes_counted(const pto_pricing_t *pricing) {
    const pto_layout_t *layout = &pricing->plan->request.layout;
    int64_t differ = any_xor(pricing->plan) ? 2 * layout->gpus_per_node * layout->procs_per_gpu : 1;
    return pricing->kind == PTO_ACTORS_RANKS || layout->nodes < differ ? layout->nodes : differ;
}

bool pto_links_allocate(pto_pricing_t *pricing) {
    pto_link_loads_t *loads = &pricing->loads;
    const pto_topology_t *topology = pricing->machine->topology;
    const pto_fabric_t *fabric = &pricing->machine->fabric;
    int64_t fabric_links = pto_fabric_link_count(fabric, pricing->plan->request.layout.nodes);
    if (fabric_links > 0) {
        loads->fabric = fabric;
        loads->fabric_bytes = calloc((size_t)fabric_links, sizeof *loads->fabric_bytes);
        if (!loads->fabric_bytes)
            return false;
    }
    if (!topology)
        return true;
    loads->topology = topology;
    loads->links = pto_topology_link_count(topology);
    loads->nodes = nodes_counted(pricing);
    loads->bytes = calloc((size_t)(PTO_LOAD_KINDS * loads->nodes * loads->links) + 1, sizeof *loads->bytes);
    return loads->bytes != NULL;
}

void pto_links_release(pto_pricing_t *pricing) {
    free(pricing->loads.bytes);
    free(pricing->loads.fabric_bytes);
}

void pto_links_begin(pto_pricing_t *pricing) {
    pto_link_loads_t *loads = &pricing->loads;
    for (int64_t i = 0; loads->topology && i < PTO_LOAD_KINDS * loads->nodes * loads->links; i++)
        loads->bytes[i] = 0;
    int64_t nodes = pricing->plan->request.layout.nodes;
    for (int64_t i = 0; loads->fabric && i < pto_fabric_link_count(loads->fabric, nodes); i++)
        loads->fabric_bytes[i] = 0;
}

/* --- counting ------------------------------------------------------------------------------------------- */

static double *bytes_of(const pto_link_loads_t *loads, pto_load_kind_t kind, int64_t node) {
    return &loads->bytes[((int64_t)kind * loads->nodes + node) * loads->links];
}

static void add(const pto_link_loads_t *loads, pto_load_kind_t kind, int64_t node, pto_path_t path,
                double bytes) {
    double *link_bytes = bytes_of(loads, kind, node);
    for (int i = 0; i < path.count; i++)
        link_bytes[path.link[i]] += bytes;
}

/* The links between an action's rank and its current peer, as the bytes travel. */
static pto_path_t message_path(const pto_pricing_t *pricing, const pto_action_t *action, bool sends) {
    const pto_plan_t *plan = pricing->plan;
    int64_t cores = plan->request.layout.procs_per_gpu;
    pto_space_t space = pto_plan_buffer(plan, pto_message_slice(action->step)->buffer)->space;
    pto_memory_t own = {action->rank / cores, space}, other = {action->peer_rank / cores, space};
    return pto_path_between(pricing->loads.topology, &plan->request.layout, sends ? own : other,
                            sends ? other : own);
}

/* The fabric's links on one side of the message to, or from, the action's current peer. */
static pto_fabric_path_t fabric_path(const pto_pricing_t *pricing, const pto_action_t *action, bool sender,
                                     bool sends) {
    const pto_layout_t *layout = &pricing->plan->request.layout;
    int64_t ranks = layout->gpus_per_node * layout->procs_per_gpu;
    int64_t own = action->rank / ranks, other = action->peer_rank / ranks;
    return pto_fabric_path(pricing->loads.fabric, layout, sender == sends ? own : other,
                           sender == sends ? other : own, sender);
}

static void count_between_nodes(pto_pricing_t *pricing, const pto_action_t *action, int64_t bytes) {
    for (int up = 0; up < 2; up++) {
        pto_fabric_path_t path = fabric_path(pricing, action, up, true);
        for (int i = 0; i < path.count; i++)
            pricing->loads.fabric_bytes[path.link[i]] += (double)bytes;
    }
}

void pto_links_count_message(pto_pricing_t *pricing, const pto_action_t *action, int64_t bytes) {
    const pto_layout_t *layout = &pricing->plan->request.layout;
    int64_t ranks = layout->gpus_per_node * layout->procs_per_gpu;
    if (action->rank / ranks != action->peer_rank / ranks) {
        if (pricing->loads.fabric)
            count_between_nodes(pricing, action, bytes);
        return;
    }
    if (pricing->loads.topology)
        add(&pricing->loads, PTO_LOAD_MESSAGES, action->rank / ranks, message_path(pricing, action, true),
            (double)bytes);
}

/* The messages of one rank within its node, as large as those that its class is charged. Its peers there are
 * looked for among the node's ranks, since most of a large group's peers are elsewhere. */
static void count_within(pto_pricing_t *pricing, pto_action_t *action, int64_t first, int64_t until) {
    for (int64_t peer = first; peer < until; peer++) {
        if (!pto_step_reaches(pricing->plan, action, peer))
            continue;
        int64_t bytes = pto_class_slice_bytes(pricing->plan, pto_message_slice(action->step), action);
        pto_links_count_message(pricing, action, bytes);
    }
}

void pto_links_count_step(pto_pricing_t *pricing, const pto_step_t *step, int64_t k) {
    const pto_link_loads_t *loads = &pricing->loads;
    const pto_layout_t *layout = &pricing->plan->request.layout;
    int64_t ranks = layout->gpus_per_node * layout->procs_per_gpu;
    for (int64_t rank = 0; loads->topology && rank < loads->nodes * ranks; rank++) {
        pto_action_t action;
        int64_t first = rank / ranks * ranks;
        if (pto_step_acts(pricing->plan, step, rank, k, &action))
            count_within(pricing, &action, first, first + ranks);
    }
}

static pto_path_t copy_path(const pto_pricing_t *pricing, const pto_action_t *action) {
    return pto_copy_path(pricing->loads.topology, pricing->plan, action);
}

void pto_links_count_copies(pto_pricing_t *pricing, pto_action_t *action) {
    int64_t node = pricing->actor[action->rank].place.node;
    for (int64_t next = 0; pricing->loads.topology && pto_step_next(pricing->plan, &next, action);)
        add(&pricing->loads, PTO_LOAD_COPIES, node, copy_path(pricing, action),
            (double)pto_slice_bytes(pricing->plan, &action->step->source, action));
}

void pto_links_count_copies_alike(pto_pricing_t *pricing, const pto_action_t *action, double bytes) {
    const pto_layout_t *layout = &pricing->plan->request.layout;
    pto_rank_t place = pricing->actor[action->rank].place;
    int64_t until = pricing->kind == PTO_ACTORS_CLASSES ? layout->gpus_per_node : place.gpu + 1;
    for (; pricing->loads.topology && place.gpu < until; place.gpu++) {
        pto_action_t other = *action;
        other.rank = pto_layout_number(layout, place);
        add(&pricing->loads, PTO_LOAD_COPIES, 0, copy_path(pricing, &other), bytes);
    }
}

/* --- charging ------------------------------------------------------------------------------------------- */

static void see_seconds(double bytes, const pto_param_t *s_per_byte, pto_busiest_t *busiest) {
    double seconds = bytes * s_per_byte->value;
    if (seconds > busiest->seconds)
        *busiest = (pto_busiest_t){.seconds = seconds, .s_per_byte = s_per_byte};
}

static void see(const pto_link_loads_t *loads, pto_load_kind_t kind, int64_t node, int link,
                pto_busiest_t *busiest) {
    see_seconds(bytes_of(loads, kind, node)[link], &pto_topology_link_at(loads->topology, link)->s_per_byte,
                busiest);
}

static void see_path(const pto_pricing_t *pricing, pto_load_kind_t kind, int64_t node, pto_path_t path,
                     pto_busiest_t *busiest) {
    for (int i = 0; i < path.count; i++)
        see(&pricing->loads, kind, node, path.link[i], busiest);
}

static void see_between_nodes(const pto_pricing_t *pricing, const pto_action_t *action, bool sends,
                              pto_busiest_t *busiest) {
    const pto_link_loads_t *loads = &pricing->loads;
    int64_t nodes = pricing->plan->request.layout.nodes;
    if (!loads->fabric)
        return;
    pto_fabric_path_t path = fabric_path(pricing, action, sends, sends);
    for (int i = 0; i < path.count; i++)
        see_seconds(loads->fabric_bytes[path.link[i]],
                    pto_fabric_s_per_byte(loads->fabric, nodes, path.link[i]), busiest);
}

void pto_links_see_message(const pto_pricing_t *pricing, const pto_action_t *action,
                           pto_busiest_links_t *busiest) {
    const pto_topology_t *topology = pricing->loads.topology;
    bool sends = action->step->kind == PTO_STEP_SEND;
    int64_t node = pricing->actor[action->rank].place.node;
    if (pricing->actor[action->peer_rank].place.node != node) {
        see_between_nodes(pricing, action, sends, &busiest->off_node);
        return;
    }
    if (!topology)
        return;
    pto_path_t path = message_path(pricing, action, sends);
    see_path(pricing, PTO_LOAD_MESSAGES, node,
             sends ? pto_path_of_sender(topology, path) : pto_path_of_receiver(topology, path),
             &busiest->on_node);
}

void pto_links_see_copies(const pto_pricing_t *pricing, pto_action_t *action, pto_busiest_t *busiest) {
    for (int64_t next = 0; pricing->loads.topology && pto_step_next(pricing->plan, &next, action);)
        see_path(pricing, PTO_LOAD_COPIES, pricing->actor[action->rank].place.node,
                 copy_path(pricing, action), busiest);
}

void pto_links_see_all(const pto_pricing_t *pricing, pto_load_kind_t kind, bool sends,
                       pto_busiest_t *busiest) {
    const pto_link_loads_t *loads = &pricing->loads;
    for (int64_t node = 0; loads->topology && node < loads->nodes; node++)
        for (int link = 0; link < loads->links; link++)
            if (pto_link_is_senders(loads->topology, link) == sends)
                see(loads, kind, node, link, busiest);
}

void pto_charge_busiest(pto_charge_t *charge, const pto_busiest_t *busiest, double own_s) {
    if (busiest->seconds <= own_s * (1 + 1e-12))
        return;
    double bytes = (busiest->seconds - own_s) / busiest->s_per_byte->value;
    pto_charge_param(charge, busiest->s_per_byte, PTO_SPACE_GPU, bytes);
}
