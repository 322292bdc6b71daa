/* The driver, as far as the run time of CUDA in the executor does not reach: contexts and captures. With the
 * host device there is none. */
#include <dlfcn.h>
#include <string.h>

#include "base/hash.h"
#include "device/host_stream.h"
#include "tap.h"

/* Of cuda.h, which need not be installed. */
enum { CAPTURE_MODE_RELAXED = 2, CAPTURE_NONE = 0, CAPTURE_ACTIVE = 1, BUS_ID_MAX = 32 };

static struct {
    int (*push)(void *context);
    int (*pop)(void **context);
    int (*get_current)(void **context);
    int (*get_device)(int *device);
    int (*get_bus_id)(char *text, int length, int device);
    int (*exchange_mode)(int *mode);
    int (*capture_info)(void *stream, int *status, unsigned long long *id, void *graph, void *dependencies,
                        void *count);
    bool found;
} driver;

static bool look_up(void *library, const char *name, void *function, size_t size) {
    void *found = dlsym(library, name);
    memcpy(function, &found, size);
    return found != NULL;
}

#define LOOK_UP(name, member) look_up(library, (name), &driver.member, sizeof driver.member)

static void find_driver(void) {
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    driver.found = library && LOOK_UP("cuCtxPushCurrent_v2", push) && LOOK_UP("cuCtxPopCurrent_v2", pop) &&
                   LOOK_UP("cuCtxGetCurrent", get_current) && LOOK_UP("cuCtxGetDevice", get_device) &&
                   LOOK_UP("cuDeviceGetPCIBusId", get_bus_id) &&
                   LOOK_UP("cuThreadExchangeStreamCaptureMode", exchange_mode) &&
                   LOOK_UP("cuStreamGetCaptureInfo_v2", capture_info);
}

static bool has_driver(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_driver);
    return driver.found;
}

static bool is_host(void) {
    const pto_device_t *device = tap_settings()->device;
    return device && strcmp(device->name, "host") == 0;
}

static const char host_context;

void *tap_gpu_context(void) {
    void *context = NULL;
    const void *host = &host_context;
    if (is_host())
        memcpy(&context, &host, sizeof context);
    else if (has_driver())
        driver.get_current(&context);
    return context;
}

uint64_t tap_gpu_id(void) {
    char bus[BUS_ID_MAX] = "";
    int device = 0;
    if (!has_driver() || driver.get_device(&device) != 0 || driver.get_bus_id(bus, BUS_ID_MAX, device) != 0)
        return 0;
    return pto_hash_bytes(PTO_HASH_START, bus, strlen(bus));
}

static _Thread_local int entered; /* that have not been left */
static _Thread_local int program_mode;

bool tap_gpu_enter(void *context) {
    if (is_host())
        return true;
    if (!has_driver() || driver.push(context) != 0)
        return false;
    if (entered++ == 0) {
        program_mode = CAPTURE_MODE_RELAXED;
        driver.exchange_mode(&program_mode);
    }
    return true;
}

void tap_gpu_leave(void) {
    void *context;
    if (is_host())
        return;
    if (--entered == 0)
        driver.exchange_mode(&program_mode);
    driver.pop(&context);
}

void tap_gpu_advance(void) {
    const pto_device_t *device = tap_settings()->device;
    if (device && device->stream_create == pto_host_stream_create)
        pto_host_streams_advance();
}

bool tap_gpu_capture(void *stream, uint64_t *capture) {
    int status = CAPTURE_NONE;
    unsigned long long id = 0;
    *capture = 0;
    if (is_host()) {
        *capture = pto_host_stream_capture(stream);
        return true;
    }
    if (!has_driver() || driver.capture_info(stream, &status, &id, NULL, NULL, NULL) != 0)
        return false;
    *capture = status == CAPTURE_ACTIVE ? id : 0;
    return status == CAPTURE_NONE || (status == CAPTURE_ACTIVE && id != 0);
}
