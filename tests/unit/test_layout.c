/* Ranks and their nodes, GPUs and cores. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "portolan/scenario.h"

typedef void (*with_layout_t)(const pto_layout_t *layout);

static void for_small_layouts(with_layout_t visit) {
    for (int64_t nodes = 1; nodes <= 3; nodes++)
        for (int64_t gpus = 1; gpus <= 5; gpus++)
            for (int64_t cores = 1; cores <= 4; cores++)
                for (int64_t per_socket = 1; per_socket <= 6; per_socket++)
                    visit(&(pto_layout_t){.nodes = nodes,
                                          .gpus_per_node = gpus,
                                          .owners_per_gpu = 1,
                                          .procs_per_gpu = cores,
                                          .gpus_per_socket = per_socket});
}

static void check_round_trip(const pto_layout_t *layout) {
    assert_int_equal(pto_layout_check(layout, NULL), PTO_OK);
    for (int64_t number = 0; number < pto_layout_rank_count(layout); number++) {
        pto_rank_t rank = pto_layout_rank(layout, number);
        assert_in_range(rank.node, 0, layout->nodes - 1);
        assert_in_range(rank.gpu, 0, layout->gpus_per_node - 1);
        assert_in_range(rank.core, 0, layout->procs_per_gpu - 1);
        assert_int_equal(pto_layout_number(layout, rank), number);
    }
}

static void numbers_and_ranks_are_each_others_inverse(void **state) { for_small_layouts(check_round_trip); }

static void check_levels(const pto_layout_t *layout) {
    int64_t count = pto_layout_rank_count(layout);
    for (int64_t i = 0; i < count; i++) {
        pto_rank_t a = pto_layout_rank(layout, i);
        assert_int_equal(pto_layout_level(layout, a, a), PTO_LEVEL_ON_GPU);
        for (int64_t j = 0; j < count; j++) {
            pto_rank_t b = pto_layout_rank(layout, j);
            pto_level_t level = pto_layout_level(layout, a, b);
            assert_int_equal(level, pto_layout_level(layout, b, a));
            assert_int_equal(level == PTO_LEVEL_OFF_NODE, a.node != b.node);
            assert_int_equal(level == PTO_LEVEL_ON_GPU, a.node == b.node && a.gpu == b.gpu);
        }
    }
}

static void levels_are_symmetric(void **state) { for_small_layouts(check_levels); }

static void sockets_hold_consecutive_gpus(void **state) {
    const pto_layout_t layout = {1, 6, 1, 1, 3, false};
    const pto_rank_t first = {0, 0, 0};
    assert_int_equal(pto_layout_level(&layout, first, (pto_rank_t){0, 2, 0}), PTO_LEVEL_ON_SOCKET);
    assert_int_equal(pto_layout_level(&layout, first, (pto_rank_t){0, 3, 0}), PTO_LEVEL_ON_NODE);
    assert_int_equal(pto_layout_level(&layout, (pto_rank_t){0, 3, 0}, (pto_rank_t){0, 5, 0}),
                     PTO_LEVEL_ON_SOCKET);
}

static void ranks_are_numbered_node_by_node(void **state) {
    const pto_layout_t layout = {4, 3, 1, 2, 2, false};
    const pto_rank_t rank = pto_layout_rank(&layout, 6 + 2 * 2 + 1);
    assert_int_equal(rank.node, 1);
    assert_int_equal(rank.gpu, 2);
    assert_int_equal(rank.core, 1);
    assert_int_equal(pto_layout_rank_count(&layout), 24);
    assert_int_equal(pto_layout_owner_count(&layout), 12);
}

static void impossible_layouts_are_refused(void **state) {
    const struct {
        pto_layout_t layout;
        const char *words;
    } bad[] = {
        {{0, 1, 1, 1, 1, false}, "nodes must be 1"},
        {{-5, 1, 1, 1, 1, false}, "not -5"},
        {{1, 0, 1, 1, 1, false}, "gpus_per_node must be 1"},
        {{1, 1, 0, 1, 1, false}, "owners_per_gpu must be 1"},
        {{1, 1, 1, 0, 1, false}, "procs_per_gpu must be 1"},
        {{1, 1, 1, 1, 0, false}, "gpus_per_socket must be 1"},
        {{1, 1, 3, 2, 1, false}, "more than procs_per_gpu 2"},
        {{INT64_MAX, 2, 1, 1, 1, false}, "more processes than"},
        {{1, INT64_MAX, 1, 2, 1, false}, "more processes than"},
        {{INT64_C(1) << 31, INT64_C(1) << 31, 1, 4, 1, false}, "more processes than"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pto_error_t err;
        assert_int_equal(pto_layout_check(&bad[i].layout, &err), PTO_ERR_RANGE);
        assert_non_null(strstr(err.message, bad[i].words));
    }
}

static void a_million_gpus_can_be_priced(void **state) {
    const pto_layout_t layout = {174763, 6, 1, 6, 3, false};
    assert_int_equal(pto_layout_check(&layout, NULL), PTO_OK);
    int64_t last = pto_layout_rank_count(&layout) - 1;
    assert_int_equal(pto_layout_number(&layout, pto_layout_rank(&layout, last)), last);
    assert_int_equal(pto_layout_owner_count(&layout), 1048578);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_ranks_are_each_others_inverse),
        cmocka_unit_test(levels_are_symmetric),
        cmocka_unit_test(sockets_hold_consecutive_gpus),
        cmocka_unit_test(ranks_are_numbered_node_by_node),
        cmocka_unit_test(impossible_layouts_are_refused),
        cmocka_unit_test(a_million_gpus_can_be_priced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
