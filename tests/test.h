/* test.h: cmocka, the headers of C that nearly every test needs, and tests that need no list.
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

void test_register(struct CMUnitTest test, int line);

/* Run the tests between the set-up and the tear-down of all of them. Returns the number of failures. */
int run_all_tests(CMFixtureFunction set_up, CMFixtureFunction tear_down);

/* A test with functions that run before and after it. */
#define TEST_WITH(name, set_up, tear_down)                                                                   \
    static void name(void **test_state);                                                                     \
    __attribute__((constructor)) static void register_##name(void) {                                         \
        test_register((struct CMUnitTest){#name, name, set_up, tear_down, NULL}, __LINE__);                  \
    }                                                                                                        \
    static void name(void **test_state)

#define TEST(name) TEST_WITH(name, NULL, NULL)

#endif
