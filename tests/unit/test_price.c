/* Prices: the closed formulas and conclusions of "Modeling Data Movement Performance on Heterogeneous
 * Architectures" ("the paper"), and properties that hold for every plan. */
#include "made_up.h"
#include "must.h"
#include "plan_request.h"
#include "portolan/pick.h"
#include "priced.h"
#include "sample.h"
#include "test.h"

static pto_machine_t summit;
static pto_machine_t lassen;
static pto_machine_t refit; /* of all terms that the model has */

static int read_machines(void **state) {
    summit = must_read("scenarios/machines/summit-spectrum.yaml");
    refit = must_read("scenarios/machines/summit-spectrum-refit.yaml");
    lassen = must_read("scenarios/machines/lassen-mvapich2.yaml");
    return 0;
}

/* --- helpers -------------------------------------------------------------------------------------------- */

static double seconds(const pto_machine_t *machine, pto_collective_t collective, const char *strategy,
                      const char *algorithm, int64_t nodes, int64_t gpus, int64_t cores, int64_t bytes) {
    pto_request_t request = request_for(collective, strategy, algorithm, nodes, gpus, cores, bytes);
    return priced_s(&request, machine);
}

/* n messages of s bytes from each of `gpus` GPUs of a node to the next. */
static double messages_s(const pto_machine_t *machine, const char *strategy, int64_t gpus, int64_t cores,
                         int64_t n, int64_t bytes, int64_t unique_bytes) {
    pto_request_t request =
        request_for(PTO_COLLECTIVE_MESSAGES, strategy, "point_to_point", 2, gpus, cores, bytes);
    request.messages = n;
    request.unique_bytes = unique_bytes;
    return priced_s(&request, machine);
}

/* Equation 3, n messages of s bytes from each of ppn processes, as docs/model.md corrects it. */
static double max_rate_s(const pto_machine_t *machine, pto_space_t space, double n, int64_t bytes,
                         double ppn) {
    const pto_postal_t *postal = &pto_machine_message(machine, space, PTO_LEVEL_OFF_NODE, bytes)->postal;
    double s = (double)bytes;
    return postal->alpha_s.value * n + fmax(postal->beta_s_per_byte.value * n * s,
                                            ppn * n * s * machine->injection_s_per_byte[space].value);
}

static double copies_s(const pto_machine_t *machine, double out_bytes, double in_bytes) {
    return postal_s(&machine->copies[PTO_COPY_D2H][PTO_REACH_ON_SOCKET], out_bytes) +
           postal_s(&machine->copies[PTO_COPY_H2D][PTO_REACH_ON_SOCKET], in_bytes);
}

/* --- the paper's formulas ------------------------------------------------------------------------------- */

TEST(one_gpu_message_costs_the_postal_model) {
    for (int64_t bytes = 1; bytes <= 16777216; bytes *= 2) {
        const pto_postal_t *gpu =
            &pto_machine_message(&summit, PTO_SPACE_GPU, PTO_LEVEL_OFF_NODE, bytes)->postal;
        assert_near(messages_s(&summit, "cuda_aware", 1, 1, 1, bytes, 0), postal_s(gpu, (double)bytes), 1e-9);
    }
}

TEST(many_messages_cost_the_max_rate_model) {
    for (int64_t n = 1; n <= 100; n += 33)
        for (int64_t gpus = 1; gpus <= 6; gpus++)
            for (int64_t bytes = 4; bytes <= 1048576; bytes *= 8) {
                double sent = (double)(n * bytes);
                assert_near(messages_s(&summit, "cuda_aware", gpus, 1, n, bytes, 0),
                            max_rate_s(&summit, PTO_SPACE_GPU, (double)n, bytes, (double)gpus), 1e-9);
                assert_near(messages_s(&summit, "three_step", gpus, 1, n, bytes, 0),
                            max_rate_s(&summit, PTO_SPACE_CPU, (double)n, bytes, (double)gpus) +
                                copies_s(&summit, sent, sent),
                            1e-9);
            }
}

TEST(duplicate_data_is_copied_out_once) {
    int64_t bytes = 4096;
    assert_near(messages_s(&summit, "three_step", 1, 1, 10, bytes, 3 * bytes),
                max_rate_s(&summit, PTO_SPACE_CPU, 10, bytes, 1) + copies_s(&summit, 3.0 * 4096, 10.0 * 4096),
                1e-9);
    /* A part of a message can't be a duplicate: unique bytes round up to whole messages. */
    assert_near(messages_s(&summit, "three_step", 1, 1, 10, bytes, 2 * bytes + 1),
                messages_s(&summit, "three_step", 1, 1, 10, bytes, 3 * bytes), 1e-9);
}

/* A collective of one process a node: the messages that its slowest process passes on one after another, and
 * what it copies from its GPU before them and to it afterwards, in units. */
typedef struct {
    pto_collective_t collective;
    const char *algorithm;
    int64_t nodes, units, out_units, in_units;
    struct {
        int64_t count, units;
    } messages[6];
} rounds_t;

static const rounds_t rounds[] = {
    /* n - 1 rounds; Bruck's round k moves the blocks whose number has bit k set */
    {PTO_COLLECTIVE_ALLTOALL, "pairwise", 12, 1, 12, 12, {{11, 1}}},
    {PTO_COLLECTIVE_ALLTOALL, "bruck", 12, 1, 12, 12, {{2, 6}, {2, 4}}},
    /* Thakur, Rabenseifner, Gropp 2005: log2 n messages of the vector; 2 log2 n of halves, quarters ...;
     * 2 (n - 1) of an nth; up and down a tree. The reductions are not in the tables. */
    {PTO_COLLECTIVE_ALLREDUCE, "recursive_doubling", 16, 1, 1, 1, {{4, 1}}},
    {PTO_COLLECTIVE_ALLREDUCE, "rabenseifner", 16, 16, 16, 16, {{2, 8}, {2, 4}, {2, 2}, {2, 1}}},
    {PTO_COLLECTIVE_ALLREDUCE, "ring", 10, 10, 10, 10, {{18, 1}}},
    {PTO_COLLECTIVE_ALLREDUCE, "binomial", 32, 1, 1, 1, {{10, 1}}},
    {PTO_COLLECTIVE_REDUCE, "binomial", 16, 1, 1, 1, {{4, 1}}},
    {PTO_COLLECTIVE_REDUCE, "rabenseifner", 16, 16, 16, 16, {{2, 8}, {2, 4}, {2, 2}, {2, 1}}},
    /* process 0 is folded away before and gets the whole vector afterwards */
    {PTO_COLLECTIVE_REDUCE, "rabenseifner", 23, 16, 16, 16, {{2, 16}, {2, 8}, {2, 4}, {2, 2}, {2, 1}}},
    /* section 4.1: n - 1 rounds, or log2 n of doubling size, of which Bruck's last is cut off */
    {PTO_COLLECTIVE_ALLGATHER, "recursive_doubling", 16, 1, 1, 16, {{1, 1}, {1, 2}, {1, 4}, {1, 8}}},
    {PTO_COLLECTIVE_ALLGATHER, "recursive_doubling", 12, 1, 1, 12, {{1, 1}, {1, 2}, {2, 4}}},
    {PTO_COLLECTIVE_ALLGATHER, "bruck", 16, 1, 1, 16, {{1, 1}, {1, 2}, {1, 4}, {1, 8}}},
    {PTO_COLLECTIVE_ALLGATHER, "bruck", 12, 1, 1, 12, {{1, 1}, {1, 2}, {2, 4}}},
    {PTO_COLLECTIVE_ALLGATHER, "ring", 12, 1, 1, 12, {{11, 1}}},
    /* section 4.3: n - 1 rounds, or log2 n of halving size; of 12 processes, 4 are folded away, and the 4
     * that do their part have two blocks each */
    {PTO_COLLECTIVE_REDUCE_SCATTER, "pairwise", 12, 1, 12, 1, {{11, 1}}},
    {PTO_COLLECTIVE_REDUCE_SCATTER, "ring", 12, 1, 12, 1, {{11, 1}}},
    {PTO_COLLECTIVE_REDUCE_SCATTER, "recursive_halving", 16, 1, 16, 1, {{1, 8}, {1, 4}, {1, 2}, {1, 1}}},
    {PTO_COLLECTIVE_REDUCE_SCATTER,
     "recursive_halving",
     12,
     1,
     12,
     1,
     {{1, 12}, {1, 4 + 4}, {1, 2 + 2}, {1, 1 + 1}, {1, 1}}},
    /* section 4.2: a subtree's blocks travel together: n - 1 blocks in log2 n messages */
    {PTO_COLLECTIVE_GATHER, "binomial", 16, 1, 1, 16, {{1, 8}, {1, 4}, {1, 2}, {1, 1}}},
    {PTO_COLLECTIVE_GATHER, "binomial", 12, 1, 1, 12, {{2, 4}, {1, 2}, {1, 1}}},
    {PTO_COLLECTIVE_GATHER, "binomial", 9, 1, 1, 9, {{2, 1}, {1, 4}, {1, 2}}},
    {PTO_COLLECTIVE_SCATTER, "binomial", 16, 1, 16, 1, {{1, 8}, {1, 4}, {1, 2}, {1, 1}}},
    {PTO_COLLECTIVE_SCATTER, "binomial", 12, 1, 12, 1, {{2, 4}, {1, 2}, {1, 1}}},
    {PTO_COLLECTIVE_SCATTER, "binomial", 9, 1, 9, 1, {{2, 1}, {1, 4}, {1, 2}}},
};

TEST(exchanges_cost_the_rounds_of_their_algorithm) {
    static const int64_t unit_bytes[] = {4, 16, 64, 256, 1024, 4096, 8192, 16384, 65536, 120000};
    for (size_t r = 0; r < sizeof rounds / sizeof *rounds; r++)
        for (size_t u = 0; u < sizeof unit_bytes / sizeof *unit_bytes; u++) {
            const rounds_t *of = &rounds[r];
            const int64_t unit = unit_bytes[u];
            double expected_s =
                copies_s(&summit, (double)(of->out_units * unit), (double)(of->in_units * unit));
            for (int m = 0; of->messages[m].count > 0; m++)
                expected_s += (double)of->messages[m].count *
                              max_rate_s(&summit, PTO_SPACE_CPU, 1, of->messages[m].units * unit, 1);
            char what[96];
            snprintf(what, sizeof what, "%s by %s among %lld, units of %lld bytes",
                     pto_collective_name(of->collective), of->algorithm, (long long)of->nodes,
                     (long long)unit);
            assert_near_for(seconds(&summit, of->collective, "three_step", of->algorithm, of->nodes, 1, 1,
                                    of->units * unit),
                            expected_s, 1e-9, what);
        }
}

/* dup_devptr: one latency each way and the bytes of all shares; the network carries shares from every
 * process. */
TEST(shares_split_the_message_and_sum_the_copies) {
    for (int64_t cores = 2; cores <= 40; cores++) {
        int64_t bytes = 4 * 40 * 27720; /* divisible by any count of cores */
        int64_t share = pto_share_bytes(bytes, 4, cores, 0);
        const pto_postal_t *cpu =
            &pto_machine_message(&summit, PTO_SPACE_CPU, PTO_LEVEL_OFF_NODE, share)->postal;
        double network_s =
            cpu->alpha_s.value + fmax(cpu->beta_s_per_byte.value * (double)share,
                                      (double)bytes * summit.injection_s_per_byte[PTO_SPACE_CPU].value);
        assert_near(messages_s(&summit, "dup_devptr", 1, cores, 1, bytes, 0),
                    network_s + copies_s(&summit, (double)bytes, (double)bytes), 1e-9);
        const pto_postal_t *near =
            &pto_machine_message(&summit, PTO_SPACE_CPU, PTO_LEVEL_ON_GPU, share)->postal;
        double sharing_s = 0;
        for (int64_t core = 1; core < cores; core++)
            sharing_s += postal_s(near, (double)pto_share_bytes(bytes, 4, cores, core));
        assert_near(messages_s(&summit, "extra_message", 1, cores, 1, bytes, 0),
                    network_s + 2 * sharing_s + copies_s(&summit, (double)bytes, (double)bytes), 1e-9);
    }
}

/* --- the paper's conclusions, as its printed numbers give them ------------------------------------------ */

TEST(one_gpudirect_message_beats_three_step_below_640_kb) {
    for (int64_t bytes = 1; bytes <= 640000;
         bytes = bytes * 2 < 640000 || bytes == 640000 ? bytes * 2 : 640000)
        assert_true(messages_s(&summit, "cuda_aware", 1, 1, 1, bytes, 0) <
                    messages_s(&summit, "three_step", 1, 1, 1, bytes, 0));
    assert_true(messages_s(&summit, "cuda_aware", 1, 1, 1, 642000, 0) >
                messages_s(&summit, "three_step", 1, 1, 1, 642000, 0));
    for (int64_t bytes = 1048576; bytes <= 1 << 26; bytes *= 2)
        assert_true(messages_s(&summit, "cuda_aware", 1, 1, 1, bytes, 0) >
                    messages_s(&summit, "three_step", 1, 1, 1, bytes, 0));
}

TEST(ten_messages_favour_three_step_but_at_8_to_64_kib) {
    for (int64_t bytes = 1; bytes <= 1 << 24; bytes *= 2) {
        bool direct_wins = bytes >= 8192 && bytes <= 65536;
        bool direct_cheaper = messages_s(&summit, "cuda_aware", 1, 1, 10, bytes, 0) <
                              messages_s(&summit, "three_step", 1, 1, 10, bytes, 0);
        assert_int_equal(direct_cheaper, direct_wins);
    }
}

TEST(lassen_needs_47_tiny_messages) {
    for (int64_t n = 1; n <= 100; n++) {
        bool staged_cheaper = messages_s(&lassen, "three_step", 1, 1, n, 1, 0) <
                              messages_s(&lassen, "cuda_aware", 1, 1, n, 1, 0);
        assert_int_equal(staged_cheaper, n >= 47);
    }
}

TEST(lassen_never_stages_from_8_kib_up) {
    for (int64_t bytes = 8192; bytes <= 1 << 24; bytes *= 2)
        for (int64_t n = 1; n <= 1000; n *= 10)
            assert_true(messages_s(&lassen, "cuda_aware", 1, 1, n, bytes, 0) <
                        messages_s(&lassen, "three_step", 1, 1, n, bytes, 0));
}

/* Figure 4: 1 MiB between two nodes, split over the processes; the network's part of dup_devptr. */
static double network_s(int64_t cores, int64_t bytes) {
    const char *strategy = cores > 1 ? "dup_devptr" : "three_step";
    return messages_s(&summit, strategy, 1, cores, 1, bytes, 0) -
           copies_s(&summit, (double)bytes, (double)bytes);
}

TEST(splitting_1_mib_over_cores_pays_and_never_hurts) {
    double before_s = network_s(1, 1048576);
    for (int64_t cores = 2; cores <= 40; cores++) {
        double now_s = network_s(cores, 1048576);
        assert_true(now_s <= before_s * (1 + 1e-12));
        before_s = now_s;
    }
    assert_true(network_s(1, 1048576) >= 2.5 * before_s);
}

/* --- properties ----------------------------------------------------------------------------------------- */

typedef struct {
    int64_t nodes, gpus, cores, bytes;
} shape_t;

/* Calls `visit` for every strategy, collective and algorithm that applies to the shape, or a sample. */
static void for_all_plans(shape_t shape, void (*visit)(const pto_request_t *request)) {
    static int asked;
    for (int s = 0; s < pto_strategy_count(); s++)
        for (int a = 0; a < pto_algorithm_count(); a++)
            for (int c = 0; c < PTO_COLLECTIVE_COUNT; c++)
                for (int split = 0; split < PTO_SPLIT_COUNT; split++) {
                    pto_request_t request = {
                        .layout = {.nodes = shape.nodes,
                                   .gpus_per_node = shape.gpus,
                                   .owners_per_gpu = 1,
                                   .procs_per_gpu = shape.cores,
                                   .gpus_per_socket = 2},
                        .collective = (pto_collective_t)c,
                        .split = (pto_split_t)split,
                        .datatype = PTO_DATATYPE_FLOAT,
                        .bytes = shape.bytes,
                        .messages = 3,
                        .halo = {.dim_count = 2, .wrap = {true, true}, .extent = {7, 9}, .width = 1},
                        .strategy = pto_strategy_at(s),
                        .algorithm = pto_algorithm_at(a),
                        .by_library = true};
                    if (pto_strategy_applicable(&request, NULL) == PTO_OK && asked++ % test_sample() == 0)
                        visit(&request);
                }
}

static pto_machine_t compared_on;

static int compared;
static int exact;
static double worst_excess;
static double worst_deficit;
static bool queues; /* whether copies queue, which the price by class may put in another order */

static void compare_with_walk(const pto_request_t *request) {
    pto_plan_t *plan = must_plan(request);
    pto_price_t price = must_price(plan, &compared_on);
    double walk_s = must_walk(plan, &compared_on).seconds;
    if (walk_s > 0)
        worst_deficit = fmax(worst_deficit, 1 - price.seconds / walk_s);
    if (price.seconds < walk_s * (1 - 1e-9) && !queues)
        fail_msg("%s %s %s, %lld nodes x %lld x %lld, %lld B: by class %.9g, rank by rank %.9g",
                 pto_collective_name(request->collective), request->strategy->name, request->algorithm->name,
                 (long long)request->layout.nodes, (long long)request->layout.gpus_per_node,
                 (long long)request->layout.procs_per_gpu, (long long)request->bytes, price.seconds, walk_s);
    compared++;
    exact += price.seconds <= walk_s * (1 + 1e-9);
    if (walk_s > 0)
        worst_excess = fmax(worst_excess, price.seconds / walk_s - 1);
}

static void bound_on(const pto_machine_t *machine) {
    compared_on = completed(machine);
    compared = exact = 0;
    worst_excess = worst_deficit = 0;
    queues = machine->shared_copies[PTO_COPY_D2H].count > 0;
    const shape_t shapes[] = {{1, 1, 2, 4},   {1, 4, 3, 1000},   {2, 3, 2, 40},    {3, 4, 4, 65536},
                              {4, 2, 3, 0},   {5, 3, 1, 262144}, {8, 6, 2, 12344}, {7, 5, 6, 4096},
                              {16, 1, 2, 52}, {33, 2, 1, 2048},  {50, 6, 1, 512},  {64, 4, 2, 20000}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for_all_plans(shapes[i], compare_with_walk);
    print_message("%s: %d plans, %d exact, the dearest %.1f percent above, the cheapest %.1f below\n",
                  machine->name, compared, exact, 100 * worst_excess, 100 * worst_deficit);
    assert_true(compared > 3000 / test_sample());
    assert_true(worst_deficit < 0.2);
    assert_true(exact > compared / 2);
}

TEST(the_price_by_class_bounds_the_price_rank_by_rank) {
    bound_on(&summit);
    bound_on(&refit);
}

/* Where a GPU's processes share out the destinations, each may have another dearest member: a library's
 * linear alltoallv takes a step for each of them, and its exchange in place copies as many blocks as each
 * has. */
static bool is_bounded_only(const pto_request_t *request) {
    const char *algorithm = request->algorithm->name;
    if (strcmp(algorithm, "scatter_allgather") == 0) /* only those with a subtree copy their part */
        return true;
    if (strcmp(algorithm, "split_binary") == 0) /* levels of the tree differ in who is on another node */
        return true;
    /* A gather waits for some processes only, and others may have had farther partners. */
    if (request->collective == PTO_COLLECTIVE_REDUCE && strcmp(algorithm, "rabenseifner") == 0)
        return true;
    if (!request->strategy->splits || !request->by_library)
        return false;
    return (request->collective == PTO_COLLECTIVE_ALLTOALLV && strncmp(algorithm, "linear", 6) == 0) ||
           (request->split == PTO_SPLIT_DESTINATIONS && strcmp(algorithm, "pairwise_in_place") == 0);
}

static void expect_exact(const pto_request_t *request) {
    if (is_bounded_only(request))
        return;
    pto_plan_t *plan = must_plan(request);
    assert_near(must_price(plan, &compared_on).seconds, must_walk(plan, &compared_on).seconds, 1e-9);
}

/* Where all members of a node are alike and counts are powers of two, no class hides a difference. */
TEST(symmetric_layouts_are_priced_exactly) {
    compared_on = completed(&summit);
    const shape_t shapes[] = {{4, 1, 4, 4096}, {8, 2, 2, 65536}, {2, 4, 4, 1024}, {16, 4, 1, 262144}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for_all_plans(shapes[i], expect_exact);
}

TEST(more_nodes_never_cost_less) {
    const char *const algorithm[] = {"pairwise", "bruck", "linear"};
    for (size_t a = 0; a < 3; a++) {
        double before_s = 0;
        for (int64_t nodes = 2; nodes <= 1 << 18; nodes *= 2) {
            double now_s =
                seconds(&summit, PTO_COLLECTIVE_ALLTOALL, "three_step", algorithm[a], nodes, 6, 6, 64);
            assert_true(now_s > before_s);
            before_s = now_s;
        }
    }
}

TEST(an_explanation_adds_up_to_its_price) {
    pto_request_t request =
        request_for(PTO_COLLECTIVE_ALLTOALL, "extra_message", "pairwise", 1000, 6, 6, 65536);
    pto_price_t price;
    const pto_explanation_t explanation = must_explain(must_plan(&request), &summit, &price);
    double sum_s = 0;
    for (int i = 0; i < explanation.count; i++)
        sum_s += explanation.term[i].seconds;
    assert_true(explanation.count > 8);
    assert_near(sum_s, price.seconds, 1e-9);
}

/* A parameter is off in the same way wherever it is used: its uses add up, not their squares. */
TEST(intervals_are_carried_into_the_price) {
    pto_machine_t machine = summit;
    machine.model_error = (pto_model_error_t){0};
    pto_param_t *alpha = &machine.messages[PTO_SPACE_GPU][PTO_LEVEL_OFF_NODE].row[0].postal.alpha_s;
    alpha->has_interval = true;
    alpha->low = alpha->value * 0.9;
    alpha->high = alpha->value * 1.2;
    pto_request_t requests[] = {
        request_for(PTO_COLLECTIVE_MESSAGES, "cuda_aware", "point_to_point", 2, 1, 1, 64),
        request_for(PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "rabenseifner", 8, 1, 1, 65536)};
    requests[0].messages = 5;
    for (int r = 0; r < 2; r++) {
        pto_price_t price;
        const pto_explanation_t explanation = must_explain(must_plan(&requests[r]), &machine, &price);
        int terms = 0;
        double uses = 0;
        for (int i = 0; i < explanation.count; i++)
            if (explanation.term[i].param == alpha) {
                terms++;
                uses += explanation.term[i].count;
            }
        assert_true(r == 0 ? uses == 5 : terms > 1);
        assert_true(price.has_interval);
        assert_near(price.seconds - price.low_s, uses * 0.1 * alpha->value, 1e-9);
        assert_near(price.high_s - price.seconds, uses * 0.2 * alpha->value, 1e-9);
    }
}

TEST(a_machine_without_gpu_messages_says_so) {
    pto_machine_t machine = summit;
    for (int level = 0; level < PTO_LEVEL_COUNT; level++)
        machine.messages[PTO_SPACE_GPU][level].count = 0;
    pto_request_t request = request_for(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "linear", 2, 6, 6, 64);
    assert_says(no_price(must_plan(&request), &machine, PTO_ERR_NOT_APPLICABLE), "messages.gpu.");
}

TEST(tables_above_65536_ranks_are_refused) {
    pto_counts_t counts = {.kind = PTO_COUNTS_SKEW, .skew = 0.5, .seed = 1};
    pto_request_t request = request_for(PTO_COLLECTIVE_ALLTOALLV, "three_step", "pairwise", 10923, 6, 1, 64);
    request.counts = &counts;
    assert_says(no_price(must_plan(&request), &summit, PTO_ERR_TOO_LARGE), "65536");
}

/* A table of equal counts must cost what equal counts cost. */
TEST(a_flat_table_costs_what_equal_counts_cost) {
    pto_counts_t flat = {.kind = PTO_COUNTS_SKEW, .skew = 0, .seed = 7};
    const char *const strategy[] = {"cuda_aware", "three_step", "extra_message", "dup_devptr"};
    for (size_t s = 0; s < 4; s++) {
        pto_request_t request = request_for(PTO_COLLECTIVE_ALLTOALLV, strategy[s], "linear", 4, 4, 4, 8192);
        double equal_s = priced_s(&request, &summit);
        request.counts = &flat;
        assert_near(priced_s(&request, &summit), equal_s, 1e-9);
    }
}

int main(void) { return run_all_tests(read_machines, NULL); }
