/* What must hold for the prices of any machine and scenario: random parameters around those of the machine
 * files, random collectives and layouts, and the same question asked in two ways. */
#include <glob.h>

#include "machine/machine_internal.h"
#include "portolan/pick.h"
#include "sample.h"
#include "test.h"

enum { CASES = 150, NETWORK_CASES = 600, POINTS = 3, PARAMS_PER_CASE = 8, TEXT_MAX = 512 };

typedef struct {
    uint64_t state;
    char text[TEXT_MAX]; /* the scenario's */
    pto_machine_t *machine;
    pto_scenario_t scenario;
    pto_predictions_t predictions;
    bool applies;
} case_t;

/* --- random machines and scenarios ---------------------------------------------------------------------- */

static uint64_t next(uint64_t *state) { /* splitmix64 */
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static int64_t below(case_t *made, int64_t limit) { return (int64_t)(next(&made->state) % (uint64_t)limit); }

static double factor(case_t *made) { return exp2(4 * (double)(next(&made->state) >> 11) * 0x1p-53 - 2); }

static void scale(pto_param_t *param, double by) {
    param->value *= by;
    param->low *= by;
    param->high *= by;
}

static bool is_time(const pto_machine_param_t *param) {
    return param->param && pto_param_known(param->param) &&
           (param->unit == PTO_UNIT_S || param->unit == PTO_UNIT_S_PER_BYTE);
}

static int list_params(case_t *made, pto_machine_param_t **param) {
    int count = 0;
    assert_int_equal(pto_machine_params(made->machine, param, &count, NULL), PTO_OK);
    return count;
}

static bool is_of_shared_copies(const pto_machine_param_t *param) {
    return strncmp(param->key, "copies.shared.", 14) == 0;
}

static void open_path(case_t *made, const char *path) {
    pto_error_t err = {0};
    assert_ok(pto_machine_open(path, &made->machine, &err), &err);
}

static void open_machine(case_t *made) {
    static const char *const path[] = {"scenarios/machines/h200-x4.yaml",
                                       "scenarios/machines/h200-x2-mps.yaml",
                                       "scenarios/machines/h200-2x2-tcp.yaml",
                                       "scenarios/machines/summit-spectrum.yaml",
                                       "scenarios/machines/summit-spectrum-refit.yaml",
                                       "scenarios/machines/lassen-spectrum-2020-refit.yaml"};
    open_path(made, path[below(made, (int64_t)(sizeof path / sizeof *path))]);
    pto_machine_param_t *param;
    int count = list_params(made, &param);
    double shared = factor(made); /* rows that cross make a later copy a cheaper one (docs/model.md) */
    for (int i = 0; i < count; i++)
        if (is_time(&param[i]))
            scale(param[i].param, is_of_shared_copies(&param[i]) ? shared : factor(made));
    free(param);
}

static bool is_vector(const char *collective) {
    return strcmp(collective, "allreduce") == 0 || strcmp(collective, "reduce") == 0 ||
           strcmp(collective, "broadcast") == 0;
}

/* Sizes of whole doubles, increasing. */
static void write_scenario(case_t *made) {
    static const char *const collective[] = {
        "allreduce", "reduce",    "broadcast", "allgather",      "alltoall", "messages", "alltoall",
        "pair",      "alltoallv", "halo",      "reduce_scatter", "gather",   "scatter"};
    int64_t gpus = 1 + below(made, 4), owners = below(made, 3) == 0 ? 2 : 1;
    int64_t bytes = 8 * (1 + below(made, (int64_t)1 << below(made, 14)));
    const char *name = collective[below(made, (int64_t)(sizeof collective / sizeof *collective))];
    bool pair = strcmp(name, "pair") == 0, halo = strcmp(name, "halo") == 0;
    int64_t nodes = halo ? 2 : 1 + below(made, 5);
    int length = snprintf(made->text, TEXT_MAX, "scenario: made\nmachine: m.yaml\ncollective: %s\n", name);
    if (!pair)
        length += snprintf(
            made->text + length, TEXT_MAX - (size_t)length,
            "layout: {nodes: %lld, gpus_per_node: %lld, procs_per_gpu: %lld, owners_per_gpu: %lld}\n",
            (long long)nodes, (long long)gpus, (long long)(owners * (1 + below(made, 3))), (long long)owners);
    length += snprintf(made->text + length, TEXT_MAX - (size_t)length, "bytes: [%lld, %lld, %lld]\n",
                       (long long)bytes, (long long)(16 * bytes), (long long)(512 * bytes));
    if (halo)
        snprintf(made->text + length, TEXT_MAX - (size_t)length,
                 "dims: [%lld, 2]\nwrap: [1, 1]\nextent: [8, 8]\n", (long long)(gpus * owners));
    else if (pair)
        snprintf(made->text + length, TEXT_MAX - (size_t)length, "distance: on_node\n");
    else if (strcmp(name, "messages") == 0)
        snprintf(made->text + length, TEXT_MAX - (size_t)length, "messages: %lld\n",
                 (long long)(1 + below(made, 20)));
    else if (strcmp(name, "alltoallv") == 0)
        snprintf(made->text + length, TEXT_MAX - (size_t)length, "counts: {skew: 0.5, seed: 1}\n");
    else if (is_vector(name) && below(made, 3) == 0)
        snprintf(made->text + length, TEXT_MAX - (size_t)length, "in_place: true\n");
}

static void ask(const case_t *made, pto_scenario_t *scenario, pto_predictions_t *predictions, bool *applies) {
    pto_error_t err = {0};
    pto_status_t status = pto_predict(scenario, made->machine, false, predictions, &err);
    if (status != PTO_OK && status != PTO_ERR_NOT_APPLICABLE)
        fail_msg("%s\n%s", err.message, made->text);
    *applies = status == PTO_OK;
}

/* The text as a scenario. False: this machine has no such layout, or nothing applies. */
static bool ask_text(case_t *made, int64_t chunks) {
    pto_error_t err = {0};
    if (pto_scenario_parse(made->text, strlen(made->text), "made.yaml", &made->scenario, &err) != PTO_OK)
        return false;
    made->scenario.chunks = chunks;
    if (pto_scenario_bind(&made->scenario, made->machine, &err) == PTO_OK)
        ask(made, &made->scenario, &made->predictions, &made->applies);
    return made->applies;
}

static bool make_case(case_t *made, uint64_t seed) {
    memset(made, 0, sizeof *made);
    made->state = seed;
    open_machine(made);
    write_scenario(made);
    return ask_text(made, 0);
}

static void free_case(case_t *made) {
    if (made->applies)
        pto_predictions_fini(&made->predictions);
    pto_scenario_fini(&made->scenario);
    pto_machine_destroy(made->machine);
}

/* --- asked in two ways ---------------------------------------------------------------------------------- */

typedef void (*relation_t)(case_t *made);

static void hold_for_all(relation_t relation) {
    int applied = 0;
    for (uint64_t seed = 0; seed < CASES; seed += (uint64_t)test_sample()) {
        case_t made;
        if (make_case(&made, 1000 + seed)) {
            relation(&made);
            applied++;
        }
        free_case(&made);
    }
    assert_true(applied > CASES / test_sample() / 2);
}

static void differ(const case_t *made, const char *what, const char *strategy, double before, double after) {
    fail_msg("%s: %s, %.17g and %.17g s, on %s\n%s", what, strategy, before, after,
             pto_machine_name(made->machine), made->text);
}

/* Of those parameters that are chosen; NULL: of all. */
static void scale_times(case_t *made, bool (*chosen)(const pto_machine_param_t *), double by) {
    pto_machine_param_t *param;
    int count = list_params(made, &param);
    for (int i = 0; i < count; i++)
        if (is_time(&param[i]) && (!chosen || chosen(&param[i])))
            scale(param[i].param, by);
    free(param);
}

/* By 4: nothing is rounded. */
static void compare_scaled(const case_t *made, const pto_predictions_t *before,
                           const pto_predictions_t *now) {
    for (int64_t i = 0; i < now->point_count * now->strategy_count; i++) {
        const pto_prediction_t *a = &before->prediction[i], *b = &now->prediction[i];
        double seconds[] = {a->applicable ? a->price.seconds : -1, b->applicable ? b->price.seconds : -4};
        bool same_plan = !a->applicable || (a->algorithm == b->algorithm && a->chunks == b->chunks);
        if (!same_plan || a->applicable != b->applicable ||
            !(fabs(seconds[1] - 4 * seconds[0]) <= 1e-12 * fabs(seconds[1])))
            differ(made, "four times the parameters", now->strategy[i % now->strategy_count]->name,
                   seconds[0], seconds[1]);
    }
}

static void scales_with_time(case_t *made) {
    pto_predictions_t now;
    bool applies;
    scale_times(made, NULL, 4);
    ask(made, &made->scenario, &now, &applies);
    assert_true(applies);
    compare_scaled(made, &made->predictions, &now);
    pto_predictions_fini(&now);
}

TEST(prices_scale_with_their_unit) { hold_for_all(scales_with_time); }

static void simulation_scales(case_t *made) {
    static const pto_simulate_options_t options = {.limit = 20000};
    pto_predictions_t before, now;
    pto_simulation_t *simulation, *again;
    pto_error_t err = {0};
    pto_status_t status =
        pto_simulate_scenario(&made->scenario, made->machine, &options, &before, &simulation, &err);
    if (status == PTO_ERR_TOO_LARGE)
        return;
    assert_int_equal(status, PTO_OK);
    scale_times(made, NULL, 4);
    assert_int_equal(pto_simulate_scenario(&made->scenario, made->machine, &options, &now, &again, &err),
                     PTO_OK);
    compare_scaled(made, &before, &now);
    pto_predictions_fini(&before);
    pto_predictions_fini(&now);
    free(simulation);
    free(again);
}

TEST(simulations_scale_with_their_unit) { hold_for_all(simulation_scales); }

static void check_not_cheaper(const case_t *made, const pto_predictions_t *now, const char *key) {
    for (int64_t i = 0; i < now->point_count * now->strategy_count; i++) {
        const pto_prediction_t *a = &made->predictions.prediction[i], *b = &now->prediction[i];
        if (a->applicable && b->applicable && b->price.seconds < a->price.seconds * (1 - 1e-12))
            differ(made, key, now->strategy[i % now->strategy_count]->name, a->price.seconds,
                   b->price.seconds);
    }
}

/* A slower part makes nothing faster, but for shared copies: rows that cross can (docs/model.md). */
static void rises_with_parameters(case_t *made) {
    pto_machine_param_t *param;
    int count = list_params(made, &param);
    for (int n = 0; n < PARAMS_PER_CASE; n++) {
        int64_t i = below(made, count);
        pto_predictions_t now;
        bool applies;
        if (!is_time(&param[i]) || is_of_shared_copies(&param[i]))
            continue;
        scale(param[i].param, 1.5);
        ask(made, &made->scenario, &now, &applies);
        assert_true(applies);
        check_not_cheaper(made, &now, param[i].key);
        pto_predictions_fini(&now);
        scale(param[i].param, 1 / 1.5);
    }
    free(param);
}

TEST(slower_parameters_lower_no_price) { hold_for_all(rises_with_parameters); }

/* --- faster networks ------------------------------------------------------------------------------------ */

/* A CPU that moves what a process sends and receives within its node. */
static void share_cpus(case_t *made) {
    made->machine->both_ways[PTO_SPACE_CPU] = (pto_param_t){.value = factor(made), .line = 1};
}

/* Rings through host memory, in which some processes send within their nodes. */
static void write_rings(case_t *made) {
    static const char *const collective[] = {"allreduce", "allgather", "reduce_scatter"};
    snprintf(made->text, TEXT_MAX,
             "scenario: made\nmachine: m.yaml\ncollective: %s\nstrategies: [staged_ring, split_ring]\n"
             "layout: {nodes: %lld, gpus_per_node: %lld, procs_per_gpu: %lld}\nbytes: [%lld, %lld]\n",
             collective[below(made, 3)], (long long)(2 + below(made, 3)), (long long)(1 + below(made, 4)),
             (long long)(1 + below(made, 2)), (long long)(8192 * (1 + below(made, 100))),
             (long long)(819200 * (1 + below(made, 100))));
}

static bool is_of_network(const pto_machine_param_t *param) {
    return param->unit == PTO_UNIT_S_PER_BYTE &&
           (strstr(param->key, "off_node") || strncmp(param->key, "injection.", 10) == 0 ||
            strncmp(param->key, "fabric.", 7) == 0);
}

/* Copies of a GPU's processes wait for each other in the order in which chunks arrive. */
static bool depends_on_arrival(const case_t *made, const pto_prediction_t *prediction) {
    return prediction->chunks > 1 && made->machine->shared_copies[PTO_COPY_H2D].count > 0 &&
           made->scenario.layout.procs_per_gpu > 1;
}

/* Bandwidths between nodes that are ever higher. */
static void compare_networks(case_t *made) {
    const double by[] = {0.9, 0.5, 0.2};
    for (size_t i = 0; i < sizeof by / sizeof *by; i++) {
        pto_predictions_t now;
        bool applies;
        scale_times(made, is_of_network, by[i]);
        ask(made, &made->scenario, &now, &applies);
        assert_true(applies);
        for (int64_t p = 0; p < now.point_count * now.strategy_count; p++) {
            const pto_prediction_t *before = &made->predictions.prediction[p], *after = &now.prediction[p];
            if (before->applicable && !depends_on_arrival(made, before) &&
                after->price.seconds > before->price.seconds * (1 + 1e-12))
                differ(made, "a faster network", now.strategy[p % now.strategy_count]->name,
                       before->price.seconds, after->price.seconds);
        }
        pto_predictions_fini(&made->predictions);
        made->predictions = now;
    }
}

/* On every machine that ships: cut into the number of chunks that the price finds, or into a given one. */
TEST(faster_networks_raise_no_price) {
    glob_t found;
    int compared = 0;
    assert_int_equal(glob("scenarios/machines/*.yaml", 0, NULL, &found), 0);
    for (uint64_t seed = 0; seed < NETWORK_CASES; seed += (uint64_t)test_sample()) {
        case_t made = {.state = 7000 + seed};
        open_path(&made, found.gl_pathv[seed % found.gl_pathc]);
        if (below(&made, 2) == 0)
            share_cpus(&made);
        if (below(&made, 2) == 0)
            write_rings(&made);
        else
            write_scenario(&made);
        if (ask_text(&made, below(&made, 2) * (2 + below(&made, 7)))) {
            compare_networks(&made);
            compared++;
        }
        free_case(&made);
    }
    globfree(&found);
    assert_true(compared > NETWORK_CASES / test_sample() / 2);
}

/* One buffer saves the copy to a second one, and nothing else changes. */
static void is_dearer_with_two_buffers(case_t *made) {
    pto_predictions_t now;
    bool applies;
    if (!made->scenario.in_place)
        return;
    made->scenario.in_place = false;
    ask(made, &made->scenario, &now, &applies);
    assert_true(applies);
    check_not_cheaper(made, &now, "in_place");
    pto_predictions_fini(&now);
}

TEST(one_buffer_raises_no_price) { hold_for_all(is_dearer_with_two_buffers); }

static double broadcast_s(int owners, bool in_place) {
    case_t made = {0};
    open_path(&made, "scenarios/machines/h200-x2.yaml");
    snprintf(made.text, TEXT_MAX,
             "scenario: made\nmachine: m.yaml\ncollective: broadcast\nstrategies: [cuda_aware]\n"
             "layout: {nodes: 1, gpus_per_node: 2, procs_per_gpu: %d, owners_per_gpu: %d}\nbytes: 64KiB\n"
             "in_place: %s\n",
             owners, owners, in_place ? "true" : "false");
    assert_true(ask_text(&made, 0));
    double seconds = made.predictions.prediction[0].price.seconds;
    free_case(&made);
    return seconds;
}

/* The root's copy from one buffer to the other, as the machine file prices it. */
TEST(a_broadcast_in_place_has_no_copy) {
    case_t made = {0};
    pto_error_t err = {0};
    double alpha, beta;
    open_path(&made, "scenarios/machines/h200-x2.yaml");
    assert_int_equal(pto_machine_get(made.machine, "copies.shared.d2d.1.alpha_s", &alpha, &err), PTO_OK);
    assert_int_equal(pto_machine_get(made.machine, "copies.shared.d2d.1.beta_s_per_byte", &beta, &err),
                     PTO_OK);
    for (int owners = 1; owners <= 4; owners *= 2) {
        double copy_s = broadcast_s(owners, false) - broadcast_s(owners, true);
        assert_true(fabs(copy_s - alpha - 65536 * beta) < 1e-12);
    }
    pto_machine_destroy(made.machine);
}

/* One point alone, one strategy alone. */
static void stands_alone(case_t *made) {
    pto_scenario_t *scenario = &made->scenario;
    const pto_predictions_t *all = &made->predictions;
    pto_series_t series = scenario->bytes;
    for (int64_t point = 0; point < series.count; point++) {
        pto_predictions_t now;
        bool applies;
        scenario->bytes = (pto_series_t){&series.value[point], 1};
        ask(made, scenario, &now, &applies);
        for (int i = 0; applies && i < now.strategy_count; i++) {
            const pto_prediction_t *a = pto_prediction_at(all, point, i), *b = pto_prediction_at(&now, 0, i);
            double before = a->applicable ? a->price.seconds : 0,
                   after = b->applicable ? b->price.seconds : 0;
            if (before < after || after < before)
                differ(made, "a size alone", now.strategy[i]->name, before, after);
        }
        if (applies)
            pto_predictions_fini(&now);
    }
    scenario->bytes = series;
}

TEST(prices_do_not_depend_on_the_other_sizes) { hold_for_all(stands_alone); }

static int winner_in_ranges(const pto_range_t *range, int64_t count, int64_t point) {
    for (int64_t i = 0; i < count; i++)
        if (range[i].point_first <= point && point < range[i].point_first + range[i].point_count)
            return range[i].winner;
    return -1;
}

static void picks_the_cheapest(case_t *made) {
    const pto_predictions_t *all = &made->predictions;
    pto_range_t *range;
    int64_t count;
    assert_int_equal(pto_pick(all, &range, &count, NULL), PTO_OK);
    for (int64_t point = 0; point < all->point_count; point++) {
        int winner = winner_in_ranges(range, count, point);
        for (int i = 0; i < all->strategy_count; i++) {
            const pto_prediction_t *other = pto_prediction_at(all, point, i);
            if (!other->applicable)
                continue;
            if (winner < 0)
                differ(made, "no winner", all->strategy[i]->name, 0, other->price.seconds);
            const pto_prediction_t *won = pto_prediction_at(all, point, winner);
            if (!won->applicable || won->price.seconds > other->price.seconds)
                differ(made, "cheaper than the winner", all->strategy[i]->name, won->price.seconds,
                       other->price.seconds);
        }
    }
    free(range);
}

TEST(picks_agree_with_predictions) { hold_for_all(picks_the_cheapest); }
