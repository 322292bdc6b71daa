/* portolan list: prints what portolan knows (strategies, algorithms, parameters, machine files, ...) from the
 * registries and folders that it uses itself. */
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "command.h"
#include "command_line/find_machine.h"
#include "command_line/terminal.h"
#include "portolan/map.h"
#include "portolan/topology.h"
#include "show/table.h"

static const char usage[] =
    "usage: portolan list [collectives|strategies|algorithms|mappers|terms|parameters|machines|\n"
    "                     topologies|libraries|scenarios|workloads]...\n\n"
    "Lists what portolan knows: everything, or the given kinds. Terms are those that --model published+TERM\n"
    "adds to the papers' messages, injection and copies. Parameters are those of a machine file, with their\n"
    "units and terms. Of a machine, its GPUs, its MPI library (-: not given), whether it was measured or is\n"
    "from datasheets, and its file.\n";

enum { NAME_COLUMNS = 20, WHAT_COLUMN = 6, LINE_COLUMNS = 80 };

/* A name and its summary, wrapped for 80 columns. */
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
        pto_line_t line = {.text = text, .size = sizeof text};
        pto_line_add(&line, "%s", algorithm->summary);
        const char *separator = " (";
        for (int c = 0; c < PTO_COLLECTIVE_COUNT; c++)
            if (algorithm->collectives & 1u << c) {
                pto_line_add(&line, "%s%s", separator, pto_collective_name((pto_collective_t)c));
                separator = ", ";
            }
        pto_line_add(&line, ")");
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
        printf("  %s (%s%s%s%s)\n%*s", parameter.key, parameter.unit, *parameter.term ? "; term " : "",
               parameter.term, parameter.priced ? "" : "; measured, not priced", WHAT_COLUMN, "");
        pto_print_wrapped(stdout, parameter.what, WHAT_COLUMN, LINE_COLUMNS);
    }
}

static void print_file(const char *name, const char *path) {
    printf("  %-24s ", name);
    pto_print_escaped(path);
    putchar('\n');
}

static pto_status_t list_machine(const char *path, pto_error_t *err) {
    pto_machine_t *machine;
    pto_status_t status = pto_machine_open(path, &machine, err);
    if (status != PTO_OK)
        return status;
    const char *gpu = pto_machine_gpu(machine), *library = pto_machine_mpi_library(machine);
    printf("  %-26s %-12s %-13s %s\n    ", pto_machine_name(machine), gpu ? gpu : "-",
           library ? library : "-", pto_basis_name(pto_machine_basis(machine)));
    pto_print_escaped(path);
    putchar('\n');
    pto_machine_destroy(machine);
    return PTO_OK;
}

static pto_status_t list_topology(const char *path, pto_error_t *err) {
    pto_topology_t *topology;
    pto_status_t status = pto_topology_open(path, &topology, err);
    if (status != PTO_OK)
        return status;
    const char *name = pto_topology_name(topology);
    print_file(name ? name : "", path);
    pto_topology_destroy(topology);
    return PTO_OK;
}

/* Unreadable files are named on standard error, and the others are listed. */
static bool any_unreadable;

static void list_folder(const char *folder, pto_status_t (*list_file)(const char *, pto_error_t *)) {
    glob_t found;
    char pattern[PTO_FOLDER_MAX + 16];
    pto_error_t err;
    snprintf(pattern, sizeof pattern, "%s/*.yaml", folder);
    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        if (list_file(found.gl_pathv[i], &err) != PTO_OK) {
            pto_report_error(&err);
            any_unreadable = true;
        }
    globfree(&found);
}

static pto_status_t list_library(const char *path, pto_error_t *err) {
    (void)err;
    const char *name = pto_file_name(path);
    char stem[PTO_FILE_NAME_MAX];
    snprintf(stem, sizeof stem, "%.*s", (int)(strlen(name) - strlen(".yaml")), name);
    print_file(stem, path);
    return PTO_OK;
}

void pto_print_names(pto_folder_kind_t folders, const char *before) {
    static char name[PTO_FILE_NAMES_MAX][PTO_FILE_NAME_MAX];
    int count = pto_folders_names(folders, name);
    for (int i = 0; i < count; i++)
        printf("%s%s\n", before, name[i]);
}

/* The kinds of things that can be listed. */
static const struct {
    const char *name;
    void (*print)(void);       /* prints all; NULL: the files in `folders` are listed */
    pto_folder_kind_t folders; /* without `print` */
    pto_status_t (*list_file)(const char *path,
                              pto_error_t *err); /* NULL: only the files' names are printed */
} kinds[] = {
    {.name = "collectives", .print = list_collectives},
    {.name = "strategies", .print = list_strategies},
    {.name = "algorithms", .print = list_algorithms},
    {.name = "mappers", .print = list_mappers},
    {.name = "terms", .print = list_terms},
    {.name = "parameters", .print = list_parameters},
    {.name = "machines", .folders = PTO_FOLDER_MACHINES, .list_file = list_machine},
    {.name = "topologies", .folders = PTO_FOLDER_TOPOLOGIES, .list_file = list_topology},
    {.name = "libraries", .folders = PTO_FOLDER_LIBRARIES, .list_file = list_library},
    {.name = "scenarios", .folders = PTO_FOLDER_PROBLEMS},
    {.name = "workloads", .folders = PTO_FOLDER_WORKLOADS},
};

static const char *kind_at(int i) { return i < (int)(sizeof kinds / sizeof *kinds) ? kinds[i].name : NULL; }

static const pto_syntax_t syntax = {.program = "portolan list",
                                    .usage = usage,
                                    .set = PTO_SETS({"options", pto_no_options}),
                                    .operand_at = kind_at};

static void print_kind(int kind) {
    char folder[PTO_FOLDER_MAX];
    printf("%s:\n", kinds[kind].name);
    if (kinds[kind].print)
        kinds[kind].print();
    else if (!kinds[kind].list_file)
        pto_print_names(kinds[kind].folders, "  ");
    for (int i = 0; kinds[kind].list_file && pto_folder_at(kinds[kind].folders, i, folder); i++)
        list_folder(folder, kinds[kind].list_file);
}

/* Lists all kinds, or the given ones, all of which are checked before anything is printed. */
static int list(const pto_arguments_t *arguments) {
    int kind;
    pto_error_t err = {0};
    pto_find_by_name();
    for (int i = 0; i < arguments->operand_count; i++)
        if (pto_word_parse(arguments->operand[i], "kind", kind_at, &kind, &err) != PTO_OK)
            return pto_usage_error(&syntax, "%s", err.message);
    for (int i = 0; i < arguments->operand_count; i++)
        if (pto_word_parse(arguments->operand[i], "kind", kind_at, &kind, &err) == PTO_OK)
            print_kind(kind);
    for (int i = 0; arguments->operand_count == 0 && kind_at(i); i++)
        print_kind(i);
    int code = pto_flush_output();
    return any_unreadable ? PTO_EXIT_ERROR : code;
}

const pto_command_t pto_command_list = {
    .name = "list",
    .summary = "list collectives, strategies, algorithms, mappers, model terms, parameters, machines, "
               "topologies, libraries, scenarios, workloads",
    .syntax = &syntax,
    .run = list};
