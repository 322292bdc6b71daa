/* The context of a GPU's memory: the executor works on the GPU that the program's buffers are on, and leaves
 * the program's own choice of a GPU as it was. The host device has neither. */
#include <pthread.h>
#include <string.h>

#include "driver.h"
#include "dropin.h"

/* Constants of cuda.h, which need not be installed. */
enum { ATTRIBUTE_CONTEXT = 1, ATTRIBUTE_DEVICE_ORDINAL = 9 };

static int (*get_attributes)(unsigned count, const int *attribute, void **data, unsigned long long pointer);

static void look_for_attributes(void) {
    preload_find_in_driver("cuPointerGetAttributes", &get_attributes, sizeof get_attributes);
}

static bool is_host(void) { return strcmp(drop.device->name, "host") == 0; }

/* As bench_host.c counts them; without a number, each process has one of its own. */
static uint64_t emulated_gpu(void) {
    return (uint64_t)(drop.emulated_gpus > 0 ? drop.rank % drop.emulated_gpus : drop.rank) + 1;
}

/* Memory of pools and virtual memory has no context, and is left to MPI: its GPU may not be the current one.
 */
bool drop_gpu_enter(const void *memory, uint64_t *gpu) {
    static const int attributes[] = {ATTRIBUTE_CONTEXT, ATTRIBUTE_DEVICE_ORDINAL};
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static _Thread_local int last_device = -1;
    static _Thread_local uint64_t last_gpu;
    void *context = NULL;
    int device = -1;
    void *data[] = {&context, &device};
    if (is_host()) {
        *gpu = emulated_gpu();
        return true;
    }
    pthread_once(&once, look_for_attributes);
    if (!get_attributes || get_attributes(2, attributes, data, (unsigned long long)(uintptr_t)memory) != 0 ||
        !context)
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
