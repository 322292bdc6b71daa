/* Upgrades of a machine: what-ifs with a name and maybe a cost. */
#ifndef PTO_UPGRADES_H
#define PTO_UPGRADES_H

#include "portolan/machine.h"

/* When parameters that an upgrade does not touch leave its effect unknown. */
typedef enum {
    PTO_ALWAYS,
    PTO_BETWEEN_NODES, /* only of a layout of several nodes */
    PTO_UNLINKED_GPUS, /* only where the GPUs of a node have no links of their own (upgrade_changes.h) */
} pto_untouched_when_t;

/* Parameters that the hardware of an upgrade bears on, and that it cannot change. */
enum { PTO_UNTOUCHED_MAX = 5 };
typedef struct {
    const char *prefix; /* of their keys; NULL: none */
    const char *why;
    pto_untouched_when_t when;
    bool bound; /* the saving without them is shown, as what is saved at least */
} pto_untouched_t;

typedef struct {
    char *name;
    int change_count;
    char **change; /* each as after --what-if; or "NICs", "network messages", "gpudirect", ... (change_one) */
    double cost;   /* in whatever unit; 0: not given */
    pto_untouched_t untouched[PTO_UNTOUCHED_MAX];
} pto_upgrade_t;

typedef struct {
    int count;
    pto_upgrade_t *upgrade;
} pto_upgrades_t;

/* Read a file of upgrades (docs/formats.md). Errors: those of reading YAML, with the place. */
pto_status_t pto_upgrades_read(const char *path, pto_upgrades_t *upgrades, pto_error_t *err);

/* Those that every machine may have: twice the NICs, a network and a host link twice as fast, links between
 * GPUs twice as fast, GPUDirect. */
pto_status_t pto_upgrades_standard(pto_upgrades_t *upgrades, pto_error_t *err);

/* Keep the upgrades whose names have `text` in them, in lower or upper case. Errors: PTO_ERR_NOT_FOUND, with
 * all names. */
pto_status_t pto_upgrades_keep(pto_upgrades_t *upgrades, const char *text, pto_error_t *err);

void pto_upgrades_fini(pto_upgrades_t *upgrades);

#endif
