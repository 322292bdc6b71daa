/* The context of a GPU's memory, by CUDA's driver: the executor works on the GPU that the program's buffers
 * are on, and leaves the program's own choice of a GPU as it was. The host device has neither. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "dropin.h"
#include "spaces.h"

/* Constants of cuda.h, which need not be installed. */
enum { ATTRIBUTE_CONTEXT = 1, ATTRIBUTE_DEVICE_ORDINAL = 9, BUS_ID_MAX = 32, CAPTURE_MODE_RELAXED = 2 };

static int (*get_attributes)(unsigned count, const int *attribute, void **data, unsigned long long pointer);
static int (*push)(void *context);
static int (*pop)(void **context);
static int (*get_current)(void **context);
static int (*get_bus_id)(char *text, int length, int device);
static int (*exchange_capture_mode)(int *mode);

static bool found;

static void look_for_driver(void) {
    found = preload_find_in_driver("cuPointerGetAttributes", &get_attributes, sizeof get_attributes) &&
            preload_find_in_driver("cuCtxPushCurrent_v2", &push, sizeof push) &&
            preload_find_in_driver("cuCtxPopCurrent_v2", &pop, sizeof pop) &&
            preload_find_in_driver("cuCtxGetCurrent", &get_current, sizeof get_current) &&
            preload_find_in_driver("cuDeviceGetPCIBusId", &get_bus_id, sizeof get_bus_id) &&
            preload_find_in_driver("cuThreadExchangeStreamCaptureMode", &exchange_capture_mode,
                                   sizeof exchange_capture_mode);
}

static bool find_driver(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    return pthread_once(&once, look_for_driver) == 0 && found;
}

static bool is_host(void) { return strcmp(drop.device->name, "host") == 0; }

/* As bench_host.c counts them; without a number, each process has one of its own. */
static uint64_t emulated_gpu(void) {
    return (uint64_t)(drop.emulated_gpus > 0 ? drop.rank % drop.emulated_gpus : drop.rank) + 1;
}

static _Thread_local int entered; /* that have not been left */
static _Thread_local int program_mode;

/* While the program captures one of its streams, CUDA refuses what might wait for it, such as an allocation,
 * and ends the capture. What is done here never waits for that stream. */
static bool enter(void *context) {
    if (push(context) != 0)
        return false;
    if (entered++ > 0)
        return true;
    program_mode = CAPTURE_MODE_RELAXED;
    exchange_capture_mode(&program_mode);
    return true;
}

/* Memory of pools and virtual memory has no context, and is left to MPI: its GPU may not be the current one.
 */
bool drop_gpu_enter(const void *memory, uint64_t *gpu) {
    static const int attributes[] = {ATTRIBUTE_CONTEXT, ATTRIBUTE_DEVICE_ORDINAL};
    static _Thread_local int last_device = -1;
    static _Thread_local uint64_t last_gpu;
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
        last_gpu = pto_hash_bytes(PTO_HASH_START, bus, strlen(bus));
    last_device = device;
    *gpu = last_gpu;
    return enter(context);
}

void drop_gpu_leave(void) {
    void *context;
    if (is_host())
        return;
    if (--entered == 0)
        exchange_capture_mode(&program_mode);
    pop(&context);
}

void *drop_gpu_context(void) {
    void *context = NULL;
    return !is_host() && find_driver() && get_current(&context) == 0 ? context : NULL;
}

bool drop_gpu_enter_again(void *context) { return context && enter(context); }
