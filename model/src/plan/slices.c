/* The bytes of a plan's slices: which byte ranges of a rank's buffer a slice selects (pto_slice_t, which
 * defines w and the base), and how many bytes they have. price, simulate, check and the executor call this
 * for one action at a time. The first part computes sizes and offsets of blocks, for one rank's copy of a
 * buffer (pto_held_t). The second part selects blocks. Its indices count blocks; in slices with `bundle`,
 * `fold` or `parts`, they count bundles, folded blocks or parts of blocks instead. */
#include "plan/plan_internal.h"

/* --- blocks --------------------------------------------------------------------------------------------- */

/* Returns whether each block is what one owner sends to another. */
static bool are_of_pairs(pto_blocks_t blocks) {
    return blocks == PTO_BLOCKS_ROW || blocks == PTO_BLOCKS_COLUMN || blocks == PTO_BLOCKS_RAIL ||
           blocks == PTO_BLOCKS_NODE_ROW || blocks == PTO_BLOCKS_NODE_COLUMN;
}

bool pto_buffer_is_skewed(const pto_plan_t *plan, const pto_buffer_t *buffer, pto_skew_t *skew) {
    const pto_request_t *request = &plan->request;
    if (!are_of_pairs(buffer->blocks) || !request->counts || request->counts->kind != PTO_COUNTS_SKEW ||
        pto_role_is_host(buffer->role) || !pto_collective_is_by_pair(request->collective) ||
        (request->mapping && request->mapping->count > 0))
        return false;
    *skew = pto_skew_of(request->counts, request->bytes);
    return true;
}

pto_held_t pto_held_by(const pto_plan_t *plan, int buffer_index, int64_t rank) {
    const pto_buffer_t *buffer = pto_plan_buffer(plan, buffer_index);
    const pto_layout_t *layout = &plan->request.layout;
    pto_group_t group = {.kind = buffer->group};
    /* Fields are set one by one. Pricing calls this millions of times, and zeroing the whole struct would
     * take most of that time. */
    pto_held_t held;
    held.plan = plan;
    held.buffer = buffer;
    held.place = pto_layout_rank(layout, rank);
    held.core = held.place.core;
    held.index = pto_group_index_at(layout, &group, held.place);
    held.members = 0;
    held.known_block = 0;
    held.known_offset = 0;
    held.offsets = NULL;
    if (buffer->cyclic != PTO_CYCLIC_NONE || buffer->blocks == PTO_BLOCKS_SHARE ||
        buffer->blocks == PTO_BLOCKS_ROTATED)
        held.members = pto_group_shape(layout, buffer->group).size;
    held.is_skewed = pto_buffer_is_skewed(plan, buffer, &held.skew);
    return held;
}

/* Returns the distance, or the number, of a block: modulo cyclic_count, it is the core to which the block is
 * dealt out (pto_cyclic_t). */
static int64_t deal_distance(const pto_held_t *held, int64_t block) {
    if (held->buffer->cyclic == PTO_CYCLIC_ORDINAL)
        return block;
    int64_t ahead = block - held->index;
    return pto_floor_mod(held->buffer->cyclic == PTO_CYCLIC_FORWARD ? ahead : -ahead, held->members);
}

/* Returns the bytes that one owner sends to another, in the pattern that the buffer belongs to. */
static int64_t pair_bytes(const pto_held_t *held, int64_t source, int64_t destination) {
    if (held->is_skewed)
        return pto_skew_bytes(&held->skew, source, destination);
    if (pto_role_is_host(held->buffer->role))
        return pto_request_host_bytes(&held->plan->request, source, destination);
    return pto_request_bytes(&held->plan->request, source, destination);
}

static int64_t owners_per_node(const pto_held_t *held) {
    const pto_layout_t *layout = &held->plan->request.layout;
    return layout->gpus_per_node * layout->owners_per_gpu;
}

/* Returns the index of the holder among the owners of its node. */
static int64_t index_on_node(const pto_held_t *held) {
    return held->place.gpu * held->plan->request.layout.owners_per_gpu + held->place.core;
}

/* Returns the bytes of a block between an owner of the holder's node and an owner of another node. The block
 * number is composed as pto_blocks_t says, with m owners per node. */
static int64_t node_block_bytes(const pto_held_t *held, int64_t block) {
    int64_t m = owners_per_node(held);
    int64_t own_first = held->place.node * m; /* the first owner of the holder's node */
    if (held->buffer->blocks == PTO_BLOCKS_RAIL) {
        int64_t other_first = block / m * m;
        return pair_bytes(held, own_first + block % m, other_first + index_on_node(held));
    }
    int64_t i = block / m % m, j = block % m, other_first = block / (m * m) * m;
    if (held->buffer->blocks == PTO_BLOCKS_NODE_ROW)
        return pair_bytes(held, own_first + i, other_first + j);
    return pair_bytes(held, other_first + i, own_first + j);
}

/* Returns the bytes of the block that a member of the buffer's group contributes to an allgatherv. */
static int64_t members_block_bytes(const pto_held_t *held, int64_t block) {
    int64_t blocks = held->buffer->block_count;
    int64_t owner = block; /* the number in the group; below, among all owners */
    if (held->buffer->blocks == PTO_BLOCKS_ROTATED)
        owner = (blocks / held->members * held->index + block) % blocks;
    if (held->buffer->group == PTO_GROUP_RAIL)
        owner = owner * owners_per_node(held) + index_on_node(held);
    else if (held->buffer->group == PTO_GROUP_NODE_OWNERS)
        owner += held->place.node * owners_per_node(held);
    return pto_request_bytes(&held->plan->request, owner, owner);
}

/* Returns the bytes of a block before splitting and dealing. */
static int64_t whole_block_bytes(const pto_held_t *held, int64_t block) {
    switch (held->buffer->blocks) {
    case PTO_BLOCKS_RAIL:
    case PTO_BLOCKS_NODE_ROW:
    case PTO_BLOCKS_NODE_COLUMN:
        return node_block_bytes(held, block);
    case PTO_BLOCKS_ROW:
        return pair_bytes(held, held->index, block);
    case PTO_BLOCKS_COLUMN:
        return pair_bytes(held, block, held->index);
    case PTO_BLOCKS_MEMBERS:
    case PTO_BLOCKS_ROTATED:
        return members_block_bytes(held, block);
    case PTO_BLOCKS_SHARE:
        return pto_share_bytes(held->buffer->block_bytes, held->buffer->granularity_bytes, held->members,
                               held->index);
    case PTO_BLOCKS_EQUAL:
    case PTO_BLOCKS_COUNT:
        break;
    }
    return held->buffer->block_bytes;
}

int64_t pto_held_block_bytes(const pto_held_t *held, int64_t block) {
    const pto_buffer_t *buffer = held->buffer;
    if (buffer->cyclic != PTO_CYCLIC_NONE && deal_distance(held, block) % buffer->cyclic_count != held->core)
        return 0;
    int64_t whole = whole_block_bytes(held, block);
    return buffer->split > 1 ? pto_share_bytes(whole, buffer->granularity_bytes, buffer->split, held->core)
                             : whole;
}

/* Returns the offset of a block of a table: the sum of the sizes of the blocks before it. */
static int64_t table_offset(pto_held_t *held, int64_t block) {
    const pto_buffer_t *buffer = held->buffer;
    if (held->offsets)
        return held->offsets[block];
    if (buffer->cyclic == PTO_CYCLIC_NONE) {
        if (block < held->known_block) /* sum from block 0 again */
            held->known_block = held->known_offset = 0;
        for (; held->known_block < block; held->known_block++)
            held->known_offset += pto_held_block_bytes(held, held->known_block);
        return held->known_offset;
    }
    int64_t offset = 0; /* blocks that are dealt out are stored in the order of their distance */
    int64_t sign = buffer->cyclic == PTO_CYCLIC_BACKWARD ? -1 : 1;
    int64_t distance = deal_distance(held, block), members = held->members;
    for (int64_t d = held->core; d < distance; d += buffer->cyclic_count)
        offset += pto_held_block_bytes(held, pto_floor_mod(held->index + sign * d, members));
    return offset;
}

static pto_extent_t block_extent(pto_held_t *held, int64_t block) {
    const pto_buffer_t *buffer = held->buffer;
    pto_extent_t extent = {.bytes = pto_held_block_bytes(held, block)};
    if (extent.bytes == 0)
        return extent;
    if (pto_blocks_are_table(buffer))
        extent.offset_bytes = table_offset(held, block);
    else if (buffer->cyclic != PTO_CYCLIC_NONE)
        extent.offset_bytes = deal_distance(held, block) / buffer->cyclic_count * extent.bytes;
    else
        extent.offset_bytes = block * extent.bytes;
    return extent;
}

/* Returns the extent of consecutive blocks of a buffer that is not dealt out. */
static pto_extent_t bundle_extent(pto_held_t *held, int64_t first, int64_t count) {
    bool equal = !pto_blocks_are_table(held->buffer);
    pto_extent_t extent = {.bytes = pto_held_block_bytes(held, first)};
    extent.offset_bytes = equal ? first * extent.bytes : table_offset(held, first);
    if (equal)
        extent.bytes *= count;
    for (int64_t i = 1; i < count && !equal; i++)
        extent.bytes += pto_held_block_bytes(held, first + i);
    return extent;
}

static bool is_held(const pto_held_t *held) {
    const pto_buffer_t *buffer = held->buffer;
    return held->index >= 0 && held->core >= buffer->core_first &&
           held->core < buffer->core_first + buffer->core_count &&
           (buffer->held_stride <= 1 || held->index % buffer->held_stride == buffer->held_first);
}

bool pto_buffer_holds(const pto_plan_t *plan, int buffer, int64_t rank) {
    pto_held_t held = pto_held_by(plan, buffer, rank);
    return is_held(&held);
}

static bool is_users(const pto_held_t *held) {
    int64_t stride = held->buffer->user_stride;
    return held->buffer->role != PTO_ROLE_TEMPORARY && is_held(held) &&
           (stride <= 1 || held->index % stride == 0);
}

bool pto_buffer_is_users(const pto_plan_t *plan, int buffer, int64_t rank) {
    pto_held_t held = pto_held_by(plan, buffer, rank);
    return is_users(&held);
}

_Thread_local int64_t pto_blocks_summed;

/* Returns the bytes of all blocks of a buffer. If they are dealt out by distance, only those of the rank's
 * core are visited. */
static int64_t all_blocks_bytes(const pto_held_t *held) {
    const pto_buffer_t *buffer = held->buffer;
    int64_t members = held->members, total = 0;
    if (buffer->blocks == PTO_BLOCKS_SHARE && buffer->cyclic == PTO_CYCLIC_NONE) /* all of equal size */
        return buffer->block_count * pto_held_block_bytes(held, 0);
    bool by_distance = buffer->cyclic == PTO_CYCLIC_FORWARD || buffer->cyclic == PTO_CYCLIC_BACKWARD;
    if (!by_distance || buffer->block_count != members) {
        pto_blocks_summed += buffer->block_count;
        for (int64_t block = 0; block < buffer->block_count; block++)
            total += pto_held_block_bytes(held, block);
        return total;
    }
    int64_t sign = buffer->cyclic == PTO_CYCLIC_BACKWARD ? -1 : 1;
    pto_blocks_summed += members / buffer->cyclic_count;
    for (int64_t d = held->core; d < members; d += buffer->cyclic_count)
        total += pto_held_block_bytes(held, pto_floor_mod(held->index + sign * d, members));
    return total;
}

static int64_t held_bytes(const pto_held_t *held) {
    const pto_buffer_t *buffer = held->buffer;
    if (!is_held(held))
        return 0;
    if (buffer->blocks != PTO_BLOCKS_EQUAL)
        return all_blocks_bytes(held);
    int64_t bytes = buffer->block_bytes;
    if (buffer->split > 1)
        bytes = pto_share_bytes(bytes, buffer->granularity_bytes, buffer->split, held->core);
    int64_t blocks = buffer->block_count;
    if (buffer->chunks > 0)
        bytes = buffer->slots * pto_chunk_bytes(bytes, buffer->chunks);
    if (buffer->cyclic != PTO_CYCLIC_NONE)
        blocks = held->core < blocks ? (blocks - held->core - 1) / buffer->cyclic_count + 1 : 0;
    return blocks * bytes;
}

int64_t pto_buffer_bytes(const pto_plan_t *plan, int buffer, int64_t rank) {
    pto_held_t held = pto_held_by(plan, buffer, rank);
    return held_bytes(&held);
}

int64_t pto_buffer_temporary_bytes(const pto_plan_t *plan, int buffer, int64_t rank) {
    pto_held_t held = pto_held_by(plan, buffer, rank);
    return is_users(&held) ? 0 : held_bytes(&held);
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

/* The range of w of a slice (pto_slice_t) in an action. */
typedef struct {
    int64_t first, run, stride, until;
} w_range_t;

static w_range_t w_range(const pto_slice_t *slice, const pto_action_t *action) {
    return (w_range_t){.first = pto_expr_at(&slice->first, action->k, action->core, action->peer),
                       .run = pto_expr_at(&slice->run, action->k, action->core, action->peer),
                       .stride = pto_expr_at(&slice->stride, action->k, action->core, action->peer),
                       .until = pto_expr_at(&slice->until, action->k, action->core, action->peer)};
}

/* Returns the base of a slice: the index that w is added to. */
static int64_t slice_base(const pto_slice_t *slice, const pto_action_t *action, const pto_held_t *held) {
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
        base = held->index;
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

/* Returns a slice's share of a block (pto_share_t). */
static pto_extent_t share_of_block(const pto_slice_t *slice, const pto_action_t *action,
                                   const pto_held_t *held, pto_extent_t extent) {
    if (slice->share == PTO_SHARE_ALL)
        return extent;
    int64_t cores = held->plan->request.layout.procs_per_gpu;
    int64_t k = slice->share == PTO_SHARE_MINE ? action->core : action->peer_rank % cores;
    int64_t grain = held->buffer->granularity_bytes;
    return (pto_extent_t){.offset_bytes = extent.offset_bytes +
                                          pto_share_offset(extent.bytes, grain, slice->share_count, k),
                          .bytes = pto_share_bytes(extent.bytes, grain, slice->share_count, k)};
}

/* Returns what a slice selects of a block: its chunk of its share. If the slice divides blocks into parts,
 * `extent` is such a part, and already lies within the share. */
static pto_extent_t piece_of_block(const pto_slice_t *slice, const pto_action_t *action,
                                   const pto_held_t *held, pto_extent_t extent) {
    const pto_buffer_t *buffer = held->buffer;
    pto_extent_t piece = slice->parts > 0 ? extent : share_of_block(slice, action, held, extent);
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

/* Merges adjacent ranges before it passes them to the caller's visitor. */
typedef struct {
    pto_range_visit_t visit;
    void *context;        /* of `visit` */
    pto_extent_t pending; /* the last range, not yet passed on; 0 bytes: none */
    bool stopped;         /* `visit` has returned false */
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

/* Returns the modulus of a slice's indices, which count blocks, bundles or folded blocks; not for parts. */
static int64_t index_count(const pto_slice_t *slice, const pto_held_t *held) {
    return held->buffer->block_count / (slice->bundle > 1 ? slice->bundle : 1) - slice->fold;
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

static block_run_t indexed_blocks(const pto_slice_t *slice, const pto_held_t *held, int64_t index) {
    int64_t position = pto_floor_mod(index, index_count(slice, held)), first = first_block(slice, position);
    return (block_run_t){first, first_block(slice, position + 1) - first};
}

/* Returns the extent of the blocks, or of the part of a block, of an index. */
static pto_extent_t indexed_extent(const pto_slice_t *slice, const pto_action_t *action, pto_held_t *held,
                                   int64_t index) {
    if (slice->parts == 0) {
        block_run_t blocks = indexed_blocks(slice, held, index);
        return blocks.count == 1 ? block_extent(held, blocks.first)
                                 : bundle_extent(held, blocks.first, blocks.count);
    }
    int64_t position = pto_floor_mod(index, slice->parts * held->buffer->block_count);
    int64_t block = position / slice->parts, part = position % slice->parts;
    pto_extent_t whole = share_of_block(slice, action, held, block_extent(held, block));
    int64_t grain = held->buffer->granularity_bytes;
    return (pto_extent_t){.offset_bytes =
                              whole.offset_bytes + pto_share_offset(whole.bytes, grain, slice->parts, part),
                          .bytes = pto_share_bytes(whole.bytes, grain, slice->parts, part)};
}

/* Returns whether all of a slice's blocks are whole and of equal size, so that they need no walk. */
static bool is_uniform(const pto_slice_t *slice, const pto_buffer_t *buffer) {
    return buffer->blocks == PTO_BLOCKS_EQUAL && buffer->cyclic == PTO_CYCLIC_NONE && slice->parts == 0 &&
           slice->share == PTO_SHARE_ALL && slice->chunks <= 1;
}

/* Adds consecutive indices of a uniform slice: one range, or several where they wrap around. */
static void add_uniform(merger_t *merger, const pto_slice_t *slice, const pto_held_t *held, int64_t index,
                        int64_t count) {
    int64_t indices = index_count(slice, held), bytes = pto_held_block_bytes(held, 0);
    int64_t position = pto_floor_mod(index, indices);
    while (count > 0) {
        int64_t run = count < indices - position ? count : indices - position;
        int64_t first = first_block(slice, position);
        int64_t blocks = first_block(slice, position + run) - first;
        merger_add(merger, (pto_extent_t){.offset_bytes = first * bytes, .bytes = blocks * bytes});
        count -= run;
        position = 0;
    }
}

/* Adds the ranges of w in [first, until). */
static void add_run(merger_t *merger, const pto_slice_t *slice, const pto_action_t *action, pto_held_t *held,
                    int64_t base, int64_t first, int64_t until) {
    if (is_uniform(slice, held->buffer) && !slice->reversed) {
        add_uniform(merger, slice, held, base + first, until - first);
        return;
    }
    for (int64_t w = first; w < until && !merger->stopped; w++) {
        int64_t index = slice->reversed ? base - w : base + w;
        pto_extent_t extent = indexed_extent(slice, action, held, index);
        merger_add(merger, piece_of_block(slice, action, held, extent));
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
    pto_held_t held = pto_held_by(plan, slice->buffer, rank);
    if (offsets && offsets->rank == rank)
        held.offsets = offsets->by_buffer[slice->buffer];
    merger_t merger = {.visit = visit, .context = context};
    int64_t base = slice_base(slice, action, &held);
    const w_range_t w = w_range(slice, action);
    int64_t times = slice->repeat > 1 ? slice->repeat : 1;
    for (int64_t i = 0; i < times && w.run > 0; i++)
        for (int64_t first = w.first; first < w.until && !merger.stopped; first += w.stride)
            add_run(&merger, slice, action, &held, base + i * slice->repeat_stride, first,
                    w.run < w.until - first ? first + w.run : w.until);
    if (merger.pending.bytes > 0 && !merger.stopped)
        visit(context, merger.pending.offset_bytes, merger.pending.bytes);
}

/* Returns the bytes of the parts of consecutive indices, which may wrap around. It visits each block once,
 * not each part. */
static int64_t parts_bytes(const pto_slice_t *slice, const pto_action_t *action, const pto_held_t *held,
                           int64_t index, int64_t count) {
    int64_t parts = slice->parts, indices = parts * held->buffer->block_count, total = 0;
    int64_t position = pto_floor_mod(index, indices), grain = held->buffer->granularity_bytes;
    while (count > 0) {
        int64_t block = position / parts, part = position % parts;
        pto_extent_t whole = {.bytes = pto_held_block_bytes(held, block)};
        int64_t bytes = share_of_block(slice, action, held, whole).bytes;
        pto_blocks_summed++;
        int64_t run = count < parts - part ? count : parts - part;
        total +=
            pto_share_offset(bytes, grain, parts, part + run) - pto_share_offset(bytes, grain, parts, part);
        position = (position + run) % indices;
        count -= run;
    }
    return total;
}

/* Returns the bytes that the slice selects of the blocks of an index. */
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

bool pto_slice_is_peers_block(const pto_slice_t *slice) {
    return slice->anchor == PTO_ANCHOR_PEER && slice->parts == 0 && slice->share == PTO_SHARE_ALL &&
           slice->chunks <= 1 && slice->bundle <= 1 && slice->fold == 0 && slice->reverse_bits == 0 &&
           pto_expr_is(&slice->offset, 0) && pto_expr_is(&slice->align, 0) && pto_expr_is(&slice->first, 0) &&
           pto_expr_is(&slice->until, 1) && pto_expr_is(&slice->run, 1);
}

/* Returns the number of blocks of consecutive indices, which may wrap around. */
static int64_t blocks_from(const pto_slice_t *slice, const pto_held_t *held, int64_t index, int64_t count) {
    int64_t indices = index_count(slice, held), blocks = 0;
    int64_t position = pto_floor_mod(index, indices);
    while (count > 0) {
        int64_t run = count < indices - position ? count : indices - position;
        blocks += first_block(slice, position + run) - first_block(slice, position);
        count -= run;
        position = 0;
    }
    return blocks;
}

/* Adds up the sizes of the blocks that pto_slice_visit would visit. This needs no offsets, whose computation
 * would walk a table once more. */
int64_t pto_held_slice_bytes(const pto_slice_t *slice, const pto_action_t *action, pto_held_t *held) {
    const pto_buffer_t *buffer = held->buffer;
    int64_t bundle = slice->bundle > 1 ? slice->bundle : 1;
    bool uniform = is_uniform(slice, buffer);
    if (uniform && slice->fold == 0)
        return pto_slice_block_count(slice, action->k, action->core, action->peer) * bundle *
               pto_held_block_bytes(held, 0);
    int64_t base = slice_base(slice, action, held);
    const w_range_t w = w_range(slice, action);
    bool every_block = slice->parts == 0 && slice->share == PTO_SHARE_ALL && slice->chunks <= 1 &&
                       w.run == w.until - w.first && w.run * bundle == buffer->block_count &&
                       slice->fold == 0;
    if (every_block)
        return all_blocks_bytes(held);
    int64_t total = 0;
    for (int64_t first = w.first; first < w.until; first += w.stride) {
        int64_t count = w.run < w.until - first ? w.run : w.until - first;
        int64_t lowest = slice->reversed ? base - (first + count - 1) : base + first; /* of `count` indices */
        if (uniform)
            total += blocks_from(slice, held, lowest, count) * pto_held_block_bytes(held, 0);
        else if (slice->parts > 0 && slice->chunks <= 1)
            total += parts_bytes(slice, action, held, lowest, count);
        else
            for (int64_t i = 0; i < count; i++)
                total += indexed_bytes(slice, action, held, lowest + i);
    }
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
    const w_range_t w = w_range(slice, action);
    bool runs_overlap = w.run > w.stride && w.until > w.first + w.stride;
    if (slice->parts > 0 || slice->bundle > 1 || slice->fold > 0 || slice->repeat > 1 ||
        slice->cells != PTO_CELLS_NONE || w.first < 0 || w.until > indices || w.stride < 1 || runs_overlap)
        return false;
    int64_t base = slice_base(slice, action, held);
    *bytes = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t block_w = pto_floor_mod(slice->reversed ? base - block[i] : block[i] - base, indices);
        bool selected = block_w >= w.first && block_w < w.until && (block_w - w.first) % w.stride < w.run;
        if (selected)
            *bytes += indexed_bytes(slice, action, held, block[i]);
    }
    return true;
}
