/* A machine's parameters by key, and what-ifs: changing one of them for a run. */
#include "asked.h"
#include "bad_input.h"
#include "machine/machine_internal.h"
#include "must.h"
#include "portolan/pick.h"
#include "portolan/scenario.h"
#include "test.h"

static const char machine_text[] =
    "machine: made\n"
    "source: made up\n"
    "node: {sockets: 1, gpus: 2, cores: 8}\n"
    "messages:\n"
    "  cpu:\n"
    "    on_socket:\n"
    "      - {protocol: short, below_bytes: 256, alpha_s: 1.0e-6, beta_s_per_byte: 1.0e-10}\n"
    "      - {protocol: eager, below_bytes: 8192, alpha_s: 2.0e-6, beta_s_per_byte: 2.0e-10}\n"
    "      - {protocol: rendezvous, alpha_s: 3.0e-6, beta_s_per_byte: 3.0e-10}\n"
    "    off_node: [{protocol: eager, alpha_s: 4.0e-6, alpha_s_95: [3.0e-6, 5.0e-6], beta_s_per_byte: "
    "4.0e-10}]\n"
    "  gpu:\n"
    "    on_socket: [{protocol: eager, alpha_s: 2.0e-6, beta_s_per_byte: 1.0e-9}]\n"
    "    off_node: [{protocol: eager, alpha_s: 2.0e-6, beta_s_per_byte: 1.0e-9}]\n"
    "copies:\n"
    "  h2d: {on_socket: {alpha_s: 5.0e-6, beta_s_per_byte: 1.0e-10}}\n"
    "  d2h: {on_socket: {alpha_s: 5.0e-6, beta_s_per_byte: 1.0e-10}}\n"
    "  shared: {h2d: [{procs: 2, alpha_s: 6.0e-6, beta_s_per_byte: 2.0e-10},\n"
    "                 {procs: 4, alpha_s: 7.0e-6, beta_s_per_byte: 4.0e-10}]}\n"
    "reduce:\n"
    "  gpu: [{below_bytes: 4096, alpha_s: 1.0e-6, beta_s_per_byte: 1.0e-12},\n"
    "        {alpha_s: 2.0e-6, beta_s_per_byte: 2.0e-12}]\n";

static const char scenario_text[] = "scenario: asked\n"
                                    "machine: made.yaml\n"
                                    "collective: allreduce\n"
                                    "layout: {nodes: 4, gpus_per_node: 2}\n"
                                    "bytes: {from: 4, to: 4096, factor: 4}\n";

static asked_t *give(void) { return read_asked(machine_text, scenario_text); }

static void what_if(asked_t *given, const char *change) {
    pto_error_t err = {0};
    if (pto_what_if(change, &given->scenario, &given->machine, &err) != PTO_OK)
        fail_msg("%s: %s", change, err.message);
}

/* --- keys ----------------------------------------------------------------------------------------------- */

TEST(keys_are_unique_and_groups_hold_their_rows) {
    asked_t *given = give();
    pto_machine_param_t *param = NULL;
    int count = 0, rows = 0;
    assert_int_equal(pto_machine_params(&given->machine, &param, &count, NULL), PTO_OK);
    assert_true(count > 20);
    for (int i = 0; i < count; i++) {
        assert_true((param[i].param == NULL) != (param[i].number == NULL));
        for (int j = 0; j < i; j++)
            assert_string_not_equal(param[i].key, param[j].key);
        rows += strcmp(param[i].group, "copies.shared.h2d.alpha_s") == 0;
    }
    assert_int_equal(rows, 2);
    free(param);
}

/* The pointer that a price is explained with is a parameter's, and the key names it. */
static bool is_named(const pto_machine_param_t *param, int count, const pto_term_t *term) {
    for (int i = 0; i < count; i++)
        if (param[i].param == term->param)
            return strcmp(param[i].key, term->key) == 0 || strcmp(param[i].group, term->key) == 0 ||
                   strstr(term->key, ".on_gpu.") != NULL;
    return false;
}

TEST(explanations_name_parameters) {
    asked_t *given = give();
    pto_machine_param_t *param = NULL;
    int count = 0, seen = 0;
    assert_int_equal(pto_scenario_bind(&given->scenario, &given->machine, NULL), PTO_OK);
    pto_predictions_t predictions = must_predict(&given->scenario, &given->machine, true);
    assert_int_equal(pto_machine_params(&given->machine, &param, &count, NULL), PTO_OK);
    for (int64_t cell = 0; cell < predictions.point_count * predictions.strategy_count; cell++) {
        const pto_explanation_t *explanation = &predictions.prediction[cell].explanation;
        for (int t = 0; t < explanation->count; t++, seen++)
            if (explanation->term[t].param && !is_named(param, count, &explanation->term[t]))
                fail_msg("%s is no parameter", explanation->term[t].key);
    }
    assert_true(seen > 20);
    free(param);
}

/* --- one value, by its key ------------------------------------------------------------------------------ */

static double value_of(const pto_machine_t *machine, const char *key) {
    pto_error_t err = {0};
    double value = 0;
    if (pto_machine_get(machine, key, &value, &err) != PTO_OK)
        fail_msg("%s: %s", key, err.message);
    return value;
}

TEST(a_value_is_found_by_its_key) {
    const pto_machine_t *machine = &give()->machine;
    assert_true(value_of(machine, "node.gpus") == 2);
    assert_true(value_of(machine, "copies.h2d.on_socket.alpha_s") == 5e-6);
    assert_true(value_of(machine, "copies.shared.h2d.4.alpha_s") == 7e-6);
    assert_true(value_of(machine, "reduce.gpu.from_4096.beta_s_per_byte") == 2e-12);
    assert_true(value_of(machine, "messages.cpu.on_socket.short.below_bytes") == 256);
    assert_true(value_of(machine, "messages.cpu.on_gpu.eager.alpha_s") == 2e-6); /* on_socket's */
}

TEST(a_value_that_is_not_there_is_not_made_up) {
    const pto_machine_t *machine = &give()->machine;
    const struct {
        const char *key;
        pto_status_t status;
        const char *says;
    } bad[] = {{"energy.cpu.idle_w", PTO_ERR_NOT_FOUND, "the machine has no energy.cpu.idle_w"},
               {"energy.cpu.idle", PTO_ERR_NOT_FOUND, "did you mean 'energy.cpu.idle_w'?"},
               {"nodes", PTO_ERR_NOT_FOUND, "unknown parameter 'nodes'"},
               {"copies.shared.h2d.alpha_s", PTO_ERR_RANGE, "names 2 rows"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double value = 7;
        pto_error_t err = {0};
        assert_int_equal(pto_machine_get(machine, bad[i].key, &value, &err), bad[i].status);
        assert_non_null(strstr(err.message, bad[i].says));
        assert_true(value == 7);
    }
}

TEST(a_value_is_set_by_its_key_in_a_duplicate_alone) {
    const pto_machine_t *machine = &give()->machine;
    pto_machine_t *copy = must_duplicate(machine);
    assert_int_equal(pto_machine_set(copy, "copies.h2d.on_socket.alpha_s", 0.1 + 0.2, NULL), PTO_OK);
    assert_int_equal(pto_machine_set(copy, "copies.shared.h2d.alpha_s", 9e-6, NULL), PTO_OK);
    assert_int_equal(pto_machine_set(copy, "memory.gpu_bytes", 96e15, NULL), PTO_OK);
    assert_int_equal(pto_machine_set(copy, "reduce.cpu.alpha_s", 1e-6, NULL), PTO_OK);
    assert_true(value_of(copy, "copies.h2d.on_socket.alpha_s") == 0.1 + 0.2);
    assert_true(value_of(copy, "copies.shared.h2d.2.alpha_s") == 9e-6);
    assert_true(value_of(copy, "copies.shared.h2d.4.alpha_s") == 9e-6);
    assert_true(value_of(copy, "memory.gpu_bytes") == 96e15);
    assert_true(value_of(copy, "reduce.cpu.alpha_s") == 1e-6);
    assert_string_equal(pto_machine_what_if(copy), "copies.h2d.on_socket.alpha_s=0.3 (5e-06 before)\n"
                                                   "copies.shared.h2d.alpha_s=9e-06 (2 rows)\n"
                                                   "memory.gpu_bytes=9.6e+16 (none before)\n"
                                                   "reduce.cpu.alpha_s=1e-06 (none before)");
    assert_true(value_of(machine, "copies.h2d.on_socket.alpha_s") == 5e-6);
    assert_null(pto_machine_what_if(machine));
    assert_string_equal(pto_machine_name(copy), "made");
    assert_string_equal(pto_machine_source(copy), "made up");
    assert_string_equal(pto_machine_path(copy), "machine.yaml");
    assert_null(pto_machine_model(copy));
    pto_machine_destroy(NULL);
}

TEST(a_value_that_no_machine_has_is_not_set) {
    pto_machine_t *machine = &give()->machine;
    const struct {
        const char *key;
        double value;
        pto_status_t status;
        const char *says;
    } bad[] = {{"copies.h2d.on_socket.alpha_s", -1, PTO_ERR_RANGE, "0 or more"},
               {"copies.h2d.on_socket.alpha_s", NAN, PTO_ERR_RANGE, "nan"},
               {"node.gpus", 1.5, PTO_ERR_RANGE, "a whole number"},
               {"node.gpus", 0, PTO_ERR_RANGE, "1 or more"},
               {"messages.cpu.on_socket.eager.below_bytes", 256, PTO_ERR_RANGE, "between"},
               {"nodes", 2, PTO_ERR_NOT_FOUND, "--explain"}}; /* of a layout, so not suggested */
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pto_error_t err = {0};
        assert_int_equal(pto_machine_set(machine, bad[i].key, bad[i].value, &err), bad[i].status);
        if (!strstr(err.message, bad[i].says))
            fail_msg("%s: %s", bad[i].key, err.message);
    }
    assert_null(pto_machine_what_if(machine));
}

/* --- changes -------------------------------------------------------------------------------------------- */

TEST(a_value_replaces_the_parameter_and_its_interval) {
    asked_t *given = give();
    const pto_param_t *alpha_s =
        &given->machine.messages[PTO_SPACE_CPU][PTO_LEVEL_OFF_NODE].row[0].postal.alpha_s;
    assert_true(alpha_s->has_interval);
    what_if(given, "messages.cpu.off_node.eager.alpha_s=9e-6");
    assert_true(alpha_s->value == 9e-6 && alpha_s->low == 9e-6 && alpha_s->high == 9e-6);
    assert_false(alpha_s->has_interval);
    assert_int_equal(alpha_s->line, PTO_LINE_WHAT_IF);
    assert_string_equal(given->machine.what_if, "messages.cpu.off_node.eager.alpha_s=9e-6 (4e-06 before)");
}

TEST(a_factor_scales_and_changes_add_up) {
    asked_t *given = give();
    const pto_param_t *alpha_s = &given->machine.copies[PTO_COPY_H2D][PTO_REACH_ON_SOCKET].alpha_s;
    what_if(given, "copies.h2d.on_socket.alpha_s=*4");
    what_if(given, "copies.h2d.on_socket.alpha_s=/2");
    assert_true(fabs(alpha_s->value - 1e-5) < 1e-18);
    assert_string_equal(given->machine.what_if, "copies.h2d.on_socket.alpha_s=*4 (5e-06 before)\n"
                                                "copies.h2d.on_socket.alpha_s=/2 (2e-05 before)");
}

TEST(a_group_changes_all_rows_and_a_key_one) {
    asked_t *given = give();
    const pto_cost_row_t *row = given->machine.shared_copies[PTO_COPY_H2D].row;
    what_if(given, "copies.shared.h2d.alpha_s=*2");
    assert_true(row[0].postal.alpha_s.value == 12e-6 && row[1].postal.alpha_s.value == 14e-6);
    what_if(given, "copies.shared.h2d.4.alpha_s=1e-6");
    assert_true(row[0].postal.alpha_s.value == 12e-6 && row[1].postal.alpha_s.value == 1e-6);
    what_if(given, "reduce.gpu.from_4096.beta_s_per_byte=5e-12");
    assert_true(given->machine.reduce[PTO_SPACE_GPU].row[1].postal.beta_s_per_byte.value == 5e-12);
}

TEST(a_limit_moves_both_ranges) {
    asked_t *given = give();
    const pto_cost_table_t *cost = &given->machine.messages[PTO_SPACE_CPU][PTO_LEVEL_ON_SOCKET];
    what_if(given, "messages.cpu.on_socket.eager.below_bytes=64KiB");
    assert_int_equal(cost->row[1].below_bytes, 65536);
    assert_int_equal(cost->row[2].from_bytes, 65536);
    assert_int_equal(
        pto_machine_message(&given->machine, PTO_SPACE_CPU, PTO_LEVEL_ON_SOCKET, 65535)->protocol,
        PTO_PROTOCOL_EAGER);
}

TEST(what_a_machine_lacks_can_be_put_there) {
    asked_t *given = give();
    what_if(given, "injection.cpu.s_per_byte=3e-11");
    assert_true(given->machine.injection_s_per_byte[PTO_SPACE_CPU].value == 3e-11);
    what_if(given, "reduce.cpu.beta_s_per_byte=1e-10");
    const pto_postal_t *reduce = pto_machine_reduce(&given->machine, PTO_SPACE_CPU, 4096);
    assert_non_null(reduce);
    assert_true(pto_postal_known(reduce) && reduce->alpha_s.value == 0);
    assert_true(reduce->beta_s_per_byte.value == 1e-10);
}

/* Explanations name the level at which processes are, though on_socket's numbers stand in for it. */
TEST(on_gpu_means_on_socket_where_that_stands_in) {
    asked_t *given = give();
    what_if(given, "messages.cpu.on_gpu.short.alpha_s=*3");
    assert_true(fabs(given->machine.messages[PTO_SPACE_CPU][PTO_LEVEL_ON_SOCKET].row[0].postal.alpha_s.value -
                     3e-6) < 1e-18);
}

TEST(the_layout_changes_too) {
    asked_t *given = give();
    what_if(given, "nodes=*8");
    what_if(given, "procs_per_gpu=*2"); /* open in the scenario: 1 */
    what_if(given, "gpus_per_node=1");
    assert_int_equal(given->scenario.nodes.value[0], 32);
    assert_int_equal(given->scenario.layout.nodes, 32);
    assert_int_equal(given->scenario.layout.procs_per_gpu, 2);
    assert_int_equal(given->scenario.layout.gpus_per_node, 1);
    assert_int_equal(pto_scenario_bind(&given->scenario, &given->machine, NULL), PTO_OK);
    assert_string_equal(given->machine.what_if, "nodes=*8\nprocs_per_gpu=*2\ngpus_per_node=1");
}

TEST(what_cannot_be_meant_is_refused_and_changes_nothing) {
    static const bad_input_t bad[] = {
        BAD("alpha", PTO_ERR_TYPE, 0, 0, "PARAMETER=VALUE"),
        BAD("=3", PTO_ERR_TYPE, 0, 0, "PARAMETER=VALUE"),
        BAD("nodes=", PTO_ERR_TYPE, 0, 0, "PARAMETER=VALUE"),
        BAD("copies.h2d.on_sokcet.alpha_s=1", PTO_ERR_NOT_FOUND, 0, 0, "'copies.h2d.on_socket.alpha_s'"),
        BAD("frobnicate=1", PTO_ERR_NOT_FOUND, 0, 0, "frobnicate", "--explain"),
        BAD("copies.h2d.on_socket.alpha_s=-1e-6", PTO_ERR_RANGE, 0, 0, "0 or more"),
        BAD("copies.h2d.on_socket.alpha_s=nan", PTO_ERR_RANGE, 0, 0, "not finite"),
        BAD("copies.h2d.on_socket.alpha_s=inf", PTO_ERR_RANGE, 0, 0, "not finite"),
        BAD("copies.h2d.on_socket.alpha_s=*-2", PTO_ERR_RANGE, 0, 0, "factor"),
        BAD("copies.h2d.on_socket.alpha_s=/0", PTO_ERR_RANGE, 0, 0, "factor"),
        BAD("node.cores=*1e300", PTO_ERR_RANGE, 0, 0, "8e+300", "whole"),
        BAD("node.cores=65537", PTO_ERR_RANGE, 0, 0, "65536 or less"),
        BAD("copies.h2d.on_socket.alpha_s=1usec", PTO_ERR_TYPE, 0, 0, "1us"),
        BAD("signals.flag_s=*2", PTO_ERR_RANGE, 0, 0, "no signals.flag_s"),
        BAD("nodes=0", PTO_ERR_RANGE, 0, 0, "1 or more"),
        BAD("nodes=/3", PTO_ERR_RANGE, 0, 0, "1.33333", "whole"),
        BAD("messages.cpu.on_socket.eager.below_bytes=256", PTO_ERR_RANGE, 0, 0, "rows before and after"),
        BAD("messages.cpu.on_socket.short.below_bytes=8KiB", PTO_ERR_RANGE, 0, 0, "rows before and after"),
        BAD("messages.cpu.on_socket.eager.below_bytes=64KX", PTO_ERR_TYPE, 0, 0, "64KX"),
    };
    asked_t *given = give();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pto_error_t err = {0};
        assert_refused(&bad[i], pto_what_if(bad[i].text, &given->scenario, &given->machine, &err), &err);
    }
    assert_null(given->machine.what_if);
    assert_int_equal(given->machine.messages[PTO_SPACE_CPU][PTO_LEVEL_ON_SOCKET].row[1].below_bytes, 8192);
    assert_int_equal(given->machine.messages[PTO_SPACE_CPU][PTO_LEVEL_ON_SOCKET].row[2].from_bytes, 8192);
    assert_int_equal(given->scenario.nodes.value[0], 4);
}

/* As the fit does with rows that it cannot complete. */
TEST(rows_that_are_taken_back_are_no_parameters) {
    asked_t *given = give();
    pto_machine_t clone;
    char before[PTO_MACHINE_DIGEST_MAX], after[PTO_MACHINE_DIGEST_MAX], cloned[PTO_MACHINE_DIGEST_MAX];
    pto_cost_table_t *cost = &given->machine.setup_open;
    pto_machine_digest(&given->machine, before);
    pto_cost_row_t *row = pto_cost_add(cost);
    assert_non_null(row);
    row->postal.alpha_s = (pto_param_t){.value = 1e-6, .low = 1e-6, .high = 1e-6, .line = 1};
    row->postal.flagged = strdup("doubtful");
    assert_string_not_equal(pto_machine_digest(&given->machine, after), before);
    pto_cost_truncate(cost, 0);
    assert_string_equal(pto_machine_digest(&given->machine, after), before);
    assert_int_equal(pto_machine_clone(&given->machine, &clone, NULL), PTO_OK);
    assert_string_equal(pto_machine_digest(&clone, cloned), before);
    pto_machine_fini(&clone);
}
