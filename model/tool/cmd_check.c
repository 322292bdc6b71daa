/* portolan check: proves that plans are correct on all processes, without running them. Plans are those of
 * each strategy with each algorithm at each point of the scenario; pto_check proves one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "command_line/terminal.h"
#include "portolan/check.h"
#include "portolan/pick.h"
#include "portolan/progress.h"
#include "portolan/strategy.h"
#include "show/table.h"

static const char usage[] =
    "usage: portolan check [SCENARIO.yaml] [OPTIONS]\n\n"
    "Proves the plan of every strategy with every algorithm at every point of the scenario: all sends match\n"
    "receives, there is no deadlock, no access leaves its buffer, every block is delivered and every\n"
    "contribution reduced exactly once, and accesses to shared buffers are ordered. At most 65536\n"
    "processes. If the machine's library stages GPU buffers, the plans do, too. Strategies that can cut the\n"
    "data are proved as a whole and in three chunks, unless --chunks says in how many.\n\n"
    "  portolan check alltoall-summit --nodes 4\n"
    "  portolan check --machine summit-spectrum --collective allreduce --nodes 3 --bytes 4:1MiB:7 --library "
    "ring\n";

static const pto_syntax_t syntax =
    PTO_SCENARIO_SYNTAX("portolan check", usage, PTO_NAMES_SCENARIOS, {"options", pto_work_options});

typedef struct {
    const pto_options_t *options;
    int64_t proved;     /* number of plans */
    int64_t touched;    /* blocks and copies of the plans so far, which --limit limits */
    int64_t refused;    /* number of plans above the limit */
    pto_error_t reason; /* the reason of the first plan that does not apply */
} run_t;

/* Whether the strategy runs with this algorithm, and the scenario names it or leaves it open. */
static bool is_selected(const pto_scenario_t *scenario, const pto_strategy_t *strategy,
                        const pto_algorithm_t *algorithm) {
    if (!(pto_strategy_with(strategy, algorithm) & 1u << scenario->collective))
        return false;
    if (pto_strategy_only_with(strategy))
        return true;
    if (scenario->implementation == PTO_IMPLEMENTATION_ISEND_IRECV &&
        scenario->collective != PTO_COLLECTIVE_HALO)
        return strcmp(algorithm->name, "linear") == 0;
    const char *name = scenario->library.name;
    return !name || !pto_collective_is_in_mpi(scenario->collective) || strcmp(algorithm->name, name) == 0;
}

enum { PROVED_CHUNKS = 3 };

static void note_reason(run_t *run, const pto_error_t *reason) {
    if (run->reason.status == PTO_OK)
        run->reason = *reason;
}

/* Print a plan's row. Its special properties follow in the same line if they fit, else in the next. */
static void print_proved(const pto_request_t *request, const pto_check_report_t *report) {
    bool is_staged = request->staged && request->strategy->collective_space == PTO_SPACE_GPU;
    char properties[64] = "";
    const char *staged = is_staged ? "  staged" : "";
    if (request->chunks > 1)
        snprintf(properties, sizeof properties, "%s  %lld chunks", staged, (long long)request->chunks);
    else if (report->assignments > 1)
        snprintf(properties, sizeof properties, "%s  %d choices", staged, report->assignments);
    else
        snprintf(properties, sizeof properties, "%s", staged);
    int used = printf("%-8s %-13s %-18s %5lld %6lld %8lld %8s %6lld", PTO_SIZE_TEXT(request->bytes),
                      request->strategy->name, request->algorithm->name, (long long)report->ranks,
                      (long long)report->stages, (long long)report->messages,
                      PTO_SIZE_SHORT(report->moved_bytes), (long long)report->accesses);
    bool fits = used + (int)strlen(properties) <= pto_terminal_width(stdout);
    printf("%s%s\n", fits || !*properties ? "" : "\n#       ", properties);
}

/* Prove the plan of a request, and print its row. A plan that does not apply, or is above the limit, is noted
 * instead. Errors: the plan is wrong. */
static pto_status_t prove(run_t *run, const pto_request_t *request, int64_t point, pto_error_t *err) {
    pto_plan_t *plan = NULL;
    pto_error_t reason = {0};
    pto_check_report_t report;
    pto_status_t status = pto_plan_create(request, &plan, &reason);
    if (status == PTO_ERR_NOT_APPLICABLE) {
        if (point == 0)
            pto_print_note(stdout, "%s with %s does not apply: %s", request->strategy->name,
                           request->algorithm->name, reason.message);
        note_reason(run, &reason);
        return PTO_OK;
    }
    if (status == PTO_OK &&
        pto_check_size(plan, run->options->scenario.work_limit, &run->touched, &reason) != PTO_OK) {
        pto_print_note(stdout, "%s", reason.message);
        pto_plan_destroy(plan);
        run->refused++;
        return PTO_OK;
    }
    if (status == PTO_OK)
        status = pto_check(plan, &report, &reason);
    pto_plan_destroy(plan);
    if (status != PTO_OK)
        return pto_error_set(err, status, "%s by %s with %s, %lld bytes: %.380s",
                             pto_collective_name(request->collective), request->strategy->name,
                             request->algorithm->name, (long long)request->bytes, reason.message);
    print_proved(request, &report);
    run->proved++;
    return PTO_OK;
}

static pto_status_t prove_strategy(run_t *run, const pto_strategy_t *strategy, pto_error_t *err) {
    const pto_scenario_t *scenario = &run->options->scenario;
    if (!(strategy->collectives & 1u << scenario->collective)) {
        pto_error_t reason = {0};
        pto_error_set(&reason, PTO_ERR_NOT_APPLICABLE, "%s is not for %s", strategy->name,
                      pto_collective_name(scenario->collective));
        pto_print_note(stdout, "%s", reason.message);
        note_reason(run, &reason);
        return PTO_OK;
    }
    for (int64_t point = 0; point < pto_scenario_points(scenario); point++)
        for (int i = 0; i < pto_algorithm_count(); i++) {
            if (pto_is_stopped())
                return pto_error_set(err, PTO_ERR_INTERRUPTED, "interrupted after %lld plans",
                                     (long long)run->proved);
            const pto_algorithm_t *algorithm = pto_algorithm_at(i);
            if (!is_selected(scenario, strategy, algorithm))
                continue;
            pto_request_t request = pto_scenario_request(scenario, point, strategy, algorithm);
            pto_library_algorithm(scenario, run->options->machine, &request);
            pto_status_t status = prove(run, &request, point, err);
            if (status == PTO_OK && pto_request_may_be_cut(&request) && request.chunks == 0) {
                request.chunks = PROVED_CHUNKS;
                status = prove(run, &request, point, err);
            }
            if (status != PTO_OK)
                return status;
        }
    return PTO_OK;
}

/* Return the errors that are known before anything is printed. */
static pto_status_t refuse_early(const pto_scenario_t *scenario, const pto_strategy_t *strategy,
                                 pto_error_t *err) {
    const pto_algorithm_t *named;
    if (scenario->library.name && pto_collective_is_in_mpi(scenario->collective)) {
        pto_status_t status = pto_algorithm_find(scenario->library.name, scenario->collective, &named, err);
        if (status != PTO_OK)
            return status;
    }
    for (int64_t point = 0; point < pto_scenario_points(scenario); point++) {
        pto_request_t request = pto_scenario_request(scenario, point, strategy, NULL);
        int64_t ranks = pto_layout_rank_count(&request.layout);
        if (ranks > PTO_CHECK_RANKS_MAX)
            return pto_error_set(err, PTO_ERR_TOO_LARGE,
                                 "check takes at most %d processes; %lld nodes have %lld",
                                 PTO_CHECK_RANKS_MAX, (long long)request.layout.nodes, (long long)ranks);
    }
    return PTO_OK;
}

/* Whether pto_scenario_strategies omits a strategy of the scenario's collective: its static form, `fixed`, is
 * picked in its place. */
static bool is_omitted(const pto_scenario_t *scenario, const pto_strategy_t *strategy) {
    return strategy->fixed && strategy->in_host == scenario->layout.in_host &&
           strategy->collectives & 1u << scenario->collective;
}

static void print_heading(const pto_options_t *options) {
    const pto_scenario_t *scenario = &options->scenario;
    printf("# portolan check: %s\n",
           scenario->name ? scenario->name : pto_collective_name(scenario->collective));
    pto_print_changes(stdout, options->machine);
    printf("# %-6s %-13s %-18s %5s %6s %8s %8s %6s\n", "Bytes", "Strategy", "Algorithm", "Ranks", "Stages",
           "Messages", "Moved", "Shared");
}

static pto_status_t run_check(pto_options_t *options, pto_error_t *err) {
    run_t run = {.options = options};
    const pto_strategy_t **strategy = NULL;
    int count = 0;
    pto_status_t status = pto_scenario_strategies(&options->scenario, &strategy, &count, err);
    if (status == PTO_OK && count > 0)
        status = refuse_early(&options->scenario, strategy[0], err);
    if (status == PTO_OK)
        print_heading(options);
    const bool shown = pto_progress_begin("proving", count, 0);
    for (int i = 0; i < count && status == PTO_OK; i++) {
        status = prove_strategy(&run, strategy[i], err);
        if (shown)
            pto_progress_add(1);
    }
    const bool names_none = options->scenario.strategy_count == 0;
    for (int i = 0; i < pto_strategy_count() && names_none && status == PTO_OK; i++)
        if (is_omitted(&options->scenario, pto_strategy_at(i)))
            status = prove_strategy(&run, pto_strategy_at(i), err);
    if (shown)
        pto_progress_end();
    if (status == PTO_OK)
        printf("# %lld plans proved right\n", (long long)run.proved);
    if (status == PTO_OK && run.refused > 0)
        status =
            pto_error_set(err, PTO_ERR_TOO_LARGE, "%lld plans were not checked; --limit raises the limit",
                          (long long)run.refused);
    if (status == PTO_OK && run.proved == 0 && run.refused == 0)
        status =
            pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "no strategy applies: %.400s", run.reason.message);
    free(strategy);
    return status;
}

const pto_command_t pto_command_check = {.name = "check",
                                         .summary = "prove that the plans of a scenario are right",
                                         .syntax = &syntax,
                                         .on_scenario = run_check};
