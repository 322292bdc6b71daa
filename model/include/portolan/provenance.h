/* Where a file of measurements comes from: its leading lines of `# key=value`. */
#ifndef PORTOLAN_PROVENANCE_H
#define PORTOLAN_PROVENANCE_H

#include <stdint.h>

#include "portolan/api.h"

PTO_API_BEGIN

/* A `# key=value` line. */
typedef struct {
    char *key;
    char *value;
    int file;
    int line;
} pto_provenance_t;

PTO_API_END

#endif
