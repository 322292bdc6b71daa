/* CUDA's driver, opened at run time: its functions are looked up once. */
#include "driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "base/hash.h"

/* From cuda.h. */
enum { CAPTURE_MODE_RELAXED = 2, BUS_ID_MAX = 32 };

static preload_driver_t driver;

bool preload_find_in_driver(const char *name, void *function, size_t size) {
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, name) : NULL;
    memcpy(function, &symbol, size);
    return symbol != NULL;
}

#define FIND(name, member) preload_find_in_driver((name), &driver.member, sizeof driver.member)

static void find_driver(void) {
    driver.has_contexts = FIND("cuCtxPushCurrent_v2", push) && FIND("cuCtxPopCurrent_v2", pop) &&
                          FIND("cuCtxGetCurrent", get_current) && FIND("cuDeviceGetPCIBusId", get_bus_id) &&
                          FIND("cuThreadExchangeStreamCaptureMode", exchange_capture_mode);
    FIND("cuPointerGetAttributes", get_attributes);
    FIND("cuCtxGetDevice", get_device);
    FIND("cuStreamGetCaptureInfo_v2", get_capture);
}

const preload_driver_t *preload_driver(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_driver);
    return &driver;
}

void *preload_context(void) {
    void *context = NULL;
    return preload_driver()->has_contexts && driver.get_current(&context) == 0 ? context : NULL;
}

uint64_t preload_gpu_id(int device) {
    char bus[BUS_ID_MAX] = "";
    if (!preload_driver()->has_contexts || driver.get_bus_id(bus, BUS_ID_MAX, device) != 0)
        return 0;
    return pto_hash_bytes(PTO_HASH_START, bus, strlen(bus));
}

static _Thread_local int entered;      /* number of nested preload_context_enter */
static _Thread_local int program_mode; /* meanwhile: the program's own capture mode */

bool preload_context_enter(void *context) {
    if (!preload_driver()->has_contexts || driver.push(context) != 0)
        return false;
    if (entered++ > 0)
        return true;
    program_mode = CAPTURE_MODE_RELAXED;
    driver.exchange_capture_mode(&program_mode);
    return true;
}

void preload_context_leave(void) {
    void *context;
    if (--entered == 0)
        driver.exchange_capture_mode(&program_mode);
    driver.pop(&context);
}
