/* Models as subsets of a machine: what the published model keeps, and the terms that can be added to it. */
#include "bad_input.h"
#include "machine/machine_internal.h"
#include "must.h"
#include "portolan/machine.h"
#include "test.h"

/* A machine file with every key. */
static const char everything[] = "tests/fuzz/corpus/machine/everything.yaml";

/* What a model leaves of it, until the test ends. */
static pto_machine_t *everything_under(const char *model) {
    pto_machine_t *machine = must_open(everything);
    assert_int_equal(pto_machine_restrict(machine, model, NULL), PTO_OK);
    return machine;
}

static char *text_under(const char *model) { return must_format(everything_under(model)); }

TEST(full_drops_nothing) {
    const pto_machine_t *machine = everything_under("full");
    assert_null(machine->model);
    assert_true(machine->shared_copies[PTO_COPY_H2D].count > 0 && machine->library_count > 0);
    assert_true(pto_param_known(&machine->signal_s));
}

TEST(published_keeps_messages_injection_and_copies) {
    const pto_machine_t *machine = everything_under("published");
    assert_string_equal(machine->model, "published");
    assert_int_equal(machine->messages[PTO_SPACE_CPU][PTO_LEVEL_ON_SOCKET].count, 3);
    assert_true(pto_param_known(&machine->injection_s_per_byte[PTO_SPACE_CPU]));
    assert_true(pto_postal_known(&machine->copies[PTO_COPY_H2D][PTO_REACH_ON_SOCKET]));
    for (int kind = 0; kind < PTO_COPY_COUNT; kind++)
        assert_int_equal(machine->shared_copies[kind].count, 0);
    assert_null(pto_machine_reduce(machine, PTO_SPACE_CPU, 1024));
    assert_false(pto_postal_known(&machine->peer[PTO_REACH_ON_SOCKET]));
    const pto_param_t *const dropped[] = {&machine->signal_s,
                                          &machine->event_s,
                                          &machine->device_signal_s,
                                          &machine->kernel_launch_s,
                                          &machine->graph_launch_s,
                                          &machine->queued_launch_s,
                                          &machine->remote_all_s_per_byte};
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
        if (pto_param_known(dropped[i]))
            fail_msg("dropped parameter %zu is known", i);
    assert_null(pto_machine_remote(machine, PTO_REMOTE_STORE, PTO_REACH_OFF_SOCKET));
    assert_int_equal(machine->library_count, 0);
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
    const pto_machine_t *machine = everything_under("published+copies.shared+signals");
    assert_true(machine->shared_copies[PTO_COPY_H2D].count > 0 && pto_param_known(&machine->signal_s));
    assert_int_equal(machine->library_count, 0);
}

TEST(additional_inputs_are_a_separate_term) {
    const pto_machine_t *machine = everything_under("published+reduce");
    assert_non_null(pto_machine_reduce(machine, PTO_SPACE_GPU, 1024));
    assert_null(pto_machine_extra_input(machine, PTO_SPACE_GPU, 1024));
    machine = everything_under("published+reduce+reduce.extra_input");
    assert_non_null(pto_machine_extra_input(machine, PTO_SPACE_GPU, 1024));
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
        pto_machine_t *machine = must_open(everything);
        pto_error_t err = {0};
        assert_refused(&bad[i], pto_machine_restrict(machine, bad[i].text, &err), &err);
        assert_null(machine->model);
        assert_true(machine->library_count > 0);
    }
}
