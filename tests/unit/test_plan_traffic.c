/* The traffic of plans: closed formulas of algorithms, and for every strategy and algorithm what the
 * receiving side of the same plan expects. */
#include "broken_plan.h"
#include "lanes_plan.h"
#include "portolan/traffic.h"
#include "test.h"

enum { RANKS_MAX = 24, SPACES = PTO_SPACE_COUNT };

/* By source, destination, their spaces and the kind. */
typedef struct {
    int64_t messages[RANKS_MAX][RANKS_MAX][SPACES][SPACES][PTO_TRAFFIC_COUNT];
    int64_t bytes[RANKS_MAX][RANKS_MAX][SPACES][SPACES][PTO_TRAFFIC_COUNT];
    int64_t pairs;
    pto_traffic_pair_t last;
} matrix_t;

static matrix_t matrix;

static bool before(const pto_traffic_pair_t *a, const pto_traffic_pair_t *b) {
    return a->source < b->source || (a->source == b->source && a->destination <= b->destination);
}

static void note(void *context, const pto_traffic_pair_t *pair) {
    matrix_t *into = context;
    assert_true(into->pairs == 0 || before(&into->last, pair));
    int64_t *messages = &into->messages[pair->source][pair->destination][pair->source_space]
                                       [pair->destination_space][pair->kind];
    assert_int_equal(*messages, 0);
    assert_true(pair->messages > 0);
    *messages = pair->messages;
    into->bytes[pair->source][pair->destination][pair->source_space][pair->destination_space][pair->kind] =
        pair->bytes;
    into->pairs++;
    into->last = *pair;
}

static void count(const pto_plan_t *plan) {
    pto_error_t err = {0};
    memset(&matrix, 0, sizeof matrix);
    assert_ok(pto_plan_traffic(plan, note, &matrix, &err), &err);
}

static void count_request(pto_request_t request) { count(plan_of(request)); }

static void expect(int64_t source, int64_t destination, pto_space_t space, pto_traffic_kind_t kind,
                   int64_t messages, int64_t bytes) {
    assert_int_equal(matrix.messages[source][destination][space][space][kind], messages);
    assert_int_equal(matrix.bytes[source][destination][space][space][kind], bytes);
}

/* --- formulas ------------------------------------------------------------------------------------------- */

static const pto_layout_t eight = {2, 4, 1, 1, 4, false};

TEST(pairwise_alltoall_is_one_message_a_pair) {
    count_request(request_on(eight, PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "pairwise", 100));
    for (int64_t i = 0; i < 8; i++)
        for (int64_t j = 0; j < 8; j++)
            expect(i, j, PTO_SPACE_GPU, PTO_TRAFFIC_MESSAGE, i != j, i != j ? 100 : 0);
    assert_int_equal(matrix.pairs, 8 * 7);
}

TEST(staged_messages_are_between_host_buffers) {
    count_request(request_on(eight, PTO_COLLECTIVE_ALLTOALL, "three_step", "pairwise", 100));
    expect(3, 5, PTO_SPACE_CPU, PTO_TRAFFIC_MESSAGE, 1, 100);
    assert_int_equal(matrix.pairs, 8 * 7);
}

/* 2 (n - 1) messages of s / n bytes to the next process. */
TEST(a_ring_sends_to_its_neighbor_alone) {
    count_request(request_on(eight, PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "ring", 8 * 64));
    for (int64_t i = 0; i < 8; i++)
        expect(i, (i + 1) % 8, PTO_SPACE_GPU, PTO_TRAFFIC_MESSAGE, 14, 14 * 64);
    assert_int_equal(matrix.pairs, 8);
}

TEST(recursive_doubling_sends_the_vector_to_every_power_of_two) {
    count_request(request_on(eight, PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "recursive_doubling", 400));
    for (int64_t i = 0; i < 8; i++)
        for (int64_t bit = 1; bit < 8; bit *= 2)
            expect(i, i ^ bit, PTO_SPACE_GPU, PTO_TRAFFIC_MESSAGE, 1, 400);
    assert_int_equal(matrix.pairs, 8 * 3);
}

/* Folding: rank 0 gives its vector to rank 1 and gets the result. */
TEST(a_folded_process_exchanges_with_its_partner_alone) {
    pto_layout_t five = {1, 5, 1, 1, 5, false};
    count_request(request_on(five, PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "recursive_doubling", 400));
    expect(0, 1, PTO_SPACE_GPU, PTO_TRAFFIC_MESSAGE, 1, 400);
    expect(1, 0, PTO_SPACE_GPU, PTO_TRAFFIC_MESSAGE, 1, 400);
    assert_int_equal(matrix.pairs, 2 + 4 * 2);
}

/* Of 6 processes 0 and 2 are folded away, so that 1 and 3 halve two blocks each, and 4 and 5 one. */
TEST(a_folded_reduce_scatter_halves_blocks_of_two) {
    static const int64_t blocks[6][6] = {{0, 6, 0, 0, 0, 0}, {1, 0, 0, 2, 2, 0}, {0, 0, 0, 6, 0, 0},
                                         {0, 2, 1, 0, 0, 2}, {0, 4, 0, 0, 0, 1}, {0, 0, 0, 4, 1, 0}};
    count_request(request_on((pto_layout_t){6, 1, 1, 1, 1, false}, PTO_COLLECTIVE_REDUCE_SCATTER,
                             "cuda_aware", "recursive_halving", 100));
    for (int64_t i = 0; i < 6; i++)
        for (int64_t j = 0; j < 6; j++)
            expect(i, j, PTO_SPACE_GPU, PTO_TRAFFIC_MESSAGE, blocks[i][j] > 0, 100 * blocks[i][j]);
}

TEST(a_binomial_broadcast_gives_every_process_the_vector_once) {
    count_request(request_on(eight, PTO_COLLECTIVE_BROADCAST, "cuda_aware", "binomial", 400));
    for (int64_t j = 1; j < 8; j++)
        expect(j & (j - 1), j, PTO_SPACE_GPU, PTO_TRAFFIC_MESSAGE, 1, 400);
    assert_int_equal(matrix.pairs, 7);
}

TEST(a_matrix_of_counts_is_its_own_traffic) {
    int64_t bytes[] = {9, 1, 0, 2, 9, 3, 40, 0, 9};
    const pto_counts_t counts = {.kind = PTO_COUNTS_MATRIX, .order = 3, .matrix = bytes};
    pto_request_t request = request_on((pto_layout_t){1, 3, 1, 1, 3, false}, PTO_COLLECTIVE_ALLTOALLV,
                                       "cuda_aware", "linear", 40);
    request.counts = &counts;
    count_request(request);
    for (int64_t i = 0; i < 3; i++)
        for (int64_t j = 0; j < 3; j++)
            if (i != j)
                expect(i, j, PTO_SPACE_GPU, PTO_TRAFFIC_MESSAGE, bytes[3 * i + j] > 0, bytes[3 * i + j]);
    assert_int_equal(matrix.pairs, 4);
}

/* The root reads all vectors, and the others copy its result. */
TEST(reading_a_peers_memory_is_traffic_from_that_peer) {
    count_request(
        request_on((pto_layout_t){1, 4, 1, 1, 4, false}, PTO_COLLECTIVE_ALLREDUCE, "gsb", "direct", 400));
    for (int64_t i = 1; i < 4; i++) {
        assert_true(matrix.bytes[i][0][PTO_SPACE_GPU][PTO_SPACE_GPU][PTO_TRAFFIC_ACCESS] == 400);
        assert_true(matrix.bytes[0][i][PTO_SPACE_GPU][PTO_SPACE_GPU][PTO_TRAFFIC_ACCESS] == 400);
    }
    assert_int_equal(matrix.pairs, 6);
}

TEST(what_nccl_replaces_is_marked) {
    count_request(request_on(eight, PTO_COLLECTIVE_ALLGATHER, "nccl", "nccl", 400));
    assert_true(matrix.pairs > 0);
    for (int64_t i = 0; i < 8; i++)
        for (int64_t j = 0; j < 8; j++)
            expect(i, j, PTO_SPACE_GPU, PTO_TRAFFIC_MESSAGE, 0, 0);
}

/* --- receives of two spaces in one stage ---------------------------------------------------------------- */

/* Rank 0 sends a message from the GPU and one from the host; rank 1 receives them the other way round. */
static void build_crossed(pto_builder_t *builder, const pto_request_t *request) {
    pto_exchange_t owners = test_owners(builder, request);
    int buffer[SPACES] = {
        [PTO_SPACE_CPU] = test_buffer(builder, "host", PTO_ROLE_TEMPORARY, PTO_SPACE_CPU, 1, 30),
        [PTO_SPACE_GPU] = test_buffer(builder, "device", PTO_ROLE_TEMPORARY, PTO_SPACE_GPU, 1, 30)};
    pto_step_t send = step_of_member(PTO_STEP_SEND, &owners, 0, 1);
    pto_step_t recv = step_of_member(PTO_STEP_RECV, &owners, 1, 0);
    pto_build_stage(builder, "crossed", PTO_ORDER_AT_ONCE);
    for (int i = 0; i < SPACES; i++) {
        send.source = pto_slice_all(builder, buffer[i]);
        recv.target = pto_slice_all(builder, buffer[SPACES - 1 - i]);
        pto_build_step(builder, send);
        pto_build_step(builder, recv);
    }
}

TEST(messages_of_a_pair_match_in_their_order) {
    pto_plan_t *plan = plan_by(build_crossed, PTO_COLLECTIVE_BROADCAST, 1, 30);
    count(plan);
    assert_int_equal(matrix.bytes[0][1][PTO_SPACE_CPU][PTO_SPACE_GPU][PTO_TRAFFIC_MESSAGE], 30);
    assert_int_equal(matrix.bytes[0][1][PTO_SPACE_GPU][PTO_SPACE_CPU][PTO_TRAFFIC_MESSAGE], 30);
    assert_int_equal(matrix.pairs, 2);
    pto_step_t *step = plan->steps.item;
    step[3].who_until = pto_constant(0); /* the second receive */
    pto_error_t err = {0};
    assert_int_equal(pto_plan_traffic(plan, note, &(matrix_t){.pairs = 0}, &err), PTO_ERR_INVALID_PLAN);
    assert_non_null(strstr(err.message, "does not receive"));
}

/* --- every plan ----------------------------------------------------------------------------------------- */

/* What the receives of a plan expect, by source, destination and the receiver's space. */
static int64_t received[RANKS_MAX][RANKS_MAX][SPACES];

static void count_receives(const pto_plan_t *plan, int64_t rank) {
    pto_walk_t walk;
    pto_walk_begin(&walk, plan);
    while (pto_walk_next(&walk))
        for (int i = 0; i < walk.stage->step_count; i++) {
            const pto_step_t *step = pto_plan_step(plan, walk.stage->step_first + i);
            pto_action_t action;
            if (step->kind != PTO_STEP_RECV || !pto_step_acts(plan, step, rank, walk.k, &action))
                continue;
            for (int64_t next = 0; pto_step_next(plan, &next, &action);)
                received[action.peer_rank][rank][pto_plan_buffer(plan, step->target.buffer)->space] +=
                    pto_slice_bytes(plan, &step->target, &action);
        }
}

static int compared;

static void compare_plan(const pto_plan_t *plan) {
    int64_t ranks = pto_layout_rank_count(&plan->request.layout), messages = 0;
    memset(received, 0, sizeof received);
    count(plan);
    for (int64_t rank = 0; rank < ranks; rank++)
        count_receives(plan, rank);
    for (int64_t i = 0; i < ranks; i++)
        for (int64_t j = 0; j < ranks; j++)
            for (int to = 0; to < SPACES; to++) {
                int64_t bytes = 0;
                for (int from = 0; from < SPACES; from++) {
                    bytes += matrix.bytes[i][j][from][to][PTO_TRAFFIC_MESSAGE];
                    messages += matrix.messages[i][j][from][to][PTO_TRAFFIC_MESSAGE];
                }
                assert_int_equal(bytes, received[i][j][to]);
            }
    assert_true(messages <= pto_plan_size(plan).messages);
    compared++;
}

TEST(sends_and_receives_of_every_plan_agree) {
    static const pto_layout_t layouts[] = {
        {1, 4, 1, 1, 2, false}, {3, 2, 1, 3, 2, false}, {2, 3, 2, 4, 3, false}};
    static const pto_counts_t skew = {.kind = PTO_COUNTS_SKEW, .skew = 1, .seed = 5};
    pto_request_t request = {.split = PTO_SPLIT_DESTINATIONS,
                             .datatype = PTO_DATATYPE_BYTE,
                             .bytes = 37,
                             .messages = 2,
                             .chunks = 3};
    for (int at = 0; next_request(&request, &at);)
        for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
            request.layout = layouts[l];
            request.counts = request.collective == PTO_COLLECTIVE_ALLTOALLV ? &skew : NULL;
            pto_plan_t *plan = NULL;
            if (request.strategy->nccl || pto_plan_create(&request, &plan, NULL) != PTO_OK)
                continue;
            compare_plan(plan);
            pto_plan_destroy(plan);
        }
    assert_true(compared > 200);
}

TEST(too_many_ranks_or_messages_are_refused) {
    pto_error_t err = {0};
    pto_request_t request = request_on((pto_layout_t){16385, 4, 1, 1, 4, false}, PTO_COLLECTIVE_BROADCAST,
                                       "cuda_aware", "binomial", 8);
    pto_plan_t *plan = plan_of(request);
    assert_int_equal(pto_plan_traffic(plan, note, &matrix, &err), PTO_ERR_TOO_LARGE);
    assert_non_null(
        strstr(err.message, "counted rank by rank, for at most 65536 ranks; this layout has 65540"));
    request.layout.nodes = 2500;
    request.collective = PTO_COLLECTIVE_ALLTOALL;
    assert_int_equal(pto_algorithm_find("pairwise", request.collective, &request.algorithm, NULL), PTO_OK);
    plan = plan_of(request);
    assert_int_equal(pto_plan_traffic(plan, note, &matrix, &err), PTO_ERR_TOO_LARGE);
    assert_non_null(strstr(err.message, "message by message"));
}
