/* Hierarchical allreduce (Faraji's thesis, chapter 4): the processes of each GPU reduce to their first one,
 * these leaders of the GPUs reduce to the node's, the nodes' leaders run an allreduce, and the result is
 * broadcast back the same way. Inside the GPU and between the node's GPUs it goes by gsb or btb, which gives
 * four strategies, named by the one and then the other.
 *
 * A level with one member falls away. Of strategies that would then be the same, only the one with gsb in its
 * place applies, so that no route is listed twice. */
#include "inside.h"

/* Whether the level has anybody to work with. */
static bool is_level(const pto_exchange_t *who) { return who->n > 1; }

static void build(pto_builder_t *builder, const pto_request_t *request, const pto_inside_t *inside_gpu,
                  const pto_inside_t *between_gpus) {
    const pto_layout_t *layout = &request->layout;
    pto_user_t user = pto_route_user(builder, request);
    pto_exchange_t gpu = {.group = pto_build_group(builder, PTO_GROUP_GPU, 0),
                          .n = layout->owners_per_gpu,
                          .core_count = layout->owners_per_gpu};
    pto_exchange_t node = {
        .group = pto_build_group(builder, PTO_GROUP_NODE, 0), .n = layout->gpus_per_node, .core_count = 1};
    pto_exchange_t leaders = {
        .group = pto_build_group(builder, PTO_GROUP_LEADERS, 0), .n = layout->nodes, .core_count = 1};
    int of_gpu = user.in;
    if (is_level(&gpu))
        of_gpu = inside_gpu->reduce(builder, &gpu, user.in, -1, PTO_RUNS_ORDERED);
    int of_node = of_gpu;
    if (is_level(&node))
        of_node = between_gpus->reduce(builder, &node, of_gpu, -1, PTO_RUNS_ORDERED);
    leaders.in = leaders.out = of_node;
    if (is_level(&leaders))
        pto_build_exchange(builder, request, &leaders);
    if (is_level(&node))
        between_gpus->broadcast(builder, &node, of_node, is_level(&gpu) ? of_gpu : user.out,
                                PTO_RUNS_ORDERED);
    if (is_level(&gpu))
        inside_gpu->broadcast(builder, &gpu, of_gpu, user.out, PTO_RUNS_ORDERED);
}

static void build_gsb_gsb(pto_builder_t *builder, const pto_request_t *request) {
    build(builder, request, &pto_inside_gsb, &pto_inside_gsb);
}

static void build_gsb_btb(pto_builder_t *builder, const pto_request_t *request) {
    build(builder, request, &pto_inside_gsb, &pto_inside_btb);
}

static void build_btb_gsb(pto_builder_t *builder, const pto_request_t *request) {
    build(builder, request, &pto_inside_btb, &pto_inside_gsb);
}

static void build_btb_btb(pto_builder_t *builder, const pto_request_t *request) {
    build(builder, request, &pto_inside_btb, &pto_inside_btb);
}

static pto_status_t any_applicable(const pto_request_t *request, pto_error_t *err) {
    if (request->layout.owners_per_gpu > 1 || request->layout.gpus_per_node > 1)
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                         "%s shares memory inside nodes, and each has one process that holds data",
                         request->strategy->name);
}

/* With one process a GPU there is nothing inside it that btb could do differently. */
static pto_status_t needs_owners(const pto_request_t *request, pto_error_t *err) {
    if (request->layout.owners_per_gpu > 1)
        return any_applicable(request, err);
    return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                         "%s uses a tree inside each GPU, where one process holds data (owners_per_gpu: 1)",
                         request->strategy->name);
}

static pto_status_t needs_gpus(const pto_request_t *request, pto_error_t *err) {
    if (request->layout.gpus_per_node > 1)
        return any_applicable(request, err);
    return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                         "%s uses a tree between the GPUs of a node, which has one (gpus_per_node: 1)",
                         request->strategy->name);
}

static pto_status_t needs_both(const pto_request_t *request, pto_error_t *err) {
    pto_status_t status = needs_owners(request, err);
    return status == PTO_OK ? needs_gpus(request, err) : status;
}

const pto_strategy_t pto_strategy_gsb_gsb = {
    .name = "gsb_gsb",
    .summary =
        "hierarchical: shared buffers inside each GPU and between a node's; leaders of nodes in between",
    .collectives = 1u << PTO_COLLECTIVE_ALLREDUCE,
    .leaders = true,
    .collective_space = PTO_SPACE_GPU,
    .applicable = any_applicable,
    .build = build_gsb_gsb,
};

const pto_strategy_t pto_strategy_gsb_btb = {
    .name = "gsb_btb",
    .summary = "hierarchical: a shared buffer inside each GPU, a tree between a node's",
    .collectives = 1u << PTO_COLLECTIVE_ALLREDUCE,
    .leaders = true,
    .collective_space = PTO_SPACE_GPU,
    .applicable = needs_gpus,
    .build = build_gsb_btb,
};

const pto_strategy_t pto_strategy_btb_gsb = {
    .name = "btb_gsb",
    .summary = "hierarchical: a tree inside each GPU, a shared buffer between a node's",
    .collectives = 1u << PTO_COLLECTIVE_ALLREDUCE,
    .leaders = true,
    .collective_space = PTO_SPACE_GPU,
    .applicable = needs_owners,
    .build = build_btb_gsb,
};

const pto_strategy_t pto_strategy_btb_btb = {
    .name = "btb_btb",
    .summary = "hierarchical: trees inside each GPU and between a node's",
    .collectives = 1u << PTO_COLLECTIVE_ALLREDUCE,
    .leaders = true,
    .collective_space = PTO_SPACE_GPU,
    .applicable = needs_both,
    .build = build_btb_btb,
};
