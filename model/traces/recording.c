/* Reads recordings. This file opens a file, chooses lines.c, json.c or chakra_et.c to read it, and stores the
 * kinds of calls that they find. At the end it finds the shape of each kind's communicator, and makes the
 * recording's calls of all kinds of equal shape. */
#include "portolan/recording.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "reader.h"

/* What a format is, and which options it takes. */
enum {
    IS_BENCHMARK = 1,
    HAS_LINES = 2,      /* of text, unless it is a benchmark, which may be in JSON */
    IS_UNORDERED = 4,   /* the calls of a process may be in any order */
    TAKES_RANK = 8,     /* --rank */
    LACKS_PROCS = 0x10, /* may not say how many processes there were: takes --nodes, as benchmarks do */
};

static const struct {
    const char *name;
    const char *word;
    unsigned properties;
} formats[PTO_RECORDING_COUNT] = {
    [PTO_RECORDING_ANY] = {"any", "any", 0},
    [PTO_RECORDING_CALLS] = {"calls.csv", "calls", HAS_LINES | IS_UNORDERED | TAKES_RANK},
    [PTO_RECORDING_OSU] = {"OSU", "osu", IS_BENCHMARK},
    [PTO_RECORDING_NCCL_TESTS] = {"nccl-tests", "nccl-tests", IS_BENCHMARK},
    [PTO_RECORDING_IMB] = {"Intel MPI Benchmarks", "imb", IS_BENCHMARK},
    [PTO_RECORDING_UCC_PERFTEST] = {"ucc_perftest", "ucc-perftest", IS_BENCHMARK},
    [PTO_RECORDING_UCX_PERFTEST] = {"ucx_perftest", "ucx-perftest", IS_BENCHMARK},
    [PTO_RECORDING_KINETO] = {"Kineto", "kineto", IS_UNORDERED | TAKES_RANK},
    [PTO_RECORDING_NCCL_INSPECTOR] = {"NCCL inspector", "nccl-inspector", IS_UNORDERED},
    [PTO_RECORDING_CHAKRA] = {"Chakra", "chakra", TAKES_RANK | LACKS_PROCS},
    [PTO_RECORDING_CHAKRA_JSON] = {"Chakra JSON", "chakra-json", TAKES_RANK | LACKS_PROCS},
    [PTO_RECORDING_PYTORCH_ET] = {"PyTorch execution trace", "pytorch-et", LACKS_PROCS},
    [PTO_RECORDING_ALLPROF] = {"liballprof", "liballprof", HAS_LINES},
    [PTO_RECORDING_GOAL] = {"GOAL", "goal", HAS_LINES | TAKES_RANK},
};

const char *pto_recording_format_name(pto_recording_format_t format) {
    return format < PTO_RECORDING_COUNT ? formats[format].name : "no format";
}

const char *pto_recording_format_word(pto_recording_format_t format) {
    return format < PTO_RECORDING_COUNT ? formats[format].word : "no format";
}

pto_status_t pto_recording_fail(pto_recording_reader_t *reader, pto_status_t status, const char *format,
                                ...) {
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return pto_error_set_at(reader->err, status, reader->path, reader->line, reader->column, "%s", text);
}

bool pto_recording_is_benchmark(pto_recording_format_t format) {
    return formats[format].properties & IS_BENCHMARK;
}

bool pto_recording_takes_nodes(pto_recording_format_t format) {
    return formats[format].properties & LACKS_PROCS;
}

/* Fails if an option is given that the format has no use for. */
static pto_status_t check_options(pto_recording_reader_t *reader, pto_recording_format_t format) {
    const pto_recording_options_t *options = reader->options;
    const struct {
        bool is_given;
        unsigned properties; /* of the formats that use it */
        const char *name, *users;
    } option[] = {
        {options->rank >= 0, TAKES_RANK, "--rank", "calls.csv, GOAL, Chakra and Kineto"},
        {options->nodes > 0, IS_BENCHMARK | LACKS_PROCS, "--nodes",
         "benchmarks, Chakra and PyTorch execution traces"},
        {options->collective != PTO_COLLECTIVE_COUNT, IS_BENCHMARK, "--collective", "benchmarks"},
    };
    for (size_t i = 0; i < sizeof option / sizeof *option && options->refuses_unused; i++)
        if (option[i].is_given && !(option[i].properties & formats[format].properties))
            return pto_recording_fail(reader, PTO_ERR_NOT_APPLICABLE, "%s is for files of %s; this is %s",
                                      option[i].name, option[i].users, pto_recording_format_name(format));
    return PTO_OK;
}

pto_status_t pto_recording_found(pto_recording_reader_t *reader, pto_recording_format_t format) {
    const pto_recording_format_t asked = reader->options->format;
    if (asked != PTO_RECORDING_ANY && asked != format)
        return pto_recording_fail(reader, PTO_ERR_SYNTAX, "this is %s, not %s",
                                  pto_recording_format_name(format), pto_recording_format_name(asked));
    if (reader->known && reader->trace->format != format)
        return pto_recording_fail(reader, PTO_ERR_SYNTAX, "%s in a file of %s",
                                  pto_recording_format_name(format),
                                  pto_recording_format_name(reader->trace->format));
    pto_status_t status = reader->known ? PTO_OK : check_options(reader, format);
    pto_timeline_t *timeline = reader->options->timeline;
    if (format == PTO_RECORDING_CALLS && timeline)
        reader->groups = &timeline->groups;
    if (timeline)
        timeline->is_unordered = formats[format].properties & IS_UNORDERED;
    reader->trace->format = format;
    reader->known = true;
    return status;
}

void pto_recording_note_gpu(pto_recording_reader_t *reader, const char *name) {
    char *gpu = reader->trace->gpu;
    if (*gpu || strlen(name) >= sizeof reader->trace->gpu)
        return;
    memcpy(gpu, name, strlen(name) + 1);
}

/* --- calls and communicators ---------------------------------------------------------------------------- */

/* MEMBERS_MAX limits a communicator's ranks, ALL_MEMBERS_MAX those of all communicators together. */
enum { KINDS_MAX = 1 << 16, COMMUNICATORS_MAX = 1 << 16, MEMBERS_MAX = 1 << 24, ALL_MEMBERS_MAX = 1 << 26 };

pto_status_t pto_recording_add(pto_recording_reader_t *reader, const pto_recording_kind_t *kind,
                               double seconds) {
    char key[224];
    snprintf(key, sizeof key, "%d %d %d %d %d %lld %lld %lld %lld %s", (int)kind->call.collective,
             (int)kind->call.distance, kind->is_launch, seconds > 0, kind->communicator,
             (long long)kind->call.bytes, (long long)kind->call.messages, (long long)kind->procs,
             (long long)kind->nodes, kind->call.route);
    int before = reader->kinds.count, number = pto_text_index_add(&reader->kinds, key);
    if (number >= KINDS_MAX)
        return pto_recording_fail(reader, PTO_ERR_TOO_LARGE, "more than 65,536 kinds of calls");
    if (number < 0 || !PTO_RESERVE(reader->kind, reader->kind_room, number + 1))
        return pto_recording_fail(reader, PTO_ERR_MEMORY, "out of memory for calls");
    if (number == before) {
        reader->kind[number] = *kind;
        reader->kind[number].number = number;
    }
    reader->kind[number].call.times++;
    reader->kind[number].call.measured_s += seconds;
    reader->last_kind = number;
    return PTO_OK;
}

pto_status_t pto_recording_time(pto_recording_reader_t *reader, const char *communicator, const char *routine,
                                pto_timed_t *timed) {
    pto_timeline_t *timeline = reader->options->timeline;
    char group[224];
    if (!timeline || timed->rank < 0 || timed->rank >= PTO_TIMED_RANKS_MAX)
        return PTO_OK;
    if (timed->way == PTO_TIMED_SEND || timed->way == PTO_TIMED_RECEIVE)
        routine = "message";
    snprintf(group, sizeof group, "%s %s", communicator, routine);
    timed->routine = pto_timeline_name(timeline, routine);
    timed->group = timed->routine >= 0 ? pto_timeline_name(timeline, group) : -1;
    timed->call = reader->last_kind;
    return timed->group >= 0 && pto_timeline_add(timeline, timed)
               ? PTO_OK
               : pto_recording_fail(reader, PTO_ERR_MEMORY, "out of memory for the times of calls");
}

int pto_recording_known_communicator(const pto_recording_reader_t *reader, const char *id) {
    return pto_text_index_find(&reader->groups->names, id);
}

pto_status_t pto_recording_communicator(pto_recording_reader_t *reader, const char *id, int64_t rank,
                                        int *number) {
    int before = reader->groups->names.count;
    *number = rank < MEMBERS_MAX ? pto_text_index_add(&reader->groups->names, id) : COMMUNICATORS_MAX;
    if (*number >= COMMUNICATORS_MAX)
        return pto_recording_fail(reader, PTO_ERR_TOO_LARGE,
                                  "more than 65,536 communicators or 2^24 processes");
    if (*number >= 0 && *number == before) {
        if (!PTO_EXTEND(reader->groups->members, before))
            return pto_recording_fail(reader, PTO_ERR_MEMORY, "out of memory for communicators");
        reader->groups->members[before] = (pto_recording_members_t){0};
        reader->groups->count++;
    }
    pto_recording_members_t *members = &reader->groups->members[*number];
    reader->groups->room -= members->ranks;
    if (!pto_recording_members_add(members, rank))
        return pto_recording_fail(reader, PTO_ERR_MEMORY, "out of memory for communicators");
    reader->groups->room += members->ranks;
    if (reader->groups->room > ALL_MEMBERS_MAX)
        return pto_recording_fail(reader, PTO_ERR_TOO_LARGE,
                                  "communicators of more than 2^26 processes in all");
    if (rank >= reader->groups->procs)
        reader->groups->procs = rank + 1;
    if (reader->groups->procs > reader->job_procs)
        reader->job_procs = reader->groups->procs;
    return PTO_OK;
}

/* --- shapes --------------------------------------------------------------------------------------------- */

/* Returns how many members a communicator has on each node where it has any; 0 if that differs. */
static int64_t members_on_a_node(const pto_recording_members_t *members, int64_t node_procs) {
    int64_t per_node = 0;
    for (int64_t first = 0; first < members->ranks; first += node_procs) {
        int64_t here = 0;
        for (int64_t rank = first; rank < first + node_procs && rank < members->ranks; rank++)
            here += members->has[rank];
        if (here == 0)
            continue;
        if (per_node != 0 && here != per_node)
            return 0;
        per_node = here;
    }
    return per_node;
}

/* Returns how many processes the job has, as far as known, given that a communicator has `procs`. */
static int64_t job_size(const pto_recording_reader_t *reader, int64_t procs) {
    const pto_recording_options_t *options = reader->options;
    int64_t known = reader->job_procs > procs ? reader->job_procs : procs;
    return pto_recording_takes_nodes(reader->trace->format) && options->nodes > 0
               ? options->nodes * options->gpus_per_node
               : known;
}

/* Fails if the file has more processes than the options' nodes. */
static pto_status_t check_job(pto_recording_reader_t *reader) {
    int64_t most = reader->job_procs > reader->most_rank ? reader->job_procs : reader->most_rank + 1;
    for (int i = 0; i < reader->kinds.count; i++)
        if (reader->kind[i].call.collective != PTO_COLLECTIVE_PAIR && reader->kind[i].procs > most)
            most = reader->kind[i].procs;
    const int64_t job = job_size(reader, 0), nodes = reader->options->nodes;
    if (!pto_recording_takes_nodes(reader->trace->format) || nodes == 0 || most <= job)
        return PTO_OK;
    return pto_recording_fail(reader, PTO_ERR_NOT_APPLICABLE,
                              "the file has %lld processes or more, and %lld node%s of %lld %s %lld",
                              (long long)most, (long long)nodes, nodes == 1 ? "" : "s",
                              (long long)reader->options->gpus_per_node, nodes == 1 ? "has" : "have",
                              (long long)job);
}

/* Sets the shape of a kind's communicator. Its members are assumed to have consecutive ranks unless all of
 * them are known. False if nodes have different numbers of members. */
static bool find_shape(const pto_recording_reader_t *reader, pto_recording_kind_t *kind) {
    const int64_t node_procs = reader->options->gpus_per_node;
    if (kind->call.collective == PTO_COLLECTIVE_PAIR) {
        kind->call.nodes = kind->call.distance == PTO_LEVEL_OFF_NODE ? 2 : 1;
        kind->call.gpus_per_node = 2 / kind->call.nodes;
        kind->call.per_node = 1;
        return true;
    }
    int64_t per_node = kind->procs < node_procs ? kind->procs : node_procs;
    int64_t job = job_size(reader, kind->procs);
    if (kind->communicator >= 0 && reader->groups->members[kind->communicator].count == kind->procs)
        per_node = reader->groups->members[kind->communicator].on_a_node;
    else if (kind->nodes != 0)
        per_node = kind->nodes > 0 && kind->procs % kind->nodes == 0 ? kind->procs / kind->nodes : 0;
    if (per_node < 1 || kind->procs % per_node != 0)
        return false;
    kind->call.nodes = kind->procs / per_node;
    kind->call.gpus_per_node = per_node;
    kind->call.per_node = (job < node_procs ? job : node_procs) / per_node; /* 0 if more than fit a node */
    if (kind->call.per_node < 1 || job == kind->procs)
        kind->call.per_node = 1;
    return true;
}

static int by_kind(const void *left, const void *right) {
    const pto_recording_kind_t *a = left, *b = right;
    const int64_t order[][2] = {{(int64_t)a->call.collective, (int64_t)b->call.collective},
                                {(int64_t)a->call.distance, (int64_t)b->call.distance},
                                {a->call.nodes, b->call.nodes},
                                {a->call.gpus_per_node, b->call.gpus_per_node},
                                {a->call.per_node, b->call.per_node},
                                {a->call.bytes, b->call.bytes},
                                {a->call.messages, b->call.messages},
                                {a->call.measured_s > 0, b->call.measured_s > 0}};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (order[i][0] != order[i][1])
            return order[i][0] < order[i][1] ? -1 : 1;
    return strcmp(a->call.route, b->call.route);
}

/* Makes the recording's calls: one of all kinds that differ only in their communicator. Sets the index of the
 * call for each kind, by the kind's number. */
static pto_status_t join_kinds(pto_recording_reader_t *reader, pto_recording_t *trace, int *call_of_kind) {
    int count = 0;
    for (int i = 0; i < reader->groups->count; i++)
        reader->groups->members[i].on_a_node =
            members_on_a_node(&reader->groups->members[i], reader->options->gpus_per_node);
    if (!reader->has_gpu_calls) {
        trace->skipped.others += reader->launch_skipped.others;
        trace->skipped.sizeless += reader->launch_skipped.sizeless;
    }
    for (int i = 0; i < reader->kinds.count; i++) {
        if (reader->kind[i].is_launch && reader->has_gpu_calls)
            continue;
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
        if (i > 0 && by_kind(&reader->kind[i - 1], &reader->kind[i]) == 0) {
            trace->call[trace->count - 1].times += call->times;
            trace->call[trace->count - 1].measured_s += call->measured_s;
        } else
            trace->call[trace->count++] = *call;
        call_of_kind[reader->kind[i].number] = trace->count - 1;
        if (strcmp(call->route, "nccl") == 0 || strcmp(call->route, "symm_mem") == 0)
            trace->on_gpu += call->times;
    }
    return PTO_OK;
}

/* Makes the recording's calls, and gives the timeline their indexes; -1 for kinds that were left out. */
static pto_status_t finish(pto_recording_reader_t *reader, pto_recording_t *trace) {
    int *call_of_kind = malloc(((size_t)reader->kinds.count + 1) * sizeof *call_of_kind);
    if (!call_of_kind)
        return pto_recording_fail(reader, PTO_ERR_MEMORY, "out of memory for calls");
    for (int i = 0; i < reader->kinds.count; i++)
        call_of_kind[i] = -1;
    pto_status_t status = join_kinds(reader, trace, call_of_kind);
    if (status == PTO_OK && reader->options->timeline)
        pto_timeline_end_file(reader->options->timeline, reader->options->times_only ? NULL : call_of_kind);
    free(call_of_kind);
    return status;
}

/* --- what is left out ----------------------------------------------------------------------------------- */

bool pto_recording_left_out(const pto_recording_skipped_t *skipped, int *next,
                            char text[PTO_RECORDING_REASON_MAX]) {
    const struct {
        int64_t count;
        const char *what;
    } reason[] = {
        {skipped->others, "of no collective that portolan has"},
        {skipped->on_host, "on host buffers (--memory host prices them; --as-gpu as if on GPUs)"},
        {skipped->sizeless, "without bytes, of a single process, or of fewer elements than processes"},
        {skipped->uneven, "on communicators with different numbers of processes on their nodes"},
        {skipped->torn, "whose row other output interrupted"},
        {skipped->other_procs, "on other numbers of processes than the nodes asked for have"},
        {skipped->foreign, "of another benchmark in the same file, which `portolan replay --from` reads"},
        {skipped->timeless, "whose row has no time (such as nan, or less than 0) or clear size (as 4MB)"},
    };
    while (*next < (int)(sizeof reason / sizeof *reason)) {
        const int i = (*next)++;
        if (reason[i].count > 0) {
            snprintf(text, PTO_RECORDING_REASON_MAX, "%lld call%s %s", (long long)reason[i].count,
                     reason[i].count == 1 ? "" : "s", reason[i].what);
            return true;
        }
    }
    return false;
}

/* --- reading -------------------------------------------------------------------------------------------- */

/* Returns whether a file is not text. protobuf's tags, for example, are control characters. */
static bool is_binary(pto_source_t *source) {
    size_t size = pto_source_fill(source);
    for (size_t i = 0; i < size && i < 4096; i++) {
        unsigned char byte = source->buffer[source->at + i];
        if (byte < ' ' && !isspace(byte) && byte != 0x1b)
            return true;
    }
    return false;
}

static bool is_json(pto_source_t *source) {
    size_t size = pto_source_fill(source), at = 0;
    const unsigned char *text = source->buffer + source->at;
    while (at < size && isspace(text[at]))
        at++;
    if (at == size || text[at] != '[')
        return at < size && text[at] == '{';
    do
        at++;
    while (at < size && isspace(text[at]));
    return at == size || text[at] == '{' || text[at] == ']'; /* not a launcher's "[1,0]<stdout>:" */
}

static pto_status_t read_any(pto_recording_reader_t *reader) {
    pto_recording_format_t asked = reader->options->format;
    if (asked == PTO_RECORDING_CHAKRA || (asked == PTO_RECORDING_ANY && is_binary(reader->source)))
        return pto_recording_read_chakra(reader);
    bool lines = formats[asked].properties & HAS_LINES;
    if (asked == PTO_RECORDING_ANY || pto_recording_is_benchmark(asked))
        lines = !is_json(reader->source);
    return lines ? pto_recording_read_lines(reader) : pto_recording_read_json(reader);
}

static pto_status_t fail_unknown(pto_recording_reader_t *reader) {
    const pto_recording_format_t asked = reader->options->format;
    if (reader->other_line > 0)
        reader->line = reader->other_line;
    if (asked == PTO_RECORDING_ANY && reader->json_line > 0) {
        reader->line = reader->json_line;
        return pto_recording_fail(reader, PTO_ERR_SYNTAX,
                                  "JSON behind other text, which is read alone: cut off what is before it, "
                                  "on its lines as well");
    }
    if (asked == PTO_RECORDING_ANY)
        return pto_recording_fail(reader, PTO_ERR_SYNTAX,
                                  "neither calls.csv, an output of a known benchmark, nor a trace that "
                                  "`portolan replay --help` lists");
    if (reader->other_line > 0)
        return pto_recording_fail(reader, PTO_ERR_SYNTAX, "this is %s, not %s",
                                  pto_recording_format_name(reader->other), pto_recording_format_name(asked));
    return pto_recording_fail(reader, PTO_ERR_SYNTAX, "this is not %s", pto_recording_format_name(asked));
}

/* Reads an open file. `job` has what an earlier pass over the file found of its job, and receives it. */
static pto_status_t read_source(pto_source_t *source, const char *path,
                                const pto_recording_options_t *options, pto_recording_job_t *job,
                                pto_recording_t *trace, pto_error_t *err) {
    pto_recording_t recording = {.rank = job->rank >= 0 ? job->rank : options->rank};
    pto_recording_reader_t reader = {.path = path,
                                     .source = source,
                                     .line = 1,
                                     .column = 1,
                                     .options = options,
                                     .job_procs = job->procs,
                                     .job = job,
                                     .has_job = job->came_late,
                                     .trace = &recording,
                                     .goal_rank = -1,
                                     .most_rank = -1,
                                     .last_kind = -1,
                                     .err = err};
    reader.groups = &reader.own_groups;
    if (options->timeline)
        pto_timeline_begin_file(options->timeline);
    pto_status_t status = read_any(&reader);
    if (source->status != PTO_OK)
        status = pto_recording_fail(&reader, source->status, "%s", source->reason);
    if (status == PTO_OK && !reader.known)
        status = fail_unknown(&reader);
    if (status == PTO_OK)
        status = check_job(&reader);
    if (status == PTO_OK)
        status = finish(&reader, &recording);
    pto_recording_groups_fini(&reader.own_groups);
    pto_text_index_fini(&reader.kinds);
    free(reader.kind);
    free(reader.operators.slot);
    pto_text_index_fini(&reader.listed.hosts);
    free(reader.listed.host_procs);
    free(reader.listed.processes.has);
    if (status == PTO_OK)
        *trace = recording;
    else
        pto_recording_fini(&recording);
    return status;
}

/* Opens and reads a file. It can be read again if `*is_repeatable`. */
static pto_status_t read_once(const char *path, const pto_recording_options_t *options,
                              pto_recording_job_t *job, bool *is_repeatable, pto_recording_t *trace,
                              pto_error_t *err) {
    pto_source_t *source = calloc(1, sizeof *source);
    if (!source)
        return pto_error_set_at(err, PTO_ERR_MEMORY, path, 1, 1, "out of memory");
    source->limit = options->limit_bytes;
    source->progress = options->progress;
    source->context = options->context;
    pto_status_t status = pto_source_open(source, path, err);
    *is_repeatable = source->file_bytes > 0; /* not a pipe */
    if (status == PTO_OK)
        status = read_source(source, path, options, job, trace, err);
    pto_source_close(source);
    free(source);
    return status;
}

pto_status_t pto_recording_read(const char *path, const pto_recording_options_t *options,
                                pto_recording_t *trace, pto_error_t *err) {
    pto_recording_job_t job = {.rank = -1};
    bool is_repeatable;
    pto_status_t status = read_once(path, options, &job, &is_repeatable, trace, err);
    if (status != PTO_OK || !job.came_late || !is_repeatable)
        return status;
    pto_recording_fini(trace);
    return read_once(path, options, &job, &is_repeatable, trace, err);
}

void pto_recording_fini(pto_recording_t *trace) {
    free(trace->call);
    *trace = (pto_recording_t){0};
}

/* --- as a workload -------------------------------------------------------------------------------------- */

/* Makes the scenario of a recorded call, checks it, and binds it to the machine. */
static pto_status_t bind_call(const pto_recording_call_t *from, const pto_machine_t *machine, bool in_host,
                              pto_workload_call_t *call, pto_error_t *err) {
    pto_scenario_t *scenario = &call->scenario;
    scenario->memory = in_host ? PTO_MEMORY_HOST : PTO_MEMORY_GPU;
    scenario->collective = from->collective;
    if (from->bytes % pto_datatype_bytes(scenario->datatype) != 0)
        scenario->datatype = PTO_DATATYPE_BYTE;
    pto_status_t status = pto_series_one(from->bytes, &scenario->bytes, err);
    if (from->collective == PTO_COLLECTIVE_PAIR)
        scenario->distance = from->distance;
    else
        *(in_host ? &scenario->procs_per_node : &scenario->layout.gpus_per_node) = from->gpus_per_node;
    if (status == PTO_OK && from->collective == PTO_COLLECTIVE_MESSAGES)
        status = pto_series_one(from->messages, &scenario->messages, err);
    if (status == PTO_OK && from->collective != PTO_COLLECTIVE_PAIR)
        status = pto_series_one(from->nodes, &scenario->nodes, err);
    if (status == PTO_OK)
        status = pto_scenario_check(scenario, err);
    return status == PTO_OK ? pto_scenario_bind(scenario, machine, err) : status;
}

pto_status_t pto_recording_workload(const pto_recording_t *trace, const pto_machine_t *machine, bool in_host,
                                    pto_workload_t *workload, pto_error_t *left_out, pto_error_t *err) {
    pto_workload_t result = {.call = calloc((size_t)trace->count + 1, sizeof *result.call)};
    pto_status_t status = PTO_OK;
    if (!result.call)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for calls");
    for (int i = 0; i < trace->count && status == PTO_OK; i++) {
        const pto_recording_call_t *from = &trace->call[i];
        result.call[i] = (pto_workload_call_t){.times = from->times, .entry = result.entry_count++};
        result.call[i].communicators = (pto_communicators_t){
            .count = from->per_node, .per_node = from->per_node, .per_socket = from->per_node};
        pto_scenario_init(&result.call[i].scenario);
        result.call_count++;
        left_out[i].status = bind_call(from, machine, in_host, &result.call[i], &left_out[i]);
        if (left_out[i].status == PTO_ERR_MEMORY)
            status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory for calls");
    }
    if (status == PTO_OK)
        *workload = result;
    else
        pto_workload_fini(&result);
    return status;
}
