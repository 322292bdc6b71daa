/* Finding the files of machines, scenarios, workloads, MPI libraries and topologies by name. */
#ifndef PTO_FIND_MACHINE_H
#define PTO_FIND_MACHINE_H

#include "portolan/api.h"

/* Find the machine file that `name` refers to. A name that contains a slash or ends in .yaml is a path,
 * relative to the folder of `scenario` (a path, or NULL). Any other name is looked up as a path, then in the
 * folder of `scenario`, then in the folders of machine_folders.h. The caller frees `*path`. Errors:
 * PTO_ERR_IO, which lists the places searched. */
pto_status_t pto_find_machine(const char *name, const char *scenario, char **path, pto_error_t *err);

/* Find the scenario or workload that `name` refers to, in the folders of machine_folders.h. `*path` is NULL
 * where `name` is a path (as above) or the name of a file that exists. The caller frees it. Errors:
 * PTO_ERR_IO. */
pto_status_t pto_find_scenario(const char *name, char **path, pto_error_t *err);

/* As pto_find_machine, for an MPI library's or topology's file that the machine file `machine` names. */
pto_status_t pto_find_library(const char *name, const char *machine, char **path, pto_error_t *err);
pto_status_t pto_find_topology(const char *name, const char *machine, char **path, pto_error_t *err);

/* Make the reader of machine files use these functions for the files that a machine file names: the machine
 * it inherits from, its MPI library and its topology. */
void pto_find_by_name(void);

#endif
