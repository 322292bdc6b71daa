/* Command-line options on scenarios: read the file, override its fields, check and bind the result. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "option_table.h"
#include "portolan/what_if.h"

int pto_report_error(const pto_error_t *err) {
    char text[PTO_ERROR_FILE_MAX + PTO_ERROR_MESSAGE_MAX + 64];
    pto_error_format(err, text, sizeof text);
    fprintf(stderr, "%s%s\n", err->line > 0 ? "" : "portolan: ", text);
    return PTO_EXIT_ERROR;
}

int pto_flush_output(void) {
    if (fflush(stdout) == 0 && !ferror(stdout))
        return PTO_EXIT_OK;
    fprintf(stderr, "portolan: cannot write standard output: %s\n", strerror(errno));
    return PTO_EXIT_ERROR;
}

enum { OPTION_HELP = 1000 };

static void print_help(const char *usage, unsigned own) {
    fputs(usage, stdout);
    for (int pass = 0; pass < 2; pass++) {
        fputs(pass == 0 ? "\noptions:\n" : "\noverriding the scenario, or instead of one:\n", stdout);
        for (int i = 0; i < pto_option_count; i++) {
            const pto_option_t *option = &pto_option_table[i];
            if (pass == 0 ? !(option->own & own) : option->own != 0)
                continue;
            char left[64];
            snprintf(left, sizeof left, "--%s %s", option->name, option->argument ? option->argument : "");
            printf("  %-36s %s\n", left, option->help);
        }
        if (pass == 0)
            printf("  %-36s %s\n", "--help", "this text");
    }
}

/* getopt_long's table of the options that a command takes. */
static void fill_long_options(unsigned own, struct option *list) {
    int count = 0;
    for (int i = 0; i < pto_option_count; i++)
        if (pto_option_table[i].own == 0 || (pto_option_table[i].own & own))
            list[count++] =
                (struct option){pto_option_table[i].name,
                                pto_option_table[i].argument ? required_argument : no_argument, NULL, i};
    list[count++] = (struct option){"help", no_argument, NULL, OPTION_HELP};
    list[count] = (struct option){0};
}

/* --- putting it together ----------------------------------------------------------------------------------
 */

/* What the arguments ask for, in their order. */
typedef struct {
    int index;
    const char *text;
} asked_t;

static pto_status_t read_scenario(pto_options_t *options, const char *path, pto_error_t *err) {
    if (path)
        return pto_scenario_read(path, &options->scenario, err);
    pto_scenario_init(&options->scenario);
    return PTO_OK;
}

static void drop_strategies(pto_scenario_t *scenario) {
    for (int i = 0; i < scenario->strategy_count; i++)
        free(scenario->strategy[i]);
    scenario->strategy_count = 0;
}

static pto_status_t apply_all(pto_options_t *options, const asked_t *asked, int count, pto_error_t *err) {
    bool strategies_dropped = false;
    for (int i = 0; i < count; i++) {
        const pto_option_t *option = &pto_option_table[asked[i].index];
        if (option->field == PTO_FIELD_STRATEGIES && !strategies_dropped) {
            drop_strategies(&options->scenario);
            strategies_dropped = true;
        }
        /* What is overridden no longer stands at its place in the file. */
        if (option->field != PTO_FIELD_COUNT)
            options->scenario.place[option->field] = (pto_place_t){0};
        pto_error_t cause = {0};
        pto_status_t status = option->apply(options, asked[i].text, &cause);
        if (status != PTO_OK && cause.line > 0) {
            *err = cause;
            return status;
        }
        if (status != PTO_OK)
            return pto_error_set(err, status, "--%s: %s", option->name, cause.message);
    }
    return PTO_OK;
}

/* What a scenario made of flags alone must be given. */
static pto_status_t check_complete(const pto_scenario_t *scenario, pto_error_t *err) {
    const char *missing = NULL;
    if (!scenario->machine_path)
        missing = "--machine";
    else if (scenario->collective == PTO_COLLECTIVE_COUNT)
        missing = "--collective";
    else if (scenario->nodes.count == 0)
        missing = "--nodes";
    else if (scenario->bytes.count == 0 && scenario->counts.kind != PTO_COUNTS_MATRIX)
        missing = "--bytes";
    else if (scenario->collective == PTO_COLLECTIVE_MESSAGES && scenario->messages.count == 0)
        missing = "--messages";
    if (!missing)
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_KEY, "without a scenario file, %s is needed", missing);
}

/* Options that make no sense are wrong usage; files that can't be read are errors. */
static int exit_code_of(const pto_error_t *err) {
    pto_report_error(err);
    return err->line > 0 || err->status == PTO_ERR_IO || err->status == PTO_ERR_MEMORY ? PTO_EXIT_ERROR
                                                                                       : PTO_EXIT_USAGE;
}

static pto_status_t read_machine(pto_options_t *options, pto_error_t *err) {
    pto_status_t status = pto_scenario_check(&options->scenario, err);
    if (status == PTO_OK)
        status = pto_scenario_read_machine(&options->scenario, &options->machine, err);
    return status;
}

/* What the flags change in the machine (and the layout) once it is read. */
static pto_status_t change(pto_options_t *options, pto_error_t *err) {
    pto_error_t cause = {0};
    if (options->model && pto_machine_restrict(&options->machine, options->model, &cause) != PTO_OK)
        return pto_error_set(err, cause.status, "--model: %s", cause.message);
    for (int i = 0; i < options->what_if_count; i++)
        if (pto_what_if(options->what_if[i], &options->scenario, &options->machine, &cause) != PTO_OK)
            return pto_error_set(err, cause.status, "--what-if: %s", cause.message);
    return PTO_OK;
}

static pto_status_t bind(pto_options_t *options, pto_error_t *err) {
    pto_status_t status = pto_scenario_check(&options->scenario, err);
    if (status == PTO_OK)
        status = pto_scenario_bind(&options->scenario, &options->machine, err);
    return status;
}

/* -1, or the exit code with the error said. */
static int prepare(pto_options_t *options, const char *path, const asked_t *asked, int count) {
    pto_error_t err = {0};
    if (read_scenario(options, path, &err) != PTO_OK)
        return pto_report_error(&err);
    if (apply_all(options, asked, count, &err) != PTO_OK ||
        (!path && check_complete(&options->scenario, &err) != PTO_OK))
        return exit_code_of(&err);
    if (read_machine(options, &err) != PTO_OK)
        return pto_report_error(&err);
    if (change(options, &err) != PTO_OK)
        return exit_code_of(&err);
    return bind(options, &err) == PTO_OK ? -1 : pto_report_error(&err);
}

int pto_options_parse(int argc, char **argv, unsigned own_options, const char *usage,
                      pto_options_t *options) {
    struct option *list = calloc((size_t)pto_option_count + 2, sizeof *list);
    asked_t *asked = calloc((size_t)argc, sizeof *asked);
    int asked_count = 0;
    int exit_code = -1;
    memset(options, 0, sizeof *options);
    if (!asked || !list) {
        free(asked);
        free(list);
        return PTO_EXIT_ERROR;
    }
    fill_long_options(own_options, list);
    optind = 1;
    for (int index; exit_code < 0 && (index = getopt_long(argc, argv, "h", list, NULL)) != -1;) {
        if (index == OPTION_HELP || index == 'h') {
            print_help(usage, own_options);
            exit_code = PTO_EXIT_OK;
        } else if (index == '?') {
            fprintf(stderr, "`portolan %s --help` lists the options\n", argv[0]);
            exit_code = PTO_EXIT_USAGE;
        } else {
            asked[asked_count++] = (asked_t){index, optarg};
        }
    }
    if (exit_code < 0 && (argc - optind > 1 || (argc == optind && asked_count == 0))) {
        fputs(usage, stderr);
        exit_code = PTO_EXIT_USAGE;
    }
    if (exit_code < 0)
        exit_code = prepare(options, optind < argc ? argv[optind] : NULL, asked, asked_count);
    free(asked);
    free(list);
    if (exit_code >= 0)
        pto_options_fini(options);
    return exit_code;
}

void pto_options_fini(pto_options_t *options) {
    pto_scenario_fini(&options->scenario);
    pto_machine_fini(&options->machine);
    free(options->what_if);
}
