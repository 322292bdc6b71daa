/* Finding the files of machines, scenarios and workloads by name. */
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

/* The same for the file of an MPI library, which the file `machine` names. */
pto_status_t pto_find_library(const char *name, const char *machine, char **path, pto_error_t *err);

/* The same for a topology. */
pto_status_t pto_find_topology(const char *name, const char *machine, char **path, pto_error_t *err);

/* Let machine files find in this way what they inherit, their MPI library and their topology. */
void pto_find_by_name(void);

#endif
