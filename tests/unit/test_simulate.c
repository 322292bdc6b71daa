/* The simulator: effects that only it shows, and what it refuses. test_simulate_price.c tests agreement with
 * price. */
#include "built.h"
#include "must.h"
#include "plan/plan_internal.h"
#include "portolan/pick.h"
#include "portolan/strategy.h"
#include "simulate/moves.h"
#include "simulated.h"
#include "test.h"

/* --- what only a simulation shows ---------------------------------------------------------------------- */

/* Everybody sends to the members below `until` (0: all), member 0 first, and they receive from everybody. */
static void build_from_the_first(pto_builder_t *builder, const pto_request_t *request, int64_t until) {
    int64_t n = pto_layout_owner_count(&request->layout);
    pto_exchange_t all = owners_exchange(builder, n);
    pto_peers_t peers = {.kind = PTO_PEERS_INDEX, .stride = pto_constant(1), .until = pto_constant(n)};
    int in = owners_host_input(builder, n, request->bytes);
    pto_build_stage(builder, "from the first", PTO_ORDER_AT_ONCE);
    pto_step_t send = pto_step_of(PTO_STEP_SEND, &all);
    send.peers = peers;
    send.peers.until = pto_constant(until);
    send.source = pto_slice_block(in, PTO_ANCHOR_PEER);
    pto_build_step(builder, send);
    pto_step_t recv = pto_step_of(PTO_STEP_RECV, &all);
    recv.who_until = pto_constant(until);
    recv.peers = peers;
    recv.target = pto_slice_block(in, PTO_ANCHOR_PEER);
    pto_build_step(builder, recv);
}

static void build_incast(pto_builder_t *builder, const pto_request_t *request) {
    build_from_the_first(builder, request, 1);
}

static void build_same_order(pto_builder_t *builder, const pto_request_t *request) {
    build_from_the_first(builder, request, pto_layout_owner_count(&request->layout));
}

TEST(a_receiver_of_all_messages_receives_them_one_by_one) {
    pto_machine_t machine = unlimited(&summit);
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "linear", 9, 1, 1, 65536);
    request.strategy = strategy_made_of(request.collective, build_incast);
    pto_plan_t *plan = must_plan(&request);
    pto_simulation_t simulation = must_simulate(plan, &machine);
    double one_s = message_cost_s(&machine, PTO_SPACE_CPU, PTO_LEVEL_OFF_NODE, 65536);
    assert_near_for(simulation.seconds, 8 * one_s, 1e-9, "incast");
    assert_int_equal(simulation.use[PTO_RESOURCE_RECV].busiest, 0);
    assert_near_for(simulation.use[PTO_RESOURCE_RECV].most_busy_s, 8 * one_s, 1e-9, "receiving");
    /* Senders are done long before. */
    assert_near_for(simulation.use[PTO_RESOURCE_SEND].most_busy_s, one_s, 1e-9, "sending");
}

/* All messages meet at one rank after the other: the last one's begin to come when the first one's are done.
 */
TEST(an_exchange_that_starts_at_the_same_rank_takes_almost_twice_as_long) {
    enum { RANKS = 64 };
    pto_machine_t machine = unlimited(&summit);
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALL, "three_step", "linear", RANKS, 1, 1, 1024);
    request.strategy = strategy_made_of(request.collective, build_same_order);
    double one_s = message_cost_s(&machine, PTO_SPACE_CPU, PTO_LEVEL_OFF_NODE, 1024);
    pto_plan_t *plan = must_plan(&request);
    pto_price_t price = must_walk(plan, &machine);
    assert_near_for(price.seconds, (RANKS - 1) * one_s, 1e-9, "price");
    assert_near_for(must_simulate(plan, &machine).seconds, (2 * RANKS - 3) * one_s, 0.02, "simulation");
}

TEST(messages_that_meet_at_a_node_share_its_ejection) {
    int64_t bytes = 4194304;
    pto_request_t request = ask(PTO_COLLECTIVE_MESSAGES, "cuda_aware", "point_to_point", 2, 4, 1, bytes);
    request.messages = 1;
    pto_plan_t *plan = must_plan(&request);
    pto_simulation_t simulation = must_simulate(plan, &summit);
    double node_s = 4 * (double)bytes * summit.injection_s_per_byte[PTO_SPACE_GPU].value;
    assert_near_for(simulation.use[PTO_RESOURCE_EJECTION].most_busy_s, node_s, 1e-9, "ejection");
    assert_near_for(simulation.use[PTO_RESOURCE_INJECTION].most_busy_s, node_s, 1e-9, "injection");
    assert_true(simulation.use[PTO_RESOURCE_INJECTION].most_waiting_s > 0);
}

/* The two processes of node 0 send to those of node 1, then to those of node 2. */
static void build_two_senders(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t all = owners_exchange(builder, 6);
    int in = owners_host_input(builder, 6, request->bytes);
    pto_build_stage(builder, "from node 0", PTO_ORDER_AT_ONCE);
    pto_step_t step = pto_step_of(PTO_STEP_SEND, &all);
    step.peers = (pto_peers_t){.kind = PTO_PEERS_SHIFT,
                               .sign = 1,
                               .first = pto_constant(2),
                               .stride = pto_constant(2),
                               .until = pto_constant(5)};
    step.source = step.target = pto_slice_block(in, PTO_ANCHOR_ME);
    step.who_until = pto_constant(2);
    pto_build_step(builder, step);
    step.kind = PTO_STEP_RECV;
    step.peers.sign = -1;
    for (int64_t first = 2; first < 6; first += 2) {
        step.who_first = step.peers.first = pto_constant(first);
        step.who_until = pto_constant(first + 2);
        step.peers.until = pto_constant(first + 1);
        pto_build_step(builder, step);
    }
}

/* Two messages share the injection of node 0, and leave it together. After its second one, a sender is done
 * but for a gap. Its receiver, which has had no other message, still takes a start: it must know when the
 * last byte left, although the sender has gone. Without the injection, the bytes would take less time. */
TEST(a_receiver_knows_the_injection_of_a_sender_that_has_gone) {
    enum { BYTES = 50000 };
    const double alpha_s = 1e-5, gap_s = 1e-7, byte_s = 1.9e-9, injection_s = 1e-9;
    pto_machine_t machine = unlimited(&summit);
    pto_cost_row_t first = machine.messages[PTO_SPACE_CPU][PTO_LEVEL_OFF_NODE].row[0];
    first.from_bytes = 0;
    first.below_bytes = INT64_MAX;
    first.postal.alpha_s.value = alpha_s;
    first.postal.beta_s_per_byte.value = byte_s;
    pto_cost_row_t more = first;
    more.postal.alpha_s.value = gap_s;
    machine.messages[PTO_SPACE_CPU][PTO_LEVEL_OFF_NODE].row = &first;
    machine.messages[PTO_SPACE_CPU][PTO_LEVEL_OFF_NODE].count = 1;
    machine.gap[PTO_SPACE_CPU][PTO_LEVEL_OFF_NODE] = machine.messages[PTO_SPACE_CPU][PTO_LEVEL_OFF_NODE];
    machine.gap[PTO_SPACE_CPU][PTO_LEVEL_OFF_NODE].row = &more;
    machine.injection_s_per_byte[PTO_SPACE_CPU] = (pto_param_t){.value = injection_s, .line = 1};
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "linear", 3, 2, 1, BYTES);
    request.strategy = strategy_made_of(request.collective, build_two_senders);
    pto_plan_t *plan = must_plan(&request);
    assert_near_for(must_simulate(plan, &machine).seconds, 2 * (alpha_s + 2 * BYTES * injection_s), 1e-9,
                    "last");
}

TEST(a_receiver_waits_for_a_late_sender) {
    pto_machine_t machine = unlimited(&summit);
    pto_request_t request = ask(PTO_COLLECTIVE_ALLREDUCE, "extra_message", "ring", 2, 1, 4, 1048576);
    pto_plan_t *plan = must_plan(&request);
    pto_simulation_t simulation = must_simulate(plan, &machine);
    const pto_resource_use_t *receive = &simulation.use[PTO_RESOURCE_RECV];
    assert_true(receive->most_waiting_s > 0);
    assert_int_not_equal(receive->most_waiting % 4, 0); /* a helper waits for its share */
}

/* --- the simulation itself ----------------------------------------------------------------------------- */

TEST(every_message_is_sent_once) {
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALL, "three_step", "pairwise", 4, 3, 1, 64);
    pto_plan_t *plan = must_plan(&request);
    pto_plan_size_t size = pto_plan_size(plan);
    assert_int_equal(size.messages, 12 * 11);
    assert_int_equal(size.stages, 12 * 14); /* two copies, the own block, eleven rounds */
    assert_int_equal(size.local_actions, 12 * 3);
    pto_simulation_t simulation = must_simulate(plan, &summit);
    assert_int_equal(simulation.messages, size.messages);
    assert_true(simulation.most_in_flight <= 24);
}

TEST(a_linear_exchange_does_not_store_its_messages) {
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "linear", 64, 1, 1, 65536);
    pto_plan_t *plan = must_plan(&request);
    pto_simulation_t simulation = must_simulate(plan, &summit);
    assert_int_equal(simulation.messages, 64 * 63);
    assert_true(simulation.most_in_flight <= 2 * 64);
}

/* A message of many parts of a vector is a range of it, or two. */
TEST(the_bytes_of_a_message_are_no_sum_over_its_parts) {
    for (int64_t ranks = 64; ranks <= 512; ranks *= 8) {
        pto_request_t request =
            ask(PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "rabenseifner", ranks, 1, 1, 1000004);
        pto_plan_t *plan = must_plan(&request);
        int64_t before = pto_blocks_summed;
        int64_t messages = must_simulate(plan, &summit).messages;
        assert_in_range(pto_blocks_summed - before, messages, 8 * messages);
    }
}

TEST(the_same_plan_takes_the_same_time) {
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALLV, "dup_devptr", "linear", 3, 3, 4, 65536);
    pto_counts_t counts = {.kind = PTO_COUNTS_SKEW, .skew = 0.9, .seed = 7};
    request.split = PTO_SPLIT_DESTINATIONS;
    request.counts = &counts;
    pto_plan_t *plan = must_plan(&request);
    pto_simulation_t first = must_simulate(plan, &refit);
    pto_simulation_t second = must_simulate(plan, &refit);
    assert_memory_equal(&first.seconds, &second.seconds, sizeof first.seconds);
    assert_int_equal(first.events, second.events);
    assert_int_equal(first.slowest_rank, second.slowest_rank);
}

TEST(more_bytes_never_take_less_time_on_one_protocol) {
    double before_s = 0;
    for (int64_t bytes = 16384; bytes <= 4194304; bytes *= 4) {
        pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALL, "three_step", "linear", 3, 4, 1, bytes);
        double seconds = simulated_s(&request, &summit);
        assert_true(seconds > before_s);
        before_s = seconds;
    }
}

/* --- spans --------------------------------------------------------------------------------------------- */

typedef struct {
    double busy_s[PTO_RESOURCE_COUNT];
    double side_end_s[2][64]; /* of the last span of each rank's sending and receiving side */
    double last_end_s;
    int64_t spans;
} seen_t;

static void see(void *context, const pto_span_t *span) {
    seen_t *seen = context;
    assert_true(span->end_s >= span->start_s);
    seen->busy_s[span->resource] += span->end_s - span->start_s;
    seen->last_end_s = span->end_s;
    seen->spans++;
    if (span->resource > PTO_RESOURCE_RECV)
        return;
    double *end_s = &seen->side_end_s[span->resource][span->index];
    assert_true(span->start_s >= *end_s); /* a side moves one message at a time */
    *end_s = span->end_s;
    assert_true(span->peer_rank >= 0 && span->bytes > 0 && span->name);
}

TEST(spans_add_up_to_the_busy_times) {
    seen_t seen = {0};
    pto_simulate_options_t options = {.visit = see, .context = &seen};
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALL, "dup_devptr", "pairwise", 2, 3, 4, 262144);
    pto_plan_t *plan = must_plan(&request);
    pto_simulation_t simulation;
    assert_int_equal(pto_simulate(plan, &summit, &options, &simulation, NULL), PTO_OK);
    assert_true(seen.spans > 2 * simulation.messages);
    for (int i = 0; i < PTO_RESOURCE_COUNT; i++)
        assert_near_for(seen.busy_s[i], simulation.use[i].busy_s, 1e-9, pto_resource_name((pto_resource_t)i));
    assert_near_for(seen.last_end_s, simulation.seconds, 1e-9, "the last end");
}

/* --- refusals ------------------------------------------------------------------------------------------ */

static void refused(const pto_plan_t *plan, const pto_simulate_options_t *options, pto_status_t status,
                    const char *cause) {
    pto_error_t err = {0};
    pto_simulation_t simulation = {.ranks = -1};
    if (pto_simulate(plan, &summit, options, &simulation, &err) != status || !strstr(err.message, cause))
        fail_msg("wanted '%s', got %d '%s'", cause, (int)err.status, err.message);
    assert_int_equal(simulation.ranks, -1);
}

static pto_step_t *step_of_kind(const pto_plan_t *plan, pto_step_kind_t kind) {
    pto_step_t *step = plan->steps.item;
    while (step->kind != kind)
        step++;
    return step;
}

TEST(a_missing_message_or_signal_is_named) {
    static const struct {
        const char *strategy;
        int64_t gpus, procs;
        pto_step_kind_t missing;
        const char *cause;
    } cases[] = {
        {"cuda_aware", 2, 1, PTO_STEP_SEND, "rank 0 waits for a message that never comes (stage 'round'"},
        {"cuda_aware", 2, 1, PTO_STEP_RECV, "a message that it does not receive (stage 'round'"},
        {"dup_devptr", 1, 2, PTO_STEP_SIGNAL, "rank 1 waits for a signal that never comes"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pto_request_t request =
            ask(PTO_COLLECTIVE_ALLTOALL, cases[i].strategy, "pairwise", 2, cases[i].gpus, cases[i].procs, 32);
        pto_plan_t *plan = must_plan(&request);
        step_of_kind(plan, cases[i].missing)->core_count = 0;
        refused(plan, NULL, PTO_ERR_INVALID_PLAN, cases[i].cause);
    }
}

TEST(a_message_from_another_rank_is_named) {
    pto_request_t request = ask(PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "ring", 2, 2, 1, 32);
    pto_plan_t *plan = must_plan(&request);
    step_of_kind(plan, PTO_STEP_SEND)->peers = pto_peers_at(pto_constant(2), 1);
    refused(plan, NULL, PTO_ERR_INVALID_PLAN, "is sent messages of other ranks or sizes than it receives");
}

static void ignore(void *context, const pto_span_t *span) {}

/* A trace shows all nodes. */
TEST(what_would_take_too_long_is_refused) {
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALL, "three_step", "linear", 16, 4, 1, 32);
    pto_plan_t *plan = must_plan(&request);
    pto_simulate_options_t options = {.limit = 4031, .visit = ignore};
    refused(plan, &options, PTO_ERR_TOO_LARGE, "sends 4032 messages");
    options.limit = 4032;
    pto_simulation_t simulation;
    assert_int_equal(pto_simulate(plan, &summit, &options, &simulation, NULL), PTO_OK);
    options = (pto_simulate_options_t){.limit = 251};
    refused(plan, &options, PTO_ERR_TOO_LARGE, "sends 252 messages a node and its 4 ranks pass");
    options.limit = 252;
    assert_int_equal(pto_simulate(plan, &summit, &options, &simulation, NULL), PTO_OK);
    request = ask(PTO_COLLECTIVE_BROADCAST, "three_step", "binomial", 1 << 20, 4, 1, 32);
    plan = must_plan(&request);
    refused(plan, NULL, PTO_ERR_TOO_LARGE, "ranks are too many to simulate");
}

static void near(double a, double b) { assert_true(fabs(a - b) <= 1e-12 * fabs(a)); }

/* Below the limit all nodes are simulated, above it one. */
TEST(one_node_stands_for_all_where_they_act_alike) {
    static const char *const asked[][2] = {
        {"cuda_aware", "pairwise"}, {"cuda_aware", "bruck"},    {"three_step", "pairwise"},
        {"cuda_aware", "linear"},   {"node_aware", "pairwise"}, {"staged_leaders", "bruck"},
    };
    pto_machine_t machine = completed(&refit);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        for (int64_t nodes = 2; nodes <= 9; nodes++) {
            pto_request_t request =
                ask(PTO_COLLECTIVE_ALLTOALL, asked[i][0], asked[i][1], nodes, 2 + nodes % 3, 1, 512 * nodes);
            pto_plan_t *plan = must_plan(&request);
            pto_simulation_t whole = must_simulate(plan, &machine), one;
            int64_t stages = pto_plan_size(plan).stages;
            pto_simulate_options_t options = {.limit =
                                                  (whole.messages > stages ? whole.messages : stages) - 1};
            assert_int_equal(pto_simulate(plan, &machine, &options, &one, NULL), PTO_OK);
            assert_true(one.events * 2 <= whole.events * 3 && one.events % nodes == 0);
            assert_true(one.seconds == whole.seconds);
            assert_int_equal(one.messages, whole.messages);
            assert_int_equal(one.ranks, whole.ranks);
            for (int r = 0; r < PTO_RESOURCE_COUNT; r++) {
                assert_int_equal(one.use[r].count, whole.use[r].count);
                near(one.use[r].most_busy_s, whole.use[r].most_busy_s);
                near(one.use[r].busy_s, whole.use[r].busy_s);
                near(one.use[r].most_waiting_s, whole.use[r].most_waiting_s);
            }
        }
}

/* A ring makes 2 (n - 1) rounds of n messages, of equal parts or unequal ones. */
TEST(a_part_is_measured_once_for_all_rounds) {
    enum { RANKS = 64 };
    int64_t measured[2];
    for (int unequal = 0; unequal < 2; unequal++) {
        pto_request_t request =
            ask(PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "ring", RANKS, 1, 1, 64 * RANKS + 4 * unequal);
        pto_plan_t *plan = must_plan(&request);
        int64_t before = pto_blocks_summed;
        assert_int_equal(must_simulate(plan, &summit).messages, 2 * (RANKS - 1) * RANKS);
        measured[unequal] = pto_blocks_summed - before;
    }
    assert_true(measured[false] <= 8 * RANKS && measured[true] <= 8 * RANKS);
}

/* As many messages as pairs of ranks; their bytes are random. */
TEST(random_byte_counts_are_not_read_from_buffers) {
    enum { RANKS = 64 };
    pto_counts_t counts = {.kind = PTO_COUNTS_SKEW, .skew = 0.9, .seed = 7};
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALLV, "cuda_aware", "pairwise", RANKS, 1, 1, 4096);
    request.counts = &counts;
    pto_plan_t *plan = must_plan(&request);
    int64_t before = pto_slices_measured;
    assert_int_equal(must_simulate(plan, &summit).messages, (RANKS - 1) * RANKS);
    assert_true(pto_slices_measured - before <= 2 * RANKS);
}

/* In a pipeline of four lanes, three or so a stage; all others whenever a lane begins a stage, sends,
 * receives or copies would be four times as many. */
TEST(a_lane_finds_only_those_that_it_concerns) {
    pto_request_t request = ask(PTO_COLLECTIVE_ALLREDUCE, "staged_ring", "direct", 8, 2, 1, 1 << 20);
    pto_plan_t *plan = must_plan(&request);
    int64_t before = pto_lanes_found;
    must_simulate(plan, &summit);
    assert_true(pto_lanes_found - before <= 4 * pto_plan_size(plan).stages);
}

/* Each has a first process, a partner by index or unequal blocks, so none can stand for the others. */
TEST(nodes_that_act_unlike_are_all_simulated) {
    const pto_request_t requests[] = {
        ask(PTO_COLLECTIVE_BROADCAST, "cuda_aware", "binomial", 4, 2, 1, 64),
        ask(PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "recursive_doubling", 4, 2, 1, 64),
        ask(PTO_COLLECTIVE_GATHER, "cuda_aware", "linear", 4, 2, 1, 64)};
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        pto_plan_t *plan = must_plan(&requests[i]);
        pto_simulate_options_t options = {.limit = pto_plan_size(plan).stages - 1};
        pto_simulation_t simulation;
        assert_int_equal(pto_simulate(plan, &summit, &options, &simulation, NULL), PTO_ERR_TOO_LARGE);
    }
}

/* Which members of the ring send to the next one: `request->bytes` says. */
static void build_part_of_a_ring(pto_builder_t *builder, const pto_request_t *request) {
    int64_t n = pto_layout_owner_count(&request->layout);
    pto_exchange_t all = owners_exchange(builder, n);
    int in = owners_host_input(builder, n, 64);
    pto_build_stage(builder, "ring", PTO_ORDER_AT_ONCE);
    pto_step_t step = pto_step_of(PTO_STEP_SEND, &all);
    step.peers = pto_peers_at(pto_constant(1), 1);
    step.source = step.target = pto_slice_block(in, PTO_ANCHOR_ME);
    step.who_first = pto_constant(request->bytes == 1);
    step.who_stride = pto_constant(request->bytes == 2 ? 2 : 1);
    step.who_until = pto_constant(request->bytes == 3 ? n - 1 : n);
    pto_build_step(builder, step);
    step.kind = PTO_STEP_RECV;
    step.peers.sign = -1;
    step.who_first = pto_constant(0);
    pto_build_step(builder, step);
}

TEST(nodes_of_which_some_do_not_act_are_all_simulated) {
    for (int64_t left_out = 0; left_out <= 3; left_out++) { /* none, the first, every second, the last */
        pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "linear", 4, 1, 1, left_out);
        request.strategy = strategy_made_of(request.collective, build_part_of_a_ring);
        pto_plan_t *plan = must_plan(&request);
        pto_simulate_options_t options = {.limit = pto_plan_size(plan).stages - 1};
        pto_simulation_t simulation;
        assert_int_equal(pto_simulate(plan, &summit, &options, &simulation, NULL),
                         left_out == 0 ? PTO_OK : PTO_ERR_TOO_LARGE);
    }
}

TEST(a_machine_without_the_messages_is_named) {
    pto_machine_t machine = summit;
    pto_error_t err = {0};
    pto_simulation_t simulation;
    machine.messages[PTO_SPACE_GPU][PTO_LEVEL_OFF_NODE].count = 0;
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "pairwise", 2, 2, 1, 32);
    pto_plan_t *plan = must_plan(&request);
    assert_int_equal(pto_simulate(plan, &machine, NULL, &simulation, &err), PTO_ERR_NOT_APPLICABLE);
    assert_non_null(strstr(err.message, "no messages.gpu.off_node"));
}

/* --- scenarios ----------------------------------------------------------------------------------------- */

enum { MOST = 700 };
static int64_t begun, cells_begun, last_begun;

static void note_begun(const pto_simulate_progress_t *progress) {
    assert_true(progress->messages <= MOST);
    cells_begun += begun == 0 || progress->cell != last_begun;
    last_begun = progress->cell;
    begun++;
}

/* Of 48 processes each GPU's six share the work in two strategies: 336 messages. In the others, 8 send 56. */
TEST(a_cell_above_the_limit_is_left_out_before_any_of_it_is_simulated) {
    pto_scenario_t *scenario = scenario_at(PTO_COLLECTIVE_ALLTOALL, 4, 64);
    scenario->library.best = true;
    scenario->layout.gpus_per_node = 2;
    scenario->layout.procs_per_gpu = 6;
    must_bind(scenario, &summit);
    pto_simulate_options_t options = {.limit = MOST, .begin = note_begun};
    pto_predictions_t predictions;
    pto_simulation_t *simulation;
    pto_error_t err = {0};
    assert_int_equal(pto_simulate_scenario(scenario, &summit, &options, &predictions, &simulation, &err),
                     PTO_OK);
    int64_t simulated_cells = 0, refused_cells = 0;
    for (int i = 0; i < predictions.strategy_count; i++) {
        const pto_prediction_t *prediction = pto_prediction_at(&predictions, 0, i);
        simulated_cells += prediction->applicable;
        refused_cells += !prediction->applicable && strstr(prediction->reason, "--limit raises it") != NULL;
        if (strcmp(predictions.strategy[i]->name, "dup_devptr") == 0)
            assert_non_null(strstr(prediction->reason, "sends 336 messages"));
    }
    assert_int_equal(cells_begun, simulated_cells);
    assert_true(simulated_cells >= 2 && refused_cells >= 2);
    free(simulation);
    pto_predictions_fini(&predictions);
    options.limit = 1;
    assert_int_equal(pto_simulate_scenario(scenario, &summit, &options, &predictions, &simulation, &err),
                     PTO_ERR_TOO_LARGE);
    assert_non_null(strstr(err.message, "the limit is 1 of either"));
}

TEST(a_scenario_is_simulated_by_the_fastest_algorithm) {
    pto_scenario_t scenario;
    pto_scenario_init(&scenario);
    scenario.collective = PTO_COLLECTIVE_ALLTOALL;
    scenario.library.best = true;
    assert_int_equal(pto_series_range(16, 1048576, 65536, &scenario.bytes, NULL), PTO_OK);
    assert_int_equal(pto_series_range(4, 4, 2, &scenario.nodes, NULL), PTO_OK);
    scenario.layout.gpus_per_node = 1;
    scenario.layout.procs_per_gpu = 1;
    assert_int_equal(pto_scenario_bind(&scenario, &summit, NULL), PTO_OK);
    pto_predictions_t predictions;
    pto_simulation_t *simulation;
    pto_error_t err = {0};
    assert_int_equal(pto_simulate_scenario(&scenario, &summit, NULL, &predictions, &simulation, &err),
                     PTO_OK);
    for (int64_t cell = 0; cell < predictions.point_count * predictions.strategy_count; cell++) {
        const pto_prediction_t *prediction = &predictions.prediction[cell];
        if (!prediction->applicable)
            continue;
        assert_true(prediction->price.seconds == simulation[cell].seconds);
        pto_request_t request = pto_scenario_request(&scenario, cell / predictions.strategy_count,
                                                     predictions.strategy[cell % predictions.strategy_count],
                                                     prediction->algorithm);
        assert_true(simulated_s(&request, &summit) == simulation[cell].seconds);
    }
    assert_string_equal(pto_prediction_at(&predictions, 0, 0)->algorithm->name, "bruck");
    assert_string_not_equal(pto_prediction_at(&predictions, 1, 0)->algorithm->name, "bruck");
    free(simulation);
    pto_predictions_fini(&predictions);
    pto_scenario_fini(&scenario);
}

int main(void) { return run_all_tests(read_machines, NULL); }
