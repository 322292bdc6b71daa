/* Finds out whether all nodes of a plan do the same: then it is proved by walking the ranks of node 0 alone
 * (docs/decisions/0055). Cyclic renumbering of the nodes leaves such a plan unchanged: each rank does the
 * same as the corresponding rank of node 0, with peers at the same distances.
 *
 * The contents of a buffer are not the same on all nodes, but rotated. With m owners per node, what node 0
 * has in block b for owner j, node 1 has for owner j + m, in block b + r (both modulo their number). The
 * constant r is the buffer's rotation. Let an alltoall have 2 owners per node, and let block b of each input
 * be for owner b. Block 1 of owner 0 corresponds to block 3 of owner 2, so r is 2. This file finds r from the
 * slices: each must name rotated bytes on the next node, in the same order. A copy or message of whole
 * buffers, block by block, gives both buffers one rotation.
 *
 * A vector is one block, whose parts rotate; if the processes of a GPU share it, they rotate within the share
 * of each process. In pto_rotation_t, a piece is what rotates (a block or part), and a round is that in
 * which it rotates (the buffer or a share). Parts may differ in size by an element. The plan is therefore
 * walked with parts of one element each (the unit plan), and no data may move to another offset of the
 * vector.
 *
 * A message to node 0 from another node has the data that the corresponding rank of node 0 sends, rotated.
 * Memory is shared within a node only, so the proof needs the accesses and clocks of node 0 alone. It does
 * not know orders that lead through other nodes: plans that need them take another method. */
#include <assert.h>
#include <stdlib.h>

#include "check/check_internal.h"
#include "plan/plan_internal.h"

enum {
    NO_ROTATION = -1, /* the nodes do not name the same bytes, rotated */
    UNKNOWN = -2      /* nothing has constrained the buffer's rotation yet */
};

/* --- rotations of slices -------------------------------------------------------------------------------- */

/* Returns the number of indices of a slice: blocks, or bundles of blocks. */
static int64_t index_count(const pto_plan_t *plan, const pto_slice_t *slice) {
    return pto_plan_buffer(plan, slice->buffer)->block_count / (slice->bundle > 1 ? slice->bundle : 1);
}

static bool depends_on_peer(const pto_slice_t *slice) {
    return slice->offset.peer || slice->align.peer || slice->first.peer || slice->run.peer ||
           slice->stride.peer || slice->until.peer;
}

/* Returns by how much a slice's anchor grows from one node to the next; or NO_ROTATION. */
static int64_t anchor_growth(const pto_plan_t *plan, const pto_group_t *group, pto_peers_kind_t peers,
                             const pto_slice_t *slice) {
    bool on_node = pto_group_is_on_node(group->kind);
    const pto_layout_t *layout = &plan->request.layout;
    pto_group_kind_t holders = pto_plan_buffer(plan, slice->buffer)->group;
    switch (slice->anchor) {
    case PTO_ANCHOR_ME:
        return on_node ? 0 : group->members_per_node;
    case PTO_ANCHOR_PEER: /* without peers, the same number everywhere */
        return on_node || peers == PTO_PEERS_NONE ? 0 : group->members_per_node;
    case PTO_ANCHOR_HOLDER:
        return pto_group_is_on_node(holders) ? 0 : pto_group_shape(layout, holders).members_per_node;
    case PTO_ANCHOR_ORDINAL: /* of peers by index: seen from the next node, the same ones, not rotated ones */
        return !on_node && peers == PTO_PEERS_INDEX ? NO_ROTATION : 0;
    case PTO_ANCHOR_ABSOLUTE:
    case PTO_ANCHOR_COUNT:
        break;
    }
    return 0;
}

/* Returns whether this file supports the slice. */
static bool is_known(const pto_slice_t *slice) { return slice->fold == 0 && slice->cells == PTO_CELLS_NONE; }

/* Returns whether a slice is of bundles in a buffer with slots, whose blocks do not rotate. */
static bool is_in_slots(const pto_plan_t *plan, const pto_slice_t *slice) {
    return slice->bundle > 1 && pto_plan_buffer(plan, slice->buffer)->chunks > 0;
}

/* How a slice covers its buffer: by pieces of equally many blocks at equal distances, from a block that is
 * the same on all nodes. In 8 blocks, runs of 2 at a stride of 4 are 2 pieces with gaps (blocks 0, 1, 4, 5).
 * Rotated by whole pieces (4 blocks), such a slice names the same bytes. */
typedef struct {
    int64_t pieces;   /* 0: the slice does not cover its buffer in this way */
    bool has_strides; /* there are gaps between the pieces; adjacent pieces can also be seen as fewer, longer
                         ones */
} cover_t;

static bool has_equal_pieces(const pto_slice_t *slice) {
    return is_known(slice) && slice->parts == 0 && pto_expr_is_constant(&slice->run) &&
           pto_expr_is_constant(&slice->stride) && slice->run.constant > 0 && slice->stride.constant > 0;
}

static bool goes_through_buffer_once(const pto_plan_t *plan, const pto_slice_t *slice) {
    int64_t count = index_count(plan, slice);
    return count > 0 && pto_expr_is(&slice->first, 0) && pto_expr_is(&slice->until, count) &&
           slice->repeat <= 1 && !slice->reversed && !is_in_slots(plan, slice);
}

static bool begins_alike_on_nodes(const pto_plan_t *plan, const pto_group_t *group, pto_peers_kind_t peers,
                                  const pto_slice_t *slice) {
    bool begins_by_peer = slice->offset.peer || slice->align.peer;
    return anchor_growth(plan, group, peers, slice) == 0 &&
           (!begins_by_peer || pto_group_is_on_node(group->kind));
}

static cover_t cover_of(const pto_plan_t *plan, const pto_step_t *step, const pto_slice_t *slice) {
    const pto_group_t *group = pto_plan_group(plan, step->group);
    if (!has_equal_pieces(slice) || !goes_through_buffer_once(plan, slice) ||
        !begins_alike_on_nodes(plan, group, step->peers.kind, slice))
        return (cover_t){0};
    int64_t count = index_count(plan, slice), run = slice->run.constant, stride = slice->stride.constant;
    if (run >= count || run == stride) {
        bool is_divided = slice->chunks > 1 || slice->share != PTO_SHARE_ALL; /* each block or bundle is */
        return (cover_t){.pieces = is_divided ? count : pto_plan_buffer(plan, slice->buffer)->block_count};
    }
    return (cover_t){.pieces = run < stride && count % stride == 0 ? count / stride : 0, .has_strides = true};
}

/* Returns by how many blocks of its buffer (or parts of the only block) a slice's bytes rotate from one node
 * to the next; or NO_ROTATION. Only the anchor can make a slice rotate; its unit is a part, block or bundle.
 */
static int64_t slice_rotation(const pto_plan_t *plan, const pto_group_t *group, pto_peers_kind_t peers,
                              const pto_slice_t *slice) {
    int64_t parts = slice->parts > 0 ? slice->parts : 1, count = index_count(plan, slice) * parts;
    int64_t growth = anchor_growth(plan, group, peers, slice);
    if (growth < 0 || count < 1 || !is_known(slice) ||
        (depends_on_peer(slice) && !pto_group_is_on_node(group->kind)))
        return NO_ROTATION;
    if (growth == 0)
        return 0;
    int64_t by = growth * (slice->anchor_step > 1 ? slice->anchor_step : 1) % count;
    bool is_cyclic = by * plan->request.layout.nodes % count == 0; /* the last node is followed by node 0 */
    if (slice->reverse_bits != 0 || !pto_expr_is(&slice->align, 0) || !is_cyclic || is_in_slots(plan, slice))
        return NO_ROTATION;
    if (pto_plan_buffer(plan, slice->buffer)->block_count == 1)
        return by;
    return by % parts == 0 ? by / parts * (slice->bundle > 1 ? slice->bundle : 1) : NO_ROTATION;
}

/* --- rotations of buffers ------------------------------------------------------------------------------- */

/* The rotation of each buffer, as far as it is known. The functions below that constrain rotations return
 * false if no rotations fulfil all constraints: then the nodes do not do the same. */
typedef struct {
    const pto_plan_t *plan;
    pto_rotation_t *of; /* [buffer]; `by` may be UNKNOWN */
    bool changed;       /* a rotation became known */
} rotations_t;

static bool constrain_buffer(rotations_t *rotations, int buffer, int64_t by) {
    int64_t *known = &rotations->of[buffer].by;
    if (by < 0 || (*known != UNKNOWN && *known != by))
        return false;
    rotations->changed = rotations->changed || *known == UNKNOWN;
    *known = by;
    return true;
}

/* All slices of a buffer of one block, in which parts rotate, must have the same parts. */
static bool constrain_parts(rotations_t *rotations, const pto_slice_t *slice) {
    pto_rotation_t *known = &rotations->of[slice->buffer];
    if (slice->parts == 0 || pto_plan_buffer(rotations->plan, slice->buffer)->block_count > 1)
        return true;
    int64_t rounds = slice->share == PTO_SHARE_ALL ? 1 : slice->share_count;
    bool is_known = known->pieces != 1;
    if (slice->chunks > 1 || (is_known && (known->pieces != slice->parts || known->rounds != rounds)))
        return false;
    known->pieces = slice->parts;
    known->rounds = rounds;
    return true;
}

static bool constrain_slice(rotations_t *rotations, const pto_step_t *step, const pto_slice_t *slice) {
    const pto_group_t *group = pto_plan_group(rotations->plan, step->group);
    return constrain_parts(rotations, slice) &&
           constrain_buffer(rotations, slice->buffer,
                            slice_rotation(rotations->plan, group, step->peers.kind, slice));
}

/* Gives one buffer the rotation of another one, as a fraction of it: 2 of 4 pieces are 4 of 8. */
static bool constrain_to_follow(rotations_t *rotations, int leader, int follower) {
    int64_t pieces = rotations->of[leader].pieces;
    int64_t by = rotations->of[leader].by * rotations->of[follower].pieces;
    return constrain_buffer(rotations, follower, by % pieces == 0 ? by / pieces : NO_ROTATION);
}

static bool rotates_by_whole_pieces(const pto_rotation_t *rotation, int64_t pieces) {
    return rotation->by * pieces % rotation->pieces == 0;
}

/* Two buffers that cover each other in `pieces` pieces rotate together, and by whole pieces. Constrains
 * nothing as long as both rotations are unknown. */
static bool constrain_together(rotations_t *rotations, int one, int other, int64_t pieces) {
    const pto_rotation_t *a = &rotations->of[one], *b = &rotations->of[other];
    if (a->by == UNKNOWN && b->by == UNKNOWN)
        return true;
    bool follows = a->by != UNKNOWN ? constrain_to_follow(rotations, one, other)
                                    : constrain_to_follow(rotations, other, one);
    return follows && a->rounds == b->rounds && rotates_by_whole_pieces(a, pieces) &&
           rotates_by_whole_pieces(b, pieces);
}

/* Returns whether all messages of a stage cover buffers of equally many blocks, block by block. */
static bool moves_whole_buffers(const rotations_t *rotations, const pto_stage_t *stage) {
    int64_t blocks = -1;
    for (int i = 0; i < stage->step_count; i++) {
        const pto_step_t *step = pto_plan_step(rotations->plan, stage->step_first + i);
        if (!pto_step_is_message(step))
            continue;
        const pto_slice_t *slice = pto_message_slice(step);
        cover_t cover = cover_of(rotations->plan, step, slice);
        if (cover.has_strides || cover.pieces != rotations->of[slice->buffer].pieces ||
            (blocks >= 0 && blocks != cover.pieces))
            return false;
        blocks = cover.pieces;
    }
    return true;
}

/* Returns the number of pieces in which one cover is moved to another; 0: they do not match. Adjacent pieces
 * are merged to as many as there are strided ones. */
static int64_t moved_pieces(cover_t one, cover_t other) {
    if (one.pieces == 0 || other.pieces == 0)
        return 0;
    if (one.has_strides == other.has_strides)
        return one.pieces == other.pieces ? one.pieces : 0;
    cover_t strided = one.has_strides ? one : other, adjacent = one.has_strides ? other : one;
    return adjacent.pieces % strided.pieces == 0 ? strided.pieces : 0;
}

static bool constrain_copy(rotations_t *rotations, const pto_step_t *step) {
    int64_t pieces = moved_pieces(cover_of(rotations->plan, step, &step->source),
                                  cover_of(rotations->plan, step, &step->target));
    if (pieces > 0 && step->kind == PTO_STEP_COPY)
        return constrain_together(rotations, step->source.buffer, step->target.buffer, pieces);
    return constrain_slice(rotations, step, &step->source) && constrain_slice(rotations, step, &step->target);
}

static bool has_buffer(const pto_plan_t *plan, const pto_slice_t *slice) {
    return slice->buffer >= 0 && slice->buffer < pto_plan_buffer_count(plan);
}

/* Returns whether the groups and buffers that a stage names exist. A plan that was built elsewhere may lack
 * them; parts.c reports that. */
static bool has_valid_parts(const pto_plan_t *plan, const pto_stage_t *stage) {
    for (int i = 0; i < stage->step_count; i++) {
        const pto_step_t *step = pto_plan_step(plan, stage->step_first + i);
        if (step->kind >= PTO_STEP_COUNT || step->group < 0 || step->group >= plan->groups.count)
            return false;
        const pto_slice_t *source = pto_step_source(step), *target = pto_step_target(step);
        if ((source && !has_buffer(plan, source)) || (target && !has_buffer(plan, target)))
            return false;
    }
    return true;
}

static bool constrain_stage(rotations_t *rotations, const pto_stage_t *stage) {
    if (!has_valid_parts(rotations->plan, stage))
        return false;
    bool is_whole = moves_whole_buffers(rotations, stage), ok = true;
    int first = -1; /* the buffer of the stage's first message */
    for (int i = 0; i < stage->step_count && ok; i++) {
        const pto_step_t *step = pto_plan_step(rotations->plan, stage->step_first + i);
        bool in_sequence = stage->order == PTO_ORDER_SEQUENCE;
        if (step->kind == PTO_STEP_LAUNCH || !pto_step_is_alike_on_nodes(rotations->plan, step, in_sequence))
            return false;
        if (pto_step_is_message(step)) {
            const pto_slice_t *slice = pto_message_slice(step);
            first = first < 0 ? slice->buffer : first;
            ok = is_whole ? constrain_together(rotations, first, slice->buffer,
                                               rotations->of[slice->buffer].pieces)
                          : constrain_slice(rotations, step, slice);
        } else if (pto_step_is_local(step)) {
            ok = constrain_copy(rotations, step);
        }
    }
    return ok;
}

static bool is_one_block(const pto_slice_t *slice) {
    return pto_expr_is(&slice->first, 0) && pto_expr_is(&slice->until, 1);
}

static bool exchanges_blocks(pto_collective_t collective) {
    return collective == PTO_COLLECTIVE_ALLTOALL || collective == PTO_COLLECTIVE_ALLTOALLV ||
           pto_collective_is_allgather(collective);
}

/* A call must read and write single blocks, so that what is one range on node 0 is one range on all nodes. */
static bool constrain_call(rotations_t *rotations, const pto_node_t *node) {
    const pto_plan_t *plan = rotations->plan;
    const pto_slice_t *in = &pto_plan_call(plan, node->call)->in,
                      *out = &pto_plan_call(plan, node->call)->out;
    if (node->group < 0 || node->group >= plan->groups.count || !has_buffer(plan, in) ||
        !has_buffer(plan, out))
        return false;
    const pto_group_t *group = pto_plan_group(plan, node->group);
    const pto_buffer_t *input = pto_plan_buffer(plan, in->buffer);
    bool is_shared = input->split > 1 && !(pto_group_traits[group->kind].color & PTO_BY_CORE);
    return exchanges_blocks(node->collective) && group->fold == 0 && input->chunks == 0 && !is_shared &&
           is_one_block(in) && is_one_block(out) &&
           constrain_buffer(rotations, in->buffer, slice_rotation(plan, group, PTO_PEERS_INDEX, in)) &&
           constrain_buffer(rotations, out->buffer, slice_rotation(plan, group, PTO_PEERS_INDEX, out));
}

static bool is_plain_buffer(const pto_buffer_t *buffer) {
    return buffer->blocks == PTO_BLOCKS_EQUAL && buffer->cyclic == PTO_CYCLIC_NONE &&
           buffer->held_stride <= 1 && buffer->user_stride <= 1 && !pto_role_is_host(buffer->role);
}

/* Block i of an owner's buffer is for or from owner i. A vector is one block. */
static bool constrain_user_buffer(rotations_t *rotations, int b) {
    const pto_request_t *request = &rotations->plan->request;
    const pto_buffer_t *buffer = pto_plan_buffer(rotations->plan, b);
    int64_t per_node = request->layout.gpus_per_node * request->layout.owners_per_gpu;
    int64_t owners = per_node * request->layout.nodes;
    int64_t blocks = buffer->role == PTO_ROLE_IN ? pto_collective_blocks_in(request->collective, owners)
                                                 : pto_collective_blocks_out(request->collective, owners);
    if (buffer->block_count != blocks || buffer->block_bytes != request->bytes || buffer->chunks != 0 ||
        buffer->split > 1)
        return false;
    return pto_collective_is_vector(request->collective) ||
           constrain_buffer(rotations, b, blocks == 1 ? 0 : per_node);
}

static bool constrain_buffers(rotations_t *rotations) {
    for (int b = 0; b < pto_plan_buffer_count(rotations->plan); b++) {
        const pto_buffer_t *buffer = pto_plan_buffer(rotations->plan, b);
        if (!is_plain_buffer(buffer) ||
            (buffer->role != PTO_ROLE_TEMPORARY && !constrain_user_buffer(rotations, b)))
            return false;
    }
    return true;
}

static bool constrain_node(rotations_t *rotations, const pto_node_t *node) {
    switch (node->kind) {
    case PTO_NODE_STAGE:
        return constrain_stage(rotations, pto_plan_stage(rotations->plan, node->stage));
    case PTO_NODE_COLLECTIVE:
        return constrain_call(rotations, node);
    default:
        return node->kind != PTO_NODE_KERNEL && node->kind != PTO_NODE_EITHER;
    }
}

static bool constrain_nodes(rotations_t *rotations) {
    for (int n = 0; n < pto_plan_node_count(rotations->plan); n++)
        if (!constrain_node(rotations, pto_plan_node(rotations->plan, n)))
            return false;
    return true;
}

/* Returns the number of elements of a vector whose parts have one element each. */
static int64_t elements_of(const pto_plan_t *plan, const pto_rotation_t *rotation, int buffer) {
    int64_t split = pto_plan_buffer(plan, buffer)->split;
    return rotation[buffer].pieces * rotation[buffer].rounds * (split > 1 ? split : 1);
}

/* Returns whether all buffers are vectors of parts that rotate alike, and no part is empty. */
static bool vectors_rotate(const pto_plan_t *plan, const pto_rotation_t *rotation) {
    const pto_request_t *request = &plan->request;
    int64_t elements = elements_of(plan, rotation, 0), element = pto_datatype_bytes(request->datatype);
    if (request->bytes / element < elements)
        return false;
    for (int b = 0; b < pto_plan_buffer_count(plan); b++) {
        const pto_buffer_t *buffer = pto_plan_buffer(plan, b);
        bool is_vector = buffer->block_count == 1 && buffer->block_bytes == request->bytes &&
                         buffer->chunks == 0 && buffer->granularity_bytes == element;
        if (!is_vector || rotation[b].by != rotation[0].by || rotation[b].pieces != rotation[0].pieces ||
            elements_of(plan, rotation, b) != elements)
            return false;
    }
    return true;
}

bool pto_check_make_unit_plan(pto_checker_t *checker) {
    const pto_plan_t *plan = checker->plan;
    if (!pto_collective_is_vector(plan->request.collective))
        return true;
    checker->unit_plan = malloc(sizeof *checker->unit_plan + (size_t)checker->buffers * sizeof(pto_buffer_t));
    if (!checker->unit_plan)
        return pto_check_out_of_memory(checker);
    pto_buffer_t *buffer = (pto_buffer_t *)(void *)(checker->unit_plan + 1);
    int64_t bytes = elements_of(plan, checker->rotation, 0) * pto_datatype_bytes(plan->request.datatype);
    for (int b = 0; b < checker->buffers; b++) {
        buffer[b] = *pto_plan_buffer(plan, b);
        buffer[b].block_bytes = bytes;
    }
    *checker->unit_plan = *plan;
    checker->unit_plan->buffers.item = buffer;
    checker->unit_plan->request.bytes = bytes;
    checker->walk.plan = checker->plan = checker->unit_plan;
    checker->request = &checker->unit_plan->request;
    return true;
}

bool pto_check_keeps_place(const pto_checker_t *checker, const pto_touch_t *target,
                           const pto_content_t *span) {
    bool is_share = pto_plan_buffer(checker->plan, target->buffer)->split > 1;
    int64_t core = target->holder % checker->request->layout.procs_per_gpu;
    int64_t share_bytes = checker->bytes[target->holder * checker->buffers + target->buffer];
    return span->delta == (is_share ? core * share_bytes : 0);
}

static bool has_symmetric_data(pto_collective_t collective) {
    return pto_collective_data(collective) == PTO_DATA_BLOCKS || pto_collective_is_allgather(collective) ||
           collective == PTO_COLLECTIVE_ALLREDUCE || collective == PTO_COLLECTIVE_REDUCE_SCATTER;
}

static bool may_be_alike(const pto_request_t *request) {
    bool is_mapped = request->mapping && request->mapping->count > 0;
    bool is_uneven = request->counts && pto_counts_differ(request->counts);
    return has_symmetric_data(request->collective) && request->layout.nodes > 1 && !is_mapped && !is_uneven &&
           !pto_request_host_counts(request);
}

bool pto_check_nodes_alike(const pto_plan_t *plan, pto_rotation_t *rotation) {
    rotations_t rotations = {.plan = plan, .of = rotation};
    bool is_vector = pto_collective_is_vector(plan->request.collective);
    int buffers = pto_plan_buffer_count(plan);
    for (int b = 0; b < buffers; b++)
        rotation[b] = (pto_rotation_t){UNKNOWN, pto_plan_buffer(plan, b)->block_count, 1};
    if (!may_be_alike(&plan->request) || !constrain_buffers(&rotations))
        return false;
    do { /* until no further rotation follows from those that are known */
        rotations.changed = false;
        if (!constrain_nodes(&rotations))
            return false;
    } while (rotations.changed);
    for (int b = 0; b < buffers; b++) {
        int64_t blocks = pto_plan_buffer(plan, b)->block_count;
        if (rotation[b].by == UNKNOWN || (rotation[b].by == 0 && !is_vector))
            rotation[b] = (pto_rotation_t){0, blocks, 1};
        if (!is_vector && rotation[b].pieces != blocks)
            return false;
    }
    return !is_vector || vectors_rotate(plan, rotation);
}

/* --- rotating contents ---------------------------------------------------------------------------------- */

/* The inputs to which contents refer: those of the plan's owners, or of the members of a collective node. */
typedef struct {
    int64_t count;          /* owners or members */
    int64_t per_node;       /* owners or members on a node; 0: they have the same numbers on all nodes */
    int64_t round_bytes;    /* of an input: pieces rotate within a round */
    int64_t rotation_bytes; /* by which an input rotates from node 0 to node checker->source_node */
} inputs_t;

/* Returns by how many bytes each round of a buffer rotates from node 0 to another node. */
static int64_t rotation_bytes(const pto_checker_t *checker, int buffer, int64_t round_bytes, int64_t node) {
    const pto_rotation_t *rotation = &checker->rotation[buffer];
    return round_bytes / rotation->pieces * (node * rotation->by % rotation->pieces);
}

/* Returns -1 if the rank does not hold the buffer. */
static int64_t round_bytes_of(const pto_checker_t *checker, int64_t rank, int buffer) {
    int64_t held = checker->bytes[rank * checker->buffers + buffer];
    return held < 0 ? -1 : held / checker->rotation[buffer].rounds;
}

static int input_buffer(const pto_plan_t *plan) {
    int buffer = pto_check_role(plan, PTO_ROLE_IN);
    assert(buffer >= 0);
    return buffer;
}

/* Returns the inputs of the collective node whose stages are being walked; outside of one, the plan's. */
static inputs_t inputs_of(const pto_checker_t *checker, int64_t holder) {
    const pto_layout_t *layout = &checker->request->layout;
    inputs_t inputs = {.per_node = layout->gpus_per_node * layout->owners_per_gpu};
    int buffer = input_buffer(checker->plan);
    inputs.count = inputs.per_node * layout->nodes;
    inputs.round_bytes = checker->request->bytes * pto_plan_buffer(checker->plan, buffer)->block_count /
                         checker->rotation[buffer].rounds;
    if (checker->collective >= 0) {
        const pto_node_t *node = pto_plan_node(checker->plan, checker->collective);
        const pto_group_t *group = pto_plan_group(checker->plan, node->group);
        buffer = pto_plan_call(checker->plan, node->call)->in.buffer;
        inputs.count = group->size;
        inputs.per_node = pto_group_is_on_node(group->kind) ? 0 : group->members_per_node;
        inputs.round_bytes = round_bytes_of(checker, holder, buffer);
    }
    inputs.rotation_bytes = rotation_bytes(checker, buffer, inputs.round_bytes, checker->source_node);
    return inputs;
}

/* Appends a span to checker->present as the other node has it: with its members, and with a rotated origin
 * (begin + delta, the offset in their inputs). The span is split where the origin of either node reaches the
 * end of a round. */
static bool append_rotated(pto_checker_t *checker, const inputs_t *inputs, pto_content_t span) {
    pto_spans_t *rotated = &checker->present;
    int32_t members = (int32_t)(checker->source_node * inputs->per_node % inputs->count);
    int64_t end = span.end, round = inputs->round_bytes;
    span.set = pto_sets_rotate(&checker->sets, span.set, members, (int32_t)inputs->count);
    span.base = (int32_t)((span.base + members) % inputs->count);
    while (span.begin < end) {
        int64_t origin = span.begin + span.delta, in_round = origin % round;
        int64_t rotated_in_round = (in_round + inputs->rotation_bytes) % round;
        pto_content_t piece = span;
        if (!pto_spans_reserve(rotated, rotated->count + 1, &checker->sets))
            return pto_check_out_of_memory(checker);
        int64_t room = round - (rotated_in_round > in_round ? rotated_in_round : in_round);
        piece.end = end - span.begin < room ? end : span.begin + room;
        piece.delta = origin - in_round + rotated_in_round - span.begin;
        rotated->span[rotated->count++] = piece;
        span.begin = piece.end;
    }
    return true;
}

bool pto_check_rotate_moved(pto_checker_t *checker, int64_t holder) {
    inputs_t inputs = inputs_of(checker, holder);
    checker->present.count = 0;
    if (checker->moved.count > 0 && inputs.round_bytes <= 0)
        return pto_check_fail(checker, holder, "moves data that come from no input");
    for (int i = 0; i < checker->moved.count; i++) {
        pto_content_t span = checker->moved.span[i];
        if (span.set != PTO_SET_NONE && !append_rotated(checker, &inputs, span))
            return false;
    }
    pto_spans_t rotated = checker->present;
    checker->present = checker->moved;
    checker->moved = rotated;
    return true;
}

int64_t pto_check_rotated_begin(const pto_checker_t *checker, const pto_touch_t *range, int64_t node) {
    if (node == 0)
        return range->begin;
    int64_t round = round_bytes_of(checker, range->holder, range->buffer), in_round = range->begin % round;
    int64_t place = (in_round + rotation_bytes(checker, range->buffer, round, node)) % round;
    return place + (range->end - range->begin) <= round ? range->begin - in_round + place : -1;
}

bool pto_check_next_node_order(pto_checker_t *checker, int64_t rank, int buffer) {
    pto_contents_t *contents = pto_check_contents(checker, rank, buffer);
    checker->source_node = 1;
    pto_contents_read(contents, 0, checker->request->bytes, &checker->moved, &checker->sets);
    bool ok = pto_check_rotate_moved(checker, rank);
    checker->source_node = 0;
    for (int i = 0; i < checker->moved.count && ok; i++) {
        const pto_content_t *next = &checker->moved.span[i]; /* node 1 has it at its origin, begin + delta */
        pto_contents_read(contents, next->begin + next->delta, next->end + next->delta, &checker->present,
                          &checker->sets);
        for (int j = 0; j < checker->present.count && ok; j++)
            if (!pto_contents_same_order(next, &checker->present.span[j]))
                ok = pto_check_fail(checker, rank,
                                    "combines a vector in a different order from the next node");
    }
    return ok;
}
