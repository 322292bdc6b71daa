/* Reading, copying and looking up the keys `model_error` and `fitted_to` of machine files (error_model.h). */
#include "machine/error_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text_file.h"
#include "machine/machine_internal.h"

double pto_covered_doublings(const pto_covered_t *covered, int64_t value) {
    return covered->most > 0 && value > covered->most ? log2((double)value / (double)covered->most) : 0;
}

const pto_error_row_t *pto_model_error_row(const pto_model_error_t *error, const char *strategy) {
    const pto_error_row_t *found = NULL;
    for (int i = 0; i < error->row_count; i++) {
        if (strcmp(error->row[i].strategy, strategy) == 0)
            return &error->row[i];
        if (strcmp(error->row[i].strategy, "all") == 0)
            found = &error->row[i];
    }
    return found;
}

pto_error_row_t *pto_model_error_add(pto_model_error_t *error, const char *strategy) {
    if (!PTO_EXTEND(error->row, error->row_count))
        return NULL;
    char *name = pto_text_copy(strategy);
    if (!name)
        return NULL;
    error->row[error->row_count] = (pto_error_row_t){.strategy = name};
    return &error->row[error->row_count++];
}

bool pto_model_error_copy(const pto_model_error_t *from, pto_model_error_t *to) {
    *to = *from;
    to->row_count = 0;
    to->row = NULL;
    bool copied = pto_text_copy_any(from->source, &to->source);
    for (int i = 0; i < from->row_count && copied; i++) {
        pto_error_row_t *row = pto_model_error_add(to, from->row[i].strategy);
        copied = row != NULL;
        if (copied) {
            row->log_95 = from->row[i].log_95;
            row->samples = from->row[i].samples;
        }
    }
    return copied;
}

void pto_model_error_fini(pto_model_error_t *error) {
    for (int i = 0; i < error->row_count; i++)
        free(error->row[i].strategy);
    free(error->row);
    free(error->source);
    *error = (pto_model_error_t){0};
}

bool pto_fitted_to_copy(const pto_fitted_to_t *from, int count, pto_fitted_to_t **to) {
    pto_fitted_to_t *made = calloc((size_t)count + 1, sizeof *made);
    bool copied = made != NULL;
    for (int i = 0; i < count && copied; i++) {
        made[i] = from[i];
        made[i].file = pto_text_copy(from[i].file);
        made[i].digest = pto_text_copy(from[i].digest);
        copied = made[i].file && made[i].digest;
    }
    if (copied)
        *to = made;
    else
        pto_fitted_to_free(made, made ? count : 0);
    return copied;
}

void pto_fitted_to_free(pto_fitted_to_t *fitted, int count) {
    for (int i = 0; i < count; i++) {
        free(fitted[i].file);
        free(fitted[i].digest);
    }
    free(fitted);
}

/* pto_covered_t: [least, most]. */
static pto_status_t read_span(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                              int argument) {
    pto_covered_t *covered = slot;
    pto_status_t status = pto_read_expect(reader, node, PTO_YAML_LIST, "[least, most]");
    if (status == PTO_OK && node->child_count != 2)
        return pto_read_fail(reader, node, PTO_ERR_RANGE, "%s: expected [least, most], not %d values",
                             node->key, node->child_count);
    if (status == PTO_OK)
        status = pto_read_bytes(reader, node->child, &covered->least, argument);
    if (status == PTO_OK)
        status = pto_read_bytes(reader, node->child->next, &covered->most, argument);
    if (status == PTO_OK && covered->most < covered->least)
        status = pto_read_fail(reader, node, PTO_ERR_RANGE, "%s: the least is above the most", node->key);
    return status;
}

static const pto_yaml_field_t row_fields[] = {
    {.key = "strategy", .read = pto_read_text, PTO_YAML_AT(pto_error_row_t, strategy), .required = true},
    {.key = "log_95", .read = pto_read_number, PTO_YAML_AT(pto_error_row_t, log_95), .required = true},
    {.key = "samples", .read = pto_read_count, PTO_YAML_AT(pto_error_row_t, samples)},
};
static const pto_yaml_table_t row_table = {.what = "a row of 'strategies'", PTO_YAML_FIELDS(row_fields)};

static pto_status_t read_rows(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                              int argument) {
    (void)argument;
    pto_model_error_t *error = slot;
    return PTO_READ_ROWS(reader, node, "a list of rows", &row_table, &error->row, &error->row_count);
}

static const pto_yaml_field_t error_fields[] = {
    {.key = "source", .read = pto_read_remark, PTO_YAML_AT(pto_model_error_t, source), .required = true},
    {.key = "nodes", .read = read_span, PTO_YAML_AT(pto_model_error_t, node), .argument = 1},
    {.key = "procs_per_node", .read = read_span, PTO_YAML_AT(pto_model_error_t, proc), .argument = 1},
    {.key = "bytes", .read = read_span, PTO_YAML_AT(pto_model_error_t, byte)},
    {.key = "doubling", .read = pto_read_number, PTO_YAML_AT(pto_model_error_t, doubling)},
    {.key = "tie", .read = pto_read_number, PTO_YAML_AT(pto_model_error_t, tie)},
    {.key = "strategies", .read = read_rows, .required = true},
};
const pto_yaml_table_t pto_model_error_table = {.what = "'model_error'", PTO_YAML_FIELDS(error_fields)};

static pto_status_t read_nodes(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                               int argument) {
    pto_fitted_to_t *fitted = slot;
    pto_status_t status = pto_read_expect(reader, node, PTO_YAML_LIST, "a list of node counts");
    if (status == PTO_OK && node->child_count > PTO_FITTED_NODES_MAX)
        return pto_read_fail(reader, node, PTO_ERR_RANGE, "%s: at most %d node counts", node->key,
                             PTO_FITTED_NODES_MAX);
    for (const pto_yaml_node_t *child = node->child; child && status == PTO_OK; child = child->next)
        status = pto_read_count(reader, child, &fitted->nodes[fitted->node_count++], argument);
    return status;
}

static const pto_yaml_field_t fitted_fields[] = {
    {.key = "file", .read = pto_read_text, PTO_YAML_AT(pto_fitted_to_t, file), .required = true},
    {.key = "digest", .read = pto_read_text, PTO_YAML_AT(pto_fitted_to_t, digest), .required = true},
    {.key = "nodes", .read = read_nodes, .argument = 1, .required = true},
};
static const pto_yaml_table_t fitted_table = {.what = "a row of 'fitted_to'", PTO_YAML_FIELDS(fitted_fields)};

pto_status_t pto_read_fitted_to(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                                int argument) {
    (void)argument;
    pto_machine_t *machine = slot;
    return PTO_READ_ROWS(reader, node, "a list of files", &fitted_table, &machine->fitted_to,
                         &machine->fitted_to_count);
}
