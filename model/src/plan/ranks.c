/* The ranks that act in a step, and their peers. Both are sets given by arithmetic on group indices. The
 * terms of a peer set are first + j * stride, for j from 0. By the kind of the set (pto_peers_kind_t), a term
 * is a distance, an xor mask, an index, the number of a message or the number of a shift. All interpreters
 * enumerate a rank's peers (pto_step_next); price also needs the reverse (pto_step_next_reaching). */
#include "plan/plan_internal.h"

int64_t pto_floor_mod(int64_t value, int64_t modulus) {
    if (value >= 0 && value < modulus)
        return value; /* the usual case, without a division */
    int64_t rest = value % modulus;
    return rest < 0 ? rest + modulus : rest;
}

int64_t pto_expr_value(pto_expr_t expr, int64_t k, int64_t core, int64_t peer) {
    return pto_expr_at(&expr, k, core, peer);
}

bool pto_step_acts(const pto_plan_t *plan, const pto_step_t *step, int64_t rank, int64_t k,
                   pto_action_t *action) {
    int64_t core = rank % plan->request.layout.procs_per_gpu;
    if (core < step->core_first || core >= step->core_first + step->core_count)
        return false;
    int64_t me = pto_group_index(plan, pto_plan_group(plan, step->group), rank);
    if (me < 0)
        return false;
    int64_t first = pto_expr_at(&step->who_first, k, core, 0);
    int64_t stride = pto_expr_at(&step->who_stride, k, core, 0);
    int64_t until = pto_expr_at(&step->who_until, k, core, 0);
    if (me < first || me >= until || (stride != 1 && (me - first) % stride != 0))
        return false;
    *action = (pto_action_t){
        .step = step, .rank = rank, .core = core, .me = me, .k = k, .peer = -1, .peer_rank = -1};
    return true;
}

int64_t pto_step_peer_count(const pto_plan_t *plan, const pto_action_t *action) {
    const pto_peers_t *peers = &action->step->peers;
    if (peers->kind == PTO_PEERS_NONE)
        return 0;
    if (peers->kind == PTO_PEERS_XOR || peers->kind == PTO_PEERS_CART)
        return 1;
    int64_t first = pto_expr_at(&peers->first, action->k, action->core, 0);
    int64_t stride = pto_expr_at(&peers->stride, action->k, action->core, 0);
    int64_t until = pto_expr_at(&peers->until, action->k, action->core, 0);
    if (peers->kind == PTO_PEERS_SHIFT && until > pto_plan_group(plan, action->step->group)->size)
        until = pto_plan_group(plan, action->step->group)->size;
    if (stride == 1)
        return first < until ? until - first : 0;
    return first < until && stride > 0 ? (until - first - 1) / stride + 1 : 0;
}

/* Returns the number of the first shift whose neighbor is `peer`; `until` if no shift below it has it. */
static int64_t first_shift_to(const pto_halo_t *grid, int64_t me, int64_t peer, int64_t until) {
    int shift[PTO_DIMS_MAX];
    int64_t j = 0;
    while (j < until && !(pto_halo_shift(grid, j, shift) && pto_halo_peer(grid, me, shift) == peer))
        j++;
    return j;
}

/* Sets the peer to the neighbor at shift j; false if there is none. A signal or wait counts a neighbor only
 * at the first of its shifts. */
static bool find_neighbor(const pto_halo_t *grid, pto_action_t *action, int64_t j) {
    int shift[PTO_DIMS_MAX];
    action->peer = pto_halo_shift(grid, j, shift) ? pto_halo_peer(grid, action->me, shift) : -1;
    return action->peer >= 0 &&
           (!pto_step_is_signal(action->step) || first_shift_to(grid, action->me, action->peer, j) == j);
}

bool pto_step_peer(const pto_plan_t *plan, int64_t j, pto_action_t *action) {
    const pto_peers_t *peers = &action->step->peers;
    const pto_group_t *group = pto_plan_group(plan, action->step->group);
    int64_t term = pto_expr_at(&peers->first, action->k, action->core, 0) +
                   j * pto_expr_at(&peers->stride, action->k, action->core, 0);
    int64_t per_node = group->members_per_node;
    int64_t nodes = plan->request.layout.nodes;
    action->ordinal = term;
    switch (peers->kind) {
    case PTO_PEERS_SHIFT:
        action->peer = pto_floor_mod(action->me + peers->sign * term, group->size);
        break;
    case PTO_PEERS_XOR:
        action->peer = action->me ^ term;
        break;
    case PTO_PEERS_TORUS:
        action->peer = pto_floor_mod(action->me / per_node + peers->node_shift, nodes) * per_node +
                       pto_floor_mod(action->me % per_node + peers->sign * term, per_node);
        break;
    case PTO_PEERS_CART:
        action->peer = pto_halo_peer(&plan->request.halo, action->me, peers->shift);
        if (action->peer < 0)
            return false;
        break;
    case PTO_PEERS_GRID:
        if (!find_neighbor(&plan->request.halo, action, j))
            return false;
        break;
    case PTO_PEERS_INDEX:
    case PTO_PEERS_NONE:
    case PTO_PEERS_COUNT:
        action->peer = term;
        break;
    }
    action->peer_rank = pto_group_rank(plan, group, action->rank, action->peer);
    return action->peer != action->me;
}

/* Returns the term of the peer set that is this peer of the acting rank; -1: none. It need not be in the set.
 */
static int64_t term_of_peer(const pto_plan_t *plan, const pto_group_t *group, const pto_action_t *action,
                            int64_t peer) {
    const pto_peers_t *peers = &action->step->peers;
    int64_t me = action->me, per_node = group->members_per_node;
    int64_t node = pto_floor_mod(me / per_node + peers->node_shift, plan->request.layout.nodes);
    switch (peers->kind) {
    case PTO_PEERS_SHIFT:
        return pto_floor_mod(peers->sign * (peer - me), group->size);
    case PTO_PEERS_XOR:
        return me ^ peer;
    case PTO_PEERS_TORUS:
        return peer / per_node == node ? pto_floor_mod(peers->sign * (peer - me), per_node) : -1;
    case PTO_PEERS_INDEX:
        return peer;
    case PTO_PEERS_CART: /* its only one */
        return 0;
    case PTO_PEERS_GRID:
        return first_shift_to(&plan->request.halo, me, peer, PTO_SHIFTS_MAX);
    case PTO_PEERS_NONE:
    case PTO_PEERS_COUNT:
        break;
    }
    return -1;
}

bool pto_step_reaches(const pto_plan_t *plan, pto_action_t *action, int64_t peer_rank) {
    const pto_peers_t *peers = &action->step->peers;
    const pto_group_t *group = pto_plan_group(plan, action->step->group);
    int64_t peer = pto_group_index(plan, group, peer_rank);
    if (peer < 0 || pto_group_rank(plan, group, action->rank, peer) != peer_rank)
        return false;
    int64_t first = pto_expr_at(&peers->first, action->k, action->core, 0);
    int64_t stride = pto_expr_at(&peers->stride, action->k, action->core, 0);
    int64_t term = term_of_peer(plan, group, action, peer);
    int64_t j = term < first || stride == 0 ? 0 : (term - first) / stride;
    return j < pto_step_peer_count(plan, action) && pto_step_peer(plan, j, action) &&
           action->peer_rank == peer_rank;
}

/* Members of a group that may act in a step: the indices first + i * stride modulo its size, i < count. */
typedef struct {
    int64_t first;
    int64_t stride;
    int64_t count;
} candidates_t;

/* Returns the members that act in a step; all members if that depends on the core. */
static candidates_t acting_candidates(const pto_step_t *step, const pto_group_t *group, int64_t k) {
    if (step->who_first.core != 0 || step->who_stride.core != 0 || step->who_until.core != 0)
        return (candidates_t){0, 1, group->size};
    int64_t first = pto_expr_at(&step->who_first, k, 0, 0), stride = pto_expr_at(&step->who_stride, k, 0, 0);
    int64_t until = pto_expr_at(&step->who_until, k, 0, 0);
    until = until < group->size ? until : group->size;
    if (first < 0 || stride < 1)
        return (candidates_t){0, 1, group->size};
    return (candidates_t){first, stride, first < until ? (until - first - 1) / stride + 1 : 0};
}

/* Returns the acting members that may have `me` as a peer: none if no peer set contains it. If the peers are
 * at fewer distances than there are acting members, it returns the members at these distances. `any`: an
 * action of the step with a core and an iteration. */
static candidates_t candidates_reaching(const pto_plan_t *plan, const pto_step_t *step,
                                        const pto_group_t *group, int64_t me, const pto_action_t *any) {
    const pto_peers_t *peers = &step->peers;
    candidates_t candidates = acting_candidates(step, group, any->k);
    if (peers->first.core != 0 || peers->stride.core != 0 || peers->until.core != 0)
        return candidates;
    int64_t first = pto_expr_at(&peers->first, any->k, 0, 0);
    int64_t stride = pto_expr_at(&peers->stride, any->k, 0, 0);
    int64_t count = pto_step_peer_count(plan, any);
    if (peers->kind == PTO_PEERS_INDEX && (me < first || count == 0 || me > first + (count - 1) * stride))
        candidates.count = 0;
    if (peers->kind == PTO_PEERS_SHIFT && count < candidates.count && count < group->size - 1)
        return (candidates_t){me - peers->sign * first, -peers->sign * stride, count};
    return candidates;
}

bool pto_step_next_reaching(const pto_plan_t *plan, const pto_step_t *step, int64_t rank, int64_t k,
                            int64_t *next, pto_action_t *action) {
    const pto_group_t *group = pto_group_at(plan, step->group);
    int64_t me = pto_group_index(plan, group, rank);
    if (me < 0 || step->peers.kind == PTO_PEERS_NONE)
        return false;
    pto_action_t any = {
        .step = step, .rank = rank, .core = rank % plan->request.layout.procs_per_gpu, .k = k};
    candidates_t candidates = candidates_reaching(plan, step, group, me, &any);
    while (*next < candidates.count) {
        int64_t other = pto_floor_mod(candidates.first + *next * candidates.stride, group->size);
        ++*next;
        if (other != me && pto_step_acts(plan, step, pto_group_rank(plan, group, rank, other), k, action) &&
            pto_step_reaches(plan, action, rank))
            return true;
    }
    return false;
}

bool pto_step_next(const pto_plan_t *plan, int64_t *next, pto_action_t *action) {
    if (action->step->peers.kind == PTO_PEERS_NONE)
        return (*next)++ == 0;
    for (int64_t count = pto_step_peer_count(plan, action); *next < count;)
        if (pto_step_peer(plan, (*next)++, action))
            return true;
    return false;
}

void pto_actions_begin(pto_actions_t *actions, const pto_plan_t *plan, int64_t rank, unsigned kinds) {
    *actions = (pto_actions_t){.rank = rank, .kinds = kinds};
    pto_walk_begin(&actions->walk, plan);
}

/* Enters the next step of the stage, or of the next stage; false if there is none. */
static bool begin_step(pto_actions_t *actions) {
    pto_walk_t *walk = &actions->walk;
    while (!walk->stage || actions->step == walk->stage->step_count) {
        if (!pto_walk_next(walk))
            return false;
        actions->step = 0;
    }
    const pto_step_t *step = pto_step_at(walk->plan, walk->stage->step_first + actions->step++);
    actions->acts = actions->kinds >> step->kind & 1 &&
                    pto_step_acts(walk->plan, step, actions->rank, walk->k, &actions->action);
    actions->next = 0;
    return true;
}

bool pto_actions_next(pto_actions_t *actions) {
    while (!actions->acts || !pto_step_next(actions->walk.plan, &actions->next, &actions->action))
        if (!begin_step(actions))
            return false;
    return true;
}
