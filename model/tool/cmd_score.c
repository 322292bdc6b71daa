/* portolan score: predictions and picks beside measured collectives. */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "options.h"
#include "portolan/fit.h"
#include "portolan/score.h"
#include "portolan/units.h"
#include "score_table.h"

static const char usage[] =
    "usage: portolan score --machine MACHINE COLLECTIVES.csv [MORE.csv ...] [OPTIONS]\n"
    "\n"
    "Predicts what was measured and says how often the best strategy is picked, how much longer the picked\n"
    "one takes than the best (regret), and how far predictions are off. A cell is one decision: a\n"
    "collective, a layout and a size, with two or more strategies measured.\n"
    "\n"
    "  portolan score --machine summit-spectrum collectives.csv\n"
    "  portolan score --machine h200-x4 validate/results/h200-x4/collectives.csv --by nodes --format csv\n"
    "\n"
    "options:\n"
    "  --machine FILE|NAME          the machine file, or the name of one that `portolan list` shows\n"
    "  --model NAME                 which of the machine's terms count (`portolan predict --help`)\n"
    "  --what-if PARAMETER=VALUE    change a parameter of the machine for this run (repeatable)\n"
    "  --statistic min|median       a strategy's time: of its runs the fastest (runs that are jobs) or the\n"
    "                               median (repeats; default where portolan-validate wrote all files)\n"
    "  --min-bytes N                leave out smaller sizes, whose shares round (default 64)\n"
    "  --skip IMPLEMENTATION:STRATEGY  leave out these rows, which did not do the collective (repeatable)\n"
    "  --by nodes                   by number of nodes as well\n"
    "  --leave-one-out              predict each node count with what collectives alone can show (as\n"
    "                               `portolan fit --collectives` finds it) fitted to the others only\n"
    "  --cells                      every cell instead: each strategy's time, measured and predicted\n"
    "  --format table|csv|json      how to print (default table)\n"
    "  --help                       this text\n"
    "\n"
    "floor: what one run's fastest strategies score on the same cells; a model can't be asked for more.\n"
    "always S: a user without a model who always takes S; its errors are those of S's predictions.\n";

typedef struct {
    bool has_statistic;
    bool has_min_bytes;
    pto_statistic_t statistic;
    int64_t min_bytes;
    pto_score_skip_t *skip;
    int skip_count;
    score_print_t print;
    const char *machine;
    char **shared; /* arguments for the options that all commands share */
    int shared_count;
} arguments_t;

enum {
    OPTION_MACHINE = 256,
    OPTION_MODEL,
    OPTION_WHAT_IF,
    OPTION_FORMAT,
    OPTION_STATISTIC,
    OPTION_MIN_BYTES,
    OPTION_SKIP,
    OPTION_BY,
    OPTION_CELLS,
    OPTION_LEAVE_ONE_OUT,
    OPTION_HELP
};

static const struct option long_options[] = {
    {"machine", required_argument, NULL, OPTION_MACHINE},
    {"model", required_argument, NULL, OPTION_MODEL},
    {"what-if", required_argument, NULL, OPTION_WHAT_IF},
    {"format", required_argument, NULL, OPTION_FORMAT},
    {"statistic", required_argument, NULL, OPTION_STATISTIC},
    {"min-bytes", required_argument, NULL, OPTION_MIN_BYTES},
    {"skip", required_argument, NULL, OPTION_SKIP},
    {"by", required_argument, NULL, OPTION_BY},
    {"cells", no_argument, NULL, OPTION_CELLS},
    {"leave-one-out", no_argument, NULL, OPTION_LEAVE_ONE_OUT},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

static int usage_error(const char *format, ...) PTO_PRINTF_LIKE(1, 2);

static int usage_error(const char *format, ...) {
    va_list arguments;
    fputs("portolan score: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputs("; `portolan score --help` explains\n", stderr);
    return PTO_EXIT_USAGE;
}

/* --- arguments: -1 to go on, else the exit code -------------------------------------------------------- */

static int apply_statistic(const char *text, arguments_t *arguments) {
    arguments->has_statistic = true;
    for (pto_statistic_t i = 0; i < PTO_STATISTIC_COUNT; i++)
        if (strcmp(text, pto_statistic_name(i)) == 0) {
            arguments->statistic = i;
            return -1;
        }
    return usage_error("--statistic: unknown statistic '%s'; known: min, median", text);
}

static int apply_min_bytes(const char *text, arguments_t *arguments) {
    pto_error_t err = {0};
    arguments->has_min_bytes = true;
    return pto_bytes_parse(text, &arguments->min_bytes, &err) == PTO_OK
               ? -1
               : usage_error("--min-bytes: %s", err.message);
}

static int apply_skip(const char *text, arguments_t *arguments) {
    const char *colon = strchr(text, ':');
    pto_score_skip_t *skip = &arguments->skip[arguments->skip_count++];
    pto_error_t err = {0};
    if (!colon)
        return usage_error("--skip: '%s' is not IMPLEMENTATION:STRATEGY", text);
    while (skip->implementation < PTO_IMPLEMENTATION_COUNT) {
        const char *name = pto_implementation_name(skip->implementation);
        if (strlen(name) == (size_t)(colon - text) && strncmp(name, text, strlen(name)) == 0)
            break;
        skip->implementation++;
    }
    if (skip->implementation == PTO_IMPLEMENTATION_COUNT)
        return usage_error("--skip: '%.*s' is not library or isend_irecv", (int)(colon - text), text);
    return pto_strategy_find(colon + 1, &skip->strategy, &err) == PTO_OK
               ? -1
               : usage_error("--skip: %s", err.message);
}

static int apply_by(const char *text, arguments_t *arguments) {
    arguments->print.by_nodes = true;
    return strcmp(text, "nodes") == 0 ? -1 : usage_error("--by: unknown '%s'; known: nodes", text);
}

/* One for the options that commands on scenarios have too: they are read by the same code. */
static int pass_on(const char *name, char *text, arguments_t *arguments) {
    static char machine[] = "--machine", model[] = "--model", what_if[] = "--what-if", format[] = "--format";
    char *const known[] = {machine, model, what_if, format};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i] + 2, name) == 0)
            arguments->shared[arguments->shared_count++] = known[i];
    arguments->shared[arguments->shared_count++] = text;
    return -1;
}

static int apply(int option, const char *name, arguments_t *arguments) {
    switch (option) {
    case OPTION_STATISTIC:
        return apply_statistic(optarg, arguments);
    case OPTION_MIN_BYTES:
        return apply_min_bytes(optarg, arguments);
    case OPTION_SKIP:
        return apply_skip(optarg, arguments);
    case OPTION_BY:
        return apply_by(optarg, arguments);
    case OPTION_CELLS:
        arguments->print.cells = true;
        return -1;
    case OPTION_LEAVE_ONE_OUT:
        arguments->print.leave_one_out = true;
        return -1;
    case OPTION_HELP:
        fputs(usage, stdout);
        return PTO_EXIT_OK;
    default:
        if (option == OPTION_MACHINE)
            arguments->machine = optarg;
        return pass_on(name, optarg, arguments);
    }
}

static int parse_arguments(int argc, char **argv, arguments_t *arguments) {
    int option, index = 0;
    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, ":", long_options, &index)) != -1) {
        if (option == ':' || option == '?')
            return usage_error("%s: %s", argv[optind - 1],
                               option == ':' ? "needs a value" : "unknown option");
        int code = apply(option, long_options[index].name, arguments);
        if (code >= 0)
            return code;
    }
    if (!arguments->machine)
        return usage_error("no machine given (--machine)");
    if (optind >= argc)
        return usage_error("no measured collectives given");
    return -1;
}

/* The machine and the format come by the options that all commands share. These read scenarios, so get one of
 * the smallest layout: cells bring their own, and a what-if on it would change nothing. */
static int read_machine(arguments_t *arguments, pto_options_t *options) {
    static char word[][16] = {"score", "--collective",    "allreduce", "--nodes", "1", "--gpus-per-node",
                              "1",     "--cores-per-gpu", "1",         "--bytes", "4"};
    enum { WORDS = (int)(sizeof word / sizeof *word) };
    char **argv = calloc((size_t)(WORDS + arguments->shared_count) + 1, sizeof *argv);
    if (!argv)
        return PTO_EXIT_ERROR;
    for (int i = 0; i < WORDS; i++)
        argv[i] = word[i];
    for (int i = 0; i < arguments->shared_count; i++)
        argv[WORDS + i] = arguments->shared[i];
    int code = pto_options_parse(WORDS + arguments->shared_count, argv, PTO_OPTION_FORMAT, usage, options);
    free(argv);
    if (code >= 0)
        return code;
    const pto_layout_t *layout = &options->scenario.layout;
    if (pto_layout_rank_count(layout) == 1)
        return -1;
    pto_options_fini(options);
    return usage_error("--what-if: layouts are as they were measured");
}

/* --- scoring -------------------------------------------------------------------------------------------- */

static pto_score_options_t score_options(const arguments_t *arguments, const pto_collectives_t *collectives) {
    pto_score_options_t options = pto_score_defaults(collectives);
    if (arguments->has_statistic)
        options.statistic = arguments->statistic;
    if (arguments->has_min_bytes)
        options.min_bytes = arguments->min_bytes;
    options.skip = arguments->skip;
    options.skip_count = arguments->skip_count;
    return options;
}

static pto_status_t no_cells(const pto_score_t *score, pto_error_t *err) {
    return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                         "nothing to score: no cell of %lld bytes and up has two strategies measured%s%s",
                         (long long)score->options.min_bytes, score->note_count > 0 ? "; left out: " : "",
                         score->note_count > 0 ? score->note[0].text : "");
}

/* A machine for the cells of `nodes`, which knows nothing of them; of no more terms than the user asked for.
 */
static pto_status_t refit(const pto_machine_t *machine, const pto_collectives_t *collectives, int64_t nodes,
                          void *context, pto_machine_t *fitted, pto_error_t *err) {
    (void)context;
    pto_fit_collectives_t fit;
    pto_status_t status = pto_fit_collectives(machine, collectives, nodes, &fit, err);
    if (status != PTO_OK)
        return status;
    *fitted = fit.machine;
    return machine->model ? pto_machine_restrict(fitted, machine->model, err) : PTO_OK;
}

static pto_status_t predict(const arguments_t *arguments, const pto_machine_t *machine,
                            const pto_collectives_t *collectives, pto_score_t *score, pto_error_t *err) {
    if (score->cell_count == 0)
        return no_cells(score, err);
    if (arguments->print.leave_one_out)
        return pto_score_leave_one_out(score, collectives, machine, refit, NULL, err);
    return pto_score_predict(score, machine, 0, err);
}

static pto_status_t score_and_print(const arguments_t *arguments, const pto_options_t *options,
                                    const pto_collectives_t *collectives, pto_error_t *err) {
    pto_score_t score;
    score_print_t print = arguments->print;
    pto_score_options_t asked = score_options(arguments, collectives);
    pto_status_t status = pto_score_collect(collectives, &asked, &score, err);
    if (status != PTO_OK)
        return status;
    status = predict(arguments, &options->machine, collectives, &score, err);
    print.format = options->format;
    if (status == PTO_OK)
        status = score_print(&score, collectives, &options->machine, &print, err);
    pto_score_fini(&score);
    return status;
}

static int score_files(const arguments_t *arguments, const pto_options_t *options, int count, char **paths) {
    pto_collectives_t collectives = {0};
    pto_error_t err = {0};
    pto_status_t status = PTO_OK;
    for (int i = 0; i < count && status == PTO_OK; i++)
        status = pto_collectives_read(paths[i], &collectives, &err);
    if (status == PTO_OK)
        status = score_and_print(arguments, options, &collectives, &err);
    pto_collectives_fini(&collectives);
    return status == PTO_OK ? pto_flush_output() : pto_report_error(&err);
}

static int run(int argc, char **argv) {
    arguments_t arguments = {.skip = calloc((size_t)argc, sizeof *arguments.skip),
                             .shared = calloc(2 * (size_t)argc, sizeof *arguments.shared)};
    int code = PTO_EXIT_ERROR;
    if (arguments.skip && arguments.shared)
        code = parse_arguments(argc, argv, &arguments);
    int first = optind;
    if (code < 0) {
        pto_options_t options;
        code = read_machine(&arguments, &options);
        if (code < 0) {
            code = score_files(&arguments, &options, argc - first, argv + first);
            pto_options_fini(&options);
        }
    }
    free(arguments.skip);
    free(arguments.shared);
    return code;
}

const pto_command_t pto_command_score = {
    .name = "score",
    .summary = "set predictions beside measured collectives: picks, regret, errors",
    .run = run};
