/* Output files that replace an existing file atomically, or leave it untouched on failure. */
#ifndef PORTOLAN_OUTPUT_H
#define PORTOLAN_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "portolan/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pto_output pto_output_t;

/* Open `path` for writing.
 *
 * A regular file, existing or new, is written under another name in the same folder and then renamed, so no
 * reader sees half of it and a failure leaves the old file in place. Symbolic links are followed: their
 * target is replaced, not the link. An existing file is refused without `force`. Anything else (a FIFO, a
 * device, /dev/stdout) is opened and written directly, and never replaced.
 * Errors: PTO_ERR_IO, with the file; PTO_ERR_MEMORY. */
pto_status_t pto_output_open(const char *path, bool force, pto_output_t **output, pto_error_t *err);

/* The stream to write to; owned by the output. Write errors may be left to pto_output_close. */
FILE *pto_output_stream(pto_output_t *output);

/* Close the output: flush the file to disk and rename it into place. If `keep` is false, drop what was
 * written; bytes already sent to a FIFO or a device cannot be recalled. Frees `output` (NULL is legal) in
 * every case. Errors: PTO_ERR_IO, with the file and the cause. */
pto_status_t pto_output_close(pto_output_t *output, bool keep, pto_error_t *err);

#ifdef __cplusplus
}
#endif

#endif
