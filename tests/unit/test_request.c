/* Requests that pto_plan_create accepts, registering strategies and algorithms, and the price of a single
 * cell. */
#include "machine/machine_internal.h"
#include "must.h"
#include "plan_request.h"
#include "portolan/api.h"
#include "portolan/check.h"
#include "portolan/pick.h"
#include "portolan/strategy.h"
#include "priced.h"
#include "test.h"

/* One node's, with kernels; and several nodes'. */
static const char node_path[] = "scenarios/machines/h200-x4.yaml";
static const char cluster_path[] = "scenarios/machines/summit-spectrum.yaml";

static pto_request_t small_request(void) {
    return request_for(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "pairwise", 2, 2, 2, 8);
}

static void assert_refused(const pto_request_t *request, const char *says) {
    pto_plan_t *plan = NULL;
    pto_error_t err = {0};
    assert_int_equal(pto_plan_create(request, &plan, &err), PTO_ERR_RANGE);
    assert_null(plan);
    if (!strstr(err.message, says))
        fail_msg("'%s' does not say '%s'", err.message, says);
}

/* --- requests ------------------------------------------------------------------------------------------- */

TEST(negative_sizes_are_refused) {
    pto_request_t request = small_request();
    request.bytes = -5;
    assert_refused(&request, "bytes must be 0 or more, not -5");
    request = small_request();
    request.messages = -1;
    assert_refused(&request, "messages must be 0 or more");
    request = small_request();
    request.unique_bytes = INT64_MIN;
    assert_refused(&request, "unique_bytes must be 0 or more");
}

TEST(a_request_names_its_strategy_and_algorithm) {
    pto_request_t request = small_request();
    request.algorithm = NULL;
    assert_refused(&request, "no algorithm");
    request = small_request();
    request.strategy = NULL;
    assert_refused(&request, "no strategy");
}

TEST(values_outside_an_enum_are_rejected) {
    pto_request_t request = small_request();
    request.collective = PTO_COLLECTIVE_COUNT;
    assert_refused(&request, "collective");
    request = small_request();
    request.datatype = (pto_datatype_t)77;
    assert_refused(&request, "datatype 77");
    request = small_request();
    request.split = PTO_SPLIT_COUNT;
    assert_refused(&request, "split");
    request = small_request();
    request.implementation = PTO_IMPLEMENTATION_COUNT;
    assert_refused(&request, "implementation");
}

TEST(a_matrix_of_another_order_is_refused) {
    int64_t matrix[9] = {0};
    pto_counts_t counts = {.kind = PTO_COUNTS_MATRIX, .order = 3, .matrix = matrix};
    pto_request_t request = request_for(PTO_COLLECTIVE_ALLTOALLV, "cuda_aware", "pairwise", 2, 2, 2, 8);
    request.counts = &counts;
    assert_refused(&request, "the matrix of bytes has 3 rows, but 4 processes");
}

TEST(more_bytes_than_can_be_counted_are_refused) {
    const pto_collective_t collective[] = {PTO_COLLECTIVE_ALLREDUCE, PTO_COLLECTIVE_ALLTOALL};
    const char *algorithm[] = {"ring", "pairwise"};
    for (int i = 0; i < 2; i++) {
        pto_request_t request = request_for(collective[i], "cuda_aware", algorithm[i], 2, 2, 2, 8);
        request.bytes = INT64_MAX;
        assert_refused(&request, "more bytes than can be counted");
        request.bytes = INT64_MAX / 64;
        assert_refused(&request, "more bytes than can be counted");
    }
}

/* The largest power of two of bytes for which there is a plan; 0 where it does not apply at all. */
static int64_t most_bytes(pto_request_t request) {
    for (int64_t bytes = (int64_t)1 << 61; bytes > 0; bytes /= 2) {
        pto_plan_t *plan = NULL;
        request.bytes = bytes;
        pto_status_t status = pto_plan_create(&request, &plan, NULL);
        pto_plan_destroy(plan);
        if (status == PTO_OK)
            return bytes;
        assert_true(status == PTO_ERR_RANGE || status == PTO_ERR_NOT_APPLICABLE);
    }
    return 0;
}

/* The sanitizers watch the arithmetic. */
static void interpret_at_most_bytes(pto_request_t request, const pto_machine_t *machine) {
    pto_price_t price = {0};
    pto_check_report_t report;
    pto_error_t err = {0};
    int64_t gpu_bytes, host_bytes;
    pto_plan_t *plan = must_plan(&request);
    pto_plan_memory(plan, &gpu_bytes, &host_bytes);
    assert_true(gpu_bytes > 0 && host_bytes >= 0);
    pto_status_t status = pto_price(plan, machine, &price, NULL, &err);
    if (status == PTO_OK) {
        assert_true(price.seconds > 0 && price.seconds < 1e12);
        must_walk(plan, machine);
    } else {
        assert_int_equal(status, PTO_ERR_NOT_APPLICABLE);
    }
    if (pto_check(plan, &report, &err) != PTO_OK)
        fail_msg("%s with %s, %lld bytes: %s", request.strategy->name, request.algorithm->name,
                 (long long)request.bytes, err.message);
}

TEST(every_plan_at_its_most_bytes_is_priced_and_proved) {
    pto_machine_t machine[] = {must_read(node_path), must_read(cluster_path)};
    int met = 0;
    for (int s = 0; s < pto_strategy_count(); s++)
        for (int a = 0; a < pto_algorithm_count(); a++)
            for (int c = 0; c < PTO_COLLECTIVE_COUNT; c++) {
                for (int64_t nodes = 1; nodes <= 3; nodes++) {
                    pto_request_t request = small_request();
                    request.layout.nodes = nodes;
                    request.strategy = pto_strategy_at(s);
                    request.algorithm = pto_algorithm_at(a);
                    request.collective = (pto_collective_t)c;
                    request.messages = c == PTO_COLLECTIVE_MESSAGES;
                    request.bytes = most_bytes(request);
                    if (request.bytes == 0)
                        continue;
                    interpret_at_most_bytes(request, &machine[nodes > 1]);
                    met++;
                }
            }
    assert_true(met > 100);
}

/* --- registering ---------------------------------------------------------------------------------------- */

static void build_like_cuda_aware(pto_builder_t *builder, const pto_request_t *request) {
    const pto_strategy_t *cuda_aware = NULL;
    assert_int_equal(pto_strategy_find("cuda_aware", &cuda_aware, NULL), PTO_OK);
    cuda_aware->build(builder, request);
}

static const pto_strategy_t own = {.name = "own",
                                   .summary = "as cuda_aware",
                                   .collectives = 1u << PTO_COLLECTIVE_ALLTOALL,
                                   .collective_space = PTO_SPACE_GPU,
                                   .build = build_like_cuda_aware};

TEST(registered_strategies_and_algorithms_are_found_and_priced) {
    static pto_algorithm_t also_pairwise;
    const pto_algorithm_t *pairwise = NULL;
    assert_int_equal(pto_algorithm_find("pairwise", PTO_COLLECTIVE_ALLTOALL, &pairwise, NULL), PTO_OK);
    also_pairwise = *pairwise;
    also_pairwise.name = "also_pairwise";
    int strategies = pto_strategy_count(), algorithms = pto_algorithm_count();
    assert_int_equal(pto_strategy_register(&own, NULL), PTO_OK);
    assert_int_equal(pto_algorithm_register(&also_pairwise, NULL), PTO_OK);
    assert_int_equal(pto_strategy_count(), strategies + 1);
    assert_int_equal(pto_algorithm_count(), algorithms + 1);
    pto_machine_t machine = must_read(cluster_path);
    pto_price_t price[2];
    const char *name[2][2] = {{"cuda_aware", "pairwise"}, {"own", "also_pairwise"}};
    for (int i = 0; i < 2; i++) {
        pto_request_t request = request_for(PTO_COLLECTIVE_ALLTOALL, name[i][0], name[i][1], 2, 2, 2, 1024);
        pto_plan_t *plan = must_plan(&request);
        assert_int_equal(pto_price(plan, &machine, &price[i], NULL, NULL), PTO_OK);
        assert_int_equal(pto_check(plan, &(pto_check_report_t){0}, NULL), PTO_OK);
    }
    assert_true(price[0].seconds == price[1].seconds);
}

TEST(unusable_strategies_are_not_registered) {
    pto_error_t err;
    int strategies = pto_strategy_count();
    pto_strategy_t bad = own;
    bad.name = "three_step";
    assert_int_equal(pto_strategy_register(&bad, &err), PTO_ERR_RANGE);
    assert_non_null(strstr(err.message, "'three_step' is another strategy's"));
    bad.name = "";
    assert_int_equal(pto_strategy_register(&bad, &err), PTO_ERR_RANGE);
    bad.name = "lacks_build";
    bad.build = NULL;
    assert_int_equal(pto_strategy_register(&bad, &err), PTO_ERR_RANGE);
    assert_int_equal(pto_strategy_count(), strategies);
}

static const pto_request_t *misused; /* in which way: its bytes */

static void build_wrongly(pto_builder_t *builder, const pto_request_t *request) {
    if (misused->bytes == 0)
        pto_build_step(builder, (pto_step_t){.kind = PTO_STEP_COPY});
    for (int64_t i = 0; i < misused->bytes / 2; i++)
        pto_build_loop(builder, 0, 2, false);
    for (int64_t i = 0; i < (misused->bytes + 1) / 2 && misused->bytes != 4; i++)
        pto_build_end(builder);
}

TEST(strategies_that_misuse_the_builder_are_refused) {
    static const struct {
        int64_t bytes;
        const char *cause;
    } cases[] = {{0, "builds a step before the first stage"},
                 {1, "ends a node that it did not begin"},
                 {4, "does not end all nodes that it begins"},
                 {18, "nests more than 8 nodes"}};
    pto_strategy_t wrong = own;
    wrong.build = build_wrongly;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pto_request_t request = request_for(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "pairwise", 2, 2, 2, 0);
        request.strategy = &wrong;
        request.bytes = cases[i].bytes;
        misused = &request;
        assert_non_null(strstr(no_plan(&request, PTO_ERR_INVALID_PLAN), cases[i].cause));
    }
}

/* --- one cell ------------------------------------------------------------------------------------------- */

TEST(one_cell_costs_what_the_strategy_costs_in_a_scenario) {
    pto_machine_t machine = must_read(node_path);
    pto_ask_t cell = {.collective = "allreduce", .bytes = 65536};
    pto_plan_t *plan = NULL, *again = NULL;
    pto_price_t price, named;
    assert_int_equal(pto_predict_one(&machine, &cell, &plan, &price, NULL), PTO_OK);
    const pto_request_t *request = pto_plan_request(plan);
    assert_int_equal(request->layout.gpus_per_node, machine.node.gpus);
    for (int i = 0; i < pto_strategy_count(); i++) {
        cell.strategy = pto_strategy_at(i)->name;
        if (pto_predict_one(&machine, &cell, NULL, &named, NULL) == PTO_OK)
            assert_true(named.seconds >= price.seconds);
    }
    cell.strategy = request->strategy->name;
    assert_int_equal(pto_predict_one(&machine, &cell, &again, &named, NULL), PTO_OK);
    assert_true(named.seconds == price.seconds);
    assert_true(pto_plan_digest(plan) == pto_plan_digest(again));
    pto_plan_destroy(plan);
    pto_plan_destroy(again);
}

TEST(a_cell_that_cannot_be_priced_says_why) {
    pto_machine_t machine = must_read(node_path);
    pto_error_t err;
    pto_plan_t *plan = NULL;
    pto_ask_t cell = {.collective = "alreduce", .bytes = 4};
    assert_int_equal(pto_predict_one(&machine, &cell, &plan, NULL, &err), PTO_ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "did you mean 'allreduce'"));
    cell = (pto_ask_t){.collective = "allreduce", .bytes = -4};
    assert_int_equal(pto_predict_one(&machine, &cell, &plan, NULL, &err), PTO_ERR_RANGE);
    cell = (pto_ask_t){.collective = "alltoall", .strategy = "gsb", .bytes = 4};
    assert_int_equal(pto_predict_one(&machine, &cell, &plan, NULL, &err), PTO_ERR_NOT_APPLICABLE);
    assert_non_null(strstr(err.message, "gsb"));
    assert_null(plan);
}

TEST(the_version_is_that_of_the_header) {
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", PTO_VERSION_MAJOR, PTO_VERSION_MINOR, PTO_VERSION_PATCH);
    assert_string_equal(pto_version(), text);
    assert_string_equal(PTO_VERSION_TEXT, text);
}

/* Of a million processes' inputs of a million blocks each, in one buffer. */
TEST(a_buffer_for_all_inputs_of_a_reduce_scatter_can_be_too_large) {
    pto_request_t request =
        request_for(PTO_COLLECTIVE_REDUCE_SCATTER, "three_step", "linear", 1000000, 1, 1, 1 << 30);
    pto_plan_t *plan = NULL;
    pto_error_t err = {0};
    assert_non_null(
        strstr(no_plan(&request, PTO_ERR_NOT_APPLICABLE), "'received' of more bytes than can be counted"));
    assert_null(plan);
    request.bytes = 4;
    assert_int_equal(pto_plan_create(&request, &plan, &err), PTO_OK);
    pto_plan_destroy(plan);
}
