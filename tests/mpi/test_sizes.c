/* Which sizes portolan-calibrate measures, and how often, on a made-up machine; and what it estimates. Needs
 * no mpirun. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../calibrate/estimate.h"
#include "../../calibrate/sizes.h"
#include "made_costs.h"
#include "portolan/samples.h"

static char path[64];

/* Of one case, all of which is measured. */
static pto_samples_t samples_of(const pto_calibrate_options_t *options, int index) {
    int left_out = 0;
    pto_samples_t samples = {0};
    made_measure(options, index, index + 1, path, &left_out);
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

/* --- the plan ------------------------------------------------------------------------------------------ */

static void a_line_needs_every_second_power_of_two_and_few_samples(void **state) {
    (void)state;
    made_begin(1, 0);
    pto_calibrate_options_t options = made_options(false);
    pto_samples_t samples = samples_of(&options, made_index("memcpy_h2d", "on_socket", 1));
    assert_int_equal(size_count(&samples), 14);
    for (int64_t bytes = 1; bytes <= 1 << 26; bytes *= 4)
        assert_int_equal(samples_at(&samples, bytes), bytes < 1 << 24 ? 5 : 3); /* longer than 200 us */
    pto_samples_fini(&samples);
}

/* How often the repetitions of a size began, after those of another. */
static int visits_of(int64_t bytes) {
    const int64_t *asked;
    int asked_count = made_asked(&asked), visits = 0;
    for (int i = 0; i < asked_count; i++)
        visits += asked[i] == bytes && (i == 0 || asked[i - 1] != bytes);
    return visits;
}

static void no_size_has_all_its_samples_in_one_visit(void **state) {
    (void)state;
    made_begin(2, 0.02);
    pto_calibrate_options_t options = made_options(false);
    pto_samples_t samples = samples_of(&options, made_index("memcpy_h2d", "on_socket", 1));
    for (int64_t bytes = 1; bytes <= 1 << 26; bytes *= 4)
        assert_true(visits_of(bytes) >= 2);
    pto_samples_fini(&samples);
}

static void an_exhaustive_plan_measures_all_sizes(void **state) {
    (void)state;
    made_begin(1, 0);
    pto_calibrate_options_t options = made_options(true);
    pto_samples_t samples = samples_of(&options, made_index("memcpy_h2d", "on_socket", 1));
    assert_int_equal(size_count(&samples), 27);
    for (int64_t bytes = 1; bytes <= 1 << 26; bytes *= 2)
        assert_int_equal(samples_at(&samples, bytes), 6);
    pto_samples_fini(&samples);
    made_begin(1, 0.2);
    samples = samples_of(&options, made_index("memcpy_h2d", "on_socket", 1));
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
    for (int seed = 1; seed <= 20; seed++) {
        made_begin(seed, 0.02);
        pto_calibrate_options_t options = made_options(false);
        pto_samples_t samples = samples_of(&options, made_index("ping_pong", "off_node", 1));
        assert_true(encloses(&samples, 12000));
        pto_samples_fini(&samples);
        samples = samples_of(&options, made_index("memcpy_shared_h2d", "on_socket", 4));
        assert_true(encloses(&samples, 20000));
        assert_true(size_count(&samples) < 27);
        pto_samples_fini(&samples);
        samples = samples_of(&options, made_index("ping_pong", "on_socket", 1));
        assert_true(encloses(&samples, 5000));
        pto_samples_fini(&samples);
    }
}

static void sizes_between_powers_of_two_are_of_whole_elements(void **state) {
    (void)state;
    made_begin(3, 0.02);
    pto_calibrate_options_t options = made_options(false);
    int left_out, index = MADE_OF_ELEMENTS, between = 0;
    made_measure(&options, index, index + 1, path, &left_out);
    const int64_t *asked;
    int asked_count = made_asked(&asked);
    for (int i = 0; i < asked_count; i++) {
        assert_int_equal(asked[i] % 8, 0);
        between += asked[i] == 24;
    }
    assert_true(between > 0);
}

static void the_half_of_the_largest_size_is_not_measured(void **state) {
    (void)state;
    made_begin(1, 0);
    for (int64_t from_bytes = 1; from_bytes <= 8; from_bytes *= 2) {
        pto_calibrate_options_t options = made_options(false);
        options.from_bytes = from_bytes;
        pto_samples_t samples = samples_of(&options, made_index("memcpy_h2d", "on_socket", 1));
        assert_true(samples_at(&samples, from_bytes) > 0 && samples_at(&samples, 1 << 26) > 0);
        assert_int_equal(samples_at(&samples, 1 << 25), 0);
        assert_true(samples_at(&samples, 1 << 24) > 0);
        pto_samples_fini(&samples);
    }
}

static void noise_alone_is_no_limit(void **state) {
    (void)state;
    int sizes = 0;
    for (int seed = 1; seed <= 20; seed++) {
        made_begin(seed, 0.15);
        pto_calibrate_options_t options = made_options(false);
        pto_samples_t samples = samples_of(&options, made_index("memcpy_peer", "on_socket", 1));
        sizes += size_count(&samples) - 14;
        pto_samples_fini(&samples);
    }
    print_message("20 lines with 15 percent noise: %d sizes more than without\n", sizes);
    /* Twelve sizes of a line have neighbours. By chance, one in twenty is outside of its 95 percent interval,
     * and two intervals are halved then. */
    assert_true(sizes <= 20 * 12 * 2 / 20);
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

/* Plays a plan; a sample takes what `cost` says of the size and of how often it was visited before.
 */
typedef double (*cost_t)(int64_t bytes, int visit);

enum { PLAYED_MAX = 100 };

typedef struct {
    visit_t visit[PLAYED_MAX];
    int count;
} played_t;

static int visits_before(const played_t *played, int64_t bytes) {
    int count = 0;
    for (int i = 0; i < played->count; i++)
        count += played->visit[i].bytes == bytes;
    return count;
}

static void play_by(int64_t factor, int64_t to_bytes, int iterations, cost_t cost, played_t *played) {
    visit_t visit;
    sizes_t *sizes = sizes_create(&(sizes_options_t){
        .from_bytes = 1, .to_bytes = to_bytes, .factor = factor, .unit_bytes = 1, .repeats = 20});
    *played = (played_t){0};
    while (sizes_next(sizes, &visit)) {
        double seconds[20];
        int count = visit.had;
        assert_true(played->count < PLAYED_MAX);
        visit.iterations = iterations;
        sizes_recall(sizes, &visit, seconds);
        do
            seconds[count++] = cost(visit.bytes, visits_before(played, visit.bytes));
        while (count < visit.most && !sizes_enough(sizes, &visit, seconds, count));
        sizes_take(sizes, &visit, seconds, count);
        visit.most = count; /* what it had in the end */
        played->visit[played->count++] = visit;
    }
    sizes_destroy(sizes);
}

static void play_up_to(int64_t to_bytes, int iterations, cost_t cost, played_t *played) {
    play_by(2, to_bytes, iterations, cost, played);
}

static void play(cost_t cost, played_t *played) { play_up_to(1 << 20, 20, cost, played); }

static const visit_t *last_visit(const played_t *played, int64_t bytes) {
    const visit_t *last = NULL;
    for (int i = 0; i < played->count; i++)
        if (played->visit[i].bytes == bytes)
            last = &played->visit[i];
    return last;
}

static double takes_a_millisecond(int64_t bytes, int visit) { return bytes > 0 && visit >= 0 ? 1e-3 : 0; }

/* Of 6 to 9 sizes, two or three, if their repetitions are of one iteration. */
static void the_largest_third_has_fewer_samples(void **state) {
    (void)state;
    played_t played;
    for (int count = 6; count <= 9; count++)
        for (int iterations = 1; iterations <= 2; iterations++) {
            int longest = iterations == 1 ? count / 3 : 0;
            play_up_to(INT64_C(1) << 2 * (count - 1), iterations, takes_a_millisecond, &played);
            for (int i = 0; i < count; i++)
                assert_int_equal(last_visit(&played, INT64_C(1) << 2 * i)->most, i < count - longest ? 5 : 3);
        }
}

static const int64_t three_limits[] = {40, 5000, 300000};

static double jumps_at_three_limits(int64_t bytes, int visit) {
    double seconds = visit >= 0 ? 1e-5 : 0;
    for (int i = 0; i < 3; i++)
        seconds *= bytes >= three_limits[i] ? 3 : 1;
    return seconds;
}

/* As many as a fit finds. */
static void three_limits_are_bisected(void **state) {
    (void)state;
    played_t played;
    play(jumps_at_three_limits, &played);
    for (int k = 0; k < 3; k++) {
        int64_t low = 0, high = INT64_MAX;
        for (int i = 0; i < played.count; i++) {
            int64_t bytes = played.visit[i].bytes;
            low = bytes < three_limits[k] && bytes > low ? bytes : low;
            high = bytes >= three_limits[k] && bytes < high ? bytes : high;
        }
        assert_true((high - low) * 8 <= low);
    }
}

static int64_t wide_limit;

static double jumps_at_the_wide_limit(int64_t bytes, int visit) {
    return (visit >= 0 ? 1e-5 : 0) * (bytes >= wide_limit ? 3 : 1);
}

/* Two sizes find the octave of four, and three more its eighth. */
static void wide_steps_are_halved_by_octaves_first(void **state) {
    (void)state;
    for (wide_limit = 4100; wide_limit < 65536; wide_limit += wide_limit / 7) {
        played_t played;
        int between = 0;
        int64_t low = 0, high = INT64_MAX;
        play_by(16, 1 << 20, 20, jumps_at_the_wide_limit, &played);
        for (int i = 0; i < played.count; i++) {
            int64_t bytes = played.visit[i].bytes;
            low = bytes < wide_limit && bytes > low ? bytes : low;
            high = bytes >= wide_limit && bytes < high ? bytes : high;
            between += bytes > 4096 && bytes < 65536;
        }
        assert_true((high - low) * 8 <= low);
        assert_true(between <= 5);
    }
}

static double slow_at_first(int64_t bytes, int visit) { return bytes == 256 && visit == 0 ? 5e-4 : 1e-5; }

static double slow_at_second(int64_t bytes, int visit) { return bytes == 256 && visit == 1 ? 5e-4 : 1e-5; }

/* The quartiles of a median must be of samples that are not slow. */
static void slow_visits_are_outvoted(void **state) {
    (void)state;
    played_t played;
    play(slow_at_first, &played);
    assert_int_equal(last_visit(&played, 256)->most, 2 + 7); /* two slow ones of nine */
    assert_int_equal(last_visit(&played, 64)->most, 5);
    assert_null(last_visit(&played, 128));
    play(slow_at_second, &played);
    /* The visit ended with its first sample. Another one would leave no majority. */
    assert_int_equal(last_visit(&played, 256)->most, 3);
    assert_int_equal(visits_before(&played, 256), 2);
}

/* Two sizes that scatter until they have had four visits each. */
static double scatters_at_two_sizes(int64_t bytes, int visit) {
    static int count;
    bool scatters = (bytes == 64 || bytes == 4096) && visit < 4;
    return scatters ? (const double[]){0.6e-5, 1e-5, 1.4e-5}[count++ % 3] : 1e-5;
}

/* Visits of a size in a row would not lie apart in time. The last visit may follow one of the same size, when
 * the other one is known. */
static void sizes_that_are_not_known_take_turns(void **state) {
    (void)state;
    played_t played;
    play(scatters_at_two_sizes, &played);
    assert_true(visits_before(&played, 64) > 3 && visits_before(&played, 4096) > 3);
    for (int i = 1; i < played.count; i++)
        assert_true(played.visit[i].bytes != played.visit[i - 1].bytes || i + 1 == played.count);
}

/* A jump, and a machine that is slow when the sizes at it are measured. */
static double slow_at_a_limit(int64_t bytes, int visit) {
    bool between = (bytes & (bytes - 1)) != 0;
    return (bytes < 1500 ? 1e-5 : 3e-5) * (between && visit < 3 ? 50 : 1);
}

/* It waits once, and again after a visit that was not slow. */
static void limits_are_found_in_spite_of_slow_visits(void **state) {
    (void)state;
    const int rests[] = {4, 0, 0, 0, 4}; /* the fifth outvotes the slow ones */
    int visits = 0;
    int64_t low = 0, high = INT64_MAX;
    played_t played;
    play(slow_at_a_limit, &played);
    for (int i = 0; i < played.count; i++) {
        const visit_t *visit = &played.visit[i];
        low = visit->bytes < 1500 && visit->bytes > low ? visit->bytes : low;
        high = visit->bytes >= 1500 && visit->bytes < high ? visit->bytes : high;
        if (visit->bytes == 1536) {
            assert_true(visits < 5);
            assert_int_equal(visit->rests, rests[visits++]);
        }
    }
    assert_int_equal(visits, 5);
    assert_true((high - low) * 8 <= low);
}

/* Samples that take ten times as long as they should. */
static int slow_samples(const pto_samples_t *samples, int index) {
    int count = 0;
    for (size_t i = 0; i < samples->count; i++)
        count += samples->sample[i].seconds > 10 * made_true_s(index, samples->sample[i].bytes);
    return count;
}

/* The second pass waits 10, 20, 40 and 80 ms, which is longer than the spell. The sample that it begins in is
 * slow. */
static void a_spell_is_waited_for(void **state) {
    (void)state;
    pto_calibrate_options_t options = made_options(false);
    int left_out, index = made_index("memcpy_h2d", "on_socket", 1);
    made_begin(1, 0);
    double took_s = made_measure(&options, index, index + 1, path, &left_out);
    for (int tenths = 5; tenths < 10; tenths++) {
        made_spell(0.1 * tenths * took_s, 0.12);
        pto_samples_t samples = samples_of(&options, index);
        assert_true(slow_samples(&samples, index) <= 1);
        pto_samples_fini(&samples);
    }
}

/* Samples of a line of this noise. */
static int samples_of_a_line(double noise, int64_t to_bytes) {
    made_begin(5, noise);
    pto_calibrate_options_t options = made_options(false);
    options.to_bytes = to_bytes;
    pto_samples_t samples = samples_of(&options, made_index("memcpy_peer", "on_socket", 1));
    int count = (int)samples.count;
    for (int64_t bytes = 1; bytes <= to_bytes; bytes *= 2)
        assert_in_range(samples_at(&samples, bytes), 0, 20);
    pto_samples_fini(&samples);
    return count;
}

/* A line of many sizes bears more noise than one of few: a median to 4 percent, or 4 sqrt(14 / 2) = 10.6.
 *
 * Five samples of 6 percent noise give 1.96 * 1.2533 * 0.06 / sqrt(5) = 6.6. By the quartiles of five normal
 * values it is more than 10.6 in one of six cases: 2.4 of 14 sizes, most of which are settled by one more
 * visit. Four more visits in all are enough for 9,998 of 10,000 such lines.
 *
 * For 12 percent noise and two sizes, and for 25, even 20 samples are too few: 6.6 and 13.7. Few sizes are
 * settled before by quartiles that are close by chance, so that a size has more than half of 20 on average.
 */
static void noise_is_measured_away_as_far_as_a_line_needs(void **state) {
    (void)state;
    assert_true(samples_of_a_line(0.06, 1 << 26) <= 14 * 5 + 4 * 5);
    assert_true(samples_of_a_line(0.12, 2) > 2 * 20 / 2);
    assert_true(samples_of_a_line(0.25, 1 << 26) > 14 * 20 / 2);
    made_begin(6, 0.1);
    pto_calibrate_options_t options = made_options(false);
    pto_samples_t samples = samples_of(&options, made_index("signal_flag", "on_socket", 1));
    assert_true(samples.count > 20); /* no size: until it is settled to 2 percent, where 20 give 5.5 */
    pto_samples_fini(&samples);
}

/* Seven sizes on each side of a limit make a line each, and need 4 sqrt(7 / 2) = 7.5 percent. Five samples of
 * 5 percent noise give 5.5; by their quartiles it is more than 7.5 for a quarter of the sizes, which two more
 * visits settle. Alone, each size would need 4 percent. */
static void sizes_beside_a_limit_share_a_line(void **state) {
    (void)state;
    int count = 0;
    enum { RUNS = 20 };
    for (int seed = 1; seed <= RUNS; seed++) {
        made_begin(seed, 0.05);
        pto_calibrate_options_t options = made_options(false);
        pto_samples_t samples = samples_of(&options, made_index("ping_pong", "on_socket", 1));
        for (int64_t bytes = 1; bytes <= 1 << 26; bytes *= 4)
            count += samples_at(&samples, bytes);
        pto_samples_fini(&samples);
    }
    assert_true(count <= RUNS * (14 * 5 + 14 / 4 * 2 * 5));
}

static void each_sample_is_written_once(void **state) {
    (void)state;
    made_begin(9, 0.25);
    pto_calibrate_options_t options = made_options(false);
    pto_samples_t samples = samples_of(&options, made_index("memcpy_peer", "on_socket", 1));
    for (size_t i = 0; i < samples.count; i++) {
        const pto_sample_t *one = &samples.sample[i];
        assert_in_range(one->run, 1, samples_at(&samples, one->bytes));
        for (size_t k = 0; k < i; k++)
            assert_true(samples.sample[k].bytes != one->bytes ||
                        (samples.sample[k].run != one->run && samples.sample[k].seconds != one->seconds));
    }
    pto_samples_fini(&samples);
}

/* A size takes 1 us a byte. Of 20 s, 2^24 bytes would take 2 * 16.8 to warm up and to measure once. 2^20 and
 * all smaller sizes take 5 * 4 / 3 * 1.05 = 7 s by the plan, and with all sizes 7 * 2 * 1.05 = 14.7: seven
 * repetitions where six samples settle. So three to six sizes are left out, and a quarter of the time is
 * used. */
static void what_there_is_no_time_for_is_left_out_from_above(void **state) {
    (void)state;
    made_begin(1, 0);
    for (int exhaustive = 0; exhaustive < 2; exhaustive++) {
        pto_calibrate_options_t options = made_options(exhaustive == 1);
        int left_out, index = MADE_SLOW;
        options.budget_s = 20;
        double took_s = made_measure(&options, index, index + 1, path, &left_out);
        assert_true(took_s > 0.25 * options.budget_s && took_s <= options.budget_s);
        assert_in_range(left_out, 3, 6);
        const int64_t *asked;
        int asked_count = made_asked(&asked);
        int64_t largest = (1 << 26) >> left_out, seen = 0;
        for (int i = 0; i < asked_count; i++)
            seen = asked[i] > seen ? asked[i] : seen;
        assert_int_equal(seen, largest);
    }
}

/* With this noise, to know its median to 2 percent would take (2.45 * 50 / 2)^2 samples of 200 us: 0.75 s. */
static void a_size_alone_has_the_whole_budget(void **state) {
    (void)state;
    pto_calibrate_options_t options = made_options(true);
    int left_out, index = made_index("signal_flag", "on_socket", 1);
    options.repeats = 10000;
    options.budget_s = 0.2;
    made_begin(1, 0.5);
    double took_s = made_measure(&options, index, index + 1, path, &left_out);
    assert_true(took_s > 0.9 * options.budget_s && took_s <= options.budget_s);
}

/* Two visits of each have three samples at least. */
static void no_size_is_begun_that_there_is_no_time_to_visit_twice(void **state) {
    (void)state;
    made_begin(1, 0);
    for (int budget_s = 2; budget_s <= 100; budget_s++) {
        pto_calibrate_options_t options = made_options(false);
        pto_samples_t samples = {0};
        int left_out;
        options.budget_s = budget_s;
        made_measure(&options, MADE_SLOW, MADE_SLOW + 1, path, &left_out);
        assert_int_equal(pto_samples_read(path, &samples, NULL), PTO_OK);
        assert_true(left_out > 0 && samples.count > 0);
        for (size_t i = 0; i < samples.count; i++)
            assert_true(samples_at(&samples, samples.sample[i].bytes) >= 3);
        pto_samples_fini(&samples);
    }
}

/* What fits in a run of its own also is a plan: of few sizes, none is left out. */
static void short_ladders_are_measured_whole(void **state) {
    (void)state;
    made_begin(1, 0);
    pto_calibrate_options_t options = made_options(false);
    options.from_bytes = 8;
    options.to_bytes = 64;
    pto_samples_t samples = samples_of(&options, made_index("memcpy_h2d", "on_socket", 1));
    assert_int_equal(size_count(&samples), 4);
    pto_samples_fini(&samples);
    options = made_options(false);
    options.factor = 16;
    samples = samples_of(&options, made_index("memcpy_h2d", "on_socket", 1));
    assert_int_equal(size_count(&samples), 7);
    pto_samples_fini(&samples);
}

/* --- the estimate -------------------------------------------------------------------------------------- */

/* As docs/calibrating.md promises. Probing takes five repetitions of five sizes of five cases, and the plan
 * at least six of 14 sizes of twelve cases: an eighth of these is probed. */
static void the_estimate_is_within_a_factor_of_two(void **state) {
    (void)state;
    for (int exhaustive = 0; exhaustive < 2; exhaustive++)
        for (int level = 0; level < 3; level++) {
            pto_calibrate_options_t options = made_options(exhaustive == 1);
            case_list_t list = {0};
            int left_out;
            double noise = (const double[]){0.005, 0.02, 0.05}[level];
            made_begin(7 + level, noise);
            for (int i = 0; i < MADE_MACHINE_COUNT; i++)
                made_add_case(&list, i);
            double began_s = made_clock_s();
            double estimate_s = engine_estimate(made_job(), &options, &made_benchmark, &list);
            double probing_s = made_clock_s() - began_s;
            double took_s = made_measure(&options, 0, MADE_MACHINE_COUNT, path, &left_out);
            case_list_fini(&list);
            print_message("%s, noise %.3f: estimated %.2f s, took %.2f s\n",
                          exhaustive ? "all sizes" : "adaptive", noise, estimate_s, took_s);
            assert_true(estimate_s < 2 * took_s && took_s < 2 * estimate_s);
            assert_true(probing_s < 0.15 * took_s);
        }
}

static void an_estimate_never_exceeds_the_budget(void **state) {
    (void)state;
    pto_calibrate_options_t options = made_options(true);
    case_list_t list = {0};
    made_add_case(&list, 0);
    options.budget_s = 0.02;
    assert_true(engine_estimate(made_job(), &options, &made_benchmark, &list) <= 0.02);
    assert_int_equal(engine_size_count(&options, &list), 27);
    case_list_fini(&list);
}

/* A size is tried if it takes a fortieth of the budget at most, five times; those before take 1/256 of it. */
static void an_estimate_takes_little_of_the_budget(void **state) {
    (void)state;
    for (int budget_s = 1; budget_s <= 4096; budget_s *= 2) {
        pto_calibrate_options_t options = made_options(false);
        case_list_t list = {0};
        made_add_case(&list, MADE_SLOW);
        made_begin(1, 0);
        options.budget_s = budget_s;
        double began_s = made_clock_s();
        engine_estimate(made_job(), &options, &made_benchmark, &list);
        assert_true(made_clock_s() - began_s <= 5 * budget_s / 40.0 * 1.01);
        case_list_fini(&list);
    }
}

/* Three normal values of deviation 1 are 1.69 apart, in the mean. */
static void a_probe_is_the_middle_time_and_the_range_of_all(void **state) {
    (void)state;
    static const int order[][PROBE_SAMPLES] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                               {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    const double time_s[] = {0.9e-2, 1e-2, 1.2e-2};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        double seconds[PROBE_SAMPLES];
        for (int k = 0; k < PROBE_SAMPLES; k++)
            seconds[k] = time_s[order[i][k]];
        probe_t probe = probe_of(4096, seconds);
        assert_int_equal(probe.bytes, 4096);
        assert_true(probe.seconds == time_s[1]);
        assert_true(fabs(probe.scatter - 0.3 / 1.69) < 1e-3);
    }
}

/* Of a size alone, which has its five samples in one visit: with an iteration that is not kept, and a
 * repetition more where iterations are tried. Limits and bends make it 1.3 times as long. */
static void an_estimate_is_the_sum_of_its_repetitions(void **state) {
    (void)state;
    const sizes_options_t options = {
        .from_bytes = 64, .to_bytes = 64, .factor = 2, .unit_bytes = 1, .repeats = 5};
    const double meeting_s = 3e-5;
    for (int long_one = 0; long_one < 2; long_one++) {
        const probe_t probe = {.bytes = 64, .seconds = long_one ? 1e-3 : 1e-5};
        int iterations = sizes_iterations(probe.seconds), repetitions = long_one ? 5 : 6;
        double sum_s = probe.seconds + meeting_s + repetitions * (iterations * probe.seconds + meeting_s);
        assert_int_equal(iterations, long_one ? 1 : 21);
        double found_s = estimate_s(&options, &probe, 1, meeting_s);
        if (fabs(found_s - 1.3 * sum_s) > 1e-12)
            fail_msg("estimated %.9g s, not %.9g", found_s, 1.3 * sum_s);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    snprintf(path, sizeof path, "/tmp/test_sizes-%d.csv", (int)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_needs_every_second_power_of_two_and_few_samples),
        cmocka_unit_test(the_largest_third_has_fewer_samples),
        cmocka_unit_test(no_size_has_all_its_samples_in_one_visit),
        cmocka_unit_test(an_exhaustive_plan_measures_all_sizes),
        cmocka_unit_test(limits_are_bisected_to_an_eighth),
        cmocka_unit_test(three_limits_are_bisected),
        cmocka_unit_test(sizes_between_powers_of_two_are_of_whole_elements),
        cmocka_unit_test(the_half_of_the_largest_size_is_not_measured),
        cmocka_unit_test(noise_alone_is_no_limit),
        cmocka_unit_test(some_cases_need_every_size),
        cmocka_unit_test(wide_steps_are_halved_by_octaves_first),
        cmocka_unit_test(slow_visits_are_outvoted),
        cmocka_unit_test(sizes_that_are_not_known_take_turns),
        cmocka_unit_test(a_spell_is_waited_for),
        cmocka_unit_test(limits_are_found_in_spite_of_slow_visits),
        cmocka_unit_test(noise_is_measured_away_as_far_as_a_line_needs),
        cmocka_unit_test(sizes_beside_a_limit_share_a_line),
        cmocka_unit_test(each_sample_is_written_once),
        cmocka_unit_test(what_there_is_no_time_for_is_left_out_from_above),
        cmocka_unit_test(a_size_alone_has_the_whole_budget),
        cmocka_unit_test(no_size_is_begun_that_there_is_no_time_to_visit_twice),
        cmocka_unit_test(short_ladders_are_measured_whole),
        cmocka_unit_test(the_estimate_is_within_a_factor_of_two),
        cmocka_unit_test(an_estimate_never_exceeds_the_budget),
        cmocka_unit_test(an_estimate_takes_little_of_the_budget),
        cmocka_unit_test(a_probe_is_the_middle_time_and_the_range_of_all),
        cmocka_unit_test(an_estimate_is_the_sum_of_its_repetitions),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    MPI_Finalize();
    return failed;
}
