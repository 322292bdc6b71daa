/* What a process holds, by what Linux lists of it. */
#ifndef PTO_TEST_HELD_H
#define PTO_TEST_HELD_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>

/* Entries of a folder: open files of /proc/self/fd, threads of /proc/self/task. */
static inline int entries_of(const char *folder) {
    DIR *stream = opendir(folder);
    int count = 0;
    while (stream && readdir(stream))
        count++;
    if (stream)
        closedir(stream);
    return count;
}

static inline int open_files(void) { return entries_of("/proc/self/fd"); }

/* Mappings of files, deleted ones included, whose paths contain `files`. */
static inline int mappings_of(const char *files) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    int count = 0;
    while (maps && fgets(line, sizeof line, maps))
        count += strstr(line, files) != NULL;
    if (maps)
        fclose(maps);
    return count;
}

#endif
