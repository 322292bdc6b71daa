/* Any bytes at all as a scenario file: read whole or refused with a place, never half. */
#include <stdint.h>
#include <stdlib.h>

#include "portolan/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pto_scenario_t scenario;
    pto_error_t err = {.status = PTO_OK};
    pto_status_t status = pto_scenario_parse((const char *)data, size, "fuzz.yaml", &scenario, &err);
    if (status == PTO_OK)
        pto_scenario_fini(&scenario);
    else if (err.status != status || err.message[0] == '\0' || err.file[0] == '\0' || err.line < 1 ||
             err.column < 1)
        abort();
    return 0;
}
