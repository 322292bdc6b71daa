/* Reads collectives.csv, timings of whole collectives, one per row, which are scored and fitted. csv_table.c
 * splits the text; this file knows what the columns mean. */
#include "portolan/samples.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/names.h"
#include "base/text_file.h"
#include "formats/csv_table.h"
#include "scenario/words.h"

/* Returns the index of a name, which is added if it is new; -1: there is no room for it. */
static int name_of(pto_collectives_t *collectives, pto_text_span_t field) {
    int found = pto_span_find(field, (const char *const *)collectives->name, collectives->name_count);
    if (found >= 0 || collectives->name_count == PTO_COLLECTIVES_NAME_MAX)
        return found;
    if (!PTO_EXTEND(collectives->name, collectives->name_count))
        return -1;
    collectives->name[collectives->name_count] = strndup(field.text, field.size);
    return collectives->name[collectives->name_count] ? collectives->name_count++ : -1;
}

static pto_status_t read_name(const pto_csv_t *csv, pto_text_span_t field, void *name) {
    pto_collectives_t *collectives = csv->table;
    int before = collectives->name_count, found = name_of(collectives, field);
    *(int16_t *)name = (int16_t)found;
    if (found >= before)
        return pto_csv_check_name(csv, collectives->name[found]);
    if (found >= 0)
        return PTO_OK;
    if (collectives->name_count < PTO_COLLECTIVES_NAME_MAX)
        return pto_error_set(csv->err, PTO_ERR_MEMORY, "out of memory for names");
    return pto_csv_bad_field(csv, field, PTO_ERR_TOO_LARGE, "one of the first 256 different names");
}

static pto_status_t read_strategy(const pto_csv_t *csv, pto_text_span_t field, void *name) {
    return field.size > 0 ? read_name(csv, field, name)
                          : pto_csv_bad_field(csv, field, PTO_ERR_TYPE, "a name");
}

/* The enumerators of a collective, an implementation or a level are in the order of their words. */
static pto_status_t read_enumerator(const pto_csv_t *csv, pto_text_span_t field, void *enumerator) {
    return pto_csv_word(csv, field, enumerator);
}

_Static_assert(sizeof(pto_collective_t) == sizeof(int) && sizeof(pto_implementation_t) == sizeof(int) &&
                   sizeof(pto_level_t) == sizeof(int),
               "read_enumerator sets an int");

/* Sets `*flag` to whether the field is the second of its column's two words. */
static pto_status_t read_flag(const pto_csv_t *csv, pto_text_span_t field, void *flag) {
    int found = 0;
    pto_status_t status = pto_csv_word(csv, field, &found);
    *(bool *)flag = found == 1;
    return status;
}

static PTO_WORD_LIST(memory_at, "gpu", "cpu");
static PTO_WORD_LIST(answer_at, "no", "yes");

static pto_status_t read_grid(const pto_csv_t *csv, pto_text_span_t field, void *grid) {
    pto_error_t fault = {.status = PTO_OK};
    pto_status_t status = pto_halo_parse(field.text, field.size, grid, &fault);
    return status == PTO_OK ? PTO_OK
                            : pto_error_set_at(csv->err, status, csv->path, csv->line, csv->place, "grid: %s",
                                               fault.message);
}

#define SETS(name) .member = offsetof(pto_collective_row_t, name)

static const pto_csv_column_t columns[] = {
    {"collective", read_enumerator, SETS(collective), .word_at = pto_collective_at,
     .wanted = "a known collective; `portolan list` shows them"},
    {"implementation", read_enumerator, SETS(implementation), .word_at = pto_implementation_at,
     .wanted = "library or isend_irecv"},
    {"strategy", read_strategy, SETS(strategy)},
    {"nodes", pto_csv_count, SETS(nodes), .least = 1},
    {"gpus_per_node", pto_csv_count, SETS(gpus_per_node), .least = 1},
    {"procs_per_gpu", pto_csv_count, SETS(procs_per_gpu), .least = 1},
    {"bytes", pto_csv_whole, SETS(bytes)},
    {"run", pto_csv_count, SETS(run)},
    {"seconds", pto_csv_seconds, SETS(seconds)},
    {"owners_per_gpu", pto_csv_count, SETS(owners_per_gpu), PTO_CSV_OPTIONAL, .least = 1},
    {"algorithm", read_name, SETS(algorithm), PTO_CSV_MAY_BE_EMPTY},
    {"joules", pto_csv_joules, SETS(joules), PTO_CSV_MAY_BE_EMPTY},
    {"staged_in", pto_csv_count, SETS(staged_in), PTO_CSV_MAY_BE_EMPTY},
    {"staged_out", pto_csv_count, SETS(staged_out), PTO_CSV_MAY_BE_EMPTY},
    {"distance", read_enumerator, SETS(distance), PTO_CSV_MAY_BE_EMPTY, .word_at = pto_level_at,
     .wanted = "on_gpu, on_socket, on_node or off_node"},
    {"from_space", read_flag, SETS(ends.from_host), PTO_CSV_MAY_BE_EMPTY, .word_at = memory_at,
     .wanted = "gpu or cpu"},
    {"to_space", read_flag, SETS(ends.to_host), PTO_CSV_MAY_BE_EMPTY, .word_at = memory_at,
     .wanted = "gpu or cpu"},
    {"both_ways", read_flag, SETS(ends.both_ways), PTO_CSV_MAY_BE_EMPTY, .word_at = answer_at,
     .wanted = "yes or no"},
    {"chunks", pto_csv_count, SETS(chunks), PTO_CSV_MAY_BE_EMPTY, .least = 1},
    {"grid", read_grid, SETS(halo), PTO_CSV_MAY_BE_EMPTY},
};

static pto_status_t begin_row(const pto_csv_t *csv, void **row) {
    pto_collectives_t *collectives = csv->table;
    if (!PTO_RESERVE(collectives->row, collectives->capacity, collectives->count + 1))
        return pto_error_set(csv->err, PTO_ERR_MEMORY, "out of memory for collectives");
    pto_collective_row_t *added = &collectives->row[collectives->count++];
    *added = (pto_collective_row_t){.file = csv->origin->file_count - 1,
                                    .owners_per_gpu = 1,
                                    .datatype = PTO_DATATYPE_FLOAT,
                                    .staged_in = PTO_STAGED_TUNED,
                                    .staged_out = PTO_STAGED_TUNED,
                                    .distance = PTO_LEVEL_ON_SOCKET,
                                    .algorithm = -1};
    *row = added;
    return PTO_OK;
}

static const pto_csv_format_t format = {.what = "collectives",
                                        .advice = "score them apart",
                                        .column = columns,
                                        .column_count = sizeof columns / sizeof *columns,
                                        .begin_row = begin_row};

/* The file's `datatype` line gives the datatype of its rows. */
static pto_status_t set_datatype(pto_collectives_t *collectives, const pto_provenance_t *line,
                                 size_t row_first, pto_error_t *err) {
    pto_datatype_t datatype = 0;
    while (datatype < PTO_DATATYPE_COUNT && strcmp(line->value, pto_datatype_name(datatype)) != 0)
        datatype++;
    if (datatype == PTO_DATATYPE_COUNT)
        return pto_error_set_at(err, PTO_ERR_TYPE, collectives->path[line->file], line->line, 1,
                                "'%.60s' is not a datatype", line->value);
    for (size_t i = row_first; i < collectives->count; i++)
        collectives->row[i].datatype = datatype;
    return PTO_OK;
}

static pto_status_t parse_rows(const char *text, size_t text_size, const char *path,
                               pto_collectives_t *collectives, pto_csv_origin_t *origin, pto_error_t *err) {
    size_t row_first = collectives->count;
    int provenance_first = origin->provenance_count;
    pto_status_t status = pto_csv_parse(&format, text, text_size, path, origin, collectives, err);
    collectives->path = origin->path;
    for (int i = provenance_first; i < origin->provenance_count && status == PTO_OK; i++)
        if (strcmp(origin->provenance[i].key, "datatype") == 0)
            status = set_datatype(collectives, &origin->provenance[i], row_first, err);
    return status;
}

static pto_csv_origin_t origin_of(const pto_collectives_t *collectives) {
    return (pto_csv_origin_t){collectives->provenance_count, collectives->provenance, collectives->file_count,
                              collectives->path};
}

pto_status_t pto_collectives_parse(const char *text, size_t text_size, const char *path,
                                   pto_collectives_t *collectives, pto_error_t *err) {
    size_t count = collectives->count;
    int names = collectives->name_count;
    pto_csv_origin_t origin = origin_of(collectives);
    pto_csv_origin_t before = origin;
    pto_status_t status = parse_rows(text, text_size, path, collectives, &origin, err);
    if (status != PTO_OK) {
        pto_csv_roll_back(&origin, before.provenance_count, before.file_count);
        collectives->count = count;
        while (collectives->name_count > names)
            free(collectives->name[--collectives->name_count]);
    }
    collectives->provenance_count = origin.provenance_count;
    collectives->provenance = origin.provenance;
    collectives->file_count = origin.file_count;
    collectives->path = origin.path;
    return status;
}

PTO_TEXT_READER(pto_collectives_read, pto_collectives_parse, pto_collectives_t *, collectives,
                PTO_CSV_BYTES_MAX);

void pto_collectives_fini(pto_collectives_t *collectives) {
    pto_csv_origin_t origin = origin_of(collectives);
    pto_csv_origin_fini(&origin);
    for (int i = 0; i < collectives->name_count; i++)
        free(collectives->name[i]);
    free(collectives->name);
    free(collectives->row);
    *collectives = (pto_collectives_t){0};
}

const char *pto_collectives_provenance(const pto_collectives_t *collectives, const char *key) {
    return pto_csv_provenance(collectives->provenance, collectives->provenance_count, key);
}

bool pto_node_counts_has(const pto_node_counts_t *counts, int64_t nodes) {
    if (counts->count == 0)
        return true;
    bool named = false;
    for (int i = 0; i < counts->count; i++)
        named = named || counts->value[i] == nodes;
    return named != counts->except;
}

pto_status_t pto_node_counts_parse(const char *text, pto_node_counts_t *counts, pto_error_t *err) {
    static const char key[] = "nodes=";
    pto_node_counts_t result = {0};
    const char *at = text + strlen(key);
    if (strncmp(text, key, strlen(key)) != 0)
        return pto_error_set(err, PTO_ERR_TYPE, "'%s' is not nodes=N[,N...]", text);
    for (char *end = NULL; !end || *end == ','; at = end + 1) {
        if (result.count == PTO_NODE_COUNTS_MAX)
            return pto_error_set(err, PTO_ERR_RANGE, "'%s' has more than %d node counts", text,
                                 PTO_NODE_COUNTS_MAX);
        int64_t nodes = strtoll(at, &end, 10);
        if (end == at || (*end != ',' && *end != '\0') || nodes < 1 || nodes > INT32_MAX)
            return pto_error_set(err, PTO_ERR_TYPE, "'%s' is not nodes=N[,N...]", text);
        result.value[result.count++] = nodes;
    }
    *counts = result;
    return PTO_OK;
}

static int64_t next_nodes(const pto_collectives_t *collectives, int file, int64_t above) {
    int64_t next = 0;
    for (size_t i = 0; i < collectives->count; i++) {
        const pto_collective_row_t *row = &collectives->row[i];
        if (row->file == file && row->nodes > above && (next == 0 || row->nodes < next))
            next = row->nodes;
    }
    return next;
}

pto_node_counts_t pto_collectives_nodes(const pto_collectives_t *collectives, int file,
                                        const pto_node_counts_t *chosen) {
    pto_node_counts_t found = {0};
    for (int64_t nodes = 0; (nodes = next_nodes(collectives, file, nodes)) > 0;)
        if ((!chosen || pto_node_counts_has(chosen, nodes)) && found.count < PTO_NODE_COUNTS_MAX)
            found.value[found.count++] = nodes;
    return found;
}

/* Hashes a text with its terminating null character. */
static uint64_t add_text(uint64_t hash, const char *text) {
    return pto_hash_bytes(hash, text, strlen(text) + 1);
}

void pto_collectives_digest(const pto_collectives_t *collectives, int file,
                            char digest[PTO_COLLECTIVES_DIGEST_MAX]) {
    uint64_t hash = PTO_HASH_START;
    for (size_t i = 0; i < collectives->count; i++) {
        const pto_collective_row_t *row = &collectives->row[i];
        char text[256];
        if (row->file != file)
            continue;
        snprintf(text, sizeof text, "%d,%d,%d,%d,%d,%d,%lld,%d,%.17g,%d,%d,%d", (int)row->collective,
                 (int)row->implementation, row->nodes, row->gpus_per_node, row->procs_per_gpu,
                 row->owners_per_gpu, (long long)row->bytes, row->run, row->seconds, row->staged_in,
                 row->staged_out, row->chunks);
        hash = add_text(add_text(hash, text), collectives->name[row->strategy]);
        if (row->collective == PTO_COLLECTIVE_HALO)
            hash = add_text(hash, pto_halo_text(&row->halo, text));
    }
    snprintf(digest, PTO_COLLECTIVES_DIGEST_MAX, "%016llx", (unsigned long long)hash);
}
