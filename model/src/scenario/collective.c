/* Properties of the collectives, from the rows of PTO_COLLECTIVE_TABLE (portolan/scenario.h). */
#include "portolan/scenario.h"

typedef struct {
    const char *name;
    pto_data_t data;
    bool in_mpi; /* an MPI call exists, or one for each phase */
    pto_nccl_kind_t nccl;
    unsigned properties;
} collective_t;

#define ROW(id, name, in, routine, data, nccl, properties)                                                   \
    {name, PTO_DATA_##data, sizeof(routine) > 1, PTO_NCCL_##nccl, properties},
static const collective_t collectives[] = {PTO_COLLECTIVE_TABLE(ROW)};

static const collective_t *row(pto_collective_t collective) {
    static const collective_t none = {
        .name = "no collective", .data = PTO_DATA_COUNT, .nccl = PTO_NCCL_COUNT};
    return collective < PTO_COLLECTIVE_COUNT ? &collectives[collective] : &none;
}

static bool has(pto_collective_t collective, unsigned property) {
    return (row(collective)->properties & property) != 0;
}

const char *pto_collective_name(pto_collective_t collective) { return row(collective)->name; }
pto_data_t pto_collective_data(pto_collective_t collective) { return row(collective)->data; }
bool pto_collective_reduces(pto_collective_t collective) { return has(collective, PTO_REDUCES); }

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

bool pto_collective_is_from_root(pto_collective_t collective) { return has(collective, PTO_FROM_ROOT); }
bool pto_collective_is_to_root(pto_collective_t collective) { return has(collective, PTO_TO_ROOT); }
bool pto_collective_is_by_pair(pto_collective_t collective) { return has(collective, PTO_BY_PAIR); }
bool pto_collective_is_by_owner(pto_collective_t collective) { return has(collective, PTO_BY_OWNER); }

bool pto_collective_is_allgather(pto_collective_t collective) {
    return row(collective)->data == PTO_DATA_GATHERED && !has(collective, PTO_TO_ROOT);
}

bool pto_collective_is_in_mpi(pto_collective_t collective) { return row(collective)->in_mpi; }
pto_nccl_kind_t pto_collective_nccl(pto_collective_t collective) { return row(collective)->nccl; }
