/* Changes that upgrades make in a machine (upgrade_outcome.c applies them). The functions for faster links do
 * not change the links' own rates, which what-ifs of the upgrade do (upgrades.c), but the costs of GPU
 * messages that cross them, and the rate at which the GPUs of a node can send together. */
#ifndef PTO_UPGRADE_CHANGES_H
#define PTO_UPGRADE_CHANGES_H

#include "portolan/machine.h"

/* Returns whether the GPUs of a node have links of their own, faster than those to the host. */
bool pto_gpus_are_linked(const pto_machine_t *machine);

/* Returns injection.gpu with twice the NICs: half of it, but not below the cost of the links of a node's GPUs
 * to the host, which their bytes cross as well. 0 if the machine has none. */
double pto_gpu_injection_with_twice_the_nics(const pto_machine_t *machine);

/* Double the rate of links, which halves their part of the cost of a GPU message's byte. Between GPUs, that
 * part is at most the cost of a copy or a kernel between them. To the host, it is all of the cost if messages
 * cost what copies do, as `portolan machine new` writes; between nodes, the cost stays at least that of the
 * host's messages. If the host links limit injection.gpu, it is halved, but not below injection.cpu, the
 * limit of the NICs. Errors: PTO_ERR_NOT_APPLICABLE if nothing is known to change. */
pto_status_t pto_speed_up_gpu_links(pto_machine_t *machine, pto_error_t *err);
pto_status_t pto_speed_up_host_links(pto_machine_t *machine, pto_error_t *err);

/* Doubles the rate of the network: halves the cost of a byte of messages to other nodes, for GPU messages not
 * below that of the link to the host. Does not change the injection of a node. Errors: the same. */
pto_status_t pto_speed_up_network(pto_machine_t *machine, pto_error_t *err);

/* Adds GPUDirect. The costs of GPU messages to other nodes become those of the host's messages, but not less
 * per byte than the link to the host; rows are added if there are none. The NICs limit a node's GPUs like its
 * host. Sets `note` to the assumptions. Errors: PTO_ERR_NOT_APPLICABLE, with a message that says what the
 * machine has already or its file lacks; PTO_ERR_MEMORY. */
pto_status_t pto_add_gpudirect(pto_machine_t *machine, char note[PTO_ERROR_MESSAGE_MAX], pto_error_t *err);

#endif
