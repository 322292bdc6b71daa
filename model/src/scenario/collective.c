/* Properties of the collectives: one table row each. */
#include "portolan/scenario.h"

#include "base/names.h"

typedef struct {
    const char *name;
    pto_data_t data;
    bool reduces;         /* combines values */
    bool from_root;       /* only owner 0 has an input */
    bool to_root;         /* only owner 0 has an output */
    bool by_pair;         /* byte counts can differ between pairs */
    bool by_owner;        /* byte counts can differ between owners */
    bool in_mpi;          /* an MPI call exists */
    pto_nccl_kind_t nccl; /* PTO_NCCL_COUNT: not in NCCL */
} collective_t;

static const collective_t collectives[] = {
    [PTO_COLLECTIVE_ALLREDUCE] = {.name = "allreduce",
                                  .data = PTO_DATA_VECTOR,
                                  .reduces = true,
                                  .in_mpi = true,
                                  .nccl = PTO_NCCL_ALLREDUCE},
    [PTO_COLLECTIVE_ALLTOALL] = {.name = "alltoall",
                                 .data = PTO_DATA_BLOCKS,
                                 .in_mpi = true,
                                 .nccl = PTO_NCCL_ALLTOALL},
    [PTO_COLLECTIVE_ALLTOALLV] = {.name = "alltoallv",
                                  .data = PTO_DATA_BLOCKS,
                                  .by_pair = true,
                                  .in_mpi = true,
                                  .nccl = PTO_NCCL_ALLTOALL},
    [PTO_COLLECTIVE_MESSAGES] = {.name = "messages", .data = PTO_DATA_MESSAGES, .nccl = PTO_NCCL_COUNT},
    [PTO_COLLECTIVE_REDUCE] = {.name = "reduce",
                               .data = PTO_DATA_VECTOR,
                               .reduces = true,
                               .to_root = true,
                               .in_mpi = true,
                               .nccl = PTO_NCCL_REDUCE},
    [PTO_COLLECTIVE_BROADCAST] = {.name = "broadcast",
                                  .data = PTO_DATA_VECTOR,
                                  .from_root = true,
                                  .in_mpi = true,
                                  .nccl = PTO_NCCL_BROADCAST},
    [PTO_COLLECTIVE_ALLGATHER] = {.name = "allgather",
                                  .data = PTO_DATA_GATHERED,
                                  .in_mpi = true,
                                  .nccl = PTO_NCCL_ALLGATHER},
    [PTO_COLLECTIVE_PAIR] = {.name = "pair", .data = PTO_DATA_PAIR, .nccl = PTO_NCCL_COUNT},
    [PTO_COLLECTIVE_HALO] = {.name = "halo",
                             .data = PTO_DATA_GRID,
                             .in_mpi = true, /* MPI_Neighbor_alltoallw, for each phase */
                             .nccl = PTO_NCCL_COUNT},
    [PTO_COLLECTIVE_REDUCE_SCATTER] = {.name = "reduce_scatter",
                                       .data = PTO_DATA_SCATTERED,
                                       .reduces = true,
                                       .in_mpi = true,
                                       .nccl = PTO_NCCL_REDUCE_SCATTER},
    [PTO_COLLECTIVE_GATHER] = {.name = "gather",
                               .data = PTO_DATA_GATHERED,
                               .to_root = true,
                               .in_mpi = true,
                               .nccl = PTO_NCCL_COUNT},
    [PTO_COLLECTIVE_SCATTER] = {.name = "scatter",
                                .data = PTO_DATA_SCATTERED,
                                .from_root = true,
                                .in_mpi = true,
                                .nccl = PTO_NCCL_COUNT},
    [PTO_COLLECTIVE_ALLGATHERV] = {.name = "allgatherv",
                                   .data = PTO_DATA_GATHERED,
                                   .by_owner = true,
                                   .in_mpi = true,
                                   .nccl = PTO_NCCL_ALLGATHERV},
};
PTO_EACH_NAMED(collectives, PTO_COLLECTIVE_COUNT);

static const collective_t *row(pto_collective_t collective) {
    static const collective_t none = {
        .name = "no collective", .data = PTO_DATA_COUNT, .nccl = PTO_NCCL_COUNT};
    return collective < PTO_COLLECTIVE_COUNT ? &collectives[collective] : &none;
}

const char *pto_collective_name(pto_collective_t collective) { return row(collective)->name; }

pto_data_t pto_collective_data(pto_collective_t collective) { return row(collective)->data; }

bool pto_collective_reduces(pto_collective_t collective) { return row(collective)->reduces; }

bool pto_collective_is_vector(pto_collective_t collective) {
    return row(collective)->data == PTO_DATA_VECTOR;
}

int64_t pto_collective_blocks_in(pto_collective_t collective, int64_t owners) {
    pto_data_t data = row(collective)->data;
    return data == PTO_DATA_BLOCKS || data == PTO_DATA_SCATTERED ? owners : 1;
}

int64_t pto_collective_blocks_out(pto_collective_t collective, int64_t owners) {
    pto_data_t data = row(collective)->data;
    return data == PTO_DATA_BLOCKS || data == PTO_DATA_GATHERED ? owners : 1;
}

bool pto_collective_is_addressed(pto_collective_t collective) {
    return row(collective)->data == PTO_DATA_BLOCKS || row(collective)->data == PTO_DATA_MESSAGES;
}

bool pto_collective_is_from_root(pto_collective_t collective) { return row(collective)->from_root; }

bool pto_collective_is_to_root(pto_collective_t collective) { return row(collective)->to_root; }

bool pto_collective_is_by_pair(pto_collective_t collective) { return row(collective)->by_pair; }

bool pto_collective_is_by_owner(pto_collective_t collective) { return row(collective)->by_owner; }

bool pto_collective_is_allgather(pto_collective_t collective) {
    return row(collective)->data == PTO_DATA_GATHERED && !row(collective)->to_root;
}

bool pto_collective_is_in_mpi(pto_collective_t collective) { return row(collective)->in_mpi; }

pto_nccl_kind_t pto_collective_nccl(pto_collective_t collective) { return row(collective)->nccl; }
