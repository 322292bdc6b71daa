/* Bytes as a trace in JSON: as it is, and as one event of each format that is a list of them. */
#include <string.h>

#include "fuzz_recording.h"

static void fuzz_within(const char *before, const uint8_t *data, size_t size, const char *after,
                        pto_recording_format_t format) {
    const size_t front = strlen(before), back = strlen(after);
    uint8_t *text = malloc(front + size + back);
    if (!text)
        return;
    memcpy(text, before, front);
    if (size > 0)
        memcpy(text + front, data, size);
    memcpy(text + front + size, after, back);
    fuzz_recording(text, front + size + back, format);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_recording(data, size, PTO_RECORDING_NCCL_INSPECTOR);
    fuzz_recording(data, size, PTO_RECORDING_NCCL_TESTS);
    fuzz_recording(data, size, PTO_RECORDING_CHAKRA_JSON);
    fuzz_within("{\"traceEvents\":[", data, size, "]}", PTO_RECORDING_KINETO);
    fuzz_within("{\"workload_graph\":[", data, size, "]}", PTO_RECORDING_CHAKRA_JSON);
    fuzz_within("{\"nodes\":[", data, size, "]}", PTO_RECORDING_PYTORCH_ET);
    return 0;
}
