/* The simulator's event queue (simulate/events.h): a heap of buckets, one for each time. */
#include "simulate/events.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"

/* Returns a bucket that is not in use; NULL when out of memory. */
static pto_agenda_bucket_t *take_bucket(pto_agenda_t *agenda) {
    pto_agenda_bucket_t *bucket = agenda->bucket_free;
    if (!bucket)
        return calloc(1, sizeof *bucket);
    agenda->bucket_free = bucket->free_next;
    return bucket;
}

static void give_bucket(pto_agenda_t *agenda, pto_agenda_bucket_t *bucket) {
    bucket->time_s = NAN; /* no lookup finds it any more */
    bucket->free_next = agenda->bucket_free;
    agenda->bucket_free = bucket;
}

bool pto_agenda_init(pto_agenda_t *agenda, uint32_t slots) {
    *agenda = (pto_agenda_t){0};
    agenda->time_s = malloc(slots * sizeof *agenda->time_s);
    for (uint32_t slot = 0; agenda->time_s && slot < slots; slot++)
        agenda->time_s[slot] = INFINITY;
    pto_agenda_bucket_t *any = take_bucket(agenda);
    if (any)
        give_bucket(agenda, any);
    if (!any || !agenda->time_s || !PTO_RESERVE(agenda->heap, agenda->heap_room, 1))
        return false;
    agenda->heap[0] = (pto_agenda_key_t){.bucket = any};
    agenda->last[0] = agenda->last[1] = any;
    for (int i = 0; i < 1 << PTO_AGENDA_RECENT_BITS; i++)
        agenda->recent[i] = any;
    return true;
}

void pto_agenda_fini(pto_agenda_t *agenda) {
    for (uint32_t i = 0; i < agenda->heap_count; i++)
        give_bucket(agenda, agenda->heap[i].bucket);
    while (agenda->bucket_free) {
        pto_agenda_bucket_t *bucket = take_bucket(agenda);
        free(bucket->slot);
        free(bucket);
    }
    free(agenda->time_s);
    free(agenda->heap);
}

static bool sooner(const pto_agenda_key_t *a, const pto_agenda_key_t *b) {
    return a->time_s < b->time_s || (a->time_s == b->time_s && a->order < b->order);
}

static void push_key(pto_agenda_t *agenda, pto_agenda_key_t key) {
    uint32_t at = agenda->heap_count++;
    while (at > 0 && sooner(&key, &agenda->heap[(at - 1) / 2])) {
        agenda->heap[at] = agenda->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    agenda->heap[at] = key;
}

static void pop_key(pto_agenda_t *agenda) {
    pto_agenda_key_t key = agenda->heap[--agenda->heap_count];
    uint32_t at = 0;
    for (uint32_t child; (child = 2 * at + 1) < agenda->heap_count; at = child) {
        if (child + 1 < agenda->heap_count && sooner(&agenda->heap[child + 1], &agenda->heap[child]))
            child++;
        if (!sooner(&agenda->heap[child], &key))
            break;
        agenda->heap[at] = agenda->heap[child];
    }
    agenda->heap[at] = key;
}

/* Returns the cache entry for the bucket of a time. */
static pto_agenda_bucket_t **cache_entry(pto_agenda_t *agenda, double time_s, bool late) {
    uint64_t bits;
    memcpy(&bits, &time_s, sizeof bits);
    bits = (bits ^ (uint64_t)late) * PTO_GOLDEN_GAMMA;
    return &agenda->recent[bits >> (64 - PTO_AGENDA_RECENT_BITS)];
}

/* Returns the bucket of a time: the cached one, else a new one. Several buckets may have the same time. */
static pto_agenda_bucket_t *bucket_at(pto_agenda_t *agenda, double time_s, bool late) {
    pto_agenda_bucket_t **recent = cache_entry(agenda, time_s, late);
    if ((*recent)->time_s == time_s && (*recent)->late == late)
        return *recent;
    bool has_room = PTO_RESERVE(agenda->heap, agenda->heap_room, agenda->heap_count + (size_t)1);
    pto_agenda_bucket_t *bucket = has_room ? take_bucket(agenda) : NULL;
    if (!bucket)
        return NULL;
    bucket->time_s = time_s;
    bucket->late = late;
    bucket->next = 0;
    bucket->count = 0;
    push_key(agenda, (pto_agenda_key_t){time_s, (uint64_t)late << 63 | agenda->made++, bucket});
    return *recent = bucket;
}

void pto_agenda_put(pto_agenda_t *agenda, uint32_t slot, double time_s, bool late) {
    pto_agenda_bucket_t *bucket = bucket_at(agenda, time_s, late);
    if (!bucket || !PTO_RESERVE(bucket->slot, bucket->room, bucket->count + (size_t)1)) {
        agenda->out_of_memory = true;
        return;
    }
    agenda->last[late] = bucket;
    bucket->slot[bucket->count++] = slot;
}

bool pto_agenda_drop_first(pto_agenda_t *agenda) {
    if (agenda->heap_count == 0)
        return false;
    give_bucket(agenda, agenda->heap[0].bucket);
    pop_key(agenda);
    return agenda->heap_count > 0;
}
