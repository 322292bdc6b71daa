/* Reading `setup` of a machine file (docs/formats.md): what is done once, before a plan's first run. */
#include "machine/setup_read.h"

#include "portolan/machine.h"

#define FIELDS(list) .field = (list), .field_count = sizeof(list) / sizeof *(list)
#define AT(member) .offset = offsetof(pto_setup_cost_t, member)

/* Only reductions have further inputs. */
static bool has_further(const pto_reduce_cost_t *cost) {
    bool found = false;
    for (int i = 0; i < cost->count; i++)
        found = found || pto_param_known(&cost->piece[i].further_s_per_byte);
    return found;
}

static pto_status_t finish_setup(const pto_reader_t *reader, const pto_yaml_node_t *node, void *target) {
    pto_setup_cost_t *setup = target;
    if (has_further(&setup->open) || has_further(&setup->allocate[PTO_SPACE_GPU]) ||
        has_further(&setup->allocate[PTO_SPACE_CPU]))
        return pto_read_fail(reader, node, PTO_ERR_KEY,
                             "further_s_per_byte is for reductions, not for setup");
    return pto_settle_param(reader, node, "segment_s_95", &setup->segment_s);
}

static const pto_yaml_field_t allocate_fields[] = {
    {.key = "gpu", .read = pto_read_cost, AT(allocate[PTO_SPACE_GPU])},
    {.key = "cpu", .read = pto_read_cost, AT(allocate[PTO_SPACE_CPU])},
};
static const pto_yaml_table_t allocate_table = {
    .what = "'allocate'", FIELDS(allocate_fields), .nonempty = true};

static const pto_yaml_field_t setup_fields[] = {
    {.key = "open", .read = pto_read_cost, AT(open)},
    {.key = "allocate", .table = &allocate_table},
    {.key = "segment_s", .read = pto_read_param, AT(segment_s)},
    {.key = "segment_s_95", .read = pto_read_interval, AT(segment_s)},
};
const pto_yaml_table_t pto_setup_table = {
    .what = "'setup'", FIELDS(setup_fields), .nonempty = true, .finish = finish_setup};
