/* The registry of a machine's parameters (registry.h): families as data, iterations over their cells and over
 * the words of their keys, and operations on cells by their form. A member of pto_machine_t has up to two
 * dimensions; the * of a family's key stand for the names of these dimensions, in order.
 *
 * For example, the member messages[space][level] is a family with the key "!messages.*.*". One of its cells
 * is messages.cpu.off_node. A family may cover a part of its member: a cell's `index` counts in the whole
 * array of the member, while iterations count within the family's dimensions. */
#include "machine/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/names.h"
#include "base/text.h"
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

static PTO_NAME_LIST(space_at, pto_space_t, 0, PTO_SPACE_COUNT, pto_space_name);
static PTO_NAME_LIST(level_at, pto_level_t, 0, PTO_LEVEL_COUNT, pto_level_name);
static PTO_NAME_LIST(copy_at, pto_copy_kind_t, 0, PTO_COPY_COUNT, pto_copy_kind_name);
static PTO_NAME_LIST(reach_at, pto_reach_t, 0, PTO_REACH_COUNT, pto_reach_name);
static PTO_NAME_LIST(remote_at, pto_remote_t, 0, PTO_REMOTE_COUNT, pto_remote_name);
static PTO_NAME_LIST(nccl_at, pto_nccl_kind_t, 0, PTO_NCCL_COUNT, pto_nccl_name);
static PTO_NAME_LIST(algorithm_at, pto_nccl_algorithm_t, 0, PTO_NCCL_ALGORITHM_COUNT,
                     pto_nccl_algorithm_name);
static PTO_NAME_LIST(protocol_at, pto_nccl_protocol_t, 0, PTO_NCCL_PROTOCOL_COUNT, pto_nccl_protocol_name);

static const struct {
    int size;
    pto_name_at_t name_at; /* NULL: no names */
} dims[PTO_DIM_COUNT] = {
    [PTO_DIM_NONE] = {1, NULL},
    [PTO_DIM_SPACE] = {PTO_SPACE_COUNT, space_at},
    [PTO_DIM_LEVEL] = {PTO_LEVEL_COUNT, level_at},
    [PTO_DIM_COPY] = {PTO_COPY_COUNT, copy_at},
    [PTO_DIM_REACH] = {PTO_REACH_COUNT, reach_at},
    [PTO_DIM_REMOTE] = {PTO_REMOTE_COUNT, remote_at},
    [PTO_DIM_NCCL] = {PTO_NCCL_COUNT, nccl_at},
    [PTO_DIM_NCCL_ALGORITHM] = {PTO_NCCL_ALGORITHM_COUNT, algorithm_at},
    [PTO_DIM_NCCL_PROTOCOL] = {PTO_NCCL_PROTOCOL_COUNT, protocol_at},
    [PTO_DIM_POWER] = {PTO_POWER_COUNT, NULL},
};

static const char *dim_name(pto_dim_kind_t kind, int index) {
    return dims[kind].name_at ? dims[kind].name_at(index) : "";
}

static int extent(const pto_dim_t *dim) { return dim->last - dim->first + 1; }

/* Appends the names of a dimension: cpu, or {cpu,gpu}. */
static void append_range(pto_line_t *line, const pto_dim_t *dim) {
    pto_line_add(line, "%s", extent(dim) > 1 ? "{" : "");
    for (int i = dim->first; i <= dim->last; i++) {
        pto_line_add(line, "%s", i > dim->first ? "," : "");
        pto_line_add(line, "%s", dim_name(dim->kind, i));
    }
    pto_line_add(line, "%s", extent(dim) > 1 ? "}" : "");
}

/* Appends a family's key with the names of these dimensions in place of *. */
static void append_key(pto_line_t *line, const pto_family_t *family, const pto_dim_t dim[PTO_DIM_MAX]) {
    for (const char *next = family->key; *next; next++)
        if (*next == '*')
            append_range(line, dim++);
        else if (*next != '!')
            pto_line_add(line, "%c", *next);
}

static void append_word(pto_line_t *line, const char *word) {
    pto_line_add(line, "%s%s", *word ? "." : "", word);
}

int pto_parameter_count(void) { return FAMILY_COUNT; }

static const char *unit_text(const pto_family_t *family) {
    static const char *const unit[] = {
        [PTO_UNIT_NONE] = "count",  [PTO_UNIT_S] = "s", [PTO_UNIT_S_PER_BYTE] = "s/byte",
        [PTO_UNIT_BYTES] = "bytes", [PTO_UNIT_W] = "W", [PTO_UNIT_RATIO] = "ratio"};
    static const char *const rows[] = {[PTO_ROWS_BY_PROTOCOL] = "rows by protocol",
                                       [PTO_ROWS_BY_BYTES] = "postal, or rows by bytes",
                                       [PTO_ROWS_BY_PROCS] = "rows by procs, bytes",
                                       [PTO_ROWS_BY_GPUS] = "rows by gpus, nodes, bytes",
                                       [PTO_ROWS_BY_NODE_GPUS] = "rows by gpus, bytes"};
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
    pto_line_t line = {.text = parameter.key, .size = sizeof parameter.key};
    append_key(&line, family, family->dim);
    return parameter;
}

/* Restricts a dimension to one name; false: it has no such name. */
static bool narrow(pto_dim_t *dim, const char *name, size_t length) {
    for (int i = dim->first; i <= dim->last; i++) {
        const char *known = dim_name(dim->kind, i);
        if (strncmp(known, name, length) == 0 && known[length] == '\0') {
            dim->first = dim->last = i;
            return true;
        }
    }
    return false;
}

/* A path matched with the beginning of a family's key, such as messages.cpu with "!messages.*.*": the rest is
 * "*", one dimension is passed, and dim[0] is restricted to cpu. */
typedef struct {
    const char *rest;           /* of the key after the path; empty if the path is the whole key */
    int passed;                 /* number of dimensions that the path names */
    pto_dim_t dim[PTO_DIM_MAX]; /* restricted to these names */
} match_t;

/* Returns the length of the first word of a key or a path, up to a dot. */
static size_t word_length(const char *text) { return strcspn(text, "."); }

/* Matches a path, which has names, with a key, which may have * and !. Returns false if the path is not the
 * beginning of the key, up to a dot or its end. */
static bool match_path(const pto_family_t *family, const char *path, match_t *match) {
    const char *key = family->key;
    if (*path && key[*key == '!'] != *path) /* a quick check of the first letter */
        return false;
    match->passed = 0;
    for (; *key && *path; key++)
        if (*key == '*') {
            size_t length = word_length(path);
            pto_dim_t *dim = &match->dim[match->passed];
            *dim = family->dim[match->passed++];
            if (!narrow(dim, path, length))
                return false;
            path += length;
        } else if (*key != '!' && *key != *path++)
            return false;
    if (*path || (key > family->key && *key != '\0' && *key != '.'))
        return false;
    memcpy(match->dim + match->passed, family->dim + match->passed,
           (size_t)(PTO_DIM_MAX - match->passed) * sizeof *match->dim);
    match->rest = *key == '.' ? key + 1 : key;
    return true;
}

/* Sets `cell` to cell `number` of those of a family within `dim`. The second dimension varies fastest. */
static void set_cell(const pto_machine_t *machine, const pto_family_t *family,
                     const pto_dim_t dim[PTO_DIM_MAX], int number, pto_cell_t *cell) {
    int first = dim[0].first + number / extent(&dim[1]), second = dim[1].first + number % extent(&dim[1]);
    cell->family = family;
    cell->index = first * dims[dim[1].kind].size + second;
    cell->at = (char *)machine + family->offset + (size_t)cell->index * size_of_form[family->form];
}

bool pto_cell_next(const pto_machine_t *machine, pto_cell_t *cell) {
    for (; cell->next < FAMILY_COUNT; cell->next++, cell->step = 0) {
        const pto_family_t *family = &families[cell->next];
        if (cell->step < extent(&family->dim[0]) * extent(&family->dim[1])) {
            set_cell(machine, family, family->dim, cell->step++, cell);
            return true;
        }
    }
    return false;
}

/* The inverse of a cell's index: sets `place` to the position of `index` in each dimension of the member. */
static void locate(const pto_family_t *family, int index, pto_dim_t place[PTO_DIM_MAX]) {
    const pto_dim_t *dim = family->dim;
    int first = index / dims[dim[1].kind].size, second = index % dims[dim[1].kind].size;
    place[0] = (pto_dim_t){dim[0].kind, first, first};
    place[1] = (pto_dim_t){dim[1].kind, second, second};
}

static void append_cell(pto_line_t *line, const pto_cell_t *cell) {
    pto_dim_t place[PTO_DIM_MAX];
    locate(cell->family, cell->index, place);
    append_key(line, cell->family, place);
}

void pto_cell_key(const pto_cell_t *cell, char *key) {
    pto_line_t line = {.text = key, .size = PTO_PARAM_KEY_MAX};
    append_cell(&line, cell);
}

/* Returns the index of the cell at an offset of the machine; -1: it is none of the family's cells. */
static int index_of(const pto_family_t *family, uintptr_t offset) {
    const pto_dim_t *dim = family->dim;
    size_t size = size_of_form[family->form];
    size_t bytes = size * (size_t)(dims[dim[0].kind].size * dims[dim[1].kind].size);
    if (offset < family->offset || offset >= family->offset + bytes || (offset - family->offset) % size)
        return -1;
    pto_dim_t place[PTO_DIM_MAX];
    int index = (int)((offset - family->offset) / size);
    locate(family, index, place);
    bool covered = place[0].first >= dim[0].first && place[0].first <= dim[0].last &&
                   place[1].first >= dim[1].first && place[1].first <= dim[1].last;
    return covered ? index : -1;
}

bool pto_cell_at(const pto_machine_t *machine, const void *at, pto_cell_t *cell) {
    for (int i = 0; i < FAMILY_COUNT; i++) {
        int index = index_of(&families[i], (uintptr_t)at - (uintptr_t)machine);
        if (index >= 0) {
            *cell = (pto_cell_t){.family = &families[i], .at = (void *)at, .index = index};
            return true;
        }
    }
    return false;
}

bool pto_word_next(const pto_machine_t *machine, const char *path, pto_word_t *word) {
    int end = word->end > 0 ? word->end : FAMILY_COUNT;
    for (; word->next < end; word->next++, word->step = 0) {
        const pto_family_t *family = &families[word->next];
        match_t found;
        if (!match_path(family, path, &found) || !*found.rest)
            continue;
        pto_dim_t *dim = &found.dim[found.passed];
        const char *text = found.rest + (*found.rest == '!');
        bool is_dim = *text == '*'; /* the word is each name of the dimension in turn, by `step` */
        if (word->step >= (is_dim ? extent(dim) : 1))
            continue;
        if (is_dim)
            dim->first = dim->last = dim->first + word->step;
        word->step++;
        pto_cell_t cell;
        set_cell(machine, family, found.dim, 0, &cell);
        word->family = family;
        word->at = text[word_length(text)] ? NULL : cell.at;
        word->required = *found.rest == '!';
        word->text = is_dim ? dim_name(dim->kind, dim->first) : text;
        word->length = word_length(word->text);
        return true;
    }
    return false;
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
    return pto_text_copy_any(postal->flagged, &postal->flagged);
}

/* Also copies the placeholder of pto_machine_make_room. */
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

pto_cost_row_t *pto_cost_add(pto_cost_table_t *cost) {
    if (!PTO_EXTEND(cost->row, cost->count))
        return NULL;
    cost->row[cost->count] = (pto_cost_row_t){.below_bytes = INT64_MAX};
    return &cost->row[cost->count++];
}

void pto_cost_truncate(pto_cost_table_t *cost, int count) {
    while (cost->count > count)
        free(cost->row[--cost->count].postal.flagged);
    if (count > 0)
        return;
    free(cost->row); /* a row that the count does not include would be a placeholder */
    cost->row = NULL;
}

void pto_cost_fini(pto_cost_table_t *cost) { pto_cost_truncate(cost, 0); }

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
    if (pto_rows_have_gpus(by))
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

const char *pto_field_name(pto_field_t field) {
    static const char *const name[] = {[PTO_FIELD_NONE] = "",
                                       [PTO_FIELD_ALPHA] = "alpha_s",
                                       [PTO_FIELD_BETA] = "beta_s_per_byte",
                                       [PTO_FIELD_EXTRA_INPUT] = "extra_input_s_per_byte"};
    return name[field];
}

/* Returns the row that contains this number; NULL if the cell is not a cost. */
static const pto_cost_row_t *row_of(const pto_cell_t *cell, const pto_param_t *param, pto_field_t field) {
    static const size_t offset[] = {[PTO_FIELD_ALPHA] = offsetof(pto_cost_row_t, postal.alpha_s),
                                    [PTO_FIELD_BETA] = offsetof(pto_cost_row_t, postal.beta_s_per_byte),
                                    [PTO_FIELD_EXTRA_INPUT] =
                                        offsetof(pto_cost_row_t, extra_input_s_per_byte)};
    bool has_row = param && cell->family->form == PTO_FORM_COST;
    return has_row ? (const pto_cost_row_t *)((const char *)param - offset[field]) : NULL;
}

static void append_row_name(pto_line_t *line, const pto_cell_t *cell, const pto_cost_row_t *row) {
    char name[PTO_COST_ROW_MAX] = "";
    if (row && cell->family->by == PTO_ROWS_BY_PROTOCOL)
        append_word(line, pto_protocol_name(row->protocol));
    else if (row && cell->family->by != PTO_ROWS_BY_BYTES)
        pto_cost_row_name(row, name);
    append_word(line, name);
}

void pto_cell_explain(const pto_cell_t *cell, const pto_param_t *param, pto_field_t field, char *text) {
    pto_line_t line = {.text = text, .size = PTO_PARAM_KEY_MAX};
    append_cell(&line, cell);
    append_row_name(&line, cell, row_of(cell, param, field));
    append_word(&line, pto_field_name(field));
}
