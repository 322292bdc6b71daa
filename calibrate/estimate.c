/* Estimates a case's time (estimate.h): simulates its visits, with times interpolated from some probes. */
#include "estimate.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "fatal.h"
#include "portolan/samples.h"
#include "statistics.h"

/* The simulated times have no noise, so that the plan needs only its first pass. On H200 hosts, limits, bends
 * and noise made plans 1.3 times as long (docs/decisions/0054). */
static const double beyond_first_pass = 1.3;

/* The minimum number of samples that settle a size in an exhaustive plan. */
enum { SETTLED_SAMPLES = 6 };

probe_t probe_of(int64_t bytes, double seconds[PROBE_SAMPLES]) {
    const double range_in_deviations = 1.69; /* the mean range of three normal values, in deviations */
    qsort(seconds, PROBE_SAMPLES, sizeof *seconds, compare_values);
    double middle_s = seconds[PROBE_SAMPLES / 2];
    double range = (seconds[PROBE_SAMPLES - 1] - seconds[0]) / pto_error_scale(middle_s);
    return (probe_t){bytes, middle_s, range / range_in_deviations};
}

/* Interpolates linearly between probes. Beyond the last one, times are proportional to the bytes. */
static double seconds_at(const probe_t *probe, int count, int64_t bytes) {
    int i = 0;
    while (i + 1 < count && probe[i + 1].bytes < bytes)
        i++;
    const probe_t *low = &probe[i], *high = i + 1 < count ? low + 1 : low;
    if (high->bytes > low->bytes) {
        double share = (double)(bytes - low->bytes) / (double)(high->bytes - low->bytes);
        return low->seconds + share * (high->seconds - low->seconds);
    }
    return bytes > low->bytes ? low->seconds * (double)bytes / (double)low->bytes : low->seconds;
}

/* Returns the number of samples after which an exhaustive plan will know a size's median to 2 percent. The
 * interval's half-width is taken to be 2.45 standard deviations over the root of that number; for very few
 * samples it is wider. */
static int settling_samples(const probe_t *probe, int count) {
    const double deviations = 2.45, settled = 0.02;
    double scatter[PROBE_MAX] = {0.0};
    for (int i = 0; i < count; i++)
        scatter[i] = probe[i].scatter;
    qsort(scatter, (size_t)count, sizeof *scatter, compare_values);
    double needed = SETTLED_SAMPLES + pow(deviations * scatter[count / 2] / settled, 2.0);
    return needed < INT_MAX ? (int)needed : INT_MAX;
}

/* Simulates a visit in which every sample is `once_s`: fills `seconds`, returns the size's samples after it.
 * */
static int samples_after(const sizes_t *sizes, const visit_t *visit, double once_s, double *seconds) {
    int count = visit->earlier_samples;
    for (int i = 0; i < visit->max_samples; i++)
        seconds[i] = once_s;
    do
        count++;
    while (count < visit->max_samples && !sizes_enough(sizes, visit, seconds, count));
    return count;
}

double estimate_s(const sizes_options_t *options, const probe_t *probe, int probe_count, double meeting_s) {
    sizes_t *sizes = sizes_create(options);
    double *seconds = must_allocate((size_t)options->repeats, sizeof *seconds);
    double sum_s = 0.0;
    visit_t visit;
    while (probe_count > 0 && sizes_next(sizes, &visit)) {
        double once_s = seconds_at(probe, probe_count, visit.bytes);
        int samples = samples_after(sizes, &visit, once_s, seconds);
        if (options->exhaustive) {
            int settled = settling_samples(probe, probe_count);
            samples = settled < visit.max_samples ? settled : visit.max_samples;
        }
        visit.iterations = sizes_iterations(once_s);
        /* A visit begins with one iteration that is ignored, and the first visit with about one repetition
         * that finds the number of iterations. */
        int repetitions =
            samples - visit.earlier_samples + (visit.earlier_samples == 0 && visit.iterations > 1);
        sum_s += once_s + meeting_s + repetitions * (visit.iterations * once_s + meeting_s);
        sizes_record(sizes, &visit, seconds, samples);
    }
    free(seconds);
    sizes_destroy(sizes);
    return options->exhaustive ? sum_s : beyond_first_pass * sum_s;
}
