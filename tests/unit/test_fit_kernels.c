/* Fits of kernel costs from synthetic samples with known parameters: additional inputs of a reduction,
 * another GPU's memory. */
#include "machine/machine_internal.h"
#include "made_samples.h"
#include "must.h"
#include "portolan/machine.h"
#include "test.h"

enum { REPEATS = 10 };

static const double noise = 0.03;

/* A launch, and what a reduction of two and each further input cost: a cache's rate, then memory's. */
static const double launch_s = 8e-6, cached_beta = 1.2e-12, cached_gamma = 4e-13, beta = 6e-12,
                    gamma_true = 2e-12;
enum { CACHE_BYTES = 1 << 24 };

static void add_shaken(pto_samples_t *samples, pto_sample_t sample, double seconds, uint64_t *state) {
    add_noisy(samples, sample, seconds, noise, REPEATS, state);
}

/* An entry is left out, with these words. */
static pto_fit_t fit_without(const pto_samples_t *samples, const char *name, const char *words) {
    pto_fit_t fit = must_fit(samples, &any_node);
    const pto_fit_entry_t *entry = entry_named(&fit, name);
    if (!entry->left_out || !strstr(entry->note, words))
        fail_msg("%s: '%s' does not say '%s'", name, entry->note, words);
    return fit;
}

/* The fit's machine is one that can be written and read again. */
static void assert_readable(const pto_fit_t *fit) { must_parse(must_format(fit->machine)); }

/* --- additional inputs ---------------------------------------------------------------------------------- */

static double two_s(int64_t bytes) {
    double s = (double)bytes;
    return bytes < CACHE_BYTES ? launch_s + cached_beta * s : launch_s + beta * s;
}

static double further_s(int64_t bytes, int inputs) {
    return (bytes < CACHE_BYTES ? cached_gamma : gamma_true) * (double)bytes * (inputs - 2);
}

static void add_reductions(pto_samples_t *samples, uint64_t *state) {
    pto_sample_t sample = {.benchmark = PTO_BENCHMARK_REDUCE, .where = PTO_IN_GPU, .procs = 1, .messages = 1};
    for (sample.bytes = 4; sample.bytes <= 1 << 28; sample.bytes *= 2)
        add_shaken(samples, sample, two_s(sample.bytes), state);
}

static void add_many(pto_samples_t *samples, double factor, uint64_t *state) {
    pto_sample_t sample = {.benchmark = PTO_BENCHMARK_REDUCE_MANY, .where = PTO_IN_GPU, .procs = 1};
    for (sample.messages = 2; sample.messages <= 16; sample.messages *= 2) {
        for (sample.bytes = 4; sample.bytes <= 1 << 28; sample.bytes *= 2) {
            double seconds = factor * two_s(sample.bytes) + further_s(sample.bytes, sample.messages);
            add_shaken(samples, sample, seconds, state);
        }
    }
}

TEST(each_piece_has_its_own_cost_of_additional_inputs) {
    uint64_t state = 1;
    pto_samples_t *samples = new_samples();
    add_reductions(samples, &state);
    add_many(samples, 1, &state);
    pto_fit_t fit = must_fit(samples, &any_node);
    const pto_param_t *small = pto_machine_extra_input(fit.machine, PTO_SPACE_GPU, CACHE_BYTES / 2);
    const pto_param_t *large = pto_machine_extra_input(fit.machine, PTO_SPACE_GPU, CACHE_BYTES);
    assert_non_null(small);
    assert_non_null(large);
    assert_near(small->value, cached_gamma, 0.03);
    assert_near(large->value, gamma_true, 0.03);
    assert_true(large->has_interval && large->low <= gamma_true && gamma_true <= large->high);
    assert_null(pto_machine_extra_input(fit.machine, PTO_SPACE_CPU, 8));
    assert_readable(&fit);
}

/* The kernel of many takes 1.4 times as long for two; gamma is not blamed for it. */
TEST(a_kernel_that_differs_for_two_inputs_is_reported) {
    uint64_t state = 2;
    pto_samples_t *samples = new_samples();
    add_reductions(samples, &state);
    add_many(samples, 1.4, &state);
    pto_fit_t fit = must_fit(samples, &any_node);
    assert_near(pto_machine_extra_input(fit.machine, PTO_SPACE_GPU, CACHE_BYTES)->value, gamma_true, 0.04);
    const char *note = entry_named(&fit, "reduce.gpu.extra_input_s_per_byte from 16777216")->note;
    assert_non_null(strstr(note, "two inputs take 1.4"));
    assert_non_null(strstr(note, "which prices do not contain"));
}

TEST(additional_inputs_that_cost_nothing_are_absent) {
    uint64_t state = 3;
    pto_samples_t *samples = new_samples();
    pto_sample_t sample = {.benchmark = PTO_BENCHMARK_REDUCE, .where = PTO_IN_GPU, .procs = 1, .messages = 1};
    for (sample.bytes = 4; sample.bytes <= 1 << 20; sample.bytes *= 2)
        add_shaken(samples, sample, launch_s + beta * (double)sample.bytes, &state);
    sample.benchmark = PTO_BENCHMARK_REDUCE_MANY;
    for (sample.messages = 2; sample.messages <= 8; sample.messages *= 2) {
        for (sample.bytes = 4; sample.bytes <= 1 << 20; sample.bytes *= 2) {
            double less = 1 - 0.01 * sample.messages;
            add_shaken(samples, sample, less * (launch_s + beta * (double)sample.bytes), &state);
        }
    }
    pto_fit_t fit = must_fit(samples, &any_node);
    assert_null(pto_machine_extra_input(fit.machine, PTO_SPACE_GPU, 1 << 20));
    assert_non_null(strstr(entry_named(&fit, "reduce.gpu.extra_input_s_per_byte")->note, "cost nothing"));
    assert_readable(&fit);
}

TEST(additional_inputs_need_the_cost_of_two) {
    uint64_t state = 4;
    pto_samples_t *samples = new_samples();
    add_many(samples, 1, &state);
    pto_fit_t fit = fit_without(samples, "reduce.gpu.extra_input_s_per_byte", "without samples of `reduce`");
    assert_int_equal(fit.machine->reduce[PTO_SPACE_GPU].count, 0);
    assert_readable(&fit);
}

/* --- another GPU's memory ------------------------------------------------------------------------------- */

static const double alpha_true = 1.5e-6, store_beta = 3e-12, all_beta = 2.5e-12;
enum { ALL_BLOCKS = 1056 };

/* Rows of one way: nothing, then sizes. */
static void add_way(pto_samples_t *samples, pto_benchmark_t benchmark, int32_t blocks, double s_per_byte,
                    uint64_t *state) {
    pto_sample_t sample = {
        .benchmark = (uint8_t)benchmark, .place = PTO_AT_ON_SOCKET, .procs = blocks, .messages = 1};
    add_shaken(samples, sample, launch_s, state);
    for (sample.bytes = 16; sample.bytes <= 1 << 26; sample.bytes *= 2)
        add_shaken(samples, sample, launch_s + alpha_true + s_per_byte * (double)sample.bytes, state);
}

/* The launch, five times as long as alpha, is in neither coefficient; narrow accesses and few blocks are told
 * of and not fitted. */
TEST(stores_cost_the_time_beyond_an_empty_kernel) {
    uint64_t state = 5;
    pto_samples_t *samples = new_samples();
    add_way(samples, PTO_BENCHMARK_REMOTE_STORE_4, ALL_BLOCKS, 2 * store_beta, &state);
    add_way(samples, PTO_BENCHMARK_REMOTE_STORE_16, 1, 100 * store_beta, &state);
    add_way(samples, PTO_BENCHMARK_REMOTE_STORE_16, ALL_BLOCKS, store_beta, &state);
    add_way(samples, PTO_BENCHMARK_REMOTE_STORE_STRIDED, ALL_BLOCKS, 8 * store_beta, &state);
    pto_fit_t fit = must_fit(samples, &any_node);
    const pto_postal_t *store = pto_machine_remote(fit.machine, PTO_REMOTE_STORE, PTO_REACH_ON_SOCKET);
    assert_non_null(store);
    assert_near(store->beta_s_per_byte.value, store_beta, 0.02);
    assert_near(store->alpha_s.value, alpha_true, 0.1);
    assert_true(store->alpha_s.low <= alpha_true && alpha_true <= store->alpha_s.high);
    assert_null(store->flagged);
    assert_null(pto_machine_remote(fit.machine, PTO_REMOTE_LOAD, PTO_REACH_ON_SOCKET));
    const char *widths = entry_named(&fit, "remote.store.on_socket by width")->note;
    assert_non_null(strstr(widths, "4 B a thread 1"));
    assert_non_null(strstr(widths, "every second 4 B 4"));
    assert_null(strstr(widths, "8 B "));
    const char *blocks = entry_named(&fit, "remote.store.on_socket by blocks")->note;
    assert_non_null(strstr(blocks, "threads: 1 3."));
    assert_non_null(strstr(blocks, ", 1056 3"));
    assert_readable(&fit);
}

/* The samples of eight bytes a thread take what the launch does, and say nothing of a rate. */
TEST(a_rate_that_the_launch_hides_is_not_told) {
    uint64_t state = 11;
    pto_samples_t *samples = new_samples();
    pto_sample_t sample = {.benchmark = PTO_BENCHMARK_REMOTE_STORE_8,
                           .place = PTO_AT_ON_SOCKET,
                           .procs = ALL_BLOCKS,
                           .messages = 1};
    add_way(samples, PTO_BENCHMARK_REMOTE_STORE_4, ALL_BLOCKS, 2 * store_beta, &state);
    add_way(samples, PTO_BENCHMARK_REMOTE_STORE_16, ALL_BLOCKS, store_beta, &state);
    for (sample.bytes = 0; sample.bytes <= 1 << 20; sample.bytes += 1 << 20)
        add_equal(samples, sample, launch_s, 1);
    pto_fit_t fit = must_fit(samples, &any_node);
    const char *widths = entry_named(&fit, "remote.store.on_socket by width")->note;
    assert_non_null(strstr(widths, "4 B a thread 1"));
    assert_null(strstr(widths, "8 B "));
}

TEST(loads_have_their_own) {
    uint64_t state = 6;
    pto_samples_t *samples = new_samples();
    add_way(samples, PTO_BENCHMARK_REMOTE_LOAD_16, ALL_BLOCKS, 4e-12, &state);
    pto_fit_t fit = must_fit(samples, &any_node);
    assert_near(pto_machine_remote(fit.machine, PTO_REMOTE_LOAD, PTO_REACH_OFF_SOCKET)->beta_s_per_byte.value,
                4e-12, 0.02);
    assert_null(find_entry(&fit, "remote.load.on_socket by width"));
}

TEST(an_empty_kernel_must_be_among_the_samples) {
    pto_samples_t *samples = new_samples();
    pto_sample_t sample = {.benchmark = PTO_BENCHMARK_REMOTE_STORE_16,
                           .place = PTO_AT_ON_SOCKET,
                           .procs = ALL_BLOCKS,
                           .messages = 1};
    for (sample.bytes = 16; sample.bytes <= 1 << 20; sample.bytes *= 2)
        add_equal(samples, sample, launch_s + store_beta * (double)sample.bytes, 1);
    pto_fit_t fit = fit_without(samples, "remote.store.on_socket", "without samples of 0 bytes");
    assert_null(pto_machine_remote(fit.machine, PTO_REMOTE_STORE, PTO_REACH_ON_SOCKET));
    samples = new_samples(); /* one size beside nothing */
    for (sample.bytes = 0; sample.bytes <= 1024; sample.bytes += 1024)
        add_equal(samples, sample, launch_s, 1);
    fit_without(samples, "remote.store.on_socket", "fewer than two sizes");
}

/* Four GPUs: three destinations. Rows of two GPUs, which are faster, do not count. */
TEST(all_at_once_have_a_rate_of_their_own) {
    uint64_t state = 7;
    pto_samples_t *samples = new_samples();
    add_way(samples, PTO_BENCHMARK_REMOTE_STORE_16, ALL_BLOCKS, store_beta, &state);
    pto_sample_t sample = {
        .benchmark = PTO_BENCHMARK_REMOTE_STORE_ALL, .place = PTO_AT_ON_SOCKET, .messages = 1};
    for (sample.procs = 2; sample.procs <= 4; sample.procs += 2) {
        for (sample.bytes = 16; sample.bytes <= 1 << 26; sample.bytes *= 2) {
            double rate = sample.procs == 4 ? all_beta : all_beta / 2;
            double leaving = (double)sample.bytes * (sample.procs - 1);
            add_shaken(samples, sample, 1e-5 + rate * leaving, &state);
        }
    }
    pto_fit_t fit = must_fit(samples, &any_node);
    assert_near(fit.machine->remote_all_s_per_byte.value, all_beta, 0.02);
    const char *note = entry_named(&fit, "remote.all_s_per_byte")->note;
    assert_non_null(strstr(note, "one of 4 GPUs"));
    assert_non_null(strstr(note, "0.83 times"));
    assert_readable(&fit);
}

/* One GPU stores to none, one size tells no rate, and a time that falls is none of bytes. */
TEST(a_rate_of_all_needs_two_gpus_two_sizes_and_a_slope) {
    static const struct {
        int32_t gpus;
        int sizes;
        double s_per_byte;
        const char *why;
    } cases[] = {{1, 3, 1e-11, "samples of two sizes and two GPUs are the least"},
                 {2, 1, 1e-11, "samples of two sizes and two GPUs are the least"},
                 {2, 3, -1e-10, "no line shows what a byte costs"},
                 {2, 2, 1e-11, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pto_samples_t *samples = new_samples();
        pto_sample_t sample = {.benchmark = PTO_BENCHMARK_REMOTE_STORE_ALL,
                               .place = PTO_AT_ON_SOCKET,
                               .procs = cases[i].gpus,
                               .messages = 1};
        for (int k = 0; k < cases[i].sizes; k++) {
            sample.bytes = 16384 << k;
            add_equal(samples, sample, 2e-5 + cases[i].s_per_byte * (double)sample.bytes, 1);
        }
        if (cases[i].why != NULL) {
            fit_without(samples, "remote.all_s_per_byte", cases[i].why);
            continue;
        }
        pto_fit_t fit = must_fit(samples, &any_node);
        assert_near(fit.machine->remote_all_s_per_byte.value, 1e-11, 1e-3); /* to one other */
        assert_string_equal(entry_named(&fit, "remote.all_s_per_byte")->note, "that leaves one of 2 GPUs");
        assert_int_equal(entry_named(&fit, "remote.all_s_per_byte")->sample_count, 2);
    }
}
