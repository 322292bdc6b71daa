/* What OSU's benchmarks and nccl-tests print. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "reader.h"

/* --- processes that nccl-tests list --------------------------------------------------------------------- */

enum { HOSTS_MAX = 1 << 14, HOSTS_PER_ITEM = 16 };

/* A process on a host whose name has so many characters; 0: the file does not name it. */
static pto_status_t add_listed(pto_recording_reader_t *reader, const char *host, size_t length) {
    pto_recording_listed_t *listed = &reader->listed;
    int at = listed->host_count - 1;
    listed->procs++;
    length = length < sizeof listed->host->name ? length : sizeof listed->host->name - 1;
    while (at >= 0 && (strncmp(listed->host[at].name, host, length) != 0 || listed->host[at].name[length]))
        at--;
    reader->source->items += (listed->host_count - at) / HOSTS_PER_ITEM;
    if (at >= 0) {
        listed->host[at].procs++;
        return PTO_OK;
    }
    if (listed->host_count == HOSTS_MAX)
        return pto_recording_fail(reader, PTO_ERR_TOO_LARGE, "more than %d hosts", HOSTS_MAX);
    if (listed->host_count == listed->host_room) {
        int room = listed->host_room ? 2 * listed->host_room : 16;
        pto_recording_host_t *grown = realloc(listed->host, (size_t)room * sizeof *grown);
        if (!grown)
            return pto_recording_fail(reader, PTO_ERR_MEMORY, "out of memory for hosts");
        listed->host = grown;
        listed->host_room = room;
    }
    pto_recording_host_t *added = &listed->host[listed->host_count++];
    *added = (pto_recording_host_t){.procs = 1};
    memcpy(added->name, host, length);
    return PTO_OK;
}

/* The nodes of a list; -1 if they have different numbers of processes, 0 if a host has no name. */
static int64_t listed_nodes(const pto_recording_listed_t *listed) {
    for (int i = 0; i < listed->host_count; i++) {
        if (listed->host[i].name[0] == '\0')
            return 0;
        if (listed->host[i].procs != listed->host[0].procs)
            return -1;
    }
    return listed->host_count;
}

/* More processes on a host than the machine has places for on a node. */
static pto_status_t fail_crowded(pto_recording_reader_t *reader, int64_t on_host) {
    const int64_t places = reader->options->gpus_per_node;
    int64_t fitting = places;
    while (fitting > 1 && reader->listed.procs % fitting != 0)
        fitting--;
    if (reader->options->nodes > 0)
        return pto_recording_fail(reader, PTO_ERR_NOT_APPLICABLE,
                                  "--nodes %lld has %lld processes on a node, and a node of the machine has "
                                  "places for %lld",
                                  (long long)reader->options->nodes, (long long)on_host, (long long)places);
    return pto_recording_fail(reader, PTO_ERR_KEY,
                              "the file lists %lld processes on a host, and a node of the machine has places "
                              "for %lld: --gpus-per-node %lld puts them on more nodes",
                              (long long)on_host, (long long)places, (long long)fitting);
}

static pto_status_t fail_processes(pto_recording_reader_t *reader) {
    const pto_recording_options_t *options = reader->options;
    const long long procs = (long long)reader->listed.procs, nodes = (long long)options->nodes;
    const long long each = (long long)options->gpus_per_node;
    if (options->places_assumed)
        return pto_recording_fail(reader, PTO_ERR_NOT_APPLICABLE,
                                  "the file lists %lld process%s, which --nodes %lld cannot have in equal "
                                  "numbers; `portolan predict` answers for other shapes",
                                  procs, procs == 1 ? "" : "es", nodes);
    return pto_recording_fail(reader, PTO_ERR_NOT_APPLICABLE,
                              "the file lists %lld process%s, and %lld node%s of %lld %s %lld; `portolan "
                              "predict` answers for other shapes",
                              procs, procs == 1 ? "" : "es", nodes, nodes == 1 ? "" : "s", each,
                              nodes == 1 ? "has" : "have", nodes * each);
}

/* --- benchmarks ----------------------------------------------------------------------------------------- */

/* The first that a heading contains. Sizes are bytes of a vector, of a block, or of the blocks of all. */
static const struct {
    const char *name;
    pto_collective_t collective;
    bool by_block;
} osu_tests[] =
    {
        {"Allgatherv", PTO_COLLECTIVE_ALLGATHERV, false},
        {"Gatherv", PTO_COLLECTIVE_COUNT, false},
        {"Scatterv", PTO_COLLECTIVE_COUNT, false},
        {"All-to-Allv", PTO_COLLECTIVE_ALLTOALLV, false},
        {"All-to-Allw", PTO_COLLECTIVE_COUNT, false},
        {"All-to-All", PTO_COLLECTIVE_ALLTOALL, false},
        {"Reduce_scatter", PTO_COLLECTIVE_REDUCE_SCATTER, true},
        {"Allreduce", PTO_COLLECTIVE_ALLREDUCE, false},
        {"Allgather", PTO_COLLECTIVE_ALLGATHER, false},
        {"Reduce", PTO_COLLECTIVE_REDUCE, false},
        {"Broadcast", PTO_COLLECTIVE_BROADCAST, false},
        {"Gather", PTO_COLLECTIVE_GATHER, false},
        {"Scatter", PTO_COLLECTIVE_SCATTER, false},
},
  nccl_tests[] = {
      {"all_reduce", PTO_COLLECTIVE_ALLREDUCE, false},
      {"reduce_scatter", PTO_COLLECTIVE_REDUCE_SCATTER, true},
      {"reduce", PTO_COLLECTIVE_REDUCE, false},
      {"broadcast", PTO_COLLECTIVE_BROADCAST, false},
      {"all_gather", PTO_COLLECTIVE_ALLGATHER, true},
      {"alltoall", PTO_COLLECTIVE_ALLTOALL, true},
      {"gather", PTO_COLLECTIVE_GATHER, true},
      {"scatter", PTO_COLLECTIVE_SCATTER, true},
};

static bool is_by_block(const pto_recording_reader_t *reader) {
    if (reader->trace->format == PTO_RECORDING_OSU)
        return reader->collective == PTO_COLLECTIVE_REDUCE_SCATTER;
    for (size_t i = 0; i < sizeof nccl_tests / sizeof *nccl_tests; i++)
        if (nccl_tests[i].collective == reader->collective)
            return nccl_tests[i].by_block;
    return false;
}

/* Whether a program is named after a benchmark: all_reduce_perf, all_reduce_perf_mpi, all_reduce. */
static bool is_named(const char *program, const char *test) {
    const char *found = strstr(program, test);
    const char *end = found ? found + strlen(test) : "-";
    return *end == '\0' || pto_text_begins(end, "_perf");
}

/* Its collective is one that a benchmark of nccl-tests measures. */
static bool is_nccl_test(pto_collective_t collective) {
    for (size_t i = 0; i < sizeof nccl_tests / sizeof *nccl_tests; i++)
        if (nccl_tests[i].collective == collective)
            return true;
    return false;
}

/* How many processes there were, and on how many nodes where the file lists them and the options do not say.
 */
static pto_status_t find_processes(const pto_recording_reader_t *reader, pto_recording_kind_t *kind) {
    const pto_recording_options_t *options = reader->options;
    const pto_recording_listed_t *listed = &reader->listed;
    const int64_t asked = options->nodes * options->gpus_per_node;
    kind->procs = listed->procs > 0 ? listed->procs : asked;
    if (listed->procs == 0)
        return PTO_OK;
    if (options->nodes == 0) {
        kind->nodes = options->places_assumed ? listed_nodes(listed) : 0;
        return PTO_OK;
    }
    kind->nodes = options->nodes;
    bool fits = options->places_assumed ? listed->procs % options->nodes == 0 : listed->procs == asked;
    return fits ? PTO_OK : PTO_ERR_NOT_APPLICABLE;
}

/* A size and its time. */
static pto_status_t add_row(pto_recording_reader_t *reader, int64_t bytes, double seconds) {
    const pto_recording_options_t *options = reader->options;
    pto_recording_kind_t kind = {.communicator = -1};
    if (find_processes(reader, &kind) != PTO_OK)
        return fail_processes(reader);
    if (options->places_assumed && kind.nodes > 0 && kind.procs / kind.nodes > options->gpus_per_node)
        return fail_crowded(reader, kind.procs / kind.nodes);
    const int64_t listed = listed_nodes(&reader->listed);
    reader->trace->listed_nodes = listed > 0 ? listed : 0;
    if (kind.procs == 0)
        return pto_recording_fail(reader, PTO_ERR_KEY,
                                  "the file does not say how many processes there were: give --nodes");
    if (reader->osu_on_host && !options->as_gpu) {
        reader->trace->skipped.on_host++;
        return PTO_OK;
    }
    if (reader->collective == PTO_COLLECTIVE_COUNT || bytes == 0 || kind.procs == 1) {
        ++*(bytes == 0 || kind.procs == 1 ? &reader->trace->skipped.sizeless
                                          : &reader->trace->skipped.others);
        return PTO_OK;
    }
    kind.call.collective = reader->collective;
    kind.call.bytes = is_by_block(reader) ? (bytes + kind.procs - 1) / kind.procs : bytes;
    snprintf(kind.call.route, sizeof kind.call.route, "%s",
             reader->trace->format == PTO_RECORDING_OSU ? "mpi" : "nccl");
    reader->trace->on_gpu += reader->trace->format == PTO_RECORDING_OSU && !reader->osu_on_host;
    return pto_recording_add(reader, &kind, seconds);
}

/* "# OSU MPI-CUDA Allreduce Latency Test v7.4"; for buffers in host memory, "# OSU MPI Allreduce ...". */
pto_status_t pto_osu_heading(pto_recording_reader_t *reader, const char *line) {
    size_t i = 0;
    reader->osu_on_host = pto_text_begins(line, "# OSU MPI ");
    *(reader->osu_on_host ? &reader->trace->times_on_host : &reader->trace->times_on_gpu) = true;
    while (i < sizeof osu_tests / sizeof *osu_tests && !strstr(line, osu_tests[i].name))
        i++;
    reader->collective =
        i < sizeof osu_tests / sizeof *osu_tests ? osu_tests[i].collective : PTO_COLLECTIVE_COUNT;
    return pto_recording_found(reader, PTO_RECORDING_OSU);
}

/* "1024   38.77   37.98 ...": other lines are of other programs that printed in between. */
pto_status_t pto_osu_row(pto_recording_reader_t *reader, char *line) {
    char *field[PTO_RECORDING_COLUMNS_MAX];
    int64_t bytes;
    double us;
    if (pto_recording_split(line, " \t", true, field) < 2 || !pto_recording_whole(field[0], &bytes) ||
        !pto_recording_seconds(field[1], &us))
        return PTO_OK;
    return add_row(reader, bytes, 1e-6 * us);
}

/* "#  Rank  0 Group  0 Pid  36987 on       node device  0 [0000:18:00] NVIDIA H200" */
static pto_status_t read_nccl_rank(pto_recording_reader_t *reader, const char *line) {
    const char *on = strstr(line, " on "), *bus = strstr(line, "] ");
    const char *host = on ? on + 4 + strspn(on + 4, " ") : "";
    if (bus)
        pto_recording_note_gpu(reader, bus + 2 + strspn(bus + 2, " "));
    return add_listed(reader, host, strcspn(host, " "));
}

static const char starting[] = "Collective test starting: ";

/* Whether portolan has its collective, and the options ask for no other. */
static pto_status_t name_nccl_program(pto_recording_reader_t *reader, const char *text) {
    const pto_collective_t asked = reader->options->collective;
    char program[64];
    size_t i = 0;
    snprintf(program, sizeof program, "%.*s", (int)strcspn(text, " \t\r"), text);
    while (i < sizeof nccl_tests / sizeof *nccl_tests && !is_named(program, nccl_tests[i].name))
        i++;
    if (i == sizeof nccl_tests / sizeof *nccl_tests)
        return pto_recording_fail(reader, PTO_ERR_NOT_FOUND, "portolan has no collective for %s%s", program,
                                  is_named(program, "sendrecv")
                                      ? ", in which all processes send to the next one at once; `portolan "
                                        "predict --collective pair` prices one such message"
                                      : "");
    if (asked != PTO_COLLECTIVE_COUNT && asked != nccl_tests[i].collective && reader->options->refuses_unused)
        return pto_recording_fail(reader, PTO_ERR_NOT_APPLICABLE, "the file is of %s (%s), not of %s",
                                  program, pto_collective_name(nccl_tests[i].collective),
                                  pto_collective_name(asked));
    reader->collective = nccl_tests[i].collective;
    return PTO_OK;
}

static pto_status_t read_nccl_comment(pto_recording_reader_t *reader, char *line) {
    char *field[PTO_RECORDING_COLUMNS_MAX];
    const char *name = strstr(line, starting);
    if (pto_text_begins(line + 1 + strspn(line + 1, " "), "Rank "))
        return read_nccl_rank(reader, line);
    if (strstr(line, "Using devices")) { /* of another run */
        reader->listed.procs = 0;
        reader->listed.host_count = 0;
    }
    if (name)
        return name_nccl_program(reader, name + strlen(starting));
    int count = pto_recording_split(line + 1, " \t", true, field);
    for (int i = count - 1; i > 0 && strcmp(field[0], "size") == 0; i--)
        if (strcmp(field[i], "time") == 0)
            reader->time_column = i; /* the first, out of place */
    return PTO_OK;
}

static pto_status_t read_nccl_row(pto_recording_reader_t *reader, char *line) {
    char *field[PTO_RECORDING_COLUMNS_MAX];
    int64_t bytes;
    double us;
    int count = pto_recording_split(line, " \t", true, field);
    if (count == 0 || !pto_recording_whole(field[0], &bytes))
        return PTO_OK;
    if (reader->time_column == 0 || count <= reader->time_column ||
        !pto_recording_seconds(field[reader->time_column], &us))
        return pto_recording_fail(reader, PTO_ERR_SYNTAX, "no time where the heading has it");
    if (reader->collective == PTO_COLLECTIVE_COUNT)
        return pto_recording_fail(reader, PTO_ERR_KEY,
                                  "the file does not name its collective: give --collective");
    return add_row(reader, bytes, 1e-6 * us);
}

pto_status_t pto_nccl_tests_found(pto_recording_reader_t *reader) {
    const pto_collective_t asked = reader->options->collective;
    if (asked != PTO_COLLECTIVE_COUNT && !is_nccl_test(asked))
        return pto_recording_fail(reader, PTO_ERR_NOT_APPLICABLE, "nccl-tests have no benchmark of %s",
                                  pto_collective_name(asked));
    reader->collective = asked;
    return pto_recording_found(reader, PTO_RECORDING_NCCL_TESTS);
}

bool pto_nccl_tests_is_heading(const char *line) {
    return pto_text_begins(line, "# nThread") || pto_text_begins(line, "# nccl-tests") ||
           pto_text_begins(line, "# Collective test starting: ");
}

pto_status_t pto_nccl_tests_line(pto_recording_reader_t *reader, char *line) {
    return *line == '#' ? read_nccl_comment(reader, line) : read_nccl_row(reader, line);
}
