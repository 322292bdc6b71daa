/* portolan step: predicts how long a step of an application communicates. The step is a workload file, or is
 * made from the sizes of a language model (step_numbers.c). A `route` of the step is one strategy for all its
 * calls; the `mix` takes the cheapest strategy of each call. Both are priced, and simulated with --simulate.
 * show/step_table.c prints the table; this file prints csv and JSON. */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "command_line/progress.h"
#include "command_line/terminal.h"
#include "command_line/workload_options.h"
#include "machine/machine_internal.h"
#include "portolan/workload.h"
#include "show/more_procs.h"
#include "show/record.h"
#include "show/step_table.h"
#include "show/table.h"
#include "step_numbers.h"

static const char usage[] =
    "usage: portolan step WORKLOAD.yaml [OPTIONS]\n"
    "       portolan step --layers N --width N --sequence N --flops RATE --machine MACHINE [OPTIONS]\n\n"
    "Predicts how long one step of an application communicates: by the cheapest route of each call, by each\n"
    "strategy used for all calls, and what of it computation does not hide. A workload file holds a layout,\n"
    "a grid of the processes, and the calls in their order:\n\n"
    "  workload: two-dimensional parallelism\n"
    "  machine: lassen-spectrum-refit\n"
    "  layout: {nodes: 64, gpus_per_node: 4}\n"
    "  grid: {data: 64, tensor: 4}   # the last varies fastest: in a node\n"
    "  step:\n"
    "    - {call: layers, on: tensor, collective: allreduce, bytes: 16MiB, times: 48}\n"
    "    - at_once:                  # gradients travel while the GPUs compute\n"
    "      - {call: gradients, on: data, collective: allreduce, bytes: 256MiB}\n"
    "      - {compute: 80 ms}\n\n"
    "`on` names the dimensions along which the members of a communicator differ: [data, tensor] are two,\n"
    "and world (the default) are all. All communicators of a call make it at once. The keys of a call are\n"
    "those of a scenario (docs/formats.md).\n\n"
    "  portolan step llm-training\n"
    "  portolan step llm-training --nodes 256 --what-if 'injection.*=/2'\n"
    "  portolan step llm-training --machine dgx-h100 --gpus-per-node 8 --grid tensor=8 --compute-scale "
    "0.2\n\n"
    "Computation takes what the workload says, whatever the machine: its GPUs may be others\n"
    "(--compute-scale).\n\n"
    "Without a workload, the step is one of training a language model, of as many GPUs as --tp, --pp and\n"
    "--dp multiply to: activations are recomputed, and calls and computation are those of the paper behind\n"
    "llm-training (docs/steps.md):\n\n"
    "  portolan step --layers 32 --width 4096 --sequence 4096 --batch 8 --tp 8 --dp 4 --flops 400e12 "
    "--machine dgx-h100\n\n"
    "--simulate lets all communicators of a call, and all calls at once, compete for the processes, NICs\n"
    "and links that they use. Of calls at once, it takes the mix of strategies with the shortest simulation\n"
    "of the four that are the cheapest by price:\n\n"
    "  portolan step fsdp --nodes 8 --procs-per-gpu 10 --simulate --strategy split_ring\n\n"
    "csv: one row per call and strategy, then the totals of the step per strategy, with `cheapest` for the\n"
    "cheapest mix: `call,along,communicators,nodes,gpus_per_node,bytes,times,strategy,algorithm,\n"
    "seconds,low_s,high_s,picked,unpriced,not_priced,extrapolated_from,model,what_if,\n"
    "compute_of,compute_scale` (docs/formats.md). The calls `communication`, `exposed` and `step` are the\n"
    "totals. Names that begin with `simulated` are of a simulation, all repetitions of a call together.\n";

typedef struct {
    pto_options_t shared; /* must be first: the shared options are stored at its offsets */
    pto_step_numbers_t numbers;
    bool simulate;
} step_arguments_t;

#define STORE(form, member) PTO_STORE(form, step_arguments_t, numbers.member)

static const pto_option_t number_options[] = {
    {"layers", "N", "layers of the model", STORE(COUNT, layers)},
    {"width", "N", "its hidden size", STORE(COUNT, width)},
    {"sequence", "N", "tokens of a sequence", STORE(COUNT, sequence)},
    {"vocabulary", "N", "different tokens", STORE(COUNT, vocabulary), .standard = "51200"},
    {"batch", "N", "sequences of each data-parallel group in a step", STORE(COUNT, batch), .standard = "1"},
    {"microbatch", "N", "sequences that a stage of the pipeline has at once", STORE(COUNT, microbatch),
     .standard = "1"},
    {"tp", "N", "GPUs that share each layer (tensor parallelism)", STORE(COUNT, tp), .standard = "1"},
    {"pp", "N", "stages of the pipeline", STORE(COUNT, pp), .standard = "1"},
    {"dp", "N", "data-parallel groups", STORE(COUNT, dp), .standard = "1"},
    {"ep", "N", "of these, groups that share out the experts of a layer, one expert each", STORE(COUNT, ep),
     .standard = "1"},
    {"flops", "RATE", "floating-point operations that a GPU sustains a second, as 400e12",
     STORE(NUMBER, flops_per_s), .least = 1e6, .most = 1e18},
    {.name = NULL}};

static const pto_option_t workload_options[] = {
    {"nodes", "N", "nodes; a size of 0 in the grid follows", .apply = pto_option_apply_nodes},
    {"gpus-per-node", "N", "GPUs used per node",
     PTO_STORE(COUNT, pto_options_t, scenario.layout.gpus_per_node)},
    {"procs-per-gpu", "N", "processes per GPU (default 1)",
     PTO_STORE(COUNT, pto_options_t, scenario.layout.procs_per_gpu)},
    PTO_MEMORY_OPTIONS,
    {"grid", "NAME=N[,NAME=N]", "sizes of the grid's dimensions; 0: as many as fill the layout (repeatable)",
     PTO_STORE(TEXTS, pto_options_t, grid)},
    {"compute-scale", "FACTOR",
     "computation takes FACTOR times what the workload says, as on other GPUs; default 1",
     PTO_STORE(NUMBER, pto_options_t, compute_scale), .least = 1e-6, .most = 1e6},
    {"strategy", "NAME[,NAME]", "only these strategies (repeatable)", .apply = pto_option_apply_strategy,
     .word_at = pto_option_strategy_at},
    {.name = NULL}};

static const pto_option_t step_options[] = {
    PTO_COLUMNS_OPTION,
    PTO_INTERVALS_OPTION,
    {"simulate", NULL, "simulate the cheapest mix and the strategies named, with all that run at once",
     PTO_STORE(FLAG, step_arguments_t, simulate)},
    {.name = NULL}};

static const pto_syntax_t syntax = {
    .program = "portolan step",
    .usage = usage,
    .set = PTO_SETS({"options", pto_format_options}, {"a training step by its numbers", number_options},
                    {"machine and workload", pto_machine_options}, {NULL, workload_options},
                    {NULL, step_options}, {NULL, pto_work_options}, {NULL, pto_change_options}),
    .operand = "*.yaml",
    .by_name = PTO_NAMES_WORKLOADS};

/* The simulation of the mix, then those of the --strategy routes that apply to all calls. */
typedef struct {
    int count;
    pto_step_simulation_t *simulation;
} simulations_t;

static const char *route_name(const pto_strategy_t *strategy) {
    return strategy ? strategy->name : "cheapest";
}

/* --- csv ------------------------------------------------------------------------------------------------ */

/* The columns model, what_if, compute_of and compute_scale. */
static void print_csv_end(const pto_step_prediction_t *step, const pto_options_t *options) {
    const char *origin = pto_step_compute_of(step, options);
    pto_print_csv_changes(options->machine);
    putchar(',');
    pto_print_csv_text(stdout, origin ? origin : "");
    printf(",%.9g\n", options->compute_scale > 0 ? options->compute_scale : 1);
}

/* The row of a call by a strategy. */
static void print_csv_route(const pto_step_prediction_t *step, const pto_options_t *options, int i, int s) {
    const pto_workload_call_t *call = &step->workload->call[i];
    const pto_predictions_t *predictions = &step->call[i].predictions;
    const pto_prediction_t *prediction = pto_prediction_at(predictions, 0, s);
    const char *unsure = s == step->call[i].best ? pto_step_unsure(step, i) : NULL;
    bool applies = prediction->applicable, has_interval = applies && prediction->price.has_interval;
    char along[PTO_WORKLOAD_ALONG_MAX];
    pto_caveats_t caveats = {.count = 0};
    pto_caveats_add(&caveats, prediction);
    PTO_RECORD(stdout, PTO_FORMAT_CSV, pto_field_text("call", pto_workload_call_name(call)),
               pto_field_text("along", pto_workload_along_text(step->workload, call->along, along)),
               pto_field_count("communicators", call->communicators.count),
               pto_field_count("nodes", call->scenario.layout.nodes),
               pto_field_count("gpus_per_node", call->scenario.layout.gpus_per_node),
               pto_field_count("bytes", call->scenario.bytes.value[0]), pto_field_count("times", call->times),
               pto_field_text("strategy", predictions->strategy[s]->name),
               pto_field_text("algorithm", applies ? prediction->algorithm->name : NULL),
               pto_field_if(applies, pto_field_number("seconds", prediction->price.seconds)),
               pto_field_if(has_interval, pto_field_number("low_s", prediction->price.low_s)),
               pto_field_if(has_interval, pto_field_number("high_s", prediction->price.high_s)),
               pto_field_truth("picked", s == step->call[i].best), pto_field_text("unpriced", unsure),
               pto_field_unpriced("not_priced", &caveats), pto_field_extrapolated(&caveats));
    print_csv_end(step, options);
}

/* A row with a time alone: a total of the step, or a call of a simulation. */
typedef struct {
    const char *kind;               /* printed before the name: "" or "simulated " */
    const char *name;               /* of the call or of the total */
    const pto_strategy_t *strategy; /* NULL: the mix */
    bool is_known, has_interval;
    double seconds, low_s, high_s;
} csv_time_t;

static void print_csv_time(const pto_step_prediction_t *step, const pto_options_t *options,
                           const csv_time_t *time, const pto_caveats_t *caveats) {
    fputs(time->kind, stdout);
    pto_print_csv_text(stdout, time->name);
    printf(",,,,,,,%s,,",
           route_name(time->strategy)); /* no values from `along` to `times`, nor `algorithm` */
    PTO_RECORD(stdout, PTO_FORMAT_CSV,
               pto_field_if(time->is_known, pto_field_number("seconds", time->seconds)),
               pto_field_if(time->has_interval, pto_field_number("low_s", time->low_s)),
               pto_field_if(time->has_interval, pto_field_number("high_s", time->high_s)),
               pto_field_text("picked", NULL), pto_field_text("unpriced", NULL),
               pto_field_unpriced("not_priced", caveats), pto_field_extrapolated(caveats));
    print_csv_end(step, options);
}

/* The rows of communication, exposed communication and step. `low` and `high`, the ends of the totals'
 * intervals, are NULL if time.has_interval is false. */
static void print_csv_totals(const pto_step_prediction_t *step, const pto_options_t *options, csv_time_t time,
                             const pto_step_end_t *totals, const pto_step_end_t *low,
                             const pto_step_end_t *high, const pto_caveats_t *caveats) {
    for (int i = 0; i < PTO_STEP_TOTALS; i++) {
        time.name = pto_step_total_name(i);
        time.seconds = pto_step_total(totals, i);
        time.low_s = time.has_interval ? pto_step_total(low, i) : 0;
        time.high_s = time.has_interval ? pto_step_total(high, i) : 0;
        print_csv_time(step, options, &time, caveats);
    }
}

static void print_csv_route_totals(const pto_step_prediction_t *step, const pto_step_route_t *route,
                                   const pto_options_t *options) {
    const pto_step_end_t totals = {route->communication_s, route->exposed_s, route->seconds};
    const csv_time_t time = {.kind = "",
                             .strategy = route->strategy,
                             .is_known = route->applicable,
                             .has_interval = route->has_interval};
    pto_caveats_t caveats = {.count = 0};
    if (route->applicable)
        pto_step_caveats_add(step, route->strategy, &caveats);
    print_csv_totals(step, options, time, &totals, &route->low, &route->high, &caveats);
}

/* The rows of a simulation. The times of calls include all repetitions. */
static void print_csv_simulation(const pto_step_prediction_t *step, const pto_options_t *options,
                                 const pto_step_simulation_t *simulation) {
    const pto_strategy_t *strategy = simulation->strategy;
    csv_time_t time = {.kind = "simulated ", .strategy = strategy, .is_known = true};
    pto_caveats_t all = {.count = 0};
    for (int i = 0; i < step->workload->call_count; i++) {
        const pto_prediction_t *prediction = pto_step_call_prediction(step, i, strategy);
        pto_caveats_t caveats = {.count = 0};
        if (!prediction)
            continue;
        pto_caveats_add(&caveats, prediction);
        time.name = pto_workload_call_name(&step->workload->call[i]);
        time.seconds = simulation->call_s[i];
        print_csv_time(step, options, &time, &caveats);
    }
    pto_step_caveats_add(step, strategy, &all);
    const pto_step_end_t totals = {simulation->communication_s, simulation->exposed_s, simulation->seconds};
    print_csv_totals(step, options, time, &totals, NULL, NULL, &all);
}

static void print_csv(const pto_step_prediction_t *step, const pto_options_t *options,
                      const simulations_t *simulations) {
    printf("call,along,communicators,nodes,gpus_per_node,bytes,times,strategy,algorithm,seconds,low_s,high_s,"
           "picked,unpriced,not_priced,extrapolated_from,model,what_if,compute_of,compute_scale\n");
    for (int i = 0; i < step->workload->call_count; i++)
        for (int s = 0; s < step->call[i].predictions.strategy_count; s++)
            print_csv_route(step, options, i, s);
    print_csv_route_totals(step, &step->mix, options);
    for (int r = 0; r < step->route_count; r++)
        print_csv_route_totals(step, &step->route[r], options);
    for (int i = 0; i < simulations->count; i++)
        print_csv_simulation(step, options, &simulations->simulation[i]);
}

/* --- json ----------------------------------------------------------------------------------------------- */

static void print_json_predictions(const pto_predictions_t *predictions) {
    printf(", \"predictions\": [");
    for (int s = 0; s < predictions->strategy_count; s++) {
        printf("%s\n    {", s ? "," : "");
        pto_print_json_strategy(predictions, s);
        pto_print_json_price(predictions, s);
        putchar('}');
    }
    putchar(']');
}

/* The strategy of a call in the mix, and how reliable its price is. */
static void print_json_picked(const pto_step_prediction_t *step, int i) {
    const pto_strategy_t *strategy;
    const pto_price_t *price = &pto_step_best(step, i, &strategy)->price;
    PTO_MORE(stdout, pto_field_text("cheapest", strategy->name), pto_field_number("seconds", price->seconds),
             pto_field_text("unpriced", pto_step_unsure(step, i)),
             pto_field_if(price->extrapolated.gpus > 0, pto_field_truth("extrapolated", true)),
             pto_field_if(pto_step_is_chosen_together(step, i), pto_field_truth("chosen_together", true)));
}

static void print_json_call(const pto_step_prediction_t *step, int i) {
    const pto_workload_call_t *call = &step->workload->call[i];
    char along[PTO_WORKLOAD_ALONG_MAX];
    const bool is_call = pto_workload_is_call(call);
    printf("%s\n  {", i ? "," : "");
    PTO_RECORD(stdout, PTO_FORMAT_JSON, pto_field_text("call", pto_workload_call_name(call)),
               pto_field_count("entry", call->entry), pto_field_count("times", call->times),
               pto_field_if(!is_call, pto_field_number("compute_s", call->compute_s)));
    if (is_call) {
        PTO_MORE(stdout, pto_field_text("collective", pto_collective_name(call->scenario.collective)),
                 pto_field_count("bytes", call->scenario.bytes.value[0]),
                 pto_field_text("along", pto_workload_along_text(step->workload, call->along, along)),
                 pto_field_count("communicators", call->communicators.count),
                 pto_field_count("nodes", call->scenario.layout.nodes),
                 pto_field_count(call->scenario.layout.in_host ? "procs_per_node" : "gpus_per_node",
                                 call->scenario.layout.gpus_per_node));
        print_json_picked(step, i);
        print_json_predictions(&step->call[i].predictions);
    }
    putchar('}');
}

static void print_json_total(const pto_step_prediction_t *step, const pto_step_route_t *route,
                             const char *before) {
    const bool applies = route->applicable, has_interval = applies && route->has_interval;
    const pto_step_end_t *low = &route->low, *high = &route->high;
    pto_caveats_t caveats = {.count = 0};
    if (applies)
        pto_step_caveats_add(step, route->strategy, &caveats);
    PTO_OBJECT(stdout, before, pto_field_text("strategy", route_name(route->strategy)),
               pto_field_if(applies, pto_field_number("communication_s", route->communication_s)),
               pto_field_if(applies, pto_field_number("exposed_s", route->exposed_s)),
               pto_field_if(applies, pto_field_number("step_s", route->seconds)),
               pto_field_if(has_interval, pto_field_number("communication_low_s", low->communication_s)),
               pto_field_if(has_interval, pto_field_number("exposed_low_s", low->exposed_s)),
               pto_field_if(has_interval, pto_field_number("step_low_s", low->step_s)),
               pto_field_if(has_interval, pto_field_number("communication_high_s", high->communication_s)),
               pto_field_if(has_interval, pto_field_number("exposed_high_s", high->exposed_s)),
               pto_field_if(has_interval, pto_field_number("step_high_s", high->step_s)),
               pto_field_unpriced_if_any(&caveats), pto_field_extrapolated(&caveats));
}

static void print_json_simulation(const pto_step_prediction_t *step, const pto_step_simulation_t *simulation,
                                  const char *before) {
    printf("%s{", before);
    PTO_RECORD(stdout, PTO_FORMAT_JSON, pto_field_text("strategy", route_name(simulation->strategy)),
               pto_field_number("communication_s", simulation->communication_s),
               pto_field_number("exposed_s", simulation->exposed_s),
               pto_field_number("step_s", simulation->seconds),
               pto_field_count("messages", simulation->messages));
    printf(", \"calls\": [");
    for (int i = 0, printed = 0; i < step->workload->call_count; i++)
        if (pto_workload_is_call(&step->workload->call[i]))
            PTO_OBJECT(stdout, printed++ ? ", " : "",
                       pto_field_text("call", pto_workload_call_name(&step->workload->call[i])),
                       pto_field_number("seconds", simulation->call_s[i]));
    printf("]}");
}

static void print_json(const pto_step_prediction_t *step, const pto_options_t *options,
                       const simulations_t *simulations) {
    pto_caveats_t caveats = {.count = 0};
    pto_print_json_start(options->machine);
    printf(", \"workload\": ");
    pto_print_json_string(stdout, step->workload->name);
    pto_print_json_layout(&step->workload->layout, true);
    pto_step_caveats_add_all(step, &caveats);
    PTO_MORE(stdout, pto_field_unpriced("not_priced", &caveats));
    pto_print_json_step_more_procs(step);
    pto_print_json_computation(step, options);
    printf(", \"calls\": [");
    for (int i = 0; i < step->workload->call_count; i++)
        print_json_call(step, i);
    printf("\n], \"totals\": [");
    print_json_total(step, &step->mix, "\n  ");
    for (int r = 0; r < step->route_count; r++)
        print_json_total(step, &step->route[r], ",\n  ");
    for (int i = 0; i < simulations->count; i++) {
        printf("%s", i ? "" : "\n], \"simulations\": [");
        print_json_simulation(step, &simulations->simulation[i], i ? ",\n  " : "\n  ");
    }
    printf("\n]}\n");
}

/* --- simulations ---------------------------------------------------------------------------------------- */

static void fini_simulations(simulations_t *simulations) {
    for (int i = 0; i < simulations->count; i++)
        pto_step_simulation_fini(&simulations->simulation[i]);
    free(simulations->simulation);
}

static pto_status_t simulate(const pto_step_prediction_t *step, const pto_options_t *options,
                             simulations_t *simulations, pto_error_t *err) {
    const pto_simulate_options_t how = {.limit = options->scenario.work_limit, .begin = pto_progress_show};
    simulations->simulation = calloc((size_t)step->route_count + 1, sizeof *simulations->simulation);
    if (!simulations->simulation)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for simulations");
    const int routes = options->has_strategies ? step->route_count : 0;
    pto_status_t status =
        pto_step_simulate(step, options->machine, NULL /* the mix */, &how, &simulations->simulation[0], err);
    simulations->count = status == PTO_OK;
    for (int r = 0; r < routes && status == PTO_OK; r++)
        if (step->route[r].applicable) {
            status = pto_step_simulate(step, options->machine, step->route[r].strategy, &how,
                                       &simulations->simulation[simulations->count], err);
            simulations->count += status == PTO_OK;
        }
    return status == PTO_ERR_INTERRUPTED ? PTO_OK : status; /* the complete simulations are printed */
}

/* --- the command ---------------------------------------------------------------------------------------- */

/* `has_cheaper_mix`: another mix than the simulated one has a lower price. */
static pto_status_t print(const pto_step_prediction_t *step, const step_arguments_t *arguments,
                          bool has_cheaper_mix, pto_error_t *err) {
    const pto_options_t *options = &arguments->shared;
    simulations_t simulations = {0};
    pto_status_t status = arguments->simulate ? simulate(step, options, &simulations, err) : PTO_OK;
    if (status == PTO_OK && options->format == PTO_FORMAT_CSV) {
        print_csv(step, options, &simulations);
    } else if (status == PTO_OK && options->format == PTO_FORMAT_JSON) {
        print_json(step, options, &simulations);
    } else if (status == PTO_OK) {
        pto_print_step(step, options);
        if (simulations.count > 0)
            pto_print_step_simulations(step, simulations.simulation, simulations.count);
        if (has_cheaper_mix)
            pto_print_note(stdout,
                           "cheapest: of calls at once, the mix with the shortest simulation of the %d with "
                           "the lowest prices; another has a lower price",
                           PTO_STEP_SETTLED);
    }
    fini_simulations(&simulations);
    return status;
}

static pto_status_t predict(step_arguments_t *arguments, pto_workload_t *workload, pto_error_t *err) {
    pto_options_t *options = &arguments->shared;
    pto_step_prediction_t step;
    bool changed = false;
    pto_status_t status = pto_step_open(options, workload, &step, err);
    if (status != PTO_OK)
        return status;
    const double lowest_s = step.mix.seconds;
    if (arguments->simulate)
        status = pto_step_settle(&step, options->machine, options->scenario.work_limit, &changed, err);
    /* Mixes may have the same price: they differ in resources that are not the busiest. */
    const bool has_cheaper_mix =
        changed && step.mix.seconds > lowest_s && !pto_cost_is_same(step.mix.seconds, lowest_s);
    if (status == PTO_OK || status == PTO_ERR_INTERRUPTED)
        status = print(&step, arguments, has_cheaper_mix, err);
    pto_step_fini(&step);
    return status;
}

/* A workload from --layers and the like. */
static pto_status_t create_workload(step_arguments_t *arguments, pto_workload_t *workload, pto_error_t *err) {
    pto_step_numbers_t *numbers = &arguments->numbers;
    const pto_scenario_t *scenario = &arguments->shared.scenario;
    pto_machine_t *machine = NULL;
    if (!scenario->machine_path)
        return pto_error_set(err, PTO_ERR_KEY, "a step by its numbers needs --machine MACHINE");
    pto_status_t status = pto_machine_open(scenario->machine_path, &machine, err);
    if (status != PTO_OK)
        return status;
    numbers->gpus_per_node = machine->node.gpus > 0 ? machine->node.gpus : 1;
    if (scenario->layout.gpus_per_node > 0) /* --gpus-per-node */
        numbers->gpus_per_node = scenario->layout.gpus_per_node;
    pto_machine_destroy(machine);
    status = pto_step_numbers_check(numbers, err);
    return status == PTO_OK ? pto_step_numbers_workload(numbers, workload, err) : status;
}

/* Whether one of the model's numbers is given, with another value than its default. */
static bool has_numbers(const pto_arguments_t *given) {
    for (const pto_option_t *option = number_options; option->name; option++) {
        const char *text = pto_arguments_text(given, option->name);
        if (text && (!option->standard || strcmp(text, option->standard) != 0))
            return true;
    }
    return false;
}

static int run(const pto_arguments_t *given) {
    step_arguments_t arguments = {.shared = {.format = PTO_FORMAT_TABLE}};
    pto_options_t *options = &arguments.shared;
    pto_workload_t workload;
    pto_error_t err = {0};
    const bool by_numbers = has_numbers(given);
    if (given->operand_count != (by_numbers ? 0 : 1))
        return pto_usage_error(
            &syntax, by_numbers ? "a workload file has its own numbers: it goes without --layers and the like"
                                : "name one workload file, or give --layers");
    pto_scenario_init(&options->scenario);
    int code = pto_options_apply(given, &arguments);
    options->by_option = by_numbers;
    if (code < 0 && (by_numbers ? create_workload(&arguments, &workload, &err)
                                : pto_workload_read(given->operand[0], &workload, &err)) != PTO_OK)
        code = pto_options_fail(options, &err);
    options->by_option = false;
    if (code < 0) {
        code = predict(&arguments, &workload, &err) == PTO_OK ? pto_flush_output()
                                                              : pto_options_fail(options, &err);
        pto_workload_fini(&workload);
    }
    pto_options_fini(options);
    return code;
}

const pto_command_t pto_command_step = {.name = "step",
                                        .summary = "predict how long a step of an application communicates",
                                        .syntax = &syntax,
                                        .run = run};
