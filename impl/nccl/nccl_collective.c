/* Collectives that NCCL runs for the executor. One call of the device's NCCL table replaces all stages of a
 * collective node of the plan, with the node's members and buffers. */
#include <stdlib.h>

#include "members.h"
#include "mpi_part.h"
#include "nccl_collective.h"
#include "nccl_dl.h"
#include "register.h"

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

static pto_status_t fill_call(const pto_exec_t *exec, const pto_node_t *node, int members,
                              pto_exec_nccl_t *nccl, pto_error_t *err) {
    const pto_request_t *request = pto_plan_request(exec->plan);
    const pto_call_slices_t *slices = pto_plan_call(exec->plan, node->call);
    int64_t element = pto_datatype_bytes(request->datatype);
    nccl->call = (pto_nccl_call_t){.collective = node->collective,
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
        nccl->call.datatype = whole ? request->datatype : PTO_DATATYPE_BYTE;
        nccl->call.count = whole ? bytes / element : bytes;
        return PTO_OK;
    }
    nccl->blocks = calloc(2 * (size_t)members, sizeof *nccl->blocks);
    if (!nccl->blocks)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for the blocks of %s",
                             pto_collective_name(node->collective));
    fill_blocks(exec, &slices->in, members, nccl->blocks);
    fill_blocks(exec, &slices->out, members, nccl->blocks + members);
    nccl->call.send = nccl->blocks;
    nccl->call.receive = nccl->blocks + members;
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

static pto_status_t check_windows(const pto_exec_t *exec, pto_error_t *err) {
    if (exec->shadow_in || exec->shadow_out)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "each run copies a buffer aside, which can be no symmetric window");
    return PTO_OK;
}

typedef struct {
    void *at;
    int64_t bytes; /* 0: it becomes no window */
} window_memory_t;

static int64_t own_bytes(const pto_exec_t *exec, int buffer) {
    return exec->bound[buffer].memory ? pto_buffer_bytes(exec->plan, buffer, exec->job.logical) : 0;
}

/* Returns whether all members have one size: `least` is the minimum of the sizes and of the negated ones. */
static bool have_one_size(const int64_t *least) { return least[0] > 0 && least[0] == -least[1]; }

/* Collective among the members: chooses the buffers that all have in one size. All find the same error. */
static pto_status_t choose_windows(const pto_exec_t *exec, const pto_exec_nccl_t *nccl,
                                   window_memory_t memory[PTO_SIDES], pto_error_t *err) {
    const pto_call_slices_t *slices = pto_plan_call(exec->plan, pto_plan_node(exec->plan, nccl->node)->call);
    const int buffer[PTO_SIDES] = {slices->in.buffer, slices->out.buffer};
    char *const at[PTO_SIDES] = {exec->bound[buffer[0]].memory, exec->bound[buffer[1]].memory};
    int64_t in = own_bytes(exec, buffer[0]), out = own_bytes(exec, buffer[1]), same = at[0] == at[1];
    int64_t least[] = {in, -in, out, -out, same, -same};
    pto_status_t status = pto_agree_least(nccl->team, PTO_OK, least, 6, err);
    bool has_in = have_one_size(least), has_out = have_one_size(least + 2);
    if (status == PTO_OK && has_in && has_out && least[4] != -least[5])
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "some members work in place, and others do not");
    if (status == PTO_OK && !has_in && !has_out)
        return pto_error_set(
            err, PTO_ERR_NOT_APPLICABLE,
            "no buffer is on all members and of one size, so none can be a symmetric window");
    memory[PTO_SIDE_IN] = (window_memory_t){at[0], has_in ? in : 0};
    memory[PTO_SIDE_OUT] = (window_memory_t){at[1], has_out && !(has_in && same) ? out : 0};
    return status;
}

/* Collective. */
static pto_status_t make_windows(const pto_exec_t *exec, bool acts, pto_exec_nccl_t *nccl, pto_error_t *err) {
    window_memory_t memory[PTO_SIDES] = {{NULL, 0}, {NULL, 0}};
    pto_status_t status = acts ? choose_windows(exec, nccl, memory, err) : PTO_OK;
    status = pto_agree(exec->job.team, status, err);
    for (int side = 0; side < PTO_SIDES && status == PTO_OK; side++) {
        if (memory[side].bytes > 0)
            status = exec->device->nccl->window_create(nccl->group, memory[side].at,
                                                       (size_t)memory[side].bytes, &nccl->window[side], err);
        status = pto_agree(exec->job.team, status, err);
    }
    return status;
}

static void free_windows(const pto_exec_t *exec, pto_exec_nccl_t *nccl) {
    for (int side = 0; side < PTO_SIDES; side++)
        if (nccl->window[side] && !exec->failed)
            exec->device->nccl->window_destroy(nccl->group, nccl->window[side], NULL);
}

/* Collective: finds or creates the team of the members. Without MPI, the members must be all processes. */
static pto_status_t find_team(const pto_exec_t *exec, const pto_membership_t *member, pto_exec_nccl_t *nccl,
                              pto_error_t *err) {
    if (exec->job.team->mpi) {
        pto_team_t *created = NULL;
        pto_status_t status = exec->job.team->mpi->members(exec, member, &created, err);
        nccl->team = created;
        return status;
    }
    for (int i = 0; i < exec->job.size; i++)
        if (member->group->size != exec->job.size ||
            exec->job.team_rank[pto_group_rank(exec->plan, member->group, exec->job.logical, i)] != i)
            return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                                 "some of the processes call NCCL, or in another order, which takes a team "
                                 "of MPI's processes");
    nccl->team = exec->job.team;
    return PTO_OK;
}

/* Collective: creates the communicator of a node and this process's arguments. All processes agree on the
 * result of each step before the next, since NCCL would wait for missing members forever. */
static pto_status_t prepare_one(pto_exec_t *exec, int node, pto_error_t *err) {
    pto_membership_t member = pto_find_membership(exec, node);
    pto_exec_nccl_t *nccl = pto_vector_add(&exec->nccl, sizeof *nccl);
    pto_status_t status = nccl ? PTO_OK : pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    if (nccl) {
        nccl->node = node;
        if (member.acts)
            status = fill_call(exec, member.node, (int)member.group->size, nccl, err);
    }
    status = pto_agree(exec->job.team, status, err);
    if (status != PTO_OK || !nccl)
        return status;
    status = pto_agree(exec->job.team, find_team(exec, &member, nccl, err), err);
    if (status == PTO_OK && member.acts)
        status = exec->device->nccl->create(nccl->team, &nccl->group, err);
    status = pto_agree(exec->job.team, status, err);
    if (status == PTO_OK && exec->options.nccl_windows)
        status = make_windows(exec, member.acts, nccl, err);
    if (status != PTO_OK && nccl->group) {
        /* Some members have no communicator, so destroying it without aborting would hang. */
        exec->device->nccl->destroy(nccl->group, true);
        nccl->group = NULL;
    }
    return status;
}

pto_status_t pto_nccl_prepare(pto_exec_t *exec, pto_status_t status, pto_error_t *err) {
    if (!pto_plan_uses_nccl(exec->plan))
        return status;
    if (status == PTO_OK)
        status = available(exec, err);
    if (status == PTO_OK && exec->options.nccl_windows)
        status = check_windows(exec, err);
    status = pto_agree(exec->job.team, status, err);
    for (int n = 0; n < pto_plan_node_count(exec->plan) && status == PTO_OK; n++)
        if (pto_runs_by_nccl(pto_plan_node(exec->plan, n)))
            status = prepare_one(exec, n, err);
    return status;
}

int pto_nccl_index(const pto_exec_t *exec, int node) {
    const pto_exec_nccl_t *nccl = exec->nccl.item;
    for (int i = 0; i < exec->nccl.count; i++)
        if (nccl[i].node == node && nccl[i].team)
            return i;
    return -1;
}

pto_status_t pto_nccl_enqueue(const pto_exec_t *exec, int index, void *stream, pto_error_t *err) {
    const pto_exec_nccl_t *nccl = (const pto_exec_nccl_t *)exec->nccl.item + index;
    return exec->device->nccl->run(nccl->group, &nccl->call, stream, err);
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
    if (status == PTO_OK && wait) {
        status = exec->device->finish(exec->lane[0].stream, err);
        exec->lane[0].pending = false;
    }
    return status;
}

void pto_nccl_free(pto_exec_t *exec) {
    pto_exec_nccl_t *nccl = exec->nccl.item;
    for (int i = 0; i < exec->nccl.count; i++) {
        if (nccl[i].group) {
            free_windows(exec, &nccl[i]);
            exec->device->nccl->destroy(nccl[i].group, exec->failed);
        }
        if (nccl[i].team && nccl[i].team != exec->job.team)
            exec->job.team->mpi->members_free((pto_team_t *)nccl[i].team);
        free(nccl[i].blocks);
    }
    free(exec->nccl.item);
}
