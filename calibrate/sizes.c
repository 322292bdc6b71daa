/* The plan of a case's sizes. Costs are linear by pieces, and the fit finds the pieces. So this asks no more
 * than whether a size lies on the line between its neighbours, by the same relative errors, and never fits
 * more than two sizes. */
#include "sizes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "fatal.h"
#include "portolan/samples.h"
#include "statistics.h"

enum {
    COARSE_OCTAVES = 2,
    COARSE_SIZES = 5,  /* in the first pass, unless the ladder has fewer */
    FIRST_SAMPLES = 2, /* of a step's first visit */
    LONG_PART = 3,     /* of three sizes, the largest may have fewer samples: it takes long */
    AGAIN_SAMPLES = 5, /* of a later visit, at most */
    AGAIN_MOST = 4,
    LIMIT_SAMPLES = 3, /* of a visit of a size between two steps */
    SURE_VISITS = 3,   /* as many confirm a size that is off the line */
    VISITS_MAX = 8,
    RESTS = 4,
    LIMITS_MAX = 3, /* as many as the fit finds */
    ITERATIONS_MAX = 1000,
    RESOLUTION = 8, /* a limit is known to one part in so many */
};

/* How well the median of a size must be known that stands alone: of an exhaustive plan, whatever the
 * distribution; and by the quartiles. */
static const double settled_fraction = 0.02;
static const double known_fraction = 0.04;

/* Smaller deviations of a size from a line, and smaller jumps from one line to the next, are what a fit does
 * not flag (docs/fitting.md). */
static const double off_line = 0.15;

/* A sample that takes slow_times as long as it should is from a slow spell, such as one in which a process
 * has no core. More samples in it would tell no more. Smaller differences between visits show in the
 * quartiles of a size. A size between two steps that takes doubtful_times as long as either line is measured
 * again. */
static const double slow_times = 10.0;
static const double doubtful_times = 2.0;

typedef struct {
    int64_t bytes;
    int step; /* of the ladder; -1: between two */
    int count;
    int visits;
    bool stuck; /* the last sample was slow, and another one would be half of all */
    int iterations;
    double *seconds;
    median_t median;
} point_t;

typedef struct {
    double start_s;
    double s_per_byte;
} line_t;

/* The right line holds from somewhere above `low` up to `high`. */
typedef struct {
    int64_t low_bytes;
    int64_t high_bytes;
    int64_t ladder_bytes; /* where it was at first: above this step */
    line_t left;
    line_t right;
} limit_t;

typedef enum { COARSE, SECOND, SPLIT, BISECT, REPEAT, OVER } stage_t;

struct sizes {
    sizes_options_t options;
    stage_t stage;
    int stride; /* of the first pass */
    int top;    /* the last step that there may be time for */
    bool refused;
    bool repeated;      /* sizes were measured again since the last split */
    int64_t turn_bytes; /* the size that was measured last */
    bool slow;          /* the last visit began so, and waiting did not help */
    int count;
    size_t capacity;
    point_t *point; /* by bytes */
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

/* Returns where a size is among the points, or would be. */
static int place_of(const sizes_t *sizes, int64_t bytes) {
    int place = 0;
    while (place < sizes->count && sizes->point[place].bytes < bytes)
        place++;
    return place;
}

/* Returns a repetition of a size, as its last visit made them. */
static double repetition_of(const point_t *point) { return point->iterations * point->median.value; }

/* Returns an upper bound of the second visits of all sizes, with their warm-ups, and of both visits of a new
 * size but for the first warm-up and sample. */
static double both_visits_s(const sizes_t *sizes, double new_bound_s) {
    double sum_s = (FIRST_SAMPLES - 1 + 2) * new_bound_s;
    for (int i = 0; i < sizes->count; i++)
        sum_s += (1 + MEDIAN_VALUES_MIN - FIRST_SAMPLES) * repetition_of(&sizes->point[i]);
    return sum_s;
}

/* Proportional to the bytes from the next smaller size on; no more than a larger one takes. */
static double bound_of(const sizes_t *sizes, int64_t bytes) {
    int place = place_of(sizes, bytes);
    const point_t *below = place > 0 ? &sizes->point[place - 1] : NULL;
    const point_t *above = place < sizes->count ? &sizes->point[place] : NULL;
    if (above != NULL)
        return fmax(above->median.value, below != NULL ? below->median.value : 0.0);
    return below != NULL ? below->median.value * (double)bytes / fmax((double)below->bytes, 1.0) : 0.0;
}

void sizes_recall(const sizes_t *sizes, const visit_t *visit, double *seconds) {
    if (visit->had > 0)
        memcpy(seconds, sizes->point[place_of(sizes, visit->bytes)].seconds,
               (size_t)visit->had * sizeof *seconds);
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

static double at(line_t line, int64_t bytes) { return line.start_s + line.s_per_byte * (double)bytes; }

/* Through `by`, with the slope to the other one, which may be the same; neither coefficient is negative, as
 * in a fit. */
static line_t line_of(const point_t *by, const point_t *other) {
    double bytes = (double)(by->bytes - other->bytes);
    line_t line = {.s_per_byte = bytes != 0.0 ? (by->median.value - other->median.value) / bytes : 0.0};
    line.s_per_byte = fmax(line.s_per_byte, 0.0);
    if (by->bytes > 0)
        line.s_per_byte = fmin(line.s_per_byte, by->median.value / (double)by->bytes);
    line.start_s = by->median.value - line.s_per_byte * (double)by->bytes;
    return line;
}

typedef struct {
    double size; /* relative */
    double error;
} deviation_t;

/* Returns how far a point is from the line between its neighbours. */
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

/* Returns whether a deviation is more than can be ignored, and more than chance. */
static bool is_clear(deviation_t deviation) {
    return deviation.size > off_line && deviation.size > deviation.error;
}

/* Returns whether a step of the ladder is off the line. Sizes between two steps only tell where a limit is.
 */
static bool is_off(const sizes_t *sizes, int place) {
    if (place == 0 || place + 1 == sizes->count)
        return false;
    const point_t *point = &sizes->point[place];
    bool steps = point[-1].step >= 0 && point->step >= 0 && point[1].step >= 0;
    return steps && is_clear(deviation_of(sizes, place));
}

/* --- what a visit is for ---------------------------------------------------------------------------- */

static int least(int a, int b) { return a < b ? a : b; }

/* Returns from where on a sample is slow: by the slower line if the size is between two steps, otherwise by
 * the fastest sample of its earlier visits. */
static double slow_from(const sizes_t *sizes, int64_t bytes, const point_t *point) {
    double expected_s = HUGE_VAL;
    if (sizes->stage == BISECT) {
        const limit_t *limit = &sizes->limit[sizes->limit_count - 1];
        expected_s = fmax(at(limit->left, bytes), at(limit->right, bytes));
    }
    for (int i = 0; sizes->stage != BISECT && point != NULL && i < point->count; i++)
        expected_s = fmin(expected_s, point->seconds[i]);
    return slow_times * fmax(expected_s, pto_timing_grain_s);
}

/* A slow spell of the machine spoils a whole visit, so that the first visit of a step takes few samples. So
 * does one of a size between two steps, which only tells where a limit is: a fit would weigh it like all
 * others. No size is begun that there is no time to visit twice. */
static bool visit_new(const sizes_t *sizes, int64_t bytes, visit_t *visit) {
    bool once = sizes->options.exhaustive;
    int enough = once ? sizes->options.repeats : sizes->stage == BISECT ? LIMIT_SAMPLES : FIRST_SAMPLES;
    *visit = (visit_t){.bytes = bytes, .iterations = 1, .bound_s = bound_of(sizes, bytes)};
    visit->most = least(enough, sizes->options.repeats);
    visit->error = once ? settled_fraction : 0.0;
    visit->slow_s = slow_from(sizes, bytes, NULL);
    visit->rests = sizes->stage == BISECT && !sizes->slow ? RESTS : 0;
    visit->reserve_s = sizes->stage == COARSE && !once ? both_visits_s(sizes, visit->bound_s) : 0.0;
    return true;
}

/* A fit weighs samples, so a noisy size must not get many times those of its neighbours. */
static int samples_most(const sizes_t *sizes) {
    return least(sizes->options.repeats, AGAIN_MOST * MEDIAN_VALUES_MIN);
}

/* Returns whether more samples are allowed, and could tell more. */
static bool is_open(const sizes_t *sizes, const point_t *point) {
    return point->count < samples_most(sizes) && point->visits < VISITS_MAX && !point->stuck;
}

static bool visit_again(const sizes_t *sizes, int place, int more, double error, visit_t *visit) {
    const point_t *point = &sizes->point[place];
    *visit = (visit_t){.bytes = point->bytes,
                       .had = point->count,
                       .most = least(point->count + more, samples_most(sizes)),
                       .error = error,
                       .iterations = point->iterations,
                       .bound_s = point->median.value,
                       .slow_s = slow_from(sizes, point->bytes, point),
                       .rests = sizes->slow ? 0 : RESTS};
    return true;
}

/* --- the stages ----------------------------------------------------------------------------------------- */

/* Upwards, the smallest size and every stride-th up to the largest: that takes the longest, so its half is
 * not measured too. What was refused was too large, but something below it may not be. */
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

/* n points of one line tell its two coefficients as well as two points that are sqrt(n / 2) times better
 * known. */
static double wanted_error(int n) { return known_fraction * sqrt(fmax(n, 2.0) / 2.0); }

/* The largest third of the sizes, as far as one iteration is a repetition, takes nearly all of the time that
 * grows with the bytes. It has fewer samples if these tell enough of a line through all sizes. A fit still
 * finds outliers by sizes with five, as most are. */
static bool is_long(const sizes_t *sizes, int place) {
    return LONG_PART * (sizes->count - place) <= sizes->count && sizes->point[place].iterations == 1;
}

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

/* Returns whether a size off the line could have had slow spells in all its visits. */
static bool is_doubtful(const sizes_t *sizes, int place) {
    const point_t *point = &sizes->point[place];
    return is_off(sizes, place) && point->visits < SURE_VISITS && is_open(sizes, point);
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

/* Returns how far the lines on both sides of an interval are apart in its middle. */
static deviation_t jump_at(const sizes_t *sizes, int place, limit_t *limit) {
    const point_t *low = &sizes->point[place], *high = low + 1;
    const point_t *before = place > 0 ? low - 1 : low, *after = high + 1;
    while (before->step < 0)
        before--;
    while (after->step < 0)
        after++;
    *limit = (limit_t){low->bytes, high->bytes, low->bytes, line_of(low, before), line_of(high, after)};
    int64_t middle = low->bytes + (high->bytes - low->bytes) / 2;
    double left_s = at(limit->left, middle), right_s = at(limit->right, middle);
    double error_s =
        hypot(hypot(low->median.error * low->median.value, before->median.error * before->median.value),
              hypot(high->median.error * high->median.value, after->median.error * after->median.value));
    double scale_s = pto_error_scale(fmin(left_s, right_s));
    return (deviation_t){fabs(left_s - right_s) / scale_s, error_s / scale_s};
}

/* Where a line is drawn across a limit, it also jumps in the next interval, whose lower end is on the right
 * line already. */
static bool is_beyond(const point_t *low, line_t right) {
    return fabs(at(right, low->bytes) - low->median.value) <= off_line * pto_error_scale(low->median.value);
}

/* The largest jump between two steps of the ladder that has not been bisected. */
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

/* Returns the size that halves a limit; 0 where it is known well enough. */
static int64_t half_of(const sizes_t *sizes, const limit_t *limit) {
    int64_t unit = sizes->options.unit_bytes, low = limit->low_bytes, high = limit->high_bytes;
    int64_t middle = low + (high - low) / 2;
    if (high > 2 * low)
        for (middle = 2 * low; middle < high / middle * low; middle *= 2)
            ;
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

/* A size between two steps lies on the line that it is nearer to. */
static void narrow(sizes_t *sizes, const point_t *point) {
    limit_t *limit = &sizes->limit[sizes->limit_count - 1];
    double left = log(point->median.value / fmax(at(limit->left, point->bytes), pto_timing_grain_s));
    double right = log(point->median.value / fmax(at(limit->right, point->bytes), pto_timing_grain_s));
    *(fabs(left) < fabs(right) ? &limit->low_bytes : &limit->high_bytes) = point->bytes;
}

/* Returns whether a line ends at a point, or between it and the one before. */
static bool ends_before(const sizes_t *sizes, int place) {
    for (int i = 0; i < sizes->limit_count; i++)
        if (sizes->limit[i].high_bytes == sizes->point[place].bytes)
            return true;
    return is_off(sizes, place);
}

/* One visit of each in turn, upwards, so that the visits of a size lie apart. */
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
            bool poor = point->step >= 0 && is_open(sizes, point) && point->median.error > wanted;
            bool its_turn = point->bytes > sizes->turn_bytes;
            if (poor && (chosen < 0 || (its_turn && sizes->point[chosen].bytes <= sizes->turn_bytes))) {
                chosen = i;
                error = wanted;
            }
        }
    }
    return chosen >= 0 && visit_again(sizes, chosen, AGAIN_SAMPLES, error, visit);
}

/* New sizes are visited a second time before they are judged. What was measured again may show limits that
 * chance had hidden. */
static void go_on(sizes_t *sizes) {
    visit_t visit;
    bool back = sizes->stage == REPEAT && sizes->repeated;
    if (sizes->stage == SPLIT && next_second(sizes, &visit))
        sizes->stage = SECOND;
    else
        sizes->stage = back ? SPLIT : (stage_t)(sizes->stage + 1);
    sizes->repeated = sizes->repeated && !back;
}

bool sizes_next(sizes_t *sizes, visit_t *visit) {
    for (; sizes->stage < OVER; go_on(sizes)) {
        bool found = sizes->stage == COARSE   ? next_coarse(sizes, visit)
                     : sizes->stage == SECOND ? next_second(sizes, visit)
                     : sizes->stage == SPLIT  ? next_split(sizes, visit)
                     : sizes->stage == BISECT ? next_bisect(sizes, visit)
                                              : next_repeat(sizes, visit);
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

/* Returns whether one more slow sample would leave no majority of others. */
static bool is_stuck(const sizes_t *sizes, const point_t *point) {
    double slow_s = slow_from(sizes, point->bytes, point);
    int slow = 0;
    for (int i = 0; i < point->count; i++)
        slow += point->seconds[i] > slow_s;
    return 2 * slow < point->count && 2 * (slow + 1) >= point->count + 1;
}

void sizes_take(sizes_t *sizes, const visit_t *visit, double *seconds, int count) {
    int place = place_of(sizes, visit->bytes);
    point_t *point = visit->had > 0 ? &sizes->point[place] : add_point(sizes, visit->bytes);
    free(point->seconds);
    point->seconds = must_allocate((size_t)count, sizeof *point->seconds);
    memcpy(point->seconds, seconds, (size_t)count * sizeof *seconds);
    sizes->turn_bytes = point->bytes;
    bool ended_slow = seconds[count - 1] > visit->slow_s;
    sizes->slow = seconds[visit->had] > visit->slow_s;
    point->count = count;
    point->iterations = visit->iterations;
    point->visits++;
    point->stuck = ended_slow && is_stuck(sizes, point);
    point->median = median_of(seconds, count);
    bool above = slow_times * point->median.value > doubtful_times * visit->slow_s;
    bool doubtful = (ended_slow || above) && is_open(sizes, point);
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
    /* Half as many as in the first pass are likely to follow it. */
    if (sizes->stage == COARSE)
        return coarse + pass + pass / 2 + 1;
    return 1 + pending + (sizes->stage < REPEAT) * (sizes->count / 4);
}
