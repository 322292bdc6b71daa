/* Emulates NCCL on the host device: MPI's calls on host memory. It shows that plans are correct, not how
 * fast NCCL is. */
#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "host_stream.h"
#include "job.h"
#include "mpi_collective.h"
#include "reduce.h"

enum { PAGE_BYTES = 4096 };

static const char *host_version(void) { return "none (MPI collectives instead)"; }

static pto_status_t host_available(pto_error_t *err) {
    (void)err;
    return PTO_OK;
}

typedef struct {
    MPI_Comm comm;
    int windows; /* that are registered */
} group_t;

static pto_status_t host_create(MPI_Comm comm, void **group, pto_error_t *err) {
    group_t *made = calloc(1, sizeof *made);
    if (!made)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    made->comm = comm;
    *group = made;
    return PTO_OK;
}

static void host_destroy(void *group, bool failed) {
    assert(failed || !group || ((const group_t *)group)->windows == 0);
    free(group);
}

/* Memory that the device does not know as its own, as NCCL's is to CUDA IPC. */
static pto_status_t host_allocate(size_t bytes, void **memory, pto_error_t *err) {
    void *made = NULL;
    if (posix_memalign(&made, PAGE_BYTES, bytes > 0 ? bytes : 1))
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for %zu bytes", bytes);
    *memory = made;
    return PTO_OK;
}

static pto_status_t host_release(void *memory, pto_error_t *err) {
    (void)err;
    free(memory);
    return PTO_OK;
}

/* MPI needs none. */
static pto_status_t host_window_create(void *group, void *memory, size_t bytes, void **window,
                                       pto_error_t *err) {
    group_t *made = group;
    int64_t least[2] = {(int64_t)bytes, -(int64_t)bytes};
    pto_status_t status = pto_agree_least(made->comm, PTO_OK, least, 2, err);
    if (status == PTO_OK && least[0] != -least[1])
        return pto_error_set(err, PTO_ERR_IO, "members register windows of different sizes");
    if (status == PTO_OK) {
        made->windows++;
        *window = memory;
    }
    return status;
}

static pto_status_t host_window_destroy(void *group, void *window, pto_error_t *err) {
    (void)window;
    (void)err;
    ((group_t *)group)->windows--;
    return PTO_OK;
}

static pto_status_t as_int(int64_t count, int *number, pto_error_t *err) {
    if (count > INT_MAX)
        return pto_error_set(err, PTO_ERR_TOO_LARGE,
                             "MPI, which emulates NCCL here, limits counts to %d, not %zu", INT_MAX, count);
    *number = (int)count;
    return PTO_OK;
}

/* MPI forbids passing one buffer twice, so equal buffers become MPI_IN_PLACE. */
static pto_status_t counted(MPI_Comm comm, const pto_nccl_call_t *call, int rank, int count,
                            MPI_Datatype type, MPI_Op op, pto_error_t *err) {
    const void *in = call->in == call->out ? MPI_IN_PLACE : call->in;
    switch (call->collective) {
    case PTO_COLLECTIVE_ALLREDUCE:
        return PTO_MPI(MPI_Allreduce(in, call->out, count, type, op, comm), err);
    case PTO_COLLECTIVE_REDUCE:
        return PTO_MPI(
            MPI_Reduce(rank == 0 ? in : call->in, rank == 0 ? call->out : NULL, count, type, op, 0, comm),
            err);
    case PTO_COLLECTIVE_ALLGATHER:
        return PTO_MPI(MPI_Allgather(in, count, type, call->out, count, type, comm), err);
    case PTO_COLLECTIVE_REDUCE_SCATTER:
        return PTO_MPI(MPI_Reduce_scatter_block(call->in, call->out, count, type, op, comm), err);
    case PTO_COLLECTIVE_BROADCAST:
    case PTO_COLLECTIVE_ALLTOALL:
    case PTO_COLLECTIVE_ALLTOALLV:
    case PTO_COLLECTIVE_ALLGATHERV:
    case PTO_COLLECTIVE_MESSAGES:
    case PTO_COLLECTIVE_PAIR:
    case PTO_COLLECTIVE_HALO:
    case PTO_COLLECTIVE_GATHER:
    case PTO_COLLECTIVE_SCATTER:
    case PTO_COLLECTIVE_COUNT:
        break;
    }
    if (rank == 0 && call->in != call->out && count > 0)
        memcpy(call->out, call->in, (size_t)(call->count * pto_datatype_bytes(call->datatype)));
    return PTO_MPI(MPI_Bcast(call->out, count, type, 0, comm), err);
}

static pto_status_t with_count(MPI_Comm comm, const pto_nccl_call_t *call, pto_error_t *err) {
    pto_mpi_reduction_t by;
    int count = 0, rank = 0;
    pto_status_t status = as_int(call->count, &count, err);
    if (status == PTO_OK)
        status = PTO_MPI(MPI_Comm_rank(comm, &rank), err);
    if (status == PTO_OK)
        status = pto_mpi_reduction(call->datatype, call->op, &by, err);
    if (status != PTO_OK)
        return status;
    status = counted(comm, call, rank, count, by.type, by.op, err);
    pto_mpi_reduction_free(&by);
    bool has_result = call->collective != PTO_COLLECTIVE_REDUCE || rank == 0;
    if (status == PTO_OK && call->op == PTO_OP_AVG && pto_collective_reduces(call->collective) && has_result)
        pto_divide_host(call->out, call->out, (size_t)count, call->datatype, call->members);
    return status;
}

static pto_status_t post(MPI_Comm comm, const pto_nccl_call_t *call, int peer, MPI_Request request[2],
                         pto_error_t *err) {
    const pto_nccl_block_t *send = &call->send[peer], *receive = &call->receive[peer];
    int out_bytes = 0, in_bytes = 0;
    pto_status_t status = as_int(send->bytes, &out_bytes, err);
    if (status == PTO_OK)
        status = as_int(receive->bytes, &in_bytes, err);
    if (status == PTO_OK)
        status = PTO_MPI(MPI_Irecv((char *)call->out + receive->offset_bytes, in_bytes, MPI_BYTE, peer, 0,
                                   comm, &request[0]),
                         err);
    if (status == PTO_OK)
        status = PTO_MPI(MPI_Isend((const char *)call->in + send->offset_bytes, out_bytes, MPI_BYTE, peer, 0,
                                   comm, &request[1]),
                         err);
    return status;
}

static pto_status_t exchange(MPI_Comm comm, const pto_nccl_call_t *call, pto_error_t *err) {
    MPI_Request *request = malloc(2 * (size_t)call->members * sizeof *request);
    if (!request)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for requests");
    for (int i = 0; i < 2 * call->members; i++)
        request[i] = MPI_REQUEST_NULL;
    pto_status_t status = PTO_OK;
    for (int peer = 0; peer < call->members && status == PTO_OK; peer++)
        status = post(comm, call, peer, request + (ptrdiff_t)2 * peer, err);
    if (status == PTO_OK)
        status = PTO_MPI(MPI_Waitall(2 * call->members, request, MPI_STATUSES_IGNORE), err);
    free(request);
    return status;
}

static pto_status_t host_run(void *group, const pto_nccl_call_t *call, void *stream, pto_error_t *err) {
    MPI_Comm comm = ((const group_t *)group)->comm;
    if (pto_host_stream_is_captured(stream))
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "MPI, which emulates NCCL here, cannot be captured into a graph");
    pto_host_stream_finish(stream, NULL);
    return call->send ? exchange(comm, call, err) : with_count(comm, call, err);
}

const pto_nccl_t pto_nccl_host = {
    .version = host_version,
    .waits = true,
    .available = host_available,
    .create = host_create,
    .destroy = host_destroy,
    .run = host_run,
    .allocate = host_allocate,
    .release = host_release,
    .window_create = host_window_create,
    .window_destroy = host_window_destroy,
};
