/* Shared by the algorithms. Each file of this folder defines one descriptor, listed in registry.c. */
#ifndef PTO_ALGORITHMS_H
#define PTO_ALGORITHMS_H

#include "portolan/strategy.h"

/* A stage in which every member copies its own block from `in` to `out`. */
void pto_build_own_block(pto_builder_t *builder, const pto_exchange_t *exchange);

/* The same for member 0 alone. */
void pto_build_root_block(pto_builder_t *builder, const pto_exchange_t *exchange, int in);

/* Messages between all members: each sends its blocks to its peers, and receives from those whose peer it is.
 * Distances to peers (`sign`) are the other way round at the receiver. */
void pto_build_peer_messages(pto_builder_t *builder, const pto_exchange_t *exchange, pto_peers_t peers,
                             bool send_empty);

/* A temporary with the shape, space and cores of `buffer`. */
int pto_build_temporary(pto_builder_t *builder, int buffer, const char *name);

/* For a reduce-scatter: copy the inputs of the first `n` members to a temporary that they reduce into, and
 * copy a member's own block from there to the output. */
int pto_build_sum(pto_builder_t *builder, const pto_exchange_t *exchange, int64_t n);
void pto_build_sum_block(pto_builder_t *builder, const pto_exchange_t *exchange, int sum);

/* The second of them for the members of a group that pto_build_fold has left: each copies the block of its
 * number before folding. */
void pto_build_folded_sum_block(pto_builder_t *builder, const pto_exchange_t *folded, int sum);

/* One end of a message: with which peer, and which bytes. */
typedef struct {
    pto_peers_t peer;
    pto_slice_t bytes;
} pto_message_end_t;

/* A stage in which every member sends one message and receives one. */
void pto_build_sendrecv(pto_builder_t *builder, const char *name, const pto_exchange_t *exchange,
                        pto_message_end_t send, pto_message_end_t recv);

/* The aligned run of `count` blocks or parts around the one of `slice`. */
pto_slice_t pto_slice_aligned_run(pto_slice_t slice, pto_expr_t count);

/* The blocks or parts of the subtree at an edge of a binomial tree among n members: `count` of them at most,
 * from the one `distance` after the peer's on. */
pto_slice_t pto_slice_subtree(int buffer, int64_t n, pto_expr_t distance, pto_expr_t count);

/* How many segments a vector is cut into: by the library's `segment_bytes`; without these by an algorithm
 * that cuts it as the request's chunks say. The vector is a process's share of the block if several share
 * it. */
int64_t pto_build_segment_count(pto_builder_t *builder, int vector);

/* Fold a reduction to a power of two: the first 2r of n members pair up (r = n - the largest power of two up
 * to n). The even ones send their vector to their neighbour and pause until pto_build_unfold returns the
 * result to them, or pto_build_unfold_block one block of it. Returns the exchange of the remaining members.
 * `vector` are the bytes of the output that are reduced, and `received` is a temporary vector. */
pto_exchange_t pto_build_fold(pto_builder_t *builder, const pto_exchange_t *exchange, pto_slice_t vector,
                              int received);
void pto_build_unfold(pto_builder_t *builder, const pto_exchange_t *exchange, pto_slice_t vector);
void pto_build_unfold_block(pto_builder_t *builder, const pto_exchange_t *exchange, int sum);

/* How many members pto_build_fold folds away; 0 for a power of two. */
int64_t pto_folded_away(int64_t n);

/* A stage in which the members of `who` reduce a slice of `received` into the same slice of `out`. `slice`
 * selects the bytes; its buffer is set here. */
void pto_build_reduce(pto_builder_t *builder, pto_step_t who, pto_slice_t slice, int received, int out);

#endif
