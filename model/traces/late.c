/* Finds which processes and nodes arrive late at calls in which others wait. delays.c calls pto_find_late
 * with the matched calls of all processes.
 *
 * A late process need not be the cause: it may have waited for another one in an earlier call. So two times
 * are compared: how much later than the median of the others it arrives, and how much longer than they it was
 * outside of all calls since its last collective. The smaller one is its lateness in that call; it is 0 if
 * their signs differ. For example, a process arrives 3 ms after the others. If it was outside of calls for
 * 7 ms and the others for 4 ms, it is 3 ms late. If all were outside for 4 ms, its lateness is 0. A process
 * is reported if its median lateness exceeds the noise and a fraction of the time between calls.
 *
 * If only durations are known, all processes are assumed to leave a call together, which is true up to the
 * time of a transfer. The whole job takes the same time on all processes. So a process was outside of calls
 * longer by as much as it was inside for less: with 7 s inside where others have 10 s, 3 s longer. A process
 * that arrives in time at calls to which another one is late may have waited there, and is not reported. */
#include <float.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

#include "delays.h"

/* A process is reported if it is late by at least this many times the noise of single calls, this fraction of
 * the time from call to call, and this many times the spread of the other processes' medians. */
static const double noise_factor = 3, fraction_min = 0.05, spread_factor = 5;
/* A node is reported if a process of it has a weight above 1, and all its others at least this one. */
static const double joined_min = 0.5;
enum { CALLS_MIN = 5, SUBSETS = 7 };

/* A process as seen in the calls of one group (communicator and routine). */
typedef struct {
    int rank;
    int32_t group;       /* of pto_timed_t */
    int64_t calls, last; /* `last`: calls at which it arrived last */
    double late_s;       /* its median lateness */
    double noise_s;      /* spread of the lateness of all processes in single calls */
    double weight; /* late_s divided by the smallest lateness that is reported; 0 if it does not stand out */
    bool only_duration; /* of pto_timed_t */
} process_t;

/* The next functions compute statistics of all values but one, without a copy: from the sorted array of all
 * values, and the index of the value that is left out. */

/* Returns element `i` of `sorted` without its element `left_out`. */
static double other(const double *sorted, size_t left_out, size_t i) {
    return sorted[i < left_out ? i : i + 1];
}

static double median_of_others(const double *sorted, size_t count, size_t left_out) {
    const size_t others = count - 1;
    return (other(sorted, left_out, (others - 1) / 2) + other(sorted, left_out, others / 2)) / 2;
}

/* Returns the index of a value, the first if several are equal. */
static size_t index_of(const double *sorted, size_t count, double value) {
    size_t low = 0, high = count - 1;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (sorted[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the largest distance from `middle` among the `near` values that are nearest to it. */
static double distance_of(const double *sorted, size_t count, size_t left_out, double middle, size_t near) {
    size_t low = 0, high = count - 1 - near; /* bounds of the first of these values */
    while (low < high) {
        const size_t at = low + (high - low) / 2;
        if (middle - other(sorted, left_out, at) > other(sorted, left_out, at + near) - middle)
            low = at + 1;
        else
            high = at;
    }
    return fmax(middle - other(sorted, left_out, low), other(sorted, left_out, low + near - 1) - middle);
}

/* Returns pto_item_spread of all values but one: the median of their distances from `middle`. The k-th
 * smallest distance is the largest one among the k values nearest to `middle`. */
static double spread_of_others(const double *sorted, size_t count, size_t left_out, double middle) {
    const size_t others = count - 1;
    return PTO_SPREAD_OF_NORMAL *
           (distance_of(sorted, count, left_out, middle, (others + 1) / 2) +
            distance_of(sorted, count, left_out, middle, others / 2 + 1)) /
           2;
}

/* Returns how far a value is above the median of the others. */
static double above_others(const double *sorted, size_t count, double value) {
    return value - median_of_others(sorted, count, index_of(sorted, count, value));
}

static double smaller_magnitude(double a, double b) {
    if ((a > 0) != (b > 0))
        return 0;
    return fabs(a) < fabs(b) ? a : b;
}

/* Writes an item for each process of a call that others wait for: its lateness, with key 1 if it arrived
 * last, else 0. Returns how many. */
static size_t add_call(const pto_comparison_t *comparison, const pto_matched_t *matched, double *scratch,
                       pto_item_t *item) {
    double *arrival = scratch, *outside = scratch + matched->procs; /* sorted, of the processes to compare */
    size_t count = 0, added = 0;
    bool has_outside = true;
    const pto_timed_way_t way = matched->timed->way;
    for (int i = 0; i < matched->procs; i++) {
        const pto_timed_t *timed = &matched->timed[i];
        if (way == PTO_TIMED_TO_ROOT && !pto_is_awaited(timed)) /* the root */
            continue;
        arrival[count] = pto_comparison_time(comparison, timed, timed->begin_s);
        outside[count++] = timed->outside_s;
        has_outside = has_outside && isfinite(timed->outside_s);
    }
    if (count < 2 || (!has_outside && !matched->timed->only_duration))
        return 0;
    gsl_sort(arrival, 1, count);
    if (has_outside)
        gsl_sort(outside, 1, count);
    for (int i = 0; i < matched->procs; i++) {
        const pto_timed_t *timed = &matched->timed[i];
        if (!pto_is_awaited(timed))
            continue;
        const double begin_s = pto_comparison_time(comparison, timed, timed->begin_s);
        double late_s = above_others(arrival, count, begin_s);
        if (has_outside)
            late_s = smaller_magnitude(late_s, above_others(outside, count, timed->outside_s));
        item[added++] =
            (pto_item_t){.place = timed->rank, .key = begin_s >= arrival[count - 1], .value = late_s};
    }
    return added;
}

/* Summarizes the items of each process of a group; returns how many processes. Then each item is replaced by
 * its distance from the process's median. Items of exactly 0 are dropped, because they would hide the noise.
 */
static size_t summarize(pto_item_t *item, size_t *count, process_t *process) {
    size_t procs = 0, kept = 0;
    for (size_t first = 0, end; first < *count; first = end) {
        process_t *summary = &process[procs++];
        *summary = (process_t){.rank = item[first].place};
        for (end = first; end < *count && item[end].place == item[first].place; end++)
            summary->last += item[end].key > 0;
        summary->calls = (int64_t)(end - first);
        summary->late_s = pto_item_median(item + first, end - first);
        for (size_t i = first; i < end; i++)
            if (fabs(item[i].value) > 0)
                item[kept++].value = item[i].value - summary->late_s;
    }
    *count = kept;
    return procs;
}

/* Returns the median of the processes' times outside of calls before this one; NaN if one is unknown. */
static double median_outside(const pto_matched_t *matched, double *scratch) {
    for (int k = 0; k < matched->procs; k++) {
        scratch[k] = matched->timed[k].outside_s;
        if (!isfinite(scratch[k]))
            return NAN;
    }
    return gsl_stats_median(scratch, 1, (size_t)matched->procs);
}

/* Returns the median time from the end of the previous collective to the end of a call that shows lateness.
 */
static double find_period(const pto_matched_t *matched, size_t calls, double *scratch) {
    size_t count = 0;
    for (size_t i = 0; i < calls; i++)
        for (int k = 0; k < matched[i].procs && matched[i].shows_lateness; k++) {
            const pto_timed_t *timed = &matched[i].timed[k];
            scratch[count++] =
                timed->end_s - timed->begin_s + (isfinite(timed->outside_s) ? timed->outside_s : 0);
        }
    return gsl_stats_median(scratch, 1, count);
}

/* Returns the median of the transfers' times. */
static double find_transfer(const pto_matched_t *matched, size_t calls, double *scratch) {
    for (size_t i = 0; i < calls; i++)
        scratch[i] = matched[i].transfer_s;
    return gsl_stats_median(scratch, 1, calls);
}

/* Returns half of the average over calls of median_outside. Calls before which it is less are taken to follow
 * another one immediately (choose_calls). */
static double find_outside_min(const pto_matched_t *matched, size_t calls, double *scratch) {
    double sum_s = 0;
    size_t known = 0;
    for (size_t i = 0; i < calls; i++) {
        const double outside_s = median_outside(&matched[i], scratch);
        sum_s += isfinite(outside_s) ? outside_s : 0;
        known += isfinite(outside_s) ? 1 : 0;
    }
    return known > 0 ? sum_s / 2 / (double)known : 0;
}

/* Chooses the calls of a group that can show which process is late. At a call that follows another one
 * immediately, like that of a training step's second bucket of gradients, all processes arrive together. If
 * only durations are known, the faster half of the calls is chosen. */
static void choose_calls(pto_matched_t *matched, size_t calls, double *scratch) {
    const bool only_duration = matched->timed->only_duration;
    const double transfer_s = only_duration ? find_transfer(matched, calls, scratch) : HUGE_VAL;
    const double least_s = only_duration ? 0 : find_outside_min(matched, calls, scratch);
    for (size_t i = 0; i < calls; i++)
        matched[i].shows_lateness = matched[i].transfer_s >= 0 && matched[i].transfer_s <= transfer_s &&
                                    (only_duration || median_outside(&matched[i], scratch) >= least_s);
}

/* What all groups show of a process. The second to fourth member are of calls of which only durations are
 * known. */
typedef struct {
    process_t late;        /* in the group in which its weight is largest */
    double inside_s;       /* its time in these calls */
    double outside_s;      /* how much longer than the others it was outside of all calls */
    double share[SUBSETS]; /* first: its time in each subset of the calls. Then: by which fraction of the
                              median of all processes its time is below that median */
    bool has_waited;       /* it arrived in time at calls to which another process is late */
} evidence_t;

typedef struct {
    const pto_comparison_t *comparison;
    pto_item_t *item;
    double *scratch;
    process_t *process;   /* of one group */
    evidence_t *evidence; /* by rank */
    double inside_s;      /* the median over processes of evidence_t's `inside_s` */
} search_t;

/* Returns whether a value exceeds the others by more than a multiple of their spread. */
static bool stands_out(double value, const double *sorted, size_t count) {
    const size_t index = index_of(sorted, count, value);
    if (count < 2)
        return value > 0;
    const double middle = median_of_others(sorted, count, index);
    return value - middle > spread_factor * spread_of_others(sorted, count, index, middle);
}

/* Sets the weights of a group's processes. Each process keeps the group in which its weight is largest. If a
 * process is late, those whose weight is small may have waited for it. `least_s`: the smallest lateness that
 * is reported. */
static void rate_processes(search_t *search, size_t procs, int32_t group, double noise_s, double least_s,
                           bool only_duration) {
    double *sorted = search->scratch;
    bool some_late = false;
    for (size_t i = 0; i < procs; i++)
        sorted[i] = search->process[i].late_s;
    gsl_sort(sorted, 1, procs);
    for (size_t i = 0; i < procs; i++) {
        process_t *process = &search->process[i], *strongest = &search->evidence[process->rank].late;
        process->noise_s = noise_s;
        process->group = group;
        process->only_duration = only_duration;
        process->weight = process->calls >= CALLS_MIN && stands_out(process->late_s, sorted, procs)
                              ? process->late_s / least_s
                              : 0;
        search->comparison->found->late_told |= process->calls >= CALLS_MIN;
        if (process->weight > strongest->weight)
            *strongest = *process;
        some_late = some_late || process->weight > 1;
    }
    for (size_t i = 0; i < procs && some_late; i++)
        if (search->process[i].weight < joined_min)
            search->evidence[search->process[i].rank].has_waited = true;
}

/* Finds how late the processes of a group are, and adds that to the evidence. */
static void rate_group(search_t *search, pto_matched_t *matched, size_t calls) {
    const bool only_duration = matched->timed->only_duration;
    size_t count = 0;
    choose_calls(matched, calls, search->scratch);
    for (size_t i = 0; i < calls; i++)
        if (matched[i].shows_lateness)
            count += add_call(search->comparison, &matched[i], search->scratch, search->item + count);
    if (count == 0)
        return;
    qsort(search->item, count, sizeof *search->item, pto_item_compare);
    const size_t procs = summarize(search->item, &count, search->process);
    const double noise_s = pto_item_spread(search->item, count, 0, search->scratch);
    const double period_s =
        only_duration ? search->inside_s / (double)calls : find_period(matched, calls, search->scratch);
    for (size_t i = 0; i < procs && only_duration; i++)
        search->process[i].late_s = smaller_magnitude(
            search->process[i].late_s, search->evidence[search->process[i].rank].outside_s / (double)calls);
    rate_processes(search, procs, matched->timed->group, noise_s,
                   fmax(DBL_MIN, fmax(noise_factor * noise_s, fraction_min * period_s)), only_duration);
}

static pto_delay_t delay_of(const process_t *process) {
    return (pto_delay_t){.cause = PTO_DELAY_LATE,
                         .place_count = 1,
                         .place = {process->rank},
                         .calls = process->calls,
                         .last = process->last,
                         .late_s = process->late_s,
                         .noise_s = process->noise_s};
}

/* Makes one delay of a node, whose processes are from `first` to before `end`. False if they are not late
 * together (joined_min). */
static bool join_node(const evidence_t *evidence, int first, int end, int64_t node, pto_delay_t *delay) {
    double weight = 0;
    *delay = delay_of(&evidence[first].late);
    delay->is_node = true;
    delay->place[0] = node;
    for (int i = first; i < end; i++) {
        if (evidence[i].late.weight < joined_min)
            return false;
        weight = fmax(weight, evidence[i].late.weight);
        bool is_new = true; /* the same calls may show several of its processes */
        for (int j = first; j < i; j++)
            is_new = is_new && evidence[j].late.group != evidence[i].late.group;
        delay->calls += i > first && is_new ? evidence[i].late.calls : 0;
        delay->last += i > first ? evidence[i].late.last : 0;
        delay->late_s = fmin(delay->late_s, evidence[i].late.late_s);
        delay->noise_s = fmax(delay->noise_s, evidence[i].late.noise_s);
    }
    return end - first > 1 && weight > 1;
}

static bool report_late(pto_comparison_t *comparison, const evidence_t *evidence) {
    const int procs = comparison->procs;
    const int64_t node_procs =
        comparison->options->gpus_per_node > 0 ? comparison->options->gpus_per_node : 1;
    bool able = true;
    for (int64_t first = 0; first < procs && able; first += node_procs) {
        const int end = (int)(first + node_procs < procs ? first + node_procs : procs);
        const bool is_only = first == 0 && end == procs;
        pto_delay_t delay;
        if (!is_only && join_node(evidence, (int)first, end, first / node_procs, &delay)) {
            able = pto_delays_add(comparison->found, &delay);
            continue;
        }
        for (int i = (int)first; i < end && able; i++)
            if (evidence[i].late.weight > 1) {
                delay = delay_of(&evidence[i].late);
                able = pto_delays_add(comparison->found, &delay);
            }
    }
    return able;
}

/* Finds how much longer than the others each process was outside of calls: as much as it was inside for less;
 * 0 if it does not stand out. A few long delays could add up to as much. So the calls are dealt in turn to
 * SUBSETS subsets, and of a process's fractions in these the second smallest counts. */
static void find_outside(search_t *search) {
    const pto_comparison_t *comparison = search->comparison;
    evidence_t *const end = search->evidence + comparison->procs;
    double *sorted = search->scratch;
    size_t count = 0;
    for (size_t i = 0; i < comparison->count; i++)
        for (int k = 0; k < comparison->matched[i].procs && comparison->matched[i].timed->only_duration;
             k++) {
            const pto_timed_t *timed = &comparison->matched[i].timed[k];
            const double duration_s = timed->end_s - timed->begin_s;
            search->evidence[timed->rank].inside_s += duration_s;
            search->evidence[timed->rank].share[(uint32_t)timed->number % SUBSETS] += duration_s;
        }
    for (int subset = 0; subset < SUBSETS; subset++, count = 0) {
        for (const evidence_t *evidence = search->evidence; evidence < end; evidence++)
            if (evidence->inside_s > 0)
                sorted[count++] = evidence->share[subset];
        const double middle_s = count > 1 ? gsl_stats_median(sorted, 1, count) : 0;
        if (!(middle_s > 0))
            return;
        search->inside_s += middle_s;
        for (evidence_t *evidence = search->evidence; evidence < end; evidence++)
            evidence->share[subset] = 1 - evidence->share[subset] / middle_s;
    }
    for (evidence_t *evidence = search->evidence; evidence < end; evidence++) {
        if (!(evidence->inside_s > 0))
            continue;
        gsl_sort(evidence->share, 1, SUBSETS);
        evidence->outside_s = search->inside_s * evidence->share[1];
        sorted[count++] = evidence->outside_s;
    }
    gsl_sort(sorted, 1, count);
    for (evidence_t *evidence = search->evidence; evidence < end; evidence++)
        if (!stands_out(evidence->outside_s, sorted, count))
            evidence->outside_s = 0;
}

bool pto_find_late(pto_comparison_t *comparison) {
    pto_matched_t *matched = comparison->matched;
    size_t timed = 1;
    for (size_t i = 0; i < comparison->count; i++)
        timed += (size_t)matched[i].procs;
    const size_t procs = (size_t)comparison->procs;
    search_t search = {.comparison = comparison,
                       .item = malloc((timed + procs) * sizeof *search.item),
                       .scratch = malloc(2 * (timed + procs) * sizeof *search.scratch),
                       .process = calloc(procs + 1, sizeof *search.process),
                       .evidence = calloc(procs + 1, sizeof *search.evidence)};
    bool able = search.item && search.scratch && search.process && search.evidence;
    if (able)
        find_outside(&search);
    for (size_t first = 0, end; first < comparison->count && able; first = end) {
        for (end = first;
             end < comparison->count && matched[end].timed->group == matched[first].timed->group;)
            end++;
        if (matched[first].timed->way < PTO_TIMED_SEND)
            rate_group(&search, matched + first, end - first);
    }
    for (size_t i = 0; i < procs && able; i++)
        if (search.evidence[i].late.only_duration && search.evidence[i].has_waited)
            search.evidence[i].late.weight = 0;
    able = able && report_late(comparison, search.evidence);
    free(search.item);
    free(search.scratch);
    free(search.process);
    free(search.evidence);
    return able;
}
