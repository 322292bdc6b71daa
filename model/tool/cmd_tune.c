/* portolan tune: prints how many members of a collective the strategy mix should stage through host memory,
 * by size and number of processes, as rows of a machine file's `tuning`. A member of a collective is one of
 * its processes; a staged member copies its input or output through the host, the others use GPU memory. */
#include <stdlib.h>

#include "base/checked.h"
#include "command.h"
#include "machine/machine_internal.h"
#include "portolan/strategy.h"
#include "show/record.h"
#include "show/table.h"

static const char usage[] =
    "usage: portolan tune --machine MACHINE [OPTIONS]\n\n"
    "Prints how many members strategy mix should stage through host memory, for 2, 4, 8, ... processes of a\n"
    "GPU, with the times of that number, of none and of all. The table is in the form of a machine file's\n"
    "`tuning`, whose rows replace the predicted numbers.\n\n"
    "  portolan tune --machine h200-x2\n"
    "  portolan tune --machine h200-x2-mps --collective allgather --bytes 4KiB:16MiB:2 --format csv\n";

#define STORE(form, member) PTO_STORE(form, pto_options_t, member)

static const pto_option_t own_options[] = {
    {"collective", "NAME", "allreduce or allgather (default: both)", .apply = pto_option_apply_collective,
     .word_at = pto_collective_at},
    {"bytes", "N|FROM:TO", "bytes of the vector or of allgather's blocks (default 4:64MiB:4)",
     .apply = pto_option_apply_bytes},
    {"gpus-per-node", "N", "GPUs whose processes take part", STORE(COUNT, scenario.layout.gpus_per_node),
     .standard = "1"},
    {"procs-per-gpu", "N", "most processes per GPU (default: the machine's cores, divided evenly)",
     STORE(COUNT, scenario.layout.procs_per_gpu)},
    {.name = NULL}};

static const pto_syntax_t syntax = {.program = "portolan tune",
                                    .usage = usage,
                                    .set = PTO_SETS({"options", own_options}, {NULL, pto_work_options},
                                                    {NULL, pto_machine_options}, {NULL, pto_change_options},
                                                    {NULL, pto_format_options})};

/* One size: the cheapest numbers of staged members, and the times of these, of none and of all. */
typedef struct {
    int64_t bytes;
    pto_staged_t staged;
    double seconds;
    double none_s;
    double all_s;
} cell_t;

static const pto_strategy_t *staging_strategy(pto_collective_t collective) {
    for (int i = 0; i < pto_strategy_count(); i++) {
        const pto_strategy_t *strategy = pto_strategy_at(i);
        if (strategy->stages && strategy->collectives & 1u << collective)
            return strategy;
    }
    return NULL;
}

/* A machine file has one table for allgather and allgatherv. */
static bool is_tuned(pto_collective_t collective) {
    return staging_strategy(collective) && !pto_collective_is_by_owner(collective);
}

/* The price with `staged` members staged. `*members` is their number in the plan, which is the cheapest if
 * `staged` is PTO_STAGED_ALL. */
static pto_status_t price_staged(const pto_options_t *options, pto_scenario_t *scenario, int64_t point,
                                 pto_staged_t staged, pto_staged_t *members, double *seconds,
                                 pto_error_t *err) {
    pto_plan_t *plan = NULL;
    pto_price_t price;
    scenario->staged_members = staged;
    pto_status_t status = pto_plan_choose(scenario, options->machine, point,
                                          staging_strategy(scenario->collective), &plan, &price, NULL, err);
    if (status != PTO_OK)
        return status;
    *members = pto_plan_request(plan)->staged_members;
    *seconds = price.seconds;
    pto_plan_destroy(plan);
    return PTO_OK;
}

/* The options' scenario with `procs` processes on each GPU. It borrows what the options own. */
static pto_scenario_t scenario_with(const pto_options_t *options, pto_collective_t collective,
                                    int64_t procs) {
    pto_scenario_t scenario = options->scenario;
    scenario.collective = collective;
    scenario.layout.owners_per_gpu = scenario.layout.procs_per_gpu = procs;
    return scenario;
}

/* Tune all sizes for `procs` processes on each GPU. `cell` has one element for each size. */
static pto_status_t tune(const pto_options_t *options, pto_collective_t collective, int64_t procs,
                         cell_t *cell, pto_error_t *err) {
    pto_scenario_t scenario = scenario_with(options, collective, procs);
    pto_status_t status = PTO_OK;
    int64_t others = scenario.layout.gpus_per_node * procs - 1;
    const pto_staged_t cheapest = {PTO_STAGED_ALL, PTO_STAGED_ALL}, none = {0, 0}, all = {others, others};
    for (int64_t i = 0; i < scenario.bytes.count && status == PTO_OK; i++) {
        pto_staged_t ignored;
        cell[i].bytes = scenario.bytes.value[i];
        status = price_staged(options, &scenario, i, cheapest, &cell[i].staged, &cell[i].seconds, err);
        if (status == PTO_OK)
            status = price_staged(options, &scenario, i, none, &ignored, &cell[i].none_s, err);
        if (status == PTO_OK)
            status = price_staged(options, &scenario, i, all, &ignored, &cell[i].all_s, err);
    }
    return status;
}

static bool is_same(pto_staged_t a, pto_staged_t b) { return a.in == b.in && a.out == b.out; }

/* One row for each range of sizes with the same numbers. */
static void print_rows(int64_t procs, const cell_t *cell, int64_t count) {
    for (int64_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && is_same(cell[end].staged, cell[first].staged);)
            end++;
        printf("    # from %s: %s, none staged %s, all %s\n    - {procs: %lld, ",
               PTO_SIZE_TEXT(cell[first].bytes), PTO_SECONDS_TEXT(cell[first].seconds),
               PTO_SECONDS_TEXT(cell[first].none_s), PTO_SECONDS_TEXT(cell[first].all_s), (long long)procs);
        if (end < count)
            printf("below_bytes: %lld, ", (long long)cell[end].bytes);
        printf("staged_in: %lld, staged_out: %lld}\n", (long long)cell[first].staged.in,
               (long long)cell[first].staged.out);
    }
}

static void print_cell(pto_collective_t collective, int64_t procs, const cell_t *cell, pto_format_t format) {
    PTO_RECORD(stdout, format, pto_field_text("collective", pto_collective_name(collective)),
               pto_field_count("procs", procs), pto_field_count("bytes", cell->bytes),
               pto_field_count("staged_in", cell->staged.in), pto_field_count("staged_out", cell->staged.out),
               pto_field_number("seconds", cell->seconds), pto_field_number("none_s", cell->none_s),
               pto_field_number("all_s", cell->all_s));
}

static void print_cells(const pto_options_t *options, pto_collective_t collective, int64_t procs,
                        const cell_t *cell, int64_t count, bool *first) {
    const bool json = options->format == PTO_FORMAT_JSON;
    for (int64_t i = 0; i < count; i++, *first = false) {
        fputs(!json ? "" : *first ? "\n  {" : ",\n  {", stdout);
        print_cell(collective, procs, &cell[i], options->format);
        if (!json)
            pto_print_csv_changes(options->machine);
        fputs(json ? "}" : "\n", stdout);
    }
}

static void print_head(const pto_options_t *options) {
    if (options->format == PTO_FORMAT_CSV) {
        puts("collective,procs,bytes,staged_in,staged_out,seconds,none_s,all_s,model,what_if");
    } else if (options->format == PTO_FORMAT_JSON) {
        pto_print_json_start(options->machine);
        printf(", \"tuning\": [");
    } else {
        printf("# portolan tune: members that mix stages, on %lld GPU%s of a node\n",
               (long long)options->scenario.layout.gpus_per_node,
               options->scenario.layout.gpus_per_node > 1 ? "s" : "");
        pto_print_machine(options->machine);
        pto_print_changes(stdout, options->machine);
        printf("tuning:\n");
    }
}

/* Tune and print a collective for 2, 4, 8, ... processes of a GPU. `*first`: no JSON object was printed yet.
 */
static pto_status_t tune_collective(const pto_options_t *options, pto_collective_t collective, cell_t *cell,
                                    bool *first, pto_error_t *err) {
    const pto_layout_t *layout = &options->scenario.layout;
    int64_t count = options->scenario.bytes.count;
    pto_status_t status = PTO_OK;
    if (options->format == PTO_FORMAT_TABLE)
        printf("  %s:\n", pto_collective_name(collective));
    for (int64_t procs = 2; procs <= layout->procs_per_gpu && status == PTO_OK; procs *= 2) {
        status = tune(options, collective, procs, cell, err);
        if (status == PTO_OK && options->format == PTO_FORMAT_TABLE)
            print_rows(layout->gpus_per_node * procs, cell, count);
        else if (status == PTO_OK)
            print_cells(options, collective, layout->gpus_per_node * procs, cell, count, first);
    }
    return status;
}

static bool is_selected(const pto_options_t *options, bool all, pto_collective_t collective) {
    return is_tuned(collective) && (all || options->scenario.collective == collective);
}

/* Refuse too much work. The prices with none and all staged are not counted: they are few. */
static pto_status_t check_work(const pto_options_t *options, bool all, pto_error_t *err) {
    int64_t work = 0;
    for (pto_collective_t c = 0; c < PTO_COLLECTIVE_COUNT; c++)
        for (int64_t procs = 2;
             is_selected(options, all, c) && procs <= options->scenario.layout.procs_per_gpu; procs *= 2) {
            pto_scenario_t scenario = scenario_with(options, c, procs);
            for (int64_t i = 0; i < scenario.bytes.count; i++)
                if (!pto_add(work, pto_cell_work(&scenario, options->machine, i, staging_strategy(c)), &work))
                    work = INT64_MAX;
        }
    return pto_check_amount(&options->scenario, "pricing takes the work of", work, 1, err);
}

static pto_status_t tune_all(const pto_options_t *options, bool all, pto_error_t *err) {
    bool first = true;
    pto_status_t status = check_work(options, all, err);
    if (status != PTO_OK)
        return status;
    cell_t *cell = calloc((size_t)options->scenario.bytes.count, sizeof *cell);
    if (!cell)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    print_head(options);
    for (pto_collective_t c = 0; c < PTO_COLLECTIVE_COUNT && status == PTO_OK; c++)
        if (is_selected(options, all, c))
            status = tune_collective(options, c, cell, &first, err);
    if (status == PTO_OK && options->format == PTO_FORMAT_JSON)
        printf("\n]}\n");
    free(cell);
    return status;
}

/* The default: one GPU of a node, and many sizes. */
static pto_status_t default_scenario(pto_scenario_t *scenario, pto_error_t *err) {
    pto_scenario_init(scenario);
    scenario->memory = PTO_MEMORY_GPU;
    scenario->layout.nodes = scenario->layout.gpus_per_node = 1;
    pto_status_t status = pto_series_one(1, &scenario->nodes, err);
    return status == PTO_OK ? pto_series_range(4, 64 << 20, 4, &scenario->bytes, err) : status;
}

/* Apply the options, and bind the scenario. `*all`: --collective is not given, so all that mix serves are
 * tuned. Returns -1, or the exit code after printing the error. */
static int apply(const pto_arguments_t *given, pto_options_t *options, bool *all) {
    pto_error_t err = {0};
    pto_scenario_t *scenario = &options->scenario;
    if (given->operand_count > 0)
        return pto_usage_error(&syntax, "'%s' is one word too many", given->operand[0]);
    pto_status_t status = default_scenario(scenario, &err);
    if (status != PTO_OK)
        return pto_report_error(&err);
    int code = pto_options_apply(given, options);
    if (code >= 0)
        return code;
    if (!scenario->machine_path)
        return pto_usage_error(&syntax, "no machine given (--machine)");
    *all = scenario->collective == PTO_COLLECTIVE_COUNT;
    if (*all)
        scenario->collective = PTO_COLLECTIVE_ALLREDUCE;
    if (!is_tuned(scenario->collective))
        return pto_usage_error(&syntax, "--collective: no strategy stages in %s",
                               pto_collective_name(scenario->collective));
    if (scenario->layout.procs_per_gpu == 1)
        return pto_usage_error(&syntax, "--procs-per-gpu: mix is for 2 or more processes of a GPU");
    const bool is_default = scenario->layout.procs_per_gpu == 0;
    code = pto_options_bind(options);
    if (code < 0 && is_default)
        scenario->layout.procs_per_gpu = options->machine->node.cores / options->machine->node.gpus;
    if (code >= 0 || scenario->layout.procs_per_gpu > 1)
        return code;
    pto_error_set(&err, PTO_ERR_NOT_APPLICABLE,
                  "%s has one core for each GPU, and mix is for 2 or more processes of a GPU",
                  pto_machine_name(options->machine));
    return pto_report_error(&err);
}

static int run(const pto_arguments_t *given) {
    pto_options_t options = {.scenario = {.name = NULL}};
    pto_error_t err = {0};
    bool all = false;
    int code = apply(given, &options, &all);
    if (code < 0)
        code = tune_all(&options, all, &err) == PTO_OK ? pto_flush_output() : pto_report_error(&err);
    pto_options_fini(&options);
    return code;
}

const pto_command_t pto_command_tune = {
    .name = "tune",
    .summary = "print how many processes should stage their data, as rows for a machine file",
    .syntax = &syntax,
    .run = run};
