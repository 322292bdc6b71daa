/* portolan export: writes the tuning file of another library, with the algorithm that is predicted to be the
 * fastest for each collective, communicator and size; or prices an existing file (--check). The formats are
 * in export/, one pto_export_target_t each. In memory, a table has the rules of one collective on one
 * communicator; export/export.h has the structs. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text_file.h"
#include "command.h"
#include "command_line/terminal.h"
#include "export/export.h"
#include "portolan/api.h"
#include "portolan/printable.h"
#include "portolan/progress.h"
#include "portolan/units.h"
#include "show/table.h"

static const char usage[] =
    "usage: portolan export --for TARGET --machine MACHINE --nodes N|FROM:TO [OPTIONS]\n\n"
    "Writes the tuning file of another library: which of its algorithms it should run for each collective,\n"
    "size and communicator, by the prices of those that portolan knows. Communicators of other sizes and\n"
    "messages beyond the sizes that were priced are left to the library. What such a file cannot express is\n"
    "listed with it. docs/acting.md says how to use each file, and how to see that it works.\n\n"
    "  portolan export --for openmpi-4.1 --machine lassen-spectrum-refit --nodes 2:32 --out rules.conf\n"
    "  portolan export --for openmpi-4.1 --machine lassen-spectrum-refit --nodes 2 --check rules.conf\n\n"
    "--check prices every size by the file's algorithm and by the best one, and says what the file loses.\n\n"
    "targets:\n"
    "  openmpi-4.1   rules for the component `tuned` of Open MPI 4.1\n"
    "  openmpi-5.0   the same for 5.0; --check also reads 5.0.7's second format\n"
    "  openmpi-6     the same for Open MPI 6.0 (JSON), and the largest sizes at which it should stage GPU "
    "buffers\n"
    "  ucc           environment variables for UCC: at which sizes NCCL runs a collective, and at which UCP\n"
    "  nccl          rules for the tuner plugin libportolan-nccl-tuner.so: ring or tree for allreduces\n"
    "  mpich-4.0     the selection file of MPICH 4.0 (JSON): its own, with what is faster\n"
    "  cray          environment variables for Cray MPICH: the size from which it reduces by a GPU kernel, "
    "and its blocks\n";

static const pto_export_target_t *const targets[] = {
    &pto_export_openmpi_4, &pto_export_openmpi_5, &pto_export_openmpi_6, &pto_export_ucc,
    &pto_export_nccl,      &pto_export_mpich,     &pto_export_cray};

const pto_export_target_t *pto_export_target_at(int i) {
    return i < (int)(sizeof targets / sizeof *targets) ? targets[i] : NULL;
}

static const char *target_name_at(int i) {
    const pto_export_target_t *target = pto_export_target_at(i);
    return target ? target->name : NULL;
}

#define STORE(form, member) PTO_STORE(form, pto_export_t, member)

static const pto_option_t own_options[] = {
    {"for", "TARGET", "the library and its version", STORE(WORD, target_index), .what = "target",
     .word_at = target_name_at},
    {"tolerance", "PERCENT", "an algorithm stays until another is faster by more", STORE(NUMBER, tolerance),
     .least = 0, .most = 100, .standard = "3"},
    {"commutative", NULL,
     "all reductions are commutative: allow algorithms that a file would also apply to others, with wrong "
     "results",
     STORE(FLAG, commutative)},
    {"generic", "FILE", "mpich-4.0: MPICH's own maint/tuning/coll/mpir/generic.json (default: that of 4.0.2)",
     STORE(TEXT, generic)},
    {"check", "FILE", "price an existing file of this format instead of writing one", STORE(TEXT, check)},
    {"out", "FILE", "write there instead of to standard output (-)", STORE(TEXT, options.out)},
    {"force", NULL, "replace a file that exists", STORE(FLAG, options.force)},
    {"collective", "NAME", "only this one (default: all that the target can be told about)",
     .apply = pto_option_apply_collective, .word_at = pto_collective_at},
    {"nodes", "N|FROM:TO", "nodes, by factors of 2: a communicator of all their GPUs each",
     .apply = pto_option_apply_nodes},
    {"gpus-per-node", "N", "GPUs used per node, one process each (default: all of the machine's)",
     STORE(COUNT, options.scenario.layout.gpus_per_node)},
    PTO_MEMORY_OPTIONS,
    {"bytes", "FROM:TO", "sizes that are priced, as by `predict` (default 4:64MiB)",
     .apply = pto_option_apply_bytes},
    {.name = NULL}};

static const pto_syntax_t syntax = {.program = "portolan export",
                                    .usage = usage,
                                    .set = PTO_SETS({"options", own_options}, {NULL, pto_work_options},
                                                    {NULL, pto_machine_options}, {NULL, pto_change_options})};

/* --- what is asked for ---------------------------------------------------------------------------------- */

/* Whether a target has rules for this collective. */
static bool has_rules_for(const pto_export_target_t *target, pto_collective_t collective) {
    for (const pto_export_collective_t *known = target->collective; known->name; known++)
        if (known->collective == collective)
            return true;
    return false;
}

/* Move the sweeps from the scenario to `export`. The scenario, which is checked and bound, keeps the first
 * number of nodes and the first size. */
static pto_status_t move_sweeps(pto_export_t *export, pto_error_t *err) {
    pto_scenario_t *scenario = &export->options.scenario;
    export->nodes = scenario->nodes;
    export->bytes = scenario->bytes;
    scenario->nodes = scenario->bytes = (pto_series_t){0};
    pto_status_t status = pto_series_one(export->nodes.value[0], &scenario->nodes, err);
    if (status == PTO_OK)
        status = pto_series_one(export->bytes.value[0], &scenario->bytes, err);
    return status;
}

/* Create a table of rules for each of the target's collectives, or for `only` (PTO_COLLECTIVE_COUNT: all), on
 * each number of nodes. Its single rule leaves all sizes to the library. */
static pto_status_t create_tables(pto_export_t *export, pto_collective_t only, pto_error_t *err) {
    const pto_export_collective_t *collective = export->target->collective;
    int count = 0;
    while (collective[count].name)
        count++;
    export->table = calloc((size_t)(count * export->nodes.count) + 1, sizeof *export->table);
    if (!export->table)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    for (; collective->name; collective++)
        for (int64_t i = 0; i < export->nodes.count; i++) {
            int64_t nodes = export->nodes.value[i];
            int64_t ranks = nodes * export->options.scenario.layout.gpus_per_node;
            if ((only == PTO_COLLECTIVE_COUNT || only == collective->collective) && ranks > 1)
                export->table[export->table_count++] = (pto_export_table_t){
                    .collective = collective, .nodes = nodes, .ranks = ranks, .rule_count = 1};
        }
    if (export->table_count == 0)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "nothing to tell %s about one rank",
                             export->target->name);
    return PTO_OK;
}

/* Apply the options, and bind the scenario to the machine. `*only`: --collective, or PTO_COLLECTIVE_COUNT for
 * all. Returns -1, or the exit code after printing the error. */
static int apply(const pto_arguments_t *given, pto_export_t *export, pto_collective_t *only) {
    pto_error_t err = {0};
    pto_options_t *options = &export->options;
    pto_scenario_t *scenario = &options->scenario;
    pto_scenario_init(scenario);
    scenario->layout.procs_per_gpu = 1;
    pto_status_t status = pto_series_range(4, 64 << 20, 2, &scenario->bytes, &err);
    if (status != PTO_OK)
        return pto_report_error(&err);
    int code = pto_options_apply(given, export);
    if (code >= 0)
        return code;
    if (export->target_index < 0)
        return pto_usage_error(&syntax, "no target (--for) given");
    if (!scenario->machine_path)
        return pto_usage_error(&syntax, "no machine (--machine) given");
    if (scenario->nodes.count == 0)
        return pto_usage_error(&syntax, "no number of nodes (--nodes) given");
    *only = scenario->collective;
    export->target = targets[export->target_index];
    if (*only != PTO_COLLECTIVE_COUNT && !has_rules_for(export->target, *only))
        return pto_usage_error(&syntax, "--collective: %s has no rules for %s", export->target->name,
                               pto_collective_name(*only));
    if (*only == PTO_COLLECTIVE_COUNT)
        scenario->collective = PTO_COLLECTIVE_ALLREDUCE; /* a placeholder: a scenario is bound with one */
    if (move_sweeps(export, &err) != PTO_OK)
        return pto_report_error(&err);
    code = pto_options_bind(options);
    if (code < 0 && export->target->gpus_only && scenario->layout.in_host) {
        pto_error_set(&err, PTO_ERR_NOT_APPLICABLE, "--for %s is for data in GPU memory",
                      export->target->name);
        return pto_report_error(&err);
    }
    return code;
}

/* --- the file ------------------------------------------------------------------------------------------- */

/* Continue a CRC-32 (polynomial 0x04c11db7) with a byte. */
static uint32_t crc_add(uint32_t crc, uint32_t byte) {
    crc ^= byte << 24;
    for (int bit = 0; bit < 8; bit++)
        crc = crc << 1 ^ (crc & 0x80000000u ? 0x04c11db7u : 0);
    return crc;
}

/* The POSIX CRC that `cksum FILE` prints. It covers the text and then its size, lowest byte first. */
static uint32_t checksum(const char *text, size_t size) {
    uint32_t crc = 0;
    for (size_t i = 0; i < size; i++)
        crc = crc_add(crc, (unsigned char)text[i]);
    for (size_t rest = size; rest > 0; rest >>= 8)
        crc = crc_add(crc, (uint32_t)(rest & 0xff));
    return ~crc;
}

/* Write which program, machine file and layout the rules are from: the first of the file's comments. */
static pto_status_t write_origin(const pto_export_t *export, FILE *stream, pto_error_t *err) {
    enum { MACHINE_BYTES_MAX = 64 << 20 };
    const pto_machine_t *machine = export->options.machine;
    const pto_series_t *bytes = &export->bytes;
    const char *fixed = getenv("SOURCE_DATE_EPOCH"); /* a date in seconds: see reproducible-builds.org */
    char file[PTO_ERROR_FILE_MAX], digest[PTO_MACHINE_DIGEST_MAX], date[32] = "", *text;
    size_t size;
    time_t now = fixed ? (time_t)strtoll(fixed, NULL, 10) : time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc))
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    pto_status_t status = pto_text_read(pto_machine_path(machine), MACHINE_BYTES_MAX, &text, &size, err);
    if (status != PTO_OK)
        return status;
    fprintf(stream, "portolan %s, export --for %s, %s\nmachine %s (%s, cksum %" PRIu32 ", digest %s)\n",
            pto_version(), export->target->name, date, pto_machine_name(machine),
            pto_escape_text(pto_file_name(pto_machine_path(machine)), file, sizeof file),
            checksum(text, size), pto_machine_digest(machine, digest));
    const pto_layout_t *layout = &export->options.scenario.layout;
    fprintf(stream, "%lld process%s a node, %s; sizes of %s to %s were priced\n",
            (long long)layout->gpus_per_node, layout->gpus_per_node > 1 ? "es" : "",
            layout->in_host ? "data in host memory" : "one a GPU", PTO_SIZE_TEXT(bytes->value[0]),
            PTO_SIZE_TEXT(bytes->value[bytes->count - 1]));
    free(text);
    return PTO_OK;
}

/* Call `write`, and prefix each line with "# " if the file's format has comments. */
static pto_status_t write_comments(const pto_export_t *export, FILE *stream,
                                   pto_status_t (*write)(const pto_export_t *, FILE *, pto_error_t *),
                                   pto_error_t *err) {
    char *text = NULL, *rest = NULL;
    size_t size = 0;
    FILE *lines = open_memstream(&text, &size);
    if (!lines)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for notes");
    pto_status_t status = write(export, lines, err);
    if (fclose(lines) != 0 && status == PTO_OK)
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory for notes");
    for (char *line = text; (line = strtok_r(line, "\n", &rest)) && status == PTO_OK; line = NULL)
        fprintf(stream, "%s%s\n", export->target->has_comments ? "# " : "", line);
    free(text);
    return status;
}

static pto_status_t write_notes(const pto_export_t *export, FILE *stream, pto_error_t *err) {
    pto_status_t status = write_comments(export, stream, write_origin, err);
    if (status != PTO_OK)
        return status;
    pto_print_changes(stream, export->options.machine);
    return write_comments(export, stream, export->target->write_notes, err);
}

static pto_status_t write_file(void *context, FILE *stream, pto_error_t *err) {
    const pto_export_t *export = context;
    pto_status_t status = write_notes(export, export->target->has_comments ? stream : stderr, err);
    return status == PTO_OK ? export->target->write(export, stream, err) : status;
}

/* Print the file once it is complete, so that a failure or an interrupt prints nothing. */
static pto_status_t print_file(pto_export_t *export, pto_error_t *err) {
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for rules");
    pto_status_t status = write_file(export, stream, err);
    if (fclose(stream) != 0 && status == PTO_OK)
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory for rules");
    if (status == PTO_OK)
        fwrite(text, 1, size, stdout);
    free(text);
    return status;
}

/* --- the check ------------------------------------------------------------------------------------------ */

/* How much time a file loses against the best algorithm, over all sizes. */
typedef struct {
    int priced; /* sizes at which the file's algorithm has a price */
    int named;  /* sizes at which the file names an algorithm that portolan knows */
    int others; /* of these, sizes at which that algorithm has no price, but others have */
    double sum; /* of the losses, as fractions of the best time */
    double worst;
    bool wrong; /* some rules give wrong results for operations that are not commutative */
} losses_t;

enum { RULE_WIDTH = 24, BEST_WIDTH = 18, TIME_WIDTH = 8 };

/* Price one size by the file's rule and by the best algorithm, print the row, and add it to the losses. */
static pto_status_t check_size(const pto_export_t *export, const pto_export_table_t *table, int64_t bytes,
                               losses_t *losses, pto_error_t *err) {
    const pto_export_rule_t *rule = pto_export_rule_at(table, bytes);
    const pto_export_algorithm_t *best;
    double file_s = INFINITY, best_s;
    char unpriced[PTO_ESCAPED_MAX * sizeof rule->unpriced];
    pto_status_t status = pto_export_best(export, table, bytes, &best, &best_s, err);
    if (status == PTO_OK && rule->algorithm)
        status = pto_export_price(export, table, rule->algorithm, bytes, &file_s, err);
    losses->named += rule->algorithm != NULL;
    if (status != PTO_OK || (!best && !rule->algorithm))
        return status;
    bool priced = rule->algorithm && isfinite(file_s);
    const char *by_file = "the library decides";
    if (rule->algorithm)
        by_file = rule->algorithm->name;
    else if (*rule->unpriced)
        by_file = pto_escape_text(rule->unpriced, unpriced, sizeof unpriced);
    printf("%-8s ", PTO_SIZE_TEXT(bytes));
    if (priced)
        printf("%-*s %*s", RULE_WIDTH, by_file, TIME_WIDTH, PTO_SECONDS_TEXT(file_s));
    else
        printf("%-*s", best ? RULE_WIDTH + 1 + TIME_WIDTH : 0, by_file);
    if (best)
        printf("  %-*s %*s", BEST_WIDTH, best == rule->algorithm ? "the same" : best->name, TIME_WIDTH,
               PTO_SECONDS_TEXT(best_s));
    if (priced) {
        double loss = file_s / best_s - 1;
        bool wrong = rule->algorithm->needs_commutative && !export->commutative;
        printf(" %6.1f%%%s", 100 * loss, wrong ? "!" : "");
        losses->priced++;
        losses->sum += loss;
        losses->worst = fmax(losses->worst, loss);
        losses->wrong = losses->wrong || wrong;
    }
    losses->others += best && rule->algorithm && !priced;
    putchar('\n');
    return PTO_OK;
}

static pto_status_t check_table(const pto_export_t *export, const pto_export_table_t *table, losses_t *losses,
                                pto_error_t *err) {
    pto_status_t status = PTO_OK;
    printf("%s on %lld ranks\n", table->collective->name, (long long)table->ranks);
    for (int64_t i = 0; i < export->bytes.count && status == PTO_OK; i++)
        status = check_size(export, table, export->bytes.value[i], losses, err);
    return status;
}

static void print_losses(const pto_export_t *export, const losses_t *losses) {
    if (losses->wrong)
        pto_print_note(stdout, "!: wrong where an operation is not commutative");
    if (losses->priced > 0)
        printf("# %d size%s priced: the file loses %.1f%% on average, %.1f%% at most\n", losses->priced,
               losses->priced > 1 ? "s" : "", 100 * losses->sum / losses->priced, 100 * losses->worst);
    else if (losses->others > 0)
        printf("# nothing to compare: prices are those of other algorithms or protocols\n");
    else if (losses->named > 0)
        pto_print_note(stdout,
                       "nothing to compare: machine %s has no price for the algorithms that the file names%s",
                       pto_machine_name(export->options.machine),
                       strcmp(export->target->name, "nccl") == 0
                           ? "; `portolan-calibrate --only nccl` on that machine measures them"
                           : "");
    else
        printf("# nothing to compare: the file names no algorithm that portolan prices\n");
}

static pto_status_t check_file(pto_export_t *export, pto_error_t *err) {
    losses_t losses = {0};
    pto_status_t status = pto_export_read(export->check, export, err);
    if (status != PTO_OK)
        return status;
    pto_print_note(stdout, "portolan export --check: %s, on %s", export->check,
                   pto_machine_name(export->options.machine));
    if (export->conditional_line > 0)
        pto_print_note(stdout, "line %d is conditional, and taken as if it ran; check what `env` prints",
                       export->conditional_line);
    pto_print_changes(stdout, export->options.machine);
    const char *priced = export->target->priced;
    printf("# predicted times of %s\n# %-6s %-*s %8s  %-*s %8s %7s\n", priced ? priced : "the library's call",
           "Bytes", RULE_WIDTH, "By the file", "Time", BEST_WIDTH, "Best", "Time", "Loss");
    for (int t = 0; t < export->table_count && status == PTO_OK; t++)
        status = check_table(export, &export->table[t], &losses, err);
    if (status == PTO_OK)
        print_losses(export, &losses);
    return status;
}

/* --- the command ---------------------------------------------------------------------------------------- */

/* Fill in the rules of all tables. */
static pto_status_t decide(pto_export_t *export, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    for (int i = 0; i < export->table_count && status == PTO_OK; i++) {
        status = pto_is_stopped()
                     ? pto_error_set(err, PTO_ERR_INTERRUPTED, "interrupted; no rules are written")
                     : pto_export_decide(export, &export->table[i], err);
        if (export->shows_progress)
            pto_progress_add(1);
    }
    return status;
}

/* Warn if no table has a rule: the reasons are in the file, which the user may not open. Returns whether it
 * did. A target without algorithms of its own has no rules by design. */
static bool note_lack_of_rules(const pto_export_t *export) {
    bool may_have_rules = false;
    for (int i = 0; i < export->table_count; i++) {
        const pto_export_table_t *table = &export->table[i];
        may_have_rules |= table->collective->algorithm->name != NULL;
        for (int k = 0; k < table->rule_count; k++)
            if (table->rule[k].algorithm)
                return false;
    }
    if (may_have_rules)
        fputs("portolan: the file has no rule, so the library decides as without it; its comments say why\n",
              stderr);
    return may_have_rules;
}

/* All tables are priced twice: for the rules, and for the notes on what the rules cannot express. */
static pto_status_t decide_and_write(pto_export_t *export, bool *lacks_rules, pto_error_t *err) {
    export->shows_progress = pto_progress_begin("pricing rules", 2 * (int64_t) export->table_count, 0);
    pto_status_t status = decide(export, err);
    if (status == PTO_OK)
        status = pto_options_name_file(&export->options)
                     ? pto_options_write(&export->options, write_file, export, err)
                     : print_file(export, err);
    if (status == PTO_OK && export->target->has_comments)
        *lacks_rules = note_lack_of_rules(export);
    if (export->shows_progress)
        pto_progress_end();
    return status;
}

static pto_status_t write_or_check(pto_export_t *export, pto_collective_t only, bool *lacks_rules,
                                   pto_error_t *err) {
    pto_status_t status = create_tables(export, only, err);
    if (status == PTO_OK)
        status = pto_export_check_work(export, err);
    if (status != PTO_OK || export->check)
        return status == PTO_OK ? check_file(export, err) : status;
    if (export->target->read_defaults)
        status = export->target->read_defaults(export, err);
    return status == PTO_OK ? decide_and_write(export, lacks_rules, err) : status;
}

enum { NO_RULE = 3 }; /* the exit code of a complete file without any rule (`portolan help exit-codes`) */

static int run(const pto_arguments_t *given) {
    pto_export_t export = {.target_index = -1};
    pto_error_t err = {0};
    pto_collective_t only = PTO_COLLECTIVE_COUNT;
    bool lacks_rules = false;
    int code = apply(given, &export, &only);
    if (code < 0)
        code = write_or_check(&export, only, &lacks_rules, &err) == PTO_OK ? pto_flush_output()
                                                                           : pto_report_error(&err);
    if (code == 0 && lacks_rules)
        code = NO_RULE;
    free(export.table);
    json_decref(export.defaults);
    pto_series_fini(&export.nodes);
    pto_series_fini(&export.bytes);
    pto_options_fini(&export.options);
    return code;
}

const pto_command_t pto_command_export = {.name = "export",
                                          .summary = "write the tuning file of another library, or price one",
                                          .syntax = &syntax,
                                          .run = run};
