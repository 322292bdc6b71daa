/* Describes a plan's arithmetic in words: expressions, sets of peers and slices (text.h). */
#include "print/text.h"

#include <string.h>

#include "base/names.h"
#include "plan/plan_internal.h"
#include "portolan/units.h"

void pto_text_bytes(pto_text_t *text, int64_t bytes) {
    const char *size = PTO_BYTES_TEXT(bytes);
    pto_text_add(text, strchr(size, 'B') ? "%s" : "%s B", size);
}

void pto_text_rank(pto_text_t *text, const pto_plan_t *plan, int64_t rank) {
    pto_rank_t place = pto_layout_rank(&pto_plan_request(plan)->layout, rank);
    pto_text_add(text, "rank %lld (%lld %lld %lld)", (long long)rank, (long long)place.node,
                 (long long)place.gpu, (long long)place.core);
}

/* Adds a term of a sum: `coefficient` times `unit`, after its sign. `begun`: the sum already has terms. */
static void add_term(pto_text_t *text, int64_t coefficient, const char *unit, bool *begun) {
    if (coefficient == 0)
        return;
    if (*begun)
        pto_text_add(text, coefficient < 0 ? " - " : " + ");
    else if (coefficient < 0)
        pto_text_add(text, "-");
    long long size = coefficient < 0 ? -(long long)coefficient : (long long)coefficient;
    if (*unit == '\0')
        pto_text_add(text, "%lld", size);
    else if (size == 1)
        pto_text_add(text, "%s", unit);
    else
        pto_text_add(text, "%lld*%s", size, unit);
    *begun = true;
}

/* Adds the terms of an expression to a sum. The rank's core is known: its term is part of the constant. */
static void add_expr_terms(pto_text_t *text, pto_expr_t expr, int64_t core, bool *begun) {
    add_term(text, expr.loop, "k", begun);
    add_term(text, expr.power, "2^k", begun);
    if (expr.inverse) {
        long long size = expr.inverse < 0 ? -(long long)expr.inverse : (long long)expr.inverse;
        pto_text_add(text, "%s%lld/2^k", expr.inverse < 0 ? " - " : *begun ? " + " : "", size);
        *begun = true;
    }
    add_term(text, expr.peer, "peer", begun);
    add_term(text, expr.constant + expr.core * core, "", begun);
}

static void add_expr(pto_text_t *text, pto_expr_t expr, int64_t core) {
    bool begun = false;
    add_expr_terms(text, expr, core, &begun);
    if (!begun)
        pto_text_add(text, "0");
}

static pto_expr_t negated(pto_expr_t expr) {
    return (pto_expr_t){-expr.constant, -expr.loop, -expr.power, -expr.inverse, -expr.core, -expr.peer};
}

/* Returns whether `b` is `a` + 1. */
static bool follows(pto_expr_t a, pto_expr_t b) {
    a.constant++;
    return pto_expr_same(&a, &b);
}

static void add_every(pto_text_t *text, pto_expr_t stride, int64_t core) {
    if (pto_expr_is(&stride, 1))
        return;
    pto_text_add(text, ", one every ");
    add_expr(text, stride, core);
}

/* "1 .. k + 3, one every 2" */
static void add_range(pto_text_t *text, const pto_peers_t *peers, int64_t core) {
    pto_expr_t last = peers->until;
    last.constant--;
    add_expr(text, peers->first, core);
    pto_text_add(text, " .. ");
    add_expr(text, last, core);
    add_every(text, peers->stride, core);
}

const char *pto_text_member(const pto_group_t *group) {
    return pto_group_traits[group->kind].member[group->fold > 0];
}

static void add_shift(pto_text_t *text, const pto_peers_t *peers, const pto_group_t *group, int64_t core) {
    bool begun = true, one = follows(peers->first, peers->until);
    const char *sign = peers->sign < 0 ? "-" : "+";
    if (one) {
        pto_text_add(text, "%s (me", pto_text_member(group));
        add_expr_terms(text, peers->sign < 0 ? negated(peers->first) : peers->first, core, &begun);
        pto_text_add(text, ") mod %lld", (long long)group->size);
        return;
    }
    pto_text_add(text, "%ss (me %s d) mod %lld for d = ", pto_text_member(group), sign,
                 (long long)group->size);
    add_range(text, peers, core);
}

static void add_indices(pto_text_t *text, const pto_peers_t *peers, const pto_group_t *group, int64_t core) {
    bool one = follows(peers->first, peers->until);
    pto_text_add(text, one ? "%s " : "%ss ", pto_text_member(group));
    if (one)
        add_expr(text, peers->first, core);
    else
        add_range(text, peers, core);
}

static void add_torus(pto_text_t *text, const pto_peers_t *peers, const pto_group_t *group, int64_t core) {
    pto_text_add(text, "%s (me %c j) mod %lld of the %s node for j = ", pto_text_member(group),
                 peers->sign < 0 ? '-' : '+', (long long)group->members_per_node,
                 peers->node_shift < 0 ? "previous" : "next");
    add_range(text, peers, core);
}

static void add_grid(pto_text_t *text, const pto_halo_t *grid) {
    for (int d = 0; d < grid->dim_count; d++)
        pto_text_add(text, "%s%lld%s", d ? " x " : "", (long long)grid->dims[d],
                     grid->wrap[d] ? " (wraps)" : "");
}

static void add_direction(pto_text_t *text, const pto_halo_t *grid, const int *shift) {
    for (int d = 0; d < grid->dim_count; d++)
        pto_text_add(text, "%s%+d", d ? ", " : "(", shift[d]);
    pto_text_add(text, ")");
}

static void add_cart(pto_text_t *text, const pto_plan_t *plan, const pto_peers_t *peers) {
    pto_text_add(text, "neighbor ");
    add_direction(text, &plan->request.halo, peers->shift);
    pto_text_add(text, " on the grid ");
    add_grid(text, &plan->request.halo);
}

/* The cells of a halo exchange for the step's peers, or for the rank itself at a shift. */
static void add_cells(pto_text_t *text, const pto_plan_t *plan, const pto_slice_t *slice,
                      const pto_action_t *action) {
    bool border = slice->cells == PTO_CELLS_BORDER;
    const pto_peers_t *peers = &action->step->peers;
    pto_text_add(text, border ? "border towards " : "halo towards ");
    if (peers->kind == PTO_PEERS_NONE)
        add_direction(text, &plan->request.halo, peers->shift);
    else
        pto_text_add(text, border ? "it" : "the sender");
}

void pto_text_peers(pto_text_t *text, const pto_plan_t *plan, const pto_action_t *action) {
    const pto_peers_t *peers = &action->step->peers;
    const pto_group_t *group = pto_plan_group(plan, action->step->group);
    switch (peers->kind) {
    case PTO_PEERS_SHIFT:
        add_shift(text, peers, group, action->core);
        break;
    case PTO_PEERS_XOR:
        pto_text_add(text, "%s me xor ", pto_text_member(group));
        add_expr(text, peers->first, action->core);
        break;
    case PTO_PEERS_INDEX:
        add_indices(text, peers, group, action->core);
        break;
    case PTO_PEERS_TORUS:
        add_torus(text, peers, group, action->core);
        break;
    case PTO_PEERS_CART:
        add_cart(text, plan, peers);
        break;
    case PTO_PEERS_GRID:
        pto_text_add(text, "each neighbor on the grid ");
        add_grid(text, &plan->request.halo);
        break;
    case PTO_PEERS_NONE:
    case PTO_PEERS_COUNT:
        break;
    }
}

static PTO_NAME_FUNCTION(anchor_name, pto_anchor_t, PTO_ANCHOR_COUNT, "",
                         {[PTO_ANCHOR_ABSOLUTE] = "",
                          [PTO_ANCHOR_ME] = "me",
                          [PTO_ANCHOR_PEER] = "peer",
                          [PTO_ANCHOR_HOLDER] = "holder",
                          [PTO_ANCHOR_ORDINAL] = "j"});

/* The block number from which a slice counts, plus `also`: "me - k", "peer", "bit-reversed me". */
static void add_base(pto_text_t *text, const pto_slice_t *slice, pto_expr_t also, int64_t core) {
    bool begun = slice->anchor != PTO_ANCHOR_ABSOLUTE;
    if (slice->reverse_bits > 0)
        pto_text_add(text, "bit-reversed ");
    if (slice->anchor_step > 1)
        pto_text_add(text, "%lld*", (long long)slice->anchor_step);
    pto_text_add(text, "%s", anchor_name(slice->anchor));
    pto_expr_t sum = {slice->offset.constant + also.constant, slice->offset.loop + also.loop,
                      slice->offset.power + also.power,       slice->offset.inverse + also.inverse,
                      slice->offset.core + also.core,         slice->offset.peer + also.peer};
    add_expr_terms(text, sum, core, &begun);
    if (!begun)
        pto_text_add(text, "0");
}

/* Several blocks: their numbers, start and order. */
static void add_runs(pto_text_t *text, const pto_slice_t *slice, const char *noun, int64_t core) {
    pto_expr_t first = slice->reversed ? negated(slice->first) : slice->first;
    if (pto_expr_same(&slice->run, &slice->until) && pto_expr_is(&slice->first, 0)) {
        add_expr(text, slice->run, core);
        pto_text_add(text, " %ss %s ", noun, pto_expr_is(&slice->align, 0) ? "from" : "around");
        add_base(text, slice, first, core);
    } else {
        if (!pto_expr_is(&slice->run, 1)) {
            pto_text_add(text, "runs of ");
            add_expr(text, slice->run, core);
            pto_text_add(text, " ");
        }
        pto_text_add(text, "%ss from ", noun);
        add_base(text, slice, first, core);
        add_every(text, slice->stride, core);
    }
    if (slice->reversed)
        pto_text_add(text, ", downwards");
}

static void add_share(pto_text_t *text, const pto_slice_t *slice, const pto_action_t *action) {
    if (slice->share == PTO_SHARE_MINE)
        pto_text_add(text, ", share %lld of %lld", (long long)action->core, (long long)slice->share_count);
    else if (slice->share == PTO_SHARE_PEERS)
        pto_text_add(text, ", the peer's share of %lld", (long long)slice->share_count);
}

/* Returns whether a slice is a single block in some iterations and empty in the others (as in staged_ring.c):
 * its only value, 0, is below `until` then. `available`: the number of blocks, which the stride exceeds. */
static bool is_of_some_rounds(const pto_slice_t *slice, int64_t available) {
    int64_t per_round = slice->until.loop;
    return (per_round == 1 || per_round == -1) && pto_expr_is(&slice->first, 0) &&
           pto_expr_is(&slice->run, 1) && slice->stride.constant > available;
}

void pto_text_slice(pto_text_t *text, const pto_plan_t *plan, const pto_slice_t *slice,
                    const pto_action_t *action) {
    const pto_buffer_t *buffer = pto_plan_buffer(plan, slice->buffer);
    bool bundled = slice->bundle > 1;
    const char *noun = slice->parts > 0 ? "part" : bundled ? "bundle" : "block";
    int64_t available = buffer->block_count * (slice->parts > 0 ? slice->parts : 1);
    if (bundled)
        available /= slice->bundle;
    available -= slice->fold;
    if (slice->holder == PTO_HOLDER_PEER) {
        pto_text_peers(text, plan, action);
        pto_text_add(text, "'s ");
    }
    pto_text_add(text, "%s%s[", slice->holder == PTO_HOLDER_OWNER ? "the owner's " : "", buffer->name);
    bool all = pto_expr_is(&slice->first, 0) && pto_expr_is(&slice->run, available) &&
               pto_expr_is(&slice->until, available) && slice->anchor == PTO_ANCHOR_ABSOLUTE &&
               pto_expr_is(&slice->offset, 0);
    if (slice->cells != PTO_CELLS_NONE) {
        add_cells(text, plan, slice, action);
    } else if (all) {
        pto_text_add(text, "all");
    } else if (follows(slice->first, slice->until) || is_of_some_rounds(slice, available)) {
        pto_text_add(text, "%s ", noun);
        add_base(text, slice, slice->first, action->core);
    } else {
        add_runs(text, slice, noun, action->core);
    }
    if (slice->parts > 0)
        pto_text_add(text, " of %lld", (long long)available);
    if (is_of_some_rounds(slice, available))
        pto_text_add(text, slice->until.loop > 0 ? " if k >= %lld" : " if k < %lld",
                     (long long)(slice->until.loop > 0 ? 1 - slice->until.constant : slice->until.constant));
    if (slice->repeat > 1)
        pto_text_add(text, ", %lld times %lld further on", (long long)slice->repeat,
                     (long long)slice->repeat_stride);
    if (bundled && !all)
        pto_text_add(text, ", of %lld blocks each", (long long)slice->bundle);
    if (slice->fold > 0)
        pto_text_add(text, ", the first %lld of two blocks each", (long long)slice->fold);
    add_share(text, slice, action);
    if (slice->chunks > 1)
        pto_text_add(text, ", chunk k of %lld", (long long)slice->chunks);
    pto_text_add(text, "]");
}
