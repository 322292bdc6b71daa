/* The registry of mappers: listing, finding, registering and running them. */
#include <stdlib.h>
#include <string.h>

#include "base/registry.h"
#include "map/map_internal.h"

static const pto_mapper_t *const built_in[] = {
    &pto_mapper_slot, &pto_mapper_node, &pto_mapper_random, &pto_mapper_greedy, &pto_mapper_exact,
};

PTO_REGISTRY(pto_mapper, pto_mapper_t, built_in, PTO_MAPPERS_MAX);

pto_status_t pto_mapper_find(const char *name, const pto_mapper_t **mapper, pto_error_t *err) {
    int found = 0;
    pto_status_t status = pto_name_find(name, "mapper", name_at, &found, err);
    if (status == PTO_OK)
        *mapper = pto_mapper_at(found);
    return status;
}

pto_status_t pto_mapper_register(const pto_mapper_t *mapper, pto_error_t *err) {
    const pto_mapper_t *found;
    if (!mapper->name || !mapper->map)
        return pto_error_set(err, PTO_ERR_RANGE, "a mapper needs a name and a function");
    if (pto_mapper_find(mapper->name, &found, NULL) == PTO_OK)
        return pto_error_set(err, PTO_ERR_RANGE, "there is already a mapper '%s'", mapper->name);
    if (is_full())
        return pto_error_set(err, PTO_ERR_TOO_LARGE, "at most %d mappers can be registered", PTO_MAPPERS_MAX);
    keep(mapper);
    return PTO_OK;
}

static bool is_permutation(int64_t count, const int64_t *place, bool *taken) {
    for (int64_t i = 0; i < count; i++) {
        if (place[i] < 0 || place[i] >= count || taken[place[i]])
            return false;
        taken[place[i]] = true;
    }
    return true;
}

pto_status_t pto_mapper_run(const pto_mapper_t *mapper, const pto_map_problem_t *problem, int64_t *place,
                            pto_error_t *err) {
    int64_t count = problem->flows->count;
    if (count != pto_places_count(problem->places))
        return pto_error_set(err, PTO_ERR_RANGE, "%lld processes for %lld places", (long long)count,
                             (long long)pto_places_count(problem->places));
    pto_status_t status = mapper->map(problem, place, err);
    if (status != PTO_OK)
        return status;
    bool *taken = calloc((size_t)count + 1, sizeof *taken);
    if (!taken)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a mapping");
    if (!is_permutation(count, place, taken))
        status = pto_error_set(err, PTO_ERR_RANGE, "the mapper %s gives a place to two processes or to none",
                               mapper->name);
    free(taken);
    return status;
}
