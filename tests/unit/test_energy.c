/* Energies of plans, computed by hand on a machine of round numbers, and picking by energy. */
#include "asked.h"
#include "bad_machine.h"
#include "must.h"
#include "portolan/machine.h"
#include "portolan/pick.h"
#include "test.h"

/* SIMPLE_MACHINE; combining two buffers starts in 1 us and moves 10 GB/s. */
#define COSTS                                                                                                \
    SIMPLE_MACHINE("powers", "",                                                                             \
                   "reduce:\n"                                                                               \
                   "  cpu: {alpha_s: 1.0e-6, beta_s_per_byte: 1.0e-10}\n"                                    \
                   "  gpu: {alpha_s: 1.0e-6, beta_s_per_byte: 1.0e-10}\n")
#define POWERS                                                                                               \
    "energy:\n"                                                                                              \
    "  gpu: {idle_w: 100, copy_w: 150, kernel_w: 300}\n"                                                     \
    "  cpu: {idle_w: 200, core_w: 5}\n"

/* Part by part, in the order of pto_power_t: device microseconds. */
static void expect_energy(const asked_t *asked, int strategy, const double *device_us, double microjoules) {
    const pto_prediction_t *prediction = pto_prediction_at(&asked->predictions, 0, strategy);
    assert_true(prediction->has_energy);
    for (int i = 0; i < PTO_POWER_COUNT; i++)
        assert_around(prediction->energy.part[i].device_s * 1e6, device_us[i], 1e-9);
    assert_around(prediction->energy.joules * 1e6, microjoules, 1e-6);
}

TEST(a_message_from_a_gpu_keeps_both_gpus_busy_while_its_bytes_move) {
    asked_t *asked = ask(COSTS POWERS, ONE_MESSAGE("10000"));
    /* 2 us of start and 10 us of bytes: 2 GPUs x (2 x 100 + 10 x 150) + 2 nodes x 12 x (200 + 5). */
    expect_energy(asked, 0, (const double[]){4, 20, 0, 24, 24}, 3400 + 4920);
}

TEST(staging_keeps_a_gpu_busy_only_for_the_copies_bytes) {
    asked_t *asked = ask(COSTS POWERS, ONE_MESSAGE("10000"));
    /* 6 us out, 2 us message, 6 us in, of which 1 us each way are a copy's bytes. */
    expect_energy(asked, 1, (const double[]){24, 4, 0, 28, 28}, 3000 + 5740);
}

TEST(reductions_count_where_they_are_made) {
    asked_t *asked =
        ask(COSTS POWERS,
            "scenario: two GPUs\nmachine: m.yaml\ncollective: allreduce\nlibrary: recursive_doubling\n"
            "layout: {nodes: 2, gpus_per_node: 1, procs_per_gpu: 1}\n"
            "bytes: 20000\nstrategies: [cuda_aware, three_step]\n");
    /* On the GPU: 2 + 20 us message, 1 + 2 us reduction. */
    expect_energy(asked, 0, (const double[]){6, 40, 4, 50, 50}, 600 + 6000 + 1200 + 50 * 205);
    /* On the host: 7 us out, 1 + 2 us message, 1 + 2 us reduction, 7 us in; of the copies 2 us each are
     * bytes. */
    expect_energy(asked, 1, (const double[]){32, 8, 0, 40, 40}, 3200 + 1200 + 40 * 205);
}

TEST(every_process_that_takes_part_polls_and_no_other) {
    asked_t *asked =
        ask(COSTS POWERS,
            "scenario: helpers\nmachine: m.yaml\ncollective: allreduce\nlibrary: recursive_doubling\n"
            "layout: {nodes: 2, gpus_per_node: 1, procs_per_gpu: 4}\n"
            "bytes: 4000\nstrategies: [cuda_aware, dup_devptr]\n");
    const pto_prediction_t *alone = pto_prediction_at(&asked->predictions, 0, 0);
    const pto_prediction_t *helped = pto_prediction_at(&asked->predictions, 0, 1);
    assert_around(alone->energy.part[PTO_POWER_CPU_CORE].device_s, 2 * alone->price.seconds, 1e-15);
    assert_around(helped->energy.part[PTO_POWER_CPU_CORE].device_s, 8 * helped->price.seconds, 1e-15);
}

TEST(time_energy_and_their_product_may_pick_differently) {
    /* At 11000 bytes: 13 us and 9030 uJ against 14.3 us and 8943.5 uJ; at 12000: 14 and 9740, 14.6 and 9146.
     */
    asked_t *asked = ask(COSTS POWERS, ONE_MESSAGE("[11000, 12000]"));
    const int winner[PTO_BY_COUNT][2] = {
        [PTO_BY_TIME] = {0, 0}, [PTO_BY_ENERGY] = {1, 1}, [PTO_BY_PRODUCT] = {0, 1}};
    for (int by = 0; by < PTO_BY_COUNT; by++) {
        asked->predictions.by = (pto_by_t)by;
        pick_again(asked);
        assert_int_equal(asked->range[0].winner, winner[by][0]);
        assert_int_equal(asked->range[asked->range_count - 1].winner, winner[by][1]);
    }
}

TEST(intervals_of_powers_and_times_add_as_independent) {
    /* 20 GPU microseconds of copies x +-10 W, +-0.5 us of 12 at the mean of 8320 uJ / 12 us. */
    asked_t *asked = ask(
        "machine: intervals\nsource: made up\nnode: {sockets: 1, gpus: 1, cores: 1}\n"
        "messages: {gpu: {off_node: [{protocol: eager, alpha_s: 2.0e-6, alpha_s_95: [1.5e-6, 2.5e-6], "
        "beta_s_per_byte: 1.0e-9}]}}\n"
        "energy: {gpu: {idle_w: 100, copy_w: 150, copy_w_95: [140, 160]}, cpu: {idle_w: 200, core_w: 5}}\n",
        "scenario: one message\nmachine: m.yaml\ncollective: messages\nmessages: 1\n"
        "layout: {nodes: 2, gpus_per_node: 1, procs_per_gpu: 1}\nbytes: 10000\nstrategies: [cuda_aware]\n");
    const pto_energy_t *energy = &pto_prediction_at(&asked->predictions, 0, 0)->energy;
    double half = hypot(20 * 10, 0.5 * 8320 / 12);
    assert_true(energy->has_interval);
    assert_around(energy->joules * 1e6, 8320, 1e-6);
    assert_around((energy->high_joules - energy->joules) * 1e6, half, 1e-3);
    assert_around((energy->joules - energy->low_joules) * 1e6, half, 1e-3);
}

TEST(without_powers_no_energy_is_known_and_none_is_guessed) {
    asked_t *asked = ask(COSTS, ONE_MESSAGE("10000"));
    const pto_prediction_t *prediction = pto_prediction_at(&asked->predictions, 0, 0);
    pto_cost_t cost;
    assert_false(prediction->has_energy);
    assert_non_null(strstr(prediction->reason, "no energy.gpu.idle_w"));
    assert_true(pto_prediction_cost(prediction, PTO_BY_TIME, &cost));
    assert_false(pto_prediction_cost(prediction, PTO_BY_ENERGY, &cost));
    assert_false(pto_prediction_cost(prediction, PTO_BY_PRODUCT, &cost));
}

TEST(a_power_that_the_plan_needs_not_is_not_asked_for) {
    asked_t *asked =
        ask(COSTS "energy: {gpu: {idle_w: 100, copy_w: 150}}\n",
            "scenario: two GPUs\nmachine: m.yaml\ncollective: allreduce\nlibrary: recursive_doubling\n"
            "layout: {nodes: 2, gpus_per_node: 1, procs_per_gpu: 1}\n"
            "bytes: 20000\nstrategies: [cuda_aware, three_step]\n");
    const pto_prediction_t *on_gpu = pto_prediction_at(&asked->predictions, 0, 0);
    assert_false(on_gpu->has_energy);
    assert_non_null(strstr(on_gpu->reason, "no energy.gpu.kernel_w"));
    /* The GPUs alone: the file says nothing of CPUs. */
    expect_energy(asked, 1, (const double[]){32, 8, 0, 40, 40}, 3200 + 1200);
    assert_null(pto_prediction_at(&asked->predictions, 0, 1)->energy.part[PTO_POWER_CPU_IDLE].param);
}

/* --- the machine file ----------------------------------------------------------------------------------- */

TEST(powers_survive_writing_and_reading) {
    const char *const energy[] = {
        "energy:\n  gpu: {idle_w: 100.5, idle_w_95: [99, 102], copy_w: 150, kernel_w: 300}\n"
        "  cpu: {idle_w: 200, core_w: 5, core_w_95: [4, 6]}\n",
        "energy:\n  gpu: {idle_w: 100}\n"};
    for (size_t i = 0; i < sizeof energy / sizeof *energy; i++) {
        char text[2048];
        snprintf(text, sizeof text, "%s%s", COSTS, energy[i]);
        pto_machine_t machine = must_parse(text);
        char *first = must_format(&machine);
        pto_machine_t again = must_parse(first);
        char *second = must_format(&again);
        assert_string_equal(first, second);
        for (int power = 0; power < PTO_POWER_COUNT; power++) {
            const pto_param_t *a = &machine.power_w[power], *b = &again.power_w[power];
            assert_int_equal(pto_param_known(a), pto_param_known(b));
            assert_true(a->value == b->value && a->low == b->low && a->high == b->high);
        }
    }
}

TEST(bad_powers_are_rejected_at_their_position) {
    const bad_input_t bad[] = {
        BAD(COSTS "energy: {gpu: {copy_w: 1}}\n", PTO_ERR_KEY, 17, 15, "missing key 'idle_w'"),
        BAD(COSTS "energy: {gpu: {idle_w: 0}}\n", PTO_ERR_RANGE, 17, 24, "idle_w"),
        BAD(COSTS "energy: {gpu: {idle_w: 100, copy_w: 50}}\n", PTO_ERR_RANGE, 17, 37,
            "copy_w: 50 is below idle_w, 100", "whole power"),
        BAD(COSTS "energy: {gpu: {idle_w: 100, kernel_w_95: [1, 2]}}\n", PTO_ERR_KEY, 17, 42,
            "kernel_w_95 has no value"),
        BAD(COSTS "energy: {gpu: {idle_w: 100}, cpu: {idle_w: 10}}\n", PTO_ERR_KEY, 17, 35,
            "missing key 'core_w'"),
        BAD(COSTS "energy: {gpu: {idle_w: 100, idle_w_95: [1, 2]}}\n", PTO_ERR_RANGE, 17, 40,
            "does not contain the value 100"),
    };
    ASSERT_MACHINES_REFUSED(bad);
}

/* Outputs hold numbers that JSON knows. */
TEST(an_energy_beyond_all_numbers_is_not_known) {
    asked_t *asked = ask(
        COSTS
        "energy:\n  gpu: {idle_w: 1e308, copy_w: 1e308, kernel_w: 1e308}\n  cpu: {idle_w: 1, core_w: 1}\n",
        ONE_MESSAGE("100000000000000"));
    const pto_prediction_t *prediction = pto_prediction_at(&asked->predictions, 0, 0);
    assert_true(prediction->applicable);
    assert_false(prediction->has_energy);
    assert_non_null(strstr(prediction->reason, "not a finite number of joules"));
}
