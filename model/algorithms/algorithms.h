/* Building blocks that the algorithms share. Each file here defines one descriptor, listed in registry.c. Its
 * `build` adds the stages of the collective to a plan, through the builder (portolan/strategy.h). */
#ifndef PTO_ALGORITHMS_H
#define PTO_ALGORITHMS_H

#include "portolan/strategy.h"

/* Builds a stage in which every member copies its own block from `in` to exchange->out. */
void pto_build_own_block(pto_builder_t *builder, const pto_exchange_t *exchange, int in);

/* Builds the messages of a stage: each member sends the peers' blocks of `in` to its `peers`. It receives
 * into `out` from the members whose peer it is: those at the same distances with the opposite sign. */
void pto_build_peer_messages(pto_builder_t *builder, const pto_exchange_t *exchange, pto_peers_t peers,
                             bool send_empty);

/* Builds a temporary with the shape, space and cores of `buffer`. */
int pto_build_temporary(pto_builder_t *builder, int buffer, const char *name);

/* Builds the temporary in which a reduce-scatter reduces. The first `n` members copy their inputs to it. */
int pto_build_sum(pto_builder_t *builder, const pto_exchange_t *exchange, int64_t n);

/* Returns the aligned run of `count` blocks or parts that contains the block or part of `slice`. */
pto_slice_t pto_slice_aligned_run(pto_slice_t slice, pto_expr_t count);

/* Returns the blocks or parts of a binomial subtree among n members: at most `count`, beginning `distance`
 * after the block of the peer. */
pto_slice_t pto_slice_subtree(int buffer, int64_t n, pto_expr_t distance, pto_expr_t count);

/* Returns the number of segments of a vector (or of a process's share of it): by the MPI library's
 * `segment_bytes` or, for an algorithm that divides vectors itself, the request's chunks. */
int64_t pto_build_segment_count(pto_builder_t *builder, int vector);

/* Folds a reduction among n members to p, the largest power of two up to n: of the first 2 (n - p) members,
 * those with even numbers send their vector to the next member, and wait for pto_build_unfold. `vector` names
 * the bytes of the output that are reduced; `received` is a temporary for them. Returns the exchange of the p
 * members that remain, which have new indices (pto_group_t.fold). */
pto_exchange_t pto_build_fold(pto_builder_t *builder, const pto_exchange_t *exchange, pto_slice_t vector,
                              int received);
/* Builds the messages that return the result, or a part of it, to the members that pto_build_fold made wait:
 * the next member sends `sent`, and they receive into `received`. */
void pto_build_unfold(pto_builder_t *builder, const pto_exchange_t *exchange, pto_slice_t sent,
                      pto_slice_t received);

/* Returns the number of members that pto_build_fold makes wait; 0 for a power of two. */
int64_t pto_folded_away(int64_t n);

/* Builds a stage in which the members of `step` reduce the bytes of `slice` from `received` into `out`. The
 * kind and peers of `step` and the buffer of `slice` are not used. */
void pto_build_reduce(pto_builder_t *builder, pto_step_t step, pto_slice_t slice, int received, int out);

#endif
