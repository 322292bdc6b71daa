/* Write a machine as a machine file (docs/formats.md) that pto_machine_read reads back as it was. */
#ifndef PORTOLAN_MACHINE_WRITE_H
#define PORTOLAN_MACHINE_WRITE_H

#include <stdbool.h>

#include "portolan/api.h"
#include "portolan/machine.h"
#include "portolan/status.h"

PTO_API_BEGIN

/* The file's text, the caller's to free. `comment` (may be NULL) stands before the machine, each of its lines
 * after a '#'. Numbers have as few digits as bring back the very same number. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_machine_format(const pto_machine_t *machine, const char *comment, char **text,
                                pto_error_t *err);

/* Write the file, as output.h has it. Errors: those of pto_machine_format and of pto_output_open and _close.
 */
pto_status_t pto_machine_write(const pto_machine_t *machine, const char *comment, const char *path,
                               bool force, pto_error_t *err);

PTO_API_END

#endif
