/* Hierarchical alltoall(v) and allgather: what crosses between nodes, what keeps runs apart, and prices that
 * equal the closed formulas of their steps (docs/model.md, 'Between nodes'). */
#include "broken_plan.h"
#include "machine/machine_internal.h"
#include "must.h"
#include "portolan/pick.h"
#include "portolan/price.h"
#include "portolan/simulate.h"
#include "portolan/strategy.h"
#include "priced.h"
#include "test.h"

static pto_request_t ask(const char *strategy, const char *algorithm, pto_layout_t layout) {
    pto_request_t request = {
        .layout = layout, .collective = PTO_COLLECTIVE_ALLTOALL, .datatype = PTO_DATATYPE_BYTE, .bytes = 100};
    carry_out_by(&request, strategy, algorithm);
    return request;
}

static pto_request_t ask_gathering(const char *strategy, pto_layout_t layout) {
    pto_request_t request = ask(strategy, "bruck", layout);
    request.collective = PTO_COLLECTIVE_ALLGATHER;
    assert_int_equal(pto_algorithm_find("ring", request.collective, &request.algorithm, NULL), PTO_OK);
    return request;
}

/* --- what the plans do ---------------------------------------------------------------------------------- */

/* Messages that a rank sends, and their bytes; each goes to another node. */
static int64_t sent(const pto_plan_t *plan, int64_t rank, int64_t *bytes) {
    const pto_layout_t *layout = &plan->request.layout;
    int64_t messages = 0;
    *bytes = 0;
    pto_walk_t walk;
    pto_walk_begin(&walk, plan);
    while (pto_walk_next(&walk))
        for (int i = 0; i < walk.stage->step_count; i++) {
            const pto_step_t *step = pto_plan_step(plan, walk.stage->step_first + i);
            pto_action_t action;
            if (step->kind != PTO_STEP_SEND || !pto_step_acts(plan, step, rank, walk.k, &action))
                continue;
            for (int64_t j = 0; j < pto_step_peer_count(plan, &action); j++)
                if (pto_step_peer(plan, j, &action)) {
                    assert_int_not_equal(pto_layout_rank(layout, rank).node,
                                         pto_layout_rank(layout, action.peer_rank).node);
                    messages++;
                    *bytes += pto_slice_bytes(plan, &step->source, &action);
                }
        }
    return messages;
}

/* Three nodes of two GPUs, each with two owners and a helper: four owners a node. */
TEST(few_messages_leave_a_node_and_each_is_large) {
    pto_request_t request = ask("node_leaders", "pairwise", (pto_layout_t){3, 2, 2, 3, 2, false});
    int64_t bytes;
    pto_plan_t *plan = must_plan(&request);
    for (int64_t rank = 0; rank < 18; rank++) {
        assert_int_equal(sent(plan, rank, &bytes), rank % 6 == 0 ? 2 : 0);
        assert_int_equal(bytes, rank % 6 == 0 ? 2 * 16 * 100 : 0);
    }
    request = ask("node_aware", "linear", (pto_layout_t){3, 2, 2, 3, 2, false});
    plan = must_plan(&request);
    for (int64_t rank = 0; rank < 18; rank++) {
        assert_int_equal(sent(plan, rank, &bytes), rank % 3 < 2 ? 2 : 0);
        assert_int_equal(bytes, rank % 3 < 2 ? 2 * 4 * 100 : 0);
    }
}

TEST(the_arguments_of_a_library_call_come_from_its_node) {
    pto_request_t request = ask("node_leaders", "pairwise", (pto_layout_t){3, 2, 2, 3, 2, false});
    assert_int_equal(pto_request_call(&request).bytes, 16 * 100);
    assert_int_equal(pto_request_call(&request).procs, 3);
    request = ask("node_aware", "pairwise", (pto_layout_t){3, 2, 2, 3, 2, false});
    assert_int_equal(pto_request_call(&request).bytes, 4 * 100);
    assert_int_equal(pto_request_call(&request).procs, 3);
}

/* Two nodes of two owners; owner i sends owner j 10 i + j bytes, and owner 3 nothing. */
static const int64_t uneven[16] = {0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23, 0, 0, 0, 0};

static pto_request_t ask_uneven(const char *strategy, const pto_counts_t *counts) {
    pto_request_t request = ask(strategy, "pairwise", (pto_layout_t){2, 2, 1, 2, 2, false});
    request.collective = PTO_COLLECTIVE_ALLTOALLV;
    request.counts = counts;
    return request;
}

TEST(buffers_fit_what_their_ranks_send) {
    int64_t matrix[16];
    memcpy(matrix, uneven, sizeof matrix);
    pto_counts_t counts = {.kind = PTO_COUNTS_MATRIX, .matrix = matrix, .order = 4};
    pto_request_t request = ask_uneven("node_leaders", &counts);
    pto_plan_t *plan = must_plan(&request);
    int gathered = buffer_named(plan, "gathered"), arrived = buffer_named(plan, "arrived");
    static const int64_t sent_by_node[] = {0 + 1 + 2 + 3 + 10 + 11 + 12 + 13, 20 + 21 + 22 + 23},
                         sent_to_node[] = {0 + 1 + 10 + 11 + 20 + 21, 2 + 3 + 12 + 13 + 22 + 23};
    for (int64_t node = 0; node < 2; node++) {
        assert_int_equal(pto_buffer_bytes(plan, gathered, 4 * node), sent_by_node[node]);
        assert_int_equal(pto_buffer_bytes(plan, arrived, 4 * node), sent_to_node[node]);
        assert_int_equal(pto_buffer_bytes(plan, gathered, 4 * node + 2), 0);
    }
    request = ask_uneven("node_aware", &counts);
    plan = must_plan(&request);
    int handed = buffer_named(plan, "handed over");
    static const int64_t of_place[] = {0 + 10 + 2 + 12, 1 + 11 + 3 + 13, 20 + 0 + 22 + 0, 21 + 0 + 23 + 0};
    for (int64_t owner = 0; owner < 4; owner++) {
        assert_int_equal(pto_buffer_bytes(plan, handed, 2 * owner), of_place[owner]);
        assert_int_equal(pto_buffer_bytes(plan, handed, 2 * owner + 1), 0); /* a helper */
    }
}

typedef struct {
    int64_t range[8][2];
    int count;
} ranges_t;

static bool note(void *context, int64_t offset_bytes, int64_t bytes) {
    ranges_t *ranges = context;
    assert_true(ranges->count < 8);
    ranges->range[ranges->count][0] = offset_bytes;
    ranges->range[ranges->count++][1] = bytes;
    return true;
}

/* Bundles of two among six blocks: from the second on, and round the end of the buffer. */
TEST(bundles_are_blocks_that_follow_each_other) {
    pto_request_t request = ask("node_aware", "pairwise", (pto_layout_t){3, 2, 1, 1, 2, false});
    pto_plan_t *plan = must_plan(&request);
    const pto_expr_t one = {.constant = 1}, two = {.constant = 2};
    pto_slice_t slice = {.buffer = 0, .offset = one, .run = one, .stride = one, .until = two, .bundle = 2};
    pto_action_t action = {.rank = 0};
    ranges_t ranges = {.count = 0};
    pto_slice_visit(plan, &slice, &action, note, &ranges);
    assert_int_equal(ranges.count, 1);
    assert_int_equal(ranges.range[0][0], 200);
    assert_int_equal(ranges.range[0][1], 400);
    ranges.count = 0;
    slice.offset = two;
    pto_slice_visit(plan, &slice, &action, note, &ranges);
    assert_int_equal(ranges.count, 2);
    assert_int_equal(ranges.range[0][0], 400);
    assert_int_equal(ranges.range[1][0], 0);
    assert_int_equal(pto_slice_bytes(plan, &slice, &action), 400);
}

/* --- what is found wrong -------------------------------------------------------------------------------- */

TEST(every_flag_is_needed) {
    const pto_layout_t layout = {2, 2, 1, 1, 2, false};
    static const struct {
        const char *strategy;
        const char *flag;
        const char *cause;
        bool gathers;
    } cases[] = {
        {"node_leaders", "gathered", "reads bytes 100..199 of 'gathered' of rank 0, unordered", true},
        {"node_leaders", "complete", "of 'arrived' of rank 0, unordered with rank 0's write", true},
        {"node_aware", "buffers free",
         "second run: writes bytes 0..99 of 'arrived' of rank 0, unordered with rank 1's read", true},
        {"node_aware", "all arrived", "of 'arrived' of rank 1, unordered with rank 1's write", true},
        {"node_leaders", "gathered", "reads bytes 200..399 of 'gathered' of rank 0, unordered", false},
        {"node_leaders", "complete", "of 'arrived' of rank 0, unordered with rank 0's write", false},
        {"node_aware", "buffers free",
         "second run: writes bytes 0..99 of 'handed over' of rank 1, unordered with rank 1's read", false},
        {"node_aware", "all handed over", "of 'handed over' of rank 0, unordered with rank 1's write",
         false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pto_request_t request = cases[i].gathers ? ask_gathering(cases[i].strategy, layout)
                                                 : ask(cases[i].strategy, "pairwise", layout);
        pto_plan_t *plan = must_plan(&request);
        drop_flag(plan, cases[i].flag);
        refused_for(plan, cases[i].cause);
    }
}

TEST(bundles_that_do_not_fit_are_refused) {
    pto_request_t request = ask("node_leaders", "pairwise", (pto_layout_t){2, 2, 1, 1, 2, false});
    pto_plan_t *plan = must_plan(&request);
    step_in(plan, "round", PTO_STEP_SEND)->source.bundle = 3;
    refused_for(plan, "a slice of 'gathered' has bundles of 3 blocks that don't fit");
    plan = must_plan(&request);
    step_in(plan, "round", PTO_STEP_SEND)->source.bundle = -1;
    refused_for(plan, "a slice of 'gathered' has bundles of -1 blocks");
    plan = must_plan(&request);
    step_in(plan, "gather", PTO_STEP_COPY)->target.bundle = 8;
    refused_for(plan, "a slice of 'gathered' names 2 blocks of 1");
}

static void proved(const pto_request_t *request) {
    pto_error_t err = {0};
    pto_check_report_t report;
    pto_plan_t *plan = must_plan(request);
    if (pto_check(plan, &report, &err) != PTO_OK)
        fail_msg("%s by %s: %s", request->strategy->name, request->algorithm->name, err.message);
}

/* A library that copies GPU buffers to memory of its own does so with bundles, equal or not. */
TEST(bundles_go_through_a_library_that_stages) {
    static const char *const strategy[] = {"node_leaders", "node_aware"};
    static const char *const algorithm[] = {"pairwise", "linear", "pairwise_in_place", "bruck"};
    int64_t matrix[16];
    memcpy(matrix, uneven, sizeof matrix);
    pto_counts_t counts = {.kind = PTO_COUNTS_MATRIX, .matrix = matrix, .order = 4};
    for (int s = 0; s < 2; s++)
        for (int a = 0; a < 4; a++) {
            pto_request_t request = ask(strategy[s], algorithm[a], (pto_layout_t){3, 2, 2, 3, 2, false});
            request.by_library = request.staged = true;
            proved(&request);
            request.layout = (pto_layout_t){2, 2, 1, 2, 2, false};
            request.collective = PTO_COLLECTIVE_ALLTOALLV;
            request.counts = &counts;
            if (pto_strategy_with(request.strategy, request.algorithm) & 1u << request.collective)
                proved(&request);
        }
}

static void refused_because(const char *strategy, pto_layout_t layout, const char *reason) {
    pto_request_t request = ask(strategy, "pairwise", layout);
    assert_string_equal(no_plan(&request, PTO_ERR_NOT_APPLICABLE), reason);
}

TEST(what_does_not_apply_says_why) {
    const pto_layout_t one_each = {8, 1, 1, 4, 1, false}, one_node = {1, 4, 1, 1, 4, false};
    refused_because("node_leaders", one_each,
                    "node_leaders combines what the processes of a node send, and each node has only one "
                    "that holds data");
    refused_because("staged_aware", one_each,
                    "staged_aware combines what the processes of a node send, and each node has only one "
                    "that holds data");
    refused_because("staged_leaders", one_node,
                    "staged_leaders copies off-node data to the host, and there is only one node");
}

/* --- prices --------------------------------------------------------------------------------------------- */

/* Made up: copies between GPUs 2 us and 1 ns a byte, within one 1 us and 0.1 ns, to the host 6 us and 0.4 ns,
 * from it 5 us and 0.5 ns, messages between nodes 7 us and 3 ns from GPUs, 4 us and 2 ns from hosts, flags
 * 0.5 us. */
static const char machine_text[] =
    "machine: simple\n"
    "source: made up\n"
    "node: {sockets: 2, gpus: 8, cores: 64}\n"
    "messages:\n"
    "  cpu:\n"
    "    on_socket: [{protocol: eager, alpha_s: 3.0e-6, beta_s_per_byte: 1.0e-9}]\n"
    "    off_node: [{protocol: eager, alpha_s: 4.0e-6, beta_s_per_byte: 2.0e-9}]\n"
    "  gpu:\n"
    "    on_socket: [{protocol: eager, alpha_s: 9.0e-6, beta_s_per_byte: 2.0e-9}]\n"
    "    off_node: [{protocol: eager, alpha_s: 7.0e-6, beta_s_per_byte: 3.0e-9}]\n"
    "copies:\n"
    "  d2d: {on_socket: {alpha_s: 1.0e-6, beta_s_per_byte: 1.0e-10}}\n"
    "  d2h: {on_socket: {alpha_s: 6.0e-6, beta_s_per_byte: 4.0e-10}}\n"
    "  h2d: {on_socket: {alpha_s: 5.0e-6, beta_s_per_byte: 5.0e-10}}\n"
    "peer:\n"
    "  on_socket: {alpha_s: 2.0e-6, beta_s_per_byte: 1.0e-9}\n"
    "signals: {flag_s: 5.0e-7}\n";

static const double within_s = 1e-6, within_s_per_byte = 1e-10, peer_s = 2e-6, peer_s_per_byte = 1e-9,
                    message_s = 7e-6, message_s_per_byte = 3e-9, flag_s = 5e-7, staging_s = 6e-6 + 5e-6,
                    staging_s_per_byte = 4e-10 + 5e-10, host_message_s = 4e-6, host_message_s_per_byte = 2e-9;

static pto_machine_t machine;

static int read_machine(void **state) {
    machine = must_parse(machine_text);
    return 0;
}

/* By class or, with tables, by rank; rank by rank; and simulated. */
static void costs(const pto_request_t *request, double wanted_s) {
    assert_costs(must_plan(request), &machine, wanted_s);
}

/* Copies within host memory have no price on this machine. Into the leader's GPU and out of it everything
 * passes one link; nodes exchange m^2 blocks in N - 1 rounds.
 */
TEST(leaders_cost_their_link_twice_and_few_rounds) {
    const double s = 100;
    for (int64_t nodes = 1; nodes < 6; nodes++)
        for (int64_t gpus = 2; gpus < 5; gpus++) {
            pto_request_t request =
                ask("node_leaders", "pairwise", (pto_layout_t){nodes, gpus, 1, 1, 4, false});
            double n = (double)nodes, m = (double)gpus;
            double link_s = peer_s + (m - 1) * n * m * s * peer_s_per_byte;
            double bundle = m * m * s;
            costs(&request, link_s + flag_s + (within_s + bundle * within_s_per_byte) +
                                (n - 1) * (message_s + bundle * message_s_per_byte) + flag_s + link_s);
            if (nodes == 1)
                continue;
            request = ask("staged_leaders", "pairwise", request.layout);
            costs(&request, link_s + flag_s + (staging_s + n * bundle * staging_s_per_byte) +
                                (n - 1) * (host_message_s + bundle * host_message_s_per_byte) + flag_s +
                                link_s);
        }
}

/* All send at once, m blocks in each of N - 1 rounds, after m - 1 rounds of N blocks within the node. */
TEST(counterparts_cost_a_transpose_and_few_rounds) {
    const double s = 100;
    for (int64_t nodes = 1; nodes < 6; nodes++)
        for (int64_t gpus = 2; gpus < 5; gpus++) {
            pto_request_t request =
                ask("node_aware", "pairwise", (pto_layout_t){nodes, gpus, 1, 1, 4, false});
            double n = (double)nodes, m = (double)gpus;
            double transpose_s = flag_s + (within_s + n * s * within_s_per_byte) +
                                 (m - 1) * (peer_s + n * s * peer_s_per_byte) + flag_s;
            costs(&request, transpose_s + (within_s + m * s * within_s_per_byte) +
                                (n - 1) * (message_s + m * s * message_s_per_byte));
            if (nodes == 1)
                continue;
            request = ask("staged_aware", "pairwise", request.layout);
            costs(&request, transpose_s + (staging_s + n * m * s * staging_s_per_byte) +
                                (n - 1) * (host_message_s + m * s * host_message_s_per_byte));
        }
}

/* The m blocks of each node go around a ring of N leaders, or one block around each ring of counterparts;
 * then all copy all blocks from the leader, or N from each of the others. */
TEST(gathering_costs_its_link_and_few_rounds) {
    const double s = 100;
    for (int64_t nodes = 2; nodes < 6; nodes++)
        for (int64_t gpus = 2; gpus < 5; gpus++) {
            const pto_layout_t layout = {nodes, gpus, 1, 1, 4, false};
            double n = (double)nodes, m = (double)gpus;
            double in_s = peer_s + (m - 1) * s * peer_s_per_byte + flag_s;
            double out_s = flag_s + peer_s + (m - 1) * n * m * s * peer_s_per_byte;
            pto_request_t request = ask_gathering("node_leaders", layout);
            costs(&request, in_s + (within_s + m * s * within_s_per_byte) +
                                (n - 1) * (message_s + m * s * message_s_per_byte) + out_s);
            request = ask_gathering("staged_leaders", layout);
            costs(&request, in_s + (staging_s + m * s * 4e-10 + n * m * s * 5e-10) +
                                (n - 1) * (host_message_s + m * s * host_message_s_per_byte) + out_s);
            out_s = flag_s + (within_s + n * s * within_s_per_byte) +
                    (m - 1) * (peer_s + n * s * peer_s_per_byte);
            request = ask_gathering("node_aware", layout);
            costs(&request, flag_s + (within_s + s * within_s_per_byte) +
                                (n - 1) * (message_s + s * message_s_per_byte) + out_s);
            request = ask_gathering("staged_aware", layout);
            costs(&request, flag_s + (staging_s + s * 4e-10 + n * s * 5e-10) +
                                (n - 1) * (host_message_s + s * host_message_s_per_byte) + out_s);
        }
}

/* One owner sends 50 bytes to the last one of the other node; the empty messages of the round cost less. */
TEST(uneven_counts_cost_what_they_move) {
    const double s = 50;
    int64_t matrix[16] = {0, 0, 0, 50};
    pto_counts_t counts = {.kind = PTO_COUNTS_MATRIX, .matrix = matrix, .order = 4};
    double message = message_s + s * message_s_per_byte, peer = peer_s + s * peer_s_per_byte;
    pto_request_t request = ask_uneven("node_leaders", &counts);
    costs(&request, (within_s + s * within_s_per_byte) + flag_s + message + flag_s + peer);
    request = ask_uneven("node_aware", &counts);
    costs(&request, flag_s + peer + flag_s + message);
    /* From the second owner of a node by way of the first, who has nothing of its own and must wait. */
    int64_t by_the_first[16] = {[1 * 4 + 2] = 50};
    counts.matrix = by_the_first;
    costs(&request, flag_s + peer + flag_s + message);
}

/* Owners of a GPU share its engine and links, and all of a node its injection: 4 times 2 blocks of 100 B each
 * to the other node at 50 ns a byte. */
TEST(injection_is_shared_by_all_places) {
    pto_machine_t with = machine;
    with.injection_s_per_byte[PTO_SPACE_GPU] = (pto_param_t){.value = 5e-8, .line = 1};
    pto_request_t request = ask("node_aware", "pairwise", (pto_layout_t){2, 2, 2, 2, 2, false});
    pto_plan_t *plan = must_plan(&request);
    pto_price_t limited = must_price(plan, &with);
    assert_near_for(limited.seconds, must_walk(plan, &with).seconds, 1e-9, "rank by rank");
    assert_near_for(limited.seconds - must_price(plan, &machine).seconds,
                    4 * 4 * 100 * 5e-8 - 4 * 100 * message_s_per_byte, 1e-9, "what injection adds");
}

int main(void) { return run_all_tests(read_machine, NULL); }
