/* portolan report: a page to explore predictions in, in one file. */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "portolan/version.h"
#include "report.h"
#include "scenario/check.h"
#include "table.h"

static const char usage[] =
    "usage: portolan report [SCENARIO.yaml] --out REPORT.html [OPTIONS]\n"
    "\n"
    "Writes a page for a browser: which strategy is the cheapest at which size on how many nodes, each\n"
    "strategy's time with its interval, where every number is from, and sliders for the parameters that\n"
    "matter. The page is one file without references to others; it computes what the sliders change as\n"
    "predict --what-if would.\n"
    "\n"
    "  portolan report scenarios/problems/alltoall-summit-measured.yaml --out report.html\n"
    "  portolan report --machine h200-x4 --collective allreduce --nodes 1 --bytes 1KiB:64MiB --out a.html\n"
    "\n"
    "--rows names the numbers of nodes to compare; by default a quarter to four times those of the "
    "scenario.\n";

/* First, because the options shared by all commands are applied to it. */
typedef struct {
    pto_options_t shared;
    pto_series_t rows; /* numbers of nodes; none: some around the scenario's */
    int sliders;
    const pto_arguments_t *given;
} arguments_t;

#define STORE(form, member) PTO_STORE(form, arguments_t, member)

static pto_status_t apply_rows(void *target, const char *text, pto_error_t *err) {
    return pto_nodes_parse(text, &((arguments_t *)target)->rows, err);
}

static const pto_option_t report_options[] = {
    {"out", "FILE.html", "the page to write", STORE(TEXT, shared.out)},
    {"force", NULL, "replace a file that exists", STORE(FLAG, shared.force)},
    {"rows", "FROM:TO[:FACTOR]|N[,N...]", "numbers of nodes to compare", .apply = apply_rows},
    {"sliders", "N", "how many parameters have a slider: those that matter most", STORE(INT, sliders),
     .most = PTO_REPORT_SLIDERS_MAX, .standard = "8"},
    {"measured", "FILE.csv", "show the measurements of a collectives.csv with the scenario's layout",
     STORE(TEXT, shared.measured)},
    {.name = NULL}};

static const pto_option_set_t option_sets[] = {
    {"options", report_options}, {NULL, pto_work_options}, PTO_SCENARIO_SETS};

static const pto_syntax_t syntax = {
    .program = "portolan report", .usage = usage, .set = option_sets, .operand = "*.yaml"};

/* --- rows ----------------------------------------------------------------------------------------------- */

/* Whether another number of nodes asks the same question. */
static bool has_rows(const pto_scenario_t *scenario) {
    return pto_scenario_sweep(scenario) != PTO_SWEEP_NODES && scenario->collective != PTO_COLLECTIVE_PAIR &&
           scenario->collective != PTO_COLLECTIVE_HALO && scenario->mapping.count == 0 &&
           pto_counts_order(&scenario->counts) == 0;
}

static pto_status_t choose_rows(const pto_scenario_t *scenario, arguments_t *arguments, pto_error_t *err) {
    pto_series_t *rows = &arguments->rows;
    int64_t nodes = scenario->layout.nodes, from = nodes;
    if (!has_rows(scenario) && rows->count > 0)
        return pto_error_set(err, PTO_ERR_RANGE, "--rows: this scenario is for its own number of nodes");
    if (rows->count > 0)
        return PTO_OK;
    if (!has_rows(scenario) || nodes == 1)
        return pto_series_range(nodes, nodes, 2, rows, err);
    for (int i = 0; i < 2 && from % 2 == 0 && from > 2; i++)
        from /= 2;
    return pto_series_range(from, 4 * nodes, 2, rows, err);
}

/* The scenario on another number of nodes. */
static pto_status_t move_to(pto_scenario_t *scenario, int64_t nodes, pto_error_t *err) {
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

/* A number of nodes that does not apply is a row with a reason. */
static bool is_reason(pto_status_t status) {
    return status == PTO_ERR_NOT_APPLICABLE || status == PTO_ERR_RANGE || status == PTO_ERR_TOO_LARGE;
}

static pto_status_t print_row(pto_report_t *report, arguments_t *arguments, int64_t nodes,
                              size_t *measured_count, pto_error_t *err) {
    pto_options_t *options = &arguments->shared;
    pto_predictions_t predictions;
    pto_plot_point_t *point = NULL;
    size_t point_count = 0;
    pto_error_t reason = {0};
    pto_status_t status = move_to(&options->scenario, nodes, &reason);
    if (status == PTO_OK)
        status = pto_predict(&options->scenario, options->machine, true, &predictions, &reason);
    fprintf(report->stream, "{\"nodes\":%lld,", (long long)nodes);
    if (status != PTO_OK) {
        fputs("\"reason\":", report->stream);
        pto_print_json_string(report->stream, reason.message);
        fputc('}', report->stream);
        if (!is_reason(status) && err)
            *err = reason;
        return is_reason(status) ? PTO_OK : status;
    }
    if (options->measured)
        status = pto_plot_points_read(options->measured, &predictions, &point, &point_count, err);
    if (status == PTO_OK || status == PTO_ERR_NOT_FOUND)
        status = pto_report_row(report, &predictions, point, point_count, err);
    *measured_count += point_count;
    fputc('}', report->stream);
    free(point);
    pto_predictions_fini(&predictions);
    return status;
}

/* --- the panel ------------------------------------------------------------------------------------------ */

static void print_points(FILE *stream, const pto_predictions_t *predictions) {
    fprintf(stream, "\"x\":\"%s\",\"values\":[", pto_sweep_kind_name(predictions->sweep));
    for (int64_t i = 0; i < predictions->point_count; i++)
        fprintf(stream, "%s%lld", i > 0 ? "," : "", (long long)predictions->point[i]);
    fputs("],\n", stream);
}

static pto_status_t print_panel(pto_report_t *report, arguments_t *arguments, pto_error_t *err) {
    pto_scenario_t *scenario = &arguments->shared.scenario;
    const int64_t own = scenario->layout.nodes;
    size_t measured_count = 0;
    pto_predictions_t predictions;
    pto_status_t status = pto_predict(scenario, arguments->shared.machine, true, &predictions, err);
    if (status != PTO_OK)
        return status;
    status = pto_report_choose_sliders(report, &predictions, arguments->sliders, err);
    fprintf(report->stream, "{\"title\":\"%s\",\"own\":%lld,", pto_collective_name(scenario->collective),
            (long long)own);
    print_points(report->stream, &predictions);
    pto_predictions_fini(&predictions);
    fputs("\"rows\":[", report->stream);
    for (int64_t i = 0; i < arguments->rows.count && status == PTO_OK; i++) {
        fputs(i > 0 ? ",\n" : "\n", report->stream);
        status = print_row(report, arguments, arguments->rows.value[i], &measured_count, err);
    }
    fputs("]}", report->stream);
    if (status == PTO_OK && arguments->shared.measured && measured_count == 0)
        status = pto_error_set(err, PTO_ERR_NOT_FOUND,
                               "%s holds no measurement of this collective, layout and sizes",
                               arguments->shared.measured);
    return status == PTO_OK ? move_to(scenario, own, err) : status;
}

static void print_text(FILE *stream, const char *key, const char *text) {
    fprintf(stream, ",\n\"%s\":", key);
    if (text)
        pto_print_json_string(stream, text);
    else
        fputs("null", stream);
}

static void print_question(FILE *stream, const pto_options_t *options) {
    const pto_scenario_t *scenario = &options->scenario;
    const pto_layout_t *layout = &scenario->layout;
    const pto_machine_t *machine = options->machine;
    fprintf(stream, "{\"version\":\"%s\"", PTO_VERSION_TEXT);
    print_text(stream, "title", scenario->name);
    print_text(stream, "scenario", scenario->path);
    print_text(stream, "machine", pto_machine_name(machine));
    print_text(stream, "file", pto_machine_path(machine));
    print_text(stream, "source", pto_machine_source(machine));
    print_text(stream, "model", pto_machine_model(machine));
    print_text(stream, "what_if", pto_machine_what_if(machine));
    fprintf(stream, ",\n\"collective\":\"%s\",\"gpus_per_node\":%lld,\"procs_per_gpu\":%lld",
            pto_collective_name(scenario->collective), (long long)layout->gpus_per_node,
            (long long)layout->procs_per_gpu);
}

/* The command whose prices the page shows. */
static void print_command(FILE *stream, const pto_arguments_t *given) {
    fputs(",\n\"command\":[\"predict\"", stream);
    for (int i = 0; i < given->operand_count; i++) {
        fputc(',', stream);
        pto_print_json_string(stream, given->operand[i]);
    }
    for (int i = 0; i < given->given_count; i++) {
        const pto_given_t *option = &given->given[i];
        bool own = false;
        for (const pto_option_t *ours = report_options; ours->name; ours++)
            own = own || ours == option->option;
        if (own)
            continue;
        fprintf(stream, ",\"--%s\"", option->option->name);
        if (option->text) {
            fputc(',', stream);
            pto_print_json_string(stream, option->text);
        }
    }
    fputc(']', stream);
}

static pto_status_t print_data(arguments_t *arguments, FILE *stream, pto_error_t *err) {
    pto_report_t report = {.stream = stream, .machine = arguments->shared.machine};
    print_question(stream, &arguments->shared);
    print_command(stream, arguments->given);
    fputs(",\n\"panels\":[", stream);
    pto_status_t status = print_panel(&report, arguments, err);
    fputs("]", stream);
    if (status == PTO_OK)
        status = pto_report_tables(&report, err);
    fputs("}", stream);
    pto_report_fini(&report);
    return status;
}

/* --- the command ---------------------------------------------------------------------------------------- */

static pto_status_t write_page(void *context, FILE *stream, pto_error_t *err) {
    (void)err;
    pto_report_page(stream, context);
    return PTO_OK;
}

static pto_status_t make(arguments_t *arguments, pto_error_t *err) {
    enum { PRICES = 400 }; /* of a cell: its formulas, and what the sensitivity asks for */
    char *json = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&json, &size);
    if (!stream)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a report");
    pto_options_t *options = &arguments->shared;
    pto_status_t status = choose_rows(&options->scenario, arguments, err);
    if (status == PTO_OK)
        status = pto_check_work(&options->scenario, options->machine, PRICES, NULL, err);
    if (status == PTO_OK)
        status = print_data(arguments, stream, err);
    bool complete = fclose(stream) == 0;
    if (status == PTO_OK && !complete)
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a report");
    if (status == PTO_OK)
        status = pto_options_write(options, write_page, json, err);
    free(json);
    return status;
}

static int run(const pto_arguments_t *given) {
    arguments_t arguments = {.given = given};
    pto_error_t err = {0};
    int code = pto_options_finish(given, &arguments.shared);
    if (code >= 0)
        return code;
    code = arguments.shared.out ? PTO_EXIT_OK : pto_usage_error(&syntax, "no page to write is named (--out)");
    if (code == PTO_EXIT_OK)
        code = make(&arguments, &err) == PTO_OK ? pto_flush_output() : pto_report_error(&err);
    pto_series_fini(&arguments.rows);
    pto_options_fini(&arguments.shared);
    return code;
}

const pto_command_t pto_command_report = {.name = "report",
                                          .summary = "write a page to explore predictions in, in one file",
                                          .syntax = &syntax,
                                          .run = run};
