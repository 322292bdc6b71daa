/* The registry of a machine's parameters: PTO_PARAMETER_TABLE as data, and walks over it. A family is a row
 * of that table; a cell is one of its parts, for one choice of its dimensions: messages.cpu.off_node. */
#ifndef PTO_REGISTRY_H
#define PTO_REGISTRY_H

#include <stddef.h>

#include "machine/machine_internal.h"
#include "portolan/units.h"

typedef enum { PTO_FORM_WHOLE, PTO_FORM_VALUE, PTO_FORM_POSTAL, PTO_FORM_COST } pto_form_t;

/* The key of the rows of a cost, besides ranges of bytes. */
typedef enum {
    PTO_ROWS_BY_PROTOCOL,  /* and their order is the order of the ranges */
    PTO_ROWS_BY_BYTES,     /* nothing; a single row is written as a mapping */
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

/* The part of an array that a family covers. */
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

typedef struct {
    pto_form_t form;
    size_t offset; /* of the member in pto_machine_t */
    const char *key;
    const char *what;
    pto_dim_t dim[PTO_DIM_MAX];
    pto_rows_by_t by;
    pto_unit_t unit;
    bool positive;        /* 0 is refused */
    bool has_extra_input; /* rows may hold extra_input_s_per_byte */
    bool measured_only;
    bool power_at_start;
    pto_power_t power;
    const char *term;
} pto_family_t;

/* `at`: a pto_cost_table_t, pto_postal_t, pto_param_t or int64_t of the machine, by the family's form. */
typedef struct {
    const pto_family_t *family;
    void *at;
    int index; /* in the member's array */
    int next;  /* of the walk */
    int step;
} pto_cell_t;

/* Step through all cells, from a zeroed one; false: there are no more. */
bool pto_cell_next(const pto_machine_t *machine, pto_cell_t *cell);

/* The cell's key; `key` has room for PTO_PARAM_KEY_MAX. */
void pto_cell_key(const pto_cell_t *cell, char *key);

/* The cell that begins at this address of the machine; false: none does. */
bool pto_cell_at(const pto_machine_t *machine, const void *at, pto_cell_t *cell);

/* Step through the cells whose keys begin with `path.`; start with a zeroed cell. Returns the rest of the
 * key, or the whole key if the path is empty; NULL after the last cell. `key` is filled as above. */
const char *pto_cell_below(const pto_machine_t *machine, const char *path, pto_cell_t *cell, char *key);

/* A word that may follow a path in a family's key. */
typedef struct {
    const pto_family_t *family;
    const char *text; /* `length` characters, not terminated */
    size_t length;
    void *at;      /* of the machine, as a cell's; NULL: more words follow */
    bool required; /* in the mapping at the path */
    int next;      /* of the walk: the family, also of the word that was found */
    int end;       /* behind the last family to look at; 0: all */
    int step;
} pto_word_t;

/* Step through the words that may follow `path`, from a zeroed one or from the families `next` to `end` that
 * are known to lead there. Families that share a word each yield it. False: there are no more. */
bool pto_word_next(const pto_machine_t *machine, const char *path, pto_word_t *word);

/* Returns whether the mapping at `path`, which leads to the family, must hold its next key. */
bool pto_key_is_required(const pto_family_t *family, const char *path);

/* Returns whether this is the first cell below `path`. */
bool pto_cell_is_first(const pto_machine_t *machine, const pto_cell_t *cell, const char *path);

/* Returns whether the machine has a value of this cell. */
bool pto_cell_known(const pto_cell_t *cell);

/* Copies what a cell holds to the same cell of another machine. Returns false when out of memory. */
bool pto_cell_copy(const pto_cell_t *from, const pto_cell_t *to);

/* Leave it out. */
void pto_cell_clear(const pto_cell_t *cell);

/* The number of a row or a postal that an addend of a price counts. */
typedef enum { PTO_FIELD_NONE, PTO_FIELD_ALPHA, PTO_FIELD_BETA, PTO_FIELD_EXTRA_INPUT } pto_field_t;

const char *pto_field_name(pto_field_t field);

/* How explanations name a number of the cell: as in a file, rows that differ in their bytes alone not told
 * apart. `param` is NULL where the machine lacks it. `text` has room for PTO_PARAM_KEY_MAX. */
void pto_cell_explain(const pto_cell_t *cell, const pto_param_t *param, pto_field_t field, char *text);

/* Returns whether two rows differ in their bytes alone. */
bool pto_row_continues(pto_rows_by_t by, const pto_cost_row_t *before, const pto_cost_row_t *row);

/* Explanations name on_gpu keys of a machine without on_gpu messages, which uses its on_socket costs for
 * them. Map such a key, in place, to the one that is in the machine. */
void pto_param_key_resolve(const pto_machine_t *machine, char key[PTO_PARAM_KEY_MAX]);

/* Returns whether a key or a group is that of the parameter. */
bool pto_param_is_named(const pto_machine_param_t *param, const char *key);

/* PTO_ERR_NOT_FOUND, with the nearest of the parameters' keys and of `more` names. */
pto_status_t pto_param_unknown(const char *key, const pto_machine_param_t *param, int param_count,
                               const char *const *more, int more_count, pto_error_t *err);

/* Give each cost that may be one for all sizes, and is unknown, a row that does not count yet, so that
 * pto_machine_params lists its numbers. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_machine_make_room(pto_machine_t *machine, pto_error_t *err);

/* Let such rows count that have got a cost. */
void pto_machine_use_room(pto_machine_t *machine);

/* Let each range begin where the one before it ends. Returns false where one of them is empty. */
bool pto_cost_join(pto_rows_by_t by, pto_cost_table_t *cost);

#endif
