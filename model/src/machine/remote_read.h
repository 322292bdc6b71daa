/* `remote` of a machine file; the table's target is a pto_machine_t. */
#ifndef PTO_REMOTE_READ_H
#define PTO_REMOTE_READ_H

#include "formats/yaml_read.h"

extern const pto_yaml_table_t pto_remote_table;

#endif
