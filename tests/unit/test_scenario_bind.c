/* Binding scenarios to machines, and scenarios from command-line options. */
#include "bad_input.h"
#include "scenario_text.h"
#include "test.h"

/* --- binding -------------------------------------------------------------------------------------------- */

TEST(binding_fills_what_a_layout_leaves_open) {
    pto_scenario_t *s = scenario_of(ALLTOALL REST);
    assert_int_equal(pto_scenario_bind(s, &six_gpus, NULL), PTO_OK);
    assert_int_equal(s->layout.nodes, 2);
    assert_int_equal(s->layout.gpus_per_node, 6);
    assert_int_equal(s->layout.procs_per_gpu, 1);
    assert_true(s->procs_open);
    assert_int_equal(s->layout.gpus_per_socket, 3);
    const pto_machine_t odd = {.name = "odd", .node = {.sockets = 2, .gpus = 5, .cores = 5}};
    s = scenario_of(ALLTOALL REST);
    assert_int_equal(pto_scenario_bind(s, &odd, NULL), PTO_OK);
    assert_int_equal(s->layout.gpus_per_socket, 3);
    s = scenario_of(ALLTOALL "layout: {nodes: 2, owners_per_gpu: 3}\nbytes: 1024\n");
    assert_int_equal(pto_scenario_bind(s, &six_gpus, NULL), PTO_OK);
    assert_int_equal(s->layout.procs_per_gpu, 3);
    s = scenario_of(ALLTOALL "layout: {nodes: 2, procs_per_gpu: 1}\nbytes: 1024\n");
    assert_int_equal(pto_scenario_bind(s, &six_gpus, NULL), PTO_OK);
    assert_false(s->procs_open);
}

TEST(a_node_count_is_never_limited) {
    pto_scenario_t *s = scenario_of(ALLTOALL "layout: {nodes: 174763}\nbytes: 1MiB\n");
    assert_int_equal(pto_scenario_bind(s, &six_gpus, NULL), PTO_OK);
}

TEST(asking_more_than_a_node_has_is_refused) {
    static const pto_machine_t few = {.name = "few", .node = {.sockets = 1, .gpus = 4, .cores = 2}};
    const struct {
        const pto_machine_t *machine;
        bad_input_t expected;
    } bad[] = {
        {&six_gpus, BAD(ALLTOALL "layout: {nodes: 2, gpus_per_node: 7}\nbytes: 1\n", PTO_ERR_RANGE, 4, 9,
                        "gpus_per_node 7 is more than the 6 GPUs of a node of six")},
        {&six_gpus, BAD(ALLTOALL "layout: {nodes: 2, procs_per_gpu: 7}\nbytes: 1\n", PTO_ERR_RANGE, 4, 9,
                        "6 GPUs of 7 cores each (procs_per_gpu) are more than the 40 cores")},
        {&six_gpus, BAD(ALLTOALL "layout: {nodes: 2, procs_per_gpu: 1000000000}\nbytes: 1\n", PTO_ERR_RANGE,
                        4, 9, "more than the 40 cores")},
        {&few, BAD(ALLTOALL REST, PTO_ERR_RANGE, 4, 9, "more than the 2 cores of a node of few")},
        {&six_gpus, BAD(ALLTOALL "layout: {nodes: 2, owners_per_gpu: 7}\nbytes: 1\n", PTO_ERR_RANGE, 4, 9,
                        "(procs_per_gpu) are more than the 40 cores")},
        {&six_gpus,
         BAD(ALLTOALL "layout: {nodes: 1}\nbytes: 16PiB\n", PTO_ERR_RANGE, 5, 8, "than can be counted")},
        {&six_gpus, BAD(ALLTOALLV "layout: {nodes: 1}\ncounts: {matrix: square.csv}\n", PTO_ERR_RANGE, 5, 9,
                        "square.csv has 2 rows, but 6 processes hold data")},
        {&six_gpus, BAD(ALLTOALL "layout: {nodes: [1, 2]}\nbytes: [1, 2]\n", PTO_ERR_RANGE, 4, 17,
                        "bytes and nodes both have several values")},
        {&six_gpus, BAD(MESSAGES "layout: {nodes: 2}\nbytes: [1, 2]\nmessages: {from: 1, to: 8}\n",
                        PTO_ERR_RANGE, 6, 11, "bytes and messages both")},
        {&six_gpus, BAD(MESSAGES "layout: {nodes: [2, 4]}\nbytes: 1\nmessages: {from: 1, to: 8}\n",
                        PTO_ERR_RANGE, 6, 11, "nodes and messages both")},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pto_error_t err = {.status = PTO_OK};
        pto_scenario_t *s = scenario_of(bad[i].expected.text);
        pto_layout_t before = s->layout;
        assert_refused(&bad[i].expected, pto_scenario_bind(s, bad[i].machine, &err), &err);
        assert_memory_equal(&before, &s->layout, sizeof before);
    }
}

/* --- from flags ----------------------------------------------------------------------------------------- */

TEST(a_scenario_from_flags_is_checked_without_a_place) {
    pto_scenario_t s;
    pto_error_t err;
    pto_scenario_init(&s);
    assert_int_equal(pto_scenario_check(&s, &err), PTO_ERR_KEY);
    assert_non_null(strstr(err.message, "no collective"));
    s.collective = PTO_COLLECTIVE_ALLREDUCE;
    assert_int_equal(pto_scenario_check(&s, &err), PTO_ERR_KEY);
    assert_non_null(strstr(err.message, "no bytes"));
    assert_int_equal(pto_series_one(6, &s.bytes, NULL), PTO_OK);
    assert_int_equal(pto_scenario_check(&s, &err), PTO_ERR_KEY);
    assert_non_null(strstr(err.message, "no number of nodes"));
    assert_int_equal(pto_series_one(4, &s.nodes, NULL), PTO_OK);
    assert_int_equal(pto_scenario_check(&s, &err), PTO_ERR_RANGE);
    assert_non_null(strstr(err.message, "not a multiple"));
    assert_string_equal(err.file, "");
    assert_int_equal(err.line, 0);
    s.datatype = PTO_DATATYPE_BYTE;
    assert_int_equal(pto_scenario_check(&s, &err), PTO_OK);
    s.bytes.value[0] = -6;
    assert_int_equal(pto_scenario_check(&s, &err), PTO_ERR_RANGE);
    assert_int_equal(pto_scenario_read_machine(&s, &(pto_machine_t *){NULL}, &err), PTO_ERR_KEY);
    pto_scenario_fini(&s);
}

TEST(flags_cannot_resize_a_matrix) {
    pto_scenario_t *s = scenario_at("tests/fixtures/scenario_matrix.yaml");
    pto_error_t err;
    s->bytes.value[0] = 8;
    assert_int_equal(pto_scenario_check(s, &err), PTO_ERR_KEY);
    assert_non_null(strstr(err.message, "bytes and a matrix"));
}

TEST(a_matrix_from_flags_gives_the_size_when_bound) {
    pto_scenario_t s;
    pto_scenario_init(&s);
    s.collective = PTO_COLLECTIVE_ALLTOALLV;
    s.layout.gpus_per_node = 2;
    assert_int_equal(pto_series_one(1, &s.nodes, NULL), PTO_OK);
    assert_int_equal(pto_counts_read_matrix("tests/fixtures/square.csv", &s.counts, NULL), PTO_OK);
    assert_int_equal(pto_scenario_check(&s, NULL), PTO_OK);
    assert_int_equal(pto_scenario_bind(&s, &six_gpus, NULL), PTO_OK);
    assert_int_equal(s.bytes.count, 1);
    assert_int_equal(s.bytes.value[0], 4096);
    pto_scenario_fini(&s);
}
