/* Either nodes: plans are proved for every choice, every flag and slot is needed, policies choose what their
 * papers or comments say, and the simulator runs them. */
#include "check/check_internal.h"
#include "inside_plan.h"
#include "machine/machine_internal.h"
#include "portolan/policy.h"
#include "portolan/price.h"
#include "portolan/simulate.h"
#include "portolan/strategy.h"
#include "portolan/traffic.h"
#include "priced.h"
#include "test.h"

static const pto_collective_t collectives[] = {PTO_COLLECTIVE_ALLREDUCE, PTO_COLLECTIVE_ALLGATHER};
static const char *const strategies[] = {"mix_doubling", "mix_learning"};

static pto_plan_t *either_plan(pto_collective_t collective, const char *strategy, int64_t procs) {
    return made(collective, strategy, (pto_layout_t){1, 1, procs, procs, 1, false});
}

/* --- the walk ------------------------------------------------------------------------------------------- */

TEST(the_walk_visits_both_branches_for_each_member) {
    static const struct {
        const char *stage;
        int lane;
        int branch;
        int64_t k;
    } wanted[] = {{"gather own", 0, -1, 1}, {"gather", 1, 0, 1},  {"copied", 1, 0, 1},  {"stage", 1, 1, 1},
                  {"staged", 1, 1, 1},      {"take up", 1, 1, 1}, {"gather", 2, 0, 2},  {"copied", 2, 0, 2},
                  {"stage", 2, 1, 2},       {"staged", 2, 1, 2},  {"take up", 2, 1, 2}, {"reduce", 0, -1, 0}};
    pto_plan_t *plan = either_plan(PTO_COLLECTIVE_ALLREDUCE, "mix_doubling", 3);
    pto_walk_t walk;
    pto_walk_begin(&walk, plan);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        assert_true(pto_walk_next(&walk));
        assert_string_equal(walk.stage->name, wanted[i].stage);
        assert_int_equal(walk.lane, wanted[i].lane);
        assert_int_equal(walk.branch, wanted[i].branch);
        assert_int_equal(walk.k, wanted[i].k);
    }
    assert_int_equal(walk.lanes, -1);
    assert_int_equal(pto_plan_lane_count(plan), 3);
}

/* --- what check proves ---------------------------------------------------------------------------------- */

/* One bit for each run, node and member. */
typedef struct {
    uint64_t bits;
    int64_t members;
} choice_t;

static bool by_bits(const void *context, int run, int either, int64_t k) {
    const choice_t *choice = context;
    return choice->bits >> ((run * 2 + either) * choice->members + k - 1) & 1;
}

static bool is_right(const pto_plan_t *plan, uint64_t bits, int64_t members) {
    choice_t choice = {bits, members};
    pto_check_report_t report;
    return pto_check_assigned(plan, &(pto_choices_t){by_bits, &choice}, &report, NULL) == PTO_OK;
}

TEST(every_choice_is_right) {
    for (int c = 0; c < 2; c++)
        for (int64_t members = 1; members <= 3; members++) {
            pto_plan_t *plan = either_plan(collectives[c], "mix_learning", 1 + members);
            for (uint64_t bits = 0; bits < (uint64_t)1 << 4 * members; bits++)
                if (!is_right(plan, bits, members))
                    fail_msg("%d members, choice %llx", (int)members, (unsigned long long)bits);
        }
}

TEST(check_walks_all_pairs_of_choices) {
    static const struct {
        int64_t procs;
        int choices;
    } cases[] = {{2, 8}, {3, 10}, {4, 10}, {8, 12}, {16, 14}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int s = 0; s < 2; s++) {
            pto_plan_t *plan = either_plan(PTO_COLLECTIVE_ALLGATHER, strategies[s], cases[i].procs);
            assert_int_equal(must_check(plan).assignments, cases[i].choices);
        }
    assert_int_equal(must_check(either_plan(PTO_COLLECTIVE_ALLGATHER, "mix", 4)).assignments, 1);
}

TEST(every_flag_is_needed) {
    static const struct {
        pto_collective_t collective;
        const char *flag;
        const char *cause;
    } cases[] = {
        {PTO_COLLECTIVE_ALLREDUCE, "copied",
         "stage 'reduce': reads bytes 1000..1999 of 'gathered' of rank 0"},
        {PTO_COLLECTIVE_ALLREDUCE, "staged",
         "stage 'take up', k=1: reads bytes 1000..1999 of 'staged' of rank 0"},
        {PTO_COLLECTIVE_ALLREDUCE, "complete",
         "stage 'copy out', k=1: reads bytes 0..999 of 'result' of rank 0"},
        {PTO_COLLECTIVE_ALLREDUCE, "result staged", "stage 'copy out staged', k=1: reads bytes 0..999"},
        {PTO_COLLECTIVE_ALLGATHER, "copied", "of 'gathered' of rank 0, unordered with rank 1's write"},
        {PTO_COLLECTIVE_ALLGATHER, "staged", "stage 'take up', k=1: reads bytes 1000..1999 of 'staged'"},
        {PTO_COLLECTIVE_ALLGATHER, "complete", "stage 'copy out', k=1: reads bytes"},
        {PTO_COLLECTIVE_ALLGATHER, "result staged", "stage 'copy out staged', k=1: reads bytes"},
        {PTO_COLLECTIVE_ALLGATHER, "copied out", "second run: writes bytes"},
        {PTO_COLLECTIVE_ALLGATHER, "copied out staged", "second run: writes bytes"},
        {PTO_COLLECTIVE_ALLGATHER, "inputs free", "second run: writes bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        needs_flag(either_plan(cases[i].collective, "mix_doubling", 4), cases[i].flag, cases[i].cause);
}

TEST(every_slot_is_needed) {
    for (int c = 0; c < 2; c++) {
        pto_plan_t *plan = either_plan(collectives[c], "mix_doubling", 4);
        pto_buffer_t *buffer = plan->buffers.item;
        buffer[buffer_named(plan, "staged")].block_count = 2;
        refused_for(plan, "unordered with rank");
    }
    pto_plan_t *plan = either_plan(PTO_COLLECTIVE_ALLREDUCE, "mix_doubling", 4);
    stage_named(plan, "stage result")->once = false;
    refused_for(plan, "stage 'stage result', k=2: lane 2 writes bytes 0..999 of 'staged result' of rank 0");
}

/* A fault that only one of all pairs of choices shows. */
TEST(a_fault_of_one_pair_is_found) {
    for (int64_t offset = -2; offset <= 2;
         offset += 4) { /* member 1 or 3 stages where another one copies to */
        pto_plan_t *plan = either_plan(PTO_COLLECTIVE_ALLREDUCE, "mix_doubling", 4);
        pto_step_t *copy = step_in(plan, "take up", PTO_STEP_COPY);
        copy->target.offset = (pto_expr_t){.constant = offset};
        assert_false(is_right(plan, offset < 0 ? 0x4 : 0x1, 3));
        refused_for(plan, "'gathered'");
    }
}

TEST(branches_are_between_two_members_with_flags_of_their_own) {
    pto_plan_t *plan = either_plan(PTO_COLLECTIVE_ALLREDUCE, "mix_doubling", 4);
    step_in(plan, "staged", PTO_STEP_SIGNAL)->flag = step_in(plan, "copied", PTO_STEP_SIGNAL)->flag;
    step_in(plan, "staged", PTO_STEP_WAIT)->flag = step_in(plan, "copied", PTO_STEP_WAIT)->flag;
    refused_for(plan, "flag 'copied' is used inside and outside of a branch of an either node");
    plan = either_plan(PTO_COLLECTIVE_ALLREDUCE, "mix_doubling", 4);
    step_in(plan, "gather", PTO_STEP_COPY)->who_first = pto_constant(1);
    refused_for(plan, "acts in member 2's branch of an either node");
    plan = either_plan(PTO_COLLECTIVE_ALLREDUCE, "mix_doubling", 4);
    step_in(plan, "copied", PTO_STEP_SIGNAL)->flag = pto_plan_node(plan, 0)->flag;
    refused_for(plan, "flag 'arrived' is used inside and outside of a branch");
    plan = either_plan(PTO_COLLECTIVE_ALLREDUCE, "mix_doubling", 4);
    stage_named(plan, "take up")->once = true;
    refused_for(plan, "acts in member 1's branch of an either node");
}

TEST(three_branches_of_stages_are_needed) {
    pto_error_t err = {0};
    pto_plan_t *plan = either_plan(PTO_COLLECTIVE_ALLREDUCE, "mix_doubling", 4);
    pto_node_t *node = plan->nodes.item;
    node[1].kind = PTO_NODE_LOOP;
    assert_int_equal(pto_plan_runnable(plan, &err), PTO_ERR_INVALID_PLAN);
    assert_string_equal(err.message, "an either node contains a loop");
    node[1].kind = PTO_NODE_BRANCH;
    node[0].kind = PTO_NODE_PARALLEL;
    assert_int_equal(pto_plan_runnable(plan, &err), PTO_OK);
}

/* --- policies ------------------------------------------------------------------------------------------- */

/* The branches that a policy chooses while members arrive (digits) and complete (A, B), one letter each. */
static void chooses(pto_policy_t *policy, const char *events, const char *wanted) {
    char chosen[64] = "";
    size_t count = 0;
    int member;
    pto_branch_t branch;
    pto_policy_begin(policy);
    for (const char *event = events; *event; event++) {
        if (*event == 'A' || *event == 'B')
            pto_policy_completed(policy, *event == 'A' ? PTO_BRANCH_A : PTO_BRANCH_B);
        else
            pto_policy_arrived(policy, *event - '0');
        while (pto_policy_next(policy, &member, &branch)) {
            chosen[count++] = (char)('0' + member);
            chosen[count++] = branch == PTO_BRANCH_A ? 'A' : 'B';
        }
    }
    assert_string_equal(chosen, wanted);
}

TEST(doubling_follows_the_thesis) {
    pto_policy_t policy;
    pto_policy_init(&policy, PTO_POLICY_DOUBLING, 9, 0);
    chooses(&policy, "3", "");       /* the first waits for the second */
    chooses(&policy, "31", "3B1A");  /* the first takes B, the second A */
    chooses(&policy, "310", "3B1A"); /* a third waits for one that completes */
    chooses(&policy, "31024AAA", "3B1A0A2A4A");
    chooses(&policy, "31024567B", "3B1A0B2B");          /* B is ahead by 1: 2 more */
    chooses(&policy, "31024567BA", "3B1A0B2B4A");       /* equal again: 1 more by A */
    chooses(&policy, "31024567BB", "3B1A0B2B4B5B6B7B"); /* ahead by 2: 4 more */
    chooses(&policy, "31B024", "3B1A0B2B");             /* told as they arrive */
    assert_int_equal(policy.taken[PTO_BRANCH_A], 1);
    assert_int_equal(policy.taken[PTO_BRANCH_B], 3);
    pto_policy_init(&policy, PTO_POLICY_DOUBLING, 1, 0);
    chooses(&policy, "0", "0A");
}

/* However members arrive and complete, all are told. */
TEST(doubling_never_stops) {
    uint64_t random = 1;
    for (int round = 0; round < 2000; round++) {
        int members = 1 + round % 20, arrived = 0, told = 0, pending[2] = {0, 0}, member;
        pto_branch_t branch;
        pto_policy_t policy;
        pto_policy_init(&policy, PTO_POLICY_DOUBLING, members, 0);
        pto_policy_begin(&policy);
        for (int steps = 0; told < members; steps++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            int event = (int)(random >> 40) % 3;
            assert_in_range(steps, 0, 2000);
            if (event == 2 && arrived < members)
                pto_policy_arrived(&policy, arrived++);
            else if (event < 2 && pending[event]-- > 0)
                pto_policy_completed(&policy, (pto_branch_t)event);
            else if (event < 2)
                pending[event] = 0;
            for (; pto_policy_next(&policy, &member, &branch); told++)
                pending[branch]++;
        }
        assert_int_equal(policy.taken[0] + policy.taken[1], members);
    }
}

static int next_number(pto_policy_t *policy) {
    int member, count = 0;
    pto_branch_t branch;
    pto_policy_begin(policy);
    for (; pto_policy_next(policy, &member, &branch); count++)
        assert_int_equal(member, count);
    assert_int_equal(count, policy->members);
    return policy->taken[PTO_BRANCH_B];
}

TEST(learning_finds_the_fastest_number) {
    for (int best = 0; best <= 7; best++) {
        pto_policy_t policy;
        int by_number[8] = {0};
        pto_policy_init(&policy, PTO_POLICY_LEARNING, 7, 3);
        assert_int_equal(next_number(&policy), 3);
        pto_policy_end(&policy, 1e-9); /* the first run does not count */
        for (int run = 1; run < 200; run++) {
            int number = next_number(&policy);
            by_number[number]++;
            pto_policy_end(&policy, run % 7 == 0 ? -1 : 1e-3 * (2 + abs(number - best)));
        }
        for (int number = 0; number <= 7; number++)
            assert_in_range(by_number[number], number == best ? 160 : 2, number == best ? 200 : 15);
    }
}

/* What was fastest may become slow; and one slow run does not rule a number out. */
TEST(learning_changes_its_mind) {
    pto_policy_t policy;
    int last = -1;
    pto_policy_init(&policy, PTO_POLICY_LEARNING, 3, 0);
    for (int run = 0; run < 300; run++) {
        last = next_number(&policy);
        bool unlucky = last == 2 && policy.tries[2] == 0;
        pto_policy_end(&policy, unlucky ? 1 : last == 2 ? 1e-3 : 2e-3);
    }
    assert_int_equal(last, 2);
    for (int run = 0; run < 300; run++) {
        last = next_number(&policy);
        pto_policy_end(&policy, last == 2 ? 9e-3 : last == 1 ? 1e-3 : 2e-3);
    }
    assert_int_equal(last, 1);
}

TEST(learning_tries_near_numbers_first) {
    static const int wanted[] = {2, 3, 1, 4, 0};
    pto_policy_t policy;
    pto_policy_init(&policy, PTO_POLICY_LEARNING, 4, 2);
    next_number(&policy);
    pto_policy_end(&policy, 1);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(next_number(&policy), wanted[i % 5]);
        pto_policy_end(&policy, 1);
    }
}

/* --- price, traffic, simulation ------------------------------------------------------------------------- */

static pto_machine_t machine;

static int load(void **state) {
    machine = must_read("scenarios/machines/h200-x2.yaml");
    return 0;
}

static pto_request_t staging(pto_collective_t collective, const char *strategy, int64_t bytes, int64_t in,
                             int64_t out) {
    pto_request_t request = ask(collective, strategy, (pto_layout_t){1, 1, 8, 8, 1, false});
    request.bytes = bytes;
    request.staged_members = (pto_staged_t){in, out};
    return request;
}

static double price_of(pto_request_t request) { return priced_s(&request, &machine); }

static double simulated(pto_request_t request) { return simulated_s(&request, &machine); }

static void sum_bytes(void *context, const pto_traffic_pair_t *pair) { *(int64_t *)context += pair->bytes; }

static int64_t traffic_of(pto_request_t request) {
    int64_t bytes = 0;
    pto_plan_t *plan = plan_of(request);
    assert_int_equal(pto_plan_traffic(plan, sum_bytes, &bytes, NULL), PTO_OK);
    return bytes;
}

TEST(price_and_traffic_are_those_of_fixed_numbers) {
    for (int c = 0; c < 2; c++)
        for (int s = 0; s < 2; s++)
            for (int64_t in = 0; in < 8; in += 3) {
                pto_request_t fixed = staging(collectives[c], "mix", 1 << 20, in, 7 - in);
                pto_request_t open = staging(collectives[c], strategies[s], 1 << 20, in, 7 - in);
                assert_true(price_of(fixed) == price_of(open));
                assert_int_equal(traffic_of(fixed), traffic_of(open));
            }
}

/* Learning begins with the request's numbers. A root copies its own data in a lane of its own, and waits for
 * one flag more from each member. In an allgather it stages the blocks again that were staged. */
TEST(a_simulated_policy_takes_as_long_as_the_numbers_it_chooses) {
    for (int c = 0; c < 2; c++)
        for (int64_t in = 0; in < 8; in++)
            for (int64_t bytes = 64; bytes <= 1 << 24; bytes *= 512) {
                double fixed_s = simulated(staging(collectives[c], "mix", bytes, in, 0));
                double open_s = simulated(staging(collectives[c], "mix_learning", bytes, in, 0));
                if (open_s < 0.98 * fixed_s || open_s > 1.05 * fixed_s)
                    fail_msg("%s, %lld bytes, %lld staged: %g, not %g", pto_collective_name(collectives[c]),
                             (long long)bytes, (long long)in, open_s, fixed_s);
            }
}

/* Of two members one takes each branch. */
TEST(a_simulated_policy_runs) {
    for (int c = 0; c < 2; c++) {
        pto_request_t doubling = staging(collectives[c], "mix_doubling", 1 << 20, 0, 0);
        assert_true(simulated(doubling) == simulated(doubling));
        doubling.layout.owners_per_gpu = doubling.layout.procs_per_gpu = 3;
        pto_request_t learning = staging(collectives[c], "mix_learning", 1 << 20, 1, 1);
        learning.layout = doubling.layout;
        assert_true(simulated(doubling) >= simulated(learning));
        assert_in_range((int64_t)(1e9 * simulated(doubling)), 0, (int64_t)(1.05e9 * simulated(learning)));
        doubling.layout.owners_per_gpu = doubling.layout.procs_per_gpu = 2;
        learning = staging(collectives[c], "mix_learning", 1 << 20, 0, 0);
        learning.layout = doubling.layout;
        assert_true(simulated(doubling) == simulated(learning));
    }
}

int main(void) { return run_all_tests(load, NULL); }
