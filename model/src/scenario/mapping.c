/* Placements (pto_mapping_t): which process of the application is at which place (node, GPU, core) of the
 * layout. A placement is read from a file or made by a mapper, bound to a layout, and written. An owner is a
 * place that holds data; owners are numbered in the order of their places. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/text.h"
#include "base/text_file.h"
#include "formats/csv_table.h"
#include "portolan/scenario.h"

enum { FILE_BYTES_MAX = 256 << 20 };

typedef struct {
    int64_t process;
    pto_placed_t at; /* the place and the line */
} row_t;

typedef struct {
    int64_t count;
    size_t capacity;
    row_t *row;
} rows_t;

#define SETS(name) .member = offsetof(row_t, name)

static const pto_csv_column_t columns[] = {
    {"process", pto_csv_whole, SETS(process)},
    {"node", pto_csv_whole, SETS(at.place.node)},
    {"gpu", pto_csv_whole, SETS(at.place.gpu)},
    {"core", pto_csv_whole, SETS(at.place.core), PTO_CSV_OPTIONAL},
};

static pto_status_t begin_row(const pto_csv_t *csv, void **row) {
    rows_t *rows = csv->table;
    if (!PTO_RESERVE(rows->row, rows->capacity, rows->count + 1))
        return pto_error_set(csv->err, PTO_ERR_MEMORY, "out of memory for a placement");
    row_t *added = &rows->row[rows->count++];
    *added = (row_t){.at.line = csv->line};
    *row = added;
    return PTO_OK;
}

static const pto_csv_format_t format = {.what = "placements",
                                        .advice = "keep them apart",
                                        .column = columns,
                                        .column_count = sizeof columns / sizeof *columns,
                                        .begin_row = begin_row};

/* Sets `at`, by process, from the rows. Each process must have one row. */
static pto_status_t sort_rows(const rows_t *rows, const char *path, pto_placed_t *at, pto_error_t *err) {
    for (int64_t i = 0; i < rows->count; i++) {
        const row_t *row = &rows->row[i];
        if (row->process >= rows->count)
            return pto_error_set_at(err, PTO_ERR_RANGE, path, row->at.line, 1,
                                    "process %lld of %lld: the processes count from 0, without gaps",
                                    (long long)row->process, (long long)rows->count);
        if (at[row->process].line > 0)
            return pto_error_set_at(err, PTO_ERR_RANGE, path, row->at.line, 1,
                                    "process %lld already has a place on line %d", (long long)row->process,
                                    at[row->process].line);
        at[row->process] = row->at;
    }
    return PTO_OK;
}

static pto_status_t take_rows(const rows_t *rows, const char *path, pto_mapping_t *mapping,
                              pto_error_t *err) {
    if (rows->count == 0)
        return pto_error_set_at(err, PTO_ERR_SYNTAX, path, 1, 1, "the file places no process");
    pto_mapping_t created = {.count = rows->count,
                             .at = calloc((size_t)rows->count, sizeof *created.at),
                             .path = pto_text_copy(path)};
    pto_status_t status = created.at && created.path ? sort_rows(rows, path, created.at, err)
                                                     : pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    if (status == PTO_OK)
        *mapping = created;
    else
        pto_mapping_fini(&created);
    return status;
}

pto_status_t pto_mapping_parse(const char *text, size_t text_size, const char *path, pto_mapping_t *mapping,
                               pto_error_t *err) {
    rows_t rows = {.count = 0};
    pto_csv_origin_t origin = {.file_count = 0};
    pto_status_t status = pto_csv_parse(&format, text, text_size, path, &origin, &rows, err);
    pto_csv_origin_fini(&origin);
    if (status == PTO_OK)
        status = take_rows(&rows, path, mapping, err);
    free(rows.row);
    return status;
}

PTO_TEXT_READER(pto_mapping_read, pto_mapping_parse, pto_mapping_t *, mapping, FILE_BYTES_MAX);

/* Returns the layout of the owners alone: its rank numbers are the numbers of the owners. */
static pto_layout_t owners_of(const pto_layout_t *layout) {
    pto_layout_t owners = *layout;
    owners.procs_per_gpu = layout->owners_per_gpu;
    return owners;
}

/* Enters a process at its place in mapping->process, which has -1 for free places. */
static pto_status_t place_process(const pto_layout_t *layout, int64_t process, pto_mapping_t *mapping,
                                  pto_error_t *err) {
    const pto_rank_t place = mapping->at[process].place;
    const pto_layout_t owners = owners_of(layout);
    const int line = mapping->at[process].line;
    const struct {
        int64_t value, count;
        const char *name;
    } part[] = {{place.node, layout->nodes, "node"},
                {place.gpu, layout->gpus_per_node, "GPU"},
                {place.core, layout->owners_per_gpu, "core"}};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        if (part[i].value >= 0 && part[i].value < part[i].count)
            continue;
        return pto_error_set_at(err, PTO_ERR_RANGE, mapping->path, line, 1,
                                "process %lld: there is no %s %lld that holds data, only 0 to %lld",
                                (long long)process, part[i].name, (long long)part[i].value,
                                (long long)part[i].count - 1);
    }
    int64_t *occupant = &mapping->process[pto_layout_number(&owners, place)];
    if (*occupant >= 0)
        return pto_error_set_at(
            err, PTO_ERR_RANGE, mapping->path, line, 1,
            "process %lld: node %lld, GPU %lld, core %lld is already the place of process %lld",
            (long long)process, (long long)place.node, (long long)place.gpu, (long long)place.core,
            (long long)*occupant);
    *occupant = process;
    return PTO_OK;
}

pto_status_t pto_mapping_bind(pto_mapping_t *mapping, const pto_layout_t *layout, pto_error_t *err) {
    int64_t owners = pto_layout_owner_count(layout);
    if (mapping->count == 0)
        return PTO_OK;
    if (mapping->count != owners)
        return pto_error_set_at(err, PTO_ERR_RANGE, mapping->path, mapping->at[mapping->count - 1].line, 1,
                                "%lld processes for the %lld places of the layout", (long long)mapping->count,
                                (long long)owners);
    free(mapping->process);
    mapping->process = malloc((size_t)owners * sizeof *mapping->process);
    if (!mapping->process)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a placement");
    for (int64_t owner = 0; owner < owners; owner++)
        mapping->process[owner] = -1;
    pto_status_t status = PTO_OK;
    for (int64_t process = 0; process < mapping->count && status == PTO_OK; process++)
        status = place_process(layout, process, mapping, err);
    return status;
}

pto_status_t pto_mapping_make(const pto_layout_t *layout, const int64_t *owner, pto_mapping_t *mapping,
                              pto_error_t *err) {
    const pto_layout_t owners = owners_of(layout);
    pto_mapping_t created = {.count = pto_layout_owner_count(layout)};
    created.at = calloc((size_t)created.count, sizeof *created.at);
    if (!created.at)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a placement");
    for (int64_t process = 0; process < created.count; process++)
        created.at[process].place = pto_layout_rank(&owners, owner[process]);
    pto_status_t status = pto_mapping_bind(&created, layout, err);
    if (status == PTO_OK)
        *mapping = created;
    else
        pto_mapping_fini(&created);
    return status;
}

void pto_mapping_ranks(const pto_mapping_t *mapping, const pto_layout_t *layout, int64_t *rank) {
    const pto_layout_t owners = owners_of(layout);
    int64_t count = pto_layout_owner_count(layout), next = count;
    for (int64_t owner = 0; owner < count; owner++)
        rank[mapping->count > 0 ? mapping->process[owner] : owner] =
            pto_layout_number(layout, pto_layout_rank(&owners, owner));
    for (int64_t r = 0; r < pto_layout_rank_count(layout); r++)
        if (pto_layout_rank(layout, r).core >= layout->owners_per_gpu)
            rank[next++] = r;
}

pto_status_t pto_mapping_write(const pto_mapping_t *mapping, char **text, pto_error_t *err) {
    pto_text_t table = {0};
    pto_text_add(&table, "process,node,gpu,core\n");
    for (int64_t process = 0; process < mapping->count; process++) {
        pto_rank_t place = mapping->at[process].place;
        pto_text_add(&table, "%lld,%lld,%lld,%lld\n", (long long)process, (long long)place.node,
                     (long long)place.gpu, (long long)place.core);
    }
    return pto_text_take(&table, "a placement", text, err);
}

void pto_mapping_fini(pto_mapping_t *mapping) {
    free(mapping->at);
    free(mapping->process);
    free(mapping->path);
    *mapping = (pto_mapping_t){.count = 0};
}
