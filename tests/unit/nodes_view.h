/* What all ranks of a plan do, as one number for each node, in which ranks and blocks have the names that
 * node 0 would give them. */
#ifndef PTO_TEST_NODES_VIEW_H
#define PTO_TEST_NODES_VIEW_H

#include "check/check_internal.h"
#include "plan/plan_internal.h"
#include "test.h"

/* --- what ranks do, as numbers -------------------------------------------------------------------------- */

enum { RANKS_MAX = 64, BUFFERS_MAX = 64 };

/* The view of one node: ranks and blocks as node 0 would name them. */
typedef struct {
    const pto_plan_t *plan;
    const pto_rotation_t *turn;
    int64_t node;
    int64_t per_node; /* ranks */
    int64_t ranks;
    bool right; /* nothing invalid was met */
} view_t;

static uint64_t mixed(uint64_t hash, int64_t value) {
    hash = (hash ^ (uint64_t)value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static int64_t seen_rank(const view_t *view, int64_t rank) {
    return (rank - view->node * view->per_node + view->ranks) % view->ranks;
}

/* Where the byte of a rank's buffer is on node 0, if pieces turn. */
static int64_t seen_byte(const view_t *view, int buffer, int64_t holder, int64_t byte) {
    const pto_buffer_t *what = pto_plan_buffer(view->plan, buffer);
    const pto_rotation_t *turn = &view->turn[buffer];
    int64_t rounds = what->chunks > 0 ? what->slots : turn->rounds;
    int64_t round_bytes = pto_buffer_bytes(view->plan, buffer, holder) / rounds;
    int64_t piece_bytes = round_bytes / turn->pieces, in_round = byte % round_bytes;
    int64_t piece = in_round / piece_bytes - view->node * turn->by;
    piece = (piece % turn->pieces + turn->pieces) % turn->pieces;
    return byte - in_round + piece * piece_bytes + in_round % piece_bytes;
}

/* The bytes that a slice names, in order. */
typedef struct {
    view_t *view;
    int buffer;
    int64_t holder;
    int64_t count;
    int64_t capacity;
    int64_t *seen; /* the view's names of them */
} named_t;

static bool add_named(void *context, int64_t offset_bytes, int64_t bytes) {
    named_t *named = context;
    if (offset_bytes < 0 ||
        offset_bytes + bytes > pto_buffer_bytes(named->view->plan, named->buffer, named->holder))
        return named->view->right = false;
    if (named->count + bytes > named->capacity) {
        named->capacity = 2 * (named->count + bytes);
        named->seen = realloc(named->seen, (size_t)named->capacity * sizeof *named->seen);
        assert_non_null(named->seen);
    }
    for (int64_t i = 0; i < bytes; i++)
        named->seen[named->count++] = seen_byte(named->view, named->buffer, named->holder, offset_bytes + i);
    return true;
}

/* False if check would refuse the slice. */
static bool is_valid(const pto_plan_t *plan, const pto_slice_t *slice, const pto_action_t *action,
                     int64_t holder) {
    int64_t k = action->k, core = action->core, peer = action->peer;
    if (k < 0 || k > 30 || !pto_buffer_holds(plan, slice->buffer, holder))
        return false;
    const pto_buffer_t *buffer = pto_plan_buffer(plan, slice->buffer);
    int64_t first = pto_expr_at(&slice->first, k, core, peer),
            until = pto_expr_at(&slice->until, k, core, peer);
    if (first >= until)
        return true;
    if (pto_expr_at(&slice->run, k, core, peer) < 0 || pto_expr_at(&slice->stride, k, core, peer) < 1)
        return false;
    int64_t most = buffer->block_count * (slice->parts > 0 ? slice->parts : 1);
    most = (slice->bundle > 1 ? most / slice->bundle : most) - slice->fold;
    return pto_slice_block_count(slice, k, core, peer) <= most;
}

static void name(view_t *view, const pto_slice_t *slice, const pto_action_t *action, named_t *named) {
    named->view = view;
    named->buffer = slice->buffer;
    named->holder = pto_slice_holder(view->plan, slice, action);
    named->count = 0;
    view->right = view->right && is_valid(view->plan, slice, action, named->holder);
    if (view->right)
        pto_slice_visit(view->plan, slice, action, add_named, named);
    named->view = NULL;
}

/* Which byte goes where. Where there are too few or too many, the plan is refused for it. */
static uint64_t move_of(const view_t *view, const named_t *source, const named_t *target) {
    uint64_t sum = 0, ends = mixed(mixed(1, source->buffer), target->buffer);
    ends = mixed(mixed(ends, seen_rank(view, source->holder)), seen_rank(view, target->holder));
    for (int64_t i = 0; i < source->count && source->count == target->count; i++)
        sum += mixed(mixed(ends, source->seen[i]), target->seen[i]);
    return mixed(mixed(sum, source->count), target->count);
}

static bool next_action(view_t *view, int64_t *next, pto_action_t *action) {
    const pto_group_t *group = pto_plan_group(view->plan, action->step->group);
    if (action->step->peers.kind != PTO_PEERS_NONE && pto_step_peer_count(view->plan, action) > 1000)
        return view->right = false;
    if (!view->right || !pto_step_next(view->plan, next, action))
        return false;
    if (action->step->peers.kind != PTO_PEERS_NONE &&
        (action->peer < 0 || action->peer >= group->size || action->peer_rank >= view->ranks))
        return view->right = false;
    return true;
}

static bool acts(view_t *view, const pto_step_t *step, int64_t rank, int64_t k, pto_action_t *action) {
    int64_t core = rank % view->plan->request.layout.procs_per_gpu;
    if (k < 0 || k > 30 || pto_expr_at(&step->who_stride, k, core, 0) < 1 ||
        (step->peers.kind != PTO_PEERS_NONE && pto_expr_at(&step->peers.stride, k, core, 0) < 1))
        return view->right = false;
    return pto_step_acts(view->plan, step, rank, k, action);
}

/* Copies and signals of one rank in a stage: in order, if they are in one. */
static uint64_t local_deeds(view_t *view, const pto_walk_t *walk, int64_t rank) {
    static named_t source, target;
    uint64_t deeds = 0;
    for (int i = 0; i < walk->stage->step_count && view->right; i++) {
        const pto_step_t *step = pto_plan_step(view->plan, walk->stage->step_first + i);
        pto_action_t action;
        if (pto_step_is_message(step) || !acts(view, step, rank, walk->k, &action))
            continue;
        for (int64_t next = 0; next_action(view, &next, &action);) {
            uint64_t deed = mixed((uint64_t)i, step->kind);
            if (pto_step_is_signal(step)) {
                deed = mixed(mixed(deed, step->flag), seen_rank(view, action.peer_rank));
            } else if (pto_step_is_local(step)) {
                name(view, &step->source, &action, &source);
                name(view, &step->target, &action, &target);
                deed = source.count + target.count > 0 ? deed + move_of(view, &source, &target) : 0;
            }
            bool ordered = walk->stage->order == PTO_ORDER_SEQUENCE && deed != 0;
            deeds = ordered ? mixed(deeds, (int64_t)deed) : deeds + deed;
        }
    }
    return deeds;
}

/* --- messages ------------------------------------------------------------------------------------------- */

typedef struct {
    pto_action_t action;
    bool send;
    bool met;
} end_t;

static struct {
    end_t item[1200];
    int count;
} ends;

static void find_ends(view_t *view, const pto_walk_t *walk, bool send) {
    static named_t named;
    for (int i = 0; i < walk->stage->step_count; i++) {
        const pto_step_t *step = pto_plan_step(view->plan, walk->stage->step_first + i);
        pto_action_t action;
        if (step->kind != (send ? PTO_STEP_SEND : PTO_STEP_RECV))
            continue;
        for (int64_t rank = 0; rank < view->ranks && view->right; rank++) {
            if (!acts(view, step, rank, walk->k, &action))
                continue;
            for (int64_t next = 0; next_action(view, &next, &action);) {
                name(view, pto_message_slice(step), &action, &named);
                if (named.count == 0 && !step->send_empty)
                    continue;
                if (ends.count == sizeof ends.item / sizeof *ends.item)
                    view->right = false;
                else
                    ends.item[ends.count++] = (end_t){action, send, false};
            }
        }
    }
}

static void find_all_ends(view_t *view, const pto_walk_t *walk) {
    ends.count = 0;
    find_ends(view, walk, true);
    find_ends(view, walk, false);
}

/* The first receive that a send has not met yet. */
static end_t *receive_of(const end_t *send) {
    for (int i = 0; i < ends.count; i++) {
        end_t *end = &ends.item[i];
        if (!end->send && !end->met && end->action.rank == send->action.peer_rank &&
            end->action.peer_rank == send->action.rank)
            return end;
    }
    return NULL;
}

/* What the node's ranks receive, and what nobody receives or sends. */
static uint64_t message_deeds(view_t *view) {
    static named_t source, target;
    uint64_t deeds = 0;
    for (int i = 0; i < ends.count; i++)
        ends.item[i].met = false;
    for (int i = 0; i < ends.count && view->right; i++) {
        end_t *send = &ends.item[i], *receive = send->send ? receive_of(send) : NULL;
        if (receive)
            receive->met = true;
        int64_t at = receive || !send->send ? (receive ? receive : send)->action.rank : send->action.rank;
        if (at / view->per_node != view->node || (!send->send && send->met))
            continue;
        if (!receive) {
            deeds += mixed(mixed(mixed(7, send->send), seen_rank(view, send->action.rank)),
                           seen_rank(view, send->action.peer_rank));
            continue;
        }
        name(view, &send->action.step->source, &send->action, &source);
        name(view, &receive->action.step->target, &receive->action, &target);
        deeds += move_of(view, &source, &target);
    }
    return deeds;
}

/* --- calls ---------------------------------------------------------------------------------------------- */

static uint64_t call_deeds(view_t *view, const pto_node_t *node) {
    static named_t source, target;
    const pto_group_t *group = pto_plan_group(view->plan, node->group);
    const pto_call_slices_t *slices = pto_plan_call(view->plan, node->call);
    int64_t procs = view->plan->request.layout.procs_per_gpu;
    uint64_t deeds = 0;
    for (int64_t rank = view->node * view->per_node; rank < (view->node + 1) * view->per_node; rank++) {
        int64_t me = pto_collective_member(view->plan, node, rank);
        deeds = mixed(deeds, me >= 0);
        for (int64_t from = 0; me >= 0 && from < group->size && view->right; from++) {
            int64_t sender = pto_group_rank(view->plan, group, rank, from);
            pto_action_t gives = {.rank = sender, .core = sender % procs, .me = from, .peer = me};
            pto_action_t gets = {.rank = rank, .core = rank % procs, .me = me, .peer = from};
            gives.peer_rank = rank;
            gets.peer_rank = sender;
            name(view, &slices->in, &gives, &source);
            name(view, &slices->out, &gets, &target);
            deeds += move_of(view, &source, &target);
        }
    }
    return deeds;
}

/* --- comparing nodes ------------------------------------------------------------------------------------ */

static uint64_t stage_deeds(view_t *view, const pto_walk_t *walk) {
    uint64_t deeds = message_deeds(view);
    for (int64_t place = 0; place < view->per_node; place++)
        deeds += mixed(local_deeds(view, walk, view->node * view->per_node + place), place);
    return deeds;
}

static const char *difference(view_t *view) {
    const pto_plan_t *plan = view->plan;
    int64_t nodes = plan->request.layout.nodes;
    pto_walk_t walk;
    pto_walk_begin(&walk, plan);
    while (view->right && pto_walk_next(&walk)) {
        uint64_t first = 0;
        find_all_ends(view, &walk);
        for (int64_t node = 0; node < nodes && view->right; node++) {
            view->node = node;
            uint64_t deeds = stage_deeds(view, &walk);
            first = node == 0 ? deeds : first;
            if (deeds != first && view->right)
                return walk.stage->name;
        }
        view->node = 0;
    }
    for (int n = 0; n < pto_plan_node_count(plan) && view->right; n++) {
        uint64_t first = 0;
        if (pto_plan_node(plan, n)->kind != PTO_NODE_COLLECTIVE)
            continue;
        for (int64_t node = 0; node < nodes && view->right; node++) {
            view->node = node;
            uint64_t deeds = call_deeds(view, pto_plan_node(plan, n));
            first = node == 0 ? deeds : first;
            if (deeds != first && view->right)
                return "call";
        }
    }
    return NULL;
}

#endif
