/* Checking plans: each kind of fault is found and named. test_mutations.c looks for faults that check
 * misses. */
#include "broken_plan.h"
#include "portolan/strategy.h"
#include "test.h"

/* --- good plans, and how to break them ------------------------------------------------------------------ */

static pto_request_t ask(pto_collective_t collective, const char *strategy, const char *algorithm) {
    pto_request_t request =
        request_on((pto_layout_t){2, 2, 1, 1, 2, false}, collective, strategy, algorithm, 32);
    request.messages = 3;
    return request;
}

static pto_plan_t *good(pto_collective_t collective, const char *strategy, const char *algorithm) {
    return plan_of(ask(collective, strategy, algorithm));
}

/* --- faults of messages --------------------------------------------------------------------------------- */

TEST(a_send_to_the_wrong_peer_is_named) {
    pto_plan_t *plan = good(PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "ring");
    step_in(plan, "round", PTO_STEP_SEND)->peers = pto_peers_at(pto_constant(2), 1);
    refused_for(plan, "rank 2, stage 'round', k=0: sends 8 bytes to rank 0, which does not receive them");
}

TEST(a_receive_without_a_send_is_named) {
    pto_plan_t *plan = good(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "pairwise");
    step_in(plan, "round", PTO_STEP_SEND)->core_count = 0;
    refused_for(plan, "rank 0, stage 'round', k=1: receives 32 bytes from rank 3, which does not send them");
}

TEST(a_receive_that_is_too_small_is_named) {
    pto_plan_t *plan = good(PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "recursive_doubling");
    pto_step_t *recv = step_in(plan, "exchange", PTO_STEP_RECV);
    recv->target = pto_slice_part(recv->target.buffer, 2, PTO_ANCHOR_ABSOLUTE, pto_constant(0));
    refused_for(plan, "rank 1, stage 'exchange', k=0: sends 32 bytes to rank 0, which receives 16");
}

TEST(messages_between_two_ranks_match_in_order) {
    pto_request_t request = ask(PTO_COLLECTIVE_MESSAGES, "cuda_aware", "point_to_point");
    request.layout.gpus_per_node = 1;
    request.messages = 2;
    pto_plan_t *plan = plan_of(request);
    step_in(plan, "all messages", PTO_STEP_RECV)->target.offset.constant = 1;
    refused_for(plan,
                "rank 1, the end of the collective: bytes 0..31 of 'out' hold member 0's bytes from 32 on, "
                "not member 0's bytes from 0 on");
}

TEST(messages_in_a_sequence_are_refused) {
    pto_plan_t *plan = good(PTO_COLLECTIVE_ALLTOALL, "three_step", "pairwise");
    stage_named(plan, "round")->order = PTO_ORDER_SEQUENCE;
    refused_for(plan, "stage 'round' has messages in a sequence, where they can block each other");
}

TEST(an_empty_message_that_only_one_side_sends_is_named) {
    pto_counts_t counts = {.kind = PTO_COUNTS_EQUAL};
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALLV, "cuda_aware", "pairwise");
    request.bytes = 0;
    request.counts = &counts;
    pto_plan_t *plan = plan_of(request);
    assert_int_equal(must_check(plan).messages, 12);
    step_in(plan, "round", PTO_STEP_RECV)->send_empty = false;
    refused_for(plan, "sends 0 bytes to rank 0, which does not receive them");
}

TEST(a_peer_outside_the_group_is_named) {
    pto_plan_t *plan = good(PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "recursive_doubling");
    step_in(plan, "exchange", PTO_STEP_SEND)->peers.first = pto_power(4);
    refused_for(plan, "names member 4 of a group of 4");
}

/* In any of a step's numbers, before an iteration of -1. */
TEST(a_power_out_of_range_is_named) {
    for (int i = 0; i < 2 * 12; i++) {
        pto_plan_t *plan = good(PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "ring");
        pto_step_t *step = step_in(plan, "round", PTO_STEP_SEND);
        pto_expr_t *const used[] = {&step->who_first,     &step->who_stride,    &step->who_until,
                                    &step->peers.first,   &step->peers.stride,  &step->peers.until,
                                    &step->source.offset, &step->source.align,  &step->source.first,
                                    &step->source.run,    &step->source.stride, &step->source.until};
        for (int n = 0; n < plan->nodes.count; n++) {
            pto_node_t *node = (pto_node_t *)plan->nodes.item + n;
            node->from = node->kind == PTO_NODE_LOOP ? -1 : node->from;
        }
        *(i % 2 ? &used[i / 2]->inverse : &used[i / 2]->power) = 1;
        refused_for(plan, "2^-1 is out of range");
    }
}

/* --- faults of contents --------------------------------------------------------------------------------- */

TEST(reducing_a_contribution_twice_is_named) {
    pto_plan_t *plan = good(PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "recursive_doubling");
    step_in(plan, "exchange", PTO_STEP_SEND)->peers.first = pto_constant(1);
    step_in(plan, "exchange", PTO_STEP_RECV)->peers.first = pto_constant(1);
    refused_for(plan,
                "rank 0, stage 'reduce', k=1: reduces member 0's contribution to bytes 0..31 of 'out' twice");
}

TEST(reducing_different_places_is_named) {
    pto_plan_t *plan = good(PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "recursive_doubling");
    pto_step_t *reduce = step_in(plan, "reduce", PTO_STEP_REDUCE);
    reduce->source = pto_slice_part(reduce->source.buffer, 2, PTO_ANCHOR_ABSOLUTE, pto_constant(1));
    reduce->target = pto_slice_part(reduce->target.buffer, 2, PTO_ANCHOR_ABSOLUTE, pto_constant(0));
    refused_for(plan, "reduces inputs' bytes from 16 on into those from 0 on");
    plan = good(PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "recursive_doubling");
    pto_step_t *send = step_in(plan, "exchange", PTO_STEP_SEND);
    pto_step_t *receive = step_in(plan, "exchange", PTO_STEP_RECV);
    reduce = step_in(plan, "reduce", PTO_STEP_REDUCE);
    send->source = pto_slice_part(send->source.buffer, 2, PTO_ANCHOR_ABSOLUTE, pto_constant(1));
    receive->target = pto_slice_part(receive->target.buffer, 2, PTO_ANCHOR_ABSOLUTE, pto_constant(0));
    reduce->source = pto_slice_part(send->source.buffer, 4, PTO_ANCHOR_ABSOLUTE, pto_constant(1));
    reduce->target = pto_slice_part(receive->target.buffer, 4, PTO_ANCHOR_ABSOLUTE, pto_constant(1));
    refused_for(plan, "reduces inputs' bytes from 8 on into those from 24 on");
}

static pto_slice_t some_bytes(int buffer, int64_t first, int64_t bytes) {
    pto_slice_t slice = pto_slice_block(buffer, PTO_ANCHOR_ABSOLUTE);
    slice.offset = pto_constant(first);
    slice.run = slice.stride = slice.until = pto_constant(bytes);
    return slice;
}

static int build_bytes(pto_builder_t *builder, const char *name, pto_role_t role, int64_t bytes) {
    return pto_build_buffer(builder, owners_blocks(name, role, bytes, 1));
}

enum { SHIFT = 3 };
static int64_t first_part;

/* Two owners exchange their vectors, which arrive SHIFT bytes from a buffer's begin, and are reduced in two
 * parts, of which the first has `first_part` bytes. */
static void build_shifted(pto_builder_t *builder, const pto_request_t *request) {
    int in = build_bytes(builder, "in", PTO_ROLE_IN, request->bytes);
    int out = build_bytes(builder, "out", PTO_ROLE_OUT, request->bytes);
    int arrived = build_bytes(builder, "arrived", PTO_ROLE_TEMPORARY, SHIFT + request->bytes);
    const pto_exchange_t who = owners_exchange(builder, 2);
    add_copy_stage(builder, "place input", pto_step_of(PTO_STEP_COPY, &who),
                   some_bytes(in, 0, request->bytes), some_bytes(out, 0, request->bytes));
    pto_build_messages(builder, &who, "exchange");
    pto_step_t send = pto_step_of_all(PTO_STEP_SEND, &who);
    send.source = some_bytes(in, 0, request->bytes);
    pto_build_step(builder, send);
    pto_step_t receive = pto_step_of_all(PTO_STEP_RECV, &who);
    receive.target = some_bytes(arrived, SHIFT, request->bytes);
    pto_build_step(builder, receive);
    pto_build_end_messages(builder);
    pto_build_stage(builder, "reduce", PTO_ORDER_SEQUENCE);
    for (int64_t part = 0; part < 2; part++) {
        int64_t first = part * first_part, bytes = part == 0 ? first_part : request->bytes - first_part;
        add_copy(builder, pto_step_of(PTO_STEP_REDUCE, &who), some_bytes(arrived, SHIFT + first, bytes),
                 some_bytes(out, first, bytes));
    }
}

/* An element is whole by its place in the inputs, not in the buffer that holds it. */
TEST(elements_that_are_cut_are_named) {
    pto_request_t request = ask(PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "ring");
    request.layout = (pto_layout_t){1, 2, 1, 1, 2, false};
    request.strategy = strategy_made_of(PTO_COLLECTIVE_ALLREDUCE, build_shifted);
    for (first_part = 1; first_part < request.bytes; first_part++) {
        pto_plan_t *plan = plan_of(request);
        char fault[128];
        snprintf(fault, sizeof fault, "reduces inputs' bytes 0..%lld, which cuts a float (4 bytes) in two",
                 (long long)first_part - 1);
        if (first_part % 4 == 0)
            assert_right(plan);
        else
            refused_for(plan, fault);
    }
}

TEST(reducing_into_nothing_is_named) {
    pto_plan_t *plan = good(PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "ring");
    step_in(plan, "place input", PTO_STEP_COPY)->core_count = 0;
    refused_for(plan,
                "rank 0, the end of the collective: reads bytes 0..31 of 'out', which were never written");
    pto_request_t request = ask(PTO_COLLECTIVE_ALLREDUCE, "gsb", "direct");
    request.layout.nodes = 1;
    plan = plan_of(request);
    step_in(plan, "reduce", PTO_STEP_REDUCE)->fresh = false;
    refused_for(plan, "reduces into bytes 0..31 of 'result', which were never written");
}

TEST(stages_in_the_wrong_order_are_found) {
    pto_plan_t *plan = good(PTO_COLLECTIVE_ALLTOALL, "extra_message", "linear");
    pto_stage_t *first = stage_named(plan, "copy to host"), *second = stage_named(plan, "scatter shares");
    pto_stage_t swapped = *first;
    *first = *second;
    *second = swapped;
    refused_for(plan, "stage 'scatter shares': reads bytes 12..23 of 'host in', which were never written");
}

TEST(a_block_in_the_wrong_place_is_named) {
    pto_plan_t *plan = good(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "linear");
    step_in(plan, "own block", PTO_STEP_COPY)->source.offset.constant = 1;
    refused_for(plan,
                "rank 0, the end of the collective: bytes 0..31 of 'out' hold member 0's bytes from 32 on, "
                "not member 0's bytes from 0 on");
    plan = good(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "linear");
    step_in(plan, "own block", PTO_STEP_COPY)->core_count = 0;
    refused_for(plan, "rank 0, the end of the collective: bytes 0..31 of 'out' hold nothing, not member 0's "
                      "bytes from 0 on");
}

TEST(writing_output_a_second_time_is_named) {
    pto_plan_t *plan = good(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "linear");
    step_in(plan, "own block", PTO_STEP_COPY)->target.offset.constant = 1;
    refused_for(plan, "rank 0, stage 'all messages': writes bytes 32..63 of 'out' a second time");
}

TEST(writing_the_users_input_is_refused) {
    pto_plan_t *plan = good(PTO_COLLECTIVE_ALLTOALL, "three_step", "linear");
    step_in(plan, "copy to device", PTO_STEP_COPY)->target.buffer = buffer_named(plan, "in");
    refused_for(plan, "writes the user's input");
}

/* A right plan, after which owner 1 overwrites its output. */
static const pto_strategy_t *spoiled;

static void build_spoiled(pto_builder_t *builder, const pto_request_t *request) {
    spoiled->build(builder, request);
    const pto_exchange_t who = owners_exchange(builder, pto_layout_owner_count(&request->layout));
    add_copy_stage(builder, "spoil", step_of_member(PTO_STEP_COPY, &who, 1, -1),
                   pto_slice_all(builder, buffer_of_role(builder, PTO_ROLE_IN)),
                   pto_slice_all(builder, buffer_of_role(builder, PTO_ROLE_OUT)));
}

/* Flags and slots of the first run are used in the second one, which would be wrong, too. */
TEST(a_wrong_result_is_named_in_the_first_run) {
    static const struct {
        const char *strategy, *algorithm;
    } cases[] = {{"gsb", "direct"}, {"gas_read", "direct"}, {"cuda_aware", "ring"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pto_request_t request = ask(PTO_COLLECTIVE_ALLREDUCE, cases[i].strategy, cases[i].algorithm);
        request.layout = (pto_layout_t){1, 4, 1, 1, 4, false};
        spoiled = request.strategy;
        pto_strategy_t strategy = *spoiled;
        strategy.build = build_spoiled;
        request.strategy = &strategy;
        refused_for(plan_of(request), "rank 1, the end: bytes 0..31 of 'out' hold owner 1's");
    }
}

TEST(an_unfinished_reduction_is_named) {
    pto_plan_t *plan = good(PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "recursive_doubling");
    pto_node_t *node = plan->nodes.item;
    for (int i = 0; i < plan->nodes.count; i++)
        node[i].to -= node[i].kind == PTO_NODE_LOOP;
    refused_for(plan,
                "hold the sum of 2 members' bytes from 0 on, not the sum of 4 members' bytes from 0 on");
}

/* --- faults of slices and buffers ----------------------------------------------------------------------- */

TEST(writing_while_another_step_reads_is_named) {
    pto_plan_t *plan = good(PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "ring");
    pto_step_t *recv = step_in(plan, "round", PTO_STEP_RECV);
    recv->target = step_in(plan, "round", PTO_STEP_SEND)->source;
    refused_for(plan, "rank 0, stage 'round', k=0: uses bytes 0..7 of 'out' twice at once and writes them");
}

TEST(receiving_twice_into_the_same_place_is_named) {
    pto_plan_t *plan = good(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "linear");
    step_in(plan, "all messages", PTO_STEP_RECV)->target.anchor = PTO_ANCHOR_ME;
    refused_for(plan,
                "rank 0, stage 'all messages': uses bytes 0..31 of 'out' twice at once and writes them");
}

TEST(a_copy_onto_itself_is_named) {
    pto_plan_t *plan = good(PTO_COLLECTIVE_ALLTOALL, "three_step", "bruck");
    pto_step_t *unpack = step_in(plan, "unpack", PTO_STEP_COPY);
    unpack->source = unpack->target;
    refused_for(plan, "uses bytes 32..63 of 'travelling' twice at once and writes them");
}

TEST(a_copy_between_unequal_slices_is_named) {
    pto_plan_t *plan = good(PTO_COLLECTIVE_ALLTOALL, "three_step", "linear");
    step_in(plan, "copy to device", PTO_STEP_COPY)->source.until.constant--;
    refused_for(plan, "rank 0, stage 'copy to device': copies 96 bytes of 'host out' into 128 of 'out'");
}

TEST(using_a_buffer_that_one_does_not_hold_is_named) {
    pto_plan_t *plan = good(PTO_COLLECTIVE_ALLTOALL, "extra_message", "linear");
    step_in(plan, "keep own share", PTO_STEP_COPY)->core_count = 2;
    refused_for(plan, "rank 1, stage 'keep own share': uses buffer 'host in', which rank 1 does not hold");
}

TEST(leaving_a_buffer_is_named) {
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALL, "dup_devptr", "linear");
    request.split = PTO_SPLIT_DESTINATIONS;
    pto_plan_t *plan = plan_of(request);
    pto_buffer_t *buffer = plan->buffers.item;
    int share = buffer_named(plan, "share");
    buffer[share].block_count = 3;
    pto_step_t *copy = step_in(plan, "copy shares to host", PTO_STEP_COPY);
    copy->who_first = pto_constant(1);
    copy->target = pto_slice_block(share, PTO_ANCHOR_ABSOLUTE);
    refused_for(plan, "rank 3, stage 'copy shares to host': names bytes 32..63 of 'share', which has 32");
}

TEST(arithmetic_that_cannot_be_done_is_refused) {
    pto_plan_t *plan = good(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "linear");
    step_in(plan, "all messages", PTO_STEP_SEND)->who_stride = pto_constant(0);
    refused_for(plan, "a step's members are 0 apart");
    plan = good(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "linear");
    step_in(plan, "all messages", PTO_STEP_SEND)->peers.stride = pto_constant(0);
    refused_for(plan, "a step's peers are 0 apart");
    plan = good(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "linear");
    step_in(plan, "all messages", PTO_STEP_SEND)->peers.until = pto_constant((int64_t)1 << 40);
    refused_for(plan, "a step has 1099511627775 peers");
    plan = good(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "linear");
    step_in(plan, "own block", PTO_STEP_COPY)->source.stride = pto_constant(0);
    refused_for(plan, "a slice of 'in' takes runs of 1 blocks, 0 apart");
    plan = good(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "linear");
    step_in(plan, "own block", PTO_STEP_COPY)->source.until = pto_constant(5);
    refused_for(plan, "a slice of 'in' names 5 blocks of 4");
    plan = good(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "linear");
    step_in(plan, "own block", PTO_STEP_COPY)->source.buffer = 7;
    refused_for(plan, "names buffer 7, which does not exist");
    plan = good(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "linear");
    step_in(plan, "own block", PTO_STEP_COPY)->group = -1;
    refused_for(plan, "names group -1, which does not exist");
    plan = good(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "linear");
    step_in(plan, "own block", PTO_STEP_COPY)->kind = PTO_STEP_COUNT;
    refused_for(plan, "a step is of an unknown kind");
}

/* --- faults of signals ---------------------------------------------------------------------------------- */

TEST(a_dropped_signal_is_a_deadlock) {
    pto_plan_t *plan = good(PTO_COLLECTIVE_ALLREDUCE, "dup_devptr", "ring");
    step_in(plan, "input ready", PTO_STEP_SIGNAL)->core_count = 0;
    refused_for(plan, "stage 'input ready': deadlock: waits for 'input ready' of rank 9, which never comes");
}

TEST(a_signal_without_a_wait_is_named) {
    pto_plan_t *plan = good(PTO_COLLECTIVE_ALLREDUCE, "dup_devptr", "ring");
    step_in(plan, "output written", PTO_STEP_WAIT)->core_count = 0;
    refused_for(plan, "rank 0, the end: never waits for 'output written' that rank 1 signals");
}

TEST(unordered_accesses_are_named) {
    needs_flag(good(PTO_COLLECTIVE_ALLREDUCE, "dup_devptr", "recursive_doubling"), "input ready",
               "rank 1, stage 'copy shares to host': reads bytes 12..23 of 'in' "
               "of rank 0, unordered with rank 0's write");
    needs_flag(good(PTO_COLLECTIVE_ALLREDUCE, "dup_devptr", "recursive_doubling"), "output written",
               "rank 0, the end: reads bytes 12..23 of 'out' of rank 0, unordered with rank 1's write");
}

/* --- plans made for the test ---------------------------------------------------------------------------- */

/* A strategy whose first process of each GPU copies `in` to `out`, and whose two processes then signal and
 * wait as the test at hand says: right for an allreduce of one GPU. */
typedef enum { SIGNAL_FIRST, WAIT_FIRST, WAIT_FIRST_AT_ONE, TWICE, BOTH_WRITE, IN_ONE_STAGE } handshake_t;
static handshake_t handshake;

static pto_step_t signalling(pto_step_kind_t kind, int group, int64_t core, int flag) {
    const pto_exchange_t one = {.group = group, .n = 2, .core_first = core, .core_count = 1};
    pto_step_t step = pto_step_of(kind, &one);
    step.flag = flag;
    step.peers = step_of_member(kind, &one, core, 1 - core).peers;
    return step;
}

/* Of the first process of each GPU. */
static int build_vector(pto_builder_t *builder, const pto_request_t *request, const char *name,
                        pto_role_t role) {
    pto_buffer_t vector = owners_floats(name, role, 1, request->bytes);
    vector.group = PTO_GROUP_CORES;
    return pto_build_buffer(builder, vector);
}

/* Core `core` copies in to out, both of the owner. */
static void build_owner_copy(pto_builder_t *builder, int64_t core, int in, int out) {
    int cores = pto_build_group(builder, PTO_GROUP_CORES, 0);
    pto_exchange_t one = {.group = cores, .n = 1, .core_first = core, .core_count = 1};
    pto_slice_t source = pto_slice_all(builder, in), target = pto_slice_all(builder, out);
    source.holder = target.holder = PTO_HOLDER_OWNER;
    add_copy_stage(builder, "copy", pto_step_of(PTO_STEP_COPY, &one), source, target);
}

static void build_handshake(pto_builder_t *builder, const pto_request_t *request) {
    int in = build_vector(builder, request, "in", PTO_ROLE_IN);
    int out = build_vector(builder, request, "out", PTO_ROLE_OUT);
    int gpu = pto_build_group(builder, PTO_GROUP_GPU, 0);
    int flag = pto_build_flag(builder, "flag");
    build_owner_copy(builder, 0, in, out);
    if (handshake == BOTH_WRITE)
        build_owner_copy(builder, 1, in, out);
    pto_build_stage(builder, "handshake", PTO_ORDER_SEQUENCE);
    for (int half = 0; half < 2; half++) {
        for (int64_t core = 0; core < 2; core++) {
            bool waits_first = handshake == WAIT_FIRST || (handshake == WAIT_FIRST_AT_ONE && core == 0);
            bool waits = waits_first == (half == 0);
            pto_build_step(builder, signalling(waits ? PTO_STEP_WAIT : PTO_STEP_SIGNAL, gpu, core, flag));
        }
        if (handshake != IN_ONE_STAGE)
            pto_build_stage(builder, "handshake", PTO_ORDER_SEQUENCE);
    }
    if (handshake == TWICE)
        pto_build_step(builder, signalling(PTO_STEP_WAIT, gpu, 0, flag));
}

static pto_plan_t *with_handshake(handshake_t which) {
    handshake = which;
    pto_request_t request = ask(PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "ring");
    request.strategy = strategy_made_of(PTO_COLLECTIVE_ALLREDUCE, build_handshake);
    request.layout = (pto_layout_t){1, 1, 1, 2, 1, false};
    return plan_of(request);
}

TEST(processes_that_both_wait_first_are_a_deadlock) {
    assert_right(with_handshake(SIGNAL_FIRST));
    assert_right(with_handshake(WAIT_FIRST_AT_ONE));
    refused_for(with_handshake(WAIT_FIRST), "stage 'handshake': deadlock: waits for 'flag'");
}

/* Price goes through a stage process by process, so it would see none of these flags in time. */
TEST(a_circular_wait_within_a_stage_is_rejected) {
    refused_for(with_handshake(IN_ONE_STAGE),
                "stage 'handshake': waits for 'flag' of rank 0, which raises it in the same stage and waits "
                "there itself");
}

TEST(a_signal_serves_one_wait) {
    refused_for(with_handshake(TWICE), "stage 'handshake': deadlock: waits for 'flag'");
}

TEST(writes_by_two_processes_are_unordered_without_signals) {
    refused_for(with_handshake(BOTH_WRITE),
                "rank 1, stage 'copy': reads bytes 0..31 of 'in' of rank 0, unordered");
}

/* --- what is not a fault -------------------------------------------------------------------------------- */

TEST(the_report_counts_what_was_checked) {
    pto_plan_t *plan = good(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "pairwise");
    pto_check_report_t report = must_check(plan);
    assert_int_equal(report.ranks, 4);
    assert_int_equal(report.stages, 4);
    assert_int_equal(report.messages, 12);
    assert_int_equal(report.moved_bytes, 16 * 32);
    assert_int_equal(report.accesses, 0);
    plan = good(PTO_COLLECTIVE_ALLREDUCE, "dup_devptr", "ring");
    /* Of each GPU: the user's four, and a read and a write by each of three processes. */
    assert_int_equal(must_check(plan).accesses, 4 * (4 + 2 * 3));
}

/* Counted, not begun: 65,536 processes are within the limit of processes. Rings of reductions are walked by
 * all of them, alltoalls by one node. */
TEST(what_would_take_long_to_check_is_refused_by_its_work) {
    const char *const strategy[] = {"cuda_aware", "three_step", "dup_devptr", "extra_message"};
    for (size_t i = 0; i < 4; i++) {
        pto_request_t request = ask(PTO_COLLECTIVE_ALLREDUCE, strategy[i], "ring");
        request.layout.nodes = PTO_CHECK_RANKS_MAX / (2 * request.layout.procs_per_gpu);
        pto_plan_t *plan = plan_of(request);
        pto_error_t err = {0};
        assert_int_equal(pto_check_size(plan, 0, NULL, &err), PTO_ERR_TOO_LARGE);
        assert_non_null(strstr(err.message, "--limit N raises"));
        assert_int_equal(pto_check_size(plan, INT64_MAX, NULL, &err), PTO_OK);
        request.collective = PTO_COLLECTIVE_ALLTOALL;
        request.algorithm = algorithm_named("linear", request.collective);
        plan = plan_of(request);
        assert_int_equal(pto_check_size(plan, 0, NULL, &err), PTO_OK);
    }
}

/* No less than what a check does: its messages, each of them several touches, and the stages of its ranks. */
TEST(a_checks_work_is_counted_before_it_is_done) {
    const char *const algorithm[] = {"linear", "pairwise", "bruck"};
    for (size_t i = 0; i < 3; i++) {
        pto_plan_t *plan = plan_of(ask(PTO_COLLECTIVE_ALLTOALL, "three_step", algorithm[i]));
        const pto_check_report_t report = must_check(plan);
        int64_t least = 3 * report.messages + report.ranks * report.stages;
        assert_int_equal(pto_check_size(plan, least, NULL, NULL), PTO_ERR_TOO_LARGE);
        assert_int_equal(pto_check_size(plan, 20 * least, NULL, NULL), PTO_OK);
    }
}

/* The holders of a copy between two temporaries, one of 1000 blocks and one of 10. */
static pto_holder_t source_holder, target_holder;

static void build_copy_between_temporaries(pto_builder_t *builder, const pto_request_t *request) {
    pto_buffer_t large = owners_blocks("large", PTO_ROLE_TEMPORARY, 1000, request->bytes), small = large;
    small.name = "small";
    small.block_count = 10;
    pto_slice_t source = pto_slice_all(builder, pto_build_buffer(builder, large));
    pto_slice_t target = pto_slice_all(builder, pto_build_buffer(builder, small));
    const pto_exchange_t one = {
        .group = pto_build_group(builder, PTO_GROUP_CORES, 0), .n = 1, .core_first = 1, .core_count = 1};
    source.holder = source_holder;
    target.holder = target_holder;
    add_copy_stage(builder, "copy", pto_step_of(PTO_STEP_COPY, &one), source, target);
}

static void size_of_copy(pto_holder_t source, pto_holder_t target, long long *touched, long long *kept) {
    source_holder = source;
    target_holder = target;
    pto_request_t request = ask(PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "ring");
    request.strategy = strategy_made_of(PTO_COLLECTIVE_ALLREDUCE, build_copy_between_temporaries);
    request.layout = (pto_layout_t){1, 1, 1, 2, 1, false};
    pto_error_t err = {0};
    assert_int_equal(pto_check_size(plan_of(request), 1, NULL, &err), PTO_ERR_TOO_LARGE);
    const char *numbers = strstr(err.message, "touches ");
    assert_non_null(numbers);
    assert_int_equal(
        sscanf(numbers, "touches %lld blocks, messages and clocks and keeps %lld", touched, kept), 2);
}

/* A plan in which a process uses another one's buffer is walked twice, with a trace of that buffer. */
TEST(a_buffer_that_another_process_reads_or_writes_is_counted_as_shared) {
    long long own_touched, own_kept, touched, kept;
    size_of_copy(PTO_HOLDER_SELF, PTO_HOLDER_SELF, &own_touched, &own_kept);
    assert_int_equal(own_kept, 1000 + 10);
    size_of_copy(PTO_HOLDER_OWNER, PTO_HOLDER_SELF, &touched, &kept);
    assert_int_equal(touched, 2 * own_touched);
    assert_int_equal(kept, own_kept + 4 * 1000);
    size_of_copy(PTO_HOLDER_SELF, PTO_HOLDER_OWNER, &touched, &kept);
    assert_int_equal(touched, 2 * own_touched);
    assert_int_equal(kept, own_kept + 4 * 10);
}

TEST(more_processes_than_check_can_walk_are_refused) {
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "pairwise");
    request.layout.nodes = PTO_CHECK_RANKS_MAX / 2 + 1;
    pto_plan_t *plan = plan_of(request);
    pto_error_t err = {0};
    pto_check_report_t report;
    assert_int_equal(pto_check(plan, &report, &err), PTO_ERR_TOO_LARGE);
    assert_non_null(strstr(err.message, "at most 65536"));
}
