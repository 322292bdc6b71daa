/* GPUDirect as an upgrade: NICs that read and write the memory of GPUs. */
#ifndef PTO_UPGRADE_GPUDIRECT_H
#define PTO_UPGRADE_GPUDIRECT_H

#include "portolan/machine.h"

/* Give GPU messages to other nodes the costs of the host's, at most at the rate of the link to the host
 * where the file has it, and limit a node's by its NICs as the host's are. Where the machine has no such
 * messages, they are added. `note` says what is assumed. Errors: PTO_ERR_NOT_APPLICABLE with what the machine
 * has already, or what its file lacks; PTO_ERR_MEMORY. */
pto_status_t pto_add_gpudirect(pto_machine_t *machine, char note[PTO_ERROR_MESSAGE_MAX], pto_error_t *err);

#endif
