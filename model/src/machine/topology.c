/* The topology of a node: lookups, and finding the routes between devices by shortest paths (Bellman and
 * Ford). topology_read.c reads the file. A vertex is a device (GPU, socket or NIC) or a switch; vertices and
 * directed links are given by their index. */
#include "machine/topology_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/text_file.h"

PTO_NAME_FUNCTION(pto_device_kind_name, pto_device_kind_t, PTO_DEVICE_KINDS, "?",
                  {[PTO_DEVICE_GPU] = "gpu", [PTO_DEVICE_SOCKET] = "socket", [PTO_DEVICE_NIC] = "nic"});

const pto_topology_t *pto_machine_topology(const pto_machine_t *machine) { return machine->topology; }
const char *pto_topology_name(const pto_topology_t *topology) { return topology->name; }
const char *pto_topology_source(const pto_topology_t *topology) { return topology->source; }
const char *pto_topology_path(const pto_topology_t *topology) { return topology->path; }

int pto_topology_device_count(const pto_topology_t *topology, pto_device_kind_t kind) {
    return (int)topology->device_count[kind];
}

int pto_topology_device(const pto_topology_t *topology, pto_device_kind_t kind, int number) {
    for (int before = 0; before < (int)kind; before++)
        number += (int)topology->device_count[before];
    return number;
}

int pto_topology_devices(const pto_topology_t *topology) {
    return pto_topology_device(topology, PTO_DEVICE_KINDS, 0);
}

int pto_topology_vertex_count(const pto_topology_t *topology) { return topology->vertex_count; }

const char *pto_topology_vertex_name(const pto_topology_t *topology, int vertex) {
    return topology->vertex[vertex];
}

int pto_topology_link_count(const pto_topology_t *topology) { return topology->link_count; }

const pto_topology_link_t *pto_topology_link_at(const pto_topology_t *topology, int index) {
    return &topology->link[index];
}

int pto_topology_link_between(const pto_topology_t *topology, int from, int to) {
    for (int i = 0; i < topology->link_count; i++)
        if (topology->link[i].from == from && topology->link[i].to == to)
            return i;
    return -1;
}

pto_route_t *pto_topology_route_of(const pto_topology_t *topology, int from, int to) {
    return &topology->route[from * pto_topology_devices(topology) + to];
}

int pto_topology_route(const pto_topology_t *topology, int from, int to, const int **link) {
    const pto_route_t *route = pto_topology_route_of(topology, from, to);
    *link = route->link;
    return route->count;
}

double pto_topology_route_s_per_byte(const pto_topology_t *topology, int from, int to) {
    const pto_route_t *route = pto_topology_route_of(topology, from, to);
    double slowest = 0;
    for (int i = 0; i < route->count; i++)
        slowest = fmax(slowest, topology->link[route->link[i]].s_per_byte.value);
    return slowest;
}

/* The best path to a vertex from the device whose routes are being found. */
typedef struct {
    double cost; /* sum of s_per_byte of its links; INFINITY: unreachable */
    int hops;    /* number of its links */
    int link;    /* the last link */
} path_t;

/* GPUs and NICs have no hardware that forwards to another device. */
static bool forwards(const pto_topology_t *topology, int vertex) {
    int sockets = pto_topology_device(topology, PTO_DEVICE_SOCKET, 0);
    int nics = pto_topology_device(topology, PTO_DEVICE_NIC, 0);
    return (vertex >= sockets && vertex < nics) || vertex >= pto_topology_devices(topology);
}

/* Finds the best paths from a device to all vertices. */
static void find_paths(const pto_topology_t *topology, int from, path_t *path) {
    for (int vertex = 0; vertex < topology->vertex_count; vertex++)
        path[vertex] = (path_t){.cost = vertex == from ? 0 : INFINITY, .link = -1};
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < topology->link_count; i++) {
            const pto_topology_link_t *link = &topology->link[i];
            if (link->from != from && !forwards(topology, link->from))
                continue;
            path_t longer = {.cost = path[link->from].cost + link->s_per_byte.value,
                             .hops = path[link->from].hops + 1,
                             .link = i};
            const path_t *known = &path[link->to];
            if (longer.cost < known->cost || (longer.cost == known->cost && longer.hops < known->hops)) {
                path[link->to] = longer;
                changed = true;
            }
        }
    }
}

/* Stores the links of the best path to a device. Returns false when out of memory. */
static bool keep_route(const pto_topology_t *topology, const path_t *path, int to, pto_route_t *route) {
    int *link = malloc((size_t)(path[to].hops + 1) * sizeof *link);
    if (!link)
        return false;
    *route = (pto_route_t){.known = true, .count = path[to].hops, .link = link};
    for (int i = route->count - 1, vertex = to; i >= 0; i--) {
        link[i] = path[vertex].link;
        vertex = topology->link[link[i]].from;
    }
    return true;
}

bool pto_topology_find_routes(pto_topology_t *topology) {
    int devices = pto_topology_devices(topology);
    path_t *path = calloc((size_t)topology->vertex_count + 1, sizeof *path);
    bool kept = path != NULL;
    for (int from = 0; from < devices && kept; from++) {
        find_paths(topology, from, path);
        for (int to = 0; to < devices && kept; to++) {
            pto_route_t *route = pto_topology_route_of(topology, from, to);
            if (!route->known && isfinite(path[to].cost))
                kept = keep_route(topology, path, to, route);
        }
    }
    free(path);
    return kept;
}

void pto_topology_destroy(pto_topology_t *topology) {
    if (!topology)
        return;
    int devices = topology->route ? pto_topology_devices(topology) : 0;
    for (int i = 0; i < devices * devices; i++)
        free(topology->route[i].link);
    free(topology->name);
    free(topology->source);
    free(topology->path);
    free(topology->vertex);
    free(topology->link);
    free(topology->route);
    free(topology);
}

/* Returns a copy of an array; NULL if there is none. Sets `*copied` to false when out of memory. */
static void *copy_of(const void *from, int count, size_t size, bool *copied) {
    void *to = from ? malloc((size_t)count * size + 1) : NULL;
    *copied = *copied && (to || !from);
    return to ? memcpy(to, from, (size_t)count * size) : NULL;
}

pto_topology_t *pto_topology_copy(const pto_topology_t *topology) {
    bool copied = true;
    int devices = pto_topology_devices(topology), routes = devices * devices;
    pto_topology_t *copy = copy_of(topology, 1, sizeof *topology, &copied);
    if (!copy)
        return NULL;
    copied = pto_text_copy_any(topology->name, &copy->name);
    copied = pto_text_copy_any(topology->source, &copy->source) && copied;
    copied = pto_text_copy_any(topology->path, &copy->path) && copied;
    copy->vertex = copy_of(topology->vertex, topology->vertex_count, sizeof *copy->vertex, &copied);
    copy->link = copy_of(topology->link, topology->link_count, sizeof *copy->link, &copied);
    copy->route = copy_of(topology->route, routes, sizeof *copy->route, &copied);
    for (int i = 0; copy->route && i < routes; i++) {
        const pto_route_t *route = &topology->route[i];
        copy->route[i].link = copy_of(route->link, route->count, sizeof *route->link, &copied);
    }
    if (copied)
        return copy;
    pto_topology_destroy(copy);
    return NULL;
}
