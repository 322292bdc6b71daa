/* NCCL's own collective: the placeholder for the strategy that calls NCCL. NCCL itself chooses among rings,
 * trees and the switch. The stages that represent its choice are built by the strategy, and the price comes
 * from the machine file. */
#include "algorithms.h"

const pto_algorithm_t pto_algorithm_nccl = {
    .name = "nccl",
    .summary = "NCCL's own, whichever way it takes",
    .collectives = 1u << PTO_COLLECTIVE_ALLREDUCE | 1u << PTO_COLLECTIVE_ALLTOALL |
                   1u << PTO_COLLECTIVE_ALLTOALLV | 1u << PTO_COLLECTIVE_REDUCE |
                   1u << PTO_COLLECTIVE_BROADCAST | PTO_ALLGATHERS | 1u << PTO_COLLECTIVE_REDUCE_SCATTER,
    .nccl = true,
};
