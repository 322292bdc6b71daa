/* What check remembers, at random and compared with plain arrays: sets of owners, the contents of buffers,
 * and which accesses come before which. */
#include "../chance.h"
#include "check/clocks.h"
#include "check/memory.h"
#include "test.h"

/* --- sets -------------------------------------------------------------------------------------------------
 */

enum { SETS = 3000, OWNERS = 40 };

/* By the number of a set: its owners as bits. */
static uint64_t owners_of[SETS];

static int32_t number_of(uint64_t owners, int32_t count) {
    for (int32_t set = 1; set < count; set++)
        if (owners_of[set] == owners)
            return set;
    return count;
}

static int bit_count(uint64_t owners) {
    int count = 0;
    for (; owners; owners &= owners - 1)
        count++;
    return count;
}

static int32_t lowest(uint64_t owners) {
    int32_t bit = 0;
    while (!(owners >> bit & 1u))
        bit++;
    return bit;
}

TEST(sets_are_those_of_their_owners) {
    pto_sets_t sets;
    int32_t count = 1;
    chance_state = 1;
    pto_sets_init(&sets);
    while (count < SETS) {
        uint64_t owners;
        int32_t set;
        if (count < 3 || one_in(4)) {
            int32_t first = (int32_t)below(OWNERS), until = first + 1 + (int32_t)below(OWNERS - first);
            owners = (((uint64_t)1 << (until - first)) - 1) << first;
            set = pto_sets_run(&sets, first, until);
        } else {
            int32_t a = 1 + (int32_t)below(count - 1), b = 1 + (int32_t)below(count - 1);
            uint64_t both = owners_of[a] & owners_of[b];
            assert_int_equal(pto_sets_common(&sets, a, b), both ? lowest(both) : -1);
            owners = owners_of[a] | owners_of[b];
            set = pto_sets_unite(&sets, a, b);
        }
        int32_t wanted = number_of(owners, count);
        assert_int_equal(set, wanted);
        owners_of[wanted] = owners;
        count += wanted == count;
        assert_int_equal(pto_sets_size(&sets, set), bit_count(owners));
        assert_int_equal(pto_sets_first(&sets, set), lowest(owners));
    }
    assert_false(sets.out_of_memory);
    pto_sets_fini(&sets);
}

/* --- contents ---------------------------------------------------------------------------------------------
 */

enum { BYTES = 300 };

static void assert_contents(pto_contents_t *contents, const pto_content_t *of_byte, int64_t begin,
                            int64_t end, pto_sets_t *sets) {
    static pto_spans_t found;
    int64_t at = begin;
    pto_contents_read(contents, begin, end, &found, sets);
    for (int i = 0; i < found.count; i++) {
        const pto_content_t *span = &found.span[i];
        assert_true(span->begin == at && span->begin < span->end && span->end <= end);
        for (; at < span->end; at++)
            assert_true(span->set == of_byte[at].set && span->delta == of_byte[at].delta &&
                        span->order == of_byte[at].order);
    }
    assert_true(begin >= end ? found.count == 0 : at == end);
}

static int runs_of(const pto_content_t *of_byte) {
    int runs = 1;
    for (int i = 1; i < BYTES; i++)
        runs += of_byte[i].set != of_byte[i - 1].set || of_byte[i].delta != of_byte[i - 1].delta ||
                of_byte[i].order != of_byte[i - 1].order;
    return runs;
}

TEST(contents_are_those_of_each_byte) {
    pto_sets_t sets;
    pto_sets_init(&sets);
    for (uint64_t seed = 0; seed < 40; seed++) {
        pto_contents_t contents;
        pto_content_t of_byte[BYTES];
        memset(of_byte, 0, sizeof of_byte);
        chance_state = seed;
        pto_contents_init(&contents, BYTES, &sets);
        assert_contents(&contents, of_byte, 0, BYTES, &sets);
        for (int n = 0; n < 400; n++) {
            int64_t begin = below(BYTES), most = one_in(8) ? BYTES - begin : 1 + below(12);
            int64_t end = begin + most < BYTES ? begin + most : BYTES;
            if (one_in(20))
                end = begin;
            pto_content_t written = {.begin = begin,
                                     .end = end,
                                     .delta = below(2),
                                     .order = (uint64_t)below(2),
                                     .set = (int32_t)below(3)};
            pto_contents_write(&contents, written, &sets);
            for (int64_t i = begin; i < end; i++)
                of_byte[i] = written;
            assert_int_equal(contents.count, runs_of(of_byte)); /* what is alike is one span */
            begin = below(BYTES + 1);
            assert_contents(&contents, of_byte, begin, begin + below(BYTES + 1 - begin), &sets);
        }
        assert_contents(&contents, of_byte, 0, BYTES, &sets);
        pto_contents_fini(&contents);
    }
    pto_contents_t none;
    pto_contents_init(&none, 0, &sets);
    pto_contents_write(&none, (pto_content_t){.begin = 0, .end = 1}, &sets);
    assert_int_equal(none.count, 0);
    pto_contents_fini(&none);
    assert_false(sets.out_of_memory);
    pto_sets_fini(&sets);
}

static int32_t set_of(pto_sets_t *sets, uint64_t owners) {
    int32_t set = PTO_SET_NONE;
    for (int32_t owner = 0; owner < OWNERS; owner++)
        if (owners >> owner & 1u)
            set = pto_sets_unite(sets, set, pto_sets_run(sets, owner, owner + 1));
    return set;
}

TEST(sets_turn_with_their_owners) {
    pto_sets_t sets;
    chance_state = 7;
    pto_sets_init(&sets);
    for (int i = 0; i < 500; i++) {
        int32_t by = (int32_t)below(OWNERS);
        uint64_t owners = 0, turned = 0;
        for (int32_t owner = 0; owner < OWNERS; owner++)
            if (one_in(i % 2 ? 2 : 8)) {
                owners |= (uint64_t)1 << owner;
                turned |= (uint64_t)1 << (owner + by) % OWNERS;
            }
        assert_int_equal(pto_sets_rotate(&sets, set_of(&sets, owners), by, OWNERS), set_of(&sets, turned));
    }
    assert_false(sets.out_of_memory);
    pto_sets_fini(&sets);
}

/* --- order ------------------------------------------------------------------------------------------------
 */

enum { ROWS = 12, ACCESSES = 256, SHARED = 24, STAGES = 5 };

/* Accesses, as bits. */
typedef struct {
    uint64_t bit[ACCESSES / 64];
} known_t;

/* Of each row: what it knows of others, and what it has released of its own accesses. */
static struct {
    int64_t ranks, rows, node_ranks;
    known_t known[ROWS], next[ROWS], own[ROWS], released[ROWS];
    int access_count;
    struct {
        int64_t rank;
        const pto_stage_t *stage;
    } access[ACCESSES];
    /* By node and byte: the last write, -1: none, and the reads since. */
    int writer[ROWS][SHARED];
    known_t readers[ROWS][SHARED];
} order;

static void add(known_t *known, const known_t *more) {
    for (int i = 0; i < ACCESSES / 64; i++)
        known->bit[i] |= more->bit[i];
}

static void add_one(known_t *known, int access) { known->bit[access / 64] |= (uint64_t)1 << access % 64; }

static bool has(const known_t *known, int access) { return known->bit[access / 64] >> access % 64 & 1u; }

static int64_t node_of(int64_t row) { return row % order.ranks / order.node_ranks; }

static void release(int64_t row) { order.released[row] = order.own[row]; }

static void deliver(known_t *to, int64_t from) {
    add(to, &order.known[from]);
    add(to, &order.released[from]);
}

/* Whether a row may not access a byte: the access that is unordered with it, of the last write or of a read
 * since; -1: none. */
static int conflict_of(int64_t row, int64_t byte, bool write, bool *wrote) {
    int64_t node = node_of(row);
    int writer = order.writer[node][byte];
    *wrote = writer >= 0 && order.access[writer].rank != row && !has(&order.known[row], writer);
    if (*wrote)
        return writer;
    for (int access = 0; write && access < order.access_count; access++)
        if (has(&order.readers[node][byte], access) && order.access[access].rank != row &&
            !has(&order.known[row], access))
            return access;
    return -1;
}

static bool is_reader_in_conflict(int64_t row, int64_t byte, int64_t rank, const pto_stage_t *stage) {
    for (int access = 0; access < order.access_count; access++)
        if (has(&order.readers[node_of(row)][byte], access) && order.access[access].rank == rank &&
            order.access[access].stage == stage && !has(&order.known[row], access))
            return true;
    return false;
}

/* Returns whether it is ordered after all others. */
static bool access_shared(pto_trace_t *trace, pto_clocks_t *clocks, int64_t row) {
    int64_t begin = below(SHARED), end = begin + 1 + below(SHARED - begin);
    bool write = one_in(3), wrote = false;
    int64_t at = begin;
    int other = -1;
    for (; at < end && other < 0; at++)
        other = conflict_of(row, at, write, &wrote);
    at--;
    pto_conflict_t conflict;
    bool right = pto_trace_access(&trace[node_of(row)], clocks, row, begin, end, write, &conflict);
    assert_true(right == (other < 0));
    if (!right) {
        assert_true(conflict.wrote == wrote && conflict.begin == at);
        assert_true(conflict.end > at && conflict.end <= end);
        if (wrote)
            assert_true(conflict.rank == order.access[other].rank &&
                        conflict.stage == order.access[other].stage);
        else
            assert_true(is_reader_in_conflict(row, at, conflict.rank, conflict.stage));
        return false;
    }
    int access = order.access_count++;
    order.access[access].rank = row;
    order.access[access].stage = clocks->stage;
    add_one(&order.own[row], access);
    for (int64_t i = begin; i < end; i++)
        if (write) {
            order.writer[node_of(row)][i] = access;
            order.readers[node_of(row)][i] = (known_t){{0}};
        } else {
            add_one(&order.readers[node_of(row)][i], access);
        }
    return true;
}

/* Messages of one stage: who has released sends to who waits, one by one or all to all. */
static void send_messages(pto_clocks_t *clocks, int64_t lane) {
    int64_t first = lane * order.ranks;
    bool gathers = one_in(3);
    for (int64_t row = first; row < first + order.ranks; row++) {
        pto_clocks_release(clocks, row);
        release(row);
    }
    memcpy(order.next, order.known, sizeof order.next);
    if (gathers)
        for (int64_t from = first; from < first + order.ranks; from++) {
            pto_clocks_gather(clocks, from, from == first);
            for (int64_t to = first; to < first + order.ranks; to++)
                if (node_of(from) == node_of(to))
                    deliver(&order.next[to], from);
        }
    for (int64_t to = first; to < first + order.ranks && gathers; to++)
        pto_clocks_deliver_gathered(clocks, to);
    for (int64_t n = gathers ? 0 : below(2 * order.ranks); n > 0; n--) {
        int64_t from = first + below(order.ranks), to = first + below(order.ranks);
        pto_clocks_deliver(clocks, from, to);
        if (node_of(from) == node_of(to))
            deliver(&order.next[to], from);
    }
    pto_clocks_settle(clocks);
    memcpy(order.known, order.next, sizeof order.next);
}

/* A flag between two rows, or between two lanes of a rank. Those of other nodes are not known. */
static void raise_flag(pto_clocks_t *clocks) {
    int64_t from = below(order.rows), to = below(order.rows);
    if (from % order.ranks == to % order.ranks) {
        pto_clocks_order(clocks, from, to);
        release(from);
        deliver(&order.known[to], from);
        return;
    }
    pto_clocks_release(clocks, from);
    release(from);
    uint32_t *snapshot = pto_clocks_snapshot(clocks, from);
    if (node_of(from) == node_of(to))
        deliver(&order.known[to], from);
    assert_non_null(snapshot);
    pto_clocks_join(clocks, from, snapshot, to);
    free(snapshot);
}

static void begin_order(uint64_t seed) {
    static const int64_t shape[][3] = {{1, 4, 4}, {1, 6, 3}, {2, 4, 4}, {2, 6, 2}, {3, 4, 2}, {1, 8, 1}};
    const int64_t *lanes_ranks_node = shape[seed % 6];
    memset(&order, 0, sizeof order);
    order.ranks = lanes_ranks_node[1];
    order.rows = lanes_ranks_node[0] * order.ranks;
    order.node_ranks = lanes_ranks_node[2];
    for (int node = 0; node < ROWS; node++)
        for (int byte = 0; byte < SHARED; byte++)
            order.writer[node][byte] = -1;
    chance_state = seed;
}

TEST(accesses_are_ordered_by_what_was_released) {
    static const pto_stage_t stage[STAGES];
    int conflicts[2] = {0, 0}, most = 0;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        pto_clocks_t clocks;
        pto_trace_t trace[ROWS];
        begin_order(seed);
        pto_clocks_init(&clocks, order.ranks, (int)(order.rows / order.ranks), order.node_ranks, true);
        int64_t nodes = order.ranks / order.node_ranks;
        for (int64_t node = 0; node < nodes; node++)
            pto_trace_init(&trace[node], SHARED, &clocks);
        bool right = true;
        while (right && order.access_count < ACCESSES) {
            clocks.stage = one_in(5) ? NULL : &stage[below(STAGES)];
            if (one_in(2))
                send_messages(&clocks, below(order.rows / order.ranks));
            for (int64_t n = below(4); n > 0; n--)
                raise_flag(&clocks);
            right = access_shared(trace, &clocks, below(order.rows));
        }
        conflicts[right]++;
        most = order.access_count > most ? order.access_count : most;
        assert_false(clocks.out_of_memory);
        for (int64_t node = 0; node < nodes; node++)
            pto_trace_fini(&trace[node]);
        pto_clocks_fini(&clocks);
    }
    assert_true(conflicts[false] > 1000 && most > 60);
}

/* Lanes that read in turn, each ordered after the one before: only the last read is kept. */
TEST(reads_that_another_one_follows_are_forgotten) {
    pto_clocks_t clocks;
    pto_trace_t trace;
    pto_conflict_t conflict;
    pto_clocks_init(&clocks, 1, 3, 1, true);
    pto_trace_init(&trace, 8, &clocks);
    for (int64_t lane = 0; lane < 30; lane++) {
        assert_true(pto_trace_access(&trace, &clocks, lane % 3, 0, 8, false, &conflict));
        pto_clocks_order(&clocks, lane % 3, (lane + 1) % 3);
    }
    assert_int_equal(clocks.read_count, 1);
    assert_true(pto_trace_access(&trace, &clocks, 0, 0, 8, true, &conflict));
    pto_trace_fini(&trace);
    pto_clocks_fini(&clocks);
}

TEST(clocks_that_are_not_needed_order_nothing) {
    pto_clocks_t clocks;
    pto_trace_t trace;
    pto_conflict_t conflict;
    pto_clocks_init(&clocks, 2, 1, 2, false);
    pto_trace_init(&trace, 8, &clocks);
    for (int64_t rank = 0; rank < 2; rank++)
        assert_true(pto_trace_access(&trace, &clocks, rank, 0, 8, true, &conflict));
    pto_clocks_release(&clocks, 0);
    pto_clocks_deliver(&clocks, 0, 1);
    pto_clocks_gather(&clocks, 0, true);
    pto_clocks_deliver_gathered(&clocks, 1);
    pto_clocks_settle(&clocks);
    pto_clocks_order(&clocks, 0, 1);
    assert_null(pto_clocks_snapshot(&clocks, 0));
    assert_false(clocks.out_of_memory);
    pto_trace_fini(&trace);
    pto_clocks_fini(&clocks);
}
