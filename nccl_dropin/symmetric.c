/* Symmetric memory: a block of GPU memory on each process of a communicator, opened once by all the others.
 * Executors then allocate their buffers and flags from it without communication. All processes create the
 * same executors in the same order, so each allocation has the same offset in every block. A remote address
 * is this offset from the start of the remote block (reach). */
#include <stdlib.h>

#include "tap.h"
#include "team.h"

/* One executor may take 1 / EXECUTORS_MIN of the memory at most. So there is room for several executors:
 * those of small calls need little memory and gain most. */
enum { EXECUTORS_MIN = 16 };
enum { ALIGN_BYTES = 1024, BLOCKS_MAX = 64 }; /* BLOCKS_MAX: thread blocks of a kernel */
enum { ZEROS_BYTES = 4 << 20 };

/* The block of this thread's allocations, from tap_symmetric_enter to tap_symmetric_leave. */
static _Thread_local tap_symmetric_t *current;

void tap_symmetric_enter(tap_symmetric_t *entered) {
    current = entered;
    entered->used_before = entered->used;
}

void tap_symmetric_leave(void) { current = NULL; }

static pto_status_t allocate(size_t bytes, void **memory, pto_error_t *err) {
    tap_symmetric_t *from = current;
    size_t aligned_bytes = (bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    if (from->used + aligned_bytes - from->used_before > from->bytes / EXECUTORS_MIN)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "its kernel takes more than a %dth of the memory for kernels (PORTOLAN_MEMORY)",
                             (int)EXECUTORS_MIN);
    if (aligned_bytes > from->bytes - from->used)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "the memory for kernels is used up (PORTOLAN_MEMORY)");
    *memory = from->own + from->used;
    from->used += aligned_bytes;
    return PTO_OK;
}

static pto_status_t release(void *memory, pto_error_t *err) {
    (void)memory, (void)err;
    return PTO_OK;
}

/* Limits the thread blocks of a kernel. Kernels of several communicators, and NCCL's, may run at the same
 * time, and all their blocks wait for other GPUs. They would deadlock if some did not fit on the GPU. */
static pto_status_t blocks_max(pto_datatype_t datatype, pto_op_t op, int *blocks, pto_error_t *err) {
    pto_status_t status = current->device->kernels->blocks_max(datatype, op, blocks, err);
    if (*blocks > BLOCKS_MAX)
        *blocks = BLOCKS_MAX;
    return status;
}

static pto_status_t no_allgather(void *context, const void *mine, size_t bytes, void *all, pto_error_t *err) {
    (void)context, (void)mine, (void)all;
    return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "its processes exchange %zu bytes when it is made",
                         bytes);
}

static pto_status_t same_least(void *context, int64_t *numbers, int count, pto_error_t *err) {
    (void)context, (void)numbers, (void)count, (void)err;
    return PTO_OK;
}

static pto_status_t same_broadcast(void *context, void *data, size_t bytes, int root, pto_error_t *err) {
    (void)context, (void)data, (void)bytes, (void)root, (void)err;
    return PTO_OK;
}

static pto_status_t no_enter(void *context, pto_error_t *err) {
    (void)context, (void)err;
    return PTO_OK;
}

static pto_status_t all_entered(void *context, bool *all, pto_error_t *err) {
    (void)context, (void)err;
    *all = true;
    return PTO_OK;
}

static void *reach(void *context, int rank, const void *memory) {
    const tap_symmetric_t *in = context;
    return in->at[rank] + ((const char *)memory - in->own);
}

static pto_status_t clear(const tap_symmetric_t *made, pto_error_t *err) {
    void *zeros = calloc(1, ZEROS_BYTES);
    pto_status_t status = zeros ? PTO_OK : pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    for (size_t done = 0; done < made->bytes && status == PTO_OK; done += ZEROS_BYTES) {
        size_t some = made->bytes - done < ZEROS_BYTES ? made->bytes - done : ZEROS_BYTES;
        status = pto_device_copy(made->device, made->own + done, zeros, some, err);
    }
    free(zeros);
    return status;
}

static pto_status_t open_others(const pto_team_t *team, const pto_memory_handle_t *handles,
                                tap_symmetric_t *made, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    for (int i = 0; i < team->size && status == PTO_OK; i++) {
        void *opened = made->own;
        if (i != team->rank)
            status = made->device->open_memory(&handles[i], &opened, err);
        if (status == PTO_OK)
            made->at[i] = opened;
    }
    return status;
}

pto_status_t tap_symmetric_create(const pto_team_t *team, const pto_device_t *device, size_t bytes,
                                  tap_symmetric_t *made, pto_error_t *err) {
    pto_memory_handle_t mine = {{0}, 0}, handles[TAP_SIZE_MAX];
    void *memory = NULL;
    *made = (tap_symmetric_t){
        .device = device, .bytes = bytes, .block_device = *device, .kernels = *device->kernels};
    made->team = (pto_team_t){.rank = team->rank,
                              .size = team->size,
                              .context = made,
                              .allgather = no_allgather,
                              .enter = no_enter,
                              .entered = all_entered,
                              .least = same_least,
                              .broadcast = same_broadcast,
                              .reach = reach};
    made->block_device.allocate = allocate;
    made->block_device.release = release;
    made->block_device.kernels = &made->kernels;
    made->kernels.blocks_max = blocks_max;
    pto_status_t status = device->allocate(bytes, &memory, err);
    made->own = memory;
    if (status == PTO_OK)
        status = clear(made, err);
    if (status == PTO_OK)
        status = device->export_memory(memory, &mine, err);
    status = pto_agree(team, status, err);
    if (status == PTO_OK)
        status = pto_team_allgather(team, &mine, sizeof mine, handles, err);
    if (status == PTO_OK)
        status = pto_agree(team, open_others(team, handles, made, err), err);
    return status;
}

void tap_symmetric_close(tap_symmetric_t *made) {
    for (int i = 0; i < made->team.size; i++)
        if (made->at[i] && made->at[i] != made->own)
            made->device->close_memory(made->at[i], NULL);
}

void tap_symmetric_free(tap_symmetric_t *made) {
    if (made->own)
        made->device->release(made->own, NULL);
    made->own = NULL;
}
