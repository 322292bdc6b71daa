/* Sums over the rows and columns of a table of byte counts (table.h). The entries of a line are in the order
 * of the distance d from sender to receiver: row i has those for i + d, column j those from j - d.
 *
 * Example: if classes begin at 0, 1 and 8192 bytes, and a row has 0, 100, 9000 and 50 bytes for owners on
 * other nodes, then its sums of {messages, bytes} are {1, 0}, {2, 150} and {1, 9000}. */
#include "price/table.h"
#include "price/bounded.h"
#include "tape/tape.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "machine/machine_internal.h"
#include "scenario/check.h"

/* --- the table ------------------------------------------------------------------------------------------ */

static bool has_random_pairs(const pto_request_t *request) {
    return request->counts->kind == PTO_COUNTS_SKEW && !(request->mapping && request->mapping->count > 0);
}

bool pto_table_init(const pto_request_t *request, pto_table_t *table) {
    const pto_layout_t *layout = &request->layout;
    *table = (pto_table_t){.request = request,
                           .owners = pto_layout_owner_count(layout),
                           .owners_per_node = layout->gpus_per_node * layout->owners_per_gpu,
                           .is_skewed = has_random_pairs(request)};
    if (!table->is_skewed)
        return true;
    table->skew = pto_skew_of(request->counts, request->bytes);
    table->source_hash = malloc((size_t)table->owners * sizeof *table->source_hash);
    for (int64_t i = 0; table->source_hash && i < table->owners; i++)
        table->source_hash[i] = pto_skew_source(&table->skew, i);
    return table->source_hash != NULL;
}

void pto_table_fini(pto_table_t *table) {
    free(table->source_hash);
    table->source_hash = NULL;
}

/* Reads the entries of a line, by the distance d from sender to receiver. */
static void read_line(const pto_table_t *table, int64_t line, bool by_row, int64_t *bytes) {
    int64_t n = table->owners, until_end = by_row ? n - line : line + 1;
    for (int64_t d = 0; d < until_end; d++)
        bytes[d] = by_row ? pto_table_entry(table, line, line + d) : pto_table_entry(table, line - d, line);
    for (int64_t d = until_end; d < n; d++)
        bytes[d] =
            by_row ? pto_table_entry(table, line, line + d - n) : pto_table_entry(table, line - d + n, line);
}

/* --- classes of messages -------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b) {
    int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;
    return (one > other) - (one < other);
}

static int add_limits(const pto_cost_table_t *cost, int count, int64_t *limit) {
    for (int i = 0; i < cost->count - 1; i++)
        limit[count++] = cost->row[i].below_bytes;
    return count;
}

/* Drops limits that separate no entries: equal ones, those above `most_bytes`, and those up to `least_bytes`
 * except the largest, which is the start of the first class. From limits 0, 1, 256, 8192 and entries of 300
 * bytes or more, 256 and 8192 remain. Returns the number of those left. */
static int drop_needless(int64_t least_bytes, int64_t most_bytes, int64_t *limit, int count) {
    int kept = 0;
    for (int i = 0; i < count; i++) {
        if (limit[i] > most_bytes || (kept > 0 && limit[i] == limit[kept - 1]))
            continue;
        if (limit[i] <= least_bytes)
            kept = 0;
        limit[kept++] = limit[i];
    }
    return kept;
}

/* Finds the sizes at which classes begin: 0, 1, and where a row of a cost or gap begins. If the table's
 * smallest and largest entries are known, only sizes between them count. False: out of memory. */
static bool find_classes(const pto_table_t *table, const pto_machine_t *machine, bool in_shares,
                         pto_classes_t *classes) {
    int room = 2;
    for (int space = 0; space < PTO_SPACE_COUNT; space++)
        room += machine->messages[space][PTO_LEVEL_OFF_NODE].count +
                machine->gap[space][PTO_LEVEL_OFF_NODE].count;
    int64_t *limit = malloc((size_t)room * sizeof *limit);
    if (!limit)
        return false;
    limit[0] = 0;
    limit[1] = 1;
    int count = 2;
    for (int space = 0; space < PTO_SPACE_COUNT; space++) {
        count = add_limits(&machine->messages[space][PTO_LEVEL_OFF_NODE], count, limit);
        count = add_limits(&machine->gap[space][PTO_LEVEL_OFF_NODE], count, limit);
    }
    qsort(limit, (size_t)count, sizeof *limit, compare);
    bool bounded = table->is_skewed && !in_shares;
    int64_t least_bytes = bounded ? table->skew.least_bytes : 0;
    int64_t most_bytes = bounded ? least_bytes + (int64_t)(table->skew.width - 1) : INT64_MAX;
    *classes = (pto_classes_t){drop_needless(least_bytes, most_bytes, limit, count), limit};
    return true;
}

/* Sums the entries bytes[from], bytes[from + stride], ... below `until` by class. The pass of class c sums
 * all entries of c and higher classes. The next pass subtracts the higher ones. */
static void sum_entries(const pto_classes_t *classes, const int64_t *bytes, int64_t from, int64_t stride,
                        int64_t until, pto_sum_t *sum) {
    for (int c = 0; c < classes->count; c++) {
        int64_t least = c > 0 ? classes->from_bytes[c] : 0, messages = 0, total = 0;
        for (int64_t d = from; d < until; d += stride) {
            messages += bytes[d] >= least;
            total += bytes[d] >= least ? bytes[d] : 0;
        }
        sum[c] = (pto_sum_t){messages, total};
        if (c > 0) {
            sum[c - 1].messages -= messages;
            sum[c - 1].bytes -= total;
        }
    }
}

static int class_of(const pto_classes_t *classes, int64_t bytes) {
    int c = classes->count - 1;
    while (c > 0 && bytes < classes->from_bytes[c])
        c--;
    return c;
}

/* --- lines ---------------------------------------------------------------------------------------------- */

/* The state of summing a table by lines. */
typedef struct {
    const pto_table_t *table;
    bool by_row;
    /* [distance from sender to receiver], if all entries of a line are read: */
    int64_t *entry; /* the entries of the current line */
    int64_t *share; /* a share of each of them */
    /* If only the entries of partners are read, in the same memory: */
    int64_t *partner;  /* the processes that exchange with the line's */
    int64_t *owner_of; /* [process] */
    pto_table_sums_t *sums;
} summing_t;

/* Returns the distance from sender to receiver of the entry that a line has for another owner. */
static int64_t distance_to(const summing_t *summing, int64_t line, int64_t other) {
    int64_t ahead = summing->by_row ? other - line : line - other;
    return ahead < 0 ? ahead + summing->table->owners : ahead;
}

static int64_t node_first(const pto_table_t *table, int64_t line) {
    return line / table->owners_per_node * table->owners_per_node;
}

/* Sums a part of a line: all its entries, then subtracts those of owners on the line's own node. `bytes`: the
 * entries of the line, or this part's share of each. */
static void sum_part(const summing_t *summing, int64_t line, int64_t part, const int64_t *bytes) {
    const pto_table_t *table = summing->table;
    pto_table_sums_t *sums = summing->sums;
    bool cyclic = sums->parts.kind == PTO_PARTS_CYCLIC;
    pto_sum_t *sum = sums->off_node + (line * sums->parts.count + part) * sums->classes.count;
    sum_entries(&sums->classes, bytes, cyclic ? part : 0, cyclic ? sums->parts.count : 1, table->owners, sum);
    int64_t total = 0;
    for (int c = 0; c < sums->classes.count; c++)
        total += sum[c].bytes;
    sums->bytes[line * sums->parts.count + part] = total;
    int64_t first = node_first(table, line);
    for (int64_t other = first; other < first + table->owners_per_node; other++) {
        int64_t d = distance_to(summing, line, other);
        if (cyclic && d % sums->parts.count != part)
            continue;
        pto_sum_t *on_node = &sum[class_of(&sums->classes, bytes[d])];
        on_node->messages--;
        on_node->bytes -= bytes[d];
    }
}

static void sum_line(const summing_t *summing, int64_t line) {
    const pto_parts_t *parts = &summing->sums->parts;
    int64_t n = summing->table->owners;
    read_line(summing->table, line, summing->by_row, summing->entry);
    pto_blocks_summed += n;
    for (int64_t part = 0; part < parts->count; part++) {
        for (int64_t d = 0; d < n && parts->kind == PTO_PARTS_SHARES; d++)
            summing->share[d] =
                pto_share_bytes(summing->entry[d], parts->granularity_bytes, parts->count, part);
        sum_part(summing, line, part, parts->kind == PTO_PARTS_SHARES ? summing->share : summing->entry);
    }
}

/* --- lines with few partners ---------------------------------------------------------------------------- */

/* Returns whether processes have few partners, as on a grid. Only these entries of a line are read. */
static bool has_partners(const pto_request_t *request) {
    return request->counts->kind == PTO_COUNTS_STENCIL || request->counts->kind == PTO_COUNTS_GROUPS;
}

static int64_t process_of(const pto_table_t *table, int64_t owner) {
    const pto_mapping_t *mapping = table->request->mapping;
    return mapping && mapping->count > 0 ? mapping->process[owner] : owner;
}

static void find_owners(const summing_t *summing) {
    for (int64_t owner = 0; owner < summing->table->owners; owner++)
        summing->owner_of[process_of(summing->table, owner)] = owner;
}

/* Adds the entry that a line has for another owner. It has been counted in class 0, as an empty message. */
static void add_entry(const summing_t *summing, int64_t line, int64_t other) {
    const pto_table_t *table = summing->table;
    pto_table_sums_t *sums = summing->sums;
    int64_t entry =
        summing->by_row ? pto_table_entry(table, line, other) : pto_table_entry(table, other, line);
    bool cyclic = sums->parts.kind == PTO_PARTS_CYCLIC;
    bool off_node = node_first(table, line) != node_first(table, other);
    int64_t first = cyclic ? distance_to(summing, line, other) % sums->parts.count : 0;
    for (int64_t part = first; part < (cyclic ? first + 1 : sums->parts.count); part++) {
        int64_t bytes =
            cyclic ? entry : pto_share_bytes(entry, sums->parts.granularity_bytes, sums->parts.count, part);
        pto_sum_t *sum = sums->off_node + (line * sums->parts.count + part) * sums->classes.count;
        sums->bytes[line * sums->parts.count + part] += bytes;
        if (!off_node)
            continue;
        sum[0].messages--;
        sum[class_of(&sums->classes, bytes)].messages++;
        sum[class_of(&sums->classes, bytes)].bytes += bytes;
    }
}

/* Sums a line with few partners: counts all off-node entries as empty, then corrects those of partners. */
static void sum_line_of_partners(const summing_t *summing, int64_t line) {
    const pto_table_t *table = summing->table;
    pto_table_sums_t *sums = summing->sums;
    int64_t n = table->owners, parts = sums->parts.count;
    bool cyclic = sums->parts.kind == PTO_PARTS_CYCLIC;
    pto_sum_t *sum = sums->off_node + line * parts * sums->classes.count;
    memset(sum, 0, (size_t)(parts * sums->classes.count) * sizeof *sum);
    memset(sums->bytes + line * parts, 0, (size_t)parts * sizeof *sums->bytes);
    /* In cyclic parts: all distances below n that are `part` modulo `parts`, then less those on the node. */
    for (int64_t part = 0; part < parts; part++)
        sum[part * sums->classes.count].messages =
            cyclic ? (n - part + parts - 1) / parts : n - table->owners_per_node;
    int64_t first = node_first(table, line);
    for (int64_t other = first; other < first + table->owners_per_node && cyclic; other++)
        sum[distance_to(summing, line, other) % parts * sums->classes.count].messages--;
    int64_t count = pto_counts_peers(table->request->counts, n, process_of(table, line), summing->partner);
    pto_blocks_summed += count;
    for (int64_t i = 0; i < count; i++)
        add_entry(summing, line, summing->owner_of[summing->partner[i]]);
}

/* --- the cache ------------------------------------------------------------------------------------------ */

/* Everything that sums depend on. */
typedef struct {
    const pto_machine_t *machine;
    const pto_counts_t *counts;
    const pto_mapping_t *mapping;
    int64_t bytes;
    pto_layout_t layout;
    pto_parts_t parts;
} table_key_t;

typedef struct {
    bool known;
    table_key_t key;
    pto_table_sums_t sums;
} cached_sums_t;

/* The entries with bytes of a sparse table: line i has those of partner[j], first[i] <= j < first[i + 1]. */
typedef struct {
    int64_t *first; /* NULL: the table is not sparse, or out of memory */
    int64_t *partner;
} entries_t;

struct pto_tables {
    cached_sums_t cached[2][2]; /* [kind of parts][by row] */
    bool entries_known;
    table_key_t entries_key;
    entries_t entries[2]; /* [by row] */
    int64_t latest_node;  /* -1: unknown */
};

static bool same_key(const table_key_t *a, const table_key_t *b) {
    return a->machine == b->machine && a->counts == b->counts && a->mapping == b->mapping &&
           a->bytes == b->bytes && pto_layouts_are_same(&a->layout, &b->layout) &&
           pto_parts_are_same(&a->parts, &b->parts);
}

static void clear_sums(cached_sums_t *cached) {
    free(cached->sums.classes.from_bytes);
    free(cached->sums.off_node);
    free(cached->sums.bytes);
    *cached = (cached_sums_t){.known = false};
}

/* False: out of memory. */
static bool sum_table(const table_key_t *key, const pto_request_t *request, bool by_row,
                      pto_table_sums_t *sums) {
    pto_table_t table;
    bool in_shares = key->parts.kind == PTO_PARTS_SHARES;
    bool ready =
        pto_table_init(request, &table) && find_classes(&table, key->machine, in_shares, &sums->classes);
    summing_t summing = {.table = &table, .by_row = by_row, .sums = sums};
    size_t all_parts = (size_t)(table.owners * key->parts.count);
    bool few_partners = has_partners(request);
    sums->lines = table.owners;
    sums->parts = key->parts;
    if (ready) {
        assert(all_parts > 0 && sums->classes.count > 0);
        summing.entry = calloc(2 * (size_t)table.owners, sizeof *summing.entry);
        summing.share = summing.entry ? summing.entry + table.owners : NULL;
        summing.partner = summing.entry;
        summing.owner_of = summing.share;
        sums->off_node = malloc(all_parts * (size_t)sums->classes.count * sizeof *sums->off_node);
        sums->bytes = malloc(all_parts * sizeof *sums->bytes);
        ready = summing.entry && sums->off_node && sums->bytes;
    }
    if (ready && few_partners)
        find_owners(&summing);
    for (int64_t line = 0; ready && line < table.owners; line++)
        (few_partners ? sum_line_of_partners : sum_line)(&summing, line);
    free(summing.entry);
    pto_table_fini(&table);
    return ready;
}

const pto_table_sums_t *pto_tables_sum(pto_tables_t *tables, const pto_request_t *request,
                                       const pto_machine_t *machine, pto_parts_t parts, bool by_row) {
    cached_sums_t *cached = &tables->cached[parts.kind][by_row];
    table_key_t key = {.machine = machine,
                       .counts = request->counts,
                       .mapping = request->mapping,
                       .bytes = request->bytes,
                       .layout = request->layout,
                       .parts = parts};
    if (cached->known && same_key(&cached->key, &key))
        return &cached->sums;
    clear_sums(cached);
    if (!sum_table(&key, request, by_row, &cached->sums)) {
        clear_sums(cached);
        return NULL;
    }
    cached->known = true;
    cached->key = key;
    return &cached->sums;
}

/* --- sparse tables -------------------------------------------------------------------------------------- */

/* The maximum mean number of a process's partners in a table that counts as sparse. */
enum { PARTNERS_MAX = 32 };

/* Returns whether a buffer holds lines of the table: a block for each owner, with bytes by pair of owners. */
static bool holds_lines(const pto_plan_t *plan, const pto_buffer_t *buffer) {
    const pto_request_t *request = &plan->request;
    return (buffer->blocks == PTO_BLOCKS_ROW || buffer->blocks == PTO_BLOCKS_COLUMN) &&
           pto_plan_has_tables(plan) && pto_collective_is_by_pair(request->collective) &&
           !pto_role_is_host(buffer->role) && buffer->block_count == pto_layout_owner_count(&request->layout);
}

static void free_entries(entries_t *entries) {
    free(entries->first);
    free(entries->partner);
    *entries = (entries_t){NULL, NULL};
}

/* Lists the entries of all rows, or of all columns; none if the table is not sparse. pto_counts_peers returns
 * the processes to which one sends. They are also those from which it receives, so columns use it, too. */
static entries_t list_entries(const pto_request_t *request, bool by_row) {
    pto_table_t table = {.request = request, .owners = pto_layout_owner_count(&request->layout)};
    int64_t owners = table.owners, count = 0;
    int64_t most = owners * (owners / 8 < PARTNERS_MAX ? owners / 8 : PARTNERS_MAX); /* entries if sparse */
    /* The owner of each process, then, from `owners` on, the partners of one process: */
    int64_t *owner_of = malloc((size_t)(2 * owners + 2 * PTO_DIMS_MAX) * sizeof *owner_of);
    const summing_t owners_only = {.table = &table, .owner_of = owner_of};
    entries_t entries = {.first = calloc((size_t)owners + 1, sizeof *entries.first),
                         .partner = malloc((size_t)(most + 1) * sizeof *entries.partner)};
    bool sparse = entries.first && entries.partner && owner_of && request->counts->kind != PTO_COUNTS_SKEW;
    if (sparse)
        find_owners(&owners_only);
    for (int64_t line = 0; line < owners && sparse; line++) {
        int64_t *partner = owner_of + owners;
        int64_t peers = pto_counts_peers(request->counts, owners, process_of(&table, line), partner);
        pto_blocks_summed += peers;
        for (int64_t i = 0; i < peers && sparse; i++) {
            int64_t other = owner_of[partner[i]];
            if (pto_request_bytes(request, by_row ? line : other, by_row ? other : line) > 0) {
                entries.partner[count++] = other; /* there is room for one more than `most` */
                sparse = count <= most;
            }
        }
        qsort(entries.partner + entries.first[line], (size_t)(count - entries.first[line]),
              sizeof *entries.partner, compare);
        entries.first[line + 1] = count;
    }
    free(owner_of);
    if (!sparse)
        free_entries(&entries);
    return entries;
}

static void find_entries(pto_tables_t *tables, const pto_request_t *request, const table_key_t *key) {
    for (int by_row = 0; by_row < 2; by_row++) {
        free_entries(&tables->entries[by_row]);
        tables->entries[by_row] = list_entries(request, by_row);
    }
    tables->entries_known = true;
    tables->entries_key = *key;
}

bool pto_tables_partners(pto_tables_t *tables, const pto_held_t *held, const int64_t **partner,
                         int64_t *count) {
    const pto_request_t *request = &held->plan->request;
    const pto_buffer_t *buffer = held->buffer;
    if (!tables || pto_tape_recording || held->index < 0 || !holds_lines(held->plan, buffer))
        return false;
    table_key_t key = {.counts = request->counts,
                       .mapping = request->mapping,
                       .bytes = request->bytes,
                       .layout = request->layout};
    if (!tables->entries_known || !same_key(&tables->entries_key, &key))
        find_entries(tables, request, &key);
    const entries_t *entries = &tables->entries[buffer->blocks == PTO_BLOCKS_ROW];
    if (!entries->first || held->index >= buffer->block_count)
        return false;
    *partner = entries->partner + entries->first[held->index];
    *count = entries->first[held->index + 1] - entries->first[held->index];
    return true;
}

void pto_tables_destroy(pto_tables_t *tables) {
    for (int i = 0; tables && i < 4; i++)
        clear_sums(&tables->cached[i / 2][i % 2]);
    for (int i = 0; tables && i < 2; i++)
        free_entries(&tables->entries[i]);
    free(tables);
}

pto_tables_t *pto_tables_create(void) {
    pto_tables_t *tables = calloc(1, sizeof *tables);
    if (tables)
        tables->latest_node = -1;
    return tables;
}

void pto_tables_note_latest(pto_tables_t *tables, int64_t node) { tables->latest_node = node; }

int64_t pto_tables_latest_node(const pto_tables_t *tables) { return tables->latest_node; }

/* --- slices --------------------------------------------------------------------------------------------- */

bool pto_buffer_parts(const pto_plan_t *plan, const pto_buffer_t *buffer, pto_parts_t *parts) {
    const pto_request_t *request = &plan->request;
    int64_t procs = request->layout.procs_per_gpu;
    bool cyclic = buffer->cyclic != PTO_CYCLIC_NONE, in_shares = buffer->split > 1;
    /* From sender to receiver: */
    pto_cyclic_t order = buffer->blocks == PTO_BLOCKS_ROW ? PTO_CYCLIC_FORWARD : PTO_CYCLIC_BACKWARD;
    if (!holds_lines(plan, buffer) || buffer->chunks > 0 ||
        pto_group_shape(&request->layout, buffer->group).size != buffer->block_count)
        return false;
    if (cyclic && (in_shares || buffer->cyclic != order || buffer->cyclic_count != procs))
        return false;
    *parts = in_shares ? (pto_parts_t){PTO_PARTS_SHARES, buffer->split, buffer->granularity_bytes}
                       : (pto_parts_t){PTO_PARTS_CYCLIC, procs, 0};
    return true;
}

/* Returns whether a slice selects blocks one by one, from its anchor on. */
static bool is_of_whole_blocks(const pto_slice_t *slice) {
    return slice->parts == 0 && slice->chunks <= 1 && slice->bundle <= 1 && slice->fold == 0 &&
           slice->reverse_bits == 0 && slice->repeat <= 1 && slice->cells == PTO_CELLS_NONE &&
           slice->anchor_step <= 1 && pto_expr_is(&slice->offset, 0) && pto_expr_is(&slice->align, 0);
}

bool pto_slice_is_of_lines(const pto_plan_t *plan, const pto_slice_t *slice) {
    pto_parts_t parts;
    return is_of_whole_blocks(slice) && pto_buffer_parts(plan, pto_plan_buffer(plan, slice->buffer), &parts);
}

enum { ALL_PARTS = -1, NO_PART = -2 };

static int64_t bytes_of_part(const pto_table_sums_t *sums, int64_t line, int64_t part) {
    return part == ALL_PARTS ? pto_table_line_bytes(sums, line) : pto_table_bytes(sums, line, part);
}

/* Returns whether each process holds only one part of its GPU's line. */
static bool has_one_part(const pto_buffer_t *buffer) {
    return buffer->split > 1 || buffer->cyclic != PTO_CYCLIC_NONE;
}

/* Returns the part of a line that a slice is; ALL_PARTS: it is the whole line; NO_PART: it is no such part.
 * `core` is that of the process that holds the slice. The slice is a share of all blocks, all blocks that its
 * holder has, or every parts->count-th block. In the first case, sets `*parts` to these shares. */
static int64_t part_of(const pto_plan_t *plan, const pto_slice_t *slice, const pto_action_t *action,
                       int64_t core, pto_parts_t *parts) {
    const pto_buffer_t *buffer = pto_plan_buffer(plan, slice->buffer);
    int64_t first = pto_expr_at(&slice->first, action->k, action->core, action->peer);
    int64_t run = pto_expr_at(&slice->run, action->k, action->core, action->peer);
    int64_t stride = pto_expr_at(&slice->stride, action->k, action->core, action->peer);
    int64_t until = pto_expr_at(&slice->until, action->k, action->core, action->peer);
    bool all = run == until - first && run == buffer->block_count;
    /* Blocks first, first + parts->count, ... from the holder on, in the order from sender to receiver: */
    bool cyclic = run == 1 && stride == parts->count && parts->kind == PTO_PARTS_CYCLIC && first >= 0 &&
                  first < stride && until == buffer->block_count && slice->anchor == PTO_ANCHOR_HOLDER &&
                  slice->reversed == (buffer->blocks == PTO_BLOCKS_COLUMN);
    bool holds_one_part = has_one_part(buffer);
    if (slice->share != PTO_SHARE_ALL) {
        *parts = (pto_parts_t){PTO_PARTS_SHARES, slice->share_count, buffer->granularity_bytes};
        if (!all || holds_one_part || slice->share_count < 1)
            return NO_PART;
        return slice->share == PTO_SHARE_MINE ? action->core
                                              : action->peer_rank % plan->request.layout.procs_per_gpu;
    }
    if (holds_one_part)
        return all || (cyclic && first == core) ? core : NO_PART;
    if (all)
        return ALL_PARTS;
    return cyclic ? first : NO_PART;
}

/* pto_slice_bytes, which looks only at the blocks that have bytes if the table is sparse. */
static int64_t sparse_slice_bytes(pto_tables_t *tables, const pto_plan_t *plan, const pto_slice_t *slice,
                                  const pto_action_t *action) {
    pto_held_t held = pto_held_by(plan, slice->buffer, pto_slice_holder(plan, slice, action));
    const int64_t *partner;
    int64_t count, bytes;
    if (pto_tables_partners(tables, &held, &partner, &count) &&
        pto_held_slice_bytes_among(slice, action, &held, partner, count, &bytes))
        return bytes;
    return pto_slice_bytes(plan, slice, action);
}

int64_t pto_tables_slice_bytes(pto_tables_t *tables, const pto_plan_t *plan, const pto_machine_t *machine,
                               const pto_slice_t *slice, const pto_action_t *action) {
    const pto_buffer_t *buffer = pto_plan_buffer(plan, slice->buffer);
    pto_parts_t parts;
    if (pto_slice_block_count(slice, action->k, action->core, action->peer) <= 1) /* needs no table */
        return pto_slice_bytes(plan, slice, action);
    if (!is_of_whole_blocks(slice) || !pto_buffer_parts(plan, buffer, &parts))
        return sparse_slice_bytes(tables, plan, slice, action);
    const pto_layout_t *layout = &plan->request.layout;
    pto_group_t group = {.kind = buffer->group};
    pto_rank_t holder = pto_layout_rank(layout, pto_slice_holder(plan, slice, action));
    int64_t line = pto_group_index_at(layout, &group, holder);
    int64_t part = part_of(plan, slice, action, holder.core, &parts);
    const pto_table_sums_t *sums = NULL;
    if (line >= 0 && part != NO_PART && part < parts.count)
        sums = pto_tables_sum(tables, &plan->request, machine, parts, buffer->blocks == PTO_BLOCKS_ROW);
    if (!sums)
        return sparse_slice_bytes(tables, plan, slice, action);
    return bytes_of_part(sums, line, part);
}

typedef struct {
    pto_tables_t *tables; /* NULL: out of memory */
    const pto_machine_t *machine;
} memory_t;

/* pto_buffer_bytes, from the sums if the buffer is a line or a part of one. `context`: a memory_t. */
static int64_t buffer_bytes(void *context, const pto_plan_t *plan, int index, int64_t rank) {
    const memory_t *memory = context;
    const pto_buffer_t *buffer = pto_plan_buffer(plan, index);
    const pto_layout_t *layout = &plan->request.layout;
    const pto_table_sums_t *sums = NULL;
    pto_parts_t parts;
    if (memory->tables && pto_buffer_parts(plan, buffer, &parts) && pto_buffer_holds(plan, index, rank))
        sums = pto_tables_sum(memory->tables, &plan->request, memory->machine, parts,
                              buffer->blocks == PTO_BLOCKS_ROW);
    if (!sums)
        return pto_buffer_bytes(plan, index, rank);
    pto_rank_t holder = pto_layout_rank(layout, rank);
    pto_group_t group = {.kind = buffer->group};
    return bytes_of_part(sums, pto_group_index_at(layout, &group, holder),
                         has_one_part(buffer) ? holder.core : ALL_PARTS);
}

void pto_tables_memory(const pto_plan_t *plan, const pto_machine_t *machine, pto_price_cache_t *cache,
                       int64_t *gpu_bytes, int64_t *host_bytes) {
    pto_price_cache_t own = {0};
    memory_t memory = {pto_price_cache_tables(cache ? cache : &own), machine};
    pto_plan_memory_by(plan, buffer_bytes, &memory, gpu_bytes, host_bytes);
    pto_price_cache_fini(&own);
}
