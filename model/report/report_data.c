/* Writes the data of a report (report.h): the price, terms and formulas of each cell, the measurements of a
 * row, the choice of sliders, and the tables that cells refer to. report/page.js and formula.js read them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "portolan/sensitivity.h"
#include "report.h"
#include "report/cell_formulas.h"
#include "show/explain.h"
#include "show/plot.h"
#include "show/record.h"
#include "show/replayed.h"
#include "show/table.h"

enum { SENSITIVITY_POINTS = 6 }; /* most points of a sweep whose sensitivities choose the sliders */

/* --- tables --------------------------------------------------------------------------------------------- */

/* Reserves one more item in a table of pto_report_t. */
#define RESERVE_ITEM(report, table)                                                                          \
    (PTO_EXTEND((report)->table, (report)->table##_count) || ((report)->status = PTO_ERR_MEMORY, false))

/* Returns the index of a parameter in the page's table, after adding it if it is new. */
static int param_index(pto_report_t *report, const pto_param_t *param, const char *key, const char *file) {
    for (int i = 0; i < report->param_count; i++)
        if (report->param[i].param == param && strcmp(report->param[i].key, key) == 0)
            return i;
    if (!RESERVE_ITEM(report, param))
        return 0;
    pto_report_param_t *added = &report->param[report->param_count];
    *added = (pto_report_param_t){.param = param, .file = file};
    snprintf(added->key, sizeof added->key, "%s", key);
    return report->param_count++;
}

static int stage_index(pto_report_t *report, const char *stage) {
    for (int i = 0; i < report->stage_count; i++)
        if (strcmp(report->stage[i], stage) == 0)
            return i;
    if (!RESERVE_ITEM(report, stage))
        return 0;
    report->stage[report->stage_count] = strdup(stage);
    if (!report->stage[report->stage_count]) {
        report->status = PTO_ERR_MEMORY;
        return 0;
    }
    return report->stage_count++;
}

int pto_report_strategy(pto_report_t *report, const pto_strategy_t *strategy) {
    for (int i = 0; i < report->strategy_count; i++)
        if (report->strategy[i] == strategy)
            return i;
    if (!RESERVE_ITEM(report, strategy))
        return 0;
    report->strategy[report->strategy_count] = strategy;
    return report->strategy_count++;
}

void pto_report_fini(pto_report_t *report) {
    for (int i = 0; i < report->stage_count; i++)
        free(report->stage[i]);
    free(report->stage);
    free(report->param);
    free(report->strategy);
    *report = (pto_report_t){0};
}

/* --- numbers -------------------------------------------------------------------------------------------- */

void pto_report_number(FILE *stream, double value) {
    char text[32];
    if (!isfinite(value)) {
        fputs("null", stream);
        return;
    }
    snprintf(text, sizeof text, "%.15g", value);
    double read = strtod(text, NULL);
    if (read < value || read > value)
        snprintf(text, sizeof text, "%.17g", value);
    fputs(text, stream);
}

/* Writes a sum as [number, of, times, of, times, ...], with eleven digits: prices are compared to nine. */
static void print_sum(FILE *stream, const pto_formulas_t *formulas, const pto_formula_sum_t *sum) {
    fprintf(stream, "[%.11g", sum->number);
    for (int i = sum->first; i < sum->first + sum->count; i++)
        fprintf(stream, ",%d,%.11g", formulas->term[i].of, formulas->term[i].times);
    fputc(']', stream);
}

/* Writes operations, each as [operation, sum, sum]. */
static void print_operations(FILE *stream, const pto_formulas_t *formulas) {
    fputs(",\"o\":[", stream);
    for (int i = 0; i < formulas->operation_count; i++) {
        const pto_formula_operation_t *operation = &formulas->operation[i];
        fprintf(stream, "%s[%d,", i > 0 ? "," : "", (int)operation->op);
        print_sum(stream, formulas, &operation->a);
        fputc(',', stream);
        print_sum(stream, formulas, &operation->b);
        fputc(']', stream);
    }
    fputc(']', stream);
}

/* Writes guards, each as [ahead] or [ahead, of]. */
static void print_guards(FILE *stream, const pto_formulas_t *formulas) {
    fputs(",\"g\":[", stream);
    for (int i = 0; i < formulas->guard_count; i++) {
        const pto_formula_guard_t *guard = &formulas->guard[i];
        fputs(i > 0 ? ",[" : "[", stream);
        print_sum(stream, formulas, &guard->ahead);
        if (guard->same) {
            fputc(',', stream);
            print_sum(stream, formulas, &guard->of);
        }
        fputc(']', stream);
    }
    fputc(']', stream);
}

/* Writes [price, condition, ...]. A condition is a guard's number, from 1, negative if it must not hold. */
static void print_formula(FILE *stream, const pto_formulas_t *formulas, int index) {
    const pto_formula_t *formula = &formulas->formula[index];
    fputc('[', stream);
    print_sum(stream, formulas, &formula->price);
    for (int i = formula->first; i < formula->first + formula->count; i++) {
        const pto_formula_condition_t *condition = &formulas->condition[i];
        fprintf(stream, ",%d", condition->holds ? condition->guard + 1 : -(condition->guard + 1));
    }
    fputc(']', stream);
}

/* Writes "bruck, 8 chunks". */
static void print_choice(FILE *stream, const pto_algorithm_t *algorithm, const pto_strategy_t *strategy,
                         int64_t chunks, pto_staged_t staged_members) {
    char choice[PTO_CHOICE_TEXT_MAX], text[2 * PTO_CHOICE_TEXT_MAX + 64];
    pto_choice_text(strategy, chunks, staged_members, choice);
    snprintf(text, sizeof text, "%s%s", algorithm ? algorithm->name : "", choice);
    pto_print_json_string(stream, text);
}

/* Writes the plans by algorithm, each as [whether it is a search for chunks, [choice, formula, ...], ...].
 * The candidates of an algorithm follow each other. */
static void print_candidates(FILE *stream, const pto_strategy_t *strategy, const pto_cell_formulas_t *cell) {
    const pto_algorithm_t *algorithm = NULL;
    fputs(",\"f\":[", stream);
    for (int i = 0; i < cell->count; i++) {
        const pto_candidate_t *candidate = &cell->candidate[i];
        if (candidate->algorithm != algorithm)
            fprintf(stream, "%s[%d", i > 0 ? "]," : "", candidate->in_chunks);
        algorithm = candidate->algorithm;
        fputs(",[", stream);
        print_choice(stream, algorithm, strategy, candidate->chunks, candidate->staged_members);
        for (int f = 0; f < candidate->formula_count; f++) {
            fputc(',', stream);
            print_formula(stream, &cell->formulas, candidate->formula_first + f);
        }
        fputc(']', stream);
    }
    fputs(cell->count > 0 ? "]]" : "]", stream);
}

/* --- cells ---------------------------------------------------------------------------------------------- */

/* The JSON members of a cell:
 *   i: strategy; r: why it does not apply, in which case there are no others;
 *   a: algorithm and chunks; s: seconds; l and h: their interval; x: what they are extrapolated from;
 *   t: terms; o: operations, g: guards and f: formulas, or n: why there are none. */

/* Writes stage, parameter and count of each term in one list. */
static void print_terms(pto_report_t *report, const pto_explanation_t *explanation) {
    const char *between = "";
    fputs(",\"t\":[", report->stream);
    for (int t = 0; t < explanation->count; t++) {
        const pto_term_t *term = &explanation->term[t];
        if (term->param && fabs(term->count) <= 0)
            continue;
        fprintf(report->stream, "%s%d,%d,", between, stage_index(report, term->stage),
                param_index(report, term->param, term->key, term->file));
        pto_report_number(report->stream, term->count);
        between = ",";
    }
    fputc(']', report->stream);
}

static void print_price(pto_report_t *report, const pto_prediction_t *prediction,
                        const pto_strategy_t *strategy) {
    FILE *stream = report->stream;
    char from[PTO_EXTRAPOLATED_MAX];
    fputs(",\"a\":", stream);
    print_choice(stream, prediction->algorithm, strategy, prediction->chunks, prediction->staged_members);
    fputs(",\"s\":", stream);
    pto_report_number(stream, prediction->price.seconds);
    if (prediction->price.has_interval) {
        fputs(",\"l\":", stream);
        pto_report_number(stream, prediction->price.low_s);
        fputs(",\"h\":", stream);
        pto_report_number(stream, prediction->price.high_s);
    }
    if (pto_extrapolated_text(&prediction->price, from)) {
        fputs(",\"x\":", stream);
        pto_print_json_string(stream, from);
    }
    print_terms(report, &prediction->explanation);
}

pto_status_t pto_report_cell(pto_report_t *report, const pto_predictions_t *predictions, int64_t point,
                             int strategy, const pto_formula_variable_t *variable, pto_error_t *err) {
    const pto_prediction_t *prediction = pto_prediction_at(predictions, point, strategy);
    const pto_strategy_t *named = predictions->strategy[strategy];
    pto_cell_formulas_t formulas = {0};
    fprintf(report->stream, "{\"i\":%d", pto_report_strategy(report, named));
    if (!prediction->applicable) {
        fputs(",\"r\":", report->stream);
        pto_print_json_string(report->stream, prediction->reason);
        fputc('}', report->stream);
        return report->status;
    }
    print_price(report, prediction, named);
    pto_status_t status = pto_cell_formulas(predictions->scenario, predictions->machine, point, named,
                                            variable, report->slider_count, &formulas, err);
    if (status != PTO_OK)
        return status;
    if (formulas.reason[0]) {
        fputs(",\"n\":", report->stream);
        pto_print_json_string(report->stream, formulas.reason);
    } else {
        print_operations(report->stream, &formulas.formulas);
        print_guards(report->stream, &formulas.formulas);
        print_candidates(report->stream, named, &formulas);
    }
    pto_cell_formulas_fini(&formulas);
    fputc('}', report->stream);
    return report->status == PTO_OK ? PTO_OK : pto_error_set(err, report->status, "out of memory");
}

/* --- rows ----------------------------------------------------------------------------------------------- */

pto_status_t pto_report_ranges(pto_report_t *report, const pto_predictions_t *predictions, int64_t first,
                               pto_error_t *err) {
    pto_range_t *range = NULL;
    int64_t count = 0;
    pto_status_t status = pto_pick(predictions, &range, &count, err);
    if (status != PTO_OK)
        return status;
    for (int64_t i = 0; i < count; i++) {
        fprintf(report->stream, "%s[%lld,%lld,%d,", i > 0 ? "," : "",
                (long long)(first + range[i].point_first), (long long)range[i].point_count,
                range[i].near_tie);
        pto_report_number(report->stream, range[i].regret);
        fputc(',', report->stream);
        pto_print_json_string(report->stream, range[i].unpriced);
        fputc(',', report->stream);
        pto_print_json_string(report->stream, range[i].overlap ? range[i].settle.key : NULL);
        fputc(']', report->stream);
    }
    free(range);
    return PTO_OK;
}

static pto_status_t print_cells(pto_report_t *report, const pto_predictions_t *predictions,
                                pto_error_t *err) {
    pto_status_t status = PTO_OK;
    fputs(",\"cells\":[", report->stream);
    for (int64_t point = 0; point < predictions->point_count && status == PTO_OK; point++) {
        fputs(point > 0 ? ",\n[" : "\n[", report->stream);
        for (int s = 0; s < predictions->strategy_count && status == PTO_OK; s++) {
            fputs(s > 0 ? "," : "", report->stream);
            status = pto_report_cell(report, predictions, point, s, report->slider, err);
        }
        fputc(']', report->stream);
    }
    fputc(']', report->stream);
    return status;
}

/* Returns the least time that was measured at the swept value `at`, of a strategy or, if `others`, of all
 * other strategies; sets `*found` to its strategy. 0 if there is none. */
static double least_measured(const pto_plot_point_t *point, size_t count, int64_t at, int strategy,
                             bool others, int *found) {
    double least_s = 0;
    for (size_t i = 0; i < count; i++)
        if (point[i].at == at && (point[i].strategy == strategy) != others &&
            (least_s <= 0 || point[i].seconds < least_s)) {
            least_s = point[i].seconds;
            *found = point[i].strategy;
        }
    return least_s;
}

/* Writes picks that measurements refute, each as [column, the strategy that was faster, its time]. */
static void print_refuted(pto_report_t *report, const pto_predictions_t *predictions,
                          const pto_plot_point_t *point, size_t count) {
    const char *between = "";
    for (int64_t i = 0; i < predictions->point_count; i++) {
        const int winner = pto_pick_at(predictions, i);
        const int64_t at = predictions->point[i];
        int faster = -1;
        if (winner < 0)
            continue;
        const double measured_s = least_measured(point, count, at, winner, false, &faster);
        const double other_s = least_measured(point, count, at, winner, true, &faster);
        const double winner_s =
            measured_s > 0 ? measured_s : pto_prediction_at(predictions, i, winner)->price.seconds;
        if (!pto_is_refuted(winner_s, other_s))
            continue;
        fprintf(report->stream, "%s[%lld,%d,", between, (long long)i,
                pto_report_strategy(report, predictions->strategy[faster]));
        pto_report_number(report->stream, other_s);
        fputc(']', report->stream);
        between = ",";
    }
}

pto_status_t pto_report_row(pto_report_t *report, const pto_predictions_t *predictions,
                            const pto_plot_point_t *point, size_t point_count, pto_error_t *err) {
    FILE *stream = report->stream;
    fputs("\"picks\":[", stream);
    for (int64_t i = 0; i < predictions->point_count; i++) {
        int winner = pto_pick_at(predictions, i);
        fprintf(stream, "%s%d", i > 0 ? "," : "",
                winner < 0 ? -1 : pto_report_strategy(report, predictions->strategy[winner]));
    }
    fputs("],\"measured\":[", stream);
    for (size_t i = 0; i < point_count; i++) {
        fprintf(stream, "%s[%d,%lld,", i > 0 ? "," : "",
                pto_report_strategy(report, predictions->strategy[point[i].strategy]),
                (long long)point[i].at);
        pto_report_number(stream, point[i].seconds);
        fputc(']', stream);
    }
    fputs("],\"refuted\":[", stream);
    print_refuted(report, predictions, point, point_count);
    fputs("],\"ranges\":[", stream);
    pto_status_t status = pto_report_ranges(report, predictions, 0, err);
    fputc(']', stream);
    return status == PTO_OK ? print_cells(report, predictions, err) : status;
}

/* --- sliders -------------------------------------------------------------------------------------------- */

/* A parameter, and how much it affects the picks. */
typedef struct {
    const pto_param_t *param;
    double weight;
} weighed_t;

/* Returns the parameter's share of the pick's price, plus a number from 0 to 1 that is the larger the smaller
 * a change of the parameter changes the pick. (The 4 is a choice: a factor of 1.3 counts half.) */
static double weight_of(const pto_sensitivity_t *item) {
    double nearness = item->becomes >= 0 ? 1 / (1 + 4 * fabs(log(item->factor))) : 0;
    return item->elasticity + nearness;
}

/* Gives each parameter its largest weight so far. */
static void weigh(const pto_sensitivities_t *found, weighed_t *weighed, int *count) {
    for (int i = 0; i < found->count; i++) {
        int at = 0;
        while (at < *count && weighed[at].param != found->item[i].param.param)
            at++;
        if (at == *count)
            weighed[(*count)++] = (weighed_t){.param = found->item[i].param.param};
        weighed[at].weight = fmax(weighed[at].weight, weight_of(&found->item[i]));
    }
}

static int by_weight(const void *a, const void *b) {
    double x = ((const weighed_t *)a)->weight, y = ((const weighed_t *)b)->weight;
    return x < y ? 1 : x > y ? -1 : 0;
}

pto_status_t pto_report_choose_sliders(pto_report_t *report, const pto_predictions_t *predictions, int count,
                                       pto_error_t *err) {
    pto_machine_param_t *param = NULL;
    int params = 0, weighed_count = 0;
    pto_status_t status = pto_machine_params(report->machine, &param, &params, err);
    free(param);
    if (status != PTO_OK)
        return status;
    weighed_t *weighed = calloc((size_t)params + 1, sizeof *weighed);
    if (!weighed)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a report");
    int64_t points = predictions->point_count;
    int64_t step = points > SENSITIVITY_POINTS ? (points + SENSITIVITY_POINTS - 1) / SENSITIVITY_POINTS : 1;
    for (int64_t point = 0; point < points && status == PTO_OK; point += step) {
        pto_sensitivities_t found = {0};
        status = pto_sensitivity(predictions, report->machine, point, &found, err);
        weigh(&found, weighed, &weighed_count);
        pto_sensitivities_fini(&found);
    }
    qsort(weighed, (size_t)weighed_count, sizeof *weighed, by_weight);
    for (int i = 0; i < weighed_count && report->slider_count < count; i++) {
        double value = weighed[i].param->value;
        if (value > 0)
            report->slider[report->slider_count++] = (pto_formula_variable_t){
                weighed[i].param, value / PTO_REPORT_RANGE, value * PTO_REPORT_RANGE};
    }
    free(weighed);
    return status;
}

/* --- the tables that cells refer to --------------------------------------------------------------------- */

static const pto_machine_param_t *find_param(const pto_flags_t *flags, const pto_param_t *param) {
    for (int i = 0; i < flags->count; i++)
        if (flags->param[i].param == param)
            return &flags->param[i];
    return NULL;
}

/* Writes a parameter of the page's table, after the text `before`. */
static void print_param(const pto_report_t *report, const pto_report_param_t *named, const char *before,
                        const pto_flags_t *flags) {
    static const pto_param_t none = {0};
    const bool known = named->param != NULL;
    const pto_param_t *param = known ? named->param : &none;
    const char *flagged = known ? pto_flag_of(flags, param) : NULL;
    PTO_OBJECT(report->stream, before, pto_field_text("key", named->key),
               pto_field_if(known, pto_field_rounded("value", param->value, 17)),
               pto_field_if(known && param->line != PTO_LINE_WHAT_IF, pto_field_count("line", param->line)),
               pto_field_if(param->has_interval, pto_field_rounded("low", param->low, 17)),
               pto_field_if(param->has_interval, pto_field_rounded("high", param->high, 17)),
               pto_field_if(known && named->file,
                            pto_field_text("file", named->file ? pto_file_name(named->file) : NULL)),
               pto_field_if(flagged, pto_field_text("flagged", flagged)));
}

pto_status_t pto_report_tables(pto_report_t *report, pto_error_t *err) {
    FILE *stream = report->stream;
    pto_flags_t flags;
    pto_status_t status = pto_machine_params(report->machine, &flags.param, &flags.count, err);
    if (status != PTO_OK)
        return status;
    fputs(",\n\"sliders\":[", stream);
    for (int i = 0; i < report->slider_count; i++) {
        const pto_machine_param_t *param = find_param(&flags, report->slider[i].param);
        fprintf(stream, "%s%d", i > 0 ? "," : "",
                param_index(report, report->slider[i].param, param ? param->key : "", NULL));
    }
    fprintf(stream, "],\"range\":%d,\n\"params\":[", PTO_REPORT_RANGE);
    for (int i = 0; i < report->param_count; i++)
        print_param(report, &report->param[i], i > 0 ? ",\n" : "", &flags);
    fputs("],\n\"stages\":[", stream);
    for (int i = 0; i < report->stage_count; i++) {
        fputs(i > 0 ? "," : "", stream);
        pto_print_json_string(stream, report->stage[i]);
    }
    fputs("],\n\"strategies\":[", stream);
    for (int i = 0; i < report->strategy_count; i++)
        PTO_OBJECT(stream, i > 0 ? ",\n" : "", pto_field_text("name", report->strategy[i]->name),
                   pto_field_text("what", report->strategy[i]->summary),
                   pto_field_text("color", pto_strategy_colour(report->strategy[i])),
                   pto_field_text("ink", pto_strategy_ink(report->strategy[i])));
    fputc(']', stream);
    free(flags.param);
    return report->status == PTO_OK ? PTO_OK : pto_error_set(err, report->status, "out of memory");
}
