/* No algorithm: the placeholder for strategies that move the data themselves, without an inner collective. */
#include "algorithms.h"

const pto_algorithm_t pto_algorithm_direct = {
    .name = "direct",
    .summary = "none: the strategy does it all itself, as gsb and btb do",
    .collectives = 1u << PTO_COLLECTIVE_ALLREDUCE | 1u << PTO_COLLECTIVE_REDUCE | 1u << PTO_COLLECTIVE_HALO |
                   1u << PTO_COLLECTIVE_BROADCAST | 1u << PTO_COLLECTIVE_ALLTOALL |
                   1u << PTO_COLLECTIVE_ALLTOALLV | PTO_ALLGATHERS | 1u << PTO_COLLECTIVE_PAIR |
                   1u << PTO_COLLECTIVE_REDUCE_SCATTER | 1u << PTO_COLLECTIVE_GATHER |
                   1u << PTO_COLLECTIVE_SCATTER,
    .direct = true,
};
