/* Where machine files are looked for. */
#ifndef PTO_FIND_MACHINE_H
#define PTO_FIND_MACHINE_H

#include "portolan/status.h"

/* The machine file that `name` means: that path, else a machine of that name in the folder of `scenario` (a
 * path, or NULL), or in one of the folders of machine_folders.h. What holds a slash or ends in .yaml is a
 * path alone, relative to the folder of `scenario`. `*path` is the caller's to free. Errors: PTO_ERR_IO,
 * which names the places. */
pto_status_t pto_find_machine(const char *name, const char *scenario, char **path, pto_error_t *err);

#endif
