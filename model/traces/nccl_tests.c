/* Reads the output of nccl-tests and rccl-tests: tables or, with -J, JSON. Lines above a table list the
 * processes and name the columns. The program's name is in a line of its own, in the shell's command, or
 * missing. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "reader.h"

/* A test is the first of these that the program's name contains. */
static const pto_bench_test_t tests[] = {
    {"all_reduce", PTO_COLLECTIVE_ALLREDUCE, false}, {"reduce_scatter", PTO_COLLECTIVE_REDUCE_SCATTER, true},
    {"reduce", PTO_COLLECTIVE_REDUCE, false},        {"broadcast", PTO_COLLECTIVE_BROADCAST, false},
    {"all_gather", PTO_COLLECTIVE_ALLGATHER, true},  {"alltoall", PTO_COLLECTIVE_ALLTOALL, true},
    {"gather", PTO_COLLECTIVE_GATHER, true},         {"scatter", PTO_COLLECTIVE_SCATTER, true},
};
enum { TEST_COUNT = sizeof tests / sizeof *tests };

/* The names of these tests in JSON, in the same order. */
static const char *const experiments[TEST_COUNT] = {"AllReduce", "ReduceScatter", "Reduce", "Broadcast",
                                                    "AllGather", "AlltoAll",      "Gather", "Scatter"};

/* Returns whether a program is named after a test: all_reduce_perf, all_reduce_perf_mpi, all_reduce. */
static bool is_named(const char *program, const char *test) {
    const char *found = strstr(program, test);
    const char *end = found ? found + strlen(test) : NULL;
    return end && (*end == '\0' || pto_text_begins(end, "_perf"));
}

/* Sets the test by the path or name of a program, which ends at the first blank. */
static pto_status_t name_program(pto_recording_reader_t *reader, const char *text) {
    char program[sizeof reader->benchmark.program];
    const char *end = text + strcspn(text, " \t\r"), *begin = end;
    int i = 0;
    while (begin > text && begin[-1] != '/')
        begin--;
    snprintf(program, sizeof program, "%.*s", (int)(end - begin), begin);
    while (i < TEST_COUNT && !is_named(program, tests[i].name))
        i++;
    return pto_bench_name(reader, program, i < TEST_COUNT ? &tests[i] : NULL);
}

const char *pto_nccl_tests_command(const char *line) {
    static const char suffix[] = "_perf";
    for (const char *at = line; *line != '#' && (at = strstr(at, suffix)) != NULL; at++) {
        const char *end = at + strlen(suffix), *begin = at;
        end += pto_text_begins(end, "_mpi") ? strlen("_mpi") : 0;
        while (begin > line && (isalpha((unsigned char)begin[-1]) || begin[-1] == '_'))
            begin--;
        bool is_test = pto_text_begins(begin, "sendrecv_") || pto_text_begins(begin, "hypercube_");
        for (int i = 0; i < TEST_COUNT; i++)
            is_test =
                is_test || (pto_text_begins(begin, tests[i].name) && begin + strlen(tests[i].name) == at);
        const size_t blanks = strspn(end, " \t");
        const bool has_option = blanks > 0 && end[blanks] == '-';
        if (is_test && has_option && (begin == line || strchr(" \t/", begin[-1])))
            return begin;
    }
    return NULL;
}

static const char starting[] = "# Collective test starting: ";

/* Returns whether a text begins with a word, and not with a longer one. */
static bool is_word(const char *text, const char *word) {
    return pto_text_begins(text, word) && !isalpha((unsigned char)text[strlen(word)]);
}

/* "#       size         count      type   redop    root     time   algbw ...", also without its #. */
static bool is_columns(const char *line) {
    line += strspn(line, "#" PTO_BENCH_BLANKS);
    return !strchr(line, '"') && (is_word(line, "size") || is_word(line, "count")) && strstr(line, "count") &&
           strstr(line, "size") && strstr(line, "type") && strstr(line, "time");
}

static bool is_rank(const char *line) {
    return *line == '#' && pto_text_begins(line + 1 + strspn(line + 1, " "), "Rank ");
}

/* Returns whether a line is one of those above the rows. A file may begin with any of them. */
static bool is_heading(const char *line) {
    return pto_text_begins(line, "# nThread") || pto_text_begins(line, "# nccl-tests") ||
           pto_text_begins(line, starting) || pto_text_begins(line, "# Using devices") ||
           (is_rank(line) && strstr(line, " Pid ")) || is_columns(line);
}

/* Fails for processes that NCCL_TESTS_SPLIT has divided into groups, all of which run at once. */
static pto_status_t check_group(pto_recording_reader_t *reader, double group) {
    return group > 0 ? pto_recording_fail(reader, PTO_ERR_NOT_APPLICABLE,
                                          "several groups of processes (NCCL_TESTS_SPLIT) that run at once: "
                                          "only runs of one are read")
                     : PTO_OK;
}

/* Returns the text after a label and the blanks that follow it; NULL if the line does not have the label. */
static const char *value_of(const char *line, const char *label) {
    const char *found = strstr(line, label);
    if (!found)
        return NULL;
    found += strlen(label);
    return found + strspn(found, " ");
}

/* Reads a process: "#  Rank  0 Group  0 Pid  36987 on       node device  0 [0000:18:00] NVIDIA H200". If the
 * line was torn, letters may be lost. A lost rank is then assumed to be the next one, and a lost host is
 * unknown. */
static pto_status_t read_rank(pto_recording_reader_t *reader, const char *line) {
    pto_recording_listed_t *listed = &reader->listed;
    const bool is_torn = listed->torn_at > 0;
    const char *host = value_of(line, " on "), *gpu = value_of(line, "] "), *rank = value_of(line, "Rank ");
    const size_t host_length = host ? strcspn(host, " ") : 0;
    const char *torn = line + listed->torn_at;
    const bool is_host_torn = is_torn && host && torn >= strstr(line, " on ") && torn <= host + host_length;
    const bool is_host_lost = is_host_torn || (is_torn && host_length == 0);
    listed->has_torn_host = listed->has_torn_host || is_host_lost;
    if (gpu && !is_torn)
        pto_recording_note_gpu(reader, gpu);
    const char *group = value_of(line, " Group ");
    pto_status_t status = check_group(reader, group ? atof(group) : 0);
    if (status != PTO_OK)
        return status;
    const int64_t next_rank = listed->processes.count > 0 ? listed->last_rank + 1 : 0;
    const bool is_rank_lost = is_torn && !(rank && isdigit((unsigned char)*rank));
    return pto_bench_process(reader, is_rank_lost ? next_rank : atoll(rank ? rank : ""),
                             host && !is_host_lost ? host : "", is_host_lost ? 0 : host_length);
}

static void read_columns(pto_bench_t *benchmark, char *line) {
    char *field[PTO_RECORDING_COLUMNS_MAX];
    int count = pto_recording_split(line + strspn(line, "#"), PTO_BENCH_BLANKS, true, field);
    benchmark->columns = 0;
    for (int i = 0; i < count; i++)
        if (*field[i] != '(') /* a unit, as in "| size (B) |" */
            field[benchmark->columns++] = field[i];
    benchmark->columns_min = benchmark->columns;
    benchmark->whole_columns = 2;
    benchmark->wrong_column = 0;
    for (int i = benchmark->columns - 1; i >= 0; i--)
        if (is_word(field[i], "time"))
            benchmark->column = i; /* the leftmost remains: the time out of place, before that in place */
        else if (is_word(field[i], "size"))
            benchmark->size_column = i;
        else if (strcmp(field[i], "#wrong") == 0)
            benchmark->wrong_column = i;
}

static pto_status_t read_comment(pto_recording_reader_t *reader, char *line) {
    if (is_rank(line))
        return read_rank(reader, line);
    if (strstr(line, "Using devices")) /* of another run */
        pto_bench_forget_processes(reader);
    if (pto_text_begins(line, starting))
        return name_program(reader, line + strlen(starting));
    if (strstr(line, "Out of bounds values") && strstr(line, "FAILED"))
        reader->trace->has_wrong = true;
    if (is_columns(line))
        read_columns(&reader->benchmark, line);
    return PTO_OK;
}

enum { TYPE = 2 }; /* the column after the size and the number of elements */

static pto_status_t read_row(pto_recording_reader_t *reader, char *line) {
    char *field[PTO_RECORDING_COLUMNS_MAX];
    int64_t number;
    if (reader->benchmark.column > 0)
        return pto_bench_table_row(reader, line);
    const bool is_row = pto_recording_split(line, " \t", true, field) > TYPE &&
                        pto_recording_whole(field[0], &number) && pto_recording_whole(field[1], &number) &&
                        isalpha((unsigned char)*field[TYPE]);
    return is_row
               ? pto_recording_fail(reader, PTO_ERR_SYNTAX,
                                    "a row of a table without its heading: keep the line above the rows that "
                                    "names the columns (size, count, type, ..., time)")
               : PTO_OK;
}

/* Returns whether a text may be the beginning of a process's line. */
static bool may_be_rank(const char *line) {
    const char *word = line + 1 + strspn(line + 1, " ");
    return is_rank(line) || (*line == '#' && strncmp(word, "Rank ", strlen(word)) == 0);
}

/* Reads the torn line of a process, once no other part of it can follow. */
static pto_status_t end_rank(pto_recording_reader_t *reader) {
    pto_recording_listed_t *listed = &reader->listed;
    const bool is_process = strstr(listed->torn, " Pid ") || strstr(listed->torn, "] ");
    pto_status_t status = is_process ? read_rank(reader, listed->torn) : PTO_OK;
    listed->torn[0] = '\0';
    listed->torn_at = 0;
    return status;
}

/* Keeps a part of a process's line that debug lines of NCCL interrupt. Returns whether the line is such a
 * part. */
static bool store_rank(pto_recording_reader_t *reader, char *line, pto_status_t *status) {
    pto_recording_listed_t *listed = &reader->listed;
    const size_t length = strlen(line);
    if (*listed->torn && *line == '#') /* the next line begins */
        *status = end_rank(reader);
    if (*status != PTO_OK || (!*listed->torn && *line != '#'))
        return false;
    const char *part = pto_bench_uninterrupted(reader, line);
    const bool is_cut = part == line && strlen(part) < length; /* a debug line follows the part */
    if (!*listed->torn && (!is_cut || !may_be_rank(part)))
        return false;
    const size_t before = strlen(listed->torn);
    snprintf(listed->torn + before, sizeof listed->torn - before, "%s", part);
    if (is_cut && reader->benchmark.debug_is_glued)
        listed->torn_at = strlen(listed->torn);
    if (!is_cut)
        *status = end_rank(reader);
    return true;
}

static pto_status_t read_line(pto_recording_reader_t *reader, char *line) {
    const char *command =
        *reader->benchmark.command ? reader->benchmark.command : pto_nccl_tests_command(line);
    pto_status_t status = command ? name_program(reader, command) : PTO_OK;
    reader->benchmark.command[0] = '\0';
    if (status != PTO_OK || store_rank(reader, line, &status) || status != PTO_OK)
        return status;
    if (*line == '#')
        return read_comment(reader, pto_bench_uninterrupted(reader, line));
    if (!is_columns(line))
        return read_row(reader, line);
    read_columns(&reader->benchmark, line);
    return PTO_OK;
}

const pto_bench_format_t pto_nccl_tests_format = {PTO_RECORDING_NCCL_TESTS, tests, TEST_COUNT, is_heading,
                                                  read_line};

static pto_status_t name_experiment(pto_recording_reader_t *reader, const char *name) {
    int i = 0;
    while (i < TEST_COUNT && strcmp(name, experiments[i]) != 0)
        i++;
    return pto_bench_name(reader, i < TEST_COUNT ? tests[i].name : name, i < TEST_COUNT ? &tests[i] : NULL);
}

/* Reads a result. Calls replayed from a trace run in place only: their `out_of_place` is null. */
static pto_status_t read_result(pto_recording_reader_t *reader, const json_t *result) {
    const json_t *size = json_object_get(result, "size"), *runs = json_object_get(result, "out_of_place");
    if (!json_is_object(runs))
        runs = json_object_get(result, "in_place");
    const json_t *time = json_object_get(runs, "time"), *wrong = json_object_get(runs, "nwrong");
    const double bytes = json_number_value(size), us = json_number_value(time);
    const char *experiment = json_string_value(json_object_get(result, "experiment_name"));
    pto_status_t status = experiment ? name_experiment(reader, experiment) : PTO_OK;
    if (status != PTO_OK)
        return status;
    if (!json_is_number(size) || !json_is_number(time) || !(bytes >= 0 && bytes < 0x1p53) ||
        !(us >= 0 && us < 1e12))
        return pto_recording_fail(reader, PTO_ERR_SYNTAX,
                                  "a result of nccl-tests without its size and a time");
    const double elements = json_is_string(wrong) ? atof(json_string_value(wrong)) : json_number_value(wrong);
    reader->trace->has_wrong = reader->trace->has_wrong || elements > 0;
    if (!*reader->benchmark.program)
        return pto_bench_fail_nameless(reader);
    return pto_bench_row(reader, (int64_t)bytes, us);
}

pto_status_t pto_nccl_tests_record(pto_recording_reader_t *reader, const json_t *record) {
    const json_t *devices = json_object_get(json_object_get(record, "config"), "devices");
    const char *program = json_string_value(json_array_get(json_object_get(record, "args"), 0));
    const json_t *device, *result;
    size_t i;
    pto_status_t status = pto_bench_found(reader, &pto_nccl_tests_format);
    pto_bench_forget_processes(reader);
    if (status == PTO_OK && program)
        status = name_program(reader, program);
    json_array_foreach(devices, i, device) {
        const char *host = json_string_value(json_object_get(device, "hostname"));
        const char *gpu = json_string_value(json_object_get(device, "device_info"));
        const double rank = json_number_value(json_object_get(device, "rank"));
        if (status == PTO_OK)
            status = check_group(reader, json_number_value(json_object_get(device, "group")));
        if (status == PTO_OK)
            status = pto_bench_process(reader, rank >= 0 && rank < 1 << 24 ? (int64_t)rank : -1,
                                       host ? host : "", host ? strlen(host) : 0);
        if (gpu)
            pto_recording_note_gpu(reader, gpu);
    }
    json_array_foreach(json_object_get(record, "results"), i, result) {
        if (status == PTO_OK)
            status = read_result(reader, result);
    }
    return status;
}
