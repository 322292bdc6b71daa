/* Upgrades of a machine: what-ifs with a name and maybe a cost. */
#ifndef PTO_UPGRADES_H
#define PTO_UPGRADES_H

#include "portolan/machine.h"

typedef struct {
    char *name;
    int change_count;
    char **change; /* each as after --what-if */
    double cost;   /* in whatever unit; 0: not given */
} pto_upgrade_t;

typedef struct {
    int count;
    pto_upgrade_t *upgrade;
} pto_upgrades_t;

/* Read a file of upgrades (docs/formats.md). Errors: those of reading YAML, with the place. */
pto_status_t pto_upgrades_read(const char *path, pto_upgrades_t *upgrades, pto_error_t *err);

/* Those that every machine may have: twice the NICs, a host link twice as fast, links between
 * GPUs twice as fast, GPUDirect, twice the cores. */
pto_status_t pto_upgrades_standard(pto_upgrades_t *upgrades, pto_error_t *err);

/* Keep the upgrades whose names have `text` in them, in lower or upper case. Errors: PTO_ERR_NOT_FOUND, with
 * all names. */
pto_status_t pto_upgrades_keep(pto_upgrades_t *upgrades, const char *text, pto_error_t *err);

void pto_upgrades_fini(pto_upgrades_t *upgrades);

#endif
