/* Hierarchical allreduce, with one message per node and round, as in MPI libraries that share memory within a
 * node (Spectrum MPI's, by its times: docs/validation.md). The vector has one part for each member of a node.
 * Each member reduces its part of all vectors of the node into the memory of the leader, the node's first
 * member. The leaders reduce whole vectors by recursive doubling. The other members then copy the result.
 *
 * With `segment_bytes` the vector is divided into segments, and each segment into such parts. The segments
 * pass through these stages in a pipeline, so that messages overlap with reductions. */
#include "algorithms.h"

/* Maximum number of segments in progress. It is above the number of stages, so it limits nothing else. */
enum { DEPTH_MAX = 64 };

typedef struct {
    pto_builder_t *builder;
    pto_exchange_t node;    /* the members of one node */
    pto_exchange_t leaders; /* the first members of all nodes */
    int received;           /* the leaders' temporary, if there are several */
    int64_t segments;
} levels_t;

/* Returns the part of the current segment that the member at `anchor` reduces. */
static pto_slice_t part_of(const levels_t *levels, pto_anchor_t anchor) {
    int64_t m = levels->node.n;
    return pto_slice_part(levels->node.out, levels->segments * m, anchor,
                          pto_loop_index(levels->segments > 1 ? m : 0, 0));
}

static pto_slice_t segment_of(const levels_t *levels) {
    pto_slice_t segment = part_of(levels, PTO_ANCHOR_ABSOLUTE);
    segment.run = segment.stride = segment.until = pto_constant(levels->node.n);
    return segment;
}

/* Each member reduces its part of the vectors of all but the leader in its own memory. It then reduces the
 * sum into the leader's memory. */
static void build_parts(const levels_t *levels) {
    const pto_exchange_t *node = &levels->node;
    pto_slice_t part = part_of(levels, PTO_ANCHOR_ME);
    pto_step_t from_others = pto_step_of_root(PTO_STEP_REDUCE, node);
    from_others.who_until = pto_constant(node->n);
    pto_build_local(levels->builder, "reduce parts", from_others, pto_slice_of_peer(part), part);
    pto_build_move(levels->builder, pto_step_of_others(PTO_STEP_REDUCE, node), part, pto_slice_of_peer(part));
    pto_flag_to_root(levels->builder, "part reduced", node);
}

static void build_round(const levels_t *levels, const pto_exchange_t *folded, pto_expr_t distance) {
    pto_peers_t partner = {.kind = PTO_PEERS_XOR, .first = distance, .sign = 1};
    pto_slice_t segment = segment_of(levels), received = segment;
    received.buffer = levels->received;
    pto_build_sendrecv(levels->builder, "exchange between nodes", folded, partner, segment, received);
    pto_build_reduce(levels->builder, pto_step_of(PTO_STEP_REDUCE, folded), segment, levels->received,
                     folded->out);
}

/* Pipelines cannot contain loops, so with several segments the rounds are written out. */
static void build_among_leaders(const levels_t *levels) {
    pto_slice_t segment = segment_of(levels);
    pto_exchange_t folded = pto_build_fold(levels->builder, &levels->leaders, segment, levels->received);
    int64_t rounds = pto_log2_ceil(folded.n);
    for (int64_t round = 0; round < rounds && levels->segments > 1; round++)
        build_round(levels, &folded, pto_constant((int64_t)1 << round));
    if (levels->segments == 1) {
        pto_build_loop(levels->builder, 0, rounds, true);
        build_round(levels, &folded, pto_power(1));
        pto_build_end(levels->builder);
    }
    pto_build_unfold(levels->builder, &levels->leaders, segment, segment);
}

static void build_copies(const levels_t *levels) {
    const pto_exchange_t *node = &levels->node;
    pto_slice_t segment = segment_of(levels);
    pto_flag_to_others(levels->builder, "result there", node);
    pto_build_local(levels->builder, "copy result", pto_step_of_others(PTO_STEP_COPY, node),
                    pto_slice_of_peer(segment), segment);
}

static void build(pto_builder_t *builder, const pto_exchange_t *exchange) {
    levels_t levels = {.builder = builder,
                       .node = pto_build_within_nodes(builder, exchange),
                       .leaders = pto_build_node_leaders(builder, exchange),
                       .segments = pto_build_segment_count(builder, exchange->out)};
    bool has_others = levels.node.n > 1; /* each node has members besides its leader */
    if (levels.leaders.n > 1)
        levels.received = pto_build_temporary(builder, exchange->out, "received");
    if (has_others)
        pto_flag_barrier(builder, "vectors there", &levels.node);
    if (levels.segments > 1)
        pto_build_pipeline(builder, 0, levels.segments,
                           levels.segments < DEPTH_MAX ? levels.segments : DEPTH_MAX);
    if (has_others)
        build_parts(&levels);
    if (levels.leaders.n > 1)
        build_among_leaders(&levels);
    if (has_others)
        build_copies(&levels);
    if (levels.segments > 1)
        pto_build_end(builder);
    if (has_others)
        pto_flag_to_root(builder, "result read", &levels.node);
}

const pto_algorithm_t pto_algorithm_hierarchical = {
    .name = "hierarchical",
    .summary = "a node's processes reduce a part each in its leader's memory; leaders exchange the whole",
    .collectives = 1u << PTO_COLLECTIVE_ALLREDUCE,
    .segmented = true,
    .shares_host = true,
    .build = build,
};
