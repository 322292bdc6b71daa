/* Files that programs write, without destroying what their names stand for. */
#ifndef PORTOLAN_OUTPUT_H
#define PORTOLAN_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "portolan/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pto_output pto_output_t;

/* Begin to write `path`.
 *
 * A regular file, existing or new, is written as a whole: under another name in the same folder, and then in
 * its place, so that no reader sees half of it and a failure leaves what was there. Symbolic links are
 * followed: the file that they lead to is replaced, not the link. One that exists is refused without `force`.
 * Anything else (a FIFO, a device, /dev/stdout) is opened and written directly, and never replaced.
 * Errors: PTO_ERR_IO, with the file; PTO_ERR_MEMORY. */
pto_status_t pto_output_open(const char *path, bool force, pto_output_t **output, pto_error_t *err);

/* Where to write; it belongs to the output. Errors of writing may be left to pto_output_close. */
FILE *pto_output_stream(pto_output_t *output);

/* End it: put the file in its place, once all of it has reached the disk. `keep` false drops what was
 * written; what went to a FIFO or a device is gone. Frees `output`, which may be NULL, in every case. Errors:
 * PTO_ERR_IO, with the file and the cause. */
pto_status_t pto_output_close(pto_output_t *output, bool keep, pto_error_t *err);

#ifdef __cplusplus
}
#endif

#endif
