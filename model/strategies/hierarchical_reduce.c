/* Hierarchical reduce, broadcast and allreduce (Faraji's thesis, chapter 4). The processes of each GPU reduce
 * to the first one, the GPU's leader. The leaders of a node's GPUs reduce to the first one, the node's
 * leader. The leaders of the nodes run the collective among themselves, and the result is broadcast back the
 * same way. A reduce ends with the leaders' collective; a broadcast begins with it. Each of the two levels
 * (inside a GPU, and between the GPUs of a node) uses gsb or btb. That gives four strategies, named by the
 * two in that order. mix_gsb has mixed copies inside the GPU (chapter 5; mix.c).
 *
 * A level with one member is omitted. If two strategies would then be the same, only the one with gsb at that
 * level applies, so that no route is listed twice. */
#include "intranode.h"

typedef struct {
    pto_builder_t *builder;
    const pto_request_t *request;
    const pto_intranode_t *inside_gpu;
    const pto_intranode_t *between_gpus;
    pto_exchange_t user;    /* all processes that have data, with the user's buffers */
    pto_exchange_t gpu;     /* those of a GPU */
    pto_exchange_t node;    /* the leaders of a node's GPUs */
    pto_exchange_t leaders; /* the leaders of the nodes */
    pto_run_order_t runs;
} levels_t;

/* Returns whether an exchange has several members; else its level is omitted. */
static bool is_level(const pto_exchange_t *members) { return members->n > 1; }

static levels_t make_levels(pto_builder_t *builder, const pto_request_t *request) {
    const pto_layout_t *layout = &request->layout;
    bool ordered = request->collective == PTO_COLLECTIVE_ALLREDUCE;
    return (levels_t){.builder = builder,
                      .request = request,
                      .user = pto_route_user(builder, request),
                      .gpu = {.group = pto_build_group(builder, PTO_GROUP_GPU, 0),
                              .n = layout->owners_per_gpu,
                              .core_count = layout->owners_per_gpu},
                      .node = {.group = pto_build_group(builder, PTO_GROUP_NODE, 0),
                               .n = layout->gpus_per_node,
                               .core_count = 1},
                      .leaders = {.group = pto_build_group(builder, PTO_GROUP_LEADERS, 0),
                                  .n = layout->nodes,
                                  .core_count = 1},
                      .runs = ordered ? PTO_RUN_ORDERED : PTO_RUN_LOOSE};
}

/* A copy by the first leader. */
static void copy_at_leader(const levels_t *levels, const char *name, int source, int target) {
    pto_exchange_t members = levels->leaders;
    members.n = 1;
    pto_build_copy(levels->builder, name, &members, pto_slice_all(levels->builder, source),
                   pto_slice_all(levels->builder, target));
}

static void build_among_leaders(const levels_t *levels, int vector) {
    pto_exchange_t exchange = levels->leaders;
    exchange.in = exchange.out = vector;
    pto_build_exchange(levels->builder, levels->request, &exchange);
}

/* Reduces up to the leaders of the nodes. Sets `*of_gpu` and `*of_node` to the buffers of each GPU's and each
 * node's result. With one node a reduce is then complete. */
static void build_up(const levels_t *levels, int *of_gpu, int *of_node) {
    bool completes = levels->request->collective == PTO_COLLECTIVE_REDUCE && !is_level(&levels->leaders);
    int last = completes ? levels->user.out : -1; /* where the last level reduces to; -1: a temporary */
    *of_gpu = levels->user.in;
    if (is_level(&levels->gpu))
        *of_gpu = levels->inside_gpu->reduce(levels->builder, &levels->gpu, levels->user.in,
                                             is_level(&levels->node) ? -1 : last, levels->runs);
    *of_node = *of_gpu;
    if (is_level(&levels->node))
        *of_node = levels->between_gpus->reduce(levels->builder, &levels->node, *of_gpu, last, levels->runs);
}

/* Broadcasts down from the leaders of the nodes, through the buffer `of_gpu` at each GPU's leader. */
static void build_down(const levels_t *levels, int of_gpu, int of_node) {
    if (is_level(&levels->node))
        levels->between_gpus->broadcast(levels->builder, &levels->node, of_node,
                                        is_level(&levels->gpu) ? of_gpu : levels->user.out, levels->runs);
    if (is_level(&levels->gpu))
        levels->inside_gpu->broadcast(levels->builder, &levels->gpu,
                                      is_level(&levels->node) ? of_gpu : of_node, levels->user.out,
                                      levels->runs);
}

static void build_reduce(const levels_t *levels) {
    int of_gpu, of_node;
    build_up(levels, &of_gpu, &of_node);
    if (!is_level(&levels->leaders))
        return;
    build_among_leaders(levels, of_node);
    copy_at_leader(levels, "copy out", of_node, levels->user.out);
}

static void build_broadcast(const levels_t *levels) {
    int of_node = levels->user.in, of_gpu = -1;
    if (is_level(&levels->leaders)) {
        of_node = pto_intranode_buffer(levels->builder, &levels->leaders, levels->user.in, "of node", 1, 1);
        copy_at_leader(levels, "place input", levels->user.in, of_node);
        build_among_leaders(levels, of_node);
    }
    if (is_level(&levels->node) && is_level(&levels->gpu))
        of_gpu = pto_intranode_buffer(levels->builder, &levels->node, levels->user.in, "of GPU", 1, 1);
    build_down(levels, of_gpu, of_node);
}

static void build_allreduce(const levels_t *levels) {
    int of_gpu, of_node;
    build_up(levels, &of_gpu, &of_node);
    if (is_level(&levels->leaders))
        build_among_leaders(levels, of_node);
    build_down(levels, of_gpu, of_node);
}

static void build(pto_builder_t *builder, const pto_request_t *request, const pto_intranode_t *inside_gpu,
                  const pto_intranode_t *between_gpus) {
    levels_t levels = make_levels(builder, request);
    levels.inside_gpu = inside_gpu;
    levels.between_gpus = between_gpus;
    if (request->collective == PTO_COLLECTIVE_REDUCE)
        build_reduce(&levels);
    else if (request->collective == PTO_COLLECTIVE_BROADCAST)
        build_broadcast(&levels);
    else
        build_allreduce(&levels);
}

/* Defines build_INSIDE_BETWEEN, the `build` of a strategy with these operations at its two levels. */
#define BUILD(inside_gpu, between_gpus)                                                                      \
    static void build_##inside_gpu##_##between_gpus(pto_builder_t *builder, const pto_request_t *request) {  \
        build(builder, request, &pto_intranode_##inside_gpu, &pto_intranode_##between_gpus);                 \
    }
BUILD(gsb, gsb)
BUILD(gsb, btb)
BUILD(btb, gsb)
BUILD(btb, btb)
BUILD(mix, gsb)

static int64_t members_of_gpu(const pto_request_t *request) { return request->layout.owners_per_gpu; }

static pto_status_t any_applicable(const pto_request_t *request, pto_error_t *err) {
    if (request->layout.owners_per_gpu > 1 || request->layout.gpus_per_node > 1)
        return PTO_OK;
    return pto_route_refuse(
        request, "shares memory inside nodes, and each node has only one process that holds data", err);
}

/* With one process per GPU, btb inside the GPU would be the same as gsb. */
static pto_status_t needs_owners(const pto_request_t *request, pto_error_t *err) {
    if (request->layout.owners_per_gpu > 1)
        return any_applicable(request, err);
    return pto_route_refuse(
        request, "uses a tree inside each GPU, where one process holds data (owners_per_gpu: 1)", err);
}

static pto_status_t needs_gpus(const pto_request_t *request, pto_error_t *err) {
    if (request->layout.gpus_per_node > 1)
        return any_applicable(request, err);
    return pto_route_refuse(request,
                            "uses a tree between the GPUs of a node, which has one (gpus_per_node: 1)", err);
}

/* On a single GPU it would be mix. */
static pto_status_t needs_several_groups(const pto_request_t *request, pto_error_t *err) {
    const pto_layout_t *layout = &request->layout;
    if (layout->owners_per_gpu == 1)
        return pto_route_refuse(
            request, "stages inside each GPU, where one process holds data (owners_per_gpu: 1)", err);
    if (layout->gpus_per_node == 1 && layout->nodes == 1)
        return pto_route_refuse(request, "is for several GPUs, and the layout has one", err);
    return pto_mix_applicable(request, err);
}

static pto_status_t needs_both(const pto_request_t *request, pto_error_t *err) {
    pto_status_t status = needs_owners(request, err);
    return status == PTO_OK ? needs_gpus(request, err) : status;
}

const pto_strategy_t pto_strategy_gsb_gsb = {
    .name = "gsb_gsb",
    .summary =
        "hierarchical: shared buffers inside each GPU and between a node's; leaders of nodes in between",
    .collectives = PTO_VECTORS,
    .collective_space = PTO_SPACE_GPU,
    .applicable = any_applicable,
    .build = build_gsb_gsb,
};

const pto_strategy_t pto_strategy_gsb_btb = {
    .name = "gsb_btb",
    .summary = "hierarchical: a shared buffer inside each GPU, a tree between a node's",
    .collectives = PTO_VECTORS,
    .collective_space = PTO_SPACE_GPU,
    .applicable = needs_gpus,
    .build = build_gsb_btb,
};

const pto_strategy_t pto_strategy_btb_gsb = {
    .name = "btb_gsb",
    .summary = "hierarchical: a tree inside each GPU, a shared buffer between a node's",
    .collectives = PTO_VECTORS,
    .collective_space = PTO_SPACE_GPU,
    .applicable = needs_owners,
    .build = build_btb_gsb,
};

const pto_strategy_t pto_strategy_btb_btb = {
    .name = "btb_btb",
    .summary = "hierarchical: trees inside each GPU and between a node's",
    .collectives = PTO_VECTORS,
    .collective_space = PTO_SPACE_GPU,
    .applicable = needs_both,
    .build = build_btb_btb,
};

const pto_strategy_t pto_strategy_mix_gsb = {
    .name = "mix_gsb",
    .summary = "hierarchical: mixed copies inside each GPU, a shared buffer between a node's",
    .collectives = 1u << PTO_COLLECTIVE_ALLREDUCE,
    .stages = members_of_gpu,
    .collective_space = PTO_SPACE_GPU,
    .applicable = needs_several_groups,
    .build = build_mix_gsb,
};
