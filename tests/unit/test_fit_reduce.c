/* Fits of reductions: pieces at the cache sizes, operations pooled or separate, times below the grain. */
#include "machine/machine_internal.h"
#include "made_samples.h"
#include "test.h"

enum { REPEATS = 12 };

static const double noise = 0.03;

/* What a core does in two caches and in memory. */
static const struct {
    int64_t from_bytes;
    int64_t below_bytes;
    double alpha_s;
    double beta_s_per_byte;
} truth[] = {
    {0, 32768, 1e-7, 1e-11},
    {32768, 4 << 20, 6e-7, 2e-11},
    {4 << 20, INT64_MAX, 1e-4, 6e-11},
};
enum { TRUTH_COUNT = sizeof truth / sizeof *truth };

static double true_seconds(int64_t bytes) {
    int k = 0;
    while (bytes >= truth[k].below_bytes)
        k++;
    return truth[k].alpha_s + truth[k].beta_s_per_byte * (double)bytes;
}

/* Reductions of one operation and type on the CPU, `factor` times as slow as the truth. */
static void add_reductions(pto_samples_t *samples, const char *pair, double factor, uint64_t *state) {
    pto_sample_t sample = {.benchmark = PTO_BENCHMARK_REDUCE,
                           .where = PTO_IN_CPU,
                           .pair_hash = pto_sample_pair_hash(pair),
                           .procs = 1,
                           .messages = 1};
    for (sample.bytes = 8; sample.bytes <= 1 << 26; sample.bytes *= 2)
        add_noisy(samples, sample, factor * true_seconds(sample.bytes), noise, REPEATS, state);
}

static void assert_truth(const pto_cost_table_t *cost, double tolerance) {
    assert_int_equal(cost->count, TRUTH_COUNT);
    for (int k = 0; k < TRUTH_COUNT; k++) {
        assert_int_equal(cost->row[k].from_bytes, truth[k].from_bytes);
        assert_int_equal(cost->row[k].below_bytes, truth[k].below_bytes);
        assert_near(cost->row[k].postal.beta_s_per_byte.value, truth[k].beta_s_per_byte, tolerance);
        assert_near(cost->row[k].postal.alpha_s.value, truth[k].alpha_s, 3 * tolerance);
    }
}

TEST(pieces_end_where_the_caches_do) {
    uint64_t state = 1;
    pto_samples_t *samples = new_samples();
    add_reductions(samples, "sum-float", 1, &state);
    pto_fit_t fit = must_fit(samples, &any_node);
    assert_truth(&fit.machine->reduce[PTO_SPACE_CPU], 0.02);
    assert_int_equal(entry_named(&fit, "reduce.cpu below 32768")->below_bytes, 32768);
    assert_int_equal(entry_named(&fit, "reduce.cpu from 4194304")->from_bytes, 4 << 20);
    assert_int_equal(fit.machine->reduce[PTO_SPACE_GPU].count, 0);
}

TEST(operations_that_hardly_differ_are_pooled) {
    uint64_t state = 2;
    pto_samples_t *samples = new_samples();
    add_reductions(samples, "sum-int32", 0.95, &state);
    add_reductions(samples, "sum-float", 1, &state);
    add_reductions(samples, "prod-double", 1, &state);
    add_reductions(samples, "max-bfloat16", 1.05, &state);
    pto_fit_t fit = must_fit(samples, &any_node);
    assert_truth(&fit.machine->reduce[PTO_SPACE_CPU], 0.02);
    const char *note = entry_named(&fit, "reduce.cpu by operation")->note;
    assert_non_null(strstr(note, "pooled; 4 operations and types"));
    assert_non_null(strstr(note, "0.95 (sum-int32) to 1.05 (max-bfloat16)"));
}

/* The same times, to the last digit: neither is slower. */
TEST(of_equal_operations_the_first_is_named) {
    static const char *const pairs[] = {"max-int64", "prod-double", "sum-float"};
    pto_samples_t *samples = new_samples();
    for (int i = 0; i < 3; i++) {
        uint64_t state = 5;
        add_reductions(samples, pairs[i], 1, &state);
    }
    pto_fit_t fit = must_fit(samples, &any_node);
    assert_non_null(strstr(entry_named(&fit, "reduce.cpu by operation")->note,
                           "took 1.00 (sum-float) to 1.00 (sum-float) times"));
}

TEST(operations_that_differ_much_leave_the_usual_one) {
    uint64_t state = 3;
    pto_samples_t *samples = new_samples();
    add_reductions(samples, "sum-float", 1, &state);
    add_reductions(samples, "max-int64", 3, &state);
    pto_fit_t fit = must_fit(samples, &any_node);
    assert_truth(&fit.machine->reduce[PTO_SPACE_CPU], 0.02);
    const char *note = entry_named(&fit, "reduce.cpu by operation")->note;
    assert_non_null(strstr(note, "fitted to sum-float alone"));
}

/* Times of a few ns that are three times what they should be make no piece of their own and move no line. */
TEST(times_below_the_grain_do_not_steer) {
    uint64_t state = 4;
    pto_samples_t *samples = new_samples();
    pto_sample_t sample = {.benchmark = PTO_BENCHMARK_REDUCE, .where = PTO_IN_CPU, .procs = 1, .messages = 1};
    for (sample.bytes = 8; sample.bytes <= 1 << 26; sample.bytes *= 2) {
        double odd = sample.bytes < 256 ? 3 : 1;
        add_noisy(samples, sample, odd * (2e-9 + 2e-11 * (double)sample.bytes), noise, REPEATS, &state);
    }
    pto_fit_t fit = must_fit(samples, &any_node);
    const pto_cost_table_t *cost = &fit.machine->reduce[PTO_SPACE_CPU];
    assert_int_equal(cost->count, 1);
    assert_near(cost->row[0].postal.beta_s_per_byte.value, 2e-11, 0.02);
    assert_true(cost->row[0].postal.alpha_s.value < 1e-8);
}
