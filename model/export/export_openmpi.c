/* Rules for Open MPI's component `tuned`: the classic file of 4.1 and 5.0, and the JSON of 6.0, whose reader
 * is in export_openmpi_json.c.
 *
 * How Open MPI applies the classic file (ompi/mca/coll/tuned/coll_tuned_dynamic_file.c,
 * coll_tuned_decision_dynamic.c at v4.1.4; tried with 4.1.4): in each list, the last entry that is not larger
 * than the communicator or the message applies. Communicators smaller than the first entry use that one. So
 * smaller and larger communicators, which were not priced, need entries of their own. If the first message
 * size is not 0, Open MPI silently ignores the whole file. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "portolan/units.h"

/* Open MPI stages reductions of GPU buffers through host memory (component `cuda`, in 6.0 `accelerator`);
 * other collectives get GPU buffers. A ring does not reduce in the order of the ranks. Open MPI's own choice
 * avoids it for operations that are not commutative; a ring that a file selects runs for all operations. The
 * linear allgathers are left out, because they gather to process 0 and broadcast. The pipeline is priced
 * without segments: each process forwards the whole vector. */

/* clang-format off */
#define ALGORITHM(algorithm_, id_, name_) {.algorithm = (algorithm_), .id = (id_), .name = (name_)}
#define COLLECTIVE(collective_, id_, name_, strategy_, total_, ...) \
    {.collective = PTO_COLLECTIVE_##collective_, .id = (id_), .name = (name_), .strategy = (strategy_), .total = (total_), \
     .algorithm = {__VA_ARGS__}}
/* clang-format on */
static const pto_export_collective_t collectives[] = {
    /* Must be first: the JSON target has the list from the second row on. 4.1 looks up the mean block. */
    COLLECTIVE(ALLGATHERV, 1, "allgatherv", "cuda_aware", false, ALGORITHM("bruck", 2, "bruck"),
               ALGORITHM("ring", 3, "ring")),
    COLLECTIVE(ALLGATHER, 0, "allgather", "cuda_aware", true, ALGORITHM("bruck", 2, "bruck"),
               ALGORITHM("recursive_doubling", 3, "recursive_doubling"), ALGORITHM("ring", 4, "ring")),
    COLLECTIVE(ALLREDUCE, 2, "allreduce", "three_step", false,
               ALGORITHM("recursive_doubling", 3, "recursive_doubling"),
               {.algorithm = "ring", .id = 4, .name = "ring", .needs_commutative = true},
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

/* All algorithms of Open MPI 6.0 by their numbers (docs/tuning-apps/coll-tuned.rst). 4.1.4 has the first ones
 * (`ompi_info`), one of them by another name. */
static const struct {
    pto_collective_t collective;
    int last_of_4;        /* the last number in 4.1.4 */
    const char *name[10]; /* by number */
} known[] = {
    {PTO_COLLECTIVE_ALLGATHER,
     6,
     {"ignore", "linear", "bruck-k-fanout", "recursive_doubling", "ring", "neighbor", "two_proc", "sparbit",
      "direct-messaging"}},
    {PTO_COLLECTIVE_ALLGATHERV, 5, {"ignore", "default", "bruck", "ring", "neighbor", "two_proc", "sparbit"}},
    {PTO_COLLECTIVE_ALLREDUCE,
     6,
     {"ignore", "basic_linear", "nonoverlapping", "recursive_doubling", "ring", "segmented_ring",
      "rabenseifner", "allgather_reduce"}},
    {PTO_COLLECTIVE_ALLTOALL,
     5,
     {"ignore", "linear", "pairwise", "modified_bruck", "linear_sync", "two_proc"}},
    {PTO_COLLECTIVE_BROADCAST,
     9,
     {"ignore", "basic_linear", "chain", "pipeline", "split_binary_tree", "binary_tree", "binomial",
      "knomial", "scatter_allgather", "scatter_allgather_ring"}},
    {PTO_COLLECTIVE_REDUCE,
     7,
     {"ignore", "linear", "chain", "pipeline", "binary", "binomial", "in-order_binary", "rabenseifner",
      "knomial"}}};

enum { NAMES_MAX = sizeof known->name / sizeof *known->name };

int pto_openmpi_algorithm(const pto_export_collective_t *collective, const char *name, int64_t number) {
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (int n = 0; known[i].collective == collective->collective && n < NAMES_MAX && known[i].name[n];
             n++)
            if (name ? strcmp(known[i].name[n], name) == 0 : number == n)
                return n;
    return -1;
}

/* Returns whether the target's release has an algorithm of this number. 5.0 is checked with 6.0's list. */
static bool has_algorithm(const pto_export_t *export, const pto_export_collective_t *collective,
                          int64_t number) {
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].collective == collective->collective && export->target != &pto_export_openmpi_5)
            return number <= known[i].last_of_4;
    return pto_openmpi_algorithm(collective, NULL, number) >= 0;
}

/* Returns the end of the tables of one collective, which begin at `first`. */
static int end_of_collective(const pto_export_t *export, int first) {
    int end = first + 1;
    while (end < export->table_count && export->table[end].collective == export->table[first].collective)
        end++;
    return end;
}

/* --- the classic file ----------------------------------------------------------------------------------- */

/* Writes the entry of communicators that were not priced, which would otherwise use the previous entry. */
static void write_guard(FILE *stream, int64_t ranks) {
    fprintf(stream, "%-12" PRId64 "# ranks, and more: Open MPI decides\n1\n0 0 0 0\n", ranks);
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

/* Returns whether the next larger communicator than a table's has no table, so that it needs a guard. */
static bool needs_guard(const pto_export_t *export, int table, int end) {
    return table + 1 == end || export->table[table + 1].ranks != export->table[table].ranks + 1;
}

/* Writes the tables [first, end) of one collective, and a guard wherever numbers of ranks were not priced. */
static void write_collective(const pto_export_t *export, FILE *stream, int first, int end) {
    const bool guards_smaller = export->table[first].ranks > 1;
    int entries = guards_smaller;
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
    if (guards_smaller)
        write_guard(stream, 1);
    for (int i = first; i < end; i++) {
        write_table(stream, &export->table[i]);
        if (needs_guard(export, i, end))
            write_guard(stream, export->table[i].ranks + 1);
    }
}

static pto_status_t write_classic(const pto_export_t *export, FILE *stream, pto_error_t *err) {
    (void)err;
    int count = 0;
    for (int i = 0; i < export->table_count; i = end_of_collective(export, i))
        count++;
    fprintf(stream, "%-12d# collectives\n", count);
    for (int i = 0, end; i < export->table_count; i = end) {
        end = end_of_collective(export, i);
        write_collective(export, stream, i, end);
    }
    return PTO_OK;
}

static pto_status_t write_limits(const pto_export_t *export, const char *except, FILE *stream,
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
    return pto_export_write_missed(export, except, stream, err);
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

static void write_json_rule(FILE *stream, const pto_export_table_t *table, int index) {
    const pto_export_rule_t *rule = &table->rule[index];
    fprintf(stream, "%s\n          {\"msg_size_min\": %" PRId64 ", \"msg_size_max\": ", index > 0 ? "," : "",
            pto_export_size(table, rule->from_bytes));
    if (index + 1 < table->rule_count)
        fprintf(stream, "%" PRId64, pto_export_size(table, rule[1].from_bytes) - 1);
    else
        fprintf(stream, "\"inf\"");
    /* A name is only written if it is 6.0's: the tables have 4.1's. */
    const pto_export_algorithm_t *algorithm = rule->algorithm;
    if (algorithm && pto_openmpi_algorithm(table->collective, algorithm->name, 0) == algorithm->id)
        fprintf(stream, ", \"alg\": \"%s\"}", algorithm->name);
    else
        fprintf(stream, ", \"alg\": %d}", algorithm ? algorithm->id : 0);
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
        end = end_of_collective(export, i);
        fprintf(stream, "%s\n    \"%s\": [", i > 0 ? "," : "", export->table[i].collective->name);
        for (int at = i; at < end; at++)
            write_json_table(export, stream, &export->table[at], at == i);
        fprintf(stream, "]");
    }
    fprintf(stream, "}}\n");
    return PTO_OK;
}

/* Writes the size up to which component `accelerator` should stage GPU buffers: bytes of the vector, of a
 * rank's block, or to each partner. Open MPI has one parameter for all communicators. */
static pto_status_t write_threshold(const pto_export_t *export, FILE *stream, const pto_export_table_t *table,
                                    pto_error_t *err) {
    int64_t bytes;
    if (strcmp(table->collective->strategy, "cuda_aware") != 0 || export->options.scenario.layout.in_host)
        return PTO_OK;
    pto_status_t status = pto_export_last_staged(export, table, &bytes, err);
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

/* --- reading -------------------------------------------------------------------------------------------- */

/* The reader of the classic file rejects what Open MPI would silently ignore or misread. */
enum { COLLECTIVES_MAX = 22, NUMBER_DIGITS_MAX = 18, RULE_COLUMNS_MAX = 5, ALLTOALL_LINEAR_SYNC = 4 };

typedef struct {
    const char *path;
    const char *at; /* the unread text */
    int line;       /* from 1 */
    const char *line_begin;
    int columns; /* of a rule: 4, or 5 in the second format, which adds a limit of requests in flight */
    pto_error_t *err;
} reader_t;

static pto_status_t fault(const reader_t *reader, pto_status_t status, const char *message) {
    return pto_error_set_at(reader->err, status, reader->path, reader->line,
                            (int)(reader->at - reader->line_begin) + 1, "%s", message);
}

/* Skips blanks, comments and line ends. */
static void skip_blanks(reader_t *reader) {
    for (;; reader->at++) {
        if (*reader->at == '#')
            reader->at += strcspn(reader->at, "\n");
        if (*reader->at == '\n') {
            reader->line++;
            reader->line_begin = reader->at + 1;
        } else if (*reader->at == '\0' || !strchr(" \t\r", *reader->at)) {
            return;
        }
    }
}

/* Reads a number; `what` names it in errors. Rejects numbers that Open MPI misreads: it takes a leading 0 for
 * octal, and skips characters that are not digits. */
static pto_status_t read_number(reader_t *reader, int64_t max, const char *what, int64_t *number) {
    char digits[NUMBER_DIGITS_MAX + 1], message[96];
    skip_blanks(reader);
    size_t length = strspn(reader->at, "0123456789");
    if (length == 0 || length > NUMBER_DIGITS_MAX || !strchr(" \t\r\n#", reader->at[length])) {
        snprintf(message, sizeof message, "%s is needed here, in decimal digits", what);
        return fault(reader, PTO_ERR_SYNTAX, message);
    }
    memcpy(digits, reader->at, length);
    digits[length] = '\0';
    if (pto_int64_parse(digits, number, NULL) != PTO_OK)
        return fault(reader, PTO_ERR_SYNTAX, "Open MPI reads a leading 0 as octal");
    if (*number > max) {
        snprintf(message, sizeof message, "%s is at most %" PRId64, what, max);
        return fault(reader, PTO_ERR_RANGE, message);
    }
    reader->at += length;
    return PTO_OK;
}

static const pto_export_collective_t *collective_of(int64_t id) {
    const pto_export_collective_t *found = collectives;
    while (found->name && found->id != id)
        found++;
    return found->name ? found : NULL;
}

/* Open MPI's name of an algorithm, or its number. */
static const char *algorithm_name(const pto_export_collective_t *collective, int64_t id, char *name,
                                  size_t size) {
    const pto_export_algorithm_t *found = pto_export_algorithm_of_id(collective, id);
    if (collective->collective == PTO_COLLECTIVE_ALLTOALL && id == ALLTOALL_LINEAR_SYNC)
        return "linear_sync";
    if (found)
        return found->name;
    snprintf(name, size, "algorithm %" PRId64, id);
    return name;
}

enum { SIZE, ALGORITHM_ID, FAN_OUT, SEGMENT, REQUESTS }; /* the columns of a rule */

/* A rule of the file. A size of all ranks' blocks is divided by the ranks: portolan counts one block. */
static pto_export_rule_t rule_of(const pto_export_table_t *table, const int64_t number[RULE_COLUMNS_MAX]) {
    pto_export_rule_t rule = {.from_bytes = number[SIZE]};
    if (table->collective->total)
        rule.from_bytes = (number[SIZE] + table->ranks - 1) / table->ranks;
    if (number[ALGORITHM_ID] == 0)
        return rule;
    const char *form = number[SEGMENT] != 0 ? " in segments" : "";
    char name[24], requests[40] = "";
    if (number[SEGMENT] == 0 && number[REQUESTS] == 0)
        rule.algorithm = pto_export_algorithm_of_id(table->collective, number[ALGORITHM_ID]);
    if (number[REQUESTS] > 0)
        snprintf(requests, sizeof requests, ", %" PRId64 " requests", number[REQUESTS]);
    if (!rule.algorithm)
        snprintf(rule.unpriced, sizeof rule.unpriced, "%s%s%s",
                 algorithm_name(table->collective, number[ALGORITHM_ID], name, sizeof name), form, requests);
    return rule;
}

/* Reads the rules of one number of ranks. They apply to the tables of at least as many ranks, until a later
 * entry overwrites them; the first entry also applies to smaller tables. `collective` is NULL if portolan has
 * no tables of it. */
static pto_status_t read_rules(reader_t *reader, pto_export_t *export,
                               const pto_export_collective_t *collective, int64_t ranks, bool first) {
    static const char *const what[RULE_COLUMNS_MAX] = {
        "a size in bytes", "an algorithm's number", "a fan-out", "a segment's size", "a number of requests"};
    int64_t count = 0, number[RULE_COLUMNS_MAX] = {0}, last = -1;
    pto_status_t status = read_number(reader, PTO_EXPORT_RULES_MAX, "a number of sizes", &count);
    for (int64_t i = 0; i < count && status == PTO_OK; i++) {
        for (int k = 0; k < reader->columns && status == PTO_OK; k++)
            status = read_number(reader, INT64_MAX, what[k], &number[k]);
        if (status == PTO_OK && i == 0 && number[SIZE] != 0)
            status = fault(reader, PTO_ERR_RANGE,
                           "the first size must be 0: Open MPI ignores the whole file without a word");
        if (status == PTO_OK && number[SIZE] <= last)
            status = fault(reader, PTO_ERR_RANGE, "sizes must increase: the last one not larger applies");
        last = number[SIZE];
        if (status == PTO_OK && collective && !has_algorithm(export, collective, number[ALGORITHM_ID]))
            status = fault(reader, PTO_ERR_RANGE,
                           "Open MPI has no algorithm of this number for this collective, whose calls fail");
        for (int t = 0; collective && t < export->table_count && status == PTO_OK; t++) {
            pto_export_table_t *table = &export->table[t];
            if (table->collective != collective || (!first && ranks > table->ranks))
                continue;
            table->rule_count = i == 0 ? 0 : table->rule_count;
            table->rule[table->rule_count++] = rule_of(table, number);
        }
    }
    return status;
}

static pto_status_t read_collective(reader_t *reader, pto_export_t *export) {
    int64_t id = 0, count = 0, ranks = 0, last = 0;
    pto_status_t status = read_number(reader, COLLECTIVES_MAX - 1, "a collective's number", &id);
    if (status == PTO_OK)
        status = read_number(reader, INT32_MAX, "how many numbers of ranks follow", &count);
    for (int64_t i = 0; status == PTO_OK && i < count; i++) {
        status = read_number(reader, INT32_MAX, "a number of ranks", &ranks);
        if (status == PTO_OK && i > 0 && ranks <= last)
            status = fault(reader, PTO_ERR_RANGE,
                           "numbers of ranks must increase: the last one not larger applies");
        last = ranks;
        if (status == PTO_OK)
            status = read_rules(reader, export, collective_of(id), ranks, i == 0);
    }
    return status;
}

/* A file of five columns begins with "rule-file-version-2". Open MPI reads it from 5.0.7 on. */
static pto_status_t read_version(reader_t *reader, const pto_export_t *export) {
    static const char begin[] = "rule-file-version-";
    if (strncmp(reader->at, begin, strlen(begin)) != 0)
        return PTO_OK;
    if (export->target != &pto_export_openmpi_5)
        return fault(reader, PTO_ERR_SYNTAX,
                     "a file of five columns, which 4.1 ignores; --for openmpi-5.0 checks it for 5.0.7");
    reader->at += strlen(begin);
    int64_t version = 0;
    pto_status_t status = read_number(reader, INT32_MAX, "a version", &version);
    if (status == PTO_OK && version != 1 && version != 2)
        status = fault(reader, PTO_ERR_RANGE, "Open MPI 5.0.7 knows versions 1 and 2");
    reader->columns = version == 2 ? 5 : 4;
    return status;
}

static pto_status_t read_all(reader_t *reader, pto_export_t *export) {
    int64_t count = 0;
    pto_status_t status = read_version(reader, export);
    if (status == PTO_OK)
        status = read_number(reader, COLLECTIVES_MAX, "the number of collectives", &count);
    while (status == PTO_OK && count-- > 0)
        status = read_collective(reader, export);
    skip_blanks(reader);
    if (status == PTO_OK && *reader->at)
        status = fault(reader, PTO_ERR_SYNTAX, "more than the announced collectives");
    return status;
}

const char pto_openmpi_parameter[] =
    "an MCA parameter, which Open MPI reads itself; --check reads the file of rules that "
    "coll_tuned_dynamic_rules_filename names";

static pto_status_t read_file(const pto_export_file_t *file, pto_export_t *export, pto_error_t *err) {
    reader_t reader = {file->path, file->text, 1, file->text, 4, err};
    pto_status_t status = pto_export_refuse_variables(file, "coll_", pto_openmpi_parameter, err);
    if (status == PTO_OK)
        status = pto_export_refuse_variables(file, "OMPI_MCA_", pto_openmpi_parameter, err);
    return status == PTO_OK ? read_all(&reader, export) : status;
}

#define CLASSIC(version)                                                                                     \
    {                                                                                                        \
        .name = (version), .collective = collectives, .bytes_max = 16 << 20, .has_comments = true,           \
        .write = write_classic, .write_notes = write_classic_notes, .read = read_file                        \
    }

const pto_export_target_t pto_export_openmpi_4 = CLASSIC("openmpi-4.1");
const pto_export_target_t pto_export_openmpi_5 = CLASSIC("openmpi-5.0");

const pto_export_target_t pto_export_openmpi_6 = {.name = "openmpi-6",
                                                  .collective = collectives + 1,
                                                  .bytes_max = 16 << 20,
                                                  .write = write_json,
                                                  .write_notes = write_json_notes,
                                                  .read = pto_openmpi_json_read};
