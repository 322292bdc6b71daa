/* `nccl` of a machine file: what NCCL's own collectives take. */
#ifndef PTO_NCCL_READ_H
#define PTO_NCCL_READ_H

#include "formats/yaml_read.h"

/* Its target is a pto_machine_t. */
extern const pto_yaml_table_t pto_nccl_table;

#endif
