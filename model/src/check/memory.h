/* The symbolic contents of buffers while a plan is checked: for each range of bytes, the set of owners whose
 * inputs are combined there, and where in these inputs the bytes are. Internal to libportolan. When memory
 * runs out, pto_sets_t.out_of_memory is set, and the contents are unchanged. */
#ifndef PTO_CHECK_MEMORY_H
#define PTO_CHECK_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "check/gap.h"

/* Interned sets: each distinct set is stored once, as its increasing runs [first, until), so equal sets have
 * equal numbers. Collectives unite neighbours, so a few runs replace a bitset with one bit per owner. */
typedef struct {
    int32_t *bound; /* the runs of all sets, one after another */
    size_t bound_count;
    size_t bound_capacity;
    struct pto_set_entry *set; /* by number */
    int32_t set_count;
    size_t set_capacity;
    int32_t *slot; /* open-addressed hash table of set numbers; 0 is free */
    size_t slot_count;
    bool out_of_memory;
} pto_sets_t;

enum { PTO_SET_NONE = 0 }; /* the empty set, of bytes that were never written */

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

/* A span of bytes with one origin: the byte at `offset` of the buffer combines the bytes at offset + delta of
 * the inputs of all owners in the set.
 *
 * `order` and `base` identify the reduction tree: spans with equal values result from the same operations on
 * the same operands, up to a op b = b op a, so they have the same bits. `order` is a hash of the tree's
 * shape, relative to the owner `base`: the same tree on other owners has the same order and another base. */
typedef struct {
    int64_t begin;
    int64_t end;
    int64_t delta;
    uint64_t order;
    int32_t set;
    int32_t base;
} pto_content_t;

static inline bool pto_contents_same_order(const pto_content_t *a, const pto_content_t *b) {
    return a->order == b->order && a->base == b->base;
}

/* A list of spans. */
typedef struct {
    pto_content_t *span;
    int count;
    size_t capacity;
} pto_spans_t;

bool pto_spans_reserve(pto_spans_t *spans, int count, pto_sets_t *sets);

/* The contents of a buffer: spans (pto_content_t) that cover it from 0 to its end. */
typedef pto_gap_t pto_contents_t;

static inline pto_content_t *pto_contents_at(const pto_contents_t *contents, int i) {
    return pto_gap_at(contents, sizeof(pto_content_t), i);
}

/* Work done in this thread, for tests: spans of contents that were read, written or moved. */
extern _Thread_local int64_t pto_contents_visits;

void pto_contents_init(pto_contents_t *contents, int64_t bytes, pto_sets_t *sets);
void pto_contents_fini(pto_contents_t *contents);

/* Replaces the spans of `found` by those of the range. */
void pto_contents_read(pto_contents_t *contents, int64_t begin, int64_t end, pto_spans_t *found,
                       pto_sets_t *sets);
void pto_contents_write(pto_contents_t *contents, pto_content_t written, pto_sets_t *sets);

#endif
