/* Simulated steps: what communicators of a call, and calls at once, take from each other. */
#include "machine/machine_internal.h"
#include "made_step.h"
#include "must.h"
#include "plan/plan_internal.h"
#include "portolan/workload.h"
#include "test.h"

/* Messages and copies in which ranks of one call act alike, so that price and simulation agree. */
#define SIMULATED(step)                                                                                      \
    "workload: w\nlayout: {nodes: 4, gpus_per_node: 6, procs_per_gpu: 1}\ngrid: {far: 4, near: "             \
    "6}\nstep:\n" step

static void end_simulation(void *simulation) { pto_step_simulation_fini(simulation); }

static pto_step_simulation_t simulate_step(const made_t *made) {
    pto_step_simulation_t simulation;
    pto_error_t err = {0};
    assert_ok(pto_step_simulate(&made->step, &made->machine, NULL, NULL, &simulation, &err), &err);
    keep_owned(&simulation, sizeof simulation, end_simulation);
    return simulation;
}

static double simulated(const char *text) {
    return simulate_step(predict_step(SUMMIT, text)).communication_s;
}

/* Which is as long as predicted, too. */
static double simulated_as_predicted(const char *text) {
    const made_t *made = predict_step(SUMMIT, text);
    const pto_step_simulation_t simulation = simulate_step(made);
    double seconds = simulation.communication_s, last_s = 0;
    assert_near(seconds, made->step.mix.communication_s, 0.02);
    for (int i = 0; i < made->step.workload->call_count; i++)
        last_s = fmax(last_s, simulation.call_s[i]);
    assert_near_for(last_s, seconds, 1e-12, "calls of one entry end with the last of them");
    return seconds;
}

#define OF_FAR "on: far, collective: alltoall, library: linear, strategies: [three_step], bytes: 256KiB"
#define OF_NEAR "on: near, collective: alltoall, library: linear, strategies: [three_step], bytes: 256KiB"

TEST(communicators_of_a_call_share_the_nics_of_their_nodes) {
    double both_s = simulated_as_predicted(SIMULATED("  - {" OF_FAR "}\n"));
    double one_s = simulated_as_predicted(
        "workload: w\nlayout: {nodes: 4, gpus_per_node: 1, procs_per_gpu: 1}\nstep:\n"
        "  - {collective: alltoall, library: linear, strategies: [three_step], bytes: 256KiB}\n");
    assert_true(both_s > 1.2 * one_s);
}

TEST(a_call_of_the_world_is_simulated_as_a_scenario) {
    pto_scenario_t scenario;
    pto_predictions_t predictions;
    pto_simulation_t *simulation;
    pto_error_t err = {0};
    const char text[] = "scenario: x\nmachine: x\ncollective: alltoall\nlayout: {nodes: 4, gpus_per_node: 6, "
                        "procs_per_gpu: 1}\n"
                        "bytes: 64KiB\nlibrary: linear\nstrategies: [three_step]\n";
    assert_int_equal(pto_scenario_parse(text, sizeof text - 1, "s.yaml", &scenario, &err), PTO_OK);
    pto_machine_t machine = must_read(SUMMIT);
    assert_int_equal(pto_scenario_bind(&scenario, &machine, &err), PTO_OK);
    assert_int_equal(pto_simulate_scenario(&scenario, &machine, NULL, &predictions, &simulation, &err),
                     PTO_OK);
    double seconds = simulated(
        SIMULATED("  - {collective: alltoall, library: linear, strategies: [three_step], bytes: 64KiB}\n"));
    assert_true(seconds == simulation[0].seconds);
    free(simulation);
    pto_predictions_fini(&predictions);
    pto_scenario_fini(&scenario);
}

/* Pairs of processes n apart, two processes a node, and a message each way. With n = 4, nodes 0 and 2 have
 * two pairs, and the others none in common with them. With n = 5, node 0 has pairs with nodes 2 and 3; node 3
 * has one with node 1, and that one has one with node 4: all are linked, through others. */
#define PAIRS(nodes, n)                                                                                      \
    "workload: w\nlayout: {nodes: " nodes ", gpus_per_node: 2, procs_per_gpu: 1}\ngrid: {far: 2, near: " n   \
    "}\nstep:\n  - {on: far, collective: alltoall, library: linear, strategies: [three_step], bytes: "       \
    "4KiB}\n"

TEST(communicators_that_are_linked_through_others_are_simulated) {
    assert_int_equal(simulate_step(predict_step(SUMMIT, PAIRS("4", "4"))).messages, 2 * 2);
    assert_int_equal(simulate_step(predict_step(SUMMIT, PAIRS("5", "5"))).messages, 2 * 5);
}

TEST(calls_at_once_take_at_least_the_longest_and_at_most_their_sum) {
    double far_s = simulated(SIMULATED("  - {" OF_FAR "}\n"));
    double near_s = simulated(SIMULATED("  - {" OF_NEAR "}\n"));
    pto_step_simulation_t both = simulate_step(
        predict_step(SUMMIT, SIMULATED("  - at_once:\n    - {" OF_FAR "}\n    - {" OF_NEAR "}\n")));
    double both_s = both.communication_s;
    assert_true(both_s >= far_s && both_s <= 1.0001 * (far_s + near_s));
    assert_true(both_s > 1.02 * far_s); /* they share the processes' copies and messages */
    assert_true(both.call_s[1] > near_s && both.call_s[1] <= both_s);
}

TEST(a_call_that_is_repeated_at_once_takes_as_long_as_its_repetitions) {
    double once_s = simulated(SIMULATED("  - {" OF_NEAR "}\n"));
    double four_s = simulated(SIMULATED("  - at_once:\n    - {" OF_NEAR ", times: 4}\n"
                                        "    - {on: near, collective: broadcast, library: binomial, "
                                        "strategies: [three_step], bytes: 4}\n"));
    assert_true(four_s > 3.5 * once_s && four_s < 4.5 * once_s); /* each rank goes on when it has ended */
    double scaled_s = simulated(SIMULATED("  - {" OF_NEAR ", times: 400}\n"));
    assert_near(scaled_s, 400 * once_s, 1e-6);
}

/* Of the first call of a step. */
static pto_plan_t *chosen(const made_t *made) {
    pto_plan_t *plan;
    pto_price_t price;
    pto_error_t err = {0};
    assert_ok(pto_plan_choose(&made->workload.call[0].scenario, &made->machine, 0,
                              strategy_named("three_step"), &plan, &price, NULL, &err),
              &err);
    return keep(plan, end_plan);
}

static pto_error_t err;

static pto_status_t at_once(const made_t *made, const pto_simulate_call_t *call, int count) {
    pto_simulation_t simulation;
    return pto_simulate_at_once(&made->workload.layout, call, count, &made->machine, NULL, &simulation, NULL,
                                &err);
}

TEST(ranks_outside_of_communicators_are_refused) {
    const int64_t twice[] = {0, 2, 4, 6, 0, 2, 4, 6}, some[] = {0, 2, 4, 6};
    made_t *made = predict_step(SUMMIT, SIMULATED("  - {" OF_FAR "}\n"));
    pto_simulate_call_t call = {.plan = chosen(made), .communicators = 2, .rank = twice};
    assert_int_equal(at_once(made, &call, 1), PTO_ERR_RANGE);
    call.communicators = 1;
    call.rank = some;
    assert_int_equal(at_once(made, &call, 1), PTO_ERR_RANGE);
}

TEST(a_call_repeats_only_the_communicators_before_it) {
    int64_t rank[24], swapped[24];
    made_t *made = predict_step(SUMMIT, SIMULATED("  - {" OF_FAR "}\n"));
    for (int i = 0; i < 24; i++) { /* the ranks of the same GPU number of each node are a communicator */
        rank[i] = i % 4 * 6 + i / 4;
        swapped[i] = i % 4 * 6 + 5 - i / 4;
    }
    pto_simulate_call_t call[2] = {{.plan = chosen(made), .communicators = 6, .rank = rank}};
    call[1] = call[0];
    call[1].repeats = true;
    assert_ok(at_once(made, call, 2), &err);
    call[1].rank = swapped;
    assert_int_equal(at_once(made, call, 2), PTO_ERR_RANGE);
    call[0].communicators = 5;
    assert_int_equal(at_once(made, call, 2), PTO_ERR_RANGE);
    assert_int_equal(at_once(made, call + 1, 1), PTO_ERR_RANGE);
    assert_string_equal(err.message, "call 0 does not repeat the call before it");
}

TEST(calls_that_were_left_out_of_the_prediction_are_not_simulated) {
    pto_error_t left_out[2] = {0};
    double alone_s = simulated(SIMULATED("  - {" OF_NEAR "}\n"));
    made_t *made = read_step(SUMMIT, SIMULATED("  - {" OF_NEAR "}\n  - {" OF_FAR "}\n"));
    pto_error_set(&left_out[1], PTO_ERR_RANGE, "wrong before");
    assert_int_equal(pto_step_predict_some(&made->workload, &made->machine, left_out, &made->step, &err),
                     PTO_OK);
    pto_step_simulation_t simulation = simulate_step(made);
    assert_true(simulation.communication_s == alone_s);
    assert_true(simulation.call_s[1] == 0);
}
