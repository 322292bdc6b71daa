/* Building plans: the functions that `build` of a strategy or an algorithm calls (strategy.h;
 * docs/examples/strategy.c is an example).
 *
 * No call fails: a builder that runs out of memory records it, and pto_plan_create returns the error. Names
 * of stages, buffers and flags are borrowed and must outlive the plan; string literals do. */
#ifndef PORTOLAN_BUILDER_H
#define PORTOLAN_BUILDER_H

#include "portolan/api.h"
#include "portolan/plan.h"
#include "portolan/strategy.h"

PTO_API_BEGIN

/* Each returns an index, by which steps and slices refer to the group, buffer or flag. */
int pto_build_group(pto_builder_t *builder, pto_group_kind_t kind, int64_t fold);
int pto_build_buffer(pto_builder_t *builder, pto_buffer_t buffer);
int pto_build_flag(pto_builder_t *builder, const char *name);

/* A temporary of the same shape as `buffer`, for staging, with another name and space. */
int pto_build_mirror(pto_builder_t *builder, int buffer, const char *name, pto_space_t space);

/* The two levels of an exchange: among its members on each node, and among the first ones of all nodes. A
 * level of one member has n = 1. Both have the buffers of the exchange. */
pto_exchange_t pto_build_within_nodes(pto_builder_t *builder, const pto_exchange_t *exchange);
pto_exchange_t pto_build_node_leaders(pto_builder_t *builder, const pto_exchange_t *exchange);

/* What has been built so far: valid until the next call that builds one. */
const pto_buffer_t *pto_builder_buffer(const pto_builder_t *builder, int buffer);
const pto_group_t *pto_builder_group(const pto_builder_t *builder, int group);

/* Open a stage. Steps belong to it until the next call of pto_build_stage. */
void pto_build_stage(pto_builder_t *builder, const char *name, pto_order_t order);
void pto_build_step(pto_builder_t *builder, pto_step_t step);

/* A loop: everything up to the matching pto_build_end is its body. Loops don't nest. */
void pto_build_loop(pto_builder_t *builder, int64_t from, int64_t to, bool power);
/* The body performs the request's collective among `exchange`'s members, from its `in` to its `out`. These
 * are one buffer if a collective on vectors is in place. */
void pto_build_collective(pto_builder_t *builder, const pto_exchange_t *exchange, pto_done_by_t by);
/* A kernel launched by the members of `who`. Its first stage, the launch, is built automatically. Kernels
 * don't nest and contain no loops. */
void pto_build_kernel(pto_builder_t *builder, const pto_exchange_t *who);
/* Lanes (plan.h): branches that may overlap, each between pto_build_branch and pto_build_end, and a pipeline
 * of chunks [from, to), of which `depth` are in progress at most. */
void pto_build_parallel(pto_builder_t *builder);
void pto_build_branch(pto_builder_t *builder);
/* An either node for the members of `who` but the first, with three branches (plan.h), each between
 * pto_build_branch and pto_build_end; and a stage of its second or third branch that is passed once. In both
 * branches k is the member's index. */
void pto_build_either(pto_builder_t *builder, const pto_exchange_t *who, pto_policy_kind_t policy);
void pto_build_once(pto_builder_t *builder, const char *name, pto_order_t order);
void pto_build_pipeline(pto_builder_t *builder, int64_t from, int64_t to, int64_t depth);
/* A pipeline in which the k-th chunk of every block passes through the stages: all slices that are built up
 * to the matching pto_build_end select it. */
void pto_build_chunks(pto_builder_t *builder, int64_t chunks, int64_t depth);
/* The end of what was begun last. At most 8 nodes nest, and all must end. */
void pto_build_end(pto_builder_t *builder);

/* Build the request's algorithm among `exchange`'s members, as one collective node. */
void pto_build_exchange(pto_builder_t *builder, const pto_request_t *request, const pto_exchange_t *exchange);
/* The request that the plan is made for. */
const pto_request_t *pto_builder_request(const pto_builder_t *builder);

static inline pto_expr_t pto_expr_of(int64_t constant, int64_t loop, int64_t power, int64_t inverse) {
    pto_expr_t expr = {constant, loop, power, inverse, 0, 0};
    return expr;
}
static inline pto_expr_t pto_constant(int64_t value) { return pto_expr_of(value, 0, 0, 0); }
static inline pto_expr_t pto_loop_index(int64_t coefficient, int64_t constant) {
    return pto_expr_of(constant, coefficient, 0, 0);
}
static inline pto_expr_t pto_power(int64_t coefficient) { return pto_expr_of(0, 0, coefficient, 0); }
static inline pto_expr_t pto_inverse_power(int64_t numerator) { return pto_expr_of(0, 0, 0, numerator); }

/* Slices: all blocks in order; one block; one part of a vector divided into `parts`. */
pto_slice_t pto_slice_all(const pto_builder_t *builder, int buffer);
pto_slice_t pto_slice_block(int buffer, pto_anchor_t anchor);
pto_slice_t pto_slice_part(int buffer, int64_t parts, pto_anchor_t anchor, pto_expr_t offset);

/* The peer `distance` places after (sign 1) or before (sign -1) the acting rank. */
pto_peers_t pto_peers_at(pto_expr_t distance, int64_t sign);

/* A step for one end of a binomial tree's edges of length `distance` (a power of two). `lower`: the lower
 * ends, whose lowest set bit is the distance, with the upper ends as peers; else the reverse. */
pto_step_t pto_build_tree_ends(pto_step_kind_t kind, const pto_exchange_t *exchange, bool lower,
                               pto_expr_t distance);

/* Flags among the members of a group on one node.
 *
 * A stage in which `signal` raises a new flag and `wait` waits for it. The peers of both are given. */
void pto_intranode_flag(pto_builder_t *builder, const char *name, pto_step_t signal, pto_step_t wait);

/* A step of member 0 with all others as peers; of all others with member 0 as peer. */
pto_step_t pto_step_of_root(pto_step_kind_t kind, const pto_exchange_t *who);
pto_step_t pto_step_of_others(pto_step_kind_t kind, const pto_exchange_t *who);
/* A step of every member with all others as peers, the next one first. */
pto_step_t pto_step_of_all(pto_step_kind_t kind, const pto_exchange_t *who);

/* Every member raises a flag for its peers and waits for theirs; a barrier: all others are its peers. */
void pto_flag_among(pto_builder_t *builder, const char *name, const pto_exchange_t *who, pto_peers_t peers);
void pto_flag_barrier(pto_builder_t *builder, const char *name, const pto_exchange_t *who);

/* A step of the member of a pair that sends, or of the one that receives, with the other as its peer. If the
 * request goes both ways, both members do both. */
pto_step_t pto_build_sender(pto_builder_t *builder, pto_step_kind_t kind, const pto_exchange_t *pair);
pto_step_t pto_build_receiver(pto_builder_t *builder, pto_step_kind_t kind, const pto_exchange_t *pair);

/* A halo exchange: `pto_halo_phases` phases, in each of which messages go to these shifts, at once. A phase
 * has no shift without a neighbor for anyone. */
int pto_halo_phases(const pto_halo_t *grid);
int pto_halo_shifts(const pto_halo_t *grid, int phase, int shift[PTO_SHIFTS_MAX][PTO_DIMS_MAX]);
/* The neighbor at `shift`. A step of this peer is for those who have such a neighbor; where everyone is its
 * own neighbor, the peers are PTO_PEERS_NONE, so that a copy is for everyone. */
pto_peers_t pto_peers_cart(const pto_builder_t *builder, const int shift[PTO_DIMS_MAX]);
/* Of a buffer that is laid out as the user's field: the cells that the neighbor at `shift` gets, and those
 * that come from it, which are its cells towards -shift. */
pto_slice_t pto_slice_border(const pto_builder_t *builder, int buffer, const int shift[PTO_DIMS_MAX]);
pto_slice_t pto_slice_halo(const pto_builder_t *builder, int buffer, const int shift[PTO_DIMS_MAX]);

/* The same cells cut into at most `parts` units, for processes that share them or for a ring of slots: how
 * many units there are, and the cells of each but the last and of the last. `unit` numbers the unit, in terms
 * of the loop or of the core; the last one needs a slice of its own, with a constant number. */
typedef struct {
    int64_t count;
    int64_t cells;
    int64_t last_cells;
} pto_units_t;

pto_units_t pto_halo_units(const pto_halo_t *grid, const int shift[PTO_DIMS_MAX], int64_t parts);
pto_slice_t pto_slice_border_unit(const pto_builder_t *builder, int buffer, const int shift[PTO_DIMS_MAX],
                                  int64_t parts, pto_expr_t unit);
pto_slice_t pto_slice_halo_unit(const pto_builder_t *builder, int buffer, const int shift[PTO_DIMS_MAX],
                                int64_t parts, pto_expr_t unit);

/* The stage of a phase's messages between neighbors, up to pto_build_end_messages: a call of the MPI library
 * (MPI_Neighbor_alltoallw) if the request wants that and the strategy has an inner collective. */
void pto_build_messages(pto_builder_t *builder, const pto_exchange_t *exchange, const char *name);
void pto_build_end_messages(pto_builder_t *builder);

/* A halo exchange in one phase: the peers of a step for all neighbors, and its slices. Corners have messages
 * of their own. Beyond an edge that does not wrap, a border includes the sender's halo there if the corners
 * are PTO_CORNERS_TWO_PHASE, so that the result is the same. pto_build_own_cells builds the steps like `copy`
 * of those who are their own neighbors. */
pto_peers_t pto_peers_grid(void);
pto_slice_t pto_slice_cells(const pto_builder_t *builder, int buffer, pto_cells_t cells);
void pto_build_own_cells(pto_builder_t *builder, pto_step_t copy);
/* Smallest L with 2^L >= n. */
int64_t pto_log2_ceil(int64_t n);

/* A step of all members of a group on a range of cores; the caller fills in the rest. */
pto_step_t pto_step_of(pto_step_kind_t kind, const pto_exchange_t *exchange);

PTO_API_END

#endif
