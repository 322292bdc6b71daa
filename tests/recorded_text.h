/* Texts as recordings, from temporary files. */
#ifndef PTO_TEST_RECORDED_TEXT_H
#define PTO_TEST_RECORDED_TEXT_H

#include <stdio.h>

#include "portolan/recording.h"

static inline pto_status_t read_recorded_text(const char *text, size_t size,
                                              const pto_recording_options_t *options, pto_recording_t *trace,
                                              pto_error_t *err) {
    char path[32];
    FILE *file = tmpfile();
    if (!file)
        return pto_error_set(err, PTO_ERR_IO, "no temporary file");
    const bool is_written = fwrite(text, 1, size, file) == size && fflush(file) == 0;
    snprintf(path, sizeof path, "/dev/fd/%d", fileno(file));
    pto_status_t status = is_written ? pto_recording_read(path, options, trace, err)
                                     : pto_error_set(err, PTO_ERR_IO, "a temporary file is not whole");
    fclose(file);
    return status;
}

#endif
