/* Reading `setup` of a machine file, and costs by size, which stand elsewhere too. */
#ifndef PORTOLAN_SETUP_READ_H
#define PORTOLAN_SETUP_READ_H

#include "formats/yaml_read.h"

/* Its target is a machine's `setup`. */
extern const pto_yaml_table_t pto_setup_table;

/* machine_read.c: one cost for every size, or a list of rows; the slot is a pto_reduce_cost_t. */
pto_status_t pto_read_cost(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot, int argument);

#endif
