/* Fits of synthetic samples with known parameters; test_fit_paper.c fits measured samples. */
#include "machine/machine_internal.h"
#include "made_samples.h"
#include "test.h"

/* --- made-up samples ------------------------------------------------------------------------------------ */

static const double noise = 0.05;
static const double outlier_share = 0.01;
static const double outlier_factor = 100;

enum { COVERAGE_TRIALS = 500, TRUTH_REPEATS = 120, COVERAGE_REPEATS = 12 };

/* Three protocols and a limit; each coefficient matters in its range, or no sample could tell it. */
static const struct {
    int64_t from_bytes;
    int64_t below_bytes;
    double alpha_s;
    double beta_s_per_byte;
} truth[] = {
    {0, 512, 1.4e-6, 8e-9},
    {512, 16384, 6e-6, 9e-10},
    {16384, INT64_MAX, 3e-5, 8.5e-11},
};
static const double truth_limit = 3e-11;

static const pto_sample_t h2d_row = {
    .benchmark = PTO_BENCHMARK_MEMCPY_H2D, .place = PTO_AT_ON_SOCKET, .procs = 1, .messages = 1};
static const pto_sample_t flag_row = {.benchmark = PTO_BENCHMARK_SIGNAL_FLAG, .procs = 2, .messages = 1};

/* splitmix64 (Steele, Lea, Flood 2014): the same stream everywhere. */
static double uniform(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

/* Box and Muller. */
static double gaussian(uint64_t *state) {
    double radius = sqrt(-2 * log(uniform(state)));
    return radius * cos(6.283185307179586 * uniform(state));
}

/* A time with noise and now and then an outlier. */
static double shaken(double seconds, uint64_t *state) {
    double factor = 1 + noise * gaussian(state);
    return seconds * factor * (uniform(state) < outlier_share ? outlier_factor : 1);
}

static double true_seconds(int64_t bytes, int32_t procs, double limit) {
    int k = 0;
    while (bytes >= truth[k].below_bytes)
        k++;
    return truth[k].alpha_s + fmax(truth[k].beta_s_per_byte, procs * limit) * (double)bytes;
}

static void add_messages(pto_samples_t *samples, int repeats, uint64_t *state) {
    for (int64_t bytes = 1; bytes <= 1 << 26; bytes *= 2) {
        for (int i = 0; i < repeats; i++) {
            pto_sample_t sample = message_row;
            sample.seconds = shaken(true_seconds(bytes, 1, 0), state);
            sample.bytes = bytes;
            sample.run = i % 3;
            add(samples, sample);
        }
    }
}

static void add_injection(pto_samples_t *samples, int repeats, double limit, uint64_t *state) {
    for (int32_t procs = 1; procs <= 16; procs *= 2) {
        for (int64_t bytes = 16384; bytes <= 1 << 24; bytes *= 2) {
            for (int i = 0; i < repeats; i++) {
                pto_sample_t sample = message_row;
                sample.benchmark = PTO_BENCHMARK_INJECTION;
                sample.seconds = shaken(true_seconds(bytes, procs, limit), state);
                sample.bytes = bytes;
                sample.procs = procs;
                sample.run = i % 3;
                add(samples, sample);
            }
        }
    }
}

/* Rows of a line, for what has no protocols. */
static void add_line(pto_samples_t *samples, pto_sample_t like, double alpha_s, double beta_s_per_byte,
                     int repeats, uint64_t *state) {
    for (int64_t bytes = 8; bytes <= 1 << 24; bytes *= 4) {
        for (int i = 0; i < repeats; i++) {
            pto_sample_t sample = like;
            sample.bytes = bytes;
            sample.messages = 1;
            sample.seconds = shaken(alpha_s + beta_s_per_byte * (double)bytes, state);
            add(samples, sample);
        }
    }
}

static const pto_cost_table_t *host_messages(const pto_fit_t *fit) {
    return &fit->machine->messages[PTO_SPACE_CPU][PTO_LEVEL_OFF_NODE];
}

static const pto_cost_table_t *host_gap(const pto_fit_t *fit) {
    return &fit->machine->gap[PTO_SPACE_CPU][PTO_LEVEL_OFF_NODE];
}

/* --- known truth ---------------------------------------------------------------------------------------- */

TEST(true_parameters_are_found_despite_noise_and_outliers) {
    uint64_t state = 1;
    pto_samples_t *samples = no_samples();
    add_messages(samples, TRUTH_REPEATS, &state);
    add_injection(samples, TRUTH_REPEATS, truth_limit, &state);
    pto_fit_t fit = must_fit(samples, &any_node);
    const pto_cost_table_t *cost = host_messages(&fit);
    assert_int_equal(cost->count, 3);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(cost->row[k].from_bytes, truth[k].from_bytes);
        assert_int_equal(cost->row[k].below_bytes, truth[k].below_bytes);
        assert_int_equal(cost->row[k].protocol, k);
        assert_near(cost->row[k].postal.alpha_s.value, truth[k].alpha_s, 0.02);
        assert_near(cost->row[k].postal.beta_s_per_byte.value, truth[k].beta_s_per_byte, 0.02);
        assert_true(cost->row[k].postal.residual < noise);
    }
    assert_near(fit.machine->injection_s_per_byte[PTO_SPACE_CPU].value, truth_limit, 0.02);
}

static bool holds(const pto_param_t *param, double value) {
    assert_true(param->has_interval);
    return param->low <= value && value <= param->high;
}

enum { COVERED = 10 };

static const double copy_alpha_s = 1.1e-5;
static const double copy_beta_s_per_byte = 2.4e-11;
static const double flag_s = 2.5e-7;

static void count_held(const pto_machine_t *machine, int held[COVERED]) {
    const pto_cost_table_t *cost = &machine->messages[PTO_SPACE_CPU][PTO_LEVEL_OFF_NODE];
    const pto_postal_t *copy = &machine->copies[PTO_COPY_H2D][PTO_REACH_ON_SOCKET];
    assert_int_equal(cost->count, 3);
    for (int k = 0; k < 3; k++) {
        held[2 * k] += holds(&cost->row[k].postal.alpha_s, truth[k].alpha_s);
        held[2 * k + 1] += holds(&cost->row[k].postal.beta_s_per_byte, truth[k].beta_s_per_byte);
    }
    held[6] += holds(&machine->injection_s_per_byte[PTO_SPACE_CPU], truth_limit);
    held[7] += holds(&copy->alpha_s, copy_alpha_s);
    held[8] += holds(&copy->beta_s_per_byte, copy_beta_s_per_byte);
    held[9] += holds(&machine->signal_s, flag_s);
}

TEST(intervals_hold_the_truth_as_often_as_they_say) {
    int held[COVERED] = {0};
    for (int trial = 0; trial < COVERAGE_TRIALS; trial++) {
        uint64_t state = 1000 + (uint64_t)trial;
        pto_samples_t *samples = no_samples();
        add_messages(samples, COVERAGE_REPEATS, &state);
        add_injection(samples, COVERAGE_REPEATS, truth_limit, &state);
        add_line(samples, h2d_row, copy_alpha_s, copy_beta_s_per_byte, COVERAGE_REPEATS, &state);
        add_line(samples, flag_row, flag_s, 0, COVERAGE_REPEATS, &state);
        pto_fit_t fit = must_fit(samples, &any_node);
        count_held(fit.machine, held);
    }
    for (int i = 0; i < COVERED; i++) {
        double share = (double)held[i] / COVERAGE_TRIALS;
        if (!(share >= 0.90 && share <= 0.99))
            fail_msg("parameter %d: the interval holds the truth in %.1f percent of trials", i, 100 * share);
    }
}

TEST(a_limit_that_one_process_reaches_is_fitted_as_such) {
    uint64_t state = 3;
    pto_samples_t *samples = no_samples();
    add_messages(samples, 20, &state);
    add_injection(samples, 20, truth[2].beta_s_per_byte, &state);
    pto_fit_t fit = must_fit(samples, &any_node);
    assert_near(fit.machine->injection_s_per_byte[PTO_SPACE_CPU].value, truth[2].beta_s_per_byte, 0.02);
    assert_string_equal(fit.entry[fit.entry_count - 1].note, "one process reaches the limit");
}

TEST(injection_rows_of_one_process_replace_ping_pong) {
    uint64_t state = 4;
    pto_samples_t *samples = no_samples();
    add_injection(samples, 40, truth_limit, &state);
    pto_fit_t fit = must_fit(samples, &any_node);
    const pto_cost_table_t *cost = host_messages(&fit);
    assert_int_equal(cost->count, 1);
    assert_int_equal(cost->row[0].protocol, PTO_PROTOCOL_RENDEZVOUS);
    assert_near(cost->row[0].postal.beta_s_per_byte.value, truth[2].beta_s_per_byte, 0.02);
    assert_near(fit.machine->injection_s_per_byte[PTO_SPACE_CPU].value, truth_limit, 0.02);
}

TEST(without_large_injection_rows_the_protocol_before_serves) {
    uint64_t state = 13;
    pto_samples_t *samples = no_samples();
    pto_fit_options_t options = any_node;
    add_messages(samples, 40, &state);
    add_injection(samples, 40, truth_limit, &state);
    /* A last piece that begins above every injection row, on the same line as the one before. */
    assert_int_equal(pto_fit_breaks_parse("cpu.off_node=16384,33554432", &options, NULL), PTO_OK);
    pto_fit_t fit = must_fit(samples, &options);
    assert_near(fit.machine->injection_s_per_byte[PTO_SPACE_CPU].value, truth_limit, 0.02);
}

TEST(limits_are_found_among_a_hundred_thousand_different_sizes) {
    uint64_t state = 5;
    pto_samples_t *samples = no_samples();
    for (int i = 0; i < 100000; i++) {
        int64_t bytes = (int64_t)exp2(26 * uniform(&state));
        pto_sample_t sample = message_row;
        sample.place = PTO_AT_ON_NODE;
        sample.bytes = bytes;
        sample.seconds = shaken(true_seconds(bytes, 1, 0), &state);
        add(samples, sample);
    }
    pto_fit_t fit = must_fit(samples, &any_node);
    const pto_cost_table_t *cost = &fit.machine->messages[PTO_SPACE_CPU][PTO_LEVEL_ON_NODE];
    assert_int_equal(cost->count, 3);
    for (int k = 0; k < 3; k++) {
        assert_near((double)cost->row[k].below_bytes, (double)truth[k].below_bytes, 0.05);
        assert_near(cost->row[k].postal.beta_s_per_byte.value, truth[k].beta_s_per_byte, 0.02);
    }
}

/* --- other parameters ----------------------------------------------------------------------------------- */

/* Eight processes copy at once, each reading and writing; a process sends and receives at once. */
TEST(what_processes_of_a_node_share_is_fitted) {
    static const double ratios[] = {0.9, 0.3, 0};
    for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++) {
        uint64_t state = 11;
        pto_samples_t *samples = no_samples();
        pto_sample_t message = message_row, copy = {.benchmark = PTO_BENCHMARK_MEMCPY_H2H,
                                                    .where = PTO_IN_CPU,
                                                    .place = PTO_AT_ON_SOCKET,
                                                    .procs = 1,
                                                    .messages = 1};
        message.place = PTO_AT_ON_SOCKET;
        add_line(samples, message, 1e-6, 1e-10, 200, &state);
        message.benchmark = PTO_BENCHMARK_EXCHANGE;
        add_line(samples, message, 2e-6, (1 + ratios[i]) * 1e-10, 200, &state);
        message.benchmark = PTO_BENCHMARK_STAGED;
        add_line(samples, message, 9e-6, 1.4e-10, 200, &state);
        add_line(samples, copy, 2e-7, 1e-10, 200, &state);
        copy.procs = 8;
        add_line(samples, copy, 2e-6, i == 2 ? 1.1e-10 : 4e-10, 200, &state);
        pto_fit_t fit = must_fit(samples, &any_node);
        assert_true(fabs(fit.machine->both_ways[PTO_SPACE_CPU].value - ratios[i]) < 0.03);
        assert_true(fabs(fit.machine->staged_message.value - 0.4) < 0.03);
        assert_false(pto_param_known(&fit.machine->both_ways[PTO_SPACE_GPU]));
        /* Processes that slow each other down hardly do not show the memory's rate. */
        assert_true(pto_param_known(&fit.machine->host_memory_s_per_byte) == (i < 2));
        if (i < 2)
            assert_near(fit.machine->host_memory_s_per_byte.value, 4e-10 / (2 * 8), 0.02);
    }
}

/* Below 256 bytes a further message costs 0.4 us, from there on 1 us and 1 ns per 10 bytes. */
static int64_t further_below_bytes = 256;
static double further_s(int64_t bytes) {
    return bytes < further_below_bytes ? 4e-7 : 1e-6 + 1e-10 * (double)bytes;
}

/* Up to n messages in flight, whose additional ones take `times` as long as these. */
static void add_in_flight(pto_samples_t *samples, pto_sample_t sample, int32_t n, double times,
                          uint64_t *state) {
    for (sample.messages = 1; sample.messages <= n; sample.messages++)
        for (sample.bytes = 4; sample.bytes <= 65536; sample.bytes *= 2)
            for (int i = 0; i < 10; i++) {
                double additional_s = times * further_s(sample.bytes) * (sample.messages - 1);
                sample.seconds = shaken(true_seconds(sample.bytes, 1, 0) + additional_s, state);
                sample.run = i % 3;
                add(samples, sample);
            }
}

static const pto_sample_t to_many_row = {
    .benchmark = PTO_BENCHMARK_MULTI_MESSAGE, .where = PTO_IN_CPU, .place = PTO_AT_OFF_NODE, .procs = 1};

/* From the host to several partners on other nodes. */
static pto_fit_t fit_gap(double times) {
    uint64_t state = 8;
    pto_samples_t *samples = no_samples();
    add_messages(samples, 20, &state);
    add_in_flight(samples, to_many_row, 20, times, &state);
    return must_fit(samples, &any_node);
}

static void assert_gap(const pto_cost_table_t *gap, double times) {
    for (int64_t bytes = 4; bytes <= 65536; bytes *= 2) {
        const pto_postal_t *postal = pto_cost_at(gap, bytes);
        assert_near(postal->alpha_s.value + postal->beta_s_per_byte.value * (double)bytes,
                    times * further_s(bytes), 0.03);
    }
}

/* What a start costs more than a gap, where that is least. */
static void assert_latency(const pto_fit_t *fit) {
    const pto_cost_table_t *cost = host_messages(fit), *gap = host_gap(fit);
    const pto_param_t *latency = &fit->machine->latency_s[PTO_SPACE_CPU];
    double least_s = INFINITY;
    for (int64_t bytes = 1; bytes <= 1 << 20; bytes++)
        least_s =
            fmin(least_s, pto_cost_at(cost, bytes)->alpha_s.value - pto_cost_at(gap, bytes)->alpha_s.value);
    assert_true(least_s > 0);
    assert_near(latency->value, least_s, 1e-3);
    assert_true(latency->has_interval && latency->low > 0 && latency->low < latency->value &&
                latency->value < latency->high);
    assert_false(pto_param_known(&fit->machine->latency_s[PTO_SPACE_GPU]));
}

/* Off the node from messages to several partners; within it from a GPU's to one partner. */
TEST(gaps_between_messages_are_found) {
    uint64_t state = 8;
    pto_samples_t *samples = no_samples();
    pto_sample_t to_many = to_many_row, to_one = message_row;
    to_one.benchmark = PTO_BENCHMARK_MULTI_MESSAGE_ONE;
    to_one.place = PTO_AT_ON_SOCKET;
    add_messages(samples, 20, &state);
    add_in_flight(samples, to_many, 20, 1, &state);
    add_in_flight(samples, to_one, 20, 2, &state); /* of the host: not used */
    to_one.where = PTO_IN_GPU;
    add_in_flight(samples, to_one, 20, 2, &state);
    to_many.place = PTO_AT_ON_SOCKET;
    to_many.where = PTO_IN_GPU;
    add_in_flight(samples, to_many, 20, 5, &state); /* not used */
    pto_fit_t fit = must_fit(samples, &any_node);
    assert_gap(host_gap(&fit), 1);
    assert_gap(&fit.machine->gap[PTO_SPACE_GPU][PTO_LEVEL_ON_SOCKET], 2);
    assert_latency(&fit);
    assert_int_equal(fit.machine->gap[PTO_SPACE_CPU][PTO_LEVEL_ON_SOCKET].count, 0);
    assert_int_equal(fit.machine->gap[PTO_SPACE_GPU][PTO_LEVEL_OFF_NODE].count, 0);
}

/* The gap of long messages is larger, and says nothing about the start of short ones. */
TEST(a_latency_is_of_rows_for_the_same_sizes) {
    further_below_bytes = truth[0].below_bytes;
    pto_fit_t fit = fit_gap(1);
    further_below_bytes = 256;
    const pto_cost_table_t *gap = host_gap(&fit);
    int64_t below_bytes = host_messages(&fit)->row[0].below_bytes;
    bool meet = false;
    for (int i = 0; i < gap->count; i++)
        meet = meet || gap->row[i].from_bytes == below_bytes;
    assert_true(meet);
    assert_latency(&fit);
    assert_near(fit.machine->latency_s[PTO_SPACE_CPU].value, truth[0].alpha_s - 4e-7, 0.1);
}

/* A message's and a gap's row meet if they have a size in common, not if one begins where the other ends: of
 * small sizes and of large ones, the difference of these would be the least. */
TEST(rows_that_only_touch_tell_no_latency) {
    enum { BELOW_BYTES = 1024 };
    for (int falling = 0; falling < 2; falling++) {
        pto_samples_t *samples = no_samples();
        pto_sample_t sample = message_row;
        for (sample.bytes = 4; sample.bytes <= 1 << 20; sample.bytes *= 2) {
            bool dear = (sample.bytes >= BELOW_BYTES) != falling;
            double start_s = (dear ? 4e-6 : 2e-6) + 1e-10 * (double)sample.bytes;
            double gap_s = (dear ? 6e-7 : 3e-7) + 5e-11 * (double)sample.bytes;
            sample.benchmark = PTO_BENCHMARK_PING_PONG;
            add_equal(samples, sample, start_s, 3);
            sample.benchmark = PTO_BENCHMARK_MULTI_MESSAGE;
            for (sample.messages = 1; sample.messages <= 4; sample.messages++)
                add_equal(samples, sample, start_s + (sample.messages - 1) * gap_s, 3);
            sample.messages = 1;
        }
        pto_fit_t fit = must_fit(samples, &any_node);
        const pto_cost_table_t *cost = host_messages(&fit), *gap = host_gap(&fit);
        assert_int_equal(cost->count, 2);
        assert_int_equal(gap->count, 2);
        assert_int_equal(cost->row[1].from_bytes, BELOW_BYTES);
        assert_int_equal(gap->row[1].from_bytes, BELOW_BYTES);
        assert_near(fit.machine->latency_s[PTO_SPACE_CPU].value, 1.7e-6, 1e-3);
    }
}

/* Nothing of a start is left for the network: the latency is not known, rather than 0. */
TEST(a_gap_as_long_as_a_start_leaves_no_latency) {
    pto_fit_t fit = fit_gap(truth[0].alpha_s / 4e-7);
    assert_true(host_gap(&fit)->count > 0);
    assert_false(pto_param_known(&fit.machine->latency_s[PTO_SPACE_CPU]));
}

/* 64 processes of small messages take 64 times 60 ns and what their bytes take at the limit. */
TEST(a_message_rate_is_found_where_many_processes_are_slower) {
    const double limit = 4e-10; /* so that small messages feel it too */
    uint64_t state = 9;
    pto_samples_t *samples = no_samples();
    add_messages(samples, 20, &state);
    add_injection(samples, 20, limit, &state);
    for (int32_t procs = 1; procs <= 64; procs *= 64) {
        for (int64_t bytes = 8; bytes <= 512; bytes *= 2) {
            pto_sample_t sample = message_row;
            sample.benchmark = PTO_BENCHMARK_INJECTION;
            sample.procs = procs;
            sample.bytes = bytes;
            for (int i = 0; i < 10; i++) {
                double alone_s = true_seconds(bytes, 1, 0);
                double node_s = procs * (6e-8 + limit * (double)bytes);
                sample.seconds = shaken(procs > 1 && node_s > alone_s ? node_s : alone_s, &state);
                sample.run = i % 3;
                add(samples, sample);
            }
        }
    }
    pto_fit_t fit = must_fit(samples, &any_node);
    const pto_param_t *rate = &fit.machine->injection_s_per_message[PTO_SPACE_CPU];
    assert_near(rate->value, 6e-8, 0.05);
    assert_true(rate->has_interval && rate->low <= rate->value && rate->value <= rate->high);
}

/* --- what cannot be fitted ------------------------------------------------------------------------------ */

TEST(too_little_data_leave_one_parameter_out) {
    uint64_t state = 9;
    pto_samples_t *samples = no_samples();
    add_messages(samples, 5, &state);
    pto_sample_t lone = h2d_row;
    lone.bytes = 8;
    lone.seconds = 1e-5;
    add(samples, lone);
    pto_fit_t fit = must_fit(samples, &any_node);
    assert_true(entry_named(&fit, "copies.h2d.on_socket")->left_out);
    assert_false(pto_postal_known(&fit.machine->copies[PTO_COPY_H2D][PTO_REACH_ON_SOCKET]));
    assert_int_equal(host_messages(&fit)->count, 3);
}

/* As on a loaded host, of which a file that inherits messages needs none. */
TEST(useless_messages_are_kept_with_a_note) {
    uint64_t state = 10;
    pto_samples_t *samples = no_samples();
    for (int i = 0; i < 200; i++) {
        pto_sample_t sample = message_row;
        sample.bytes = 1 << (i % 20);
        sample.seconds = 1e-6 * exp(6 * uniform(&state));
        add(samples, sample);
    }
    pto_fit_t fit = must_fit(samples, &any_node);
    assert_true(host_messages(&fit)->count > 0);
    assert_non_null(strstr(host_messages(&fit)->row[0].postal.flagged, "half of the samples"));
    pto_fit_options_t differing = any_node;
    differing.inherits = "other.yaml";
    fit = must_fit(samples, &differing);
    assert_int_equal(host_messages(&fit)->count, 0);
}

TEST(no_messages_and_no_node_shape_are_errors) {
    uint64_t state = 11;
    pto_samples_t *samples = no_samples();
    const pto_fit_options_t nothing = {0}, no_gpus = {.node = {.sockets = 2, .cores = 16}};
    assert_no_fit(samples, &any_node, PTO_ERR_NOT_FOUND, "messages");
    add_messages(samples, 5, &state);
    assert_no_fit(samples, &nothing, PTO_ERR_NOT_FOUND, "--node sockets=N");
    assert_no_fit(samples, &no_gpus, PTO_ERR_NOT_FOUND, "--node gpus=N (gpus=0 if it has none)");
}

TEST(forced_limits_that_leave_a_piece_empty_are_an_error) {
    uint64_t state = 12;
    pto_samples_t *samples = no_samples();
    pto_fit_options_t options = any_node;
    add_messages(samples, 5, &state);
    assert_int_equal(pto_fit_breaks_parse("cpu.off_node=600,700", &options, NULL), PTO_OK);
    assert_no_fit(samples, &options, PTO_ERR_NOT_FOUND, "messages.cpu.off_node.eager");
}

/* It is the first parameter that is looked at. */
TEST(messages_of_one_size_are_an_error_that_names_the_parameter) {
    pto_samples_t *samples = no_samples();
    add_equal(samples, message_row, 1e-6, 30);
    assert_no_fit(samples, &any_node, PTO_ERR_NOT_FOUND, "messages.cpu.off_node");
}
