/* Comparing matrices of byte counts by the parts that processes use: the parts add up to 0 if all have the
 * same, and not if a process has another number that changes what it does. */
#include "base/hash.h"
#include "plan_deeds.h"
#include "portolan/plan.h"
#include "portolan/strategy.h"
#include "test.h"

enum { OWNERS = 4, RANKS = 8, PAIRS = OWNERS * OWNERS };

static const pto_layout_t layout = {2, 2, 1, 2, 2, false};

static void fill(int64_t *matrix) {
    for (int i = 0; i < PAIRS; i++)
        matrix[i] = 100 + 7 * i;
}

static pto_status_t plan_of(const pto_strategy_t *strategy, const pto_algorithm_t *algorithm, int variant,
                            const pto_counts_t *counts, pto_plan_t **plan) {
    pto_request_t request = {.layout = layout,
                             .collective = PTO_COLLECTIVE_ALLTOALLV,
                             .datatype = PTO_DATATYPE_FLOAT,
                             .bytes = 64,
                             .by_library = variant & 1,
                             .split = variant & 2 ? PTO_SPLIT_DESTINATIONS : PTO_SPLIT_BYTES,
                             .counts = counts,
                             .strategy = strategy,
                             .algorithm = algorithm};
    return pto_plan_create(&request, plan, NULL);
}

/* What a process does, and how large its buffers are. */
static uint64_t noted(const pto_plan_t *plan, int64_t rank) {
    uint64_t hash = deeds_of_rank(plan, rank);
    for (int buffer = 0; buffer < pto_plan_buffer_count(plan); buffer++)
        hash = pto_hash_add(hash, (uint64_t)pto_buffer_bytes(plan, buffer, rank));
    return hash;
}

/* --- all numbers, all processes ------------------------------------------------------------------------- */

static uint64_t sum_of_others(const pto_plan_t *plan, int64_t rank) {
    uint64_t sum = 0;
    for (int64_t other = 0; other < RANKS; other++)
        sum += other == rank ? 0 : pto_plan_matrix_sum(plan, other);
    return sum;
}

static struct {
    int used;
    int unused;
} numbers;

/* A process has another number than the others: of a pair that it uses, or not. */
static void change_one(const pto_plan_t *plan, const pto_plan_t *changed, int64_t rank, int pair) {
    bool matters = noted(plan, rank) != noted(changed, rank);
    uint64_t sum = sum_of_others(plan, rank) + pto_plan_matrix_sum(changed, rank);
    if (matters && sum == 0)
        fail_msg("%s by %s: rank %d has another number %d, which changes what it does",
                 pto_plan_request(plan)->strategy->name, pto_plan_request(plan)->algorithm->name, (int)rank,
                 pair);
    numbers.used += matters;
    numbers.unused += sum == 0;
}

static void change_all(const pto_strategy_t *strategy, const pto_algorithm_t *algorithm, int variant) {
    int64_t matrix[PAIRS], other[PAIRS];
    pto_counts_t counts = {.kind = PTO_COUNTS_MATRIX, .order = OWNERS, .matrix = matrix};
    pto_counts_t changed = {.kind = PTO_COUNTS_MATRIX, .order = OWNERS, .matrix = other};
    pto_plan_t *plan = NULL, *made = NULL;
    fill(matrix);
    if (plan_of(strategy, algorithm, variant, &counts, &plan) != PTO_OK)
        return;
    assert_true(pto_plan_has_matrix(plan));
    assert_true(sum_of_others(plan, -1) == 0);
    for (int pair = 0; pair < PAIRS; pair++) {
        fill(other);
        other[pair] += 8;
        assert_int_equal(plan_of(strategy, algorithm, variant, &changed, &made), PTO_OK);
        assert_true(pto_plan_digest(plan) != pto_plan_digest(made));
        assert_true(sum_of_others(made, -1) == 0);
        for (int64_t rank = 0; rank < RANKS; rank++)
            change_one(plan, made, rank, pair);
        pto_plan_destroy(made);
    }
    pto_plan_destroy(plan);
}

TEST(numbers_that_a_process_uses_are_compared) {
    for (int s = 0; s < pto_strategy_count(); s++)
        for (int a = 0; a < pto_algorithm_count(); a++)
            for (int variant = 0; variant < 4; variant++)
                change_all(pto_strategy_at(s), pto_algorithm_at(a), variant);
    print_message("%d changes matter, %d are not seen\n", numbers.used, numbers.unused);
    assert_true(numbers.used > 1000 && numbers.unused > 1000);
}

TEST(plans_of_one_form_have_one_digest) {
    int64_t matrix[PAIRS], other[PAIRS];
    pto_counts_t counts = {.kind = PTO_COUNTS_MATRIX, .order = OWNERS, .matrix = matrix};
    pto_counts_t changed = {.kind = PTO_COUNTS_MATRIX, .order = OWNERS, .matrix = other};
    const pto_strategy_t *strategy;
    const pto_algorithm_t *one, *another;
    pto_plan_t *plan[3];
    fill(matrix);
    fill(other);
    other[1]++;
    assert_int_equal(pto_strategy_find("cuda_aware", &strategy, NULL), PTO_OK);
    assert_int_equal(pto_algorithm_find("pairwise", PTO_COLLECTIVE_ALLTOALLV, &one, NULL), PTO_OK);
    assert_int_equal(pto_algorithm_find("linear", PTO_COLLECTIVE_ALLTOALLV, &another, NULL), PTO_OK);
    assert_int_equal(plan_of(strategy, one, 0, &counts, &plan[0]), PTO_OK);
    assert_int_equal(plan_of(strategy, one, 0, &changed, &plan[1]), PTO_OK);
    assert_int_equal(plan_of(strategy, another, 0, &counts, &plan[2]), PTO_OK);
    assert_true(pto_plan_digest_of_form(plan[0]) == pto_plan_digest_of_form(plan[1]));
    assert_true(pto_plan_digest_of_form(plan[0]) != pto_plan_digest_of_form(plan[2]));
    assert_true(pto_plan_digest(plan[0]) != pto_plan_digest(plan[1]));
    for (int i = 0; i < 3; i++)
        pto_plan_destroy(plan[i]);
}
