/* A device's optional interface to NCCL. nccl_cuda.c implements it with NCCL, nccl_host.c by allgathers on
 * host memory, so that plans with NCCL collectives can be run and tested without a GPU. */
#ifndef PORTOLAN_NCCL_H
#define PORTOLAN_NCCL_H

#include "portolan/api.h"
#include "portolan/exec.h"

PTO_C_BEGIN

/* Data sent to, or received from, one member. */
typedef struct {
    int64_t offset_bytes;
    int64_t bytes;
} pto_nccl_block_t;

/* Arguments of one member. Member 0 is the root. `in` and `out` are equal (in place) or do not overlap. `in`
 * is ignored on members without input, `out` on members without output. */
typedef struct {
    pto_collective_t collective;
    const void *in;
    void *out;
    int64_t count; /* vector collectives, allgather, reduce_scatter: number of elements of one member */
    pto_datatype_t datatype;
    pto_op_t op;
    int members;
    const pto_nccl_block_t *send; /* alltoall(v), allgatherv: by member; in the latter, the same for all */
    const pto_nccl_block_t *receive;
} pto_nccl_call_t;

/* A device's NCCL table. Errors: PTO_ERR_NOT_APPLICABLE with the reason if NCCL is missing or rejects the
 * job; PTO_ERR_IO with the call if NCCL fails. */
struct pto_nccl {
    /* Version of the implementation for provenance, such as "2.28.3". Call only if `available` succeeds. */
    const char *(*version)(void);
    /* `run` blocks until the collective is complete; otherwise it only enqueues it in the stream. */
    bool waits;
    pto_status_t (*available)(pto_error_t *err);
    /* Collective: the team's processes become the members, each on its selected GPU. Borrows the team. */
    pto_status_t (*create)(const pto_team_t *team, void **group, pto_error_t *err);
    /* `failed`: abort instead of waiting for the other members. */
    void (*destroy)(void *group, bool failed);
    pto_status_t (*run)(void *group, const pto_nccl_call_t *call, void *stream, pto_error_t *err);
    /* Memory that can become a symmetric window, which lets NCCL access the buffers of other members. Errors:
     * PTO_ERR_NOT_APPLICABLE if this NCCL has no such windows. */
    pto_status_t (*allocate)(size_t bytes, void **memory, pto_error_t *err);
    pto_status_t (*release)(void *memory, pto_error_t *err); /* NULL is legal */
    /* Collective among the members, with the same size: register memory of `allocate`, before any `run` on
     * it. Errors: PTO_ERR_NOT_APPLICABLE if NCCL makes no window here. */
    pto_status_t (*window_create)(void *group, void *memory, size_t bytes, void **window, pto_error_t *err);
    /* Collective: before `destroy` and before the memory is released. */
    pto_status_t (*window_destroy)(void *group, void *window, pto_error_t *err);
};

/* NCCL itself, with streams of CUDA. */
extern const pto_nccl_t pto_nccl_cuda;

PTO_C_END

#endif
