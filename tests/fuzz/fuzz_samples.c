/* Any bytes at all as samples: read whole, or refused with a place and nothing kept. */
#include <stdint.h>
#include <stdlib.h>

#include "portolan/samples.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pto_samples_t samples = {0};
    pto_error_t err = {.status = PTO_OK};
    pto_status_t status = pto_samples_parse((const char *)data, size, "fuzz.csv", &samples, &err);
    if (status != PTO_OK &&
        (samples.count > 0 || samples.provenance_count > 0 || samples.file_count > 0 ||
         err.status != status || err.message[0] == '\0' || err.line < 1 || err.column < 1))
        abort();
    for (size_t i = 0; i < samples.count; i++)
        if (!(samples.sample[i].seconds > 0) || samples.sample[i].bytes < 0 || samples.sample[i].procs < 1)
            abort();
    pto_samples_fini(&samples);
    return 0;
}
