/* The latency of messages apart from what occupies their ends, and the order in which messages are posted:
 * both by formulas of their own, and as simulated. */
#include "simulated.h"
#include "test.h"

static const double latency_s = 1e-6;
static pto_machine_t machine;
static pto_cost_row_t reduce_row, gap_row[PTO_PROTOCOL_COUNT];

static int read_machine(void **state) {
    read_machines(state);
    machine = unlimited_reducing(&reduce_row);
    const pto_cost_table_t *cost = &machine.messages[PTO_SPACE_CPU][PTO_LEVEL_OFF_NODE];
    for (int i = 0; i < cost->count; i++) {
        gap_row[i] = cost->row[i];
        gap_row[i].postal.alpha_s.value -= latency_s;
    }
    machine.gap[PTO_SPACE_CPU][PTO_LEVEL_OFF_NODE] = (pto_cost_table_t){.count = cost->count, .row = gap_row};
    machine.latency_s[PTO_SPACE_CPU] = (pto_param_t){.value = latency_s, .line = 1};
    return 0;
}

/* --- helpers -------------------------------------------------------------------------------------------- */

static double priced_on(const pto_request_t *request, const pto_machine_t *on) {
    const pto_plan_t *plan = must_plan(request);
    pto_price_t explained;
    must_explain(plan, on, &explained);
    assert_explained(plan, on);
    const double alone_s = must_price(plan, on).seconds;
    assert_near_for(explained.seconds, alone_s, 0, "explained");
    return alone_s;
}

static double priced(const pto_request_t *request) { return priced_on(request, &machine); }

static double without_latency(const pto_request_t *request) {
    pto_machine_t none = machine;
    none.latency_s[PTO_SPACE_CPU] = (pto_param_t){0};
    return priced_on(request, &none);
}

static double message_s(int64_t bytes) {
    return message_cost_s(&machine, PTO_SPACE_CPU, PTO_LEVEL_OFF_NODE, bytes);
}

static double reduce_s(int64_t bytes) {
    return postal_s(pto_machine_reduce(&machine, PTO_SPACE_CPU, bytes), (double)bytes);
}

/* --- latency -------------------------------------------------------------------------------------------- */

/* The root sends the next segment while the one before is still on its way. */
TEST(a_chain_pays_the_latency_once_a_link) {
    const int64_t nodes[] = {2, 3, 8, 17}, segments[] = {1, 2, 7, 64};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        for (size_t s = 0; s < sizeof segments / sizeof *segments; s++) {
            pto_request_t request =
                on_hosts(PTO_COLLECTIVE_BROADCAST, "chain", nodes[i], 1, 448 * segments[s]);
            double rounds = (double)(nodes[i] - 2 + segments[s]), links = (double)(nodes[i] - 1);
            request.chunks = segments[s];
            assert_near_for(priced(&request), rounds * (message_s(448) - latency_s) + links * latency_s, 1e-9,
                            "chain");
            assert_near_for(simulated_s(&request, &machine), priced(&request), 1e-9, "simulated chain");
        }
}

/* A binomial tree: the second of three gets its message when the root has sent the first one's. */
TEST(a_root_sends_its_next_message_one_latency_earlier) {
    pto_request_t request = on_hosts(PTO_COLLECTIVE_BROADCAST, "binomial", 3, 1, 400);
    assert_near_for(priced(&request), 2 * message_s(400) - latency_s, 1e-9, "broadcast");
    assert_near_for(simulated_s(&request, &machine), priced(&request), 1e-9, "simulated broadcast");
    request = on_hosts(PTO_COLLECTIVE_REDUCE, "binomial", 3, 1, 400);
    assert_true(priced(&request) < without_latency(&request) - 0.9 * latency_s);
}

/* The first two fold while the third's message is on its way. */
TEST(a_message_that_has_arrived_is_received_without_its_latency) {
    pto_request_t request = on_hosts(PTO_COLLECTIVE_ALLREDUCE, "recursive_doubling", 3, 1, 400);
    assert_near_for(priced(&request), without_latency(&request) - latency_s, 1e-9, "allreduce");
    assert_near_for(without_latency(&request), 3 * message_s(400) + 2 * reduce_s(400), 0.02,
                    "three messages");
    assert_near_for(simulated_s(&request, &machine), priced(&request), 1e-9, "simulated allreduce");
}

TEST(processes_in_step_pay_it_in_each_round) {
    const struct {
        pto_collective_t collective;
        const char *algorithm;
        int64_t nodes;
    } cases[] = {
        {PTO_COLLECTIVE_ALLREDUCE, "ring", 7},    {PTO_COLLECTIVE_ALLREDUCE, "recursive_doubling", 8},
        {PTO_COLLECTIVE_ALLTOALL, "pairwise", 5}, {PTO_COLLECTIVE_ALLTOALL, "linear", 5},
        {PTO_COLLECTIVE_ALLTOALLV, "linear", 6},  {PTO_COLLECTIVE_ALLTOALLV, "pairwise", 5},
        {PTO_COLLECTIVE_BROADCAST, "linear", 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pto_request_t request = on_hosts(cases[i].collective, cases[i].algorithm, cases[i].nodes, 1, 512);
        assert_near_for(priced(&request), without_latency(&request), 1e-9, cases[i].algorithm);
        assert_near_for(simulated_s(&request, &machine), priced(&request), 0.01, cases[i].algorithm);
    }
}

/* A root that posts all its messages at once is done when the last has arrived. */
TEST(several_messages_of_one_stage_keep_it) {
    pto_request_t request = on_hosts(PTO_COLLECTIVE_SCATTER, "linear", 5, 1, 400);
    assert_near_for(priced(&request), without_latency(&request), 1e-9, "scatter");
}

TEST(a_latency_longer_than_its_message_is_no_gain_of_time) {
    machine.latency_s[PTO_SPACE_CPU].value = 1;
    pto_request_t request = on_hosts(PTO_COLLECTIVE_BROADCAST, "chain", 4, 1, 400);
    assert_true(priced(&request) >= message_s(400));
    machine.latency_s[PTO_SPACE_CPU].value = latency_s;
}

/* By class, a price is an upper bound. */
TEST(many_processes_are_priced_as_without_it) {
    pto_request_t request = on_hosts(PTO_COLLECTIVE_BROADCAST, "binomial", 513, 1, 400);
    assert_near_for(priced(&request), without_latency(&request), 0, "513 nodes");
    request.layout.nodes = 511;
    assert_true(priced(&request) < without_latency(&request));
}

/* --- the order of messages ------------------------------------------------------------------------------ */

/* The last node receives nothing until all others have sent to those before it. */
TEST(a_node_that_is_sent_to_last_waits_for_the_others) {
    pto_machine_t limited = machine;
    limited.latency_s[PTO_SPACE_CPU] = (pto_param_t){0};
    limited.injection_s_per_byte[PTO_SPACE_CPU] = (pto_param_t){.value = 1e-9, .line = 1};
    for (int64_t nodes = 2; nodes <= 9; nodes++) {
        pto_request_t at_once = on_hosts(PTO_COLLECTIVE_ALLTOALLV, "linear", nodes, 1, 1 << 16);
        pto_request_t by_rank = on_hosts(PTO_COLLECTIVE_ALLTOALLV, "linear_by_rank", nodes, 1, 1 << 16);
        double bytes_s = (double)(nodes - 1) * 65536e-9;
        double waits_s = bytes_s * (double)(nodes - 2) / (double)(nodes - 1);
        double linear_s = priced_on(&at_once, &limited);
        assert_near_for(priced_on(&by_rank, &limited), linear_s + waits_s, 1e-9, "by rank");
        assert_near_for(simulated_s(&by_rank, &limited), linear_s + waits_s, 0.25, "simulated by rank");
        assert_true(simulated_s(&by_rank, &limited) >= simulated_s(&at_once, &limited) * (1 - 1e-9));
    }
}

/* With several processes a node, what crosses the network is counted as for `linear`. */
TEST(the_order_changes_no_messages) {
    pto_request_t at_once = ask(PTO_COLLECTIVE_ALLTOALL, "three_step", "linear", 2, 3, 4, 4096);
    pto_request_t by_rank = ask(PTO_COLLECTIVE_ALLTOALL, "three_step", "linear_by_rank", 2, 3, 4, 4096);
    assert_near_for(priced_on(&by_rank, &refit), priced_on(&at_once, &refit), 1e-9, "two nodes");
    at_once.layout.nodes = by_rank.layout.nodes = 3;
    pto_machine_t free_nodes = unlimited(&refit);
    assert_near_for(priced_on(&by_rank, &free_nodes), priced_on(&at_once, &free_nodes), 1e-9, "no limits");
    assert_true(priced_on(&by_rank, &refit) >= priced_on(&at_once, &refit));
}

int main(void) { return run_all_tests(read_machine, NULL); }
