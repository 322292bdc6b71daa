/* CUDA contexts: the executor runs in the context of the program's buffers, on their GPU, and the program's
 * own current context is restored after each call. The host device, which emulates GPUs, has no contexts. */
#include <string.h>

#include "driver.h"
#include "dropin.h"

/* From cuda.h, which need not be installed. */
enum { ATTRIBUTE_CONTEXT = 1, ATTRIBUTE_DEVICE_ORDINAL = 9 };

static bool is_host(void) { return strcmp(drop.device->name, "host") == 0; }

/* GPUs are emulated as in bench_host.c. Without a number of them, each process has its own. */
static uint64_t emulated_gpu(void) {
    return (uint64_t)(drop.emulated_gpus > 0 ? drop.rank % drop.emulated_gpus : drop.rank) + 1;
}

/* Pooled and virtual memory has no context, and its GPU need not be the current one: it is left to MPI. */
bool drop_gpu_enter(const void *memory, uint64_t *gpu) {
    static const int attributes[] = {ATTRIBUTE_CONTEXT, ATTRIBUTE_DEVICE_ORDINAL};
    static _Thread_local int last_device = -1;
    static _Thread_local uint64_t last_gpu;
    void *context = NULL;
    int device = -1;
    void *data[] = {&context, &device};
    if (is_host()) {
        *gpu = emulated_gpu();
        return true;
    }
    const preload_driver_t *driver = preload_driver();
    if (!driver->get_attributes ||
        driver->get_attributes(2, attributes, data, (unsigned long long)(uintptr_t)memory) != 0 || !context)
        return false;
    *gpu = device == last_device ? last_gpu : preload_gpu_id(device);
    if (*gpu == 0)
        return false;
    last_device = device;
    last_gpu = *gpu;
    return preload_context_enter(context);
}

void drop_gpu_leave(void) {
    if (!is_host())
        preload_context_leave();
}

void *drop_gpu_context(void) { return is_host() ? NULL : preload_context(); }

bool drop_gpu_enter_again(void *context) { return context && preload_context_enter(context); }
