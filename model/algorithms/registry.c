/* The registry of algorithms: the built-in ones, one line each, and those that programs register. */
#include "base/registry.h"
#include "portolan/strategy.h"

#define ALGORITHMS(ROW)                                                                                      \
    ROW(pairwise)                                                                                            \
    ROW(pairwise_in_place)                                                                                   \
    ROW(bruck)                                                                                               \
    ROW(linear)                                                                                              \
    ROW(linear_by_rank)                                                                                      \
    ROW(recursive_doubling)                                                                                  \
    ROW(rabenseifner)                                                                                        \
    ROW(recursive_halving)                                                                                   \
    ROW(ring)                                                                                                \
    ROW(binomial)                                                                                            \
    ROW(scatter_allgather)                                                                                   \
    ROW(chain)                                                                                               \
    ROW(split_binary)                                                                                        \
    ROW(hierarchical)                                                                                        \
    ROW(binomial_near_first)                                                                                 \
    ROW(neighbors)                                                                                           \
    ROW(point_to_point)                                                                                      \
    ROW(direct)                                                                                              \
    ROW(nccl)

#define DECLARE(name) extern const pto_algorithm_t pto_algorithm_##name;
ALGORITHMS(DECLARE)

#define ENTRY(name) &pto_algorithm_##name,
static const pto_algorithm_t *const algorithms[] = {ALGORITHMS(ENTRY)};

/* Defines pto_algorithm_count and _at, and the static functions name_at, is_full and keep. */
PTO_REGISTRY(pto_algorithm, pto_algorithm_t, algorithms, PTO_REGISTERED_MAX);

pto_status_t pto_algorithm_register(const pto_algorithm_t *algorithm, pto_error_t *err) {
    pto_status_t status = pto_name_new(algorithm->name, "algorithm", name_at, err);
    if (status != PTO_OK)
        return status;
    if (!algorithm->build || !algorithm->collectives)
        return pto_error_set(err, PTO_ERR_RANGE, "algorithm '%s' has no build function or no collective",
                             algorithm->name);
    if (is_full())
        return pto_error_set(err, PTO_ERR_TOO_LARGE, "more than %d registered algorithms",
                             PTO_REGISTERED_MAX);
    keep(algorithm);
    return PTO_OK;
}

pto_status_t pto_algorithm_find(const char *name, pto_collective_t collective,
                                const pto_algorithm_t **algorithm, pto_error_t *err) {
    int found = 0;
    pto_status_t status = pto_name_find(name, "algorithm", name_at, &found, err);
    if (status != PTO_OK)
        return status;
    if (!(pto_algorithm_at(found)->collectives & 1u << collective))
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "algorithm %s is not for %s", name,
                             pto_collective_name(collective));
    *algorithm = pto_algorithm_at(found);
    return PTO_OK;
}
