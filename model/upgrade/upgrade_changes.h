/* What upgrades change in a machine. Of a faster link, the effects besides its own rate: on GPU messages, of
 * whose time per byte it is a part, and on the bytes that the GPUs of a node send at once. */
#ifndef PTO_UPGRADE_CHANGES_H
#define PTO_UPGRADE_CHANGES_H

#include "portolan/machine.h"

/* Whether the GPUs of a node have links of their own, which are faster than those to the host. */
bool pto_gpus_are_linked(const pto_machine_t *machine);

/* injection.gpu with twice the NICs: half, but no less than the links of a node's GPUs to the host take,
 * which their bytes cross as well. 0: the machine has none. */
double pto_gpu_injection_with_twice_the_nics(const pto_machine_t *machine);

/* Links with twice the rate take half of what they take of each byte of a GPU message: between GPUs, at most
 * the seconds per byte of a copy or of a kernel between them; to the host, all of it where messages take what
 * copies do, as `portolan machine new` writes, and between nodes no less than the host's messages do. Where
 * the links limit injection.gpu, it falls to half, or to injection.cpu, which is that of the NICs. What takes
 * longer than the link does is something else's. Errors: PTO_ERR_NOT_APPLICABLE, where nothing is known to
 * change. */
pto_status_t pto_speed_up_gpu_links(pto_machine_t *machine, pto_error_t *err);
pto_status_t pto_speed_up_host_links(pto_machine_t *machine, pto_error_t *err);

/* A network with twice the rate: half of what messages to other nodes take of each byte, but GPU messages no
 * less than the link to the host. The injection of a node is not changed. Errors: the same. */
pto_status_t pto_speed_up_network(pto_machine_t *machine, pto_error_t *err);

/* GPUDirect: give GPU messages to other nodes the costs of the host's, at most at the rate of the link to the
 * host where the file has it, and limit a node's by its NICs as the host's are. Where the machine has no such
 * messages, they are added. `note` says what is assumed. Errors: PTO_ERR_NOT_APPLICABLE with what the machine
 * has already, or what its file lacks; PTO_ERR_MEMORY. */
pto_status_t pto_add_gpudirect(pto_machine_t *machine, char note[PTO_ERROR_MESSAGE_MAX], pto_error_t *err);

#endif
