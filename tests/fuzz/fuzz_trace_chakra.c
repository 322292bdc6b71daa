/* Any bytes at all as Chakra's protobuf. */
#include "fuzz_recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_recording(data, size, PTO_RECORDING_CHAKRA);
    return 0;
}
