/* samples.csv: what is read, what is rejected, and at which position. */
#include "bad_input.h"
#include "formats/csv_line.h"
#include "made_samples.h"
#include "portolan/samples.h"
#include "test.h"

#define HEADER "benchmark,space,level,pair,procs,messages,bytes,run,seconds\n"
#define ROW "ping_pong,cpu,off_node,0-4,1,1,1024,1,2.5e-06\n"

static pto_status_t parse(const char *text, const char *path, pto_samples_t *samples, pto_error_t *err) {
    return pto_samples_parse(text, strlen(text), path, samples, err);
}

TEST(rows_and_provenance_are_read) {
    pto_samples_t *samples = no_samples();
    pto_error_t err;
    const char *text = "# machine = Summit (Oak Ridge) \n# a remark\n#empty=\n" HEADER ROW
                       "\nmemcpy_d2d,-,off_socket,0:1-2,1,1,4096,3,0.001\n"
                       "reduce_by_hand,gpu,-,-,2,7,0,0,1\n";
    assert_int_equal(parse(text, "a.csv", samples, &err), PTO_OK);
    assert_int_equal(samples->count, 3);
    assert_string_equal(pto_samples_provenance(samples, "machine"), "Summit (Oak Ridge)");
    assert_string_equal(pto_samples_provenance(samples, "empty"), "");
    assert_null(pto_samples_provenance(samples, "mpi"));
    const pto_sample_t *first = &samples->sample[0];
    assert_int_equal(first->benchmark, PTO_BENCHMARK_PING_PONG);
    assert_int_equal(first->where, PTO_IN_CPU);
    assert_int_equal(first->place, PTO_AT_OFF_NODE);
    assert_true(first->pair_hash == pto_sample_pair_hash("0-4"));
    assert_int_equal(first->bytes, 1024);
    assert_true(first->seconds == 2.5e-6);
    assert_int_equal(samples->sample[1].benchmark, PTO_BENCHMARK_MEMCPY_D2D);
    assert_int_equal(samples->sample[1].run, 3);
    assert_true(samples->sample[1].pair_hash != first->pair_hash);
    assert_int_equal(samples->sample[2].benchmark, PTO_BENCHMARK_OTHER);
    assert_int_equal(samples->sample[2].procs, 2);
    assert_int_equal(samples->sample[2].messages, 7);
}

TEST(columns_can_be_in_any_order_and_lines_can_end_in_crlf) {
    pto_samples_t *samples = no_samples();
    const char *text = "seconds,run,bytes,messages,procs,pair,level,space,benchmark\r\n"
                       "3e-06, 2 ,16,1,4,-,off_node,gpu,injection\r\n";
    assert_int_equal(parse(text, "a.csv", samples, NULL), PTO_OK);
    assert_int_equal(samples->count, 1);
    assert_int_equal(samples->sample[0].run, 2);
    assert_int_equal(samples->sample[0].procs, 4);
    assert_int_equal(samples->sample[0].where, PTO_IN_GPU);
    assert_true(samples->sample[0].seconds == 3e-6);
}

TEST(quoted_fields_and_a_byte_order_mark_are_read) {
    pto_samples_t *samples = no_samples();
    const char *text = "\xEF\xBB\xBF\"# machine=a, b\",,\r\n# mpi=c\r\n"
                       "\"benchmark\",\"space\",level,pair,procs,messages,bytes,\"run\",seconds\r\n"
                       "\"ping_pong\", \"cpu\" ,off_node,\"0,\"\"4\"\"\",1,1,\" 1024\",1,\"2.5e-06\"\r\n";
    assert_int_equal(parse(text, "a.csv", samples, NULL), PTO_OK);
    assert_int_equal(samples->count, 1);
    assert_string_equal(pto_samples_provenance(samples, "machine"), "a, b");
    assert_string_equal(pto_samples_provenance(samples, "mpi"), "c");
    assert_int_equal(samples->sample[0].where, PTO_IN_CPU);
    assert_int_equal(samples->sample[0].bytes, 1024);
    assert_true(samples->sample[0].pair_hash == pto_sample_pair_hash("0,\"4\""));
    assert_true(samples->sample[0].seconds == 2.5e-6);
}

/* Without its doubled quotes, the longest field has as many characters as there is room for. */
TEST(a_quoted_field_is_read_up_to_its_longest) {
    for (int longer = 0; longer < 2; longer++) {
        char text[PTO_CSV_UNQUOTED_MAX + 8];
        int length = snprintf(text, sizeof text, "\"\"\"%0*d\"", PTO_CSV_UNQUOTED_MAX - 1 + longer, 7);
        pto_csv_line_t line = {.next = text, .end = text + length};
        pto_text_span_t field;
        assert_int_equal(pto_csv_line_next(&line, &field), !longer);
        if (longer)
            assert_string_equal(line.fault, "this quoted field is too long");
        else
            assert_true(field.size == PTO_CSV_UNQUOTED_MAX && field.text[0] == '"' && field.text[1] == '0');
    }
}

TEST(bad_input_is_rejected_at_its_position_and_adds_nothing) {
    static const bad_input_t bad[] = {
        BAD("", PTO_ERR_SYNTAX, 1, 1, "column names"),
        BAD("# machine=x\n", PTO_ERR_SYNTAX, 1, 1, "column names"),
        BAD("benchmark,space,level,pair,procs,messages,bytes,run\n", PTO_ERR_KEY, 1, 1, "seconds", "missing"),
        BAD("benchmark,colour\n", PTO_ERR_KEY, 1, 11, "unknown column", "colour"),
        BAD("benchmark,space,space\n", PTO_ERR_KEY, 1, 17, "twice", "space"),
        BAD(HEADER ROW "ping_pong,cpu,off_node,0-4,1,1,10", PTO_ERR_SYNTAX, 3, 34, "ends before", "run"),
        BAD(HEADER "ping_pong,cpu,off_node,0-4,1,1,1024,1,2e-6,9\n", PTO_ERR_SYNTAX, 2, 44, "more than 9"),
        BAD(HEADER "ping_pong,cpu,off_node,0-4,1,1,1024,1,fast\n", PTO_ERR_TYPE, 2, 39, "seconds", "fast"),
        BAD(HEADER "ping_pong,cpu,off_node,0-4,1,1,1024,1,\n", PTO_ERR_TYPE, 2, 39, "seconds"),
        BAD(HEADER "ping_pong,cpu,off_node,0-4,1,1,1024,1,-2e-6\n", PTO_ERR_RANGE, 2, 39, "positive"),
        BAD(HEADER "ping_pong,cpu,off_node,0-4,1,1,1024,1,0\n", PTO_ERR_RANGE, 2, 39, "positive"),
        BAD(HEADER "ping_pong,cpu,off_node,0-4,1,1,1024,1,1e999\n", PTO_ERR_RANGE, 2, 39, "finite"),
        BAD(HEADER "ping_pong,cpu,off_node,0-4,1,1,1024,1,nan\n", PTO_ERR_TYPE, 2, 39, "nan"),
        BAD(HEADER "ping_pong,cpu,off_node,0-4,1,1,1024,1,0x1p-3\n", PTO_ERR_TYPE, 2, 39, "a number"),
        BAD(HEADER "ping_pong,cpu,off_node,0-4,1,1,1k,1,1\n", PTO_ERR_TYPE, 2, 32, "bytes", "1k"),
        BAD(HEADER "ping_pong,cpu,off_node,0-4,1,1,-1,1,1\n", PTO_ERR_RANGE, 2, 32, "bytes"),
        BAD(HEADER "ping_pong,cpu,off_node,0-4,0,1,1,1,1\n", PTO_ERR_RANGE, 2, 28, "procs"),
        BAD(HEADER "ping_pong,cpu,off_node,0-4,1,3000000000,1,1,1\n", PTO_ERR_RANGE, 2, 30, "messages"),
        BAD(HEADER "ping_pong,cpu,off_node,0-4,1,1,9999999999999999999,1,1\n", PTO_ERR_RANGE, 2, 32, "bytes"),
        BAD(HEADER "ping_pong,tpu,off_node,0-4,1,1,1,1,1\n", PTO_ERR_TYPE, 2, 11, "space", "tpu"),
        BAD(HEADER "ping_pong,cpu,far,0-4,1,1,1,1,1\n", PTO_ERR_TYPE, 2, 15, "level", "far"),
        BAD("\xEF\xBB\xBF"
            "benchmark,colour\n",
            PTO_ERR_KEY, 1, 11, "unknown column", "colour"),
        BAD("\"benchmark\",\"space\n", PTO_ERR_SYNTAX, 1, 13, "not closed"),
        BAD("\"# machine=x\n", PTO_ERR_SYNTAX, 1, 1, "not closed"),
        BAD(HEADER "ping_pong,\"cpu\"x,off_node\n", PTO_ERR_SYNTAX, 2, 16, "after a closing quote"),
        BAD(HEADER "ping_pong,c\"pu\",off_node,0-4,1,1,1,1,1\n", PTO_ERR_SYNTAX, 2, 12, "a quote in a field"),
        BAD(HEADER "ping_pong,cpu,\"off_\nnode\"\n", PTO_ERR_SYNTAX, 2, 15, "not closed"),
        BAD(HEADER "ping_pong,\"tpu\",off_node,0-4,1,1,1,1,1\n", PTO_ERR_TYPE, 2, 11, "space", "'tpu'"),
        BAD(HEADER ",cpu,off_node,0-4,1,1,1,1,1\n", PTO_ERR_TYPE, 2, 1, "benchmark"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pto_samples_t *samples = no_samples();
        pto_error_t err = {.status = PTO_OK};
        pto_status_t status = parse(bad[i].text, "bad.csv", samples, &err);
        assert_refused(&bad[i], status, &err);
        assert_string_equal(err.file, "bad.csv");
        assert_int_equal(samples->count, 0);
        assert_int_equal(samples->provenance_count, 0);
        assert_int_equal(parse(bad[i].text, "bad.csv", samples, NULL), status);
    }
}

TEST(a_zero_byte_is_refused) {
    static const char text[] = HEADER "ping_pong,c\0u,off_node,0-4,1,1,1,1,1\n";
    pto_samples_t *samples = no_samples();
    pto_error_t err;
    assert_int_equal(pto_samples_parse(text, sizeof text - 1, "zero.csv", samples, &err), PTO_ERR_SYNTAX);
    assert_int_equal(err.line, 2);
    assert_int_equal(err.column, 12);
}

TEST(files_of_one_machine_add_up_and_others_are_refused) {
    pto_samples_t *samples = no_samples();
    pto_error_t err;
    assert_int_equal(parse("# machine=A\n# mpi=M\n" HEADER ROW, "1.csv", samples, &err), PTO_OK);
    assert_int_equal(parse("# machine=A\n" HEADER ROW ROW, "2.csv", samples, &err), PTO_OK);
    assert_int_equal(samples->count, 3);
    assert_int_equal(samples->sample[2].file, 1);
    assert_int_equal(parse("# date=today\n# machine=B\n" HEADER ROW, "3.csv", samples, &err),
                     PTO_ERR_NOT_APPLICABLE);
    assert_string_equal(err.file, "3.csv");
    assert_int_equal(err.line, 2);
    assert_non_null(strstr(err.message, "'B'"));
    assert_int_equal(parse("# machine=A\n# mpi=N\n" HEADER ROW, "4.csv", samples, &err),
                     PTO_ERR_NOT_APPLICABLE);
    assert_int_equal(samples->count, 3);
    assert_int_equal(samples->file_count, 2);
    assert_string_equal(samples->path[1], "2.csv");
}

TEST(a_file_that_is_not_there_is_an_error_with_its_name) {
    pto_samples_t *samples = no_samples();
    pto_error_t err;
    assert_int_equal(pto_samples_read("tests/fixtures/no-such.csv", samples, &err), PTO_ERR_IO);
    assert_string_equal(err.file, "tests/fixtures/no-such.csv");
}
