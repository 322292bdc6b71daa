/* Strategies that pass the owners' buffers directly to the collective, without copies.
 *
 * cuda_aware: GPU buffers; messages travel from GPU to GPU (GPUDirect; Bienz et al., arXiv:2010.10378,
 * section III and option 1 of section VI). mpi: buffers in host memory, with the MPI library's collective.
 * own_algorithm: buffers in host memory, with one of our algorithms, which sends its messages one by one. */
#include "staging.h"

static void build(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t exchange = pto_route_user_in_place(builder, request);
    pto_exchange_t with_input = exchange; /* the members that have an input */
    if (pto_collective_is_from_root(request->collective))
        with_input.n = 1;
    /* MPI_Allreduce takes an input and an output buffer. Otherwise collectives on vectors work in place. */
    bool takes_both = request->by_library && request->collective == PTO_COLLECTIVE_ALLREDUCE;
    if (pto_collective_is_vector(request->collective) && !takes_both)
        pto_build_copy(builder, "place input", &with_input, pto_slice_all(builder, exchange.in),
                       pto_slice_all(builder, exchange.out));
    pto_build_exchange(builder, request, &exchange);
}

enum {
    COLLECTIVES = PTO_VECTORS | PTO_ALLTOALLS | PTO_ALLGATHERS | PTO_ROOTED | 1u << PTO_COLLECTIVE_MESSAGES |
                  1u << PTO_COLLECTIVE_PAIR | 1u << PTO_COLLECTIVE_HALO | 1u << PTO_COLLECTIVE_REDUCE_SCATTER
};

const pto_strategy_t pto_strategy_cuda_aware = {
    .name = "cuda_aware",
    .summary = "GPU buffers go to the collective; messages travel GPU to GPU",
    .collectives = COLLECTIVES,
    .joins = true,
    .collective_space = PTO_SPACE_GPU,
    .build = build,
};

const pto_strategy_t pto_strategy_mpi = {
    .name = "mpi",
    .summary = "host buffers go to the MPI library's own collective",
    .collectives = COLLECTIVES,
    .in_host = true,
    .collective_space = PTO_SPACE_CPU,
    .build = build,
};

/* Without the collectives that MPI does not have: `mpi` already runs those by our algorithms. */
const pto_strategy_t pto_strategy_own_algorithm = {
    .name = "own_algorithm",
    .summary = "host buffers, exchanged by the cheapest algorithm, message by message",
    .collectives = (unsigned)COLLECTIVES & ~(1u << PTO_COLLECTIVE_MESSAGES | 1u << PTO_COLLECTIVE_PAIR),
    .in_host = true,
    .by_hand = true,
    .collective_space = PTO_SPACE_CPU,
    .build = build,
};
