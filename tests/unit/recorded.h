/* Recordings of collectives and what delays them, which live until the test ends. */
#ifndef PTO_TEST_RECORDED_H
#define PTO_TEST_RECORDED_H

#include "bad_input.h"
#include "recorded_text.h"
#include "test.h"

static inline void end_recording(void *recording) { pto_recording_fini(recording); }

static inline void end_delays(void *delays) { pto_delays_fini(delays); }

static inline pto_recording_t must_record(const char *text, const pto_recording_options_t *options) {
    pto_recording_t recording = {.count = 0};
    pto_error_t err = {0};
    if (read_recorded_text(text, strlen(text), options, &recording, &err) != PTO_OK)
        fail_msg("%d: %s\n%s", err.line, err.message, text);
    keep_owned(&recording, sizeof recording, end_recording);
    return recording;
}

static inline pto_recording_t read_recording(const char *path, const pto_recording_options_t *options) {
    pto_recording_t recording = {.count = 0};
    pto_error_t err = {0};
    assert_ok(pto_recording_read(path, options, &recording, &err), &err);
    keep_owned(&recording, sizeof recording, end_recording);
    return recording;
}

static inline void assert_no_recording(const char *path, const pto_recording_options_t *options,
                                       pto_status_t status, const char *words) {
    pto_recording_t trace;
    pto_error_t err = {0};
    if (pto_recording_read(path, options, &trace, &err) != status || !strstr(err.message, words))
        fail_msg("%s: %d, %s", path, (int)err.status, err.message);
}

static inline void assert_calls(const pto_recording_t *trace, const pto_recording_call_t *expected,
                                int count) {
    for (int i = 0; i < trace->count && i < count; i++) {
        const pto_recording_call_t *call = &trace->call[i];
        if (call->collective != expected[i].collective || call->bytes != expected[i].bytes ||
            call->nodes != expected[i].nodes || call->gpus_per_node != expected[i].gpus_per_node ||
            call->per_node != expected[i].per_node || call->times != expected[i].times ||
            call->distance != expected[i].distance || strcmp(call->route, expected[i].route) != 0 ||
            !(fabs(call->measured_s - expected[i].measured_s) < 1e-12))
            fail_msg("call %d: %s %lld B %lldx%lld (%lld a node) %lld times %.9g s by %s, distance %d", i,
                     pto_collective_name(call->collective), (long long)call->bytes, (long long)call->nodes,
                     (long long)call->gpus_per_node, (long long)call->per_node, (long long)call->times,
                     call->measured_s, call->route, (int)call->distance);
    }
    assert_int_equal(trace->count, count);
}

#define ASSERT_CALLS(trace, expected)                                                                        \
    assert_calls(trace, expected, (int)(sizeof(expected) / sizeof *(expected)))

static inline void assert_recordings_refused(const bad_input_t *bad, size_t count,
                                             const pto_recording_options_t *options) {
    for (size_t i = 0; i < count; i++) {
        pto_recording_t trace;
        pto_error_t err = {0};
        assert_refused(&bad[i], read_recorded_text(bad[i].text, strlen(bad[i].text), options, &trace, &err),
                       &err);
    }
}

#define ASSERT_RECORDINGS_REFUSED(bad, options)                                                              \
    assert_recordings_refused(bad, sizeof(bad) / sizeof *(bad), options)

/* Of what was recorded into the options' timeline, which ends with it. */
static inline pto_delays_t must_find_delays(const pto_recording_options_t *options,
                                            pto_recording_t *recording) {
    pto_delays_t delays = {.count = 0};
    pto_error_t err = {0};
    assert_ok(pto_delays_find(options->timeline, options, recording, &delays, &err), &err);
    keep_owned(&delays, sizeof delays, end_delays);
    pto_timeline_destroy(options->timeline);
    return delays;
}

static inline pto_recording_options_t with_timeline(int64_t gpus_per_node) {
    pto_timeline_t *timeline = pto_timeline_create();
    assert_non_null(timeline);
    return (pto_recording_options_t){
        .rank = -1, .gpus_per_node = gpus_per_node, .collective = PTO_COLLECTIVE_COUNT, .timeline = timeline};
}

#endif
