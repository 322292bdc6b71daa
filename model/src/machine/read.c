/* Reading machine files (docs/formats.md): mappings within mappings down to the registry's keys. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_file.h"
#include "machine/cost_read.h"
#include "machine/library_rules.h"

enum { FILE_BYTES_MAX = 4 << 20, SEGMENT_MAX = 40 };

#define FIELDS(list) .field = (list), .field_count = sizeof(list) / sizeof *(list)

/* --- the library's own algorithms ----------------------------------------------------------------------- */

static const char *const library_collective[] = {"allreduce", "alltoall",  "alltoallv",
                                                 "reduce",    "broadcast", "allgather"};
enum { LIBRARY_COLLECTIVE_COUNT = sizeof library_collective / sizeof *library_collective };

typedef struct {
    pto_machine_t *machine;
    const char *collective;
} library_slot_t;

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
    return pto_read_library_rules(reader, node, &table->rule, &table->rule_count);
}

static const pto_yaml_field_t library_space_fields[] = {
    {.key = "cpu", .read = read_library_space, .argument = PTO_SPACE_CPU},
    {.key = "gpu", .read = read_library_space, .argument = PTO_SPACE_GPU},
};
static const pto_yaml_table_t library_space_table = {
    .what = "a collective of 'library'", FIELDS(library_space_fields), .nonempty = true};

static pto_status_t read_library_collective(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                            void *slot, int argument) {
    library_slot_t library = {.machine = slot, .collective = library_collective[argument]};
    if (!library.machine->library) /* once, with room for all that can be named */
        library.machine->library =
            calloc(LIBRARY_COLLECTIVE_COUNT * PTO_SPACE_COUNT, sizeof *library.machine->library);
    if (!library.machine->library)
        return pto_read_fail(reader, node, PTO_ERR_MEMORY, "out of memory");
    return pto_read_mapping(reader, node, &library_space_table, &library);
}

static const pto_yaml_field_t library_fields[] = {
    {.key = "allreduce", .read = read_library_collective, .argument = 0},
    {.key = "alltoall", .read = read_library_collective, .argument = 1},
    {.key = "alltoallv", .read = read_library_collective, .argument = 2},
    {.key = "reduce", .read = read_library_collective, .argument = 3},
    {.key = "broadcast", .read = read_library_collective, .argument = 4},
    {.key = "allgather", .read = read_library_collective, .argument = 5},
};
static const pto_yaml_table_t library_table = {.what = "'library'", FIELDS(library_fields), .nonempty = true};

/* --- sections ------------------------------------------------------------------------------------------- */

static const char interval_suffix[] = "_95";

/* A mapping of the file, by the keys that lead to it: copies.shared; empty for the file itself. */
typedef struct {
    pto_machine_t *machine;
    const char *path;
} section_t;

/* The keys that a section may have. */
typedef struct {
    char name[PTO_YAML_FIELDS_MAX][SEGMENT_MAX];
    pto_yaml_field_t field[PTO_YAML_FIELDS_MAX];
    int count;
} keys_t;

static void join_path(const char *path, const char *key, char *text) {
    snprintf(text, PTO_PARAM_KEY_MAX, "%s%s%s", path, *path ? "." : "", key);
}

static pto_status_t read_section(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                 pto_machine_t *machine, const char *path);

static pto_status_t read_key(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                             int argument) {
    (void)argument;
    const section_t *section = slot;
    char path[PTO_PARAM_KEY_MAX];
    pto_cell_t cell;
    join_path(section->path, node->key, path);
    if (pto_cell_find(section->machine, path, &cell))
        return pto_read_cell(reader, node, &cell);
    size_t length = strlen(path), suffix = sizeof interval_suffix - 1;
    if (length <= suffix || strcmp(path + length - suffix, interval_suffix) != 0)
        return read_section(reader, node, section->machine, path);
    path[length - suffix] = '\0';
    pto_cell_find(section->machine, path, &cell);
    return pto_read_interval(reader, node, cell.at, 0);
}

static pto_status_t read_top(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                             int argument) {
    pto_machine_t *machine = ((const section_t *)slot)->machine;
    if (argument == 2)
        return pto_read_mapping(reader, node, &library_table, machine);
    return pto_read_text(reader, node, argument == 0 ? &machine->name : &machine->source, 0);
}

static pto_yaml_field_t *add_key(keys_t *keys, const char *name, int length, const char *suffix) {
    char *text = keys->name[keys->count];
    snprintf(text, SEGMENT_MAX, "%.*s%s", length, name, suffix);
    for (int i = 0; i < keys->count; i++)
        if (strcmp(keys->name[i], text) == 0)
            return &keys->field[i];
    assert(keys->count + 1 < PTO_YAML_FIELDS_MAX);
    keys->field[keys->count] = (pto_yaml_field_t){.key = text, .read = read_key};
    return &keys->field[keys->count++];
}

static void list_keys(const pto_machine_t *machine, const char *path, keys_t *keys) {
    pto_cell_t cell = {0};
    for (const char *rest; (rest = pto_cell_below(machine, path, &cell));) {
        int length = (int)strcspn(rest, ".");
        bool is_leaf = rest[length] == '\0';
        pto_yaml_field_t *field = add_key(keys, rest, length, "");
        field->required = field->required || pto_key_is_required(cell.family, path);
        if (is_leaf && cell.family->form == PTO_FORM_VALUE && cell.family->unit != PTO_UNIT_BYTES)
            add_key(keys, rest, length, interval_suffix);
    }
}

/* A GPU at work draws at least what it draws idle. Less means that the file gives what comes on top. */
static pto_status_t check_power(const pto_reader_t *reader, const pto_yaml_node_t *node, const char *key,
                                const pto_machine_t *machine, const pto_param_t *param) {
    const pto_param_t *idle_w = &machine->power_w[PTO_POWER_GPU_IDLE];
    bool of_gpu = param >= idle_w && param <= &machine->power_w[PTO_POWER_GPU_KERNEL];
    if (!of_gpu || !pto_param_known(param) || param->value >= idle_w->value)
        return PTO_OK;
    return pto_read_fail(reader, pto_yaml_find(node, key), PTO_ERR_RANGE,
                         "%s: %g is below idle_w, %g; it is a GPU's whole power, not what work adds", key,
                         param->value, idle_w->value);
}

static pto_status_t finish_section(const pto_reader_t *reader, const pto_yaml_node_t *node, void *target) {
    const section_t *section = target;
    pto_status_t status = PTO_OK;
    pto_cell_t cell = {0};
    for (const char *key;
         status == PTO_OK && (key = pto_cell_below(section->machine, section->path, &cell));) {
        char interval_key[PTO_PARAM_KEY_MAX + sizeof interval_suffix];
        if (strchr(key, '.') || cell.family->form != PTO_FORM_VALUE)
            continue;
        snprintf(interval_key, sizeof interval_key, "%s%s", key, interval_suffix);
        status = check_power(reader, node, key, section->machine, cell.at);
        if (status == PTO_OK)
            status = pto_settle_param(reader, node, interval_key, cell.at);
    }
    return status;
}

static pto_status_t read_section(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                 pto_machine_t *machine, const char *path) {
    static const char *const top[] = {"machine", "source", "library"};
    bool is_file = *path == '\0';
    section_t section = {machine, path};
    keys_t keys = {.count = 0};
    char what[PTO_PARAM_KEY_MAX + sizeof "''"];
    snprintf(what, sizeof what, is_file ? "a machine file" : "'%s'", path);
    for (int i = 0; is_file && i < 3; i++) {
        pto_yaml_field_t *field = add_key(&keys, top[i], (int)strlen(top[i]), "");
        *field = (pto_yaml_field_t){.key = field->key, .read = read_top, .argument = i, .required = i < 2};
    }
    list_keys(machine, path, &keys);
    const pto_yaml_table_t table = {.what = what,
                                    .field = keys.field,
                                    .field_count = keys.count,
                                    .nonempty = true,
                                    .finish = finish_section};
    return pto_read_mapping(reader, node, &table, &section);
}

pto_status_t pto_machine_parse(const char *text, size_t text_size, const char *path, pto_machine_t *machine,
                               pto_error_t *err) {
    const pto_reader_t reader = {.path = path, .err = err};
    pto_yaml_node_t *root = NULL;
    pto_status_t status = pto_yaml_parse(text, text_size, path, &root, err);
    if (status != PTO_OK)
        return status;
    pto_machine_t made = {.path = pto_text_copy(path)};
    if (made.path)
        status = read_section(&reader, root, &made, "");
    else
        status = pto_read_fail(&reader, root, PTO_ERR_MEMORY, "out of memory");
    pto_yaml_destroy(root);
    if (status != PTO_OK) {
        pto_machine_fini(&made);
        return status;
    }
    *machine = made;
    return PTO_OK;
}

pto_status_t pto_machine_read(const char *path, pto_machine_t *machine, pto_error_t *err) {
    char *text = NULL;
    size_t size = 0;
    pto_status_t status = pto_text_read(path, FILE_BYTES_MAX, &text, &size, err);
    if (status != PTO_OK)
        return status;
    status = pto_machine_parse(text, size, path, machine, err);
    free(text);
    return status;
}
