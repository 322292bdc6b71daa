/* The links of a node that its messages and copies take. */
#include "price/paths.h"

static int64_t rounded_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* A layout may space its GPUs out over sockets (as that of a pair does): a GPU is the node's as far into its
 * socket. */
static int64_t gpu_of_node(const pto_topology_t *topology, const pto_layout_t *layout, int64_t gpu) {
    int64_t gpus = pto_topology_device_count(topology, PTO_DEVICE_GPU);
    int64_t sockets = pto_topology_device_count(topology, PTO_DEVICE_SOCKET);
    return gpu / layout->gpus_per_socket * rounded_up(gpus, sockets) + gpu % layout->gpus_per_socket;
}

static int vertex_of(const pto_topology_t *topology, const pto_layout_t *layout, pto_memory_t memory) {
    int64_t gpu = memory.gpu % layout->gpus_per_node;
    if (memory.space == PTO_SPACE_CPU)
        return pto_topology_device(topology, PTO_DEVICE_SOCKET, (int)(gpu / layout->gpus_per_socket));
    return pto_topology_device(topology, PTO_DEVICE_GPU, (int)gpu_of_node(topology, layout, gpu));
}

pto_status_t pto_paths_check(const pto_topology_t *topology, const pto_layout_t *layout, pto_error_t *err) {
    int gpus = topology ? pto_topology_device_count(topology, PTO_DEVICE_GPU) : 0;
    int sockets = topology ? pto_topology_device_count(topology, PTO_DEVICE_SOCKET) : 0;
    for (int64_t gpu = 0; topology && gpu < layout->gpus_per_node; gpu++)
        if (gpu / layout->gpus_per_socket >= sockets || gpu_of_node(topology, layout, gpu) >= gpus)
            return pto_error_set(
                err, PTO_ERR_RANGE,
                "%lld GPUs a node, %lld on each socket, are not in a topology of %d GPUs and "
                "%d sockets",
                (long long)layout->gpus_per_node, (long long)layout->gpus_per_socket, gpus, sockets);
    return PTO_OK;
}

pto_path_t pto_path_between(const pto_topology_t *topology, const pto_layout_t *layout, pto_memory_t from,
                            pto_memory_t to) {
    pto_path_t path = {0};
    path.count = pto_topology_route(topology, vertex_of(topology, layout, from),
                                    vertex_of(topology, layout, to), &path.link);
    return path;
}

static bool is_port(const pto_topology_t *topology, int index) {
    const pto_topology_link_t *link = pto_topology_link_at(topology, index);
    int gpus = pto_topology_device_count(topology, PTO_DEVICE_GPU);
    return (link->from < gpus) != (link->to < gpus);
}

bool pto_link_is_senders(const pto_topology_t *topology, int link) {
    int gpus = pto_topology_device_count(topology, PTO_DEVICE_GPU);
    return is_port(topology, link) && pto_topology_link_at(topology, link)->from < gpus;
}

static bool begins_with_port(const pto_topology_t *topology, pto_path_t path) {
    return path.count > 0 && pto_link_is_senders(topology, path.link[0]);
}

pto_path_t pto_path_of_sender(const pto_topology_t *topology, pto_path_t path) {
    path.count = begins_with_port(topology, path) ? 1 : 0;
    return path;
}

pto_path_t pto_path_of_receiver(const pto_topology_t *topology, pto_path_t path) {
    if (begins_with_port(topology, path))
        path = (pto_path_t){.count = path.count - 1, .link = path.link + 1};
    return path;
}

static pto_memory_t memory_of(const pto_plan_t *plan, const pto_slice_t *slice, const pto_action_t *action) {
    return (pto_memory_t){.gpu = pto_slice_holder(plan, slice, action) / plan->request.layout.procs_per_gpu,
                          .space = pto_plan_buffer(plan, slice->buffer)->space};
}

pto_path_t pto_copy_path(const pto_topology_t *topology, const pto_plan_t *plan, const pto_action_t *action) {
    const pto_step_t *step = action->step;
    pto_path_t path =
        pto_path_between(topology, &plan->request.layout, memory_of(plan, &step->source, action),
                         memory_of(plan, &step->target, action));
    path = pto_path_of_receiver(topology, path);
    if (path.count > 0 && is_port(topology, path.link[path.count - 1]))
        path.count--;
    return path;
}

/* --- between nodes -------------------------------------------------------------------------------------- */

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

pto_fabric_path_t pto_fabric_path(const pto_fabric_t *fabric, const pto_layout_t *layout, int64_t node,
                                  int64_t other, bool up) {
    pto_fabric_path_t path = {0};
    int64_t first = 0;
    for (int level = 0; level < fabric->levels; level++) {
        int64_t group = node / fabric->level[level].nodes;
        if (group == other / fabric->level[level].nodes)
            break;
        path.link[path.count++] = (int)(first + 2 * group + !up);
        first += links_of_level(fabric, level, layout->nodes);
    }
    return path;
}
