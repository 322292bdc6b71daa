/* Output files that replace an existing file atomically, or leave it untouched on failure. */
#ifndef PORTOLAN_OUTPUT_H
#define PORTOLAN_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "portolan/api.h"

PTO_C_BEGIN

typedef struct pto_output pto_output_t;

/* Open `path` for writing.
 *
 * A regular file, existing or new, is written under another name in the same folder and then renamed, so no
 * reader sees half of it and a failure leaves the old file in place. Symbolic links are followed: their
 * target is replaced, not the link. An existing file is refused without `force`. Anything else (a FIFO, a
 * device, /dev/stdout) is opened and written directly, and never replaced.
 * Errors: PTO_ERR_IO, with the file; PTO_ERR_MEMORY. */
pto_status_t pto_output_open(const char *path, bool force, pto_output_t **output, pto_error_t *err);

/* Open a file that grows over a long time and whose contents are useful even if the program is interrupted. A
 * new file has its own name from the start. An existing file keeps its contents until pto_output_close: the
 * new contents are in FILE.part-..., beside it, and stay there if they cannot replace it. With `force`, the
 * contents are in FILE.part-... even if FILE does not exist, because another program may create it. */
pto_status_t pto_output_open_growing(const char *path, bool force, pto_output_t **output, pto_error_t *err);

/* The file that holds the bytes until pto_output_close; owned by the output. */
const char *pto_output_place(const pto_output_t *output);

/* The stream to write to; owned by the output. Write errors may be left to pto_output_close. */
FILE *pto_output_stream(pto_output_t *output);

/* Close the output: flush the file to disk and rename it into place. If `keep` is false, drop what was
 * written, except by a growing file; bytes already sent to a FIFO or a device cannot be recalled. Frees
 * `output` (NULL is legal) in every case. Errors: PTO_ERR_IO, with the file and the cause. */
pto_status_t pto_output_close(pto_output_t *output, bool keep, pto_error_t *err);

/* Remove the temporary files of outputs that are not closed, except of growing ones. For the handler of a
 * signal that ends the program: async-signal-safe. */
void pto_output_unlink_unfinished(void);

PTO_C_END

#endif
