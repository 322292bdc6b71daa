/* Reads, copies and frees tables of choices by a call's bytes and processes (library.h). */
#include "machine/library.h"

#include <stdlib.h>

#include "base/text_file.h"

#define AT(member) PTO_YAML_AT(pto_library_rule_t, member)
/* The keys that both kinds of rows have. */
#define CALL_FIELDS                                                                                          \
    {.key = "below_bytes", .read = pto_read_bytes, AT(below_bytes), .argument = 1}, {                        \
        .key = "procs", .read = pto_read_count, AT(procs), .argument = 1                                     \
    }

static const pto_yaml_field_t library_fields[] = {
    CALL_FIELDS,
    {.key = "algorithm", .read = pto_read_text, AT(algorithm), .required = true},
    {.key = "staged", .read = pto_read_bool, AT(staged)},
    {.key = "segment_bytes", .read = pto_read_bytes, AT(segment_bytes), .argument = 1},
    {.key = "flagged", .read = pto_read_text, AT(flagged)},
};

const pto_yaml_table_t pto_library_row = {.what = "a row of a library table",
                                          PTO_YAML_FIELDS(library_fields)};

static const pto_yaml_field_t tuning_fields[] = {
    CALL_FIELDS,
    {.key = "staged_in", .read = pto_read_count, AT(staged_members.in), .required = true},
    {.key = "staged_out", .read = pto_read_count, AT(staged_members.out), .required = true},
};

const pto_yaml_table_t pto_tuning_row = {.what = "a row of a tuning table", PTO_YAML_FIELDS(tuning_fields)};

/* Returns the last row before `index` with the same number of processes; -1: none. */
static int row_before(const pto_library_rule_t *rule, int index) {
    int before = index - 1;
    while (before >= 0 && rule[before].procs != rule[index].procs)
        before--;
    return before;
}

static bool is_last_of_its_procs(const pto_library_rule_t *rule, int count, int index) {
    for (int i = index + 1; i < count; i++)
        if (rule[i].procs == rule[index].procs)
            return false;
    return true;
}

static pto_status_t check_row(const pto_reader_t *reader, const pto_yaml_node_t *node,
                              const pto_library_rule_t *rule, int count, int index) {
    int before = row_before(rule, index);
    const pto_yaml_node_t *below = pto_yaml_find(node, "below_bytes");
    if (before >= 0 && rule[before].below_bytes == INT64_MAX)
        return pto_read_fail(
            reader, node, PTO_ERR_RANGE,
            "ranges overlap: the row on line %d has no below_bytes, so already holds for every size",
            rule[before].line);
    if (before >= 0 && rule[index].below_bytes <= rule[before].below_bytes)
        return pto_read_fail(reader, below, PTO_ERR_RANGE,
                             "ranges overlap: below_bytes must rise above the %lld of line %d",
                             (long long)rule[before].below_bytes, rule[before].line);
    if (rule[index].below_bytes != INT64_MAX && is_last_of_its_procs(rule, count, index))
        return pto_read_fail(
            reader, below, PTO_ERR_RANGE,
            "ranges leave a gap: no row holds from %lld bytes up; leave below_bytes out of the last row",
            (long long)rule[index].below_bytes);
    return PTO_OK;
}

static pto_status_t read_rows(const pto_reader_t *reader, const pto_yaml_node_t *list,
                              const pto_yaml_table_t *row, pto_library_rule_t *rule) {
    int index = 0;
    for (const pto_yaml_node_t *node = list->child; node; node = node->next, index++) {
        rule[index].line = node->line;
        pto_status_t status = pto_read_mapping(reader, node, row, &rule[index]);
        if (status != PTO_OK)
            return status;
        if (!pto_yaml_find(node, "below_bytes"))
            rule[index].below_bytes = INT64_MAX;
    }
    index = 0;
    for (const pto_yaml_node_t *node = list->child; node; node = node->next, index++) {
        pto_status_t status = check_row(reader, node, rule, list->child_count, index);
        if (status != PTO_OK)
            return status;
    }
    return PTO_OK;
}

pto_status_t pto_read_rules(const pto_reader_t *reader, const pto_yaml_node_t *node,
                            const pto_yaml_table_t *row, pto_library_rule_t **rule, int *rule_count) {
    pto_library_rule_t *made = NULL;
    pto_status_t status = pto_read_expect_list(reader, node, "a list of rows", "rows", PTO_LIBRARY_RULES_MAX);
    if (status == PTO_OK)
        status = PTO_READ_ROOM(reader, node, &made);
    if (status == PTO_OK)
        status = read_rows(reader, node, row, made);
    if (status != PTO_OK) {
        pto_library_rules_free(made, made ? node->child_count : 0);
        return status;
    }
    *rule = made;
    *rule_count = node->child_count;
    return PTO_OK;
}

void pto_library_rules_free(pto_library_rule_t *rule, int rule_count) {
    for (int i = 0; i < rule_count; i++) {
        free(rule[i].algorithm);
        free(rule[i].flagged);
    }
    free(rule);
}

void pto_library_tables_free(pto_library_table_t *table, int count) {
    for (int i = 0; i < count; i++) {
        free(table[i].collective);
        pto_library_rules_free(table[i].rule, table[i].rule_count);
    }
    free(table);
}

void pto_library_tables_clear(pto_library_table_t **table, int *count) {
    pto_library_tables_free(*table, *count);
    *table = NULL;
    *count = 0;
}

bool pto_library_rules_copy(const pto_library_rule_t *from, int count, pto_library_rule_t **to,
                            int *to_count) {
    pto_library_rule_t *made = *to = calloc((size_t)count + 1, sizeof *made);
    bool copied = made;
    for (int i = 0; i < count && copied; i++) {
        made[i] = from[i];
        ++*to_count;
        copied = pto_text_copy_any(from[i].algorithm, &made[i].algorithm);
        copied = pto_text_copy_any(from[i].flagged, &made[i].flagged) && copied;
    }
    return copied;
}

static bool copy_table(const pto_library_table_t *from, pto_library_table_t *to) {
    to->space = from->space;
    to->of_library = from->of_library;
    to->collective = pto_text_copy(from->collective);
    return to->collective && pto_library_rules_copy(from->rule, from->rule_count, &to->rule, &to->rule_count);
}

bool pto_library_tables_copy(const pto_library_table_t *table, int count, pto_library_table_t **copy) {
    pto_library_table_t *made = calloc((size_t)count + 1, sizeof *made);
    bool copied = made;
    for (int i = 0; i < count && copied; i++)
        copied = copy_table(&table[i], &made[i]);
    if (copied)
        *copy = made;
    else
        pto_library_tables_free(made, made ? count : 0);
    return copied;
}
