/* Rabenseifner's algorithm: a reduce-scatter by recursive halving, then an allgather by recursive doubling
 * (Rabenseifner 2004; Thakur, Rabenseifner, Gropp 2005, section 4.5). The first partners are the nearest, so
 * that long messages travel short distances. A process therefore ends the halving with the part whose number
 * is its bit-reversed index. A reduce gathers the parts at process 0 instead of the allgather (section 4.4
 * there; Open MPI's `rabenseifner`, MPICH's `reduce_scatter_gather`). It starts with the farthest partners;
 * the lower one of two continues with the parts of both. If the number of processes is not a power of two,
 * process 0 is folded away and receives the whole result at the end. In the libraries it takes the place of
 * another process instead. */
#include "algorithms.h"

/* Returns the aligned run of `parts_kept` parts that contains that of the bit-reversed index at `anchor`. */
static pto_slice_t half(int buffer, int64_t parts, pto_anchor_t anchor, pto_expr_t parts_kept) {
    pto_slice_t slice = pto_slice_part(buffer, parts, anchor, pto_constant(0));
    slice.reverse_bits = pto_log2_ceil(parts);
    return pto_slice_aligned_run(slice, parts_kept);
}

static void build_halving(pto_builder_t *builder, const pto_exchange_t *folded, int received) {
    int64_t n = folded->n;
    pto_expr_t kept = pto_inverse_power(n / 2);
    pto_build_loop(builder, 0, pto_log2_ceil(n), true);
    pto_peers_t partner = {.kind = PTO_PEERS_XOR, .first = pto_power(1), .sign = 1};
    pto_slice_t mine = half(received, n, PTO_ANCHOR_ME, kept);
    pto_build_sendrecv(builder, "halve", folded, partner, half(folded->out, n, PTO_ANCHOR_PEER, kept), mine);
    pto_build_reduce(builder, pto_step_of(PTO_STEP_REDUCE, folded), mine, received, folded->out);
    pto_build_end(builder);
}

static void build_doubling(pto_builder_t *builder, const pto_exchange_t *folded) {
    int64_t n = folded->n;
    pto_build_loop(builder, 0, pto_log2_ceil(n), true);
    pto_peers_t partner = {.kind = PTO_PEERS_XOR, .first = pto_inverse_power(n / 2), .sign = 1};
    pto_build_sendrecv(builder, "double", folded, partner, half(folded->out, n, PTO_ANCHOR_ME, pto_power(1)),
                       half(folded->out, n, PTO_ANCHOR_PEER, pto_power(1)));
    pto_build_end(builder);
}

/* In the round of distance d, members d to 2 d - 1 send their parts to the members d below them. */
static void build_gather(pto_builder_t *builder, const pto_exchange_t *folded) {
    int64_t n = folded->n;
    pto_build_loop(builder, 0, pto_log2_ceil(n), true);
    pto_expr_t distance = pto_inverse_power(n / 2);
    pto_step_t send = pto_step_of(PTO_STEP_SEND, folded), recv = pto_step_of(PTO_STEP_RECV, folded);
    send.who_first = recv.who_until = distance;
    send.who_until = pto_inverse_power(n);
    send.peers = pto_peers_at(distance, -1);
    recv.peers = pto_peers_at(distance, 1);
    pto_build_message(builder, "gather", send, half(folded->out, n, PTO_ANCHOR_ME, pto_power(1)), recv,
                      half(folded->out, n, PTO_ANCHOR_PEER, pto_power(1)));
    pto_build_end(builder);
}

/* Process 0 receives the result from the process that it was folded into. */
static void build_return(pto_builder_t *builder, const pto_exchange_t *exchange) {
    const pto_slice_t vector = pto_slice_all(builder, exchange->out);
    pto_step_t send = pto_step_of(PTO_STEP_SEND, exchange), recv = pto_step_of(PTO_STEP_RECV, exchange);
    send.who_first = recv.who_until = pto_constant(1);
    send.who_until = pto_constant(2);
    send.peers = pto_peers_at(pto_constant(1), -1);
    recv.peers = pto_peers_at(pto_constant(1), 1);
    pto_build_message(builder, "return", send, vector, recv, vector);
}

static void build(pto_builder_t *builder, const pto_exchange_t *exchange) {
    int received = pto_build_temporary(builder, exchange->out, "received");
    pto_exchange_t folded =
        pto_build_fold(builder, exchange, pto_slice_all(builder, exchange->out), received);
    build_halving(builder, &folded, received);
    if (pto_builder_request(builder)->collective == PTO_COLLECTIVE_REDUCE) {
        build_gather(builder, &folded);
        if (folded.n < exchange->n)
            build_return(builder, exchange);
        return;
    }
    build_doubling(builder, &folded);
    pto_build_unfold(builder, exchange, pto_slice_all(builder, exchange->out),
                     pto_slice_all(builder, exchange->out));
}

const pto_algorithm_t pto_algorithm_rabenseifner = {
    .name = "rabenseifner",
    .summary = "reduce-scatter by recursive halving, then allgather by recursive doubling, or gather",
    .collectives = 1u << PTO_COLLECTIVE_ALLREDUCE | 1u << PTO_COLLECTIVE_REDUCE,
    .build = build,
};
