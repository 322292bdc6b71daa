/* Sweeps price less than their points one by one: the algorithm of the size before is priced first, the
 * others end where they exceed it, and counts of messages are kept. No prediction may differ. */
#include <glob.h>

#include "built.h"
#include "decide/candidates.h"
#include "made_up.h"
#include "must.h"
#include "plan_request.h"
#include "portolan/pick.h"
#include "portolan/strategy.h"
#include "price/bounded.h"
#include "price/pricing.h"
#include "priced.h"
#include "summit.h"
#include "test.h"

/* --- points alone --------------------------------------------------------------------------------------- */

static bool predict(const pto_machine_t *machine, pto_scenario_t *scenario, pto_predictions_t *predictions) {
    return pto_scenario_bind(scenario, machine, NULL) == PTO_OK &&
           pto_predict(scenario, machine, true, predictions, NULL) == PTO_OK;
}

typedef struct {
    int64_t from, to;
} range_t;

static void set_point(pto_scenario_t *scenario, range_t nodes, range_t bytes) {
    assert_int_equal(pto_series_range(nodes.from, nodes.to, 3, &scenario->nodes, NULL), PTO_OK);
    assert_int_equal(pto_series_range(bytes.from, bytes.to, 16, &scenario->bytes, NULL), PTO_OK);
}

static void compare_explanations(const pto_explanation_t *a, const pto_explanation_t *b) {
    assert_int_equal(a->count, b->count);
    for (int i = 0; i < a->count; i++) {
        assert_string_equal(a->term[i].key, b->term[i].key);
        assert_string_equal(a->term[i].stage, b->term[i].stage);
        assert_true(a->term[i].count == b->term[i].count && a->term[i].seconds == b->term[i].seconds);
        assert_ptr_equal(a->term[i].param, b->term[i].param);
    }
    assert_memory_equal(a->occupied_s, b->occupied_s, sizeof a->occupied_s);
}

/* Also where there is none, for which both must have the same reason. */
static void compare_predictions(const pto_prediction_t *a, const pto_prediction_t *b) {
    assert_int_equal(a->applicable, b->applicable);
    assert_string_equal(a->reason, b->reason);
    if (!a->applicable)
        return;
    assert_ptr_equal(a->algorithm, b->algorithm);
    assert_int_equal(a->chunks, b->chunks);
    assert_memory_equal(&a->staged_members, &b->staged_members, sizeof a->staged_members);
    assert_true(a->price.seconds == b->price.seconds && a->price.low_s == b->price.low_s &&
                a->price.high_s == b->price.high_s && a->price.tie_log_sd == b->price.tie_log_sd);
    assert_true(a->has_energy == b->has_energy && a->energy.joules == b->energy.joules);
    compare_explanations(&a->explanation, &b->explanation);
}

/* `alone` has one point, which is `point` of `swept`. Returns how many predictions it has. */
static int64_t compare_point(const pto_predictions_t *swept, int64_t point, const pto_machine_t *machine,
                             pto_scenario_t *alone) {
    pto_predictions_t one = {0};
    pto_error_t err = {0};
    int64_t priced = 0;
    assert_int_equal(pto_scenario_bind(alone, machine, NULL), PTO_OK);
    if (pto_predict(alone, machine, true, &one, &err) != PTO_OK) {
        if (!strstr(err.message, "has no network")) /* said of the machine, before what each strategy lacks */
            assert_non_null(strstr(err.message, pto_prediction_at(swept, point, 0)->reason));
        return 0;
    }
    assert_int_equal(one.strategy_count, swept->strategy_count);
    for (int s = 0; s < one.strategy_count; s++) {
        compare_predictions(pto_prediction_at(&one, 0, s), pto_prediction_at(swept, point, s));
        priced += pto_prediction_at(&one, 0, s)->applicable;
    }
    pto_predictions_fini(&one);
    return priced;
}

static void fill(pto_scenario_t *scenario, pto_collective_t collective, int64_t procs) {
    pto_scenario_init(scenario);
    scenario->collective = collective;
    scenario->layout.procs_per_gpu = procs;
}

/* A sweep of the nodes or of the bytes, whichever differ. Returns how many predictions were compared. */
static int64_t compare_sweep(const pto_machine_t *machine, pto_collective_t collective, int64_t procs,
                             range_t nodes, range_t bytes) {
    pto_scenario_t swept, alone;
    pto_predictions_t predictions = {0};
    int64_t compared = 0;
    fill(&swept, collective, procs);
    set_point(&swept, nodes, bytes);
    bool priced = predict(machine, &swept, &predictions);
    for (int64_t i = 0; priced && i < predictions.point_count; i++) {
        const range_t point = {predictions.point[i], predictions.point[i]};
        fill(&alone, collective, procs);
        set_point(&alone, nodes.from < nodes.to ? point : nodes, bytes.from < bytes.to ? point : bytes);
        compared += compare_point(&predictions, i, machine, &alone);
        pto_scenario_fini(&alone);
    }
    if (priced)
        pto_predictions_fini(&predictions);
    pto_scenario_fini(&swept);
    return compared;
}

TEST(a_sweep_predicts_what_its_points_alone_do) {
    const range_t bytes = {4, 1 << 22};
    glob_t found;
    int64_t compared = 0;
    assert_int_equal(glob("scenarios/machines/*.yaml", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        pto_machine_t *machine = must_open(found.gl_pathv[i]);
        for (int c = 0; c < PTO_COLLECTIVE_COUNT; c++) {
            pto_collective_t collective = (pto_collective_t)c;
            if (collective == PTO_COLLECTIVE_HALO || collective == PTO_COLLECTIVE_MESSAGES)
                continue;
            compared += compare_sweep(machine, collective, 0, (range_t){1, 1}, bytes) +
                        compare_sweep(machine, collective, 0, (range_t){5, 5}, bytes) +
                        compare_sweep(machine, collective, 3, (range_t){8, 8}, bytes) +
                        compare_sweep(machine, collective, 0, (range_t){1, 81}, (range_t){65536, 65536});
        }
    }
    globfree(&found);
    print_message("%lld predictions\n", (long long)compared);
    assert_true(compared > 2000);
}

/* Of the largest sizes none fits into memory, and each algorithm has its own reason. */
TEST(a_sweep_has_the_reasons_of_its_points) {
    const range_t bytes = {1 << 24, (int64_t)1 << 36};
    assert_true(compare_sweep(&summit, PTO_COLLECTIVE_BROADCAST, 0, (range_t){5, 5}, bytes) > 0);
}

/* --- work ----------------------------------------------------------------------------------------------- */

/* Of all plans that may be chosen, each to its end. */
static pto_status_t price_whole(pto_plan_t **plan, bool in_chunks, void *context, pto_error_t *err) {
    pto_price_t price;
    return pto_price(*plan, &summit, &price, NULL, err);
}

static bool priced_or_left_out(const pto_scenario_t *scenario, int64_t point,
                               const pto_strategy_t *strategy) {
    const pto_visit_candidate_t whole = {.call = price_whole};
    pto_status_t status = pto_plan_candidates(scenario, &summit, point, strategy, &whole, NULL);
    return status == PTO_OK || pto_leaves_cell_out(status);
}

/* With the explanations of the winners, for which each was once priced twice. */
TEST(algorithms_that_lose_are_not_priced_to_their_end) {
    const int64_t nodes[] = {32, 174763};
    for (size_t i = 0; i < 2; i++) {
        pto_scenario_t scenario;
        fill(&scenario, PTO_COLLECTIVE_ALLREDUCE, 0);
        scenario.library.best = true;
        assert_int_equal(pto_series_range(4, 1 << 17, 2, &scenario.bytes, NULL), PTO_OK);
        assert_int_equal(pto_series_one(nodes[i], &scenario.nodes, NULL), PTO_OK);
        assert_int_equal(pto_scenario_bind(&scenario, &summit, NULL), PTO_OK);
        int64_t before = pto_price_visits;
        pto_predictions_t predictions = must_predict(&scenario, &summit, true);
        int64_t taken = pto_price_visits - before;
        before = pto_price_visits;
        for (int64_t point = 0; point < predictions.point_count; point++)
            for (int s = 0; s < predictions.strategy_count; s++)
                assert_true(priced_or_left_out(&scenario, point, predictions.strategy[s]));
        int64_t all = pto_price_visits - before;
        print_message("%lld nodes: %lld visits of %lld\n", (long long)nodes[i], (long long)taken,
                      (long long)all);
        assert_true(taken < all);
        pto_scenario_fini(&scenario);
    }
}

/* --- bounds --------------------------------------------------------------------------------------------- */

static int64_t bounded, ended_early;

static void bound_price(const pto_plan_t *plan, const pto_machine_t *machine) {
    static const double share[] = {0.1, 0.5, 0.999, 1, 1.001};
    pto_price_t whole, price;
    pto_explanation_t explanation = {0};
    if (pto_price(plan, machine, &whole, NULL, NULL) != PTO_OK)
        return;
    for (size_t i = 0; i < sizeof share / sizeof *share; i++) {
        assert_int_equal(pto_price_bounded(plan, machine, NULL, share[i] * whole.seconds, &price,
                                           i % 2 ? &explanation : NULL, NULL),
                         PTO_OK);
        assert_true(price.seconds == whole.seconds || (share[i] < 1 && price.seconds == INFINITY));
        bounded++;
        ended_early += price.seconds == INFINITY;
    }
    pto_explanation_fini(&explanation);
}

TEST(a_bounded_price_is_the_price_or_known_to_be_more) {
    pto_machine_t machine = completed(&summit);
    pto_request_t request = {
        .datatype = PTO_DATATYPE_FLOAT, .bytes = 100000, .messages = 4, .by_library = true};
    for (int at = 0; next_request(&request, &at);)
        for (int i = 0; i < 4; i++) {
            request.layout = (pto_layout_t){i % 2 ? 5 : 1, 4, 1, 3, 2, false};
            request.chunks = i / 2 ? 8 : 0;
            pto_plan_t *plan = NULL;
            if (request.collective == PTO_COLLECTIVE_HALO ||
                !(request.algorithm->collectives & 1u << request.collective) ||
                pto_plan_create(&request, &plan, NULL) != PTO_OK)
                continue;
            bound_price(plan, &machine);
            pto_plan_destroy(plan);
        }
    print_message("%lld of %lld ended early\n", (long long)ended_early, (long long)bounded);
    assert_true(bounded > 3000 && ended_early > bounded / 3);
}

/* A tape that has seen a price given up is not that of the other one. */
TEST(no_tape_is_made_of_a_contest) {
    pto_request_t request = request_for(PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "ring", 32, 6, 1, 4096);
    pto_price_t price;
    pto_plan_t *plan = must_plan(&request);
    pto_tape_t *tape = pto_tape_begin();
    pto_price_t whole = must_price(plan, &summit);
    tape = pto_tape_end(tape, whole.seconds);
    assert_non_null(tape);
    pto_tape_destroy(tape);
    tape = pto_tape_begin();
    whole = must_price(plan, &summit);
    assert_int_equal(pto_price_bounded(plan, &summit, NULL, whole.seconds / 2, &price, NULL, NULL), PTO_OK);
    assert_true(price.seconds == INFINITY);
    assert_null(pto_tape_end(tape, whole.seconds));
}

/* --- stages --------------------------------------------------------------------------------------------- */

static void build_messages(pto_builder_t *builder, const pto_exchange_t *owners, pto_peers_t to,
                           pto_peers_t from, int target) {
    pto_step_t send = pto_step_of(PTO_STEP_SEND, owners), recv = pto_step_of(PTO_STEP_RECV, owners);
    send.peers = to;
    recv.peers = from;
    send.source = pto_slice_all(builder, owners->in);
    recv.target = pto_slice_all(builder, target);
    pto_build_step(builder, send);
    pto_build_step(builder, recv);
}

static void build_shift(pto_builder_t *builder, const pto_exchange_t *owners, int64_t distance) {
    build_messages(builder, owners, pto_peers_at(pto_constant(distance), 1),
                   pto_peers_at(pto_constant(distance), -1), owners->out);
}

/* A shift by one; another one beside a shift off the node; two of them at once; an exchange in pairs, from
 * GPUs into host memory. */
static void build_shifts(pto_builder_t *builder, const pto_request_t *request) {
    pto_buffer_t data = owners_blocks("data", PTO_ROLE_TEMPORARY, 1, request->bytes);
    pto_exchange_t owners = {.group = pto_build_group(builder, PTO_GROUP_OWNERS, 0),
                             .n = pto_layout_owner_count(&request->layout),
                             .core_count = 1};
    owners.in = pto_build_buffer(builder, data);
    owners.out = pto_build_buffer(builder, data);
    data.space = PTO_SPACE_CPU;
    int host = pto_build_buffer(builder, data);
    const pto_peers_t pairs = {.kind = PTO_PEERS_XOR, .first = pto_constant(1)};
    pto_build_stage(builder, "alone", PTO_ORDER_SEQUENCE);
    build_shift(builder, &owners, 1);
    pto_build_stage(builder, "beside", PTO_ORDER_SEQUENCE);
    build_shift(builder, &owners, 1);
    build_shift(builder, &owners, request->layout.gpus_per_node);
    pto_build_stage(builder, "twice", PTO_ORDER_SEQUENCE);
    build_shift(builder, &owners, 1);
    build_shift(builder, &owners, 1);
    pto_build_stage(builder, "to host", PTO_ORDER_SEQUENCE);
    build_messages(builder, &owners, pairs, pairs, host);
}

static const pto_strategy_t shifts = {.name = "shifts",
                                      .summary = "two stages of messages",
                                      .collectives = 1u << PTO_COLLECTIVE_ALLREDUCE,
                                      .direct = true,
                                      .collective_space = PTO_SPACE_GPU,
                                      .build = build_shifts};

/* A message between GPUs takes 10 us on the node, and 1 us off it besides 5 us for each that leaves the node;
 * one between hosts takes 30 on the node. Of the shift by one, those on the node are the most expensive where
 * one leaves it, and those off it where two or four do. The second of two shifts is most expensive on the
 * node for a process whose first one leaves it. */
TEST(what_is_charged_once_is_charged_anew_where_it_costs_something_else) {
    static const char text[] =
        "machine: made\n"
        "source: made up\n"
        "node: {sockets: 1, gpus: 3, cores: 3}\n"
        "messages:\n"
        "  cpu:\n"
        "    on_socket: [{protocol: eager, alpha_s: 3.0e-5, beta_s_per_byte: 1.0e-20}]\n"
        "    off_node: [{protocol: eager, alpha_s: 1.0e-6, beta_s_per_byte: 1.0e-20}]\n"
        "  gpu:\n"
        "    on_socket: [{protocol: eager, alpha_s: 1.0e-5, beta_s_per_byte: 1.0e-20}]\n"
        "    off_node: [{protocol: eager, alpha_s: 1.0e-6, beta_s_per_byte: 1.0e-20}]\n";
    pto_machine_t machine = must_parse(text);
    machine.injection_s_per_byte[PTO_SPACE_GPU] = (pto_param_t){.value = 5e-6 / 1000, .line = 1};
    pto_request_t request = request_for(PTO_COLLECTIVE_ALLREDUCE, "gsb", "direct", 2, 3, 1, 1000);
    request.strategy = &shifts;
    pto_plan_t *plan = must_plan(&request);
    pto_price_t price = must_price(plan, &machine);
    double alone_s = 10e-6, beside_s = 2 * 1e-6 + 4 * 5e-6, twice_s = 1e-6 + 2 * 5e-6 + 10e-6,
           to_host_s = 30e-6;
    if (fabs(price.seconds - (alone_s + beside_s + twice_s + to_host_s)) > 1e-12)
        fail_msg("%.9g s", price.seconds);
}

/* --- work that is counted beforehand -------------------------------------------------------------------- */

static void compare_work(const pto_machine_t *machine, pto_collective_t collective, int64_t nodes,
                         int64_t chunks, int64_t *all) {
    enum { CELLS_MAX = 1000 };
    pto_scenario_t scenario;
    const pto_strategy_t **strategy = NULL;
    pto_scenario_cell_t each[CELLS_MAX];
    int count = 0;
    fill(&scenario, collective, 0);
    scenario.chunks = chunks;
    set_point(&scenario, (range_t){nodes, nodes}, (range_t){4, 1 << 22});
    if (pto_scenario_bind(&scenario, machine, NULL) == PTO_OK &&
        pto_scenario_strategies(&scenario, &strategy, &count, NULL) == PTO_OK) {
        int64_t cells = count * pto_scenario_points(&scenario), sum = 0;
        assert_true(cells <= CELLS_MAX);
        for (int64_t i = 0; i < cells; i++)
            each[i] = pto_scenario_cell(&scenario, machine, i / count, strategy[i % count]);
        int64_t work = pto_count_work(each, cells / count, count);
        for (int64_t i = 0; i < cells; i++) {
            assert_int_equal(each[i].work, pto_cell_work(&scenario, machine, i / count, strategy[i % count]));
            sum += each[i].work;
        }
        assert_int_equal(work, sum);
        *all += sum;
    }
    free(strategy);
    pto_scenario_fini(&scenario);
}

/* Among them are machines whose libraries stage some sizes, and cut some into segments. */
TEST(the_work_of_a_sweep_is_that_of_its_cells) {
    glob_t found;
    int64_t all = 0;
    assert_int_equal(glob("scenarios/machines/*.yaml", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        pto_machine_t *machine = must_open(found.gl_pathv[i]);
        for (int c = 0; c < PTO_COLLECTIVE_COUNT; c++)
            for (int64_t nodes = 1; nodes <= 4 && c != PTO_COLLECTIVE_HALO; nodes *= 2)
                compare_work(machine, (pto_collective_t)c, nodes, nodes == 1 ? 8 : 0, &all);
    }
    globfree(&found);
    assert_true(all > 1000);
}

/* Core by core, as pto_step_actions counts cores at once where none of them differs. */
static void compare_actions(const pto_plan_t *plan, const pto_step_t *step) {
    pto_group_kind_t kind = pto_plan_group(plan, step->group)->kind;
    bool once = pto_group_traits[kind].index & PTO_BY_CORE && !pto_group_is_on_gpu(kind);
    int64_t until = step->core_first + (once ? 1 : step->core_count), actions = 0;
    pto_step_t one = *step;
    for (one.core_count = 1; one.core_first < until; one.core_first++)
        actions += pto_step_actions(plan, &one, 1);
    assert_int_equal(pto_step_actions(plan, step, 1), actions);
}

TEST(the_actions_of_a_step_are_those_of_its_cores) {
    int64_t steps = 0;
    pto_request_t request = {.datatype = PTO_DATATYPE_FLOAT, .bytes = 1000, .messages = 4};
    for (int at = 0; next_request(&request, &at);) {
        request.layout = (pto_layout_t){3, 4, at % 3 == 2 ? 2 : 1, 5, 2, false};
        pto_plan_t *plan = NULL;
        if (request.collective == PTO_COLLECTIVE_HALO || pto_plan_create(&request, &plan, NULL) != PTO_OK)
            continue;
        for (int i = 0; i < plan->steps.count; i++, steps++) {
            pto_step_t step = *pto_plan_step(plan, i);
            compare_actions(plan, &step);
            step.who_until.core++; /* a member more for each core, and a peer more */
            compare_actions(plan, &step);
            step.peers.until.core++;
            compare_actions(plan, &step);
        }
        pto_plan_destroy(plan);
    }
    assert_true(steps > 1000);
}

int main(void) { return run_all_tests(read_summit, NULL); }
