/* Files that programs write, without destroying what their names stand for. */
#ifndef PORTOLAN_OUTPUT_H
#define PORTOLAN_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "portolan/api.h"
#include "portolan/status.h"

PTO_API_BEGIN

typedef struct pto_output pto_output_t;

/* Begin to write `path`.
 *
 * A regular file, existing or new, is written as a whole: under another name in the same folder, and then in
 * its place, so that no reader sees half of it and a failure leaves what was there. Symbolic links are
 * followed: the file that they lead to is replaced, not the link. One that exists is refused without `force`.
 * Anything else (a FIFO, a device, /dev/stdout) is opened and written directly, and never replaced.
 * Errors: PTO_ERR_IO, with the file; PTO_ERR_MEMORY. */
pto_status_t pto_output_open(const char *path, bool force, pto_output_t **output, pto_error_t *err);

/* The same for files that grow over a long time, whose contents are of use even where the program is cut
 * short. A new file has its own name from the start. One that exists keeps its contents until
 * pto_output_close: the new ones are in FILE.part-..., beside it, and stay there where they cannot take its
 * place. With `force` a new file is begun beside its name as well, in case another program makes one
 * meanwhile. */
pto_status_t pto_output_open_growing(const char *path, bool force, pto_output_t **output, pto_error_t *err);

/* Where the bytes are until pto_output_close; it belongs to the output. */
const char *pto_output_place(const pto_output_t *output);

/* Where to write; it belongs to the output. Errors of writing may be left to pto_output_close. */
FILE *pto_output_stream(pto_output_t *output);

/* End it: put the file in its place, once all of it has reached the disk. `keep` false drops what was
 * written, but not what grew; what went to a FIFO or a device is gone. Frees `output`, which may be NULL, in
 * every case. Errors: PTO_ERR_IO, with the file and the cause. */
pto_status_t pto_output_close(pto_output_t *output, bool keep, pto_error_t *err);

PTO_API_END

#endif
