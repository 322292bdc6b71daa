/* The placeholder for the strategy that calls NCCL, which chooses its algorithm itself. The strategy builds
 * the stages that define the meaning of the call; the machine file has its price. */
#include "algorithms.h"

const pto_algorithm_t pto_algorithm_nccl = {
    .name = "nccl",
    .summary = "NCCL's own, whichever way it takes",
    .collectives = PTO_VECTORS | PTO_ALLTOALLS | PTO_ALLGATHERS | 1u << PTO_COLLECTIVE_REDUCE_SCATTER,
    .nccl = true,
};
