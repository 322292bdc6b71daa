/* Reading what a machine file says of one parameter: numbers, postal costs, rows of costs. */
#ifndef PTO_COST_READ_H
#define PTO_COST_READ_H

#include "formats/yaml_read.h"
#include "machine/registry.h"

/* The value of a family's cell, which is `at` this address of the machine. */
pto_status_t pto_read_cell(const pto_reader_t *reader, const pto_yaml_node_t *node,
                           const pto_family_t *family, void *at);

/* A pto_param_t's 95 percent interval, [low, high]. */
pto_status_t pto_read_interval(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                               int argument);

/* Once value and interval are read: the one within the other. `interval_key` is the interval's in `mapping`.
 */
pto_status_t pto_settle_param(const pto_reader_t *reader, const pto_yaml_node_t *mapping,
                              const char *interval_key, pto_param_t *param);

#endif
