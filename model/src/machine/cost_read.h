/* Reading the value of one parameter in a machine file: a number, a postal cost or rows of costs. */
#ifndef PTO_COST_READ_H
#define PTO_COST_READ_H

#include "formats/yaml_read.h"
#include "machine/registry.h"

/* Reads the value of a family's cell (registry.h) into the machine, `at` this address. */
pto_status_t pto_read_cell(const pto_reader_t *reader, const pto_yaml_node_t *node,
                           const pto_family_t *family, void *at);

/* Reads a pto_param_t's 95 percent interval, [low, high]. */
pto_status_t pto_read_interval(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                               int argument);

/* After value and interval have been read: checks that the interval contains the value, or sets it to the
 * value if the file has none. `interval_key` is the interval's key in `mapping`. */
pto_status_t pto_settle_param(const pto_reader_t *reader, const pto_yaml_node_t *mapping,
                              const char *interval_key, pto_param_t *param);

#endif
