/* Field readers of scenario files. */
#ifndef PTO_READ_COUNTS_H
#define PTO_READ_COUNTS_H

#include "formats/yaml_read.h"
#include "portolan/scenario.h"

/* char *, owned: a path relative to the folder of the file that names it */
pto_status_t pto_read_path(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot, int argument);
/* pto_counts_t */
pto_status_t pto_read_counts(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                             int argument);

#endif
