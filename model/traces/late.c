/* Which processes and nodes come late to the calls that others wait in.
 *
 * A process that comes late need not be the cause: it may have waited for another one in a call before. So
 * what counts of a call is the lesser of two: how far its arrival is behind the median of the others', and
 * how much longer than theirs it was outside of all calls since its last collective; nothing, if the one is
 * more than that of the others and the other less. A process is named if the median over its calls is beyond
 * the noise, and is worth naming.
 *
 * Where only durations are known, calls are taken to end together, which they do as far as a transfer takes.
 * The whole job takes all processes the same time: a process was outside of all calls for as much longer than
 * the others as it was in calls for less. Who is in time for calls that another one is late to may have
 * waited there, and is not named. */
#include <float.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

#include "delays.h"

/* Beyond the noise of single calls, which makes it late in most; the part of the time from call to call; the
 * spread of the other processes' medians. */
static const double noise_factor = 3, part_min = 0.05, spread_factor = 5;
/* The part of the weight that names a process, from which on others count as late for the same reason. */
static const double joined_min = 0.5;
enum { CALLS_MIN = 5, PARTS = 7 };

/* A process, as the calls of one group show it. */
typedef struct {
    int rank;
    int32_t group; /* of pto_timed_t */
    int64_t calls, last;
    double late_s; /* the median */
    double noise_s;
    double weight; /* late_s, by what names a process */
    bool is_bare;
} process_t;

/* --- the calls of each process -------------------------------------------------------------------------- */

/* Element `i` of all values but one: `sorted` without the element at `left_out`. */
static double other(const double *sorted, size_t left_out, size_t i) {
    return sorted[i < left_out ? i : i + 1];
}

static double median_of_others(const double *sorted, size_t count, size_t left_out) {
    const size_t others = count - 1;
    return (other(sorted, left_out, (others - 1) / 2) + other(sorted, left_out, others / 2)) / 2;
}

/* Returns the place of a value, the first one if several are equal. */
static size_t place_of(const double *sorted, size_t count, double value) {
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

/* Returns the distance from `middle` that `near` of all values but one do not exceed: of as many neighbors.
 */
static double distance_of(const double *sorted, size_t count, size_t left_out, double middle, size_t near) {
    size_t low = 0, high = count - 1 - near; /* where these neighbors begin */
    while (low < high) {
        const size_t at = low + (high - low) / 2;
        if (middle - other(sorted, left_out, at) > other(sorted, left_out, at + near) - middle)
            low = at + 1;
        else
            high = at;
    }
    return fmax(middle - other(sorted, left_out, low), other(sorted, left_out, low + near - 1) - middle);
}

/* Returns the spread of all values but one, as pto_item_spread does for all. */
static double spread_of_others(const double *sorted, size_t count, size_t left_out, double middle) {
    const size_t others = count - 1;
    return PTO_SPREAD_OF_NORMAL *
           (distance_of(sorted, count, left_out, middle, (others + 1) / 2) +
            distance_of(sorted, count, left_out, middle, others / 2 + 1)) /
           2;
}

static double lesser(double a, double b) {
    if ((a > 0) != (b > 0))
        return 0;
    return fabs(a) < fabs(b) ? a : b;
}

/* Returns how late the processes of a call are that others wait for: an item of each. */
static size_t add_call(const pto_comparison_t *comparison, const pto_matched_t *matched, double *scratch,
                       pto_item_t *item) {
    double *arrival = scratch, *outside = scratch + matched->procs;
    size_t count = 0, added = 0;
    bool has_outside = true;
    const pto_timed_way_t way = matched->timed->way;
    for (int i = 0; i < matched->procs; i++) {
        const pto_timed_t *timed = &matched->timed[i];
        if (way == PTO_TIMED_TO_ROOT && !pto_is_awaited(timed))
            continue;
        arrival[count] = pto_comparison_time(comparison, timed, timed->begin_s);
        outside[count++] = timed->outside_s;
        has_outside = has_outside && isfinite(timed->outside_s);
    }
    if (count < 2 || (!has_outside && !matched->timed->is_bare))
        return 0;
    gsl_sort(arrival, 1, count);
    if (has_outside)
        gsl_sort(outside, 1, count);
    for (int i = 0; i < matched->procs; i++) {
        const pto_timed_t *timed = &matched->timed[i];
        if (!pto_is_awaited(timed))
            continue;
        const double own_s = pto_comparison_time(comparison, timed, timed->begin_s);
        double late_s = own_s - median_of_others(arrival, count, place_of(arrival, count, own_s));
        if (has_outside)
            late_s = lesser(late_s,
                            timed->outside_s -
                                median_of_others(outside, count, place_of(outside, count, timed->outside_s)));
        item[added++] = (pto_item_t){timed->rank, own_s >= arrival[count - 1], late_s};
    }
    return added;
}

/* The processes of a group of calls. Their items become the distances from their medians, of the calls that
 * show a process early or late at all: the others would hide the noise. */
static size_t summarize(pto_item_t *item, size_t *count, process_t *process) {
    size_t procs = 0, kept = 0;
    for (size_t first = 0, end; first < *count; first = end) {
        process_t *own = &process[procs++];
        *own = (process_t){.rank = item[first].place};
        for (end = first; end < *count && item[end].place == item[first].place; end++)
            own->last += item[end].at > 0;
        own->calls = (int64_t)(end - first);
        own->late_s = pto_item_median(item + first, end - first);
        for (size_t i = first; i < end; i++)
            if (fabs(item[i].value) > 0)
                item[kept++].value = item[i].value - own->late_s;
    }
    *count = kept;
    return procs;
}

/* Returns the median of what the processes were outside of all calls before this one; NaN: it is not known of
 * each. */
static double median_outside(const pto_matched_t *matched, double *scratch) {
    for (int k = 0; k < matched->procs; k++) {
        scratch[k] = matched->timed[k].outside_s;
        if (!isfinite(scratch[k]))
            return NAN;
    }
    return gsl_stats_median(scratch, 1, (size_t)matched->procs);
}

/* The median time from the collective before to the end of the calls that tell. */
static double find_period(const pto_matched_t *matched, size_t calls, double *scratch) {
    size_t count = 0;
    for (size_t i = 0; i < calls; i++)
        for (int k = 0; k < matched[i].procs && matched[i].tells; k++) {
            const pto_timed_t *timed = &matched[i].timed[k];
            scratch[count++] =
                timed->end_s - timed->begin_s + (isfinite(timed->outside_s) ? timed->outside_s : 0);
        }
    return gsl_stats_median(scratch, 1, count);
}

/* Half of the calls of which only durations are known take no longer. */
static double find_transfer(const pto_matched_t *matched, size_t calls, double *scratch) {
    for (size_t i = 0; i < calls; i++)
        scratch[i] = matched[i].transfer_s;
    return gsl_stats_median(scratch, 1, calls);
}

/* Half of what processes were outside of calls before one, on average. */
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

/* Which calls of a group tell who is late. One that follows another at once, as that of the second bucket of
 * a step's gradients does, finds all processes together. */
static void choose(pto_matched_t *matched, size_t calls, double *scratch) {
    const bool is_bare = matched->timed->is_bare;
    const double transfer_s = is_bare ? find_transfer(matched, calls, scratch) : HUGE_VAL;
    const double least_s = is_bare ? 0 : find_outside_min(matched, calls, scratch);
    for (size_t i = 0; i < calls; i++)
        matched[i].tells = matched[i].transfer_s >= 0 && matched[i].transfer_s <= transfer_s &&
                           (is_bare || median_outside(&matched[i], scratch) >= least_s);
}

/* --- who is named --------------------------------------------------------------------------------------- */

/* A process, by all groups. */
typedef struct {
    process_t late; /* as the group shows it that shows it most clearly */
    /* Where only durations are known: how much longer it was outside of all calls than the others, and by
     * which part of the time in calls in each part of the job. */
    double outside_s, part[PARTS];
    bool has_waited; /* it was in time for calls that another process is late to */
} seen_t;

typedef struct {
    const pto_comparison_t *comparison;
    pto_item_t *item;
    double *scratch;
    process_t *process; /* of one group */
    seen_t *seen;       /* by rank */
    double inside_s;    /* where only durations are known: the median time in calls */
} search_t;

/* Returns whether a value is more than the others, by how these differ among each other. */
static bool stands_out(double value, const double *sorted, size_t count) {
    const size_t place = place_of(sorted, count, value);
    if (count < 2)
        return value > 0;
    const double middle = median_of_others(sorted, count, place);
    return value - middle > spread_factor * spread_of_others(sorted, count, place, middle);
}

/* Note which processes of a group are late by more than `least_s`. */
static void judge(search_t *search, size_t procs, int32_t group, double noise_s, double least_s,
                  bool is_bare) {
    double *sorted = search->scratch;
    bool some_late = false;
    for (size_t i = 0; i < procs; i++)
        sorted[i] = search->process[i].late_s;
    gsl_sort(sorted, 1, procs);
    for (size_t i = 0; i < procs; i++) {
        process_t *process = &search->process[i], *known = &search->seen[process->rank].late;
        process->noise_s = noise_s;
        process->group = group;
        process->is_bare = is_bare;
        process->weight = process->calls >= CALLS_MIN && stands_out(process->late_s, sorted, procs)
                              ? process->late_s / least_s
                              : 0;
        search->comparison->found->late_told |= process->calls >= CALLS_MIN;
        if (process->weight > known->weight)
            *known = *process;
        some_late = some_late || process->weight > 1;
    }
    for (size_t i = 0; i < procs && some_late; i++)
        if (search->process[i].weight < joined_min)
            search->seen[search->process[i].rank].has_waited = true;
}

static void judge_group(search_t *search, pto_matched_t *matched, size_t calls) {
    const bool is_bare = matched->timed->is_bare;
    size_t count = 0;
    choose(matched, calls, search->scratch);
    for (size_t i = 0; i < calls; i++)
        if (matched[i].tells)
            count += add_call(search->comparison, &matched[i], search->scratch, search->item + count);
    if (count == 0)
        return;
    qsort(search->item, count, sizeof *search->item, pto_item_compare);
    const size_t procs = summarize(search->item, &count, search->process);
    const double noise_s = pto_item_spread(search->item, count, 0, search->scratch);
    const double period_s =
        is_bare ? search->inside_s / (double)calls : find_period(matched, calls, search->scratch);
    for (size_t i = 0; i < procs && is_bare; i++)
        search->process[i].late_s = lesser(search->process[i].late_s,
                                           search->seen[search->process[i].rank].outside_s / (double)calls);
    judge(search, procs, matched->timed->group, noise_s,
          fmax(DBL_MIN, fmax(noise_factor * noise_s, part_min * period_s)), is_bare);
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

/* Makes one delay of the node if one of its processes is late and the others are, too, at least half as
 * clearly. */
static bool join_node(const seen_t *seen, int first, int end, int64_t node, pto_delay_t *delay) {
    double weight = 0;
    *delay = delay_of(&seen[first].late);
    delay->is_node = true;
    delay->place[0] = node;
    for (int i = first; i < end; i++) {
        if (seen[i].late.weight < joined_min)
            return false;
        weight = fmax(weight, seen[i].late.weight);
        bool is_new = true; /* the same calls may show several of its processes */
        for (int j = first; j < i; j++)
            is_new = is_new && seen[j].late.group != seen[i].late.group;
        delay->calls += i > first && is_new ? seen[i].late.calls : 0;
        delay->last += i > first ? seen[i].late.last : 0;
        delay->late_s = fmin(delay->late_s, seen[i].late.late_s);
        delay->noise_s = fmax(delay->noise_s, seen[i].late.noise_s);
    }
    return end - first > 1 && weight > 1;
}

static bool name_late(pto_comparison_t *comparison, const seen_t *seen) {
    const int procs = comparison->procs;
    const int64_t node_procs =
        comparison->options->gpus_per_node > 0 ? comparison->options->gpus_per_node : 1;
    bool able = true;
    for (int64_t first = 0; first < procs && able; first += node_procs) {
        const int end = (int)(first + node_procs < procs ? first + node_procs : procs);
        const bool is_only = first == 0 && end == procs;
        pto_delay_t delay;
        if (!is_only && join_node(seen, (int)first, end, first / node_procs, &delay)) {
            able = pto_delays_add(comparison->found, &delay);
            continue;
        }
        for (int i = (int)first; i < end && able; i++)
            if (seen[i].late.weight > 1) {
                delay = delay_of(&seen[i].late);
                able = pto_delays_add(comparison->found, &delay);
            }
    }
    return able;
}

/* Find the time that a process spent outside calls, which is the time that it spent less in them; 0 where it
 * does not stand out. Of PARTS parts of the job, which have calls in turn, it did so in all but one: a few
 * delays may add up to as much. */
static void find_outside(search_t *search) {
    const pto_comparison_t *comparison = search->comparison;
    seen_t *const end = search->seen + comparison->procs;
    double *sorted = search->scratch;
    size_t count = 0;
    for (size_t i = 0; i < comparison->count; i++)
        for (int k = 0; k < comparison->matched[i].procs && comparison->matched[i].timed->is_bare; k++) {
            const pto_timed_t *timed = &comparison->matched[i].timed[k];
            search->seen[timed->rank].outside_s -= timed->end_s - timed->begin_s;
            search->seen[timed->rank].part[(uint32_t)timed->number % PARTS] -= timed->end_s - timed->begin_s;
        }
    for (int part = 0; part < PARTS; part++, count = 0) {
        for (const seen_t *seen = search->seen; seen < end; seen++)
            if (seen->outside_s < 0)
                sorted[count++] = seen->part[part];
        const double middle_s = count > 1 ? gsl_stats_median(sorted, 1, count) : 0;
        if (!(middle_s < 0))
            return;
        search->inside_s -= middle_s;
        for (seen_t *seen = search->seen; seen < end; seen++)
            seen->part[part] = 1 - seen->part[part] / middle_s;
    }
    for (seen_t *seen = search->seen; seen < end; seen++) {
        if (!(seen->outside_s < 0))
            continue;
        gsl_sort(seen->part, 1, PARTS);
        sorted[count++] = seen->outside_s = search->inside_s * seen->part[1];
    }
    gsl_sort(sorted, 1, count);
    for (seen_t *seen = search->seen; seen < end; seen++)
        if (!stands_out(seen->outside_s, sorted, count))
            seen->outside_s = 0;
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
                       .seen = calloc(procs + 1, sizeof *search.seen)};
    bool able = search.item && search.scratch && search.process && search.seen;
    if (able)
        find_outside(&search);
    for (size_t first = 0, end; first < comparison->count && able; first = end) {
        for (end = first;
             end < comparison->count && matched[end].timed->group == matched[first].timed->group;)
            end++;
        if (matched[first].timed->way < PTO_TIMED_SEND)
            judge_group(&search, matched + first, end - first);
    }
    for (size_t i = 0; i < procs && able; i++)
        if (search.seen[i].late.is_bare && search.seen[i].has_waited)
            search.seen[i].late.weight = 0;
    able = able && name_late(comparison, search.seen);
    free(search.item);
    free(search.scratch);
    free(search.process);
    free(search.seen);
    return able;
}
