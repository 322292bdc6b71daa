/* The options that commands on scenarios share: how each is stored in a pto_options_t, and their tables. */
#include "option_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/names.h"
#include "find_machine.h"
#include "portolan/units.h"
#include "progress.h"
#include "scenario/check.h"

static pto_status_t replace_text(char **target, const char *text, pto_error_t *err) {
    char *copy = strdup(text);
    if (!copy)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    free(*target);
    *target = copy;
    return PTO_OK;
}

static PTO_WORD_LIST(spaces_at, "gpu,gpu", "gpu,cpu", "cpu,gpu", "cpu,cpu");
static PTO_WORD_LIST(format_at, "table", "csv", "json");
static PTO_WORD_LIST(model_at, "full", "published");

const char *pto_option_strategy_at(int i) {
    return i < pto_strategy_count() ? pto_strategy_at(i)->name : NULL;
}

static const char *library_at(int i) {
    if (i == 0)
        return "best";
    return i <= pto_algorithm_count() ? pto_algorithm_at(i - 1)->name : NULL;
}

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
    char part[3][PTO_RANGE_PART_MAX];
    int64_t number[3] = {0, 0, 2};
    int count = pto_range_split(text, part);
    if (count == 0)
        return pto_error_set(err, PTO_ERR_TYPE, "'%.40s%s' is not N, FROM:TO or FROM:TO:FACTOR", text,
                             strlen(text) > 40 ? "..." : "");
    pto_status_t status = PTO_OK;
    for (int i = 0; i < count && status == PTO_OK; i++)
        status = parse_one(part[i], &number[i], err);
    pto_series_t parsed;
    if (status == PTO_OK)
        status = count > 1 ? pto_series_range(number[0], number[1], number[2], &parsed, err)
                           : pto_series_one(number[0], &parsed, err);
    if (status != PTO_OK)
        return status;
    pto_series_fini(series);
    *series = parsed;
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

/* Reset the fields that the file gave for its own collective alone. */
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

pto_status_t pto_option_apply_collective(void *target, const char *text, pto_error_t *err) {
    pto_options_t *options = target;
    int found = 0;
    pto_status_t status = pto_word_parse(text, "collective", pto_collective_at, &found, err);
    if (status == PTO_OK && options->scenario.collective != (pto_collective_t)found)
        change_collective(&options->scenario, (pto_collective_t)found);
    return status;
}

static pto_status_t apply_split(void *target, const char *text, pto_error_t *err) {
    pto_options_t *options = target;
    int found = 0;
    pto_status_t status = pto_word_parse(text, "split", pto_split_at, &found, err);
    options->scenario.split = (pto_split_t)found;
    options->scenario.has_split = true;
    return status;
}

static pto_status_t parse_staged(const char *text, int64_t *staged, pto_error_t *err) {
    *staged = 0;
    return strcmp(text, "0") == 0 ? PTO_OK : pto_count_parse(text, staged, err);
}

static pto_status_t apply_staged(void *target, const char *text, pto_error_t *err) {
    pto_staged_t *staged = target;
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

pto_status_t pto_option_apply_nodes(void *target, const char *text, pto_error_t *err) {
    pto_options_t *options = target;
    pto_status_t status = parse_series(text, parse_count_or_suffix, &options->scenario.nodes, err);
    if (status == PTO_OK)
        options->scenario.layout.nodes = options->scenario.nodes.value[0];
    return status;
}

pto_status_t pto_option_apply_bytes(void *target, const char *text, pto_error_t *err) {
    pto_options_t *options = target;
    options->bytes_given = true;
    return parse_series(text, pto_bytes_parse, &options->scenario.bytes, err);
}

pto_status_t pto_apply_count_series(void *target, const char *text, pto_error_t *err) {
    return parse_series(text, parse_count_or_suffix, target, err);
}

static pto_status_t apply_spaces(void *target, const char *text, pto_error_t *err) {
    pto_options_t *options = target;
    int found = 0; /* index in spaces_at. Bit 1: the data come from the host; bit 0: they go there */
    pto_status_t status = pto_word_parse(text, "pair of spaces", spaces_at, &found, err);
    if (status == PTO_OK) {
        options->scenario.ends.from_host = found & 2;
        options->scenario.ends.to_host = found & 1;
    }
    return status;
}

static pto_status_t apply_dims(void *target, const char *text, pto_error_t *err) {
    pto_halo_t *grid = target;
    return pto_scenario_parse_dimensions(text, 'x', grid, grid->dims, err);
}

static pto_status_t apply_extent(void *target, const char *text, pto_error_t *err) {
    pto_halo_t *grid = target;
    return pto_scenario_parse_dimensions(text, 'x', grid, grid->extent, err);
}

static pto_status_t apply_wrap(void *target, const char *text, pto_error_t *err) {
    pto_halo_t *grid = target;
    int64_t number[PTO_DIMS_MAX] = {0};
    pto_status_t status = pto_scenario_parse_dimensions(text, ',', grid, number, err);
    for (int d = 0; d < PTO_DIMS_MAX; d++)
        grid->wrap[d] = number[d] != 0;
    return status;
}

static void drop_strategies(pto_scenario_t *scenario) {
    for (int i = 0; i < scenario->strategy_count; i++)
        free(scenario->strategy[i]);
    scenario->strategy_count = 0;
}

static bool has_strategy(const pto_scenario_t *scenario, const char *name) {
    for (int i = 0; i < scenario->strategy_count; i++)
        if (strcmp(scenario->strategy[i], name) == 0)
            return true;
    return false;
}

/* Add a strategy unless it is listed already. */
static pto_status_t add_strategy(pto_scenario_t *scenario, const char *text, size_t length,
                                 pto_error_t *err) {
    const pto_strategy_t *found;
    char *name = PTO_EXTEND(scenario->strategy, scenario->strategy_count) ? strndup(text, length) : NULL;
    pto_status_t status =
        name ? pto_strategy_find(name, &found, err) : pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    if (status != PTO_OK || !name || has_strategy(scenario, name)) {
        free(name);
        return status;
    }
    scenario->strategy[scenario->strategy_count++] = name;
    return PTO_OK;
}

/* One name, or several separated by commas. The first --strategy replaces the scenario's list. */
pto_status_t pto_option_apply_strategy(void *target, const char *text, pto_error_t *err) {
    pto_options_t *options = target;
    pto_status_t status = PTO_OK;
    if (!options->has_strategies)
        drop_strategies(&options->scenario);
    options->has_strategies = true;
    for (const char *name = text; name && status == PTO_OK;) {
        size_t length = strcspn(name, ",");
        status = length > 0 ? add_strategy(&options->scenario, name, length, err)
                            : pto_error_set(err, PTO_ERR_RANGE, "a name in '%.80s' is empty", text);
        name = name[length] ? name + length + 1 : NULL;
    }
    return status;
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
pto_status_t pto_option_apply_counts(void *target, const char *text, pto_error_t *err) {
    pto_options_t *options = target;
    pto_counts_t parsed = {.kind = PTO_COUNTS_EQUAL};
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
            parsed = (pto_counts_t){.kind = PTO_COUNTS_SKEW, .skew = skew, .seed = (uint64_t)seed};
    } else if (text[0] == '{') {
        status = pto_counts_parse(text, "--counts", &parsed, err);
    } else if (strcmp(text, "equal") != 0) {
        status = pto_counts_read_matrix(text, &parsed, err);
        if (!options->bytes_given) /* pto_scenario_check rejects --bytes beside a matrix */
            pto_series_fini(&options->scenario.bytes);
    }
    if (status != PTO_OK)
        return status;
    pto_counts_fini(&options->scenario.counts);
    options->scenario.counts = parsed;
    return PTO_OK;
}

static pto_status_t apply_placement(void *target, const char *text, pto_error_t *err) {
    pto_options_t *options = target;
    pto_mapping_t mapping;
    pto_status_t status = pto_mapping_read(text, &mapping, err);
    if (status != PTO_OK)
        return status;
    pto_mapping_fini(&options->scenario.mapping);
    options->scenario.mapping = mapping;
    return PTO_OK;
}

/* Stored as text: the parameters are known only when the machine has been read. */
static pto_status_t apply_what_if(void *target, const char *text, pto_error_t *err) {
    pto_options_t *options = target;
    if (!PTO_EXTEND(options->what_if, options->what_if_count))
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    options->what_if[options->what_if_count++] = text;
    return PTO_OK;
}

/* Takes effect at once, so nothing is stored. */
pto_status_t pto_option_apply_progress(void *target, const char *text, pto_error_t *err) {
    (void)target;
    (void)text;
    (void)err;
    pto_progress_watch();
    return PTO_OK;
}

#define STORE(form, member) PTO_STORE(form, pto_options_t, member)
#define OVERRIDES(field) .overrides = (1 + PTO_FIELD_##field)

const pto_option_t pto_machine_options[] = {
    {"machine", "FILE|NAME", "the machine file, or the name of one that `portolan list` shows",
     .apply = apply_machine, OVERRIDES(MACHINE)},
    {.name = NULL}};

#define LISTED(id, name, ...) name ", "
const pto_option_t pto_scenario_options[] = {
    {"collective", "NAME", "one of " PTO_COLLECTIVE_TABLE(LISTED) "as `portolan list` shows",
     .apply = pto_option_apply_collective, .word_at = pto_collective_at, OVERRIDES(COLLECTIVE)},
    {"implementation", "NAME",
     "alltoall(v), allgather(v), gather, scatter, halo: library (MPI's own) or isend_irecv",
     STORE(WORD, scenario.implementation), .word_at = pto_implementation_at, OVERRIDES(IMPLEMENTATION)},
    {"nodes", "N|FROM:TO", "nodes; a range is swept by factors of 2 (FROM:TO:FACTOR for others)",
     .apply = pto_option_apply_nodes, OVERRIDES(NODES)},
    {"gpus-per-node", "N", "GPUs used per node (default: all of the machine's)",
     STORE(COUNT, scenario.layout.gpus_per_node), OVERRIDES(LAYOUT)},
    {"procs-per-gpu", "N", "processes per GPU (default: as many as hold user data)",
     STORE(COUNT, scenario.layout.procs_per_gpu), OVERRIDES(LAYOUT)},
    PTO_MEMORY_OPTIONS,
    {"owners-per-gpu", "N", "processes per GPU that hold user data (default 1)",
     STORE(COUNT, scenario.layout.owners_per_gpu), OVERRIDES(LAYOUT)},
    {"bytes", "N|FROM:TO",
     "bytes per destination, per message, of an owner's block or of a vector; accepts 64KiB",
     .apply = pto_option_apply_bytes, OVERRIDES(BYTES)},
    {"messages", "N|FROM:TO", "messages: number of messages that each GPU sends",
     STORE(OWN, scenario.messages), .apply = pto_apply_count_series, OVERRIDES(MESSAGES)},
    {"unique-bytes", "N", "messages: bytes of a GPU's messages that are unique; the rest are duplicates",
     STORE(BYTES, scenario.unique_bytes), OVERRIDES(UNIQUE_BYTES)},
    {"counts", "equal|skew:X:SEED|{...}|FILE.csv",
     "alltoallv, allgatherv: equal, random within +-X, {...} as in a scenario, or a matrix of bytes",
     .apply = pto_option_apply_counts, OVERRIDES(COUNTS)},
    {"placement-file", "FILE.csv", "alltoallv: the node, GPU and core of each process",
     .apply = apply_placement, OVERRIDES(PLACEMENT)},
    {"distance", "LEVEL", "pair: on_gpu, on_socket (default), on_node or off_node",
     STORE(WORD, scenario.distance), .word_at = pto_level_at, OVERRIDES(DISTANCE)},
    {"spaces", "FROM,TO", "pair: gpu,gpu (default), cpu,gpu, gpu,cpu or cpu,cpu", .apply = apply_spaces,
     .word_at = spaces_at, OVERRIDES(SPACES)},
    {"both-ways", NULL, "pair: a message each way, at once", STORE(FLAG, scenario.ends.both_ways),
     OVERRIDES(BOTH_WAYS)},
    {"in-place", NULL,
     "allreduce, reduce, broadcast: one buffer for input and output, as MPI_IN_PLACE and MPI_Bcast",
     STORE(FLAG, scenario.in_place), OVERRIDES(IN_PLACE)},
    {"dims", "PxQ[xR]", "halo: processes along each dimension; 0: as even as possible (default)",
     STORE(OWN, scenario.halo), .apply = apply_dims, OVERRIDES(HALO)},
    {"wrap", "0|1,0|1[,0|1]", "halo: whether each dimension wraps around (default: none)",
     STORE(OWN, scenario.halo), .apply = apply_wrap, OVERRIDES(HALO)},
    {"extent", "MxN[xO]", "halo: cells of each process along each dimension, of --bytes each",
     STORE(OWN, scenario.halo), .apply = apply_extent, OVERRIDES(HALO)},
    {"halo", "N", "halo: its width in cells (default 1)", STORE(COUNT, scenario.halo.width), OVERRIDES(HALO)},
    {"corners", "NAME", "halo: two_phase (default), diagonal or none", STORE(WORD, scenario.halo.corners),
     .word_at = pto_corners_at, OVERRIDES(HALO)},
    {"datatype", "NAME",
     "float (default), double, half, bfloat16, int8 to int64, uint8 to uint64, float_complex, double_complex "
     "or byte",
     STORE(WORD, scenario.datatype), .word_at = pto_datatype_at, OVERRIDES(DATATYPE)},
    {"split", "bytes|destinations", "what split strategies divide among a GPU's processes",
     .apply = apply_split, .word_at = pto_split_at, OVERRIDES(SPLIT)},
    {"chunks", "N",
     "chunked strategies: pieces that the data are cut into (default: as many as are cheapest)",
     STORE(COUNT, scenario.chunks), OVERRIDES(CHUNKS)},
    {"staged", "IN[,OUT]|all|cross",
     "mix: members that stage their input through host memory, and that take the result from there (one "
     "number: both; default: the machine file's `tuning`, else as many as are cheapest). all, cross: the "
     "cheapest; portolan-validate runs every pair of numbers, or all that differ from the cheapest in one",
     STORE(OWN, scenario.staged_members), .apply = apply_staged, OVERRIDES(STAGED_MEMBERS)},
    {"strategy", "NAME[,NAME]", "only these strategies (repeatable)", .apply = pto_option_apply_strategy,
     .word_at = pto_option_strategy_at, OVERRIDES(STRATEGIES)},
    {"library", "best|ALGORITHM", "the algorithm that models the MPI library's own", .apply = apply_library,
     .word_at = library_at, OVERRIDES(LIBRARY)},
    {.name = NULL}};

const pto_option_t pto_change_options[] = {
    {"mpi", "NAME",
     "the MPI library, where the machine file has no tables of its own (`portolan list libraries`)",
     STORE(TEXT, mpi)},
    {"model", "full|published[+TERM]",
     "use only the papers' terms, plus the TERMs added (see `portolan list`)", STORE(TEXT, model),
     .word_at = model_at},
    {"what-if", "PARAMETER=VALUE",
     "change a parameter, or all that match a * (repeatable); *2 and /10 are relative. predict and pick take "
     "several values: A,B or FROM:TO[:FACTOR], as in /1:/8",
     .apply = apply_what_if},
    {.name = NULL}};

const pto_option_t pto_work_options[] = {
    {"limit", "N",
     "refuse to walk more than N messages, copies or, of check, blocks (default: what takes about a minute)",
     STORE(COUNT, scenario.work_limit)},
    {"progress", NULL, "show progress even if standard error is not a terminal",
     .apply = pto_option_apply_progress},
    {.name = NULL}};

const pto_option_t pto_format_options[] = {{"format", "table|csv|json", "output format", STORE(WORD, format),
                                            .standard = "table", .word_at = format_at},
                                           {.name = NULL}};

const pto_option_t pto_table_options[] = {
    {"all", NULL, "every column, however wide the table gets", STORE(FLAG, all)}, {.name = NULL}};
