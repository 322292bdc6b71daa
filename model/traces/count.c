/* Counts the calls that traces of other tools describe. The reader of each format fills a
 * pto_recorded_call_t. This file converts it to the collective, bytes and distance of a scenario, and finds
 * collectives and types by name. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reader.h"

/* Writes a name in lower case, without underscores, hyphens and the first prefix of a library or kernel. */
static void plain_name(const char *name, char *plain, size_t size) {
    static const char *const fronts[] = {"c10d::", "nccl:",    "ncclkernel", "nccldevkernel",
                                         "nccl",   "multimem", "oneshot",    "twoshot"};
    size_t length = 0;
    for (const char *at = name; *at && length + 1 < size; at++)
        if (*at != '_' && *at != '-')
            plain[length++] = (char)tolower((unsigned char)*at);
    plain[length] = '\0';
    for (size_t i = 0; i < sizeof fronts / sizeof *fronts; i++) {
        size_t front = strlen(fronts[i]);
        if (strncmp(plain, fronts[i], front) == 0) {
            memmove(plain, plain + front, length - front + 1);
            return;
        }
    }
}

/* Returns the length of the collective's name, without underscores, if the plain name begins with it; else 0.
 * Traces have no names for halos and for collectives whose blocks differ between owners. */
static size_t length_of(const char *plain, pto_collective_t collective) {
    size_t length = 0;
    if (!pto_collective_is_in_mpi(collective) || pto_collective_is_by_owner(collective) ||
        collective == PTO_COLLECTIVE_HALO)
        return 0;
    for (const char *c = pto_collective_name(collective); *c; c++)
        if (*c != '_' && plain[length++] != *c)
            return 0;
    return length;
}

pto_collective_t pto_recording_collective(const char *name) {
    pto_collective_t found = PTO_COLLECTIVE_COUNT;
    size_t longest = 0;
    char plain[64];
    plain_name(name, plain, sizeof plain);
    if (strncmp(plain, "sendrecv", 8) != 0 &&
        (strncmp(plain, "send", 4) == 0 || strncmp(plain, "recv", 4) == 0))
        return PTO_COLLECTIVE_PAIR;
    for (pto_collective_t c = 0; c < PTO_COLLECTIVE_COUNT; c++)
        if (length_of(plain, c) > longest) {
            longest = length_of(plain, c);
            found = c;
        }
    return found;
}

pto_timed_way_t pto_recording_way(pto_collective_t collective, const char *name) {
    char plain[64];
    if (collective == PTO_COLLECTIVE_PAIR) {
        plain_name(name, plain, sizeof plain);
        return strncmp(plain, "send", 4) == 0 ? PTO_TIMED_SEND : PTO_TIMED_RECEIVE;
    }
    if (!pto_collective_is_in_mpi(collective))
        return PTO_TIMED_NOT;
    return pto_collective_is_from_root(collective) ? PTO_TIMED_FROM_ROOT
           : pto_collective_is_to_root(collective) ? PTO_TIMED_TO_ROOT
                                                   : PTO_TIMED_BY_ALL;
}

int pto_recording_element_bytes(const char *type) {
    static const struct {
        const char *name;
        int bytes;
    } known[] = {
        {"float", 4},          {"double", 8},       {"half", 2},         {"bfloat16", 2},
        {"byte", 1},           {"char", 1},         {"short", 2},        {"int", 4},
        {"long", 8},           {"longint", 8},      {"bool", 1},         {"unsignedchar", 1},
        {"shortint", 2},       {"signedchar", 1},   {"float32", 4},      {"float64", 8},
        {"float16", 2},        {"int8", 1},         {"uint8", 1},        {"int16", 2},
        {"uint16", 2},         {"int32", 4},        {"uint32", 4},       {"int64", 8},
        {"uint64", 8},         {"float8e4m3fn", 1}, {"float8e5m2", 1},   {"float8e4m3fnuz", 1},
        {"float8e5m2fnuz", 1}, {"complexhalf", 4},  {"complexfloat", 8}, {"complexdouble", 16},
    };
    char plain[32];
    size_t length = 0;
    if (strncmp(type, "c10::", 5) == 0)
        type += 5;
    for (; *type && length + 1 < sizeof plain; type++)
        if (*type != '_' && *type != ' ')
            plain[length++] = (char)tolower((unsigned char)*type);
    plain[length] = '\0';
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(plain, known[i].name) == 0)
            return known[i].bytes;
    return 0;
}

/* Returns the bytes as in scenarios: of a process's vector or, if the data are blocks, of one block. Negative
 * if unknown. */
static double scenario_bytes(const pto_recorded_call_t *call, int64_t procs) {
    const double in = call->input_bytes, out = call->output_bytes;
    switch (pto_collective_data(call->collective)) {
    case PTO_DATA_SCATTERED:
        return out >= 0 || in < 0 ? out : ceil(in / (double)procs);
    case PTO_DATA_BLOCKS:
        return in < 0 ? in : ceil(in / (double)procs);
    case PTO_DATA_GATHERED:
        return in >= 0 || out < 0 ? in : ceil(out / (double)procs);
    default:
        return in >= 0 ? in : out;
    }
}

/* Returns the distance between two ranks; that of ranks 0 and 1 if one is unknown. */
static pto_level_t distance_of(const pto_recording_options_t *options, int64_t rank, int64_t peer) {
    if (rank < 0 || peer < 0 || rank == peer) {
        rank = 0;
        peer = 1;
    }
    const int64_t node = options->gpus_per_node, socket = options->gpus_per_socket;
    if (rank / node != peer / node)
        return PTO_LEVEL_OFF_NODE;
    return socket > 0 && rank % node / socket != peer % node / socket ? PTO_LEVEL_ON_NODE
                                                                      : PTO_LEVEL_ON_SOCKET;
}

pto_status_t pto_recording_count(pto_recording_reader_t *reader, const pto_recorded_call_t *call) {
    enum { BYTES_MAX = 1 << 30 };
    const pto_recording_options_t *options = reader->options;
    pto_recording_skipped_t *skipped = call->is_launch ? &reader->launch_skipped : &reader->trace->skipped;
    pto_recording_kind_t kind = {.communicator = call->communicator,
                                 .procs = call->procs,
                                 .nodes = call->nodes,
                                 .is_launch = call->is_launch};
    reader->has_gpu_calls = reader->has_gpu_calls || !call->is_launch;
    if (call->collective == PTO_COLLECTIVE_COUNT) {
        skipped->others++;
        return PTO_OK;
    }
    if (call->collective == PTO_COLLECTIVE_PAIR) {
        int64_t most = call->rank > call->peer ? call->rank : call->peer;
        reader->most_rank = most > reader->most_rank ? most : reader->most_rank;
        kind.procs = 2;
        kind.call.distance = distance_of(options, call->rank, call->peer);
    }
    if (call->input_bytes <= 0 && call->output_bytes <= 0) {
        skipped->sizeless++;
        return PTO_OK;
    }
    if (kind.procs == 0)
        kind.procs = options->nodes > 0 ? options->nodes * options->gpus_per_node : reader->job_procs;
    if (kind.procs == 0)
        return pto_recording_fail(reader, PTO_ERR_KEY,
                                  "the file does not say how many processes there were%s",
                                  pto_recording_takes_nodes(reader->trace->format) ? ": give --nodes" : "");
    double bytes = scenario_bytes(call, kind.procs);
    if (bytes > 1e6 * BYTES_MAX || kind.procs > BYTES_MAX)
        return pto_recording_fail(reader, PTO_ERR_RANGE, "%g bytes on %lld processes are out of bounds",
                                  bytes, (long long)kind.procs);
    if (bytes <= 0 || kind.procs == 1) {
        skipped->sizeless++;
        return PTO_OK;
    }
    kind.call.collective = call->collective;
    kind.call.bytes = (int64_t)bytes;
    snprintf(kind.call.route, sizeof kind.call.route, "%s", call->route);
    return pto_recording_add(reader, &kind, call->seconds);
}
