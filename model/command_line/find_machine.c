/* Finding a machine's file by name. */
#include "find_machine.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text_file.h"
#include "machine_folders.h"

static bool is_folder(const char *path) {
    struct stat found;
    return path && stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

static bool is_odd(const char *path) { return access(path, R_OK) == 0 && !pto_file_is_readable(path); }

enum { CANDIDATES_MAX = 8 };

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
    char places[PTO_ERROR_MESSAGE_MAX / 2] = "", near[PTO_FILE_NAME_MAX];
    for (int i = 0; i < count && path[i]; i++) {
        strncat(places, i ? ", " : "", sizeof places - strlen(places) - 1);
        strncat(places, path[i], sizeof places - strlen(places) - 1);
        strncat(places,
                is_folder(path[i]) ? " (a folder)"
                : is_odd(path[i])  ? " (not a regular file)"
                                   : "",
                sizeof places - strlen(places) - 1);
    }
    if (count == 1 && is_folder(path[0]))
        return pto_error_set(err, PTO_ERR_IO, "'%s' is a folder, not a machine file", path[0]);
    if (count == 1 && is_odd(path[0]))
        return pto_error_set(err, PTO_ERR_IO, "'%s' is not a regular file", path[0]);
    if (count == 1)
        return pto_error_set(err, PTO_ERR_IO, "no machine file '%s'", places);
    if (pto_folders_suggest(pto_machine_folder, name, near))
        return pto_error_set(err, PTO_ERR_IO, "no machine '%.40s'; did you mean '%s'?", name, near);
    return pto_error_set(err, PTO_ERR_IO,
                         "no machine '%.40s': looked for %s; `portolan list machines` shows all", name,
                         places);
}

/* The paths that a name may refer to, in search order; returns their number. */
static int candidates(const char *name, const char *scenario, char *path[CANDIDATES_MAX]) {
    char folder[PTO_FOLDER_MAX];
    int count = 0;
    path[count++] = candidate(scenario, "", name, "");
    if (is_path(name))
        return count;
    path[count++] = candidate(scenario, "", name, ".yaml");
    for (int i = 0; count < CANDIDATES_MAX && pto_machine_folder(i, folder); i++)
        path[count++] = candidate(NULL, folder, name, ".yaml");
    return count;
}

pto_status_t pto_find_machine(const char *name, const char *scenario, char **path, pto_error_t *err) {
    char *tried[CANDIDATES_MAX] = {NULL};
    int count = candidates(name, scenario, tried), found = 0;
    pto_status_t status = PTO_OK;
    for (int i = 0; i < count && status == PTO_OK; i++)
        if (!tried[i])
            status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    while (status == PTO_OK && found < count && !pto_file_is_readable(tried[found]))
        found++;
    if (status == PTO_OK && found == count)
        status = not_found(name, tried, count, err);
    if (status == PTO_OK)
        *path = tried[found];
    for (int i = 0; i < count; i++)
        if (status != PTO_OK || i != found)
            free(tried[i]);
    return status;
}
