/* Preloaded in the place of the kernel's energy counters. Of a test's counters, files called energy_uj, each
 * holds a power in watts; who opens one reads the microjoules that this power has added up to by then. So a
 * counter is exact when it is read, however busy the machine is. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef FILE *(*open_file_t)(const char *, const char *);

static FILE *counter(FILE *power) {
    struct timespec now;
    double watts = 0;
    int read = fscanf(power, "%lf", &watts);
    fclose(power);
    FILE *made = fmemopen(NULL, 64, "w+");
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (made && read == 1)
        fprintf(made, "%.0f\n", watts * ((double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3));
    if (made)
        rewind(made);
    return made;
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the header's are reserved */
FILE *fopen(const char *path, const char *mode) {
    static const char name[] = "/energy_uj";
    static open_file_t open_file;
    size_t length = strlen(path);
    if (!open_file)
        *(void **)&open_file = dlsym(RTLD_NEXT, "fopen");
    FILE *file = open_file(path, mode);
    bool is_counter = length >= sizeof name && strcmp(path + length - (sizeof name - 1), name) == 0;
    return file && is_counter ? counter(file) : file;
}
