/* Finding libportolan-map.so. It stays open until the program ends. */
#include "map_library.h"

#include <dlfcn.h>
#include <stdio.h>

#include "command_line/machine_folders.h"
#include "portolan/map.h"

void pto_map_library_open(void) {
    static const char *const places[] = {"/", "/../lib/", NULL};
    char folder[PTO_FOLDER_MAX], path[PTO_FOLDER_MAX + 64];
    void *library = NULL;
    bool known = pto_program_folder(folder);
    for (int i = 0; places[i] && known && !library; i++) {
        snprintf(path, sizeof path, "%s%slibportolan-map.so", folder, places[i]);
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    if (!library)
        library = dlopen("libportolan-map.so", RTLD_NOW | RTLD_LOCAL);
    const pto_mapper_t *mapper = library ? dlsym(library, "pto_mapper_scotch") : NULL;
    if (mapper)
        pto_mapper_register(mapper, NULL); /* fails only if it has been done */
}
