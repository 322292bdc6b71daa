/* portolan traffic: messages and bytes between all pairs of processes in a plan, as csv and heat map. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "portolan/traffic.h"
#include "show/table.h"
#include "show/traffic_plot.h"

static const char usage[] =
    "usage: portolan traffic [SCENARIO.yaml] --strategy NAME [OPTIONS]\n\n"
    "Prints how many messages and bytes each process sends to each, by the plan of one strategy at the\n"
    "scenario's first point, as csv: the ranks, the spaces of the memory at both ends, and the kind, which\n"
    "is message, access (a copy or reduction that reads or writes another process's memory) or nccl. The\n"
    "counts are exact; nothing is run. `counts: {matrix: FILE}` and --counts read the file.\n\n"
    "  portolan traffic alltoall-summit --strategy three_step --nodes 2\n"
    "  portolan traffic --machine summit-spectrum --collective allreduce --nodes 2 --bytes 1MiB --strategy "
    "cuda_aware --out traffic.csv --plot traffic.svg\n";

typedef struct {
    pto_options_t shared;
    const char *plot; /* NULL: not requested; borrowed from argv */
} traffic_options_t;

#define STORE(form, member) PTO_STORE(form, traffic_options_t, member)

static const pto_option_t own_options[] = {
    {"out", "FILE.csv", "write the rows there instead of to standard output (-)", STORE(TEXT, shared.out)},
    {"force", NULL, "replace a file that exists", STORE(FLAG, shared.force)},
    {"plot", "FILE.svg|png", "draw a heat map (needs gnuplot)", STORE(TEXT, plot)},
    {.name = NULL}};

static const pto_syntax_t syntax = PTO_SCENARIO_SYNTAX("portolan traffic", usage, PTO_NAMES_SCENARIOS,
                                                       {"options", own_options}, {NULL, pto_work_options});

static int check(const pto_options_t *options) {
    int code = pto_check_plot(&syntax, ((const traffic_options_t *)options)->plot);
    return code < 0 ? pto_options_one_strategy(options, &syntax, "the traffic") : code;
}

/* The context of write_rows and write_pair. */
typedef struct {
    const pto_options_t *options;
    const pto_plan_t *plan;
    FILE *stream;
    pto_traffic_map_t *map; /* NULL: no plot */
    bool has_heading;       /* it is written */
} writing_t;

/* Write the heading, unless it is written. Called before each row, and after the last one for a plan without
 * rows, so that a plan that fails before its first row leaves no heading. */
static void write_heading(writing_t *writing) {
    const pto_request_t *request = pto_plan_request(writing->plan);
    if (writing->has_heading)
        return;
    writing->has_heading = true;
    fprintf(writing->stream, "# portolan traffic: %s by %s with %s, %" PRId64 " bytes\n",
            pto_collective_name(request->collective), request->strategy->name, request->algorithm->name,
            request->bytes);
    pto_print_changes(writing->stream, writing->options->machine);
    fprintf(writing->stream, "# ranks=%" PRId64 "\n", pto_layout_rank_count(&request->layout));
    fputs("source,destination,source_space,destination_space,kind,messages,bytes\n", writing->stream);
}

static void write_pair(void *context, const pto_traffic_pair_t *pair) {
    writing_t *writing = context;
    write_heading(writing);
    fprintf(writing->stream, "%" PRId64 ",%" PRId64 ",%s,%s,%s,%" PRId64 ",%" PRId64 "\n", pair->source,
            pair->destination, pto_space_name(pair->source_space), pto_space_name(pair->destination_space),
            pto_traffic_kind_name(pair->kind), pair->messages, pair->bytes);
    if (writing->map)
        pto_traffic_map_add(writing->map, pair);
}

static pto_status_t write_rows(void *context, FILE *stream, pto_error_t *err) {
    writing_t *writing = context;
    writing->stream = stream;
    pto_status_t status = pto_plan_traffic(writing->plan, write_pair, writing, err);
    if (status == PTO_OK)
        write_heading(writing);
    return status;
}

static pto_status_t write_and_draw(const pto_options_t *options, const pto_plan_t *plan, pto_error_t *err) {
    const char *path = ((const traffic_options_t *)options)->plot;
    const pto_request_t *request = pto_plan_request(plan);
    char title[128];
    pto_traffic_map_t map;
    writing_t writing = {.options = options, .plan = plan};
    if (!path)
        return pto_options_write(options, write_rows, &writing, err);
    writing.map = &map;
    snprintf(title, sizeof title, "%s by %s, %" PRId64 " bytes", pto_collective_name(request->collective),
             request->strategy->name, request->bytes);
    pto_status_t status = pto_traffic_map_init(&map, pto_layout_rank_count(&request->layout), title, err);
    if (status == PTO_OK)
        status = pto_options_write(options, write_rows, &writing, err);
    pto_plot_t plot = pto_traffic_plot(&map);
    if (status == PTO_OK)
        status = pto_plot_draw(&plot, path, err);
    pto_traffic_map_fini(&map);
    return status;
}

/* Refuse a plan with too many messages, copies or stages that all ranks pass. Too many ranks are left to
 * pto_plan_traffic to refuse, because raising --limit would not help. */
static pto_status_t check_size(const pto_options_t *options, const pto_plan_t *plan, pto_error_t *err) {
    if (pto_layout_rank_count(&pto_plan_request(plan)->layout) > PTO_PRICE_WALK_RANKS_MAX)
        return PTO_OK;
    pto_plan_size_t size = pto_plan_size(plan);
    int64_t most = size.messages > size.local_actions ? size.messages : size.local_actions;
    return pto_check_amount(&options->scenario, "the traffic counts", most > size.stages ? most : size.stages,
                            1, err);
}

static pto_status_t run(pto_options_t *options, pto_error_t *err) {
    const pto_strategy_t **strategy = NULL;
    int count = 0;
    pto_plan_t *plan = NULL;
    pto_price_t price;
    pto_status_t status = pto_scenario_strategies(&options->scenario, &strategy, &count, err);
    if (status == PTO_OK)
        status = pto_check_point_work(&options->scenario, options->machine, 0, err);
    if (status == PTO_OK)
        status =
            pto_plan_choose(&options->scenario, options->machine, 0, strategy[0], &plan, &price, NULL, err);
    if (status == PTO_OK)
        status = check_size(options, plan, err);
    if (status == PTO_OK)
        status = write_and_draw(options, plan, err);
    pto_plan_destroy(plan);
    free(strategy);
    return status;
}

const pto_command_t pto_command_traffic = {.name = "traffic",
                                           .summary = "print how much each process sends to each",
                                           .syntax = &syntax,
                                           .options_size = sizeof(traffic_options_t),
                                           .on_scenario = run,
                                           .check = check};
