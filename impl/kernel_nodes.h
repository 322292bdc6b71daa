/* Kernel nodes of a plan. */
#ifndef PTO_KERNEL_NODES_H
#define PTO_KERNEL_NODES_H

#include "executor.h"

/* Collective: agree on the number of blocks and on the buffer in line format, if the plan has kernels. */
pto_status_t pto_kernels_agree(pto_exec_t *exec, pto_error_t *err);
/* Create the kernels on the device. */
pto_status_t pto_kernels_make(pto_exec_t *exec, pto_error_t *err);
void pto_kernels_free(pto_exec_t *exec);
/* Returns whether an enqueued run waited for longer than the time-out, and ended without right results. */
bool pto_kernels_gave_up(const pto_exec_t *exec);
/* Whatever handing it other operands may lack, so that it does not fail. */
pto_status_t pto_kernels_reserve(const pto_exec_t *exec, pto_error_t *err);
/* Hand the device the operands of a kernel's program, whose addresses have changed. */
pto_status_t pto_kernel_rebind(const pto_exec_t *exec, const pto_exec_kernel_t *kernel, pto_error_t *err);

/* Start kernel `index` of this run, once no other kernel is active. */
pto_status_t pto_kernel_start(pto_exec_t *exec, int index, bool wait, bool *finished, pto_error_t *err);
/* Complete the active kernel, on which everything else depends. */
pto_status_t pto_kernel_settle(pto_exec_t *exec, bool wait, bool *finished, pto_error_t *err);

#endif
