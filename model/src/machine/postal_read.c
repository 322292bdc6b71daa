/* The postal model in a machine file (docs/formats.md, 'A postal entry'). */
#include "machine/postal_read.h"

#define FIELDS(list) .field = (list), .field_count = sizeof(list) / sizeof *(list)

pto_status_t pto_settle_postal(const pto_reader_t *reader, const pto_yaml_node_t *node,
                               pto_postal_t *postal) {
    if (postal->alpha_s.value <= 0 && postal->beta_s_per_byte.value <= 0)
        return pto_read_fail(reader, node, PTO_ERR_RANGE,
                             "alpha_s and beta_s_per_byte are both 0: nothing is free");
    pto_status_t status = pto_settle_param(reader, node, "alpha_s_95", &postal->alpha_s);
    if (status != PTO_OK)
        return status;
    return pto_settle_param(reader, node, "beta_s_per_byte_95", &postal->beta_s_per_byte);
}

pto_status_t pto_check_below(const pto_reader_t *reader, const pto_yaml_node_t *row, int64_t before_bytes,
                             int64_t below_bytes) {
    const pto_yaml_node_t *below = pto_yaml_find(row, "below_bytes");
    if (below && below_bytes <= before_bytes)
        return pto_read_fail(reader, below, PTO_ERR_RANGE,
                             "ranges overlap: below_bytes must rise above the %lld of the row before",
                             (long long)before_bytes);
    if (below && !row->next)
        return pto_read_fail(
            reader, below, PTO_ERR_RANGE,
            "ranges leave a gap: no row holds from %lld bytes up; leave below_bytes out of the last row",
            (long long)below_bytes);
    return PTO_OK;
}

static pto_status_t finish_postal(const pto_reader_t *reader, const pto_yaml_node_t *node, void *target) {
    return pto_settle_postal(reader, node, target);
}

static const pto_yaml_field_t postal_fields[] = {POSTAL_FIELDS(0)};
const pto_yaml_table_t pto_postal_table = {.what = "a cost", FIELDS(postal_fields), .finish = finish_postal};

static const pto_yaml_field_t reach_fields[] = {
    {.key = "on_socket", .table = &pto_postal_table, .offset = sizeof(pto_postal_t) * PTO_REACH_ON_SOCKET},
    {.key = "off_socket", .table = &pto_postal_table, .offset = sizeof(pto_postal_t) * PTO_REACH_OFF_SOCKET},
};
const pto_yaml_table_t pto_reach_table = {.what = "copies by reach", FIELDS(reach_fields), .nonempty = true};
