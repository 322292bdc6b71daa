/* Broadcasts of large vectors, and reductions along a chain: their prices by formulas of their own. */
#include "simulated.h"
#include "test.h"

static pto_machine_t machine;
static pto_cost_row_t reduce_row;

static int read_machine(void **state) {
    read_machines(state);
    machine = unlimited_reducing(&reduce_row);
    return 0;
}

/* --- helpers -------------------------------------------------------------------------------------------- */

static double message_s(int64_t bytes) {
    return message_cost_s(&machine, PTO_SPACE_CPU, PTO_LEVEL_OFF_NODE, bytes);
}

static double reduce_s(int64_t bytes) {
    return postal_s(pto_machine_reduce(&machine, PTO_SPACE_CPU, bytes), (double)bytes);
}

static double copy_s(int64_t bytes) {
    return postal_s(&machine.copies[PTO_COPY_H2H][PTO_REACH_ON_SOCKET], (double)bytes);
}

/* --- chains --------------------------------------------------------------------------------------------- */

/* n - 2 + s rounds of a segment, behind the copy of a reduction's input; more or fewer segments than links,
 * in chunks or by `segment_bytes`. */
TEST(a_chain_takes_a_round_for_each_link_and_segment) {
    const int64_t nodes[] = {2, 3, 8, 17, 100}, segments[] = {1, 2, 7, 16, 99, 256};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        for (size_t s = 0; s < sizeof segments / sizeof *segments; s++) {
            pto_request_t request =
                on_hosts(PTO_COLLECTIVE_BROADCAST, "chain", nodes[i], 1, 6400 * segments[s]);
            double rounds = (double)(nodes[i] - 2 + segments[s]);
            request.segment_bytes = 6400;
            assert_near_for(priced_s(&request, &machine), rounds * message_s(6400), 1e-9,
                            "broadcast by segments");
            request.segment_bytes = 0;
            request.chunks = segments[s];
            assert_near_for(priced_s(&request, &machine), rounds * message_s(6400), 1e-9,
                            "broadcast in chunks");
            request.collective = PTO_COLLECTIVE_REDUCE;
            assert_near_for(priced_s(&request, &machine),
                            copy_s(request.bytes) + rounds * (message_s(6400) + reduce_s(6400)), 1e-9,
                            "reduce");
        }
}

/* The library cuts by its own segments only. */
TEST(chunks_are_not_for_the_library) {
    pto_request_t request = on_hosts(PTO_COLLECTIVE_BROADCAST, "chain", 4, 1, 64000);
    request.chunks = 10;
    assert_true(pto_request_may_be_cut(&request));
    request.by_library = true;
    assert_false(pto_request_may_be_cut(&request));
    assert_near_for(priced_s(&request, &machine), 3 * message_s(64000), 1e-9, "the library's");
}

static double link_s(const pto_layout_t *layout, int64_t from, int64_t bytes) {
    return message_cost_s(
        &machine, PTO_SPACE_CPU,
        pto_layout_level(layout, pto_layout_rank(layout, from), pto_layout_rank(layout, from + 1)), bytes);
}

/* The dearest link of each round. */
static double rounds_s(const pto_request_t *request, int64_t segments, int64_t bytes) {
    int64_t links = request->layout.nodes * request->layout.gpus_per_node - 1;
    bool reduces = request->collective == PTO_COLLECTIVE_REDUCE;
    double seconds = reduces && links > 0 ? copy_s(request->bytes) : 0;
    for (int64_t t = 0; links > 0 && t < links + segments - 1; t++) {
        double dearest = 0;
        for (int64_t link = 0; link < links; link++)
            if (t - link >= 0 && t - link < segments)
                dearest = fmax(dearest, link_s(&request->layout, reduces ? links - 1 - link : link, bytes));
        seconds += dearest + (reduces ? reduce_s(bytes) : 0);
    }
    return seconds;
}

/* With several processes a node, only some rounds have links between nodes: those that price repeats must be
 * like those that it leaves out. */
TEST(rounds_that_are_repeated_are_like_the_others) {
    const int64_t segments[] = {1, 3, 5, 8, 40};
    for (int64_t nodes = 1; nodes <= 9; nodes += 2)
        for (int64_t procs = 1; procs <= 6; procs++)
            for (size_t s = 0; s < sizeof segments / sizeof *segments; s++)
                for (int reduce = 0; reduce < 2; reduce++) {
                    pto_request_t request =
                        on_hosts(reduce ? PTO_COLLECTIVE_REDUCE : PTO_COLLECTIVE_BROADCAST, "chain", nodes,
                                 procs, 6400 * segments[s]);
                    request.chunks = segments[s];
                    assert_near_for(priced_s(&request, &machine), rounds_s(&request, segments[s], 6400), 1e-9,
                                    "chain");
                    assert_true(simulated_s(&request, &machine) <= priced_s(&request, &machine) * 1.001);
                }
}

/* --- scatter and allgather ------------------------------------------------------------------------------ */

/* Edges of n/2, n/4 ... parts, n - 1 rounds of one part, and the copy of one. */
TEST(a_scatter_and_an_allgather_take_the_vector_twice) {
    for (int64_t nodes = 2; nodes <= 64; nodes *= 2)
        for (int64_t part = 64; part <= 1 << 20; part *= 32) {
            pto_request_t request =
                on_hosts(PTO_COLLECTIVE_BROADCAST, "scatter_allgather", nodes, 1, nodes * part);
            double expected = (double)(nodes - 1) * message_s(part);
            for (int64_t parts = nodes / 2; parts >= 1; parts /= 2)
                expected += message_s(parts * part);
            if (nodes > 2)
                expected += copy_s(part);
            assert_near_for(priced_s(&request, &machine), expected, 1e-9, "broadcast");
            assert_true(simulated_s(&request, &machine) <= expected * 1.001);
        }
}

/* --- a split binary tree -------------------------------------------------------------------------------- */

/* On 2^(levels + 1) - 1 processes each sends each segment of its half to two children; then halves are
 * swapped. */
TEST(a_split_binary_tree_sends_each_segment_of_a_half_twice) {
    const int64_t segments[] = {2, 8, 64, 100};
    for (int64_t levels = 1; levels <= 6; levels++)
        for (size_t s = 0; s < sizeof segments / sizeof *segments; s++) {
            const int64_t nodes = ((int64_t)2 << levels) - 1, half = segments[s] / 2;
            pto_request_t request =
                on_hosts(PTO_COLLECTIVE_BROADCAST, "split_binary", nodes, 1, 6400 * segments[s]);
            request.segment_bytes = 6400;
            double expected = (double)(half + levels - 1) * 2 * message_s(6400) + message_s(half * 6400);
            assert_near_for(priced_s(&request, &machine), expected, 1e-9, "broadcast");
        }
}

/* Levels have steps of their own, and a process of each node takes part in some of them. With one process a
 * node, none pays for another's. Else the price is that of the dearest first child and the dearest second
 * one, which may be of two levels: at most twice what one process pays. */
TEST(processes_of_a_node_pay_for_one_level_of_the_tree) {
    for (int64_t nodes = 1; nodes <= 9; nodes++)
        for (int64_t procs = 1; procs <= 6; procs++) {
            if (nodes * procs == 1)
                continue;
            pto_request_t request =
                on_hosts(PTO_COLLECTIVE_BROADCAST, "split_binary", nodes, procs, 6400 * 200);
            request.segment_bytes = 6400;
            const double simulated = simulated_s(&request, &machine), price = priced_s(&request, &machine);
            if (procs == 1)
                assert_near_for(simulated, price, 0.01, "simulated");
            assert_true(simulated <= price * 1.001);
            assert_true(price <= 2 * simulated);
        }
}

int main(void) { return run_all_tests(read_machine, NULL); }
