/* Sensitivity: on a synthetic machine with answers computed by hand, and on Summit by trying each change. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "asked.h"
#include "portolan/sensitivity.h"

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

static void predict(asked_t *asked) {
    pto_error_t err = {0};
    if (pto_scenario_bind(&asked->scenario, &asked->machine, &err) != PTO_OK ||
        pto_predict(&asked->scenario, &asked->machine, true, &asked->predictions, &err) != PTO_OK)
        fail_msg("%s", err.message);
}

static const pto_sensitivity_t *find(const pto_sensitivities_t *found, const char *key) {
    for (int i = 0; i < found->count; i++)
        if (strcmp(found->item[i].param.key, key) == 0)
            return &found->item[i];
    return NULL;
}

static void factors_are_those_worked_out_by_hand(void **state) {
    (void)state;
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
    asked_t asked;
    pto_sensitivities_t found;
    ask(&asked, machine_text, scenario_text);
    assert_int_equal(pto_sensitivity(&asked.predictions, &asked.machine, 0, &found, NULL), PTO_OK);
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
    pto_sensitivities_fini(&found);
    drop(&asked);
}

static void the_nearest_comes_first_and_those_without_a_change_last(void **state) {
    (void)state;
    asked_t asked;
    pto_sensitivities_t found;
    ask(&asked, machine_text, scenario_text);
    assert_int_equal(pto_sensitivity(&asked.predictions, &asked.machine, 0, &found, NULL), PTO_OK);
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
    pto_sensitivities_fini(&found);
    drop(&asked);
}

static void the_machine_is_left_as_it_was(void **state) {
    (void)state;
    asked_t asked;
    pto_sensitivities_t found;
    ask(&asked, machine_text, scenario_text);
    pto_machine_t before = asked.machine;
    assert_int_equal(pto_sensitivity(&asked.predictions, &asked.machine, 0, &found, NULL), PTO_OK);
    assert_memory_equal(&before, &asked.machine, sizeof before);
    pto_sensitivities_fini(&found);
    drop(&asked);
}

static int winner_now(const asked_t *asked, int64_t point) {
    pto_predictions_t predictions;
    assert_int_equal(pto_predict(&asked->scenario, &asked->machine, false, &predictions, NULL), PTO_OK);
    int winner = 0;
    for (int i = 1; i < predictions.strategy_count; i++)
        if (pto_prediction_at(&predictions, point, i)->price.seconds <
            pto_prediction_at(&predictions, point, winner)->price.seconds)
            winner = i;
    pto_predictions_fini(&predictions);
    return winner;
}

/* On a machine with protocols, injection limits and several algorithms: just before the factor the pick
 * stands, at the factor it is what was said. */
static void the_pick_changes_at_the_factor_and_not_before(void **state) {
    (void)state;
    asked_t asked = {0};
    pto_error_t err = {0};
    if (pto_scenario_read("scenarios/problems/alltoall-summit.yaml", &asked.scenario, &err) != PTO_OK ||
        pto_machine_read(asked.scenario.machine_path, &asked.machine, &err) != PTO_OK)
        fail_msg("%s", err.message);
    predict(&asked);
    int changes = 0;
    for (int64_t point = 0; point < asked.predictions.point_count; point += 5) {
        pto_sensitivities_t found;
        assert_int_equal(pto_sensitivity(&asked.predictions, &asked.machine, point, &found, NULL), PTO_OK);
        for (int i = 0; i < found.count; i++) {
            const pto_sensitivity_t *item = &found.item[i];
            pto_param_t *param = item->param.param;
            const double value = param->value;
            if (item->becomes < 0)
                continue;
            param->value = value * item->factor;
            assert_int_equal(winner_now(&asked, point), item->becomes);
            param->value = value * pow(item->factor, 0.995);
            assert_int_equal(winner_now(&asked, point), found.winner);
            param->value = value;
            changes++;
        }
        pto_sensitivities_fini(&found);
    }
    assert_true(changes > 10);
    drop(&asked);
}

static void where_nothing_applies_nothing_is_sensitive(void **state) {
    (void)state;
    asked_t asked;
    pto_sensitivities_t found;
    ask(&asked, machine_text, scenario_text);
    for (int i = 0; i < asked.predictions.strategy_count; i++)
        asked.predictions.prediction[i].applicable = false;
    assert_int_equal(pto_sensitivity(&asked.predictions, &asked.machine, 0, &found, NULL), PTO_OK);
    assert_int_equal(found.winner, -1);
    assert_int_equal(found.count, 0);
    pto_sensitivities_fini(&found);
    drop(&asked);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_are_those_worked_out_by_hand),
        cmocka_unit_test(the_nearest_comes_first_and_those_without_a_change_last),
        cmocka_unit_test(the_machine_is_left_as_it_was),
        cmocka_unit_test(the_pick_changes_at_the_factor_and_not_before),
        cmocka_unit_test(where_nothing_applies_nothing_is_sensitive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
