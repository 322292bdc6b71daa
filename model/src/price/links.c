/* Links that processes share (paths.h): counts the bytes that each link, and the memory of each socket,
 * carries in a stage, and charges an actor if the busiest link on its paths takes longer than its own bytes.
 * If each process is an actor, the bytes of all nodes are counted. If actors represent processes of all
 * nodes, only as many nodes are counted as can differ. */
#include <stdlib.h>

#include "price/pricing.h"

static bool any_xor(const pto_plan_t *plan) {
    for (int i = 0; i < plan->steps.count; i++)
        if (pto_plan_step(plan, i)->peers.kind == PTO_PEERS_XOR)
            return true;
    return false;
}

/* Index xor v stays on a node of m members only if v < m, so that nodes repeat after 2 m at most. */
static int64_t nodes_counted(const pto_pricing_t *pricing) {
    const pto_layout_t *layout = &pricing->plan->request.layout;
    int64_t differ = any_xor(pricing->plan) ? 2 * layout->gpus_per_node * layout->procs_per_gpu : 1;
    return pricing->actors.kind == PTO_ACTORS_RANKS || layout->nodes < differ ? layout->nodes : differ;
}

bool pto_links_allocate(pto_pricing_t *pricing) {
    pto_link_loads_t *loads = &pricing->shared.loads;
    const pto_fabric_t *fabric = &pricing->machine->fabric;
    int64_t fabric_links = pto_fabric_link_count(fabric, pricing->plan->request.layout.nodes);
    if (fabric_links > 0) {
        loads->fabric = fabric;
        loads->fabric_bytes = calloc((size_t)fabric_links, sizeof *loads->fabric_bytes);
        if (!loads->fabric_bytes)
            return false;
    }
    loads->links = pto_links_of(pricing->machine, &pricing->plan->request.layout);
    if (loads->links.count == 0)
        return true;
    loads->nodes = nodes_counted(pricing);
    loads->bytes = calloc((size_t)(PTO_LOAD_KINDS * loads->nodes * loads->links.count), sizeof *loads->bytes);
    loads->longest = calloc((size_t)loads->nodes, sizeof *loads->longest);
    return loads->bytes && loads->longest;
}

void pto_links_release(const pto_shared_t *shared) {
    free(shared->loads.bytes);
    free(shared->loads.fabric_bytes);
    free(shared->loads.longest);
}

void pto_links_begin(pto_pricing_t *pricing) {
    pto_link_loads_t *loads = &pricing->shared.loads;
    for (int64_t i = 0; i < PTO_LOAD_KINDS * loads->nodes * loads->links.count; i++)
        loads->bytes[i] = 0;
    int64_t nodes = pricing->plan->request.layout.nodes;
    for (int64_t i = 0; loads->fabric && i < pto_fabric_link_count(loads->fabric, nodes); i++)
        loads->fabric_bytes[i] = 0;
}

static int64_t ranks_per_node(const pto_pricing_t *pricing) {
    const pto_layout_t *layout = &pricing->plan->request.layout;
    return layout->gpus_per_node * layout->procs_per_gpu;
}

static double *bytes_of(const pto_link_loads_t *loads, pto_load_kind_t kind, int64_t node) {
    return &loads->bytes[((int64_t)kind * loads->nodes + node) * loads->links.count];
}

static void add_to_path(const pto_link_loads_t *loads, pto_load_kind_t kind, int64_t node, pto_path_t path,
                        double bytes) {
    double *link_bytes = bytes_of(loads, kind, node);
    for (int i = 0; i < pto_path_length(&path); i++)
        link_bytes[pto_path_link(&path, i)] += bytes;
}

static pto_memory_t message_memory(const pto_pricing_t *pricing, const pto_action_t *action, int64_t rank) {
    const pto_plan_t *plan = pricing->plan;
    return (pto_memory_t){.gpu = rank / plan->request.layout.procs_per_gpu,
                          .space = pto_plan_buffer(plan, pto_message_slice(action->step)->buffer)->space};
}

/* Returns the links between nodes that one end of the message to, or from, the action's peer counts. */
static pto_fabric_path_t fabric_path(const pto_pricing_t *pricing, const pto_action_t *action,
                                     pto_path_end_t end) {
    const pto_layout_t *layout = &pricing->plan->request.layout;
    int64_t own = action->rank / ranks_per_node(pricing), other = action->peer_rank / ranks_per_node(pricing);
    bool sends = pto_message_end(action->step) == PTO_END_SENDER;
    return pto_fabric_path(pricing->shared.loads.fabric, layout, end, sends ? own : other,
                           sends ? other : own);
}

static void count_between_nodes(const pto_pricing_t *pricing, const pto_action_t *action, int64_t bytes) {
    for (int end = PTO_END_SENDER; end <= PTO_END_RECEIVER; end++) {
        pto_fabric_path_t path = fabric_path(pricing, action, (pto_path_end_t)end);
        for (int i = 0; i < path.count; i++)
            pricing->shared.loads.fabric_bytes[path.link[i]] += (double)bytes;
    }
}

void pto_links_count_message(pto_pricing_t *pricing, const pto_action_t *action, int64_t bytes) {
    int64_t ranks = ranks_per_node(pricing);
    if (action->rank / ranks != action->peer_rank / ranks) {
        if (pricing->shared.loads.fabric)
            count_between_nodes(pricing, action, bytes);
        return;
    }
    if (pricing->shared.loads.links.count == 0)
        return;
    pto_path_t path =
        pto_path_between(&pricing->shared.loads.links, message_memory(pricing, action, action->rank),
                         message_memory(pricing, action, action->peer_rank));
    add_to_path(&pricing->shared.loads, PTO_LOAD_MESSAGES, action->rank / ranks, path, (double)bytes);
}

/* Counts the messages of one rank to the ranks [first, until) of its node, of the size that its class is
 * charged. Tries each rank of the node, since most peers of a large group are elsewhere. */
static void count_within(pto_pricing_t *pricing, pto_action_t *action, int64_t first, int64_t until) {
    for (int64_t peer = first; peer < until; peer++) {
        if (!pto_step_reaches(pricing->plan, action, peer))
            continue;
        int64_t bytes = pto_class_slice_bytes(pricing->plan, pto_message_slice(action->step), action);
        pto_links_count_message(pricing, action, bytes);
    }
}

/* Returns whether all messages leave their node: in pairs (xor) at a distance of at least the node's size. */
static bool all_leave(const pto_plan_t *plan, const pto_step_t *step, int64_t k) {
    const pto_peers_t *peers = &step->peers;
    return peers->kind == PTO_PEERS_XOR && peers->first.core == 0 &&
           pto_expr_value(peers->first, k, 0, 0) >= pto_plan_group(plan, step->group)->members_per_node;
}

void pto_links_count_step(pto_pricing_t *pricing, const pto_step_t *step, int64_t k) {
    const pto_link_loads_t *loads = &pricing->shared.loads;
    int64_t ranks = ranks_per_node(pricing);
    pto_space_t space = pto_plan_buffer(pricing->plan, step->source.buffer)->space;
    if ((loads->links.topology == NULL && space != PTO_SPACE_CPU) || all_leave(pricing->plan, step, k))
        return;
    for (int64_t rank = 0; loads->links.count > 0 && rank < loads->nodes * ranks; rank++) {
        pto_action_t action;
        int64_t first = rank / ranks * ranks;
        if (pto_step_acts(pricing->plan, step, rank, k, &action))
            count_within(pricing, &action, first, first + ranks);
    }
}

void pto_links_count_copies(pto_pricing_t *pricing, pto_action_t *action) {
    int64_t node = pto_actor_node(pricing, action->rank);
    for (int64_t next = 0;
         pricing->shared.loads.links.count > 0 && pto_step_next(pricing->plan, &next, action);)
        add_to_path(&pricing->shared.loads, PTO_LOAD_COPIES, node,
                    pto_copy_path(&pricing->shared.loads.links, pricing->plan, action),
                    (double)pto_slice_bytes(pricing->plan, &action->step->source, action));
}

void pto_links_count_class_copies(pto_pricing_t *pricing, const pto_action_t *action, double bytes) {
    pto_rank_t place = pricing->actors.actor[action->rank].place;
    int64_t gpus = pricing->shared.loads.links.count > 0 ? pricing->actors.actor[action->rank].gpus : 0;
    for (int64_t i = 0; i < gpus; i++, place.gpu++) {
        pto_action_t other = *action;
        other.rank = pto_layout_number(&pricing->plan->request.layout, place);
        add_to_path(&pricing->shared.loads, PTO_LOAD_COPIES, 0,
                    pto_copy_path(&pricing->shared.loads.links, pricing->plan, &other), bytes);
    }
}

static void count_class_reductions(pto_pricing_t *pricing, const pto_action_t *action) {
    const pto_plan_t *plan = pricing->plan;
    const pto_step_t *step = action->step;
    pto_rank_t place = pricing->actors.actor[action->rank].place;
    int64_t bytes =
        pto_reduction_traffic(pricing->machine, step, pto_class_slice_bytes(plan, &step->source, action),
                              pto_class_slice_bytes(plan, &step->target, action));
    bytes *= pricing->actors.actor[action->rank].cores;
    for (int64_t i = 0; i < pricing->actors.actor[action->rank].gpus; i++, place.gpu++)
        add_to_path(&pricing->shared.loads, PTO_LOAD_COPIES, 0,
                    pto_reduction_path(&pricing->shared.loads.links, plan, step,
                                       pto_layout_number(&plan->request.layout, place)),
                    (double)bytes);
}

void pto_links_count_reductions(pto_pricing_t *pricing, pto_action_t *action) {
    const pto_plan_t *plan = pricing->plan;
    const pto_step_t *step = action->step;
    if (!pricing->shared.loads.links.memory_s_per_byte)
        return;
    if (!pto_actors_are_exact(pricing, step)) {
        count_class_reductions(pricing, action);
        return;
    }
    for (int64_t next = 0; pto_step_next(plan, &next, action);)
        add_to_path(&pricing->shared.loads, PTO_LOAD_COPIES, pto_actor_node(pricing, action->rank),
                    pto_reduction_path(&pricing->shared.loads.links, plan, step, action->rank),
                    (double)pto_reduction_traffic(pricing->machine, step,
                                                  pto_slice_bytes(plan, &step->source, action),
                                                  pto_slice_bytes(plan, &step->target, action)));
}

static void update_busiest(double bytes, const pto_param_t *s_per_byte, pto_busiest_t *busiest) {
    pto_time_t time = pto_time_of(s_per_byte, bytes);
    if (pto_time_less(busiest->time, time))
        *busiest = (pto_busiest_t){.time = time, .s_per_byte = s_per_byte};
}

static void busiest_of_link(const pto_link_loads_t *loads, pto_load_kind_t kind, int64_t node, int link,
                            pto_busiest_t *busiest) {
    update_busiest(bytes_of(loads, kind, node)[link], pto_link_s_per_byte(&loads->links, link), busiest);
}

static void busiest_of_path(const pto_pricing_t *pricing, pto_load_kind_t kind, int64_t node, pto_path_t path,
                            pto_busiest_t *busiest) {
    for (int i = 0; i < pto_path_length(&path); i++)
        busiest_of_link(&pricing->shared.loads, kind, node, pto_path_link(&path, i), busiest);
}

static void busiest_between_nodes(const pto_pricing_t *pricing, const pto_action_t *action,
                                  pto_busiest_t *busiest) {
    const pto_link_loads_t *loads = &pricing->shared.loads;
    int64_t nodes = pricing->plan->request.layout.nodes;
    if (!loads->fabric)
        return;
    pto_fabric_path_t path = fabric_path(pricing, action, pto_message_end(action->step));
    for (int i = 0; i < path.count; i++)
        update_busiest(loads->fabric_bytes[path.link[i]],
                       pto_fabric_s_per_byte(loads->fabric, nodes, path.link[i]), busiest);
}

void pto_links_busiest_of_message(const pto_pricing_t *pricing, const pto_action_t *action,
                                  pto_busiest_links_t *busiest) {
    pto_path_end_t end = pto_message_end(action->step);
    int64_t node = pto_actor_node(pricing, action->rank);
    pto_memory_t own = message_memory(pricing, action, action->rank);
    pto_memory_t other = message_memory(pricing, action, action->peer_rank);
    if (pto_actor_node(pricing, action->peer_rank) != node) {
        busiest_between_nodes(pricing, action, &busiest->off_node);
        return;
    }
    if (pricing->shared.loads.links.count == 0)
        return;
    pto_memory_t from = end == PTO_END_SENDER ? own : other, to = end == PTO_END_SENDER ? other : own;
    pto_path_t path = pto_path_of_end(&pricing->shared.loads.links, end, from, to);
    busiest_of_path(pricing, PTO_LOAD_MESSAGES, node, path, &busiest->on_node);
}

void pto_links_busiest_of_copies(const pto_pricing_t *pricing, pto_action_t *action, pto_busiest_t *busiest) {
    for (int64_t next = 0;
         pricing->shared.loads.links.topology && pto_step_next(pricing->plan, &next, action);) {
        pto_path_t path = pto_copy_path(&pricing->shared.loads.links, pricing->plan, action);
        path.memory_count = 0;
        busiest_of_path(pricing, PTO_LOAD_COPIES, pto_actor_node(pricing, action->rank), path, busiest);
    }
}

void pto_links_busiest_of_all(const pto_pricing_t *pricing, pto_load_kind_t kind, pto_path_end_t end,
                              pto_busiest_t *busiest) {
    const pto_link_loads_t *loads = &pricing->shared.loads;
    int links = kind == PTO_LOAD_COPIES ? loads->links.memory_first : loads->links.count;
    for (int64_t node = 0; node < loads->nodes; node++)
        for (int link = 0; link < links; link++)
            if (pto_link_is_of_end(&loads->links, end, link))
                busiest_of_link(loads, kind, node, link, busiest);
}

pto_busiest_t pto_links_busiest_memory(const pto_pricing_t *pricing, pto_load_kind_t kind, int64_t actor) {
    const pto_link_loads_t *loads = &pricing->shared.loads;
    pto_busiest_t busiest = {0};
    for (int link = loads->links.memory_first; link < loads->links.count; link++)
        busiest_of_link(loads, kind, pto_actor_node(pricing, actor), link, &busiest);
    return busiest;
}

void pto_charge_busiest(pto_charge_t *charge, const pto_busiest_t *busiest, pto_time_t own) {
    if (!busiest->s_per_byte || !pto_time_less(pto_time_scale(own, 1 + 1e-12), busiest->time))
        return;
    pto_time_t bytes =
        pto_time_divide(pto_time_subtract(busiest->time, own), pto_time_of(busiest->s_per_byte, 1));
    pto_charge_share(charge, busiest->s_per_byte, PTO_SPACE_GPU, bytes);
}
