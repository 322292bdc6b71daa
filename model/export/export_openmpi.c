/* Rules for Open MPI's component `tuned`: the classic file of 4.1 and 5.0, and the JSON of 6.0.
 *
 * Read in its sources (ompi/mca/coll/tuned/coll_tuned_dynamic_file.c, coll_tuned_decision_dynamic.c at
 * v4.1.4) and tried with 4.1.4: of each list the last entry applies that is not larger than the communicator
 * or the message. A communicator that is smaller than the first entry takes that entry, so that smaller ones
 * need an entry of their own, and so do larger ones. A message size that does not begin at 0 makes Open MPI
 * ignore the whole file, silently. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"

/* Reductions of GPU buffers are always staged through host memory (component `cuda`, in 6.0 `accelerator`);
 * the others' buffers reach `tuned` as they are. A ring that a file selects reduces in another order than
 * that of the ranks whatever the operation: only Open MPI's own choice asks whether it is commutative. The
 * linear allgathers are not named: they gather to process 0 and broadcast. A pipeline is named without
 * segments: its whole vector goes from process to process. */

/* clang-format off */
#define ALGORITHM(algorithm_, id_, name_) {.algorithm = (algorithm_), .id = (id_), .name = (name_)}
#define COLLECTIVE(collective_, id_, name_, strategy_, total_, ...) \
    {.collective = PTO_COLLECTIVE_##collective_, .id = (id_), .name = (name_), .strategy = (strategy_), .total = (total_), \
     .algorithm = {__VA_ARGS__}}
/* clang-format on */
const pto_export_collective_t pto_openmpi_collectives[] = {
    /* Not in JSON, whose list begins behind it. 4.1 looks up the mean of the blocks. */
    COLLECTIVE(ALLGATHERV, 1, "allgatherv", "cuda_aware", false, ALGORITHM("bruck", 2, "bruck"),
               ALGORITHM("ring", 3, "ring")),
    COLLECTIVE(ALLGATHER, 0, "allgather", "cuda_aware", true, ALGORITHM("bruck", 2, "bruck"),
               ALGORITHM("recursive_doubling", 3, "recursive_doubling"), ALGORITHM("ring", 4, "ring")),
    COLLECTIVE(ALLREDUCE, 2, "allreduce", "three_step", false,
               ALGORITHM("recursive_doubling", 3, "recursive_doubling"),
               {.algorithm = "ring", .id = 4, .name = "ring", .commutative = true},
               ALGORITHM("rabenseifner", 6, "rabenseifner")),
    COLLECTIVE(ALLTOALL, 3, "alltoall", "cuda_aware", true, ALGORITHM("linear", 1, "linear"),
               ALGORITHM("pairwise", 2, "pairwise"), ALGORITHM("bruck", 3, "modified_bruck")),
    COLLECTIVE(BROADCAST, 7, "bcast", "cuda_aware", false, ALGORITHM("linear", 1, "basic_linear"),
               ALGORITHM("chain", 3, "pipeline"), ALGORITHM("binomial_near_first", 6, "binomial"),
               ALGORITHM("scatter_allgather", 9, "scatter_allgather_ring")),
    COLLECTIVE(REDUCE, 11, "reduce", "three_step", false, ALGORITHM("linear", 1, "linear"),
               ALGORITHM("chain", 3, "pipeline"), ALGORITHM("binomial", 5, "binomial"),
               ALGORITHM("rabenseifner", 7, "rabenseifner")),
    {.name = NULL}};

/* The tables of one collective: [first, returned value). */
static int same_collective(const pto_export_t *export, int first) {
    int end = first + 1;
    while (end < export->table_count && export->table[end].collective == export->table[first].collective)
        end++;
    return end;
}

/* --- the classic file ----------------------------------------------------------------------------------- */

static void write_guard(FILE *stream, int64_t ranks, const char *which) {
    fprintf(stream, "%-12" PRId64 "# ranks, and %s: Open MPI decides\n1\n0 0 0 0\n", ranks, which);
}

static void write_table(FILE *stream, const pto_export_table_t *table) {
    fprintf(stream,
            "%-12" PRId64 "# ranks: %" PRId64 " node%s\n%-12d# sizes: from, algorithm, fan-out, segment\n",
            table->ranks, table->nodes, table->nodes > 1 ? "s" : "", table->rule_count);
    for (int i = 0; i < table->rule_count; i++) {
        const pto_export_rule_t *rule = &table->rule[i];
        int id = rule->algorithm ? rule->algorithm->id : 0;
        int written = fprintf(stream, "%" PRId64 " %d 0 0", pto_export_size(table, rule->from_bytes), id);
        fprintf(stream, "%*s# %s\n", written < 24 ? 24 - written : 1, "",
                rule->algorithm ? rule->algorithm->name : "Open MPI decides");
    }
}

/* Returns whether communicators just above a table's are covered by the next one. */
static bool needs_guard(const pto_export_t *export, int at, int end) {
    return at + 1 == end || export->table[at + 1].ranks != export->table[at].ranks + 1;
}

static void write_collective(const pto_export_t *export, FILE *stream, int first, int end) {
    int entries = export->table[first].ranks > 1;
    for (int i = first; i < end; i++)
        entries += 1 + needs_guard(export, i, end);
    const pto_export_collective_t *collective = export->table[first].collective;
    bool by_mean = pto_collective_is_by_owner(collective->collective);
    fprintf(stream, "%-12d# %s; sizes are bytes of the %s\n%-12d# numbers of ranks\n", collective->id,
            collective->name,
            collective->total ? "blocks of all ranks"
            : by_mean         ? "mean block"
                              : "vector",
            entries);
    if (export->table[first].ranks > 1)
        write_guard(stream, 1, "more");
    for (int i = first; i < end; i++) {
        write_table(stream, &export->table[i]);
        if (needs_guard(export, i, end))
            write_guard(stream, export->table[i].ranks + 1, "more");
    }
}

static pto_status_t write_classic(const pto_export_t *export, FILE *stream, pto_error_t *err) {
    (void)err;
    int count = 0;
    for (int i = 0; i < export->table_count; i = same_collective(export, i))
        count++;
    fprintf(stream, "%-12d# collectives\n", count);
    for (int i = 0, end; i < export->table_count; i = end) {
        end = same_collective(export, i);
        write_collective(export, stream, i, end);
    }
    return PTO_OK;
}

static pto_status_t write_limits(const pto_export_t *export, const char *but, FILE *stream,
                                 pto_error_t *err) {
    fputs("not expressed:\n"
          "alltoallv: Open MPI looks up all sizes as 0\n"
          "other algorithms of Open MPI's: portolan does not price them\n"
          "segments: all rules send a vector, or a part of one, as a whole\n",
          stream);
    if (!export->commutative)
        fputs("allreduce by ring: a file selects it for operations that are not commutative too, with "
              "wrong results (--commutative allows it)\n",
              stream);
    return pto_export_write_missed(export, but, stream, err);
}

static pto_status_t write_classic_notes(const pto_export_t *export, FILE *stream, pto_error_t *err) {
    fputs("use: mpirun --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_dynamic_rules_filename FILE\n"
          "before the first program, where mpirun starts several\n"
          "for Open MPI 4.1 and 5.0; 6.0 reads numbers of ranks otherwise (--for openmpi-6)\n"
          "communicators of the same number of ranks on other nodes take these rules too\n",
          stream);
    return write_limits(export, NULL, stream, err);
}

/* --- JSON ----------------------------------------------------------------------------------------------- */

static void write_json_rule(FILE *stream, const pto_export_table_t *table, int at) {
    const pto_export_rule_t *rule = &table->rule[at];
    fprintf(stream, "%s\n          {\"msg_size_min\": %" PRId64 ", \"msg_size_max\": ", at > 0 ? "," : "",
            pto_export_size(table, rule->from_bytes));
    if (at + 1 < table->rule_count)
        fprintf(stream, "%" PRId64, pto_export_size(table, rule[1].from_bytes) - 1);
    else
        fprintf(stream, "\"inf\"");
    if (rule->algorithm)
        fprintf(stream, ", \"alg\": \"%s\"}", rule->algorithm->name);
    else
        fprintf(stream, ", \"alg\": 0}");
}

static void write_json_table(const pto_export_t *export, FILE *stream, const pto_export_table_t *table,
                             bool first) {
    const char *distribution = table->nodes == 1                                    ? "single-node"
                               : export->options.scenario.layout.gpus_per_node == 1 ? "one-per-node"
                                                                                    : "any";
    fprintf(stream,
            "%s\n      {\"comm_size_min\": %" PRId64 ", \"comm_size_max\": %" PRId64
            ", \"comm_rank_distribution\": \"%s\",\n        \"rules\": [",
            first ? "" : ",", table->ranks, table->ranks, distribution);
    for (int i = 0; i < table->rule_count; i++)
        write_json_rule(stream, table, i);
    fprintf(stream, "]}");
}

static pto_status_t write_json(const pto_export_t *export, FILE *stream, pto_error_t *err) {
    (void)err;
    fprintf(stream, "{\"rule_file_version\": 3, \"module\": \"tuned\",\n  \"collectives\": {");
    for (int i = 0, end; i < export->table_count; i = end) {
        end = same_collective(export, i);
        fprintf(stream, "%s\n    \"%s\": [", i > 0 ? "," : "", export->table[i].collective->name);
        for (int at = i; at < end; at++)
            write_json_table(export, stream, &export->table[at], at == i);
        fprintf(stream, "]");
    }
    fprintf(stream, "}}\n");
    return PTO_OK;
}

/* Up to which size component `accelerator` should stage: bytes of the vector, of one rank's block, or to each
 * partner. It has one number for all communicators. */
static pto_status_t write_threshold(const pto_export_t *export, FILE *stream, const pto_export_table_t *table,
                                    pto_error_t *err) {
    int64_t bytes;
    if (strcmp(table->collective->strategy, "cuda_aware") != 0 || export->options.scenario.layout.in_host)
        return PTO_OK;
    pto_status_t status = pto_export_last_size(export, table, "three_step", "cuda_aware", &bytes, err);
    if (status == PTO_OK)
        fprintf(stream, "%" PRId64 " ranks: --mca coll_accelerator_%s_thresh %" PRId64 "\n", table->ranks,
                table->collective->name, bytes > 0 ? bytes : 0);
    return status;
}

static pto_status_t write_json_notes(const pto_export_t *export, FILE *stream, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    fputs("use: mpirun --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_dynamic_rules_filename FILE\n",
          stream);
    if (!export->options.scenario.layout.in_host)
        fputs("and the largest sizes at which staging GPU buffers through host memory is fastest:\n", stream);
    for (int i = 0; i < export->table_count && status == PTO_OK; i++)
        status = write_threshold(export, stream, &export->table[i], err);
    if (status == PTO_OK)
        status = write_limits(export, "three_step", stream, err);
    fputs("allgatherv: which size 6.0 looks up could not be tried\n", stream);
    return status;
}

#define CLASSIC(version)                                                                                     \
    {                                                                                                        \
        .name = (version), .collective = pto_openmpi_collectives, .has_comments = true,                      \
        .write = write_classic, .write_notes = write_classic_notes, .read = pto_openmpi_read                 \
    }

const pto_export_target_t pto_export_openmpi_4 = CLASSIC("openmpi-4.1");
const pto_export_target_t pto_export_openmpi_5 = CLASSIC("openmpi-5.0");

const pto_export_target_t pto_export_openmpi_6 = {.name = "openmpi-6",
                                                  .collective = pto_openmpi_collectives + 1,
                                                  .write = write_json,
                                                  .write_notes = write_json_notes,
                                                  .read = pto_openmpi_json_read};
