/* CUDA's driver, which nothing links and whose cuda.h need not be installed: contexts, and calls beside a
 * capture of the program's. */
#ifndef PRELOAD_DRIVER_H
#define PRELOAD_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function of the driver. False: no such function, or no driver. */
bool preload_find_in_driver(const char *name, void *function, size_t size);
/* The current context; NULL: none. */
void *preload_context(void);
/* A number of this process's GPU `device`, the same in all processes of the node; 0: unknown. */
uint64_t preload_gpu_id(int device);
/* Make a context the current one, until it is left. While the program captures one of its streams, CUDA
 * refuses what might wait for it, such as an allocation, and ends the capture; until then nothing is
 * refused: what is done must not wait for that stream. */
bool preload_context_enter(void *context);
void preload_context_leave(void);

#endif
