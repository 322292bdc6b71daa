/* gas_allgather: every GPU stores its vector in the memory of all others, and each reduces all of them
 * (section 4 of the paper cited in gas.h, figure 3c). It needs only one flag between GPUs, so it suits small
 * data. In an alltoall or allgather each GPU stores the other's block, and the other moves it to its place.
 *
 * The buffer that others write into is double-buffered. A GPU that writes it two runs later has heard from
 * its holder in the run between, and the holder's kernel of this run has ended by then. A single buffer would
 * need a second flag. So a root hears from all others, too, and they from the root: in a reduce all reduce,
 * and in a broadcast the others store their former output in the root's memory. */
#include "gas.h"

static void build_reduction(pto_builder_t *builder, const pto_exchange_t *who, int gathered) {
    const pto_slice_t in = pto_slice_all(builder, who->in);
    const pto_slice_t place = pto_slice_block(gathered, PTO_ANCHOR_ME);
    pto_gas_copy(builder, "store to all", who, pto_step_of_all(PTO_STEP_COPY, who),
                 (pto_gas_move_t){in, pto_slice_of_peer(place)}, (pto_gas_move_t){in, place});
    pto_gas_flag(builder, "stored", who, PTO_GAS_ALL_TO_ALL);
    pto_gas_reduce(builder, who, who->n, gathered, pto_slice_all(builder, who->out));
}

/* The others answer with what their output has before, which nothing uses. */
static void build_broadcast(pto_builder_t *builder, const pto_exchange_t *who, int gathered, int answers) {
    const pto_slice_t in = pto_slice_all(builder, who->in), out = pto_slice_all(builder, who->out);
    const pto_slice_t place = pto_slice_of_peer(pto_slice_block(gathered, PTO_ANCHOR_ME));
    const pto_slice_t arrived = pto_slice_block(gathered, PTO_ANCHOR_PEER);
    pto_step_t store = pto_step_of_root(PTO_STEP_COPY, who), answer = pto_step_of_others(PTO_STEP_COPY, who);
    pto_gas_copy(builder, "store to all", who, store, (pto_gas_move_t){in, place}, (pto_gas_move_t){in, out});
    pto_build_move(builder, answer, out, place);
    pto_gas_flag(builder, "stored", who, PTO_GAS_ROOT_TO_OTHERS);
    pto_gas_flag(builder, "answered", who, PTO_GAS_OTHERS_TO_ROOT);
    pto_build_local(builder, "copy out", store, arrived, pto_slice_block(answers, PTO_ANCHOR_PEER));
    pto_build_move(builder, answer, arrived, out);
}

static void build_blocks(pto_builder_t *builder, const pto_exchange_t *who, int gathered) {
    pto_step_t step = pto_step_of_all(PTO_STEP_COPY, who);
    pto_gas_copy(
        builder, "store to all", who, step,
        (pto_gas_move_t){pto_slice_block(who->in, PTO_ANCHOR_PEER),
                         pto_slice_of_peer(pto_slice_block(gathered, PTO_ANCHOR_ME))},
        (pto_gas_move_t){pto_slice_block(who->in, PTO_ANCHOR_ME), pto_slice_block(who->out, PTO_ANCHOR_ME)});
    pto_gas_flag(builder, "stored", who, PTO_GAS_ALL_TO_ALL);
    pto_build_local(builder, "copy out", step, pto_slice_block(gathered, PTO_ANCHOR_PEER),
                    pto_slice_block(who->out, PTO_ANCHOR_PEER));
}

static void build(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t who = pto_route_user_in_place(builder, request);
    /* The memory that others store to has the sizes of their blocks for this process, which an alltoallv's
     * output has. */
    bool addressed = pto_collective_is_addressed(request->collective);
    int gathered = pto_gas_gathered(builder, &who, addressed ? who.out : who.in,
                                    (pto_gas_gathered_t){.double_buffered = true});
    int answers = request->collective == PTO_COLLECTIVE_BROADCAST
                      ? pto_gas_gathered(builder, &who, who.out, (pto_gas_gathered_t){.stride = who.n})
                      : -1;
    pto_build_kernel(builder, &who);
    if (pto_collective_reduces(request->collective))
        build_reduction(builder, &who, gathered);
    else if (request->collective == PTO_COLLECTIVE_BROADCAST)
        build_broadcast(builder, &who, gathered, answers);
    else
        build_blocks(builder, &who, gathered);
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
