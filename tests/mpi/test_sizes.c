/* Which sizes portolan-calibrate measures, and how often, on a made-up machine; and what it estimates. Needs
 * no mpirun. */
#include <unistd.h>

#include "../../calibrate/estimate.h"
#include "../../calibrate/sizes.h"
#include "made_costs.h"
#include "portolan/samples.h"
#include "test.h"

static char path[64];

static void end_samples(void *samples) { pto_samples_fini(samples); }

/* What was measured last; until the test ends. */
static pto_samples_t written_samples(void) {
    pto_samples_t samples = {0};
    assert_int_equal(pto_samples_read(path, &samples, NULL), PTO_OK);
    keep_owned(&samples, sizeof samples, end_samples);
    return samples;
}

/* Of one case, all of which is measured. */
static pto_samples_t samples_of(const pto_calibrate_options_t *options, int index) {
    int left_out = 0;
    made_measure(options, index, index + 1, path, &left_out);
    assert_int_equal(left_out, 0);
    return written_samples();
}

/* Of the case, with sizes and samples as its plan wants them. */
static pto_samples_t samples_by_plan(const char *benchmark, const char *level, int procs) {
    pto_calibrate_options_t options = made_options(false);
    return samples_of(&options, made_index(benchmark, level, procs));
}

enum { REPEATS = 20 };

static void end_sizes(void *sizes) { sizes_destroy(sizes); }

static sizes_t *sizes_of(const sizes_options_t *options) { return keep(sizes_create(options), end_sizes); }

/* From 1 byte on. */
static sizes_t *sizes_up_to(int64_t to_bytes, int64_t factor, bool exhaustive) {
    return sizes_of(&(sizes_options_t){.from_bytes = 1,
                                       .to_bytes = to_bytes,
                                       .factor = factor,
                                       .unit_bytes = 1,
                                       .repeats = REPEATS,
                                       .exhaustive = exhaustive});
}

/* All samples take as long. */
static void record_alike(sizes_t *sizes, const visit_t *visit, int count) {
    double seconds[REPEATS];
    for (int i = 0; i < count; i++)
        seconds[i] = 1e-3;
    sizes_record(sizes, visit, seconds, count);
}

/* Sizes just below a limit and not below it, as near as they come. */
typedef struct {
    int64_t limit_bytes, low, high;
} bracket_t;

static bracket_t bracket_of(int64_t limit_bytes) { return (bracket_t){limit_bytes, 0, INT64_MAX}; }

static void narrow(bracket_t *bracket, int64_t bytes) {
    if (bytes < bracket->limit_bytes)
        bracket->low = bytes > bracket->low ? bytes : bracket->low;
    else
        bracket->high = bytes < bracket->high ? bytes : bracket->high;
}

/* An eighth apart at most. */
static bool is_narrow(const bracket_t *bracket) { return (bracket->high - bracket->low) * 8 <= bracket->low; }

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

TEST(a_line_needs_every_second_power_of_two_and_few_samples) {
    made_begin(1, 0);
    pto_samples_t samples = samples_by_plan("memcpy_h2d", "on_socket", 1);
    assert_int_equal(size_count(&samples), 14);
    for (int64_t bytes = 1; bytes <= 1 << 26; bytes *= 4)
        assert_int_equal(samples_at(&samples, bytes), bytes < 1 << 24 ? 5 : 3); /* longer than 200 us */
}

/* How often the repetitions of a size began, after those of another. */
static int visits_of(int64_t bytes) {
    const int64_t *asked;
    int asked_count = made_asked(&asked), visits = 0;
    for (int i = 0; i < asked_count; i++)
        visits += asked[i] == bytes && (i == 0 || asked[i - 1] != bytes);
    return visits;
}

TEST(no_size_has_all_its_samples_in_one_visit) {
    made_begin(2, 0.02);
    samples_by_plan("memcpy_h2d", "on_socket", 1);
    for (int64_t bytes = 1; bytes <= 1 << 26; bytes *= 4)
        assert_true(visits_of(bytes) >= 2);
}

TEST(an_exhaustive_plan_measures_all_sizes) {
    made_begin(1, 0);
    pto_calibrate_options_t options = made_options(true);
    pto_samples_t samples = samples_of(&options, made_index("memcpy_h2d", "on_socket", 1));
    assert_int_equal(size_count(&samples), 27);
    for (int64_t bytes = 1; bytes <= 1 << 26; bytes *= 2)
        assert_int_equal(samples_at(&samples, bytes), 6);
    made_begin(1, 0.2);
    samples = samples_of(&options, made_index("memcpy_h2d", "on_socket", 1));
    for (int64_t bytes = 1; bytes <= 1 << 26; bytes *= 2)
        assert_true(samples_at(&samples, bytes) > 40); /* it is hardly ever settled */
}

static bool encloses(const pto_samples_t *samples, int64_t limit_bytes) {
    bracket_t bracket = bracket_of(limit_bytes);
    for (size_t i = 0; i < samples->count; i++)
        narrow(&bracket, samples->sample[i].bytes);
    return is_narrow(&bracket);
}

TEST(limits_are_bisected_to_an_eighth) {
    for (int seed = 1; seed <= 20; seed++) {
        made_begin(seed, 0.02);
        pto_samples_t samples = samples_by_plan("ping_pong", "off_node", 1);
        assert_true(encloses(&samples, 12000));
        samples = samples_by_plan("memcpy_shared_h2d", "on_socket", 4);
        assert_true(encloses(&samples, 20000));
        assert_true(size_count(&samples) < 27);
        samples = samples_by_plan("ping_pong", "on_socket", 1);
        assert_true(encloses(&samples, 5000));
    }
}

TEST(sizes_between_powers_of_two_are_of_whole_elements) {
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

TEST(the_half_of_the_largest_size_is_not_measured) {
    made_begin(1, 0);
    for (int64_t from_bytes = 1; from_bytes <= 8; from_bytes *= 2) {
        pto_calibrate_options_t options = made_options(false);
        options.from_bytes = from_bytes;
        pto_samples_t samples = samples_of(&options, made_index("memcpy_h2d", "on_socket", 1));
        assert_true(samples_at(&samples, from_bytes) > 0 && samples_at(&samples, 1 << 26) > 0);
        assert_int_equal(samples_at(&samples, 1 << 25), 0);
        assert_true(samples_at(&samples, 1 << 24) > 0);
    }
}

TEST(noise_alone_is_no_limit) {
    int sizes = 0;
    for (int seed = 1; seed <= 20; seed++) {
        made_begin(seed, 0.15);
        pto_samples_t samples = samples_by_plan("memcpy_peer", "on_socket", 1);
        sizes += size_count(&samples) - 14;
    }
    print_message("20 lines with 15 percent noise: %d sizes more than without\n", sizes);
    /* Twelve sizes of a line have neighbours. By chance, one in twenty is outside of its 95 percent interval,
     * and two intervals are halved then. */
    assert_true(sizes <= 20 * 12 * 2 / 20);
}

TEST(some_cases_need_every_size) {
    visit_t visit;
    int count = 0;
    sizes_t *sizes = sizes_of(&(sizes_options_t){.from_bytes = 1,
                                                 .to_bytes = 1 << 20,
                                                 .factor = 2,
                                                 .unit_bytes = 1,
                                                 .repeats = 5,
                                                 .every_size = true});
    for (; sizes_next(sizes, &visit); count++) {
        assert_int_equal(visit.bytes, 1 << count);
        record_alike(sizes, &visit, 5);
    }
    assert_int_equal(count, 21);
}

/* Plays a plan; a sample takes what `cost` says of the size and of how often it was visited before.
 */
typedef double (*cost_t)(int64_t bytes, int visit);

enum { PLAYED_MAX = 100 };

typedef struct {
    visit_t visit[PLAYED_MAX];
    int count;
} played_t;

/* What a plan has been told of a size. */
typedef struct {
    int64_t bytes;
    int count, iterations, visits;
    double seconds[REPEATS];
} known_t;

static known_t known[PLAYED_MAX];
static int known_count;

static known_t *known_of(int64_t bytes) {
    for (int i = 0; i < known_count; i++)
        if (known[i].bytes == bytes)
            return &known[i];
    return NULL;
}

static double middle_s(const known_t *one) {
    double sorted[REPEATS];
    memcpy(sorted, one->seconds, sizeof sorted);
    for (int i = 1; i < one->count; i++)
        for (int k = i; k > 0 && sorted[k] < sorted[k - 1]; k--) {
            double smaller = sorted[k];
            sorted[k] = sorted[k - 1];
            sorted[k - 1] = smaller;
        }
    return 0.5 * (sorted[(one->count - 1) / 2] + sorted[one->count / 2]);
}

/* The largest of the smaller sizes, or the smallest of the larger ones; NULL: there is none. */
static const known_t *beside(int64_t bytes, bool below) {
    const known_t *nearest = NULL;
    for (int i = 0; i < known_count; i++)
        if (below ? known[i].bytes < bytes && (nearest == NULL || known[i].bytes > nearest->bytes)
                  : known[i].bytes > bytes && (nearest == NULL || known[i].bytes < nearest->bytes))
            nearest = &known[i];
    return nearest;
}

/* A time grows with the bytes, and no faster than they do. */
static double bound_s(int64_t bytes) {
    const known_t *own = known_of(bytes), *below = beside(bytes, true), *above = beside(bytes, false);
    if (own != NULL)
        return middle_s(own);
    if (above != NULL)
        return fmax(middle_s(above), below != NULL ? middle_s(below) : 0);
    return below != NULL ? middle_s(below) * (double)bytes / (double)below->bytes : 0;
}

/* In the first pass: the second sample, and a warm-up and a sample of the second visit; and of each size
 * before, the second visit's warm-up and three samples. */
static double reserve_s(int64_t bytes) {
    double sum_s = 3 * bound_s(bytes);
    for (int i = 0; i < known_count; i++)
        sum_s += 4 * known[i].iterations * middle_s(&known[i]);
    return beside(bytes, false) == NULL && known_of(bytes) == NULL ? sum_s : 0;
}

static bool is_step(int64_t bytes, int64_t factor) {
    while (bytes % factor == 0)
        bytes /= factor;
    return bytes == 1;
}

static void must_be(const char *what, const visit_t *visit, double found, double wanted) {
    if (found != wanted && !(fabs(found - wanted) <= 1e-9 * fabs(wanted)))
        fail_msg("%s of %d bytes: %.9g, not %.9g", what, (int)visit->bytes, found, wanted);
}

/* What a visit is told, by what was told of its size and of others. */
static void check_visit(const visit_t *visit, int64_t factor, bool was_slow) {
    const known_t *own = known_of(visit->bytes);
    bool step = is_step(visit->bytes, factor);
    must_be("bound", visit, visit->bound_s, bound_s(visit->bytes));
    must_be("reserve", visit, visit->reserve_s, step ? reserve_s(visit->bytes) : 0);
    assert_int_equal(visit->earlier_samples, own != NULL ? own->count : 0);
    assert_int_equal(visit->iterations, own != NULL ? own->iterations : 1);
    assert_int_equal(visit->max_rests, (own != NULL || !step) && !was_slow ? 4 : 0);
    if (own == NULL) {
        assert_int_equal(visit->max_samples, step ? 2 : 3);
    } else {
        assert_true(visit->max_samples > own->count && visit->max_samples <= REPEATS && own->visits < 8);
    }
    if (own != NULL && step) {
        double fastest_s = HUGE_VAL;
        for (int i = 0; i < own->count; i++)
            fastest_s = fmin(fastest_s, own->seconds[i]);
        must_be("slow sample", visit, visit->slow_s, 10 * fmax(fastest_s, 50e-9));
    }
    if (own == NULL && step)
        assert_true(isinf(visit->slow_s)); /* nothing is known of it */
}

static int visits_before(const played_t *played, int64_t bytes) {
    int count = 0;
    for (int i = 0; i < played->count; i++)
        count += played->visit[i].bytes == bytes;
    return count;
}

static void play_by(int64_t factor, int64_t to_bytes, int iterations, cost_t cost, played_t *played) {
    visit_t visit;
    sizes_t *sizes = sizes_up_to(to_bytes, factor, false);
    bool was_slow = false;
    *played = (played_t){0};
    known_count = 0;
    while (sizes_next(sizes, &visit)) {
        double seconds[REPEATS];
        int count = visit.earlier_samples;
        assert_true(played->count < PLAYED_MAX);
        check_visit(&visit, factor, was_slow);
        visit.iterations = iterations;
        sizes_recall(sizes, &visit, seconds);
        do
            seconds[count++] = cost(visit.bytes, visits_before(played, visit.bytes));
        while (count < visit.max_samples && !sizes_enough(sizes, &visit, seconds, count));
        known_t *own = visit.earlier_samples > 0 ? known_of(visit.bytes) : &known[known_count++];
        *own =
            (known_t){visit.bytes, count, iterations, visit.earlier_samples > 0 ? own->visits + 1 : 1, {0}};
        memcpy(own->seconds, seconds, (size_t)count * sizeof *seconds);
        was_slow = seconds[visit.earlier_samples] > visit.slow_s;
        sizes_record(sizes, &visit, seconds, count);
        visit.max_samples = count; /* what it had in the end */
        played->visit[played->count++] = visit;
    }
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

/* The smallest size, and every second one down from the largest, or all where these are fewer than five. */
static bool is_coarse(int step, int count) {
    bool every_second = count / 2 + 1 >= 5;
    return step == 0 || !every_second || (count - 1 - step) % 2 == 0;
}

TEST(the_first_pass_goes_up_to_the_largest_size) {
    for (int count = 1; count <= 30; count++) {
        visit_t visit;
        sizes_t *sizes = sizes_of(&(sizes_options_t){.from_bytes = 8,
                                                     .to_bytes = INT64_C(8) << (count - 1),
                                                     .factor = 2,
                                                     .unit_bytes = 8,
                                                     .repeats = 20});
        for (int step = 0; step < count; step++) {
            if (!is_coarse(step, count))
                continue;
            assert_true(sizes_next(sizes, &visit));
            assert_int_equal(visit.bytes, INT64_C(8) << step);
            assert_int_equal(sizes_left_out(sizes), 0);
            record_alike(sizes, &visit, 2);
        }
        assert_true(count == 1 || (sizes_next(sizes, &visit) && visit.earlier_samples == 2));
    }
}

/* Steps of 8 and 64 are no smaller for a first pass. */
TEST(wide_steps_are_all_of_the_first_pass) {
    for (int64_t factor = 4; factor <= 64; factor *= 2) {
        visit_t visit;
        int64_t bytes = 1;
        sizes_t *sizes = sizes_up_to(INT64_C(1) << 60, factor, false);
        for (int step = 0; step < 10; step++, bytes *= factor) {
            assert_true(sizes_next(sizes, &visit));
            assert_int_equal(visit.bytes, bytes);
            record_alike(sizes, &visit, 2);
        }
    }
}

TEST(a_ladder_has_the_sizes_from_the_first_to_the_last) {
    for (int64_t factor = 2; factor <= 16; factor *= 2)
        for (int64_t from_bytes = 1; from_bytes <= 12; from_bytes++)
            for (int64_t to_bytes = 1; to_bytes <= 300; to_bytes++) {
                int count = 0;
                for (int64_t bytes = from_bytes; bytes <= to_bytes; bytes *= factor)
                    count++;
                assert_int_equal(sizes_ladder_count(&(sizes_options_t){
                                     .from_bytes = from_bytes, .to_bytes = to_bytes, .factor = factor}),
                                 count);
            }
}

/* 200 us or more, of at most 1000 iterations. */
TEST(a_repetition_has_iterations_enough) {
    for (int i = 0; i < 145; i++) {
        double once_s = 1e-8 * pow(1.1, i);
        int count = sizes_iterations(once_s);
        assert_in_range(count, 1, 1000);
        assert_true(count == 1000 || count * once_s >= 200e-6);
        assert_true(count == 1 || (count - 1) * once_s <= 200e-6);
    }
    assert_int_equal(sizes_iterations(0), 1000);
}

/* What is too large is never asked for again, and of the smaller sizes the largest is found. */
TEST(the_largest_size_that_there_is_time_for_is_found) {
    enum { STEPS = 21 };
    for (int exhaustive = 0; exhaustive < 2; exhaustive++)
        for (int largest = -1; largest < STEPS; largest++) {
            int64_t refused_bytes = INT64_MAX, seen_bytes = 0;
            visit_t visit;
            sizes_t *sizes = sizes_up_to(1 << (STEPS - 1), 2, exhaustive == 1);
            while (sizes_next(sizes, &visit)) {
                assert_true(visit.bytes < refused_bytes);
                if (visit.bytes > (largest < 0 ? 0 : INT64_C(1) << largest)) {
                    refused_bytes = visit.bytes;
                    sizes_refuse(sizes, &visit);
                    continue;
                }
                seen_bytes = visit.bytes > seen_bytes ? visit.bytes : seen_bytes;
                record_alike(sizes, &visit, visit.max_samples);
            }
            assert_int_equal(seen_bytes, largest < 0 ? 0 : INT64_C(1) << largest);
            assert_int_equal(sizes_left_out(sizes), STEPS - 1 - largest);
            assert_true(sizes_left(sizes) >= 1);
        }
}

/* Of a line, all visits of the first pass and as many of the second; and half as many as in a pass, later a
 * quarter, for what may be found meanwhile, and one at least. */
TEST(what_is_left_is_what_is_still_visited) {
    for (int count = 2; count <= 30; count++)
        for (int exhaustive = 0; exhaustive < 2; exhaustive++) {
            visit_t visit;
            int pass = 0, done = 0;
            sizes_t *sizes = sizes_up_to(INT64_C(1) << (count - 1), 2, exhaustive == 1);
            for (int step = 0; step < count; step++)
                pass += exhaustive == 1 || is_coarse(step, count);
            for (; sizes_next(sizes, &visit); done++) {
                int more = exhaustive == 1 ? 0 : done < pass ? pass / 2 : pass / 4;
                int remaining = (exhaustive == 1 ? 1 : 2) * pass - done;
                assert_int_equal(sizes_left(sizes), remaining + more + (exhaustive == 0));
                visit.iterations = 20;
                record_alike(sizes, &visit, visit.max_samples);
            }
            assert_int_equal(done, (exhaustive == 1 ? 1 : 2) * pass);
            assert_int_equal(sizes_left(sizes), 1);
        }
}

static double bump, bump_s_per_byte;
static int64_t bump_bytes;

static double bumps_at_one_size(int64_t bytes, int visit) {
    double line_s = 1e-5 + bump_s_per_byte * (double)bytes;
    return visit >= 0 && bytes == bump_bytes ? bump * line_s : line_s;
}

/* A size that is off the line of its neighbours by more than 15 percent has the intervals beside it halved.
 */
TEST(sizes_are_off_a_line_by_more_than_fifteen_percent) {
    static const double by[] = {0.83, 0.87, 1.13, 1.17};
    for (int k = 0; k < 4; k++)
        for (int slope = 0; slope < 3; slope++)
            for (bump_bytes = 4; bump_bytes <= 1 << 18; bump_bytes *= 4) {
                played_t played;
                bump = by[k];
                bump_s_per_byte = (const double[]){0, 1e-9, 1e-7}[slope];
                play(bumps_at_one_size, &played);
                bool off = k == 0 || k == 3;
                assert_int_equal(visits_before(&played, bump_bytes / 2) > 0, off);
                assert_int_equal(visits_before(&played, bump_bytes * 2) > 0, off);
                assert_int_equal(visits_before(&played, bump_bytes) > 2, off); /* a third confirms it */
            }
}

static double takes_a_millisecond(int64_t bytes, int visit) { return bytes > 0 && visit >= 0 ? 1e-3 : 0; }

/* Of 6 to 9 sizes, two or three, if their repetitions are of one iteration. */
TEST(the_largest_third_has_fewer_samples) {
    played_t played;
    for (int count = 6; count <= 9; count++)
        for (int iterations = 1; iterations <= 2; iterations++) {
            int longest = iterations == 1 ? count / 3 : 0;
            play_up_to(INT64_C(1) << 2 * (count - 1), iterations, takes_a_millisecond, &played);
            for (int i = 0; i < count; i++)
                assert_int_equal(last_visit(&played, INT64_C(1) << 2 * i)->max_samples,
                                 i < count - longest ? 5 : 3);
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
TEST(three_limits_are_bisected) {
    played_t played;
    play(jumps_at_three_limits, &played);
    for (int k = 0; k < 3; k++) {
        bracket_t bracket = bracket_of(three_limits[k]);
        for (int i = 0; i < played.count; i++)
            narrow(&bracket, played.visit[i].bytes);
        assert_true(is_narrow(&bracket));
    }
}

static int64_t wide_limit;

static double jumps_at_the_wide_limit(int64_t bytes, int visit) {
    return (visit >= 0 ? 1e-5 : 0) * (bytes >= wide_limit ? 3 : 1);
}

/* Two sizes find the octave of four, and three more its eighth. */
TEST(wide_steps_are_halved_by_octaves_first) {
    for (wide_limit = 4100; wide_limit < 65536; wide_limit += wide_limit / 7) {
        played_t played;
        int between = 0;
        bracket_t bracket = bracket_of(wide_limit);
        play_by(16, 1 << 20, 20, jumps_at_the_wide_limit, &played);
        for (int i = 0; i < played.count; i++) {
            int64_t bytes = played.visit[i].bytes;
            narrow(&bracket, bytes);
            between += bytes > 4096 && bytes < 65536;
        }
        assert_true(is_narrow(&bracket));
        assert_true(between <= 5);
    }
}

static double slow_at_first(int64_t bytes, int visit) { return bytes == 256 && visit == 0 ? 5e-4 : 1e-5; }

static double slow_at_second(int64_t bytes, int visit) { return bytes == 256 && visit == 1 ? 5e-4 : 1e-5; }

/* The quartiles of a median must be of samples that are not slow. */
TEST(slow_visits_are_outvoted) {
    played_t played;
    play(slow_at_first, &played);
    assert_int_equal(last_visit(&played, 256)->max_samples, 2 + 7); /* two slow ones of nine */
    assert_int_equal(last_visit(&played, 64)->max_samples, 5);
    assert_null(last_visit(&played, 128));
    play(slow_at_second, &played);
    /* The visit ended with its first sample. Another one would leave no majority. */
    assert_int_equal(last_visit(&played, 256)->max_samples, 3);
    assert_int_equal(visits_before(&played, 256), 2);
}

/* Five samples that scatter, and slow ones from the third visit on. */
static double scatters_and_then_is_slow(int64_t bytes, int visit) {
    static int count;
    if (bytes != 256)
        return 1e-5;
    return visit >= 2 ? 5e-4 : (const double[]){0.6e-5, 1e-5, 1.4e-5}[count++ % 3];
}

/* A visit ends with a slow sample. After four of nine, one more would leave no majority of others. */
TEST(a_size_is_left_before_half_of_its_samples_are_slow) {
    played_t played;
    play(scatters_and_then_is_slow, &played);
    assert_int_equal(visits_before(&played, 256), 2 + 4);
    assert_int_equal(last_visit(&played, 256)->max_samples, 5 + 4);
}

/* Of four samples, the second and the fourth. */
static double is_slow_at_every_second_sample(int64_t bytes, int visit) {
    static int count;
    return bytes == 256 && visit < 2 && count++ % 2 == 1 ? 5e-4 : 1e-5;
}

TEST(a_size_whose_samples_are_slow_by_half_is_measured_on) {
    played_t played;
    play(is_slow_at_every_second_sample, &played);
    assert_true(visits_before(&played, 256) > 2);
    assert_in_range(last_visit(&played, 256)->max_samples, 9, REPEATS);
}

static bool begins_exact;

/* Powers of two, so that ten times is exactly that. */
static double takes_ten_times_as_long(int64_t bytes, int visit) {
    static int count;
    if (bytes != 256 || visit != 1)
        return 0x1p-16;
    return 0x1p-16 * (begins_exact ? (const double[]){10, 1, 1} : (const double[]){1, 10, 20})[count++ % 3];
}

/* Of five samples only the last is slow, so that the size is not left; or none is, so that the next visit
 * waits where it must. */
TEST(a_sample_is_slow_that_takes_longer_than_ten_times) {
    for (int first = 0; first < 2; first++) {
        played_t played;
        begins_exact = first == 1;
        play(takes_ten_times_as_long, &played);
        assert_int_equal(visits_before(&played, 256) > 2, !begins_exact);
        for (int i = 0; i < played.count; i++)
            if (played.visit[i].bytes == 256 && played.visit[i].earlier_samples == 2)
                assert_int_equal(played.visit[i].max_samples, 5);
    }
}

/* Errors by the quartiles of five, (IQR / 1.349) 1.96 * 1.2533 / sqrt(5) * 5 / 3.65 = 1.1156 IQR. */
static int scattering; /* of three sizes, the first, the second or the third */

static double one_of_three_scatters(int64_t bytes, int visit) {
    static int count[3];
    static const double narrow[] = {0.8, 1, 0.865, 1.135, 1.2}, wide[] = {0.4, 1, 0.5, 1.5, 1.6},
                        own[] = {0.8, 1, 0.933, 1.067, 1.2};
    int which = bytes == 1 ? 0 : bytes == 4 ? 1 : 2;
    double line_s = which == 1 ? 1.3e-5 : 1e-5;
    if (which != scattering || visit > 1)
        return line_s;
    return line_s * (which == 0 ? narrow : which == 1 ? own : wide)[count[which]++ % 5];
}

/* Of 1, 4 and 16 bytes, the second lies a fifth of the way between the others, and 30 percent off their line.
 * That is clear: the first is known to 30 percent, of which 0.8 count, or the third to 112 percent, of which
 * 0.2 do, or it is itself known to 15. So it is confirmed before others are measured on. */
TEST(errors_of_a_lines_ends_count_by_their_share) {
    for (scattering = 0; scattering < 3; scattering++) {
        played_t played;
        play_by(4, 16, 20, one_of_three_scatters, &played);
        assert_true(played.count > 6);
        assert_int_equal(played.visit[6].bytes, 4);
        assert_int_equal(played.visit[6].earlier_samples, 5);
    }
}

/* A size that is off the line, which its first five samples hide. */
static double hides_at_first(int64_t bytes, int visit) {
    static int count;
    if (bytes != 256)
        return 1e-5;
    return 1.3e-5 * (visit < 2 ? (const double[]){0.7, 0.8, 1, 1.2, 1.3}[count++ % 5] : 1);
}

TEST(what_chance_had_hidden_is_split) {
    played_t played;
    play(hides_at_first, &played);
    assert_true(visits_before(&played, 128) > 0 && visits_before(&played, 512) > 0);
}

static int64_t scattering_bytes;

static double scatters_at_first(int64_t bytes, int visit) {
    static int count;
    return bytes == scattering_bytes && visit < 2 ? (const double[]){0.6e-5, 1e-5, 1.4e-5}[count++ % 3]
                                                  : 1e-5;
}

TEST(any_size_that_scatters_is_measured_on) {
    for (scattering_bytes = 1; scattering_bytes <= 1 << 20; scattering_bytes *= 4) {
        played_t played;
        play(scatters_at_first, &played);
        for (int64_t bytes = 1; bytes <= 1 << 20; bytes *= 4)
            assert_int_equal(visits_before(&played, bytes) > 2, bytes == scattering_bytes);
    }
}

/* Once the first pass is over, there is no time for any. */
TEST(a_later_visit_that_is_refused_ends_the_plan) {
    enum { FIRST_PASS = 11 };
    for (int refused = FIRST_PASS; refused < 3 * FIRST_PASS; refused++) {
        visit_t visit;
        int done = 0;
        sizes_t *sizes = sizes_up_to(1 << 20, 2, false);
        for (; done < refused && sizes_next(sizes, &visit); done++) {
            double seconds[REPEATS];
            sizes_recall(sizes, &visit, seconds);
            for (int i = visit.earlier_samples; i < visit.max_samples; i++)
                seconds[i] = (const double[]){0.6e-5, 1e-5, 1.4e-5}[i % 3];
            sizes_record(sizes, &visit, seconds, visit.max_samples);
        }
        assert_int_equal(done, refused);
        assert_true(sizes_next(sizes, &visit));
        sizes_refuse(sizes, &visit);
        assert_false(sizes_next(sizes, &visit));
        assert_int_equal(sizes_left_out(sizes), 0); /* each was measured once */
    }
}

/* Two sizes that scatter until they have had four visits each. */
static double scatters_at_two_sizes(int64_t bytes, int visit) {
    static int count;
    bool scatters = (bytes == 64 || bytes == 4096) && visit < 4;
    return scatters ? (const double[]){0.6e-5, 1e-5, 1.4e-5}[count++ % 3] : 1e-5;
}

/* Visits of a size in a row would not lie apart in time. The last visit may follow one of the same size, when
 * the other one is known. */
TEST(sizes_that_are_not_known_take_turns) {
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
TEST(limits_are_found_in_spite_of_slow_visits) {
    const int rests[] = {4, 0, 0, 0, 4}; /* the fifth outvotes the slow ones */
    int visits = 0;
    bracket_t bracket = bracket_of(1500);
    played_t played;
    play(slow_at_a_limit, &played);
    for (int i = 0; i < played.count; i++) {
        const visit_t *visit = &played.visit[i];
        narrow(&bracket, visit->bytes);
        if (visit->bytes == 1536) {
            assert_true(visits < 5);
            assert_int_equal(visit->max_rests, rests[visits++]);
        }
    }
    assert_int_equal(visits, 5);
    assert_true(is_narrow(&bracket));
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
TEST(a_spell_is_waited_for) {
    pto_calibrate_options_t options = made_options(false);
    int left_out, index = made_index("memcpy_h2d", "on_socket", 1);
    made_begin(1, 0);
    double took_s = made_measure(&options, index, index + 1, path, &left_out);
    for (int tenths = 5; tenths < 10; tenths++) {
        made_spell(0.1 * tenths * took_s, 0.12);
        pto_samples_t samples = samples_of(&options, index);
        assert_true(slow_samples(&samples, index) <= 1);
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
TEST(noise_is_measured_away_as_far_as_a_line_needs) {
    assert_true(samples_of_a_line(0.06, 1 << 26) <= 14 * 5 + 4 * 5);
    assert_true(samples_of_a_line(0.12, 2) > 2 * 20 / 2);
    assert_true(samples_of_a_line(0.25, 1 << 26) > 14 * 20 / 2);
    made_begin(6, 0.1);
    pto_samples_t samples = samples_by_plan("signal_flag", "on_socket", 1);
    assert_true(samples.count > 20); /* no size: until it is settled to 2 percent, where 20 give 5.5 */
}

/* Seven sizes on each side of a limit make a line each, and need 4 sqrt(7 / 2) = 7.5 percent. Five samples of
 * 5 percent noise give 5.5; by their quartiles it is more than 7.5 for a quarter of the sizes, which two more
 * visits settle. Alone, each size would need 4 percent. */
TEST(sizes_beside_a_limit_share_a_line) {
    int count = 0;
    enum { RUNS = 20 };
    for (int seed = 1; seed <= RUNS; seed++) {
        made_begin(seed, 0.05);
        pto_samples_t samples = samples_by_plan("ping_pong", "on_socket", 1);
        for (int64_t bytes = 1; bytes <= 1 << 26; bytes *= 4)
            count += samples_at(&samples, bytes);
    }
    assert_true(count <= RUNS * (14 * 5 + 14 / 4 * 2 * 5));
}

TEST(each_sample_is_written_once) {
    made_begin(9, 0.25);
    pto_samples_t samples = samples_by_plan("memcpy_peer", "on_socket", 1);
    for (size_t i = 0; i < samples.count; i++) {
        const pto_sample_t *one = &samples.sample[i];
        assert_in_range(one->run, 1, samples_at(&samples, one->bytes));
        for (size_t k = 0; k < i; k++)
            assert_true(samples.sample[k].bytes != one->bytes ||
                        (samples.sample[k].run != one->run && samples.sample[k].seconds != one->seconds));
    }
}

/* A size takes 1 us a byte. Of 20 s, 2^24 bytes would take 2 * 16.8 to warm up and to measure once. 2^20 and
 * all smaller sizes take 5 * 4 / 3 * 1.05 = 7 s by the plan, and with all sizes 7 * 2 * 1.05 = 14.7: seven
 * repetitions where six samples settle. So three to six sizes are left out, and a quarter of the time is
 * used. */
TEST(what_there_is_no_time_for_is_left_out_from_above) {
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
TEST(a_size_alone_has_the_whole_budget) {
    pto_calibrate_options_t options = made_options(true);
    int left_out, index = made_index("signal_flag", "on_socket", 1);
    options.repeats = 10000;
    options.budget_s = 0.2;
    made_begin(1, 0.5);
    double took_s = made_measure(&options, index, index + 1, path, &left_out);
    assert_true(took_s > 0.9 * options.budget_s && took_s <= options.budget_s);
}

/* Two visits of each have three samples at least. */
TEST(no_size_is_begun_that_there_is_no_time_to_visit_twice) {
    made_begin(1, 0);
    for (int budget_s = 2; budget_s <= 100; budget_s++) {
        pto_calibrate_options_t options = made_options(false);
        int left_out;
        options.budget_s = budget_s;
        made_measure(&options, MADE_SLOW, MADE_SLOW + 1, path, &left_out);
        pto_samples_t samples = written_samples();
        assert_true(left_out > 0 && samples.count > 0);
        for (size_t i = 0; i < samples.count; i++)
            assert_true(samples_at(&samples, samples.sample[i].bytes) >= 3);
    }
}

/* What fits in a run of its own also is a plan: of few sizes, none is left out. */
TEST(short_ladders_are_measured_whole) {
    made_begin(1, 0);
    pto_calibrate_options_t options = made_options(false);
    options.from_bytes = 8;
    options.to_bytes = 64;
    pto_samples_t samples = samples_of(&options, made_index("memcpy_h2d", "on_socket", 1));
    assert_int_equal(size_count(&samples), 4);
    options = made_options(false);
    options.factor = 16;
    samples = samples_of(&options, made_index("memcpy_h2d", "on_socket", 1));
    assert_int_equal(size_count(&samples), 7);
}

/* --- the estimate -------------------------------------------------------------------------------------- */

/* As docs/calibrating.md promises. Probing takes five repetitions of five sizes of five cases, and the plan
 * at least six of 14 sizes of twelve cases: an eighth of these is probed. */
TEST(the_estimate_is_within_a_factor_of_two) {
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

TEST(an_estimate_never_exceeds_the_budget) {
    pto_calibrate_options_t options = made_options(true);
    case_list_t list = {0};
    made_add_case(&list, 0);
    options.budget_s = 0.02;
    assert_true(engine_estimate(made_job(), &options, &made_benchmark, &list) <= 0.02);
    assert_int_equal(engine_size_count(&options, &list), 27);
    case_list_fini(&list);
}

/* A size is tried if it takes a fortieth of the budget at most, five times; those before take 1/256 of it. */
TEST(an_estimate_takes_little_of_the_budget) {
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
TEST(a_probe_is_the_middle_time_and_the_range_of_all) {
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
TEST(an_estimate_is_the_sum_of_its_repetitions) {
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

/* Times lie on lines between the sizes that were tried, of which the first is the smallest. Above they are
 * proportional to the bytes. */
static double between_probes_s(int64_t bytes) {
    double b = (double)bytes;
    if (bytes <= 1024)
        return 1e-5 + (b - 64) / 960 * 2e-5;
    return bytes <= 16384 ? 3e-5 + (b - 1024) / 15360 * 47e-5 : 5e-4 * b / 16384;
}

/* The median of the scatters tells how many samples settle a size: six, and (2.45 scatter / 2 percent)^2. */
TEST(an_exhaustive_estimate_is_of_every_size) {
    static const struct {
        double scatter[3];
        int samples;
    } settled[] = {{{0, 0, 0}, 6},
                   {{0.3, 0, 0.01}, 7},
                   {{0.02, 0.3, 0.01}, 12},
                   {{0.02, 0.025, 0.1}, 15},
                   {{0.1, 0.1, 0}, 20}};
    const sizes_options_t options = {.from_bytes = 64,
                                     .to_bytes = 1 << 18,
                                     .factor = 2,
                                     .unit_bytes = 1,
                                     .repeats = 20,
                                     .exhaustive = true};
    const double meeting_s = 3e-5;
    for (size_t k = 0; k < sizeof settled / sizeof *settled; k++) {
        const double *scatter = settled[k].scatter;
        const probe_t probe[] = {{64, 1e-5, scatter[0]}, {1024, 3e-5, scatter[1]}, {16384, 5e-4, scatter[2]}};
        double wanted_s = 0;
        for (int64_t bytes = 64; bytes <= 1 << 18; bytes *= 2) {
            double once_s = between_probes_s(bytes);
            int iterations = sizes_iterations(once_s), repetitions = settled[k].samples + (iterations > 1);
            wanted_s += once_s + meeting_s + repetitions * (iterations * once_s + meeting_s);
        }
        double found_s = estimate_s(&options, probe, 3, meeting_s);
        if (fabs(found_s / wanted_s - 1) > 1e-9)
            fail_msg("estimated %.9g s, not %.9g", found_s, wanted_s);
    }
    assert_true(estimate_s(&options, NULL, 0, meeting_s) == 0); /* nothing was tried */
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    snprintf(path, sizeof path, "/tmp/test_sizes-%d.csv", (int)getpid());
    int failed = run_all_tests(NULL, NULL);
    unlink(path);
    MPI_Finalize();
    return failed;
}
