/* NCCL's own collectives, as the executor asks for them: a table that a device may have. nccl_cuda.c fills it
 * with NCCL itself, nccl_host.c with MPI's calls on host memory, so that plans with such a collective run and
 * are tested without a GPU. */
#ifndef PORTOLAN_NCCL_H
#define PORTOLAN_NCCL_H

#include <mpi.h>

#include "portolan/api.h"
#include "portolan/device.h"

PTO_API_BEGIN

/* What goes to or comes from one member. */
typedef struct {
    int64_t offset_bytes;
    int64_t bytes;
} pto_nccl_block_t;

/* One member's arguments. `in` and `out` are equal, or don't overlap; `in` counts only for those who give,
 * and `out` for those who get. Member 0 is the root. */
typedef struct {
    pto_collective_t collective;
    const void *in;
    void *out;
    int64_t count; /* of a vector: elements */
    pto_datatype_t datatype;
    pto_op_t op;
    int members;
    const pto_nccl_block_t *send; /* alltoall(v): by member */
    const pto_nccl_block_t *receive;
} pto_nccl_call_t;

/* Errors: PTO_ERR_NOT_APPLICABLE with the reason where there is no NCCL, or it refuses the job; PTO_ERR_IO
 * with the call where it fails. */
struct pto_nccl {
    /* What does it, for provenance: "2.28.3". Needs `available`. */
    const char *(*version)(void);
    /* Whether `run` returns when all is done, else it is queued in the stream. */
    bool waits;
    pto_status_t (*available)(pto_error_t *err);
    /* Collective: the processes of `comm`, each with its GPU selected, become the members, by rank. `comm` is
     * borrowed until `destroy`. */
    pto_status_t (*create)(MPI_Comm comm, void **group, pto_error_t *err);
    /* `failed`: do not wait for the others. */
    void (*destroy)(void *group, bool failed);
    pto_status_t (*run)(void *group, const pto_nccl_call_t *call, void *stream, pto_error_t *err);
};

PTO_API_END

#endif
