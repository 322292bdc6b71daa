/* Traces of made jobs: calls.csv, PyTorch's traces of each process, and what NCCL's inspector dumps. */
#ifndef MADE_TRACES_H
#define MADE_TRACES_H

#include <stdarg.h>

#include "made_job.h"

typedef enum { MADE_CALLS, MADE_KINETO, MADE_INSPECTOR, MADE_INSPECTOR_VERBOSE } made_format_t;

typedef struct {
    size_t used, room;
    char *text;
} made_text_t;

__attribute__((format(printf, 2, 3))) static inline void made_print(made_text_t *text, const char *format,
                                                                    ...) {
    enum { LINE_MAX_BYTES = 2048 };
    if (text->used + LINE_MAX_BYTES > text->room) {
        text->room = 2 * text->room + LINE_MAX_BYTES;
        text->text = realloc(text->text, text->room);
    }
    va_list arguments;
    va_start(arguments, format);
    text->used += (size_t)vsnprintf(text->text + text->used, LINE_MAX_BYTES, format, arguments);
    va_end(arguments);
}

static inline bool made_is(const made_call_t *call, const char *routine) {
    return strcmp(call->routine, routine) == 0;
}

/* The ranks of a communicator, and the place of `rank` among them. */
static inline int made_members(const made_job_t *job, const made_call_t *call, int rank, char list[128]) {
    int place = -1;
    size_t used = 0;
    for (int i = 0; i < call->procs; i++) {
        const int member = call->group == 'b'   ? call->line * job->columns + i
                           : call->group == 'c' ? i * job->columns + call->line
                                                : i;
        used += (size_t)snprintf(list + used, 128 - used, "%s%d", i > 0 ? ", " : "", member);
        place = member == rank ? i : place;
    }
    return place;
}

static inline void made_calls_row(const made_job_t *job, const made_call_t *call, made_text_t *text) {
    char peer[16] = "";
    if (call->peer >= 0)
        snprintf(peer, sizeof peer, "%d", call->peer);
    made_print(text, "%d,%.9f,%.9f,%s,%c%d,%d,%s,%s,%.0f,gpu\n", call->rank,
               made_clock(job, call->rank, call->begin_s), made_clock(job, call->rank, call->end_s),
               call->routine, call->group, call->line, call->procs, peer, call->peer >= 0 ? "7" : "",
               call->bytes);
}

/* Microseconds from when the host was started. */
static inline void made_kineto_event(const made_job_t *job, const made_call_t *call, bool has_number,
                                     made_text_t *text) {
    const double begin_us = 6.4e12 + 1e6 * made_clock(job, call->rank, call->begin_s);
    const double elements = fmax(1, call->bytes / 4);
    char members[128], more[64] = "";
    made_members(job, call, call->rank, members);
    if (call->peer >= 0)
        snprintf(more, sizeof more, ", \"%s Rank\": %d", made_is(call, "MPI_Send") ? "Dst" : "Src",
                 call->peer);
    else if (has_number)
        snprintf(more, sizeof more, ", \"Seq\": %d", call->number);
    const char *name = made_is(call, "MPI_Send")       ? "send"
                       : made_is(call, "MPI_Recv")     ? "recv"
                       : made_is(call, "MPI_Alltoall") ? "all_to_allv"
                                                       : "allreduce";
    made_print(
        text,
        ",\n{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel\", \"pid\": 0, \"tid\": %d, "
        "\"ts\": %.3f, \"dur\": %.3f, \"args\": {\"Collective name\": \"%s\", \"In msg nelems\": %.0f, "
        "\"Out msg nelems\": %.0f, \"Group size\": %d, \"dtype\": \"Float\", \"Process Group Name\": "
        "\"%c\", \"Process Group Ranks\": \"[%s]\"%s}}",
        call->group, begin_us, 1e6 * (call->end_s - call->begin_s), name, elements, elements, call->procs,
        call->group, members, more);
}

static inline void made_inspector_record(const made_job_t *job, const made_call_t *call, bool is_verbose,
                                         int message, made_text_t *text) {
    const bool is_message = call->peer >= 0;
    const char *kind = is_message ? "p2p" : "coll";
    const char *name = made_is(call, "MPI_Send")       ? "Send"
                       : made_is(call, "MPI_Recv")     ? "Recv"
                       : made_is(call, "MPI_Alltoall") ? "AlltoAll"
                                                       : "AllReduce";
    char members[128], more[160] = "";
    if (is_message)
        snprintf(more, sizeof more, ",\"p2p_peer\":%d", call->peer);
    const size_t used = strlen(more);
    if (is_verbose)
        snprintf(more + used, sizeof more - used,
                 ",\"event_trace_ts\":{\"kernel_events\":[{\"channel_id\":0,\"kernel_stop_ts\":%.0f}]}",
                 1.7e15 + 1e6 * made_clock(job, call->rank, call->end_s));
    made_print(text,
               "{\"header\":{\"id\":\"0x%x\",\"rank\":%d,\"n_ranks\":%d,\"nnodes\":1},\"metadata\":{"
               "\"hostname\":\"node%d\",\"pid\":%d},\"%s_perf\":{\"%s\":\"%s\",\"%s_sn\":%d,"
               "\"%s_msg_size_bytes\":%.0f,\"%s_exec_time_us\":%.0f%s}}\n",
               256 * call->group + call->line, made_members(job, call, call->rank, members), call->procs,
               made_node(job, call->rank), 100 + call->rank % job->node_procs, kind, kind, name, kind,
               is_message ? message : call->number, kind, call->bytes, kind,
               1e6 * (call->end_s - call->begin_s), more);
}

/* What a process writes of its calls from `first` on: to the inspector's log, communicator by communicator.
 */
static inline void made_process(const made_job_t *job, made_format_t format, int rank, int first,
                                bool has_numbers, made_text_t *text) {
    int message = 0, calls = 0;
    for (char group = 'c'; group >= 'a'; group--)
        for (int i = 0; i < job->count; i++) {
            const made_call_t *call = &job->call[i];
            const bool is_first_pass = group == 'c';
            if (call->rank != rank ||
                (format == MADE_CALLS || format == MADE_KINETO ? !is_first_pass : call->group != group))
                continue;
            message += call->peer >= 0;
            if (calls++ < first)
                continue;
            if (format == MADE_CALLS)
                made_calls_row(job, call, text);
            else if (format == MADE_KINETO)
                made_kineto_event(job, call, has_numbers, text);
            else
                made_inspector_record(job, call, format == MADE_INSPECTOR_VERBOSE, message, text);
        }
}

/* The file of a process; to be freed. */
static inline char *made_trace(const made_job_t *job, made_format_t format, int rank, int first,
                               bool has_numbers) {
    made_text_t text = {.used = 0};
    char info[96]; /* before the events or after them */
    snprintf(info, sizeof info, "\"distributedInfo\": {\"rank\": %d, \"world_size\": %d}, ", rank,
             job->procs);
    if (format == MADE_CALLS)
        made_print(&text, "rank,begin_s,end_s,routine,communicator,procs,peer,tag,bytes,space\n");
    if (format == MADE_KINETO)
        made_print(&text,
                   "{%s\"baseTimeNanoseconds\": 1700000000000000000, \"traceEvents\": [{\"ph\": \"M\"}",
                   has_numbers ? info : "");
    made_process(job, format, rank, first, has_numbers, &text);
    if (format == MADE_KINETO)
        made_print(&text, has_numbers ? "]}\n" : "], %s\"version\": 1}\n", info);
    return text.text;
}

#endif
