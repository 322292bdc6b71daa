/* The kernel of a global sum (global_sum.c): each owner's own numbers, summed into the input of an allreduce.
 */
#ifndef PTO_GLOBAL_SUM_H
#define PTO_GLOBAL_SUM_H

#include "validate.h"

typedef struct {
    const pto_device_t *device;
    int64_t owner;
    size_t count;
    void *local;  /* the numbers, on the device */
    void *host;   /* the same, to fill them in */
    void *stream; /* NULL: the pattern is another, or this process no owner */
} global_sum_t;

/* Whether the request can end a global sum, if that is the pattern. Errors: PTO_ERR_RANGE,
 * PTO_ERR_NOT_APPLICABLE. */
pto_status_t global_sum_allowed(const settings_t *settings, const pto_request_t *request, pto_error_t *err);

/* `owner`: -1 for a helper. Free it also after an error. */
pto_status_t global_sum_create(const settings_t *settings, int64_t owner, global_sum_t *sum,
                               pto_error_t *err);
void global_sum_free(global_sum_t *sum);

pto_status_t global_sum_fill(const global_sum_t *sum, uint64_t seed, pto_error_t *err);
/* Queue the sum into `in`; wait for it. */
pto_status_t global_sum_start(const global_sum_t *sum, void *in, pto_error_t *err);
pto_status_t global_sum_finish(const global_sum_t *sum, pto_error_t *err);
/* Compare `out` with the serial sum of all owners' numbers. */
pto_status_t global_sum_compare(const global_sum_t *sum, uint64_t seed, int64_t owners, const void *out,
                                pto_error_t *err);

#endif
