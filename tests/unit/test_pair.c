/* The collective `pair`: its layout, its prices beside simulations, and the chunks that price picks. */
#include "machine/machine_internal.h"
#include "must.h"
#include "portolan/pick.h"
#include "portolan/scenario.h"
#include "portolan/score.h"
#include "test.h"

static pto_machine_t machine;

static int read_machine(void **state) {
    machine = must_read("scenarios/machines/h200-x2-mps.yaml");
    return 0;
}

static pto_status_t bound(const char *rest, pto_scenario_t *scenario, pto_error_t *err) {
    char text[256];
    snprintf(text, sizeof text, "scenario: p\nmachine: m.yaml\ncollective: pair\n%s", rest);
    pto_status_t status = pto_scenario_parse(text, strlen(text), "p.yaml", scenario, err);
    if (status != PTO_OK)
        return status;
    status = pto_scenario_bind(scenario, &machine, err);
    if (status != PTO_OK)
        pto_scenario_fini(scenario);
    return status;
}

static pto_scenario_t *pair_of(const char *rest) {
    pto_error_t err = {0};
    pto_scenario_t *scenario = keep_new(sizeof *scenario, end_bound);
    assert_ok(bound(rest, scenario, &err), &err);
    return scenario;
}

static void scenario_refused(const char *rest, const char *why) {
    pto_scenario_t scenario;
    pto_error_t err = {0};
    assert_int_not_equal(bound(rest, &scenario, &err), PTO_OK);
    assert_says(err.message, why);
}

TEST(the_distance_gives_the_layout) {
    static const struct {
        const char *distance;
        pto_layout_t layout;
    } cases[] = {{"on_gpu", {1, 1, 2, 2, 1, false}},
                 {"on_socket", {1, 2, 1, 1, 2, false}},
                 {"off_node", {2, 1, 1, 1, 1, false}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char rest[64];
        snprintf(rest, sizeof rest, "bytes: 8\ndistance: %s\n", cases[i].distance);
        pto_scenario_t *scenario = pair_of(rest);
        assert_memory_equal(&scenario->layout, &cases[i].layout, sizeof scenario->layout);
        const pto_rank_t first = pto_layout_rank(&scenario->layout, 0),
                         second = pto_layout_rank(&scenario->layout, 1);
        assert_string_equal(pto_level_name(pto_layout_level(&scenario->layout, first, second)),
                            cases[i].distance);
    }
}

TEST(what_a_pair_cannot_have_is_refused) {
    scenario_refused("bytes: 8\ndistance: on_node\n", "has no two GPUs that are on_node");
    scenario_refused("bytes: 8\nlayout: {nodes: 2}\n",
                     "a pair on_socket has nodes: 1, gpus_per_node: 2 and procs_per_gpu: 1");
    scenario_refused("bytes: 8\nspaces: [gpu]\n", "expected 2 names, not 1");
    scenario_refused("bytes: 8\nspaces: [gpu, disk]\n", "disk");
    scenario_refused("bytes: 8\nmessages: 2\n", "messages is for messages only");
    scenario_refused("bytes: 8\nchunks: 0\n", "chunks");
}

TEST(spaces_name_the_sender_first) {
    static const struct {
        const char *text;
        bool from_host, to_host;
    } cases[] = {{"bytes: 8\nspaces: [gpu, cpu]\n", false, true},
                 {"bytes: 8\nspaces: [cpu, gpu]\n", true, false},
                 {"bytes: 8\nspaces: [gpu, gpu]\n", false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const pto_scenario_t *scenario = pair_of(cases[i].text);
        assert_int_equal(scenario->ends.from_host, cases[i].from_host);
        assert_int_equal(scenario->ends.to_host, cases[i].to_host);
    }
}

/* cuda_aware's price of 1 MiB from GPU to host memory. */
static double to_host_s(const pto_machine_t *of) {
    pto_scenario_t *scenario = pair_of("bytes: 1MiB\nspaces: [gpu, cpu]\nstrategies: [cuda_aware]\n");
    return must_predict(scenario, of, false).prediction[0].price.seconds;
}

/* Without, they are copied at the GPU and sent as the host's, which no GPU can map. */
TEST(messages_between_memories_have_a_cost_of_their_own) {
    static const double bytes = 1 << 20;
    const pto_postal_t *host =
        &pto_machine_message(&machine, PTO_SPACE_CPU, PTO_LEVEL_ON_SOCKET, 1 << 20)->postal;
    const pto_postal_t *copy = pto_machine_copy(&machine, PTO_COPY_D2H, PTO_REACH_ON_SOCKET, true);
    const double expected = host->alpha_s.value + copy->alpha_s.value +
                            (host->beta_s_per_byte.value + copy->beta_s_per_byte.value) * bytes;
    assert_true(fabs(to_host_s(&machine) - expected) < 1e-9 * expected);
    pto_cost_table_t *own = &machine.mixed_messages[PTO_SPACE_CPU][PTO_LEVEL_ON_SOCKET];
    pto_cost_row_t *row = pto_cost_add(own);
    assert_non_null(row);
    row->protocol = PTO_PROTOCOL_RENDEZVOUS;
    row->postal.alpha_s = (pto_param_t){.value = 2e-5, .low = 2e-5, .high = 2e-5, .line = 1};
    row->postal.beta_s_per_byte = (pto_param_t){.value = 1e-10, .low = 1e-10, .high = 1e-10, .line = 1};
    assert_true(fabs(to_host_s(&machine) - (2e-5 + 1e-10 * bytes)) < 1e-9);
    pto_cost_fini(own);
}

/* Nothing contends in a pair. */
TEST(prices_are_simulated_times) {
    static const char *const ends[] = {"",
                                       "spaces: [gpu, cpu]\n",
                                       "spaces: [cpu, gpu]\n",
                                       "spaces: [cpu, cpu]\n",
                                       "distance: on_gpu\n",
                                       "both_ways: true\n",
                                       "both_ways: true\ndistance: on_gpu\n",
                                       "both_ways: true\nspaces: [gpu, cpu]\n",
                                       "both_ways: true\nspaces: [cpu, gpu]\n",
                                       "both_ways: true\nspaces: [cpu, cpu]\n"};
    int compared = 0;
    machine.host_memory_s_per_byte =
        (pto_param_t){0}; /* rings that share it idle while they fill and drain */
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char rest[128];
        pto_predictions_t simulated;
        pto_simulation_t *simulation = NULL;
        snprintf(rest, sizeof rest, "bytes: [0, 4, 4KiB, 1MiB, 64MiB]\n%s", ends[i]);
        pto_scenario_t *scenario = pair_of(rest);
        pto_predictions_t priced = must_predict(scenario, &machine, false);
        pto_simulate_options_t options = {.limit = 0};
        assert_int_equal(pto_simulate_scenario(scenario, &machine, &options, &simulated, &simulation, NULL),
                         PTO_OK);
        for (int64_t cell = 0; cell < priced.point_count * priced.strategy_count; cell++) {
            const pto_prediction_t *one = &priced.prediction[cell], *other = &simulated.prediction[cell];
            assert_int_equal(one->applicable, other->applicable);
            if (!one->applicable)
                continue;
            if (fabs(one->price.seconds - other->price.seconds) > 0.01 * one->price.seconds)
                fail_msg("%s%s: priced %g s, simulated %g s", ends[i],
                         priced.strategy[cell % priced.strategy_count]->name, one->price.seconds,
                         other->price.seconds);
            compared++;
        }
        free(simulation);
        pto_predictions_fini(&simulated);
    }
    assert_true(compared > 80);
}

static const pto_prediction_t *ring(const pto_predictions_t *predictions, int64_t point) {
    for (int s = 0; s < predictions->strategy_count; s++)
        if (strcmp(predictions->strategy[s]->name, "shm_ring") == 0)
            return pto_prediction_at(predictions, point, s);
    fail();
    return NULL;
}

/* Two equal stages of alpha + beta u are fastest with units of sqrt(s alpha / beta); the number of chunks is
 * a power of two, and a ring has flags too. The message in one piece is the eager cell. */
TEST(the_unit_is_near_that_of_the_closed_formula) {
    const pto_postal_t *copy = pto_machine_copy(&machine, PTO_COPY_D2H, PTO_REACH_ON_SOCKET, false);
    pto_scenario_t *scenario = pair_of("bytes: [1KiB, 64KiB, 4MiB, 16MiB, 64MiB]\n");
    pto_predictions_t predictions = must_predict(scenario, &machine, false);
    assert_int_equal(ring(&predictions, 0)->chunks, 1);
    assert_int_equal(ring(&predictions, 1)->chunks, 1);
    for (int64_t point = 2; point < predictions.point_count; point++) {
        double bytes = (double)predictions.point[point];
        double unit = sqrt(bytes * copy->alpha_s.value / copy->beta_s_per_byte.value);
        double picked = bytes / (double)ring(&predictions, point)->chunks;
        if (picked < unit / 2 || picked > unit * 2)
            fail_msg("%g bytes in units of %g, not %g", bytes, picked, unit);
    }
}

TEST(chunks_that_are_asked_for_are_taken) {
    pto_scenario_t *scenario = pair_of("bytes: 1MiB\nchunks: 7\n");
    pto_predictions_t predictions = must_predict(scenario, &machine, false);
    assert_int_equal(ring(&predictions, 0)->chunks, 7);
    assert_int_equal(predictions.prediction[0].chunks, 0);
}

/* --- measured pairs ------------------------------------------------------------------------------------- */

#define COLUMNS                                                                                              \
    "collective,implementation,strategy,nodes,gpus_per_node,procs_per_gpu,bytes,run,seconds,distance,"       \
    "from_space,to_space,both_ways,chunks\n"
#define ROW(strategy, rest) "pair,isend_irecv," strategy ",1,2,1,1048576,1,5e-05," rest "\n"

/* The price of a strategy of the scenario's only point; its chunks. */
static double priced(const char *rest, const char *strategy, int64_t *chunks) {
    double seconds = -1;
    pto_scenario_t *scenario = pair_of(rest);
    pto_predictions_t predictions = must_predict(scenario, &machine, false);
    for (int s = 0; s < predictions.strategy_count; s++)
        if (strcmp(predictions.strategy[s]->name, strategy) == 0) {
            seconds = predictions.prediction[s].price.seconds;
            *chunks = predictions.prediction[s].chunks;
        }
    return seconds;
}

static void assert_candidate(const pto_score_cell_t *cell, int index, const char *strategy, const char *rest,
                             int64_t chunks) {
    int64_t priced_chunks = 0;
    double seconds = priced(rest, strategy, &priced_chunks);
    assert_string_equal(cell->candidate[index].strategy->name, strategy);
    assert_int_equal(cell->candidate[index].chunks, chunks);
    assert_int_equal(cell->prediction[index].chunks, priced_chunks);
    assert_true(cell->prediction[index].price.seconds == seconds);
}

/* Pairs with other ends, at another distance or both ways are other decisions; chunks are candidates. */
TEST(measured_pairs_are_scored_as_they_are_predicted) {
    static const char text[] = COLUMNS ROW("shm_ring", "on_socket,gpu,cpu,no,4")
        ROW("shm_ring", "on_socket,gpu,cpu,no,2") ROW("cuda_aware", "on_socket,gpu,cpu,no,")
            ROW("three_step", "on_socket,gpu,gpu,yes,") ROW("shm_ring", "on_socket,gpu,gpu,yes,");
    pto_collectives_t collectives = {0};
    pto_score_t score;
    assert_int_equal(pto_collectives_parse(text, strlen(text), "p.csv", &collectives, NULL), PTO_OK);
    pto_score_options_t options = pto_score_defaults(&collectives);
    assert_int_equal(pto_score_collect(&collectives, &options, &score, NULL), PTO_OK);
    assert_int_equal(pto_score_predict(&score, &machine, 0, NULL), PTO_OK);
    assert_int_equal(score.cell_count, 2);
    const pto_score_cell_t *both = &score.cell[0], *down = &score.cell[1];
    assert_int_equal(both->candidate_count, 2);
    assert_true(both->ends.both_ways && !both->ends.to_host);
    assert_candidate(both, 0, "three_step", "bytes: 1MiB\nboth_ways: true\nchunks: 1\n", 0); /* not said */
    assert_candidate(both, 1, "shm_ring", "bytes: 1MiB\nboth_ways: true\n", 0);
    assert_int_equal(down->candidate_count, 3);
    assert_true(down->ends.to_host && !down->ends.from_host && !down->ends.both_ways);
    assert_candidate(down, 0, "cuda_aware", "bytes: 1MiB\nspaces: [gpu, cpu]\n", 0);
    assert_candidate(down, 1, "shm_ring", "bytes: 1MiB\nspaces: [gpu, cpu]\nchunks: 2\n", 2);
    assert_candidate(down, 2, "shm_ring", "bytes: 1MiB\nspaces: [gpu, cpu]\nchunks: 4\n", 4);
    pto_score_fini(&score);
    pto_collectives_fini(&collectives);
}

TEST(wrong_words_for_a_pair_are_refused) {
    static const struct {
        const char *row, *why;
    } bad[] = {{ROW("shm_ring", "near,gpu,cpu,no,1"), "'near' is not on_gpu, on_socket, on_node or off_node"},
               {ROW("shm_ring", "on_gpu,gpu,disk,no,1"), "'disk' is not gpu or cpu"},
               {ROW("shm_ring", "on_gpu,gpu,cpu,1,1"), "'1' is not yes or no"},
               {ROW("shm_ring", "on_gpu,gpu,cpu,no,0"), "'0' is not"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[512];
        pto_collectives_t collectives = {0};
        pto_error_t err = {0};
        snprintf(text, sizeof text, COLUMNS "%s", bad[i].row);
        assert_int_not_equal(pto_collectives_parse(text, strlen(text), "p.csv", &collectives, &err), PTO_OK);
        assert_says(err.message, bad[i].why);
        pto_collectives_fini(&collectives);
    }
}

int main(void) { return run_all_tests(read_machine, NULL); }
