/* Fits of what the processes of a node share or do at once: a node's rates, messages in flight, host memory.
 */
#include "machine/machine_internal.h"
#include "made_samples.h"
#include "test.h"

/* --- the injection limit -------------------------------------------------------------------------------- */

static const double alpha_s = 1e-6, beta_s_per_byte = 8e-11;

/* One line for one process; 1 to 16 processes that share a node's rate, without noise. */
static pto_samples_t *injected(double limit) {
    pto_samples_t *samples = no_samples();
    pto_sample_t sample = message_row;
    for (sample.bytes = 1 << 14; sample.bytes <= 1 << 22; sample.bytes *= 2)
        add_equal(samples, sample, alpha_s + beta_s_per_byte * (double)sample.bytes, 1);
    sample.benchmark = PTO_BENCHMARK_INJECTION;
    for (sample.procs = 1; sample.procs <= 16; sample.procs *= 2)
        for (sample.bytes = 1 << 14; sample.bytes <= 1 << 22; sample.bytes *= 2)
            add_equal(samples, sample,
                      alpha_s + fmax(beta_s_per_byte, sample.procs * limit) * (double)sample.bytes, 1);
    return samples;
}

/* At 25 ps a byte four processes reach it, so the rows of 4, 8 and 16 are limited, of nine sizes each. */
TEST(a_limit_tells_how_many_processes_reach_it) {
    pto_samples_t *samples = injected(2.5e-11);
    pto_fit_t fit = must_fit(samples, &any_node);
    const pto_fit_entry_t *entry = entry_named(&fit, "injection.cpu");
    assert_int_equal(entry->kind, PTO_FIT_RATE);
    assert_string_equal(entry->note, "reached by 3.2 processes");
    assert_int_equal(entry->sample_count, 3 * 9);
    assert_int_equal(entry->from_bytes, 1 << 14);
    assert_true(entry->residual < 1e-3);
    assert_near(fit.machine->injection_s_per_byte[PTO_SPACE_CPU].value, 2.5e-11, 1e-3);
}

/* 16 processes take 1.15 times as long as one, which noise may do, or 1.3 times. */
TEST(a_limit_that_is_hardly_reached_is_none) {
    pto_samples_t *samples = injected(1.15 * beta_s_per_byte / 16);
    pto_fit_t fit = must_fit(samples, &any_node);
    const pto_fit_entry_t *entry = entry_named(&fit, "injection.cpu");
    assert_int_equal(entry->kind, PTO_FIT_ABSENT);
    assert_string_equal(
        entry->note, "not reached: a byte of each of 16 processes takes 1.15 times as long as of one alone");
    assert_int_equal(entry->sample_count, 5 * 9);
    assert_false(pto_param_known(&fit.machine->injection_s_per_byte[PTO_SPACE_CPU]));
    samples = injected(1.3 * beta_s_per_byte / 16);
    fit = must_fit(samples, &any_node);
    assert_string_equal(entry_named(&fit, "injection.cpu")->note, "reached by 12.3 processes");
}

/* Twice the time of one process in the middle, but the rows differ so much that it may be none. */
TEST(a_limit_that_may_be_noise_is_none) {
    static const double factor[] = {0.3, 3, 0.4, 2.6, 0.35, 3.2};
    for (int noisy = 0; noisy < 2; noisy++) {
        pto_samples_t *samples = no_samples();
        pto_sample_t sample = message_row;
        for (sample.bytes = 1 << 14; sample.bytes <= 1 << 22; sample.bytes *= 2)
            add_equal(samples, sample, alpha_s + beta_s_per_byte * (double)sample.bytes, 1);
        sample.benchmark = PTO_BENCHMARK_INJECTION;
        sample.procs = 16;
        for (int i = 0; i < 6; i++) {
            sample.bytes = 1 << (15 + i);
            double more = noisy ? factor[i] : 1;
            add_equal(samples, sample, alpha_s + 2 * more * beta_s_per_byte * (double)sample.bytes, 1);
        }
        pto_fit_t fit = must_fit(samples, &any_node);
        assert_int_equal(entry_named(&fit, "injection.cpu")->kind, noisy ? PTO_FIT_ABSENT : PTO_FIT_RATE);
    }
}

/* Four rows of two processes or more are enough, three are not, with rows of one process before them or
 * without. */
TEST(a_limit_needs_four_rows_of_several_processes) {
    for (int i = 0; i < 4; i++) {
        int rows = 3 + i % 2;
        pto_samples_t *samples = new_samples();
        pto_sample_t sample = message_row;
        sample.benchmark = PTO_BENCHMARK_INJECTION;
        for (sample.procs = i < 2 ? 1 : 4; sample.procs <= 4; sample.procs *= 4)
            for (sample.bytes = 1024; sample.bytes < 1024 << rows; sample.bytes *= 2)
                add_equal(samples, sample, 1e-6 + sample.procs * 1e-10 * (double)sample.bytes, 1);
        pto_fit_t fit = must_fit(samples, &any_node);
        if (rows == 4)
            assert_near(fit.machine->injection_s_per_byte[PTO_SPACE_CPU].value, 1e-10, 1e-3);
        else
            assert_string_equal(entry_named(&fit, "injection.cpu")->note,
                                "too few rows of two or more processes");
    }
}

/* Twice as slow as one process alone: by a rate, or by a cost of each message. */
TEST(rows_of_one_size_and_number_tell_no_limit) {
    pto_samples_t *samples = new_samples();
    pto_sample_t sample = message_row;
    sample.benchmark = PTO_BENCHMARK_INJECTION;
    sample.procs = 16;
    sample.bytes = 1 << 20;
    for (int i = 0; i < 6; i++)
        add_equal(samples, sample, (2 + 0.01 * i) * 1e-10 * (double)sample.bytes, 1);
    pto_fit_t fit = must_fit(samples, &any_node);
    assert_int_equal(entry_named(&fit, "injection.cpu")->kind, PTO_FIT_ABSENT);
    assert_string_equal(entry_named(&fit, "injection.cpu")->note, "its samples allow no regression");
}

/* The larger, the faster: the cost per byte is held at 0. */
TEST(bytes_that_take_no_time_reach_no_limit) {
    pto_samples_t *samples = no_samples();
    pto_sample_t sample = message_row;
    for (sample.bytes = 1 << 10; sample.bytes <= 1 << 20; sample.bytes *= 2)
        add_equal(samples, sample, 1e-5 - 1e-13 * (double)sample.bytes, 5);
    sample.benchmark = PTO_BENCHMARK_INJECTION;
    for (sample.procs = 2; sample.procs <= 4; sample.procs *= 2)
        for (sample.bytes = 1 << 10; sample.bytes <= 1 << 20; sample.bytes *= 2)
            add_equal(samples, sample, 1e-5 - 1e-13 * (double)sample.bytes, 5);
    pto_fit_t fit = must_fit(samples, &any_node);
    assert_string_equal(entry_named(&fit, "injection.cpu")->note,
                        "not reached: the bytes of one process take no time");
}

TEST(a_limit_needs_the_cost_of_one_process) {
    pto_samples_t *samples = no_samples();
    pto_sample_t sample = message_row;
    sample.place = PTO_AT_ON_NODE;
    for (sample.bytes = 8; sample.bytes <= 64; sample.bytes *= 2)
        add_equal(samples, sample, 1e-6 + 1e-10 * (double)sample.bytes, 1);
    sample.place = PTO_AT_OFF_NODE;
    sample.benchmark = PTO_BENCHMARK_INJECTION;
    sample.procs = 4;
    for (sample.bytes = 8; sample.bytes <= 1024; sample.bytes *= 2)
        add_equal(samples, sample, 1e-6 + 4e-10 * (double)sample.bytes, 1);
    pto_fit_t fit = must_fit(samples, &any_node);
    assert_non_null(strstr(entry_named(&fit, "injection.cpu")->note, "needs the cost of one process"));
}

/* --- minima --------------------------------------------------------------------------------------------- */

/* As on a loaded host: least squares follow the slow sizes, and would price half a microsecond at 20. */
TEST(minima_that_a_line_prices_as_nonsense_are_refused) {
    pto_samples_t *samples = new_samples();
    pto_sample_t sample = message_row;
    samples->count = 0;
    for (sample.bytes = 8; sample.bytes <= 4096; sample.bytes *= 2)
        add_equal(samples, sample, (sample.bytes < 1024 ? 1 : sample.bytes < 2048 ? 80 : 30) * 5e-7, 1);
    pto_fit_options_t options = any_node;
    pto_fit_t fit;
    pto_error_t err = {0};
    options.minima = true;
    options.breaks[PTO_SPACE_CPU][PTO_LEVEL_OFF_NODE].given = true; /* none */
    assert_int_equal(pto_fit_samples(samples, "m", "s", &options, &fit, &err), PTO_ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "messages.cpu.off_node.rendezvous: useless"));
}

/* On a loaded host all samples are slow, also the least: the fit would take these for the machine's times. */
static pto_status_t fit_scattered(double most, pto_error_t *err) {
    pto_samples_t *samples = new_samples();
    pto_sample_t sample = message_row;
    samples->count = 0;
    for (sample.bytes = 8; sample.bytes <= 4096; sample.bytes *= 2)
        for (int i = 0; i <= 8; i++)
            add_equal(samples, sample, 1e-4 * (1 + (most - 1) * i / 4), 1);
    pto_fit_options_t options = any_node;
    pto_fit_t fit = {0};
    options.minima = true;
    pto_status_t status = pto_fit_samples(samples, "m", "s", &options, &fit, err);
    pto_fit_fini(&fit);
    return status;
}

TEST(minima_of_a_loaded_host_are_refused) {
    pto_error_t err = {0};
    assert_int_equal(fit_scattered(4.9, &err), PTO_OK);
    assert_int_equal(fit_scattered(5.1, &err), PTO_ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "ping_pong.cpu: useless minima"));
    assert_non_null(strstr(err.message, "5.1 times"));
}

static pto_fit_t fit_minima(const pto_samples_t *samples) {
    pto_fit_options_t options = any_node;
    options.minima = true;
    assert_int_equal(pto_fit_breaks_parse("none", &options, NULL), PTO_OK);
    return must_fit(samples, &options);
}

/* Of several samples the least counts, however far the others are, and the line is that of least squares. */
TEST(minima_are_the_least_of_each_size) {
    static const double more[] = {1.7, 1, 3, 1.2};
    pto_samples_t *samples = no_samples();
    pto_sample_t sample = message_row;
    double x = 0, y = 0, xx = 0, xy = 0;
    for (int i = 0; i < 8; i++) {
        double seconds = 1e-6 * (3 + i + (i % 3 == 0 ? 0.4 : 0));
        sample.bytes = 1000 * (i + 1);
        for (int k = 0; k < 4; k++)
            add_equal(samples, sample, seconds * more[(i + k) % 4], 1);
        x += (double)sample.bytes / 8;
        y += seconds / 8;
        xx += (double)(sample.bytes * sample.bytes) / 8;
        xy += (double)sample.bytes * seconds / 8;
    }
    pto_fit_t fit = fit_minima(samples);
    const pto_postal_t *postal = &fit.machine->messages[PTO_SPACE_CPU][PTO_LEVEL_OFF_NODE].row[0].postal;
    double beta = (xy - x * y) / (xx - x * x);
    assert_int_equal(postal->sample_count, 8);
    assert_near(postal->beta_s_per_byte.value, beta, 1e-3);
    assert_near(postal->alpha_s.value, y - beta * x, 1e-3);
}

/* Samples of one process; returned is what those of several begin with. */
static pto_sample_t add_one_process(pto_samples_t *samples) {
    pto_sample_t sample = message_row;
    for (sample.bytes = 1 << 16; sample.bytes <= 1 << 20; sample.bytes *= 2)
        add_equal(samples, sample, 2e-6 + 1e-10 * (double)sample.bytes, 2);
    sample.benchmark = PTO_BENCHMARK_INJECTION;
    return sample;
}

/* As behind the paper's table III: rows of as many processes as GPUs or more, whose bytes together are one of
 * the sizes of one process, in whole floats. All others are twice as slow here. */
TEST(minima_of_a_limit_are_of_processes_that_share_a_message) {
    pto_samples_t *samples = no_samples();
    pto_sample_t sample = add_one_process(samples);
    for (sample.procs = 2; sample.procs <= 6; sample.procs++)
        for (int64_t whole = 1 << 16; whole <= 1 << 20; whole *= 2) {
            int64_t part = whole / sample.procs / 4 * 4;
            for (int other = -1; other <= 1; other++) {
                sample.bytes = part + 4 * other;
                bool counts = sample.procs >= 4 && other == 0;
                add_equal(samples, sample,
                          2e-6 + (counts ? 1 : 2) * 5e-11 * sample.procs * (double)sample.bytes, 2);
            }
        }
    pto_fit_t fit = fit_minima(samples);
    assert_near(fit.machine->injection_s_per_byte[PTO_SPACE_CPU].value, 5e-11, 1e-3);
}

/* Four processes take `ratio` times as long as one, of the same bytes each. */
static pto_fit_kind_t kind_of_minima(double ratio) {
    pto_samples_t *samples = no_samples();
    pto_sample_t sample = add_one_process(samples);
    sample.procs = 4;
    for (int64_t whole = 1 << 16; whole <= 1 << 20; whole *= 2) {
        sample.bytes = whole / sample.procs;
        add_equal(samples, sample, 2e-6 + ratio * 1e-10 * (double)sample.bytes, 2);
    }
    pto_fit_t fit = fit_minima(samples);
    return entry_named(&fit, "injection.cpu")->kind;
}

TEST(minima_that_hardly_reach_a_limit_have_none) {
    assert_int_equal(kind_of_minima(1.15), PTO_FIT_ABSENT);
    assert_int_equal(kind_of_minima(1.3), PTO_FIT_RATE);
}

/* --- the message rate ----------------------------------------------------------------------------------- */

static const double node_s_per_byte = 2e-11;

/* Messages of `sizes` sizes from 8 bytes on, of which each more costs the node 1 ns more; large ones that
 * show the node's rate; a limit between them at 64 KiB. */
static pto_fit_t fit_rate(int32_t procs, int sizes, double least_s) {
    pto_fit_options_t options = any_node;
    pto_sample_t sample = message_row;
    pto_samples_t *samples = no_samples();
    assert_int_equal(pto_fit_breaks_parse("cpu.off_node=65536", &options, NULL), PTO_OK);
    for (sample.bytes = 8; sample.bytes <= 1 << 22; sample.bytes *= 2)
        add_equal(samples, sample, 1e-6 + 8e-11 * (double)sample.bytes, 1);
    sample.benchmark = PTO_BENCHMARK_INJECTION;
    for (sample.bytes = 65536; sample.bytes <= 1 << 22; sample.bytes *= 2)
        for (sample.procs = 1; sample.procs <= procs; sample.procs *= procs)
            add_equal(samples, sample,
                      1e-6 + fmax(8e-11, sample.procs * node_s_per_byte) * (double)sample.bytes, 1);
    for (int i = 0; i < sizes; i++) {
        sample.bytes = 8 + 8 * i;
        sample.procs = 1;
        add_equal(samples, sample, 1e-6, 2);
        sample.procs = procs;
        add_equal(samples, sample, procs * (least_s + 1e-9 * i + (double)sample.bytes * node_s_per_byte), 2);
    }
    sample.bytes = 8;
    sample.procs = 2; /* which tell nothing of the node's rate: they are not the most */
    add_equal(samples, sample, 1e-6, 2);
    return must_fit(samples, &options);
}

/* One protocol for all sizes has no large messages that are left out. */
TEST(a_message_rate_is_that_of_a_single_protocol) {
    enum { PROCS = 32 };
    pto_fit_options_t options = any_node;
    pto_samples_t *samples = no_samples();
    pto_sample_t sample = message_row;
    assert_int_equal(pto_fit_breaks_parse("none", &options, NULL), PTO_OK);
    for (sample.bytes = 8; sample.bytes <= 1 << 22; sample.bytes *= 2)
        add_equal(samples, sample, 1e-6 + 8e-11 * (double)sample.bytes, 1);
    sample.benchmark = PTO_BENCHMARK_INJECTION;
    for (sample.procs = 1; sample.procs <= PROCS; sample.procs *= PROCS)
        for (sample.bytes = 8; sample.bytes <= 1 << 22; sample.bytes *= 2) {
            double bytes_s = fmax(8e-11, sample.procs * node_s_per_byte) * (double)sample.bytes;
            add_equal(samples, sample, sample.procs == 1 ? 1e-6 + bytes_s : PROCS * 5e-8 + bytes_s, 2);
        }
    pto_fit_t fit = must_fit(samples, &options);
    assert_near(fit.machine->injection_s_per_byte[PTO_SPACE_CPU].value, node_s_per_byte, 0.02);
    assert_near(fit.machine->injection_s_per_message[PTO_SPACE_CPU].value, 5e-8, 0.02);
}

/* Order statistics of 16: those 4 from either end hold the median with 95 percent. */
TEST(a_message_rate_is_the_median_over_sizes) {
    pto_fit_t fit = fit_rate(32, 16, 5e-8);
    const pto_param_t *rate = &fit.machine->injection_s_per_message[PTO_SPACE_CPU];
    const pto_fit_entry_t *entry = entry_named(&fit, "injection.cpu.s_per_message");
    assert_near(fit.machine->injection_s_per_byte[PTO_SPACE_CPU].value, node_s_per_byte, 1e-3);
    assert_near(rate->value, 57.5e-9, 1e-3);
    assert_near(rate->low, 54e-9, 1e-3);
    assert_near(rate->high, 61e-9, 1e-3);
    assert_int_equal(entry->sample_count, 16);
    assert_string_equal(entry->note, "median over 16 sizes");
}

/* So few sizes hold the median only all together. */
TEST(a_message_rate_of_three_sizes_is_between_the_least_and_the_most) {
    pto_fit_t fit = fit_rate(32, 3, 5e-8);
    const pto_param_t *rate = &fit.machine->injection_s_per_message[PTO_SPACE_CPU];
    assert_near(rate->value, 51e-9, 1e-3);
    assert_near(rate->low, 50e-9, 1e-3);
    assert_near(rate->high, 52e-9, 1e-3);
}

/* Three sizes and eight processes; and clearly slower than one. */
TEST(a_message_rate_needs_sizes_processes_and_a_difference) {
    static const struct {
        int32_t procs;
        int sizes;
        double least_s;
        bool known;
    } cases[] = {{32, 3, 5e-8, true}, {32, 2, 5e-8, false},   {8, 5, 2e-7, true},
                 {7, 5, 2e-7, false}, {10, 5, 1.1e-7, false}, {10, 5, 1.3e-7, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pto_fit_t fit = fit_rate(cases[i].procs, cases[i].sizes, cases[i].least_s);
        assert_true(pto_param_known(&fit.machine->injection_s_per_byte[PTO_SPACE_CPU]));
        assert_int_equal(pto_param_known(&fit.machine->injection_s_per_message[PTO_SPACE_CPU]),
                         cases[i].known);
    }
}

/* --- messages in flight --------------------------------------------------------------------------------- */

/* Each additional message costs 300 ns and 50 ps a byte. */
static pto_samples_t *in_flight(int32_t most) {
    pto_samples_t *samples = new_samples();
    pto_sample_t sample = message_row;
    sample.benchmark = PTO_BENCHMARK_MULTI_MESSAGE;
    for (sample.messages = 1; sample.messages <= most; sample.messages++)
        for (sample.bytes = 16; sample.bytes <= 65536; sample.bytes *= 2)
            add_equal(samples, sample,
                      2e-6 + 1e-10 * (double)sample.bytes +
                          (sample.messages - 1) * (3e-7 + 5e-11 * (double)sample.bytes),
                      2);
    return samples;
}

TEST(a_gap_needs_three_numbers_of_messages) {
    pto_samples_t *samples = in_flight(3);
    pto_fit_t fit = must_fit(samples, &any_node);
    const pto_cost_table_t *gap = &fit.machine->gap[PTO_SPACE_CPU][PTO_LEVEL_OFF_NODE];
    assert_int_equal(gap->count, 1);
    assert_near(gap->row[0].postal.alpha_s.value, 3e-7, 1e-3);
    assert_near(gap->row[0].postal.beta_s_per_byte.value, 5e-11, 1e-3);
    assert_int_equal(gap->row[0].postal.sample_count, 13); /* one for each size */
    assert_int_equal(gap->row[0].protocol, PTO_PROTOCOL_RENDEZVOUS);
    samples = in_flight(2);
    fit = must_fit(samples, &any_node);
    assert_string_equal(entry_named(&fit, "gap.cpu")->note,
                        "needs rows of three or more numbers of messages in flight");
    assert_int_equal(fit.machine->gap[PTO_SPACE_CPU][PTO_LEVEL_OFF_NODE].count, 0);
}

/* Of one size there are two numbers of messages, and three of all others. */
TEST(numbers_of_messages_of_other_sizes_make_no_gap) {
    pto_samples_t *samples = in_flight(3);
    size_t kept = 0;
    for (size_t i = 0; i < samples->count; i++) {
        const pto_sample_t *sample = &samples->sample[i];
        if (sample->benchmark != PTO_BENCHMARK_MULTI_MESSAGE || sample->bytes != 1024 ||
            sample->messages != 2)
            samples->sample[kept++] = *sample;
    }
    assert_int_equal(samples->count - kept, 2);
    samples->count = kept;
    pto_fit_t fit = must_fit(samples, &any_node);
    const pto_cost_table_t *gap = &fit.machine->gap[PTO_SPACE_CPU][PTO_LEVEL_OFF_NODE];
    assert_int_equal(gap->row[0].postal.sample_count, 12); /* one for each other size */
}

/* Messages that cost nothing more have no gap; one slow sample of many moves none. */
TEST(a_gap_is_the_middle_of_all_slopes) {
    pto_samples_t *samples = in_flight(5);
    for (size_t i = 0; i < samples->count; i++)
        if (samples->sample[i].benchmark == PTO_BENCHMARK_MULTI_MESSAGE && i % 9 == 0)
            samples->sample[i].seconds *= 30;
    pto_fit_t fit = must_fit(samples, &any_node);
    const pto_cost_table_t *gap = &fit.machine->gap[PTO_SPACE_CPU][PTO_LEVEL_OFF_NODE];
    for (int64_t bytes = 16; bytes <= 65536; bytes *= 4) {
        const pto_postal_t *postal = pto_cost_at(gap, bytes);
        assert_near(postal->alpha_s.value + postal->beta_s_per_byte.value * (double)bytes,
                    3e-7 + 5e-11 * (double)bytes, 0.1);
    }
}

/* --- what processes share ------------------------------------------------------------------------------- */

/* Copies within the memory of a socket by one process and by several, which take `slower` times as long. */
static pto_fit_t fit_memory(int32_t procs, double slower) {
    pto_sample_t sample = {
        .benchmark = PTO_BENCHMARK_MEMCPY_H2H, .where = PTO_IN_CPU, .place = PTO_AT_ON_SOCKET, .messages = 1};
    pto_samples_t *samples = new_samples();
    for (int i = 0; i < 2; i++)
        for (sample.bytes = 1024; sample.bytes <= 1 << 24; sample.bytes *= 4) {
            sample.procs = i == 0 ? 1 : procs;
            add_equal(samples, sample, 1e-6 + (i == 0 ? 1 : slower) * 1e-10 * (double)sample.bytes, 3);
        }
    return must_fit(samples, &any_node);
}

/* A node of two sockets with 8 cores each. */
TEST(half_of_a_sockets_cores_show_its_memory) {
    pto_fit_t fit = fit_memory(4, 3);
    const pto_fit_entry_t *entry = entry_named(&fit, "memory.host_s_per_byte");
    assert_string_equal(entry->note, "4 processes copy at once, for 3.00 times as long as one alone");
    assert_near(fit.machine->host_memory_s_per_byte.value, 3e-10 / 8, 1e-3);
    assert_near(fit.machine->copies[PTO_COPY_H2H][PTO_REACH_ON_SOCKET].beta_s_per_byte.value, 1e-10, 1e-3);
    assert_int_equal(entry->sample_count, 8 * 3);
    fit = fit_memory(3, 3);
    assert_string_equal(
        entry_named(&fit, "memory.host_s_per_byte")->note,
        "3 processes at most copy at once, which does not show the rate of a socket's memory: it "
        "takes half of its 8 cores");
    assert_false(pto_param_known(&fit.machine->host_memory_s_per_byte));
    fit = fit_memory(8, 1.19);
    assert_string_equal(
        entry_named(&fit, "memory.host_s_per_byte")->note,
        "8 processes copy at once, for 1.19 times as long as one alone: not the memory's rate");
    assert_false(pto_param_known(&fit.machine->host_memory_s_per_byte));
    fit = fit_memory(8, 1.21);
    assert_true(pto_param_known(&fit.machine->host_memory_s_per_byte));
}

/* Exchanges of both sockets, where none is within one; of two protocols, each with the cost of its own bytes.
 */
TEST(both_ways_are_compared_with_messages_of_their_size) {
    pto_samples_t *samples = no_samples();
    pto_sample_t sample = message_row;
    sample.place = PTO_AT_ON_NODE;
    for (int exchange = 0; exchange < 2; exchange++) {
        sample.benchmark = exchange ? PTO_BENCHMARK_EXCHANGE : PTO_BENCHMARK_PING_PONG;
        for (sample.bytes = 64; sample.bytes <= 1 << 22; sample.bytes *= 2) {
            double beta = sample.bytes < 8192 ? 4e-10 : 5e-11, factor = exchange ? 1.6 : 1;
            double alpha = exchange ? 2e-6 : sample.bytes < 8192 ? 1e-6 : 2e-5;
            add_equal(samples, sample, alpha + factor * beta * (double)sample.bytes, 2);
        }
    }
    pto_fit_t fit = must_fit(samples, &any_node);
    assert_int_equal(fit.machine->messages[PTO_SPACE_CPU][PTO_LEVEL_ON_NODE].count, 2);
    assert_true(fabs(fit.machine->both_ways[PTO_SPACE_CPU].value - 0.6) < 1e-3);
    assert_true(fit.machine->both_ways[PTO_SPACE_CPU].low <= 0.601 &&
                fit.machine->both_ways[PTO_SPACE_CPU].high >= 0.599);
}
