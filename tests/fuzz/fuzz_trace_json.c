/* Bytes as a trace in JSON: as it is, and as one event of each format that is a list of them. */
#include "fuzz_recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_recording(data, size, PTO_RECORDING_NCCL_INSPECTOR);
    fuzz_recording(data, size, PTO_RECORDING_NCCL_TESTS);
    fuzz_recording(data, size, PTO_RECORDING_CHAKRA_JSON);
    fuzz_within("{\"traceEvents\":[", data, size, "]}", PTO_RECORDING_KINETO);
    fuzz_within("{\"workload_graph\":[", data, size, "]}", PTO_RECORDING_CHAKRA_JSON);
    fuzz_within("{\"nodes\":[", data, size, "]}", PTO_RECORDING_PYTORCH_ET);
    return 0;
}
