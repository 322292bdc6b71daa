/* Any bytes as calls of all processes, which are compared: what is named are places of the file. */
#include <math.h>

#include "fuzz_recording.h"

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

static pto_status_t read_file(const uint8_t *data, size_t size, const char *before, const char *after,
                              const pto_recording_options_t *options, pto_recording_t *trace) {
    size_t length;
    char *text = fuzz_text(before, data, size, after, &length);
    pto_status_t status = text ? read_recorded_text(text, length, options, trace, NULL) : PTO_ERR_MEMORY;
    free(text);
    return status;
}

/* Two files with the same calls; what is before them may give them different ranks. */
static void compare(const uint8_t *data, size_t size, pto_recording_format_t format,
                    const char *const before[2], const char *after) {
    pto_recording_options_t options = {.format = format,
                                       .rank = -1,
                                       .gpus_per_node = 2,
                                       .gpus_per_socket = 1,
                                       .collective = PTO_COLLECTIVE_COUNT,
                                       .timeline = pto_timeline_create(),
                                       .times_only = true};
    pto_recording_t other = {.count = 0}, trace;
    pto_delays_t delays;
    if (options.timeline && before[1])
        read_file(data, size, before[1], after, &options, &other);
    options.times_only = false;
    if (options.timeline && read_file(data, size, before[0], after, &options, &trace) == PTO_OK) {
        if (pto_delays_find(options.timeline, &options, &trace, &delays, NULL) == PTO_OK) {
            for (int i = 0; i < delays.count; i++)
                check_delay(&delays.delay[i], delays.procs);
            pto_delays_fini(&delays);
        }
        pto_recording_fini(&trace);
    }
    pto_recording_fini(&other);
    pto_timeline_destroy(options.timeline);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const nothing[2] = {""}, *const kineto[2] = {
                                                    "{\"distributedInfo\":{\"rank\":0},\"traceEvents\":[",
                                                    "{\"distributedInfo\":{\"rank\":1},\"traceEvents\":["};
    compare(data, size, PTO_RECORDING_CALLS, nothing, "");
    compare(data, size, PTO_RECORDING_NCCL_INSPECTOR, nothing, "");
    compare(data, size, PTO_RECORDING_KINETO, kineto, "]}");
    return 0;
}
