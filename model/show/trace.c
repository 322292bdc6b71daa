/* A simulation in the Chrome trace format ("Trace Event Format", the JSON object form): complete events (ph
 * X) in microseconds, for `portolan simulate --trace`. A process of the trace is a node. Its threads are, for
 * each rank, sending, receiving and local work, and the resources that ranks share. Local work has
 * a thread per lane: a rank runs the branches of a parallel plan node concurrently, each in a lane (plan.h).
 * Events on one thread never overlap. */
#include "trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "portolan/output.h"
#include "portolan/printable.h"
#include "table.h"

/* The threads of a node, in this order: RANK_THREADS of each rank (send, receive, local work of lane 0),
 * LINKS of the node, GPU_THREADS of each GPU, and LANE_THREADS of each rank (local work of the other lanes).
 * pto_resource_t has the resources of ranks, nodes and GPUs in this order. */
enum {
    RANK_THREADS = PTO_RESOURCE_INJECTION,
    LINKS = PTO_RESOURCE_COPY_H2D - PTO_RESOURCE_INJECTION,
    GPU_THREADS = PTO_RESOURCE_COUNT - PTO_RESOURCE_COPY_H2D,
    LANE_THREADS = PTO_LANES_MAX - 1
};

struct pto_trace {
    const char *path;
    pto_output_t *output;
    FILE *file; /* of `output` */
    pto_layout_t layout;
    int64_t events_max;       /* of spans */
    int64_t written;          /* events, with those that name threads */
    int64_t seen;             /* spans, with those above events_max */
    int64_t threads_per_node; /* the greatest possible number */
    /* Whether a name has been written: for each node, of each thread, and last of the node itself. */
    bool *named;
};

pto_status_t pto_trace_create(const char *path, const pto_layout_t *layout, int64_t events_max,
                              pto_trace_t **trace, pto_error_t *err) {
    pto_trace_t *created = calloc(1, sizeof *created);
    if (!created)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a trace");
    created->path = path;
    created->layout = *layout;
    created->events_max = events_max;
    created->threads_per_node =
        layout->gpus_per_node * (layout->procs_per_gpu * (RANK_THREADS + LANE_THREADS) + GPU_THREADS) + LINKS;
    created->named =
        calloc((size_t)((created->threads_per_node + 1) * layout->nodes), sizeof *created->named);
    pto_status_t status = created->named ? pto_output_open(path, true, &created->output, err)
                                         : pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a trace");
    if (status != PTO_OK) {
        free(created->named);
        free(created);
        return status;
    }
    created->file = pto_output_stream(created->output);
    fputs("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [", created->file);
    *trace = created;
    return PTO_OK;
}

/* Returns the index of a span's thread within its node, and sets the thread's name. `index` of a span is that
 * of the rank or GPU. */
static int64_t thread_of(const pto_trace_t *trace, const pto_span_t *span, char *name, size_t name_size) {
    int64_t ranks = trace->layout.gpus_per_node * trace->layout.procs_per_gpu;
    const char *text = pto_resource_name(span->resource);
    if (span->resource == PTO_RESOURCE_LOCAL && span->lane > 0) {
        snprintf(name, name_size, "rank %lld lane %d", (long long)span->index, span->lane);
        return ranks * RANK_THREADS + LINKS + trace->layout.gpus_per_node * GPU_THREADS +
               span->index % ranks * LANE_THREADS + span->lane - 1;
    }
    if (span->resource <= PTO_RESOURCE_LOCAL) {
        snprintf(name, name_size, "rank %lld %s", (long long)span->index, text);
        return span->index % ranks * RANK_THREADS + (int64_t)span->resource;
    }
    snprintf(name, name_size, "%s", text);
    if (span->resource < PTO_RESOURCE_COPY_H2D)
        return ranks * RANK_THREADS + (int64_t)(span->resource - PTO_RESOURCE_INJECTION);
    int64_t gpu = span->index % trace->layout.gpus_per_node;
    snprintf(name, name_size, "GPU %lld %s", (long long)gpu, text);
    return ranks * RANK_THREADS + LINKS + gpu * GPU_THREADS +
           (int64_t)(span->resource - PTO_RESOURCE_COPY_H2D);
}

static void begin_event(pto_trace_t *trace) { fputs(trace->written++ ? ",\n" : "\n", trace->file); }

/* Writes the name of a node or of one of its threads, if `*named` is false. */
static void name_once(pto_trace_t *trace, bool *named, const char *what, int64_t node, int64_t thread,
                      const char *name) {
    if (*named)
        return;
    *named = true;
    begin_event(trace);
    fprintf(trace->file,
            "{\"ph\": \"M\", \"name\": \"%s\", \"pid\": %lld, \"tid\": %lld, \"args\": {\"name\": \"%s\"}}",
            what, (long long)node, (long long)thread, name);
}

static void name_thread(pto_trace_t *trace, int64_t node, int64_t thread, const char *name) {
    char node_name[32];
    snprintf(node_name, sizeof node_name, "node %lld", (long long)node);
    bool *named = trace->named + node * (trace->threads_per_node + 1);
    name_once(trace, named + trace->threads_per_node, "process_name", node, 0, node_name);
    name_once(trace, named + thread, "thread_name", node, thread, name);
}

/* Writes a member with a time in microseconds: null if it is too large for a number. */
static void write_time(FILE *file, const char *name, double seconds) {
    if (isfinite(seconds * 1e6))
        fprintf(file, ", \"%s\": %.6f", name, seconds * 1e6);
    else
        fprintf(file, ", \"%s\": null", name);
}

void pto_trace_visit(void *context, const pto_span_t *span) {
    pto_trace_t *trace = context;
    if (++trace->seen > trace->events_max)
        return;
    char name[64];
    int64_t thread = thread_of(trace, span, name, sizeof name);
    name_thread(trace, span->node, thread, name);
    begin_event(trace);
    fputs("{\"ph\": \"X\", \"name\": ", trace->file);
    pto_print_json_string(trace->file, span->name ? span->name : "busy");
    fprintf(trace->file, ", \"pid\": %lld, \"tid\": %lld", (long long)span->node, (long long)thread);
    write_time(trace->file, "ts", span->start_s);
    write_time(trace->file, "dur", span->end_s - span->start_s);
    fputs(", \"args\": {", trace->file);
    if (span->peer_rank >= 0)
        fprintf(trace->file, "\"peer\": %lld, ", (long long)span->peer_rank);
    fprintf(trace->file, "\"bytes\": %lld}}", (long long)span->bytes);
}

pto_status_t pto_trace_close(pto_trace_t *trace, bool keep, pto_error_t *err) {
    int64_t cut = trace->seen > trace->events_max ? trace->seen - trace->events_max : 0;
    fprintf(trace->file, "\n], \"otherData\": {\"events\": %lld, \"left_out\": %lld}}\n",
            (long long)(trace->seen - cut), (long long)cut);
    pto_status_t status = pto_output_close(trace->output, keep, err);
    char path[PTO_ERROR_FILE_MAX];
    if (status == PTO_OK && keep && cut > 0)
        fprintf(stderr, "portolan: the trace '%s' lacks the last %lld of %lld events (--trace-events)\n",
                pto_escape_text(trace->path, path, sizeof path), (long long)cut, (long long)trace->seen);
    free(trace->named);
    free(trace);
    return status;
}
