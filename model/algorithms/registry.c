/* The algorithms that portolan knows: one line each. */
#include "base/names.h"
#include "portolan/strategy.h"

extern const pto_algorithm_t pto_algorithm_pairwise, pto_algorithm_pairwise_in_place, pto_algorithm_bruck,
    pto_algorithm_linear, pto_algorithm_recursive_doubling, pto_algorithm_rabenseifner, pto_algorithm_ring,
    pto_algorithm_binomial, pto_algorithm_point_to_point, pto_algorithm_direct, pto_algorithm_nccl;

static const pto_algorithm_t *const algorithms[] = {
    &pto_algorithm_pairwise,
    &pto_algorithm_pairwise_in_place,
    &pto_algorithm_bruck,
    &pto_algorithm_linear,
    &pto_algorithm_recursive_doubling,
    &pto_algorithm_rabenseifner,
    &pto_algorithm_ring,
    &pto_algorithm_binomial,
    &pto_algorithm_point_to_point,
    &pto_algorithm_direct,
    &pto_algorithm_nccl,
};

int pto_algorithm_count(void) { return (int)(sizeof algorithms / sizeof *algorithms); }

const pto_algorithm_t *pto_algorithm_at(int index) { return algorithms[index]; }

static const char *name_at(int index) { return algorithms[index]->name; }

pto_status_t pto_algorithm_find(const char *name, pto_collective_t collective,
                                const pto_algorithm_t **algorithm, pto_error_t *err) {
    int found = pto_name_find(name, pto_algorithm_count(), name_at);
    if (found < 0)
        return pto_name_unknown(err, "algorithm", name, pto_algorithm_count(), name_at);
    if (!(algorithms[found]->collectives & 1u << collective))
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "algorithm %s is not for %s", name,
                             pto_collective_name(collective));
    *algorithm = algorithms[found];
    return PTO_OK;
}
