/* The global sum of Oden, Klenk and Fröning (CCGrid 2014, figure 9): every GPU sums its own numbers in a
 * kernel, and an allreduce of one value adds up the sums. Strategies that are one kernel are queued behind
 * the sum; the others wait for it on the host. */
#include "global_sum.h"

#include "portolan/bench.h"

/* Whole numbers, of which no sum is rounded. */
static double value(uint64_t seed, int64_t owner, size_t i) {
    uint64_t random = (seed + 1) * 6364136223846793005u + (uint64_t)owner * 1442695040888963407u + i;
    random = (random ^ random >> 29) * 0xbf58476d1ce4e5b9u;
    return (double)(int64_t)(random >> 45) - 262144;
}

pto_status_t global_sum_allowed(const settings_t *settings, const pto_request_t *request, pto_error_t *err) {
    if (settings->options.pattern != PTO_PATTERN_GLOBAL_SUM)
        return PTO_OK;
    if (request->collective != PTO_COLLECTIVE_ALLREDUCE || request->datatype != PTO_DATATYPE_DOUBLE ||
        request->bytes != (int64_t)sizeof(double) || settings->op != PTO_OP_SUM)
        return pto_error_set(err, PTO_ERR_RANGE,
                             "a global sum ends with an allreduce of one value: --collective allreduce "
                             "--datatype double --bytes 8 --op sum");
    if (settings->options.queued > 0 || settings->options.energy)
        return pto_error_set(err, PTO_ERR_RANGE, "a global sum is timed without --queued and --energy");
    if (!settings->device->bench)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "device %s has no sum", settings->device->name);
    return PTO_OK;
}

pto_status_t global_sum_create(const settings_t *settings, int64_t owner, global_sum_t *sum,
                               pto_error_t *err) {
    const pto_device_t *device = settings->device;
    *sum = (global_sum_t){.device = device, .owner = owner};
    if (settings->options.pattern != PTO_PATTERN_GLOBAL_SUM || owner < 0)
        return PTO_OK;
    sum->count = (size_t)settings->options.local_bytes / sizeof(double);
    size_t bytes = (sum->count + 1) * sizeof(double); /* never none */
    pto_status_t status = device->stream_create(&sum->stream, err);
    if (status == PTO_OK)
        status = device->allocate(bytes, &sum->local, err);
    return status == PTO_OK ? device->allocate_staging(bytes, &sum->host, err) : status;
}

void global_sum_free(global_sum_t *sum) {
    if (!sum->stream)
        return;
    sum->device->release(sum->local, NULL);
    sum->device->release_staging(sum->host, NULL);
    sum->device->stream_destroy(sum->stream, NULL);
}

pto_status_t global_sum_fill(const global_sum_t *sum, uint64_t seed, pto_error_t *err) {
    double *number = sum->host;
    for (size_t i = 0; i < sum->count; i++)
        number[i] = value(seed, sum->owner, i);
    return pto_device_copy(sum->device, sum->local, number, sum->count * sizeof *number, err);
}

pto_status_t global_sum_start(const global_sum_t *sum, void *in, pto_error_t *err) {
    return sum->device->bench->sum(in, sum->local, sum->count, sum->stream, err);
}

pto_status_t global_sum_finish(const global_sum_t *sum, pto_error_t *err) {
    return sum->device->finish(sum->stream, err);
}

pto_status_t global_sum_compare(const global_sum_t *sum, uint64_t seed, int64_t owners, const void *out,
                                pto_error_t *err) {
    double wanted = 0, got = 0;
    for (int64_t owner = 0; owner < owners; owner++)
        for (size_t i = 0; i < sum->count; i++)
            wanted += value(seed, owner, i);
    pto_status_t status = pto_device_copy(sum->device, sum->host, out, sizeof got, err);
    if (status != PTO_OK)
        return status;
    got = *(const double *)sum->host;
    return got == wanted
               ? PTO_OK
               : pto_error_set(err, PTO_ERR_RANGE, "wrong global sum: %.17g, should be %.17g", got, wanted);
}
