/* Finds which processes, nodes and links make others wait. This file matches the calls of all processes and
 * synchronizes their clocks. late.c and slow.c then find the delays.
 *
 * The clocks of nodes differ, and those of calls.csv start with each process. But where each process waits
 * for all others, all leave the call at about the same time. The offset of a process's clock is therefore the
 * median difference between its exit times and the others': if it leaves barriers at 10 and 20 s, and they at
 * 7 and 17 s, its clock is 3 s ahead. Only the fastest calls are used, because a slow link affects them
 * least. The drift is the slope of the resistant line (Tukey, Exploratory Data Analysis, 1977, chapter 5),
 * from the medians of the first and of the last third of the calls. On the common clock, a call's transfer is
 * the time from when the last process arrives until the others leave. */
#include "delays.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

double pto_comparison_time(const pto_comparison_t *comparison, const pto_timed_t *timed, double seconds) {
    const pto_process_clock_t *clock = &comparison->clock[timed->rank];
    if (timed->only_duration)
        return seconds;
    return seconds - clock->offset_s - clock->drift * (seconds - clock->middle_s);
}

int pto_item_compare(const void *left, const void *right) {
    const pto_item_t *a = left, *b = right;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return (a->key > b->key) - (a->key < b->key);
}

double pto_item_median(pto_item_t *item, size_t count) {
    const size_t stride = sizeof *item / sizeof item->value;
    double *value = &item->value;
    _Static_assert(sizeof *item % sizeof item->value == 0, "values are taken with a stride");
    if (count == 0)
        return 0;
    return gsl_stats_median(value, stride, count);
}

double pto_item_spread(const pto_item_t *item, size_t count, double middle, double *scratch) {
    for (size_t i = 0; i < count; i++)
        scratch[i] = fabs(item[i].value - middle);
    return count > 0 ? PTO_SPREAD_OF_NORMAL * gsl_stats_median(scratch, 1, count) : 0;
}

bool pto_delays_add(pto_delays_t *delays, const pto_delay_t *delay) {
    if (!PTO_EXTEND(delays->delay, delays->count))
        return false;
    delays->delay[delays->count++] = *delay;
    return true;
}

/* --- calls that belong together ------------------------------------------------------------------------- */

static bool is_message(const pto_timed_t *timed) {
    return timed->way == PTO_TIMED_SEND || timed->way == PTO_TIMED_RECEIVE;
}

/* Calls with the same key happen in the same order on all their processes, so the n-th calls of the processes
 * belong together. The key is the group (communicator and routine) and, of a message, its sender, receiver
 * and tag. */
enum { KEYS = 4 };

static void key_of(const pto_timed_t *timed, int32_t key[KEYS]) {
    const bool is_send = timed->way == PTO_TIMED_SEND;
    key[0] = timed->group;
    key[1] = is_message(timed) ? (is_send ? timed->rank : timed->peer) : -1;
    key[2] = is_message(timed) ? (is_send ? timed->peer : timed->rank) : -1;
    key[3] = is_message(timed) ? timed->tag : -1;
}

static int compare_keys(const pto_timed_t *a, const pto_timed_t *b) {
    int32_t left[KEYS], right[KEYS];
    key_of(a, left);
    key_of(b, right);
    for (int i = 0; i < KEYS; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

/* Sorts by key, then process, then the order of its calls. */
static int by_process(const void *left, const void *right) {
    const pto_timed_t *a = left, *b = right;
    int order = compare_keys(a, b);
    if (order == 0)
        order = (a->way > b->way) - (a->way < b->way);
    if (order == 0)
        order = (a->rank > b->rank) - (a->rank < b->rank);
    if (order == 0)
        order = (a->number > b->number) - (a->number < b->number);
    return order != 0 ? order : (a->order > b->order) - (a->order < b->order);
}

/* Sorts by key, then call, then process; the sender of a message comes first. */
static int by_call(const void *left, const void *right) {
    const pto_timed_t *a = left, *b = right;
    int order = compare_keys(a, b);
    if (order == 0)
        order = (a->number > b->number) - (a->number < b->number);
    if (order == 0)
        order = (a->way > b->way) - (a->way < b->way);
    return order != 0 ? order : (a->rank > b->rank) - (a->rank < b->rank);
}

/* Numbers the calls of each key on each process, unless the trace has done so. Then sorts all calls by_call.
 */
static void number_calls(pto_timeline_t *timeline) {
    pto_timed_t *timed = timeline->timed;
    if (timeline->count == 0)
        return;
    qsort(timed, timeline->count, sizeof *timed, by_process);
    for (size_t i = 0; i < timeline->count; i++) {
        const pto_timed_t *last = i > 0 ? &timed[i - 1] : NULL;
        const bool follows = last && compare_keys(last, &timed[i]) == 0 && last->rank == timed[i].rank &&
                             last->way == timed[i].way;
        if (!timed[i].is_numbered)
            timed[i].number = follows ? last->number + 1 : 0;
    }
    qsort(timed, timeline->count, sizeof *timed, by_call);
}

/* Returns whether `timed` has the calls of all processes of a call. */
static bool is_complete(const pto_timed_t *timed, size_t count) {
    if (count < 2)
        return false;
    if (is_message(timed))
        return count == 2 && timed[0].way == PTO_TIMED_SEND && timed[1].way == PTO_TIMED_RECEIVE &&
               timed[0].rank != timed[1].rank && !timed[1].has_no_end;
    for (size_t i = 0; i < count; i++)
        if (timed[i].procs != (int32_t)count || timed[i].only_duration != timed[0].only_duration ||
            (i > 0 && timed[i].rank == timed[i - 1].rank))
            return false;
    return true;
}

/* Returns whether the calls of a key can be matched by their order. Messages cannot if the numbers of sends
 * and receives differ: some receives did not name their source or tag then. Collectives of a trace that may
 * begin in the middle of the job cannot if their processes have different numbers of calls. */
static bool is_paired(const pto_timed_t *timed, size_t count) {
    size_t sends = 0;
    for (size_t i = 0; i < count; i++)
        sends += timed[i].way == PTO_TIMED_SEND;
    if (is_message(timed))
        return 2 * sends == count;
    const size_t calls = (size_t)timed[count - 1].number + 1;
    return timed->is_numbered || !timed->may_begin_late || calls * (size_t)timed->procs == count;
}

static void match_calls(const pto_timeline_t *timeline, pto_comparison_t *comparison) {
    const pto_timed_t *timed = timeline->timed;
    for (size_t first = 0, end; first < timeline->count; first = end) {
        for (end = first; end < timeline->count && compare_keys(&timed[first], &timed[end]) == 0;)
            end++;
        const bool paired = is_paired(&timed[first], end - first);
        for (size_t i = first, next; i < end && paired; i = next) {
            for (next = i; next < end && timed[next].number == timed[i].number;)
                next++;
            if (is_complete(&timed[i], next - i))
                comparison->matched[comparison->count++] =
                    (pto_matched_t){.timed = &timed[i], .procs = (int)(next - i), .transfer_s = -1};
        }
    }
}

/* --- clocks --------------------------------------------------------------------------------------------- */

/* Returns the shortest time that a process spent in a call. */
static double shortest(const pto_matched_t *matched) {
    double least_s = HUGE_VAL;
    for (int i = 0; i < matched->procs; i++)
        least_s = fmin(least_s, matched->timed[i].end_s - matched->timed[i].begin_s);
    return least_s;
}

enum { QUALITY_MAX = 3 };

/* Returns how well a kind of call synchronizes clocks; 0 if not at all. Best are calls of the whole job, then
 * others in which each process waits for all, then calls from a root. Processes that only send to a root need
 * not leave together. */
static int clock_quality(const pto_comparison_t *comparison, const pto_matched_t *matched) {
    if (is_message(matched->timed) || matched->timed->only_duration ||
        matched->timed->way == PTO_TIMED_TO_ROOT)
        return 0;
    if (matched->timed->way != PTO_TIMED_BY_ALL)
        return 1;
    return matched->procs < comparison->procs ? QUALITY_MAX - 1 : QUALITY_MAX;
}

/* The calls of one communicator and routine, which are consecutive. */
typedef struct {
    size_t end;               /* index after the last one */
    double half_s, quarter_s; /* median and lower quartile of their shortest times */
} group_t;

static group_t group_at(const pto_comparison_t *comparison, size_t first, double *scratch) {
    const pto_matched_t *matched = comparison->matched;
    group_t group = {.end = first};
    for (; group.end < comparison->count && matched[group.end].timed->group == matched[first].timed->group;
         group.end++)
        scratch[group.end - first] = shortest(&matched[group.end]);
    const size_t count = group.end - first;
    gsl_sort(scratch, 1, count);
    group.half_s = gsl_stats_median_from_sorted_data(scratch, 1, count);
    group.quarter_s = scratch[count / 4];
    return group;
}

/* Returns the median time of the fastest group of the whole job; HUGE_VAL if none has enough calls. */
static double fastest_of_all(const pto_comparison_t *comparison, double *scratch) {
    enum { CALLS_MIN = 8 };
    double least_s = HUGE_VAL;
    group_t group;
    for (size_t first = 0; first < comparison->count; first = group.end) {
        group = group_at(comparison, first, scratch);
        if (group.end - first >= CALLS_MIN &&
            clock_quality(comparison, &comparison->matched[first]) == QUALITY_MAX)
            least_s = fmin(least_s, group.half_s);
    }
    return least_s;
}

/* Chooses the calls that clocks are synchronized by: the faster half of the fastest group of the whole job
 * or, if there is none, of each group of the best quality. */
static void choose_calls(pto_comparison_t *comparison, bool *is_chosen, double *scratch) {
    const double least_s = fastest_of_all(comparison, scratch);
    int most = 0;
    group_t group;
    for (size_t i = 0; i < comparison->count; i++) {
        const int quality = clock_quality(comparison, &comparison->matched[i]);
        most = quality > most ? quality : most;
    }
    if (most == QUALITY_MAX && least_s == HUGE_VAL)
        most--;
    for (size_t first = 0; first < comparison->count; first = group.end) {
        const int quality = clock_quality(comparison, &comparison->matched[first]);
        group = group_at(comparison, first, scratch);
        if (quality == 0 || quality < most || (most == QUALITY_MAX && group.half_s > least_s))
            continue;
        comparison->exit_skew_s = fmax(comparison->exit_skew_s, group.quarter_s);
        for (size_t i = first; i < group.end; i++)
            is_chosen[i] = shortest(&comparison->matched[i]) <= group.half_s;
    }
}

/* Finds the median exit time of those processes of a call whose clocks are known; false if there are none. */
static bool median_end(const pto_comparison_t *comparison, const pto_matched_t *matched, double *scratch,
                       double *end_s) {
    size_t count = 0;
    for (int i = 0; i < matched->procs; i++)
        if (comparison->clock[matched->timed[i].rank].is_known)
            scratch[count++] = pto_comparison_time(comparison, &matched->timed[i], matched->timed[i].end_s);
    *end_s = count > 0 ? gsl_stats_median(scratch, 1, count) : 0;
    return count > 0;
}

/* Returns the value of an item without what the clock's drift adds to it. */
static double without_drift(const pto_process_clock_t *clock, const pto_item_t *item) {
    return item->value - clock->drift * (item->key - clock->middle_s);
}

/* Fits the clock of one process. The keys of `item` are its exit times in order, the values their differences
 * from the others'. */
static void fit_clock(pto_process_clock_t *clock, pto_item_t *item, size_t count, double *scratch) {
    enum { DRIFT_COUNT_MIN = 12 };
    const size_t third = count / 3;
    double level[2] = {0, 0}, at[2];
    clock->middle_s = item[count / 2].key;
    clock->drift = 0;
    if (count >= DRIFT_COUNT_MIN && item[count - 1].key > item[0].key) {
        for (int i = 0; i < 2; i++) {
            pto_item_t *from = i == 0 ? item : item + count - third;
            for (size_t k = 0; k < third; k++)
                scratch[k] = from[k].value;
            level[i] = gsl_stats_median(scratch, 1, third);
            at[i] = from[third / 2].key;
        }
        if (at[1] > at[0])
            clock->drift = (level[1] - level[0]) / (at[1] - at[0]);
    }
    for (size_t k = 0; k < count; k++)
        scratch[k] = without_drift(clock, &item[k]);
    clock->offset_s = gsl_stats_median(scratch, 1, count);
    for (size_t k = 0; k < count; k++)
        scratch[k] = fabs(without_drift(clock, &item[k]) - clock->offset_s);
    clock->noise_s = gsl_stats_median(scratch, 1, count);
    clock->is_known = true;
}

/* Fits the clocks of all processes that share a chosen call with a process of known clock; those that were
 * unknown belong to `part`. Returns whether more clocks are known now. */
static bool fit_clocks(pto_comparison_t *comparison, const bool *is_chosen, int part, pto_item_t *item,
                       double *scratch) {
    size_t count = 0;
    bool found = false;
    for (size_t i = 0; i < comparison->count; i++) {
        const pto_matched_t *matched = &comparison->matched[i];
        double end_s;
        if (!is_chosen[i] || !median_end(comparison, matched, scratch, &end_s))
            continue;
        for (int k = 0; k < matched->procs; k++) {
            const double exit_s = matched->timed[k].end_s;
            item[count++] = (pto_item_t){matched->timed[k].rank, exit_s, exit_s - end_s};
        }
    }
    qsort(item, count, sizeof *item, pto_item_compare);
    for (size_t first = 0, end; first < count; first = end) {
        pto_process_clock_t *clock = &comparison->clock[item[first].place];
        for (end = first; end < count && item[end].place == item[first].place;)
            end++;
        if (!clock->is_known)
            clock->part = part;
        found = found || !clock->is_known;
        fit_clock(clock, item + first, end - first, scratch);
    }
    return found;
}

/* Begins with the clock of one process and fits those of all processes that have calls with known ones, until
 * no more become known. That is one part of the job; others follow. Then refines all clocks. */
static void synchronize_clocks(pto_comparison_t *comparison, bool *is_chosen, pto_item_t *item,
                               double *scratch) {
    enum { PARTS_MAX = 64, ROUNDS = 4 };
    choose_calls(comparison, is_chosen, scratch);
    for (int part = 0, first = 0; part < PARTS_MAX; part++) {
        while (first < comparison->procs && comparison->clock[first].is_known)
            first++;
        if (first == comparison->procs)
            break;
        comparison->clock[first] = (pto_process_clock_t){.is_known = true, .part = part};
        while (fit_clocks(comparison, is_chosen, part, item, scratch))
            ;
    }
    for (int round = 0; round < ROUNDS; round++)
        fit_clocks(comparison, is_chosen, 0, item, scratch);
}

/* --- arrivals and transfers ----------------------------------------------------------------------------- */

bool pto_is_awaited(const pto_timed_t *timed) {
    return timed->way == PTO_TIMED_BY_ALL || timed->way == PTO_TIMED_SEND ||
           (timed->way == PTO_TIMED_FROM_ROOT && timed->rank == timed->peer) ||
           (timed->way == PTO_TIMED_TO_ROOT && timed->rank != timed->peer);
}

static bool has_same_clock(const pto_comparison_t *comparison, const pto_timed_t *a, const pto_timed_t *b) {
    const pto_process_clock_t *one = &comparison->clock[a->rank], *other = &comparison->clock[b->rank];
    return a->only_duration || (one->is_known && other->is_known && one->part == other->part);
}

/* Returns whether a process waits for others in its call. A sender does not, nor does the root of a
 * broadcast, nor do the other processes of a reduction. */
static bool waits_for_others(const pto_timed_t *timed) {
    return timed->way == PTO_TIMED_BY_ALL || !pto_is_awaited(timed);
}

/* A message takes at least as long as the shorter of its two calls. If most messages between two processes
 * seem to take less, then processes leave calls further apart than assumed. exit_skew_s becomes at least half
 * of what is missing, since both clocks may be wrong by exit_skew_s. */
static void widen_exit_skew(pto_comparison_t *comparison, double *scratch) {
    enum { CALLS_MIN = 5 };
    for (size_t first = 0, end; first < comparison->count; first = end) {
        const pto_timed_t *timed = comparison->matched[first].timed;
        const bool is_comparable = is_message(timed) && has_same_clock(comparison, timed, timed + 1);
        for (end = first; end < comparison->count && compare_keys(timed, comparison->matched[end].timed) == 0;
             end++) {
            if (!is_comparable)
                continue;
            const pto_timed_t *send = comparison->matched[end].timed, *receive = send + 1;
            scratch[end - first] = shortest(&comparison->matched[end]) -
                                   pto_comparison_time(comparison, receive, receive->end_s) +
                                   fmax(pto_comparison_time(comparison, send, send->begin_s),
                                        pto_comparison_time(comparison, receive, receive->begin_s));
        }
        if (is_comparable && end - first >= CALLS_MIN)
            comparison->exit_skew_s =
                fmax(comparison->exit_skew_s, gsl_stats_median(scratch, 1, end - first) / 2);
    }
}

/* Sets when the last process that others wait for arrived, and how uncertain clocks are (`*clock_s`). False
 * if the root is unknown, or if clocks are not comparable. */
static bool find_arrival(const pto_comparison_t *comparison, pto_matched_t *matched, double *clock_s) {
    const pto_timed_way_t way = matched->timed->way;
    const bool is_rootless =
        (way == PTO_TIMED_FROM_ROOT || way == PTO_TIMED_TO_ROOT) && matched->timed->peer < 0;
    bool is_known = true;
    matched->arrival_s = -HUGE_VAL;
    *clock_s = 0;
    for (int i = 0; i < matched->procs; i++) {
        const pto_timed_t *timed = &matched->timed[i];
        if (pto_is_awaited(timed))
            matched->arrival_s =
                fmax(matched->arrival_s, pto_comparison_time(comparison, timed, timed->begin_s));
        if (!timed->only_duration)
            *clock_s = fmax(*clock_s, comparison->exit_skew_s + comparison->clock[timed->rank].noise_s);
        is_known = is_known && has_same_clock(comparison, timed, matched->timed);
    }
    comparison->found->rootless += is_rootless;
    comparison->found->clockless += !is_rootless && !is_known;
    return is_known && !is_rootless;
}

/* Sets the time of a call's transfer: the longest time from when a process and all that it waits for have
 * arrived until it leaves. It is as uncertain as two clocks. But it is not below the shortest duration of any
 * process, which is that of the last to arrive. If that is over half of the transfer, the processes are taken
 * to leave together. Then it is the whole transfer, and no clock is needed. */
static void time_transfer(const pto_comparison_t *comparison, pto_matched_t *matched) {
    static const double half_us = 5e-7;
    double clock_s, least_s = HUGE_VAL, most_s = 0, transfer_s = 0;
    if (!find_arrival(comparison, matched, &clock_s))
        return;
    for (int i = 0; i < matched->procs; i++) {
        const pto_timed_t *timed = &matched->timed[i];
        const double duration_s = timed->end_s - timed->begin_s;
        const double begin_s = pto_comparison_time(comparison, timed, timed->begin_s);
        const double end_s = pto_comparison_time(comparison, timed, timed->end_s);
        least_s = fmin(least_s, waits_for_others(timed) || timed->way == PTO_TIMED_SEND ? duration_s : 0);
        if (!waits_for_others(timed))
            continue;
        most_s = fmax(most_s, duration_s);
        transfer_s = fmax(transfer_s, end_s - fmax(begin_s, matched->arrival_s));
    }
    matched->transfer_s = fmin(fmax(transfer_s, least_s), most_s);
    const bool leave_together = 2 * least_s > transfer_s;
    matched->low_s = leave_together ? least_s : fmin(fmax(transfer_s - 2 * clock_s, least_s), most_s);
    matched->high_s = leave_together ? least_s : fmin(transfer_s + 2 * clock_s, most_s);
    if (matched->timed->is_rounded) {
        matched->low_s = fmax(0, matched->low_s - half_us);
        matched->high_s += half_us;
    }
}

/* Marks all messages from one process to another as contended if most of them are, else none. Which single
 * messages seem contended depends on the clocks' uncertainty, and so do their times. */
static void agree_on_contention(const pto_comparison_t *comparison) {
    pto_matched_t *matched = comparison->matched;
    for (size_t first = 0, end; first < comparison->count; first = end) {
        size_t contended = 0;
        for (end = first;
             end < comparison->count && compare_keys(matched[first].timed, matched[end].timed) == 0; end++)
            contended += matched[end].is_contended;
        for (size_t i = first; i < end; i++)
            matched[i].is_contended = 2 * contended > end - first;
    }
}

/* Marks messages that begin before an earlier one of the same sender has arrived. A send may return before
 * its message has left; the sender's next message then takes longer on any link. */
static void find_contended(const pto_comparison_t *comparison, pto_item_t *item) {
    static const double part_max = 0.1; /* of a message's own time */
    double busy_s = -HUGE_VAL;
    size_t count = 0;
    for (size_t i = 0; i < comparison->count; i++) {
        const pto_matched_t *matched = &comparison->matched[i];
        if (is_message(matched->timed) && matched->transfer_s >= 0)
            item[count++] =
                (pto_item_t){.place = matched->timed->rank, .key = matched->timed->order, .value = (double)i};
    }
    qsort(item, count, sizeof *item, pto_item_compare);
    for (size_t k = 0; k < count; k++) {
        pto_matched_t *matched = &comparison->matched[(size_t)item[k].value];
        const pto_timed_t *send = &matched->timed[0], *receive = &matched->timed[1];
        const double begin_s = pto_comparison_time(comparison, send, send->begin_s);
        if (k > 0 && item[k].place != item[k - 1].place)
            busy_s = -HUGE_VAL;
        matched->is_contended = busy_s - begin_s > part_max * matched->transfer_s;
        busy_s = fmax(busy_s, pto_comparison_time(comparison, receive, receive->end_s));
    }
    agree_on_contention(comparison);
}

static void add_to_recording(const pto_comparison_t *comparison, pto_recording_t *trace) {
    for (size_t i = 0; i < comparison->count; i++) {
        const pto_matched_t *matched = &comparison->matched[i];
        for (int k = 0; k < matched->procs && matched->transfer_s >= 0; k++) {
            const int call = matched->timed[k].call;
            if (call < 0 || call >= trace->count)
                continue;
            trace->call[call].compared++;
            trace->call[call].transfer_s += matched->transfer_s;
        }
    }
}

/* --- finding delays ------------------------------------------------------------------------------------- */

/* Drops the first `late` delays, which are those of late processes, if they may have another reason. A slow
 * link may delay a process by messages that the files do not show, and the process looks as if it computed
 * longer. */
static void drop_ambiguous(const pto_comparison_t *comparison, int late) {
    pto_delays_t *found = comparison->found;
    if (!(found->only_durations || found->hides_messages) || found->count == late)
        return;
    found->late_told = false;
    found->count -= late;
    memmove(found->delay, found->delay + late, (size_t)found->count * sizeof *found->delay);
}

static bool find_delays(pto_comparison_t *comparison) {
    if (!pto_find_late(comparison))
        return false;
    const int late = comparison->found->count;
    if (!pto_find_slow(comparison))
        return false;
    drop_ambiguous(comparison, late);
    return true;
}

/* Synchronizes clocks, times the transfers of all matched calls, and finds delays. `timed`: number of calls
 * of single processes. False if out of memory. */
static bool compare(pto_comparison_t *comparison, size_t timed) {
    bool *is_chosen = calloc(comparison->count + 1, sizeof *is_chosen);
    pto_item_t *item = malloc((timed + 1) * sizeof *item);
    double *scratch = malloc((timed + 1) * sizeof *scratch);
    bool able = is_chosen && item && scratch;
    if (able) {
        synchronize_clocks(comparison, is_chosen, item, scratch);
        widen_exit_skew(comparison, scratch);
        for (size_t i = 0; i < comparison->count; i++)
            time_transfer(comparison, &comparison->matched[i]);
        find_contended(comparison, item);
    }
    free(is_chosen);
    free(item);
    free(scratch);
    return able && find_delays(comparison);
}

/* Returns the largest communicator's first process without calls, if several others have some; else -1. */
static int64_t find_missing(const pto_timeline_t *timeline, const bool *has_called, int procs) {
    int64_t largest = 0, callers = 0, missing = 0;
    for (size_t i = 0; i < timeline->count; i++)
        largest = timeline->timed[i].procs > largest ? timeline->timed[i].procs : largest;
    for (int i = 0; i < procs; i++)
        callers += has_called[i];
    while (missing < procs && has_called[missing])
        missing++;
    return callers > 1 && missing < largest ? missing : -1;
}

pto_status_t pto_delays_find(pto_timeline_t *timeline, const pto_recording_options_t *options,
                             pto_recording_t *trace, pto_delays_t *delays, pto_error_t *err) {
    pto_delays_t found = {.is_cut = timeline->is_cut, .hides_messages = timeline->hides_messages};
    pto_comparison_t comparison = {.options = options, .found = &found};
    if (!pto_timeline_set_ranks(timeline))
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for comparing processes");
    for (size_t i = 0; i < timeline->count; i++) {
        const int32_t rank = timeline->timed[i].rank;
        comparison.procs = rank >= comparison.procs ? rank + 1 : comparison.procs;
        found.hides_messages = found.hides_messages && !is_message(&timeline->timed[i]);
    }
    number_calls(timeline);
    comparison.clock = calloc((size_t)comparison.procs + 1, sizeof *comparison.clock);
    comparison.matched = malloc((timeline->count + 1) * sizeof *comparison.matched);
    bool *has_called = calloc((size_t)comparison.procs + 1, sizeof *has_called);
    bool able = comparison.clock && comparison.matched && has_called;
    for (size_t i = 0; i < timeline->count && able; i++)
        has_called[timeline->timed[i].rank] = true;
    found.missing = able ? find_missing(timeline, has_called, comparison.procs) : -1;
    free(has_called);
    if (able)
        match_calls(timeline, &comparison);
    found.only_durations = able && comparison.count > 0 && comparison.matched->timed->only_duration;
    able = able && compare(&comparison, timeline->count);
    if (able)
        add_to_recording(&comparison, trace);
    found.procs = comparison.procs;
    found.calls = (int64_t)comparison.count;
    free(comparison.clock);
    free(comparison.matched);
    if (able)
        *delays = found;
    else
        pto_delays_fini(&found);
    return able ? PTO_OK : pto_error_set(err, PTO_ERR_MEMORY, "out of memory for comparing processes");
}

void pto_delays_fini(pto_delays_t *delays) {
    free(delays->delay);
    *delays = (pto_delays_t){.count = 0};
}

const char *pto_delay_cause_name(pto_delay_cause_t cause) {
    static const char *const names[PTO_DELAY_CAUSES] = {[PTO_DELAY_LATE] = "late",
                                                        [PTO_DELAY_SLOW] = "slow",
                                                        [PTO_DELAY_SLOW_LINK] = "slow link",
                                                        [PTO_DELAY_SLOW_AMONG] = "slow among"};
    return cause < PTO_DELAY_CAUSES ? names[cause] : "no cause";
}
