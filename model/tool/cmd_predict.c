/* portolan predict: the price of every strategy at every point. */
#include <string.h>

#include "command.h"
#include "options.h"
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
    "csv: one row a strategy and point, `bytes,strategy,algorithm,seconds,low_s,high_s`; the first column is "
    "nodes or messages\n"
    "where these are swept; the interval is empty where the machine file has none, and all of it\n"
    "where a strategy does not apply.\n";

static int winner_at(const pto_predictions_t *predictions, int64_t point) {
    int winner = -1;
    for (int i = 0; i < predictions->strategy_count; i++) {
        const pto_prediction_t *prediction = pto_prediction_at(predictions, point, i);
        if (prediction->applicable &&
            (winner < 0 ||
             prediction->price.seconds < pto_prediction_at(predictions, point, winner)->price.seconds))
            winner = i;
    }
    return winner;
}

static void print_table(const pto_predictions_t *predictions) {
    static const char *const heading[] = {"Bytes", "Nodes", "Messages"};
    pto_print_header(stdout, "predict", predictions);
    printf("# %-10s", heading[predictions->sweep]);
    for (int i = 0; i < predictions->strategy_count; i++)
        printf(" %14s", predictions->strategy[i]->name);
    printf("   Cheapest (times in us)\n");
    for (int64_t point = 0; point < predictions->point_count; point++) {
        printf("%-12lld", (long long)predictions->point[point]);
        for (int i = 0; i < predictions->strategy_count; i++) {
            const pto_prediction_t *prediction = pto_prediction_at(predictions, point, i);
            if (prediction->applicable)
                printf(" %14.2f", prediction->price.seconds * 1e6);
            else
                printf(" %14s", "-");
        }
        int winner = winner_at(predictions, point);
        if (winner >= 0)
            printf("   %s (%s)", predictions->strategy[winner]->name,
                   pto_prediction_at(predictions, point, winner)->algorithm->name);
        putchar('\n');
    }
    pto_print_footer(stdout, predictions);
}

static void print_csv(const pto_predictions_t *predictions) {
    printf("%s,strategy,algorithm,seconds,low_s,high_s\n", pto_sweep_kind_name(predictions->sweep));
    for (int64_t point = 0; point < predictions->point_count; point++)
        for (int i = 0; i < predictions->strategy_count; i++) {
            const pto_prediction_t *prediction = pto_prediction_at(predictions, point, i);
            printf("%lld,%s,", (long long)predictions->point[point], predictions->strategy[i]->name);
            if (!prediction->applicable)
                printf(",,,\n");
            else if (prediction->price.has_interval)
                printf("%s,%.9g,%.9g,%.9g\n", prediction->algorithm->name, prediction->price.seconds,
                       prediction->price.low_s, prediction->price.high_s);
            else
                printf("%s,%.9g,,\n", prediction->algorithm->name, prediction->price.seconds);
        }
}

static void print_json_terms(const pto_explanation_t *explanation) {
    printf(", \"terms\": [");
    for (int t = 0; t < explanation->count; t++) {
        const pto_term_t *term = &explanation->term[t];
        printf("%s{\"stage\": ", t ? ", " : "");
        pto_print_json_string(stdout, term->stage);
        printf(", \"parameter\": \"%s\", \"count\": %.17g, ", term->key, term->count);
        if (term->param)
            printf("\"value\": %.9g, \"line\": %d, \"seconds\": %.9g}", term->param->value, term->param->line,
                   term->seconds);
        else
            printf("\"value\": null, \"line\": null, \"seconds\": 0}");
    }
    putchar(']');
}

static void print_json(const pto_predictions_t *predictions, bool explain) {
    printf("{\"machine\": ");
    pto_print_json_string(stdout, predictions->machine->name);
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
        if (explain)
            print_json_terms(&prediction->explanation);
        putchar('}');
    }
    printf("\n]}\n");
}

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void explain_term(const pto_term_t *term, double total_s, const char *file) {
    if (!term->param) {
        printf("  %12s         %-20s %12.6g x %s: not in the machine file, not priced\n", "-", term->stage,
               term->count, term->key);
        return;
    }
    printf("  %12.3f  %5.1f%% %-20s %12.6g x %s = %.4g  (%s:%d)\n", term->seconds * 1e6,
           100 * term->seconds / total_s, term->stage, term->count, term->key, term->param->value, file,
           term->param->line);
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
        }
}

static int run(int argc, char **argv) {
    pto_options_t options;
    int exit_code = pto_options_parse(argc, argv, PTO_OPTION_FORMAT | PTO_OPTION_EXPLAIN, usage, &options);
    if (exit_code >= 0)
        return exit_code;
    pto_error_t err = {0};
    pto_predictions_t predictions;
    if (pto_predict(&options.scenario, &options.machine, true, &predictions, &err) != PTO_OK) {
        exit_code = pto_report_error(&err);
    } else {
        if (options.format == PTO_FORMAT_CSV)
            print_csv(&predictions);
        else if (options.format == PTO_FORMAT_JSON)
            print_json(&predictions, options.explain);
        else if (options.explain)
            print_explanations(&predictions);
        else
            print_table(&predictions);
        pto_predictions_fini(&predictions);
        exit_code = pto_flush_output();
    }
    pto_options_fini(&options);
    return exit_code;
}

const pto_command_t pto_command_predict = {
    .name = "predict", .summary = "print what each strategy would cost, and why (--explain)", .run = run};
