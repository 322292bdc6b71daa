/* Reading one call, which scenario files and workloads have in common. */
#ifndef PTO_READ_CALL_H
#define PTO_READ_CALL_H

#include "formats/yaml_read.h"
#include "portolan/scenario.h"

/* The keys of a call; the target is a pto_scenario_t. */
extern const pto_yaml_table_t pto_scenario_call_table;

/* Once these are read: note their places, and refuse a call without a size; messages call the mapping `what`.
 */
pto_status_t pto_scenario_finish_call(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                      const char *what, pto_scenario_t *scenario);

#endif
