/* Sums over the rows and columns of a table of byte counts. A stage in which all messages are in flight at
 * once needs of a row no more than how many messages have bytes of which row of a cost, and how many bytes;
 * a copy of a row needs its bytes. So every entry of a table is looked at once for its row and once for its
 * column, for all strategies of a size. Internal to libportolan. */
#ifndef PTO_PRICE_TABLE_H
#define PTO_PRICE_TABLE_H

#include "plan/plan_internal.h"
#include "portolan/machine.h"
#include "scenario/skew.h"

/* --- entries -------------------------------------------------------------------------------------------- */

/* Byte counts between all pairs of owners. */
typedef struct {
    const pto_request_t *request;
    int64_t owners;
    int64_t owners_per_node;
    bool is_skewed;
    pto_skew_t skew;
    uint64_t *source_hash; /* of a random table, by source: the part of an entry that it determines */
} pto_table_t;

/* Makes the table of a request whose counts are by pair. False: out of memory. */
bool pto_table_init(const pto_request_t *request, pto_table_t *table);
void pto_table_fini(pto_table_t *table);

static inline int64_t pto_table_entry(const pto_table_t *table, int64_t source, int64_t destination) {
    return table->is_skewed ? pto_skew_bytes_from(&table->skew, table->source_hash[source], destination)
                            : pto_request_bytes(table->request, source, destination);
}

/* Each owner's bytes for the owner `distance` further, by owner. From 0 to their number. */
void pto_table_read_distance(const pto_table_t *table, int64_t distance, int64_t *bytes);

/* --- sums ----------------------------------------------------------------------------------------------- */

/* How the processes of a GPU share a line (a row or a column). */
typedef enum {
    PTO_PARTS_DEALT, /* part p: the entries whose message goes d owners further, for d = p modulo the parts */
    PTO_PARTS_SHARES /* part p: the p-th share of every entry */
} pto_parts_kind_t;

typedef struct {
    pto_parts_kind_t kind;
    int64_t count;
    int64_t granularity_bytes; /* of shares; 0 if dealt */
} pto_parts_t;

static inline bool pto_parts_are_same(const pto_parts_t *a, const pto_parts_t *b) {
    return a->kind == b->kind && a->count == b->count && a->granularity_bytes == b->granularity_bytes;
}

/* Messages, and their bytes in total. */
typedef struct {
    int64_t messages;
    int64_t bytes;
} pto_sum_t;

/* Where rows of the machine's costs between nodes begin, in ascending order: within a class, all messages
 * have the same cost. Messages of no bytes are a class of their own if there can be any. */
typedef struct {
    int count;
    int64_t *from_bytes;
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

/* The sums of one table at a time, by rows and by columns, dealt and in shares. */
typedef struct pto_tables pto_tables_t;

/* NULL: out of memory. */
pto_tables_t *pto_tables_create(void);
void pto_tables_destroy(pto_tables_t *tables);

/* Returns the sums of a request's table (pto_plan_has_tables, of pairs), summed now unless they are known.
 * They last until those of another table are asked for. NULL: out of memory. */
const pto_table_sums_t *pto_tables_sum(pto_tables_t *tables, const pto_request_t *request,
                                       const pto_machine_t *machine, pto_parts_t parts, bool by_row);

/* The blocks of a buffer with a row or column of a sparse table that have bytes, in ascending order. False:
 * it has none, the table is not sparse, or a tape records: then all blocks are looked at. */
bool pto_tables_partners(pto_tables_t *tables, const pto_held_t *held, const int64_t **partner,
                         int64_t *count);

/* The node whose process was last in the latest price with these tables; -1: there was none. */
void pto_tables_note_latest(pto_tables_t *tables, int64_t node);
int64_t pto_tables_latest_node(const pto_tables_t *tables);

/* The parts of its lines by which a buffer is summed: those that each process has, or, where processes have
 * whole lines, those of the dealt ones. False: the buffer has no lines of the table. */
bool pto_buffer_parts(const pto_plan_t *plan, const pto_buffer_t *buffer, pto_parts_t *parts);

/* Returns whether a slice selects blocks of such a buffer in a way that sums may know. */
bool pto_slice_is_of_lines(const pto_plan_t *plan, const pto_slice_t *slice);

/* pto_slice_bytes, from the sums where a slice is a line or a part of one. */
int64_t pto_tables_slice_bytes(pto_tables_t *tables, const pto_plan_t *plan, const pto_machine_t *machine,
                               const pto_slice_t *slice, const pto_action_t *action);

#endif
