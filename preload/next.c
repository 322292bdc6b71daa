/* The dynamic linker's next function of a name, for wrappers. */
#include "next.h"

#include <dlfcn.h>
#include <string.h>

void preload_next(const char *name, void *function, size_t size) {
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(function, &found, size);
}
