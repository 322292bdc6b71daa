/* Data in host memory: layouts of processes instead of GPUs, on machines with and without GPUs. */
#include "made_up.h"
#include "must.h"
#include "portolan/fit.h"
#include "portolan/pick.h"
#include "portolan/price.h"
#include "portolan/scenario.h"
#include "portolan/score.h"
#include "portolan/workload.h"
#include "test.h"

#define NO_GPUS                                                                                              \
    "machine: m\nsource: s\nnode: {sockets: 2, gpus: 0, cores: 8}\n"                                         \
    "messages:\n  cpu:\n"                                                                                    \
    "    on_socket: [{protocol: rendezvous, alpha_s: 1.0e-6, beta_s_per_byte: 1.0e-10}]\n"                   \
    "    on_node: [{protocol: rendezvous, alpha_s: 2.0e-6, beta_s_per_byte: 2.0e-10}]\n"                     \
    "    off_node: [{protocol: rendezvous, alpha_s: 4.0e-6, beta_s_per_byte: 4.0e-10}]\n"                    \
    "reduce: {cpu: {alpha_s: 0, beta_s_per_byte: 1.0e-10}}\n"                                                \
    "copies: {h2h: {on_socket: {alpha_s: 0, beta_s_per_byte: 1.0e-10}}}\n"                                   \
    "energy: {cpu: {idle_w: 100, core_w: 10}}\n"
#define LIBRARY "library: {allreduce: {cpu: [{algorithm: ring}]}}\n"

typedef struct {
    pto_machine_t *machine;
    pto_scenario_t scenario;
} asked_t;

static void end_asked(void *object) {
    asked_t *asked = object;
    pto_scenario_fini(&asked->scenario);
    pto_machine_destroy(asked->machine);
}

/* `more` has lines of the scenario; `*why`: the error's message, "" for none. Until the test ends. */
static asked_t *try_to_ask(const char *machine, const char *more, const char **why) {
    static pto_error_t err;
    char text[1024];
    asked_t *asked = keep_new(sizeof *asked, end_asked);
    snprintf(text, sizeof text, "scenario: x\nmachine: m\n%s", more);
    err.message[0] = '\0';
    *why = err.message;
    assert_int_equal(pto_machine_create(machine, strlen(machine), "m", &asked->machine, &err), PTO_OK);
    pto_scenario_init(&asked->scenario);
    if (pto_scenario_parse(text, strlen(text), "x", &asked->scenario, &err) == PTO_OK)
        (void)pto_scenario_bind(&asked->scenario, asked->machine, &err);
    return asked;
}

static asked_t *ask(const char *machine, const char *more) {
    const char *why;
    asked_t *asked = try_to_ask(machine, more, &why);
    assert_string_equal(why, "");
    return asked;
}

static void refused(const char *machine, const char *more, const char *why) {
    const char *message;
    try_to_ask(machine, more, &message);
    assert_says(message, why);
}

static double seconds_of(const char *machine, const char *more, const char *strategy, const char *algorithm) {
    double seconds = -1;
    const asked_t *asked = ask(machine, more);
    pto_predictions_t made = must_predict(&asked->scenario, asked->machine, true);
    for (int i = 0; i < made.strategy_count; i++) {
        const pto_prediction_t *at = pto_prediction_at(&made, 0, i);
        if (strcmp(made.strategy[i]->name, strategy) != 0)
            continue;
        assert_true(at->applicable);
        assert_string_equal(at->algorithm->name, algorithm);
        seconds = at->price.seconds;
    }
    return seconds;
}

TEST(nodes_without_gpus_have_a_process_on_each_core) {
    asked_t *asked = ask(NO_GPUS, "collective: allreduce\nlayout: {nodes: 3}\nbytes: 8\n");
    const pto_layout_t *layout = &asked->scenario.layout;
    assert_true(layout->in_host && asked->scenario.procs_per_node == 8);
    assert_int_equal(pto_layout_rank_count(layout), 24);
    assert_int_equal(layout->gpus_per_socket, 4);
}

/* Three processes on two sockets are two and one. */
TEST(processes_are_spread_over_the_sockets) {
    asked_t *asked = ask(NO_GPUS, "collective: alltoall\nlayout: {nodes: 1, procs_per_node: 3}\nbytes: 8\n");
    const pto_layout_t *layout = &asked->scenario.layout;
    const pto_rank_t place[] = {{0, 0, 0}, {0, 1, 0}, {0, 2, 0}};
    assert_int_equal(pto_layout_level(layout, place[0], place[1]), PTO_LEVEL_ON_SOCKET);
    assert_int_equal(pto_layout_level(layout, place[1], place[2]), PTO_LEVEL_ON_NODE);
}

TEST(binding_again_changes_nothing) {
    asked_t *asked = ask(NO_GPUS, "collective: allreduce\nlayout: {nodes: 2, procs_per_node: 6}\nbytes: 8\n");
    const pto_layout_t before = asked->scenario.layout;
    assert_int_equal(pto_scenario_bind(&asked->scenario, asked->machine, NULL), PTO_OK);
    assert_memory_equal(&before, &asked->scenario.layout, sizeof before);
    assert_int_equal(pto_what_if("procs_per_node=/3", &asked->scenario, asked->machine, NULL), PTO_OK);
    assert_int_equal(pto_scenario_bind(&asked->scenario, asked->machine, NULL), PTO_OK);
    assert_int_equal(asked->scenario.layout.gpus_per_node, 2);
    assert_int_equal(pto_what_if("gpus_per_node=2", &asked->scenario, asked->machine, NULL), PTO_ERR_RANGE);
}

TEST(what_needs_gpus_is_refused_with_the_reason) {
    static const struct {
        const char *more, *message;
    } wrong[] = {
        {"collective: allreduce\nlayout: {nodes: 2, gpus_per_node: 4}\nbytes: 8\n",
         "procs_per_node (--procs-per-node), not"},
        {"collective: allreduce\nlayout: {nodes: 2, procs_per_gpu: 2}\nbytes: 8\n",
         "procs_per_node (--procs-per-node), not"},
        {"collective: allreduce\nlayout: {nodes: 2}\nmemory: gpu\nbytes: 8\n", "have no GPUs"},
        {"collective: allreduce\nlayout: {nodes: 2, procs_per_node: 9}\nbytes: 8\n", "the 8 cores"},
        {"collective: pair\ndistance: on_gpu\nbytes: 8\n", "GPU memory"},
        {"collective: pair\nspaces: [gpu, cpu]\nbytes: 8\n", "both ends are in host memory"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refused(NO_GPUS, wrong[i].more, wrong[i].message);
}

/* On a machine that has GPUs, nothing tells host memory but `memory`. */
TEST(gpus_are_the_default_where_there_are_some) {
    char machine[2048] = NO_GPUS;
    memcpy(strstr(machine, "gpus: 0"), "gpus: 2", 7);
    refused(machine, "collective: allreduce\nlayout: {nodes: 2, procs_per_node: 4}\nbytes: 8\n",
            "memory: host");
    const asked_t *asked = ask(machine, "collective: allreduce\nlayout: {nodes: 2}\nbytes: 8\n");
    assert_false(asked->scenario.layout.in_host);
    asked = ask(machine, "collective: allreduce\nlayout: {nodes: 2, procs_per_node: 4}\nmemory: host\n"
                         "bytes: 8\n");
    assert_true(asked->scenario.layout.in_host);
}

TEST(strategies_are_those_of_the_memory) {
    const pto_strategy_t **list = NULL;
    int count = 0;
    asked_t *asked = ask(NO_GPUS, "collective: allreduce\nlayout: {nodes: 3}\nbytes: 8\n");
    assert_int_equal(pto_scenario_strategies(&asked->scenario, &list, &count, NULL), PTO_OK);
    assert_int_equal(count, 2);
    assert_string_equal(list[0]->name, "mpi");
    assert_string_equal(list[1]->name, "own_algorithm");
    free(list);
    for (int i = 0; i < pto_strategy_count(); i++) {
        const pto_strategy_t *strategy = pto_strategy_at(i);
        pto_plan_t *plan = NULL;
        pto_price_t price;
        pto_error_t err = {0};
        if (!(strategy->collectives & 1u << PTO_COLLECTIVE_ALLREDUCE))
            continue;
        pto_status_t status =
            pto_plan_choose(&asked->scenario, asked->machine, 0, strategy, &plan, &price, NULL, &err);
        assert_int_equal(status, strategy->in_host ? PTO_OK : PTO_ERR_NOT_APPLICABLE);
        if (status != PTO_OK)
            assert_non_null(strstr(err.message, "is for data in GPU memory"));
        pto_plan_destroy(plan);
    }
}

TEST(a_pair_of_host_data_has_no_end_on_a_gpu) {
    pto_request_t request = {.layout = {2, 1, 1, 1, 1, true}, .collective = PTO_COLLECTIVE_PAIR, .bytes = 8};
    carry_out_by(&request, "mpi", "point_to_point");
    for (int ends = 0; ends < 4; ends++) {
        pto_error_t err = {0};
        request.ends = (pto_pair_ends_t){.from_host = ends & 1, .to_host = ends & 2};
        assert_int_equal(pto_strategy_applicable(&request, &err),
                         ends == 3 ? PTO_OK : PTO_ERR_NOT_APPLICABLE);
        if (ends != 3)
            assert_non_null(strstr(err.message, "no end in GPU memory"));
    }
}

/* 1 us and 1000 B at 0.1 ns/B, twice that on another socket, and four times off the node. A broadcast's root
 * also copies its input to the vector. */
TEST(messages_cost_what_host_messages_cost) {
    static const char *const pairs[] = {"on_socket", "on_node", "off_node"};
    for (int i = 0; i < 3; i++) {
        char more[128];
        snprintf(more, sizeof more, "collective: pair\ndistance: %s\nbytes: 1000\n", pairs[i]);
        double scale = (double)(1 << i);
        assert_near(seconds_of(NO_GPUS, more, "mpi", "point_to_point"), 1.1e-6 * scale, 1e-9);
    }
    assert_near(seconds_of(NO_GPUS,
                           "collective: broadcast\nlayout: {nodes: 2, procs_per_node: 1}\nbytes: 1000\n",
                           "own_algorithm", "linear"),
                4.5e-6, 1e-9);
}

/* The library's table is the library's: our own algorithm is the cheapest one. */
TEST(our_own_algorithm_follows_no_table) {
    const char *more = "collective: allreduce\nlayout: {nodes: 2, procs_per_node: 8}\nbytes: 8\n";
    double ring_s = seconds_of(NO_GPUS LIBRARY, more, "mpi", "ring");
    double own_s = seconds_of(NO_GPUS LIBRARY, more, "own_algorithm", "recursive_doubling");
    assert_true(own_s < ring_s / 2);
}

TEST(a_table_is_of_one_collective_and_memory) {
    const pto_machine_t *machine = must_create(NO_GPUS LIBRARY);
    assert_true(pto_machine_has_library(machine, "allreduce", PTO_SPACE_CPU));
    assert_false(pto_machine_has_library(machine, "allreduce", PTO_SPACE_GPU));
    assert_false(pto_machine_has_library(machine, "reduce", PTO_SPACE_CPU));
}

TEST(no_gpu_draws_power) {
    asked_t *asked =
        ask(NO_GPUS, "collective: alltoall\nlayout: {nodes: 2, procs_per_node: 4}\nbytes: 1024\n");
    pto_predictions_t made = must_predict(&asked->scenario, asked->machine, true);
    const pto_prediction_t *at = pto_prediction_at(&made, 0, 0);
    assert_true(at->has_energy);
    assert_near(at->energy.joules, at->price.seconds * (2 * 100 + 8 * 10), 1e-9);
}

/* The rows of 8 processes in two communicators of 4 each: one on every node. */
TEST(a_workload_has_processes_instead_of_gpus) {
    static const char text[] =
        "workload: w\nlayout: {nodes: 2, procs_per_node: 4}\ngrid: {rows: 2, columns: 4}\n"
        "step:\n  - {collective: alltoall, on: columns, bytes: 8}\n";
    pto_workload_t workload;
    pto_error_t err = {0};
    pto_machine_t *machine = must_create(NO_GPUS);
    assert_int_equal(pto_workload_parse(text, strlen(text), "w", &workload, &err), PTO_OK);
    assert_int_equal(pto_workload_bind(&workload, machine, &err), PTO_OK);
    const pto_layout_t *layout = &workload.call[0].scenario.layout;
    assert_true(layout->in_host);
    assert_int_equal(layout->nodes, 1);
    assert_int_equal(layout->gpus_per_node, 4);
    assert_int_equal(layout->gpus_per_socket, 2);
    assert_int_equal(workload.call[0].communicators.count, 2);
    pto_workload_fini(&workload);
}

TEST(one_cell_is_asked_by_its_processes) {
    pto_plan_t *plan = NULL;
    pto_price_t price;
    pto_ask_t cell = {.collective = "alltoall", .bytes = 64, .nodes = 2, .procs_per_node = 4};
    pto_machine_t *machine = must_create(NO_GPUS);
    assert_int_equal(pto_predict_one(machine, &cell, &plan, &price, NULL), PTO_OK);
    assert_int_equal(pto_layout_rank_count(&pto_plan_request(plan)->layout), 8);
    for (int b = 0; b < pto_plan_buffer_count(plan); b++)
        assert_int_equal(pto_plan_buffer(plan, b)->space, PTO_SPACE_CPU);
    pto_plan_destroy(plan);
}

/* Measured: the library's allreduce, ours without a name (the cheapest), and two of ours. Ring is the
 * library's. */
TEST(measured_algorithms_of_ours_compete_with_the_library) {
    static const char rows[] =
        "collective,implementation,strategy,nodes,gpus_per_node,procs_per_gpu,bytes,run,seconds,algorithm\n"
        "allreduce,library,own_algorithm,4,1,1,64,1,4e-4,ring\n"
        "allreduce,library,own_algorithm,4,1,1,64,1,3e-4,recursive_doubling\n"
        "allreduce,library,own_algorithm,4,1,1,64,1,2e-4,\n"
        "allreduce,library,mpi,4,1,1,64,1,1e-4,\n";
    pto_machine_t *machine = must_create(NO_GPUS LIBRARY);
    pto_collectives_t collectives = {0};
    pto_score_t score;
    assert_int_equal(pto_collectives_parse(rows, strlen(rows), "c.csv", &collectives, NULL), PTO_OK);
    pto_score_options_t options = pto_score_defaults(&collectives);
    assert_int_equal(pto_score_collect(&collectives, &options, &score, NULL), PTO_OK);
    assert_int_equal(score.cell_count, 1);
    assert_int_equal(pto_score_predict(&score, machine, 0, NULL), PTO_OK);
    const pto_score_cell_t *cell = &score.cell[0];
    assert_int_equal(cell->candidate_count, 4);
    assert_false(cell->own_algorithms);
    static const char *const algorithms[] = {"ring", "recursive_doubling", "recursive_doubling", "ring"};
    for (int c = 0; c < 4; c++)
        assert_string_equal(cell->prediction[c].algorithm->name, algorithms[c]);
    assert_string_equal(cell->candidate[cell->best].strategy->name, "mpi");
    assert_null(cell->candidate[1].algorithm);
    for (int c = 0; c < 4; c++) { /* as a fit prices them */
        double seconds;
        assert_int_equal(pto_score_price(cell, c, machine, NULL, NULL, &seconds, NULL), PTO_OK);
        assert_near(seconds, cell->prediction[c].price.seconds, 1e-9);
    }
    assert_true(cell->prediction[0].price.seconds > 1.5 * cell->prediction[1].price.seconds);
    pto_score_fini(&score);
    pto_collectives_fini(&collectives);
}
