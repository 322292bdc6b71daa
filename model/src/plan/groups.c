/* Groups as arithmetic on rank numbers. The place of a rank is (node, GPU, core). Each kind of group is one
 * table row: it says which of these coordinates number the members (`index`), and which are the same for all
 * members and distinguish the groups (`color`, as in MPI_Comm_split). All functions follow from this row. */
#include "base/names.h"
#include "plan/plan_internal.h"

const pto_group_traits_t pto_group_traits[] = {
    [PTO_GROUP_OWNERS] = {.member = {"owner", "owner left"},
                          .index = PTO_BY_NODE | PTO_BY_GPU | PTO_BY_CORE,
                          .owners_only = true,
                          .levels = {PTO_GROUP_NODE_OWNERS, PTO_GROUP_LEADERS}},
    [PTO_GROUP_CORES] = {.member = {"GPU", "GPU left"},
                         .index = PTO_BY_NODE | PTO_BY_GPU,
                         .color = PTO_BY_CORE,
                         .levels = {PTO_GROUP_NODE, PTO_GROUP_CORE_LEADERS}},
    [PTO_GROUP_GPU] = {.member = {"core", "core left"},
                       .index = PTO_BY_CORE,
                       .color = PTO_BY_NODE | PTO_BY_GPU},
    [PTO_GROUP_NODE] = {.member = {"GPU", "GPU left"},
                        .index = PTO_BY_GPU,
                        .color = PTO_BY_NODE | PTO_BY_CORE},
    [PTO_GROUP_LEADERS] = {.member = {"node", "node left"}, .index = PTO_BY_NODE},
    [PTO_GROUP_CORE_LEADERS] = {.member = {"node", "node left"}, .index = PTO_BY_NODE, .color = PTO_BY_CORE},
    [PTO_GROUP_NODE_OWNERS] = {.member = {"place", "place left"},
                               .index = PTO_BY_GPU | PTO_BY_CORE,
                               .color = PTO_BY_NODE,
                               .owners_only = true},
    [PTO_GROUP_RAIL] = {.member = {"node", "node left"},
                        .index = PTO_BY_NODE,
                        .color = PTO_BY_GPU | PTO_BY_CORE},
};
PTO_EACH_NAMED(pto_group_traits, PTO_GROUP_COUNT);

int64_t pto_fold_in(int64_t fold, int64_t base_index) {
    if (base_index >= 2 * fold)
        return base_index - fold;
    return base_index % 2 ? base_index / 2 : -1;
}

/* Cores of a GPU that a group can include. */
static int64_t core_limit(const pto_layout_t *layout, const pto_group_traits_t *traits) {
    return traits->owners_only ? layout->owners_per_gpu : layout->procs_per_gpu;
}

int64_t pto_group_members_per_gpu(const pto_layout_t *layout, pto_group_kind_t kind) {
    const pto_group_traits_t *traits = &pto_group_traits[kind];
    return traits->index & PTO_BY_CORE ? core_limit(layout, traits) : 1;
}

int64_t pto_group_ranks_per_gpu(const pto_layout_t *layout, pto_group_kind_t kind) {
    const pto_group_traits_t *traits = &pto_group_traits[kind];
    return (traits->index | traits->color) & PTO_BY_CORE ? core_limit(layout, traits) : 1;
}

pto_group_t pto_group_shape(const pto_layout_t *layout, pto_group_kind_t kind) {
    unsigned index = pto_group_traits[kind].index;
    pto_group_t group = {.kind = kind};
    group.members_per_node =
        pto_group_members_per_gpu(layout, kind) * (index & PTO_BY_GPU ? layout->gpus_per_node : 1);
    group.size = group.members_per_node * (index & PTO_BY_NODE ? layout->nodes : 1);
    return group;
}

/* Returns the number formed by some of a rank's coordinates, with the node as the most significant digit. */
static int64_t number_of(const pto_layout_t *layout, pto_rank_t place, unsigned dimensions, int64_t cores) {
    int64_t number = dimensions & PTO_BY_NODE ? place.node : 0;
    if (dimensions & PTO_BY_GPU)
        number = number * layout->gpus_per_node + place.gpu;
    if (dimensions & PTO_BY_CORE)
        number = number * cores + place.core;
    return number;
}

int64_t pto_group_index(const pto_plan_t *plan, const pto_group_t *group, int64_t rank) {
    return pto_group_index_at(&plan->request.layout, group, pto_layout_rank(&plan->request.layout, rank));
}

int64_t pto_group_index_at(const pto_layout_t *layout, const pto_group_t *group, pto_rank_t place) {
    const pto_group_traits_t *traits = &pto_group_traits[group->kind];
    unsigned used = traits->index | traits->color;
    int64_t cores = core_limit(layout, traits);
    bool outside = place.core >= cores || (!(used & PTO_BY_GPU) && place.gpu > 0) ||
                   (!(used & PTO_BY_CORE) && place.core > 0);
    return outside ? -1 : pto_fold_in(group->fold, number_of(layout, place, traits->index, cores));
}

/* Returns the rank at the place of `rank` with all coordinates but those in `color` set to 0. Simulations
 * call this for every message, so it divides only where it must. */
static int64_t shared_part(const pto_layout_t *layout, unsigned color, int64_t rank) {
    bool by_node = color & PTO_BY_NODE, by_gpu = color & PTO_BY_GPU, by_core = color & PTO_BY_CORE;
    int64_t part = by_node ? rank : 0;
    if (by_gpu != by_node) {
        int64_t in_node = rank % (layout->gpus_per_node * layout->procs_per_gpu);
        part += by_gpu ? in_node : -in_node;
    }
    if (by_core != by_gpu) {
        int64_t in_gpu = rank % layout->procs_per_gpu;
        part += by_core ? in_gpu : -in_gpu;
    }
    return part;
}

int64_t pto_group_rank(const pto_plan_t *plan, const pto_group_t *group, int64_t asking_rank, int64_t index) {
    const pto_layout_t *layout = &plan->request.layout;
    const pto_group_traits_t *traits = &pto_group_traits[group->kind];
    int64_t shared = shared_part(layout, traits->color, asking_rank);
    int64_t base = pto_fold_out(group->fold, index); /* the index before folding */
    if (traits->index == PTO_BY_CORE)
        return shared + base;
    if (traits->index == PTO_BY_NODE)
        return shared + base * layout->gpus_per_node * layout->procs_per_gpu;
    if (!(traits->index & PTO_BY_CORE)) /* GPUs are numbered across nodes */
        return shared + base * layout->procs_per_gpu;
    int64_t limit = core_limit(layout, traits);
    return shared + base / limit * layout->procs_per_gpu + base % limit;
}
