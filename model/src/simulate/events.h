/* When what happens next: one time for each of a fixed number of slots. */
#ifndef PTO_SIMULATE_EVENTS_H
#define PTO_SIMULATE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

/* One slot that is to fire, in the list of its time; stale once the slot's own time is another. */
typedef struct {
    uint32_t slot;
    uint32_t next; /* number of an entry, from 1 */
} pto_agenda_entry_t;

/* All that was set to one time, in the order in which it was set. */
typedef struct {
    double time_s;
    bool late; /* comes after what else there is at that time */
    uint32_t first;
    uint32_t last;
} pto_agenda_bucket_t;

typedef struct {
    double time_s;
    uint64_t order; /* late ones last, then as they were made */
    uint32_t bucket;
} pto_agenda_key_t;

enum { PTO_AGENDA_RECENT = 256 };

/* Where ranks act alike thousands of events have the same time, to the last bit: a heap of times, each with a
 * list, makes all but the first of them cost the same whatever the ranks. Elsewhere a list holds one event,
 * and the heap's logarithm is the cost. The order of equal times is that of setting, so that every run is the
 * same. */
typedef struct {
    double *time_s; /* of every slot; INFINITY: nothing */
    pto_agenda_entry_t *entry;
    uint32_t entry_count;
    uint32_t entry_room;
    uint32_t entry_free;
    pto_agenda_bucket_t *bucket;
    uint32_t bucket_count;
    uint32_t bucket_room;
    uint32_t *bucket_free; /* a stack of as much room */
    uint32_t bucket_free_count;
    pto_agenda_key_t *heap;
    uint32_t heap_count;
    uint64_t made;
    uint32_t recent[PTO_AGENDA_RECENT]; /* buckets by their time's bits, where to look first */
    bool out_of_memory;
} pto_agenda_t;

/* Legal to free after a failure. */
bool pto_agenda_init(pto_agenda_t *agenda, uint32_t slots);
void pto_agenda_fini(pto_agenda_t *agenda);

/* Set a slot's time, INFINITY for never. A late one comes after all others of its time. */
void pto_agenda_set(pto_agenda_t *agenda, uint32_t slot, double time_s, bool late);

/* Take the next slot, which is then set to never; false where there is none. */
bool pto_agenda_take(pto_agenda_t *agenda, uint32_t *slot, double *time_s);

#endif
