/* Reads scenario files (docs/formats.md): tables of their keys, which formats/yaml_read.h applies, and
 * readers of their values. A reader fills `slot`, the address of a member of pto_scenario_t; `argument` (or a
 * better name) is the number in the key's row. Functions named finish_ check a whole mapping. */
#include "portolan/scenario.h"

#include <stdlib.h>
#include <string.h>

#include "base/text_file.h"
#include "formats/yaml_read.h"
#include "formats/yaml_tree.h"
#include "machine/library.h"
#include "scenario/check.h"
#include "scenario/read.h"
#include "scenario/words.h"

enum { FILE_BYTES_MAX = 4 << 20, STRATEGIES_MAX = 256, QUOTE_MAX = 40 };

#define AT(member) PTO_YAML_AT(pto_scenario_t, member)

typedef struct {
    int64_t from;
    int64_t to;
    int64_t factor;
} range_t;

/* clang-format off */
#define RANGE_FIELDS(read_end)                                                                               \
    {{.key = "from", .read = (read_end), PTO_YAML_AT(range_t, from), .argument = 1, .required = true}, \
     {.key = "to", .read = (read_end), PTO_YAML_AT(range_t, to), .argument = 1, .required = true},     \
     {.key = "factor", .read = pto_read_count, PTO_YAML_AT(range_t, factor), .argument = 2}}
/* clang-format on */

static const pto_yaml_field_t byte_range_fields[] = RANGE_FIELDS(pto_read_bytes);
static const pto_yaml_field_t count_range_fields[] = RANGE_FIELDS(pto_read_count);

/* How series of bytes and of counts are read. */
static const struct {
    pto_yaml_read_t read;   /* reads one value */
    int minimum;            /* of a value */
    pto_yaml_table_t range; /* the keys of a range */
} series_kind[] = {
    {pto_read_bytes, 0, {.what = "a range of bytes", PTO_YAML_FIELDS(byte_range_fields)}},
    {pto_read_count, 1, {.what = "a range", PTO_YAML_FIELDS(count_range_fields)}},
};
enum { SERIES_BYTES, SERIES_COUNTS };

static pto_status_t read_range(const pto_reader_t *reader, const pto_yaml_node_t *node, pto_series_t *series,
                               int kind) {
    range_t range = {.factor = 2};
    pto_status_t status = pto_read_mapping(reader, node, &series_kind[kind].range, &range);
    if (status != PTO_OK)
        return status;
    pto_error_t fault = {.status = PTO_OK};
    status = pto_series_range(range.from, range.to, range.factor, series, &fault);
    return status == PTO_OK ? PTO_OK : pto_read_fail_as(reader, pto_yaml_find(node, "to"), &fault);
}

static pto_status_t read_list(const pto_reader_t *reader, const pto_yaml_node_t *list, pto_series_t *series,
                              int kind) {
    pto_status_t status = pto_read_expect_list(reader, list, "values", "values", PTO_SWEEP_POINTS_MAX);
    if (status == PTO_OK)
        status = PTO_READ_ROOM(reader, list, &series->value);
    for (const pto_yaml_node_t *node = list->child; node && status == PTO_OK; node = node->next) {
        int64_t *value = &series->value[series->count];
        status = series_kind[kind].read(reader, node, value, series_kind[kind].minimum);
        if (status != PTO_OK)
            return status;
        if (series->count > 0 && *value <= value[-1])
            return pto_read_fail(reader, node, PTO_ERR_RANGE, "%s must increase, but %lld follows %lld",
                                 list->key, (long long)*value, (long long)value[-1]);
        series->count++;
    }
    return status;
}

static pto_status_t read_series(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                                int kind) {
    pto_series_t *series = slot;
    if (node->kind == PTO_YAML_MAPPING)
        return read_range(reader, node, series, kind);
    if (node->kind == PTO_YAML_LIST)
        return read_list(reader, node, series, kind);
    int64_t value = 0;
    pto_status_t status = series_kind[kind].read(reader, node, &value, series_kind[kind].minimum);
    if (status != PTO_OK)
        return status;
    return pto_series_one(value, series, reader->err);
}

/* Reads [from, to]. */
static pto_status_t read_spaces(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                                int argument) {
    pto_pair_ends_t *ends = slot;
    int from = argument, to = argument;
    pto_status_t status = pto_read_expect(reader, node, PTO_YAML_LIST, "[from, to], of cpu and gpu");
    if (status == PTO_OK && node->child_count != 2)
        return pto_read_fail(reader, node, PTO_ERR_RANGE, "spaces: expected 2 names, not %d",
                             node->child_count);
    if (status == PTO_OK)
        status = pto_read_name(reader, node->child, pto_space_at, &from);
    if (status == PTO_OK)
        status = pto_read_name(reader, node->child->next, pto_space_at, &to);
    ends->from_host = status == PTO_OK && from == PTO_SPACE_CPU;
    ends->to_host = status == PTO_OK && to == PTO_SPACE_CPU;
    return status;
}

enum { GRID_DIMS, GRID_WRAP, GRID_EXTENT };

/* Reads a list with a number for each dimension of a grid; `which`: GRID_DIMS, GRID_WRAP or GRID_EXTENT. */
static pto_status_t read_grid(const pto_reader_t *reader, const pto_yaml_node_t *list, void *slot,
                              int which) {
    pto_halo_t *halo = slot;
    pto_status_t status =
        pto_read_expect(reader, list, PTO_YAML_LIST, "a list with a number for each dimension");
    if (status != PTO_OK)
        return status;
    pto_error_t fault = {.status = PTO_OK};
    if (pto_scenario_set_dimensions(halo, list->child_count, &fault) != PTO_OK)
        return pto_read_fail(reader, list, fault.status, "%s: %s", list->key, fault.message);
    int d = 0;
    for (const pto_yaml_node_t *node = list->child; node && status == PTO_OK; node = node->next, d++) {
        int64_t number = 0;
        status = pto_read_count(reader, node, &number, which == GRID_EXTENT);
        if (which == GRID_WRAP)
            halo->wrap[d] = number != 0;
        else
            (which == GRID_DIMS ? halo->dims : halo->extent)[d] = number;
    }
    return status;
}

/* Reads [node, gpu] or [node, gpu, core]. */
static pto_status_t read_place(const pto_reader_t *reader, const pto_yaml_node_t *node, pto_placed_t *at) {
    int64_t *const number[] = {&at->place.node, &at->place.gpu, &at->place.core};
    const pto_yaml_node_t *child = node->child;
    pto_status_t status = pto_read_expect(reader, node, PTO_YAML_LIST, "[node, gpu] or [node, gpu, core]");
    if (status == PTO_OK && (node->child_count < 2 || node->child_count > 3))
        return pto_read_fail(reader, node, PTO_ERR_RANGE,
                             "expected [node, gpu] or [node, gpu, core], not %d numbers", node->child_count);
    for (int i = 0; i < 3 && child && status == PTO_OK; child = child->next, i++)
        status = pto_read_count(reader, child, number[i], 0);
    at->line = node->line;
    return status;
}

/* Reads the name of a file, or a list with the place of each process. */
static pto_status_t read_placement(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                                   int argument) {
    pto_mapping_t *mapping = slot;
    pto_error_t fault = {.status = PTO_OK};
    char *path = NULL;
    if (node->kind == PTO_YAML_SCALAR) {
        pto_status_t status = pto_read_path(reader, node, &path, argument);
        if (status != PTO_OK)
            return status;
        status = pto_mapping_read(path, mapping, &fault);
        if (status != PTO_OK)
            pto_read_fail_in(reader, node, path, &fault);
        free(path);
        return status;
    }
    pto_status_t status = pto_read_expect_some(reader, node, "a file or a list of places");
    if (status == PTO_OK)
        status = PTO_READ_ROOM(reader, node, &mapping->at);
    if (status != PTO_OK)
        return status;
    mapping->path = pto_text_copy(reader->path);
    if (!mapping->path)
        return pto_read_fail(reader, node, PTO_ERR_MEMORY, "out of memory");
    for (const pto_yaml_node_t *place = node->child; place && status == PTO_OK; place = place->next)
        status = read_place(reader, place, &mapping->at[mapping->count++]);
    return status;
}

static pto_status_t check_new_strategy(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                       const pto_scenario_t *scenario) {
    pto_status_t status = pto_read_expect(reader, node, PTO_YAML_SCALAR, "the name of a strategy");
    for (int i = 0; i < scenario->strategy_count && status == PTO_OK; i++)
        if (strcmp(scenario->strategy[i], node->text) == 0)
            status = pto_read_fail(reader, node, PTO_ERR_KEY, "strategies: '%.*s' appears twice", QUOTE_MAX,
                                   node->text);
    return status;
}

static pto_status_t read_strategies(const pto_reader_t *reader, const pto_yaml_node_t *list, void *slot,
                                    int argument) {
    pto_scenario_t *scenario = slot;
    pto_status_t status = pto_read_expect_list(reader, list, "a list of strategies", "names", STRATEGIES_MAX);
    if (status == PTO_OK)
        status = PTO_READ_ROOM(reader, list, &scenario->strategy);
    for (const pto_yaml_node_t *node = list->child; node && status == PTO_OK; node = node->next) {
        status = check_new_strategy(reader, node, scenario);
        if (status == PTO_OK)
            status = pto_read_text(reader, node, &scenario->strategy[scenario->strategy_count], argument);
        scenario->strategy_count += status == PTO_OK;
    }
    return status;
}

static pto_status_t read_library(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                                 int argument) {
    pto_library_choice_t *library = slot;
    if (node->kind == PTO_YAML_LIST)
        return pto_read_rules(reader, node, &pto_library_row, &library->rule, &library->rule_count);
    pto_status_t status = pto_read_expect(reader, node, PTO_YAML_SCALAR, "best, a name or a list of rows");
    if (status != PTO_OK)
        return status;
    library->best = strcmp(node->text, "best") == 0;
    return library->best ? PTO_OK : pto_read_text(reader, node, &library->name, argument);
}

static const pto_yaml_field_t layout_fields[] = {
    {.key = "nodes", .read = read_series, AT(nodes), .argument = SERIES_COUNTS, .required = true},
    {.key = "gpus_per_node", .read = pto_read_count, AT(layout.gpus_per_node), .argument = 1},
    {.key = "owners_per_gpu", .read = pto_read_count, AT(layout.owners_per_gpu), .argument = 1},
    {.key = "procs_per_gpu", .read = pto_read_count, AT(layout.procs_per_gpu), .argument = 1},
    {.key = "procs_per_node", .read = pto_read_count, AT(procs_per_node), .argument = 1},
};
static const pto_yaml_table_t layout_table = {.what = "'layout'", PTO_YAML_FIELDS(layout_fields)};

/* The keys of a call, whether it is the only one or one of a workload. */
static const pto_yaml_field_t call_fields[] = {
    {.key = "collective", .name_at = pto_collective_at, AT(collective), .required = true},
    {.key = "implementation", .name_at = pto_implementation_at, AT(implementation)},
    {.key = "split", .name_at = pto_split_at, AT(split)},
    {.key = "datatype", .name_at = pto_datatype_at, AT(datatype)},
    {.key = "bytes", .read = read_series, AT(bytes), .argument = SERIES_BYTES},
    {.key = "messages", .read = read_series, AT(messages), .argument = SERIES_COUNTS},
    {.key = "unique_bytes", .read = pto_read_bytes, AT(unique_bytes), .argument = 1},
    {.key = "counts", .read = pto_read_counts, AT(counts)},
    {.key = "in_place", .read = pto_read_bool, AT(in_place)},
    {.key = "dims", .read = read_grid, AT(halo), .argument = GRID_DIMS},
    {.key = "wrap", .read = read_grid, AT(halo), .argument = GRID_WRAP},
    {.key = "extent", .read = read_grid, AT(halo), .argument = GRID_EXTENT},
    {.key = "halo", .read = pto_read_count, AT(halo.width), .argument = 1},
    {.key = "corners", .name_at = pto_corners_at, AT(halo.corners)},
    {.key = "chunks", .read = pto_read_count, AT(chunks), .argument = 1},
    {.key = "staged_in", .read = pto_read_count, AT(staged_members.in)},
    {.key = "staged_out", .read = pto_read_count, AT(staged_members.out)},
    {.key = "strategies", .read = read_strategies},
    {.key = "library", .read = read_library, AT(library)},
};
const pto_yaml_table_t pto_scenario_call_table = {.what = "a call", PTO_YAML_FIELDS(call_fields)};

static pto_status_t finish_scenario(const pto_reader_t *reader, const pto_yaml_node_t *root, void *target);

static const pto_yaml_field_t scenario_fields[] = {
    {.key = "scenario", .read = pto_read_text, AT(name), .required = true},
    {.key = "machine", .read = pto_read_path, AT(machine_path), .required = true},
    {.key = "layout", .table = &layout_table},
    {.key = "memory", .name_at = pto_data_memory_at, AT(memory)},
    {.key = "placement", .read = read_placement, AT(mapping)},
    {.key = "distance", .name_at = pto_level_at, AT(distance)},
    {.key = "spaces", .read = read_spaces, AT(ends)},
    {.key = "both_ways", .read = pto_read_bool, AT(ends.both_ways)},
};
static const pto_yaml_table_t scenario_table = {.what = "a scenario file",
                                                PTO_YAML_FIELDS(scenario_fields),
                                                .base = &pto_scenario_call_table,
                                                .finish = finish_scenario};

/* Records where the file has each field, for error messages. */
static void note_places(const pto_yaml_node_t *root, pto_place_t place[PTO_FIELD_COUNT]) {
#define KEY(id, key) [PTO_FIELD_##id] = (key),
    static const char *const key[PTO_FIELD_COUNT] = {PTO_SCENARIO_FIELD_TABLE(KEY)};
    const pto_yaml_node_t *layout = pto_yaml_find(root, "layout");
    for (int i = 0; i < PTO_FIELD_COUNT; i++) {
        const pto_yaml_node_t *within = i == PTO_FIELD_NODES ? layout : root;
        const pto_yaml_node_t *node = within ? pto_yaml_find(within, key[i]) : NULL;
        if (node)
            place[i] = (pto_place_t){.line = node->line, .column = node->column};
    }
}

/* Sets `bytes` to the largest number of a matrix or list, which the file must not give itself. */
static pto_status_t take_matrix_bytes(const pto_reader_t *reader, const pto_yaml_node_t *root,
                                      pto_scenario_t *scenario) {
    const pto_yaml_node_t *bytes = pto_yaml_find(root, "bytes");
    if (bytes)
        return pto_read_fail(reader, bytes, PTO_ERR_KEY,
                             "bytes and a %s of bytes (counts on line %d) cannot both be given",
                             scenario->counts.kind == PTO_COUNTS_LIST ? "list" : "matrix",
                             pto_yaml_find(root, "counts")->line);
    return pto_series_one(pto_counts_largest(&scenario->counts, 0), &scenario->bytes, reader->err);
}

pto_status_t pto_scenario_finish_call(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                      const char *what, pto_scenario_t *scenario) {
    note_places(node, scenario->place);
    scenario->has_split = pto_yaml_find(node, "split") != NULL;
    if (!pto_counts_scale(&scenario->counts))
        return take_matrix_bytes(reader, node, scenario);
    if (scenario->bytes.count == 0 && scenario->collective != PTO_COLLECTIVE_HALO)
        return pto_read_fail(reader, node, PTO_ERR_KEY, "missing key 'bytes' in %s", what);
    return PTO_OK;
}

static pto_status_t finish_scenario(const pto_reader_t *reader, const pto_yaml_node_t *root, void *target) {
    pto_scenario_t *scenario = target;
    if (scenario->nodes.count > 0)
        scenario->layout.nodes = scenario->nodes.value[0];
    else if (scenario->collective != PTO_COLLECTIVE_PAIR)
        return pto_read_fail(reader, root, PTO_ERR_KEY, "missing key 'layout' in a scenario file");
    pto_status_t status = pto_scenario_finish_call(reader, root, scenario_table.what, scenario);
    return status == PTO_OK ? pto_scenario_check(scenario, reader->err) : status;
}

pto_status_t pto_scenario_parse(const char *text, size_t text_size, const char *path,
                                pto_scenario_t *scenario, pto_error_t *err) {
    pto_scenario_t parsed;
    pto_scenario_init(&parsed);
    parsed.path = pto_text_copy(path);
    pto_status_t status = parsed.path
                              ? pto_read_document(text, text_size, path, &scenario_table, &parsed, err)
                              : pto_error_set_at(err, PTO_ERR_MEMORY, path, 1, 1, "out of memory");
    if (status != PTO_OK) {
        pto_scenario_fini(&parsed);
        return status;
    }
    *scenario = parsed;
    return PTO_OK;
}

PTO_TEXT_READER(pto_scenario_read, pto_scenario_parse, pto_scenario_t *, scenario, FILE_BYTES_MAX);
