/* What the files of this folder share. Each defines one descriptor, listed in registry.c. */
#ifndef PTO_ALGORITHMS_H
#define PTO_ALGORITHMS_H

#include "portolan/builder.h"

/* A stage in which every member copies the block that is its own from `in` to `out`. */
void pto_build_own_block(pto_builder_t *builder, const pto_exchange_t *exchange);

/* A temporary of the shape of `buffer`, in the same space, on the same cores. */
int pto_build_temporary(pto_builder_t *builder, int buffer, const char *name);

/* Allreduce on a power of two: the first 2r of n members pair up, the even ones hand their vector to their
 * neighbour and stand aside until pto_build_unfold hands the result back (r = n - the largest power of two up
 * to n). Returns the exchange of those who stay. `received` is a temporary vector. */
pto_exchange_t pto_build_fold(pto_builder_t *builder, const pto_exchange_t *exchange, int received);
void pto_build_unfold(pto_builder_t *builder, const pto_exchange_t *exchange);

/* A stage in which `who`'s members reduce a slice of `received` into the same slice of `out`; `slice` names
 * the bytes, its buffer is set here. */
void pto_build_reduce(pto_builder_t *builder, pto_step_t who, pto_slice_t slice, int received, int out);

#endif
