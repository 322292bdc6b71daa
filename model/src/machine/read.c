/* Reads machine files (docs/formats.md). Files that are inherited have been merged into the YAML tree before
 * (inherit.c). Each mapping of the file is a section. Its keys come from the registry of parameters
 * (registry.h): read_section lists the words that may follow the section's path, builds a table of fields
 * from them, and lets formats/yaml_read.h read the mapping by this table. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_file.h"
#include "machine/cost_read.h"
#include "machine/library.h"
#include "machine/topology_internal.h"

enum { FILE_BYTES_MAX = 4 << 20, SEGMENT_MAX = 40 };

static pto_machine_find_t find_by_name;

void pto_topology_find_by(pto_machine_find_t find) { find_by_name = find; }

/* The topology itself, or the name or path of its file. */
static pto_status_t read_topology(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                                  int argument) {
    (void)argument;
    pto_topology_t **topology = slot;
    const pto_reader_t own = {
        .path = pto_reader_path(reader, node), .err = reader->err, .file = reader->file};
    if (node->kind != PTO_YAML_SCALAR)
        return pto_read_topology(&own, node, topology);
    char *path = NULL;
    pto_error_t fault = {.status = PTO_OK};
    pto_status_t status = pto_find_named(find_by_name, "topologies", node->text, own.path, &path, &fault);
    if (status != PTO_OK)
        return pto_read_fail_as(reader, node, &fault);
    status = pto_topology_open(path, topology, &fault);
    if (status != PTO_OK)
        pto_read_fail_in(reader, node, path, &fault);
    free(path);
    return status;
}

/* The first level of a fabric is the link of a node, and so is `injection`. Both would charge the same bytes.
 */
static pto_status_t check_fabric(const pto_reader_t *reader, const pto_yaml_node_t *root,
                                 const pto_machine_t *machine) {
    const pto_param_t *injection = machine->injection_s_per_byte;
    if (machine->fabric.levels == 0 ||
        (!pto_param_known(&injection[PTO_SPACE_CPU]) && !pto_param_known(&injection[PTO_SPACE_GPU])))
        return PTO_OK;
    return pto_read_fail(reader, pto_yaml_find(root, "fabric"), PTO_ERR_RANGE,
                         "fabric: its first level has the rate of a node's link, so 'injection' must not");
}

/* Ranks are placed by the counts of 'node', so the topology must be of the same node. */
static pto_status_t check_topology(const pto_reader_t *reader, const pto_yaml_node_t *root,
                                   const pto_machine_t *machine) {
    const pto_topology_t *topology = machine->topology;
    if (!topology || (pto_topology_device_count(topology, PTO_DEVICE_GPU) == machine->node.gpus &&
                      pto_topology_device_count(topology, PTO_DEVICE_SOCKET) == machine->node.sockets))
        return PTO_OK;
    return pto_read_fail(reader, pto_yaml_find(root, "topology"), PTO_ERR_RANGE,
                         "topology: %d GPUs and %d sockets, but 'node' has %lld and %lld",
                         pto_topology_device_count(topology, PTO_DEVICE_GPU),
                         pto_topology_device_count(topology, PTO_DEVICE_SOCKET),
                         (long long)machine->node.gpus, (long long)machine->node.sockets);
}

static const char *const tuned_collective[] = {"allreduce", "allgather"};
enum { TUNED_COLLECTIVE_COUNT = sizeof tuned_collective / sizeof *tuned_collective };

static pto_status_t read_tuning_collective(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                           void *slot, int argument) {
    pto_machine_t *machine = slot;
    if (!machine->tuning)
        machine->tuning = calloc(TUNED_COLLECTIVE_COUNT, sizeof *machine->tuning);
    char *name = pto_text_copy(tuned_collective[argument]);
    if (!machine->tuning || !name) {
        free(name);
        return pto_read_fail(reader, node, PTO_ERR_MEMORY, "out of memory");
    }
    pto_library_table_t *table = &machine->tuning[machine->tuning_count++];
    table->collective = name;
    return pto_read_rules(reader, node, &pto_tuning_row, &table->rule, &table->rule_count);
}

static const pto_yaml_field_t tuning_fields[] = {
    {.key = "allreduce", .read = read_tuning_collective, .argument = 0},
    {.key = "allgather", .read = read_tuning_collective, .argument = 1},
};
static const pto_yaml_table_t tuning_table = {
    .what = "'tuning'", PTO_YAML_FIELDS(tuning_fields), .nonempty = true};

static const char interval_suffix[] = "_95";

/* The keys that a section may have, by index. */
typedef struct {
    char name[PTO_YAML_FIELDS_MAX][SEGMENT_MAX];
    pto_yaml_field_t field[PTO_YAML_FIELDS_MAX]; /* the table's row; its `argument` is the key's index */
    pto_word_t word[PTO_YAML_FIELDS_MAX];        /* the word of the registry that the key is made from */
    int count;
} keys_t;

/* A mapping of the file. `path` is its own key in full, such as copies.shared; empty for the file itself. */
typedef struct {
    pto_machine_t *machine;
    const char *path;
    keys_t keys;
} section_t;

static pto_status_t read_section(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                 pto_machine_t *machine, const char *path, pto_word_t first);

/* Reads a nested section. In this function and the next two, `slot` is the section_t. */
static pto_status_t read_below(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                               int argument) {
    const section_t *section = slot;
    const pto_word_t *word = &section->keys.word[argument];
    char path[PTO_PARAM_KEY_MAX], *end = path;
    assert(strlen(section->path) + 1 + strlen(node->key) < sizeof path); /* as the registry knows it */
    if (*section->path)
        end = stpcpy(stpcpy(end, section->path), ".");
    stpcpy(end, node->key);
    return read_section(reader, node, section->machine, path,
                        (pto_word_t){.next = word->next, .end = word->end});
}

static pto_status_t read_cell(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                              int argument) {
    const pto_word_t *word = &((const section_t *)slot)->keys.word[argument];
    return pto_read_cell(reader, node, word->family, word->at);
}

static pto_status_t read_interval(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                                  int argument) {
    const pto_word_t *word = &((const section_t *)slot)->keys.word[argument];
    return pto_read_interval(reader, node, word->at, (int)word->family->unit);
}

/* Without the unknown values: a file leaves the key out instead. */
static PTO_NAME_LIST(mps_at, pto_mps_t, PTO_MPS_NO, PTO_MPS_COUNT, pto_mps_name);
static PTO_NAME_LIST(basis_at, pto_basis_t, PTO_BASIS_MEASURED, PTO_BASIS_COUNT, pto_basis_name);
static PTO_NAME_LIST(runs_at, pto_runs_t, 0, PTO_RUNS_COUNT, pto_runs_name);

/* The keys of a file that are not parameters. */
#define AT(member) PTO_YAML_AT(pto_machine_t, member)
static const pto_yaml_field_t top[] = {
    {.key = "machine", .read = pto_read_text, AT(name), .required = true},
    {.key = "source", .read = pto_read_remark, AT(source), .required = true},
    {.key = "gpu", .read = pto_read_text, AT(gpu)},
    {.key = "basis", .name_at = basis_at, .argument = PTO_BASIS_MEASURED, AT(basis)},
    {.key = "mpi_library", .read = pto_read_text, AT(mpi_library)},
    {.key = "library", .table = &pto_library_table},
    {.key = "topology", .read = read_topology, AT(topology)},
    {.key = "tuning", .table = &tuning_table},
    {.key = "fitted_to", .read = pto_read_fitted_to},
    {.key = "model_error", .table = &pto_model_error_table, AT(model_error)},
    {.key = "fabric", .read = pto_read_fabric, AT(fabric)},
    {.key = "mps", .name_at = mps_at, .argument = PTO_MPS_NO, AT(mps)},
    {.key = "runs", .name_at = runs_at, AT(runs)},
};

static pto_status_t read_top(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                             int argument) {
    return pto_read_field(reader, node, &top[argument], ((const section_t *)slot)->machine);
}

static void add_key(keys_t *keys, const pto_word_t *word, const char *suffix, pto_yaml_read_t read) {
    char *name = keys->name[keys->count];
    assert(keys->count < PTO_YAML_FIELDS_MAX && word->length + strlen(suffix) < SEGMENT_MAX);
    memcpy(name, word->text, word->length);
    memcpy(name + word->length, suffix, strlen(suffix) + 1);
    keys->word[keys->count] = *word;
    keys->field[keys->count] =
        (pto_yaml_field_t){.key = name, .read = read, .argument = keys->count, .required = word->required};
    keys->count++;
}

static bool is_called(const char *name, const pto_word_t *word) {
    return *name == *word->text && strncmp(name, word->text, word->length) == 0 && !name[word->length];
}

/* Adds the key of a nested section, once for all families that share it. */
static void add_shared(keys_t *keys, const pto_word_t *word) {
    int i = 0;
    while (i < keys->count && !is_called(keys->name[i], word))
        i++;
    if (i == keys->count)
        add_key(keys, word, "", read_below);
    keys->field[i].required = keys->field[i].required || word->required;
    keys->word[i].end = word->next + 1;
}

static bool may_have_interval(const pto_family_t *family) {
    return family->form == PTO_FORM_VALUE && family->unit != PTO_UNIT_BYTES;
}

static void list_keys(pto_machine_t *machine, const char *path, pto_word_t word, keys_t *keys) {
    while (pto_word_next(machine, path, &word)) {
        if (!word.at) {
            add_shared(keys, &word);
            continue;
        }
        add_key(keys, &word, "", read_cell);
        word.required = false;
        if (may_have_interval(word.family))
            add_key(keys, &word, interval_suffix, read_interval);
    }
}

/* A busy GPU draws at least its idle power. Less suggests that the file gives only the additional power. */
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
    const keys_t *keys = &section->keys;
    pto_status_t status = PTO_OK;
    for (int i = 0; i < keys->count && status == PTO_OK; i++) {
        const pto_word_t *word = &keys->word[i];
        if (keys->field[i].read != read_cell || word->family->form != PTO_FORM_VALUE)
            continue;
        status = check_power(reader, node, keys->name[i], section->machine, word->at);
        if (status == PTO_OK) /* the interval's key is the next one */
            status =
                pto_settle_param(reader, node, keys->name[i + may_have_interval(word->family)], word->at);
    }
    return status;
}

static void list_top(keys_t *keys) {
    for (int i = 0; i < (int)(sizeof top / sizeof *top); i++) {
        const pto_word_t word = {
            .text = top[i].key, .length = strlen(top[i].key), .required = top[i].required};
        add_key(keys, &word, "", read_top);
    }
}

static pto_status_t read_section(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                 pto_machine_t *machine, const char *path, pto_word_t first) {
    section_t section;
    section.machine = machine;
    section.path = path;
    section.keys.count = 0; /* the rest is set key by key */
    char what[PTO_PARAM_KEY_MAX + sizeof "''"] = "a machine file";
    if (*path)
        stpcpy(stpcpy(stpcpy(what, "'"), path), "'");
    if (*path == '\0')
        list_top(&section.keys);
    list_keys(machine, path, first, &section.keys);
    const pto_yaml_table_t table = {.what = what,
                                    .field = section.keys.field,
                                    .field_count = section.keys.count,
                                    .nonempty = true,
                                    .finish = finish_section};
    return pto_read_mapping(reader, node, &table, &section);
}

/* Adds the tables of the named MPI library that the file does not have itself. */
static pto_status_t add_library(const pto_reader_t *reader, const pto_yaml_node_t *root,
                                pto_machine_t *machine) {
    pto_error_t fault = {.status = PTO_OK};
    if (!machine->mpi_library)
        return PTO_OK;
    pto_status_t status = pto_machine_add_library(machine, machine->mpi_library, reader->path, &fault);
    return status == PTO_OK ? status : pto_read_fail_as(reader, pto_yaml_find(root, "mpi_library"), &fault);
}

pto_status_t pto_machine_parse(const char *text, size_t text_size, const char *path, pto_machine_t *machine,
                               pto_error_t *err) {
    pto_machine_t made = {.files = {.count = 1, .path = {pto_text_copy(path)}}};
    const pto_reader_t reader = {.path = path, .err = err, .file = made.files.path};
    made.path = made.files.path[0];
    pto_yaml_node_t *root = NULL;
    pto_status_t status = pto_yaml_parse(text, text_size, path, &root, err);
    if (status == PTO_OK && !made.files.path[0])
        status = pto_read_fail(&reader, root, PTO_ERR_MEMORY, "out of memory");
    if (status == PTO_OK)
        status = pto_machine_inherit(&made.files, root, err);
    if (status == PTO_OK)
        status = read_section(&reader, root, &made, "", (pto_word_t){0});
    if (status == PTO_OK)
        status = add_library(&reader, root, &made);
    if (status == PTO_OK)
        status = check_topology(&reader, root, &made);
    if (status == PTO_OK)
        status = check_fabric(&reader, root, &made);
    pto_yaml_destroy(root);
    if (status != PTO_OK) {
        pto_machine_fini(&made);
        return status;
    }
    *machine = made;
    return PTO_OK;
}

PTO_TEXT_READER(pto_machine_read, pto_machine_parse, pto_machine_t *, machine, FILE_BYTES_MAX);
