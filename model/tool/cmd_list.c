/* portolan list: everything portolan knows, from the registries that it uses itself. */
#include <glob.h>
#include <stdio.h>

#include "command.h"
#include "machine_folders.h"
#include "options.h"
#include "portolan/map.h"

static const char usage[] =
    "usage: portolan list [collectives|strategies|algorithms|mappers|terms|parameters|machines]...\n"
    "\n"
    "Lists what portolan knows: everything, or the given kinds. Terms are those that --model published+TERM\n"
    "adds to the papers' messages, injection and copies. Parameters are those of a machine file, with their\n"
    "units and terms.\n";

enum { NAME_COLUMNS = 20, LINE_COLUMNS = 80 };

/* Wraps for a terminal of 80 columns. An item without a summary is only indented. */
static void print_item(const char *name, const char *summary) {
    printf("  %-*s ", NAME_COLUMNS, name);
    pto_print_wrapped(stdout, summary, NAME_COLUMNS + 3, LINE_COLUMNS);
}

static void list_collectives(void) {
    for (int i = 0; i < PTO_COLLECTIVE_COUNT; i++)
        printf("  %s\n", pto_collective_name((pto_collective_t)i));
}

static void list_strategies(void) {
    for (int i = 0; i < pto_strategy_count(); i++)
        print_item(pto_strategy_at(i)->name, pto_strategy_at(i)->summary);
}

static void list_algorithms(void) {
    for (int i = 0; i < pto_algorithm_count(); i++) {
        const pto_algorithm_t *algorithm = pto_algorithm_at(i);
        char text[512];
        int end = snprintf(text, sizeof text, "%s (", algorithm->summary);
        const char *separator = "";
        for (int c = 0; c < PTO_COLLECTIVE_COUNT; c++)
            if (algorithm->collectives & 1u << c) {
                end += snprintf(text + end, sizeof text - (size_t)end, "%s%s", separator,
                                pto_collective_name((pto_collective_t)c));
                separator = ", ";
            }
        snprintf(text + end, sizeof text - (size_t)end, ")");
        print_item(algorithm->name, text);
    }
}

static void list_mappers(void) {
    for (int i = 0; i < pto_mapper_count(); i++)
        print_item(pto_mapper_at(i)->name, pto_mapper_at(i)->summary);
}

static void list_terms(void) {
    for (int i = 0; i < pto_model_term_count(); i++)
        print_item(pto_model_term_at(i)->name, pto_model_term_at(i)->summary);
}

static void list_parameters(void) {
    for (int i = 0; i < pto_parameter_count(); i++) {
        pto_parameter_t parameter = pto_parameter_at(i);
        printf("  %s (%s%s%s%s)\n      %s\n", parameter.key, parameter.unit, *parameter.term ? "; term " : "",
               parameter.term, parameter.priced ? "" : "; measured, not priced", parameter.what);
    }
}

static void list_machines_in(const char *folder) {
    glob_t found;
    char pattern[PTO_FOLDER_MAX + 16];
    snprintf(pattern, sizeof pattern, "%s/*.yaml", folder);
    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        pto_machine_t *machine;
        pto_error_t err;
        if (pto_machine_open(found.gl_pathv[i], &machine, &err) != PTO_OK) {
            pto_report_error(&err);
            continue;
        }
        printf("  %-24s %s\n", pto_machine_name(machine), found.gl_pathv[i]);
        pto_machine_destroy(machine);
    }
    globfree(&found);
}

static void list_machines(void) {
    char folder[PTO_FOLDER_MAX];
    for (int i = 0; pto_machine_folder(i, folder); i++)
        list_machines_in(folder);
}

static const struct {
    const char *name;
    void (*print)(void);
} kinds[] = {
    {"collectives", list_collectives}, {"strategies", list_strategies}, {"algorithms", list_algorithms},
    {"mappers", list_mappers},         {"terms", list_terms},           {"parameters", list_parameters},
    {"machines", list_machines},
};

static const char *kind_at(int i) { return i < (int)(sizeof kinds / sizeof *kinds) ? kinds[i].name : NULL; }

static const pto_option_set_t option_sets[] = {{"options", pto_no_options}, {NULL, NULL}};

static const pto_syntax_t syntax = {
    .program = "portolan list", .usage = usage, .set = option_sets, .operand_at = kind_at};

static void print_kind(int kind) {
    printf("%s:\n", kinds[kind].name);
    kinds[kind].print();
}

/* Lists all kinds or the given ones, which are checked before anything is printed. */
static int list(const pto_arguments_t *arguments) {
    int kind;
    pto_error_t err = {0};
    for (int i = 0; i < arguments->operand_count; i++)
        if (pto_word_parse(arguments->operand[i], "kind", kind_at, &kind, &err) != PTO_OK)
            return pto_usage_error(&syntax, "%s", err.message);
    for (int i = 0; i < arguments->operand_count; i++)
        if (pto_word_parse(arguments->operand[i], "kind", kind_at, &kind, &err) == PTO_OK)
            print_kind(kind);
    for (int i = 0; arguments->operand_count == 0 && kind_at(i); i++)
        print_kind(i);
    return pto_flush_output();
}

const pto_command_t pto_command_list = {
    .name = "list",
    .summary = "list collectives, strategies, algorithms, mappers, model terms, parameters and machines",
    .syntax = &syntax,
    .run = list};
