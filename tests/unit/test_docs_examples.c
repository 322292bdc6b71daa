/* The examples of docs/formats.md parse, and so does every machine and scenario file of the project. */
#include <glob.h>

#include "files.h"
#include "machine/machine_internal.h"
#include "portolan/scenario.h"
#include "portolan/workload.h"
#include "test.h"

static const char document_path[] = "docs/formats.md";

typedef void (*example_check_t)(const char *text, size_t text_size);

/* Give every fenced block that opens with `fence` to `check`; returns how many there were. */
static int for_each_example(const char *fence, example_check_t check) {
    const char *document = must_read_text(document_path);
    size_t fence_size = strlen(fence);
    int count = 0;
    for (const char *at = strstr(document, fence); at != NULL; at = strstr(at, fence)) {
        const char *text = at + fence_size;
        const char *end = strstr(text, "\n```\n");
        assert_non_null(end);
        check(text, (size_t)(end + 1 - text));
        count++;
        at = end;
    }
    return count;
}

static void check_machine(const char *text, size_t text_size) {
    pto_machine_t machine;
    pto_error_t err;
    assert_ok(pto_machine_parse(text, text_size, document_path, &machine, &err), &err);
    assert_string_equal(machine.name, "example");
    for (int space = 0; space < PTO_SPACE_COUNT; space++) {
        assert_true(pto_param_known(&machine.injection_s_per_byte[space]));
        assert_true(machine.reduce[space].count > 0);
        assert_true(machine.gap[space][PTO_LEVEL_OFF_NODE].count > 0);
    }
    assert_int_equal(machine.messages[PTO_SPACE_CPU][PTO_LEVEL_ON_SOCKET].count, 3);
    assert_true(machine.messages[PTO_SPACE_CPU][PTO_LEVEL_OFF_NODE].row[0].postal.alpha_s.has_interval);
    assert_int_equal(machine.shared_copies[PTO_COPY_H2D].count, 2);
    assert_int_equal(machine.library_count, 1);
    pto_machine_fini(&machine);
}

static void fits_its_machine(pto_scenario_t *scenario) {
    pto_machine_t *machine = NULL;
    pto_error_t err;
    assert_ok(pto_scenario_check(scenario, &err), &err);
    assert_ok(pto_scenario_read_machine(scenario, &machine, &err), &err);
    assert_ok(pto_scenario_bind(scenario, machine, &err), &err);
    pto_machine_destroy(machine);
    pto_scenario_fini(scenario);
}

static void check_scenario(const char *text, size_t text_size) {
    pto_scenario_t scenario;
    pto_error_t err;
    assert_ok(pto_scenario_parse(text, text_size, document_path, &scenario, &err), &err);
    fits_its_machine(&scenario);
}

static void check_workload(const char *text, size_t text_size) {
    pto_workload_t workload;
    pto_machine_t machine;
    pto_error_t err;
    assert_ok(pto_workload_parse(text, text_size, document_path, &workload, &err), &err);
    assert_ok(pto_machine_read("scenarios/machines/lassen-spectrum-refit.yaml", &machine, &err), &err);
    assert_ok(pto_workload_bind(&workload, &machine, &err), &err);
    pto_machine_fini(&machine);
    pto_workload_fini(&workload);
}

static void check_counts(const char *text, size_t text_size) {
    pto_counts_t counts;
    pto_error_t err;
    assert_ok(pto_counts_parse_matrix(text, text_size, document_path, &counts, &err), &err);
    assert_int_equal(counts.order, 4);
    assert_int_equal(pto_counts_bytes(&counts, 0, 1, 2), 2048);
    pto_counts_fini(&counts);
}

static void check_placement(const char *text, size_t text_size) {
    const pto_layout_t layout = {
        .nodes = 2, .gpus_per_node = 2, .owners_per_gpu = 1, .procs_per_gpu = 1, .gpus_per_socket = 2};
    pto_mapping_t mapping;
    pto_error_t err;
    assert_ok(pto_mapping_parse(text, text_size, document_path, &mapping, &err), &err);
    assert_ok(pto_mapping_bind(&mapping, &layout, &err), &err);
    pto_mapping_fini(&mapping);
}

TEST(the_examples_of_each_format_parse_and_fit_their_machines) {
    static const struct {
        const char *fence;
        example_check_t check;
        int count;
    } formats[] = {{"```yaml machine\n", check_machine, 1},
                   {"```yaml scenario\n", check_scenario, 5},
                   {"```yaml workload\n", check_workload, 1},
                   {"```csv counts\n", check_counts, 3},
                   {"```csv placement\n", check_placement, 1}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (for_each_example(formats[i].fence, formats[i].check) != formats[i].count)
            fail_msg("not %d examples of %s", formats[i].count, formats[i].fence);
}

TEST(every_shipped_scenario_reads_and_fits_its_machine) {
    glob_t found;
    assert_int_equal(glob("scenarios/problems/*.yaml", 0, NULL, &found), 0);
    assert_true(found.gl_pathc >= 13);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        pto_scenario_t scenario;
        pto_error_t err;
        assert_ok(pto_scenario_read(found.gl_pathv[i], &scenario, &err), &err);
        fits_its_machine(&scenario);
    }
    globfree(&found);
}
