/* Outputs of OSU's benchmarks and of nccl-tests as measured collectives. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "reader.h"

/* A path, and what stands after it. */
typedef struct {
    char path[4096];
    int64_t nodes, gpus_per_node;
    pto_collective_t collective; /* PTO_COLLECTIVE_COUNT: as the file says */
} measured_t;

static bool find_collective(const char *name, pto_collective_t *collective) {
    for (int i = 0; i < PTO_COLLECTIVE_COUNT; i++)
        if (strcmp(pto_collective_name((pto_collective_t)i), name) == 0) {
            *collective = (pto_collective_t)i;
            return true;
        }
    return false;
}

/* "osu.txt:2x4" is osu.txt, measured on 2 nodes with 4 processes on each; "t.txt:1x2:allreduce" has the times
 * of allreduces. Returns false if `text` does not end so. */
static bool split_shape(const char *text, measured_t *measured) {
    char copy[sizeof measured->path];
    char *colon, *cross;
    measured->collective = PTO_COLLECTIVE_COUNT;
    if ((size_t)snprintf(copy, sizeof copy, "%s", text) >= sizeof copy || !(colon = strrchr(copy, ':')))
        return false;
    if (find_collective(colon + 1, &measured->collective)) {
        *colon = '\0';
        colon = strrchr(copy, ':');
    }
    cross = colon ? strchr(colon, 'x') : NULL;
    if (!cross)
        return false;
    *colon = *cross = '\0';
    memcpy(measured->path, copy, sizeof copy);
    return pto_recording_whole(colon + 1, &measured->nodes) &&
           pto_recording_whole(cross + 1, &measured->gpus_per_node) && measured->nodes > 0 &&
           measured->gpus_per_node > 0 && measured->nodes < 1 << 24 && measured->gpus_per_node < 1 << 24;
}

static const char calls_key[] = "calls";

/* The rows as collectives.csv, one for each size. */
static void write_rows(const pto_recording_t *trace, pto_text_t *text) {
    if (trace->non_blocking)
        pto_text_add(text, "# %s=non-blocking\n", calls_key);
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

static pto_status_t read_benchmark(const measured_t *measured, pto_collectives_t *collectives,
                                   pto_error_t *err) {
    const char *path = measured->path;
    const pto_recording_options_t options = {.rank = -1,
                                             .nodes = measured->nodes,
                                             .gpus_per_node = measured->gpus_per_node,
                                             .collective = measured->collective,
                                             .naming = "FILE:NODESxGPUS:COLLECTIVE",
                                             .as_gpu = true};
    pto_recording_t trace;
    pto_text_t text = {NULL, 0, 0, false};
    pto_status_t status = pto_recording_read(path, &options, &trace, err);
    if (status != PTO_OK)
        return status;
    if (!pto_recording_is_benchmark(trace.format))
        status = pto_error_set_at(err, PTO_ERR_SYNTAX, path, 1, 1,
                                  "%s has no times of collectives by themselves; outputs of benchmarks do",
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
    measured_t measured;
    if (split_shape(path, &measured))
        return read_benchmark(&measured, collectives, err);
    pto_status_t status = pto_collectives_read(path, collectives, err);
    if (status == PTO_OK || status == PTO_ERR_IO || status == PTO_ERR_MEMORY)
        return status;
    const pto_recording_options_t options = {.rank = -1,
                                             .nodes = 1,
                                             .gpus_per_node = 1,
                                             .shape_unknown = true,
                                             .collective = PTO_COLLECTIVE_ALLREDUCE};
    pto_recording_t trace;
    pto_error_t cause = {0};
    pto_status_t read = pto_recording_read(path, &options, &trace, &cause);
    if (read == PTO_ERR_NOT_FOUND && err)
        *err = cause;
    if (read != PTO_OK)
        return read == PTO_ERR_NOT_FOUND ? read : status;
    if (pto_recording_is_benchmark(trace.format))
        status = pto_error_set_at(err, PTO_ERR_KEY, path, 1, 1,
                                  "the output of %s does not say where it ran: write %s:NODESxGPUS, or "
                                  "NODESxGPUS:COLLECTIVE if it does not name its collective",
                                  pto_recording_format_name(trace.format), path);
    pto_recording_fini(&trace);
    return status;
}

const char pto_recording_non_blocking[] =
    "times of non-blocking collectives: libraries may use other algorithms for them than for the blocking "
    "ones, whose prices these are";

const char *pto_recording_caveat(const pto_collectives_t *collectives) {
    const char *calls = pto_collectives_provenance(collectives, calls_key);
    return calls && strcmp(calls, "non-blocking") == 0 ? pto_recording_non_blocking : NULL;
}

/* A plain collectives.csv of several machines has the same status, but no shape after its path. */
bool pto_recording_contradicts(const char *path, pto_status_t status) {
    measured_t measured;
    return status == PTO_ERR_NOT_APPLICABLE && split_shape(path, &measured);
}
