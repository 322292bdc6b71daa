/* The terms that the papers' models lack (docs/model.md, 'Additional terms'): gaps between messages in
 * flight, queues at a GPU's copy engine, a node's message rate, contention, staging. */
#include "decide/candidates.h"
#include "made_machine.h"
#include "must.h"
#include "plan/plan_internal.h"
#include "plan_request.h"
#include "portolan/pick.h"
#include "price/ledger.h"
#include "priced.h"
#include "test.h"

/* Every cost is a round number: a message 10 us + 1 ns/B, a copy 10 us + 1 ns/B; of two at once 16 us, of
 * four 32. */
static const char base[] = "machine: made up\n"
                           "source: for these tests\n"
                           "node: {sockets: 1, gpus: 8, cores: 64}\n"
                           "messages:\n"
                           "  cpu:\n"
                           "    on_socket: [{protocol: eager, alpha_s: 1e-6, beta_s_per_byte: 1e-9}]\n"
                           "    on_node: [{protocol: eager, alpha_s: 1e-6, beta_s_per_byte: 1e-9}]\n"
                           "    off_node: [{protocol: eager, alpha_s: 1e-5, beta_s_per_byte: 1e-9}]\n"
                           "  gpu:\n"
                           "    on_socket: [{protocol: eager, alpha_s: 2e-5, beta_s_per_byte: 1e-9}]\n"
                           "    on_node: [{protocol: eager, alpha_s: 2e-5, beta_s_per_byte: 1e-9}]\n"
                           "    off_node: [{protocol: eager, alpha_s: 3e-5, beta_s_per_byte: 1e-9}]\n";

static const char copies[] = "copies:\n"
                             "  h2d: {on_socket: {alpha_s: 1e-5, beta_s_per_byte: 1e-9}}\n"
                             "  d2h: {on_socket: {alpha_s: 1e-5, beta_s_per_byte: 1e-9}}\n";

static const char sharing[] =
    "  shared:\n"
    "    h2d:\n"
    "      - {procs: 2, alpha_s: 16e-6, beta_s_per_byte: 1e-9}\n"
    "      - {procs: 4, alpha_s: 32e-6, beta_s_per_byte: 1e-9}\n"
    "    d2h:\n"
    "      - {procs: 2, below_bytes: 1024, alpha_s: 100e-6, beta_s_per_byte: 1e-9}\n"
    "      - {procs: 2, alpha_s: 16e-6, beta_s_per_byte: 1e-9}\n";

static pto_machine_t machine_with(const char *more, const char *yet_more) {
    char text[4096];
    snprintf(text, sizeof text, "%s%s%s%s", base, copies, more, yet_more);
    return must_parse(text);
}

static double seconds_of(const pto_request_t *request, const pto_machine_t *machine) {
    return agreed_s(must_plan(request), machine);
}

/* --- gaps ----------------------------------------------------------------------------------------------- */

TEST(messages_in_flight_cost_a_start_and_gaps) {
    pto_machine_t machine =
        machine_with("gap:\n"
                     "  cpu:\n"
                     "    - {protocol: eager, below_bytes: 512, alpha_s: 2e-6, beta_s_per_byte: 0}\n"
                     "    - {protocol: rendezvous, alpha_s: 3e-6, beta_s_per_byte: 1e-10}\n",
                     "");
    for (int64_t nodes = 2; nodes <= 5; nodes++)
        for (int64_t bytes = 256; bytes <= 4096; bytes *= 4) {
            pto_request_t linear =
                request_for(PTO_COLLECTIVE_ALLTOALL, "three_step", "linear", nodes, 1, 1, bytes);
            double s = (double)bytes;
            double gap = bytes < 512 ? 2e-6 : 3e-6 + 1e-10 * s;
            double copying = 2 * (1e-5 + 1e-9 * (double)nodes * s);
            assert_near(seconds_of(&linear, &machine), copying + 1e-5 + 1e-9 * s + (double)(nodes - 2) * gap,
                        1e-9);
        }
}

/* The first message of each distance costs a whole start. Host messages within the node have no gap. */
TEST(gpu_messages_within_the_node_have_gaps_by_distance) {
    pto_machine_t machine =
        machine_with("gap:\n"
                     "  within:\n"
                     "    gpu:\n"
                     "      on_socket: [{protocol: eager, alpha_s: 5e-6, beta_s_per_byte: 1e-10}]\n"
                     "      on_node: [{protocol: eager, alpha_s: 7e-6, beta_s_per_byte: 0}]\n",
                     "");
    const double s = 4096, whole = 2e-5 + 1e-9 * s, near = 5e-6 + 1e-10 * s, far = 7e-6;
    pto_request_t request = request_for(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "linear", 1, 4, 1, 4096);
    request.layout.gpus_per_socket = 4;
    assert_near(seconds_of(&request, &machine), whole + 2 * near, 1e-9);
    request.layout.gpus_per_node = 8;
    assert_near(seconds_of(&request, &machine), 2 * whole + 2 * near + 3 * far, 1e-9);
    request.strategy = strategy_named("three_step");
    assert_near(seconds_of(&request, &machine), 2 * (1e-5 + 1e-9 * 8 * s) + 7 * (1e-6 + 1e-9 * s), 1e-9);
}

/* Processes of one GPU have the gap of their messages' cost. */
TEST(a_gap_on_the_gpu_falls_back_with_the_message) {
    static const char gap[] =
        "gap: {within: {gpu: {on_socket: [{protocol: eager, alpha_s: 5e-6, beta_s_per_byte: 0}]}}}\n";
    pto_machine_t machine = machine_with(gap, "");
    assert_ptr_equal(pto_machine_gap(&machine, PTO_SPACE_GPU, PTO_LEVEL_ON_GPU),
                     &machine.gap[PTO_SPACE_GPU][PTO_LEVEL_ON_SOCKET]);
    machine.messages[PTO_SPACE_GPU][PTO_LEVEL_ON_GPU].count = 1;
    assert_null(pto_machine_gap(&machine, PTO_SPACE_GPU, PTO_LEVEL_ON_GPU));
    machine.messages[PTO_SPACE_GPU][PTO_LEVEL_ON_GPU].count = 0;
}

/* Rounds wait for each other, so that none of their messages is a further one. */
TEST(rounds_know_no_gaps) {
    pto_machine_t with =
        machine_with("gap: {cpu: [{protocol: eager, alpha_s: 1e-7, beta_s_per_byte: 0}]}\n", "");
    pto_machine_t without = machine_with("", "");
    pto_request_t rounds = request_for(PTO_COLLECTIVE_ALLTOALL, "three_step", "pairwise", 4, 1, 1, 64);
    assert_near(seconds_of(&rounds, &with), seconds_of(&rounds, &without), 1e-9);
}

/* Destinations are dealt out over 2 processes: by hand each sends to every other one only, a library's
 * alltoallv also posts the empty ones. */
TEST(a_library_posts_empty_messages_too) {
    pto_machine_t machine = machine_with("", "");
    pto_request_t request = request_for(PTO_COLLECTIVE_ALLTOALLV, "dup_devptr", "linear", 5, 1, 2, 1000);
    double by_library = seconds_of(&request, &machine);
    request.by_library = false;
    request.implementation = PTO_IMPLEMENTATION_ISEND_IRECV;
    assert_near(by_library - seconds_of(&request, &machine), 2 * 1e-5, 1e-9);
}

/* --- copies --------------------------------------------------------------------------------------------- */

/* A halo's two sides are copied to the host and, after their messages, back: the second copy of each stage is
 * in the stream when the first one ends. */
TEST(a_copy_behind_another_costs_its_place_in_the_stream) {
    pto_machine_t with = machine_with("  queued: {h2d: 3e-6, d2h: 2e-6}\n", "");
    pto_machine_t without = machine_with("", "");
    pto_request_t halo = request_for(PTO_COLLECTIVE_HALO, "three_step", "neighbors", 1, 2, 1, 4);
    halo.halo =
        (pto_halo_t){.dim_count = 2, .dims = {2, 1}, .wrap = {true, false}, .extent = {4, 64}, .width = 1};
    assert_near(seconds_of(&halo, &without) - seconds_of(&halo, &with), (1e-5 - 2e-6) + (1e-5 - 3e-6), 1e-9);
}

/* Messages come between the copies of cut blocks by hand; the library waits for each of its copies. */
TEST(copies_that_are_waited_for_have_no_place_in_the_stream) {
    pto_machine_t with = machine_with("  d2d: {on_socket: {alpha_s: 1e-5, beta_s_per_byte: 1e-12}}\n"
                                      "  queued: {h2d: 3e-6, d2h: 2e-6, d2d: 4e-6}\n",
                                      "");
    pto_machine_t without = machine_with("  d2d: {on_socket: {alpha_s: 1e-5, beta_s_per_byte: 1e-12}}\n", "");
    pto_request_t staged = request_for(PTO_COLLECTIVE_ALLTOALL, "three_step", "pairwise", 4, 1, 1, 64);
    assert_near(seconds_of(&staged, &with), seconds_of(&staged, &without), 1e-9);
    pto_request_t rotated = request_for(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "bruck", 5, 1, 1, 64);
    assert_near(seconds_of(&rotated, &with), seconds_of(&rotated, &without), 1e-9);
    rotated.by_library = false;
    assert_true(seconds_of(&rotated, &with) < seconds_of(&rotated, &without));
}

/* Four processes of a GPU whose library stages an allreduce: the first one's copies cost what pageable memory
 * does, the others wait in its queues as with pinned memory. R(4) - R(1) is 22 us, and s to the host. */
TEST(pageable_copies_wait_for_each_other) {
    static const char pageable[] = "  pageable: {h2d: {alpha_s: 2e-5, beta_s_per_byte: 1e-9}, "
                                   "d2h: {alpha_s: 2e-5, beta_s_per_byte: 1e-9}}\n";
    pto_machine_t with = machine_with(pageable, sharing), without = machine_with(pageable, "");
    pto_request_t request =
        request_for(PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "recursive_doubling", 1, 1, 4, 4096);
    const double s = 4.096e-6;
    request.layout.owners_per_gpu = 4;
    request.staged = true;
    assert_near(seconds_of(&request, &with) - seconds_of(&request, &without), 2 * 22e-6 + (1 + 2 - 2 * 4) * s,
                1e-9);
    request.layout.owners_per_gpu = 1;
    request.layout.gpus_per_node = 2;
    assert_near(seconds_of(&request, &with), seconds_of(&request, &without), 1e-9);
}

/* One process after another asks for a copy; where it stood, and where it stands at the end. */
static double copy_after(pto_copy_queue_t *queue, const pto_machine_t *machine, pto_copy_kind_t kind,
                         double arrival_s, int64_t bytes) {
    pto_one_copy_t copy = {.kind = kind, .bytes = bytes, .piece_bytes = bytes};
    pto_ledger_t mine = {.time = {.s = arrival_s}};
    pto_charge_t charge;
    pto_charge_begin(&charge, "copy", NULL);
    assert_true(pto_copy_queue_enter(queue, machine, copy, queue->count, &mine, &charge));
    assert_true(pto_ledger_add(&mine, &charge, charge.other));
    assert_true(pto_copy_queue_leave(queue, queue->count, &mine));
    double end_s = mine.time.s;
    pto_ledger_fini(&mine);
    return end_s;
}

TEST(copies_at_once_end_as_their_number_was_measured) {
    pto_machine_t machine = machine_with(sharing, "");
    pto_copy_queue_t queue = {0};
    /* 10 alone; 16 and 32 of two and four; 24 in between; from four on 8 more for each. */
    const double end_us[] = {10, 16, 24, 32, 40, 48};
    for (size_t i = 0; i < sizeof end_us / sizeof *end_us; i++)
        assert_near(copy_after(&queue, &machine, PTO_COPY_H2D, 0, 0), end_us[i] * 1e-6, 1e-9);
    pto_copy_queue_fini(&queue);
}

/* The benchmark's own time of one process, with all GPUs of the node at work, stands for one alone. */
TEST(one_process_may_have_a_row) {
    pto_machine_t machine = machine_with("  shared:\n"
                                         "    h2d:\n"
                                         "      - {procs: 1, alpha_s: 12e-6, beta_s_per_byte: 1e-9}\n"
                                         "      - {procs: 3, alpha_s: 18e-6, beta_s_per_byte: 1e-9}\n",
                                         "");
    pto_copy_queue_t queue = {0};
    const double end_us[] = {12, 15, 18, 24};
    for (size_t i = 0; i < sizeof end_us / sizeof *end_us; i++)
        assert_near(copy_after(&queue, &machine, PTO_COPY_H2D, 0, 0), end_us[i] * 1e-6, 1e-9);
    pto_copy_queue_fini(&queue);
}

TEST(later_copies_wait_for_fewer_others) {
    pto_machine_t machine = machine_with(sharing, "");
    pto_copy_queue_t queue = {0};
    assert_near(copy_after(&queue, &machine, PTO_COPY_H2D, 0, 0), 10e-6, 1e-9);
    assert_near(copy_after(&queue, &machine, PTO_COPY_H2D, 2e-6, 0), 16e-6, 1e-9);
    assert_near(copy_after(&queue, &machine, PTO_COPY_H2D, 12e-6, 0), 22e-6,
                1e-9); /* alone would end at 22 too */
    assert_near(copy_after(&queue, &machine, PTO_COPY_H2D, 50e-6, 0), 60e-6, 1e-9); /* nobody is left */
    pto_copy_queue_fini(&queue);
}

/* Where a second copy takes longer than one alone, turns are taken: one that comes 30 us after the first has
 * ended still waits, until 90 us after that, but not for a copy of its own. */
TEST(a_turn_lasts_whether_it_is_used_or_not) {
    pto_machine_t machine = machine_with(sharing, "");
    pto_copy_queue_t queue = {0};
    assert_near(copy_after(&queue, &machine, PTO_COPY_D2H, 0, 0), 10e-6, 1e-9);
    assert_near(copy_after(&queue, &machine, PTO_COPY_D2H, 40e-6, 0), 10e-6 + 90e-6, 1e-9);
    assert_near(copy_after(&queue, &machine, PTO_COPY_D2H, 200e-6, 0), 210e-6, 1e-9);
    pto_ledger_t mine = {.time = {.s = 230e-6}};
    pto_charge_t charge;
    pto_charge_begin(&charge, "copy", NULL);
    pto_one_copy_t copy = {.kind = PTO_COPY_D2H};
    assert_true(pto_copy_queue_enter(&queue, &machine, copy, 2, &mine, &charge));
    assert_near(charge.other.s, 10e-6, 1e-9);
    pto_copy_queue_fini(&queue);
}

/* The other direction's copies are waited for as well, and small ones may have a row of their own. */
TEST(both_directions_share_the_queue) {
    pto_machine_t machine = machine_with(sharing, "");
    pto_copy_queue_t queue = {0};
    assert_near(copy_after(&queue, &machine, PTO_COPY_H2D, 0, 2000), 12e-6, 1e-9);
    assert_near(copy_after(&queue, &machine, PTO_COPY_D2H, 0, 2000), 12e-6 + 6e-6, 1e-9);
    assert_near(copy_after(&queue, &machine, PTO_COPY_D2H, 15e-6, 0), 18e-6 + 90e-6, 1e-9);
    pto_copy_queue_fini(&queue);
}

/* Shares of several blocks lie apart on the GPU, those of one block don't. */
TEST(strided_copies_have_rows_of_their_own) {
    const char *rows = "  shared:\n"
                       "    h2d:\n"
                       "      - {procs: 2, alpha_s: 500e-6, beta_s_per_byte: 0}\n"
                       "      - {procs: 2, strided: true, alpha_s: 16e-6, beta_s_per_byte: 0}\n"
                       "    d2h: [{procs: 2, alpha_s: 16e-6, beta_s_per_byte: 0}]\n";
    pto_machine_t machine = machine_with(rows, "");
    pto_request_t apart = request_for(PTO_COLLECTIVE_ALLTOALL, "dup_devptr", "pairwise", 2, 1, 2, 8);
    pto_request_t together =
        request_for(PTO_COLLECTIVE_ALLREDUCE, "dup_devptr", "recursive_doubling", 2, 1, 2, 8);
    assert_true(seconds_of(&apart, &machine) < 60e-6);
    together.layout.procs_per_gpu = 8;
    apart.layout.procs_per_gpu = 8;
    apart.bytes = together.bytes = 32;
    assert_true(seconds_of(&apart, &machine) < 150e-6);
    assert_true(seconds_of(&together, &machine) > 500e-6);
}

/* Two processes of a GPU: the second's copy out ends 6 us after the first's, its allreduce takes as long, and
 * when it comes back the engine is free. */
TEST(a_queue_overlaps_with_the_collective) {
    pto_machine_t machine = machine_with("  shared:\n"
                                         "    h2d: [{procs: 2, alpha_s: 16e-6, beta_s_per_byte: 1e-9}]\n"
                                         "    d2h: [{procs: 2, alpha_s: 16e-6, beta_s_per_byte: 1e-9}]\n",
                                         "");
    pto_request_t request =
        request_for(PTO_COLLECTIVE_ALLREDUCE, "dup_devptr", "recursive_doubling", 2, 1, 2, 8);
    double exchange_s = 1e-5 + 4e-9;
    assert_near(seconds_of(&request, &machine), 16e-6 + 4e-9 + exchange_s + 10e-6 + 4e-9, 1e-9);
}

/* --- limits of a node ----------------------------------------------------------------------------------- */

TEST(receivers_are_contended_for_from_three_nodes_on) {
    pto_machine_t plain = machine_with("injection: {cpu: {s_per_byte: 1e-9}}\n", "");
    pto_machine_t contended =
        machine_with("injection: {cpu: {s_per_byte: 1e-9}}\n", "network: {contention: 0.5}\n");
    for (int64_t nodes = 2; nodes <= 9; nodes++) {
        pto_request_t request =
            request_for(PTO_COLLECTIVE_ALLTOALL, "three_step", "linear", nodes, 4, 1, 100000);
        double bytes = 4 * 4 * (double)(nodes - 1) * 100000;
        double more = 0.5 * (double)(nodes - 2) / (double)(nodes - 1) * bytes * 1e-9;
        assert_near(seconds_of(&request, &contended), seconds_of(&request, &plain) + more, 1e-9);
    }
}

TEST(pairs_of_partners_do_not_contend) {
    pto_machine_t plain = machine_with("injection: {cpu: {s_per_byte: 1e-9}}\n", "");
    pto_machine_t contended =
        machine_with("injection: {cpu: {s_per_byte: 1e-9}}\n", "network: {contention: 0.5}\n");
    pto_request_t request =
        request_for(PTO_COLLECTIVE_ALLREDUCE, "three_step", "recursive_doubling", 8, 4, 1, 100000);
    assert_near(seconds_of(&request, &contended), seconds_of(&request, &plain), 1e-9);
}

/* 8 GPUs of a node send 8 messages each: 64 at 5 us are more than any process's own 8 at 10 us. */
TEST(a_nodes_message_rate_is_limited) {
    pto_machine_t machine = machine_with("injection: {cpu: {s_per_byte: 1e-10, s_per_message: 5e-6}}\n", "");
    pto_request_t request =
        request_for(PTO_COLLECTIVE_MESSAGES, "three_step", "point_to_point", 2, 8, 1, 1000);
    request.messages = 8;
    double copying = 2 * (1e-5 + 8e-6);
    assert_near(seconds_of(&request, &machine), copying + 64 * 5e-6 + 64000 * 1e-10, 1e-9);
    request.layout.gpus_per_node = 1;
    assert_near(seconds_of(&request, &machine), copying + 8 * (1e-5 + 1e-6), 1e-9);
}

/* A step that names a peer's memory has each process of the first node priced by itself. Together they send
 * what the node sends, though its groups span all of them. */
TEST(processes_priced_one_by_one_share_their_nodes_limit) {
    static const struct {
        const char *strategy;
        const char *algorithm;
        int64_t owners;
    } made[] = {{"cuda_aware", "linear", 1},
                {"cuda_aware", "linear", 2},
                {"three_step", "pairwise", 1},
                {"dup_devptr", "linear", 1}};
    pto_machine_t machine =
        machine_with("injection: {cpu: {s_per_byte: 1e-7}, gpu: {s_per_byte: 1e-7}}\n", "");
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        pto_request_t request =
            request_for(PTO_COLLECTIVE_ALLTOALL, made[i].strategy, made[i].algorithm, 3, 4, 2, 1000);
        request.layout.owners_per_gpu = made[i].owners;
        double by_class_s = seconds_of(&request, &machine);
        pto_plan_t *plan = must_plan(&request);
        for (int s = 0; s < plan->steps.count; s++)
            if (pto_plan_step(plan, s)->kind == PTO_STEP_RECV)
                ((pto_step_t *)plan->steps.item)[s].source.holder = PTO_HOLDER_PEER; /* a receive has none */
        assert_true(pto_plan_uses_peers_memory(plan));
        assert_near(must_price(plan, &machine).seconds, by_class_s, 1e-9);
    }
}

/* --- staging -------------------------------------------------------------------------------------------- */

/* A library that stages GPU buffers is three_step inside: dearer by its pageable memory only. */
TEST(a_staging_library_is_three_step_with_pageable_memory) {
    pto_machine_t pinned = machine_with("", "");
    pto_machine_t pageable = machine_with("  pageable:\n"
                                          "    h2d: {alpha_s: 15e-6, beta_s_per_byte: 3e-9}\n"
                                          "    d2h: {alpha_s: 12e-6, beta_s_per_byte: 3e-9}\n",
                                          "");
    pto_request_t staged = request_for(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "pairwise", 2, 2, 1, 100);
    pto_request_t three_step = request_for(PTO_COLLECTIVE_ALLTOALL, "three_step", "pairwise", 2, 2, 1, 100);
    staged.staged = true;
    double expected = seconds_of(&three_step, &pinned);
    assert_near(seconds_of(&staged, &pinned), expected, 1e-9);
    assert_near(seconds_of(&three_step, &pageable), expected, 1e-9);
    assert_near(seconds_of(&staged, &pageable), expected + 7e-6 + 2 * 400 * 2e-9, 1e-9);
    staged.staged = false;
    assert_true(fabs(seconds_of(&staged, &pinned) - expected) > 1e-5);
}

/* The blocks of an alltoallv may leave gaps in the output, which the copy back must not overwrite. */
TEST(a_staging_library_copies_the_output_of_an_alltoallv_to_the_host_too) {
    pto_machine_t machine = machine_with("", "");
    pto_request_t request = request_for(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "pairwise", 2, 2, 1, 100);
    request.by_library = request.staged = true;
    double alltoall_s = seconds_of(&request, &machine);
    request.collective = PTO_COLLECTIVE_ALLTOALLV;
    assert_near(seconds_of(&request, &machine), alltoall_s + 1e-5 + 400 * 1e-9, 1e-9);
}

/* It reads the input where it is; our algorithm on GPU buffers works in place, on a copy of it. */
TEST(a_staging_library_copies_no_input_within_the_gpu) {
    pto_machine_t machine = machine_with("  d2d: {on_socket: {alpha_s: 7e-6, beta_s_per_byte: 1e-9}}\n", "");
    pto_request_t library = request_for(PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "ring", 2, 2, 1, 400);
    pto_request_t by_hand = request_for(PTO_COLLECTIVE_ALLREDUCE, "three_step", "ring", 2, 2, 1, 400);
    library.by_library = true;
    double direct_s = seconds_of(&library, &machine);
    library.staged = true;
    assert_near(seconds_of(&library, &machine), seconds_of(&by_hand, &machine), 1e-9);
    library.by_library = library.staged = false;
    assert_near(seconds_of(&library, &machine), direct_s, 1e-9);
    machine = machine_with("", "");
    assert_near(seconds_of(&library, &machine), direct_s - 7e-6 - 400 * 1e-9, 1e-9);
}

/* The machine's table says who stages; a scenario that asks for `best` overrides it. */
TEST(the_machine_says_that_its_library_stages) {
    pto_machine_t machine = machine_with(
        "", "library: {alltoall: {gpu: [{algorithm: linear, staged: true}], cpu: [{algorithm: linear}]}}\n");
    pto_scenario_t *scenario = scenario_at(PTO_COLLECTIVE_ALLTOALL, 2, 64);
    scenario->layout =
        (pto_layout_t){.nodes = 2, .gpus_per_node = 2, .owners_per_gpu = 1, .procs_per_gpu = 1};
    must_bind(scenario, &machine);
    pto_predictions_t said = must_predict(scenario, &machine, true);
    scenario->library.best = true;
    pto_predictions_t best = must_predict(scenario, &machine, true);
    assert_string_equal(said.strategy[0]->name, "cuda_aware");
    assert_string_equal(said.strategy[1]->name, "three_step");
    assert_near(said.prediction[0].price.seconds, said.prediction[1].price.seconds, 1e-9);
    assert_true(best.prediction[0].price.seconds > said.prediction[0].price.seconds + 1e-5);
}

/* A library's table whose copies have no cost is not used: its calls would look cheap. Picks that rest on it
 * are unsure. */
TEST(a_table_without_its_copies_costs_is_not_used) {
    const pto_machine_t plain = machine_with("", "");
    pto_machine_t *machine = must_duplicate(&plain);
    assert_int_equal(pto_machine_use_library(machine, "scenarios/libraries/spectrum-mpi.yaml", NULL), PTO_OK);
    pto_scenario_t *scenario = scenario_at(PTO_COLLECTIVE_ALLREDUCE, 2, 1000);
    scenario->layout =
        (pto_layout_t){.nodes = 2, .gpus_per_node = 2, .owners_per_gpu = 1, .procs_per_gpu = 1};
    pto_request_t request = request_for(PTO_COLLECTIVE_ALLREDUCE, "three_step", "ring", 2, 2, 1, 1000);
    for (int large = 0; large < 2; large++) {
        request.bytes = large ? 1 << 20 : 64;
        request.strategy = strategy_named("three_step");
        const pto_library_rule_t *staged_by_us = pto_library_rule(scenario, machine, &request);
        assert_int_equal(staged_by_us != NULL, !large); /* in two levels, within host memory */
        request.strategy = strategy_named("cuda_aware");
        assert_null(pto_library_rule(scenario, machine, &request)); /* through pageable memory */
        assert_true(pto_library_is_unknown(scenario, machine, &request));
    }
    machine->pageable[PTO_COPY_D2H] = machine->copies[PTO_COPY_D2H][PTO_REACH_ON_SOCKET];
    machine->copies[PTO_COPY_H2H][PTO_REACH_ON_SOCKET] = machine->pageable[PTO_COPY_D2H];
    assert_string_equal(pto_library_rule(scenario, machine, &request)->algorithm, "hierarchical");
    assert_false(pto_library_is_unknown(scenario, machine, &request));
}

/* Data that lie where the results go are set aside first: one copy in host memory more. */
TEST(in_place_sets_the_data_aside) {
    pto_machine_t machine = machine_with("  h2h: {on_socket: {alpha_s: 0, beta_s_per_byte: 2e-10}}\n", "");
    pto_request_t plain = request_for(PTO_COLLECTIVE_ALLTOALL, "three_step", "pairwise", 2, 2, 1, 1000);
    pto_request_t in_place =
        request_for(PTO_COLLECTIVE_ALLTOALL, "three_step", "pairwise_in_place", 2, 2, 1, 1000);
    assert_near(seconds_of(&in_place, &machine), seconds_of(&plain, &machine) + 4000 * 2e-10, 1e-9);
}

/* --- explanations --------------------------------------------------------------------------------------- */

TEST(a_stage_explains_any_number_of_addends) {
    pto_machine_t machine = made_machine();
    pto_machine_param_t *param = NULL;
    int count = 0;
    assert_int_equal(pto_machine_params(&machine, &param, &count, NULL), PTO_OK);
    pto_ledger_t terms = {0}, ledger = {0};
    pto_charge_t charge;
    pto_charge_begin(&charge, "everything", &terms);
    int entered = 0;
    for (int i = 0; i < count; i++)
        if (param[i].param && param[i].param->value > 0) {
            pto_charge_param(&charge, param[i].param, PTO_SPACE_CPU, 2);
            entered++;
        }
    assert_true(pto_ledger_add(&ledger, &charge, charge.other));
    assert_true(entered > 60);
    assert_int_equal(ledger.entry_count, entered);
    double sum_s = 0;
    for (int i = 0; i < ledger.entry_count; i++)
        sum_s += ledger.entry[i].count * ledger.entry[i].param->value;
    assert_near(sum_s, ledger.time.s, 1e-9);
    pto_ledger_fini(&terms);
    pto_ledger_fini(&ledger);
    free(param);
    pto_machine_fini(&machine);
}
