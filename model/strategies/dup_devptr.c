/* dup_devptr: every process of a GPU copies its own share from the owner's device memory through a shared
 * device pointer. The k-th processes of all GPUs run the collective on their shares, and each copies its
 * share back (the paper's section IV and option 4 of section VI). The owner signals that its input may be
 * read, and finishes once all have signalled that its output is written. */
#include "staging.h"

static void build(pto_builder_t *builder, const pto_request_t *request) {
    pto_user_t user = pto_route_user(builder, request);
    pto_shares_t shares = pto_route_shares(builder, request, &user);
    pto_slice_t in = pto_route_owners_share(builder, &shares, user.in, shares.in);
    pto_slice_t out = pto_route_owners_share(builder, &shares, user.out, shares.out);

    pto_route_signal(builder, &shares, "input ready", false);
    pto_route_chunks(builder, shares.chunks);
    pto_route_copy(builder, "copy shares to host", shares.cores, 0, shares.count, in,
                   pto_route_share(builder, &shares, shares.in));
    pto_route_share_exchange(builder, request, &shares);
    pto_route_copy(builder, "copy shares to device", shares.cores, 0, shares.count,
                   pto_route_share(builder, &shares, shares.out), out);
    pto_route_end_chunks(builder, shares.chunks);
    pto_route_signal(builder, &shares, "output written", true);
}

const pto_strategy_t pto_strategy_dup_devptr = {
    .name = "dup_devptr",
    .summary = "every process of a GPU copies its own share through a shared device pointer",
    .collectives = 1u << PTO_COLLECTIVE_ALLREDUCE | 1u << PTO_COLLECTIVE_ALLTOALL |
                   1u << PTO_COLLECTIVE_ALLTOALLV | 1u << PTO_COLLECTIVE_MESSAGES |
                   1u << PTO_COLLECTIVE_ALLGATHER,
    .splits = true,
    .chunked = true,
    .collective_space = PTO_SPACE_CPU,
    .build = build,
};
