/* test.h: cmocka, the headers of C that nearly every test needs, and TEST, which registers a test, so that no
 * list of tests is needed.
 *
 *     TEST(prices_are_positive) { assert_true(price() > 0); }
 *
 * A program runs the tests of its file in their order, unless it has a main of its own, which calls
 * run_all_tests. */
#ifndef TESTS_TEST_H
#define TESTS_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "portolan/api.h"

void test_register(struct CMUnitTest test, int line);

/* Run the tests between the set-up and the tear-down of all of them. Returns the number of failures. */
int run_all_tests(CMFixtureFunction set_up, CMFixtureFunction tear_down);

/* What a test keeps lives until it has ended, passed or failed; `end` is then called with it, for the last
 * object first. What the set-up of all tests keeps lives until all have ended. Returns the object. */
void *keep(void *object, void (*end)(void *));

/* Zeroed memory that is kept, and freed after `end` (NULL: nothing else ends with it). */
void *keep_new(size_t bytes, void (*end)(void *));

/* What a struct of `bytes` owns now is kept: `end` is called with a copy of the struct. */
void keep_owned(const void *object, size_t bytes, void (*end)(void *));

/* All that is kept ends now: for programs that run no tests by run_all_tests. */
void end_kept(void);

/* A test with functions that run before and after it. */
#define TEST_WITH(name, set_up, tear_down)                                                                   \
    static void name(void **test_state);                                                                     \
    __attribute__((constructor)) static void register_##name(void) {                                         \
        test_register((struct CMUnitTest){#name, name, set_up, tear_down, NULL}, __LINE__);                  \
    }                                                                                                        \
    static void name(void **test_state)

#define TEST(name) TEST_WITH(name, NULL, NULL)

/* Fails unless the call returned PTO_OK, and prints the error. */
#define assert_ok(call, err) check_ok(call, err, __FILE__, __LINE__)

static inline void check_ok(pto_status_t status, const pto_error_t *err, const char *file, int line) {
    if (status != PTO_OK) {
        print_error("%s:%d:%d: %s\n", err->file, err->line, err->column, err->message);
        _fail(file, line);
    }
}

/* `got` is within a fraction of what is expected (assert_near), or within a difference (assert_around). */
#define assert_near(got, expected, fraction) check_near(got, expected, fraction, 0, NULL, __FILE__, __LINE__)
#define assert_near_for(got, expected, fraction, what)                                                       \
    check_near(got, expected, fraction, 0, what, __FILE__, __LINE__)
#define assert_around(got, expected, slack) check_near(got, expected, 0, slack, NULL, __FILE__, __LINE__)

static inline void check_near(double got, double expected, double fraction, double slack, const char *what,
                              const char *file, int line) {
    if (!(fabs(got - expected) <= fraction * fabs(expected) + slack)) {
        print_error("%s%s%.17g is not %.17g\n", what ? what : "", what ? ": " : "", got, expected);
        _fail(file, line);
    }
}

#endif
