/* Readers of YAML values that scenario files, workload files and options share. */
#ifndef PTO_SCENARIO_READ_H
#define PTO_SCENARIO_READ_H

#include "formats/yaml_read.h"
#include "portolan/scenario.h"

/* The keys of a call; the target is a pto_scenario_t. */
extern const pto_yaml_table_t pto_scenario_call_table;

/* Finishes a call after these keys have been read: records their places, and refuses a call without a size.
 * `what`: the name of the YAML mapping in messages. */
pto_status_t pto_scenario_finish_call(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                      const char *what, pto_scenario_t *scenario);

/* Field readers (pto_yaml_read_t). This one fills a char *, which the caller frees: a path, relative to the
 * folder of the file that names it. */
pto_status_t pto_read_path(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot, int argument);
/* Fills a pto_counts_t. */
pto_status_t pto_read_counts(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                             int argument);

#endif
