/* Reference results of collectives, computed independently of plans. Inputs are pseudo-random numbers from a
 * seed, so every process can generate the inputs of all owners, and compute its own expected output by plain
 * loops. */
#ifndef PTO_REFERENCE_H
#define PTO_REFERENCE_H

#include "portolan/exec.h"
#include "portolan/exec_mpi.h"
#include "portolan/plan.h"

/* Fills the input of an owner with values that depend only on the seed and on its index among the owners. */
void reference_fill(const pto_request_t *request, pto_op_t op, uint64_t seed, int64_t owner, void *in,
                    int64_t bytes);

/* Compares an owner's output with the expected one. Moved data, integers, minimum and maximum must be exact.
 * In floating point, the error of a sum of n values in any order is at most gamma = (n - 1) u / (1 - (n - 1)
 * u) times the sum of their magnitudes, and that of a product is at most gamma times the product (Higham
 * 2002, section 4.2); u is the unit roundoff. Errors: PTO_ERR_RANGE with the first wrong element,
 * PTO_ERR_MEMORY. */
pto_status_t reference_compare(const pto_request_t *request, pto_op_t op, uint64_t seed, int64_t owner,
                               const void *out, int64_t bytes, pto_error_t *err);

/* A process's host buffers in a plan that also exchanges data in host memory; NULL: none. */
typedef struct {
    void *in;
    void *out;
    int64_t in_bytes;
    int64_t out_bytes;
} reference_host_t;

pto_status_t reference_host_make(const pto_plan_t *plan, const pto_device_t *device, int64_t rank,
                                 reference_host_t *host, pto_error_t *err);
void reference_host_free(const pto_device_t *device, reference_host_t *host);
/* Fill the input and overwrite the output with wrong data; compare the output. Errors: those of
 * reference_compare. */
void reference_host_fill(uint64_t seed, int64_t owner, const reference_host_t *host);
pto_status_t reference_host_compare(const pto_request_t *request, uint64_t seed, int64_t owner,
                                    const reference_host_t *host, pto_error_t *err);

#endif
