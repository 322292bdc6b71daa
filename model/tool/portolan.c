/* portolan: what moving bytes costs on a GPU cluster, and by which route it is cheapest. */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "portolan/version.h"

static const pto_command_t *const commands[] = {
    &pto_command_predict, &pto_command_pick,        &pto_command_plan,
    &pto_command_check,   &pto_command_simulate,    &pto_command_list,
    &pto_command_fit,     &pto_command_sensitivity, &pto_command_score,
};

enum { COMMAND_COUNT = (int)(sizeof commands / sizeof *commands) };

static void print_usage(FILE *stream) {
    fputs("usage: portolan COMMAND [SCENARIO.yaml] [OPTIONS]\n"
          "\n"
          "Predicts what an MPI collective on GPU data costs along every route the data could take,\n"
          "from a machine's measured parameters.\n"
          "\n"
          "commands:\n",
          stream);
    for (int i = 0; i < COMMAND_COUNT; i++)
        fprintf(stream, "  %-11s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\n"
          "`portolan COMMAND --help` explains each.\n"
          "\n"
          "example:\n"
          "  portolan predict scenarios/problems/alltoall-summit.yaml\n"
          "\n"
          "exit codes: 0 done, 1 an error (said as file:line:column: message), 2 wrong usage.\n",
          stream);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        print_usage(stderr);
        return PTO_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_usage(stdout);
        return PTO_EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("portolan %s\n", pto_version());
        return PTO_EXIT_OK;
    }
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(argv[1], commands[i]->name) == 0)
            return commands[i]->run(argc - 1, argv + 1);
    fprintf(stderr, "portolan: no command '%s'; `portolan --help` lists them\n", argv[1]);
    return PTO_EXIT_USAGE;
}
