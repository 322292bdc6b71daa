/* Scenario files: what is read, and what is rejected. */
#include "bad_input.h"
#include "scenario_text.h"
#include "test.h"

#define ALLREDUCE TOP "collective: allreduce\n"
#define ALLGATHER TOP "collective: allgather\n"
#define ALLGATHERV TOP "collective: allgatherv\n"

static void assert_all_refused(const bad_input_t *bad, size_t count) {
    for (size_t i = 0; i < count; i++) {
        pto_scenario_t scenario = {.strategy_count = 99};
        pto_error_t err = {.status = PTO_OK};
        pto_status_t status = parse(bad[i].text, &scenario, &err);
        assert_refused(&bad[i], status, &err);
        assert_string_equal(err.file, "tests/fixtures/s.yaml");
        assert_int_equal(scenario.strategy_count, 99); /* outputs are set only on success */
        assert_int_equal(parse(bad[i].text, &scenario, NULL), status);
    }
}

#define ASSERT_ALL_REFUSED(bad) assert_all_refused((bad), sizeof(bad) / sizeof *(bad))

/* --- what is read --------------------------------------------------------------------------------------- */

TEST(a_whole_scenario_is_read) {
    const pto_scenario_t *s = scenario_at("tests/fixtures/scenario.yaml");
    assert_string_equal(s->name, "everything");
    assert_string_equal(s->path, "tests/fixtures/scenario.yaml");
    assert_string_equal(s->machine_path, "tests/fixtures/machine.yaml");
    assert_int_equal(s->collective, PTO_COLLECTIVE_ALLTOALLV);
    assert_int_equal(s->implementation, PTO_IMPLEMENTATION_ISEND_IRECV);
    assert_int_equal(pto_scenario_split(s), PTO_SPLIT_BYTES);
    assert_int_equal(s->datatype, PTO_DATATYPE_DOUBLE);
    assert_int_equal(s->layout.nodes, 4);
    assert_int_equal(s->layout.gpus_per_node, 5);
    assert_int_equal(s->layout.owners_per_gpu, 2);
    assert_int_equal(s->layout.procs_per_gpu, 8);
    assert_int_equal(s->bytes.count, 10);
    assert_int_equal(s->bytes.value[9], 1048576);
    assert_int_equal(s->nodes.count, 1);
    assert_int_equal(pto_scenario_sweep(s), PTO_SWEEP_BYTES);
    assert_int_equal(s->counts.kind, PTO_COUNTS_SKEW);
    assert_true(s->counts.skew == 0.25 && s->counts.seed == 7);
    assert_int_equal(s->strategy_count, 2);
    assert_string_equal(s->strategy[1], "cuda_aware");
    assert_false(s->library.best);
    assert_null(s->library.name);
    assert_int_equal(s->library.rule_count, 2);
    assert_int_equal(s->library.rule[0].below_bytes, 1024);
    assert_true(s->library.rule[1].below_bytes == INT64_MAX);
    assert_int_equal(s->place[PTO_FIELD_LAYOUT].line, 7);
    assert_int_equal(s->place[PTO_FIELD_LAYOUT].column, 9);
    assert_int_equal(s->place[PTO_FIELD_STRATEGIES].line, 10);
    assert_int_equal(s->place[PTO_FIELD_MESSAGES].line, 0);
}

TEST(a_byte_order_mark_is_ignored) {
    pto_scenario_t *s = scenario_of("\xEF\xBB\xBF" ALLTOALL REST);
    assert_int_equal(s->collective, PTO_COLLECTIVE_ALLTOALL);
    const bad_input_t bad[] = {BAD("\xEF\xBB\xBFsceanrio: s\n", PTO_ERR_KEY, 1, 1, "sceanrio")};
    ASSERT_ALL_REFUSED(bad);
}

TEST(omitted_scenario_fields_have_defaults) {
    pto_scenario_t *s = scenario_of(ALLTOALL REST);
    assert_int_equal(s->implementation, PTO_IMPLEMENTATION_LIBRARY);
    assert_int_equal(s->datatype, PTO_DATATYPE_FLOAT);
    assert_int_equal(s->counts.kind, PTO_COUNTS_EQUAL);
    assert_int_equal(s->layout.owners_per_gpu, 1);
    assert_int_equal(s->layout.gpus_per_node, 0);
    assert_int_equal(s->layout.procs_per_gpu, 0);
    assert_int_equal(s->strategy_count, 0);
    assert_false(s->has_split);
    assert_int_equal(pto_scenario_split(s), PTO_SPLIT_BYTES);
    assert_false(s->library.best);
    s = scenario_of(ALLTOALLV REST);
    assert_int_equal(pto_scenario_split(s), PTO_SPLIT_DESTINATIONS);
}

static void assert_bytes(const char *text, int64_t count, int64_t first, int64_t last) {
    char whole[512];
    snprintf(whole, sizeof whole, ALLTOALL "layout: {nodes: 2}\nbytes: %s\n", text);
    pto_scenario_t *s = scenario_of(whole);
    assert_int_equal(s->bytes.count, count);
    assert_int_equal(s->bytes.value[0], first);
    assert_int_equal(s->bytes.value[count - 1], last);
}

TEST(sizes_come_alone_in_ranges_and_in_lists) {
    assert_bytes("0", 1, 0, 0);
    assert_bytes("64KiB", 1, 65536, 65536);
    assert_bytes("[0, 1, 1KiB]", 3, 0, 1024);
    assert_bytes("{from: 4, to: 131072}", 16, 4, 131072);
    assert_bytes("{from: 3, to: 100, factor: 3}", 5, 3, 100);
    assert_bytes("{from: 5, to: 5}", 1, 5, 5);
}

TEST(a_range_ends_where_numbers_do) {
    pto_series_t series;
    assert_int_equal(pto_series_range(1, INT64_MAX, 2, &series, NULL), PTO_OK);
    assert_int_equal(series.count, 64);
    assert_true(series.value[62] == INT64_C(1) << 62);
    assert_true(series.value[63] == INT64_MAX);
    pto_series_fini(&series);
    assert_int_equal(pto_series_range(1, INT64_MAX, INT64_MAX, &series, NULL), PTO_OK);
    assert_int_equal(series.count, 2);
    pto_series_fini(&series);
    assert_int_equal(pto_series_range(4, 16, 2, &series, NULL), PTO_OK);
    assert_int_equal(series.count, 3);
    pto_series_fini(&series);
    pto_error_t err;
    assert_int_equal(pto_series_range(1, 10, 1, &series, &err), PTO_ERR_RANGE);
    assert_non_null(strstr(err.message, "factor must be 2 or more"));
    assert_int_equal(pto_series_range(0, 10, 2, &series, &err), PTO_ERR_RANGE);
    assert_non_null(strstr(err.message, "starts at 1 or more"));
    assert_int_equal(pto_series_range(10, 9, 2, &series, &err), PTO_ERR_RANGE);
    assert_non_null(strstr(err.message, "before its start"));
}

TEST(the_library_is_best_a_name_or_a_table) {
    pto_scenario_t *s = scenario_of(ALLTOALL REST "library: best\n");
    assert_true(s->library.best && !s->library.name && s->library.rule_count == 0);
    s = scenario_of(ALLTOALL REST "library: bruck\n");
    assert_false(s->library.best);
    assert_string_equal(s->library.name, "bruck");
}

TEST(nodes_and_messages_can_be_swept) {
    pto_scenario_t *s = scenario_of(ALLTOALL "layout: {nodes: {from: 2, to: 32}}\nbytes: 8\n");
    assert_int_equal(pto_scenario_sweep(s), PTO_SWEEP_NODES);
    assert_int_equal(s->layout.nodes, 2);
    s = scenario_of(MESSAGES REST "messages: [1, 10, 100]\nunique_bytes: 1KiB\n");
    assert_int_equal(pto_scenario_sweep(s), PTO_SWEEP_MESSAGES);
    assert_int_equal(s->unique_bytes, 1024);
    s = scenario_of(MESSAGES REST "messages: [1, 10]\n");
    assert_int_equal(pto_scenario_sweep(s), PTO_SWEEP_MESSAGES);
    s = scenario_of(MESSAGES REST "messages: 10\n");
    assert_int_equal(pto_scenario_sweep(s), PTO_SWEEP_BYTES);
    s = scenario_of(ALLTOALL "layout: {nodes: [2, 3]}\nbytes: 8\n");
    assert_int_equal(pto_scenario_sweep(s), PTO_SWEEP_NODES);
    s = scenario_of(MESSAGES REST);
    assert_int_equal(s->messages.count, 0);
    assert_int_equal(pto_scenario_bind(s, &six_gpus, NULL), PTO_OK);
    assert_int_equal(s->messages.count, 1);
    assert_int_equal(s->messages.value[0], 1);
}

TEST(a_matrix_gives_the_size) {
    pto_scenario_t *s = scenario_at("tests/fixtures/scenario_matrix.yaml");
    assert_int_equal(s->counts.kind, PTO_COUNTS_MATRIX);
    assert_string_equal(s->counts.matrix_path, "tests/fixtures/square.csv");
    assert_int_equal(s->bytes.count, 1);
    assert_int_equal(s->bytes.value[0], 4096);
    assert_int_equal(pto_scenario_bind(s, &six_gpus, NULL), PTO_OK);
}

/* --- what is refused ------------------------------------------------------------------------------------ */

TEST(bad_keys_are_refused) {
    const bad_input_t bad[] = {
        BAD(ALLTOALL REST "stratgies: [a]\n", PTO_ERR_KEY, 6, 1, "'stratgies'", "did you mean 'strategies'?"),
        BAD(ALLTOALL REST "byets: 1\n", PTO_ERR_KEY, 6, 1, "did you mean 'bytes'?"),
        BAD(ALLTOALL REST "bytes: 1\n", PTO_ERR_KEY, 6, 1, "duplicate key 'bytes'", "line 5"),
        BAD(ALLTOALL "layout: {node: 2}\nbytes: 1\n", PTO_ERR_KEY, 4, 10, "unknown key 'node' in 'layout'",
            "did you mean 'nodes'?"),
        BAD(ALLTOALL "layout: {gpus_per_node: 2}\nbytes: 1\n", PTO_ERR_KEY, 4, 9, "missing key 'nodes'"),
        BAD("machine: m.yaml\ncollective: alltoall\n" REST, PTO_ERR_KEY, 1, 1, "missing key 'scenario'"),
        BAD("scenario: s\ncollective: alltoall\n" REST, PTO_ERR_KEY, 1, 1, "missing key 'machine'"),
        BAD(TOP REST, PTO_ERR_KEY, 1, 1, "missing key 'collective'"),
        BAD(ALLTOALL "bytes: 1\n", PTO_ERR_KEY, 1, 1, "missing key 'layout'"),
        BAD(ALLTOALL "layout: {nodes: 2}\n", PTO_ERR_KEY, 1, 1, "missing key 'bytes'"),
        BAD(ALLTOALL "layout: {nodes: 2}\nbytes: {from: 1}\n", PTO_ERR_KEY, 5, 8, "missing key 'to'"),
        BAD(ALLTOALL "layout: {nodes: 2}\nbytes: {from: 1, to: 2, step: 1}\n", PTO_ERR_KEY, 5, 25,
            "unknown key 'step'", "known are: from, to, factor"),
        BAD(ALLTOALLV REST "counts: {}\n", PTO_ERR_KEY, 6, 9,
            "missing key 'skew', 'matrix', 'list' or 'pattern'"),
        BAD(ALLTOALLV REST "counts: {skw: 1}\n", PTO_ERR_KEY, 6, 10, "did you mean 'skew'?"),
        BAD(ALLTOALLV "layout: {nodes: 2}\ncounts: {matrix: square.csv, skew: 0.5}\n", PTO_ERR_KEY, 5, 36,
            "cannot be given with a matrix"),
        BAD(ALLTOALLV REST "counts: {matrix: square.csv}\n", PTO_ERR_KEY, 5, 8, "bytes and a matrix",
            "line 6"),
        BAD(ALLTOALL REST "strategies: [a, b, a]\n", PTO_ERR_KEY, 6, 20, "'a' appears twice"),
    };
    ASSERT_ALL_REFUSED(bad);
}

TEST(fields_that_the_collective_does_not_use_are_refused) {
    const bad_input_t bad[] = {
        BAD(ALLREDUCE REST "implementation: isend_irecv\n", PTO_ERR_KEY, 6, 17,
            "implementation is for alltoall, alltoallv, allgather, allgatherv, gather, scatter and halo "
            "only, "
            "not for allreduce"),
        BAD(ALLREDUCE REST "counts: equal\n", PTO_ERR_KEY, 6, 9,
            "counts is for alltoallv and allgatherv only"),
        BAD(ALLTOALL REST "counts: {skew: 0.1}\n", PTO_ERR_KEY, 6, 9,
            "counts is for alltoallv and allgatherv only"),
        BAD(ALLTOALLV "layout: {nodes: 2}\ncounts: {list: [1, 2]}\n", PTO_ERR_KEY, 5, 9,
            "a list has the bytes of each owner"),
        BAD(ALLGATHERV "layout: {nodes: 2}\nbytes: 8\ncounts: {pattern: groups, dims: [2]}\n", PTO_ERR_KEY, 6,
            9, "allgatherv has bytes of each owner: give equal, skew or a list"),
        BAD(ALLGATHERV "layout: {nodes: 2}\nbytes: 8\ncounts: {list: [1, 2]}\n", PTO_ERR_KEY, 5, 8,
            "bytes and a list of bytes (counts on line 6) cannot both be given"),
        BAD(ALLGATHERV "layout: {nodes: 2}\ncounts: {list: [1, -2]}\n", PTO_ERR_RANGE, 5, 20, "-2"),
        BAD(ALLGATHERV "layout: {nodes: 2}\ncounts: {list: []}\n", PTO_ERR_RANGE, 5, 16, "no numbers"),
        BAD(ALLGATHERV "layout: {nodes: 2}\ncounts: {list: [4611686018427387904, 4611686018427387904]}\n",
            PTO_ERR_RANGE, 5, 16, "the list sums to more than"),
        BAD(ALLGATHERV "layout: {nodes: 2}\ncounts: {list: none.csv}\n", PTO_ERR_IO, 5, 16, "none.csv"),
        BAD(ALLGATHERV "layout: {nodes: 2}\ncounts: {list: [1], skew: 0.5}\n", PTO_ERR_KEY, 5, 27,
            "skew cannot be given with a list"),
        BAD(ALLTOALL REST "messages: 3\n", PTO_ERR_KEY, 6, 11, "messages is for messages only"),
        BAD(ALLTOALLV REST "unique_bytes: 3\n", PTO_ERR_KEY, 6, 15, "unique_bytes is for messages only"),
        BAD(ALLTOALL REST "in_place: true\n", PTO_ERR_KEY, 6, 11,
            "in_place is for allreduce, reduce and broadcast only, not for alltoall"),
        BAD(ALLREDUCE REST "split: destinations\n", PTO_ERR_KEY, 6, 8, "no destinations to split"),
        BAD(ALLGATHER REST "split: destinations\n", PTO_ERR_KEY, 6, 8, "no destinations to split"),
    };
    ASSERT_ALL_REFUSED(bad);
}

TEST(wrong_types_and_names_are_refused) {
    const bad_input_t bad[] = {
        BAD("- s\n", PTO_ERR_TYPE, 1, 1, "a scenario file must be a mapping"),
        BAD("scenario: [\n", PTO_ERR_SYNTAX, 2, 1, "malformed YAML"),
        BAD(ALLTOALL "layout: 4\nbytes: 1\n", PTO_ERR_TYPE, 4, 9, "'layout' must be a mapping"),
        BAD(ALLTOALL "layout: {nodes: [a]}\nbytes: 1\n", PTO_ERR_TYPE, 4, 18, "'a' is not a whole number"),
        BAD(ALLTOALL "layout: {nodes: 1K}\nbytes: 1\n", PTO_ERR_TYPE, 4, 17,
            "nodes: '1K' is not a whole number"),
        BAD(ALLTOALL "layout: {nodes: 2}\nbytes: 1.5\n", PTO_ERR_TYPE, 5, 8, "bytes: '1.5'"),
        BAD(ALLTOALL "layout: {nodes: 2}\nbytes: 64KX\n", PTO_ERR_TYPE, 5, 8, "number of bytes"),
        BAD(ALLTOALL "layout: {nodes: 2}\nbytes:\n", PTO_ERR_TYPE, 5, 7, "bytes:", "the value is empty"),
        BAD(ALLTOALL REST "strategies: three_step\n", PTO_ERR_TYPE, 6, 13, "a list of strategies"),
        BAD(ALLTOALL REST "strategies: [[a]]\n", PTO_ERR_TYPE, 6, 14, "the name of a strategy"),
        BAD(ALLTOALL REST "library: {a: b}\n", PTO_ERR_TYPE, 6, 10, "best, a name or a list"),
        BAD(ALLTOALLV REST "counts: random\n", PTO_ERR_TYPE, 6, 9, "expected equal", "'random'"),
        BAD(ALLTOALLV REST "counts: [1]\n", PTO_ERR_TYPE, 6, 9, "'counts' must be a mapping"),
        BAD(TOP "collective: altoall\n" REST, PTO_ERR_NOT_FOUND, 3, 13, "unknown collective 'altoall'",
            "did you mean 'alltoall'?"),
        BAD(TOP "collective: scan\n" REST, PTO_ERR_NOT_FOUND, 3, 13, "unknown collective 'scan'",
            "known are: allreduce, alltoall, alltoallv, messages, reduce, broadcast"),
        BAD(ALLTOALLV REST "implementation: libary\n", PTO_ERR_NOT_FOUND, 6, 17, "did you mean 'library'?"),
        BAD(ALLTOALL REST "split: byte\n", PTO_ERR_NOT_FOUND, 6, 8, "did you mean 'bytes'?"),
        BAD(ALLREDUCE REST "datatype: flaot\n", PTO_ERR_NOT_FOUND, 6, 11, "did you mean 'float'?"),
    };
    ASSERT_ALL_REFUSED(bad);
}

TEST(impossible_numbers_are_refused) {
    const bad_input_t bad[] = {
        BAD(ALLTOALL "layout: {nodes: 0}\nbytes: 1\n", PTO_ERR_RANGE, 4, 17,
            "nodes: must be 1 or more, not 0"),
        BAD(ALLTOALL "layout: {nodes: -2}\nbytes: 1\n", PTO_ERR_RANGE, 4, 17, "not -2"),
        BAD(ALLTOALL "layout: {nodes: 9223372036854775808}\nbytes: 1\n", PTO_ERR_RANGE, 4, 17, "too large"),
        BAD(ALLTOALL "layout: {nodes: 2, gpus_per_node: 0}\nbytes: 1\n", PTO_ERR_RANGE, 4, 35,
            "gpus_per_node"),
        BAD(ALLTOALL "layout: {nodes: 2, procs_per_gpu: 0}\nbytes: 1\n", PTO_ERR_RANGE, 4, 35,
            "procs_per_gpu"),
        BAD(ALLTOALL "layout: {nodes: 2, owners_per_gpu: 0}\nbytes: 1\n", PTO_ERR_RANGE, 4, 36,
            "owners_per_gpu"),
        BAD(ALLTOALL "layout: {nodes: 2, owners_per_gpu: 3, procs_per_gpu: 2}\nbytes: 1\n", PTO_ERR_RANGE, 4,
            9, "layout: owners_per_gpu 3 is more than procs_per_gpu 2"),
        BAD(ALLTOALL "layout: {nodes: 9223372036854775807, gpus_per_node: 2}\nbytes: 1\n", PTO_ERR_RANGE, 4,
            9, "more processes than can be numbered"),
        BAD(ALLTOALL "layout: {nodes: 2}\nbytes: -1\n", PTO_ERR_RANGE, 5, 8, "bytes: '-1' is negative"),
        BAD(ALLTOALL "layout: {nodes: 2}\nbytes: .nan\n", PTO_ERR_RANGE, 5, 8, "not finite"),
        BAD(ALLTOALL "layout: {nodes: 2}\nbytes: .inf\n", PTO_ERR_RANGE, 5, 8, "not finite"),
        BAD(ALLTOALL "layout: {nodes: 2}\nbytes: 9223372036854775808\n", PTO_ERR_RANGE, 5, 8, "too large"),
        BAD(ALLTOALL "layout: {nodes: 2}\nbytes: 8EiB\n", PTO_ERR_RANGE, 5, 8, "too large"),
        BAD(ALLTOALL "layout: {nodes: 2}\nbytes: 4EiB\n", PTO_ERR_RANGE, 5, 8, "than can be counted"),
        BAD(ALLTOALL "layout: {nodes: 1048576, gpus_per_node: 6}\nbytes: [1, 1PiB]\n", PTO_ERR_RANGE, 5, 8,
            "1125899906842624 on 1048576 nodes", "than can be counted"),
        BAD(ALLTOALL "layout: {nodes: 2}\nbytes: []\n", PTO_ERR_RANGE, 5, 8,
            "expected 1 to 4096 values, not 0"),
        BAD(ALLTOALL "layout: {nodes: 2}\nbytes: [4, 4]\n", PTO_ERR_RANGE, 5, 12, "must increase",
            "4 follows 4"),
        BAD(ALLTOALL "layout: {nodes: 2}\nbytes: {from: 0, to: 4}\n", PTO_ERR_RANGE, 5, 15,
            "from: must be 1"),
        BAD(ALLTOALL "layout: {nodes: 2}\nbytes: {from: 8, to: 4}\n", PTO_ERR_RANGE, 5, 22,
            "ends at 4, before its start 8"),
        BAD(ALLTOALL "layout: {nodes: 2}\nbytes: {from: 1, to: 4, factor: 1}\n", PTO_ERR_RANGE, 5, 33,
            "factor: must be 2 or more"),
        BAD(ALLTOALL "layout: {nodes: 2}\nbytes: {from: 1, to: 9223372036854775808}\n", PTO_ERR_RANGE, 5, 22,
            "to:", "too large"),
        BAD(MESSAGES REST "messages: 0\n", PTO_ERR_RANGE, 6, 11, "messages: must be 1 or more"),
        BAD(MESSAGES "layout: {nodes: 1}\nbytes: 1\n", PTO_ERR_RANGE, 4, 17, "another node", "2 or more"),
        BAD(MESSAGES REST "messages: 2\nunique_bytes: 2049\n", PTO_ERR_RANGE, 7, 15,
            "unique_bytes 2049 is more than the 2048"),
        BAD(MESSAGES REST "unique_bytes: 0\n", PTO_ERR_RANGE, 6, 15, "must be 1 or more"),
        BAD(ALLREDUCE "layout: {nodes: 2}\nbytes: [4, 6]\n", PTO_ERR_RANGE, 5, 8,
            "6 is not a multiple of the 4 bytes of a float"),
        BAD(ALLREDUCE "layout: {nodes: 2}\nbytes: 4\ndatatype: double\n", PTO_ERR_RANGE, 5, 8,
            "4 is not a multiple of the 8 bytes of a double"),
        BAD(ALLTOALLV REST "counts: {skew: 1.5}\n", PTO_ERR_RANGE, 6, 16, "skew must be in [0, 1]"),
        BAD(ALLTOALLV REST "counts: {skew: -0.5}\n", PTO_ERR_RANGE, 6, 16, "must be 0 or more"),
        BAD(ALLTOALLV REST "counts: {skew: .nan}\n", PTO_ERR_RANGE, 6, 16, "not finite"),
        BAD(ALLTOALLV REST "counts: {skew: 0.5, seed: -1}\n", PTO_ERR_RANGE, 6, 27,
            "seed: must be 0 or more"),
        BAD(ALLTOALL REST "strategies: []\n", PTO_ERR_RANGE, 6, 13, "expected 1 to 256 names"),
        BAD(ALLTOALL REST "library: [{algorithm: a, below_bytes: 4}]\n", PTO_ERR_RANGE, 6, 39, "leave a gap"),
    };
    ASSERT_ALL_REFUSED(bad);
}

TEST(a_matrix_file_that_is_missing_is_reported_where_it_is_named) {
    const bad_input_t bad[] = {
        BAD(ALLTOALLV "layout: {nodes: 2}\ncounts: {matrix: none.csv}\n", PTO_ERR_IO, 5, 18,
            "tests/fixtures/none.csv", "No such file"),
    };
    ASSERT_ALL_REFUSED(bad);
}

TEST(a_matrix_that_is_not_square_is_reported_in_its_own_file) {
    pto_scenario_t s;
    pto_error_t err;
    char text[256];
    assert_int_equal(pto_scenario_read("tests/fixtures/scenario_ragged.yaml", &s, &err), PTO_ERR_SYNTAX);
    pto_error_format(&err, text, sizeof text);
    assert_string_equal(text, "tests/fixtures/ragged.csv:2:5: the matrix is not square: row 2 has at least 3 "
                              "columns, the first 2");
}

TEST(a_missing_scenario_is_refused) {
    pto_scenario_t s;
    pto_error_t err;
    assert_int_equal(pto_scenario_read("tests/fixtures/none.yaml", &s, &err), PTO_ERR_IO);
    assert_string_equal(err.file, "tests/fixtures/none.yaml");
    assert_int_equal(err.line, 1);
}

TEST(a_missing_machine_is_reported_where_it_is_named) {
    pto_machine_t *machine;
    pto_error_t err;
    pto_scenario_t *s = scenario_of(ALLTOALL REST);
    assert_int_equal(pto_scenario_read_machine(s, &machine, &err), PTO_ERR_IO);
    assert_string_equal(err.file, "tests/fixtures/s.yaml");
    assert_int_equal(err.line, 2);
    assert_int_equal(err.column, 10);
    assert_non_null(strstr(err.message, "tests/fixtures/m.yaml"));
    assert_non_null(strstr(err.message, "No such file"));
}

TEST(every_beginning_of_a_file_is_read_or_refused) {
    static const char text[] = ALLTOALLV REST "counts: {skew: 0.5, seed: 3}\nsplit: bytes\n"
                                              "strategies: [three_step, cuda_aware]\n"
                                              "library: [{below_bytes: 4, algorithm: a}, {algorithm: b}]\n";
    for (size_t size = 0; size < sizeof text; size++) {
        char *cut = malloc(size + 1); /* of its own size, so that the sanitizer sees a read past its end */
        assert_non_null(cut);
        memcpy(cut, text, size);
        pto_scenario_t s;
        pto_error_t err = {.status = PTO_OK};
        pto_status_t status = pto_scenario_parse(cut, size, "cut.yaml", &s, &err);
        free(cut);
        if (status == PTO_OK)
            pto_scenario_fini(&s);
        else
            assert_true(err.status == status && err.line >= 1 && err.column >= 1);
    }
}

/* A row left out of the middle of the table would be all zeros. */
TEST(every_collective_has_a_row) {
    for (int i = 0; i < PTO_COLLECTIVE_COUNT; i++) {
        pto_collective_t collective = (pto_collective_t)i;
        assert_non_null(pto_collective_name(collective));
        pto_data_t data = pto_collective_data(collective);
        assert_true(!pto_collective_is_from_root(collective) || data == PTO_DATA_VECTOR ||
                    data == PTO_DATA_SCATTERED);
        assert_true(!pto_collective_is_to_root(collective) || data == PTO_DATA_VECTOR ||
                    data == PTO_DATA_GATHERED);
        assert_true(!pto_collective_is_by_pair(collective) || data == PTO_DATA_BLOCKS);
        if (pto_collective_nccl(collective) != PTO_NCCL_COUNT && !pto_collective_is_by_pair(collective))
            assert_string_equal(pto_nccl_name(pto_collective_nccl(collective)),
                                pto_collective_name(collective));
    }
    assert_string_equal(pto_collective_name(PTO_COLLECTIVE_COUNT), "no collective");
    assert_false(pto_collective_is_vector(PTO_COLLECTIVE_COUNT));
}
