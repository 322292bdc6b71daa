/* The command-line options that concern scenarios: what each does with its argument, and their tables. */
#include "option_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "find_machine.h"
#include "options.h"
#include "portolan/map.h"
#include "portolan/units.h"
#include "scenario/check.h"

static pto_status_t replace_text(char **target, const char *text, pto_error_t *err) {
    char *copy = strdup(text);
    if (!copy)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    free(*target);
    *target = copy;
    return PTO_OK;
}

/* --- the words that options know: NULL behind the last one --------------------------------------------- */

static const char *collective_at(int i) {
    return i < PTO_COLLECTIVE_COUNT ? pto_collective_name((pto_collective_t)i) : NULL;
}

static const char *implementation_at(int i) {
    return i < PTO_IMPLEMENTATION_COUNT ? pto_implementation_name((pto_implementation_t)i) : NULL;
}

static const char *split_at(int i) { return i < PTO_SPLIT_COUNT ? pto_split_name((pto_split_t)i) : NULL; }

static const char *datatype_at(int i) {
    return i < PTO_DATATYPE_COUNT ? pto_datatype_name((pto_datatype_t)i) : NULL;
}

static const char *level_at(int i) { return i < PTO_LEVEL_COUNT ? pto_level_name((pto_level_t)i) : NULL; }

static const char *corners_at(int i) {
    return i < PTO_CORNERS_COUNT ? pto_corners_name((pto_corners_t)i) : NULL;
}

static const char *spaces_at(int i) {
    static const char *const spaces[] = {"gpu,gpu", "gpu,cpu", "cpu,gpu", "cpu,cpu"};
    return i < (int)(sizeof spaces / sizeof *spaces) ? spaces[i] : NULL;
}

static const char *format_at(int i) {
    static const char *const names[] = {[PTO_FORMAT_TABLE] = "table",
                                        [PTO_FORMAT_CSV] = "csv",
                                        [PTO_FORMAT_JSON] = "json",
                                        [PTO_FORMAT_COUNT] = NULL};
    return names[i];
}

static const char *by_at(int i) { return i < PTO_BY_COUNT ? pto_by_name((pto_by_t)i) : NULL; }

static const char *strategy_at(int i) { return i < pto_strategy_count() ? pto_strategy_at(i)->name : NULL; }

static const char *library_at(int i) {
    if (i == 0)
        return "best";
    return i <= pto_algorithm_count() ? pto_algorithm_at(i - 1)->name : NULL;
}

static const char *metric_at(int i) { return i < PTO_METRIC_COUNT ? pto_metric_name((pto_metric_t)i) : NULL; }

static const char *phase_at(int i) { return i < PTO_PHASE_COUNT ? pto_phase_name((pto_phase_t)i) : NULL; }

static const char *mapper_at(int i) { return i < pto_mapper_count() ? pto_mapper_at(i)->name : NULL; }

static const char *model_at(int i) {
    static const char *const names[] = {"full", "published", NULL};
    return names[i];
}

/* --- what they do -------------------------------------------------------------------------------------- */

/* A number of nodes or messages; accepts 1K for 1024. */
static pto_status_t parse_count_or_suffix(const char *text, int64_t *count, pto_error_t *err) {
    if (pto_bytes_parse(text, count, NULL) == PTO_OK && *count > 0)
        return PTO_OK;
    return pto_count_parse(text, count, err);
}

/* N, FROM:TO or FROM:TO:FACTOR, where `parse_one` reads each number. */
static pto_status_t parse_series(const char *text,
                                 pto_status_t (*parse_one)(const char *, int64_t *, pto_error_t *),
                                 pto_series_t *series, pto_error_t *err) {
    char copy[128];
    int64_t number[3] = {0, 0, 2};
    int count = 0;
    if (strlen(text) >= sizeof copy)
        return pto_error_set(err, PTO_ERR_TYPE, "'%.40s...' is not N, FROM:TO or FROM:TO:FACTOR", text);
    memcpy(copy, text, strlen(text) + 1);
    for (char *part = copy; part && count < 3; count++) {
        char *colon = strchr(part, ':');
        if (colon)
            *colon = '\0';
        pto_status_t status = parse_one(part, &number[count], err);
        if (status != PTO_OK)
            return status;
        part = colon ? colon + 1 : NULL;
        if (part && count == 2)
            return pto_error_set(err, PTO_ERR_TYPE, "'%s' is not N, FROM:TO or FROM:TO:FACTOR", text);
    }
    pto_series_t made;
    pto_status_t status = count > 1 ? pto_series_range(number[0], number[1], number[2], &made, err)
                                    : pto_series_one(number[0], &made, err);
    if (status != PTO_OK)
        return status;
    pto_series_fini(series);
    *series = made;
    return PTO_OK;
}

static pto_status_t apply_machine(void *target, const char *text, pto_error_t *err) {
    pto_options_t *options = target;
    char *path;
    pto_status_t status = pto_find_machine(text, NULL, &path, err);
    if (status != PTO_OK)
        return status;
    free(options->scenario.machine_path);
    options->scenario.machine_path = path;
    return PTO_OK;
}

/* Fields of the file that apply only to the old collective do not apply to the new one. */
static void change_collective(pto_scenario_t *scenario, pto_collective_t collective) {
    const pto_scenario_field_t own[] = {PTO_FIELD_IMPLEMENTATION, PTO_FIELD_SPLIT,     PTO_FIELD_MESSAGES,
                                        PTO_FIELD_UNIQUE_BYTES,   PTO_FIELD_COUNTS,    PTO_FIELD_DISTANCE,
                                        PTO_FIELD_SPACES,         PTO_FIELD_BOTH_WAYS, PTO_FIELD_PLACEMENT,
                                        PTO_FIELD_HALO,           PTO_FIELD_IN_PLACE};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        scenario->place[own[i]] = (pto_place_t){0};
    scenario->collective = collective;
    scenario->implementation = PTO_IMPLEMENTATION_LIBRARY;
    scenario->has_split = false;
    pto_series_fini(&scenario->messages);
    scenario->unique_bytes = 0;
    scenario->distance = PTO_LEVEL_ON_SOCKET;
    scenario->ends = (pto_pair_ends_t){0};
    pto_mapping_fini(&scenario->mapping);
    scenario->halo = (pto_halo_t){.width = 1};
    scenario->in_place = false;
    pto_counts_fini(&scenario->counts);
    scenario->counts = (pto_counts_t){.kind = PTO_COUNTS_EQUAL};
}

static pto_status_t apply_collective(void *target, const char *text, pto_error_t *err) {
    pto_options_t *options = target;
    int found = 0;
    pto_status_t status = pto_word_parse(text, "collective", collective_at, &found, err);
    if (status == PTO_OK && options->scenario.collective != (pto_collective_t)found)
        change_collective(&options->scenario, (pto_collective_t)found);
    return status;
}

static pto_status_t apply_split(void *target, const char *text, pto_error_t *err) {
    pto_options_t *options = target;
    int found = 0;
    pto_status_t status = pto_word_parse(text, "split", split_at, &found, err);
    options->scenario.split = (pto_split_t)found;
    options->scenario.has_split = true;
    return status;
}

static pto_status_t parse_staged(const char *text, int64_t *staged, pto_error_t *err) {
    *staged = 0;
    return strcmp(text, "0") == 0 ? PTO_OK : pto_count_parse(text, staged, err);
}

static pto_status_t apply_staged(void *target, const char *text, pto_error_t *err) {
    pto_staged_t *staged = &((pto_options_t *)target)->scenario.staged_members;
    bool all = strcmp(text, "all") == 0, cross = strcmp(text, "cross") == 0;
    const char *comma = strchr(text, ',');
    char in[32] = "";
    if (all || cross) {
        staged->in = staged->out = all ? PTO_STAGED_ALL : PTO_STAGED_CROSS;
        return PTO_OK;
    }
    snprintf(in, sizeof in, "%.*s", (int)(comma ? comma - text : (ptrdiff_t)strlen(text)), text);
    pto_status_t status = parse_staged(in, &staged->in, err);
    if (status == PTO_OK)
        status = parse_staged(comma ? comma + 1 : in, &staged->out, err);
    return status;
}

pto_status_t pto_nodes_parse(const char *text, pto_series_t *nodes, pto_error_t *err) {
    return parse_series(text, parse_count_or_suffix, nodes, err);
}

static pto_status_t apply_nodes(void *target, const char *text, pto_error_t *err) {
    pto_options_t *options = target;
    pto_status_t status = pto_nodes_parse(text, &options->scenario.nodes, err);
    if (status == PTO_OK)
        options->scenario.layout.nodes = options->scenario.nodes.value[0];
    return status;
}

static pto_status_t apply_bytes(void *target, const char *text, pto_error_t *err) {
    pto_options_t *options = target;
    options->bytes_given = true;
    return parse_series(text, pto_bytes_parse, &options->scenario.bytes, err);
}

static pto_status_t apply_messages(void *target, const char *text, pto_error_t *err) {
    pto_options_t *options = target;
    return parse_series(text, parse_count_or_suffix, &options->scenario.messages, err);
}

static pto_status_t apply_spaces(void *target, const char *text, pto_error_t *err) {
    pto_options_t *options = target;
    int found = 0;
    pto_status_t status = pto_word_parse(text, "pair of spaces", spaces_at, &found, err);
    if (status == PTO_OK) {
        options->scenario.ends.from_host = found & 2;
        options->scenario.ends.to_host = found & 1;
    }
    return status;
}

/* One number for each dimension of the grid, as in 4x4 or 1,0. */
static pto_status_t parse_dimensions(const char *text, char separator, pto_halo_t *grid, int64_t *number,
                                     pto_error_t *err) {
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

static pto_status_t apply_dims(void *target, const char *text, pto_error_t *err) {
    pto_halo_t *grid = &((pto_options_t *)target)->scenario.halo;
    return parse_dimensions(text, 'x', grid, grid->dims, err);
}

static pto_status_t apply_extent(void *target, const char *text, pto_error_t *err) {
    pto_halo_t *grid = &((pto_options_t *)target)->scenario.halo;
    return parse_dimensions(text, 'x', grid, grid->extent, err);
}

static pto_status_t apply_wrap(void *target, const char *text, pto_error_t *err) {
    pto_halo_t *grid = &((pto_options_t *)target)->scenario.halo;
    int64_t number[PTO_DIMS_MAX] = {0};
    pto_status_t status = parse_dimensions(text, ',', grid, number, err);
    for (int d = 0; d < PTO_DIMS_MAX; d++)
        grid->wrap[d] = number[d] != 0;
    return status;
}

static void drop_strategies(pto_scenario_t *scenario) {
    for (int i = 0; i < scenario->strategy_count; i++)
        free(scenario->strategy[i]);
    scenario->strategy_count = 0;
}

/* One name, or several separated by commas. The first --strategy replaces the scenario's list. */
static pto_status_t apply_strategy(void *target, const char *text, pto_error_t *err) {
    pto_options_t *options = target;
    pto_scenario_t *scenario = &options->scenario;
    if (!options->has_strategies)
        drop_strategies(scenario);
    options->has_strategies = true;
    while (*text) {
        size_t length = strcspn(text, ",");
        char **grown = realloc(scenario->strategy, ((size_t)scenario->strategy_count + 1) * sizeof *grown);
        char *name = strndup(text, length);
        if (grown)
            scenario->strategy = grown;
        if (!grown || !name) {
            free(name);
            return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
        }
        scenario->strategy[scenario->strategy_count++] = name;
        const pto_strategy_t *found;
        pto_status_t status = pto_strategy_find(name, &found, err);
        if (status != PTO_OK)
            return status;
        text += length + (text[length] == ',');
    }
    return PTO_OK;
}

static pto_status_t apply_library(void *target, const char *text, pto_error_t *err) {
    pto_options_t *options = target;
    pto_library_choice_t *library = &options->scenario.library;
    library->best = strcmp(text, "best") == 0;
    if (!library->best)
        return replace_text(&library->name, text, err);
    free(library->name);
    library->name = NULL;
    return PTO_OK;
}

/* equal, skew:FRACTION:SEED, a mapping as in a scenario, or a CSV file. */
static pto_status_t apply_counts(void *target, const char *text, pto_error_t *err) {
    pto_options_t *options = target;
    pto_counts_t made = {.kind = PTO_COUNTS_EQUAL};
    double skew;
    int64_t seed;
    char fraction[32];
    pto_status_t status = PTO_OK;
    if (strncmp(text, "skew:", 5) == 0) {
        const char *colon = strchr(text + 5, ':');
        if (!colon || (size_t)(colon - text - 5) >= sizeof fraction)
            return pto_error_set(err, PTO_ERR_TYPE, "'%s' is not skew:FRACTION:SEED", text);
        snprintf(fraction, sizeof fraction, "%.*s", (int)(colon - text - 5), text + 5);
        status = pto_double_parse(fraction, &skew, err);
        if (status == PTO_OK)
            status = pto_int64_parse(colon + 1, &seed, err);
        if (status == PTO_OK && seed < 0)
            status = pto_error_set(err, PTO_ERR_RANGE, "seed %s is negative", colon + 1);
        if (status == PTO_OK && !(skew >= 0 && skew <= 1))
            status = pto_error_set(err, PTO_ERR_RANGE, "skew %s is not between 0 and 1", fraction);
        if (status == PTO_OK)
            made = (pto_counts_t){.kind = PTO_COUNTS_SKEW, .skew = skew, .seed = (uint64_t)seed};
    } else if (text[0] == '{') {
        status = pto_counts_parse(text, "--counts", &made, err);
    } else if (strcmp(text, "equal") != 0) {
        status = pto_counts_read_matrix(text, &made, err);
        if (!options->bytes_given) /* the scenario's value; a --bytes option is rejected later, in the final
                                      check */
            pto_series_fini(&options->scenario.bytes);
    }
    if (status != PTO_OK)
        return status;
    pto_counts_fini(&options->scenario.counts);
    options->scenario.counts = made;
    return PTO_OK;
}

static pto_status_t apply_placement(void *target, const char *text, pto_error_t *err) {
    pto_options_t *options = target;
    pto_mapping_t made;
    pto_status_t status = pto_mapping_read(text, &made, err);
    if (status != PTO_OK)
        return status;
    pto_mapping_fini(&options->scenario.mapping);
    options->scenario.mapping = made;
    return PTO_OK;
}

/* Stored until the machine is read, which defines the parameters. */
static pto_status_t apply_what_if(void *target, const char *text, pto_error_t *err) {
    pto_options_t *options = target;
    const char **grown =
        realloc(options->what_if, ((size_t)options->what_if_count + 1) * sizeof *options->what_if);
    if (!grown)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    options->what_if = grown;
    options->what_if[options->what_if_count++] = text;
    return PTO_OK;
}

static pto_status_t apply_energy(void *target, const char *text, pto_error_t *err) {
    pto_options_t *options = target;
    (void)text;
    (void)err;
    options->by = PTO_BY_ENERGY;
    return PTO_OK;
}

static pto_status_t apply_seed(void *target, const char *text, pto_error_t *err) {
    pto_options_t *options = target;
    pto_status_t status = pto_int64_parse(text, &options->seed, err);
    return status == PTO_OK && options->seed < 0
               ? pto_error_set(err, PTO_ERR_RANGE, "seed %s is negative", text)
               : status;
}

/* auto, or a number of prices. */
static pto_status_t apply_refine(void *target, const char *text, pto_error_t *err) {
    pto_options_t *options = target;
    options->refine = -1;
    if (strcmp(text, "auto") == 0)
        return PTO_OK;
    pto_status_t status = pto_int64_parse(text, &options->refine, err);
    return status == PTO_OK && options->refine < 0 ? pto_error_set(err, PTO_ERR_RANGE, "%s is negative", text)
                                                   : status;
}

pto_status_t pto_apply_rank(void *target, const char *text, pto_error_t *err) {
    pto_options_t *options = target;
    pto_status_t status = pto_int64_parse(text, &options->rank, err);
    return status == PTO_OK && options->rank < 0
               ? pto_error_set(err, PTO_ERR_RANGE, "rank %s is negative", text)
               : status;
}

/* --- the tables ---------------------------------------------------------------------------------------- */

#define STORE(form, member) PTO_STORE(form, pto_options_t, member)
#define OVERRIDES(field) .overrides = (1 + PTO_FIELD_##field)

const pto_option_t pto_machine_options[] = {
    {"machine", "FILE|NAME", "the machine file, or the name of one that `portolan list` shows",
     .apply = apply_machine, OVERRIDES(MACHINE)},
    {.name = NULL}};

const pto_option_t pto_scenario_options[] = {
    {"collective", "NAME",
     "allreduce, reduce, broadcast, allgather, allgatherv, reduce_scatter, gather, scatter, alltoall, "
     "alltoallv, messages, pair or halo",
     .apply = apply_collective, .word_at = collective_at, OVERRIDES(COLLECTIVE)},
    {"implementation", "NAME",
     "alltoall(v), allgather(v), gather, scatter, halo: library (MPI's own) or isend_irecv",
     STORE(WORD, scenario.implementation), .word_at = implementation_at, OVERRIDES(IMPLEMENTATION)},
    {"nodes", "N|FROM:TO", "nodes; a range is swept by factors of 2 (FROM:TO:FACTOR for others)",
     .apply = apply_nodes, OVERRIDES(NODES)},
    {"gpus-per-node", "N", "GPUs used per node (default: all of the machine's)",
     STORE(COUNT, scenario.layout.gpus_per_node), OVERRIDES(LAYOUT)},
    {"procs-per-gpu", "N", "processes per GPU (default: the machine's cores, divided evenly)",
     STORE(COUNT, scenario.layout.procs_per_gpu), OVERRIDES(LAYOUT)},
    {"owners-per-gpu", "N", "processes per GPU that hold user data (default 1)",
     STORE(COUNT, scenario.layout.owners_per_gpu), OVERRIDES(LAYOUT)},
    {"bytes", "N|FROM:TO",
     "bytes per destination, per message, of an owner's block or of a vector; accepts 64KiB",
     .apply = apply_bytes, OVERRIDES(BYTES)},
    {"messages", "N|FROM:TO", "messages: number of messages that each GPU sends", .apply = apply_messages,
     OVERRIDES(MESSAGES)},
    {"unique-bytes", "N", "messages: bytes of a GPU's messages that are unique; the rest are duplicates",
     STORE(BYTES, scenario.unique_bytes), OVERRIDES(UNIQUE_BYTES)},
    {"counts", "equal|skew:X:SEED|{...}|FILE.csv",
     "alltoallv, allgatherv: equal, random within +-X, {...} as in a scenario, or a matrix of bytes",
     .apply = apply_counts, OVERRIDES(COUNTS)},
    {"placement-file", "FILE.csv", "alltoallv: the node, GPU and core of each process",
     .apply = apply_placement, OVERRIDES(PLACEMENT)},
    {"distance", "LEVEL", "pair: on_gpu, on_socket (default), on_node or off_node",
     STORE(WORD, scenario.distance), .word_at = level_at, OVERRIDES(DISTANCE)},
    {"spaces", "FROM,TO", "pair: gpu,gpu (default), cpu,gpu, gpu,cpu or cpu,cpu", .apply = apply_spaces,
     .word_at = spaces_at, OVERRIDES(SPACES)},
    {"both-ways", NULL, "pair: a message each way, at once", STORE(FLAG, scenario.ends.both_ways),
     OVERRIDES(BOTH_WAYS)},
    {"in-place", NULL,
     "allreduce, reduce, broadcast: one buffer for input and output, as MPI_IN_PLACE and MPI_Bcast",
     STORE(FLAG, scenario.in_place), OVERRIDES(IN_PLACE)},
    {"dims", "PxQ[xR]", "halo: processes along each dimension; 0: as even as possible (default)",
     .apply = apply_dims, OVERRIDES(HALO)},
    {"wrap", "0|1,0|1[,0|1]", "halo: whether each dimension wraps around (default: none)",
     .apply = apply_wrap, OVERRIDES(HALO)},
    {"extent", "MxN[xO]", "halo: cells of each process along each dimension, of --bytes each",
     .apply = apply_extent, OVERRIDES(HALO)},
    {"halo", "N", "halo: its width in cells (default 1)", STORE(COUNT, scenario.halo.width), OVERRIDES(HALO)},
    {"corners", "NAME", "halo: two_phase (default), diagonal or none", STORE(WORD, scenario.halo.corners),
     .word_at = corners_at, OVERRIDES(HALO)},
    {"datatype", "NAME",
     "float (default), double, half, bfloat16, int8 to int64, uint8 to uint64, float_complex, double_complex "
     "or byte",
     STORE(WORD, scenario.datatype), .word_at = datatype_at, OVERRIDES(DATATYPE)},
    {"split", "bytes|destinations", "what split strategies divide among a GPU's processes",
     .apply = apply_split, .word_at = split_at, OVERRIDES(SPLIT)},
    {"chunks", "N",
     "chunked strategies: pieces that the data are cut into (default: as many as are cheapest)",
     STORE(COUNT, scenario.chunks), OVERRIDES(CHUNKS)},
    {"staged", "IN[,OUT]|all|cross",
     "mix: members that stage their input through host memory, and that take the result from there (one "
     "number: "
     "both; default: the machine file's `tuning`, else as many as are cheapest). all, cross: the cheapest; "
     "portolan-validate runs every pair of numbers, or all that differ from the cheapest in one",
     .apply = apply_staged, OVERRIDES(STAGED_MEMBERS)},
    {"strategy", "NAME[,NAME]", "only these strategies (repeatable)", .apply = apply_strategy,
     .word_at = strategy_at, OVERRIDES(STRATEGIES)},
    {"library", "best|ALGORITHM", "the algorithm that models the MPI library's own", .apply = apply_library,
     .word_at = library_at, OVERRIDES(LIBRARY)},
    {.name = NULL}};

const pto_option_t pto_change_options[] = {
    {"model", "full|published[+TERM]",
     "use only the papers' terms, plus the TERMs added (see `portolan list`)", STORE(TEXT, model),
     .word_at = model_at},
    {"what-if", "PARAMETER=VALUE",
     "change a parameter, or all that match a * (repeatable); *2 and /10 are relative",
     .apply = apply_what_if},
    {.name = NULL}};

const pto_option_t pto_work_options[] = {
    {"limit", "N",
     "refuse to walk more than N messages, copies or, of check, blocks (default: what takes about a minute)",
     STORE(COUNT, scenario.work_limit)},
    {.name = NULL}};

const pto_option_t pto_format_options[] = {{"format", "table|csv|json", "output format", STORE(WORD, format),
                                            .standard = "table", .word_at = format_at},
                                           {.name = NULL}};

static const char *bandwidth_at(int i) {
    static const char *const names[] = {[PTO_BANDWIDTH_NONE] = "none",
                                        [PTO_BANDWIDTH_ALGORITHM] = "algorithm",
                                        [PTO_BANDWIDTH_BUS] = "bus",
                                        [PTO_BANDWIDTH_COUNT] = NULL};
    return names[i];
}

#define BANDWIDTH                                                                                            \
    {                                                                                                        \
        "bandwidth", "algorithm|bus", "a table of GB/s, as nccl-tests defines them", STORE(WORD, bandwidth), \
            .what = "bandwidth", .standard = "none", .word_at = bandwidth_at                                 \
    }
#define ALL_COLUMNS                                                                                          \
    { "all", NULL, "a column for every strategy, however wide the table gets", STORE(FLAG, all) }

const pto_option_t pto_predict_options[] = {
    {"explain", NULL, "break every price down into terms: stage, parameter, line of the machine file",
     STORE(FLAG, explain)},
    {"ci", NULL, "the 95 percent interval of every price, in a line below (csv and json always have it)",
     STORE(FLAG, ci)},
    ALL_COLUMNS,
    BANDWIDTH,
    {"energy", NULL, "energies by the machine file's powers, in addition to or instead of times",
     .apply = apply_energy},
    {"plot", "FILE.svg|png", "draw the prediction (needs gnuplot)", STORE(TEXT, plot)},
    {"measured", "FILE.csv", "measured collectives, drawn as points by --plot", STORE(TEXT, measured)},
    {.name = NULL}};

const pto_option_t pto_pick_options[] = {
    {"by", "time|energy|product", "what to minimise: time, energy, or product (energy x time)",
     STORE(WORD, by), .what = "measure", .standard = "time", .word_at = by_at},
    {.name = NULL}};

const pto_option_t pto_simulate_options[] = {
    {"trace", "FILE.json", "write the simulation's events in the Chrome trace format", STORE(TEXT, trace)},
    {"trace-events", "N", "maximum number of events in the trace", STORE(COUNT, trace_events),
     .standard = "1000000"},
    {"progress", NULL, "show progress even if standard error is not a terminal", STORE(FLAG, progress)},
    ALL_COLUMNS,
    BANDWIDTH,
    {.name = NULL}};

const pto_option_t pto_traffic_options[] = {
    {"out", "FILE.csv", "write the rows there instead of to standard output", STORE(TEXT, out)},
    {"force", NULL, "replace a file that exists", STORE(FLAG, force)},
    {"plot", "FILE.svg|png", "draw a heat map (needs gnuplot)", STORE(TEXT, plot)},
    {0},
};

const pto_option_t pto_tune_options[] = {
    {"collective", "NAME", "allreduce or allgather (default: both)", .apply = apply_collective,
     .word_at = collective_at},
    {"bytes", "N|FROM:TO", "bytes of the vector or of allgather's blocks (default 4:64MiB:4)",
     .apply = apply_bytes},
    {"gpus-per-node", "N", "GPUs whose processes take part", STORE(COUNT, scenario.layout.gpus_per_node),
     .standard = "1"},
    {"procs-per-gpu", "N", "most processes per GPU (default: the machine's cores, divided evenly)",
     STORE(COUNT, scenario.layout.procs_per_gpu)},
    {.name = NULL}};

const pto_option_t pto_export_options[] = {
    {"collective", "NAME", "only this one (default: all that the target can be told about)",
     .apply = apply_collective, .word_at = collective_at},
    {"nodes", "N|FROM:TO", "nodes, by factors of 2: a communicator of all their GPUs each",
     .apply = apply_nodes},
    {"gpus-per-node", "N", "GPUs used per node, one process each (default: all of the machine's)",
     STORE(COUNT, scenario.layout.gpus_per_node)},
    {"bytes", "FROM:TO", "sizes that are priced, as by `predict` (default 4:64MiB)", .apply = apply_bytes},
    {.name = NULL}};

const pto_option_t pto_step_options[] = {
    {"nodes", "N", "nodes; a size of 0 in the grid follows", .apply = apply_nodes},
    {"gpus-per-node", "N", "GPUs used per node", STORE(COUNT, scenario.layout.gpus_per_node)},
    {"procs-per-gpu", "N", "processes per GPU (default: the machine's cores, divided evenly)",
     STORE(COUNT, scenario.layout.procs_per_gpu)},
    {"strategy", "NAME[,NAME]", "only these strategies (repeatable)", .apply = apply_strategy,
     .word_at = strategy_at},
    ALL_COLUMNS,
    {.name = NULL}};

const pto_option_t pto_plan_options[] = {
    {"rank", "R", "rank to print", .apply = pto_apply_rank, .standard = "0"},
    {"unroll", NULL, "print every iteration of loops", STORE(FLAG, unroll)},
    {.name = NULL}};

const pto_option_t pto_map_command_options[] = {
    {"with", "NAME[,NAME]", "only these mappers, besides the default (`portolan list` shows them)",
     STORE(TEXT, mappers), .word_at = mapper_at},
    {"metric", "NAME", "what the mappers minimise, times volume: latency, bandwidth, distance or price",
     STORE(WORD, metric), .standard = "price", .word_at = metric_at},
    {"phases", "NAME[,NAME]", "also map in phases: to nodes (node), sockets (core) and GPUs (gpu)",
     STORE(TEXT, phases), .standard = "node,core,gpu", .word_at = phase_at},
    {"seed", "N", "the first seed of mappers that depend on one", .apply = apply_seed, .standard = "0"},
    {"seeds", "N", "how many seeds they are given", STORE(INT, seeds), .most = 20, .standard = "4"},
    {"refine", "auto|N", "how many swaps of the best mapping are priced", .apply = apply_refine,
     .standard = "auto"},
    {"out", "FILE.csv", "write the placement", STORE(TEXT, out)},
    {"rankfile", "FILE", "write it for Open MPI's --rankfile", STORE(TEXT, rankfile)},
    {"slurm-hosts", "FILE", "write it as SLURM_HOSTFILE of srun --distribution=arbitrary",
     STORE(TEXT, slurm_hosts)},
    {"cuda-devices", "FILE", "write CUDA_VISIBLE_DEVICES of rank r in line r + 1", STORE(TEXT, cuda_devices)},
    {"hosts", "NAME[,NAME]", "the nodes' names in these files", STORE(TEXT, hosts)},
    {"force", NULL, "replace existing files", STORE(FLAG, force)},
    {.name = NULL}};
