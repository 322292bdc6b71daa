/* Costs of kernels that access another GPU's memory, flags between kernels, graphs and queues of kernels,
 * and additional inputs of a reduction: reading, rejecting, lookup, explanations and what-ifs. */
#include "asked.h"
#include "bad_machine.h"
#include "machine/machine_internal.h"
#include "must.h"
#include "portolan/pick.h"
#include "portolan/price.h"
#include "portolan/scenario.h"
#include "priced.h"
#include "test.h"

/* Four lines, and what a test adds from the fifth on. */
#define BODY                                                                                                 \
    "machine: m\nsource: s\nnode: {sockets: 1, gpus: 4, cores: 4}\n"                                         \
    "messages: {gpu: {on_socket: [{protocol: eager, alpha_s: 1e-6, beta_s_per_byte: 1e-10}]}}\n"
#define COST "alpha_s: 1e-6, beta_s_per_byte: 1e-10"

TEST(costs_of_kernels_are_read) {
    pto_machine_t m = must_parse(BODY "remote:\n"
                                      "  load: {on_socket: {alpha_s: 1.2e-6, beta_s_per_byte: 4e-12}}\n"
                                      "  store: {on_socket: {alpha_s: 0, beta_s_per_byte: 3e-12},\n"
                                      "          off_socket: {alpha_s: 2e-6, beta_s_per_byte: 5e-12}}\n"
                                      "  all_s_per_byte: 2.5e-12\n"
                                      "  all_s_per_byte_95: [2e-12, 3e-12]\n"
                                      "signals: {device_s: 9e-7}\n"
                                      "launch: {graph_s: 4e-6, queued_s: 1e-6, queued_s_95: [5e-7, 2e-6]}\n");
    assert_true(pto_machine_remote(&m, PTO_REMOTE_LOAD, PTO_REACH_ON_SOCKET)->alpha_s.value == 1.2e-6);
    assert_true(pto_machine_remote(&m, PTO_REMOTE_STORE, PTO_REACH_OFF_SOCKET)->alpha_s.value == 2e-6);
    assert_true(m.remote_all_s_per_byte.value == 2.5e-12 && m.remote_all_s_per_byte.high == 3e-12);
    assert_true(m.device_signal_s.value == 9e-7);
    assert_true(m.graph_launch_s.value == 4e-6 && m.queued_launch_s.low == 5e-7);
    assert_false(pto_param_known(&m.kernel_launch_s) || pto_param_known(&m.signal_s));
}

TEST(another_socket_falls_back_to_ones_own) {
    pto_machine_t m = must_parse(BODY "remote: {load: {on_socket: {" COST "}}}\n");
    assert_ptr_equal(pto_machine_remote(&m, PTO_REMOTE_LOAD, PTO_REACH_OFF_SOCKET),
                     &m.remote[PTO_REMOTE_LOAD][PTO_REACH_ON_SOCKET]);
    assert_null(pto_machine_remote(&m, PTO_REMOTE_STORE, PTO_REACH_ON_SOCKET));
    m = must_parse(BODY "remote: {load: {off_socket: {" COST "}}}\n");
    assert_null(pto_machine_remote(&m, PTO_REMOTE_LOAD, PTO_REACH_ON_SOCKET));
}

TEST(additional_inputs_use_the_piece_of_one_inputs_size) {
    pto_machine_t m = must_parse(BODY "reduce:\n  gpu:\n"
                                      "    - {below_bytes: 1KiB, " COST ", extra_input_s_per_byte: 1e-13}\n"
                                      "    - {below_bytes: 1MiB, " COST "}\n"
                                      "    - {" COST ", extra_input_s_per_byte: 3e-13}\n"
                                      "  cpu: {" COST "}\n");
    assert_true(pto_machine_extra_input(&m, PTO_SPACE_GPU, 1023)->value == 1e-13);
    assert_null(pto_machine_extra_input(&m, PTO_SPACE_GPU, 1024));
    assert_true(pto_machine_extra_input(&m, PTO_SPACE_GPU, 1 << 20)->value == 3e-13);
    assert_null(pto_machine_extra_input(&m, PTO_SPACE_CPU, 8));
    m = must_parse(BODY);
    assert_null(pto_machine_extra_input(&m, PTO_SPACE_GPU, 8));
}

TEST(invalid_costs_are_rejected) {
    static const bad_input_t bad[] = {
        BAD(BODY "remote: {}\n", PTO_ERR_KEY, 5, 9, "'remote' is empty"),
        BAD(BODY "remote: {laod: {on_socket: {" COST "}}}\n", PTO_ERR_KEY, 5, 10, "did you mean 'load'?"),
        BAD(BODY "remote: {load: {on_node: {" COST "}}}\n", PTO_ERR_KEY, 5, 17, "'on_node'"),
        BAD(BODY "remote: {store: {on_socket: {alpha_s: 0, beta_s_per_byte: 0}}}\n", PTO_ERR_RANGE, 5, 29,
            "nothing is free"),
        BAD(BODY "remote: {all_s_per_byte: 0}\n", PTO_ERR_RANGE, 5, 26, "all_s_per_byte"),
        BAD(BODY "remote: {all_s_per_byte_95: [1, 2]}\n", PTO_ERR_KEY, 5, 29, "has no value"),
        BAD(BODY "remote: {all_s_per_byte: 3, all_s_per_byte_95: [1, 2]}\n", PTO_ERR_RANGE, 5, 48,
            "all_s_per_byte_95"),
        BAD(BODY "launch: {}\n", PTO_ERR_KEY, 5, 9, "'launch' is empty"),
        BAD(BODY "launch: {graph_s: -1}\n", PTO_ERR_RANGE, 5, 19, "0 or more"),
        BAD(BODY "signals: {device_s_95: [1, 2]}\n", PTO_ERR_KEY, 5, 24, "device_s_95 has no value"),
        BAD(BODY "reduce: {gpu: {" COST ", extra_input_s_per_byte: 0}}\n", PTO_ERR_RANGE, 5, 79,
            "extra_input_s_per"),
        BAD(BODY "reduce: {gpu: {extra_input_s_per_byte: 1e-13}}\n", PTO_ERR_KEY, 5, 15,
            "missing key 'alpha_s'"),
        BAD(BODY "reduce: {gpu: [{" COST ", extra_input_s_per_byte_95: [1, 2]}]}\n", PTO_ERR_KEY, 5, 83,
            "has no value"),
    };
    ASSERT_MACHINES_REFUSED(bad);
}

/* --- in a price ----------------------------------------------------------------------------------------- */

#define PRICED                                                                                               \
    BODY "copies: {d2d: {on_socket: {" COST "}}}\n"                                                          \
         "peer: {on_socket: {" COST "}}\n"                                                                   \
         "signals: {flag_s: 1e-7}\n"                                                                         \
         "reduce: {gpu: {alpha_s: 1e-6, beta_s_per_byte: 1e-9, extra_input_s_per_byte: 2e-10,\n"             \
         "               extra_input_s_per_byte_95: [1e-10, 4e-10]}}\n"                                      \
         "energy: {gpu: {idle_w: 10, copy_w: 20, kernel_w: 100}}\n"

static const char question[] = "scenario: asked\nmachine: m.yaml\ncollective: allreduce\n"
                               "layout: {nodes: 1, gpus_per_node: 4}\nbytes: 1000000\nstrategies: [gsb]\n";

static const pto_term_t *term_of(const asked_t *asked, const char *key) {
    return term_named(&asked->predictions.prediction[0].explanation, key);
}

/* Four inputs of a million bytes: two of them are further ones. */
TEST(explanations_name_additional_inputs) {
    asked_t *asked = ask_if(PRICED, question, NULL);
    const pto_term_t *further = term_of(asked, "reduce.gpu.extra_input_s_per_byte");
    const pto_term_t *bytes = term_of(asked, "reduce.gpu.beta_s_per_byte");
    assert_non_null(further);
    assert_non_null(bytes);
    assert_true(further->count == 2e6 && bytes->count == 1e6);
    assert_true(fabs(further->seconds - 4e-4) < 1e-12);
    assert_int_equal(further->power, PTO_POWER_GPU_KERNEL);
}

TEST(their_interval_is_carried) {
    asked_t *asked = ask_if(PRICED, question, NULL);
    const pto_price_t *price = &asked->predictions.prediction[0].price;
    assert_true(price->has_interval);
    assert_true(fabs(price->seconds - price->low_s - 2e-4) < 1e-12);
    assert_true(fabs(price->high_s - price->seconds - 4e-4) < 1e-12);
}

TEST(a_kernel_works_while_it_reads_them) {
    pto_energy_t energy;
    pto_plan_t *plan = NULL;
    pto_price_t price;
    asked_t *asked = ask_if(PRICED, question, NULL);
    assert_int_equal(pto_plan_choose(&asked->scenario, &asked->machine, 0, asked->predictions.strategy[0],
                                     &plan, &price, NULL, NULL),
                     PTO_OK);
    assert_int_equal(pto_energy(plan, &asked->machine, &asked->predictions.prediction[0].price,
                                &asked->predictions.prediction[0].explanation, &energy, NULL),
                     PTO_OK);
    assert_true(fabs(energy.part[PTO_POWER_GPU_KERNEL].device_s - 4 * (1e-3 + 4e-4)) < 1e-11);
    pto_plan_destroy(plan);
}

TEST(a_what_if_changes_them) {
    asked_t *as_is = ask_if(PRICED, question, NULL);
    asked_t *doubled = ask_if(PRICED, question, "reduce.gpu.extra_input_s_per_byte=*2");
    double more_s =
        doubled->predictions.prediction[0].price.seconds - as_is->predictions.prediction[0].price.seconds;
    assert_true(fabs(more_s - 4e-4) < 1e-12);
}

/* Small data may have no cost of further inputs; a factor for all rows is then one for those that have. */
TEST(a_factor_skips_rows_without_additional_inputs) {
    pto_machine_t *m =
        must_create(BODY "reduce: {gpu: [{below_bytes: 1KiB, " COST "},\n"
                         "               {below_bytes: 1MiB, " COST ", extra_input_s_per_byte: 1e-13},\n"
                         "               {" COST ", extra_input_s_per_byte: 3e-13}]}\n");
    pto_scenario_t scenario = {0};
    assert_int_equal(pto_what_if("reduce.gpu.extra_input_s_per_byte=*2", &scenario, m, NULL), PTO_OK);
    assert_string_equal(m->what_if, "reduce.gpu.extra_input_s_per_byte=*2 (2 rows)");
    assert_null(pto_machine_extra_input(m, PTO_SPACE_GPU, 8));
    assert_true(fabs(pto_machine_extra_input(m, PTO_SPACE_GPU, 1024)->value - 2e-13) < 1e-20);
    assert_true(fabs(pto_machine_extra_input(m, PTO_SPACE_GPU, 1 << 20)->value - 6e-13) < 1e-20);
    assert_int_equal(pto_what_if("reduce.gpu.from_0.extra_input_s_per_byte=*2", &scenario, m, NULL),
                     PTO_ERR_RANGE);
    assert_int_equal(pto_what_if("reduce.gpu.extra_input_s_per_byte=5e-13", &scenario, m, NULL), PTO_OK);
    assert_true(pto_machine_extra_input(m, PTO_SPACE_GPU, 8)->value == 5e-13);
}

/* Also where the machine has none: what-ifs give them. */
TEST(every_cost_of_a_kernel_has_its_key) {
    static const char *const changes[] = {"remote.store.on_socket.beta_s_per_byte=3e-12",
                                          "remote.load.off_socket.alpha_s=1e-6",
                                          "remote.all_s_per_byte=2e-12",
                                          "signals.device_s=1e-6",
                                          "launch.graph_s=4e-6",
                                          "launch.queued_s=1e-6"};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        asked_t *asked = ask_if(PRICED, question, changes[i]);
        const pto_param_t *param[] = {
            &asked->machine.remote[PTO_REMOTE_STORE][PTO_REACH_ON_SOCKET].beta_s_per_byte,
            &asked->machine.remote[PTO_REMOTE_LOAD][PTO_REACH_OFF_SOCKET].alpha_s,
            &asked->machine.remote_all_s_per_byte,
            &asked->machine.device_signal_s,
            &asked->machine.graph_launch_s,
            &asked->machine.queued_launch_s};
        assert_int_equal(param[i]->line, PTO_LINE_WHAT_IF);
    }
}
