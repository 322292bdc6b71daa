/* The amount of work in a plan, counted without a visit for each iteration, against a walk that visits all.
 */
#include "lanes_plan.h"
#include "must.h"
#include "plan/plan_internal.h"
#include "portolan/plan.h"
#include "test.h"

/* Each stage of each iteration by itself. */
static pto_plan_size_t size_one_by_one(const pto_plan_t *plan) {
    const pto_layout_t *layout = &plan->request.layout;
    pto_plan_size_t size = {0};
    pto_walk_t walk;
    for (pto_walk_begin(&walk, plan); pto_walk_next(&walk);) {
        for (int64_t core = 0; core < layout->procs_per_gpu; core++)
            size.stages += pto_core_acts(plan, core) ? layout->nodes * layout->gpus_per_node : 0;
        if (pto_walk_in_nccl(&walk)) {
            pto_walk_leave_collective(&walk);
            continue;
        }
        for (int i = 0; i < walk.stage->step_count; i++) {
            const pto_step_t *step = pto_step_at(plan, walk.stage->step_first + i);
            const int64_t actions = pto_step_actions(plan, step, walk.k);
            size.messages += step->kind == PTO_STEP_SEND ? actions : 0;
            size.local_actions += step->kind == PTO_STEP_SEND || step->kind == PTO_STEP_RECV ? 0 : actions;
            size.peer_actions +=
                pto_step_is_message(step) || step->peers.kind == PTO_PEERS_NONE ? 0 : actions;
        }
    }
    return size;
}

/* Shifts that go beyond the group, where none is met; peers that become more; one whose distance grows. */
static void build_growing(pto_builder_t *builder, const pto_request_t *request) {
    const pto_exchange_t owners = test_owners(builder, request);
    const int in = test_buffer(builder, "in", PTO_ROLE_IN, PTO_SPACE_GPU, 1, request->bytes);
    pto_step_t beyond = pto_step_of(PTO_STEP_SEND, &owners), more = beyond, wider = beyond;
    beyond.source = more.source = wider.source = pto_slice_all(builder, in);
    beyond.peers = pto_peers_at(pto_loop_index(1, 0), 1);
    more.peers = (pto_peers_t){.kind = PTO_PEERS_INDEX,
                               .first = pto_constant(0),
                               .stride = pto_constant(1),
                               .until = pto_loop_index(1, 0)};
    wider.peers = (pto_peers_t){.kind = PTO_PEERS_INDEX,
                                .first = pto_constant(0),
                                .stride = pto_loop_index(1, 0),
                                .until = pto_constant(owners.n)};
    const pto_step_t *const step[] = {&beyond, &more, &wider};
    for (int i = 0; i < 3; i++) {
        pto_build_loop(builder, 1, i == 0 ? 2 * owners.n : owners.n, false);
        pto_build_stage(builder, "send", PTO_ORDER_SEQUENCE);
        pto_build_step(builder, *step[i]);
        pto_build_end(builder);
    }
}

TEST(iterations_with_other_numbers_of_peers_are_counted_by_themselves) {
    const int64_t gpus = 6;
    shape.gpus = gpus;
    pto_plan_t *plan = plan_by(build_growing, PTO_COLLECTIVE_ALLGATHER, 1, 64);
    /* Of 5 distances within the group; 1 to 5 peers; of 6 in steps of 1 to 5. */
    const int64_t messages = gpus * (5 + (1 + 2 + 3 + 4 + 5) + (6 + 3 + 2 + 2 + 2));
    assert_int_equal(pto_plan_size(plan).messages, messages);
}

/* With its collectives as calls of NCCL, which count once, whatever they begin with. */
static void compare_as_nccls(pto_plan_t *plan) {
    for (int i = 0; i < plan->nodes.count; i++) {
        pto_node_t *node = (pto_node_t *)plan->nodes.item + i;
        if (node->kind == PTO_NODE_COLLECTIVE)
            node->by = PTO_DONE_BY_NCCL;
    }
    const pto_plan_size_t size = pto_plan_size(plan), wanted = size_one_by_one(plan);
    assert_memory_equal(&size, &wanted, sizeof size);
}

/* Iterations that are alike are counted once, so counting is quick where rounds are as many as processes. */
TEST(the_size_of_a_plan_is_that_of_its_stages_one_by_one) {
    int64_t plans = 0, actions = 0, messages = 0;
    pto_request_t request = {
        .datatype = PTO_DATATYPE_FLOAT, .bytes = 100000, .messages = 4, .by_library = true};
    for (int at = 0; next_request(&request, &at);)
        for (int i = 0; i < 6; i++) {
            request.layout = (pto_layout_t){1 + 2 * (i / 2), 4, 1, 3, 2, false};
            request.segment_bytes = i % 2 ? 4096 : 0;
            request.chunks = i % 2 ? 8 : 0;
            pto_plan_t *plan = NULL;
            if (request.collective == PTO_COLLECTIVE_HALO ||
                !(request.algorithm->collectives & 1u << request.collective) ||
                pto_plan_create(&request, &plan, NULL) != PTO_OK)
                continue;
            const pto_plan_size_t size = pto_plan_size(plan), wanted = size_one_by_one(plan);
            assert_memory_equal(&size, &wanted, sizeof size);
            compare_as_nccls(plan);
            plans++;
            actions += wanted.local_actions;
            messages += wanted.messages;
            pto_plan_destroy(plan);
        }
    assert_true(plans > 1000 && actions > plans && messages > plans);
}
