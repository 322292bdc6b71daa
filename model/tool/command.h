/* Subcommands of portolan: one descriptor and one file each, listed in commands.c. */
#ifndef PTO_COMMAND_H
#define PTO_COMMAND_H

#include "arguments.h"

typedef struct {
    const char *name;
    const char *summary;
    const pto_syntax_t *syntax;
    /* `argv[0]` is the subcommand's name. Returns the exit code: 0, 1 for an error, 2 for wrong usage. */
    int (*run)(int argc, char **argv);
} pto_command_t;

/* NULL after the last one. */
const pto_command_t *pto_command_at(int i);

/* The project's other programs, as far as their command lines go; NULL behind the last one. `run` is NULL. */
const pto_command_t *pto_program_at(int i);

/* Errors: PTO_ERR_NOT_FOUND, with the nearest name. */
pto_status_t pto_command_find(const char *name, const pto_command_t **command, pto_error_t *err);

extern const pto_command_t pto_command_list, pto_command_predict, pto_command_pick, pto_command_plan,
    pto_command_check, pto_command_fit, pto_command_sensitivity, pto_command_score, pto_command_simulate,
    pto_command_completion;

#endif
