/* Which processes and nodes come late to the calls that others wait in.
 *
 * A process that comes late need not be the cause: it may have waited for another one in a call before. So
 * what counts of a call is the lesser of two: how far its arrival is behind the median of the others', and
 * how much longer than theirs it was outside of all calls since its last collective; nothing, if the one is
 * more than that of the others and the other less. A process is named if the median over its calls is beyond
 * the noise, and is worth naming. */
#include <float.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

#include "delays.h"

/* Beyond the noise of single calls, which makes it late in most; the part of the time from call to call; the
 * spread of the other processes' medians. */
static const double noise_factor = 3, part_min = 0.05, spread_factor = 5;
enum { CALLS_MIN = 5 };

/* A process, as the calls of one group show it. */
typedef struct {
    int rank;
    int64_t calls, last;
    double late_s; /* the median */
    double noise_s;
    double weight; /* late_s, by what names a process */
} process_t;

/* --- the calls of each process -------------------------------------------------------------------------- */

/* The median of all but one; `sorted` has it at `left_out`. */
static double median_of_others(const double *sorted, size_t count, size_t left_out) {
    const size_t others = count - 1, low = (others - 1) / 2, high = others / 2;
    return (sorted[low < left_out ? low : low + 1] + sorted[high < left_out ? high : high + 1]) / 2;
}

static size_t place_of(const double *sorted, size_t count, double value) {
    size_t at = 0;
    while (at + 1 < count && sorted[at] < value)
        at++;
    return at;
}

static double lesser(double a, double b) {
    if ((a > 0) != (b > 0))
        return 0;
    return fabs(a) < fabs(b) ? a : b;
}

/* How late the processes of a call are that others wait for: an item of each. */
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

/* The processes of a group of calls. Their items become the distances from their medians. */
static int summarize(pto_item_t *item, size_t count, process_t *process) {
    int procs = 0;
    for (size_t first = 0, end; first < count; first = end) {
        process_t *own = &process[procs++];
        *own = (process_t){.rank = item[first].place};
        for (end = first; end < count && item[end].place == item[first].place; end++)
            own->last += item[end].at > 0;
        own->calls = (int64_t)(end - first);
        own->late_s = pto_item_median(item + first, end - first);
        for (size_t i = first; i < end; i++)
            item[i].value -= own->late_s;
    }
    return procs;
}

/* The median time from the collective before to the end of these. */
static double find_period(const pto_matched_t *matched, size_t calls, double *scratch) {
    size_t count = 0;
    for (size_t i = 0; i < calls; i++)
        for (int k = 0; k < matched[i].procs; k++) {
            const pto_timed_t *timed = &matched[i].timed[k];
            scratch[count++] =
                timed->end_s - timed->begin_s + (isfinite(timed->outside_s) ? timed->outside_s : 0);
        }
    return gsl_stats_median(scratch, 1, count);
}

/* --- who is named --------------------------------------------------------------------------------------- */

/* Whether it is behind the other processes, by how these differ among each other. */
static bool stands_out(const process_t *process, int procs, int own, pto_item_t *item, double *scratch) {
    size_t count = 0;
    for (int i = 0; i < procs; i++)
        if (i != own)
            item[count++] = (pto_item_t){i, 0, process[i].late_s};
    const double middle_s = pto_item_median(item, count);
    return process[own].late_s - middle_s > spread_factor * pto_item_spread(item, count, middle_s, scratch);
}

/* Note in `late`, by rank, the processes that are late to the calls of one group, unless another group shows
 * it more clearly. */
static void judge_group(const pto_comparison_t *comparison, const pto_matched_t *matched, size_t calls,
                        pto_item_t *item, double *scratch, process_t *process, process_t *late) {
    size_t count = 0;
    for (size_t i = 0; i < calls; i++)
        if (matched[i].transfer_s >= 0)
            count += add_call(comparison, &matched[i], scratch, item + count);
    if (count == 0)
        return;
    qsort(item, count, sizeof *item, pto_item_compare);
    const int procs = summarize(item, count, process);
    const double noise_s = pto_item_spread(item, count, 0, scratch);
    const double least_s =
        fmax(DBL_MIN, fmax(noise_factor * noise_s, part_min * find_period(matched, calls, scratch)));
    for (int i = 0; i < procs; i++) {
        process_t *known = &late[process[i].rank];
        comparison->found->late_told = comparison->found->late_told || process[i].calls >= CALLS_MIN;
        process[i].noise_s = noise_s;
        process[i].weight = process[i].late_s / least_s;
        if (process[i].calls >= CALLS_MIN && process[i].weight > known->weight &&
            stands_out(process, procs, i, item, scratch))
            *known = process[i];
    }
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

/* Of several processes of a node, one of which is late, and the others at least half as clearly. */
static bool join_node(const process_t *late, int first, int end, int64_t node, pto_delay_t *delay) {
    double weight = 0;
    *delay = delay_of(&late[first]);
    delay->is_node = true;
    delay->place[0] = node;
    for (int i = first; i < end; i++) {
        if (late[i].weight < 0.5)
            return false;
        weight = fmax(weight, late[i].weight);
        delay->calls += i > first ? late[i].calls : 0;
        delay->last += i > first ? late[i].last : 0;
        delay->late_s = fmin(delay->late_s, late[i].late_s);
        delay->noise_s = fmax(delay->noise_s, late[i].noise_s);
    }
    return end - first > 1 && weight > 1;
}

static bool name_late(pto_comparison_t *comparison, const process_t *late) {
    const int procs = comparison->procs;
    const int64_t node_procs =
        comparison->options->gpus_per_node > 0 ? comparison->options->gpus_per_node : 1;
    bool able = true;
    for (int64_t first = 0; first < procs && able; first += node_procs) {
        const int end = (int)(first + node_procs < procs ? first + node_procs : procs);
        const bool is_only = first == 0 && end == procs;
        pto_delay_t delay;
        if (!is_only && join_node(late, (int)first, end, first / node_procs, &delay)) {
            able = pto_delays_add(comparison->found, &delay);
            continue;
        }
        for (int i = (int)first; i < end && able; i++)
            if (late[i].weight > 1) {
                delay = delay_of(&late[i]);
                able = pto_delays_add(comparison->found, &delay);
            }
    }
    return able;
}

bool pto_find_late(pto_comparison_t *comparison) {
    const pto_matched_t *matched = comparison->matched;
    size_t timed = 1;
    for (size_t i = 0; i < comparison->count; i++)
        timed += (size_t)matched[i].procs;
    const size_t procs = (size_t)comparison->procs;
    pto_item_t *item = malloc((timed + procs) * sizeof *item);
    double *scratch = malloc(2 * (timed + procs) * sizeof *scratch);
    process_t *process = calloc(procs + 1, sizeof *process), *late = calloc(procs + 1, sizeof *late);
    bool able = item && scratch && process && late;
    for (size_t first = 0, end; first < comparison->count && able; first = end) {
        for (end = first;
             end < comparison->count && matched[end].timed->group == matched[first].timed->group;)
            end++;
        if (matched[first].timed->way < PTO_TIMED_SEND)
            judge_group(comparison, matched + first, end - first, item, scratch, process, late);
    }
    able = able && name_late(comparison, late);
    free(item);
    free(scratch);
    free(process);
    free(late);
    return able;
}
