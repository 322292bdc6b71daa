/* portolan predict: the price of every strategy at every point of a scenario, with terms (--explain). */
#include <math.h>
#include <stdlib.h>

#include "command.h"
#include "show/drawings.h"
#include "show/explain.h"
#include "show/predict_plot.h"
#include "show/record.h"
#include "show/sweeps_table.h"
#include "show/table.h"

static const char usage[] =
    "usage: portolan predict [SCENARIO.yaml] [OPTIONS]\n\n"
    "Prints the predicted cost of each strategy over the scenario's sizes (or nodes, or messages), and the\n"
    "cheapest strategy at each. A table has the best strategies' columns, as many as the terminal is wide;\n"
    "--all and --strategy show the others. With enough options no scenario file is needed:\n\n"
    "  portolan predict alltoall-summit\n"
    "  portolan predict --machine summit-spectrum --collective allreduce --nodes 32 --bytes 4:1MiB\n"
    "  portolan predict alltoall-summit --bytes 64KiB --strategy three_step --explain\n\n"
    "--plot draws each strategy as a line with its interval, the measurements of a collectives.csv with the\n"
    "scenario's layout (--measured) as points, and the picks as a band below:\n\n"
    "  portolan predict alltoall-summit --plot alltoall.svg\n\n"
    "--energy prints millijoules, priced with the powers in the machine file, and the strategy that needs\n"
    "least energy. csv and json output add the columns `joules,low_joules,high_joules`, and --explain shows\n"
    "what the energy is spent on.\n\n"
    "Two sweeps at once make a table of the cheapest strategies. --compare shows the changed machine beside\n"
    "the original one:\n\n"
    "  portolan predict alltoall-summit --nodes 2:64\n"
    "  portolan predict alltoall-summit --bytes 64KiB --what-if 'injection.*=/1:/8'\n"
    "  portolan predict alltoall-summit --what-if 'injection.*=/2' --compare\n\n"
    "csv: one row per strategy and point, always with the same columns (docs/formats.md). Values that are\n"
    "unknown or do not apply are empty. With --explain one row per term.\n";

typedef struct {
    pto_options_t shared;
    const char *plot; /* NULL: not requested; both borrowed from argv */
    const char *measured;
    bool explain;
} predict_options_t;

static pto_status_t apply_energy(void *target, const char *text, pto_error_t *err) {
    (void)text;
    (void)err;
    ((pto_options_t *)target)->by = PTO_BY_ENERGY;
    return PTO_OK;
}

#define STORE(form, member) PTO_STORE(form, predict_options_t, member)

static const pto_option_t own_options[] = {
    {"explain", NULL, "break every price down into terms: stage, parameter, line of the machine file",
     STORE(FLAG, explain)},
    PTO_INTERVALS_OPTION,
    PTO_COLUMNS_OPTION,
    PTO_COMPARE_OPTION,
    PTO_BANDWIDTH_OPTION,
    {"energy", NULL, "energies by the machine file's powers, in addition to or instead of times",
     .apply = apply_energy},
    {"plot", "FILE.svg|png", "draw the prediction (needs gnuplot)", STORE(TEXT, plot)},
    {"measured", "FILE.csv", "measured collectives, drawn as points by --plot", STORE(TEXT, measured)},
    {.name = NULL}};

static const pto_syntax_t syntax =
    PTO_SCENARIO_SYNTAX("portolan predict", usage, PTO_NAMES_SCENARIOS, {"options", pto_format_options},
                        {NULL, own_options}, {NULL, pto_work_options});

static void print_csv_heading(void) {
    pto_print_csv_heading("seconds,low_s,high_s,chunks,joules,low_joules,high_joules,part,stage,"
                          "parameter,count,value,line,flagged");
}

static void print_csv_prices(const pto_predictions_t *predictions) {
    for (int64_t cell = 0; cell < predictions->point_count * predictions->strategy_count; cell++) {
        const pto_prediction_t *prediction = &predictions->prediction[cell];
        const pto_price_t *price = &prediction->price;
        const pto_energy_t *energy = &prediction->energy;
        bool applies = prediction->applicable;
        bool spends = applies && prediction->has_energy && predictions->by == PTO_BY_ENERGY;
        pto_print_csv_cell(predictions, cell);
        PTO_RECORD(
            stdout, PTO_FORMAT_CSV, pto_field_if(applies, pto_field_number("seconds", price->seconds)),
            pto_field_if(applies && price->has_interval, pto_field_number("low_s", price->low_s)),
            pto_field_if(applies && price->has_interval, pto_field_number("high_s", price->high_s)),
            pto_field_if(applies && prediction->chunks > 0, pto_field_count("chunks", prediction->chunks)),
            pto_field_if(spends, pto_field_number("joules", energy->joules)),
            pto_field_if(spends && energy->has_interval, pto_field_number("low_joules", energy->low_joules)),
            pto_field_if(spends && energy->has_interval,
                         pto_field_number("high_joules", energy->high_joules)));
        fputs(",,,,,,,", stdout); /* the columns of terms, from `part` to `flagged` */
        pto_print_csv_end(predictions, cell);
    }
}

static void print_json_terms(const pto_flags_t *flags, const pto_term_t *terms, int count) {
    printf(", \"terms\": [");
    for (int t = 0; t < count; t++) {
        const pto_term_t *term = &terms[t];
        const pto_param_t *param = term->param;
        const char *flagged = pto_flag_of(flags, param);
        PTO_OBJECT(stdout, t ? ", " : "", pto_field_text("stage", term->stage),
                   pto_field_text("parameter", term->key), pto_field_rounded("count", term->count, 17),
                   pto_field_or_null(param, pto_field_number("value", param ? param->value : 0)),
                   pto_field_or_null(param && param->line != PTO_LINE_WHAT_IF,
                                     pto_field_count("line", param ? param->line : 0)),
                   pto_field_number("seconds", param ? term->seconds : 0),
                   pto_field_if(flagged, pto_field_text("flagged", flagged)));
    }
    putchar(']');
}

/* The cost of setting up a strategy once, and after how many calls it is paid back against each other
 * strategy. Seconds are null if the machine file lacks a parameter, and calls if the setup never pays off. */
static void print_json_setup(const pto_predictions_t *predictions, const pto_flags_t *flags, int64_t cell) {
    const pto_prediction_t *prediction = &predictions->prediction[cell];
    int64_t point = cell / predictions->strategy_count;
    const char *between = "";
    double calls;
    printf(", \"setup\": {");
    PTO_RECORD(
        stdout, PTO_FORMAT_JSON,
        pto_field_or_null(prediction->setup->known, pto_field_number("seconds", prediction->setup->seconds)));
    print_json_terms(flags, prediction->setup->term, prediction->setup->term_count);
    printf(", \"paid_back\": [");
    for (int i = 0; i < predictions->strategy_count; i++) {
        if (!pto_payback(prediction, pto_prediction_at(predictions, point, i), &calls))
            continue;
        PTO_OBJECT(stdout, between, pto_field_text("against", predictions->strategy[i]->name),
                   pto_field_or_null(!isinf(calls), pto_field_number("calls", calls)));
        between = ", ";
    }
    printf("]}");
}

typedef struct {
    const pto_predictions_t *predictions;
    const pto_flags_t *flags; /* the machine file's doubtful parameters; NULL without --explain */
} printed_t;

/* Called by pto_print_json_cells for each strategy at each point; `context` is a printed_t. */
static void print_json_cell(int64_t cell, const void *context) {
    const printed_t *printed = context;
    const pto_prediction_t *prediction = &printed->predictions->prediction[cell];
    const pto_energy_t *energy = &prediction->energy;
    pto_print_json_price(printed->predictions, cell);
    if (printed->predictions->by == PTO_BY_ENERGY && prediction->has_energy)
        PTO_MORE(stdout, pto_field_number("joules", energy->joules),
                 pto_field_if(energy->has_interval, pto_field_number("low_joules", energy->low_joules)),
                 pto_field_if(energy->has_interval, pto_field_number("high_joules", energy->high_joules)));
    if (printed->flags) {
        print_json_terms(printed->flags, prediction->explanation.term, prediction->explanation.count);
        print_json_setup(printed->predictions, printed->flags, cell);
    }
}

static pto_status_t draw(const predict_options_t *options, const pto_predictions_t *predictions,
                         pto_error_t *err) {
    pto_predict_plot_t content = {.predictions = predictions, .measured = options->measured};
    pto_range_t *range = NULL;
    pto_plot_point_t *point = NULL;
    pto_status_t status = pto_pick(predictions, &range, &content.range_count, err);
    if (status == PTO_OK && options->measured)
        status = pto_plot_points_read(options->measured, predictions, &point, &content.point_count, err);
    if (status == PTO_OK) {
        content.range = range;
        content.point = point;
        pto_plot_t plot = pto_predict_plot(&content);
        status = pto_plot_draw(&plot, options->plot, err);
    }
    free(range);
    free(point);
    return status;
}

static int check_options(const pto_options_t *options) {
    const predict_options_t *own = (const predict_options_t *)options;
    if (own->measured && !own->plot)
        return pto_usage_error(&syntax, "--measured is drawn by --plot, which is not given");
    if (options->two_sweeps && options->format == PTO_FORMAT_TABLE &&
        (own->explain || options->ci || options->bandwidth))
        return pto_usage_error(&syntax, "--explain, --ci and --bandwidth are for tables of one sweep; csv "
                                        "and json have the intervals and terms of two");
    int code = pto_check_bandwidth(&syntax, options);
    if (code >= 0)
        return code;
    if (own->explain && options->bandwidth != PTO_BANDWIDTH_NONE)
        return pto_usage_error(&syntax, "--bandwidth and --explain exclude each other: terms are times");
    return pto_check_plot(&syntax, own->plot);
}

/* Print the prices in the format asked for; with --explain also terms, setups and flagged parameters. */
static pto_status_t print_prices(pto_options_t *options, pto_predictions_t *predictions, pto_error_t *err) {
    pto_flags_t found = {0};
    const pto_flags_t *flags = ((predict_options_t *)options)->explain ? &found : NULL;
    pto_status_t status = flags ? pto_predictions_find_setups(predictions, err) : PTO_OK;
    if (status == PTO_OK && flags)
        status = pto_machine_params(options->machine, &found.param, &found.count, err);
    if (status != PTO_OK)
        return status;
    if (options->format == PTO_FORMAT_JSON)
        pto_print_json_cells("predictions", predictions, print_json_cell, &(printed_t){predictions, flags});
    else if (options->format == PTO_FORMAT_CSV && flags)
        pto_print_explanations_csv(predictions, flags);
    else if (options->format == PTO_FORMAT_CSV)
        print_csv_prices(predictions);
    else if (flags)
        pto_print_explanations(predictions, flags);
    else
        pto_print_table("predict", predictions, options);
    free(found.param);
    return PTO_OK;
}

static pto_status_t run(pto_options_t *options, pto_error_t *err) {
    pto_predictions_t predictions;
    pto_status_t status = options->by == PTO_BY_TIME ? PTO_OK : pto_need_powers(options->machine, err);
    if (status == PTO_OK)
        status = pto_predict(&options->scenario, options->machine, true, &predictions, err);
    if (status == PTO_OK) {
        const predict_options_t *own = (predict_options_t *)options;
        if (own->plot) /* before `by` is set: plots show times, even if energies are printed */
            status = draw(own, &predictions, err);
        predictions.by = options->by;
        if (status == PTO_OK)
            status = pto_predictions_find_more_procs(&predictions, err);
        if (status == PTO_OK && options->format == PTO_FORMAT_CSV)
            print_csv_heading();
        if (status == PTO_OK)
            status = print_prices(options, &predictions, err);
        pto_predictions_fini(&predictions);
    }
    return status;
}

static pto_status_t print_run(pto_sweeps_run_t *run, pto_error_t *err) {
    return print_prices(run->options, &run->predictions, err);
}

static pto_status_t run_sweeps(const pto_arguments_t *arguments, pto_sweeps_t *sweeps, pto_error_t *err) {
    pto_status_t status = pto_sweeps_predict(sweeps, arguments, err);
    if (status != PTO_OK)
        return status;
    const pto_options_t *options = sweeps->run[0].options;
    const char *path = ((const predict_options_t *)options)->plot;
    if (path) {
        pto_plot_t plot = pto_sweeps_plot(sweeps);
        status = pto_plot_draw(&plot, path, err);
    }
    if (status == PTO_OK && options->format != PTO_FORMAT_TABLE)
        return pto_print_sweeps_runs(sweeps, print_csv_heading, print_run, err);
    if (status == PTO_OK)
        pto_print_sweeps(sweeps);
    return status;
}

const pto_command_t pto_command_predict = {.name = "predict",
                                           .summary =
                                               "print what each strategy would cost, and why (--explain)",
                                           .syntax = &syntax,
                                           .options_size = sizeof(predict_options_t),
                                           .on_scenario = run,
                                           .on_sweeps = run_sweeps,
                                           .check = check_options};
