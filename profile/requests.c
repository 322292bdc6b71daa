/* Requests that are under way, and messages that a matched probe has found, by their handles. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "profile.h"

enum { FIRST_SLOTS = 256 };

/* Open addressing; a slot is empty, or holds a handle. */
typedef struct {
    uint64_t handle; /* 0: empty */
    prof_request_t what;
} slot_t;

typedef struct {
    slot_t *slot;
    size_t count;
    size_t capacity; /* a power of two */
} table_t;

static table_t requests, messages;

/* Handles are pointers in Open MPI and integers in MPICH; neither uses 0 for a request. */
static uint64_t number_of(const void *handle, size_t size) {
    uint64_t number = 0;
    memcpy(&number, handle, size < sizeof number ? size : sizeof number);
    return number;
}

static size_t home_of(const table_t *table, uint64_t handle) {
    uint64_t hash = handle * PTO_GOLDEN_GAMMA;
    return (size_t)(hash >> 32) & (table->capacity - 1);
}

static slot_t *find(const table_t *table, uint64_t handle) {
    if (table->count == 0)
        return NULL;
    for (size_t at = home_of(table, handle);; at = (at + 1) & (table->capacity - 1)) {
        slot_t *slot = &table->slot[at];
        if (slot->handle == handle || slot->handle == 0)
            return slot->handle ? slot : NULL;
    }
}

static void put(table_t *table, uint64_t handle, const prof_request_t *what) {
    size_t at = home_of(table, handle);
    while (table->slot[at].handle != 0 && table->slot[at].handle != handle)
        at = (at + 1) & (table->capacity - 1);
    table->count += table->slot[at].handle == 0;
    table->slot[at] = (slot_t){handle, *what};
}

static bool grow(table_t *table) {
    table_t larger = {.capacity = table->capacity > 0 ? 2 * table->capacity : FIRST_SLOTS};
    larger.slot = calloc(larger.capacity, sizeof *larger.slot);
    if (!larger.slot)
        return false;
    for (size_t i = 0; i < table->capacity; i++)
        if (table->slot[i].handle != 0)
            put(&larger, table->slot[i].handle, &table->slot[i].what);
    free(table->slot);
    *table = larger;
    return true;
}

static void add(table_t *table, uint64_t handle, const prof_request_t *what) {
    if (table->count >= table->capacity / 2 && !grow(table))
        return;
    put(table, handle, what);
}

/* Close the gap: slots that follow move towards their home. */
static void drop(table_t *table, slot_t *slot) {
    size_t mask = table->capacity - 1, gap = (size_t)(slot - table->slot);
    for (size_t at = (gap + 1) & mask; table->slot[at].handle != 0; at = (at + 1) & mask) {
        size_t home = home_of(table, table->slot[at].handle);
        if (((at - home) & mask) >= ((at - gap) & mask)) {
            table->slot[gap] = table->slot[at];
            gap = at;
        }
    }
    table->slot[gap].handle = 0;
    table->count--;
}

void prof_request_add(MPI_Request request, const prof_request_t *what) {
    add(&requests, number_of(&request, sizeof request), what);
}

prof_request_t *prof_request_find(MPI_Request request) {
    slot_t *slot = find(&requests, number_of(&request, sizeof request));
    return slot ? &slot->what : NULL;
}

void prof_request_remove(prof_request_t *what) {
    prof_kept_free(what->kept);
    drop(&requests, (slot_t *)(void *)((char *)what - offsetof(slot_t, what)));
}

void prof_message_add(MPI_Message message, const prof_request_t *what) {
    add(&messages, number_of(&message, sizeof message), what);
}

bool prof_message_take(MPI_Message message, prof_request_t *what) {
    slot_t *slot = find(&messages, number_of(&message, sizeof message));
    if (!slot)
        return false;
    *what = slot->what;
    drop(&messages, slot);
    return true;
}
