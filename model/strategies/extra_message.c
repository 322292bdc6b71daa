/* extra_message: one process per GPU copies to the host and sends a share to every other process of its GPU.
 * The k-th processes of all GPUs run the collective on their shares. The shares are sent back, and the first
 * process copies them to the device (Bienz et al., arXiv:2010.10378, sections IV and VI, option 3). */
#include "staging.h"

/* The first process of a GPU sends the shares of its buffer `whole` to the other processes, which receive
 * them in `shared`. If `gathering`, it receives them back. */
static void build_sharing(pto_builder_t *builder, const pto_shares_t *shares, const char *name, int whole,
                          int shared, bool gathering) {
    pto_step_t owner =
        pto_route_owner_step(gathering ? PTO_STEP_RECV : PTO_STEP_SEND, shares->gpu, shares->count);
    pto_step_t helpers =
        pto_route_helpers_step(gathering ? PTO_STEP_SEND : PTO_STEP_RECV, shares->gpu, shares->count);
    pto_slice_t in_whole = pto_route_share_in_whole(builder, shares, whole, shared, PTO_SHARE_PEERS);
    pto_slice_t share = pto_route_share(builder, shares, shared);
    if (gathering) {
        helpers.source = share;
        owner.target = in_whole;
    } else {
        owner.source = in_whole;
        helpers.target = share;
    }
    pto_build_stage(builder, name, PTO_ORDER_AT_ONCE);
    pto_build_step(builder, owner);
    pto_build_step(builder, helpers);
}

static void build(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t user = pto_route_user(builder, request);
    int in = pto_build_mirror(builder, user.in, "host in", PTO_SPACE_CPU);
    int out = in;
    if (request->collective != PTO_COLLECTIVE_ALLREDUCE)
        out = pto_build_mirror(builder, user.out, "host out", PTO_SPACE_CPU);
    pto_shares_t shares = pto_route_shares(builder, request, &user);
    pto_exchange_t first = shares.members;
    first.core_count = 1;
    pto_build_copy(builder, "copy to host", &user, pto_slice_all(builder, user.in),
                   pto_slice_all(builder, in));
    build_sharing(builder, &shares, "scatter shares", in, shares.members.in, false);
    pto_build_copy(builder, "keep own share", &first,
                   pto_route_share_in_whole(builder, &shares, in, shares.members.in, PTO_SHARE_MINE),
                   pto_route_share(builder, &shares, shares.members.in));
    pto_build_exchange(builder, request, &shares.members);
    build_sharing(builder, &shares, "gather shares", out, shares.members.out, true);
    pto_build_copy(builder, "return own share", &first, pto_route_share(builder, &shares, shares.members.out),
                   pto_route_share_in_whole(builder, &shares, out, shares.members.out, PTO_SHARE_MINE));
    pto_build_copy(builder, "copy to device", &user, pto_slice_all(builder, out),
                   pto_slice_all(builder, user.out));
}

const pto_strategy_t pto_strategy_extra_message = {
    .name = "extra_message",
    .summary =
        "one process copies to the host and shares the data with the GPU's other processes by messages",
    .collectives = PTO_ALLTOALLS | PTO_ALLGATHERS | 1u << PTO_COLLECTIVE_ALLREDUCE |
                   1u << PTO_COLLECTIVE_MESSAGES | 1u << PTO_COLLECTIVE_REDUCE_SCATTER,
    .splits = true,
    .joins = true,
    .collective_space = PTO_SPACE_CPU,
    .build = build,
};
