/* Reads workload files (docs/formats.md): a grid of processes, and a step. The step is a list of entries: a
 * call (with the keys of a scenario), computation, or several calls at once. */
#include <stdlib.h>
#include <string.h>

#include "base/text_file.h"
#include "formats/yaml_read.h"
#include "formats/yaml_tree.h"
#include "portolan/workload.h"
#include "scenario/read.h"
#include "scenario/words.h"

enum { FILE_BYTES_MAX = 4 << 20, QUOTE_MAX = 40 };

static int find_dimension(const pto_workload_t *workload, const char *name) {
    for (int d = 0; d < workload->dim_count; d++)
        if (strcmp(workload->dim[d].name, name) == 0)
            return d;
    return -1;
}

static bool is_name(const char *text) {
    return *text &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == strlen(text) &&
           strlen(text) < PTO_WORKLOAD_ALONG_MAX / PTO_WORKLOAD_DIMS_MAX;
}

static pto_status_t read_dimension(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                   pto_workload_t *workload) {
    if (!is_name(node->key) || strcmp(node->key, "world") == 0)
        return pto_read_fail(reader, node, PTO_ERR_RANGE,
                             "grid: '%.*s' cannot name a dimension: use up to 19 letters, digits, _ and -",
                             QUOTE_MAX, node->key);
    if (find_dimension(workload, node->key) >= 0)
        return pto_read_fail(reader, node, PTO_ERR_KEY, "grid: '%.*s' appears twice", QUOTE_MAX, node->key);
    pto_dimension_t *dim = &workload->dim[workload->dim_count];
    pto_status_t status = pto_read_count(reader, node, &dim->size, 0);
    if (status != PTO_OK)
        return status;
    dim->name = pto_text_copy(node->key);
    if (!dim->name)
        return pto_read_fail(reader, node, PTO_ERR_MEMORY, "out of memory");
    workload->dim_count++;
    return PTO_OK;
}

/* Reads {name: size, ...}, the fastest dimension last. */
static pto_status_t read_grid(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                              int argument) {
    (void)argument;
    pto_workload_t *workload = slot;
    pto_status_t status = pto_read_expect(reader, node, PTO_YAML_MAPPING, "a mapping of names to sizes");
    if (status == PTO_OK && (node->child_count < 1 || node->child_count > PTO_WORKLOAD_DIMS_MAX))
        return pto_read_fail(reader, node, PTO_ERR_RANGE, "grid: expected 1 to %d dimensions, not %d",
                             PTO_WORKLOAD_DIMS_MAX, node->child_count);
    if (status != PTO_OK)
        return status;
    int open = 0;
    for (const pto_yaml_node_t *child = node->child; child && status == PTO_OK; child = child->next) {
        status = read_dimension(reader, child, workload);
        if (status == PTO_OK && workload->dim[workload->dim_count - 1].size == 0 && ++open > 1)
            return pto_read_fail(reader, child, PTO_ERR_RANGE, "grid: only one size can be left open by a 0");
    }
    workload->grid_place = (pto_place_t){.line = node->line, .column = node->column};
    return status;
}

/* A call that is being read. Its scenario comes first, so that the table of a scenario's keys applies to it.
 */
typedef struct {
    pto_workload_call_t call;
    const pto_workload_t *workload;
} reading_t;

static pto_status_t add_dimension(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                  reading_t *reading) {
    pto_status_t status = pto_read_expect(reader, node, PTO_YAML_SCALAR, "the name of a dimension");
    if (status != PTO_OK)
        return status;
    int d = find_dimension(reading->workload, node->text);
    if (d < 0)
        return pto_read_fail(reader, node, PTO_ERR_NOT_FOUND, "on: '%.*s' is no dimension of the grid",
                             QUOTE_MAX, node->text);
    if (reading->call.along & 1u << d)
        return pto_read_fail(reader, node, PTO_ERR_KEY, "on: '%.*s' appears twice", QUOTE_MAX, node->text);
    reading->call.along |= 1u << d;
    return PTO_OK;
}

/* Reads `world`, a dimension, or a list of dimensions. */
static pto_status_t read_on(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                            int argument) {
    (void)argument;
    reading_t *reading = slot;
    bool is_world = node->kind == PTO_YAML_SCALAR && strcmp(node->text, "world") == 0;
    if (is_world)
        return PTO_OK; /* the default */
    reading->call.along = 0;
    if (node->kind != PTO_YAML_LIST)
        return add_dimension(reader, node, reading);
    pto_status_t status = pto_read_expect_some(reader, node, "a list of dimensions");
    for (const pto_yaml_node_t *child = node->child; child && status == PTO_OK; child = child->next)
        status = add_dimension(reader, child, reading);
    return status;
}

static pto_status_t finish_call(const pto_reader_t *reader, const pto_yaml_node_t *node, void *target);

/* clang-format off */
#define SHARED_FIELDS                                                                                        \
    {.key = "call", .read = pto_read_text, PTO_YAML_AT(reading_t, call.name)},                        \
    {.key = "times", .read = pto_read_count, PTO_YAML_AT(reading_t, call.times), .argument = 1}
/* clang-format on */

static const pto_yaml_field_t call_fields[] = {SHARED_FIELDS, {.key = "on", .read = read_on}};
static const pto_yaml_table_t call_table = {
    .what = "a call", PTO_YAML_FIELDS(call_fields), .base = &pto_scenario_call_table, .finish = finish_call};

static const pto_yaml_field_t compute_fields[] = {
    SHARED_FIELDS,
    {.key = "compute",
     .read = pto_read_number,
     PTO_YAML_AT(reading_t, call.compute_s),
     .argument = PTO_UNIT_S},
};
static const pto_yaml_table_t compute_table = {.what = "computation", PTO_YAML_FIELDS(compute_fields)};

static pto_status_t finish_call(const pto_reader_t *reader, const pto_yaml_node_t *node, void *target) {
    pto_scenario_t *scenario = &((reading_t *)target)->call.scenario;
    pto_status_t status = pto_scenario_finish_call(reader, node, call_table.what, scenario);
    if (status == PTO_OK && (scenario->bytes.count > 1 || scenario->messages.count > 1))
        return pto_read_fail(reader, node, PTO_ERR_RANGE, "a call has one size and one number of messages");
    if (status == PTO_OK && scenario->collective == PTO_COLLECTIVE_PAIR)
        return pto_read_fail(reader, node, PTO_ERR_NOT_APPLICABLE,
                             "a pair is not a call of a communicator; `messages` sends to the next node");
    return status;
}

static void fini_call(pto_workload_call_t *call) {
    pto_scenario_fini(&call->scenario);
    free(call->name);
}

static pto_status_t add_call(const pto_reader_t *reader, const pto_yaml_node_t *node,
                             pto_workload_t *workload) {
    if (workload->call_count == PTO_WORKLOAD_CALLS_MAX)
        return pto_read_fail(reader, node, PTO_ERR_TOO_LARGE, "step: more than %d calls",
                             PTO_WORKLOAD_CALLS_MAX);
    const bool computes = node->kind == PTO_YAML_MAPPING && pto_yaml_find(node, "compute");
    reading_t reading = {.call = {.times = 1,
                                  .along = (1u << workload->dim_count) - 1,
                                  .entry = workload->entry_count,
                                  .place = {.line = node->line, .column = node->column}},
                         .workload = workload};
    pto_scenario_init(&reading.call.scenario);
    reading.call.scenario.path = pto_text_copy(reader->path);
    pto_status_t status =
        reading.call.scenario.path
            ? pto_read_mapping(reader, node, computes ? &compute_table : &call_table, &reading)
            : pto_read_fail(reader, node, PTO_ERR_MEMORY, "out of memory");
    if (status != PTO_OK) {
        fini_call(&reading.call);
        return status;
    }
    workload->call[workload->call_count++] = reading.call;
    return PTO_OK;
}

static pto_status_t read_at_once(const pto_reader_t *reader, const pto_yaml_node_t *entry,
                                 pto_workload_t *workload) {
    const pto_yaml_node_t *list = entry->child;
    if (entry->child_count != 1)
        return pto_read_fail(reader, entry, PTO_ERR_KEY, "at_once has no other keys beside it");
    pto_status_t status = pto_read_expect_some(reader, list, "a list of calls");
    for (const pto_yaml_node_t *node = list->child; node && status == PTO_OK; node = node->next)
        status = add_call(reader, node, workload);
    return status;
}

/* Checks the form of `step`. finish_workload reads it, when the grid is known. */
static pto_status_t expect_step(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                                int argument) {
    (void)slot;
    (void)argument;
    return pto_read_expect_some(reader, node, "a list of calls");
}

static pto_status_t finish_workload(const pto_reader_t *reader, const pto_yaml_node_t *root, void *target) {
    pto_workload_t *workload = target;
    const pto_yaml_node_t *machine = pto_yaml_find(root, "machine"), *layout = pto_yaml_find(root, "layout");
    workload->layout_place = (pto_place_t){.line = layout->line, .column = layout->column};
    if (machine)
        workload->machine_place = (pto_place_t){.line = machine->line, .column = machine->column};
    workload->call = calloc(PTO_WORKLOAD_CALLS_MAX, sizeof *workload->call);
    if (!workload->call)
        return pto_read_fail(reader, root, PTO_ERR_MEMORY, "out of memory");
    pto_status_t status = PTO_OK;
    const pto_yaml_node_t *entry = pto_yaml_find(root, "step")->child;
    for (; entry && status == PTO_OK; entry = entry->next, workload->entry_count++) {
        bool at_once = entry->kind == PTO_YAML_MAPPING && pto_yaml_find(entry, "at_once");
        status = (at_once ? read_at_once : add_call)(reader, entry, workload);
    }
    return status;
}

#define AT(member) PTO_YAML_AT(pto_workload_t, member)

static const pto_yaml_field_t layout_fields[] = {
    {.key = "nodes", .read = pto_read_count, AT(layout.nodes), .argument = 1, .required = true},
    {.key = "gpus_per_node", .read = pto_read_count, AT(layout.gpus_per_node), .argument = 1},
    {.key = "procs_per_gpu", .read = pto_read_count, AT(layout.procs_per_gpu), .argument = 1},
    {.key = "procs_per_node", .read = pto_read_count, AT(procs_per_node), .argument = 1},
};
static const pto_yaml_table_t layout_table = {.what = "'layout'", PTO_YAML_FIELDS(layout_fields)};

static const pto_yaml_field_t workload_fields[] = {
    {.key = "workload", .read = pto_read_text, AT(name), .required = true},
    {.key = "machine", .read = pto_read_path, AT(machine_path)},
    {.key = "layout", .table = &layout_table, .required = true},
    {.key = "memory", .name_at = pto_data_memory_at, AT(memory)},
    {.key = "grid", .read = read_grid},
    {.key = "step", .read = expect_step, .required = true},
};
static const pto_yaml_table_t workload_table = {
    .what = "a workload file", PTO_YAML_FIELDS(workload_fields), .finish = finish_workload};

pto_status_t pto_workload_parse(const char *text, size_t text_size, const char *path,
                                pto_workload_t *workload, pto_error_t *err) {
    pto_workload_t parsed = {.path = pto_text_copy(path), .layout = {.owners_per_gpu = 1}};
    pto_status_t status = parsed.path
                              ? pto_read_document(text, text_size, path, &workload_table, &parsed, err)
                              : pto_error_set_at(err, PTO_ERR_MEMORY, path, 1, 1, "out of memory");
    if (status != PTO_OK)
        pto_workload_fini(&parsed);
    else
        *workload = parsed;
    return status;
}

PTO_TEXT_READER(pto_workload_read, pto_workload_parse, pto_workload_t *, workload, FILE_BYTES_MAX);

void pto_workload_fini(pto_workload_t *workload) {
    for (int i = 0; i < workload->call_count; i++)
        fini_call(&workload->call[i]);
    for (int d = 0; d < workload->dim_count; d++)
        free(workload->dim[d].name);
    free(workload->call);
    free(workload->name);
    free(workload->path);
    free(workload->machine_path);
    *workload = (pto_workload_t){0};
}
