/* The simulator agrees with price if nothing contends; otherwise, by how much the two differ. */
#include "must.h"
#include "plan/plan_internal.h"
#include "sample.h"
#include "simulated.h"
#include "test.h"

/* Every plan of a set of layouts: the callback gets it with its price rank by rank. */
typedef void (*each_plan_t)(const pto_plan_t *plan, const pto_machine_t *machine, double price_s,
                            const char *what);

static void visit_request(pto_request_t *request, const pto_machine_t *machine, each_plan_t visit) {
    pto_plan_t *plan;
    pto_price_t price;
    if (pto_plan_create(request, &plan, NULL) != PTO_OK)
        return;
    char what[160];
    snprintf(what, sizeof what, "%s by %s, %s, %lldx%lldx%lld, %lld bytes",
             pto_collective_name(request->collective), request->strategy->name, request->algorithm->name,
             (long long)request->layout.nodes, (long long)request->layout.gpus_per_node,
             (long long)request->layout.procs_per_gpu, (long long)request->bytes);
    if (pto_price_walk(plan, machine, &price, NULL, NULL) == PTO_OK)
        visit(plan, machine, price.seconds, what);
    pto_plan_destroy(plan);
}

/* Where all send to one process first, what its receives add to each other is simulated: test_latency.c. */
static bool is_in_one_order(const pto_algorithm_t *algorithm) {
    return strcmp(algorithm->name, "linear_by_rank") == 0;
}

static void visit_layout(const pto_machine_t *machine, pto_layout_t layout, pto_split_t split,
                         each_plan_t visit) {
    static int asked;
    const int64_t sizes[] = {4, 1024, 65536, 1048576};
    const int every = test_sample() > 1 ? 7 : 1;
    pto_request_t request = {.layout = layout,
                             .split = split,
                             .datatype = PTO_DATATYPE_FLOAT,
                             .messages = 5,
                             /* borders of 12 and 24 cells, which up to 4 processes share out evenly */
                             .halo = {.dim_count = 2, .wrap = {true, true}, .extent = {10, 22}, .width = 1},
                             .by_library = true};
    for (int at = 0; next_request(&request, &at);)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            request.bytes = sizes[i];
            /* A policy chooses other numbers than the priced ones: test_either. */
            if (request.strategy->fixed || is_in_one_order(request.algorithm) || asked++ % every != 0)
                continue;
            visit_request(&request, machine, visit);
        }
}

static void visit_all(const pto_machine_t *machine, pto_split_t split, each_plan_t visit) {
    const pto_layout_t layouts[] = {{1, 1, 1, 1, 2, false}, {2, 1, 1, 1, 2, false}, {4, 1, 1, 1, 2, false},
                                    {5, 1, 1, 2, 2, false}, {1, 4, 1, 1, 2, false}, {2, 2, 1, 2, 2, false},
                                    {3, 3, 1, 1, 2, false}, {2, 3, 1, 2, 2, false}, {4, 2, 1, 3, 2, false},
                                    {4, 4, 1, 4, 2, false}};
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        visit_layout(machine, layouts[i], split, visit);
}

/* Whether members of the collective inside share a node. */
static bool is_within_nodes(const pto_plan_t *plan) {
    for (int n = 0; n < pto_plan_node_count(plan); n++)
        if (pto_plan_node(plan, n)->kind == PTO_NODE_COLLECTIVE)
            return pto_plan_group(plan, pto_plan_node(plan, n)->group)->members_per_node > 1;
    return false;
}

static bool mixes_levels(const pto_plan_t *plan) {
    return strcmp(plan->request.algorithm->name, "linear") == 0 && is_within_nodes(plan);
}

/* A process that sends to all others begins a message when the one before has left, by the gap sooner than
 * that has come; each receiver's is its first and takes a whole start. And those who load from one GPU share
 * its link at rates of their own. */
static bool comes_from_one(const pto_plan_t *plan) {
    pto_collective_t collective = plan->request.collective;
    bool by_messages = strcmp(plan->request.algorithm->name, "linear") == 0;
    bool by_loads = strcmp(plan->request.strategy->name, "gas_read") == 0;
    return (pto_collective_is_from_root(collective) && (by_messages || by_loads)) ||
           (collective == PTO_COLLECTIVE_REDUCE_SCATTER && by_messages);
}

static int visited;

/* The two neighbors of a dimension, of which one may be on the node: a process waits for the near one's
 * message while it could receive the far one's. */
static bool mixes_neighbors(const pto_plan_t *plan) {
    return plan->request.collective == PTO_COLLECTIVE_HALO && plan->request.layout.gpus_per_node > 1;
}

/* Ranks with shares of different size end at different times, and chunks of a GPU's processes fall out of
 * step; what overlaps then, price adds up. */
static void no_more(const pto_plan_t *plan, const pto_machine_t *machine, double price_s, const char *what) {
    if (mixes_levels(plan) || mixes_neighbors(plan))
        return;
    double seconds = must_simulate(plan, machine).seconds;
    if (seconds > price_s * 1.001 || seconds < price_s * 0.8)
        fail_msg("%s: %.9g, priced %.9g", what, seconds, price_s);
    visited++;
}

static void assert_agreement(const pto_plan_t *plan, const pto_machine_t *machine, double price_s,
                             const char *what) {
    assert_near_for(must_simulate(plan, machine).seconds, price_s, 0.01, what);
}

/* Processes that queue for one border's copy after the other: by stages in the price, in any order here. */
static bool queue_again(const pto_plan_t *plan) {
    return plan->request.collective == PTO_COLLECTIVE_HALO && plan->request.strategy->splits;
}

/* Processes within the tree copy their part while the root still sends; a class pays both. */
static bool copies_in_tree(const pto_plan_t *plan) {
    return strcmp(plan->request.algorithm->name, "scatter_allgather") == 0;
}

static void agrees(const pto_plan_t *plan, const pto_machine_t *machine, double price_s, const char *what) {
    if (mixes_levels(plan) || mixes_neighbors(plan) || comes_from_one(plan))
        return; /* a_mixed_stage_..., what_comes_from_one_... */
    if ((plan->request.strategy->splits && pto_plan_lane_count(plan) > 1) || copies_in_tree(plan)) {
        no_more(plan, machine, price_s, what);
        return;
    }
    assert_near_for(must_simulate(plan, machine).seconds, price_s, queue_again(plan) ? 0.06 : 0.01, what);
    visited++;
}

/* Copies that a process puts into its stream one after another. */
static pto_machine_t with_streams(pto_machine_t machine) {
    for (int kind = 0; kind <= PTO_COPY_D2D; kind++)
        machine.queued_copy_s[kind] = (pto_param_t){.value = 1e-6 * (kind + 1), .line = 1};
    return machine;
}

TEST(what_does_not_contend_takes_its_price) {
    pto_machine_t machine = unlimited(&summit);
    visited = 0;
    visit_all(&machine, PTO_SPLIT_BYTES, agrees);
    machine = unlimited(&refit);
    visit_all(&machine, PTO_SPLIT_BYTES, agrees);
    machine = with_streams(unlimited(&refit));
    visit_all(&machine, PTO_SPLIT_BYTES, agrees);
    assert_true(visited > 1000);
}

/* Each of a node's GPUs has messages to all others in flight. */
TEST(gpu_messages_in_flight_agree) {
    pto_machine_t machine = must_read("scenarios/machines/h200-x4.yaml");
    assert_true(machine.gap[PTO_SPACE_GPU][PTO_LEVEL_ON_SOCKET].count > 0);
    for (int64_t gpus = 2; gpus <= 4; gpus++)
        for (int64_t bytes = 64; bytes <= 1 << 24; bytes *= 64) {
            pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALLV, "cuda_aware", "linear", 1, gpus, 1, bytes);
            request.layout.gpus_per_socket = gpus;
            visit_request(&request, &machine, assert_agreement);
        }
}

static void starts_late(const pto_plan_t *plan, const pto_machine_t *machine, double price_s,
                        const char *what) {
    if (!comes_from_one(plan) || mixes_levels(plan) || plan->request.strategy->splits ||
        pto_plan_uses_peers_memory(plan))
        return;
    pto_space_t space = plan->request.strategy->collective_space;
    const pto_cost_row_t *piece =
        pto_machine_message(machine, space, PTO_LEVEL_OFF_NODE, plan->request.bytes);
    double seconds = must_simulate(plan, machine).seconds;
    if (seconds < price_s * (1 - 1e-9) || seconds > price_s + piece->postal.alpha_s.value)
        fail_msg("%s: %.9g, priced %.9g", what, seconds, price_s);
    visited++;
}

TEST(what_comes_from_one_takes_a_start_more_at_most) {
    const pto_machine_t machines[] = {unlimited(&summit), unlimited(&refit)};
    visited = 0;
    for (int m = 0; m < 2; m++)
        visit_all(&machines[m], PTO_SPLIT_BYTES, starts_late);
    assert_true(visited > 20);
}

/* Strategies that share memory, with several processes a GPU: the callback gets no other plans. */
static void visit_sharing(const pto_machine_t *machine, each_plan_t visit) {
    const pto_layout_t layouts[] = {{1, 4, 1, 1, 2, false}, {1, 1, 5, 5, 2, false}, {1, 2, 3, 4, 2, false},
                                    {2, 4, 2, 2, 2, false}, {3, 3, 3, 3, 2, false}, {4, 1, 4, 4, 2, false},
                                    {5, 6, 1, 1, 3, false}, {1, 8, 1, 2, 4, false}};
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        visit_layout(machine, layouts[i], PTO_SPLIT_BYTES, visit);
}

/* Where processes of one GPU have lanes, these share its engines in an order that the price does not know. */
static double in_lanes(const pto_plan_t *plan) {
    if (pto_plan_lane_count(plan) == 1)
        return 1e-9;
    return plan->request.layout.owners_per_gpu == 1 ? 0.01 : 0.15;
}

static void sharing_agrees(const pto_plan_t *plan, const pto_machine_t *machine, double price_s,
                           const char *what) {
    if (!pto_plan_uses_peers_memory(plan) || comes_from_one(plan))
        return;
    /* The leader's copy to the device begins after those of the other processes of its GPU, which price
     * counts as simultaneous. */
    bool staggered = (strcmp(plan->request.algorithm->name, "hierarchical") == 0 &&
                      plan->request.layout.procs_per_gpu > 1) ||
                     copies_in_tree(plan);
    assert_near_for(must_simulate(plan, machine).seconds, price_s, staggered ? 0.01 : in_lanes(plan), what);
    visited++;
}

TEST(shared_memory_takes_its_price_where_no_link_is_shared) {
    const pto_machine_t machines[] = {unlimited(&summit), unlimited(&refit), with_streams(unlimited(&summit)),
                                      with_streams(unlimited(&refit))};
    visited = 0;
    for (int m = 0; m < 4; m++)
        visit_sharing(&machines[m], sharing_agrees);
    assert_true(visited > 500);
}

static double lowest, highest;

static void note_ratio(const pto_plan_t *plan, const pto_machine_t *machine, double price_s,
                       const char *what) {
    if (!pto_plan_uses_peers_memory(plan))
        return;
    double ratio = must_simulate(plan, machine).seconds / price_s;
    lowest = fmin(lowest, ratio);
    highest = fmax(highest, ratio);
}

/* Where links are shared, the price has all copies of a stage share them to the end, and none of another
 * stage. The first is too much where some end sooner, the second too little where a parent serves two levels
 * of a tree at once. */
TEST(shared_links_tell_the_price_from_the_simulation) {
    lowest = highest = 1;
    const pto_machine_t machine = completed(&summit);
    visit_sharing(&machine, note_ratio);
    print_message("between %.3f and %.3f of the price\n", lowest, highest);
    assert_true(lowest < 0.99 && lowest > 0.9);
    assert_true(highest > 1.1 && highest < 1.6);
}

/* A machine on which every level costs what the dearest does for these bytes. */
static pto_machine_t flattened(const pto_machine_t *machine, int64_t bytes) {
    pto_machine_t flat = *machine;
    for (int space = 0; space < PTO_SPACE_COUNT; space++) {
        int dearest = PTO_LEVEL_ON_SOCKET;
        double dearest_s = 0;
        for (int level = PTO_LEVEL_ON_SOCKET; level < PTO_LEVEL_COUNT; level++) {
            const pto_postal_t *postal =
                &pto_machine_message(machine, (pto_space_t)space, (pto_level_t)level, bytes)->postal;
            double seconds = postal->alpha_s.value + (double)bytes * postal->beta_s_per_byte.value;
            dearest = seconds > dearest_s ? level : dearest;
            dearest_s = seconds > dearest_s ? seconds : dearest_s;
        }
        for (int level = 0; level < PTO_LEVEL_COUNT; level++)
            flat.messages[space][level] = machine->messages[space][dearest];
    }
    return flat;
}

/* Ranks of a node send near and far messages in different orders, so a receiver may find that what it could
 * receive next has not been sent yet: it idles, never longer than if all messages were the dearest. */
static void bounded(const pto_plan_t *plan, const pto_machine_t *machine, double price_s, const char *what) {
    bool two_sizes = plan->request.collective == PTO_COLLECTIVE_REDUCE_SCATTER; /* of messages */
    if (!mixes_levels(plan) || plan->request.strategy->splits || two_sizes)
        return;
    pto_machine_t flat = flattened(machine, plan->request.bytes);
    pto_price_t dearest = must_walk(plan, &flat);
    double seconds = must_simulate(plan, machine).seconds;
    if (seconds < price_s * (1 - 1e-9) || seconds > dearest.seconds * (1 + 1e-9))
        fail_msg("%s: %.9g is not between %.9g and %.9g", what, seconds, price_s, dearest.seconds);
    visited++;
}

TEST(a_mixed_stage_waits_at_most_for_its_most_expensive_messages) {
    pto_machine_t machine = unlimited(&summit);
    visited = 0;
    visit_all(&machine, PTO_SPLIT_BYTES, bounded);
    assert_true(visited > 50);
}

TEST(unequal_shares_take_their_price_at_most) {
    pto_machine_t machine = unlimited(&summit);
    visited = 0;
    visit_all(&machine, PTO_SPLIT_DESTINATIONS, no_more);
    assert_true(visited > 500);
}

/* Where all processes of the nodes send off them at once, the max-rate model holds in both. */
TEST(symmetric_stages_obey_the_injection_limit) {
    const pto_machine_t *machines[] = {&summit, &refit};
    for (int m = 0; m < 2; m++)
        for (int64_t gpus = 1; gpus <= 6; gpus++)
            for (int64_t bytes = 16; bytes <= 4194304; bytes *= 64) {
                pto_request_t request = ask(PTO_COLLECTIVE_MESSAGES, m ? "three_step" : "cuda_aware",
                                            "point_to_point", 2, gpus, 1, bytes);
                request.messages = 1;
                pto_plan_t *plan = must_plan(&request);
                assert_near_for(must_simulate(plan, machines[m]).seconds,
                                must_price(plan, machines[m]).seconds, 0.01, "messages");
            }
}

TEST(processes_of_a_gpu_share_injection_as_priced) {
    for (int64_t cores = 2; cores <= 8; cores *= 2)
        for (int64_t bytes = 1024; bytes <= 4194304; bytes *= 16) {
            pto_request_t request =
                ask(PTO_COLLECTIVE_ALLTOALL, "dup_devptr", "pairwise", 4, 1, cores, bytes);
            pto_plan_t *plan = must_plan(&request);
            assert_near_for(must_simulate(plan, &summit).seconds, must_price(plan, &summit).seconds, 0.01,
                            "dup_devptr");
        }
}

int main(void) { return run_all_tests(read_machines, NULL); }
