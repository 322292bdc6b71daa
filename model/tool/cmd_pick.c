/* portolan pick: the cheapest strategy in each range. */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "options.h"
#include "table.h"
#include "terminal.h"

static const char usage[] =
    "usage: portolan pick [SCENARIO.yaml] [OPTIONS]\n"
    "\n"
    "Prints, for half-open ranges [from, below) of the scenario's sizes (or nodes, or messages), the "
    "strategy\n"
    "that is predicted to be the cheapest, the runner-up, and how much longer the runner-up takes (with "
    "--by:\n"
    "how much more energy, or energy times time, it needs). Strategies with the same price tie: the first "
    "of\n"
    "them is the winner, the others are listed after it, and the runner-up is the next that costs more.\n"
    "regret: what a wrong pick is expected to cost, by the intervals (the most in the range). Under the "
    "table:\n"
    "the measurement that would settle each near-tie.\n"
    "\n"
    "  portolan pick scenarios/problems/alltoall-summit.yaml\n"
    "  portolan pick scenarios/problems/alltoall-summit.yaml --nodes 2:1024 --bytes 4096\n";

static const pto_option_set_t option_sets[] = {
    {"options", pto_format_options}, {NULL, pto_pick_options}, {NULL, pto_work_options}, PTO_SCENARIO_SETS};

static const pto_syntax_t syntax = {
    .program = "portolan pick", .usage = usage, .set = option_sets, .operand = "*.yaml"};

static const char *strategy_name(const pto_predictions_t *predictions, int strategy) {
    return strategy < 0 ? "-" : predictions->strategy[strategy]->name;
}

static const char *by_text(pto_by_t by) {
    return by == PTO_BY_PRODUCT ? "energy times time" : pto_by_name(by);
}

/* The strategies that tie with the winner, each preceded by `between`. */
static void print_tied(const pto_predictions_t *predictions, const pto_range_t *range, const char *first,
                       const char *between, const char *quote) {
    const char *before = first;
    for (int i = 0; i < predictions->strategy_count; i++)
        if (pto_range_is_tied(predictions, range, i)) {
            printf("%s%s%s%s", before, quote, strategy_name(predictions, i), quote);
            before = between;
        }
}

/* What would tell the strategies of a near-tie apart. */
static void print_settle(const pto_predictions_t *predictions, const pto_range_t *range) {
    const pto_settle_t *settle = &range->settle;
    bool known = *settle->key || pto_machine_error_source(predictions->machine);
    if (range->settle_point < 0 || predictions->by != PTO_BY_TIME || !known)
        return;
    char at[PTO_BYTES_TEXT_MAX], bytes[PTO_BYTES_TEXT_MAX] = "";
    if (settle->bytes > 0)
        pto_size_text(settle->bytes, bytes);
    pto_print_note(stdout, "near-tie at %s: %s or %s? measure %s%s%s%s%s",
                   pto_point_title(predictions, predictions->point[range->settle_point], at),
                   strategy_name(predictions, range->winner), strategy_name(predictions, range->settle_other),
                   *settle->key ? settle->key : "both (portolan-validate): the model's own error decides",
                   *settle->benchmark ? " by " : "", settle->benchmark, *bytes ? " of " : "", bytes);
}

/* Whether the winner's price is extrapolated at some point of the range. */
static bool is_extrapolated(const pto_predictions_t *predictions, const pto_range_t *range) {
    bool any = false;
    for (int64_t i = 0; i < range->point_count && range->winner >= 0; i++)
        any = any ||
              pto_prediction_at(predictions, range->point_first + i, range->winner)->price.extrapolated.gpus >
                  0;
    return any;
}

/* What makes picks unsure, each parameter once. */
static void print_unsure(const pto_predictions_t *predictions, const pto_range_t *range, int64_t count) {
    char at[PTO_BYTES_TEXT_MAX];
    for (int64_t i = 0; i < count; i++) {
        int64_t first = 0;
        while (first < i && !(range[first].unpriced && range[i].unpriced &&
                              strcmp(range[first].unpriced, range[i].unpriced) == 0))
            first++;
        if (range[i].unpriced && first == i)
            pto_print_note(stdout, "unsure from %s: %s is not priced",
                           pto_point_title(predictions, range[i].from, at), range[i].unpriced);
    }
}

/* "5.8 %", or "5.8 to 24.4 %". */
static const char *margin_text(const pto_range_t *range, char *text, size_t text_size) {
    double low = 100 * range->margin_low, high = 100 * range->margin_high;
    if (range->runner_up < 0)
        snprintf(text, text_size, "-");
    else if (high - low < 0.05)
        snprintf(text, text_size, "%.1f %%", low);
    else
        snprintf(text, text_size, "%.1f to %.1f %%", low, high);
    return text;
}

static void print_range(const pto_predictions_t *predictions, const pto_range_t *range, int name_width) {
    char from[PTO_BYTES_TEXT_MAX], below[PTO_BYTES_TEXT_MAX] = "...", margin[32];
    if (range->below != INT64_MAX)
        pto_point_text(predictions, range->below, below);
    printf("%-9s  %-9s  %s%-*s%s  %-*s  %15s", pto_point_text(predictions, range->from, from), below,
           pto_terminal_bold(stdout), name_width, strategy_name(predictions, range->winner),
           pto_terminal_plain(stdout), name_width, strategy_name(predictions, range->runner_up),
           margin_text(range, margin, sizeof margin));
    if (pto_machine_error_source(predictions->machine))
        printf("  %5.1f %%", range->runner_up < 0 ? 0 : 100 * range->regret);
    printf("%s%s%s", range->near_tie ? "  near-tie" : "",
           is_extrapolated(predictions, range) ? "  extrapolated" : "", range->unpriced ? "  unsure" : "");
    print_tied(predictions, range, "  tied with ", ", ", "");
    putchar('\n');
}

static void print_table(const pto_predictions_t *predictions, const pto_range_t *range, int64_t count) {
    int name_width = (int)strlen("Runner-up");
    for (int64_t i = 0; i < count; i++) {
        int winner = (int)strlen(strategy_name(predictions, range[i].winner));
        int runner_up = (int)strlen(strategy_name(predictions, range[i].runner_up));
        int wider = winner > runner_up ? winner : runner_up;
        name_width = wider > name_width ? wider : name_width;
    }
    pto_print_header(stdout, "pick", predictions);
    printf("# ranges of %s, half open", pto_sweep_kind_name(predictions->sweep));
    printf(predictions->by == PTO_BY_TIME ? "\n" : ", by %s\n", by_text(predictions->by));
    printf("# From     Below      %-*s  %-*s  %15s%s\n", name_width, "Winner", name_width, "Runner-up",
           "Margin", pto_machine_error_source(predictions->machine) ? "   Regret" : "");
    for (int64_t i = 0; i < count; i++)
        print_range(predictions, &range[i], name_width);
    for (int64_t i = 0; i < count; i++)
        print_settle(predictions, &range[i]);
    print_unsure(predictions, range, count);
    if (!pto_machine_error_source(predictions->machine))
        pto_print_note(stdout, "intervals: of parameters alone; the machine file has no model_error");
    pto_print_footer(stdout, predictions);
}

static void print_csv(const pto_predictions_t *predictions, const pto_range_t *range, int64_t count) {
    pto_print_changes(stdout, predictions->machine);
    pto_print_energy_note(stdout, predictions);
    pto_print_extrapolated(stdout, predictions);
    printf(
        "from,below,winner,runner_up,margin_low,margin_high,near_tie,tied,unpriced,regret,settle,benchmark,"
        "benchmark_bytes\n");
    for (int64_t i = 0; i < count; i++) {
        printf("%lld,", (long long)range[i].from);
        if (range[i].below != INT64_MAX)
            printf("%lld", (long long)range[i].below);
        printf(",%s,%s,%.6g,%.6g,%d,", range[i].winner < 0 ? "" : strategy_name(predictions, range[i].winner),
               range[i].runner_up < 0 ? "" : strategy_name(predictions, range[i].runner_up),
               range[i].margin_low, range[i].margin_high, range[i].near_tie);
        print_tied(predictions, &range[i], "", " ", "");
        printf(",%s,%.6g,%s,%s,", range[i].unpriced ? range[i].unpriced : "", range[i].regret,
               range[i].settle.key, range[i].settle.benchmark);
        if (range[i].settle.bytes > 0)
            printf("%lld", (long long)range[i].settle.bytes);
        putchar('\n');
    }
}

static void print_json_name(const char *key, const pto_predictions_t *predictions, int strategy) {
    if (strategy < 0)
        printf("\"%s\": null, ", key);
    else
        printf("\"%s\": \"%s\", ", key, strategy_name(predictions, strategy));
}

static void print_json(const pto_predictions_t *predictions, const pto_range_t *range, int64_t count) {
    pto_print_json_start(stdout, predictions->machine);
    pto_print_json_question(stdout, predictions);
    printf(", \"swept\": \"%s\", ", pto_sweep_kind_name(predictions->sweep));
    if (predictions->by != PTO_BY_TIME)
        printf("\"by\": \"%s\", ", pto_by_name(predictions->by));
    printf("\"ranges\": [");
    for (int64_t i = 0; i < count; i++) {
        printf("%s\n  {\"from\": %lld, \"below\": ", i ? "," : "", (long long)range[i].from);
        if (range[i].below == INT64_MAX)
            printf("null, ");
        else
            printf("%lld, ", (long long)range[i].below);
        print_json_name("winner", predictions, range[i].winner);
        print_json_name("runner_up", predictions, range[i].runner_up);
        printf("\"margin_low\": %.6g, \"margin_high\": %.6g, \"near_tie\": %s, \"tied\": [",
               range[i].margin_low, range[i].margin_high, range[i].near_tie ? "true" : "false");
        print_tied(predictions, &range[i], "", ", ", "\"");
        printf("], \"unpriced\": ");
        printf(range[i].unpriced ? "\"%s\"" : "null", range[i].unpriced);
        if (is_extrapolated(predictions, &range[i]))
            printf(", \"extrapolated\": true");
        printf(", \"regret\": %.6g, \"settle\": \"%s\", \"benchmark\": \"%s\", \"benchmark_bytes\": %lld}",
               range[i].regret, range[i].settle.key, range[i].settle.benchmark,
               (long long)range[i].settle.bytes);
    }
    printf("\n]}\n");
}

static pto_status_t run(pto_options_t *options, pto_error_t *err) {
    pto_predictions_t predictions;
    pto_range_t *range = NULL;
    int64_t count = 0;
    pto_status_t status = options->by == PTO_BY_TIME ? PTO_OK : pto_need_powers(options->machine, err);
    if (status == PTO_OK)
        status = pto_predict(&options->scenario, options->machine, true, &predictions, err);
    if (status == PTO_OK) {
        predictions.by = options->by;
        status = pto_pick(&predictions, &range, &count, err);
        if (status == PTO_OK && options->format == PTO_FORMAT_CSV)
            print_csv(&predictions, range, count);
        else if (status == PTO_OK && options->format == PTO_FORMAT_JSON)
            print_json(&predictions, range, count);
        else if (status == PTO_OK)
            print_table(&predictions, range, count);
        free(range);
        pto_predictions_fini(&predictions);
    }
    return status;
}

const pto_command_t pto_command_pick = {.name = "pick",
                                        .summary =
                                            "print the cheapest strategy of every range, and its margin",
                                        .syntax = &syntax,
                                        .on_scenario = run};
