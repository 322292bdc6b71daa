/* Vector clocks and access traces (clocks.h), after Flanagan and Freund, "FastTrack" (2009).
 *
 * Let all clocks of ranks A and B be 0. A writes a byte; the trace stores (A, 1), since A's next release is
 * its first. A signals: its own entry becomes 1. B waits and joins A's clock, so B's entry for A is 1, too. B
 * may now access the byte, since 1 <= 1. Without the wait, B's entry for A is 0, and the access is a race. */
#include "check/clocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* A read, or the last write. A span has its last read. Earlier reads that it does not replace (record_read)
 * are a list. The list's nodes never change, so spans that were split share it. */
struct pto_trace_read {
    int32_t rank;  /* the number of its clock (clocks.h); -1: none yet */
    uint32_t time; /* the number of that clock's next release */
    int32_t next;  /* the read before it, in pto_clocks_t.read; 0: none */
    const pto_stage_t *stage;
};

struct pto_trace_span {
    int64_t begin;
    int64_t end;
    struct pto_trace_read write;
    struct pto_trace_read read; /* the last one since */
};

void pto_clocks_init(pto_clocks_t *clocks, int64_t ranks, int lanes, int64_t group_ranks, bool needed) {
    *clocks = (pto_clocks_t){.ranks = ranks,
                             .rows = ranks * lanes,
                             .group_ranks = group_ranks,
                             .width = group_ranks * lanes,
                             .read_count = 1,
                             .read_capacity = 64};
    if (!needed)
        return;
    size_t rows = (size_t)clocks->rows, width = (size_t)clocks->width;
    clocks->now = calloc(rows * width, sizeof *clocks->now);
    clocks->next = calloc(rows * width, sizeof *clocks->next);
    clocks->joined = calloc(rows, sizeof *clocks->joined);
    clocks->gathered = calloc((size_t)(ranks / group_ranks) * width, sizeof *clocks->gathered);
    clocks->read = calloc(clocks->read_capacity, sizeof *clocks->read);
    clocks->out_of_memory =
        !clocks->now || !clocks->next || !clocks->joined || !clocks->gathered || !clocks->read;
}

void pto_clocks_fini(pto_clocks_t *clocks) {
    free(clocks->now);
    free(clocks->next);
    free(clocks->joined);
    free(clocks->gathered);
    free(clocks->read);
}

static bool are_unused(const pto_clocks_t *clocks) { return !clocks->now || clocks->out_of_memory; }

static bool by_group(const pto_clocks_t *clocks) { return clocks->group_ranks < clocks->ranks; }

static int64_t group_of(const pto_clocks_t *clocks, int64_t rank) {
    return by_group(clocks) ? rank % clocks->ranks / clocks->group_ranks : 0;
}

/* Returns the index of a rank's entry in the clocks of its group. */
static int64_t entry_of(const pto_clocks_t *clocks, int64_t rank) {
    if (!by_group(clocks))
        return rank;
    int64_t lane = rank / clocks->ranks, in_group = rank % clocks->ranks % clocks->group_ranks;
    return lane * clocks->group_ranks + in_group;
}

static uint32_t *row_of(const pto_clocks_t *clocks, int64_t rank) {
    return clocks->now + rank * clocks->width;
}

void pto_clocks_release(pto_clocks_t *clocks, int64_t rank) {
    if (!are_unused(clocks))
        row_of(clocks, rank)[entry_of(clocks, rank)]++;
}

_Thread_local int64_t pto_clocks_visits;

static void join_row(uint32_t *row, const uint32_t *other, int64_t width) {
    pto_clocks_visits += width;
    for (int64_t i = 0; i < width; i++)
        row[i] = row[i] > other[i] ? row[i] : other[i];
}

/* Joins a clock into the values that a rank's clock will have once the stage is settled. */
static void join_next(pto_clocks_t *clocks, int64_t to, const uint32_t *row) {
    uint32_t *next = clocks->next + to * clocks->width;
    if (!clocks->joined[to])
        memcpy(next, row_of(clocks, to), (size_t)clocks->width * sizeof *next);
    clocks->joined[to] = true;
    join_row(next, row, clocks->width);
}

void pto_clocks_deliver(pto_clocks_t *clocks, int64_t from, int64_t to) {
    if (!are_unused(clocks) && group_of(clocks, from) == group_of(clocks, to))
        join_next(clocks, to, row_of(clocks, from));
}

void pto_clocks_gather(pto_clocks_t *clocks, int64_t from, bool first) {
    if (are_unused(clocks))
        return;
    size_t groups = (size_t)(clocks->ranks / clocks->group_ranks);
    if (first)
        memset(clocks->gathered, 0, groups * (size_t)clocks->width * sizeof *clocks->gathered);
    join_row(clocks->gathered + group_of(clocks, from) * clocks->width, row_of(clocks, from), clocks->width);
}

void pto_clocks_deliver_gathered(pto_clocks_t *clocks, int64_t to) {
    if (!are_unused(clocks))
        join_next(clocks, to, clocks->gathered + group_of(clocks, to) * clocks->width);
}

void pto_clocks_settle(pto_clocks_t *clocks) {
    if (are_unused(clocks))
        return;
    for (int64_t rank = 0; rank < clocks->rows; rank++) {
        if (clocks->joined[rank])
            memcpy(row_of(clocks, rank), clocks->next + rank * clocks->width,
                   (size_t)clocks->width * sizeof *clocks->now);
        clocks->joined[rank] = false;
    }
}

uint32_t *pto_clocks_snapshot(pto_clocks_t *clocks, int64_t rank) {
    if (are_unused(clocks))
        return NULL;
    size_t bytes = (size_t)clocks->width * sizeof *clocks->now;
    uint32_t *copy = malloc(bytes);
    if (copy)
        memcpy(copy, row_of(clocks, rank), bytes);
    else
        clocks->out_of_memory = true;
    return copy;
}

void pto_clocks_join(pto_clocks_t *clocks, int64_t from, const uint32_t *snapshot, int64_t to) {
    if (!are_unused(clocks) && snapshot && group_of(clocks, from) == group_of(clocks, to))
        join_row(row_of(clocks, to), snapshot, clocks->width);
}

void pto_clocks_order(pto_clocks_t *clocks, int64_t from, int64_t to) {
    pto_clocks_release(clocks, from);
    if (!are_unused(clocks))
        join_row(row_of(clocks, to), row_of(clocks, from), clocks->width);
}

static struct pto_trace_span *span_at(const pto_trace_t *trace, int i) {
    return pto_gap_at(trace, sizeof(struct pto_trace_span), i);
}

/* Makes room for a span in front of the one numbered `to`. */
static bool open_gap(pto_trace_t *trace, int to, pto_clocks_t *clocks) {
    bool is_open = pto_gap_open(trace, sizeof(struct pto_trace_span), to, 1);
    clocks->out_of_memory = clocks->out_of_memory || !is_open;
    return is_open;
}

void pto_trace_init(pto_trace_t *trace, int64_t bytes, pto_clocks_t *clocks) {
    *trace = (pto_trace_t){0};
    if (bytes <= 0 || !open_gap(trace, 0, clocks))
        return;
    trace->count = trace->gap_at = 1;
    *span_at(trace, 0) = (struct pto_trace_span){.end = bytes, .write.rank = -1, .read.rank = -1};
}

void pto_trace_fini(pto_trace_t *trace) { free(trace->span); }

/* Returns the index of the span that begins at `offset`, after splitting a span there if necessary; the
 * number of spans if `offset` is the end of the buffer. */
static int split_at(pto_trace_t *trace, int64_t offset, pto_clocks_t *clocks) {
    int at = pto_gap_find(trace, sizeof(struct pto_trace_span), offset, trace->last_at);
    trace->last_at = at;
    if (at == trace->count || span_at(trace, at)->begin == offset || !open_gap(trace, at + 1, clocks))
        return at;
    trace->count++;
    trace->gap_at++;
    *span_at(trace, at + 1) = *span_at(trace, at);
    span_at(trace, at)->end = offset;
    span_at(trace, at + 1)->begin = offset;
    return at + 1;
}

static bool has_seen(const pto_clocks_t *clocks, int64_t rank, int64_t other, uint32_t time) {
    return rank == other || time <= row_of(clocks, rank)[entry_of(clocks, other)];
}

static bool is_ordered_after(const pto_clocks_t *clocks, int64_t rank, const struct pto_trace_read *access) {
    return access->rank < 0 || has_seen(clocks, rank, access->rank, access->time);
}

/* Returns the last read or write of the span that this access races with, or NULL. */
static const struct pto_trace_read *find_race(const struct pto_trace_span *span, const pto_clocks_t *clocks,
                                              int64_t rank, bool write) {
    if (!is_ordered_after(clocks, rank, &span->write))
        return &span->write;
    if (!write) /* reads do not race with each other */
        return NULL;
    const struct pto_trace_read *read = &span->read;
    while (is_ordered_after(clocks, rank, read)) {
        if (!read->next)
            return NULL;
        read = &clocks->read[read->next];
    }
    return read;
}

/* Makes a read the last one of a span. If it is ordered after the last read so far, it replaces that one:
 * what is ordered after the new read is ordered after the replaced one, too. Else that one joins the list. */
static void record_read(struct pto_trace_span *span, pto_clocks_t *clocks, int64_t rank, uint32_t time) {
    int32_t earlier = span->read.next;
    if (!is_ordered_after(clocks, rank, &span->read)) {
        if (!PTO_RESERVE(clocks->read, clocks->read_capacity, clocks->read_count + 1)) {
            clocks->out_of_memory = true;
            return;
        }
        earlier = clocks->read_count++;
        clocks->read[earlier] = span->read;
    }
    span->read = (struct pto_trace_read){(int32_t)rank, time, earlier, clocks->stage};
}

bool pto_trace_access(pto_trace_t *trace, pto_clocks_t *clocks, int64_t rank, int64_t begin, int64_t end,
                      bool write, pto_conflict_t *conflict) {
    if (are_unused(clocks) || begin >= end)
        return true;
    uint32_t time = row_of(clocks, rank)[entry_of(clocks, rank)] + 1;
    int first = split_at(trace, begin, clocks);
    bool is_single = first < trace->count && span_at(trace, first)->end == end; /* the usual case */
    int until = is_single ? first + 1 : split_at(trace, end, clocks);
    for (int i = first; i < until && !clocks->out_of_memory; i++) {
        struct pto_trace_span *span = span_at(trace, i);
        const struct pto_trace_read *race = find_race(span, clocks, rank, write);
        if (race) {
            *conflict =
                (pto_conflict_t){race->rank, span->begin, span->end, race == &span->write, race->stage};
            return false;
        }
        if (!write) {
            record_read(span, clocks, rank, time);
            continue;
        }
        span->write = (struct pto_trace_read){(int32_t)rank, time, 0, clocks->stage};
        span->read = (struct pto_trace_read){.rank = -1};
    }
    return true;
}
