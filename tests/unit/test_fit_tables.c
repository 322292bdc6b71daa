/* The tables of a library, chosen by how well they predict collectives. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../model/fit/library_tables.h"
#include "made_collectives.h"

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

/* What is chosen for a machine that knows all but the library's tables, from times by those tables, times a
 * factor for each of 8, 4 and 2 nodes, or the first `node_counts` of these. */
static void choose(const char *tables, const double *factor, int node_counts,
                   const pto_collective_t *collective, int count, int room, chosen_t *chosen) {
    const int nodes[] = {8, 4, 2};
    char more[2048];
    snprintf(more, sizeof more, "%slibrary:\n%s", numbers, tables);
    pto_machine_t truth = parse("", more), machine = parse("", numbers);
    *chosen = (chosen_t){.collectives = rows_of(&truth, nodes, node_counts, collective, count, factor)};
    collective_fit_t *fit = &chosen->fit;
    pto_score_options_t options = pto_score_defaults(&chosen->collectives);
    fit->prices = pto_fit_prices_create();
    assert_non_null(fit->prices);
    assert_int_equal(pto_score_collect(&chosen->collectives, &options, &fit->score, NULL), PTO_OK);
    assert_int_equal(pto_machine_duplicate(&machine, &fit->machine, NULL), PTO_OK);
    assert_int_equal(collective_fit_allocate(fit), PTO_OK);
    fit_prices_use(fit->prices, fit->machine);
    assert_int_equal(collective_fit_library(fit, room, chosen->switches, &chosen->switch_count), PTO_OK);
    pto_machine_fini(&truth);
    pto_machine_fini(&machine);
}

static void release(chosen_t *chosen) {
    pto_machine_destroy(chosen->fit.machine);
    collective_fit_release(&chosen->fit);
    pto_fit_prices_destroy(chosen->fit.prices);
    pto_collectives_fini(&chosen->collectives);
}

static void assert_rule(const chosen_t *chosen, const char *collective, int space, int64_t bytes,
                        const char *algorithm, bool staged) {
    const pto_library_rule_t *rule =
        pto_machine_library(chosen->fit.machine, collective, (pto_space_t)space, 8, bytes);
    assert_non_null(rule);
    assert_string_equal(rule->algorithm, algorithm);
    assert_int_equal(rule->staged, staged);
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

static void a_table_has_as_many_rows_as_there_is_room_for(void **state) {
    (void)state;
    for (int room = 0; room <= 3; room++) {
        chosen_t chosen;
        choose(three, NULL, 3, &alltoall, 1, room, &chosen);
        assert_int_equal(chosen.switch_count, room < 2 ? room : 2);
        const pto_library_table_t *table = chosen.fit.machine->library;
        assert_int_equal(chosen.fit.machine->library_count, 2); /* host and GPU */
        assert_int_equal(table[0].rule_count, chosen.switch_count + 1);
        assert_true(table[0].rule[chosen.switch_count].below_bytes == INT64_MAX);
        for (int row = 0; row < chosen.switch_count; row++) {
            assert_int_equal(chosen.switches[row].collective, PTO_COLLECTIVE_ALLTOALL);
            assert_true(chosen.switches[row].bytes == table[0].rule[row].below_bytes);
            assert_true(table[0].rule[row].below_bytes < table[0].rule[row + 1].below_bytes);
        }
        if (room >= 2) {
            for (int space = 0; space < PTO_SPACE_COUNT; space++) {
                assert_rule(&chosen, "alltoall", space, 1023, "bruck", space == PTO_SPACE_GPU);
                assert_rule(&chosen, "alltoall", space, 1024, "linear", space == PTO_SPACE_GPU);
                assert_rule(&chosen, "alltoall", space, 16383, "linear", space == PTO_SPACE_GPU);
                assert_rule(&chosen, "alltoall", space, 16384, "pairwise_in_place", space == PTO_SPACE_GPU);
            }
        }
        release(&chosen);
    }
}

/* The host's algorithm stages nothing, and another is the GPU's for all sizes. */
static void a_library_that_stages_nothing_has_its_own_algorithm_on_gpus(void **state) {
    (void)state;
    chosen_t chosen;
    choose("  alltoall: {cpu: [{algorithm: pairwise_in_place}], gpu: [{algorithm: linear}]}\n", NULL, 3,
           &alltoall, 1, 7, &chosen);
    assert_rule(&chosen, "alltoall", PTO_SPACE_GPU, 4096, "linear", false);
    assert_rule(&chosen, "alltoall", PTO_SPACE_GPU, 64, "linear", false);
    release(&chosen);
}

/* Times of one algorithm for all sizes scatter by more than another one of small blocks differs from it: the
 * pair that libraries usually have is kept, with its switch where it does least harm. */
static void a_usual_pair_is_kept_unless_another_is_clearly_better(void **state) {
    (void)state;
    static const double little[] = {1, 1.01, 1}, much[] = {0.7, 1.4, 0.7};
    static const char one[] = "  alltoall:\n"
                              "    cpu: [{algorithm: pairwise_in_place}]\n"
                              "    gpu: [{algorithm: pairwise_in_place, staged: true}]\n";
    chosen_t chosen;
    choose(one, little, 3, &alltoall, 1, 1, &chosen);
    assert_int_equal(chosen.switch_count, 0);
    assert_rule(&chosen, "alltoall", PTO_SPACE_CPU, 64, "pairwise_in_place", false);
    release(&chosen);
    choose(one, much, 3, &alltoall, 1, 1, &chosen);
    assert_int_equal(chosen.switch_count, 1);
    assert_int_equal(chosen.switches[0].bytes, 256); /* the second size */
    assert_rule(&chosen, "alltoall", PTO_SPACE_CPU, 255, "bruck", false);
    assert_rule(&chosen, "alltoall", PTO_SPACE_CPU, 256, "pairwise", false);
    release(&chosen);
}

/* No library is known to do this. On one number of nodes, one cell tells of the first size. */
static void a_switch_may_be_at_the_second_size(void **state) {
    (void)state;
    for (int node_counts = 1; node_counts <= 3; node_counts += 2) {
        chosen_t chosen;
        choose("  alltoall:\n"
               "    cpu: [{below_bytes: 256, algorithm: pairwise_in_place}, {algorithm: bruck}]\n"
               "    gpu: [{below_bytes: 256, algorithm: pairwise_in_place, staged: true},\n"
               "          {algorithm: bruck, staged: true}]\n",
               NULL, node_counts, &alltoall, 1, 1, &chosen);
        assert_int_equal(chosen.switch_count, 1);
        assert_rule(&chosen, "alltoall", PTO_SPACE_CPU, 255, "pairwise_in_place", false);
        assert_rule(&chosen, "alltoall", PTO_SPACE_CPU, 256, "bruck", false);
        release(&chosen);
    }
}

/* Collectives share the room. */
static void each_collective_has_tables_of_its_own(void **state) {
    (void)state;
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
    chosen_t chosen;
    choose(both, NULL, 3, collectives, 2, 7, &chosen);
    assert_int_equal(chosen.switch_count, 2);
    assert_int_equal(chosen.fit.machine->library_count, 4);
    for (int space = 0; space < PTO_SPACE_COUNT; space++) {
        bool staged = space == PTO_SPACE_GPU;
        assert_rule(&chosen, "alltoall", space, 4095, "bruck", staged);
        assert_rule(&chosen, "alltoall", space, 4096, "pairwise_in_place", staged);
        assert_rule(&chosen, "allreduce", space, 16383, "recursive_doubling", staged);
        assert_rule(&chosen, "allreduce", space, 16384, "rabenseifner", staged);
    }
    /* Chosen again, nothing is added. */
    assert_int_equal(collective_fit_library(&chosen.fit, 7, chosen.switches, &chosen.switch_count), PTO_OK);
    assert_int_equal(chosen.fit.machine->library_count, 4);
    assert_int_equal(chosen.switch_count, 2);
    release(&chosen);
}

/* --- one cell ------------------------------------------------------------------------------------------- */

/* Twice too long, half and exact: the mean of the logarithms; and the regret of the one that is predicted
 * least. */
static void badness_is_the_mean_miss_and_the_regret_of_the_pick(void **state) {
    (void)state;
    pto_score_candidate_t candidate[3] = {{.measured_s = 2}, {.measured_s = 4}, {.measured_s = 3}};
    pto_score_cell_t cell = {.candidate_count = 3, .candidate = candidate};
    const double miss[] = {log(2), -log(2), 0}; /* predicted: 4, 2, 3 */
    assert_true(fabs(collective_fit_badness(&cell, miss) - (2 * log(2) / 3 + 1)) < 1e-12);
    const double right[] = {0, 0, 0};
    assert_true(fabs(collective_fit_badness(&cell, right)) < 1e-12);
    const double equal[] = {log(2), 0, log(4.0 / 3)}; /* all 4: the first is picked, and is the best */
    assert_true(fabs(collective_fit_badness(&cell, equal) - (log(2) + log(4.0 / 3)) / 3) < 1e-12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_has_as_many_rows_as_there_is_room_for),
        cmocka_unit_test(a_library_that_stages_nothing_has_its_own_algorithm_on_gpus),
        cmocka_unit_test(a_usual_pair_is_kept_unless_another_is_clearly_better),
        cmocka_unit_test(a_switch_may_be_at_the_second_size),
        cmocka_unit_test(each_collective_has_tables_of_its_own),
        cmocka_unit_test(badness_is_the_mean_miss_and_the_regret_of_the_pick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
