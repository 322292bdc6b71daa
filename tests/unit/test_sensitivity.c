/* Sensitivity: on a synthetic machine with answers computed by hand, and on Summit by trying each change. */
#include "asked.h"
#include "must.h"
#include "plan/plan_internal.h"
#include "portolan/sensitivity.h"
#include "price/pricing.h"
#include "test.h"

/* One message of 10,000 bytes: direct 2 + 10 = 12 us; staged 5 + 1 (to the host) + 1 + 1 (message) + 5 + 1
 * = 14 us. */
static const char machine_text[] =
    SIMPLE_MACHINE("simple", "alpha_s_95: [1.0e-6, 3.0e-6], beta_s_per_byte_95: [0.7e-9, 1.3e-9], ", "");

static const char scenario_text[] = "scenario: asked\n"
                                    "machine: simple.yaml\n"
                                    "collective: messages\n"
                                    "layout: {nodes: 2, gpus_per_node: 1, procs_per_gpu: 1}\n"
                                    "bytes: 10000\n"
                                    "messages: 1\n"
                                    "strategies: [cuda_aware, three_step]\n";

static const pto_sensitivity_t *find(const pto_sensitivities_t *found, const char *key) {
    for (int i = 0; i < found->count; i++)
        if (strcmp(found->item[i].param.key, key) == 0)
            return &found->item[i];
    return NULL;
}

static void end_sensitivities(void *found) { pto_sensitivities_fini(found); }

/* Until the test ends. */
static pto_sensitivities_t sensitivities_of(asked_t *asked, int64_t point) {
    pto_sensitivities_t found;
    pto_error_t err = {0};
    assert_ok(pto_sensitivity(&asked->predictions, &asked->machine, point, &found, &err), &err);
    keep_owned(&found, sizeof found, end_sensitivities);
    return found;
}

TEST(factors_are_those_worked_out_by_hand) {
    static const struct {
        const char *key;
        double factor; /* 0: none */
        double elasticity;
        bool inside;
    } expected[] = {
        {"messages.gpu.off_node.eager.beta_s_per_byte", 1.2, 10.0 / 12, true}, /* 2 + 10 f = 14 */
        {"copies.h2d.on_socket.alpha_s", 0.6, 0, false},                       /* 9 + 5 f = 12 */
        {"copies.d2h.on_socket.alpha_s", 0.6, 0, false},
        {"messages.gpu.off_node.eager.alpha_s", 2.0, 2.0 / 12, false}, /* 2 f + 10 = 14 */
        {"messages.cpu.off_node.eager.alpha_s", 0, 0, false},          /* 13 + f = 12: none */
        {"copies.h2d.on_socket.beta_s_per_byte", 0, 0, false},
    };
    pto_sensitivities_t found = sensitivities_of(ask(machine_text, scenario_text), 0);
    assert_int_equal(found.winner, 0);
    assert_int_equal(found.runner_up, 1);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const pto_sensitivity_t *item = find(&found, expected[i].key);
        assert_non_null(item);
        assert_true(fabs(item->factor - expected[i].factor) <= 1e-3 * expected[i].factor);
        assert_int_equal(item->becomes, expected[i].factor > 0 ? 1 : -1);
        assert_true(fabs(item->elasticity - expected[i].elasticity) < 1e-9);
        assert_int_equal(item->inside_interval, expected[i].inside);
    }
}

TEST(the_nearest_comes_first_and_those_without_a_change_last) {
    pto_sensitivities_t found = sensitivities_of(ask(machine_text, scenario_text), 0);
    assert_int_equal(found.count, 8);
    assert_string_equal(found.item[0].param.key, "messages.gpu.off_node.eager.beta_s_per_byte");
    for (int i = 1; i < found.count; i++) {
        const pto_sensitivity_t *before = &found.item[i - 1], *item = &found.item[i];
        assert_true(before->becomes >= 0 || item->becomes < 0);
        if (item->becomes >= 0)
            assert_true(fabs(log(before->factor)) <= fabs(log(item->factor)));
        else if (before->becomes < 0)
            assert_true(before->elasticity >= item->elasticity);
    }
}

TEST(the_machine_is_left_as_it_was) {
    asked_t *asked = ask(machine_text, scenario_text);
    pto_machine_t before = asked->machine;
    sensitivities_of(asked, 0);
    assert_memory_equal(&before, &asked->machine, sizeof before);
}

static int winner_now(const asked_t *asked, int64_t point) {
    pto_predictions_t predictions = must_predict(&asked->scenario, &asked->machine, false);
    int winner = -1;
    double least_s = 0;
    for (int i = 0; i < predictions.strategy_count; i++) {
        const pto_prediction_t *prediction = pto_prediction_at(&predictions, point, i);
        if (prediction->applicable &&
            (winner < 0 || (prediction->price.seconds < least_s &&
                            !pto_cost_is_same(prediction->price.seconds, least_s)))) {
            least_s = prediction->price.seconds;
            winner = i;
        }
    }
    return winner;
}

static asked_t *read_scenario(const char *path) {
    pto_error_t err = {0};
    asked_t *asked = keep_new(sizeof *asked, end_asked);
    assert_ok(pto_scenario_read(path, &asked->scenario, &err), &err);
    assert_ok(pto_machine_read(asked->scenario.machine_path, &asked->machine, &err), &err);
    return asked;
}

/* Just before the factor the pick stands, at the factor it is what was said. Returns how many there are. */
static int try_changes(asked_t *asked, int64_t point) {
    pto_sensitivities_t found = sensitivities_of(asked, point);
    int changes = 0;
    for (int i = 0; i < found.count; i++) {
        const pto_sensitivity_t *item = &found.item[i];
        pto_param_t *param = item->param.param;
        const double value = param->value;
        if (item->becomes < 0)
            continue;
        param->value = value * item->factor;
        assert_int_equal(winner_now(asked, point), item->becomes);
        param->value = value * pow(item->factor, 0.995);
        assert_int_equal(winner_now(asked, point), found.winner);
        param->value = value;
        changes++;
    }
    return changes;
}

/* On machines with protocols, injection limits and several algorithms; with numbers of chunks, two numbers of
 * staged members, and tables of byte counts. */
TEST(the_pick_changes_at_the_factor_and_not_before) {
    static const struct {
        const char *path;
        int64_t apart; /* the points */
        int changes;   /* at least */
    } tried[] = {
        {"scenarios/problems/alltoall-summit.yaml", 5, 10},
        {"scenarios/problems/allreduce-summit.yaml", 5, 10},
        {"scenarios/problems/allreduce-lassen.yaml", 5, 10},
        {"scenarios/problems/allgather-h200-x2.yaml", 3, 5},
        {"scenarios/problems/alltoallv-skewed-summit.yaml", 9, 5},
    };
    for (size_t t = 0; t < sizeof tried / sizeof *tried; t++) {
        int changes = 0;
        asked_t *asked = read_scenario(tried[t].path);
        predict_asked(asked);
        for (int64_t point = 0; point < asked->predictions.point_count; point += tried[t].apart)
            changes += try_changes(asked, point);
        assert_true(changes >= tried[t].changes);
    }
}

static double price_now(const asked_t *asked, int64_t point, int strategy) {
    pto_predictions_t predictions = must_predict(&asked->scenario, &asked->machine, false);
    return pto_prediction_at(&predictions, point, strategy)->price.seconds;
}

/* Of injection, too, whose slowdown by contention is a term of its own. */
TEST(an_elasticity_is_what_a_percent_adds) {
    asked_t *asked = ask_file("scenarios/machines/lassen-spectrum-refit.yaml",
                              "scenario: x\nmachine: m.yaml\ncollective: alltoall\n"
                              "layout: {nodes: 32, procs_per_gpu: 1}\nbytes: 64KiB\n",
                              NULL);
    const pto_sensitivities_t found = sensitivities_of(asked, 0);
    const double before_s = price_now(asked, 0, found.winner);
    for (int i = 0; i < found.count; i++) {
        pto_param_t *param = found.item[i].param.param;
        const double value = param->value;
        param->value = value * 1.01;
        const double percent = 100 * (price_now(asked, 0, found.winner) / before_s - 1);
        param->value = value;
        assert_true(fabs(found.item[i].elasticity - percent) < 1e-9);
    }
    assert_true(found.count > 5);
}

/* What has no row changes no pick at a factor. */
static void assert_rows_complete(asked_t *asked, const pto_sensitivities_t *found, double factor) {
    pto_machine_param_t *param = NULL;
    int count = 0;
    assert_int_equal(pto_machine_params(&asked->machine, &param, &count, NULL), PTO_OK);
    for (int i = 0; i < count; i++) {
        if (!param[i].param || !pto_param_known(param[i].param) || find(found, param[i].key))
            continue;
        const double value = param[i].param->value;
        param[i].param->value = value * factor;
        if (winner_now(asked, 0) != found->winner)
            fail_msg("%s has no row, but changes the pick", param[i].key);
        param[i].param->value = value;
    }
    free(param);
}

/* A cost that is hidden behind a larger one has a row. */
TEST(a_hidden_cost_is_found) {
    asked_t *asked = ask_file("scenarios/machines/summit-spectrum-refit.yaml",
                              "scenario: x\nmachine: m.yaml\ncollective: allreduce\n"
                              "layout: {nodes: 3, procs_per_gpu: 4}\nbytes: 1MiB\n",
                              NULL);
    const pto_sensitivities_t found = sensitivities_of(asked, 0);
    const pto_sensitivity_t *beta = find(&found, "messages.cpu.off_node.rendezvous.beta_s_per_byte");
    assert_non_null(beta);
    assert_true(beta->elasticity <= 0 && beta->becomes >= 0 && beta->factor > 1);
    assert_rows_complete(asked, &found, PTO_SENSITIVITY_FACTOR_MAX);
    assert_rows_complete(asked, &found, 1.0 / PTO_SENSITIVITY_FACTOR_MAX);
}

/* Another algorithm of a strategy than today's may become the cheapest. */
TEST(a_cost_of_another_plan_is_found) {
    asked_t *asked = ask_file("scenarios/machines/dgx-h100.yaml",
                              "scenario: x\nmachine: m.yaml\ncollective: allgather\n"
                              "layout: {nodes: 4}\nbytes: 1024\n",
                              NULL);
    const pto_sensitivities_t found = sensitivities_of(asked, 0);
    const pto_sensitivity_t *alpha = find(&found, "messages.gpu.off_node.eager.alpha_s");
    assert_non_null(alpha);
    assert_true(alpha->becomes >= 0 && alpha->factor < 1);
    assert_rows_complete(asked, &found, 1.0 / PTO_SENSITIVITY_FACTOR_MAX);
}

/* Of GPUs with two owners, `mix` stages some of the blocks in and some out. */
TEST(two_open_numbers_are_searched_as_for_a_pick) {
    int changes = 0;
    asked_t *asked = read_scenario("scenarios/problems/allgather-h200-x2.yaml");
    asked->scenario.layout.owners_per_gpu = 2;
    predict_asked(asked);
    for (int64_t point = 0; point < asked->predictions.point_count; point += 4)
        changes += try_changes(asked, point);
    assert_true(changes > 5);
}

/* Each plan is priced as a whole a few times, however many parameters there are. */
TEST(plans_are_not_priced_for_each_parameter) {
    static const char *const paths[] = {"scenarios/problems/allreduce-summit.yaml",
                                        "scenarios/problems/alltoallv-skewed-summit.yaml"};
    for (size_t t = 0; t < sizeof paths / sizeof *paths; t++) {
        asked_t *asked = read_scenario(paths[t]);
        pto_price_visits = 0;
        predict_asked(asked);
        const int64_t predicted = pto_price_visits / asked->predictions.point_count;
        pto_price_visits = 0;
        assert_true(sensitivities_of(asked, 9).count > 9 && pto_price_visits < 10 * predicted);
    }
}

TEST(where_nothing_applies_nothing_is_sensitive) {
    asked_t *asked = ask(machine_text, scenario_text);
    for (int i = 0; i < asked->predictions.strategy_count; i++)
        asked->predictions.prediction[i].applicable = false;
    pto_sensitivities_t found = sensitivities_of(asked, 0);
    assert_int_equal(found.winner, -1);
    assert_int_equal(found.count, 0);
}
