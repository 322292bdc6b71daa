/* Strategies inside the node: everything that keeps their runs apart is proved necessary, and prices equal
 * the closed formulas of their steps. */
#include "inside_plan.h"
#include "machine/machine_internal.h"
#include "must.h"
#include "portolan/pick.h"
#include "portolan/price.h"
#include "portolan/simulate.h"
#include "priced.h"
#include "test.h"

static const pto_layout_t four_gpus = {1, 4, 1, 1, 4, false}, one_gpu = {1, 1, 4, 4, 1, false},
                          two_by_two = {1, 2, 2, 2, 1, false};

/* --- what orders a run, and what two -------------------------------------------------------------------- */

TEST(reducing_before_all_have_copied_is_found) {
    needs_flag(made(PTO_COLLECTIVE_ALLREDUCE, "gsb", four_gpus), "copied",
               "rank 0, stage 'reduce': reads bytes 1000..1999 of 'gathered' of rank 0, unordered with "
               "rank 1's write");
    needs_flag(made(PTO_COLLECTIVE_REDUCE_SCATTER, "gsb", four_gpus), "copied",
               "rank 0, stage 'reduce': reads bytes 4000..7999 of 'gathered' of rank 0, unordered with "
               "rank 1's write");
}

TEST(copying_out_before_completion_is_found) {
    needs_flag(made(PTO_COLLECTIVE_ALLREDUCE, "gsb", one_gpu), "complete",
               "rank 1, stage 'copy out': reads bytes 0..999 of 'result' of rank 0, unordered with rank "
               "0's write");
    needs_flag(made(PTO_COLLECTIVE_REDUCE_SCATTER, "gsb", one_gpu), "complete",
               "rank 1, stage 'copy out': reads bytes 1000..1999 of 'result' of rank 0, unordered");
    needs_flag(made(PTO_COLLECTIVE_ALLGATHER, "gsb", one_gpu), "copied",
               "rank 0, stage 'copy out': reads bytes 1000..1999 of 'gathered' of rank 0, unordered");
    needs_flag(made(PTO_COLLECTIVE_ALLGATHER, "gsb", one_gpu), "complete",
               "rank 1, stage 'copy out': reads bytes 0..999 of 'gathered' of rank 0, unordered");
}

/* The very case of the toggling completion flag: a result that lies where the next run's input comes. */
TEST(a_result_in_the_place_of_an_input_is_found_by_the_second_run) {
    pto_plan_t *plan = made(PTO_COLLECTIVE_ALLREDUCE, "gsb", four_gpus);
    int gathered = buffer_named(plan, "gathered");
    pto_slice_t first = step_in(plan, "gather", PTO_STEP_COPY)->target;
    first.anchor = PTO_ANCHOR_ABSOLUTE;
    pto_step_t *reduce = step_in(plan, "reduce", PTO_STEP_REDUCE),
               *out = step_in(plan, "copy out", PTO_STEP_COPY);
    assert_int_equal(first.buffer, gathered);
    reduce->fresh = false;
    reduce->source.until.constant--;
    reduce->source.run.constant--;
    reduce->source.offset.constant++;
    reduce->target = first;
    out[0].source = first;
    out[1].source = first;
    out[1].source.holder = PTO_HOLDER_PEER;
    refused_for(plan, "rank 0, stage 'gather', second run: writes bytes 0..999 of 'gathered' of rank 0, "
                      "unordered with rank 3's read");
}

TEST(runs_that_nothing_orders_need_a_flag_before) {
    needs_flag(made(PTO_COLLECTIVE_REDUCE, "gsb", two_by_two), "inputs free",
               "stage 'gather', second run: writes bytes 1000..1999 of 'gathered' of rank 0, unordered "
               "with rank 0's read");
    needs_flag(made(PTO_COLLECTIVE_BROADCAST, "gsb", two_by_two), "result free",
               "stage 'share', second run: writes bytes 0..999 of 'result' of rank 0, unordered with "
               "rank 3's read");
    needs_flag(made(PTO_COLLECTIVE_ALLGATHER, "gsb", two_by_two), "result free",
               "stage 'gather', second run: writes bytes 0..999 of 'gathered' of rank 0, unordered "
               "with rank 3's read");
    needs_flag(made(PTO_COLLECTIVE_ALLGATHER, "gsb", two_by_two), "inputs free",
               "stage 'gather', second run: writes bytes 1000..1999 of 'gathered' of rank 0, "
               "unordered with rank 3's read");
    needs_flag(made(PTO_COLLECTIVE_SCATTER, "gsb", two_by_two), "result free",
               "stage 'share', second run: writes bytes");
    needs_flag(made(PTO_COLLECTIVE_SCATTER, "gsb", two_by_two), "complete", "stage 'copy out': reads bytes");
    needs_flag(made(PTO_COLLECTIVE_GATHER, "gsb", two_by_two), "output free",
               "stage 'gather', second run: writes bytes");
    needs_flag(made(PTO_COLLECTIVE_GATHER, "gsb", two_by_two), "copied", "the end: reads bytes");
    needs_flag(made(PTO_COLLECTIVE_REDUCE, "btb", two_by_two), "tree free",
               "stage 'enter the tree', second run: writes bytes 1000..1999 of 'tree' of rank 0, "
               "unordered with rank 2's write");
}

TEST(levels_of_the_tree_need_their_flags) {
    needs_flag(made(PTO_COLLECTIVE_ALLREDUCE, "btb", four_gpus), "at this level",
               "rank 2, stage 'up the tree': writes bytes 1000..1999 of 'tree' of rank 0, unordered with "
               "rank 1's write");
}

TEST(memory_and_flags_end_at_the_node) {
    pto_plan_t *plan = made(PTO_COLLECTIVE_ALLREDUCE, "gsb", two_by_two);
    plan->request.layout.nodes = 2;
    plan->request.layout.gpus_per_node = 1;
    refused_for(plan, "stage 'gather': uses 'gathered' of rank 0, which is on another node");
    plan = made(PTO_COLLECTIVE_ALLREDUCE, "gsb", two_by_two);
    plan->request.layout.nodes = 2;
    plan->request.layout.gpus_per_node = 1;
    for (int i = 0; i < plan->steps.count; i++)
        ((pto_step_t *)plan->steps.item)[i].core_count *=
            ((pto_step_t *)plan->steps.item)[i].kind == PTO_STEP_SIGNAL;
    refused_for(plan, "stage 'copied': signals rank 0, which is on another node");
}

TEST(a_peers_slice_needs_a_peer) {
    pto_plan_t *plan = made(PTO_COLLECTIVE_ALLREDUCE, "gsb", two_by_two);
    step_in(plan, "gather", PTO_STEP_COPY)->target.holder = PTO_HOLDER_PEER;
    refused_for(plan, "a slice of 'gathered' names a peer's, but the step has none");
}

/* --- memory and applicability --------------------------------------------------------------------------- */

TEST(the_root_holds_the_shared_buffers) {
    int64_t gpu_bytes, host_bytes;
    pto_plan_t *plan = made(PTO_COLLECTIVE_ALLREDUCE, "gsb", four_gpus);
    pto_plan_memory(plan, &gpu_bytes, &host_bytes);
    assert_int_equal(gpu_bytes, (2 + 4 + 1) * 1000); /* in, out, four inputs, the result */
    assert_int_equal(host_bytes, 0);
    assert_int_equal(pto_buffer_bytes(plan, buffer_named(plan, "gathered"), 1), 0);
    plan = made(PTO_COLLECTIVE_ALLREDUCE, "btb", four_gpus);
    pto_plan_memory(plan, &gpu_bytes, &host_bytes);
    assert_int_equal(gpu_bytes, (2 + 2 + 1) * 1000); /* in, out, two places of the tree, what is passed */
    for (int64_t rank = 0; rank < 4; rank++)
        assert_int_equal(pto_buffer_bytes(plan, buffer_named(plan, "tree"), rank), rank % 2 ? 0 : 2000);
    plan = made(PTO_COLLECTIVE_ALLREDUCE, "btb_flat", four_gpus);
    for (int64_t rank = 0; rank < 4; rank++)
        assert_int_equal(pto_buffer_bytes(plan, buffer_named(plan, "result"), rank), rank > 0 ? 0 : 1000);
}

TEST(only_the_root_has_a_reductions_output) {
    pto_plan_t *plan = made(PTO_COLLECTIVE_REDUCE, "gsb", four_gpus);
    int out = buffer_named(plan, "out");
    assert_true(pto_buffer_is_users(plan, out, 0));
    assert_false(pto_buffer_holds(plan, out, 1));
    plan = made(PTO_COLLECTIVE_BROADCAST, "btb", four_gpus);
    int in = buffer_named(plan, "in");
    assert_true(pto_buffer_is_users(plan, in, 0));
    assert_false(pto_buffer_holds(plan, in, 3));
}

static void refused_because(pto_request_t request, const char *reason) {
    assert_string_equal(no_plan(&request, PTO_ERR_NOT_APPLICABLE), reason);
}

TEST(what_does_not_apply_says_why) {
    refused_because(ask(PTO_COLLECTIVE_ALLREDUCE, "gsb", (pto_layout_t){3, 4, 1, 1, 4, false}),
                    "gsb shares GPU memory, which works only within a node, and the layout has 3 nodes");
    refused_because(ask(PTO_COLLECTIVE_BROADCAST, "btb", (pto_layout_t){1, 1, 1, 4, 1, false}),
                    "btb needs several processes that hold data, and there is only one");
    pto_request_t request = ask(PTO_COLLECTIVE_ALLREDUCE, "btb", four_gpus);
    request.algorithm = algorithm_named("ring", request.collective);
    refused_because(request, "btb has no inner collective for algorithm ring");
    request = ask(PTO_COLLECTIVE_ALLREDUCE, "three_step", four_gpus);
    request.algorithm = algorithm_named("direct", request.collective);
    refused_because(request, "three_step needs an algorithm for its inner collective, not direct");
}

TEST(hierarchies_apply_where_their_levels_are) {
    refused_because(ask(PTO_COLLECTIVE_ALLREDUCE, "gsb_gsb", (pto_layout_t){8, 1, 1, 4, 1, false}),
                    "gsb_gsb shares memory inside nodes, and each node has only one process that holds data");
    refused_because(ask(PTO_COLLECTIVE_ALLREDUCE, "btb_gsb", (pto_layout_t){2, 4, 1, 4, 4, false}),
                    "btb_gsb uses a tree inside each GPU, where one process holds data (owners_per_gpu: 1)");
    refused_because(ask(PTO_COLLECTIVE_ALLREDUCE, "gsb_btb", (pto_layout_t){2, 1, 4, 4, 1, false}),
                    "gsb_btb uses a tree between the GPUs of a node, which has one (gpus_per_node: 1)");
    refused_because(ask(PTO_COLLECTIVE_ALLREDUCE, "mix_gsb", (pto_layout_t){2, 4, 1, 4, 4, false}),
                    "mix_gsb stages inside each GPU, where one process holds data (owners_per_gpu: 1)");
    refused_because(ask(PTO_COLLECTIVE_ALLREDUCE, "mix_gsb", (pto_layout_t){1, 1, 4, 4, 4, false}),
                    "mix_gsb is for several GPUs, and the layout has one");
    static const char *const name[] = {"gsb_gsb", "gsb_btb", "btb_gsb", "btb_btb", "mix_gsb"};
    for (size_t i = 0; i < 5; i++)
        made(PTO_COLLECTIVE_ALLREDUCE, name[i], (pto_layout_t){2, 2, 2, 3, 2, false});
}

TEST(only_the_leaders_of_nodes_send_messages) {
    pto_plan_t *plan = made(PTO_COLLECTIVE_ALLREDUCE, "gsb_btb", (pto_layout_t){3, 2, 2, 3, 2, false});
    int messages = 0;
    for (int i = 0; i < plan->steps.count; i++) {
        const pto_step_t *step = pto_plan_step(plan, i);
        if (step->kind != PTO_STEP_SEND && step->kind != PTO_STEP_RECV)
            continue;
        messages++;
        for (int64_t rank = 0; rank < pto_layout_rank_count(&plan->request.layout); rank++) {
            pto_action_t action;
            assert_int_equal(pto_step_acts(plan, step, rank, 0, &action), rank % 6 == 0);
        }
    }
    assert_int_equal(messages, 4); /* the ring's two rounds, each a send and a receive */
}

/* --- prices --------------------------------------------------------------------------------------------- */

/* Made up: copies between GPUs 2 us and 1 ns a byte, within one 1 us and 0.1 ns, flags 0.5 us, reductions 3
 * us and 0.2 ns a byte. */
static const char machine_text[] =
    "machine: simple\n"
    "source: made up\n"
    "node: {sockets: 2, gpus: 8, cores: 64}\n"
    "messages:\n"
    "  cpu:\n"
    "    off_node: [{protocol: eager, alpha_s: 5.0e-6, beta_s_per_byte: 2.0e-9}]\n"
    "  gpu:\n"
    "    on_socket: [{protocol: eager, alpha_s: 9.0e-6, beta_s_per_byte: 2.0e-9}]\n"
    "    on_node: [{protocol: eager, alpha_s: 9.0e-6, beta_s_per_byte: 2.0e-9}]\n"
    "    off_node: [{protocol: eager, alpha_s: 7.0e-6, beta_s_per_byte: 3.0e-9}]\n"
    "copies:\n"
    "  d2d: {on_socket: {alpha_s: 1.0e-6, beta_s_per_byte: 1.0e-10}}\n"
    "  d2h: {on_socket: {alpha_s: 6.0e-6, beta_s_per_byte: 3.0e-10}}\n"
    "  h2d: {on_socket: {alpha_s: 5.0e-6, beta_s_per_byte: 4.0e-10}}\n"
    "peer:\n"
    "  on_socket: {alpha_s: 2.0e-6, beta_s_per_byte: 1.0e-9}\n"
    "  off_socket: {alpha_s: 4.0e-6, beta_s_per_byte: 1.5e-9}\n"
    "reduce:\n"
    "  gpu: {alpha_s: 3.0e-6, beta_s_per_byte: 2.0e-10}\n"
    "signals: {flag_s: 5.0e-7}\n";

static pto_machine_t machine;

static int read_machine(void **state) {
    machine = must_parse(machine_text);
    for (int how = 0; how < PTO_REMOTE_COUNT; how++)
        for (int reach = 0; reach < PTO_REACH_COUNT; reach++)
            machine.remote[how][reach] = machine.peer[reach];
    return 0;
}

static void costs(pto_collective_t collective, const char *strategy, pto_layout_t layout, double wanted_s) {
    const pto_request_t request = ask(collective, strategy, layout);
    assert_near_for(priced_s(&request, &machine), wanted_s, 1e-9, strategy);
}

/* All copies into and out of the root's GPU share its link. */
TEST(gsb_costs_two_shared_copies_and_one_reduction) {
    const double s = 1000, flag_s = 5e-7;
    double copy_s = 2e-6 + 3 * s * 1e-9, reduce_s = 3e-6 + 3 * s * 2e-10;
    costs(PTO_COLLECTIVE_ALLREDUCE, "gsb", four_gpus, copy_s + flag_s + reduce_s + flag_s + copy_s);
    copy_s = 1e-6 + 4 * s * 1e-10;
    costs(PTO_COLLECTIVE_ALLREDUCE, "gsb", one_gpu, copy_s + flag_s + reduce_s + flag_s + copy_s);
    copy_s = 2e-6 + 3 * s * 1e-9;
    costs(PTO_COLLECTIVE_REDUCE, "gsb", four_gpus, flag_s + copy_s + flag_s + reduce_s);
    costs(PTO_COLLECTIVE_BROADCAST, "gsb", four_gpus, flag_s + (1e-6 + s * 1e-10) + flag_s + copy_s);
    double all_s = 2e-6 + 3 * 4 * s * 1e-9;
    costs(PTO_COLLECTIVE_ALLGATHER, "gsb", four_gpus, 2 * flag_s + copy_s + flag_s + flag_s + all_s);
    double reduce_all_s = 3e-6 + 3 * 4 * s * 2e-10;
    costs(PTO_COLLECTIVE_REDUCE_SCATTER, "gsb", four_gpus, all_s + flag_s + reduce_all_s + flag_s + copy_s);
}

/* One pass over k inputs: the cost of two, and gamma for each byte of the others. */
TEST(additional_inputs_have_their_own_cost_if_known) {
    const double s = 1000, flag_s = 5e-7, gamma = 7e-11;
    pto_param_t *further = &machine.reduce[PTO_SPACE_GPU].row[0].extra_input_s_per_byte, kept = *further;
    for (int64_t gpus = 2; gpus < 6; gpus++) {
        pto_request_t request =
            ask(PTO_COLLECTIVE_ALLREDUCE, "gsb", (pto_layout_t){1, gpus, 1, 1, gpus, false});
        double others = (double)(gpus - 1), copy_s = 2e-6 + others * s * 1e-9;
        double moved_s = copy_s + flag_s + flag_s + copy_s;
        *further = (pto_param_t){0};
        assert_near(priced_s(&request, &machine), moved_s + 3e-6 + others * s * 2e-10, 1e-9);
        *further = (pto_param_t){.value = gamma, .line = 1};
        double wanted_s = moved_s + 3e-6 + s * 2e-10 + (others - 1) * s * gamma;
        assert_near(priced_s(&request, &machine), wanted_s, 1e-9);
        assert_near(walked_s(&request, &machine), wanted_s, 1e-9);
        assert_near(simulated_s(&request, &machine), wanted_s, 1e-9);
        /* Two inputs at a time: there is nothing further. */
        request.strategy = strategy_named("btb");
        double tree_s = priced_s(&request, &machine);
        further->value = 1;
        assert_near(priced_s(&request, &machine), tree_s, 1e-9);
    }
    *further = kept;
}

/* Whether an explanation of gsb among four processes of one GPU names `key`; all ways of pricing must agree.
 */
static bool gsb_on_one_gpu(const pto_machine_t *on, const char *key, double *seconds) {
    pto_request_t request = ask(PTO_COLLECTIVE_ALLREDUCE, "gsb", one_gpu);
    pto_price_t price;
    const pto_plan_t *plan = must_plan(&request);
    const pto_explanation_t explanation = must_explain(plan, on, &price);
    assert_near(must_walk(plan, on).seconds, price.seconds, 1e-9);
    *seconds = price.seconds;
    return term_named(&explanation, key) != NULL;
}

TEST(copies_within_a_gpu_queue_where_that_is_known) {
    const double s = 1000;
    double seconds;
    assert_true(gsb_on_one_gpu(&machine, "copies.shared.d2d", &seconds));
    pto_cost_row_t row = {.procs = 4,
                          .below_bytes = INT64_MAX,
                          .postal = {.alpha_s = {.value = 4e-4}, .beta_s_per_byte = {.value = 5e-10}}};
    pto_machine_t with = machine;
    with.shared_copies[PTO_COPY_D2D] = (pto_cost_table_t){.count = 1, .row = &row};
    assert_false(gsb_on_one_gpu(&with, "copies.shared.d2d", &seconds));
    double all_s = 4e-4 + s * 5e-10, turn_s = (all_s - (1e-6 + s * 1e-10)) / 3;
    assert_near(seconds, all_s + 4 * turn_s, 1e-9); /* flags and the reduction pass within the fourth turn */
}

/* Four members: two levels up, two down, or all at once down. At the first level a flag, at the second one
 * before and one after. */
TEST(btb_costs_a_copy_and_a_reduction_a_level) {
    const double s = 1000, flag_s = 5e-7, copy_s = 2e-6 + s * 1e-9, reduce_s = 3e-6 + s * 2e-10;
    double up_s = copy_s + flag_s + reduce_s + flag_s + copy_s + flag_s + reduce_s;
    double down_s = flag_s + copy_s + flag_s + copy_s;
    costs(PTO_COLLECTIVE_ALLREDUCE, "btb", four_gpus, up_s + down_s);
    costs(PTO_COLLECTIVE_REDUCE, "btb", four_gpus, flag_s + up_s);
    costs(PTO_COLLECTIVE_ALLREDUCE, "btb_flat", four_gpus, up_s + flag_s + 2e-6 + 3 * s * 1e-9);
}

/* Two nodes of two GPUs of two: each level as on its own, a ring between the leaders, and one copy more than
 * gsb, as the result comes down over the GPUs' leaders. */
TEST(hierarchical_costs_its_levels_one_after_the_other) {
    const double s = 1000, flag_s = 5e-7, reduce_s = 3e-6 + s * 2e-10;
    double inner_s = 1e-6 + 2 * s * 1e-10, outer_s = 2e-6 + s * 1e-9;
    double ring_s = 2 * (7e-6 + s / 2 * 3e-9) + 3e-6 + s / 2 * 2e-10;
    pto_request_t request = ask(PTO_COLLECTIVE_ALLREDUCE, "gsb_gsb", (pto_layout_t){2, 2, 2, 2, 2, false});
    assert_near(priced_s(&request, &machine),
                (inner_s + flag_s + reduce_s) + (outer_s + flag_s + reduce_s) + ring_s + (flag_s + outer_s) +
                    (flag_s + inner_s),
                1e-9);
}

TEST(copies_between_sockets_cost_theirs) {
    pto_request_t request = ask(PTO_COLLECTIVE_BROADCAST, "gsb", (pto_layout_t){1, 2, 1, 1, 1, false});
    assert_near(priced_s(&request, &machine), 5e-7 + (1e-6 + 1000 * 1e-10) + 5e-7 + (4e-6 + 1000 * 1.5e-9),
                1e-9);
}

/* Places of the first node stand for those of all: the price is the one rank by rank. */
TEST(pricing_by_place_is_pricing_rank_by_rank) {
    int compared = 0;
    for (int64_t shape = 0; shape < 3 * 5 * 4; shape++) {
        pto_layout_t layout = {1 + shape / 20, 1 + shape / 4 % 5, 1 + shape % 4, 4, 2, false};
        for (int s = 0; s < pto_strategy_count(); s++)
            for (int c = 0; c < PTO_COLLECTIVE_COUNT; c++) {
                const pto_strategy_t *strategy = pto_strategy_at(s);
                if (!strategy->applicable || strategy->nccl || !(strategy->collectives & 1u << c))
                    continue;
                pto_request_t request = ask((pto_collective_t)c, strategy->name, layout);
                request.bytes = 1200; /* in equal parts for up to three nodes */
                if (pto_strategy_applicable(&request, NULL) != PTO_OK)
                    continue;
                pto_plan_t *plan = plan_of(request);
                bool by_place = pto_plan_uses_peers_memory(plan);
                if (!by_place)
                    continue;
                double place_s = priced_s(&request, &machine), rank_s = walked_s(&request, &machine);
                /* Up and down a tree of leaders no node is like another: then the dearest counts. */
                if (layout.nodes > 1 && (c == PTO_COLLECTIVE_REDUCE || c == PTO_COLLECTIVE_BROADCAST))
                    assert_true(place_s >= rank_s * (1 - 1e-9) && place_s < 1.3 * rank_s);
                else
                    assert_near(place_s, rank_s, 1e-9);
                compared++;
            }
    }
    assert_true(compared > 100);
}

/* With one process a GPU nothing contends across stages; but on btb's way down the root's children read from
 * it at two levels at once, which price, stage by stage, does not see. */
TEST(simulated_copies_between_gpus_take_their_price) {
    static const pto_collective_t collective[] = {PTO_COLLECTIVE_ALLREDUCE, PTO_COLLECTIVE_REDUCE,
                                                  PTO_COLLECTIVE_BROADCAST};
    static const char *const strategy[] = {"gsb", "btb"};
    for (int64_t gpus = 2; gpus < 9; gpus++)
        for (int c = 0; c < 3; c++)
            for (int s = 0; s < 2; s++) {
                pto_request_t request =
                    ask(collective[c], strategy[s], (pto_layout_t){1, gpus, 1, 1, gpus, false});
                double price_s = priced_s(&request, &machine), sim_s = simulated_s(&request, &machine);
                bool overlaps = s == 1 && collective[c] != PTO_COLLECTIVE_REDUCE;
                if (sim_s < 0.99 * price_s || sim_s > (overlaps ? 1.35 : 1.01) * price_s)
                    fail_msg("%s by %s on %d GPUs: simulated %.9g, priced %.9g",
                             pto_collective_name(collective[c]), strategy[s], (int)gpus, sim_s, price_s);
            }
}

TEST(simulated_hierarchies_come_near_their_price) {
    static const char *const strategy[] = {"gsb_gsb", "gsb_btb", "btb_gsb", "btb_btb"};
    for (int s = 0; s < 4; s++) {
        pto_request_t request =
            ask(PTO_COLLECTIVE_ALLREDUCE, strategy[s], (pto_layout_t){2, 4, 4, 4, 4, false});
        double price_s = priced_s(&request, &machine), sim_s = simulated_s(&request, &machine);
        if (sim_s < 0.9 * price_s || sim_s > 1.1 * price_s)
            fail_msg("%s: simulated %.9g, priced %.9g", strategy[s], sim_s, price_s);
    }
}

TEST(a_machine_without_peer_copies_does_not_price_them) {
    pto_machine_t without = machine;
    memset(without.peer, 0, sizeof without.peer);
    pto_plan_t *plan = made(PTO_COLLECTIVE_ALLREDUCE, "btb", four_gpus);
    assert_string_equal(no_price(plan, &without, PTO_ERR_NOT_APPLICABLE),
                        "machine simple has no peer.on_socket, which the plan needs");
    memset(without.copies, 0, sizeof without.copies);
    plan = made(PTO_COLLECTIVE_ALLREDUCE, "gsb", one_gpu);
    assert_string_equal(no_price(plan, &without, PTO_ERR_NOT_APPLICABLE),
                        "machine simple has no copies.d2d.on_socket, which the plan needs");
}

TEST(a_named_algorithm_is_for_those_that_have_one_inside) {
    static const char text[] = "scenario: one\nmachine: simple.yaml\ncollective: allreduce\n"
                               "layout: {nodes: 1, gpus_per_node: 4, procs_per_gpu: 1}\nbytes: 1024\n"
                               "strategies: [cuda_aware, gsb]\nlibrary: ring\n";
    pto_scenario_t scenario = must_ask(text);
    assert_int_equal(pto_scenario_bind(&scenario, &machine, NULL), PTO_OK);
    pto_predictions_t predictions = must_predict(&scenario, &machine, false);
    assert_string_equal(pto_prediction_at(&predictions, 0, 0)->algorithm->name, "ring");
    assert_string_equal(pto_prediction_at(&predictions, 0, 1)->algorithm->name, "direct");
    pto_scenario_fini(&scenario);
}

int main(void) { return run_all_tests(read_machine, NULL); }
