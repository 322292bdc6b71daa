/* Workloads: the reader, the communicators of a grid, and what a step of them is predicted to take. */
#include "bad_input.h"
#include "machine/share.h"
#include "made_step.h"
#include "must.h"
#include "portolan/scenario.h"
#include "portolan/workload.h"
#include "test.h"

static double call_seconds(const made_t *made, int call, const char *name) {
    double seconds;
    assert_true(pto_step_call_seconds(&made->step, call, strategy_named(name), &seconds));
    return seconds;
}

/* --- reading -------------------------------------------------------------------------------------------- */

#define TOP "workload: w\nlayout: {nodes: 8, gpus_per_node: 4}\ngrid: {a: 8, b: 4}\n"

TEST(a_whole_workload_is_read) {
    const char *text = TOP
        "machine: m.yaml\nstep:\n- {call: one, on: b, collective: allreduce, bytes: 1MiB, datatype: double, "
        "times: 3}\n- {compute: 2 ms, times: 4}\n- at_once:\n  - {collective: alltoall, bytes: 64}\n  - {on: "
        "[a], collective: broadcast, bytes: 8}\n";
    pto_workload_t w;
    pto_error_t err = {0};
    assert_int_equal(pto_workload_parse(text, strlen(text), "folder/w.yaml", &w, &err), PTO_OK);
    assert_string_equal(w.machine_path, "folder/m.yaml");
    assert_int_equal(w.dim_count, 2);
    assert_int_equal(w.call_count, 4);
    assert_int_equal(w.entry_count, 3);
    assert_string_equal(pto_workload_call_name(&w.call[0]), "one");
    assert_int_equal(w.call[0].scenario.datatype, PTO_DATATYPE_DOUBLE);
    assert_int_equal(w.call[0].times, 3);
    assert_int_equal(w.call[0].along, 1u << 1);
    assert_around(w.call[1].compute_s, 2e-3, 1e-12);
    assert_int_equal(w.call[2].along, 3);
    assert_int_equal(w.call[2].entry, w.call[3].entry);
    assert_int_equal(w.call[3].along, 1);
    char along[PTO_WORKLOAD_ALONG_MAX];
    assert_string_equal(pto_workload_along_text(&w, 3, along), "world");
    assert_string_equal(pto_workload_along_text(&w, 1, along), "a");
    pto_workload_fini(&w);
}

TEST(bad_workloads_are_refused_at_their_place) {
    static const bad_input_t bad[] = {
        BAD("workload: w\nstep: []\n", PTO_ERR_KEY, 1, 1, "missing key 'layout' in a workload file"),
        BAD(TOP "step: []\n", PTO_ERR_RANGE, 4, 7, "the list is empty"),
        BAD(TOP "stpe: []\n", PTO_ERR_KEY, 4, 1, "did you mean 'step'?"),
        BAD(TOP "step: [{colective: alltoall, bytes: 1}]\n", PTO_ERR_KEY, 4, 9, "did you mean 'collective'?"),
        BAD(TOP "step: [{collective: alltoall}]\n", PTO_ERR_KEY, 4, 8, "missing key 'bytes' in a call"),
        BAD(TOP "step: [{call: x}]\n", PTO_ERR_KEY, 4, 8, "missing key 'collective' in a call"),
        BAD(TOP "step: [{collective: alltoall, bytes: [1, 2]}]\n", PTO_ERR_RANGE, 4, 8, "one size"),
        BAD(TOP "step: [{collective: pair, bytes: 1}]\n", PTO_ERR_NOT_APPLICABLE, 4, 8, "pair"),
        BAD(TOP "step: [{on: c, collective: alltoall, bytes: 1}]\n", PTO_ERR_NOT_FOUND, 4, 13,
            "'c' is no dimension of the grid"),
        BAD(TOP "step: [{on: [a, a], collective: alltoall, bytes: 1}]\n", PTO_ERR_KEY, 4, 17, "twice"),
        BAD(TOP "step: [{on: [], collective: alltoall, bytes: 1}]\n", PTO_ERR_RANGE, 4, 13, "empty"),
        BAD(TOP "step: [{compute: -1}]\n", PTO_ERR_RANGE, 4, 18, "0 or more"),
        BAD(TOP "step: [{compute: 1, bytes: 8}]\n", PTO_ERR_KEY, 4, 21, "unknown key 'bytes' in computation"),
        BAD(TOP "step: [{at_once: []}]\n", PTO_ERR_RANGE, 4, 18, "empty"),
        BAD(TOP "step: [{at_once: [{compute: 1}], times: 2}]\n", PTO_ERR_KEY, 4, 8, "no other keys"),
        BAD(TOP "step: [{at_once: [{at_once: [{compute: 1}]}]}]\n", PTO_ERR_KEY, 4, 20, "'at_once'"),
        BAD(TOP "step: [8]\n", PTO_ERR_TYPE, 4, 8, "a call must be a mapping"),
        BAD("workload: w\nlayout: {nodes: 1}\ngrid: {a: 0, b: 0}\nstep: [{compute: 1}]\n", PTO_ERR_RANGE, 3,
            17, "only one size"),
        BAD("workload: w\nlayout: {nodes: 1}\ngrid: {world: 2}\nstep: [{compute: 1}]\n", PTO_ERR_RANGE, 3, 15,
            "'world' cannot name"),
        BAD("workload: w\nlayout: {nodes: 1}\ngrid: {}\nstep: [{compute: 1}]\n", PTO_ERR_RANGE, 3, 7,
            "1 to 8"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pto_workload_t w;
        pto_error_t err = {0};
        assert_refused(&bad[i], pto_workload_parse(bad[i].text, strlen(bad[i].text), "w.yaml", &w, &err),
                       &err);
    }
}

TEST(every_beginning_of_a_workload_is_read_or_refused) {
    const char *text = TOP "step:\n- at_once: [{on: b, collective: allreduce, bytes: 8}, {compute: 1 s}]\n";
    for (size_t size = 0; size <= strlen(text); size++) {
        pto_workload_t w;
        pto_error_t err = {0};
        pto_status_t status = pto_workload_parse(text, size, "w.yaml", &w, &err);
        if (status == PTO_OK)
            pto_workload_fini(&w);
        else
            assert_true(err.line > 0 && err.column > 0 && err.message[0]);
    }
}

/* --- communicators -------------------------------------------------------------------------------------- */

TEST(a_grid_gives_each_communicator_its_layout) {
    static const struct {
        const char *grid, *on;
        int64_t gpus_per_node, nodes, gpus, gpus_per_socket, count, per_node, per_socket;
        bool has_gaps;
    } expected[] = {
        {"{a: 24}", "world", 6, 4, 6, 3, 1, 1, 1, false},
        {"{a: 4, b: 6}", "b", 6, 1, 6, 3, 4, 1, 1, false},
        {"{a: 4, b: 6}", "a", 6, 4, 1, 1, 6, 6, 3, false},
        {"{a: 4, b: 2, c: 3}", "c", 6, 1, 3, 3, 8, 2, 1, false},
        {"{a: 4, b: 2, c: 3}", "b", 6, 1, 2, 1, 12, 3, 3, false}, /* one on each socket */
        {"{a: 4, b: 3, c: 2}", "c", 6, 1, 2, 1, 12, 3, 3, false}, /* one of three spans the sockets */
        {"{a: 2, b: 2, c: 6}", "a", 6, 2, 1, 1, 12, 6, 3, true},
        {"{a: 2, b: 2, c: 6}", "[a, c]", 6, 2, 6, 3, 2, 1, 1, true},
        {"{a: 2, b: 2, c: 6}", "[b, c]", 6, 2, 6, 3, 2, 1, 1, false},
        {"{a: 2, b: 0}", "b", 4, 2, 4, 3, 2, 1, 1, false},
        {"{a: 0, b: 2}", "a", 4, 4, 2, 1, 2, 2, 3, false},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "workload: w\nlayout: {nodes: 4, gpus_per_node: %d}\ngrid: %s\nstep: [{on: %s, collective: "
                 "alltoall, bytes: 8}]\n",
                 (int)expected[i].gpus_per_node, expected[i].grid, expected[i].on);
        made_t *made = read_step(SUMMIT, text);
        const pto_layout_t *layout = &made->workload.call[0].scenario.layout;
        const pto_communicators_t *all = &made->workload.call[0].communicators;
        if (layout->nodes != expected[i].nodes || layout->gpus_per_node != expected[i].gpus ||
            layout->gpus_per_socket != expected[i].gpus_per_socket || all->count != expected[i].count ||
            all->per_node != expected[i].per_node || all->per_socket != expected[i].per_socket ||
            all->has_gaps != expected[i].has_gaps)
            fail_msg("%s on %s: %lld x %lld, %lld a socket; %lld, %lld a node, %lld a socket%s",
                     expected[i].grid, expected[i].on, (long long)layout->nodes,
                     (long long)layout->gpus_per_node, (long long)layout->gpus_per_socket,
                     (long long)all->count, (long long)all->per_node, (long long)all->per_socket,
                     all->has_gaps ? ", gaps" : "");
    }
}

TEST(grids_that_do_not_fit_are_refused) {
#define STEP "\nstep: [{on: a, collective: alltoall, bytes: 8}]\n"
    static const bad_input_t bad[] = {
        BAD("workload: w\nlayout: {nodes: 4}\ngrid: {a: 4}" STEP, PTO_ERR_RANGE, 3, 7, "4 processes",
            "24 GPUs"),
        BAD("workload: w\nlayout: {nodes: 4}\ngrid: {a: 7, b: 0}" STEP, PTO_ERR_RANGE, 3, 7, "7 processes"),
        BAD("workload: w\nlayout: {nodes: 4}\ngrid: {b: 6, a: 4}" STEP, PTO_ERR_RANGE, 4, 8, "along a",
            "nodes"),
        BAD("workload: w\nlayout: {nodes: 1, gpus_per_node: 7}\ngrid: {a: 7}" STEP, PTO_ERR_RANGE, 2, 9,
            "gpus_per_node 7 is more than the 6"),
        BAD("workload: w\nlayout: {nodes: 2}\ngrid: {a: 2, b: 6}\n"
            "step: [{call: c, on: b, collective: messages, bytes: 8}]\n",
            PTO_ERR_RANGE, 4, 8, "c: messages go to another node"),
        BAD("workload: w\nlayout: {nodes: 2, procs_per_gpu: 9}\ngrid: {a: 12}" STEP, PTO_ERR_RANGE, 0, 0,
            "cores"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pto_workload_t w;
        pto_error_t err = {0};
        pto_machine_t machine = must_read(SUMMIT);
        assert_int_equal(pto_workload_parse(bad[i].text, strlen(bad[i].text), "w.yaml", &w, &err), PTO_OK);
        assert_refused(&bad[i], pto_workload_bind(&w, &machine, &err), &err);
        pto_workload_fini(&w);
    }
}

/* --- prices --------------------------------------------------------------------------------------------- */

/* The job's own price of the same bytes: an alltoallv whose pattern is the lines of the grid. */
static double pattern_seconds(const pto_machine_t *machine, const char *along, const char *name,
                              const char *bytes) {
    char text[512];
    pto_scenario_t scenario;
    pto_error_t err = {0};
    snprintf(
        text, sizeof text,
        "scenario: s\nmachine: m\ncollective: alltoallv\nimplementation: isend_irecv\nlayout: {nodes: 16, "
        "gpus_per_node: 4}\nbytes: %s\ncounts: {pattern: groups, dims: [8, 8], along: %s}\nchunks: "
        "1\nstrategies: "
        "[%s]\n",
        bytes, along, name);
    assert_ok(pto_scenario_parse(text, strlen(text), "s.yaml", &scenario, &err), &err);
    assert_ok(pto_scenario_bind(&scenario, machine, &err), &err);
    pto_predictions_t predictions = must_predict(&scenario, machine, false);
    double seconds = predictions.prediction[0].price.seconds;
    pto_scenario_fini(&scenario);
    return seconds;
}

/* Both ways lead to the same injected bytes: those of all communicators of a node. */
TEST(communicators_at_once_cost_what_the_whole_job_does) {
    static const char *const name[] = {"cuda_aware", "three_step"}, *const size[] = {"512", "64KiB", "4MiB"};
    for (int s = 0; s < 3; s++) {
        char text[512];
        snprintf(
            text, sizeof text,
            "workload: w\nlayout: {nodes: 16, gpus_per_node: 4}\ngrid: {rows: 8, columns: 8}\nstep:\n"
            "- {on: rows, collective: alltoallv, implementation: isend_irecv, chunks: 1, bytes: %s}\n"
            "- {on: columns, collective: alltoallv, implementation: isend_irecv, chunks: 1, bytes: %s}\n",
            size[s], size[s]);
        made_t *made = predict_step(SUMMIT, text);
        for (int i = 0; i < 2; i++) {
            double rows = pattern_seconds(&made->machine, "0", name[i], size[s]);
            double columns = pattern_seconds(&made->machine, "1", name[i], size[s]);
            assert_around(call_seconds(made, 0, name[i]) / rows, 1, 1e-9);
            assert_around(call_seconds(made, 1, name[i]) / columns, 1, 1e-9);
        }
    }
}

TEST(the_world_has_the_machine_to_itself) {
    made_t *made = predict_step(
        SUMMIT, "workload: w\nlayout: {nodes: 8}\nstep: [{collective: alltoall, bytes: 64KiB}]\n");
    pto_predictions_t alone = must_predict(&made->workload.call[0].scenario, &made->machine, true);
    for (int i = 0; i < alone.strategy_count; i++)
        assert_memory_equal(&alone.prediction[i].price.seconds,
                            &made->step.call[0].predictions.prediction[i].price.seconds, sizeof(double));
}

/* Three share the network, five the links and seven the memory. */
static pto_machine_t *shared_of(const pto_machine_t *machine) {
    pto_machine_t *shared = NULL;
    pto_error_t err = {0};
    const pto_sharers_t sharers = {.network = 3, .links = 5, .memory = 7};
    assert_ok(pto_machine_share(machine, sharers, &shared, &err), &err);
    return keep(shared, end_opened);
}

TEST(what_communicators_share_takes_as_many_times_as_long) {
    static const char *const path[] = {"scenarios/machines/h200-nodes-tcp.yaml", "tests/fixtures/k80.yaml",
                                       "tests/fixtures/machine.yaml"};
    int scaled[8] = {0};
    for (size_t m = 0; m < sizeof path / sizeof *path; m++) {
        const pto_machine_t *machine = must_open(path[m]), *shared = shared_of(machine);
        pto_machine_param_t *before, *after;
        int count, same;
        assert_int_equal(pto_machine_params(machine, &before, &count, NULL), PTO_OK);
        assert_int_equal(pto_machine_params(shared, &after, &same, NULL), PTO_OK);
        assert_int_equal(count, same);
        for (int i = 0; i < count; i++) {
            const char *key = before[i].key;
            double times = 1;
            if (strncmp(key, "injection.", 10) == 0 ||
                (strncmp(key, "nccl.", 5) == 0 && strstr(key, "nodes_2") && strstr(key, "beta")))
                times = 3;
            else if (strncmp(key, "memory.host_s", 13) == 0)
                times = 7;
            scaled[(int)times] += before[i].param && before[i].param->value > 0;
            if (before[i].param)
                assert_around(after[i].param->value, times * before[i].param->value,
                              1e-12 * before[i].param->value);
        }
        free(before);
        free(after);
    }
    assert_true(scaled[3] > 0 && scaled[7] > 0);
}

TEST(shared_links_are_those_between_other_devices_than_gpus) {
    const pto_machine_t *linked = must_open("tests/fixtures/k80.yaml"), *shared = shared_of(linked);
    const pto_topology_t *topology = pto_machine_topology(linked);
    int gpus = pto_topology_device_count(topology, PTO_DEVICE_GPU), counted[2] = {0};
    for (int i = 0; i < pto_topology_link_count(topology); i++) {
        const pto_topology_link_t *link = pto_topology_link_at(topology, i);
        bool others = link->from >= gpus && link->to >= gpus;
        assert_around(pto_topology_link_at(shared->topology, i)->s_per_byte.value,
                      (others ? 5 : 1) * link->s_per_byte.value, 1e-20);
        counted[others]++;
    }
    assert_true(counted[0] > 0 && counted[1] > 0);
    const pto_machine_t *woven = must_open("tests/fixtures/k80-fabric.yaml");
    shared = shared_of(woven);
    for (int level = 0; level < woven->fabric.levels; level++)
        for (int way = 0; way < 2; way++)
            assert_around(shared->fabric.level[level].s_per_byte[way].value,
                          3 * woven->fabric.level[level].s_per_byte[way].value, 1e-20);
    assert_true(woven->fabric.levels > 0);
}

/* The levels of a fabric count nodes that follow each other. */
TEST(communicators_with_gaps_are_refused_on_a_fabric) {
    static const char *const on[] = {"a", "b"};
    for (int i = 0; i < 2; i++) {
        char text[256];
        pto_error_t err = {0};
        snprintf(text, sizeof text,
                 "workload: w\nlayout: {nodes: 4, gpus_per_node: 1}\ngrid: {a: 2, b: 2}\nstep:\n- {on: %s, "
                 "collective: alltoall, bytes: 8}\n",
                 on[i]);
        made_t *made = read_step("tests/fixtures/k80-fabric.yaml", text);
        pto_status_t status = pto_step_predict(&made->workload, &made->machine, &made->step, &err);
        assert_int_equal(status, i == 0 ? PTO_ERR_NOT_APPLICABLE : PTO_OK);
        if (i == 0)
            assert_int_equal(err.line, 5);
    }
}

/* --- the step ------------------------------------------------------------------------------------------- */

TEST(calls_in_order_add_up) {
    made_t *made = predict_step(
        SUMMIT, "workload: w\nlayout: {nodes: 8}\nstep:\n- {collective: alltoall, bytes: 64KiB, times: 3}\n- "
                "{compute: 1 ms, times: 2}\n- {collective: allgather, bytes: 8}\n");
    double expected = 3 * call_seconds(made, 0, "three_step") + call_seconds(made, 2, "three_step");
    for (int r = 0; r < made->step.route_count; r++) {
        const pto_step_route_t *route = &made->step.route[r];
        if (route->strategy != strategy_named("three_step"))
            continue;
        assert_around(route->communication_s, expected, 1e-12);
        assert_around(route->exposed_s, expected, 1e-12);
        assert_around(route->seconds, expected + 2e-3, 1e-12);
        assert_true(made->step.mix.seconds <= route->seconds);
    }
    assert_around(made->step.compute_s, 2e-3, 1e-15);
}

/* An alltoall and a broadcast, of which the second, or both, were found wrong before. */
TEST(calls_that_cannot_be_priced_are_left_out) {
    const char *text = "workload: w\nlayout: {nodes: 8}\nstep:\n- {collective: alltoall, bytes: 64KiB}\n- "
                       "{collective: broadcast, bytes: 8}\n";
    made_t *made = read_step(SUMMIT, text);
    pto_error_t left_out[2] = {0}, err = {0};
    assert_int_equal(pto_step_predict_some(&made->workload, &made->machine, left_out, &made->step, &err),
                     PTO_OK);
    assert_false(made->step.call[0].left_out || made->step.call[1].left_out);
    double first = pto_step_call_prediction(&made->step, 0, NULL)->price.seconds;
    double second = pto_step_call_prediction(&made->step, 1, NULL)->price.seconds;
    assert_true(second > 0);
    assert_around(made->step.mix.seconds, first + second, 1e-12);
    pto_step_fini(&made->step);
    pto_error_set(&left_out[1], PTO_ERR_RANGE, "wrong before");
    assert_int_equal(pto_step_predict_some(&made->workload, &made->machine, left_out, &made->step, &err),
                     PTO_OK);
    assert_false(made->step.call[0].left_out);
    assert_true(made->step.call[1].left_out);
    assert_around(made->step.mix.seconds, first, 1e-12);
    assert_int_equal(left_out[0].status, PTO_OK);
    pto_step_fini(&made->step);
    pto_error_set(&left_out[1], PTO_ERR_MEMORY, "no memory");
    assert_int_equal(pto_step_predict_some(&made->workload, &made->machine, left_out, &made->step, &err),
                     PTO_ERR_MEMORY);
    assert_string_equal(err.message, "no memory");
    pto_error_set(&left_out[0], PTO_ERR_KEY, "the first");
    pto_error_set(&left_out[1], PTO_ERR_RANGE, "the second");
    assert_int_equal(pto_step_predict_some(&made->workload, &made->machine, left_out, &made->step, &err),
                     PTO_ERR_KEY);
    assert_string_equal(err.message, "the first");
}

TEST(computation_hides_what_runs_at_once) {
    for (int longer = 0; longer < 2; longer++) {
        char text[256];
        snprintf(text, sizeof text,
                 "workload: w\nlayout: {nodes: 8}\nstep:\n- at_once: [{collective: alltoall, bytes: 1MiB}, "
                 "{compute: %s}]\n",
                 longer ? "10 s" : "1 ms");
        made_t *made = predict_step(SUMMIT, text);
        const pto_step_route_t *mix = &made->step.mix;
        assert_around(mix->exposed_s, longer ? 0 : mix->communication_s - 1e-3, 1e-12);
        assert_around(mix->seconds, longer ? 10 : mix->communication_s, 1e-12);
    }
}

/* Messages share the process and its NICs; a call of copies alone has neither. */
TEST(calls_at_once_are_between_the_longest_and_the_sum) {
    double together, first, second;
    made_t *made = predict_step(
        "scenarios/machines/lassen-spectrum-refit.yaml",
        "workload: w\nlayout: {nodes: 16, gpus_per_node: 4}\ngrid: {a: 16, b: 4}\nstep:\n- at_once:\n"
        "  - {on: a, collective: allreduce, bytes: 4MiB}\n  - {collective: alltoall, bytes: 64KiB}\n");
    for (int r = 0; r < made->step.route_count; r++) {
        const pto_strategy_t *by = made->step.route[r].strategy;
        if (!pto_step_entry_seconds(&made->step, 0, by, &together))
            continue;
        pto_step_call_seconds(&made->step, 0, by, &first);
        pto_step_call_seconds(&made->step, 1, by, &second);
        assert_true(together >= (first > second ? first : second));
        assert_true(together <= (first + second) * (1 + 1e-9));
        if (by == strategy_named("cuda_aware")) /* both are messages almost alone */
            assert_true(together > 0.75 * (first + second));
    }
}

/* A call with itself asks twice as much of everything, so the busiest resource is occupied twice as long. */
TEST(equal_calls_at_once_take_as_long_as_one_after_the_other_where_one_resource_is_all) {
    double once, together;
    made_t *made = predict_step(
        SUMMIT, "workload: w\nlayout: {nodes: 8, gpus_per_node: 1}\nstep:\n- at_once:\n"
                "  - {collective: messages, bytes: 1MiB}\n  - {collective: messages, bytes: 1MiB}\n");
    once = call_seconds(made, 0, "cuda_aware");
    assert_true(pto_step_entry_seconds(&made->step, 0, strategy_named("cuda_aware"), &together));
    assert_around(together, 2 * once, 1e-12);
    assert_true(pto_step_entry_seconds(&made->step, 0, strategy_named("three_step"), &together));
    once = call_seconds(made, 0, "three_step");
    assert_true(together > once && together < 2 * once); /* copies of one beside messages of the other */
}

/* A ring over the GPUs of all nodes sends n - 1 blocks out of each node. Chunks of split_ring wait for their
 * copies, not for the NICs, so that no longest path of a single call has the NICs' work in it. */
TEST(the_nics_have_the_bytes_of_all_calls_at_once) {
    const double bytes = 6324224, s_per_byte = 2.353e-11, blocks = 4 * 8 - 1;
    double together;
    made_t *made = read_step(
        "scenarios/machines/dgx-h100.yaml",
        "workload: w\nlayout: {nodes: 4, gpus_per_node: 8, procs_per_gpu: 14}\nstep:\n- at_once:\n"
        "  - {collective: allgather, bytes: 6324224}\n  - {collective: reduce_scatter, bytes: 6324224}\n");
    assert_int_equal(pto_machine_set(&made->machine, "injection.cpu.s_per_byte", s_per_byte, NULL), PTO_OK);
    assert_int_equal(pto_machine_set(&made->machine, "injection.gpu.s_per_byte", s_per_byte, NULL), PTO_OK);
    assert_int_equal(pto_step_predict(&made->workload, &made->machine, &made->step, NULL), PTO_OK);
    assert_true(pto_step_entry_seconds(&made->step, 0, strategy_named("split_ring"), &together));
    double first = call_seconds(made, 0, "split_ring"), second = call_seconds(made, 1, "split_ring");
    assert_true(together >= 2 * blocks * bytes * s_per_byte);
    assert_true(together <= first + second);
}

/* Also where the rounds of a loop, or the chunks of a pipeline, are priced once for many. */
TEST(what_a_ring_occupies_is_its_bytes_on_each_resource) {
    const double bytes = 4 << 20, blocks = 16 * 4 - 1;
    double per_byte;
    made_t *made =
        predict_step("scenarios/machines/lassen-spectrum-refit.yaml",
                     "workload: w\nlayout: {nodes: 16, gpus_per_node: 4, procs_per_gpu: 10}\nstep:\n"
                     "- {collective: allgather, library: ring, bytes: 4MiB}\n");
    assert_int_equal(pto_machine_get(&made->machine, "injection.cpu.s_per_byte", &per_byte, NULL), PTO_OK);
    static const char *const staged[] = {"three_step", "split_ring"};
    for (int i = 0; i < 2; i++) {
        const pto_predictions_t *predictions = &made->step.call[0].predictions;
        int s = 0;
        while (predictions->strategy[s] != strategy_named(staged[i]))
            s++;
        const pto_prediction_t *by = pto_prediction_at(predictions, 0, s);
        const double *occupied_s = by->explanation.occupied_s;
        assert_around(occupied_s[PTO_OCCUPIED_NICS] / (blocks * bytes * per_byte), 1,
                      0.01); /* and messages */
        for (int what = 0; what < PTO_OCCUPIED_COUNT; what++)
            assert_true(occupied_s[what] <= by->price.seconds);
        assert_true(occupied_s[PTO_OCCUPIED_SEND] > 0 && occupied_s[PTO_OCCUPIED_OUT] > 0);
    }
}

/* Calls in order: the sums of their ends. */
TEST(totals_have_the_sum_of_the_intervals_of_their_calls) {
    made_t *made = predict_step("scenarios/machines/lassen-spectrum-refit.yaml",
                                "workload: w\nlayout: {nodes: 8, gpus_per_node: 4}\nstep:\n"
                                "- {collective: allreduce, bytes: 4MiB, times: 3}\n- {compute: 1 ms}\n"
                                "- at_once: [{collective: alltoall, bytes: 64KiB}, {compute: 100 us}]\n");
    for (int r = 0; r < made->step.route_count; r++) {
        const pto_step_route_t *route = &made->step.route[r];
        if (!route->applicable)
            continue;
        const pto_price_t *sums = &pto_step_call_prediction(&made->step, 0, route->strategy)->price;
        const pto_price_t *blocks = &pto_step_call_prediction(&made->step, 2, route->strategy)->price;
        double low_s = 3 * sums->low_s + blocks->low_s, high_s = 3 * sums->high_s + blocks->high_s;
        assert_true(route->has_interval);
        assert_around(route->low.communication_s, low_s, 1e-9 * low_s);
        assert_around(route->high.communication_s, high_s, 1e-9 * high_s);
        assert_around(route->low.exposed_s, 3 * sums->low_s + fmax(blocks->low_s - 1e-4, 0), 1e-9 * low_s);
        assert_around(route->high.step_s, 3 * sums->high_s + 1e-3 + fmax(blocks->high_s, 1e-4),
                      1e-9 * high_s);
    }
}

/* At once they share resources, at each end as in between. */
TEST(intervals_of_calls_at_once_hold_the_price) {
    made_t *made =
        predict_step("scenarios/machines/lassen-spectrum-refit.yaml",
                     "workload: w\nlayout: {nodes: 16, gpus_per_node: 4}\nstep:\n- at_once:\n"
                     "  - {collective: allreduce, bytes: 4MiB}\n  - {collective: alltoall, bytes: 64KiB}\n");
    const pto_step_route_t *mix = &made->step.mix;
    const pto_price_t *first = &pto_step_call_prediction(&made->step, 0, NULL)->price;
    const pto_price_t *second = &pto_step_call_prediction(&made->step, 1, NULL)->price;
    assert_true(mix->has_interval);
    assert_true(mix->low.step_s < mix->seconds && mix->seconds < mix->high.step_s);
    assert_true(mix->low.step_s >= fmax(first->low_s, second->low_s));
    assert_true(mix->high.step_s <= (first->high_s + second->high_s) * (1 + 1e-9));
    made = predict_step(
        "tests/fixtures/k80.yaml",
        "workload: w\nlayout: {nodes: 2, gpus_per_node: 2}\nstep: [{collective: alltoall, bytes: 8}]\n");
    assert_false(made->step.mix.has_interval); /* the file has none */
}

TEST(no_strategy_for_all_calls_beats_the_mix) {
    static const char *const name[] = {"fsdp", "fft-3d", "gnn", "llm-training", "stencil-cg"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        char path[64];
        made_t *made = keep_new(sizeof *made, end_made);
        pto_error_t err = {0};
        snprintf(path, sizeof path, "scenarios/workloads/%s.yaml", name[i]);
        assert_ok(pto_workload_read(path, &made->workload, &err), &err);
        snprintf(path, sizeof path, "scenarios/machines/%s.yaml",
                 strrchr(made->workload.machine_path, '/') + 1);
        if (pto_machine_read(path, &made->machine, &err) != PTO_OK ||
            pto_workload_bind(&made->workload, &made->machine, &err) != PTO_OK ||
            pto_step_predict(&made->workload, &made->machine, &made->step, &err) != PTO_OK)
            fail_msg("%s: %s", name[i], err.message);
        for (int r = 0; r < made->step.route_count; r++)
            if (made->step.route[r].applicable)
                assert_true(made->step.mix.communication_s <= made->step.route[r].communication_s);
    }
}
