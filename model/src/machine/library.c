/* Reads the tables of algorithms of MPI libraries, from a machine file (key `library`) or from the file of a
 * library, which machine files name (docs/formats.md, 'MPI libraries'). */
#include "machine/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_file.h"
#include "portolan/scenario.h"

enum { FILE_BYTES_MAX = 1 << 20, INHERITED_MAX = 4 };

/* What read_library_space fills: a table of this collective in the machine. */
typedef struct {
    pto_machine_t *machine;
    const char *collective;
} library_slot_t;

/* Reads `gpu: as_cpu` or `gpu: staged` in place of rows. Both copy the rows for host memory, which must come
 * before; the second one marks them as staged. */
static pto_status_t read_same(const pto_reader_t *reader, const pto_yaml_node_t *node,
                              const pto_machine_t *machine, pto_library_table_t *table) {
    static const char *const word[] = {"as_cpu", "staged"};
    const pto_library_table_t *host = pto_library_table_find(machine->library, machine->library_count - 1,
                                                             table->collective, PTO_SPACE_CPU);
    bool staged = strcmp(node->text, word[1]) == 0;
    if (!staged && strcmp(node->text, word[0]) != 0)
        return pto_read_fail(reader, node, PTO_ERR_TYPE, "%s: expected a list of rows, %s or %s, not '%s'",
                             node->key, word[0], word[1], node->text);
    if (!host)
        return pto_read_fail(reader, node, PTO_ERR_RANGE, "%s: %s has no rows for cpu before", node->key,
                             table->collective);
    if (!pto_library_rules_copy(host->rule, host->rule_count, &table->rule, &table->rule_count))
        return pto_read_fail(reader, node, PTO_ERR_MEMORY, "out of memory");
    for (int i = 0; i < table->rule_count; i++)
        table->rule[i].staged = table->rule[i].staged || staged;
    return PTO_OK;
}

static pto_status_t read_library_space(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                                       int argument) {
    const library_slot_t *library = slot;
    pto_machine_t *machine = library->machine;
    pto_library_table_t *table = &machine->library[machine->library_count];
    table->space = (pto_space_t)argument;
    table->collective = pto_text_copy(library->collective);
    if (!table->collective)
        return pto_read_fail(reader, node, PTO_ERR_MEMORY, "out of memory");
    machine->library_count++;
    return node->kind == PTO_YAML_SCALAR
               ? read_same(reader, node, machine, table)
               : pto_read_rules(reader, node, &pto_library_row, &table->rule, &table->rule_count);
}

static const pto_yaml_field_t library_space_fields[] = {
    {.key = "cpu", .read = read_library_space, .argument = PTO_SPACE_CPU},
    {.key = "gpu", .read = read_library_space, .argument = PTO_SPACE_GPU},
};
static const pto_yaml_table_t library_space_table = {
    .what = "a collective of 'library'", PTO_YAML_FIELDS(library_space_fields), .nonempty = true};

static pto_status_t read_library_collective(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                            void *slot, int argument) {
    (void)argument;
    library_slot_t library = {.machine = slot, .collective = node->key};
    if (!library.machine->library) /* once, for all collectives and spaces */
        library.machine->library =
            calloc((size_t)PTO_COLLECTIVE_COUNT * PTO_SPACE_COUNT, sizeof *library.machine->library);
    if (!library.machine->library)
        return pto_read_fail(reader, node, PTO_ERR_MEMORY, "out of memory");
    return pto_read_mapping(reader, node, &library_space_table, &library);
}

/* The collectives that MPI has. */
#define FIELD_MPI(name) {.key = (name), .read = read_library_collective},
#define FIELD_NEIGHBORS(name) FIELD_MPI(name)
#define FIELD_NONE(name)
#define FIELD(id, name, in, ...) FIELD_##in(name)
static const pto_yaml_field_t library_fields[] = {PTO_COLLECTIVE_TABLE(FIELD)};
const pto_yaml_table_t pto_library_table = {
    .what = "'library'", PTO_YAML_FIELDS(library_fields), .nonempty = true};

static pto_machine_find_t find_by_name;

void pto_library_find_by(pto_machine_find_t find) { find_by_name = find; }

typedef struct {
    char *name, *source, *inherits;
    pto_machine_t tables; /* `library` alone */
} library_file_t;

static void library_file_fini(library_file_t *file) {
    free(file->name);
    free(file->source);
    free(file->inherits);
    pto_library_tables_free(file->tables.library, file->tables.library_count);
}

static const pto_yaml_field_t file_fields[] = {
    {.key = "mpi_library", .read = pto_read_text, PTO_YAML_AT(library_file_t, name), .required = true},
    {.key = "source", .read = pto_read_remark, PTO_YAML_AT(library_file_t, source), .required = true},
    {.key = "inherits", .read = pto_read_text, PTO_YAML_AT(library_file_t, inherits)},
    {.key = "library", .table = &pto_library_table, PTO_YAML_AT(library_file_t, tables)},
};
static const pto_yaml_table_t file_table = {.what = "the file of an MPI library",
                                            PTO_YAML_FIELDS(file_fields)};

static pto_status_t parse_file(const char *text, size_t text_size, const char *path, library_file_t *file,
                               pto_error_t *err) {
    return pto_read_document(text, text_size, path, &file_table, file, err);
}

static PTO_TEXT_READER(read_file, parse_file, library_file_t *, library, FILE_BYTES_MAX);

pto_status_t pto_find_named(pto_machine_find_t find, const char *folder, const char *name, const char *beside,
                            char **path, pto_error_t *err) {
    char relative[128];
    const size_t size = strlen(name);
    bool is_path = strchr(name, '/') || (size > 5 && strcmp(name + size - 5, ".yaml") == 0);
    if (find)
        return find(name, beside, path, err);
    snprintf(relative, sizeof relative, "../%s/%.80s.yaml", folder, name);
    *path = pto_path_beside(beside, is_path ? name : relative);
    return *path ? PTO_OK : pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a path");
}

/* Moves the tables that the machine lacks. Returns false when out of memory. */
static bool move_tables(pto_machine_t *from, pto_machine_t *machine) {
    const size_t room = (size_t)PTO_COLLECTIVE_COUNT * PTO_SPACE_COUNT;
    pto_library_table_t *grown = realloc(machine->library, room * sizeof *grown);
    if (!grown)
        return false;
    machine->library = grown;
    for (int i = 0; i < from->library_count; i++) {
        pto_library_table_t *table = &from->library[i];
        if (pto_library_table_find(grown, machine->library_count, table->collective, table->space))
            continue;
        grown[machine->library_count] = *table;
        grown[machine->library_count++].of_library = true;
        *table = (pto_library_table_t){0};
    }
    return true;
}

/* Drops the tables that come from the library's file. */
static void drop_tables(pto_machine_t *machine) {
    int kept = 0;
    for (int i = 0; i < machine->library_count; i++) {
        pto_library_table_t *table = &machine->library[i];
        if (!table->of_library) {
            machine->library[kept++] = *table;
            continue;
        }
        free(table->collective);
        pto_library_rules_free(table->rule, table->rule_count);
    }
    machine->library_count = kept;
}

pto_status_t pto_machine_add_library(pto_machine_t *machine, const char *name, const char *beside,
                                     pto_error_t *err) {
    char *next = pto_text_copy(name);
    pto_status_t status = PTO_OK;
    for (int depth = 0; next && status == PTO_OK; depth++) {
        library_file_t file = {0};
        char *path = NULL;
        status = depth < INHERITED_MAX
                     ? pto_find_named(find_by_name, "libraries", next, beside, &path, err)
                     : pto_error_set(err, PTO_ERR_TOO_LARGE, "more than %d libraries that name each other",
                                     INHERITED_MAX);
        if (status == PTO_OK)
            status = read_file(path, &file, err);
        if (status == PTO_OK && !move_tables(&file.tables, machine))
            status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a library's tables");
        free(next);
        next = file.inherits;
        file.inherits = NULL;
        library_file_fini(&file);
        free(path);
    }
    free(next);
    return status;
}

pto_status_t pto_machine_use_library(pto_machine_t *machine, const char *name, pto_error_t *err) {
    char *copy = pto_text_copy(name);
    if (!copy)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a library's name");
    pto_machine_t given = {0}; /* read first, so that an unreadable file leaves the machine unchanged */
    pto_status_t status = pto_machine_add_library(&given, name, machine->path, err);
    if (status == PTO_OK) {
        drop_tables(machine);
        status = move_tables(&given, machine)
                     ? PTO_OK
                     : pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a library's tables");
    }
    pto_library_tables_free(given.library, given.library_count);
    if (status == PTO_OK) {
        free(machine->mpi_library);
        machine->mpi_library = copy;
    } else {
        free(copy);
    }
    return status;
}

const char *pto_machine_mpi_library(const pto_machine_t *machine) { return machine->mpi_library; }

/* The text by which a library identifies itself in MPI_Get_library_version and lines `mpi=`, and the name of
 * its file, to which the first `numbers` components of the version are appended. Spectrum MPI and MVAPICH2
 * precede the libraries that they derive from, whose names they may contain. */
static const struct {
    const char *text, *name;
    int numbers;
} names[] = {
    {"Spectrum MPI", "spectrum-mpi", 0}, {"MVAPICH2-GDR", "mvapich2-gdr", 0}, {"MVAPICH2", "mvapich2", 0},
    {"CRAY MPICH", "cray-mpich", 0},     {"Open MPI v", "open-mpi-", 2},      {"MPICH Version:", "mpich-", 1},
};

/* Appends the first `numbers` components of the version at `text`, which are separated by dots. */
static void append_version(const char *text, int numbers, char name[PTO_LIBRARY_NAME_MAX]) {
    size_t used = strlen(name);
    text += strspn(text, " \t");
    for (; *text && strchr("0123456789.", *text) && used + 1 < PTO_LIBRARY_NAME_MAX; text++) {
        if (*text == '.')
            numbers--;
        if (numbers == 0)
            break;
        name[used++] = *text;
    }
    name[used] = '\0';
}

bool pto_library_of_version(const char *version, char name[PTO_LIBRARY_NAME_MAX]) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *found = strstr(version, names[i].text);
        if (!found)
            continue;
        snprintf(name, PTO_LIBRARY_NAME_MAX, "%s", names[i].name);
        if (names[i].numbers > 0)
            append_version(found + strlen(names[i].text), names[i].numbers, name);
        return true;
    }
    return false;
}
