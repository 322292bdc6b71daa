/* Where the tools look for machines by name. */
#ifndef PTO_MACHINE_FOLDERS_H
#define PTO_MACHINE_FOLDERS_H

#include <stdbool.h>

enum { PTO_FOLDER_MAX = 1024 };

/* The index-th folder of machine files that exists, in the order of the search; false behind the last. No
 * folder is named twice.
 *
 * $PORTOLAN_DATA/machines, if that is set; scenarios/machines, as in the source tree; machines that were
 * installed with this program, or lie in the source tree that it was built in, by the program's own path, so
 * that both may be moved; and those in /usr/local. */
bool pto_machine_folder(int index, char folder[PTO_FOLDER_MAX]);

#endif
