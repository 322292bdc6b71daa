/* Reading what the postal model is made of: one cost, costs by reach, and the fields that rows share. */
#ifndef PTO_POSTAL_READ_H
#define PTO_POSTAL_READ_H

#include "formats/yaml_read.h"

/* The fields of a pto_postal_t that lies `base` bytes into the table's target. */
#define POSTAL_FIELDS(base)                                                                                  \
    {.key = "alpha_s",                                                                                       \
     .read = pto_read_param,                                                                                 \
     .offset = (base) + offsetof(pto_postal_t, alpha_s),                                                     \
     .required = true},                                                                                      \
        {.key = "beta_s_per_byte",                                                                           \
         .read = pto_read_param,                                                                             \
         .offset = (base) + offsetof(pto_postal_t, beta_s_per_byte),                                         \
         .required = true},                                                                                  \
        {.key = "alpha_s_95",                                                                                \
         .read = pto_read_interval,                                                                          \
         .offset = (base) + offsetof(pto_postal_t, alpha_s)},                                                \
        {.key = "beta_s_per_byte_95",                                                                        \
         .read = pto_read_interval,                                                                          \
         .offset = (base) + offsetof(pto_postal_t, beta_s_per_byte)},                                        \
        {.key = "samples",                                                                                   \
         .read = pto_read_count,                                                                             \
         .offset = (base) + offsetof(pto_postal_t, sample_count),                                            \
         .argument = 1},                                                                                     \
        {.key = "residual", .read = pto_read_number, .offset = (base) + offsetof(pto_postal_t, residual)}, { \
        .key = "flagged", .read = pto_read_text, .offset = (base) + offsetof(pto_postal_t, flagged)          \
    }

/* What a cost's numbers must satisfy together. */
pto_status_t pto_settle_postal(const pto_reader_t *reader, const pto_yaml_node_t *node, pto_postal_t *postal);

/* What `below_bytes` of a row must satisfy among those that follow each other: it rises above `before_bytes`
 * (0: the first of its kind), and the list's last row has none. Errors: PTO_ERR_RANGE. */
pto_status_t pto_check_below(const pto_reader_t *reader, const pto_yaml_node_t *row, int64_t before_bytes,
                             int64_t below_bytes);

/* A pto_postal_t; pto_postal_t[PTO_REACH_COUNT]. */
extern const pto_yaml_table_t pto_postal_table;
extern const pto_yaml_table_t pto_reach_table;

#endif
