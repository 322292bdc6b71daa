/* Chain: in a broadcast from process 0, each process passes the vector on to the next one; in a reduction to
 * process 0, it adds its own vector to the one that it receives and passes the sum on. A vector of s segments
 * takes n - 2 + s rounds over the n - 1 links (Open MPI's `pipeline`; Pjesivac-Grbovic et al. 2007): in round
 * t, segment t - l passes link l, where link 0 is the first one. The number of segments follows from the MPI
 * library's `segment_bytes` or from the request's chunks. */
#include "algorithms.h"

typedef struct {
    pto_builder_t *builder;
    const pto_exchange_t *exchange;
    int64_t links;
    int64_t segments;
    int received; /* a reduction's temporary */
    bool up;      /* towards process 0 */
} chain_t;

/* Rounds [from, to), and the links in use in them, whose bounds may depend on the round. */
typedef struct {
    int64_t from;
    int64_t to;
    pto_expr_t link_first;
    pto_expr_t link_until;
} rounds_t;

/* Returns the segment that a process sends `later` rounds after the current one. With 1, it is the segment
 * that it receives now. In round t, process i sends segment t - i or, towards process 0, t - (links - i). The
 * factor of i (anchor_step) must not be negative. Modulo `segments`, segments - 1 equals -1. */
static pto_slice_t segment_of(const chain_t *chain, int buffer, int64_t later) {
    int64_t start = chain->up ? -chain->links : 0;
    pto_slice_t slice =
        pto_slice_part(buffer, chain->segments, PTO_ANCHOR_ME, pto_loop_index(1, start + later));
    slice.anchor_step = chain->up ? 1 : chain->segments - 1;
    return slice;
}

/* Returns a step of the processes at the start (`end` is 0) or at the end (1) of the links of a round. Link l
 * starts at process l and ends at l + 1. Towards process 0 it starts at process links - l and ends at
 * links - l - 1, so the range of processes is reversed. */
static pto_step_t end_of_links(const chain_t *chain, pto_step_kind_t kind, const rounds_t *rounds,
                               int64_t end) {
    pto_step_t step = pto_step_of(kind, chain->exchange);
    step.who_first = rounds->link_first;
    step.who_until = rounds->link_until;
    step.who_first.constant += end;
    step.who_until.constant += end;
    if (chain->up) {
        int64_t after = chain->links - end + 1; /* one more than the process at this end of link 0 */
        step.who_first = pto_loop_index(-rounds->link_until.loop, after - rounds->link_until.constant);
        step.who_until = pto_loop_index(-rounds->link_first.loop, after - rounds->link_first.constant);
    }
    bool to_next = (end == 0) != chain->up;
    step.peers = pto_peers_at(pto_constant(1), to_next ? 1 : -1);
    return step;
}

static void build_rounds(const chain_t *chain, rounds_t rounds) {
    int out = chain->exchange->out, target = chain->up ? chain->received : out;
    if (rounds.from >= rounds.to)
        return;
    pto_build_loop(chain->builder, rounds.from, rounds.to, false);
    pto_step_t send = end_of_links(chain, PTO_STEP_SEND, &rounds, 0);
    pto_step_t recv = end_of_links(chain, PTO_STEP_RECV, &rounds, 1);
    pto_build_message(chain->builder, "round", send, segment_of(chain, out, 0), recv,
                      segment_of(chain, target, 1));
    if (chain->up)
        pto_build_reduce(chain->builder, recv, segment_of(chain, out, 1), chain->received, out);
    pto_build_end(chain->builder);
}

/* The pipeline fills: one more link carries a segment in each round. When it is filled, either all links are
 * in use or all segments are under way. At last it drains: one link fewer is in use in each round. */
static void build_links(const chain_t *chain) {
    int64_t links = chain->links, segments = chain->segments;
    int64_t filled = (links < segments ? links : segments) - 1; /* the first round of the second phase */
    int64_t draining = links + segments - 1 - filled;           /* the first round of the third phase */
    pto_expr_t first = pto_constant(0), until = pto_constant(links);
    pto_expr_t moving_first = pto_loop_index(1, 1 - segments), moving_until = pto_loop_index(1, 1);
    build_rounds(chain, (rounds_t){0, filled, first, moving_until});
    if (links <= segments)
        build_rounds(chain, (rounds_t){filled, draining, first, until});
    else
        build_rounds(chain, (rounds_t){filled, draining, moving_first, moving_until});
    build_rounds(chain, (rounds_t){draining, links + segments - 1, moving_first, until});
}

static void build(pto_builder_t *builder, const pto_exchange_t *exchange) {
    chain_t chain = {.builder = builder,
                     .exchange = exchange,
                     .links = exchange->n - 1,
                     .segments = pto_build_segment_count(builder, exchange->out),
                     .up = pto_builder_request(builder)->collective == PTO_COLLECTIVE_REDUCE};
    if (chain.links == 0)
        return;
    if (chain.up)
        chain.received = pto_build_temporary(builder, exchange->out, "received");
    build_links(&chain);
}

const pto_algorithm_t pto_algorithm_chain = {
    .name = "chain",
    .summary = "segments from each process to the next, from process 0 or to it, in a pipeline",
    .collectives = 1u << PTO_COLLECTIVE_REDUCE | 1u << PTO_COLLECTIVE_BROADCAST,
    .segmented = true,
    .cuts = true,
    .build = build,
};
