/* Any bytes at all as a machine file: read whole or refused with a place, never half. */
#include <stdint.h>
#include <stdlib.h>

#include "portolan/machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pto_machine_t *machine;
    pto_error_t err = {.status = PTO_OK};
    pto_status_t status = pto_machine_create((const char *)data, size, "fuzz.yaml", &machine, &err);
    if (status == PTO_OK)
        pto_machine_destroy(machine);
    else if (err.status != status || err.message[0] == '\0' || err.file[0] == '\0' || err.line < 1 ||
             err.column < 1)
        abort();
    return 0;
}
