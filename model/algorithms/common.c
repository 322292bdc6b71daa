/* Building blocks that several algorithms and strategies share: steps, messages and flags of an exchange's
 * members (strategy.h), and folding to a power of two (algorithms.h). */
#include "algorithms.h"

void pto_build_peer_messages(pto_builder_t *builder, const pto_exchange_t *exchange, pto_peers_t peers,
                             bool send_empty) {
    pto_step_t send = pto_step_of(PTO_STEP_SEND, exchange);
    send.peers = peers;
    send.source = pto_slice_block(exchange->in, PTO_ANCHOR_PEER);
    send.send_empty = send_empty;
    pto_build_step(builder, send);
    pto_step_t recv = pto_step_of(PTO_STEP_RECV, exchange);
    recv.peers = peers;
    recv.peers.sign = -peers.sign;
    recv.target = pto_slice_block(exchange->out, PTO_ANCHOR_PEER);
    recv.send_empty = send_empty;
    pto_build_step(builder, recv);
}

void pto_build_own_block(pto_builder_t *builder, const pto_exchange_t *exchange, int in) {
    pto_build_copy(builder, "own block", exchange, pto_slice_block(in, PTO_ANCHOR_ME),
                   pto_slice_block(exchange->out, PTO_ANCHOR_ME));
}

int pto_build_temporary(pto_builder_t *builder, int buffer, const char *name) {
    return pto_build_mirror(builder, buffer, name, pto_builder_buffer(builder, buffer)->space);
}

int pto_build_sum(pto_builder_t *builder, const pto_exchange_t *exchange, int64_t n) {
    pto_buffer_t buffer = pto_temporary_like(builder, exchange->in, "sum");
    if (n < exchange->n)
        buffer.held_stride = exchange->n;
    int sum = pto_build_buffer(builder, buffer);
    pto_exchange_t first = *exchange;
    first.n = n;
    pto_build_copy(builder, "place input", &first, pto_slice_all(builder, exchange->in),
                   pto_slice_all(builder, sum));
    return sum;
}

pto_slice_t pto_slice_aligned_run(pto_slice_t slice, pto_expr_t count) {
    slice.align = count;
    slice.run = count;
    slice.stride = count;
    slice.until = count;
    return slice;
}

pto_step_t pto_build_tree_ends(pto_step_kind_t kind, const pto_exchange_t *exchange, bool lower,
                               pto_expr_t distance) {
    pto_step_t step = pto_step_of(kind, exchange);
    step.who_stride = (pto_expr_t){
        .constant = 2 * distance.constant, .power = 2 * distance.power, .inverse = 2 * distance.inverse};
    if (lower)
        step.who_first = distance;
    else
        step.who_until = (pto_expr_t){.constant = exchange->n - distance.constant,
                                      .power = -distance.power,
                                      .inverse = -distance.inverse};
    step.peers = pto_peers_at(distance, lower ? -1 : 1);
    return step;
}

pto_step_t pto_build_sender(pto_builder_t *builder, pto_step_kind_t kind, const pto_exchange_t *pair) {
    pto_step_t step = pto_step_of(kind, pair);
    step.who_until = pto_constant(pto_builder_request(builder)->ends.both_ways ? 2 : 1);
    step.peers = pto_peers_at(pto_constant(1), 1);
    return step;
}

pto_step_t pto_build_receiver(pto_builder_t *builder, pto_step_kind_t kind, const pto_exchange_t *pair) {
    pto_step_t step = pto_step_of(kind, pair);
    step.who_first = pto_constant(pto_builder_request(builder)->ends.both_ways ? 0 : 1);
    step.peers = pto_peers_at(pto_constant(1), -1);
    return step;
}

void pto_intranode_flag(pto_builder_t *builder, const char *name, pto_step_t signal, pto_step_t wait) {
    signal.kind = PTO_STEP_SIGNAL;
    wait.kind = PTO_STEP_WAIT;
    signal.flag = wait.flag = pto_build_flag(builder, name);
    pto_build_stage(builder, name, PTO_ORDER_SEQUENCE);
    pto_build_step(builder, signal);
    pto_build_step(builder, wait);
}

void pto_flag_to_others(pto_builder_t *builder, const char *name, const pto_exchange_t *who) {
    pto_intranode_flag(builder, name, pto_step_of_root(PTO_STEP_SIGNAL, who),
                       pto_step_of_others(PTO_STEP_WAIT, who));
}

void pto_flag_to_root(pto_builder_t *builder, const char *name, const pto_exchange_t *who) {
    pto_intranode_flag(builder, name, pto_step_of_others(PTO_STEP_SIGNAL, who),
                       pto_step_of_root(PTO_STEP_WAIT, who));
}

void pto_build_sendrecv(pto_builder_t *builder, const char *name, const pto_exchange_t *who,
                        pto_peers_t peers, pto_slice_t sent, pto_slice_t received) {
    pto_step_t send = pto_step_of(PTO_STEP_SEND, who), recv = pto_step_of(PTO_STEP_RECV, who);
    send.peers = recv.peers = peers;
    if (peers.kind != PTO_PEERS_XOR) {
        recv.peers.sign = -peers.sign;
        recv.peers.node_shift = -peers.node_shift;
    }
    pto_build_message(builder, name, send, sent, recv, received);
}

void pto_build_message(pto_builder_t *builder, const char *name, pto_step_t send, pto_slice_t sent,
                       pto_step_t recv, pto_slice_t received) {
    send.source = sent;
    recv.target = received;
    pto_build_stage(builder, name, PTO_ORDER_AT_ONCE);
    pto_build_step(builder, send);
    pto_build_step(builder, recv);
}

static pto_peers_t indices(int64_t first, int64_t until) {
    return (pto_peers_t){.kind = PTO_PEERS_INDEX,
                         .first = pto_constant(first),
                         .stride = pto_constant(1),
                         .until = pto_constant(until)};
}

pto_step_t pto_step_of_root(pto_step_kind_t kind, const pto_exchange_t *who) {
    pto_step_t step = pto_step_of(kind, who);
    step.who_until = pto_constant(1);
    step.peers = indices(1, who->n);
    return step;
}

pto_step_t pto_step_of_others(pto_step_kind_t kind, const pto_exchange_t *who) {
    pto_step_t step = pto_step_of(kind, who);
    step.who_first = pto_constant(1);
    step.peers = indices(0, 1);
    return step;
}

pto_step_t pto_step_of_all(pto_step_kind_t kind, const pto_exchange_t *who) {
    pto_step_t step = pto_step_of(kind, who);
    step.peers = (pto_peers_t){.kind = PTO_PEERS_SHIFT,
                               .first = pto_constant(1),
                               .stride = pto_constant(1),
                               .until = pto_constant(who->n),
                               .sign = 1};
    return step;
}

/* The waits have a stage of their own: pricing processes a stage rank by rank, so in a single stage the first
 * rank would wait for signals that no other rank has raised yet. */
void pto_flag_among(pto_builder_t *builder, const char *name, const pto_exchange_t *who, pto_peers_t peers) {
    pto_step_t signal = pto_step_of(PTO_STEP_SIGNAL, who), wait = pto_step_of(PTO_STEP_WAIT, who);
    signal.peers = wait.peers = peers;
    signal.flag = wait.flag = pto_build_flag(builder, name);
    pto_build_stage(builder, name, PTO_ORDER_SEQUENCE);
    pto_build_step(builder, signal);
    pto_build_stage(builder, name, PTO_ORDER_SEQUENCE);
    pto_build_step(builder, wait);
}

void pto_flag_barrier(pto_builder_t *builder, const char *name, const pto_exchange_t *who) {
    pto_flag_among(builder, name, who, pto_step_of_all(PTO_STEP_SIGNAL, who).peers);
}

int64_t pto_log2_ceil(int64_t n) {
    int64_t log2 = 0;
    while (((int64_t)1 << log2) < n)
        log2++;
    return log2;
}

pto_slice_t pto_slice_subtree(int buffer, int64_t n, pto_expr_t distance, pto_expr_t count) {
    distance.peer = 1;
    return (pto_slice_t){.buffer = buffer,
                         .first = distance,
                         .run = count,
                         .stride = pto_constant(n),
                         .until = pto_constant(n)};
}

int64_t pto_build_segment_count(pto_builder_t *builder, int vector) {
    const pto_buffer_t *buffer = pto_builder_buffer(builder, vector);
    const pto_request_t *request = pto_builder_request(builder);
    int64_t segment_bytes = request->segment_bytes, bytes = buffer->block_bytes;
    if (buffer->split > 1)
        bytes = pto_share_bytes(bytes, buffer->granularity_bytes, buffer->split, 0);
    if (segment_bytes == 0 && request->chunks > 1 && pto_request_cuts_inside(request))
        return pto_chunk_count(bytes, request->chunks);
    return segment_bytes > 0 && bytes > segment_bytes ? (bytes - 1) / segment_bytes + 1 : 1;
}

void pto_build_reduce(pto_builder_t *builder, pto_step_t step, pto_slice_t slice, int received, int out) {
    pto_slice_t source = slice, target = slice;
    source.buffer = received;
    target.buffer = out;
    step.kind = PTO_STEP_REDUCE;
    step.peers = (pto_peers_t){.kind = PTO_PEERS_NONE};
    pto_build_local(builder, "reduce", step, source, target);
}

/* Returns a step of the even (parity 0) or odd (1) members of the first r pairs, with the other as peer. */
static pto_step_t one_of_pair(pto_step_kind_t kind, const pto_exchange_t *exchange, int64_t parity,
                              int64_t r) {
    pto_step_t step = pto_step_of(kind, exchange);
    step.who_first = pto_constant(parity);
    step.who_stride = pto_constant(2);
    step.who_until = pto_constant(2 * r);
    step.peers = pto_peers_at(pto_constant(1), parity ? -1 : 1);
    return step;
}

int64_t pto_folded_away(int64_t n) {
    int64_t power = 1;
    while (2 * power <= n)
        power *= 2;
    return n - power;
}

pto_exchange_t pto_build_fold(pto_builder_t *builder, const pto_exchange_t *exchange, pto_slice_t vector,
                              int received) {
    pto_exchange_t folded = *exchange;
    int64_t r = pto_folded_away(exchange->n);
    if (r == 0)
        return folded;
    pto_step_t recv = one_of_pair(PTO_STEP_RECV, exchange, 1, r);
    pto_slice_t arrived = vector;
    arrived.buffer = received;
    pto_build_message(builder, "fold", one_of_pair(PTO_STEP_SEND, exchange, 0, r), vector, recv, arrived);
    pto_build_reduce(builder, recv, vector, received, exchange->out);
    folded.group = pto_build_group(builder, pto_builder_group(builder, exchange->group)->kind, r);
    folded.n = exchange->n - r;
    return folded;
}

void pto_build_unfold(pto_builder_t *builder, const pto_exchange_t *exchange, pto_slice_t sent,
                      pto_slice_t received) {
    int64_t r = pto_folded_away(exchange->n);
    if (r == 0)
        return;
    pto_build_message(builder, "unfold", one_of_pair(PTO_STEP_SEND, exchange, 1, r), sent,
                      one_of_pair(PTO_STEP_RECV, exchange, 0, r), received);
}
