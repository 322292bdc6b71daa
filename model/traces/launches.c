/* Kineto: the operators of symmetric memory, by the "External id" that they share with the kernels that they
 * launch, in a hash table: only the operator has the size. A trace has all operators before its kernels, so
 * one pass is enough. */
#include <stdlib.h>

#include "base/hash.h"
#include "reader.h"

enum { LAUNCHES_MAX = 1 << 20 };

static pto_launch_t *slot_of(const pto_launches_t *launches, int64_t id) {
    size_t slot = (size_t)(pto_hash_bytes(PTO_HASH_START, &id, sizeof id) & (launches->slots - 1));
    while (launches->slot[slot].id != 0 && launches->slot[slot].id != id)
        slot = (slot + 1) & (launches->slots - 1);
    return &launches->slot[slot];
}

static bool grow(pto_launches_t *launches) {
    pto_launches_t grown = {.slots = launches->slots ? 2 * launches->slots : 256};
    grown.slot = calloc(grown.slots, sizeof *grown.slot);
    if (!grown.slot)
        return false;
    for (size_t i = 0; i < launches->slots; i++)
        if (launches->slot[i].id != 0)
            *slot_of(&grown, launches->slot[i].id) = launches->slot[i];
    grown.count = launches->count;
    free(launches->slot);
    *launches = grown;
    return true;
}

bool pto_launches_add(pto_launches_t *launches, const pto_launch_t *launch) {
    if (launch->id <= 0 || launches->count >= LAUNCHES_MAX)
        return true;
    if (launches->count >= launches->slots / 2 && !grow(launches))
        return false;
    pto_launch_t *slot = slot_of(launches, launch->id);
    launches->count += slot->id == 0;
    *slot = *launch;
    return true;
}

const pto_launch_t *pto_launches_find(const pto_launches_t *launches, int64_t id) {
    if (id <= 0 || launches->slots == 0)
        return NULL;
    const pto_launch_t *slot = slot_of(launches, id);
    return slot->id == id ? slot : NULL;
}
