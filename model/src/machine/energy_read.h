/* Reading `energy` of a machine file. */
#ifndef PORTOLAN_ENERGY_READ_H
#define PORTOLAN_ENERGY_READ_H

#include "formats/yaml_read.h"

/* Its target is a machine's power_w. */
extern const pto_yaml_table_t pto_energy_table;

#endif
