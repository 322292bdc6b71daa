/* The memory that processes of a node access in each other (offers.h). An offer describes one buffer of a
 * process: a GPU buffer by the device's handle, a host buffer by its offset in the node's segment. The last
 * offer is the flags of its kernels, in its GPU's memory. One allgather exchanges all offers. */
#include "offers.h"

#include <stdlib.h>
#include <string.h>

#include "buffers.h"
#include "members.h"

/* Stands for the kernels' flags where a buffer's index is expected. */
enum { KERNEL_FLAGS = -1 };

typedef struct {
    pto_memory_handle_t handle;
    size_t offset_bytes; /* of a host buffer, in the segment */
    bool empty;          /* the buffer has no bytes, so there is nothing to open */
    bool failed;         /* in a process's first offer: the process has failed and offers nothing */
} offer_t;

/* Clears memory before others can write to it. Symmetric memory is zero, and may have been written to. */
static pto_status_t clear(const pto_exec_t *exec, void *memory, size_t bytes, pto_error_t *err) {
    if (exec->job.team->reach)
        return PTO_OK;
    void *zeros = calloc(1, bytes);
    if (!zeros)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for %zu bytes of flags", bytes);
    pto_status_t status = pto_device_copy(exec->device, memory, zeros, bytes, err);
    free(zeros);
    return status;
}

static int64_t kernel_parts(const pto_exec_t *exec) {
    return (int64_t)exec->kernel_blocks * exec->kernel_slices;
}

static pto_status_t make_kernel_flags(pto_exec_t *exec, offer_t *offer, pto_error_t *err) {
    size_t bytes = (size_t)pto_plan_flag_count(exec->plan) * (size_t)kernel_parts(exec) *
                   (size_t)pto_exec_flag_pitch_bytes(exec);
    pto_status_t status = exec->device->allocate(bytes, &exec->kernel_flags, err);
    if (status == PTO_OK)
        status = clear(exec, exec->kernel_flags, bytes, err);
    if (status != PTO_OK || exec->job.team->reach)
        return status;
    return exec->device->export_memory(exec->kernel_flags, &offer->handle, err);
}

static pto_status_t clear_lines(const pto_exec_t *exec, pto_error_t *err) {
    if (exec->lines < 0 || !exec->bound[exec->lines].memory)
        return PTO_OK;
    size_t bytes = (size_t)pto_exec_memory_bytes(exec, exec->lines, exec->job.logical) +
                   (size_t)pto_exec_copy_stride_bytes(exec, exec->lines, exec->job.logical);
    return clear(exec, exec->bound[exec->lines].memory, bytes, err);
}

/* Symmetric memory needs no handles. */
static pto_status_t make_offers(pto_exec_t *exec, offer_t *offers, pto_error_t *err) {
    pto_status_t cleared = clear_lines(exec, err);
    if (cleared != PTO_OK)
        return cleared;
    for (int b = 0; b < pto_plan_buffer_count(exec->plan); b++) {
        const pto_bound_t *bound = &exec->bound[b];
        if (bound->shared < 0)
            continue;
        offer_t *offer = &offers[bound->shared];
        offer->empty = pto_buffer_bytes(exec->plan, b, exec->job.logical) == 0;
        if (offer->empty)
            continue;
        pto_status_t status = PTO_OK;
        if (pto_exec_in_segment(exec, b))
            offer->offset_bytes = (size_t)(bound->memory - (char *)exec->segment);
        else if (!exec->job.team->reach)
            status = exec->device->export_memory(bound->memory, &offer->handle, err);
        if (status != PTO_OK)
            return status;
    }
    return exec->offer_count > exec->shared_count ? make_kernel_flags(exec, &offers[exec->shared_count], err)
                                                  : PTO_OK;
}

static char *own_memory(const pto_exec_t *exec, int buffer) {
    return buffer == KERNEL_FLAGS ? exec->kernel_flags : exec->bound[buffer].memory;
}

/* Returns the index of a buffer's offer among those of a process; -1: the buffer is private. */
static int offer_index(const pto_exec_t *exec, int buffer) {
    return buffer == KERNEL_FLAGS ? exec->shared_count : exec->bound[buffer].shared;
}

/* Returns where 1 + the index of another rank's buffer in `peer_buffers` is kept; 0 there: it is not open. */
static int *index_of_peer_buffer(const pto_exec_t *exec, int offer_number, int64_t rank) {
    return &exec->peer_buffer_index[offer_number * exec->job.node_size + exec->job.place_in_node[rank]];
}

char *pto_exec_memory(const pto_exec_t *exec, int buffer, int64_t rank) {
    if (rank == exec->job.logical)
        return own_memory(exec, buffer);
    if (!exec->peer_buffer_index || exec->job.node_of[rank] != exec->job.node_of[exec->job.logical])
        return NULL;
    int offer_number = offer_index(exec, buffer);
    int index = offer_number < 0 ? 0 : *index_of_peer_buffer(exec, offer_number, rank);
    return index ? ((const pto_peer_buffer_t *)exec->peer_buffers.item)[index - 1].at.memory : NULL;
}

pto_status_t pto_exec_open_memory(pto_exec_t *exec, int64_t rank, const pto_memory_handle_t *handle,
                                  pto_peer_memory_t *opened_at, pto_error_t *err) {
    const pto_opened_t *known = exec->opened.item;
    for (int i = 0; i < exec->opened.count; i++)
        if (known[i].rank == rank && pto_same_allocation(&known[i].handle, handle)) {
            *opened_at = (pto_peer_memory_t){(char *)known[i].start + handle->offset_bytes, known[i].start};
            return PTO_OK;
        }
    pto_opened_t *opened = pto_vector_add(&exec->opened, sizeof *opened);
    if (!opened)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    *opened = (pto_opened_t){.rank = rank, .handle = *handle};
    opened->handle.offset_bytes = 0;
    pto_status_t status = exec->device->open_memory(&opened->handle, &opened->start, err);
    if (status == PTO_OK)
        *opened_at = (pto_peer_memory_t){(char *)opened->start + handle->offset_bytes, opened->start};
    else
        exec->opened.count--;
    return status;
}

/* Opens another process's buffer, unless it is already open. */
static pto_status_t open_buffer(pto_exec_t *exec, const offer_t *offers, int buffer, int64_t rank,
                                pto_error_t *err) {
    if (rank == exec->job.logical || pto_exec_memory(exec, buffer, rank))
        return PTO_OK;
    if (exec->job.node_of[rank] != exec->job.node_of[exec->job.logical])
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "ranks %lld and %lld share memory in the plan, but are on different nodes",
                             (long long)rank, (long long)exec->job.logical);
    int offer_number = offer_index(exec, buffer);
    const offer_t *offer = &offers[exec->job.place_in_node[rank] * exec->offer_count + offer_number];
    const pto_team_t *team = exec->job.team;
    if (offer->empty)
        return PTO_OK;
    pto_peer_buffer_t *peer_buffer = pto_vector_add(&exec->peer_buffers, sizeof *peer_buffer);
    if (!peer_buffer)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    *peer_buffer = (pto_peer_buffer_t){.buffer = buffer, .rank = rank};
    *index_of_peer_buffer(exec, offer_number, rank) = exec->peer_buffers.count;
    if (buffer != KERNEL_FLAGS && pto_exec_in_segment(exec, buffer)) {
        peer_buffer->at.memory = (char *)exec->segment + offer->offset_bytes;
        return PTO_OK;
    }
    if (!team->reach)
        return pto_exec_open_memory(exec, rank, &offer->handle, &peer_buffer->at, err);
    peer_buffer->at.memory = team->reach(team->context, exec->job.team_rank[rank], own_memory(exec, buffer));
    peer_buffer->at.start = peer_buffer->at.memory;
    return PTO_OK;
}

/* Opens everything that an action accesses in other processes. */
static pto_status_t open_buffers_of_action(pto_exec_t *exec, const offer_t *offers,
                                           const pto_action_t *action, pto_error_t *err) {
    const pto_step_t *step = action->step;
    pto_status_t status = PTO_OK;
    if (step->kind == PTO_STEP_SIGNAL && step->in_kernel)
        return open_buffer(exec, offers, KERNEL_FLAGS, action->peer_rank, err);
    const pto_slice_t *slice[] = {pto_step_source(step), pto_step_target(step)};
    for (int i = 0; i < 2 && status == PTO_OK; i++)
        if (slice[i])
            status = open_buffer(exec, offers, slice[i]->buffer,
                                 pto_slice_holder(exec->plan, slice[i], action), err);
    return status;
}

static pto_status_t open_buffers_of_step(pto_exec_t *exec, const offer_t *offers, const pto_step_t *step,
                                         int64_t k, pto_error_t *err) {
    pto_action_t action;
    pto_status_t status = PTO_OK;
    if (!pto_step_acts(exec->plan, step, exec->job.logical, k, &action))
        return PTO_OK;
    for (int64_t next = 0; status == PTO_OK && pto_step_next(exec->plan, &next, &action);)
        status = open_buffers_of_action(exec, offers, &action, err);
    return status;
}

static pto_status_t open_all_buffers(pto_exec_t *exec, const offer_t *offers, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    pto_walk_t walk;
    pto_walk_begin(&walk, exec->plan);
    while (status == PTO_OK && pto_walk_next(&walk))
        for (int i = 0; i < walk.stage->step_count && status == PTO_OK && !pto_walk_in_library(exec, &walk);
             i++) {
            const pto_step_t *step = pto_plan_step(exec->plan, walk.stage->step_first + i);
            status = open_buffers_of_step(exec, offers, step, walk.k, err);
        }
    return status;
}

pto_status_t pto_offers_prepare(pto_exec_t *exec, size_t count, pto_error_t *err) {
    size_t processes = (size_t)exec->job.node_size;
    exec->offers = calloc((processes + 1) * count + 1, sizeof(offer_t));
    exec->peer_buffer_index = calloc(processes * count + 1, sizeof *exec->peer_buffer_index);
    return exec->offers && exec->peer_buffer_index
               ? PTO_OK
               : pto_error_set(err, PTO_ERR_MEMORY, "out of memory for what processes share");
}

pto_status_t pto_offers_share(pto_exec_t *exec, pto_status_t status, pto_error_t *err) {
    if (exec->offer_count == 0)
        return status;
    offer_t *offers = exec->offers, *mine = offers + (size_t)exec->job.node_size * (size_t)exec->offer_count;
    size_t bytes = (size_t)exec->offer_count * sizeof *offers;
    pto_error_t ignored;
    if (status == PTO_OK && !exec->peer_failed)
        status = make_offers(exec, mine, err);
    mine->failed = status != PTO_OK || exec->peer_failed;
    pto_status_t exchanged = PTO_OK;
    if (!exec->job.team->reach)
        exchanged =
            pto_team_allgather(exec->job.node, mine, bytes, offers, status == PTO_OK ? err : &ignored);
    status = status == PTO_OK ? exchanged : status;
    for (int i = 0; i < exec->job.node_size; i++)
        exec->peer_failed |= offers[i * exec->offer_count].failed;
    if (status == PTO_OK && !exec->peer_failed)
        status = open_all_buffers(exec, offers, err);
    free(exec->offers);
    exec->offers = NULL;
    return status;
}

/* The flags of one part, one for each sending process, are adjacent: a block's threads read them together. */
int64_t pto_exec_flag_pitch_bytes(const pto_exec_t *exec) {
    return (int64_t)sizeof(uint64_t) * exec->job.node_size;
}

void *pto_exec_kernel_flag(const pto_exec_t *exec, int64_t from, int64_t to, int flag) {
    char *flags = pto_exec_memory(exec, KERNEL_FLAGS, to);
    int64_t row = flag * kernel_parts(exec);
    if (!flags)
        return NULL;
    return flags + row * pto_exec_flag_pitch_bytes(exec) +
           (int64_t)sizeof(uint64_t) * exec->job.place_in_node[from];
}
