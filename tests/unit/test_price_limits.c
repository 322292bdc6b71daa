/* Plans that pricing refuses because they would take too long, and the error bound of prices by class. */
#include "made_up.h"
#include "must.h"
#include "plan/plan_internal.h"
#include "plan_request.h"
#include "portolan/pick.h"
#include "portolan/simulate.h"
#include "priced.h"
#include "summit.h"
#include "test.h"

/* Counted, not begun: a walk over 1.6 million GPUs a node would not end, nor a sum over their table. */
TEST(what_would_take_too_long_is_refused_before_any_work) {
    pto_counts_t counts = {.kind = PTO_COUNTS_SKEW, .skew = 0.5, .seed = 1};
    pto_machine_t shared = summit; /* messages of both directions, so that they are priced one by one */
    shared.both_ways[PTO_SPACE_CPU] = (pto_param_t){.value = 0.5, .line = 1};
    const struct {
        pto_collective_t collective;
        const char *strategy;
        int64_t nodes, gpus, cores;
        const char *reason;
    } ask[] = {
        {PTO_COLLECTIVE_ALLTOALLV, "three_step", 1000000, 6, 6,
         "at most 65536 ranks; this layout has 36000000"},
        {PTO_COLLECTIVE_ALLTOALLV, "three_step", 65537, 1, 1, "at most 65536 ranks; this layout has 65537"},
        {PTO_COLLECTIVE_ALLTOALLV, "three_step", 65536, 1, 1,
         "for at most 268435456 of them; three_step by "},
        {PTO_COLLECTIVE_ALLTOALLV, "dup_devptr", 1500, 6, 6, "for at most 268435456 of them; dup_devptr by "},
        {PTO_COLLECTIVE_ALLTOALL, "node_aware", 2, 1638400, 1, "in more than 8388608 copies"},
        {PTO_COLLECTIVE_ALLREDUCE, "gas_read", 1, 1638400, 1, "in more than 8388608 copies"},
    };
    for (size_t i = 0; i < sizeof ask / sizeof *ask; i++) {
        bool alltoall = ask[i].collective != PTO_COLLECTIVE_ALLREDUCE;
        pto_request_t request =
            request_for(ask[i].collective, ask[i].strategy, alltoall ? "pairwise" : "direct", ask[i].nodes,
                        ask[i].gpus, ask[i].cores, 64);
        if (ask[i].collective == PTO_COLLECTIVE_ALLTOALLV)
            request.counts = &counts;
        assert_says(no_price(must_plan(&request), &shared, PTO_ERR_TOO_LARGE), ask[i].reason);
    }
}

/* Where messages share nothing, they take a hundredth of the time. */
TEST(a_table_of_65536_processes_is_within_the_limits) {
    pto_counts_t counts = {.kind = PTO_COUNTS_SKEW, .skew = 0.5, .seed = 1};
    pto_request_t request = request_for(PTO_COLLECTIVE_ALLTOALLV, "three_step", "pairwise", 8192, 8, 1, 1024);
    pto_machine_t shared = summit;
    request.counts = &counts;
    shared.both_ways[PTO_SPACE_CPU] = (pto_param_t){.value = 0.5, .line = 1};
    pto_plan_t *plan = must_plan(&request);
    assert_int_equal(pto_price_check_size(plan, NULL), PTO_OK);
    assert_int_equal(pto_price_walk_check_size(plan, &summit, NULL), PTO_OK);
    assert_int_equal(pto_price_walk_check_size(plan, &shared, NULL), PTO_ERR_TOO_LARGE);
}

/* A prediction sums no table before it has counted the messages, and prints the strategies that can be
 * priced.
 */
TEST(a_strategy_that_takes_too_long_is_left_out_of_a_prediction) {
    pto_scenario_t *scenario = scenario_at(PTO_COLLECTIVE_ALLTOALL, 2, 64);
    scenario->library.best = true;
    pto_machine_t fat = summit;
    fat.node.gpus = 65536;
    fat.node.cores = 65536;
    must_bind(scenario, &fat);
    scenario->layout.procs_per_gpu = 1;
    pto_error_t err;
    pto_predictions_t predictions = must_predict(scenario, &fat, false);
    for (int i = 0; i < predictions.strategy_count; i++) {
        const pto_prediction_t *prediction = pto_prediction_at(&predictions, 0, i);
        if (strcmp(predictions.strategy[i]->name, "cuda_aware") == 0)
            assert_true(prediction->applicable);
        if (strcmp(predictions.strategy[i]->name, "node_aware") == 0)
            assert_non_null(strstr(prediction->reason, "priced one by one"));
    }
    scenario->collective = PTO_COLLECTIVE_ALLTOALLV;
    scenario->counts = (pto_counts_t){.kind = PTO_COUNTS_SKEW, .skew = 0.5};
    scenario->nodes.value[0] = 10000;
    assert_int_equal(pto_predict(scenario, &summit, false, &predictions, &err), PTO_ERR_NOT_APPLICABLE);
    assert_says(err.message, "for at most 65536 ranks");
}

/* No rank meets the dearest message in every round where most rounds have nothing to send: the one element
 * travels along the ring, near and far in turn. */
TEST(empty_parts_cost_the_most_expensive_message_of_each_round) {
    const struct {
        const char *strategy;
        int64_t nodes, gpus, cores, bytes;
        double least, most; /* of the price by class, in prices rank by rank */
    } ask[] = {
        {"three_step", 21, 5, 1, 4, 1.90, 1.93},
        {"three_step", 63, 6, 1, 4, 2.18, 2.19},
        {"three_step", 21, 5, 1, 420, 1, 1.001}, /* an element for each process */
    };
    for (size_t i = 0; i < sizeof ask / sizeof *ask; i++) {
        pto_request_t request = request_for(PTO_COLLECTIVE_ALLREDUCE, ask[i].strategy, "ring", ask[i].nodes,
                                            ask[i].gpus, ask[i].cores, ask[i].bytes);
        pto_plan_t *plan = must_plan(&request);
        pto_price_t by_class = must_price(plan, &summit);
        pto_price_t by_rank = must_walk(plan, &summit);
        print_message("%s, %lld B: %.3f\n", ask[i].strategy, (long long)ask[i].bytes,
                      by_class.seconds / by_rank.seconds);
        assert_true(by_class.seconds >= ask[i].least * by_rank.seconds);
        assert_true(by_class.seconds <= ask[i].most * by_rank.seconds);
    }
}

/* Copies of both reaches share a GPU's link, and a far one is charged with all their bytes at its own rate.
 * By simulation the near ones cost next to nothing here: of 7 copies the 4 far ones remain. */
TEST(copies_of_both_reaches_on_one_link_are_priced_as_if_all_were_far) {
    const int64_t gpus = 8, per_socket = 4;
    pto_machine_t machine = completed(&summit);
    pto_postal_t *near = &machine.peer[PTO_REACH_ON_SOCKET], *far = &machine.peer[PTO_REACH_OFF_SOCKET];
    far->alpha_s.value = near->alpha_s.value;
    near->beta_s_per_byte.value = 1e-14;
    far->beta_s_per_byte.value = 1e-9;
    pto_request_t request = request_for(PTO_COLLECTIVE_ALLREDUCE, "gsb", "direct", 1, gpus, 1, 64 << 20);
    request.layout.gpus_per_socket = per_socket;
    pto_plan_t *plan = must_plan(&request);
    pto_price_t price = must_price(plan, &machine);
    pto_simulation_t simulation = must_simulate(plan, &machine);
    double share = (double)(gpus - per_socket) / (double)(gpus - 1);
    print_message("by simulation %.3f of the price\n", simulation.seconds / price.seconds);
    assert_true(simulation.seconds > (share - 0.01) * price.seconds);
    assert_true(simulation.seconds < (share + 0.01) * price.seconds);
}

int main(void) { return run_all_tests(read_summit, NULL); }
