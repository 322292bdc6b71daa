/* Reading `nccl` of a machine file (docs/formats.md): for each collective rows of a number of GPUs and nodes,
 * in ranges of bytes. */
#include "machine/nccl_read.h"

#include <stdlib.h>

#include "machine/postal_read.h"

enum { ROWS_MAX = 1024 };

#define FIELDS(list) .field = (list), .field_count = sizeof(list) / sizeof *(list)

/* Layouts have as many GPUs on every node, and one GPU has nobody to talk to. */
static pto_status_t finish_row(const pto_reader_t *reader, const pto_yaml_node_t *node, void *target) {
    pto_nccl_cost_t *row = target;
    if (!pto_yaml_find(node, "nodes"))
        row->nodes = 1;
    if (row->gpus % row->nodes)
        return pto_read_fail(
            reader, pto_yaml_find(node, "gpus"), PTO_ERR_RANGE,
            "gpus: %lld are not equally many on each of %lld nodes (gpus counts those of all)",
            (long long)row->gpus, (long long)row->nodes);
    return pto_settle_postal(reader, node, &row->postal);
}

static const pto_yaml_field_t row_fields[] = {
    {.key = "gpus",
     .read = pto_read_count,
     .offset = offsetof(pto_nccl_cost_t, gpus),
     .argument = 2,
     .required = true},
    {.key = "nodes", .read = pto_read_count, .offset = offsetof(pto_nccl_cost_t, nodes), .argument = 1},
    {.key = "below_bytes",
     .read = pto_read_bytes,
     .offset = offsetof(pto_nccl_cost_t, below_bytes),
     .argument = 1},
    POSTAL_FIELDS(offsetof(pto_nccl_cost_t, postal)),
};
static const pto_yaml_table_t row_table = {
    .what = "a row of 'nccl'", FIELDS(row_fields), .finish = finish_row};

static bool same_job(const pto_nccl_cost_t *a, const pto_nccl_cost_t *b) {
    return a->gpus == b->gpus && a->nodes == b->nodes;
}

/* Ranges of as many GPUs on as many nodes follow each other, and the last of them has no limit. */
static pto_status_t join_ranges(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                const pto_nccl_cost_t *before, pto_nccl_cost_t *row) {
    bool open = before && before->below_bytes != INT64_MAX;
    if (open && !same_job(before, row))
        return pto_read_fail(
            reader, node, PTO_ERR_RANGE,
            "ranges leave a gap: no row of {gpus: %lld, nodes: %lld} holds from %lld bytes up; "
            "leave below_bytes out of the last one",
            (long long)before->gpus, (long long)before->nodes, (long long)before->below_bytes);
    row->from_bytes = open ? before->below_bytes : 0;
    pto_status_t status = pto_check_below(reader, node, row->from_bytes, row->below_bytes);
    if (!pto_yaml_find(node, "below_bytes"))
        row->below_bytes = INT64_MAX;
    return status;
}

/* Rows rise in nodes, and those of as many nodes in GPUs. */
static pto_status_t join_row(const pto_reader_t *reader, const pto_yaml_node_t *node,
                             const pto_nccl_cost_t *before, pto_nccl_cost_t *row) {
    bool goes_on = before && same_job(before, row);
    if (before && (row->nodes < before->nodes || (row->nodes == before->nodes && row->gpus < before->gpus)))
        return pto_read_fail(reader, pto_yaml_find(node, "gpus"), PTO_ERR_RANGE,
                             "rows rise in nodes, then in gpus: {gpus: %lld, nodes: %lld} comes before "
                             "{gpus: %lld, nodes: %lld}",
                             (long long)row->gpus, (long long)row->nodes, (long long)before->gpus,
                             (long long)before->nodes);
    if (goes_on && before->below_bytes == INT64_MAX)
        return pto_read_fail(reader, node, PTO_ERR_RANGE,
                             "ranges overlap: without below_bytes the row before holds for every size of "
                             "{gpus: %lld, nodes: %lld}",
                             (long long)before->gpus, (long long)before->nodes);
    return join_ranges(reader, node, before, row);
}

static pto_status_t read_rows(const pto_reader_t *reader, const pto_yaml_node_t *list, void *slot,
                              int argument) {
    pto_machine_t *machine = slot;
    pto_status_t status = pto_read_expect(reader, list, PTO_YAML_LIST, "a list of rows");
    if (status != PTO_OK)
        return status;
    if (list->child_count < 1 || list->child_count > ROWS_MAX)
        return pto_read_fail(reader, list, PTO_ERR_RANGE, "%s: expected 1 to %d rows, not %d", list->key,
                             ROWS_MAX, list->child_count);
    pto_nccl_cost_t *row = calloc((size_t)list->child_count, sizeof *row);
    if (!row)
        return pto_read_fail(reader, list, PTO_ERR_MEMORY, "out of memory");
    machine->nccl[argument] = row;
    for (const pto_yaml_node_t *node = list->child; node && status == PTO_OK; node = node->next, row++) {
        const pto_nccl_cost_t *before = machine->nccl_count[argument] > 0 ? row - 1 : NULL;
        machine->nccl_count[argument]++;
        status = pto_read_mapping(reader, node, &row_table, row);
        if (status == PTO_OK)
            status = join_row(reader, node, before, row);
    }
    return status;
}

/* In arrays of the machine by kind, so the target is the machine itself. */
#define NCCL_FIELD(name, text) {.key = (text), .read = read_rows, .argument = PTO_NCCL_##name},
static const pto_yaml_field_t nccl_fields[] = {PTO_NCCL_TABLE(NCCL_FIELD)};
const pto_yaml_table_t pto_nccl_table = {.what = "'nccl'", FIELDS(nccl_fields), .nonempty = true};
