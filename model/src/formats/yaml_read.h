/* Table-driven reading of YAML mappings. A table (pto_yaml_table_t) declares the keys of a mapping, with the
 * function that reads each value and the place where it is stored: a slot at an offset in the target struct.
 * Unknown, duplicate and missing keys are handled here for all files. */
#ifndef PTO_YAML_READ_H
#define PTO_YAML_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/names.h"
#include "formats/yaml_tree.h"
#include "portolan/api.h"

/* What readers need to report errors: the error record, and the file names for its messages. */
typedef struct {
    const char *path;
    pto_error_t *err;
    char *const *file; /* names by node.file, if the tree was merged from several files; else NULL */
} pto_reader_t;

/* Returns the file that a node is from. */
const char *pto_reader_path(const pto_reader_t *reader, const pto_yaml_node_t *node);

/* Fills `slot` from a value; `argument` is the field's own. */
typedef pto_status_t (*pto_yaml_read_t)(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                                        int argument);

typedef struct pto_yaml_table pto_yaml_table_t;

/* A key of a mapping. Of `read`, `table` and `name_at`, one is set. */
typedef struct {
    const char *key;
    pto_yaml_read_t read;
    size_t offset; /* of the slot in the table's target */
    int argument;  /* for `read` or `name_at` */
    bool required;
    const pto_yaml_table_t *table; /* a nested mapping, whose target is the slot */
    pto_name_at_t name_at;         /* a name: the slot, an enum or int, gets `argument` + the name's index */
} pto_yaml_field_t;

enum { PTO_YAML_FIELDS_MAX = 32 };

/* Initialisers of a field (where its slot is) and of a table (its list of fields). */
#define PTO_YAML_AT(type, member) .offset = offsetof(type, member)
#define PTO_YAML_FIELDS(list) .field = (list), .field_count = sizeof(list) / sizeof *(list)

struct pto_yaml_table {
    const char *what; /* the mapping's name in messages */
    const pto_yaml_field_t *field;
    int field_count;
    const pto_yaml_table_t *base; /* more fields, whose target is the first member of this target; or NULL */
    bool nonempty;                /* the mapping may not be empty */
    /* Checks across fields, once all are read; may be NULL. */
    pto_status_t (*finish)(const pto_reader_t *reader, const pto_yaml_node_t *node, void *target);
};

/* Reads a mapping into `target`. Fields that were read before a fault stay in it; the caller frees them. */
pto_status_t pto_read_mapping(const pto_reader_t *reader, const pto_yaml_node_t *node,
                              const pto_yaml_table_t *table, void *target);

/* Parses a text that consists of a mapping, and reads it. `path` names the text in messages. */
pto_status_t pto_read_document(const char *text, size_t text_size, const char *path,
                               const pto_yaml_table_t *table, void *target, pto_error_t *err);

/* Reads the value of one field of a mapping. */
pto_status_t pto_read_field(const pto_reader_t *reader, const pto_yaml_node_t *node,
                            const pto_yaml_field_t *field, void *target);

/* Reports an error at a node's line and column. Returns `status`. */
pto_status_t pto_read_fail(const pto_reader_t *reader, const pto_yaml_node_t *node, pto_status_t status,
                           const char *format, ...) PTO_PRINTF_LIKE(4, 5);

/* Reports `fault`, which has no line yet, at the node's line. The message begins with the node's key. */
pto_status_t pto_read_fail_as(const pto_reader_t *reader, const pto_yaml_node_t *node,
                              const pto_error_t *fault);

/* PTO_ERR_TYPE unless the node is of this kind; a scalar must also not be empty. The message says that
 * `wanted` was expected. */
pto_status_t pto_read_expect(const pto_reader_t *reader, const pto_yaml_node_t *node, pto_yaml_kind_t kind,
                             const char *wanted);

/* PTO_ERR_RANGE unless the node is a list of 1 to `most` items, which the message calls `items`. */
pto_status_t pto_read_expect_list(const pto_reader_t *reader, const pto_yaml_node_t *node, const char *wanted,
                                  const char *items, int most);
/* PTO_ERR_RANGE unless the node is a list of at least one item. */
pto_status_t pto_read_expect_some(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                  const char *wanted);

/* Allocates an array of zeroed items: one for each child of a list, and one more. `items` is the address of
 * the pointer that is set to it; the caller frees the array. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_read_room(const pto_reader_t *reader, const pto_yaml_node_t *list, size_t item_size,
                           void *items);
#define PTO_READ_ROOM(reader, list, items) pto_read_room(reader, list, sizeof **(items), items)

/* Reads a list of mappings into an array that it allocates by pto_read_room (`rows` is its `items`). `*count`
 * must be 0. It becomes the number of items begun: on an error, the last one may be incomplete. */
pto_status_t pto_read_rows(const pto_reader_t *reader, const pto_yaml_node_t *list, const char *wanted,
                           const pto_yaml_table_t *row, size_t row_size, void *rows, int *count);
#define PTO_READ_ROWS(reader, list, wanted, row, rows, count)                                                \
    pto_read_rows(reader, list, wanted, row, sizeof **(rows), rows, count)

/* Reports a fault of the file `path`, which a node names. If the file cannot be read, the fault is reported
 * at the node, otherwise at its place in the file. */
pto_status_t pto_read_fail_in(const pto_reader_t *reader, const pto_yaml_node_t *node, const char *path,
                              const pto_error_t *fault);

/* Functions for `read` of a field. Each comment gives the slot's type first; `argument` is unused unless
 * mentioned. */
/* char *, which the caller frees: a name, checked by pto_name_check */
pto_status_t pto_read_text(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot, int argument);
/* char *, which the caller frees: as above, but may be longer; line breaks and tabs become blanks */
pto_status_t pto_read_remark(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                             int argument);
/* bool: true or false */
pto_status_t pto_read_bool(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot, int argument);
/* int64_t, at least `argument` */
pto_status_t pto_read_count(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                            int argument);
/* int64_t, at least `argument`, with an optional suffix as in pto_bytes_parse */
pto_status_t pto_read_bytes(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                            int argument);
/* double, 0 or more, in the unit `argument` (pto_unit_t) */
pto_status_t pto_read_number(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                             int argument);

/* Sets the index of a name among those of `name_at`. Errors: PTO_ERR_NOT_FOUND, with the nearest name. */
pto_status_t pto_read_name(const pto_reader_t *reader, const pto_yaml_node_t *node, pto_name_at_t name_at,
                           int *index);

#endif
