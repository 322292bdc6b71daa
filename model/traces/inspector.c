/* Reads dumps of NCCL's inspector plugin (plugins/profiler/inspector, NCCL 2.28 and later): an object for
 * each collective or message of one process, which json.c passes to pto_inspector_record.
 *
 * The plugin's only specification is its source, and no public dump was found. So it is not known whether
 * `coll_msg_size_bytes` of an allgather, reduce-scatter or all-to-all is that of one block (the count in
 * NCCL's call) or of all blocks. It is decided for each record by `coll_algobw_gbs`, which is assumed to be
 * the algorithm bandwidth of nccl-tests (doc/PERFORMANCE.md): the bytes of all blocks over the time
 * `coll_exec_time_us`. A record without it is assumed to have one block's size, and is counted as such. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reader.h"

enum { PROCESS_MAX = sizeof(((pto_recording_reader_t *)0)->process) };

static double number_of(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : -1;
}

static void name_process(const json_t *record, char name[PROCESS_MAX]) {
    const json_t *metadata = json_object_get(record, "metadata");
    const char *host = json_string_value(json_object_get(metadata, "hostname"));
    snprintf(name, PROCESS_MAX, "%.200s %.0f", host ? host : "", number_of(metadata, "pid"));
}

/* Returns whether the process is the file's first one, which is replayed. */
static bool is_first_process(pto_recording_reader_t *reader, const char *process) {
    if (reader->process[0] == '\0')
        snprintf(reader->process, sizeof reader->process, "%s", process);
    return strcmp(reader->process, process) == 0;
}

static bool is_in_blocks(pto_collective_t collective) {
    return collective == PTO_COLLECTIVE_REDUCE_SCATTER || collective == PTO_COLLECTIVE_ALLGATHER ||
           collective == PTO_COLLECTIVE_ALLTOALL;
}

/* Returns the bytes of one block, by a call's recorded bytes and time. If this is a guess, adds 1 to
 * `*assumed`, which may be NULL. */
static double block_bytes(const json_t *call, double bytes, double us, double procs, int64_t *assumed) {
    double moved_bytes = number_of(call, "coll_algobw_gbs") * 1e3 * us; /* GB/s are 1e3 bytes/us */
    if (!(moved_bytes > 0 && moved_bytes < 1e18) || bytes <= 0) {
        if (assumed)
            (*assumed)++;
        return bytes;
    }
    bool is_of_all = moved_bytes / bytes < sqrt(procs); /* nearer to 1 than to procs */
    return is_of_all ? ceil(bytes / procs) : bytes;
}

/* Returns when the last channel's kernel stopped, in microseconds of the host's clock; 0 if the dump is not
 * verbose (NCCL_INSPECTOR_DUMP_VERBOSE). The kernel's start time is not used, because a proxy thread notes it
 * late: the stop time minus the GPU's own duration is more exact. */
static double stop_us(const json_t *call) {
    const json_t *events = json_object_get(json_object_get(call, "event_trace_ts"), "kernel_events"), *event;
    double last_us = 0;
    size_t i;
    json_array_foreach(events, i, event) last_us = fmax(last_us, number_of(event, "kernel_stop_ts"));
    return last_us < 1e18 ? last_us : 0;
}

/* Adds the times of a call. Host and process id identify a process, and NCCL's own numbers its calls. */
static pto_status_t time_call(pto_recording_reader_t *reader, const json_t *record, const json_t *call,
                              const pto_recorded_call_t *counted, const char *name, const char *process) {
    const char *communicator = json_string_value(json_object_get(json_object_get(record, "header"), "id"));
    const bool is_message = counted->collective == PTO_COLLECTIVE_PAIR;
    const double number = number_of(call, is_message ? "p2p_sn" : "coll_sn"), end_us = stop_us(call);
    char id[160];
    if (!reader->options->timeline || !communicator || counted->rank < 0 || number < 0 ||
        number >= INT32_MAX || counted->procs > PTO_TIMED_RANKS_MAX)
        return PTO_OK;
    pto_timed_t timed = {.way = pto_recording_way(counted->collective, name),
                         .peer = (int32_t)counted->peer,
                         .tag = -1,
                         .procs = (int32_t)counted->procs,
                         .number = (int32_t)number,
                         .is_numbered = !is_message,
                         .only_duration = !(end_us > 0),
                         .is_rounded = true,
                         .bytes = (int64_t)fmax(counted->input_bytes, counted->output_bytes)};
    if (end_us > 0 && !reader->has_first_us)
        reader->first_us = end_us;
    reader->has_first_us = reader->has_first_us || end_us > 0;
    timed.end_s = end_us > 0 ? 1e-6 * (end_us - reader->first_us) : 0;
    timed.begin_s = timed.end_s - counted->seconds;
    snprintf(id, sizeof id, "%.120s %lld", communicator, (long long)counted->procs);
    if (!pto_timeline_set_member(reader->options->timeline, id, (int32_t)counted->rank, timed.procs, process,
                                 &timed))
        return pto_recording_fail(reader, PTO_ERR_MEMORY, "out of memory for the times of calls");
    return pto_recording_time(reader, id, pto_collective_name(counted->collective), &timed);
}

pto_status_t pto_inspector_record(pto_recording_reader_t *reader, const json_t *record) {
    const json_t *header = json_object_get(record, "header"), *call = json_object_get(record, "coll_perf");
    const bool is_message = call == NULL;
    if (is_message)
        call = json_object_get(record, "p2p_perf");
    char process[PROCESS_MAX];
    pto_status_t status = pto_recording_found(reader, PTO_RECORDING_NCCL_INSPECTOR);
    name_process(record, process);
    const bool is_first = is_first_process(reader, process);
    if (status != PTO_OK || !(is_first || reader->options->timeline))
        return status;
    const char *name = json_string_value(json_object_get(call, is_message ? "p2p" : "coll"));
    double bytes = number_of(call, is_message ? "p2p_msg_size_bytes" : "coll_msg_size_bytes");
    double us = number_of(call, is_message ? "p2p_exec_time_us" : "coll_exec_time_us");
    double procs = number_of(header, "n_ranks"), nodes = number_of(header, "nnodes");
    double rank = number_of(header, "rank"), peer = number_of(call, "p2p_peer");
    if (!name || !(procs >= 1 && procs <= 1 << 24) || !(bytes >= 0 && bytes < 1e18) ||
        !(us >= 0 && us < 1e15))
        return pto_recording_fail(
            reader, PTO_ERR_RANGE,
            "a call without a name, n_ranks, bytes or a time, or with one out of bounds");
    if (procs > (double)reader->job_procs)
        reader->job_procs = (int64_t)procs;
    const pto_collective_t collective = pto_recording_collective(name);
    const bool is_output =
        collective == PTO_COLLECTIVE_REDUCE_SCATTER || collective == PTO_COLLECTIVE_SCATTER;
    if (is_in_blocks(collective) && procs > 1)
        bytes = block_bytes(call, bytes, us, procs, is_first ? &reader->trace->sizes_assumed : NULL);
    const bool by_block = collective == PTO_COLLECTIVE_ALLTOALL;
    const pto_recorded_call_t counted = {.collective = collective,
                                         .input_bytes = is_output ? -1 : bytes * (by_block ? procs : 1),
                                         .output_bytes = is_output ? bytes : -1,
                                         .procs = (int64_t)procs,
                                         .nodes = nodes >= 1 && nodes <= procs ? (int64_t)nodes : 0,
                                         .communicator = -1,
                                         .rank = rank >= 0 && rank < procs ? (int64_t)rank : -1,
                                         .peer = peer >= 0 && peer < procs ? (int64_t)peer : -1,
                                         .route = "nccl",
                                         .seconds = 1e-6 * us};
    reader->last_kind = -1;
    if (is_first)
        status = pto_recording_count(reader, &counted);
    return status == PTO_OK ? time_call(reader, record, call, &counted, name, process) : status;
}
