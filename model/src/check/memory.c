/* Interned sets of owners, and the contents of buffers as spans (memory.h). */
#include "check/memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"

struct pto_set_entry {
    size_t bound_first;
    int32_t run_count;
    int32_t size;
    uint64_t hash;
};

void pto_sets_init(pto_sets_t *sets) {
    *sets = (pto_sets_t){.set_count = 1, .set_capacity = 64, .slot_count = 128, .bound_capacity = 256};
    sets->set = calloc(sets->set_capacity, sizeof *sets->set);
    sets->slot = calloc(sets->slot_count, sizeof *sets->slot);
    sets->bound = calloc(sets->bound_capacity, sizeof *sets->bound);
    sets->out_of_memory = !sets->set || !sets->slot || !sets->bound;
}

void pto_sets_fini(pto_sets_t *sets) {
    free(sets->set);
    free(sets->slot);
    free(sets->bound);
}

static uint64_t hash_bounds(const int32_t *bound, int32_t run_count) {
    uint64_t hash = PTO_HASH_START;
    for (int32_t i = 0; i < 2 * run_count; i++) {
        hash = pto_hash_add(hash, (uint32_t)bound[i]);
        hash ^= hash >> 29;
    }
    return hash;
}

static bool grow_slots(pto_sets_t *sets) {
    size_t slot_count = 2 * sets->slot_count;
    int32_t *slot = calloc(slot_count, sizeof *slot);
    if (!slot)
        return false;
    for (int32_t set = 1; set < sets->set_count; set++) {
        size_t place = sets->set[set].hash & (slot_count - 1);
        while (slot[place])
            place = (place + 1) & (slot_count - 1);
        slot[place] = set;
    }
    free(sets->slot);
    sets->slot = slot;
    sets->slot_count = slot_count;
    return true;
}

/* Reserves room for the bounds of one more set, which are written before the set is known to be new. */
static bool reserve_bounds(pto_sets_t *sets, size_t count) {
    return PTO_RESERVE(sets->bound, sets->bound_capacity, sets->bound_count + count);
}

/* Returns the number of the set whose bounds are in sets->bound behind those in use. */
static int32_t intern(pto_sets_t *sets, int32_t run_count) {
    const int32_t *bound = sets->bound + sets->bound_count;
    uint64_t hash = hash_bounds(bound, run_count);
    size_t place = hash & (sets->slot_count - 1);
    for (; sets->slot[place]; place = (place + 1) & (sets->slot_count - 1)) {
        const struct pto_set_entry *known = &sets->set[sets->slot[place]];
        if (known->hash == hash && known->run_count == run_count &&
            memcmp(sets->bound + known->bound_first, bound, 2 * (size_t)run_count * sizeof *bound) == 0)
            return sets->slot[place];
    }
    if (!PTO_RESERVE(sets->set, sets->set_capacity, sets->set_count + 1)) {
        sets->out_of_memory = true;
        return PTO_SET_NONE;
    }
    struct pto_set_entry set = {.bound_first = sets->bound_count, .run_count = run_count, .hash = hash};
    for (int32_t i = 0; i < run_count; i++)
        set.size += bound[2 * i + 1] - bound[2 * i];
    sets->set[sets->set_count] = set;
    sets->slot[place] = sets->set_count++;
    sets->bound_count += 2 * (size_t)run_count;
    int32_t number = sets->slot[place];
    if (2 * (size_t)sets->set_count > sets->slot_count && !grow_slots(sets))
        sets->out_of_memory = true;
    return number;
}

int32_t pto_sets_run(pto_sets_t *sets, int32_t first, int32_t until) {
    if (sets->out_of_memory || !reserve_bounds(sets, 2)) {
        sets->out_of_memory = true;
        return PTO_SET_NONE;
    }
    sets->bound[sets->bound_count] = first;
    sets->bound[sets->bound_count + 1] = until;
    return intern(sets, 1);
}

static const int32_t *bounds_of(const pto_sets_t *sets, int32_t set) {
    return sets->bound + sets->set[set].bound_first;
}

int32_t pto_sets_common(const pto_sets_t *sets, int32_t a, int32_t b) {
    const int32_t *run_a = bounds_of(sets, a), *run_b = bounds_of(sets, b);
    const int32_t *end_a = run_a + 2 * sets->set[a].run_count, *end_b = run_b + 2 * sets->set[b].run_count;
    while (run_a < end_a && run_b < end_b)
        if (run_a[1] <= run_b[0])
            run_a += 2;
        else if (run_b[1] <= run_a[0])
            run_b += 2;
        else
            return run_a[0] > run_b[0] ? run_a[0] : run_b[0];
    return -1;
}

int32_t pto_sets_unite(pto_sets_t *sets, int32_t a, int32_t b) {
    int32_t left_a = sets->set[a].run_count, left_b = sets->set[b].run_count;
    if (sets->out_of_memory || !reserve_bounds(sets, 2 * (size_t)(left_a + left_b))) {
        sets->out_of_memory = true;
        return PTO_SET_NONE;
    }
    const int32_t *run_a = bounds_of(sets, a), *run_b = bounds_of(sets, b);
    int32_t *united = sets->bound + sets->bound_count;
    int32_t run_count = 0;
    while (left_a > 0 || left_b > 0) {
        bool from_a = left_b == 0 || (left_a > 0 && run_a[0] <= run_b[0]);
        const int32_t *run = from_a ? run_a : run_b;
        if (run_count > 0 && run[0] <= united[2 * run_count - 1]) {
            if (run[1] > united[2 * run_count - 1])
                united[2 * run_count - 1] = run[1];
        } else {
            united[2 * run_count] = run[0];
            united[2 * run_count + 1] = run[1];
            run_count++;
        }
        *(from_a ? &run_a : &run_b) += 2;
        (*(from_a ? &left_a : &left_b))--;
    }
    return intern(sets, run_count);
}

int32_t pto_sets_rotate(pto_sets_t *sets, int32_t set, int32_t by, int32_t count) {
    int32_t rotated = by == 0 ? set : PTO_SET_NONE;
    for (int32_t i = 0; by != 0 && i < sets->set[set].run_count; i++) {
        const int32_t *run = bounds_of(sets, set) + 2 * i;
        int32_t first = (run[0] + by) % count, until = first + run[1] - run[0];
        rotated = pto_sets_unite(sets, rotated, pto_sets_run(sets, first, until < count ? until : count));
        if (until > count)
            rotated = pto_sets_unite(sets, rotated, pto_sets_run(sets, 0, until - count));
    }
    return rotated;
}

int32_t pto_sets_size(const pto_sets_t *sets, int32_t set) { return sets->set[set].size; }

int32_t pto_sets_first(const pto_sets_t *sets, int32_t set) { return bounds_of(sets, set)[0]; }

bool pto_spans_reserve(pto_spans_t *spans, int count, pto_sets_t *sets) {
    bool reserved = PTO_RESERVE(spans->span, spans->capacity, count);
    sets->out_of_memory = sets->out_of_memory || !reserved;
    return reserved;
}

/* Makes room for `count` spans in front of the one numbered `to`. */
static bool open_gap(pto_contents_t *contents, int to, int count, pto_sets_t *sets) {
    bool is_open = pto_gap_open(contents, sizeof(pto_content_t), to, count);
    sets->out_of_memory = sets->out_of_memory || !is_open;
    return is_open;
}

void pto_contents_init(pto_contents_t *contents, int64_t bytes, pto_sets_t *sets) {
    *contents = (pto_contents_t){0};
    if (bytes <= 0 || !open_gap(contents, 0, 1, sets))
        return;
    contents->count = contents->gap_at = 1;
    *pto_contents_at(contents, 0) = (pto_content_t){.end = bytes};
}

_Thread_local int64_t pto_contents_visits;

void pto_contents_fini(pto_contents_t *contents) { free(contents->span); }

/* Returns the index of the span that contains the byte at `offset`, which must be in the buffer. */
static int find(const pto_contents_t *contents, int64_t offset, int guess) {
    return pto_gap_find(contents, sizeof(pto_content_t), offset, guess);
}

void pto_contents_read(pto_contents_t *contents, int64_t begin, int64_t end, pto_spans_t *found,
                       pto_sets_t *sets) {
    found->count = 0;
    if (begin >= end)
        return;
    int i = find(contents, begin, contents->last_at);
    contents->last_at = i + 1;
    for (; i < contents->count && pto_contents_at(contents, i)->begin < end; i++) {
        if (!pto_spans_reserve(found, found->count + 1, sets))
            return;
        pto_content_t span = *pto_contents_at(contents, i);
        if (span.begin < begin)
            span.begin = begin;
        if (span.end > end)
            span.end = end;
        found->span[found->count++] = span;
        pto_contents_visits++;
    }
}

static bool have_same_origin(const pto_content_t *a, const pto_content_t *b) {
    return a->set == b->set && a->delta == b->delta && pto_contents_same_order(a, b);
}

/* Replaces spans first .. last by `count` spans. */
static void splice(pto_contents_t *contents, int first, int last, const pto_content_t *span, int count,
                   pto_sets_t *sets) {
    pto_contents_visits += count;
    if (last - first + 1 == count) {
        for (int i = 0; i < count; i++)
            *pto_contents_at(contents, first + i) = span[i];
        return;
    }
    int moved = abs(first - contents->gap_at);
    if (!open_gap(contents, first, count, sets))
        return;
    pto_contents_visits += moved;
    memcpy((pto_content_t *)contents->span + first, span, (size_t)count * sizeof *span);
    contents->gap_at = first + count;
    contents->count += count - (last - first + 1); /* the replaced ones are in the gap now */
}

/* Splits the first and the last span that the written one overlaps, and merges it with equal neighbours. */
void pto_contents_write(pto_contents_t *contents, pto_content_t written, pto_sets_t *sets) {
    if (written.begin >= written.end || contents->count == 0)
        return;
    int first = find(contents, written.begin, contents->gap_at);
    int last = pto_contents_at(contents, first)->end >= written.end
                   ? first
                   : find(contents, written.end - 1, contents->gap_at);
    pto_content_t left = *pto_contents_at(contents, first), right = *pto_contents_at(contents, last);
    if (left.begin == written.begin && first > 0 &&
        have_same_origin(pto_contents_at(contents, first - 1), &written))
        left = *pto_contents_at(contents, --first);
    if (right.end == written.end && last + 1 < contents->count &&
        have_same_origin(pto_contents_at(contents, last + 1), &written))
        right = *pto_contents_at(contents, ++last);
    if (have_same_origin(&left, &written))
        written.begin = left.begin;
    if (have_same_origin(&right, &written))
        written.end = right.end;
    pto_content_t pieces[3];
    int count = 0;
    left.end = written.begin;
    if (left.begin < left.end)
        pieces[count++] = left;
    pieces[count++] = written;
    right.begin = written.end;
    if (right.begin < right.end)
        pieces[count++] = right;
    splice(contents, first, last, pieces, count, sets);
}
