/* Builds plans from requests. pto_plan_create checks the request and calls the strategy's `build`, which
 * calls the algorithm's. These two call the builder's functions (portolan/strategy.h), which append nodes,
 * stages, steps, buffers and groups to the plan. A plan is not changed after it has been created. */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/grow.h"
#include "plan/plan_internal.h"
#include "portolan/strategy.h"

enum { OPEN_MAX = 8 };

struct pto_builder {
    pto_plan_t *plan;
    int open[OPEN_MAX]; /* indices of the nodes that have begun and not ended, outermost first */
    int open_count;
    const char *misuse; /* the first wrong use of the builder, as the end of a sentence; NULL: none */
    bool in_kernel;     /* a kernel node is open */
    int64_t bundle;     /* of the current exchange; 0: none */
    int64_t chunks;     /* of the current pipeline of chunks; 0: none */
    bool out_of_memory;
};

/* Records the first wrong use, which fails the plan in build_nodes. Returns `wrong`. */
static bool note_misuse(pto_builder_t *builder, bool wrong, const char *misuse) {
    if (wrong && !builder->misuse)
        builder->misuse = misuse;
    return wrong;
}

/* Returns the index of the new item; 0 if out of memory, which the builder records. */
static int list_add(pto_builder_t *builder, pto_list_t *list, const void *item, size_t item_size) {
    if ((size_t)list->count >= list->capacity &&
        !pto_array_reserve(&list->item, &list->capacity, (size_t)list->count + 1, item_size)) {
        builder->out_of_memory = true;
        return 0;
    }
    memcpy((char *)list->item + (size_t)list->count * item_size, item, item_size);
    return list->count++;
}

int pto_build_group(pto_builder_t *builder, pto_group_kind_t kind, int64_t fold) {
    pto_group_t group = pto_group_shape(&builder->plan->request.layout, kind);
    group.fold = fold;
    group.size -= fold;
    return list_add(builder, &builder->plan->groups, &group, sizeof group);
}

/* Returns the exchange within nodes (level 0) or among the leaders of nodes (level 1). A group that is all on
 * one node, or has one member on each node, has only one of these levels; n is 1 in the other one. */
static pto_exchange_t build_level(pto_builder_t *builder, const pto_exchange_t *exchange, int level) {
    const pto_group_t group = *pto_builder_group(builder, exchange->group);
    pto_exchange_t result = *exchange;
    bool is_this_level = group.members_per_node == (level == 0 ? group.size : 1);
    pto_group_kind_t kind = pto_group_traits[group.kind].levels[level];
    if (is_this_level || kind == PTO_GROUP_OWNERS) {
        result.n = is_this_level ? exchange->n : 1;
        return result;
    }
    result.group = pto_build_group(builder, kind, 0);
    result.n = pto_builder_group(builder, result.group)->size;
    if (!((pto_group_traits[kind].index | pto_group_traits[kind].color) & PTO_BY_CORE))
        result.core_count = 1; /* each GPU has one member */
    return result;
}

pto_exchange_t pto_build_within_nodes(pto_builder_t *builder, const pto_exchange_t *exchange) {
    return build_level(builder, exchange, 0);
}

pto_exchange_t pto_build_node_leaders(pto_builder_t *builder, const pto_exchange_t *exchange) {
    return build_level(builder, exchange, 1);
}

int pto_build_buffer(pto_builder_t *builder, pto_buffer_t buffer) {
    return list_add(builder, &builder->plan->buffers, &buffer, sizeof buffer);
}

pto_buffer_t pto_temporary_like(const pto_builder_t *builder, int buffer, const char *name) {
    pto_buffer_t temporary = *pto_builder_buffer(builder, buffer);
    temporary.name = name;
    temporary.role = PTO_ROLE_TEMPORARY;
    temporary.user_stride = 0;
    return temporary;
}

int pto_build_mirror(pto_builder_t *builder, int buffer, const char *name, pto_space_t space) {
    pto_buffer_t mirror = pto_temporary_like(builder, buffer, name);
    mirror.space = space;
    return pto_build_buffer(builder, mirror);
}

int pto_build_flag(pto_builder_t *builder, const char *name) {
    return list_add(builder, &builder->plan->flags, &name, sizeof name);
}

const pto_buffer_t *pto_builder_buffer(const pto_builder_t *builder, int buffer) {
    static const pto_buffer_t none = {.block_count = 1};
    return builder->out_of_memory ? &none : pto_buffer_at(builder->plan, buffer);
}

const pto_group_t *pto_builder_group(const pto_builder_t *builder, int group) {
    static const pto_group_t none = {.size = 1, .members_per_node = 1};
    return builder->out_of_memory ? &none : pto_group_at(builder->plan, group);
}

const pto_request_t *pto_builder_request(const pto_builder_t *builder) { return &builder->plan->request; }

void pto_build_stage(pto_builder_t *builder, const char *name, pto_order_t order) {
    pto_stage_t stage = {.name = name, .order = order, .step_first = builder->plan->steps.count};
    pto_node_t node = {.kind = PTO_NODE_STAGE};
    node.stage = list_add(builder, &builder->plan->stages, &stage, sizeof stage);
    list_add(builder, &builder->plan->nodes, &node, sizeof node);
}

void pto_build_step(pto_builder_t *builder, pto_step_t step) {
    if (builder->out_of_memory ||
        note_misuse(builder, builder->plan->stages.count == 0, "builds a step before the first stage"))
        return;
    step.in_kernel = builder->in_kernel && step.kind != PTO_STEP_LAUNCH;
    if (builder->bundle > 1) {
        step.source.bundle = builder->bundle;
        step.target.bundle = builder->bundle;
    }
    step.source.chunks = step.target.chunks = builder->chunks;
    list_add(builder, &builder->plan->steps, &step, sizeof step);
    pto_stage_t *stage = builder->plan->stages.item;
    stage[builder->plan->stages.count - 1].step_count++;
}

void pto_build_move(pto_builder_t *builder, pto_step_t step, pto_slice_t source, pto_slice_t target) {
    step.source = source;
    step.target = target;
    pto_build_step(builder, step);
}

void pto_build_local(pto_builder_t *builder, const char *name, pto_step_t step, pto_slice_t source,
                     pto_slice_t target) {
    pto_build_stage(builder, name, PTO_ORDER_SEQUENCE);
    pto_build_move(builder, step, source, target);
}

void pto_build_copy(pto_builder_t *builder, const char *name, const pto_exchange_t *who, pto_slice_t source,
                    pto_slice_t target) {
    pto_build_local(builder, name, pto_step_of(PTO_STEP_COPY, who), source, target);
}

static void open_node(pto_builder_t *builder, pto_node_t node) {
    if (note_misuse(builder, builder->open_count == OPEN_MAX, "nests more than 8 nodes"))
        return;
    builder->open[builder->open_count++] = list_add(builder, &builder->plan->nodes, &node, sizeof node);
}

void pto_build_loop(pto_builder_t *builder, int64_t from, int64_t to, bool power) {
    open_node(builder, (pto_node_t){.kind = PTO_NODE_LOOP, .from = from, .to = to, .power = power});
}

void pto_build_parallel(pto_builder_t *builder) {
    open_node(builder, (pto_node_t){.kind = PTO_NODE_PARALLEL});
}

void pto_build_branch(pto_builder_t *builder) { open_node(builder, (pto_node_t){.kind = PTO_NODE_BRANCH}); }

void pto_build_either(pto_builder_t *builder, const pto_exchange_t *who, pto_policy_kind_t policy) {
    int flag = pto_build_flag(builder, "arrived");
    pto_build_flag(builder, "take A");
    pto_build_flag(builder, "take B");
    open_node(builder, (pto_node_t){.kind = PTO_NODE_EITHER,
                                    .from = 1,
                                    .to = who->n,
                                    .group = who->group,
                                    .policy = policy,
                                    .flag = flag});
}

void pto_build_once(pto_builder_t *builder, const char *name, pto_order_t order) {
    pto_build_stage(builder, name, order);
    pto_stage_t *stage = builder->plan->stages.item;
    if (!builder->out_of_memory)
        stage[builder->plan->stages.count - 1].once = true;
}

void pto_build_pipeline(pto_builder_t *builder, int64_t from, int64_t to, int64_t depth) {
    open_node(builder, (pto_node_t){.kind = PTO_NODE_PIPELINE, .from = from, .to = to, .depth = depth});
}

void pto_build_chunks(pto_builder_t *builder, int64_t chunks, int64_t depth) {
    pto_build_pipeline(builder, 0, chunks, depth);
    builder->chunks = chunks;
}

/* Returns a slice of the call's meaning (pto_node_t): the whole buffer, or the block of each peer. */
static pto_slice_t call_slice(const pto_builder_t *builder, pto_collective_t collective, int buffer) {
    if (pto_collective_is_vector(collective) || collective == PTO_COLLECTIVE_PAIR ||
        collective == PTO_COLLECTIVE_HALO)
        return pto_slice_all(builder, buffer);
    pto_slice_t slice =
        pto_slice_block(buffer, collective == PTO_COLLECTIVE_MESSAGES ? PTO_ANCHOR_ORDINAL : PTO_ANCHOR_PEER);
    slice.bundle = builder->bundle > 1 ? builder->bundle : 0;
    return slice;
}

void pto_build_collective(pto_builder_t *builder, const pto_exchange_t *exchange, pto_done_by_t by) {
    pto_collective_t collective = builder->plan->request.collective;
    const pto_call_slices_t call = {.in = call_slice(builder, collective, exchange->in),
                                    .out = call_slice(builder, collective, exchange->out)};
    open_node(builder, (pto_node_t){.kind = PTO_NODE_COLLECTIVE,
                                    .group = exchange->group,
                                    .by = by,
                                    .collective = collective,
                                    .core_first = exchange->core_first,
                                    .core_count = exchange->core_count,
                                    .call = list_add(builder, &builder->plan->calls, &call, sizeof call)});
}

void pto_build_kernel(pto_builder_t *builder, const pto_exchange_t *who) {
    open_node(builder, (pto_node_t){.kind = PTO_NODE_KERNEL, .group = who->group});
    builder->in_kernel = true;
    pto_build_stage(builder, "launch", PTO_ORDER_SEQUENCE);
    pto_build_step(builder, pto_step_of(PTO_STEP_LAUNCH, who));
}

void pto_build_end(pto_builder_t *builder) {
    if (note_misuse(builder, builder->open_count == 0, "ends a node that it did not begin"))
        return;
    int opened = builder->open[--builder->open_count];
    if (builder->out_of_memory)
        return;
    pto_node_t *node = builder->plan->nodes.item;
    node[opened].span = builder->plan->nodes.count - 1 - opened;
    if (node[opened].kind == PTO_NODE_KERNEL)
        builder->in_kernel = false;
    if (node[opened].kind == PTO_NODE_PIPELINE)
        builder->chunks = 0;
}

/* Builds the library's own host buffer for one of the user's GPU buffers. */
static int build_staging(pto_builder_t *builder, int buffer, const char *name) {
    pto_buffer_t staging = pto_temporary_like(builder, buffer, name);
    staging.space = PTO_SPACE_CPU;
    staging.pageable = true;
    return pto_build_buffer(builder, staging);
}

/* Builds a copy by the members in [first, until). */
static void build_staging_copy(pto_builder_t *builder, const char *name, const pto_exchange_t *exchange,
                               int64_t first, int64_t until, int source, int target) {
    pto_step_t copy = pto_step_of(PTO_STEP_COPY, exchange);
    copy.who_first = pto_constant(first);
    copy.who_until = pto_constant(until);
    pto_build_local(builder, name, copy, pto_slice_all(builder, source), pto_slice_all(builder, target));
}

/* Builds the stages of a library that stages GPU buffers. It copies the input to host memory of its own, runs
 * the algorithm there, and copies the output back. Collectives on one vector work in place there. In a
 * broadcast only the root copies to the host, and all others copy back. In a reduction only the root copies
 * back. The blocks of an alltoallv or allgatherv may leave gaps in the output. The library therefore copies
 * the output to the host first, so that copying it back preserves the gaps. */
static void build_staged(pto_builder_t *builder, const pto_request_t *request,
                         const pto_exchange_t *exchange) {
    bool in_place = pto_collective_is_vector(request->collective);
    pto_exchange_t host = *exchange;
    host.out = build_staging(builder, exchange->out, "library out");
    host.in = in_place ? host.out : build_staging(builder, exchange->in, "library in");
    bool from_root = pto_collective_is_from_root(request->collective);
    bool to_root = pto_collective_is_to_root(request->collective);
    build_staging_copy(builder, "library copies to host", exchange, 0, from_root ? 1 : exchange->n,
                       exchange->in, host.in);
    if (pto_collective_is_by_pair(request->collective) || pto_collective_is_by_owner(request->collective))
        build_staging_copy(builder, "library copies output to host", exchange, 0, exchange->n, exchange->out,
                           host.out);
    request->algorithm->build(builder, &host);
    build_staging_copy(builder, "library copies to device", exchange, from_root && in_place ? 1 : 0,
                       to_root ? 1 : exchange->n, host.out, exchange->out);
}

/* Builds the algorithm's stages. Algorithms on one vector work in place, on the output. */
static void build_unstaged(pto_builder_t *builder, const pto_request_t *request,
                           const pto_exchange_t *exchange) {
    pto_exchange_t in_place = *exchange;
    if (pto_collective_is_vector(request->collective) && exchange->in != exchange->out) {
        build_staging_copy(builder, "place input", exchange, 0, exchange->n, exchange->in, exchange->out);
        in_place.in = exchange->out;
    }
    request->algorithm->build(builder, &in_place);
}

/* Builds an algorithm's stages in a collective node. In a pipeline of chunks, and with a second pattern of
 * messages, the stages have no such node. Algorithms do not know about bundles: the builder makes all slices
 * that they build here count blocks in bundles. */
void pto_build_exchange(pto_builder_t *builder, const pto_request_t *request,
                        const pto_exchange_t *exchange) {
    bool on_gpu = pto_builder_buffer(builder, exchange->out)->space == PTO_SPACE_GPU;
    pto_exchange_t call = *exchange;
    if (request->collective == PTO_COLLECTIVE_HALO) { /* each of its phases has a collective node */
        request->algorithm->build(builder, exchange);
        return;
    }
    bool without_node = builder->chunks > 0 || pto_request_host_counts(request);
    bool has_two_buffers = request->by_library && request->collective == PTO_COLLECTIVE_ALLREDUCE;
    if (pto_collective_is_vector(request->collective) && !has_two_buffers)
        call.in = call.out; /* algorithms work in place */
    builder->bundle = exchange->bundle;
    if (without_node) {
        request->algorithm->build(builder, &call);
    } else {
        pto_build_collective(builder, &call, request->by_library ? PTO_DONE_BY_LIBRARY : PTO_DONE_BY_US);
        if (request->staged && on_gpu)
            build_staged(builder, request, &call);
        else
            build_unstaged(builder, request, &call);
        pto_build_end(builder);
    }
    builder->bundle = 0;
}

pto_slice_t pto_slice_all(const pto_builder_t *builder, int buffer) {
    int64_t blocks = pto_builder_buffer(builder, buffer)->block_count;
    if (builder->bundle > 1)
        blocks /= builder->bundle;
    return (pto_slice_t){.buffer = buffer,
                         .run = pto_constant(blocks),
                         .stride = pto_constant(blocks > 0 ? blocks : 1),
                         .until = pto_constant(blocks)};
}

pto_slice_t pto_slice_block(int buffer, pto_anchor_t anchor) {
    return (pto_slice_t){.buffer = buffer,
                         .anchor = anchor,
                         .run = pto_constant(1),
                         .stride = pto_constant(1),
                         .until = pto_constant(1)};
}

pto_slice_t pto_slice_part(int buffer, int64_t parts, pto_anchor_t anchor, pto_expr_t offset) {
    pto_slice_t slice = pto_slice_block(buffer, anchor);
    slice.parts = parts;
    slice.offset = offset;
    return slice;
}

pto_slice_t pto_slice_of_peer(pto_slice_t slice) {
    slice.holder = PTO_HOLDER_PEER;
    return slice;
}

pto_peers_t pto_peers_at(pto_expr_t distance, int64_t sign) {
    pto_expr_t until = distance;
    until.constant++;
    return (pto_peers_t){
        .kind = PTO_PEERS_SHIFT, .first = distance, .stride = pto_constant(1), .until = until, .sign = sign};
}

pto_step_t pto_step_of(pto_step_kind_t kind, const pto_exchange_t *exchange) {
    return (pto_step_t){.kind = kind,
                        .core_first = exchange->core_first,
                        .core_count = exchange->core_count,
                        .group = exchange->group,
                        .who_stride = pto_constant(1),
                        .who_until = pto_constant(exchange->n)};
}

/* Returns the bytes between two owners: those between the processes of `counts` that are placed there. */
static int64_t placed_bytes(const pto_request_t *request, const pto_counts_t *counts, int64_t source,
                            int64_t destination) {
    const pto_mapping_t *mapping = request->mapping;
    if (mapping && mapping->count > 0) {
        source = mapping->process[source];
        destination = mapping->process[destination];
    }
    return pto_counts_bytes(counts, request->bytes, source, destination);
}

int64_t pto_request_bytes(const pto_request_t *request, int64_t source, int64_t destination) {
    if (request->counts && pto_collective_is_by_owner(request->collective))
        destination = source;
    else if (!request->counts || !pto_collective_is_by_pair(request->collective))
        return request->bytes;
    return placed_bytes(request, request->counts, source, destination);
}

const pto_counts_t *pto_request_host_counts(const pto_request_t *request) {
    bool by_pair = request->counts && pto_collective_is_by_pair(request->collective);
    return by_pair ? request->counts->host : NULL;
}

int64_t pto_request_host_bytes(const pto_request_t *request, int64_t source, int64_t destination) {
    const pto_counts_t *counts = pto_request_host_counts(request);
    return counts ? placed_bytes(request, counts, source, destination) : 0;
}

/* --- checking requests ---------------------------------------------------------------------------------- */

static pto_status_t check_choices(const pto_request_t *request, pto_error_t *err) {
    const struct {
        unsigned value, count;
        const char *name;
    } choice[] = {{request->collective, PTO_COLLECTIVE_COUNT, "collective"},
                  {request->implementation, PTO_IMPLEMENTATION_COUNT, "implementation"},
                  {request->split, PTO_SPLIT_COUNT, "split"},
                  {request->datatype, PTO_DATATYPE_COUNT, "datatype"}};
    for (size_t i = 0; i < sizeof choice / sizeof *choice; i++)
        if (choice[i].value >= choice[i].count)
            return pto_error_set(err, PTO_ERR_RANGE, "%s %d is not one of the enumerators", choice[i].name,
                                 (int)choice[i].value);
    if (!request->strategy || !request->algorithm)
        return pto_error_set(err, PTO_ERR_RANGE, "the request names no %s",
                             request->strategy ? "algorithm" : "strategy");
    return PTO_OK;
}

int64_t pto_request_largest_bytes(const pto_request_t *request) {
    int64_t bytes = request->counts ? pto_counts_largest(request->counts, request->bytes) : 0;
    return bytes > request->bytes ? bytes : request->bytes;
}

double pto_request_mean_bytes(const pto_request_t *request) {
    int64_t owners = pto_layout_owner_count(&request->layout);
    double bytes = 0;
    for (int64_t i = 0; i < owners; i++)
        bytes += (double)pto_request_bytes(request, i, i);
    return bytes / (double)owners;
}

static pto_status_t check_sizes(const pto_request_t *request, pto_error_t *err) {
    const struct {
        int64_t value;
        const char *name;
    } size[] = {{request->bytes, "bytes"},
                {request->messages, "messages"},
                {request->unique_bytes, "unique_bytes"},
                {request->chunks, "chunks"},
                {request->segment_bytes, "segment_bytes"},
                {request->staged_members.in, "staged_members.in"},
                {request->staged_members.out, "staged_members.out"}};
    for (size_t i = 0; i < sizeof size / sizeof *size; i++)
        if (size[i].value < 0)
            return pto_error_set(err, PTO_ERR_RANGE, "%s must be 0 or more, not %lld", size[i].name,
                                 (long long)size[i].value);
    static const pto_counts_t equal = {.kind = PTO_COUNTS_EQUAL};
    const pto_counts_t *counts = request->counts ? request->counts : &equal;
    int64_t owners = pto_layout_owner_count(&request->layout), peers; /* peers: blocks of a process */
    pto_status_t status = pto_counts_check(counts, err);
    if (status != PTO_OK)
        return status;
    int64_t order = pto_counts_order(counts);
    const char *form = counts->kind == PTO_COUNTS_LIST ? "list" : "pattern";
    if (counts->kind == PTO_COUNTS_MATRIX)
        form = "matrix";
    if (order > 0 && order != owners)
        return pto_error_set(err, PTO_ERR_RANGE,
                             "the %s of bytes has %lld rows, but %lld processes hold data", form,
                             (long long)order, (long long)owners);
    if (request->collective == PTO_COLLECTIVE_MESSAGES)
        peers = request->messages;
    else if (request->collective == PTO_COLLECTIVE_HALO)
        peers = pto_halo_cells(&request->halo);
    else
        peers = pto_collective_blocks_in(request->collective, owners) * (counts->host ? 2 : 1);
    int64_t bytes = pto_request_largest_bytes(request);
    if (!pto_bytes_countable(bytes, peers, request->layout.gpus_per_node * request->layout.procs_per_gpu))
        return pto_error_set(err, PTO_ERR_RANGE,
                             "bytes: %lld on %lld nodes add up to more bytes than can be counted",
                             (long long)bytes, (long long)request->layout.nodes);
    return PTO_OK;
}

/* Checks that the placement is bound to the layout. pto_mapping_bind has checked that it is one-to-one. */
static pto_status_t check_mapping(const pto_request_t *request, pto_error_t *err) {
    const pto_mapping_t *mapping = request->mapping;
    int64_t owners = pto_layout_owner_count(&request->layout);
    if (!mapping || mapping->count == 0 || (mapping->process && mapping->count == owners))
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_RANGE, "the placement of %lld processes is not bound to %lld owners",
                         (long long)mapping->count, (long long)owners);
}

/* Checks the sizes of temporaries. An algorithm may need one with the data of all pairs of members, whose
 * bytes overflow although the user's buffers do not. */
static pto_status_t check_buffers(const pto_plan_t *plan, pto_error_t *err) {
    for (int b = 0; b < plan->buffers.count; b++) {
        const pto_buffer_t *buffer = pto_buffer_at(plan, b);
        if (!pto_bytes_countable(buffer->block_bytes, buffer->block_count, 1))
            return pto_error_set(
                err, PTO_ERR_NOT_APPLICABLE, "%s by %s needs a buffer '%s' of more bytes than can be counted",
                pto_collective_name(plan->request.collective), plan->request.algorithm->name, buffer->name);
    }
    return PTO_OK;
}

/* Builds the plan that is priced instead of this one (pto_plan_fixed). */
static pto_status_t create_fixed(pto_plan_t *plan, pto_error_t *err) {
    pto_request_t request = plan->request;
    request.strategy = request.strategy->fixed;
    return request.strategy ? pto_plan_create(&request, &plan->fixed, err) : PTO_OK;
}

static pto_status_t check_request(pto_request_t *request, pto_error_t *err) {
    pto_status_t status = check_choices(request, err);
    if (status == PTO_OK)
        status = pto_layout_check(&request->layout, err);
    if (status == PTO_OK && request->collective == PTO_COLLECTIVE_HALO)
        status = pto_halo_complete(&request->halo, pto_layout_owner_count(&request->layout), err);
    if (status == PTO_OK)
        status = check_sizes(request, err);
    if (status == PTO_OK)
        status = check_mapping(request, err);
    return status == PTO_OK ? pto_strategy_applicable(request, err) : status;
}

/* Builds the nodes of a plan whose request has been checked. */
static pto_status_t build_nodes(pto_plan_t *plan, pto_error_t *err) {
    const pto_request_t *request = &plan->request;
    pto_builder_t builder = {.plan = plan};
    request->strategy->build(&builder, request);
    if (builder.out_of_memory)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a plan");
    note_misuse(&builder, builder.open_count > 0, "does not end all nodes that it begins");
    if (!builder.misuse)
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_INVALID_PLAN, "%s by %s, %s: the strategy or the algorithm %s",
                         pto_collective_name(request->collective), request->strategy->name,
                         request->algorithm->name, builder.misuse);
}

static void free_nodes(pto_plan_t *plan) {
    free(plan->nodes.item);
    free(plan->calls.item);
    free(plan->stages.item);
    free(plan->steps.item);
    free(plan->buffers.item);
    free(plan->groups.item);
    free(plan->flags.item);
}

static void build_no_stage(pto_builder_t *builder, const pto_exchange_t *exchange) {
    (void)builder;
    (void)exchange;
}

bool pto_request_first_call(const pto_request_t *request, int64_t *procs, int64_t *bytes) {
    pto_plan_t outline = {.request = *request};
    if (check_request(&outline.request, NULL) != PTO_OK)
        return false;
    pto_algorithm_t stages_left_out = *request->algorithm;
    stages_left_out.build = build_no_stage;
    if (request->collective != PTO_COLLECTIVE_HALO) /* its algorithm builds the collective nodes itself */
        outline.request.algorithm = &stages_left_out;
    bool built = build_nodes(&outline, NULL) == PTO_OK;
    for (int n = 0; built && n < outline.nodes.count; n++) {
        const pto_node_t *node = pto_node_at(&outline, n);
        if (node->kind != PTO_NODE_COLLECTIVE)
            continue;
        const pto_action_t to_itself = {.rank = 0}; /* member 0, which is also its own peer */
        *procs = pto_group_at(&outline, node->group)->size;
        *bytes = pto_slice_bytes(&outline, &pto_plan_call(&outline, node->call)->in, &to_itself);
        break;
    }
    free_nodes(&outline);
    return built;
}

_Thread_local int64_t pto_plans_made;

pto_status_t pto_plan_create(const pto_request_t *request, pto_plan_t **plan, pto_error_t *err) {
    pto_request_t complete = *request;
    pto_status_t status = check_request(&complete, err);
    if (status != PTO_OK)
        return status;
    pto_plan_t *created = calloc(1, sizeof *created);
    if (!created)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a plan");
    pto_plans_made++;
    created->request = complete;
    status = build_nodes(created, err);
    if (status == PTO_OK)
        status = check_buffers(created, err);
    if (status == PTO_OK)
        status = pto_lanes_check(created, err);
    if (status == PTO_OK)
        status = create_fixed(created, err);
    if (status != PTO_OK) {
        pto_plan_destroy(created);
        return status;
    }
    *plan = created;
    return PTO_OK;
}

void pto_plan_destroy(pto_plan_t *plan) {
    if (!plan)
        return;
    pto_plan_destroy(plan->fixed);
    free_nodes(plan);
    free(plan);
}

const pto_plan_t *pto_plan_fixed(const pto_plan_t *plan) { return plan->fixed ? plan->fixed : plan; }
