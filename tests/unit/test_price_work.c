/* How the work of a price and of a setup grows with nodes, GPUs a node, processes a GPU and bytes, counted
 * and not timed: pto_price_visits and pto_blocks_summed. Each plan has an order that depends on how it is
 * priced (docs/decisions/0001, 0003):
 *
 *                          nodes   GPUs a node   processes a GPU   bytes
 *     by class              0          1               0             0      (processes: 1 where copies queue)
 *     by place of a node    0          2               2             0      each process meets all of its
 * node rank by rank          2          2               2             0      tables: each pair of processes
 *
 * By place, it is 1 in GPUs a node where they do the same (docs/decisions/0058).
 *
 * An algorithm in rounds has a round more for each doubling, which is less than any power. */
#include "base/text_file.h"
#include "made_up.h"
#include "must.h"
#include "plan/plan_internal.h"
#include "plan_request.h"
#include "portolan/pick.h"
#include "portolan/price.h"
#include "price/bounded.h"
#include "price/pricing.h"
#include "priced.h"
#include "summit.h"
#include "test.h"

typedef enum { BY_NODES, BY_GPUS, BY_PROCESSES, BY_BYTES, BY_COUNT } by_t;

static const char *const by_names[] = {"nodes", "GPUs a node", "processes a GPU", "bytes"};

static const double orders[PTO_ACTORS_RANKS + 1][BY_COUNT] = {
    [PTO_ACTORS_CLASSES] = {0, 1, 1, 0},
    [PTO_ACTORS_PLACES] = {0, 2, 2, 0},
    [PTO_ACTORS_RANKS] = {2, 2, 2, 0},
};

/* A round more of, say, six. */
static const double log_allowance = 0.35;

/* The visits of a price with one of its numbers at `scale` times its least; 0: the plan does not apply. */
static int64_t visits_of(const pto_request_t *least, by_t by, int64_t scale, const pto_machine_t *machine,
                         pto_actor_kind_t *kind) {
    pto_request_t request = *least;
    pto_plan_t *plan = NULL;
    pto_price_t price;
    request.layout.nodes *= by == BY_NODES ? scale : 1;
    request.layout.gpus_per_node *= by == BY_GPUS ? scale : 1;
    request.layout.procs_per_gpu *= by == BY_PROCESSES ? scale : 1;
    request.bytes *= by == BY_BYTES ? scale : 1;
    request.layout.gpus_per_socket = request.layout.gpus_per_node;
    if (pto_plan_create(&request, &plan, NULL) != PTO_OK)
        return 0;
    int64_t before = pto_price_visits + pto_blocks_summed;
    pto_setup_t setup;
    bool priced = pto_price(plan, machine, &price, NULL, NULL) == PTO_OK &&
                  pto_setup(plan, machine, &setup, NULL) == PTO_OK;
    *kind = pto_actors_of(plan);
    pto_plan_destroy(plan);
    return priced ? pto_price_visits + pto_blocks_summed - before : 0;
}

static int64_t compare_growth(const pto_request_t *request, by_t by, const pto_machine_t *machine) {
    pto_actor_kind_t kind;
    int64_t visits = visits_of(request, by, 4, machine, &kind);
    int64_t more = visits_of(request, by, 8, machine, &kind);
    if (visits == 0 || more == 0)
        return 0;
    double order = log2((double)more / (double)visits);
    if (order > orders[kind][by] + log_allowance)
        fail_msg("%s by %s with %s grows by %s with power %.2f: %lld visits, then %lld",
                 pto_collective_name(request->collective), request->strategy->name, request->algorithm->name,
                 by_names[by], order, (long long)visits, (long long)more);
    return 1;
}

TEST(prices_grow_no_faster_than_their_order) {
    pto_machine_t machine = completed(&summit);
    const pto_counts_t skewed = {.kind = PTO_COUNTS_SKEW, .skew = 0.5, .seed = 1};
    int64_t compared[BY_COUNT] = {0};
    pto_request_t request = {
        .datatype = PTO_DATATYPE_FLOAT, .bytes = 4096, .messages = 4, .by_library = true};
    for (int at = 0; next_request(&request, &at);)
        for (int i = 0; i < 2 * BY_COUNT; i++) {
            request.layout = (pto_layout_t){i % 2 ? 1 : 3, 2, 1, 2, 0, false};
            request.counts = request.collective == PTO_COLLECTIVE_ALLTOALLV ? &skewed : NULL;
            const unsigned is_asked = 1u << request.collective;
            by_t by = (by_t)(i / 2);
            if (request.collective == PTO_COLLECTIVE_HALO || (by == BY_NODES && i % 2) ||
                !(request.strategy->collectives & is_asked) ||
                !(pto_strategy_with(request.strategy, request.algorithm) & is_asked))
                continue;
            compared[by] += compare_growth(&request, by, &machine);
        }
    for (int by = 0; by < BY_COUNT; by++) {
        print_message("%s: %lld plans\n", by_names[by], (long long)compared[by]);
        assert_true(compared[by] > 100);
    }
}

static int64_t visits_of_plan(const pto_plan_t *plan, const pto_machine_t *machine) {
    int64_t before = pto_price_visits;
    must_price(plan, machine);
    return pto_price_visits - before;
}

/* The visits of a price in one node; `sockets`: how many it has. */
static int64_t visits_in_node(const char *strategy, const char *algorithm, pto_collective_t collective,
                              int64_t gpus, int64_t sockets) {
    pto_machine_t machine = completed(&summit);
    pto_request_t request = request_for(collective, strategy, algorithm, 1, gpus, 1, 1 << 20);
    request.layout.gpus_per_socket = gpus / sockets;
    machine.peer[PTO_REACH_OFF_SOCKET] = (pto_postal_t){0};
    pto_plan_t *plan = must_plan(&request);
    assert_int_equal(pto_actors_of(plan), PTO_ACTORS_PLACES);
    return visits_of_plan(plan, &machine);
}

/* Each GPU meets all others, but one of each kind is priced. */
TEST(prices_grow_with_the_gpus_of_a_node_not_with_their_pairs) {
    const struct {
        const char *strategy;
        const char *algorithm;
        pto_collective_t collective;
    } one_kind[] = {
        {"gas_split", "direct", PTO_COLLECTIVE_ALLREDUCE},
        {"gas_split", "direct", PTO_COLLECTIVE_REDUCE},
        {"gas_split", "direct", PTO_COLLECTIVE_REDUCE_SCATTER},
        {"gas_split", "direct", PTO_COLLECTIVE_ALLTOALL},
        {"gas_split", "direct", PTO_COLLECTIVE_ALLGATHER},
        {"gas_allgather", "direct", PTO_COLLECTIVE_ALLREDUCE},
        {"gas_allgather", "direct", PTO_COLLECTIVE_ALLTOALL},
        {"gas_read", "direct", PTO_COLLECTIVE_ALLREDUCE},
        {"gas_read", "direct", PTO_COLLECTIVE_ALLTOALL},
        {"node_aware", "pairwise", PTO_COLLECTIVE_ALLTOALL},
        {"node_aware", "ring", PTO_COLLECTIVE_ALLGATHER},
    };
    for (size_t i = 0; i < sizeof one_kind / sizeof *one_kind; i++)
        for (int64_t sockets = 1; sockets <= 2; sockets++) {
            const char *strategy = one_kind[i].strategy, *algorithm = one_kind[i].algorithm;
            int64_t few = visits_in_node(strategy, algorithm, one_kind[i].collective, 72, sockets);
            int64_t many = visits_in_node(strategy, algorithm, one_kind[i].collective, 576, sockets);
            double order = log2((double)many / (double)few) / 3;
            if (order > 1.1)
                fail_msg("%s by %s, %lld sockets: %lld visits on 72 GPUs and %lld on 576, power %.2f",
                         pto_collective_name(one_kind[i].collective), strategy, (long long)sockets,
                         (long long)few, (long long)many, order);
            assert_true(few > 0);
        }
}

/* The root waits for one of them after another. */
static int64_t visits_of_staged(int64_t gpus) {
    pto_machine_t machine = completed(&summit);
    pto_request_t request = request_for(PTO_COLLECTIVE_ALLGATHER, "mix", "direct", 1, gpus, 1, 1 << 20);
    request.layout.gpus_per_socket = gpus;
    request.staged_members = (pto_staged_t){gpus / 2, gpus / 4};
    return visits_of_plan(must_plan(&request), &machine);
}

TEST(prices_grow_with_the_members_that_stage_not_with_their_pairs) {
    int64_t few = visits_of_staged(72), many = visits_of_staged(576);
    if (many > 8 * few + few / 2)
        fail_msg("%lld visits on 72 GPUs and %lld on 576", (long long)few, (long long)many);
    assert_true(few > 0);
}

/* The plans of a request at several sizes, by all strategies and algorithms. `counts`: NULL, or a table. */
static int64_t visit_sizes(pto_collective_t collective, const pto_layout_t *layout,
                           const pto_counts_t *counts, void (*visit)(const pto_plan_t *plan, bool first)) {
    static const int64_t bytes[] = {4, 4096, 1000, 100000, 16 << 20};
    int64_t plans = 0;
    for (int s = 0; s < pto_strategy_count(); s++)
        for (int a = 0; a < pto_algorithm_count(); a++) {
            bool first = true;
            for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
                pto_request_t request = {.layout = *layout,
                                         .collective = collective,
                                         .datatype = PTO_DATATYPE_FLOAT,
                                         .bytes = bytes[i],
                                         .messages = 4,
                                         .counts = counts,
                                         .chunks = i % 2 ? 8 : 0,
                                         .strategy = pto_strategy_at(s),
                                         .algorithm = pto_algorithm_at(a),
                                         .by_library = true};
                pto_plan_t *plan = NULL;
                if (!(pto_strategy_with(request.strategy, request.algorithm) & 1u << collective) ||
                    pto_plan_create(&request, &plan, NULL) != PTO_OK)
                    continue;
                visit(plan, first);
                first = false;
                plans++;
                pto_plan_destroy(plan);
            }
        }
    return plans;
}

static int64_t visit_tables(pto_collective_t collective, void (*visit)(const pto_plan_t *plan, bool first)) {
    const pto_counts_t skewed = {.kind = PTO_COUNTS_SKEW, .skew = 0.9, .seed = 7};
    int64_t plans = 0;
    for (int i = 0; i < 4; i++) {
        const pto_layout_t layout = {.nodes = 1 + i / 2 * 2,
                                     .gpus_per_node = 4,
                                     .owners_per_gpu = 1,
                                     .procs_per_gpu = 1 + i % 2,
                                     .gpus_per_socket = 2};
        plans += visit_sizes(collective, &layout, &skewed, visit);
    }
    return plans;
}

static int64_t visit_layouts(void (*visit)(const pto_plan_t *plan, bool first)) {
    int64_t plans = 0, of_tables = 0;
    for (int c = 0; c < PTO_COLLECTIVE_COUNT; c++) {
        for (int i = 0; i < 6 && c != PTO_COLLECTIVE_HALO; i++) {
            const pto_layout_t layout = {.nodes = 1 + 2 * (i / 2),
                                         .gpus_per_node = 4,
                                         .owners_per_gpu = 1 + i % 2,
                                         .procs_per_gpu = 2 + i % 2,
                                         .gpus_per_socket = 2};
            plans += visit_sizes((pto_collective_t)c, &layout, NULL, visit);
        }
        if (pto_collective_is_by_pair((pto_collective_t)c) || pto_collective_is_by_owner((pto_collective_t)c))
            of_tables += visit_tables((pto_collective_t)c, visit);
    }
    assert_true(of_tables > 500);
    return plans;
}

static void compare_work(const pto_plan_t *plan, bool first) {
    static bool any;
    if (first)
        any = pto_price_work(plan) > 0;
    else if (any != (pto_price_work(plan) > 0))
        fail_msg("%s by %s: %s work with %lld bytes, unlike with other sizes", plan->request.strategy->name,
                 plan->request.algorithm->name, any ? "no" : "some", (long long)plan->request.bytes);
}

/* Therefore the plans of the first size tell which algorithms have no work to be counted. */
TEST(plans_have_work_with_all_sizes_or_with_none) { assert_true(visit_layouts(compare_work) > 1000); }

static int64_t bounds_met;

static void compare_memory(const pto_plan_t *plan, bool first) {
    double gpu_bound, host_bound;
    int64_t gpu_bytes, host_bytes;
    pto_plan_memory_bound(plan, &gpu_bound, &host_bound);
    int64_t summed_gpu_bytes, summed_host_bytes;
    pto_plan_memory(plan, &gpu_bytes, &host_bytes);
    pto_tables_memory(plan, &summit, NULL, &summed_gpu_bytes, &summed_host_bytes);
    assert_int_equal(summed_gpu_bytes, gpu_bytes);
    assert_int_equal(summed_host_bytes, host_bytes);
    if (gpu_bound < (double)gpu_bytes || host_bound < (double)host_bytes)
        fail_msg("%s by %s with %lld bytes needs %lld and %lld bytes, more than %g and %g",
                 plan->request.strategy->name, plan->request.algorithm->name, (long long)plan->request.bytes,
                 (long long)gpu_bytes, (long long)host_bytes, gpu_bound, host_bound);
    bounds_met += gpu_bytes > 0 && gpu_bound <= 8 * (double)gpu_bytes;
}

TEST(no_plan_needs_more_memory_than_its_bound) {
    assert_true(visit_layouts(compare_memory) > 1000);
    assert_true(bounds_met > 1000);
}

/* --- tables --------------------------------------------------------------------------------------------- */

static const char *const routes[] = {"cuda_aware", "three_step", "extra_message", "dup_devptr"};
enum { ROUTES = sizeof routes / sizeof *routes };

static const pto_counts_t skewed = {.kind = PTO_COUNTS_SKEW, .skew = 0.5, .seed = 1};

/* With an explanation, unless a price above a bound is worth none. Returns the visits. */
static int64_t visit_table(const char *route, const char *algorithm, int64_t nodes, pto_price_cache_t *cache,
                           double most_s, pto_price_t *price) {
    pto_request_t request = request_for(PTO_COLLECTIVE_ALLTOALLV, route, algorithm, nodes, 6, 6, 1024);
    pto_explanation_t explanation = {0};
    bool explain = isinf(most_s);
    request.counts = &skewed;
    pto_plan_t *plan = must_plan(&request);
    int64_t before = pto_price_visits;
    assert_int_equal(
        pto_price_bounded(plan, &summit, cache, most_s, price, explain ? &explanation : NULL, NULL), PTO_OK);
    int64_t visits = pto_price_visits - before;
    pto_explanation_fini(&explanation);
    return visits;
}

TEST(a_table_is_summed_once_by_rows_and_once_by_columns) {
    int64_t owners = 8 * 6, before = pto_blocks_summed;
    pto_price_t price;
    pto_price_cache_t cache = {0};
    for (int i = 0; i < 2 * ROUTES; i++) /* each twice */
        visit_table(routes[i / 2], "linear", 8, &cache, INFINITY, &price);
    assert_int_equal(pto_blocks_summed - before, 2 * owners * owners);
    pto_price_cache_fini(&cache);
    visit_table("dup_devptr", "linear", 8, NULL, INFINITY, &price);
    assert_int_equal(pto_blocks_summed - before, 4 * owners * owners);
}

/* Summit has no cost for copies between processes of a node. */
TEST(plans_whose_copies_lack_a_cost_are_refused_before_any_is_priced) {
    static const char *const refused[] = {"node_aware", "node_leaders", "staged_aware", "staged_leaders"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        pto_request_t request = request_for(PTO_COLLECTIVE_ALLTOALLV, refused[i], "linear", 64, 6, 1, 1024);
        request.counts = &skewed;
        const pto_plan_t *plan = must_plan(&request);
        int64_t before = pto_price_visits + pto_blocks_summed;
        no_price(plan, &summit, PTO_ERR_NOT_APPLICABLE);
        assert_in_range(pto_price_visits + pto_blocks_summed - before, 0, 2 * 64 * 6); /* lines of one */
    }
}

/* A process on a grid has a few partners, of however many. They are looked at once for the sums, and again
 * for copies, but for those of one block. */
TEST(a_grid_is_summed_by_its_partners) {
    const pto_counts_t stencil = {.kind = PTO_COUNTS_STENCIL,
                                  .grid = {.dim_count = 3, .dim = {8, 8, 6}, .weight = {1, 1, 1}}};
    const int64_t owners = 8 * 8 * 6;
    for (int i = 0; i < ROUTES; i++) {
        pto_request_t request = request_for(PTO_COLLECTIVE_ALLTOALLV, routes[i], "linear", 64, 6, 6, 1024);
        request.counts = &stencil;
        pto_plan_t *plan = must_plan(&request);
        int64_t before = pto_blocks_summed;
        must_price(plan, &summit);
        bool copies_one = i == 0; /* cuda_aware */
        assert_in_range(pto_blocks_summed - before, 1, (copies_one ? 2 : 4) * 6 * owners);
    }
}

/* The entries are in the sums. */
TEST(an_exchange_at_once_is_priced_process_by_process) {
    pto_price_t price;
    for (int i = 0; i < ROUTES; i++) {
        int64_t few = visit_table(routes[i], "linear", 16, NULL, INFINITY, &price);
        int64_t many = visit_table(routes[i], "linear", 64, NULL, INFINITY, &price);
        if (many > 4 * few + few / 8)
            fail_msg("%s: %lld visits on 16 nodes, %lld on 64", routes[i], (long long)few, (long long)many);
    }
}

/* The bound that rounds compete with. No round is looked at, or few if they hardly cost more. */
TEST(rounds_that_cost_more_than_messages_at_once_are_not_walked) {
    const int64_t sizes_bytes[] = {64, 1024, 16384, 1 << 20};
    for (size_t i = 0; i < sizeof sizes_bytes / sizeof *sizes_bytes; i++) {
        pto_scenario_t *scenario = scenario_at(PTO_COLLECTIVE_ALLTOALLV, 64, sizes_bytes[i]);
        scenario->counts = skewed;
        scenario->library.best = true;
        must_bind(scenario, &summit);
        int64_t owners = 64 * 6, before = pto_blocks_summed;
        pto_predictions_t predictions = must_predict(scenario, &summit, true);
        int64_t summed = pto_blocks_summed - before;
        /* Strategies that are refused look at lines of the first node. The first look after a round is behind
         * 16 of them. */
        int64_t rounds = sizes_bytes[i] < 1 << 20 ? 12 : ROUTES * 64;
        if (summed < 2 * owners * owners || summed > (2 * owners + rounds) * owners)
            fail_msg("%lld bytes: %lld entries of %lld looked at", (long long)sizes_bytes[i],
                     (long long)summed, (long long)(owners * owners));
        for (int s = 0; s < predictions.strategy_count; s++)
            if (pto_prediction_at(&predictions, 0, s)->applicable)
                assert_string_equal(pto_prediction_at(&predictions, 0, s)->algorithm->name, "linear");
    }
}

static int64_t visit_stencil(const char *route, int64_t nodes, int64_t chunks) {
    pto_plan_t *plan = NULL;
    pto_price_t price;
    pto_scenario_t *scenario = scenario_at(PTO_COLLECTIVE_ALLTOALLV, nodes, 65536);
    scenario->counts = (pto_counts_t){.kind = PTO_COUNTS_STENCIL,
                                      .grid = {.dim_count = 2, .dim = {nodes, 6}, .weight = {1, 1}}};
    scenario->implementation = PTO_IMPLEMENTATION_ISEND_IRECV;
    scenario->chunks = chunks;
    scenario->layout.procs_per_gpu = 6;
    must_bind(scenario, &summit);
    int64_t before = pto_price_visits;
    assert_int_equal(pto_plan_choose(scenario, &summit, 0, strategy_named(route), &plan, &price, NULL, NULL),
                     PTO_OK);
    pto_plan_destroy(plan);
    return pto_price_visits - before;
}

TEST(chunks_of_a_sparse_table_are_priced_by_its_entries) {
    const char *const cut[] = {"three_step", "dup_devptr"};
    for (int i = 0; i < 2; i++) {
        int64_t few = visit_stencil(cut[i], 16, 32), many = visit_stencil(cut[i], 64, 32);
        if (many > 4 * few + few / 2)
            fail_msg("%s: %lld visits on 16 nodes, %lld on 64", cut[i], (long long)few, (long long)many);
    }
    /* A chunk is a group of partners, and most processes have none in it. */
    int64_t few = visit_stencil("three_step", 64, 32), many = visit_stencil("three_step", 64, 256);
    if (many > 2 * few)
        fail_msg("%lld visits in 32 chunks, %lld in 256", (long long)few, (long long)many);
}

/* What is counted beforehand. */
static int64_t counted_work_of(const pto_counts_t *counts, const char *route, const char *algorithm,
                               const pto_machine_t *machine) {
    pto_scenario_t *scenario = scenario_at(PTO_COLLECTIVE_ALLTOALLV, 64, 1024);
    scenario->counts = *counts;
    scenario->layout.procs_per_gpu = 6;
    must_bind(scenario, machine);
    scenario->library.name = pto_text_copy(algorithm);
    return pto_cell_work(scenario, machine, 0, strategy_named(route));
}

static int64_t counted_work(const char *route, const char *algorithm, const pto_machine_t *machine) {
    return counted_work_of(&skewed, route, algorithm, machine);
}

TEST(the_work_of_a_table_is_that_of_its_sums_its_rounds_or_what_is_gathered) {
    const pto_machine_t known = completed(&summit);
    pto_machine_t shared = summit;
    shared.both_ways[PTO_SPACE_CPU] = (pto_param_t){.value = 0.5, .line = 1};
    const int64_t owners = 64 * 6, entries = owners * owners;
    assert_int_equal(counted_work("cuda_aware", "pairwise", &summit),
                     entries / 64 + (entries - owners + 127) / 128);
    assert_int_equal(counted_work("dup_devptr", "pairwise", &summit),
                     entries / 64 + (6 * (entries - owners) + 127) / 128);
    assert_int_equal(counted_work("cuda_aware", "pairwise", &shared), entries - owners);
    assert_int_equal(counted_work("cuda_aware", "linear", &summit), entries / 128 + 2 * owners);
    const pto_counts_t stencil = {.kind = PTO_COUNTS_STENCIL,
                                  .grid = {.dim_count = 3, .dim = {8, 8, 6}, .weight = {1, 1, 1}}};
    assert_int_equal(counted_work_of(&stencil, "cuda_aware", "linear", &summit),
                     6 * owners / 128 + 2 * owners);
    assert_in_range(counted_work("dup_devptr", "linear", &summit), entries / 128 + 6 * owners,
                    entries / 128 + 60 * owners);
    assert_int_equal(counted_work("node_aware", "linear", &known), entries / 16);
    assert_int_equal(counted_work("node_aware", "linear", &summit), 0); /* refused: no peer.on_socket */
}

/* As `portolan map` asks for it, with all of its mappers. */
TEST(prices_of_18_mappings_of_4096_processes_are_within_the_limit) {
    int64_t work;
    pto_scenario_t *scenario = scenario_at(PTO_COLLECTIVE_ALLTOALLV, 1024, 65536);
    scenario->layout.gpus_per_node = 4;
    scenario->counts = (pto_counts_t){.kind = PTO_COUNTS_STENCIL,
                                      .grid = {.dim_count = 3, .dim = {16, 16, 16}, .weight = {1, 1, 1}}};
    must_bind(scenario, &summit);
    assert_int_equal(pto_check_work(scenario, &summit, 18, &work, NULL), PTO_OK);
    assert_true(work > 4096 * 4096 / 128);
}

TEST(one_process_tells_that_rounds_cost_too_much) {
    for (int i = 0; i < ROUTES; i++) {
        pto_price_t price, bounded;
        int64_t rounds = 16 * 6 - 1, ranks = 16 * 6 * 6;
        int64_t all = visit_table(routes[i], "pairwise", 16, NULL, INFINITY, &price);
        assert_true(all >= rounds * 16 * 6);
        int64_t few = visit_table(routes[i], "pairwise", 16, NULL, price.seconds / 2, &bounded);
        assert_true(isinf(bounded.seconds));
        if (few > rounds + 40 * ranks || few > all / 2)
            fail_msg("%s: %lld visits of %lld", routes[i], (long long)few, (long long)all);
    }
}

int main(void) { return run_all_tests(read_summit, NULL); }
