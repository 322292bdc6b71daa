/* Choosing a mapping by its price. */
#include <glob.h>

#include "map_question.h"
#include "must.h"
#include "portolan/map.h"
#include "portolan/pick.h"
#include "portolan/progress.h"
#include "portolan/topology.h"
#include "test.h"

enum { MAPPERS = 5 };

/* All built-in mappers, all phases, no refinement unless asked. */
static pto_map_result_t map(const question_t *question, pto_metric_t metric, int64_t refine) {
    static const char *const name[MAPPERS] = {"slot", "node", "random", "greedy", "exact"};
    const pto_mapper_t *mapper[MAPPERS];
    for (int i = 0; i < MAPPERS; i++)
        mapper[i] = mapper_named(name[i]);
    const pto_map_options_t options = {.metric = metric,
                                       .mapper = mapper,
                                       .mapper_count = MAPPERS,
                                       .phase = {true, true, true},
                                       .refine = refine};
    return must_map(&question->scenario, &question->machine, &options);
}

/* The thesis's COL-COL: sub-communicators that the default spreads over all nodes. */
TEST(groups_across_nodes_are_kept_inside_them) {
    question_t *question = ask(SUMMIT, FOUR_BY_FOUR, "{pattern: groups, dims: [4, 4], along: 0}");
    pto_map_result_t result = map(question, PTO_METRIC_PRICE, 0);
    const pto_map_candidate_t *best = &result.candidate[result.best];
    double load[2];
    pto_map_loads(&result.flows, &question->machine, &result.places, result.candidate[0].place, load);
    assert_true(load[0] == 12.0 * (1 << 20));
    pto_map_loads(&result.flows, &question->machine, &result.places, best->place, load);
    assert_true(load[0] == 0 && load[1] == 0);
    assert_true(best->seconds < 0.2 * result.candidate[0].seconds);
    assert_true(pto_cost_is_same(candidate_named(&result, "greedy in phases")->seconds, best->seconds));
}

/* A candidate's price is that of the scenario with the candidate as its placement. */
TEST(candidates_are_priced_as_placed) {
    question_t *question = ask(SUMMIT, FOUR_BY_FOUR, "{pattern: stencil, dims: [4, 4], weights: [3, 1]}");
    pto_map_result_t result = map(question, PTO_METRIC_BANDWIDTH, 50);
    int priced = 0;
    for (int i = 0; i < result.count; i++) {
        if (!result.candidate[i].place)
            continue;
        assert_true(priced_at(question, result.candidate[i].place) == result.candidate[i].seconds);
        assert_true(result.candidate[i].seconds >= result.candidate[result.best].seconds);
        priced++;
    }
    assert_true(priced > 5);
}

static pto_progress_t first_progress;

/* Of what has just ended, the numbers are still there. The first is the mapping; the refinement follows. */
static void keep_first_progress(void) {
    if (first_progress.total == 0)
        pto_progress_read(&first_progress);
}

TEST(progress_ends_at_all_candidates) {
    static const char *const layout[] = {"{nodes: 2, gpus_per_node: 3, procs_per_gpu: 1}", FOUR_BY_FOUR};
    static const char *const counts[] = {"{pattern: groups, dims: [2, 3], along: 0}",
                                         "{pattern: groups, dims: [4, 4], along: 0}"};
    pto_progress_on_end(keep_first_progress);
    for (int i = 0; i < 2; i++) { /* with and without all permutations */
        question_t *question = ask(SUMMIT, layout[i], counts[i]);
        first_progress.total = 0;
        pto_map_result_t result = map(question, PTO_METRIC_PRICE, 0);
        assert_int_equal(first_progress.done, result.count - 1);
        assert_int_equal(first_progress.total, first_progress.done);
    }
    pto_progress_on_end(NULL);
}

TEST(the_default_stays_where_nothing_is_gained) {
    const char *const counts[] = {"{pattern: groups, dims: [4, 4], along: 1}",
                                  "{pattern: stencil, dims: [16], wrap: [1]}"};
    for (int i = 0; i < 2; i++) {
        question_t *question = ask(SUMMIT, FOUR_BY_FOUR, counts[i]);
        pto_map_result_t result = map(question, PTO_METRIC_PRICE, 300);
        if (i == 0)
            assert_int_equal(result.best, 0);
        assert_true(result.candidate[result.best].seconds <= result.candidate[0].seconds);
        assert_true(result.best == 0 ||
                    !pto_cost_is_same(result.candidate[result.best].seconds, result.candidate[0].seconds));
    }
}

TEST(swaps_improve_what_the_mappers_propose) {
    const pto_mapper_t *random = mapper_named("random");
    pto_map_result_t result[2];
    question_t *question = ask(SUMMIT, FOUR_BY_FOUR, "{pattern: groups, dims: [4, 4], along: 0}");
    for (int i = 0; i < 2; i++) {
        const pto_map_options_t options = {.mapper = &random, .mapper_count = 1, .refine = i ? 2000 : 0};
        result[i] = must_map(&question->scenario, &question->machine, &options);
    }
    assert_true(result[1].candidate[result[1].best].seconds <
                0.9 * result[0].candidate[result[0].best].seconds);
    assert_non_null(strstr(result[1].candidate[result[1].best].name, "refined"));
    assert_true(result[1].priced <= 2000 + result[0].priced + 1);
}

/* Largest load in one direction between vertices whose names begin with these, in units of 1 MiB. */
static double load_between(const pto_machine_t *machine, const double *load, const char *a, const char *b) {
    const pto_topology_t *topology = pto_machine_topology(machine);
    double most = 0;
    for (int i = 0; i < pto_topology_link_count(topology); i++) {
        const pto_topology_link_t *link = pto_topology_link_at(topology, i);
        const char *from = pto_topology_vertex_name(topology, link->from);
        const char *to = pto_topology_vertex_name(topology, link->to);
        if (strncmp(from, a, strlen(a)) == 0 && strncmp(to, b, strlen(b)) == 0)
            most = fmax(most, load[i]);
    }
    return most / (1 << 20);
}

/* The thesis's 1600 to 264, on the recorded topology: 24 to 4 on the link between the sockets. */
TEST(loads_of_a_recorded_topology_are_the_thesis_s) {
    static const char *const level[][2] = {
        {"gpu", "switch"}, {"switch", "bridge"}, {"bridge", "socket"}, {"socket", "socket"}};
    const double before[] = {6, 9, 16, 24}, after[] = {6, 6, 6, 4};
    question_t *question = ask("tests/fixtures/k80.yaml", "{nodes: 1}",
                               "{pattern: stencil, dims: [2, 2, 4], weights: [3, 1, 1]}");
    pto_map_result_t result = map(question, PTO_METRIC_BANDWIDTH, 0);
    const pto_map_candidate_t *exact = candidate_named(&result, "exact");
    double *load = calloc((size_t)pto_map_link_count(&question->machine), sizeof *load);
    assert_non_null(load);
    for (int mapped = 0; mapped < 2; mapped++) {
        pto_map_loads(&result.flows, &question->machine, &result.places,
                      mapped ? exact->place : result.candidate[0].place, load);
        for (int l = 0; l < 4; l++)
            assert_true(load_between(&question->machine, load, level[l][0], level[l][1]) ==
                        (mapped ? after[l] : before[l]));
    }
    free(load);
}

/* The same between nodes: the links above groups of 1, 2, 4 and 8 nodes, up and down. */
TEST(loads_of_a_fabric_are_those_of_the_tree_in_a_node) {
    const double before[] = {6, 9, 16, 24}, after[] = {6, 6, 6, 4};
    question_t *question =
        ask("tests/fixtures/k80-fabric.yaml", "{nodes: 16, gpus_per_node: 1, procs_per_gpu: 1}",
            "{pattern: stencil, dims: [2, 2, 4], weights: [3, 1, 1]}");
    pto_map_result_t result = map(question, PTO_METRIC_BANDWIDTH, 0);
    double load[8];
    assert_int_equal(pto_map_link_count(&question->machine), 8);
    for (int mapped = 0; mapped < 2; mapped++) {
        pto_map_loads(&result.flows, &question->machine, &result.places,
                      mapped ? candidate_named(&result, "exact")->place : result.candidate[0].place, load);
        for (int link = 0; link < 8; link++)
            assert_true(load[link] / (1 << 20) == (mapped ? after : before)[link / 2]);
    }
}

/* Gains as in the tests of the mappers: of the busiest link's time, which large messages take. It makes no
 * difference whether the tree is inside a node or between nodes. */
TEST(predicted_gains_on_the_k80_tree_are_the_recorded_ones) {
    static const char *const tree[][2] = {
        {"tests/fixtures/k80.yaml", "{nodes: 1}"},
        {"tests/fixtures/k80-fabric.yaml", "{nodes: 16, gpus_per_node: 1, procs_per_gpu: 1}"}};
    static const struct {
        const char *counts;
        int percent;
    } row[] = {
        {"{pattern: stencil, dims: [4, 4]}", 47},
        {"{pattern: stencil, dims: [4, 4], wrap: [1, 1]}", 0},
        {"{pattern: stencil, dims: [4, 4], weights: [3, 1]}", 67},
        {"{pattern: stencil, dims: [4, 4], wrap: [1, 1], weights: [3, 1]}", 67},
        {"{pattern: stencil, dims: [2, 2, 4]}", 29},
        {"{pattern: stencil, dims: [2, 2, 4], wrap: [1, 1, 1]}", 50},
        {"{pattern: stencil, dims: [2, 2, 4], weights: [3, 1, 1]}", 76},
        {"{pattern: stencil, dims: [2, 2, 4], wrap: [1, 1, 1], weights: [3, 1, 1]}", 83},
        {"{pattern: groups, dims: [4, 2, 2], along: 0}", 86},
        {"{pattern: stencil, dims: [4, 4], weights: [1, 3]}", 0},
        {"{pattern: stencil, dims: [2, 2, 4], weights: [1, 1, 3]}", 0},
        {"{pattern: groups, dims: [2, 2, 4], along: 2}", 0},
    };
    for (size_t n = 0; n < 2 * sizeof row / sizeof *row; n++) {
        size_t i = n / 2;
        question_t *question = ask(tree[n % 2][0], tree[n % 2][1], row[i].counts);
        question->scenario.bytes.value[0] = 64 << 20;
        pto_map_result_t result = map(question, PTO_METRIC_BANDWIDTH, 0);
        double gain = 100 * (1 - result.candidate[result.best].seconds / result.candidate[0].seconds);
        if (lround(gain) != row[i].percent)
            fail_msg("%s: a gain of %g percent, expected %d", row[i].counts, gain, row[i].percent);
        if (row[i].percent == 0)
            assert_int_equal(result.best, 0);
    }
}

/* GPUs that are all alike: the negative control. */
TEST(nothing_is_gained_between_gpus_on_a_switch) {
    static const char *const counts[] = {"{pattern: stencil, dims: [2, 2], weights: [3, 1]}",
                                         "{pattern: groups, dims: [2, 2], along: 0}",
                                         "{pattern: stencil, dims: [4], wrap: [1]}"};
    for (int i = 0; i < 3; i++) {
        question_t *question = ask("scenarios/machines/h200-x4.yaml",
                                   "{nodes: 1, gpus_per_node: 4, procs_per_gpu: 1}", counts[i]);
        pto_map_result_t result = map(question, PTO_METRIC_PRICE, 100);
        assert_int_equal(result.best, 0);
    }
}

/* --- recorded topologies -------------------------------------------------------------------------------- */

/* The grid's last two dimensions multiply to the number of GPUs. */
static void compare_on(const char *path, const pto_places_t *places, int first, int second, int form) {
    pto_counts_t counts = {.kind = form == 3 ? PTO_COUNTS_GROUPS : PTO_COUNTS_STENCIL};
    pto_flows_t flows;
    pto_error_t err = {0};
    counts.grid = (pto_grid_t){.dim_count = 2,
                               .dim = {first, second},
                               .weight = {form == 1 ? 3 : 1, 1},
                               .wrap = {form == 2, form == 2}};
    assert_int_equal(pto_flows_make(&counts, 1, first * second, &flows, &err), PTO_OK);
    const pto_map_problem_t problem = {.flows = &flows, .places = places, .grid = &counts.grid};
    int64_t place[PTO_MAPPERS_MAX * 8];
    double exact = sum_by(mapper_named("exact"), &problem, place);
    double greedy = sum_by(mapper_named("greedy"), &problem, place);
    assert_true(greedy >= exact * (1 - 1e-9));
    if (greedy > 1.05 * exact)
        fail_msg("%s, %d x %d, form %d: greedy %g, exact %g", path, first, second, form, greedy, exact);
    pto_flows_fini(&flows);
}

TEST(greedy_is_near_the_optimum_on_every_recorded_topology) {
    glob_t found;
    int compared = 0;
    assert_int_equal(glob("scenarios/topologies/*.yaml", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        pto_places_t places = places_on(must_open_topology(found.gl_pathv[i]));
        for (int first = 1; first <= places.gpus; first++)
            for (int form = 0; form < 4 && places.gpus % first == 0; form++, compared++)
                compare_on(found.gl_pathv[i], &places, first, (int)places.gpus / first, form);
    }
    assert_true(found.gl_pathc >= 5 && compared > 50);
    globfree(&found);
}

TEST(metrics_order_the_pairs_alike) {
    question_t *question = ask("tests/fixtures/k80.yaml", "{nodes: 2}", "{pattern: stencil, dims: [32]}");
    for (int metric = 0; metric < PTO_METRIC_COUNT; metric++) {
        const pto_places_t places = must_place(question, (pto_metric_t)metric, 1 << 20);
        assert_true(places.cost[1] < places.cost[2]);
        assert_true(places.cost[2] < places.cost[4]);
        assert_true(places.cost[4] < places.cost[8]);
        assert_true(places.cost[8] <= places.off_node[0]);
    }
}

TEST(equal_counts_are_refused) {
    const pto_map_options_t options = {.refine = 0};
    pto_map_result_t result;
    pto_error_t err = {0};
    question_t *question = ask(SUMMIT, FOUR_BY_FOUR, "equal");
    assert_int_equal(pto_map(&question->scenario, &question->machine, &options, &result, &err),
                     PTO_ERR_NOT_APPLICABLE);
    assert_non_null(strstr(err.message, "there is nothing to map"));
}
