/* Ranks and their nodes, GPUs and cores. */
#include "portolan/scenario.h"
#include "test.h"

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

TEST(numbers_and_ranks_are_each_others_inverse) { for_small_layouts(check_round_trip); }

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

TEST(levels_are_symmetric) { for_small_layouts(check_levels); }

TEST(sockets_hold_consecutive_gpus) {
    const pto_layout_t layout = {1, 6, 1, 1, 3, false};
    const pto_rank_t first = {0, 0, 0};
    assert_int_equal(pto_layout_level(&layout, first, (pto_rank_t){0, 2, 0}), PTO_LEVEL_ON_SOCKET);
    assert_int_equal(pto_layout_level(&layout, first, (pto_rank_t){0, 3, 0}), PTO_LEVEL_ON_NODE);
    assert_int_equal(pto_layout_level(&layout, (pto_rank_t){0, 3, 0}, (pto_rank_t){0, 5, 0}),
                     PTO_LEVEL_ON_SOCKET);
}

TEST(ranks_are_numbered_node_by_node) {
    const pto_layout_t layout = {4, 3, 1, 2, 2, false};
    const pto_rank_t rank = pto_layout_rank(&layout, 6 + 2 * 2 + 1);
    assert_int_equal(rank.node, 1);
    assert_int_equal(rank.gpu, 2);
    assert_int_equal(rank.core, 1);
    assert_int_equal(pto_layout_rank_count(&layout), 24);
    assert_int_equal(pto_layout_owner_count(&layout), 12);
}

TEST(impossible_layouts_are_refused) {
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

TEST(a_million_gpus_can_be_priced) {
    const pto_layout_t layout = {174763, 6, 1, 6, 3, false};
    assert_int_equal(pto_layout_check(&layout, NULL), PTO_OK);
    int64_t last = pto_layout_rank_count(&layout) - 1;
    assert_int_equal(pto_layout_number(&layout, pto_layout_rank(&layout, last)), last);
    assert_int_equal(pto_layout_owner_count(&layout), 1048578);
}
