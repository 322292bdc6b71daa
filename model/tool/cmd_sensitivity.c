/* portolan sensitivity: which parameters would change the pick, and how far they would have to change. */
#include "command.h"
#include "options.h"
#include "portolan/sensitivity.h"
#include "table.h"
#include "terminal.h"

static const char usage[] =
    "usage: portolan sensitivity SCENARIO.yaml [OPTIONS]\n"
    "\n"
    "Prints for each point of the scenario's sweep which machine parameters would change the pick, by which\n"
    "factor they would have to change (between 1/16 and 16, nearest first), and which strategy would then "
    "be\n"
    "the cheapest. Every answer is a new prediction, not a linearisation. The elasticity is the increase of\n"
    "the picked strategy's price in percent if the parameter rises by one percent. `inside its interval`\n"
    "marks a change within the parameter's own 95 percent interval: the pick is uncertain.\n"
    "\n"
    "  portolan sensitivity scenarios/problems/alltoall-summit.yaml --bytes 1024\n"
    "  portolan sensitivity scenarios/problems/alltoall-summit.yaml --format csv\n"
    "\n"
    "csv: one row per point and parameter,\n"
    "`bytes,winner,parameter,value,elasticity,factor,changed_value,becomes,inside_interval`.\n"
    "The first column is nodes or messages if these are swept. The last four are empty if no factor from "
    "1/16\n"
    "to 16 changes the pick.\n";

static const pto_option_set_t option_sets[] = {
    {"options", pto_format_options}, {NULL, pto_work_options}, PTO_SCENARIO_SETS};

static const pto_syntax_t syntax = {
    .program = "portolan sensitivity", .usage = usage, .set = option_sets, .operand = "*.yaml"};

typedef struct {
    const pto_predictions_t *predictions;
    int64_t point;
    const pto_sensitivities_t *found;
} answer_t;

static const char *name_of(const answer_t *answer, int strategy) {
    return answer->predictions->strategy[strategy]->name;
}

static double seconds_of(const answer_t *answer, int strategy) {
    return pto_prediction_at(answer->predictions, answer->point, strategy)->price.seconds;
}

static void print_tied(const answer_t *answer, double best_s) {
    const char *before = ", tied with ";
    for (int i = 0; i < answer->predictions->strategy_count; i++) {
        bool applies = pto_prediction_at(answer->predictions, answer->point, i)->applicable;
        if (i == answer->found->winner || !applies || !pto_cost_is_same(seconds_of(answer, i), best_s))
            continue;
        printf("%s%s", before, name_of(answer, i));
        before = ", ";
    }
}

static void print_pick(const answer_t *answer) {
    const pto_sensitivities_t *found = answer->found;
    char at[PTO_BYTES_TEXT_MAX], best[PTO_SECONDS_TEXT_MAX];
    printf("\n%s: ", pto_point_title(answer->predictions, answer->predictions->point[answer->point], at));
    if (found->winner < 0) {
        printf("no strategy applies\n");
        return;
    }
    double best_s = seconds_of(answer, found->winner);
    pto_seconds_format(best_s, best, sizeof best);
    printf("%s, %s", name_of(answer, found->winner), best);
    print_tied(answer, best_s);
    if (found->runner_up < 0)
        printf("; nothing else applies\n");
    else
        printf("; %s takes %.1f%% longer\n", name_of(answer, found->runner_up),
               100 * (seconds_of(answer, found->runner_up) / best_s - 1));
}

static void print_row(const answer_t *answer, const pto_sensitivity_t *item) {
    double value = item->param.param->value;
    if (item->becomes < 0)
        printf("%10s %11.4g %11s   %-14s", "-", value, "-", "-");
    else
        printf("%10.4g %11.4g %11.4g   %-14s", item->factor, value, item->factor * value,
               name_of(answer, item->becomes));
    printf(" %10.3f   %s%s\n", item->elasticity, item->param.key,
           item->inside_interval ? "  inside its interval" : "");
}

static void print_table(const answer_t *answer) {
    print_pick(answer);
    for (int i = 0; i < answer->found->count; i++)
        print_row(answer, &answer->found->item[i]);
}

static void print_csv(const answer_t *answer) {
    for (int i = 0; i < answer->found->count; i++) {
        const pto_sensitivity_t *item = &answer->found->item[i];
        double value = item->param.param->value;
        printf("%lld,%s,%s,%.9g,%.6g,", (long long)answer->predictions->point[answer->point],
               name_of(answer, answer->found->winner), item->param.key, value, item->elasticity);
        if (item->becomes < 0)
            printf(",,,\n");
        else
            printf("%.6g,%.9g,%s,%d\n", item->factor, item->factor * value, name_of(answer, item->becomes),
                   item->inside_interval);
    }
}

static void print_json_item(const answer_t *answer, const pto_sensitivity_t *item) {
    double value = item->param.param->value;
    printf("{\"parameter\": \"%s\", \"value\": %.9g, \"elasticity\": %.6g, ", item->param.key, value,
           item->elasticity);
    if (item->becomes < 0)
        printf("\"factor\": null}");
    else
        printf("\"factor\": %.6g, \"changed_value\": %.9g, \"becomes\": \"%s\", \"inside_interval\": %s}",
               item->factor, item->factor * value, name_of(answer, item->becomes),
               item->inside_interval ? "true" : "false");
}

static void print_json(const answer_t *answer) {
    const pto_sensitivities_t *found = answer->found;
    printf("%s\n  {\"%s\": %lld, \"winner\": ", answer->point > 0 ? "," : "",
           pto_sweep_kind_name(answer->predictions->sweep),
           (long long)answer->predictions->point[answer->point]);
    if (found->winner < 0)
        printf("null");
    else
        printf("\"%s\"", name_of(answer, found->winner));
    printf(", \"parameters\": [");
    for (int i = 0; i < found->count; i++) {
        printf("%s\n    ", i > 0 ? "," : "");
        print_json_item(answer, &found->item[i]);
    }
    printf("]}");
}

static void print_start(const pto_predictions_t *predictions, pto_format_t format) {
    if (format == PTO_FORMAT_TABLE) {
        pto_print_header(stdout, "sensitivity", predictions);
        pto_print_note(
            stdout,
            "by which factor (1/%d to %d, nearest first) a parameter changes the pick, and by how many "
            "percent the picked price rises where the parameter rises by one",
            PTO_SENSITIVITY_FACTOR_MAX, PTO_SENSITIVITY_FACTOR_MAX);
        printf("# %8s %11s %11s   %-14s %10s   Parameter\n", "Factor", "Value", "Changed", "Pick becomes",
               "Elasticity");
    } else if (format == PTO_FORMAT_CSV) {
        pto_print_changes(stdout, predictions->machine);
        printf("%s,winner,parameter,value,elasticity,factor,changed_value,becomes,inside_interval\n",
               pto_sweep_kind_name(predictions->sweep));
    } else {
        pto_print_json_start(stdout, predictions->machine);
        pto_print_json_question(stdout, predictions);
        printf(", \"points\": [");
    }
}

static pto_status_t print_all(const pto_predictions_t *predictions, pto_machine_t *machine,
                              pto_format_t format, pto_error_t *err) {
    static void (*const print[PTO_FORMAT_COUNT])(const answer_t *) = {
        [PTO_FORMAT_TABLE] = print_table, [PTO_FORMAT_CSV] = print_csv, [PTO_FORMAT_JSON] = print_json};
    print_start(predictions, format);
    for (int64_t point = 0; point < predictions->point_count; point++) {
        pto_sensitivities_t found = {0};
        pto_status_t status = pto_sensitivity(predictions, machine, point, &found, err);
        if (status != PTO_OK)
            return status;
        print[format](&(answer_t){predictions, point, &found});
        pto_sensitivities_fini(&found);
    }
    if (format == PTO_FORMAT_TABLE)
        pto_print_footer(stdout, predictions);
    else if (format == PTO_FORMAT_JSON)
        printf("\n]}\n");
    return PTO_OK;
}

static pto_status_t run(pto_options_t *options, pto_error_t *err) {
    pto_predictions_t predictions;
    enum { PRICES = 200 }; /* on the whole: some for each parameter that could matter, in both directions */
    pto_status_t status = pto_check_work(&options->scenario, options->machine, PRICES, NULL, err);
    if (status == PTO_OK)
        status = pto_predict(&options->scenario, options->machine, true, &predictions, err);
    if (status == PTO_OK) {
        status = print_all(&predictions, options->machine, options->format, err);
        pto_predictions_fini(&predictions);
    }
    return status;
}

const pto_command_t pto_command_sensitivity = {
    .name = "sensitivity",
    .summary = "print which parameters would change the pick, and how far off they are",
    .syntax = &syntax,
    .on_scenario = run};
