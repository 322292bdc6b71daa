/* How the work of proofs grows, counted and not timed: spans of contents that are read, written or moved. An
 * exchange has a block for each pair of processes, so its proof may grow with the square of their number and
 * no faster; walks of later runs, which prove the order of accesses alone, may not touch contents again.
 * Where all nodes do the same, the proof has the blocks of one node. */
#include "check/check_internal.h"
#include "plan_request.h"
#include "portolan/check.h"
#include "portolan/plan.h"
#include "test.h"

/* Spans visited while an alltoall, or an allreduce by a ring, among 4 GPUs on each of `nodes` nodes is
 * proved, and its blocks. */
static double visits_of(const char *strategy, const char *algorithm, pto_proof_t proof, int64_t nodes,
                        double *blocks) {
    bool is_ring = strcmp(algorithm, "direct") == 0;
    pto_request_t request = request_for(is_ring ? PTO_COLLECTIVE_ALLREDUCE : PTO_COLLECTIVE_ALLTOALL,
                                        strategy, algorithm, nodes, 4, 1, is_ring ? 65536 : 64);
    request.layout.procs_per_gpu = request.strategy->splits ? 2 : 1;
    const pto_plan_t *plan = must_plan(&request);
    pto_check_report_t report;
    bool unordered;
    int64_t before = pto_contents_visits;
    assert_int_equal(pto_check_by_method(plan, proof, NULL, &report, &unordered, NULL), PTO_OK);
    *blocks = pow(4 * (double)nodes, 2);
    return (double)(pto_contents_visits - before);
}

/* Each block is staged, sent, received, copied and compared, in the stages and in the meaning of their
 * collective, with a few visits each. Plans that share memory are walked three times. */
TEST(proofs_grow_with_the_square_of_the_processes) {
    static const char *const of[][2] = {{"cuda_aware", "pairwise"}, {"cuda_aware", "linear"},
                                        {"three_step", "pairwise"}, {"three_step", "linear"},
                                        {"dup_devptr", "pairwise"}, {"dup_devptr", "linear"},
                                        {"extra_message", "linear"}};
    static const double most[] = {15, 15, 20, 20, 50, 50, 50}; /* visits a block */
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        double blocks, few = visits_of(of[i][0], of[i][1], PTO_PROOF_IN_FULL, 4, &blocks);
        double more = visits_of(of[i][0], of[i][1], PTO_PROOF_IN_FULL, 8, &blocks);
        print_message("%s %s: %.1f visits a block, power %.2f\n", of[i][0], of[i][1], more / blocks,
                      log2(more / few));
        assert_true(log2(more / few) < 2.2);
        assert_true(more <= most[i] * blocks);
    }
}

/* The first way to prove a plan that pto_check tries. In a split ring the processes of a GPU write the shares
 * of one buffer in turn, so the gap in its contents moves by a share each time. */
TEST(proofs_by_one_node_grow_with_the_number_of_nodes) {
    static const char *const of[][2] = {{"cuda_aware", "pairwise"}, {"three_step", "linear"},
                                        {"dup_devptr", "pairwise"}, {"extra_message", "bruck"},
                                        {"node_leaders", "linear"}, {"node_aware", "pairwise"},
                                        {"staged_ring", "direct"},  {"split_ring", "direct"}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        enum { NODES = 32 };
        double blocks, few = visits_of(of[i][0], of[i][1], PTO_PROOF_OF_ONE_NODE, NODES, &blocks);
        double more = visits_of(of[i][0], of[i][1], PTO_PROOF_OF_ONE_NODE, 2 * NODES, &blocks);
        double all = visits_of(of[i][0], of[i][1], PTO_PROOF_BY_GROUP_CLOCKS, NODES, &blocks);
        print_message("%s %s: power %.2f, %.1f times less than by all ranks\n", of[i][0], of[i][1],
                      log2(more / few), all / few);
        assert_true(log2(more / few) < (strcmp(of[i][0], "split_ring") == 0 ? 1.9 : 1.2));
        assert_true(all / few > NODES / 2.0);
    }
}

/* The increase of a counter while a plan is proved. */
static double gained_by_proof(const pto_request_t *request, const int64_t *counter) {
    const pto_plan_t *plan = must_plan(request);
    int64_t before = *counter;
    assert_right(plan);
    return (double)(*counter - before);
}

/* Entries of clocks that are joined while an allreduce on one node of `gpus` GPUs is proved. */
static double clock_visits_of(const char *strategy, int64_t gpus, int64_t procs) {
    pto_request_t request =
        request_for(PTO_COLLECTIVE_ALLREDUCE, strategy, "direct", 1, gpus, 1, 4 * gpus * procs);
    request.layout.procs_per_gpu = procs;
    return gained_by_proof(&request, &pto_clocks_visits);
}

/* A ring makes steps with the square of the processes. Each joins clocks of the lanes that share memory: its
 * own, or those of its GPU. */
TEST(clocks_know_the_processes_that_share_memory) {
    static const struct {
        const char *strategy;
        int64_t procs;
    } of[] = {{"staged_ring", 1}, {"split_ring", 3}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        double few = clock_visits_of(of[i].strategy, 8, of[i].procs);
        double more = clock_visits_of(of[i].strategy, 16, of[i].procs);
        print_message("%s: power %.2f\n", of[i].strategy, log2(more / few));
        assert_true(log2(more / few) < 2.2);
    }
}

/* Pieces that are looked at while an allreduce by a kernel on one node of `gpus` GPUs is proved. */
static double piece_visits_of(int64_t gpus) {
    pto_request_t request =
        request_for(PTO_COLLECTIVE_ALLREDUCE, "gas_split", "direct", 1, gpus, 1, 64 * gpus);
    return gained_by_proof(&request, &pto_pieces_visits);
}

/* Each process uses a piece of every other one's buffers. */
TEST(pieces_are_compared_with_those_close_by) {
    double few = piece_visits_of(8), more = piece_visits_of(16);
    print_message("power %.2f\n", log2(more / few));
    assert_true(log2(more / few) < 2.2);
}
