/* Detects whether the process has loaded the runtime of AMD's or Intel's GPUs. CUDA's driver takes their
 * memory for host memory, so the drop-in must not use host buffers then. */
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "dropin.h"

enum { NAME_MAX_BYTES = 64 };
static char found[NAME_MAX_BYTES];
static unsigned long long adds; /* dlpi_adds, the number of libraries loaded so far, at the last search */

static int look_at(struct dl_phdr_info *info, size_t size, void *context) {
    static const char *const known[] = {"libamdhip64.so", "libhsa-runtime64.so", "libze_loader.so"};
    const char *path = info->dlpi_name ? info->dlpi_name : "";
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    bool *is_first = context;
    (void)size;
    if (*is_first && info->dlpi_adds == adds)
        return 1;
    *is_first = false;
    adds = info->dlpi_adds;
    for (size_t i = 0; i < sizeof known / sizeof *known && !*found; i++)
        if (strncmp(name, known[i], strlen(known[i])) == 0)
            snprintf(found, sizeof found, "%s", name);
    return 0;
}

/* A program may load a runtime at any time. One that has been unloaded still counts. */
const char *drop_foreign_runtime(void) {
    bool is_first = true;
    if (!*found)
        dl_iterate_phdr(look_at, &is_first);
    return *found ? found : NULL;
}
