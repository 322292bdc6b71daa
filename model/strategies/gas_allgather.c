/* gas_allgather: every GPU stores its vector in the memory of all others, and each reduces all of them
 * (section 4 of the paper cited in gas.h, figure 3c). It needs only one flag between GPUs, so it suits small
 * data. In an alltoall or allgather each GPU stores blocks in a temporary of the receiver, which copies them
 * to its output.
 *
 * Double buffering avoids a second flag, which would say that the temporary may be written again. A GPU
 * writes the same half of the temporary only two runs later. By then it has received the holder's flag of the
 * run in between, so the holder's kernel of the first run has ended. This requires flags between all pairs in
 * every run. In a reduce, therefore, all members store to all and reduce. In a broadcast, the others store
 * their previous output to the root, which does not use it, and raise a flag ("answered"). */
#include "gas.h"

static void build_reduction(pto_builder_t *builder, const pto_exchange_t *members, int gathered) {
    const pto_slice_t in = pto_slice_all(builder, members->in);
    const pto_slice_t place = pto_slice_block(gathered, PTO_ANCHOR_ME);
    pto_gas_copy(builder, "store to all", members, pto_step_of_all(PTO_STEP_COPY, members),
                 (pto_gas_move_t){in, pto_slice_of_peer(place)}, (pto_gas_move_t){in, place});
    pto_gas_flag(builder, "stored", members, PTO_GAS_ALL_TO_ALL);
    pto_gas_reduce(builder, members, members->n, gathered, pto_slice_all(builder, members->out));
}

/* `answers`: the buffer of the root for the data that it does not use. */
static void build_broadcast(pto_builder_t *builder, const pto_exchange_t *members, int gathered,
                            int answers) {
    const pto_slice_t in = pto_slice_all(builder, members->in), out = pto_slice_all(builder, members->out);
    const pto_slice_t place = pto_slice_of_peer(pto_slice_block(gathered, PTO_ANCHOR_ME));
    const pto_slice_t arrived = pto_slice_block(gathered, PTO_ANCHOR_PEER);
    pto_step_t store = pto_step_of_root(PTO_STEP_COPY, members),
               answer = pto_step_of_others(PTO_STEP_COPY, members);
    pto_gas_copy(builder, "store to all", members, store, (pto_gas_move_t){in, place},
                 (pto_gas_move_t){in, out});
    pto_build_move(builder, answer, out, place);
    pto_gas_flag(builder, "stored", members, PTO_GAS_ROOT_TO_OTHERS);
    pto_gas_flag(builder, "answered", members, PTO_GAS_OTHERS_TO_ROOT);
    pto_build_local(builder, "copy out", store, arrived, pto_slice_block(answers, PTO_ANCHOR_PEER));
    pto_build_move(builder, answer, arrived, out);
}

static void build_blocks(pto_builder_t *builder, const pto_exchange_t *members, int gathered) {
    pto_step_t step = pto_step_of_all(PTO_STEP_COPY, members);
    pto_gas_copy(builder, "store to all", members, step,
                 (pto_gas_move_t){pto_slice_block(members->in, PTO_ANCHOR_PEER),
                                  pto_slice_of_peer(pto_slice_block(gathered, PTO_ANCHOR_ME))},
                 (pto_gas_move_t){pto_slice_block(members->in, PTO_ANCHOR_ME),
                                  pto_slice_block(members->out, PTO_ANCHOR_ME)});
    pto_gas_flag(builder, "stored", members, PTO_GAS_ALL_TO_ALL);
    pto_build_local(builder, "copy out", step, pto_slice_block(gathered, PTO_ANCHOR_PEER),
                    pto_slice_block(members->out, PTO_ANCHOR_PEER));
}

static void build(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t members = pto_route_user_in_place(builder, request);
    /* The block sizes of `gathered` are those that the others store: in an alltoallv, those of the output. */
    bool addressed = pto_collective_is_addressed(request->collective);
    int gathered = pto_gas_gathered(builder, &members, addressed ? members.out : members.in,
                                    (pto_gas_gathered_t){.double_buffered = true});
    int answers =
        request->collective == PTO_COLLECTIVE_BROADCAST
            ? pto_gas_gathered(builder, &members, members.out, (pto_gas_gathered_t){.stride = members.n})
            : -1;
    pto_build_kernel(builder, &members);
    if (pto_collective_reduces(request->collective))
        build_reduction(builder, &members, gathered);
    else if (request->collective == PTO_COLLECTIVE_BROADCAST)
        build_broadcast(builder, &members, gathered, answers);
    else
        build_blocks(builder, &members, gathered);
    pto_build_end(builder);
}

const pto_strategy_t pto_strategy_gas_allgather = {
    .name = "gas_allgather",
    .summary = "one kernel a GPU: each stores its data to all others, and each reduces; one flag",
    .collectives = PTO_VECTORS | PTO_ALLTOALLS | PTO_ALLGATHERS,
    .direct = true,
    .collective_space = PTO_SPACE_GPU,
    .applicable = pto_gas_applicable,
    .build = build,
};
