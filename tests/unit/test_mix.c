/* Mixed copies: every flag and slot is needed, prices equal the closed formula and the simulation, and the
 * number of staged members is the cheapest, the machine file's, or the scenario's. */
#include "inside_plan.h"
#include "machine/machine_internal.h"
#include "must.h"
#include "portolan/machine.h"
#include "portolan/pick.h"
#include "portolan/price.h"
#include "portolan/score.h"
#include "portolan/simulate.h"
#include "priced.h"
#include "test.h"

static const pto_layout_t four_of_a_gpu = {1, 1, 4, 4, 1, false};

static pto_request_t mixed(pto_collective_t collective, int64_t in, int64_t out) {
    pto_request_t request = ask(collective, "mix", four_of_a_gpu);
    request.staged_members = (pto_staged_t){in, out};
    return request;
}

static pto_plan_t *mix_of(pto_collective_t collective, int64_t in, int64_t out) {
    return plan_of(mixed(collective, in, out));
}

/* --- what the plan needs -------------------------------------------------------------------------------- */

TEST(every_flag_is_needed) {
    static const struct {
        pto_collective_t collective;
        const char *flag;
        const char *cause;
    } cases[] = {
        {PTO_COLLECTIVE_ALLREDUCE, "copied",
         "stage 'reduce': reads bytes 1000..1999 of 'gathered' of rank 0, unordered with rank 1's write"},
        {PTO_COLLECTIVE_ALLREDUCE, "complete",
         "rank 1, stage 'copy out': reads bytes 0..999 of 'result' of rank 0, unordered with rank 0's write"},
        {PTO_COLLECTIVE_ALLREDUCE, "result staged",
         "rank 2, stage 'copy out staged': reads bytes 0..999 of 'staged result' of rank 0, unordered"},
        {PTO_COLLECTIVE_ALLGATHER, "copied", "of 'gathered' of rank 0, unordered with rank 1's write"},
        {PTO_COLLECTIVE_ALLGATHER, "complete",
         "stage 'copy out': reads bytes 0..999 of 'gathered' of rank 0"},
        {PTO_COLLECTIVE_ALLGATHER, "result staged", "stage 'copy out staged': reads bytes"},
        {PTO_COLLECTIVE_ALLGATHER, "result free", "second run: writes bytes"},
        {PTO_COLLECTIVE_ALLGATHER, "inputs free", "second run: writes bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        needs_flag(mix_of(cases[i].collective, 2, 2), cases[i].flag, cases[i].cause);
    needs_flag(mix_of(PTO_COLLECTIVE_ALLGATHER, 0, 2), /* the result alone is staged */
               "result staged", "stage 'copy out staged': reads bytes");
    pto_plan_t *plan = mix_of(PTO_COLLECTIVE_ALLREDUCE, 2, 2);
    step_in(plan, "staged", PTO_STEP_SIGNAL)->core_count = 0;
    step_in(plan, "take up", PTO_STEP_WAIT)->core_count = 0;
    refused_for(
        plan,
        "stage 'take up', k=0: reads bytes 0..999 of 'staged' of rank 0, unordered with rank 2's write");
}

TEST(every_slot_is_needed) {
    pto_plan_t *plan = mix_of(PTO_COLLECTIVE_ALLREDUCE, 2, 2);
    pto_buffer_t *buffer = plan->buffers.item;
    buffer[buffer_named(plan, "staged")].block_count--;
    refused_for(plan,
                "stage 'stage': writes bytes 0..999 of 'staged' of rank 0, unordered with rank 2's write");
}

TEST(without_staged_members_it_is_gsb) {
    static const pto_collective_t collective[] = {PTO_COLLECTIVE_ALLREDUCE, PTO_COLLECTIVE_ALLGATHER};
    for (int c = 0; c < 2; c++) {
        pto_plan_t *plan = mix_of(collective[c], 0, 0), *gsb = made(collective[c], "gsb", four_of_a_gpu);
        assert_int_equal(plan->steps.count, gsb->steps.count);
        for (int i = 0; i < plan->steps.count; i++) { /* not their memory: structures have padding */
            const pto_step_t *step = pto_plan_step(plan, i), *other = pto_plan_step(gsb, i);
            assert_int_equal(step->kind, other->kind);
            assert_int_equal(step->group, other->group);
            assert_int_equal(step->peers.kind, other->peers.kind);
            assert_int_equal(step->source.buffer, other->source.buffer);
            assert_int_equal(step->source.holder, other->source.holder);
            assert_int_equal(step->target.buffer, other->target.buffer);
            assert_int_equal(step->target.holder, other->target.holder);
        }
    }
}

TEST(only_others_than_the_root_can_stage) {
    for (int out = 0; out < 2; out++) {
        pto_request_t request = mixed(PTO_COLLECTIVE_ALLREDUCE, 4 - out, 3 + out);
        assert_string_equal(no_plan(&request, PTO_ERR_NOT_APPLICABLE),
                            "4 members cannot stage: the root has 3 others");
        request.staged_members = (pto_staged_t){-!out, -out};
        assert_string_equal(no_plan(&request, PTO_ERR_RANGE),
                            out ? "staged_members.out must be 0 or more, not -1"
                                : "staged_members.in must be 0 or more, not -1");
    }
}

/* --- prices --------------------------------------------------------------------------------------------- */

static const char simple[] =
    "machine: simple\n"
    "source: made up\n"
    "node: {sockets: 1, gpus: 1, cores: 8}\n"
    "messages:\n"
    "  cpu: {on_socket: [{protocol: eager, alpha_s: 5.0e-6, beta_s_per_byte: 2.0e-9}]}\n"
    "copies:\n"
    "  d2d: {on_socket: {alpha_s: 1.0e-6, beta_s_per_byte: 1.0e-10}}\n"
    "  d2h: {on_socket: {alpha_s: 6.0e-6, beta_s_per_byte: 3.0e-10}}\n"
    "  h2d: {on_socket: {alpha_s: 5.0e-6, beta_s_per_byte: 4.0e-10}}\n"
    "reduce:\n"
    "  gpu: {alpha_s: 3.0e-6, beta_s_per_byte: 2.0e-10}\n"
    "signals: {flag_s: 5.0e-7}\n";

/* Staging is the longer lane in both directions: a copy out, a flag, and the root's copies in one after
 * another; then a copy out, a flag, and the members' copies in at once. */
TEST(it_costs_the_longer_of_its_lanes) {
    const double s = 1e6, flag_s = 5e-7, reduce_s = 3e-6 + 3 * s * 2e-10;
    const pto_machine_t machine = must_parse(simple);
    for (int64_t pair = 0; pair < 9; pair++) {
        int64_t in = 1 + pair / 3, out = 1 + pair % 3;
        double in_s = (6e-6 + (double)in * s * 3e-10) + (double)in * (5e-6 + s * 4e-10 + flag_s);
        double out_s = (6e-6 + s * 3e-10) + flag_s + (5e-6 + (double)out * s * 4e-10);
        pto_request_t request = mixed(PTO_COLLECTIVE_ALLREDUCE, in, out);
        request.bytes = (int64_t)s;
        assert_costs(plan_of(request), &machine, in_s + reduce_s + out_s);
    }
}

TEST(prices_are_near_simulated_times_on_a_gpu) {
    static const char *const path[] = {"scenarios/machines/h200-x2.yaml",
                                       "scenarios/machines/h200-x2-mps.yaml"};
    static const int64_t bytes[] = {64, 65536, 1 << 20, 4 << 20, 16 << 20};
    for (int m = 0; m < 2; m++) {
        pto_machine_t machine = must_read(path[m]);
        for (int i = 0; i < 5 * 8 * 2; i++) {
            pto_collective_t collective = i % 2 ? PTO_COLLECTIVE_ALLGATHER : PTO_COLLECTIVE_ALLREDUCE;
            pto_request_t request = ask(collective, "mix", (pto_layout_t){1, 1, 8, 8, 1, false});
            request.staged_members = (pto_staged_t){i / 2 % 8, (3 * i / 2 + i / 16) % 8};
            request.bytes = bytes[i / 16];
            pto_plan_t *plan = plan_of(request);
            pto_price_t price = must_price(plan, &machine);
            pto_simulation_t simulation = must_simulate(plan, &machine);
            double ratio = simulation.seconds / price.seconds;
            if (ratio < 0.9 || ratio > 1.1)
                fail_msg("%s, %s of %d bytes, %d/%d staged: priced %g, simulated %g", path[m],
                         pto_collective_name(collective), (int)request.bytes, (int)request.staged_members.in,
                         (int)request.staged_members.out, price.seconds, simulation.seconds);
        }
    }
}

/* With two GPUs, each GPU's leader stages for its own members. */
TEST(several_gpus_stage_at_once) {
    const double s = 1e6, flag_s = 5e-7, reduce_s = 3e-6 + s * 2e-10, peer_s = 2e-6 + s * 1e-9;
    char text[2048];
    snprintf(text, sizeof text, "%speer: {on_socket: {alpha_s: 2.0e-6, beta_s_per_byte: 1.0e-9}}\n", simple);
    pto_machine_t machine = must_parse(text);
    pto_request_t request = ask(PTO_COLLECTIVE_ALLREDUCE, "mix_gsb", (pto_layout_t){1, 2, 2, 2, 2, false});
    request.staged_members = (pto_staged_t){1, 1};
    request.bytes = (int64_t)s;
    double in_s = (6e-6 + s * 3e-10) + flag_s + (5e-6 + s * 4e-10);
    double between_s = (peer_s + flag_s + reduce_s) + (flag_s + peer_s);
    assert_costs(plan_of(request), &machine, in_s + reduce_s + between_s + in_s);
}

/* The root of gsb's broadcast copies twice within one time slice: the other process waits for one. */
TEST(a_process_counts_once_however_many_copies_it_has) {
    pto_machine_t machine = must_read("scenarios/machines/h200-x2.yaml");
    pto_plan_t *plan = made(PTO_COLLECTIVE_BROADCAST, "gsb", (pto_layout_t){1, 1, 2, 2, 1, false});
    pto_price_t price = must_price(plan, &machine);
    assert_near(price.seconds, must_simulate(plan, &machine).seconds, 1e-9);
    assert_true(price.seconds > 2.8e-4); /* copies.shared.d2d of two processes */
}

/* --- how many are staged -------------------------------------------------------------------------------- */

static pto_scenario_t eight_of_a_gpu(const pto_machine_t *machine, const char *rest) {
    char text[512];
    snprintf(text, sizeof text,
             "scenario: m\nmachine: m.yaml\ncollective: allreduce\nstrategies: [gsb, mix]\n"
             "layout: {nodes: 1, gpus_per_node: 1, owners_per_gpu: 8, procs_per_gpu: 8}\n%s",
             rest);
    pto_scenario_t scenario = must_ask(text);
    must_bind(&scenario, machine);
    return scenario;
}

static const pto_prediction_t *mix_at(const pto_predictions_t *predictions, int64_t point) {
    return pto_prediction_at(predictions, point, 1);
}

/* The thesis's findings (section 5.4.2), without MPS: the best numbers fall with the bytes, and in a middle
 * range a mix is faster than either way alone. No other pair is much cheaper than the one found. */
TEST(the_cheapest_numbers_fall_with_the_bytes) {
    pto_machine_t machine = must_read("scenarios/machines/h200-x2.yaml");
    pto_scenario_t scenario = eight_of_a_gpu(&machine, "bytes: [64KiB, 1MiB, 4MiB, 16MiB, 256MiB]\n");
    pto_predictions_t all = must_predict(&scenario, &machine, false);
    for (int64_t i = 1; i < all.point_count; i++) {
        const pto_staged_t *now = &mix_at(&all, i)->staged_members,
                           *before = &mix_at(&all, i - 1)->staged_members;
        assert_true(now->in <= before->in && now->out <= before->out);
    }
    assert_int_equal(mix_at(&all, 0)->staged_members.in, 7);
    assert_int_equal(mix_at(&all, 4)->staged_members.in, 0);
    for (int64_t pair = 0; pair < 64; pair++) {
        scenario.staged_members = (pto_staged_t){pair / 8, pair % 8};
        pto_predictions_t one = must_predict(&scenario, &machine, false);
        for (int64_t i = 0; i < one.point_count; i++)
            assert_true(mix_at(&one, i)->price.seconds >= 0.98 * mix_at(&all, i)->price.seconds);
        if (pair == 0 || pair == 63)
            assert_true(mix_at(&one, 2)->price.seconds > 1.3 * mix_at(&all, 2)->price.seconds);
    }
    pto_scenario_fini(&scenario);
}

static void assert_staged(const pto_machine_t *machine, const char *rest, int64_t in, int64_t out) {
    pto_scenario_t scenario = eight_of_a_gpu(machine, rest);
    pto_predictions_t predictions = must_predict(&scenario, machine, false);
    pto_staged_t staged = mix_at(&predictions, 0)->staged_members;
    if (staged.in != in || staged.out != out)
        fail_msg("%s: %d/%d staged, not %d/%d", rest, (int)staged.in, (int)staged.out, (int)in, (int)out);
    pto_scenario_fini(&scenario);
}

/* Copies within the simple machine's GPU are the cheapest. */
TEST(a_machine_file_may_say_how_many) {
    char text[2048];
    snprintf(
        text, sizeof text,
        "%stuning:\n  allreduce:\n    - {procs: 8, below_bytes: 4096, staged_in: 5, staged_out: 2}\n"
        "    - {procs: 8, staged_in: 70, staged_out: 0}\n    - {procs: 16, staged_in: 2, staged_out: 2}\n",
        simple);
    pto_machine_t machine = must_parse(text), none = must_parse(simple), clone, back;
    assert_staged(&none, "bytes: 64\n", 0, 0);
    assert_staged(&machine, "bytes: 64\n", 5, 2);
    assert_staged(&machine, "bytes: 4096\n", 7, 0); /* as many as there are */
    assert_staged(&machine, "bytes: 64\nstaged_in: 3\n", 3, 2);
    assert_staged(&machine, "bytes: 64\nstaged_in: 3\nstaged_out: 7\n", 3, 7);
    assert_staged(&none, "bytes: 64\nstaged_out: 4\n", 0, 4);
    assert_int_equal(pto_machine_clone(&machine, &clone, NULL), PTO_OK);
    assert_staged(&clone, "bytes: 64\n", 5, 2);
    char *written = must_format(&clone);
    back = must_parse(written);
    assert_staged(&back, "bytes: 64\n", 5, 2);
    assert_int_equal(pto_machine_restrict(&clone, "published", NULL), PTO_OK);
    assert_int_equal(clone.tuning_count, 0);
    pto_machine_fini(&clone);
}

TEST(tuning_that_is_no_table_is_refused) {
    static const struct {
        const char *rows;
        const char *why;
    } cases[] = {
        {"tuning: {allreduce: [{procs: 8, below_bytes: 8, staged_in: 1, staged_out: 1}]}\n",
         "ranges leave a gap"},
        {"tuning: {allreduce: [{staged_in: 1, staged_out: 1}, {staged_in: 2, staged_out: 2}]}\n",
         "ranges overlap"},
        {"tuning: {allreduce: [{procs: 8, staged_in: 1}]}\n", "staged_out"},
        {"tuning: {alltoall: [{staged_in: 1, staged_out: 1}]}\n", "alltoall"},
        {"tuning: {allgather: [{staged_in: -1, staged_out: 0}]}\n", "staged_in"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2048];
        pto_machine_t machine;
        pto_error_t err = {0};
        snprintf(text, sizeof text, "%s%s", simple, cases[i].rows);
        assert_int_not_equal(pto_machine_parse(text, strlen(text), "m.yaml", &machine, &err), PTO_OK);
        assert_says(err.message, cases[i].why);
    }
}

/* --- measured sweeps ------------------------------------------------------------------------------------ */

/* Each number is a candidate of its own; the regret is that of the number that is predicted. */
TEST(a_sweep_tells_the_regret_of_the_predicted_number) {
    static const char sweep[] =
        "collective,implementation,strategy,nodes,gpus_per_node,procs_per_gpu,owners_per_gpu,bytes,run,"
        "seconds,staged_in,staged_out\n"
        "allreduce,library,mix,1,1,8,8,4194304,1,0.004,0,0\n"
        "allreduce,library,mix,1,1,8,8,4194304,1,0.001,3,3\n"
        "allreduce,library,mix,1,1,8,8,4194304,1,0.0012,5,4\n"
        "allreduce,library,mix,1,1,8,8,4194304,1,0.005,7,7\n"
        "allreduce,library,gsb,1,1,8,8,4194304,1,0.004,,\n";
    pto_collectives_t collectives = {0};
    pto_score_t score;
    pto_error_t err = {0};
    pto_machine_t machine = must_read("scenarios/machines/h200-x2.yaml");
    assert_ok(pto_collectives_parse(sweep, strlen(sweep), "c.csv", &collectives, &err), &err);
    pto_score_options_t options = pto_score_defaults(&collectives);
    assert_int_equal(pto_score_collect(&collectives, &options, &score, NULL), PTO_OK);
    assert_int_equal(pto_score_predict(&score, &machine, 0, NULL), PTO_OK);
    assert_int_equal(score.cell_count, 1);
    const pto_score_cell_t *cell = &score.cell[0];
    assert_int_equal(cell->candidate_count, 5);
    assert_int_equal(cell->candidate[cell->best].staged_members.in, 3);
    assert_int_equal(cell->candidate[cell->picked].staged_members.in, 5);
    assert_int_equal(cell->candidate[cell->picked].staged_members.out, 4);
    assert_near(cell->regret, 0.2, 1e-9);
    pto_score_summary_t always;
    const pto_score_filter_t everything = {PTO_COLLECTIVE_COUNT, PTO_IMPLEMENTATION_COUNT, 0};
    assert_int_equal(pto_score_summarise(&score, &everything, PTO_PICKER_ALWAYS,
                                         cell->candidate[cell->best].strategy, &always, NULL),
                     PTO_OK);
    assert_near(always.regret_mean, 0.2, 1e-9);
    pto_score_fini(&score);
    pto_collectives_fini(&collectives);
}
