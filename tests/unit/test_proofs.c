/* The three ways to prove a plan: by one node where all nodes do the same, by clocks that know the ranks
 * that share memory, and in full. The first two must prove nothing that the third does not, and should prove
 * all plans that are registered. test_mutations compares the ways on plans with faults. */
#include "check/check_internal.h"
#include "must.h"
#include "plan/plan_internal.h"
#include "plan_request.h"
#include "test.h"

static struct {
    int64_t plans;
    int64_t by_one_node;
} proved;

static pto_status_t prove(const pto_plan_t *plan, pto_proof_t proof, pto_check_report_t *report) {
    bool unordered;
    memset(report, 0, sizeof *report);
    return pto_check_by_method(plan, proof, NULL, report, &unordered, NULL);
}

/* A plan that is right in full is proved by clocks by group and, if all of its nodes do the same, by one; the
 * work is that of all nodes. A plan that is not is proved in no way. */
static void compare_ways(const pto_request_t *request) {
    pto_plan_t *plan = NULL;
    if (pto_plan_create(request, &plan, NULL) != PTO_OK)
        return;
    if (pto_plan_either_count(plan, pto_plan_node_count(plan)) == 0) {
        pto_check_report_t full, by_clocks, by_node;
        bool right = prove(plan, PTO_PROOF_IN_FULL, &full) == PTO_OK;
        pto_status_t one_node = prove(plan, PTO_PROOF_OF_ONE_NODE, &by_node);
        assert_int_equal(prove(plan, PTO_PROOF_BY_GROUP_CLOCKS, &by_clocks) == PTO_OK, right);
        assert_memory_equal(&by_clocks, &full, sizeof full);
        if (one_node != PTO_ERR_NOT_APPLICABLE) {
            assert_int_equal(one_node == PTO_OK, right);
            assert_memory_equal(&by_node, &full, sizeof full);
        }
        proved.plans++;
        proved.by_one_node += one_node == PTO_OK;
    }
    pto_plan_destroy(plan);
}

/* Layouts, halves of requests that change what a plan does, and all strategies with all algorithms. */
static void compare_variants(pto_request_t request) {
    static const int64_t chunks[] = {0, 3};
    for (int variant = 0; variant < 16; variant++) {
        request.by_library = variant & 1;
        request.staged = request.by_library && variant & 2;
        request.split = variant & 4 ? PTO_SPLIT_DESTINATIONS : PTO_SPLIT_BYTES;
        request.chunks = chunks[variant >> 3];
        compare_ways(&request);
    }
}

TEST(all_ways_prove_the_same_plans) {
    static const pto_layout_t layouts[] = {
        {3, 2, 1, 2, 2, false}, {2, 2, 2, 2, 2, false}, {4, 3, 1, 2, 3, false}, {5, 1, 1, 3, 1, false},
        {6, 4, 1, 1, 2, false}, {1, 4, 1, 2, 2, false}, {2, 1, 3, 3, 1, false},
    };
    pto_request_t request = {.datatype = PTO_DATATYPE_FLOAT, .bytes = 116, .messages = 5};
    for (int at = 0; next_request(&request, &at);)
        for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
            request.layout = layouts[l];
            compare_variants(request);
        }
    print_message("%lld plans, %lld of them proved by one node\n", (long long)proved.plans,
                  (long long)proved.by_one_node);
    assert_true(proved.by_one_node > 4000);
}

/* Partners at an exclusive or, trees, and tables have no such symmetry. */
TEST(only_plans_whose_nodes_do_the_same_are_proved_by_one) {
    static const struct {
        pto_collective_t collective;
        pto_status_t status;
        const char *strategy, *algorithm;
    } cases[] = {
        {PTO_COLLECTIVE_ALLTOALL, PTO_OK, "cuda_aware", "pairwise"},
        {PTO_COLLECTIVE_ALLTOALL, PTO_OK, "cuda_aware", "linear_by_rank"},
        {PTO_COLLECTIVE_ALLTOALL, PTO_OK, "dup_devptr", "bruck"},
        {PTO_COLLECTIVE_ALLTOALL, PTO_OK, "node_leaders", "pairwise"},
        {PTO_COLLECTIVE_ALLTOALL, PTO_OK, "staged_aware", "linear"},
        {PTO_COLLECTIVE_ALLGATHER, PTO_OK, "three_step", "ring"},
        {PTO_COLLECTIVE_ALLGATHER, PTO_ERR_NOT_APPLICABLE, "cuda_aware", "recursive_doubling"},
        {PTO_COLLECTIVE_ALLREDUCE, PTO_ERR_NOT_APPLICABLE, "cuda_aware", "ring"},
        {PTO_COLLECTIVE_BROADCAST, PTO_ERR_NOT_APPLICABLE, "cuda_aware", "binomial"},
        {PTO_COLLECTIVE_ALLREDUCE, PTO_OK, "staged_ring", "direct"},
        {PTO_COLLECTIVE_ALLREDUCE, PTO_OK, "split_ring", "direct"},
        {PTO_COLLECTIVE_REDUCE_SCATTER, PTO_OK, "split_ring", "direct"},
        {PTO_COLLECTIVE_ALLGATHER, PTO_OK, "staged_ring", "direct"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pto_request_t request =
            request_for(cases[i].collective, cases[i].strategy, cases[i].algorithm, 4, 2, 2, 64);
        pto_check_report_t report;
        assert_int_equal(prove(must_plan(&request), PTO_PROOF_OF_ONE_NODE, &report), cases[i].status);
    }
}

/* Empty parts are not sent, so nodes do not send as many messages. */
TEST(vectors_with_empty_parts_are_walked_on_all_nodes) {
    pto_request_t request = request_for(PTO_COLLECTIVE_ALLREDUCE, "staged_ring", "direct", 4, 2, 1, 0);
    for (request.bytes = 4 * 7; request.bytes <= 4 * 8; request.bytes += 4) {
        const pto_plan_t *plan = must_plan(&request);
        pto_check_report_t report;
        bool has_empty_part = request.bytes < 4 * 8;
        assert_int_equal(prove(plan, PTO_PROOF_OF_ONE_NODE, &report),
                         has_empty_part ? PTO_ERR_NOT_APPLICABLE : PTO_OK);
        assert_int_equal(prove(plan, PTO_PROOF_IN_FULL, &report), PTO_OK);
    }
}

/* Turned by less than a piece, pieces are not at pieces' places. */
TEST(buffers_turn_by_whole_pieces) {
    pto_request_t request = request_for(PTO_COLLECTIVE_ALLTOALL, "node_aware", "pairwise", 4, 2, 1, 64);
    pto_plan_t *plan = must_plan(&request);
    pto_rotation_t turn[16];
    assert_true(pto_check_nodes_alike(plan, turn));
    for (int i = 0; i < plan->steps.count; i++) {
        pto_step_t *step = (pto_step_t *)plan->steps.item + i;
        if (step->kind != PTO_STEP_COPY || step->source.stride.constant != 2)
            continue;
        step->source.stride.constant = step->target.stride.constant = 4; /* a node has 2 of 8 blocks */
    }
    assert_false(pto_check_nodes_alike(plan, turn));
}

/* The work of a plan is counted before its faults are known. */
TEST(plans_that_name_what_does_not_exist_are_not_alike) {
    pto_request_t request = request_for(PTO_COLLECTIVE_ALLTOALL, "three_step", "pairwise", 4, 2, 1, 64);
    pto_plan_t *plan = must_plan(&request);
    pto_rotation_t turn[16];
    for (int i = 0; i < plan->steps.count; i++) {
        pto_step_t *step = (pto_step_t *)plan->steps.item + i;
        const pto_step_t kept = *step;
        step->source.buffer = step->target.buffer = 1 << 20;
        assert_false(pto_check_nodes_alike(plan, turn));
        assert_int_equal(pto_check_size(plan, 0, NULL, NULL), PTO_OK);
        *step = kept;
        step->group = 1 << 20;
        assert_false(pto_check_nodes_alike(plan, turn));
        *step = kept;
    }
    assert_true(pto_check_nodes_alike(plan, turn));
}
