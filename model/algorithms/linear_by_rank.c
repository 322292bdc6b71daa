/* Linear exchange in which every process posts its messages in the order of the receivers' ranks: Open MPI's
 * basic linear alltoallv (ompi_coll_base_alltoallv_intra_basic_linear at v4.1.4). All processes then send to
 * process 0 first and share its link, while the others receive nothing. In `linear`, every process begins
 * with the next one, so that all links are busy from the start. If a GPU's processes share the destinations
 * cyclically, their first destinations differ, and `linear` describes the exchange. */
#include "algorithms.h"

extern const pto_algorithm_t pto_algorithm_linear;

static void build(pto_builder_t *builder, const pto_exchange_t *exchange) {
    if (exchange->cyclic_count > 1) {
        pto_algorithm_linear.build(builder, exchange);
        return;
    }
    pto_peers_t all = {.kind = PTO_PEERS_INDEX,
                       .first = pto_constant(0),
                       .stride = pto_constant(1),
                       .until = pto_constant(exchange->n)};
    bool send_empty = pto_builder_request(builder)->by_library &&
                      pto_collective_is_by_pair(pto_builder_request(builder)->collective);
    pto_build_own_block(builder, exchange, exchange->in);
    pto_build_stage(builder, "all messages", PTO_ORDER_AT_ONCE);
    pto_build_peer_messages(builder, exchange, all, send_empty);
}

const pto_algorithm_t pto_algorithm_linear_by_rank = {
    .name = "linear_by_rank",
    .summary = "the same, posted by rank: all processes send to process 0 first",
    .collectives = PTO_ALLTOALLS,
    .only_named = true,
    .build = build,
};
