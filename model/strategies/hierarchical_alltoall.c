/* Hierarchical alltoall and alltoallv: the processes of a node combine what they send to each other node, so
 * that fewer and larger messages leave it. There are two ways to combine, and each can send from GPU or from
 * host memory, which makes four strategies.
 *
 * node_leaders: all processes copy into one buffer on the GPU of the node's first process, the leader. The
 * leaders exchange blocks between nodes, and all processes copy their part out (Träff, "Improved MPI
 * all-to-all communication on a Giganet SMP cluster", Euro PVM/MPI 2002; with shared GPU memory as in
 * Faraji's thesis, chapter 4). In an allgather the leaders exchange the blocks of their nodes, and all copy
 * out everything.
 *
 * node_aware: the counterparts of a process are the processes with the same index on the other nodes. The
 * processes of a node first copy to each process the blocks for its counterparts ("hand over"). Each process
 * then exchanges them with its counterparts. This is a transpose within the node, then one between nodes,
 * whose blocks arrive at their final position. All processes of a node send, so neither one process nor the
 * memory of one GPU is a bottleneck. In an allgather the order is reversed: counterparts gather first, and
 * the processes of a node then copy the arrived blocks from each other.
 *
 * staged_leaders, staged_aware: the same, but the combined data is copied from the GPU to the host, sent from
 * there and copied back, as in three_step.
 *
 * Blocks for the process's own node take the same route. Handling them separately would cost additional
 * copies and flags, and they are only one in `nodes` of all blocks. */
#include "intranode.h"

typedef struct {
    pto_builder_t *builder;
    const pto_request_t *request;
    pto_exchange_t user; /* all owners, with the user's buffers */
    pto_exchange_t node; /* the owners of one node */
    int64_t nodes;
} context_t;

static context_t make_context(pto_builder_t *builder, const pto_request_t *request) {
    const pto_layout_t *layout = &request->layout;
    return (context_t){.builder = builder,
                       .request = request,
                       .user = pto_route_user(builder, request),
                       .node = {.group = pto_build_group(builder, PTO_GROUP_NODE_OWNERS, 0),
                                .n = layout->gpus_per_node * layout->owners_per_gpu,
                                .core_count = layout->owners_per_gpu},
                       .nodes = layout->nodes};
}

/* Builds a temporary of `count` blocks at the members of `group` on the first `cores` of a GPU. `blocks`
 * gives the block sizes if the user's are not equal. */
static int build_bundles(const context_t *context, const char *name, pto_group_kind_t group, int64_t cores,
                         pto_blocks_t blocks, int64_t count) {
    pto_buffer_t buffer = pto_temporary_like(context->builder, context->user.in, name);
    buffer.group = group;
    buffer.core_count = cores;
    if (buffer.blocks != PTO_BLOCKS_EQUAL)
        buffer.blocks = blocks;
    buffer.block_count = count;
    return pto_build_buffer(context->builder, buffer);
}

/* Returns one block or bundle of each `stride` consecutive ones below `until`: number `anchor` of them. */
static pto_slice_t one_of_each(int buffer, int64_t stride, int64_t until, pto_anchor_t anchor) {
    pto_slice_t slice = pto_slice_block(buffer, anchor);
    slice.stride = pto_constant(stride);
    slice.until = pto_constant(until);
    return slice;
}

/* The exchange between nodes, in the strategy's memory space: in host memory, on copies. */
static void build_exchange(const context_t *context, pto_exchange_t exchange) {
    pto_builder_t *builder = context->builder;
    int in = exchange.in, out = exchange.out;
    bool host = context->request->strategy->collective_space == PTO_SPACE_CPU;
    exchange.n = context->nodes;
    if (host) {
        exchange.in = pto_build_mirror(builder, in, "host in", PTO_SPACE_CPU);
        exchange.out = pto_build_mirror(builder, out, "host out", PTO_SPACE_CPU);
        pto_build_copy(builder, "copy to host", &exchange, pto_slice_all(builder, in),
                       pto_slice_all(builder, exchange.in));
    }
    pto_build_exchange(builder, context->request, &exchange);
    if (host)
        pto_build_copy(builder, "copy to device", &exchange, pto_slice_all(builder, exchange.out),
                       pto_slice_all(builder, out));
}

/* The buffers of the leaders' exchange, and one process's parts of them. */
typedef struct {
    int gathered;       /* what the node's processes send */
    int arrived;        /* what they receive */
    int64_t bundle;     /* blocks of a message between leaders */
    pto_slice_t place;  /* in `gathered`: where the process copies its input */
    pto_slice_t output; /* in `arrived`: what the process copies to its output */
} leaders_t;

/* No flag is needed to reuse the buffers. The leader raises "complete" after all its sends have completed. It
 * exchanges again only after all processes, having copied their output, have raised the next "gathered". */
static void build_through_leaders(const context_t *context, const leaders_t *leaders) {
    pto_builder_t *builder = context->builder;
    pto_intranode_copy_in(builder, &context->node, pto_slice_all(builder, context->user.in), leaders->place);
    pto_flag_to_root(builder, "gathered", &context->node);
    pto_exchange_t exchange = {.group = pto_build_group(builder, PTO_GROUP_LEADERS, 0),
                               .core_count = 1,
                               .in = leaders->gathered,
                               .out = leaders->arrived,
                               .bundle = leaders->bundle};
    build_exchange(context, exchange);
    pto_flag_to_others(builder, "complete", &context->node);
    pto_intranode_copy_out(builder, &context->node, leaders->output,
                           pto_slice_all(builder, context->user.out));
}

static int build_at_leaders(const context_t *context, const char *name, pto_blocks_t blocks, int64_t count) {
    return build_bundles(context, name, PTO_GROUP_LEADERS, 1, blocks, count);
}

static leaders_t leaders_of_alltoall(const context_t *context) {
    int64_t m = context->node.n, bundles = context->nodes * m; /* of m blocks, as pto_blocks_t orders them */
    leaders_t leaders = {.gathered = build_at_leaders(context, "gathered", PTO_BLOCKS_NODE_ROW, bundles * m),
                         .arrived = build_at_leaders(context, "arrived", PTO_BLOCKS_NODE_COLUMN, bundles * m),
                         .bundle = m * m};
    leaders.place = one_of_each(leaders.gathered, m, bundles, PTO_ANCHOR_ME);
    leaders.place.bundle = m;
    leaders.output = one_of_each(leaders.arrived, m, bundles * m, PTO_ANCHOR_ME);
    return leaders;
}

static leaders_t leaders_of_allgather(const context_t *context) {
    int64_t m = context->node.n;
    leaders_t leaders = {.gathered = build_at_leaders(context, "gathered", PTO_BLOCKS_RAIL, m),
                         .arrived =
                             build_at_leaders(context, "arrived", PTO_BLOCKS_MEMBERS, context->nodes * m),
                         .bundle = m};
    leaders.place = pto_slice_block(leaders.gathered, PTO_ANCHOR_ME);
    leaders.output = pto_slice_all(context->builder, leaders.arrived);
    return leaders;
}

static void build_by_leaders(pto_builder_t *builder, const pto_request_t *request) {
    context_t context = make_context(builder, request);
    leaders_t leaders = pto_collective_is_allgather(request->collective) ? leaders_of_allgather(&context)
                                                                         : leaders_of_alltoall(&context);
    build_through_leaders(&context, &leaders);
}

/* Each process copies its own part, then a part to or from each other process in rounds. In round k its peer
 * is the process whose index is k higher, so no two processes have the same peer. */
static void exchange_in_node(const context_t *context, pto_slice_t own_source, pto_slice_t own_target,
                             pto_slice_t source, pto_slice_t target) {
    pto_step_t copy = pto_step_of(PTO_STEP_COPY, &context->node);
    copy.peers = pto_peers_at(pto_loop_index(1, 0), 1);
    pto_build_copy(context->builder, "keep own", &context->node, own_source, own_target);
    pto_build_loop(context->builder, 1, context->node.n, false);
    pto_build_local(context->builder, "hand over", copy, source, target);
    pto_build_end(context->builder);
}

/* The exchange with the counterparts. */
static void build_on_rail(const context_t *context, int in, int out, int64_t bundle) {
    pto_exchange_t exchange = {.group = pto_build_group(context->builder, PTO_GROUP_RAIL, 0),
                               .core_count = context->node.core_count,
                               .in = in,
                               .out = out,
                               .bundle = bundle};
    build_exchange(context, exchange);
}

static void build_alltoall(const context_t *context) {
    int64_t m = context->node.n, blocks = context->nodes * m;
    int in = context->user.in;
    int handed = build_bundles(context, "handed over", PTO_GROUP_RAIL, context->node.core_count,
                               PTO_BLOCKS_RAIL, blocks);
    pto_slice_t place = one_of_each(handed, m, blocks, PTO_ANCHOR_ME);
    pto_flag_barrier(context->builder, "buffers free", &context->node);
    exchange_in_node(context, one_of_each(in, m, blocks, PTO_ANCHOR_ME), place,
                     one_of_each(in, m, blocks, PTO_ANCHOR_PEER), pto_slice_of_peer(place));
    pto_flag_barrier(context->builder, "all handed over", &context->node);
    build_on_rail(context, handed, context->user.out, m);
}

static void build_allgather(const context_t *context) {
    int64_t m = context->node.n, blocks = context->nodes * m;
    int out = context->user.out;
    int arrived = build_bundles(context, "arrived", PTO_GROUP_RAIL, context->node.core_count,
                                PTO_BLOCKS_MEMBERS, context->nodes);
    pto_slice_t all = pto_slice_all(context->builder, arrived);
    pto_flag_barrier(context->builder, "buffers free", &context->node);
    build_on_rail(context, context->user.in, arrived, 0);
    pto_flag_barrier(context->builder, "all arrived", &context->node);
    exchange_in_node(context, all, one_of_each(out, m, blocks, PTO_ANCHOR_ME), pto_slice_of_peer(all),
                     one_of_each(out, m, blocks, PTO_ANCHOR_PEER));
}

static void build_by_counterparts(pto_builder_t *builder, const pto_request_t *request) {
    context_t context = make_context(builder, request);
    if (pto_collective_is_allgather(request->collective))
        build_allgather(&context);
    else
        build_alltoall(&context);
}

static pto_status_t applicable(const pto_request_t *request, pto_error_t *err) {
    if (request->layout.owners_per_gpu > 1 || request->layout.gpus_per_node > 1)
        return PTO_OK;
    return pto_route_refuse(
        request, "combines what the processes of a node send, and each node has only one that holds data",
        err);
}

static pto_status_t staged_applicable(const pto_request_t *request, pto_error_t *err) {
    if (request->layout.nodes > 1)
        return applicable(request, err);
    return pto_route_refuse(request, "copies off-node data to the host, and there is only one node", err);
}

const pto_strategy_t pto_strategy_node_leaders = {
    .name = "node_leaders",
    .summary = "a node's processes copy into a buffer on its leader's GPU; leaders exchange; all copy out",
    .collectives = PTO_ALLTOALLS | PTO_ALLGATHERS,
    .collective_space = PTO_SPACE_GPU,
    .applicable = applicable,
    .build = build_by_leaders,
};

const pto_strategy_t pto_strategy_node_aware = {
    .name = "node_aware",
    .summary = "a node's processes hand each other what goes to their counterparts, who then exchange it",
    .collectives = PTO_ALLTOALLS | PTO_ALLGATHERS,
    .collective_space = PTO_SPACE_GPU,
    .applicable = applicable,
    .build = build_by_counterparts,
};

const pto_strategy_t pto_strategy_staged_leaders = {
    .name = "staged_leaders",
    .summary = "node_leaders, whose leaders copy to the host, exchange there and copy back",
    .collectives = PTO_ALLTOALLS | PTO_ALLGATHERS,
    .collective_space = PTO_SPACE_CPU,
    .applicable = staged_applicable,
    .build = build_by_leaders,
};

const pto_strategy_t pto_strategy_staged_aware = {
    .name = "staged_aware",
    .summary = "node_aware, whose counterparts copy to the host, exchange there and copy back",
    .collectives = PTO_ALLTOALLS | PTO_ALLGATHERS,
    .collective_space = PTO_SPACE_CPU,
    .applicable = staged_applicable,
    .build = build_by_counterparts,
};
