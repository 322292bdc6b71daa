/* Any bytes at all as a CSV matrix: a square of numbers or refused with a place. */
#include <stdint.h>
#include <stdlib.h>

#include "portolan/scenario.h"

enum { READ_MAX = 512 }; /* rows and columns */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pto_counts_t counts;
    pto_error_t err = {.status = PTO_OK};
    pto_status_t status = pto_counts_parse_matrix((const char *)data, size, "fuzz.csv", &counts, &err);
    if (status != PTO_OK) {
        if (err.status != status || err.message[0] == '\0' || err.line < 1 || err.column < 1)
            abort();
        return 0;
    }
    /* Of a large matrix every few rows and columns, so that a loaded machine takes it for no endless loop. */
    const int64_t stride = 1 + counts.order / READ_MAX;
    for (int64_t i = 0; i < counts.order; i += stride)
        for (int64_t j = 0; j < counts.order; j += stride)
            if (pto_counts_bytes(&counts, 0, i, j) < 0)
                abort();
    pto_counts_fini(&counts);
    return 0;
}
