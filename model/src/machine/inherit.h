/* Machine files that inherit from others (docs/formats.md, 'A machine made of others'). */
#ifndef PTO_MACHINE_INHERIT_H
#define PTO_MACHINE_INHERIT_H

#include "formats/yaml_read.h"
#include "portolan/machine.h"

enum { PTO_INHERIT_FILES_MAX = 16, PTO_INHERIT_DEPTH_MAX = 8 };

/* The files that a machine was read from; the first is its own. Zero it first. */
typedef struct {
    int count;
    char *path[PTO_INHERIT_FILES_MAX];
} pto_machine_files_t;

/* Merge the files that a machine file names under `inherits`, `node` and `network` into its tree, which keeps
 * its own values, and remove these keys. Every node gets the number of its file. `files` has the machine
 * file's own path. Errors: those of reading a file, with file and line; PTO_ERR_RANGE, at the key, for
 * cycles; PTO_ERR_TOO_LARGE for too many files. */
pto_status_t pto_machine_inherit(pto_machine_files_t *files, pto_yaml_node_t *root, pto_error_t *err);

void pto_machine_files_fini(pto_machine_files_t *files);

#endif
