/* Reads outputs of benchmarks as measured collectives, for `portolan score` and `portolan fit`. Also
 * explains, for all commands, what kind of file it is that a command could not read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/text.h"
#include "base/text_file.h"
#include "reader.h"
#include "scenario/words.h"

/* A path with the suffix that the user appends to it: ":NODESxGPUS" or ":NODESxGPUS:COLLECTIVE". */
typedef struct {
    char path[4096];
    int64_t nodes, gpus_per_node;
    char named[64];              /* the collective's name, "" if none is given */
    pto_collective_t collective; /* PTO_COLLECTIVE_COUNT if none is given, or if the name is unknown */
} measured_t;

/* Reads "2x4"; false if the text is not such. */
static bool read_shape(const char *text, measured_t *measured) {
    char copy[48], *cross;
    if ((size_t)snprintf(copy, sizeof copy, "%s", text) >= sizeof copy || !(cross = strchr(copy, 'x')))
        return false;
    *cross = '\0';
    return pto_recording_whole(copy, &measured->nodes) &&
           pto_recording_whole(cross + 1, &measured->gpus_per_node) && measured->nodes > 0 &&
           measured->gpus_per_node > 0 && measured->nodes < 1 << 24 && measured->gpus_per_node < 1 << 24;
}

/* Splits "osu.txt:2x4" (measured on 2 nodes with 4 processes each), or "t.txt:1x2:allreduce" (times of
 * allreduces). False if `text` does not end with such a suffix. */
static bool split_shape(const char *text, measured_t *measured) {
    char *path = measured->path, *colon;
    int collective;
    *measured = (measured_t){.collective = PTO_COLLECTIVE_COUNT};
    if ((size_t)snprintf(path, sizeof measured->path, "%s", text) >= sizeof measured->path ||
        !(colon = strrchr(path, ':')))
        return false;
    if (!read_shape(colon + 1, measured)) {
        snprintf(measured->named, sizeof measured->named, "%s", colon + 1);
        if (pto_name_find(colon + 1, "collective", pto_collective_at, &collective, NULL) == PTO_OK)
            measured->collective = (pto_collective_t)collective;
        *colon = '\0';
        colon = strrchr(path, ':');
        if (!colon || !read_shape(colon + 1, measured))
            return false;
    }
    *colon = '\0';
    return true;
}

/* The key of remarks on a benchmark's output. They are written as provenance lines above its rows. */
static const char remark_key[] = "of the log";

const char pto_recording_non_blocking[] =
    "times of non-blocking collectives: libraries may use other algorithms for them than for the blocking "
    "ones, whose prices these are";
const char pto_recording_wrong[] =
    "the benchmark found wrong results: its times may be of incomplete transfers";

static void add_remarks(const pto_recording_t *trace, pto_text_t *text) {
    char reason[PTO_RECORDING_REASON_MAX];
    for (int i = 0; pto_recording_left_out(&trace->skipped, &i, reason);)
        pto_text_add(text, "# %s=left out: %s\n", remark_key, reason);
    if (trace->listed_nodes > 0 && trace->count > 0 && trace->call[0].nodes != trace->listed_nodes)
        pto_text_add(text, "# %s=it lists its processes on %lld node%s; its times are taken to be of %lld\n",
                     remark_key, (long long)trace->listed_nodes, trace->listed_nodes == 1 ? "" : "s",
                     (long long)trace->call[0].nodes);
    if (trace->has_wrong)
        pto_text_add(text, "# %s=%s\n", remark_key, pto_recording_wrong);
    if (trace->non_blocking)
        pto_text_add(text, "# %s=%s\n", remark_key, pto_recording_non_blocking);
}

/* Writes a row of collectives.csv for each size. */
static void write_rows(const pto_recording_t *trace, pto_text_t *text) {
    add_remarks(trace, text);
    pto_text_add(text,
                 "collective,implementation,strategy,nodes,gpus_per_node,procs_per_gpu,bytes,run,seconds\n");
    for (int i = 0; i < trace->count; i++) {
        const pto_recording_call_t *call = &trace->call[i];
        if (call->measured_s > 0)
            pto_text_add(text, "%s,library,%s,%lld,%lld,1,%lld,0,%.9g\n",
                         pto_collective_name(call->collective), call->route, (long long)call->nodes,
                         (long long)call->gpus_per_node, (long long)call->bytes,
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
                                             .as_gpu = true,
                                             .by_memory = true};
    pto_recording_t trace;
    pto_text_t text = {NULL, 0, 0, false};
    pto_status_t status = pto_recording_read(path, &options, &trace, err);
    if (status != PTO_OK)
        return status;
    if (!pto_recording_is_benchmark(trace.format))
        status = pto_error_set_at(err, PTO_ERR_SYNTAX, path, 1, 1,
                                  "%s has no times of collectives by themselves; outputs of benchmarks do",
                                  pto_recording_format_name(trace.format));
    if (status == PTO_OK) {
        write_rows(&trace, &text);
        status = text.out_of_memory ? pto_error_set(err, PTO_ERR_MEMORY, "out of memory for collectives")
                                    : pto_collectives_parse(text.text, text.length, path, collectives, err);
    }
    free(text.text);
    pto_recording_fini(&trace);
    return status;
}

/* Options that only find the format of a file. */
static const pto_recording_options_t any_shape = {.rank = -1,
                                                  .nodes = 1,
                                                  .gpus_per_node = 1,
                                                  .shape_unknown = true,
                                                  .collective = PTO_COLLECTIVE_ALLREDUCE};

/* Fails for a file without a suffix after its name that is not collectives.csv. */
static pto_status_t fail_shapeless(const char *path, pto_status_t status, pto_error_t *err) {
    pto_recording_t trace;
    if (pto_recording_read(path, &any_shape, &trace, NULL) != PTO_OK)
        return pto_recording_explain(path, false, status, err);
    const pto_recording_format_t format = trace.format;
    pto_recording_fini(&trace);
    if (!pto_recording_is_benchmark(format))
        return pto_recording_explain(path, false, status, err);
    return pto_error_set_at(err, PTO_ERR_KEY, path, 1, 1,
                            "the output of %s does not say where it ran: write %s:NODESxGPUS, or "
                            "NODESxGPUS:COLLECTIVE if it does not name its collective",
                            pto_recording_format_name(format), path);
}

/* Returns the text after a file's name and a colon; NULL if `text` does not begin with a file's name. */
static const char *text_after_file(const char *text, measured_t *measured) {
    char *path = measured->path, *colon;
    snprintf(path, sizeof measured->path, "%s", text);
    while ((colon = strrchr(path, ':')) != NULL) {
        *colon = '\0';
        if (pto_file_is_readable(path))
            return text + (colon - path) + 1;
    }
    return NULL;
}

pto_status_t pto_recording_collectives(const char *path, pto_collectives_t *collectives, pto_error_t *err) {
    measured_t measured = {.nodes = 0};
    if (split_shape(path, &measured)) {
        if (*measured.named && measured.collective == PTO_COLLECTIVE_COUNT)
            return pto_error_set(err, PTO_ERR_NOT_FOUND,
                                 "%s: unknown collective '%s' (portolan list collectives)", path,
                                 measured.named);
        return read_benchmark(&measured, collectives, err);
    }
    pto_status_t status = pto_collectives_read(path, collectives, err);
    const char *after = status == PTO_ERR_IO ? text_after_file(path, &measured) : NULL;
    if (after)
        return pto_error_set(err, PTO_ERR_IO,
                             "%s: '%s' is not NODESxGPUS (2x4) or NODESxGPUS:COLLECTIVE (2x4:allreduce)",
                             path, after);
    return status == PTO_OK || status == PTO_ERR_IO || status == PTO_ERR_MEMORY
               ? status
               : fail_shapeless(path, status, err);
}

const char *pto_recording_remark(const pto_collectives_t *collectives, int *next) {
    while (*next < collectives->provenance_count) {
        const pto_provenance_t *provenance = &collectives->provenance[(*next)++];
        if (strcmp(provenance->key, remark_key) == 0)
            return provenance->value;
    }
    return NULL;
}

/* A collectives.csv of several machines has the same status, but no layout after its path. */
bool pto_recording_contradicts(const char *path, pto_status_t status) {
    measured_t measured = {.nodes = 0};
    const bool has_shape = split_shape(path, &measured);
    return (has_shape && status == PTO_ERR_NOT_APPLICABLE) ||
           (has_shape && *measured.named && measured.collective == PTO_COLLECTIVE_COUNT);
}

pto_status_t pto_recording_explain(const char *path, bool is_recording, pto_status_t status,
                                   pto_error_t *err) {
    const char *what = NULL;
    char text[160];
    measured_t measured = {.nodes = 0};
    pto_recording_t trace;
    pto_error_t cause = {0};
    pto_samples_t samples = {0};
    pto_collectives_t collectives = {0};
    if (status == PTO_ERR_IO && text_after_file(path, &measured))
        return pto_error_set(err, status,
                             "%s: a layout behind a file's name is for `portolan score` and `portolan fit "
                             "--collectives`",
                             path);
    if (status != PTO_ERR_SYNTAX && status != PTO_ERR_KEY && status != PTO_ERR_TYPE)
        return status;
    if (pto_samples_read(path, &samples, NULL) == PTO_OK)
        what = "these are samples, which `portolan fit` reads";
    else if (pto_collectives_read(path, &collectives, NULL) == PTO_OK)
        what = "these are measured collectives, which `portolan score` and `portolan fit --collectives` read";
    else if (!is_recording && pto_recording_read(path, &any_shape, &trace, &cause) == PTO_OK) {
        const bool is_benchmark = pto_recording_is_benchmark(trace.format);
        snprintf(text, sizeof text, "this is %s%s, which `portolan replay` reads%s",
                 is_benchmark ? "the output of " : "", pto_recording_format_name(trace.format),
                 is_benchmark ? ", and `portolan score` and `portolan fit --collectives` as FILE:NODESxGPUS"
                              : "");
        what = text;
        pto_recording_fini(&trace);
    } else if (cause.status == PTO_ERR_NOT_FOUND)
        what = cause.message; /* a benchmark of something else */
    pto_samples_fini(&samples);
    pto_collectives_fini(&collectives);
    return what ? pto_error_set_at(err, status, path, cause.line > 0 ? cause.line : 1, 1, "%s", what)
                : status;
}
