/* The error record. */
#include "portolan/api.h"
#include "test.h"

TEST(every_status_has_its_own_text) {
    for (int a = 0; a >= PTO_ERR_TIMEOUT; a--) {
        assert_true(strlen(pto_status_text((pto_status_t)a)) > 0);
        for (int b = a - 1; b >= PTO_ERR_TIMEOUT; b--)
            assert_string_not_equal(pto_status_text((pto_status_t)a), pto_status_text((pto_status_t)b));
    }
    assert_string_equal(pto_status_text((pto_status_t)-99), "unknown status");
}

TEST(an_error_may_be_dropped) {
    assert_int_equal(pto_error_set(NULL, PTO_ERR_IO, "%d", 1), PTO_ERR_IO);
    assert_int_equal(pto_error_set_at(NULL, PTO_ERR_KEY, "f", 1, 2, "x"), PTO_ERR_KEY);
}

TEST(an_error_with_a_place_prints_it) {
    pto_error_t err;
    char text[64];
    pto_error_set_at(&err, PTO_ERR_TYPE, "a.yaml", 3, 7, "no %s", "good");
    pto_error_format(&err, text, sizeof text);
    assert_string_equal(text, "a.yaml:3:7: no good");
    pto_error_set_at(&err, PTO_ERR_TYPE, "a.yaml", 0, 0, "no good");
    pto_error_format(&err, text, sizeof text);
    assert_string_equal(text, "a.yaml: no good");
    pto_error_set_at(&err, PTO_ERR_TYPE, NULL, 3, 7, "no good");
    pto_error_format(&err, text, sizeof text);
    assert_string_equal(text, "no good");
}

TEST(setting_an_error_forgets_the_place_of_the_last) {
    pto_error_t err;
    pto_error_set_at(&err, PTO_ERR_TYPE, "a.yaml", 3, 7, "old");
    pto_error_set(&err, PTO_ERR_RANGE, "new");
    assert_int_equal(err.status, PTO_ERR_RANGE);
    assert_int_equal(err.line, 0);
    assert_int_equal(err.column, 0);
    assert_string_equal(err.file, "");
}

TEST(an_error_can_be_built_from_itself) {
    pto_error_t err;
    pto_error_set_at(&err, PTO_ERR_TYPE, "a.yaml", 3, 7, "inner");
    pto_error_set_at(&err, PTO_ERR_TYPE, err.file, err.line, err.column, "outer: %s", err.message);
    assert_string_equal(err.message, "outer: inner");
    assert_string_equal(err.file, "a.yaml");
}

TEST(a_message_is_one_printable_line) {
    pto_error_t err;
    pto_error_set_at(&err, PTO_ERR_KEY, "x\ny", 1, 1, "a\nb\x1b[31mc\x7f\xe9");
    assert_string_equal(err.message, "a\\u000ab\\u001b[31mc\\u007f\\u00e9");
    assert_string_equal(err.file, "x\\u000ay");
}

TEST(long_messages_and_files_are_cut) {
    char name[1000];
    pto_error_t err;
    memset(name, 'x', sizeof name);
    memcpy(name + sizeof name - 6, ".yaml", 6);
    pto_error_set_at(&err, PTO_ERR_IO, name, 1, 1, "%s", name);
    assert_int_equal(strlen(err.message), PTO_ERROR_MESSAGE_MAX - 1);
    assert_int_equal(strlen(err.file), PTO_ERROR_FILE_MAX - 1);
    assert_memory_equal(err.file, "...x", 4);
    assert_string_equal(err.file + PTO_ERROR_FILE_MAX - 6, ".yaml");
}

TEST(formatting_never_writes_past_the_end) {
    pto_error_t err;
    char text[8] = "1234567";
    pto_error_set(&err, PTO_ERR_IO, "longer than that");
    pto_error_format(&err, text, 4);
    assert_memory_equal(text, "lon\0", 4);
    assert_memory_equal(text + 4, "567", 3);
    pto_error_format(&err, text, 0);
    assert_int_equal(text[0], 'l');
}
