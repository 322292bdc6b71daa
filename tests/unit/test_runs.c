/* Runs that the host does not wait for: machine files of them, which plans they have a price for, and the
 * runs of kernels by lines, which are charged as a whole. */
#include "inside_plan.h"
#include "machine/machine_internal.h"
#include "must.h"
#include "portolan/lines.h"
#include "portolan/machine.h"
#include "portolan/price.h"
#include "portolan/simulate.h"
#include "priced.h"
#include "test.h"

#define BODY                                                                                                 \
    "machine: m\nsource: s\nnode: {sockets: 1, gpus: 4, cores: 4}\n"                                         \
    "messages: {gpu: {on_socket: [{protocol: eager, alpha_s: 1e-6, beta_s_per_byte: 1e-10}]}}\n"             \
    "reduce: {gpu: {alpha_s: 9e-6, beta_s_per_byte: 1e-12}}\n"                                               \
    "remote:\n"                                                                                              \
    "  load: {on_socket: {alpha_s: 0, beta_s_per_byte: 4e-12}}\n"                                            \
    "  store: {on_socket: {alpha_s: 0, beta_s_per_byte: 3e-12}}\n"
#define SIGNALS "signals: {device_s: 2e-6}\n"
#define LAUNCH "launch: {kernel_s: 9e-6, graph_s: 7e-6}\n"
#define LINES                                                                                                \
    "  lines:\n"                                                                                             \
    "    - {gpus: 2, below_bytes: 4KiB, alpha_s: 1e-6, beta_s_per_byte: 2e-10}\n"                            \
    "    - {gpus: 2, alpha_s: 5e-6, beta_s_per_byte: 4e-11}\n"
#define GRAPH "runs: graph\n" BODY LINES SIGNALS "launch: {kernel_s: 9e-6, graph_s: 7e-6, run_s: 1.5e-6}\n"

static const pto_layout_t two = {1, 2, 1, 1, 2, false}, four = {1, 4, 1, 1, 4, false},
                          two_each = {1, 2, 1, 2, 2, false}, two_nodes = {2, 1, 1, 1, 1, false};

static pto_plan_t *plan_by(pto_collective_t collective, const char *strategy, pto_layout_t layout,
                           int64_t bytes) {
    pto_request_t request = ask(collective, strategy, layout);
    request.bytes = bytes;
    return plan_of(request);
}

TEST(a_run_by_lines_is_charged_as_a_whole) {
    pto_machine_t machine = must_parse(GRAPH);
    static const struct {
        pto_collective_t collective;
        const char *strategy;
    } by_lines[] = {{PTO_COLLECTIVE_ALLREDUCE, "gas_allgather"},
                    {PTO_COLLECTIVE_ALLTOALL, "gas_allgather"},
                    {PTO_COLLECTIVE_ALLTOALLV, "gas_allgather"},
                    {PTO_COLLECTIVE_ALLGATHER, "gas_allgather"},
                    {PTO_COLLECTIVE_REDUCE_SCATTER, "gas_split"}};
    for (size_t i = 0; i < sizeof by_lines / sizeof *by_lines; i++) {
        assert_costs(plan_by(by_lines[i].collective, by_lines[i].strategy, two, 1024), &machine,
                     1e-6 + 1024 * 2e-10);
        assert_costs(plan_by(by_lines[i].collective, by_lines[i].strategy, two, 4096), &machine,
                     5e-6 + 4096 * 4e-11);
    }
}

TEST(a_run_by_lines_costs_the_same_beside_idle_processes) {
    pto_machine_t machine = must_parse(GRAPH);
    assert_costs(plan_by(PTO_COLLECTIVE_ALLREDUCE, "gas_allgather", two_each, 1024), &machine,
                 1e-6 + 1024 * 2e-10);
}

/* A plan borrows its counts. */
static pto_plan_t *plan_of_pairs(const pto_counts_t *counts) {
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALLV, "gas_allgather", four);
    request.bytes = 0;
    request.counts = counts;
    return plan_of(request);
}

/* Process 2 sends 600 bytes to the three others, which is more than anyone receives; or it receives 900.
 * Where only one process of a pair sends, flags remain. */
TEST(an_alltoallv_by_lines_takes_the_bytes_of_its_busiest_gpu) {
    static int64_t sends[] = {5000, 20, 40, 7, 30, 0, 60, 8, 100, 200, 9, 300, 10, 50, 70, 6000},
                   receives[] = {5000, 20, 400, 7, 30, 0, 200, 8, 100, 200, 9, 300, 10, 50, 300, 6000},
                   one_way[] = {5000, 20, 40, 7, 30, 0, 60, 8, 0, 200, 9, 300, 10, 50, 70, 6000};
    const pto_counts_t counts[] = {{.kind = PTO_COUNTS_MATRIX, .order = 4, .matrix = sends},
                                   {.kind = PTO_COUNTS_MATRIX, .order = 4, .matrix = receives},
                                   {.kind = PTO_COUNTS_MATRIX, .order = 4, .matrix = one_way}};
    pto_machine_t machine = must_parse("runs: graph\n" BODY
                                       "  lines: [{gpus: 4, alpha_s: 1e-6, beta_s_per_byte: 2e-10}]\n" SIGNALS
                                       "launch: {kernel_s: 9e-6, graph_s: 7e-6, run_s: 1.5e-6}\n");
    assert_costs(plan_of_pairs(&counts[0]), &machine, 1e-6 + 200 * 2e-10);
    assert_costs(plan_of_pairs(&counts[1]), &machine, 1e-6 + 300 * 2e-10);
    pto_plan_t *plan = plan_of_pairs(&counts[2]);
    assert_true(must_price(plan, &machine).seconds > 1.5e-6 + 2e-6);
}

TEST(its_explanation_names_the_row) {
    pto_machine_t machine = must_parse(GRAPH);
    pto_plan_t *plan = plan_by(PTO_COLLECTIVE_ALLREDUCE, "gas_allgather", two, 1024);
    pto_price_t price;
    const pto_explanation_t explanation = must_explain(plan, &machine, &price);
    assert_int_equal(explanation.count, 2);
    assert_string_equal(explanation.term[0].key, "remote.lines.2.from_0.alpha_s");
    assert_string_equal(explanation.term[1].key, "remote.lines.2.from_0.beta_s_per_byte");
    assert_near(explanation.term[1].count, 1024, 1e-9);
    assert_near(explanation.occupied_s[PTO_OCCUPIED_GPU], price.seconds, 1e-9);
}

/* Launch, stores, flags and reductions one by one. */
TEST(other_runs_are_charged_by_their_steps) {
    pto_machine_t machine = must_parse(GRAPH), waited = must_parse(BODY SIGNALS LAUNCH);
    static const struct {
        const char *strategy;
        pto_layout_t layout;
        int64_t bytes;
    } steps[] = {{"gas_allgather", {1, 2, 1, 1, 2, false}, (1 << 22) + 4},
                 {"gas_allgather", {1, 4, 1, 1, 4, false}, 1024},
                 {"gas_split", {1, 2, 1, 1, 2, false}, 1024},
                 {"gas_read", {1, 2, 1, 1, 2, false}, 1024},
                 {"gas_tree", {1, 4, 1, 1, 4, false}, 1024}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        pto_plan_t *plan =
            plan_by(PTO_COLLECTIVE_ALLREDUCE, steps[i].strategy, steps[i].layout, steps[i].bytes);
        assert_near(confirmed_s(plan, &machine), must_price(plan, &waited).seconds - 7e-6 + 1.5e-6, 1e-9);
    }
}

TEST(lines_count_whatever_begins_the_runs) {
    pto_machine_t machine = must_parse(BODY LINES SIGNALS LAUNCH);
    assert_int_equal(machine.runs, PTO_RUNS_WAITED);
    assert_costs(plan_by(PTO_COLLECTIVE_ALLREDUCE, "gas_allgather", two, 1024), &machine,
                 1e-6 + 1024 * 2e-10);
}

TEST(runs_that_need_the_host_have_no_price) {
    pto_machine_t machine = must_parse(GRAPH), waited = must_parse(BODY SIGNALS LAUNCH);
    pto_request_t request = ask(PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", two);
    pto_plan_t *plan = plan_of(request);
    pto_simulation_t simulation;
    pto_error_t err;
    must_price(plan, &waited);
    assert_string_equal(no_price(plan, &machine, PTO_ERR_NOT_APPLICABLE),
                        "cuda_aware is more than one kernel or one call of NCCL on each GPU, and "
                        "machine m has the costs of runs that are captured in graphs");
    assert_int_equal(pto_simulate(plan, &machine, NULL, &simulation, &err), PTO_ERR_NOT_APPLICABLE);
    int64_t rank[] = {0, 1};
    const pto_simulate_call_t call = {.plan = plan, .communicators = 1, .rank = rank};
    assert_int_equal(pto_simulate_at_once(&two, &call, 1, &waited, NULL, &simulation, NULL, NULL), PTO_OK);
    assert_int_equal(pto_simulate_at_once(&two, &call, 1, &machine, NULL, &simulation, NULL, &err),
                     PTO_ERR_NOT_APPLICABLE);
}

TEST(one_launch_is_one_kernel_or_one_call_of_nccl) {
    static const struct {
        const char *strategy;
        bool is;
    } plans[] = {{"gas_split", true}, {"nccl", true}, {"cuda_aware", false}, {"three_step", false}};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        pto_request_t request = ask(PTO_COLLECTIVE_ALLREDUCE, "gas_split", two);
        request.strategy = strategy_named(plans[i].strategy);
        const char *with = pto_strategy_only_with(request.strategy);
        request.algorithm = algorithm_named(with ? with : "ring", request.collective);
        pto_plan_t *plan = plan_of(request);
        assert_int_equal(pto_plan_is_one_launch(plan), plans[i].is);
    }
    pto_plan_t *plan = plan_by(PTO_COLLECTIVE_ALLREDUCE, "gas_allgather", two, 64);
    ((pto_node_t *)plan->nodes.item)->span--; /* something follows */
    pto_machine_t machine = must_parse(BODY LINES SIGNALS LAUNCH), graph = must_parse(GRAPH);
    assert_false(pto_plan_is_one_launch(plan));
    assert_true(must_price(plan, &machine).seconds > 7e-6);
    no_price(plan, &graph, PTO_ERR_NOT_APPLICABLE);
}

TEST(all_ranks_agree_on_lines) {
    pto_plan_t *plan = plan_by(PTO_COLLECTIVE_ALLREDUCE, "gas_allgather", two_each, 64);
    assert_int_equal(pto_plan_lines(plan, 64), buffer_named(plan, "gathered"));
    assert_int_equal(pto_plan_lines(plan, 63), PTO_LINES_NONE);
    plan = plan_by(PTO_COLLECTIVE_ALLREDUCE, "gas_read", four, 64);
    assert_int_equal(pto_plan_lines(plan, 64), PTO_LINES_NONE);
    pto_request_t request = ask(PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", two_nodes);
    plan = plan_of(request);
    assert_int_equal(pto_plan_lines(plan, INT64_MAX), PTO_LINES_NONE);
}

/* --- machine files -------------------------------------------------------------------------------------- */

TEST(the_digest_tells_runs_apart) {
    pto_machine_t graph = must_parse(GRAPH), enqueued = must_parse(GRAPH);
    char one[PTO_MACHINE_DIGEST_MAX], other[PTO_MACHINE_DIGEST_MAX];
    enqueued.runs = PTO_RUNS_ENQUEUED;
    assert_string_not_equal(pto_machine_digest(&graph, one), pto_machine_digest(&enqueued, other));
    enqueued.runs = PTO_RUNS_GRAPH;
    assert_string_equal(pto_machine_digest(&graph, one), pto_machine_digest(&enqueued, other));
}

TEST(a_file_says_how_its_runs_begin) {
    static const struct {
        const char *line;
        pto_runs_t runs;
    } said[] = {{"", PTO_RUNS_WAITED},
                {"runs: waited\n", PTO_RUNS_WAITED},
                {"runs: enqueued\n", PTO_RUNS_ENQUEUED},
                {"runs: graph\n", PTO_RUNS_GRAPH}};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        char text[2048], *written = NULL;
        snprintf(text, sizeof text, "%s" BODY, said[i].line);
        pto_machine_t machine = must_parse(text), clone, again;
        assert_int_equal(pto_machine_runs(&machine), said[i].runs);
        assert_int_equal(pto_machine_clone(&machine, &clone, NULL), PTO_OK);
        assert_int_equal(clone.runs, said[i].runs);
        assert_int_equal(pto_machine_format(&machine, "", &written, NULL), PTO_OK);
        again = must_parse(written);
        assert_int_equal(again.runs, said[i].runs);
        assert_int_equal(strstr(written, "runs:") != NULL, said[i].runs != PTO_RUNS_WAITED);
        free(written);
        pto_machine_fini(&clone);
    }
    pto_machine_t machine;
    pto_error_t err;
    static const char wrong[] = "runs: graphs\n" BODY;
    assert_int_equal(pto_machine_parse(wrong, strlen(wrong), "m.yaml", &machine, &err), PTO_ERR_NOT_FOUND);
    assert_int_equal(err.line, 1);
}
