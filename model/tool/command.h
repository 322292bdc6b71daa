/* Subcommands of portolan: one descriptor and one file each, listed in portolan.c. */
#ifndef PTO_COMMAND_H
#define PTO_COMMAND_H

typedef struct {
    const char *name;
    const char *summary;
    /* `argv[0]` is the subcommand's name. Returns the exit code: 0, 1 for an error, 2 for wrong usage. */
    int (*run)(int argc, char **argv);
} pto_command_t;

enum { PTO_EXIT_OK = 0, PTO_EXIT_ERROR = 1, PTO_EXIT_USAGE = 2 };

extern const pto_command_t pto_command_list, pto_command_predict, pto_command_pick, pto_command_plan,
    pto_command_check, pto_command_fit, pto_command_sensitivity, pto_command_score, pto_command_simulate;

#endif
