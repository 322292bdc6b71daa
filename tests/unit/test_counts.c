/* Byte counts between owners. */
#include "bad_input.h"
#include "portolan/scenario.h"
#include "test.h"

TEST(equal_counts_are_the_size) {
    const pto_counts_t counts = {.kind = PTO_COUNTS_EQUAL};
    assert_int_equal(pto_counts_bytes(&counts, 12345, 3, 4), 12345);
}

TEST(skewed_counts_stay_within_their_bounds_and_reach_them) {
    const pto_counts_t counts = {.kind = PTO_COUNTS_SKEW, .skew = 0.3, .seed = 5};
    int seen[21] = {0};
    for (int64_t i = 0; i < 40; i++)
        for (int64_t j = 0; j < 40; j++) {
            int64_t bytes = pto_counts_bytes(&counts, 10, i, j);
            assert_in_range(bytes, 7, 13);
            seen[bytes]++;
        }
    for (int bytes = 7; bytes <= 13; bytes++) /* 1600 draws among 7: 229 each, give or take 5 deviations */
        assert_in_range(seen[bytes], 159, 299);
}

TEST(skewed_counts_are_the_same_everywhere) {
    const pto_counts_t counts = {.kind = PTO_COUNTS_SKEW, .skew = 0.5, .seed = 42};
    assert_int_equal(pto_counts_bytes(&counts, 1000000, 0, 0), 1220450);
    assert_int_equal(pto_counts_bytes(&counts, 1000000, 0, 1), 883626);
    assert_int_equal(pto_counts_bytes(&counts, 1000000, 1, 0), 598901);
    assert_int_equal(pto_counts_bytes(&counts, 1000000, 1048577, 3), 596287);
}

TEST(the_seed_and_the_direction_matter) {
    const pto_counts_t one = {.kind = PTO_COUNTS_SKEW, .skew = 1, .seed = 1};
    const pto_counts_t two = {.kind = PTO_COUNTS_SKEW, .skew = 1, .seed = 2};
    int same_seed = 0, same_direction = 0;
    for (int64_t i = 1; i <= 100; i++) {
        same_seed += pto_counts_bytes(&one, 1 << 20, 0, i) == pto_counts_bytes(&two, 1 << 20, 0, i);
        same_direction += pto_counts_bytes(&one, 1 << 20, 0, i) == pto_counts_bytes(&one, 1 << 20, i, 0);
    }
    assert_true(same_seed <= 1);
    assert_true(same_direction <= 1);
}

TEST(no_skew_and_no_bytes_leave_nothing_to_chance) {
    const pto_counts_t none = {.kind = PTO_COUNTS_SKEW, .skew = 0, .seed = 1};
    const pto_counts_t full = {.kind = PTO_COUNTS_SKEW, .skew = 1, .seed = 1};
    for (int64_t i = 0; i < 50; i++) {
        assert_int_equal(pto_counts_bytes(&none, 77, i, 2), 77);
        assert_int_equal(pto_counts_bytes(&full, 0, i, 2), 0);
        assert_in_range(pto_counts_bytes(&full, INT64_MAX, i, 2), 0, INT64_MAX);
    }
}

TEST(a_square_matrix_is_read_row_by_row) {
    const char text[] = "# bytes from row to column\n\n1, 2,3\r\n 4,5,\t6\n# more\n7,8,0";
    pto_counts_t counts;
    assert_int_equal(pto_counts_parse_matrix(text, sizeof text - 1, "m.csv", &counts, NULL), PTO_OK);
    assert_int_equal(counts.kind, PTO_COUNTS_MATRIX);
    assert_int_equal(counts.order, 3);
    assert_string_equal(counts.matrix_path, "m.csv");
    assert_int_equal(pto_counts_bytes(&counts, 99, 0, 1), 2);
    assert_int_equal(pto_counts_bytes(&counts, 99, 1, 0), 4);
    assert_int_equal(pto_counts_bytes(&counts, 99, 2, 2), 0);
    pto_counts_fini(&counts);
    assert_null(counts.matrix);
}

TEST(a_large_matrix_is_read_whole) {
    enum { ORDER = 100, ROW_BYTES = 2 * ORDER };
    char *text = malloc(ORDER * ROW_BYTES);
    assert_non_null(text);
    for (int i = 0; i < ORDER * ROW_BYTES; i += 2) {
        text[i] = (char)('0' + i / 2 % 7);
        text[i + 1] = (i + 2) % ROW_BYTES == 0 ? '\n' : ',';
    }
    pto_counts_t counts;
    assert_int_equal(pto_counts_parse_matrix(text, ORDER * ROW_BYTES, "m.csv", &counts, NULL), PTO_OK);
    free(text);
    assert_int_equal(counts.order, ORDER);
    assert_int_equal(pto_counts_bytes(&counts, 0, 99, 98), (99 * 100 + 98) % 7);
    pto_counts_fini(&counts);
}

TEST(quoted_numbers_and_a_byte_order_mark_are_read) {
    static const char text[] = "\xEF\xBB\xBF\"0\",\"17\"\r\n \"2\" ,3\r\n";
    pto_counts_t counts = {.order = 0};
    assert_int_equal(pto_counts_parse_matrix(text, sizeof text - 1, "m.csv", &counts, NULL), PTO_OK);
    assert_int_equal(counts.order, 2);
    assert_int_equal(pto_counts_bytes(&counts, 0, 0, 1), 17);
    assert_int_equal(pto_counts_bytes(&counts, 0, 1, 0), 2);
    pto_counts_fini(&counts);
}

TEST(rows_of_pairs_are_added_up) {
    static const char text[] =
        "# ranks=4\nsource,destination,source_space,bytes\n0,1,cpu,5\n0,1,gpu,7\n2,0,gpu,1\n"
        "# another file\nsource,destination,source_space,bytes\n2,0,gpu,2\n";
    pto_counts_t counts = {.order = 0};
    assert_int_equal(pto_counts_parse_matrix(text, sizeof text - 1, "m.csv", &counts, NULL), PTO_OK);
    assert_int_equal(counts.order, 4);
    assert_string_equal(counts.matrix_path, "m.csv");
    for (int64_t i = 0; i < 4; i++)
        for (int64_t j = 0; j < 4; j++)
            assert_int_equal(pto_counts_bytes(&counts, 0, i, j), i == 0 && j == 1   ? 12
                                                                 : i == 2 && j == 0 ? 3
                                                                                    : 0);
    pto_counts_fini(&counts);
}

TEST(bad_matrices_are_refused_where_they_are_bad) {
    const bad_input_t bad[] = {
        BAD("", PTO_ERR_SYNTAX, 1, 1, "no numbers"),
        BAD("# nothing\n\n", PTO_ERR_SYNTAX, 1, 1, "no numbers"),
        BAD("1,2\n3,4,5\n", PTO_ERR_SYNTAX, 2, 5, "not square", "row 2", "at least 3 columns"),
        BAD("1,2,3\n4,5\n", PTO_ERR_SYNTAX, 2, 3, "not square", "row 2", "only 2 columns"),
        BAD("1,2\n3,4\n5,6\n", PTO_ERR_SYNTAX, 3, 1, "not square", "2 columns", "3 rows"),
        BAD("1,2\n", PTO_ERR_SYNTAX, 1, 1, "not square", "2 columns", "only 1 row"),
        BAD("1,2,3\n4,5,6\n# end\n", PTO_ERR_SYNTAX, 3, 1, "not square", "3 columns", "only 2 rows"),
        BAD("1,2\n3,-4\n", PTO_ERR_RANGE, 2, 3, "negative"),
        BAD("1,2\n3, four\n", PTO_ERR_TYPE, 2, 4, "'four'", "not a whole number"),
        BAD("1,2\n3,\n", PTO_ERR_TYPE, 2, 3, "the value is empty"),
        BAD("1,,2\n", PTO_ERR_TYPE, 1, 3, "the value is empty"),
        BAD("1.5\n", PTO_ERR_TYPE, 1, 1, "'1.5'"),
        BAD("1e3\n", PTO_ERR_TYPE, 1, 1, "'1e3'"),
        BAD("0x10\n", PTO_ERR_TYPE, 1, 1, "hexadecimal"),
        BAD("nan\n", PTO_ERR_RANGE, 1, 1, "not finite"),
        BAD("-inf\n", PTO_ERR_RANGE, 1, 1, "not finite"),
        BAD("9223372036854775808\n", PTO_ERR_RANGE, 1, 1, "too large"),
        BAD("9223372036854775807,1\n", PTO_ERR_RANGE, 1, 21, "sums to more"),
        BAD("1,\"2\n", PTO_ERR_SYNTAX, 1, 3, "not closed"),
        BAD("1,\"2\"3\n", PTO_ERR_SYNTAX, 1, 6, "after a closing quote"),
        BAD("1,\"2\"\n3,\"-4\"\n", PTO_ERR_RANGE, 2, 3, "negative"),
        BAD("\xEF\xBB\xBF"
            "1,x\n",
            PTO_ERR_TYPE, 1, 3, "'x'"),
        BAD("1;2\n", PTO_ERR_TYPE, 1, 1, "'1;2'"),
        BAD("source,destination\n0,1\n", PTO_ERR_KEY, 1, 1, "column 'bytes' is missing"),
        BAD("source,destination,bites\n", PTO_ERR_KEY, 1, 20, "unknown column 'bites'"),
        BAD("source,destination,bytes\n0,x,1\n", PTO_ERR_TYPE, 2, 3, "destination", "whole number"),
        BAD("source,destination,bytes\n0,1,-1\n", PTO_ERR_RANGE, 2, 5, "bytes"),
        BAD("source,destination,bytes\n0,11585,1\n", PTO_ERR_TOO_LARGE, 2, 3, "at most 11585 processes"),
        BAD("source,destination,bytes\n", PTO_ERR_SYNTAX, 1, 1, "no rows"),
        BAD("# ranks=2\nsource,destination,bytes\n0,2,1\n", PTO_ERR_RANGE, 1, 1, "not a number from 3"),
        BAD("source,destination,bytes\n0,1,9223372036854775807\n0,1,1\n", PTO_ERR_RANGE, 1, 1,
            "sums to more"),
        BAD("1111111111111111111111111111111111111111111111111111111111111111111111\n", PTO_ERR_TYPE, 1, 1,
            "not a whole number"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pto_counts_t counts = {.order = 99};
        pto_error_t err = {.status = PTO_OK};
        pto_status_t status =
            pto_counts_parse_matrix(bad[i].text, strlen(bad[i].text), "m.csv", &counts, &err);
        assert_refused(&bad[i], status, &err);
        assert_string_equal(err.file, "m.csv");
        assert_int_equal(counts.order, 99);
    }
}

TEST(a_nul_in_a_matrix_is_refused) {
    const char text[] = "1\0\n";
    pto_counts_t counts;
    pto_error_t err;
    assert_int_equal(pto_counts_parse_matrix(text, sizeof text - 1, "m.csv", &counts, &err), PTO_ERR_TYPE);
    assert_int_equal(err.line, 1);
}

TEST(a_matrix_file_is_read) {
    pto_counts_t counts;
    pto_error_t err;
    assert_int_equal(pto_counts_read_matrix("tests/fixtures/square.csv", &counts, &err), PTO_OK);
    assert_int_equal(counts.order, 2);
    assert_int_equal(pto_counts_bytes(&counts, 0, 1, 0), 4096);
    pto_counts_fini(&counts);
    assert_int_equal(pto_counts_read_matrix("tests/fixtures/none.csv", &counts, &err), PTO_ERR_IO);
    assert_string_equal(err.file, "tests/fixtures/none.csv");
    assert_non_null(strstr(err.message, "No such file"));
    assert_int_equal(pto_counts_read_matrix("tests/fixtures", &counts, &err), PTO_ERR_IO);
}
