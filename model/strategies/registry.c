/* The registry of strategies: the built-in ones, one line each, and those that programs register. */
#include "base/registry.h"
#include "portolan/strategy.h"

#define STRATEGIES(ROW)                                                                                      \
    ROW(cuda_aware)                                                                                          \
    ROW(three_step)                                                                                          \
    ROW(extra_message)                                                                                       \
    ROW(dup_devptr)                                                                                          \
    ROW(staged_ring)                                                                                         \
    ROW(split_ring)                                                                                          \
    ROW(gsb)                                                                                                 \
    ROW(btb)                                                                                                 \
    ROW(btb_flat)                                                                                            \
    ROW(mix)                                                                                                 \
    ROW(mix_doubling)                                                                                        \
    ROW(mix_learning)                                                                                        \
    ROW(gsb_gsb)                                                                                             \
    ROW(gsb_btb)                                                                                             \
    ROW(btb_gsb)                                                                                             \
    ROW(btb_btb)                                                                                             \
    ROW(mix_gsb)                                                                                             \
    ROW(gas_read)                                                                                            \
    ROW(gas_gather)                                                                                          \
    ROW(gas_allgather)                                                                                       \
    ROW(gas_split)                                                                                           \
    ROW(gas_tree)                                                                                            \
    ROW(gas_halo)                                                                                            \
    ROW(copy_engine)                                                                                         \
    ROW(node_leaders)                                                                                        \
    ROW(node_aware)                                                                                          \
    ROW(staged_leaders)                                                                                      \
    ROW(staged_aware)                                                                                        \
    ROW(nccl)                                                                                                \
    ROW(pack_kernel)                                                                                         \
    ROW(ipc_copy)                                                                                            \
    ROW(shm_ring)                                                                                            \
    ROW(mpi)                                                                                                 \
    ROW(own_algorithm)

#define DECLARE(name) extern const pto_strategy_t pto_strategy_##name;
STRATEGIES(DECLARE)

#define ENTRY(name) &pto_strategy_##name,
static const pto_strategy_t *const strategies[] = {STRATEGIES(ENTRY)};

/* Defines pto_strategy_count and _at, and the static functions name_at, is_full and keep. */
PTO_REGISTRY(pto_strategy, pto_strategy_t, strategies, PTO_REGISTERED_MAX);

pto_status_t pto_strategy_register(const pto_strategy_t *strategy, pto_error_t *err) {
    pto_status_t status = pto_name_new(strategy->name, "strategy", name_at, err);
    if (status != PTO_OK)
        return status;
    if (!strategy->build || !strategy->collectives)
        return pto_error_set(err, PTO_ERR_RANGE, "strategy '%s' has no build function or no collective",
                             strategy->name);
    if (is_full())
        return pto_error_set(err, PTO_ERR_TOO_LARGE, "more than %d registered strategies",
                             PTO_REGISTERED_MAX);
    keep(strategy);
    return PTO_OK;
}

pto_status_t pto_strategy_find(const char *name, const pto_strategy_t **strategy, pto_error_t *err) {
    int found = 0;
    pto_status_t status = pto_name_find(name, "strategy", name_at, &found, err);
    if (status != PTO_OK)
        return status;
    *strategy = pto_strategy_at(found);
    return PTO_OK;
}
