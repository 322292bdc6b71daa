/* Stages of messages alone, of plans with a table of byte counts, cost what they cost message by message. */
#include "built.h"
#include "made_up.h"
#include "must.h"
#include "plan_request.h"
#include "portolan/price.h"
#include "portolan/strategy.h"
#include "price/bounded.h"
#include "price/table.h"
#include "priced.h"
#include "sample.h"
#include "scenario/skew.h"
#include "summit.h"
#include "tape/tape.h"
#include "test.h"

typedef struct {
    pto_price_t price;
    pto_explanation_t explanation;
} priced_t;

static pto_price_cache_t *shared; /* by all prices; NULL: each has its own */

/* While a tape records, messages are charged one by one. */
static priced_t price_of(const pto_plan_t *plan, const pto_machine_t *machine, bool one_by_one) {
    priced_t priced = {.price = {0}};
    pto_tape_t *tape = one_by_one ? pto_tape_begin() : NULL;
    assert_int_equal(
        pto_price_bounded(plan, machine, shared, INFINITY, &priced.price, &priced.explanation, NULL), PTO_OK);
    if (one_by_one)
        pto_tape_destroy(pto_tape_end(tape, priced.price.seconds));
    return priced;
}

/* The terms of the same stage and parameter: messages of two distances may have one cost. */
static pto_term_t terms_like(const pto_explanation_t *explanation, const pto_term_t *term) {
    pto_term_t sum = {.count = 0};
    for (int i = 0; i < explanation->count; i++) {
        const pto_term_t *other = &explanation->term[i];
        if (strcmp(other->stage, term->stage) != 0 || other->param != term->param ||
            strcmp(other->key, term->key) != 0)
            continue;
        sum.count += other->count;
        sum.seconds += other->seconds;
    }
    return sum;
}

static void assert_same(const priced_t *a, const priced_t *b) {
    assert_near(a->price.seconds, b->price.seconds, 1e-12);
    assert_near(a->price.low_s, b->price.low_s, 1e-12);
    assert_int_equal(a->explanation.count, b->explanation.count);
    for (int i = 0; i < a->explanation.count; i++) {
        const pto_term_t *term = &a->explanation.term[i];
        pto_term_t one = terms_like(&a->explanation, term), other = terms_like(&b->explanation, term);
        assert_near(one.count, other.count, 1e-12);
        assert_near(one.seconds, other.seconds, 1e-12);
    }
    for (int what = 0; what < PTO_OCCUPIED_COUNT; what++)
        assert_near(a->explanation.occupied_s[what], b->explanation.occupied_s[what], 1e-12);
}

/* Without an explanation, too: the sends are then taken once. */
static void compare(const pto_plan_t *plan, const pto_machine_t *machine) {
    priced_t sums = price_of(plan, machine, false), one_by_one = price_of(plan, machine, true);
    assert_same(&sums, &one_by_one);
    assert_near(must_price(plan, machine).seconds, sums.price.seconds, 1e-12);
    pto_explanation_fini(&sums.explanation);
    pto_explanation_fini(&one_by_one.explanation);
}

/* A walk ends early only where the price exceeds its bound. */
static void compare_bounded(const pto_plan_t *plan, const pto_machine_t *machine) {
    pto_price_t bounded;
    pto_price_t price = must_price(plan, machine);
    assert_int_equal(pto_price_bounded(plan, machine, NULL, price.seconds, &bounded, NULL, NULL), PTO_OK);
    assert_memory_equal(&bounded.seconds, &price.seconds, sizeof price.seconds);
    assert_int_equal(pto_price_bounded(plan, machine, NULL, price.seconds * (1 - 1e-9), &bounded, NULL, NULL),
                     PTO_OK);
    assert_true(price.seconds == 0 || isinf(bounded.seconds));
    pto_explanation_t plain = {0}, explained = {0};
    assert_int_equal(pto_price(plan, machine, &price, &plain, NULL), PTO_OK);
    assert_int_equal(pto_price_bounded(plan, machine, NULL, price.seconds, &bounded, &explained, NULL),
                     PTO_OK);
    assert_same(&(priced_t){price, plain}, &(priced_t){bounded, explained});
    pto_explanation_fini(&plain);
    pto_explanation_fini(&explained);
}

typedef struct {
    const pto_machine_t *machine;
    const pto_counts_t *counts;
    const pto_mapping_t *mapping;
    pto_layout_t layout;
    pto_split_t split;
    bool by_library;
    int64_t bytes;
} case_t;

/* Returns how many plans of a sample were compared. */
static int compare_strategies(const case_t *of) {
    static int seen;
    int compared = 0;
    for (int s = 0; s < pto_strategy_count(); s++)
        for (int a = 0; a < pto_algorithm_count(); a++) {
            pto_request_t request = {.layout = of->layout,
                                     .collective = PTO_COLLECTIVE_ALLTOALLV,
                                     .split = of->split,
                                     .datatype = PTO_DATATYPE_BYTE,
                                     .bytes = of->bytes,
                                     .counts = of->counts,
                                     .mapping = of->mapping,
                                     .strategy = pto_strategy_at(s),
                                     .algorithm = pto_algorithm_at(a),
                                     .by_library = of->by_library};
            pto_plan_t *plan = NULL;
            if (!(request.strategy->collectives & 1u << request.collective) ||
                !(request.algorithm->collectives & 1u << request.collective) || seen++ % test_sample() != 0 ||
                pto_plan_create(&request, &plan, NULL) != PTO_OK)
                continue;
            pto_price_t price;
            if (pto_price(plan, of->machine, &price, NULL, NULL) == PTO_OK) {
                compare(plan, of->machine);
                compare_bounded(plan, of->machine);
                compared++;
            }
            pto_plan_destroy(plan);
        }
    return compared;
}

static const pto_layout_t layouts[] = {
    {.nodes = 4, .gpus_per_node = 3, .owners_per_gpu = 1, .procs_per_gpu = 4, .gpus_per_socket = 2},
    {.nodes = 3, .gpus_per_node = 2, .owners_per_gpu = 2, .procs_per_gpu = 3, .gpus_per_socket = 1},
    {.nodes = 2, .gpus_per_node = 6, .owners_per_gpu = 1, .procs_per_gpu = 1, .gpus_per_socket = 3},
    {.nodes = 3, .gpus_per_node = 2, .owners_per_gpu = 2, .procs_per_gpu = 2, .gpus_per_socket = 2},
    {.nodes = 1, .gpus_per_node = 12, .owners_per_gpu = 1, .procs_per_gpu = 2, .gpus_per_socket = 6},
    {.nodes = 12, .gpus_per_node = 1, .owners_per_gpu = 1, .procs_per_gpu = 5, .gpus_per_socket = 1}};

enum { LAYOUTS = sizeof layouts / sizeof *layouts, OWNERS = 12 };

/* By shares and by destinations, by us and by the library. */
static int compare_ways(case_t of) {
    int compared = 0;
    for (int i = 0; i < 4; i++) {
        of.split = i % 2 ? PTO_SPLIT_DESTINATIONS : PTO_SPLIT_BYTES;
        of.by_library = i / 2;
        compared += compare_strategies(&of);
    }
    return compared;
}

/* Entries of no bytes, of a few and of many. */
static void fill_matrix(int64_t *matrix, uint64_t seed) {
    for (int i = 0; i < OWNERS * OWNERS; i++) {
        uint64_t hash = pto_mix(seed + (uint64_t)i);
        matrix[i] = hash % 5 == 0 ? 0 : hash % 5 == 1 ? (int64_t)(hash >> 40) % 300 : (int64_t)(hash >> 44);
    }
}

/* Random tables, and grids where they are asked for: processes on a grid often end at the same time, and then
 * rounding decides which of them is explained. */
static int compare_tables(const pto_machine_t *machine, bool grids) {
    int64_t matrix[OWNERS * OWNERS], process[OWNERS];
    const pto_counts_t counts[] = {
        {.kind = PTO_COUNTS_SKEW, .skew = 0.5, .seed = 1},
        {.kind = PTO_COUNTS_SKEW, .skew = 1, .seed = 3},
        {.kind = PTO_COUNTS_MATRIX, .order = OWNERS, .matrix = matrix},
        {.kind = PTO_COUNTS_STENCIL, .grid = {.dim_count = 2, .dim = {3, 4}, .wrap = {1}, .weight = {2, 1}}},
        {.kind = PTO_COUNTS_STENCIL, .grid = {.dim_count = 3, .dim = {2, 3, 2}, .weight = {1, 0, 3}}},
        {.kind = PTO_COUNTS_GROUPS, .grid = {.dim_count = 2, .dim = {4, 3}, .along = 0}}};
    const int64_t sizes_bytes[] = {1, 3000, 300000};
    const pto_mapping_t mapping = {.count = OWNERS, .process = process};
    int compared = 0, first = grids ? 3 : 0;
    fill_matrix(matrix, 7);
    for (int i = 0; i < OWNERS; i++)
        process[i] = 5 * i % OWNERS;
    for (int i = 0; i < 18 * LAYOUTS; i++)
        compared += compare_ways((case_t){.machine = machine,
                                          .counts = &counts[first + (i % 6 < 3 ? i % 3 : 2 - i % 3)],
                                          .mapping = i % 6 < 3 ? NULL : &mapping,
                                          .bytes = sizes_bytes[i / 6 % 3],
                                          .layout = layouts[i / 18]});
    print_message("%d plans compared\n", compared);
    return compared;
}

TEST(sums_of_messages_are_those_of_messages_one_by_one) {
    pto_machine_t machine = completed(&summit);
    assert_true(compare_tables(&machine, false) > 3000 / test_sample());
}

/* --- processes that take no part in the rounds ---------------------------------------------------------- */

static int own_buffer(pto_builder_t *builder, const pto_request_t *request, pto_space_t space) {
    pto_buffer_t own =
        owners_blocks(space == PTO_SPACE_GPU ? "device" : "host", PTO_ROLE_TEMPORARY, 64, request->bytes);
    own.space = space;
    own.core_count = request->layout.procs_per_gpu;
    own.group = PTO_GROUP_CORES;
    return pto_build_buffer(builder, own);
}

/* All processes copy before the owners' exchange and after it. */
static void build_bystanders(pto_builder_t *builder, const pto_request_t *request) {
    int64_t owners = pto_layout_owner_count(&request->layout);
    pto_buffer_t user = owners_blocks("in", PTO_ROLE_IN, owners, request->bytes);
    user.core_count = request->layout.owners_per_gpu;
    user.blocks = PTO_BLOCKS_ROW;
    pto_exchange_t exchange = {.group = pto_build_group(builder, PTO_GROUP_OWNERS, 0),
                               .n = owners,
                               .core_count = request->layout.owners_per_gpu};
    pto_exchange_t all = {.group = pto_build_group(builder, PTO_GROUP_CORES, 0),
                          .n = request->layout.nodes * request->layout.gpus_per_node,
                          .core_count = request->layout.procs_per_gpu};
    exchange.in = pto_build_buffer(builder, user);
    user.name = "out";
    user.role = PTO_ROLE_OUT;
    user.blocks = PTO_BLOCKS_COLUMN;
    exchange.out = pto_build_buffer(builder, user);
    int own[] = {own_buffer(builder, request, PTO_SPACE_GPU), own_buffer(builder, request, PTO_SPACE_CPU)};
    for (int i = 0; i < 2; i++) {
        add_copy_stage(builder, i == 0 ? "before" : "after", pto_step_of(PTO_STEP_COPY, &all),
                       pto_slice_all(builder, own[i]), pto_slice_all(builder, own[1 - i]));
        if (i == 0)
            pto_build_exchange(builder, request, &exchange);
    }
}

/* What follows the rounds is priced once beforehand. */
TEST(the_bound_leaves_processes_outside_of_the_rounds_as_they_were) {
    pto_machine_t machine = completed(&summit);
    const pto_counts_t counts = {.kind = PTO_COUNTS_SKEW, .skew = 0.5, .seed = 1};
    pto_request_t request = {.layout = layouts[0],
                             .collective = PTO_COLLECTIVE_ALLTOALLV,
                             .datatype = PTO_DATATYPE_BYTE,
                             .counts = &counts,
                             .strategy = strategy_made_of(PTO_COLLECTIVE_ALLTOALLV, build_bystanders)};
    request.algorithm = algorithm_named("pairwise", request.collective);
    for (request.bytes = 64; request.bytes <= 1 << 20; request.bytes *= 16) {
        pto_plan_t *plan = must_plan(&request);
        compare(plan, &machine);
        compare_bounded(plan, &machine);
    }
}

/* --- other machines ------------------------------------------------------------------------------------- */

/* Messages behind the first one cost less, and their cost has limits of its own. */
TEST(gaps_begin_behind_the_first_message) {
    pto_machine_t machine = completed(&summit);
    pto_cost_row_t row[PTO_SPACE_COUNT][2];
    for (int space = 0; space < PTO_SPACE_COUNT; space++) {
        const pto_postal_t *like = &machine.messages[space][PTO_LEVEL_OFF_NODE].row[0].postal;
        row[space][0] = (pto_cost_row_t){.below_bytes = 900, .postal = *like};
        row[space][1] = (pto_cost_row_t){.below_bytes = INT64_MAX, .postal = *like};
        row[space][0].postal.alpha_s.value /= 3;
        row[space][1].postal.alpha_s.value /= 2;
        for (int level = 0; level < PTO_LEVEL_COUNT; level++)
            machine.gap[space][level] = (pto_cost_table_t){.count = 2, .row = row[space]};
    }
    assert_true(compare_tables(&machine, false) > 3000 / test_sample());
}

TEST(grids_are_summed_by_their_partners) {
    pto_machine_t machine = completed(&summit);
    assert_true(compare_tables(&machine, true) > 3000 / test_sample());
}

TEST(limits_of_nodes_hold_for_sums) {
    pto_machine_t machine = completed(&summit);
    for (int space = 0; space < PTO_SPACE_COUNT; space++)
        machine.injection_s_per_message[space] = (pto_param_t){.value = 2e-7, .line = 1};
    machine.contention = (pto_param_t){.value = 0.7, .line = 1};
    assert_true(compare_tables(&machine, false) > 3000 / test_sample());
}

TEST(messages_with_a_latency_are_summed) {
    pto_machine_t machine = completed(&summit);
    for (int space = 0; space < PTO_SPACE_COUNT; space++)
        machine.latency_s[space] = (pto_param_t){.value = 8e-7, .line = 1};
    assert_true(compare_tables(&machine, false) > 3000 / test_sample());
}

/* Sums that are kept from one price to the next are those of the request. */
TEST(kept_sums_are_found_anew_for_other_tables) {
    pto_machine_t machine = completed(&summit);
    pto_price_cache_t cache = {0};
    shared = &cache;
    assert_true(compare_tables(&machine, false) > 3000 / test_sample());
    shared = NULL;
    pto_price_cache_fini(&cache);
}

/* --- sparse tables -------------------------------------------------------------------------------------- */

enum { SPARSE_OWNERS = 32, SPARSE_KINDS = 4 };

/* Two of a process's messages are empty, and some processes have none at all. */
static void fill_sparse_matrix(int64_t *matrix) {
    for (int source = 0; source < SPARSE_OWNERS; source++)
        for (int i = 0; i < 4 && source % 7 != 3; i++) {
            uint64_t hash = pto_mix((uint64_t)(4 * source + i));
            matrix[source * SPARSE_OWNERS + (int)(hash % SPARSE_OWNERS)] =
                (int64_t)(hash >> 44) % 300000 * (i > 1);
        }
}

/* Samples numbers of chunks: below, at and above the number of partners, where blocks are cut. */
static int compare_chunks(const case_t *of, bool by_pattern) {
    static int seen;
    const int64_t chunks[] = {1, 2, 3, 8, SPARSE_OWNERS - 2, SPARSE_OWNERS - 1, SPARSE_OWNERS, 100};
    static const char *const names[] = {"cuda_aware", "three_step", "dup_devptr", "extra_message"};
    int compared = 0;
    for (size_t i = 0; i < 4 * sizeof chunks / sizeof *chunks; i++) {
        pto_request_t request = {.layout = of->layout,
                                 .collective = PTO_COLLECTIVE_ALLTOALLV,
                                 .split = of->split,
                                 .datatype = PTO_DATATYPE_BYTE,
                                 .bytes = by_pattern ? of->bytes : 1,
                                 .counts = of->counts,
                                 .mapping = of->mapping,
                                 .chunks = chunks[i / 4]};
        pto_plan_t *plan = NULL;
        carry_out_by(&request, names[i % 4], "linear");
        if (seen++ % test_sample() != 0 || pto_plan_create(&request, &plan, NULL) != PTO_OK)
            continue;
        compare(plan, of->machine);
        compared++;
        pto_plan_destroy(plan);
    }
    return compared;
}

/* While a tape records, all entries of a table are looked at. */
static int compare_sparse(const pto_machine_t *machine) {
    static const pto_layout_t sparse[] = {
        {.nodes = 8, .gpus_per_node = 4, .owners_per_gpu = 1, .procs_per_gpu = 3, .gpus_per_socket = 2},
        {.nodes = 4, .gpus_per_node = 4, .owners_per_gpu = 2, .procs_per_gpu = 2, .gpus_per_socket = 2}};
    int64_t matrix[SPARSE_OWNERS * SPARSE_OWNERS] = {0}, process[SPARSE_OWNERS];
    const pto_counts_t counts[SPARSE_KINDS] = {
        {.kind = PTO_COUNTS_STENCIL, .grid = {.dim_count = 2, .dim = {8, 4}, .weight = {1, 3}}},
        {.kind = PTO_COUNTS_STENCIL, .grid = {.dim_count = 1, .dim = {32}, .weight = {1}, .wrap = {true}}},
        {.kind = PTO_COUNTS_GROUPS, .grid = {.dim_count = 2, .dim = {16, 2}, .along = 1}},
        {.kind = PTO_COUNTS_MATRIX, .order = SPARSE_OWNERS, .matrix = matrix}};
    const pto_mapping_t mapping = {.count = SPARSE_OWNERS, .process = process};
    int compared = 0;
    fill_sparse_matrix(matrix);
    for (int i = 0; i < SPARSE_OWNERS; i++)
        process[i] = 5 * i % SPARSE_OWNERS;
    for (int i = 0; i < 8 * SPARSE_KINDS; i++)
        compared += compare_chunks(&(case_t){.machine = machine,
                                             .counts = &counts[i / 8],
                                             .mapping = i % 2 ? &mapping : NULL,
                                             .bytes = 50000,
                                             .split = i / 2 % 2 ? PTO_SPLIT_DESTINATIONS : PTO_SPLIT_BYTES,
                                             .layout = sparse[i / 4 % 2]},
                                   i / 8 < 3);
    print_message("%d plans compared\n", compared);
    return compared;
}

TEST(sparse_tables_cost_what_they_do_entry_by_entry) {
    pto_machine_t machine = completed(&summit);
    for (int both_ways = 0; both_ways < 2; both_ways++) {
        for (int space = 0; space < PTO_SPACE_COUNT; space++)
            machine.both_ways[space] = (pto_param_t){.value = 0.5, .line = both_ways};
        assert_true(compare_sparse(&machine) > 700 / test_sample());
    }
}

int main(void) { return run_all_tests(read_summit, NULL); }
