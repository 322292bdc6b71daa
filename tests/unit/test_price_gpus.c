/* GPUs of a node that do the same are priced once (model/src/price/gpus.c). Prices, their addends, what plans
 * occupy and why plans are refused are the same, to the last bit, as with every GPU priced. */
#include "../chance.h"
#include "made_up.h"
#include "must.h"
#include "portolan/price.h"
#include "portolan/strategy.h"
#include "price/pricing.h"
#include "priced.h"
#include "sample.h"
#include "test.h"

/* --- by one GPU and by all ------------------------------------------------------------------------------ */

typedef struct {
    int64_t priced;
    int64_t fewer; /* with fewer visits */
    int64_t visits;
    int64_t all_visits; /* with every GPU priced */
} compared_t;

typedef struct {
    pto_status_t status;
    pto_error_t err;
    pto_price_t price;
    pto_explanation_t explanation;
    int64_t visits;
} outcome_t;

/* To the last bit. */
static bool same(double a, double b) {
    uint64_t bits[2];
    memcpy(&bits[0], &a, sizeof a);
    memcpy(&bits[1], &b, sizeof b);
    return bits[0] == bits[1];
}

static bool same_terms(const pto_explanation_t *a, const pto_explanation_t *b) {
    bool alike = a->count == b->count;
    for (int i = 0; alike && i < a->count; i++)
        alike = strcmp(a->term[i].key, b->term[i].key) == 0 && same(a->term[i].count, b->term[i].count) &&
                same(a->term[i].seconds, b->term[i].seconds);
    for (int i = 0; i < PTO_OCCUPIED_COUNT; i++)
        alike = alike && same(a->occupied_s[i], b->occupied_s[i]);
    return alike;
}

static outcome_t price_by(bool each_gpu, const pto_plan_t *plan, const pto_machine_t *machine) {
    outcome_t outcome = {0};
    pto_price_each_gpu = each_gpu;
    pto_price_visits = 0;
    outcome.status = pto_price(plan, machine, &outcome.price, &outcome.explanation, &outcome.err);
    outcome.visits = pto_price_visits;
    pto_price_each_gpu = false;
    return outcome;
}

static void compare(const pto_plan_t *plan, const pto_machine_t *machine, compared_t *compared) {
    const pto_request_t *request = pto_plan_request(plan);
    outcome_t one = price_by(false, plan, machine), all = price_by(true, plan, machine);
    assert_int_equal(one.status, all.status);
    if (one.status != PTO_OK) {
        assert_string_equal(one.err.message, all.err.message);
        return;
    }
    pto_price_t plain = must_price(plan, machine);
    if (!same(one.price.seconds, all.price.seconds) || !same(plain.seconds, all.price.seconds) ||
        !same_terms(&one.explanation, &all.explanation))
        fail_msg(
            "%s of %lld bytes by %s with %s on %lld nodes of %lld GPUs of %s, %lld processes each: %.17g "
            "s and %.17g s, each GPU priced: %.17g s",
            pto_collective_name(request->collective), (long long)request->bytes, request->strategy->name,
            request->algorithm->name, (long long)request->layout.nodes,
            (long long)request->layout.gpus_per_node, machine->name, (long long)request->layout.procs_per_gpu,
            one.price.seconds, plain.seconds, all.price.seconds);
    compared->priced++;
    compared->fewer += one.visits < all.visits;
    compared->visits += one.visits;
    compared->all_visits += all.visits;
    pto_explanation_fini(&one.explanation);
    pto_explanation_fini(&all.explanation);
}

static void print(size_t machine, const compared_t *compared) {
    print_message("machine %zu: %lld of %lld plans with fewer visits, %.2f of all\n", machine,
                  (long long)compared->fewer, (long long)compared->priced,
                  (double)compared->visits / (double)compared->all_visits);
}

/* Nodes of one socket and of several, whole and not. */
static const pto_layout_t layouts[] = {
    {.nodes = 1, .gpus_per_node = 16, .owners_per_gpu = 1, .procs_per_gpu = 1, .gpus_per_socket = 16},
    {.nodes = 1, .gpus_per_node = 9, .owners_per_gpu = 1, .procs_per_gpu = 1, .gpus_per_socket = 5},
    {.nodes = 1, .gpus_per_node = 12, .owners_per_gpu = 2, .procs_per_gpu = 3, .gpus_per_socket = 6},
    {.nodes = 1, .gpus_per_node = 5, .owners_per_gpu = 3, .procs_per_gpu = 3, .gpus_per_socket = 5},
    {.nodes = 3, .gpus_per_node = 12, .owners_per_gpu = 1, .procs_per_gpu = 2, .gpus_per_socket = 6},
    {.nodes = 4, .gpus_per_node = 4, .owners_per_gpu = 2, .procs_per_gpu = 2, .gpus_per_socket = 4},
};

/* With shares that are alike, of two sizes, of three, and some of them empty. */
static const int64_t sizes[] = {1 << 20, 100000, 4 * 1001, 16};

/* A sample of these. */
static void compare_requests(pto_request_t request, const pto_machine_t *machine, compared_t *compared) {
    for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++)
        for (size_t b = 0; b < sizeof sizes / sizeof *sizes; b++)
            for (int how = 0; how < 4; how++) {
                static int seen;
                pto_plan_t *plan = NULL;
                if (seen++ % test_sample() != 0)
                    continue;
                request.layout = layouts[l];
                request.bytes = sizes[b];
                request.in_place = how % 2;
                request.by_library = how % 2;
                request.chunks = how < 2 ? 0 : 5;
                request.segment_bytes = how < 2 ? 0 : 4096;
                if (pto_plan_create(&request, &plan, NULL) != PTO_OK)
                    continue;
                compare(plan, machine, compared);
                pto_plan_destroy(plan);
            }
}

static compared_t compare_all(const pto_machine_t *machine) {
    compared_t compared = {0};
    pto_request_t request = {.datatype = PTO_DATATYPE_FLOAT, .messages = 4};
    for (int at = 0; next_request(&request, &at);)
        if (request.collective != PTO_COLLECTIVE_HALO &&
            request.algorithm->collectives & request.strategy->collectives & 1u << request.collective)
            compare_requests(request, machine, &compared);
    return compared;
}

/* Copies of several processes of a GPU wait for each other, and what they cost depends on what their process
 * did before. */
static pto_machine_t with_queues(const pto_machine_t *known, pto_cost_row_t *row) {
    pto_machine_t machine = *known;
    for (int kind = 0; kind < PTO_COPY_COUNT; kind++)
        machine.queued_copy_s[kind] = (pto_param_t){.value = 3e-6, .line = 1};
    machine.event_s = (pto_param_t){.value = 5e-6, .line = 1};
    machine.both_ways[PTO_SPACE_CPU] = (pto_param_t){.value = 0.4, .line = 1};
    *row = (pto_cost_row_t){.procs = 2, .below_bytes = INT64_MAX};
    row->postal = machine.copies[PTO_COPY_H2D][PTO_REACH_ON_SOCKET];
    row->postal.alpha_s.value *= 2;
    machine.shared_copies[PTO_COPY_H2D] = (pto_cost_table_t){.count = 1, .row = row};
    machine.shared_copies[PTO_COPY_D2H] = machine.shared_copies[PTO_COPY_H2D];
    return machine;
}

/* Between sockets copies cost the same as within one, and so do loads. */
static pto_machine_t with_one_reach(const pto_machine_t *known) {
    pto_machine_t machine = *known;
    machine.peer[PTO_REACH_OFF_SOCKET] = (pto_postal_t){0};
    machine.remote[PTO_REMOTE_LOAD][PTO_REACH_OFF_SOCKET] = (pto_postal_t){0};
    return machine;
}

TEST(one_gpu_costs_what_each_would) {
    pto_cost_row_t row;
    pto_machine_t summit = must_read("scenarios/machines/summit-spectrum.yaml");
    pto_machine_t dgx = must_read("scenarios/machines/dgx-h100.yaml");
    pto_machine_t h200 = must_read("scenarios/machines/h200-x4.yaml");
    pto_machine_t whole = completed(&summit), one_reach = with_one_reach(&whole);
    pto_machine_t queues = with_queues(&whole, &row);
    const pto_machine_t *const machines[] = {&dgx, &h200, &whole, &one_reach, &queues};
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        compared_t compared = compare_all(machines[i]);
        print(i, &compared);
        assert_true(compared.priced > 500 / test_sample());
        assert_true(compared.fewer > 1000 / test_sample());
    }
}

/* --- made-up plans -------------------------------------------------------------------------------------- */

/* Strategies use a few of the steps that a plan may have. These plans have any, in any order: they move
 * nothing useful, but they have a price. Most steps are those of all GPUs, so that many plans have GPUs that
 * are alike. */

static pto_group_kind_t any_group(void) {
    static const pto_group_kind_t kinds[] = {
        PTO_GROUP_NODE_OWNERS, PTO_GROUP_NODE_OWNERS, PTO_GROUP_OWNERS, PTO_GROUP_NODE,   PTO_GROUP_CORES,
        PTO_GROUP_NODE_OWNERS, PTO_GROUP_GPU,         PTO_GROUP_RAIL,   PTO_GROUP_LEADERS};
    return kinds[below(sizeof kinds / sizeof *kinds)];
}

/* A group, in a few cases folded to a power of two. */
static int build_any_group(pto_builder_t *builder) {
    pto_group_kind_t kind = any_group();
    int64_t members = pto_group_shape(&pto_builder_request(builder)->layout, kind).size, power = 1;
    while (2 * power <= members)
        power *= 2;
    return pto_build_group(builder, kind, one_in(12) ? members - power : 0);
}

static int any_buffer(pto_builder_t *builder) {
    static const int64_t bytes[] = {1 << 16, 16 * 8 * 7 * 6 * 5, 16 * 8 * 7 * 6 * 5 + 4, 40004, 64, 0};
    pto_buffer_t buffer = {.name = "made up",
                           .role = one_in(3)   ? PTO_ROLE_IN
                                   : one_in(2) ? PTO_ROLE_OUT
                                               : PTO_ROLE_TEMPORARY,
                           .space = one_in(12) ? PTO_SPACE_CPU : PTO_SPACE_GPU,
                           .core_count = pto_builder_request(builder)->layout.procs_per_gpu,
                           .group = any_group(),
                           .blocks = one_in(6) ? PTO_BLOCKS_SHARE : PTO_BLOCKS_EQUAL,
                           .block_count = one_in(2) ? 1 : 1 + below(9),
                           .block_bytes = bytes[below(sizeof bytes / sizeof *bytes)],
                           .granularity_bytes = one_in(2) ? 16 : 1};
    if (buffer.blocks == PTO_BLOCKS_SHARE) /* of a group of all processes: each has one */
        buffer.group = one_in(3) ? PTO_GROUP_GPU : one_in(2) ? PTO_GROUP_NODE : PTO_GROUP_CORES;
    if (one_in(12))
        buffer.user_stride = 2;
    if (one_in(12))
        buffer.held_stride = 2;
    if (one_in(6))
        buffer.split = buffer.core_count;
    if (one_in(20) && buffer.blocks == PTO_BLOCKS_EQUAL) {
        buffer.cyclic = PTO_CYCLIC_FORWARD;
        buffer.cyclic_count = buffer.core_count;
    }
    return pto_build_buffer(builder, buffer);
}

static pto_peers_t any_peers(int64_t members) {
    pto_peers_t peers = {.kind = PTO_PEERS_SHIFT,
                         .first = pto_constant(one_in(3) ? 0 : 1),
                         .stride = pto_constant(1),
                         .until = pto_constant(members),
                         .sign = one_in(4) ? -1 : 1};
    switch (below(8)) {
    case 0:
        return (pto_peers_t){.kind = PTO_PEERS_NONE};
    case 1:
        return pto_peers_at(pto_loop_index(below(2), 1 + below(3)), one_in(2) ? 1 : -1);
    case 2:
        peers.kind = PTO_PEERS_INDEX;
        peers.first = pto_constant(one_in(2) ? 0 : below(members));
        peers.until = pto_constant(peers.first.constant + 1);
        break;
    case 3:
        peers.kind = PTO_PEERS_INDEX;
        peers.first = pto_constant(below(members));
        peers.stride = pto_constant(one_in(4) ? 2 : 1);
        break;
    case 4:
        if ((members & (members - 1)) == 0 && one_in(4)) {
            peers.kind = PTO_PEERS_XOR;
            peers.first = pto_constant(members / 2);
        }
        break;
    default:
        break;
    }
    return peers;
}

/* All members, or some. */
static void choose_members(pto_step_t *step, int64_t members) {
    step->who_first = pto_constant(0);
    step->who_stride = pto_constant(1);
    step->who_until = pto_constant(members);
    if (one_in(6))
        step->who_first = pto_constant(below(members));
    else if (one_in(6))
        step->who_until = pto_constant(one_in(2) ? 1 : 1 + below(members));
    else if (one_in(20))
        step->who_first = pto_loop_index(1, 0);
    if (one_in(20))
        step->who_stride = pto_constant(2);
}

static pto_slice_t any_slice(const pto_builder_t *builder, int buffer, int64_t members) {
    static const pto_anchor_t anchors[] = {PTO_ANCHOR_ME, PTO_ANCHOR_PEER, PTO_ANCHOR_ABSOLUTE,
                                           PTO_ANCHOR_HOLDER, PTO_ANCHOR_ORDINAL};
    pto_anchor_t anchor = anchors[below(sizeof anchors / sizeof *anchors)];
    pto_slice_t slice = pto_slice_block(buffer, anchor);
    if (one_in(3))
        slice = pto_slice_all(builder, buffer);
    else if (one_in(2))
        slice = pto_slice_part(buffer, one_in(4) ? 1 + below(9) : members, anchor,
                               one_in(5) ? pto_loop_index(below(2), below(3)) : pto_constant(0));
    if (one_in(20))
        slice.until.peer = 1;
    if (one_in(20))
        slice.reversed = true;
    if (one_in(20) && pto_builder_buffer(builder, buffer)->block_count > 2 && slice.parts == 0)
        slice.fold = 1;
    if (one_in(8)) {
        slice.share = PTO_SHARE_MINE;
        slice.share_count = pto_builder_request(builder)->layout.procs_per_gpu;
    }
    return slice;
}

/* All of the user's input to all of its output, which in place is nothing where both are the user's. */
static void copy_input(pto_builder_t *builder, pto_step_t *step) {
    pto_buffer_t buffer = *pto_builder_buffer(builder, any_buffer(builder));
    buffer.role = PTO_ROLE_IN;
    buffer.user_stride = 0;
    step->source = pto_slice_all(builder, pto_build_buffer(builder, buffer));
    buffer.role = PTO_ROLE_OUT;
    buffer.user_stride = one_in(2) ? 2 : 0;
    step->target = pto_slice_all(builder, pto_build_buffer(builder, buffer));
    step->peers = (pto_peers_t){.kind = PTO_PEERS_NONE};
}

static pto_step_t any_step(pto_builder_t *builder, pto_step_kind_t kind, int group) {
    int64_t members = pto_builder_group(builder, group)->size;
    const pto_layout_t *layout = &pto_builder_request(builder)->layout;
    pto_step_t step = {.kind = kind,
                       .core_count = one_in(2) ? layout->procs_per_gpu : layout->owners_per_gpu,
                       .group = group,
                       .peers = any_peers(members),
                       .fresh = one_in(2)};
    choose_members(&step, members);
    step.source = any_slice(builder, any_buffer(builder), members);
    step.target = any_slice(builder, any_buffer(builder), members);
    if (one_in(12)) {
        copy_input(builder, &step);
        return step;
    }
    pto_slice_t *other = one_in(2) ? &step.source : &step.target;
    if (step.peers.kind != PTO_PEERS_NONE)
        other->holder = PTO_HOLDER_PEER;
    else if (one_in(4))
        other->holder = PTO_HOLDER_OWNER;
    return step;
}

enum { ROUNDS_MAX = 7 };

/* In each round another member, where there are as many. */
static pto_peers_t peers_in_turn(int64_t members) {
    int64_t first = members > ROUNDS_MAX ? below(members - ROUNDS_MAX) : 0;
    int64_t step = members > ROUNDS_MAX;
    pto_peers_t peers = {.kind = PTO_PEERS_INDEX,
                         .first = pto_loop_index(step, first),
                         .stride = pto_constant(1),
                         .until = pto_loop_index(step, first + 1),
                         .sign = 1};
    return peers;
}

/* A flag that all raise for all, or some for some, and that some wait for. */
static void build_flag(pto_builder_t *builder, int group) {
    int64_t members = pto_builder_group(builder, group)->size;
    pto_exchange_t who = {
        .group = group, .n = members, .core_count = pto_builder_request(builder)->layout.owners_per_gpu};
    pto_step_t signal = pto_step_of_all(PTO_STEP_SIGNAL, &who), wait = pto_step_of_all(PTO_STEP_WAIT, &who);
    if (one_in(4)) {
        signal = pto_step_of_root(PTO_STEP_SIGNAL, &who);
        wait = pto_step_of_others(PTO_STEP_WAIT, &who);
    } else if (one_in(4)) {
        signal = pto_step_of_others(PTO_STEP_SIGNAL, &who);
        wait = pto_step_of_root(PTO_STEP_WAIT, &who);
    } else if (one_in(4)) {
        signal.peers = pto_peers_at(pto_loop_index(below(2), 1), 1);
        wait.peers = signal.peers;
        wait.peers.sign = -1;
    } else if (one_in(4)) {
        signal.who_first = pto_constant(one_in(2) ? 0 : below(members));
        if (one_in(2))
            signal.who_until = pto_constant(signal.who_first.constant + 1);
        wait.who_until = pto_constant(one_in(2) ? members : 1 + below(4));
        *(one_in(3) ? &signal.peers : &wait.peers) = peers_in_turn(members);
    }
    signal.flag = wait.flag = pto_build_flag(builder, "made up");
    pto_build_stage(builder, "raise", PTO_ORDER_SEQUENCE);
    pto_build_step(builder, signal);
    pto_build_stage(builder, "wait", PTO_ORDER_SEQUENCE);
    pto_build_step(builder, wait);
}

static void build_messages(pto_builder_t *builder, int group) {
    int64_t members = pto_builder_group(builder, group)->size;
    pto_exchange_t who = {
        .group = group, .n = members, .core_count = pto_builder_request(builder)->layout.owners_per_gpu};
    pto_step_t send = pto_step_of(PTO_STEP_SEND, &who), receive = pto_step_of(PTO_STEP_RECV, &who);
    send.source = pto_slice_block(any_buffer(builder), PTO_ANCHOR_PEER);
    receive.target = pto_slice_block(any_buffer(builder), PTO_ANCHOR_PEER);
    send.peers = receive.peers = pto_peers_at(pto_constant(1), 1);
    receive.peers.sign = -1;
    pto_build_stage(builder, "messages", PTO_ORDER_AT_ONCE);
    pto_build_step(builder, send);
    pto_build_step(builder, receive);
}

static void build_stages(pto_builder_t *builder, bool in_kernel) {
    for (int64_t stages = 1 + below(3); stages > 0; stages--) {
        int group = build_any_group(builder);
        if (one_in(3)) {
            build_flag(builder, group);
        } else if (one_in(4) && !in_kernel) {
            build_messages(builder, group);
        } else {
            pto_build_stage(builder, "made up", PTO_ORDER_SEQUENCE);
            for (int64_t steps = 1 + below(2); steps > 0; steps--)
                pto_build_step(builder,
                               any_step(builder, one_in(3) ? PTO_STEP_REDUCE : PTO_STEP_COPY, group));
        }
    }
}

static void build_branches(pto_builder_t *builder) {
    pto_build_parallel(builder);
    for (int branch = 0; branch < 2; branch++) {
        pto_build_branch(builder);
        build_stages(builder, false);
        pto_build_end(builder);
    }
    pto_build_end(builder);
}

static void build_made_up(pto_builder_t *builder, const pto_request_t *request) {
    const pto_layout_t *layout = &request->layout;
    pto_exchange_t all = {.group = pto_build_group(builder, PTO_GROUP_NODE_OWNERS, 0),
                          .n = layout->gpus_per_node * layout->owners_per_gpu,
                          .core_count = layout->owners_per_gpu};
    for (int64_t parts = 1 + below(2); parts > 0; parts--) {
        int64_t where = below(8);
        if (where < 2)
            pto_build_kernel(builder, &all);
        else if (where < 4)
            pto_build_loop(builder, 0, 1 + below(ROUNDS_MAX), false);
        else if (where == 4)
            pto_build_pipeline(builder, 0, 1 + below(ROUNDS_MAX), 1 + below(3));
        if (where == 5)
            build_branches(builder);
        else
            build_stages(builder, where < 2);
        if (where < 5)
            pto_build_end(builder);
    }
}

static const pto_strategy_t made_up = {.name = "made_up",
                                       .summary = "any steps in any order",
                                       .collectives = 1u << PTO_COLLECTIVE_ALLREDUCE,
                                       .direct = true,
                                       .collective_space = PTO_SPACE_GPU,
                                       .build = build_made_up};

/* A plan on each of the machines. */
static void compare_made_up(int seed, const pto_machine_t *const *machines, size_t machine_count,
                            compared_t *compared) {
    pto_plan_t *plan;
    pto_request_t request = {.collective = PTO_COLLECTIVE_ALLREDUCE,
                             .datatype = PTO_DATATYPE_FLOAT,
                             .bytes = 4096,
                             .strategy = &made_up,
                             .algorithm = algorithm_named("direct", PTO_COLLECTIVE_ALLREDUCE)};
    chance_state = (uint64_t)seed;
    request.layout = layouts[below(sizeof layouts / sizeof *layouts)];
    request.in_place = one_in(3);
    if (pto_plan_create(&request, &plan, NULL) != PTO_OK)
        return;
    for (size_t i = 0; i < machine_count && pto_actors_of(plan) == PTO_ACTORS_PLACES; i++)
        compare(plan, machines[i], &compared[i]);
    pto_plan_destroy(plan);
}

TEST(any_steps_of_one_gpu_cost_what_those_of_each_would) {
    enum { MACHINES = 5, PLANS = 8000 };
    pto_cost_row_t row;
    pto_machine_t summit = must_read("scenarios/machines/summit-spectrum.yaml");
    pto_machine_t h200 = must_read("scenarios/machines/h200-x4.yaml");
    pto_machine_t k80 = must_read("tests/fixtures/k80.yaml");
    pto_machine_t whole = completed(&summit), one_reach = with_one_reach(&whole);
    pto_machine_t queues = with_queues(&whole, &row), links = whole, shared = whole;
    links.topology = k80.topology;
    shared.host_memory_s_per_byte = h200.host_memory_s_per_byte;
    assert_true(pto_param_known(&shared.host_memory_s_per_byte) && links.topology);
    const pto_machine_t *const machines[MACHINES] = {&whole, &one_reach, &queues, &links, &shared};
    compared_t compared[MACHINES] = {{0}};
    for (int seed = 1; seed <= PLANS; seed += test_sample())
        compare_made_up(seed, machines, MACHINES, compared);
    for (size_t i = 0; i < MACHINES; i++) {
        print(i, &compared[i]);
        assert_true(compared[i].priced > 5000 / test_sample());
        assert_true(compared[i].fewer > 500 / test_sample() || machines[i] == &links);
    }
}

/* --- those that reach a rank ---------------------------------------------------------------------------- */

/* The times that the rank is a peer in the step, of which `*of` are those of one acting rank. */
static int64_t count_reaching(const pto_plan_t *plan, const pto_step_t *step, int64_t rank, int64_t k,
                              int64_t acting, int64_t *of) {
    int64_t count = 0, next = 0;
    pto_action_t action;
    for (*of = 0; pto_step_next_reaching(plan, step, rank, k, &next, &action); count++) {
        assert_int_equal(action.peer_rank, rank);
        *of += action.rank == acting;
    }
    return count;
}

/* Returns the number of pairs. */
static int64_t compare_pairs(const pto_plan_t *plan, const pto_step_t *step, int64_t k) {
    int64_t ranks = pto_layout_rank_count(&pto_plan_request(plan)->layout), reached = 0, reaching = 0, of;
    for (int64_t rank = 0; rank < ranks; rank++) {
        pto_action_t action;
        reaching += count_reaching(plan, step, rank, k, -1, &of);
        if (step->peers.kind == PTO_PEERS_NONE || !pto_step_acts(plan, step, rank, k, &action))
            continue;
        for (int64_t next = 0; pto_step_next(plan, &next, &action); reached++) {
            count_reaching(plan, step, action.peer_rank, k, rank, &of);
            assert_int_equal(of, 1);
        }
    }
    assert_int_equal(reached, reaching);
    return reached;
}

TEST(the_ranks_that_reach_one_are_those_that_have_it_as_a_peer) {
    pto_request_t request = {.collective = PTO_COLLECTIVE_ALLREDUCE,
                             .datatype = PTO_DATATYPE_FLOAT,
                             .bytes = 4096,
                             .strategy = &made_up,
                             .algorithm = algorithm_named("direct", PTO_COLLECTIVE_ALLREDUCE)};
    int64_t pairs = 0;
    for (int seed = 1; seed <= 300; seed++) {
        pto_plan_t *plan;
        chance_state = (uint64_t)seed;
        request.layout = layouts[below(sizeof layouts / sizeof *layouts)];
        if (pto_plan_create(&request, &plan, NULL) != PTO_OK)
            continue;
        for (int i = 0; i < plan->steps.count; i++)
            pairs += compare_pairs(plan, pto_step_at(plan, i), seed % 3);
        pto_plan_destroy(plan);
    }
    assert_true(pairs > 10000);
}
