/* test.h: cmocka, and tests that need no list of their own.
 *
 *     TEST(prices_are_positive) { assert_true(price() > 0); }
 *     int main(void) { return run_all_tests(NULL, NULL); }
 *
 * Tests run in the order of their file. `test_state` is cmocka's, as set by the set-up of the group or of the
 * test. */
#ifndef TESTS_TEST_H
#define TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { TESTS_MAX = 64 };

static struct CMUnitTest test_table[TESTS_MAX];
static int test_line[TESTS_MAX];
static size_t test_count;

/* Compilers do not keep the order of constructors. */
static inline void test_register(struct CMUnitTest test, int line) {
    if (test_count == TESTS_MAX)
        fail_msg("more than %d tests", TESTS_MAX);
    size_t i = test_count++;
    for (; i > 0 && test_line[i - 1] > line; i--) {
        test_table[i] = test_table[i - 1];
        test_line[i] = test_line[i - 1];
    }
    test_table[i] = test;
    test_line[i] = line;
}

/* A test with functions that run before and after it. */
#define TEST_WITH(name, set_up, tear_down)                                                                   \
    static void name(void **test_state);                                                                     \
    __attribute__((constructor)) static void register_##name(void) {                                         \
        test_register((struct CMUnitTest){#name, name, set_up, tear_down, NULL}, __LINE__);                  \
    }                                                                                                        \
    static void name(void **test_state)

#define TEST(name) TEST_WITH(name, NULL, NULL)

/* Run the file's tests between the set-up and the tear-down of the group. Returns the number of failures. */
static inline int run_all_tests(CMFixtureFunction set_up, CMFixtureFunction tear_down) {
    return _cmocka_run_group_tests("tests", test_table, test_count, set_up, tear_down);
}

#endif
