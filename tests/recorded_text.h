/* Texts as recordings, from temporary files. */
#ifndef PTO_TEST_RECORDED_TEXT_H
#define PTO_TEST_RECORDED_TEXT_H

#include <stdio.h>
#include <stdlib.h>

#include "portolan/recording.h"

static inline pto_status_t read_recorded_text(const char *text, size_t size,
                                              const pto_recording_options_t *options, pto_recording_t *trace,
                                              pto_error_t *err) {
    char path[32];
    FILE *file = tmpfile();
    if (!file || fwrite(text, 1, size, file) != size || fflush(file) != 0)
        abort();
    snprintf(path, sizeof path, "/dev/fd/%d", fileno(file));
    pto_status_t status = pto_recording_read(path, options, trace, err);
    fclose(file);
    return status;
}

#endif
