/* What the readers of benchmarks' outputs share: the processes that a file lists, the rows of tables, and
 * logs with outputs of several programs. lines.c passes each line to pto_bench_line, which passes it to the
 * reader of the benchmark (osu.c, nccl_tests.c, imb.c, ucc_perftest.c, ucx_perftest.c). That one adds rows by
 * pto_bench_row. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/grow.h"
#include "base/text.h"
#include "reader.h"

/* --- processes that a file lists ------------------------------------------------------------------------ */

enum { HOST_NAME_MAX_BYTES = 64, HOSTS_MAX = 1 << 14, RANKS_MAX = 1 << 20 };
enum { RANKS_PER_ITEM = 256 }; /* clearing this many counts as one of pto_source_t's `items` */

void pto_bench_forget_processes(pto_recording_reader_t *reader) {
    pto_recording_listed_t *listed = &reader->listed;
    const int64_t ranks = listed->processes.count > 0 ? listed->last_rank + 1 : 0;
    if (ranks > 0)
        memset(listed->processes.has, 0, (size_t)ranks);
    reader->source->items += ranks / RANKS_PER_ITEM;
    listed->processes.count = 0;
    listed->last_rank = 0;
    pto_text_index_fini(&listed->hosts);
    listed->has_torn_host = false;
}

/* Adds a rank; fails if it is listed already. */
static pto_status_t add_rank(pto_recording_reader_t *reader, int64_t rank) {
    pto_recording_listed_t *listed = &reader->listed;
    if (rank < 0 || rank >= RANKS_MAX)
        return pto_recording_fail(reader, PTO_ERR_TOO_LARGE, "process %lld of more than 2^20",
                                  (long long)rank);
    const int64_t before = listed->processes.count;
    if (!pto_recording_members_add(&listed->processes, rank))
        return pto_recording_fail(reader, PTO_ERR_MEMORY, "out of memory for processes");
    listed->last_rank = rank > listed->last_rank ? rank : listed->last_rank;
    return listed->processes.count > before
               ? PTO_OK
               : pto_recording_fail(
                     reader, PTO_ERR_RANGE,
                     "process %lld is listed twice: each process ran alone, so no time is that of a "
                     "collective; build nccl-tests with MPI=1 to run them as one job",
                     (long long)rank);
}

pto_status_t pto_bench_process(pto_recording_reader_t *reader, int64_t rank, const char *host,
                               size_t length) {
    pto_recording_listed_t *listed = &reader->listed;
    const int before = listed->hosts.count;
    char name[HOST_NAME_MAX_BYTES];
    pto_status_t status = add_rank(reader, rank);
    if (status != PTO_OK)
        return status;
    snprintf(name, sizeof name, "%.*s", (int)length, host);
    const int at = pto_text_index_add(&listed->hosts, name);
    if (at == HOSTS_MAX)
        return pto_recording_fail(reader, PTO_ERR_TOO_LARGE, "more than %d hosts", HOSTS_MAX);
    if (at < 0 || !PTO_RESERVE(listed->host_procs, listed->host_room, at + 1))
        return pto_recording_fail(reader, PTO_ERR_MEMORY, "out of memory for hosts");
    listed->host_procs[at] = at < before ? listed->host_procs[at] + 1 : 1;
    return PTO_OK;
}

/* Returns the number of listed hosts; -1 if their numbers of processes differ, 0 if a name is unknown. */
static int64_t listed_nodes(const pto_recording_listed_t *listed) {
    for (int i = 0; i < listed->hosts.count; i++) {
        if (listed->hosts.text[i][0] == '\0')
            return 0;
        if (listed->host_procs[i] != listed->host_procs[0])
            return -1;
    }
    return listed->hosts.count;
}

/* Fails because a host has more processes than a node of the machine has GPUs. */
static pto_status_t fail_crowded(pto_recording_reader_t *reader, int64_t on_host) {
    const int64_t places = reader->options->gpus_per_node;
    int64_t fitting = places; /* the most processes per node that fill all nodes */
    while (fitting > 1 && reader->listed.processes.count % fitting != 0)
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

/* Fails because the options' nodes cannot have the number of processes that the file states. */
static pto_status_t fail_processes(pto_recording_reader_t *reader, int64_t stated) {
    const pto_recording_options_t *options = reader->options;
    const long long procs = (long long)stated, nodes = (long long)options->nodes;
    const long long per_node = (long long)options->gpus_per_node;
    if (options->places_assumed)
        return pto_recording_fail(reader, PTO_ERR_NOT_APPLICABLE,
                                  "the file lists %lld process%s, which --nodes %lld cannot have in equal "
                                  "numbers; `portolan predict` answers for other shapes",
                                  procs, procs == 1 ? "" : "es", nodes);
    return pto_recording_fail(reader, PTO_ERR_NOT_APPLICABLE,
                              "the file lists %lld process%s, and %lld node%s of %lld %s %lld; `portolan "
                              "predict` answers for other shapes",
                              procs, procs == 1 ? "" : "es", nodes, nodes == 1 ? "" : "s", per_node,
                              nodes == 1 ? "has" : "have", nodes * per_node);
}

/* Fails because the ranks that the file lists have a gap. */
static pto_status_t fail_missing(pto_recording_reader_t *reader) {
    const pto_recording_listed_t *listed = &reader->listed;
    int64_t missing = 0;
    while (listed->processes.has[missing])
        missing++;
    return pto_recording_fail(reader, PTO_ERR_RANGE,
                              "the file lists %lld process%s up to %lld, and not process %lld",
                              (long long)listed->processes.count, listed->processes.count == 1 ? "" : "es",
                              (long long)listed->last_rank, (long long)missing);
}

/* Sets the kind's `procs` and `nodes` from the file or, where it does not state them, from the options.
 * PTO_ERR_NOT_APPLICABLE, without a message, if the options' nodes cannot have the processes that the file
 * states. */
static pto_status_t find_processes(const pto_recording_reader_t *reader, pto_recording_kind_t *kind) {
    const pto_recording_options_t *options = reader->options;
    const pto_recording_listed_t *listed = &reader->listed;
    const int64_t asked = options->nodes * options->gpus_per_node;
    const int64_t stated = listed->processes.count > 0 ? listed->processes.count : reader->benchmark.procs;
    kind->procs = stated > 0 ? stated : asked;
    if (stated == 0)
        return PTO_OK;
    if (options->nodes == 0) {
        kind->nodes = options->places_assumed && listed->processes.count > 0 ? listed_nodes(listed) : 0;
        return PTO_OK;
    }
    /* There are as many hosts as nodes, but they have unequal numbers of processes. */
    const bool is_uneven = listed_nodes(listed) < 0 && listed->hosts.count == options->nodes;
    kind->nodes = is_uneven ? -1 : options->nodes;
    bool fits = options->places_assumed ? stated % options->nodes == 0 : stated == asked;
    return fits ? PTO_OK : PTO_ERR_NOT_APPLICABLE;
}

/* Skips a row whose number of processes differs from the options', as a log may have runs of several numbers.
 * Fails instead if the file lists its processes, as the output of one run does. */
static pto_status_t skip_procs(pto_recording_reader_t *reader, int64_t stated) {
    pto_bench_t *benchmark = &reader->benchmark;
    if (reader->listed.processes.count > 0)
        return fail_processes(reader, stated);
    if (reader->trace->skipped.other_procs++ == 0) {
        benchmark->unfit_procs = stated;
        benchmark->unfit_line = reader->line;
    }
    return PTO_OK;
}

/* --- rates ---------------------------------------------------------------------------------------------- */

/* Returns the highest rate at which a GPU can send: NVLink's in one direction, by NVIDIA's data sheets; for
 * other GPUs and host memory, a rate above any link on the market. */
static double fastest_link(const char *gpu) {
    static const struct {
        const char *name;
        double bytes_per_s;
    } links[] = {{"V100", 150e9}, {"A100", 300e9}, {"H100", 450e9}, {"H200", 450e9}, {"B200", 900e9}};
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (strstr(gpu, links[i].name))
            return links[i].bytes_per_s;
    return 2e12;
}

/* Returns the fewest bytes that one of `procs` processes sends, even if switches reduce and broadcast. */
static double least_sent(const pto_recording_kind_t *kind, int64_t procs) {
    const double bytes = (double)kind->call.bytes;
    if (kind->call.collective == PTO_COLLECTIVE_MESSAGES)
        return bytes * (double)kind->call.messages;
    return pto_collective_blocks_in(kind->call.collective, procs) > 1 ? bytes * (double)(procs - 1) : bytes;
}

/* Fails if a time is shorter than the fastest link needs, as when each process ran as a job of its own. */
static pto_status_t check_rate(pto_recording_reader_t *reader, const pto_recording_kind_t *kind,
                               double seconds) {
    /* If the file does not state the number of processes, the options' may be wrong: assume the fewest, 2. */
    const bool is_stated = reader->listed.processes.count > 0 || reader->benchmark.procs > 0;
    const double rate = seconds > 0 ? least_sent(kind, is_stated ? kind->procs : 2) / seconds : 0;
    const double most = fastest_link(reader->trace->gpu);
    if (rate <= most)
        return PTO_OK;
    return pto_recording_fail(
        reader, PTO_ERR_RANGE,
        "%lld bytes in %.4g us is more than %.0f GB/s for one process, which no link of "
        "such a machine has: did the processes run together?",
        (long long)kind->call.bytes, 1e6 * seconds, most / 1e9);
}

/* --- rows ----------------------------------------------------------------------------------------------- */

pto_status_t pto_bench_found(pto_recording_reader_t *reader, const pto_bench_format_t *format) {
    const pto_collective_t asked = reader->options->collective;
    pto_status_t status = pto_recording_found(reader, format->format);
    const pto_bench_test_t *test = format->test, *end = test + format->test_count;
    reader->benchmark.collective = PTO_COLLECTIVE_COUNT;
    if (status != PTO_OK || asked == PTO_COLLECTIVE_COUNT)
        return status;
    while (test < end && test->collective != asked)
        test++;
    if (test == end)
        return pto_recording_fail(reader, PTO_ERR_NOT_APPLICABLE, "%s %s no benchmark of %s",
                                  pto_recording_format_name(format->format),
                                  format == &pto_nccl_tests_format ? "have" : "has",
                                  pto_collective_name(asked));
    /* Until a line of the file names the program, the options do. */
    return pto_bench_name(reader, pto_collective_name(asked), test);
}

const char *pto_bench_value(const char *line, const char *label) {
    const char *after = line + strlen(label);
    const size_t between = pto_text_begins(line, label) ? strspn(after, " \t:=") : 0;
    return between > 0 ? after + between : NULL;
}

int64_t pto_bench_count(const char *text) {
    const long long count = strtoll(text, NULL, 10);
    return count > 0 && count <= 1 << 20 ? count : 0;
}

const pto_bench_test_t *pto_bench_test(const pto_bench_test_t *test, int count, const char *name) {
    for (; count > 0; count--, test++)
        if (strcasecmp(test->name, name) == 0)
            return test;
    return NULL;
}

const pto_bench_test_t *pto_bench_test_within(const pto_bench_test_t *test, int count, const char *text) {
    for (; count > 0; count--, test++)
        if (strstr(text, test->name))
            return test;
    return NULL;
}

void pto_bench_copy(const char *text, const char *ends, char *name, size_t size) {
    size_t length = strcspn(text, ends);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        length--;
    snprintf(name, size, "%.*s", (int)length, text);
}

pto_status_t pto_bench_name(pto_recording_reader_t *reader, const char *program,
                            const pto_bench_test_t *test) {
    const pto_collective_t asked = reader->options->collective;
    const pto_collective_t collective = test ? test->collective : PTO_COLLECTIVE_COUNT;
    pto_bench_t *benchmark = &reader->benchmark;
    snprintf(benchmark->program, sizeof benchmark->program, "%s", program);
    benchmark->collective = collective;
    benchmark->is_total = test && test->is_total;
    benchmark->is_foreign = false;
    pto_bench_drop_torn(reader);
    if (collective != PTO_COLLECTIVE_COUNT && asked != PTO_COLLECTIVE_COUNT && asked != collective &&
        !reader->options->shape_unknown)
        return pto_recording_fail(reader, PTO_ERR_NOT_APPLICABLE, "the file is of %s (%s), not of %s",
                                  program, pto_collective_name(collective), pto_collective_name(asked));
    return PTO_OK;
}

pto_status_t pto_bench_fail_nameless(pto_recording_reader_t *reader) {
    const char *naming = reader->options->naming;
    if (reader->options->shape_unknown)
        return PTO_OK;
    return pto_recording_fail(reader, PTO_ERR_KEY, "the file does not name its collective: give %s",
                              naming ? naming : "--collective");
}

/* Returns the bytes of the largest block when `bytes` are divided among processes. OSU divides elements, not
 * bytes. If there are fewer elements than processes, the result is 0: some processes of MPI_Reduce_scatter
 * get nothing then, and MPI_Reduce_scatter_block moves nothing at all. */
static int64_t block_bytes(const pto_bench_t *benchmark, int64_t bytes, int64_t procs) {
    const int64_t element = benchmark->element_bytes > 0 ? benchmark->element_bytes : 1;
    const int64_t elements = bytes / element, rest = elements % procs;
    if (benchmark->element_bytes > 0 && elements < procs)
        return 0;
    return (elements / procs + (rest > 0 && !benchmark->rounds_down)) * element;
}

/* Counts a row whose collective portolan has. */
static pto_status_t count_row(pto_recording_reader_t *reader, pto_recording_kind_t *kind, int64_t bytes,
                              double value) {
    const pto_bench_t *benchmark = &reader->benchmark;
    const int64_t in_flight = benchmark->messages * benchmark->procs / 2; /* messages of all pairs */
    const double seconds =
        benchmark->is_rate ? (double)bytes * (double)in_flight / (1e6 * value) : 1e-6 * value;
    kind->call.collective = benchmark->collective;
    kind->call.messages = benchmark->messages;
    kind->call.bytes = bytes;
    if (benchmark->collective == PTO_COLLECTIVE_PAIR)
        kind->call.distance =
            kind->nodes > 1 || reader->options->gpus_per_node == 1 ? PTO_LEVEL_OFF_NODE : PTO_LEVEL_ON_SOCKET;
    const bool is_nccl = reader->trace->format == PTO_RECORDING_NCCL_TESTS || benchmark->of_nccl;
    const bool by_gpu = reader->options->by_memory && !benchmark->on_host;
    snprintf(kind->call.route, sizeof kind->call.route, "%s",
             is_nccl  ? "nccl"
             : by_gpu ? "cuda_aware"
                      : "mpi");
    pto_status_t status = check_rate(reader, kind, seconds);
    if (status != PTO_OK)
        return status;
    reader->trace->on_gpu += !is_nccl && !benchmark->on_host;
    return pto_recording_add(reader, kind, seconds);
}

pto_status_t pto_bench_row(pto_recording_reader_t *reader, int64_t bytes, double value) {
    const pto_recording_options_t *options = reader->options;
    const pto_bench_t *benchmark = &reader->benchmark;
    pto_recording_skipped_t *skipped = &reader->trace->skipped;
    pto_recording_kind_t kind = {.communicator = -1};
    if (options->shape_unknown) {
        skipped->sizeless += benchmark->collective != PTO_COLLECTIVE_COUNT; /* for pto_bench_end */
        return PTO_OK;
    }
    if (benchmark->collective == PTO_COLLECTIVE_COUNT) {
        ++*(benchmark->on_host && !options->as_gpu ? &skipped->on_host : &skipped->others);
        return PTO_OK;
    }
    if (find_processes(reader, &kind) != PTO_OK)
        return skip_procs(reader, kind.procs);
    if (reader->listed.processes.count > 0 && reader->listed.processes.count != reader->listed.last_rank + 1)
        return fail_missing(reader);
    if (reader->listed.has_torn_host && options->nodes == 0)
        return pto_recording_fail(reader, PTO_ERR_KEY,
                                  "other output is in the name of a host that the file lists: give --nodes");
    if (options->places_assumed && kind.nodes > 0 && kind.procs / kind.nodes > options->gpus_per_node)
        return fail_crowded(reader, kind.procs / kind.nodes);
    const int64_t listed = listed_nodes(&reader->listed);
    reader->trace->listed_nodes = listed < 0 ? reader->listed.hosts.count : listed;
    if (kind.procs == 0)
        return pto_recording_fail(reader, PTO_ERR_KEY,
                                  "the file does not say how many processes there were: give --nodes");
    if (benchmark->on_host && !options->as_gpu) {
        skipped->on_host++;
        return PTO_OK;
    }
    if (benchmark->is_total)
        bytes = block_bytes(benchmark, bytes, kind.procs);
    if (bytes == 0 || kind.procs == 1 || value == 0) {
        skipped->sizeless++;
        return PTO_OK;
    }
    return count_row(reader, &kind, bytes, value);
}

pto_status_t pto_bench_plain_row(pto_recording_reader_t *reader, char *line) {
    char *field[PTO_RECORDING_COLUMNS_MAX];
    const pto_bench_t *benchmark = &reader->benchmark;
    pto_recording_skipped_t *skipped = &reader->trace->skipped;
    const int column = benchmark->column, count = pto_recording_split(line, " \t\r", true, field);
    int64_t bytes;
    double value;
    for (int i = 0; i < 2; i++)
        if (count < 2 || !isdigit((unsigned char)*field[i]) || !pto_bench_is_numeric(field[i]))
            return PTO_OK;
    if (!*benchmark->program)
        return pto_bench_fail_nameless(reader);
    if (benchmark->size_column >= count || !pto_recording_size(field[benchmark->size_column], &bytes))
        bytes = -1;
    const bool has_column = column > 0 && column < count;
    if (has_column && bytes >= 0 && pto_recording_seconds(field[column], &value))
        return pto_bench_row(reader, bytes, value);
    if (has_column)
        skipped->timeless++;
    else if (benchmark->collective == PTO_COLLECTIVE_COUNT)
        skipped->others++; /* such as a barrier, which has no bytes */
    else
        skipped->torn++; /* the row is cut */
    return PTO_OK;
}

/* Fails if a row has decimal commas: a comma is between digits, and other columns are separated by blanks. */
static pto_status_t check_commas(pto_recording_reader_t *reader, const char *row) {
    bool has_decimal_comma = false, has_blanks = false;
    for (const char *at = row + strspn(row, PTO_BENCH_BLANKS); *at;) {
        const size_t field = strcspn(at, PTO_BENCH_BLANKS), between = strspn(at + field, PTO_BENCH_BLANKS);
        const char *next = at + field + between;
        const bool has_comma = memchr(at + field, ',', between) != NULL;
        const bool is_in_number =
            between == 1 && isdigit((unsigned char)at[field - 1]) && isdigit((unsigned char)*next);
        has_decimal_comma = has_decimal_comma || (has_comma && is_in_number);
        has_blanks = has_blanks || (!has_comma && *next);
        at = next;
    }
    return has_decimal_comma && has_blanks
               ? pto_recording_fail(reader, PTO_ERR_SYNTAX,
                                    "a comma within a number: run the benchmark with LC_ALL=C, "
                                    "which writes decimal points")
               : PTO_OK;
}

pto_status_t pto_bench_table_row(pto_recording_reader_t *reader, char *line) {
    char *field[PTO_RECORDING_COLUMNS_MAX], row[PTO_BENCH_ROW_MAX];
    const pto_bench_t *benchmark = &reader->benchmark;
    int64_t bytes, wrong;
    double value;
    if (!pto_bench_join(reader, line, row))
        return PTO_OK;
    pto_status_t status = check_commas(reader, row);
    if (status != PTO_OK)
        return status;
    const int count = pto_recording_split(row, PTO_BENCH_BLANKS, true, field);
    if (strcmp(field[count - 1], "Fail") == 0 ||
        (benchmark->wrong_column > 0 && pto_recording_whole(field[benchmark->wrong_column], &wrong) &&
         wrong > 0))
        reader->trace->has_wrong = true;
    if (!pto_recording_size(field[benchmark->size_column], &bytes) ||
        !pto_recording_seconds(field[benchmark->column], &value))
        return PTO_OK;
    return *benchmark->program ? pto_bench_row(reader, bytes, value) : pto_bench_fail_nameless(reader);
}

/* --- logs ----------------------------------------------------------------------------------------------- */

static const pto_bench_format_t *const formats[] = {&pto_osu_format, &pto_nccl_tests_format, &pto_imb_format,
                                                    &pto_ucc_format, &pto_ucx_format};

/* The characters that headings begin with. */
static const char first_characters[] = "#CSs|";

enum { FORMAT_COUNT = (int)(sizeof formats / sizeof *formats) };

/* Returns the index of the format whose heading the line is; -1 if there is none. */
static int heading_at(const char *line) {
    for (int i = 0; i < FORMAT_COUNT; i++)
        if (formats[i]->is_heading(line))
            return i;
    return -1;
}

const pto_bench_format_t *pto_bench_find(char *line, char **heading) {
    for (char *at = strpbrk(line, first_characters); at; at = strpbrk(at + 1, first_characters)) {
        const int found = heading_at(at);
        *heading = at;
        if (found >= 0)
            return formats[found];
    }
    return NULL;
}

/* Returns the heading that follows NCCL's debug output on the same line; the whole line if there is none. */
static char *after_debug(char *line) {
    char *at = strstr(line, " NCCL ");
    for (at = at ? strchr(at, '#') : NULL; at; at = strchr(at + 1, '#'))
        if (heading_at(at) >= 0)
            return at;
    return line;
}

/* Removes the blanks between a size and its unit, as in "1 KiB  11.00", so that they become one column. */
static void join_unit(char *row) {
    char *number_end = row + strspn(row, "0123456789."), *unit = number_end + strspn(number_end, " \t");
    const size_t length = strcspn(unit, PTO_BENCH_BLANKS);
    char size[16];
    int64_t bytes;
    if (number_end == row || number_end == unit || !isalpha((unsigned char)*unit) || length + 2 > sizeof size)
        return;
    snprintf(size, sizeof size, "1%.*s", (int)length, unit);
    if (pto_recording_size(size, &bytes))
        memmove(number_end, unit, strlen(unit) + 1);
}

/* Returns whether a row is the last line of a file whose writer was stopped: the line has no line end, and
 * its last number has fewer decimals than that of the row before, so digits are missing. */
static bool is_unfinished(pto_recording_reader_t *reader, const char *row) {
    const int before = reader->benchmark.last_decimals;
    reader->benchmark.last_decimals = pto_bench_decimals(row);
    return reader->source->is_last_open && reader->benchmark.last_decimals < before;
}

pto_status_t pto_bench_line(pto_recording_reader_t *reader, char *line) {
    const pto_bench_format_t *format = NULL; /* the file's; a heading of another begins a foreign table */
    line = after_debug(line);
    const char first = line[strspn(line, " \t")];
    const int heading = first && strchr(first_characters, first) ? heading_at(line) : -1;
    for (int i = 0; i < FORMAT_COUNT; i++)
        if (formats[i]->format == reader->trace->format)
            format = formats[i];
    if (heading >= 0)
        reader->benchmark.is_foreign = formats[heading] != format;
    if (reader->benchmark.is_foreign) {
        char *field[PTO_RECORDING_COLUMNS_MAX];
        int64_t bytes;
        if (pto_recording_split(line, " \t", true, field) > 1 && pto_recording_whole(field[0], &bytes))
            reader->trace->skipped.foreign++;
        return PTO_OK;
    }
    if (isdigit((unsigned char)first)) {
        join_unit(line + strspn(line, " \t"));
        if (is_unfinished(reader, line)) {
            reader->trace->skipped.torn++;
            return PTO_OK;
        }
    }
    return format->read_line(reader, line);
}

pto_status_t pto_bench_end(pto_recording_reader_t *reader) {
    const pto_bench_t *benchmark = &reader->benchmark;
    const pto_recording_skipped_t *skipped = &reader->trace->skipped;
    pto_bench_drop_torn(reader);
    if (skipped->other_procs > 0 && reader->kinds.count == 0) {
        reader->line = benchmark->unfit_line;
        return fail_processes(reader, benchmark->unfit_procs);
    }
    const bool has_other_rows = reader->kinds.count > 0 || skipped->on_host > 0 || skipped->sizeless > 0;
    if (has_other_rows || !*benchmark->program || benchmark->collective != PTO_COLLECTIVE_COUNT)
        return PTO_OK;
    return pto_recording_fail(reader, PTO_ERR_NOT_FOUND, "portolan has no collective for %s%s",
                              benchmark->program,
                              pto_text_begins(benchmark->program, "sendrecv")
                                  ? ", in which all processes send to the next one at once; `portolan "
                                    "predict --collective pair` prices one such message"
                                  : "");
}
