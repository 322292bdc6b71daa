/* Mappers on flows and places at random, compared with all permutations. */
#include "../chance.h"
#include "map/map_internal.h"
#include "map_places.h"
#include "test.h"

enum { MOST = 512 };

/* --- flows and places ----------------------------------------------------------------------------------- */

static int64_t processes;
static double volume[MOST][MOST]; /* from, to */

static void draw_volumes(int64_t count, int64_t bound) {
    processes = count;
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < count; j++)
            volume[i][j] = i == j ? 0 : (double)below(bound);
}

static pto_flows_t flows_of_volumes(void) {
    pto_flows_t flows = {.count = processes};
    flows.first = keep_new((size_t)(processes + 1) * sizeof *flows.first, NULL);
    flows.flow = keep_new((size_t)(processes * processes) * sizeof *flows.flow, NULL);
    for (int64_t i = 0, used = 0; i < processes; i++) {
        for (int64_t j = 0; j < processes; j++)
            if (volume[i][j] > 0 || volume[j][i] > 0)
                flows.flow[used++] = (pto_flow_t){.peer = j, .out = volume[i][j], .in = volume[j][i]};
        flows.first[i + 1] = used;
    }
    return flows;
}

/* Costs between GPUs at random, in each direction another; between nodes, of two levels. */
static pto_places_t places_at_random(int64_t nodes, int64_t gpus, int64_t cores) {
    pto_places_t places = new_places(nodes, gpus, cores);
    for (int64_t i = 0; i < gpus * gpus; i++)
        places.cost[i] = i / gpus == i % gpus ? 1 : (double)(1 + below(3));
    places.top = 1;
    places.group_nodes[0] = 1;
    places.group_nodes[1] = 2;
    places.off_node[0] = 4;
    places.off_node[1] = 5;
    return places;
}

/* Places at random, and as many processes whose volumes are below `bound`. */
static pto_map_problem_t problem_at_random(uint64_t seed, int64_t nodes, int64_t gpus, int64_t cores,
                                           int64_t bound) {
    pto_places_t *places = keep_new(sizeof *places, NULL);
    pto_flows_t *flows = keep_new(sizeof *flows, NULL);
    chance_state = seed;
    *places = places_at_random(nodes, gpus, cores);
    draw_volumes(nodes * gpus * cores, bound);
    *flows = flows_of_volumes();
    return (pto_map_problem_t){.flows = flows, .places = places};
}

static double cost_between(const pto_places_t *places, int64_t from, int64_t to) {
    int64_t per_node = places->gpus * places->cores, node = from / per_node, other = to / per_node;
    if (node != other)
        return places->off_node[node / 2 != other / 2];
    return places->cost[from % per_node / places->cores * places->gpus + to % per_node / places->cores];
}

/* --- all permutations ----------------------------------------------------------------------------------- */

/* The next in lexicographic order, of items that may be equal; false: that was the last. */
static bool permute(int64_t *item, int64_t count) {
    int64_t i = count - 2, j = count - 1;
    while (i >= 0 && item[i] >= item[i + 1])
        i--;
    if (i < 0)
        return false;
    while (item[j] <= item[i])
        j--;
    int64_t kept = item[i];
    item[i] = item[j];
    item[j] = kept;
    for (int64_t a = i + 1, b = count - 1; a < b; a++, b--) {
        kept = item[a];
        item[a] = item[b];
        item[b] = kept;
    }
    return true;
}

static double judged(const pto_places_t *places, pto_aim_t aim, const int64_t *place) {
    double sum = 0, slowest = 0, largest = 0;
    for (int64_t i = 0; i < processes; i++) {
        double mine = 0;
        for (int64_t j = 0; j < processes; j++) {
            double cost = i == j ? 0 : volume[i][j] * cost_between(places, place[i], place[j]);
            mine += cost;
            largest = fmax(largest, cost);
        }
        sum += mine;
        slowest = fmax(slowest, mine);
    }
    return aim == PTO_AIM_SUM ? sum : aim == PTO_AIM_IN_TURN ? slowest : largest;
}

static double least_of_all(const pto_places_t *places, pto_aim_t aim) {
    int64_t place[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    double least = INFINITY;
    do
        least = fmin(least, judged(places, aim, place));
    while (permute(place, processes));
    return least;
}

static bool is_permutation(const int64_t *place) {
    bool taken[MOST] = {false};
    for (int64_t i = 0; i < processes; i++) {
        if (place[i] < 0 || place[i] >= processes || taken[place[i]])
            return false;
        taken[place[i]] = true;
    }
    return true;
}

TEST(exact_is_the_best_of_all_permutations) {
    static const int64_t shape[][3] = {{1, 1, 1}, {1, 2, 1}, {3, 1, 1}, {1, 4, 1},
                                       {2, 1, 2}, {5, 1, 1}, {1, 3, 2}, {3, 2, 1}};
    for (uint64_t seed = 0; seed < 64; seed++) {
        const int64_t *size = shape[seed % 8];
        pto_map_problem_t problem = problem_at_random(seed, size[0], size[1], size[2], 4);
        const pto_places_t *places = problem.places;
        for (pto_aim_t aim = PTO_AIM_SUM; aim < PTO_AIM_COUNT; aim++) {
            int64_t place[8];
            problem.aim = aim;
            assert_int_equal(pto_map_permutations(&problem, place, NULL), PTO_OK);
            assert_true(is_permutation(place));
            assert_true(judged(places, aim, place) == pto_map_judge(problem.flows, places, aim, place));
            assert_true(judged(places, aim, place) == least_of_all(places, aim));
        }
    }
}

/* --- trees ---------------------------------------------------------------------------------------------- */

enum { LEVELS = 3 };

/* Subtrees of level l have size[l] leaves; place p is leaf leaf[p], in no order. */
typedef struct {
    int64_t size[LEVELS + 1];
    double cost[LEVELS + 1]; /* of two leaves whose least common subtree is of this level */
    int64_t leaf[8];
} branches_t;

static int common_level(const branches_t *tree, int64_t a, int64_t b) {
    int level = 0;
    while (tree->leaf[a] / tree->size[level] != tree->leaf[b] / tree->size[level])
        level++;
    return level;
}

static pto_places_t places_of(const branches_t *tree, int64_t count) {
    pto_places_t places = new_places(1, count, 1);
    for (int64_t i = 0; i < count * count; i++)
        places.cost[i] = tree->cost[common_level(tree, i / count, i % count)];
    return places;
}

/* Of the links above subtrees, the time of the one that takes longest. */
static double busiest_link(const branches_t *tree, const int64_t *place) {
    double busiest = 0;
    for (int level = 0; level < LEVELS && tree->size[level] < processes; level++) {
        double out[8] = {0}, in[8] = {0};
        int above = level + 1; /* subtrees of one child have no link of their own */
        while (tree->size[above] == tree->size[level])
            above++;
        for (int64_t i = 0; i < processes; i++)
            for (int64_t j = 0; j < processes; j++) {
                int64_t from = tree->leaf[place[i]] / tree->size[level];
                int64_t to = tree->leaf[place[j]] / tree->size[level];
                out[from] += from != to ? volume[i][j] : 0;
                in[to] += from != to ? volume[i][j] : 0;
            }
        for (int n = 0; n < 8; n++)
            busiest = fmax(busiest, fmax(out[n], in[n]) * tree->cost[above]);
    }
    return busiest;
}

TEST(trees_are_divided_best) {
    static const branches_t shape[] = {{{1, 2, 4, 8}, {0, 1, 2, 4}, {0}}, {{1, 4, 4, 8}, {0, 2, 2, 3}, {0}},
                                       {{1, 2, 2, 8}, {0, 1, 1, 5}, {0}}, {{1, 3, 3, 6}, {0, 2, 2, 4}, {0}},
                                       {{1, 2, 6, 6}, {0, 1, 3, 3}, {0}}, {{1, 1, 1, 5}, {0, 2, 2, 2}, {0}},
                                       {{1, 1, 1, 1}, {0, 1, 1, 1}, {0}}, {{1, 2, 2, 8}, {0, 0, 0, 3}, {0}}};
    for (uint64_t seed = 0; seed < 16; seed++) {
        branches_t tree = shape[seed % 8];
        chance_state = seed;
        draw_volumes(tree.size[LEVELS], 3);
        for (int64_t p = 0; p < processes; p++)
            tree.leaf[p] = p;
        pto_map_shuffle(&chance_state, processes, tree.leaf);
        pto_places_t places = places_of(&tree, processes);
        pto_flows_t flows = flows_of_volumes();
        const pto_map_problem_t problem = {.flows = &flows, .places = &places};
        int64_t place[8] = {0, 1, 2, 3, 4, 5, 6, 7}, found[8];
        double least = INFINITY, busiest = INFINITY;
        do {
            double sum = judged(&places, PTO_AIM_SUM, place);
            if (sum < least)
                busiest = INFINITY;
            least = fmin(least, sum);
            if (sum == least)
                busiest = fmin(busiest, busiest_link(&tree, place));
        } while (permute(place, processes));
        assert_int_equal(pto_map_tree(&problem, found, NULL), PTO_OK);
        assert_true(is_permutation(found));
        assert_true(judged(&places, PTO_AIM_SUM, found) == least);
        assert_true(busiest_link(&tree, found) == busiest);
    }
}

static void assert_no_tree(int64_t count, const double *cost) {
    pto_places_t places = new_places(1, count, 1);
    memcpy(places.cost, cost, (size_t)(count * count) * sizeof *cost);
    draw_volumes(count, 3);
    pto_flows_t flows = flows_of_volumes();
    const pto_map_problem_t problem = {.flows = &flows, .places = &places};
    int64_t place[8];
    pto_error_t err = {0};
    assert_int_equal(pto_map_tree(&problem, place, &err), PTO_ERR_NOT_APPLICABLE);
    assert_non_null(strstr(err.message, "the places form no tree of equal branches"));
}

TEST(places_that_form_no_tree_are_refused) {
    const double line[] = {0, 1, 2, 1, 0,
                           1, 2, 1, 0}; /* its ends are apart, though both are near the middle */
    const double unequal[] = {0, 1, 2, 1, 0, 2, 2, 2, 0}; /* a branch of two and one of one */
    const double directed[] = {0, 1, 2, 0};
    const double ring[] = {0, 1, 2, 1, 1, 0, 1, 2, 2, 1, 0, 1, 1, 2, 1, 0};
    /* Two pairs, of which one process is nearer to the other pair. */
    const double skewed[] = {0, 1, 2, 3, 1, 0, 3, 3, 2, 3, 0, 1, 3, 3, 1, 0};
    assert_no_tree(3, line);
    assert_no_tree(3, unequal);
    assert_no_tree(2, directed);
    assert_no_tree(4, ring);
    assert_no_tree(4, skewed);
}

/* --- phases --------------------------------------------------------------------------------------------- */

/* What the processes cost that are in different parts of `size` places, by the first places of the parts. */
static double between_parts(const pto_places_t *places, const int64_t *process, const int64_t *place,
                            int64_t count, int64_t size) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < count; j++)
            if (place[i] / size != place[j] / size)
                sum += volume[process[i]][process[j]] *
                       cost_between(places, place[i] / size * size, place[j] / size * size);
    return sum;
}

/* Whether the processes of places [first, first + count) are divided among parts as well as can be. */
static bool is_divided_best(const pto_places_t *places, const int64_t *place, int64_t first, int64_t count,
                            int64_t size) {
    int64_t process[8] = {0}, now[8] = {0}, other[8] = {0}, n = 0;
    for (int64_t i = 0; i < processes; i++)
        if (place[i] >= first && place[i] < first + count) {
            process[n] = i;
            now[n] = place[i];
            other[n] = first + n / size * size; /* a permutation within a part changes nothing */
            n++;
        }
    assert_int_equal(n, count);
    double least = INFINITY;
    do
        least = fmin(least, between_parts(places, process, other, count, size));
    while (permute(other, count));
    return between_parts(places, process, now, count, size) == least;
}

TEST(each_phase_divides_what_the_one_before_has_left) {
    static const int64_t sizes[][3] = {{4, 2, 2}, {4, 4, 4}, {2, 2, 2}, {8, 3, 2}};
    static const int count[] = {2, 1, 1, 3};
    for (uint64_t seed = 0; seed < 8; seed++) {
        const int64_t *size = sizes[seed % 4];
        const pto_map_problem_t problem = problem_at_random(seed, 2, 2, 2, 5);
        int64_t place[8];
        assert_int_equal(pto_map_in_phases(&problem, &pto_mapper_exact, size, count[seed % 4], place, NULL),
                         PTO_OK);
        assert_true(is_permutation(place));
        if (size[0] == 4) /* to nodes, and the processes of a node to its GPUs */
            assert_true(is_divided_best(problem.places, place, 0, 8, 4));
        for (int64_t node = 0; node < 2 && size[0] == 4 && size[1] == 2; node++)
            assert_true(is_divided_best(problem.places, place, 4 * node, 4, 2));
        if (size[0] != 4) /* parts of 8 are all, and parts of 3 do not fill it */
            assert_true(is_divided_best(problem.places, place, 0, 8, 2));
    }
}

TEST(greedy_divides_what_another_mapper_cannot) {
    const int64_t size[] = {1};
    pto_map_problem_t problem = problem_at_random(3, 1, 12, 1, 5);
    problem.seed = 9;
    int64_t place[12], greedy[12];
    assert_int_equal(pto_map_tree(&problem, place, NULL), PTO_ERR_NOT_APPLICABLE);
    assert_int_equal(pto_map_in_phases(&problem, &pto_mapper_exact, size, 1, place, NULL), PTO_OK);
    assert_int_equal(pto_mapper_greedy.map(&problem, greedy, NULL), PTO_OK);
    assert_memory_equal(place, greedy, sizeof place);
}

/* --- searches that need not find the optimum ------------------------------------------------------------ */

TEST(greedy_ends_where_no_swap_helps) {
    static const int64_t shape[][3] = {{1, 2, 1}, {4, 3, 2}, {1, 9, 1}, {3, 1, 4}, {2, 10, 1}};
    for (uint64_t seed = 0; seed < 20; seed++) {
        const int64_t *size = shape[seed % 5];
        pto_map_problem_t problem = problem_at_random(seed, size[0], size[1], size[2], 10);
        int64_t place[MOST];
        problem.seed = seed;
        assert_int_equal(pto_mapper_greedy.map(&problem, place, NULL), PTO_OK);
        assert_true(is_permutation(place));
        double sum = judged(problem.places, PTO_AIM_SUM, place);
        for (int64_t i = 0; i < processes; i++)
            for (int64_t j = 0; j < i; j++) {
                int64_t kept[] = {place[i], place[j]};
                place[i] = kept[1];
                place[j] = kept[0];
                assert_true(judged(problem.places, PTO_AIM_SUM, place) >= sum);
                place[i] = kept[0];
                place[j] = kept[1];
            }
    }
}

/* As many groups as nodes, whose members send each other much, and others little. */
static void groups_stay_together(int64_t nodes, int64_t gpus, int64_t cores, bool greedily) {
    int64_t size = gpus * cores, count = nodes * size, group[MOST];
    pto_places_t places = places_at_random(nodes, gpus, cores);
    draw_volumes(count, 2);
    for (int64_t i = 0; i < count; i++)
        group[i] = i % nodes;
    pto_map_shuffle(&chance_state, count, group);
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < count; j++)
            if (i != j && group[i] == group[j])
                volume[i][j] = (double)count;
            else if (count > 100) /* few others, since the search takes the square of the peers */
                volume[i][j] *= below(20) == 0;
    pto_flows_t flows = flows_of_volumes();
    const pto_map_problem_t problem = {.flows = &flows, .places = &places, .seed = 1};
    int64_t place[MOST], node_of_group[MOST];
    if (greedily)
        assert_int_equal(pto_mapper_greedy.map(&problem, place, NULL), PTO_OK);
    else
        assert_int_equal(pto_map_bisect(&problem, 1, place, NULL), PTO_OK);
    assert_true(is_permutation(place));
    for (int64_t i = 0; i < count; i++)
        node_of_group[group[i]] = place[i] / size;
    for (int64_t i = 0; i < count; i++)
        assert_int_equal(place[i] / size, node_of_group[group[i]]);
}

TEST(bisection_finds_groups_that_fill_nodes) {
    chance_state = 1;
    groups_stay_together(2, 2, 1, false);
    groups_stay_together(2, 3, 3, false);
    groups_stay_together(3, 5, 1, false);
    groups_stay_together(5, 1, 3, false);
    groups_stay_together(8, 3, 2, false);
    groups_stay_together(7, 4, 2, false);
}

/* Of more than 256 processes, one start is improved alone. */
TEST(greedy_finds_groups_of_many_processes) {
    chance_state = 2;
    groups_stay_together(4, 3, 2, true);
    groups_stay_together(20, 13, 1, true);
}

/* Of 8 processes on two nodes, all 70 divisions are compared. */
TEST(bisection_of_few_processes_cuts_least) {
    for (uint64_t seed = 0; seed < 40; seed++) {
        const pto_map_problem_t problem = problem_at_random(seed, 2, 4, 1, 10);
        int64_t place[8];
        assert_int_equal(pto_map_bisect(&problem, seed, place, NULL), PTO_OK);
        assert_true(is_permutation(place));
        assert_true(is_divided_best(problem.places, place, 0, 8, 4));
    }
}

/* What mappings of processes with few peers cost in all, as recorded: a change that means to find others
 * records their costs. Whole numbers, so that sums are exact. */
TEST(mappings_cost_what_was_recorded) {
    static const struct {
        int64_t nodes, gpus, cores;
        double bisected, greedy;
    } cases[] = {{2, 5, 1, 5484, 4368},
                 {4, 2, 2, 16134, 15664},
                 {3, 3, 3, 49961, 47888},
                 {5, 4, 1, 30663, 28815},
                 {6, 2, 3, 104649, 103115}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        double bisected = 0, greedy = 0;
        for (uint64_t seed = 0; seed < 20; seed++) {
            chance_state = seed;
            pto_places_t places = places_at_random(cases[c].nodes, cases[c].gpus, cases[c].cores);
            int64_t count = cases[c].nodes * cases[c].gpus * cases[c].cores, place[MOST];
            draw_volumes(count, 10);
            for (int64_t i = 0; i < count; i++)
                for (int64_t j = 0; j < count; j++)
                    volume[i][j] *= below(4) == 0;
            pto_flows_t flows = flows_of_volumes();
            const pto_map_problem_t problem = {.flows = &flows, .places = &places, .seed = seed};
            assert_int_equal(pto_map_bisect(&problem, seed, place, NULL), PTO_OK);
            assert_true(is_permutation(place));
            bisected += judged(&places, PTO_AIM_SUM, place);
            assert_int_equal(pto_mapper_greedy.map(&problem, place, NULL), PTO_OK);
            assert_true(is_permutation(place));
            greedy += judged(&places, PTO_AIM_SUM, place);
        }
        if (bisected != cases[c].bisected || greedy != cases[c].greedy)
            fail_msg("case %d: %.0f, %.0f; recorded are %.0f, %.0f", (int)c, bisected, greedy,
                     cases[c].bisected, cases[c].greedy);
    }
}
