/* Any bytes as calls.csv of all processes, which are compared: what is named are places of the file. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "portolan/recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_delay(const pto_delay_t *delay, int64_t procs) {
    if (delay->cause >= PTO_DELAY_CAUSES || delay->place_count < 1 ||
        delay->place_count > PTO_DELAY_PLACES_MAX || delay->last > delay->calls)
        abort();
    for (int i = 0; i < delay->place_count; i++)
        if (delay->place[i] < 0 || delay->place[i] >= procs)
            abort();
    if (!isfinite(delay->late_s) || !isfinite(delay->noise_s) || !isfinite(delay->ratio))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pto_recording_options_t options = {.format = PTO_RECORDING_CALLS,
                                       .rank = -1,
                                       .gpus_per_node = 2,
                                       .gpus_per_socket = 1,
                                       .collective = PTO_COLLECTIVE_COUNT,
                                       .timeline = pto_timeline_create()};
    pto_recording_t trace;
    pto_delays_t delays;
    if (options.timeline &&
        pto_recording_parse((const char *)data, size, "fuzz.csv", &options, &trace, NULL) == PTO_OK) {
        if (pto_delays_find(options.timeline, &options, &trace, &delays, NULL) == PTO_OK) {
            for (int i = 0; i < delays.count; i++)
                check_delay(&delays.delay[i], delays.procs);
            pto_delays_fini(&delays);
        }
        pto_recording_fini(&trace);
    }
    pto_timeline_destroy(options.timeline);
    return 0;
}
