/* Placements: reading them, and what they do to plans and prices. */
#include "made_machine.h"
#include "made_up.h"
#include "plan_request.h"
#include "priced.h"
#include "test.h"

static const pto_layout_t two_by_two = {
    .nodes = 2, .gpus_per_node = 2, .owners_per_gpu = 1, .procs_per_gpu = 2, .gpus_per_socket = 1};

static pto_status_t parse(const char *text, pto_mapping_t *mapping, pto_error_t *err) {
    pto_status_t status = pto_mapping_parse(text, strlen(text), "p.csv", mapping, err);
    return status == PTO_OK ? pto_mapping_bind(mapping, &two_by_two, err) : status;
}

TEST(a_placement_is_read_written_and_read_again) {
    pto_mapping_t mapping, again;
    pto_error_t err = {0};
    const char *text = "# machine=none\nnode,gpu,process\n0,1,3\n1,1,1\n0,0,0\n1,0,2\n";
    assert_int_equal(parse(text, &mapping, &err), PTO_OK);
    const int64_t process[] = {0, 3, 2, 1};
    assert_memory_equal(mapping.process, process, sizeof process);
    int64_t rank[8];
    pto_mapping_ranks(&mapping, &two_by_two, rank);
    const int64_t expected[] = {0, 6, 4, 2, 1, 3, 5, 7};
    assert_memory_equal(rank, expected, sizeof expected);
    char *written = NULL;
    assert_int_equal(pto_mapping_write(&mapping, &written, &err), PTO_OK);
    assert_string_equal(written, "process,node,gpu,core\n0,0,0,0\n1,1,1,0\n2,1,0,0\n3,0,1,0\n");
    assert_int_equal(parse(written, &again, &err), PTO_OK);
    assert_memory_equal(again.process, process, sizeof process);
    free(written);
    pto_mapping_fini(&again);
    pto_mapping_fini(&mapping);
}

TEST(bad_placements_are_refused_with_their_line) {
    const struct {
        const char *text;
        int line;
        const char *message;
    } bad[] = {
        {"process,node,gpu\n", 1, "places no process"},
        {"process,node\n0,0\n", 1, "gpu"},
        {"process,node,gpu\n0,0,0\n0,0,1\n", 3, "process 0 already has a place on line 2"},
        {"process,node,gpu\n0,0,0\n2,0,1\n", 3, "without gaps"},
        {"process,node,gpu\n0,0,-1\n", 2, "-1"},
        {"process,node,gpu\n0,0,0\n1,0,1\n2,1,0\n", 4, "3 processes for the 4 places"},
        {"process,node,gpu\n0,0,0\n1,0,1\n2,1,0\n3,1,0\n", 5, "already the place of process 2"},
        {"process,node,gpu\n0,0,0\n1,0,1\n2,2,0\n3,1,0\n", 4, "no node 2 that holds data, only 0 to 1"},
        {"process,node,gpu\n0,0,2\n1,0,1\n2,1,1\n3,1,0\n", 2, "no GPU 2"},
        {"process,node,gpu,core\n0,0,0,0\n1,0,1,1\n2,1,1,0\n3,1,0,0\n", 3, "no core 1"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pto_mapping_t mapping = {.count = 0};
        pto_error_t err = {0};
        assert_int_not_equal(parse(bad[i].text, &mapping, &err), PTO_OK);
        if (err.line != bad[i].line || strcmp(err.file, "p.csv") != 0 || !strstr(err.message, bad[i].message))
            fail_msg("%s: %s:%d: %s", bad[i].text, err.file, err.line, err.message);
        pto_mapping_fini(&mapping);
    }
}

/* Requests for one pattern, once placed by a permutation and once with the permuted matrix. */
typedef struct {
    int64_t matrix[64];
    pto_counts_t pattern, permuted;
    pto_mapping_t mapping;
    pto_request_t placed, equivalent;
} both_t;

static void make_both(const char *strategy, const char *algorithm, both_t *both) {
    int64_t owner[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int i = 7; i > 0; i--) {
        int j = rand() % (i + 1);
        int64_t kept = owner[i];
        owner[i] = owner[j];
        owner[j] = kept;
    }
    pto_error_t err = {0};
    memset(both, 0, sizeof *both);
    assert_int_equal(
        pto_counts_parse("{pattern: stencil, dims: [4, 2], weights: [3, 1]}", "x", &both->pattern, &err),
        PTO_OK);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            both->matrix[owner[i] * 8 + owner[j]] = pto_counts_bytes(&both->pattern, 4096, i, j);
    both->permuted = (pto_counts_t){.kind = PTO_COUNTS_MATRIX, .order = 8, .matrix = both->matrix};
    both->placed = request_for(PTO_COLLECTIVE_ALLTOALLV, strategy, algorithm, 2, 4, 2, 4096);
    both->placed.implementation = PTO_IMPLEMENTATION_ISEND_IRECV;
    both->equivalent = both->placed;
    assert_int_equal(pto_mapping_make(&both->placed.layout, owner, &both->mapping, &err), PTO_OK);
    both->placed.counts = &both->pattern;
    both->placed.mapping = &both->mapping;
    both->equivalent.counts = &both->permuted;
}

typedef struct {
    uint64_t digest;
    double price_s, simulated_s;
} result_t;

static result_t results(const pto_request_t *request, const pto_machine_t *machine) {
    const pto_plan_t *plan = must_plan(request);
    assert_right(plan);
    return (result_t){pto_plan_digest(plan), must_price(plan, machine).seconds,
                      must_simulate(plan, machine).seconds};
}

TEST(a_placed_pattern_costs_what_its_permuted_matrix_costs) {
    const char *const strategy[] = {"cuda_aware", "three_step", "dup_devptr", "extra_message"};
    pto_machine_t known = must_read("scenarios/machines/summit-spectrum.yaml");
    pto_machine_t machine = completed(&known);
    srand(3);
    for (int trial = 0; trial < 12; trial++) {
        both_t both;
        make_both(strategy[trial % 4], "linear", &both);
        result_t placed = results(&both.placed, &machine), equivalent = results(&both.equivalent, &machine);
        assert_true(placed.price_s > 0);
        assert_true(placed.price_s == equivalent.price_s);
        assert_true(placed.simulated_s == equivalent.simulated_s);
        both.placed.mapping = NULL;
        result_t unplaced = results(&both.placed, &machine);
        assert_true(unplaced.digest != placed.digest);
        pto_mapping_fini(&both.mapping);
    }
}

/* Neighbors on a ring of two nodes' GPUs: alternating between the nodes sends everything over the network. */
TEST(a_bad_placement_costs_more) {
    pto_counts_t ring;
    pto_mapping_t mapping;
    pto_error_t err = {0};
    pto_machine_t known = must_read("scenarios/machines/summit-spectrum.yaml");
    pto_machine_t machine = completed(&known);
    assert_int_equal(pto_counts_parse("{pattern: stencil, dims: [8], wrap: [1]}", "x", &ring, &err), PTO_OK);
    pto_request_t request = request_for(PTO_COLLECTIVE_ALLTOALLV, "cuda_aware", "linear", 2, 4, 1, 1 << 20);
    request.implementation = PTO_IMPLEMENTATION_ISEND_IRECV;
    request.counts = &ring;
    result_t by_slot = results(&request, &machine);
    const int64_t owner[] = {0, 4, 1, 5, 2, 6, 3, 7};
    assert_int_equal(pto_mapping_make(&request.layout, owner, &mapping, &err), PTO_OK);
    request.mapping = &mapping;
    result_t by_node = results(&request, &machine);
    assert_true(by_node.price_s > 1.5 * by_slot.price_s);
    assert_true(by_node.simulated_s > 1.5 * by_slot.simulated_s);
    pto_mapping_fini(&mapping);
}

TEST(a_scenario_places_processes) {
    static const char head[] = "scenario: s\nmachine: m.yaml\ncollective: alltoallv\n"
                               "layout: {nodes: 2, gpus_per_node: 2}\nbytes: 8\n"
                               "counts: {pattern: stencil, dims: [4]}\n";
    static const struct {
        const char *placement, *message;
        int line;
    } given[] = {
        {"placement: [[0, 0], [1, 0], [0, 1, 0], [1, 1]]\n", NULL, 0},
        {"placement:\n- [0, 0]\n- [1, 0]\n- [0, 0]\n- [1, 1]\n", "already the place of process 0", 10},
        {"placement: []\n", "the list is empty", 7},
        {"placement: [[0]]\n", "expected [node, gpu] or [node, gpu, core]", 7},
        {"placement: missing.csv\n", "missing.csv", 7},
    };
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        char text[512];
        pto_scenario_t scenario;
        pto_error_t err = {0};
        snprintf(text, sizeof text, "%s%s", head, given[i].placement);
        pto_status_t status = pto_scenario_parse(text, strlen(text), "s.yaml", &scenario, &err);
        if (status == PTO_OK) {
            status = pto_mapping_bind(&scenario.mapping, &two_by_two, &err);
            if (!given[i].message)
                assert_int_equal(scenario.mapping.process[1], 2);
            pto_scenario_fini(&scenario);
        }
        if (!given[i].message) {
            assert_int_equal(status, PTO_OK);
            continue;
        }
        assert_int_not_equal(status, PTO_OK);
        if (!strstr(err.message, given[i].message) || err.line != given[i].line)
            fail_msg("%s: %d: %s", given[i].placement, err.line, err.message);
    }
}
