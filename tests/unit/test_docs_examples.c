/* The examples of docs/formats.md parse, and so does every machine and scenario file of the project. */
#include <glob.h>

#include "machine/machine_internal.h"
#include "portolan/scenario.h"
#include "portolan/workload.h"
#include "test.h"

static const char document_path[] = "docs/formats.md";

typedef void (*example_check_t)(const char *text, size_t text_size);

static char *read_document(void) {
    FILE *file = fopen(document_path, "rb");
    if (file == NULL)
        fail_msg("%s: run the tests from the project's root", document_path);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long size = ftell(file);
    assert_true(size > 0);
    rewind(file);
    char *text = malloc((size_t)size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)size, file), (size_t)size);
    text[size] = '\0';
    fclose(file);
    return text;
}

/* Give every fenced block that opens with `fence` to `check`; returns how many there were. */
static int for_each_example(const char *fence, example_check_t check) {
    char *document = read_document();
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
    free(document);
    return count;
}

static void require_ok(pto_status_t status, const pto_error_t *err) {
    char message[PTO_ERROR_FILE_MAX + PTO_ERROR_MESSAGE_MAX + 32];
    if (status == PTO_OK)
        return;
    pto_error_format(err, message, sizeof message);
    fail_msg("%s", message);
}

static void check_machine(const char *text, size_t text_size) {
    pto_machine_t machine;
    pto_error_t err;
    require_ok(pto_machine_parse(text, text_size, document_path, &machine, &err), &err);
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

static void check_scenario(const char *text, size_t text_size) {
    pto_scenario_t scenario;
    pto_error_t err;
    require_ok(pto_scenario_parse(text, text_size, document_path, &scenario, &err), &err);
    require_ok(pto_scenario_check(&scenario, &err), &err);
    assert_non_null(scenario.machine_path);
    pto_machine_t machine;
    require_ok(pto_machine_read(scenario.machine_path, &machine, &err), &err);
    require_ok(pto_scenario_bind(&scenario, &machine, &err), &err);
    pto_machine_fini(&machine);
    pto_scenario_fini(&scenario);
}

static void check_workload(const char *text, size_t text_size) {
    pto_workload_t workload;
    pto_machine_t machine;
    pto_error_t err;
    require_ok(pto_workload_parse(text, text_size, document_path, &workload, &err), &err);
    require_ok(pto_machine_read("scenarios/machines/lassen-spectrum-refit.yaml", &machine, &err), &err);
    require_ok(pto_workload_bind(&workload, &machine, &err), &err);
    pto_machine_fini(&machine);
    pto_workload_fini(&workload);
}

static void check_counts(const char *text, size_t text_size) {
    pto_counts_t counts;
    pto_error_t err;
    require_ok(pto_counts_parse_matrix(text, text_size, document_path, &counts, &err), &err);
    assert_int_equal(counts.order, 4);
    assert_int_equal(pto_counts_bytes(&counts, 0, 1, 2), 2048);
    pto_counts_fini(&counts);
}

TEST(the_machine_example_parses) {
    assert_int_equal(for_each_example("```yaml machine\n", check_machine), 1);
}

TEST(every_scenario_example_parses_and_fits_its_machine) {
    assert_int_equal(for_each_example("```yaml scenario\n", check_scenario), 5);
}

TEST(the_workload_example_parses_and_fits_its_machine) {
    assert_int_equal(for_each_example("```yaml workload\n", check_workload), 1);
}

TEST(the_counts_example_parses) { assert_int_equal(for_each_example("```csv counts\n", check_counts), 3); }

static void check_placement(const char *text, size_t text_size) {
    const pto_layout_t layout = {
        .nodes = 2, .gpus_per_node = 2, .owners_per_gpu = 1, .procs_per_gpu = 1, .gpus_per_socket = 2};
    pto_mapping_t mapping;
    pto_error_t err;
    require_ok(pto_mapping_parse(text, text_size, document_path, &mapping, &err), &err);
    require_ok(pto_mapping_bind(&mapping, &layout, &err), &err);
    pto_mapping_fini(&mapping);
}

TEST(the_placement_example_parses) {
    assert_int_equal(for_each_example("```csv placement\n", check_placement), 1);
}

static void require_files(const char *pattern, size_t least, glob_t *found) {
    assert_int_equal(glob(pattern, 0, NULL, found), 0);
    assert_true(found->gl_pathc >= least);
}

TEST(every_shipped_machine_reads) {
    glob_t found;
    require_files("scenarios/machines/*.yaml", 2, &found);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        pto_machine_t machine;
        pto_error_t err;
        require_ok(pto_machine_read(found.gl_pathv[i], &machine, &err), &err);
        pto_machine_fini(&machine);
    }
    globfree(&found);
}

TEST(every_shipped_scenario_reads_and_fits_its_machine) {
    glob_t found;
    require_files("scenarios/problems/*.yaml", 13, &found);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        pto_scenario_t scenario;
        pto_machine_t machine;
        pto_error_t err;
        require_ok(pto_scenario_read(found.gl_pathv[i], &scenario, &err), &err);
        require_ok(pto_scenario_check(&scenario, &err), &err);
        require_ok(pto_machine_read(scenario.machine_path, &machine, &err), &err);
        require_ok(pto_scenario_bind(&scenario, &machine, &err), &err);
        pto_machine_fini(&machine);
        pto_scenario_fini(&scenario);
    }
    globfree(&found);
}
