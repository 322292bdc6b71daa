/* Lines of text that a fixture has recorded. */
#ifndef PTO_TEST_RECORDED_LINES_H
#define PTO_TEST_RECORDED_LINES_H

#include "test.h"

/* Whether one of the next lines is this one. */
static inline bool comes_next(FILE *lines, const char *expected) {
    char got[256];
    while (fgets(got, sizeof got, lines) != NULL)
        if (strcmp(got, expected) == 0)
            return true;
    return false;
}

/* Each line of the fixture is written as it was. There may be more. */
static inline void assert_all_written(const char *fixture_path, void (*write)(FILE *out)) {
    FILE *now = tmpfile();
    FILE *before = fopen(fixture_path, "r");
    char expected[256];
    int missing = 0;
    assert_non_null(now);
    assert_non_null(before);
    write(now);
    rewind(now);
    while (fgets(expected, sizeof expected, before) != NULL) {
        if (comes_next(now, expected)) /* as nearly always: they are in order */
            continue;
        rewind(now);
        if (!comes_next(now, expected)) {
            rewind(now);
            print_error("%s: this has changed: %s", fixture_path, expected);
            missing++;
        }
    }
    fclose(before);
    fclose(now);
    assert_int_equal(missing, 0);
}

#endif
