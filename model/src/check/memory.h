/* The contents of buffers while a plan is checked: for each range of bytes, the owners that contributed to it
 * and the position in their inputs. Internal to libportolan. An out-of-memory condition is recorded in the
 * sets' flag; the contents are then unchanged. */
#ifndef PTO_CHECK_MEMORY_H
#define PTO_CHECK_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- sets of owners ------------------------------------------------------------------------------------- */

/* Each distinct set is stored once, as its increasing runs [first, until), so equal sets have equal numbers.
 * Collectives unite neighbours, so a few runs replace a bitset with one bit per owner. */
typedef struct {
    int32_t *bound; /* the runs of all sets, one after another */
    size_t bound_count;
    size_t bound_capacity;
    struct pto_set_place *set;
    int32_t set_count;
    size_t set_capacity;
    int32_t *slot; /* open-addressed table of set numbers; 0 is free */
    size_t slot_count;
    bool out_of_memory;
} pto_sets_t;

enum { PTO_SET_NONE = 0 }; /* of bytes that were never written */

void pto_sets_init(pto_sets_t *sets);
void pto_sets_fini(pto_sets_t *sets);

/* Returns the set of owners [first, until). */
int32_t pto_sets_run(pto_sets_t *sets, int32_t first, int32_t until);
int32_t pto_sets_unite(pto_sets_t *sets, int32_t a, int32_t b);

/* Returns the set with `by` added to each owner, modulo `count`, the number of owners. */
int32_t pto_sets_rotate(pto_sets_t *sets, int32_t set, int32_t by, int32_t count);

int32_t pto_sets_size(const pto_sets_t *sets, int32_t set);
int32_t pto_sets_first(const pto_sets_t *sets, int32_t set);
/* Returns the smallest owner in both sets; -1 if they are disjoint. */
int32_t pto_sets_common(const pto_sets_t *sets, int32_t a, int32_t b);

/* --- contents ------------------------------------------------------------------------------------------- */

/* The byte at `offset` of the buffer comes from the byte at offset + delta of each contributor's input.
 * `order` and `base` say how the contributions were combined: equal numbers mean the same operations on the
 * same operands, up to a op b = b op a (64 bits of a hash, so in practice). Results of other
 * owners that are combined in the same way have the same order, and another base. */
typedef struct {
    int64_t begin;
    int64_t end;
    int64_t delta;
    uint64_t order;
    int32_t set;
    int32_t base; /* an owner */
} pto_content_t;

static inline bool pto_contents_same_order(const pto_content_t *a, const pto_content_t *b) {
    return a->order == b->order && a->base == b->base;
}

/* A list of spans. In a buffer's contents the unused room is a gap where spans were last replaced, since the
 * next ones are mostly close by: use pto_contents_at. */
typedef struct {
    pto_content_t *span;
    int count;
    int capacity;
    int gap_at;  /* of contents: the spans before the gap */
    int read_at; /* behind the span that a read began at: reads often go on there */
} pto_spans_t;

/* Returns where a search that began close by goes on: where it would, in ever larger steps, or else in the
 * middle. */
static inline int pto_search_within(int low, int high, int at) {
    return at >= low && at < high ? at : low + (high - low) / 2;
}

/* Make room in a list without a gap. */
bool pto_spans_reserve(pto_spans_t *spans, int count, pto_sets_t *sets);

static inline pto_content_t *pto_contents_at(const pto_spans_t *contents, int i) {
    return &contents->span[i < contents->gap_at ? i : i + contents->capacity - contents->count];
}

/* Work: spans of contents that were read, written or moved in this thread. Tests compare it with the order
 * that it may grow by. */
extern _Thread_local int64_t pto_contents_visits;

/* Spans cover a buffer from 0 to its end without gaps. */
void pto_contents_init(pto_spans_t *contents, int64_t bytes, pto_sets_t *sets);
void pto_contents_fini(pto_spans_t *contents);

/* Replace the contents of `found` by those of the range. */
void pto_contents_read(pto_spans_t *contents, int64_t begin, int64_t end, pto_spans_t *found,
                       pto_sets_t *sets);
void pto_contents_write(pto_spans_t *contents, pto_content_t written, pto_sets_t *sets);

#endif
