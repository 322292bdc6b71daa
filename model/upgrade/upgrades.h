/* Upgrades of a machine for `portolan upgrade`: changes of its parameters, with a name and perhaps a cost. */
#ifndef PTO_UPGRADES_H
#define PTO_UPGRADES_H

#include "formats/yaml_tree.h"
#include "portolan/machine.h"

/* When the parameters that an upgrade cannot change (pto_untouched_t) make its effect unknown. */
typedef enum {
    PTO_ALWAYS,
    PTO_BETWEEN_NODES, /* only on several nodes */
    PTO_UNLINKED_GPUS, /* only if the GPUs of a node have no links of their own (upgrade_changes.h) */
} pto_untouched_when_t;

/* Parameters that depend on the hardware of an upgrade, but that the upgrade cannot change. */
enum { PTO_UNTOUCHED_MAX = 5 };
typedef struct {
    const char *prefix; /* of their keys; NULL if none */
    const char *why;
    pto_untouched_when_t when;
    bool bound; /* the saving without them is a lower bound, and is shown as one */
} pto_untouched_t;

enum { PTO_UPGRADE_CHANGES_MAX = 100 };
typedef struct {
    const char *name;
    /* Each as after --what-if, or a name like "NICs" or "gpudirect" (change_one); NULL after the last one. */
    const char *change[PTO_UPGRADE_CHANGES_MAX + 1];
    double cost; /* in any unit; 0 if not given */
    pto_untouched_t untouched[PTO_UNTOUCHED_MAX];
} pto_upgrade_t;

typedef struct {
    int count;
    pto_upgrade_t *upgrade;
    pto_yaml_node_t *file; /* has the texts of upgrades that were read; NULL for the standard ones */
} pto_upgrades_t;

/* Reads a file of upgrades (docs/formats.md). Errors: those of reading YAML, with the place. */
pto_status_t pto_upgrades_read(const char *path, pto_upgrades_t *upgrades, pto_error_t *err);

/* Makes the standard upgrades: twice the NICs, faster network, host links and GPU links, GPUDirect. */
pto_status_t pto_upgrades_standard(pto_upgrades_t *upgrades, pto_error_t *err);

/* Keeps the upgrades with `text` in their names, in any case. Errors: PTO_ERR_NOT_FOUND, with all names. */
pto_status_t pto_upgrades_keep(pto_upgrades_t *upgrades, const char *text, pto_error_t *err);

void pto_upgrades_fini(pto_upgrades_t *upgrades);

#endif
