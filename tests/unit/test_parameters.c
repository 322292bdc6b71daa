/* The registry of machine parameters: every row of PTO_PARAMETER_TABLE can be written, read, changed,
 * omitted, named and listed, and is documented. test_param_effects.c: it is priced. The tests are generated
 * from the registry, so that a new row needs no new test. */
#include "files.h"
#include "made_machine.h"
#include "must.h"
#include "portolan/machine.h"
#include "portolan/scenario.h"
#include "same_machine.h"
#include "test.h"

/* --- numbers by key ------------------------------------------------------------------------------------- */

typedef struct {
    pto_machine_param_t *param;
    int count;
} numbers_t;

static numbers_t numbers_of(pto_machine_t *machine) {
    numbers_t numbers;
    assert_int_equal(pto_machine_params(machine, &numbers.param, &numbers.count, NULL), PTO_OK);
    keep(numbers.param, free);
    return numbers;
}

static double value_of(const pto_machine_param_t *param) {
    return param->number ? (double)*param->number : param->param->value;
}

TEST(a_file_holds_every_parameter) {
    const pto_machine_t *machine = kept_machine();
    const pto_machine_t again = must_parse(must_format(machine));
    assert_same_parameters(machine, &again);
}

/* Of a file that has a library's tables and remarks too. */
TEST(a_clone_shares_nothing) {
    pto_machine_t machine, clone;
    assert_int_equal(pto_machine_read("tests/fixtures/machine.yaml", &machine, NULL), PTO_OK);
    assert_int_equal(pto_machine_clone(&machine, &clone, NULL), PTO_OK);
    char *before = must_format(&machine);
    pto_machine_fini(&machine);
    char *after = must_format(&clone);
    assert_string_equal(before, after);
    pto_machine_fini(&clone);
}

/* Whatever else the same key's group names stays as it was. Each is changed back, as limits are in keys. */
TEST(a_what_if_changes_a_single_number) {
    pto_machine_t *machine = kept_machine();
    pto_scenario_t scenario = {0};
    numbers_t numbers = numbers_of(machine);
    for (int i = 0; i < numbers.count; i++) {
        char change[PTO_PARAM_KEY_MAX + 8];
        double before = 0;
        for (int j = 0; j < numbers.count; j++)
            before += j == i ? 0 : value_of(&numbers.param[j]);
        double own = value_of(&numbers.param[i]), after = 0;
        snprintf(change, sizeof change, "%s=*2", numbers.param[i].key);
        assert_int_equal(pto_what_if(change, &scenario, machine, NULL), PTO_OK);
        for (int j = 0; j < numbers.count; j++)
            after += j == i ? 0 : value_of(&numbers.param[j]);
        assert_true(value_of(&numbers.param[i]) == 2 * own && before == after);
        snprintf(change, sizeof change, "%s=/2", numbers.param[i].key);
        assert_int_equal(pto_what_if(change, &scenario, machine, NULL), PTO_OK);
    }
}

TEST(missing_machine_values_can_be_given) {
    pto_machine_t machine = {.name = NULL}; /* but for rows, whose keys only rows have */
    pto_scenario_t scenario = {0};
    numbers_t numbers = numbers_of(&machine);
    for (int i = 0; i < numbers.count; i++) {
        char change[PTO_PARAM_KEY_MAX + 16];
        const double value = numbers.param[i].unit == PTO_UNIT_S_PER_BYTE ? 3e-9 : 3;
        snprintf(change, sizeof change, "%s=%g", numbers.param[i].key, value);
        assert_int_equal(pto_what_if(change, &scenario, &machine, NULL), PTO_OK);
        assert_true(value_of(&numbers.param[i]) <= value && value_of(&numbers.param[i]) >= value);
    }
    for (pto_cell_t cell = {0}; pto_cell_next(&machine, &cell);)
        if (cell.family->form != PTO_FORM_COST)
            assert_true(pto_cell_known(&cell));
    static const char *const costs[] = {"reduce.cpu", "setup.open"};
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        char change[PTO_PARAM_KEY_MAX + 16];
        snprintf(change, sizeof change, "%s.alpha_s=3", costs[i]);
        assert_int_equal(pto_what_if(change, &scenario, &machine, NULL), PTO_OK);
    }
    assert_int_equal(machine.reduce[PTO_SPACE_CPU].count, 1);
    assert_int_equal(machine.setup_open.count, 1);
    pto_machine_fini(&machine);
}

TEST(the_published_model_has_the_parameters_without_a_term) {
    pto_machine_t *machine = kept_machine();
    assert_int_equal(pto_machine_restrict(machine, "published", NULL), PTO_OK);
    for (pto_cell_t cell = {0}; pto_cell_next(machine, &cell);)
        if (pto_cell_known(&cell) != !cell.family->term)
            fail_msg("%s", key_of(&cell));
}

TEST(a_term_brings_what_names_it) {
    for (int i = 0; i < pto_model_term_count(); i++) {
        const char *term = pto_model_term_at(i)->name;
        char model[64];
        pto_machine_t *machine = kept_machine();
        snprintf(model, sizeof model, "published+%s", term);
        assert_int_equal(pto_machine_restrict(machine, model, NULL), PTO_OK);
        for (pto_cell_t cell = {0}; pto_cell_next(machine, &cell);)
            if (cell.family->term && pto_cell_known(&cell) != (strcmp(cell.family->term, term) == 0))
                fail_msg("%s under %s", key_of(&cell), model);
    }
    for (int i = 0; i < pto_parameter_count(); i++) {
        bool found = pto_parameter_at(i).term[0] == '\0';
        for (int j = 0; j < pto_model_term_count() && !found; j++)
            found = strcmp(pto_model_term_at(j)->name, pto_parameter_at(i).term) == 0;
        assert_true(found);
    }
}

/* By the word of each key that the walk of words finds below the rest. */
static bool is_among_words(const pto_machine_t *machine, const pto_cell_t *cell) {
    char path[PTO_PARAM_KEY_MAX];
    pto_cell_key(cell, path);
    char *last = strrchr(path, '.');
    bool found = false;
    if (!last)
        return false;
    *last++ = '\0';
    for (pto_word_t word = {0}; pto_word_next(machine, path, &word);)
        found = found || (word.at == cell->at && word.length == strlen(last) &&
                          strncmp(word.text, last, word.length) == 0);
    return found;
}

TEST(every_cell_is_found_by_its_place_and_its_key) {
    pto_machine_t machine = {.name = NULL};
    int count = 0;
    for (pto_cell_t cell = {0}; pto_cell_next(&machine, &cell); count++) {
        pto_cell_t by_place;
        assert_true(is_among_words(&machine, &cell));
        /* node.* is no addend of a price, and nothing else begins where another does */
        assert_true(pto_cell_at(&machine, cell.at, &by_place));
        assert_ptr_equal(by_place.family, cell.family);
        assert_int_equal(by_place.index, cell.index);
    }
    assert_true(count > pto_parameter_count());
}

/* Nor does what is longer than a key. */
TEST(a_path_that_ends_within_a_word_leads_nowhere) {
    pto_machine_t machine = {.name = NULL};
    char path[PTO_PARAM_KEY_MAX + 4];
    int count = 0;
    for (pto_cell_t cell = {0}; pto_cell_next(&machine, &cell); count++) {
        pto_cell_key(&cell, path);
        size_t length = strlen(path);
        for (size_t end = 1; end <= length + 2; end++) {
            pto_cell_key(&cell, path);
            if (end > length)
                snprintf(path + length, sizeof path - length, "%s", end == length + 1 ? "x" : ".x");
            else if (path[end] == '.' || path[end] == '\0' || path[end - 1] == '.')
                continue;
            else
                path[end] = '\0';
            assert_false(pto_word_next(&machine, path, &(pto_word_t){0}));
        }
    }
    assert_true(count > pto_parameter_count());
}

/* --- documents ------------------------------------------------------------------------------------------ */

TEST(the_documents_list_every_parameter) {
    const char *table =
        strstr(must_read_text("docs/formats.md"), "| parameter | unit | term | what |\n|---|---|---|---|\n");
    assert_non_null(table);
    table = strstr(table, "|---|---|---|---|\n") + strlen("|---|---|---|---|\n");
    for (int i = 0; i < pto_parameter_count(); i++) {
        pto_parameter_t parameter = pto_parameter_at(i);
        char row[512];
        snprintf(row, sizeof row, "| `%s` | %s | %s | %s%s |\n", parameter.key, parameter.unit,
                 parameter.term, parameter.what, parameter.priced ? "" : " (measured, not priced)");
        assert_true(strlen(parameter.what) > 10);
        if (strncmp(table, row, strlen(row)) != 0)
            fail_msg("docs/formats.md has not, in its place: %s", row);
        table += strlen(row);
    }
    assert_true(*table != '|');
}
