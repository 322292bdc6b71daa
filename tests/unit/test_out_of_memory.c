/* Files, predictions, plans, steps and mappings without enough memory. */
#define _GNU_SOURCE /* dladdr. NOLINT(bugprone-reserved-identifier) */
#include "made_machine.h"
#include "plan_request.h"
#include "portolan/check.h"
#include "portolan/machine.h"
#include "portolan/map.h"
#include "portolan/pick.h"
#include "portolan/price.h"
#include "portolan/samples.h"
#include "portolan/simulate.h"
#include "portolan/topology.h"
#include "portolan/workload.h"
#include "refused_memory.h"
#include "test.h"

/* --- files ---------------------------------------------------------------------------------------------- */

static const char *path;

static pto_status_t read_machine(char **text, pto_error_t *err) {
    pto_machine_t *machine = NULL, *copy = NULL;
    pto_machine_param_t *param = NULL;
    int count = 0;
    pto_status_t status = pto_machine_open(path, &machine, err);
    if (status == PTO_OK)
        status = pto_machine_duplicate(machine, &copy, err);
    if (status == PTO_OK)
        status = pto_machine_params(copy, &param, &count, err);
    free(param);
    if (status == PTO_OK)
        status = pto_machine_format(copy, "a comment", text, err);
    pto_machine_destroy(machine);
    pto_machine_destroy(copy);
    return status;
}

TEST(machine_files) {
    skip_where_nothing_is_refused();
    static const char *const paths[] = {"scenarios/machines/h200-x4.yaml",
                                        "scenarios/machines/h200-x2-graph.yaml",
                                        "scenarios/machines/summit-spectrum-refit.yaml"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        path = paths[i];
        refuse_each_and_guard_all(read_machine);
    }
}

static pto_status_t read_topology(char **text, pto_error_t *err) {
    pto_topology_t *topology;
    pto_status_t status = pto_topology_open("scenarios/topologies/dgx-1.yaml", &topology, err);
    if (status == PTO_OK) {
        status = pto_topology_format(topology, text, err);
        pto_topology_destroy(topology);
    }
    return status;
}

TEST(topology_files) {
    skip_where_nothing_is_refused();
    refuse_each_and_guard_all(read_topology);
}

static pto_status_t read_rows(char **text, pto_error_t *err) {
    pto_samples_t read_samples = {0};
    pto_collectives_t read_collectives = {0};
    pto_status_t status = pto_samples_read("tests/fixtures/samples.csv", &read_samples, err);
    if (status == PTO_OK)
        status = pto_collectives_read("tests/fixtures/collectives.csv", &read_collectives, err);
    pto_samples_fini(&read_samples);
    pto_collectives_fini(&read_collectives);
    *text = status == PTO_OK ? calloc(1, 1) : NULL;
    return status == PTO_OK && !*text ? pto_error_set(err, PTO_ERR_MEMORY, "out of memory") : status;
}

TEST(files_of_rows) {
    skip_where_nothing_is_refused();
    refuse_each_and_guard_all(read_rows);
}

/* --- predictions ---------------------------------------------------------------------------------------- */

static pto_status_t numbers(const double *number, int count, char **text, pto_error_t *err) {
    *text = malloc(32 * (size_t)count + 1);
    if (!*text)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    (*text)[0] = '\0';
    for (int i = 0; i < count; i++)
        snprintf(*text + strlen(*text), 32, "%.17g ", number[i]);
    return PTO_OK;
}

static const char *question;

static pto_status_t predict_all(const pto_scenario_t *scenario, const pto_machine_t *machine, char **text,
                                pto_error_t *err) {
    pto_predictions_t predictions;
    pto_status_t status = pto_predict(scenario, machine, true, &predictions, err);
    if (status != PTO_OK)
        return status;
    pto_range_t *range = NULL;
    pto_crossing_t *crossing = NULL;
    int64_t ranges = 0, crossings = 0;
    status = pto_predictions_find_setups(&predictions, err);
    if (status == PTO_OK)
        status = pto_pick(&predictions, &range, &ranges, err);
    if (status == PTO_OK)
        status = pto_crossings(&predictions, &crossing, &crossings, err);
    double number[] = {(double)ranges, (double)crossings,
                       pto_prediction_at(&predictions, 0, 0)->price.seconds};
    if (status == PTO_OK)
        status = numbers(number, 3, text, err);
    free(range);
    free(crossing);
    pto_predictions_fini(&predictions);
    return status;
}

static pto_status_t predict(char **text, pto_error_t *err) {
    pto_scenario_t scenario;
    pto_machine_t *machine = NULL;
    pto_status_t status =
        pto_scenario_parse(question, strlen(question), "scenarios/problems/s.yaml", &scenario, err);
    if (status != PTO_OK)
        return status;
    status = pto_scenario_read_machine(&scenario, &machine, err);
    if (status == PTO_OK)
        status = pto_scenario_bind(&scenario, machine, err);
    if (status == PTO_OK)
        status = predict_all(&scenario, machine, text, err);
    pto_machine_destroy(machine);
    pto_scenario_fini(&scenario);
    return status;
}

#define SCENARIO(collective, more)                                                                           \
    "scenario: s\nmachine: ../machines/lassen-spectrum-refit.yaml\ncollective: " collective                  \
    "\nlayout: {nodes: 2, gpus_per_node: 4, procs_per_gpu: 2}\nbytes: {from: 1024, to: 65536, factor: "      \
    "64}\n" more

TEST(predictions_of_scenarios) {
    skip_where_nothing_is_refused();
    static const char *const questions[] = {SCENARIO("alltoall", ""), SCENARIO("allreduce", ""),
                                            SCENARIO("alltoallv", "counts: {skew: 0.5, seed: 1}\n"),
                                            SCENARIO("allgather", "")};
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        question = questions[i];
        refuse_each_and_guard_all(predict);
    }
}

static const pto_request_t *asked;
static const pto_machine_t *asked_machine;

static pto_status_t walk_plan(char **text, pto_error_t *err) {
    pto_plan_t *plan = NULL;
    pto_check_report_t report;
    pto_price_t price = {0}, walked = {0};
    pto_explanation_t explanation = {0};
    pto_simulation_t simulation = {0};
    pto_setup_t setup = {0};
    pto_offsets_t *offsets = NULL;
    pto_status_t status = pto_plan_create(asked, &plan, err);
    if (status == PTO_OK)
        status = pto_check(plan, &report, err);
    if (status == PTO_OK)
        status = pto_price(plan, asked_machine, &price, &explanation, err);
    if (status == PTO_OK)
        status = pto_price_walk(plan, asked_machine, &walked, &explanation, err);
    if (status == PTO_OK)
        status = pto_simulate(plan, asked_machine, NULL, &simulation, err);
    if (status == PTO_OK)
        status = pto_setup(plan, asked_machine, &setup, err);
    if (status == PTO_OK)
        status = pto_offsets_create(plan, 0, &offsets, err);
    pto_offsets_destroy(offsets);
    double number[] = {price.seconds, walked.seconds, simulation.seconds, setup.seconds};
    if (status == PTO_OK)
        status = numbers(number, 4, text, err);
    pto_explanation_fini(&explanation);
    pto_plan_destroy(plan);
    return status;
}

/* Of all collectives, as floats. */
TEST(plans_are_proved_priced_and_simulated) {
    skip_where_nothing_is_refused();
    static const struct {
        pto_collective_t collective;
        const char *strategy, *algorithm;
    } cases[] = {{PTO_COLLECTIVE_ALLTOALL, "three_step", "bruck"},
                 {PTO_COLLECTIVE_ALLTOALLV, "dup_devptr", "pairwise"},
                 {PTO_COLLECTIVE_ALLREDUCE, "staged_ring", "direct"},
                 {PTO_COLLECTIVE_ALLREDUCE, "gsb_btb", "rabenseifner"},
                 {PTO_COLLECTIVE_ALLGATHER, "node_aware", "ring"},
                 {PTO_COLLECTIVE_HALO, "cuda_aware", "neighbors"}};
    const pto_counts_t skewed = {.kind = PTO_COUNTS_SKEW, .skew = 0.5, .seed = 7};
    pto_machine_t machine = made_machine();
    asked_machine = &machine;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pto_request_t request =
            request_for(cases[i].collective, cases[i].strategy, cases[i].algorithm, 3, 4, 2, 4096);
        request.halo = (pto_halo_t){.dim_count = 2, .wrap = {true, true}, .extent = {10, 22}, .width = 1};
        request.counts = request.collective == PTO_COLLECTIVE_ALLTOALLV ? &skewed : NULL;
        pto_plan_t *plan;
        pto_error_t err;
        asked = &request;
        pto_status_t status = pto_plan_create(&request, &plan, &err);
        if (status != PTO_OK)
            fail_msg("%s: %s", cases[i].strategy, err.message);
        pto_plan_destroy(plan);
        refuse_each_and_guard_all(walk_plan);
    }
    pto_machine_fini(&machine);
}

static pto_status_t take_step(char **text, pto_error_t *err) {
    static const char workload_text[] =
        "workload: w\nmachine: ../machines/lassen-spectrum-refit.yaml\nlayout: {nodes: 2, gpus_per_node: 4}\n"
        "step:\n"
        "  - {call: features, collective: alltoallv, bytes: 19200, counts: {skew: 0.9, seed: 1}, times: 3}\n"
        "  - at_once:\n"
        "      - {call: weights, collective: allreduce, bytes: 1MiB}\n"
        "      - {call: norms, collective: allgather, bytes: 64KiB}\n"
        "      - {call: layers, compute: 24 ms, times: 3}\n";
    pto_workload_t workload;
    pto_step_prediction_t step;
    pto_step_simulation_t simulation = {0};
    pto_status_t status =
        pto_workload_parse(workload_text, strlen(workload_text), "scenarios/problems/w.yaml", &workload, err);
    if (status != PTO_OK)
        return status;
    status = pto_workload_bind(&workload, asked_machine, err);
    if (status == PTO_OK)
        status = pto_step_predict(&workload, asked_machine, &step, err);
    if (status == PTO_OK) {
        bool changed = false;
        status = pto_step_settle(&step, asked_machine, 0, &changed, err);
        if (status == PTO_OK)
            status = pto_step_simulate(&step, asked_machine, NULL, NULL, &simulation, err);
        double number[] = {step.mix.seconds, simulation.seconds};
        if (status == PTO_OK)
            status = numbers(number, 2, text, err);
        pto_step_simulation_fini(&simulation);
        pto_step_fini(&step);
    }
    pto_workload_fini(&workload);
    return status;
}

static pto_status_t map_processes(char **text, pto_error_t *err) {
    static const char asked_text[] =
        SCENARIO("alltoallv", "counts: {pattern: groups, dims: [4, 2], along: 0}\n");
    pto_scenario_t scenario;
    pto_map_result_t result;
    const pto_mapper_t *mapper[PTO_MAPPERS_MAX];
    pto_map_options_t options = {
        .metric = PTO_METRIC_PRICE, .mapper = mapper, .phase = {true, true, true}, .refine = 5};
    for (; options.mapper_count < pto_mapper_count(); options.mapper_count++)
        mapper[options.mapper_count] = pto_mapper_at(options.mapper_count);
    pto_status_t status =
        pto_scenario_parse(asked_text, strlen(asked_text), "scenarios/problems/s.yaml", &scenario, err);
    if (status != PTO_OK)
        return status;
    status = pto_scenario_bind(&scenario, asked_machine, err);
    if (status == PTO_OK)
        status = pto_map(&scenario, asked_machine, &options, &result, err);
    if (status == PTO_OK) {
        double number[] = {result.candidate[result.best].seconds, result.candidate[0].seconds};
        status = numbers(number, 2, text, err);
        pto_map_result_fini(&result);
    }
    pto_scenario_fini(&scenario);
    return status;
}

TEST(steps_and_mappings) {
    skip_where_nothing_is_refused();
    pto_machine_t *machine;
    assert_int_equal(pto_machine_open("scenarios/machines/lassen-spectrum-refit.yaml", &machine, NULL),
                     PTO_OK);
    asked_machine = machine;
    refuse_each_and_guard_all(take_step);
    refuse_each_and_guard_all(map_processes);
    pto_machine_destroy(machine);
}
