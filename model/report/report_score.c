/* Writes a panel of a report for each measured collective and layout, with predictions at the measured sizes
 * and numbers of nodes. The measurements are grouped by pto_score_collect into cells: a collective on one
 * layout with one size, whose candidates are the measured strategies. */
#include <stdlib.h>
#include <string.h>

#include "portolan/score.h"
#include "report.h"
#include "show/table.h"

enum { STRATEGIES_MAX = 128, TITLE_MAX = 192 };

/* The cells of one collective and layout: all cells that are like `first` (are_alike). */
typedef struct {
    const pto_score_t *score;
    const pto_score_cell_t *first;
} group_t;

static bool are_alike(const pto_score_cell_t *a, const pto_score_cell_t *b) {
    return a->collective == b->collective && a->implementation == b->implementation &&
           a->datatype == b->datatype && a->own_algorithms == b->own_algorithms &&
           a->gpus_per_node == b->gpus_per_node && a->owners_per_gpu == b->owners_per_gpu &&
           a->procs_per_gpu == b->procs_per_gpu && a->in_host == b->in_host && a->distance == b->distance;
}

/* Returns the group's next cell after `cell`, its first one after NULL; NULL if there is none. */
static const pto_score_cell_t *next_cell(const group_t *group, const pto_score_cell_t *cell) {
    const pto_score_cell_t *end = group->score->cell + group->score->cell_count;
    if (!cell)
        return group->first;
    for (cell++; cell < end; cell++)
        if (are_alike(group->first, cell))
            return cell;
    return NULL;
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Collects the different sizes, or numbers of nodes, of the group's cells. */
static pto_status_t collect(const group_t *group, bool nodes, pto_series_t *series, pto_error_t *err) {
    series->value = calloc((size_t)group->score->cell_count, sizeof *series->value);
    series->count = 0;
    if (!series->value)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a report");
    for (const pto_score_cell_t *cell = NULL; (cell = next_cell(group, cell));) {
        int64_t value = nodes ? cell->nodes : cell->bytes, at = 0;
        while (at < series->count && series->value[at] != value)
            at++;
        series->value[at] = value;
        series->count += at == series->count;
    }
    qsort(series->value, (size_t)series->count, sizeof *series->value, by_value);
    return PTO_OK;
}

static pto_status_t add_strategies(const group_t *group, pto_scenario_t *scenario, pto_error_t *err) {
    scenario->strategy_count = 0;
    scenario->strategy = calloc(STRATEGIES_MAX, sizeof *scenario->strategy);
    if (!scenario->strategy)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a report");
    for (const pto_score_cell_t *cell = NULL; (cell = next_cell(group, cell));) {
        for (int c = 0; c < cell->candidate_count && scenario->strategy_count < STRATEGIES_MAX; c++) {
            const char *name = cell->candidate[c].strategy->name;
            int at = 0;
            while (at < scenario->strategy_count && strcmp(scenario->strategy[at], name) != 0)
                at++;
            if (at < scenario->strategy_count)
                continue;
            scenario->strategy[at] = strdup(name);
            if (!scenario->strategy[at])
                return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a report");
            scenario->strategy_count++;
        }
    }
    return PTO_OK;
}

/* Makes the scenario of a group's panel, on its largest number of nodes; `rows` gets all numbers of nodes. */
static pto_status_t make_scenario(const group_t *group, const pto_machine_t *machine,
                                  pto_scenario_t *scenario, pto_series_t *rows, pto_error_t *err) {
    const pto_score_cell_t *cell = group->first;
    pto_scenario_init(scenario);
    scenario->collective = cell->collective;
    if (pto_collective_is_in_mpi(cell->collective))
        scenario->implementation = cell->implementation;
    scenario->datatype = cell->datatype;
    scenario->layout = (pto_layout_t){.gpus_per_node = cell->gpus_per_node,
                                      .owners_per_gpu = cell->owners_per_gpu,
                                      .procs_per_gpu = cell->procs_per_gpu,
                                      .in_host = cell->in_host};
    pto_status_t status = collect(group, true, rows, err);
    if (status == PTO_OK)
        status = collect(group, false, &scenario->bytes, err);
    if (status == PTO_OK)
        status = pto_series_one(rows->value[rows->count - 1], &scenario->nodes, err);
    if (status == PTO_OK)
        status = add_strategies(group, scenario, err);
    if (status == PTO_OK) {
        scenario->layout.nodes = scenario->nodes.value[0];
        status = pto_scenario_check(scenario, err);
    }
    return status == PTO_OK ? pto_scenario_bind(scenario, machine, err) : status;
}

/* Returns the index of a candidate's strategy; -1 if it ran another plan than the predicted one. */
static int strategy_of(const pto_predictions_t *predictions, const pto_score_candidate_t *candidate,
                       int64_t bytes) {
    for (int64_t point = 0; point < predictions->point_count; point++)
        for (int s = 0; s < predictions->strategy_count; s++) {
            const pto_prediction_t *prediction = pto_prediction_at(predictions, point, s);
            if (predictions->point[point] != bytes || predictions->strategy[s] != candidate->strategy)
                continue;
            bool same =
                !candidate->algorithm ||
                (prediction->applicable && strcmp(prediction->algorithm->name, candidate->algorithm) == 0);
            bool same_chunks = candidate->chunks <= 1 || prediction->chunks == candidate->chunks;
            return same && same_chunks ? s : -1;
        }
    return -1;
}

/* The `points` of pto_report_panel_t; the context is the group. */
static pto_status_t find_points(void *context, const pto_predictions_t *predictions, pto_plot_point_t **point,
                                size_t *point_count, pto_error_t *err) {
    const group_t *group = context;
    size_t count = 0, room = 1;
    for (const pto_score_cell_t *cell = NULL; (cell = next_cell(group, cell));)
        room += (size_t)cell->candidate_count;
    pto_plot_point_t *points = calloc(room, sizeof *points);
    if (!points)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a report");
    for (const pto_score_cell_t *cell = NULL; (cell = next_cell(group, cell));) {
        for (int c = 0; c < cell->candidate_count && cell->nodes == predictions->scenario->layout.nodes;
             c++) {
            int strategy = strategy_of(predictions, &cell->candidate[c], cell->bytes);
            if (strategy >= 0)
                points[count++] = (pto_plot_point_t){strategy, cell->bytes, cell->candidate[c].measured_s};
        }
    }
    *point = points;
    *point_count = count;
    return count > 0 ? PTO_OK : PTO_ERR_NOT_FOUND;
}

static void print_title(const pto_score_cell_t *cell, char title[TITLE_MAX]) {
    const char *collective = pto_collective_name(cell->collective);
    const char *by = cell->implementation == PTO_IMPLEMENTATION_LIBRARY ? "" : " by messages";
    const pto_layout_t layout = {
        .in_host = cell->in_host, .gpus_per_node = cell->gpus_per_node, .procs_per_gpu = cell->procs_per_gpu};
    snprintf(title, TITLE_MAX, "%s%s, %s", collective, by, PTO_NODE_TEXT(&layout));
}

static pto_status_t print_group(pto_report_t *report, group_t *group, int sliders, pto_error_t *err) {
    const pto_score_cell_t *cell = group->first;
    char title[TITLE_MAX];
    pto_scenario_t scenario;
    pto_series_t rows = {0};
    print_title(cell, title);
    pto_status_t status = make_scenario(group, report->machine, &scenario, &rows, err);
    if (status == PTO_OK) {
        pto_report_panel_t panel = {.scenario = &scenario,
                                    .title = title,
                                    .rows = &rows,
                                    .sliders = sliders,
                                    .points = find_points,
                                    .context = group};
        status = pto_report_panel(report, &panel, err);
    }
    pto_series_fini(&rows);
    pto_scenario_fini(&scenario);
    return status;
}

/* Returns whether a panel can show the group: not pairs, halos, or runs of portolan's own algorithms. */
static bool can_be_predicted(const group_t *group) {
    const pto_score_cell_t *cell = group->first;
    return cell->collective != PTO_COLLECTIVE_PAIR && cell->collective != PTO_COLLECTIVE_HALO &&
           !cell->own_algorithms;
}

/* Returns whether a cell belongs to the group of an earlier cell. */
static bool is_grouped(const pto_score_t *score, int64_t cell) {
    for (int64_t before = 0; before < cell; before++)
        if (are_alike(&score->cell[before], &score->cell[cell]))
            return true;
    return false;
}

pto_status_t pto_report_score(pto_report_t *report, const pto_collectives_t *collectives, int sliders,
                              pto_error_t *err) {
    pto_score_options_t options = pto_score_defaults(collectives);
    pto_score_t score = {0};
    int panels = 0;
    pto_status_t status = pto_score_collect(collectives, &options, &score, err);
    if (status != PTO_OK)
        return status;
    for (int64_t i = 0; i < score.cell_count && status == PTO_OK; i++) {
        group_t group = {&score, &score.cell[i]};
        if (is_grouped(&score, i) || !can_be_predicted(&group))
            continue;
        fputs(panels++ > 0 ? ",\n" : "", report->stream);
        status = print_group(report, &group, sliders, err);
    }
    if (status == PTO_OK && panels == 0)
        status = pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "no collective has two strategies measured");
    pto_score_fini(&score);
    return status;
}

void pto_report_fitted(FILE *stream, const pto_machine_t *machine, const pto_collectives_t *collectives) {
    bool fitted = false;
    for (int i = 0; i < collectives->file_count && !fitted; i++) {
        char digest[PTO_COLLECTIVES_DIGEST_MAX];
        const int64_t *nodes = NULL;
        pto_collectives_digest(collectives, i, digest);
        fitted = pto_machine_fitted_to(machine, digest, &nodes) > 0;
    }
    if (fitted)
        fputs(",\n\"notes\":[\"Some of the machine's terms were fitted to these measurements, so how near "
              "the predictions are says little about other ones.\"]",
              stream);
}
