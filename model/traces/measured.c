/* Outputs of OSU's benchmarks and of nccl-tests as measured collectives. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "reader.h"

/* "osu.txt:2x4" is osu.txt, measured on 2 nodes with 4 processes on each. False: it has no such end. */
static bool split_shape(const char *text, char *path, size_t size, int64_t *nodes, int64_t *gpus_per_node) {
    const char *colon = strrchr(text, ':'), *cross = colon ? strchr(colon, 'x') : NULL;
    char number[16];
    if (!cross || cross - colon > (ptrdiff_t)sizeof number || (size_t)(colon - text) >= size)
        return false;
    snprintf(number, sizeof number, "%.*s", (int)(cross - colon - 1), colon + 1);
    snprintf(path, size, "%.*s", (int)(colon - text), text);
    return pto_recording_whole(number, nodes) && pto_recording_whole(cross + 1, gpus_per_node) &&
           *nodes > 0 && *gpus_per_node > 0 && *nodes < 1 << 24 && *gpus_per_node < 1 << 24;
}

static bool is_benchmark(const pto_recording_t *trace) {
    return trace->format == PTO_RECORDING_OSU || trace->format == PTO_RECORDING_NCCL_TESTS;
}

/* The rows as collectives.csv, one for each size. */
static void write_rows(const pto_recording_t *trace, pto_text_t *text) {
    pto_text_add(text,
                 "collective,implementation,strategy,nodes,gpus_per_node,procs_per_gpu,bytes,run,seconds\n");
    for (int i = 0; i < trace->count; i++) {
        const pto_recording_call_t *call = &trace->call[i];
        bool on_gpus = strcmp(call->route, "mpi") == 0 && !trace->times_on_host;
        if (call->measured_s > 0)
            pto_text_add(text, "%s,library,%s,%lld,%lld,1,%lld,0,%.9g\n",
                         pto_collective_name(call->collective), on_gpus ? "cuda_aware" : call->route,
                         (long long)call->nodes, (long long)call->gpus_per_node, (long long)call->bytes,
                         call->measured_s / (double)call->times);
    }
}

static pto_status_t read_benchmark(const char *path, int64_t nodes, int64_t gpus_per_node,
                                   pto_collectives_t *collectives, pto_error_t *err) {
    const pto_recording_options_t options = {.rank = -1,
                                             .nodes = nodes,
                                             .gpus_per_node = gpus_per_node,
                                             .collective = PTO_COLLECTIVE_COUNT,
                                             .as_gpu = true};
    pto_recording_t trace;
    pto_text_t text = {NULL, 0, 0, false};
    pto_status_t status = pto_recording_read(path, &options, &trace, err);
    if (status != PTO_OK)
        return status;
    if (!is_benchmark(&trace))
        status =
            pto_error_set_at(err, PTO_ERR_SYNTAX, path, 1, 1,
                             "%s has no times of collectives by themselves; outputs of OSU and nccl-tests do",
                             pto_recording_format_name(trace.format));
    if (status == PTO_OK && trace.times_on_host && trace.times_on_gpu)
        status = pto_error_set_at(err, PTO_ERR_SYNTAX, path, 1, 1,
                                  "%s has times of GPU and of host buffers; read them from two files", path);
    if (status == PTO_OK) {
        write_rows(&trace, &text);
        status = text.out_of_memory ? pto_error_set(err, PTO_ERR_MEMORY, "out of memory for collectives")
                                    : pto_collectives_parse(text.text, text.length, path, collectives, err);
    }
    free(text.text);
    pto_recording_fini(&trace);
    return status;
}

pto_status_t pto_recording_collectives(const char *path, pto_collectives_t *collectives, pto_error_t *err) {
    char name[4096];
    int64_t nodes, gpus_per_node;
    if (split_shape(path, name, sizeof name, &nodes, &gpus_per_node))
        return read_benchmark(name, nodes, gpus_per_node, collectives, err);
    pto_status_t status = pto_collectives_read(path, collectives, err);
    if (status == PTO_OK || status == PTO_ERR_IO || status == PTO_ERR_MEMORY)
        return status;
    const pto_recording_options_t options = {.rank = -1,
                                             .nodes = 1,
                                             .gpus_per_node = 1 << 24,
                                             .places_assumed = true,
                                             .collective = PTO_COLLECTIVE_ALLREDUCE};
    pto_recording_t trace;
    pto_error_t cause = {0};
    pto_status_t read = pto_recording_read(path, &options, &trace, &cause);
    if (read == PTO_ERR_NOT_FOUND && err)
        *err = cause;
    if (read != PTO_OK)
        return read == PTO_ERR_NOT_FOUND ? read : status;
    if (is_benchmark(&trace))
        status = pto_error_set_at(err, PTO_ERR_KEY, path, 1, 1,
                                  "the output of %s does not say where it ran: write %s:NODESxGPUS",
                                  pto_recording_format_name(trace.format), path);
    pto_recording_fini(&trace);
    return status;
}

/* The status of collectives.csv of several machines is the same, but these have no shape in their names. */
bool pto_recording_contradicts(const char *path, pto_status_t status) {
    char name[4096];
    int64_t nodes, gpus_per_node;
    return status == PTO_ERR_NOT_APPLICABLE && split_shape(path, name, sizeof name, &nodes, &gpus_per_node);
}
