/* portolan score: compares predictions and picks with measured collectives, and with baselines that need no
 * model. By default, no cell is scored with a machine that was fitted to it (choose_cells). The `terms` of a
 * machine are the parameters that were fitted to collectives; its samples determined all others.
 * show/score_table.c prints the result. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/names.h"
#include "command.h"
#include "portolan/fit.h"
#include "portolan/machine.h"
#include "portolan/recording.h"
#include "portolan/score.h"
#include "show/score_table.h"

static const char usage[] =
    "usage: portolan score --machine MACHINE COLLECTIVES.csv|FILE:NODESxGPUS ... [OPTIONS]\n\n"
    "Predicts measured collectives and reports how often the best strategy is picked, how much longer the\n"
    "picked strategy takes than the best (regret), and the prediction errors. A cell is one decision: a\n"
    "collective, a layout and a size for which two or more strategies were measured.\n\n"
    "  portolan score --machine summit-spectrum collectives.csv\n"
    "  portolan score --machine h200-x4 validate/results/h200-x4/collectives.csv --by nodes --format csv\n\n"
    "  portolan score --machine h200-x2 osu.txt:1x2 nccl-tests.txt:1x2\n\n"
    "Outputs of OSU's benchmarks (cuda_aware) and nccl-tests (nccl) are read with the nodes and processes\n"
    "per node that they were measured on.\n\n"
    "floor: the score of one run's fastest strategies on the same cells; no model can be expected to do\n"
    "better. always S: a user without a model who always takes S; its errors are those of S's predictions.\n";

typedef struct {
    pto_options_t shared;      /* must be first: the shared options are stored at its offsets */
    pto_statistic_t statistic; /* PTO_STATISTIC_COUNT: not given */
    int64_t min_bytes;
    pto_score_skip_t *skip;
    int skip_count;
    pto_node_counts_t train; /* --train; empty: the scored files have no training set */
    pto_node_counts_t test;  /* --test; empty: all but those of `train` are scored */
    pto_texts_t train_files; /* --train-file */
    score_print_t print;
} arguments_t;

static PTO_NAME_LIST(statistic_at, pto_statistic_t, 0, PTO_STATISTIC_COUNT, pto_statistic_name);

static pto_status_t parse_implementation(const char *text, size_t size, pto_implementation_t *found,
                                         pto_error_t *err) {
    for (pto_implementation_t i = 0; i < PTO_IMPLEMENTATION_COUNT; i++) {
        const char *name = pto_implementation_name(i);
        if (strlen(name) == size && strncmp(name, text, size) == 0) {
            *found = i;
            return PTO_OK;
        }
    }
    return pto_error_set(err, PTO_ERR_NOT_FOUND, "'%.*s' is not library or isend_irecv", (int)size, text);
}

static pto_status_t apply_skip(void *target, const char *text, pto_error_t *err) {
    arguments_t *arguments = target;
    const char *colon = strchr(text, ':');
    if (!colon)
        return pto_error_set(err, PTO_ERR_TYPE, "'%s' is not IMPLEMENTATION:STRATEGY", text);
    pto_score_skip_t skip;
    pto_status_t status = parse_implementation(text, (size_t)(colon - text), &skip.implementation, err);
    if (status == PTO_OK)
        status = pto_strategy_find(colon + 1, &skip.strategy, err);
    if (status != PTO_OK)
        return status;
    if (!PTO_EXTEND(arguments->skip, arguments->skip_count))
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    arguments->skip[arguments->skip_count++] = skip;
    return PTO_OK;
}

static const char *group_at(int i) { return i == 0 ? "nodes" : NULL; }

static pto_status_t apply_by(void *target, const char *text, pto_error_t *err) {
    int found;
    ((arguments_t *)target)->print.by_nodes = true;
    return pto_word_parse(text, "group", group_at, &found, err);
}

static pto_status_t apply_node_counts(void *target, const char *text, pto_error_t *err) {
    return pto_node_counts_parse(text, target, err);
}

#define STORE(form, member) PTO_STORE(form, arguments_t, member)

static const pto_option_t score_options_table[] = {
    {"statistic", "min|median",
     "a strategy's time: of its runs the fastest (runs that are jobs) or the median (repeats; default where "
     "portolan-validate wrote all files)",
     STORE(WORD, statistic), .word_at = statistic_at},
    {"min-bytes", "N", "leave out smaller sizes, whose shares round", STORE(BYTES, min_bytes),
     .standard = "64"},
    {"skip", "IMPLEMENTATION:STRATEGY", "leave out these rows, which did not do the collective (repeatable)",
     .apply = apply_skip},
    {"by", "nodes", "by number of nodes as well", .apply = apply_by, .word_at = group_at},
    {"train", "nodes=N[,N...]",
     "these node counts are what the machine file and the baselines were trained on: they are not scored",
     STORE(OWN, train), .apply = apply_node_counts},
    {"train-file", "FILE.csv", "the baselines learn from these collectives instead (repeatable)",
     STORE(TEXTS, train_files)},
    {"test", "nodes=N[,N...]", "score only these node counts", STORE(OWN, test), .apply = apply_node_counts},
    {"baselines", NULL, "print what needs no model as well, trained on the same collectives",
     STORE(FLAG, print.baselines)},
    {"leave-one-out", NULL,
     "predict each node count with what collectives alone can show (as `portolan fit --collectives` finds "
     "it) fitted to the others only; the default where the machine file's terms were fitted to these cells",
     STORE(FLAG, print.leave_one_out)},
    {"in-sample", NULL, "predict cells with the terms that were fitted to them",
     STORE(FLAG, print.in_sample)},
    {"model-error", NULL,
     "print only the model's error on these cells, as `model_error` of a machine file that knows none of "
     "them (docs/fitting.md); those that are not --train's show what more nodes add",
     STORE(FLAG, print.model_error)},
    {"cells", NULL, "every cell instead: each strategy's time, measured and predicted",
     STORE(FLAG, print.cells)},
    {"bandwidth", "algorithm|bus|both",
     "GB/s of cells instead of their times, as nccl-tests defines them; both: algbw and busbw as measured, "
     "beside times",
     STORE(WORD, print.bandwidth), .what = "bandwidth", .standard = "none", .word_at = pto_bandwidth_name},
    {.name = NULL}};

static const pto_syntax_t syntax = {
    .program = "portolan score",
    .usage = usage,
    .set = PTO_SETS({"options", pto_machine_options}, {NULL, pto_change_options}, {NULL, score_options_table},
                    {NULL, pto_work_options}, {NULL, pto_format_options}, {NULL, pto_table_options}),
    .operand = "*.csv"};

static bool is_given(const pto_arguments_t *given, const char *name) {
    for (int i = 0; i < given->given_count; i++)
        if (strcmp(given->given[i].option->name, name) == 0)
            return true;
    return false;
}

/* --model-error prints the error over all cells and nothing else, so options on scoring are rejected. */
static int check_model_error(const pto_arguments_t *given) {
    static const char *const without[] = {"test", "train-file", "statistic",     "min-bytes", "skip",
                                          "by",   "baselines",  "leave-one-out", "in-sample", "cells"};
    for (size_t i = 0; i < sizeof without / sizeof *without && is_given(given, "model-error"); i++)
        if (is_given(given, without[i]))
            return pto_usage_error(&syntax, "--model-error cannot be combined with --%s", without[i]);
    return -1;
}

/* Returns -1, or the exit code after printing the error. */
static int apply(const pto_arguments_t *given, arguments_t *arguments) {
    if (given->operand_count == 0 && pto_arguments_text(given, "machine"))
        return pto_usage_error(&syntax, "no measured collectives given");
    int code = check_model_error(given);
    if (code < 0)
        code = pto_options_machine(given, &arguments->shared);
    if (code < 0 && arguments->print.bandwidth != PTO_BANDWIDTH_NONE &&
        (!arguments->print.cells || arguments->shared.format != PTO_FORMAT_TABLE))
        code = pto_usage_error(&syntax, "--bandwidth is for the table of --cells");
    return code;
}

static pto_score_options_t score_options(const arguments_t *arguments, const pto_collectives_t *collectives) {
    pto_score_options_t options = pto_score_defaults(collectives);
    if (arguments->statistic != PTO_STATISTIC_COUNT)
        options.statistic = arguments->statistic;
    options.min_bytes = arguments->min_bytes;
    options.skip = arguments->skip;
    options.skip_count = arguments->skip_count;
    options.nodes = arguments->test;
    if (arguments->test.count == 0 && arguments->train.count > 0) {
        options.nodes = arguments->train;
        options.nodes.except = true;
    }
    return options;
}

/* Set and return the error that there is nothing to score. */
static pto_status_t no_cells(const pto_score_t *score, pto_error_t *err) {
    return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                         "nothing to score: no cell of %lld bytes and up%s has two strategies measured%s%s",
                         (long long)score->options.min_bytes,
                         score->options.nodes.count > 0 ? ", on the node counts that are scored," : "",
                         score->note_count > 0 ? "; left out: " : "",
                         score->note_count > 0 ? score->note[0].text : "");
}

/* The node counts of these files that the machine's terms were fitted to. */
static pto_node_counts_t fitted_nodes(const pto_machine_t *machine, const pto_collectives_t *collectives) {
    pto_node_counts_t found = {0};
    for (int i = 0; i < collectives->file_count; i++) {
        char digest[PTO_COLLECTIVES_DIGEST_MAX];
        const int64_t *nodes = NULL;
        pto_collectives_digest(collectives, i, digest);
        int count = pto_machine_fitted_to(machine, digest, &nodes);
        for (int n = 0; n < count && found.count < PTO_NODE_COUNTS_MAX; n++)
            found.value[found.count++] = nodes[n];
    }
    return found;
}

/* Keep the cells that are scored apart from those that the machine was fitted to. If it was fitted to all
 * node counts, leave each out of the fit in turn; if to some, score the others. Options override this. A node
 * count is `seen` if the machine was fitted to it. */
static void choose_cells(const pto_machine_t *machine, const pto_collectives_t *collectives,
                         arguments_t *arguments) {
    pto_node_counts_t fitted = fitted_nodes(machine, collectives);
    int unseen = 0, seen = 0;
    bool is_chosen =
        arguments->train.count > 0 || arguments->print.leave_one_out || arguments->print.in_sample;
    for (int i = 0; i < collectives->file_count && fitted.count > 0; i++) {
        pto_node_counts_t scored = pto_collectives_nodes(collectives, i, &arguments->test);
        for (int n = 0; n < scored.count; n++) {
            bool is_seen = pto_node_counts_has(&fitted, scored.value[n]);
            seen += is_seen;
            unseen += !is_seen;
        }
    }
    if (!is_chosen && unseen == 0)
        arguments->print.leave_one_out = seen > 1;
    else if (!is_chosen && seen > 0)
        arguments->train = fitted;
    arguments->print.in_sample = !arguments->print.leave_one_out && seen > 0 && arguments->train.count == 0;
}

/* Called by pto_score_leave_one_out: create a machine that is fitted to the node counts of `train`, with the
 * model terms of --model. `context` is a pto_fit_prices_t, which saves prices from one fit to the next. */
static pto_status_t refit(const pto_machine_t *machine, const pto_collectives_t *collectives,
                          const pto_node_counts_t *train, void *context, pto_machine_t **fitted,
                          pto_error_t *err) {
    pto_fit_collectives_t fit;
    pto_status_t status = pto_fit_collectives(machine, collectives, train, context, &fit, err);
    if (status != PTO_OK)
        return status;
    *fitted = fit.machine;
    const char *model = pto_machine_model(machine);
    status = pto_fit_model_error(fit.machine, collectives, train, true, context, err);
    if (status != PTO_OK)
        return status;
    return model ? pto_machine_restrict(fit.machine, model, err) : PTO_OK;
}

static pto_status_t predict(const arguments_t *arguments, const pto_machine_t *machine,
                            const pto_collectives_t *collectives, pto_score_t *score, pto_error_t *err) {
    if (score->cell_count == 0)
        return no_cells(score, err);
    pto_status_t status = pto_check_amount(
        &arguments->shared.scenario, "predicting these cells takes the work of",
        pto_score_work(score, machine), arguments->print.leave_one_out ? PTO_FIT_PRICES : 1, err);
    if (status != PTO_OK)
        return status;
    if (!arguments->print.leave_one_out)
        return pto_score_predict(score, machine, 0, err);
    pto_fit_prices_t *prices = pto_fit_prices_create();
    status = pto_score_leave_one_out(score, collectives, machine, refit, prices, err);
    pto_fit_prices_destroy(prices);
    return status;
}

/* Train the baselines on these node counts of a set of collectives. */
static pto_status_t learn(const pto_machine_t *machine, const pto_collectives_t *collectives,
                          const pto_node_counts_t *nodes, pto_score_t *score, pto_error_t *err) {
    pto_score_t train = {0};
    pto_score_options_t options = score->options;
    options.statistic = pto_score_defaults(collectives).statistic;
    options.nodes = *nodes;
    pto_status_t status = pto_score_collect(collectives, &options, &train, err);
    if (status == PTO_OK)
        status = pto_score_predict(&train, machine, 0, err);
    if (status == PTO_OK)
        status = pto_score_learn(score, &train, 0, err);
    pto_score_fini(&train);
    return status;
}

/* Add the collectives of a file. It is wrong usage if it contradicts the NODESxGPUS after its name. */
static pto_status_t read_collectives(const char *path, arguments_t *arguments, pto_collectives_t *collectives,
                                     pto_error_t *err) {
    pto_status_t status = pto_recording_collectives(path, collectives, err);
    arguments->shared.by_option = pto_recording_contradicts(path, status);
    return status;
}

/* Train the baselines on the files of --train-file, else on the node counts of --train, else not at all. */
static pto_status_t learn_from(arguments_t *arguments, const pto_machine_t *machine,
                               const pto_collectives_t *collectives, pto_score_t *score, pto_error_t *err) {
    pto_collectives_t others = {0};
    pto_status_t status = PTO_OK;
    if (arguments->train_files.count == 0)
        return arguments->train.count > 0 ? learn(machine, collectives, &arguments->train, score, err)
                                          : PTO_OK;
    for (int i = 0; i < arguments->train_files.count && status == PTO_OK; i++)
        status = read_collectives(arguments->train_files.item[i], arguments, &others, err);
    if (status == PTO_OK)
        status = learn(machine, &others, &(pto_node_counts_t){0}, score, err);
    pto_collectives_fini(&others);
    return status;
}

/* Print the model's error on these cells, for the machine files of similar machines. */
static pto_status_t print_model_error(const pto_machine_t *machine, const pto_collectives_t *collectives,
                                      const pto_node_counts_t *train, pto_error_t *err) {
    pto_machine_t *copy = NULL;
    char *text = NULL;
    pto_status_t status = pto_machine_duplicate(machine, &copy, err);
    if (status == PTO_OK)
        status = pto_fit_model_error(copy, collectives, train, false, NULL, err);
    if (status == PTO_OK)
        status = pto_machine_error_format(copy, &text, err);
    if (status == PTO_OK && *text == '\0')
        status =
            pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                          "too few measured times with a prediction for the model's error: 19 are needed");
    if (status == PTO_OK)
        fputs(text, stdout);
    free(text);
    pto_machine_destroy(copy);
    return status;
}

/* Fail if no cell could be predicted, so that a script does not take the table for a score. */
static pto_status_t check_predicted(const pto_score_t *score, pto_error_t *err) {
    bool any = score->is_cut;
    for (int64_t i = 0; i < score->cell_count && !any; i++)
        any = score->cell[i].picked >= 0;
    return any ? PTO_OK : pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "no cell could be predicted");
}

static pto_status_t score_and_print(arguments_t *arguments, const pto_collectives_t *collectives,
                                    pto_error_t *err) {
    const pto_options_t *options = &arguments->shared;
    pto_score_t score;
    if (arguments->print.model_error)
        return print_model_error(options->machine, collectives, &arguments->train, err);
    choose_cells(options->machine, collectives, arguments);
    score_print_t print = arguments->print;
    pto_score_options_t selection = score_options(arguments, collectives);
    pto_status_t status = pto_score_collect(collectives, &selection, &score, err);
    if (status != PTO_OK)
        return status;
    status = predict(arguments, options->machine, collectives, &score, err);
    if (status == PTO_OK)
        status = learn_from(arguments, options->machine, collectives, &score, err);
    print.format = options->format;
    print.all = options->all;
    if (status == PTO_OK)
        status = score_print(&score, collectives, options->machine, &print, err);
    if (status == PTO_OK)
        status = check_predicted(&score, err);
    pto_score_fini(&score);
    return status;
}

static int score_files(arguments_t *arguments, int count, char **paths) {
    pto_collectives_t collectives = {0};
    pto_error_t err = {0};
    pto_status_t status = PTO_OK;
    for (int i = 0; i < count && status == PTO_OK; i++)
        status = read_collectives(paths[i], arguments, &collectives, &err);
    if (status == PTO_OK)
        status = score_and_print(arguments, &collectives, &err);
    pto_collectives_fini(&collectives);
    if (status == PTO_OK)
        return pto_flush_output();
    int code = pto_report_error(&err);
    return arguments->shared.by_option ? PTO_EXIT_USAGE : code;
}

static int run(const pto_arguments_t *given) {
    arguments_t arguments = {.statistic = PTO_STATISTIC_COUNT};
    int code = apply(given, &arguments);
    if (code < 0)
        code = score_files(&arguments, given->operand_count, given->operand);
    pto_options_fini(&arguments.shared);
    free(arguments.skip);
    return code;
}

const pto_command_t pto_command_score = {
    .name = "score",
    .summary = "compare predictions with measured collectives: picks, regret, errors",
    .syntax = &syntax,
    .run = run};
