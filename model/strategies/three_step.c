/* three_step: copy to the host, collective among one process per GPU on host memory, copy back (the paper's
 * section III and option 2 of section VI). */
#include "staging.h"

static void build(pto_builder_t *builder, const pto_request_t *request) {
    bool vector = pto_collective_is_vector(request->collective);
    bool from_root = pto_collective_is_from_root(request->collective);
    pto_user_t user = pto_route_user(builder, request);
    int in = pto_build_mirror(builder, from_root ? user.out : user.in, "host in", PTO_SPACE_CPU);
    int out = in;
    if (!vector)
        out = pto_build_mirror(builder, user.out, "host out", PTO_SPACE_CPU);
    pto_exchange_t exchange = {.group = user.owners,
                               .n = pto_layout_owner_count(&request->layout),
                               .core_count = request->layout.owners_per_gpu,
                               .in = in,
                               .out = out};
    pto_exchange_t givers = exchange, takers = exchange;
    if (from_root)
        givers.n = 1;
    if (pto_collective_is_to_root(request->collective))
        takers.n = 1;
    pto_route_copy_of(builder, "copy to host", &givers, pto_slice_all(builder, user.in),
                      pto_slice_all(builder, in));
    pto_build_exchange(builder, request, &exchange);
    pto_route_copy_of(builder, "copy to device", &takers, pto_slice_all(builder, out),
                      pto_slice_all(builder, user.out));
}

const pto_strategy_t pto_strategy_three_step = {
    .name = "three_step",
    .summary = "copy to the host, collective among one process per GPU, copy back",
    .collectives = 1u << PTO_COLLECTIVE_ALLREDUCE | 1u << PTO_COLLECTIVE_ALLTOALL |
                   1u << PTO_COLLECTIVE_ALLTOALLV | 1u << PTO_COLLECTIVE_MESSAGES |
                   1u << PTO_COLLECTIVE_REDUCE | 1u << PTO_COLLECTIVE_BROADCAST |
                   1u << PTO_COLLECTIVE_ALLGATHER,
    .collective_space = PTO_SPACE_CPU,
    .build = build,
};
