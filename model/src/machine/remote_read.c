/* Reading `remote` of a machine file (docs/formats.md): kernels that use another GPU's memory. */
#include "machine/remote_read.h"

#include "machine/postal_read.h"

#define FIELDS(list) .field = (list), .field_count = sizeof(list) / sizeof *(list)
#define AT(member) .offset = offsetof(pto_machine_t, member)

static pto_status_t finish_remote(const pto_reader_t *reader, const pto_yaml_node_t *node, void *target) {
    return pto_settle_param(reader, node, "all_s_per_byte_95",
                            &((pto_machine_t *)target)->remote_all_s_per_byte);
}

static const pto_yaml_field_t remote_fields[] = {
    {.key = "load", .table = &pto_reach_table, AT(remote[PTO_REMOTE_LOAD])},
    {.key = "store", .table = &pto_reach_table, AT(remote[PTO_REMOTE_STORE])},
    {.key = "all_s_per_byte", .read = pto_read_param, AT(remote_all_s_per_byte), .argument = 1},
    {.key = "all_s_per_byte_95", .read = pto_read_interval, AT(remote_all_s_per_byte)},
};
const pto_yaml_table_t pto_remote_table = {
    .what = "'remote'", FIELDS(remote_fields), .nonempty = true, .finish = finish_remote};
