/* Doors: one-shot barriers in shared memory, with an agreement and a time-out. A process passes a door if all
 * processes of the communicator have come to it with the same digest. All processes come to the doors in the
 * same order, and each door is used once. A process that has waited too long closes the door for all of them,
 * because a program that does not deadlock with NCCL must not deadlock here. */
#include <stdatomic.h>

#include "base/clock.h"
#include "tap.h"

enum { SPINS = 2000 };
/* Not all have come yet; all have come; one has waited too long. The last two are final. */
enum { DOOR_OPEN, DOOR_ALL_IN, DOOR_CLOSED };

struct tap_door {
    atomic_int arrived;
    atomic_int state;
    atomic_uint_fast64_t digest[TAP_SIZE_MAX];
};

size_t tap_doors_bytes(void) { return TAP_DOORS * sizeof(tap_door_t); }

static void set_state(tap_door_t *door, int state) {
    int open = DOOR_OPEN;
    atomic_compare_exchange_strong(&door->state, &open, state);
}

/* Returns whether all processes came before one gave up. */
static bool wait(tap_door_t *door, double patience_s, const atomic_bool *gives_up) {
    const double began_s = pto_now_s();
    for (int spins = 0; atomic_load(&door->state) == DOOR_OPEN; spins++) {
        if (spins < SPINS)
            continue;
        if (pto_now_s() - began_s > patience_s || atomic_load(gives_up))
            set_state(door, DOOR_CLOSED);
        tap_gpu_advance();
        tap_nap();
    }
    return atomic_load(&door->state) == DOOR_ALL_IN;
}

bool tap_door_pass(tap_comm_t *comm, uint64_t digest, double patience_s) {
    if (comm->doors_seen == TAP_DOORS)
        return false;
    tap_door_t *door = &comm->doors[comm->doors_seen++];
    atomic_store(&door->digest[comm->rank], digest);
    if (atomic_fetch_add(&door->arrived, 1) + 1 == comm->size)
        set_state(door, DOOR_ALL_IN);
    bool same = wait(door, patience_s, &comm->aborts) && digest != 0;
    for (int i = 0; i < comm->size; i++)
        same = same && atomic_load(&door->digest[i]) == digest;
    return same;
}
