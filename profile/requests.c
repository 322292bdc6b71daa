/* Hash tables, by MPI's handles, of requests and of messages that a matched probe has found. */
#include <string.h>

#include "profile.h"

typedef struct {
    uint64_t handle;
    prof_request_t record;
} slot_t;

static pto_slots_t requests = {.slot_size = sizeof(slot_t), .key_words = 1};
static pto_slots_t messages = {.slot_size = sizeof(slot_t), .key_words = 1};

/* Handles are pointers in Open MPI and integers in MPICH; neither uses 0 for a request. */
static uint64_t number_of(const void *handle, size_t size) {
    uint64_t number = 0;
    memcpy(&number, handle, size < sizeof number ? size : sizeof number);
    return number;
}

static void add(pto_slots_t *table, uint64_t handle, const prof_request_t *record) {
    slot_t *slot = pto_slots_add(table, &handle);
    if (slot)
        slot->record = *record;
}

void prof_request_add(MPI_Request request, const prof_request_t *record) {
    add(&requests, number_of(&request, sizeof request), record);
}

prof_request_t *prof_request_find(MPI_Request request) {
    const uint64_t handle = number_of(&request, sizeof request);
    slot_t *slot = pto_slots_find(&requests, &handle);
    return slot ? &slot->record : NULL;
}

void prof_request_remove(prof_request_t *record) {
    prof_persistent_free(record->persistent_parts);
    pto_slots_remove(&requests, (char *)record - offsetof(slot_t, record));
}

void prof_message_add(MPI_Message message, const prof_request_t *record) {
    add(&messages, number_of(&message, sizeof message), record);
}

bool prof_message_take(MPI_Message message, prof_request_t *record) {
    const uint64_t handle = number_of(&message, sizeof message);
    slot_t *slot = pto_slots_find(&messages, &handle);
    if (!slot)
        return false;
    *record = slot->record;
    pto_slots_remove(&messages, slot);
    return true;
}
