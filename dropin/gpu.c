/* The context of a GPU's memory, by CUDA's driver: the executor works on the GPU that the program's buffers
 * are on, and leaves the program's own choice of a GPU as it was. The host device has neither. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "dropin.h"

/* Of cuda.h, which need not be installed. */
enum { ATTRIBUTE_CONTEXT = 1, ATTRIBUTE_DEVICE_ORDINAL = 9, BUS_ID_MAX = 32 };

static int (*get_attributes)(unsigned count, const int *attribute, void **data, unsigned long long pointer);
static int (*push)(void *context);
static int (*pop)(void **context);
static int (*get_bus_id)(char *text, int length, int device);

static bool find(void *library, const char *name, void *function) {
    void *symbol = library ? dlsym(library, name) : NULL;
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static bool find_driver(void) {
    static bool looked, found;
    if (looked)
        return found;
    looked = true;
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    found = find(library, "cuPointerGetAttributes", (void *)&get_attributes) &&
            find(library, "cuCtxPushCurrent_v2", (void *)&push) &&
            find(library, "cuCtxPopCurrent_v2", (void *)&pop) &&
            find(library, "cuDeviceGetPCIBusId", (void *)&get_bus_id);
    return found;
}

static bool is_host(void) { return strcmp(drop.device->name, "host") == 0; }

static uint64_t digest_of(const char *text) {
    uint64_t digest = 0xcbf29ce484222325u;
    for (; *text; text++)
        digest = (digest ^ (unsigned char)*text) * 0x100000001b3u;
    return digest;
}

/* As bench_host.c counts them; without a number, each process has one of its own. */
static uint64_t emulated_gpu(void) {
    static int64_t count = -1;
    const char *text = count < 0 ? getenv("PORTOLAN_EMULATED_GPUS") : NULL;
    if (count < 0)
        count = text ? strtoll(text, NULL, 10) : 0;
    return (uint64_t)(count > 0 ? drop.rank % count : drop.rank) + 1;
}

/* Memory of pools and virtual memory has no context, and is left to MPI: its GPU may not be the current one.
 */
bool drop_gpu_enter(const void *memory, uint64_t *gpu) {
    static const int attributes[] = {ATTRIBUTE_CONTEXT, ATTRIBUTE_DEVICE_ORDINAL};
    static int last_device = -1;
    static uint64_t last_gpu;
    void *context = NULL;
    int device = -1;
    void *data[] = {&context, &device};
    char bus[BUS_ID_MAX] = "";
    if (is_host()) {
        *gpu = emulated_gpu();
        return true;
    }
    if (!find_driver() || get_attributes(2, attributes, data, (unsigned long long)(uintptr_t)memory) != 0 ||
        !context)
        return false;
    if (device != last_device && get_bus_id(bus, BUS_ID_MAX, device) != 0)
        return false;
    if (device != last_device)
        last_gpu = digest_of(bus);
    last_device = device;
    *gpu = last_gpu;
    return push(context) == 0;
}

void drop_gpu_leave(void) {
    void *context;
    if (!is_host())
        pop(&context);
}
