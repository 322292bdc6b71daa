/* Infers from the times of an MPI library's own collectives (samples of portolan-calibrate) which algorithm
 * it uses at each size, and whether it stages GPU buffers through the host. Every algorithm is priced with
 * the fitted machine, and the one whose price is nearest to the measured time is chosen. If others are about
 * as near, or none is near, the row is flagged as doubtful. (library_tables.c infers the same from
 * collectives.csv.)
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "base/text.h"
#include "library_tables.h"
#include "select.h"

/* The errors of prices, as |ln(predicted / measured)|, that 95 percent of the cells of summit-spectrum-refit
 * stay below (its `model_error`): of one price, and of the ratio of two, whose errors are correlated. */
static const double plausible_miss = 0.41, tie_margin = 0.24;

/* A call checks its arguments, chooses its algorithm and allocates memory, which no price contains. */
static const double call_overhead_s = 1e-6;

/* Minimum number of samples of a size for a median. */
enum { SAMPLES_MIN = 3 };

enum { SIZES_MAX = 16, TIMINGS_MAX = 64, GUESSES_MAX = 2 * LIBRARY_VARIANTS_MAX, ROWS_MAX = 4 * SIZES_MAX };

/* The samples of one size among the same numbers of processes and nodes. */
typedef struct {
    int64_t bytes;
    int32_t procs;
    int32_t nodes;
    double seconds;
    double error; /* of the logarithm of `seconds`: the median's, at 95 percent, plus that of messages */
    size_t sample_count;
} timing_t;

/* A hypothesis about the library: its algorithm, and whether it stages GPU buffers through the host. */
typedef struct {
    library_variant_t variant;
    bool staged;
    double total;           /* sum of `miss`, each at most 1 */
    double miss[SIZES_MAX]; /* by size: mean of miss_of */
} guess_t;

/* The hypotheses that fit the library's times at one size. */
typedef struct {
    int64_t bytes;      /* of the samples */
    int64_t call_bytes; /* the size by which the library chooses */
    double error;
    int guess;               /* the chosen one; -1: none has a price */
    bool rival[GUESSES_MAX]; /* those that cannot be distinguished from the nearest one, including it */
    char flagged[PTO_FIT_NOTE_MAX]; /* why the choice is doubtful; empty: it is not */
} verdict_t;

/* The inference for one collective in one space: its times, the hypotheses, and the verdict for each size. */
typedef struct {
    fit_work_t *work;
    pto_collective_t collective;
    pto_space_t space;
    int timing_count;
    timing_t timing[TIMINGS_MAX];
    size_t sample_count;
    int32_t max_procs;
    int guess_count;
    guess_t guess[GUESSES_MAX];
    int size_count;
    verdict_t verdict[SIZES_MAX]; /* by size, increasing */
} study_t;

static const struct {
    pto_benchmark_t benchmark;
    pto_collective_t collective;
} measured[] = {
#define MEASURED(name, text) {PTO_BENCHMARK_MPI_##name, PTO_COLLECTIVE_##name},
    PTO_MPI_TABLE(MEASURED)
#undef MEASURED
};

/* --- the samples ---------------------------------------------------------------------------------------- */

static timing_t timing_of(const fit_points_t *points, double *scratch) {
    const fit_point_t *point = points->point;
    const size_t count = points->count;
    double seconds = fit_median_of(points, scratch); /* sorts */
    double low = gsl_stats_quantile_from_sorted_data(scratch, 1, count, 0.25);
    double high = gsl_stats_quantile_from_sorted_data(scratch, 1, count, 0.75);
    /* 1.96 standard errors of a median by the interquartile range, as in portolan-calibrate */
    return (timing_t){.bytes = point->bytes,
                      .procs = point->procs,
                      .nodes = point->messages,
                      .seconds = seconds,
                      .error = 1.96 * 0.93 * log(high / low) / sqrt((double)count),
                      .sample_count = count};
}

static void note_size(study_t *study, const timing_t *timing) {
    int at = 0;
    while (at < study->size_count && study->verdict[at].bytes < timing->bytes)
        at++;
    bool is_new = at == study->size_count || study->verdict[at].bytes != timing->bytes;
    if (is_new) {
        memmove(&study->verdict[at + 1], &study->verdict[at],
                (size_t)(study->size_count - at) * sizeof *study->verdict);
        study->verdict[at] = (verdict_t){.bytes = timing->bytes, .guess = -1};
        study->size_count++;
    }
    study->verdict[at].error = fmax(study->verdict[at].error, timing->error);
}

/* Returns by how much the worst residual of message costs exceeds a usual one: prices may be off as much. */
static double doubt_of_messages(const pto_machine_t *machine, pto_space_t space) {
    double most = fit_doubtful_residual;
    for (int level = 0; level < PTO_LEVEL_COUNT; level++) {
        const pto_cost_table_t *cost = &machine->messages[space][level];
        for (int i = 0; i < cost->count; i++)
            most = fmax(most, cost->row[i].postal.residual);
    }
    return most - fit_doubtful_residual;
}

/* Reads at most SIZES_MAX sizes and TIMINGS_MAX timings. Here, `messages` is the number of nodes. */
static void read_timings(study_t *study, pto_benchmark_t benchmark) {
    const fit_points_t points = fit_select_in(study->work, benchmark, study->space);
    for (size_t first = 0; first < points.count;) {
        const fit_points_t equal = fit_equal_from(&points, first, fit_compare_points);
        const fit_point_t *point = equal.point;
        first += equal.count;
        bool fits = equal.count >= SAMPLES_MIN && point->procs > 1 && point->procs % point->messages == 0 &&
                    point->bytes > 0;
        if (!fits || study->timing_count == TIMINGS_MAX || study->size_count == SIZES_MAX)
            continue;
        timing_t *timing = &study->timing[study->timing_count++];
        *timing = timing_of(&equal, study->work->scratch);
        timing->error += doubt_of_messages(study->work->fit->machine, study->space);
        note_size(study, timing);
        study->sample_count += timing->sample_count;
        study->max_procs = point->procs > study->max_procs ? point->procs : study->max_procs;
    }
}

/* --- prices --------------------------------------------------------------------------------------------- */

/* Returns the price of the call by the guess or, if that is NULL, by the machine's table; 0: no price. */
static double price_of(const study_t *study, pto_space_t space, const timing_t *timing, const guess_t *guess,
                       int64_t *call_bytes) {
    pto_score_candidate_t candidate = {.measured_s = timing->seconds,
                                       .staged_members = {PTO_STAGED_TUNED, PTO_STAGED_TUNED}};
    assert(timing->nodes > 0);
    int32_t per_node = timing->procs / timing->nodes;
    pto_score_cell_t cell = {.collective = study->collective,
                             .implementation = PTO_IMPLEMENTATION_LIBRARY,
                             .datatype = PTO_DATATYPE_FLOAT,
                             .nodes = timing->nodes,
                             .in_host = space == PTO_SPACE_CPU,
                             .gpus_per_node = per_node,
                             .owners_per_gpu = 1,
                             .procs_per_gpu = 1,
                             .bytes = timing->bytes,
                             .candidate_count = 1,
                             .candidate = &candidate};
    char name[PTO_FIT_NAME_MAX];
    pto_library_rule_t rule;
    if (guess)
        rule = library_rule(&guess->variant, guess->staged, INT64_MAX, name);
    double seconds = 0;
    pto_status_t status = pto_strategy_find(cell.in_host ? "mpi" : "cuda_aware", &candidate.strategy, NULL);
    if (status == PTO_OK)
        status = pto_score_price(&cell, 0, study->work->fit->machine, guess ? &rule : NULL, call_bytes,
                                 &seconds, study->work->err);
    fit_fail(study->work, status);
    return seconds;
}

static const timing_t *timing_of_same_call(const study_t *study, const timing_t *timing) {
    for (int i = 0; i < study->timing_count; i++)
        if (study->timing[i].procs == timing->procs && study->timing[i].nodes == timing->nodes &&
            study->timing[i].bytes == timing->bytes)
            return &study->timing[i];
    return NULL;
}

/* A staged call takes the time of the call on host buffers plus two copies. If the host call was measured,
 * its measured time is used in place of its price, whose error then does not matter. */
static double price_staged(const study_t *study, const study_t *host, const timing_t *timing,
                           const guess_t *guess, int64_t *call_bytes) {
    const timing_t *host_timing = timing_of_same_call(host, timing);
    double seconds = price_of(study, PTO_SPACE_GPU, timing, guess, call_bytes), host_s = 0;
    if (host_timing && seconds > 0)
        host_s = price_of(host, PTO_SPACE_CPU, timing, guess, NULL);
    return host_timing && host_s > 0 ? host_timing->seconds + fmax(seconds - host_s, 0) : seconds;
}

/* Returns the index of a size; size_count if it is not among them. */
static int index_of_size(const study_t *study, int64_t bytes) {
    int at = 0;
    while (at < study->size_count && study->verdict[at].bytes != bytes)
        at++;
    return at;
}

/* Returns whether the library may use the guess's algorithm for host buffers at this size. */
static bool host_may(const study_t *host, int64_t bytes, const guess_t *guess) {
    int s = index_of_size(host, bytes);
    bool may = s == host->size_count || host->verdict[s].guess < 0;
    for (int g = 0; g < host->guess_count && !may; g++)
        may = host->verdict[s].rival[g] && host->guess[g].variant.algorithm == guess->variant.algorithm &&
              host->guess[g].variant.segment_bytes == guess->variant.segment_bytes;
    return may;
}

/* Returns |ln(measured / price)|. Of a longer measured time, up to call_overhead_s is subtracted first. */
static double miss_of(double price_s, double measured_s) {
    if (price_s <= 0)
        return INFINITY;
    if (measured_s < price_s)
        return log(price_s / measured_s);
    return measured_s > price_s + call_overhead_s ? log((measured_s - call_overhead_s) / price_s) : 0;
}

static void price_guess(study_t *study, const study_t *host, guess_t *guess) {
    int timings[SIZES_MAX] = {0};
    for (int i = 0; i < study->timing_count && study->work->status == PTO_OK; i++) {
        const timing_t *timing = &study->timing[i];
        int s = index_of_size(study, timing->bytes);
        int64_t *call_bytes = &study->verdict[s].call_bytes;
        double seconds = guess->staged ? price_staged(study, host, timing, guess, call_bytes)
                                       : price_of(study, study->space, timing, guess, call_bytes);
        guess->miss[s] += miss_of(seconds, timing->seconds);
        timings[s]++;
    }
    for (int s = 0; s < study->size_count; s++) {
        guess->miss[s] /= timings[s];
        if (host && guess->staged && !host_may(host, study->verdict[s].bytes, guess))
            guess->miss[s] = INFINITY;
        guess->total += fmin(guess->miss[s], 1);
    }
}

/* --- verdicts ------------------------------------------------------------------------------------------- */

static bool is_same(const guess_t *a, const guess_t *b) {
    return a->variant.algorithm == b->variant.algorithm && a->staged == b->staged;
}

/* Returns the text that follows an algorithm's name. */
static const char *staged_text(const guess_t *guess) { return guess->staged ? " staged" : ""; }

/* Writes the different guesses `among` all: "ring", "linear, pairwise or ring staged". A long list is cut. */
static void name_guesses(const study_t *study, const bool *among, char *text, size_t text_size) {
    pto_line_t line = {.text = text, .size = text_size};
    int named[GUESSES_MAX], count = 0;
    for (int g = 0; g < study->guess_count; g++) {
        bool is_new = among[g];
        for (int i = 0; i < count; i++)
            is_new = is_new && !is_same(&study->guess[named[i]], &study->guess[g]);
        if (is_new)
            named[count++] = g;
    }
    for (int i = 0; i < count; i++) {
        const guess_t *guess = &study->guess[named[i]];
        const char *before = i == 0 ? "" : i + 1 < count ? ", " : " or ";
        pto_line_add(&line, "%s%s%s", before, guess->variant.algorithm->name, staged_text(guess));
    }
}

/* Chooses, of the algorithms that cannot be distinguished at a size, the one nearest over all sizes. */
static void judge(study_t *study, int s) {
    verdict_t *verdict = &study->verdict[s];
    int nearest = -1, others = 0;
    for (int g = 0; g < study->guess_count; g++)
        if (isfinite(study->guess[g].miss[s]) &&
            (nearest < 0 || study->guess[g].miss[s] < study->guess[nearest].miss[s]))
            nearest = g;
    if (nearest < 0)
        return;
    double least = study->guess[nearest].miss[s];
    verdict->guess = nearest;
    for (int g = 0; g < study->guess_count; g++) {
        verdict->rival[g] = study->guess[g].miss[s] <= least + tie_margin + verdict->error;
        others += verdict->rival[g] && !is_same(&study->guess[g], &study->guess[nearest]);
        if (verdict->rival[g] && study->guess[g].total < study->guess[verdict->guess].total)
            verdict->guess = g;
    }
    char names[PTO_FIT_NOTE_MAX / 2];
    name_guesses(study, verdict->rival, names, sizeof names);
    if (least > plausible_miss)
        snprintf(verdict->flagged, sizeof verdict->flagged,
                 "its times of %lld bytes are a factor of %.2g from the nearest, %s",
                 (long long)verdict->bytes, exp(least), names);
    else if (others > 0)
        snprintf(verdict->flagged, sizeof verdict->flagged, "its times of %lld bytes do not tell which: %s",
                 (long long)verdict->bytes, names);
}

static void add_guess(study_t *study, const study_t *host, guess_t guess) {
    study->guess[study->guess_count] = guess;
    price_guess(study, host, &study->guess[study->guess_count++]);
}

/* `host`: the same collective on host buffers, judged before; NULL: this is it. */
static void judge_all(study_t *study, const study_t *host) {
    library_variant_t variant[LIBRARY_VARIANTS_MAX];
    int count = library_variants(study->collective, study->max_procs, variant);
    for (int v = 0; v < count && study->work->status == PTO_OK; v++) {
        add_guess(study, host, (guess_t){.variant = variant[v]});
        if (host)
            add_guess(study, host, (guess_t){.variant = variant[v], .staged = true});
    }
    for (int s = 0; s < study->size_count && study->work->status == PTO_OK; s++)
        judge(study, s);
}

/* --- tables --------------------------------------------------------------------------------------------- */

/* Rows whose below_bytes increase. */
typedef struct {
    int count;
    int guess[ROWS_MAX];
    int64_t below_bytes[ROWS_MAX];
    char flagged[ROWS_MAX][PTO_FIT_NOTE_MAX];
} rows_t;

/* Adds nothing for a row that would hold for no size, as between sizes that are a few bytes apart. */
static void add_row(rows_t *rows, const verdict_t *verdict, int64_t below_bytes, const char *flagged) {
    if (rows->count > 0 && below_bytes <= rows->below_bytes[rows->count - 1])
        return;
    rows->guess[rows->count] = verdict->guess;
    rows->below_bytes[rows->count] = below_bytes;
    snprintf(rows->flagged[rows->count++], PTO_FIT_NOTE_MAX, "%s", flagged);
}

/* Adds the rows that end between two measured sizes. A flag ends at their geometric mean. So does an
 * algorithm, but as its switch point is unknown, rows for sizes strictly in between are flagged. A row always
 * holds for the measured size itself. */
static void add_between(const study_t *study, const verdict_t *low, const verdict_t *high, rows_t *rows) {
    const guess_t *below = &study->guess[low->guess], *above = &study->guess[high->guess];
    int64_t middle = (int64_t)sqrt((double)low->call_bytes * (double)high->call_bytes);
    middle = middle > low->call_bytes ? middle : low->call_bytes + 1;
    char flagged[PTO_FIT_NOTE_MAX];
    if (is_same(below, above) && below->variant.segment_bytes == above->variant.segment_bytes) {
        if (strcmp(low->flagged, high->flagged) != 0)
            add_row(rows, low, middle, low->flagged);
        return;
    }
    snprintf(flagged, sizeof flagged, "%s%s up to a size from %lld to %lld bytes, then %s%s",
             below->variant.algorithm->name, staged_text(below), (long long)low->call_bytes,
             (long long)high->call_bytes, above->variant.algorithm->name, staged_text(above));
    if (low->flagged[0] == '\0')
        add_row(rows, low, low->call_bytes + 1, "");
    add_row(rows, low, middle, low->flagged[0] == '\0' ? flagged : low->flagged);
    if (high->flagged[0] == '\0')
        add_row(rows, high, high->call_bytes, flagged);
}

static void add_rows(const study_t *study) {
    rows_t rows = {0};
    const verdict_t *last = NULL;
    for (int s = 0; s < study->size_count; s++) {
        if (study->verdict[s].guess < 0)
            continue;
        if (last)
            add_between(study, last, &study->verdict[s], &rows);
        last = &study->verdict[s];
    }
    if (last)
        add_row(&rows, last, INT64_MAX, last->flagged);
    for (int r = 0; r < rows.count; r++) {
        const guess_t *guess = &study->guess[rows.guess[r]];
        char name[PTO_FIT_NAME_MAX];
        pto_library_rule_t rule = library_rule(&guess->variant, guess->staged, rows.below_bytes[r], name);
        rule.flagged = rows.flagged[r][0] != '\0' ? rows.flagged[r] : NULL;
        fit_fail(study->work, library_add_row(study->work->fit->machine, study->collective, study->space,
                                              &rule, study->work->err));
    }
}

/* --- the fit -------------------------------------------------------------------------------------------- */

static const char *key_of(const study_t *study, char key[PTO_FIT_NAME_MAX]) {
    snprintf(key, PTO_FIT_NAME_MAX, "library.%s.%s", pto_collective_name(study->collective),
             pto_space_name(study->space));
    return key;
}

static void report(const study_t *study) {
    int judged = 0, certain = 0;
    char key[PTO_FIT_NAME_MAX];
    for (int s = 0; s < study->size_count; s++) {
        judged += study->verdict[s].guess >= 0;
        certain += study->verdict[s].guess >= 0 && study->verdict[s].flagged[0] == '\0';
    }
    key_of(study, key);
    if (judged == 0)
        fit_note(study->work, key, study->sample_count,
                 "no price among the %d processes of its samples, so nothing is inferred",
                 (int)study->max_procs);
    else
        fit_note(study->work, key, study->sample_count,
                 "inferred from %zu times of the library's own call among up to %d processes; certain for "
                 "%d of %d sizes",
                 study->sample_count, (int)study->max_procs, certain, judged);
}

/* A table that the machine has is kept, and times that contradict it are reported. */
static void compare(const study_t *study) {
    for (int i = 0; i < study->timing_count && study->work->status == PTO_OK; i++) {
        const timing_t *timing = &study->timing[i];
        const int s = index_of_size(study, timing->bytes);
        const verdict_t *verdict = &study->verdict[s];
        const double seconds = price_of(study, study->space, timing, NULL, NULL);
        if (seconds <= 0 || verdict->guess < 0)
            continue;
        const guess_t *guess = &study->guess[verdict->guess];
        assert(guess->variant.algorithm);
        const double miss = miss_of(seconds, timing->seconds);
        char key[PTO_FIT_NAME_MAX];
        if (guess->miss[s] <= plausible_miss && miss > plausible_miss &&
            miss > guess->miss[s] + tie_margin + verdict->error)
            fit_note(study->work, key_of(study, key), timing->sample_count,
                     "its own calls of %lld bytes took %.2g times as long as its known table says; "
                     "%s%s would take that long",
                     (long long)timing->bytes, timing->seconds / seconds, guess->variant.algorithm->name,
                     staged_text(guess));
    }
}

static void study_space(study_t *study, pto_benchmark_t benchmark, const study_t *host) {
    read_timings(study, benchmark);
    if (study->timing_count == 0)
        return;
    judge_all(study, host);
    if (study->work->status != PTO_OK)
        return;
    if (pto_machine_has_library(study->work->fit->machine, pto_collective_name(study->collective),
                                study->space)) {
        compare(study);
    } else {
        add_rows(study);
        report(study);
    }
}

pto_status_t pto_fit_library(const pto_samples_t *samples, const pto_fit_options_t *options, pto_fit_t *fit,
                             pto_error_t *err) {
    fit_work_t work;
    study_t *study = calloc(PTO_SPACE_COUNT, sizeof *study);
    fit_work_init(samples, options, fit, &work, err);
    if (!study)
        fit_fail(&work, pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a library's tables"));
    for (size_t i = 0; i < sizeof measured / sizeof *measured && work.status == PTO_OK; i++)
        for (pto_space_t space = 0; space < PTO_SPACE_COUNT && study; space++) {
            study[space] = (study_t){.work = &work, .collective = measured[i].collective, .space = space};
            study_space(&study[space], measured[i].benchmark,
                        space == PTO_SPACE_GPU ? &study[PTO_SPACE_CPU] : NULL);
        }
    fit_work_fini(&work);
    free(study);
    return work.status;
}
