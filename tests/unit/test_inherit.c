/* Machine files made of others: what comes from where, and what is refused. */
#include "files.h"
#include "machine/machine_internal.h"
#include "machine/registry.h"
#include "must.h"
#include "test.h"

static void write_file(const char *name, const char *text) { write_text(in_folder(name), text); }

static pto_machine_t *machine_of(const char *text) {
    write_file("own.yaml", text);
    return must_open(in_folder("own.yaml"));
}

/* `lines`: from the third on. */
static void assert_refused(const char *lines, const char *file, int line, const char *message) {
    pto_machine_t *machine = NULL;
    pto_error_t err = {0};
    char text[256];
    snprintf(text, sizeof text, "machine: own\nsource: test\n%s", lines);
    write_file("own.yaml", text);
    assert_int_not_equal(pto_machine_open(in_folder("own.yaml"), &machine, &err), PTO_OK);
    if (!strstr(err.message, message) || !strstr(err.file, file) || err.line != line)
        fail_msg("%s:%d: %s", err.file, err.line, err.message);
    assert_null(machine);
}

static double value_of(const pto_machine_t *machine, const char *key) {
    double value = -1;
    pto_error_t err = {0};
    if (pto_machine_get(machine, key, &value, &err) != PTO_OK)
        fail_msg("%s: %s", key, err.message);
    return value;
}

static bool has(const pto_machine_t *machine, const char *key) {
    double value;
    return pto_machine_get(machine, key, &value, NULL) == PTO_OK;
}

#define NODE(name, gpus)                                                                                     \
    "machine: " name "\nsource: test\nnode: {sockets: 1, gpus: " gpus ", cores: 8}\nmessages:\n  cpu:\n"     \
    "    on_socket:\n      - {protocol: eager, alpha_s: 1.0e-06, beta_s_per_byte: 1.0e-10}\n"                \
    "    off_node:\n      - {protocol: eager, alpha_s: " gpus ".0e-06, beta_s_per_byte: 5.0e-10}\n"

#define MODEL_ERROR(log_95, tie, nodes)                                                                      \
    "model_error: {source: there, nodes: " nodes ", procs_per_node: [1, 2], bytes: [64, 1024], tie: " tie    \
    ", strategies: [{strategy: all, log_95: " log_95 ", samples: 9}]}\n"
#define FIRST                                                                                                \
    NODE("first", "2")                                                                                       \
    "injection:\n  cpu: {s_per_byte: 3.0e-11, s_per_byte_95: [2.0e-11, 4.0e-11]}\n"                          \
    "copies:\n  h2d:\n    on_socket: {alpha_s: 1.0e-05, alpha_s_95: [9.0e-06, 2.0e-05], beta_s_per_byte: "   \
    "2.0e-11, samples: 9, flagged: odd}\n"                                                                   \
    "gap:\n  cpu:\n    - {protocol: eager, alpha_s: 1.0e-06, beta_s_per_byte: 0}\n  within:\n    gpu:\n"     \
    "      on_socket:\n        - {protocol: eager, alpha_s: 2.0e-06, beta_s_per_byte: 0}\n"                  \
    "model_error: {source: test, nodes: [1, 2], procs_per_node: [1, 2], bytes: [1, 2], doubling: 0, tie: "   \
    "0.1, strategies: [{strategy: all, log_95: 0.1, samples: 3}]}\n"                                         \
    "nccl:\n  allreduce:\n    - {gpus: 2, alpha_s: 1.0e-05, beta_s_per_byte: 1.0e-11}\n"

#define SECOND NODE("second", "4") "injection:\n  cpu: {s_per_byte: 7.0e-11}\nnetwork: {contention: 0.5}\n"

static int write_files(void **state) {
    if (make_folder(state) != 0)
        return -1;
    write_file("first.yaml", FIRST);
    write_file("second.yaml", SECOND);
    return 0;
}

TEST(what_a_file_lacks_is_inherited_and_keeps_its_place) {
    pto_machine_t *machine = machine_of("machine: own\nsource: test\ninherits: first.yaml\n"
                                        "network: {contention: 0.25}\n");
    assert_string_equal(pto_machine_name(machine), "own");
    assert_true(value_of(machine, "node.gpus") == 2);
    assert_true(value_of(machine, "network.contention") == 0.25);
    const pto_param_t *inherited = &machine->injection_s_per_byte[PTO_SPACE_CPU];
    assert_true(inherited->value == 3e-11);
    assert_int_equal(inherited->line, 11);
    assert_non_null(strstr(pto_machine_file(machine, inherited->file), "first.yaml"));
    assert_int_equal(machine->contention.file, 0);
    assert_int_equal(machine->contention.line, 4);
}

TEST(an_own_number_drops_what_was_said_of_the_inherited_one) {
    pto_machine_t *machine = machine_of(
        "machine: own\nsource: test\ninherits: first.yaml\ninjection:\n  cpu: {s_per_byte: 1.0e-11}\n"
        "copies:\n  h2d:\n    on_socket: {alpha_s: 5.0e-05}\n");
    const pto_param_t *injection = &machine->injection_s_per_byte[PTO_SPACE_CPU];
    assert_true(injection->value == 1e-11 && !injection->has_interval);
    assert_true(value_of(machine, "copies.h2d.on_socket.alpha_s") == 5e-5);
    assert_true(value_of(machine, "copies.h2d.on_socket.beta_s_per_byte") == 2e-11);
    pto_machine_param_t *param;
    int count;
    assert_int_equal(pto_machine_params(machine, &param, &count, NULL), PTO_OK);
    for (int i = 0; i < count; i++)
        if (strcmp(param[i].key, "copies.h2d.on_socket.alpha_s") == 0)
            assert_true(!param[i].flagged && !param[i].param->has_interval);
    free(param);
}

TEST(errors_of_predictions_of_the_whole_are_not_inherited) {
    assert_null(pto_machine_error_source(machine_of("machine: own\nsource: test\ninherits: first.yaml\n")));
}

TEST(a_node_and_a_network_make_a_machine) {
    pto_machine_t *machine =
        machine_of("machine: own\nsource: test\nnode: first.yaml\nnetwork: second.yaml\n");
    assert_true(value_of(machine, "node.gpus") == 2);
    assert_true(value_of(machine, "messages.cpu.on_socket.eager.alpha_s") == 1e-6);
    assert_true(value_of(machine, "messages.cpu.off_node.eager.alpha_s") == 4e-6);
    assert_true(value_of(machine, "injection.cpu.s_per_byte") == 7e-11);
    assert_true(value_of(machine, "network.contention") == 0.5);
    assert_true(has(machine, "gap.within.gpu.on_socket.eager.alpha_s"));
    assert_false(has(machine, "gap.cpu.eager.alpha_s"));
    assert_false(has(machine, "nccl.allreduce.2.1.alpha_s"));
}

TEST(the_digest_follows_inherited_numbers_and_not_comments) {
    char before[PTO_MACHINE_DIGEST_MAX], after[PTO_MACHINE_DIGEST_MAX];
    pto_machine_t *machine = machine_of("machine: own\nsource: test\ninherits: first.yaml\n");
    pto_machine_digest(machine, before);
    machine = machine_of("# a comment\nmachine: other\nsource: x\ninherits: first.yaml\n");
    assert_string_equal(pto_machine_digest(machine, after), before);
    pto_machine_t *copy = must_duplicate(machine);
    assert_string_equal(pto_machine_digest(copy, after), before);
    assert_string_equal(pto_machine_file(copy, 1), pto_machine_file(machine, 1));
    write_file("changed.yaml", FIRST "network: {contention: 0.5}\n");
    machine = machine_of("machine: own\nsource: test\ninherits: changed.yaml\n");
    assert_string_not_equal(pto_machine_digest(machine, after), before);
}

/* As a new parameter of the program, which no file has yet. */
TEST(the_digest_leaves_out_what_the_machine_lacks) {
    char before[PTO_MACHINE_DIGEST_MAX], after[PTO_MACHINE_DIGEST_MAX];
    pto_machine_t *machine = machine_of("machine: own\nsource: test\ninherits: first.yaml\n");
    pto_machine_param_t *param;
    int few, more;
    assert_int_equal(pto_machine_params(machine, &param, &few, NULL), PTO_OK);
    free(param);
    pto_machine_digest(machine, before);
    assert_int_equal(pto_machine_make_room(machine, NULL), PTO_OK);
    assert_int_equal(pto_machine_params(machine, &param, &more, NULL), PTO_OK);
    free(param);
    assert_true(more > few);
    assert_string_equal(pto_machine_digest(machine, after), before);
}

TEST(the_digest_follows_intervals_and_the_model_error) {
    static const char *const files[] = {
        NODE("own", "2"),
        NODE("own", "2") "network: {contention: 0.5}\n",
        NODE("own", "2") "network: {contention: 0.5, contention_95: [0.4, 0.6]}\n",
        NODE("own", "2") MODEL_ERROR("0.3", "0.1", "[1, 2]"),
        NODE("own", "2") MODEL_ERROR("0.4", "0.1", "[1, 2]"),
        NODE("own", "2") MODEL_ERROR("0.3", "0.2", "[1, 2]"),
        NODE("own", "2") MODEL_ERROR("0.3", "0.1", "[1, 4]")};
    enum { FILES = sizeof files / sizeof *files };
    char digest[FILES][PTO_MACHINE_DIGEST_MAX];
    for (int i = 0; i < FILES; i++) {
        pto_machine_digest(machine_of(files[i]), digest[i]);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(digest[i], digest[j]);
    }
}

TEST(what_cannot_be_inherited_is_refused_with_its_place) {
    write_file("a.yaml", "machine: a\ninherits: b.yaml\n");
    write_file("b.yaml", "machine: b\nnode: ./a.yaml\n");
    write_file("bad.yaml", FIRST "network: {contention: -1}\n");
    write_file("broken.yaml", "machine: [\n");
    write_file("list.yaml", "- 1\n");
    assert_refused("inherits: none.yaml\n", "own.yaml", 3, "cannot open");
    assert_refused("inherits: own.yaml\n", "own.yaml", 3, "leads back to itself");
    assert_refused("inherits: a.yaml\n", "b.yaml", 2, "leads back to itself");
    assert_refused("inherits: [a.yaml]\n", "own.yaml", 3, "machine");
    assert_refused("inherits: bad.yaml\n", "bad.yaml", 26, "contention");
    assert_refused("inherits: broken.yaml\n", "broken.yaml", 2, "malformed");
    assert_refused("inherits: list.yaml\n", "list.yaml", 1, "expected a machine file");
    assert_refused("node: first.yaml\nnode: first.yaml\n", "own.yaml", 4, "node");
}

TEST(long_chains_are_refused) {
    for (int i = 0; i < 12; i++) {
        char name[32], text[96];
        snprintf(name, sizeof name, "link%d.yaml", i);
        snprintf(text, sizeof text, "machine: link\ninherits: %s%d.yaml\n", i < 11 ? "link" : "none", i + 1);
        write_file(name, text);
    }
    assert_refused("inherits: link0.yaml\n", "link7.yaml", 2, "more than 8 files");
    write_file("wide3.yaml", FIRST);
    for (int i = 0; i < 3; i++) {
        char name[32], text[128];
        snprintf(name, sizeof name, "wide%d.yaml", i);
        snprintf(text, sizeof text,
                 "machine: wide\nnode: wide%d.yaml\nnetwork: wide%d.yaml\ninherits: wide%d.yaml\n", i + 1,
                 i + 1, i + 1);
        write_file(name, text);
    }
    assert_refused("inherits: wide0.yaml\n", "wide", 2, "more than 16 files");
}

int main(void) { return run_all_tests(write_files, remove_folder); }
