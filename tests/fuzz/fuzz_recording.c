/* Any bytes at all as a recording of any format. */
#include "fuzz_recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_recording(data, size, PTO_RECORDING_ANY);
    return 0;
}
