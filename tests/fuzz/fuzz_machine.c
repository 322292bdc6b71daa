/* Any bytes at all as a machine file: read whole or refused with a place, never half. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "portolan/machine.h"

/* Machines that the bytes inherit are two of the seeds, whatever they are called. */
static pto_status_t find_seed(const char *name, const char *beside, char **path, pto_error_t *err) {
    *path = strdup(name[0] == 'e' ? "tests/fuzz/corpus/machine/everything.yaml"
                                  : "tests/fuzz/corpus/machine/smallest.yaml");
    return *path ? PTO_OK : pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pto_machine_find_by(find_seed);
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
