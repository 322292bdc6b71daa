/* Models as subsets of a machine: what the published model keeps, and the terms that can be added to it. */
#include "bad_input.h"
#include "machine/machine_internal.h"
#include "must.h"
#include "portolan/machine.h"
#include "test.h"

/* A machine file with every key. */
static const char everything[] = "tests/fuzz/corpus/machine/everything.yaml";

static void read_machine(pto_machine_t *machine) {
    pto_error_t err = {0};
    assert_ok(pto_machine_read(everything, machine, &err), &err);
}

/* The machine file's text under a model. */
static char *text_under(const char *model) {
    pto_machine_t machine;
    read_machine(&machine);
    assert_int_equal(pto_machine_restrict(&machine, model, NULL), PTO_OK);
    char *text = must_format(&machine);
    pto_machine_fini(&machine);
    return text;
}

TEST(full_drops_nothing) {
    pto_machine_t machine;
    read_machine(&machine);
    assert_int_equal(pto_machine_restrict(&machine, "full", NULL), PTO_OK);
    assert_null(machine.model);
    assert_true(machine.shared_copies[PTO_COPY_H2D].count > 0 && machine.library_count > 0);
    assert_true(pto_param_known(&machine.signal_s));
    pto_machine_fini(&machine);
}

TEST(published_keeps_messages_injection_and_copies) {
    pto_machine_t machine;
    read_machine(&machine);
    assert_int_equal(pto_machine_restrict(&machine, "published", NULL), PTO_OK);
    assert_string_equal(machine.model, "published");
    assert_int_equal(machine.messages[PTO_SPACE_CPU][PTO_LEVEL_ON_SOCKET].count, 3);
    assert_true(pto_param_known(&machine.injection_s_per_byte[PTO_SPACE_CPU]));
    assert_true(pto_postal_known(&machine.copies[PTO_COPY_H2D][PTO_REACH_ON_SOCKET]));
    for (int kind = 0; kind < PTO_COPY_COUNT; kind++)
        assert_int_equal(machine.shared_copies[kind].count, 0);
    assert_null(pto_machine_reduce(&machine, PTO_SPACE_CPU, 1024));
    assert_false(pto_postal_known(&machine.peer[PTO_REACH_ON_SOCKET]));
    assert_false(pto_param_known(&machine.signal_s) || pto_param_known(&machine.event_s));
    assert_false(pto_param_known(&machine.device_signal_s));
    assert_false(pto_param_known(&machine.kernel_launch_s) || pto_param_known(&machine.graph_launch_s) ||
                 pto_param_known(&machine.queued_launch_s));
    assert_null(pto_machine_remote(&machine, PTO_REMOTE_STORE, PTO_REACH_OFF_SOCKET));
    assert_false(pto_param_known(&machine.remote_all_s_per_byte));
    assert_int_equal(machine.library_count, 0);
    pto_machine_fini(&machine);
}

TEST(each_term_adds_what_it_names) {
    char model[512] = "published";
    char *published = text_under(model);
    for (int i = 0; i < pto_model_term_count(); i++) {
        char one[128];
        snprintf(one, sizeof one, "published+%s", pto_model_term_at(i)->name);
        char *text = text_under(one);
        assert_true(strlen(text) >= strlen(published));
        size_t length = strlen(model);
        snprintf(model + length, sizeof model - length, "+%s", pto_model_term_at(i)->name);
    }
    char *all = text_under(model), *full = text_under("full");
    assert_string_equal(all, full);
    assert_true(strlen(full) > strlen(published));
}

TEST(terms_are_added_one_by_one) {
    pto_machine_t machine;
    read_machine(&machine);
    assert_int_equal(pto_machine_restrict(&machine, "published+copies.shared+signals", NULL), PTO_OK);
    assert_true(machine.shared_copies[PTO_COPY_H2D].count > 0 && pto_param_known(&machine.signal_s));
    assert_int_equal(machine.library_count, 0);
    pto_machine_fini(&machine);
}

TEST(additional_inputs_are_a_separate_term) {
    pto_machine_t machine;
    read_machine(&machine);
    assert_int_equal(pto_machine_restrict(&machine, "published+reduce", NULL), PTO_OK);
    assert_non_null(pto_machine_reduce(&machine, PTO_SPACE_GPU, 1024));
    assert_null(pto_machine_extra_input(&machine, PTO_SPACE_GPU, 1024));
    pto_machine_fini(&machine);
    read_machine(&machine);
    assert_int_equal(pto_machine_restrict(&machine, "published+reduce+reduce.extra_input", NULL), PTO_OK);
    assert_non_null(pto_machine_extra_input(&machine, PTO_SPACE_GPU, 1024));
    pto_machine_fini(&machine);
}

TEST(unknown_names_are_refused_with_the_nearest) {
    static const bad_input_t bad[] = {
        BAD("publishd", PTO_ERR_NOT_FOUND, 0, 0, "publishd", "'published'"),
        BAD("fulll", PTO_ERR_NOT_FOUND, 0, 0, "'full'"),
        BAD("full+reduce", PTO_ERR_NOT_FOUND, 0, 0, "full+reduce"),
        BAD("", PTO_ERR_NOT_FOUND, 0, 0, "unknown model"),
        BAD("published+", PTO_ERR_NOT_FOUND, 0, 0, "unknown model term"),
        BAD("published+reduces", PTO_ERR_NOT_FOUND, 0, 0, "'reduce'"),
        BAD("published+reduce+libary", PTO_ERR_NOT_FOUND, 0, 0, "'library'"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pto_machine_t machine;
        pto_error_t err = {0};
        read_machine(&machine);
        assert_refused(&bad[i], pto_machine_restrict(&machine, bad[i].text, &err), &err);
        assert_null(machine.model);
        assert_true(machine.library_count > 0);
        pto_machine_fini(&machine);
    }
}
