/* NCCL's collectives: their plans are proved by the stages that describe them, and priced from the machine
 * file. */
#include "bad_machine.h"
#include "machine/machine_internal.h"
#include "must.h"
#include "plan_request.h"
#include "portolan/check.h"
#include "portolan/machine.h"
#include "portolan/pick.h"
#include "portolan/price.h"
#include "portolan/scenario.h"
#include "portolan/simulate.h"
#include "priced.h"
#include "test.h"

/* Four lines, and what a test adds from the fifth on. */
#define BODY                                                                                                 \
    "machine: m\nsource: s\nnode: {sockets: 1, gpus: 8, cores: 8}\n"                                         \
    "messages: {gpu: {off_node: [{protocol: eager, alpha_s: 1e-6, beta_s_per_byte: 1e-10}]}}\n"
#define COST "alpha_s: 1e-6, beta_s_per_byte: 1e-10"
#define ROWS                                                                                                 \
    "nccl:\n"                                                                                                \
    "  allreduce:\n"                                                                                         \
    "    - {gpus: 2, alpha_s: 5e-6, beta_s_per_byte: 3e-12}\n"                                               \
    "    - {gpus: 4, below_bytes: 64KiB, alpha_s: 8e-6, alpha_s_95: [7e-6, 9e-6], beta_s_per_byte: 2e-11}\n" \
    "    - {gpus: 4, alpha_s: 1.2e-5, beta_s_per_byte: 4e-12}\n"                                             \
    "    - {gpus: 4, nodes: 2, alpha_s: 3e-5, beta_s_per_byte: 6e-11}\n"                                     \
    "  reduce:\n"                                                                                            \
    "    - {gpus: 4, alpha_s: 7e-6, beta_s_per_byte: 5e-12}\n"                                               \
    "  broadcast:\n"                                                                                         \
    "    - {gpus: 4, alpha_s: 6e-6, beta_s_per_byte: 5e-12}\n"                                               \
    "  alltoall:\n"                                                                                          \
    "    - {gpus: 4, below_bytes: 1KiB, alpha_s: 9e-6, beta_s_per_byte: 1e-10}\n"                            \
    "    - {gpus: 4, alpha_s: 1e-5, beta_s_per_byte: 2e-11}\n"

static pto_request_t ask(pto_collective_t collective, int64_t nodes, int64_t gpus, int64_t bytes) {
    return request_for(collective, "nccl", "nccl", nodes, gpus, 1, bytes);
}

static const pto_collective_t collectives[] = {PTO_COLLECTIVE_ALLREDUCE, PTO_COLLECTIVE_REDUCE,
                                               PTO_COLLECTIVE_BROADCAST, PTO_COLLECTIVE_ALLTOALL,
                                               PTO_COLLECTIVE_ALLTOALLV};
enum { COLLECTIVES = sizeof collectives / sizeof *collectives };

/* --- plans ---------------------------------------------------------------------------------------------- */

TEST(the_stages_that_describe_it_are_correct) {
    static const int64_t shape[][3] = {{1, 2, 1}, {2, 1, 3}, {1, 5, 2}, {3, 2, 1}, {2, 4, 1}};
    pto_counts_t skewed = {.kind = PTO_COUNTS_SKEW, .skew = 0.9, .seed = 3};
    for (int c = 0; c < COLLECTIVES; c++)
        for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
            pto_request_t request = ask(collectives[c], shape[i][0], shape[i][1], 4 * 29);
            request.layout.procs_per_gpu = shape[i][2];
            request.counts = collectives[c] == PTO_COLLECTIVE_ALLTOALLV ? &skewed : NULL;
            pto_plan_t *plan = must_plan(&request);
            assert_right(plan);
        }
}

/* Everything lies inside one collective that is NCCL's. */
TEST(a_plan_is_one_call) {
    for (int c = 0; c < COLLECTIVES; c++) {
        pto_request_t request = ask(collectives[c], 2, 2, 64);
        pto_plan_t *plan = must_plan(&request);
        const pto_node_t *node = pto_plan_node(plan, 0);
        assert_int_equal(node->kind, PTO_NODE_COLLECTIVE);
        assert_int_equal(node->by, PTO_DONE_BY_NCCL);
        assert_int_equal(node->span, pto_plan_node_count(plan) - 1);
        assert_true(pto_plan_uses_nccl(plan));
        pto_walk_t walk;
        pto_walk_begin(&walk, plan);
        assert_true(pto_walk_next(&walk) && pto_walk_in_nccl(&walk));
        pto_walk_leave_collective(&walk);
        assert_false(pto_walk_next(&walk));
    }
}

TEST(other_plans_have_none) {
    pto_request_t request = request_for(PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "ring", 2, 2, 1, 64);
    pto_plan_t *plan = must_plan(&request);
    assert_false(pto_plan_uses_nccl(plan));
    for (int b = 0; b < pto_plan_buffer_count(plan); b++)
        assert_false(pto_buffer_stands_in(plan, b));
}

/* NCCL's own memory is not the plan's: input and output alone count. */
TEST(no_temporary_is_allocated) {
    static const int64_t vectors[COLLECTIVES] = {2, 2, 2, 8, 8};
    for (int c = 0; c < COLLECTIVES; c++) {
        pto_request_t request = ask(collectives[c], 1, 4, 1000);
        pto_plan_t *plan = must_plan(&request);
        int64_t gpu_bytes, host_bytes;
        pto_plan_memory(plan, &gpu_bytes, &host_bytes);
        assert_int_equal(gpu_bytes, vectors[c] * 1000);
        assert_int_equal(host_bytes, 0);
    }
}

TEST(unsupported_nccl_requests_are_rejected) {
    pto_request_t request = ask(PTO_COLLECTIVE_ALLREDUCE, 1, 1, 64);
    does_not_apply(&request, "nccl is for several GPUs, and there is only one");
    request = ask(PTO_COLLECTIVE_ALLREDUCE, 1, 4, 64);
    request.layout.procs_per_gpu = 2;
    request.layout.owners_per_gpu = 2;
    does_not_apply(&request, "NCCL takes one process per GPU, and the layout has 2");
    request = ask(PTO_COLLECTIVE_ALLREDUCE, 1, 4, 64);
    request.collective = PTO_COLLECTIVE_MESSAGES;
    does_not_apply(&request, "nccl is not for messages");
    request = request_for(PTO_COLLECTIVE_ALLREDUCE, "nccl", "ring", 1, 4, 1, 64);
    does_not_apply(&request, "nccl has no inner collective for algorithm ring");
    request = request_for(PTO_COLLECTIVE_ALLREDUCE, "three_step", "nccl", 1, 4, 1, 64);
    does_not_apply(&request, "three_step needs an algorithm for its inner collective, not nccl");
}

/* --- prices --------------------------------------------------------------------------------------------- */

/* As simulated, without messages. */
static double simulated_call_s(const pto_request_t *request, const pto_machine_t *machine) {
    pto_simulation_t simulation = must_simulate(must_plan(request), machine);
    assert_int_equal(simulation.messages, 0);
    return simulation.seconds;
}

static void costs(const pto_machine_t *machine, pto_request_t request, double seconds) {
    for (request.layout.procs_per_gpu = 1; request.layout.procs_per_gpu <= 2;
         request.layout.procs_per_gpu++) {
        assert_near(priced_s(&request, machine), seconds, 1e-12);
        assert_near(walked_s(&request, machine), seconds, 1e-12);
        assert_near(simulated_call_s(&request, machine), seconds, 1e-12);
    }
}

TEST(the_price_is_the_row_of_its_gpus_nodes_and_bytes) {
    pto_machine_t m = must_parse(BODY ROWS);
    costs(&m, ask(PTO_COLLECTIVE_ALLREDUCE, 1, 2, 4096), 5e-6 + 4096 * 3e-12);
    costs(&m, ask(PTO_COLLECTIVE_ALLREDUCE, 1, 4, 65532), 8e-6 + 65532 * 2e-11);
    costs(&m, ask(PTO_COLLECTIVE_ALLREDUCE, 1, 4, 65536), 1.2e-5 + 65536 * 4e-12);
    costs(&m, ask(PTO_COLLECTIVE_ALLREDUCE, 2, 2, 65536), 3e-5 + 65536 * 6e-11);
    costs(&m, ask(PTO_COLLECTIVE_REDUCE, 1, 4, 400), 7e-6 + 400 * 5e-12);
    costs(&m, ask(PTO_COLLECTIVE_BROADCAST, 1, 4, 400), 6e-6 + 400 * 5e-12);
    costs(&m, ask(PTO_COLLECTIVE_ALLTOALL, 1, 4, 1000), 9e-6 + 1000 * 1e-10);
    costs(&m, ask(PTO_COLLECTIVE_ALLTOALL, 1, 4, 1024), 1e-5 + 1024 * 2e-11);
    costs(&m, ask(PTO_COLLECTIVE_ALLTOALLV, 1, 4, 1024), 1e-5 + 1024 * 2e-11);
}

/* Counts that differ are priced as the busiest GPU's, which here is the third: it gets 400 + 4000 + 0 + 396.
 */
TEST(unequal_counts_cost_the_busiest) {
    static int64_t matrix[] = {1, 2, 400, 4, 5, 6, 4000, 8, 9, 10, 0, 12, 13, 14, 396, 16};
    pto_counts_t counts = {.kind = PTO_COUNTS_MATRIX, .order = 4, .matrix = matrix};
    pto_machine_t m = must_parse(BODY ROWS);
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALLV, 1, 4, 0);
    request.counts = &counts;
    assert_near(priced_s(&request, &m), 1e-5 + 4796.0 / 4 * 2e-11, 1e-12);
    assert_near(simulated_call_s(&request, &m), 1e-5 + 4796.0 / 4 * 2e-11, 1e-12);
}

/* Each GPU gets the bytes of all, which the diagonal tells. */
TEST(an_allgatherv_costs_the_mean_of_all_blocks) {
    static int64_t matrix[] = {400, 9, 9, 9, 9, 4000, 9, 9, 9, 9, 0, 9, 9, 9, 9, 396};
    const pto_counts_t given[] = {{.kind = PTO_COUNTS_MATRIX, .order = 4, .matrix = matrix},
                                  {.kind = PTO_COUNTS_SKEW, .skew = 0.5, .seed = 3}};
    pto_machine_t m =
        must_parse(BODY "nccl:\n  allgatherv:\n    - {gpus: 4, alpha_s: 1e-5, beta_s_per_byte: 2e-9}\n");
    for (int i = 0; i < 2; i++) {
        pto_request_t request = ask(PTO_COLLECTIVE_ALLGATHERV, 1, 4, 1000);
        request.counts = &given[i];
        double bytes = 0;
        for (int gpu = 0; gpu < 4; gpu++)
            bytes += (double)pto_counts_bytes(&given[i], request.bytes, gpu, gpu);
        assert_near(priced_s(&request, &m), 1e-5 + bytes / 4 * 2e-9, 1e-12);
        assert_near(simulated_call_s(&request, &m), 1e-5 + bytes / 4 * 2e-9, 1e-12);
    }
}

TEST(numbers_that_were_not_measured_have_no_price) {
    static const struct {
        pto_collective_t collective;
        int64_t nodes, gpus;
        const char *why;
    } refused[] = {
        {PTO_COLLECTIVE_ALLREDUCE, 1, 3,
         "needs nccl.allreduce for 3 GPUs on 1 node, and machine m knows GPUs on nodes: "
         "2 on 1, 4 on 1, 4 on 2;"},
        {PTO_COLLECTIVE_ALLREDUCE, 4, 1, "needs nccl.allreduce for 4 GPUs on 4 nodes"},
        {PTO_COLLECTIVE_REDUCE, 2, 2,
         "needs nccl.reduce for 4 GPUs on 2 nodes, and machine m knows GPUs on nodes: 4 on 1; "
         "`portolan-calibrate --only nccl`"},
    };
    pto_machine_t m = must_parse(BODY ROWS);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        pto_request_t request = ask(refused[i].collective, refused[i].nodes, refused[i].gpus, 64);
        pto_plan_t *plan = must_plan(&request);
        pto_price_t price;
        pto_simulation_t simulation;
        pto_error_t err;
        assert_says(no_price(plan, &m, PTO_ERR_NOT_APPLICABLE), refused[i].why);
        assert_int_equal(pto_price_walk(plan, &m, &price, NULL, &err), PTO_ERR_NOT_APPLICABLE);
        assert_int_equal(pto_simulate(plan, &m, NULL, &simulation, &err), PTO_ERR_NOT_APPLICABLE);
    }
}

/* --- beyond what was measured --------------------------------------------------------------------------- */

#define STRUCTURE                                                                                            \
    "  hop:\n"                                                                                               \
    "    ring: {ll: 1e-6, ll128: 1.05e-6, simple: 4e-6}\n"                                                   \
    "    tree: {ll: 1e-6, ll128: 1.1e-6, simple: 5e-6}\n"                                                    \
    "  net_hop:\n"                                                                                           \
    "    ring: {ll: 1e-5, ll128: 1.5e-5, simple: 2e-5}\n"                                                    \
    "    tree: {ll: 1.2e-5, ll128: 1.7e-5, simple: 2.2e-5}\n"                                                \
    "  peer_s: 2e-6\n  simple_bytes: 1MiB\n  channels: 4\n  chunk_bytes: 64KiB\n"                            \
    "  channel_s_per_byte: 1e-10\n  sampled_bytes: 4MiB\n  doubling: 0.25\n"

/* From 4 GPUs on one node or on two. Messages between nodes take 1e-10 s/byte. */
TEST(other_numbers_follow_from_the_nearest_row) {
    const struct {
        pto_collective_t collective;
        int64_t nodes, gpus, bytes;
        double seconds;
    } priced[] = {
        /* a ring of 8: 14 steps instead of 6; its links carry 1.75 s instead of 1.5 s */
        {PTO_COLLECTIVE_ALLREDUCE, 1, 8, 600, 8e-6 + 700 * 2e-11 + 8 * 1e-6},
        {PTO_COLLECTIVE_ALLREDUCE, 1, 8, 600000, 1.2e-5 + 700000 * 4e-12 + 8 * 1.05e-6},
        {PTO_COLLECTIVE_ALLREDUCE, 1, 8, 6000000, 1.2e-5 + 7000000 * 4e-12 + 8 * 4e-6},
        /* fewer GPUs: nothing less than what was measured, but the bytes */
        {PTO_COLLECTIVE_ALLREDUCE, 1, 3, 9000000, 1.2e-5 + 8000000 * 4e-12},
        /* a chain of 8: 4 more hops, each after a chunk of 64 KiB in every channel */
        {PTO_COLLECTIVE_REDUCE, 1, 8, 4000, 7e-6 + 4000 * 5e-12 + 4 * 1e-6},
        {PTO_COLLECTIVE_REDUCE, 1, 8, 4000000, 7e-6 + 4000000 * 5e-12 + 4 * (4e-6 + 65536 * 1e-10)},
        /* a chain over 4 nodes: 12 hops within them and 3 between; the network is slower, and by LL it
         * carries as many bytes of flags */
        {PTO_COLLECTIVE_BROADCAST, 4, 4, 4000, 6e-6 + 8000 * 1e-10 + 9 * 1e-6 + 3 * 1e-5},
        /* 7 peers instead of 3, and 4 GPUs of a node send to 4 of another */
        {PTO_COLLECTIVE_ALLTOALL, 1, 8, 3000, 1e-5 + 7000 * 2e-11 + 4 * 2e-6},
        {PTO_COLLECTIVE_ALLTOALL, 2, 4, 3000, 1e-5 + 16 * 3000 * 1e-10 + 4 * 2e-6 + 1e-5},
        /* a tree over 8 nodes: up and down 3 levels instead of 1; a ring would pass 12 more network links */
        {PTO_COLLECTIVE_ALLREDUCE, 8, 2, 4000, 3e-5 + 4000 * 6e-11 + 4 * 1.2e-5},
    };
    pto_machine_t m = must_parse(BODY ROWS STRUCTURE);
    for (size_t i = 0; i < sizeof priced / sizeof *priced; i++)
        costs(&m, ask(priced[i].collective, priced[i].nodes, priced[i].gpus, priced[i].bytes),
              priced[i].seconds);
    costs(&m, ask(PTO_COLLECTIVE_ALLREDUCE, 1, 4, 65536), 1.2e-5 + 65536 * 4e-12); /* as measured */
}

/* Two GPUs a node, measured on 2 and 4 nodes: a tree over 4 has two more hops between nodes, and so has one
 * over 8, each of which takes as many times 12 us as those took. */
TEST(two_measured_numbers_of_nodes_say_what_hops_take) {
    static const struct {
        const char *alpha_s; /* on 4 nodes; on 2 it is 30 us */
        double measured_s, times;
    } grown[] = {{"54e-6", 54e-6, 1}, {"42e-6", 42e-6, 0.5}, {"30e-6", 30e-6, 0},
                 {"20e-6", 20e-6, 0}, {"66e-6", 66e-6, 1.5}, {"500e-6", 500e-6, 2}};
    for (size_t i = 0; i < sizeof grown / sizeof *grown; i++) {
        char text[2048];
        snprintf(text, sizeof text, "%s%s%s%s",
                 BODY
                 "nccl:\n  allreduce:\n"
                 "    - {gpus: 2, alpha_s: 5e-6, beta_s_per_byte: 3e-12}\n" /* of one node: does not count */
                 "    - {gpus: 4, nodes: 2, alpha_s: 30e-6, beta_s_per_byte: 6e-11}\n"
                 "    - {gpus: 8, nodes: 4, beta_s_per_byte: 6e-11, alpha_s: ",
                 grown[i].alpha_s, "}\n", STRUCTURE);
        pto_machine_t m = must_parse(text);
        const double row_s = grown[i].measured_s + 4000 * 6e-11;
        costs(&m, ask(PTO_COLLECTIVE_ALLREDUCE, 4, 2, 4000), row_s);
        costs(&m, ask(PTO_COLLECTIVE_ALLREDUCE, 8, 2, 4000), row_s + 2 * 1.2e-5 * grown[i].times);
        costs(&m, ask(PTO_COLLECTIVE_ALLREDUCE, 16, 2, 4000), row_s + 4 * 1.2e-5 * grown[i].times);
    }
}

/* Between nodes the protocol is the cheapest at any size; LL carries what it can, whatever the network does.
 */
TEST(protocols_between_nodes_go_by_their_cost) {
    pto_machine_t m = must_parse(BODY ROWS STRUCTURE "  ll_s_per_byte: 2e-9\n");
    costs(&m, ask(PTO_COLLECTIVE_ALLREDUCE, 8, 2, 4000), 3e-5 + 8000 * 2e-9 + 4 * 1.2e-5);
    costs(&m, ask(PTO_COLLECTIVE_ALLREDUCE, 1, 8, 600), 8e-6 + 700 * 2e-11 + 8 * 1e-6); /* not within one */
    costs(&m, ask(PTO_COLLECTIVE_ALLTOALL, 2, 4, 3000), 1e-5 + 16 * 3000 * 1e-10 + 4 * 2e-6 + 1e-5);
    m.nccl_ll_s_per_byte.value = 1e-8;
    costs(&m, ask(PTO_COLLECTIVE_ALLREDUCE, 8, 2, 4000), 3e-5 + 4000 * 6e-11 + 4 * 1.7e-5);
    /* a chain: the two nodes in its middle wait for a chunk of each of four channels */
    costs(&m, ask(PTO_COLLECTIVE_BROADCAST, 4, 4, 4000000),
          6e-6 + 4000000 * (1 + 8.0 / 120) * 1e-10 + 2 * 4 * 65536 * 1e-10 + 9 * 1.05e-6 + 3 * 1.5e-5);
    costs(&m, ask(PTO_COLLECTIVE_BROADCAST, 2, 4, 4000000),
          6e-6 + 4000000 * 1e-10 + 3 * (4e-6 + 65536 * 1e-10) + 2e-5);
    costs(&m, ask(PTO_COLLECTIVE_BROADCAST, 4, 4, 40000000),
          6e-6 + 40000000 * 1e-10 + 2 * 4 * 65536 * 1e-10 + 9 * (4e-6 + 65536 * 1e-10) + 3 * 2e-5);
    m.injection_s_per_byte[PTO_SPACE_GPU] =
        (pto_param_t){.value = 1e-10, .low = 1e-10, .high = 1e-10, .line = 1};
    costs(&m, ask(PTO_COLLECTIVE_BROADCAST, 4, 4, 40000000), /* one NIC, two channels */
          6e-6 + 40000000 * 1e-10 + 2 * 2 * 65536 * 1e-10 + 9 * (4e-6 + 65536 * 1e-10) + 3 * 2e-5);
    m.injection_s_per_byte[PTO_SPACE_GPU] = (pto_param_t){0};
    /* GPUs without LL128 */
    for (int a = 0; a < PTO_NCCL_ALGORITHM_COUNT; a++)
        m.nccl_hop_s[a][PTO_NCCL_PROTOCOL_LL128] = m.nccl_net_hop_s[a][PTO_NCCL_PROTOCOL_LL128] =
            (pto_param_t){0};
    costs(&m, ask(PTO_COLLECTIVE_ALLREDUCE, 8, 2, 4000), 3e-5 + 4000 * 6e-11 + 4 * 2.2e-5);
    costs(&m, ask(PTO_COLLECTIVE_ALLREDUCE, 1, 8, 600000), 1.2e-5 + 700000 * 4e-12 + 8 * 1e-6);
}

/* Above the 4 MiB that were sampled the row still holds, but is extrapolated too. */
TEST(doublings_widen_the_interval) {
    static const struct {
        int64_t gpus, bytes, from_gpus, from_bytes;
        double doublings;
    } asked[] = {{4, 4 << 20, 0, 0, 0},
                 {4, 16 << 20, 4, 4 << 20, 2},
                 {8, 4 << 20, 4, 0, 1},
                 {16, 4 << 20, 4, 0, 2},
                 {8, 32 << 20, 4, 4 << 20, 1 + 3.0}};
    pto_machine_t m = must_parse(BODY ROWS STRUCTURE);
    m.node.gpus = 16;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        const pto_request_t request = ask(PTO_COLLECTIVE_REDUCE, 1, asked[i].gpus, asked[i].bytes);
        pto_price_t price;
        must_explain(must_plan(&request), &m, &price);
        assert_int_equal(price.extrapolated.gpus, asked[i].from_gpus);
        assert_int_equal(price.extrapolated.bytes, asked[i].from_bytes);
        assert_near(price.extrapolated.doublings, asked[i].doublings, 1e-12);
        assert_near(log(price.high_s / price.seconds) + 1, 0.25 * asked[i].doublings + 1, 1e-12);
        assert_near(log(price.seconds / price.low_s) + 1, 0.25 * asked[i].doublings + 1, 1e-12);
    }
}

static pto_explanation_t explained(const pto_machine_t *machine, pto_request_t request) {
    pto_price_t price;
    return must_explain(must_plan(&request), machine, &price);
}

TEST(an_extrapolated_price_names_its_algorithm_protocol_and_hops) {
    static const struct {
        const char *key;
        double count;
        int line;
    } wanted[] = {{"nccl.reduce.4.alpha_s", 1, 12},
                  {"nccl.reduce.4.beta_s_per_byte", 4e6, 12},
                  {"nccl.hop.ring.simple", 4, 19},
                  {"nccl.channel_s_per_byte", 4 * 65536, 28}};
    pto_machine_t m = must_parse(BODY ROWS STRUCTURE);
    pto_explanation_t explanation = explained(&m, ask(PTO_COLLECTIVE_REDUCE, 1, 8, 4000000));
    assert_int_equal(explanation.count, sizeof wanted / sizeof *wanted);
    for (int i = 0; i < explanation.count; i++) {
        assert_string_equal(explanation.term[i].stage, "NCCL ring, Simple");
        assert_string_equal(explanation.term[i].key, wanted[i].key);
        assert_near(explanation.term[i].count, wanted[i].count, 1e-12);
        assert_int_equal(explanation.term[i].param->line, wanted[i].line);
    }
    explanation = explained(&m, ask(PTO_COLLECTIVE_ALLREDUCE, 8, 2, 64));
    assert_string_equal(explanation.term[0].stage, "NCCL tree, LL");
    explanation = explained(&m, ask(PTO_COLLECTIVE_ALLTOALL, 1, 8, 64));
    assert_string_equal(explanation.term[0].stage, "NCCL sends, LL");
}

TEST(a_network_of_unknown_cost_refuses) {
    pto_machine_t m = must_parse(BODY ROWS STRUCTURE);
    pto_request_t on_several = ask(PTO_COLLECTIVE_BROADCAST, 4, 4, 4000);
    pto_request_t on_one = ask(PTO_COLLECTIVE_BROADCAST, 1, 8, 4000);
    pto_plan_t *several = must_plan(&on_several), *one = must_plan(&on_one);
    must_price(several, &m);
    m.messages[PTO_SPACE_GPU][PTO_LEVEL_OFF_NODE] = (pto_cost_table_t){0};
    assert_says(no_price(several, &m, PTO_ERR_NOT_APPLICABLE),
                "has neither injection.gpu nor messages.gpu.off_node");
    must_price(one, &m);
    m.injection_s_per_byte[PTO_SPACE_GPU] =
        (pto_param_t){.value = 1e-11, .low = 1e-11, .high = 1e-11, .line = 1};
    must_price(several, &m);
}

TEST(a_price_is_traced_to_its_lines) {
    pto_machine_t m = must_parse(BODY ROWS);
    pto_request_t request = ask(PTO_COLLECTIVE_ALLREDUCE, 1, 4, 1000);
    pto_plan_t *plan = must_plan(&request);
    pto_price_t price;
    const pto_explanation_t explanation = must_explain(plan, &m, &price);
    assert_int_equal(explanation.count, 2);
    const pto_term_t *term = explanation.term;
    assert_string_equal(term[0].key, "nccl.allreduce.4.from_0.alpha_s");
    assert_string_equal(term[1].key, "nccl.allreduce.4.from_0.beta_s_per_byte");
    assert_int_equal(term[0].param->line, 8);
    assert_near(term[1].count, 1000, 1e-12);
    assert_near(term[0].seconds + term[1].seconds, price.seconds, 1e-12);
    assert_true(price.has_interval);
    assert_near(price.seconds - price.low_s, 1e-6, 1e-12);
}

/* While NCCL's kernel moves bytes a GPU draws what a kernel draws; while it starts, what it draws idle. */
TEST(its_bytes_draw_a_kernels_power) {
    pto_machine_t m = must_parse(BODY ROWS "energy: {gpu: {idle_w: 50, copy_w: 80, kernel_w: 200}}\n");
    pto_request_t request = ask(PTO_COLLECTIVE_REDUCE, 1, 4, 1000000);
    pto_plan_t *plan = must_plan(&request);
    pto_price_t price;
    pto_energy_t energy;
    const pto_explanation_t explanation = must_explain(plan, &m, &price);
    assert_int_equal(pto_energy(plan, &m, &price, &explanation, &energy, NULL), PTO_OK);
    assert_near(energy.joules, 4 * (50 * 7e-6 + 200 * 5e-6), 1e-12);
}

/* --- the machine file ----------------------------------------------------------------------------------- */

TEST(rows_are_found_by_their_numbers) {
    pto_machine_t m = must_parse(BODY ROWS);
    assert_int_equal(m.nccl[PTO_NCCL_ALLREDUCE].count, 4);
    assert_int_equal(m.nccl[PTO_NCCL_ALLTOALL].count, 2);
    assert_true(pto_machine_nccl(&m, PTO_NCCL_ALLREDUCE, 4, 1, 65535)->postal.alpha_s.value == 8e-6);
    assert_true(pto_machine_nccl(&m, PTO_NCCL_ALLREDUCE, 4, 1, INT64_MAX)->postal.alpha_s.value == 1.2e-5);
    assert_true(pto_machine_nccl(&m, PTO_NCCL_ALLREDUCE, 4, 2, 0)->postal.alpha_s.value == 3e-5);
    assert_null(pto_machine_nccl(&m, PTO_NCCL_ALLREDUCE, 8, 2, 0));
    assert_null(pto_machine_nccl(&m, PTO_NCCL_BROADCAST, 2, 1, 0));
}

TEST(what_is_written_reads_back) {
    pto_machine_t m = must_parse(BODY ROWS);
    char *first = must_format(&m);
    pto_machine_t again = must_parse(first);
    char *second = must_format(&again);
    assert_string_equal(first, second);
    assert_non_null(strstr(first, "    - {gpus: 4, nodes: 2, alpha_s: 3e-05, beta_s_per_byte: 6e-11}\n"));
    assert_non_null(
        strstr(first, "    - {gpus: 4, below_bytes: 65536, alpha_s: 8e-06, alpha_s_95: [7e-06, 9e-06]"));
    for (int kind = 0; kind < PTO_NCCL_COUNT; kind++)
        assert_int_equal(again.nccl[kind].count, m.nccl[kind].count);
}

TEST(errors_are_reported_at_their_position) {
    static const bad_input_t bad[] = {
        BAD(BODY "nccl: {}\n", PTO_ERR_KEY, 5, 7, "'nccl' is empty"),
        BAD(BODY "nccl: {scatter: []}\n", PTO_ERR_KEY, 5, 8, "unknown key 'scatter'"),
        BAD(BODY "nccl: {reduce: []}\n", PTO_ERR_RANGE, 5, 16, "reduce: expected 1 to 1024 rows, not 0"),
        BAD(BODY "nccl: {reduce: {gpus: 4}}\n", PTO_ERR_TYPE, 5, 16, "a list of rows"),
        BAD(BODY "nccl: {reduce: [{" COST "}]}\n", PTO_ERR_KEY, 5, 17, "'gpus'"),
        BAD(BODY "nccl: {reduce: [{gpus: 1, " COST "}]}\n", PTO_ERR_RANGE, 5, 24, "gpus"),
        BAD(BODY "nccl: {reduce: [{gpus: 4, nodes: 0, " COST "}]}\n", PTO_ERR_RANGE, 5, 34, "nodes"),
        BAD(BODY "nccl: {reduce: [{gpus: 4, nodes: 3, " COST "}]}\n", PTO_ERR_RANGE, 5, 24,
            "4 are not equally many on each of 3 nodes"),
        BAD(BODY "nccl: {reduce: [{gpus: 4, alpha_s: 0, beta_s_per_byte: 0}]}\n", PTO_ERR_RANGE, 5, 17,
            "nothing is free"),
        BAD(BODY "nccl:\n  reduce:\n    - {gpus: 4, " COST "}\n    - {gpus: 2, " COST "}\n", PTO_ERR_RANGE, 8,
            14, "rows rise in nodes, then in gpus", "{gpus: 2, nodes: 1} comes before {gpus: 4, nodes: 1}"),
        BAD(BODY "nccl:\n  reduce:\n    - {gpus: 4, nodes: 2, " COST "}\n    - {gpus: 8, " COST "}\n",
            PTO_ERR_RANGE, 8, 14, "rows rise in nodes"),
        BAD(BODY "nccl:\n  reduce:\n    - {gpus: 4, " COST "}\n    - {gpus: 4, " COST "}\n", PTO_ERR_RANGE, 7,
            7, "ranges overlap", "every size of {gpus: 4, nodes: 1}"),
        BAD(BODY "nccl:\n  reduce:\n    - {gpus: 4, below_bytes: 64, " COST "}\n    - {gpus: 8, " COST "}\n",
            PTO_ERR_RANGE, 7, 30, "ranges leave a gap",
            "no row of {gpus: 4, nodes: 1} holds from 64 bytes up"),
        BAD(BODY "nccl:\n  reduce:\n    - {gpus: 4, below_bytes: 64, " COST "}\n"
                 "    - {gpus: 4, below_bytes: 64, " COST "}\n    - {gpus: 4, " COST "}\n",
            PTO_ERR_RANGE, 8, 30, "below_bytes must rise above the 64"),
        BAD(BODY "nccl:\n  reduce:\n    - {gpus: 4, below_bytes: 64, " COST "}\n", PTO_ERR_RANGE, 7, 30,
            "leave below_bytes out of the last row"),
    };
    ASSERT_MACHINES_REFUSED(bad);
}

/* Every key that a price is explained with is one that can be changed. */
TEST(a_what_if_changes_it) {
    pto_machine_t *m = must_create(BODY ROWS);
    pto_scenario_t scenario = {0};
    pto_error_t err = {0};
    pto_request_t request = ask(PTO_COLLECTIVE_ALLREDUCE, 1, 4, 1000);
    assert_int_equal(pto_what_if("nccl.allreduce.4.from_0.alpha_s=1e-6", &scenario, m, &err), PTO_OK);
    assert_near(priced_s(&request, m), 1e-6 + 1000 * 2e-11, 1e-12);
    assert_int_equal(pto_what_if("nccl.allreduce.beta_s_per_byte=*2", &scenario, m, &err), PTO_OK);
    assert_near(priced_s(&request, m), 1e-6 + 1000 * 4e-11, 1e-12);
    request = ask(PTO_COLLECTIVE_ALLREDUCE, 2, 2, 1000);
    assert_near(priced_s(&request, m), 3e-5 + 1000 * 1.2e-10, 1e-12);
    assert_int_equal(pto_what_if("nccl.allreduce.4.from_0.below_bytes=1000", &scenario, m, &err), PTO_OK);
    request = ask(PTO_COLLECTIVE_ALLREDUCE, 1, 4, 1000);
    assert_near(priced_s(&request, m), 1.2e-5 + 1000 * 8e-12, 1e-12);
    assert_int_equal(m->nccl[PTO_NCCL_ALLREDUCE].row[2].from_bytes, 1000);
}

TEST(the_published_model_has_none) {
    pto_machine_t *m = must_create(BODY ROWS);
    assert_int_equal(pto_machine_restrict(m, "published+nccl", NULL), PTO_OK);
    assert_int_equal(m->nccl[PTO_NCCL_ALLREDUCE].count, 4);
    assert_int_equal(pto_machine_restrict(m, "published", NULL), PTO_OK);
    for (int kind = 0; kind < PTO_NCCL_COUNT; kind++)
        assert_int_equal(m->nccl[kind].count, 0);
}
