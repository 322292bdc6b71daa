/* Rules for NCCL through the tuner plugin of tuner/: ring or tree, and the protocol, for allreduces on
 * several nodes. They are priced by the structure that extrapolates NCCL's times (model/src/price/nccl.c).
 * Where the machine file has measured times for the numbers of GPUs and nodes, there are no rules: these are
 * the times of NCCL's own choice, and those of other choices are unknown. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "export.h"
#include "machine/machine_internal.h"
#include "portolan/machine.h"
#include "price/nccl.h"
#include "rules.h"

/* `id` is a pto_nccl_algorithm_t times PTO_NCCL_PROTOCOL_COUNT and a pto_nccl_protocol_t. */
#define ROW(algorithm_, protocol_, name_)                                                                    \
    {                                                                                                        \
        .id = PTO_NCCL_ALGORITHM_##algorithm_ * PTO_NCCL_PROTOCOL_COUNT + PTO_NCCL_PROTOCOL_##protocol_,     \
        .name = (name_)                                                                                      \
    }

static const pto_export_collective_t collectives[] = {
    {.collective = PTO_COLLECTIVE_ALLREDUCE,
     .name = "allreduce",
     .strategy = "nccl",
     .algorithm = {ROW(RING, LL, "ring,ll"), ROW(RING, LL128, "ring,ll128"), ROW(RING, SIMPLE, "ring,simple"),
                   ROW(TREE, LL, "tree,ll"), ROW(TREE, LL128, "tree,ll128"),
                   ROW(TREE, SIMPLE, "tree,simple")}},
    {.name = NULL}};

/* Sets the route (price/nccl.h) by which an algorithm is priced for a call. False if there is none, or if the
 * machine file has no cost of bytes between nodes, without which ring and tree cannot be compared. */
static bool find_route(const pto_export_t *export, const pto_export_table_t *table,
                       pto_nccl_algorithm_t algorithm, int64_t bytes, pto_nccl_route_t *route) {
    const pto_machine_t *machine = export->options.machine;
    pto_nccl_job_t job = {table->ranks, table->nodes};
    return table->nodes > 1 && pto_nccl_has_network(machine) &&
           pto_nccl_extrapolated(machine, PTO_NCCL_ALLREDUCE, algorithm, job, (double)bytes, route);
}

/* Whether prices are based on NCCL's constants and the links' rates alone, without a measurement. NCCL has
 * the same inputs, so that a rule that differs from its choice would only show what the model omits. */
static bool is_known_to_nccl(const pto_nccl_route_t *ring) {
    return ring->base.nodes == 1 && ring->row->postal.sample_count == 0;
}

/* The price of an algorithm with its protocol. Unless `any_protocol`, a protocol other than the one that NCCL
 * uses for this algorithm and size has the price INFINITY. */
static double price_of(const pto_export_t *export, const pto_export_table_t *table,
                       const pto_export_algorithm_t *algorithm, int64_t bytes, bool any_protocol) {
    pto_nccl_route_t route;
    const int protocol = algorithm->id % PTO_NCCL_PROTOCOL_COUNT;
    pto_nccl_algorithm_t kind = (pto_nccl_algorithm_t)(algorithm->id / PTO_NCCL_PROTOCOL_COUNT);
    if (!find_route(export, table, kind, bytes, &route))
        return INFINITY;
    if (!any_protocol && (int)route.protocol != protocol)
        return INFINITY;
    return pto_nccl_route_s(export->options.machine, PTO_NCCL_ALLREDUCE, &route) + route.more_s[protocol];
}

/* Rules that are written have the protocol that NCCL would use; those of a checked file may name any. */
static double price(const pto_export_t *export, const pto_export_table_t *table,
                    const pto_export_algorithm_t *algorithm, int64_t bytes) {
    return price_of(export, table, algorithm, bytes, export->check != NULL);
}

/* NCCL's own choice. If NCCL knows all inputs of the prices, it chooses the cheaper of ring and tree.
 * Otherwise its choice is unknown; the slower one is assumed, so that there is a rule where their prices
 * differ. */
static pto_export_rule_t choice_of_nccl(const pto_export_t *export, const pto_export_table_t *table,
                                        int64_t bytes) {
    const pto_export_algorithm_t *algorithm = table->collective->algorithm;
    pto_nccl_route_t ring;
    const bool takes_cheaper =
        find_route(export, table, PTO_NCCL_ALGORITHM_RING, 1, &ring) && is_known_to_nccl(&ring);
    pto_export_rule_t rule = {.from_bytes = bytes};
    double chosen_s = 0;
    for (; algorithm->name; algorithm++) {
        double seconds = price_of(export, table, algorithm, bytes, false);
        if (isfinite(seconds) && (!rule.algorithm || (seconds < chosen_s) == takes_cheaper)) {
            rule.algorithm = algorithm;
            chosen_s = seconds;
        }
    }
    return rule;
}

static pto_status_t write_rules(const pto_export_t *export, FILE *stream, pto_error_t *err) {
    (void)err;
    fprintf(stream, "#keep nvls,nvls_tree,collnet_direct,collnet_chain\n"
                    "#collective,min_bytes,max_bytes,algorithm,protocol,channels,nodes,ranks\n");
    for (int t = 0; t < export->table_count; t++) {
        const pto_export_table_t *table = &export->table[t];
        for (int i = 0; i + 1 < table->rule_count; i++)
            if (table->rule[i].algorithm)
                fprintf(stream, "%s,%" PRId64 ",%" PRId64 ",%s,0,%" PRId64 ",%" PRId64 "\n",
                        table->collective->name, table->rule[i].from_bytes, table->rule[i + 1].from_bytes - 1,
                        table->rule[i].algorithm->name, table->nodes, table->ranks);
    }
    return PTO_OK;
}

/* Writes a line on why a table has no rules, if there is a reason besides the prices. */
static void write_reason(const pto_export_t *export, const pto_export_table_t *table, FILE *stream) {
    const pto_machine_t *machine = export->options.machine;
    pto_nccl_route_t ring;
    const char *reason = NULL;
    if (table->nodes == 1)
        reason = "ring and tree are only compared between nodes";
    else if (!pto_nccl_has_network(machine))
        reason = "the machine file has no cost of GPU messages between nodes";
    else if (pto_machine_nccl(machine, PTO_NCCL_ALLREDUCE, table->ranks, table->nodes, 1))
        reason = "was measured, with NCCL's own choice";
    else if (!find_route(export, table, PTO_NCCL_ALGORITHM_RING, 1, &ring))
        reason = "the machine file has no NCCL allreduce, or no nccl.simple_bytes to extrapolate it by";
    else if (is_known_to_nccl(&ring))
        reason = "NCCL was not measured, so prices are by what NCCL knows itself";
    if (reason)
        fprintf(stream, "%s on %" PRId64 " ranks of %" PRId64 " node%s: %s\n", table->collective->name,
                table->ranks, table->nodes, table->nodes > 1 ? "s" : "", reason);
}

static pto_status_t write_notes(const pto_export_t *export, FILE *stream, pto_error_t *err) {
    (void)err;
    fputs("use: NCCL_TUNER_PLUGIN=libportolan-nccl-tuner.so NCCL_TUNER_CONFIG_FILE=FILE ./program\n"
          "communicators of as many ranks and nodes take these rules, others are NCCL's\n"
          "NCCL_GRAPH_MIXING_SUPPORT=0 beside them forbids captured and other calls of a communicator at the "
          "same time; on two H200s it saves 1.3 to 7.3 us of an allreduce in a CUDA graph (docs/acting.md)\n"
          "not expressed:\n"
          "NVLS, CollNet and PAT: they have no price; calls for which NCCL prefers them are left to it\n"
          "other collectives: NCCL runs them by a ring, or by algorithms without a price, and alltoalls "
          "without asking\n"
          "numbers of channels, and the protocol where ring and tree cost the same\n",
          stream);
    for (int i = 0; i < export->table_count; i++)
        write_reason(export, &export->table[i], stream);
    return PTO_OK;
}

/* A file is read by the plugin's own reader (tuner/rules.h). The first rule that matches a call applies. The
 * calls that are checked are not grouped, and their buffers are not registered. Whether NCCL can run an
 * algorithm, or prefers one of the line #keep, is not known here. The enumerators are NCCL's numbers. */
enum { NCCL_TREE = 0, NCCL_RING = 1, NCCL_ALLREDUCE = 4 };

static const pto_export_algorithm_t *algorithm_of(const pto_export_collective_t *collective,
                                                  const tuner_rule_t *rule) {
    if (rule->algorithm != NCCL_RING && rule->algorithm != NCCL_TREE)
        return NULL;
    int kind = rule->algorithm == NCCL_RING ? PTO_NCCL_ALGORITHM_RING : PTO_NCCL_ALGORITHM_TREE;
    return pto_export_algorithm_of_id(collective, kind * PTO_NCCL_PROTOCOL_COUNT + rule->protocol);
}

static bool is_for(const tuner_rule_t *rule, const pto_export_table_t *table) {
    return rule->function == NCCL_ALLREDUCE && (rule->nodes < 0 || rule->nodes == table->nodes) &&
           (rule->ranks < 0 || rule->ranks == table->ranks) &&
           (rule->pipe_operations < 0 || rule->pipe_operations == 1) &&
           (rule->registered < 0 || rule->registered == 0);
}

static pto_status_t fill_table(const tuner_rules_t *rules, const char *path, pto_export_table_t *table,
                               pto_error_t *err) {
    pto_export_entry_t *entry = malloc(((size_t)rules->count + 1) * sizeof *entry);
    size_t count = 0;
    if (!entry)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for rules");
    for (int i = 0; i < rules->count; i++) {
        const tuner_rule_t *rule = &rules->rule[i];
        if (!is_for(rule, table) || rule->first_bytes > INT64_MAX)
            continue;
        const uint64_t last_bytes = rule->last_bytes < INT64_MAX ? rule->last_bytes : INT64_MAX;
        pto_export_rule_t *named = &entry[count].rule;
        entry[count++].bytes = (pto_export_range_t){(int64_t)rule->first_bytes, (int64_t)last_bytes};
        *named = (pto_export_rule_t){.algorithm = algorithm_of(table->collective, rule)};
        if (!named->algorithm)
            snprintf(named->unpriced, sizeof named->unpriced, "an algorithm without a price");
    }
    const bool fits = pto_export_fill(table, entry, count);
    free(entry);
    return fits ? PTO_OK
                : pto_error_set_at(err, PTO_ERR_RANGE, path, 0, 0, "more than %d ranges of sizes",
                                   PTO_EXPORT_RULES_MAX);
}

static pto_status_t read_file(const pto_export_file_t *file, pto_export_t *export, pto_error_t *err) {
    tuner_rules_t rules;
    tuner_fault_t fault;
    pto_status_t status = PTO_OK;
    if (!tuner_rules_read(file->text, file->size, &rules, &fault)) {
        status = pto_export_refuse_variables(
            file, "NCCL_",
            "a variable of the environment, which NCCL reads itself; --check reads rules of the tuner "
            "plugin, as `portolan export --for nccl` writes them",
            err);
        return status != PTO_OK
                   ? status
                   : pto_error_set_at(err, PTO_ERR_SYNTAX, file->path, fault.line, 1, "%s", fault.message);
    }
    for (int t = 0; t < export->table_count && status == PTO_OK; t++)
        status = fill_table(&rules, file->path, &export->table[t], err);
    tuner_rules_fini(&rules);
    return status;
}

const pto_export_target_t pto_export_nccl = {.name = "nccl",
                                             .collective = collectives,
                                             .bytes_max = 1 << 20,
                                             .gpus_only = true,
                                             .has_comments = true,
                                             .default_rule = choice_of_nccl,
                                             .price = price,
                                             .write = write_rules,
                                             .write_notes = write_notes,
                                             .read = read_file};
