/* nccl: one call of NVIDIA's NCCL on GPU memory, as a baseline: ncclAllReduce, ncclReduce, ncclBroadcast,
 * ncclAllGather and ncclReduceScatter from one buffer into the other. alltoall and alltoallv are one group of
 * ncclSend and ncclRecv, as in NCCL's user guide.
 *
 * The stages inside only define what the call means, so that `check` can prove it: a vector passes around a
 * ring or goes to or from the root, or every process sends to every other at once. NCCL chooses its own
 * algorithm and memory, so the temporaries here are never allocated (pto_buffer_stands_in). */
#include "staging.h"

extern const pto_algorithm_t pto_algorithm_ring, pto_algorithm_linear;

static void build(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t exchange = pto_route_user(builder, request), inside = exchange, root = exchange;
    bool to_root = request->collective == PTO_COLLECTIVE_REDUCE;
    bool from_root = request->collective == PTO_COLLECTIVE_BROADCAST;
    bool in_ring = pto_collective_reduces(request->collective) && !to_root;
    const pto_algorithm_t *algorithm = in_ring ? &pto_algorithm_ring : &pto_algorithm_linear;
    root.n = 1;
    pto_build_collective(builder, &exchange, PTO_DONE_BY_NCCL);
    if (to_root) /* only the root has an output, so the sum needs a buffer of its own */
        inside.out = pto_build_mirror(builder, exchange.in, "sum", PTO_SPACE_GPU);
    if (pto_collective_is_vector(request->collective))
        pto_build_copy(builder, "place input", from_root ? &root : &exchange,
                       pto_slice_all(builder, exchange.in), pto_slice_all(builder, inside.out));
    algorithm->build(builder, &inside);
    if (to_root)
        pto_build_copy(builder, "place output", &root, pto_slice_all(builder, inside.out),
                       pto_slice_all(builder, exchange.out));
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
        return pto_route_refuse(request, "is for several GPUs, and there is only one", err);
    return PTO_OK;
}

const pto_strategy_t pto_strategy_nccl = {
    .name = "nccl",
    .summary = "NCCL's own collective, by one process a GPU: a baseline",
    .collectives = PTO_VECTORS | PTO_ALLTOALLS | PTO_ALLGATHERS | 1u << PTO_COLLECTIVE_REDUCE_SCATTER,
    .nccl = true,
    .collective_space = PTO_SPACE_GPU,
    .applicable = applicable,
    .build = build,
};
