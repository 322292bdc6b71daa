/* The version of portolan that a program is compiled against, and the version that it runs with; and the
 * sizes of structs, for programs in other languages. */
#ifndef PORTOLAN_VERSION_H
#define PORTOLAN_VERSION_H

#include <stddef.h>

#include "portolan/api.h"

PTO_API_BEGIN

#define PTO_VERSION_MAJOR 0
#define PTO_VERSION_MINOR 1
#define PTO_VERSION_PATCH 0
#define PTO_VERSION_TEXT "0.1.0"

/* For `#if PTO_VERSION >= PTO_VERSION_OF(0, 2, 0)`. */
#define PTO_VERSION_OF(major, minor, patch) ((major)*10000 + (minor)*100 + (patch))
#define PTO_VERSION PTO_VERSION_OF(PTO_VERSION_MAJOR, PTO_VERSION_MINOR, PTO_VERSION_PATCH)

/* PTO_VERSION_TEXT of the library that the program runs with. */
const char *pto_version(void);

/* Structs of the headers that other languages declare again, and their sizes in the library that the program
 * runs with. The last entry has no name. */
typedef struct {
    const char *name;
    size_t bytes;
} pto_struct_size_t;

const pto_struct_size_t *pto_struct_sizes(void);

PTO_API_END

#endif
