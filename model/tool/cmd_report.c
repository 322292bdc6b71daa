/* portolan report: writes an HTML page with the predictions of a scenario, of a workload or of measured
 * collectives. This file reads the options and writes the page's data as one JSON object: the question, and
 * the panels, which are the parts of the page. report/ writes each panel, and then the page around the JSON.
 */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/text.h"
#include "command.h"
#include "command_line/workload_options.h"
#include "portolan/api.h"
#include "report/report.h"
#include "show/step_table.h"
#include "show/table.h"

static const char usage[] =
    "usage: portolan report [SCENARIO.yaml | WORKLOAD.yaml] --out REPORT.html [OPTIONS]\n"
    "       portolan report --machine MACHINE COLLECTIVES.csv [MORE.csv ...] --out REPORT.html\n\n"
    "Writes a page for a browser: which strategy is the cheapest at which size on how many nodes, each\n"
    "strategy's time with its interval, where every number is from, and sliders for the parameters that\n"
    "matter. The page is one file without references to others; it computes what the sliders change as\n"
    "predict --what-if would.\n\n"
    "  portolan report alltoall-summit-measured --out report.html\n"
    "  portolan report --machine h200-x4 --collective allreduce --nodes 1 --bytes 1KiB:64MiB --out a.html\n\n"
    "With measured collectives instead of a scenario, each collective and layout in them is a part of the\n"
    "page that has the measurements beside the predictions:\n\n"
    "  portolan report --machine h200-x4 validate/results/h200-x4/collectives.csv --out measured.html\n\n"
    "With a workload, the calls of its step:\n\n"
    "  portolan report llm-training --out step.html\n\n"
    "--rows names the numbers of nodes to compare; by default a quarter to four times those of the\n"
    "scenario.\n";

typedef struct {
    pto_options_t shared; /* must be first: the shared options are stored at its offsets */
    pto_series_t rows;    /* numbers of nodes; empty: some around the scenario's */
    int sliders;
    const char *measured; /* borrowed from argv; NULL: not given */
    const pto_arguments_t *given;
    /* What the page is about; both NULL: the scenario. */
    const pto_collectives_t *collectives;
    const pto_step_prediction_t *step;
    char *note; /* which strategies are left out; NULL: none */
} arguments_t;

#define STORE(form, member) PTO_STORE(form, arguments_t, member)

static const pto_option_t report_options[] = {
    {"out", "FILE.html", "the page to write, - for standard output; -o for short, as wherever --out is",
     STORE(TEXT, shared.out)},
    {"force", NULL, "replace a file that exists", STORE(FLAG, shared.force)},
    {"rows", "FROM:TO[:FACTOR]|N", "numbers of nodes to compare", STORE(OWN, rows),
     .apply = pto_apply_count_series},
    {"sliders", "N", "how many parameters have a slider: those that matter most", STORE(INT, sliders),
     .most = PTO_REPORT_SLIDERS_MAX, .standard = "8"},
    {"measured", "FILE.csv", "show the measurements of a collectives.csv with the scenario's layout",
     STORE(TEXT, measured)},
    {.name = NULL}};

static const pto_syntax_t syntax =
    PTO_SCENARIO_SYNTAX("portolan report", usage, PTO_NAMES_SCENARIOS | PTO_NAMES_WORKLOADS,
                        {"options", report_options}, {NULL, pto_work_options});

static void print_text(FILE *stream, const char *key, const char *text) {
    fprintf(stream, ",\n\"%s\":", key);
    pto_print_json_string(stream, text);
}

static void print_question(FILE *stream, const arguments_t *arguments) {
    const pto_options_t *options = &arguments->shared;
    const pto_scenario_t *scenario = &options->scenario;
    const pto_layout_t *layout = &scenario->layout;
    const pto_machine_t *machine = options->machine;
    fprintf(stream, "{\"version\":\"%s\"", PTO_VERSION_TEXT);
    const char *title = arguments->step ? arguments->step->workload->name : scenario->name;
    print_text(stream, "title", arguments->collectives ? "measured and predicted" : title);
    print_text(stream, "machine", pto_machine_name(machine));
    print_text(stream, "file", pto_machine_path(machine));
    print_text(stream, "source", pto_machine_source(machine));
    print_text(stream, "model", pto_machine_model(machine));
    print_text(stream, "what_if", pto_machine_what_if(machine));
    if (arguments->collectives || arguments->step)
        return;
    fprintf(stream, ",\n\"collective\":\"%s\",\"in_host\":%s,\"gpus_per_node\":%lld,\"procs_per_gpu\":%lld",
            pto_collective_name(scenario->collective), layout->in_host ? "true" : "false",
            (long long)layout->gpus_per_node, (long long)layout->procs_per_gpu);
}

/* The command line that prints the same prices: `command` with the options that `report` lacks. */
static void print_command(FILE *stream, const pto_arguments_t *given, const char *command) {
    fprintf(stream, ",\n\"command\":[\"%s\"", command);
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

/* Read the measurements of --measured, whose path is the `context`, for a panel. */
static pto_status_t read_points(void *context, const pto_predictions_t *predictions, pto_plot_point_t **point,
                                size_t *point_count, pto_error_t *err) {
    return pto_plot_points_read(context, predictions, point, point_count, err);
}

static pto_status_t print_panels(pto_report_t *report, arguments_t *arguments, pto_error_t *err) {
    if (arguments->collectives)
        return pto_report_score(report, arguments->collectives, arguments->sliders, err);
    if (arguments->step)
        return pto_report_step(report, arguments->step, arguments->sliders, err);
    pto_options_t *options = &arguments->shared;
    pto_report_panel_t panel = {.scenario = &options->scenario,
                                .title = pto_collective_name(options->scenario.collective),
                                .rows = &arguments->rows,
                                .sliders = arguments->sliders,
                                .points = arguments->measured ? read_points : NULL,
                                .context = (void *)arguments->measured};
    return pto_report_panel(report, &panel, err);
}

/* Print the notes of the page, either of which may be NULL. `hint` begins with a lower-case "hint:". */
static void print_notes(FILE *stream, const char *note, const char *hint) {
    char sentence[PTO_MORE_PROCS_TEXT_MAX + 2];
    if (!note && !hint)
        return;
    fputs(",\n\"notes\":[", stream);
    if (note)
        pto_print_json_string(stream, note);
    fputs(note && hint ? "," : "", stream);
    if (hint) {
        snprintf(sentence, sizeof sentence, "%s.", hint);
        sentence[0] = 'H';
        pto_print_json_string(stream, sentence);
    }
    fputc(']', stream);
}

static void print_step(FILE *stream, const arguments_t *arguments) {
    char origin[PTO_STEP_COMPUTE_TEXT_MAX], note[PTO_STEP_COMPUTE_TEXT_MAX + 32],
        hint[PTO_MORE_PROCS_TEXT_MAX];
    pto_report_step_total(stream, arguments->step);
    const bool computes = pto_step_compute_text(arguments->step, &arguments->shared, origin) != NULL;
    if (computes)
        snprintf(note, sizeof note, "Computation: %s.", origin);
    print_notes(stream, computes ? note : NULL, pto_step_more_procs_text(arguments->step, true, hint));
}

static pto_status_t print_data(arguments_t *arguments, FILE *stream, pto_error_t *err) {
    pto_report_t report = {.stream = stream, .machine = arguments->shared.machine};
    const char *of_question = arguments->step ? "step" : "predict";
    print_question(stream, arguments);
    print_command(stream, arguments->given, arguments->collectives ? "score" : of_question);
    if (arguments->collectives)
        pto_report_fitted(stream, report.machine, arguments->collectives);
    if (arguments->step)
        print_step(stream, arguments);
    fputs(",\n\"panels\":[", stream);
    pto_status_t status = print_panels(&report, arguments, err);
    fputs("]", stream);
    print_notes(stream, arguments->note, *report.hint ? report.hint : NULL);
    if (status == PTO_OK)
        status = pto_report_tables(&report, err);
    fputs("}", stream);
    pto_report_fini(&report);
    return status;
}

/* The work of pricing a strategy at all points. */
static int64_t strategy_work(const pto_options_t *options, const pto_strategy_t *strategy) {
    int64_t work = 0;
    for (int64_t point = 0; point < pto_scenario_points(&options->scenario); point++)
        if (!pto_add(work, pto_cell_work(&options->scenario, options->machine, point, strategy), &work))
            return INT64_MAX;
    return work;
}

/* Whether strategy i is kept: its work, with that of all strategies that are kept before it, is within the
 * limit. Those with less work are kept first, and of those with the same work the last ones. */
static bool is_kept(const int64_t *work, int count, int i, int64_t limit) {
    int64_t sum = 0;
    for (int j = 0; j < count; j++) {
        const bool comes_first = work[j] < work[i] || (j >= i && work[j] == work[i]);
        if (comes_first && !pto_add(sum, work[j], &sum))
            return false;
    }
    return sum <= limit;
}

/* Select the strategies that are kept, and name the dropped ones in `*note`. Each is priced `times` times. */
static pto_status_t select_rest(pto_options_t *options, const pto_strategy_t **strategy, const int64_t *work,
                                int count, int64_t times, char **note, pto_error_t *err) {
    const int64_t limit = pto_scenario_work_limit(&options->scenario);
    pto_text_t kept = {.text = NULL}, dropped = {.text = NULL};
    for (int i = 0; i < count; i++)
        if (is_kept(work, count, i, limit / times))
            pto_text_add(&kept, "%s%s", kept.length > 0 ? "," : "", strategy[i]->name);
        else
            pto_text_add(&dropped, "%s%s (%lld)",
                         dropped.length > 0 ? ", " : "Left out as too large: ", strategy[i]->name,
                         (long long)work[i]);
    pto_text_add(&dropped,
                 ". In parentheses: the messages or copies that pricing takes one by one, %lld times; the "
                 "limit is %lld for all (--limit).",
                 (long long)times, (long long)limit);
    pto_status_t status = kept.out_of_memory || dropped.out_of_memory
                              ? pto_error_set(err, PTO_ERR_MEMORY, "out of memory")
                              : PTO_OK;
    options->has_strategies = false;
    if (status == PTO_OK)
        status = pto_option_apply_strategy(options, kept.text, err);
    free(kept.text);
    *note = dropped.text;
    return status;
}

/* Remove from the scenario the strategies with the most work, if pricing all of them `times` times is above
 * the limit. `*note` names them and the reason; the caller frees it, and it is NULL if none is removed.
 * Errors: those of pto_check_work, if no strategy would be left. */
static pto_status_t leave_out(pto_options_t *options, int64_t times, char **note, pto_error_t *err) {
    const pto_strategy_t **strategy = NULL;
    int count = 0;
    *note = NULL;
    pto_status_t status = pto_check_work(&options->scenario, options->machine, times, NULL, err);
    if (status != PTO_ERR_TOO_LARGE ||
        pto_scenario_strategies(&options->scenario, &strategy, &count, NULL) != PTO_OK)
        return status;
    int64_t *work = calloc((size_t)count, sizeof *work);
    for (int i = 0; work && i < count; i++)
        work[i] = strategy_work(options, strategy[i]);
    bool any = false;
    for (int i = 0; work && i < count; i++)
        any = any || is_kept(work, count, i, pto_scenario_work_limit(&options->scenario) / times);
    if (any)
        status = select_rest(options, strategy, work, count, times, note, err);
    free(work);
    free(strategy);
    return status;
}

static pto_status_t write_page(void *context, FILE *stream, pto_error_t *err) {
    (void)err;
    pto_report_page(stream, context);
    return PTO_OK;
}

/* Write the page. If only strategies that leave_out removed would apply, the error is the one of leave_out.
 */
static pto_status_t make(arguments_t *arguments, pto_error_t *err) {
    enum { PRICES = 400 }; /* of each strategy at each point, for its formulas and the sensitivity */
    char *json = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&json, &size);
    if (!stream)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a report");
    pto_options_t *options = &arguments->shared;
    pto_error_t too_large = {.status = PTO_OK};
    pto_status_t status = PTO_OK;
    bool of_scenario = !arguments->collectives && !arguments->step;
    if (of_scenario)
        status = pto_report_rows(&options->scenario, &arguments->rows, err);
    options->by_option = status == PTO_ERR_RANGE; /* by --rows */
    if (status == PTO_OK && of_scenario)
        status = leave_out(options, PRICES, &arguments->note, &too_large);
    if (too_large.status != PTO_OK)
        *err = too_large;
    if (status == PTO_OK)
        status = print_data(arguments, stream, err);
    if (status == PTO_ERR_NOT_APPLICABLE && arguments->note) {
        *err = too_large;
        status = too_large.status;
    }
    bool complete = fclose(stream) == 0;
    if (status == PTO_OK && !complete)
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a report");
    if (status == PTO_OK)
        status = pto_options_write(options, write_page, json, err);
    free(json);
    return status;
}

static int make_page(arguments_t *arguments) {
    pto_error_t err = {0};
    return make(arguments, &err) == PTO_OK ? pto_flush_output() : pto_options_fail(&arguments->shared, &err);
}

static int report_measured(arguments_t *arguments) {
    const pto_arguments_t *given = arguments->given;
    pto_collectives_t collectives = {0};
    pto_error_t err = {0};
    int code = pto_options_machine(given, &arguments->shared);
    for (int i = 0; i < given->operand_count && code < 0; i++)
        if (pto_collectives_read(given->operand[i], &collectives, &err) != PTO_OK)
            code = pto_report_error(&err);
    arguments->collectives = &collectives;
    if (code < 0)
        code = make_page(arguments);
    arguments->collectives = NULL;
    pto_collectives_fini(&collectives);
    return code;
}

static int report_step(arguments_t *arguments) {
    pto_workload_t workload;
    pto_step_prediction_t step = {0};
    pto_error_t err = {0};
    pto_scenario_init(&arguments->shared.scenario);
    int code = pto_options_apply(arguments->given, arguments);
    if (code < 0 && pto_workload_read(arguments->given->operand[0], &workload, &err) != PTO_OK)
        code = pto_report_error(&err);
    if (code >= 0)
        return code;
    if (pto_step_open(&arguments->shared, &workload, &step, &err) == PTO_OK) {
        arguments->step = &step;
        code = make_page(arguments);
        arguments->step = NULL;
        pto_step_fini(&step);
    } else {
        code = pto_options_fail(&arguments->shared, &err);
    }
    pto_workload_fini(&workload);
    return code;
}

static int report_scenario(arguments_t *arguments) {
    int code = pto_options_finish(arguments->given, &arguments->shared);
    return code < 0 ? make_page(arguments) : code;
}

static int run(const pto_arguments_t *given) {
    arguments_t arguments = {.given = given};
    const char *path = given->operand_count > 0 ? given->operand[0] : NULL;
    if (!pto_arguments_text(given, "out"))
        return pto_usage_error(&syntax, "no page to write is named (--out)");
    int code;
    if (path && pto_text_ends(path, ".csv"))
        code = report_measured(&arguments);
    else if (path && given->operand_count == 1 && pto_is_workload(path))
        code = report_step(&arguments);
    else
        code = report_scenario(&arguments);
    pto_series_fini(&arguments.rows);
    free(arguments.note);
    pto_options_fini(&arguments.shared);
    return code;
}

const pto_command_t pto_command_report = {.name = "report",
                                          .summary = "write a page to explore predictions in, in one file",
                                          .syntax = &syntax,
                                          .run = run};
