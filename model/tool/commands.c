/* The list of subcommands, and how one is run: its arguments are parsed, and a command on a scenario gets the
 * scenario read and bound to its machine. */
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "command.h"
#include "command_line/calibrate_options.h"
#include "command_line/validate_options.h"

static const pto_command_t *const commands[] = {
    &pto_command_predict,  &pto_command_pick,    &pto_command_step,        &pto_command_replay,
    &pto_command_tune,     &pto_command_map,     &pto_command_plan,        &pto_command_check,
    &pto_command_simulate, &pto_command_traffic, &pto_command_list,        &pto_command_fit,
    &pto_command_machine,  &pto_command_upgrade, &pto_command_sensitivity, &pto_command_score,
    &pto_command_topology, &pto_command_export,  &pto_command_start,       &pto_command_completion,
    &pto_command_report,
};

enum { COMMAND_COUNT = (int)(sizeof commands / sizeof *commands) };

static const pto_command_t programs[] = {
    {.name = "portolan-calibrate", .syntax = &pto_calibrate_syntax},
    {.name = "portolan-validate", .syntax = &pto_validate_syntax},
};

static int run_on_scenario(const pto_command_t *command, const pto_arguments_t *arguments) {
    const size_t size = command->options_size > 0 ? command->options_size : sizeof(pto_options_t);
    pto_options_t *options = calloc(1, size);
    pto_sweeps_t sweeps = {.options_size = size};
    pto_error_t err = {0};
    if (!options) {
        pto_error_set(&err, PTO_ERR_MEMORY, "out of memory");
        return pto_report_error(&err);
    }
    if (command->on_sweeps) /* notes which quantities the options sweep */
        options->variant = pto_sweeps_variant(&sweeps);
    int code = pto_options_finish(arguments, options);
    if (code < 0 && command->check)
        code = command->check(options);
    if (code < 0) {
        pto_status_t status = options->two_sweeps && command->on_sweeps
                                  ? command->on_sweeps(arguments, &sweeps, &err)
                                  : command->on_scenario(options, &err);
        options->by_option = options->by_option || sweeps.by_option;
        code = status == PTO_OK ? pto_flush_output() : pto_options_fail(options, &err);
    }
    pto_sweeps_fini(&sweeps);
    pto_options_fini(options);
    free(options);
    return code;
}

int pto_command_run(const pto_command_t *command, int argc, char **argv) {
    pto_arguments_t arguments;
    int code = pto_arguments_parse(command->syntax, argc, argv, &arguments);
    if (code == PTO_EXIT_OK) /* --help was printed */
        return pto_flush_output();
    if (code > 0)
        return code;
    code = command->run ? command->run(&arguments) : run_on_scenario(command, &arguments);
    pto_arguments_fini(&arguments);
    return code;
}

const pto_command_t *pto_program_at(int i) {
    return i < (int)(sizeof programs / sizeof *programs) ? &programs[i] : NULL;
}

const pto_command_t *pto_command_at(int i) { return i < COMMAND_COUNT ? commands[i] : NULL; }

pto_status_t pto_command_find(const char *name, const pto_command_t **command, pto_error_t *err) {
    const char *known[COMMAND_COUNT];
    for (int i = 0; i < COMMAND_COUNT; i++) {
        known[i] = commands[i]->name;
        if (strcmp(name, known[i]) == 0) {
            *command = commands[i];
            return PTO_OK;
        }
    }
    const char *near = pto_suggest(name, known, COMMAND_COUNT);
    if (near)
        return pto_error_set(err, PTO_ERR_NOT_FOUND, "no command '%s'; did you mean '%s'?", name, near);
    return pto_error_set(err, PTO_ERR_NOT_FOUND, "no command '%s'; `portolan --help` lists them", name);
}
