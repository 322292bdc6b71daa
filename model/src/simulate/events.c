/* The simulator's agenda (simulate/events.h). */
#include "simulate/events.h"

#include <stdlib.h>
#include <string.h>

/* The buckets, the stack of free ones and the heap have the same capacity. */
static bool grow_buckets(pto_agenda_t *agenda) {
    uint32_t old = agenda->bucket_room, room = old > 0 ? 2 * old : 256;
    pto_agenda_bucket_t *bucket = realloc(agenda->bucket, room * sizeof *bucket);
    if (bucket)
        agenda->bucket = bucket;
    uint32_t *stack = realloc(agenda->bucket_free, room * sizeof *stack);
    if (stack)
        agenda->bucket_free = stack;
    pto_agenda_key_t *heap = realloc(agenda->heap, room * sizeof *heap);
    if (heap)
        agenda->heap = heap;
    agenda->out_of_memory = !bucket || !stack || !heap;
    if (agenda->out_of_memory)
        return false;
    for (uint32_t i = old; i < room; i++)
        bucket[i] = (pto_agenda_bucket_t){.time_s = NAN};
    agenda->bucket_room = room;
    return true;
}

/* Whether or not the heap is empty, its place 0 names a bucket; that of an empty heap has no slots left. */
bool pto_agenda_init(pto_agenda_t *agenda, uint32_t slots) {
    *agenda = (pto_agenda_t){0};
    agenda->time_s = malloc(slots * sizeof *agenda->time_s);
    for (uint32_t slot = 0; agenda->time_s && slot < slots; slot++)
        agenda->time_s[slot] = INFINITY;
    if (!agenda->time_s || !grow_buckets(agenda))
        return false;
    agenda->heap[0] = (pto_agenda_key_t){.bucket = 0};
    return true;
}

void pto_agenda_fini(pto_agenda_t *agenda) {
    free(agenda->time_s);
    for (uint32_t i = 0; i < agenda->bucket_room; i++)
        free(agenda->bucket[i].slot);
    free(agenda->bucket);
    free(agenda->bucket_free);
    free(agenda->heap);
}

/* --- times ---------------------------------------------------------------------------------------------- */

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

/* The number of the bucket of a time, if it was made lately. */
static uint32_t *recent_place(pto_agenda_t *agenda, double time_s, bool late) {
    uint64_t bits;
    memcpy(&bits, &time_s, sizeof bits);
    bits = (bits ^ (uint64_t)late) * 0x9e3779b97f4a7c15u;
    return &agenda->recent[bits >> (64 - PTO_AGENDA_RECENT_BITS)];
}

/* The bucket of a time: a recently made one if found at once, else a new one. */
static pto_agenda_bucket_t *bucket_at(pto_agenda_t *agenda, double time_s, bool late) {
    uint32_t *recent = recent_place(agenda, time_s, late), number;
    if (agenda->bucket[*recent].time_s == time_s && agenda->bucket[*recent].late == late)
        return &agenda->bucket[*recent];
    if (agenda->bucket_free_count > 0) {
        number = agenda->bucket_free[--agenda->bucket_free_count];
    } else {
        if (agenda->bucket_count == agenda->bucket_room && !grow_buckets(agenda))
            return NULL;
        number = agenda->bucket_count++;
    }
    pto_agenda_bucket_t *bucket = &agenda->bucket[number];
    bucket->time_s = time_s;
    bucket->late = late;
    bucket->next = 0;
    bucket->count = 0;
    push_key(agenda, (pto_agenda_key_t){time_s, (uint64_t)late << 63 | agenda->made++, number});
    *recent = number;
    return bucket;
}

static bool grow_bucket(pto_agenda_t *agenda, pto_agenda_bucket_t *bucket) {
    uint32_t room = bucket->room > 0 ? 2 * bucket->room : 4;
    uint32_t *grown = realloc(bucket->slot, room * sizeof *grown);
    if (grown) {
        bucket->slot = grown;
        bucket->room = room;
    } else {
        agenda->out_of_memory = true;
    }
    return grown != NULL;
}

/* --- both ----------------------------------------------------------------------------------------------- */

void pto_agenda_put(pto_agenda_t *agenda, uint32_t slot, double time_s, bool late) {
    pto_agenda_bucket_t *bucket = bucket_at(agenda, time_s, late);
    if (bucket)
        agenda->last[late] = (uint32_t)(bucket - agenda->bucket);
    if (bucket && (bucket->count < bucket->room || grow_bucket(agenda, bucket)))
        bucket->slot[bucket->count++] = slot;
}

bool pto_agenda_drop_first(pto_agenda_t *agenda) {
    if (agenda->heap_count == 0)
        return false;
    uint32_t number = agenda->heap[0].bucket;
    agenda->bucket[number].time_s = NAN; /* no lookup finds it any more */
    agenda->bucket_free[agenda->bucket_free_count++] = number;
    pop_key(agenda);
    return agenda->heap_count > 0;
}
