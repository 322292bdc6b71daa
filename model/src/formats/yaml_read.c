/* Reads YAML mappings by tables of their keys (yaml_read.h), and has the readers of the kinds of values that
 * several files use. */
#include "formats/yaml_read.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/suggest.h"
#include "base/text.h"
#include "base/text_file.h"
#include "portolan/units.h"

enum { QUOTE_MAX = 40, LIST_TEXT_MAX = 320 };

const char *pto_reader_path(const pto_reader_t *reader, const pto_yaml_node_t *node) {
    return node->file > 0 && reader->file ? reader->file[node->file] : reader->path;
}

pto_status_t pto_read_fail(const pto_reader_t *reader, const pto_yaml_node_t *node, pto_status_t status,
                           const char *format, ...) {
    char message[PTO_ERROR_MESSAGE_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return pto_error_set_at(reader->err, status, pto_reader_path(reader, node), node->line, node->column,
                            "%s", message);
}

/* Values outnumber keys, so a fault in a value is reported with its key. */
pto_status_t pto_read_fail_as(const pto_reader_t *reader, const pto_yaml_node_t *node,
                              const pto_error_t *fault) {
    if (node->key)
        return pto_read_fail(reader, node, fault->status, "%s: %s", node->key, fault->message);
    return pto_read_fail(reader, node, fault->status, "%s", fault->message);
}

pto_status_t pto_read_fail_in(const pto_reader_t *reader, const pto_yaml_node_t *node, const char *path,
                              const pto_error_t *fault) {
    if (fault->status == PTO_ERR_IO)
        return pto_read_fail(reader, node, fault->status, "%s: %s: %s", node->key, path, fault->message);
    if (reader->err)
        *reader->err = *fault;
    return fault->status;
}

static pto_status_t fail_at_key(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                const char *message) {
    return pto_error_set_at(reader->err, PTO_ERR_KEY, pto_reader_path(reader, node), node->key_line,
                            node->key_column, "%s", message);
}

/* Returns the field of a key, in the table or in those that it is based on; NULL: there is none. */
static const pto_yaml_field_t *find_field(const pto_yaml_table_t *table, const char *key) {
    do {
        for (int i = 0; i < table->field_count; i++)
            if (strcmp(table->field[i].key, key) == 0)
                return &table->field[i];
    } while ((table = table->base));
    return NULL;
}

/* "a, b, c" of `count` names, truncated to the buffer. */
static void list_names(const char *const *names, int count, char *text, size_t text_size) {
    pto_line_t line = {.text = text, .size = text_size};
    text[0] = '\0';
    for (int i = 0; i < count; i++)
        pto_line_add(&line, "%s%s", i == 0 ? "" : ", ", names[i]);
}

/* "; did you mean 'x'?" or, if no name is near, the known names. */
static void advise(const char *text, const char *const *names, int count, char *advice, size_t advice_size) {
    const char *nearest = pto_suggest(text, names, count);
    if (nearest) {
        snprintf(advice, advice_size, "; did you mean '%s'?", nearest);
        return;
    }
    char list[LIST_TEXT_MAX];
    list_names(names, count, list, sizeof list);
    snprintf(advice, advice_size, "; known are: %s", list);
}

/* Returns the present name of a key of an older version; NULL for all others. */
static const char *new_name(const char *key) {
    static const struct {
        const char *before;
        const char *now;
    } renamed[] = {{"cores_per_gpu", "procs_per_gpu"},
                   {"per_message", "gap"},
                   {"further_s_per_byte", "extra_input_s_per_byte"}};
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
        if (strcmp(key, renamed[i].before) == 0)
            return renamed[i].now;
    return NULL;
}

static pto_status_t unknown_key(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                const pto_yaml_table_t *table) {
    const char *names[PTO_YAML_FIELDS_MAX];
    int count = 0;
    const pto_yaml_table_t *from = table;
    do {
        for (int i = 0; i < from->field_count && count < PTO_YAML_FIELDS_MAX; i++)
            names[count++] = from->field[i].key;
    } while ((from = from->base));
    char advice[LIST_TEXT_MAX + 32], message[PTO_ERROR_MESSAGE_MAX];
    if (new_name(node->key))
        snprintf(advice, sizeof advice, "; it is now called '%s'", new_name(node->key));
    else
        advise(node->key, names, count, advice, sizeof advice);
    snprintf(message, sizeof message, "unknown key '%.*s' in %s%s", QUOTE_MAX, node->key, table->what,
             advice);
    return fail_at_key(reader, node, message);
}

static pto_status_t check_key(const pto_reader_t *reader, const pto_yaml_node_t *mapping,
                              const pto_yaml_node_t *node, const pto_yaml_table_t *table) {
    char message[PTO_ERROR_MESSAGE_MAX];
    if (!find_field(table, node->key))
        return unknown_key(reader, node, table);
    const pto_yaml_node_t *first = pto_yaml_find(mapping, node->key);
    if (first == node)
        return PTO_OK;
    snprintf(message, sizeof message, "duplicate key '%s' in %s; the first is on line %d", node->key,
             table->what, first->key_line);
    return fail_at_key(reader, node, message);
}

static pto_status_t check_keys(const pto_reader_t *reader, const pto_yaml_node_t *mapping,
                               const pto_yaml_table_t *table) {
    for (const pto_yaml_node_t *node = mapping->child; node; node = node->next) {
        pto_status_t status = check_key(reader, mapping, node, table);
        if (status != PTO_OK)
            return status;
    }
    const pto_yaml_table_t *from = table;
    do {
        for (int i = 0; i < from->field_count; i++)
            if (from->field[i].required && !pto_yaml_find(mapping, from->field[i].key))
                return pto_read_fail(reader, mapping, PTO_ERR_KEY, "missing key '%s' in %s",
                                     from->field[i].key, table->what);
    } while ((from = from->base));
    if (table->nonempty && !mapping->child)
        return pto_read_fail(reader, mapping, PTO_ERR_KEY, "%s is empty", table->what);
    return PTO_OK;
}

pto_status_t pto_read_field(const pto_reader_t *reader, const pto_yaml_node_t *node,
                            const pto_yaml_field_t *field, void *target) {
    void *slot = (char *)target + field->offset;
    if (field->table)
        return pto_read_mapping(reader, node, field->table, slot);
    if (!field->name_at)
        return field->read(reader, node, slot, field->argument);
    int index = 0;
    pto_status_t status = pto_read_name(reader, node, field->name_at, &index);
    if (status == PTO_OK)
        *(int *)slot = field->argument + index;
    return status;
}

pto_status_t pto_read_mapping(const pto_reader_t *reader, const pto_yaml_node_t *node,
                              const pto_yaml_table_t *table, void *target) {
    if (node->kind != PTO_YAML_MAPPING)
        return pto_read_fail(reader, node, PTO_ERR_TYPE, "%s must be a mapping of keys to values",
                             table->what);
    pto_status_t status = check_keys(reader, node, table);
    for (const pto_yaml_node_t *value = node->child; value && status == PTO_OK; value = value->next)
        status = pto_read_field(reader, value, find_field(table, value->key), target);
    if (status == PTO_OK && table->finish)
        status = table->finish(reader, node, target);
    return status;
}

pto_status_t pto_read_document(const char *text, size_t text_size, const char *path,
                               const pto_yaml_table_t *table, void *target, pto_error_t *err) {
    const pto_reader_t reader = {.path = path, .err = err};
    pto_yaml_node_t *root = NULL;
    pto_status_t status = pto_yaml_parse(text, text_size, path, &root, err);
    if (status == PTO_OK)
        status = pto_read_mapping(&reader, root, table, target);
    pto_yaml_destroy(root);
    return status;
}

pto_status_t pto_read_expect_list(const pto_reader_t *reader, const pto_yaml_node_t *node, const char *wanted,
                                  const char *items, int most) {
    pto_status_t status = pto_read_expect(reader, node, PTO_YAML_LIST, wanted);
    if (status == PTO_OK && (node->child_count < 1 || node->child_count > most))
        status = pto_read_fail(reader, node, PTO_ERR_RANGE, "%s: expected 1 to %d %s, not %d", node->key,
                               most, items, node->child_count);
    return status;
}

pto_status_t pto_read_expect_some(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                  const char *wanted) {
    pto_status_t status = pto_read_expect(reader, node, PTO_YAML_LIST, wanted);
    if (status == PTO_OK && !node->child)
        status = pto_read_fail(reader, node, PTO_ERR_RANGE, "%s: the list is empty", node->key);
    return status;
}

pto_status_t pto_read_room(const pto_reader_t *reader, const pto_yaml_node_t *list, size_t item_size,
                           void *items) {
    void *made = calloc((size_t)list->child_count + 1, item_size);
    memcpy(items, &made, sizeof made);
    /* cppcheck-suppress memleak; `items` holds it */
    return made ? PTO_OK : pto_read_fail(reader, list, PTO_ERR_MEMORY, "out of memory");
}

pto_status_t pto_read_rows(const pto_reader_t *reader, const pto_yaml_node_t *list, const char *wanted,
                           const pto_yaml_table_t *row, size_t row_size, void *rows, int *count) {
    pto_status_t status = pto_read_expect(reader, list, PTO_YAML_LIST, wanted);
    if (status == PTO_OK)
        status = pto_read_room(reader, list, row_size, rows);
    char *made;
    memcpy(&made, rows, sizeof made);
    for (const pto_yaml_node_t *node = list->child; node && status == PTO_OK; node = node->next)
        status = pto_read_mapping(reader, node, row, made + (size_t)(*count)++ * row_size);
    return status;
}

pto_status_t pto_read_expect(const pto_reader_t *reader, const pto_yaml_node_t *node, pto_yaml_kind_t kind,
                             const char *wanted) {
    static const char *const found[] = {"a single value", "a list", "a mapping"};
    pto_error_t fault = {.status = PTO_OK};
    if (node->kind != kind)
        pto_error_set(&fault, PTO_ERR_TYPE, "expected %s, not %s", wanted, found[node->kind]);
    else if (kind == PTO_YAML_SCALAR && node->text[0] == '\0')
        pto_error_set(&fault, PTO_ERR_TYPE, "expected %s, but the value is empty", wanted);
    return fault.status == PTO_OK ? PTO_OK : pto_read_fail_as(reader, node, &fault);
}

/* Reads a name (PTO_NAME_BYTES_MAX) or a longer text (PTO_TEXT_BYTES_MAX), in which line breaks and tabs
 * become blanks. */
static pto_status_t read_text(const pto_reader_t *reader, const pto_yaml_node_t *node, size_t bytes_max,
                              char **slot) {
    pto_error_t fault = {.status = PTO_OK};
    pto_status_t status = pto_read_expect(reader, node, PTO_YAML_SCALAR, "a text");
    if (status != PTO_OK)
        return status;
    char *copy = pto_text_copy(node->text);
    if (!copy)
        return pto_read_fail(reader, node, PTO_ERR_MEMORY, "out of memory");
    for (char *at = copy; bytes_max == PTO_TEXT_BYTES_MAX && (at = strpbrk(at, "\n\t")); at++)
        *at = ' ';
    if (pto_name_check(copy, bytes_max, &fault) != PTO_OK) {
        free(copy);
        return pto_read_fail_as(reader, node, &fault);
    }
    *slot = copy;
    return PTO_OK;
}

pto_status_t pto_read_text(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                           int argument) {
    (void)argument;
    return read_text(reader, node, PTO_NAME_BYTES_MAX, slot);
}

pto_status_t pto_read_remark(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                             int argument) {
    (void)argument;
    return read_text(reader, node, PTO_TEXT_BYTES_MAX, slot);
}

pto_status_t pto_read_bool(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                           int argument) {
    (void)argument;
    pto_status_t status = pto_read_expect(reader, node, PTO_YAML_SCALAR, "true or false");
    if (status != PTO_OK)
        return status;
    bool is_true = strcmp(node->text, "true") == 0;
    if (!is_true && strcmp(node->text, "false") != 0)
        return pto_read_fail(reader, node, PTO_ERR_TYPE, "%s: '%.*s' is neither true nor false", node->key,
                             QUOTE_MAX, node->text);
    *(bool *)slot = is_true;
    return PTO_OK;
}

typedef pto_status_t (*parse_whole_t)(const char *text, int64_t *value, pto_error_t *err);

static pto_status_t read_whole(const pto_reader_t *reader, const pto_yaml_node_t *node, parse_whole_t parse,
                               int64_t least, int64_t *whole) {
    pto_status_t status = pto_read_expect(reader, node, PTO_YAML_SCALAR, "a whole number");
    if (status != PTO_OK)
        return status;
    pto_error_t fault = {.status = PTO_OK};
    int64_t value = 0;
    if (parse(node->text, &value, &fault) == PTO_OK && value < least)
        pto_error_set(&fault, PTO_ERR_RANGE, "must be %lld or more, not %lld", (long long)least,
                      (long long)value);
    if (fault.status != PTO_OK)
        return pto_read_fail_as(reader, node, &fault);
    *whole = value;
    return PTO_OK;
}

pto_status_t pto_read_count(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                            int argument) {
    return read_whole(reader, node, pto_int64_parse, argument, slot);
}

pto_status_t pto_read_bytes(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                            int argument) {
    return read_whole(reader, node, pto_bytes_parse, argument, slot);
}

pto_status_t pto_read_number(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                             int argument) {
    pto_status_t status = pto_read_expect(reader, node, PTO_YAML_SCALAR, "a number");
    if (status != PTO_OK)
        return status;
    pto_error_t fault = {.status = PTO_OK};
    double value = 0;
    if (pto_quantity_parse(node->text, (pto_unit_t)argument, &value, &fault) == PTO_OK && value < 0)
        pto_error_set(&fault, PTO_ERR_RANGE, "must be 0 or more, not %.*s", QUOTE_MAX, node->text);
    if (fault.status != PTO_OK)
        return pto_read_fail_as(reader, node, &fault);
    *(double *)slot = value;
    return PTO_OK;
}

pto_status_t pto_read_name(const pto_reader_t *reader, const pto_yaml_node_t *node, pto_name_at_t name_at,
                           int *index) {
    pto_status_t status = pto_read_expect(reader, node, PTO_YAML_SCALAR, "a name");
    if (status != PTO_OK)
        return status;
    const char *names[PTO_YAML_FIELDS_MAX];
    int count = 0;
    for (int i = 0; name_at(i); i++) {
        if (strcmp(node->text, name_at(i)) == 0) {
            *index = i;
            return PTO_OK;
        }
        if (count < PTO_YAML_FIELDS_MAX) /* the advice needs no more */
            names[count++] = name_at(i);
    }
    char advice[LIST_TEXT_MAX + 32];
    advise(node->text, names, count, advice, sizeof advice);
    return pto_read_fail(reader, node, PTO_ERR_NOT_FOUND, "unknown %s '%.*s'%s",
                         node->key ? node->key : "name", QUOTE_MAX, node->text, advice);
}
