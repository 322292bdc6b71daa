/* Finds the optimal mapping on places that form a tree, such as GPUs below switches below sockets. It is a
 * dynamic program over sets of processes. A set that fills a subtree is divided among the subtree's children,
 * so the best divisions of larger sets follow from those of smaller ones. */
#include <stdlib.h>

#include "map/map_internal.h"

enum { LEVELS_MAX = PTO_TREE_MAX + 1 };

/* At level 0 a subtree is a place. */
typedef struct {
    int levels;                 /* including level 0 */
    int size[LEVELS_MAX];       /* by level: the places of a subtree */
    double cost[LEVELS_MAX];    /* by level: of a byte between places whose least common subtree is at it */
    int64_t leaf[PTO_TREE_MAX]; /* the places, subtree by subtree */
} tree_t;

static bool are_close(double a, double b) {
    double difference = a < b ? b - a : a - b;
    return difference <= 1e-9 * (a < b ? b : a);
}

static pto_status_t refuse(pto_error_t *err) {
    return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "the places form no tree of equal branches");
}

/* Finds the lowest cost between two places that is higher than `above`; false: there is none. */
static bool next_cost(const pto_places_t *places, int64_t count, double above, double *cost) {
    bool found = false;
    for (int64_t a = 0; a < count; a++)
        for (int64_t b = 0; b < count; b++) {
            double between = pto_places_cost(places, a, b);
            if (a != b && between > above && !are_close(between, above) && (!found || between < *cost)) {
                *cost = between;
                found = true;
            }
        }
    return found;
}

/* Sorts the places by subtrees, in which no pair costs more than cost[level]; false: they differ in size. */
static bool group_places(const pto_places_t *places, int64_t count, int level, tree_t *tree) {
    int64_t ordered[PTO_TREE_MAX] = {0};
    bool taken[PTO_TREE_MAX] = {false};
    int size = 0, used = 0;
    for (int64_t first = 0; first < count; first++) {
        int64_t start = tree->leaf[first];
        if (taken[start])
            continue;
        int begin = used;
        for (int64_t i = 0; i < count; i++) {
            int64_t other = tree->leaf[i];
            double cost = start == other ? 0 : pto_places_cost(places, start, other);
            if (taken[other] || (cost > tree->cost[level] && !are_close(cost, tree->cost[level])))
                continue;
            taken[other] = true;
            ordered[used++] = other;
        }
        if (size > 0 && used - begin != size)
            return false;
        size = used - begin;
    }
    for (int64_t i = 0; i < count; i++)
        tree->leaf[i] = ordered[i];
    tree->size[level] = size;
    return true;
}

static int common_level(const tree_t *tree, int64_t a, int64_t b) {
    int level = 0;
    while (a / tree->size[level] != b / tree->size[level])
        level++;
    return level;
}

static bool is_tree(const pto_places_t *places, int64_t count, const tree_t *tree) {
    for (int64_t a = 0; a < count; a++)
        for (int64_t b = 0; b < count; b++)
            if (a != b && !are_close(pto_places_cost(places, tree->leaf[a], tree->leaf[b]),
                                     tree->cost[common_level(tree, a, b)]))
                return false;
    return true;
}

static pto_status_t find_tree(const pto_places_t *places, int64_t count, tree_t *tree, pto_error_t *err) {
    *tree = (tree_t){.levels = 1, .size = {1}};
    for (int64_t p = 0; p < count; p++)
        tree->leaf[p] = p;
    double cost = -1;
    while (next_cost(places, count, cost, &cost)) {
        if (tree->levels == LEVELS_MAX)
            return refuse(err);
        tree->cost[tree->levels] = cost;
        if (!group_places(places, count, tree->levels, tree))
            return refuse(err);
        if (tree->size[tree->levels] > tree->size[tree->levels - 1])
            tree->levels++;
    }
    return tree->size[tree->levels - 1] == count && is_tree(places, count, tree) ? PTO_OK : refuse(err);
}

/* The value of a division; of equal sums, the lower `busiest` is better. */
typedef struct {
    double sum;     /* of costs */
    double busiest; /* time of the busiest link */
} value_t;

/* The arrays are indexed by sets of processes, as bits. */
typedef struct {
    tree_t tree;
    int64_t count;
    double volume[PTO_TREE_MAX][PTO_TREE_MAX];
    double out[PTO_TREE_MAX], in[PTO_TREE_MAX]; /* of each process, in all */
    double *within;                             /* the volume inside the set */
    value_t *value;
    unsigned *child; /* the processes of the first child in the best division; 0: not computed yet */
} program_t;

static int set_size(unsigned set) {
    int size = 0;
    for (; set; set &= set - 1)
        size++;
    return size;
}

static void find_volumes(program_t *program, const pto_flows_t *flows) {
    for (int64_t i = 0; i < flows->count; i++)
        for (int64_t f = flows->first[i]; f < flows->first[i + 1]; f++) {
            program->volume[i][flows->flow[f].peer] = flows->flow[f].out;
            program->out[i] += flows->flow[f].out;
            program->in[i] += flows->flow[f].in;
        }
    for (unsigned set = 1; set < 1u << flows->count; set++) {
        int low = 0;
        while (!(set >> low & 1u))
            low++;
        program->within[set] = program->within[set & (set - 1)];
        for (int64_t j = low + 1; j < flows->count; j++)
            if (set >> j & 1u)
                program->within[set] += program->volume[low][j] + program->volume[j][low];
    }
}

/* Returns the time of the link above a subtree of a level. Its rate is that of pairs whose lowest common
 * subtree is one level up, of which it is the slowest link. */
static double link_time(const program_t *program, unsigned set, int level) {
    double out = -program->within[set], in = out;
    if (level + 1 == program->tree.levels)
        return 0;
    for (int64_t i = 0; i < program->count; i++)
        if (set >> i & 1u) {
            out += program->out[i];
            in += program->in[i];
        }
    return (out > in ? out : in) * program->tree.cost[level + 1];
}

static bool is_better(value_t a, value_t b) {
    return are_close(a.sum, b.sum) ? a.busiest < b.busiest && !are_close(a.busiest, b.busiest)
                                   : a.sum < b.sum;
}

/* Returns the value of the best division of a set that fills whole children of one subtree: into a first
 * child, with the set's lowest process, and the rest. */
static value_t solve(program_t *program, unsigned set) {
    const tree_t *tree = &program->tree;
    int size = set_size(set), level = 1;
    value_t best = {0, 0};
    if (size == 1)
        return (value_t){0, link_time(program, set, 0)};
    if (program->child[set])
        return program->value[set];
    while (tree->size[level] < size)
        level++;
    unsigned lowest = set & (0u - set), others = set ^ lowest;
    for (unsigned more = others;; more = (more - 1) & others) {
        unsigned child = more | lowest, rest = set ^ child;
        if (set_size(child) == tree->size[level - 1]) {
            value_t first = solve(program, child), second = solve(program, rest);
            double between = program->within[set] - program->within[child] - program->within[rest];
            value_t value = {first.sum + second.sum + tree->cost[level] * between,
                             first.busiest > second.busiest ? first.busiest : second.busiest};
            if (!program->child[set] || is_better(value, best)) {
                best = value;
                program->child[set] = child;
            }
        }
        if (more == 0)
            break;
    }
    double above = size == tree->size[level] ? link_time(program, set, level) : 0;
    best.busiest = above > best.busiest ? above : best.busiest;
    program->value[set] = best;
    return best;
}

/* Places a set's processes at the leaves from `leaf` on, by the best divisions. */
static void unfold(const program_t *program, unsigned set, int leaf, int64_t *place) {
    if (set_size(set) == 1) {
        for (int64_t i = 0; i < program->count; i++)
            if (set >> i & 1u)
                place[i] = program->tree.leaf[leaf];
        return;
    }
    unsigned child = program->child[set];
    unfold(program, child, leaf, place);
    unfold(program, set ^ child, leaf + set_size(child), place);
}

pto_status_t pto_map_tree(const pto_map_problem_t *problem, int64_t *place, pto_error_t *err) {
    int64_t count = problem->flows->count;
    if (count > PTO_TREE_MAX)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "the optimum of %lld processes takes too long; at most %d", (long long)count,
                             PTO_TREE_MAX);
    program_t program = {.count = count};
    pto_status_t status = find_tree(problem->places, count, &program.tree, err);
    if (status != PTO_OK)
        return status;
    size_t sets = (size_t)1 << count;
    program.within = calloc(sets, sizeof *program.within);
    program.value = calloc(sets, sizeof *program.value);
    program.child = calloc(sets, sizeof *program.child);
    if (program.within && program.value && program.child) {
        find_volumes(&program, problem->flows);
        solve(&program, (unsigned)sets - 1);
        unfold(&program, (unsigned)sets - 1, 0, place);
    } else {
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a mapping");
    }
    free(program.within);
    free(program.value);
    free(program.child);
    return status;
}
