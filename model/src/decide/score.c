/* Collects rows of measured collectives in cells, in which the model's pick is scored: a cell has the rows of
 * all strategies that were measured on the same layout with the same size. Rows are sorted into groups, a
 * group is split into cells by processes per GPU, and a cell's rows of one strategy, algorithm and number of
 * chunks are a candidate. score_predict.c predicts the cells, score_metrics.c summarises them. */
#include "portolan/score.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

const char *pto_statistic_name(pto_statistic_t statistic) {
    return statistic == PTO_STATISTIC_MIN ? "min" : "median";
}

pto_score_options_t pto_score_defaults(const pto_collectives_t *collectives) {
    int validate_files = 0, last = -1;
    for (int i = 0; i < collectives->provenance_count; i++) {
        const pto_provenance_t *said = &collectives->provenance[i];
        if (strcmp(said->key, "portolan") == 0 && said->file != last) {
            validate_files++;
            last = said->file;
        }
    }
    bool repeats = validate_files > 0 && validate_files == collectives->file_count;
    return (pto_score_options_t){.statistic = repeats ? PTO_STATISTIC_MEDIAN : PTO_STATISTIC_MIN,
                                 .min_bytes = 64,
                                 .clear_margin = 0.1};
}

/* A row that is compared. */
typedef struct {
    const pto_collective_row_t *row;
    const pto_strategy_t *strategy;
    const char *algorithm;
} entry_t;

/* The state of pto_score_collect. */
typedef struct {
    const pto_collectives_t *collectives;
    pto_score_t *score; /* the result */
    entry_t *entry;     /* sorted by compare_entries */
    int64_t entry_count;
    size_t cell_capacity; /* of score->cell */
    pto_error_t *err;
} collecting_t;

static pto_status_t out_of_memory(pto_error_t *err) {
    return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for cells");
}

/* Adds to the number of rows that are left out for a reason. */
static pto_status_t note(collecting_t *collecting, int64_t count, const char *text) {
    pto_score_t *score = collecting->score;
    for (int i = 0; i < score->note_count; i++)
        if (strcmp(score->note[i].text, text) == 0) {
            score->note[i].count += count;
            return PTO_OK;
        }
    if (!PTO_EXTEND(score->note, score->note_count))
        return out_of_memory(collecting->err);
    pto_score_note_t *added = &score->note[score->note_count++];
    added->count = count;
    snprintf(added->text, sizeof added->text, "%s", text);
    return PTO_OK;
}

/* Returns the provenance line of the row's file that warns that split strategies of the row's implementation
 * did not do what their names say; NULL: none. */
static const pto_provenance_t *caveat_on(const pto_collectives_t *collectives,
                                         const pto_collective_row_t *row) {
    char key[64];
    snprintf(key, sizeof key, "caveat_%s_split", pto_implementation_name(row->implementation));
    for (int i = 0; i < collectives->provenance_count; i++)
        if (collectives->provenance[i].file == row->file && strcmp(collectives->provenance[i].key, key) == 0)
            return &collectives->provenance[i];
    return NULL;
}

static bool is_skipped(const pto_score_options_t *options, const pto_collective_row_t *row,
                       const pto_strategy_t *strategy) {
    for (int i = 0; i < options->skip_count; i++)
        if (options->skip[i].implementation == row->implementation && options->skip[i].strategy == strategy)
            return true;
    return false;
}

/* Returns whether a row is left out, and sets the reason. */
static bool left_out(const collecting_t *collecting, const pto_collective_row_t *row,
                     const pto_strategy_t *strategy, char *why, size_t why_size) {
    const pto_collectives_t *collectives = collecting->collectives;
    const char *name = collectives->name[row->strategy];
    const char *implementation = pto_implementation_name(row->implementation);
    const pto_provenance_t *caveat = strategy && strategy->splits ? caveat_on(collectives, row) : NULL;
    if (!strategy)
        snprintf(why, why_size, "%s: no strategy of that name is known", name);
    else if (row->collective == PTO_COLLECTIVE_MESSAGES)
        snprintf(why, why_size, "messages: the format does not say how many each GPU sent");
    else if (row->collective == PTO_COLLECTIVE_HALO && row->halo.dim_count == 0)
        snprintf(why, why_size, "halo: the rows do not say which grid (column grid)");
    else if (caveat)
        snprintf(why, why_size, "%s with %s: %s:%d says that they did something else", implementation, name,
                 collectives->path[caveat->file], caveat->line);
    else if (is_skipped(&collecting->score->options, row, strategy))
        snprintf(why, why_size, "%s with %s: as asked", implementation, name);
    else if (!strategy->splits && row->procs_per_gpu != row->owners_per_gpu)
        snprintf(why, why_size, "%s: it does not split, so procs_per_gpu should be owners_per_gpu", name);
    else
        return false;
    return true;
}

static pto_status_t select_rows(collecting_t *collecting) {
    const pto_collectives_t *collectives = collecting->collectives;
    const pto_strategy_t *known[PTO_COLLECTIVES_NAME_MAX] = {0};
    for (int i = 0; i < collectives->name_count; i++)
        if (pto_strategy_find(collectives->name[i], &known[i], NULL) != PTO_OK)
            known[i] = NULL;
    collecting->entry = calloc(collectives->count + 1, sizeof *collecting->entry);
    if (!collecting->entry)
        return out_of_memory(collecting->err);
    pto_status_t status = PTO_OK;
    for (size_t i = 0; i < collectives->count && status == PTO_OK; i++) {
        const pto_collective_row_t *row = &collectives->row[i];
        char why[PTO_ERROR_MESSAGE_MAX];
        if ((row->bytes < collecting->score->options.min_bytes && row->collective != PTO_COLLECTIVE_HALO) ||
            !pto_node_counts_has(&collecting->score->options.nodes, row->nodes))
            continue;
        if (left_out(collecting, row, known[row->strategy], why, sizeof why))
            status = note(collecting, 1, why);
        else
            collecting->entry[collecting->entry_count++] = (entry_t){
                row, known[row->strategy], row->algorithm >= 0 ? collectives->name[row->algorithm] : NULL};
    }
    return status;
}

static int order_of(int64_t a, int64_t b) { return (a > b) - (a < b); }

/* Returns whether one of our algorithms ran in place of the library's collective. A strategy "by hand" always
 * runs our algorithms, so it competes with the library's own in one cell. */
static bool in_place_of_library(const entry_t *entry) {
    return entry->algorithm && !entry->strategy->by_hand;
}

/* Compares all but the candidate and its number of processes. Entries that are equal by this form a group. */
static int compare_groups(const entry_t *a, const entry_t *b) {
    const pto_collective_row_t *x = a->row, *y = b->row;
    const int order[] = {order_of(x->collective, y->collective),
                         order_of(x->implementation, y->implementation),
                         order_of(in_place_of_library(a), in_place_of_library(b)),
                         order_of(x->datatype, y->datatype),
                         order_of(x->nodes, y->nodes),
                         order_of(a->strategy->in_host, b->strategy->in_host),
                         order_of(x->gpus_per_node, y->gpus_per_node),
                         order_of(x->owners_per_gpu, y->owners_per_gpu),
                         order_of(x->distance, y->distance),
                         order_of(x->ends.from_host, y->ends.from_host),
                         order_of(x->ends.to_host, y->ends.to_host),
                         order_of(x->ends.both_ways, y->ends.both_ways),
                         pto_halo_compare(&x->halo, &y->halo),
                         order_of(x->bytes, y->bytes)};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (order[i] != 0)
            return order[i];
    return 0;
}

static int registry_index(const pto_strategy_t *strategy) {
    int index = 0;
    while (pto_strategy_at(index) != strategy)
        index++;
    return index;
}

static int compare_candidates(const entry_t *a, const entry_t *b) {
    int order = order_of(registry_index(a->strategy), registry_index(b->strategy));
    if (order == 0)
        order = order_of(a->algorithm != NULL, b->algorithm != NULL);
    if (order == 0 && a->algorithm)
        order = strcmp(a->algorithm, b->algorithm);
    if (order == 0)
        order = order_of(a->row->staged_in, b->row->staged_in);
    if (order == 0)
        order = order_of(a->row->staged_out, b->row->staged_out);
    return order != 0 ? order : order_of(a->row->chunks, b->row->chunks);
}

static int compare_runs(const entry_t *a, const entry_t *b) {
    int order = order_of(a->row->file, b->row->file);
    return order != 0 ? order : order_of(a->row->run, b->row->run);
}

/* Orders by cell, then candidate, then run. */
static int compare_entries(const void *left, const void *right) {
    const entry_t *a = left, *b = right;
    int order = compare_groups(a, b);
    if (order == 0)
        order = compare_candidates(a, b);
    if (order == 0)
        order = order_of(a->row->procs_per_gpu, b->row->procs_per_gpu);
    return order != 0 ? order : compare_runs(a, b);
}

static double statistic_of(pto_statistic_t statistic, const entry_t *entry, int64_t count, double *scratch) {
    for (int64_t i = 0; i < count; i++)
        scratch[i] = entry[i].row->seconds;
    return pto_quantile(scratch, count, statistic == PTO_STATISTIC_MIN ? 0 : 0.5);
}

/* One candidate's entries, ordered by run. */
typedef struct {
    const entry_t *entry;
    int64_t count;
} timings_t;

/* Returns a candidate's timings of the run of an entry. The caller asks for runs in ascending order: timings
 * of earlier runs are dropped from `*candidate`. */
static timings_t timings_of_run(timings_t *candidate, const entry_t *run) {
    while (candidate->count > 0 && compare_runs(candidate->entry, run) < 0) {
        candidate->entry++;
        candidate->count--;
    }
    timings_t found = {candidate->entry, 0};
    while (found.count < candidate->count && compare_runs(&candidate->entry[found.count], run) == 0)
        found.count++;
    return found;
}

/* Returns the fastest candidate of a run, or -1 if one is missing. Files joined from several jobs may contain
 * a run several times; the same statistic combines its times into one. */
static int fastest_of_run(pto_statistic_t statistic, timings_t *candidate, int count, const entry_t *run,
                          double *scratch) {
    int fastest = -1;
    double least_s = 0;
    for (int c = 0; c < count; c++) {
        timings_t found = timings_of_run(&candidate[c], run);
        if (found.count == 0)
            return -1;
        double seconds = statistic_of(statistic, found.entry, found.count, scratch);
        if (fastest < 0 || seconds < least_s) {
            fastest = c;
            least_s = seconds;
        }
    }
    return fastest;
}

/* Sets the floor: the picks that each single run's times suggest. How often they differ from the pick by all
 * runs shows what noise alone costs. Consumes the candidates' timings. */
static pto_status_t fill_floor(pto_score_cell_t *cell, pto_statistic_t statistic, timings_t *candidate,
                               double *scratch, pto_error_t *err) {
    const timings_t first = candidate[0];
    cell->floor_pick = calloc((size_t)first.count, sizeof *cell->floor_pick);
    if (!cell->floor_pick)
        return out_of_memory(err);
    for (int64_t i = 0; i < first.count; i++) {
        if (i > 0 && compare_runs(&first.entry[i - 1], &first.entry[i]) == 0)
            continue;
        int fastest = fastest_of_run(statistic, candidate, cell->candidate_count, &first.entry[i], scratch);
        if (fastest >= 0)
            cell->floor_pick[cell->floor_count++] = fastest;
    }
    if (cell->floor_count < 2) /* a single run, compared with itself, is always right */
        cell->floor_count = 0;
    return PTO_OK;
}

static void cell_fini(pto_score_cell_t *cell) {
    free(cell->candidate);
    free(cell->prediction);
    free(cell->floor_pick);
    for (int b = 0; b < PTO_BASELINE_COUNT; b++)
        free(cell->baseline[b].seconds);
}

static pto_status_t fill_cell(collecting_t *collecting, timings_t *candidate, int count, int64_t entry_max,
                              pto_score_cell_t *cell) {
    pto_statistic_t statistic = collecting->score->options.statistic;
    double *scratch = calloc((size_t)entry_max, sizeof *scratch);
    cell->candidate = calloc((size_t)count, sizeof *cell->candidate);
    cell->prediction = calloc((size_t)count, sizeof *cell->prediction);
    cell->candidate_count = count;
    if (!scratch || !cell->candidate || !cell->prediction) {
        free(scratch);
        return out_of_memory(collecting->err);
    }
    for (int c = 0; c < count; c++) {
        const entry_t *entry = candidate[c].entry;
        cell->candidate[c] = (pto_score_candidate_t){
            .strategy = entry->strategy,
            .algorithm = entry->algorithm,
            .chunks = entry->row->chunks,
            .staged_members = {entry->row->staged_in, entry->row->staged_out},
            .measured_s = statistic_of(statistic, entry, candidate[c].count, scratch)};
    }
    pto_status_t status = fill_floor(cell, statistic, candidate, scratch, collecting->err);
    free(scratch);
    if (status == PTO_OK)
        pto_score_rank(cell, collecting->score->options.clear_margin);
    return status;
}

/* Appends a cell to the score; NULL when out of memory. */
static pto_score_cell_t *add_cell(collecting_t *collecting) {
    pto_score_t *score = collecting->score;
    if (!PTO_RESERVE(score->cell, collecting->cell_capacity, score->cell_count + 1))
        return NULL;
    return &score->cell[score->cell_count++];
}

/* Makes a cell from a group: the rows of split strategies with `procs` processes per GPU, and all rows of
 * others. `timings` is scratch memory for group_count elements. */
static pto_status_t make_cell(collecting_t *collecting, const entry_t *group, int64_t group_count,
                              int64_t procs, timings_t *timings) {
    int count = 0;
    int64_t rows = 0;
    for (int64_t i = 0; i < group_count; i++) {
        if (group[i].strategy->splits && group[i].row->procs_per_gpu != procs)
            continue;
        if (count == 0 || compare_candidates(timings[count - 1].entry, &group[i]) != 0)
            timings[count++] = (timings_t){&group[i], 0};
        timings[count - 1].count++;
        rows++;
    }
    if (count < 2)
        return note(collecting, rows, "one strategy alone: nothing to compare it with");
    const pto_collective_row_t *row = group->row;
    pto_score_cell_t *cell = add_cell(collecting);
    if (!cell)
        return out_of_memory(collecting->err);
    *cell = (pto_score_cell_t){.collective = row->collective,
                               .implementation = row->implementation,
                               .datatype = row->datatype,
                               .own_algorithms = in_place_of_library(group),
                               .nodes = row->nodes,
                               .in_host = group->strategy->in_host,
                               .gpus_per_node = row->gpus_per_node,
                               .owners_per_gpu = row->owners_per_gpu,
                               .procs_per_gpu = procs,
                               .bytes = row->bytes,
                               .distance = row->distance,
                               .ends = row->ends,
                               .halo = row->halo,
                               .picked = -1,
                               .runner_up = -1};
    for (int b = 0; b < PTO_BASELINE_COUNT; b++)
        cell->baseline[b].picked = -1;
    return fill_cell(collecting, timings, count, rows, cell);
}

/* Returns the smallest procs_per_gpu of a split strategy that exceeds `above`; 0 if there is none. */
static int64_t next_procs(const entry_t *group, int64_t group_count, int64_t above) {
    int64_t next = 0;
    for (int64_t i = 0; i < group_count; i++) {
        int64_t procs = group[i].row->procs_per_gpu;
        if (group[i].strategy->splits && procs > above && (next == 0 || procs < next))
            next = procs;
    }
    return next;
}

/* Makes a cell for each process count of split strategies, or one cell if the group has none. */
static pto_status_t make_cells_of_group(collecting_t *collecting, const entry_t *group, int64_t group_count) {
    timings_t *timings = calloc((size_t)group_count, sizeof *timings);
    if (!timings)
        return out_of_memory(collecting->err);
    int64_t procs = next_procs(group, group_count, 0);
    pto_status_t status =
        procs > 0 ? PTO_OK : make_cell(collecting, group, group_count, group->row->owners_per_gpu, timings);
    for (; procs > 0 && status == PTO_OK; procs = next_procs(group, group_count, procs))
        status = make_cell(collecting, group, group_count, procs, timings);
    free(timings);
    return status;
}

static pto_status_t make_cells(collecting_t *collecting) {
    pto_status_t status = PTO_OK;
    qsort(collecting->entry, (size_t)collecting->entry_count, sizeof *collecting->entry, compare_entries);
    for (int64_t from = 0, to; from < collecting->entry_count && status == PTO_OK; from = to) {
        to = from + 1;
        while (to < collecting->entry_count &&
               compare_groups(&collecting->entry[from], &collecting->entry[to]) == 0)
            to++;
        status = make_cells_of_group(collecting, &collecting->entry[from], to - from);
    }
    return status;
}

pto_status_t pto_score_collect(const pto_collectives_t *collectives, const pto_score_options_t *options,
                               pto_score_t *score, pto_error_t *err) {
    pto_score_t result = {.options = *options};
    collecting_t collecting = {.collectives = collectives, .score = &result, .err = err};
    pto_status_t status = select_rows(&collecting);
    if (status == PTO_OK)
        status = make_cells(&collecting);
    free(collecting.entry);
    if (status == PTO_OK)
        *score = result;
    else
        pto_score_fini(&result);
    return status;
}

void pto_score_cut(pto_score_t *score, int64_t cell_count) {
    for (int64_t i = cell_count; i < score->cell_count; i++)
        cell_fini(&score->cell[i]);
    score->cell_count = cell_count;
    score->is_cut = true;
}

void pto_score_cut_nodes(pto_score_t *score, int64_t nodes) {
    int64_t kept = 0;
    for (int64_t i = 0; i < score->cell_count; i++)
        if (score->cell[i].nodes < nodes)
            score->cell[kept++] = score->cell[i];
        else
            cell_fini(&score->cell[i]);
    score->cell_count = kept;
    score->is_cut = true;
}

void pto_score_fini(pto_score_t *score) {
    for (int64_t i = 0; i < score->cell_count; i++)
        cell_fini(&score->cell[i]);
    free(score->cell);
    free(score->note);
    free(score->unpriced);
    *score = (pto_score_t){0};
}
