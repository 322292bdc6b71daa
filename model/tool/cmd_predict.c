/* portolan predict: the price of every strategy at every point. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "options.h"
#include "plot_points.h"
#include "predict_plot.h"
#include "table.h"

static const char usage[] =
    "usage: portolan predict [SCENARIO.yaml] [OPTIONS]\n"
    "\n"
    "Prints what each strategy is predicted to cost, in microseconds, over the scenario's sizes (or nodes,\n"
    "or messages), and the cheapest at each. With enough options no scenario file is needed:\n"
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
    "--energy prints millijoules, priced with the powers of the machine file, and the strategy with the "
    "least; csv\n"
    "and json have them beside the times (`joules,low_joules,high_joules`), --explain where they go.\n"
    "\n"
    "csv: one row a strategy and point, `bytes,strategy,algorithm,seconds,low_s,high_s`; the first column is "
    "nodes or messages\n"
    "where these are swept; the interval is empty where the machine file has none, and all of it\n"
    "where a strategy does not apply.\n";

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
    printf("%s,strategy,algorithm,seconds,low_s,high_s%s\n", pto_sweep_kind_name(predictions->sweep),
           energy ? ",joules,low_joules,high_joules" : "");
    for (int64_t point = 0; point < predictions->point_count; point++)
        for (int i = 0; i < predictions->strategy_count; i++) {
            const pto_prediction_t *prediction = pto_prediction_at(predictions, point, i);
            printf("%lld,%s,", (long long)predictions->point[point], predictions->strategy[i]->name);
            if (!prediction->applicable)
                printf(",,,");
            else if (prediction->price.has_interval)
                printf("%s,%.9g,%.9g,%.9g", prediction->algorithm->name, prediction->price.seconds,
                       prediction->price.low_s, prediction->price.high_s);
            else
                printf("%s,%.9g,,", prediction->algorithm->name, prediction->price.seconds);
            if (energy)
                print_csv_energy(prediction);
            putchar('\n');
        }
}

/* A what-if stands in no line. */
static const char *line_text(const pto_param_t *param, char *text, size_t text_size) {
    if (param->line == PTO_LINE_WHAT_IF)
        return "null";
    snprintf(text, text_size, "%d", param->line);
    return text;
}

static void print_json_terms(const pto_term_t *terms, int count) {
    char line[16];
    printf(", \"terms\": [");
    for (int t = 0; t < count; t++) {
        const pto_term_t *term = &terms[t];
        printf("%s{\"stage\": ", t ? ", " : "");
        pto_print_json_string(stdout, term->stage);
        printf(", \"parameter\": \"%s\", \"count\": %.17g, ", term->key, term->count);
        if (term->param)
            printf("\"value\": %.9g, \"line\": %s, \"seconds\": %.9g}", term->param->value,
                   line_text(term->param, line, sizeof line), term->seconds);
        else
            printf("\"value\": null, \"line\": null, \"seconds\": 0}");
    }
    putchar(']');
}

/* Seconds are null where the machine file lacks what the terms of null value name; so are calls that never
 * come. */
static void print_json_setup(const pto_predictions_t *predictions, int64_t cell) {
    const pto_prediction_t *own = &predictions->prediction[cell];
    int64_t point = cell / predictions->strategy_count;
    const char *between = "";
    double calls;
    printf(", \"setup\": {\"seconds\": ");
    printf(own->setup.known ? "%.9g" : "null", own->setup.seconds);
    print_json_terms(own->setup.term, own->setup.term_count);
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

static void print_json(const pto_predictions_t *predictions, bool explain) {
    printf("{\"machine\": ");
    pto_print_json_string(stdout, predictions->machine->name);
    pto_print_changes_json(stdout, predictions->machine);
    printf(", \"collective\": \"%s\", \"predictions\": [",
           pto_collective_name(predictions->scenario->collective));
    int64_t cells = predictions->point_count * predictions->strategy_count;
    for (int64_t cell = 0; cell < cells; cell++) {
        const pto_prediction_t *prediction = &predictions->prediction[cell];
        printf("%s\n  {\"%s\": %lld, \"strategy\": \"%s\", ", cell ? "," : "",
               pto_sweep_kind_name(predictions->sweep),
               (long long)predictions->point[cell / predictions->strategy_count],
               predictions->strategy[cell % predictions->strategy_count]->name);
        if (!prediction->applicable) {
            printf("\"reason\": ");
            pto_print_json_string(stdout, prediction->reason);
            putchar('}');
            continue;
        }
        printf("\"algorithm\": \"%s\", \"seconds\": %.9g", prediction->algorithm->name,
               prediction->price.seconds);
        if (prediction->price.has_interval)
            printf(", \"low_s\": %.9g, \"high_s\": %.9g", prediction->price.low_s, prediction->price.high_s);
        if (predictions->by == PTO_BY_ENERGY && prediction->has_energy)
            print_json_energy(&prediction->energy);
        if (explain) {
            print_json_terms(prediction->explanation.term, prediction->explanation.count);
            print_json_setup(predictions, cell);
        }
        putchar('}');
    }
    printf("\n]}\n");
}

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void print_place(const pto_param_t *param, const char *file) {
    if (param->line == PTO_LINE_WHAT_IF)
        printf("(what if)\n");
    else
        printf("(%s:%d)\n", file, param->line);
}

static void explain_term(const pto_term_t *term, double total_s, const char *file) {
    if (!term->param) {
        printf("  %12s         %-20s %12.6g x %s: not in the machine file, not priced\n", "-", term->stage,
               term->count, term->key);
        return;
    }
    printf("  %12.3f  %5.1f%% %-20s %12.6g x %s = %.4g  ", term->seconds * 1e6, 100 * term->seconds / total_s,
           term->stage, term->count, term->key, term->param->value);
    print_place(term->param, file);
}

static void explain_energy(const pto_prediction_t *prediction, const char *file) {
    const pto_energy_t *energy = &prediction->energy;
    if (!prediction->has_energy) {
        printf("  energy not known: %s\n", prediction->reason);
        return;
    }
    printf("  energy %.3f mJ\n", energy->joules * 1e3);
    for (int power = 0; power < PTO_POWER_COUNT; power++) {
        const pto_energy_part_t *part = &energy->part[power];
        if (!part->param && part->device_s > 0)
            printf("  %12s         %-20s %12.6g x %s: not in the machine file, not counted\n", "-",
                   "device seconds", part->device_s, part->key);
        if (!part->param || part->device_s == 0)
            continue;
        printf("  %12.3f  %5.1f%% %-20s %12.6g x %s = %.4g  ", part->joules * 1e3,
               100 * part->joules / energy->joules, "device seconds", part->device_s, part->key,
               part->param->value);
        print_place(part->param, file);
    }
}

static void explain_missing_setup(const pto_setup_t *setup) {
    const char *between = "";
    printf("  setup not priced: not in the machine file: ");
    for (int t = 0; t < setup->term_count; t++)
        if (!setup->term[t].param) {
            printf("%s%s", between, setup->term[t].key);
            between = ", ";
        }
    putchar('\n');
}

/* Against each strategy that needs less setup. */
static void explain_payback(const pto_predictions_t *predictions, int64_t point,
                            const pto_prediction_t *own) {
    const char *opening = "  paid back ";
    double calls;
    for (int i = 0; i < predictions->strategy_count; i++) {
        if (!pto_payback(own, pto_prediction_at(predictions, point, i), &calls))
            continue;
        if (isinf(calls))
            printf("%snever against %s", opening, predictions->strategy[i]->name);
        else
            printf("%sfrom %.0f %s on against %s", opening, calls, calls > 1 ? "calls" : "call",
                   predictions->strategy[i]->name);
        opening = ", ";
    }
    fputs(*opening == ',' ? "\n" : "", stdout);
}

static void explain_setup(const pto_predictions_t *predictions, int64_t point, int strategy) {
    const pto_prediction_t *own = pto_prediction_at(predictions, point, strategy);
    const pto_setup_t *setup = &own->setup;
    if (!setup->known) {
        explain_missing_setup(setup);
        return;
    }
    if (setup->term_count == 0) {
        printf("  setup none\n");
        return;
    }
    printf("  setup %.3f us, once\n", setup->seconds * 1e6);
    for (int t = 0; t < setup->term_count; t++)
        explain_term(&setup->term[t], setup->seconds, file_name(predictions->machine->path));
    explain_payback(predictions, point, own);
}

static void print_explanations(const pto_predictions_t *predictions) {
    pto_print_header(stdout, "predict --explain", predictions);
    printf("# each price along its longest path: microseconds, share, stage, how often which parameter, and "
           "where "
           "that stands\n");
    for (int64_t point = 0; point < predictions->point_count; point++)
        for (int i = 0; i < predictions->strategy_count; i++) {
            const pto_prediction_t *prediction = pto_prediction_at(predictions, point, i);
            printf("\n%s %lld: %s", pto_sweep_kind_name(predictions->sweep),
                   (long long)predictions->point[point], predictions->strategy[i]->name);
            if (!prediction->applicable) {
                printf(" does not apply: %s\n", prediction->reason);
                continue;
            }
            printf(" (%s), %.3f us\n", prediction->algorithm->name, prediction->price.seconds * 1e6);
            for (int t = 0; t < prediction->explanation.count; t++)
                explain_term(&prediction->explanation.term[t], prediction->price.seconds,
                             file_name(predictions->machine->path));
            if (predictions->by == PTO_BY_ENERGY)
                explain_energy(prediction, file_name(predictions->machine->path));
            explain_setup(predictions, point, i);
        }
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

static void print(const pto_options_t *options, const pto_predictions_t *predictions) {
    if (options->format == PTO_FORMAT_CSV)
        print_csv(predictions);
    else if (options->format == PTO_FORMAT_JSON)
        print_json(predictions, options->explain);
    else if (options->explain)
        print_explanations(predictions);
    else
        pto_print_table(stdout, "predict", predictions);
}

static int run(int argc, char **argv) {
    pto_options_t options;
    int exit_code = pto_options_parse(
        argc, argv, PTO_OPTION_FORMAT | PTO_OPTION_EXPLAIN | PTO_OPTION_ENERGY | PTO_OPTION_PLOT, usage,
        &options);
    if (exit_code >= 0)
        return exit_code;
    if (options.measured && !options.plot) {
        fputs("portolan: --measured is drawn by --plot, which is not given\n", stderr);
        pto_options_fini(&options);
        return PTO_EXIT_USAGE;
    }
    pto_error_t err = {0};
    pto_predictions_t predictions;
    pto_status_t status = options.by == PTO_BY_TIME ? PTO_OK : pto_need_powers(&options.machine, &err);
    if (status == PTO_OK)
        status = pto_predict(&options.scenario, &options.machine, true, &predictions, &err);
    if (status == PTO_OK) {
        if (options.plot) /* times, whatever is printed */
            status = draw(&options, &predictions, &err);
        predictions.by = options.by;
        if (status == PTO_OK)
            print(&options, &predictions);
        pto_predictions_fini(&predictions);
    }
    exit_code = status == PTO_OK ? pto_flush_output() : pto_report_error(&err);
    if (status == PTO_ERR_TYPE && err.line == 0)
        exit_code = PTO_EXIT_USAGE; /* --plot names no kind of file that can be drawn */
    pto_options_fini(&options);
    return exit_code;
}

const pto_command_t pto_command_predict = {
    .name = "predict", .summary = "print what each strategy would cost, and why (--explain)", .run = run};
