/* Reading ends: what is not a regular file is refused, and recordings have limits, of work as well. */
#include <sys/stat.h>

#include <jansson.h>
#include <zlib.h>

#include "base/text.h"
#include "files.h"
#include "portolan/machine.h"
#include "recorded.h"
#include "test.h"

enum { MEBIBYTE = 1 << 20 };

static const pto_recording_options_t four_a_node = {
    .rank = -1, .gpus_per_node = 4, .collective = PTO_COLLECTIVE_COUNT};

/* --- what may be read ----------------------------------------------------------------------------------- */

/* No process ever opens the other end of this pipe. */
TEST(a_named_pipe_is_refused_by_every_reader) {
    const char *pipe_path = in_folder("pipe");
    pto_machine_t *machine = NULL;
    pto_error_t err = {0};
    char *text;
    size_t size;
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    assert_false(pto_file_is_readable(pipe_path));
    assert_int_equal(pto_text_read(pipe_path, MEBIBYTE, &text, &size, &err), PTO_ERR_IO);
    assert_non_null(strstr(err.message, "not a regular file"));
    assert_int_equal(pto_machine_open(pipe_path, &machine, &err), PTO_ERR_IO);
    assert_no_recording(pipe_path, &four_a_node, PTO_ERR_IO, "not a regular file");
}

TEST(a_device_is_refused) {
    char *text;
    size_t size;
    assert_int_equal(pto_text_read("/dev/zero", MEBIBYTE, &text, &size, NULL), PTO_ERR_IO);
    assert_no_recording("/dev/zero", &four_a_node, PTO_ERR_IO, "not a regular file");
    assert_false(pto_file_is_readable("/dev/zero"));
}

/* "# OSU" in UTF-16, also without a mark, and what packed files begin with. */
TEST(text_in_utf16_and_packed_files_are_refused_by_every_reader) {
    static const struct {
        const char *text;
        size_t size;
        const char *advice;
    } texts[] = {{"\xff\xfe#\0 \0O\0S\0U\0\n\0", 14, "iconv -f UTF-16"},
                 {"\xfe\xff\0#\0 \0O\0S\0U\0\n", 14, "iconv -f UTF-16"},
                 {"#\0 \0O\0S\0U\0\n\0", 12, "iconv -f UTF-16"},
                 {"\xfd"
                  "7zXZ\0\0",
                  7, "xz -d"},
                 {"BZh91AY", 7, "bzip2 -d"},
                 {"\x28\xb5\x2f\xfd$", 5, "zstd -d"},
                 {"PK\x03\x04\x14", 5, "unzip"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *path = in_folder("refused");
        pto_machine_t *machine = NULL;
        pto_error_t err = {0};
        char *text;
        size_t size;
        write_bytes(path, texts[i].text, texts[i].size);
        assert_int_equal(pto_text_read(path, MEBIBYTE, &text, &size, &err), PTO_ERR_SYNTAX);
        assert_non_null(strstr(err.message, texts[i].advice));
        assert_int_equal(pto_machine_open(path, &machine, &err), PTO_ERR_SYNTAX);
        assert_non_null(strstr(err.message, texts[i].advice));
        assert_no_recording(path, &four_a_node, PTO_ERR_SYNTAX, texts[i].advice);
    }
}

/* Windows' editors write this mark of UTF-8. */
TEST(a_byte_order_mark_is_no_part_of_a_text) {
    const char *path = in_folder("marked");
    char *text;
    size_t size;
    write_text(path, "\xef\xbb\xbf{\"nodes\": [], \"schema\": \"1.0\"}");
    assert_int_equal(pto_text_read(path, MEBIBYTE, &text, &size, NULL), PTO_OK);
    assert_string_equal(text, "{\"nodes\": [], \"schema\": \"1.0\"}");
    assert_int_equal(size, strlen(text));
    free(text);
    read_recording(path, &four_a_node);
}

TEST(a_pipe_that_is_open_is_read) {
    static const char said[] = "# OSU MPI Broadcast Latency Test\n8 3.1\n";
    for (int recorded = 0; recorded < 2; recorded++) {
        int end[2];
        char path[32];
        assert_int_equal(pipe(end), 0);
        assert_int_equal(write(end[1], said, sizeof said - 1), sizeof said - 1);
        close(end[1]);
        snprintf(path, sizeof path, "/dev/fd/%d", end[0]);
        assert_true(pto_file_is_readable(path));
        if (recorded)
            assert_no_recording(path, &four_a_node, PTO_ERR_KEY, "--nodes");
        else
            assert_holds(path, said);
        close(end[0]);
    }
}

TEST(a_file_of_just_the_limit_is_read) {
    enum { BYTES = 100000 };
    static char written[BYTES];
    const char *path = in_folder("text");
    char *text;
    size_t size;
    for (int i = 0; i < BYTES; i++)
        written[i] = (char)('a' + i % 26);
    write_bytes(path, written, BYTES);
    assert_int_equal(pto_text_read(path, BYTES, &text, &size, NULL), PTO_OK);
    assert_int_equal(size, BYTES);
    assert_memory_equal(text, written, BYTES);
    free(text);
    assert_int_equal(pto_text_read(path, BYTES - 1, &text, &size, NULL), PTO_ERR_TOO_LARGE);
}

/* --- recordings ----------------------------------------------------------------------------------------- */

/* `start`, and then a mebibyte of the same byte many times: gzip files may follow each other in one file. */
static const char *pack(const char *start, int byte, int mebibytes) {
    const char *name = in_folder("packed.gz");
    char *same = malloc(MEBIBYTE);
    gzFile packed = gzopen(name, "wb");
    assert_non_null(same);
    assert_non_null(packed);
    memset(same, byte, MEBIBYTE);
    gzputs(packed, start);
    for (int i = 0; i < mebibytes; i++)
        assert_int_equal(gzwrite(packed, same, MEBIBYTE), MEBIBYTE);
    assert_int_equal(gzclose(packed), Z_OK);
    free(same);
    return name;
}

TEST(zeros_are_no_trace) {
    assert_no_recording(pack("", 0, 2), &four_a_node, PTO_ERR_SYNTAX, "a node without content");
}

TEST(a_gzip_file_that_unpacks_to_too_many_times_its_size_is_refused) {
    const pto_recording_options_t all = {
        .rank = -1, .gpus_per_node = 4, .collective = PTO_COLLECTIVE_COUNT, .limit_bytes = (int64_t)1 << 40};
    const char *packed = pack("{", ' ', 80);
    assert_no_recording(packed, &four_a_node, PTO_ERR_TOO_LARGE, "500 times its size");
    assert_no_recording(packed, &all, PTO_ERR_SYNTAX, "the file ends before");
}

/* Short lines, values and messages take time as well. */
TEST(the_limit_counts_items_and_says_how_much_is_left) {
    static const struct {
        const char *start, *item;
    } file[] = {{"num_ranks 2\n", "\n"},
                {"{\"traceEvents\":[{}", ",{}"},
                {"", "{}"},
                {"\x09\x0a\x07version", "\x02\x08\x01"}};
    for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
        const size_t item = strlen(file[i].item), count = 4 * (size_t)MEBIBYTE / item;
        pto_recording_options_t options = four_a_node;
        const char *path = in_folder("items");
        FILE *stream = fopen(path, "wb");
        assert_non_null(stream);
        fputs(file[i].start, stream);
        for (size_t k = 0; k < count; k++)
            fputs(file[i].item, stream);
        assert_int_equal(fclose(stream), 0);
        options.limit_bytes = (int64_t)count * (int64_t)(item + 16) / 2;
        assert_no_recording(path, &options, PTO_ERR_TOO_LARGE, "% of the file left (replay --limit");
    }
}

TEST(the_limit_holds_for_files_that_fit_into_one_buffer) {
    static const char *const text[] = {"# OSU MPI Broadcast Latency Test\n8 3.1\n16 3.2\n",
                                       "num_ranks 1\nrank 0 {\n}\n", "{\"nodes\": [], \"schema\": \"1.0\"}"};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        pto_recording_options_t options = four_a_node;
        const char *path = in_folder("small");
        options.nodes = i == 0 ? 2 : 0;
        options.limit_bytes = 20;
        write_text(path, text[i]);
        assert_no_recording(path, &options, PTO_ERR_TOO_LARGE,
                            "more than the limit of 20 bytes (replay --limit raises it)");
        options.limit_bytes = 1000;
        read_recording(path, &options);
    }
}

/* Its shape is the same for all of them, and takes a walk over 2^24 processes to find. */
TEST(many_kinds_of_calls_on_one_wide_communicator_are_read) {
    enum { KINDS = 60000 };
    pto_text_t text = {NULL, 0, 0, false};
    pto_text_add(&text, "rank,begin_s,end_s,routine,communicator,procs,peer,tag,bytes,space\n"
                        "0,1,2,MPI_Bcast,c,2,,,1,gpu\n16777215,1,2,MPI_Bcast,c,2,,,1,gpu\n");
    for (int i = 0; i < KINDS; i++)
        pto_text_add(&text, "0,1,2,MPI_Bcast,c,2,,,%d,gpu\n", i + 1);
    assert_false(text.out_of_memory);
    pto_recording_t trace = must_record(text.text, &four_a_node);
    assert_int_equal(trace.count, KINDS);
    assert_int_equal(trace.call[0].nodes, 2);
    free(text.text);
}

/* --- work ----------------------------------------------------------------------------------------------- */

static long values; /* that jansson has made memory for */

static void *count_malloc(size_t size) {
    values++;
    return malloc(size);
}

/* Calls that a trace of events has; `values` become those of one more reading of it. */
static int64_t calls_of(const pto_text_t *text) {
    pto_recording_t trace;
    pto_error_t err = {0};
    int64_t calls = 0;
    assert_false(text->out_of_memory);
    values = 0;
    json_set_alloc_funcs(count_malloc, free);
    assert_ok(read_recorded_text(text->text, text->length, &four_a_node, &trace, &err), &err);
    json_set_alloc_funcs(malloc, free);
    for (int i = 0; i < trace.count; i++)
        calls += trace.call[i].times;
    pto_recording_fini(&trace);
    return calls;
}

/* Nearly all events of a profiler's trace. Early ones have `inf`, which is not JSON (Kineto's issue 105). */
TEST(kineto_events_without_effect_are_not_parsed) {
    static const char call[] =
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel\",\"dur\":9,\"args\":{%s\"%s name\":"
        "\"allreduce\",\"In msg nelems\":256,\"Group size\":8,\"dtype\":\"Float\"}}";
    static const char other[] = "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"a \\\\ \\\"}]%d\",\"args\":"
                                "{\"Input Dims\":[[%d,{}],[inf]]}},\n";
    long few = 0;
    for (int others = 10; others <= 10000; others *= 1000) {
        pto_text_t text = {NULL, 0, 0, false};
        pto_text_add(&text, "{\"distributedInfo\": {\"rank\": 0, \"world_size\": 8}, \"traceEvents\": [\n");
        for (int i = 0; i < others; i++) {
            pto_text_add(&text, other, i % 2 ? "kernel" : "cpu_op", i, i);
            if (i % (others / 10) == 0) { /* at any place of the buffer */
                pto_text_add(&text, call, "", "Collective");
                pto_text_add(&text, ",");
            }
        }
        pto_text_add(&text, call, "", "\\u0043ollective");
        pto_text_add(&text, ",{\"symm_mem::\": [");
        for (int i = 0; i < 50000; i++) /* more than the buffer holds */
            pto_text_add(&text, "0,");
        pto_text_add(&text, "0]}]}");
        assert_int_equal(calls_of(&text), 11);
        few = others == 10 ? values : few;
        free(text.text);
    }
    assert_true(few > 100 && values == few);
}

int main(void) { return run_all_tests(make_folder, remove_folder); }
