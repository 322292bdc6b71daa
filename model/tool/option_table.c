/* What each command-line option on scenarios does with its argument, and the table of them all. */
#include "option_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine_folders.h"
#include "portolan/units.h"

static pto_status_t replace_text(char **target, const char *text, pto_error_t *err) {
    char *copy = strdup(text);
    if (!copy)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    free(*target);
    *target = copy;
    return PTO_OK;
}

/* A name from a list; `name_at` gives the known ones. */
static pto_status_t parse_name(const char *text, const char *what, int count, const char *(*name_at)(int),
                               int *found, pto_error_t *err) {
    for (int i = 0; i < count; i++)
        if (strcmp(text, name_at(i)) == 0) {
            *found = i;
            return PTO_OK;
        }
    char known[256] = "";
    for (int i = 0; i < count; i++) {
        strncat(known, i ? ", " : "", sizeof known - strlen(known) - 1);
        strncat(known, name_at(i), sizeof known - strlen(known) - 1);
    }
    return pto_error_set(err, PTO_ERR_NOT_FOUND, "unknown %s '%s'; known: %s", what, text, known);
}

static const char *collective_at(int i) { return pto_collective_name((pto_collective_t)i); }

static const char *implementation_at(int i) { return pto_implementation_name((pto_implementation_t)i); }

static const char *split_at(int i) { return pto_split_name((pto_split_t)i); }

static const char *datatype_at(int i) { return pto_datatype_name((pto_datatype_t)i); }

static const char *format_at(int i) {
    static const char *const names[] = {"table", "csv", "json"};
    return names[i];
}

/* N, FROM:TO or FROM:TO:FACTOR, each a number of bytes (or of nodes, or messages). */
static pto_status_t parse_series(const char *text, pto_series_t *series, pto_error_t *err) {
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
        pto_status_t status = pto_bytes_parse(part, &number[count], err);
        if (status != PTO_OK)
            return status;
        part = colon ? colon + 1 : NULL;
        if (part && count == 2)
            return pto_error_set(err, PTO_ERR_TYPE, "'%s' is not N, FROM:TO or FROM:TO:FACTOR", text);
    }
    pto_series_t made = {0};
    if (count > 1) {
        pto_status_t status = pto_series_range(number[0], number[1], number[2], &made, err);
        if (status != PTO_OK)
            return status;
    } else {
        made.value = malloc(sizeof *made.value);
        if (!made.value)
            return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
        made.value[0] = number[0];
        made.count = 1;
    }
    pto_series_fini(series);
    *series = made;
    return PTO_OK;
}

static pto_status_t parse_count(const char *text, int64_t *count, pto_error_t *err) {
    pto_status_t status = pto_int64_parse(text, count, err);
    if (status == PTO_OK && *count < 1)
        return pto_error_set(err, PTO_ERR_RANGE, "%s is not a number of 1 or more", text);
    return status;
}

static bool is_readable(const char *path) {
    FILE *file = fopen(path, "r");
    if (file)
        fclose(file);
    return file != NULL;
}

/* A path as it is, else the name of a machine. */
static pto_status_t apply_machine(pto_options_t *options, const char *text, pto_error_t *err) {
    char folder[PTO_FOLDER_MAX], path[2 * PTO_FOLDER_MAX];
    if (is_readable(text))
        return replace_text(&options->scenario.machine_path, text, err);
    for (int i = 0; pto_machine_folder(i, folder); i++) {
        int length = snprintf(path, sizeof path, "%s/%s.yaml", folder, text);
        if (length > 0 && (size_t)length < sizeof path && is_readable(path))
            return replace_text(&options->scenario.machine_path, path, err);
    }
    return pto_error_set(err, PTO_ERR_IO,
                         "no machine file '%s', nor a machine of that name; `portolan list` shows them",
                         text);
}

/* What the file says of the old collective alone does not hold for the new one. */
static void change_collective(pto_scenario_t *scenario, pto_collective_t collective) {
    const pto_scenario_field_t own[] = {PTO_FIELD_IMPLEMENTATION, PTO_FIELD_SPLIT, PTO_FIELD_MESSAGES,
                                        PTO_FIELD_UNIQUE_BYTES, PTO_FIELD_COUNTS};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        scenario->place[own[i]] = (pto_place_t){0};
    scenario->collective = collective;
    scenario->implementation = PTO_IMPLEMENTATION_LIBRARY;
    scenario->has_split = false;
    pto_series_fini(&scenario->messages);
    scenario->unique_bytes = 0;
    pto_counts_fini(&scenario->counts);
    scenario->counts = (pto_counts_t){.kind = PTO_COUNTS_EQUAL};
}

static pto_status_t apply_collective(pto_options_t *options, const char *text, pto_error_t *err) {
    int found = 0;
    pto_status_t status = parse_name(text, "collective", PTO_COLLECTIVE_COUNT, collective_at, &found, err);
    if (status == PTO_OK && options->scenario.collective != (pto_collective_t)found)
        change_collective(&options->scenario, (pto_collective_t)found);
    return status;
}

static pto_status_t apply_implementation(pto_options_t *options, const char *text, pto_error_t *err) {
    int found = 0;
    pto_status_t status =
        parse_name(text, "implementation", PTO_IMPLEMENTATION_COUNT, implementation_at, &found, err);
    options->scenario.implementation = (pto_implementation_t)found;
    return status;
}

static pto_status_t apply_split(pto_options_t *options, const char *text, pto_error_t *err) {
    int found = 0;
    pto_status_t status = parse_name(text, "split", PTO_SPLIT_COUNT, split_at, &found, err);
    options->scenario.split = (pto_split_t)found;
    options->scenario.has_split = true;
    return status;
}

static pto_status_t apply_datatype(pto_options_t *options, const char *text, pto_error_t *err) {
    int found = 0;
    pto_status_t status = parse_name(text, "datatype", PTO_DATATYPE_COUNT, datatype_at, &found, err);
    options->scenario.datatype = (pto_datatype_t)found;
    return status;
}

static pto_status_t apply_format(pto_options_t *options, const char *text, pto_error_t *err) {
    int found = 0;
    pto_status_t status = parse_name(text, "format", PTO_FORMAT_COUNT, format_at, &found, err);
    options->format = (pto_format_t)found;
    return status;
}

static pto_status_t apply_nodes(pto_options_t *options, const char *text, pto_error_t *err) {
    pto_status_t status = parse_series(text, &options->scenario.nodes, err);
    if (status == PTO_OK)
        options->scenario.layout.nodes = options->scenario.nodes.value[0];
    return status;
}

static pto_status_t apply_bytes(pto_options_t *options, const char *text, pto_error_t *err) {
    return parse_series(text, &options->scenario.bytes, err);
}

static pto_status_t apply_messages(pto_options_t *options, const char *text, pto_error_t *err) {
    return parse_series(text, &options->scenario.messages, err);
}

static pto_status_t apply_unique_bytes(pto_options_t *options, const char *text, pto_error_t *err) {
    return pto_bytes_parse(text, &options->scenario.unique_bytes, err);
}

static pto_status_t apply_gpus(pto_options_t *options, const char *text, pto_error_t *err) {
    return parse_count(text, &options->scenario.layout.gpus_per_node, err);
}

static pto_status_t apply_cores(pto_options_t *options, const char *text, pto_error_t *err) {
    return parse_count(text, &options->scenario.layout.cores_per_gpu, err);
}

static pto_status_t apply_owners(pto_options_t *options, const char *text, pto_error_t *err) {
    return parse_count(text, &options->scenario.layout.owners_per_gpu, err);
}

/* One name or several between commas; the first --strategy replaces the scenario's list. */
static pto_status_t apply_strategy(pto_options_t *options, const char *text, pto_error_t *err) {
    pto_scenario_t *scenario = &options->scenario;
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

static pto_status_t apply_library(pto_options_t *options, const char *text, pto_error_t *err) {
    pto_library_choice_t *library = &options->scenario.library;
    library->best = strcmp(text, "best") == 0;
    if (!library->best)
        return replace_text(&library->name, text, err);
    free(library->name);
    library->name = NULL;
    return PTO_OK;
}

/* equal, or skew:FRACTION:SEED, or a CSV file. */
static pto_status_t apply_counts(pto_options_t *options, const char *text, pto_error_t *err) {
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
    } else if (strcmp(text, "equal") != 0) {
        status = pto_counts_read_matrix(text, &made, err);
        pto_series_fini(&options->scenario.bytes);
    }
    if (status != PTO_OK)
        return status;
    pto_counts_fini(&options->scenario.counts);
    options->scenario.counts = made;
    return PTO_OK;
}

static pto_status_t apply_model(pto_options_t *options, const char *text, pto_error_t *err) {
    (void)err;
    options->model = text;
    return PTO_OK;
}

/* Kept till the machine is read: only that knows its parameters. */
static pto_status_t apply_what_if(pto_options_t *options, const char *text, pto_error_t *err) {
    const char **grown =
        realloc(options->what_if, ((size_t)options->what_if_count + 1) * sizeof *options->what_if);
    if (!grown)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    options->what_if = grown;
    options->what_if[options->what_if_count++] = text;
    return PTO_OK;
}

static pto_status_t apply_explain(pto_options_t *options, const char *text, pto_error_t *err) {
    (void)text;
    (void)err;
    options->explain = true;
    return PTO_OK;
}

static pto_status_t apply_energy(pto_options_t *options, const char *text, pto_error_t *err) {
    (void)text;
    (void)err;
    options->by = PTO_BY_ENERGY;
    return PTO_OK;
}

static const char *by_at(int i) { return pto_by_name((pto_by_t)i); }

static pto_status_t apply_by(pto_options_t *options, const char *text, pto_error_t *err) {
    int found = 0;
    pto_status_t status = parse_name(text, "measure", PTO_BY_COUNT, by_at, &found, err);
    options->by = (pto_by_t)found;
    return status;
}

static pto_status_t apply_unroll(pto_options_t *options, const char *text, pto_error_t *err) {
    (void)text;
    (void)err;
    options->unroll = true;
    return PTO_OK;
}

static pto_status_t apply_plot(pto_options_t *options, const char *text, pto_error_t *err) {
    (void)err;
    options->plot = text;
    return PTO_OK;
}

static pto_status_t apply_measured(pto_options_t *options, const char *text, pto_error_t *err) {
    (void)err;
    options->measured = text;
    return PTO_OK;
}

static pto_status_t apply_rank(pto_options_t *options, const char *text, pto_error_t *err) {
    pto_status_t status = pto_int64_parse(text, &options->rank, err);
    return status == PTO_OK && options->rank < 0
               ? pto_error_set(err, PTO_ERR_RANGE, "rank %s is negative", text)
               : status;
}

static pto_status_t apply_trace(pto_options_t *options, const char *text, pto_error_t *err) {
    (void)err;
    options->trace = text;
    return PTO_OK;
}

static pto_status_t apply_trace_events(pto_options_t *options, const char *text, pto_error_t *err) {
    return parse_count(text, &options->trace_events, err);
}

static pto_status_t apply_limit(pto_options_t *options, const char *text, pto_error_t *err) {
    return parse_count(text, &options->limit, err);
}

/* --- the table ------------------------------------------------------------------------------------------ */

const pto_option_t pto_option_table[] = {
    {"machine", "FILE|NAME", "the machine file, or the name of one that `portolan list` shows", apply_machine,
     0, PTO_FIELD_MACHINE},
    {"collective", "NAME", "allreduce, reduce, broadcast, alltoall, alltoallv or messages", apply_collective,
     0, PTO_FIELD_COLLECTIVE},
    {"implementation", "NAME", "alltoallv: library (MPI's own) or isend_irecv", apply_implementation, 0,
     PTO_FIELD_IMPLEMENTATION},
    {"nodes", "N|FROM:TO", "nodes; a range sweeps over them by factors of 2 (FROM:TO:FACTOR for others)",
     apply_nodes, 0, PTO_FIELD_NODES},
    {"gpus-per-node", "N", "GPUs of a node that take part (default: the machine's)", apply_gpus, 0,
     PTO_FIELD_LAYOUT},
    {"cores-per-gpu", "N", "processes of a GPU (default: the machine's cores shared out)", apply_cores, 0,
     PTO_FIELD_LAYOUT},
    {"owners-per-gpu", "N", "processes of a GPU that hold user data (default 1)", apply_owners, 0,
     PTO_FIELD_LAYOUT},
    {"bytes", "N|FROM:TO", "bytes per destination, per message, or of allreduce's vector; 64KiB is read too",
     apply_bytes, 0, PTO_FIELD_BYTES},
    {"messages", "N|FROM:TO", "messages: how many each GPU sends", apply_messages, 0, PTO_FIELD_MESSAGES},
    {"unique-bytes", "N", "messages: bytes of a GPU's messages that differ, the rest are duplicates",
     apply_unique_bytes, 0, PTO_FIELD_UNIQUE_BYTES},
    {"counts", "equal|skew:X:SEED|FILE.csv", "alltoallv: equal, random within +-X, or a matrix of bytes",
     apply_counts, 0, PTO_FIELD_COUNTS},
    {"datatype", "NAME", "byte, int32, int64, float (default) or double", apply_datatype, 0,
     PTO_FIELD_DATATYPE},
    {"split", "bytes|destinations", "what split strategies share out among a GPU's processes", apply_split, 0,
     PTO_FIELD_SPLIT},
    {"strategy", "NAME[,NAME]", "only these strategies (repeatable)", apply_strategy, 0,
     PTO_FIELD_STRATEGIES},
    {"library", "best|ALGORITHM", "the algorithm that stands for the MPI library's own", apply_library, 0,
     PTO_FIELD_LIBRARY},
    {"model", "full|published[+TERM]", "only the papers' terms, and those added to them: `portolan list`",
     apply_model, 0, PTO_FIELD_COUNT},
    {"what-if", "PARAMETER=VALUE", "change a parameter (repeatable); *2 and /10 are relative", apply_what_if,
     0, PTO_FIELD_COUNT},
    {"format", "table|csv|json", "how to print (default table)", apply_format, PTO_OPTION_FORMAT,
     PTO_FIELD_COUNT},
    {"explain", NULL, "break every price into its terms: stage, parameter, line of the machine file",
     apply_explain, PTO_OPTION_EXPLAIN, PTO_FIELD_COUNT},
    {"energy", NULL, "joules, by the machine file's powers, beside or instead of times", apply_energy,
     PTO_OPTION_ENERGY, PTO_FIELD_COUNT},
    {"by", "time|energy|product", "what the cheapest has the least of (default time; product: of both)",
     apply_by, PTO_OPTION_BY, PTO_FIELD_COUNT},
    {"plot", "FILE.svg|png", "draw the prediction (needs gnuplot)", apply_plot, PTO_OPTION_PLOT,
     PTO_FIELD_COUNT},
    {"measured", "FILE.csv", "measured collectives, drawn as points of --plot", apply_measured,
     PTO_OPTION_PLOT, PTO_FIELD_COUNT},
    {"trace", "FILE.json", "write the simulation's events in the Chrome trace format", apply_trace,
     PTO_OPTION_TRACE, PTO_FIELD_COUNT},
    {"trace-events", "N", "write at most so many (default 1000000)", apply_trace_events, PTO_OPTION_TRACE,
     PTO_FIELD_COUNT},
    {"limit", "N", "simulate plans of up to so many messages (default 100000000)", apply_limit,
     PTO_OPTION_TRACE, PTO_FIELD_COUNT},
    {"rank", "R", "whose part to print (default 0)", apply_rank, PTO_OPTION_RANK, PTO_FIELD_COUNT},
    {"unroll", NULL, "print every iteration of loops", apply_unroll, PTO_OPTION_RANK, PTO_FIELD_COUNT},
};

const int pto_option_count = (int)(sizeof pto_option_table / sizeof *pto_option_table);
