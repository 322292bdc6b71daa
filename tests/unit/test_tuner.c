/* The tuner plugin for NCCL, opened and called as NCCL does it. */
#include <dlfcn.h>
#include <sys/stat.h>

#include "files.h"
#include "nccl_tuner.h"
#include "test.h"

enum { BROADCAST, REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_REDUCE };
enum { TREE, RING, COLLNET_DIRECT, COLLNET_CHAIN, NVLS, NVLS_TREE, PAT };
enum { LL, LL128, SIMPLE };
enum { CELLS = NCCL_ALGORITHMS * NCCL_PROTOCOLS };

static const nccl_tuner_v4_t *v4;
static const nccl_tuner_v5_t *v5;
static const nccl_tuner_v6_t *v6;
static char path[128];

static int open_plugin(void **state) {
    const char *build = getenv("BUILD");
    char name[256];
    snprintf(name, sizeof name, "%s/libportolan-nccl-tuner.so", build && *build ? build : "build");
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library || make_folder(state) != 0)
        return -1;
    snprintf(path, sizeof path, "%s", in_folder("rules"));
    v4 = dlsym(library, "ncclTunerPlugin_v4");
    v5 = dlsym(library, "ncclTunerPlugin_v5");
    v6 = dlsym(library, "ncclTunerPlugin_v6");
    return v4 && v5 && v6 ? setenv("NCCL_TUNER_CONFIG_FILE", path, 1) : -1;
}

static char logged[512];
static int logged_level;

static void log_line(int level, unsigned long subsystems, const char *file, int line, const char *format,
                     ...) {
    va_list arguments;
    assert_true(subsystems == NCCL_SUBSYSTEM_TUNING && file && line > 0);
    va_start(arguments, format);
    vsnprintf(logged, sizeof logged, format, arguments);
    va_end(arguments);
    logged_level = level;
}

/* A communicator of so many ranks and nodes, under the rules of a text. */
static void *begin(const char *text, size_t ranks, size_t nodes) {
    void *context = &context;
    write_text(path, text);
    logged[0] = '\0';
    assert_int_equal(v5->init(&context, 7, ranks, nodes, log_line, NULL, NULL), 0);
    return context;
}

/* As NCCL asks: its own estimates, of which -1 are impossible, and 0 channels. */
typedef struct {
    float cost[CELLS];
    int channels;
} table_t;

static table_t estimates(void) {
    table_t table = {.channels = 0};
    for (int i = 0; i < CELLS; i++)
        table.cost[i] = i / NCCL_PROTOCOLS >= COLLNET_DIRECT ? -1 : 10 + (float)i;
    return table;
}

static table_t ask_registered(void *context, int function, size_t bytes, int pipe_operations, int registered,
                              table_t table) {
    assert_int_equal(v5->get_coll_info(context, function, bytes, pipe_operations,
                                       (float **)(void *)table.cost, NCCL_ALGORITHMS, NCCL_PROTOCOLS,
                                       registered, &table.channels),
                     0);
    return table;
}

static table_t ask(void *context, int function, size_t bytes) {
    return ask_registered(context, function, bytes, 1, 0, estimates());
}

static void assert_same(table_t a, table_t b) {
    for (int i = 0; i < CELLS; i++)
        assert_true(a.cost[i] == b.cost[i]);
    assert_int_equal(a.channels, b.channels);
}

static void assert_left_alone(table_t table) { assert_same(table, estimates()); }

/* The chosen cell is 0, all others are as before. */
static void assert_chosen(table_t table, int algorithm, int protocol, int channels) {
    table_t wanted = estimates();
    wanted.cost[algorithm * NCCL_PROTOCOLS + protocol] = 0;
    wanted.channels = channels;
    assert_same(table, wanted);
}

#define RULES                                                                                                \
    "# collective,min_bytes,max_bytes,algorithm,protocol,channels,nodes,ranks\n"                             \
    "allreduce, 0, 65536, tree, ll, 0, 2, 16\r\n\n"                                                          \
    "allreduce,65537,8589934592,ring,simple,8,2,16,-1,-1 # large\n"                                          \
    "allgather,0,1000,nvls,simple,-1,-1,-1\nallgather,0,1000,ring,ll128,-1,-1,-1,2,1\n"

TEST(a_rule_applies_within_its_bytes_ranks_and_nodes) {
    void *context = begin(RULES, 16, 2), *others[] = {begin(RULES, 16, 4), begin(RULES, 8, 2)};
    assert_non_null(context);
    assert_int_equal(logged_level, NCCL_LOG_INFO);
    assert_non_null(strstr(logged, "4 rules"));
    assert_chosen(ask(context, ALL_REDUCE, 65536), TREE, LL, 0);
    assert_chosen(ask(context, ALL_REDUCE, 65537), RING, SIMPLE, 8);
    assert_chosen(ask(context, ALL_REDUCE, (size_t)8 << 30), RING, SIMPLE, 8);
    assert_left_alone(ask(context, ALL_REDUCE, ((size_t)8 << 30) + 1));
    assert_left_alone(ask(context, REDUCE, 100));
    for (int i = 0; i < 2; i++) {
        assert_left_alone(ask(others[i], ALL_REDUCE, 100));
        assert_int_equal(v5->finalize(others[i]), 0);
    }
    assert_int_equal(v5->finalize(context), 0);
}

TEST(what_nccl_cannot_run_falls_to_the_next_rule) {
    void *context = begin(RULES, 4, 1);
    assert_chosen(ask_registered(context, ALL_GATHER, 10, 2, 1, estimates()), RING, LL128, 0);
    assert_left_alone(ask_registered(context, ALL_GATHER, 10, 1, 1, estimates()));
    assert_left_alone(ask_registered(context, ALL_GATHER, 10, 2, 0, estimates()));
    table_t with_nvls = estimates();
    with_nvls.cost[NVLS * NCCL_PROTOCOLS + SIMPLE] = 99;
    table_t table = ask_registered(context, ALL_GATHER, 10, 1, 0, with_nvls);
    assert_true(table.cost[NVLS * NCCL_PROTOCOLS + SIMPLE] == 0);
    table_t none = estimates();
    for (int i = 0; i < CELLS; i++)
        none.cost[i] = -1;
    assert_same(ask_registered(context, ALL_GATHER, 10, 2, 1, none), none);
    v5->finalize(context);
}

TEST(calls_that_nccl_runs_by_a_kept_algorithm_are_left_alone) {
    void *context = begin("#keep nvls,nvls_tree\nallreduce,0,99,ring,ll,0,-1,-1\n", 8, 1);
    table_t nvls = estimates();
    assert_chosen(ask(context, ALL_REDUCE, 10), RING, LL, 0);
    nvls.cost[NVLS * NCCL_PROTOCOLS + SIMPLE] = 1;
    assert_same(ask_registered(context, ALL_REDUCE, 10, 1, 0, nvls), nvls);
    v5->finalize(context);
}

/* Version 4 has other arguments, version 6 one function more, which NCCL does without. */
TEST(all_versions_take_the_same_rules) {
    void *context = NULL;
    table_t table = estimates();
    write_text(path, RULES);
    assert_int_equal(v4->init(16, 2, log_line, &context), 0);
    assert_int_equal(v4->get_coll_info(context, ALL_REDUCE, 100, 1, (float **)(void *)table.cost,
                                       NCCL_ALGORITHMS, NCCL_PROTOCOLS, 0, &table.channels),
                     0);
    assert_chosen(table, TREE, LL, 0);
    assert_int_equal(v4->destroy(context), 0);
    assert_int_equal(v6->init(&context, 1, 16, 2, log_line, NULL, NULL), 0);
    table = estimates();
    assert_int_equal(v6->get_coll_info(context, ALL_REDUCE, 100, 1, (float **)(void *)table.cost,
                                       NCCL_ALGORITHMS, NCCL_PROTOCOLS, 0, &table.channels),
                     0);
    assert_chosen(table, TREE, LL, 0);
    assert_int_equal(v6->finalize(context), 0);
    assert_null(v6->get_chunk_size);
    assert_string_equal(v4->name, "portolan");
    assert_string_equal(v5->name, "portolan");
    assert_string_equal(v6->name, "portolan");
}

/* An NCCL that knows fewer algorithms. */
TEST(smaller_tables_are_not_overrun) {
    void *context = begin("allgather,0,99,pat,simple,0,-1,-1\nallgather,0,99,ring,simple,0,-1,-1\n", 2, 2);
    float cost[2 * 2] = {5, 6, 7, 8};
    int channels = 0;
    assert_int_equal(
        v5->get_coll_info(context, ALL_GATHER, 10, 1, (float **)(void *)cost, 2, 2, 0, &channels), 0);
    assert_true(cost[0] == 5 && cost[1] == 6 && cost[2] == 7 && cost[3] == 8);
    v5->finalize(context);
}

TEST(a_line_that_is_not_right_switches_it_off_with_a_warning) {
    static const struct {
        const char *text, *warning;
    } wrong[] = {
        {"allreduce,0,1,ring,ll,0,1,2\nallreduse,0,1,ring,ll,0,1,2\n", ":2: unknown collective 'allreduse'"},
        {"allreduce,0,1,rings,ll,0,1,2\n", ":1: unknown algorithm 'rings'"},
        {"allreduce,0,1,ring,LL,0,1,2\n", ":1: unknown protocol 'LL'"},
        {"allreduce,0,1,ring,ll,0,1\n", ":1: 7 columns"},
        {"allreduce,0,1,ring,ll,0,1,2,3,1,5\n", ":1: more than 10 columns"},
        {"allreduce,0,1k,ring,ll,0,1,2\n", ":1: the largest size: '1k' is not"},
        {"allreduce,0,-1,ring,ll,0,1,2\n", ":1: the largest size: '-1' is not"},
        {"allreduce,0,99999999999999999999,ring,ll,0,1,2\n", ":1: the largest size"},
        {"allreduce,9,1,ring,ll,0,1,2\n", ":1: the least size is above the largest"},
        {"allreduce,,1,ring,ll,0,1,2\n", ":1: the least size: '' is not"},
        {"allreduce,0,1,ring,ll,65,1,2\n", ":1: channels: '65' is not"},
        {"allreduce,0,1,ring,ll,0,0,2\n", ":1: nodes: '0' is not"},
        {"allreduce,0,1,ring,ll,0,1,-2\n", ":1: ranks: '-2' is not"},
        {"allreduce,0,1,ring,ll,0,1,2,-1,2\n", ":1: registered buffers: '2' is not"},
        {"broadcast,0,1,tree,ll,0,1,2\n", ":1: NCCL has no broadcast by tree"},
        {"allreduce,0,1,pat,simple,0,1,2\n", ":1: NCCL has no allreduce by pat"},
        {"allreduce,0,1,nvls,ll,0,1,2\n", ":1: NCCL runs nvls with protocol simple only"},
        {"#keep nvls,all\n", ":1: unknown algorithm 'all'"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        void *context = begin(wrong[i].text, 2, 1);
        table_t table = ask(context, ALL_REDUCE, 1);
        assert_null(context);
        assert_left_alone(table);
        assert_int_equal(logged_level, NCCL_LOG_WARN);
        if (!strstr(logged, wrong[i].warning) || !strstr(logged, path))
            fail_msg("'%s' instead of '%s'", logged, wrong[i].warning);
        assert_int_equal(v5->finalize(context), 0);
    }
}

TEST(a_long_line_and_a_missing_file_switch_it_off_too) {
    char line[400];
    memset(line, ' ', sizeof line);
    memcpy(line, "allreduce,0,1,ring,ll,0,1,2", strlen("allreduce,0,1,ring,ll,0,1,2"));
    line[sizeof line - 1] = '\0';
    assert_null(begin(line, 2, 1));
    assert_non_null(strstr(logged, ":1: a line of more than"));
    setenv("NCCL_TUNER_CONFIG_FILE", "/nonexistent", 1);
    assert_null(begin("", 2, 1));
    assert_non_null(strstr(logged, "cannot be read"));
    const char *pipe = in_folder("pipe");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    setenv("NCCL_TUNER_CONFIG_FILE", pipe, 1);
    assert_null(begin("", 2, 1)); /* does not wait for a writer */
    assert_non_null(strstr(logged, "is not a regular file"));
    setenv("NCCL_TUNER_CONFIG_FILE", "/no\033[2Jfile\n", 1);
    assert_null(begin("", 2, 1));
    assert_non_null(strstr(logged, "/no\\u001b[2Jfile\\u000a cannot be read"));
    unsetenv("NCCL_TUNER_CONFIG_FILE");
    assert_null(begin("", 2, 1));
    assert_non_null(strstr(logged, "names no file"));
    setenv("NCCL_TUNER_CONFIG_FILE", path, 1);
    assert_null(begin("allre\033duce,0,1,ring,ll,0,1,2\n", 2, 1));
    assert_non_null(strstr(logged, ":1: unknown collective 'allre\\u001bduce'"));
}

/* The first of its outputs. */
TEST(it_reads_what_portolan_exports) {
    FILE *golden = fopen("tests/golden/export-nccl.out", "r");
    char text[4096] = "", line[256], wanted[64];
    int rules = 0;
    assert_non_null(golden);
    /* Up to the next command's output, or what it says on standard error. */
    while (fgets(line, sizeof line, golden) &&
           (!*text || (strncmp(line, "# portolan", 10) != 0 && strncmp(line, "portolan:", 9) != 0))) {
        rules += strncmp(line, "allreduce,", 10) == 0;
        strncat(text, line, sizeof text - strlen(text) - 1);
    }
    fclose(golden);
    assert_in_range(rules, 2, 50);
    snprintf(wanted, sizeof wanted, "portolan: %d rules", rules);
    void *context = begin(text, 16, 8);
    assert_non_null(context);
    assert_non_null(strstr(logged, wanted));
    table_t nvls = estimates();
    assert_chosen(ask(context, ALL_REDUCE, 1 << 20), TREE, LL128, 0);
    nvls.cost[NVLS_TREE * NCCL_PROTOCOLS + SIMPLE] = 1;
    assert_same(ask_registered(context, ALL_REDUCE, 1 << 20, 1, 0, nvls), nvls);
    v5->finalize(context);
}

int main(void) { return run_all_tests(open_plugin, remove_folder); }
