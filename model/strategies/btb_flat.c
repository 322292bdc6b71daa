/* btb_flat, a binomial tree up and a single step down. The data is reduced as in btb. The root puts the
 * result into a buffer in its device memory, and all others copy it from there, as in gsb (Faraji and Afsahi,
 * "GPU-Aware Intranode MPI_Allreduce", EuroMPI/ASIA 2014, section 3.2). In Faraji's thesis the result goes
 * down a tree instead, which is btb.
 *
 * The paper keeps intermediate results in the receive buffers. Here they are in btb's tree buffers. */
#include "intranode.h"

/* Only the root holds the result. */
static int reduce(pto_builder_t *builder, const pto_exchange_t *members, int source, int into,
                  pto_run_order_t runs) {
    if (into < 0)
        into = pto_intranode_buffer(builder, members, source, "result", 1, members->n);
    return pto_intranode_btb.reduce(builder, members, source, into, runs);
}

static void build(pto_builder_t *builder, const pto_request_t *request) {
    const pto_intranode_t flat = {.reduce = reduce, .broadcast = pto_intranode_gsb.broadcast};
    pto_intranode_build(builder, request, &flat);
}

const pto_strategy_t pto_strategy_btb_flat = {
    .name = "btb_flat",
    .summary = "a node's processes copy up a binomial tree of GPU buffers; all copy out of the root's",
    .collectives = 1u << PTO_COLLECTIVE_ALLREDUCE,
    .direct = true,
    .collective_space = PTO_SPACE_GPU,
    .applicable = pto_intranode_applicable,
    .build = build,
};
