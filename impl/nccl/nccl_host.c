/* The NCCL table (portolan/nccl.h) of the host device, an emulation: an allgather collects the inputs of all
 * members, and each member computes its own output. It shows that plans are correct, not how fast NCCL is. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "device/host_stream.h"
#include "device/reduce.h"
#include "portolan/nccl.h"
#include "team.h"

static const char *host_version(void) { return "none (emulated on the host)"; }

static pto_status_t host_available(pto_error_t *err) {
    (void)err;
    return PTO_OK;
}

typedef struct {
    const pto_team_t *team;
    int windows; /* number of registered windows */
} group_t;

static pto_status_t host_create(const pto_team_t *team, void **group, pto_error_t *err) {
    group_t *created = calloc(1, sizeof *created);
    if (!created)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    created->team = team;
    *group = created;
    return PTO_OK;
}

static void host_destroy(void *group, bool failed) {
    assert(failed || !group || ((const group_t *)group)->windows == 0);
    free(group);
}

/* Windows have no effect here. Only their sizes are checked. */
static pto_status_t host_window_create(void *group, void *memory, size_t bytes, void **window,
                                       pto_error_t *err) {
    group_t *created = group;
    int64_t least[2] = {(int64_t)bytes, -(int64_t)bytes};
    pto_status_t status = pto_agree_least(created->team, PTO_OK, least, 2, err);
    if (status == PTO_OK && least[0] != -least[1])
        return pto_error_set(err, PTO_ERR_IO, "members register windows of different sizes");
    if (status == PTO_OK) {
        created->windows++;
        *window = memory;
    }
    return status;
}

static pto_status_t host_window_destroy(void *group, void *window, pto_error_t *err) {
    (void)window, (void)err;
    ((group_t *)group)->windows--;
    return PTO_OK;
}

/* Collects the inputs of all members, one after the other. */
static pto_status_t gather(const pto_team_t *team, const void *in, int64_t bytes, char **all,
                           pto_error_t *err) {
    *all = malloc((size_t)(bytes > 0 ? bytes : 1) * (size_t)team->size);
    if (!*all)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for the inputs of all members");
    return bytes > 0 ? pto_team_allgather(team, in, (size_t)bytes, *all, err) : PTO_OK;
}

/* Reduces call->count elements, from `first` on, of all inputs, which have `bytes` each. */
static pto_status_t reduce(const pto_nccl_call_t *call, const char *all, int64_t bytes, int64_t first,
                           pto_error_t *err) {
    const pto_op_t op = call->op == PTO_OP_AVG ? PTO_OP_SUM : call->op;
    const size_t count = (size_t)call->count;
    const void **source = calloc((size_t)call->members, sizeof *source);
    if (!source)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for the inputs of all members");
    for (int i = 0; i < call->members; i++)
        source[i] = all + i * bytes + first * pto_datatype_bytes(call->datatype);
    pto_reduce_many_host(call->out, true, source, call->members, count, call->datatype, op);
    if (call->op == PTO_OP_AVG)
        pto_divide_host(call->out, call->out, count, call->datatype, call->members);
    free(source);
    return PTO_OK;
}

static pto_status_t broadcast(const pto_team_t *team, const pto_nccl_call_t *call, int64_t bytes,
                              pto_error_t *err) {
    if (team->rank == 0 && call->in != call->out && bytes > 0)
        memcpy(call->out, call->in, (size_t)bytes);
    return pto_team_broadcast(team, call->out, (size_t)bytes, 0, err);
}

static pto_status_t run_vector(const pto_team_t *team, const pto_nccl_call_t *call, pto_error_t *err) {
    const int64_t bytes = call->count * pto_datatype_bytes(call->datatype);
    const bool scatters = call->collective == PTO_COLLECTIVE_REDUCE_SCATTER;
    const bool gathers = call->collective == PTO_COLLECTIVE_ALLGATHER;
    const int64_t whole = scatters ? bytes * call->members : bytes;
    const char *in = gathers && call->in == call->out ? (char *)call->out + team->rank * bytes : call->in;
    char *all = NULL;
    if (call->collective == PTO_COLLECTIVE_BROADCAST)
        return broadcast(team, call, bytes, err);
    pto_status_t status = gather(team, in, whole, &all, err);
    if (status == PTO_OK && gathers)
        memcpy(call->out, all, (size_t)(bytes * call->members));
    else if (status == PTO_OK && (call->collective != PTO_COLLECTIVE_REDUCE || team->rank == 0))
        status = reduce(call, all, whole, scatters ? team->rank * call->count : 0, err);
    free(all);
    return status;
}

/* Returns where the last of a member's blocks ends in its input. */
static int64_t end_of(const pto_nccl_block_t *block, int count) {
    int64_t end = 0;
    for (int i = 0; i < count; i++)
        if (block[i].bytes > 0 && block[i].offset_bytes + block[i].bytes > end)
            end = block[i].offset_bytes + block[i].bytes;
    return end;
}

/* Collects the inputs of all members up to their last blocks, padded to the longest. */
static pto_status_t gather_padded(const pto_team_t *team, const pto_nccl_call_t *call, int64_t padded_bytes,
                                  char **all, pto_error_t *err) {
    const int64_t bytes = end_of(call->send, call->members);
    char *mine = calloc(1, (size_t)padded_bytes + 1);
    if (!mine)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for the blocks to send");
    if (bytes > 0)
        memcpy(mine, call->in, (size_t)bytes);
    pto_status_t status = gather(team, mine, padded_bytes, all, err);
    free(mine);
    return status;
}

static pto_status_t exchange(const pto_team_t *team, const pto_nccl_call_t *call, pto_error_t *err) {
    const size_t n = (size_t)call->members;
    pto_nccl_block_t *blocks = calloc(n * n, sizeof *blocks);
    char *all = NULL;
    int64_t max_bytes = 0;
    if (!blocks)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for the blocks of all members");
    pto_status_t status = pto_team_allgather(team, call->send, n * sizeof *blocks, blocks, err);
    for (size_t i = 0; i < n && status == PTO_OK; i++) {
        const int64_t bytes = end_of(&blocks[i * n], call->members);
        max_bytes = bytes > max_bytes ? bytes : max_bytes;
    }
    if (status == PTO_OK)
        status = gather_padded(team, call, max_bytes, &all, err);
    for (int i = 0; i < call->members && all && status == PTO_OK; i++) {
        const pto_nccl_block_t *sent = &blocks[(size_t)i * n + (size_t)team->rank],
                               *receive = &call->receive[i];
        if (receive->bytes > 0)
            memcpy((char *)call->out + receive->offset_bytes, all + i * max_bytes + sent->offset_bytes,
                   (size_t)receive->bytes);
    }
    free(all);
    free(blocks);
    return status;
}

static pto_status_t host_run(void *group, const pto_nccl_call_t *call, void *stream, pto_error_t *err) {
    const pto_team_t *team = ((const group_t *)group)->team;
    if (pto_host_stream_capture(stream) != 0)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "NCCL is emulated here, and cannot be captured into a graph");
    pto_host_stream_finish(stream, NULL);
    return call->send ? exchange(team, call, err) : run_vector(team, call, err);
}

const pto_nccl_t pto_nccl_host = {
    .version = host_version,
    .waits = true,
    .available = host_available,
    .create = host_create,
    .destroy = host_destroy,
    .run = host_run,
    .allocate = pto_host_pages_allocate, /* not the device's memory: CUDA IPC cannot export NCCL's either */
    .release = pto_host_pages_release,
    .window_create = host_window_create,
    .window_destroy = host_window_destroy,
};
