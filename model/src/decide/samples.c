/* Reads samples.csv, the timings of portolan-calibrate, one per row. csv_table.c splits the text; this file
 * knows what the columns mean. */
#include "portolan/samples.h"

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

typedef enum {
    COLUMN_BENCHMARK,
    COLUMN_SPACE,
    COLUMN_LEVEL,
    COLUMN_PAIR,
    COLUMN_PROCS,
    COLUMN_MESSAGES,
    COLUMN_BYTES,
    COLUMN_RUN,
    COLUMN_SECONDS,
    COLUMN_COUNT
} column_t;

static const char *const column_names[COLUMN_COUNT] = {
    "benchmark", "space", "level", "pair", "procs", "messages", "bytes", "run", "seconds",
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

static pto_status_t read_benchmark(const pto_csv_t *csv, pto_text_span_t field, pto_sample_t *sample) {
    if (field.size == 0)
        return pto_csv_bad_field(csv, COLUMN_BENCHMARK, field, PTO_ERR_TYPE, "a name");
    int found = pto_span_find(field, benchmark_names, PTO_BENCHMARK_OTHER);
    sample->benchmark = (uint8_t)(found < 0 ? PTO_BENCHMARK_OTHER : found);
    return PTO_OK;
}

static pto_status_t read_field(const pto_csv_t *csv, int column, pto_text_span_t field, void *table) {
    pto_samples_t *samples = table;
    pto_sample_t *sample = &samples->sample[samples->count - 1];
    switch ((column_t)column) {
    case COLUMN_BENCHMARK:
        return read_benchmark(csv, field, sample);
    case COLUMN_SPACE:
        return pto_csv_name(csv, column, field, where_names, PTO_IN_COUNT, "cpu, gpu or -", &sample->where);
    case COLUMN_LEVEL:
        return pto_csv_name(csv, column, field, place_names, PTO_AT_COUNT,
                            "on_gpu, on_socket, on_node, off_node, off_socket or -", &sample->place);
    case COLUMN_PROCS:
        return pto_csv_count(csv, column, field, 1, &sample->procs);
    case COLUMN_MESSAGES:
        return pto_csv_count(csv, column, field, 1, &sample->messages);
    case COLUMN_BYTES:
        return pto_csv_whole(csv, column, field, &sample->bytes);
    case COLUMN_RUN:
        return pto_csv_count(csv, column, field, 0, &sample->run);
    case COLUMN_SECONDS:
        return pto_csv_seconds(csv, column, field, &sample->seconds);
    default: /* COLUMN_PAIR */
        sample->pair_hash = span_hash(field);
        return PTO_OK;
    }
}

static pto_status_t begin_row(void *table, int file, pto_error_t *err) {
    pto_samples_t *samples = table;
    if (!PTO_RESERVE(samples->sample, samples->capacity, samples->count + 1))
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for samples");
    samples->sample[samples->count++] = (pto_sample_t){.file = file};
    return PTO_OK;
}

static const pto_csv_format_t format = {
    .what = "samples",
    .advice = "fit them apart",
    .column = column_names,
    .column_count = COLUMN_COUNT,
    .required_count = COLUMN_COUNT,
    .begin_row = begin_row,
    .read_field = read_field,
};

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
