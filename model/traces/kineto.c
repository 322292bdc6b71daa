/* Reads traces of PyTorch's profiler (Kineto), in the JSON of Chrome's trace viewer. json.c passes each event
 * that may matter. The `args` of a collective's kernel have what PyTorch's ParamCommsDebugInfo records: the
 * collective, its numbers of elements in and out, their type, and the process group with its ranks. `dur` is
 * in microseconds. If a trace has no kernels, the CPU's calls that launch them (`record_param_comms`) count
 * instead, without times. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "reader.h"

/* Returns a member that is a whole number of 0 or more; else -1. */
static int64_t whole_of(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    double number = json_number_value(value);
    return json_is_number(value) && number >= 0 && number < 9e15 && floor(number) == number ? (int64_t)number
                                                                                            : -1;
}

/* Adds the ranks of a group to its communicator: "[0, 1, 2]" or, if the list is long and ends in "...", those
 * by start and stride. `*number` is left unchanged if the trace has neither. */
static pto_status_t add_members(pto_recording_reader_t *reader, const json_t *args, const char *group,
                                int64_t procs, int *number) {
    json_t *ranks = json_loads(pto_json_text(args, "Process Group Ranks"), 0, NULL);
    int64_t start = whole_of(args, "Global rank start"), stride = whole_of(args, "Global rank stride");
    bool listed = json_is_array(ranks) && json_array_size(ranks) == (size_t)procs;
    pto_status_t status = PTO_OK;
    for (int64_t i = 0; i < procs && status == PTO_OK && (listed || (start >= 0 && stride > 0)); i++) {
        int64_t rank = start + i * stride;
        if (listed) {
            const json_t *member = json_array_get(ranks, (size_t)i);
            rank = json_is_integer(member) ? (int64_t)json_integer_value(member) : -1;
        }
        if (rank < 0)
            break;
        status = pto_recording_communicator(reader, group, rank, number);
    }
    json_decref(ranks);
    return status;
}

/* Finds the number of the group's communicator; -1 if its ranks are unknown. */
static pto_status_t find_group(pto_recording_reader_t *reader, const json_t *args, int64_t procs,
                               int *number) {
    enum { PROCS_MAX = 1 << 20 };
    char group[160];
    snprintf(group, sizeof group, "%s %lld", pto_json_text(args, "Process Group Name"), (long long)procs);
    *number = -1;
    if (procs > PROCS_MAX)
        return pto_recording_fail(reader, PTO_ERR_TOO_LARGE, "a process group of %lld ranks",
                                  (long long)procs);
    *number = pto_recording_known_communicator(reader, group);
    return *number < 0 ? add_members(reader, args, group, procs, number) : PTO_OK;
}

/* Makes a name of a process group that is the same on all its processes and differs from other groups'.
 * PyTorch's name alone may mean different groups. */
static void name_group(const json_t *args, int64_t procs, char name[192]) {
    const char *ranks = pto_json_text(args, "Process Group Ranks");
    snprintf(name, 192, "%.128s %lld %lld %lld %016llx", pto_json_text(args, "Process Group Name"),
             (long long)procs, (long long)whole_of(args, "Global rank start"),
             (long long)whole_of(args, "Global rank stride"),
             (unsigned long long)pto_hash_bytes(PTO_HASH_START, ranks, strlen(ranks)));
}

/* Returns the rank in the job of a member of the group; -1 if the trace does not say. */
static int32_t rank_of_member(const json_t *args, int64_t member) {
    json_t *ranks = json_loads(pto_json_text(args, "Process Group Ranks"), 0, NULL);
    const json_t *rank = member >= 0 ? json_array_get(ranks, (size_t)member) : NULL;
    const double number = json_is_integer(rank) ? (double)json_integer_value(rank) : -1;
    json_decref(ranks);
    return number >= 0 && number < PTO_TIMED_RANKS_MAX ? (int32_t)number : -1;
}

/* Adds the times of a kernel. They are by the host's clock, from an unknown origin; delays.c synchronizes
 * clocks. */
static pto_status_t time_call(pto_recording_reader_t *reader, const json_t *event, const json_t *args,
                              const pto_recorded_call_t *call, const char *name) {
    const json_t *begin = json_object_get(event, "ts");
    const double begin_us = json_number_value(begin);
    const int64_t number = whole_of(args, "Seq"), rank = reader->trace->rank;
    char group[192];
    if (!json_is_number(begin) || !(fabs(begin_us) < 1e18) || rank < 0 || rank >= PTO_TIMED_RANKS_MAX ||
        call->procs > PTO_TIMED_RANKS_MAX)
        return PTO_OK;
    if (!reader->has_first_us)
        reader->first_us = begin_us;
    reader->has_first_us = true;
    pto_timed_t timed = {.way = pto_recording_way(call->collective, name),
                         .rank = (int32_t)rank,
                         .peer = rank_of_member(args, call->peer),
                         .tag = -1,
                         .procs = (int32_t)call->procs,
                         .membership = -1,
                         .may_begin_late = true,
                         .bytes = (int64_t)fmax(0, fmin(1e18, fmax(call->input_bytes, call->output_bytes))),
                         .begin_s = 1e-6 * (begin_us - reader->first_us)};
    timed.is_numbered = timed.way == PTO_TIMED_BY_ALL && number >= 0 && number < INT32_MAX;
    timed.number = timed.is_numbered ? (int32_t)number : 0;
    timed.end_s = timed.begin_s + call->seconds;
    name_group(args, call->procs, group);
    return pto_recording_time(reader, group, pto_collective_name(call->collective), &timed);
}

/* Counts a collective or message of a process group, and times it if it is a kernel. */
static pto_status_t count_call(pto_recording_reader_t *reader, const json_t *event, const json_t *args,
                               const char *name, bool is_launch) {
    const int element = pto_recording_element_bytes(pto_json_text(args, "dtype"));
    const int64_t in = whole_of(args, "In msg nelems"), out = whole_of(args, "Out msg nelems");
    double seconds = 1e-6 * json_number_value(json_object_get(event, "dur"));
    pto_recorded_call_t call = {.collective = pto_recording_collective(name),
                                .input_bytes = element > 0 ? (double)in * element : -1,
                                .output_bytes = element > 0 ? (double)out * element : -1,
                                .procs = whole_of(args, "Group size"),
                                .communicator = -1,
                                .rank = reader->trace->rank,
                                .peer = whole_of(args, "Dst Rank"),
                                .route = "nccl",
                                .is_launch = is_launch,
                                .seconds = is_launch ? 0 : seconds};
    pto_status_t status = PTO_OK;
    if (!(seconds >= 0 && seconds < 1e9))
        return pto_recording_fail(reader, PTO_ERR_RANGE, "dur is not a time");
    if (call.peer < 0)
        call.peer = whole_of(args, "Src Rank");
    if (call.procs < 0)
        call.procs = reader->job_procs;
    if (call.collective != PTO_COLLECTIVE_PAIR && call.collective != PTO_COLLECTIVE_COUNT && call.procs > 1)
        status = find_group(reader, args, call.procs, &call.communicator);
    reader->last_kind = -1;
    if (status == PTO_OK)
        status = pto_recording_count(reader, &call);
    return status == PTO_OK && !is_launch ? time_call(reader, event, args, &call, name) : status;
}

/* An operator of symmetric memory (symm_mem::...). Its kernels have the same "External id", but only the
 * operator has the tensor. A trace has all operators before its kernels. */
typedef struct {
    int64_t id;
    pto_collective_t collective;
    double bytes;
} operator_t;

static pto_status_t store_operator(pto_recording_reader_t *reader, const json_t *event, const json_t *args) {
    enum { OPERATORS_MAX = 1 << 20 };
    const char *name = pto_json_text(event, "name") + strlen("symm_mem::");
    const json_t *dims = json_array_get(json_object_get(args, "Input Dims"), 0), *dim;
    const char *type = json_string_value(json_array_get(json_object_get(args, "Input type"), 0));
    double bytes = type ? pto_recording_element_bytes(type) : 0;
    const pto_collective_t collective = pto_recording_collective(name);
    const int64_t id = whole_of(args, "External id");
    size_t i;
    json_array_foreach(dims, i, dim) { bytes *= json_number_value(dim); }
    if (collective == PTO_COLLECTIVE_COUNT || !(bytes > 0 && bytes < 1e15) || id <= 0 ||
        reader->operators.count >= OPERATORS_MAX)
        return PTO_OK;
    reader->operators.slot_size = sizeof(operator_t);
    reader->operators.key_words = 1;
    operator_t *stored = pto_slots_add(&reader->operators, &id);
    if (!stored)
        return pto_recording_fail(reader, PTO_ERR_MEMORY, "out of memory for operators");
    *stored = (operator_t){id, collective, bytes};
    return PTO_OK;
}

/* Counts a kernel of an operator. Its group is assumed to be all processes of the node, because symmetric
 * memory does not reach beyond a node. */
static pto_status_t count_launched(pto_recording_reader_t *reader, const json_t *event,
                                   const operator_t *launched_by) {
    const int64_t node = reader->options->gpus_per_node;
    double seconds = 1e-6 * json_number_value(json_object_get(event, "dur"));
    if (!(seconds >= 0 && seconds < 1e9))
        return pto_recording_fail(reader, PTO_ERR_RANGE, "dur is not a time");
    reader->trace->groups_assumed++;
    return pto_recording_count(
        reader, &(pto_recorded_call_t){.collective = launched_by->collective,
                                       .input_bytes = launched_by->bytes,
                                       .output_bytes = -1,
                                       .procs = reader->job_procs < node ? reader->job_procs : node,
                                       .communicator = -1,
                                       .rank = -1,
                                       .peer = -1,
                                       .route = "symm_mem",
                                       .seconds = seconds});
}

/* Returns whether a kernel communicates, by its name: libraries' own kernels have no other sign of it. */
static bool communicates(const char *kernel) {
    static const char *const parts[] = {"nccl",       "all_reduce", "allreduce",      "cross_device_reduce",
                                        "all_gather", "allgather",  "reduce_scatter", "all_to_all",
                                        "alltoall"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(kernel, parts[i]))
            return true;
    return false;
}

bool pto_kineto_may_matter(const char *text) {
    return strstr(text, "\"Collective name\"") || strstr(text, "symm_mem::") ||
           (strstr(text, "\"kernel\"") && communicates(text)) || strstr(text, "\\u"); /* any escaped letter */
}

pto_status_t pto_kineto_event(pto_recording_reader_t *reader, const json_t *event) {
    const char *name = pto_json_text(event, "name"), *category = pto_json_text(event, "cat");
    const json_t *args = json_object_get(event, "args");
    const char *collective = pto_json_text(args, "Collective name");
    if (!json_is_object(event))
        return pto_recording_fail(reader, PTO_ERR_TYPE, "an event is not an object");
    bool is_kernel = strcmp(category, "kernel") == 0;
    if (strcmp(pto_json_text(event, "ph"), "X") != 0 || strcmp(collective, "wait") == 0)
        return PTO_OK;
    if (*collective != '\0' && (is_kernel || strcmp(name, "record_param_comms") == 0))
        return count_call(reader, event, args, collective, !is_kernel);
    if (pto_text_begins(name, "symm_mem::"))
        return store_operator(reader, event, args);
    if (!is_kernel || !communicates(name))
        return PTO_OK;
    const int64_t id = whole_of(args, "External id");
    const operator_t *launched_by = pto_slots_find(&reader->operators, &id);
    if (launched_by && reader->job_procs > 0)
        return count_launched(reader, event, launched_by);
    reader->trace->skipped.sizeless++;
    return PTO_OK;
}
