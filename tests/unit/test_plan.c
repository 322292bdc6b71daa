/* Plans: every strategy with every algorithm is proved correct on every small layout. Also the arithmetic
 * that all interpreters use. */
#include "must.h"
#include "plan/plan_internal.h"
#include "portolan/check.h"
#include "portolan/plan.h"
#include "portolan/strategy.h"
#include "sample.h"
#include "test.h"

/* How many plans were proved, by strategy, algorithm and collective. */
enum { KNOWN_MAX = 64 };
static int64_t proved[KNOWN_MAX][KNOWN_MAX][PTO_COLLECTIVE_COUNT];
static int64_t proved_count;

static void note_proved(const pto_request_t *request) {
    int strategy = 0, algorithm = 0;
    while (pto_strategy_at(strategy) != request->strategy)
        strategy++;
    while (pto_algorithm_at(algorithm) != request->algorithm)
        algorithm++;
    proved[strategy][algorithm][request->collective]++;
    proved_count++;
}

static const char *describe(const pto_request_t *request, const pto_error_t *err) {
    static char text[1024];
    const pto_layout_t *layout = &request->layout;
    snprintf(text, sizeof text,
             "%s by %s and %s, split %s, %lld nodes x %lld GPUs x %lld owners of %lld cores, %lld bytes, "
             "%lld messages, unique %lld, %lld/%lld staged, counts %d, %lld chunks: %s",
             pto_collective_name(request->collective), request->strategy->name, request->algorithm->name,
             pto_split_name(request->split), (long long)layout->nodes, (long long)layout->gpus_per_node,
             (long long)layout->owners_per_gpu, (long long)layout->procs_per_gpu, (long long)request->bytes,
             (long long)request->messages, (long long)request->unique_bytes,
             (long long)request->staged_members.in, (long long)request->staged_members.out,
             request->counts ? (int)request->counts->kind : -1, (long long)request->chunks, err->message);
    return text;
}

/* A temporary that no step touches would be memory for nothing. One process exchanges nothing, nor do those
 * of a halo without neighbors. */
static const char *unused_buffer(const pto_plan_t *plan) {
    const pto_request_t *request = pto_plan_request(plan);
    if (pto_layout_owner_count(&request->layout) == 1 || request->collective == PTO_COLLECTIVE_HALO)
        return NULL;
    for (int b = 0; b < plan->buffers.count; b++) {
        bool used = pto_plan_buffer(plan, b)->role != PTO_ROLE_TEMPORARY;
        for (int i = 0; i < plan->steps.count; i++) {
            const pto_step_t *step = pto_plan_step(plan, i);
            bool sends = step->kind == PTO_STEP_SEND, receives = step->kind == PTO_STEP_RECV,
                 both = step->kind == PTO_STEP_COPY || step->kind == PTO_STEP_REDUCE;
            used = used || ((sends || both) && step->source.buffer == b) ||
                   ((receives || both) && step->target.buffer == b);
        }
        if (!used)
            return pto_plan_buffer(plan, b)->name;
    }
    return NULL;
}

/* Build and check a plan; one that does not apply must say why. */
static void prove(const pto_request_t *request) {
    pto_error_t err = {0};
    pto_plan_t *plan = NULL;
    pto_status_t status = pto_plan_create(request, &plan, &err);
    if (status == PTO_ERR_NOT_APPLICABLE) {
        assert_true(err.message[0] != '\0');
        return;
    }
    if (status != PTO_OK)
        fail_msg("%s", describe(request, &err));
    if (unused_buffer(plan)) {
        pto_error_set(&err, PTO_ERR_RANGE, "nothing uses the buffer '%s'", unused_buffer(plan));
        fail_msg("%s", describe(request, &err));
    }
    pto_check_report_t report;
    status = pto_check(plan, &report, &err);
    pto_plan_destroy(plan);
    if (status != PTO_OK)
        fail_msg("%s", describe(request, &err));
    assert_int_equal(report.ranks, pto_layout_rank_count(&request->layout));
    note_proved(request);
}

typedef void (*with_request_t)(pto_request_t request);

/* As a whole, in two and three chunks, and in more than there are bytes. */
static void with_chunks(pto_request_t request, with_request_t visit) {
    const int64_t chunks[] = {0, 2, 3, request.bytes + 2};
    bool cuts = pto_request_may_be_cut(&request) && request.collective != PTO_COLLECTIVE_PAIR;
    bool few = request.bytes < 2000 && pto_layout_owner_count(&request.layout) <= 16;
    int tries = request.chunks > 0 || !cuts ? 1 : few ? 4 : 3;
    for (int i = 0; i < tries; i++) {
        pto_request_t cut = request;
        cut.chunks = request.chunks > 0 ? request.chunks : chunks[i];
        visit(cut);
    }
}

/* Every pair of a strategy and an algorithm that know the collective, with both splits where one splits. */
static void with_every_route(pto_request_t request, with_request_t visit) {
    for (int s = 0; s < pto_strategy_count(); s++)
        for (int a = 0; a < pto_algorithm_count(); a++) {
            request.strategy = pto_strategy_at(s);
            request.algorithm = pto_algorithm_at(a);
            /* The users' own buffers in host memory can only be shared by the library's code. */
            request.by_library = request.strategy->in_host && request.algorithm->shares_host;
            if (!(pto_strategy_with(request.strategy, request.algorithm) & 1u << request.collective))
                continue;
            for (int split = 0; split < (request.strategy->splits ? PTO_SPLIT_COUNT : 1); split++) {
                request.split = (pto_split_t)split;
                with_chunks(request, visit);
                if (!request.algorithm->segmented)
                    continue;
                request.segment_bytes = request.bytes / 3 + 1;
                with_chunks(request, visit);
                request.segment_bytes = 0;
            }
        }
}

/* Layouts up to 4 x 4 x 4 (or a sample of them), each with one owner per GPU and with as many as cores, and
 * with data in host memory; nodes of up to eight GPUs.
 */
static void with_every_layout(pto_request_t request, with_request_t visit) {
    for (int64_t shape = 0; shape < 64; shape += test_sample())
        for (int many = 0; many < 2; many++) {
            pto_layout_t layout = {.nodes = 1 + shape / 16,
                                   .gpus_per_node = 1 + shape / 4 % 4,
                                   .procs_per_gpu = 1 + shape % 4,
                                   .owners_per_gpu = 1,
                                   .gpus_per_socket = 2};
            if (many && layout.procs_per_gpu == 1)
                continue;
            if (many)
                layout.owners_per_gpu = layout.procs_per_gpu;
            request.layout = layout;
            visit(request);
            bool again = layout.procs_per_gpu > 1; /* of all shapes, the one of one process comes, too */
            request.layout.in_host = true;
            request.layout.procs_per_gpu = request.layout.owners_per_gpu = 1;
            if (!many && (!again || test_sample() > 1))
                visit(request);
        }
    /* Some strategies end at the node. */
    for (int64_t gpus = 5; gpus <= 8; gpus++)
        for (int64_t cores = 1; cores <= 2; cores++) {
            request.layout = (pto_layout_t){1, gpus, 1, cores, gpus / 2, false};
            visit(request);
            request.layout.in_host = true;
            if (cores == 1)
                visit(request);
        }
}

static void with_sizes(pto_request_t request, const int64_t *bytes, size_t count, with_request_t visit) {
    for (size_t i = 0; i < count; i++) {
        request.bytes = bytes[i];
        visit(request);
    }
}

/* Strategies that stage, with every number of staged members, in and out; large groups with a few. Plans with
 * either nodes do not depend on them. */
static void prove_staged(pto_request_t request) {
    bool fixed = request.strategy->stages && !request.strategy->fixed;
    int64_t most = fixed ? request.strategy->stages(&request) : 1;
    bool several = request.layout.nodes > 1; /* each node does the same */
    int64_t step = most > 8 ? most * most / 7 : several ? most + 1 : 1;
    for (int64_t pair = 0; pair < most * most; pair += step) {
        request.staged_members = (pto_staged_t){pair / most, pair % most};
        prove(&request);
    }
}

static void prove_routes(pto_request_t request) { with_every_route(request, prove_staged); }

/* --- conformance ---------------------------------------------------------------------------------------- */

/* Nothing, less than an element, one element, fewer and more elements than processes, a ragged number of
 * bytes. */
static void allreduce_sizes(pto_request_t request) {
    static const int64_t bytes[] = {0, 1, 4, 28, 97, 1024};
    with_sizes(request, bytes, sizeof bytes / sizeof *bytes, prove_routes);
}

static void alltoall_sizes(pto_request_t request) {
    static const int64_t bytes[] = {0, 1, 7, 12, 131072};
    with_sizes(request, bytes, sizeof bytes / sizeof *bytes, prove_routes);
}

TEST(collectives_of_equal_parts_are_right_on_every_small_layout) {
    static const struct {
        pto_collective_t collective;
        with_request_t with_sizes;
    } cases[] = {
        {PTO_COLLECTIVE_ALLREDUCE, allreduce_sizes}, {PTO_COLLECTIVE_REDUCE, allreduce_sizes},
        {PTO_COLLECTIVE_BROADCAST, allreduce_sizes}, {PTO_COLLECTIVE_REDUCE_SCATTER, allreduce_sizes},
        {PTO_COLLECTIVE_ALLTOALL, alltoall_sizes},   {PTO_COLLECTIVE_ALLGATHER, alltoall_sizes},
        {PTO_COLLECTIVE_GATHER, alltoall_sizes},     {PTO_COLLECTIVE_SCATTER, alltoall_sizes}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        with_every_layout((pto_request_t){.collective = cases[i].collective, .datatype = PTO_DATATYPE_FLOAT},
                          cases[i].with_sizes);
}

static void alltoallv_sizes(pto_request_t request) {
    static const int64_t bytes[] = {0, 1, 23, 64};
    with_sizes(request, bytes, sizeof bytes / sizeof *bytes, prove_routes);
}

TEST(alltoallv_is_right_with_equal_counts) {
    pto_counts_t counts = {.kind = PTO_COUNTS_EQUAL};
    pto_request_t request = {
        .collective = PTO_COLLECTIVE_ALLTOALLV, .datatype = PTO_DATATYPE_DOUBLE, .counts = &counts};
    with_every_layout(request, alltoallv_sizes);
    request.implementation = PTO_IMPLEMENTATION_ISEND_IRECV;
    request.counts = NULL;
    request.layout = (pto_layout_t){3, 2, 1, 4, 2, false};
    alltoallv_sizes(request);
}

TEST(alltoallv_is_right_with_skewed_counts) {
    pto_counts_t counts = {.kind = PTO_COUNTS_SKEW, .skew = 1.0, .seed = 20240229};
    pto_request_t request = {
        .collective = PTO_COLLECTIVE_ALLTOALLV, .datatype = PTO_DATATYPE_BYTE, .counts = &counts};
    with_every_layout(request, alltoallv_sizes);
    counts.skew = 0.25;
    request.implementation = PTO_IMPLEMENTATION_ISEND_IRECV;
    request.layout = (pto_layout_t){3, 3, 1, 3, 3, false};
    alltoallv_sizes(request);
}

/* Many pairs say nothing, some a lot. */
TEST(alltoallv_is_right_with_a_sparse_matrix) {
    int64_t matrix[144];
    for (int64_t i = 0; i < 144; i++)
        matrix[i] = i % 5 == 0 ? 1 + i * i % 89 : 0;
    pto_counts_t counts = {.kind = PTO_COUNTS_MATRIX, .order = 12, .matrix = matrix};
    pto_request_t request = {.collective = PTO_COLLECTIVE_ALLTOALLV, .bytes = 1, .counts = &counts};
    static const pto_layout_t layout[] = {
        {3, 4, 1, 1, 2, false}, {4, 3, 1, 4, 1, false}, {2, 6, 1, 3, 3, false}, {2, 2, 3, 3, 2, false}};
    for (size_t i = 0; i < sizeof layout / sizeof *layout; i++) {
        request.layout = layout[i];
        prove_routes(request);
    }
}

TEST(allgatherv_is_right_with_equal_and_with_skewed_counts) {
    pto_counts_t counts = {.kind = PTO_COUNTS_EQUAL};
    pto_request_t request = {
        .collective = PTO_COLLECTIVE_ALLGATHERV, .datatype = PTO_DATATYPE_FLOAT, .counts = &counts};
    with_every_layout(request, alltoallv_sizes);
    counts = (pto_counts_t){.kind = PTO_COUNTS_SKEW, .skew = 1.0, .seed = 20261123};
    with_every_layout(request, alltoallv_sizes);
    request.implementation = PTO_IMPLEMENTATION_ISEND_IRECV;
    request.layout = (pto_layout_t){3, 3, 1, 3, 3, false};
    alltoallv_sizes(request);
    request.counts = NULL;
    alltoallv_sizes(request);
}

/* One process has nearly everything, many nothing; whole nodes and all of them have nothing. */
TEST(allgatherv_is_right_with_lists) {
    static const pto_layout_t layout[] = {{3, 4, 1, 1, 2, false},
                                          {4, 3, 1, 4, 1, false},
                                          {2, 6, 1, 3, 3, false},
                                          {2, 2, 3, 3, 2, false},
                                          {1, 12, 1, 2, 4, false}};
    static int64_t list[][12] = {
        {0, 0, 100003}, {1, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 64}, {5, 4, 3, 2, 1, 0, 11, 10, 9, 8, 7, 6}, {0}};
    pto_counts_t counts = {.kind = PTO_COUNTS_LIST, .order = 12};
    pto_request_t request = {.collective = PTO_COLLECTIVE_ALLGATHERV, .bytes = 1, .counts = &counts};
    for (size_t i = 0; i < sizeof layout / sizeof *layout; i++)
        for (size_t l = 0; l < sizeof list / sizeof *list; l++) {
            request.layout = layout[i];
            counts.matrix = list[l];
            prove_routes(request);
        }
}

static void message_sizes(pto_request_t request) {
    static const int64_t bytes[] = {0, 1, 7, 4096};
    static const int64_t messages[] = {1, 3, 9};
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        request.messages = messages[i];
        with_sizes(request, bytes, sizeof bytes / sizeof *bytes, prove_routes);
    }
}

TEST(messages_are_right_on_every_small_layout) {
    pto_request_t request = {.collective = PTO_COLLECTIVE_MESSAGES};
    static const int64_t unique_bytes[] = {0, 1, 10};
    for (size_t i = 0; i < sizeof unique_bytes / sizeof *unique_bytes; i++) {
        request.unique_bytes = unique_bytes[i];
        with_every_layout(request, message_sizes);
    }
}

static void pair_chunks(pto_request_t request) {
    static const int64_t bytes[] = {0, 1, 7, 4096, 100003}, chunks[] = {0, 1, 2, 5, 6, 64};
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        request.chunks = chunks[i];
        with_sizes(request, bytes, sizeof bytes / sizeof *bytes, prove_routes);
    }
}

/* Two owners: on two nodes, on two GPUs, on one; with helpers too. */
TEST(pairs_are_right_at_every_distance_and_between_all_spaces) {
    static const pto_layout_t layout[] = {{2, 1, 1, 1, 1, false},
                                          {1, 2, 1, 1, 1, false},
                                          {1, 2, 1, 3, 2, false},
                                          {1, 1, 2, 2, 1, false},
                                          {1, 1, 2, 4, 1, false}};
    pto_request_t request = {.collective = PTO_COLLECTIVE_PAIR};
    for (size_t i = 0; i < sizeof layout / sizeof *layout; i++)
        for (int ends = 0; ends < 8; ends++) {
            request.layout = layout[i];
            request.ends = (pto_pair_ends_t){ends & 1, ends & 2, ends & 4};
            pair_chunks(request);
            request.layout.in_host = layout[i].procs_per_gpu == 1;
            if (request.layout.in_host && request.ends.from_host && request.ends.to_host)
                pair_chunks(request);
        }
}

/* More grids: tests/unit/test_halo. */
static void halo_corners(pto_request_t request) {
    for (int corners = 0; corners < PTO_CORNERS_COUNT; corners++)
        for (int wraps = 0; wraps < 4; wraps++) {
            request.halo.corners = (pto_corners_t)corners;
            request.halo.wrap[0] = wraps & 1;
            request.halo.wrap[1] = wraps & 2;
            prove_routes(request);
        }
}

TEST(halos_are_right_on_every_small_layout) {
    pto_request_t request = {.collective = PTO_COLLECTIVE_HALO,
                             .bytes = 4,
                             .halo = {.dim_count = 2, .extent = {3, 5}, .width = 2}};
    with_every_layout(request, halo_corners);
}

TEST(larger_and_prime_groups_are_right) {
    pto_request_t request = {.datatype = PTO_DATATYPE_DOUBLE,
                             .bytes = 8 * 101,
                             .halo = {.dim_count = 3, .wrap = {true}, .extent = {3, 1, 2}, .width = 1}};
    static const pto_layout_t layout[] = {
        {31, 1, 1, 1, 1, false}, {11, 3, 1, 2, 2, false}, {8, 8, 1, 1, 4, false}, {1, 127, 1, 2, 7, false}};
    for (size_t i = 0; i < sizeof layout / sizeof *layout; i += (size_t)test_sample())
        for (int collective = 0; collective < PTO_COLLECTIVE_COUNT; collective++) {
            if (collective == PTO_COLLECTIVE_MESSAGES || collective == PTO_COLLECTIVE_PAIR)
                continue;
            request.layout = layout[i];
            request.collective = (pto_collective_t)collective;
            prove_routes(request);
        }
}

TEST(conformance_covers_every_strategy_and_algorithm) {
    print_message("%lld plans proved right\n", (long long)proved_count);
    for (int s = 0; s < pto_strategy_count(); s++)
        for (int a = 0; a < pto_algorithm_count(); a++)
            for (int collective = 0; collective < PTO_COLLECTIVE_COUNT; collective++) {
                unsigned both = pto_strategy_with(pto_strategy_at(s), pto_algorithm_at(a));
                if (both & 1u << collective && proved[s][a][collective] < (test_sample() > 1 ? 10 : 100))
                    fail_msg("%s by %s and %s was hardly proved",
                             pto_collective_name((pto_collective_t)collective), pto_strategy_at(s)->name,
                             pto_algorithm_at(a)->name);
            }
}

/* --- arithmetic ----------------------------------------------------------------------------------------- */

static pto_plan_t *plan_of(pto_collective_t collective, const char *strategy, const char *algorithm,
                           pto_layout_t layout) {
    pto_request_t request = {.layout = layout,
                             .collective = collective,
                             .datatype = PTO_DATATYPE_FLOAT,
                             .bytes = 100,
                             .messages = 2};
    carry_out_by(&request, strategy, algorithm);
    return must_plan(&request);
}

TEST(shares_cover_every_byte_once) {
    for (int64_t bytes = 0; bytes < 70; bytes++)
        for (int64_t shares = 1; shares < 9; shares++)
            for (int64_t grain = 1; grain <= 8; grain *= 2) {
                int64_t offset = 0;
                for (int64_t k = 0; k < shares; k++) {
                    int64_t share = pto_share_bytes(bytes, grain, shares, k);
                    assert_int_equal(pto_share_offset(bytes, grain, shares, k), offset);
                    assert_true(share >= 0 && (k + 1 == shares || share % grain == 0));
                    if (k > 0 && k + 1 < shares)
                        assert_true(share <= pto_share_bytes(bytes, grain, shares, k - 1));
                    offset += share;
                }
                assert_int_equal(offset, bytes);
            }
}

TEST(group_indices_and_ranks_are_inverse) {
    pto_layout_t layout = {3, 2, 2, 3, 2, false};
    pto_plan_t *plan = plan_of(PTO_COLLECTIVE_ALLTOALL, "three_step", "pairwise", layout);
    for (int kind = 0; kind < PTO_GROUP_COUNT; kind++)
        for (int64_t fold = 0; fold < 2; fold++) {
            pto_group_t group = {.kind = (pto_group_kind_t)kind, .fold = fold};
            for (int64_t rank = 0; rank < pto_layout_rank_count(&layout); rank++) {
                int64_t index = pto_group_index(plan, &group, rank);
                if (index >= 0)
                    assert_int_equal(pto_group_rank(plan, &group, rank, index), rank);
                else
                    assert_true(fold > 0 || (kind == PTO_GROUP_OWNERS && rank % 3 == 2) ||
                                (kind == PTO_GROUP_NODE_OWNERS && rank % 3 == 2) ||
                                (kind == PTO_GROUP_LEADERS && rank % 6 > 0) ||
                                (kind == PTO_GROUP_CORE_LEADERS && rank % 6 > 2));
            }
        }
}

/* Two ranks see the same first member exactly where the one finds the other at its index. */
TEST(ranks_with_one_first_member_are_one_group) {
    pto_layout_t layout = {3, 2, 2, 3, 2, false};
    pto_plan_t *plan = plan_of(PTO_COLLECTIVE_ALLTOALL, "three_step", "pairwise", layout);
    int64_t ranks = pto_layout_rank_count(&layout);
    for (int kind = 0; kind < PTO_GROUP_COUNT; kind++) {
        pto_group_t group = pto_group_shape(&layout, (pto_group_kind_t)kind);
        for (int64_t a = 0; a < ranks; a++) {
            int64_t members = 0;
            for (int64_t b = 0; b < ranks; b++) {
                if (pto_group_index(plan, &group, a) < 0 || pto_group_index(plan, &group, b) < 0)
                    continue;
                bool one_group = pto_group_rank(plan, &group, a, 0) == pto_group_rank(plan, &group, b, 0);
                bool found = pto_group_rank(plan, &group, a, pto_group_index(plan, &group, b)) == b;
                assert_int_equal(one_group, found);
                members += found;
            }
            assert_true(members == 0 || members == group.size);
        }
    }
}

/* A row left out of the middle of a table would be all zeros. */
TEST(every_kind_of_group_and_step_has_a_row) {
    for (int kind = 0; kind < PTO_GROUP_COUNT; kind++)
        assert_true(pto_group_traits[kind].member[0] && pto_group_traits[kind].index);
    for (int kind = 0; kind < PTO_STEP_COUNT; kind++) {
        pto_step_t step = {.kind = (pto_step_kind_t)kind};
        assert_non_null(pto_step_name(step.kind));
        int roles = pto_step_is_message(&step) + pto_step_is_local(&step) + pto_step_is_signal(&step);
        assert_int_equal(roles, kind != PTO_STEP_LAUNCH);
        assert_int_equal(pto_step_is_signal(&step) || kind == PTO_STEP_LAUNCH,
                         !pto_step_source(&step) && !pto_step_target(&step));
    }
}

TEST(a_walk_meets_every_iteration_in_order) {
    pto_plan_t *plan =
        plan_of(PTO_COLLECTIVE_ALLREDUCE, "three_step", "ring", (pto_layout_t){1, 3, 1, 1, 3, false});
    static const struct {
        const char *stage;
        int64_t k;
        bool inside; /* the collective */
    } wanted[] = {{"copy to host", 0, false}, {"round", 0, true},          {"reduce", 0, true},
                  {"round", 1, true},         {"reduce", 1, true},         {"round", 0, true},
                  {"round", 1, true},         {"copy to device", 0, false}};
    pto_walk_t walk;
    pto_walk_begin(&walk, plan);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        assert_true(pto_walk_next(&walk));
        assert_string_equal(walk.stage->name, wanted[i].stage);
        assert_int_equal(walk.k, wanted[i].k);
        assert_int_equal(walk.instance, i);
        assert_int_equal(walk.collective >= 0, wanted[i].inside);
    }
    assert_false(pto_walk_next(&walk));
}

TEST(digests_tell_plans_apart) {
    pto_layout_t layout = {2, 2, 1, 3, 2, false};
    static const char *const strategy[] = {"cuda_aware", "three_step", "extra_message", "dup_devptr"};
    static const char *const algorithm[] = {"pairwise", "linear", "bruck"};
    uint64_t digest[12];
    for (int i = 0; i < 12; i++) {
        pto_plan_t *plan = plan_of(PTO_COLLECTIVE_ALLTOALL, strategy[i / 3], algorithm[i % 3], layout);
        pto_plan_t *again = plan_of(PTO_COLLECTIVE_ALLTOALL, strategy[i / 3], algorithm[i % 3], layout);
        digest[i] = pto_plan_digest(plan);
        assert_true(digest[i] == pto_plan_digest(again));
        for (int j = 0; j < i; j++)
            assert_true(digest[i] != digest[j]);
    }
}

TEST(a_plan_of_a_million_gpus_is_as_small_as_any) {
    pto_plan_t *small =
        plan_of(PTO_COLLECTIVE_ALLTOALL, "dup_devptr", "bruck", (pto_layout_t){2, 6, 1, 6, 3, false});
    pto_plan_t *large =
        plan_of(PTO_COLLECTIVE_ALLTOALL, "dup_devptr", "bruck", (pto_layout_t){174763, 6, 1, 6, 3, false});
    assert_int_equal(pto_plan_node_count(small), pto_plan_node_count(large));
    assert_int_equal(pto_plan_buffer_count(small), pto_plan_buffer_count(large));
}

TEST(buffers_need_the_memory_that_they_hold) {
    int64_t gpu_bytes, host_bytes;
    pto_plan_t *plan =
        plan_of(PTO_COLLECTIVE_ALLTOALL, "three_step", "linear", (pto_layout_t){2, 3, 1, 1, 3, false});
    pto_plan_memory(plan, &gpu_bytes, &host_bytes);
    assert_int_equal(gpu_bytes, 2 * 6 * 100);      /* in and out, six blocks each */
    assert_int_equal(host_bytes, 3 * 2 * 6 * 100); /* the same on the host, of three GPUs */
}

TEST(routes_that_do_not_apply_say_why) {
    pto_request_t request = {
        .layout = {2, 2, 1, 1, 2, false}, .collective = PTO_COLLECTIVE_ALLTOALL, .bytes = 8};
    carry_out_by(&request, "dup_devptr", "bruck");
    assert_string_equal(no_plan(&request, PTO_ERR_NOT_APPLICABLE),
                        "dup_devptr shares the work with other processes of the GPU, but procs_per_gpu is 1");
    request.layout.procs_per_gpu = 2;
    request.split = PTO_SPLIT_DESTINATIONS;
    assert_string_equal(no_plan(&request, PTO_ERR_NOT_APPLICABLE),
                        "bruck forwards blocks of other processes, so destinations can't be split");
    request.collective = PTO_COLLECTIVE_ALLREDUCE;
    assert_string_equal(no_plan(&request, PTO_ERR_NOT_APPLICABLE), "algorithm bruck is not for allreduce");
    request.collective = PTO_COLLECTIVE_PAIR;
    request.layout = (pto_layout_t){2, 1, 1, 1, 1, false};
    request.ends.from_host = request.ends.to_host = true;
    request.split = PTO_SPLIT_BYTES;
    carry_out_by(&request, "three_step", "point_to_point");
    assert_string_equal(no_plan(&request, PTO_ERR_NOT_APPLICABLE),
                        "neither end is in GPU memory: nothing is staged");
}

/* Shared data leaves the GPU once, so it can't leave with each destination. */
TEST(messages_are_split_by_destination_unless_they_share_data) {
    pto_request_t request = {.layout = {2, 2, 1, 2, 2, false},
                             .collective = PTO_COLLECTIVE_MESSAGES,
                             .bytes = 8,
                             .messages = 2,
                             .split = PTO_SPLIT_DESTINATIONS};
    carry_out_by(&request, "dup_devptr", "point_to_point");
    pto_plan_t *plan = must_plan(&request);
    assert_right(plan);
    request.unique_bytes = 4;
    assert_string_equal(no_plan(&request, PTO_ERR_NOT_APPLICABLE),
                        "split: destinations would copy shared data (unique_bytes) more than once");
}
