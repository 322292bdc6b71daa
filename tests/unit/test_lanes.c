/* Lanes: parallel branches and pipelines in plans. */
#include "price/pricing.h" /* before `machine` is declared */
#include "priced.h"
#include "test.h"

#include "../chance.h"
#include "lanes_cost.h"
#include "lanes_plan.h"
#include "portolan/check.h"

/* --- plans ---------------------------------------------------------------------------------------------- */

TEST(a_walk_takes_a_pipeline_chunk_by_chunk) {
    pto_plan_t *plan = pipeline_plan(2, 4, 64);
    assert_int_equal(pto_plan_lane_count(plan), 3);
    pto_walk_t walk;
    pto_walk_begin(&walk, plan);
    for (int64_t i = 0; i < 12; i++) {
        assert_true(pto_walk_next(&walk));
        assert_int_equal(walk.instance, i);
        assert_int_equal(walk.k, i / 3);
        assert_int_equal(walk.lane, i % 3);
        pto_walk_after_t after = pto_walk_after(&walk);
        assert_int_equal(after.fork, 0);
        assert_int_equal(after.lane, i >= 3 ? i - 3 : -1);
        assert_int_equal(after.chunk, i % 3 > 0 ? i - 1 : -1);
        assert_int_equal(after.slot, i % 3 == 0 && i >= 6 ? i - 4 : -1);
    }
    assert_false(pto_walk_next(&walk));
}

TEST(a_walk_takes_branch_after_branch) {
    pto_plan_t *plan = plan_by(build_branches, PTO_COLLECTIVE_BROADCAST, 1, 64);
    static const struct {
        const char *stage;
        int lane;
        int64_t fork, after;
    } wanted[] = {{"ready", 0, 0, -1},
                  {"copy to host", 0, 1, -1},
                  {"take", 0, 1, 1},
                  {"push", 1, 1, -1},
                  {"take", 1, 1, 3}};
    pto_walk_t walk;
    pto_walk_begin(&walk, plan);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        assert_true(pto_walk_next(&walk));
        assert_string_equal(walk.stage->name, wanted[i].stage);
        assert_int_equal(walk.lane, wanted[i].lane);
        pto_walk_after_t after = pto_walk_after(&walk);
        assert_int_equal(after.fork, wanted[i].fork);
        assert_int_equal(after.lane, wanted[i].after);
    }
    assert_false(pto_walk_next(&walk));
}

TEST(the_depth_of_a_pipeline_is_in_the_digest) {
    pto_plan_t *two = pipeline_plan(2, 4, 64), *four = pipeline_plan(4, 4, 64);
    assert_true(pto_plan_digest(two) != pto_plan_digest(four));
}

TEST(a_plan_with_lanes_is_printed) {
    pto_plan_t *plan = pipeline_plan(2, 4, 64);
    char *text;
    assert_int_equal(pto_print(plan, 0, false, &text, NULL), PTO_OK);
    assert_non_null(strstr(text,
                           "  for k = 0 .. 3, pipelined: each stage is a lane, at most 2 chunks at once\n"
                           "    copy to host\n"));
    free(text);
    plan = plan_by(build_branches, PTO_COLLECTIVE_BROADCAST, 1, 64);
    assert_int_equal(pto_print(plan, 0, true, &text, NULL), PTO_OK);
    assert_non_null(strstr(text, "  in parallel\n    lane 0\n      copy to host\n"));
    assert_non_null(strstr(text, "    lane 1\n      push\n"));
    free(text);
}

/* --- structure ------------------------------------------------------------------------------------------ */

static void build_loop_in_pipeline(pto_builder_t *builder, const pto_request_t *request) {
    build_pipeline(builder, request);
    pto_build_pipeline(builder, 0, 2, 1);
    pto_build_loop(builder, 0, 2, false);
    pto_build_end(builder);
    pto_build_end(builder);
}

static void build_pipeline_without_depth(pto_builder_t *builder, const pto_request_t *request) {
    build_pipeline(builder, request);
    pto_build_pipeline(builder, 0, 2, 0);
    pto_build_end(builder);
}

static void build_branch_alone(pto_builder_t *builder, const pto_request_t *request) {
    build_pipeline(builder, request);
    pto_build_branch(builder);
    pto_build_end(builder);
}

static void build_kernel_in_branch(pto_builder_t *builder, const pto_request_t *request) {
    build_pipeline(builder, request);
    pto_exchange_t owners = test_owners(builder, request);
    pto_build_parallel(builder);
    pto_build_branch(builder);
    pto_build_kernel(builder, &owners);
    pto_build_end(builder);
    pto_build_end(builder);
    pto_build_end(builder);
}

static void build_many_branches(pto_builder_t *builder, const pto_request_t *request) {
    build_pipeline(builder, request);
    pto_build_parallel(builder);
    for (int i = 0; i <= PTO_LANES_MAX; i++) {
        pto_build_branch(builder);
        pto_build_end(builder);
    }
    pto_build_end(builder);
}

TEST(a_node_in_the_wrong_place_is_refused) {
    static const struct {
        void (*build)(pto_builder_t *, const pto_request_t *);
        const char *message;
    } cases[] = {{build_loop_in_pipeline, "a pipeline contains a loop"},
                 {build_pipeline_without_depth, "a pipeline has depth 0; it must be 1 or more"},
                 {build_branch_alone, "a plan contains a branch"},
                 {build_kernel_in_branch, "a branch contains a kernel"},
                 {build_many_branches, "a parallel node has 65 lanes; the maximum is 64"}};
    shape.slots = shape.chunks = 2;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pto_request_t request = request_of(cases[i].build, PTO_COLLECTIVE_MESSAGES, 2, 64);
        assert_string_equal(no_plan(&request, PTO_ERR_INVALID_PLAN), cases[i].message);
    }
}

/* --- pipelines ------------------------------------------------------------------------------------------ */

TEST(a_pipeline_costs_its_closed_formula) {
    static const int64_t chunks[] = {1, 2, 8, 64}, slots[] = {3, 4, 64};
    for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++)
        for (size_t d = 0; d < sizeof slots / sizeof *slots; d++) {
            pto_plan_t *plan = pipeline_plan(slots[d], chunks[c], RING_BYTES);
            assert_near(price_in_all_ways(plan), pipelined_s(chunks[c]), 0.01);
        }
}

/* Chunks that cost the same are one product: as if they were priced one by one. */
TEST(many_chunks_cost_what_each_of_them_does) {
    static const int64_t slots[] = {1, 2, 3, 5, 400};
    pto_param_t *beta = &machine.copies[PTO_COPY_H2D][PTO_REACH_ON_SOCKET].beta_s_per_byte;
    const double before = beta->value;
    static const double factors[] = {0.3, 0.57, 1.083, 2.058, 3.91};
    for (size_t f = 0; f < sizeof factors / sizeof *factors; f++)
        for (size_t s = 0; s < sizeof slots / sizeof *slots; s++) {
            pto_plan_t *plan = pipeline_plan(slots[s], 400, 400 * 40000);
            beta->value = factors[f] * before;
            agreed_s(plan, &machine);
            price_in_all_ways(plan);
            assert_explained(plan, &machine);
        }
    beta->value = before;
}

/* The end of the last span of each resource of each rank; of local work, in each lane. */
typedef struct {
    double end_s[2][PTO_RESOURCE_COUNT][PTO_LANES_MAX];
    bool overlap[2]; /* whether local work of two lanes of the rank has overlapped */
} spans_t;

static void note_span(void *context, const pto_span_t *span) {
    spans_t *spans = context;
    if (span->resource > PTO_RESOURCE_LOCAL)
        return;
    int lane = span->resource == PTO_RESOURCE_LOCAL ? span->lane : 0;
    double *end_s = spans->end_s[span->index][span->resource];
    assert_true(span->start_s >= end_s[lane] * (1 - 1e-12));
    end_s[lane] = span->end_s;
    for (int other = 0; other < PTO_LANES_MAX && span->resource == PTO_RESOURCE_LOCAL; other++)
        if (other != lane && end_s[other] > span->start_s)
            spans->overlap[span->index] = true;
}

TEST(only_lanes_of_a_rank_overlap) {
    spans_t spans = {0};
    pto_simulate_options_t options = {.visit = note_span, .context = &spans};
    pto_simulation_t simulation;
    pto_plan_t *plan = pipeline_plan(3, 16, RING_BYTES);
    assert_int_equal(pto_simulate(plan, &machine, &options, &simulation, NULL), PTO_OK);
    assert_true(spans.overlap[0] && spans.overlap[1]);
}

/* With fewer slots than stages, chunks wait for slots; with one, two of the three lanes of a rank wait for
 * the third at any time, but for those that have ended. */
TEST(a_pipeline_of_one_slot_does_not_overlap) {
    static const int64_t chunks[] = {1, 8};
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        const double n = (double)chunks[i], copy_s = copy_s_of(RING_BYTES / n),
                     send_s = send_s_of(RING_BYTES / n);
        const pto_plan_t *one = pipeline_plan(1, chunks[i], RING_BYTES);
        assert_near(price_in_all_ways(one), n * (2 * copy_s + send_s), 0.01);
        const pto_resource_use_t local = must_simulate(one, &machine).use[PTO_RESOURCE_LOCAL];
        const double copying_out = (n - 1) * (send_s + copy_s), sending = (2 * n - 1) * copy_s,
                     copying_in = n * (copy_s + send_s);
        assert_near(local.most_waiting_s, copying_out + sending + copying_in, 1e-9);
        assert_near(local.waiting_s, 2 * local.most_waiting_s, 1e-9);
    }
}

TEST(a_pipeline_is_proved) {
    static const int64_t slots[] = {1, 2, 3, 8}, chunks[] = {1, 2, 3, 16};
    for (size_t d = 0; d < sizeof slots / sizeof *slots; d++)
        for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++)
            assert_right(pipeline_plan(slots[d], chunks[c], 4800));
}

TEST(a_slot_that_is_used_again_too_early_is_refused) {
    shape.one_slot_less = true;
    refused_for(
        pipeline_plan(3, 16, 6400),
        "stage 'copy to host', k=2: lane 0 writes bytes 0..399 of 'host in' of rank 0, unordered with the "
        "read of stage 'exchange' in lane 1 of the same rank");
    shape.one_slot_less = false;
}

/* --- what steps ask for --------------------------------------------------------------------------------- */

/* What a step of member 0 asks for, of a plan with the buffers of build_mixed. */
static void asks_for(const pto_plan_t *plan, pto_step_kind_t kind, int source, int target,
                     pto_lane_resource_t wanted) {
    pto_step_t step = {.kind = kind};
    step.source = pto_slice_block(source, PTO_ANCHOR_ABSOLUTE);
    step.target = pto_slice_block(target, PTO_ANCHOR_ABSOLUTE);
    pto_lane_resource_t got = pto_lane_resource(plan, &step);
    if (got != wanted)
        fail_msg("step %d from buffer %d to %d: resource %d, not %d", (int)kind, source, target, (int)got,
                 (int)wanted);
}

static void build_mixed(pto_builder_t *builder, const pto_request_t *request);

TEST(steps_ask_for_the_resource_that_they_use) {
    enum { GPU, OTHER_GPU, HOST, OTHER_HOST };
    pto_plan_t *plan = plan_by(build_mixed, PTO_COLLECTIVE_MESSAGES, 2, 1 << 21);
    asks_for(plan, PTO_STEP_COPY, GPU, OTHER_GPU, PTO_LANE_GPU);
    asks_for(plan, PTO_STEP_COPY, GPU, HOST, PTO_LANE_OUT);
    asks_for(plan, PTO_STEP_COPY, HOST, GPU, PTO_LANE_IN);
    asks_for(plan, PTO_STEP_COPY, HOST, OTHER_HOST, PTO_LANE_CPU);
    asks_for(plan, PTO_STEP_REDUCE, GPU, OTHER_GPU, PTO_LANE_GPU);
    asks_for(plan, PTO_STEP_REDUCE, HOST, OTHER_HOST, PTO_LANE_CPU);
    asks_for(plan, PTO_STEP_SIGNAL, GPU, GPU, PTO_LANE_CPU);
    asks_for(plan, PTO_STEP_WAIT, GPU, GPU, PTO_LANE_CPU);
    for (int end = 0; end < 2; end++) {
        pto_step_t step = {.kind = PTO_STEP_COPY};
        step.target.buffer = OTHER_GPU;
        (end == 0 ? &step.source : &step.target)->holder = PTO_HOLDER_PEER;
        assert_int_equal(pto_lane_resource(plan, &step), end == 0 ? PTO_LANE_RECV : PTO_LANE_SEND);
    }
}

/* --- random nodes --------------------------------------------------------------------------------------- */

/* A pipeline or a parallel node, each of whose stages is one copy, or messages if both its buffers are on the
 * host; no two stages use the same resource. */
static struct {
    int stages;
    bool parallel;
    struct {
        int source;
        int target;
        int64_t blocks;
    } stage[5];
} mixed;

static pto_slice_t first_blocks(int buffer, int64_t blocks) {
    pto_slice_t slice = pto_slice_block(buffer, PTO_ANCHOR_ABSOLUTE);
    slice.run = slice.stride = slice.until = pto_constant(blocks);
    return slice;
}

static void build_mixed(pto_builder_t *builder, const pto_request_t *request) {
    enum { GPU_BUFFERS = 2, BUFFERS = 4, BLOCKS = 8, BLOCK_BYTES = 1 << 18 };
    static const char *const name[BUFFERS] = {"in", "gpu", "host", "other host"};
    pto_exchange_t owners = test_owners(builder, request);
    for (int i = 0; i < BUFFERS; i++)
        test_buffer(builder, name[i], i ? PTO_ROLE_TEMPORARY : PTO_ROLE_IN,
                    i < GPU_BUFFERS ? PTO_SPACE_GPU : PTO_SPACE_CPU, BLOCKS, BLOCK_BYTES);
    if (mixed.parallel)
        pto_build_parallel(builder);
    else
        pto_build_pipeline(builder, 0, shape.chunks, shape.slots);
    for (int i = 0; i < mixed.stages; i++) {
        pto_slice_t source = first_blocks(mixed.stage[i].source, mixed.stage[i].blocks);
        pto_slice_t target = first_blocks(mixed.stage[i].target, mixed.stage[i].blocks);
        pto_step_t send = pto_step_of(PTO_STEP_SEND, &owners), recv = pto_step_of(PTO_STEP_RECV, &owners);
        if (mixed.parallel)
            pto_build_branch(builder);
        pto_build_stage(builder, "stage", PTO_ORDER_AT_ONCE);
        send.source = source;
        recv.target = target;
        send.peers = pto_peers_at(pto_constant(1), 1);
        recv.peers = pto_peers_at(pto_constant(1), -1);
        if (mixed.stage[i].source == GPU_BUFFERS && mixed.stage[i].target > GPU_BUFFERS) {
            pto_build_step(builder, send);
            pto_build_step(builder, recv);
        } else {
            add_copy(builder, pto_step_of(PTO_STEP_COPY, &owners), source, target);
        }
        if (mixed.parallel)
            pto_build_end(builder);
    }
    pto_build_end(builder);
}

TEST(random_nodes_cost_what_they_take) {
    static const int ends[5][2] = {{0, 1}, {0, 2}, {2, 0}, {2, 3}, {3, 2}};
    pto_machine_t before = machine;
    machine.copies[PTO_COPY_D2D][PTO_REACH_ON_SOCKET] = machine.copies[PTO_COPY_D2H][PTO_REACH_ON_SOCKET];
    machine.copies[PTO_COPY_H2H][PTO_REACH_ON_SOCKET] = machine.copies[PTO_COPY_H2D][PTO_REACH_ON_SOCKET];
    machine.copies[PTO_COPY_H2H][PTO_REACH_ON_SOCKET].beta_s_per_byte.value *= 3;
    machine.injection_s_per_byte[PTO_SPACE_CPU] = (pto_param_t){.value = 6e-11, .line = 1};
    for (uint64_t seed = 0; seed < 300; seed++) {
        chance_state = seed;
        int start = draw(5);
        mixed.stages = 1 + draw(5);
        mixed.parallel = draw(3) == 0;
        shape.chunks = 1 + draw(200);
        shape.slots = 1 + draw(8);
        for (int i = 0; i < mixed.stages; i++) {
            mixed.stage[i].source = ends[(start + 2 * i) % 5][0];
            mixed.stage[i].target = ends[(start + 2 * i) % 5][1];
            mixed.stage[i].blocks = 1 + draw(8);
        }
        pto_plan_t *plan = plan_by(build_mixed, PTO_COLLECTIVE_MESSAGES, 2, 1 << 21);
        price_in_all_ways(plan);
        assert_explained(plan, &machine);
        agreed_s(plan, &machine);
    }
    machine = before;
}

/* --- branches ------------------------------------------------------------------------------------------- */

/* Branches cost the longer of both if they use different things, and the sum if they use the same. */
TEST(branches_overlap_where_they_use_different_things) {
    const double bytes = RING_BYTES, copy_s = copy_s_of(bytes), send_s = send_s_of(bytes);
    static const pto_copy_kind_t out = PTO_COPY_D2H, in = PTO_COPY_H2D, message = PTO_COPY_H2H;
    const struct {
        pto_copy_kind_t kind[2];
        double wanted_s;
    } cases[] = {{{out, in}, copy_s},
                 {{out, out}, 2 * copy_s},
                 {{in, in}, 2 * copy_s},
                 {{out, message}, fmax(copy_s, send_s)},
                 {{message, message}, 2 * send_s}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(shape.kind, cases[i].kind, sizeof shape.kind);
        pto_plan_t *plan = plan_by(build_pair, PTO_COLLECTIVE_MESSAGES, 2, RING_BYTES);
        assert_near(price_in_all_ways(plan), cases[i].wanted_s, 0.01);
    }
}

TEST(a_broadcast_in_two_branches_takes_the_longer_one) {
    const double half = RING_BYTES / 2.0, staged_s = 2 * copy_s_of(half);
    pto_postal_t *peer = &machine.peer[PTO_REACH_ON_SOCKET];
    pto_plan_t *plan = plan_by(build_branches, PTO_COLLECTIVE_BROADCAST, 1, RING_BYTES);
    peer->alpha_s = (pto_param_t){.value = 5e-6, .line = 1};
    for (int doublings = 0; doublings < 4; doublings++) {
        double beta = 1e-11 * (1 << doublings);
        peer->beta_s_per_byte = (pto_param_t){.value = beta, .line = 1};
        assert_near(price_in_all_ways(plan), fmax(staged_s, 5e-6 + beta * half), 0.01);
    }
}

static pto_plan_t *branches_plan(void) { return plan_by(build_branches, PTO_COLLECTIVE_BROADCAST, 1, 6400); }

TEST(branches_are_proved) { assert_right(branches_plan()); }

TEST(a_branch_that_races_another_is_refused) {
    shape.steals = true;
    refused_for(branches_plan(),
                "rank 0, stage 'push': lane 1 reads bytes 0..3199 of 'host' of rank 1, unordered "
                "with the write of stage 'copy to host' in lane 0 of the same rank");
    shape.steals = false;
}

TEST(a_flag_of_two_lanes_is_refused) {
    shape.same_flag = true;
    refused_for(branches_plan(),
                "flag 'ready' is raised in lane 0 (stage 'copy to host') and in lane 1 (stage 'push')");
    shape.same_flag = false;
}

int main(void) { return run_all_tests(read_machine, NULL); }
