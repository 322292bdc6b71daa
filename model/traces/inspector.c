/* What NCCL's inspector plugin writes (plugins/profiler/inspector, NCCL 2.28 and later): an object for each
 * collective or message of one process.
 *
 * The plugin has no specification but its source, and no public dump of it was found. Whether
 * `coll_msg_size_bytes` of an allgather, a reduce-scatter or an all-to-all is that of one block (the count in
 * NCCL's call) or of all blocks is therefore decided by the record itself. Assumed is that `coll_algobw_gbs`
 * is the algorithm bandwidth as NVIDIA defines it in doc/PERFORMANCE.md of nccl-tests: the bytes of all
 * blocks by the time, here `coll_exec_time_us`. Records without it are taken to have one block's size, and
 * are counted.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reader.h"

static double number_of(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : -1;
}

/* A file may hold several processes; the first is replayed. */
static bool is_first_process(pto_recording_reader_t *reader, const json_t *record) {
    const json_t *metadata = json_object_get(record, "metadata");
    const char *host = json_string_value(json_object_get(metadata, "hostname"));
    char process[sizeof reader->process];
    snprintf(process, sizeof process, "%.200s %.0f", host ? host : "", number_of(metadata, "pid"));
    if (reader->process[0] == '\0')
        memcpy(reader->process, process, sizeof process);
    return strcmp(reader->process, process) == 0;
}

static bool is_in_blocks(pto_collective_t collective) {
    return collective == PTO_COLLECTIVE_REDUCE_SCATTER || collective == PTO_COLLECTIVE_ALLGATHER ||
           collective == PTO_COLLECTIVE_ALLTOALL;
}

/* The bytes of one block. */
static double block_bytes(pto_recording_reader_t *reader, const json_t *call, double bytes, double us,
                          double procs) {
    double moved_bytes = number_of(call, "coll_algobw_gbs") * 1e3 * us; /* GB/s are 1e3 bytes/us */
    if (!(moved_bytes > 0 && moved_bytes < 1e18) || bytes <= 0) {
        reader->trace->sizes_assumed++;
        return bytes;
    }
    bool is_of_all = moved_bytes / bytes < sqrt(procs); /* nearer to 1 than to procs */
    return is_of_all ? ceil(bytes / procs) : bytes;
}

pto_status_t pto_inspector_record(pto_recording_reader_t *reader, const json_t *record) {
    const json_t *header = json_object_get(record, "header"), *call = json_object_get(record, "coll_perf");
    const bool is_message = call == NULL;
    if (is_message)
        call = json_object_get(record, "p2p_perf");
    pto_status_t status = pto_recording_found(reader, PTO_RECORDING_NCCL_INSPECTOR);
    if (status != PTO_OK || !is_first_process(reader, record))
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
        bytes = block_bytes(reader, call, bytes, us, procs);
    const bool by_block = collective == PTO_COLLECTIVE_ALLTOALL;
    return pto_recording_count(
        reader, &(pto_recorded_call_t){.collective = collective,
                                       .input_bytes = is_output ? -1 : bytes * (by_block ? procs : 1),
                                       .output_bytes = is_output ? bytes : -1,
                                       .procs = (int64_t)procs,
                                       .nodes = nodes >= 1 && nodes <= procs ? (int64_t)nodes : 0,
                                       .communicator = -1,
                                       .rank = rank >= 0 && rank < procs ? (int64_t)rank : -1,
                                       .peer = peer >= 0 && peer < procs ? (int64_t)peer : -1,
                                       .route = "nccl",
                                       .seconds = 1e-6 * us});
}
