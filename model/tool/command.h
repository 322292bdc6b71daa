/* Subcommands of portolan: one descriptor and one file each, listed in commands.c. */
#ifndef PTO_COMMAND_H
#define PTO_COMMAND_H

#include "command_line/machine_folders.h"
#include "command_line/option_table.h"
#include "show/sweeps.h"

typedef struct {
    const char *name;
    const char *summary;
    const pto_syntax_t *syntax;
    /* Does everything itself. Returns the exit code: 0, 1 for an error, 2 for wrong usage, 3 of
     * `export` (`portolan help exit-codes`). Where it is NULL, the command works on a scenario, which
     * pto_command_run reads and binds before it calls the functions below. */
    int (*run)(const pto_arguments_t *arguments);
    /* The size of the command's own struct, which begins with a pto_options_t; 0: it has no other options. */
    size_t options_size;
    /* NULL, or checks the options first. Returns -1, or the exit code after printing the error. */
    int (*check)(const pto_options_t *options);
    pto_status_t (*on_scenario)(pto_options_t *options, pto_error_t *err);
    /* Called instead of on_scenario if two quantities are swept; NULL: the command takes one sweep. */
    pto_status_t (*on_sweeps)(const pto_arguments_t *arguments, pto_sweeps_t *sweeps, pto_error_t *err);
} pto_command_t;

/* Run a command with its arguments; `argv[0]` is the command's name. Returns the exit code. */
int pto_command_run(const pto_command_t *command, int argc, char **argv);

/* NULL after the last one. */
const pto_command_t *pto_command_at(int i);

/* The names and options of the project's other programs, for completion; NULL after the last one. */
const pto_command_t *pto_program_at(int i);

/* Print the names of the files in these folders, each after a text and without reading the files. */
void pto_print_names(pto_folder_kind_t folders, const char *before);

/* Errors: PTO_ERR_NOT_FOUND, with the nearest name. */
pto_status_t pto_command_find(const char *name, const pto_command_t **command, pto_error_t *err);

extern const pto_command_t pto_command_list, pto_command_predict, pto_command_pick, pto_command_plan,
    pto_command_check, pto_command_fit, pto_command_sensitivity, pto_command_score, pto_command_simulate,
    pto_command_topology, pto_command_traffic, pto_command_completion, pto_command_tune, pto_command_map,
    pto_command_export, pto_command_start, pto_command_step, pto_command_replay, pto_command_machine,
    pto_command_upgrade, pto_command_report;

#endif
