/* The ranks that act in a step, and their peers: expressions and peer sets as arithmetic on group indices. */
#include "portolan/plan.h"

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

/* The first shift below `until` at which a member is met; `until`: none. */
static int64_t shift_to(const pto_halo_t *grid, int64_t me, int64_t peer, int64_t until) {
    int shift[PTO_DIMS_MAX];
    int64_t j = 0;
    while (j < until && !(pto_halo_shift(grid, j, shift) && pto_halo_peer(grid, me, shift) == peer))
        j++;
    return j;
}

/* The neighbor at shift j. Signals and waits leave out one that they have met at an earlier shift. */
static bool meets(const pto_halo_t *grid, pto_action_t *action, int64_t j) {
    int shift[PTO_DIMS_MAX];
    action->peer = pto_halo_shift(grid, j, shift) ? pto_halo_peer(grid, action->me, shift) : -1;
    return action->peer >= 0 &&
           (!pto_step_is_signal(action->step) || shift_to(grid, action->me, action->peer, j) == j);
}

bool pto_step_peer(const pto_plan_t *plan, int64_t j, pto_action_t *action) {
    const pto_peers_t *peers = &action->step->peers;
    const pto_group_t *group = pto_plan_group(plan, action->step->group);
    int64_t value = pto_expr_at(&peers->first, action->k, action->core, 0) +
                    j * pto_expr_at(&peers->stride, action->k, action->core, 0);
    int64_t per_node = group->members_per_node;
    int64_t nodes = plan->request.layout.nodes;
    action->ordinal = value;
    switch (peers->kind) {
    case PTO_PEERS_SHIFT:
        action->peer = pto_floor_mod(action->me + peers->sign * value, group->size);
        break;
    case PTO_PEERS_XOR:
        action->peer = action->me ^ value;
        break;
    case PTO_PEERS_TORUS:
        action->peer = pto_floor_mod(action->me / per_node + peers->node_shift, nodes) * per_node +
                       pto_floor_mod(action->me % per_node + peers->sign * value, per_node);
        break;
    case PTO_PEERS_CART:
        action->peer = pto_halo_peer(&plan->request.halo, action->me, peers->shift);
        if (action->peer < 0)
            return false;
        break;
    case PTO_PEERS_GRID:
        if (!meets(&plan->request.halo, action, j))
            return false;
        break;
    case PTO_PEERS_INDEX:
    case PTO_PEERS_NONE:
    case PTO_PEERS_COUNT:
        action->peer = value;
        break;
    }
    action->peer_rank = pto_group_rank(plan, group, action->rank, action->peer);
    return action->peer != action->me;
}

/* The value with which a member is reached, as pto_step_peer counts; -1: none. */
static int64_t value_of_peer(const pto_plan_t *plan, const pto_group_t *group, const pto_action_t *action,
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
        return shift_to(&plan->request.halo, me, peer, PTO_SHIFTS_MAX);
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
    int64_t value = value_of_peer(plan, group, action, peer);
    int64_t j = value < first || stride == 0 ? 0 : (value - first) / stride;
    return j < pto_step_peer_count(plan, action) && pto_step_peer(plan, j, action) &&
           action->peer_rank == peer_rank;
}

/* The number of members to try in order to find those that reach one. Those at few distances are tried alone;
 * `*by_distance` says so. */
static int64_t count_tries(const pto_step_t *step, const pto_group_t *group, int64_t distances,
                           bool *by_distance) {
    const pto_peers_t *peers = &step->peers;
    *by_distance = peers->kind == PTO_PEERS_SHIFT && peers->first.core == 0 && peers->stride.core == 0 &&
                   peers->until.core == 0 && distances < group->size - 1;
    return *by_distance ? distances : group->size;
}

bool pto_step_next_reaching(const pto_plan_t *plan, const pto_step_t *step, int64_t rank, int64_t k,
                            int64_t *next, pto_action_t *action) {
    const pto_peers_t *peers = &step->peers;
    const pto_group_t *group = pto_group_at(plan, step->group);
    int64_t me = pto_group_index(plan, group, rank);
    if (me < 0 || peers->kind == PTO_PEERS_NONE)
        return false;
    bool by_distance;
    int64_t core = rank % plan->request.layout.procs_per_gpu;
    pto_action_t same_core = {.step = step, .rank = rank, .core = core, .k = k};
    int64_t tries = count_tries(step, group, pto_step_peer_count(plan, &same_core), &by_distance);
    int64_t first = pto_expr_at(&peers->first, k, core, 0), stride = pto_expr_at(&peers->stride, k, core, 0);
    while (*next < tries) {
        int64_t j = (*next)++;
        int64_t other = by_distance ? pto_floor_mod(me - peers->sign * (first + j * stride), group->size) : j;
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
