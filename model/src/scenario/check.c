/* Checks a scenario before it is bound to a machine, whether it comes from a file or from options. Errors are
 * reported at the place of the field in the file, if it has one. */
#include "scenario/check.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/checked.h"

pto_status_t pto_scenario_refuse(const pto_scenario_t *scenario, pto_scenario_field_t field,
                                 pto_status_t status, pto_error_t *err, const char *format, ...) {
    char message[PTO_ERROR_MESSAGE_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    pto_place_t place = scenario->place[field];
    if (place.line == 0)
        return pto_error_set(err, status, "%s", message);
    return pto_error_set_at(err, status, scenario->path, place.line, place.column, "%s", message);
}

static bool has_grid(const pto_scenario_t *scenario) {
    const pto_halo_t *grid = &scenario->halo;
    return grid->dim_count > 0 || grid->width != 1 || grid->corners != PTO_CORNERS_TWO_PHASE ||
           scenario->place[PTO_FIELD_HALO].line > 0;
}

/* A field that only some collectives use. */
typedef struct {
    bool is_given;
    bool is_used; /* by the scenario's collective */
    pto_scenario_field_t field;
    const char *name;
    const char *users; /* the collectives that use it */
} field_use_t;

/* Returns whether the file has the field. */
static bool is_placed(const pto_scenario_t *scenario, pto_scenario_field_t field) {
    return scenario->place[field].line > 0;
}

static pto_status_t check_uses(const pto_scenario_t *scenario, pto_error_t *err) {
    const pto_collective_t collective = scenario->collective;
    const bool pair = collective == PTO_COLLECTIVE_PAIR, messages = collective == PTO_COLLECTIVE_MESSAGES;
    const field_use_t use[] = {
        {scenario->mapping.count > 0, collective == PTO_COLLECTIVE_ALLTOALLV, PTO_FIELD_PLACEMENT,
         "placement", "alltoallv"},
        {scenario->messages.count > 0, messages, PTO_FIELD_MESSAGES, "messages", "messages"},
        {scenario->unique_bytes != 0, messages, PTO_FIELD_UNIQUE_BYTES, "unique_bytes", "messages"},
        {scenario->distance != PTO_LEVEL_ON_SOCKET || is_placed(scenario, PTO_FIELD_DISTANCE), pair,
         PTO_FIELD_DISTANCE, "distance", "pair"},
        {scenario->ends.from_host || scenario->ends.to_host || is_placed(scenario, PTO_FIELD_SPACES), pair,
         PTO_FIELD_SPACES, "spaces", "pair"},
        {scenario->ends.both_ways || is_placed(scenario, PTO_FIELD_BOTH_WAYS), pair, PTO_FIELD_BOTH_WAYS,
         "both_ways", "pair"},
        {has_grid(scenario), collective == PTO_COLLECTIVE_HALO, PTO_FIELD_HALO,
         "a grid (dims, extent, wrap, halo, corners)", "halo"},
        {pto_counts_differ(&scenario->counts) || is_placed(scenario, PTO_FIELD_COUNTS),
         pto_collective_is_by_pair(collective) || pto_collective_is_by_owner(collective), PTO_FIELD_COUNTS,
         "counts", "alltoallv and allgatherv"},
        {scenario->in_place, pto_collective_is_vector(collective), PTO_FIELD_IN_PLACE, "in_place",
         "allreduce, reduce and broadcast"},
        {scenario->implementation != PTO_IMPLEMENTATION_LIBRARY ||
             is_placed(scenario, PTO_FIELD_IMPLEMENTATION),
         !pto_collective_is_vector(collective) && !pto_collective_reduces(collective) &&
             pto_collective_is_in_mpi(collective),
         PTO_FIELD_IMPLEMENTATION, "implementation",
         "alltoall, alltoallv, allgather, allgatherv, gather, scatter and halo"},
    };
    for (size_t i = 0; i < sizeof use / sizeof *use; i++)
        if (use[i].is_given && !use[i].is_used)
            return pto_scenario_refuse(scenario, use[i].field, PTO_ERR_KEY, err,
                                       "%s is for %s only, not for %s", use[i].name, use[i].users,
                                       pto_collective_name(collective));
    if (!pto_collective_is_addressed(collective) && pto_scenario_split(scenario) != PTO_SPLIT_BYTES)
        return PTO_REFUSE_FIELD(SPLIT, KEY, "%s has no destinations to split: use split: bytes",
                                pto_collective_name(collective));
    return PTO_OK;
}

/* A series of values, and what to check of it. */
typedef struct {
    const pto_series_t *series;
    pto_scenario_field_t field;
    const char *name;
    int64_t minimum; /* of each value */
} series_use_t;

enum { SERIES_COUNT = 3 };

static void list_series(const pto_scenario_t *scenario, series_use_t use[SERIES_COUNT]) {
    use[0] = (series_use_t){&scenario->bytes, PTO_FIELD_BYTES, "bytes", 0};
    use[1] = (series_use_t){&scenario->nodes, PTO_FIELD_NODES, "nodes", 1};
    use[2] = (series_use_t){&scenario->messages, PTO_FIELD_MESSAGES, "messages", 1};
}

static pto_status_t check_series(const pto_scenario_t *scenario, const series_use_t *use, pto_error_t *err) {
    const pto_series_t *series = use->series;
    if (series->count > PTO_SWEEP_POINTS_MAX)
        return pto_scenario_refuse(scenario, use->field, PTO_ERR_RANGE, err, "%s: %lld values, at most %d",
                                   use->name, (long long)series->count, PTO_SWEEP_POINTS_MAX);
    for (int64_t i = 0; i < series->count; i++) {
        if (series->value[i] < use->minimum)
            return pto_scenario_refuse(scenario, use->field, PTO_ERR_RANGE, err,
                                       "%s must be %lld or more, not %lld", use->name,
                                       (long long)use->minimum, (long long)series->value[i]);
        if (i > 0 && series->value[i] <= series->value[i - 1])
            return pto_scenario_refuse(scenario, use->field, PTO_ERR_RANGE, err,
                                       "%s must increase, but %lld follows %lld", use->name,
                                       (long long)series->value[i], (long long)series->value[i - 1]);
    }
    return PTO_OK;
}

pto_status_t pto_scenario_check_one_sweep(const pto_scenario_t *scenario, pto_error_t *err) {
    series_use_t use[SERIES_COUNT];
    list_series(scenario, use);
    const series_use_t *swept = NULL;
    for (int i = 0; i < SERIES_COUNT; i++) {
        if (use[i].series->count <= 1)
            continue;
        if (swept)
            return pto_scenario_refuse(
                scenario, use[i].field, PTO_ERR_RANGE, err,
                "%s and %s both have several values: only one can be swept (predict and pick take two)",
                swept->name, use[i].name);
        swept = &use[i];
    }
    return PTO_OK;
}

static pto_status_t check_sweeps(const pto_scenario_t *scenario, pto_error_t *err) {
    series_use_t use[SERIES_COUNT];
    list_series(scenario, use);
    for (int i = 0; i < SERIES_COUNT; i++) {
        pto_status_t status = check_series(scenario, &use[i], err);
        if (status != PTO_OK)
            return status;
    }
    if (scenario->bytes.count == 0 && pto_counts_scale(&scenario->counts) &&
        scenario->collective != PTO_COLLECTIVE_HALO)
        return pto_error_set(err, PTO_ERR_KEY, "no bytes are given");
    if (scenario->nodes.count == 0 && scenario->collective != PTO_COLLECTIVE_PAIR)
        return pto_error_set(err, PTO_ERR_KEY, "no number of nodes is given");
    return PTO_OK;
}

static pto_status_t check_vectors(const pto_scenario_t *scenario, pto_error_t *err) {
    int64_t element = pto_datatype_bytes(scenario->datatype);
    if (!pto_collective_reduces(scenario->collective))
        return PTO_OK;
    for (int64_t i = 0; i < scenario->bytes.count; i++)
        if (scenario->bytes.value[i] % element != 0)
            return PTO_REFUSE_FIELD(BYTES, RANGE, "bytes: %lld is not a multiple of the %lld bytes of a %s",
                                    (long long)scenario->bytes.value[i], (long long)element,
                                    pto_datatype_name(scenario->datatype));
    return PTO_OK;
}

static int64_t smallest_of(const pto_series_t *series) { return series->count > 0 ? series->value[0] : 1; }

static int64_t largest_of(const pto_series_t *series) {
    return series->count > 0 ? series->value[series->count - 1] : 1;
}

static pto_status_t check_messages(const pto_scenario_t *scenario, pto_error_t *err) {
    if (scenario->collective != PTO_COLLECTIVE_MESSAGES)
        return PTO_OK;
    if (scenario->unique_bytes < 0)
        return PTO_REFUSE_FIELD(UNIQUE_BYTES, RANGE, "unique_bytes must be 0 or more, not %lld",
                                (long long)scenario->unique_bytes);
    int64_t total = 0;
    if (pto_multiply(smallest_of(&scenario->bytes), smallest_of(&scenario->messages), &total) &&
        scenario->unique_bytes > total)
        return PTO_REFUSE_FIELD(UNIQUE_BYTES, RANGE,
                                "unique_bytes %lld is more than the %lld bytes that a GPU sends in all",
                                (long long)scenario->unique_bytes, (long long)total);
    if (smallest_of(&scenario->nodes) < 2)
        return PTO_REFUSE_FIELD(NODES, RANGE, "messages go to another node: nodes must be 2 or more");
    return PTO_OK;
}

static pto_status_t check_counts(const pto_scenario_t *scenario, pto_error_t *err) {
    const pto_counts_t *counts = &scenario->counts;
    pto_error_t fault = {.status = PTO_OK};
    if (pto_counts_check(counts, &fault) != PTO_OK)
        return pto_scenario_refuse(scenario, PTO_FIELD_COUNTS, fault.status, err, "%s", fault.message);
    if (counts->kind == PTO_COUNTS_LIST && !pto_collective_is_by_owner(scenario->collective))
        return PTO_REFUSE_FIELD(
            COUNTS, KEY,
            "counts: a list has the bytes of each owner, and an alltoallv has bytes for each pair of them");
    bool of_pairs = counts->host || (counts->kind != PTO_COUNTS_EQUAL && counts->kind != PTO_COUNTS_SKEW &&
                                     counts->kind != PTO_COUNTS_LIST);
    if (of_pairs && pto_collective_is_by_owner(scenario->collective))
        return PTO_REFUSE_FIELD(COUNTS, KEY,
                                "counts: an %s has bytes of each owner: give equal, skew or a list",
                                pto_collective_name(scenario->collective));
    if (counts->host && scenario->implementation != PTO_IMPLEMENTATION_ISEND_IRECV)
        return PTO_REFUSE_FIELD(
            COUNTS, KEY,
            "counts: MPI has no call for two patterns at once: give implementation: isend_irecv");
    if (pto_counts_scale(counts))
        return PTO_OK;
    const pto_series_t *bytes = &scenario->bytes;
    if (bytes->count > 1 || (bytes->count == 1 && bytes->value[0] != pto_counts_largest(counts, 0)))
        return PTO_REFUSE_FIELD(
            BYTES, KEY, "bytes and a %s of bytes%s%s%s cannot both be given",
            counts->kind == PTO_COUNTS_LIST ? "list" : "matrix", counts->matrix_path ? " (" : "",
            counts->matrix_path ? counts->matrix_path : "", counts->matrix_path ? ")" : "");
    return PTO_OK;
}

/* Checks the grid of a halo exchange, but for its number of processes: the layout may still be open. */
static pto_status_t check_grid(const pto_scenario_t *scenario, pto_error_t *err) {
    pto_halo_t grid = scenario->halo;
    pto_error_t fault = {.status = PTO_OK};
    for (int d = 0; d < PTO_DIMS_MAX; d++)
        grid.dims[d] = 0;
    if (scenario->collective != PTO_COLLECTIVE_HALO || pto_halo_complete(&grid, 1, &fault) == PTO_OK)
        return PTO_OK;
    return pto_scenario_refuse(scenario, PTO_FIELD_HALO, fault.status, err, "%s", fault.message);
}

static int64_t largest_size(const pto_scenario_t *scenario) {
    if (!pto_counts_scale(&scenario->counts))
        return pto_counts_largest(&scenario->counts, 0);
    return largest_of(&scenario->bytes);
}

/* Returns whether sums of the bytes of a node fit in an int64_t (pto_bytes_countable). */
static bool is_countable(const pto_scenario_t *scenario, const pto_layout_t *layout) {
    int64_t peers = 1; /* number of blocks of a process */
    if (scenario->collective == PTO_COLLECTIVE_MESSAGES)
        peers = largest_of(&scenario->messages);
    else if (scenario->collective == PTO_COLLECTIVE_HALO)
        peers = pto_halo_cells(&scenario->halo);
    else
        peers = pto_collective_blocks_in(scenario->collective, pto_layout_owner_count(layout)) *
                (scenario->counts.host ? 2 : 1);
    int64_t bytes = pto_counts_largest(&scenario->counts, largest_of(&scenario->bytes));
    return pto_bytes_countable(bytes, peers, layout->gpus_per_node * layout->procs_per_gpu);
}

pto_status_t pto_scenario_check_layout(const pto_scenario_t *scenario, const pto_layout_t *layout,
                                       pto_error_t *err) {
    pto_error_t fault = {.status = PTO_OK};
    if (pto_layout_check(layout, &fault) != PTO_OK)
        return pto_scenario_refuse(scenario, PTO_FIELD_LAYOUT, fault.status, err, "layout: %s",
                                   fault.message);
    if (!is_countable(scenario, layout))
        return pto_scenario_refuse(
            scenario, pto_counts_scale(&scenario->counts) ? PTO_FIELD_BYTES : PTO_FIELD_COUNTS, PTO_ERR_RANGE,
            err, "bytes: %lld on %lld nodes add up to more bytes than can be counted",
            (long long)largest_size(scenario), (long long)layout->nodes);
    int64_t order = pto_counts_order(&scenario->counts), owners = pto_layout_owner_count(layout);
    if (order == 0 || order == owners)
        return PTO_OK;
    const pto_counts_t *sized = &scenario->counts; /* the pattern that has this order */
    if (scenario->counts.host && pto_counts_order(scenario->counts.host) == order)
        sized = scenario->counts.host;
    if (sized->kind == PTO_COUNTS_LIST)
        return PTO_REFUSE_FIELD(COUNTS, RANGE, "the list has %lld numbers, but %lld processes hold data",
                                (long long)order, (long long)owners);
    if (sized->kind == PTO_COUNTS_MATRIX)
        return PTO_REFUSE_FIELD(COUNTS, RANGE, "the matrix %s has %lld rows, but %lld processes hold data",
                                sized->matrix_path, (long long)order, (long long)owners);
    return PTO_REFUSE_FIELD(COUNTS, RANGE,
                            "the dims of the pattern make %lld processes, but %lld processes hold data",
                            (long long)order, (long long)owners);
}

/* Checks the layout before the machine is known: open numbers are taken as small as possible. */
static pto_status_t check_open_layout(const pto_scenario_t *scenario, pto_error_t *err) {
    pto_layout_t layout = scenario->layout;
    bool open = layout.gpus_per_node == 0;
    layout.nodes = largest_of(&scenario->nodes);
    if (open)
        layout.gpus_per_node = 1;
    if (layout.procs_per_gpu == 0)
        layout.procs_per_gpu = layout.owners_per_gpu;
    if (layout.gpus_per_socket == 0)
        layout.gpus_per_socket = 1;
    pto_error_t fault = {.status = PTO_OK};
    if (open && pto_counts_order(&scenario->counts) > 0) {
        /* The order is checked later, when the machine's GPUs are known. */
        if (pto_layout_check(&layout, &fault) == PTO_OK)
            return PTO_OK;
        return pto_scenario_refuse(scenario, PTO_FIELD_LAYOUT, fault.status, err, "layout: %s",
                                   fault.message);
    }
    return pto_scenario_check_layout(scenario, &layout, err);
}

pto_status_t pto_scenario_check(const pto_scenario_t *scenario, pto_error_t *err) {
    static pto_status_t (*const check[])(const pto_scenario_t *, pto_error_t *) = {
        check_uses, check_sweeps, check_vectors, check_messages, check_counts, check_grid, check_open_layout,
    };
    if (scenario->collective >= PTO_COLLECTIVE_COUNT)
        return pto_error_set(err, PTO_ERR_KEY, "no collective is given");
    for (size_t i = 0; i < sizeof check / sizeof *check; i++) {
        pto_status_t status = check[i](scenario, err);
        if (status != PTO_OK)
            return status;
    }
    return PTO_OK;
}
