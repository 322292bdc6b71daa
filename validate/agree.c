/* Check that all processes have the same arguments: mpirun's `:` can give each its own. The executor itself
 * detects plans that differ; this checks the settings that would change the number of collective calls. */
#include <stdlib.h>
#include <string.h>

#include "validate.h"

enum { SETTING_COUNT = 12, VALUE_MAX = 24 };

typedef struct {
    const char *name;
    char value[VALUE_MAX];
} setting_t;

typedef char values_t[SETTING_COUNT][VALUE_MAX];

static void list_settings(const settings_t *settings, const pto_options_t *options, int strategies,
                          setting_t list[SETTING_COUNT]) {
    const setting_t all[SETTING_COUNT] = {{"--repeats", ""},
                                          {"--queued", ""},
                                          {"--check-only", ""},
                                          {"--own-algorithms", ""},
                                          {"--wait", ""},
                                          {"--energy", ""},
                                          {"--powers", ""},
                                          {"--energy-seconds", ""},
                                          {"--op", ""},
                                          {"--device", ""},
                                          {"a number of points of", ""},
                                          {"a number of strategies of", ""}};
    const double number[] = {settings->options.repeats,    settings->options.queued,
                             settings->options.check_only, settings->exec.own_algorithms,
                             settings->exec.wait,          settings->options.energy,
                             settings->options.powers,     settings->options.energy_window_s};
    memcpy(list, all, sizeof all);
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        snprintf(list[i].value, VALUE_MAX, "%.15g", number[i]);
    snprintf(list[8].value, VALUE_MAX, "%s", pto_op_name(settings->op));
    snprintf(list[9].value, VALUE_MAX, "%s", settings->device->name);
    snprintf(list[10].value, VALUE_MAX, "%lld", (long long)pto_scenario_points(&options->scenario));
    snprintf(list[11].value, VALUE_MAX, "%d", strategies);
}

/* The first process, and its first setting, that differ from MPI rank 0's. */
static pto_status_t compare(const setting_t list[SETTING_COUNT], const values_t *values, int size,
                            pto_error_t *err) {
    for (int rank = 1; rank < size; rank++)
        for (int i = 0; i < SETTING_COUNT; i++)
            if (strcmp(values[rank][i], values[0][i]) != 0)
                return pto_error_set(
                    err, PTO_ERR_RANGE,
                    "the processes were given different arguments: MPI rank %d has %s %s, MPI "
                    "rank 0 has %s",
                    rank, list[i].name, values[rank][i], values[0][i]);
    return PTO_OK;
}

pto_status_t agree_on_settings(const settings_t *settings, const pto_options_t *options, int strategies,
                               pto_error_t *err) {
    int size = 0;
    setting_t list[SETTING_COUNT];
    values_t mine;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    list_settings(settings, options, strategies, list);
    memset(mine, 0, sizeof mine);
    for (int i = 0; i < SETTING_COUNT; i++)
        memcpy(mine[i], list[i].value, strlen(list[i].value));
    values_t *values = calloc((size_t)size, sizeof *values);
    if (!values)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for %d processes", size);
    MPI_Allgather(mine, (int)sizeof mine, MPI_CHAR, values, (int)sizeof mine, MPI_CHAR, MPI_COMM_WORLD);
    pto_status_t status = compare(list, (const values_t *)values, size, err);
    free(values);
    return status;
}
