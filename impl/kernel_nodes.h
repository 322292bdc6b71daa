/* The kernel nodes of a plan in the executor: choose their number of thread blocks, create them on the device
 * (portolan/kernel.h), start them and wait for them. */
#ifndef PTO_KERNEL_NODES_H
#define PTO_KERNEL_NODES_H

#include "executor.h"

/* Collective: agree on blocks, slices and the buffer in line format, if the plan has kernels. */
pto_status_t pto_kernels_agree(pto_exec_t *exec, pto_error_t *err);
/* Create the kernels on the device. */
pto_status_t pto_kernels_make(pto_exec_t *exec, pto_error_t *err);
void pto_kernels_free(pto_exec_t *exec);
/* Returns whether an enqueued run waited for longer than the time-out, and ended without right results. */
bool pto_kernels_gave_up(const pto_exec_t *exec);
/* Allocate what pto_kernel_rebind needs, so that it cannot run out of memory. */
pto_status_t pto_kernels_reserve(const pto_exec_t *exec, pto_error_t *err);
/* Pass the device the operands of a kernel's program, whose addresses have changed. */
pto_status_t pto_kernel_rebind(const pto_exec_t *exec, const pto_exec_kernel_t *kernel, pto_error_t *err);

/* Start kernel `index` of this run, once no other kernel is active. */
pto_status_t pto_kernel_start(pto_exec_t *exec, int index, bool wait, bool *finished, pto_error_t *err);
/* Complete the active kernel. All other tasks wait for it. */
pto_status_t pto_kernel_settle(pto_exec_t *exec, bool wait, bool *finished, pto_error_t *err);

#endif
