/* What all patterns share: their lookup, their data, and the execution of their steps. */
#include "pattern.h"

const pattern_t *pattern_of(const settings_t *settings) {
    static const pattern_t *const pattern[PTO_PATTERN_COUNT] = {
        [PTO_PATTERN_GLOBAL_SUM] = &pattern_global_sum, [PTO_PATTERN_STENCIL2D] = &pattern_stencil2d};
    return pattern[settings->options.pattern];
}

pto_status_t pattern_allowed(const settings_t *settings, const pto_request_t *request, pto_error_t *err) {
    const pattern_t *pattern = pattern_of(settings);
    if (!pattern)
        return PTO_OK;
    if (settings->options.queued > 0 || settings->options.enqueue || settings->options.graph > 0 ||
        settings->options.energy)
        return pto_error_set(err, PTO_ERR_RANGE,
                             "--pattern %s is timed without --queued, --enqueue, --graph and --energy",
                             pattern->name);
    if (!settings->device->bench)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "device %s has no kernel for %s",
                             settings->device->name, pattern->name);
    return pattern->allowed(settings, request, err);
}

pto_status_t work_create(const settings_t *settings, const pto_request_t *request, int64_t owner, void *in,
                         void *out, int64_t user_bytes, work_t *work, pto_error_t *err) {
    const pto_device_t *device = settings->device;
    *work = (work_t){.device = device, .request = request, .owner = owner, .in = in, .out = out};
    if (!pattern_of(settings) || owner < 0)
        return PTO_OK;
    work->pattern = pattern_of(settings);
    work->local_bytes = work->pattern->local_bytes(settings, request);
    pto_status_t status = device->stream_create(&work->stream, err);
    if (status == PTO_OK)
        status = device->allocate(work->local_bytes, &work->local, err);
    return status == PTO_OK
               ? device->allocate_staging(work->local_bytes + (size_t)user_bytes, &work->host, err)
               : status;
}

void work_free(work_t *work) {
    if (!work->pattern)
        return;
    work->device->release(work->local, NULL);
    work->device->release_staging(work->host, NULL);
    if (work->stream)
        work->device->stream_destroy(work->stream, NULL);
}

pto_status_t work_steps(const settings_t *settings, const work_t *work, pto_exec_t *exec, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    for (int step = 0; step < pattern_of(settings)->steps && status == PTO_OK; step++) {
        if (work->pattern)
            status = work->pattern->kernel(work, err);
        if (work->pattern && exec && status == PTO_OK)
            status = pto_exec_follow(exec, work->stream, err);
        if (exec && status == PTO_OK)
            status = pto_exec_run(exec, err);
    }
    return work->pattern && status == PTO_OK ? work->device->finish(work->stream, err) : status;
}
