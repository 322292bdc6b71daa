/* Functions of CUDA's driver, for libraries that are preloaded: contexts, and identifiers of GPUs. The driver
 * is opened at run time, so that neither libcuda nor cuda.h is needed. */
#ifndef PRELOAD_DRIVER_H
#define PRELOAD_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stores the address of a driver's function in `function`, a pointer of `size` bytes; false: it has none. */
bool preload_find_in_driver(const char *name, void *function, size_t size);

/* Functions of the driver, as in cuda.h; NULL: it lacks them. */
typedef struct {
    int (*push)(void *context);
    int (*pop)(void **context);
    int (*get_current)(void **context);
    int (*get_bus_id)(char *text, int length, int device);
    int (*exchange_capture_mode)(int *mode);
    int (*get_attributes)(unsigned count, const int *attribute, void **data, unsigned long long pointer);
    int (*get_device)(int *device);
    int (*get_capture)(void *stream, int *status, unsigned long long *id, void *graph, void *dependencies,
                       void *count);
    bool has_contexts; /* it has all of the first five */
} preload_driver_t;

/* Returns the functions of the driver, which it looks up in the first call. Never NULL. */
const preload_driver_t *preload_driver(void);

/* Returns the current context; NULL: none. */
void *preload_context(void);
/* Returns an identifier of this process's GPU `device`, the same in all processes of the node; 0: unknown. */
uint64_t preload_gpu_id(int device);
/* Makes a context the current one until preload_context_leave. Calls may be nested. In between, the thread is
 * in CUDA's relaxed capture mode: otherwise an allocation would fail while the program captures a stream, and
 * would invalidate the capture. The caller must not wait for a stream that is being captured. False: the
 * driver failed. */
bool preload_context_enter(void *context);
void preload_context_leave(void);

#endif
