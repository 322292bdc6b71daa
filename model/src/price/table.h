/* Sums over the rows and columns of a table of byte counts, which has an entry for each pair of owners: row i
 * is what owner i sends, column j what owner j receives. In this folder, a line of the table is a row or a
 * column.
 *
 * The price of a stage with all messages in flight at once depends only on how many messages of a process pay
 * each row of a cost, and on their total bytes. The price of a copy of a line depends only on the line's
 * bytes. So each entry is read once for its row and once for its column, for all strategies. */
#ifndef PTO_PRICE_TABLE_H
#define PTO_PRICE_TABLE_H

#include "plan/plan_internal.h"
#include "portolan/machine.h"
#include "scenario/skew.h"

/* Byte counts between all pairs of owners. */
typedef struct {
    const pto_request_t *request;
    int64_t owners;
    int64_t owners_per_node;
    bool is_skewed;
    pto_skew_t skew;
    uint64_t *source_hash; /* [source], of a random table: the part of the hash that the source determines */
} pto_table_t;

/* Makes the table of a request whose counts are by pair. False: out of memory. */
bool pto_table_init(const pto_request_t *request, pto_table_t *table);
void pto_table_fini(pto_table_t *table);

static inline int64_t pto_table_entry(const pto_table_t *table, int64_t source, int64_t destination) {
    return table->is_skewed ? pto_skew_bytes_from(&table->skew, table->source_hash[source], destination)
                            : pto_request_bytes(table->request, source, destination);
}

/* How the processes of a GPU divide a line among them: part p is that of core p. */
typedef enum {
    PTO_PARTS_CYCLIC, /* part p: the entries whose distance from sender to receiver is p modulo the parts */
    PTO_PARTS_SHARES  /* part p: the p-th share of the bytes of every entry */
} pto_parts_kind_t;

typedef struct {
    pto_parts_kind_t kind;
    int64_t count;
    int64_t granularity_bytes; /* shares are multiples of this; 0 if cyclic */
} pto_parts_t;

static inline bool pto_parts_are_same(const pto_parts_t *a, const pto_parts_t *b) {
    return a->kind == b->kind && a->count == b->count && a->granularity_bytes == b->granularity_bytes;
}

/* A number of messages, and their total bytes. */
typedef struct {
    int64_t messages;
    int64_t bytes;
} pto_sum_t;

/* Classes of messages between nodes by size: all messages of a class pay the same row of each of the
 * machine's costs. Messages without bytes are a class of their own if there can be any. */
typedef struct {
    int count;
    int64_t *from_bytes; /* [class]: the smallest size, ascending */
} pto_classes_t;

typedef struct {
    pto_classes_t classes;
    int64_t lines;
    pto_parts_t parts;
    pto_sum_t *off_node; /* [line][part][class]: of entries whose two owners are on different nodes */
    int64_t *bytes;      /* [line][part]: of all entries */
} pto_table_sums_t;

static inline const pto_sum_t *pto_table_off_node(const pto_table_sums_t *sums, int64_t line, int64_t part) {
    return sums->off_node + (line * sums->parts.count + part) * sums->classes.count;
}

static inline int64_t pto_table_bytes(const pto_table_sums_t *sums, int64_t line, int64_t part) {
    return sums->bytes[line * sums->parts.count + part];
}

static inline int64_t pto_table_line_bytes(const pto_table_sums_t *sums, int64_t line) {
    int64_t bytes = 0;
    for (int64_t part = 0; part < sums->parts.count; part++)
        bytes += pto_table_bytes(sums, line, part);
    return bytes;
}

/* Sums of one table at a time, by rows and by columns, in cyclic parts and in shares. */
typedef struct pto_tables pto_tables_t;

/* NULL: out of memory. */
pto_tables_t *pto_tables_create(void);
void pto_tables_destroy(pto_tables_t *tables);

/* Returns the sums of a request's table of pairs, valid until another table's are requested, or NULL. */
const pto_table_sums_t *pto_tables_sum(pto_tables_t *tables, const pto_request_t *request,
                                       const pto_machine_t *machine, pto_parts_t parts, bool by_row);

/* Lists the blocks with bytes of a buffer that holds a line of a sparse table, in ascending order. False: the
 * buffer holds no line, the table is not sparse, or a tape records; then any block may have bytes. */
bool pto_tables_partners(pto_tables_t *tables, const pto_held_t *held, const int64_t **partner,
                         int64_t *count);

/* Set and return the node of the slowest process in the latest price with these tables; -1: none. */
void pto_tables_note_latest(pto_tables_t *tables, int64_t node);
int64_t pto_tables_latest_node(const pto_tables_t *tables);

/* Finds the parts by which a buffer's lines are summed: the parts that processes hold or, if they hold whole
 * lines, cyclic parts. False: the buffer holds no lines of the table. */
bool pto_buffer_parts(const pto_plan_t *plan, const pto_buffer_t *buffer, pto_parts_t *parts);

/* Returns whether a slice selects whole blocks of such a buffer, so that sums may have its bytes. */
bool pto_slice_is_of_lines(const pto_plan_t *plan, const pto_slice_t *slice);

/* pto_slice_bytes, from the sums if the slice is a line or a part of one. */
int64_t pto_tables_slice_bytes(pto_tables_t *tables, const pto_plan_t *plan, const pto_machine_t *machine,
                               const pto_slice_t *slice, const pto_action_t *action);

#endif
