/* Reading what is known of MPI libraries: machine files' `library` and `mpi_library`. */
#ifndef PTO_MACHINE_LIBRARY_H
#define PTO_MACHINE_LIBRARY_H

#include "formats/yaml_read.h"
#include "machine/machine_internal.h"

/* Find the file of a name by the program's own search or, without one, in a folder beside that of the file at
 * `beside`; the caller frees `*path`. */
pto_status_t pto_find_named(pto_machine_find_t find, const char *folder, const char *name, const char *beside,
                            char **path, pto_error_t *err);

/* The key `library`, tables of collectives: a pto_machine_t that has none. */
extern const pto_yaml_table_t pto_library_table;

/* Add the tables of the library's file that the machine lacks. `beside` is the path of the machine's file.
 * Errors: those of finding and reading the file. */
pto_status_t pto_machine_add_library(pto_machine_t *machine, const char *name, const char *beside,
                                     pto_error_t *err);

#endif
