/* The NCCL table (portolan/nccl.h) by NCCL itself, on CUDA streams. allgatherv is one group of broadcasts,
 * one from each member (as PyTorch gathers tensors of different sizes). alltoall and alltoallv are one group
 * of sends and receives, including the process's own block (NCCL's documentation, "Point-to-point
 * communication"), because ncclAlltoAll exists only since 2.28. */
#include <stdlib.h>

#include "nccl_dl.h"
#include "portolan/nccl.h"
#include "team.h"

static const char *nccl_version(void) {
    const pto_nccl_library_t *library = NULL;
    return pto_nccl_library(&library, NULL) == PTO_OK ? library->version : "none";
}

static pto_status_t nccl_available(pto_error_t *err) {
    const pto_nccl_library_t *library = NULL;
    return pto_nccl_library(&library, err);
}

/* Member 0 creates the unique id through which the members find each other. */
static pto_status_t share_id(const pto_nccl_library_t *library, const pto_team_t *team, pto_nccl_id_t *id,
                             pto_error_t *err) {
    pto_status_t status = team->rank == 0 ? PTO_NCCL(library, ncclGetUniqueId(id), err) : PTO_OK;
    status = pto_agree(team, status, err);
    return status == PTO_OK ? pto_team_broadcast(team, id, sizeof *id, 0, err) : status;
}

static pto_status_t nccl_create(const pto_team_t *team, void **group, pto_error_t *err) {
    const pto_nccl_library_t *library = NULL;
    pto_nccl_id_t id = {{0}};
    void *created = NULL;
    pto_status_t status = pto_nccl_library(&library, err);
    if (status == PTO_OK)
        status = share_id(library, team, &id, err);
    if (status == PTO_OK)
        status = PTO_NCCL(library, ncclCommInitRank(&created, team->size, id, team->rank), err);
    if (status == PTO_OK)
        *group = created;
    return status;
}

static void nccl_destroy(void *group, bool failed) {
    const pto_nccl_library_t *library = NULL;
    if (group && pto_nccl_library(&library, NULL) == PTO_OK)
        (failed ? library->ncclCommAbort : library->ncclCommDestroy)(group);
}

static pto_status_t library_with_windows(const pto_nccl_library_t **library, pto_error_t *err) {
    pto_status_t status = pto_nccl_library(library, err);
    return status == PTO_OK ? pto_nccl_has_windows(*library, err) : status;
}

static pto_status_t nccl_allocate(size_t bytes, void **memory, pto_error_t *err) {
    const pto_nccl_library_t *library = NULL;
    pto_status_t status = library_with_windows(&library, err);
    return status == PTO_OK ? PTO_NCCL(library, ncclMemAlloc(memory, bytes > 0 ? bytes : 1), err) : status;
}

static pto_status_t nccl_release(void *memory, pto_error_t *err) {
    const pto_nccl_library_t *library = NULL;
    pto_status_t status = memory ? library_with_windows(&library, err) : PTO_OK;
    return status == PTO_OK && memory ? PTO_NCCL(library, ncclMemFree(memory), err) : status;
}

/* Without symmetric memory, as between nodes, NCCL may report success and create no window. */
static pto_status_t nccl_window_create(void *group, void *memory, size_t bytes, void **window,
                                       pto_error_t *err) {
    const pto_nccl_library_t *library = NULL;
    void *created = NULL;
    pto_status_t status = library_with_windows(&library, err);
    if (status == PTO_OK)
        status = PTO_NCCL(library, ncclCommWindowRegister(group, memory, bytes, &created, PTO_NCCL_SYMMETRIC),
                          err);
    if (status == PTO_OK && !created)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "NCCL %s makes no symmetric window of this memory on this machine",
                             library->version);
    if (status == PTO_OK)
        *window = created;
    return status;
}

static pto_status_t nccl_window_destroy(void *group, void *window, pto_error_t *err) {
    const pto_nccl_library_t *library = NULL;
    pto_status_t status = library_with_windows(&library, err);
    return status == PTO_OK ? PTO_NCCL(library, ncclCommWindowDeregister(group, window), err) : status;
}

/* Sends a block to a member and receives one from it. */
static pto_status_t exchange(const pto_nccl_library_t *library, void *group, const pto_nccl_call_t *call,
                             int peer, void *stream, pto_error_t *err) {
    const pto_nccl_block_t *send = &call->send[peer], *receive = &call->receive[peer];
    pto_status_t status = PTO_OK;
    if (send->bytes > 0)
        status = PTO_NCCL(library,
                          ncclSend((const char *)call->in + send->offset_bytes, (size_t)send->bytes,
                                   PTO_NCCL_INT8, peer, group, stream),
                          err);
    if (receive->bytes > 0 && status == PTO_OK)
        status = PTO_NCCL(library,
                          ncclRecv((char *)call->out + receive->offset_bytes, (size_t)receive->bytes,
                                   PTO_NCCL_INT8, peer, group, stream),
                          err);
    return status;
}

/* Broadcasts the block of one member, if it has any data. */
static pto_status_t broadcast(const pto_nccl_library_t *library, void *group, const pto_nccl_call_t *call,
                              int root, void *stream, pto_error_t *err) {
    const pto_nccl_block_t *block = &call->receive[root];
    char *to = (char *)call->out + block->offset_bytes;
    if (block->bytes == 0)
        return PTO_OK;
    return PTO_NCCL(
        library, ncclBroadcast(call->in, to, (size_t)block->bytes, PTO_NCCL_INT8, root, group, stream), err);
}

/* Makes all members' calls in one NCCL group, and ends it even if one fails. Reports the first failure. */
static pto_status_t run_group(const pto_nccl_library_t *library, void *group, const pto_nccl_call_t *call,
                              void *stream, pto_error_t *err) {
    const bool gathers = call->collective == PTO_COLLECTIVE_ALLGATHERV;
    pto_status_t status = PTO_NCCL(library, ncclGroupStart(), err);
    if (status != PTO_OK)
        return status;
    for (int member = 0; member < call->members && status == PTO_OK; member++)
        status = (gathers ? broadcast : exchange)(library, group, call, member, stream, err);
    int ended = library->ncclGroupEnd();
    return status == PTO_OK ? pto_nccl_check(library, ended, "ncclGroupEnd", err) : status;
}

static pto_status_t nccl_run(void *group, const pto_nccl_call_t *call, void *stream, pto_error_t *err) {
    const pto_nccl_library_t *library = NULL;
    const void *in = call->in;
    void *out = call->out;
    const size_t count = (size_t)call->count;
    const int datatype = pto_nccl_datatype(call->datatype), op = pto_nccl_op(call->op);
    pto_status_t status = pto_nccl_library(&library, err);
    if (status != PTO_OK)
        return status;
    switch (call->collective) {
    case PTO_COLLECTIVE_ALLREDUCE:
        return PTO_NCCL(library, ncclAllReduce(in, out, count, datatype, op, group, stream), err);
    case PTO_COLLECTIVE_REDUCE:
        return PTO_NCCL(library, ncclReduce(in, out, count, datatype, op, 0, group, stream), err);
    case PTO_COLLECTIVE_BROADCAST:
        return PTO_NCCL(library, ncclBroadcast(in, out, count, datatype, 0, group, stream), err);
    case PTO_COLLECTIVE_ALLGATHER:
        return PTO_NCCL(library, ncclAllGather(in, out, count, datatype, group, stream), err);
    case PTO_COLLECTIVE_REDUCE_SCATTER:
        return PTO_NCCL(library, ncclReduceScatter(in, out, count, datatype, op, group, stream), err);
    case PTO_COLLECTIVE_ALLTOALL:
    case PTO_COLLECTIVE_ALLTOALLV:
    case PTO_COLLECTIVE_ALLGATHERV:
        return run_group(library, group, call, stream, err);
    default:
        break;
    }
    return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "NCCL has no %s",
                         pto_collective_name(call->collective));
}

const pto_nccl_t pto_nccl_cuda = {
    .version = nccl_version,
    .available = nccl_available,
    .create = nccl_create,
    .destroy = nccl_destroy,
    .run = nccl_run,
    .allocate = nccl_allocate,
    .release = nccl_release,
    .window_create = nccl_window_create,
    .window_destroy = nccl_window_destroy,
};
