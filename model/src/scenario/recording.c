/* Reading recorded collectives line by line: what the formats have in common. The lines of each format are
 * read in recording_lines.c. */
#include "portolan/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/recording_internal.h"

const char *pto_recording_format_name(pto_recording_format_t format) {
    static const char *const name[] = {"calls.csv", "OSU", "nccl-tests"};
    return format < PTO_RECORDING_COUNT ? name[format] : "no format";
}

pto_status_t pto_recording_fail(pto_recording_reader_t *reader, pto_status_t status, const char *message) {
    return pto_error_set_at(reader->err, status, reader->path, reader->line, 1, "%s", message);
}

/* --- an index of texts ---------------------------------------------------------------------------------- */

static size_t slot_of(const pto_text_index_t *index, const char *text) {
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
    for (const char *at = text; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 0x100000001b3;
    size_t slot = (size_t)hash & (index->slots - 1);
    while (index->slot[slot] && strcmp(index->text[index->slot[slot] - 1], text) != 0)
        slot = (slot + 1) & (index->slots - 1);
    return slot;
}

static bool grow(pto_text_index_t *index) {
    const size_t slots = index->slots ? 2 * index->slots : 256;
    char **text = realloc(index->text, slots / 2 * sizeof *text);
    if (text)
        index->text = text;
    int *slot = text ? calloc(slots, sizeof *slot) : NULL;
    if (!slot)
        return false;
    free(index->slot);
    index->slot = slot;
    index->slots = slots;
    for (int i = 0; i < index->count; i++)
        index->slot[slot_of(index, index->text[i])] = i + 1;
    return true;
}

/* The number of a text, new or not; -1: out of memory. */
static int find_or_add(pto_text_index_t *index, const char *text) {
    if ((size_t)index->count >= index->slots / 2 && !grow(index))
        return -1;
    size_t slot = slot_of(index, text);
    if (index->slot[slot])
        return index->slot[slot] - 1;
    index->text[index->count] = strdup(text);
    if (!index->text[index->count])
        return -1;
    index->slot[slot] = ++index->count;
    return index->count - 1;
}

static void fini_index(pto_text_index_t *index) {
    for (int i = 0; i < index->count; i++)
        free(index->text[i]);
    free(index->text);
    free(index->slot);
}

/* --- calls and communicators ---------------------------------------------------------------------------- */

enum { KINDS_MAX = 1 << 16, COMMUNICATORS_MAX = 1 << 16, MEMBERS_MAX = 1 << 24 };

pto_status_t pto_recording_add(pto_recording_reader_t *reader, const pto_recording_kind_t *kind,
                               double seconds) {
    char key[160];
    snprintf(key, sizeof key, "%d %d %lld %lld %s", (int)kind->call.collective, kind->communicator,
             (long long)kind->call.bytes, (long long)kind->procs, kind->call.route);
    int before = reader->kinds.count, number = find_or_add(&reader->kinds, key);
    if (number >= KINDS_MAX)
        return pto_recording_fail(reader, PTO_ERR_TOO_LARGE, "more than 65,536 kinds of calls");
    if (number == before && number == reader->kind_room) {
        int room = number ? 2 * number : 64;
        pto_recording_kind_t *grown = realloc(reader->kind, (size_t)room * sizeof *grown);
        if (!grown)
            number = -1;
        else {
            reader->kind = grown;
            reader->kind_room = room;
        }
    }
    if (number < 0)
        return pto_recording_fail(reader, PTO_ERR_MEMORY, "out of memory for calls");
    if (number == before)
        reader->kind[number] = *kind;
    reader->kind[number].call.times++;
    reader->kind[number].call.measured_s += seconds;
    return PTO_OK;
}

static bool room_for_members(pto_recording_members_t *members, int64_t rank) {
    if (rank < members->ranks)
        return true;
    int64_t ranks = members->ranks ? members->ranks : 64;
    while (ranks <= rank)
        ranks *= 2;
    bool *grown = realloc(members->has, (size_t)ranks);
    if (!grown)
        return false;
    memset(grown + members->ranks, 0, (size_t)(ranks - members->ranks));
    members->has = grown;
    members->ranks = ranks;
    return true;
}

pto_status_t pto_recording_communicator(pto_recording_reader_t *reader, const char *id, int64_t rank,
                                        int *number) {
    int before = reader->communicators.count;
    *number = rank < MEMBERS_MAX ? find_or_add(&reader->communicators, id) : COMMUNICATORS_MAX;
    if (*number >= COMMUNICATORS_MAX)
        return pto_recording_fail(reader, PTO_ERR_TOO_LARGE,
                                  "more than 65,536 communicators or 2^24 processes");
    if (*number >= 0 && *number == before) {
        pto_recording_members_t *grown = realloc(reader->members, ((size_t)before + 1) * sizeof *grown);
        if (grown) {
            reader->members = grown;
            grown[before] = (pto_recording_members_t){0};
            reader->member_count++;
        } else
            *number = -1;
    }
    if (*number < 0 || !room_for_members(&reader->members[*number], rank))
        return pto_recording_fail(reader, PTO_ERR_MEMORY, "out of memory for communicators");
    pto_recording_members_t *members = &reader->members[*number];
    members->count += !members->has[rank];
    members->has[rank] = true;
    if (rank >= reader->job_procs)
        reader->job_procs = rank + 1;
    return PTO_OK;
}

/* --- shapes --------------------------------------------------------------------------------------------- */

/* The number of members on each node of a communicator that was seen whole; 0: it differs. */
static int64_t members_on_a_node(const pto_recording_members_t *members, int64_t node_procs) {
    int64_t each = 0;
    for (int64_t first = 0; first < members->ranks; first += node_procs) {
        int64_t here = 0;
        for (int64_t rank = first; rank < first + node_procs && rank < members->ranks; rank++)
            here += members->has[rank];
        if (here == 0)
            continue;
        if (each != 0 && here != each)
            return 0;
        each = here;
    }
    return each;
}

/* Where the file does not show all members, they follow each other. False: uneven. */
static bool find_shape(const pto_recording_reader_t *reader, pto_recording_kind_t *kind) {
    const int64_t node_procs = reader->options->gpus_per_node;
    int64_t each = kind->procs < node_procs ? kind->procs : node_procs;
    int64_t job = reader->job_procs > kind->procs ? reader->job_procs : kind->procs;
    if (kind->communicator >= 0 && reader->members[kind->communicator].count == kind->procs)
        each = members_on_a_node(&reader->members[kind->communicator], node_procs);
    if (each < 1 || kind->procs % each != 0)
        return false;
    kind->call.nodes = kind->procs / each;
    kind->call.gpus_per_node = each;
    kind->call.per_node = (job < node_procs ? job : node_procs) / each;
    if (kind->call.per_node < 1 || job == kind->procs)
        kind->call.per_node = 1;
    return true;
}

static bool is_alike(const pto_recording_call_t *a, const pto_recording_call_t *b) {
    return a->collective == b->collective && a->bytes == b->bytes && a->nodes == b->nodes &&
           a->gpus_per_node == b->gpus_per_node && a->per_node == b->per_node &&
           strcmp(a->route, b->route) == 0;
}

static int by_kind(const void *left, const void *right) {
    const pto_recording_kind_t *a = left, *b = right;
    const int64_t order[][2] = {{(int64_t)a->call.collective, (int64_t)b->call.collective},
                                {a->call.nodes, b->call.nodes},
                                {a->call.gpus_per_node, b->call.gpus_per_node},
                                {a->call.per_node, b->call.per_node},
                                {a->call.bytes, b->call.bytes}};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (order[i][0] != order[i][1])
            return order[i][0] < order[i][1] ? -1 : 1;
    return strcmp(a->call.route, b->call.route);
}

/* Calls of communicators of one shape are one kind. */
static pto_status_t join_kinds(pto_recording_reader_t *reader, pto_recording_t *trace) {
    int count = 0;
    for (int i = 0; i < reader->kinds.count; i++) {
        if (find_shape(reader, &reader->kind[i]))
            reader->kind[count++] = reader->kind[i];
        else
            trace->skipped.uneven += reader->kind[i].call.times;
    }
    trace->call = calloc((size_t)count + 1, sizeof *trace->call);
    if (!trace->call)
        return pto_recording_fail(reader, PTO_ERR_MEMORY, "out of memory for calls");
    if (count > 0)
        qsort(reader->kind, (size_t)count, sizeof *reader->kind, by_kind);
    for (int i = 0; i < count; i++) {
        const pto_recording_call_t *call = &reader->kind[i].call;
        pto_recording_call_t *last = trace->count > 0 ? &trace->call[trace->count - 1] : NULL;
        if (last && is_alike(last, call)) {
            last->times += call->times;
            last->measured_s += call->measured_s;
        } else
            trace->call[trace->count++] = *call;
    }
    return PTO_OK;
}

/* --- the whole ------------------------------------------------------------------------------------------ */

static pto_status_t read_lines(pto_recording_reader_t *reader, FILE *file) {
    char *line = NULL;
    size_t room = 0;
    pto_status_t status = PTO_OK;
    for (ssize_t size; status == PTO_OK && (size = getline(&line, &room, file)) >= 0;) {
        reader->line++;
        line[strcspn(line, "\r\n")] = '\0';
        if (memchr(line, '\0', (size_t)size) && strlen(line) + 2 < (size_t)size)
            status = pto_recording_fail(reader, PTO_ERR_SYNTAX, "a zero byte");
        else
            status = pto_recording_line(reader, line);
    }
    free(line);
    if (status == PTO_OK && ferror(file))
        status = pto_recording_fail(reader, PTO_ERR_IO, strerror(errno));
    if (status == PTO_OK && !reader->known)
        status =
            pto_recording_fail(reader, PTO_ERR_SYNTAX,
                               "neither calls.csv nor the output of an OSU or NCCL benchmark of collectives");
    return status;
}

static pto_status_t read_stream(FILE *file, const char *path, const pto_recording_options_t *options,
                                pto_recording_t *trace, pto_error_t *err) {
    pto_recording_t made = {.rank = options->rank};
    pto_recording_reader_t reader = {.path = path, .options = options, .trace = &made, .err = err};
    pto_status_t status = read_lines(&reader, file);
    if (status == PTO_OK)
        status = join_kinds(&reader, &made);
    for (int i = 0; i < reader.member_count; i++)
        free(reader.members[i].has);
    fini_index(&reader.communicators);
    fini_index(&reader.kinds);
    free(reader.members);
    free(reader.kind);
    if (status == PTO_OK)
        *trace = made;
    else
        pto_recording_fini(&made);
    return status;
}

pto_status_t pto_recording_parse(const char *text, size_t text_size, const char *path,
                                 const pto_recording_options_t *options, pto_recording_t *trace,
                                 pto_error_t *err) {
    const char nothing[1] = "\n";
    FILE *file = text_size > 0 ? fmemopen((void *)text, text_size, "r") : fmemopen((void *)nothing, 1, "r");
    if (!file)
        return pto_error_set_at(err, PTO_ERR_MEMORY, path, 1, 1, "out of memory");
    pto_status_t status = read_stream(file, path, options, trace, err);
    fclose(file);
    return status;
}

pto_status_t pto_recording_read(const char *path, const pto_recording_options_t *options,
                                pto_recording_t *trace, pto_error_t *err) {
    FILE *file = fopen(path, "r");
    if (!file)
        return pto_error_set_at(err, PTO_ERR_IO, path, 1, 1, "cannot open: %s", strerror(errno));
    pto_status_t status = read_stream(file, path, options, trace, err);
    fclose(file);
    return status;
}

void pto_recording_fini(pto_recording_t *trace) {
    free(trace->call);
    *trace = (pto_recording_t){0};
}

/* --- as a workload -------------------------------------------------------------------------------------- */

static pto_status_t bind_call(const pto_recording_call_t *from, const pto_machine_t *machine,
                              pto_workload_call_t *call, pto_error_t *err) {
    pto_scenario_t *scenario = &call->scenario;
    scenario->collective = from->collective;
    if (from->bytes % pto_datatype_bytes(scenario->datatype) != 0)
        scenario->datatype = PTO_DATATYPE_BYTE;
    scenario->layout.gpus_per_node = from->gpus_per_node;
    pto_status_t status = pto_series_one(from->bytes, &scenario->bytes, err);
    if (status == PTO_OK)
        status = pto_series_one(from->nodes, &scenario->nodes, err);
    if (status == PTO_OK)
        status = pto_scenario_check(scenario, err);
    return status == PTO_OK ? pto_scenario_bind(scenario, machine, err) : status;
}

pto_status_t pto_recording_workload(const pto_recording_t *trace, const pto_machine_t *machine,
                                    pto_workload_t *workload, pto_error_t *err) {
    pto_workload_t made = {.call = calloc((size_t)trace->count + 1, sizeof *made.call)};
    pto_status_t status = PTO_OK;
    if (!made.call)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for calls");
    for (int i = 0; i < trace->count && status == PTO_OK; i++) {
        const pto_recording_call_t *from = &trace->call[i];
        made.call[i] = (pto_workload_call_t){.times = from->times, .entry = made.entry_count++};
        made.call[i].communicators = (pto_communicators_t){
            .count = from->per_node, .per_node = from->per_node, .per_socket = from->per_node};
        pto_scenario_init(&made.call[i].scenario);
        made.call_count++;
        status = bind_call(from, machine, &made.call[i], err);
    }
    if (status == PTO_OK)
        *workload = made;
    else
        pto_workload_fini(&made);
    return status;
}
