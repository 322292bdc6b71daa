/* The hierarchical allreduce: what it sends, what it costs, and that it keeps calls apart. */
#include "broken_plan.h"
#include "plan_request.h"
#include "simulated.h"
#include "test.h"

static pto_machine_t machine;
static const double flag_s = 2e-7, reduce_s_per_byte = 4e-10, copy_s_per_byte = 1e-11;

static int read_machine(void **state) {
    static pto_cost_row_t reduce = {.below_bytes = INT64_MAX};
    read_machines(state);
    machine = unlimited(&summit);
    reduce.postal = machine.copies[PTO_COPY_H2D][PTO_REACH_ON_SOCKET];
    reduce.postal.alpha_s.value = 0;
    machine.copies[PTO_COPY_H2H][PTO_REACH_ON_SOCKET] = reduce.postal;
    machine.copies[PTO_COPY_H2H][PTO_REACH_ON_SOCKET].beta_s_per_byte.value = copy_s_per_byte;
    reduce.postal.beta_s_per_byte.value = reduce_s_per_byte;
    machine.reduce[PTO_SPACE_CPU] = (pto_cost_table_t){.count = 1, .row = &reduce};
    machine.signal_s.value = flag_s;
    return 0;
}

static pto_request_t ask_for(int64_t nodes, int64_t gpus, int64_t bytes, int64_t segment_bytes) {
    pto_request_t request =
        request_for(PTO_COLLECTIVE_ALLREDUCE, "three_step", "hierarchical", nodes, gpus, 1, bytes);
    request.layout.gpus_per_socket = gpus;
    request.segment_bytes = segment_bytes;
    return request;
}

/* Messages and their bytes: one per leader and round. */
TEST(one_message_a_node_and_round) {
    pto_request_t request = ask_for(8, 6, 1200, 0);
    pto_plan_t *plan = must_plan(&request);
    assert_int_equal(pto_plan_size(plan).messages, 8 * 3);
}

/* The parts of a node's vectors, then log2 n whole vectors (docs/model.md). */
TEST(it_costs_parts_and_log_n_vectors) {
    for (int64_t nodes = 1; nodes <= 16; nodes *= 2)
        for (int64_t gpus = 2; gpus <= 6; gpus += 2) {
            double bytes = 1200000, m = (double)gpus, rounds = log2((double)nodes);
            pto_request_t request = ask_for(nodes, gpus, 1200000, 0);
            pto_plan_t *plan = must_plan(&request);
            double expected_s =
                postal_s(&machine.copies[PTO_COPY_D2H][PTO_REACH_ON_SOCKET], bytes) + (m - 1) * flag_s +
                reduce_s_per_byte * bytes * ((m - 1) / m + rounds) + (m - 1) * flag_s +
                rounds *
                    postal_s(
                        &pto_machine_message(&machine, PTO_SPACE_CPU, PTO_LEVEL_OFF_NODE, 1200000)->postal,
                        bytes) +
                flag_s + copy_s_per_byte * bytes + (m - 1) * flag_s +
                postal_s(&machine.copies[PTO_COPY_H2D][PTO_REACH_ON_SOCKET], bytes);
            assert_near_for(must_price(plan, &machine).seconds, expected_s, 0.01, "hierarchical");
        }
}

/* In segments, messages and copies travel while processes reduce. */
TEST(segments_hide_messages_behind_reductions) {
    const double bytes = 64e6, m = 6, rounds = 3;
    pto_request_t request = ask_for(8, 6, 64000000, 256000);
    pto_plan_t *plan = must_plan(&request);
    pto_price_t price = must_price(plan, &machine);
    double copies_s = postal_s(&machine.copies[PTO_COPY_D2H][PTO_REACH_ON_SOCKET], bytes) +
                      postal_s(&machine.copies[PTO_COPY_H2D][PTO_REACH_ON_SOCKET], bytes);
    assert_near_for(price.seconds - copies_s, reduce_s_per_byte * bytes * ((m - 1) / m + rounds), 0.02,
                    "in segments");
    assert_near_for(must_simulate(plan, &machine).seconds, price.seconds, 0.05, "simulated");
}

/* Without the last flag, the leader's memory could be written while others still copy from it. */
TEST(a_leader_that_does_not_wait_is_refused) {
    pto_request_t request = ask_for(2, 3, 1200, 400);
    pto_plan_t *plan = must_plan(&request);
    for (int i = 0; i < plan->steps.count; i++) {
        pto_step_t *step = (pto_step_t *)plan->steps.item + i;
        if (pto_step_is_signal(step) && step->flag == plan->flags.count - 1)
            step->core_count = 0;
    }
    refused_for(plan, "unordered with");
}

int main(void) { return run_all_tests(read_machine, NULL); }
