/* Who acts in a plan, and with whom: expressions, groups and peer sets as arithmetic on rank numbers. */
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

int64_t pto_fold_out(int64_t fold, int64_t index) { return index < fold ? 2 * index + 1 : index + fold; }

int64_t pto_fold_in(int64_t fold, int64_t base_index) {
    if (base_index >= 2 * fold)
        return base_index - fold;
    return base_index % 2 ? base_index / 2 : -1;
}

pto_group_t pto_group_shape(const pto_layout_t *layout, pto_group_kind_t kind) {
    pto_group_t group = {.kind = kind};
    switch (kind) {
    case PTO_GROUP_OWNERS:
        group.members_per_node = layout->gpus_per_node * layout->owners_per_gpu;
        group.size = layout->nodes * group.members_per_node;
        break;
    case PTO_GROUP_CORES:
        group.members_per_node = layout->gpus_per_node;
        group.size = layout->nodes * group.members_per_node;
        break;
    case PTO_GROUP_LEADERS:
    case PTO_GROUP_COUNTERPARTS:
        group.members_per_node = 1;
        group.size = layout->nodes;
        break;
    case PTO_GROUP_NODE:
        group.members_per_node = layout->gpus_per_node;
        group.size = layout->gpus_per_node;
        break;
    case PTO_GROUP_NODE_OWNERS:
        group.members_per_node = layout->gpus_per_node * layout->owners_per_gpu;
        group.size = group.members_per_node;
        break;
    case PTO_GROUP_GPU:
    case PTO_GROUP_COUNT:
        group.members_per_node = layout->cores_per_gpu;
        group.size = layout->cores_per_gpu;
        break;
    }
    return group;
}

int64_t pto_group_index(const pto_plan_t *plan, const pto_group_t *group, int64_t rank) {
    return pto_group_index_at(&plan->request.layout, group, pto_layout_rank(&plan->request.layout, rank));
}

int64_t pto_group_index_at(const pto_layout_t *layout, const pto_group_t *group, pto_rank_t place) {
    int64_t gpu = place.node * layout->gpus_per_node + place.gpu;
    switch (group->kind) {
    case PTO_GROUP_OWNERS:
        if (place.core >= layout->owners_per_gpu)
            return -1;
        return pto_fold_in(group->fold, gpu * layout->owners_per_gpu + place.core);
    case PTO_GROUP_CORES:
        return pto_fold_in(group->fold, gpu);
    case PTO_GROUP_NODE:
        return pto_fold_in(group->fold, place.gpu);
    case PTO_GROUP_NODE_OWNERS:
        if (place.core >= layout->owners_per_gpu)
            return -1;
        return pto_fold_in(group->fold, place.gpu * layout->owners_per_gpu + place.core);
    case PTO_GROUP_COUNTERPARTS:
        return pto_fold_in(group->fold, place.node);
    case PTO_GROUP_LEADERS:
        return place.gpu == 0 && place.core == 0 ? pto_fold_in(group->fold, place.node) : -1;
    case PTO_GROUP_GPU:
    case PTO_GROUP_COUNT:
        break;
    }
    return pto_fold_in(group->fold, place.core);
}

int64_t pto_group_rank(const pto_plan_t *plan, const pto_group_t *group, int64_t asking_rank, int64_t index) {
    const pto_layout_t *layout = &plan->request.layout;
    int64_t cores = layout->cores_per_gpu;
    int64_t ranks_per_node = layout->gpus_per_node * cores;
    int64_t base = pto_fold_out(group->fold, index);
    switch (group->kind) {
    case PTO_GROUP_OWNERS:
        if (layout->owners_per_gpu == 1)
            return base * cores;
        return base / layout->owners_per_gpu * cores + base % layout->owners_per_gpu;
    case PTO_GROUP_CORES:
        return base * cores + asking_rank % cores;
    case PTO_GROUP_NODE:
        return (asking_rank / cores / layout->gpus_per_node * layout->gpus_per_node + base) * cores +
               asking_rank % cores;
    case PTO_GROUP_LEADERS:
        return base * ranks_per_node;
    case PTO_GROUP_NODE_OWNERS:
        return asking_rank - asking_rank % ranks_per_node + base / layout->owners_per_gpu * cores +
               base % layout->owners_per_gpu;
    case PTO_GROUP_COUNTERPARTS:
        return base * ranks_per_node + asking_rank % ranks_per_node;
    case PTO_GROUP_GPU:
    case PTO_GROUP_COUNT:
        break;
    }
    return asking_rank - asking_rank % cores + base;
}

bool pto_step_acts(const pto_plan_t *plan, const pto_step_t *step, int64_t rank, int64_t k,
                   pto_action_t *action) {
    int64_t core = rank % plan->request.layout.cores_per_gpu;
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
    (void)plan;
    const pto_peers_t *peers = &action->step->peers;
    if (peers->kind == PTO_PEERS_NONE)
        return 0;
    if (peers->kind == PTO_PEERS_XOR)
        return 1;
    int64_t first = pto_expr_at(&peers->first, action->k, action->core, 0);
    int64_t stride = pto_expr_at(&peers->stride, action->k, action->core, 0);
    int64_t until = pto_expr_at(&peers->until, action->k, action->core, 0);
    if (stride == 1)
        return first < until ? until - first : 0;
    return first < until ? (until - first - 1) / stride + 1 : 0;
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
    case PTO_PEERS_INDEX:
    case PTO_PEERS_NONE:
    case PTO_PEERS_COUNT:
        action->peer = value;
        break;
    }
    action->peer_rank = pto_group_rank(plan, group, action->rank, action->peer);
    return action->peer != action->me;
}

bool pto_step_next(const pto_plan_t *plan, int64_t *next, pto_action_t *action) {
    if (action->step->peers.kind == PTO_PEERS_NONE)
        return (*next)++ == 0;
    for (int64_t count = pto_step_peer_count(plan, action); *next < count;)
        if (pto_step_peer(plan, (*next)++, action))
            return true;
    return false;
}
