/* Any bytes at all as a placement: bound to its layout, or refused with a place. */
#include <stdint.h>
#include <stdlib.h>

#include "portolan/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const pto_layout_t layout = {
        .nodes = 2, .gpus_per_node = 2, .owners_per_gpu = 1, .procs_per_gpu = 1, .gpus_per_socket = 1};
    pto_mapping_t mapping = {.count = 0};
    pto_error_t err = {.status = PTO_OK};
    pto_status_t status = pto_mapping_parse((const char *)data, size, "fuzz.csv", &mapping, &err);
    if (status == PTO_OK)
        status = pto_mapping_bind(&mapping, &layout, &err);
    if (status != PTO_OK &&
        (err.status != status || err.message[0] == '\0' || err.line < 1 || err.column < 1))
        abort();
    int64_t rank[4];
    if (status == PTO_OK)
        pto_mapping_ranks(&mapping, &layout, rank);
    pto_mapping_fini(&mapping);
    return 0;
}
