/* The simulator's event queue, called the agenda. It has a fixed number of slots, one for each thing that can
 * have a next event (a side of a process, a link, a GPU); each slot has at most one event. */
#ifndef PTO_SIMULATE_EVENTS_H
#define PTO_SIMULATE_EVENTS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A bucket: all slots set to one time, in the order in which they were set. A slot whose time has changed
 * since is stale, and skipped. The address of a bucket never changes. */
typedef struct pto_agenda_bucket {
    double time_s;  /* NAN: not in use */
    uint32_t *slot; /* the array is kept when the bucket is freed */
    uint32_t next;  /* the first one that is not taken yet */
    uint32_t count;
    size_t room;
    bool late;                           /* comes after all other events of that time */
    struct pto_agenda_bucket *free_next; /* of those that are not in use */
} pto_agenda_bucket_t;

typedef struct {
    double time_s;
    uint64_t order; /* late buckets last, then by creation */
    pto_agenda_bucket_t *bucket;
} pto_agenda_key_t;

enum { PTO_AGENDA_RECENT_BITS = 8 };

/* In a symmetric plan, thousands of events have exactly the same time. In a heap of times, each with a list
 * of events, all but the first event of a list cost constant time. Otherwise each list holds one event, and
 * its cost is logarithmic in the number of scheduled events. Events of equal time keep the order in which
 * they were set, so a simulation always gives the same result. */
typedef struct {
    double *time_s; /* of every slot; INFINITY: not scheduled */
    pto_agenda_bucket_t *bucket_free;
    pto_agenda_key_t *heap; /* place 0 names a bucket even if it is empty */
    uint32_t heap_count;
    size_t heap_room;
    uint64_t made;                /* buckets taken so far: the next `order` */
    bool out_of_memory;           /* set by pto_agenda_set; its caller must check */
    pto_agenda_bucket_t *last[2]; /* the buckets into which slots were put last, by `late` */
    pto_agenda_bucket_t
        *recent[1 << PTO_AGENDA_RECENT_BITS]; /* a cache of buckets, by a hash of their time */
} pto_agenda_t;

/* Returns false when out of memory. pto_agenda_fini is valid even then. */
bool pto_agenda_init(pto_agenda_t *agenda, uint32_t slots);
void pto_agenda_fini(pto_agenda_t *agenda);

/* Puts a slot into a bucket: the slow path of pto_agenda_set, if the last one is full or of another time. */
void pto_agenda_put(pto_agenda_t *agenda, uint32_t slot, double time_s, bool late);
/* Removes the first bucket, whose slots have all been taken. Returns false if none is left. */
bool pto_agenda_drop_first(pto_agenda_t *agenda);

/* Sets a slot's time, INFINITY for never. A late event comes after all others of its time. */
static inline void pto_agenda_set(pto_agenda_t *agenda, uint32_t slot, double time_s, bool late) {
    if (agenda->time_s[slot] == time_s)
        return;
    agenda->time_s[slot] = time_s;
    pto_agenda_bucket_t *bucket = agenda->last[late];
    if (bucket->time_s == time_s && bucket->late == late && bucket->count < bucket->room)
        bucket->slot[bucket->count++] = slot;
    else if (time_s < INFINITY)
        pto_agenda_put(agenda, slot, time_s, late);
}

/* Takes the next slot and sets it to never; false if there is none. */
static inline bool pto_agenda_take(pto_agenda_t *agenda, uint32_t *slot, double *time_s) {
    do {
        pto_agenda_bucket_t *bucket = agenda->heap[0].bucket;
        while (bucket->next < bucket->count) {
            *slot = bucket->slot[bucket->next++];
            if (agenda->time_s[*slot] == bucket->time_s) {
                *time_s = bucket->time_s;
                agenda->time_s[*slot] = INFINITY;
                return true;
            }
        }
    } while (pto_agenda_drop_first(agenda));
    return false;
}

#endif
