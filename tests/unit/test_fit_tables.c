/* The tables of a library, chosen by how well they predict collectives. */
#include "../../model/fit/library_tables.h"
#include "made_collectives.h"
#include "test.h"

static const char numbers[] = "  h2h: {on_socket: {alpha_s: 0, beta_s_per_byte: 4e-10}}\n"
                              "  pageable:\n"
                              "    h2d: {alpha_s: 3e-5, beta_s_per_byte: 2e-11}\n"
                              "    d2h: {alpha_s: 3e-5, beta_s_per_byte: 2e-11}\n"
                              "reduce: {cpu: [{alpha_s: 0, beta_s_per_byte: 6e-10}]}\n"
                              "network: {contention: 0.8}\n";

typedef struct {
    pto_collectives_t collectives;
    collective_fit_t fit;
    collective_switch_t switches[16];
    int switch_count;
} chosen_t;

static void end_chosen(void *object) {
    chosen_t *chosen = object;
    pto_machine_destroy(chosen->fit.machine);
    collective_fit_release(&chosen->fit);
    pto_fit_prices_destroy(chosen->fit.prices);
}

/* What is chosen for a machine that knows all but the library's tables, from times by those tables, times a
 * factor for each number of nodes. */
static chosen_t *choose_on(const char *tables, int gpus_per_node, const int *nodes, const double *factor,
                           int node_counts, const pto_collective_t *collective, int count, int room) {
    char more[2048];
    snprintf(more, sizeof more, "%slibrary:\n%s", numbers, tables);
    pto_machine_t *truth = parse("", more), *machine = parse("", numbers);
    chosen_t *chosen = keep_new(sizeof *chosen, end_chosen);
    chosen->collectives = rows_on(truth, gpus_per_node, nodes, node_counts, collective, count, factor);
    collective_fit_t *fit = &chosen->fit;
    pto_score_options_t options = pto_score_defaults(&chosen->collectives);
    fit->prices = pto_fit_prices_create();
    assert_non_null(fit->prices);
    assert_int_equal(pto_score_collect(&chosen->collectives, &options, &fit->score, NULL), PTO_OK);
    assert_int_equal(pto_machine_duplicate(machine, &fit->machine, NULL), PTO_OK);
    assert_int_equal(collective_fit_allocate(fit), PTO_OK);
    fit_prices_use(fit->prices, fit->machine);
    assert_int_equal(collective_fit_library(fit, room, chosen->switches, &chosen->switch_count), PTO_OK);
    return chosen;
}

/* On 8, 4 and 2 nodes, or the first `node_counts` of these. */
static chosen_t *choose(const char *tables, const double *factor, int node_counts,
                        const pto_collective_t *collective, int count, int room) {
    const int nodes[] = {8, 4, 2};
    return choose_on(tables, 4, nodes, factor, node_counts, collective, count, room);
}

/* Once more, after a change of the cells. */
static void choose_again(chosen_t *chosen) {
    assert_int_equal(collective_fit_library(&chosen->fit, 7, chosen->switches, &chosen->switch_count),
                     PTO_OK);
}

static void assert_rule(const chosen_t *chosen, const char *collective, int space, int64_t bytes,
                        const char *algorithm, bool staged) {
    const pto_library_rule_t *rule =
        pto_machine_library(chosen->fit.machine, collective, (pto_space_t)space, 8, bytes);
    assert_non_null(rule);
    assert_string_equal(rule->algorithm, algorithm);
    assert_int_equal(rule->staged, staged);
}

/* Of an alltoall: one algorithm up to a size, another from there on. */
static void assert_change(const chosen_t *chosen, int space, int64_t bytes, const char *below,
                          const char *from) {
    assert_rule(chosen, "alltoall", space, bytes - 1, below, space == PTO_SPACE_GPU);
    assert_rule(chosen, "alltoall", space, bytes, from, space == PTO_SPACE_GPU);
}

static const pto_collective_t alltoall = PTO_COLLECTIVE_ALLTOALL, allreduce = PTO_COLLECTIVE_ALLREDUCE;

/* Three algorithms need room for two switches; with less, the best table of fewer rows is chosen. */
static const char three[] =
    "  alltoall:\n"
    "    cpu: [{below_bytes: 1024, algorithm: bruck}, {below_bytes: 16384, algorithm: linear},\n"
    "          {algorithm: pairwise_in_place}]\n"
    "    gpu: [{below_bytes: 1024, algorithm: bruck, staged: true},\n"
    "          {below_bytes: 16384, algorithm: linear, staged: true},\n"
    "          {algorithm: pairwise_in_place, staged: true}]\n";

TEST(a_table_has_as_many_rows_as_there_is_room_for) {
    for (int room = 0; room <= 3; room++) {
        chosen_t *chosen = choose(three, NULL, 3, &alltoall, 1, room);
        assert_int_equal(chosen->switch_count, room < 2 ? room : 2);
        const pto_library_table_t *table = chosen->fit.machine->library;
        assert_int_equal(chosen->fit.machine->library_count, 2); /* host and GPU */
        assert_int_equal(table[0].rule_count, chosen->switch_count + 1);
        assert_true(table[0].rule[chosen->switch_count].below_bytes == INT64_MAX);
        for (int row = 0; row < chosen->switch_count; row++) {
            assert_int_equal(chosen->switches[row].collective, PTO_COLLECTIVE_ALLTOALL);
            assert_true(chosen->switches[row].bytes == table[0].rule[row].below_bytes);
            assert_true(table[0].rule[row].below_bytes < table[0].rule[row + 1].below_bytes);
        }
        if (room >= 2) {
            for (int space = 0; space < PTO_SPACE_COUNT; space++) {
                assert_change(chosen, space, 1024, "bruck", "linear");
                assert_change(chosen, space, 16384, "linear", "pairwise_in_place");
            }
        }
    }
}

/* The host's algorithm stages nothing, and another is the GPU's for all sizes. */
TEST(a_library_that_stages_nothing_has_its_own_algorithm_on_gpus) {
    chosen_t *chosen =
        choose("  alltoall: {cpu: [{algorithm: pairwise_in_place}], gpu: [{algorithm: linear}]}\n", NULL, 3,
               &alltoall, 1, 7);
    assert_rule(chosen, "alltoall", PTO_SPACE_GPU, 4096, "linear", false);
    assert_rule(chosen, "alltoall", PTO_SPACE_GPU, 64, "linear", false);
}

/* Times of one algorithm for all sizes scatter by more than another one of small blocks differs from it: the
 * pair that libraries usually have is kept, with its switch where it does least harm. */
TEST(a_usual_pair_is_kept_unless_another_is_clearly_better) {
    static const double little[] = {1, 1.01, 1}, much[] = {0.7, 1.4, 0.7};
    static const char one[] = "  alltoall:\n"
                              "    cpu: [{algorithm: pairwise_in_place}]\n"
                              "    gpu: [{algorithm: pairwise_in_place, staged: true}]\n";
    chosen_t *chosen = choose(one, little, 3, &alltoall, 1, 1);
    assert_int_equal(chosen->switch_count, 0);
    assert_rule(chosen, "alltoall", PTO_SPACE_CPU, 64, "pairwise_in_place", false);
    chosen = choose(one, much, 3, &alltoall, 1, 1);
    assert_int_equal(chosen->switch_count, 1);
    assert_int_equal(chosen->switches[0].bytes, 256); /* the second size */
    assert_change(chosen, PTO_SPACE_CPU, 256, "bruck", "pairwise");
}

/* No library is known to do this. On one number of nodes, one cell tells of the first size. */
TEST(a_switch_may_be_at_the_second_size) {
    for (int node_counts = 1; node_counts <= 3; node_counts += 2) {
        chosen_t *chosen =
            choose("  alltoall:\n"
                   "    cpu: [{below_bytes: 256, algorithm: pairwise_in_place}, {algorithm: bruck}]\n"
                   "    gpu: [{below_bytes: 256, algorithm: pairwise_in_place, staged: true},\n"
                   "          {algorithm: bruck, staged: true}]\n",
                   NULL, node_counts, &alltoall, 1, 1);
        assert_int_equal(chosen->switch_count, 1);
        assert_change(chosen, PTO_SPACE_CPU, 256, "pairwise_in_place", "bruck");
    }
}

/* Collectives share the room. */
TEST(each_collective_has_tables_of_its_own) {
    static const char both[] =
        "  alltoall:\n"
        "    cpu: [{below_bytes: 4096, algorithm: bruck}, {algorithm: pairwise_in_place}]\n"
        "    gpu: [{below_bytes: 4096, algorithm: bruck, staged: true},\n"
        "          {algorithm: pairwise_in_place, staged: true}]\n"
        "  allreduce:\n"
        "    cpu: [{below_bytes: 16384, algorithm: recursive_doubling}, {algorithm: rabenseifner}]\n"
        "    gpu: [{below_bytes: 16384, algorithm: recursive_doubling, staged: true},\n"
        "          {algorithm: rabenseifner, staged: true}]\n";
    const pto_collective_t collectives[] = {alltoall, allreduce};
    chosen_t *chosen = choose(both, NULL, 3, collectives, 2, 7);
    assert_int_equal(chosen->switch_count, 2);
    assert_int_equal(chosen->fit.machine->library_count, 4);
    for (int space = 0; space < PTO_SPACE_COUNT; space++) {
        bool staged = space == PTO_SPACE_GPU;
        assert_change(chosen, space, 4096, "bruck", "pairwise_in_place");
        assert_rule(chosen, "allreduce", space, 16383, "recursive_doubling", staged);
        assert_rule(chosen, "allreduce", space, 16384, "rabenseifner", staged);
    }
    /* Chosen again, nothing is added. */
    choose_again(chosen);
    assert_int_equal(chosen->fit.machine->library_count, 4);
    assert_int_equal(chosen->switch_count, 2);
}

static const char host_and_gpus[] =
    "  alltoall:\n"
    "    cpu: [{below_bytes: 4096, algorithm: bruck}, {algorithm: pairwise_in_place}]\n"
    "    gpu: [{algorithm: linear}]\n";

/* Host buffers first, in a library that stages nothing, so that they alone tell of the host's table. */
TEST(the_first_candidate_may_be_one_of_host_buffers) {
    chosen_t *chosen = choose(host_and_gpus, NULL, 3, &alltoall, 1, 7);
    for (int64_t i = 0; i < chosen->fit.score.cell_count; i++) {
        pto_score_cell_t *cell = &chosen->fit.score.cell[i];
        assert_int_equal(cell->candidate_count, 2);
        pto_score_candidate_t first = cell->candidate[0];
        if (first.strategy->collective_space == PTO_SPACE_CPU)
            continue;
        cell->candidate[0] = cell->candidate[1];
        cell->candidate[1] = first;
        cell->best = 1 - cell->best;
    }
    choose_again(chosen);
    assert_int_equal(chosen->fit.machine->library_count, 2);
    assert_change(chosen, PTO_SPACE_CPU, 4096, "bruck", "pairwise_in_place");
    assert_rule(chosen, "alltoall", PTO_SPACE_GPU, 64, "linear", false);
    assert_rule(chosen, "alltoall", PTO_SPACE_GPU, 262144, "linear", false);
}

/* Nothing is known of GPU buffers where no strategy hands them to the library. */
TEST(host_buffers_alone_have_one_table) {
    chosen_t *chosen = choose(host_and_gpus, NULL, 3, &alltoall, 1, 7);
    assert_int_equal(chosen->fit.machine->library_count, 2);
    for (int64_t i = 0; i < chosen->fit.score.cell_count; i++) {
        pto_score_cell_t *cell = &chosen->fit.score.cell[i];
        int of_host = cell->candidate[0].strategy->collective_space == PTO_SPACE_CPU ? 0 : 1;
        cell->candidate[0] = cell->candidate[of_host];
        cell->candidate_count = 1;
        cell->best = 0;
        assert_int_equal(cell->candidate[0].strategy->collective_space, PTO_SPACE_CPU);
    }
    choose_again(chosen);
    assert_int_equal(chosen->fit.machine->library_count, 1);
    assert_int_equal(chosen->fit.machine->library[0].space, PTO_SPACE_CPU);
    assert_change(chosen, PTO_SPACE_CPU, 4096, "bruck", "pairwise_in_place");
}

/* Cells are sorted, but their sizes may come in any order: those of the calls that strategies make differ. */
TEST(the_order_of_cells_does_not_matter) {
    chosen_t *chosen = choose(three, NULL, 3, &alltoall, 1, 7);
    pto_score_t *score = &chosen->fit.score;
    for (int64_t i = 0, j = score->cell_count - 1; i < j; i++, j--) {
        pto_score_cell_t cell = score->cell[i];
        score->cell[i] = score->cell[j];
        score->cell[j] = cell;
    }
    choose_again(chosen);
    assert_int_equal(chosen->switch_count, 2);
    assert_change(chosen, PTO_SPACE_CPU, 1024, "bruck", "linear");
    assert_rule(chosen, "alltoall", PTO_SPACE_CPU, 16384, "pairwise_in_place", false);
}

/* Of an alltoall, a table of one row for each of the algorithms, which begin at the given sizes. */
static void write_table(const char *const *algorithm, const int64_t *from_bytes, int rows, char *text,
                        size_t room) {
    int length = snprintf(text, room, "  alltoall:\n");
    for (int space = 0; space < PTO_SPACE_COUNT; space++) {
        for (int row = 0; row < rows; row++) {
            length += snprintf(text + length, room - (size_t)length, "%s{",
                               row > 0      ? ", "
                               : space == 0 ? "    cpu: ["
                                            : "    gpu: [");
            if (row + 1 < rows)
                length += snprintf(text + length, room - (size_t)length, "below_bytes: %lld, ",
                                   (long long)from_bytes[row + 1]);
            length += snprintf(text + length, room - (size_t)length, "algorithm: %s%s}", algorithm[row],
                               space == 0 ? "" : ", staged: true");
        }
        length += snprintf(text + length, room - (size_t)length, "]\n");
    }
}

static double mean_miss(collective_fit_t *fit) {
    double sum = 0;
    int count = 0;
    for (int64_t i = 0; i < fit->score.cell_count; i++)
        for (int c = 0; c < fit->score.cell[i].candidate_count; c++, count++)
            sum += fabs(collective_fit_miss(fit, &fit->score.cell[i], c, NULL, NULL));
    return sum / count;
}

/* All that a library may use for it. */
static int algorithms_of_alltoall(const char **name, int room) {
    int count = 0;
    for (int i = 0; i < pto_algorithm_count(); i++) {
        const pto_algorithm_t *algorithm = pto_algorithm_at(i);
        if ((algorithm->collectives >> alltoall & 1) && !algorithm->direct && !algorithm->nccl &&
            !algorithm->only_named) {
            assert_true(count < room);
            name[count++] = algorithm->name;
        }
    }
    return count;
}

/* Whichever algorithm is first and whichever is second. */
TEST(any_pair_of_algorithms_is_found) {
    static const int64_t from_bytes[] = {0, 4096};
    const char *name[16];
    int count = algorithms_of_alltoall(name, 16);
    assert_true(count > 2);
    for (int i = 0; i < count * count; i++) {
        const char *const pair[] = {name[i / count], name[i % count]};
        char tables[512];
        write_table(pair, from_bytes, i / count == i % count ? 1 : 2, tables, sizeof tables);
        chosen_t *chosen = choose(tables, NULL, 3, &alltoall, 1, 7);
        assert_true(mean_miss(&chosen->fit) < 1e-6);
    }
}

/* The same for GPU buffers that the library does not stage. */
TEST(any_algorithm_of_gpu_buffers_is_found) {
    const char *name[16];
    int count = algorithms_of_alltoall(name, 16);
    for (int i = 0; i < count; i++) {
        char tables[256];
        snprintf(tables, sizeof tables,
                 "  alltoall: {cpu: [{algorithm: pairwise_in_place}], gpu: [{algorithm: %s}]}\n", name[i]);
        chosen_t *chosen = choose(tables, NULL, 3, &alltoall, 1, 7);
        assert_true(mean_miss(&chosen->fit) < 1e-6);
    }
}

/* Rows that are found one after another are in order, also where a limit that was found first is not that of
 * the best table. */
TEST(the_limits_of_a_table_rise) {
    const char *name[16];
    int count = algorithms_of_alltoall(name, 16);
    for (int i = 0; i < count * count * count; i++) {
        const char *const three_names[] = {name[i % count], name[i / count % count], name[i / count / count]};
        for (int64_t second = 256; second <= 4096; second *= 16)
            for (int64_t third = 16384; third <= 65536; third *= 4) {
                const int64_t from_bytes[] = {0, second, third};
                char tables[768];
                write_table(three_names, from_bytes, 3, tables, sizeof tables);
                chosen_t *chosen = choose(tables, NULL, 1, &alltoall, 1, 4);
                const pto_library_table_t *table = chosen->fit.machine->library;
                assert_true(table->rule_count <= 4);
                for (int row = 0; row + 1 < table->rule_count; row++)
                    assert_true(table->rule[row].below_bytes < table->rule[row + 1].below_bytes);
            }
    }
}

/* Whether an algorithm is chosen for broadcasts, all of which are timed by it, among so many nodes with a GPU
 * each. `segment`: nothing, or the size of its segments. */
static bool is_chosen(const char *algorithm, const char *segment, const int *nodes, int node_counts) {
    static const pto_collective_t broadcast = PTO_COLLECTIVE_BROADCAST;
    char tables[256];
    snprintf(tables, sizeof tables,
             "  broadcast:\n"
             "    cpu: [{algorithm: %s%s}]\n"
             "    gpu: [{algorithm: %s%s, staged: true}]\n",
             algorithm, segment, algorithm, segment);
    chosen_t *chosen = choose_on(tables, 1, nodes, NULL, node_counts, &broadcast, 1, 0);
    return strcmp(chosen->fit.machine->library[0].rule[0].algorithm, algorithm) == 0;
}

TEST(too_few_processes_tell_of_no_chain_and_no_scatter) {
    static const int of_two[] = {2}, of_three[] = {3}, of_seven[] = {7}, of_eight[] = {8}, both[] = {8, 2};
    assert_false(is_chosen("chain", ", segment_bytes: 32768", of_two, 1));
    assert_true(is_chosen("chain", ", segment_bytes: 32768", of_three, 1));
    assert_false(is_chosen("scatter_allgather", "", of_seven, 1));
    assert_true(is_chosen("scatter_allgather", "", of_eight, 1));
    assert_true(is_chosen("scatter_allgather", "", both, 2)); /* the most count */
}

/* --- one cell ------------------------------------------------------------------------------------------- */

/* Each number of a cell, of its candidate and of the rule tells prices apart; the same have one price. */
TEST(a_price_is_found_by_all_that_it_depends_on) {
    enum { VARIANTS = 18 };
    pto_machine_t *machine = parse("", numbers);
    pto_fit_prices_t *prices = pto_fit_prices_create();
    const pto_strategy_t *strategy[2];
    fit_price_t *found[2][VARIANTS];
    assert_non_null(prices);
    assert_int_equal(pto_strategy_find("three_step", &strategy[0], NULL), PTO_OK);
    assert_int_equal(pto_strategy_find("own_algorithm", &strategy[1], NULL), PTO_OK);
    for (int again = 0; again < 2; again++)
        for (int v = 0; v < VARIANTS; v++) {
            char ring[] = "ring", doubling[] = "recursive_doubling";
            pto_library_rule_t rule = {.below_bytes = INT64_MAX,
                                       .algorithm = v == 1 ? doubling : ring,
                                       .staged = v == 2,
                                       .segment_bytes = v == 3 ? 1024 : 0};
            pto_score_candidate_t candidate = {.strategy = strategy[v >= 15],
                                               .algorithm = v == 16   ? "ring"
                                                            : v == 17 ? "recursive_doubling"
                                                                      : NULL,
                                               .chunks = v == 4};
            pto_score_cell_t cell = {.collective =
                                         v == 5 ? PTO_COLLECTIVE_ALLGATHER : PTO_COLLECTIVE_ALLREDUCE,
                                     .datatype = v == 6 ? PTO_DATATYPE_DOUBLE : PTO_DATATYPE_FLOAT,
                                     .nodes = v == 7 ? 4 : 2,
                                     .gpus_per_node = v == 8 ? 4 : 2,
                                     .owners_per_gpu = v == 9 ? 2 : 1,
                                     .procs_per_gpu = v == 10 ? 2 : 1,
                                     .bytes = v == 11 ? 128 : 64,
                                     .distance = v == 12 ? PTO_LEVEL_OFF_NODE : PTO_LEVEL_ON_SOCKET,
                                     .ends = {.from_host = v == 13, .to_host = v == 14},
                                     .candidate_count = 1,
                                     .candidate = &candidate};
            fit_price_call_t call = {.cell = &cell, .machine = machine, .rule = &rule};
            found[again][v] = fit_price_find(prices, &call);
            assert_non_null(found[again][v]);
        }
    for (int v = 0; v < VARIANTS; v++) {
        assert_ptr_equal(found[1][v], found[0][v]);
        for (int other = 0; other < v; other++)
            assert_ptr_not_equal(found[0][v], found[0][other]);
    }
    pto_fit_prices_destroy(prices);
}

/* More than there was room for at first. */
TEST(thousands_of_prices_are_found_again) {
    enum { PRICES = 5000 };
    static fit_price_t *found[PRICES];
    pto_machine_t *machine = parse("", numbers);
    pto_fit_prices_t *prices = pto_fit_prices_create();
    char ring[] = "ring";
    const pto_library_rule_t rule = {.below_bytes = INT64_MAX, .algorithm = ring};
    pto_score_candidate_t candidate = {.chunks = 0};
    assert_non_null(prices);
    assert_int_equal(pto_strategy_find("three_step", &candidate.strategy, NULL), PTO_OK);
    for (int again = 0; again < 2; again++)
        for (int i = 0; i < PRICES; i++) {
            pto_score_cell_t cell = {.collective = PTO_COLLECTIVE_ALLREDUCE,
                                     .nodes = 2,
                                     .bytes = 4 * i,
                                     .candidate_count = 1,
                                     .candidate = &candidate};
            fit_price_call_t call = {.cell = &cell, .machine = machine, .rule = &rule};
            fit_price_t *price = fit_price_find(prices, &call);
            assert_non_null(price);
            if (again)
                assert_ptr_equal(price, found[i]);
            found[i] = price;
        }
    pto_fit_prices_destroy(prices);
}

/* Twice too long, half and exact: the mean of the logarithms; and the regret of the one that is predicted
 * least. */
TEST(badness_is_the_mean_miss_and_the_regret_of_the_pick) {
    pto_score_candidate_t candidate[3] = {{.measured_s = 2}, {.measured_s = 4}, {.measured_s = 3}};
    pto_score_cell_t cell = {.candidate_count = 3, .candidate = candidate};
    const double miss[] = {log(2), -log(2), 0}; /* predicted: 4, 2, 3 */
    assert_true(fabs(collective_fit_badness(&cell, miss) - (2 * log(2) / 3 + 1)) < 1e-12);
    const double right[] = {0, 0, 0};
    assert_true(fabs(collective_fit_badness(&cell, right)) < 1e-12);
    const double equal[] = {log(2), 0, log(4.0 / 3)}; /* all 4: the first is picked, and is the best */
    assert_true(fabs(collective_fit_badness(&cell, equal) - (log(2) + log(4.0 / 3)) / 3) < 1e-12);
}
