/* Collectives that the plan leaves to NCCL: one call of the device's NCCL table replaces the stages that
 * describe it, with the members and the buffers that the plan's node names. */
#include <stdlib.h>

#include "mpi_collective.h"
#include "nccl_collective.h"
#include "nccl_dl.h"

bool pto_runs_by_nccl(const pto_node_t *node) {
    return node->kind == PTO_NODE_COLLECTIVE && node->by == PTO_DONE_BY_NCCL;
}

bool pto_nccl_does_all(const pto_plan_t *plan) {
    const pto_node_t *first = pto_plan_is_one_launch(plan) ? pto_plan_node(plan, 0) : NULL;
    return first && pto_runs_by_nccl(first) &&
           pto_plan_group(plan, first->group)->size ==
               pto_layout_owner_count(&pto_plan_request(plan)->layout);
}

pto_status_t pto_nccl_takes(pto_datatype_t datatype, pto_op_t op, pto_error_t *err) {
    if (pto_nccl_datatype(datatype) < 0)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "NCCL has no datatype %s",
                             pto_datatype_name(datatype));
    if (pto_nccl_op(op) < 0)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "NCCL has no operation %s", pto_op_name(op));
    return PTO_OK;
}

static void fill_blocks(const pto_exec_t *exec, const pto_slice_t *slice, int members,
                        pto_nccl_block_t *block) {
    for (int j = 0; j < members; j++)
        block[j] = pto_exec_block(exec, slice, j);
}

static pto_status_t fill(const pto_exec_t *exec, const pto_node_t *node, int members, pto_nccl_part_t *part,
                         pto_error_t *err) {
    const pto_request_t *request = pto_plan_request(exec->plan);
    const pto_call_slices_t *slices = pto_plan_call(exec->plan, node->call);
    int64_t element = pto_datatype_bytes(request->datatype);
    part->call = (pto_nccl_call_t){.collective = node->collective,
                                   .in = exec->bound[slices->in.buffer].memory,
                                   .out = exec->bound[slices->out.buffer].memory,
                                   .datatype = request->datatype,
                                   .op = exec->op,
                                   .members = members};
    if (pto_collective_data(node->collective) != PTO_DATA_BLOCKS &&
        !pto_collective_is_by_owner(node->collective)) {
        /* In a broadcast all members have an output; otherwise all have an input. */
        bool from_root = node->collective == PTO_COLLECTIVE_BROADCAST;
        int64_t bytes = pto_exec_block(exec, from_root ? &slices->out : &slices->in, 0).bytes;
        /* Data that are only moved need not be whole elements, or of a type that NCCL has. */
        bool whole = bytes % element == 0 && pto_nccl_datatype(request->datatype) >= 0;
        part->call.datatype = whole ? request->datatype : PTO_DATATYPE_BYTE;
        part->call.count = whole ? bytes / element : bytes;
        return PTO_OK;
    }
    part->blocks = calloc(2 * (size_t)members, sizeof *part->blocks);
    if (!part->blocks)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for the blocks of %s",
                             pto_collective_name(node->collective));
    fill_blocks(exec, &slices->in, members, part->blocks);
    fill_blocks(exec, &slices->out, members, part->blocks + members);
    part->call.send = part->blocks;
    part->call.receive = part->blocks + members;
    return PTO_OK;
}

static pto_status_t available(const pto_exec_t *exec, pto_error_t *err) {
    if (!exec->device->nccl)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "the device '%s' has no NCCL", exec->device->name);
    const pto_request_t *request = pto_plan_request(exec->plan);
    pto_status_t status = pto_collective_reduces(request->collective)
                              ? pto_nccl_takes(request->datatype, exec->op, err)
                              : PTO_OK;
    return status == PTO_OK ? exec->device->nccl->available(err) : status;
}

/* Collective: create the group of node `at` and this process's arguments. All processes agree on the result
 * of each step before the next, since NCCL would wait for missing members forever. */
static pto_status_t prepare_one(pto_exec_t *exec, int at, pto_error_t *err) {
    pto_membership_t member = pto_find_membership(exec, at);
    pto_nccl_part_t *part = pto_vector_add(&exec->nccl, sizeof *part);
    pto_status_t status = part ? PTO_OK : pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    if (part) {
        part->node = at;
        part->comm = MPI_COMM_NULL;
        if (member.acts)
            status = fill(exec, member.node, (int)member.group->size, part, err);
    }
    status = pto_agree(exec->job.comm, status, err);
    if (status != PTO_OK || !part)
        return status;
    status = pto_agree(exec->job.comm, pto_members_comm(exec, &member, &part->comm, err), err);
    if (status == PTO_OK && member.acts)
        status = exec->device->nccl->create(part->comm, &part->group, err);
    status = pto_agree(exec->job.comm, status, err);
    if (status != PTO_OK &&
        part->group) { /* some members have no group, so destroying it in order would hang */
        exec->device->nccl->destroy(part->group, true);
        part->group = NULL;
    }
    return status;
}

pto_status_t pto_nccl_prepare(pto_exec_t *exec, pto_status_t status, pto_error_t *err) {
    if (!pto_plan_uses_nccl(exec->plan))
        return status;
    if (status == PTO_OK)
        status = available(exec, err);
    status = pto_agree(exec->job.comm, status, err);
    for (int n = 0; n < pto_plan_node_count(exec->plan) && status == PTO_OK; n++)
        if (pto_runs_by_nccl(pto_plan_node(exec->plan, n)))
            status = prepare_one(exec, n, err);
    return status;
}

int pto_nccl_part(const pto_exec_t *exec, int node) {
    const pto_nccl_part_t *part = exec->nccl.item;
    for (int i = 0; i < exec->nccl.count; i++)
        if (part[i].node == node && part[i].comm != MPI_COMM_NULL)
            return i;
    return -1;
}

pto_status_t pto_nccl_enqueue(const pto_exec_t *exec, int index, void *stream, pto_error_t *err) {
    const pto_nccl_part_t *part = (const pto_nccl_part_t *)exec->nccl.item + index;
    return exec->device->nccl->run(part->group, &part->call, stream, err);
}

pto_status_t pto_nccl_queue(pto_exec_t *exec, int index, pto_error_t *err) {
    exec->lane[0].pending = true;
    return pto_nccl_enqueue(exec, index, exec->lane[0].stream, err);
}

pto_status_t pto_nccl_run(pto_exec_t *exec, int index, bool wait, bool *finished, pto_error_t *err) {
    *finished = wait || exec->waiting || !exec->device->nccl->waits;
    if (!*finished)
        return PTO_OK;
    pto_status_t status = pto_nccl_queue(exec, index, err);
    /* A missing member shows up here, so set the position for the watchdog. */
    if (status == PTO_OK && wait) {
        status = exec->device->finish(exec->lane[0].stream, err);
        exec->lane[0].pending = false;
    }
    return status;
}

void pto_nccl_free(pto_exec_t *exec) {
    pto_nccl_part_t *part = exec->nccl.item;
    for (int i = 0; i < exec->nccl.count; i++) {
        if (part[i].group)
            exec->device->nccl->destroy(part[i].group, exec->failed);
        if (part[i].comm != MPI_COMM_NULL)
            MPI_Comm_free(&part[i].comm);
        free(part[i].blocks);
    }
    free(exec->nccl.item);
}
