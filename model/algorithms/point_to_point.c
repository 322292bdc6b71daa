/* Point to point. The collective `pair`: one message, or one each way. The collective `messages`: every GPU
 * sends its messages to GPUs of the next node, all in flight at once. Message j goes to the GPU whose index
 * on its node is j higher than the sender's, modulo the GPUs of a node (Bienz et al., arXiv:2010.10378,
 * section V). If a GPU's processes share the messages cyclically, each sends the messages whose number is its
 * core modulo the number of processes. */
#include "algorithms.h"

static pto_peers_t next_node(const pto_builder_t *builder, const pto_exchange_t *exchange) {
    bool cyclic = exchange->cyclic_count > 1;
    return (pto_peers_t){.kind = PTO_PEERS_TORUS,
                         .first = cyclic ? (pto_expr_t){.core = 1} : pto_constant(0),
                         .stride = pto_constant(cyclic ? exchange->cyclic_count : 1),
                         .until = pto_constant(pto_builder_request(builder)->messages),
                         .node_shift = 1,
                         .sign = 1};
}

/* Builds the message from member 0 of a pair to member 1 and, if both send, the one back. */
static void build_pair(pto_builder_t *builder, const pto_exchange_t *exchange) {
    pto_build_message(builder, "message", pto_build_sender(builder, PTO_STEP_SEND, exchange),
                      pto_slice_all(builder, exchange->in),
                      pto_build_receiver(builder, PTO_STEP_RECV, exchange),
                      pto_slice_all(builder, exchange->out));
}

static void build(pto_builder_t *builder, const pto_exchange_t *exchange) {
    if (pto_builder_request(builder)->collective == PTO_COLLECTIVE_PAIR) {
        build_pair(builder, exchange);
        return;
    }
    pto_build_sendrecv(builder, "all messages", exchange, next_node(builder, exchange),
                       pto_slice_block(exchange->in, PTO_ANCHOR_ORDINAL),
                       pto_slice_block(exchange->out, PTO_ANCHOR_ORDINAL));
}

const pto_algorithm_t pto_algorithm_point_to_point = {
    .name = "point_to_point",
    .summary = "messages to another process or to GPUs of the next node, all in flight at once",
    .collectives = 1u << PTO_COLLECTIVE_MESSAGES | 1u << PTO_COLLECTIVE_PAIR,
    .chunked = true,
    .build = build,
};
