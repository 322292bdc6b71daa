/* The folders of machine files and of the files beside them, found at run time. */
#include "machine_folders.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/names.h"
#include "base/suggest.h"

/* The installation folder, if the program cannot find its own path. */
#define DEFAULT_FOLDER "/usr/local/share/portolan/machines"

/* What a candidate's path is appended to: $PORTOLAN_DATA, the folder of this program, or nothing. */
typedef enum { FROM_ENVIRONMENT, FROM_PROGRAM, FROM_HERE } origin_t;

static const struct {
    origin_t origin;
    const char *path;
} candidates[] = {
    {FROM_ENVIRONMENT, "/machines"},
    {FROM_HERE, "scenarios/machines"},
    {FROM_PROGRAM, "/../share/portolan/machines"},
    {FROM_PROGRAM, "/../scenarios/machines"},
    {FROM_HERE, DEFAULT_FOLDER},
};

enum { CANDIDATE_COUNT = (int)(sizeof candidates / sizeof *candidates) };

/* Shorten `/a/bin/../share` to `/a/share`, for messages. */
static void drop_parent(char *path) {
    char *dots = strstr(path, "/../");
    if (!dots || dots == path)
        return;
    *dots = '\0';
    char *parent = strrchr(path, '/');
    *dots = '/';
    if (parent)
        memmove(parent, dots + 3, strlen(dots + 3) + 1);
}

/* Whether a candidate is a folder. `folder` gets its path, and `info` its identity. */
static bool candidate_exists(int index, char folder[PTO_FOLDER_MAX], struct stat *info) {
    char base[PTO_FOLDER_MAX] = "";
    const char *data = getenv("PORTOLAN_DATA");
    if (candidates[index].origin == FROM_ENVIRONMENT && (!data || !*data))
        return false;
    if (candidates[index].origin == FROM_ENVIRONMENT)
        snprintf(base, sizeof base, "%s", data);
    if (candidates[index].origin == FROM_PROGRAM && !pto_program_folder(base))
        return false;
    size_t used = strlen(base), more = strlen(candidates[index].path);
    if (used + more >= PTO_FOLDER_MAX)
        return false;
    memcpy(folder, base, used);
    memcpy(folder + used, candidates[index].path, more + 1);
    if (candidates[index].origin == FROM_PROGRAM)
        drop_parent(folder);
    return stat(folder, info) == 0 && S_ISDIR(info->st_mode);
}

/* The index-th existing folder of machines. A folder that was seen under another path (same device and inode)
 * does not count. Returns false after the last one. */
static bool machine_folder(int index, char folder[PTO_FOLDER_MAX]) {
    struct stat seen[CANDIDATE_COUNT];
    int count = 0;
    for (int i = 0; i < CANDIDATE_COUNT; i++) {
        bool is_new = candidate_exists(i, folder, &seen[count]);
        for (int j = 0; j < count && is_new; j++)
            is_new = seen[j].st_dev != seen[count].st_dev || seen[j].st_ino != seen[count].st_ino;
        if (is_new && count++ == index)
            return true;
    }
    return false;
}

PTO_NAME_FUNCTION(pto_folder_name, pto_folder_kind_t, PTO_FOLDER_COUNT, "",
                  {[PTO_FOLDER_MACHINES] = "machines",
                   [PTO_FOLDER_TOPOLOGIES] = "topologies",
                   [PTO_FOLDER_LIBRARIES] = "libraries",
                   [PTO_FOLDER_PROBLEMS] = "problems",
                   [PTO_FOLDER_WORKLOADS] = "workloads"});

/* All candidates end in "machines", which the kind's name replaces. */
bool pto_folder_at(pto_folder_kind_t kind, int index, char folder[PTO_FOLDER_MAX]) {
    const char *name = pto_folder_name(kind);
    if (!machine_folder(index, folder) || strlen(folder) + strlen(name) >= PTO_FOLDER_MAX)
        return false;
    size_t above = strlen(folder) - strlen(pto_folder_name(PTO_FOLDER_MACHINES));
    snprintf(folder + above, PTO_FOLDER_MAX - above, "%s", name);
    return true;
}

/* Append the names of a folder's files that end in .yaml. Returns the new count. */
static int list_names(const char *folder, char (*name)[PTO_FILE_NAME_MAX], int count) {
    DIR *stream = opendir(folder);
    const struct dirent *entry;
    while (stream && count < PTO_FILE_NAMES_MAX && (entry = readdir(stream))) {
        size_t length = strlen(entry->d_name);
        if (length < 6 || length - 5 >= PTO_FILE_NAME_MAX || strcmp(entry->d_name + length - 5, ".yaml") != 0)
            continue;
        memcpy(name[count], entry->d_name, length - 5);
        name[count][length - 5] = '\0';
        count += pto_name_is_word(name[count]);
    }
    if (stream)
        closedir(stream);
    return count;
}

static int by_name(const void *a, const void *b) { return strcmp(a, b); }

int pto_folders_names(pto_folder_kind_t kind, char name[PTO_FILE_NAMES_MAX][PTO_FILE_NAME_MAX]) {
    char folder[PTO_FOLDER_MAX];
    int count = 0;
    for (int i = 0; pto_folder_at(kind, i, folder); i++)
        count = list_names(folder, name, count);
    qsort(name, (size_t)count, sizeof *name, by_name); /* readdir has no order */
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (kept == 0 || strcmp(name[i], name[kept - 1]) != 0)
            memmove(name[kept++], name[i], sizeof *name);
    return kept;
}

bool pto_folders_suggest(pto_folder_kind_t kind, const char *name, char near[PTO_FILE_NAME_MAX]) {
    char(*known)[PTO_FILE_NAME_MAX] = calloc(PTO_FILE_NAMES_MAX, sizeof *known);
    const char *text[PTO_FILE_NAMES_MAX] = {NULL}, *found = NULL;
    int count = known ? pto_folders_names(kind, known) : 0;
    for (int i = 0; i < count; i++)
        text[i] = known[i];
    found = pto_suggest(name, text, count);
    if (found)
        memcpy(near, found, strlen(found) + 1);
    free(known);
    return found != NULL;
}
