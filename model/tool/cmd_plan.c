/* portolan plan: prints what one rank does in a plan, stage by stage, or writes the messages of all ranks as
 * a GOAL schedule, the input of LogGOPSim. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/names.h"
#include "command.h"
#include "command_line/terminal.h"
#include "portolan/check.h"
#include "show/table.h"

static const char usage[] =
    "usage: portolan plan [SCENARIO.yaml] [OPTIONS]\n\n"
    "Prints what one process does in each strategy at the scenario's first point: its buffers, and its\n"
    "copies, messages and reductions, with the algorithm that `predict` would price. A loop is printed\n"
    "once, with peers and blocks as formulas in k, or iteration by iteration with --unroll.\n\n"
    "  portolan plan alltoall-summit --strategy three_step --bytes 4KiB\n"
    "  portolan plan --machine summit-spectrum --collective allreduce --nodes 2 --bytes 1MiB --rank 7 "
    "--unroll\n"
    "  portolan plan --machine summit-spectrum --collective alltoall --nodes 2 --bytes 1KiB --strategy "
    "cuda_aware --format goal --out alltoall.goal\n";

typedef enum { FORMAT_TEXT, FORMAT_GOAL } plan_format_t;

static PTO_WORD_LIST(format_at, "text", "goal");

typedef struct {
    pto_options_t shared;
    plan_format_t format;
    int64_t rank;
    bool unroll;
} plan_options_t;

#define STORE(form, member) PTO_STORE(form, plan_options_t, member)

static const pto_option_t own_options[] = {
    {"rank", "R", "rank to print", STORE(NATURAL, rank), .standard = "0"},
    {"unroll", NULL, "print every iteration of loops", STORE(FLAG, unroll)},
    {"format", "text|goal", "goal: the messages of all ranks, as LogGOPSim and `portolan replay` read them",
     STORE(WORD, format), .standard = "text", .word_at = format_at},
    {"out", "FILE", "write there instead of to standard output (goal)", STORE(TEXT, shared.out)},
    {"force", NULL, "replace a file that exists", STORE(FLAG, shared.force)},
    {.name = NULL}};

static const pto_syntax_t syntax = PTO_SCENARIO_SYNTAX("portolan plan", usage, PTO_NAMES_SCENARIOS,
                                                       {"options", own_options}, {NULL, pto_work_options});

/* Print the plan of a strategy, after an empty line if another one was printed (`*any_printed`). If the
 * strategy does not apply, print the reason to standard error, so that standard output has only plans. */
static pto_status_t print_plan(const plan_options_t *own, const pto_strategy_t *strategy, bool *any_printed,
                               pto_error_t *err) {
    pto_plan_t *plan = NULL;
    pto_price_t price;
    pto_error_t reason = {0};
    pto_status_t status = pto_plan_choose(&own->shared.scenario, own->shared.machine, 0, strategy, &plan,
                                          &price, NULL, &reason);
    if (status == PTO_ERR_NOT_APPLICABLE) {
        pto_print_text(stderr, "%s does not apply: %s", strategy->name, reason.message);
        return PTO_OK;
    }
    char *text = NULL;
    if (status == PTO_OK)
        status = pto_print(plan, own->rank, own->unroll, &text, &reason);
    if (status == PTO_OK)
        printf("%s%s", *any_printed ? "\n" : "", text);
    else if (err)
        *err = reason;
    *any_printed = *any_printed || status == PTO_OK;
    free(text);
    pto_plan_destroy(plan);
    return status;
}

static pto_status_t check_rank(pto_options_t *options, int64_t rank, pto_error_t *err) {
    pto_layout_t layout = options->scenario.layout;
    if (options->scenario.nodes.count > 0)
        layout.nodes = options->scenario.nodes.value[0];
    if (rank < pto_layout_rank_count(&layout))
        return PTO_OK;
    options->by_option = true;
    return pto_error_set(err, PTO_ERR_RANGE, "--rank: there is no rank %" PRId64 ", only 0 to %" PRId64, rank,
                         pto_layout_rank_count(&layout) - 1);
}

static pto_status_t write_goal(void *context, FILE *stream, pto_error_t *err) {
    return pto_print_goal(context, stream, err);
}

/* Refuse a schedule that is too long, in messages or in stages that all ranks pass. */
static pto_status_t check_goal(const pto_options_t *options, const pto_plan_t *plan, pto_error_t *err) {
    pto_plan_size_t size = pto_plan_size(plan);
    return pto_check_amount(&options->scenario, "the schedule has",
                            size.messages > size.stages ? size.messages : size.stages, 1, err);
}

static pto_status_t run_goal(const pto_options_t *options, const pto_strategy_t *strategy, pto_error_t *err) {
    pto_plan_t *plan = NULL;
    pto_price_t price;
    pto_status_t status =
        pto_plan_choose(&options->scenario, options->machine, 0, strategy, &plan, &price, NULL, err);
    if (status == PTO_OK)
        status = check_goal(options, plan, err);
    if (status == PTO_OK)
        status = pto_options_write(options, write_goal, plan, err);
    pto_plan_destroy(plan);
    return status;
}

static int check(const pto_options_t *options) {
    if (((const plan_options_t *)options)->format == FORMAT_TEXT)
        return options->out ? pto_usage_error(&syntax, "--out is for --format goal") : -1;
    return pto_options_one_strategy(options, &syntax, "a GOAL schedule");
}

static pto_status_t run(pto_options_t *options, pto_error_t *err) {
    const plan_options_t *own = (const plan_options_t *)options;
    const pto_strategy_t **strategy = NULL;
    int count = 0;
    pto_status_t status = check_rank(options, own->rank, err);
    if (status == PTO_OK)
        status = pto_scenario_strategies(&options->scenario, &strategy, &count, err);
    if (status == PTO_OK)
        status = pto_check_point_work(&options->scenario, options->machine, 0, err);
    bool goal = own->format == FORMAT_GOAL;
    if (status == PTO_OK && goal)
        status = run_goal(options, strategy[0], err);
    else if (status == PTO_OK)
        pto_print_changes(stdout, options->machine);
    bool any_printed = false;
    for (int i = 0; i < count && status == PTO_OK && !goal; i++)
        status = print_plan(own, strategy[i], &any_printed, err);
    if (status == PTO_OK && !goal && !any_printed)
        status = pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "no strategy applies");
    free(strategy);
    return status;
}

const pto_command_t pto_command_plan = {.name = "plan",
                                        .summary = "print what one process does by each strategy",
                                        .syntax = &syntax,
                                        .options_size = sizeof(plan_options_t),
                                        .check = check,
                                        .on_scenario = run};
