/* Finding the files of machines, scenarios, workloads, MPI libraries and topologies by name: the candidate
 * paths in search order, and the error that lists them. */
#include "find_machine.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "base/text_file.h"
#include "machine_folders.h"
#include "portolan/machine.h"

static bool is_folder(const char *path) {
    struct stat found;
    return path && stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

static bool is_not_regular(const char *path) {
    return access(path, R_OK) == 0 && !pto_file_is_readable(path);
}

enum { CANDIDATES_MAX = 9 };

static bool is_path(const char *name) { return strchr(name, '/') || pto_text_ends(name, ".yaml"); }

/* The kinds' names in messages. */
static const char *const what[] = {[PTO_FOLDER_MACHINES] = "machine",
                                   [PTO_FOLDER_TOPOLOGIES] = "topology",
                                   [PTO_FOLDER_LIBRARIES] = "MPI library"};

/* The path FOLDER/NAMEENDING, where `ending` is "" or ".yaml". If `folder` is "", it is the folder of the
 * file `beside` (NULL: the current folder). The caller frees it; NULL: out of memory. */
static char *candidate(const char *beside, const char *folder, const char *name, const char *ending) {
    size_t size = strlen(folder) + strlen(name) + strlen(ending) + 2;
    char *file = malloc(size);
    if (!file)
        return NULL;
    snprintf(file, size, "%s%s%s%s", folder, *folder ? "/" : "", name, ending);
    char *path = pto_path_beside(*folder ? NULL : beside, file);
    free(file);
    return path;
}

/* What a message says after a path that cannot be read; "" if there is no such file. */
static const char *fault_of(const char *path) {
    if (is_folder(path))
        return " (a folder)";
    return is_not_regular(path) ? " (not a regular file)" : "";
}

/* Set and return the error that lists the `count` paths that were tried. */
static pto_status_t not_found(pto_folder_kind_t kind, const char *name, char *const *path, int count,
                              pto_error_t *err) {
    char places[PTO_ERROR_MESSAGE_MAX / 2] = "", near[PTO_FILE_NAME_MAX];
    pto_line_t line = {.text = places, .size = sizeof places};
    assert(path[0]);
    for (int i = 0; i < count && path[i]; i++)
        pto_line_add(&line, "%s%s%s", i ? ", " : "", path[i], fault_of(path[i]));
    if (count == 1 && is_folder(path[0]))
        return pto_error_set(err, PTO_ERR_IO, "'%s' is a folder, not a %s file", path[0], what[kind]);
    if (count == 1 && is_not_regular(path[0]))
        return pto_error_set(err, PTO_ERR_IO, "'%s' is not a regular file", path[0]);
    if (count == 1)
        return pto_error_set(err, PTO_ERR_IO, "no %s file '%s'", what[kind], places);
    if (pto_folders_suggest(kind, name, near))
        return pto_error_set(err, PTO_ERR_IO, "no %s '%.40s'; did you mean '%s'?", what[kind], name, near);
    return pto_error_set(err, PTO_ERR_IO, "no %s '%.40s': looked for %s; `portolan list %s` shows all",
                         what[kind], name, places, pto_folder_name(kind));
}

/* The paths that a name in the file `beside` may refer to, in search order. Returns their number. The caller
 * frees them; one of them is NULL when out of memory. */
static int candidates(pto_folder_kind_t kind, const char *name, const char *beside,
                      char *path[CANDIDATES_MAX]) {
    char folder[PTO_FOLDER_MAX];
    int count = 0;
    path[count++] = candidate(beside, "", name, "");
    if (is_path(name))
        return count;
    path[count++] = candidate(beside, "", name, ".yaml");
    for (int i = 0; count < CANDIDATES_MAX - 1 && pto_folder_at(kind, i, folder); i++)
        path[count++] = candidate(NULL, folder, name, ".yaml");
    if (kind != PTO_FOLDER_MACHINES &&
        beside) { /* a machine file of another installation than this program's */
        snprintf(folder, sizeof folder, "../%s/%s", pto_folder_name(kind), name);
        path[count++] = candidate(beside, "", folder, ".yaml");
    }
    return count;
}

static pto_status_t find_file(pto_folder_kind_t kind, const char *name, const char *beside, char **path,
                              pto_error_t *err) {
    char *tried[CANDIDATES_MAX] = {NULL};
    int count = candidates(kind, name, beside, tried), found = 0;
    pto_status_t status = PTO_OK;
    for (int i = 0; i < count && status == PTO_OK; i++)
        if (!tried[i])
            status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    while (status == PTO_OK && found < count && !pto_file_is_readable(tried[found]))
        found++;
    if (status == PTO_OK && found == count)
        status = not_found(kind, name, tried, count, err);
    if (status == PTO_OK)
        *path = tried[found];
    for (int i = 0; i < count; i++)
        if (status != PTO_OK || i != found)
            free(tried[i]);
    return status;
}

pto_status_t pto_find_machine(const char *name, const char *scenario, char **path, pto_error_t *err) {
    return find_file(PTO_FOLDER_MACHINES, name, scenario, path, err);
}

pto_status_t pto_find_library(const char *name, const char *machine, char **path, pto_error_t *err) {
    return find_file(PTO_FOLDER_LIBRARIES, name, machine, path, err);
}

pto_status_t pto_find_topology(const char *name, const char *machine, char **path, pto_error_t *err) {
    return find_file(PTO_FOLDER_TOPOLOGIES, name, machine, path, err);
}

void pto_find_by_name(void) {
    pto_machine_find_by(pto_find_machine);
    pto_library_find_by(pto_find_library);
    pto_topology_find_by(pto_find_topology);
}

/* Returns NAME.yaml in the first of the folders that has it, or NULL. */
static char *find_in(pto_folder_kind_t kind, const char *name) {
    char folder[PTO_FOLDER_MAX];
    for (int i = 0; pto_folder_at(kind, i, folder); i++) {
        char *path = candidate(NULL, folder, name, ".yaml");
        if (path && pto_file_is_readable(path))
            return path;
        free(path);
    }
    return NULL;
}

pto_status_t pto_find_scenario(const char *name, char **path, pto_error_t *err) {
    char near[PTO_FILE_NAME_MAX];
    *path = NULL;
    if (is_path(name) || access(name, F_OK) == 0)
        return PTO_OK;
    *path = find_in(PTO_FOLDER_PROBLEMS, name);
    if (!*path)
        *path = find_in(PTO_FOLDER_WORKLOADS, name);
    if (*path)
        return PTO_OK;
    if (pto_folders_suggest(PTO_FOLDER_PROBLEMS, name, near) ||
        pto_folders_suggest(PTO_FOLDER_WORKLOADS, name, near))
        return pto_error_set(err, PTO_ERR_IO, "no file, scenario or workload '%.40s'; did you mean '%s'?",
                             name, near);
    return pto_error_set(
        err, PTO_ERR_IO,
        "no file, scenario or workload '%.40s'; `portolan list scenarios workloads` shows all", name);
}
