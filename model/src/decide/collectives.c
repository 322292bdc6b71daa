/* Reads collectives.csv, timings of whole collectives, one per row, which are scored and fitted. csv_table.c
 * splits the text; this file knows what the columns mean. */
#include "portolan/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/names.h"
#include "base/text_file.h"
#include "formats/csv_table.h"
#include "scenario/words.h"

typedef enum {
    COLUMN_COLLECTIVE,
    COLUMN_IMPLEMENTATION,
    COLUMN_STRATEGY,
    COLUMN_NODES,
    COLUMN_GPUS_PER_NODE,
    COLUMN_PROCS_PER_GPU,
    COLUMN_BYTES,
    COLUMN_RUN,
    COLUMN_SECONDS,
    COLUMN_OWNERS_PER_GPU,
    COLUMN_ALGORITHM,
    COLUMN_JOULES,
    COLUMN_STAGED_IN,
    COLUMN_STAGED_OUT,
    COLUMN_DISTANCE,
    COLUMN_FROM_SPACE,
    COLUMN_TO_SPACE,
    COLUMN_BOTH_WAYS,
    COLUMN_CHUNKS,
    COLUMN_GRID,
    COLUMN_COUNT
} column_t;

static const char *const column_names[COLUMN_COUNT] = {
    "collective",    "implementation", "strategy",  "nodes",      "gpus_per_node",
    "procs_per_gpu", "bytes",          "run",       "seconds",    "owners_per_gpu",
    "algorithm",     "joules",         "staged_in", "staged_out", "distance",
    "from_space",    "to_space",       "both_ways", "chunks",     "grid",
};

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

static pto_status_t read_name(const pto_csv_t *csv, int column, pto_text_span_t field, int16_t *name) {
    pto_collectives_t *collectives = csv->table;
    int before = collectives->name_count, found = name_of(collectives, field);
    *name = (int16_t)found;
    if (found >= before)
        return pto_csv_check_name(csv, column, collectives->name[found]);
    if (found >= 0)
        return PTO_OK;
    if (collectives->name_count < PTO_COLLECTIVES_NAME_MAX)
        return pto_error_set(csv->err, PTO_ERR_MEMORY, "out of memory for names");
    return pto_csv_bad_field(csv, column, field, PTO_ERR_TOO_LARGE, "one of the first 256 different names");
}

/* Finds the index of a word in a list. */
static pto_status_t read_word(const pto_csv_t *csv, int column, pto_text_span_t field, pto_name_at_t word_at,
                              const char *wanted, int *found) {
    for (int i = 0; word_at(i); i++) {
        const char *word = word_at(i);
        *found = i;
        if (pto_span_find(field, &word, 1) == 0)
            return PTO_OK;
    }
    return pto_csv_bad_field(csv, column, field, PTO_ERR_TYPE, wanted);
}

static PTO_WORD_LIST(memory_at, "gpu", "cpu");
static PTO_WORD_LIST(answer_at, "no", "yes");

static pto_status_t read_grid(const pto_csv_t *csv, pto_text_span_t field, pto_halo_t *grid) {
    pto_error_t fault = {.status = PTO_OK};
    pto_status_t status = pto_halo_parse(field.text, field.size, grid, &fault);
    return status == PTO_OK ? PTO_OK
                            : pto_error_set_at(csv->err, status, csv->path, csv->line, csv->place, "grid: %s",
                                               fault.message);
}

/* Columns that a row may leave empty. */
static pto_status_t read_optional(const pto_csv_t *csv, int column, pto_text_span_t field,
                                  pto_collective_row_t *row) {
    pto_status_t status;
    int found = 0;
    switch ((column_t)column) {
    case COLUMN_JOULES:
        return pto_csv_joules(csv, column, field, &row->joules);
    case COLUMN_STAGED_IN:
        return pto_csv_count(csv, column, field, 0, &row->staged_in);
    case COLUMN_STAGED_OUT:
        return pto_csv_count(csv, column, field, 0, &row->staged_out);
    case COLUMN_DISTANCE:
        status =
            read_word(csv, column, field, pto_level_at, "on_gpu, on_socket, on_node or off_node", &found);
        row->distance = (pto_level_t)found;
        return status;
    case COLUMN_FROM_SPACE:
        status = read_word(csv, column, field, memory_at, "gpu or cpu", &found);
        row->ends.from_host = found == 1;
        return status;
    case COLUMN_TO_SPACE:
        status = read_word(csv, column, field, memory_at, "gpu or cpu", &found);
        row->ends.to_host = found == 1;
        return status;
    case COLUMN_BOTH_WAYS:
        status = read_word(csv, column, field, answer_at, "yes or no", &found);
        row->ends.both_ways = found == 1;
        return status;
    case COLUMN_CHUNKS:
        return pto_csv_count(csv, column, field, 1, &row->chunks);
    case COLUMN_GRID:
        return read_grid(csv, field, &row->halo);
    default: /* COLUMN_ALGORITHM */
        return read_name(csv, column, field, &row->algorithm);
    }
}

static pto_status_t read_field(const pto_csv_t *csv, int column, pto_text_span_t field, void *table) {
    pto_collectives_t *collectives = table;
    pto_collective_row_t *row = &collectives->row[collectives->count - 1];
    pto_status_t status;
    int found = 0;
    switch ((column_t)column) {
    case COLUMN_COLLECTIVE:
        status = read_word(csv, column, field, pto_collective_at,
                           "a known collective; `portolan list` shows them", &found);
        row->collective = (pto_collective_t)found;
        return status;
    case COLUMN_IMPLEMENTATION:
        status = read_word(csv, column, field, pto_implementation_at, "library or isend_irecv", &found);
        row->implementation = (pto_implementation_t)found;
        return status;
    case COLUMN_STRATEGY:
        if (field.size == 0)
            return pto_csv_bad_field(csv, column, field, PTO_ERR_TYPE, "a name");
        return read_name(csv, column, field, &row->strategy);
    case COLUMN_NODES:
        return pto_csv_count(csv, column, field, 1, &row->nodes);
    case COLUMN_GPUS_PER_NODE:
        return pto_csv_count(csv, column, field, 1, &row->gpus_per_node);
    case COLUMN_PROCS_PER_GPU:
        return pto_csv_count(csv, column, field, 1, &row->procs_per_gpu);
    case COLUMN_OWNERS_PER_GPU:
        return pto_csv_count(csv, column, field, 1, &row->owners_per_gpu);
    case COLUMN_BYTES:
        return pto_csv_whole(csv, column, field, &row->bytes);
    case COLUMN_RUN:
        return pto_csv_count(csv, column, field, 0, &row->run);
    case COLUMN_SECONDS:
        return pto_csv_seconds(csv, column, field, &row->seconds);
    default:
        return field.size > 0 ? read_optional(csv, column, field, row) : PTO_OK;
    }
}

static pto_status_t begin_row(void *table, int file, pto_error_t *err) {
    pto_collectives_t *collectives = table;
    if (!PTO_RESERVE(collectives->row, collectives->capacity, collectives->count + 1))
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for collectives");
    collectives->row[collectives->count++] = (pto_collective_row_t){.file = file,
                                                                    .owners_per_gpu = 1,
                                                                    .datatype = PTO_DATATYPE_FLOAT,
                                                                    .staged_in = PTO_STAGED_TUNED,
                                                                    .staged_out = PTO_STAGED_TUNED,
                                                                    .distance = PTO_LEVEL_ON_SOCKET,
                                                                    .algorithm = -1};
    return PTO_OK;
}

static const pto_csv_format_t format = {
    .what = "collectives",
    .advice = "score them apart",
    .column = column_names,
    .column_count = COLUMN_COUNT,
    .required_count = COLUMN_OWNERS_PER_GPU,
    .begin_row = begin_row,
    .read_field = read_field,
};

/* The file's `datatype` line gives the datatype of its rows. */
static pto_status_t set_datatype(pto_collectives_t *collectives, const pto_provenance_t *said,
                                 size_t row_first, pto_error_t *err) {
    pto_datatype_t datatype = 0;
    while (datatype < PTO_DATATYPE_COUNT && strcmp(said->value, pto_datatype_name(datatype)) != 0)
        datatype++;
    if (datatype == PTO_DATATYPE_COUNT)
        return pto_error_set_at(err, PTO_ERR_TYPE, collectives->path[said->file], said->line, 1,
                                "'%.60s' is not a datatype", said->value);
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

/* --- node counts ---------------------------------------------------------------------------------------- */

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

/* --- digests -------------------------------------------------------------------------------------------- */

/* Adds a text with its end to a hash. */
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
