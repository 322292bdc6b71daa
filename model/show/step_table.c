/* The tables of `portolan step`: the calls with their cheapest routes (strategies), their times by each
 * strategy, and simulated beside predicted times. A pto_step_route_t has the totals of the step if one
 * strategy runs all calls; step->mix has those if each call takes its cheapest strategy. */
#include "step_table.h"

#include <stdlib.h>
#include <string.h>

#include "command_line/terminal.h"
#include "more_procs.h"
#include "record.h"
#include "table.h"

enum {
    TIME_WIDTH = 8,
    INTERVAL_WIDTH = 15,
    SHAPE_WIDTH = 6,
    BYTES_WIDTH = 8,
    NAME_LEAST = 13,
    NAME_MAX = 24
};

const pto_prediction_t *pto_step_best(const pto_step_prediction_t *step, int call,
                                      const pto_strategy_t **strategy) {
    const pto_step_call_t *predicted = &step->call[call];
    *strategy = predicted->predictions.strategy[predicted->best];
    return pto_prediction_at(&predicted->predictions, 0, predicted->best);
}

const char *pto_step_unsure(const pto_step_prediction_t *step, int call) {
    return pto_choice_unpriced(&step->call[call].predictions, 0, step->call[call].best);
}

pto_marks_t pto_step_marks(const pto_step_prediction_t *step, int call) {
    const pto_strategy_t *strategy;
    return (pto_marks_t){.extrapolated = pto_step_best(step, call, &strategy)->price.extrapolated.gpus > 0,
                         .unsure = pto_step_unsure(step, call) != NULL};
}

bool pto_step_is_chosen_together(const pto_step_prediction_t *step, int call) {
    const pto_workload_t *workload = step->workload;
    for (int i = 0; i < workload->call_count; i++)
        if (i != call && workload->call[i].entry == workload->call[call].entry &&
            pto_workload_is_call(&workload->call[i]) && !step->call[i].left_out)
            return pto_workload_is_call(&workload->call[call]);
    return false;
}

void pto_step_caveats_add(const pto_step_prediction_t *step, const pto_strategy_t *strategy,
                          pto_caveats_t *caveats) {
    for (int i = 0; i < step->workload->call_count; i++) {
        const pto_prediction_t *prediction = pto_step_call_prediction(step, i, strategy);
        if (prediction)
            pto_caveats_add(caveats, prediction);
    }
}

void pto_step_caveats_add_all(const pto_step_prediction_t *step, pto_caveats_t *caveats) {
    for (int i = 0; i < step->workload->call_count; i++)
        if (step->call[i].predictions.prediction)
            pto_caveats_add_all(caveats, &step->call[i].predictions);
}

/* Whether a call runs at the same time as the one before it: both are of one entry of the workload. */
static bool runs_with_previous(const pto_workload_t *workload, int call) {
    return call > 0 && workload->call[call].entry == workload->call[call - 1].entry;
}

static int along_width(const pto_workload_t *workload) {
    char text[PTO_WORKLOAD_ALONG_MAX];
    int width = (int)strlen("Along");
    for (int i = 0; i < workload->call_count; i++)
        width = pto_wider(width, pto_workload_along_text(workload, workload->call[i].along, text));
    return width;
}

/* The sum of the times of all calls by their cheapest routes. */
static double all_calls_s(const pto_step_prediction_t *step) {
    double sum = 0, seconds;
    for (int i = 0; i < step->workload->call_count; i++)
        if (pto_workload_is_call(&step->workload->call[i]) && pto_step_call_seconds(step, i, NULL, &seconds))
            sum += (double)step->workload->call[i].times * seconds;
    return sum;
}

/* "split_ring (direct, 2 chunks) & ?", without the parentheses unless `details`. */
static const char *route_text(const pto_step_prediction_t *step, int call, bool details,
                              char text[PTO_ROUTE_TEXT_MAX]) {
    char marks[16];
    const pto_strategy_t *strategy;
    const pto_prediction_t *best = pto_step_best(step, call, &strategy);
    snprintf(marks, sizeof marks, "%s%s", pto_step_is_chosen_together(step, call) ? " &" : "",
             pto_marks_text(pto_step_marks(step, call)));
    return pto_route_text(strategy, best, details, marks, text);
}

static int longest_route(const pto_step_prediction_t *step, bool details) {
    char text[PTO_ROUTE_TEXT_MAX];
    int longest = (int)strlen("Cheapest");
    for (int i = 0; i < step->workload->call_count; i++)
        if (pto_workload_is_call(&step->workload->call[i]))
            longest = pto_wider(longest, route_text(step, i, details, text));
    return longest;
}

/* The width of a line of the first table without the name, as print_call prints it: Times and Share have 5
 * characters each, four gaps have two blanks, and three have one. */
static int width_without_name(const pto_step_prediction_t *step, bool details) {
    return along_width(step->workload) + SHAPE_WIDTH + BYTES_WIDTH + TIME_WIDTH + 5 + 5 + 4 * 2 + 3 +
           longest_route(step, details);
}

/* The width of the longest name, with two characters for "+ ", but at most the room for it. If there is room
 * for less than NAME_LEAST, it is at most NAME_MAX, and lines are too wide. */
static int name_width(const pto_step_prediction_t *step) {
    const pto_workload_t *workload = step->workload;
    int width = NAME_LEAST, room = pto_terminal_width(stdout) - width_without_name(step, false);
    for (int i = 0; i < workload->call_count; i++) {
        int length = (int)strlen(pto_workload_call_name(&workload->call[i])) + 2;
        width = length > width ? length : width;
    }
    if (room < NAME_LEAST)
        room = NAME_MAX;
    return width < room ? width : room;
}

static void print_name(const pto_step_prediction_t *step, int call) {
    char name[256];
    snprintf(name, sizeof name, "%s%s", runs_with_previous(step->workload, call) ? "+ " : "",
             pto_workload_call_name(&step->workload->call[call]));
    pto_print_label(name_width(step), name);
}

/* Prints the columns of a call between its name and its route. `all_s` is all_calls_s. */
static void print_call(const pto_step_prediction_t *step, int i, double all_s) {
    const pto_workload_call_t *call = &step->workload->call[i];
    const pto_layout_t *layout = &call->scenario.layout;
    char along[PTO_WORKLOAD_ALONG_MAX], shape[48], size[PTO_BYTES_TEXT_MAX + 8];
    const pto_strategy_t *strategy;
    double seconds = pto_step_best(step, i, &strategy)->price.seconds;
    snprintf(shape, sizeof shape, "%lldx%lld", (long long)layout->nodes, (long long)layout->gpus_per_node);
    snprintf(size, sizeof size, "%s%s", PTO_SIZE_TEXT(call->scenario.bytes.value[0]),
             call->scenario.collective == PTO_COLLECTIVE_HALO ? "/cell" : "");
    printf("  %-*s  %*s %*s %5lld %*s  %4.0f%%  ", along_width(step->workload),
           pto_workload_along_text(step->workload, call->along, along), SHAPE_WIDTH, shape, BYTES_WIDTH, size,
           (long long)call->times, TIME_WIDTH, PTO_SECONDS_TEXT(seconds),
           all_s > 0 ? 100 * (double)call->times * seconds / all_s : 0);
}

/* Whether the first table has room for the details of routes. */
static bool has_room(const pto_step_prediction_t *step) {
    return name_width(step) + width_without_name(step, true) <= pto_terminal_width(stdout);
}

static void print_calls(const pto_step_prediction_t *step, bool details) {
    const pto_workload_t *workload = step->workload;
    char text[PTO_ROUTE_TEXT_MAX];
    int names = name_width(step), alongs = along_width(workload);
    double all_s = all_calls_s(step);
    printf("# %-*s  %-*s  %*s %*s %5s %*s  Share  Cheapest\n", names - 2, "Call", alongs, "Along",
           SHAPE_WIDTH, "Shape", BYTES_WIDTH, "Size", "Times", TIME_WIDTH, "Each");
    for (int i = 0; i < workload->call_count; i++) {
        print_name(step, i);
        if (pto_workload_is_call(&step->workload->call[i])) {
            print_call(step, i, all_s);
            printf("%s\n", route_text(step, i, details, text));
            continue;
        }
        printf("  %-*s  %*s %*s %5lld %*s\n", alongs, "", SHAPE_WIDTH, "", BYTES_WIDTH, "",
               (long long)workload->call[i].times, TIME_WIDTH, PTO_SECONDS_TEXT(workload->call[i].compute_s));
    }
}

int pto_step_by_time(const void *a, const void *b) {
    const pto_step_route_t *left = a, *right = b;
    if (left->applicable != right->applicable)
        return left->applicable ? -1 : 1;
    return (left->communication_s > right->communication_s) -
           (left->communication_s < right->communication_s);
}

/* The columns of the second table: routes, and whether lines of intervals follow the rows. */
typedef struct {
    const pto_step_prediction_t *step;
    const pto_step_route_t *route;
    int count;
    bool ci;
} columns_t;

static int column_width(const columns_t *columns, int r) {
    const pto_strategy_t *strategy = columns->route[r].strategy;
    return pto_wider(columns->ci ? INTERVAL_WIDTH : TIME_WIDTH, strategy ? strategy->name : "cheapest");
}

/* In the functions below, `r` is the index of a column. */
static void print_cell(const columns_t *columns, int r, bool known, double seconds) {
    printf("  %*s", column_width(columns, r), known ? PTO_SECONDS_TEXT(seconds) : "-");
}

static void print_interval(const columns_t *columns, int r, double low_s, double high_s) {
    char text[PTO_INTERVAL_TEXT_MAX] = "-";
    if (low_s < high_s)
        pto_interval_text(PTO_SECONDS_TEXT(low_s), PTO_SECONDS_TEXT(high_s), text);
    printf("  %*s", column_width(columns, r), text);
}

static void print_call_times(const columns_t *columns, int call) {
    const pto_step_prediction_t *step = columns->step;
    const double times = (double)step->workload->call[call].times;
    print_name(step, call);
    for (int r = 0; r < columns->count; r++) {
        double seconds;
        bool known = pto_step_call_seconds(step, call, columns->route[r].strategy, &seconds);
        print_cell(columns, r, known, seconds * times);
    }
    putchar('\n');
    if (!columns->ci)
        return;
    printf("%-*s", name_width(step), "#   95%");
    for (int r = 0; r < columns->count; r++) {
        const pto_prediction_t *prediction = pto_step_call_prediction(step, call, columns->route[r].strategy);
        bool known = prediction && prediction->price.has_interval;
        print_interval(columns, r, known ? prediction->price.low_s * times : 0,
                       known ? prediction->price.high_s * times : 0);
    }
    putchar('\n');
}

const char *pto_step_total_name(int total) {
    static const char *const name[PTO_STEP_TOTALS] = {"communication", "exposed", "step"};
    return name[total];
}

double pto_step_total(const pto_step_end_t *end, int total) {
    const double seconds[PTO_STEP_TOTALS] = {end->communication_s, end->exposed_s, end->step_s};
    return seconds[total];
}

static void print_total(const columns_t *columns, int total) {
    const int width = name_width(columns->step);
    printf("%-*s", width, pto_step_total_name(total));
    for (int r = 0; r < columns->count; r++) {
        const pto_step_route_t *route = &columns->route[r];
        const pto_step_end_t end = {route->communication_s, route->exposed_s, route->seconds};
        print_cell(columns, r, route->applicable, pto_step_total(&end, total));
    }
    putchar('\n');
    if (!columns->ci)
        return;
    printf("%-*s", width, "#   95%");
    for (int r = 0; r < columns->count; r++)
        print_interval(columns, r, pto_step_total(&columns->route[r].low, total),
                       pto_step_total(&columns->route[r].high, total));
    putchar('\n');
}

static void print_routes(const columns_t *columns) {
    const pto_workload_t *workload = columns->step->workload;
    printf("# %-*s", name_width(columns->step) - 2, "All of them");
    for (int r = 0; r < columns->count; r++)
        printf("  %*s", column_width(columns, r),
               columns->route[r].strategy ? columns->route[r].strategy->name : "cheapest");
    putchar('\n');
    for (int i = 0; i < workload->call_count; i++)
        if (pto_workload_is_call(&workload->call[i]))
            print_call_times(columns, i);
    for (int total = 0; total < PTO_STEP_TOTALS; total++)
        print_total(columns, total);
}

/* As many columns as fit, but at least those of the cheapest mix and one strategy. */
static int count_columns(const columns_t *columns) {
    int used = name_width(columns->step), width = pto_terminal_width(stdout), shown = 0;
    for (; shown < columns->count; shown++) {
        used += 2 + column_width(columns, shown);
        if (used > width && shown >= 2)
            break;
    }
    return shown;
}

static void print_left_out(const pto_step_route_t *route, int from, int count) {
    pto_text_t list = {0};
    for (int r = from; r < count; r++)
        pto_list_add(&list, PTO_MORE_COLUMNS, route[r].strategy->name);
    pto_print_list(&list);
}

/* Prints the second table: the cheapest mix, then all strategies, the fastest first. */
static void print_all_routes(const pto_step_prediction_t *step, const pto_options_t *options) {
    int count = step->route_count + 1;
    pto_step_route_t *route = calloc((size_t)count, sizeof *route);
    if (!route)
        return;
    route[0] = step->mix;
    memcpy(route + 1, step->route, (size_t)step->route_count * sizeof *route);
    qsort(route + 1, (size_t)step->route_count, sizeof *route, pto_step_by_time);
    bool all = options->all || options->has_strategies;
    columns_t columns = {step, route, count, options->ci};
    columns.count = all ? count : count_columns(&columns);
    print_routes(&columns);
    print_left_out(route, columns.count, count);
    free(route);
}

const char *pto_step_compute_of(const pto_step_prediction_t *step, const pto_options_t *options) {
    const char *path = step->workload->machine_path; /* of a machine that --machine has replaced */
    const char *name = path ? pto_file_name(path) : NULL;
    return name && strcmp(name, pto_machine_name(options->machine)) != 0 ? name : NULL;
}

const char *pto_step_compute_text(const pto_step_prediction_t *step, const pto_options_t *options,
                                  char text[PTO_STEP_COMPUTE_TEXT_MAX]) {
    const char *origin = pto_step_compute_of(step, options);
    if (step->compute_s <= 0 || (!origin && options->compute_scale == 0))
        return NULL;
    if (options->compute_scale > 0)
        snprintf(text, PTO_STEP_COMPUTE_TEXT_MAX, "%g times the workload's%s%s", options->compute_scale,
                 origin ? ", which is for " : "", origin ? origin : "");
    else
        snprintf(text, PTO_STEP_COMPUTE_TEXT_MAX, "the workload's, for %s", origin);
    return text;
}

void pto_print_computation(const pto_step_prediction_t *step, const pto_options_t *options,
                           const char *advice) {
    char text[PTO_STEP_COMPUTE_TEXT_MAX];
    if (pto_step_compute_text(step, options, text))
        pto_print_head(stdout, "compute", "%s%s", text, options->compute_scale > 0 ? "" : advice);
}

void pto_print_json_computation(const pto_step_prediction_t *step, const pto_options_t *options) {
    PTO_MORE(stdout, pto_field_number("compute_s", step->compute_s),
             pto_field_number("compute_scale", options->compute_scale > 0 ? options->compute_scale : 1),
             pto_field_text("compute_of", pto_step_compute_of(step, options)));
}

static void print_header(const pto_step_prediction_t *step, const pto_options_t *options) {
    const pto_workload_t *workload = step->workload;
    pto_print_note(stdout, "portolan step: %s", workload->name);
    pto_print_machine(options->machine);
    pto_print_changes(stdout, options->machine);
    pto_print_layout(&workload->layout);
    for (int d = 0; d < workload->dim_count; d++)
        printf("%s%s %lld", d == 0 ? "# grid       " : " x ", workload->dim[d].name,
               (long long)workload->dim[d].size);
    fputs(workload->dim_count > 0 ? "\n" : "", stdout);
    pto_print_computation(step, options, " (--compute-scale)");
}

static void print_marks(const pto_step_prediction_t *step) {
    bool simultaneous = false, together = false, shared = false;
    pto_marks_t marks = {.unsure = false};
    for (int i = 0; i < step->workload->call_count; i++) {
        simultaneous = simultaneous || runs_with_previous(step->workload, i);
        if (!pto_workload_is_call(&step->workload->call[i]))
            continue;
        together = together || pto_step_is_chosen_together(step, i);
        pto_marks_add(&marks, pto_step_marks(step, i));
        shared = shared || step->workload->call[i].communicators.per_node > 1;
    }
    if (simultaneous)
        pto_print_note(stdout, "+: at once with the line above");
    if (together)
        pto_print_note(stdout, "&: chosen together with the calls at once; alone, another may be cheaper");
    if (shared)
        pto_print_note(stdout, "all communicators make a call at once and share the NICs of their nodes");
    pto_print_marks(marks);
}

static void print_footer(const pto_step_prediction_t *step) {
    pto_caveats_t caveats = {.count = 0};
    print_marks(step);
    pto_step_caveats_add_all(step, &caveats);
    pto_print_caveats(&caveats);
    char hint[PTO_MORE_PROCS_TEXT_MAX];
    if (pto_step_more_procs_text(step, true, hint))
        pto_print_note(stdout, "%s", hint);
}

void pto_print_step(const pto_step_prediction_t *step, const pto_options_t *options) {
    print_header(step, options);
    print_calls(step, options->all || has_room(step));
    print_all_routes(step, options);
    print_footer(step);
}

/* The prediction of a simulation's strategy; a simulation without one is of the cheapest mix. */
static const pto_step_route_t *predicted_route(const pto_step_prediction_t *step,
                                               const pto_step_simulation_t *simulation) {
    for (int r = 0; r < step->route_count && simulation->strategy; r++)
        if (step->route[r].strategy == simulation->strategy)
            return &step->route[r];
    return &step->mix;
}

static void print_pair(double predicted_s, double simulated_s) {
    printf("  %9s  %9s", PTO_SECONDS_TEXT(predicted_s), PTO_SECONDS_TEXT(simulated_s));
    if (predicted_s > 0)
        printf("  %5.2f", simulated_s / predicted_s);
    putchar('\n');
}

static void print_simulation(const pto_step_prediction_t *step, const pto_step_simulation_t *simulation) {
    const pto_workload_t *workload = step->workload;
    const pto_step_route_t *route = predicted_route(step, simulation);
    const pto_step_end_t predicted = {route->communication_s, route->exposed_s, route->seconds};
    const pto_step_end_t simulated = {simulation->communication_s, simulation->exposed_s,
                                      simulation->seconds};
    int width = name_width(step);
    printf("# %-*s  %9s  %9s  Ratio\n", width - 2,
           simulation->strategy ? simulation->strategy->name : "cheapest", "Predicted", "Simulated");
    for (int i = 0; i < workload->call_count; i++) {
        double seconds;
        if (!pto_workload_is_call(&step->workload->call[i]) ||
            !pto_step_call_seconds(step, i, simulation->strategy, &seconds))
            continue;
        print_name(step, i);
        print_pair(seconds * (double)workload->call[i].times, simulation->call_s[i]);
    }
    for (int total = 0; total < PTO_STEP_TOTALS; total++) {
        pto_print_label(width, pto_step_total_name(total));
        print_pair(pto_step_total(&predicted, total), pto_step_total(&simulated, total));
    }
}

void pto_print_step_simulations(const pto_step_prediction_t *step, const pto_step_simulation_t *simulation,
                                int count) {
    fputs("#\n", stdout);
    for (int i = 0; i < count; i++)
        print_simulation(step, &simulation[i]);
    pto_print_note(
        stdout,
        "predicted: each call as if alone with its kind; simulated: while the other calls of its entry run");
}
