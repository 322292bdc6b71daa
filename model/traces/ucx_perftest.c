/* Reads ucx_perftest's messages between two processes. A frame has "| Test: ...", "| Message size: ..." and
 * "| Window size: ...". Rows while it measures ("[thread 0] ...") are ignored; the last one, "Final: ...",
 * has the result. Its MB/s are 2^20 bytes per second. Batches of several tests (-b) are not read: they have
 * no sizes. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "reader.h"

/* Tests of UCP, by which MPI libraries send. A test is the first of these that the line "Test:" contains. */
static const pto_bench_test_t tests[] = {
    {"tag match latency", PTO_COLLECTIVE_PAIR, false},
    {"tag sync match latency", PTO_COLLECTIVE_PAIR, false},
    {"stream latency", PTO_COLLECTIVE_PAIR, false},
    {"tag match bandwidth", PTO_COLLECTIVE_MESSAGES, false},
    {"tag sync match bandwidth", PTO_COLLECTIVE_MESSAGES, false},
    {"stream bandwidth", PTO_COLLECTIVE_MESSAGES, false},
};
enum { TEST_COUNT = sizeof tests / sizeof *tests };

/* The numbers of a row: count, time (percentile, average, overall), rate (average, overall), message rate
 * (average, overall). With several threads only the count and the overall ones. TIME and RATE are indexes of
 * overall ones. */
enum { NUMBERS = 8, TIME = 3, RATE = 5, NUMBERS_OF_THREADS = 4, TIME_OF_THREADS = 1, RATE_OF_THREADS = 2 };

static const double mebi = 1.048576; /* 2^20 / 10^6 */

static bool is_heading(const char *line) { return pto_text_begins(line, "| API: "); }

/* Returns the value of the frame's line with that label; NULL if it is another line. */
static const char *value_of(const char *line, const char *label) {
    if (*line != '|')
        return NULL;
    const char *text = line + 1 + strspn(line + 1, " ");
    if (!pto_text_begins(text, label))
        return NULL;
    text += strlen(label);
    return text + strspn(text, " ");
}

/* Prepares for another run's frame. */
static void begin_run(pto_bench_t *benchmark) {
    benchmark->message_bytes = 0;
    benchmark->messages = 0;
    benchmark->procs = 2;
    benchmark->on_host = false;
    benchmark->is_rate = false;
}

static pto_status_t name_test(pto_recording_reader_t *reader, const char *text) {
    char name[sizeof reader->benchmark.program];
    pto_bench_copy(text, "|\r", name, sizeof name);
    const pto_bench_test_t *test = pto_bench_test_within(tests, TEST_COUNT, name);
    reader->benchmark.is_rate = test && test->collective == PTO_COLLECTIVE_MESSAGES;
    return pto_bench_name(reader, name, test);
}

/* Reads where the buffers of the sender or, in the line after it, of the receiver are. They count as on the
 * host only if both are. */
static void read_memory(pto_recording_reader_t *reader, const char *send, const char *receive) {
    pto_bench_t *benchmark = &reader->benchmark;
    const bool is_host = pto_text_begins(send ? send : receive, "host");
    benchmark->on_host = is_host && (send || benchmark->on_host);
}

static pto_status_t read_row(pto_recording_reader_t *reader, char *line) {
    char *field[PTO_RECORDING_COLUMNS_MAX];
    const pto_bench_t *benchmark = &reader->benchmark;
    const int numbers = pto_recording_split(line, " \t\r", true, field) - 1;
    const bool threads = numbers == NUMBERS_OF_THREADS;
    const int time = threads ? TIME_OF_THREADS : TIME, rate = threads ? RATE_OF_THREADS : RATE;
    double value;
    if ((numbers != NUMBERS && !threads) || benchmark->message_bytes == 0 ||
        (benchmark->is_rate && benchmark->messages == 0) ||
        !pto_recording_seconds(field[1 + (benchmark->is_rate ? rate : time)], &value))
        return PTO_OK;
    return pto_bench_row(reader, benchmark->message_bytes, benchmark->is_rate ? mebi * value : value);
}

static pto_status_t read_line(pto_recording_reader_t *reader, char *line) {
    pto_bench_t *benchmark = &reader->benchmark;
    const char *test = value_of(line, "Test:"), *bytes = value_of(line, "Message size:");
    const char *window = value_of(line, "Window size:");
    const char *send = value_of(line, "Send memory:"), *receive = value_of(line, "Recv memory:");
    if (is_heading(line))
        begin_run(benchmark);
    if (test)
        return name_test(reader, test);
    if (send || receive)
        read_memory(reader, send, receive);
    if (bytes)
        benchmark->message_bytes = atoll(bytes);
    if (window)
        benchmark->messages = benchmark->is_rate ? pto_bench_count(window) : 0;
    return pto_text_begins(line, "Final:") ? read_row(reader, line) : PTO_OK;
}

const pto_bench_format_t pto_ucx_format = {PTO_RECORDING_UCX_PERFTEST, tests, TEST_COUNT, is_heading,
                                           read_line};
