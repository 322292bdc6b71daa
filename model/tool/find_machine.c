/* From a machine's name to its file. */
#include "find_machine.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_file.h"

static bool can_open(const char *path) {
    FILE *file = fopen(path, "r");
    if (file)
        fclose(file);
    return file != NULL;
}

enum { CANDIDATES = 4 };

static bool is_path(const char *name) {
    size_t size = strlen(name);
    return strchr(name, '/') || (size > 5 && strcmp(name + size - 5, ".yaml") == 0);
}

/* FOLDER/NAMEENDING, or NAMEENDING in the folder of `scenario`. */
static char *candidate(const char *scenario, const char *folder, const char *name, const char *ending) {
    size_t size = strlen(folder) + strlen(name) + strlen(ending) + 2;
    char *file = malloc(size);
    if (!file)
        return NULL;
    snprintf(file, size, "%s%s%s%s", folder, *folder ? "/" : "", name, ending);
    char *path = pto_path_beside(*folder ? NULL : scenario, file);
    free(file);
    return path;
}

static pto_status_t not_found(const char *name, char *const *path, int count, pto_error_t *err) {
    char places[PTO_ERROR_MESSAGE_MAX / 2] = "";
    for (int i = 0; i < count; i++) {
        strncat(places, i ? ", " : "", sizeof places - strlen(places) - 1);
        strncat(places, path[i], sizeof places - strlen(places) - 1);
    }
    if (count == 1)
        return pto_error_set(err, PTO_ERR_IO, "no machine file '%s'", places);
    return pto_error_set(err, PTO_ERR_IO,
                         "no machine '%.40s': looked for %s; `portolan list machines` shows all", name,
                         places);
}

pto_status_t pto_find_machine(const char *name, const char *scenario, char **path, pto_error_t *err) {
    char *tried[CANDIDATES] = {candidate(scenario, "", name, ""), candidate(scenario, "", name, ".yaml"),
                               candidate(NULL, "scenarios/machines", name, ".yaml"),
                               candidate(NULL, PORTOLAN_DATADIR "/machines", name, ".yaml")};
    int count = is_path(name) ? 1 : CANDIDATES;
    int found = 0;
    bool memory = tried[0] && tried[1] && tried[2] && tried[3];
    while (memory && found < count && !can_open(tried[found]))
        found++;
    pto_status_t status = PTO_OK;
    if (!memory)
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    else if (found == count)
        status = not_found(name, tried, count, err);
    for (int i = 0; i < CANDIDATES; i++)
        if (status != PTO_OK || i != found)
            free(tried[i]);
    if (status == PTO_OK)
        *path = tried[found];
    return status;
}
