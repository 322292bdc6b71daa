/* Environment variables for Cray MPICH, which has no tuning file (its manual page intro_mpi): the size from
 * which an allreduce reduces GPU buffers by a kernel instead of the CPU, and the block size of its messages.
 * Both hold for all communicators. The page does not describe the allreduce algorithm, so only the two steps
 * that the variables control are priced: one reduction of two vectors, and one message between nodes. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "machine/machine_internal.h"
#include "portolan/units.h"
#include "variables.h"

/* The range of block sizes that are written (the default is 8 MiB). Files may have larger ones. */
enum { BLOCK_BYTES_LEAST = 64 << 10, BLOCK_BYTES_MOST = 64 << 20 };

enum { REDUCTION, MESSAGE }; /* the step of a table: the `id` of its collective */
enum { BY_CPU, BY_KERNEL };  /* the `id` of a reduction's algorithm */

/* An "algorithm" of a message is a block size in bytes, which is its `id`. */
#define BLOCKS(number, unit, shift)                                                                          \
    { .id = (number) << (shift), .name = "blocks of " #number " " unit }

static const pto_export_collective_t collectives[] = {
    {.collective = PTO_COLLECTIVE_ALLREDUCE,
     .id = REDUCTION,
     .name = "reduction of allreduce",
     .strategy = "three_step",
     .needs_all = true,
     .algorithm = {{.id = BY_CPU, .name = "CPU"}, {.id = BY_KERNEL, .name = "kernel"}}},
    {.collective = PTO_COLLECTIVE_ALLREDUCE,
     .id = MESSAGE,
     .name = "message of allreduce",
     .strategy = "three_step",
     .algorithm = {BLOCKS(64, "KiB", 10), BLOCKS(128, "KiB", 10), BLOCKS(256, "KiB", 10),
                   BLOCKS(512, "KiB", 10), BLOCKS(1, "MiB", 20), BLOCKS(2, "MiB", 20), BLOCKS(4, "MiB", 20),
                   BLOCKS(8, "MiB", 20), BLOCKS(16, "MiB", 20), BLOCKS(32, "MiB", 20), BLOCKS(64, "MiB", 20),
                   BLOCKS(128, "MiB", 20), BLOCKS(256, "MiB", 20), BLOCKS(512, "MiB", 20),
                   BLOCKS(1, "GiB", 30)}},
    {.name = NULL}};

/* The postal model's time; INFINITY without a cost. */
static double postal_s(const pto_postal_t *cost, int64_t bytes) {
    return cost ? cost->alpha_s.value + cost->beta_s_per_byte.value * (double)bytes : INFINITY;
}

/* The time of reducing two vectors in GPU memory: by a kernel, or by the CPU between a copy to the host and a
 * copy back. INFINITY if the machine file lacks a cost. */
static double reduction_s(const pto_machine_t *machine, int algorithm_id, int64_t bytes) {
    if (algorithm_id == BY_KERNEL)
        return postal_s(pto_machine_reduce(machine, PTO_SPACE_GPU, bytes), bytes);
    return postal_s(pto_machine_reduce(machine, PTO_SPACE_CPU, bytes), bytes) +
           postal_s(pto_machine_copy(machine, PTO_COPY_D2H, PTO_REACH_ON_SOCKET, false), bytes) +
           postal_s(pto_machine_copy(machine, PTO_COPY_H2D, PTO_REACH_ON_SOCKET, false), bytes);
}

/* The time of a message between nodes; INFINITY if the machine file lacks its cost. */
static double message_s(const pto_machine_t *machine, int64_t bytes) {
    const pto_cost_row_t *row = pto_machine_message(machine, PTO_SPACE_CPU, PTO_LEVEL_OFF_NODE, bytes);
    return postal_s(row ? &row->postal : NULL, bytes);
}

/* The time of a message between nodes in blocks, one after the other. */
static double blocks_s(const pto_machine_t *machine, int64_t bytes, int64_t block_bytes) {
    int64_t whole = bytes / block_bytes, rest = bytes % block_bytes;
    double seconds = whole > 0 ? (double)whole * message_s(machine, block_bytes) : 0;
    return rest > 0 ? seconds + message_s(machine, rest) : seconds;
}

static double price(const pto_export_t *export, const pto_export_table_t *table,
                    const pto_export_algorithm_t *algorithm, int64_t bytes) {
    const pto_machine_t *machine = export->options.machine;
    return table->collective->id == REDUCTION ? reduction_s(machine, algorithm->id, bytes)
                                              : blocks_s(machine, bytes, algorithm->id);
}

/* Sets `*known` to whether both prices are known. */
static bool kernel_is_as_fast(const pto_machine_t *machine, int64_t bytes, bool *known) {
    double gpu_s = reduction_s(machine, BY_KERNEL, bytes), host_s = reduction_s(machine, BY_CPU, bytes);
    *known = isfinite(gpu_s) && isfinite(host_s);
    return *known && gpu_s <= host_s;
}

/* Returns the least of the export's sizes from which on the kernel is as fast as the CPU; -1 if there is
 * none, or if a price is missing (`*known` is false then). */
static int64_t find_threshold(const pto_export_t *export, bool *known) {
    int64_t first = export->bytes.count;
    *known = true;
    while (first > 0 && kernel_is_as_fast(export->options.machine, export->bytes.value[first - 1], known))
        first--;
    return *known && first < export->bytes.count ? export->bytes.value[first] : -1;
}

/* Returns the least power of two for which alpha is within the tolerance of beta times the size, at most
 * BLOCK_BYTES_MOST; 0 if the machine file has no messages between nodes. */
static int64_t find_block(const pto_export_t *export) {
    const pto_machine_t *machine = export->options.machine;
    for (int64_t bytes = BLOCK_BYTES_LEAST;; bytes *= 2) {
        const pto_cost_row_t *row = pto_machine_message(machine, PTO_SPACE_CPU, PTO_LEVEL_OFF_NODE, bytes);
        if (!row)
            return 0;
        double bytes_s = row->postal.beta_s_per_byte.value * (double)bytes;
        if (row->postal.alpha_s.value <= bytes_s * export->tolerance / 100 || bytes == BLOCK_BYTES_MOST)
            return bytes;
    }
}

static pto_status_t write_variables(const pto_export_t *export, FILE *stream, pto_error_t *err) {
    bool known;
    int64_t threshold = find_threshold(export, &known), block = find_block(export);
    (void)err;
    if (threshold >= 0)
        fprintf(stream,
                "MPICH_GPU_ALLREDUCE_USE_KERNEL=1\nMPICH_GPU_ALLREDUCE_KERNEL_THRESHOLD=%" PRId64 "\n",
                threshold);
    else if (known)
        fprintf(stream, "MPICH_GPU_ALLREDUCE_USE_KERNEL=0\n");
    if (block > 0)
        fprintf(stream, "MPICH_GPU_ALLREDUCE_BLK_SIZE=%" PRId64 "\n", block);
    return PTO_OK;
}

static pto_status_t write_notes(const pto_export_t *export, FILE *stream, pto_error_t *err) {
    bool known;
    find_threshold(export, &known);
    (void)err;
    fputs("use: these lines as environment variables, for all communicators\n"
          "the threshold: from this size on a kernel is as fast as two copies and the CPU; the block: the "
          "least whose message starts within the tolerance of its transfer time\n"
          "not expressed:\n"
          "algorithms: Cray MPICH has no file for them\n",
          stream);
    if (!known)
        fputs("the threshold: the machine file lacks reduce.gpu, reduce.cpu or copies\n", stream);
    if (find_block(export) == 0)
        fputs("the block: the machine file has no messages between nodes\n", stream);
    return PTO_OK;
}

enum { USE_KERNEL, THRESHOLD, BLOCK, VARIABLE_COUNT };

static const struct {
    const char *name;
    int64_t least, most;
} known_variables[VARIABLE_COUNT] = {
    [USE_KERNEL] = {"MPICH_GPU_ALLREDUCE_USE_KERNEL", 0, 1},
    [THRESHOLD] = {"MPICH_GPU_ALLREDUCE_KERNEL_THRESHOLD", 0, INT64_MAX},
    [BLOCK] = {"MPICH_GPU_ALLREDUCE_BLK_SIZE", 1, INT64_MAX},
};

static const char variables_begin[] = "MPICH_GPU_ALLREDUCE_";

typedef struct {
    const char *path;
    int64_t value[VARIABLE_COUNT]; /* -1: not set */
    pto_error_t *err;
} reader_t;

/* Visits a variable of the file: a pto_variable_visit_t whose context is a reader_t. */
static pto_status_t read_variable(const pto_variable_t *variable, void *context) {
    reader_t *reader = context;
    int64_t *value = reader->value;
    int at = 0; /* the variable's index in known_variables */
    if (strncmp(variable->name, variables_begin, strlen(variables_begin)) != 0)
        return PTO_OK;
    while (at < VARIABLE_COUNT && strcmp(known_variables[at].name, variable->name) != 0)
        at++;
    if (at == VARIABLE_COUNT)
        return pto_error_set_at(reader->err, PTO_ERR_SYNTAX, reader->path, variable->line, 1,
                                "Cray MPICH's manual page has no variable '%.60s'", variable->name);
    if (value[at] >= 0)
        return pto_error_set_at(reader->err, PTO_ERR_SYNTAX, reader->path, variable->line, 1,
                                "the variable is set a second time");
    const bool is_number = pto_int64_parse(variable->value, &value[at], NULL) == PTO_OK;
    if (!is_number || value[at] < known_variables[at].least || value[at] > known_variables[at].most)
        return pto_error_set_at(reader->err, PTO_ERR_RANGE, reader->path, variable->line, variable->column,
                                at == USE_KERNEL ? "'%.40s' is not 0 or 1"
                                : is_number      ? "'%.40s' bytes are too few or too many"
                                                 : "'%.40s' is not a number of bytes in decimal digits",
                                variable->value);
    return PTO_OK;
}

/* Fills a table with the file's rules. Without USE_KERNEL the library decides: its default, which differs by
 * release, is unknown. */
static void fill_table(const pto_export_t *export, pto_export_table_t *table,
                       const int64_t value[VARIABLE_COUNT]) {
    const pto_export_algorithm_t *algorithm = table->collective->algorithm;
    pto_export_rule_t *rule = table->rule;
    table->rule_count = 1;
    rule[0] = (pto_export_rule_t){.from_bytes = 0};
    if (table->collective->id == REDUCTION) {
        bool by_size = value[USE_KERNEL] == 1 && value[THRESHOLD] >= 0;
        if (value[USE_KERNEL] == 0 || by_size)
            rule[0].algorithm = &algorithm[BY_CPU];
        if (by_size) {
            table->rule_count = value[THRESHOLD] > 0 ? 2 : 1;
            rule[table->rule_count - 1] = (pto_export_rule_t){value[THRESHOLD], &algorithm[BY_KERNEL], ""};
        }
    } else if (value[BLOCK] > 0) {
        const int64_t largest = export->bytes.value[export->bytes.count - 1];
        /* Blocks of the largest size or more are equivalent: no message is cut. */
        while (algorithm->name && algorithm->id != value[BLOCK] &&
               (value[BLOCK] < largest || algorithm->id < largest))
            algorithm++;
        rule[0].algorithm = algorithm->name ? algorithm : NULL;
        if (!algorithm->name)
            snprintf(rule[0].unpriced, sizeof rule[0].unpriced, "blocks of %" PRId64 " B", value[BLOCK]);
    }
}

static pto_status_t read_file(const pto_export_file_t *file, pto_export_t *export, pto_error_t *err) {
    reader_t reader = {.path = file->path, .value = {-1, -1, -1}, .err = err};
    /* Only a shell removes quotes. */
    const bool is_script =
        pto_variables_is_script(file->text) || strstr(file->text, "=\"") || strstr(file->text, "='");
    pto_variables_t variables = {.path = file->path,
                                 .form = is_script ? PTO_VARIABLES_SCRIPT : PTO_VARIABLES_ENVIRONMENT,
                                 .prefix = variables_begin,
                                 .err = err};
    pto_status_t status = pto_variables_read(&variables, file->text, file->size, read_variable, &reader);
    export->conditional_line = variables.conditional_line;
    for (int t = 0; t < export->table_count && status == PTO_OK; t++)
        fill_table(export, &export->table[t], reader.value);
    return status;
}

const pto_export_target_t pto_export_cray = {.name = "cray",
                                             .collective = collectives,
                                             .bytes_max = 1 << 20,
                                             .priced =
                                                 "combining two vectors, and of one message between nodes",
                                             .has_comments = true,
                                             .price = price,
                                             .write = write_variables,
                                             .write_notes = write_notes,
                                             .read = read_file};
