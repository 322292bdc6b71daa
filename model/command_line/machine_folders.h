/* The folders in which the programs look up machines, scenarios and other files by name. */
#ifndef PTO_MACHINE_FOLDERS_H
#define PTO_MACHINE_FOLDERS_H

#include <stdbool.h>

enum { PTO_FOLDER_MAX = 1024, PTO_FILE_NAME_MAX = 64, PTO_FILE_NAMES_MAX = 256 };

/* Kinds of files that are found by name. */
typedef enum {
    PTO_FOLDER_MACHINES,
    PTO_FOLDER_TOPOLOGIES,
    PTO_FOLDER_LIBRARIES, /* of MPI libraries */
    PTO_FOLDER_PROBLEMS,  /* of scenarios */
    PTO_FOLDER_WORKLOADS,
    PTO_FOLDER_COUNT
} pto_folder_kind_t;

/* The name that all folders of a kind have: "machines". */
const char *pto_folder_name(pto_folder_kind_t value);

/* The index-th existing folder of a kind, in search order; false after the last. No folder appears twice.
 *
 * Those of machines are $PORTOLAN_DATA/machines, if that is set; scenarios/machines, as in the source tree;
 * the machines installed with this program or in the source tree that it was built in, found through the
 * program's own path, so that both can be moved; and those in /usr/local. The others are beside these. */
bool pto_folder_at(pto_folder_kind_t kind, int index, char folder[PTO_FOLDER_MAX]);

/* The names, without .yaml, of the files in these folders, sorted and without duplicates. Names with
 * characters other than letters, digits and ._+- are left out. Returns their number. */
int pto_folders_names(pto_folder_kind_t kind, char name[PTO_FILE_NAMES_MAX][PTO_FILE_NAME_MAX]);
/* The one of these names that is nearest to `name`, for messages; false if none is near. */
bool pto_folders_suggest(pto_folder_kind_t kind, const char *name, char near[PTO_FILE_NAME_MAX]);

/* The folder of the running program; false if it is unknown. */
bool pto_program_folder(char folder[PTO_FOLDER_MAX]);

#endif
