/* portolan map: proposes and prices placements of an alltoallv's processes on GPUs, and writes the best one
 * for launchers. The mappers that propose, and pto_map, which prices and improves, are in map.h. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "command.h"
#include "command_line/machine_folders.h"
#include "command_line/terminal.h"
#include "export/placement_export.h"
#include "machine/machine_internal.h"
#include "portolan/map.h"
#include "portolan/topology.h"
#include "portolan/units.h"
#include "show/table.h"

static const char usage[] =
    "usage: portolan map [SCENARIO.yaml|TRAFFIC.csv] [OPTIONS]\n\n"
    "Proposes places for the processes of an alltoallv whose counts differ, so that those that send each\n"
    "other much are near each other. Every proposal is priced at the scenario's first point, and the best\n"
    "one is improved by swaps. The default stays unless another is predicted to be faster. The profiler's\n"
    "traffic, or another file of counts, is a scenario but for the machine and the layout.\n\n"
    "  portolan map portolan-traffic.csv --machine summit-spectrum --nodes 4 --gpus-per-node 4\n"
    "  portolan map --machine summit-spectrum --collective alltoallv --implementation isend_irecv --nodes 4 "
    "--gpus-per-node 4 --bytes 1MiB --counts '{pattern: groups, dims: [4, 4]}' --out placement.csv\n"
    "  portolan map exchange.yaml --with greedy,exact --phases node,core,gpu --rankfile ranks.txt --hosts "
    "alpha,beta\n";

typedef struct {
    pto_options_t shared;
    int metric, seeds;
    int64_t seed, refine;
    /* lists of names, and files, borrowed from argv; NULL: not given */
    const char *mappers, *phases;
    const char *file[PTO_PLACEMENT_COUNT], *hosts;
} map_options_t;

static const char *mapper_at(int i) { return i < pto_mapper_count() ? pto_mapper_at(i)->name : NULL; }

static PTO_NAME_LIST(metric_at, pto_metric_t, 0, PTO_METRIC_COUNT, pto_metric_name);
static PTO_NAME_LIST(phase_at, pto_phase_t, 0, PTO_PHASE_COUNT, pto_phase_name);

/* auto, or a number of prices. */
static pto_status_t apply_refine(void *target, const char *text, pto_error_t *err) {
    int64_t *refine = &((map_options_t *)target)->refine;
    *refine = -1;
    if (strcmp(text, "auto") == 0)
        return PTO_OK;
    pto_status_t status = pto_int64_parse(text, refine, err);
    if (status == PTO_OK && *refine < 0)
        return pto_error_set(err, PTO_ERR_RANGE, "%s is negative", text);
    return status;
}

#define STORE(form, member) PTO_STORE(form, map_options_t, member)

static const pto_option_t map_options[] = {
    {"with", "NAME[,NAME]", "only these mappers, besides the default (`portolan list` shows them)",
     STORE(TEXT, mappers), .word_at = mapper_at},
    {"metric", "NAME", "what the mappers minimise, times volume: latency, bandwidth, distance or price",
     STORE(WORD, metric), .standard = "price", .word_at = metric_at},
    {"phases", "NAME[,NAME]", "also map in phases: to nodes (node), sockets (core) and GPUs (gpu)",
     STORE(TEXT, phases), .standard = "node,core,gpu", .word_at = phase_at},
    {"seed", "N", "the first seed of mappers that depend on one", STORE(NATURAL, seed), .standard = "0"},
    {"seeds", "N", "how many seeds they are given", STORE(INT, seeds), .most = 20, .standard = "4"},
    {"refine", "auto|N", "how many swaps of the best mapping are priced", .apply = apply_refine,
     .standard = "auto"},
    {"out", "FILE.csv", "write the placement", STORE(TEXT, file[PTO_PLACEMENT_CSV])},
    {"rankfile", "FILE", "write it for Open MPI's --rankfile", STORE(TEXT, file[PTO_PLACEMENT_RANKFILE])},
    {"slurm-hosts", "FILE", "write it as SLURM_HOSTFILE of srun --distribution=arbitrary",
     STORE(TEXT, file[PTO_PLACEMENT_SLURM])},
    {"cuda-devices", "FILE", "write CUDA_VISIBLE_DEVICES of rank r in line r + 1",
     STORE(TEXT, file[PTO_PLACEMENT_CUDA])},
    {"hosts", "NAME[,NAME]", "the nodes' names in these files", STORE(TEXT, hosts)},
    {"force", NULL, "replace existing files", STORE(FLAG, shared.force)},
    {.name = NULL}};

static const pto_syntax_t syntax = PTO_SCENARIO_SYNTAX("portolan map", usage, PTO_NAMES_SCENARIOS,
                                                       {"options", map_options}, {NULL, pto_work_options});

/* Whether a comma-separated list of names contains this one. */
static bool has_name(const char *list, const char *name) {
    const size_t length = strlen(name);
    for (const char *item = list; *item != '\0';) {
        const size_t item_length = strcspn(item, ",");
        if (item_length == length && strncmp(item, name, length) == 0)
            return true;
        item += item_length + (item[item_length] == ',');
    }
    return false;
}

/* Call `find` for each name of the list, until one fails. */
static pto_status_t check_names(const char *list, pto_status_t (*find)(const char *, pto_error_t *),
                                pto_error_t *err) {
    char name[64];
    while (list && *list) {
        size_t length = strcspn(list, ",");
        snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), list);
        pto_status_t status = find(name, err);
        if (status != PTO_OK)
            return status;
        list += length + (list[length] == ',');
    }
    return PTO_OK;
}

static pto_status_t find_mapper(const char *name, pto_error_t *err) {
    const pto_mapper_t *found;
    pto_status_t status = pto_mapper_find(name, &found, err);
    if (status != PTO_OK && strcmp(name, "scotch") == 0)
        return pto_error_set(err, status,
                             "the mapper scotch needs libportolan-map.so, which is not installed; `make` "
                             "builds it where libscotch-dev is");
    return status;
}

static pto_status_t find_phase(const char *name, pto_error_t *err) {
    for (int phase = 0; phase < PTO_PHASE_COUNT; phase++)
        if (strcmp(name, pto_phase_name((pto_phase_t)phase)) == 0)
            return PTO_OK;
    return pto_error_set(err, PTO_ERR_NOT_FOUND, "--phases: no phase '%s'; known are: node, core, gpu", name);
}

/* Make the library's options of the command's. `mapper`, which has room for all mappers, gets the selected
 * ones. */
static pto_status_t read_request(map_options_t *options, const pto_mapper_t **mapper,
                                 pto_map_options_t *request, pto_error_t *err) {
    pto_status_t status = check_names(options->mappers, find_mapper, err);
    if (status == PTO_OK)
        status = check_names(options->phases, find_phase, err);
    options->shared.by_option = status != PTO_OK;
    *request = (pto_map_options_t){.metric = (pto_metric_t)options->metric,
                                   .mapper = mapper,
                                   .seeds = options->seeds,
                                   .seed = (uint64_t)options->seed,
                                   .refine = options->refine};
    for (int i = 0; i < pto_mapper_count(); i++)
        if (!options->mappers || has_name(options->mappers, pto_mapper_at(i)->name))
            mapper[request->mapper_count++] = pto_mapper_at(i);
    for (int phase = 0; phase < PTO_PHASE_COUNT; phase++)
        request->phase[phase] =
            options->phases && has_name(options->phases, pto_phase_name((pto_phase_t)phase));
    return status;
}

static void print_head(const map_options_t *options, const pto_map_result_t *result) {
    const pto_scenario_t *scenario = &options->shared.scenario;
    char text[256];
    printf("# portolan map: %s of %s\n", pto_collective_name(scenario->collective),
           PTO_BYTES_TEXT(scenario->bytes.value[0]));
    if (*pto_counts_describe(&scenario->counts, text, sizeof text))
        pto_print_head(stdout, "counts", "%s", text);
    printf("# machine    %s\n# layout     %lld nodes x %lld GPUs x %lld owners\n",
           pto_machine_name(options->shared.machine), (long long)result->places.nodes,
           (long long)result->places.gpus, (long long)result->places.cores);
    printf("# metric     %s\n", pto_metric_name((pto_metric_t)options->metric));
    pto_print_changes(stdout, options->shared.machine);
}

static void print_candidates(const pto_map_result_t *result) {
    const double default_s = result->candidate[0].seconds;
    printf("# %-27s %8s %8s %12s  %s\n", "Mapping", "Time", "Gain", "Sum", "Strategy");
    for (int i = 0; i < result->count; i++) {
        const pto_map_candidate_t *candidate = &result->candidate[i];
        if (!candidate->place)
            continue;
        double gain = default_s > 0 ? 100 * (1 - candidate->seconds / default_s) : 0;
        printf("%-29s %8s %7.1f%% %12.6g  %s%s\n", candidate->name, PTO_SECONDS_TEXT(candidate->seconds),
               gain > -0.05 && gain < 0.05 ? 0 : gain, candidate->sum, candidate->strategy->name,
               i == result->best ? " *" : "");
    }
    for (int i = 0; i < result->count; i++)
        if (!result->candidate[i].place)
            pto_print_note(stdout, "%s does not apply: %s", result->candidate[i].name,
                           result->candidate[i].reason);
    puts("# *: chosen");
    if (result->best == 0)
        printf("# no mapping is predicted to be faster than the default, which stays\n");
}

static void print_link(const char *name, const char *other, double before_bytes, double after_bytes) {
    printf("%-12s -> %-12s %15s %15s\n", name, other, PTO_BYTES_TEXT((int64_t)before_bytes),
           PTO_BYTES_TEXT((int64_t)after_bytes));
}

/* Print the bytes on each link by the default and by the chosen placement, of the node with the most. In the
 * order of pto_map_loads, `load` begins with the links of the topology. Two entries for each level of the
 * network follow, the first of which is the nodes: the bytes that leave, and those that enter. */
static pto_status_t print_loads(const map_options_t *options, const pto_map_result_t *result,
                                pto_error_t *err) {
    const pto_topology_t *topology = pto_machine_topology(options->shared.machine);
    int count = pto_map_link_count(options->shared.machine);
    double *load = calloc(2 * (size_t)count, sizeof *load);
    if (!load)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for the loads of %d links", count);
    double *after = load + count; /* the second half is for the chosen placement */
    pto_map_loads(&result->flows, options->shared.machine, &result->places, result->candidate[0].place, load);
    pto_map_loads(&result->flows, options->shared.machine, &result->places,
                  result->candidate[result->best].place, after);
    printf("\n# Bytes on the busiest node's links\n# %-26s %15s %15s\n", "Link", "Default", "Chosen");
    int links = count - 2 * (result->places.top + 1);
    for (int i = 0; i < links; i++) {
        const pto_topology_link_t *link = pto_topology_link_at(topology, i);
        print_link(pto_topology_vertex_name(topology, link->from),
                   pto_topology_vertex_name(topology, link->to), load[i], after[i]);
    }
    for (int level = 0; level <= result->places.top; level++) {
        int i = links + 2 * level;
        char nodes[32] = "node";
        if (level > 0)
            snprintf(nodes, sizeof nodes, "%lld nodes", (long long)result->places.group_nodes[level]);
        print_link(nodes, "network", load[i], after[i]);
        print_link("network", nodes, load[i + 1], after[i + 1]);
    }
    free(load);
    return PTO_OK;
}

static void print_mapping(const pto_mapping_t *mapping, const pto_places_t *places) {
    int64_t per_node = places->gpus * places->cores;
    printf("\nProcesses by GPU%s\n", places->cores > 1 ? ", those of one GPU joined by +" : "");
    for (int64_t owner = 0; owner < mapping->count; owner++) {
        if (owner % per_node == 0)
            printf("node %-6lld", (long long)(owner / per_node));
        printf("%s%lld", owner % places->cores ? "+" : " ", (long long)mapping->process[owner]);
        if ((owner + 1) % per_node == 0)
            printf("\n");
    }
}

static pto_status_t write_files(const map_options_t *options, const pto_mapping_t *mapping,
                                pto_error_t *err) {
    const pto_machine_t *machine = options->shared.machine;
    pto_status_t status = PTO_OK;
    const pto_placement_export_t export = {.mapping = mapping,
                                           .layout = &options->shared.scenario.layout,
                                           .hosts = options->hosts,
                                           .cores_per_socket = machine->node.cores / machine->node.sockets,
                                           .force = options->shared.force};
    for (int form = 0; form < PTO_PLACEMENT_COUNT && status == PTO_OK; form++)
        if (options->file[form])
            status = pto_placement_export(&export, (pto_placement_form_t)form, options->file[form], err);
    return status;
}

static pto_status_t report_result(map_options_t *options, const pto_map_result_t *result, pto_error_t *err) {
    pto_mapping_t mapping;
    pto_layout_t layout = options->shared.scenario.layout;
    pto_status_t status = pto_mapping_make(&layout, result->candidate[result->best].place, &mapping, err);
    if (status != PTO_OK)
        return status;
    print_head(options, result);
    print_candidates(result);
    status = print_loads(options, result, err);
    print_mapping(&mapping, &result->places);
    if (status == PTO_OK)
        status = write_files(options, &mapping, err);
    options->shared.by_option = status == PTO_ERR_RANGE; /* by --hosts or --procs-per-gpu */
    pto_mapping_fini(&mapping);
    return status;
}

/* Register the mapper scotch if libportolan-map.so is beside the program, in ../lib from there, or in the
 * system's library path. It stays loaded until the program ends. */
static void load_scotch(void) {
    static const char *const places[] = {"/", "/../lib/", NULL};
    char folder[PTO_FOLDER_MAX], path[PTO_FOLDER_MAX + 64];
    void *library = NULL;
    bool known = pto_program_folder(folder);
    for (int i = 0; places[i] && known && !library; i++) {
        snprintf(path, sizeof path, "%s%slibportolan-map.so", folder, places[i]);
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    if (!library)
        library = dlopen("libportolan-map.so", RTLD_NOW | RTLD_LOCAL);
    const pto_mapper_t *mapper = library ? dlsym(library, "pto_mapper_scotch") : NULL;
    if (mapper)
        pto_mapper_register(mapper, NULL); /* fails only if it is registered already */
}

static pto_status_t run(pto_options_t *shared, pto_error_t *err) {
    map_options_t *options = (map_options_t *)shared;
    load_scotch();
    const pto_mapper_t **mapper = calloc((size_t)pto_mapper_count(), sizeof *mapper);
    pto_map_options_t request;
    pto_map_result_t result;
    if (!mapper)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for the mappers");
    pto_status_t status = read_request(options, mapper, &request, err);
    if (status == PTO_OK)
        status = pto_map(&options->shared.scenario, options->shared.machine, &request, &result, err);
    if (status == PTO_OK) {
        status = report_result(options, &result, err);
        pto_map_result_fini(&result);
    }
    free(mapper);
    return status;
}

/* Standard output has the table, so no file may go there. */
static int check(const pto_options_t *shared) {
    const map_options_t *options = (const map_options_t *)shared;
    static const char *const option[PTO_PLACEMENT_COUNT] = {"out", "rankfile", "slurm-hosts", "cuda-devices"};
    int code = -1;
    for (int form = 0; form < PTO_PLACEMENT_COUNT && code < 0; form++)
        code = pto_refuse_standard_output(&syntax, option[form], options->file[form]);
    return code;
}

const pto_command_t pto_command_map = {.name = "map",
                                       .summary = "propose places for processes, and price them",
                                       .syntax = &syntax,
                                       .options_size = sizeof(map_options_t),
                                       .on_scenario = run,
                                       .check = check};
