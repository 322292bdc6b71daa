/* Preloaded under Open MPI's launcher: a process counts as bound to whatever it was asked to be bound to, so
 * that `--report-bindings` works on a machine that hwloc makes up (HWLOC_SYNTHETIC), with CPUs that this one
 * lacks. */
#include <hwloc.h>

static hwloc_bitmap_t asked; /* NULL: the process is free */

int hwloc_set_cpubind(hwloc_topology_t topology, hwloc_const_cpuset_t set, int flags) {
    hwloc_bitmap_free(asked);
    asked = hwloc_bitmap_dup(set);
    return asked ? 0 : -1;
}

int hwloc_get_cpubind(hwloc_topology_t topology, hwloc_cpuset_t set, int flags) {
    return hwloc_bitmap_copy(set, asked ? asked : hwloc_topology_get_complete_cpuset(topology));
}
