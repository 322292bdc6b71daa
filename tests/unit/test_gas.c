/* Strategies in a global address space: everything that keeps a kernel's runs apart is proved necessary,
 * steps that cannot be in a kernel are found, and prices equal the closed formulas of their steps. */
#include "inside_plan.h"
#include "machine/machine_internal.h"
#include "portolan/price.h"
#include "portolan/strategy.h"
#include "priced.h"
#include "test.h"

static const pto_layout_t four = {1, 4, 1, 1, 4, false};

/* What each of four sends to each: every sum of a row or a column, and every block, has another size, and the
 * third sends nothing. */
static const int64_t bytes_of_pairs[] = {8, 700, 0, 4, 16, 0, 2000, 1, 0, 0, 0, 0, 3, 300, 500, 12};
static const pto_counts_t by_pairs = {
    .kind = PTO_COUNTS_MATRIX, .order = 4, .matrix = (int64_t *)bytes_of_pairs};

static pto_plan_t *made_of(const pto_counts_t *counts, const char *strategy) {
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALLV, strategy, four);
    request.counts = counts;
    return plan_of(request);
}

static pto_plan_t *made_of_pairs(const char *strategy) { return made_of(&by_pairs, strategy); }

/* --- what orders kernels -------------------------------------------------------------------------------- */

TEST(reducing_before_all_have_stored_is_found) {
    needs_flag(made(PTO_COLLECTIVE_ALLREDUCE, "gas_allgather", four), "stored",
               "stage 'reduce': reads bytes");
    needs_flag(made(PTO_COLLECTIVE_ALLREDUCE, "gas_split", four), "shares stored",
               "stage 'reduce': reads bytes");
    needs_flag(made(PTO_COLLECTIVE_ALLREDUCE, "gas_gather", four), "stored",
               "rank 0, stage 'reduce': reads bytes");
    needs_flag(made(PTO_COLLECTIVE_ALLREDUCE, "gas_read", four), "ready",
               "stage 'load from all': reads bytes 0..999 of 'in' of rank");
    needs_flag(made(PTO_COLLECTIVE_REDUCE_SCATTER, "gas_split", four), "shares stored",
               "stage 'reduce': reads bytes");
    needs_flag(made(PTO_COLLECTIVE_REDUCE_SCATTER, "gas_read", four), "ready",
               "stage 'load from all': reads bytes");
}

/* The user may use a buffer again as soon as its own process's run has ended. */
TEST(ending_before_others_have_stored_or_loaded_is_found) {
    needs_flag(made(PTO_COLLECTIVE_ALLREDUCE, "gas_split", four), "results stored", "the end: reads bytes");
    needs_flag(made(PTO_COLLECTIVE_ALLREDUCE, "gas_read", four), "loaded",
               "stage 'reduce': writes bytes 0..999 of 'out' of rank 0, unordered with rank 3's read");
    needs_flag(made(PTO_COLLECTIVE_REDUCE_SCATTER, "gas_read", four), "loaded", "the end: writes bytes");
    needs_flag(made(PTO_COLLECTIVE_ALLTOALL, "gas_split", four), "stored", "the end: reads bytes");
    needs_flag(made_of_pairs("gas_split"), "stored", "the end: reads bytes");
    needs_flag(made_of_pairs("gas_read"), "loaded", "the end: writes bytes");
    static const pto_collective_t rooted[] = {PTO_COLLECTIVE_GATHER, PTO_COLLECTIVE_SCATTER};
    for (int i = 0; i < 2; i++) {
        needs_flag(made(rooted[i], "gas_split", four), "stored", "the end: reads bytes");
        needs_flag(made(rooted[i], "gas_split", four), "ready", "second run: writes bytes");
        needs_flag(made(rooted[i], "gas_read", four), "ready", "stage 'load from all': reads bytes");
        needs_flag(made(rooted[i], "gas_read", four), "loaded", "the end: writes bytes");
    }
}

/* What makes a second flag needless in gas_allgather, and in a reduce or reduce-scatter by gas_split.
 */
TEST(one_buffer_for_all_runs_is_found_by_the_second) {
    static const struct {
        pto_collective_t collective;
        const char *strategy;
    } plans[] = {{PTO_COLLECTIVE_ALLREDUCE, "gas_allgather"}, {PTO_COLLECTIVE_ALLTOALL, "gas_allgather"},
                 {PTO_COLLECTIVE_ALLTOALLV, "gas_allgather"}, {PTO_COLLECTIVE_ALLGATHER, "gas_allgather"},
                 {PTO_COLLECTIVE_REDUCE, "gas_split"},        {PTO_COLLECTIVE_REDUCE_SCATTER, "gas_split"}};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        pto_plan_t *plan = made(plans[i].collective, plans[i].strategy, four);
        pto_buffer_t *buffer = plan->buffers.item;
        assert_true(buffer[buffer_named(plan, "gathered")].double_buffered);
        buffer[buffer_named(plan, "gathered")].double_buffered = false;
        refused_for(plan, "second run: writes bytes");
    }
}

TEST(outputs_are_not_written_before_their_owner_is_there) {
    needs_flag(made(PTO_COLLECTIVE_ALLTOALL, "gas_split", four), "ready", "second run: writes bytes");
    needs_flag(made(PTO_COLLECTIVE_ALLGATHER, "gas_split", four), "ready", "second run: writes bytes");
    needs_flag(made_of_pairs("gas_split"), "ready", "second run: writes bytes");
    needs_flag(made(PTO_COLLECTIVE_REDUCE, "gas_gather", four), "free", "second run: writes bytes");
}

/* Each level of a tree has flags of its own. */
TEST(every_flag_of_a_tree_is_needed) {
    static const pto_collective_t collectives[] = {PTO_COLLECTIVE_ALLREDUCE, PTO_COLLECTIVE_REDUCE,
                                                   PTO_COLLECTIVE_BROADCAST};
    for (int64_t gpus = 2; gpus <= 9; gpus++)
        for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++) {
            pto_request_t request =
                ask(collectives[i], "gas_tree", (pto_layout_t){1, gpus, 1, 1, gpus, false});
            pto_plan_t *whole = plan_of(request);
            int flags = pto_plan_flag_count(whole);
            assert_int_equal(flags, 2 * pto_log2_ceil(gpus));
            assert_right(whole);
            for (int flag = 0; flag < flags; flag++) {
                pto_plan_t *plan = plan_of(request);
                for (int s = 0; s < plan->steps.count; s++) {
                    pto_step_t *step = (pto_step_t *)plan->steps.item + s;
                    if (pto_step_is_signal(step) && step->flag == flag)
                        step->core_count = 0;
                }
                refused_for(plan, "unordered with");
            }
        }
}

/* Two by two GPUs with 8 x 16 cells each; in the second dimension of size 1 everyone is its own neighbor. */
static pto_request_t halo(pto_corners_t corners, bool wraps, bool in_a_row) {
    pto_request_t request = ask(PTO_COLLECTIVE_HALO, "gas_halo", four);
    request.bytes = 4;
    request.halo = (pto_halo_t){.dim_count = 2,
                                .dims = {in_a_row ? 4 : 2, in_a_row ? 1 : 2},
                                .wrap = {wraps, wraps},
                                .extent = {8, 16},
                                .width = 1,
                                .corners = corners};
    return request;
}

TEST(a_halo_needs_both_flags_and_every_store) {
    for (int corners = 0; corners < PTO_CORNERS_COUNT; corners++)
        for (int wraps = 0; wraps < 2; wraps++) {
            pto_request_t request = halo((pto_corners_t)corners, wraps, true);
            needs_flag(plan_of(request), "ready", "stage 'store to neighbors': writes bytes");
            needs_flag(plan_of(request), "stored", "the end: reads bytes");
            pto_plan_t *plan = plan_of(request);
            int stores = 0;
            for (int s = 0; s < plan->steps.count; s++)
                stores += pto_plan_step(plan, s)->kind == PTO_STEP_COPY;
            assert_int_equal(stores, wraps ? 3 : 1); /* to the neighbors, and to oneself on two sides */
            for (int without = 0; without < stores; without++) {
                plan = plan_of(request);
                step_in(plan, "store to neighbors", PTO_STEP_COPY)[without].core_count = 0;
                refused_for(plan, "hold owner");
            }
        }
}

/* --- what can't stand in a kernel ----------------------------------------------------------------------- */

/* Each thread block signals for its own part of a piece: another cut needs parts that it hasn't heard of. */
TEST(pieces_that_are_cut_otherwise_are_found) {
    pto_plan_t *plan = made(PTO_COLLECTIVE_ALLTOALL, "gas_allgather", four);
    pto_step_t *out = step_in(plan, "copy out", PTO_STEP_COPY);
    out->peers = (pto_peers_t){0};
    out->source.anchor = out->target.anchor = PTO_ANCHOR_ME;
    out->source.until = out->target.until = pto_constant(4);
    refused_for(plan, "a kernel uses bytes");
}

/* Without the answers the root would overwrite what the others still read; the answers are no data. */
TEST(a_broadcast_is_answered_and_no_answer_is_its_result) {
    needs_flag(made(PTO_COLLECTIVE_BROADCAST, "gas_allgather", four), "answered", "unordered");
    pto_plan_t *plan = made(PTO_COLLECTIVE_BROADCAST, "gas_allgather", four);
    pto_step_t *others = step_in(plan, "copy out", PTO_STEP_COPY) + 1;
    others->core_count = 0;
    refused_for(plan, "the end: bytes 0..999 of 'out' hold owner 1's bytes from 0 on, not owner 0's");
}

/* After an exchange, each process fills a vector, and a kernel reads its first half and all of it, in the
 * order `halves_first`, before it writes all of it. */
static bool halves_first, halves_at_all;

static pto_slice_t first_half(int buffer) {
    return pto_slice_part(buffer, 2, PTO_ANCHOR_ABSOLUTE, pto_constant(0));
}

static pto_slice_t whole(int buffer) { return pto_slice_block(buffer, PTO_ANCHOR_ABSOLUTE); }

static int vector_like(pto_builder_t *builder, const pto_request_t *request, const char *name) {
    return pto_build_buffer(builder, owners_blocks(name, PTO_ROLE_TEMPORARY, 1, request->bytes));
}

static void build_reads_and_a_write(pto_builder_t *builder, const pto_request_t *request) {
    strategy_named("gas_split")->build(builder, request);
    const pto_exchange_t who = owners_exchange(builder, pto_layout_owner_count(&request->layout));
    const pto_step_t copy = pto_step_of(PTO_STEP_COPY, &who);
    int filled = vector_like(builder, request, "filled"), half = vector_like(builder, request, "half"),
        all = vector_like(builder, request, "all");
    add_copy_stage(builder, "fill", copy, whole(0), whole(filled));
    pto_build_kernel(builder, &who);
    pto_build_stage(builder, "read and write", PTO_ORDER_SEQUENCE);
    if (halves_at_all && halves_first)
        add_copy(builder, copy, first_half(filled), first_half(half));
    add_copy(builder, copy, whole(filled), whole(all));
    if (halves_at_all && !halves_first)
        add_copy(builder, copy, first_half(filled), first_half(half));
    add_copy(builder, copy, whole(0), whole(filled));
    pto_build_end(builder);
}

/* The other cut may have been read before or after the one that is written later. */
TEST(a_first_write_is_compared_with_all_pieces_that_were_read) {
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALL, "gas_split", four);
    pto_strategy_t strategy = *request.strategy;
    strategy.build = build_reads_and_a_write;
    request.strategy = &strategy;
    halves_at_all = false;
    pto_plan_t *plan = plan_of(request);
    assert_right(plan);
    halves_at_all = true;
    for (int i = 0; i < 2; i++) {
        halves_first = i == 0;
        refused_for(plan_of(request),
                    "a kernel uses bytes 0..999 of 'filled' of rank 0 in one piece and 0..");
    }
}

TEST(a_kernels_flag_has_one_step_that_raises_it) {
    pto_plan_t *plan = made(PTO_COLLECTIVE_ALLREDUCE, "gas_split", four);
    step_in(plan, "results stored", PTO_STEP_SIGNAL)->flag =
        step_in(plan, "shares stored", PTO_STEP_SIGNAL)->flag;
    refused_for(plan, "a kernel's flag 'shares stored' has two steps that raise it");
}

TEST(kernels_access_only_gpu_memory) {
    pto_plan_t *plan = made(PTO_COLLECTIVE_ALLREDUCE, "gas_split", four);
    pto_buffer_t *buffer = plan->buffers.item;
    buffer[buffer_named(plan, "gathered")].space = PTO_SPACE_CPU;
    refused_for(plan, "a kernel step accesses host memory");
    plan = made(PTO_COLLECTIVE_ALLREDUCE, "gas_split", four);
    step_in(plan, "store shares", PTO_STEP_COPY)->kind = PTO_STEP_LAUNCH;
    refused_for(plan, "a kernel's launch is not at its beginning");
}

/* --- shapes --------------------------------------------------------------------------------------------- */

TEST(alternating_buffers_take_their_bytes_twice) {
    int64_t gpu_bytes, host_bytes;
    pto_plan_t *plan = made(PTO_COLLECTIVE_ALLREDUCE, "gas_allgather", four);
    pto_plan_memory(plan, &gpu_bytes, &host_bytes);
    assert_int_equal(gpu_bytes, (2 + 2 * 4) * 1000);
    assert_int_equal(host_bytes, 0);
}

/* 1000 bytes are 62 times 16 and 8 more: for four, two shares of 16 of them, one of 15, and the last of 15
 * and the rest; each holds as many from all. So all but the rest begins where threads load 16 bytes at a
 * time. */
TEST(shares_of_the_vector_are_gathered) {
    pto_plan_t *plan = made(PTO_COLLECTIVE_ALLREDUCE, "gas_split", four);
    int gathered = buffer_named(plan, "gathered");
    for (int64_t rank = 0; rank < 4; rank++)
        assert_int_equal(pto_buffer_bytes(plan, gathered, rank), 4 * (rank < 2 ? 256 : rank < 3 ? 240 : 248));
}

/* A process's place for what others store to it has the sizes of its output. */
TEST(blocks_of_pairs_are_gathered_as_large_as_they_are) {
    static const int64_t received[] = {8 + 16 + 3, 700 + 300, 2000 + 500, 4 + 1 + 12};
    pto_plan_t *plan = made_of_pairs("gas_allgather");
    int gathered = buffer_named(plan, "gathered");
    for (int64_t rank = 0; rank < 4; rank++)
        assert_int_equal(pto_buffer_bytes(plan, gathered, rank), received[rank]);
}

TEST(what_does_not_apply_says_why) {
    pto_request_t request = ask(PTO_COLLECTIVE_ALLREDUCE, "gas_split", (pto_layout_t){1, 4, 2, 2, 4, false});
    assert_string_equal(no_plan(&request, PTO_ERR_NOT_APPLICABLE),
                        "gas_split has kernels wait for each other, so a GPU can have one, and 2 "
                        "processes hold data on each (owners_per_gpu)");
    request.layout = (pto_layout_t){2, 2, 1, 1, 2, false};
    does_not_apply(&request, "only within a node");
    request.layout = (pto_layout_t){1, 1, 1, 1, 1, false};
    no_plan(&request, PTO_ERR_NOT_APPLICABLE);
}

/* --- prices --------------------------------------------------------------------------------------------- */

static const double launch_s = 7e-6, flag_s = 1.5e-6, load_s = 2e-6, load_s_per_byte = 3e-9, store_s = 8e-7,
                    store_s_per_byte = 2e-9, own_s_per_byte = 1e-10, all_s_per_byte = 2.5e-9, s = 1000;

static pto_param_t known(double value) {
    return (pto_param_t){.value = value, .low = value, .high = value, .line = 1};
}

static pto_machine_t machine_for_kernels(void) {
    pto_machine_t machine = {.name = "simple", .path = "simple.yaml"};
    machine.kernel_launch_s = known(launch_s);
    machine.device_signal_s = known(flag_s);
    machine.remote[PTO_REMOTE_LOAD][PTO_REACH_ON_SOCKET] =
        (pto_postal_t){.alpha_s = known(load_s), .beta_s_per_byte = known(load_s_per_byte)};
    machine.remote[PTO_REMOTE_STORE][PTO_REACH_ON_SOCKET] =
        (pto_postal_t){.alpha_s = known(store_s), .beta_s_per_byte = known(store_s_per_byte)};
    static pto_cost_row_t reduce;
    reduce = (pto_cost_row_t){.below_bytes = INT64_MAX,
                              .postal = {.alpha_s = known(1), .beta_s_per_byte = known(own_s_per_byte)}};
    machine.reduce[PTO_SPACE_GPU] = (pto_cost_table_t){.count = 1, .row = &reduce};
    return machine;
}

static void assert_plan_price(const pto_plan_t *plan, const pto_machine_t *machine, double wanted_s) {
    assert_near(agreed_s(plan, machine), wanted_s, 1e-9);
}

static void assert_price(const pto_machine_t *machine, pto_collective_t collective, const char *strategy,
                         double wanted_s) {
    assert_plan_price(made(collective, strategy, four), machine, wanted_s);
}

/* Where it is known what a graph of one kernel takes, that is what the executor launches. */
TEST(a_graph_launch_is_used_instead_of_a_kernel_launch) {
    const double graph_s = 4e-6, all_s = s * own_s_per_byte + store_s + 3 * s * store_s_per_byte + flag_s +
                                         3 * s * own_s_per_byte;
    pto_machine_t machine = machine_for_kernels();
    assert_price(&machine, PTO_COLLECTIVE_ALLREDUCE, "gas_allgather", launch_s + all_s);
    machine.graph_launch_s = known(graph_s);
    assert_price(&machine, PTO_COLLECTIVE_ALLREDUCE, "gas_allgather", graph_s + all_s);
    machine.kernel_launch_s = (pto_param_t){0};
    assert_price(&machine, PTO_COLLECTIVE_ALLREDUCE, "gas_allgather", graph_s + all_s);
}

/* A kernel starts once, whatever it does; its reductions have no start of their own. */
TEST(kernels_cost_their_launch_links_and_flags) {
    const double part = 16 * 16; /* the larger shares count */
    const double store_all_s = store_s + 3 * s * store_s_per_byte,
                 load_all_s = load_s + 3 * s * load_s_per_byte;
    const double own_s = s * own_s_per_byte, part_s = part * own_s_per_byte;
    pto_machine_t machine = machine_for_kernels();
    assert_price(&machine, PTO_COLLECTIVE_ALLREDUCE, "gas_allgather",
                 launch_s + own_s + store_all_s + flag_s + 3 * own_s);
    static const pto_collective_t of_blocks[] = {PTO_COLLECTIVE_ALLTOALL, PTO_COLLECTIVE_ALLTOALLV,
                                                 PTO_COLLECTIVE_ALLGATHER};
    for (int i = 0; i < 3; i++) {
        pto_collective_t blocks = of_blocks[i];
        assert_price(&machine, blocks, "gas_allgather", launch_s + own_s + store_all_s + flag_s + 3 * own_s);
        assert_price(&machine, blocks, "gas_read", launch_s + flag_s + own_s + load_all_s + flag_s);
        assert_price(&machine, blocks, "gas_split", launch_s + flag_s + own_s + store_all_s + flag_s);
    }
    assert_price(&machine, PTO_COLLECTIVE_ALLREDUCE, "gas_gather",
                 launch_s + store_all_s + flag_s + 3 * own_s + store_all_s + flag_s);
    assert_price(&machine, PTO_COLLECTIVE_REDUCE, "gas_gather",
                 launch_s + flag_s + store_all_s + flag_s + 3 * own_s);
    assert_price(&machine, PTO_COLLECTIVE_ALLREDUCE, "gas_read",
                 launch_s + flag_s + own_s + load_all_s + flag_s + 3 * own_s);
    for (int i = 0; i < 2; i++) { /* the root's link carries all, while it copies its own block */
        pto_collective_t rooted = i ? PTO_COLLECTIVE_GATHER : PTO_COLLECTIVE_SCATTER;
        double root_s = i ? 0 : own_s; /* the same kernel that stores */
        assert_price(&machine, rooted, "gas_split", launch_s + flag_s + root_s + store_all_s + flag_s);
        assert_price(&machine, rooted, "gas_read", launch_s + flag_s + own_s - root_s + load_all_s + flag_s);
    }
    assert_price(&machine, PTO_COLLECTIVE_REDUCE_SCATTER, "gas_read",
                 launch_s + flag_s + own_s + load_all_s + flag_s + 3 * own_s);
    assert_price(&machine, PTO_COLLECTIVE_REDUCE_SCATTER, "gas_split",
                 launch_s + own_s + store_all_s + flag_s + 3 * own_s);
    const double store_one_s = store_s + s * store_s_per_byte, up_s = 2 * (store_one_s + flag_s + own_s),
                 down_s = 2 * (store_one_s + flag_s);
    assert_price(&machine, PTO_COLLECTIVE_ALLREDUCE, "gas_tree", launch_s + up_s + down_s);
    assert_price(&machine, PTO_COLLECTIVE_REDUCE, "gas_tree", launch_s + flag_s + up_s);
    assert_price(&machine, PTO_COLLECTIVE_BROADCAST, "gas_tree", launch_s + 2 * flag_s + own_s + down_s);
    double scatter_s = part_s + store_s + 3 * part * store_s_per_byte;
    double gather_s = store_s + 3 * part * store_s_per_byte;
    assert_price(&machine, PTO_COLLECTIVE_ALLREDUCE, "gas_split",
                 launch_s + scatter_s + flag_s + 3 * part_s + gather_s + flag_s);
}

/* A GPU's engine copies to others while another one copies its own block, however long that takes; both
 * follow a kernel, and another kernel follows both. */
TEST(engines_copy_to_others_and_within_at_once) {
    const double engine_s = 5e-6, engine_s_per_byte = 2.2e-9, within_s = 3e-6, part = 16 * 16;
    const double others_s = 3 * (engine_s + s * engine_s_per_byte); /* one after the other */
    pto_machine_t machine = machine_for_kernels();
    machine.peer[PTO_REACH_ON_SOCKET] =
        (pto_postal_t){.alpha_s = known(engine_s), .beta_s_per_byte = known(engine_s_per_byte)};
    machine.copies[PTO_COPY_D2D][PTO_REACH_ON_SOCKET] =
        (pto_postal_t){.alpha_s = known(within_s), .beta_s_per_byte = known(0)};
    const double around_s = 2 * (launch_s + flag_s);
    static const pto_collective_t of_blocks[] = {PTO_COLLECTIVE_ALLTOALL, PTO_COLLECTIVE_ALLTOALLV,
                                                 PTO_COLLECTIVE_ALLGATHER};
    for (int i = 0; i < 3; i++)
        assert_price(&machine, of_blocks[i], "copy_engine", around_s + others_s);
    assert_price(&machine, PTO_COLLECTIVE_SCATTER, "copy_engine", around_s + others_s);
    /* In a mesh, copies that follow each other have one pair's rate each, unless all links together are
     * slower. */
    machine.peer_all_s_per_byte = known(engine_s_per_byte / 3);
    assert_price(&machine, PTO_COLLECTIVE_ALLTOALL, "copy_engine", around_s + others_s);
    machine.peer_all_s_per_byte = known(2 * engine_s_per_byte);
    assert_price(&machine, PTO_COLLECTIVE_ALLTOALL, "copy_engine",
                 around_s + others_s + 3 * s * engine_s_per_byte);
    machine.peer_all_s_per_byte = (pto_param_t){0};
    machine.copies[PTO_COPY_D2D][PTO_REACH_ON_SOCKET].alpha_s = known(2 * others_s);
    assert_price(&machine, PTO_COLLECTIVE_ALLTOALL, "copy_engine", around_s + 2 * others_s);
    assert_price(&machine, PTO_COLLECTIVE_ALLREDUCE, "copy_engine",
                 launch_s + part * own_s_per_byte + store_s + 3 * part * store_s_per_byte + flag_s +
                     3 * part * own_s_per_byte + 3 * (engine_s + part * engine_s_per_byte) + launch_s +
                     flag_s);
}

TEST(engines_copy_only_what_and_where_they_may) {
    static const pto_collective_t of_blocks[] = {PTO_COLLECTIVE_ALLTOALL, PTO_COLLECTIVE_ALLTOALLV,
                                                 PTO_COLLECTIVE_ALLGATHER, PTO_COLLECTIVE_GATHER,
                                                 PTO_COLLECTIVE_SCATTER};
    for (size_t i = 0; i < sizeof of_blocks / sizeof *of_blocks; i++) {
        needs_flag(made(of_blocks[i], "copy_engine", four), "ready", "second run: writes bytes");
        needs_flag(made(of_blocks[i], "copy_engine", four), "copied", "the end: reads bytes");
    }
    needs_flag(made(PTO_COLLECTIVE_ALLREDUCE, "copy_engine", four), "shares stored",
               "stage 'reduce': reads bytes");
    needs_flag(made(PTO_COLLECTIVE_ALLREDUCE, "copy_engine", four), "copied", "the end: reads bytes");
}

/* 2,500 bytes come into the third GPU, more than leave any. With stores, all that store to it wait for its
 * link; with loads, it waits for its own. Loaded are at most 2,017 bytes from one GPU. */
TEST(the_busiest_link_of_an_alltoallv_holds_up_the_others) {
    const double most = 2500, own_s = 12 * own_s_per_byte,
                 stores_s = own_s + store_s + most * store_s_per_byte;
    pto_machine_t machine = machine_for_kernels();
    assert_plan_price(made_of_pairs("gas_split"), &machine, launch_s + flag_s + stores_s + flag_s);
    assert_plan_price(made_of_pairs("gas_allgather"), &machine,
                      launch_s + stores_s + flag_s + most * own_s_per_byte);
    assert_plan_price(made_of_pairs("gas_read"), &machine,
                      launch_s + flag_s + load_s + most * load_s_per_byte + flag_s);
    /* The second GPU's three copies share the time of the busiest link, in whole bytes. */
    static const int64_t bytes_of_two[] = {0, 0, 0, 0, 16, 0, 2000, 1, 0, 0, 0, 0, 0, 0, 500, 0};
    static const pto_counts_t by_two = {
        .kind = PTO_COUNTS_MATRIX, .order = 4, .matrix = (int64_t *)bytes_of_two};
    const double engine_s = 5e-6, engine_s_per_byte = 2.2e-9;
    const int64_t parts = 16 * 2500 / 2017 + 2000 * 2500 / 2017 + 1 * 2500 / 2017;
    machine.peer[PTO_REACH_ON_SOCKET] =
        (pto_postal_t){.alpha_s = known(engine_s), .beta_s_per_byte = known(engine_s_per_byte)};
    machine.copies[PTO_COPY_D2D][PTO_REACH_ON_SOCKET] =
        (pto_postal_t){.alpha_s = known(1e-6), .beta_s_per_byte = known(0)};
    assert_plan_price(made_of(&by_two, "copy_engine"), &machine,
                      2 * (launch_s + flag_s) + 3 * engine_s + (double)parts * engine_s_per_byte);
    machine.remote_all_s_per_byte = known(store_s_per_byte / 4);
    assert_plan_price(made_of_pairs("gas_split"), &machine, /* the largest block, by a link of its own */
                      launch_s + flag_s + store_s + 2000 * store_s_per_byte + flag_s);
}

/* The busiest link carries a row of 16 cells, a column of 8 and a corner. At an edge that does not wrap the
 * borders of two phases are a cell longer. */
TEST(a_halo_costs_two_flags_and_its_borders) {
    static const struct {
        pto_corners_t corners;
        bool wraps;
        int64_t cells;
    } cases[] = {{PTO_CORNERS_DIAGONAL, false, 16 + 8 + 1},
                 {PTO_CORNERS_NONE, false, 16 + 8},
                 {PTO_CORNERS_TWO_PHASE, false, 17 + 9 + 1},
                 {PTO_CORNERS_TWO_PHASE, true, 2 * 16 + 2 * 8 + 4}};
    pto_machine_t machine = machine_for_kernels();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pto_plan_t *plan = plan_of(halo(cases[i].corners, cases[i].wraps, false));
        double bytes = (double)(4 * cases[i].cells);
        assert_near(agreed_s(plan, &machine), launch_s + flag_s + store_s + bytes * store_s_per_byte + flag_s,
                    1e-9);
    }
}

/* Of four inputs that one pass reads two cost what a reduction costs, and each byte of the others less. */
TEST(additional_inputs_in_a_kernel_cost_the_same_as_elsewhere) {
    pto_machine_t machine = machine_for_kernels();
    machine.reduce[PTO_SPACE_GPU].row[0].extra_input_s_per_byte = known(own_s_per_byte / 3);
    double own_s = s * own_s_per_byte;
    assert_price(&machine, PTO_COLLECTIVE_ALLREDUCE, "gas_allgather",
                 launch_s + own_s + store_s + 3 * s * store_s_per_byte + flag_s + own_s + 2 * own_s / 3);
}

/* One pair alone is faster than all at once: the slower of the two holds. */
TEST(concurrent_stores_of_all_gpus_are_limited) {
    pto_machine_t machine = machine_for_kernels();
    machine.remote_all_s_per_byte = known(all_s_per_byte);
    double own_s = s * own_s_per_byte;
    assert_price(&machine, PTO_COLLECTIVE_ALLTOALL, "gas_split",
                 launch_s + flag_s + own_s + store_s + 3 * s * all_s_per_byte + flag_s);
    machine.remote_all_s_per_byte = known(store_s_per_byte / 4);
    assert_price(&machine, PTO_COLLECTIVE_ALLTOALL, "gas_split",
                 launch_s + flag_s + own_s + store_s + s * store_s_per_byte + flag_s);
}

TEST(remote_access_must_be_known) {
    pto_machine_t machine = machine_for_kernels();
    machine.remote[PTO_REMOTE_LOAD][PTO_REACH_ON_SOCKET] = (pto_postal_t){0};
    pto_plan_t *plan = made(PTO_COLLECTIVE_ALLTOALL, "gas_read", four);
    assert_string_equal(no_price(plan, &machine, PTO_ERR_NOT_APPLICABLE),
                        "machine simple has no remote.load.on_socket, which the plan needs");
}
