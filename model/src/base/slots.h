/* Hash tables of structs, by open addressing. Header-only, for libraries that do not link libportolan. Each
 * struct begins with its key: words of 64 bits, of which the first is not 0. */
#ifndef PTO_BASE_SLOTS_H
#define PTO_BASE_SLOTS_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

typedef struct {
    size_t slot_size; /* bytes of a struct */
    size_t key_words;
    void *slot;      /* `capacity` structs; unused ones are zero */
    size_t count;    /* used slots: at most half of all */
    size_t capacity; /* a power of two; initially 0 */
} pto_slots_t;

static inline uint64_t pto_slots_word(const void *key, size_t index) {
    uint64_t word;
    memcpy(&word, (const char *)key + index * sizeof word, sizeof word);
    return word;
}

/* Returns the slot at an index modulo the capacity. */
static inline void *pto_slots_at(const pto_slots_t *slots, size_t index) {
    return (char *)slots->slot + (index & (slots->capacity - 1)) * slots->slot_size;
}

static inline bool pto_slots_is_used(const void *slot) { return pto_slots_word(slot, 0) != 0; }

/* Returns the hash of a key: the index (modulo the capacity) at which the search for it begins, its home. */
static inline size_t pto_slots_home(const pto_slots_t *slots, const void *key) {
    uint64_t hash = 0;
    for (size_t i = 0; i < slots->key_words; i++)
        hash = (hash ^ hash >> 32 ^ pto_slots_word(key, i)) * PTO_GOLDEN_GAMMA;
    return (size_t)(hash ^ hash >> 32);
}

/* Returns the slot with this key, or the unused slot where it belongs. The capacity must not be 0. */
static inline void *pto_slots_place(const pto_slots_t *slots, const void *key) {
    for (size_t at = pto_slots_home(slots, key);; at++) {
        void *slot = pto_slots_at(slots, at);
        size_t same = 0;
        while (same < slots->key_words && pto_slots_word(slot, same) == pto_slots_word(key, same))
            same++;
        if (same == slots->key_words || !pto_slots_is_used(slot))
            return slot;
    }
}

/* Returns the slot with this key; NULL: none. */
static inline void *pto_slots_find(const pto_slots_t *slots, const void *key) {
    void *slot = slots->count > 0 ? pto_slots_place(slots, key) : NULL;
    return slot && pto_slots_is_used(slot) ? slot : NULL;
}

/* The new table is complete before it replaces the old one, because a signal handler may read it at any time.
 * False, with nothing changed, if out of memory. */
static inline bool pto_slots_grow(pto_slots_t *slots) {
    pto_slots_t larger = *slots;
    void *before = slots->slot;
    larger.capacity = slots->capacity > 0 ? 2 * slots->capacity : 256;
    larger.slot = calloc(larger.capacity, slots->slot_size);
    for (size_t i = 0; i < slots->capacity && larger.slot; i++)
        if (pto_slots_is_used(pto_slots_at(slots, i)))
            memcpy(pto_slots_place(&larger, pto_slots_at(slots, i)), pto_slots_at(slots, i),
                   slots->slot_size);
    if (!larger.slot)
        return false;
    slots->slot = larger.slot;
    slots->capacity = larger.capacity;
    free(before);
    return true;
}

/* The slot with this key; a new one is otherwise zero. Valid until the next is added. NULL: out of memory. */
static inline void *pto_slots_add(pto_slots_t *slots, const void *key) {
    if (slots->count >= slots->capacity / 2 && !pto_slots_grow(slots))
        return NULL;
    void *slot = pto_slots_place(slots, key);
    slots->count += !pto_slots_is_used(slot);
    memcpy(slot, key, slots->key_words * sizeof(uint64_t));
    return slot;
}

/* Removes a slot. A search ends at the first unused slot, so a gap would hide the slots after it: those that
 * may move to the gap (it is not before their home) do so, one after another. */
static inline void pto_slots_remove(pto_slots_t *slots, void *slot) {
    const size_t mask = slots->capacity - 1;
    size_t gap = (size_t)((char *)slot - (char *)slots->slot) / slots->slot_size;
    for (size_t at = gap + 1; pto_slots_is_used(pto_slots_at(slots, at)); at++) {
        const size_t home = pto_slots_home(slots, pto_slots_at(slots, at));
        if (((at - home) & mask) < ((at - gap) & mask))
            continue;
        memcpy(pto_slots_at(slots, gap), pto_slots_at(slots, at), slots->slot_size);
        gap = at;
    }
    memset(pto_slots_at(slots, gap), 0, slots->slot_size);
    slots->count--;
}

#endif
