/* portolan sensitivity: prints which parameters, changed by which factor, would change the pick at each
 * point. pto_sensitivity finds them for one point; this file prints them. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "command.h"
#include "command_line/terminal.h"
#include "portolan/progress.h"
#include "portolan/sensitivity.h"
#include "show/record.h"
#include "show/table.h"

static const char usage[] =
    "usage: portolan sensitivity SCENARIO.yaml [OPTIONS]\n\n"
    "Prints for each point of the scenario's sweep which machine parameters would change the pick, by which\n"
    "factor they would have to change (between 1/16 and 16, nearest first), and which strategy would then\n"
    "be the cheapest. Every answer is a new prediction, not a linearisation. The elasticity is the increase\n"
    "of the picked strategy's price in percent if the parameter rises by one percent. `!` marks a change\n"
    "within the parameter's own 95 percent interval: the pick is uncertain.\n\n"
    "  portolan sensitivity alltoall-summit --bytes 1024\n"
    "  portolan sensitivity alltoall-summit --format csv\n\n"
    "csv: one row per point and parameter, always with the same columns (docs/formats.md). The factor and\n"
    "what follows from it are empty if none from 1/16 to 16 changes the pick.\n";

static const pto_syntax_t syntax =
    PTO_SCENARIO_SYNTAX("portolan sensitivity", usage, PTO_NAMES_SCENARIOS, {"options", pto_format_options},
                        {NULL, pto_table_options}, {NULL, pto_work_options});

enum { FACTOR_WIDTH = 7, ELASTICITY_WIDTH = 6, VALUE_WIDTH = 9 };

/* The widths of the table's columns, in characters. */
typedef struct {
    int becomes;
    int parameter;
    bool values; /* the terminal has room for the columns of values */
} widths_t;

/* The sensitivities of one point. */
typedef struct {
    const pto_predictions_t *predictions;
    int64_t point;
    const pto_sensitivities_t *found;
    const widths_t *widths;
} answer_t;

static const char *name_of(const answer_t *answer, int strategy) {
    return answer->predictions->strategy[strategy]->name;
}

static double seconds_of(const answer_t *answer, int strategy) {
    return pto_prediction_at(answer->predictions, answer->point, strategy)->price.seconds;
}

static void add_tied(pto_text_t *text, const answer_t *answer, double best_s) {
    const char *before = ", tied with ";
    for (int i = 0; i < answer->predictions->strategy_count; i++) {
        bool applies = pto_prediction_at(answer->predictions, answer->point, i)->applicable;
        if (i == answer->found->winner || !applies || !pto_cost_is_same(seconds_of(answer, i), best_s))
            continue;
        pto_text_add(text, "%s%s", before, name_of(answer, i));
        before = ", ";
    }
}

static void add_pick(pto_text_t *text, const answer_t *answer) {
    const pto_sensitivities_t *found = answer->found;
    pto_text_add(text,
                 "%s: ", PTO_POINT_TITLE(answer->predictions, answer->predictions->point[answer->point]));
    if (found->winner < 0) {
        pto_text_add(text, "no strategy applies");
        return;
    }
    double best_s = seconds_of(answer, found->winner);
    pto_text_add(text, "%s, %s", name_of(answer, found->winner), PTO_SECONDS_TEXT(best_s));
    add_tied(text, answer, best_s);
    if (found->runner_up < 0)
        pto_text_add(text, "; nothing else applies");
    else
        pto_text_add(text, "; %s takes %.1f%% longer", name_of(answer, found->runner_up),
                     100 * (seconds_of(answer, found->runner_up) / best_s - 1));
}

static void print_pick(const answer_t *answer) {
    pto_text_t text = {0};
    add_pick(&text, answer);
    if (!text.out_of_memory)
        pto_print_wrapped(stdout, text.text, 0, pto_terminal_width(stdout));
    free(text.text);
}

static void print_row(const answer_t *answer, const pto_sensitivity_t *item) {
    double value = item->param.param->value;
    bool changes = item->becomes >= 0;
    if (changes)
        printf("%*.4g%c", FACTOR_WIDTH, item->factor, item->inside_interval ? '!' : ' ');
    else
        printf("%*s ", FACTOR_WIDTH, "-");
    printf(" %*.3f  %-*s %-*s", ELASTICITY_WIDTH, item->elasticity, answer->widths->becomes,
           changes ? name_of(answer, item->becomes) : "-",
           answer->widths->values ? answer->widths->parameter : 0, item->param.key);
    if (answer->widths->values && changes)
        printf(" %*.4g %*.4g", VALUE_WIDTH, value, VALUE_WIDTH, item->factor * value);
    else if (answer->widths->values)
        printf(" %*.4g %*s", VALUE_WIDTH, value, VALUE_WIDTH, "-");
    putchar('\n');
}

static void print_table(const answer_t *answer) {
    putchar('\n');
    print_pick(answer);
    for (int i = 0; i < answer->found->count; i++)
        print_row(answer, &answer->found->item[i]);
}

static void print_item(const answer_t *answer, const pto_sensitivity_t *item, pto_format_t format) {
    const double value = item->param.param->value;
    const bool changes = item->becomes >= 0;
    PTO_RECORD(
        stdout, format, pto_field_text("parameter", item->param.key), pto_field_number("value", value),
        pto_field_rounded("elasticity", item->elasticity, 6),
        pto_field_or_null(changes, pto_field_rounded("factor", item->factor, 6)),
        pto_field_if(changes, pto_field_number("changed_value", item->factor * value)),
        pto_field_if(changes, pto_field_text("becomes", changes ? name_of(answer, item->becomes) : NULL)),
        pto_field_if(changes, pto_field_truth("inside_interval", item->inside_interval)));
}

static void print_csv(const answer_t *answer) {
    for (int i = 0; i < answer->found->count; i++) {
        pto_print_csv_point(answer->predictions, answer->point);
        printf("%s,", name_of(answer, answer->found->winner));
        print_item(answer, &answer->found->item[i], PTO_FORMAT_CSV);
        pto_print_csv_changes(answer->predictions->machine);
        putchar('\n');
    }
}

static void print_json(const answer_t *answer) {
    const pto_sensitivities_t *found = answer->found;
    fputs(answer->point > 0 ? ",\n  {" : "\n  {", stdout);
    PTO_RECORD(stdout, PTO_FORMAT_JSON,
               pto_field_count(pto_sweep_kind_name(answer->predictions->sweep),
                               answer->predictions->point[answer->point]),
               pto_field_text("winner", found->winner < 0 ? NULL : name_of(answer, found->winner)));
    printf(", \"parameters\": [");
    for (int i = 0; i < found->count; i++) {
        fputs(i > 0 ? ",\n    {" : "\n    {", stdout);
        print_item(answer, &found->item[i], PTO_FORMAT_JSON);
        putchar('}');
    }
    printf("]}");
}

static widths_t find_widths(const pto_predictions_t *predictions, const pto_sensitivities_t *found,
                            int64_t count, bool all) {
    widths_t widths = {pto_wider(0, "Becomes"), pto_wider(0, "Parameter"), all};
    for (int64_t point = 0; point < count; point++)
        for (int i = 0; i < found[point].count; i++) {
            const pto_sensitivity_t *item = &found[point].item[i];
            widths.parameter = pto_wider(widths.parameter, item->param.key);
            if (item->becomes >= 0)
                widths.becomes = pto_wider(widths.becomes, predictions->strategy[item->becomes]->name);
        }
    int used = FACTOR_WIDTH + ELASTICITY_WIDTH + widths.becomes + widths.parameter + 5;
    widths.values = all || used + 2 * (VALUE_WIDTH + 1) <= pto_terminal_width(stdout);
    return widths;
}

static void print_table_start(const pto_predictions_t *predictions, const widths_t *widths) {
    pto_print_header("sensitivity", predictions);
    pto_print_note(stdout,
                   "Factor: by which a parameter changes the pick (1/%d to %d, nearest first); ! inside the "
                   "parameter's own 95%% interval",
                   PTO_SENSITIVITY_FACTOR_MAX, PTO_SENSITIVITY_FACTOR_MAX);
    pto_print_note(stdout,
                   "Elast.: by how many percent the picked price rises where the parameter rises by one");
    if (!widths->values)
        pto_print_note(stdout, "the parameters' values: --all, or a wider terminal");
    printf("#%*s %*s  %-*s ", FACTOR_WIDTH, "Factor", ELASTICITY_WIDTH, "Elast.", widths->becomes, "Becomes");
    if (widths->values)
        printf("%-*s %*s %*s\n", widths->parameter, "Parameter", VALUE_WIDTH, "Value", VALUE_WIDTH,
               "Changed");
    else
        puts("Parameter");
}

static void print_start(const pto_predictions_t *predictions, pto_format_t format, const widths_t *widths) {
    if (format == PTO_FORMAT_TABLE) {
        print_table_start(predictions, widths);
    } else if (format == PTO_FORMAT_CSV) {
        puts("bytes,nodes,messages,winner,parameter,value,elasticity,factor,changed_value,becomes,inside_"
             "interval,model,what_if");
    } else {
        pto_print_json_start(predictions->machine);
        pto_print_json_question(predictions);
        printf(", \"points\": [");
    }
}

static void print_all(const pto_predictions_t *predictions, const pto_sensitivities_t *found, int64_t count,
                      const pto_options_t *options) {
    static void (*const print[PTO_FORMAT_COUNT])(const answer_t *) = {
        [PTO_FORMAT_TABLE] = print_table, [PTO_FORMAT_CSV] = print_csv, [PTO_FORMAT_JSON] = print_json};
    widths_t widths = find_widths(predictions, found, count, options->all);
    print_start(predictions, options->format, &widths);
    for (int64_t point = 0; point < count; point++)
        print[options->format](&(answer_t){predictions, point, &found[point], &widths});
    if (options->format == PTO_FORMAT_TABLE)
        pto_print_footer(predictions);
    else if (options->format == PTO_FORMAT_JSON)
        printf("\n]}\n");
}

/* Find the sensitivities of all points, or of the first `*count` if interrupted. */
static pto_status_t find_all(const pto_predictions_t *predictions, pto_machine_t *machine,
                             pto_sensitivities_t *found, int64_t *count, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    const bool shown = pto_progress_begin("varying parameters", predictions->point_count, 0);
    for (*count = 0; *count < predictions->point_count && status == PTO_OK; ++*count) {
        if (*count > 0 && pto_is_stopped())
            break;
        status = pto_sensitivity(predictions, machine, *count, &found[*count], err);
        if (shown)
            pto_progress_add(1);
    }
    if (shown)
        pto_progress_end();
    return status;
}

static pto_status_t find_and_print(const pto_predictions_t *predictions, const pto_options_t *options,
                                   pto_error_t *err) {
    int64_t count = 0;
    pto_sensitivities_t *found = calloc((size_t)predictions->point_count, sizeof *found);
    pto_status_t status = found ? find_all(predictions, options->machine, found, &count, err)
                                : pto_error_set(err, PTO_ERR_MEMORY, "out of memory for sensitivities");
    if (status == PTO_OK)
        print_all(predictions, found, count, options);
    for (int64_t i = 0; found && i < predictions->point_count; i++)
        pto_sensitivities_fini(&found[i]);
    free(found);
    return status;
}

static pto_status_t run(pto_options_t *options, pto_error_t *err) {
    pto_predictions_t predictions;
    enum { PRICES = 200 }; /* of each cell, about: several for each parameter, in both directions */
    pto_status_t status = pto_check_work(&options->scenario, options->machine, PRICES, NULL, err);
    if (status == PTO_OK)
        status = pto_predict(&options->scenario, options->machine, true, &predictions, err);
    if (status == PTO_OK) {
        status = find_and_print(&predictions, options, err);
        pto_predictions_fini(&predictions);
    }
    return status;
}

const pto_command_t pto_command_sensitivity = {
    .name = "sensitivity",
    .summary = "print which parameters would change the pick, and how far off they are",
    .syntax = &syntax,
    .on_scenario = run};
