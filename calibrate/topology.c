/* Finds sockets by hwloc and NVML (topology.h). A socket is hwloc's package. NVML is loaded at run time, as
 * machines without NVIDIA's driver have none. Its header is not used, so that the build does not need it; the
 * functions used here have never changed. */
#include "topology.h"

#include <dlfcn.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "fatal.h"

struct topology {
    hwloc_topology_t hwloc;
    void *nvml; /* the library; NULL: absent */
};

static void open_nvml(topology_t *topology) {
    topology->nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (topology->nvml == NULL)
        return;
    int (*initialize)(void) = NULL;
    *(void **)&initialize = dlsym(topology->nvml, "nvmlInit_v2");
    if (initialize == NULL || initialize() != 0) {
        dlclose(topology->nvml);
        topology->nvml = NULL;
    }
}

topology_t *topology_create(void) {
    topology_t *topology = must_allocate(1, sizeof *topology);
    if (hwloc_topology_init(&topology->hwloc) != 0 || hwloc_topology_load(topology->hwloc) != 0)
        die("hwloc can't read this machine's topology");
    open_nvml(topology);
    return topology;
}

void topology_destroy(topology_t *topology) {
    if (topology == NULL)
        return;
    if (topology->nvml != NULL)
        dlclose(topology->nvml);
    hwloc_topology_destroy(topology->hwloc);
    free(topology);
}

int topology_sockets(const topology_t *topology) {
    int count = hwloc_get_nbobjs_by_type(topology->hwloc, HWLOC_OBJ_PACKAGE);
    return count > 0 ? count : 1;
}

int topology_cores(const topology_t *topology) {
    int count = hwloc_get_nbobjs_by_type(topology->hwloc, HWLOC_OBJ_CORE);
    return count > 0 ? count : 1;
}

void topology_cpu_name(const topology_t *topology, char *name, size_t name_size) {
    hwloc_obj_t package = hwloc_get_obj_by_type(topology->hwloc, HWLOC_OBJ_PACKAGE, 0);
    const char *model = package != NULL ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
    snprintf(name, name_size, "%s", model != NULL ? model : "unknown");
}

/* Returns the socket of a set of CPUs; -1: they belong to several, or to none. */
static int socket_of_set(const topology_t *topology, hwloc_const_cpuset_t set) {
    int found = -1;
    for (int i = 0; i < hwloc_get_nbobjs_by_type(topology->hwloc, HWLOC_OBJ_PACKAGE); i++) {
        hwloc_obj_t package = hwloc_get_obj_by_type(topology->hwloc, HWLOC_OBJ_PACKAGE, (unsigned)i);
        if (hwloc_bitmap_intersects(package->cpuset, set)) {
            if (found >= 0)
                return -1;
            found = i;
        }
    }
    return found;
}

static int bind_to_socket(topology_t *topology, int socket) {
    hwloc_obj_t package = hwloc_get_obj_by_type(topology->hwloc, HWLOC_OBJ_PACKAGE, (unsigned)socket);
    if (package == NULL || hwloc_set_cpubind(topology->hwloc, package->cpuset, HWLOC_CPUBIND_PROCESS) != 0)
        return -1;
    return socket;
}

int topology_own_socket(topology_t *topology, int preferred, bool *bound_here) {
    *bound_here = false;
    if (topology_sockets(topology) == 1)
        return 0;
    hwloc_cpuset_t set = hwloc_bitmap_alloc();
    int socket = -1;
    if (set != NULL && hwloc_get_cpubind(topology->hwloc, set, HWLOC_CPUBIND_PROCESS) == 0)
        socket = socket_of_set(topology, set);
    hwloc_bitmap_free(set);
    if (socket < 0) {
        socket = bind_to_socket(topology, preferred);
        *bound_here = socket >= 0;
    }
    return socket;
}

enum { AFFINITY_WORDS = 64 };

/* Returns the socket of the CPUs in `mask`; -1 if they belong to several sockets or there are none. */
static int socket_of_mask(const topology_t *topology, const unsigned long *mask) {
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    int socket = -1;
    if (set != NULL && hwloc_bitmap_from_ulongs(set, AFFINITY_WORDS, mask) == 0)
        socket = socket_of_set(topology, set);
    hwloc_bitmap_free(set);
    return socket;
}

int topology_gpu_socket(const topology_t *topology, const char *bus, char *driver, size_t driver_size) {
    if (topology->nvml == NULL)
        return topology_sockets(topology) == 1 ? 0 : -1;
    int (*driver_version)(char *, unsigned) = NULL;
    int (*by_bus)(const char *, void **) = NULL;
    int (*affinity)(void *, unsigned, unsigned long *) = NULL;
    *(void **)&driver_version = dlsym(topology->nvml, "nvmlSystemGetDriverVersion");
    *(void **)&by_bus = dlsym(topology->nvml, "nvmlDeviceGetHandleByPciBusId_v2");
    *(void **)&affinity = dlsym(topology->nvml, "nvmlDeviceGetCpuAffinity");
    if (driver_version != NULL)
        (void)driver_version(driver, (unsigned)driver_size);
    void *device = NULL;
    unsigned long mask[AFFINITY_WORDS] = {0};
    if (topology_sockets(topology) == 1)
        return 0;
    if (by_bus == NULL || affinity == NULL || by_bus(bus, &device) != 0 ||
        affinity(device, AFFINITY_WORDS, mask) != 0)
        return -1;
    return socket_of_mask(topology, mask);
}
