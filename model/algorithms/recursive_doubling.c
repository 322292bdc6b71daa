/* Recursive doubling: log2 n rounds. In round k every process exchanges its whole vector with the process
 * whose index differs in bit k, and both reduce (Thakur, Rabenseifner, Gropp 2005, section 4.5). Counts that
 * are not powers of two are folded first. */
#include "algorithms.h"

static void build(pto_builder_t *builder, const pto_exchange_t *exchange) {
    int received = pto_build_temporary(builder, exchange->out, "received");
    pto_exchange_t folded = pto_build_fold(builder, exchange, received);
    pto_peers_t partner = {.kind = PTO_PEERS_XOR, .first = pto_power(1), .sign = 1};
    pto_build_loop(builder, 0, pto_log2_ceil(folded.n), true);
    pto_build_stage(builder, "exchange", PTO_ORDER_AT_ONCE);
    pto_step_t send = pto_step_of(PTO_STEP_SEND, &folded);
    send.peers = partner;
    send.source = pto_slice_all(builder, exchange->out);
    pto_build_step(builder, send);
    pto_step_t recv = pto_step_of(PTO_STEP_RECV, &folded);
    recv.peers = partner;
    recv.target = pto_slice_all(builder, received);
    pto_build_step(builder, recv);
    pto_build_reduce(builder, pto_step_of(PTO_STEP_REDUCE, &folded), pto_slice_all(builder, received),
                     received, exchange->out);
    pto_build_end(builder);
    pto_build_unfold(builder, exchange);
}

const pto_algorithm_t pto_algorithm_recursive_doubling = {
    .name = "recursive_doubling",
    .summary = "log2 n exchanges of the whole vector with partners at doubling distance",
    .collectives = 1u << PTO_COLLECTIVE_ALLREDUCE,
    .build = build,
};
