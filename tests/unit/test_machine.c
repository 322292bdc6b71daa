/* Machine files: what is read, and what is rejected. */
#include "bad_machine.h"
#include "machine/machine_internal.h"
#include "must.h"
#include "portolan/scenario.h"
#include "test.h"

/* Three lines, a fourth, and what a test adds from the fifth on. */
#define HEAD "machine: m\nsource: s\nnode: {sockets: 2, gpus: 6, cores: 8}\n"
#define MESSAGES "messages: {cpu: {off_node: [{protocol: eager, alpha_s: 1e-6, beta_s_per_byte: 1e-10}]}}\n"
#define BODY HEAD MESSAGES
#define COST "alpha_s: 1e-6, beta_s_per_byte: 1e-10"
#define ROWS(rows) HEAD "messages:\n  cpu:\n    off_node:\n" rows

/* --- what is read --------------------------------------------------------------------------------------- */

TEST(a_whole_machine_is_read) {
    pto_machine_t m;
    pto_error_t err = {0};
    assert_ok(pto_machine_read("tests/fixtures/machine.yaml", &m, &err), &err);
    assert_string_equal(m.name, "everything");
    assert_string_equal(m.source, "made up for the tests");
    assert_string_equal(m.path, "tests/fixtures/machine.yaml");
    assert_int_equal(m.mps, PTO_MPS_YES);
    assert_int_equal(m.node.sockets, 2);
    assert_int_equal(m.node.gpus, 6);
    assert_int_equal(m.node.cores, 40);
    assert_true(m.injection_s_per_byte[PTO_SPACE_CPU].value == 3e-11);
    assert_true(m.injection_s_per_byte[PTO_SPACE_CPU].low == 2e-11);
    assert_true(m.injection_s_per_byte[PTO_SPACE_CPU].high == 4e-11);
    assert_false(pto_param_known(&m.injection_s_per_byte[PTO_SPACE_GPU]));
    assert_true(m.copies[PTO_COPY_H2D][PTO_REACH_OFF_SOCKET].alpha_s.value == 2e-5);
    assert_false(pto_postal_known(&m.copies[PTO_COPY_D2H][PTO_REACH_OFF_SOCKET]));
    assert_int_equal(m.shared_copies[PTO_COPY_H2D].count, 4);
    assert_true(m.shared_copies[PTO_COPY_H2D].row[2].strided &&
                !m.shared_copies[PTO_COPY_H2D].row[1].strided);
    assert_int_equal(m.shared_copies[PTO_COPY_H2D].row[3].from_bytes, 4096);
    assert_int_equal(m.shared_copies[PTO_COPY_H2D].row[1].procs, 4);
    assert_true(m.shared_copies[PTO_COPY_H2D].row[1].postal.beta_s_per_byte.value == 8e-11);
    assert_int_equal(m.reduce[PTO_SPACE_CPU].count, 1);
    assert_true(m.reduce[PTO_SPACE_CPU].row[0].postal.alpha_s.value == 0);
    assert_int_equal(m.reduce[PTO_SPACE_GPU].count, 2);
    assert_true(m.injection_s_per_message[PTO_SPACE_CPU].value == 5e-8);
    assert_true(m.contention.value == 0.5 && m.contention.high == 0.75);
    assert_true(m.pageable[PTO_COPY_D2H].alpha_s.value == 3e-5);
    assert_false(pto_postal_known(&m.pageable[PTO_COPY_H2D]));
    assert_int_equal(m.gap[PTO_SPACE_CPU][PTO_LEVEL_OFF_NODE].count, 2);
    assert_true(m.gap[PTO_SPACE_CPU][PTO_LEVEL_OFF_NODE].row[1].postal.beta_s_per_byte.high == 3e-9);
    assert_int_equal(m.gap[PTO_SPACE_GPU][PTO_LEVEL_OFF_NODE].count, 0);
    assert_true(m.peer[PTO_REACH_ON_SOCKET].alpha_s.value == 1.5e-5);
    assert_true(m.signal_s.value == 1e-7 && m.signal_s.high == 2e-7);
    assert_true(m.event_s.value == 2e-6 && !m.event_s.has_interval);
    assert_true(m.kernel_launch_s.value == 5e-6);
    assert_true(m.gpu_memory_bytes.value == 17179869184.0);
    assert_true(m.host_memory_bytes.value == 549755813888.0);
    pto_machine_fini(&m);
    pto_machine_fini(&m); /* legal on a zeroed machine */
}

TEST(pieces_join_without_gaps) {
    pto_machine_t m = must_read("tests/fixtures/machine.yaml");
    const pto_cost_table_t *cost = &m.messages[PTO_SPACE_CPU][PTO_LEVEL_ON_SOCKET];
    assert_int_equal(cost->count, 3);
    assert_int_equal(cost->row[0].from_bytes, 0);
    for (int i = 1; i < cost->count; i++)
        assert_int_equal(cost->row[i].from_bytes, cost->row[i - 1].below_bytes);
    assert_true(cost->row[2].below_bytes == INT64_MAX);
    assert_int_equal(cost->row[1].below_bytes, 16384);
}

TEST(a_parameter_knows_its_line_and_interval) {
    pto_machine_t m = must_read("tests/fixtures/machine.yaml");
    const pto_postal_t *eager = &m.messages[PTO_SPACE_CPU][PTO_LEVEL_ON_SOCKET].row[1].postal;
    assert_int_equal(eager->alpha_s.line, 11);
    assert_int_equal(eager->beta_s_per_byte.line, 12);
    assert_true(eager->alpha_s.has_interval);
    assert_true(eager->alpha_s.low == 1e-7 && eager->alpha_s.high == 3e-7);
    assert_false(eager->beta_s_per_byte.has_interval);
    assert_true(eager->beta_s_per_byte.low == 2e-10 && eager->beta_s_per_byte.high == 2e-10);
    assert_int_equal(eager->sample_count, 12);
    assert_true(eager->residual == 0.05);
    assert_string_equal(eager->flagged, "made up");
    assert_null(m.messages[PTO_SPACE_CPU][PTO_LEVEL_ON_SOCKET].row[0].postal.flagged);
}

TEST(messages_go_by_the_piece_of_their_size) {
    pto_machine_t m = must_read("tests/fixtures/machine.yaml");
    const struct {
        int64_t bytes;
        pto_protocol_t protocol;
    } winner[] = {{0, PTO_PROTOCOL_SHORT},          {255, PTO_PROTOCOL_SHORT},
                  {256, PTO_PROTOCOL_EAGER},        {16383, PTO_PROTOCOL_EAGER},
                  {16384, PTO_PROTOCOL_RENDEZVOUS}, {INT64_MAX, PTO_PROTOCOL_RENDEZVOUS}};
    for (size_t i = 0; i < sizeof winner / sizeof *winner; i++) {
        const pto_cost_row_t *piece =
            pto_machine_message(&m, PTO_SPACE_CPU, PTO_LEVEL_ON_SOCKET, winner[i].bytes);
        assert_int_equal(piece->protocol, winner[i].protocol);
    }
    assert_ptr_equal(pto_machine_message(&m, PTO_SPACE_CPU, PTO_LEVEL_ON_GPU, 1),
                     pto_machine_message(&m, PTO_SPACE_CPU, PTO_LEVEL_ON_SOCKET, 1));
    assert_true(pto_machine_message(&m, PTO_SPACE_GPU, PTO_LEVEL_ON_GPU, 1)->postal.alpha_s.value == 4e-6);
    assert_null(pto_machine_message(&m, PTO_SPACE_CPU, PTO_LEVEL_ON_NODE, 1));
    assert_null(pto_machine_message(&m, PTO_SPACE_GPU, PTO_LEVEL_ON_SOCKET, 1));
}

TEST(the_library_rows_go_by_processes_then_bytes) {
    pto_machine_t m = must_read("tests/fixtures/machine.yaml");
    const struct {
        int64_t procs;
        int64_t bytes;
        const char *algorithm;
    } winner[] = {
        {2, 0, "bruck"},     {63, 255, "bruck"},   {63, 256, "pairwise"}, {63, INT64_MAX, "pairwise"},
        {64, 255, "linear"}, {999, 1024, "bruck"}, {64, 512, "bruck"}};
    for (size_t i = 0; i < sizeof winner / sizeof *winner; i++) {
        const pto_library_rule_t *rule =
            pto_machine_library(&m, "alltoall", PTO_SPACE_CPU, winner[i].procs, winner[i].bytes);
        assert_string_equal(rule->algorithm, winner[i].algorithm);
    }
    assert_true(pto_machine_library(&m, "alltoall", PTO_SPACE_GPU, 8, 1)->staged);
    assert_null(pto_machine_library(&m, "alltoall", PTO_SPACE_GPU, 7, 1)); /* its only row is from 8 on */
    assert_null(pto_machine_library(&m, "alltoallv", PTO_SPACE_CPU, 8, 1));
    assert_int_equal(m.library_count, 2);
}

TEST(each_collective_of_mpi_can_have_a_library_table) {
    for (int c = 0; c < PTO_COLLECTIVE_COUNT; c++) {
        const char *name = pto_collective_name((pto_collective_t)c);
        char text[512];
        snprintf(text, sizeof text, BODY "library: {%s: {cpu: [{algorithm: some}]}}\n", name);
        pto_machine_t m = {0};
        bool in_mpi = pto_collective_is_in_mpi((pto_collective_t)c);
        assert_int_equal(pto_machine_parse(text, strlen(text), "m.yaml", &m, NULL),
                         in_mpi ? PTO_OK : PTO_ERR_KEY);
        if (in_mpi)
            assert_string_equal(pto_machine_library(&m, name, PTO_SPACE_CPU, 2, 1)->algorithm, "some");
        pto_machine_fini(&m);
    }
}

TEST(the_recorded_machines_are_read) {
    static const char *const path[] = {"scenarios/machines/summit-spectrum.yaml",
                                       "scenarios/machines/lassen-mvapich2.yaml"};
    for (size_t i = 0; i < sizeof path / sizeof *path; i++) {
        const pto_machine_t m = must_read(path[i]);
        for (int space = 0; space < PTO_SPACE_COUNT; space++)
            for (int level = 0; level < PTO_LEVEL_COUNT; level++)
                assert_non_null(pto_machine_message(&m, (pto_space_t)space, (pto_level_t)level, 1));
    }
}

/* --- what is refused ------------------------------------------------------------------------------------ */

TEST(malformed_yaml_is_refused) {
    const bad_input_t bad[] = {
        BAD("", PTO_ERR_SYNTAX, 1, 1, "empty"),
        BAD("# only a remark\n", PTO_ERR_SYNTAX, 2, 1, "empty"),
        BAD("machine: [1, 2\n", PTO_ERR_SYNTAX, 2, 1, "malformed YAML"),
        BAD("machine: m\n\tsource: s\n", PTO_ERR_SYNTAX, 2, 1, "malformed YAML"),
        BAD("machine: \"m\n", PTO_ERR_SYNTAX, 2, 1, "malformed YAML"),
        BAD("machine: m\nsource: a: b\n", PTO_ERR_SYNTAX, 2, 10, "mapping values are not allowed"),
        BAD("machine: m\nsource: \xff\n", PTO_ERR_SYNTAX, 2, 9, "malformed YAML", "UTF-8"),
        BAD("\n\xff\n", PTO_ERR_SYNTAX, 2, 1, "malformed YAML", "UTF-8"),
        BAD("machine: \"a\\0b\"\n", PTO_ERR_SYNTAX, 1, 10, "NUL"),
        BAD("machine: &a m\nsource: *a\n", PTO_ERR_SYNTAX, 1, 10, "anchors"),
        BAD("machine: *a\n", PTO_ERR_SYNTAX, 1, 10, "aliases"),
        BAD("machine: !!str m\n", PTO_ERR_SYNTAX, 1, 10, "tags"),
        BAD("[a]: b\n", PTO_ERR_SYNTAX, 1, 1, "a key must be a plain word"),
        BAD(BODY "---\nmachine: n\n", PTO_ERR_SYNTAX, 6, 1, "second document"),
        BAD("a: [[[[[[[[[[[[[[[[[[[[\n", PTO_ERR_SYNTAX, 1, 19, "nested too deeply"),
        BAD("- machine\n", PTO_ERR_TYPE, 1, 1, "a machine file must be a mapping"),
        BAD("machine\n", PTO_ERR_TYPE, 1, 1, "a machine file must be a mapping"),
    };
    ASSERT_MACHINES_REFUSED(bad);
}

TEST(bad_keys_are_refused) {
    const bad_input_t bad[] = {
        BAD(BODY "machne: x\n", PTO_ERR_KEY, 5, 1, "unknown key 'machne'", "did you mean 'machine'?"),
        BAD(BODY "lunch: {kernel_s: 1}\n", PTO_ERR_KEY, 5, 1, "did you mean 'launch'?"),
        BAD(BODY "inejction: 1\n", PTO_ERR_KEY, 5, 1, "did you mean 'injection'?"),
        BAD(BODY "quux: 1\n", PTO_ERR_KEY, 5, 1, "unknown key 'quux'", "known are: machine, source"),
        BAD(BODY "a very long key that nobody ever could have meant to write here: 1\n", PTO_ERR_KEY, 5, 1,
            "unknown key 'a very long"),
        BAD(BODY "\"\\e[31m\": 1\n", PTO_ERR_KEY, 5, 1, "unknown key '\\u001b[31m'"),
        BAD(BODY "<<: {a: b}\n", PTO_ERR_KEY, 5, 1, "unknown key '<<'"),
        BAD(BODY "source: again\n", PTO_ERR_KEY, 5, 1, "duplicate key 'source'", "line 2"),
        BAD(BODY "energy: {gpu: {copy_w: 1}}\n", PTO_ERR_KEY, 5, 15, "missing key 'idle_w'"),
        BAD("source: s\nnode: {sockets: 1, gpus: 1, cores: 1}\n" MESSAGES, PTO_ERR_KEY, 1, 1,
            "missing key 'machine'"),
        BAD("machine: m\n" MESSAGES, PTO_ERR_KEY, 1, 1, "missing key 'source'"),
        BAD("machine: m\nsource: s\n" MESSAGES, PTO_ERR_KEY, 1, 1, "missing key 'node'"),
        BAD(HEAD, PTO_ERR_KEY, 1, 1, "missing key 'messages'"),
        BAD("machine: m\nsource: s\nnode: {sockets: 1, cores: 1}\n" MESSAGES, PTO_ERR_KEY, 3, 7,
            "missing key 'gpus' in 'node'"),
        BAD("machine: m\nsource: s\nnode: {sockets: 1, gpus: 1, core: 1}\n" MESSAGES, PTO_ERR_KEY, 3, 29,
            "unknown key 'core' in 'node'", "did you mean 'cores'?"),
        BAD(HEAD "messages: {}\n", PTO_ERR_KEY, 4, 11, "'messages' is empty"),
        BAD(HEAD "messages: {cpu: {}}\n", PTO_ERR_KEY, 4, 17, "is empty"),
        BAD(HEAD "messages: {gpus: {}}\n", PTO_ERR_KEY, 4, 12, "did you mean 'gpu'?"),
        BAD(HEAD "messages: {cpu: {offnode: []}}\n", PTO_ERR_KEY, 4, 18, "did you mean 'off_node'?"),
        BAD(ROWS("      - {protocol: eager, alpha_s: 1}\n"), PTO_ERR_KEY, 7, 9,
            "missing key 'beta_s_per_byte'"),
        BAD(ROWS("      - {protocol: eager, alpha: 1, beta_s_per_byte: 1}\n"), PTO_ERR_KEY, 7, 27,
            "unknown key 'alpha'", "did you mean 'alpha_s'?"),
        BAD(ROWS("      - {protocol: eager, alpha_s: 1, beta: 1}\n"), PTO_ERR_KEY, 7, 39,
            "did you mean 'beta_s_per_byte'?"),
        BAD(ROWS("      - {" COST "}\n"), PTO_ERR_KEY, 7, 9, "missing key 'protocol'"),
        BAD(BODY "signals: {flag_s_95: [1, 2]}\n", PTO_ERR_KEY, 5, 22, "flag_s_95 has no value"),
        BAD(BODY "library: {alltoal: {}}\n", PTO_ERR_KEY, 5, 11, "did you mean 'alltoall'?"),
        BAD(BODY "library: {alltoall: {cpu: [{below_bytes: 1}]}}\n", PTO_ERR_KEY, 5, 28,
            "missing key 'algorithm'"),
        BAD(BODY "tuning: {allreduce: [{staged_in: 1}]}\n", PTO_ERR_KEY, 5, 22, "missing key 'staged_out'"),
        BAD(BODY "tuning: {allreduce: [{staged_out: 1}]}\n", PTO_ERR_KEY, 5, 22, "missing key 'staged_in'"),
        BAD(BODY "copies: {shared: {h2h: []}}\n", PTO_ERR_KEY, 5, 19, "unknown key 'h2h' in 'copies.shared'"),
    };
    ASSERT_MACHINES_REFUSED(bad);
}

TEST(wrong_types_are_refused) {
    const bad_input_t bad[] = {
        BAD("machine: [m]\nsource: s\nnode: {sockets: 1, gpus: 1, cores: 1}\n" MESSAGES, PTO_ERR_TYPE, 1, 10,
            "machine: expected a text", "a list"),
        BAD("machine:\nsource: s\nnode: {sockets: 1, gpus: 1, cores: 1}\n" MESSAGES, PTO_ERR_TYPE, 1, 9,
            "machine:", "the value is empty"),
        BAD(BODY "mps: unknown\n", PTO_ERR_NOT_FOUND, 5, 6, "unknown mps 'unknown'; known are: no, yes"),
        BAD("machine: m\nsource: s\nnode: [1]\n" MESSAGES, PTO_ERR_TYPE, 3, 7, "'node' must be a mapping"),
        BAD("machine: m\nsource: s\nnode: {sockets: two, gpus: 1, cores: 1}\n" MESSAGES, PTO_ERR_TYPE, 3, 17,
            "sockets: 'two' is not a whole number"),
        BAD("machine: m\nsource: s\nnode: {sockets: 1.5, gpus: 1, cores: 1}\n" MESSAGES, PTO_ERR_TYPE, 3, 17,
            "'1.5' is not a whole number"),
        BAD("machine: m\nsource: s\nnode: {sockets: 0x2, gpus: 1, cores: 1}\n" MESSAGES, PTO_ERR_TYPE, 3, 17,
            "hexadecimal"),
        BAD(HEAD "messages: {cpu: {off_node: {}}}\n", PTO_ERR_TYPE, 4, 28,
            "expected a list of rows, not a mapping"),
        BAD(HEAD "messages: {cpu: {off_node: [1]}}\n", PTO_ERR_TYPE, 4, 29,
            "a row of messages must be a mapping"),
        BAD(BODY "injection: {cpu: 3e-11}\n", PTO_ERR_TYPE, 5, 18, "'injection.cpu' must be a mapping"),
        BAD(BODY "injection: {cpu: {s_per_byte: fast}}\n", PTO_ERR_TYPE, 5, 31, "s_per_byte: 'fast'"),
        BAD(BODY "injection: {cpu: {s_per_byte: [1]}}\n", PTO_ERR_TYPE, 5, 31,
            "expected a number, not a list"),
        BAD(BODY "injection: {cpu: {s_per_byte: 2, s_per_byte_95: [1]}}\n", PTO_ERR_TYPE, 5, 49,
            "two numbers", "not 1"),
        BAD(BODY "injection: {cpu: {s_per_byte: 2, s_per_byte_95: 1}}\n", PTO_ERR_TYPE, 5, 49,
            "expected a list [low, high]"),
        BAD(BODY "memory: {gpu_bytes: 16XB}\n", PTO_ERR_TYPE, 5, 21, "not a number of bytes"),
        BAD(BODY "library: {alltoall: {cpu: [{algorithm: bruck, staged: maybe}]}}\n", PTO_ERR_TYPE, 5, 55,
            "'maybe' is neither true nor false"),
        BAD(BODY "library: {alltoall: {cpu: bruck}}\n", PTO_ERR_TYPE, 5, 27, "expected a list of rows"),
    };
    ASSERT_MACHINES_REFUSED(bad);
}

TEST(impossible_numbers_are_refused) {
    const bad_input_t bad[] = {
        BAD("machine: m\nsource: s\nnode: {sockets: 0, gpus: 1, cores: 1}\n" MESSAGES, PTO_ERR_RANGE, 3, 17,
            "sockets: must be 1 or more, not 0"),
        BAD("machine: m\nsource: s\nnode: {sockets: 1, gpus: -6, cores: 1}\n" MESSAGES, PTO_ERR_RANGE, 3, 26,
            "gpus: must be 0 or more, not -6"),
        BAD("machine: m\nsource: s\nnode: {sockets: 1, gpus: 1, cores: 9223372036854775808}\n" MESSAGES,
            PTO_ERR_RANGE, 3, 36, "cores:", "too large"),
        BAD("machine: m\nsource: s\nnode: {sockets: 1, gpus: 0, cores: 65537}\n" MESSAGES, PTO_ERR_RANGE, 3,
            36, "cores: must be 65536 or less, not 65537"),
        BAD(ROWS("      - {protocol: eager, alpha_s: -1, beta_s_per_byte: 1}\n"), PTO_ERR_RANGE, 7, 36,
            "alpha_s: must be 0 or more, not -1"),
        BAD(ROWS("      - {protocol: eager, alpha_s: .nan, beta_s_per_byte: 1}\n"), PTO_ERR_RANGE, 7, 36,
            "alpha_s: '.nan' is not finite"),
        BAD(ROWS("      - {protocol: eager, alpha_s: 1, beta_s_per_byte: .inf}\n"), PTO_ERR_RANGE, 7, 56,
            "beta_s_per_byte: '.inf' is not finite"),
        BAD(ROWS("      - {protocol: eager, alpha_s: 1, beta_s_per_byte: 1e999}\n"), PTO_ERR_RANGE, 7, 56,
            "too large"),
        BAD(ROWS("      - {protocol: eager, alpha_s: 1e-999, beta_s_per_byte: 1}\n"), PTO_ERR_RANGE, 7, 36,
            "too small"),
        BAD(ROWS("      - {protocol: eager, alpha_s: 0, beta_s_per_byte: 0.0}\n"), PTO_ERR_RANGE, 7, 9,
            "both 0"),
        BAD(ROWS("      - {protocol: eager, below_bytes: 0, " COST "}\n"), PTO_ERR_RANGE, 7, 40,
            "below_bytes: must be 1 or more"),
        BAD(ROWS("      - {protocol: eager, below_bytes: -1, " COST "}\n"), PTO_ERR_RANGE, 7, 40, "negative"),
        BAD(ROWS("      - {protocol: eager, below_bytes: 8EiB, " COST "}\n"), PTO_ERR_RANGE, 7, 40,
            "too large"),
        BAD(ROWS("      - {protocol: eager, " COST ", samples: 0}\n"), PTO_ERR_RANGE, 7, 75,
            "samples: must be 1"),
        BAD(ROWS("      - {protocol: eager, " COST ", residual: -1}\n"), PTO_ERR_RANGE, 7, 76,
            "residual: must be 0"),
        BAD(ROWS("      - {protocol: eager, " COST ", alpha_s_95: [2e-6, 3e-6]}\n"), PTO_ERR_RANGE, 7, 78,
            "alpha_s_95: [2e-06, 3e-06] does not contain the value 1e-06"),
        BAD(ROWS("      - {protocol: eager, " COST ", beta_s_per_byte_95: [3e-10, 1e-11]}\n"), PTO_ERR_RANGE,
            7, 86, "beta_s_per_byte_95", "does not contain"),
        BAD(ROWS("      - {protocol: eager, " COST ", alpha_s_95: [-1, 3e-6]}\n"), PTO_ERR_RANGE, 7, 79,
            "must be 0 or more"),
        BAD(BODY "injection: {cpu: {s_per_byte: 0}}\n", PTO_ERR_RANGE, 5, 31, "must be above 0"),
        BAD(BODY "memory: {gpu_bytes: 0}\n", PTO_ERR_RANGE, 5, 21, "must be 1 or more"),
        BAD(BODY "per_message: {cpu: []}\n", PTO_ERR_KEY, 5, 1, "it is now called 'gap'"),
        BAD(BODY "reduce: {cpu: {" COST ", further_s_per_byte: 1e-11}}\n", PTO_ERR_KEY, 5, 55,
            "it is now called 'extra_input_s_per_byte'"),
        BAD(BODY "copies: {shared: {h2d: []}}\n", PTO_ERR_RANGE, 5, 24, "h2d: expected 1 to 256 rows"),
        BAD(BODY "copies: {shared: {h2d: [{procs: 0, " COST "}]}}\n", PTO_ERR_RANGE, 5, 33,
            "procs: must be 1 or more"),
        BAD(BODY "copies:\n  shared:\n    h2d:\n      - {procs: 2, " COST
                 ", flagged: f}\n      - {procs: 2, " COST ", flagged: g}\n",
            PTO_ERR_RANGE, 8, 9, "ranges overlap", "every size of {procs: 2}"),
        BAD(BODY "copies:\n  shared:\n    h2d:\n      - {procs: 4, " COST "}\n      - {procs: 2, " COST "}\n",
            PTO_ERR_RANGE, 9, 17, "procs must rise above the 4"),
        BAD(BODY "copies:\n  shared:\n    h2d:\n      - {procs: 2, strided: true, " COST
                 "}\n      - {procs: 4, " COST "}\n",
            PTO_ERR_RANGE, 9, 17, "strided rows come after the others"),
        BAD(BODY "library: {alltoall: {cpu: []}}\n", PTO_ERR_RANGE, 5, 27, "expected 1 to 256 rows"),
        BAD(BODY "library: {alltoall: {cpu: [{algorithm: a, procs: 0}]}}\n", PTO_ERR_RANGE, 5, 50,
            "procs: must be 1 or more"),
    };
    ASSERT_MACHINES_REFUSED(bad);
}

#define EAGER(more) "      - {protocol: eager, " COST more "}\n"
#define SHORT(more) "      - {protocol: short, " COST more "}\n"
#define LIBRARY(rows) BODY "library:\n  alltoall:\n    cpu:\n" rows

TEST(ranges_that_overlap_or_leave_a_gap_are_refused) {
    const bad_input_t bad[] = {
        BAD(ROWS("      []\n"), PTO_ERR_RANGE, 7, 7, "off_node: expected 1 to 3 rows, not 0"),
        BAD(ROWS(EAGER(", below_bytes: 9")), PTO_ERR_RANGE, 7, 79, "leave a gap", "from 9 bytes up"),
        BAD(ROWS(SHORT("") EAGER("")), PTO_ERR_RANGE, 7, 9, "overlap", "'short' holds for every size"),
        BAD(ROWS(SHORT(", below_bytes: 9") EAGER(", below_bytes: 9") "      - {protocol: rendezvous, " COST
                                                                     "}\n"),
            PTO_ERR_RANGE, 8, 79, "overlap", "must rise above the 9 of 'short'"),
        BAD(ROWS(SHORT(", below_bytes: 9") EAGER(", below_bytes: 8") "      - {protocol: rendezvous, " COST
                                                                     "}\n"),
            PTO_ERR_RANGE, 8, 79, "overlap", "must rise above the 9"),
        BAD(ROWS(EAGER(", below_bytes: 9") SHORT("")), PTO_ERR_RANGE, 8, 20, "'short' cannot follow 'eager'"),
        BAD(ROWS(EAGER(", below_bytes: 9") EAGER("")), PTO_ERR_RANGE, 8, 20, "'eager' cannot follow 'eager'"),
        BAD(ROWS("      - {protocol: egaer, " COST "}\n"), PTO_ERR_NOT_FOUND, 7, 20,
            "unknown protocol 'egaer'", "did you mean 'eager'?"),
        BAD(LIBRARY("      - {algorithm: bruck, below_bytes: 9}\n"), PTO_ERR_RANGE, 8, 41, "leave a gap",
            "from 9 bytes up"),
        BAD(LIBRARY("      - {algorithm: a}\n      - {algorithm: b}\n"), PTO_ERR_RANGE, 9, 9, "overlap",
            "line 8"),
        BAD(LIBRARY("      - {algorithm: a, below_bytes: 9}\n      - {algorithm: b, below_bytes: 9}\n"
                    "      - {algorithm: c}\n"),
            PTO_ERR_RANGE, 9, 37, "overlap", "above the 9 of line 8"),
        BAD(LIBRARY("      - {algorithm: a, below_bytes: 9}\n      - {algorithm: b, procs: 4}\n"),
            PTO_ERR_RANGE, 8, 37, "leave a gap"),
    };
    ASSERT_MACHINES_REFUSED(bad);
}

TEST(a_missing_file_is_refused) {
    pto_machine_t machine;
    pto_error_t err;
    char text[256];
    assert_int_equal(pto_machine_read("tests/fixtures/none.yaml", &machine, &err), PTO_ERR_IO);
    pto_error_format(&err, text, sizeof text);
    assert_string_equal(text, "tests/fixtures/none.yaml:1:1: cannot open: No such file or directory");
    assert_int_equal(pto_machine_read("tests/fixtures", &machine, &err), PTO_ERR_IO);
}

TEST(an_endless_file_is_refused) {
    pto_machine_t machine;
    pto_error_t err;
    assert_int_equal(pto_machine_read("/dev/zero", &machine, &err), PTO_ERR_IO);
    assert_string_equal(err.file, "/dev/zero");
    assert_non_null(strstr(err.message, "not a regular file"));
}

TEST(every_beginning_of_a_file_is_read_or_refused) {
    static const char text[] = BODY "injection: {cpu: {s_per_byte: 2, s_per_byte_95: [1, 3]}}\n"
                                    "copies: {shared: {h2d: [{procs: 2, flagged: f, " COST "}]}}\n"
                                    "library: {alltoall: {cpu: [{algorithm: bruck}]}}\n";
    for (size_t size = 0; size < sizeof text; size++) {
        char *cut = malloc(size + 1); /* of its own size, so that the sanitizer sees a read past its end */
        assert_non_null(cut);
        memcpy(cut, text, size);
        pto_machine_t machine;
        pto_error_t err = {.status = PTO_OK};
        pto_status_t status = pto_machine_parse(cut, size, "cut.yaml", &machine, &err);
        free(cut);
        if (status == PTO_OK)
            pto_machine_fini(&machine);
        else
            assert_true(err.status == status && err.line >= 1 && err.column >= 1);
    }
}
