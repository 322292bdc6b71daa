/* Setup before the first run: closed formulas for what plans allocate and open, messages about missing
 * costs, and when a more expensive setup has paid off. */
#include "bad_machine.h"
#include "machine/machine_internal.h"
#include "must.h"
#include "plan_request.h"
#include "portolan/pick.h"
#include "portolan/strategy.h"
#include "test.h"

static pto_machine_t machine;

static int read_fixture(void **state) {
    machine = must_read("tests/fixtures/setup.yaml");
    return 0;
}

static pto_setup_t setup_of(const pto_request_t *request, const pto_machine_t *on) {
    pto_setup_t setup;
    pto_error_t err = {0};
    pto_plan_t *plan = must_plan(request);
    assert_int_equal(pto_setup(plan, on, &setup, &err), PTO_OK);
    return setup;
}

/* The fixture's costs, by hand. */
static double open_s(double bytes) { return 1e-3 + 1e-12 * bytes; }
static double allocate_gpu_s(double bytes) { return bytes < 2097152 ? 2e-6 : 1e-4 + 1e-11 * bytes; }
static double allocate_cpu_s(double bytes) { return 2e-5 + 2e-10 * bytes; }
static const double segment_s = 5e-5;

/* --- closed forms --------------------------------------------------------------------------------------- */

/* The root allocates n inputs and the result in one piece; each other process opens that piece, once. */
TEST(gsb_opens_the_roots_buffer_whatever_the_number_of_processes) {
    static const int64_t bytes[] = {1024, 1048576, 67108864};
    for (int64_t n = 2; n <= 16; n++)
        for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
            pto_request_t request = request_for(PTO_COLLECTIVE_ALLREDUCE, "gsb", "direct", 1, n, 1, bytes[i]);
            pto_setup_t setup = setup_of(&request, &machine);
            double shared_bytes = (double)((n + 1) * bytes[i]);
            assert_true(setup.known);
            assert_near(setup.seconds, allocate_gpu_s(shared_bytes) + open_s(shared_bytes) + segment_s, 1e-9);
        }
}

/* Even processes have two places of the tree and one to pass on; each opens its parent's and nobody else's.
 */
TEST(btb_opens_one_buffer_of_the_tree) {
    for (int64_t n = 4; n <= 16; n *= 2) {
        pto_request_t request = request_for(PTO_COLLECTIVE_ALLREDUCE, "btb", "direct", 1, n, 1, 1048576);
        pto_setup_t setup = setup_of(&request, &machine);
        assert_near(setup.seconds, allocate_gpu_s(3 * 1048576) + open_s(3 * 1048576) + segment_s, 1e-9);
    }
}

TEST(each_strategy_allocates_and_opens_its_own_buffers) {
    const double share_bytes = 65536, gathered_bytes = 2 * 4 * 1048576.0;
    const struct {
        pto_request_t request;
        double expected_s;
    } cases[] = {/* Helpers open the owner's input and output, which are the user's allocations, and stage
                  * their share, a quarter of what goes to four GPUs; nobody allocates on the GPU. */
                 {request_for(PTO_COLLECTIVE_ALLTOALL, "dup_devptr", "pairwise", 1, 4, 4, 65536),
                  allocate_cpu_s(2 * share_bytes) + 2 * open_s(4 * 65536) + segment_s},
                 /* Pinned memory, and no more. */
                 {request_for(PTO_COLLECTIVE_ALLTOALL, "three_step", "pairwise", 2, 4, 1, 65536),
                  allocate_cpu_s(2 * 8 * 65536)},
                 /* Four inputs, in two copies that runs use in turn; each process opens the other three's. */
                 {request_for(PTO_COLLECTIVE_ALLREDUCE, "gas_allgather", "direct", 1, 4, 1, 1048576),
                  allocate_gpu_s(gathered_bytes) + 3 * open_s(gathered_bytes) + segment_s}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pto_setup_t setup = setup_of(&cases[i].request, &machine);
        assert_true(setup.known);
        assert_near_for(setup.seconds, cases[i].expected_s, 1e-9, cases[i].request.strategy->name);
    }
}

/* The rows stay the other machine's. */
static void forget_setup(pto_machine_t *bare) {
    bare->setup_open = (pto_cost_table_t){0};
    memset(bare->setup_allocate, 0, sizeof bare->setup_allocate);
    bare->setup_segment_s = (pto_param_t){0};
}

TEST(a_plan_without_buffers_of_its_own_needs_no_setup) {
    pto_request_t request = request_for(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "pairwise", 2, 4, 1, 65536);
    pto_machine_t bare = machine;
    forget_setup(&bare);
    pto_setup_t setup = setup_of(&request, &bare);
    assert_true(setup.known);
    assert_int_equal(setup.term_count, 0);
    assert_true(setup.seconds == 0);
}

/* Rabenseifner's scratch is the library's where the library runs it, and the plan's where we do. */
TEST(the_librarys_own_buffers_cost_nothing) {
    pto_request_t request =
        request_for(PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "rabenseifner", 1, 4, 1, 1048576);
    pto_setup_t by_library = setup_of(&request, &machine);
    assert_int_equal(by_library.term_count, 0);
    request.by_library = false;
    pto_setup_t by_us = setup_of(&request, &machine);
    assert_true(by_us.seconds > 0);
}

TEST(many_nodes_cost_no_more_than_one) {
    pto_request_t few =
        request_for(PTO_COLLECTIVE_ALLREDUCE, "gsb_gsb", "recursive_doubling", 2, 4, 1, 65536);
    pto_request_t many =
        request_for(PTO_COLLECTIVE_ALLREDUCE, "gsb_gsb", "recursive_doubling", 262144, 4, 1, 65536);
    pto_setup_t of_few = setup_of(&few, &machine), of_many = setup_of(&many, &machine);
    assert_true(of_few.known && of_few.seconds > 0);
    assert_near(of_many.seconds, of_few.seconds, 1e-9);
}

/* --- terms ---------------------------------------------------------------------------------------------- */

TEST(terms_add_up_and_point_into_the_machine) {
    pto_request_t request = request_for(PTO_COLLECTIVE_ALLREDUCE, "gsb", "direct", 1, 4, 1, 1048576);
    pto_setup_t setup = setup_of(&request, &machine);
    double sum_s = 0;
    for (int i = 0; i < setup.term_count; i++) {
        const pto_term_t *term = &setup.term[i];
        assert_non_null(term->param);
        assert_true(term->param->line >= 18 && term->param->line <= 24);
        sum_s += term->seconds;
        assert_near(term->seconds, term->count * term->param->value, 1e-9);
    }
    assert_int_equal(setup.term_count, 5);
    assert_near(sum_s, setup.seconds, 1e-9);
}

static bool lacks(const pto_setup_t *setup, const char *key) {
    for (int i = 0; i < setup->term_count; i++)
        if (!setup->term[i].param && strcmp(setup->term[i].key, key) == 0)
            return true;
    return false;
}

TEST(every_cost_that_is_missing_is_named) {
    pto_request_t request = request_for(PTO_COLLECTIVE_ALLTOALL, "dup_devptr", "pairwise", 1, 4, 4, 65536);
    pto_machine_t bare = machine;
    forget_setup(&bare);
    pto_setup_t setup = setup_of(&request, &bare);
    assert_false(setup.known);
    assert_int_equal(setup.term_count, 3);
    assert_true(lacks(&setup, "setup.allocate.cpu"));
    assert_true(lacks(&setup, "setup.open"));
    assert_true(lacks(&setup, "setup.segment_s"));
    bare.setup_open = machine.setup_open;
    setup = setup_of(&request, &bare);
    assert_false(setup.known || lacks(&setup, "setup.open"));
    assert_true(lacks(&setup, "setup.segment_s"));
}

/* --- when it has paid back ------------------------------------------------------------------------------ */

/* It points to `setup`. */
static pto_prediction_t prediction(pto_setup_t *setup, double setup_s, double seconds) {
    *setup = (pto_setup_t){.known = true, .seconds = setup_s};
    return (pto_prediction_t){.applicable = true, .price = {.seconds = seconds}, .setup = setup};
}

/* Calls counted one by one give the same. */
static double counted(double setup_a, double t_a, double setup_b, double t_b) {
    double calls = 1;
    while (setup_a + calls * t_a > setup_b + calls * t_b)
        calls++;
    return calls;
}

TEST(calls_to_pay_back_are_those_that_counting_finds) {
    static const double t_b[] = {1.0625, 1.5, 3, 40, 2000};
    pto_setup_t setup[2];
    for (size_t i = 0; i < sizeof t_b / sizeof *t_b; i++)
        for (int setup_a = 2; setup_a < 5000; setup_a *= 3) {
            pto_prediction_t a = prediction(&setup[0], setup_a, 1), b = prediction(&setup[1], 0.5, t_b[i]);
            double calls = 0;
            assert_true(pto_payback(&a, &b, &calls));
            assert_true(calls == counted(setup_a, 1, 0.5, t_b[i]));
            assert_false(pto_payback(&b, &a, &calls));
        }
}

/* 0.3 / 0.1 is a little below 3, 0.6 / 0.2 and 1.2 / 0.4 are a little below or above: all are three calls. */
TEST(whole_quotients_stay_whole) {
    static const double gain_s[] = {0.1, 0.2, 0.3, 0.4, 0.7, 1.1};
    pto_setup_t setup[2];
    for (size_t i = 0; i < sizeof gain_s / sizeof *gain_s; i++)
        for (int calls = 1; calls < 200; calls++) {
            pto_prediction_t a = prediction(&setup[0], gain_s[i] * calls, 1);
            pto_prediction_t b = prediction(&setup[1], 0, 1 + gain_s[i]);
            double got = 0;
            assert_true(pto_payback(&a, &b, &got));
            assert_true(got == calls);
        }
}

TEST(more_expensive_calls_never_pay_off_a_setup) {
    pto_setup_t setup[2], lacking = {.known = false};
    pto_prediction_t a = prediction(&setup[0], 1e-3, 2e-6), b = prediction(&setup[1], 0, 2e-6), unknown = b;
    double calls = 0;
    assert_true(pto_payback(&a, &b, &calls));
    assert_true(isinf(calls));
    unknown.setup = &lacking;
    assert_false(pto_payback(&a, &unknown, &calls));
    assert_false(pto_payback(&unknown, &b, &calls));
    unknown.setup = NULL;
    assert_false(pto_payback(&a, &unknown, &calls));
    assert_false(pto_payback(&unknown, &b, &calls));
    unknown = b;
    unknown.applicable = false;
    assert_false(pto_payback(&a, &unknown, &calls));
}

/* --- machine files -------------------------------------------------------------------------------------- */

#define BODY                                                                                                 \
    "machine: m\nsource: s\nnode: {sockets: 1, gpus: 1, cores: 1}\n"                                         \
    "messages: {cpu: {off_node: [{protocol: eager, alpha_s: 1e-6, beta_s_per_byte: 0}]}}\n"

TEST(bad_setups_are_rejected_at_their_position) {
    static const bad_input_t cases[] = {
        BAD(BODY "setup: {}\n", PTO_ERR_KEY, 5, 8, "'setup'"),
        BAD(BODY "setup: {close: {}}\n", PTO_ERR_KEY, 5, 9, "close", "open"),
        BAD(BODY "setup: {segment_s: -1}\n", PTO_ERR_RANGE, 5, 20, "segment_s"),
        BAD(BODY "setup: {allocate: {disk: {}}}\n", PTO_ERR_KEY, 5, 20, "disk"),
        BAD(BODY "setup: {open: [1]}\n", PTO_ERR_TYPE, 5, 16, "a row of costs must be a mapping"),
    };
    ASSERT_MACHINES_REFUSED(cases);
}

static void compare_setups(const pto_setup_t *a, const pto_setup_t *b) {
    assert_true(a->known == b->known && a->seconds == b->seconds && a->term_count == b->term_count);
    for (int i = 0; i < a->term_count; i++) {
        assert_string_equal(a->term[i].key, b->term[i].key);
        assert_true(a->term[i].count == b->term[i].count);
    }
}

/* Returns how many have terms. */
static int compare_predicted_setups(const pto_machine_t *on, pto_collective_t collective) {
    pto_scenario_t scenario;
    int found = 0;
    pto_scenario_init(&scenario);
    scenario.collective = collective;
    assert_int_equal(pto_series_range(1024, 1 << 26, 16, &scenario.bytes, NULL), PTO_OK);
    assert_int_equal(pto_series_one(2, &scenario.nodes, NULL), PTO_OK);
    assert_int_equal(pto_scenario_bind(&scenario, on, NULL), PTO_OK);
    pto_predictions_t predictions = must_predict(&scenario, on, true);
    assert_int_equal(pto_predictions_find_setups(&predictions, NULL), PTO_OK);
    for (int64_t i = 0; i < predictions.point_count * predictions.strategy_count; i++) {
        const pto_prediction_t *prediction = &predictions.prediction[i];
        pto_plan_t *plan = NULL;
        pto_price_t price;
        pto_setup_t setup;
        if (!prediction->applicable)
            continue;
        assert_int_equal(pto_plan_choose(&scenario, on, i / predictions.strategy_count,
                                         predictions.strategy[i % predictions.strategy_count], &plan, &price,
                                         NULL, NULL),
                         PTO_OK);
        assert_int_equal(pto_setup(plan, on, &setup, NULL), PTO_OK);
        compare_setups(&setup, prediction->setup);
        found += setup.term_count > 0;
        pto_plan_destroy(plan);
    }
    pto_scenario_fini(&scenario);
    return found;
}

/* Summit's library stages some of its calls; rings are cut into chunks. */
TEST(setups_of_predictions_are_those_of_their_plans) {
    pto_machine_t summit = must_read("scenarios/machines/summit-spectrum-refit.yaml");
    for (int space = 0; space < PTO_SPACE_COUNT; space++)
        summit.setup_allocate[space] = machine.setup_allocate[space];
    assert_true(compare_predicted_setups(&summit, PTO_COLLECTIVE_ALLREDUCE) > 0);
    assert_true(compare_predicted_setups(&summit, PTO_COLLECTIVE_ALLGATHER) > 0);
    for (int space = 0; space < PTO_SPACE_COUNT; space++)
        summit.setup_allocate[space] = (pto_cost_table_t){0};
}

/* Only the last GPU of four holds the temporary. */
static void build_on_last_gpu(pto_builder_t *builder, const pto_request_t *request) {
    pto_build_buffer(builder, (pto_buffer_t){.name = "temporary",
                                             .role = PTO_ROLE_TEMPORARY,
                                             .space = PTO_SPACE_GPU,
                                             .core_count = 1,
                                             .group = PTO_GROUP_OWNERS,
                                             .held_first = 3,
                                             .held_stride = 4,
                                             .block_count = 1,
                                             .block_bytes = request->bytes,
                                             .granularity_bytes = 1});
    pto_build_stage(builder, "nothing", PTO_ORDER_SEQUENCE);
}

TEST(the_busiest_process_may_be_on_any_gpu) {
    static const pto_strategy_t last = {.name = "last",
                                        .summary = "a buffer on the last GPU",
                                        .collectives = 1u << PTO_COLLECTIVE_ALLREDUCE,
                                        .direct = true,
                                        .collective_space = PTO_SPACE_GPU,
                                        .build = build_on_last_gpu};
    pto_request_t request = request_for(PTO_COLLECTIVE_ALLREDUCE, "gsb", "direct", 1, 4, 2, 1 << 24);
    request.strategy = &last;
    assert_near(setup_of(&request, &machine).seconds, allocate_gpu_s(1 << 24), 1e-9);
}

int main(void) { return run_all_tests(read_fixture, NULL); }
