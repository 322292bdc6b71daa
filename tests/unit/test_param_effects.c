/* Every parameter of a machine changes some price or its interval, energy, setup time or applicability,
 * unless it is marked as measured only; a parameter so marked changes nothing. */
#include "made_machine.h"
#include "portolan/pick.h"
#include "sample.h"
#include "test.h"

enum { REQUESTS = 80 };

typedef struct {
    pto_scenario_t scenario;
    pto_predictions_t before;
} request_t;

static pto_machine_t machine;
static request_t request[REQUESTS];
static int request_count;

static void predict(const pto_scenario_t *scenario, pto_predictions_t *predictions) {
    pto_error_t err = {0};
    pto_status_t status = pto_predict(scenario, &machine, true, predictions, &err);
    if (status == PTO_OK)
        status = pto_predictions_find_setups(predictions, &err);
    if (status != PTO_OK && status != PTO_ERR_NOT_APPLICABLE)
        fail_msg("%s", err.message);
    if (status != PTO_OK)
        *predictions = (pto_predictions_t){0};
}

static void add_request(const char *collective, const char *layout, const char *more) {
    char text[512];
    pto_error_t err = {0};
    request_t *made = &request[request_count++];
    assert_true(request_count <= REQUESTS);
    snprintf(text, sizeof text,
             "scenario: made\nmachine: m.yaml\ncollective: %s\n%s%s%s\nbytes: [8, 6000, 65536, 4194304]\n%s",
             collective, *layout ? "layout: {" : "", layout, *layout ? "}" : "", more);
    assert_ok(pto_scenario_parse(text, strlen(text), "made.yaml", &made->scenario, &err), &err);
    assert_ok(pto_scenario_bind(&made->scenario, &machine, &err), &err);
    predict(&made->scenario, &made->before);
}

static void add_requests(void) {
    static const char *const collective[] = {"allreduce", "reduce",    "broadcast",     "allgather",
                                             "alltoall",  "alltoallv", "reduce_scatter"};
    static const char *const layout[] = {
        "nodes: 1, gpus_per_node: 4, procs_per_gpu: 1",
        "nodes: 1, gpus_per_node: 4, procs_per_gpu: 4",
        "nodes: 1, gpus_per_node: 2, procs_per_gpu: 4, owners_per_gpu: 4",
        "nodes: 4, gpus_per_node: 4, procs_per_gpu: 4",
        "nodes: 1, gpus_per_node: 2, procs_per_gpu: 1",
    };
    static const char nccl_only[] = "nodes: 8, gpus_per_node: 4, procs_per_gpu: 1";
    for (size_t i = 0; i < sizeof collective / sizeof *collective; i++)
        for (size_t j = 0; j < sizeof layout / sizeof *layout; j++)
            add_request(collective[i], layout[j], "");
    add_request("allreduce", nccl_only, "strategies: [nccl]\n");
    add_request("reduce", nccl_only, "strategies: [nccl]\n");
    add_request("allgatherv", layout[0], "strategies: [nccl]\n");
    add_request("allgatherv", layout[3], "strategies: [nccl]\n");
    add_request("reduce", layout[3], "library: linear\nstrategies: [three_step, cuda_aware]\n");
    add_request("alltoall", layout[3], "library: [{algorithm: pairwise, staged: true}]\n");
    add_request("alltoall", layout[2], "library: linear\nstrategies: [cuda_aware]\n");
    add_request("alltoall", "nodes: 4, gpus_per_node: 1, procs_per_gpu: 4, owners_per_gpu: 4", "");
    add_request("pair", "", "distance: on_node\n");
    for (int level = 0; level < PTO_LEVEL_COUNT; level++)
        for (int to = 0; to < PTO_SPACE_COUNT; to++) {
            char rest[64];
            snprintf(rest, sizeof rest, "distance: %s\nspaces: [%s]\n", pto_level_name((pto_level_t)level),
                     to == PTO_SPACE_CPU ? "gpu, cpu" : "cpu, gpu");
            add_request("pair", "", rest);
        }
    add_request("halo", layout[0], "dims: [4, 1]\nwrap: [1, 1]\nextent: [3, 5]\n");
    add_request("halo", layout[0], "dims: [1, 4]\nwrap: [1, 1]\nextent: [3, 5]\n");
    add_request("messages", "nodes: 2, gpus_per_node: 4, procs_per_gpu: 4", "messages: 20\n");
    add_request("messages", "nodes: 2, gpus_per_node: 1, procs_per_gpu: 1",
                "messages: 1\nchunks: 8\nstrategies: [three_step]\n");
}

static int make_machine(void **state) {
    machine = made_machine();
    add_requests();
    return 0;
}

static void drop_requests(void) {
    for (int i = 0; i < request_count; i++) {
        pto_predictions_fini(&request[i].before);
        pto_scenario_fini(&request[i].scenario);
    }
    request_count = 0;
}

static int free_machine(void **state) {
    drop_requests();
    pto_machine_fini(&machine);
    return 0;
}

static bool is_same(const pto_prediction_t *a, const pto_prediction_t *b) {
    return a->applicable == b->applicable && a->price.seconds == b->price.seconds &&
           a->price.high_s == b->price.high_s && a->energy.joules == b->energy.joules &&
           (a->setup ? a->setup->seconds : 0) == (b->setup ? b->setup->seconds : 0);
}

static bool changes_request(const request_t *asked) {
    pto_predictions_t now;
    predict(&asked->scenario, &now);
    bool same = now.point_count == asked->before.point_count;
    for (int64_t i = 0; i < now.point_count * now.strategy_count && same; i++)
        same = is_same(&now.prediction[i], &asked->before.prediction[i]);
    pto_predictions_fini(&now);
    return !same;
}

/* Both ways: of two costs of which the larger or the smaller counts, one may hide the other. The request that
 * showed the last parameter's effect shows most of its neighbors' too. */
static bool has_effect(pto_param_t *param) {
    static const double factor[] = {1000, 1e-3};
    static int shown_by;
    pto_param_t kept = *param;
    bool changes = false;
    for (size_t i = 0; i < sizeof factor / sizeof *factor && !changes; i++) {
        param->value = factor[i] * kept.value;
        for (int j = 0, first = shown_by; j < request_count && !changes; j++) {
            shown_by = (first + j) % request_count;
            changes = changes_request(&request[shown_by]);
        }
    }
    *param = kept;
    return changes;
}

/* A graph's launch replaces that of an unknown run, a plain launch that of an unknown graph, no pipeline
 * copies within a GPU, no plan copies strided data within one GPU from several processes, and NCCL among more
 * GPUs of a node than were measured is not asked for. */
static bool is_excepted(const char *key) {
    return strcmp(key, "launch.kernel_s") == 0 || strcmp(key, "launch.graph_s") == 0 ||
           strcmp(key, "copies.queued.d2d") == 0 || strcmp(key, "nccl.simple_bytes") == 0 ||
           strncmp(key, "copies.shared.d2d.2.strided.", 28) == 0;
}

static void check_effects(bool marked, const char *only) {
    pto_machine_param_t *param;
    int count, checked = 0;
    assert_int_equal(pto_machine_params(&machine, &param, &count, NULL), PTO_OK);
    for (int i = 0; i < count; i++) {
        if (!param[i].param || !pto_param_known(param[i].param) || param[i].measured_only != marked ||
            (only ? strcmp(param[i].key, only) != 0 : is_excepted(param[i].key)))
            continue;
        if (checked++ % test_sample() != 0)
            continue;
        if (has_effect(param[i].param) == marked)
            fail_msg("%s %s", param[i].key,
                     marked ? "is marked as measured only, but changes a price"
                            : "changes no price, and is not marked as measured only");
    }
    free(param);
    assert_true(checked > 0);
}

TEST(every_parameter_has_an_effect) { check_effects(false, NULL); }

TEST(parameters_that_are_measured_only_have_no_effect) { check_effects(true, NULL); }

static void check_effect_without(pto_param_t *launch, const char *other) {
    *launch = (pto_param_t){0};
    drop_requests();
    add_requests();
    check_effects(false, other);
}

/* Where the host waits, kernels are launched as graphs; a plain launch is priced where these were not
 * measured. */
TEST(a_known_launch_replaces_unknown_ones) {
    check_effect_without(&machine.run_launch_s, "launch.graph_s");
    check_effect_without(&machine.graph_launch_s, "launch.kernel_s");
}

int main(void) { return run_all_tests(make_machine, free_machine); }
