/* The simulator's event queue: one time for each of a fixed number of slots. */
#ifndef PTO_SIMULATE_EVENTS_H
#define PTO_SIMULATE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

/* All slots set to one time, in the order in which they were set. A slot whose time has changed since is
 * stale, and skipped. */
typedef struct {
    double time_s;
    bool late;     /* comes after all other events of that time */
    uint32_t next; /* the first one that is not taken yet */
    uint32_t count;
    uint32_t room;
    uint32_t *slot; /* kept for the next time when the bucket is empty */
} pto_agenda_bucket_t;

typedef struct {
    double time_s;
    uint64_t order; /* late buckets last, then by creation */
    uint32_t bucket;
} pto_agenda_key_t;

enum { PTO_AGENDA_RECENT = 256 };

/* If ranks act alike, thousands of events have exactly the same time. A heap of times, each with a list,
 * makes all but the first of them cost constant time. Otherwise each list holds one event, and its cost is
 * logarithmic in the number of scheduled events. Events of equal time keep the order in which they
 * were set, so every run is the same. */
typedef struct {
    double *time_s; /* of every slot; INFINITY: not scheduled */
    pto_agenda_bucket_t *bucket;
    uint32_t bucket_count;
    uint32_t bucket_room;
    uint32_t *bucket_free; /* a stack of the same capacity */
    uint32_t bucket_free_count;
    pto_agenda_key_t *heap;
    uint32_t heap_count;
    uint64_t made;                      /* buckets created so far: the next `order` */
    uint32_t recent[PTO_AGENDA_RECENT]; /* a cache of buckets, by a hash of their time */
    bool out_of_memory;                 /* set by pto_agenda_set; its caller must check */
} pto_agenda_t;

/* Returns false when out of memory. pto_agenda_fini is valid even then. */
bool pto_agenda_init(pto_agenda_t *agenda, uint32_t slots);
void pto_agenda_fini(pto_agenda_t *agenda);

/* Set a slot's time, INFINITY for never. A late event comes after all others of its time. */
void pto_agenda_set(pto_agenda_t *agenda, uint32_t slot, double time_s, bool late);

/* Take the next slot and set it to never; false if there is none. */
bool pto_agenda_take(pto_agenda_t *agenda, uint32_t *slot, double *time_s);

#endif
