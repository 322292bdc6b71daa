/* What the parameters of the postal model must satisfy together. */
#include "postal_read.h"

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
