/* No algorithm: the placeholder for strategies that move the data themselves, without an inner collective. */
#include "algorithms.h"

const pto_algorithm_t pto_algorithm_direct = {
    .name = "direct",
    .summary = "none: the strategy does it all itself, as gsb and btb do",
    .collectives = PTO_VECTORS | PTO_ALLTOALLS | PTO_ALLGATHERS | PTO_ROOTED | 1u << PTO_COLLECTIVE_HALO |
                   1u << PTO_COLLECTIVE_PAIR | 1u << PTO_COLLECTIVE_REDUCE_SCATTER,
    .direct = true,
};
