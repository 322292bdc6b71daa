/* Linear exchange: each process posts all of its messages at once, with MPI_Isend and MPI_Irecv, and then
 * waits for all of them (Open MPI's basic linear).
 *
 * In collectives with a root (member 0), the root posts its messages to or from all others at once. A
 * reduction then combines all arrived vectors in one step. A reduce-scatter reduces to the root and scatters
 * from there (Open MPI's basic linear).
 *
 * If a GPU's processes share the destinations cyclically, each process has bytes for its own destinations
 * only. Our own code posts no other messages, but a library's alltoallv posts the empty ones, too. The
 * messages of a second pattern, in host memory (plan.h), are posted in the same stage. */
#include "algorithms.h"

/* Builds messages from each member to those at the distances first, first + stride, ... */
static void build_messages(pto_builder_t *builder, const pto_exchange_t *exchange, pto_expr_t first,
                           int64_t stride, bool send_empty) {
    pto_peers_t peers = {.kind = PTO_PEERS_SHIFT,
                         .first = first,
                         .stride = pto_constant(stride),
                         .until = pto_constant(exchange->n),
                         .sign = 1};
    pto_build_peer_messages(builder, exchange, peers, send_empty);
}

/* Reduces the buffers `in` of the other members into the buffer `sum` of member 0, which already has the
 * member's own vector. The vectors of all others arrive in one temporary. */
static void build_reduce(pto_builder_t *builder, const pto_exchange_t *exchange, int in, int sum) {
    pto_buffer_t buffer = pto_temporary_like(builder, sum, "received");
    int64_t blocks = buffer.block_count;
    buffer.group = pto_builder_group(builder, exchange->group)->kind;
    buffer.held_stride = exchange->n;
    buffer.block_count = (exchange->n - 1) * blocks;
    int received = pto_build_buffer(builder, buffer);
    pto_slice_t arrived = pto_slice_all(builder, sum);
    arrived.buffer = received;
    arrived.anchor = PTO_ANCHOR_PEER;
    arrived.anchor_step = blocks;
    arrived.offset = pto_constant(-blocks);
    pto_build_message(builder, "to process 0", pto_step_of_others(PTO_STEP_SEND, exchange),
                      pto_slice_all(builder, in), pto_step_of_root(PTO_STEP_RECV, exchange), arrived);
    pto_step_t reduce = pto_step_of(PTO_STEP_REDUCE, exchange);
    reduce.who_until = pto_constant(1);
    pto_build_local(builder, "reduce", reduce, pto_slice_all(builder, received), pto_slice_all(builder, sum));
}

static void build_broadcast(pto_builder_t *builder, const pto_exchange_t *exchange) {
    const pto_slice_t vector = pto_slice_all(builder, exchange->out);
    pto_build_message(builder, "from process 0", pto_step_of_root(PTO_STEP_SEND, exchange), vector,
                      pto_step_of_others(PTO_STEP_RECV, exchange), vector);
}

/* Member 0 sends each member its block of `in` or, `to_root`, receives the blocks of all members in `out`. */
static void build_rooted(pto_builder_t *builder, const pto_exchange_t *exchange, int in, bool to_root) {
    pto_exchange_t first = *exchange;
    first.n = 1;
    pto_build_own_block(builder, &first, in);
    if (exchange->n == 1)
        return;
    pto_step_t root = pto_step_of_root(to_root ? PTO_STEP_RECV : PTO_STEP_SEND, exchange);
    pto_step_t others = pto_step_of_others(to_root ? PTO_STEP_SEND : PTO_STEP_RECV, exchange);
    pto_build_message(builder, to_root ? "to process 0" : "from process 0", to_root ? others : root,
                      pto_slice_block(in, PTO_ANCHOR_PEER), to_root ? root : others,
                      pto_slice_block(exchange->out, PTO_ANCHOR_PEER));
}

/* Member 0 reduces all vectors, then sends each other member its block. */
static void build_reduce_scatter(pto_builder_t *builder, const pto_exchange_t *exchange) {
    int sum = pto_build_sum(builder, exchange, 1);
    if (exchange->n > 1)
        build_reduce(builder, exchange, exchange->in, sum);
    build_rooted(builder, exchange, sum, false);
}

/* Returns the exchange of the second pattern among the owners, between the user's buffers in host memory. */
static pto_exchange_t host_pattern(pto_builder_t *builder, const pto_request_t *request) {
    int64_t owners = pto_layout_owner_count(&request->layout);
    pto_buffer_t buffer = {.name = "cpu in",
                           .role = PTO_ROLE_HOST_IN,
                           .space = PTO_SPACE_CPU,
                           .core_count = request->layout.owners_per_gpu,
                           .group = PTO_GROUP_OWNERS,
                           .blocks = PTO_BLOCKS_ROW,
                           .block_count = owners,
                           .granularity_bytes = 1};
    pto_exchange_t exchange = {.group = pto_build_group(builder, PTO_GROUP_OWNERS, 0),
                               .n = owners,
                               .core_count = buffer.core_count,
                               .in = pto_build_buffer(builder, buffer)};
    buffer.name = "cpu out";
    buffer.role = PTO_ROLE_HOST_OUT;
    buffer.blocks = PTO_BLOCKS_COLUMN;
    exchange.out = pto_build_buffer(builder, buffer);
    return exchange;
}

static void build_blocks(pto_builder_t *builder, const pto_exchange_t *exchange) {
    const pto_request_t *request = pto_builder_request(builder);
    bool joined = pto_request_host_counts(request);
    pto_exchange_t host = joined ? host_pattern(builder, request) : *exchange;
    bool send_empty = request->by_library && (pto_collective_is_by_pair(request->collective) ||
                                              pto_collective_is_by_owner(request->collective));
    int64_t cyclic_count = exchange->cyclic_count > 1 ? exchange->cyclic_count : 1;
    pto_build_own_block(builder, exchange, exchange->in);
    if (joined)
        pto_build_own_block(builder, &host, host.in);
    pto_build_stage(builder, "all messages", PTO_ORDER_AT_ONCE);
    if (cyclic_count > 1 && !send_empty)
        build_messages(builder, exchange, (pto_expr_t){.core = 1}, cyclic_count, false);
    else /* cyclic_count sets of peers: those of each of the GPU's processes; all but one are empty */
        for (int64_t first = 1; first <= cyclic_count; first++)
            build_messages(builder, exchange, pto_constant(first), cyclic_count, send_empty);
    if (joined)
        build_messages(builder, &host, pto_constant(1), 1, false);
}

static void build(pto_builder_t *builder, const pto_exchange_t *exchange) {
    pto_collective_t collective = pto_builder_request(builder)->collective;
    if (collective == PTO_COLLECTIVE_REDUCE_SCATTER)
        build_reduce_scatter(builder, exchange);
    else if (collective == PTO_COLLECTIVE_GATHER || collective == PTO_COLLECTIVE_SCATTER)
        build_rooted(builder, exchange, exchange->in, collective == PTO_COLLECTIVE_GATHER);
    else if (!pto_collective_is_vector(collective))
        build_blocks(builder, exchange);
    else if (exchange->n > 1 && collective == PTO_COLLECTIVE_REDUCE)
        build_reduce(builder, exchange, exchange->out, exchange->out);
    else if (exchange->n > 1)
        build_broadcast(builder, exchange);
}

const pto_algorithm_t pto_algorithm_linear = {
    .name = "linear",
    .summary = "all n-1 sends and receives of a process in flight at once",
    .collectives = PTO_ALLTOALLS | PTO_ALLGATHERS | PTO_ROOTED | 1u << PTO_COLLECTIVE_REDUCE |
                   1u << PTO_COLLECTIVE_BROADCAST | 1u << PTO_COLLECTIVE_REDUCE_SCATTER,
    .chunked = true,
    .joins = true,
    .build = build,
};
