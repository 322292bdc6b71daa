/* portolan list: what portolan knows, from the registries that it uses itself. */
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "options.h"

static const char usage[] =
    "usage: portolan list [collectives|strategies|algorithms|terms|parameters|machines]\n"
    "\n"
    "Lists what portolan knows: all of it, or one kind. Terms are those that\n"
    "--model published+TERM adds to the papers' messages, injection and copies.\n"
    "Parameters are those of a machine file, with their units and terms.\n";

static void print_collectives_of(unsigned collectives) {
    const char *separator = "";
    for (int i = 0; i < PTO_COLLECTIVE_COUNT; i++)
        if (collectives & 1u << i) {
            printf("%s%s", separator, pto_collective_name((pto_collective_t)i));
            separator = ", ";
        }
}

static void list_collectives(void) {
    for (int i = 0; i < PTO_COLLECTIVE_COUNT; i++)
        printf("  %s\n", pto_collective_name((pto_collective_t)i));
}

static void list_strategies(void) {
    for (int i = 0; i < pto_strategy_count(); i++) {
        const pto_strategy_t *strategy = pto_strategy_at(i);
        printf("  %-20s %s\n", strategy->name, strategy->summary);
    }
}

static void list_algorithms(void) {
    for (int i = 0; i < pto_algorithm_count(); i++) {
        const pto_algorithm_t *algorithm = pto_algorithm_at(i);
        printf("  %-20s %s (", algorithm->name, algorithm->summary);
        print_collectives_of(algorithm->collectives);
        printf(")\n");
    }
}

static void list_terms(void) {
    for (int i = 0; i < pto_model_term_count(); i++)
        printf("  %-20s %s\n", pto_model_term_at(i)->name, pto_model_term_at(i)->summary);
}

static void list_parameters(void) {
    for (int i = 0; i < pto_parameter_count(); i++) {
        pto_parameter_t parameter = pto_parameter_at(i);
        printf("  %s (%s%s%s%s)\n      %s\n", parameter.key, parameter.unit, *parameter.term ? "; term " : "",
               parameter.term, parameter.priced ? "" : "; measured, not priced", parameter.what);
    }
}

static void list_machines_in(const char *pattern) {
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        pto_machine_t machine;
        pto_error_t err;
        if (pto_machine_read(found.gl_pathv[i], &machine, &err) != PTO_OK) {
            pto_report_error(&err);
            continue;
        }
        printf("  %-24s %s\n", machine.name, found.gl_pathv[i]);
        pto_machine_fini(&machine);
    }
    globfree(&found);
}

static void list_machines(void) {
    list_machines_in("scenarios/machines/*.yaml");
    list_machines_in(PORTOLAN_DATADIR "/machines/*.yaml");
}

static const struct {
    const char *name;
    void (*print)(void);
} kinds[] = {
    {"collectives", list_collectives}, {"strategies", list_strategies},
    {"algorithms", list_algorithms},   {"terms", list_terms},
    {"parameters", list_parameters},   {"machines", list_machines},
};

static int run(int argc, char **argv) {
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(usage, stdout);
        return PTO_EXIT_OK;
    }
    int printed = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && argc <= 2; i++) {
        if (argc == 2 && strcmp(argv[1] + (strncmp(argv[1], "--", 2) == 0 ? 2 : 0), kinds[i].name) != 0)
            continue;
        printf("%s:\n", kinds[i].name);
        kinds[i].print();
        printed++;
    }
    if (printed == 0) {
        fputs(usage, stderr);
        return PTO_EXIT_USAGE;
    }
    return pto_flush_output();
}

const pto_command_t pto_command_list = {
    .name = "list",
    .summary = "list collectives, strategies, algorithms, model terms and machines",
    .run = run};
