/* Which sizes portolan-calibrate measures, and how often, on a clock and a made-up machine of the test's own:
 * its costs are known, and noise is added. The adaptive plan must find the same machine as the exhaustive one
 * in a third of the time, and the estimate must come near either. Needs no mpirun. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../calibrate/benchmark.h"
#include "../../calibrate/engine.h"
#include "../../calibrate/sizes.h"
#include "fatal.h"
#include "portolan/fit.h"

/* --- the clock and the machine --------------------------------------------------------------------------
 */

static double clock_s;

double __wrap_now_s(void);  /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
double __wrap_now_s(void) { /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
    return clock_s;
}

static const double meeting_s = 1e-5;

/* From `from_bytes` on. */
typedef struct {
    double alpha_s, beta_s_per_byte;
    int64_t from_bytes;
} piece_t;

enum { PIECES_MAX = 4 };

typedef struct {
    const char *benchmark, *space, *level;
    int procs, messages;
    int64_t least_bytes, most_bytes; /* 0: no sizes */
    piece_t piece[PIECES_MAX];
} made_t;

/* Limits lie between powers of two. */
static const made_t made[] = {
    {"ping_pong",
     "cpu",
     "off_node",
     1,
     1,
     1,
     1 << 26,
     {{1.4e-6, 4e-10, 0}, {1.9e-6, 3.5e-10, 700}, {7e-6, 8e-11, 12000}}},
    {"ping_pong", "cpu", "on_socket", 1, 1, 1, 1 << 26, {{4e-7, 6e-11, 0}, {2.5e-6, 3.5e-11, 5000}}},
    {"ping_pong", "gpu", "on_socket", 1, 1, 1, 1 << 26, {{1.1e-5, 2.6e-12, 0}}},
    {"injection",
     "cpu",
     "off_node",
     1,
     1,
     1,
     1 << 24,
     {{1.4e-6, 4e-10, 0}, {1.9e-6, 3.5e-10, 700}, {7e-6, 8e-11, 12000}}},
    {"injection",
     "cpu",
     "off_node",
     4,
     1,
     1,
     1 << 24,
     {{1.6e-6, 4e-10, 0}, {2.4e-6, 4e-10, 700}, {8e-6, 1.6e-10, 12000}}},
    {"injection",
     "cpu",
     "off_node",
     8,
     1,
     1,
     1 << 24,
     {{1.8e-6, 4e-10, 0}, {2.4e-6, 4e-10, 700}, {8e-6, 3.2e-10, 12000}}},
    {"memcpy_h2d", "-", "on_socket", 1, 1, 1, 1 << 26, {{7.7e-6, 1.95e-11, 0}}},
    {"memcpy_d2h", "-", "on_socket", 1, 1, 1, 1 << 26, {{8.3e-6, 1.84e-11, 0}}},
    {"memcpy_shared_h2d", "-", "on_socket", 1, 1, 1, 1 << 26, {{7.7e-6, 1.95e-11, 0}}},
    {"memcpy_shared_h2d", "-", "on_socket", 4, 1, 1, 1 << 26, {{5.6e-4, 0, 0}, {1.8e-5, 8e-11, 20000}}},
    {"memcpy_peer", "-", "on_socket", 1, 1, 1, 1 << 26, {{7.3e-6, 2.64e-12, 0}}},
    {"reduce",
     "cpu",
     "-",
     1,
     1,
     8,
     1 << 26,
     {{6e-8, 6.1e-12, 0}, {2e-7, 1.9e-11, 40000}, {1e-6, 6.3e-11, 3000000}}},
    {"signal_flag", "cpu", "on_socket", 1, 1, 0, 0, {{1.8e-7, 0, 0}}},
    {"exchange", "cpu", "off_node", 1, 1, 1, 1 << 26, {{1e-4, 1e-6, 0}}},
    {"memcpy_shared_d2h", "-", "on_socket", 2, 1, 8, 1 << 20, {{1e-5, 0, 0}, {3e-5, 1e-11, 20}}},
};
enum { MADE_COUNT = sizeof made / sizeof *made - 2 };

/* Not among them: 64 MiB take a minute. */
static const made_t *const slow = &made[MADE_COUNT];

/* Nor is this: elements of 8 bytes, and a limit between the second and the third. */
static const made_t *const of_elements = &made[MADE_COUNT + 1];

static double true_s(const made_t *what, int64_t bytes) {
    int i = 0;
    while (i + 1 < PIECES_MAX && what->piece[i + 1].alpha_s > 0 && bytes >= what->piece[i + 1].from_bytes)
        i++;
    return what->piece[i].alpha_s + what->piece[i].beta_s_per_byte * (double)bytes;
}

static double noise; /* standard deviation, relative */
static uint64_t random_state;

static double uniform(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(random_state >> 11) / 9007199254740992.0;
}

/* About normal; one sample of fifty is three times too slow. */
static double shaken(double seconds) {
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += uniform();
    double times = noise > 0 && uniform() < 0.02 ? 3 : 1;
    return seconds * times * fmax(1 + noise * sum, 0.2);
}

/* --- the benchmark --------------------------------------------------------------------------------------
 */

static int64_t asked[4096]; /* the sizes of the trials of the last run */
static int asked_count;

static void *open_case(const work_t *work) { return (void *)&made[work->what->detail[0]]; }

static double trial(void *state, int64_t bytes, int iterations) {
    double seconds = iterations * shaken(true_s(state, bytes));
    if (asked_count < (int)(sizeof asked / sizeof *asked))
        asked[asked_count++] = bytes;
    clock_s += seconds + meeting_s;
    return seconds;
}

static const benchmark_t benchmark = {.name = "made", .open = open_case, .trial = trial};

static void add_case(case_list_t *list, int index) {
    const made_t *what = &made[index];
    case_t *added = case_add(list, what->benchmark, 1);
    added->space = what->space;
    added->level = what->level;
    added->procs = what->procs;
    added->messages = what->messages;
    added->sized = what->most_bytes > 0;
    if (added->sized) {
        added->least_bytes = what->least_bytes;
        added->most_bytes = what->most_bytes;
    }
    added->detail[0] = index;
    added->member[0] = 0;
}

static const job_t *the_job(void) {
    static process_t process;
    static job_t job;
    job = (job_t){.world = MPI_COMM_WORLD, .size = 1, .process = &process, .node_count = 1};
    return &job;
}

static pto_calibrate_options_t the_options(bool exhaustive) {
    return (pto_calibrate_options_t){.from_bytes = 1,
                                     .to_bytes = 1 << 26,
                                     .factor = 2,
                                     .budget_s = 1000,
                                     .repeats = 50,
                                     .exhaustive = exhaustive};
}

/* Measures cases first..past-1; returns the seconds that it took. */
static double measure(const pto_calibrate_options_t *options, int first, int past, const char *path,
                      int *left_out) {
    case_list_t list = {0};
    samples_t *samples = samples_create(path, true);
    assert_non_null(samples);
    for (int i = first; i < past; i++)
        add_case(&list, i);
    samples_begin(samples);
    asked_count = 0;
    double began_s = clock_s;
    *left_out = engine_run(the_job(), options, &benchmark, &list, samples);
    assert_true(samples_close(samples, *left_out));
    case_list_fini(&list);
    return clock_s - began_s;
}

static char path[64];

/* Of one case, all of which is measured. */
static pto_samples_t samples_of(const pto_calibrate_options_t *options, int index) {
    int left_out = 0;
    pto_samples_t samples = {0};
    measure(options, index, index + 1, path, &left_out);
    assert_int_equal(left_out, 0);
    assert_int_equal(pto_samples_read(path, &samples, NULL), PTO_OK);
    return samples;
}

static int samples_at(const pto_samples_t *samples, int64_t bytes) {
    int count = 0;
    for (size_t i = 0; i < samples->count; i++)
        count += samples->sample[i].bytes == bytes;
    return count;
}

static int size_count(const pto_samples_t *samples) {
    int count = 0;
    for (size_t i = 0; i < samples->count; i++)
        count += samples->sample[i].run == 1;
    return count;
}

static int index_of(const char *name, const char *level, int procs) {
    for (int i = 0; i < MADE_COUNT; i++)
        if (strcmp(made[i].benchmark, name) == 0 && strcmp(made[i].level, level) == 0 &&
            made[i].procs == procs)
            return i;
    fail_msg("no case %s", name);
    return -1;
}

/* --- the plan -------------------------------------------------------------------------------------------
 */

static void a_line_needs_every_second_power_of_two_and_five_samples(void **state) {
    (void)state;
    noise = 0;
    pto_calibrate_options_t options = the_options(false);
    pto_samples_t samples = samples_of(&options, index_of("memcpy_h2d", "on_socket", 1));
    assert_int_equal(size_count(&samples), 14);
    for (int64_t bytes = 1; bytes <= 1 << 26; bytes *= 4)
        assert_int_equal(samples_at(&samples, bytes), 5);
    pto_samples_fini(&samples);
}

static void an_exhaustive_plan_measures_all_sizes(void **state) {
    (void)state;
    noise = 0;
    pto_calibrate_options_t options = the_options(true);
    pto_samples_t samples = samples_of(&options, index_of("memcpy_h2d", "on_socket", 1));
    assert_int_equal(size_count(&samples), 27);
    for (int64_t bytes = 1; bytes <= 1 << 26; bytes *= 2)
        assert_int_equal(samples_at(&samples, bytes), 6);
    pto_samples_fini(&samples);
    noise = 0.2;
    random_state = 1;
    samples = samples_of(&options, index_of("memcpy_h2d", "on_socket", 1));
    for (int64_t bytes = 1; bytes <= 1 << 26; bytes *= 2)
        assert_true(samples_at(&samples, bytes) > 40); /* it is hardly ever settled */
    pto_samples_fini(&samples);
}

/* Whether some two sizes enclose a limit, and are an eighth apart at most. */
static bool encloses(const pto_samples_t *samples, int64_t limit_bytes) {
    int64_t low = 0, high = INT64_MAX;
    for (size_t i = 0; i < samples->count; i++) {
        int64_t bytes = samples->sample[i].bytes;
        low = bytes < limit_bytes && bytes > low ? bytes : low;
        high = bytes >= limit_bytes && bytes < high ? bytes : high;
    }
    return (high - low) * 8 <= low;
}

static void limits_are_bisected_to_an_eighth(void **state) {
    (void)state;
    noise = 0.02;
    for (int seed = 1; seed <= 20; seed++) {
        random_state = (uint64_t)seed;
        pto_calibrate_options_t options = the_options(false);
        pto_samples_t samples = samples_of(&options, index_of("ping_pong", "off_node", 1));
        assert_true(encloses(&samples, 12000));
        pto_samples_fini(&samples);
        samples = samples_of(&options, index_of("memcpy_shared_h2d", "on_socket", 4));
        assert_true(encloses(&samples, 20000));
        assert_true(size_count(&samples) < 27);
        pto_samples_fini(&samples);
        samples = samples_of(&options, index_of("ping_pong", "on_socket", 1));
        assert_true(encloses(&samples, 5000));
        pto_samples_fini(&samples);
    }
}

static void sizes_between_powers_of_two_are_of_whole_elements(void **state) {
    (void)state;
    noise = 0.02;
    random_state = 3;
    pto_calibrate_options_t options = the_options(false);
    int left_out, index = (int)(of_elements - made), between = 0;
    measure(&options, index, index + 1, path, &left_out);
    for (int i = 0; i < asked_count; i++) {
        assert_int_equal(asked[i] % 8, 0);
        between += asked[i] == 24;
    }
    assert_true(between > 0);
}

static void the_half_of_the_largest_size_is_not_measured(void **state) {
    (void)state;
    noise = 0;
    for (int64_t from_bytes = 1; from_bytes <= 8; from_bytes *= 2) {
        pto_calibrate_options_t options = the_options(false);
        options.from_bytes = from_bytes;
        pto_samples_t samples = samples_of(&options, index_of("memcpy_h2d", "on_socket", 1));
        assert_true(samples_at(&samples, from_bytes) > 0 && samples_at(&samples, 1 << 26) > 0);
        assert_int_equal(samples_at(&samples, 1 << 25), 0);
        assert_true(samples_at(&samples, 1 << 24) > 0);
        pto_samples_fini(&samples);
    }
}

static void noise_alone_is_no_limit(void **state) {
    (void)state;
    noise = 0.15;
    int sizes = 0;
    for (int seed = 1; seed <= 20; seed++) {
        random_state = (uint64_t)seed;
        pto_calibrate_options_t options = the_options(false);
        pto_samples_t samples = samples_of(&options, index_of("memcpy_peer", "on_socket", 1));
        sizes += size_count(&samples) - 14;
        pto_samples_fini(&samples);
    }
    print_message("20 lines with 15 percent noise: %d sizes more than without\n", sizes);
    assert_true(sizes < 60);
}

static void some_cases_need_every_size(void **state) {
    (void)state;
    visit_t visit;
    int count = 0;
    sizes_t *sizes = sizes_create(&(sizes_options_t){.from_bytes = 1,
                                                     .to_bytes = 1 << 20,
                                                     .factor = 2,
                                                     .unit_bytes = 1,
                                                     .repeats = 5,
                                                     .every_size = true});
    for (; sizes_next(sizes, &visit); count++) {
        double seconds[5] = {1, 1, 1, 1, 1};
        assert_int_equal(visit.bytes, 1 << count);
        sizes_take(sizes, &visit, seconds, 5);
    }
    assert_int_equal(count, 21);
    sizes_destroy(sizes);
}

/* Samples of a line of this noise. */
static int samples_of_a_line(double its_noise, int64_t to_bytes) {
    noise = its_noise;
    random_state = 5;
    pto_calibrate_options_t options = the_options(false);
    options.to_bytes = to_bytes;
    pto_samples_t samples = samples_of(&options, index_of("memcpy_peer", "on_socket", 1));
    int count = (int)samples.count;
    for (int64_t bytes = 1; bytes <= to_bytes; bytes *= 2)
        assert_in_range(samples_at(&samples, bytes), 0, 20);
    pto_samples_fini(&samples);
    return count;
}

/* A line of many sizes bears more noise than one of few. */
static void noise_is_measured_away_as_far_as_a_line_needs(void **state) {
    (void)state;
    assert_true(samples_of_a_line(0.06, 1 << 26) < 14 * 5 + 20);
    assert_true(samples_of_a_line(0.12, 2) > 2 * 5 + 10);
    assert_true(samples_of_a_line(0.25, 1 << 26) > 14 * 10);
    noise = 0.1;
    pto_calibrate_options_t options = the_options(false);
    pto_samples_t samples = samples_of(&options, index_of("signal_flag", "on_socket", 1));
    assert_true(samples.count > 20);
    pto_samples_fini(&samples);
}

static void each_sample_is_written_once(void **state) {
    (void)state;
    noise = 0.25;
    random_state = 9;
    pto_calibrate_options_t options = the_options(false);
    pto_samples_t samples = samples_of(&options, index_of("memcpy_peer", "on_socket", 1));
    for (size_t i = 0; i < samples.count; i++) {
        const pto_sample_t *one = &samples.sample[i];
        assert_in_range(one->run, 1, samples_at(&samples, one->bytes));
        for (size_t k = 0; k < i; k++)
            assert_true(samples.sample[k].bytes != one->bytes ||
                        (samples.sample[k].run != one->run && samples.sample[k].seconds != one->seconds));
    }
    pto_samples_fini(&samples);
}

static void what_there_is_no_time_for_is_left_out_from_above(void **state) {
    (void)state;
    noise = 0;
    for (int exhaustive = 0; exhaustive < 2; exhaustive++) {
        pto_calibrate_options_t options = the_options(exhaustive == 1);
        int left_out, index = (int)(slow - made);
        options.budget_s = 20;
        double took_s = measure(&options, index, index + 1, path, &left_out);
        assert_true(took_s > 0.25 * options.budget_s && took_s <= options.budget_s);
        assert_in_range(left_out, 3, 6);
        int64_t largest = (1 << 26) >> left_out, seen = 0;
        for (int i = 0; i < asked_count; i++)
            seen = asked[i] > seen ? asked[i] : seen;
        assert_int_equal(seen, largest);
    }
}

/* What fits in a run of its own also is a plan: of few sizes, none is left out. */
static void short_ladders_are_measured_whole(void **state) {
    (void)state;
    noise = 0;
    pto_calibrate_options_t options = the_options(false);
    options.from_bytes = 8;
    options.to_bytes = 64;
    pto_samples_t samples = samples_of(&options, index_of("memcpy_h2d", "on_socket", 1));
    assert_int_equal(size_count(&samples), 4);
    pto_samples_fini(&samples);
    options = the_options(false);
    options.factor = 16;
    samples = samples_of(&options, index_of("memcpy_h2d", "on_socket", 1));
    assert_int_equal(size_count(&samples), 7);
    pto_samples_fini(&samples);
}

/* --- the machine ----------------------------------------------------------------------------------------
 */

static double fit_of(bool exhaustive, int seed, pto_fit_t *fit) {
    pto_calibrate_options_t options = the_options(exhaustive);
    pto_fit_options_t how = {.partial = true, .node = {.sockets = 2, .gpus = 2, .cores = 16}};
    pto_samples_t samples = {0};
    pto_error_t err = {0};
    int left_out;
    noise = 0.03;
    random_state = (uint64_t)seed;
    double took_s = measure(&options, 0, MADE_COUNT, path, &left_out);
    assert_int_equal(left_out, 0);
    assert_int_equal(pto_samples_read(path, &samples, &err), PTO_OK);
    if (pto_fit_samples(&samples, "made-up", "a test", &how, fit, &err) != PTO_OK)
        fail_msg("%s", err.message);
    pto_samples_fini(&samples);
    return took_s;
}

/* Names say where a piece begins, which two fits may find at different sizes. */
static bool is_named(const pto_fit_entry_t *entry, const char *name) {
    size_t length = strcspn(name, " ");
    const char *from = strstr(name, ".from_");
    length = from ? (size_t)(from - name) : length;
    return entry->kind != PTO_FIT_ABSENT && strncmp(entry->name, name, length) == 0 &&
           (strchr(" ", entry->name[length]) != NULL || strncmp(entry->name + length, ".from_", 6) == 0);
}

/* The count-th entry of this name, from 0. */
static const pto_fit_entry_t *entry_of(const pto_fit_t *fit, const char *name, int count) {
    for (int i = 0; i < fit->entry_count; i++)
        if (is_named(&fit->entry[i], name) && count-- == 0)
            return &fit->entry[i];
    return NULL;
}

/* How many entries before this one have its name. */
static int place_of(const pto_fit_t *fit, int index) {
    int count = 0;
    for (int i = 0; i < index; i++)
        count += is_named(&fit->entry[i], fit->entry[index].name);
    return count;
}

/* Whether two intervals meet. */
static bool agree(const pto_param_t *a, const pto_param_t *b) {
    return a->low <= b->high && b->low <= a->high;
}

static void count_pair(const pto_param_t *mine, const pto_param_t *theirs, int *agreeing, int *all) {
    if (!mine->has_interval || !theirs->has_interval)
        return;
    ++*all;
    *agreeing += agree(mine, theirs);
}

/* Parameters with intervals, in both fits. A name has as many entries as there are pieces of it. */
static void count_agreeing(const pto_fit_t *one, const pto_fit_t *other, int *agreeing, int *all) {
    for (int i = 0; i < one->entry_count; i++) {
        const pto_fit_entry_t *mine = &one->entry[i];
        if (mine->kind == PTO_FIT_ABSENT)
            continue;
        const pto_fit_entry_t *theirs = entry_of(other, mine->name, place_of(one, i));
        if (!theirs) {
            fail_msg("only one of the fits has %s", mine->name);
            return;
        }
        count_pair(&mine->alpha_s, &theirs->alpha_s, agreeing, all);
        count_pair(&mine->beta_s_per_byte, &theirs->beta_s_per_byte, agreeing, all);
    }
}

static void near(const pto_fit_t *fit, const char *name, double alpha_s, double beta_s_per_byte) {
    const pto_fit_entry_t *entry = entry_of(fit, name, 0);
    if (!entry || fabs(entry->alpha_s.value / alpha_s - 1) > 0.05 ||
        fabs(entry->beta_s_per_byte.value / beta_s_per_byte - 1) > 0.05)
        fail_msg("%s: %g %g, not %g %g", name, entry ? entry->alpha_s.value : 0,
                 entry ? entry->beta_s_per_byte.value : 0, alpha_s, beta_s_per_byte);
}

static void the_same_machine_is_found_in_a_third_of_the_time(void **state) {
    (void)state;
    int agreeing = 0, all = 0, bisected = 0;
    for (int seed = 1; seed <= 10; seed++) {
        pto_fit_t fit[2];
        double full_s = fit_of(true, seed, &fit[0]);
        double adaptive_s = fit_of(false, seed + 100, &fit[1]);
        if (seed == 1)
            print_message("all sizes: %.2f s, adaptive: %.2f s\n", full_s, adaptive_s);
        assert_true(adaptive_s <= full_s / 3);
        count_agreeing(&fit[0], &fit[1], &agreeing, &all);
        near(&fit[1], "messages.cpu.off_node.rendezvous", 7e-6, 8e-11);
        near(&fit[1], "messages.gpu.on_socket.rendezvous", 1.1e-5, 2.6e-12);
        near(&fit[1], "copies.h2d.on_socket", 7.7e-6, 1.95e-11);
        near(&fit[1], "peer.on_socket", 7.3e-6, 2.64e-12);
        const pto_fit_entry_t *eager = entry_of(&fit[1], "messages.cpu.off_node.eager", 0);
        assert_non_null(eager);
        bisected += eager->below_bytes >= 12000 && eager->below_bytes <= 12000 * 9 / 8;
        for (int i = 0; i < 2; i++)
            pto_fit_fini(&fit[i]);
    }
    assert_true(bisected >= 8); /* a jump of 30 percent, in noise of 3 */
    print_message("%d of %d parameters agree within their intervals\n", agreeing, all);
    assert_true(all > 200 && agreeing >= 0.98 * all);
}

/* --- the estimate ---------------------------------------------------------------------------------------
 */

static void the_estimate_is_within_a_factor_of_two(void **state) {
    (void)state;
    for (int exhaustive = 0; exhaustive < 2; exhaustive++)
        for (int level = 0; level < 3; level++) {
            pto_calibrate_options_t options = the_options(exhaustive == 1);
            case_list_t list = {0};
            int left_out;
            noise = (const double[]){0.005, 0.02, 0.05}[level];
            random_state = (uint64_t)(7 + level);
            for (int i = 0; i < MADE_COUNT; i++)
                add_case(&list, i);
            double began_s = clock_s;
            double estimate_s = engine_estimate(the_job(), &options, &benchmark, &list);
            double probing_s = clock_s - began_s;
            double took_s = measure(&options, 0, MADE_COUNT, path, &left_out);
            case_list_fini(&list);
            print_message("%s, noise %.3f: estimated %.2f s, took %.2f s\n",
                          exhaustive ? "all sizes" : "adaptive", noise, estimate_s, took_s);
            assert_true(estimate_s < 2 * took_s && took_s < 2 * estimate_s);
            assert_true(probing_s < 0.15 * took_s);
        }
}

static void an_estimate_never_exceeds_the_budget(void **state) {
    (void)state;
    pto_calibrate_options_t options = the_options(true);
    case_list_t list = {0};
    add_case(&list, 0);
    options.budget_s = 0.02;
    assert_true(engine_estimate(the_job(), &options, &benchmark, &list) <= 0.02);
    assert_int_equal(engine_size_count(&options, &list), 27);
    case_list_fini(&list);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    snprintf(path, sizeof path, "/tmp/test_sizes-%d.csv", (int)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_needs_every_second_power_of_two_and_five_samples),
        cmocka_unit_test(an_exhaustive_plan_measures_all_sizes),
        cmocka_unit_test(limits_are_bisected_to_an_eighth),
        cmocka_unit_test(sizes_between_powers_of_two_are_of_whole_elements),
        cmocka_unit_test(the_half_of_the_largest_size_is_not_measured),
        cmocka_unit_test(noise_alone_is_no_limit),
        cmocka_unit_test(some_cases_need_every_size),
        cmocka_unit_test(noise_is_measured_away_as_far_as_a_line_needs),
        cmocka_unit_test(each_sample_is_written_once),
        cmocka_unit_test(what_there_is_no_time_for_is_left_out_from_above),
        cmocka_unit_test(short_ladders_are_measured_whole),
        cmocka_unit_test(the_same_machine_is_found_in_a_third_of_the_time),
        cmocka_unit_test(the_estimate_is_within_a_factor_of_two),
        cmocka_unit_test(an_estimate_never_exceeds_the_budget),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    MPI_Finalize();
    return failed;
}
