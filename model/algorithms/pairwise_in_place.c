/* Pairwise exchange in place: the data is first copied to a temporary. MPI libraries do so for an alltoall
 * with MPI_IN_PLACE (Open MPI and MPICH don't use their tuned algorithms for it). */
#include "algorithms.h"

extern const pto_algorithm_t pto_algorithm_pairwise;

static void build(pto_builder_t *builder, const pto_exchange_t *exchange) {
    pto_exchange_t moved = *exchange;
    moved.in = pto_build_temporary(builder, exchange->in, "set aside");
    pto_build_copy(builder, "set aside", exchange, pto_slice_all(builder, exchange->in),
                   pto_slice_all(builder, moved.in));
    pto_algorithm_pairwise.build(builder, &moved);
}

const pto_algorithm_t pto_algorithm_pairwise_in_place = {
    .name = "pairwise_in_place",
    .summary = "the data are set aside, then exchanged pairwise, as libraries do where input is output",
    .collectives = 1u << PTO_COLLECTIVE_ALLTOALL,
    .build = build,
};
