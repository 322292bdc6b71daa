/* Any bytes at all as the lines of liballprof and of GOAL, after a line that tells the format. */
#include <string.h>

#include "fuzz_recording.h"

static void fuzz_after(const char *heading, const uint8_t *data, size_t size, pto_recording_format_t format) {
    const size_t front = strlen(heading);
    uint8_t *text = malloc(front + size);
    if (!text)
        return;
    memcpy(text, heading, front);
    if (size > 0)
        memcpy(text + front, data, size);
    fuzz_recording(text, front + size, format);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_after("MPI_Init:-:1:2\n", data, size, PTO_RECORDING_ALLPROF);
    fuzz_after("num_ranks 4\n", data, size, PTO_RECORDING_GOAL);
    return 0;
}
