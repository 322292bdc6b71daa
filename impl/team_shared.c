/* Teams of processes of one node, which exchange data through shared memory (pto_team_shared_create).
 *
 * In each exchange, a process posts its data in one of its two boxes, in turn, which the others read. Two
 * suffice: it posts exchange n + 1 when all have posted n, and so have read n - 1. */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "team.h"

enum { BOX_BYTES = 4032, SPINS = 1000, YIELDS = 10000, NAP_NS = 100000 };

typedef struct {
    _Alignas(64) atomic_uint_fast64_t number; /* of the exchange, set when the data are complete */
    _Alignas(64) char data[BOX_BYTES];
} box_t;

typedef struct {
    pto_team_t team;
    box_t *box;
    uint64_t number; /* of the last exchange that this process posted */
    double timeout_s;
    pto_team_wait_t *wait; /* NULL: wait_for */
    void *wait_context;
} shared_team_t;

/* One box more, because the memory may have to be aligned. */
size_t pto_team_shared_bytes(int size) { return 2 * (size_t)size * sizeof(box_t) + sizeof(box_t); }

static box_t *box_of(const shared_team_t *shared, int rank) {
    return &shared->box[2 * (size_t)rank + shared->number % 2];
}

static void post(shared_team_t *shared, const void *mine, size_t bytes) {
    shared->number++;
    box_t *own = box_of(shared, shared->team.rank);
    if (bytes > 0)
        memcpy(own->data, mine, bytes);
    atomic_store_explicit(&own->number, shared->number, memory_order_release);
}

static bool has_posted(const shared_team_t *shared, int rank) {
    return atomic_load_explicit(&box_of(shared, rank)->number, memory_order_acquire) == shared->number;
}

/* Spins, then yields, then sleeps. `*polls` counts up to YIELDS. */
static pto_status_t wait_for(const shared_team_t *shared, int rank, int *polls, double *began_s,
                             pto_error_t *err) {
    const int poll = *polls;
    *polls += poll < YIELDS;
    if (poll < SPINS)
        return PTO_OK;
    if (poll == SPINS)
        *began_s = pto_now_s();
    if (shared->timeout_s >= 0 && pto_now_s() - *began_s > shared->timeout_s)
        return pto_error_set(err, PTO_ERR_TIMEOUT, "rank %d waited %g s for rank %d of its team",
                             shared->team.rank, shared->timeout_s, rank);
    if (poll < YIELDS)
        sched_yield();
    else
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    return PTO_OK;
}

static pto_status_t await_post(const shared_team_t *shared, int rank, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    double began_s = 0;
    int polls = 0;
    while (status == PTO_OK && !has_posted(shared, rank))
        status = shared->wait ? shared->wait(shared->wait_context, &polls, err)
                              : wait_for(shared, rank, &polls, &began_s, err);
    return status;
}

static pto_status_t shared_allgather(void *context, const void *mine, size_t bytes, void *all,
                                     pto_error_t *err) {
    shared_team_t *shared = context;
    pto_status_t status = PTO_OK;
    for (size_t done = 0, chunk; done < bytes && status == PTO_OK; done += chunk) {
        chunk = bytes - done < BOX_BYTES ? bytes - done : BOX_BYTES;
        post(shared, (const char *)mine + done, chunk);
        for (int i = 0; i < shared->team.size && status == PTO_OK; i++) {
            status = await_post(shared, i, err);
            if (status == PTO_OK)
                memcpy((char *)all + (size_t)i * bytes + done, box_of(shared, i)->data, chunk);
        }
    }
    return status;
}

static pto_status_t shared_enter(void *context, pto_error_t *err) {
    (void)err;
    post(context, NULL, 0);
    return PTO_OK;
}

static pto_status_t shared_entered(void *context, bool *all, pto_error_t *err) {
    const shared_team_t *shared = context;
    (void)err;
    *all = true;
    for (int i = 0; i < shared->team.size; i++)
        *all = *all && has_posted(shared, i);
    return PTO_OK;
}

pto_status_t pto_team_shared_create(void *memory, int rank, int size, double timeout_s, pto_team_t **team,
                                    pto_error_t *err) {
    shared_team_t *created = calloc(1, sizeof *created);
    if (!created)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a team");
    const uintptr_t at = (uintptr_t)memory, unit = _Alignof(box_t);
    *created = (shared_team_t){.team = {.rank = rank,
                                        .size = size,
                                        .context = created,
                                        .allgather = shared_allgather,
                                        .enter = shared_enter,
                                        .entered = shared_entered},
                               .box = (box_t *)(void *)((char *)memory + (unit - at % unit) % unit),
                               .timeout_s = timeout_s};
    *team = &created->team;
    return PTO_OK;
}

/* The team is the first member. */
void pto_team_shared_wait_by(pto_team_t *team, pto_team_wait_t *wait, void *context) {
    shared_team_t *shared = (shared_team_t *)(void *)team;
    shared->wait = wait;
    shared->wait_context = context;
}

void pto_team_shared_destroy(pto_team_t *team) { free(team); }
