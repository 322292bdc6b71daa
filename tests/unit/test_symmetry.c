/* Attacks on proofs by one node: random plans, and registered ones with random changes. Where check says that
 * all nodes do the same, what every rank does is compared, byte by byte, with what the rank at its place on
 * node 0 does. This code shares nothing with the conditions of check. And a plan that a short proof accepts
 * must be accepted by the full one.
 *
 * SYMMETRY_PLANS, SYMMETRY_CHANGES and SYMMETRY_RINGS say how many seeds of each kind are tried,
 * SYMMETRY_SEED the first. */
#include "built.h"
#include "must.h"
#include "nodes_view.h"
#include "random_plans.h"
#include "sample.h"
#include "test.h"

/* --- what is counted ------------------------------------------------------------------------------------ */

static struct {
    int64_t plans;
    int64_t alike;    /* all nodes do the same, by pto_check_nodes_alike */
    int64_t compared; /* of these, byte by byte */
    int64_t proved[PTO_PROOF_COUNT];
} seen;

static void fail_by(const pto_plan_t *plan, const char *how, const char *where, uint64_t seed) {
    const pto_request_t *request = pto_plan_request(plan);
    fail_msg("%s (%s): %s by %s with %s, %lld x %lld x %lld, %lld owners, seed %llu", how, where,
             pto_collective_name(request->collective), request->strategy->name, request->algorithm->name,
             (long long)request->layout.nodes, (long long)request->layout.gpus_per_node,
             (long long)request->layout.procs_per_gpu, (long long)request->layout.owners_per_gpu,
             (unsigned long long)seed);
}

/* Whether check finds no fault before it walks. */
static bool has_parts(const pto_plan_t *plan) {
    pto_checker_t checker = {.plan = plan,
                             .request = &plan->request,
                             .ranks = pto_layout_rank_count(&plan->request.layout),
                             .lanes = pto_plan_lane_count(plan),
                             .buffers = pto_plan_buffer_count(plan)};
    bool shared[BUFFERS_MAX];
    checker.shared = shared;
    return pto_check_parts(&checker) && pto_plan_runnable(plan, NULL) == PTO_OK &&
           pto_check_lanes(&checker) && pto_check_collectives(&checker);
}

/* Whether all nodes do the same, if check says so. */
static void compare_nodes(const pto_plan_t *plan, uint64_t seed) {
    pto_rotation_t turn[BUFFERS_MAX];
    pto_checker_t checker = {
        .plan = plan, .request = &plan->request, .buffers = pto_plan_buffer_count(plan), .rotation = turn};
    if (!has_parts(plan) || !pto_check_nodes_alike(plan, turn))
        return;
    assert_true(pto_check_make_unit_plan(&checker));
    view_t view = {.plan = checker.plan, .turn = turn, .ranks = pto_layout_rank_count(&plan->request.layout)};
    view.per_node = view.ranks / plan->request.layout.nodes;
    view.right = true;
    seen.alike++;
    const char *where = difference(&view);
    free(checker.unit_plan);
    seen.compared += view.right;
    if (where && view.right)
        fail_by(plan, "not all nodes do the same", where, seed);
}

static bool prove(const pto_plan_t *plan, pto_proof_t proof) {
    pto_check_report_t report;
    bool unordered;
    bool right = pto_check_by_method(plan, proof, NULL, &report, &unordered, NULL) == PTO_OK;
    seen.proved[proof] += right;
    return right;
}

/* What a short proof accepts, the full one must. */
static void compare_proofs(const pto_plan_t *plan, uint64_t seed) {
    if (pto_plan_either_count(plan, pto_plan_node_count(plan)) > 0)
        return;
    seen.plans++;
    bool one_node = prove(plan, PTO_PROOF_OF_ONE_NODE), by_clocks = prove(plan, PTO_PROOF_BY_GROUP_CLOCKS);
    bool right = prove(plan, PTO_PROOF_IN_FULL);
    if ((one_node || by_clocks) && !right)
        fail_by(plan, one_node ? "by one node" : "by clocks", "accepted a wrong plan", seed);
}

/* Which seeds: more of them, or from another one on, by the environment. */
typedef struct {
    uint64_t first;
    uint64_t until;
} attempts_t;

static attempts_t attempts_of(const char *name, uint64_t usual) {
    const char *count = getenv(name), *first = getenv("SYMMETRY_SEED");
    attempts_t attempts = {.first = first ? strtoull(first, NULL, 10) : 1};
    attempts.until = attempts.first + (count ? strtoull(count, NULL, 10) : usual / (uint64_t)test_sample());
    return attempts;
}

static void tell_seen(void) {
    print_message(
        "%lld plans: %lld alike, %lld of them compared; %lld proved by one node, %lld by clocks, %lld "
        "in full\n",
        (long long)seen.plans, (long long)seen.alike, (long long)seen.compared,
        (long long)seen.proved[PTO_PROOF_OF_ONE_NODE], (long long)seen.proved[PTO_PROOF_BY_GROUP_CLOCKS],
        (long long)seen.proved[PTO_PROOF_IN_FULL]);
}

/* --- random plans --------------------------------------------------------------------------------------- */

static void try_random_plan(uint64_t seed) {
    static const pto_strategy_t strategy = {.name = "random",
                                            .summary = "",
                                            .collectives = ~0u,
                                            .collective_space = PTO_SPACE_GPU,
                                            .build = build_at_random};
    pto_plan_t *plan = NULL;
    chance_state = seed * 77777777777u;
    pto_request_t request = {.layout = some_layout(),
                             .collective = some_collective(),
                             .datatype = PTO_DATATYPE_BYTE,
                             .bytes = ONE_OF(1, 2, 6),
                             .strategy = &strategy};
    const char *algorithm = pto_collective_reduces(request.collective) ? "ring" : "linear";
    request.algorithm = algorithm_named(algorithm, request.collective);
    if (pto_plan_create(&request, &plan, NULL) != PTO_OK)
        return;
    compare_nodes(plan, seed);
    compare_proofs(plan, seed);
    pto_plan_destroy(plan);
}

TEST(random_plans_whose_nodes_are_alike_are) {
    static const uint64_t once_believed[] = {4940131}; /* bundles in slots */
    memset(&seen, 0, sizeof seen);
    const attempts_t attempts = attempts_of("SYMMETRY_PLANS", 20000);
    for (uint64_t seed = attempts.first; seed < attempts.until; seed++)
        try_random_plan(seed);
    for (size_t i = 0; i < sizeof once_believed / sizeof *once_believed; i++)
        try_random_plan(once_believed[i]);
    tell_seen();
    assert_true(20 * seen.compared >= seen.plans);
}

static void try_changed_plan(const pto_request_t *request, uint64_t seed) {
    pto_plan_t *plan = NULL;
    if (pto_plan_create(request, &plan, NULL) != PTO_OK)
        return;
    for (int64_t changes = 1 + below(3); changes > 0; changes--)
        change(plan);
    compare_nodes(plan, seed);
    compare_proofs(plan, seed);
    pto_plan_destroy(plan);
}

TEST(plans_changed_at_random_are_not_believed) {
    memset(&seen, 0, sizeof seen);
    const attempts_t attempts = attempts_of("SYMMETRY_CHANGES", 60000);
    for (uint64_t seed = attempts.first; seed < attempts.until; seed++) {
        chance_state = seed * 55555555555u;
        pto_request_t request = {.layout = some_layout(),
                                 .collective = some_collective(),
                                 .datatype = PTO_DATATYPE_BYTE,
                                 .bytes = ONE_OF(1, 2, 6, 9),
                                 .split = one_in(2) ? PTO_SPLIT_BYTES : PTO_SPLIT_DESTINATIONS,
                                 .by_library = one_in(2),
                                 .chunks = one_in(3) ? 1 + below(3) : 0,
                                 .strategy = pto_strategy_at((int)below(pto_strategy_count())),
                                 .algorithm = pto_algorithm_at((int)below(pto_algorithm_count()))};
        request.staged = request.by_library && one_in(3);
        try_changed_plan(&request, seed);
    }
    tell_seen();
    assert_true(20 * seen.compared >= seen.plans);
}

/* Parts of vectors turn, and sums with them. */
TEST(rings_changed_at_random_are_not_believed) {
    memset(&seen, 0, sizeof seen);
    const attempts_t attempts = attempts_of("SYMMETRY_RINGS", 4000);
    for (uint64_t seed = attempts.first; seed < attempts.until; seed++) {
        chance_state = seed * 33333333333u;
        pto_request_t request = {
            .layout = some_layout(),
            .collective = (pto_collective_t)ONE_OF(PTO_COLLECTIVE_ALLREDUCE, PTO_COLLECTIVE_ALLREDUCE,
                                                   PTO_COLLECTIVE_REDUCE_SCATTER, PTO_COLLECTIVE_ALLGATHER),
            .datatype = PTO_DATATYPE_BYTE,
            .bytes = ONE_OF(9, 70, 97),
            .chunks = one_in(3) ? 1 + below(3) : 0};
        carry_out_by(&request, one_in(2) ? "staged_ring" : "split_ring", "direct");
        try_changed_plan(&request, seed);
    }
    tell_seen();
    assert_true(4 * seen.proved[PTO_PROOF_OF_ONE_NODE] >= seen.plans);
}

/* --- wrong plans that were believed --------------------------------------------------------------------- */

/* How a process copies its own block. */
static void (*build_own)(pto_builder_t *, const pto_exchange_t *);

static pto_exchange_t build_users(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t who = owners_exchange(builder, pto_layout_owner_count(&request->layout));
    who.in = pto_build_buffer(builder, some_buffer(request, PTO_ROLE_IN));
    who.out = pto_build_buffer(builder, some_buffer(request, PTO_ROLE_OUT));
    return who;
}

/* An alltoall of one process a node. All blocks but one's own go as they should. */
static void build_alltoall(pto_builder_t *builder, const pto_request_t *request) {
    const pto_exchange_t who = build_users(builder, request);
    pto_step_t send = pto_step_of_all(PTO_STEP_SEND, &who);
    build_own(builder, &who);
    send.source = pto_slice_block(who.in, PTO_ANCHOR_PEER);
    pto_build_stage(builder, "others", PTO_ORDER_AT_ONCE);
    pto_build_step(builder, send);
    send.kind = PTO_STEP_RECV;
    send.target = pto_slice_block(who.out, PTO_ANCHOR_PEER);
    pto_build_step(builder, send);
}

/* The same slice of the input to that of the output. */
static void build_copy(pto_builder_t *builder, const pto_exchange_t *who, pto_slice_t slice) {
    pto_slice_t target = slice;
    slice.buffer = who->in;
    target.buffer = who->out;
    add_copy_stage(builder, "own block", pto_step_of(PTO_STEP_COPY, who), slice, target);
}

/* All processes copy block 0: without peers, the number of the peer is -1 on all nodes. */
static void build_own_of_no_peer(pto_builder_t *builder, const pto_exchange_t *who) {
    pto_slice_t slice = pto_slice_block(who->in, PTO_ANCHOR_PEER);
    slice.offset = pto_constant(1);
    build_copy(builder, who, slice);
}

/* In a loop over one chunk. */
static void build_own_of_bundle(pto_builder_t *builder, const pto_exchange_t *who) {
    pto_slice_t slice = pto_slice_all(builder, who->in);
    slice.bundle = 2;
    slice.run = slice.until = pto_constant(1);
    pto_build_loop(builder, 0, 1, false);
    build_copy(builder, who, slice);
    pto_build_end(builder);
}

/* Through a part of a temporary block that is longest on node 0. */
static void build_own_in_parts(pto_builder_t *builder, const pto_exchange_t *who) {
    pto_buffer_t another = *pto_builder_buffer(builder, who->in);
    another.role = PTO_ROLE_TEMPORARY;
    another.block_count = 1;
    int temporary = pto_build_buffer(builder, another);
    const pto_step_t copy = pto_step_of(PTO_STEP_COPY, who);
    pto_slice_t own = pto_slice_part(who->in, who->n, PTO_ANCHOR_ME, pto_constant(0)), target = own;
    const pto_slice_t part = pto_slice_part(temporary, who->n, PTO_ANCHOR_ME, pto_constant(0));
    own.anchor_step = target.anchor_step = who->n;
    target.buffer = who->out;
    add_copy_stage(builder, "own block", copy, own, part);
    add_copy(builder, copy, part, target);
    own.offset = target.offset = pto_constant(1);
    own.run = own.until = own.stride = pto_constant(who->n - 1);
    target.run = target.until = target.stride = own.run;
    add_copy(builder, copy, own, target);
}

/* An allreduce of three processes: each adds the vectors of the two before it to its own. */
static void build_sums_from_oneself(pto_builder_t *builder, const pto_request_t *request) {
    const pto_exchange_t who = build_users(builder, request);
    pto_buffer_t another = some_buffer(request, PTO_ROLE_IN);
    another.role = PTO_ROLE_TEMPORARY;
    int arrived = pto_build_buffer(builder, another);
    build_copy(builder, &who, pto_slice_all(builder, who.in));
    for (int64_t distance = 1; distance < who.n; distance++) {
        pto_step_t step = pto_step_of(PTO_STEP_SEND, &who);
        step.source = pto_slice_all(builder, who.in);
        step.target = pto_slice_all(builder, arrived);
        step.peers = pto_peers_at(pto_constant(distance), 1);
        pto_build_stage(builder, "pass", PTO_ORDER_AT_ONCE);
        pto_build_step(builder, step);
        step.kind = PTO_STEP_RECV;
        step.peers.sign = -1;
        pto_build_step(builder, step);
        add_copy_stage(builder, "add", pto_step_of(PTO_STEP_REDUCE, &who), pto_slice_all(builder, arrived),
                       pto_slice_all(builder, who.out));
    }
}

static pto_plan_t *made_by(pto_collective_t collective, void (*build)(pto_builder_t *, const pto_request_t *),
                           int64_t nodes) {
    pto_request_t request = {.layout = {nodes, 1, 1, 1, 1, false},
                             .collective = collective,
                             .datatype = PTO_DATATYPE_BYTE,
                             .bytes = 64, /* of which chunks have a multiple */
                             .strategy = strategy_made_of(collective, build)};
    const char *algorithm = pto_collective_reduces(collective) ? "ring" : "linear";
    request.algorithm = algorithm_named(algorithm, request.collective);
    return must_plan(&request);
}

static void assert_refused_on_node_1(pto_plan_t *plan) {
    pto_check_report_t report;
    pto_error_t err = {0};
    assert_false(prove(plan, PTO_PROOF_OF_ONE_NODE));
    assert_int_equal(pto_check(plan, &report, &err), PTO_ERR_INVALID_PLAN);
    if (!strstr(err.message, "rank 1"))
        fail_msg("%s", err.message);
}

TEST(a_block_of_no_peer_is_the_same_on_all_nodes) {
    build_own = build_own_of_no_peer;
    assert_refused_on_node_1(made_by(PTO_COLLECTIVE_ALLTOALL, build_alltoall, 3));
}

TEST(a_part_of_a_block_is_as_long_on_all_nodes) {
    build_own = build_own_in_parts;
    assert_refused_on_node_1(made_by(PTO_COLLECTIVE_ALLTOALL, build_alltoall, 3));
}

/* All processes copy the first half of a bundle of both blocks, which is block 0. The builder makes chunks in
 * pipelines of all of them only. */
TEST(a_chunk_of_a_bundle_is_the_same_on_all_nodes) {
    build_own = build_own_of_bundle;
    pto_plan_t *plan = made_by(PTO_COLLECTIVE_ALLTOALL, build_alltoall, 2);
    pto_step_t *own = plan->steps.item;
    own->source.chunks = own->target.chunks = 2;
    assert_refused_on_node_1(plan);
}

/* Parts of a vector pass through the places of others, whose sizes differ. */
TEST(parts_keep_their_places) {
    pto_request_t request = {.layout = {3, 1, 1, 1, 1, false},
                             .collective = PTO_COLLECTIVE_ALLREDUCE,
                             .datatype = PTO_DATATYPE_BYTE};
    carry_out_by(&request, "staged_ring", "direct");
    for (request.bytes = 63; request.bytes <= 64; request.bytes++) {
        pto_plan_t *plan = must_plan(&request);
        for (int i = 0; i < plan->steps.count; i++) {
            pto_step_t *step = (pto_step_t *)plan->steps.item + i;
            pto_slice_t *slice[] = {&step->source, &step->target};
            for (int j = 0; j < 2; j++)
                slice[j]->offset.constant +=
                    strcmp(pto_plan_buffer(plan, slice[j]->buffer)->name, "received") == 0;
        }
        assert_false(prove(plan, PTO_PROOF_OF_ONE_NODE));
        assert_int_equal(prove(plan, PTO_PROOF_IN_FULL), request.bytes == 63);
    }
}

/* On each node alone there is only one order. */
TEST(sums_are_combined_in_the_same_order_on_all_nodes) {
    pto_rotation_t turn[3];
    pto_plan_t *plan = made_by(PTO_COLLECTIVE_ALLREDUCE, build_sums_from_oneself, 3);
    assert_true(pto_check_nodes_alike(plan, turn));
    assert_refused_on_node_1(plan);
}
