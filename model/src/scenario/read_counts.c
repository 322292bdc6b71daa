/* Reads byte counts (the key `counts`, or an option): equal, random (skew), a matrix, a list, a pattern on a
 * grid, or two of these, one in GPU memory and one in host memory. The keys are read into a counts_slot_t,
 * from which the pto_counts_t is made. */
#include "scenario/read.h"

#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/text_file.h"
#include "scenario/check.h"
#include "scenario/words.h"

enum { QUOTE_MAX = 40 };

pto_status_t pto_read_path(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                           int argument) {
    (void)argument;
    pto_status_t status = pto_read_expect(reader, node, PTO_YAML_SCALAR, "the name of a file");
    pto_error_t fault = {.status = PTO_OK};
    if (status != PTO_OK)
        return status;
    if (pto_name_check(node->text, PTO_TEXT_BYTES_MAX, &fault) != PTO_OK)
        return pto_read_fail_as(reader, node, &fault);
    char *path = pto_path_beside(reader->path, node->text);
    if (!path)
        return pto_read_fail(reader, node, PTO_ERR_MEMORY, "out of memory");
    *(char **)slot = path;
    return PTO_OK;
}

/* One number for each dimension. */
typedef struct {
    int count;
    int64_t value[PTO_GRID_DIMS_MAX];
} numbers_t;

/* The values of the keys of `counts`. */
typedef struct {
    double skew;
    int64_t seed;
    char *matrix_path;
    int space; /* of the matrix rows that count (pto_space_t); -1: all */
    pto_counts_t list;
    int pattern; /* index in pattern_at */
    numbers_t dims, wrap, weights;
    int64_t along;
} counts_slot_t;

static pto_status_t read_skew(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                              int argument) {
    pto_status_t status = pto_read_number(reader, node, slot, argument);
    if (status == PTO_OK && *(double *)slot > 1)
        return pto_read_fail(reader, node, PTO_ERR_RANGE, "skew must be in [0, 1], not %g", *(double *)slot);
    return status;
}

/* Reads a list of numbers, or a file of them. Errors in the file are reported at their place in that file. */
static pto_status_t read_list(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                              int argument) {
    pto_counts_t *counts = slot;
    if (node->kind == PTO_YAML_SCALAR) {
        char *path = NULL;
        pto_error_t fault = {.status = PTO_OK};
        pto_status_t status = pto_read_path(reader, node, &path, argument);
        if (status != PTO_OK)
            return status;
        status = pto_counts_read_list(path, counts, &fault);
        if (status != PTO_OK)
            pto_read_fail_in(reader, node, path, &fault);
        free(path);
        return status;
    }
    pto_status_t status =
        pto_read_expect(reader, node, PTO_YAML_LIST, "a list of bytes, or the name of a file");
    if (status == PTO_OK && node->child_count == 0)
        status = pto_read_fail(reader, node, PTO_ERR_RANGE, "the list holds no numbers");
    int64_t *value = NULL, count = 0;
    if (status == PTO_OK)
        status = PTO_READ_ROOM(reader, node, &value);
    for (const pto_yaml_node_t *item = node->child; item && status == PTO_OK; item = item->next)
        status = pto_read_bytes(reader, item, &value[count++], 0);
    pto_counts_t parsed = {.kind = PTO_COUNTS_LIST, .order = count, .matrix = value};
    pto_error_t fault = {.status = PTO_OK};
    if (status == PTO_OK && pto_counts_check(&parsed, &fault) != PTO_OK)
        status = pto_read_fail_as(reader, node, &fault);
    if (status != PTO_OK)
        free(value);
    else
        *counts = parsed;
    return status;
}

static PTO_WORD_LIST(pattern_at, "stencil", "groups");

static pto_status_t read_numbers(const pto_reader_t *reader, const pto_yaml_node_t *list, void *slot,
                                 int argument) {
    numbers_t *numbers = slot;
    pto_status_t status =
        pto_read_expect_list(reader, list, "a list of numbers", "numbers", PTO_GRID_DIMS_MAX);
    for (const pto_yaml_node_t *node = list->child; node && status == PTO_OK; node = node->next)
        status = pto_read_count(reader, node, &numbers->value[numbers->count++], argument);
    return status;
}

/* The keys of `counts`, and which of its forms each belongs to. */
enum { FORM_SKEW = 1, FORM_MATRIX = 2, FORM_STENCIL = 4, FORM_GROUPS = 8, FORM_LIST = 16 };
static const struct {
    const char *key;
    unsigned forms;
} counts_form[] = {
    {"skew", FORM_SKEW},
    {"seed", FORM_SKEW},
    {"matrix", FORM_MATRIX},
    {"space", FORM_MATRIX},
    {"list", FORM_LIST},
    {"pattern", FORM_STENCIL | FORM_GROUPS},
    {"dims", FORM_STENCIL | FORM_GROUPS},
    {"wrap", FORM_STENCIL},
    {"weights", FORM_STENCIL},
    {"along", FORM_GROUPS},
};

/* Checks that the keys belong to one form, and that it is complete. */
static pto_status_t finish_counts(const pto_reader_t *reader, const pto_yaml_node_t *node, void *target) {
    const counts_slot_t *read = target;
    bool pattern = pto_yaml_find(node, "pattern") != NULL, matrix = pto_yaml_find(node, "matrix") != NULL;
    bool list = pto_yaml_find(node, "list") != NULL;
    unsigned form = FORM_SKEW;
    const char *form_name = "skew";
    if (matrix || list) {
        form = matrix ? FORM_MATRIX : FORM_LIST;
        form_name = matrix ? "a matrix" : "a list";
    } else if (pattern) {
        form = read->pattern == 0 ? FORM_STENCIL : FORM_GROUPS;
        form_name = pattern_at(read->pattern);
    }
    if (!pattern && !matrix && !list && !pto_yaml_find(node, "skew"))
        return pto_read_fail(reader, node, PTO_ERR_KEY,
                             "missing key 'skew', 'matrix', 'list' or 'pattern' in 'counts'");
    for (size_t i = 0; i < sizeof counts_form / sizeof *counts_form; i++) {
        const pto_yaml_node_t *given = pto_yaml_find(node, counts_form[i].key);
        if (given && !(counts_form[i].forms & form))
            return pto_read_fail(reader, given, PTO_ERR_KEY, "counts: %s cannot be given with %s",
                                 counts_form[i].key, form_name);
    }
    if (pattern && read->dims.count == 0)
        return pto_read_fail(reader, node, PTO_ERR_KEY, "missing key 'dims' in 'counts'");
    const struct {
        const numbers_t *numbers;
        const char *key;
    } by_dim[] = {{&read->wrap, "wrap"}, {&read->weights, "weights"}};
    for (size_t i = 0; i < sizeof by_dim / sizeof *by_dim; i++)
        if (by_dim[i].numbers->count > 0 && by_dim[i].numbers->count != read->dims.count)
            return pto_read_fail(reader, pto_yaml_find(node, by_dim[i].key), PTO_ERR_RANGE,
                                 "%s: %d numbers for %d dims", by_dim[i].key, by_dim[i].numbers->count,
                                 read->dims.count);
    return PTO_OK;
}

static const pto_yaml_field_t counts_fields[] = {
    {.key = "skew", .read = read_skew, PTO_YAML_AT(counts_slot_t, skew)},
    {.key = "seed", .read = pto_read_count, PTO_YAML_AT(counts_slot_t, seed)},
    {.key = "matrix", .read = pto_read_path, PTO_YAML_AT(counts_slot_t, matrix_path)},
    {.key = "list", .read = read_list, PTO_YAML_AT(counts_slot_t, list)},
    {.key = "space", .name_at = pto_space_at, PTO_YAML_AT(counts_slot_t, space)},
    {.key = "pattern", .name_at = pattern_at, PTO_YAML_AT(counts_slot_t, pattern)},
    {.key = "dims", .read = read_numbers, PTO_YAML_AT(counts_slot_t, dims), .argument = 1},
    {.key = "wrap", .read = read_numbers, PTO_YAML_AT(counts_slot_t, wrap)},
    {.key = "weights", .read = read_numbers, PTO_YAML_AT(counts_slot_t, weights)},
    {.key = "along", .read = pto_read_count, PTO_YAML_AT(counts_slot_t, along)},
};
static const pto_yaml_table_t counts_table = {
    .what = "'counts'", PTO_YAML_FIELDS(counts_fields), .finish = finish_counts};

static pto_status_t make_pattern(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                 const counts_slot_t *read, pto_counts_t *counts) {
    pto_counts_t parsed = {.kind = read->pattern == 0 ? PTO_COUNTS_STENCIL : PTO_COUNTS_GROUPS};
    parsed.grid.dim_count = read->dims.count;
    parsed.grid.along = read->along < PTO_GRID_DIMS_MAX ? (int)read->along : PTO_GRID_DIMS_MAX;
    for (int d = 0; d < read->dims.count; d++) {
        parsed.grid.dim[d] = read->dims.value[d];
        parsed.grid.wrap[d] = read->wrap.value[d] != 0;
        parsed.grid.weight[d] = read->weights.count > 0 ? read->weights.value[d] : 1;
    }
    pto_error_t fault = {.status = PTO_OK};
    if (pto_counts_check(&parsed, &fault) != PTO_OK)
        return pto_read_fail_as(reader, node, &fault);
    *counts = parsed;
    return PTO_OK;
}

/* A missing file is reported at the place that names it; a fault in the file, at its place there. */
static pto_status_t read_matrix(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                const counts_slot_t *read, pto_counts_t *counts) {
    pto_error_t fault = {.status = PTO_OK};
    const char *path = read->matrix_path;
    pto_status_t status = pto_counts_read_space(path, read->space, counts, &fault);
    return status == PTO_OK ? status : pto_read_fail_in(reader, node, path, &fault);
}

/* One pattern: `slot` is a pto_counts_t. */
static pto_status_t read_one(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                             int argument) {
    (void)argument;
    pto_counts_t *counts = slot;
    if (node->kind == PTO_YAML_SCALAR) {
        if (strcmp(node->text, "equal") == 0)
            return PTO_OK;
        return pto_read_fail(
            reader, node, PTO_ERR_TYPE,
            "counts: expected equal, {skew}, {matrix}, {list}, {pattern, dims} or {gpu, cpu}, not '%.*s'",
            QUOTE_MAX, node->text);
    }
    counts_slot_t read = {.space = -1};
    pto_status_t status = pto_read_mapping(reader, node, &counts_table, &read);
    if (status != PTO_OK)
        pto_counts_fini(&read.list);
    else if (read.list.kind == PTO_COUNTS_LIST)
        *counts = read.list;
    else if (read.matrix_path)
        status = read_matrix(reader, pto_yaml_find(node, "matrix"), &read, counts);
    else if (read.dims.count > 0)
        status = make_pattern(reader, node, &read, counts);
    else
        *counts = (pto_counts_t){.kind = PTO_COUNTS_SKEW, .skew = read.skew, .seed = (uint64_t)read.seed};
    free(read.matrix_path);
    return status;
}

/* One pattern in GPU memory, and one in host memory at the same time. */
typedef struct {
    pto_counts_t gpu;
    pto_counts_t cpu;
} pair_slot_t;

static const pto_yaml_field_t pair_fields[] = {
    {.key = "gpu", .read = read_one, PTO_YAML_AT(pair_slot_t, gpu), .required = true},
    {.key = "cpu", .read = read_one, PTO_YAML_AT(pair_slot_t, cpu), .required = true},
};
static const pto_yaml_table_t pair_table = {.what = "'counts'", PTO_YAML_FIELDS(pair_fields)};

static pto_status_t read_pair(const pto_reader_t *reader, const pto_yaml_node_t *node, pto_counts_t *counts) {
    pair_slot_t read = {.gpu = {.kind = PTO_COUNTS_EQUAL}, .cpu = {.kind = PTO_COUNTS_EQUAL}};
    pto_error_t fault = {.status = PTO_OK};
    pto_status_t status = pto_read_mapping(reader, node, &pair_table, &read);
    pto_counts_t *host = status == PTO_OK ? malloc(sizeof *host) : NULL;
    if (status == PTO_OK && !host)
        status = pto_read_fail(reader, node, PTO_ERR_MEMORY, "out of memory");
    if (host) {
        *host = read.cpu;
        read.gpu.host = host;
    }
    if (status == PTO_OK && pto_counts_check(&read.gpu, &fault) != PTO_OK)
        status = pto_read_fail_as(reader, node, &fault);
    if (status == PTO_OK) {
        *counts = read.gpu;
        return PTO_OK;
    }
    if (!host)
        pto_counts_fini(&read.cpu);
    pto_counts_fini(&read.gpu);
    return status;
}

pto_status_t pto_read_counts(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                             int argument) {
    bool pair = node->kind == PTO_YAML_MAPPING && (pto_yaml_find(node, "gpu") || pto_yaml_find(node, "cpu"));
    return pair ? read_pair(reader, node, slot) : read_one(reader, node, slot, argument);
}

pto_status_t pto_counts_parse(const char *text, const char *path, pto_counts_t *counts, pto_error_t *err) {
    const pto_reader_t reader = {.path = path, .err = err};
    pto_yaml_node_t *root = NULL;
    pto_status_t status = pto_yaml_parse(text, strlen(text), path, &root, err);
    if (status != PTO_OK)
        return status;
    pto_counts_t parsed = {.kind = PTO_COUNTS_EQUAL};
    status = pto_read_counts(&reader, root, &parsed, 0);
    pto_yaml_destroy(root);
    if (status == PTO_OK)
        *counts = parsed;
    return status;
}
