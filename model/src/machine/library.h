/* Tables of choices by the size of a call. A row (pto_library_rule_t) says which algorithm an MPI library
 * uses (the key `library` of a machine file or a scenario), or how many members stage (the key `tuning`).
 * Also the files of MPI libraries, which the key `mpi_library` names. */
#ifndef PTO_MACHINE_LIBRARY_H
#define PTO_MACHINE_LIBRARY_H

#include "formats/yaml_read.h"
#include "machine/machine_internal.h"

enum { PTO_LIBRARY_RULES_MAX = 256 };

/* The keys of a row of `library` and of `tuning`. */
extern const pto_yaml_table_t pto_library_row, pto_tuning_row;

/* Reads a list of rows with these keys. On success the caller owns `*rule`: free it with
 * pto_library_rules_free. */
pto_status_t pto_read_rules(const pto_reader_t *reader, const pto_yaml_node_t *node,
                            const pto_yaml_table_t *row, pto_library_rule_t **rule, int *rule_count);
/* Copies `count` rows. `*to_count` must be 0 and becomes the number of rows to be freed. Returns false when
 * out of memory, with some rows possibly copied. */
bool pto_library_rules_copy(const pto_library_rule_t *from, int count, pto_library_rule_t **to,
                            int *to_count);
void pto_library_rules_free(pto_library_rule_t *rule, int rule_count);

/* Returns the table of a collective in a space; NULL: none. */
const pto_library_table_t *pto_library_table_find(const pto_library_table_t *table, int count,
                                                  const char *collective, pto_space_t space);

/* A copy, freed with pto_library_tables_free. Returns false, without a copy, when out of memory. */
bool pto_library_tables_copy(const pto_library_table_t *table, int count, pto_library_table_t **copy);

/* Free tables, with their names and rules. NULL is legal. */
void pto_library_tables_free(pto_library_table_t *table, int count);
/* The same for a machine's, which is then without tables. */
void pto_library_tables_clear(pto_library_table_t **table, int *count);

/* Find the file of a name by the program's own search or, without one, as ../folder/NAME.yaml from the file
 * at `beside`; the caller frees `*path`. */
pto_status_t pto_find_named(pto_machine_find_t find, const char *folder, const char *name, const char *beside,
                            char **path, pto_error_t *err);

/* Reads the key `library` into a pto_machine_t without such tables. */
extern const pto_yaml_table_t pto_library_table;

/* Add the tables of the library's file that the machine lacks. `beside` is the path of the machine's file.
 * Errors: those of finding and reading the file. */
pto_status_t pto_machine_add_library(pto_machine_t *machine, const char *name, const char *beside,
                                     pto_error_t *err);

#endif
