/* The pattern "global sum" of Oden, Klenk and Fröning (CCGrid 2014, figure 9): every GPU sums its own numbers
 * in a kernel, and an allreduce of one value adds up these sums. A strategy that is itself a kernel is
 * enqueued behind that kernel; for the others, the host waits for it. */
#include "pattern.h"
#include "portolan/bench.h"

/* Returns a number of an owner: an integer so small that sums are not rounded. */
static double value(uint64_t seed, int64_t owner, size_t i) {
    uint64_t random = (seed + 1) * 6364136223846793005u + (uint64_t)owner * 1442695040888963407u + i;
    random = (random ^ random >> 29) * 0xbf58476d1ce4e5b9u;
    return (double)(int64_t)(random >> 45) - 262144;
}

static pto_status_t allowed(const settings_t *settings, const pto_request_t *request, pto_error_t *err) {
    if (request->collective == PTO_COLLECTIVE_ALLREDUCE && request->datatype == PTO_DATATYPE_DOUBLE &&
        request->bytes == (int64_t)sizeof(double) && settings->op == PTO_OP_SUM)
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_RANGE,
                         "a global sum ends with an allreduce of one value: --collective allreduce "
                         "--datatype double --bytes 8 --op sum");
}

static size_t local_bytes(const settings_t *settings, const pto_request_t *request) {
    (void)request;
    return (size_t)settings->options.local_bytes / sizeof(double) * sizeof(double);
}

static size_t count_of(const work_t *work) { return work->local_bytes / sizeof(double); }

static pto_status_t fill(const work_t *work, uint64_t seed, pto_error_t *err) {
    double *number = work->host;
    for (size_t i = 0; i < count_of(work); i++)
        number[i] = value(seed, work->owner, i);
    return pto_device_copy(work->device, work->local, number, work->local_bytes, err);
}

static pto_status_t kernel(const work_t *work, pto_error_t *err) {
    return work->device->bench->sum(work->in, work->local, count_of(work), work->stream, err);
}

static pto_status_t compare(const work_t *work, uint64_t seed, pto_error_t *err) {
    double expected = 0, *actual = work->host;
    int64_t owners = pto_layout_owner_count(&work->request->layout);
    for (int64_t owner = 0; owner < owners; owner++)
        for (size_t i = 0; i < count_of(work); i++)
            expected += value(seed, owner, i);
    pto_status_t status = pto_device_copy(work->device, actual, work->out, sizeof *actual, err);
    if (status != PTO_OK || *actual == expected)
        return status;
    return pto_error_set(err, PTO_ERR_RANGE, "wrong global sum: %.17g, should be %.17g", *actual, expected);
}

const pattern_t pattern_global_sum = {.name = "global_sum",
                                      .steps = 1,
                                      .allowed = allowed,
                                      .local_bytes = local_bytes,
                                      .fill = fill,
                                      .kernel = kernel,
                                      .compare = compare};
