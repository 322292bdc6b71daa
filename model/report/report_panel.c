/* Writes the panel of a collective in a report (report.h), which has a row for each number of nodes. */
#include <stdlib.h>

#include "portolan/progress.h"
#include "report.h"
#include "scenario/check.h"
#include "show/table.h"

/* Returns whether the scenario makes sense on other numbers of nodes. Sweeps of nodes, mappings, pairs,
 * halos, and counts for a fixed number of owners do not. */
static bool has_rows(const pto_scenario_t *scenario) {
    return pto_scenario_sweep(scenario) != PTO_SWEEP_NODES && scenario->collective != PTO_COLLECTIVE_PAIR &&
           scenario->collective != PTO_COLLECTIVE_HALO && scenario->mapping.count == 0 &&
           pto_counts_order(&scenario->counts) == 0;
}

pto_status_t pto_report_rows(const pto_scenario_t *scenario, pto_series_t *rows, pto_error_t *err) {
    int64_t nodes = scenario->layout.nodes, from = nodes;
    if (!has_rows(scenario) && rows->count > 0)
        return pto_error_set(err, PTO_ERR_RANGE, "--rows: this scenario is for its own number of nodes");
    if (rows->count > 0)
        return PTO_OK;
    if (!has_rows(scenario) || nodes == 1)
        return pto_series_range(nodes, nodes, 2, rows, err);
    /* From a quarter of the nodes (halved while even, and at least 2) to four times as many. */
    for (int i = 0; i < 2 && from % 2 == 0 && from > 2; i++)
        from /= 2;
    return pto_series_range(from, 4 * nodes, 2, rows, err);
}

/* Changes the number of nodes. Does nothing if the scenario has only the row of its own number. */
static pto_status_t set_nodes(pto_scenario_t *scenario, int64_t nodes, pto_error_t *err) {
    if (!has_rows(scenario))
        return PTO_OK;
    pto_layout_t layout = scenario->layout;
    layout.nodes = nodes;
    pto_status_t status = pto_scenario_check_layout(scenario, &layout, err);
    if (status == PTO_OK) {
        scenario->layout = layout;
        scenario->nodes.value[0] = nodes;
    }
    return status;
}

/* Returns whether a number of nodes does not apply; its row then has the reason. */
static bool is_reason(pto_status_t status) {
    return status == PTO_ERR_NOT_APPLICABLE || status == PTO_ERR_RANGE || status == PTO_ERR_TOO_LARGE;
}

/* Writes the row of a number of nodes, and adds the number of its measurements to `*measured_count`. */
static pto_status_t print_row(pto_report_t *report, const pto_report_panel_t *panel, int64_t nodes,
                              size_t *measured_count, pto_error_t *err) {
    pto_predictions_t predictions;
    pto_plot_point_t *point = NULL;
    size_t point_count = 0;
    pto_error_t reason = {0};
    pto_status_t status = set_nodes(panel->scenario, nodes, &reason);
    if (status == PTO_OK)
        status = pto_predict(panel->scenario, report->machine, true, &predictions, &reason);
    fprintf(report->stream, "{\"nodes\":%lld,", (long long)nodes);
    if (status != PTO_OK) {
        fputs("\"reason\":", report->stream);
        pto_print_json_string(report->stream, reason.message);
        fputc('}', report->stream);
        if (!is_reason(status) && err)
            *err = reason;
        return is_reason(status) ? PTO_OK : status;
    }
    if (panel->points)
        status = panel->points(panel->context, &predictions, &point, &point_count, err);
    if (status == PTO_OK || status == PTO_ERR_NOT_FOUND)
        status = pto_report_row(report, &predictions, point, point_count, err);
    *measured_count += point_count;
    fputc('}', report->stream);
    free(point);
    pto_predictions_fini(&predictions);
    return status;
}

static void print_points(FILE *stream, const pto_predictions_t *predictions) {
    fprintf(stream, "\"x\":\"%s\",\"values\":[", pto_sweep_kind_name(predictions->sweep));
    for (int64_t i = 0; i < predictions->point_count; i++)
        fprintf(stream, "%s%lld", i > 0 ? "," : "", (long long)predictions->point[i]);
    fputs("],\n", stream);
}

static pto_status_t print_rows(pto_report_t *report, const pto_report_panel_t *panel, pto_error_t *err) {
    size_t measured_count = 0;
    pto_status_t status = PTO_OK;
    fputs("\"rows\":[", report->stream);
    for (int64_t i = 0; i < panel->rows->count && status == PTO_OK; i++) {
        fputs(i > 0 ? ",\n" : "\n", report->stream);
        status = print_row(report, panel, panel->rows->value[i], &measured_count, err);
    }
    fputs("]}", report->stream);
    if (status == PTO_OK && pto_is_stopped()) /* a row may lack points */
        return pto_error_set(err, PTO_ERR_INTERRUPTED, "interrupted");
    if (status == PTO_OK && panel->points && measured_count == 0)
        return pto_error_set(err, PTO_ERR_NOT_FOUND,
                             "none of the measurements is of this collective, layout and sizes");
    return status;
}

pto_status_t pto_report_panel(pto_report_t *report, const pto_report_panel_t *panel, pto_error_t *err) {
    pto_scenario_t *scenario = panel->scenario;
    const int64_t own_nodes = scenario->layout.nodes;
    pto_predictions_t predictions;
    pto_status_t status = pto_predict(scenario, report->machine, true, &predictions, err);
    if (status != PTO_OK)
        return status;
    if (report->slider_count == 0)
        status = pto_report_choose_sliders(report, &predictions, panel->sliders, err);
    fputs("{\"title\":", report->stream);
    pto_print_json_string(report->stream, panel->title);
    fprintf(report->stream, ",\"own\":%lld,", (long long)own_nodes);
    print_points(report->stream, &predictions);
    if (status == PTO_OK)
        status = pto_predictions_find_more_procs(&predictions, err);
    if (!pto_more_procs_text(&predictions, report->hint))
        *report->hint = '\0';
    pto_predictions_fini(&predictions);
    if (status != PTO_OK)
        return status;
    status = print_rows(report, panel, err);
    pto_status_t restored = set_nodes(scenario, own_nodes, status == PTO_OK ? err : NULL);
    return status == PTO_OK ? restored : status;
}
