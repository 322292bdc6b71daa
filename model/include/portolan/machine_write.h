/* Write a machine as a machine file (docs/formats.md) that pto_machine_open reads back unchanged. */
#ifndef PORTOLAN_MACHINE_WRITE_H
#define PORTOLAN_MACHINE_WRITE_H

#include <stdbool.h>

#include "portolan/api.h"
#include "portolan/machine.h"
#include "portolan/status.h"

PTO_API_BEGIN

/* Format the file's text; the caller frees it. `comment` (may be NULL) precedes the machine, with each of its
 * lines after a '#'. Numbers are printed with the fewest digits that read back as the same number. Errors:
 * PTO_ERR_MEMORY. */
pto_status_t pto_machine_format(const pto_machine_t *machine, const char *comment, char **text,
                                pto_error_t *err);

/* Write the file through output.h. Errors: those of pto_machine_format, pto_output_open and
 * pto_output_close. */
pto_status_t pto_machine_write(const pto_machine_t *machine, const char *comment, const char *path,
                               bool force, pto_error_t *err);

/* Format the key `model_error` alone, an empty text if the machine has none. The caller frees it. Errors:
 * PTO_ERR_MEMORY. */
pto_status_t pto_machine_error_format(const pto_machine_t *machine, char **text, pto_error_t *err);

PTO_API_END

#endif
