#include "test.h"

enum { TESTS_MAX = 64 };

static struct CMUnitTest table[TESTS_MAX];
static int table_line[TESTS_MAX];
static struct CMUnitTest fixture[TESTS_MAX]; /* each test's own set-up and tear-down */
static size_t count;
static size_t begun;

typedef struct {
    void *object;
    void (*end)(void *);
    bool is_ours; /* its memory is freed */
} kept_t;

static kept_t *kept;
static size_t kept_count, kept_capacity;
static size_t kept_before; /* the test that runs */

static void add_kept(kept_t added) {
    if (kept_count == kept_capacity) {
        kept_capacity = kept_capacity > 0 ? 2 * kept_capacity : 64;
        kept_t *grown = realloc(kept, kept_capacity * sizeof *kept);
        assert_non_null(grown);
        kept = grown;
    }
    kept[kept_count++] = added;
}

void *keep(void *object, void (*end)(void *)) {
    add_kept((kept_t){.object = object, .end = end});
    return object;
}

void *keep_new(size_t bytes, void (*end)(void *)) {
    void *object = calloc(1, bytes);
    assert_non_null(object);
    add_kept((kept_t){.object = object, .end = end, .is_ours = true});
    return object;
}

void keep_owned(const void *object, size_t bytes, void (*end)(void *)) {
    memcpy(keep_new(bytes, end), object, bytes);
}

static void end_kept_since(size_t until) {
    while (kept_count > until) {
        const kept_t last = kept[--kept_count];
        if (last.end)
            last.end(last.object);
        if (last.is_ours)
            free(last.object);
    }
}

void end_kept(void) {
    end_kept_since(0);
    free(kept);
    kept = NULL;
    kept_capacity = 0;
}

static int begin_test(void **state) {
    const struct CMUnitTest *test = &fixture[begun++];
    kept_before = kept_count;
    return test->setup_func ? test->setup_func(state) : 0;
}

static int end_test(void **state) {
    const struct CMUnitTest *test = &fixture[begun - 1];
    int status = test->teardown_func ? test->teardown_func(state) : 0;
    end_kept_since(kept_before);
    return status;
}

/* Compilers do not keep the order of constructors. */
void test_register(struct CMUnitTest test, int line) {
    if (count == TESTS_MAX) {
        print_error("more than %d tests\n", TESTS_MAX);
        abort();
    }
    size_t i = count++;
    for (; i > 0 && table_line[i - 1] > line; i--) {
        table[i] = table[i - 1];
        fixture[i] = fixture[i - 1];
        table_line[i] = table_line[i - 1];
    }
    fixture[i] = table[i] = test;
    table[i].setup_func = begin_test;
    table[i].teardown_func = end_test;
    table_line[i] = line;
}

int run_all_tests(CMFixtureFunction set_up, CMFixtureFunction tear_down) {
    int failures = _cmocka_run_group_tests("tests", table, count, set_up, tear_down);
    end_kept();
    return failures;
}
