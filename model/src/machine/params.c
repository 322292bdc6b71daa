/* Lists a machine's numbers by key (pto_machine_params), for what-ifs, sensitivities and lookups. A key is
 * the path in the machine file, with dots between its levels. */
#include "machine/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/suggest.h"

enum { KNOWN_MAX = 512 };

typedef struct {
    pto_machine_param_t *param;
    int count;
    size_t capacity;
    bool failed;
} list_t;

/* The path of a number in the file: base, row and leaf, joined by dots. `row` is empty unless there are
 * several rows; a number's `group` is its path without the row. */
typedef struct {
    const char *base;
    const char *row;
} place_t;

/* Returns a new entry; one that is not in the list if out of memory, which the list records. */
static pto_machine_param_t *add(list_t *list, place_t place, const char *leaf) {
    static pto_machine_param_t nowhere;
    list->failed = list->failed || !PTO_RESERVE(list->param, list->capacity, list->count + 1);
    if (list->failed)
        return &nowhere;
    pto_machine_param_t *param = &list->param[list->count++];
    const char *dot = *leaf ? "." : "";
    *param = (pto_machine_param_t){0};
    snprintf(param->key, sizeof param->key, "%s%s%s%s%s", place.base, *place.row ? "." : "", place.row, dot,
             leaf);
    snprintf(param->group, sizeof param->group, "%s%s%s", place.base, dot, leaf);
    return param;
}

static pto_machine_param_t *add_value(list_t *list, place_t place, const char *leaf, pto_param_t *value,
                                      pto_unit_t unit) {
    pto_machine_param_t *param = add(list, place, leaf);
    param->param = value;
    param->unit = unit;
    return param;
}

static void add_postal(list_t *list, place_t place, pto_postal_t *postal) {
    pto_param_t *alpha = &postal->alpha_s, *beta = &postal->beta_s_per_byte;
    pto_machine_param_t *param = add_value(list, place, pto_field_name(PTO_FIELD_ALPHA), alpha, PTO_UNIT_S);
    param->partner = beta;
    param->flagged = postal->flagged;
    param = add_value(list, place, pto_field_name(PTO_FIELD_BETA), beta, PTO_UNIT_S_PER_BYTE);
    param->partner = alpha;
    param->flagged = postal->flagged;
}

static void add_row(list_t *list, const pto_cell_t *cell, const char *key, pto_cost_row_t *row) {
    char base[PTO_PARAM_KEY_MAX], row_name[PTO_COST_ROW_MAX] = "";
    bool by_protocol = cell->family->by == PTO_ROWS_BY_PROTOCOL;
    snprintf(base, sizeof base, "%.40s%s%s", key, by_protocol ? "." : "",
             by_protocol ? pto_protocol_name(row->protocol) : "");
    if (!by_protocol)
        pto_cost_row_name(row, row_name);
    place_t place = {base, row_name};
    add_postal(list, place, &row->postal);
    if (cell->family->has_extra_input)
        add_value(list, place, pto_field_name(PTO_FIELD_EXTRA_INPUT), &row->extra_input_s_per_byte,
                  PTO_UNIT_S_PER_BYTE);
    if (row->below_bytes != INT64_MAX)
        add(list, place, "below_bytes")->number = &row->below_bytes;
}

/* Adds all rows of a cost. If it has none, but a placeholder (pto_machine_make_room), adds the placeholder.
 */
static void add_rows(list_t *list, const pto_cell_t *cell, const char *key) {
    const pto_cost_table_t *cost = cell->at;
    for (int i = 0; i < cost->count || (i == 0 && cost->row); i++)
        add_row(list, cell, key, &cost->row[i]);
}

static void add_cell(list_t *list, const pto_cell_t *cell) {
    char key[PTO_PARAM_KEY_MAX];
    pto_cell_key(cell, key);
    switch (cell->family->form) {
    case PTO_FORM_WHOLE:
        add(list, (place_t){key, ""}, "")->number = cell->at;
        break;
    case PTO_FORM_VALUE:
        add_value(list, (place_t){key, ""}, "", cell->at, cell->family->unit);
        break;
    case PTO_FORM_POSTAL:
        add_postal(list, (place_t){key, ""}, cell->at);
        break;
    case PTO_FORM_COST:
        add_rows(list, cell, key);
        break;
    }
}

pto_status_t pto_machine_params(const pto_machine_t *machine, pto_machine_param_t **param, int *param_count,
                                pto_error_t *err) {
    list_t list = {0};
    for (pto_cell_t cell = {0}; pto_cell_next(machine, &cell);) {
        int before = list.count;
        add_cell(&list, &cell);
        for (int i = before; i < list.count; i++)
            list.param[i].measured_only = cell.family->measured_only;
    }
    if (list.failed) {
        free(list.param);
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a machine's parameters");
    }
    *param = list.param;
    *param_count = list.count;
    return PTO_OK;
}

bool pto_param_is_named(const pto_machine_param_t *param, const char *key) {
    return strcmp(param->key, key) == 0 || strcmp(param->group, key) == 0;
}

void pto_param_key_resolve(const pto_machine_t *machine, char key[PTO_PARAM_KEY_MAX]) {
    for (int space = 0; space < PTO_SPACE_COUNT; space++) {
        char head[PTO_PARAM_KEY_MAX], rest[PTO_PARAM_KEY_MAX];
        int length = snprintf(head, sizeof head, "messages.%s.on_gpu.", pto_space_name((pto_space_t)space));
        if (machine->messages[space][PTO_LEVEL_ON_GPU].count > 0 || strncmp(key, head, (size_t)length) != 0)
            continue;
        memcpy(rest, key + length, strlen(key) - (size_t)length + 1);
        length =
            snprintf(key, PTO_PARAM_KEY_MAX, "messages.%s.on_socket.", pto_space_name((pto_space_t)space));
        snprintf(key + length, PTO_PARAM_KEY_MAX - (size_t)length, "%s", rest);
    }
}

pto_status_t pto_param_unknown(const char *key, const pto_machine_param_t *param, int param_count,
                               const char *const *more, int more_count, pto_error_t *err) {
    const char *known[KNOWN_MAX];
    int listed = 0;
    for (int i = 0; i < more_count; i++)
        known[listed++] = more[i];
    for (int i = 0; i < param_count && listed + 2 <= KNOWN_MAX; i++) {
        known[listed++] = param[i].key;
        known[listed++] = param[i].group;
    }
    const char *near = pto_suggest(key, known, listed);
    if (near)
        return pto_error_set(err, PTO_ERR_NOT_FOUND, "unknown parameter '%s'; did you mean '%s'?", key, near);
    return pto_error_set(err, PTO_ERR_NOT_FOUND,
                         "unknown parameter '%s'; `portolan predict --explain` names those that matter", key);
}

pto_status_t pto_machine_get(const pto_machine_t *machine, const char *key, double *value, pto_error_t *err) {
    char resolved[PTO_PARAM_KEY_MAX];
    snprintf(resolved, sizeof resolved, "%s", key);
    pto_param_key_resolve(machine, resolved);
    pto_machine_param_t *param = NULL, *found = NULL;
    int count = 0, rows = 0;
    pto_status_t status = pto_machine_params(machine, &param, &count, err);
    if (status != PTO_OK)
        return status;
    for (int i = 0; i < count; i++)
        if (pto_param_is_named(&param[i], resolved)) {
            found = &param[i];
            rows++;
        }
    if (!found)
        status = pto_param_unknown(key, param, count, NULL, 0, err);
    else if (rows > 1)
        status = pto_error_set(err, PTO_ERR_RANGE, "%s names %d rows; name a single one, such as %s", key,
                               rows, found->key);
    else if (found->param && !pto_param_known(found->param))
        status = pto_error_set(err, PTO_ERR_NOT_FOUND, "the machine has no %s", key);
    else
        *value = found->param ? found->param->value : (double)*found->number;
    free(param);
    return status;
}

/* Returns the cost if a single row may be its value for all sizes; else NULL. */
static pto_cost_table_t *cost_of_all_sizes(const pto_cell_t *cell) {
    bool may_be_one = cell->family->form == PTO_FORM_COST && cell->family->by == PTO_ROWS_BY_BYTES;
    return may_be_one ? cell->at : NULL;
}

pto_status_t pto_machine_make_room(pto_machine_t *machine, pto_error_t *err) {
    for (pto_cell_t cell = {0}; pto_cell_next(machine, &cell);) {
        pto_cost_table_t *cost = cost_of_all_sizes(&cell);
        if (!cost || cost->row)
            continue;
        if (!pto_cost_add(cost))
            return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a machine's parameters");
        cost->count = 0;
    }
    return PTO_OK;
}

void pto_machine_use_room(pto_machine_t *machine) {
    for (pto_cell_t cell = {0}; pto_cell_next(machine, &cell);) {
        pto_cost_table_t *cost = cost_of_all_sizes(&cell);
        if (cost && cost->count == 0 && cost->row && pto_postal_known(&cost->row->postal))
            cost->count = 1;
    }
}
