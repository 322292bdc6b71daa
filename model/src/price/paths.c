/* The links that messages, copies and reductions occupy (paths.h). */
#include "price/paths.h"

#include "machine/machine_internal.h"

static int64_t rounded_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

pto_shared_links_t pto_links_of(const pto_machine_t *machine, const pto_layout_t *layout) {
    pto_shared_links_t links = {.layout = layout, .topology = machine->topology};
    if (links.topology)
        links.count = links.memory_first = pto_topology_link_count(links.topology);
    if (pto_param_known(&machine->host_memory_s_per_byte)) {
        links.memory_s_per_byte = &machine->host_memory_s_per_byte;
        links.count += (int)rounded_up(layout->gpus_per_node, layout->gpus_per_socket);
    }
    return links;
}

const pto_param_t *pto_link_s_per_byte(const pto_shared_links_t *links, int link) {
    return link < links->memory_first ? &pto_topology_link_at(links->topology, link)->s_per_byte
                                      : links->memory_s_per_byte;
}

/* Returns the topology's number of a GPU of the layout. A layout may use some GPUs of each socket only, as
 * that of a pair does: a GPU keeps its socket and its number there. */
static int64_t gpu_of_node(const pto_topology_t *topology, const pto_layout_t *layout, int64_t gpu) {
    int64_t gpus = pto_topology_device_count(topology, PTO_DEVICE_GPU);
    int64_t sockets = pto_topology_device_count(topology, PTO_DEVICE_SOCKET);
    return gpu / layout->gpus_per_socket * rounded_up(gpus, sockets) + gpu % layout->gpus_per_socket;
}

static int64_t socket_of(const pto_shared_links_t *links, pto_memory_t memory) {
    return memory.gpu % links->layout->gpus_per_node / links->layout->gpus_per_socket;
}

static int vertex_of(const pto_shared_links_t *links, pto_memory_t memory) {
    int64_t gpu = memory.gpu % links->layout->gpus_per_node;
    if (memory.space == PTO_SPACE_CPU)
        return pto_topology_device(links->topology, PTO_DEVICE_SOCKET, (int)socket_of(links, memory));
    return pto_topology_device(links->topology, PTO_DEVICE_GPU,
                               (int)gpu_of_node(links->topology, links->layout, gpu));
}

pto_status_t pto_links_check(const pto_shared_links_t *links, pto_error_t *err) {
    const pto_topology_t *topology = links->topology;
    const pto_layout_t *layout = links->layout;
    int gpus = topology ? pto_topology_device_count(topology, PTO_DEVICE_GPU) : 0;
    int sockets = topology ? pto_topology_device_count(topology, PTO_DEVICE_SOCKET) : 0;
    if (topology && layout->in_host && rounded_up(layout->gpus_per_node, layout->gpus_per_socket) > sockets)
        return pto_error_set(err, PTO_ERR_RANGE, "%lld processes on a socket are not on %d sockets",
                             (long long)layout->gpus_per_socket, sockets);
    for (int64_t gpu = 0; topology && !layout->in_host && gpu < layout->gpus_per_node; gpu++)
        if (gpu / layout->gpus_per_socket >= sockets || gpu_of_node(topology, layout, gpu) >= gpus)
            return pto_error_set(
                err, PTO_ERR_RANGE,
                "%lld GPUs a node, %lld on each socket, are not in a topology of %d GPUs and "
                "%d sockets",
                (long long)layout->gpus_per_node, (long long)layout->gpus_per_socket, gpus, sockets);
    return PTO_OK;
}

static void add_memory(const pto_shared_links_t *links, pto_memory_t memory, pto_path_t *path) {
    if (links->memory_s_per_byte && memory.space == PTO_SPACE_CPU)
        path->memory[path->memory_count++] = links->memory_first + (int)socket_of(links, memory);
}

static pto_path_t route_between(const pto_shared_links_t *links, pto_memory_t from, pto_memory_t to) {
    pto_path_t path = {0};
    if (links->topology)
        path.route_count =
            pto_topology_route(links->topology, vertex_of(links, from), vertex_of(links, to), &path.route);
    return path;
}

pto_path_t pto_path_between(const pto_shared_links_t *links, pto_memory_t from, pto_memory_t to) {
    pto_path_t path = route_between(links, from, to);
    add_memory(links, from, &path);
    add_memory(links, to, &path);
    return path;
}

static bool is_port(const pto_topology_t *topology, int index) {
    const pto_topology_link_t *link = pto_topology_link_at(topology, index);
    int gpus = pto_topology_device_count(topology, PTO_DEVICE_GPU);
    return (link->from < gpus) != (link->to < gpus);
}

static bool is_port_outwards(const pto_topology_t *topology, int link) {
    int gpus = pto_topology_device_count(topology, PTO_DEVICE_GPU);
    return is_port(topology, link) && pto_topology_link_at(topology, link)->from < gpus;
}

bool pto_link_is_of_end(const pto_shared_links_t *links, pto_path_end_t end, int link) {
    return link >= links->memory_first || is_port_outwards(links->topology, link) == (end == PTO_END_SENDER);
}

pto_path_t pto_path_of_end(const pto_shared_links_t *links, pto_path_end_t end, pto_memory_t from,
                           pto_memory_t to) {
    pto_path_t path = route_between(links, from, to);
    int port_count = path.route_count > 0 && is_port_outwards(links->topology, path.route[0]);
    if (end == PTO_END_SENDER) {
        path.route_count = port_count;
    } else if (port_count > 0) {
        path.route++;
        path.route_count--;
    }
    add_memory(links, end == PTO_END_SENDER ? from : to, &path);
    return path;
}

static int64_t gpu_of_rank(const pto_shared_links_t *links, const pto_plan_t *plan, int64_t rank) {
    int64_t gpu = rank / plan->request.layout.procs_per_gpu;
    return links->gpu ? links->gpu[gpu] : gpu;
}

static pto_memory_t memory_of(const pto_shared_links_t *links, const pto_plan_t *plan,
                              const pto_slice_t *slice, const pto_action_t *action) {
    return (pto_memory_t){.gpu = gpu_of_rank(links, plan, pto_slice_holder(plan, slice, action)),
                          .space = pto_plan_buffer(plan, slice->buffer)->space};
}

pto_path_t pto_copy_path(const pto_shared_links_t *links, const pto_plan_t *plan,
                         const pto_action_t *action) {
    const pto_step_t *step = action->step;
    pto_memory_t from = memory_of(links, plan, &step->source, action);
    pto_memory_t to = memory_of(links, plan, &step->target, action);
    pto_path_t path = pto_path_of_end(links, PTO_END_RECEIVER, from, to);
    if (path.route_count > 0 && is_port(links->topology, path.route[path.route_count - 1]))
        path.route_count--;
    path.memory_count = 0;
    add_memory(links, from, &path);
    add_memory(links, to, &path);
    return path;
}

pto_path_t pto_reduction_path(const pto_shared_links_t *links, const pto_plan_t *plan, const pto_step_t *step,
                              int64_t rank) {
    pto_path_t path = {0};
    pto_memory_t memory = {.gpu = gpu_of_rank(links, plan, rank),
                           .space = pto_plan_buffer(plan, step->target.buffer)->space};
    add_memory(links, memory, &path);
    return path;
}

int64_t pto_reduction_traffic(const pto_machine_t *machine, const pto_step_t *step, int64_t source_bytes,
                              int64_t target_bytes) {
    const pto_cost_table_t *reduce = &machine->reduce[PTO_SPACE_CPU];
    if (reduce->count > 0 && target_bytes < reduce->row[reduce->count - 1].from_bytes)
        return 0;
    return source_bytes + (step->fresh ? 1 : 2) * target_bytes;
}

static int64_t links_of_level(const pto_fabric_t *fabric, int level, int64_t nodes) {
    return 2 * rounded_up(nodes, fabric->level[level].nodes);
}

int64_t pto_fabric_link_count(const pto_fabric_t *fabric, int64_t nodes) {
    int64_t count = 0;
    for (int level = 0; level < fabric->levels; level++)
        count += links_of_level(fabric, level, nodes);
    return count;
}

const pto_param_t *pto_fabric_s_per_byte(const pto_fabric_t *fabric, int64_t nodes, int64_t link) {
    int level = 0;
    for (; link >= links_of_level(fabric, level, nodes); level++)
        link -= links_of_level(fabric, level, nodes);
    return &fabric->level[level].s_per_byte[link % 2];
}

pto_fabric_path_t pto_fabric_path(const pto_fabric_t *fabric, const pto_layout_t *layout, pto_path_end_t end,
                                  int64_t from_node, int64_t to_node) {
    pto_fabric_path_t path = {0};
    int64_t first = 0, own = end == PTO_END_SENDER ? from_node : to_node;
    int64_t other = end == PTO_END_SENDER ? to_node : from_node;
    for (int level = 0; level < fabric->levels; level++) {
        int64_t group = own / fabric->level[level].nodes;
        if (group == other / fabric->level[level].nodes)
            break;
        path.link[path.count++] = (int)(first + 2 * group + (end == PTO_END_RECEIVER));
        first += links_of_level(fabric, level, layout->nodes);
    }
    return path;
}
