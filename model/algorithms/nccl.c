/* NCCL's own collective: what goes with the strategy that calls it. NCCL chooses among rings, trees and the
 * switch by itself; the stages that stand for its choice are the strategy's, and the price is the machine
 * file's. */
#include "algorithms.h"

const pto_algorithm_t pto_algorithm_nccl = {
    .name = "nccl",
    .summary = "NCCL's own, whichever way it takes",
    .collectives = 1u << PTO_COLLECTIVE_ALLREDUCE | 1u << PTO_COLLECTIVE_ALLTOALL |
                   1u << PTO_COLLECTIVE_ALLTOALLV | 1u << PTO_COLLECTIVE_REDUCE |
                   1u << PTO_COLLECTIVE_BROADCAST,
    .nccl = true,
};
