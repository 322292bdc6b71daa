/* Functions that the mappers share. A mapper assigns each process of a problem (portolan/map.h) to a place (a
 * core of a GPU of a node) so that processes that exchange much data are near each other. */
#ifndef PTO_MAP_INTERNAL_H
#define PTO_MAP_INTERNAL_H

#include "base/hash.h"
#include "portolan/map.h"

/* Work done in this thread, for tests: entries of bisections' heaps that were written, and swaps tried. */
extern _Thread_local int64_t pto_map_visits;

/* Returns a number from 0 to bound - 1. */
int64_t pto_map_random_below(uint64_t *state, int64_t bound);

void pto_map_swap(int64_t *item, int64_t i, int64_t j);

/* Permutes the items at random. */
void pto_map_shuffle(uint64_t *state, int64_t count, int64_t *item);

/* Maps by recursive bisection: the places are halved by node, then by GPU, and the processes so that little
 * is sent between the halves. */
pto_status_t pto_map_bisect(const pto_map_problem_t *problem, uint64_t seed, int64_t *place,
                            pto_error_t *err);

/* Finds the optimum on places that form a tree whose nodes at each level have equally many children (tree.c).
 * Among the mappings with the minimum sum of costs, it returns one in which the busiest link of the tree
 * takes the least time; a link has the rate of pairs for which it is the slowest link. Errors:
 * PTO_ERR_NOT_APPLICABLE if the places form no such tree or are more than PTO_TREE_MAX; PTO_ERR_MEMORY. */
enum { PTO_TREE_MAX = 16 };
pto_status_t pto_map_tree(const pto_map_problem_t *problem, int64_t *place, pto_error_t *err);

/* Finds the optimum by trying all mappings. Errors: PTO_ERR_NOT_APPLICABLE above PTO_PERMUTED_MAX. */
enum { PTO_PERMUTED_MAX = 8 };
pto_status_t pto_map_permutations(const pto_map_problem_t *problem, int64_t *place, pto_error_t *err);

/* Maps in phases (phases.c) by `mapper`, or by greedy where that does not apply. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_map_in_phases(const pto_map_problem_t *problem, const pto_mapper_t *mapper,
                               const int64_t *part_size, int part_count, int64_t *place, pto_error_t *err);

extern const pto_mapper_t pto_mapper_slot, pto_mapper_node, pto_mapper_random, pto_mapper_greedy,
    pto_mapper_exact;

#endif
