/* Reading machine files (docs/formats.md): the tables of their keys, and what rows must satisfy together. */
#include "portolan/machine.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_file.h"
#include "formats/yaml_read.h"
#include "formats/yaml_tree.h"
#include "machine/energy_read.h"
#include "machine/library_rules.h"
#include "machine/nccl_read.h"
#include "machine/postal_read.h"
#include "machine/remote_read.h"
#include "machine/setup_read.h"

enum { FILE_BYTES_MAX = 4 << 20, SHARED_COPIES_MAX = 256, WORD_MAX = 24 };

#define FIELDS(list) .field = (list), .field_count = sizeof(list) / sizeof *(list)

/* --- messages ------------------------------------------------------------------------------------------- */

static const char *protocol_at(int index) { return pto_protocol_name((pto_protocol_t)index); }

static pto_status_t read_protocol(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                                  int argument) {
    (void)argument;
    int index = 0;
    pto_status_t status = pto_read_name(reader, node, protocol_at, PTO_PROTOCOL_COUNT, &index);
    if (status == PTO_OK)
        *(pto_protocol_t *)slot = (pto_protocol_t)index;
    return status;
}

static pto_status_t finish_piece(const pto_reader_t *reader, const pto_yaml_node_t *node, void *target) {
    return pto_settle_postal(reader, node, &((pto_piece_t *)target)->postal);
}

static const pto_yaml_field_t piece_fields[] = {
    {.key = "protocol", .read = read_protocol, .offset = offsetof(pto_piece_t, protocol), .required = true},
    {.key = "below_bytes",
     .read = pto_read_bytes,
     .offset = offsetof(pto_piece_t, below_bytes),
     .argument = 1},
    POSTAL_FIELDS(offsetof(pto_piece_t, postal)),
};
static const pto_yaml_table_t piece_table = {
    .what = "a row of messages", FIELDS(piece_fields), .finish = finish_piece};

/* How a row of byte ranges and the one before it are called in messages. */
typedef struct {
    const char *kind;
    const char *own;
    const char *before;
} range_words_t;

/* Ranges must follow each other without overlap or gap; `from_bytes` is where the row before ends, 0 for the
 * first. Only the last row has no below_bytes. */
static pto_status_t join_range(const pto_reader_t *reader, const pto_yaml_node_t *node,
                               const range_words_t *words, int64_t from_bytes, int64_t *below_bytes) {
    const pto_yaml_node_t *below = pto_yaml_find(node, "below_bytes");
    if (below && !node->next)
        return pto_read_fail(reader, below, PTO_ERR_RANGE,
                             "ranges leave a gap: no %s holds from %lld bytes up; leave below_bytes out "
                             "of the last row",
                             words->kind, (long long)*below_bytes);
    if (!below && node->next)
        return pto_read_fail(reader, node, PTO_ERR_RANGE,
                             "ranges overlap: without below_bytes %s holds for every size, and more rows "
                             "follow",
                             words->own);
    if (below && *below_bytes <= from_bytes)
        return pto_read_fail(reader, below, PTO_ERR_RANGE,
                             "ranges overlap: below_bytes must rise above the %lld of %s",
                             (long long)from_bytes, words->before);
    if (!below)
        *below_bytes = INT64_MAX;
    return PTO_OK;
}

/* Protocols come in their order. */
static pto_status_t join_piece(const pto_reader_t *reader, const pto_yaml_node_t *node,
                               const pto_piece_t *before, pto_piece_t *piece) {
    if (before && before->protocol >= piece->protocol)
        return pto_read_fail(reader, pto_yaml_find(node, "protocol"), PTO_ERR_RANGE,
                             "'%s' cannot follow '%s': each protocol stands once, in the order short, eager, "
                             "rendezvous",
                             pto_protocol_name(piece->protocol), pto_protocol_name(before->protocol));
    char own[WORD_MAX], last[WORD_MAX] = "";
    snprintf(own, sizeof own, "'%s'", pto_protocol_name(piece->protocol));
    if (before)
        snprintf(last, sizeof last, "'%s'", pto_protocol_name(before->protocol));
    piece->from_bytes = before ? before->below_bytes : 0;
    return join_range(reader, node, &(range_words_t){"protocol", own, last}, piece->from_bytes,
                      &piece->below_bytes);
}

static pto_status_t read_pieces(const pto_reader_t *reader, const pto_yaml_node_t *list, void *slot,
                                int argument) {
    (void)argument;
    pto_message_cost_t *cost = slot;
    pto_status_t status = pto_read_expect(reader, list, PTO_YAML_LIST, "a list of rows");
    if (status != PTO_OK)
        return status;
    if (list->child_count < 1)
        return pto_read_fail(reader, list, PTO_ERR_RANGE, "%s: expected at least one row", list->key);
    for (const pto_yaml_node_t *node = list->child; node; node = node->next) {
        if (cost->count == PTO_PIECE_MAX)
            return pto_read_fail(reader, node, PTO_ERR_RANGE, "%s: expected at most %d rows", list->key,
                                 PTO_PIECE_MAX);
        pto_piece_t *piece = &cost->piece[cost->count];
        status = pto_read_mapping(reader, node, &piece_table, piece);
        if (status == PTO_OK)
            status = join_piece(reader, node, cost->count > 0 ? piece - 1 : NULL, piece);
        if (status != PTO_OK)
            return status;
        cost->count++;
    }
    return PTO_OK;
}

#define LEVEL_FIELD(name, level)                                                                             \
    { .key = (name), .read = read_pieces, .offset = sizeof(pto_message_cost_t) * (level) }

static const pto_yaml_field_t level_fields[] = {
    LEVEL_FIELD("on_gpu", PTO_LEVEL_ON_GPU),
    LEVEL_FIELD("on_socket", PTO_LEVEL_ON_SOCKET),
    LEVEL_FIELD("on_node", PTO_LEVEL_ON_NODE),
    LEVEL_FIELD("off_node", PTO_LEVEL_OFF_NODE),
};
static const pto_yaml_table_t level_table = {
    .what = "the messages of a space", FIELDS(level_fields), .nonempty = true};

static const pto_yaml_field_t message_fields[] = {
    {.key = "cpu",
     .table = &level_table,
     .offset = sizeof(pto_message_cost_t) * PTO_LEVEL_COUNT * PTO_SPACE_CPU},
    {.key = "gpu",
     .table = &level_table,
     .offset = sizeof(pto_message_cost_t) * PTO_LEVEL_COUNT * PTO_SPACE_GPU},
};
static const pto_yaml_table_t message_table = {
    .what = "'messages'", FIELDS(message_fields), .nonempty = true};

/* --- copies --------------------------------------------------------------------------------------------- */

typedef struct {
    int64_t procs;
    bool strided;
    int64_t below_bytes;
    pto_postal_t postal;
} shared_row_t;

static pto_status_t finish_shared(const pto_reader_t *reader, const pto_yaml_node_t *node, void *target) {
    shared_row_t *row = target;
    if (row->procs > INT_MAX)
        return pto_read_fail(reader, pto_yaml_find(node, "procs"), PTO_ERR_RANGE, "procs: at most %d",
                             INT_MAX);
    return pto_settle_postal(reader, node, &row->postal);
}

static const pto_yaml_field_t shared_row_fields[] = {
    {.key = "procs",
     .read = pto_read_count,
     .offset = offsetof(shared_row_t, procs),
     .argument = 1,
     .required = true},
    {.key = "strided", .read = pto_read_bool, .offset = offsetof(shared_row_t, strided)},
    {.key = "below_bytes",
     .read = pto_read_bytes,
     .offset = offsetof(shared_row_t, below_bytes),
     .argument = 1},
    POSTAL_FIELDS(offsetof(shared_row_t, postal)),
};
static const pto_yaml_table_t shared_row_table = {
    .what = "a row of shared copies", FIELDS(shared_row_fields), .finish = finish_shared};

/* Rows rise in procs; those of as many processes rise in bytes, and the last of them has no limit. */
static pto_status_t join_shared(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                const pto_shared_copy_t *before, shared_row_t *row) {
    bool open = before && before->below_bytes != INT64_MAX;
    if (before && before->strided && !row->strided)
        return pto_read_fail(reader, pto_yaml_find(node, "procs"), PTO_ERR_RANGE,
                             "strided rows come after the others");
    if (!open && before && before->strided != row->strided)
        return PTO_OK;
    if (before && (row->procs < before->procs || (row->procs == before->procs && !open)))
        return pto_read_fail(reader, pto_yaml_find(node, "procs"), PTO_ERR_RANGE,
                             "procs must rise above the %d of the row before", before->procs);
    if (open && (row->procs != before->procs || row->strided != before->strided))
        return pto_read_fail(reader, node, PTO_ERR_RANGE,
                             "ranges leave a gap: no row of %d processes holds from %lld bytes up",
                             before->procs, (long long)before->below_bytes);
    return pto_check_below(reader, node, open ? before->below_bytes : 0, row->below_bytes);
}

static pto_status_t append_shared(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                  pto_shared_copy_t *copy, int *count) {
    shared_row_t row = {0};
    const pto_shared_copy_t *before = *count > 0 ? &copy[*count - 1] : NULL;
    pto_status_t status = pto_read_mapping(reader, node, &shared_row_table, &row);
    if (status == PTO_OK)
        status = join_shared(reader, node, before, &row);
    if (status != PTO_OK) {
        free(row.postal.flagged);
        return status;
    }
    bool goes_on = before && before->procs == row.procs && before->strided == row.strided;
    copy[*count] = (pto_shared_copy_t){.procs = (int)row.procs,
                                       .strided = row.strided,
                                       .from_bytes = goes_on ? before->below_bytes : 0,
                                       .below_bytes = row.below_bytes > 0 ? row.below_bytes : INT64_MAX,
                                       .postal = row.postal};
    (*count)++;
    return PTO_OK;
}

static pto_status_t read_shared(const pto_reader_t *reader, const pto_yaml_node_t *list, void *slot,
                                int argument) {
    pto_machine_t *machine = slot;
    pto_status_t status = pto_read_expect(reader, list, PTO_YAML_LIST, "a list of rows");
    if (status != PTO_OK)
        return status;
    if (list->child_count < 1 || list->child_count > SHARED_COPIES_MAX)
        return pto_read_fail(reader, list, PTO_ERR_RANGE, "%s: expected 1 to %d rows, not %d", list->key,
                             SHARED_COPIES_MAX, list->child_count);
    pto_shared_copy_t *copy = calloc((size_t)list->child_count, sizeof *copy);
    if (!copy)
        return pto_read_fail(reader, list, PTO_ERR_MEMORY, "out of memory");
    machine->shared_copies[argument] = copy;
    for (const pto_yaml_node_t *node = list->child; node && status == PTO_OK; node = node->next)
        status = append_shared(reader, node, copy, &machine->shared_copy_count[argument]);
    return status;
}

/* Both sit in arrays of the machine by kind, so the target of `copies` and `shared` is the machine itself. */
static const pto_yaml_field_t shared_fields[] = {
    {.key = "h2d", .read = read_shared, .argument = PTO_COPY_H2D},
    {.key = "d2h", .read = read_shared, .argument = PTO_COPY_D2H},
    {.key = "d2d", .read = read_shared, .argument = PTO_COPY_D2D},
};
static const pto_yaml_table_t shared_table = {.what = "'shared'", FIELDS(shared_fields), .nonempty = true};

static const pto_yaml_field_t pageable_fields[] = {
    {.key = "h2d", .table = &pto_postal_table, .offset = offsetof(pto_machine_t, pageable[PTO_COPY_H2D])},
    {.key = "d2h", .table = &pto_postal_table, .offset = offsetof(pto_machine_t, pageable[PTO_COPY_D2H])},
};
static const pto_yaml_table_t pageable_table = {
    .what = "'pageable'", FIELDS(pageable_fields), .nonempty = true};

#define COPY_FIELD(name, kind)                                                                               \
    { .key = (name), .table = &pto_reach_table, .offset = offsetof(pto_machine_t, copies[kind]) }

static const pto_yaml_field_t copy_fields[] = {
    COPY_FIELD("h2d", PTO_COPY_H2D),           COPY_FIELD("d2h", PTO_COPY_D2H),
    COPY_FIELD("d2d", PTO_COPY_D2D),           COPY_FIELD("h2h", PTO_COPY_H2H),
    {.key = "shared", .table = &shared_table}, {.key = "pageable", .table = &pageable_table},
};
static const pto_yaml_table_t copy_table = {.what = "'copies'", FIELDS(copy_fields), .nonempty = true};

/* --- the library's own algorithms ------------------------------------------------------------------------
 */

static const char *const library_collective[] = {"allreduce", "alltoall", "alltoallv", "reduce", "broadcast"};
enum { LIBRARY_COLLECTIVE_COUNT = sizeof library_collective / sizeof *library_collective };

typedef struct {
    pto_machine_t *machine;
    const char *collective;
} library_slot_t;

static pto_status_t read_library_space(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                                       int argument) {
    const library_slot_t *library = slot;
    pto_machine_t *machine = library->machine;
    pto_library_table_t *table = &machine->library[machine->library_count];
    table->space = (pto_space_t)argument;
    table->collective = pto_text_copy(library->collective);
    if (!table->collective)
        return pto_read_fail(reader, node, PTO_ERR_MEMORY, "out of memory");
    machine->library_count++;
    return pto_read_library_rules(reader, node, &table->rule, &table->rule_count);
}

static const pto_yaml_field_t library_space_fields[] = {
    {.key = "cpu", .read = read_library_space, .argument = PTO_SPACE_CPU},
    {.key = "gpu", .read = read_library_space, .argument = PTO_SPACE_GPU},
};
static const pto_yaml_table_t library_space_table = {
    .what = "a collective of 'library'", FIELDS(library_space_fields), .nonempty = true};

static pto_status_t read_library_collective(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                            void *slot, int argument) {
    library_slot_t library = {.machine = slot, .collective = library_collective[argument]};
    if (!library.machine->library) /* once, with room for all that can be named */
        library.machine->library =
            calloc(LIBRARY_COLLECTIVE_COUNT * PTO_SPACE_COUNT, sizeof *library.machine->library);
    if (!library.machine->library)
        return pto_read_fail(reader, node, PTO_ERR_MEMORY, "out of memory");
    return pto_read_mapping(reader, node, &library_space_table, &library);
}

static const pto_yaml_field_t library_fields[] = {
    {.key = "allreduce", .read = read_library_collective, .argument = 0},
    {.key = "alltoall", .read = read_library_collective, .argument = 1},
    {.key = "alltoallv", .read = read_library_collective, .argument = 2},
    {.key = "reduce", .read = read_library_collective, .argument = 3},
    {.key = "broadcast", .read = read_library_collective, .argument = 4},
};
static const pto_yaml_table_t library_table = {.what = "'library'", FIELDS(library_fields), .nonempty = true};

/* --- the rest ---------------------------------------------------------------------------------------------
 */

static const pto_yaml_field_t node_fields[] = {
    {.key = "sockets",
     .read = pto_read_count,
     .offset = offsetof(pto_machine_t, node.sockets),
     .argument = 1,
     .required = true},
    {.key = "gpus",
     .read = pto_read_count,
     .offset = offsetof(pto_machine_t, node.gpus),
     .argument = 1,
     .required = true},
    {.key = "cores",
     .read = pto_read_count,
     .offset = offsetof(pto_machine_t, node.cores),
     .argument = 1,
     .required = true},
};
static const pto_yaml_table_t node_table = {.what = "'node'", FIELDS(node_fields)};

#define AT(member) .offset = offsetof(pto_machine_t, member)

static pto_status_t settle_injection(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                     pto_machine_t *machine, pto_space_t space) {
    pto_status_t status =
        pto_settle_param(reader, node, "s_per_byte_95", &machine->injection_s_per_byte[space]);
    if (status != PTO_OK)
        return status;
    return pto_settle_param(reader, node, "s_per_message_95", &machine->injection_s_per_message[space]);
}

static pto_status_t finish_injection_cpu(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                         void *target) {
    return settle_injection(reader, node, target, PTO_SPACE_CPU);
}

static pto_status_t finish_injection_gpu(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                         void *target) {
    return settle_injection(reader, node, target, PTO_SPACE_GPU);
}

#define INJECTION_FIELDS(space)                                                                              \
    {                                                                                                        \
        {.key = "s_per_byte",                                                                                \
         .read = pto_read_param,                                                                             \
         AT(injection_s_per_byte[space]),                                                                    \
         .argument = 1,                                                                                      \
         .required = true},                                                                                  \
            {.key = "s_per_byte_95", .read = pto_read_interval, AT(injection_s_per_byte[space])},            \
            {.key = "s_per_message", .read = pto_read_param, AT(injection_s_per_message[space])}, {          \
            .key = "s_per_message_95", .read = pto_read_interval, AT(injection_s_per_message[space])         \
        }                                                                                                    \
    }

static const pto_yaml_field_t injection_cpu_fields[] = INJECTION_FIELDS(PTO_SPACE_CPU);
static const pto_yaml_field_t injection_gpu_fields[] = INJECTION_FIELDS(PTO_SPACE_GPU);
static const pto_yaml_table_t injection_cpu_table = {
    .what = "an injection limit", FIELDS(injection_cpu_fields), .finish = finish_injection_cpu};
static const pto_yaml_table_t injection_gpu_table = {
    .what = "an injection limit", FIELDS(injection_gpu_fields), .finish = finish_injection_gpu};

static const pto_yaml_field_t injection_space_fields[] = {
    {.key = "cpu", .table = &injection_cpu_table},
    {.key = "gpu", .table = &injection_gpu_table},
};
static const pto_yaml_table_t injection_space_table = {
    .what = "'injection'", FIELDS(injection_space_fields), .nonempty = true};

static pto_status_t finish_reduce(const pto_reader_t *reader, const pto_yaml_node_t *node, void *target) {
    pto_reduce_piece_t *piece = target;
    pto_status_t status = pto_settle_postal(reader, node, &piece->postal);
    if (status != PTO_OK)
        return status;
    return pto_settle_param(reader, node, "further_s_per_byte_95", &piece->further_s_per_byte);
}

#define REDUCE_FIELDS                                                                                        \
    POSTAL_FIELDS(offsetof(pto_reduce_piece_t, postal)),                                                     \
        {.key = "further_s_per_byte",                                                                        \
         .read = pto_read_param,                                                                             \
         .offset = offsetof(pto_reduce_piece_t, further_s_per_byte),                                         \
         .argument = 1},                                                                                     \
    {                                                                                                        \
        .key = "further_s_per_byte_95", .read = pto_read_interval,                                           \
        .offset = offsetof(pto_reduce_piece_t, further_s_per_byte)                                           \
    }

static const pto_yaml_field_t reduce_cost_fields[] = {REDUCE_FIELDS};
static const pto_yaml_table_t reduce_cost_table = {
    .what = "a cost", FIELDS(reduce_cost_fields), .finish = finish_reduce};

static const pto_yaml_field_t reduce_row_fields[] = {
    {.key = "below_bytes",
     .read = pto_read_bytes,
     .offset = offsetof(pto_reduce_piece_t, below_bytes),
     .argument = 1},
    REDUCE_FIELDS,
};
static const pto_yaml_table_t reduce_row_table = {
    .what = "a row of costs", FIELDS(reduce_row_fields), .finish = finish_reduce};

static pto_status_t read_reduce_row(const pto_reader_t *reader, const pto_yaml_node_t *node,
                                    pto_reduce_cost_t *cost) {
    static const range_words_t words = {"row", "this row", "the row before"};
    if (cost->count == PTO_REDUCE_PIECE_MAX)
        return pto_read_fail(reader, node, PTO_ERR_RANGE, "expected at most %d rows", PTO_REDUCE_PIECE_MAX);
    pto_reduce_piece_t *piece = &cost->piece[cost->count];
    pto_status_t status = pto_read_mapping(reader, node, &reduce_row_table, piece);
    piece->from_bytes = cost->count > 0 ? piece[-1].below_bytes : 0;
    if (status == PTO_OK)
        status = join_range(reader, node, &words, piece->from_bytes, &piece->below_bytes);
    cost->count += status == PTO_OK;
    return status;
}

/* One cost for every size, or a list of rows. */
pto_status_t pto_read_cost(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                           int argument) {
    (void)argument;
    pto_reduce_cost_t *cost = slot;
    if (node->kind == PTO_YAML_MAPPING) {
        cost->count = 1;
        cost->piece[0].below_bytes = INT64_MAX;
        return pto_read_mapping(reader, node, &reduce_cost_table, &cost->piece[0]);
    }
    pto_status_t status = pto_read_expect(reader, node, PTO_YAML_LIST, "a cost or a list of rows");
    if (status == PTO_OK && node->child_count < 1)
        status = pto_read_fail(reader, node, PTO_ERR_RANGE, "%s: expected at least one row", node->key);
    for (const pto_yaml_node_t *row = node->child; status == PTO_OK && row; row = row->next)
        status = read_reduce_row(reader, row, cost);
    return status;
}

static const pto_yaml_field_t reduce_fields[] = {
    {.key = "cpu", .read = pto_read_cost, AT(reduce[PTO_SPACE_CPU])},
    {.key = "gpu", .read = pto_read_cost, AT(reduce[PTO_SPACE_GPU])},
};
static const pto_yaml_table_t reduce_table = {.what = "'reduce'", FIELDS(reduce_fields), .nonempty = true};

static const pto_yaml_field_t per_message_fields[] = {
    {.key = "cpu", .read = read_pieces, AT(per_message[PTO_SPACE_CPU])},
    {.key = "gpu", .read = read_pieces, AT(per_message[PTO_SPACE_GPU])},
};
static const pto_yaml_table_t per_message_table = {
    .what = "'per_message'", FIELDS(per_message_fields), .nonempty = true};

static pto_status_t finish_signals(const pto_reader_t *reader, const pto_yaml_node_t *node, void *target) {
    pto_machine_t *machine = target;
    pto_status_t status = pto_settle_param(reader, node, "flag_s_95", &machine->signal_s);
    if (status == PTO_OK)
        status = pto_settle_param(reader, node, "event_s_95", &machine->event_s);
    return status != PTO_OK ? status
                            : pto_settle_param(reader, node, "device_s_95", &machine->device_signal_s);
}

static const pto_yaml_field_t signal_fields[] = {
    {.key = "flag_s", .read = pto_read_param, AT(signal_s)},
    {.key = "flag_s_95", .read = pto_read_interval, AT(signal_s)},
    {.key = "event_s", .read = pto_read_param, AT(event_s)},
    {.key = "event_s_95", .read = pto_read_interval, AT(event_s)},
    {.key = "device_s", .read = pto_read_param, AT(device_signal_s)},
    {.key = "device_s_95", .read = pto_read_interval, AT(device_signal_s)},
};
static const pto_yaml_table_t signal_table = {
    .what = "'signals'", FIELDS(signal_fields), .nonempty = true, .finish = finish_signals};

static pto_status_t finish_launch(const pto_reader_t *reader, const pto_yaml_node_t *node, void *target) {
    pto_machine_t *machine = target;
    pto_status_t status = pto_settle_param(reader, node, "kernel_s_95", &machine->kernel_launch_s);
    if (status == PTO_OK)
        status = pto_settle_param(reader, node, "graph_s_95", &machine->graph_launch_s);
    return status != PTO_OK ? status
                            : pto_settle_param(reader, node, "queued_s_95", &machine->queued_launch_s);
}

static const pto_yaml_field_t launch_fields[] = {
    {.key = "kernel_s", .read = pto_read_param, AT(kernel_launch_s)},
    {.key = "kernel_s_95", .read = pto_read_interval, AT(kernel_launch_s)},
    {.key = "graph_s", .read = pto_read_param, AT(graph_launch_s)},
    {.key = "graph_s_95", .read = pto_read_interval, AT(graph_launch_s)},
    {.key = "queued_s", .read = pto_read_param, AT(queued_launch_s)},
    {.key = "queued_s_95", .read = pto_read_interval, AT(queued_launch_s)},
};
static const pto_yaml_table_t launch_table = {
    .what = "'launch'", FIELDS(launch_fields), .nonempty = true, .finish = finish_launch};

static pto_status_t finish_network(const pto_reader_t *reader, const pto_yaml_node_t *node, void *target) {
    return pto_settle_param(reader, node, "contention_95", &((pto_machine_t *)target)->contention);
}

static const pto_yaml_field_t network_fields[] = {
    {.key = "contention", .read = pto_read_param, AT(contention), .required = true},
    {.key = "contention_95", .read = pto_read_interval, AT(contention)},
};
static const pto_yaml_table_t network_table = {
    .what = "'network'", FIELDS(network_fields), .finish = finish_network};

static const pto_yaml_field_t memory_fields[] = {
    {.key = "gpu_bytes", .read = pto_read_param_bytes, AT(gpu_memory_bytes)},
    {.key = "host_bytes", .read = pto_read_param_bytes, AT(host_memory_bytes)},
};
static const pto_yaml_table_t memory_table = {.what = "'memory'", FIELDS(memory_fields), .nonempty = true};

static const pto_yaml_field_t machine_fields[] = {
    {.key = "machine", .read = pto_read_text, AT(name), .required = true},
    {.key = "source", .read = pto_read_text, AT(source), .required = true},
    {.key = "node", .table = &node_table, .required = true},
    {.key = "messages", .table = &message_table, AT(messages), .required = true},
    {.key = "injection", .table = &injection_space_table},
    {.key = "network", .table = &network_table},
    {.key = "per_message", .table = &per_message_table},
    {.key = "copies", .table = &copy_table},
    {.key = "reduce", .table = &reduce_table},
    {.key = "peer", .table = &pto_reach_table, AT(peer)},
    {.key = "remote", .table = &pto_remote_table},
    {.key = "signals", .table = &signal_table},
    {.key = "launch", .table = &launch_table},
    {.key = "memory", .table = &memory_table},
    {.key = "library", .table = &library_table},
    {.key = "nccl", .table = &pto_nccl_table},
    {.key = "energy", .table = &pto_energy_table, AT(power_w)},
    {.key = "setup", .table = &pto_setup_table, AT(setup)},
};
static const pto_yaml_table_t machine_table = {.what = "a machine file", FIELDS(machine_fields)};

pto_status_t pto_machine_parse(const char *text, size_t text_size, const char *path, pto_machine_t *machine,
                               pto_error_t *err) {
    const pto_reader_t reader = {.path = path, .err = err};
    pto_yaml_node_t *root = NULL;
    pto_status_t status = pto_yaml_parse(text, text_size, path, &root, err);
    if (status != PTO_OK)
        return status;
    pto_machine_t made = {.path = pto_text_copy(path)};
    if (made.path)
        status = pto_read_mapping(&reader, root, &machine_table, &made);
    else
        status = pto_read_fail(&reader, root, PTO_ERR_MEMORY, "out of memory");
    pto_yaml_destroy(root);
    if (status != PTO_OK) {
        pto_machine_fini(&made);
        return status;
    }
    *machine = made;
    return PTO_OK;
}

pto_status_t pto_machine_read(const char *path, pto_machine_t *machine, pto_error_t *err) {
    char *text = NULL;
    size_t size = 0;
    pto_status_t status = pto_text_read(path, FILE_BYTES_MAX, &text, &size, err);
    if (status != PTO_OK)
        return status;
    status = pto_machine_parse(text, size, path, machine, err);
    free(text);
    return status;
}
