/* The folders in which the programs look up machines, scenarios and other files by name. */
#ifndef PTO_MACHINE_FOLDERS_H
#define PTO_MACHINE_FOLDERS_H

#include <stdbool.h>

enum { PTO_FOLDER_MAX = 1024, PTO_FILE_NAME_MAX = 64, PTO_FILE_NAMES_MAX = 256 };

/* The index-th existing folder of machine files, in search order; false after the last. No folder appears
 * twice.
 *
 * The folders are $PORTOLAN_DATA/machines, if that is set; scenarios/machines, as in the source tree; the
 * machines installed with this program or in the source tree that it was built in, found through the
 * program's own path, so that both can be moved; and those in /usr/local. */
bool pto_machine_folder(int index, char folder[PTO_FOLDER_MAX]);

/* The siblings of that folder, for topologies, MPI libraries, scenarios and workloads. */
bool pto_topology_folder(int index, char folder[PTO_FOLDER_MAX]);
bool pto_library_folder(int index, char folder[PTO_FOLDER_MAX]);
bool pto_problem_folder(int index, char folder[PTO_FOLDER_MAX]);
bool pto_workload_folder(int index, char folder[PTO_FOLDER_MAX]);

/* The names, without .yaml, of the files in these folders, sorted and without duplicates. Names with
 * characters other than letters, digits and ._+- are left out. Returns their number. */
int pto_folders_names(bool (*folder_at)(int index, char folder[PTO_FOLDER_MAX]),
                      char name[PTO_FILE_NAMES_MAX][PTO_FILE_NAME_MAX]);
/* The one of these names that is nearest to `name`, for messages; false if none is near. */
bool pto_folders_suggest(bool (*folder_at)(int index, char folder[PTO_FOLDER_MAX]), const char *name,
                         char near[PTO_FILE_NAME_MAX]);

/* The folder of the running program; false if it is unknown. */
bool pto_program_folder(char folder[PTO_FOLDER_MAX]);

#endif
