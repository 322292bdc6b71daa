/* Counting messages per level: the closed-form counts must equal those of walking every rank. */
#include "../chance.h"
#include "must.h"
#include "portolan/strategy.h"
#include "price/traffic.h"
#include "test.h"

/* What walking finds: the mixes that occur, and the messages of one group that leave the busiest node. */
static void walk_step(const pto_plan_t *plan, const pto_step_t *step, int64_t k, int64_t core,
                      pto_traffic_t *found, bool *too_many) {
    const pto_layout_t *layout = &plan->request.layout;
    pto_group_kind_t kind = pto_plan_group(plan, step->group)->kind;
    bool a_group_a_gpu = kind == PTO_GROUP_RAIL,
         of_all_cores = (pto_group_traits[kind].index & PTO_BY_CORE) && !pto_group_is_on_gpu(kind);
    int64_t *leaving = calloc((size_t)layout->nodes, sizeof *leaving);
    found->mix_count = 0;
    found->off_per_node = 0;
    for (int64_t rank = 0; rank < pto_layout_rank_count(layout); rank++) {
        pto_action_t action;
        if ((!of_all_cores && rank % layout->procs_per_gpu != core) ||
            !pto_step_acts(plan, step, rank, k, &action))
            continue;
        pto_mix_t mix = {{0}};
        for (int64_t j = 0; j < pto_step_peer_count(plan, &action); j++)
            if (pto_step_peer(plan, j, &action))
                mix.messages[pto_layout_level(layout, pto_layout_rank(layout, rank),
                                              pto_layout_rank(layout, action.peer_rank))]++;
        int64_t node = pto_layout_rank(layout, rank).node;
        if (!a_group_a_gpu || pto_layout_rank(layout, rank).gpu == 0)
            leaving[node] += mix.messages[PTO_LEVEL_OFF_NODE];
        if (leaving[node] > found->off_per_node)
            found->off_per_node = leaving[node];
        bool known = false;
        for (int i = 0; i < found->mix_count; i++)
            known = known || memcmp(&found->mix[i], &mix, sizeof mix) == 0;
        *too_many = *too_many || (!known && found->mix_count == PTO_MIX_MAX);
        if (!known && found->mix_count < PTO_MIX_MAX)
            found->mix[found->mix_count++] = mix;
    }
    free(leaving);
}

static bool has_mix(const pto_traffic_t *traffic, const pto_mix_t *mix) {
    for (int i = 0; i < traffic->mix_count; i++)
        if (memcmp(&traffic->mix[i], mix, sizeof *mix) == 0)
            return true;
    return false;
}

static int64_t messages_of(const pto_mix_t *mix) {
    return mix->messages[0] + mix->messages[1] + mix->messages[2] + mix->messages[3];
}

static int compared;

/* Of all steps and layouts in turn: what a new cache would count. */
static pto_traffic_cache_t kept;

static void compare_with_kept(const pto_plan_t *plan, const pto_step_t *step, int64_t k, int64_t core,
                              const pto_traffic_t *counted) {
    const pto_traffic_t *again = pto_traffic_count(plan, step, k, core, &kept);
    assert_int_equal(again->off_per_node, counted->off_per_node);
    assert_int_equal(again->mix_count, counted->mix_count);
    for (int i = 0; i < again->mix_count; i++)
        assert_memory_equal(&again->mix[i], &counted->mix[i], sizeof again->mix[i]);
}

static void compare_step(const pto_plan_t *plan, const pto_step_t *step, int64_t k, int64_t core) {
    pto_traffic_t walked;
    bool too_many = false;
    pto_traffic_cache_t cache;
    pto_traffic_cache_init(&cache);
    walk_step(plan, step, k, core, &walked, &too_many);
    const pto_traffic_t *counted = pto_traffic_count(plan, step, k, core, &cache);
    assert_ptr_equal(pto_traffic_count(plan, step, k, core, &cache), counted);
    compare_with_kept(plan, step, k, core, counted);
    if (too_many || walked.mix_count == 0)
        return;
    assert_int_equal(counted->off_per_node, walked.off_per_node);
    for (int i = 0; i < walked.mix_count; i++)
        if (messages_of(&walked.mix[i]) > 0)
            assert_true(has_mix(counted, &walked.mix[i]));
    for (int i = 0; i < counted->mix_count; i++)
        assert_true(messages_of(&counted->mix[i]) == 0 || has_mix(&walked, &counted->mix[i]));
    compared++;
}

static void compare_plan(const pto_request_t *request) {
    pto_plan_t *plan = NULL;
    if (pto_plan_create(request, &plan, NULL) != PTO_OK)
        return;
    pto_walk_t walk;
    pto_walk_begin(&walk, plan);
    while (pto_walk_next(&walk))
        for (int i = 0; i < walk.stage->step_count; i++) {
            const pto_step_t *step = pto_plan_step(plan, walk.stage->step_first + i);
            if (step->kind == PTO_STEP_SEND || step->kind == PTO_STEP_RECV)
                for (int64_t core = step->core_first; core < step->core_first + step->core_count; core++)
                    compare_step(plan, step, walk.k, core);
        }
    pto_plan_destroy(plan);
}

static void compare_layout(int64_t nodes, int64_t gpus, int64_t owners, int64_t cores,
                           int64_t gpus_per_socket, pto_split_t split) {
    pto_request_t request = {.layout = {nodes, gpus, owners, cores, gpus_per_socket, false},
                             .split = split,
                             .datatype = PTO_DATATYPE_FLOAT,
                             .bytes = 4096,
                             .messages = 5};
    for (int at = 0; next_request(&request, &at);)
        if (pto_strategy_applicable(&request, NULL) == PTO_OK)
            compare_plan(&request);
}

TEST(counting_equals_walking) {
    for (int64_t nodes = 1; nodes <= 6; nodes++)
        for (int64_t gpus = 1; gpus <= 6; gpus++) {
            compare_layout(nodes, gpus, 1, 1, 2, PTO_SPLIT_BYTES);
            compare_layout(nodes, gpus, 1, 3, 3, PTO_SPLIT_DESTINATIONS);
            compare_layout(nodes, gpus, 2, 2, 2, PTO_SPLIT_BYTES);
        }
    assert_true(compared > 5000);
}

/* Beyond the size that is counted member by member: windows must find all that walking finds. */
TEST(large_groups_are_counted_by_windows) {
    /* nodes, GPUs of a node, and owners of a GPU; on 52 nodes, only the end of the folded part has some
     * counts */
    const int64_t shape[][3] = {{51, 6, 1},  {300, 1, 1}, {67, 5, 1}, {100, 3, 1}, {43, 7, 1}, {52, 12, 1},
                                {33, 12, 1}, {128, 4, 1}, {87, 6, 1}, {44, 3, 2},  {29, 3, 3}};
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
        for (int a = 0; a < pto_algorithm_count(); a++)
            for (int c = 0; c < PTO_COLLECTIVE_COUNT; c++) {
                pto_request_t request = {
                    .layout = {shape[i][0], shape[i][1], shape[i][2], shape[i][2], 3, false},
                    .collective = (pto_collective_t)c,
                    .datatype = PTO_DATATYPE_FLOAT,
                    .bytes = 65536,
                    .messages = 5,
                    .strategy = pto_strategy_at(0),
                    .algorithm = pto_algorithm_at(a)};
                if (pto_strategy_applicable(&request, NULL) == PTO_OK)
                    compare_plan(&request);
            }
}

/* From or to one member by its index, from all to all, or from all to those at some distances. */
static pto_step_t step_at_random(const pto_plan_t *plan, int group) {
    int64_t size = pto_group_at(plan, group)->size, stride = 1 + below(3);
    int64_t first = below(size), until = first + 1 + below(size - first), one = below(size);
    pto_step_t step = {.kind = PTO_STEP_SEND,
                       .group = group,
                       .core_count = plan->request.layout.procs_per_gpu,
                       .who_first = pto_constant(0),
                       .who_stride = pto_constant(1),
                       .who_until = pto_constant(size),
                       .peers = {.kind = PTO_PEERS_INDEX,
                                 .sign = 1,
                                 .first = pto_constant(first),
                                 .stride = pto_constant(stride),
                                 .until = pto_constant(until)}};
    switch (below(4)) {
    case 0: /* from one */
        step.who_first = pto_constant(one);
        step.who_until = pto_constant(one + 1);
        break;
    case 1: /* from some to one */
        step.who_first = step.peers.first;
        step.who_stride = step.peers.stride;
        step.who_until = step.peers.until;
        step.peers.first = pto_constant(one);
        step.peers.until = pto_constant(one + 1);
        break;
    case 2:
        step.peers = (pto_peers_t){.kind = PTO_PEERS_INDEX,
                                   .sign = 1,
                                   .first = pto_constant(0),
                                   .stride = pto_constant(1),
                                   .until = pto_constant(size)};
        break;
    default:
        step.peers.kind = PTO_PEERS_SHIFT;
        step.peers.first = pto_constant(first + 1);
        step.peers.until = pto_constant(until + 1);
        step.peers.sign = below(2) == 0 ? 1 : -1;
    }
    return step;
}

/* Other steps than those of the strategies: of each group of a plan whose members are not folded. */
TEST(steps_at_random_are_counted_as_walked) {
    static const char *const route[][2] = {{"cuda_aware", "pairwise"},
                                           {"dup_devptr", "pairwise"},
                                           {"three_step", "node_aware"},
                                           {"node_leaders", "pairwise"}};
    chance_state = 1;
    compared = 0;
    for (int i = 0; i < 400; i++) {
        int64_t owners = 1 + below(3);
        pto_request_t request = {.layout = {1 + below(4), 1 + below(5), owners, owners, 1 + below(3), false},
                                 .collective = PTO_COLLECTIVE_ALLTOALL,
                                 .datatype = PTO_DATATYPE_FLOAT,
                                 .bytes = 64};
        const char *const *names = route[below(4)];
        pto_plan_t *plan = NULL;
        if (below(2) == 0) {
            request.layout.owners_per_gpu = 1;
            request.layout.procs_per_gpu = 1 + below(4);
        }
        if (pto_strategy_find(names[0], &request.strategy, NULL) != PTO_OK ||
            pto_algorithm_find(names[1], request.collective, &request.algorithm, NULL) != PTO_OK ||
            pto_plan_create(&request, &plan, NULL) != PTO_OK)
            continue;
        for (int group = 0; group < plan->groups.count; group++)
            for (int n = 0; n < 10 && pto_group_at(plan, group)->fold == 0; n++) {
                pto_step_t step = step_at_random(plan, group);
                for (int64_t core = 0; core < step.core_count; core++)
                    compare_step(plan, &step, 0, core);
            }
        pto_plan_destroy(plan);
    }
    assert_true(compared > 5000);
}

/* A node of a million GPUs: what looks at them two by two, or at each in each round, does not end. */
TEST(counting_needs_no_walk_over_pairs_of_gpus) {
    const char *const algorithm[] = {"linear", "pairwise"};
    const int64_t gpus = 1 << 20;
    for (size_t i = 0; i < 2; i++) {
        pto_request_t request = {.layout = {2, gpus, 1, 1, gpus / 2, false},
                                 .collective = PTO_COLLECTIVE_ALLTOALL,
                                 .datatype = PTO_DATATYPE_FLOAT,
                                 .bytes = 8};
        carry_out_by(&request, "cuda_aware", algorithm[i]);
        pto_plan_t *plan = must_plan(&request);
        pto_traffic_cache_t cache;
        pto_traffic_cache_init(&cache);
        pto_walk_t walk;
        pto_walk_begin(&walk, plan);
        for (int64_t rounds = 0; rounds < 1000000 && pto_walk_next(&walk);)
            for (int s = 0; s < walk.stage->step_count; s++) {
                const pto_step_t *step = pto_plan_step(plan, walk.stage->step_first + s);
                if (step->kind != PTO_STEP_SEND)
                    continue;
                int64_t leaving = pto_traffic_count(plan, step, walk.k, 0, &cache)->off_per_node;
                assert_int_equal(leaving, i == 0 ? gpus * gpus : walk.k);
                rounds++;
            }
    }
}
