/* Proofs of all nodes by node 0, of plans in which all nodes do the same (docs/decisions/0055).
 *
 * Number the nodes from another one on. The plan must not change: each rank does with its peers what the rank
 * at its place did before. Its buffers may turn, since block j of an alltoall's input is for owner j: the
 * contents of a buffer on one node are those on the node before, with other owners' numbers, and `turn`
 * blocks further on modulo their number. Every slice must name the turned bytes, in the same order. A copy or
 * a message of whole buffers, block by block, turns with them.
 *
 * A vector has one block, whose parts turn: within each process's share, if the processes of a GPU share the
 * vector. Parts differ by an element in size, so the plan is walked with a vector whose parts are of one
 * element each, and everything has to stay at its place.
 *
 * It then suffices to walk the ranks of node 0. Where one of them receives from another node, the rank at the
 * sender's place on node 0 sends the same, turned, to the node at the same distance. Memory is shared within
 * a node only, so accesses and clocks of node 0 are all that it needs; orders that lead through other nodes
 * are not known, so some plans are not proved in this way. */

#include <stdlib.h>

#include "check/check_internal.h"
#include "plan/plan_internal.h"

enum { NOT_YET = -1 };

/* --- how slices turn ------------------------------------------------------------------------------------ */

static bool is_always(const pto_expr_t *expr, int64_t constant) {
    return expr->constant == constant && pto_expr_is_constant(expr);
}

static int64_t index_count(const pto_plan_t *plan, const pto_slice_t *slice) {
    return pto_plan_buffer(plan, slice->buffer)->block_count / (slice->bundle > 1 ? slice->bundle : 1);
}

static bool depends_on_peer(const pto_slice_t *slice) {
    return slice->offset.peer || slice->align.peer || slice->first.peer || slice->run.peer ||
           slice->stride.peer || slice->until.peer;
}

/* By how much the anchor's number grows from one node to the next; negative: it has no such number. */
static int64_t anchor_turn(const pto_plan_t *plan, const pto_group_t *group, pto_peers_kind_t peers,
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
    case PTO_ANCHOR_ORDINAL:
        return !on_node && peers == PTO_PEERS_INDEX ? -1 : 0;
    case PTO_ANCHOR_ABSOLUTE:
    case PTO_ANCHOR_COUNT:
        break;
    }
    return 0;
}

/* Whether the slice's blocks are of the form that this file knows: whole, in parts, or the same piece of
 * each.
 */
static bool is_plain(const pto_slice_t *slice) { return slice->fold == 0 && slice->cells == PTO_CELLS_NONE; }

/* In slots, bundles are at the places of as many single blocks: blocks do not turn there. */
static bool is_in_slots(const pto_plan_t *plan, const pto_slice_t *slice) {
    return slice->bundle > 1 && pto_plan_buffer(plan, slice->buffer)->chunks > 0;
}

/* A slice that goes once around its buffer: pieces of as many blocks, as far apart, from where all nodes
 * begin. Turned by whole pieces, it names the same bytes. */
typedef struct {
    int64_t pieces; /* 0: it does not */
    bool is_cut;    /* else the pieces follow each other, and may be cut otherwise */
} round_t;

static round_t round_of(const pto_plan_t *plan, const pto_group_t *group, pto_peers_kind_t peers,
                        const pto_slice_t *slice) {
    int64_t count = index_count(plan, slice), run = slice->run.constant, stride = slice->stride.constant;
    if (!is_plain(slice) || slice->parts > 0 || is_in_slots(plan, slice) ||
        !pto_expr_is_constant(&slice->run) || !pto_expr_is_constant(&slice->stride) ||
        !is_always(&slice->first, 0) || !is_always(&slice->until, count) || count < 1 || run < 1 ||
        stride < 1 || slice->repeat > 1 || slice->reversed || anchor_turn(plan, group, peers, slice) != 0 ||
        ((slice->offset.peer || slice->align.peer) && !pto_group_is_on_node(group->kind)))
        return (round_t){0};
    bool is_divided = slice->chunks > 1 || slice->share != PTO_SHARE_ALL; /* each bundle, if there are any */
    if (run >= count || run == stride)
        return (round_t){.pieces = is_divided ? count : pto_plan_buffer(plan, slice->buffer)->block_count};
    return (round_t){.pieces = run < stride && count % stride == 0 ? count / stride : 0, .is_cut = true};
}

/* By how many pieces of its buffer a slice's bytes turn from one node to the next: blocks, or parts of the
 * only one; negative: not all nodes name alike bytes. */
static int64_t slice_turn(const pto_plan_t *plan, const pto_group_t *group, pto_peers_kind_t peers,
                          const pto_slice_t *slice) {
    int64_t parts = slice->parts > 0 ? slice->parts : 1, count = index_count(plan, slice) * parts;
    int64_t turn = anchor_turn(plan, group, peers, slice);
    if (turn < 0 || count < 1 || !is_plain(slice) ||
        (depends_on_peer(slice) && !pto_group_is_on_node(group->kind)))
        return -1;
    if (turn == 0)
        return 0;
    turn = turn * (slice->anchor_step > 1 ? slice->anchor_step : 1) % count;
    bool comes_round = turn * plan->request.layout.nodes % count == 0;
    if (slice->reverse_bits != 0 || !is_always(&slice->align, 0) || !comes_round || is_in_slots(plan, slice))
        return -1;
    if (pto_plan_buffer(plan, slice->buffer)->block_count == 1)
        return turn;
    return turn % parts == 0 ? turn / parts * (slice->bundle > 1 ? slice->bundle : 1) : -1;
}

/* --- how buffers turn ----------------------------------------------------------------------------------- */

typedef struct {
    const pto_plan_t *plan;
    pto_turn_t *turn;
    bool alike;
    bool changed;
} turns_t;

static void set_turn(turns_t *turns, int buffer, int64_t turn) {
    int64_t *known = &turns->turn[buffer].by;
    turns->changed = turns->changed || *known == NOT_YET;
    turns->alike = turns->alike && turn >= 0 && (*known == NOT_YET || *known == turn);
    *known = turn;
}

/* The parts of an only block, in which it may turn, are the same in all slices. */
static void set_parts(turns_t *turns, const pto_slice_t *slice) {
    pto_turn_t *turn = &turns->turn[slice->buffer];
    if (slice->parts == 0 || pto_plan_buffer(turns->plan, slice->buffer)->block_count > 1)
        return;
    int64_t rounds = slice->share == PTO_SHARE_ALL ? 1 : slice->share_count;
    turns->alike = turns->alike && slice->chunks <= 1 &&
                   (turn->pieces == 1 || (turn->pieces == slice->parts && turn->rounds == rounds));
    turn->pieces = slice->parts;
    turn->rounds = rounds;
}

static int64_t pieces_of(const turns_t *turns, int buffer) { return turns->turn[buffer].pieces; }

/* Set the turn of a buffer that turns by the same part of a round as another one. */
static void follow(turns_t *turns, int from, int to) {
    int64_t turn = turns->turn[from].by * pieces_of(turns, to);
    set_turn(turns, to, turn % pieces_of(turns, from) == 0 ? turn / pieces_of(turns, from) : -1);
}

/* Two buffers whose pieces move to each other's, in rounds: they turn together, and by whole pieces. */
static void join(turns_t *turns, int one, int other, int64_t pieces) {
    if (turns->turn[one].by != NOT_YET)
        follow(turns, one, other);
    else if (turns->turn[other].by != NOT_YET)
        follow(turns, other, one);
    else
        return;
    turns->alike = turns->alike && turns->turn[one].rounds == turns->turn[other].rounds &&
                   turns->turn[one].by * pieces % pieces_of(turns, one) == 0 &&
                   turns->turn[other].by * pieces % pieces_of(turns, other) == 0;
}

static round_t step_round(const turns_t *turns, const pto_step_t *step, const pto_slice_t *slice) {
    return round_of(turns->plan, pto_plan_group(turns->plan, step->group), step->peers.kind, slice);
}

/* Whether all messages of a stage are whole buffers of as many blocks, and so turn together. */
static bool moves_whole_buffers(const turns_t *turns, const pto_stage_t *stage) {
    int64_t blocks = -1;
    for (int i = 0; i < stage->step_count; i++) {
        const pto_step_t *step = pto_plan_step(turns->plan, stage->step_first + i);
        if (!pto_step_is_message(step))
            continue;
        round_t round = step_round(turns, step, pto_message_slice(step));
        if (round.pieces != pieces_of(turns, pto_message_slice(step)->buffer) || round.is_cut ||
            (blocks >= 0 && blocks != round.pieces))
            return false;
        blocks = round.pieces;
    }
    return true;
}

static void turn_slice(turns_t *turns, const pto_step_t *step, const pto_slice_t *slice) {
    const pto_group_t *group = pto_plan_group(turns->plan, step->group);
    set_parts(turns, slice);
    set_turn(turns, slice->buffer, slice_turn(turns->plan, group, step->peers.kind, slice));
}

static void turn_message(turns_t *turns, const pto_step_t *step, bool whole, int *first) {
    const pto_slice_t *slice = pto_message_slice(step);
    if (!whole) {
        turn_slice(turns, step, slice);
        return;
    }
    *first = *first < 0 ? slice->buffer : *first;
    join(turns, *first, slice->buffer, pieces_of(turns, slice->buffer));
}

/* The pieces in which a round moves to another one; 0: it does not. What is not cut is cut as the other is.
 */
static int64_t joined_pieces(round_t one, round_t other) {
    if (one.pieces == 0 || other.pieces == 0)
        return 0;
    if (one.is_cut == other.is_cut)
        return one.pieces == other.pieces ? one.pieces : 0;
    round_t cut = one.is_cut ? one : other, whole = one.is_cut ? other : one;
    return whole.pieces % cut.pieces == 0 ? cut.pieces : 0;
}

static void turn_copy(turns_t *turns, const pto_step_t *step) {
    int64_t pieces =
        joined_pieces(step_round(turns, step, &step->source), step_round(turns, step, &step->target));
    if (pieces > 0 && step->kind == PTO_STEP_COPY) {
        join(turns, step->source.buffer, step->target.buffer, pieces);
        return;
    }
    turn_slice(turns, step, &step->source);
    turn_slice(turns, step, &step->target);
}

static bool exists(const turns_t *turns, const pto_slice_t *slice) {
    return slice->buffer >= 0 && slice->buffer < pto_plan_buffer_count(turns->plan);
}

/* Plans of others may name what does not exist, which check reports. */
static bool names_parts(const turns_t *turns, const pto_stage_t *stage) {
    bool right = true;
    for (int i = 0; i < stage->step_count && right; i++) {
        const pto_step_t *step = pto_plan_step(turns->plan, stage->step_first + i);
        if (step->kind >= PTO_STEP_COUNT)
            return false;
        const pto_slice_t *source = pto_step_source(step);
        const pto_slice_t *target = pto_step_target(step);
        right = step->group >= 0 && step->group < turns->plan->groups.count &&
                (!source || exists(turns, source)) && (!target || exists(turns, target));
    }
    return right;
}

static void turn_stage(turns_t *turns, const pto_stage_t *stage) {
    turns->alike = turns->alike && names_parts(turns, stage);
    if (!turns->alike)
        return;
    bool whole = moves_whole_buffers(turns, stage);
    int first = -1;
    for (int i = 0; i < stage->step_count; i++) {
        const pto_step_t *step = pto_plan_step(turns->plan, stage->step_first + i);
        bool in_sequence = stage->order == PTO_ORDER_SEQUENCE;
        turns->alike = turns->alike && pto_step_is_alike_on_nodes(turns->plan, step, in_sequence) &&
                       step->kind != PTO_STEP_LAUNCH;
        if (pto_step_is_message(step))
            turn_message(turns, step, whole, &first);
        else if (pto_step_is_local(step))
            turn_copy(turns, step);
    }
}

/* A call takes and gives single blocks, so that what is one range on node 0 is one on all nodes. */
static void turn_call(turns_t *turns, const pto_node_t *node) {
    const pto_call_slices_t *call = pto_plan_call(turns->plan, node->call);
    turns->alike = turns->alike && node->group >= 0 && node->group < turns->plan->groups.count &&
                   exists(turns, &call->in) && exists(turns, &call->out);
    if (!turns->alike)
        return;
    const pto_group_t *group = pto_plan_group(turns->plan, node->group);
    const pto_slice_t *slices[] = {&call->in, &call->out};
    bool by_core = pto_group_traits[group->kind].color & PTO_BY_CORE;
    turns->alike =
        turns->alike && group->fold == 0 &&
        (node->collective == PTO_COLLECTIVE_ALLTOALL || node->collective == PTO_COLLECTIVE_ALLTOALLV ||
         pto_collective_is_allgather(node->collective)) &&
        pto_plan_buffer(turns->plan, call->in.buffer)->chunks == 0 &&
        (by_core || pto_plan_buffer(turns->plan, call->in.buffer)->split <= 1);
    for (int i = 0; i < 2; i++) {
        turns->alike = turns->alike && is_always(&slices[i]->first, 0) && is_always(&slices[i]->until, 1);
        set_turn(turns, slices[i]->buffer, slice_turn(turns->plan, group, PTO_PEERS_INDEX, slices[i]));
    }
}

/* Block i of an owner's buffer is for or from owner i. A vector has one. */
static void turn_users(turns_t *turns) {
    const pto_request_t *request = &turns->plan->request;
    int64_t per_node = request->layout.gpus_per_node * request->layout.owners_per_gpu;
    int64_t owners = per_node * request->layout.nodes;
    for (int b = 0; b < pto_plan_buffer_count(turns->plan); b++) {
        const pto_buffer_t *buffer = pto_plan_buffer(turns->plan, b);
        int64_t blocks = buffer->role == PTO_ROLE_IN ? pto_collective_blocks_in(request->collective, owners)
                                                     : pto_collective_blocks_out(request->collective, owners);
        turns->alike = turns->alike && buffer->blocks == PTO_BLOCKS_EQUAL &&
                       buffer->cyclic == PTO_CYCLIC_NONE && buffer->held_stride <= 1 &&
                       buffer->user_stride <= 1 && !pto_role_is_host(buffer->role);
        if (buffer->role == PTO_ROLE_TEMPORARY)
            continue;
        turns->alike = turns->alike && buffer->block_count == blocks &&
                       buffer->block_bytes == request->bytes && buffer->chunks == 0 && buffer->split <= 1;
        if (!pto_collective_is_vector(request->collective))
            set_turn(turns, b, blocks == 1 ? 0 : per_node);
    }
}

static void turn_nodes(turns_t *turns) {
    for (int n = 0; n < pto_plan_node_count(turns->plan); n++) {
        const pto_node_t *node = pto_plan_node(turns->plan, n);
        turns->alike = turns->alike && node->kind != PTO_NODE_KERNEL && node->kind != PTO_NODE_EITHER;
        if (node->kind == PTO_NODE_STAGE)
            turn_stage(turns, pto_plan_stage(turns->plan, node->stage));
        else if (node->kind == PTO_NODE_COLLECTIVE)
            turn_call(turns, node);
    }
}

/* Elements of a vector in parts of one element each. */
static int64_t elements_of(const pto_plan_t *plan, const pto_turn_t *turn, int buffer) {
    int64_t split = pto_plan_buffer(plan, buffer)->split;
    return turn[buffer].pieces * turn[buffer].rounds * (split > 1 ? split : 1);
}

/* Whether all buffers are vectors of parts that turn alike, and no part is empty. */
static bool vectors_turn(const pto_plan_t *plan, const pto_turn_t *turn) {
    const pto_request_t *request = &plan->request;
    int64_t elements = elements_of(plan, turn, 0), element = pto_datatype_bytes(request->datatype);
    bool alike = request->bytes / element >= elements;
    for (int b = 0; b < pto_plan_buffer_count(plan); b++) {
        const pto_buffer_t *buffer = pto_plan_buffer(plan, b);
        alike = alike && buffer->block_count == 1 && buffer->block_bytes == request->bytes &&
                buffer->chunks == 0 && buffer->granularity_bytes == element && turn[b].by == turn[0].by &&
                turn[b].pieces == turn[0].pieces && elements_of(plan, turn, b) == elements;
    }
    return alike;
}

bool pto_check_make_even(pto_checker_t *checker) {
    const pto_plan_t *plan = checker->plan;
    if (!pto_collective_is_vector(plan->request.collective))
        return true;
    checker->even = malloc(sizeof *checker->even + (size_t)checker->buffers * sizeof(pto_buffer_t));
    if (!checker->even)
        return pto_check_out_of_memory(checker);
    pto_buffer_t *buffer = (pto_buffer_t *)(void *)(checker->even + 1);
    int64_t bytes = elements_of(plan, checker->turn, 0) * pto_datatype_bytes(plan->request.datatype);
    for (int b = 0; b < checker->buffers; b++) {
        buffer[b] = *pto_plan_buffer(plan, b);
        buffer[b].block_bytes = bytes;
    }
    *checker->even = *plan;
    checker->even->buffers.item = buffer;
    checker->even->request.bytes = bytes;
    checker->walk.plan = checker->plan = checker->even;
    checker->request = &checker->even->request;
    return true;
}

bool pto_check_keeps_place(const pto_checker_t *checker, const pto_touch_t *target,
                           const pto_content_t *span) {
    bool is_share = pto_plan_buffer(checker->plan, target->buffer)->split > 1;
    int64_t core = target->holder % checker->request->layout.procs_per_gpu;
    int64_t share_bytes = checker->bytes[target->holder * checker->buffers + target->buffer];
    return span->delta == (is_share ? core * share_bytes : 0);
}

static bool may_be_alike(const pto_request_t *request) {
    return (pto_collective_data(request->collective) == PTO_DATA_BLOCKS ||
            pto_collective_is_allgather(request->collective) ||
            request->collective == PTO_COLLECTIVE_ALLREDUCE ||
            request->collective == PTO_COLLECTIVE_REDUCE_SCATTER) &&
           request->layout.nodes > 1 && !pto_request_host_counts(request) &&
           !(request->mapping && request->mapping->count > 0) &&
           !(request->counts && pto_counts_differ(request->counts));
}

bool pto_check_nodes_alike(const pto_plan_t *plan, pto_turn_t *turn) {
    turns_t turns = {.plan = plan, .turn = turn, .alike = may_be_alike(&plan->request), .changed = true};
    int buffers = pto_plan_buffer_count(plan);
    for (int b = 0; b < buffers; b++)
        turn[b] = (pto_turn_t){NOT_YET, pto_plan_buffer(plan, b)->block_count, 1};
    if (turns.alike)
        turn_users(&turns);
    while (turns.alike && turns.changed) { /* until all buffers that turn together do */
        turns.changed = false;
        turn_nodes(&turns);
    }
    bool is_vector = pto_collective_is_vector(plan->request.collective);
    for (int b = 0; b < buffers; b++) {
        int64_t blocks = pto_plan_buffer(plan, b)->block_count;
        if (turn[b].by == NOT_YET || (turn[b].by == 0 && !is_vector))
            turn[b] = (pto_turn_t){0, blocks, 1};
        turns.alike = turns.alike && (is_vector || turn[b].pieces == blocks);
    }
    return turns.alike && (!is_vector || vectors_turn(plan, turn));
}

/* --- turning contents ----------------------------------------------------------------------------------- */

/* The meaning of an owner's or a member's number in an input that turns. */
typedef struct {
    int64_t count;       /* of the owners or members, */
    int64_t per_node;    /* and on a node; 0: the same numbers on all nodes */
    int64_t round_bytes; /* of an input */
    int64_t turn_bytes;  /* from node 0's contents to those of node checker->nodes_on */
} inputs_t;

/* Bytes by which a round of a buffer turns over this number of nodes. */
static int64_t bytes_over(const pto_checker_t *checker, int buffer, int64_t round_bytes, int64_t nodes_on) {
    const pto_turn_t *turn = &checker->turn[buffer];
    return round_bytes / turn->pieces * (nodes_on * turn->by % turn->pieces);
}

static int64_t round_bytes_of(const pto_checker_t *checker, int64_t rank, int buffer) {
    int64_t held = checker->bytes[rank * checker->buffers + buffer];
    return held < 0 ? -1 : held / checker->turn[buffer].rounds;
}

static int input_buffer(const pto_plan_t *plan) {
    int buffer = 0;
    while (pto_plan_buffer(plan, buffer)->role != PTO_ROLE_IN)
        buffer++;
    return buffer;
}

/* Those of the user, or of the call whose stages are walked. */
static inputs_t inputs_of(const pto_checker_t *checker, int64_t holder) {
    const pto_layout_t *layout = &checker->request->layout;
    inputs_t inputs = {.per_node = layout->gpus_per_node * layout->owners_per_gpu};
    int buffer = input_buffer(checker->plan);
    inputs.count = inputs.per_node * layout->nodes;
    inputs.round_bytes = checker->request->bytes * pto_plan_buffer(checker->plan, buffer)->block_count /
                         checker->turn[buffer].rounds;
    if (checker->collective >= 0) {
        const pto_node_t *node = pto_plan_node(checker->plan, checker->collective);
        const pto_group_t *group = pto_plan_group(checker->plan, node->group);
        buffer = pto_plan_call(checker->plan, node->call)->in.buffer;
        inputs.count = group->size;
        inputs.per_node = pto_group_is_on_node(group->kind) ? 0 : group->members_per_node;
        inputs.round_bytes = round_bytes_of(checker, holder, buffer);
    }
    inputs.turn_bytes = bytes_over(checker, buffer, inputs.round_bytes, checker->nodes_on);
    return inputs;
}

/* Append a span to checker->present, turned. Where its turned place wraps around the end of a round, it
 * becomes two. */
static bool turn_span(pto_checker_t *checker, const inputs_t *inputs, pto_content_t span) {
    pto_spans_t *turned = &checker->present;
    int32_t members = (int32_t)(checker->nodes_on * inputs->per_node % inputs->count);
    int64_t end = span.end, round = inputs->round_bytes;
    span.set = pto_sets_turn(&checker->sets, span.set, members, (int32_t)inputs->count);
    span.base = (int32_t)((span.base + members) % inputs->count);
    while (span.begin < end) {
        int64_t origin = span.begin + span.delta, place = (origin % round + inputs->turn_bytes) % round;
        pto_content_t piece = span;
        if (!pto_spans_reserve(turned, turned->count + 1, &checker->sets))
            return pto_check_out_of_memory(checker);
        int64_t room = round - (place > origin % round ? place : origin % round);
        piece.end = end - span.begin < room ? end : span.begin + room;
        piece.delta = origin - origin % round + place - span.begin;
        turned->span[turned->count++] = piece;
        span.begin = piece.end;
    }
    return true;
}

bool pto_check_turn_moved(pto_checker_t *checker, int64_t holder) {
    inputs_t inputs = inputs_of(checker, holder);
    checker->present.count = 0;
    if (checker->moved.count > 0 && inputs.round_bytes <= 0)
        return pto_check_fail(checker, holder, "moves what is of no input");
    for (int i = 0; i < checker->moved.count; i++) {
        pto_content_t span = checker->moved.span[i];
        if (span.set != PTO_SET_NONE && !turn_span(checker, &inputs, span))
            return false;
    }
    pto_spans_t turned = checker->present;
    checker->present = checker->moved;
    checker->moved = turned;
    return true;
}

int64_t pto_check_turned(const pto_checker_t *checker, const pto_touch_t *range, int64_t nodes_on) {
    if (nodes_on == 0)
        return range->begin;
    int64_t round = round_bytes_of(checker, range->holder, range->buffer), in_round = range->begin % round;
    int64_t place = (in_round + bytes_over(checker, range->buffer, round, nodes_on)) % round;
    return place + (range->end - range->begin) <= round ? range->begin - in_round + place : -1;
}

bool pto_check_next_node_order(pto_checker_t *checker, int64_t rank, int buffer) {
    pto_spans_t *contents = pto_check_contents(checker, rank, buffer);
    checker->nodes_on = 1;
    pto_contents_read(contents, 0, checker->request->bytes, &checker->moved, &checker->sets);
    bool right = pto_check_turn_moved(checker, rank);
    checker->nodes_on = 0;
    for (int i = 0; i < checker->moved.count && right; i++) {
        const pto_content_t *next = &checker->moved.span[i];
        pto_contents_read(contents, next->begin + next->delta, next->end + next->delta, &checker->present,
                          &checker->sets);
        for (int j = 0; j < checker->present.count && right; j++)
            if (!pto_contents_same_order(next, &checker->present.span[j]))
                right =
                    pto_check_fail(checker, rank, "combines a vector in another order than the next node");
    }
    return right;
}
