/* Tables of choices: rows of `library` in a machine file or a scenario, and of a machine file's `tuning`. */
#ifndef PTO_LIBRARY_RULES_H
#define PTO_LIBRARY_RULES_H

#include "formats/yaml_read.h"
#include "machine/machine_internal.h"

enum { PTO_LIBRARY_RULES_MAX = 256 };

extern const pto_yaml_table_t pto_library_row, pto_tuning_row;

/* A list of such rows. On success the caller owns `*rule`: free it with pto_library_rules_free. */
pto_status_t pto_read_rules(const pto_reader_t *reader, const pto_yaml_node_t *node,
                            const pto_yaml_table_t *row, pto_library_rule_t **rule, int *rule_count);
void pto_library_rules_free(pto_library_rule_t *rule, int rule_count);

/* Returns the table of a collective in a space; NULL: none. */
const pto_library_table_t *pto_library_table_find(const pto_library_table_t *table, int count,
                                                  const char *collective, pto_space_t space);

/* A copy that the caller frees with pto_library_tables_free. Returns false, with nothing made, when out of
 * memory. */
bool pto_library_tables_copy(const pto_library_table_t *table, int count, pto_library_table_t **copy);

/* Tables, with their names and rules. NULL is legal. */
void pto_library_tables_free(pto_library_table_t *table, int count);

#endif
