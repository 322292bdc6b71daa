/* copy_engine: the copy engine of every GPU copies its blocks to their final positions in the memory of the
 * others, between two short kernels that signal. Over NVLink the engines move more bytes per second than
 * kernels store (docs/validation.md, "Kernels in graphs"), and the multiprocessors stay free. It suits large
 * data, since a copy starts only some microseconds after the previous kernel has ended. NCCL 2.28 has
 * collectives of this kind, too.
 *
 * The first kernel signals that this GPU's output may be written, the second one that its blocks have been
 * copied. In an allreduce, the first kernel is the first half of gas_split: each GPU reduces its share. The
 * engines then copy the results. */
#include "gas.h"

static void build_flag(pto_builder_t *builder, const char *name, const pto_exchange_t *members,
                       pto_gas_direction_t direction) {
    pto_build_kernel(builder, members);
    pto_gas_flag(builder, name, members, direction);
    pto_build_end(builder);
}

/* A GPU copies its own block at the same time. */
static void build_copies(pto_builder_t *builder, const pto_exchange_t *members,
                         pto_gas_direction_t direction) {
    const pto_slice_t mine = pto_slice_block(members->out, PTO_ANCHOR_ME);
    pto_build_parallel(builder);
    pto_build_branch(builder);
    pto_build_local(builder, "copy to others", pto_gas_step(members, direction),
                    pto_slice_block(members->in, PTO_ANCHOR_PEER), pto_slice_of_peer(mine));
    pto_build_end(builder);
    pto_build_branch(builder);
    pto_build_stage(builder, "copy own", PTO_ORDER_SEQUENCE);
    pto_gas_own_copy(builder, members, pto_slice_block(members->in, PTO_ANCHOR_ME), mine);
    pto_build_end(builder);
    pto_build_end(builder);
}

/* No flag "ready" is needed. A member that has received the shares of all others knows that they have begun
 * their run. They have also read the part of their input that it overwrites if the run is in place. */
static void build_allreduce(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t members = pto_route_user_in_place(builder, request);
    int gathered = pto_gas_shares(builder, &members, false, false);
    pto_build_kernel(builder, &members);
    pto_slice_t result = pto_gas_reduce_shares(builder, &members, false, gathered);
    pto_build_end(builder);
    pto_build_local(builder, "copy results", pto_step_of_all(PTO_STEP_COPY, &members), result,
                    pto_slice_of_peer(result));
    build_flag(builder, "copied", &members, PTO_GAS_ALL_TO_ALL);
}

static void build_blocks(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t members = pto_route_user(builder, request);
    pto_gas_direction_t direction = pto_gas_direction(request->collective);
    build_flag(builder, "ready", &members, pto_gas_opposite(direction));
    build_copies(builder, &members, direction);
    build_flag(builder, "copied", &members, direction);
}

static void build(pto_builder_t *builder, const pto_request_t *request) {
    if (request->collective == PTO_COLLECTIVE_ALLREDUCE)
        build_allreduce(builder, request);
    else
        build_blocks(builder, request);
}

const pto_strategy_t pto_strategy_copy_engine = {
    .name = "copy_engine",
    .summary = "each GPU's copy engine copies its blocks to all others, between two kernels that signal",
    .collectives = PTO_ALLTOALLS | PTO_ALLGATHERS | PTO_ROOTED | 1u << PTO_COLLECTIVE_ALLREDUCE,
    .direct = true,
    .granularity_bytes = 16, /* of an allreduce's shares, as in gas_split */
    .collective_space = PTO_SPACE_GPU,
    .applicable = pto_gas_applicable,
    .build = build,
};
