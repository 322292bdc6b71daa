/* Counts nodes of Chakra execution traces (MLCommons), each of which is of one process. As in ASTRA-sim and
 * in Chakra's converter, `comm_size` is what the process contributes: its vector, its block of a gather, or
 * its blocks for all. */
#include "chakra.h"

#include <stdlib.h>
#include <string.h>

pto_chakra_node_t pto_chakra_node(void) {
    return (pto_chakra_node_t){.type = -1,
                               .name = "",
                               .collective = PTO_COLLECTIVE_COUNT,
                               .bytes = -1,
                               .source = -1,
                               .destination = -1,
                               .procs = -1};
}

/* Returns the collective of a CollectiveCommType of Chakra's schema. */
static pto_collective_t collective_of(double type) {
    static const pto_collective_t known[] = {
        PTO_COLLECTIVE_ALLREDUCE, PTO_COLLECTIVE_REDUCE,         PTO_COLLECTIVE_ALLGATHER,
        PTO_COLLECTIVE_GATHER,    PTO_COLLECTIVE_SCATTER,        PTO_COLLECTIVE_BROADCAST,
        PTO_COLLECTIVE_ALLTOALL,  PTO_COLLECTIVE_REDUCE_SCATTER, PTO_COLLECTIVE_REDUCE_SCATTER,
    };
    const int count = (int)(sizeof known / sizeof *known);
    return type >= 0 && type < count ? known[(int)type] : PTO_COLLECTIVE_COUNT;
}

void pto_chakra_set(pto_chakra_node_t *node, const char *attribute, double number, const char *text) {
    if (strcmp(attribute, "comm_type") == 0)
        node->collective = text ? pto_recording_collective(text) : collective_of(number);
    else if (strcmp(attribute, "comm_size") == 0)
        node->bytes = number;
    else if (strcmp(attribute, "comm_src") == 0)
        node->source = number;
    else if (strcmp(attribute, "comm_dst") == 0)
        node->destination = number;
    else if (strcmp(attribute, "pg_size") == 0)
        node->procs = number;
    else if (strcmp(attribute, "is_cpu_op") == 0)
        node->is_cpu_op = number != 0;
}

static int64_t rank_of(double number) { return number >= 0 && number < 1 << 24 ? (int64_t)number : -1; }

pto_status_t pto_chakra_count(pto_recording_reader_t *reader, const pto_chakra_node_t *node) {
    const bool is_send = node->type == PTO_CHAKRA_SEND, is_receive = node->type == PTO_CHAKRA_RECV;
    if (!is_send && !is_receive && node->type != PTO_CHAKRA_COLLECTIVE)
        return PTO_OK;
    int64_t rank = rank_of(is_send ? node->source : node->destination);
    pto_recorded_call_t call = {.collective = node->collective,
                                .input_bytes = node->bytes,
                                .output_bytes = -1,
                                .procs = rank_of(node->procs) > 0 ? rank_of(node->procs) : 0,
                                .communicator = -1,
                                .rank = rank >= 0 ? rank : reader->trace->rank,
                                .peer = rank_of(is_send ? node->destination : node->source),
                                .route = strstr(node->name, "nccl") ? "nccl" : "mpi",
                                .is_launch = node->is_cpu_op,
                                .seconds = node->is_cpu_op ? 0 : 1e-6 * node->micros};
    if (is_send || is_receive)
        call.collective = PTO_COLLECTIVE_PAIR;
    else if (call.collective == PTO_COLLECTIVE_COUNT)
        call.collective = pto_recording_collective(node->name);
    return pto_recording_count(reader, &call);
}

void pto_chakra_find_rank(pto_recording_reader_t *reader) {
    const char *slash = strrchr(reader->path, '/'), *name = slash ? slash + 1 : reader->path;
    for (const char *dot = strchr(name, '.'); dot && reader->trace->rank < 0; dot = strchr(dot + 1, '.')) {
        size_t digits = strspn(dot + 1, "0123456789");
        if (digits > 0 && digits < 8 && dot[1 + digits] == '.')
            reader->trace->rank = strtol(dot + 1, NULL, 10);
    }
}
