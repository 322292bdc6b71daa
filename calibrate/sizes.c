/* The plan of a case's sizes (sizes.h has the terms). The fit will find the linear pieces of the cost. The
 * plan only checks whether a size lies on the line between its neighbours, by the same relative errors as the
 * fit. It runs in stages (stage_t), each of which proposes visits until it has no more. */
#include "sizes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "fatal.h"
#include "portolan/samples.h"
#include "statistics.h"

enum {
    COARSE_OCTAVES = 2,   /* between two sizes of the first pass */
    COARSE_SIZES = 5,     /* minimum number in the first pass, unless the ladder has fewer */
    FIRST_SAMPLES = 2,    /* of a step's first visit */
    LONG_PART = 3,        /* the largest 1 / LONG_PART of the sizes may have fewer samples (is_long) */
    AGAIN_SAMPLES = 5,    /* maximum of a later visit */
    AGAIN_MAX = 4,        /* maximum samples of a size, in units of MEDIAN_VALUES_MIN */
    LIMIT_SAMPLES = 3,    /* of a visit of a size between two steps */
    CONFIRMED_VISITS = 3, /* after as many, a size is certain to be off the line */
    VISITS_MAX = 8,       /* of a size */
    RESTS_MAX = 4,        /* visit_t's max_rests */
    LIMITS_MAX = 3,       /* as many as the fit finds */
    ITERATIONS_MAX = 1000,
    RESOLUTION = 8, /* a limit is found to one part in 8 */
};

/* Precision of a size's median: in an exhaustive plan, for any distribution; else by the quartiles. */
static const double settled_fraction = 0.02;
static const double known_fraction = 0.04;

/* Smaller deviations of a size from a line, and smaller jumps from one line to the next, are ignored: a fit
 * does not flag them (docs/fitting.md). */
static const double off_line = 0.15;

/* A sample that takes slow_times as long as expected is from a slow phase of the machine, as when a process
 * has no core, in which more samples would be no better. (Smaller differences show in a size's quartiles.) A
 * size between two steps that takes doubtful_times as long as by either line is measured again. */
static const double slow_times = 10.0;
static const double doubtful_times = 2.0;

typedef struct {
    int64_t bytes;
    int step;   /* of the ladder; -1: between two steps */
    int count;  /* of samples */
    int visits; /* number of visits */
    bool stuck; /* the last sample was slow, and with another slow one these would no longer be a minority */
    int iterations; /* of a repetition */
    double *seconds;
    median_t median;
} point_t;

/* A cost that is linear in the bytes. */
typedef struct {
    double start_s;
    double s_per_byte;
} line_t;

/* A limit between `low_bytes`, which is on the left line, and `high_bytes`, which is on the right one. */
typedef struct {
    int64_t low_bytes;
    int64_t high_bytes;
    int64_t ladder_bytes; /* the step below the limit */
    line_t left;
    line_t right;
} limit_t;

typedef enum {
    COARSE, /* the first visits of the first pass */
    SECOND, /* the second visit of each step */
    SPLIT,  /* halve intervals beside a step that is off the line */
    BISECT, /* find limits between two adjacent steps */
    REPEAT, /* visit sizes again whose medians are not known precisely */
    OVER
} stage_t;

struct sizes {
    sizes_options_t options;
    stage_t stage;
    int stride;         /* of the first pass, in steps */
    int top;            /* the last step that there may be time for */
    bool refused;       /* there was no time for a visit of the first pass */
    bool repeated;      /* sizes were measured again since the last SPLIT */
    int64_t last_bytes; /* the size that was measured last */
    bool slow;          /* the last visit began with a slow sample, in spite of waiting */
    int count;          /* of points */
    size_t capacity;
    point_t *point; /* in ascending order of bytes */
    int limit_count;
    limit_t limit[LIMITS_MAX];
};

/* A repetition lasts at least this long. */
static const double repetition_s = 200e-6;

int sizes_iterations(double once_s) {
    double needed = once_s > 0.0 ? repetition_s / once_s : ITERATIONS_MAX;
    return needed >= ITERATIONS_MAX ? ITERATIONS_MAX : needed > 1.0 ? (int)needed + 1 : 1;
}

/* --- the ladder ----------------------------------------------------------------------------------------- */

int sizes_ladder_count(const sizes_options_t *options) {
    int count = 0;
    int64_t bytes = options->from_bytes;
    for (; bytes < options->to_bytes && bytes <= INT64_MAX / options->factor; bytes *= options->factor)
        count++;
    return count + (bytes == options->to_bytes);
}

static int64_t step_bytes(const sizes_t *sizes, int step) {
    int64_t bytes = sizes->options.from_bytes;
    for (int i = 0; i < step; i++)
        bytes *= sizes->options.factor;
    return bytes;
}

static int first_stride(const sizes_options_t *options, int ladder_count) {
    int octaves = 1;
    while (INT64_C(2) << octaves <= options->factor)
        octaves++;
    int stride = octaves < COARSE_OCTAVES ? COARSE_OCTAVES / octaves : 1;
    while (stride > 1 && (ladder_count + stride - 2) / stride + 1 < COARSE_SIZES)
        stride /= 2;
    return options->exhaustive || options->every_size ? 1 : stride;
}

sizes_t *sizes_create(const sizes_options_t *options) {
    int ladder_count = sizes_ladder_count(options);
    sizes_t *sizes = must_allocate(1, sizeof *sizes);
    sizes->options = *options;
    sizes->options.exhaustive = options->exhaustive || ladder_count == 1;
    sizes->stride = first_stride(options, ladder_count);
    sizes->top = ladder_count - 1;
    return sizes;
}

void sizes_destroy(sizes_t *sizes) {
    for (int i = 0; i < sizes->count; i++)
        free(sizes->point[i].seconds);
    free(sizes->point);
    free(sizes);
}

int sizes_left_out(const sizes_t *sizes) { return sizes_ladder_count(&sizes->options) - 1 - sizes->top; }

/* --- visits --------------------------------------------------------------------------------------------- */

/* Returns the index at which a size is among the points, or is to be inserted. */
static int place_of(const sizes_t *sizes, int64_t bytes) {
    int place = 0;
    while (place < sizes->count && sizes->point[place].bytes < bytes)
        place++;
    return place;
}

/* Returns the seconds of a repetition of a size. */
static double repetition_seconds(const point_t *point) { return point->iterations * point->median.value; }

/* Returns an upper bound of the time that visit_new reserves: for the second visits of all sizes, with their
 * warm-ups, and for both visits of a new size, except its first warm-up and sample. */
static double both_visits_s(const sizes_t *sizes, double new_bound_s) {
    double sum_s = (FIRST_SAMPLES - 1 + 2) * new_bound_s;
    for (int i = 0; i < sizes->count; i++)
        sum_s += (1 + MEDIAN_VALUES_MIN - FIRST_SAMPLES) * repetition_seconds(&sizes->point[i]);
    return sum_s;
}

/* Returns an upper bound of an iteration: the larger time of the two neighbours, or for the largest size, the
 * time of the next smaller one in proportion to the bytes. */
static double bound_of(const sizes_t *sizes, int64_t bytes) {
    int place = place_of(sizes, bytes);
    const point_t *below = place > 0 ? &sizes->point[place - 1] : NULL;
    const point_t *above = place < sizes->count ? &sizes->point[place] : NULL;
    if (above != NULL)
        return fmax(above->median.value, below != NULL ? below->median.value : 0.0);
    return below != NULL ? below->median.value * (double)bytes / fmax((double)below->bytes, 1.0) : 0.0;
}

void sizes_recall(const sizes_t *sizes, const visit_t *visit, double *seconds) {
    if (visit->earlier_samples > 0)
        memcpy(seconds, sizes->point[place_of(sizes, visit->bytes)].seconds,
               (size_t)visit->earlier_samples * sizeof *seconds);
}

static point_t *add_point(sizes_t *sizes, int64_t bytes) {
    if (!PTO_RESERVE(sizes->point, sizes->capacity, sizes->count + 1))
        die("out of memory for the sizes of a case");
    int place = place_of(sizes, bytes), step = 0;
    memmove(sizes->point + place + 1, sizes->point + place,
            (size_t)(sizes->count - place) * sizeof *sizes->point);
    sizes->count++;
    while (step_bytes(sizes, step) < bytes)
        step++;
    sizes->point[place] = (point_t){.bytes = bytes, .step = step_bytes(sizes, step) == bytes ? step : -1};
    return &sizes->point[place];
}

/* --- lines ---------------------------------------------------------------------------------------------- */

static double line_seconds(line_t line, int64_t bytes) {
    return line.start_s + line.s_per_byte * (double)bytes;
}

/* Returns the line through a point with the slope to another. As in a fit, no coefficient is negative. */
static line_t line_of(const point_t *point, const point_t *other) {
    double bytes = (double)(point->bytes - other->bytes);
    line_t line = {.s_per_byte = bytes != 0.0 ? (point->median.value - other->median.value) / bytes : 0.0};
    line.s_per_byte = fmax(line.s_per_byte, 0.0);
    if (point->bytes > 0)
        line.s_per_byte = fmin(line.s_per_byte, point->median.value / (double)point->bytes);
    line.start_s = point->median.value - line.s_per_byte * (double)point->bytes;
    return line;
}

/* A relative deviation, and the uncertainty of it. */
typedef struct {
    double size;
    double error;
} deviation_t;

/* Returns the deviation of a point from the line between its neighbours. */
static deviation_t deviation_of(const sizes_t *sizes, int place) {
    const point_t *left = &sizes->point[place - 1], *point = left + 1, *right = left + 2;
    double share = (double)(point->bytes - left->bytes) / (double)(right->bytes - left->bytes);
    double between_s = (1.0 - share) * left->median.value + share * right->median.value;
    double left_s = (1.0 - share) * left->median.error * left->median.value;
    double right_s = share * right->median.error * right->median.value;
    double error_s = hypot(point->median.error * point->median.value, hypot(left_s, right_s));
    double scale_s = pto_error_scale(between_s);
    return (deviation_t){fabs(point->median.value - between_s) / scale_s, error_s / scale_s};
}

/* Returns whether a deviation is neither negligible nor due to chance. */
static bool is_clear(deviation_t deviation) {
    return deviation.size > off_line && deviation.size > deviation.error;
}

/* Returns whether a step of the ladder is off the line between its neighbours, if these are steps, too. Sizes
 * between two steps only serve to find a limit. */
static bool is_off(const sizes_t *sizes, int place) {
    if (place == 0 || place + 1 == sizes->count)
        return false;
    const point_t *point = &sizes->point[place];
    bool steps = point[-1].step >= 0 && point->step >= 0 && point[1].step >= 0;
    return steps && is_clear(deviation_of(sizes, place));
}

/* --- filling in a visit --------------------------------------------------------------------------------- */

static int smaller(int a, int b) { return a < b ? a : b; }

/* Returns the time beyond which a sample is slow: relative to the slower line if the size is between two
 * steps, otherwise to the fastest sample of its earlier visits. */
static double slow_seconds(const sizes_t *sizes, int64_t bytes, const point_t *point) {
    double expected_s = HUGE_VAL;
    if (sizes->stage == BISECT) {
        const limit_t *limit = &sizes->limit[sizes->limit_count - 1];
        expected_s = fmax(line_seconds(limit->left, bytes), line_seconds(limit->right, bytes));
    }
    for (int i = 0; sizes->stage != BISECT && point != NULL && i < point->count; i++)
        expected_s = fmin(expected_s, point->seconds[i]);
    return slow_times * fmax(expected_s, pto_timing_grain_s);
}

/* Fills in the first visit of a size, which takes few samples: of a step, because a slow phase of the machine
 * spoils a whole visit; of a size between two steps, because it only serves to find a limit, and a fit weighs
 * its samples like all others. In the first pass, no size is begun that there is no time to visit twice. */
static bool visit_new(const sizes_t *sizes, int64_t bytes, visit_t *visit) {
    bool only_visit = sizes->options.exhaustive;
    int first_samples = sizes->stage == BISECT ? LIMIT_SAMPLES : FIRST_SAMPLES;
    *visit = (visit_t){.bytes = bytes, .iterations = 1, .bound_s = bound_of(sizes, bytes)};
    visit->max_samples = only_visit ? sizes->options.repeats : smaller(first_samples, sizes->options.repeats);
    visit->error = only_visit ? settled_fraction : 0.0;
    visit->slow_s = slow_seconds(sizes, bytes, NULL);
    visit->max_rests = sizes->stage == BISECT && !sizes->slow ? RESTS_MAX : 0;
    visit->reserve_s = sizes->stage == COARSE && !only_visit ? both_visits_s(sizes, visit->bound_s) : 0.0;
    return true;
}

/* Returns the maximum number of samples of a size. A fit gives each sample the same weight, so a noisy size
 * must not get many more than its neighbours. */
static int max_samples_of(const sizes_t *sizes) {
    return smaller(sizes->options.repeats, AGAIN_MAX * MEDIAN_VALUES_MIN);
}

/* Returns whether another visit is allowed, and may help. */
static bool is_open(const sizes_t *sizes, const point_t *point) {
    return point->count < max_samples_of(sizes) && point->visits < VISITS_MAX && !point->stuck;
}

/* Fills in a later visit of a size, of up to `more` samples. */
static bool visit_again(const sizes_t *sizes, int place, int more, double error, visit_t *visit) {
    const point_t *point = &sizes->point[place];
    *visit = (visit_t){.bytes = point->bytes,
                       .earlier_samples = point->count,
                       .max_samples = smaller(point->count + more, max_samples_of(sizes)),
                       .error = error,
                       .iterations = point->iterations,
                       .bound_s = point->median.value,
                       .slow_s = slow_seconds(sizes, point->bytes, point),
                       .max_rests = sizes->slow ? 0 : RESTS_MAX};
    return true;
}

/* --- the stages ----------------------------------------------------------------------------------------- */

/* Visits, in ascending order, the smallest step, and the steps whose distance from the largest is a multiple
 * of the stride: so the second largest step, which also takes long, is skipped. After a refusal, tries the
 * middle of the steps that remain. */
static bool next_coarse(const sizes_t *sizes, visit_t *visit) {
    int last = sizes->count > 0 ? sizes->point[sizes->count - 1].step : -1;
    if (last >= sizes->top)
        return false;
    int step = last + 1;
    while (last >= 0 && (sizes->top - step) % sizes->stride != 0)
        step++;
    if (sizes->refused)
        step = (last + sizes->top + 1) / 2;
    return visit_new(sizes, step_bytes(sizes, step), visit);
}

/* Returns the error that the points of a line may have. n points determine its two coefficients as precisely
 * as two points that are sqrt(n / 2) times more precise. */
static double wanted_error(int n) { return known_fraction * sqrt(fmax(n, 2.0) / 2.0); }

/* Returns whether a size is in the largest third and takes one iteration per repetition. Such sizes take
 * nearly all of the time, so they get fewer samples if that is enough for a line through all sizes. For a fit
 * to find outliers, it is enough that most sizes have five samples. */
static bool is_long(const sizes_t *sizes, int place) {
    return LONG_PART * (sizes->count - place) <= sizes->count && sizes->point[place].iterations == 1;
}

/* Returns whether a step still needs its second visit. */
static bool is_pending(const sizes_t *sizes, const point_t *point) {
    return point->step >= 0 && point->visits == 1 && is_open(sizes, point);
}

static bool next_second(const sizes_t *sizes, visit_t *visit) {
    int i = 0;
    while (i < sizes->count && !is_pending(sizes, &sizes->point[i]))
        i++;
    if (i == sizes->count)
        return false;
    double error = is_long(sizes, i) ? wanted_error(sizes->count) : 0.0;
    return visit_again(sizes, i, MEDIAN_VALUES_MIN - FIRST_SAMPLES, error, visit);
}

/* Returns whether a size is off the line, and that may be due to slow phases in all of its visits. */
static bool is_doubtful(const sizes_t *sizes, int place) {
    const point_t *point = &sizes->point[place];
    return is_off(sizes, place) && point->visits < CONFIRMED_VISITS && is_open(sizes, point);
}

static bool next_split(const sizes_t *sizes, visit_t *visit) {
    for (int i = 0; i < sizes->count; i++)
        if (is_doubtful(sizes, i))
            return visit_again(sizes, i, FIRST_SAMPLES, 0.0, visit);
    for (int i = 0; i + 1 < sizes->count; i++) {
        int low = sizes->point[i].step, high = sizes->point[i + 1].step;
        if (low >= 0 && high - low > 1 && (is_off(sizes, i) || is_off(sizes, i + 1)))
            return visit_new(sizes, step_bytes(sizes, (low + high) / 2), visit);
    }
    return false;
}

static bool is_bisected(const sizes_t *sizes, int64_t ladder_bytes) {
    for (int i = 0; i < sizes->limit_count; i++)
        if (sizes->limit[i].ladder_bytes == ladder_bytes)
            return true;
    return false;
}

/* Returns the jump, in the middle of the interval after a point, from the line on its left to the line on its
 * right; sets `*limit` to the interval and the lines. */
static deviation_t jump_at(const sizes_t *sizes, int place, limit_t *limit) {
    const point_t *low = &sizes->point[place], *high = low + 1;
    const point_t *before = place > 0 ? low - 1 : low, *after = high + 1;
    while (before->step < 0)
        before--;
    while (after->step < 0)
        after++;
    *limit = (limit_t){low->bytes, high->bytes, low->bytes, line_of(low, before), line_of(high, after)};
    int64_t middle = low->bytes + (high->bytes - low->bytes) / 2;
    double left_s = line_seconds(limit->left, middle), right_s = line_seconds(limit->right, middle);
    double error_s =
        hypot(hypot(low->median.error * low->median.value, before->median.error * before->median.value),
              hypot(high->median.error * high->median.value, after->median.error * after->median.value));
    double scale_s = pto_error_scale(fmin(left_s, right_s));
    return (deviation_t){fabs(left_s - right_s) / scale_s, error_s / scale_s};
}

/* Returns whether the lower end of an interval is on the right line already. Then the limit is in the
 * interval before: the left line, which was drawn across it, also jumps here. */
static bool is_beyond(const point_t *low, line_t right) {
    double difference_s = fabs(line_seconds(right, low->bytes) - low->median.value);
    return difference_s <= off_line * pto_error_scale(low->median.value);
}

/* Finds the largest jump between two adjacent steps that has not been bisected, and adds it as a limit. */
static bool find_limit(sizes_t *sizes) {
    double largest = 0.0;
    bool found = false;
    for (int i = 0; i + 2 < sizes->count && sizes->limit_count < LIMITS_MAX; i++) {
        int low = sizes->point[i].step, high = sizes->point[i + 1].step;
        limit_t limit;
        if (low < 0 || high != low + 1 || is_bisected(sizes, sizes->point[i].bytes))
            continue;
        deviation_t jump = jump_at(sizes, i, &limit);
        if (is_clear(jump) && jump.size > largest && !is_beyond(&sizes->point[i], limit.right)) {
            largest = jump.size;
            sizes->limit[sizes->limit_count] = limit;
            found = true;
        }
    }
    sizes->limit_count += found;
    return found;
}

/* Returns the size in the middle of a limit's interval; 0 if that is small enough. While the interval is
 * wider than an octave, the middle is by factors of two. */
static int64_t half_of(const sizes_t *sizes, const limit_t *limit) {
    int64_t unit = sizes->options.unit_bytes, low = limit->low_bytes, high = limit->high_bytes;
    int64_t middle = low + (high - low) / 2;
    if (high > 2 * low) {
        middle = 2 * low;
        while (middle < high / middle * low)
            middle *= 2;
    }
    middle -= middle % unit;
    return (high - low) * RESOLUTION > low && middle > low ? middle : 0;
}

static bool next_bisect(sizes_t *sizes, visit_t *visit) {
    do {
        const limit_t *limit = &sizes->limit[sizes->limit_count > 0 ? sizes->limit_count - 1 : 0];
        int64_t bytes = sizes->limit_count > 0 ? half_of(sizes, limit) : 0;
        int place = place_of(sizes, bytes);
        if (bytes > 0 && place < sizes->count && sizes->point[place].bytes == bytes)
            return visit_again(sizes, place, LIMIT_SAMPLES, 0.0, visit);
        if (bytes > 0)
            return visit_new(sizes, bytes, visit);
    } while (find_limit(sizes));
    return false;
}

/* Narrows the limit by a size between two steps, which lies on the line that it is nearer to. */
static void narrow(sizes_t *sizes, const point_t *point) {
    limit_t *limit = &sizes->limit[sizes->limit_count - 1];
    double left_s = fmax(line_seconds(limit->left, point->bytes), pto_timing_grain_s);
    double right_s = fmax(line_seconds(limit->right, point->bytes), pto_timing_grain_s);
    if (fabs(log(point->median.value / left_s)) < fabs(log(point->median.value / right_s)))
        limit->low_bytes = point->bytes;
    else
        limit->high_bytes = point->bytes;
}

/* Returns whether a linear piece ends at a point, or between it and the one before. */
static bool ends_before(const sizes_t *sizes, int place) {
    for (int i = 0; i < sizes->limit_count; i++)
        if (sizes->limit[i].high_bytes == sizes->point[place].bytes)
            return true;
    return is_off(sizes, place);
}

/* Visits imprecise sizes in turn, upwards, so that the visits of a size lie apart in time. */
static bool next_repeat(const sizes_t *sizes, visit_t *visit) {
    int chosen = -1;
    double error = 0.0;
    for (int first = 0, past; first < sizes->count; first = past) {
        past = first + 1;
        while (past < sizes->count && !ends_before(sizes, past))
            past++;
        double wanted = wanted_error(past - first);
        for (int i = first; i < past; i++) {
            const point_t *point = &sizes->point[i];
            bool imprecise = point->step >= 0 && is_open(sizes, point) && point->median.error > wanted;
            bool is_next = point->bytes > sizes->last_bytes;
            if (imprecise && (chosen < 0 || (is_next && sizes->point[chosen].bytes <= sizes->last_bytes))) {
                chosen = i;
                error = wanted;
            }
        }
    }
    return chosen >= 0 && visit_again(sizes, chosen, AGAIN_SAMPLES, error, visit);
}

/* Goes to the next stage. After SPLIT, new steps are visited a second time before they are judged. After
 * REPEAT, more precise medians may show what chance had hidden. */
static void next_stage(sizes_t *sizes) {
    visit_t visit;
    bool back = sizes->stage == REPEAT && sizes->repeated;
    if (sizes->stage == SPLIT && next_second(sizes, &visit))
        sizes->stage = SECOND;
    else
        sizes->stage = back ? SPLIT : (stage_t)(sizes->stage + 1);
    sizes->repeated = sizes->repeated && !back;
}

/* Finds a visit of the current stage. */
static bool next_in_stage(sizes_t *sizes, visit_t *visit) {
    switch (sizes->stage) {
    case COARSE:
        return next_coarse(sizes, visit);
    case SECOND:
        return next_second(sizes, visit);
    case SPLIT:
        return next_split(sizes, visit);
    case BISECT:
        return next_bisect(sizes, visit);
    default:
        return next_repeat(sizes, visit);
    }
}

bool sizes_next(sizes_t *sizes, visit_t *visit) {
    for (; sizes->stage < OVER; next_stage(sizes)) {
        bool found = next_in_stage(sizes, visit);
        sizes->repeated = sizes->repeated || (found && sizes->stage == REPEAT);
        if (found)
            return true;
        if (sizes->options.exhaustive)
            break;
    }
    return false;
}

bool sizes_enough(const sizes_t *sizes, const visit_t *visit, double *seconds, int count) {
    if (sizes->options.exhaustive)
        return median_is_settled(seconds, count, visit->error);
    if (seconds[count - 1] > visit->slow_s)
        return true;
    return visit->error > 0.0 && median_of(seconds, count).error <= visit->error;
}

/* Returns whether slow samples are a minority, but with one more would not be. */
static bool is_stuck(const sizes_t *sizes, const point_t *point) {
    double slow_s = slow_seconds(sizes, point->bytes, point);
    int slow = 0;
    for (int i = 0; i < point->count; i++)
        slow += point->seconds[i] > slow_s;
    return 2 * slow < point->count && 2 * (slow + 1) >= point->count + 1;
}

void sizes_record(sizes_t *sizes, const visit_t *visit, double *seconds, int count) {
    int place = place_of(sizes, visit->bytes);
    point_t *point = visit->earlier_samples > 0 ? &sizes->point[place] : add_point(sizes, visit->bytes);
    free(point->seconds);
    point->seconds = must_allocate((size_t)count, sizeof *point->seconds);
    memcpy(point->seconds, seconds, (size_t)count * sizeof *seconds);
    sizes->last_bytes = point->bytes;
    bool ended_slow = seconds[count - 1] > visit->slow_s;
    sizes->slow = seconds[visit->earlier_samples] > visit->slow_s;
    point->count = count;
    point->iterations = visit->iterations;
    point->visits++;
    point->stuck = ended_slow && is_stuck(sizes, point);
    point->median = median_of(seconds, count);
    /* slow_s is slow_times the expected time */
    bool far_above = slow_times * point->median.value > doubtful_times * visit->slow_s;
    bool doubtful = (ended_slow || far_above) && is_open(sizes, point);
    if (sizes->stage == BISECT && !doubtful)
        narrow(sizes, point);
}

void sizes_refuse(sizes_t *sizes, const visit_t *visit) {
    if (sizes->stage != COARSE) {
        sizes->stage = OVER;
        return;
    }
    while (sizes->top >= 0 && step_bytes(sizes, sizes->top) >= visit->bytes)
        sizes->top--;
    sizes->refused = true;
}

int sizes_left(const sizes_t *sizes) {
    int last = sizes->count > 0 ? sizes->point[sizes->count - 1].step : -1;
    int pass = (sizes->top + sizes->stride - 1) / sizes->stride + 1, pending = 0;
    int coarse = last < 0 ? pass : (sizes->top - last + sizes->stride - 1) / sizes->stride;
    if (sizes->options.exhaustive)
        return coarse > 1 ? coarse : 1;
    for (int i = 0; i < sizes->count; i++)
        pending += is_pending(sizes, &sizes->point[i]);
    /* After the first pass, about half as many sizes are likely to follow. */
    if (sizes->stage == COARSE)
        return coarse + pass + pass / 2 + 1;
    return 1 + pending + (sizes->stage < REPEAT) * (sizes->count / 4);
}
