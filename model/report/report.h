/* `portolan report`: writes the data of the page, as JSON, and the page around them.
 *
 * The page has panels: one for a scenario, for each measured collective, or for a workload's step. A panel is
 * a table; its rows are numbers of nodes, its columns the points of the sweep (or the calls of the step), and
 * in each place are the cells of all strategies: the price with its terms, and formulas by which the page
 * prices it again when the reader moves a slider, which changes a machine's parameter. tool/cmd_report.c
 * calls these functions in the order in which the JSON is written; report/ has the page's own scripts. */
#ifndef PTO_REPORT_H
#define PTO_REPORT_H

#include <stdio.h>

#include "command_line/options.h"
#include "portolan/pick.h"
#include "portolan/samples.h"
#include "portolan/workload.h"
#include "report/formula.h"
#include "show/more_procs.h"
#include "show/predict_plot.h"

/* A slider changes a parameter by at most this factor, up or down. */
enum { PTO_REPORT_RANGE = 16, PTO_REPORT_SLIDERS_MAX = 24 };

/* A parameter that a report names. */
typedef struct {
    const pto_param_t *param; /* NULL if the machine file lacks it */
    char key[PTO_PARAM_KEY_MAX];
    const char *file; /* NULL if it is the machine's */
} pto_report_param_t;

/* A report that is being written. */
typedef struct {
    FILE *stream;
    pto_machine_t *machine; /* its parameters are changed and restored */
    int slider_count;
    pto_formula_variable_t slider[PTO_REPORT_SLIDERS_MAX];
    /* Tables that cells refer to by index, in the order of first use: */
    int param_count;
    pto_report_param_t *param;
    int stage_count;
    char **stage;
    int strategy_count;
    const pto_strategy_t **strategy;
    pto_status_t status;                /* the first error */
    char hint[PTO_MORE_PROCS_TEXT_MAX]; /* of the last panel; "" if none */
} pto_report_t;

void pto_report_fini(pto_report_t *report);

/* Sets the sliders: up to `count` parameters that affect the picks of the predictions most. The predictions
 * may be those of another machine with the same parameters, but other values. Errors: those of
 * pto_sensitivity. */
pto_status_t pto_report_choose_sliders(pto_report_t *report, const pto_predictions_t *predictions, int count,
                                       pto_error_t *err);

/* Writes a row: the predictions for one number of nodes, and what was measured. Errors: also pto_pick's. */
pto_status_t pto_report_row(pto_report_t *report, const pto_predictions_t *predictions,
                            const pto_plot_point_t *point, size_t point_count, pto_error_t *err);

/* Writes the ranges of columns with the same pick, separated by commas. The predictions' first point is
 * column `first`. Each range is [column, number of columns, near-tie, regret, null or the parameter that
 * would have to be known, null or the parameter that makes intervals overlap]. Errors: those of pto_pick. */
pto_status_t pto_report_ranges(pto_report_t *report, const pto_predictions_t *predictions, int64_t first,
                               pto_error_t *err);

/* Returns the index of a strategy in the page's data. */
int pto_report_strategy(pto_report_t *report, const pto_strategy_t *strategy);

/* Writes one strategy's cell. `variable` has the sliders' parameters, as report->slider does, but on the
 * machine of the predictions, which may be another one. */
pto_status_t pto_report_cell(pto_report_t *report, const pto_predictions_t *predictions, int64_t point,
                             int strategy, const pto_formula_variable_t *variable, pto_error_t *err);

/* The panel of a collective on one layout. */
typedef struct {
    pto_scenario_t *scenario; /* bound; its number of nodes is changed and restored */
    const char *title;
    const pto_series_t *rows; /* the numbers of nodes */
    int sliders;              /* how many to choose, if none are chosen yet */
    /* Finds the measurements of a row; the caller frees `*point`. PTO_ERR_NOT_FOUND if it has none. May be
     * NULL. */
    pto_status_t (*points)(void *context, const pto_predictions_t *predictions, pto_plot_point_t **point,
                           size_t *point_count, pto_error_t *err);
    void *context;
} pto_report_panel_t;

/* Writes a panel. Errors: those of pto_predict for the scenario's nodes; PTO_ERR_NOT_FOUND if no row has
 * measurements, although `points` is given. */
pto_status_t pto_report_panel(pto_report_t *report, const pto_report_panel_t *panel, pto_error_t *err);

/* Chooses numbers of nodes around the scenario's own, if none are given. Errors: PTO_ERR_RANGE if some are,
 * but the scenario only makes sense on its own number; PTO_ERR_MEMORY. */
pto_status_t pto_report_rows(const pto_scenario_t *scenario, pto_series_t *rows, pto_error_t *err);

/* Writes a panel for each collective and layout that was measured. Errors: those of pto_score_collect and
 * pto_report_panel; PTO_ERR_NOT_APPLICABLE if there is nothing to compare. */
pto_status_t pto_report_score(pto_report_t *report, const pto_collectives_t *collectives, int sliders,
                              pto_error_t *err);
/* Writes a panel of the calls of a step, which must outlive the report. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_report_step(pto_report_t *report, const pto_step_prediction_t *step, int sliders,
                             pto_error_t *err);
/* Writes the time of the whole step, and the calls and computation of its entries. */
void pto_report_step_total(FILE *stream, const pto_step_prediction_t *step);
/* Writes a note if the machine's terms were fitted to some of these measurements. */
void pto_report_fitted(FILE *stream, const pto_machine_t *machine, const pto_collectives_t *collectives);
/* Writes the tables that cells refer to: strategies, stages, parameters, sliders. */
pto_status_t pto_report_tables(pto_report_t *report, pto_error_t *err);
/* Writes a number so that it reads back as the same. */
void pto_report_number(FILE *stream, double value);
/* Writes the page with these data. `<` in the JSON is escaped, so that it cannot end the script element. */
void pto_report_page(FILE *stream, const char *json);

#endif
