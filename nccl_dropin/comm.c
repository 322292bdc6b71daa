/* Communicators: what this library keeps for each one, and the memory that its processes share.
 *
 * The processes of a new communicator meet in shared memory, whose name is derived from NCCL's unique id or,
 * after a split, from the parent's id and the number of the split. NCCL has just created the communicator on
 * all of them, so they arrive at about the same time. If one does not, because it is on another node or an
 * error stopped it, the first door is closed for all, and the communicator is left to NCCL. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "call_rows.h"
#include "environment.h"
#include "tap.h"
#include "team.h"

static const double first_meeting_s = 3, exchange_s = 60, end_s = 2;

static tap_comm_t *comms;
static pthread_mutex_t comms_lock = PTHREAD_MUTEX_INITIALIZER;

tap_comm_t *tap_comm_of(void *handle) {
    pthread_mutex_lock(&comms_lock);
    tap_comm_t *comm = comms;
    while (comm && comm->handle != handle)
        comm = comm->next;
    pthread_mutex_unlock(&comms_lock);
    return comm;
}

tap_comm_t *tap_enter(void *handle) {
    tap_comm_t *comm = tap_comm_of(handle);
    if (!comm)
        return NULL;
    pthread_mutex_lock(&comm->lock);
    if (tap_gpu_enter(comm->context))
        return comm;
    pthread_mutex_unlock(&comm->lock);
    return NULL;
}

void tap_leave(tap_comm_t *comm) {
    tap_gpu_leave();
    pthread_mutex_unlock(&comm->lock);
}

void tap_nap(void) { nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL); }

/* The name is unlinked once all have mapped the memory, or the wait has timed out. */
static bool meet_in_shared_memory(tap_comm_t *comm, pto_error_t *err) {
    char name[64];
    comm->shared_bytes = tap_doors_bytes() + pto_team_shared_bytes(comm->size);
    snprintf(name, sizeof name, "/portolan-nccl-%ld-%016llx", (long)geteuid(), (unsigned long long)comm->id);
    int descriptor = shm_open(name, O_CREAT | O_RDWR, 0600);
    void *memory = MAP_FAILED;
    if (descriptor >= 0 && ftruncate(descriptor, (off_t)comm->shared_bytes) == 0)
        memory = mmap(NULL, comm->shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (descriptor >= 0)
        close(descriptor);
    comm->shared = memory == MAP_FAILED ? NULL : memory;
    comm->doors = comm->shared;
    bool all = comm->shared && tap_door_pass(comm, comm->id | 1, first_meeting_s);
    shm_unlink(name);
    if (!all)
        pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "its processes are not all on this node");
    return all;
}

typedef struct {
    uint64_t gpu;
    uint64_t process;
} identity_t;

/* Returns an identifier of this process. Process ids are not unique among containers. */
static uint64_t process_number(void) {
    static atomic_uint_fast64_t number;
    struct timespec now;
    uint_fast64_t none = 0;
    clock_gettime(CLOCK_REALTIME, &now);
    const uint64_t seen[] = {(uint64_t)getpid(), (uint64_t)now.tv_sec, (uint64_t)now.tv_nsec,
                             (uintptr_t)&now};
    atomic_compare_exchange_strong(&number, &none, pto_hash_bytes(PTO_HASH_START, seen, sizeof seen));
    return number;
}

/* Collective. Verifies that no ranks share a GPU, or a process, whose own memory CUDA IPC cannot open. */
static pto_status_t share_gpus(const tap_comm_t *comm, pto_error_t *err) {
    const uint64_t gpu = tap_gpu_is_host() ? (uint64_t)comm->rank + 1 : tap_gpu_id();
    const identity_t mine = {gpu, process_number()};
    identity_t all[TAP_SIZE_MAX];
    pto_status_t status = pto_team_allgather(comm->team, &mine, sizeof mine, all, err);
    for (int i = 0; i < comm->size && status == PTO_OK; i++) {
        if (all[i].gpu == 0)
            return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "the GPU of rank %d is unknown", i);
        for (int j = 0; j < i; j++)
            if (all[i].gpu == all[j].gpu || all[i].process == all[j].process)
                return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "%s",
                                     all[i].gpu == all[j].gpu ? "two processes share a GPU"
                                                              : "a process has several GPUs");
    }
    return status;
}

static pto_status_t set_up(tap_comm_t *comm, pto_error_t *err) {
    const tap_settings_t *settings = tap_settings();
    if (!meet_in_shared_memory(comm, err))
        return PTO_ERR_NOT_APPLICABLE;
    pto_status_t status = pto_team_shared_create((char *)comm->shared + tap_doors_bytes(), comm->rank,
                                                 comm->size, exchange_s, &comm->team, err);
    if (status != PTO_OK)
        return status; /* the others time out after exchange_s */
    comm->context = tap_gpu_context();
    if (!comm->context || !tap_gpu_enter(comm->context))
        status = pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "rank %d has no current GPU", comm->rank);
    for (int i = 0; i < 2 && status == PTO_OK; i++)
        status = settings->device->event_create(&comm->last[i].event, err);
    status = pto_agree_same(comm->team, status, settings->digest, err);
    if (status == PTO_OK)
        status = share_gpus(comm, err);
    if (status == PTO_OK)
        status = tap_symmetric_create(comm->team, settings->device, (size_t)settings->memory_bytes,
                                      &comm->symmetric, err);
    if (status == PTO_OK)
        tap_messages_begin(comm);
    if (comm->context)
        tap_gpu_leave();
    return status;
}

static void release(tap_comm_t *comm) {
    for (int i = 0; i < 2; i++)
        if (comm->last[i].event)
            tap_settings()->device->event_destroy(comm->last[i].event, NULL);
    pto_team_shared_destroy(comm->team);
    if (comm->shared)
        munmap(comm->shared, comm->shared_bytes);
    pthread_mutex_destroy(&comm->lock);
    free(comm);
}

static void begin(void *handle, uint64_t id, int size, int rank) {
    pto_error_t err = {0};
    tap_comm_t *comm = calloc(1, sizeof *comm);
    if (!comm)
        return;
    *comm = (tap_comm_t){.handle = handle, .id = id, .size = size, .rank = rank};
    pthread_mutex_init(&comm->lock, NULL);
    pto_status_t status = set_up(comm, &err);
    if (status != PTO_OK) {
        if (rank == 0 && (tap_settings()->explains || tap_settings()->informs))
            preload_say("a communicator of %d is left to NCCL: %s", size, err.message);
        tap_symmetric_close(&comm->symmetric);
        release(comm); /* its GPU memory is not freed, as others may have it open */
        return;
    }
    pthread_mutex_lock(&comms_lock);
    comm->next = comms;
    comms = comm;
    pthread_mutex_unlock(&comms_lock);
}

/* Returns the number of NVIDIA GPUs of this node; 0: unknown. */
static int gpus_here(void) {
    DIR *folder = opendir("/proc/driver/nvidia/gpus");
    int count = 0;
    for (const struct dirent *entry; folder && (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    if (folder)
        closedir(folder);
    return count;
}

/* Returns whether the communicator can be on one node, with a GPU for each process. */
static bool may_begin(int size) {
    const int gpus = gpus_here();
    return tap_settings()->on && size >= 2 && size <= TAP_SIZE_MAX && (gpus == 0 || size <= gpus);
}

void tap_comm_begin(void *handle, const pto_nccl_id_t *id, int size, int rank) {
    if (may_begin(size))
        begin(handle, pto_hash_bytes(PTO_HASH_START, id->byte, sizeof id->byte), size, rank);
}

void tap_comm_begin_split(tap_comm_t *parent, uint64_t split, int color, void *handle) {
    int (*count)(void *, int *) = NULL, (*user_rank)(void *, int *) = NULL, size = 0, rank = 0;
    tap_next("ncclCommCount", &count, sizeof count);
    tap_next("ncclCommUserRank", &user_rank, sizeof user_rank);
    if (!count || !user_rank || count(handle, &size) != TAP_SUCCESS ||
        user_rank(handle, &rank) != TAP_SUCCESS || !may_begin(size))
        return;
    uint64_t id = pto_hash_add(pto_hash_add(parent->id, split), (uint64_t)color);
    begin(handle, id, size, rank);
}

static tap_comm_t *remove_comm(void *handle) {
    pthread_mutex_lock(&comms_lock);
    tap_comm_t **link = &comms;
    while (*link && (*link)->handle != handle)
        link = &(*link)->next;
    tap_comm_t *comm = *link;
    if (comm)
        *link = comm->next;
    pthread_mutex_unlock(&comms_lock);
    return comm;
}

static void summarize(const tap_comm_t *comm) {
    preload_call_rows_flush();
    if (!tap_settings()->explains || comm->rank != 0)
        return;
    preload_say("communicator of %d processes, %lld calls left to NCCL", comm->size,
                (long long)atomic_load(&comm->passed));
    if (comm->messages.taken > 0)
        preload_say("%8lld x send or receive: pipes", (long long)comm->messages.taken);
    for (const tap_pick_t *pick = comm->picks; pick; pick = pick->next)
        preload_say("%8lld x %-14s %-9s %10lld bytes: %s%s%s", (long long)pick->calls,
                    pto_collective_name(pick->key.collective), pto_datatype_name(pick->key.datatype),
                    (long long)pick->key.bytes, pick->why_not ? "NCCL (" : pick->name,
                    pick->why_not ? pick->why_not : "", pick->why_not ? ")" : "");
}

/* Collective. Returns whether all processes come here in time; else others may still use the memory. */
static bool all_end(tap_comm_t *comm) {
    const double began_s = pto_now_s();
    bool all = false;
    if (comm->team->enter(comm->team->context, NULL) != PTO_OK)
        return false;
    while (!all && pto_now_s() - began_s < end_s) {
        comm->team->entered(comm->team->context, &all, NULL);
        tap_nap();
    }
    return all;
}

/* NCCL requires that all calls are complete. Memory that others may still have open is not freed. */
void tap_comm_end(void *handle) {
    tap_comm_t *comm = remove_comm(handle);
    if (!comm)
        return;
    summarize(comm);
    if (tap_gpu_enter(comm->context)) {
        bool all = all_end(comm);
        if (all) {
            tap_picks_free(comm);
            tap_messages_free(comm);
            tap_symmetric_close(&comm->symmetric);
            all = all_end(comm);
        }
        if (all)
            tap_symmetric_free(&comm->symmetric);
        tap_gpu_leave();
    }
    release(comm);
}

/* Kernels may still be running, so nothing that they use is freed. */
void tap_comm_abort(void *handle) {
    tap_comm_t *comm = remove_comm(handle);
    if (!comm)
        return;
    atomic_store(&comm->aborts, true);
    pthread_mutex_lock(&comm->lock);
    if (comm->messages.stop)
        *(volatile uint64_t *)comm->messages.stop = 1;
    for (const tap_pick_t *pick = comm->picks; pick; pick = pick->next)
        for (const tap_run_t *run = pick->runs; run; run = run->next)
            if (run->exec)
                pto_exec_stop(run->exec);
    pthread_mutex_unlock(&comm->lock);
    summarize(comm);
}
