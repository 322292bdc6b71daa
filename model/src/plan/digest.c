/* The digest of a plan: the FNV-1a hash (Fowler, Noll, Vo) of its request, nodes, groups, buffers, stages and
 * steps. The executor's processes compare digests to check that they have built the same plan. Fields that
 * most plans leave unset are hashed only where they are set (fnv1a_set). The second part compares matrices of
 * byte counts, of which each process may know only a part. */
#include <string.h>

#include "base/hash.h"
#include "plan/plan_internal.h"
#include "portolan/strategy.h"

static uint64_t fnv1a(uint64_t hash, uint64_t value) {
    for (int byte = 0; byte < 8; byte++)
        hash = pto_hash_add(hash, (value >> (8 * byte)) & 0xff);
    return hash;
}

static uint64_t fnv1a_all(uint64_t hash, const int64_t *number, size_t count) {
    for (size_t i = 0; i < count; i++)
        hash = fnv1a(hash, (uint64_t)number[i]);
    return hash;
}

static uint64_t fnv1a_text(uint64_t hash, const char *text) {
    for (; *text; text++)
        hash = fnv1a(hash, (unsigned char)*text);
    return hash;
}

/* Adds a number and its name if the number is set, that is, above `unset`. The name distinguishes such
 * numbers from each other. */
static uint64_t fnv1a_set(uint64_t hash, const char *name, int64_t value, int64_t unset) {
    return value > unset ? fnv1a(fnv1a_text(hash, name), (uint64_t)value) : hash;
}

static uint64_t digest_expr(uint64_t hash, pto_expr_t expr) {
    const int64_t term[] = {expr.constant, expr.loop, expr.power, expr.inverse, expr.core, expr.peer};
    return fnv1a_all(hash, term, sizeof term / sizeof *term);
}

static uint64_t digest_slice(uint64_t hash, const pto_slice_t *slice) {
    const int64_t number[] = {slice->buffer, slice->holder,       slice->anchor, slice->reversed,
                              slice->parts,  slice->reverse_bits, slice->share,  slice->share_count};
    hash = fnv1a_set(hash, "anchor_step", slice->anchor_step, 1);
    hash = fnv1a_set(hash, "bundle", slice->bundle, 1);
    hash = fnv1a_set(hash, "fold", slice->fold, 0);
    hash = fnv1a_set(hash, "cells", slice->cells, PTO_CELLS_NONE);
    hash = fnv1a_set(hash, "repeat", slice->repeat, 1);
    if (slice->repeat > 1)
        hash = fnv1a(hash, (uint64_t)slice->repeat_stride);
    hash = fnv1a_set(hash, "chunks", slice->chunks, 1);
    hash = fnv1a_all(hash, number, sizeof number / sizeof *number);
    const pto_expr_t expr[] = {slice->offset, slice->align,  slice->first,
                               slice->run,    slice->stride, slice->until};
    for (size_t i = 0; i < sizeof expr / sizeof *expr; i++)
        hash = digest_expr(hash, expr[i]);
    return hash;
}

static uint64_t digest_step(uint64_t hash, const pto_step_t *step) {
    const int64_t number[] = {step->kind,       step->core_first, step->core_count,
                              step->group,      step->peers.kind, step->peers.node_shift,
                              step->peers.sign, step->send_empty, step->fresh,
                              step->flag};
    hash = fnv1a_all(hash, number, sizeof number / sizeof *number);
    bool shifts = step->peers.kind == PTO_PEERS_CART || step->source.cells != PTO_CELLS_NONE;
    for (int d = 0; d < PTO_DIMS_MAX && shifts; d++)
        hash = fnv1a(hash, (uint64_t)(int64_t)step->peers.shift[d]);
    const pto_expr_t expr[] = {step->who_first,   step->who_stride,   step->who_until,
                               step->peers.first, step->peers.stride, step->peers.until};
    for (size_t i = 0; i < sizeof expr / sizeof *expr; i++)
        hash = digest_expr(hash, expr[i]);
    return digest_slice(digest_slice(hash, &step->source), &step->target);
}

static uint64_t digest_node(uint64_t hash, const pto_plan_t *plan, const pto_node_t *node) {
    const int64_t number[] = {node->kind,  node->span, node->from,       node->to,         node->power,
                              node->group, node->by,   node->collective, node->core_first, node->core_count};
    hash = fnv1a_all(hash, number, sizeof number / sizeof *number);
    if (node->kind == PTO_NODE_PIPELINE)
        hash = fnv1a(hash, (uint64_t)node->depth);
    if (node->kind == PTO_NODE_EITHER)
        hash = fnv1a(hash, node->policy);
    if (node->kind != PTO_NODE_COLLECTIVE)
        return hash;
    const pto_call_slices_t *call = pto_plan_call(plan, node->call);
    return digest_slice(digest_slice(hash, &call->in), &call->out);
}

static uint64_t digest_group(uint64_t hash, const pto_group_t *group) {
    return fnv1a(fnv1a(hash, group->kind), (uint64_t)group->fold);
}

static uint64_t digest_buffer(uint64_t hash, const pto_buffer_t *buffer) {
    const int64_t number[] = {buffer->role,        buffer->space,       buffer->core_first,
                              buffer->core_count,  buffer->group,       buffer->blocks,
                              buffer->block_count, buffer->block_bytes, buffer->granularity_bytes,
                              buffer->split,       buffer->cyclic,      buffer->cyclic_count,
                              buffer->held_stride, buffer->user_stride, buffer->double_buffered,
                              buffer->pageable};
    hash = fnv1a_all(hash, number, sizeof number / sizeof *number);
    hash = fnv1a_set(hash, "chunks", buffer->chunks, 0);
    if (buffer->chunks > 0)
        hash = fnv1a(hash, (uint64_t)buffer->slots);
    return fnv1a_set(hash, "held_first", buffer->held_first, 0);
}

static uint64_t digest_grid(uint64_t hash, const pto_grid_t *grid) {
    for (int d = 0; d < grid->dim_count; d++) {
        hash = fnv1a(fnv1a(hash, (uint64_t)grid->dim[d]), (uint64_t)grid->weight[d]);
        hash = fnv1a(hash, grid->wrap[d]);
    }
    return fnv1a(hash, (uint64_t)grid->along);
}

static uint64_t digest_halo(uint64_t hash, const pto_halo_t *grid) {
    for (int d = 0; d < grid->dim_count; d++)
        hash = fnv1a(fnv1a(hash, (uint64_t)grid->dims[d]), 2 * (uint64_t)grid->extent[d] + grid->wrap[d]);
    return fnv1a(fnv1a(hash, (uint64_t)grid->width), grid->corners);
}

/* A matrix has a number for each pair of processes, so speed matters. Eight independent hashes take every
 * eighth number each, with one multiplication per number. */
static uint64_t digest_matrix(uint64_t hash, const int64_t *number, int64_t count) {
    enum { HASHES = 8 };
    uint64_t partial[HASHES];
    int64_t whole = count / HASHES * HASHES;
    for (int i = 0; i < HASHES; i++)
        partial[i] = fnv1a(hash, (uint64_t)i);
    for (int64_t first = 0; first < whole; first += HASHES)
        for (int i = 0; i < HASHES; i++)
            partial[i] = (partial[i] ^ (uint64_t)number[first + i]) * PTO_GOLDEN_GAMMA;
    for (int i = 0; i < HASHES; i++)
        hash = fnv1a(hash, partial[i]);
    for (int64_t i = whole; i < count; i++)
        hash = fnv1a(hash, (uint64_t)number[i]);
    return hash;
}

/* Returns whether the counts list a number for each pair of processes. */
static bool is_of_pairs(const pto_counts_t *counts) {
    return counts->kind == PTO_COUNTS_MATRIX && counts->order > 1 &&
           pto_counts_values(counts) == counts->order * counts->order;
}

/* Adds the counts to a hash; a matrix of byte counts only if `matrix`. */
static uint64_t digest_counts(uint64_t hash, const pto_counts_t *counts, bool matrix) {
    if (counts->kind == PTO_COUNTS_SKEW) {
        uint64_t bits;
        memcpy(&bits, &counts->skew, sizeof bits);
        hash = fnv1a(fnv1a(hash, counts->seed), bits);
    }
    if (matrix || !is_of_pairs(counts))
        hash = digest_matrix(hash, counts->matrix, pto_counts_values(counts));
    if (counts->kind == PTO_COUNTS_STENCIL || counts->kind == PTO_COUNTS_GROUPS)
        hash = digest_grid(fnv1a(hash, counts->kind), &counts->grid);
    return hash;
}

static uint64_t digest_request(uint64_t hash, const pto_request_t *request, bool matrix) {
    const pto_layout_t *layout = &request->layout;
    const int64_t number[] = {layout->nodes,         layout->gpus_per_node, layout->owners_per_gpu,
                              layout->procs_per_gpu, request->collective,   request->implementation,
                              request->split,        request->datatype,     request->bytes,
                              request->messages,     request->unique_bytes, request->by_library};
    hash = fnv1a_all(hash, number, sizeof number / sizeof *number);
    if (request->collective == PTO_COLLECTIVE_PAIR)
        hash =
            fnv1a(hash, 4u * request->ends.from_host + 2u * request->ends.to_host + request->ends.both_ways);
    if (request->collective == PTO_COLLECTIVE_HALO)
        hash = digest_halo(hash, &request->halo);
    hash = fnv1a_set(hash, "in_place", request->in_place, 0);
    hash = fnv1a_set(hash, "chunks", request->chunks, 1);
    hash = fnv1a_set(hash, "segment_bytes", request->segment_bytes, 0);
    hash = fnv1a_set(hash, "staged_members.in", request->staged_members.in, 0);
    hash = fnv1a_set(hash, "staged_members.out", request->staged_members.out, 0);
    if (request->counts)
        hash = digest_counts(hash, request->counts, matrix);
    if (request->counts && pto_request_host_counts(request))
        hash = digest_counts(fnv1a(hash, request->counts->host->kind), request->counts->host, matrix);
    for (int64_t owner = 0; request->mapping && owner < request->mapping->count; owner++)
        hash = fnv1a(hash, (uint64_t)request->mapping->process[owner]);
    return fnv1a_text(fnv1a_text(hash, request->strategy->name), request->algorithm->name);
}

static uint64_t digest_plan(const pto_plan_t *plan, bool matrix) {
    uint64_t hash = digest_request(PTO_HASH_START, &plan->request, matrix);
    for (int i = 0; i < plan->nodes.count; i++)
        hash = digest_node(hash, plan, pto_plan_node(plan, i));
    for (int i = 0; i < plan->groups.count; i++)
        hash = digest_group(hash, pto_plan_group(plan, i));
    for (int i = 0; i < plan->buffers.count; i++)
        hash = digest_buffer(hash, pto_plan_buffer(plan, i));
    for (int i = 0; i < plan->stages.count; i++)
        hash =
            fnv1a(fnv1a(hash, (uint64_t)pto_plan_stage(plan, i)->step_count), pto_plan_stage(plan, i)->order);
    for (int i = 0; i < plan->steps.count; i++)
        hash = digest_step(hash, pto_plan_step(plan, i));
    return hash;
}

uint64_t pto_plan_digest(const pto_plan_t *plan) { return digest_plan(plan, true); }
uint64_t pto_plan_digest_of_form(const pto_plan_t *plan) { return digest_plan(plan, false); }

/* The processes of one GPU or of one node, which use the same rows and columns of the matrix. */
typedef struct {
    int64_t first; /* their owners are [first, until): the rows and columns */
    int64_t until;
    int64_t procs; /* the number of these processes */
} matrix_users_t;

/* Returns whether processes use blocks of others on their node: in buffers that combine them, or in their
 * memory. */
static bool uses_blocks_of_node(const pto_plan_t *plan) {
    bool combines = false;
    for (int i = 0; i < plan->buffers.count; i++) {
        pto_blocks_t blocks = pto_plan_buffer(plan, i)->blocks;
        bool of_process =
            blocks == PTO_BLOCKS_EQUAL || blocks == PTO_BLOCKS_ROW || blocks == PTO_BLOCKS_COLUMN;
        combines = combines || !of_process;
    }
    return combines || pto_plan_uses_peers_memory(plan);
}

static matrix_users_t matrix_users_of(const pto_plan_t *plan, int64_t rank) {
    const pto_layout_t *layout = &plan->request.layout;
    int64_t gpus = uses_blocks_of_node(plan) ? layout->gpus_per_node : 1;
    int64_t procs = gpus * layout->procs_per_gpu, owners = gpus * layout->owners_per_gpu;
    int64_t first = rank / procs * owners;
    return (matrix_users_t){first, first + owners, procs};
}

/* Returns the bytes of a pair times a hash of the pair. The sum over pairs then changes if two numbers trade
 * places. */
static uint64_t weighted_bytes(const pto_request_t *request, bool host, int64_t source, int64_t destination) {
    uint64_t weight = pto_mix(((uint64_t)source << 32) + (uint64_t)destination + PTO_GOLDEN_GAMMA);
    int64_t bytes = host ? pto_request_host_bytes(request, source, destination)
                         : pto_request_bytes(request, source, destination);
    return (uint64_t)bytes * weight;
}

/* Returns a process's term of the sum of a matrix (pto_plan_matrix_sum): the entries that it may use, minus
 * those of its own row, as often as other processes add them. Each entry is added by the `procs` users of the
 * sender's row and by those of the receiver's column: 2 * procs times. If all processes have equal entries,
 * the terms of all processes therefore add up to 0. */
static uint64_t sum_of_matrix(const pto_plan_t *plan, bool host, int64_t rank) {
    const pto_request_t *request = &plan->request;
    const pto_layout_t *layout = &request->layout;
    int64_t core = rank % layout->procs_per_gpu, owners = pto_layout_owner_count(layout);
    int64_t own = rank / layout->procs_per_gpu * layout->owners_per_gpu + core;
    matrix_users_t users = matrix_users_of(plan, rank);
    bool is_owner = core < layout->owners_per_gpu;
    uint64_t used = 0, sent = 0;
    for (int64_t i = 0; i < owners; i++)
        for (int64_t j = users.first; j < users.until; j++)
            used += weighted_bytes(request, host, i, j) + weighted_bytes(request, host, j, i);
    for (int64_t j = 0; j < owners && is_owner; j++)
        sent += weighted_bytes(request, host, own, j);
    return used - 2 * (uint64_t)users.procs * sent;
}

bool pto_plan_has_matrix(const pto_plan_t *plan) {
    const pto_counts_t *counts = plan->request.counts, *host = pto_request_host_counts(&plan->request);
    return (counts && is_of_pairs(counts)) || (host && is_of_pairs(host));
}

uint64_t pto_plan_matrix_sum(const pto_plan_t *plan, int64_t rank) {
    const pto_counts_t *counts = plan->request.counts, *host = pto_request_host_counts(&plan->request);
    uint64_t sum = counts && is_of_pairs(counts) ? sum_of_matrix(plan, false, rank) : 0;
    uint64_t host_sum = host && is_of_pairs(host) ? sum_of_matrix(plan, true, rank) : 0;
    return sum + 3 * host_sum; /* the factor tells the two matrices apart */
}
