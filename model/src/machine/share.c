/* A communicator's share of a machine. If k communicators do the same at the same time, each sees a machine
 * whose shared resources take k times as long for every byte and message. */
#include "machine/share.h"

#include "machine/topology_internal.h"

static void slow_down(pto_param_t *param, int64_t times) {
    param->value *= (double)times;
    param->low *= (double)times;
    param->high *= (double)times;
}

/* A GPU's own links are used by its communicator only; the others are shared. */
static void slow_links(pto_topology_t *topology, int64_t times) {
    int gpus = pto_topology_device_count(topology, PTO_DEVICE_GPU);
    for (int i = 0; i < topology->link_count; i++)
        if (topology->link[i].from >= gpus && topology->link[i].to >= gpus)
            slow_down(&topology->link[i].s_per_byte, times);
}

/* Between nodes, NCCL's bytes are limited by what a node sends, as in its extrapolation (price/nccl.c). */
static void slow_nccl(pto_machine_t *machine, int64_t times) {
    for (int kind = 0; kind < PTO_NCCL_COUNT; kind++)
        for (int i = 0; i < machine->nccl[kind].count; i++)
            if (machine->nccl[kind].row[i].nodes > 1)
                slow_down(&machine->nccl[kind].row[i].postal.beta_s_per_byte, times);
}

pto_status_t pto_machine_share(const pto_machine_t *machine, pto_sharers_t sharers, pto_machine_t **shared,
                               pto_error_t *err) {
    pto_machine_t *made = NULL;
    pto_status_t status = pto_machine_duplicate(machine, &made, err);
    if (status != PTO_OK)
        return status;
    for (int space = 0; space < PTO_SPACE_COUNT; space++) {
        slow_down(&made->injection_s_per_byte[space], sharers.network);
        slow_down(&made->injection_s_per_message[space], sharers.network);
    }
    for (int level = 0; level < made->fabric.levels; level++)
        for (int way = 0; way < 2; way++)
            slow_down(&made->fabric.level[level].s_per_byte[way], sharers.network);
    slow_nccl(made, sharers.network);
    slow_down(&made->host_memory_s_per_byte, sharers.memory);
    if (made->topology)
        slow_links(made->topology, sharers.links);
    *shared = made;
    return PTO_OK;
}
