/* The bytes of a plan's slices: shares, blocks, parts, and their offsets in a holder's buffer. */
#include "plan/plan_internal.h"

/* --- blocks --------------------------------------------------------------------------------------------- */

bool pto_blocks_are_of_pairs(pto_blocks_t blocks) {
    return blocks == PTO_BLOCKS_ROW || blocks == PTO_BLOCKS_COLUMN || blocks == PTO_BLOCKS_RAIL ||
           blocks == PTO_BLOCKS_NODE_ROW || blocks == PTO_BLOCKS_NODE_COLUMN;
}

bool pto_buffer_is_skewed(const pto_plan_t *plan, const pto_buffer_t *buffer, pto_skew_t *skew) {
    const pto_request_t *request = &plan->request;
    if (!pto_blocks_are_of_pairs(buffer->blocks) || !request->counts ||
        request->counts->kind != PTO_COUNTS_SKEW || pto_role_is_host(buffer->role) ||
        !pto_collective_is_by_pair(request->collective) || (request->mapping && request->mapping->count > 0))
        return false;
    *skew = pto_skew_of(request->counts, request->bytes);
    return true;
}

pto_held_t pto_held_by(const pto_plan_t *plan, int buffer_index, int64_t rank) {
    const pto_buffer_t *buffer = pto_plan_buffer(plan, buffer_index);
    const pto_layout_t *layout = &plan->request.layout;
    pto_group_t group = {.kind = buffer->group};
    pto_held_t
        holder; /* set one by one: prices make millions, and zeroing them first takes most of the time */
    holder.plan = plan;
    holder.buffer = buffer;
    holder.place = pto_layout_rank(layout, rank);
    holder.core = holder.place.core;
    holder.index = pto_group_index_at(layout, &group, holder.place);
    holder.members = 0;
    holder.known_block = 0;
    holder.known_offset = 0;
    holder.offsets = NULL;
    if (buffer->cyclic != PTO_CYCLIC_NONE || buffer->blocks == PTO_BLOCKS_SHARE ||
        buffer->blocks == PTO_BLOCKS_ROTATED)
        holder.members = pto_group_shape(layout, buffer->group).size;
    holder.is_skewed = pto_buffer_is_skewed(plan, buffer, &holder.skew);
    return holder;
}

/* Distance by which a block is cyclic to a core. */
static int64_t deal_distance(const pto_held_t *holder, int64_t block) {
    if (holder->buffer->cyclic == PTO_CYCLIC_ORDINAL)
        return block;
    int64_t ahead = block - holder->index;
    return pto_floor_mod(holder->buffer->cyclic == PTO_CYCLIC_FORWARD ? ahead : -ahead, holder->members);
}

static int64_t pair_bytes(const pto_held_t *holder, int64_t source, int64_t destination) {
    return holder->is_skewed ? pto_skew_bytes(&holder->skew, source, destination)
                             : pto_request_bytes(&holder->plan->request, source, destination);
}

/* Blocks between the processes of the holder's node and those of others, numbered by node and place. */
static int64_t node_block_bytes(const pto_held_t *holder, int64_t block) {
    const pto_request_t *request = &holder->plan->request;
    int64_t owners = request->layout.owners_per_gpu;
    int64_t members = request->layout.gpus_per_node * owners;
    int64_t home = holder->place.node * members, place = holder->place.gpu * owners + holder->place.core;
    pto_blocks_t blocks = holder->buffer->blocks;
    if (blocks == PTO_BLOCKS_RAIL)
        return pair_bytes(holder, home + block % members, block / members * members + place);
    int64_t i = block / members % members, j = block % members;
    int64_t other = block / (members * members) * members;
    bool sending = blocks == PTO_BLOCKS_NODE_ROW;
    return pair_bytes(holder, (sending ? home : other) + i, (sending ? other : home) + j);
}

/* Returns the bytes of the block of a group's member in an allgatherv; the member may stand for its whole
 * node. */
static int64_t members_block_bytes(const pto_held_t *holder, int64_t block) {
    const pto_request_t *request = &holder->plan->request;
    const pto_layout_t *layout = &request->layout;
    int64_t blocks = holder->buffer->block_count, per_node = layout->gpus_per_node * layout->owners_per_gpu;
    int64_t place = holder->place.gpu * layout->owners_per_gpu + holder->place.core, owner = block;
    if (holder->buffer->blocks == PTO_BLOCKS_ROTATED)
        owner = (blocks / holder->members * holder->index + block) % blocks;
    if (holder->buffer->group == PTO_GROUP_RAIL)
        owner = owner * per_node + place;
    else if (holder->buffer->group == PTO_GROUP_NODE_OWNERS)
        owner += holder->place.node * per_node;
    return pto_request_bytes(request, owner, owner);
}

/* Returns the bytes of a block before splitting and dealing. */
static int64_t whole_block_bytes(const pto_held_t *holder, int64_t block) {
    const pto_request_t *request = &holder->plan->request;
    int64_t (*of_pattern)(const pto_request_t *, int64_t, int64_t) =
        pto_role_is_host(holder->buffer->role) ? pto_request_host_bytes : pto_request_bytes;
    switch (holder->buffer->blocks) {
    case PTO_BLOCKS_RAIL:
    case PTO_BLOCKS_NODE_ROW:
    case PTO_BLOCKS_NODE_COLUMN:
        return node_block_bytes(holder, block);
    case PTO_BLOCKS_ROW:
        return holder->is_skewed ? pto_skew_bytes(&holder->skew, holder->index, block)
                                 : of_pattern(request, holder->index, block);
    case PTO_BLOCKS_COLUMN:
        return holder->is_skewed ? pto_skew_bytes(&holder->skew, block, holder->index)
                                 : of_pattern(request, block, holder->index);
    case PTO_BLOCKS_MEMBERS:
    case PTO_BLOCKS_ROTATED:
        return members_block_bytes(holder, block);
    case PTO_BLOCKS_SHARE:
        return pto_share_bytes(holder->buffer->block_bytes, holder->buffer->granularity_bytes,
                               holder->members, holder->index);
    case PTO_BLOCKS_EQUAL:
    case PTO_BLOCKS_COUNT:
        break;
    }
    return holder->buffer->block_bytes;
}

int64_t pto_held_block_bytes(const pto_held_t *holder, int64_t block) {
    const pto_buffer_t *buffer = holder->buffer;
    if (buffer->cyclic != PTO_CYCLIC_NONE &&
        deal_distance(holder, block) % buffer->cyclic_count != holder->core)
        return 0;
    int64_t whole = whole_block_bytes(holder, block);
    return buffer->split > 1 ? pto_share_bytes(whole, buffer->granularity_bytes, buffer->split, holder->core)
                             : whole;
}

/* Blocks of a table are contiguous, so a block's offset is the sum of the sizes before it. */
static int64_t table_offset(pto_held_t *holder, int64_t block) {
    const pto_buffer_t *buffer = holder->buffer;
    if (holder->offsets)
        return holder->offsets[block];
    if (buffer->cyclic == PTO_CYCLIC_NONE) {
        if (block < holder->known_block)
            holder->known_block = holder->known_offset = 0;
        for (; holder->known_block < block; holder->known_block++)
            holder->known_offset += pto_held_block_bytes(holder, holder->known_block);
        return holder->known_offset;
    }
    int64_t offset = 0;
    int64_t sign = buffer->cyclic == PTO_CYCLIC_BACKWARD ? -1 : 1;
    int64_t distance = deal_distance(holder, block), members = holder->members;
    for (int64_t d = holder->core; d < distance; d += buffer->cyclic_count)
        offset += pto_held_block_bytes(holder, pto_floor_mod(holder->index + sign * d, members));
    return offset;
}

static pto_extent_t block_extent(pto_held_t *holder, int64_t block) {
    const pto_buffer_t *buffer = holder->buffer;
    pto_extent_t extent = {.bytes = pto_held_block_bytes(holder, block)};
    if (extent.bytes == 0)
        return extent;
    if (pto_blocks_are_table(buffer))
        extent.offset_bytes = table_offset(holder, block);
    else if (buffer->cyclic != PTO_CYCLIC_NONE)
        extent.offset_bytes = deal_distance(holder, block) / buffer->cyclic_count * extent.bytes;
    else
        extent.offset_bytes = block * extent.bytes;
    return extent;
}

/* Consecutive blocks of a buffer that is not dealt out. */
static pto_extent_t bundle_extent(pto_held_t *holder, int64_t first, int64_t count) {
    bool equal = !pto_blocks_are_table(holder->buffer);
    pto_extent_t extent = {.bytes = pto_held_block_bytes(holder, first)};
    extent.offset_bytes = equal ? first * extent.bytes : table_offset(holder, first);
    if (equal)
        extent.bytes *= count;
    for (int64_t i = 1; i < count && !equal; i++)
        extent.bytes += pto_held_block_bytes(holder, first + i);
    return extent;
}

static bool is_held(const pto_held_t *holder) {
    const pto_buffer_t *buffer = holder->buffer;
    return holder->index >= 0 && holder->core >= buffer->core_first &&
           holder->core < buffer->core_first + buffer->core_count &&
           (buffer->held_stride <= 1 || holder->index % buffer->held_stride == buffer->held_first);
}

bool pto_buffer_holds(const pto_plan_t *plan, int buffer, int64_t rank) {
    pto_held_t holder = pto_held_by(plan, buffer, rank);
    return is_held(&holder);
}

static bool is_users(const pto_held_t *holder) {
    int64_t stride = holder->buffer->user_stride;
    return holder->buffer->role != PTO_ROLE_TEMPORARY && is_held(holder) &&
           (stride <= 1 || holder->index % stride == 0);
}

bool pto_buffer_is_users(const pto_plan_t *plan, int buffer, int64_t rank) {
    pto_held_t holder = pto_held_by(plan, buffer, rank);
    return is_users(&holder);
}

_Thread_local int64_t pto_blocks_summed;

/* If blocks are dealt out by distance, only those that the holder has are visited. */
static int64_t all_blocks_bytes(const pto_held_t *holder) {
    const pto_buffer_t *buffer = holder->buffer;
    int64_t members = holder->members, total = 0;                                /* 0 if none are dealt out */
    if (buffer->blocks == PTO_BLOCKS_SHARE && buffer->cyclic == PTO_CYCLIC_NONE) /* all alike */
        return buffer->block_count * pto_held_block_bytes(holder, 0);
    bool by_distance = buffer->cyclic == PTO_CYCLIC_FORWARD || buffer->cyclic == PTO_CYCLIC_BACKWARD;
    if (!by_distance || buffer->block_count != members) {
        pto_blocks_summed += buffer->block_count;
        for (int64_t block = 0; block < buffer->block_count; block++)
            total += pto_held_block_bytes(holder, block);
        return total;
    }
    int64_t sign = buffer->cyclic == PTO_CYCLIC_BACKWARD ? -1 : 1;
    pto_blocks_summed += members / buffer->cyclic_count;
    for (int64_t d = holder->core; d < members; d += buffer->cyclic_count)
        total += pto_held_block_bytes(holder, pto_floor_mod(holder->index + sign * d, members));
    return total;
}

static int64_t held_bytes(const pto_held_t *holder) {
    const pto_buffer_t *buffer = holder->buffer;
    if (!is_held(holder))
        return 0;
    if (buffer->blocks != PTO_BLOCKS_EQUAL)
        return all_blocks_bytes(holder);
    int64_t mine = buffer->block_bytes;
    if (buffer->split > 1)
        mine = pto_share_bytes(mine, buffer->granularity_bytes, buffer->split, holder->core);
    int64_t held = buffer->block_count;
    if (buffer->chunks > 0)
        mine = buffer->slots * pto_chunk_bytes(mine, buffer->chunks);
    if (buffer->cyclic != PTO_CYCLIC_NONE)
        held = holder->core < held ? (held - holder->core - 1) / buffer->cyclic_count + 1 : 0;
    return held * mine;
}

int64_t pto_buffer_bytes(const pto_plan_t *plan, int buffer, int64_t rank) {
    pto_held_t holder = pto_held_by(plan, buffer, rank);
    return held_bytes(&holder);
}

int64_t pto_buffer_temporary_bytes(const pto_plan_t *plan, int buffer, int64_t rank) {
    pto_held_t holder = pto_held_by(plan, buffer, rank);
    return is_users(&holder) ? 0 : held_bytes(&holder);
}

/* --- slices --------------------------------------------------------------------------------------------- */

int64_t pto_slice_holder(const pto_plan_t *plan, const pto_slice_t *slice, const pto_action_t *action) {
    (void)plan;
    switch (slice->holder) {
    case PTO_HOLDER_OWNER:
        return action->rank - action->core;
    case PTO_HOLDER_PEER:
        return action->peer_rank;
    case PTO_HOLDER_SELF:
    case PTO_HOLDER_COUNT:
        break;
    }
    return action->rank;
}

static int64_t reversed_bits(int64_t value, int64_t bits) {
    int64_t reversed = 0;
    for (int64_t bit = 0; bit < bits; bit++)
        reversed |= ((value >> bit) & 1) << (bits - 1 - bit);
    return reversed;
}

static int64_t slice_base(const pto_slice_t *slice, const pto_action_t *action, const pto_held_t *holder) {
    int64_t base = 0;
    switch (slice->anchor) {
    case PTO_ANCHOR_ABSOLUTE:
    case PTO_ANCHOR_COUNT:
        break;
    case PTO_ANCHOR_ME:
        base = action->me;
        break;
    case PTO_ANCHOR_PEER:
        base = action->peer;
        break;
    case PTO_ANCHOR_HOLDER:
        base = holder->index;
        break;
    case PTO_ANCHOR_ORDINAL:
        base = action->ordinal;
        break;
    }
    if (slice->reverse_bits > 0)
        base = reversed_bits(base, slice->reverse_bits);
    if (slice->anchor_step > 1)
        base *= slice->anchor_step;
    base += pto_expr_at(&slice->offset, action->k, action->core, action->peer);
    int64_t align = pto_expr_at(&slice->align, action->k, action->core, action->peer);
    return align > 0 ? base - pto_floor_mod(base, align) : base;
}

int64_t pto_slice_block_count(const pto_slice_t *slice, int64_t k, int64_t core, int64_t peer) {
    int64_t first = pto_expr_at(&slice->first, k, core, peer);
    int64_t until = pto_expr_at(&slice->until, k, core, peer);
    if (first >= until)
        return 0;
    int64_t run = pto_expr_at(&slice->run, k, core, peer);
    int64_t stride = pto_expr_at(&slice->stride, k, core, peer);
    return pto_run_values(first, run, stride, until) * (slice->repeat > 1 ? slice->repeat : 1);
}

/* Cut a slice's share out of a block. */
static pto_extent_t share_of_block(const pto_slice_t *slice, const pto_action_t *action,
                                   const pto_held_t *holder, pto_extent_t extent) {
    if (slice->share == PTO_SHARE_ALL)
        return extent;
    int64_t cores = holder->plan->request.layout.procs_per_gpu;
    int64_t k = slice->share == PTO_SHARE_MINE ? action->core : action->peer_rank % cores;
    int64_t grain = holder->buffer->granularity_bytes;
    return (pto_extent_t){.offset_bytes = extent.offset_bytes +
                                          pto_share_offset(extent.bytes, grain, slice->share_count, k),
                          .bytes = pto_share_bytes(extent.bytes, grain, slice->share_count, k)};
}

/* Cut a slice's share and its chunk out of a block; a part is one of the share already. */
static pto_extent_t piece_of_block(const pto_slice_t *slice, const pto_action_t *action,
                                   const pto_held_t *holder, pto_extent_t extent) {
    const pto_buffer_t *buffer = holder->buffer;
    pto_extent_t piece = slice->parts > 0 ? extent : share_of_block(slice, action, holder, extent);
    if (slice->chunks <= 1)
        return piece;
    pto_extent_t chunk = {.offset_bytes =
                              piece.offset_bytes + action->k * pto_chunk_bytes(piece.bytes, slice->chunks),
                          .bytes = pto_chunk_bytes_at(piece.bytes, slice->chunks, action->k)};
    if (buffer->chunks > 0 && extent.bytes > 0) {
        int64_t slot = action->k % buffer->slots, block = extent.offset_bytes / extent.bytes;
        chunk.offset_bytes =
            (slot * buffer->block_count + block) * pto_chunk_bytes(extent.bytes, buffer->chunks);
    }
    return chunk;
}

/* Merges adjacent ranges on their way to the caller's visitor. */
typedef struct {
    pto_range_visit_t visit;
    void *context;
    pto_extent_t pending;
    bool stopped;
} merger_t;

static void merger_add(merger_t *merger, pto_extent_t extent) {
    if (extent.bytes == 0 || merger->stopped)
        return;
    if (merger->pending.bytes > 0) {
        if (merger->pending.offset_bytes + merger->pending.bytes == extent.offset_bytes) {
            merger->pending.bytes += extent.bytes;
            return;
        }
        merger->stopped =
            !merger->visit(merger->context, merger->pending.offset_bytes, merger->pending.bytes);
    }
    merger->pending = extent;
}

/* Returns how many indices a slice counts modulo; not for parts. */
static int64_t index_count(const pto_slice_t *slice, const pto_held_t *holder) {
    return holder->buffer->block_count / (slice->bundle > 1 ? slice->bundle : 1) - slice->fold;
}

/* Returns the buffer's first block for an index from 0 to index_count. */
static int64_t first_block(const pto_slice_t *slice, int64_t index) {
    if (slice->fold > 0)
        return index < slice->fold ? 2 * index : index + slice->fold;
    return slice->bundle > 1 ? index * slice->bundle : index;
}

/* The consecutive blocks of an index. */
typedef struct {
    int64_t first;
    int64_t count;
} block_run_t;

static block_run_t indexed_blocks(const pto_slice_t *slice, const pto_held_t *holder, int64_t index) {
    int64_t at = pto_floor_mod(index, index_count(slice, holder)), first = first_block(slice, at);
    return (block_run_t){first, first_block(slice, at + 1) - first};
}

static pto_extent_t indexed_extent(const pto_slice_t *slice, const pto_action_t *action, pto_held_t *holder,
                                   int64_t index) {
    if (slice->parts == 0) {
        block_run_t blocks = indexed_blocks(slice, holder, index);
        return blocks.count == 1 ? block_extent(holder, blocks.first)
                                 : bundle_extent(holder, blocks.first, blocks.count);
    }
    int64_t place = pto_floor_mod(index, slice->parts * holder->buffer->block_count);
    pto_extent_t whole = share_of_block(slice, action, holder, block_extent(holder, place / slice->parts));
    int64_t grain = holder->buffer->granularity_bytes, part = place % slice->parts;
    return (pto_extent_t){.offset_bytes =
                              whole.offset_bytes + pto_share_offset(whole.bytes, grain, slice->parts, part),
                          .bytes = pto_share_bytes(whole.bytes, grain, slice->parts, part)};
}

/* Returns whether all of a slice's blocks are whole and of equal size, so that they need no walk. */
static bool is_uniform(const pto_slice_t *slice, const pto_buffer_t *buffer) {
    return buffer->blocks == PTO_BLOCKS_EQUAL && buffer->cyclic == PTO_CYCLIC_NONE && slice->parts == 0 &&
           slice->share == PTO_SHARE_ALL && slice->chunks <= 1;
}

/* Consecutive indices of a uniform slice are one range, or several where they wrap around. */
static void add_uniform(merger_t *merger, const pto_slice_t *slice, const pto_held_t *holder, int64_t index,
                        int64_t count) {
    int64_t indices = index_count(slice, holder), bytes = pto_held_block_bytes(holder, 0);
    for (int64_t at = pto_floor_mod(index, indices); count > 0; at = 0) {
        int64_t ahead = count < indices - at ? count : indices - at, first = first_block(slice, at);
        int64_t blocks = first_block(slice, at + ahead) - first;
        merger_add(merger, (pto_extent_t){.offset_bytes = first * bytes, .bytes = blocks * bytes});
        count -= ahead;
    }
}

void pto_slice_visit(const pto_plan_t *plan, const pto_slice_t *slice, const pto_action_t *action,
                     pto_range_visit_t visit, void *context) {
    pto_slice_visit_by(plan, NULL, slice, action, visit, context);
}

void pto_slice_visit_by(const pto_plan_t *plan, const pto_offsets_t *offsets, const pto_slice_t *slice,
                        const pto_action_t *action, pto_range_visit_t visit, void *context) {
    pto_slice_t cells;
    if (slice->cells != PTO_CELLS_NONE) {
        cells = pto_slice_in_grid(plan, slice, action);
        slice = &cells;
    }
    int64_t rank = pto_slice_holder(plan, slice, action);
    pto_held_t holder = pto_held_by(plan, slice->buffer, rank);
    if (offsets && offsets->rank == rank)
        holder.offsets = offsets->of[slice->buffer];
    merger_t merger = {.visit = visit, .context = context};
    bool uniform = is_uniform(slice, holder.buffer) && !slice->reversed;
    int64_t base = slice_base(slice, action, &holder);
    int64_t until = pto_expr_at(&slice->until, action->k, action->core, action->peer);
    int64_t run = pto_expr_at(&slice->run, action->k, action->core, action->peer);
    int64_t stride = pto_expr_at(&slice->stride, action->k, action->core, action->peer);
    int64_t from = pto_expr_at(&slice->first, action->k, action->core, action->peer);
    int64_t times = slice->repeat > 1 ? slice->repeat : 1;
    if (until == from + 1 && run > 0 && times == 1 && !uniform) {
        pto_extent_t extent =
            indexed_extent(slice, action, &holder, slice->reversed ? base - from : base + from);
        extent = piece_of_block(slice, action, &holder, extent);
        if (extent.bytes != 0)
            visit(context, extent.offset_bytes, extent.bytes);
        return;
    }
    for (int64_t repeated = 0; repeated < times; repeated++, base += slice->repeat_stride)
        for (int64_t first = from; first < until && !merger.stopped; first += stride) {
            int64_t end = run < until - first ? first + run : until;
            if (uniform && run > 0)
                add_uniform(&merger, slice, &holder, base + first, end - first);
            for (int64_t w = first; w < end && !uniform && !merger.stopped; w++) {
                pto_extent_t extent =
                    indexed_extent(slice, action, &holder, slice->reversed ? base - w : base + w);
                merger_add(&merger, piece_of_block(slice, action, &holder, extent));
            }
        }
    if (merger.pending.bytes > 0 && !merger.stopped)
        visit(context, merger.pending.offset_bytes, merger.pending.bytes);
}

/* Returns the bytes of the parts of consecutive indices, which may wrap around: in each block, those of a
 * range. */
static int64_t parts_bytes(const pto_slice_t *slice, const pto_action_t *action, const pto_held_t *held,
                           int64_t index, int64_t count) {
    int64_t parts = slice->parts, indices = parts * held->buffer->block_count, total = 0;
    for (int64_t at = pto_floor_mod(index, indices), ahead; count > 0; count -= ahead) {
        int64_t block = at / parts, part = at % parts, grain = held->buffer->granularity_bytes;
        pto_extent_t whole = {.bytes = pto_held_block_bytes(held, block)};
        int64_t bytes = share_of_block(slice, action, held, whole).bytes;
        pto_blocks_summed++;
        ahead = count < parts - part ? count : parts - part;
        total +=
            pto_share_offset(bytes, grain, parts, part + ahead) - pto_share_offset(bytes, grain, parts, part);
        at = (at + ahead) % indices;
    }
    return total;
}

/* Returns the bytes of the blocks of an index, or of the slice's share or chunk of them. */
static int64_t indexed_bytes(const pto_slice_t *slice, const pto_action_t *action, pto_held_t *held,
                             int64_t index) {
    pto_extent_t extent = {0};
    block_run_t blocks = {0, 0};
    if (slice->parts > 0)
        extent.bytes = parts_bytes(slice, action, held, index, 1);
    else
        blocks = indexed_blocks(slice, held, index);
    for (int64_t i = 0; i < blocks.count; i++)
        extent.bytes += pto_held_block_bytes(held, blocks.first + i);
    return piece_of_block(slice, action, held, extent).bytes;
}

static bool is_always(const pto_expr_t *expr, int64_t constant) {
    return expr->constant == constant && pto_expr_is_constant(expr);
}

bool pto_slice_is_peers_block(const pto_slice_t *slice) {
    return slice->anchor == PTO_ANCHOR_PEER && slice->parts == 0 && slice->share == PTO_SHARE_ALL &&
           slice->chunks <= 1 && slice->bundle <= 1 && slice->fold == 0 && slice->reverse_bits == 0 &&
           is_always(&slice->offset, 0) && is_always(&slice->align, 0) && is_always(&slice->first, 0) &&
           is_always(&slice->until, 1) && is_always(&slice->run, 1);
}

/* The blocks of consecutive indices, which may wrap around. */
static int64_t blocks_from(const pto_slice_t *slice, const pto_held_t *held, int64_t index, int64_t count) {
    int64_t indices = index_count(slice, held), blocks = 0;
    for (int64_t at = pto_floor_mod(index, indices); count > 0; at = 0) {
        int64_t ahead = count < indices - at ? count : indices - at;
        blocks += first_block(slice, at + ahead) - first_block(slice, at);
        count -= ahead;
    }
    return blocks;
}

/* Omits the offsets, which would cost an additional walk for a table. */
int64_t pto_held_slice_bytes(const pto_slice_t *slice, const pto_action_t *action, pto_held_t *held) {
    const pto_buffer_t *buffer = held->buffer;
    int64_t bundle = slice->bundle > 1 ? slice->bundle : 1;
    if (is_uniform(slice, buffer) && slice->fold == 0)
        return pto_slice_block_count(slice, action->k, action->core, action->peer) * bundle *
               pto_held_block_bytes(held, 0);
    int64_t base = slice_base(slice, action, held);
    int64_t until = pto_expr_at(&slice->until, action->k, action->core, action->peer);
    int64_t run = pto_expr_at(&slice->run, action->k, action->core, action->peer);
    int64_t stride = pto_expr_at(&slice->stride, action->k, action->core, action->peer);
    int64_t first = pto_expr_at(&slice->first, action->k, action->core, action->peer);
    bool every_block = slice->parts == 0 && slice->share == PTO_SHARE_ALL && slice->chunks <= 1 &&
                       run == until - first && run * bundle == buffer->block_count && slice->fold == 0;
    if (every_block)
        return all_blocks_bytes(held);
    int64_t total = 0;
    for (; is_uniform(slice, buffer) && !slice->reversed && first < until; first += stride)
        total += blocks_from(slice, held, base + first, run < until - first ? run : until - first) *
                 pto_held_block_bytes(held, 0);
    for (; slice->parts > 0 && slice->chunks <= 1 && first < until; first += stride) {
        int64_t count = run < until - first ? run : until - first;
        int64_t from = slice->reversed ? base - first - count + 1 : base + first;
        total += parts_bytes(slice, action, held, from, count);
    }
    for (; first < until; first += stride)
        for (int64_t w = first; w < first + run && w < until; w++)
            total += indexed_bytes(slice, action, held, slice->reversed ? base - w : base + w);
    return total;
}

int64_t pto_slice_bytes(const pto_plan_t *plan, const pto_slice_t *slice, const pto_action_t *action) {
    pto_slice_t cells;
    if (slice->cells != PTO_CELLS_NONE) {
        cells = pto_slice_in_grid(plan, slice, action);
        slice = &cells;
    }
    pto_held_t held = pto_held_by(plan, slice->buffer, pto_slice_holder(plan, slice, action));
    return pto_held_slice_bytes(slice, action, &held);
}

bool pto_held_slice_bytes_among(const pto_slice_t *slice, const pto_action_t *action, pto_held_t *held,
                                const int64_t *block, int64_t count, int64_t *bytes) {
    int64_t indices = held->buffer->block_count;
    int64_t first = pto_expr_at(&slice->first, action->k, action->core, action->peer);
    int64_t until = pto_expr_at(&slice->until, action->k, action->core, action->peer);
    int64_t run = pto_expr_at(&slice->run, action->k, action->core, action->peer);
    int64_t stride = pto_expr_at(&slice->stride, action->k, action->core, action->peer);
    if (slice->parts > 0 || slice->bundle > 1 || slice->fold > 0 || slice->repeat > 1 ||
        slice->cells != PTO_CELLS_NONE || first < 0 || until > indices || stride < 1 ||
        (run > stride && until > first + stride))
        return false;
    int64_t base = slice_base(slice, action, held);
    *bytes = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t w = pto_floor_mod(slice->reversed ? base - block[i] : block[i] - base, indices);
        if (w >= first && w < until && (w - first) % stride < run)
            *bytes += indexed_bytes(slice, action, held, block[i]);
    }
    return true;
}
