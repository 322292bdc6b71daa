/* Reads the files of scenarios/topologies, and the keys `topology` and `fabric` of a machine file, by tables
 * of fields (formats/yaml_read.h). `devices` must be known before `links` and `routes` can name them, so
 * these two are read at the end, by `finish`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_file.h"
#include "machine/cost_read.h"
#include "machine/topology_internal.h"

enum { FILE_BYTES_MAX = 1 << 20, LINKS_MAX = 2048 };

/* A name with a range of numbers: gpu.0-3. */
typedef struct {
    char word[PTO_VERTEX_NAME_MAX];
    int first;
    int count;
} range_t;

enum { DIGITS_MAX = 4 };

/* Parses a number at `*text`, and moves `*text` behind it. */
static bool parse_number(const char **text, int *number) {
    const size_t digits = strspn(*text, "0123456789");
    if (digits == 0 || digits > DIGITS_MAX)
        return false;
    *number = atoi(*text);
    *text += digits;
    return true;
}

static bool parse_range(const char *text, range_t *range) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const size_t length = strspn(text, letters), suffix_size = sizeof "." + DIGITS_MAX;
    if (length == 0 || length + suffix_size > PTO_VERTEX_NAME_MAX || text[length] != '.')
        return false;
    const char *rest = text + length + 1;
    bool is_number = parse_number(&rest, &range->first);
    int last = range->first;
    if (is_number && *rest == '-') {
        rest++;
        is_number = parse_number(&rest, &last);
    }
    if (!is_number || *rest != '\0')
        return false;
    memcpy(range->word, text, length);
    range->word[length] = '\0';
    range->count = last - range->first + 1;
    return range->count > 0;
}

int pto_topology_vertex_add(pto_topology_t *topology, const char *name) {
    for (int i = 0; i < topology->vertex_count; i++)
        if (strcmp(topology->vertex[i], name) == 0)
            return i;
    for (int kind = 0; kind < PTO_DEVICE_KINDS; kind++) {
        const char *device = pto_device_kind_name((pto_device_kind_t)kind);
        size_t length = strlen(device);
        if (strncmp(name, device, length) == 0 && name[length] == '.')
            return -1;
    }
    if (topology->vertex_count == PTO_TOPOLOGY_VERTICES_MAX)
        return -2;
    snprintf(topology->vertex[topology->vertex_count], sizeof *topology->vertex, "%s", name);
    return topology->vertex_count++;
}

static pto_status_t read_vertex(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                pto_topology_t *topology, const range_t *range, int index, int *vertex) {
    char name[PTO_VERTEX_NAME_MAX + 16];
    snprintf(name, sizeof name, "%s.%d", range->word, range->first + (range->count > 1 ? index : 0));
    *vertex = pto_topology_vertex_add(topology, name);
    if (*vertex == -1)
        return pto_read_fail(reader, node, PTO_ERR_NOT_FOUND, "there is no %s: 'devices' has fewer", name);
    if (*vertex == -2)
        return pto_read_fail(reader, node, PTO_ERR_TOO_LARGE, "more than %d devices and switches",
                             PTO_TOPOLOGY_VERTICES_MAX);
    return PTO_OK;
}

static pto_status_t read_range(const pto_reader_t *reader, const pto_yaml_node_t *node, range_t *range) {
    pto_status_t status = pto_read_expect(reader, node, PTO_YAML_SCALAR, "a name such as gpu.0 or gpu.0-3");
    if (status == PTO_OK && !parse_range(node->text, range))
        status = pto_read_fail(reader, node, PTO_ERR_TYPE, "'%.40s' is not a name such as gpu.0 or gpu.0-3",
                               node->text);
    return status;
}

/* Reads the two ends of a link or route into `slot`, an array of two ranges. */
static pto_status_t read_between(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                                 int argument) {
    (void)argument;
    range_t *range = slot;
    pto_status_t status = pto_read_expect(reader, node, PTO_YAML_LIST, "a list of two names");
    if (status == PTO_OK && node->child_count != 2)
        status = pto_read_fail(reader, node, PTO_ERR_TYPE, "%s: expected two names, not %d", node->key,
                               node->child_count);
    if (status == PTO_OK)
        status = read_range(reader, node->child, &range[0]);
    return status == PTO_OK ? read_range(reader, node->child->next, &range[1]) : status;
}

/* A row of `links`, which describes several links if an end is a range. */
typedef struct {
    range_t end[2];
    pto_param_t s_per_byte[2];
    pto_param_t alpha_s;
} row_t;

/* Reads a pto_param_t above 0. */
static pto_status_t read_rate(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                              int argument) {
    pto_param_t *param = slot;
    pto_status_t status = pto_read_number(reader, node, &param->value, argument);
    if (status == PTO_OK && param->value <= 0)
        status = pto_read_fail(reader, node, PTO_ERR_RANGE, "%s: must be above 0", node->key);
    param->low = param->high = param->value;
    param->line = node->line;
    return status;
}

#define RATE(type, member) .read = read_rate, .argument = PTO_UNIT_S_PER_BYTE, PTO_YAML_AT(type, member)
#define RATES(type, member)                                                                                  \
    .read = pto_read_interval, .argument = PTO_UNIT_S_PER_BYTE, PTO_YAML_AT(type, member)
static const pto_yaml_field_t row_fields[] = {
    {.key = "between", .read = read_between, PTO_YAML_AT(row_t, end), .required = true},
    {.key = "s_per_byte", RATE(row_t, s_per_byte[0]), .required = true},
    {.key = "s_per_byte_95", RATES(row_t, s_per_byte[0])},
    {.key = "back_s_per_byte", RATE(row_t, s_per_byte[1])},
    {.key = "alpha_s", .read = read_rate, .argument = PTO_UNIT_S, PTO_YAML_AT(row_t, alpha_s)},
};
static const pto_yaml_table_t row_table = {.what = "a row of 'links'", PTO_YAML_FIELDS(row_fields)};

static pto_status_t add_link(const pto_reader_t *reader, const pto_yaml_node_t *node,
                             pto_topology_t *topology, const row_t *row, int index) {
    int vertex[2];
    pto_status_t status = PTO_OK;
    for (int end = 0; end < 2 && status == PTO_OK; end++)
        status = read_vertex(reader, node, topology, &row->end[end], index, &vertex[end]);
    if (status != PTO_OK)
        return status;
    const char *name[] = {topology->vertex[vertex[0]], topology->vertex[vertex[1]]};
    if (vertex[0] == vertex[1])
        return pto_read_fail(reader, node, PTO_ERR_RANGE, "a link from %s to itself", name[0]);
    int other = pto_topology_link_between(topology, vertex[0], vertex[1]);
    if (other >= 0)
        return pto_read_fail(reader, node, PTO_ERR_RANGE,
                             "%s and %s are linked on line %d already; give the joint rate of parallel links",
                             name[0], name[1], topology->link[other].s_per_byte.line);
    if (topology->link_count == LINKS_MAX)
        return pto_read_fail(reader, node, PTO_ERR_TOO_LARGE, "more than %d links", LINKS_MAX / 2);
    bool symmetric = !pto_param_known(&row->s_per_byte[1]);
    for (int i = 0; i < 2; i++)
        topology->link[topology->link_count++] =
            (pto_topology_link_t){.from = vertex[i],
                                  .to = vertex[1 - i],
                                  .s_per_byte = row->s_per_byte[symmetric ? 0 : i],
                                  .alpha_s = row->alpha_s};
    return PTO_OK;
}

static pto_status_t read_row(const pto_reader_t *reader, const pto_yaml_node_t *node,
                             pto_topology_t *topology) {
    row_t row = {0};
    pto_status_t status = pto_read_mapping(reader, node, &row_table, &row);
    if (status == PTO_OK)
        status = pto_settle_param(reader, node, "s_per_byte_95", &row.s_per_byte[0]);
    int first = row.end[0].count, second = row.end[1].count;
    if (status == PTO_OK && first != second && first > 1 && second > 1)
        status = pto_read_fail(
            reader, node, PTO_ERR_RANGE,
            "between: ranges of %d and %d; one must be a single name, or both equally long", first, second);
    for (int i = 0; i < (first > second ? first : second) && status == PTO_OK; i++)
        status = add_link(reader, node, topology, &row, i);
    return status;
}

/* A row of `routes`: a route given by the file. */
typedef struct {
    pto_topology_t *topology;
    range_t end[2];
    const pto_yaml_node_t *through;
} given_t;

static pto_status_t read_through(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                                 int argument) {
    (void)argument;
    *(const pto_yaml_node_t **)slot = node;
    return pto_read_expect(reader, node, PTO_YAML_LIST, "a list of names");
}

static const pto_yaml_field_t given_fields[] = {
    {.key = "between", .read = read_between, PTO_YAML_AT(given_t, end), .required = true},
    {.key = "through", .read = read_through, PTO_YAML_AT(given_t, through), .required = true},
};
static const pto_yaml_table_t given_table = {.what = "a row of 'routes'", PTO_YAML_FIELDS(given_fields)};

/* Sets `path` to the vertices of a given route, in order. */
static pto_status_t read_path(const pto_reader_t *reader, const pto_yaml_node_t *node, const given_t *given,
                              int *path) {
    pto_topology_t *topology = given->topology;
    int count = 0, devices = pto_topology_devices(topology);
    pto_status_t status = read_vertex(reader, node, topology, &given->end[0], 0, &path[count++]);
    for (const pto_yaml_node_t *at = given->through->child; at && status == PTO_OK; at = at->next) {
        range_t range = {0};
        status = read_range(reader, at, &range);
        if (status == PTO_OK)
            status = read_vertex(reader, at, topology, &range, 0, &path[count++]);
    }
    if (status == PTO_OK)
        status = read_vertex(reader, node, topology, &given->end[1], 0, &path[count]);
    if (status == PTO_OK && (path[0] >= devices || path[count] >= devices || path[0] == path[count]))
        status = pto_read_fail(reader, node, PTO_ERR_RANGE, "a route is between two devices");
    return status;
}

/* Stores a path of `count` links as the route in one direction: from its start, or `back` from its end. */
static pto_status_t keep_path(const pto_reader_t *reader, const pto_yaml_node_t *node,
                              pto_topology_t *topology, const int *path, int count, bool back) {
    int from = path[back ? count : 0], to = path[back ? 0 : count];
    pto_route_t *route = pto_topology_route_of(topology, from, to);
    if (route->known)
        return pto_read_fail(reader, node, PTO_ERR_RANGE, "a second route between %s and %s",
                             topology->vertex[from], topology->vertex[to]);
    route->link = malloc((size_t)count * sizeof *route->link);
    if (!route->link)
        return pto_read_fail(reader, node, PTO_ERR_MEMORY, "out of memory");
    *route = (pto_route_t){.known = true, .given = true, .count = count, .link = route->link};
    for (int i = 0; i < count; i++) {
        int first = path[back ? count - i : i], second = path[back ? count - i - 1 : i + 1];
        route->link[i] = pto_topology_link_between(topology, first, second);
        if (route->link[i] < 0)
            return pto_read_fail(reader, node, PTO_ERR_NOT_FOUND, "no link between %s and %s",
                                 topology->vertex[first], topology->vertex[second]);
    }
    return PTO_OK;
}

static pto_status_t read_given(const pto_reader_t *reader, const pto_yaml_node_t *node,
                               pto_topology_t *topology) {
    given_t given = {.topology = topology};
    int path[PTO_TOPOLOGY_VERTICES_MAX + 2] = {0};
    pto_status_t status = pto_read_mapping(reader, node, &given_table, &given);
    if (status == PTO_OK && given.through->child_count > PTO_TOPOLOGY_VERTICES_MAX)
        status = pto_read_fail(reader, given.through, PTO_ERR_TOO_LARGE, "a route of more than %d links",
                               PTO_TOPOLOGY_VERTICES_MAX);
    if (status == PTO_OK)
        status = read_path(reader, node, &given, path);
    for (int back = 0; back < 2 && status == PTO_OK; back++)
        status = keep_path(reader, node, topology, path, given.through->child_count + 1, back);
    return status;
}

static pto_status_t check_routes(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                 const pto_topology_t *topology) {
    int devices = pto_topology_devices(topology);
    for (int i = 0; i < devices * devices; i++)
        if (!topology->route[i].known)
            return pto_read_fail(reader, node, PTO_ERR_RANGE, "no route from %s to %s",
                                 topology->vertex[i / devices], topology->vertex[i % devices]);
    return PTO_OK;
}

/* Checks the form of `links` (`argument` is 0) or `routes` (1), which `finish` reads. */
static pto_status_t read_later(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                               int argument) {
    (void)slot;
    if (argument == 1 && node->kind == PTO_YAML_SCALAR && strcmp(node->text, "shortest") == 0)
        return PTO_OK;
    return pto_read_expect(reader, node, PTO_YAML_LIST, argument == 1 ? "'shortest' or a list" : "a list");
}

static pto_status_t add_devices(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                pto_topology_t *topology) {
    const pto_yaml_node_t *list = pto_yaml_find(node, "devices");
    const int64_t *count = topology->device_count;
    for (int kind = 0; kind < PTO_DEVICE_KINDS; kind++) /* so that their sum cannot overflow */
        if (count[kind] > PTO_TOPOLOGY_DEVICES_MAX)
            topology->device_count[kind] = PTO_TOPOLOGY_DEVICES_MAX + 1;
    int devices = pto_topology_devices(topology);
    if (devices > PTO_TOPOLOGY_DEVICES_MAX) {
        memset(topology->device_count, 0, sizeof topology->device_count);
        return pto_read_fail(reader, list, PTO_ERR_TOO_LARGE, "more than %d devices",
                             PTO_TOPOLOGY_DEVICES_MAX);
    }
    topology->vertex = calloc(PTO_TOPOLOGY_VERTICES_MAX, sizeof *topology->vertex);
    topology->link = calloc(LINKS_MAX, sizeof *topology->link);
    topology->route = calloc((size_t)devices * (size_t)devices, sizeof *topology->route);
    if (!topology->vertex || !topology->link || !topology->route)
        return pto_read_fail(reader, node, PTO_ERR_MEMORY, "out of memory");
    for (int kind = 0; kind < PTO_DEVICE_KINDS; kind++)
        for (int i = 0; i < count[kind]; i++)
            snprintf(topology->vertex[topology->vertex_count++], PTO_VERTEX_NAME_MAX, "%s.%d",
                     pto_device_kind_name((pto_device_kind_t)kind), i);
    return PTO_OK;
}

static pto_status_t finish(const pto_reader_t *reader, const pto_yaml_node_t *node, void *target) {
    pto_topology_t *topology = target;
    const pto_yaml_node_t *links = pto_yaml_find(node, "links"), *routes = pto_yaml_find(node, "routes");
    pto_status_t status = add_devices(reader, node, topology);
    for (const pto_yaml_node_t *row = links->child; row && status == PTO_OK; row = row->next)
        status = read_row(reader, row, topology);
    for (const pto_yaml_node_t *row = routes ? routes->child : NULL; row && status == PTO_OK; row = row->next)
        status = read_given(reader, row, topology);
    for (int i = 0; i < pto_topology_devices(topology) && status == PTO_OK; i++)
        pto_topology_route_of(topology, i, i)->known = true;
    if (status == PTO_OK && !pto_topology_find_routes(topology))
        status = pto_read_fail(reader, node, PTO_ERR_MEMORY, "out of memory");
    return status == PTO_OK ? check_routes(reader, links, topology) : status;
}

#define DEVICES(kind) PTO_YAML_AT(pto_topology_t, device_count[PTO_DEVICE_##kind])
static const pto_yaml_field_t device_fields[] = {
    {.key = "gpus", .read = pto_read_count, DEVICES(GPU), .argument = 1, .required = true},
    {.key = "sockets", .read = pto_read_count, DEVICES(SOCKET), .argument = 1, .required = true},
    {.key = "nics", .read = pto_read_count, DEVICES(NIC)},
};
static const pto_yaml_table_t device_table = {.what = "'devices'", PTO_YAML_FIELDS(device_fields)};

static const pto_yaml_field_t fields[] = {
    {.key = "topology", .read = pto_read_text, PTO_YAML_AT(pto_topology_t, name)},
    {.key = "source", .read = pto_read_remark, PTO_YAML_AT(pto_topology_t, source)},
    {.key = "devices", .table = &device_table, .required = true},
    {.key = "links", .read = read_later, .required = true},
    {.key = "routes", .read = read_later, .argument = 1},
};
static const pto_yaml_table_t table = {.what = "a topology", PTO_YAML_FIELDS(fields), .finish = finish};

pto_status_t pto_read_topology(const pto_reader_t *reader, const pto_yaml_node_t *node,
                               pto_topology_t **topology) {
    pto_topology_t *made = calloc(1, sizeof *made);
    if (!made)
        return pto_read_fail(reader, node, PTO_ERR_MEMORY, "out of memory");
    pto_status_t status = pto_read_mapping(reader, node, &table, made);
    if (status == PTO_OK)
        *topology = made;
    else
        pto_topology_destroy(made);
    return status;
}

static const pto_yaml_field_t level_fields[] = {
    {.key = "nodes",
     .read = pto_read_count,
     PTO_YAML_AT(pto_fabric_level_t, nodes),
     .argument = 1,
     .required = true},
    {.key = "s_per_byte", RATE(pto_fabric_level_t, s_per_byte[0]), .required = true},
    {.key = "back_s_per_byte", RATE(pto_fabric_level_t, s_per_byte[1])},
};
static const pto_yaml_table_t level_table = {.what = "a level of 'fabric'", PTO_YAML_FIELDS(level_fields)};

pto_status_t pto_read_fabric(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                             int argument) {
    (void)argument;
    pto_fabric_t *fabric = slot;
    pto_status_t status = pto_read_expect_some(reader, node, "a list of levels");
    int64_t below = 0;
    for (const pto_yaml_node_t *row = node->child; row && status == PTO_OK; row = row->next) {
        pto_fabric_level_t *level = &fabric->level[fabric->levels];
        if (fabric->levels == PTO_FABRIC_LEVELS_MAX)
            return pto_read_fail(reader, row, PTO_ERR_TOO_LARGE, "more than %d levels",
                                 PTO_FABRIC_LEVELS_MAX);
        status = pto_read_mapping(reader, row, &level_table, level);
        if (status == PTO_OK && below == 0 && level->nodes != 1)
            status =
                pto_read_fail(reader, row, PTO_ERR_RANGE, "nodes: the first level is that of single nodes");
        if (status == PTO_OK && below > 0 && (level->nodes <= below || level->nodes % below != 0))
            status = pto_read_fail(reader, row, PTO_ERR_RANGE,
                                   "nodes: not a multiple of the level below, %lld", (long long)below);
        if (!pto_param_known(&level->s_per_byte[1]))
            level->s_per_byte[1] = level->s_per_byte[0];
        below = level->nodes;
        fabric->levels++;
    }
    return status;
}

pto_status_t pto_topology_create(const char *text, size_t text_size, const char *path,
                                 pto_topology_t **topology, pto_error_t *err) {
    const pto_reader_t reader = {.path = path, .err = err};
    pto_yaml_node_t *root = NULL;
    pto_status_t status = pto_yaml_parse(text, text_size, path, &root, err);
    if (status != PTO_OK)
        return status;
    status = pto_read_topology(&reader, root, topology);
    pto_yaml_destroy(root);
    return status;
}

static PTO_TEXT_READER(read_file, pto_topology_create, pto_topology_t **, topology, FILE_BYTES_MAX);

pto_status_t pto_topology_open(const char *path, pto_topology_t **topology, pto_error_t *err) {
    pto_status_t status = read_file(path, topology, err);
    if (status != PTO_OK)
        return status;
    (*topology)->path = pto_text_copy(path);
    if ((*topology)->path)
        return PTO_OK;
    pto_topology_destroy(*topology);
    *topology = NULL;
    return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
}
