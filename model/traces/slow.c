/* Finds which nodes and links are slow: those whose transfers take longer than equal ones on other nodes or
 * processes. delays.c calls pto_find_slow with the matched calls of all processes.
 *
 * A call's kind is its routine, bytes, numbers of processes and places, and whether it is contended. Its set
 * is the set of places that it uses: nodes or, on a single node, processes. A cell has the calls of one kind
 * on one set. The usual time of a kind is the lower quartile of the medians of its sets, so a slow node may
 * be in half of them. A set is slow if, over all its kinds, even the lower quartile of its calls exceeds the
 * usual time by a margin, and the medians exceed it by more than their error.
 *
 * Clocks are uncertain, so the time of a call has two bounds, low_s and high_s. Usual times come from upper
 * bounds. A set is slow by its lower bounds, and normal by its upper bounds.
 *
 * Slow sets are then explained by as few places as possible. A link explains them, unless a set of only its
 * two places is normal; a node does, unless a normal set has it. For example, with messages among 4 nodes, if
 * {0,2}, {1,2} and {2,3} are slow, node 2 is. If only {1,2} is, the link between 1 and 2 is. */
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delays.h"

enum { PLACES_MAX = PTO_DELAY_PLACES_MAX, SETS_MAX = 256, CALLS_MIN = 5 };

/* A slow set takes this many times the usual time. Processes of a node have a larger margin than nodes,
 * because the links within a node may be of different kinds. */
static const double node_margin = 1.3, process_margin = 1.5;
/* A slow set exceeds the usual time by this many standard errors of its medians. */
static const double error_factor = 4;

/* A set of places, and sums over its calls of those kinds that other sets have as well. The median of a cell
 * stands for each of its calls. */
typedef struct {
    bool is_node; /* its places are nodes, else processes of one node */
    int count;
    int64_t place[PLACES_MAX]; /* in order */
    int64_t calls;
    double low_s;      /* lower bounds of the calls' times */
    double usual_s;    /* usual times of the same kinds */
    double variance;   /* of low_s */
    double quartile_s; /* as low_s, by the lower quartile of each cell, which disturbed calls do not change */
    double uncontended_high_s, uncontended_usual_s; /* upper bounds and usual times, without contention */
    bool is_slow, is_normal;                        /* neither if within the noise */
    bool is_explained;                              /* by a delay that was found */
} set_t;

/* The calls of one kind on one set. */
typedef struct {
    int kind, set;
    bool is_contended;
    int64_t calls;
    double low_s, high_s; /* medians of the bounds of a call's time */
    double error_s;       /* standard error of low_s */
    double quartile_s;    /* lower quartile of the lower bounds */
} cell_t;

typedef struct {
    const pto_comparison_t *comparison;
    pto_text_index_t set_names, kind_names, cell_names; /* number the sets, kinds and cells */
    set_t *set;
    cell_t *cell;
    pto_item_t *low, *high; /* bounds of each call; `place`: its cell, `key`: a message's direction */
    size_t items;
    double *scratch;
} sets_t;

static int by_place(const void *left, const void *right) {
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* Sets the places that a call uses. False if these are too many, or only one. */
static bool find_places(const pto_comparison_t *comparison, const pto_matched_t *matched, set_t *set) {
    const int64_t node_procs =
        comparison->options->gpus_per_node > 0 ? comparison->options->gpus_per_node : 1;
    const int64_t node = matched->timed[0].rank / node_procs;
    *set = (set_t){.count = 0};
    for (int i = 0; i < matched->procs; i++)
        set->is_node = set->is_node || matched->timed[i].rank / node_procs != node;
    for (int i = 0; i < matched->procs; i++) {
        const int64_t place = matched->timed[i].rank / (set->is_node ? node_procs : 1);
        int at = 0;
        while (at < set->count && set->place[at] != place)
            at++;
        if (at == PLACES_MAX)
            return false;
        if (at == set->count)
            set->place[set->count++] = place;
    }
    qsort(set->place, (size_t)set->count, sizeof *set->place, by_place);
    return set->count > 1;
}

/* Returns whether a set of processes of one node is on more than one socket. */
static bool spans_sockets(const pto_recording_options_t *options, const set_t *set) {
    const int64_t socket = options->gpus_per_socket;
    bool spans = false;
    for (int i = 1; i < set->count && !set->is_node && socket > 0; i++)
        spans = spans || set->place[i] / socket != set->place[0] / socket;
    return spans;
}

/* Returns a set's number, after adding it if new; SETS_MAX if there are too many, -1 if out of memory. */
static int set_number(sets_t *sets, const set_t *set) {
    char name[PLACES_MAX * 21 + 16];
    int used = snprintf(name, sizeof name, "%d", set->is_node);
    for (int i = 0; i < set->count; i++)
        used += snprintf(name + used, sizeof name - (size_t)used, " %lld", (long long)set->place[i]);
    const int before = sets->set_names.count;
    if (before == SETS_MAX && pto_text_index_find(&sets->set_names, name) < 0)
        return SETS_MAX;
    const int number = pto_text_index_add(&sets->set_names, name);
    if (number == before)
        sets->set[number] = *set;
    return number;
}

/* Returns the cell of a call; -1 if out of memory. */
static int cell_number(sets_t *sets, const pto_matched_t *matched, const set_t *set, int set_at) {
    char name[160];
    int64_t bytes = matched->timed[0].bytes;
    for (int i = 1; i < matched->procs && matched->timed->way != PTO_TIMED_SEND; i++)
        bytes = matched->timed[i].bytes > bytes ? matched->timed[i].bytes : bytes;
    snprintf(name, sizeof name, "%d %lld %d %d %d %d %d", (int)matched->timed->routine, (long long)bytes,
             matched->procs, set->count, set->is_node, spans_sockets(sets->comparison->options, set),
             matched->is_contended);
    const int kind = pto_text_index_add(&sets->kind_names, name);
    snprintf(name, sizeof name, "%d %d", kind, set_at);
    const int before = sets->cell_names.count,
              number = kind >= 0 ? pto_text_index_add(&sets->cell_names, name) : -1;
    if (number == before)
        sets->cell[number] = (cell_t){.kind = kind, .set = set_at, .is_contended = matched->is_contended};
    return number;
}

/* Numbers the sets and cells of all timed calls, and stores the bounds of their times. False if out of
 * memory. */
static bool collect(sets_t *sets) {
    for (size_t i = 0; i < sets->comparison->count; i++) {
        const pto_matched_t *matched = &sets->comparison->matched[i];
        set_t set;
        if (!(matched->transfer_s > 0) || !find_places(sets->comparison, matched, &set))
            continue;
        const int number = set_number(sets, &set);
        if (number == SETS_MAX)
            continue;
        const int cell = number >= 0 ? cell_number(sets, matched, &set, number) : -1;
        if (cell < 0)
            return false;
        const bool is_back =
            matched->timed->way == PTO_TIMED_SEND && matched->timed[0].rank > matched->timed[1].rank;
        sets->low[sets->items] = (pto_item_t){cell, is_back, matched->low_s};
        sets->high[sets->items++] = (pto_item_t){cell, is_back, matched->high_s};
    }
    return true;
}

/* Summarizes the lower bounds of a cell's calls; of messages, those of the slower direction. */
static void find_lows(cell_t *cell, pto_item_t *item, size_t count, double *scratch) {
    static const double median_error =
        1.2533; /* standard error of a median over that of a mean: sqrt(pi / 2) */
    cell->low_s = 0;
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first; end < count && item[end].key <= item[first].key; end++)
            scratch[end - first] = item[end].value;
        const size_t calls = end - first; /* in one direction */
        gsl_sort(scratch, 1, calls);
        const double low_s = gsl_stats_median_from_sorted_data(scratch, 1, calls);
        if (low_s < cell->low_s)
            continue;
        cell->low_s = low_s;
        cell->quartile_s = scratch[calls / 4];
        cell->error_s =
            median_error / sqrt((double)calls) * pto_item_spread(item + first, calls, low_s, scratch);
    }
}

/* Returns the median of a cell's upper bounds; of messages, in the slower direction. */
static double median_high(pto_item_t *item, size_t count) {
    double median_s = 0;
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first; end < count && item[end].key <= item[first].key;)
            end++;
        median_s = fmax(median_s, pto_item_median(item + first, end - first));
    }
    return median_s;
}

/* Summarizes the calls of each cell. */
static void find_medians(sets_t *sets) {
    pto_item_t *low = sets->low, *high = sets->high;
    qsort(low, sets->items, sizeof *low, pto_item_compare);
    qsort(high, sets->items, sizeof *high, pto_item_compare);
    for (size_t first = 0, end; first < sets->items; first = end) {
        cell_t *cell = &sets->cell[low[first].place];
        for (end = first; end < sets->items && low[end].place == low[first].place;)
            end++;
        cell->calls = (int64_t)(end - first);
        cell->high_s = median_high(high + first, end - first);
        find_lows(cell, low + first, end - first, sets->scratch);
    }
}

static int by_kind(const void *left, const void *right) {
    const cell_t *a = left, *b = right;
    return a->kind != b->kind ? (a->kind > b->kind) - (a->kind < b->kind)
                              : (a->set > b->set) - (a->set < b->set);
}

/* Adds to each set the times of its calls, and their kinds' usual times, if other sets have these kinds. */
static void compare_cells(sets_t *sets) {
    const size_t cells = (size_t)sets->cell_names.count;
    qsort(sets->cell, cells, sizeof *sets->cell, by_kind);
    for (size_t first = 0, end; first < cells; first = end) {
        size_t count = 0;
        for (end = first; end < cells && sets->cell[end].kind == sets->cell[first].kind; end++)
            if (sets->cell[end].calls >= CALLS_MIN)
                sets->scratch[count++] = sets->cell[end].high_s;
        if (count < 2)
            continue;
        sets->comparison->found->slow_told = true;
        gsl_sort(sets->scratch, 1, count);
        const double usual_s = sets->scratch[(count - 1) / 4]; /* the lower quartile of the sets */
        for (size_t i = first; i < end; i++) {
            const cell_t *cell = &sets->cell[i];
            set_t *set = &sets->set[cell->set];
            const double calls = (double)cell->calls;
            if (cell->calls < CALLS_MIN)
                continue;
            set->calls += cell->calls;
            set->low_s += calls * cell->low_s;
            set->quartile_s += calls * cell->quartile_s;
            set->usual_s += calls * usual_s;
            set->uncontended_high_s += cell->is_contended ? 0 : calls * cell->high_s;
            set->uncontended_usual_s += cell->is_contended ? 0 : calls * usual_s;
            set->variance += calls * cell->error_s * calls * cell->error_s;
        }
    }
}

static void classify_sets(sets_t *sets) {
    for (int i = 0; i < sets->set_names.count; i++) {
        set_t *set = &sets->set[i];
        const double margin = set->is_node ? node_margin : process_margin;
        set->is_slow = set->usual_s > 0 && set->quartile_s > margin * set->usual_s &&
                       set->low_s - set->usual_s > error_factor * sqrt(set->variance);
        set->is_normal = !set->is_slow && set->uncontended_usual_s > 0 &&
                         set->uncontended_high_s <= margin * set->uncontended_usual_s;
    }
}

static bool has_place(const set_t *set, int64_t place) {
    for (int i = 0; i < set->count; i++)
        if (set->place[i] == place)
            return true;
    return false;
}

/* Returns whether a delay could be the reason why a set is slow: the set has all its places. */
static bool explains(const pto_delay_t *delay, const set_t *set) {
    bool has_all = set->is_node == delay->is_node;
    for (int i = 0; i < delay->place_count; i++)
        has_all = has_all && has_place(set, delay->place[i]);
    return has_all;
}

/* Returns how many slow sets a delay explains; 0 if it would slow a set that is normal. Calls on more than
 * two places need not use the link between two of them, so such sets may be normal. */
static int count_explained(const sets_t *sets, const pto_delay_t *delay) {
    int count = 0;
    for (int i = 0; i < sets->set_names.count; i++) {
        const set_t *set = &sets->set[i];
        if (!(set->is_slow || set->is_normal) || !explains(delay, set))
            continue;
        if (set->is_normal && (delay->cause == PTO_DELAY_SLOW || set->count == 2))
            return 0;
        count += set->is_slow && !set->is_explained;
    }
    return count;
}

/* Returns the delay by a set's i-th place, or by the link between its i-th and j-th places (i < j). */
static pto_delay_t delay_at(const set_t *set, int i, int j) {
    return (pto_delay_t){.cause = i == j ? PTO_DELAY_SLOW : PTO_DELAY_SLOW_LINK,
                         .is_node = set->is_node,
                         .place_count = i == j ? 1 : 2,
                         .place = {set->place[i], set->place[j]}};
}

/* Finds the node or link of a set that explains most slow sets, and how many others explain as many
 * (`*ties`). Returns how many sets it explains. Of a link and a node that explain as many, the link is the
 * answer. */
static int find_best(const sets_t *sets, const set_t *set, pto_delay_t *best, int *ties) {
    int most = 0;
    *ties = 0;
    for (int i = 0; i < set->count; i++)
        for (int j = i; j < set->count; j++) {
            const pto_delay_t delay = delay_at(set, i, j);
            const int count = count_explained(sets, &delay);
            const bool is_simpler = best->cause == PTO_DELAY_SLOW && i != j;
            if (count > most || (count == most && count > 0 && is_simpler)) {
                most = count;
                *best = delay;
                *ties = 0;
            } else if (count == most && count > 0 && delay.cause == best->cause)
                (*ties)++;
        }
    return most;
}

/* Marks the slow sets that a delay explains, and sets how much slower they are than usual. */
static void mark_explained(sets_t *sets, pto_delay_t *delay) {
    double low_s = 0, usual_s = 0;
    for (int i = 0; i < sets->set_names.count; i++) {
        set_t *set = &sets->set[i];
        if (!set->is_slow || set->is_explained || !explains(delay, set))
            continue;
        set->is_explained = true;
        delay->calls += set->calls;
        low_s += set->low_s;
        usual_s += set->usual_s;
    }
    delay->ratio = low_s / usual_s;
}

/* Finds the best explanation of the slow sets that have none; false if all have one. If several places
 * explain a set equally well, the delay is somewhere among all places of that set. */
static bool explain_next(sets_t *sets, pto_delay_t *delay) {
    int most = 0, ties = 0;
    const set_t *from = NULL;
    for (int i = 0; i < sets->set_names.count; i++) {
        const set_t *set = &sets->set[i];
        pto_delay_t best = {.cause = PTO_DELAY_SLOW_AMONG};
        int set_ties = 0, count = 0;
        if (!set->is_slow || set->is_explained)
            continue;
        count = find_best(sets, set, &best, &set_ties);
        if (!from || count > most || (count == most && set_ties < ties)) {
            most = count;
            ties = set_ties;
            from = set;
            *delay = best;
        }
    }
    if (!from)
        return false;
    if (most == 0 || ties > 0) {
        *delay = (pto_delay_t){
            .cause = PTO_DELAY_SLOW_AMONG, .is_node = from->is_node, .place_count = from->count};
        memcpy(delay->place, from->place, sizeof delay->place);
    }
    mark_explained(sets, delay);
    return true;
}

bool pto_find_slow(pto_comparison_t *comparison) {
    sets_t sets = {.comparison = comparison,
                   .set = calloc(SETS_MAX + 1, sizeof *sets.set),
                   .cell = malloc((comparison->count + 1) * sizeof *sets.cell),
                   .low = malloc((comparison->count + 1) * sizeof *sets.low),
                   .high = malloc((comparison->count + 1) * sizeof *sets.high),
                   .scratch = malloc((comparison->count + 1) * sizeof *sets.scratch)};
    bool able = sets.set && sets.cell && sets.low && sets.high && sets.scratch && collect(&sets);
    pto_delay_t delay;
    if (able) {
        find_medians(&sets);
        compare_cells(&sets);
        classify_sets(&sets);
    }
    while (able && explain_next(&sets, &delay))
        able = pto_delays_add(comparison->found, &delay);
    pto_text_index_fini(&sets.set_names);
    pto_text_index_fini(&sets.kind_names);
    pto_text_index_fini(&sets.cell_names);
    free(sets.set);
    free(sets.cell);
    free(sets.low);
    free(sets.high);
    free(sets.scratch);
    return able;
}
