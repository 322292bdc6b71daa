/* Tables of bad input with the expected message and position. */
#ifndef PORTOLAN_TESTS_BAD_INPUT_H
#define PORTOLAN_TESTS_BAD_INPUT_H

#include "portolan/api.h"
#include "test.h"

typedef struct {
    const char *text;
    pto_status_t status;
    int line;
    int column;
    const char *words[3]; /* all in the message */
} bad_input_t;

/* A row of such a table: BAD(text, status, line, column, words...). */
#define BAD(text, status, line, column, ...)                                                                 \
    {                                                                                                        \
        text, status, line, column, { __VA_ARGS__ }                                                          \
    }

static inline void assert_refused(const bad_input_t *expected, pto_status_t status, const pto_error_t *err) {
    if (status != expected->status || err->line != expected->line || err->column != expected->column)
        print_error("of <<<%s>>>\nstatus %d (expected %d): %s:%d:%d (expected %d:%d): %s\n", expected->text,
                    status, expected->status, err->file, err->line, err->column, expected->line,
                    expected->column, err->message);
    assert_int_equal(status, expected->status);
    assert_int_equal(err->status, expected->status);
    assert_int_equal(err->line, expected->line);
    assert_int_equal(err->column, expected->column);
    for (int i = 0; i < 3 && expected->words[i]; i++) {
        if (!strstr(err->message, expected->words[i]))
            print_error("'%s' does not say '%s'\n", err->message, expected->words[i]);
        assert_non_null(strstr(err->message, expected->words[i]));
    }
}

#endif
