/* Finds the function that a wrapper calls: the next one of its name in the dynamic linker's order. */
#include "next.h"

#include <dlfcn.h>
#include <string.h>

void preload_next(const char *name, void *function, size_t size) {
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(function, &found, size);
}
