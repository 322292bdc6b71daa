/* Reads the values of parameters in a machine file: numbers, postal costs and rows of costs
 * (docs/formats.md). Rows are checked for gaps and overlaps of their ranges of bytes. Functions with `slot`
 * and `argument` are readers of a table of fields (formats/yaml_read.h): `slot` is the address of the member
 * that they fill, `argument` is the number in the table's row. Functions named finish_ check a whole mapping.
 */
#include "machine/cost_read.h"

#include <stdio.h>
#include <string.h>

enum { ABOVE_ZERO = 0x100 };

/* Fills a pto_param_t; `argument` is its unit, with ABOVE_ZERO if it may not be 0. */
static pto_status_t read_param(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                               int argument) {
    pto_param_t *param = slot;
    pto_status_t status = pto_read_number(reader, node, &param->value, argument & ~ABOVE_ZERO);
    if (status != PTO_OK)
        return status;
    if ((argument & ABOVE_ZERO) && param->value <= 0)
        return pto_read_fail(reader, node, PTO_ERR_RANGE,
                             "%s: must be above 0; leave the key out for no limit", node->key);
    param->line = node->line;
    param->file = (uint8_t)node->file;
    return PTO_OK;
}

static pto_status_t read_param_bytes(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                     pto_param_t *param) {
    int64_t bytes = 0;
    pto_status_t status = pto_read_bytes(reader, node, &bytes, 1);
    if (status == PTO_OK)
        *param = (pto_param_t){.value = (double)bytes, .file = (uint8_t)node->file, .line = node->line};
    return status;
}

pto_status_t pto_read_interval(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                               int argument) {
    pto_param_t *param = slot;
    pto_status_t status = pto_read_expect(reader, node, PTO_YAML_LIST, "a list [low, high]");
    if (status != PTO_OK)
        return status;
    if (node->child_count != 2)
        return pto_read_fail(reader, node, PTO_ERR_TYPE, "%s: expected two numbers, [low, high], not %d",
                             node->key, node->child_count);
    status = pto_read_number(reader, node->child, &param->low, argument);
    if (status == PTO_OK)
        status = pto_read_number(reader, node->child->next, &param->high, argument);
    /* The file gives rates: the lower rate is the longer time, so low and high change places. */
    if (status == PTO_OK && argument == PTO_UNIT_S_PER_BYTE && strstr(node->child->text, "/s") &&
        strstr(node->child->next->text, "/s")) {
        double longer = param->low;
        param->low = param->high;
        param->high = longer;
    }
    param->has_interval = true;
    return status;
}

pto_status_t pto_settle_param(const pto_reader_t *reader, const pto_yaml_node_t *mapping,
                              const char *interval_key, pto_param_t *param) {
    if (!param->has_interval) {
        param->low = param->high = param->value;
        return PTO_OK;
    }
    const pto_yaml_node_t *interval = pto_yaml_find(mapping, interval_key);
    if (!pto_param_known(param))
        return pto_read_fail(reader, interval, PTO_ERR_KEY, "%s has no value that it could bound",
                             interval_key);
    if (param->low <= param->value && param->value <= param->high)
        return PTO_OK;
    return pto_read_fail(
        reader, interval, PTO_ERR_RANGE,
        "%s: [%g, %g] does not contain the value %g; a new value needs a new interval, or none", interval_key,
        param->low, param->high, param->value);
}

static pto_status_t finish_postal(const pto_reader_t *reader, const pto_yaml_node_t *node, void *target) {
    pto_postal_t *postal = target;
    if (postal->alpha_s.value <= 0 && postal->beta_s_per_byte.value <= 0)
        return pto_read_fail(reader, node, PTO_ERR_RANGE,
                             "alpha_s and beta_s_per_byte are both 0: nothing is free");
    pto_status_t status = pto_settle_param(reader, node, "alpha_s_95", &postal->alpha_s);
    if (status != PTO_OK)
        return status;
    return pto_settle_param(reader, node, "beta_s_per_byte_95", &postal->beta_s_per_byte);
}

/* clang-format off */
/* A pto_postal_t `base` bytes into the target. */
#define POSTAL_FIELDS(base)                                                                                  \
    {.key = "alpha_s", .read = read_param, .argument = PTO_UNIT_S, .offset = (base) + offsetof(pto_postal_t, alpha_s),               \
     .required = true},                                                                                      \
    {.key = "beta_s_per_byte", .read = read_param, .argument = PTO_UNIT_S_PER_BYTE,                                                           \
     .offset = (base) + offsetof(pto_postal_t, beta_s_per_byte), .required = true},                          \
    {.key = "alpha_s_95", .read = pto_read_interval, .argument = PTO_UNIT_S, .offset = (base) + offsetof(pto_postal_t, alpha_s)},    \
    {.key = "beta_s_per_byte_95", .read = pto_read_interval, .argument = PTO_UNIT_S_PER_BYTE,                                                 \
     .offset = (base) + offsetof(pto_postal_t, beta_s_per_byte)},                                            \
    {.key = "samples", .read = pto_read_count, .offset = (base) + offsetof(pto_postal_t, sample_count),      \
     .argument = 1},                                                                                         \
    {.key = "residual", .read = pto_read_number, .offset = (base) + offsetof(pto_postal_t, residual)},       \
    {.key = "flagged", .read = pto_read_remark, .offset = (base) + offsetof(pto_postal_t, flagged)}
/* clang-format on */

static const pto_yaml_field_t postal_fields[] = {POSTAL_FIELDS(0)};
static const pto_yaml_table_t postal_table = {
    .what = "a cost", PTO_YAML_FIELDS(postal_fields), .finish = finish_postal};

static PTO_NAME_LIST(protocol_at, pto_protocol_t, 0, PTO_PROTOCOL_COUNT, pto_protocol_name);

static pto_status_t finish_row(const pto_reader_t *reader, const pto_yaml_node_t *node, void *target) {
    pto_cost_row_t *row = target;
    pto_status_t status = finish_postal(reader, node, &row->postal);
    return status != PTO_OK
               ? status
               : pto_settle_param(reader, node, "extra_input_s_per_byte_95", &row->extra_input_s_per_byte);
}

/* Checks that the GPUs divide evenly among the nodes, since all nodes of a layout have equally many. */
static pto_status_t finish_gpus_row(const pto_reader_t *reader, const pto_yaml_node_t *node, void *target) {
    pto_cost_row_t *row = target;
    if (!pto_yaml_find(node, "nodes"))
        row->nodes = 1;
    if (row->gpus % row->nodes)
        return pto_read_fail(
            reader, pto_yaml_find(node, "gpus"), PTO_ERR_RANGE,
            "gpus: %lld are not equally many on each of %lld nodes (gpus counts those of all)",
            (long long)row->gpus, (long long)row->nodes);
    return finish_row(reader, node, target);
}

/* clang-format off */
#define AT(member) PTO_YAML_AT(pto_cost_row_t, member)
#define BELOW_FIELD {.key = "below_bytes", .read = pto_read_bytes, AT(below_bytes), .argument = 1}
#define ROW_FIELDS BELOW_FIELD, POSTAL_FIELDS(offsetof(pto_cost_row_t, postal))

static const pto_yaml_field_t protocol_fields[] = {
    {.key = "protocol", .name_at = protocol_at, AT(protocol), .required = true}, ROW_FIELDS};
static const pto_yaml_field_t bytes_fields[] = {
    ROW_FIELDS,
    {.key = "extra_input_s_per_byte", .read = read_param, AT(extra_input_s_per_byte), .argument = PTO_UNIT_S_PER_BYTE | ABOVE_ZERO},
    {.key = "extra_input_s_per_byte_95", .read = pto_read_interval, AT(extra_input_s_per_byte), .argument = PTO_UNIT_S_PER_BYTE}};
static const pto_yaml_field_t procs_fields[] = {
    {.key = "procs", .read = pto_read_count, AT(procs), .argument = 1, .required = true},
    {.key = "strided", .read = pto_read_bool, AT(strided)}, ROW_FIELDS};
static const pto_yaml_field_t gpus_fields[] = {
    {.key = "gpus", .read = pto_read_count, AT(gpus), .argument = 2, .required = true},
    {.key = "nodes", .read = pto_read_count, AT(nodes), .argument = 1}, ROW_FIELDS};
static const pto_yaml_field_t node_gpus_fields[] = {
    {.key = "gpus", .read = pto_read_count, AT(gpus), .argument = 2, .required = true}, ROW_FIELDS};

static const struct {
    pto_yaml_table_t table;
    int rows_max;
} kinds[PTO_ROWS_COUNT] = {
    [PTO_ROWS_BY_PROTOCOL] = {{"a row of messages", PTO_YAML_FIELDS(protocol_fields), .finish = finish_row},
                              PTO_PROTOCOL_COUNT},
    [PTO_ROWS_BY_BYTES] = {{"a row of costs", PTO_YAML_FIELDS(bytes_fields), .finish = finish_row},
                           PTO_COST_RANGE_MAX},
    [PTO_ROWS_BY_PROCS] = {{"a row of shared copies", PTO_YAML_FIELDS(procs_fields), .finish = finish_row}, 256},
    [PTO_ROWS_BY_GPUS] = {{"a row of 'nccl'", PTO_YAML_FIELDS(gpus_fields), .finish = finish_gpus_row}, 1024},
    [PTO_ROWS_BY_NODE_GPUS] = {{"a row of GPUs of a node", PTO_YAML_FIELDS(node_gpus_fields), .finish = finish_gpus_row}, 1024},
};
/* clang-format on */

enum { WORD_MAX = 96, EXTRA_FIELDS = 2 /* the last of bytes_fields */ };

/* Writes for messages which rows share ranges: " of {gpus: 4, nodes: 2}"; empty if rows differ only in their
 * bytes. */
static void describe(pto_rows_by_t by, const pto_cost_row_t *row, char *text) {
    text[0] = '\0';
    if (by == PTO_ROWS_BY_PROCS)
        snprintf(text, WORD_MAX, " of {procs: %lld%s}", (long long)row->procs,
                 row->strided ? ", strided: true" : "");
    if (pto_rows_have_gpus(by))
        snprintf(text, WORD_MAX, " of {gpus: %lld, nodes: %lld}", (long long)row->gpus,
                 (long long)row->nodes);
}

/* Names a row in a message: by its protocol, or as `otherwise`. */
static void refer(pto_rows_by_t by, const pto_cost_row_t *row, const char *otherwise, char *text) {
    if (by == PTO_ROWS_BY_PROTOCOL)
        snprintf(text, WORD_MAX, "'%s'", pto_protocol_name(row->protocol));
    else
        snprintf(text, WORD_MAX, "%s", otherwise);
}

static pto_status_t check_order(const pto_reader_t *reader, const pto_yaml_node_t *node, pto_rows_by_t by,
                                const pto_cost_row_t *before, const pto_cost_row_t *row) {
    if (by == PTO_ROWS_BY_PROTOCOL && before->protocol >= row->protocol)
        return pto_read_fail(
            reader, pto_yaml_find(node, "protocol"), PTO_ERR_RANGE,
            "'%s' cannot follow '%s': each protocol appears once, in the order short, eager, rendezvous",
            pto_protocol_name(row->protocol), pto_protocol_name(before->protocol));
    if (by == PTO_ROWS_BY_PROCS && before->strided && !row->strided)
        return pto_read_fail(reader, pto_yaml_find(node, "procs"), PTO_ERR_RANGE,
                             "strided rows come after the others");
    if (by == PTO_ROWS_BY_PROCS && before->strided == row->strided && row->procs < before->procs)
        return pto_read_fail(reader, pto_yaml_find(node, "procs"), PTO_ERR_RANGE,
                             "procs must rise above the %lld of the row before", (long long)before->procs);
    if (pto_rows_have_gpus(by) &&
        (row->nodes < before->nodes || (row->nodes == before->nodes && row->gpus < before->gpus)))
        return pto_read_fail(reader, pto_yaml_find(node, "gpus"), PTO_ERR_RANGE,
                             "rows rise in nodes, then in gpus: {gpus: %lld, nodes: %lld} comes before "
                             "{gpus: %lld, nodes: %lld}",
                             (long long)row->gpus, (long long)row->nodes, (long long)before->gpus,
                             (long long)before->nodes);
    return PTO_OK;
}

/* The last range must have no limit. */
static pto_status_t check_last(const pto_reader_t *reader, const pto_yaml_node_t *node, pto_rows_by_t by,
                               const pto_cost_row_t *row) {
    const pto_yaml_node_t *below = pto_yaml_find(node, "below_bytes");
    char whose[WORD_MAX];
    describe(by, row, whose);
    return !below ? PTO_OK
                  : pto_read_fail(reader, below, PTO_ERR_RANGE,
                                  "ranges leave a gap: no %s%s holds from %lld bytes up; leave below_bytes "
                                  "out of the last row",
                                  by == PTO_ROWS_BY_PROTOCOL ? "protocol" : "row", whose,
                                  (long long)row->below_bytes);
}

/* All other ranges must have one. */
static pto_status_t check_not_last(const pto_reader_t *reader, const pto_yaml_node_t *node, pto_rows_by_t by,
                                   const pto_cost_row_t *row) {
    char word[WORD_MAX], whose[WORD_MAX];
    refer(by, row, "this row", word);
    describe(by, row, whose);
    return pto_yaml_find(node, "below_bytes")
               ? PTO_OK
               : pto_read_fail(
                     reader, node, PTO_ERR_RANGE,
                     "ranges overlap: without below_bytes %s holds for every size%s, and more rows follow",
                     word, whose);
}

/* Checks a row against the one before it (read from `before_node`; NULL: none), and sets its from_bytes. */
static pto_status_t join_row(const pto_reader_t *reader, const pto_yaml_node_t *before_node,
                             const pto_yaml_node_t *node, pto_rows_by_t by, pto_cost_row_t *row) {
    const pto_cost_row_t *before = before_node ? row - 1 : NULL;
    const pto_yaml_node_t *below = pto_yaml_find(node, "below_bytes");
    bool continues = before && pto_row_continues(by, before, row);
    pto_status_t status = before ? check_order(reader, node, by, before, row) : PTO_OK;
    if (status == PTO_OK && before)
        status = continues ? check_not_last(reader, before_node, by, before)
                           : check_last(reader, before_node, by, before);
    if (status != PTO_OK)
        return status;
    row->from_bytes = continues ? before->below_bytes : 0;
    if (continues && below && row->below_bytes <= row->from_bytes) {
        char word[WORD_MAX];
        refer(by, before, "the row before", word);
        return pto_read_fail(reader, below, PTO_ERR_RANGE,
                             "ranges overlap: below_bytes must rise above the %lld of %s",
                             (long long)row->from_bytes, word);
    }
    return node->next ? PTO_OK : check_last(reader, node, by, row);
}

/* Reads a row to the end of `cost`. `before` is the YAML node of the row before; NULL for the first row. */
static pto_status_t read_row(const pto_reader_t *reader, const pto_yaml_node_t *before,
                             const pto_yaml_node_t *node, pto_rows_by_t by, const pto_yaml_table_t *table,
                             pto_cost_table_t *cost) {
    pto_cost_row_t *row = pto_cost_add(cost);
    if (!row)
        return pto_read_fail(reader, node, PTO_ERR_MEMORY, "out of memory");
    pto_status_t status = pto_read_mapping(reader, node, table, row);
    return status == PTO_OK ? join_row(reader, before, node, by, row) : status;
}

static pto_status_t read_cost(const pto_reader_t *reader, const pto_yaml_node_t *node,
                              const pto_family_t *family, pto_cost_table_t *cost) {
    pto_yaml_table_t table = kinds[family->by].table;
    bool may_be_one = family->by == PTO_ROWS_BY_BYTES;
    if (may_be_one && !family->has_extra_input)
        table.field_count -= EXTRA_FIELDS;
    if (may_be_one && node->kind == PTO_YAML_MAPPING) {
        table.what = "a cost";
        table.field++; /* without the first, below_bytes */
        table.field_count--;
        pto_cost_row_t *row = pto_cost_add(cost);
        return row ? pto_read_mapping(reader, node, &table, row)
                   : pto_read_fail(reader, node, PTO_ERR_MEMORY, "out of memory");
    }
    const char *wanted = may_be_one ? "a cost or a list of rows" : "a list of rows";
    pto_status_t status = pto_read_expect_list(reader, node, wanted, "rows", kinds[family->by].rows_max);
    const pto_yaml_node_t *before = NULL;
    for (const pto_yaml_node_t *row = node->child; row && status == PTO_OK; row = row->next) {
        status = read_row(reader, before, row, family->by, &table, cost);
        before = row;
    }
    return status;
}

pto_status_t pto_read_cell(const pto_reader_t *reader, const pto_yaml_node_t *node,
                           const pto_family_t *family, void *at) {
    switch (family->form) {
    case PTO_FORM_VALUE:
        return family->unit == PTO_UNIT_BYTES
                   ? read_param_bytes(reader, node, at)
                   : read_param(reader, node, at, (int)family->unit | (family->positive ? ABOVE_ZERO : 0));
    case PTO_FORM_POSTAL:
        return pto_read_mapping(reader, node, &postal_table, at);
    case PTO_FORM_COST:
        return read_cost(reader, node, family, at);
    case PTO_FORM_WHOLE:
        break;
    }
    pto_status_t status = pto_read_count(reader, node, at, family->positive ? 1 : 0);
    if (status == PTO_OK && *(int64_t *)at > PTO_NODE_DEVICES_MAX)
        return pto_read_fail(reader, node, PTO_ERR_RANGE, "%s: must be %d or less, not %lld", node->key,
                             PTO_NODE_DEVICES_MAX, (long long)*(int64_t *)at);
    return status;
}
