/* The places of a layout: the costs of sending between two of them, and the loads of links under a mapping.
 */
#include <math.h>
#include <stdlib.h>

#include "base/names.h"
#include "machine/machine_internal.h"
#include "map/map_internal.h"
#include "portolan/topology.h"

PTO_NAME_FUNCTION(pto_metric_name, pto_metric_t, PTO_METRIC_COUNT, "",
                  {[PTO_METRIC_LATENCY] = "latency",
                   [PTO_METRIC_BANDWIDTH] = "bandwidth",
                   [PTO_METRIC_DISTANCE] = "distance",
                   [PTO_METRIC_PRICE] = "price"});

PTO_NAME_FUNCTION(pto_phase_name, pto_phase_t, PTO_PHASE_COUNT, "",
                  {[PTO_PHASE_NODE] = "node", [PTO_PHASE_CORE] = "core", [PTO_PHASE_GPU] = "gpu"});

enum { SMALL_BYTES_MAX = 2 << 10, LARGE_BYTES = 16 << 20 };

/* The path between two GPUs. */
typedef struct {
    pto_level_t level;
    int hops;
    double s_per_byte; /* of the slowest link */
    double alpha_s;    /* sum over the links */
} path_t;

static path_t path_between(const pto_machine_t *machine, const pto_layout_t *layout, int64_t a, int64_t b) {
    const pto_topology_t *topology = pto_machine_topology(machine);
    const pto_rank_t first = {.gpu = a}, second = {.gpu = b};
    path_t path = {.level = pto_layout_level(layout, first, second)};
    path.hops = (int)path.level; /* without a topology, levels stand for hops */
    if (!topology || a == b)
        return path;
    int from = pto_topology_device(topology, PTO_DEVICE_GPU, (int)a);
    int to = pto_topology_device(topology, PTO_DEVICE_GPU, (int)b);
    const int *link;
    path.hops = pto_topology_route(topology, from, to, &link);
    path.s_per_byte = pto_topology_route_s_per_byte(topology, from, to);
    for (int i = 0; i < path.hops; i++) {
        const pto_topology_link_t *crossed = pto_topology_link_at(topology, link[i]);
        path.alpha_s += pto_param_known(&crossed->alpha_s) ? crossed->alpha_s.value : 0;
    }
    return path;
}

/* Returns the seconds of a message; -1: the machine has no cost for it. */
static double message_s(const pto_machine_t *machine, const path_t *path, int64_t bytes) {
    const pto_cost_row_t *row = pto_machine_message(machine, PTO_SPACE_GPU, path->level, bytes);
    if (!row)
        return -1;
    double seconds = row->postal.alpha_s.value + (double)bytes * row->postal.beta_s_per_byte.value;
    double linked_s = path->alpha_s + (double)bytes * path->s_per_byte;
    return linked_s > seconds ? linked_s : seconds;
}

/* Returns the cost by a metric; below 0 if the machine has no cost for such messages. */
static double cost_of(const pto_machine_t *machine, const path_t *path, pto_metric_t metric, int64_t bytes) {
    double sum_s = 0;
    int count = 0;
    switch (metric) {
    case PTO_METRIC_DISTANCE:
        return path->hops;
    case PTO_METRIC_BANDWIDTH:
        return message_s(machine, path, LARGE_BYTES) / LARGE_BYTES;
    case PTO_METRIC_LATENCY:
        for (int64_t small = 1; small <= SMALL_BYTES_MAX; small *= 2, count++)
            sum_s += message_s(machine, path, small);
        return sum_s / count;
    case PTO_METRIC_PRICE:
    case PTO_METRIC_COUNT:
        break;
    }
    int64_t message_bytes = bytes > 0 ? bytes : 1;
    return message_s(machine, path, message_bytes) / (double)message_bytes;
}

static pto_status_t refuse_level(const pto_machine_t *machine, pto_level_t level, pto_error_t *err) {
    return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                         "machine %s has no messages.gpu.%s, which mapping needs", machine->name,
                         pto_level_name(level));
}

static pto_status_t fill_costs(const pto_machine_t *machine, const pto_layout_t *layout, pto_metric_t metric,
                               int64_t bytes, pto_places_t *places, pto_error_t *err) {
    path_t off_node = {.level = PTO_LEVEL_OFF_NODE, .hops = PTO_LEVEL_OFF_NODE};
    for (int64_t i = 0; i < places->gpus * places->gpus; i++) {
        path_t path = path_between(machine, layout, i / places->gpus, i % places->gpus);
        places->cost[i] = cost_of(machine, &path, metric, bytes);
        off_node.hops = path.hops >= off_node.hops ? path.hops + 1 : off_node.hops;
        bool used = i / places->gpus != i % places->gpus || places->cores > 1;
        if (places->cost[i] < 0 && used)
            return refuse_level(machine, path.level, err);
    }
    places->group_nodes[0] = 1;
    places->off_node[0] = cost_of(machine, &off_node, metric, bytes);
    for (int level = 0; level < machine->fabric.levels; level++) {
        const pto_param_t *s_per_byte = machine->fabric.level[level].s_per_byte;
        off_node.s_per_byte = fmax(off_node.s_per_byte, fmax(s_per_byte[0].value, s_per_byte[1].value));
        off_node.hops += level > 0;
        places->top = level;
        places->group_nodes[level] = machine->fabric.level[level].nodes;
        places->off_node[level] = cost_of(machine, &off_node, metric, bytes);
    }
    return places->off_node[0] < 0 && places->nodes > 1 ? refuse_level(machine, off_node.level, err) : PTO_OK;
}

pto_status_t pto_places_make(const pto_machine_t *machine, const pto_layout_t *layout, pto_metric_t metric,
                             int64_t bytes, pto_places_t *places, pto_error_t *err) {
    const pto_topology_t *topology = pto_machine_topology(machine);
    pto_places_t made = {
        .nodes = layout->nodes, .gpus = layout->gpus_per_node, .cores = layout->owners_per_gpu};
    if (topology && pto_topology_device_count(topology, PTO_DEVICE_GPU) < made.gpus)
        return pto_error_set(err, PTO_ERR_RANGE, "the topology has %d GPUs, the layout %lld",
                             pto_topology_device_count(topology, PTO_DEVICE_GPU), (long long)made.gpus);
    made.cost = calloc((size_t)(made.gpus * made.gpus), sizeof *made.cost);
    if (!made.cost)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a mapping");
    pto_status_t status = fill_costs(machine, layout, metric, bytes, &made, err);
    if (status == PTO_OK)
        *places = made;
    else
        pto_places_fini(&made);
    return status;
}

int pto_map_link_count(const pto_machine_t *machine) {
    const pto_topology_t *topology = pto_machine_topology(machine);
    int levels = machine->fabric.levels > 0 ? machine->fabric.levels : 1;
    return (topology ? pto_topology_link_count(topology) : 0) + 2 * levels;
}

/* Returns the NIC with the fastest path from a GPU, the first of equals; -1: none is known. */
static int nic_of(const pto_topology_t *topology, int gpu) {
    int best = -1;
    double best_s = 0;
    for (int n = 0; n < pto_topology_device_count(topology, PTO_DEVICE_NIC); n++) {
        int nic = pto_topology_device(topology, PTO_DEVICE_NIC, n);
        double s_per_byte = pto_topology_route_s_per_byte(topology, gpu, nic);
        if (best < 0 || s_per_byte < best_s) {
            best = nic;
            best_s = s_per_byte;
        }
    }
    return best;
}

static void add_route(const pto_topology_t *topology, int from, int to, double volume, double *load) {
    const int *link;
    int count = from >= 0 && to >= 0 ? pto_topology_route(topology, from, to, &link) : 0;
    for (int i = 0; i < count; i++)
        load[link[i]] += volume;
}

typedef struct {
    const pto_topology_t *topology; /* may be NULL */
    int link_count;                 /* of the topology */
    int count;                      /* link_count, and two links (up, down) for each level of the fabric */
    const pto_places_t *places;
    double *load; /* [node][count]; the links of a group of nodes are those of its first node */
} loads_t;

static int64_t node_of(const loads_t *loads, int64_t place) {
    return place / (loads->places->gpus * loads->places->cores);
}

static int gpu_of(const loads_t *loads, int64_t place) {
    int64_t gpu = place / loads->places->cores % loads->places->gpus;
    return pto_topology_device(loads->topology, PTO_DEVICE_GPU, (int)gpu);
}

static double *load_of(const loads_t *loads, int64_t place) {
    return loads->load + node_of(loads, place) * loads->count;
}

static void add_between_nodes(const loads_t *loads, int64_t from, int64_t to, double volume) {
    for (int level = 0; level <= loads->places->top; level++) {
        int64_t nodes = loads->places->group_nodes[level];
        int64_t source = from / nodes * nodes, target = to / nodes * nodes;
        if (source == target)
            return;
        loads->load[source * loads->count + loads->link_count + 2 * level] += volume;
        loads->load[target * loads->count + loads->link_count + 2 * level + 1] += volume;
    }
}

static void add_flow(const loads_t *loads, int64_t from, int64_t to, double volume) {
    double *source = load_of(loads, from), *target = load_of(loads, to);
    add_between_nodes(loads, node_of(loads, from), node_of(loads, to), volume);
    if (!loads->topology)
        return;
    int a = gpu_of(loads, from), b = gpu_of(loads, to);
    if (source == target) {
        add_route(loads->topology, a, b, volume, source);
    } else {
        add_route(loads->topology, a, nic_of(loads->topology, a), volume, source);
        add_route(loads->topology, nic_of(loads->topology, b), b, volume, target);
    }
}

void pto_map_loads(const pto_flows_t *flows, const pto_machine_t *machine, const pto_places_t *places,
                   const int64_t *place, double *load) {
    int count = pto_map_link_count(machine);
    loads_t loads = {.topology = pto_machine_topology(machine), .count = count, .places = places};
    loads.link_count = count - 2 * (places->top + 1);
    for (int link = 0; link < count; link++)
        load[link] = -1;
    loads.load = calloc((size_t)(places->nodes * count), sizeof *loads.load);
    if (!loads.load)
        return;
    for (int64_t i = 0; i < flows->count; i++)
        for (int64_t f = flows->first[i]; f < flows->first[i + 1]; f++)
            if (flows->flow[f].out > 0)
                add_flow(&loads, place[i], place[flows->flow[f].peer], flows->flow[f].out);
    for (int64_t n = 0; n < places->nodes * count; n++)
        if (loads.load[n] > load[n % count])
            load[n % count] = loads.load[n];
    free(loads.load);
}
