/* Reads samples.csv, the timings of portolan-calibrate, one per row. csv_table.c splits the text; this file
 * knows what the columns mean. */
#include "portolan/samples.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/text_file.h"
#include "formats/csv_table.h"

static const char *const benchmark_names[PTO_BENCHMARK_COUNT] = {
#define NAME(name, text) [PTO_BENCHMARK_##name] = (text),
    PTO_BENCHMARK_TABLE(NAME)
#undef NAME
#define MPI_NAME(name, text) [PTO_BENCHMARK_MPI_##name] = ("mpi_" text),
        PTO_MPI_TABLE(MPI_NAME)
#undef MPI_NAME
#define NCCL_NAME(name, text) [PTO_BENCHMARK_NCCL_##name] = ("nccl_" text),
            PTO_NCCL_TABLE(NCCL_NAME)
#undef NCCL_NAME
                [PTO_BENCHMARK_OTHER] = "other",
};

static const char *const place_names[PTO_AT_COUNT] = {
    [PTO_AT_NONE] = "-",          [PTO_AT_ON_GPU] = "on_gpu",     [PTO_AT_ON_SOCKET] = "on_socket",
    [PTO_AT_ON_NODE] = "on_node", [PTO_AT_OFF_NODE] = "off_node", [PTO_AT_OFF_SOCKET] = "off_socket",
};

static const char *const where_names[PTO_IN_COUNT] = {
    [PTO_IN_NONE] = "-",
    [PTO_IN_CPU] = "cpu",
    [PTO_IN_GPU] = "gpu",
};

const char *pto_benchmark_name(pto_benchmark_t benchmark) {
    return (unsigned)benchmark < PTO_BENCHMARK_COUNT ? benchmark_names[benchmark] : "?";
}

const char *pto_sample_space_name(pto_sample_space_t where) {
    return (unsigned)where < PTO_IN_COUNT ? where_names[where] : "?";
}

static uint64_t span_hash(pto_text_span_t span) {
    return pto_hash_bytes(PTO_HASH_START, span.text, span.size);
}

uint64_t pto_sample_pair_hash(const char *pair) { return span_hash((pto_text_span_t){pair, strlen(pair)}); }

static pto_status_t read_benchmark(const pto_csv_t *csv, pto_text_span_t field, void *benchmark) {
    if (field.size == 0)
        return pto_csv_bad_field(csv, field, PTO_ERR_TYPE, "a name");
    int found = pto_span_find(field, benchmark_names, PTO_BENCHMARK_OTHER);
    *(uint8_t *)benchmark = (uint8_t)(found < 0 ? PTO_BENCHMARK_OTHER : found);
    return PTO_OK;
}

static pto_status_t read_pair(const pto_csv_t *csv, pto_text_span_t field, void *pair_hash) {
    (void)csv;
    *(uint64_t *)pair_hash = span_hash(field);
    return PTO_OK;
}

/* `place` and `where` are in the order of their words. */
static pto_status_t read_word(const pto_csv_t *csv, pto_text_span_t field, void *index) {
    int found = 0;
    pto_status_t status = pto_csv_word(csv, field, &found);
    *(uint8_t *)index = (uint8_t)found;
    return status;
}

static const char *where_at(int index) { return index < PTO_IN_COUNT ? where_names[index] : NULL; }
static const char *place_at(int index) { return index < PTO_AT_COUNT ? place_names[index] : NULL; }

#define SETS(name) .member = offsetof(pto_sample_t, name)

static const pto_csv_column_t columns[] = {
    {"benchmark", read_benchmark, SETS(benchmark)},
    {"space", read_word, SETS(where), .word_at = where_at, .wanted = "cpu, gpu or -"},
    {"level", read_word, SETS(place), .word_at = place_at,
     .wanted = "on_gpu, on_socket, on_node, off_node, off_socket or -"},
    {"pair", read_pair, SETS(pair_hash)},
    {"procs", pto_csv_count, SETS(procs), .least = 1},
    {"messages", pto_csv_count, SETS(messages), .least = 1},
    {"bytes", pto_csv_whole, SETS(bytes)},
    {"run", pto_csv_count, SETS(run)},
    {"seconds", pto_csv_seconds, SETS(seconds)},
};

static pto_status_t begin_row(const pto_csv_t *csv, void **row) {
    pto_samples_t *samples = csv->table;
    if (!PTO_RESERVE(samples->sample, samples->capacity, samples->count + 1))
        return pto_error_set(csv->err, PTO_ERR_MEMORY, "out of memory for samples");
    pto_sample_t *added = &samples->sample[samples->count++];
    *added = (pto_sample_t){.file = csv->origin->file_count - 1};
    *row = added;
    return PTO_OK;
}

static const pto_csv_format_t format = {.what = "samples",
                                        .advice = "fit them apart",
                                        .column = columns,
                                        .column_count = sizeof columns / sizeof *columns,
                                        .begin_row = begin_row};

static pto_csv_origin_t origin_of(const pto_samples_t *samples) {
    return (pto_csv_origin_t){samples->provenance_count, samples->provenance, samples->file_count,
                              samples->path};
}

pto_status_t pto_samples_parse(const char *text, size_t text_size, const char *path, pto_samples_t *samples,
                               pto_error_t *err) {
    size_t count = samples->count;
    pto_csv_origin_t origin = origin_of(samples);
    pto_status_t status = pto_csv_parse(&format, text, text_size, path, &origin, samples, err);
    samples->provenance_count = origin.provenance_count;
    samples->provenance = origin.provenance;
    samples->file_count = origin.file_count;
    samples->path = origin.path;
    if (status != PTO_OK)
        samples->count = count;
    return status;
}

PTO_TEXT_READER(pto_samples_read, pto_samples_parse, pto_samples_t *, samples, PTO_CSV_BYTES_MAX);

void pto_samples_fini(pto_samples_t *samples) {
    pto_csv_origin_t origin = origin_of(samples);
    pto_csv_origin_fini(&origin);
    free(samples->sample);
    *samples = (pto_samples_t){0};
}

const char *pto_samples_provenance(const pto_samples_t *samples, const char *key) {
    return pto_csv_provenance(samples->provenance, samples->provenance_count, key);
}
