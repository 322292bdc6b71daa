/* The registry of devices in this build, one line each, and code that is common to all devices. */
#include <string.h>

#include "portolan/exec.h"
#include "portolan/messages.h"

extern const pto_device_t pto_device_host;
extern const pto_messenger_t pto_messenger_host;
#ifdef PORTOLAN_CUDA
extern const pto_device_t pto_device_cuda;
extern const pto_messenger_t pto_messenger_cuda;
#endif

static const pto_device_t *const devices[] = {
    &pto_device_host,
#ifdef PORTOLAN_CUDA
    &pto_device_cuda,
#endif
};

enum { DEVICE_COUNT = (int)(sizeof devices / sizeof *devices) };

pto_status_t pto_device_find(const char *name, const pto_device_t **device, pto_error_t *err) {
    char known[128] = "";
    for (int i = 0; i < DEVICE_COUNT; i++) {
        if (strcmp(name, devices[i]->name) == 0) {
            *device = devices[i];
            return PTO_OK;
        }
        strncat(known, i ? ", " : "", sizeof known - strlen(known) - 1);
        strncat(known, devices[i]->name, sizeof known - strlen(known) - 1);
    }
    return pto_error_set(err, PTO_ERR_NOT_FOUND, "unknown device '%s'; this build knows: %s", name, known);
}

const pto_messenger_t *pto_messenger_of(const pto_device_t *device) {
#ifdef PORTOLAN_CUDA
    if (strcmp(device->name, pto_device_cuda.name) == 0)
        return &pto_messenger_cuda;
#endif
    return strcmp(device->name, pto_device_host.name) == 0 ? &pto_messenger_host : NULL;
}

pto_status_t pto_device_copy(const pto_device_t *device, void *target, const void *source, size_t bytes,
                             pto_error_t *err) {
    pto_move_t move = {target, source, bytes, 1, bytes, bytes};
    void *stream = NULL;
    pto_status_t status = bytes > 0 ? device->stream_create(&stream, err) : PTO_OK;
    if (status != PTO_OK || bytes == 0)
        return status;
    status = device->copy(&move, stream, err);
    if (status == PTO_OK)
        status = device->finish(stream, err);
    device->stream_destroy(stream, NULL);
    return status;
}
