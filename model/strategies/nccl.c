/* nccl: one call of NVIDIA's NCCL on GPU memory, the baseline that GPU users have at hand: ncclAllReduce,
 * ncclReduce, ncclBroadcast, ncclAllGather and ncclReduceScatter from one buffer into the other. alltoall and
 * alltoallv are one group of ncclSend and ncclRecv, as in NCCL's user guide.
 *
 * The stages inside define what the call means, so that `check` can prove it: a vector passes around a ring
 * or goes to or from the root, or every process sends to every other at once. NCCL's actual algorithm and
 * memory are its own: the temporaries here are never allocated (pto_buffer_stands_in). */
#include "staging.h"

extern const pto_algorithm_t pto_algorithm_ring, pto_algorithm_linear;

/* Member 0 alone. */
static pto_exchange_t root_of(pto_exchange_t who) {
    who.n = 1;
    return who;
}

static void build_allreduce(pto_builder_t *builder, const pto_exchange_t *exchange) {
    pto_build_copy(builder, "place input", exchange, pto_slice_all(builder, exchange->in),
                   pto_slice_all(builder, exchange->out));
    pto_algorithm_ring.build(builder, exchange);
}

/* Only the root has an output, so the sum needs a buffer of its own. */
static void build_reduce(pto_builder_t *builder, const pto_exchange_t *exchange) {
    pto_exchange_t inside = *exchange;
    pto_exchange_t root = root_of(inside);
    inside.out = pto_build_mirror(builder, exchange->in, "sum", PTO_SPACE_GPU);
    pto_build_copy(builder, "place input", &inside, pto_slice_all(builder, exchange->in),
                   pto_slice_all(builder, inside.out));
    pto_algorithm_linear.build(builder, &inside);
    pto_build_copy(builder, "place output", &root, pto_slice_all(builder, inside.out),
                   pto_slice_all(builder, exchange->out));
}

static void build_broadcast(pto_builder_t *builder, const pto_exchange_t *exchange) {
    pto_exchange_t root = root_of(*exchange);
    pto_build_copy(builder, "place input", &root, pto_slice_all(builder, exchange->in),
                   pto_slice_all(builder, exchange->out));
    pto_algorithm_linear.build(builder, exchange);
}

static void build(pto_builder_t *builder, const pto_request_t *request) {
    pto_user_t user = pto_route_user(builder, request);
    pto_exchange_t exchange = pto_route_owners(request, &user);
    pto_build_collective(builder, &exchange, PTO_DONE_BY_NCCL);
    if (request->collective == PTO_COLLECTIVE_ALLREDUCE)
        build_allreduce(builder, &exchange);
    else if (request->collective == PTO_COLLECTIVE_REDUCE)
        build_reduce(builder, &exchange);
    else if (request->collective == PTO_COLLECTIVE_BROADCAST)
        build_broadcast(builder, &exchange);
    else if (request->collective == PTO_COLLECTIVE_REDUCE_SCATTER)
        pto_algorithm_ring.build(builder, &exchange);
    else
        pto_algorithm_linear.build(builder, &exchange);
    pto_build_end(builder);
}

static pto_status_t applicable(const pto_request_t *request, pto_error_t *err) {
    const pto_layout_t *layout = &request->layout;
    if (layout->owners_per_gpu != 1)
        return pto_error_set(
            err, PTO_ERR_NOT_APPLICABLE,
            "NCCL takes one process per GPU, and the layout has %lld that hold data (owners_per_gpu)",
            (long long)layout->owners_per_gpu);
    if (pto_layout_owner_count(layout) == 1)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "%s is for several GPUs, and there is only one",
                             request->strategy->name);
    return PTO_OK;
}

const pto_strategy_t pto_strategy_nccl = {
    .name = "nccl",
    .summary = "NCCL's own collective, by one process a GPU: a baseline",
    .collectives = 1u << PTO_COLLECTIVE_ALLREDUCE | 1u << PTO_COLLECTIVE_ALLTOALL |
                   1u << PTO_COLLECTIVE_ALLTOALLV | 1u << PTO_COLLECTIVE_REDUCE |
                   1u << PTO_COLLECTIVE_BROADCAST | PTO_ALLGATHERS | 1u << PTO_COLLECTIVE_REDUCE_SCATTER,
    .nccl = true,
    .collective_space = PTO_SPACE_GPU,
    .applicable = applicable,
    .build = build,
};
