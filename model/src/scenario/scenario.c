/* Scenarios in memory: names, defaults and series (increasing values of one field). A scenario is read by
 * read.c or set from options, then checked by check.c, then bound to a machine by bind.c. */
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "machine/library.h"
#include "portolan/units.h"
#include "scenario/check.h"

PTO_NAME_FUNCTION(
    pto_implementation_name, pto_implementation_t, PTO_IMPLEMENTATION_COUNT, "no implementation",
    {[PTO_IMPLEMENTATION_LIBRARY] = "library", [PTO_IMPLEMENTATION_ISEND_IRECV] = "isend_irecv"});

PTO_NAME_FUNCTION(pto_split_name, pto_split_t, PTO_SPLIT_COUNT, "no split",
                  {[PTO_SPLIT_BYTES] = "bytes", [PTO_SPLIT_DESTINATIONS] = "destinations"});

PTO_NAME_FUNCTION(pto_data_memory_name, pto_data_memory_t, PTO_MEMORY_COUNT, "no memory",
                  {[PTO_MEMORY_AUTO] = "auto", [PTO_MEMORY_GPU] = "gpu", [PTO_MEMORY_HOST] = "host"});

static const struct {
    const char *name;
    int64_t bytes;
    pto_number_t number;
} datatypes[] = {
    [PTO_DATATYPE_BYTE] = {"byte", 1, PTO_NUMBER_BYTE},
    [PTO_DATATYPE_INT32] = {"int32", 4, PTO_NUMBER_SIGNED},
    [PTO_DATATYPE_INT64] = {"int64", 8, PTO_NUMBER_SIGNED},
    [PTO_DATATYPE_FLOAT] = {"float", 4, PTO_NUMBER_REAL},
    [PTO_DATATYPE_DOUBLE] = {"double", 8, PTO_NUMBER_REAL},
    [PTO_DATATYPE_HALF] = {"half", 2, PTO_NUMBER_REAL},
    [PTO_DATATYPE_BFLOAT16] = {"bfloat16", 2, PTO_NUMBER_REAL},
    [PTO_DATATYPE_INT8] = {"int8", 1, PTO_NUMBER_SIGNED},
    [PTO_DATATYPE_UINT8] = {"uint8", 1, PTO_NUMBER_UNSIGNED},
    [PTO_DATATYPE_INT16] = {"int16", 2, PTO_NUMBER_SIGNED},
    [PTO_DATATYPE_UINT16] = {"uint16", 2, PTO_NUMBER_UNSIGNED},
    [PTO_DATATYPE_UINT32] = {"uint32", 4, PTO_NUMBER_UNSIGNED},
    [PTO_DATATYPE_UINT64] = {"uint64", 8, PTO_NUMBER_UNSIGNED},
    [PTO_DATATYPE_FLOAT_COMPLEX] = {"float_complex", 8, PTO_NUMBER_COMPLEX},
    [PTO_DATATYPE_DOUBLE_COMPLEX] = {"double_complex", 16, PTO_NUMBER_COMPLEX},
};
PTO_EACH_NAMED(datatypes, PTO_DATATYPE_COUNT);

const char *pto_datatype_name(pto_datatype_t datatype) {
    return datatype < PTO_DATATYPE_COUNT ? datatypes[datatype].name : "no datatype";
}

int64_t pto_datatype_bytes(pto_datatype_t datatype) {
    return datatype < PTO_DATATYPE_COUNT ? datatypes[datatype].bytes : 1;
}

pto_number_t pto_datatype_number(pto_datatype_t datatype) {
    return datatype < PTO_DATATYPE_COUNT ? datatypes[datatype].number : PTO_NUMBER_BYTE;
}

PTO_NAME_FUNCTION(
    pto_sweep_kind_name, pto_sweep_kind_t, PTO_SWEEP_COUNT, "no sweep",
    {[PTO_SWEEP_BYTES] = "bytes", [PTO_SWEEP_NODES] = "nodes", [PTO_SWEEP_MESSAGES] = "messages"});

pto_status_t pto_series_range(int64_t from, int64_t to, int64_t factor, pto_series_t *series,
                              pto_error_t *err) {
    if (factor < 2)
        return pto_error_set(err, PTO_ERR_RANGE, "factor must be 2 or more, not %lld", (long long)factor);
    if (from < 1)
        return pto_error_set(err, PTO_ERR_RANGE,
                             "a range grows by a factor, so starts at 1 or more, not %lld", (long long)from);
    if (to < from)
        return pto_error_set(err, PTO_ERR_RANGE, "the range ends at %lld, before its start %lld",
                             (long long)to, (long long)from);
    int64_t count = 1;
    int64_t last = from;
    for (; last <= to / factor; last *= factor)
        count++;
    int64_t *made = calloc((size_t)count + 1, sizeof *made);
    if (!made)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    made[0] = from;
    for (int64_t i = 1; i < count; i++)
        made[i] = made[i - 1] * factor;
    if (last < to)
        made[count++] = to;
    *series = (pto_series_t){.value = made, .count = count};
    return PTO_OK;
}

pto_status_t pto_series_one(int64_t value, pto_series_t *series, pto_error_t *err) {
    int64_t *made = calloc(1, sizeof *made);
    if (!made)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    *made = value;
    *series = (pto_series_t){.value = made, .count = 1};
    return PTO_OK;
}

void pto_series_fini(pto_series_t *series) {
    free(series->value);
    *series = (pto_series_t){0};
}

void pto_scenario_init(pto_scenario_t *scenario) {
    *scenario = (pto_scenario_t){
        .collective = PTO_COLLECTIVE_COUNT,
        .implementation = PTO_IMPLEMENTATION_LIBRARY,
        .datatype = PTO_DATATYPE_FLOAT,
        .layout = {.owners_per_gpu = 1},
        .distance = PTO_LEVEL_ON_SOCKET,
        .counts = {.kind = PTO_COUNTS_EQUAL},
        .staged_members = {PTO_STAGED_TUNED, PTO_STAGED_TUNED},
        .halo = {.width = 1},
    };
}

void pto_scenario_fini(pto_scenario_t *scenario) {
    free(scenario->name);
    free(scenario->path);
    free(scenario->machine_path);
    pto_series_fini(&scenario->bytes);
    pto_series_fini(&scenario->nodes);
    pto_series_fini(&scenario->messages);
    pto_counts_fini(&scenario->counts);
    pto_mapping_fini(&scenario->mapping);
    for (int i = 0; i < scenario->strategy_count; i++)
        free(scenario->strategy[i]);
    free(scenario->strategy);
    free(scenario->library.name);
    pto_library_rules_free(scenario->library.rule, scenario->library.rule_count);
    memset(scenario, 0, sizeof *scenario);
}

pto_split_t pto_scenario_split(const pto_scenario_t *scenario) {
    if (scenario->has_split)
        return scenario->split;
    return pto_collective_is_by_pair(scenario->collective) ? PTO_SPLIT_DESTINATIONS : PTO_SPLIT_BYTES;
}

pto_sweep_kind_t pto_scenario_sweep(const pto_scenario_t *scenario) {
    if (scenario->nodes.count > 1)
        return PTO_SWEEP_NODES;
    return scenario->messages.count > 1 ? PTO_SWEEP_MESSAGES : PTO_SWEEP_BYTES;
}

pto_status_t pto_scenario_set_dimensions(pto_halo_t *grid, int count, pto_error_t *err) {
    if (count < 2 || count > PTO_DIMS_MAX)
        return pto_error_set(err, PTO_ERR_RANGE, "a grid has 2 or 3 dimensions, not %d", count);
    if (grid->dim_count > 0 && grid->dim_count != count)
        return pto_error_set(err, PTO_ERR_RANGE, "%d dimensions, and %d elsewhere", count, grid->dim_count);
    grid->dim_count = count;
    return PTO_OK;
}

pto_status_t pto_scenario_parse_dimensions(const char *text, char separator, pto_halo_t *grid,
                                           int64_t *number, pto_error_t *err) {
    char copy[64];
    int count = 0;
    if (strlen(text) >= sizeof copy)
        return pto_error_set(err, PTO_ERR_TYPE, "'%.40s...' is too long for the dimensions of a grid", text);
    memcpy(copy, text, strlen(text) + 1);
    for (char *part = copy; part; count++) {
        char *end = strchr(part, separator);
        if (end)
            *end = '\0';
        pto_status_t status =
            count < PTO_DIMS_MAX ? pto_int64_parse(part, &number[count], err)
                                 : pto_error_set(err, PTO_ERR_RANGE, "'%s' has more than 3 dimensions", text);
        if (status != PTO_OK)
            return status;
        part = end ? end + 1 : NULL;
    }
    return pto_scenario_set_dimensions(grid, count, err);
}
