/* Building plans: what the `build` functions of strategies and algorithms call (strategy.h; an example is
 * docs/examples/strategy.c).
 *
 * No call fails: a builder that runs out of memory remembers it, and pto_plan_create returns the error. Names
 * of stages, buffers and flags are borrowed and must outlive the plan; string literals do.
 */
#ifndef PORTOLAN_BUILDER_H
#define PORTOLAN_BUILDER_H

#include "portolan/api.h"
#include "portolan/plan.h"
#include "portolan/strategy.h"

PTO_API_BEGIN

/* Each returns the index by which steps and slices name what was made. */
int pto_build_group(pto_builder_t *builder, pto_group_kind_t kind, int64_t fold);
int pto_build_buffer(pto_builder_t *builder, pto_buffer_t buffer);
int pto_build_flag(pto_builder_t *builder, const char *name);

/* A copy of a buffer's shape, for staging: another name and space, role temporary. */
int pto_build_mirror(pto_builder_t *builder, int buffer, const char *name, pto_space_t space);

const pto_buffer_t *pto_builder_buffer(const pto_builder_t *builder, int buffer);
const pto_group_t *pto_builder_group(const pto_builder_t *builder, int group);

/* Open a stage; steps belong to it until the next of these calls. */
void pto_build_stage(pto_builder_t *builder, const char *name, pto_order_t order);
void pto_build_step(pto_builder_t *builder, pto_step_t step);

/* Everything up to the matching pto_build_end is the body. Loops don't nest. */
void pto_build_loop(pto_builder_t *builder, int64_t from, int64_t to, bool power);
/* The body does the request's collective among `exchange`'s members, from its `in` to its `out`; these are
 * one buffer where a collective of vectors is in place. */
void pto_build_collective(pto_builder_t *builder, const pto_exchange_t *exchange, pto_done_by_t by);
/* A kernel that `who` launch; its first stage, the launch, is made. Kernels don't nest and hold no loops. */
void pto_build_kernel(pto_builder_t *builder, const pto_exchange_t *who);
void pto_build_end(pto_builder_t *builder);

/* The request's algorithm among `exchange`'s members, wrapped as one collective. */
void pto_build_exchange(pto_builder_t *builder, const pto_request_t *request, const pto_exchange_t *exchange);
const pto_request_t *pto_builder_request(const pto_builder_t *builder);

/* Expressions. */
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

/* Slices: everything, in order; one block; one part of a vector cut into `parts`. */
pto_slice_t pto_slice_all(const pto_builder_t *builder, int buffer);
pto_slice_t pto_slice_block(int buffer, pto_anchor_t anchor);
pto_slice_t pto_slice_part(int buffer, int64_t parts, pto_anchor_t anchor, pto_expr_t offset);

/* Peers: the one that is `distance` on (sign 1) or back (sign -1). */
pto_peers_t pto_peers_at(pto_expr_t distance, int64_t sign);

/* A step of the ends of a binomial tree's edges at a distance (a power of two): the lower ends, whose lowest
 * set bit is the distance, with the upper ones as peers; or the upper ends with the lower ones. */
pto_step_t pto_build_tree_ends(pto_step_kind_t kind, const pto_exchange_t *exchange, bool lower,
                               pto_expr_t distance);

/* Smallest L with 2^L >= n. */
int64_t pto_log2_ceil(int64_t n);

/* A step of all members of a group on a range of cores, to be completed by the caller. */
pto_step_t pto_step_of(pto_step_kind_t kind, const pto_exchange_t *exchange);

PTO_API_END

#endif
