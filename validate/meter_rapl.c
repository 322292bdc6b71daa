/* The energy counters of CPUs (RAPL): Linux's files FOLDER/intel-rapl:N/energy_uj of every CPU package and of
 * its memory (dram). Cores and uncore are included in their package. Not counted are psys, which includes
 * more than the CPUs, and the duplicates in intel-rapl-mmio. AMD's counters have the same names. */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meter.h"

enum { ZONES_MAX = 64, PATH_BYTES_MAX = 512, NAME_MAX_BYTES = 64 };

/* A counter of microjoules that wraps around above `range`. */
typedef struct {
    char path[PATH_BYTES_MAX];
    unsigned long long range;
    unsigned long long last;
} zone_t;

typedef struct {
    int zone_count;
    zone_t zone[ZONES_MAX];
    double joules;
    char id[METER_ID_MAX];
} rapl_meter_t;

static bool read_line(const char *path, char *line, int line_size) {
    FILE *file = fopen(path, "r");
    bool read = file && fgets(line, line_size, file);
    if (file)
        fclose(file);
    if (read)
        line[strcspn(line, "\n")] = '\0';
    return read;
}

static bool read_number(const char *path, unsigned long long *number) {
    char line[NAME_MAX_BYTES], *end = NULL;
    if (!read_line(path, line, sizeof line))
        return false;
    *number = strtoull(line, &end, 10);
    return end != line && *end == '\0';
}

void meter_host_id(const char *suffix, char *id) {
    char boot[NAME_MAX_BYTES] = "";
    read_line("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    snprintf(id, METER_ID_MAX, "%s/%s", boot, suffix);
}

static bool is_counted(const char *name) {
    return strncmp(name, "package", 7) == 0 || strcmp(name, "dram") == 0;
}

/* Adds a zone if it is to be counted. If it cannot be read, that is an error: the sum would be too low. */
static pto_status_t add_zone(const char *folder, const char *entry, rapl_meter_t *meter, pto_error_t *err) {
    char path[PATH_BYTES_MAX], name[NAME_MAX_BYTES];
    zone_t zone = {.range = 0};
    int length = snprintf(path, sizeof path, "%s/%s/name", folder, entry);
    if (length >= (int)sizeof path || !read_line(path, name, sizeof name) || !is_counted(name) ||
        meter->zone_count == ZONES_MAX)
        return PTO_OK;
    snprintf(path, sizeof path, "%s/%s/max_energy_range_uj", folder, entry);
    snprintf(zone.path, sizeof zone.path, "%s/%s/energy_uj", folder, entry);
    errno = 0;
    if (!read_number(zone.path, &zone.last) || !read_number(path, &zone.range))
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "%s can't be read: %s", zone.path,
                             errno ? strerror(errno) : "no number");
    meter->zone[meter->zone_count++] = zone;
    return PTO_OK;
}

static pto_status_t find_zones(const char *folder, rapl_meter_t *meter, pto_error_t *err) {
    static const char prefix[] = "intel-rapl:";
    DIR *listing = opendir(folder);
    pto_status_t status = PTO_OK;
    for (struct dirent *entry; listing && status == PTO_OK && (entry = readdir(listing));)
        if (strncmp(entry->d_name, prefix, sizeof prefix - 1) == 0)
            status = add_zone(folder, entry->d_name, meter, err);
    if (listing)
        closedir(listing);
    if (status == PTO_OK && meter->zone_count == 0)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "%s shows no RAPL counters", folder);
    return status;
}

static pto_status_t rapl_open(const meter_place_t *place, void **meter, pto_error_t *err) {
    rapl_meter_t *made = calloc(1, sizeof *made);
    if (!made)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for energy counters");
    pto_status_t status = find_zones(place->powercap, made, err);
    if (status != PTO_OK) {
        free(made);
        return status;
    }
    meter_host_id("rapl", made->id);
    *meter = made;
    return PTO_OK;
}

/* Must be called more often than a counter wraps around, which takes several minutes at full power. */
static pto_status_t rapl_read(void *meter, double *joules, pto_error_t *err) {
    rapl_meter_t *rapl = meter;
    for (int i = 0; i < rapl->zone_count; i++) {
        zone_t *zone = &rapl->zone[i];
        unsigned long long now = 0;
        if (!read_number(zone->path, &now))
            return pto_error_set(err, PTO_ERR_IO, "%s can't be read any more", zone->path);
        unsigned long long more = now >= zone->last ? now - zone->last : zone->range - zone->last + now;
        rapl->joules += (double)more * 1e-6;
        zone->last = now;
    }
    *joules = rapl->joules;
    return PTO_OK;
}

static const char *rapl_id(const void *meter) { return ((const rapl_meter_t *)meter)->id; }

const meter_source_t meter_rapl = {
    .name = "rapl", .what = "CPUs", .open = rapl_open, .read = rapl_read, .id = rapl_id, .close = free};
