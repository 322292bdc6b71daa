/* The mapper of libportolan-map, where it is built. */
#include <dlfcn.h>

#include "portolan/map.h"
#include "test.h"

static const pto_mapper_t *scotch;

static int open_library(void **state) {
    const char *build = getenv("BUILD");
    char path[256];
    snprintf(path, sizeof path, "%s/libportolan-map.so", build && *build ? build : "build");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    scotch = library ? dlsym(library, "pto_mapper_scotch") : NULL;
    return 0;
}

/* 16 GPUs in pairs, fours and eights, by 1/bandwidth. */
static pto_places_t k80(int64_t nodes, double off_node) {
    static const double cost[] = {1 / 4.47, 2.47 / 4.47, 4.22 / 4.47, 1};
    pto_places_t places = {.nodes = nodes, .gpus = 16, .cores = 1, .off_node = {off_node}};
    places.cost = keep_new(16 * 16 * sizeof *places.cost, NULL);
    for (int i = 0; i < 16 * 16; i++) {
        int level = 0;
        while (i / 16 >> (level + 1) != i % 16 >> (level + 1))
            level++;
        places.cost[i] = i / 16 == i % 16 ? 0 : cost[level];
    }
    return places;
}

static double sum_by(const pto_mapper_t *mapper, const pto_map_problem_t *problem, int64_t *place) {
    pto_error_t err = {0};
    if (pto_mapper_run(mapper, problem, place, &err) != PTO_OK)
        fail_msg("%s: %s", mapper->name, err.message);
    return pto_map_judge(problem->flows, problem->places, PTO_AIM_SUM, place);
}

static void require_flows(const char *text, pto_counts_t *counts, pto_flows_t *flows) {
    pto_error_t err = {0};
    assert_int_equal(pto_counts_parse(text, "x", counts, &err), PTO_OK);
    assert_int_equal(pto_flows_make(counts, 1 << 20, pto_counts_order(counts), flows, &err), PTO_OK);
}

/* With costs SCOTCH comes near the optimum; with the thesis's strengths it would be worse than the default.
 */
TEST(scotch_comes_near_the_optimum_of_the_k80_node) {
    static const char *const shape[] = {"{pattern: stencil, dims: [4, 4]}",
                                        "{pattern: stencil, dims: [4, 4], weights: [3, 1]}",
                                        "{pattern: stencil, dims: [2, 2, 4], wrap: [1, 1, 1]}",
                                        "{pattern: stencil, dims: [2, 2, 4], weights: [3, 1, 1]}",
                                        "{pattern: groups, dims: [4, 2, 2], along: 0}"};
    if (!scotch)
        skip();
    const pto_mapper_t *exact;
    assert_int_equal(pto_mapper_find("exact", &exact, NULL), PTO_OK);
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        pto_counts_t counts;
        pto_flows_t flows;
        pto_places_t places = k80(1, 0);
        int64_t place[16], again[16];
        require_flows(shape[i], &counts, &flows);
        pto_map_problem_t problem = {.flows = &flows, .places = &places};
        double optimum = sum_by(exact, &problem, place), best = 0;
        for (problem.seed = 1; problem.seed <= 8; problem.seed++) {
            double sum = sum_by(scotch, &problem, place);
            assert_true(sum_by(scotch, &problem, again) == sum);
            assert_memory_equal(place, again, sizeof place);
            best = problem.seed == 1 || sum < best ? sum : best;
        }
        if (best > 1.05 * optimum || best < optimum * (1 - 1e-9))
            fail_msg("%s: %g, the optimum is %g", shape[i], best, optimum);
        pto_flows_fini(&flows);
    }
}

TEST(scotch_keeps_groups_inside_nodes) {
    pto_counts_t counts;
    pto_flows_t flows;
    pto_places_t places = k80(4, 4);
    int64_t place[64];
    if (!scotch)
        skip();
    require_flows("{pattern: groups, dims: [4, 4, 4], along: 0}", &counts, &flows);
    pto_map_problem_t problem = {.flows = &flows, .places = &places, .seed = 1};
    sum_by(scotch, &problem, place);
    for (int64_t i = 0; i < 64; i++)
        for (int64_t f = flows.first[i]; f < flows.first[i + 1]; f++)
            assert_int_equal(place[i] / 16, place[flows.flow[f].peer] / 16);
    pto_flows_fini(&flows);
}

/* SCOTCH itself gives some of these places to two processes, and as many to none. */
TEST(scotch_gives_each_process_a_place_of_its_own) {
    pto_counts_t counts;
    pto_flows_t flows;
    double cost[4 * 4];
    pto_places_t places = {.nodes = 64, .gpus = 4, .cores = 1, .cost = cost, .off_node = {1}};
    int64_t place[256];
    if (!scotch)
        skip();
    for (int i = 0; i < 4 * 4; i++)
        cost[i] = i / 4 / 3 == i % 4 / 3 ? 1.1 : 1.4;
    require_flows("{pattern: stencil, dims: [8, 8, 4]}", &counts, &flows);
    pto_map_problem_t problem = {.flows = &flows, .places = &places};
    sum_by(scotch, &problem, place); /* checks that it is a permutation */
    pto_flows_fini(&flows);
}

/* Its target graph has all pairs of places, and takes their cube. */
TEST(scotch_refuses_more_than_256_places) {
    double cost[4 * 4] = {0};
    pto_places_t places = {.nodes = 65, .gpus = 4, .cores = 1, .cost = cost, .off_node = {1}};
    pto_counts_t counts;
    pto_flows_t flows;
    int64_t place[260];
    if (!scotch)
        skip();
    require_flows("{pattern: stencil, dims: [260]}", &counts, &flows);
    pto_map_problem_t problem = {.flows = &flows, .places = &places};
    assert_int_equal(pto_mapper_run(scotch, &problem, place, NULL), PTO_ERR_NOT_APPLICABLE);
    pto_flows_fini(&flows);
}

int main(void) { return run_all_tests(open_library, NULL); }
