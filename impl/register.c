/* Registered allocations (register.h). When an allocation is registered, the processes exchange handles and
 * open each other's allocations, once and for all.
 *
 * After that, a process that changes its buffers alone assumes that the others change theirs to the same
 * place. In a collective rebinding on one node, the processes exchange the places, which may differ, through
 * mailboxes in shared memory. Neither communicates through the team. */
#include "register.h"

#include <stdlib.h>
#include <string.h>

#include "buffers.h"
#include "watchdog.h"

/* A process's message about its allocation, which is also the record that the others keep. */
typedef struct {
    pto_memory_handle_t handle;
    int64_t bytes;              /* 0: it has none */
    bool has_shadow[PTO_SIDES]; /* others access a shadow buffer instead of the user's */
    pto_peer_memory_t at;       /* where it is here; NULL: not opened */
} peer_t;

typedef struct {
    const char *memory; /* NULL: was unregistered, or this process registered none */
    int64_t bytes;
    peer_t *peer; /* by rank; NULL: was unregistered */
} registration_t;

static registration_t *registration_at(const pto_exec_t *exec, int number) {
    return (registration_t *)exec->registrations.item + number;
}

int pto_side_of(const pto_exec_t *exec, int buffer) {
    const pto_role_t role = buffer < 0 ? PTO_ROLE_TEMPORARY : pto_plan_buffer(exec->plan, buffer)->role;
    if (role == PTO_ROLE_IN)
        return PTO_SIDE_IN;
    return role == PTO_ROLE_OUT ? PTO_SIDE_OUT : -1;
}

pto_registered_t pto_register_place(const pto_exec_t *exec, const void *memory, int64_t bytes) {
    const char *from = memory;
    for (int i = 0; i < exec->registrations.count && from; i++) {
        const registration_t *one = registration_at(exec, i);
        if (one->memory && from >= one->memory && bytes <= one->memory + one->bytes - from)
            return (pto_registered_t){i, from - one->memory};
    }
    return (pto_registered_t){.registration = -1};
}

pto_status_t pto_register_peer_memory(const pto_exec_t *exec, const pto_registered_t *place, int64_t rank,
                                      int side, int64_t bytes, pto_peer_memory_t *found, pto_error_t *err) {
    const peer_t *peer = &registration_at(exec, place->registration)->peer[exec->job.team_rank[rank]];
    if (peer->has_shadow[side])
        return PTO_OK;
    if (!peer->at.memory || place->offset_bytes + bytes > peer->bytes)
        return pto_error_set(
            err, PTO_ERR_RANGE,
            "rank %lld registered %lld bytes, which do not hold a buffer of %lld bytes at %lld",
            (long long)rank, (long long)peer->bytes, (long long)bytes, (long long)place->offset_bytes);
    *found = (pto_peer_memory_t){peer->at.memory + place->offset_bytes, peer->at.start};
    return PTO_OK;
}

pto_memory_handle_t pto_register_handle(const pto_exec_t *exec, const pto_registered_t *place) {
    pto_memory_handle_t handle = registration_at(exec, place->registration)->peer[exec->job.rank].handle;
    handle.offset_bytes += (uint64_t)place->offset_bytes;
    return handle;
}

bool pto_register_any(const pto_exec_t *exec) {
    bool any = false;
    for (int i = 0; i < exec->registrations.count; i++)
        any |= registration_at(exec, i)->peer != NULL;
    return any;
}

/* The pto_team_wait_t of mailboxes. */
static pto_status_t wait_for_message(void *context, int *looks, pto_error_t *err) {
    const pto_exec_t *exec = context;
    pto_status_t status = pto_job_rest(&exec->job, looks, err);
    return status == PTO_OK ? pto_exec_deadline(exec, err) : status;
}

/* Collective. Only where all processes are on one node. */
static pto_status_t make_mailboxes(pto_exec_t *exec, pto_error_t *err) {
    const pto_team_t *team = exec->job.team;
    pto_team_t *made = NULL;
    void *memory = NULL;
    if (exec->mailboxes || exec->job.node_size < exec->job.size)
        return PTO_OK;
    pto_status_t status =
        pto_team_share(team, pto_team_shared_bytes(team->size), &memory, &exec->mailbox_handle, err);
    if (status != PTO_OK)
        return status;
    status = pto_agree(team, pto_team_shared_create(memory, team->rank, team->size, -1, &made, err), err);
    if (status != PTO_OK || !made) {
        pto_team_shared_destroy(made);
        pto_team_unshare(team->rank, memory, &exec->mailbox_handle);
        return status;
    }
    pto_team_shared_wait_by(made, wait_for_message, exec);
    exec->mailboxes = made;
    exec->mailbox_memory = memory;
    return PTO_OK;
}

static pto_status_t check_register(pto_exec_t *exec, const char *memory, int64_t bytes, pto_error_t *err) {
    pto_status_t status = pto_exec_check_idle(exec, err);
    if (status != PTO_OK)
        return status;
    if (bytes < 0 || (bytes > 0) != (memory != NULL))
        return pto_error_set(err, PTO_ERR_RANGE, "%lld bytes cannot be registered at %s address",
                             (long long)bytes, memory ? "this" : "no");
    for (int i = 0; i < exec->registrations.count; i++) {
        const registration_t *one = registration_at(exec, i);
        if (one->memory && memory && memory < one->memory + one->bytes && one->memory < memory + bytes)
            return pto_error_set(err, PTO_ERR_RANGE, "the memory overlaps with that of registration %d", i);
    }
    return PTO_OK;
}

/* Opens the allocations of those processes whose user buffers this one accesses. */
static pto_status_t open_peers(pto_exec_t *exec, peer_t *peer, pto_error_t *err) {
    const pto_peer_buffer_t *peer_buffer = exec->peer_buffers.item;
    pto_status_t status = PTO_OK;
    for (int i = 0; i < exec->peer_buffers.count && status == PTO_OK; i++) {
        peer_t *theirs = &peer[exec->job.team_rank[peer_buffer[i].rank]];
        if (pto_side_of(exec, peer_buffer[i].buffer) >= 0 && theirs->bytes > 0 && !theirs->at.memory)
            status = pto_exec_open_memory(exec, peer_buffer[i].rank, &theirs->handle, &theirs->at, err);
    }
    return status;
}

/* Closes the allocations that were opened after the first `count`. */
static void close_from(pto_exec_t *exec, int count) {
    const pto_opened_t *opened = exec->opened.item;
    for (; exec->opened.count > count; exec->opened.count--)
        exec->device->close_memory(opened[exec->opened.count - 1].start, NULL);
}

/* Collective. If it fails on one process, it fails on all. */
static pto_status_t exchange(pto_exec_t *exec, const peer_t *mine, peer_t *peer, pto_error_t *err) {
    const int opened = exec->opened.count;
    pto_status_t status = pto_team_allgather(exec->job.team, mine, sizeof *mine, peer, err);
    if (status == PTO_OK)
        status = open_peers(exec, peer, err);
    status = pto_agree(exec->job.team, status, err);
    if (status == PTO_OK)
        status = make_mailboxes(exec, err);
    if (status != PTO_OK)
        close_from(exec, opened);
    return status;
}

static pto_status_t add_registration(pto_exec_t *exec, const char *memory, int64_t bytes, peer_t *peer,
                                     pto_error_t *err) {
    peer_t mine = {.bytes = bytes, .has_shadow = {exec->shadow_in != NULL, exec->shadow_out != NULL}};
    pto_status_t status =
        peer ? check_register(exec, memory, bytes, err) : pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    if (status == PTO_OK && bytes > 0)
        status = exec->device->export_memory(memory, &mine.handle, err);
    registration_t *added = status == PTO_OK ? pto_vector_add(&exec->registrations, sizeof *added) : NULL;
    if (status == PTO_OK && !added)
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    status = pto_agree(exec->job.team, status, err);
    if (status == PTO_OK && peer)
        status = exchange(exec, &mine, peer, err);
    if (status != PTO_OK)
        exec->registrations.count -= added != NULL;
    else if (added)
        *added = (registration_t){.memory = memory, .bytes = bytes, .peer = peer};
    return status;
}

pto_status_t pto_register(pto_exec_t *exec, void *memory, size_t bytes, int *registration, pto_error_t *err) {
    pto_error_t ignored;
    peer_t *peer = calloc((size_t)exec->job.size, sizeof *peer);
    pto_watchdog_watch(exec, true);
    pto_status_t status =
        add_registration(exec, memory, bytes <= INT64_MAX ? (int64_t)bytes : -1, peer, err ? err : &ignored);
    pto_watchdog_watch(exec, false);
    if (status != PTO_OK)
        free(peer);
    else
        *registration = exec->registrations.count - 1;
    return status;
}

static bool is_in(const pto_exec_t *exec, int number, const void *memory) {
    return pto_register_place(exec, memory, 1).registration == number;
}

static pto_status_t check_unregister(pto_exec_t *exec, int number, pto_error_t *err) {
    pto_status_t status = pto_exec_check_idle(exec, err);
    if (status != PTO_OK)
        return status;
    if (number < 0 || number >= exec->registrations.count || !registration_at(exec, number)->peer)
        return pto_error_set(err, PTO_ERR_RANGE, "there is no registration %d", number);
    if (is_in(exec, number, exec->user_in) || is_in(exec, number, exec->user_out))
        return pto_error_set(err, PTO_ERR_RANGE,
                             "rank %lld's buffers are in the memory of registration %d: rebind them first",
                             (long long)exec->job.logical, number);
    return PTO_OK;
}

/* Returns whether another registration, or a buffer that runs use now, is in that allocation of a process. */
static bool is_used_elsewhere(const pto_exec_t *exec, const registration_t *but, int process) {
    const peer_t *peer = &but->peer[process];
    for (int i = 0; i < exec->registrations.count; i++) {
        const registration_t *one = registration_at(exec, i);
        if (one != but && one->peer && one->peer[process].bytes > 0 &&
            pto_same_allocation(&one->peer[process].handle, &peer->handle))
            return true;
    }
    const pto_peer_buffer_t *peer_buffer = exec->peer_buffers.item;
    for (int i = 0; i < exec->peer_buffers.count; i++)
        if (peer_buffer[i].at.start == peer->at.start)
            return true;
    return false;
}

static void close_peer(pto_exec_t *exec, const registration_t *one, int process) {
    const peer_t *peer = &one->peer[process];
    pto_opened_t *opened = exec->opened.item;
    if (!peer->at.start || is_used_elsewhere(exec, one, process))
        return;
    for (int i = 0; i < exec->opened.count; i++) {
        if (opened[i].start != peer->at.start)
            continue;
        exec->device->close_memory(opened[i].start, NULL);
        opened[i] = opened[--exec->opened.count];
        return;
    }
}

/* The others may close this process's allocation, so a rebinding must offer it as a fresh one. */
static void forget_offer(pto_exec_t *exec, const pto_memory_handle_t *handle) {
    pto_memory_handle_t *offered = exec->offered.item;
    for (int i = 0; i < exec->offered.count; i++)
        if (pto_same_allocation(&offered[i], handle))
            offered[i--] = offered[--exec->offered.count];
}

static void remove_registration(pto_exec_t *exec, int number) {
    registration_t *one = registration_at(exec, number);
    forget_offer(exec, &one->peer[exec->job.rank].handle);
    for (int process = 0; process < exec->job.size; process++)
        close_peer(exec, one, process);
    free(one->peer);
    *one = (registration_t){.memory = NULL};
}

/* Collective. */
static pto_status_t check_same_number(const pto_exec_t *exec, int number, pto_error_t *err) {
    int64_t least[2] = {number, -(int64_t)number};
    pto_status_t status = pto_team_least(exec->job.team, least, 2, err);
    if (status != PTO_OK || least[0] == -least[1])
        return status;
    return pto_error_set(err, PTO_ERR_RANGE,
                         "the processes unregister different registrations (%lld to %lld)",
                         (long long)least[0], (long long)-least[1]);
}

pto_status_t pto_unregister(pto_exec_t *exec, int registration, pto_error_t *err) {
    pto_error_t ignored;
    if (!err)
        err = &ignored;
    pto_watchdog_watch(exec, true);
    pto_status_t status = check_same_number(exec, registration, err);
    if (status == PTO_OK)
        status = pto_agree(exec->job.team, check_unregister(exec, registration, err), err);
    if (status == PTO_OK)
        remove_registration(exec, registration);
    /* A process that returns may free its memory, so all others must have closed it. */
    if (status == PTO_OK)
        status = pto_team_barrier(exec->job.team, err);
    pto_watchdog_watch(exec, false);
    return status;
}

void pto_register_free(pto_exec_t *exec) {
    for (int i = 0; i < exec->registrations.count; i++)
        free(registration_at(exec, i)->peer);
    free(exec->registrations.item);
    pto_team_shared_destroy(exec->mailboxes);
    pto_team_unshare(exec->job.rank, exec->mailbox_memory, &exec->mailbox_handle);
}
