/* Machine files, written: the mirror of machine_read.c. */
#include "portolan/machine_write.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "portolan/output.h"

enum { NUMBER_MAX = 32, PLACE_MAX = 64 };

/* Text that grows; `failed` once memory is out, and then nothing more is added. */
typedef struct {
    char *text;
    size_t size;
    size_t capacity;
    bool failed;
} writer_t;

static bool writer_reserve(writer_t *writer, size_t more) {
    if (writer->failed || writer->size + more + 1 <= writer->capacity) {
        return !writer->failed;
    }
    size_t capacity = 2 * (writer->size + more + 1);
    char *grown = realloc(writer->text, capacity);
    if (grown == NULL) {
        writer->failed = true;
        return false;
    }
    writer->text = grown;
    writer->capacity = capacity;
    return true;
}

static void put(writer_t *writer, const char *text) {
    size_t size = strlen(text);
    if (writer_reserve(writer, size)) {
        memcpy(writer->text + writer->size, text, size + 1);
        writer->size += size;
    }
}

/* Short pieces only: keys and numbers. */
static void putf(writer_t *writer, const char *format, ...) PTO_PRINTF_LIKE(2, 3);

static void putf(writer_t *writer, const char *format, ...) {
    char piece[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(piece, sizeof piece, format, arguments);
    va_end(arguments);
    put(writer, piece);
}

/* The fewest digits that read back as the same double. */
static const char *number(double value, char *text) {
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, NUMBER_MAX, "%.*g", digits, value);
        if (strtod(text, NULL) == value) {
            break;
        }
    }
    return text;
}

/* Bytes of the character at `text` that YAML takes as it is: printable ASCII, or well-formed UTF-8 from
 * U+00A0 up, without surrogates and U+FFFE and U+FFFF. 0: none such. */
static size_t plain_character(const unsigned char *text) {
    if (text[0] < 0x80) {
        return text[0] >= 0x20 && text[0] < 0x7f;
    }
    size_t size = text[0] >= 0xf0 && text[0] < 0xf5 ? 4 : text[0] >= 0xe0 ? 3 : text[0] >= 0xc2 ? 2 : 0;
    if (size == 0 || text[0] >= 0xf5) {
        return 0;
    }
    uint32_t code = text[0] & (0x7fU >> size);
    for (size_t i = 1; i < size; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
        code = code << 6 | (text[i] & 0x3fU);
    }
    static const uint32_t least[] = {0, 0, 0xa0, 0x800, 0x10000};
    bool refused =
        code < least[size] || (code >= 0xd800 && code < 0xe000) || code == 0xfffe || code == 0xffff;
    return refused || code > 0x10ffff ? 0 : size;
}

static void put_bytes(writer_t *writer, const char *text, size_t size) {
    if (writer_reserve(writer, size)) {
        memcpy(writer->text + writer->size, text, size);
        writer->size += size;
        writer->text[writer->size] = '\0';
    }
}

/* A double-quoted scalar. A byte that is no character is written as the one of its number. */
static void put_quoted(writer_t *writer, const char *text) {
    put(writer, "\"");
    while (*text != '\0') {
        size_t size = plain_character((const unsigned char *)text);
        if (*text == '"' || *text == '\\') {
            putf(writer, "\\%c", *text);
        } else if (size > 0) {
            put_bytes(writer, text, size);
        } else {
            putf(writer, "\\x%02x", (unsigned char)*text);
        }
        text += size > 0 ? size : 1;
    }
    put(writer, "\"");
}

/* `key: value`, and `key_95: [low, high]` where there is an interval. */
static void put_param(writer_t *writer, const char *key, const pto_param_t *param) {
    char value[NUMBER_MAX];
    putf(writer, "%s: %s", key, number(param->value, value));
    if (param->has_interval) {
        char high[NUMBER_MAX];
        putf(writer, ", %s_95: [%s, %s]", key, number(param->low, value), number(param->high, high));
    }
}

/* How far a fit can be trusted, as far as it is known. */
static void put_grounds(writer_t *writer, int64_t sample_count, double residual, const char *flagged) {
    if (sample_count > 0) {
        putf(writer, ", samples: %" PRId64, sample_count);
    }
    if (residual > 0) {
        char value[NUMBER_MAX];
        putf(writer, ", residual: %s", number(residual, value));
    }
    if (flagged != NULL) {
        put(writer, ", flagged: ");
        put_quoted(writer, flagged);
    }
}

/* The inside of a flow mapping. */
static void put_postal(writer_t *writer, const pto_postal_t *postal) {
    put_param(writer, "alpha_s", &postal->alpha_s);
    put(writer, ", ");
    put_param(writer, "beta_s_per_byte", &postal->beta_s_per_byte);
    put_grounds(writer, postal->sample_count, postal->residual, postal->flagged);
}

static void put_below(writer_t *writer, int64_t below_bytes) {
    if (below_bytes != INT64_MAX) {
        putf(writer, "below_bytes: %" PRId64 ", ", below_bytes);
    }
}

static void put_pieces(writer_t *writer, const char *indent, const char *name,
                       const pto_message_cost_t *cost) {
    putf(writer, "%s%s:\n", indent, name);
    for (int i = 0; i < cost->count; i++) {
        const pto_piece_t *piece = &cost->piece[i];
        putf(writer, "%s  - {protocol: %s, ", indent, pto_protocol_name(piece->protocol));
        put_below(writer, piece->below_bytes);
        put_postal(writer, &piece->postal);
        put(writer, "}\n");
    }
}

/* Write a heading before the first thing that stands under it. */
static void put_heading(writer_t *writer, bool *written, const char *heading) {
    if (!*written) {
        put(writer, heading);
        *written = true;
    }
}

static void put_messages(writer_t *writer, const pto_machine_t *machine) {
    bool heading = false;
    for (int space = 0; space < PTO_SPACE_COUNT; space++) {
        bool space_heading = false;
        char space_line[PLACE_MAX];
        snprintf(space_line, sizeof space_line, "  %s:\n", pto_space_name((pto_space_t)space));
        for (int level = 0; level < PTO_LEVEL_COUNT; level++) {
            if (machine->messages[space][level].count > 0) {
                put_heading(writer, &heading, "\nmessages:\n");
                put_heading(writer, &space_heading, space_line);
                put_pieces(writer, "    ", pto_level_name((pto_level_t)level),
                           &machine->messages[space][level]);
            }
        }
    }
}

static void put_injection(writer_t *writer, const pto_machine_t *machine) {
    bool heading = false;
    for (int space = 0; space < PTO_SPACE_COUNT; space++) {
        const pto_param_t *param = &machine->injection_s_per_byte[space];
        if (pto_param_known(param)) {
            put_heading(writer, &heading, "\ninjection: # 1/R_N\n");
            putf(writer, "  %s: {", pto_space_name((pto_space_t)space));
            put_param(writer, "s_per_byte", param);
            if (pto_param_known(&machine->injection_s_per_message[space])) {
                put(writer, ", ");
                put_param(writer, "s_per_message", &machine->injection_s_per_message[space]);
            }
            put(writer, "}\n");
        }
    }
}

/* `on_socket: {...}` and `off_socket: {...}`, as far as known, under a heading of their own. */
static void put_reaches(writer_t *writer, const pto_postal_t *postal, const char *heading,
                        const char *indent) {
    bool written = false;
    for (int reach = 0; reach < PTO_REACH_COUNT; reach++) {
        if (pto_postal_known(&postal[reach])) {
            put_heading(writer, &written, heading);
            putf(writer, "%s%s: {", indent, pto_reach_name((pto_reach_t)reach));
            put_postal(writer, &postal[reach]);
            put(writer, "}\n");
        }
    }
}

static bool knows_copies(const pto_machine_t *machine, pto_copy_kind_t kind) {
    return pto_postal_known(&machine->copies[kind][PTO_REACH_ON_SOCKET]) ||
           pto_postal_known(&machine->copies[kind][PTO_REACH_OFF_SOCKET]);
}

static void put_shared(writer_t *writer, const pto_machine_t *machine, bool *copies_heading) {
    bool heading = false;
    for (int kind = 0; kind < PTO_COPY_COUNT; kind++) {
        for (int i = 0; i < machine->shared_copy_count[kind]; i++) {
            const pto_shared_copy_t *shared = &machine->shared_copies[kind][i];
            put_heading(writer, copies_heading, "\ncopies:\n");
            put_heading(writer, &heading, "  shared:\n");
            if (i == 0) {
                putf(writer, "    %s:\n", pto_copy_kind_name((pto_copy_kind_t)kind));
            }
            putf(writer, "      - {procs: %d, ", shared->procs);
            put(writer, shared->strided ? "strided: true, " : "");
            put_below(writer, shared->below_bytes);
            put_postal(writer, &shared->postal);
            put(writer, "}\n");
        }
    }
}

static void put_copies(writer_t *writer, const pto_machine_t *machine) {
    bool heading = false;
    for (int kind = 0; kind < PTO_COPY_COUNT; kind++) {
        if (knows_copies(machine, (pto_copy_kind_t)kind)) {
            char kind_line[PLACE_MAX];
            put_heading(writer, &heading, "\ncopies:\n");
            snprintf(kind_line, sizeof kind_line, "  %s:\n", pto_copy_kind_name((pto_copy_kind_t)kind));
            put_reaches(writer, machine->copies[kind], kind_line, "    ");
        }
    }
    put_shared(writer, machine, &heading);
    bool pageable = false;
    for (int kind = 0; kind < PTO_COPY_COUNT; kind++)
        if (pto_postal_known(&machine->pageable[kind])) {
            put_heading(writer, &heading, "\ncopies:\n");
            put_heading(writer, &pageable, "  pageable:\n");
            putf(writer, "    %s: {", pto_copy_kind_name((pto_copy_kind_t)kind));
            put_postal(writer, &machine->pageable[kind]);
            put(writer, "}\n");
        }
}

/* One piece is a mapping, several are a list. */
static void put_cost(writer_t *writer, const char *indent, const char *key, const pto_reduce_cost_t *cost) {
    putf(writer, cost->count == 1 ? "%s%s: " : "%s%s:\n", indent, key);
    for (int i = 0; i < cost->count; i++) {
        put(writer, cost->count == 1 ? "" : indent);
        put(writer, cost->count == 1 ? "{" : "  - {");
        put_below(writer, cost->piece[i].below_bytes);
        put_postal(writer, &cost->piece[i].postal);
        if (pto_param_known(&cost->piece[i].further_s_per_byte)) {
            put(writer, ", ");
            put_param(writer, "further_s_per_byte", &cost->piece[i].further_s_per_byte);
        }
        put(writer, "}\n");
    }
}

static void put_reduce(writer_t *writer, const pto_machine_t *machine) {
    bool heading = false;
    for (int space = 0; space < PTO_SPACE_COUNT; space++) {
        const pto_reduce_cost_t *cost = &machine->reduce[space];
        if (cost->count == 0) {
            continue;
        }
        put_heading(writer, &heading, "\nreduce:\n");
        put_cost(writer, "  ", pto_space_name((pto_space_t)space), cost);
    }
}

static void put_remote(writer_t *writer, const pto_machine_t *machine) {
    const pto_param_t *all = &machine->remote_all_s_per_byte;
    bool heading = false;
    for (int remote = 0; remote < PTO_REMOTE_COUNT; remote++) {
        const pto_postal_t *postal = machine->remote[remote];
        if (pto_postal_known(&postal[PTO_REACH_ON_SOCKET]) ||
            pto_postal_known(&postal[PTO_REACH_OFF_SOCKET])) {
            char line[PLACE_MAX];
            put_heading(writer, &heading, "\nremote:\n");
            snprintf(line, sizeof line, "  %s:\n", pto_remote_name((pto_remote_t)remote));
            put_reaches(writer, postal, line, "    ");
        }
    }
    if (pto_param_known(all)) {
        char low[NUMBER_MAX];
        char high[NUMBER_MAX];
        put_heading(writer, &heading, "\nremote:\n");
        putf(writer, "  all_s_per_byte: %s\n", number(all->value, low));
        if (all->has_interval) {
            putf(writer, "  all_s_per_byte_95: [%s, %s]\n", number(all->low, low), number(all->high, high));
        }
    }
}

static void put_per_message(writer_t *writer, const pto_machine_t *machine) {
    bool heading = false;
    for (int space = 0; space < PTO_SPACE_COUNT; space++)
        if (machine->per_message[space].count > 0) {
            put_heading(
                writer, &heading,
                "\nper_message: # each further message of a process that has one in flight, off the node\n");
            put_pieces(writer, "  ", pto_space_name((pto_space_t)space), &machine->per_message[space]);
        }
}

/* A mapping of single parameters on one line; absent ones are left out. */
typedef struct {
    const char *key;
    const pto_param_t *param;
    bool whole; /* bytes, which have no exponent */
} named_param_t;

static void put_params(writer_t *writer, const char *opening, const named_param_t *params, int count) {
    bool opened = false;
    for (int i = 0; i < count; i++) {
        if (pto_param_known(params[i].param)) {
            put(writer, opened ? ", " : opening);
            opened = true;
            if (params[i].whole) {
                putf(writer, "%s: %.0f", params[i].key, params[i].param->value);
            } else {
                put_param(writer, params[i].key, params[i].param);
            }
        }
    }
    put(writer, opened ? "}\n" : "");
}

static void put_rest(writer_t *writer, const pto_machine_t *machine) {
    const named_param_t signals[] = {{"flag_s", &machine->signal_s, false},
                                     {"event_s", &machine->event_s, false},
                                     {"device_s", &machine->device_signal_s, false}};
    const named_param_t launch[] = {{"kernel_s", &machine->kernel_launch_s, false},
                                    {"graph_s", &machine->graph_launch_s, false},
                                    {"queued_s", &machine->queued_launch_s, false}};
    const named_param_t memory[] = {{"gpu_bytes", &machine->gpu_memory_bytes, true},
                                    {"host_bytes", &machine->host_memory_bytes, true}};
    put_reduce(writer, machine);
    put_reaches(writer, machine->peer, "\npeer:\n", "  ");
    put_remote(writer, machine);
    put_params(writer, "\nsignals: {", signals, 3);
    put_params(writer, "\nlaunch: {", launch, 3);
    put_params(writer, "\nmemory: {", memory, 2);
}

static void put_powers(writer_t *writer, const pto_machine_t *machine) {
    const pto_param_t *power_w = machine->power_w;
    const named_param_t gpu[] = {{"idle_w", &power_w[PTO_POWER_GPU_IDLE], false},
                                 {"copy_w", &power_w[PTO_POWER_GPU_COPY], false},
                                 {"kernel_w", &power_w[PTO_POWER_GPU_KERNEL], false}};
    const named_param_t cpu[] = {{"idle_w", &power_w[PTO_POWER_CPU_IDLE], false},
                                 {"core_w", &power_w[PTO_POWER_CPU_CORE], false}};
    bool any = pto_param_known(gpu[0].param) || pto_param_known(cpu[0].param);
    put(writer, any ? "\nenergy:\n" : "");
    put_params(writer, "  gpu: {", gpu, 3);
    put_params(writer, "  cpu: {", cpu, 2);
}

static void put_setup(writer_t *writer, const pto_machine_t *machine) {
    const pto_setup_cost_t *setup = &machine->setup;
    bool heading = false, allocate = false;
    static const char opening[] = "\nsetup: # once, before a plan's first run\n";
    if (setup->open.count > 0) {
        put_heading(writer, &heading, opening);
        put_cost(writer, "  ", "open", &setup->open);
    }
    for (int space = PTO_SPACE_COUNT - 1; space >= 0; space--)
        if (setup->allocate[space].count > 0) {
            put_heading(writer, &heading, opening);
            put_heading(writer, &allocate, "  allocate:\n");
            put_cost(writer, "    ", pto_space_name((pto_space_t)space), &setup->allocate[space]);
        }
    if (pto_param_known(&setup->segment_s)) {
        char low[NUMBER_MAX], high[NUMBER_MAX];
        put_heading(writer, &heading, opening);
        putf(writer, "  segment_s: %s\n", number(setup->segment_s.value, low));
        if (setup->segment_s.has_interval)
            putf(writer, "  segment_s_95: [%s, %s]\n", number(setup->segment_s.low, low),
                 number(setup->segment_s.high, high));
    }
}

static void put_rule(writer_t *writer, const pto_library_rule_t *rule) {
    put(writer, "      - {");
    put_below(writer, rule->below_bytes);
    if (rule->procs > 0) {
        putf(writer, "procs: %" PRId64 ", ", rule->procs);
    }
    put(writer, "algorithm: ");
    put(writer, rule->algorithm);
    put(writer, rule->staged ? ", staged: true}\n" : "}\n");
}

/* Both spaces of a collective are one mapping, wherever their tables lie. */
static void put_library(writer_t *writer, const pto_machine_t *machine) {
    for (int i = 0; i < machine->library_count; i++) {
        const char *collective = machine->library[i].collective;
        bool first = true;
        for (int j = 0; j < i; j++) {
            first = first && strcmp(machine->library[j].collective, collective) != 0;
        }
        put(writer, i == 0 ? "\nlibrary:\n" : "");
        if (!first) {
            continue;
        }
        putf(writer, "  %s:\n", collective);
        for (int j = i; j < machine->library_count; j++) {
            const pto_library_table_t *table = &machine->library[j];
            if (strcmp(table->collective, collective) == 0) {
                putf(writer, "    %s:\n", pto_space_name(table->space));
                for (int r = 0; r < table->rule_count; r++) {
                    put_rule(writer, &table->rule[r]);
                }
            }
        }
    }
}

static void put_nccl(writer_t *writer, const pto_machine_t *machine) {
    bool heading = false;
    for (int kind = 0; kind < PTO_NCCL_COUNT; kind++) {
        for (int i = 0; i < machine->nccl_count[kind]; i++) {
            const pto_nccl_cost_t *row = &machine->nccl[kind][i];
            put_heading(writer, &heading, "\nnccl: # gpus: of all nodes\n");
            if (i == 0) {
                putf(writer, "  %s:\n", pto_nccl_name((pto_nccl_kind_t)kind));
            }
            putf(writer, "    - {gpus: %" PRId64 ", ", row->gpus);
            if (row->nodes > 1) {
                putf(writer, "nodes: %" PRId64 ", ", row->nodes);
            }
            put_below(writer, row->below_bytes);
            put_postal(writer, &row->postal);
            put(writer, "}\n");
        }
    }
}

/* Comments have no escapes: what YAML would refuse in them becomes a question mark. */
static void put_comment(writer_t *writer, const char *comment) {
    bool fresh = true;
    for (const char *at = comment; *at != '\0';) {
        size_t size = plain_character((const unsigned char *)at);
        bool end = *at == '\n';
        put(writer, !fresh ? "" : end ? "#" : "# ");
        if (size > 0) {
            put_bytes(writer, at, size);
        } else {
            put(writer, end ? "\n" : "?");
        }
        fresh = end;
        at += size > 0 ? size : 1;
    }
    put(writer, fresh ? "" : "\n");
}

pto_status_t pto_machine_format(const pto_machine_t *machine, const char *comment, char **text,
                                pto_error_t *err) {
    writer_t writer = {0};
    put_comment(&writer, comment != NULL ? comment : "");
    put(&writer, "machine: ");
    put_quoted(&writer, machine->name != NULL ? machine->name : "");
    put(&writer, "\nsource: ");
    put_quoted(&writer, machine->source != NULL ? machine->source : "");
    putf(&writer, "\nnode: {sockets: %" PRId64 ", gpus: %" PRId64 ", cores: %" PRId64 "}\n",
         machine->node.sockets, machine->node.gpus, machine->node.cores);
    put_messages(&writer, machine);
    put_injection(&writer, machine);
    const named_param_t network[] = {{"contention", &machine->contention, false}};
    put_params(&writer, "\nnetwork: {", network, 1);
    put_per_message(&writer, machine);
    put_copies(&writer, machine);
    put_rest(&writer, machine);
    put_setup(&writer, machine);
    put_library(&writer, machine);
    put_nccl(&writer, machine);
    put_powers(&writer, machine);
    if (writer.failed) {
        free(writer.text);
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a machine file");
    }
    *text = writer.text;
    return PTO_OK;
}

pto_status_t pto_machine_write(const pto_machine_t *machine, const char *comment, const char *path,
                               bool force, pto_error_t *err) {
    char *text = NULL;
    pto_output_t *output = NULL;
    pto_status_t status = pto_machine_format(machine, comment, &text, err);
    if (status == PTO_OK) {
        status = pto_output_open(path, force, &output, err);
    }
    if (status == PTO_OK) {
        fputs(text, pto_output_stream(output));
        status = pto_output_close(output, true, err);
    }
    free(text);
    return status;
}
