/* three_step: copy to the host, collective among one process per GPU on host memory, copy back (the paper's
 * section III and option 2 of section VI). */
#include "staging.h"

/* Point to point "by hand" (Ji et al. 2012): only an end in GPU memory is staged. */
static void build_pair(pto_builder_t *builder, const pto_request_t *request) {
    pto_user_t user = pto_route_user(builder, request);
    pto_exchange_t pair = pto_route_pair(request, &user);
    if (!request->ends.from_host) {
        pair.in = pto_build_mirror(builder, user.in, "host in", PTO_SPACE_CPU);
        pto_route_pair_copy(builder, "copy to host", pto_build_sender(builder, PTO_STEP_COPY, &pair),
                            pto_slice_all(builder, user.in), pto_slice_all(builder, pair.in));
    }
    if (!request->ends.to_host)
        pair.out = pto_build_mirror(builder, user.out, "host out", PTO_SPACE_CPU);
    pto_build_exchange(builder, request, &pair);
    if (!request->ends.to_host)
        pto_route_pair_copy(builder, "copy to device", pto_build_receiver(builder, PTO_STEP_COPY, &pair),
                            pto_slice_all(builder, pair.out), pto_slice_all(builder, user.out));
}

/* Copy the borders to a host array like the field, or its halos back. The borders of corners are part of
 * others. */
static void build_halo_copies(pto_builder_t *builder, const pto_exchange_t *who, const char *name, int field,
                              bool to_host) {
    const pto_halo_t *grid = &pto_builder_request(builder)->halo;
    for (int phase = 0; phase < pto_halo_phases(grid); phase++) {
        int shift[PTO_SHIFTS_MAX][PTO_DIMS_MAX];
        int count = pto_halo_shifts(grid, phase, shift);
        for (int i = 0; i < count; i++) {
            int moved = 0;
            for (int d = 0; d < PTO_DIMS_MAX; d++)
                moved += shift[i][d] != 0;
            if (to_host && moved > 1)
                continue;
            pto_step_t copy = pto_step_of(PTO_STEP_COPY, who);
            pto_slice_t (*side)(const pto_builder_t *, int, const int *) =
                to_host ? pto_slice_border : pto_slice_halo;
            copy.peers = pto_peers_cart(builder, shift[i]);
            copy.source = side(builder, to_host ? field : who->in, shift[i]);
            copy.target = side(builder, to_host ? who->in : field, shift[i]);
            pto_build_stage(builder, name, PTO_ORDER_SEQUENCE);
            pto_build_step(builder, copy);
        }
    }
}

/* "By hand", as in SHOC's Stencil2D: a host array like the field, of which only borders and halos are used.
 */
static void build_halo(pto_builder_t *builder, const pto_request_t *request) {
    pto_user_t user = pto_route_user(builder, request);
    pto_exchange_t exchange = {.group = user.owners,
                               .n = pto_layout_owner_count(&request->layout),
                               .core_count = request->layout.owners_per_gpu};
    exchange.in = exchange.out = pto_build_mirror(builder, user.out, "host field", PTO_SPACE_CPU);
    build_halo_copies(builder, &exchange, "copy to host", user.out, true);
    pto_build_exchange(builder, request, &exchange);
    build_halo_copies(builder, &exchange, "copy to device", user.out, false);
}

static pto_status_t applicable(const pto_request_t *request, pto_error_t *err) {
    if (request->collective == PTO_COLLECTIVE_PAIR && request->ends.from_host && request->ends.to_host)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "neither end is in GPU memory: nothing is staged");
    return PTO_OK;
}

static void build(pto_builder_t *builder, const pto_request_t *request) {
    if (request->collective == PTO_COLLECTIVE_PAIR) {
        build_pair(builder, request);
        return;
    }
    if (request->collective == PTO_COLLECTIVE_HALO) {
        build_halo(builder, request);
        return;
    }
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
                   1u << PTO_COLLECTIVE_ALLGATHER | 1u << PTO_COLLECTIVE_PAIR | 1u << PTO_COLLECTIVE_HALO,
    .collective_space = PTO_SPACE_CPU,
    .applicable = applicable,
    .build = build,
};
