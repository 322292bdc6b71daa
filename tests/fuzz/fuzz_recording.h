/* Bytes as a recording: read whole or refused with a place, never half. */
#ifndef PORTOLAN_TESTS_FUZZ_RECORDING_H
#define PORTOLAN_TESTS_FUZZ_RECORDING_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "recorded_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_recording(const uint8_t *data, size_t size, pto_recording_format_t format) {
    const pto_recording_options_t options = {.format = format,
                                             .rank = -1,
                                             .nodes = 2,
                                             .gpus_per_node = 4,
                                             .gpus_per_socket = 2,
                                             .collective = PTO_COLLECTIVE_ALLREDUCE};
    pto_recording_t trace;
    pto_error_t err = {.status = PTO_OK};
    pto_status_t status = read_recorded_text((const char *)data, size, &options, &trace, &err);
    if (status == PTO_OK)
        pto_recording_fini(&trace);
    else if (err.status != status || err.message[0] == '\0' || err.file[0] == '\0' || err.line < 1 ||
             err.column < 1)
        abort();
}

/* The bytes between two texts, until it is freed; NULL: no memory. */
static inline char *fuzz_text(const char *before, const uint8_t *data, size_t size, const char *after,
                              size_t *length) {
    const size_t front = strlen(before), back = strlen(after);
    char *text = malloc(front + size + back + 1);
    *length = front + size + back;
    if (!text)
        return NULL;
    memcpy(text, before, front);
    if (size > 0)
        memcpy(text + front, data, size);
    memcpy(text + front + size, after, back);
    return text;
}

static inline void fuzz_within(const char *before, const uint8_t *data, size_t size, const char *after,
                               pto_recording_format_t format) {
    size_t length;
    char *text = fuzz_text(before, data, size, after, &length);
    if (text)
        fuzz_recording((const uint8_t *)text, length, format);
    free(text);
}

#endif
