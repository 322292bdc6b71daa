/* portolan predict: the price of every strategy at every point. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "explain.h"
#include "options.h"
#include "plot_points.h"
#include "predict_plot.h"
#include "table.h"

static const char usage[] =
    "usage: portolan predict [SCENARIO.yaml] [OPTIONS]\n"
    "\n"
    "Prints the predicted cost of each strategy over the scenario's sizes (or nodes, or messages), and the\n"
    "cheapest strategy at each. A table has the best strategies' columns, as many as the terminal is wide;\n"
    "--all and --strategy show the others. With enough options no scenario file is needed:\n"
    "\n"
    "  portolan predict scenarios/problems/alltoall-summit.yaml\n"
    "  portolan predict --machine summit-spectrum --collective allreduce --nodes 32 --bytes 4:1MiB\n"
    "  portolan predict scenarios/problems/alltoall-summit.yaml --bytes 64KiB --strategy three_step "
    "--explain\n"
    "\n"
    "--plot draws each strategy as a line with its interval, the measurements of a collectives.csv with the\n"
    "scenario's layout (--measured) as points, and the picks as a band below:\n"
    "\n"
    "  portolan predict scenarios/problems/alltoall-summit.yaml --plot alltoall.svg\n"
    "\n"
    "--energy prints millijoules, priced with the powers in the machine file, and the strategy that needs\n"
    "least energy. csv and json output add the columns `joules,low_joules,high_joules`, and --explain shows\n"
    "what the energy is spent on.\n"
    "\n"
    "csv: one row per strategy and point, `bytes,strategy,algorithm,seconds,low_s,high_s,chunks`. The first\n"
    "column is nodes or messages if these are swept. The interval is empty if the machine file has none, "
    "and\n"
    "chunks if the strategy is not cut into any; algorithm, times, interval and chunks are empty if a "
    "strategy\n"
    "does not apply. With --explain one row per term.\n";

static const pto_option_set_t option_sets[] = {{"options", pto_format_options},
                                               {NULL, pto_predict_options},
                                               {NULL, pto_work_options},
                                               PTO_SCENARIO_SETS};

static const pto_syntax_t syntax = {
    .program = "portolan predict", .usage = usage, .set = option_sets, .operand = "*.yaml"};

static void print_csv_energy(const pto_prediction_t *prediction) {
    const pto_energy_t *energy = &prediction->energy;
    if (!prediction->applicable || !prediction->has_energy)
        printf(",,,");
    else if (energy->has_interval)
        printf(",%.9g,%.9g,%.9g", energy->joules, energy->low_joules, energy->high_joules);
    else
        printf(",%.9g,,", energy->joules);
}

static void print_csv(const pto_predictions_t *predictions) {
    bool energy = predictions->by == PTO_BY_ENERGY;
    pto_print_changes(stdout, predictions->machine);
    pto_print_energy_note(stdout, predictions);
    pto_print_extrapolated(stdout, predictions);
    pto_print_unpriced(stdout, predictions);
    printf("%s,strategy,algorithm,seconds,low_s,high_s,chunks%s\n", pto_sweep_kind_name(predictions->sweep),
           energy ? ",joules,low_joules,high_joules" : "");
    for (int64_t cell = 0; cell < predictions->point_count * predictions->strategy_count; cell++) {
        const pto_prediction_t *prediction = &predictions->prediction[cell];
        pto_print_csv_cell(stdout, predictions, cell);
        if (!prediction->applicable)
            printf(",,");
        else if (prediction->price.has_interval)
            printf("%.9g,%.9g,%.9g", prediction->price.seconds, prediction->price.low_s,
                   prediction->price.high_s);
        else
            printf("%.9g,,", prediction->price.seconds);
        putchar(',');
        if (prediction->applicable && prediction->chunks > 0)
            printf("%lld", (long long)prediction->chunks);
        if (energy)
            print_csv_energy(prediction);
        putchar('\n');
    }
}

/* A value set by --what-if has no line. */
static const char *line_text(const pto_param_t *param, char *text, size_t text_size) {
    if (param->line == PTO_LINE_WHAT_IF)
        return "null";
    snprintf(text, text_size, "%d", param->line);
    return text;
}

static void print_json_terms(const pto_flags_t *flags, const pto_term_t *terms, int count) {
    char line[16];
    printf(", \"terms\": [");
    for (int t = 0; t < count; t++) {
        const pto_term_t *term = &terms[t];
        printf("%s{\"stage\": ", t ? ", " : "");
        pto_print_json_string(stdout, term->stage);
        printf(", \"parameter\": \"%s\", \"count\": %.17g, ", term->key, term->count);
        if (term->param)
            printf("\"value\": %.9g, \"line\": %s, \"seconds\": %.9g", term->param->value,
                   line_text(term->param, line, sizeof line), term->seconds);
        else
            printf("\"value\": null, \"line\": null, \"seconds\": 0");
        const char *flagged = pto_flag_of(flags, term->param);
        if (flagged) {
            printf(", \"flagged\": ");
            pto_print_json_string(stdout, flagged);
        }
        putchar('}');
    }
    putchar(']');
}

/* Seconds are null if the machine file lacks the parameters of the terms that are null. The number of calls
 * is null if setup never pays off. */
static void print_json_setup(const pto_predictions_t *predictions, const pto_flags_t *flags, int64_t cell) {
    const pto_prediction_t *own = &predictions->prediction[cell];
    int64_t point = cell / predictions->strategy_count;
    const char *between = "";
    double calls;
    printf(", \"setup\": {\"seconds\": ");
    printf(own->setup.known ? "%.9g" : "null", own->setup.seconds);
    print_json_terms(flags, own->setup.term, own->setup.term_count);
    printf(", \"paid_back\": [");
    for (int i = 0; i < predictions->strategy_count; i++) {
        if (!pto_payback(own, pto_prediction_at(predictions, point, i), &calls))
            continue;
        printf("%s{\"against\": \"%s\", \"calls\": ", between, predictions->strategy[i]->name);
        printf(isinf(calls) ? "null}" : "%.9g}", calls);
        between = ", ";
    }
    printf("]}");
}

static void print_json_energy(const pto_energy_t *energy) {
    printf(", \"joules\": %.9g", energy->joules);
    if (energy->has_interval)
        printf(", \"low_joules\": %.9g, \"high_joules\": %.9g", energy->low_joules, energy->high_joules);
}

/* Parameters missing from the machine file that the price would use; nothing if there are none. */
static void print_json_unpriced(const pto_explanation_t *explanation) {
    int count = 0;
    for (int t = 0; t < explanation->count; t++) {
        const char *key = explanation->term[t].key;
        bool is_new = !explanation->term[t].param;
        for (int before = 0; before < t && is_new; before++)
            is_new = strcmp(explanation->term[before].key, key) != 0;
        if (is_new)
            printf("%s\"%s\"", count++ ? ", " : ", \"unpriced\": [", key);
    }
    fputs(count > 0 ? "]" : "", stdout);
}

/* `flags` is NULL without --explain. */
typedef struct {
    const pto_predictions_t *predictions;
    const pto_flags_t *flags;
} printed_t;

static void print_json_cell(int64_t cell, const void *context) {
    const printed_t *printed = context;
    const pto_prediction_t *prediction = &printed->predictions->prediction[cell];
    if (prediction->chunks > 0)
        printf(", \"chunks\": %lld", (long long)prediction->chunks);
    if (printed->predictions->strategy[cell % printed->predictions->strategy_count]->stages &&
        prediction->applicable)
        printf(", \"staged_in\": %lld, \"staged_out\": %lld", (long long)prediction->staged_members.in,
               (long long)prediction->staged_members.out);
    if (prediction->price.has_interval)
        printf(", \"low_s\": %.9g, \"high_s\": %.9g", prediction->price.low_s, prediction->price.high_s);
    if (printed->predictions->by == PTO_BY_ENERGY && prediction->has_energy)
        print_json_energy(&prediction->energy);
    print_json_unpriced(&prediction->explanation);
    if (printed->flags) {
        print_json_terms(printed->flags, prediction->explanation.term, prediction->explanation.count);
        print_json_setup(printed->predictions, printed->flags, cell);
    }
}

static void print_json(const pto_predictions_t *predictions, const pto_flags_t *flags) {
    const printed_t printed = {predictions, flags};
    pto_print_json_cells(stdout, "predictions", predictions, print_json_cell, &printed);
}

static pto_status_t draw(const pto_options_t *options, const pto_predictions_t *predictions,
                         pto_error_t *err) {
    pto_predict_plot_t drawn = {.predictions = predictions, .measured = options->measured};
    pto_range_t *range = NULL;
    pto_plot_point_t *point = NULL;
    pto_status_t status = pto_pick(predictions, &range, &drawn.range_count, err);
    if (status == PTO_OK && options->measured)
        status = pto_plot_points_read(options->measured, predictions, &point, &drawn.point_count, err);
    if (status == PTO_OK) {
        drawn.range = range;
        drawn.point = point;
        pto_plot_t plot = pto_predict_plot(&drawn);
        status = pto_plot_draw(&plot, options->plot, err);
    }
    free(range);
    free(point);
    return status;
}

/* Returns -1, or the exit code. Called before any work. */
static int check_options(const pto_options_t *options) {
    pto_error_t err = {0};
    if (options->measured && !options->plot)
        return pto_usage_error(&syntax, "--measured is drawn by --plot, which is not given");
    int code = pto_check_bandwidth(&syntax, options);
    if (code >= 0)
        return code;
    if (options->plot && pto_plot_check_name(options->plot, &err) != PTO_OK)
        return pto_usage_error(&syntax, "--plot: %s", err.message);
    return -1;
}

static void print_prices(const pto_options_t *options, const pto_predictions_t *predictions) {
    if (options->format == PTO_FORMAT_CSV)
        print_csv(predictions);
    else if (options->format == PTO_FORMAT_JSON)
        print_json(predictions, NULL);
    else
        pto_print_table(stdout, "predict", predictions, options);
}

static pto_status_t print_explained(pto_options_t *options, const pto_predictions_t *predictions,
                                    pto_error_t *err) {
    pto_flags_t flags;
    pto_status_t status = pto_flags_find(options->machine, &flags, err);
    if (status != PTO_OK)
        return status;
    if (options->format == PTO_FORMAT_CSV)
        pto_print_explanations_csv(predictions, &flags);
    else if (options->format == PTO_FORMAT_JSON)
        print_json(predictions, &flags);
    else
        pto_print_explanations(predictions, &flags);
    pto_flags_fini(&flags);
    return PTO_OK;
}

static pto_status_t run(pto_options_t *options, pto_error_t *err) {
    pto_predictions_t predictions;
    pto_status_t status = options->by == PTO_BY_TIME ? PTO_OK : pto_need_powers(options->machine, err);
    if (status == PTO_OK)
        status = pto_predict(&options->scenario, options->machine, true, &predictions, err);
    if (status == PTO_OK) {
        if (options->plot) /* draws times, whatever is printed */
            status = draw(options, &predictions, err);
        predictions.by = options->by;
        if (status == PTO_OK && options->explain)
            status = print_explained(options, &predictions, err);
        else if (status == PTO_OK)
            print_prices(options, &predictions);
        pto_predictions_fini(&predictions);
    }
    return status;
}

const pto_command_t pto_command_predict = {.name = "predict",
                                           .summary =
                                               "print what each strategy would cost, and why (--explain)",
                                           .syntax = &syntax,
                                           .on_scenario = run,
                                           .check = check_options};
