/* Building blocks of the strategies (staging.h): user buffers, chunks, and shares of a GPU's processes. */
#include "staging.h"

static int64_t granularity_bytes(const pto_request_t *request) {
    int64_t element = pto_datatype_bytes(request->datatype);
    if (request->strategy->granularity_bytes > 0)
        return request->strategy->granularity_bytes;
    if (request->collective == PTO_COLLECTIVE_PAIR && request->strategy->chunked && request->strategy->direct)
        return pto_chunk_bytes(request->bytes, request->chunks);
    bool sizes_differ = request->counts && pto_counts_differ(request->counts);
    return sizes_differ || request->bytes % element ? 1 : element;
}

/* Returns the number of distinct messages: with unique_bytes, message j carries block j modulo this. */
static int64_t distinct_messages(const pto_request_t *request) {
    if (request->unique_bytes == 0 || request->bytes == 0)
        return request->messages;
    int64_t distinct = (request->unique_bytes - 1) / request->bytes + 1;
    return distinct < request->messages ? distinct : request->messages;
}

/* Builds the user's buffers, with blocks as the collective has them. `in_place`: pto_route_user_in_place. */
static pto_exchange_t build_user(pto_builder_t *builder, const pto_request_t *request, bool in_place) {
    int64_t owners = pto_layout_owner_count(&request->layout);
    pto_exchange_t user = {.group = pto_build_group(builder, PTO_GROUP_OWNERS, 0),
                           .n = owners,
                           .core_count = request->layout.owners_per_gpu};
    pto_buffer_t in = {.name = "in",
                       .role = PTO_ROLE_IN,
                       .space = request->layout.in_host ? PTO_SPACE_CPU : PTO_SPACE_GPU,
                       .core_count = request->layout.owners_per_gpu,
                       .group = PTO_GROUP_OWNERS,
                       .block_bytes = request->bytes,
                       .granularity_bytes = granularity_bytes(request)};
    pto_buffer_t out = in;
    out.name = "out";
    out.role = PTO_ROLE_OUT;
    if (request->collective == PTO_COLLECTIVE_HALO) {
        out.name = "field";
        out.block_count = pto_halo_cells(&request->halo);
        user.in = user.out = pto_build_buffer(builder, out);
        return user;
    }
    if (pto_collective_is_from_root(request->collective))
        in.held_stride = owners;
    bool others_need_vector = in_place && pto_collective_is_vector(request->collective);
    if (pto_collective_is_to_root(request->collective) && others_need_vector)
        out.user_stride = owners; /* `out` is the user's at the root, and a temporary at the others */
    else if (pto_collective_is_to_root(request->collective))
        out.held_stride = owners; /* only the root has an output */
    in.block_count = pto_collective_blocks_in(request->collective, owners);
    out.block_count = pto_collective_blocks_out(request->collective, owners);
    if (request->collective == PTO_COLLECTIVE_PAIR) {
        in.space = request->ends.from_host ? PTO_SPACE_CPU : PTO_SPACE_GPU;
        out.space = request->ends.to_host ? PTO_SPACE_CPU : PTO_SPACE_GPU;
        in.held_stride = out.held_stride = request->ends.both_ways ? 1 : 2;
        out.held_first = request->ends.both_ways ? 0 : 1;
    } else if (request->collective == PTO_COLLECTIVE_MESSAGES) {
        in.block_count = distinct_messages(request);
        out.block_count = request->messages;
    } else if (request->counts && request->counts->kind != PTO_COUNTS_EQUAL) {
        in.blocks = PTO_BLOCKS_ROW;
        out.blocks = PTO_BLOCKS_COLUMN;
    }
    user.in = pto_build_buffer(builder, in);
    user.out = pto_build_buffer(builder, out);
    return user;
}

pto_exchange_t pto_route_user(pto_builder_t *builder, const pto_request_t *request) {
    return build_user(builder, request, false);
}

pto_exchange_t pto_route_user_in_place(pto_builder_t *builder, const pto_request_t *request) {
    return build_user(builder, request, true);
}

pto_status_t pto_route_refuse(const pto_request_t *request, const char *reason, pto_error_t *err) {
    return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "%s %s", request->strategy->name, reason);
}

void pto_route_pair_copy(pto_builder_t *builder, const char *name, pto_step_t step, pto_slice_t source,
                         pto_slice_t target) {
    if (source.holder != PTO_HOLDER_PEER && target.holder != PTO_HOLDER_PEER)
        step.peers = (pto_peers_t){.kind = PTO_PEERS_NONE};
    pto_build_local(builder, name, step, source, target);
}

/* Maximum number of chunks in progress: enough that no stage of a pipeline of three or four waits for a slot,
 * and few enough that the slots stay in the CPU's cache. */
enum { SLOTS = 4 };

/* Returns the number of chunks of a pipeline of the strategy; 1 if the algorithm divides the data itself. */
static int64_t chunk_count(const pto_request_t *request, const pto_buffer_t *buffer) {
    int64_t bytes =
        buffer->blocks == PTO_BLOCKS_EQUAL ? buffer->block_bytes : pto_request_largest_bytes(request);
    if (request->chunks <= 1 || !request->strategy->chunked || request->strategy->direct ||
        pto_request_cuts_inside(request))
        return 1;
    if (buffer->split > 1)
        bytes = pto_share_bytes(bytes, buffer->granularity_bytes, buffer->split, 0);
    return pto_chunk_count(bytes, request->chunks);
}

int64_t pto_route_chunk_count(const pto_builder_t *builder, const pto_request_t *request, int buffer) {
    return chunk_count(request, pto_builder_buffer(builder, buffer));
}

/* Makes a buffer hold only the chunks in progress, if its blocks are equal and not dealt out cyclically. */
static void set_slots(pto_buffer_t *buffer, int64_t chunks) {
    if (chunks <= 1 || buffer->blocks != PTO_BLOCKS_EQUAL || buffer->cyclic != PTO_CYCLIC_NONE)
        return;
    buffer->chunks = chunks;
    buffer->slots = chunks < SLOTS ? chunks : SLOTS;
}

int pto_route_staging(pto_builder_t *builder, int buffer, const char *name, int64_t chunks) {
    pto_buffer_t staging = pto_temporary_like(builder, buffer, name);
    set_slots(&staging, chunks);
    staging.space = PTO_SPACE_CPU;
    return pto_build_buffer(builder, staging);
}

void pto_route_chunks(pto_builder_t *builder, int64_t chunks) {
    if (chunks > 1)
        pto_build_chunks(builder, chunks, chunks < SLOTS ? chunks : SLOTS);
}

void pto_route_end_chunks(pto_builder_t *builder, int64_t chunks) {
    if (chunks > 1)
        pto_build_end(builder);
}

/* Builds a buffer for a process's share of `whole`; with several chunks, for those in progress. */
static int build_share(pto_builder_t *builder, const pto_request_t *request, pto_shares_t *shares, int whole,
                       const char *name, pto_cyclic_t cyclic) {
    pto_buffer_t share = pto_temporary_like(builder, whole, name);
    share.space = PTO_SPACE_CPU;
    share.core_count = shares->count;
    share.group = PTO_GROUP_CORES;
    if (shares->cyclic) {
        share.cyclic = cyclic;
        share.cyclic_count = shares->count;
    } else {
        share.split = shares->count;
    }
    shares->chunks = chunk_count(request, &share);
    set_slots(&share, shares->chunks);
    return pto_build_buffer(builder, share);
}

pto_shares_t pto_route_shares(pto_builder_t *builder, const pto_request_t *request,
                              const pto_exchange_t *user) {
    int cores = pto_build_group(builder, PTO_GROUP_CORES, 0),
        gpu = pto_build_group(builder, PTO_GROUP_GPU, 0);
    int64_t count = request->layout.procs_per_gpu;
    bool cyclic = request->split == PTO_SPLIT_DESTINATIONS;
    pto_shares_t shares = {.members = {.group = cores,
                                       .n = pto_builder_group(builder, cores)->size,
                                       .core_count = count,
                                       .cyclic_count = cyclic ? count : 0},
                           .gpu = gpu,
                           .count = count,
                           .cyclic = cyclic};
    bool messages = request->collective == PTO_COLLECTIVE_MESSAGES;
    shares.members.in = build_share(builder, request, &shares, user->in, "share",
                                    messages ? PTO_CYCLIC_ORDINAL : PTO_CYCLIC_FORWARD);
    shares.members.out = shares.members.in;
    if (request->collective != PTO_COLLECTIVE_ALLREDUCE && user->in != user->out)
        shares.members.out = build_share(builder, request, &shares, user->out, "share out",
                                         messages ? PTO_CYCLIC_ORDINAL : PTO_CYCLIC_BACKWARD);
    return shares;
}

/* Returns the blocks of `buffer` whose destinations belong to `core`, by increasing distance (pto_cyclic_t).
 * `shared`: the share buffer, which says in which direction distances count. */
static pto_slice_t cyclic_blocks(const pto_builder_t *builder, const pto_shares_t *shares, int buffer,
                                 int shared, pto_expr_t core) {
    pto_cyclic_t cyclic = pto_builder_buffer(builder, shared)->cyclic;
    return (pto_slice_t){.buffer = buffer,
                         .anchor = cyclic == PTO_CYCLIC_ORDINAL ? PTO_ANCHOR_ABSOLUTE : PTO_ANCHOR_HOLDER,
                         .first = core,
                         .run = pto_constant(1),
                         .stride = pto_constant(shares->count),
                         .until = pto_constant(pto_builder_buffer(builder, shared)->block_count),
                         .reversed = cyclic == PTO_CYCLIC_BACKWARD};
}

pto_slice_t pto_route_share_in_whole(const pto_builder_t *builder, const pto_shares_t *shares, int whole,
                                     int shared, pto_share_t whose) {
    pto_slice_t slice;
    if (shares->cyclic) {
        pto_expr_t core = whose == PTO_SHARE_MINE ? (pto_expr_t){.core = 1} : (pto_expr_t){.peer = 1};
        slice = cyclic_blocks(builder, shares, whole, shared, core);
    } else {
        slice = pto_slice_all(builder, whole);
        slice.share = whose;
        slice.share_count = shares->count;
    }
    return slice;
}

pto_slice_t pto_route_share(const pto_builder_t *builder, const pto_shares_t *shares, int shared) {
    if (shares->cyclic)
        return cyclic_blocks(builder, shares, shared, shared, (pto_expr_t){.core = 1});
    return pto_slice_all(builder, shared);
}

pto_slice_t pto_route_owners_share(const pto_builder_t *builder, const pto_shares_t *shares, int whole,
                                   int shared) {
    pto_slice_t slice = pto_route_share_in_whole(builder, shares, whole, shared, PTO_SHARE_MINE);
    slice.holder = PTO_HOLDER_OWNER;
    return slice;
}

pto_step_t pto_route_owner_step(pto_step_kind_t kind, int gpu, int64_t count) {
    pto_exchange_t owner = {.group = gpu, .n = count, .core_count = 1};
    pto_step_t step = pto_step_of(kind, &owner);
    step.peers = (pto_peers_t){.kind = PTO_PEERS_INDEX,
                               .first = pto_constant(1),
                               .stride = pto_constant(1),
                               .until = pto_constant(count)};
    return step;
}

pto_step_t pto_route_helpers_step(pto_step_kind_t kind, int gpu, int64_t count) {
    pto_exchange_t helpers = {.group = gpu, .n = count, .core_first = 1, .core_count = count - 1};
    pto_step_t step = pto_step_of(kind, &helpers);
    step.peers = (pto_peers_t){.kind = PTO_PEERS_INDEX, .stride = pto_constant(1), .until = pto_constant(1)};
    return step;
}

void pto_route_signal(pto_builder_t *builder, int gpu, const char *name, bool to_owner) {
    int64_t count = pto_builder_request(builder)->layout.procs_per_gpu;
    pto_step_t owner = pto_route_owner_step(PTO_STEP_SIGNAL, gpu, count);
    pto_step_t others = pto_route_helpers_step(PTO_STEP_SIGNAL, gpu, count);
    pto_intranode_flag(builder, name, to_owner ? others : owner, to_owner ? owner : others);
}
