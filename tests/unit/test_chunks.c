/* Staging in chunks: what a pipeline of copies and messages costs, beside closed formulas and simulations. */
#include "lanes_cost.h"
#include "must.h"
#include "plan/plan_internal.h"
#include "plan_request.h"
#include "portolan/check.h"
#include "portolan/pick.h"
#include "test.h"

static pto_request_t message(int64_t bytes, int64_t chunks) {
    pto_request_t request =
        request_for(PTO_COLLECTIVE_MESSAGES, "three_step", "point_to_point", 2, 1, 1, bytes);
    request.by_library = false;
    request.messages = 1;
    request.chunks = chunks;
    return request;
}

static pto_request_t alltoall(int64_t nodes, int64_t gpus, int64_t bytes, int64_t chunks) {
    pto_request_t request =
        request_for(PTO_COLLECTIVE_ALLTOALL, "three_step", "linear", nodes, gpus, 1, bytes);
    request.by_library = false;
    request.chunks = chunks;
    return request;
}

static double in_all_ways(pto_request_t request) {
    const pto_plan_t *plan = must_plan(&request);
    assert_explained(plan, &machine);
    return price_in_all_ways(plan);
}

/* Of counts that differ, the largest block is cut into as many chunks as are asked for, at most one a byte.
 */
TEST(the_largest_block_has_as_many_chunks_as_are_asked_for) {
    static const int64_t wanted[][2] = {{64, 1}, {128, 2}, {4096, 5}}; /* bytes, chunks */
    int64_t number[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    const pto_counts_t counts = {.kind = PTO_COUNTS_MATRIX, .order = 4, .matrix = number};
    for (size_t w = 0; w < sizeof wanted / sizeof *wanted; w++) {
        number[7] = wanted[w][0];
        pto_request_t request = request_for(PTO_COLLECTIVE_ALLTOALLV, "three_step", "linear", 2, 2, 1, 1);
        request.by_library = false;
        request.chunks = 5;
        request.counts = &counts;
        pto_plan_t *plan = must_plan(&request);
        int64_t chunks = 1;
        for (int i = 0; i < pto_plan_node_count(plan); i++)
            if (pto_plan_node(plan, i)->kind == PTO_NODE_PIPELINE)
                chunks = pto_plan_node(plan, i)->to - pto_plan_node(plan, i)->from;
        assert_int_equal(chunks, wanted[w][1]);
    }
}

TEST(one_chunk_is_the_plan_without_chunks) {
    pto_request_t requests[] = {message(100003, 0), alltoall(2, 2, 4096, 0)};
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        pto_plan_t *whole = must_plan(&requests[i]);
        requests[i].chunks = 1;
        pto_plan_t *one = must_plan(&requests[i]);
        assert_true(pto_plan_digest(whole) == pto_plan_digest(one));
        requests[i].chunks = 2;
        pto_plan_t *two = must_plan(&requests[i]);
        assert_true(pto_plan_digest(whole) != pto_plan_digest(two));
    }
}

/* Also where the last chunk is shorter. */
TEST(a_message_costs_its_closed_formula) {
    static const int64_t chunks[] = {1, 2, 3, 7, 8, 64, 1000};
    for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++)
        assert_near(in_all_ways(message(RING_BYTES, chunks[c])), pipelined_s(chunks[c]), 0.01);
}

/* Both ends of a pair are priced process by process: one copies out and sends, the other receives and copies
 * in.
 */
TEST(a_pair_costs_its_closed_formula) {
    static const int64_t chunks[] = {1, 2, 8, 64};
    for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++) {
        pto_request_t request =
            request_for(PTO_COLLECTIVE_PAIR, "three_step", "point_to_point", 2, 1, 1, RING_BYTES);
        request.chunks = chunks[c];
        request.by_library = false;
        assert_near(in_all_ways(request), pipelined_s(chunks[c]), 0.01);
        request.ends.both_ways = true;
        assert_near(in_all_ways(request), pipelined_s(chunks[c]), 0.01);
    }
}

/* Groups of destinations, the last one smaller; all of them alone; and pieces of all blocks. Messages of
 * different cost at once, as with two GPUs a node, wait for each other in ways that a price does not see, in
 * chunks or not. */
TEST(an_alltoall_in_chunks_is_priced_as_simulated) {
    static const int64_t chunks[] = {2, 3, 4, 5, 8, 11, 12, 24, 100};
    for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++) {
        if (chunks[c] < 12)
            in_all_ways(alltoall(6, 2, 1 << 20, chunks[c]));
        in_all_ways(alltoall(12, 1, 100003, chunks[c]));
    }
}

/* Blocks for 11 partners in c groups of up to m. */
TEST(an_alltoall_across_destinations_costs_its_closed_formula) {
    static const int64_t groups[][2] = {{2, 6}, {3, 4}, {4, 3}, {6, 2}, {11, 1}};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        double c = (double)groups[i][0], m = (double)groups[i][1], last = 11 - (c - 1) * m, s = 1 << 20;
        double wanted_s = copy_s_of(m * s) + ((c - 1) * m + last) * send_s_of(s) + copy_s_of(last * s);
        assert_near(in_all_ways(alltoall(12, 1, 1 << 20, groups[i][0])), wanted_s, 0.01);
    }
}

/* Copies slower than the messages follow each other in their streams, where each costs less than its start.
 */
TEST(queued_copies_cost_less_than_their_starts) {
    pto_param_t *queued = machine.queued_copy_s;
    double bytes = RING_BYTES / 64.0;
    machine.messages[PTO_SPACE_CPU][PTO_LEVEL_OFF_NODE].row->postal.beta_s_per_byte.value = 1e-12;
    double without_s = in_all_ways(message(RING_BYTES, 64));
    queued[PTO_COPY_D2H] = queued[PTO_COPY_H2D] = (pto_param_t){.value = 1e-6, .line = 1};
    double with_s = in_all_ways(message(RING_BYTES, 64));
    assert_near(without_s, 65 * (6e-6 + 2e-11 * bytes) + 2e-6, 0.01);
    assert_near(with_s, 2 * (6e-6 + 2e-11 * bytes) + 2e-6 + 63 * (1e-6 + 2e-11 * bytes), 0.01);
    /* Messages that take longer leave gaps: nothing is queued. */
    machine.messages[PTO_SPACE_CPU][PTO_LEVEL_OFF_NODE].row->postal.beta_s_per_byte.value = 8e-11;
    with_s = in_all_ways(message(RING_BYTES, 64));
    queued[PTO_COPY_D2H] = queued[PTO_COPY_H2D] = (pto_param_t){0};
    assert_near(in_all_ways(message(RING_BYTES, 64)), with_s, 1e-9);
    machine.messages[PTO_SPACE_CPU][PTO_LEVEL_OFF_NODE].row->postal.beta_s_per_byte.value = 4e-11;
}

TEST(summits_message_takes_what_its_closed_formula_says) {
    static const struct {
        int64_t bytes;
        int64_t chunks;
        double whole_s;
        double chunked_s;
    } cases[] = {
        {1 << 20, 2, 167e-6, 149e-6}, {16 << 20, 8, 2251e-6, 1601e-6}, {64 << 20, 16, 8920e-6, 6037e-6}};
    pto_machine_t before = machine;
    pto_machine_t summit = must_read("scenarios/machines/summit-spectrum.yaml");
    machine = summit;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_near(in_all_ways(message(cases[i].bytes, 1)), cases[i].whole_s, 0.01);
        assert_near(in_all_ways(message(cases[i].bytes, cases[i].chunks)), cases[i].chunked_s, 0.01);
    }
    machine = before;
}

/* The chunks of a million GPUs are not priced one by one. */
TEST(a_price_in_chunks_does_not_walk_the_nodes) {
    for (int64_t chunks = 2; chunks <= 1 << 20; chunks *= 8) {
        double seconds[2];
        for (int i = 0; i < 2; i++) {
            int64_t nodes = i ? 100000 : 1000;
            const pto_request_t request = alltoall(nodes, 2, 1 << 20, chunks < nodes ? chunks : nodes);
            seconds[i] = priced_s(&request, &machine);
        }
        assert_near(seconds[1], 100 * seconds[0], 0.05);
    }
}

TEST(what_has_loops_or_is_the_librarys_is_not_cut) {
    pto_request_t request = alltoall(2, 2, 4096, 2);
    request.by_library = true;
    assert_string_equal(
        no_plan(&request, PTO_ERR_NOT_APPLICABLE),
        "the MPI library runs the alltoall as a whole, so three_step cannot cut it into chunks");
    request.by_library = false;
    request.algorithm = algorithm_named("bruck", request.collective);
    assert_string_equal(no_plan(&request, PTO_ERR_NOT_APPLICABLE),
                        "bruck has loops, so it cannot run chunk by chunk in a pipeline");
}

/* --- rings through the host ----------------------------------------------------------------------------- */

static pto_request_t ring(pto_collective_t collective, int64_t nodes, int64_t bytes, int64_t chunks) {
    pto_request_t request = request_for(collective, "staged_ring", "direct", nodes, 1, 1, bytes);
    request.datatype = PTO_DATATYPE_FLOAT;
    request.chunks = chunks;
    return request;
}

/* n - 1 rounds of c messages, the first after its copy out; the last chunk's copy in follows the last
 * message.
 */
TEST(a_ring_of_blocks_costs_its_closed_formula) {
    static const int64_t chunks[] = {1, 2, 4, 64};
    for (int64_t n = 2; n <= 12; n += 5)
        for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++) {
            double bytes = (double)RING_BYTES / (double)chunks[c], rounds = (double)((n - 1) * chunks[c]);
            double copy_s = copy_s_of(bytes), send_s = send_s_of(bytes);
            double wanted_s = 2 * copy_s + send_s + (rounds - 1) * fmax(copy_s, send_s);
            assert_near(in_all_ways(ring(PTO_COLLECTIVE_ALLGATHER, n, RING_BYTES, chunks[c])), wanted_s,
                        0.01);
        }
}

/* Two pipelines of n - 1 rounds of c messages each. In the first one, the last chunk is copied out after the
 * last message, since it waits for a slot, and copied in; or the copies of all n c chunks take longer. A
 * reduce-scatter is the first one alone. */
TEST(a_ring_of_partial_sums_costs_its_closed_formula) {
    for (int64_t n = 2; n <= 12; n += 5)
        for (int64_t c = 4; c <= 16; c *= 2) {
            double bytes = RING_BYTES / (double)(n * c), rounds = (double)((n - 1) * c);
            double copy_s = copy_s_of(bytes), send_s = send_s_of(bytes);
            double first_s = copy_s + fmax(rounds * send_s + 2 * copy_s, (double)(n * c) * copy_s);
            double wanted_s = first_s + copy_s + send_s + (rounds - 1) * fmax(send_s, copy_s);
            assert_near(in_all_ways(ring(PTO_COLLECTIVE_ALLREDUCE, n, RING_BYTES, c)), wanted_s, 0.01);
            assert_near(in_all_ways(ring(PTO_COLLECTIVE_REDUCE_SCATTER, n, RING_BYTES / n, c)), first_s,
                        0.01);
        }
}

/* A reduction needs what arrived c chunks before, so no more may be in progress. */
TEST(a_ring_has_no_more_in_progress_than_a_part_has_chunks) {
    for (int64_t c = 1; c <= 6; c++) {
        const pto_request_t request = ring(PTO_COLLECTIVE_ALLREDUCE, 3, 4096, c);
        pto_plan_t *plan = must_plan(&request);
        pto_node_t *first = plan->nodes.item;
        assert_int_equal(first->kind, PTO_NODE_PIPELINE);
        first->depth = c;
        assert_right(plan);
        first->depth = c + 1;
        refused_for(plan, "received");
    }
}

/* Of a million GPUs, rounds are not priced one by one, though shares are unequal. */
TEST(a_ring_among_many_nodes_is_priced_at_once) {
    static const char *const strategy[] = {"staged_ring", "split_ring"};
    for (int s = 0; s < 2; s++) {
        double seconds[2];
        for (int i = 0; i < 2; i++) {
            pto_request_t request = request_for(PTO_COLLECTIVE_ALLGATHER, strategy[s], "direct",
                                                i ? 1000000 : 1000, 1, s ? 3 : 1, 100000);
            request.chunks = 4;
            seconds[i] = priced_s(&request, &machine);
        }
        assert_near(seconds[1], 1000 * seconds[0], 0.01);
    }
}

/* With as many chunks as `chunks` says, or as are cheapest: 0. */
static double ring_price(const pto_machine_t *on, pto_collective_t collective, int64_t bytes,
                         int64_t chunks) {
    pto_plan_t *plan = NULL;
    pto_price_t price = {0};
    pto_scenario_t *scenario = scenario_at(collective, 2, bytes);
    scenario->chunks = chunks;
    scenario->layout =
        (pto_layout_t){.nodes = 2, .gpus_per_node = 2, .owners_per_gpu = 1, .procs_per_gpu = 2};
    must_bind(scenario, on);
    assert_int_equal(
        pto_plan_choose(scenario, on, 0, strategy_named("split_ring"), &plan, &price, NULL, NULL), PTO_OK);
    pto_plan_destroy(plan);
    return price.seconds;
}

TEST(the_search_ends_behind_the_cheapest_number_of_chunks) {
    static const char *const path[] = {"scenarios/machines/summit-spectrum-refit.yaml",
                                       "scenarios/machines/h200-2x2-tcp.yaml"};
    static const pto_collective_t collective[] = {PTO_COLLECTIVE_ALLREDUCE, PTO_COLLECTIVE_ALLGATHER};
    for (int64_t bytes = 16384, i = 0; bytes <= 64 << 20; bytes *= 8, i++) {
        pto_machine_t *on = must_open(path[i % 2]);
        for (size_t c = 0; c < sizeof collective / sizeof *collective; c++) {
            double picked_s = ring_price(on, collective[c], bytes, 0);
            for (int64_t chunks = 1; chunks <= 1024 && chunks * 4096 * 4 <= bytes; chunks *= 2)
                assert_true(picked_s <= ring_price(on, collective[c], bytes, chunks));
        }
    }
}

int main(void) { return run_all_tests(read_machine, NULL); }
