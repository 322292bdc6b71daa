/* `portolan report`: the data of the page, as JSON, and the page around them. */
#ifndef PTO_REPORT_H
#define PTO_REPORT_H

#include <stdio.h>

#include "command_line/options.h"
#include "portolan/pick.h"
#include "portolan/samples.h"
#include "portolan/workload.h"
#include "report/formula.h"
#include "show/more_procs.h"
#include "show/plot_points.h"

/* Sliders vary a parameter down and up by at most this factor. */
enum { PTO_REPORT_RANGE = 16, PTO_REPORT_SLIDERS_MAX = 24 };

/* A parameter that a report names: of the machine, or a key that its file lacks. */
typedef struct {
    const pto_param_t *param; /* NULL: lacking */
    char key[PTO_PARAM_KEY_MAX];
    const char *file; /* if not the machine's; else NULL */
} pto_report_param_t;

typedef struct {
    FILE *stream;
    pto_machine_t *machine; /* its parameters are moved and put back */
    int slider_count;
    pto_formula_variable_t slider[PTO_REPORT_SLIDERS_MAX];
    /* what cells refer to by number, in the order in which they are first met */
    int param_count;
    size_t param_capacity;
    pto_report_param_t *param;
    int stage_count;
    size_t stage_capacity;
    char **stage;
    int strategy_count;
    size_t strategy_capacity;
    const pto_strategy_t **strategy;
    pto_status_t status;                /* the first error */
    char hint[PTO_MORE_PROCS_TEXT_MAX]; /* of the last panel; empty: none */
} pto_report_t;

void pto_report_fini(pto_report_t *report);

/* Choose up to `count` parameters, by what they do to the picks of the predictions, which may be of a machine
 * that has the same parameters with other values. Errors: those of pto_sensitivity. */
pto_status_t pto_report_choose_sliders(pto_report_t *report, const pto_predictions_t *predictions, int count,
                                       pto_error_t *err);

/* A row of a panel: the predictions of one number of nodes, and what was measured there. Errors:
 * PTO_ERR_MEMORY, and those of pto_pick. */
pto_status_t pto_report_row(pto_report_t *report, const pto_predictions_t *predictions,
                            const pto_plot_point_t *point, size_t point_count, pto_error_t *err);

/* Remarks on the picks of consecutive columns, the first of which is `first`, separated by commas: [column,
 * number of columns, near-tie, regret, the parameter that would have to be known or null, null or the
 * parameter that makes intervals overlap ( Errors: those of pto_pick. */
pto_status_t pto_report_ranges(pto_report_t *report, const pto_predictions_t *predictions, int64_t first,
                               pto_error_t *err);

/* Returns the number by which the page's data refer to a strategy. */
int pto_report_strategy(pto_report_t *report, const pto_strategy_t *strategy);

/* The cell of one strategy, of whose prices the formulas are those on `variable`: the report's sliders, or
 * the same parameters of another machine. */
pto_status_t pto_report_cell(pto_report_t *report, const pto_predictions_t *predictions, int64_t point,
                             int strategy, const pto_formula_variable_t *variable, pto_error_t *err);

/* A collective on one layout. */
typedef struct {
    pto_scenario_t *scenario; /* bound; moved to other numbers of nodes, and back */
    const char *title;
    const pto_series_t *rows; /* these */
    int sliders;              /* how many to choose, if none are chosen yet */
    /* Measured points; NULL: none. The caller frees `*point`. PTO_ERR_NOT_FOUND: nothing in this row. */
    pto_status_t (*points)(void *context, const pto_predictions_t *predictions, pto_plot_point_t **point,
                           size_t *point_count, pto_error_t *err);
    void *context;
} pto_report_panel_t;

/* Errors: those of pto_predict for the scenario's own number of nodes; PTO_ERR_NOT_FOUND if nothing was
 * measured in any row. */
pto_status_t pto_report_panel(pto_report_t *report, const pto_report_panel_t *panel, pto_error_t *err);

/* If no numbers of nodes are given, choose some around the scenario's own. Errors: PTO_ERR_RANGE if any are,
 * and the scenario asks for its own; PTO_ERR_MEMORY. */
pto_status_t pto_report_rows(const pto_scenario_t *scenario, pto_series_t *rows, pto_error_t *err);

/* A panel for each collective and layout of measured collectives. Errors: those of pto_score_collect and
 * pto_report_panel; PTO_ERR_NOT_APPLICABLE if there is nothing to compare. */
pto_status_t pto_report_score(pto_report_t *report, const pto_collectives_t *collectives, int sliders,
                              pto_error_t *err);
/* The calls of a step, which must outlive the report. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_report_step(pto_report_t *report, const pto_step_prediction_t *step, int sliders,
                             pto_error_t *err);
/* The time of the step as a whole, and the parts of its entries. */
void pto_report_step_total(FILE *stream, const pto_step_prediction_t *step);

/* A note on which of them the machine's terms were fitted to, if any were. */
void pto_report_fitted(FILE *stream, const pto_machine_t *machine, const pto_collectives_t *collectives);

/* The tables that cells refer to: strategies, stages, parameters, sliders. */
pto_status_t pto_report_tables(pto_report_t *report, pto_error_t *err);

/* A number that reads back as the same. */
void pto_report_number(FILE *stream, double value);

/* Write the page with these data. JSON's strings may hold anything: none of it can end the script. */
void pto_report_page(FILE *stream, const char *json);

#endif
