/* Machines are written and read back; files are replaced as a whole or not at all. */
#include <dirent.h>
#include <glob.h>

#include "files.h"
#include "machine/machine_internal.h"
#include "must.h"
#include "portolan/machine.h"
#include "same_machine.h"
#include "test.h"

static char *format(const pto_machine_t *machine, const char *comment) {
    char *text = NULL;
    assert_int_equal(pto_machine_format(machine, comment, &text, NULL), PTO_OK);
    return keep(text, free);
}

/* What is written, read and written again is the same text, byte for byte. */
static void assert_round_trip(const pto_machine_t *machine) {
    char *first = format(machine, NULL);
    pto_machine_t again = must_parse(first);
    char *second = format(&again, NULL);
    assert_string_equal(first, second);
}

TEST(every_machine_survives_writing_and_reading) {
    static const char *const paths[] = {"tests/fixtures/machine.yaml",
                                        "scenarios/machines/summit-spectrum.yaml",
                                        "scenarios/machines/lassen-mvapich2.yaml"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        pto_machine_t machine = must_read(paths[i]);
        char *text = format(&machine, "made by a test\n\nof two lines");
        pto_machine_t again = must_parse(text);
        assert_string_equal(machine.name, again.name);
        assert_string_equal(machine.source, again.source);
        assert_int_equal(machine.library_count, again.library_count);
        assert_same_parameters(&machine, &again);
        assert_round_trip(&machine);
    }
}

static pto_machine_t small_machine(double alpha_s) {
    pto_machine_t machine = {.node = {1, 1, 1}};
    machine.name = strdup("m: \"odd\" \\ name with # marks");
    machine.source = strdup("caf\xc3\xa9, 2 lines\nhere");
    assert_non_null(machine.name);
    assert_non_null(machine.source);
    pto_cost_table_t *cost = &machine.messages[PTO_SPACE_GPU][PTO_LEVEL_ON_GPU];
    assert_non_null(pto_cost_add(cost));
    cost->row[0].protocol = PTO_PROTOCOL_RENDEZVOUS;
    cost->row[0].postal.alpha_s = (pto_param_t){alpha_s, alpha_s / 3, alpha_s * 3, true, 0, 1};
    cost->row[0].postal.beta_s_per_byte = (pto_param_t){1.0 / 3e10, 0, 1, false, 0, 1};
    return machine;
}

TEST(numbers_and_names_survive_exactly) {
    pto_machine_t machine = small_machine(0.1 + 0.2);
    char *text = format(&machine, "# of a comment\n");
    pto_machine_t again = must_parse(text);
    const pto_postal_t *postal = &again.messages[PTO_SPACE_GPU][PTO_LEVEL_ON_GPU].row[0].postal;
    assert_true(postal->alpha_s.value == 0.1 + 0.2);
    assert_true(postal->alpha_s.low == (0.1 + 0.2) / 3);
    assert_true(postal->beta_s_per_byte.value == 1.0 / 3e10);
    assert_false(postal->beta_s_per_byte.has_interval);
    assert_string_equal(again.name, machine.name);
    assert_string_equal(again.source, "caf\xc3\xa9, 2 lines\\u000ahere");
    pto_machine_fini(&machine);
}

TEST(invalid_text_does_not_corrupt_the_file) {
    static const char *const odd[] = {"\xff",     "a\xc3",        "\xed\xa0\x80",
                                      "\xc2\x85", "\xef\xbf\xbe", "\xf5\x80\x80\x80",
                                      "\xe2\x82", "\x7f\r"};
    pto_machine_t machine = small_machine(1e-6);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        free(machine.name);
        machine.name = strdup(odd[i]);
        free(machine.source);
        machine.source = strdup(odd[i]);
        assert_non_null(machine.name);
        assert_non_null(machine.source);
        char *text = format(&machine, odd[i]);
        pto_machine_t again = must_parse(text);
        assert_true(strlen(again.name) > 0); /* and it can be printed, or it would not have been read */
    }
    pto_machine_fini(&machine);
}

/* --- files ---------------------------------------------------------------------------------------------- */

static int count_files(void) {
    int count = 0;
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    for (const struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing))
        count += entry->d_name[0] != '.';
    closedir(listing);
    return count;
}

TEST(a_file_is_replaced_whole_and_only_by_force) {
    pto_error_t err;
    pto_machine_t before = small_machine(1e-6);
    pto_machine_t after = small_machine(2e-6);
    const char *path = in_folder("m.yaml");
    assert_int_equal(pto_machine_write(&before, NULL, path, false, &err), PTO_OK);
    assert_int_equal(pto_machine_write(&after, NULL, path, false, &err), PTO_ERR_IO);
    assert_string_equal(err.file, path);
    assert_non_null(strstr(err.message, "--force"));
    pto_machine_t read = must_read(path);
    assert_true(read.messages[PTO_SPACE_GPU][PTO_LEVEL_ON_GPU].row[0].postal.alpha_s.value == 1e-6);
    assert_int_equal(pto_machine_write(&after, NULL, path, true, &err), PTO_OK);
    read = must_read(path);
    assert_true(read.messages[PTO_SPACE_GPU][PTO_LEVEL_ON_GPU].row[0].postal.alpha_s.value == 2e-6);
    assert_int_equal(count_files(), 1);
    pto_machine_fini(&before);
    pto_machine_fini(&after);
}

TEST(a_folder_that_is_not_there_is_an_error) {
    pto_error_t err;
    pto_machine_t machine = small_machine(1e-6);
    const char *path = in_folder("none/m.yaml");
    assert_int_equal(pto_machine_write(&machine, NULL, path, true, &err), PTO_ERR_IO);
    assert_string_equal(err.file, path);
    pto_machine_fini(&machine);
}

/* Without it, intervals hold the parameters' error alone: a fifth of what is measured. */
TEST(every_shipped_machine_knows_its_models_error) {
    glob_t found;
    assert_int_equal(glob("scenarios/machines/*.yaml", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        pto_machine_t machine = must_read(found.gl_pathv[i]);
        if (machine.model_error.source == NULL || pto_model_error_row(&machine.model_error, "none") == NULL)
            fail_msg("%s has no model_error with a row for all strategies", found.gl_pathv[i]);
    }
    globfree(&found);
}

int main(void) { return run_all_tests(make_folder, remove_folder); }
