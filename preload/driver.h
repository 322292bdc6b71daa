/* Functions of CUDA's driver, for libraries that are preloaded: contexts, and identifiers of GPUs. The driver
 * is opened at run time, so that neither libcuda nor cuda.h is needed. */
#ifndef PRELOAD_DRIVER_H
#define PRELOAD_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Store the address of a driver's function in `function`, a pointer of `size` bytes. False: there is none. */
bool preload_find_in_driver(const char *name, void *function, size_t size);
/* The current context; NULL: none. */
void *preload_context(void);
/* An identifier of this process's GPU `device`, the same in all processes of the node; 0: unknown. */
uint64_t preload_gpu_id(int device);
/* Make a context the current one until preload_context_leave. In between, the thread is in CUDA's relaxed
 * capture mode: otherwise an allocation would fail while the program captures a stream, and would invalidate
 * the capture. The caller must not wait for a stream that is being captured. */
bool preload_context_enter(void *context);
void preload_context_leave(void);

#endif
