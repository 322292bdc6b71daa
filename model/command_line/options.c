/* The options of commands on scenarios: read the scenario's file, override its fields, read and change the
 * machine, and bind the scenario to it. pto_options_open does all of this in that order. */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "find_machine.h"
#include "option_table.h"
#include "portolan/output.h"
#include "portolan/scenario.h"
#include "portolan/strategy.h"

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

pto_status_t pto_options_find_machine(pto_scenario_t *scenario, const char *path, pto_error_t *err) {
    const char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    const char *name = scenario->machine_path; /* as read: relative to the scenario's folder */
    if (strncmp(name, path, folder) == 0)
        name += folder;
    pto_error_t fault = {0};
    char *found;
    pto_status_t status = pto_find_machine(name, path, &found, &fault);
    pto_place_t place = scenario->place[PTO_FIELD_MACHINE];
    if (status != PTO_OK)
        return pto_error_set_at(err, status, path, place.line, place.column, "machine: %s", fault.message);
    free(scenario->machine_path);
    scenario->machine_path = found;
    return PTO_OK;
}

static bool is_given(const pto_arguments_t *arguments, pto_scenario_field_t field) {
    for (int i = 0; i < arguments->given_count; i++)
        if (arguments->given[i].option->overrides == 1 + (int)field)
            return true;
    return false;
}

static bool has_scenario_file(const pto_arguments_t *arguments) {
    return arguments->operand_count > 0 && !pto_text_ends(arguments->operand[0], ".csv");
}

/* A CSV file of counts, such as the profiler's traffic, gives all of a scenario but machine and layout. */
static pto_status_t read_counts(const char *path, pto_options_t *options, pto_error_t *err) {
    options->scenario.collective = PTO_COLLECTIVE_ALLTOALLV;
    options->scenario.implementation = PTO_IMPLEMENTATION_ISEND_IRECV;
    return pto_option_apply_counts(options, path, err);
}

static pto_status_t read_scenario(const pto_arguments_t *arguments, pto_options_t *options,
                                  pto_error_t *err) {
    const char *path = arguments->operand_count > 0 ? arguments->operand[0] : NULL;
    if (!has_scenario_file(arguments)) {
        pto_scenario_init(&options->scenario);
        return path ? read_counts(path, options, err) : PTO_OK;
    }
    pto_status_t status = pto_scenario_read(path, &options->scenario, err);
    if (status == PTO_OK && !is_given(arguments, PTO_FIELD_MACHINE))
        status = pto_options_find_machine(&options->scenario, path, err);
    return status;
}

/* Overridden fields no longer have a position in the file. */
static void forget_places(const pto_arguments_t *arguments, pto_scenario_t *scenario) {
    for (int i = 0; i < PTO_FIELD_COUNT; i++)
        if (is_given(arguments, (pto_scenario_field_t)i))
            scenario->place[i] = (pto_place_t){0};
}

/* Whether a scenario's name may contain the value of a field, as in "alltoall on 32 Summit nodes". */
static bool may_be_in_name(pto_scenario_field_t field) {
    return field == PTO_FIELD_MACHINE || field == PTO_FIELD_COLLECTIVE || field == PTO_FIELD_LAYOUT ||
           field == PTO_FIELD_MEMORY || field == PTO_FIELD_NODES || field == PTO_FIELD_MESSAGES;
}

/* Append the options that may contradict a scenario's name to the name, so that titles stay true. */
static pto_status_t add_overrides_to_name(const pto_arguments_t *arguments, pto_scenario_t *scenario,
                                          pto_error_t *err) {
    bool any = false;
    for (int i = 0; i < arguments->given_count && scenario->name; i++) {
        const pto_given_t *given = &arguments->given[i];
        if (given->option->overrides == 0 ||
            !may_be_in_name((pto_scenario_field_t)(given->option->overrides - 1)))
            continue;
        size_t size = strlen(scenario->name) + strlen(given->option->name) + strlen(given->text) + 16;
        char *longer = malloc(size);
        if (!longer)
            return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
        snprintf(longer, size, "%s%s --%s %s", scenario->name, any ? "" : ", with", given->option->name,
                 given->text);
        free(scenario->name);
        scenario->name = longer;
        any = true;
    }
    return PTO_OK;
}

/* Check for required options without a scenario file. Errors in others come before a missing --messages. */
static pto_status_t check_complete(const pto_scenario_t *scenario, pto_error_t *err) {
    const char *missing = NULL;
    if (!scenario->machine_path)
        missing = "--machine";
    else if (scenario->collective == PTO_COLLECTIVE_COUNT)
        missing = "--collective";
    else if (scenario->nodes.count == 0 && scenario->collective != PTO_COLLECTIVE_PAIR)
        missing = "--nodes";
    else if (scenario->bytes.count == 0 && pto_counts_scale(&scenario->counts) &&
             scenario->collective != PTO_COLLECTIVE_HALO)
        missing = "--bytes";
    else if (scenario->collective == PTO_COLLECTIVE_HALO && scenario->halo.extent[0] == 0)
        missing = "--extent";
    else if (scenario->collective == PTO_COLLECTIVE_MESSAGES && scenario->messages.count == 0) {
        pto_status_t status = pto_scenario_check(scenario, err);
        if (status != PTO_OK)
            return status;
        missing = "--messages";
    }
    if (!missing)
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_KEY, "without a scenario file, %s is needed", missing);
}

int pto_options_fail(const pto_options_t *options, const pto_error_t *err) {
    pto_report_error(err);
    bool by_file = err->line > 0 || err->status == PTO_ERR_IO || err->status == PTO_ERR_MEMORY;
    return options->by_option && !by_file ? PTO_EXIT_USAGE : PTO_EXIT_ERROR;
}

bool pto_what_if_is_range(const char *what_if) {
    const char *equals = strchr(what_if, '=');
    return equals && strpbrk(equals + 1, ":,");
}

/* Refuse a --what-if with several values. (A command that sweeps it has replaced them by one for each run.)
 */
static pto_status_t refuse_range(const char *what_if, pto_error_t *err) {
    return pto_what_if_is_range(what_if) ? pto_error_set(err, PTO_ERR_RANGE,
                                                         "--what-if: %s names several values, which predict "
                                                         "and pick take for a scenario; give one",
                                                         what_if)
                                         : PTO_OK;
}

/* Change the machine by --mpi, --model, --what-if and the variant, in this order. */
static pto_status_t change(pto_options_t *options, pto_error_t *err) {
    pto_error_t cause = {0};
    if (options->mpi && pto_machine_use_library(options->machine, options->mpi, &cause) != PTO_OK)
        return pto_error_set(err, cause.status, "--mpi: %s", cause.message);
    if (options->model && pto_machine_restrict(options->machine, options->model, &cause) != PTO_OK)
        return pto_error_set(err, cause.status, "--model: %s", cause.message);
    for (int i = 0; i < options->what_if_count; i++) {
        if (refuse_range(options->what_if[i], err) != PTO_OK)
            return PTO_ERR_RANGE;
        if (pto_what_if(options->what_if[i], &options->scenario, options->machine, &cause) != PTO_OK)
            return pto_error_set(err, cause.status, "--what-if: %s", cause.message);
    }
    return options->variant.change ? options->variant.change(options->variant.context, options, err) : PTO_OK;
}

/* Record whether an option is to blame for an error. Returns `status`. */
static pto_status_t blame(pto_options_t *options, bool option, pto_status_t status) {
    options->by_option = option && status != PTO_OK;
    return status;
}

pto_status_t pto_options_change(pto_options_t *options, pto_error_t *err) {
    return blame(options, true, change(options, err));
}

static pto_status_t bind(pto_options_t *options, pto_error_t *err) {
    bool changed = options->what_if_count > 0 || options->variant.change;
    pto_status_t status = changed ? pto_scenario_check(&options->scenario, err) : PTO_OK;
    if (status == PTO_OK)
        status = pto_scenario_bind(&options->scenario, options->machine, err);
    return status;
}

int pto_options_apply(const pto_arguments_t *arguments, void *target) {
    pto_error_t err = {0};
    pto_find_by_name();
    pto_status_t status = pto_arguments_apply(arguments, target, &err);
    if (status == PTO_ERR_IO)
        return pto_report_error(&err);
    return status == PTO_OK ? -1 : pto_usage_error(arguments->syntax, "%s", err.message);
}

bool pto_options_name_file(const pto_options_t *options) {
    return options->out && strcmp(options->out, "-") != 0;
}

int pto_refuse_standard_output(const pto_syntax_t *syntax, const char *option, const char *path) {
    return path && strcmp(path, "-") == 0
               ? pto_usage_error(syntax, "--%s: standard output has the table; name a file", option)
               : -1;
}

pto_status_t pto_write_file(const char *path, bool force, pto_write_t *write, void *context,
                            pto_error_t *err) {
    pto_output_t *output = NULL;
    pto_status_t status = pto_output_open(path, force, &output, err);
    if (status != PTO_OK)
        return status;
    status = write(context, pto_output_stream(output), err);
    pto_status_t closed = pto_output_close(output, status == PTO_OK, status == PTO_OK ? err : NULL);
    return status == PTO_OK ? closed : status;
}

pto_status_t pto_options_write(const pto_options_t *options, pto_write_t *write, void *context,
                               pto_error_t *err) {
    return pto_options_name_file(options) ? pto_write_file(options->out, options->force, write, context, err)
                                          : write(context, stdout, err);
}

/* `overridden`: options have changed the scenario since it was read and checked, so it is checked again, and
 * they are to blame for an error. */
static pto_status_t open_machine(pto_options_t *options, bool overridden, pto_error_t *err) {
    bool changed = overridden || options->variant.ask;
    pto_status_t status = changed ? pto_scenario_check(&options->scenario, err) : PTO_OK;
    if (status != PTO_OK)
        return blame(options, overridden, status);
    status = pto_scenario_read_machine(&options->scenario, &options->machine, err);
    if (status == PTO_OK)
        status = pto_options_change(options, err);
    return status == PTO_OK ? blame(options, overridden, bind(options, err)) : status;
}

int pto_options_bind(pto_options_t *options) {
    pto_error_t err = {0};
    return open_machine(options, true, &err) == PTO_OK ? -1 : pto_options_fail(options, &err);
}

/* Make the scenario with which a command on measured collectives opens its machine. (Their layouts come from
 * the collectives.) */
static pto_status_t smallest_scenario(pto_scenario_t *scenario, pto_error_t *err) {
    static const char text[] = "scenario: none\nmachine: none\ncollective: allreduce\nbytes: 4\n"
                               "layout: {nodes: 1, procs_per_node: 1}\nmemory: host\n";
    pto_status_t status = pto_scenario_parse(text, sizeof text - 1, "", scenario, err);
    if (status == PTO_OK) {
        memset(scenario->place, 0, sizeof scenario->place);
        free(scenario->machine_path);
        scenario->machine_path = NULL;
    }
    return status;
}

int pto_options_machine(const pto_arguments_t *given, pto_options_t *options) {
    pto_error_t err = {0};
    pto_status_t status = smallest_scenario(&options->scenario, &err);
    if (status != PTO_OK)
        return pto_report_error(&err);
    int code = pto_options_apply(given, options);
    if (code >= 0)
        return code;
    if (!options->scenario.machine_path)
        return pto_usage_error(given->syntax, "no machine given (--machine)");
    code = pto_options_bind(options);
    if (code < 0 && pto_layout_rank_count(&options->scenario.layout) != 1)
        return pto_usage_error(given->syntax, "--what-if: layouts are as they were measured");
    return code;
}

/* Check the name given to --library. One from the file is checked where it is used, and has a line there. */
static pto_status_t check_library(const pto_scenario_t *scenario, pto_error_t *err) {
    const pto_algorithm_t *found;
    const char *name = scenario->library.name;
    pto_error_t cause = {0};
    if (!name || scenario->place[PTO_FIELD_LIBRARY].line > 0 ||
        !pto_collective_is_in_mpi(scenario->collective) ||
        pto_algorithm_find(name, scenario->collective, &found, &cause) == PTO_OK)
        return PTO_OK;
    return pto_error_set(err, cause.status, "--library: %s", cause.message);
}

/* Override the scenario's fields by the options. */
static pto_status_t apply(const pto_arguments_t *arguments, pto_options_t *options, pto_error_t *err) {
    forget_places(arguments, &options->scenario);
    pto_status_t status = pto_arguments_apply(arguments, options, err);
    if (status == PTO_OK)
        status = add_overrides_to_name(arguments, &options->scenario, err);
    if (status == PTO_OK && !has_scenario_file(arguments))
        status = check_complete(&options->scenario, err);
    if (status == PTO_OK)
        status = check_library(&options->scenario, err);
    if (status == PTO_OK && options->variant.ask)
        status = options->variant.ask(options->variant.context, options, err);
    return status;
}

static bool is_overridden(const pto_arguments_t *arguments) {
    for (int i = 0; i < arguments->given_count; i++)
        if (arguments->given[i].option->overrides > 0)
            return true;
    return false;
}

pto_status_t pto_options_open(const pto_arguments_t *arguments, pto_options_t *options, pto_error_t *err) {
    pto_status_t status = read_scenario(arguments, options, err);
    if (status != PTO_OK)
        return status;
    status = blame(options, true, apply(arguments, options, err));
    return status == PTO_OK ? open_machine(options, is_overridden(arguments), err) : status;
}

int pto_options_finish(const pto_arguments_t *arguments, pto_options_t *options) {
    pto_find_by_name();
    const pto_syntax_t *syntax = arguments->syntax;
    if (arguments->operand_count > 1)
        return pto_usage_error(syntax, "'%s' is one scenario too many: a run takes one",
                               arguments->operand[1]);
    if (arguments->operand_count + arguments->given_count == 0)
        return pto_usage_error(syntax, "neither a scenario nor options are given");
    pto_error_t err = {0};
    if (pto_options_open(arguments, options, &err) == PTO_OK)
        return -1;
    int code = pto_options_fail(options, &err);
    pto_options_fini(options);
    return code;
}

int pto_options_one_strategy(const pto_options_t *options, const pto_syntax_t *syntax, const char *what) {
    const pto_strategy_t **strategy;
    int count;
    pto_error_t err = {0};
    if (pto_scenario_strategies(&options->scenario, &strategy, &count, &err) != PTO_OK)
        return pto_report_error(&err);
    free(strategy);
    return count == 1
               ? -1
               : pto_usage_error(
                     syntax,
                     "%s is that of one strategy, and this scenario has %d; --strategy NAME selects one",
                     what, count);
}

void pto_options_fini(pto_options_t *options) {
    pto_scenario_fini(&options->scenario);
    pto_machine_destroy(options->machine);
    free(options->what_if);
    *options = (pto_options_t){.format = PTO_FORMAT_TABLE};
}
