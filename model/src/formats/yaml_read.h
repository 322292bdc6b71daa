/* Table-driven reading of YAML mappings. A table declares the keys of a mapping: the type of each and where
 * its value is stored. Unknown, duplicate, missing and reserved keys are then handled by one mechanism for
 * every file. */
#ifndef PTO_YAML_READ_H
#define PTO_YAML_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/names.h"
#include "formats/yaml_tree.h"
#include "portolan/api.h"

/* The error record for messages, and the file name in them. */
typedef struct {
    const char *path;
    pto_error_t *err;
    char *const *file; /* of nodes that are from other files; NULL: there are none */
} pto_reader_t;

/* Returns the file that a node is from. */
const char *pto_reader_path(const pto_reader_t *reader, const pto_yaml_node_t *node);

/* Fills `slot` from a value; `argument` is the field's own. */
typedef pto_status_t (*pto_yaml_read_t)(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                                        int argument);

typedef struct pto_yaml_table pto_yaml_table_t;

typedef struct {
    const char *key;
    pto_yaml_read_t read;
    size_t offset; /* of the slot in the table's target */
    int argument;
    bool required;
    bool reserved;                 /* refused as not supported yet */
    const pto_yaml_table_t *table; /* instead of `read`: a nested mapping, whose target is the slot */
    pto_name_at_t name_at;         /* instead of `read`: an enum or int, `argument` + the index of the name */
} pto_yaml_field_t;

enum { PTO_YAML_FIELDS_MAX = 32 };

struct pto_yaml_table {
    const char *what; /* the mapping's name in messages */
    const pto_yaml_field_t *field;
    int field_count;
    const pto_yaml_table_t *base; /* has more fields, of the first member of the target; or NULL */
    bool nonempty;                /* the mapping may not be empty */
    /* Checks across fields, once all are read; may be NULL. */
    pto_status_t (*finish)(const pto_reader_t *reader, const pto_yaml_node_t *node, void *target);
};

/* Read a mapping. Every fault is reported at its place. Fields read before it stay in `target`, which the
 * caller frees. */
pto_status_t pto_read_mapping(const pto_reader_t *reader, const pto_yaml_node_t *node,
                              const pto_yaml_table_t *table, void *target);

/* Read the value of one of its fields. */
pto_status_t pto_read_field(const pto_reader_t *reader, const pto_yaml_node_t *node,
                            const pto_yaml_field_t *field, void *target);

pto_status_t pto_read_fail(const pto_reader_t *reader, const pto_yaml_node_t *node, pto_status_t status,
                           const char *format, ...) PTO_PRINTF_LIKE(4, 5);

/* Report a fault that was detected outside the file, at the node's place. */
pto_status_t pto_read_fail_as(const pto_reader_t *reader, const pto_yaml_node_t *node,
                              const pto_error_t *fault);

/* PTO_ERR_TYPE unless the node is of this kind; a scalar must also not be empty. */
pto_status_t pto_read_expect(const pto_reader_t *reader, const pto_yaml_node_t *node, pto_yaml_kind_t kind,
                             const char *wanted);

/* Field readers. Each comment gives the slot's type first; `argument` is unused unless mentioned. */
/* char *, which the caller frees: a name, as pto_name_check has it */
pto_status_t pto_read_text(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot, int argument);
/* char *, which the caller frees: longer, and line breaks and tabs become blanks */
pto_status_t pto_read_remark(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                             int argument);
pto_status_t pto_read_bool(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot, int argument);
/* int64_t, at least `argument` */
pto_status_t pto_read_count(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                            int argument);
/* int64_t with an optional binary suffix, at least `argument` */
pto_status_t pto_read_bytes(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                            int argument);
/* double, 0 or more, in the unit `argument` (pto_unit_t) */
pto_status_t pto_read_number(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                             int argument);

/* The index of a name among those of the list. Errors: PTO_ERR_NOT_FOUND, with the nearest name. */
pto_status_t pto_read_name(const pto_reader_t *reader, const pto_yaml_node_t *node, pto_name_at_t name_at,
                           int *index);

#endif
