/* Stages of messages alone, of plans with a table of byte counts, cost what they cost message by message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "made_up.h"
#include "plan_request.h"
#include "portolan/price.h"
#include "price/tape.h"

static pto_machine_t summit;

static int read_machine(void **state) {
    (void)state;
    return pto_machine_read("scenarios/machines/summit-spectrum.yaml", &summit, NULL);
}

static int free_machine(void **state) {
    (void)state;
    pto_machine_fini(&summit);
    return 0;
}

typedef struct {
    pto_price_t price;
    pto_explanation_t explanation;
} priced_t;

/* While a tape records, messages are charged one by one. */
static priced_t price_of(const pto_plan_t *plan, const pto_machine_t *machine, bool one_by_one) {
    priced_t priced = {.price = {0}};
    pto_tape_t *tape = one_by_one ? pto_tape_begin() : NULL;
    assert_int_equal(pto_price(plan, machine, &priced.price, &priced.explanation, NULL), PTO_OK);
    if (one_by_one)
        pto_tape_destroy(pto_tape_end(tape, priced.price.seconds));
    return priced;
}

static void assert_same(const priced_t *a, const priced_t *b) {
    assert_memory_equal(&a->price.seconds, &b->price.seconds, sizeof a->price.seconds);
    assert_memory_equal(&a->price.low_s, &b->price.low_s, sizeof a->price.low_s);
    assert_int_equal(a->explanation.count, b->explanation.count);
    for (int i = 0; i < a->explanation.count; i++) {
        const pto_term_t *one = &a->explanation.term[i], *other = &b->explanation.term[i];
        assert_string_equal(one->stage, other->stage);
        assert_ptr_equal(one->param, other->param);
        assert_memory_equal(&one->count, &other->count, sizeof one->count);
        assert_memory_equal(&one->seconds, &other->seconds, sizeof one->seconds);
    }
}

/* Without an explanation, too: the sends are then taken once. */
static void compare(const pto_plan_t *plan, const pto_machine_t *machine) {
    priced_t sums = price_of(plan, machine, false), one_by_one = price_of(plan, machine, true);
    pto_price_t alone;
    assert_same(&sums, &one_by_one);
    assert_int_equal(pto_price(plan, machine, &alone, NULL, NULL), PTO_OK);
    assert_memory_equal(&alone.seconds, &sums.price.seconds, sizeof alone.seconds);
    pto_explanation_fini(&sums.explanation);
    pto_explanation_fini(&one_by_one.explanation);
}

static void compare_strategies(const pto_machine_t *machine, const pto_counts_t *counts,
                               const pto_layout_t *layout, pto_split_t split, int64_t bytes, int *compared) {
    for (int s = 0; s < pto_strategy_count(); s++)
        for (int a = 0; a < pto_algorithm_count(); a++) {
            pto_request_t request = {.layout = *layout,
                                     .collective = PTO_COLLECTIVE_ALLTOALLV,
                                     .split = split,
                                     .datatype = PTO_DATATYPE_BYTE,
                                     .bytes = bytes,
                                     .counts = counts,
                                     .strategy = pto_strategy_at(s),
                                     .algorithm = pto_algorithm_at(a),
                                     .by_library = true};
            pto_plan_t *plan = NULL;
            if (!(request.strategy->collectives & 1u << request.collective) ||
                !(request.algorithm->collectives & 1u << request.collective) ||
                pto_plan_create(&request, &plan, NULL) != PTO_OK)
                continue;
            pto_price_t price;
            if (pto_price(plan, machine, &price, NULL, NULL) == PTO_OK) {
                compare(plan, machine);
                ++*compared;
            }
            pto_plan_destroy(plan);
        }
}

static void sums_of_messages_are_those_of_messages_one_by_one(void **state) {
    (void)state;
    int64_t matrix[144];
    for (int i = 0; i < 144; i++)
        matrix[i] = i % 5 ? 1000 * i % 70001 : 0;
    const pto_counts_t counts[] = {{.kind = PTO_COUNTS_SKEW, .skew = 0.5, .seed = 1},
                                   {.kind = PTO_COUNTS_SKEW, .skew = 1, .seed = 3},
                                   {.kind = PTO_COUNTS_MATRIX, .order = 12, .matrix = matrix}};
    const pto_layout_t layouts[] = {
        {.nodes = 4, .gpus_per_node = 3, .owners_per_gpu = 1, .procs_per_gpu = 4, .gpus_per_socket = 2},
        {.nodes = 3, .gpus_per_node = 2, .owners_per_gpu = 2, .procs_per_gpu = 3, .gpus_per_socket = 1},
        {.nodes = 2, .gpus_per_node = 6, .owners_per_gpu = 1, .procs_per_gpu = 1, .gpus_per_socket = 3},
        {.nodes = 5, .gpus_per_node = 1, .owners_per_gpu = 1, .procs_per_gpu = 3, .gpus_per_socket = 1}};
    const int64_t sizes_bytes[] = {1, 3000, 300000};
    pto_machine_t machine = completed(&summit);
    int compared = 0;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++)
            for (size_t b = 0; b < sizeof sizes_bytes / sizeof *sizes_bytes; b++)
                for (int split = 0; split < 2; split++)
                    compare_strategies(&machine, &counts[c], &layouts[l],
                                       split ? PTO_SPLIT_DESTINATIONS : PTO_SPLIT_BYTES, sizes_bytes[b],
                                       &compared);
    print_message("%d plans compared\n", compared);
    assert_true(compared > 300);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_messages_are_those_of_messages_one_by_one),
    };
    return cmocka_run_group_tests_name("prices of tables", tests, read_machine, free_machine);
}
