/* The registry of a machine's parameters: its table, and what follows from a cell's form. */
#include "machine/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_file.h"

#define FAMILY(form_, member, dimensions, ...)                                                               \
    {.form = PTO_FORM_##form_, .offset = offsetof(pto_machine_t, member), __VA_ARGS__},
#define FAMILY_OF_PART(form_, member, ...) FAMILY(form_, member, , __VA_ARGS__)
static const pto_family_t families[] = {PTO_PARAMETER_TABLE(FAMILY, FAMILY_OF_PART)};

enum { FAMILY_COUNT = sizeof families / sizeof *families };

static const size_t size_of_form[] = {[PTO_FORM_WHOLE] = sizeof(int64_t),
                                      [PTO_FORM_VALUE] = sizeof(pto_param_t),
                                      [PTO_FORM_POSTAL] = sizeof(pto_postal_t),
                                      [PTO_FORM_COST] = sizeof(pto_cost_table_t)};

/* --- dimensions ----------------------------------------------------------------------------------------- */

static const int dim_size[PTO_DIM_COUNT] = {
    [PTO_DIM_NONE] = 1,
    [PTO_DIM_SPACE] = PTO_SPACE_COUNT,
    [PTO_DIM_LEVEL] = PTO_LEVEL_COUNT,
    [PTO_DIM_COPY] = PTO_COPY_COUNT,
    [PTO_DIM_REACH] = PTO_REACH_COUNT,
    [PTO_DIM_REMOTE] = PTO_REMOTE_COUNT,
    [PTO_DIM_NCCL] = PTO_NCCL_COUNT,
    [PTO_DIM_POWER] = PTO_POWER_COUNT,
};

static const char *dim_name(pto_dim_kind_t kind, int index) {
    switch (kind) {
    case PTO_DIM_SPACE:
        return pto_space_name((pto_space_t)index);
    case PTO_DIM_LEVEL:
        return pto_level_name((pto_level_t)index);
    case PTO_DIM_COPY:
        return pto_copy_kind_name((pto_copy_kind_t)index);
    case PTO_DIM_REACH:
        return pto_reach_name((pto_reach_t)index);
    case PTO_DIM_REMOTE:
        return pto_remote_name((pto_remote_t)index);
    case PTO_DIM_NCCL:
        return pto_nccl_name((pto_nccl_kind_t)index);
    case PTO_DIM_NONE:
    case PTO_DIM_POWER:
    case PTO_DIM_COUNT:
        break;
    }
    return "";
}

static int extent(const pto_dim_t *dim) { return dim->last - dim->first + 1; }

/* Text that grows to the end of its room. */
typedef struct {
    char *at;
    char *end; /* the last character, which stays NUL */
} growing_t;

static void append(growing_t *growing, const char *text) {
    while (*text && growing->at < growing->end)
        *growing->at++ = *text++;
}

/* cpu, or {cpu,gpu}. */
static void append_range(growing_t *growing, const pto_dim_t *dim) {
    append(growing, extent(dim) > 1 ? "{" : "");
    for (int i = dim->first; i <= dim->last; i++) {
        append(growing, i > dim->first ? "," : "");
        append(growing, dim_name(dim->kind, i));
    }
    append(growing, extent(dim) > 1 ? "}" : "");
}

/* A family's key with the names of these ranges in it. */
static void fill_key(const pto_family_t *family, const pto_dim_t dim[PTO_DIM_MAX], char *text, size_t room) {
    growing_t growing = {text, text + room - 1};
    for (const char *at = family->key; *at; at++)
        if (*at == '*')
            append_range(&growing, dim++);
        else if (*at != '!' && growing.at < growing.end)
            *growing.at++ = *at;
    *growing.at = '\0';
}

/* --- families ------------------------------------------------------------------------------------------- */

int pto_parameter_count(void) { return FAMILY_COUNT; }

static const char *unit_text(const pto_family_t *family) {
    static const char *const unit[] = {
        [PTO_UNIT_NONE] = "count",  [PTO_UNIT_S] = "s", [PTO_UNIT_S_PER_BYTE] = "s/byte",
        [PTO_UNIT_BYTES] = "bytes", [PTO_UNIT_W] = "W", [PTO_UNIT_RATIO] = "ratio"};
    static const char *const rows[] = {[PTO_ROWS_BY_PROTOCOL] = "rows by protocol",
                                       [PTO_ROWS_BY_BYTES] = "postal, or rows by bytes",
                                       [PTO_ROWS_BY_PROCS] = "rows by procs, bytes",
                                       [PTO_ROWS_BY_GPUS] = "rows by gpus, nodes, bytes"};
    if (family->form == PTO_FORM_COST)
        return rows[family->by];
    return family->form == PTO_FORM_POSTAL ? "postal" : unit[family->unit];
}

pto_parameter_t pto_parameter_at(int index) {
    const pto_family_t *family = &families[index];
    pto_parameter_t parameter = {.unit = unit_text(family),
                                 .term = family->term ? family->term : "",
                                 .what = family->what,
                                 .priced = !family->measured_only};
    fill_key(family, family->dim, parameter.key, sizeof parameter.key);
    return parameter;
}

/* --- cells ---------------------------------------------------------------------------------------------- */

static int cell_count(const pto_family_t *family) {
    return extent(&family->dim[0]) * extent(&family->dim[1]);
}

/* The single place in each dimension of the family's cell of that number. */
static void locate(const pto_family_t *family, int number, pto_dim_t place[PTO_DIM_MAX]) {
    const pto_dim_t *dim = family->dim;
    int first = dim[0].first + number / extent(&dim[1]), second = dim[1].first + number % extent(&dim[1]);
    place[0] = (pto_dim_t){dim[0].kind, first, first};
    place[1] = (pto_dim_t){dim[1].kind, second, second};
}

static void *address_of(const pto_machine_t *machine, const pto_family_t *family, const pto_dim_t *place) {
    int index = place[0].first * dim_size[place[1].kind] + place[1].first;
    return (char *)machine + family->offset + (size_t)index * size_of_form[family->form];
}

bool pto_cell_next(const pto_machine_t *machine, pto_cell_t *cell) {
    if (cell->next < FAMILY_COUNT && cell->step == cell_count(&families[cell->next])) {
        cell->next++;
        cell->step = 0;
    }
    if (cell->next == FAMILY_COUNT)
        return false;
    pto_dim_t place[PTO_DIM_MAX];
    cell->family = &families[cell->next];
    locate(cell->family, cell->step++, place);
    cell->at = address_of(machine, cell->family, place);
    fill_key(cell->family, place, cell->key, sizeof cell->key);
    return true;
}

/* The places that an address has in a family's dimensions; false: none. */
static bool place_of(const pto_family_t *family, uintptr_t offset, pto_dim_t place[PTO_DIM_MAX]) {
    const pto_dim_t *dim = family->dim;
    size_t size = size_of_form[family->form];
    size_t bytes = size * (size_t)(dim_size[dim[0].kind] * dim_size[dim[1].kind]);
    if (offset < family->offset || offset >= family->offset + bytes || (offset - family->offset) % size)
        return false;
    int index = (int)((offset - family->offset) / size);
    int first = index / dim_size[dim[1].kind], second = index % dim_size[dim[1].kind];
    place[0] = (pto_dim_t){dim[0].kind, first, first};
    place[1] = (pto_dim_t){dim[1].kind, second, second};
    return first >= dim[0].first && first <= dim[0].last && second >= dim[1].first && second <= dim[1].last;
}

bool pto_cell_at(const pto_machine_t *machine, const void *at, pto_cell_t *cell) {
    for (int i = 0; i < FAMILY_COUNT; i++) {
        pto_dim_t place[PTO_DIM_MAX];
        if (place_of(&families[i], (uintptr_t)at - (uintptr_t)machine, place)) {
            *cell = (pto_cell_t){.family = &families[i], .at = (void *)at};
            fill_key(&families[i], place, cell->key, sizeof cell->key);
            return true;
        }
    }
    return false;
}

/* Whether a family's key, up to its first dimension, may begin with the path or end in it. */
static bool may_lead_to(const char *key, const char *path) {
    for (; *key && *key != '*' && *path; key++)
        if (*key != '!' && *key != *path++)
            return false;
    return true;
}

static bool next_on(const pto_machine_t *machine, const char *path, pto_cell_t *cell) {
    while (cell->next < FAMILY_COUNT && !may_lead_to(families[cell->next].key, path)) {
        cell->next++;
        cell->step = 0;
    }
    return pto_cell_next(machine, cell);
}

bool pto_cell_find(const pto_machine_t *machine, const char *key, pto_cell_t *cell) {
    *cell = (pto_cell_t){0};
    while (next_on(machine, key, cell))
        if (strcmp(cell->key, key) == 0)
            return true;
    return false;
}

const char *pto_cell_below(const pto_machine_t *machine, const char *path, pto_cell_t *cell) {
    size_t length = strlen(path);
    while (next_on(machine, path, cell)) {
        if (length == 0)
            return cell->key;
        if (strncmp(cell->key, path, length) == 0 && cell->key[length] == '.')
            return cell->key + length + 1;
    }
    return NULL;
}

bool pto_key_is_required(const pto_family_t *family, const char *path) {
    const char *at = family->key;
    for (const char *dot = path; *path && dot; dot = strchr(dot + 1, '.'))
        at = strchr(at, '.') + 1;
    return *at == '!';
}

bool pto_cell_is_first(const pto_machine_t *machine, const pto_cell_t *cell, const char *path) {
    pto_cell_t first = {0};
    return pto_cell_below(machine, path, &first) && first.at == cell->at;
}

bool pto_cell_known(const pto_cell_t *cell) {
    switch (cell->family->form) {
    case PTO_FORM_VALUE:
        return pto_param_known(cell->at);
    case PTO_FORM_POSTAL:
        return pto_postal_known(cell->at);
    case PTO_FORM_COST:
        return ((const pto_cost_table_t *)cell->at)->count > 0;
    case PTO_FORM_WHOLE:
        break;
    }
    return true;
}

static bool copy_flagged(pto_postal_t *postal) {
    const char *text = postal->flagged;
    postal->flagged = text ? pto_text_copy(text) : NULL;
    return !text || postal->flagged;
}

/* With the row that does not count, where pto_machine_make_room has made one. */
static bool copy_rows(const pto_cost_table_t *from, pto_cost_table_t *to) {
    bool copied = true;
    for (int i = 0; copied && (i < from->count || (i == 0 && from->row)); i++) {
        pto_cost_row_t *row = pto_cost_add(to);
        copied = row;
        if (row) {
            *row = from->row[i];
            copied = copy_flagged(&row->postal);
        }
    }
    to->count = copied ? from->count : to->count;
    return copied;
}

bool pto_cell_copy(const pto_cell_t *from, const pto_cell_t *to) {
    if (from->family->form == PTO_FORM_COST)
        return copy_rows(from->at, to->at);
    memcpy(to->at, from->at, size_of_form[from->family->form]);
    return from->family->form != PTO_FORM_POSTAL || copy_flagged(to->at);
}

void pto_cell_clear(const pto_cell_t *cell) {
    if (cell->family->form == PTO_FORM_COST)
        pto_cost_fini(cell->at);
    else if (cell->family->form == PTO_FORM_POSTAL)
        free(((pto_postal_t *)cell->at)->flagged);
    memset(cell->at, 0, size_of_form[cell->family->form]);
}

/* --- rows ----------------------------------------------------------------------------------------------- */

pto_cost_row_t *pto_cost_add(pto_cost_table_t *cost) {
    pto_cost_row_t *grown = realloc(cost->row, ((size_t)cost->count + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    cost->row = grown;
    grown[cost->count] = (pto_cost_row_t){.below_bytes = INT64_MAX};
    return &grown[cost->count++];
}

void pto_cost_truncate(pto_cost_table_t *cost, int count) {
    while (cost->count > count)
        free(cost->row[--cost->count].postal.flagged);
}

void pto_cost_fini(pto_cost_table_t *cost) {
    pto_cost_truncate(cost, 0);
    free(cost->row);
    *cost = (pto_cost_table_t){0};
}

void pto_cost_row_name(const pto_cost_row_t *row, char *text) {
    int end = 0;
    text[0] = '\0';
    if (row->gpus > 0)
        end = snprintf(text, PTO_COST_ROW_MAX, "%lld", (long long)row->gpus);
    if (row->nodes > 1)
        end += snprintf(text + end, PTO_COST_ROW_MAX - (size_t)end, ".nodes_%lld", (long long)row->nodes);
    if (row->procs > 0)
        end =
            snprintf(text, PTO_COST_ROW_MAX, "%lld%s", (long long)row->procs, row->strided ? ".strided" : "");
    if (row->from_bytes > 0 || row->below_bytes != INT64_MAX)
        snprintf(text + end, PTO_COST_ROW_MAX - (size_t)end, "%sfrom_%lld", end > 0 ? "." : "",
                 (long long)row->from_bytes);
}

bool pto_row_continues(pto_rows_by_t by, const pto_cost_row_t *before, const pto_cost_row_t *row) {
    if (by == PTO_ROWS_BY_PROCS)
        return before->procs == row->procs && before->strided == row->strided;
    if (by == PTO_ROWS_BY_GPUS)
        return before->gpus == row->gpus && before->nodes == row->nodes;
    return true;
}

bool pto_cost_join(pto_rows_by_t by, pto_cost_table_t *cost) {
    for (int i = 0; i < cost->count; i++) {
        pto_cost_row_t *row = &cost->row[i];
        bool continues = i > 0 && pto_row_continues(by, row - 1, row);
        row->from_bytes = continues ? row[-1].below_bytes : 0;
        if (row->from_bytes >= row->below_bytes)
            return false;
    }
    return true;
}

/* --- names ---------------------------------------------------------------------------------------------- */

const char *pto_field_name(pto_field_t field) {
    static const char *const name[] = {[PTO_FIELD_NONE] = "",
                                       [PTO_FIELD_ALPHA] = "alpha_s",
                                       [PTO_FIELD_BETA] = "beta_s_per_byte",
                                       [PTO_FIELD_EXTRA_INPUT] = "extra_input_s_per_byte"};
    return name[field];
}

/* Where the cell is a cost its numbers are a row's. */
static const pto_cost_row_t *row_of(const pto_cell_t *cell, const pto_param_t *param, pto_field_t field) {
    static const size_t offset[] = {[PTO_FIELD_ALPHA] = offsetof(pto_cost_row_t, postal.alpha_s),
                                    [PTO_FIELD_BETA] = offsetof(pto_cost_row_t, postal.beta_s_per_byte),
                                    [PTO_FIELD_EXTRA_INPUT] =
                                        offsetof(pto_cost_row_t, extra_input_s_per_byte)};
    bool has_row = param && cell->family->form == PTO_FORM_COST;
    return has_row ? (const pto_cost_row_t *)((const char *)param - offset[field]) : NULL;
}

static void name_row(const pto_cell_t *cell, const pto_cost_row_t *row, char *text) {
    if (row && cell->family->by == PTO_ROWS_BY_PROTOCOL)
        snprintf(text, PTO_COST_ROW_MAX, "%s", pto_protocol_name(row->protocol));
    else if (row && cell->family->by != PTO_ROWS_BY_BYTES)
        pto_cost_row_name(row, text);
}

void pto_cell_explain(const pto_cell_t *cell, const pto_param_t *param, pto_field_t field, char *text) {
    char row_name[PTO_COST_ROW_MAX] = "";
    const char *leaf = pto_field_name(field);
    name_row(cell, row_of(cell, param, field), row_name);
    int end = snprintf(text, PTO_PARAM_KEY_MAX, "%s%s%s", cell->key, *row_name ? "." : "", row_name);
    if (*leaf && end < PTO_PARAM_KEY_MAX)
        snprintf(text + end, (size_t)(PTO_PARAM_KEY_MAX - end), ".%s", leaf);
}
