/* Any bytes at all as a workload file: read whole or refused with a place, never half. */
#include <stdint.h>
#include <stdlib.h>

#include "portolan/workload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pto_workload_t workload;
    pto_error_t err = {.status = PTO_OK};
    pto_status_t status = pto_workload_parse((const char *)data, size, "fuzz.yaml", &workload, &err);
    if (status == PTO_OK)
        pto_workload_fini(&workload);
    else if (err.status != status || err.message[0] == '\0' || err.file[0] == '\0' || err.line < 1 ||
             err.column < 1)
        abort();
    return 0;
}
