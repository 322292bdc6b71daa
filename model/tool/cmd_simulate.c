/* portolan simulate: prints the simulated time of each strategy at every point and the use of resources, such
 * as NICs and copy engines, and writes a trace. A cell is one strategy at one point: cell = point *
 * strategy_count
 * + strategy. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "command.h"
#include "command_line/progress.h"
#include "command_line/terminal.h"
#include "portolan/simulate.h"
#include "show/record.h"
#include "show/table.h"
#include "show/trace.h"

static const char usage[] =
    "usage: portolan simulate [SCENARIO.yaml] [OPTIONS]\n\n"
    "Prints the same table as `portolan predict`, from a simulation of the same plans in which all ranks\n"
    "compete for the resources that they use, and below it where the time goes:\n\n"
    "  portolan simulate alltoall-summit\n"
    "  portolan simulate --machine summit-spectrum --collective alltoall --nodes 4 --bytes 1KiB --strategy "
    "three_step --trace trace.json\n\n"
    "A trace holds one simulation, for chrome://tracing and ui.perfetto.dev: a process for each node, with\n"
    "a thread for each side of a rank and for each shared resource.\n\n"
    "csv: columns as of predict, and for each kind of resource two times in seconds: the largest busy time\n"
    "of one resource, and the largest waiting time of one resource.\n";

typedef struct {
    pto_options_t shared;
    const char *trace; /* NULL: none; borrowed from argv */
    int64_t trace_events;
} simulate_options_t;

#define STORE(form, member) PTO_STORE(form, simulate_options_t, member)

static const pto_option_t own_options[] = {
    {"trace", "FILE.json", "write the simulation's events in the Chrome trace format", STORE(TEXT, trace)},
    {"trace-events", "N", "maximum number of events in the trace", STORE(COUNT, trace_events),
     .standard = "1000000"},
    PTO_COLUMNS_OPTION,
    PTO_BANDWIDTH_OPTION,
    {.name = NULL}};

static const pto_syntax_t syntax =
    PTO_SCENARIO_SYNTAX("portolan simulate", usage, PTO_NAMES_SCENARIOS, {"options", pto_format_options},
                        {NULL, own_options}, {NULL, pto_work_options});

/* "BUSY/WAITING": how long the busiest resource of a kind was busy, and how long the one with the longest
 * wait waited, in percent of the time. */
static const char *use_text(const pto_resource_use_t *use, double seconds, char text[32]) {
    double busy = seconds > 0 ? 100 * use->most_busy_s / seconds : 0;
    double waiting = seconds > 0 ? 100 * use->most_waiting_s / seconds : 0;
    snprintf(text, 32, "%.0f/%.0f", busy, waiting);
    return text;
}

/* The widths of the columns; 0 for a resource that is never used. */
static void find_widths(const pto_predictions_t *predictions, const pto_simulation_t *simulation,
                        int width[PTO_RESOURCE_COUNT]) {
    char text[32];
    for (int i = 0; i < PTO_RESOURCE_COUNT; i++) {
        bool is_used = false;
        width[i] = (int)strlen(pto_resource_short_name((pto_resource_t)i));
        for (int64_t cell = 0; cell < predictions->point_count * predictions->strategy_count; cell++)
            if (predictions->prediction[cell].applicable) {
                is_used = is_used || simulation[cell].use[i].busy_s > 0;
                width[i] =
                    pto_wider(width[i], use_text(&simulation[cell].use[i], simulation[cell].seconds, text));
            }
        width[i] = is_used ? width[i] : 0;
    }
}

enum { MESSAGES_WIDTH = 8 };

/* The columns of one part of a table: resources `first` up to `end`, and in the last part the messages. */
typedef struct {
    const int *width; /* of each resource; 0: it has no column */
    int first, end;
    bool with_messages;
} part_t;

static void print_where_row(const pto_predictions_t *predictions, const pto_simulation_t *simulation,
                            int64_t cell, const part_t *part) {
    char text[32];
    printf("# %-7s %-13s",
           PTO_POINT_TEXT(predictions, predictions->point[cell / predictions->strategy_count]),
           predictions->strategy[cell % predictions->strategy_count]->name);
    for (int i = part->first; i < part->end; i++)
        if (part->width[i])
            printf(" %*s", part->width[i],
                   use_text(&simulation[cell].use[i], simulation[cell].seconds, text));
    if (part->with_messages)
        printf(" %*lld", MESSAGES_WIDTH, (long long)simulation[cell].messages);
    putchar('\n');
}

static void print_part(const pto_predictions_t *predictions, const pto_simulation_t *simulation,
                       const part_t *part) {
    printf("# %-7s %-13s", pto_sweep_heading(predictions->sweep), "Strategy");
    for (int i = part->first; i < part->end; i++)
        if (part->width[i])
            printf(" %*s", part->width[i], pto_resource_short_name((pto_resource_t)i));
    puts(part->with_messages ? " Messages" : "");
    for (int64_t cell = 0; cell < predictions->point_count * predictions->strategy_count; cell++)
        if (predictions->prediction[cell].applicable)
            print_where_row(predictions, simulation, cell, part);
}

/* Choose the columns from resource `first` on that fit into a line: at least one. */
static part_t choose_part(const int width[PTO_RESOURCE_COUNT], int first) {
    enum { NAMES_WIDTH = 2 + 7 + 1 + 13 };
    part_t part = {.width = width, .first = first, .end = first};
    int used = NAMES_WIDTH, columns = 0;
    for (; part.end < PTO_RESOURCE_COUNT; part.end++) {
        int more = width[part.end] ? 1 + width[part.end] : 0;
        if (columns > 0 && used + more > pto_terminal_width(stdout))
            return part;
        used += more;
        columns += more > 0;
    }
    part.with_messages = columns == 0 || used + 1 + MESSAGES_WIDTH <= pto_terminal_width(stdout);
    return part;
}

static void print_where(const pto_predictions_t *predictions, const pto_simulation_t *simulation) {
    int width[PTO_RESOURCE_COUNT];
    bool in_host = predictions->scenario->layout.in_host;
    fputs("#\n", stdout);
    pto_print_note(stdout,
                   "Where the time went, in percent of it: the busiest of a kind was busy / the one that "
                   "waited longest waited. send, receive, local: of a rank; inject, eject, rate, routes: of "
                   "a node; fabric: of the machine; the others: of a %s.",
                   in_host ? "process" : "GPU");
    find_widths(predictions, simulation, width);
    for (part_t part = {.with_messages = false}; !part.with_messages;) {
        part = choose_part(width, part.end);
        print_part(predictions, simulation, &part);
    }
}

static void print_csv(const pto_predictions_t *predictions, const pto_simulation_t *simulation) {
    char columns[2048] = "";
    pto_line_t line = {.text = columns, .size = sizeof columns};
    pto_line_add(&line, "seconds,simulated_messages");
    for (pto_resource_t i = 0; i < PTO_RESOURCE_COUNT; i++)
        pto_line_add(&line, ",%s_busy_s,%s_waiting_s", pto_resource_name(i), pto_resource_name(i));
    pto_print_csv_heading(columns);
    for (int64_t cell = 0; cell < predictions->point_count * predictions->strategy_count; cell++) {
        bool applies = predictions->prediction[cell].applicable;
        pto_print_csv_cell(predictions, cell);
        PTO_RECORD(
            stdout, PTO_FORMAT_CSV,
            pto_field_if(applies, pto_field_number("seconds", predictions->prediction[cell].price.seconds)),
            pto_field_if(applies, pto_field_count("simulated_messages", simulation[cell].messages)));
        for (int i = 0; i < PTO_RESOURCE_COUNT; i++)
            PTO_RECORD(
                stdout, PTO_FORMAT_CSV,
                pto_field_if(applies, pto_field_number("busy_s", simulation[cell].use[i].most_busy_s)),
                pto_field_if(applies, pto_field_number("waiting_s", simulation[cell].use[i].most_waiting_s)));
        pto_print_csv_end(predictions, cell);
    }
}

static void print_json_use(pto_resource_t resource, const pto_resource_use_t *use, const char *before) {
    PTO_OBJECT(stdout, before, pto_field_text("resource", pto_resource_name(resource)),
               pto_field_text("of", pto_resource_owner(resource)), pto_field_count("count", use->count),
               pto_field_number("busy_s", use->busy_s), pto_field_number("waiting_s", use->waiting_s),
               pto_field_number("most_busy_s", use->most_busy_s), pto_field_count("busiest", use->busiest),
               pto_field_number("most_waiting_s", use->most_waiting_s),
               pto_field_count("most_waiting", use->most_waiting));
}

typedef struct {
    const pto_predictions_t *predictions;
    const pto_simulation_t *simulation; /* of each cell */
} simulated_t;

/* Called by pto_print_json_cells for each cell; `context` is a simulated_t. */
static void print_json_cell(int64_t cell, const void *context) {
    const simulated_t *simulated = context;
    const pto_simulation_t *simulation = &simulated->simulation[cell];
    pto_caveats_t caveats = {.count = 0};
    pto_caveats_add(&caveats, &simulated->predictions->prediction[cell]);
    PTO_MORE(stdout, pto_field_unpriced_if_any(&caveats), pto_field_extrapolated(&caveats),
             pto_field_count("slowest_rank", simulation->slowest_rank),
             pto_field_count("messages", simulation->messages),
             pto_field_count("most_in_flight", simulation->most_in_flight));
    printf(", \"resources\": [");
    for (int i = 0, printed = 0; i < PTO_RESOURCE_COUNT; i++)
        if (simulation->use[i].busy_s > 0)
            print_json_use((pto_resource_t)i, &simulation->use[i], printed++ ? ",\n    " : "\n    ");
    putchar(']');
}

/* Check that --trace is for a single simulation. */
static int check_options(const pto_options_t *options) {
    const char *trace = ((const simulate_options_t *)options)->trace;
    const pto_strategy_t **strategy;
    int strategies;
    pto_error_t err = {0};
    int code = pto_check_bandwidth(&syntax, options);
    if (code < 0)
        code = pto_refuse_standard_output(&syntax, "trace", trace);
    if (code >= 0 || !trace)
        return code;
    if (pto_scenario_strategies(&options->scenario, &strategy, &strategies, &err) != PTO_OK)
        return pto_report_error(&err);
    free(strategy);
    int64_t points = pto_scenario_points(&options->scenario);
    if (points * strategies == 1)
        return -1;
    fprintf(stderr,
            "portolan: --trace: a trace is of one simulation, and this scenario has %d strategies at %lld "
            "points; --strategy NAME and a single --%s choose\n",
            strategies, (long long)points, pto_sweep_kind_name(pto_scenario_sweep(&options->scenario)));
    return PTO_EXIT_USAGE;
}

static void print_all(const pto_options_t *options, const pto_predictions_t *predictions,
                      const pto_simulation_t *simulation) {
    if (options->format == PTO_FORMAT_CSV) {
        print_csv(predictions, simulation);
    } else if (options->format == PTO_FORMAT_JSON) {
        const simulated_t simulated = {predictions, simulation};
        pto_print_json_cells("simulations", predictions, print_json_cell, &simulated);
    } else {
        pto_print_table("simulate", predictions, options);
        print_where(predictions, simulation);
    }
}

static pto_status_t run(pto_options_t *options, pto_error_t *err) {
    const simulate_options_t *own = (const simulate_options_t *)options;
    pto_predictions_t predictions;
    pto_simulation_t *simulation;
    pto_trace_t *trace = NULL;
    pto_simulate_options_t how = {.limit = options->scenario.work_limit, .begin = pto_progress_show};
    if (own->trace) {
        pto_status_t created =
            pto_trace_create(own->trace, &options->scenario.layout, own->trace_events, &trace, err);
        if (created != PTO_OK)
            return created;
        how.visit = pto_trace_visit;
        how.context = trace;
    }
    pto_status_t status =
        pto_simulate_scenario(&options->scenario, options->machine, &how, &predictions, &simulation, err);
    bool simulated = status == PTO_OK;
    pto_status_t traced = trace ? pto_trace_close(trace, simulated, simulated ? err : NULL) : PTO_OK;
    if (!simulated)
        return status;
    if (traced == PTO_OK)
        print_all(options, &predictions, simulation);
    pto_predictions_fini(&predictions);
    free(simulation);
    return traced;
}

const pto_command_t pto_command_simulate = {.name = "simulate",
                                            .summary =
                                                "print what each strategy takes by simulation, and where",
                                            .syntax = &syntax,
                                            .options_size = sizeof(simulate_options_t),
                                            .on_scenario = run,
                                            .check = check_options};
