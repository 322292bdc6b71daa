/* CUDA contexts and stream captures, by CUDA's driver. The host device, which emulates GPUs, has neither. */
#include <string.h>

#include "device/host_stream.h"
#include "driver.h"
#include "tap.h"

/* From cuda.h, which need not be installed. */
enum { CAPTURE_NONE = 0, CAPTURE_ACTIVE = 1 };

bool tap_gpu_is_host(void) {
    const pto_device_t *device = tap_settings()->device;
    return device && strcmp(device->name, "host") == 0;
}

static const char host_context;

void *tap_gpu_context(void) {
    const void *host = &host_context;
    void *context = NULL;
    if (tap_gpu_is_host())
        memcpy(&context, &host, sizeof context);
    else
        context = preload_context();
    return context;
}

uint64_t tap_gpu_id(void) {
    const preload_driver_t *driver = preload_driver();
    int device = 0;
    return driver->get_device && driver->get_device(&device) == 0 ? preload_gpu_id(device) : 0;
}

bool tap_gpu_enter(void *context) { return tap_gpu_is_host() || preload_context_enter(context); }

void tap_gpu_leave(void) {
    if (!tap_gpu_is_host())
        preload_context_leave();
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
    if (tap_gpu_is_host()) {
        *capture = pto_host_stream_capture(stream);
        return true;
    }
    const preload_driver_t *driver = preload_driver();
    if (!driver->get_capture || driver->get_capture(stream, &status, &id, NULL, NULL, NULL) != 0)
        return false;
    *capture = status == CAPTURE_ACTIVE ? id : 0;
    return status == CAPTURE_NONE || (status == CAPTURE_ACTIVE && id != 0);
}
