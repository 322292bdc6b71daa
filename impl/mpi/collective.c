/* Collectives that the MPI library runs for the executor. One call replaces all stages of a collective node
 * of the plan, on a communicator of the node's members and with the node's buffers. */
#include <limits.h>
#include <stdlib.h>

#include "device/reduce.h"
#include "members.h"
#include "part.h"
#include "schedule_items.h"

/* Operations that MPI lacks or gets wrong. It has no 16-bit floating point, so an integer type of that size
 * carries the bits. Sums and products of short integers must wrap around: Open MPI's saturate on CPUs with
 * AVX. Wrapped around, those of signed and of unsigned integers have the same bits. */
#define OWN_OP(name, datatype, op)                                                                           \
    static void name(void *in, void *in_out, int *count, MPI_Datatype *carrier) {                            \
        (void)carrier;                                                                                       \
        pto_reduce_host(in_out, in, (size_t)*count, (datatype), (op));                                       \
    }

OWN_OP(sum_half, PTO_DATATYPE_HALF, PTO_OP_SUM)
OWN_OP(prod_half, PTO_DATATYPE_HALF, PTO_OP_PROD)
OWN_OP(min_half, PTO_DATATYPE_HALF, PTO_OP_MIN)
OWN_OP(max_half, PTO_DATATYPE_HALF, PTO_OP_MAX)
OWN_OP(sum_bfloat16, PTO_DATATYPE_BFLOAT16, PTO_OP_SUM)
OWN_OP(prod_bfloat16, PTO_DATATYPE_BFLOAT16, PTO_OP_PROD)
OWN_OP(min_bfloat16, PTO_DATATYPE_BFLOAT16, PTO_OP_MIN)
OWN_OP(max_bfloat16, PTO_DATATYPE_BFLOAT16, PTO_OP_MAX)
OWN_OP(sum_8, PTO_DATATYPE_UINT8, PTO_OP_SUM)
OWN_OP(prod_8, PTO_DATATYPE_UINT8, PTO_OP_PROD)
OWN_OP(sum_16, PTO_DATATYPE_UINT16, PTO_OP_SUM)
OWN_OP(prod_16, PTO_DATATYPE_UINT16, PTO_OP_PROD)

/* NULL: MPI's own operation is right. */
static MPI_User_function *own_op(pto_datatype_t datatype, pto_op_t op) {
    static MPI_User_function *const own[PTO_DATATYPE_COUNT][PTO_OP_COUNT] = {
        [PTO_DATATYPE_HALF] = {sum_half, prod_half, min_half, max_half},
        [PTO_DATATYPE_BFLOAT16] = {sum_bfloat16, prod_bfloat16, min_bfloat16, max_bfloat16},
        [PTO_DATATYPE_INT8] = {sum_8, prod_8},
        [PTO_DATATYPE_UINT8] = {sum_8, prod_8},
        [PTO_DATATYPE_INT16] = {sum_16, prod_16},
        [PTO_DATATYPE_UINT16] = {sum_16, prod_16},
    };
    return own[datatype][op == PTO_OP_AVG ? PTO_OP_SUM : op];
}

static MPI_Datatype mpi_datatype(pto_datatype_t datatype) {
    const MPI_Datatype type[PTO_DATATYPE_COUNT] = {[PTO_DATATYPE_BYTE] = MPI_BYTE,
                                                   [PTO_DATATYPE_INT32] = MPI_INT32_T,
                                                   [PTO_DATATYPE_INT64] = MPI_INT64_T,
                                                   [PTO_DATATYPE_FLOAT] = MPI_FLOAT,
                                                   [PTO_DATATYPE_DOUBLE] = MPI_DOUBLE,
                                                   [PTO_DATATYPE_HALF] = MPI_UINT16_T,
                                                   [PTO_DATATYPE_BFLOAT16] = MPI_UINT16_T,
                                                   [PTO_DATATYPE_INT8] = MPI_INT8_T,
                                                   [PTO_DATATYPE_UINT8] = MPI_UINT8_T,
                                                   [PTO_DATATYPE_INT16] = MPI_INT16_T,
                                                   [PTO_DATATYPE_UINT16] = MPI_UINT16_T,
                                                   [PTO_DATATYPE_UINT32] = MPI_UINT32_T,
                                                   [PTO_DATATYPE_UINT64] = MPI_UINT64_T,
                                                   [PTO_DATATYPE_FLOAT_COMPLEX] = MPI_C_FLOAT_COMPLEX,
                                                   [PTO_DATATYPE_DOUBLE_COMPLEX] = MPI_C_DOUBLE_COMPLEX};
    return type[datatype];
}

static MPI_Op mpi_op(pto_op_t op) {
    const MPI_Op known[PTO_OP_COUNT] = {
        [PTO_OP_SUM] = MPI_SUM,   [PTO_OP_PROD] = MPI_PROD, [PTO_OP_MIN] = MPI_MIN,  [PTO_OP_MAX] = MPI_MAX,
        [PTO_OP_AVG] = MPI_SUM,   [PTO_OP_LAND] = MPI_LAND, [PTO_OP_LOR] = MPI_LOR,  [PTO_OP_LXOR] = MPI_LXOR,
        [PTO_OP_BAND] = MPI_BAND, [PTO_OP_BOR] = MPI_BOR,   [PTO_OP_BXOR] = MPI_BXOR};
    return known[op];
}

pto_status_t pto_mpi_reduction(pto_datatype_t datatype, pto_op_t op, pto_mpi_reduction_t *reduction,
                               pto_error_t *err) {
    MPI_User_function *own = own_op(datatype, op);
    *reduction = (pto_mpi_reduction_t){mpi_datatype(datatype), own ? MPI_OP_NULL : mpi_op(op), false};
    if (!own)
        return PTO_OK;
    pto_status_t status = PTO_MPI(MPI_Op_create(own, true, &reduction->op), err);
    reduction->own_op = status == PTO_OK;
    return status;
}

void pto_mpi_reduction_free(pto_mpi_reduction_t *reduction) {
    if (reduction->own_op)
        MPI_Op_free(&reduction->op);
    reduction->own_op = false;
}

static pto_status_t too_long(int64_t bytes, pto_error_t *err) {
    return pto_error_set(err, PTO_ERR_TOO_LARGE, "MPI counts are limited to %d, but a buffer has %lld bytes",
                         INT_MAX, (long long)bytes);
}

/* Counts in bytes, by member. */
static pto_status_t fill_counts(const pto_exec_t *exec, const pto_slice_t *slice, int64_t members,
                                int *counts, int *displs, pto_error_t *err) {
    for (int64_t j = 0; j < members; j++) {
        pto_nccl_block_t block = pto_exec_block(exec, slice, j);
        if (block.offset_bytes + block.bytes > INT_MAX)
            return too_long(block.offset_bytes + block.bytes, err);
        counts[j] = (int)block.bytes;
        displs[j] = (int)block.offset_bytes;
    }
    return PTO_OK;
}

/* Returns whether a buffer's blocks differ in size or are not in order, so that MPI needs counts. */
static bool needs_counts(const pto_buffer_t *buffer) {
    return buffer->blocks != PTO_BLOCKS_EQUAL || buffer->cyclic != PTO_CYCLIC_NONE;
}

/* Data that are only moved are counted in bytes, whatever the datatype. */
static int64_t unit_bytes(const pto_exec_t *exec, pto_collective_t collective) {
    return pto_collective_reduces(collective) ? pto_datatype_bytes(pto_plan_request(exec->plan)->datatype)
                                              : 1;
}

/* Sets the count of a call with equal blocks, or with a whole vector. */
static pto_status_t set_count(const pto_exec_t *exec, const pto_slice_t *slice, pto_library_call_t *call,
                              pto_error_t *err) {
    int64_t bytes = pto_exec_block(exec, slice, 0).bytes, count = bytes / unit_bytes(exec, call->collective);
    call->count = (int)count;
    return count <= INT_MAX ? PTO_OK : too_long(bytes, err);
}

static pto_status_t fill_blocks(const pto_exec_t *exec, const pto_node_t *node, int64_t members,
                                pto_library_call_t *call, pto_error_t *err) {
    const pto_call_slices_t *slices = pto_plan_call(exec->plan, node->call);
    call->equal = !needs_counts(pto_plan_buffer(exec->plan, slices->in.buffer)) &&
                  !needs_counts(pto_plan_buffer(exec->plan, slices->out.buffer)) &&
                  !pto_collective_is_by_pair(call->collective) &&
                  !pto_collective_is_by_owner(call->collective);
    if (call->equal) {
        /* Every member has an output if the data come from the root, and otherwise an input. */
        bool from_root = pto_collective_is_from_root(call->collective);
        return set_count(exec, from_root ? &slices->out : &slices->in, call, err);
    }
    int *numbers = calloc(4 * (size_t)members, sizeof *numbers);
    if (!numbers)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for the counts of %s",
                             pto_collective_name(call->collective));
    call->send_counts = numbers;
    call->send_displs = numbers + members;
    call->receive_counts = numbers + 2 * members;
    call->receive_displs = numbers + 3 * members;
    pto_status_t status = fill_counts(exec, &slices->in, members, call->send_counts, call->send_displs, err);
    if (status == PTO_OK)
        status = fill_counts(exec, &slices->out, members, call->receive_counts, call->receive_displs, err);
    return status;
}

/* Joins the last neighbor's block to that of neighbor `first`, which is the same process. */
static pto_status_t join_last(pto_neighbors_t *neighbors, int first, pto_error_t *err) {
    int at[] = {first, --neighbors->degree}, counts[2];
    MPI_Aint displs[2];
    MPI_Datatype types[2], joined;
    for (int i = 0; i < 2; i++) {
        counts[i] = neighbors->count[at[i]];
        displs[i] = neighbors->displ[at[i]];
        types[i] = neighbors->type[at[i]];
    }
    pto_status_t status = PTO_MPI(MPI_Type_create_struct(2, counts, displs, types, &joined), err);
    for (int i = 0; i < 2; i++)
        if (neighbors->own_type[at[i]])
            MPI_Type_free(&types[i]);
    neighbors->own_type[at[1]] = false;
    neighbors->own_type[first] = status == PTO_OK;
    if (status != PTO_OK)
        return status;
    neighbors->count[first] = 1;
    neighbors->displ[first] = 0;
    neighbors->type[first] = joined;
    return PTO_MPI(MPI_Type_commit(&neighbors->type[first]), err);
}

/* In a ring of one or two processes, a process has several blocks for one neighbor. They become one, in the
 * order of the plan's steps: MPICH 4.1 to 5.0.1 matches the messages of a neighbor that is listed twice in
 * reverse order, other libraries in the order of the lists. */
static pto_status_t add_neighbor(const pto_exec_t *exec, const pto_action_t *action, const pto_slice_t *slice,
                                 pto_neighbors_t *neighbors, pto_error_t *err) {
    pto_byte_ranges_t ranges = {.base = NULL};
    int at = neighbors->degree;
    pto_status_t status = pto_ranges_collect(exec, slice, action, &ranges, err);
    const pto_byte_range_t *range = ranges.list.item;
    neighbors->base = ranges.base;
    neighbors->rank[at] = (int)action->peer;
    neighbors->type[at] = MPI_BYTE;
    neighbors->count[at] = 0;
    neighbors->displ[at] = 0;
    neighbors->own_type[at] = false;
    if (status == PTO_OK && ranges.list.count == 1 && range->bytes <= INT_MAX) {
        neighbors->displ[at] = (MPI_Aint)(range->at - ranges.base);
        neighbors->count[at] = (int)range->bytes;
    } else if (status == PTO_OK && ranges.bytes > 0) {
        neighbors->count[at] = 1;
        status = pto_ranges_type(&ranges, &neighbors->type[at], err);
        neighbors->own_type[at] = status == PTO_OK;
    }
    neighbors->degree++;
    free(ranges.list.item);
    for (int i = 0; i < at && status == PTO_OK; i++)
        if (neighbors->rank[i] == neighbors->rank[at])
            return join_last(neighbors, i, err);
    return status;
}

/* Finds the neighbors in the sends, or the receives, of the node's only stage, which follows it. */
static pto_status_t find_neighbors(const pto_exec_t *exec, const pto_node_t *node, pto_step_kind_t kind,
                                   pto_neighbors_t *neighbors, pto_error_t *err) {
    const pto_stage_t *stage = pto_plan_stage(exec->plan, node[1].stage);
    pto_status_t status = PTO_OK;
    for (int i = 0; i < stage->step_count && status == PTO_OK; i++) {
        const pto_step_t *step = pto_plan_step(exec->plan, stage->step_first + i);
        pto_action_t action;
        if (step->kind != kind || !pto_step_acts(exec->plan, step, exec->job.logical, 0, &action))
            continue;
        for (int64_t next = 0; status == PTO_OK && pto_step_next(exec->plan, &next, &action);)
            status = add_neighbor(exec, &action, kind == PTO_STEP_SEND ? &step->source : &step->target,
                                  neighbors, err);
    }
    return status;
}

static pto_status_t fill_neighbors(const pto_exec_t *exec, const pto_node_t *node, pto_library_call_t *call,
                                   pto_error_t *err) {
    call->neighbors = calloc(2, sizeof *call->neighbors);
    if (!call->neighbors)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a process's neighbors");
    pto_status_t status = find_neighbors(exec, node, PTO_STEP_SEND, &call->neighbors[0], err);
    return status == PTO_OK ? find_neighbors(exec, node, PTO_STEP_RECV, &call->neighbors[1], err) : status;
}

/* Adds a graph topology to the members' communicator. GCC warns of MPI_UNWEIGHTED, so weights are 0. */
static pto_status_t connect_neighbors(pto_library_call_t *call, pto_error_t *err) {
    static const int weights[PTO_SHIFTS_MAX];
    const pto_neighbors_t *to = &call->neighbors[0], *from = &call->neighbors[1];
    MPI_Comm members = call->comm;
    pto_status_t status =
        PTO_MPI(MPI_Dist_graph_create_adjacent(members, from->degree, from->rank, weights, to->degree,
                                               to->rank, weights, MPI_INFO_NULL, 0, &call->comm),
                err);
    MPI_Comm_free(&members);
    return status;
}

static void free_neighbors(pto_neighbors_t *neighbors) {
    for (int side = 0; neighbors && side < 2; side++)
        for (int i = 0; i < neighbors[side].degree; i++)
            if (neighbors[side].own_type[i])
                MPI_Type_free(&neighbors[side].type[i]);
    free(neighbors);
}

/* Sets all arguments but the communicator. */
static pto_status_t fill_call(const pto_exec_t *exec, const pto_node_t *node, int64_t members,
                              pto_library_call_t *call, pto_error_t *err) {
    if (!pto_collective_is_in_mpi(node->collective))
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "MPI has no collective for %s",
                             pto_collective_name(node->collective));
    call->collective = node->collective;
    if (node->collective == PTO_COLLECTIVE_HALO)
        return fill_neighbors(exec, node, call, err);
    pto_status_t status =
        pto_collective_reduces(node->collective)
            ? pto_mpi_reduction(pto_plan_request(exec->plan)->datatype, exec->op, &call->reduction, err)
            : PTO_OK;
    if (status != PTO_OK)
        return status;
    const pto_call_slices_t *slices = pto_plan_call(exec->plan, node->call);
    call->in = exec->bound[slices->in.buffer].memory;
    call->out = exec->bound[slices->out.buffer].memory;
    return pto_collective_is_vector(node->collective) ? set_count(exec, &slices->in, call, err)
                                                      : fill_blocks(exec, node, members, call, err);
}

/* Collective: prepares the call of a collective node. A process that has failed takes part in splitting the
 * communicator, but fills in no call. Neighbors are connected only if no process has failed. */
static pto_status_t prepare_one(pto_exec_t *exec, int node, pto_status_t status, pto_error_t *err) {
    pto_membership_t member = pto_find_membership(exec, node);
    pto_library_call_t *call = pto_vector_add(&exec->calls, sizeof *call);
    MPI_Comm comm = MPI_COMM_NULL;
    pto_error_t ignored;
    if (call)
        call->comm = MPI_COMM_NULL;
    else if (status == PTO_OK)
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    if (status == PTO_OK && !exec->peer_failed && call && member.acts)
        status = fill_call(exec, member.node, member.group->size, call, err);
    pto_status_t split = pto_mpi_members_comm(exec, &member, &comm, status == PTO_OK ? err : &ignored);
    status = status == PTO_OK ? split : status;
    if (call)
        call->comm = comm;
    else if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
    if (member.node->collective != PTO_COLLECTIVE_HALO)
        return status;
    status = pto_agree(exec->job.team, status, err);
    return status == PTO_OK && call && call->neighbors ? connect_neighbors(call, err) : status;
}

pto_status_t pto_mpi_prepare(pto_exec_t *exec, pto_status_t status, pto_error_t *err) {
    for (int n = 0; n < pto_plan_node_count(exec->plan); n++)
        if (pto_runs_by_library(exec, pto_plan_node(exec->plan, n)))
            status = prepare_one(exec, n, status, err);
    return status;
}

/* The root, member 0, passes MPI_IN_PLACE if it reduces in place. */
static pto_status_t call_reduce(const pto_library_call_t *call, pto_error_t *err) {
    int rank = 0;
    pto_status_t status = PTO_MPI(MPI_Comm_rank(call->comm, &rank), err);
    if (status != PTO_OK)
        return status;
    const void *in = rank == 0 && call->in == call->out ? MPI_IN_PLACE : call->in;
    return PTO_MPI(MPI_Reduce(in, rank == 0 ? call->out : NULL, call->count, call->reduction.type,
                              call->reduction.op, 0, call->comm),
                   err);
}

static pto_status_t call_neighbors(const pto_library_call_t *call, pto_error_t *err) {
    const pto_neighbors_t *to = &call->neighbors[0], *from = &call->neighbors[1];
    return PTO_MPI(MPI_Neighbor_alltoallw(to->base, to->count, to->displ, to->type, from->base, from->count,
                                          from->displ, from->type, call->comm),
                   err);
}

pto_status_t pto_library_call(const pto_library_call_t *call, pto_error_t *err) {
    const void *in = call->in, *in_or_in_place = call->in == call->out ? MPI_IN_PLACE : call->in;
    void *out = call->out;
    const int count = call->count, *counts = call->receive_counts, *displs = call->receive_displs;
    MPI_Datatype byte = MPI_BYTE, type = call->reduction.type;
    MPI_Op op = call->reduction.op;
    MPI_Comm comm = call->comm;
    switch (call->collective) {
    case PTO_COLLECTIVE_REDUCE:
        return call_reduce(call, err);
    case PTO_COLLECTIVE_BROADCAST:
        return PTO_MPI(MPI_Bcast(out, count, byte, 0, comm), err);
    case PTO_COLLECTIVE_ALLREDUCE:
        return PTO_MPI(MPI_Allreduce(in_or_in_place, out, count, type, op, comm), err);
    case PTO_COLLECTIVE_ALLGATHER:
        return PTO_MPI(MPI_Allgather(in, count, byte, out, count, byte, comm), err);
    case PTO_COLLECTIVE_ALLGATHERV:
        return PTO_MPI(MPI_Allgatherv(in, call->send_counts[0], byte, out, counts, displs, byte, comm), err);
    case PTO_COLLECTIVE_REDUCE_SCATTER:
        return PTO_MPI(MPI_Reduce_scatter_block(in, out, count, type, op, comm), err);
    case PTO_COLLECTIVE_GATHER:
        return PTO_MPI(MPI_Gather(in, count, byte, out, count, byte, 0, comm), err);
    case PTO_COLLECTIVE_SCATTER:
        return PTO_MPI(MPI_Scatter(in, count, byte, out, count, byte, 0, comm), err);
    case PTO_COLLECTIVE_HALO:
        return call_neighbors(call, err);
    case PTO_COLLECTIVE_ALLTOALL:
    case PTO_COLLECTIVE_ALLTOALLV:
    case PTO_COLLECTIVE_MESSAGES:
    case PTO_COLLECTIVE_PAIR:
    case PTO_COLLECTIVE_COUNT:
        break;
    }
    if (call->equal)
        return PTO_MPI(MPI_Alltoall(in, count, byte, out, count, byte, comm), err);
    return PTO_MPI(
        MPI_Alltoallv(in, call->send_counts, call->send_displs, byte, out, counts, displs, byte, comm), err);
}

bool pto_mpi_takes_part(const pto_exec_t *exec, int index) {
    return ((const pto_library_call_t *)exec->calls.item)[index].comm != MPI_COMM_NULL;
}

pto_status_t pto_mpi_call(pto_exec_t *exec, int index, pto_error_t *err) {
    return pto_library_call((const pto_library_call_t *)exec->calls.item + index, err);
}

void pto_mpi_calls_free(pto_exec_t *exec) {
    pto_library_call_t *call = exec->calls.item;
    for (int i = 0; i < exec->calls.count; i++) {
        if (call[i].comm != MPI_COMM_NULL)
            MPI_Comm_free(&call[i].comm);
        pto_mpi_reduction_free(&call[i].reduction);
        free(call[i].send_counts);
        free_neighbors(call[i].neighbors);
    }
    free(exec->calls.item);
}
