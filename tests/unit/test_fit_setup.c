/* Fits of a plan's setup costs: pieces, and the largest number of processes. */
#include "machine/machine_internal.h"
#include "made_samples.h"
#include "test.h"

enum { REPEATS = 12, PAGE_BYTES = 2 << 20 };

static const double noise = 0.03;

static double small_is_cheap(double bytes) { return bytes < PAGE_BYTES ? 2e-6 : 1e-4 + 1e-11 * bytes; }
static double one_line(double bytes) { return 2e-5 + 2e-10 * bytes; }

/* Sizes from 4 KiB to 64 MiB, and `procs` times as slow as the truth. */
static void add_sized(pto_samples_t *samples, pto_benchmark_t benchmark, pto_sample_space_t where, int procs,
                      double (*truth)(double), uint64_t *state) {
    pto_sample_t sample = {.benchmark = (uint8_t)benchmark, .where = (uint8_t)where, .procs = procs};
    sample.messages = 1;
    for (sample.bytes = 4096; sample.bytes <= 1 << 26; sample.bytes *= 2)
        add_noisy(samples, sample, procs * truth((double)sample.bytes), noise, REPEATS, state);
}

TEST(allocations_have_pieces) {
    uint64_t random = 1;
    pto_samples_t *samples = new_samples();
    add_sized(samples, PTO_BENCHMARK_SETUP_ALLOCATE, PTO_IN_GPU, 1, small_is_cheap, &random);
    add_sized(samples, PTO_BENCHMARK_SETUP_ALLOCATE, PTO_IN_CPU, 1, one_line, &random);
    pto_fit_t fit = must_fit(samples, &any_node);
    const pto_cost_table_t *gpu = &fit.machine->setup_allocate[PTO_SPACE_GPU];
    const pto_cost_table_t *cpu = &fit.machine->setup_allocate[PTO_SPACE_CPU];
    assert_int_equal(gpu->count, 2);
    assert_int_equal(gpu->row[0].below_bytes, PAGE_BYTES);
    assert_near(gpu->row[0].postal.alpha_s.value, 2e-6, noise);
    assert_near(gpu->row[1].postal.alpha_s.value, 1e-4, noise);
    assert_near(gpu->row[1].postal.beta_s_per_byte.value, 1e-11, 3 * noise);
    assert_int_equal(cpu->count, 1);
    assert_near(cpu->row[0].postal.alpha_s.value, 2e-5, noise);
    assert_near(cpu->row[0].postal.beta_s_per_byte.value, 2e-10, noise);
}

/* As a plan's processes do it: all at once. */
TEST(the_largest_number_of_processes_is_used) {
    uint64_t random = 2;
    pto_samples_t *samples = new_samples();
    for (int procs = 1; procs <= 3; procs++)
        add_sized(samples, PTO_BENCHMARK_SETUP_OPEN, PTO_IN_GPU, procs, one_line, &random);
    pto_fit_t fit = must_fit(samples, &any_node);
    assert_int_equal(fit.machine->setup_open.count, 1);
    assert_near(fit.machine->setup_open.row[0].postal.alpha_s.value, 3 * 2e-5, noise);
    assert_near(fit.machine->setup_open.row[0].postal.beta_s_per_byte.value, 3 * 2e-10, noise);
}
