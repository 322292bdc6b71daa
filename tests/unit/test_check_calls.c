/* Faults that check once accepted: collective nodes that do not match the plan around them, elements cut in
 * two, user data written to the output, plans that no executor can run, and sums that differ in their last
 * bits. */
#include "broken_plan.h"
#include "must.h"
#include "portolan/strategy.h"
#include "test.h"

static const pto_layout_t two_nodes = {2, 2, 1, 1, 2, false}, four_gpus = {1, 4, 1, 1, 4, false};

static pto_request_t ask(pto_collective_t collective, const char *strategy, const char *algorithm,
                         pto_layout_t layout) {
    pto_request_t request = request_on(layout, collective, strategy, algorithm, 4 * 29);
    request.by_library = true;
    return request;
}

/* A plan that check accepts. */
static pto_plan_t *made(pto_request_t request) {
    pto_plan_t *plan = plan_of(request);
    assert_right(plan);
    return plan;
}

static pto_plan_t *good(pto_collective_t collective, const char *strategy, const char *algorithm,
                        pto_layout_t layout) {
    return made(ask(collective, strategy, algorithm, layout));
}

static pto_node_t *call_of(const pto_plan_t *plan) {
    pto_node_t *node = plan->nodes.item;
    for (int i = 0; i < plan->nodes.count; i++)
        if (node[i].kind == PTO_NODE_COLLECTIVE)
            return &node[i];
    fail_msg("no collective node");
    return NULL;
}

static pto_call_slices_t *slices_of(const pto_plan_t *plan) {
    return (pto_call_slices_t *)plan->calls.item + call_of(plan)->call;
}

/* --- which collective, of whom, on what ----------------------------------------------------------------- */

TEST(a_node_names_its_collective) {
    pto_plan_t *plan = good(PTO_COLLECTIVE_ALLTOALL, "node_leaders", "pairwise", two_nodes);
    const pto_node_t *call = call_of(plan);
    const pto_call_slices_t *slices = slices_of(plan);
    assert_int_equal(call->collective, PTO_COLLECTIVE_ALLTOALL);
    assert_int_equal(call->by, PTO_DONE_BY_LIBRARY);
    assert_int_equal(pto_plan_group(plan, call->group)->kind, PTO_GROUP_LEADERS);
    assert_int_equal(slices->in.buffer, buffer_named(plan, "gathered"));
    assert_int_equal(slices->out.buffer, buffer_named(plan, "arrived"));
    assert_int_equal(slices->in.bundle, 4);
    assert_int_equal(pto_collective_member(plan, call, 2), 1);
    assert_int_equal(pto_collective_member(plan, call, 1), -1);
    assert_int_equal(pto_buffer_home(plan, slices->in.buffer), -1);
    plan = good(PTO_COLLECTIVE_ALLREDUCE, "dup_devptr", "ring", two_nodes);
    call = call_of(plan);
    slices = slices_of(plan);
    assert_int_equal(slices->in.buffer, slices->out.buffer);
    assert_int_equal(call->core_count, 3);
    int received = buffer_named(plan, "received");
    assert_true(pto_plan_node(plan, pto_buffer_home(plan, received)) == call);
}

/* The executor makes its communicator from the node's group, not from that of the stages. */
TEST(a_collective_of_another_group_is_refused) {
    static const struct {
        const char *strategy, *algorithm;
        pto_collective_t collective;
        int group;
        const char *cause;
    } cases[] = {
        {"gsb_gsb", "ring", PTO_COLLECTIVE_ALLREDUCE, 0, "uses buffer 'result', which rank 1"},
        {"node_leaders", "pairwise", PTO_COLLECTIVE_ALLTOALL, 0, "alltoall takes 4 blocks of 'gathered'"},
        {"node_aware", "pairwise", PTO_COLLECTIVE_ALLTOALL, 0, "another group than"},
        {"dup_devptr", "ring", PTO_COLLECTIVE_ALLREDUCE, 0, "another group than"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pto_plan_t *plan = good(cases[i].collective, cases[i].strategy, cases[i].algorithm, two_nodes);
        assert_int_not_equal(call_of(plan)->group, cases[i].group);
        call_of(plan)->group = cases[i].group;
        refused_for(plan, cases[i].cause);
    }
}

TEST(another_collective_is_refused) {
    pto_plan_t *plan = good(PTO_COLLECTIVE_ALLREDUCE, "three_step", "ring", two_nodes);
    call_of(plan)->collective = PTO_COLLECTIVE_REDUCE;
    refused_for(plan, "stage 'copy to device': reads bytes 0..115 of 'host in', which were never written");
    plan = good(PTO_COLLECTIVE_REDUCE, "three_step", "binomial", two_nodes);
    call_of(plan)->collective = PTO_COLLECTIVE_ALLREDUCE;
    refused_for(plan, "the end of the collective: bytes 0..115 of 'host in' hold");
    plan = good(PTO_COLLECTIVE_ALLGATHER, "three_step", "linear", two_nodes);
    call_of(plan)->collective = PTO_COLLECTIVE_ALLTOALL;
    refused_for(plan, "the end of the collective: alltoall takes 4 blocks of 'host in', which has 1");
    plan = good(PTO_COLLECTIVE_ALLTOALL, "three_step", "linear", two_nodes);
    call_of(plan)->collective = PTO_COLLECTIVE_ALLGATHER;
    refused_for(plan, "the end of the collective: allgather takes 1 blocks of 'host in', which has 4");
    plan = good(PTO_COLLECTIVE_REDUCE_SCATTER, "three_step", "pairwise", two_nodes);
    call_of(plan)->collective = PTO_COLLECTIVE_ALLTOALL;
    refused_for(plan, "the end of the collective: alltoall takes 4 blocks of 'host out', which has 1");
}

/* What a library is given must be there, also where it writes its result to the same place. */
TEST(a_vector_that_was_never_written_is_refused) {
    static const struct {
        pto_collective_t collective;
        const char *algorithm;
    } cases[] = {{PTO_COLLECTIVE_ALLREDUCE, "ring"}, {PTO_COLLECTIVE_REDUCE, "binomial"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int64_t member = 0; member < 4; member += 3) {
            pto_plan_t *plan = good(cases[i].collective, "three_step", cases[i].algorithm, two_nodes);
            const pto_call_slices_t *slices = slices_of(plan);
            assert_int_equal(slices->in.buffer, slices->out.buffer);
            pto_step_t *copy = step_in(plan, "copy to host", PTO_STEP_COPY);
            copy->who_first = pto_constant(member == 0); /* all but one member */
            copy->who_until = pto_constant(member == 0 ? 4 : member);
            refused_for(plan, "reads bytes 0..115 of 'host in', which were never written");
        }
}

TEST(other_blocks_than_the_stages_move_are_refused) {
    pto_plan_t *plan = good(PTO_COLLECTIVE_ALLTOALL, "three_step", "pairwise", two_nodes);
    slices_of(plan)->in.offset.constant = 1;
    refused_for(plan,
                "the end of the collective: bytes 0..115 of 'host out' hold member 0's bytes from 0 on, "
                "not member 0's bytes from 116 on");
    plan = good(PTO_COLLECTIVE_REDUCE_SCATTER, "three_step", "ring", two_nodes);
    slices_of(plan)->in.offset.constant = 1;
    refused_for(plan, "the end of the collective: bytes 0..115 of 'host out' hold");
}

/* With one process less the library's call would not return. */
TEST(cores_that_do_not_fit_are_refused) {
    pto_plan_t *plan = good(PTO_COLLECTIVE_ALLREDUCE, "dup_devptr", "ring", two_nodes);
    call_of(plan)->core_count--;
    refused_for(plan, "a collective's stage acts on cores outside of the collective");
    plan = good(PTO_COLLECTIVE_ALLREDUCE, "dup_devptr", "ring", two_nodes);
    call_of(plan)->core_count++;
    refused_for(plan, "a collective is on cores that don't exist");
}

/* --- what the stages may do ----------------------------------------------------------------------------- */

/* Make the collective's body one stage longer, at its end or its beginning. */
static pto_plan_t *with_a_copy_inside(pto_collective_t collective, const char *algorithm, bool before) {
    pto_plan_t *plan = good(collective, "three_step", algorithm, two_nodes);
    pto_node_t *call = call_of(plan);
    call->span++;
    if (before) {
        pto_node_t copy = call[-1];
        call[-1] = *call;
        *call = copy;
    }
    return plan;
}

TEST(copies_inside_a_collective_are_refused) {
    static const struct {
        pto_collective_t collective;
        const char *algorithm;
    } cases[] = {{PTO_COLLECTIVE_REDUCE, "binomial"},
                 {PTO_COLLECTIVE_ALLREDUCE, "ring"},
                 {PTO_COLLECTIVE_BROADCAST, "linear"},
                 {PTO_COLLECTIVE_ALLTOALL, "bruck"},
                 {PTO_COLLECTIVE_ALLGATHER, "bruck"},
                 {PTO_COLLECTIVE_ALLGATHERV, "ring"},
                 {PTO_COLLECTIVE_REDUCE_SCATTER, "recursive_halving"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        refused_for(with_a_copy_inside(cases[i].collective, cases[i].algorithm, false),
                    "stage 'copy to device': a collective's stage uses 'out', which is not the collective's "
                    "alone");
        refused_for(with_a_copy_inside(cases[i].collective, cases[i].algorithm, true),
                    "stage 'copy to host': a collective's stage uses 'in', which is not the collective's "
                    "alone");
    }
}

/* pairwise_in_place, which then gives back what it has set aside. */
static void build_giving_back(pto_builder_t *builder, const pto_exchange_t *exchange) {
    algorithm_named("pairwise_in_place", PTO_COLLECTIVE_ALLTOALL)->build(builder, exchange);
    int aside = pto_build_mirror(builder, exchange->in, "aside", PTO_SPACE_CPU);
    const int buffer[] = {exchange->in, aside, exchange->in};
    for (int i = 0; i < 2; i++)
        add_copy_stage(builder, "give back", pto_step_of(PTO_STEP_COPY, exchange),
                       pto_slice_all(builder, buffer[i]), pto_slice_all(builder, buffer[i + 1]));
}

TEST(a_collective_that_writes_its_input_is_refused) {
    static const pto_algorithm_t algorithm = {
        .name = "giving_back", .collectives = 1u << PTO_COLLECTIVE_ALLTOALL, .build = build_giving_back};
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALL, "three_step", "pairwise", two_nodes);
    request.algorithm = &algorithm;
    pto_plan_t *plan = must_plan(&request);
    refused_for(plan, "stage 'give back': a collective's stage writes 'host in', which is its input");
}

TEST(a_collective_in_a_loop_is_refused) {
    pto_plan_t *plan = good(PTO_COLLECTIVE_ALLTOALL, "three_step", "linear", two_nodes);
    pto_node_t *before = call_of(plan) - 1;
    *before = (pto_node_t){.kind = PTO_NODE_LOOP, .span = 1 + call_of(plan)->span, .to = 2};
    refused_for(plan, "a collective is inside a loop");
}

TEST(a_call_that_the_plan_does_not_have_is_refused) {
    for (int call = -1; call <= 1; call += 2) {
        pto_plan_t *plan = good(PTO_COLLECTIVE_ALLTOALL, "three_step", "linear", two_nodes);
        call_of(plan)->call = call;
        refused_for(plan, "a collective node names call");
    }
}

static int build_vector(pto_builder_t *builder, const pto_request_t *request, const char *name,
                        pto_role_t role) {
    pto_buffer_t vector = owners_floats(name, role, 1, request->bytes);
    vector.core_count = 4;
    vector.user_stride = role == PTO_ROLE_OUT ? 4 : 0;
    return pto_build_buffer(builder, vector);
}

/* Process 3 leaves a note at process 2, which reads it after a reduction to process 0. */
static void build_note(pto_builder_t *builder, const pto_request_t *request) {
    int in = build_vector(builder, request, "in", PTO_ROLE_IN);
    int out = build_vector(builder, request, "out", PTO_ROLE_OUT);
    int note = build_vector(builder, request, "note", PTO_ROLE_TEMPORARY);
    int noted = build_vector(builder, request, "noted", PTO_ROLE_TEMPORARY);
    pto_exchange_t who = {.group = pto_build_group(builder, PTO_GROUP_OWNERS, 0),
                          .n = 4,
                          .core_count = 4,
                          .in = out,
                          .out = out};
    add_copy_stage(builder, "leave a note", step_of_member(PTO_STEP_COPY, &who, 3, -1),
                   pto_slice_all(builder, in), pto_slice_all(builder, note));
    add_copy_stage(builder, "place input", pto_step_of(PTO_STEP_COPY, &who), pto_slice_all(builder, in),
                   pto_slice_all(builder, out));
    pto_build_exchange(builder, request, &who);
    add_copy_stage(builder, "read the note", step_of_member(PTO_STEP_COPY, &who, 2, -1),
                   pto_slice_all(builder, note), pto_slice_all(builder, noted));
}

/* In a binomial tree process 3 sends to process 2. MPI_Reduce says nothing of these two. */
TEST(order_that_only_the_stages_give_does_not_count) {
    pto_request_t request =
        ask(PTO_COLLECTIVE_REDUCE, "cuda_aware", "binomial", (pto_layout_t){1, 1, 4, 4, 1, false});
    request.strategy = strategy_made_of(request.collective, build_note);
    pto_plan_t *plan = must_plan(&request);
    pto_step_t *leave = step_in(plan, "leave a note", PTO_STEP_COPY);
    leave->peers = pto_peers_at(pto_constant(1), -1);
    leave->target.holder = PTO_HOLDER_PEER;
    refused_for(plan, "rank 2, stage 'read the note': reads bytes 0..115 of 'note' of rank 2, unordered with "
                      "rank 3's write");
}

/* --- elements ------------------------------------------------------------------------------------------- */

static pto_plan_t *with_grain(const char *strategy, const char *algorithm, pto_layout_t layout,
                              pto_datatype_t datatype, int64_t granularity_bytes) {
    pto_request_t request = ask(PTO_COLLECTIVE_ALLREDUCE, strategy, algorithm, layout);
    request.datatype = datatype;
    request.bytes = 8 * 29;
    pto_plan_t *plan = made(request);
    for (int i = 0; i < plan->buffers.count; i++)
        ((pto_buffer_t *)plan->buffers.item)[i].granularity_bytes = granularity_bytes;
    return plan;
}

TEST(elements_that_are_cut_in_two_are_refused) {
    static const struct {
        const char *strategy, *algorithm;
    } cases[] = {{"cuda_aware", "ring"},
                 {"three_step", "rabenseifner"},
                 {"dup_devptr", "recursive_doubling"},
                 {"extra_message", "binomial"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        refused_for(with_grain(cases[i].strategy, cases[i].algorithm, two_nodes, PTO_DATATYPE_FLOAT, 1),
                    "which cuts a float (4 bytes) in two");
        refused_for(with_grain(cases[i].strategy, cases[i].algorithm, two_nodes, PTO_DATATYPE_DOUBLE, 4),
                    "which cuts a double (8 bytes) in two");
    }
    refused_for(with_grain("gas_split", "direct", four_gpus, PTO_DATATYPE_FLOAT, 3),
                "which cuts a float (4 bytes) in two");
}

/* --- the user ------------------------------------------------------------------------------------------- */

/* gsb whose root reduces into its output, from which the others copy: the user may write it meanwhile. */
TEST(reading_anothers_output_after_its_run_is_refused) {
    pto_plan_t *plan = good(PTO_COLLECTIVE_ALLREDUCE, "gsb", "direct", (pto_layout_t){1, 2, 1, 1, 2, false});
    int out = buffer_named(plan, "out");
    step_in(plan, "reduce", PTO_STEP_REDUCE)->target = pto_slice_block(out, PTO_ANCHOR_ABSOLUTE);
    pto_step_t *own = step_in(plan, "copy out", PTO_STEP_COPY);
    own->core_count = 0;
    own[1].source.buffer = out;
    refused_for(plan, "writes bytes 0..115 of 'out' of rank 0, unordered with rank 1's read");
}

/* --- what no executor runs ------------------------------------------------------------------------------ */

static pto_buffer_t *buffer_in(const pto_plan_t *plan, const char *name) {
    return (pto_buffer_t *)plan->buffers.item + buffer_named(plan, name);
}

TEST(plans_that_no_executor_can_run_are_rejected) {
    static const char *const names[] = {"gathered", "result"};
    for (int i = 0; i < 2; i++) {
        pto_plan_t *plan = good(PTO_COLLECTIVE_ALLREDUCE, "gsb", "direct", four_gpus);
        buffer_in(plan, names[i])->double_buffered = true;
        assert_int_equal(pto_plan_runnable(plan, NULL), PTO_ERR_INVALID_PLAN);
        refused_for(plan, "outside of a kernel");
    }
    pto_plan_t *plan = good(PTO_COLLECTIVE_ALLREDUCE, "gas_split", "direct", four_gpus);
    buffer_in(plan, "out")->double_buffered = true;
    refused_for(plan, "buffer 'out' is double-buffered, but the user has only one copy");
    plan = good(PTO_COLLECTIVE_ALLREDUCE, "dup_devptr", "ring", (pto_layout_t){1, 2, 1, 2, 2, false});
    buffer_in(plan, "in")->space = PTO_SPACE_CPU;
    refused_for(plan, "uses another process's 'in', which is the user's own host memory");
}

/* Which memory processes share makes no difference to what they compute. */
TEST(plans_whose_processes_share_host_memory_are_proved) {
    static const char *const strategies[] = {"gsb", "btb"};
    for (int i = 0; i < 2; i++) {
        pto_plan_t *plan = good(PTO_COLLECTIVE_ALLREDUCE, strategies[i], "direct", four_gpus);
        pto_buffer_t *buffer = plan->buffers.item;
        for (int b = 0; b < plan->buffers.count; b++)
            if (buffer[b].role == PTO_ROLE_TEMPORARY)
                buffer[b].space = PTO_SPACE_CPU;
        assert_right(plan);
    }
}

/* --- the order of combination --------------------------------------------------------------------------- */

TEST(sums_in_another_order_are_refused) {
    static const char *const strategies[] = {"gas_read", "gas_allgather"};
    for (int i = 0; i < 2; i++) {
        pto_plan_t *plan = good(PTO_COLLECTIVE_ALLREDUCE, strategies[i], "direct", four_gpus);
        step_in(plan, "reduce", PTO_STEP_REDUCE)->source.anchor = PTO_ANCHOR_ME;
        refused_for(plan, "rank 1, the end: byte 0 of 'out' is combined in another order than rank 0's");
    }
}

/* Of two operands the order does not matter, so two GPUs may each begin with their own. */
TEST(a_plus_b_is_b_plus_a) {
    pto_plan_t *plan =
        good(PTO_COLLECTIVE_ALLREDUCE, "gas_read", "direct", (pto_layout_t){1, 2, 1, 1, 2, false});
    step_in(plan, "reduce", PTO_STEP_REDUCE)->source.anchor = PTO_ANCHOR_ME;
    assert_right(plan);
}

/* --- staging -------------------------------------------------------------------------------------------- */

TEST(staged_plans_are_right) {
    static const pto_layout_t layouts[] = {
        {1, 1, 1, 1, 1, false}, {2, 2, 1, 1, 2, false}, {3, 1, 1, 1, 1, false}, {1, 5, 2, 2, 5, false}};
    int proved = 0;
    pto_request_t request = {
        .datatype = PTO_DATATYPE_FLOAT, .bytes = 4 * 29, .by_library = true, .staged = true};
    for (int at = 0; next_request(&request, &at);)
        for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
            request.layout = layouts[l];
            pto_plan_t *plan = NULL;
            if (request.collective == PTO_COLLECTIVE_MESSAGES ||
                pto_plan_create(&request, &plan, NULL) != PTO_OK)
                continue;
            assert_right(plan);
            pto_plan_destroy(plan);
            proved++;
        }
    assert_true(proved > 150);
}

/* --- order among the members of an alltoallv ------------------------------------------------------------ */

/* The member that reads what another one wrote in its GPU memory before the call. */
static struct { int64_t reader, writer; } overheard;

static void build_overheard(pto_builder_t *builder, const pto_request_t *request) {
    const int64_t n = pto_layout_owner_count(&request->layout);
    pto_buffer_t in = owners_blocks("in", PTO_ROLE_IN, n, 0), out = owners_blocks("out", PTO_ROLE_OUT, n, 0);
    const pto_buffer_t note = owners_blocks("note", PTO_ROLE_TEMPORARY, 1, request->bytes);
    in.blocks = PTO_BLOCKS_ROW;
    out.blocks = PTO_BLOCKS_COLUMN;
    const pto_exchange_t owners = {.group = pto_build_group(builder, PTO_GROUP_OWNERS, 0),
                                   .n = n,
                                   .core_count = 1,
                                   .in = pto_build_buffer(builder, in),
                                   .out = pto_build_buffer(builder, out)};
    int notes = pto_build_buffer(builder, note), heard = pto_build_buffer(builder, note);
    add_copy_stage(builder, "write", pto_step_of(PTO_STEP_COPY, &owners),
                   pto_slice_block(owners.in, PTO_ANCHOR_ME), pto_slice_all(builder, notes));
    pto_build_exchange(builder, request, &owners);
    pto_slice_t theirs = pto_slice_all(builder, notes);
    theirs.holder = PTO_HOLDER_PEER;
    add_copy_stage(builder, "read",
                   step_of_member(PTO_STEP_COPY, &owners, overheard.reader, overheard.writer), theirs,
                   pto_slice_all(builder, heard));
    pto_build_stage(builder, "let go", PTO_ORDER_SEQUENCE); /* of what the next run writes again */
    pto_step_t signal = step_of_member(PTO_STEP_SIGNAL, &owners, overheard.reader, overheard.writer);
    pto_step_t wait = step_of_member(PTO_STEP_WAIT, &owners, overheard.writer, overheard.reader);
    signal.flag = wait.flag = pto_build_flag(builder, "read");
    pto_build_step(builder, signal);
    pto_build_step(builder, wait);
}

/* A receiver is ordered after those that sent it something, and only after them. */
TEST(a_silent_sender_orders_nothing) {
    int64_t bytes[] = {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 0, 0, 0, 8}; /* 3 sends to itself alone */
    const pto_counts_t counts = {.kind = PTO_COUNTS_MATRIX, .order = 4, .matrix = bytes};
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALLV, "cuda_aware", "linear", four_gpus);
    request.strategy = strategy_made_of(request.collective, build_overheard);
    request.bytes = 8;
    request.counts = &counts;
    for (overheard.reader = 0; overheard.reader < 4; overheard.reader++)
        for (overheard.writer = 0; overheard.writer < 4; overheard.writer++) {
            if (overheard.reader == overheard.writer)
                continue;
            if (overheard.writer < 3)
                made(request);
            else
                refused_for(plan_of(request), "unordered");
        }
}
