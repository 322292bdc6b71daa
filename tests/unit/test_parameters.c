/* The registry of machine parameters: every row of PTO_PARAMETER_TABLE can be written, read, changed,
 * omitted, named and listed, is documented, and is priced or marked as not priced. The tests are generated
 * from the registry, so that a new row needs no new test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text_file.h"
#include "machine/registry.h"
#include "portolan/machine_write.h"
#include "portolan/pick.h"
#include "portolan/what_if.h"

/* --- a machine that has everything ---------------------------------------------------------------------- */

/* Every value is another one. */
static pto_param_t made_param(double scale) {
    static int made;
    double value = scale * (1 + 0.001 * ++made);
    return (pto_param_t){
        .value = value, .low = value * 0.9, .high = value * 1.1, .has_interval = true, .line = 1};
}

static pto_postal_t made_postal(void) {
    return (pto_postal_t){.alpha_s = made_param(1e-6), .beta_s_per_byte = made_param(1e-10)};
}

static void add_made_row(pto_cost_table_t *cost, const pto_family_t *family, pto_cost_row_t row) {
    pto_cost_row_t *added = pto_cost_add(cost);
    assert_non_null(added);
    row.below_bytes = row.below_bytes > 0 ? row.below_bytes : INT64_MAX;
    row.postal = made_postal();
    if (family->has_extra_input)
        row.extra_input_s_per_byte = made_param(1e-11);
    *added = row;
}

static void fill_cost(pto_cost_table_t *cost, const pto_family_t *family) {
    switch (family->by) {
    case PTO_ROWS_BY_PROTOCOL:
        add_made_row(cost, family, (pto_cost_row_t){.protocol = PTO_PROTOCOL_EAGER, .below_bytes = 8192});
        add_made_row(cost, family, (pto_cost_row_t){.protocol = PTO_PROTOCOL_RENDEZVOUS});
        break;
    case PTO_ROWS_BY_BYTES:
        add_made_row(cost, family, (pto_cost_row_t){.below_bytes = 4096});
        add_made_row(cost, family, (pto_cost_row_t){0});
        break;
    case PTO_ROWS_BY_PROCS:
        add_made_row(cost, family, (pto_cost_row_t){.procs = 2});
        add_made_row(cost, family, (pto_cost_row_t){.procs = 4, .below_bytes = 4096});
        add_made_row(cost, family, (pto_cost_row_t){.procs = 4});
        add_made_row(cost, family, (pto_cost_row_t){.procs = 2, .strided = true});
        break;
    case PTO_ROWS_BY_GPUS:
        add_made_row(cost, family, (pto_cost_row_t){.gpus = 4, .nodes = 1, .below_bytes = 4096});
        add_made_row(cost, family, (pto_cost_row_t){.gpus = 4, .nodes = 1});
        add_made_row(cost, family, (pto_cost_row_t){.gpus = 16, .nodes = 4});
        break;
    case PTO_ROWS_COUNT:
        break;
    }
    assert_true(pto_cost_join(family->by, cost));
}

/* Until the next call. */
static const char *key_of(const pto_cell_t *cell) {
    static char key[PTO_PARAM_KEY_MAX];
    pto_cell_key(cell, key);
    return key;
}

static void fill_cell(const pto_cell_t *cell) {
    static const double scale[] = {
        [PTO_UNIT_S] = 1e-6, [PTO_UNIT_S_PER_BYTE] = 1e-9, [PTO_UNIT_W] = 100, [PTO_UNIT_RATIO] = 0.5};
    pto_param_t *param = cell->at;
    switch (cell->family->form) {
    case PTO_FORM_WHOLE:
        *(int64_t *)cell->at = strcmp(key_of(cell), "node.cores") == 0 ? 32 : 4;
        break;
    case PTO_FORM_VALUE:
        *param = cell->family->unit == PTO_UNIT_BYTES
                     ? (pto_param_t){.value = 0x1p40, .low = 0x1p40, .high = 0x1p40, .line = 1}
                     : made_param(scale[cell->family->unit]);
        break;
    case PTO_FORM_POSTAL:
        *(pto_postal_t *)cell->at = made_postal();
        break;
    case PTO_FORM_COST:
        fill_cost(cell->at, cell->family);
        break;
    }
}

static pto_machine_t made_machine(void) {
    pto_machine_t machine = {
        .name = pto_text_copy("made"), .source = pto_text_copy("up"), .path = pto_text_copy("made.yaml")};
    for (pto_cell_t cell = {0}; pto_cell_next(&machine, &cell);)
        fill_cell(&cell);
    return machine;
}

/* --- numbers by key ------------------------------------------------------------------------------------- */

typedef struct {
    pto_machine_param_t *param;
    int count;
} numbers_t;

static numbers_t numbers_of(pto_machine_t *machine) {
    numbers_t numbers;
    assert_int_equal(pto_machine_params(machine, &numbers.param, &numbers.count, NULL), PTO_OK);
    return numbers;
}

static double value_of(const pto_machine_param_t *param) {
    return param->number ? (double)*param->number : param->param->value;
}

static void a_file_holds_every_parameter(void **state) {
    (void)state;
    pto_machine_t machine = made_machine(), again;
    pto_error_t err = {0};
    char *text = NULL;
    assert_int_equal(pto_machine_format(&machine, NULL, &text, NULL), PTO_OK);
    if (pto_machine_parse(text, strlen(text), "again.yaml", &again, &err) != PTO_OK)
        fail_msg("%d:%d: %s in\n%s", err.line, err.column, err.message, text);
    numbers_t one = numbers_of(&machine), two = numbers_of(&again);
    assert_int_equal(one.count, two.count);
    for (int i = 0; i < one.count; i++) {
        const pto_param_t *before = one.param[i].param, *after = two.param[i].param;
        assert_string_equal(one.param[i].key, two.param[i].key);
        assert_true(value_of(&one.param[i]) == value_of(&two.param[i]));
        if (before && (before->low != after->low || before->high != after->high || after->line == 0))
            fail_msg("%s lost its interval", one.param[i].key);
    }
    free(one.param);
    free(two.param);
    free(text);
    pto_machine_fini(&machine);
    pto_machine_fini(&again);
}

/* Of a file that has a library's tables and remarks too. */
static void a_clone_shares_nothing(void **state) {
    (void)state;
    pto_machine_t machine, clone;
    char *before = NULL, *after = NULL;
    assert_int_equal(pto_machine_read("tests/fixtures/machine.yaml", &machine, NULL), PTO_OK);
    assert_int_equal(pto_machine_clone(&machine, &clone, NULL), PTO_OK);
    assert_int_equal(pto_machine_format(&machine, NULL, &before, NULL), PTO_OK);
    pto_machine_fini(&machine);
    assert_int_equal(pto_machine_format(&clone, NULL, &after, NULL), PTO_OK);
    assert_string_equal(before, after);
    free(before);
    free(after);
    pto_machine_fini(&clone);
}

/* Whatever else the same key's group names stays as it was. Each is changed back, as limits are in keys. */
static void a_what_if_changes_a_single_number(void **state) {
    (void)state;
    pto_machine_t machine = made_machine();
    pto_scenario_t scenario = {0};
    numbers_t numbers = numbers_of(&machine);
    for (int i = 0; i < numbers.count; i++) {
        char change[PTO_PARAM_KEY_MAX + 8];
        double before = 0;
        for (int j = 0; j < numbers.count; j++)
            before += j == i ? 0 : value_of(&numbers.param[j]);
        double own = value_of(&numbers.param[i]), after = 0;
        snprintf(change, sizeof change, "%s=*2", numbers.param[i].key);
        assert_int_equal(pto_what_if(change, &scenario, &machine, NULL), PTO_OK);
        for (int j = 0; j < numbers.count; j++)
            after += j == i ? 0 : value_of(&numbers.param[j]);
        assert_true(value_of(&numbers.param[i]) == 2 * own && before == after);
        snprintf(change, sizeof change, "%s=/2", numbers.param[i].key);
        assert_int_equal(pto_what_if(change, &scenario, &machine, NULL), PTO_OK);
    }
    free(numbers.param);
    pto_machine_fini(&machine);
}

static void missing_machine_values_can_be_given(void **state) {
    (void)state;
    pto_machine_t machine = {.name = NULL}; /* but for rows, whose keys only rows have */
    pto_scenario_t scenario = {0};
    numbers_t numbers = numbers_of(&machine);
    for (int i = 0; i < numbers.count; i++) {
        char change[PTO_PARAM_KEY_MAX + 8];
        snprintf(change, sizeof change, "%s=3", numbers.param[i].key);
        assert_int_equal(pto_what_if(change, &scenario, &machine, NULL), PTO_OK);
        assert_true(value_of(&numbers.param[i]) == 3);
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
    free(numbers.param);
    pto_machine_fini(&machine);
}

static void the_published_model_has_the_parameters_without_a_term(void **state) {
    (void)state;
    pto_machine_t machine = made_machine();
    assert_int_equal(pto_machine_restrict(&machine, "published", NULL), PTO_OK);
    for (pto_cell_t cell = {0}; pto_cell_next(&machine, &cell);)
        if (pto_cell_known(&cell) != !cell.family->term)
            fail_msg("%s", key_of(&cell));
    pto_machine_fini(&machine);
}

static void a_term_brings_what_names_it(void **state) {
    (void)state;
    for (int i = 0; i < pto_model_term_count(); i++) {
        const char *term = pto_model_term_at(i)->name;
        char model[64];
        pto_machine_t machine = made_machine();
        snprintf(model, sizeof model, "published+%s", term);
        assert_int_equal(pto_machine_restrict(&machine, model, NULL), PTO_OK);
        for (pto_cell_t cell = {0}; pto_cell_next(&machine, &cell);)
            if (cell.family->term && pto_cell_known(&cell) != (strcmp(cell.family->term, term) == 0))
                fail_msg("%s under %s", key_of(&cell), model);
        pto_machine_fini(&machine);
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

static void every_cell_is_found_by_its_place_and_its_key(void **state) {
    (void)state;
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

/* --- prices --------------------------------------------------------------------------------------------- */

enum { FAMILIES_MAX = 64 };

/* The families that prices have used, by their keys in the table. */
typedef struct {
    const pto_family_t *family[FAMILIES_MAX];
    int count;
} used_t;

static bool is_used(const used_t *used, const pto_family_t *family) {
    for (int i = 0; i < used->count; i++)
        if (used->family[i] == family)
            return true;
    return false;
}

static bool holds(const pto_cell_t *cell, const pto_param_t *param) {
    const pto_postal_t *postal = cell->at;
    const pto_cost_table_t *cost = cell->at;
    if (cell->family->form == PTO_FORM_POSTAL)
        return param == &postal->alpha_s || param == &postal->beta_s_per_byte;
    for (int i = 0; cell->family->form == PTO_FORM_COST && i < cost->count; i++)
        if ((const char *)param >= (const char *)&cost->row[i] &&
            (const char *)param < (const char *)&cost->row[i + 1])
            return true;
    return param == cell->at;
}

static void use(used_t *used, const pto_machine_t *machine, const pto_param_t *param) {
    for (pto_cell_t cell = {0}; param && pto_cell_next(machine, &cell);)
        if (holds(&cell, param)) {
            if (!is_used(used, cell.family))
                used->family[used->count++] = cell.family;
            return;
        }
}

static void use_prediction(used_t *used, const pto_machine_t *machine, const pto_prediction_t *prediction) {
    if (!prediction->applicable)
        return;
    for (int i = 0; i < prediction->explanation.count; i++)
        use(used, machine, prediction->explanation.term[i].param);
    for (int i = 0; i < prediction->setup.term_count; i++)
        use(used, machine, prediction->setup.term[i].param);
    for (int i = 0; i < PTO_POWER_COUNT && prediction->has_energy; i++)
        use(used, machine, prediction->energy.part[i].param);
}

/* All strategies for one collective. */
static void use_scenario(used_t *used, const pto_machine_t *machine, const char *what, int nodes) {
    char text[512];
    pto_scenario_t scenario;
    pto_predictions_t predictions = {0};
    pto_error_t err = {0};
    snprintf(text, sizeof text,
             "scenario: s\nmachine: made.yaml\ncollective: %s\n"
             "layout: {nodes: %d, gpus_per_node: 4, procs_per_gpu: 4}\nbytes: [64, 65536, 4194304]\n",
             what, nodes);
    if (pto_scenario_parse(text, strlen(text), "s.yaml", &scenario, &err) != PTO_OK ||
        pto_scenario_bind(&scenario, machine, &err) != PTO_OK ||
        pto_predict(&scenario, machine, true, &predictions, &err) != PTO_OK)
        fail_msg("%s: %s", what, err.message);
    for (int64_t i = 0; i < predictions.point_count * predictions.strategy_count; i++)
        use_prediction(used, machine, &predictions.prediction[i]);
    pto_predictions_fini(&predictions);
    pto_scenario_fini(&scenario);
}

static void use_all(used_t *used, const pto_machine_t *machine) {
    static const char *const collectives[] = {"allreduce",
                                              "reduce",
                                              "broadcast",
                                              "alltoallv",
                                              "alltoallv\nimplementation: isend_irecv",
                                              "alltoall",
                                              "alltoall\nlibrary: [{algorithm: pairwise, staged: true}]"};
    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++)
        for (int nodes = 1; nodes <= 4; nodes += 3)
            use_scenario(used, machine, collectives[i], nodes);
}

/* Whole numbers and memories limit plans, and are no addends. */
static bool is_limit(const pto_family_t *family) {
    return family->form == PTO_FORM_WHOLE || family->unit == PTO_UNIT_BYTES;
}

static void every_parameter_is_priced_or_says_that_it_is_not(void **state) {
    (void)state;
    pto_machine_t machine = made_machine();
    used_t used = {.count = 0};
    use_all(&used, &machine);
    machine.graph_launch_s = (pto_param_t){0};
    use_scenario(&used, &machine, "allreduce", 1);
    for (pto_cell_t cell = {0}; pto_cell_next(&machine, &cell);)
        if (!is_limit(cell.family) && is_used(&used, cell.family) == cell.family->measured_only)
            fail_msg("%s is %s", key_of(&cell), cell.family->measured_only ? "priced" : "not priced");
    pto_machine_fini(&machine);
}

/* --- documents ------------------------------------------------------------------------------------------ */

static void the_documents_list_every_parameter(void **state) {
    (void)state;
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(pto_text_read("docs/formats.md", 1 << 20, &text, &size, NULL), PTO_OK);
    const char *table = strstr(text, "| parameter | unit | term | what |\n|---|---|---|---|\n");
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
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_holds_every_parameter),
        cmocka_unit_test(a_clone_shares_nothing),
        cmocka_unit_test(a_what_if_changes_a_single_number),
        cmocka_unit_test(missing_machine_values_can_be_given),
        cmocka_unit_test(the_published_model_has_the_parameters_without_a_term),
        cmocka_unit_test(a_term_brings_what_names_it),
        cmocka_unit_test(every_cell_is_found_by_its_place_and_its_key),
        cmocka_unit_test(every_parameter_is_priced_or_says_that_it_is_not),
        cmocka_unit_test(the_documents_list_every_parameter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
