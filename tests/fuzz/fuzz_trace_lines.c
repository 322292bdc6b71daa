/* Any bytes at all as the lines of liballprof and of GOAL, after a line that tells the format. */
#include "fuzz_recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_within("MPI_Init:-:1:2\n", data, size, "", PTO_RECORDING_ALLPROF);
    fuzz_within("num_ranks 4\n", data, size, "", PTO_RECORDING_GOAL);
    return 0;
}
