#include "test.h"

enum { TESTS_MAX = 64 };

static struct CMUnitTest table[TESTS_MAX];
static int table_line[TESTS_MAX];
static size_t count;

/* Compilers do not keep the order of constructors. */
void test_register(struct CMUnitTest test, int line) {
    if (count == TESTS_MAX) {
        print_error("more than %d tests\n", TESTS_MAX);
        abort();
    }
    size_t i = count++;
    for (; i > 0 && table_line[i - 1] > line; i--) {
        table[i] = table[i - 1];
        table_line[i] = table_line[i - 1];
    }
    table[i] = test;
    table_line[i] = line;
}

int run_all_tests(CMFixtureFunction set_up, CMFixtureFunction tear_down) {
    return _cmocka_run_group_tests("tests", table, count, set_up, tear_down);
}
