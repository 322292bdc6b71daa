/* portolan upgrade: ranks upgrades of a machine by the time that they save a scenario or a workload, or by
 * the time per cost. The code in upgrade/ reads the upgrades and predicts an outcome for each; this file
 * prints the outcomes. outcome[0] is always the machine as it is, with which the others are compared. The
 * points of a scenario are the values that it sweeps, such as its sizes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "command_line/terminal.h"
#include "command_line/workload_options.h"
#include "portolan/progress.h"
#include "show/record.h"
#include "show/step_table.h"
#include "show/sweeps_table.h"
#include "show/table.h"
#include "upgrade/upgrade_outcome.h"

static const char usage[] =
    "usage: portolan upgrade [WORKLOAD.yaml | SCENARIO.yaml] [OPTIONS]\n\n"
    "Predicts a step of an application (see `portolan step`), or a collective as `portolan predict` does,\n"
    "on its machine, and again with each of several upgrades: those of a file, or twice the NICs of each\n"
    "node, a network, PCIe or GPU links with twice the rate, and GPUDirect (GPU messages to other nodes\n"
    "that cost what the host's do, at PCIe's rate if that is less). The route of each call is chosen anew.\n"
    "The upgrade that saves most time is first, or that which saves most for its cost where costs are\n"
    "given. An upgrade is not priced where the routes need a parameter that it would change by an unknown\n"
    "factor; of NICs and networks, what they save at least is priced, and the table says so\n"
    "(docs/how-to/which-nic.md).\n\n"
    "  portolan upgrade fft-3d\n"
    "  portolan upgrade llm-training --upgrades offers.yaml\n"
    "  portolan upgrade --machine summit-spectrum-refit --collective alltoall --nodes 8 --bytes "
    "1KiB:1MiB:4\n\n"
    "A scenario's time is that of one call of each size. A single upgrade, such as one that --only names,\n"
    "is shown beside the machine as it is, for every size or call. What would a second NIC buy?\n\n"
    "  portolan upgrade fft-3d --only NIC\n\n"
    "A file of upgrades has changes as after --what-if, and costs in any one unit:\n\n"
    "  upgrades:\n"
    "    - {name: 400G instead of 200G, what_if: [\"injection.*=/2\"], cost: 1.5}\n"
    "    - {name: GPUs that start copies faster, what_if: [\"copies.*.alpha_s=/2\"]}\n\n"
    "csv: one row per upgrade, always with the same columns (docs/formats.md). The first row, `as it is`,\n"
    "is the machine without any; an upgrade that cannot be applied has only a reason.\n";

static const pto_option_t upgrade_options[] = {
    {"upgrades", "FILE.yaml", "the upgrades (default: the ones named above)", .form = PTO_VALUE_NONE},
    {"only", "TEXT", "only upgrades whose name has this text, in lower or upper case",
     .form = PTO_VALUE_NONE},
    {.name = NULL}};

static const pto_syntax_t syntax =
    PTO_SCENARIO_SYNTAX("portolan upgrade", usage, PTO_NAMES_SCENARIOS | PTO_NAMES_WORKLOADS,
                        {"options", pto_format_options}, {NULL, upgrade_options}, {NULL, pto_work_options});

/* For qsort: upgrades that apply come first, of these the ones with a cost, and then those that save most. */
static int by_worth(const void *a, const void *b) {
    const pto_outcome_t *left = a, *right = b;
    if (left->applies != right->applies)
        return left->applies ? -1 : 1;
    if ((left->cost > 0) != (right->cost > 0))
        return left->cost > 0 ? -1 : 1;
    double gap = pto_outcome_worth(left) - pto_outcome_worth(right);
    return (gap < 0) - (gap > 0);
}

/* --- how reliable the times are ---------------------------------------------------------------------- */

/* Add the caveats of the routes whose times add up to the outcome's. */
static void add_caveats(const pto_outcome_t *outcome, pto_caveats_t *caveats) {
    const pto_predictions_t *predictions = &outcome->predictions;
    if (outcome->applies && outcome->of_workload)
        pto_step_caveats_add(&outcome->step, NULL, caveats);
    for (int64_t point = 0; outcome->applies && point < predictions->point_count; point++) {
        int winner = pto_pick_at(predictions, point);
        if (winner >= 0)
            pto_caveats_add(caveats, pto_prediction_at(predictions, point, winner));
    }
}

/* The marks of the same routes. */
static pto_marks_t marks_of(const pto_outcome_t *outcome) {
    pto_marks_t marks = {.unsure = false};
    for (int i = 0; outcome->applies && i < outcome->workload.call_count; i++)
        if (pto_workload_is_call(&outcome->workload.call[i]))
            pto_marks_add(&marks, pto_step_marks(&outcome->step, i));
    for (int64_t point = 0; outcome->applies && point < outcome->predictions.point_count; point++)
        pto_marks_add(&marks, pto_pick_marks(&outcome->predictions, point));
    return marks;
}

/* Add the caveats of all routes that were compared. */
static void add_all_caveats(const pto_outcome_t *outcome, pto_caveats_t *caveats) {
    if (outcome->applies && outcome->of_workload)
        pto_step_caveats_add_all(&outcome->step, caveats);
    else if (outcome->applies)
        pto_caveats_add_all(caveats, &outcome->predictions);
}

/* --- for people ----------------------------------------------------------------------------------------- */

enum { NAME_LEAST = 22, NAME_MOST = 30, TIMES_WIDTH = 33, SHARE_WIDTH = 9 };

/* The columns of a table. Besides the total, it shows the saved share at `count` of the scenario's `points`:
 * as many as fit, evenly spaced from the first to the last. */
typedef struct {
    int64_t count;
    int64_t points;
    int name_width, marks_width; /* in characters */
    pto_marks_t marks;           /* of all rows */
} columns_t;

static int name_width(const pto_outcome_t *outcome, int count) {
    int width = NAME_LEAST;
    for (int i = 0; i < count; i++)
        width = pto_wider(width, outcome[i].name);
    return width < NAME_MOST ? width : NAME_MOST;
}

/* The point that column i shows. */
static int64_t point_of(const columns_t *shown, int64_t i) {
    return shown->count > 1 ? i * (shown->points - 1) / (shown->count - 1) : 0;
}

static columns_t choose_columns(const pto_outcome_t *outcome, int count, bool costs) {
    columns_t shown = {.points = outcome[0].predictions.point_count,
                       .name_width = name_width(outcome, count)};
    for (int i = 0; i < count; i++) {
        const pto_marks_t marks = marks_of(&outcome[i]);
        pto_marks_add(&shown.marks, marks);
        shown.marks_width = pto_wider(shown.marks_width, pto_marks_text(marks));
    }
    const int width = pto_terminal_width(stdout) - shown.name_width - shown.marks_width - TIMES_WIDTH;
    const int fitting = width / SHARE_WIDTH;
    const bool has_several_upgrades = count > 2;
    if (has_several_upgrades && !costs && !outcome[0].of_workload && shown.points >= 2 && fitting >= 2)
        shown.count = shown.points < fitting ? shown.points : fitting;
    return shown;
}

static void print_shares(const pto_outcome_t *as_it_is, const pto_outcome_t *outcome,
                         const columns_t *shown) {
    for (int64_t i = 0; i < shown->count; i++) {
        double before, after;
        char text[32] = "-";
        if (pto_outcome_seconds(as_it_is, point_of(shown, i), &before) &&
            pto_outcome_seconds(outcome, point_of(shown, i), &after) && before > 0)
            snprintf(text, sizeof text, "%.1f%%", 100 * (1 - after / before));
        printf(" %*s", SHARE_WIDTH - 1, text);
    }
}

static void print_row(const pto_outcome_t *as_it_is, const pto_outcome_t *outcome, bool costs,
                      const columns_t *shown) {
    const char *minus = outcome->saved_s < 0 ? "-" : " ";
    const bool has_exposed = outcome->of_workload && !costs;
    const bool marks_end_line = outcome == as_it_is && !has_exposed; /* so they are not padded */
    printf("%-*s  %8s%-*s", shown->name_width, outcome->name, PTO_SECONDS_TEXT(outcome->seconds),
           marks_end_line ? 0 : shown->marks_width, pto_marks_text(marks_of(outcome)));
    if (has_exposed)
        printf("  %8s", PTO_SECONDS_TEXT(outcome->step.mix.exposed_s));
    if (outcome != as_it_is) {
        printf("  %s%8s  %5.1f%%", minus, PTO_SECONDS_TEXT(fabs(outcome->saved_s)),
               as_it_is->seconds > 0 ? 100 * outcome->saved_s / as_it_is->seconds : 0);
        print_shares(as_it_is, outcome, shown);
    }
    if (costs && outcome->cost > 0)
        printf("  %6g  %s%8s", outcome->cost, minus, PTO_SECONDS_TEXT(fabs(pto_outcome_worth(outcome))));
    putchar('\n');
}

static void print_header(const pto_outcome_t *as_it_is) {
    if (!as_it_is->of_workload) {
        pto_print_header("upgrade", &as_it_is->predictions);
        return;
    }
    const pto_machine_t *machine = as_it_is->options.machine;
    pto_print_note(stdout, "portolan upgrade: %s", as_it_is->workload.name);
    pto_print_machine(machine);
    pto_print_changes(stdout, machine);
    pto_print_layout(&as_it_is->workload.layout);
    pto_print_computation(&as_it_is->step, &as_it_is->options, "");
}

static void print_heading(const pto_outcome_t *as_it_is, bool costs, const columns_t *shown) {
    printf("# %-*s  %8s%*s%s   %8s   %5s", shown->name_width - 2, "Upgrade",
           as_it_is->of_workload ? "Step" : "Time", shown->marks_width, "",
           as_it_is->of_workload && !costs ? "   Exposed" : "", "Saves", "Share");
    for (int64_t i = 0; i < shown->count; i++)
        printf(" %*s", SHARE_WIDTH - 1,
               PTO_POINT_TEXT(&as_it_is->predictions, as_it_is->predictions.point[point_of(shown, i)]));
    printf("%s\n", costs ? "    Cost   Per cost" : "");
}

static void print_meaning(const pto_outcome_t *as_it_is, bool costs) {
    const char *per_cost = costs ? "; Per cost: for one unit of it" : "";
    char left_out[PTO_ERROR_MESSAGE_MAX];
    if (as_it_is->of_workload)
        pto_print_note(stdout, "Saves: of the step, by the cheapest routes with and without%s",
                       costs ? per_cost : "; Exposed: communication that no computation hides");
    else if (as_it_is->priced_points > 1)
        pto_print_note(stdout, "Time: one call at each of the %lld points, each by its cheapest route%s",
                       (long long)as_it_is->priced_points, per_cost);
    else
        pto_print_note(stdout, "Time: one call by its cheapest route%s", per_cost);
    if (pto_outcome_left_out(as_it_is, left_out)[0])
        pto_print_note(stdout, "%s", left_out);
}

/* --- one upgrade, call by call -------------------------------------------------------------------------- */

enum { CALL_LEAST = 12, CALL_MOST = 24, COST_WIDTH = 8, GAINS_WIDTH = 8 }; /* in characters */

typedef struct {
    int call, route;
} widths_t;

static const char *route_text(const pto_step_prediction_t *step, int call, char text[PTO_ROUTE_TEXT_MAX]) {
    const pto_strategy_t *strategy;
    const pto_prediction_t *best = pto_step_best(step, call, &strategy);
    return pto_route_text(strategy, best, false, pto_marks_text(pto_step_marks(step, call)), text);
}

static widths_t find_widths(const pto_outcome_t *before, const pto_outcome_t *after) {
    const pto_outcome_t *const outcome[] = {before, after};
    char text[PTO_ROUTE_TEXT_MAX];
    widths_t width = {.route = 0};
    for (int i = 0; i < before->workload.call_count; i++)
        for (int o = 0; o < 2 && pto_workload_is_call(&before->workload.call[i]); o++)
            width.route = pto_wider(width.route, route_text(&outcome[o]->step, i, text));
    width.call = pto_terminal_width(stdout) - 2 * (2 + COST_WIDTH + 2 + width.route) - GAINS_WIDTH;
    width.call = width.call < CALL_LEAST ? CALL_LEAST : width.call > CALL_MOST ? CALL_MOST : width.call;
    return width;
}

/* Print the time of a call and its route. Returns the time in seconds. */
static double print_call_route(const pto_step_prediction_t *step, int call, int width) {
    const pto_strategy_t *strategy;
    char route[PTO_ROUTE_TEXT_MAX];
    double seconds = pto_step_best(step, call, &strategy)->price.seconds;
    printf("  %*s  %-*s", COST_WIDTH, PTO_SECONDS_TEXT(seconds), width, route_text(step, call, route));
    return seconds;
}

static void print_calls(const pto_outcome_t *before, const pto_outcome_t *after) {
    const widths_t width = find_widths(before, after);
    const int both = COST_WIDTH + 2 + width.route;
    printf("# %-*s  %-*s  %-*s   Saves\n", width.call - 2, "Call, once", both, "As it is", both, "With it");
    for (int i = 0; i < before->workload.call_count; i++) {
        if (!pto_workload_is_call(&before->workload.call[i]))
            continue;
        pto_print_label(width.call, pto_workload_call_name(&before->workload.call[i]));
        double before_s = print_call_route(&before->step, i, width.route);
        double after_s = print_call_route(&after->step, i, width.route);
        printf("  %5.1f%%\n", before_s > 0 ? 100 * (1 - after_s / before_s) : 0);
    }
}

/* Below the table, the only upgrade beside the machine as it is, for each call or point. */
static void print_single(const pto_outcome_t *as_it_is, const pto_outcome_t *upgraded) {
    if (!upgraded->applies || upgraded->unchanged ||
        (!as_it_is->of_workload && as_it_is->predictions.point_count <= 1))
        return;
    printf("#\n");
    if (as_it_is->of_workload)
        print_calls(as_it_is, upgraded);
    else
        pto_print_side_by_side(&as_it_is->predictions, &upgraded->predictions, "With it",
                               &(pto_marks_t){.unsure = false}); /* print_table explains the marks below */
}

static void print_table(const pto_outcome_t *outcome, int count) {
    bool costs = false;
    for (int i = 0; i < count; i++)
        costs = costs || outcome[i].cost > 0;
    columns_t shown = choose_columns(outcome, count, costs);
    print_header(&outcome[0]);
    print_heading(&outcome[0], costs, &shown);
    for (int i = 0; i < count; i++)
        if (outcome[i].applies)
            print_row(&outcome[0], &outcome[i], costs, &shown);
    if (count == 2)
        print_single(&outcome[0], &outcome[1]);
    pto_print_marks(shown.marks);
    for (int i = 1; i < count; i++)
        if (outcome[i].reason[0])
            pto_print_note(stdout, "%s: %s", outcome[i].name, outcome[i].reason);
    print_meaning(&outcome[0], costs);
    pto_caveats_t caveats = {.count = 0};
    for (int i = 0; i < count; i++)
        add_all_caveats(&outcome[i], &caveats);
    pto_print_caveats(&caveats);
}

/* --- for programs --------------------------------------------------------------------------------------- */

/* A row of csv, or an object of JSON, where the cost comes first and the step's time has its own name. */
static void print_outcome(const pto_outcome_t *outcome, const char *reason, pto_format_t format) {
    const bool applies = outcome->applies, step = applies && outcome->of_workload;
    const bool has_cost = outcome->cost > 0;
    const char *seconds_name = step && format == PTO_FORMAT_JSON ? "step_s" : "seconds";
    const double communication_s = step ? outcome->step.mix.communication_s : 0,
                 exposed_s = step ? outcome->step.mix.exposed_s : 0,
                 saved_s_per_cost = applies && has_cost ? pto_outcome_worth(outcome) : 0;
    const pto_field_t cost = pto_field_if(has_cost, pto_field_number("cost", outcome->cost));
    pto_caveats_t caveats = {.count = 0};
    add_caveats(outcome, &caveats);
    PTO_RECORD(
        stdout, format, pto_field_text("upgrade", outcome->name), pto_field_in_json(cost),
        pto_field_if(applies, pto_field_number(seconds_name, outcome->seconds)),
        pto_field_if(step && !outcome->unchanged, pto_field_number("communication_s", communication_s)),
        pto_field_if(step, pto_field_number("exposed_s", exposed_s)),
        pto_field_if(applies, pto_field_number("saved_s", outcome->saved_s)), pto_field_in_csv(cost),
        pto_field_in_csv(
            pto_field_if(applies && has_cost, pto_field_number("saved_s_per_cost", saved_s_per_cost))),
        pto_field_if(reason[0], pto_field_text("reason", reason)),
        pto_field_json_if(
            caveats.count > 0,
            pto_field_unpriced(format == PTO_FORMAT_JSON ? "unpriced" : "not_priced", &caveats)),
        pto_field_extrapolated(&caveats));
}

static void print_csv(const pto_outcome_t *outcome, int count) {
    const char *of =
        outcome[0].of_workload ? pto_step_compute_of(&outcome[0].step, &outcome[0].options) : NULL;
    printf("upgrade,seconds,communication_s,exposed_s,saved_s,cost,saved_s_per_cost,reason,not_priced,"
           "extrapolated_from,model,what_if,compute_of\n");
    for (int i = 0; i < count; i++) {
        char left_out[PTO_ERROR_MESSAGE_MAX];
        print_outcome(&outcome[i], i == 0 ? pto_outcome_left_out(&outcome[i], left_out) : outcome[i].reason,
                      PTO_FORMAT_CSV);
        if (outcome[i].applies)
            pto_print_csv_changes(outcome[i].options.machine);
        else
            putchar(',');
        putchar(',');
        pto_print_csv_text(stdout, of ? of : "");
        putchar('\n');
    }
}

static void print_json(const pto_outcome_t *outcome, int count) {
    char left_out[PTO_ERROR_MESSAGE_MAX];
    pto_print_json_start(outcome[0].options.machine);
    if (outcome[0].of_workload) {
        pto_caveats_t caveats = {.count = 0};
        printf(", \"workload\": ");
        pto_print_json_string(stdout, outcome[0].workload.name);
        pto_print_json_layout(&outcome[0].workload.layout, true);
        add_all_caveats(&outcome[0], &caveats);
        PTO_MORE(stdout, pto_field_unpriced("not_priced", &caveats));
        pto_print_json_computation(&outcome[0].step, &outcome[0].options);
    } else {
        pto_print_json_question(&outcome[0].predictions);
    }
    printf(", \"upgrades\": [");
    for (int i = 0; i < count; i++) {
        fputs(i ? ",\n  {" : "\n  {", stdout);
        print_outcome(&outcome[i], i == 0 ? pto_outcome_left_out(&outcome[i], left_out) : outcome[i].reason,
                      PTO_FORMAT_JSON);
        putchar('}');
    }
    printf("\n]}\n");
}

/* --- the command ---------------------------------------------------------------------------------------- */

/* Check that both times are sums over the same points: others cannot be compared. */
static pto_status_t check_points(const pto_outcome_t *as_it_is, const pto_outcome_t *upgraded,
                                 pto_error_t *err) {
    if (pto_is_stopped())
        return pto_error_set(err, PTO_ERR_INTERRUPTED, "interrupted");
    if (upgraded->predictions.point_count != as_it_is->predictions.point_count)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "it replaces the values that the scenario sweeps");
    if (!pto_outcome_compares(as_it_is, upgraded))
        return pto_error_set(
            err, PTO_ERR_NOT_APPLICABLE,
            "with it, other points have a strategy (%lld of %lld), so that sums over them do not compare",
            (long long)upgraded->priced_points, (long long)upgraded->predictions.point_count);
    return PTO_OK;
}

/* The number of predictions for the progress display. An upgrade that changes the cores or GPUs of nodes
 * takes two: the second one has as many processes as before. */
static int count_predictions(const pto_upgrades_t *upgrades) {
    int count = upgrades->count;
    for (int i = 0; i < upgrades->count; i++) {
        const pto_upgrade_t *upgrade = &upgrades->upgrade[i];
        bool of_node = false;
        for (int c = 0; upgrade->change[c]; c++)
            of_node = of_node || strncmp(upgrade->change[c], "node.", strlen("node.")) == 0;
        count += of_node;
    }
    return count;
}

/* Begin the progress display of `count` predictions, each with about as much work as that of the machine as
 * it is. Returns whether it is shown. */
static bool begin_progress(const pto_outcome_t *as_it_is, int count) {
    const pto_options_t *options = &as_it_is->options;
    int64_t work = 0;
    if (as_it_is->of_workload)
        return pto_progress_begin_parts("pricing calls", (int64_t)count * as_it_is->workload.call_count, 0);
    if (!as_it_is->applies ||
        pto_check_work(&options->scenario, options->machine, count, &work, NULL) != PTO_OK)
        work = 0;
    return pto_progress_begin_parts("pricing", count * work, PTO_WORK_PER_SECOND);
}

/* Predict the machine as it is in outcome[0], and with each upgrade in those after it. If an upgrade cannot
 * be applied, its outcome has the reason. */
static pto_status_t predict_all(const pto_arguments_t *given, const pto_upgrades_t *upgrades,
                                pto_outcome_t *outcome, pto_error_t *err) {
    pto_status_t status = pto_outcome_predict(given, NULL, NULL, &outcome[0], err);
    const bool shown = begin_progress(&outcome[0], count_predictions(upgrades));
    for (int i = 0; i < upgrades->count && status == PTO_OK; i++) {
        pto_outcome_t *upgraded = &outcome[i + 1];
        pto_error_t fault = {.status = PTO_OK};
        pto_status_t predicted =
            pto_outcome_predict(given, &upgrades->upgrade[i], &outcome[0], upgraded, &fault);
        if (predicted == PTO_OK)
            upgraded->applies = check_points(&outcome[0], upgraded, &fault) == PTO_OK;
        upgraded->saved_s = upgraded->applies ? outcome[0].seconds - upgraded->seconds : 0;
        memcpy(upgraded->reason, fault.message, sizeof upgraded->reason);
        pto_outcome_doubt(&outcome[0], &upgrades->upgrade[i], upgraded);
        if (predicted == PTO_ERR_MEMORY)
            status = pto_error_set(err, predicted, "%s", fault.message);
    }
    if (shown)
        pto_progress_end();
    return status;
}

static pto_status_t print_upgrades(const pto_arguments_t *given, pto_options_t *options, pto_error_t *err) {
    pto_upgrades_t upgrades = {0};
    const char *path = pto_arguments_text(given, "upgrades"), *only = pto_arguments_text(given, "only");
    pto_status_t status =
        path ? pto_upgrades_read(path, &upgrades, err) : pto_upgrades_standard(&upgrades, err);
    if (status == PTO_OK && only) {
        status = pto_upgrades_keep(&upgrades, only, err);
        options->by_option = status != PTO_OK;
    }
    int count = upgrades.count + 1;
    pto_outcome_t *outcome = status == PTO_OK ? calloc((size_t)count, sizeof *outcome) : NULL;
    if (status == PTO_OK)
        status = outcome ? predict_all(given, &upgrades, outcome, err)
                         : pto_error_set(err, PTO_ERR_MEMORY, "out of memory for upgrades");
    if (outcome && status != PTO_OK)
        options->by_option = outcome[0].options.by_option;
    if (status == PTO_OK && outcome) {
        qsort(outcome + 1, (size_t)count - 1, sizeof *outcome, by_worth);
        void (*const print[])(const pto_outcome_t *, int) = {
            [PTO_FORMAT_TABLE] = print_table, [PTO_FORMAT_CSV] = print_csv, [PTO_FORMAT_JSON] = print_json};
        print[options->format](outcome, count);
    }
    for (int i = 0; outcome && i < count; i++)
        pto_outcome_fini(&outcome[i]);
    free(outcome);
    pto_upgrades_fini(&upgrades);
    return status;
}

/* The name of the first given option that overrides a field which workloads do not have; NULL: none. */
static const char *refused_option(const pto_arguments_t *given) {
    const unsigned taken = 1u << PTO_FIELD_MACHINE | 1u << PTO_FIELD_NODES | 1u << PTO_FIELD_LAYOUT |
                           1u << PTO_FIELD_MEMORY | 1u << PTO_FIELD_STRATEGIES;
    for (int i = 0; i < given->given_count; i++) {
        const int field = given->given[i].option->overrides - 1; /* -1: none */
        if (field >= 0 && !(taken >> field & 1))
            return given->given[i].option->name;
    }
    return NULL;
}

/* Options that are wrong whatever the file is are found before it is read. */
static int run(const pto_arguments_t *given) {
    pto_options_t options = {.format = PTO_FORMAT_TABLE};
    pto_error_t err = {0};
    if (given->operand_count > 1)
        return pto_usage_error(&syntax, "name one workload or scenario");
    if (given->operand_count + given->given_count == 0)
        return pto_usage_error(&syntax, "neither a workload nor a scenario is given");
    if (given->operand_count == 1 && pto_is_workload(given->operand[0]) && refused_option(given))
        return pto_usage_error(&syntax, "--%s is for scenarios; the workload's calls have their own",
                               refused_option(given));
    pto_scenario_init(&options.scenario);
    int code = pto_options_apply(given, &options);
    if (code < 0)
        code = print_upgrades(given, &options, &err) == PTO_OK ? pto_flush_output()
                                                               : pto_options_fail(&options, &err);
    pto_options_fini(&options);
    return code;
}

const pto_command_t pto_command_upgrade = {.name = "upgrade",
                                           .summary = "rank upgrades of a machine by the time that they save",
                                           .syntax = &syntax,
                                           .run = run};
