/* Subcommands of portolan: one descriptor and one file each, listed in commands.c. */
#ifndef PTO_COMMAND_H
#define PTO_COMMAND_H

#include "command_line/option_table.h"
#include "show/sweeps.h"

typedef struct {
    const char *name;
    const char *summary;
    const pto_syntax_t *syntax;
    /* Returns the exit code: 0, 1 for an error, 2 for wrong usage. */
    int (*run)(const pto_arguments_t *arguments);
    /* In place of `run`, the work of a command on a scenario, which is read and bound. The options are the
     * first part of the command's own struct, of `options_size` bytes; 0: it has none. */
    size_t options_size;
    pto_status_t (*on_scenario)(pto_options_t *options, pto_error_t *err);
    /* In place of on_scenario where two things vary; NULL: the command takes one sweep. */
    pto_status_t (*on_sweeps)(const pto_arguments_t *arguments, pto_sweeps_t *sweeps, pto_error_t *err);
    /* Before either: wrong usage of its options. Returns -1, or the exit code after saying so; or NULL. */
    int (*check)(const pto_options_t *options);
} pto_command_t;

/* Run a command with its arguments; `argv[0]` is the command's name. Returns the exit code. */
int pto_command_run(const pto_command_t *command, int argc, char **argv);

/* NULL after the last one. */
const pto_command_t *pto_command_at(int i);

/* The project's other programs, as far as their command lines go; NULL behind the last one. */
const pto_command_t *pto_program_at(int i);

/* Errors: PTO_ERR_NOT_FOUND, with the nearest name. */
pto_status_t pto_command_find(const char *name, const pto_command_t **command, pto_error_t *err);

extern const pto_command_t pto_command_list, pto_command_predict, pto_command_pick, pto_command_plan,
    pto_command_check, pto_command_fit, pto_command_sensitivity, pto_command_score, pto_command_simulate,
    pto_command_topology, pto_command_traffic, pto_command_completion, pto_command_tune, pto_command_map,
    pto_command_export, pto_command_start, pto_command_step, pto_command_replay, pto_command_machine,
    pto_command_upgrade, pto_command_report;

#endif
