/* Intervals that hold the model's own error, and near-ties that are judged on the difference. Expected values
 * by hand. */
#include "asked.h"
#include "must.h"
#include "portolan/machine.h"
#include "portolan/pick.h"
#include "test.h"

/* cuda_aware is one GPU message; three_step two copies and one CPU message. */
#define MACHINE(cpu_95, gpu_95, more)                                                                        \
    "machine: m\nsource: made up\nnode: {sockets: 1, gpus: 2, cores: 8}\nmessages:\n"                        \
    "  cpu: {off_node: [{protocol: eager, alpha_s: 1.0e-6" cpu_95 ", beta_s_per_byte: 0}]}\n"                \
    "  gpu: {off_node: [{protocol: eager, alpha_s: 2.0e-6" gpu_95 ", beta_s_per_byte: 0}]}\n"                \
    "copies:\n  h2d: {on_socket: {alpha_s: 0.6e-6, beta_s_per_byte: 0}}\n"                                   \
    "  d2h: {on_socket: {alpha_s: 0.6e-6, beta_s_per_byte: 0}}\n" more

#define ERROR(doubling, tie)                                                                                 \
    "model_error: {source: there, nodes: [1, 2], procs_per_node: [1, 2], bytes: [64, 1024], "                \
    "doubling: " doubling ", tie: " tie ", strategies: [{strategy: all, log_95: 0.5, samples: 40}, "         \
    "{strategy: three_step, log_95: 0.3, samples: 20}]}\n"

static asked_t *ask_for(const char *machine, const char *nodes, const char *bytes) {
    char text[512];
    snprintf(text, sizeof text,
             "scenario: s\nmachine: m.yaml\ncollective: messages\nmessages: 1\n"
             "layout: {nodes: %s, gpus_per_node: 1, procs_per_gpu: 1}\nbytes: %s\n"
             "strategies: [cuda_aware, three_step]\n",
             nodes, bytes);
    return ask(machine, text);
}

static const pto_price_t *price_of(const asked_t *asked, int strategy) {
    return &pto_prediction_at(&asked->predictions, 0, strategy)->price;
}

TEST(the_model_error_is_added_in_log_time) {
    asked_t *asked = ask_for(MACHINE("", ", alpha_s_95: [1.0e-6, 3.0e-6]", ERROR("0", "0.1")), "2", "64");
    assert_near(price_of(asked, 0)->high_s, 2e-6 * exp(hypot(log(1.5), 0.5)), 1e-6);
    assert_near(price_of(asked, 0)->low_s, 2e-6 * exp(-hypot(log(2), 0.5)), 1e-6);
    assert_near(price_of(asked, 1)->high_s, 2.2e-6 * exp(0.3), 1e-6); /* a row of its own */
}

/* From 2 to 8 nodes 2 doublings, from 1 to 4 KiB 2 more; fewer nodes and bytes add nothing. */
TEST(each_doubling_beyond_the_cells_widens_the_error) {
    static const struct {
        const char *nodes, *bytes;
        double factor;
    } cases[] = {{"2", "64", 1}, {"2", "8", 1}, {"8", "64", 1.5}, {"8", "4096", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        asked_t *asked = ask_for(MACHINE("", "", ERROR("0.25", "0.1")), cases[i].nodes, cases[i].bytes);
        assert_near(log(price_of(asked, 0)->high_s / 2e-6), 0.5 * cases[i].factor, 1e-6);
        assert_near(price_of(asked, 0)->tie_log_sd, 0.1 * cases[i].factor, 1e-6);
    }
}

/* Both strategies with the same uncertain message, 20 percent apart through a copy: no tie. Their intervals
 * alone overlap widely. */
TEST(terms_that_two_strategies_share_cancel) {
    static const char machine[] =
        "machine: m\nsource: made up\nnode: {sockets: 1, gpus: 2, cores: 8}\nmessages:\n"
        "  cpu: {off_node: [{protocol: eager, alpha_s: 2.0e-6, alpha_s_95: [1.0e-6, 3.0e-6], "
        "beta_s_per_byte: 0}]}\n"
        "  gpu: {off_node: [{protocol: eager, alpha_s: 9.0e-6, beta_s_per_byte: 0}]}\n"
        "copies:\n  h2d: {on_socket: {alpha_s: 0.6e-6, beta_s_per_byte: 0}}\n"
        "  d2h: {on_socket: {alpha_s: 0.6e-6, beta_s_per_byte: 0}}\n";
    asked_t *asked = ask_for(machine, "2", "64");
    pto_prediction_t *both = asked->predictions.prediction;
    /* the same message, one copy less */
    pto_explanation_fini(&both[0].explanation);
    both[0].explanation.term = calloc((size_t)both[1].explanation.count, sizeof *both[0].explanation.term);
    for (int t = 0; t < both[1].explanation.count; t++)
        if (strncmp(both[1].explanation.term[t].key, "copies.d2h", 10) != 0)
            both[0].explanation.term[both[0].explanation.count++] = both[1].explanation.term[t];
    both[0].price = both[1].price;
    both[0].price.seconds = 2.6e-6;
    pick_again(asked);
    const pto_range_t *range = asked->range;
    assert_int_equal(range->winner, 0);
    assert_false(range->near_tie);
    assert_false(range->overlap);
    both[0].explanation.count = 0; /* independent, their intervals overlap */
    pick_again(asked);
    assert_true(asked->range->overlap);
    assert_false(asked->range->near_tie);
}

/* 2.0 against 2.2 us: ln 0.0953. The other is cheaper with a probability of 1/3 from a deviation of 0.2213.
 */
TEST(a_near_tie_is_one_time_in_three_the_other) {
    asked_t *asked = ask_for(MACHINE("", "", ERROR("0", "0.22")), "2", "64");
    assert_false(asked->range[0].near_tie);
    asked = ask_for(MACHINE("", "", ERROR("0", "0.223")), "2", "64");
    assert_true(asked->range[0].near_tie);
    /* E[max(0, exp(X) - 1)], X normal around -0.09531 with 0.223 */
    double m = log(1.1), s = 0.223;
    assert_near(asked->range[0].regret,
                exp(s * s / 2 - m) * erfc((m / s - s) / sqrt(2)) / 2 - erfc(m / s / sqrt(2)) / 2, 1e-6);
}

/* The margin is 10 percent. The model's own error of 0.1 tells such prices apart, the copy's interval does
 * not. */
TEST(a_wide_interval_is_unsure_and_no_near_tie) {
    asked_t *asked = ask_for(MACHINE("", ", alpha_s_95: [1.0e-6, 3.0e-6]", ERROR("0", "0.1")), "2", "64");
    assert_false(asked->range[0].near_tie);
    assert_true(asked->range[0].overlap);
    assert_int_equal(asked->range[0].settle_point, 0);
    assert_string_equal(asked->range[0].settle.key, "messages.gpu.off_node.eager.alpha_s");
    asked = ask_for(MACHINE("", ", alpha_s_95: [1.99e-6, 2.01e-6]", ERROR("0", "0.1")), "2", "64");
    assert_false(asked->range[0].near_tie || asked->range[0].overlap);
    assert_int_equal(asked->range[0].settle_point, -1);
}

TEST(a_near_tie_names_what_to_measure) {
    asked_t *asked = ask_for(MACHINE("", ", alpha_s_95: [1.0e-6, 3.0e-6]", ""), "2", "64");
    assert_true(asked->range[0].near_tie);
    assert_int_equal(asked->range[0].settle_point, 0);
    assert_int_equal(asked->range[0].settle_other, 1);
    assert_string_equal(asked->range[0].settle.key, "messages.gpu.off_node.eager.alpha_s");
    assert_string_equal(asked->range[0].settle.benchmark, "ping_pong");
    assert_int_equal(asked->range[0].settle.bytes, 64);
    asked = ask_for(MACHINE("", ", alpha_s_95: [1.99e-6, 2.01e-6]", ""), "2", "64");
    assert_false(asked->range[0].near_tie);
    asked = ask_for(MACHINE("", ", alpha_s_95: [1.99e-6, 2.01e-6]", ERROR("0", "0.3")), "2", "64");
    assert_true(asked->range[0].near_tie);
    assert_string_equal(asked->range[0].settle.key, ""); /* the model's error is larger */
}

TEST(the_keys_of_a_model_error_are_written_and_read_back) {
    static const char text[] =
        MACHINE("", "", ERROR("0.25", "0.1") "fitted_to: [{file: c.csv, digest: \"0123\", nodes: [2, 8]}]\n");
    const int64_t *nodes = NULL;
    const char *written = must_format(must_duplicate(must_create(text)));
    pto_machine_t *again = must_create(written);
    assert_string_equal(must_format(again), written);
    assert_string_equal(pto_machine_error_source(again), "there");
    assert_int_equal(pto_machine_fitted_to(again, "0123", &nodes), 2);
    assert_true(nodes[0] == 2 && nodes[1] == 8);
    assert_int_equal(pto_machine_fitted_to(again, "012", &nodes), 0);
    assert_near(again->model_error.row[1].log_95, 0.3, 1e-6);
    assert_int_equal(again->model_error.byte.most, 1024);
}

TEST(a_model_error_that_cannot_be_is_refused) {
    static const struct {
        const char *text, *message;
    } bad[] = {{"model_error: {source: x}\n", "strategies"},
               {"model_error: {source: x, nodes: [3, 2], strategies: []}\n", "the least is above the most"},
               {"model_error: {source: x, nodes: [3], strategies: []}\n", "[least, most]"},
               {"model_error: {source: x, strategies: [{strategy: all}]}\n", "log_95"},
               {"fitted_to: [{file: c.csv, nodes: [2]}]\n", "digest"},
               {"fitted_to: [{file: c.csv, digest: \"0\", nodes: 2}]\n", "list"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[2048];
        pto_machine_t *machine = NULL;
        pto_error_t err = {0};
        snprintf(text, sizeof text, "%s%s", MACHINE("", "", ""), bad[i].text);
        assert_int_not_equal(pto_machine_create(text, strlen(text), "m.yaml", &machine, &err), PTO_OK);
        if (!strstr(err.message, bad[i].message))
            fail_msg("'%s' does not say '%s'", err.message, bad[i].message);
    }
}
