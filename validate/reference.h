/* Compute the result of a collective by other code than any plan: every process makes all inputs anew from a
 * seed with plain loops and combines them itself. */
#ifndef PTO_REFERENCE_H
#define PTO_REFERENCE_H

#include "portolan/exec.h"
#include "portolan/exec_mpi.h"
#include "portolan/plan.h"

/* Fill the input of an owner (its number among the owners) with values that only the seed determines. */
void reference_fill(const pto_request_t *request, pto_op_t op, uint64_t seed, int64_t owner, void *in,
                    int64_t bytes);

/* Compare an owner's output with what it must be. Integers, alltoall(v), messages, min and max must be exact.
 * For floating point, n values summed in any order are right within (n - 1) u / (1 - (n - 1) u) times the sum
 * of their magnitudes, and products within that share of the product (Higham 2002, section 4.2); u is half
 * the distance of 1 and the next number of the type. Errors: PTO_ERR_RANGE with the first wrong place,
 * PTO_ERR_MEMORY. */
pto_status_t reference_compare(const pto_request_t *request, pto_op_t op, uint64_t seed, int64_t owner,
                               const void *out, int64_t bytes, pto_error_t *err);

/* The buffers of a second pattern in host memory; all NULL where a process has none. */
typedef struct {
    void *in;
    void *out;
    int64_t in_bytes;
    int64_t out_bytes;
} reference_host_t;

pto_status_t reference_host_make(const pto_plan_t *plan, const pto_device_t *device, int64_t rank,
                                 reference_host_t *host, pto_error_t *err);
void reference_host_free(const pto_device_t *device, reference_host_t *host);
/* Fill the input and spoil the output; compare the output. Errors: those of reference_compare. */
void reference_host_fill(uint64_t seed, int64_t owner, const reference_host_t *host);
pto_status_t reference_host_compare(const pto_request_t *request, uint64_t seed, int64_t owner,
                                    const reference_host_t *host, pto_error_t *err);

#endif
