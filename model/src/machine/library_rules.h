/* Tables of what an MPI library does: rows of a machine file's `library` and of a scenario's. */
#ifndef PORTOLAN_LIBRARY_RULES_H
#define PORTOLAN_LIBRARY_RULES_H

#include "formats/yaml_read.h"
#include "machine/machine_internal.h"

enum { PTO_LIBRARY_RULES_MAX = 256 };

/* On success the caller owns `*rule`: free it with pto_library_rules_free. */
pto_status_t pto_read_library_rules(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                    pto_library_rule_t **rule, int *rule_count);
void pto_library_rules_free(pto_library_rule_t *rule, int rule_count);

/* A copy that the caller frees with pto_library_tables_free. Returns false, with nothing made, when out of
 * memory. */
bool pto_library_tables_copy(const pto_library_table_t *table, int count, pto_library_table_t **copy);

/* Tables, with their names and rules. NULL is legal. */
void pto_library_tables_free(pto_library_table_t *table, int count);

#endif
