/* The registry of a machine's parameters: PTO_PARAMETER_TABLE as data, and iteration over it. A family is a
 * row of that table, such as messages.*.*. A cell is one value of a family, such as messages.cpu.off_node.
 * Reading, writing, what-ifs and explanations all work on cells. */
#ifndef PTO_REGISTRY_H
#define PTO_REGISTRY_H

#include <stddef.h>

#include "machine/machine_internal.h"
#include "portolan/units.h"

/* The most sockets, GPUs or cores of a node, far above those of real ones. The time to price a plan grows
 * with the processes of a node. */
enum { PTO_NODE_DEVICES_MAX = 65536 };

typedef enum { PTO_FORM_WHOLE, PTO_FORM_VALUE, PTO_FORM_POSTAL, PTO_FORM_COST } pto_form_t;

/* By what the rows of a cost differ, besides their ranges of bytes. */
typedef enum {
    PTO_ROWS_BY_PROTOCOL,  /* in the order of the ranges */
    PTO_ROWS_BY_BYTES,     /* nothing else; a single row is written as a mapping */
    PTO_ROWS_BY_PROCS,     /* strided, then procs */
    PTO_ROWS_BY_GPUS,      /* nodes, then gpus */
    PTO_ROWS_BY_NODE_GPUS, /* gpus, of one node */
    PTO_ROWS_COUNT
} pto_rows_by_t;

static inline bool pto_rows_have_gpus(pto_rows_by_t by) {
    return by == PTO_ROWS_BY_GPUS || by == PTO_ROWS_BY_NODE_GPUS;
}

typedef enum {
    PTO_DIM_NONE,
    PTO_DIM_SPACE,
    PTO_DIM_LEVEL,
    PTO_DIM_COPY,
    PTO_DIM_REACH,
    PTO_DIM_REMOTE,
    PTO_DIM_NCCL,
    PTO_DIM_NCCL_ALGORITHM,
    PTO_DIM_NCCL_PROTOCOL,
    PTO_DIM_POWER,
    PTO_DIM_COUNT
} pto_dim_kind_t;

/* The part of an array's dimension that a family covers. */
typedef struct {
    pto_dim_kind_t kind;
    int first;
    int last;
} pto_dim_t;

#define PTO_ALL(kind)                                                                                        \
    { PTO_DIM_##kind, 0, PTO_##kind##_COUNT - 1 }
#define PTO_UP_TO(kind, name)                                                                                \
    { PTO_DIM_##kind, 0, PTO_##kind##_##name }
#define PTO_ONE(kind, name)                                                                                  \
    { PTO_DIM_##kind, PTO_##kind##_##name, PTO_##kind##_##name }

enum { PTO_DIM_MAX = 2 };

/* A row of PTO_PARAMETER_TABLE (parameters.h, which describes the members that have no comment here). */
typedef struct {
    pto_form_t form;
    size_t offset; /* of the member in pto_machine_t */
    const char *key;
    const char *what;           /* one line of documentation */
    pto_dim_t dim[PTO_DIM_MAX]; /* what the * of the key stand for; the rest are PTO_DIM_NONE */
    pto_rows_by_t by;           /* PTO_FORM_COST */
    pto_unit_t unit;            /* PTO_FORM_VALUE */
    bool positive;              /* 0 is refused */
    bool has_extra_input;       /* rows may hold extra_input_s_per_byte */
    bool measured_only;
    bool power_at_start;
    pto_power_t power;
    const char *term; /* NULL: none */
} pto_family_t;

/* `at`: a pto_cost_table_t, pto_postal_t, pto_param_t or int64_t of the machine, by the family's form. */
typedef struct {
    const pto_family_t *family;
    void *at;
    int index; /* in the member's array */
    int next;  /* private to the iteration, and `step` */
    int step;
} pto_cell_t;

/* Iterate over all cells, starting with a zeroed one; false after the last. */
bool pto_cell_next(const pto_machine_t *machine, pto_cell_t *cell);

/* The cell's key; `key` has room for PTO_PARAM_KEY_MAX. */
void pto_cell_key(const pto_cell_t *cell, char *key);

/* The cell that begins at this address of the machine; false: none does. */
bool pto_cell_at(const pto_machine_t *machine, const void *at, pto_cell_t *cell);

/* A word of a family's key that follows a path: a key that the mapping at this path of the file may have. The
 * path copies has the words h2d, d2h, ..., shared, queued, ... */
typedef struct {
    const pto_family_t *family;
    const char *text; /* `length` characters, not terminated */
    size_t length;
    void *at;      /* the cell's address if this is the last word of the key; else NULL */
    bool required; /* in the mapping at the path */
    int next;      /* iteration: index of the family */
    int end;       /* after the last family to search; 0: all */
    int step;
} pto_word_t;

/* Iterate over the words that follow `path`, starting with a zeroed one or with a range of families that are
 * known to contain the path. A word that families share is found for each of them. False after the last. */
bool pto_word_next(const pto_machine_t *machine, const char *path, pto_word_t *word);

/* Returns whether the machine has a value of this cell. */
bool pto_cell_known(const pto_cell_t *cell);

/* Copies a cell's value to the same cell of another machine. Returns false when out of memory. */
bool pto_cell_copy(const pto_cell_t *from, const pto_cell_t *to);

/* Makes it unknown. */
void pto_cell_clear(const pto_cell_t *cell);

/* The numbers of a postal cost or a row. A price is a sum; each of its terms multiplies one of these. */
typedef enum { PTO_FIELD_NONE, PTO_FIELD_ALPHA, PTO_FIELD_BETA, PTO_FIELD_EXTRA_INPUT } pto_field_t;

const char *pto_field_name(pto_field_t field);

/* The name of one of the cell's numbers in explanations: its key, without the bytes of a row. `param` is NULL
 * if the machine lacks it. `text` has room for PTO_PARAM_KEY_MAX. */
void pto_cell_explain(const pto_cell_t *cell, const pto_param_t *param, pto_field_t field, char *text);

/* Returns whether two rows differ only in their bytes. */
bool pto_row_continues(pto_rows_by_t by, const pto_cost_row_t *before, const pto_cost_row_t *row);

/* Replaces a key of on_gpu messages by that of on_socket if the machine has no on_gpu messages: prices then
 * use its on_socket costs, but explanations show the on_gpu key. */
void pto_param_key_resolve(const pto_machine_t *machine, char key[PTO_PARAM_KEY_MAX]);

/* Returns whether this is the parameter's key or group. */
bool pto_param_is_named(const pto_machine_param_t *param, const char *key);

/* PTO_ERR_NOT_FOUND, with the nearest of the parameters' keys and of `more` names. */
pto_status_t pto_param_unknown(const char *key, const pto_machine_param_t *param, int param_count,
                               const char *const *more, int more_count, pto_error_t *err);

/* For what-ifs that set unknown costs: gives each unknown cost by bytes a placeholder: one row that its count
 * does not include. pto_machine_params then lists the numbers of this row. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_machine_make_room(pto_machine_t *machine, pto_error_t *err);

/* Includes the placeholders whose numbers have been set in the counts. */
void pto_machine_use_room(pto_machine_t *machine);

/* Sets each range of bytes to begin where the one before it ends. Returns false if one of them is empty. */
bool pto_cost_join(pto_rows_by_t by, pto_cost_table_t *cost);

#endif
