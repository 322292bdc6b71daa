/* Runtimes of GPUs that are not asked whose a buffer is: AMD's and Intel's. Beside one of them, what CUDA's
 * driver does not know need not be host memory. */
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "dropin.h"

enum { NAME_MAX_BYTES = 64 };
static char found[NAME_MAX_BYTES];
static unsigned long long adds; /* libraries loaded since the start, when they were last looked at */

static int look_at(struct dl_phdr_info *info, size_t size, void *context) {
    static const char *const known[] = {"libamdhip64.so", "libhsa-runtime64.so", "libze_loader.so"};
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    const char *name = slash ? slash + 1 : info->dlpi_name ? info->dlpi_name : "";
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

/* A program may load it at any time. One that is unloaded still counts. */
const char *drop_foreign_runtime(void) {
    bool is_first = true;
    if (!*found)
        dl_iterate_phdr(look_at, &is_first);
    return *found ? found : NULL;
}
