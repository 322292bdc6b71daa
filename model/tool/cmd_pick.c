/* portolan pick: prints the strategy that is predicted to be the cheapest in each range of sizes, nodes or
 * messages. pto_pick joins the points of the sweep to ranges; pto_crossings finds by bisection at which value
 * between two points the cheapest strategy changes (a crossing). pick_serving.c has --for. */
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "command.h"
#include "command_line/terminal.h"
#include "pick_serving.h"
#include "show/record.h"
#include "show/sweeps_table.h"
#include "show/table.h"

static const char usage[] =
    "usage: portolan pick [SCENARIO.yaml] [OPTIONS]\n\n"
    "Prints, for half-open ranges [from, below) of the scenario's sizes (or nodes, or messages), the\n"
    "strategy that is predicted to be the cheapest, the runner-up, and how much longer the runner-up takes\n"
    "(with --by: how much more energy, or energy times time, it needs). Strategies with the same price tie:\n"
    "the first of them is the winner, the others are listed after it, and the runner-up is the next that\n"
    "costs more. regret: what a wrong pick is expected to cost, by the intervals (the most in the range).\n"
    "Under the table: the measurement that would settle each near-tie (prices that are close) and each\n"
    "unsure pick (prices that are not, but are not known well enough). Ranges end where bisection between\n"
    "two sizes of the sweep finds another pick. With two sweeps, a line for each value of the first:\n\n"
    "  portolan pick alltoall-summit\n"
    "  portolan pick alltoall-summit --nodes 2:1024\n"
    "  portolan pick alltoall-summit --what-if 'injection.*=/1:/8'\n\n"
    "csv: one row per range, always with the same columns (docs/formats.md).\n\n"
    "--for prints instead how a program that serves language models should add the parts of a layer:\n\n"
    "  portolan pick --for vllm --machine h200-x2-graph --collective allreduce --nodes 1 --procs-per-gpu 1 "
    "--datatype bfloat16 --bytes 1KiB:64MiB:4 --measured validate/results/h200-x2/torch.csv\n";

static PTO_NAME_LIST(by_at, pto_by_t, 0, PTO_BY_COUNT, pto_by_name);

#define STORE(form, member) PTO_STORE(form, pto_pick_options_t, member)

static const pto_option_t own_options[] = {
    {"by", "time|energy|product", "what to minimise: time, energy, or product (energy x time)",
     STORE(WORD, shared.by), .what = "measure", .standard = "time", .word_at = by_at},
    {"for", "none|vllm|sglang",
     "the routes that this program has for the allreduces of a tensor-parallel group, which is the fastest, "
     "and its settings",
     STORE(WORD, server), .what = "program", .standard = "none", .word_at = pto_server_at},
    {"layers", "N", "layers of the model of --for, with two allreduces each", STORE(COUNT, layers),
     .standard = "32"},
    {"measured", "FILE.csv", "with --for: times of PyTorch's symmetric memory (tests/bench/peer_torch.py)",
     STORE(TEXT, measured)},
    PTO_COMPARE_OPTION,
    {.name = NULL}};

static const pto_syntax_t syntax =
    PTO_SCENARIO_SYNTAX("portolan pick", usage, PTO_NAMES_SCENARIOS, {"options", pto_format_options},
                        {NULL, own_options}, {NULL, pto_work_options});

static const char *strategy_name(const pto_predictions_t *predictions, int strategy) {
    return strategy < 0 ? "-" : predictions->strategy[strategy]->name;
}

static const char *name_or_null(const pto_predictions_t *predictions, int strategy) {
    return strategy < 0 ? NULL : predictions->strategy[strategy]->name;
}

static const char *by_text(pto_by_t by) {
    return by == PTO_BY_PRODUCT ? "energy times time" : pto_by_name(by);
}

/* Print the measurement that would settle a doubtful pick: that of a parameter (`key`), or of both strategies
 * if the model's own error decides, which the machine file must then have. */
static void print_settle(const pto_predictions_t *predictions, const pto_range_t *range) {
    const pto_settle_t *settle = &range->settle;
    const bool has_answer = *settle->key || pto_machine_error_source(predictions->machine);
    if (range->settle_point < 0 || predictions->by != PTO_BY_TIME || !has_answer)
        return;
    pto_print_note(stdout, "%s at %s: %s or %s? measure %s%s%s%s%s", range->overlap ? "unsure" : "near-tie",
                   PTO_POINT_TITLE(predictions, predictions->point[range->settle_point]),
                   strategy_name(predictions, range->winner), strategy_name(predictions, range->settle_other),
                   *settle->key ? settle->key : "both (portolan-validate): the model's own error decides",
                   *settle->benchmark ? " by " : "", settle->benchmark, settle->bytes > 0 ? " of " : "",
                   settle->bytes > 0 ? PTO_SIZE_TEXT(settle->bytes) : "");
}

/* Whether the winner's price is extrapolated at some point of the range. */
static bool is_extrapolated(const pto_predictions_t *predictions, const pto_range_t *range) {
    for (int64_t i = 0; i < range->point_count && range->winner >= 0; i++) {
        const int64_t point = range->point_first + i;
        if (pto_prediction_at(predictions, point, range->winner)->price.extrapolated.gpus > 0)
            return true;
    }
    return false;
}

static bool is_same_key(const char *a, const char *b) { return a && b && strcmp(a, b) == 0; }

/* Print the parameters that make picks unsure, each with the first range that it affects. */
static void print_unsure(const pto_predictions_t *predictions, const pto_range_t *range, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        int64_t first = 0;
        while (first < i && !is_same_key(range[first].unpriced, range[i].unpriced))
            first++;
        if (range[i].unpriced && first == i)
            pto_print_note(stdout, "unsure from %s: %s is not %s",
                           PTO_POINT_TITLE(predictions, range[i].from), range[i].unpriced,
                           pto_is_library_key(range[i].unpriced) ? "known" : "priced");
    }
}

/* "5.8%", or "5.8..24.4%". */
static const char *margin_text(const pto_range_t *range, char *text, size_t text_size) {
    double low = 100 * range->margin_low, high = 100 * range->margin_high;
    if (range->runner_up < 0)
        snprintf(text, text_size, "-");
    else if (high - low < 0.05)
        snprintf(text, text_size, "%.1f%%", low);
    else
        snprintf(text, text_size, "%.1f..%.1f%%", low, high);
    return text;
}

/* The picks of a sweep. */
typedef struct {
    const pto_predictions_t *predictions;
    pto_range_t *range;
    int64_t count;
    pto_crossing_t *crossing;
    int64_t crossing_count;
} picks_t;

/* Where a range begins: at the last crossing between its first point and the one before, else at its first
 * point. */
static int64_t begin_of(const picks_t *picks, const pto_range_t *range) {
    int64_t begin = range->from;
    for (int64_t i = 0; i < picks->crossing_count; i++)
        if (picks->crossing[i].gap == range->point_first - 1)
            begin = picks->crossing[i].at;
    return begin;
}

/* Where a range ends: at the first crossing after its last point; INT64_MAX if it has no end. */
static int64_t end_of(const picks_t *picks, const pto_range_t *range) {
    for (int64_t i = 0; i < picks->crossing_count; i++)
        if (picks->crossing[i].gap == range->point_first + range->point_count - 1)
            return picks->crossing[i].at;
    return range->below;
}

/* The strategies that win only between two neighbouring points of the sweep. */
static void print_between(const picks_t *picks) {
    for (int64_t i = 0; i + 1 < picks->crossing_count; i++)
        if (picks->crossing[i].gap == picks->crossing[i + 1].gap)
            pto_print_note(stdout, "from %s to %s: %s",
                           PTO_POINT_SHORT(picks->predictions, picks->crossing[i].at),
                           PTO_POINT_SHORT(picks->predictions, picks->crossing[i + 1].at),
                           strategy_name(picks->predictions, picks->crossing[i].winner));
}

static void print_range(const picks_t *picks, const pto_range_t *range, int name_width) {
    const pto_predictions_t *predictions = picks->predictions;
    char margin[32];
    int64_t end = end_of(picks, range);
    printf("%-8s  %-8s  %s%-*s%s  %-*s  %12s", PTO_POINT_SHORT(predictions, begin_of(picks, range)),
           end == INT64_MAX ? "..." : PTO_POINT_SHORT(predictions, end), pto_terminal_bold(), name_width,
           strategy_name(predictions, range->winner), pto_terminal_plain(), name_width,
           strategy_name(predictions, range->runner_up), margin_text(range, margin, sizeof margin));
    if (pto_machine_error_source(predictions->machine))
        printf("  %5.1f%%", range->runner_up < 0 ? 0 : 100 * range->regret);
    printf("%s%s%s", range->near_tie ? " near-tie" : "",
           is_extrapolated(predictions, range) ? " extrapolated" : "",
           range->unpriced || range->overlap ? " unsure" : "");
    puts(range->tied > 0 ? " tied" : "");
}

static void print_ties(const picks_t *picks, const pto_range_t *range) {
    pto_text_t list = {0};
    char before[96];
    snprintf(before, sizeof before,
             "tied with %s from %s: ", strategy_name(picks->predictions, range->winner),
             PTO_POINT_SHORT(picks->predictions, begin_of(picks, range)));
    for (int i = 0; i < picks->predictions->strategy_count; i++)
        if (pto_range_is_tied(picks->predictions, range, i))
            pto_list_add(&list, before, strategy_name(picks->predictions, i));
    pto_print_list(&list);
}

static void print_table(const picks_t *picks) {
    const pto_predictions_t *predictions = picks->predictions;
    const pto_range_t *range = picks->range;
    int name_width = (int)strlen("Runner-up");
    for (int64_t i = 0; i < picks->count; i++) {
        name_width = pto_wider(name_width, strategy_name(predictions, range[i].winner));
        name_width = pto_wider(name_width, strategy_name(predictions, range[i].runner_up));
    }
    pto_print_header("pick", predictions);
    printf("# ranges of %s, half open", pto_sweep_kind_name(predictions->sweep));
    printf(predictions->by == PTO_BY_TIME ? "\n" : ", by %s\n", by_text(predictions->by));
    printf("# From    Below     %-*s  %-*s  %12s%s\n", name_width, "Winner", name_width, "Runner-up",
           "Margin", pto_machine_error_source(predictions->machine) ? "  Regret" : "");
    for (int64_t i = 0; i < picks->count; i++)
        print_range(picks, &range[i], name_width);
    print_between(picks);
    for (int64_t i = 0; i < picks->count; i++)
        print_ties(picks, &range[i]);
    for (int64_t i = 0; i < picks->count; i++)
        print_settle(predictions, &range[i]);
    print_unsure(predictions, range, picks->count);
    if (!pto_machine_error_source(predictions->machine))
        pto_print_note(stdout, "intervals: of parameters alone; the machine file has no model_error");
    pto_print_footer(predictions);
}

/* The columns bytes, nodes and messages; the swept one is empty. The name "fixed" is not printed in csv. */
static void print_csv_fixed(const pto_predictions_t *predictions, const pto_range_t *range) {
    pto_request_t request =
        pto_scenario_request(predictions->scenario, range->point_first, predictions->strategy[0], NULL);
    const int64_t fixed[] = {[PTO_SWEEP_BYTES] = request.bytes,
                             [PTO_SWEEP_NODES] = request.layout.nodes,
                             [PTO_SWEEP_MESSAGES] = request.messages};
    for (int i = 0; i < PTO_SWEEP_COUNT; i++)
        PTO_RECORD(
            stdout, PTO_FORMAT_CSV,
            pto_field_if(i != (int)predictions->sweep && fixed[i] > 0, pto_field_count("fixed", fixed[i])));
}

static void print_csv_heading(void) {
    printf("bytes,nodes,messages,by,swept,from,below,crossing,winner,runner_up,margin_low,margin_high,near_"
           "tie,overlap,tied,unpriced,regret,settle,benchmark,benchmark_bytes,model,what_if\n");
}

/* The fields of a range that csv and json share. */
static void print_record(const picks_t *picks, const pto_range_t *range, pto_format_t format) {
    const pto_predictions_t *predictions = picks->predictions;
    const char **tied = calloc((size_t)predictions->strategy_count, sizeof *tied);
    const int64_t bytes = range->settle.bytes;
    const bool ends = range->below != INT64_MAX;
    int count = 0;
    for (int i = 0; tied && i < predictions->strategy_count; i++)
        if (pto_range_is_tied(predictions, range, i))
            tied[count++] = strategy_name(predictions, i);
    PTO_RECORD(stdout, format, pto_field_count("from", range->from),
               pto_field_or_null(ends, pto_field_count("below", range->below)),
               pto_field_in_csv(pto_field_if(ends, pto_field_count("crossing", end_of(picks, range)))),
               pto_field_text("winner", name_or_null(predictions, range->winner)),
               pto_field_text("runner_up", name_or_null(predictions, range->runner_up)),
               pto_field_rounded("margin_low", range->margin_low, 6),
               pto_field_rounded("margin_high", range->margin_high, 6),
               pto_field_truth("near_tie", range->near_tie), pto_field_truth("overlap", range->overlap),
               pto_field_names("tied", tied, count), pto_field_text("unpriced", range->unpriced),
               pto_field_in_json(
                   pto_field_if(is_extrapolated(predictions, range), pto_field_truth("extrapolated", true))),
               pto_field_rounded("regret", range->regret, 6), pto_field_text("settle", range->settle.key),
               pto_field_text("benchmark", range->settle.benchmark),
               bytes > 0 ? pto_field_count("benchmark_bytes", bytes)
                         : pto_field_set(pto_field_count("benchmark_bytes", 0), PTO_RECORD_SHOWN,
                                         PTO_RECORD_LEFT_OUT));
    free(tied);
}

static void print_csv_range(const picks_t *picks, const pto_range_t *range) {
    const pto_predictions_t *predictions = picks->predictions;
    print_csv_fixed(predictions, range);
    printf("%s,%s,", pto_by_name(predictions->by), pto_sweep_kind_name(predictions->sweep));
    print_record(picks, range, PTO_FORMAT_CSV);
    pto_print_csv_changes(predictions->machine);
    putchar('\n');
}

static void print_csv(const picks_t *picks) {
    for (int64_t i = 0; i < picks->count; i++)
        print_csv_range(picks, &picks->range[i]);
}

static void print_json_crossings(const picks_t *picks) {
    printf("\n], \"crossings\": [");
    for (int64_t i = 0; i < picks->crossing_count; i++) {
        const pto_crossing_t *crossing = &picks->crossing[i];
        PTO_OBJECT(stdout, i ? ", " : "", pto_field_count("at", crossing->at),
                   pto_field_text("winner", name_or_null(picks->predictions, crossing->winner)),
                   pto_field_count("after", picks->predictions->point[crossing->gap]));
    }
    printf("]}\n");
}

static void print_json(const picks_t *picks) {
    const pto_predictions_t *predictions = picks->predictions;
    const bool by_time = predictions->by == PTO_BY_TIME;
    pto_print_json_start(predictions->machine);
    pto_print_json_question(predictions);
    PTO_MORE(stdout, pto_field_text("swept", pto_sweep_kind_name(predictions->sweep)),
             pto_field_if(!by_time, pto_field_text("by", pto_by_name(predictions->by))));
    printf(", \"ranges\": [");
    for (int64_t i = 0; i < picks->count; i++) {
        fputs(i ? ",\n  {" : "\n  {", stdout);
        print_record(picks, &picks->range[i], PTO_FORMAT_JSON);
        putchar('}');
    }
    print_json_crossings(picks);
}

/* Find the picks and where they change, then print them. */
static pto_status_t pick(const pto_predictions_t *predictions, pto_format_t format, pto_error_t *err) {
    picks_t picks = {.predictions = predictions};
    void (*const print_as[])(const picks_t *) = {
        [PTO_FORMAT_TABLE] = print_table, [PTO_FORMAT_CSV] = print_csv, [PTO_FORMAT_JSON] = print_json};
    pto_status_t status = pto_pick(predictions, &picks.range, &picks.count, err);
    if (status == PTO_OK)
        status = pto_crossings_or_points(predictions, &picks.crossing, &picks.crossing_count, err);
    if (status == PTO_OK)
        print_as[format](&picks);
    free(picks.range);
    free(picks.crossing);
    return status;
}

static pto_status_t run(pto_options_t *options, pto_error_t *err) {
    const pto_pick_options_t *own = (const pto_pick_options_t *)options;
    pto_predictions_t predictions;
    pto_status_t status = options->by == PTO_BY_TIME ? PTO_OK : pto_need_powers(options->machine, err);
    if (own->measured && own->server == 0)
        return pto_error_set(err, PTO_ERR_RANGE, "--measured goes with --for");
    if (status == PTO_OK)
        status = pto_predict(&options->scenario, options->machine, true, &predictions, err);
    if (status != PTO_OK)
        return status;
    predictions.by = options->by;
    status = pto_predictions_find_more_procs(&predictions, err);
    if (status == PTO_OK && own->server == 0 && options->format == PTO_FORMAT_CSV)
        print_csv_heading();
    if (status == PTO_OK)
        status = own->server > 0 ? pto_print_serving(own, &predictions, err)
                                 : pick(&predictions, options->format, err);
    pto_predictions_fini(&predictions);
    return status;
}

static pto_status_t print_run(pto_sweeps_run_t *run, pto_error_t *err) {
    return pick(&run->predictions, run->options->format, err);
}

static pto_status_t run_sweeps(const pto_arguments_t *arguments, pto_sweeps_t *sweeps, pto_error_t *err) {
    pto_status_t status = pto_sweeps_predict(sweeps, arguments, err);
    if (status != PTO_OK)
        return status;
    return sweeps->run[0].options->format == PTO_FORMAT_TABLE
               ? pto_print_sweeps_picks(sweeps, err)
               : pto_print_sweeps_runs(sweeps, print_csv_heading, print_run, err);
}

const pto_command_t pto_command_pick = {.name = "pick",
                                        .summary =
                                            "print the cheapest strategy of every range, and its margin",
                                        .syntax = &syntax,
                                        .options_size = sizeof(pto_pick_options_t),
                                        .on_scenario = run,
                                        .on_sweeps = run_sweeps};
