/* Binds a plan's buffers to memory.
 *
 * Temporary buffers are in two arenas, one of device memory and one of host memory. The exception is host
 * buffers that other processes access: these are in one pinned shared-memory segment per node, together with
 * the flags between processes. The user's buffers are used directly where possible. Otherwise a shadow buffer
 * replaces them, and each run copies the data. offers.c exchanges the memory that other processes access. */
#include <stdlib.h>
#include <string.h>

#include "buffers.h"
#include "members.h"
#include "nccl/nccl_collective.h"
#include "offers.h"
#include "register.h"
#include "watchdog.h"

enum { ALIGN_BYTES = 256, PAGE_BYTES = 4096 };

typedef enum { ARENA_DEVICE, ARENA_STAGING, ARENA_SEGMENT } arena_t;

static size_t rounded_up(size_t bytes, size_t multiple) {
    return (bytes + multiple - 1) / multiple * multiple;
}

static size_t aligned(int64_t bytes) { return rounded_up((size_t)bytes, ALIGN_BYTES); }

int64_t pto_exec_user_bytes(const pto_plan_t *plan, int64_t logical_rank, pto_role_t role) {
    for (int b = 0; b < pto_plan_buffer_count(plan); b++)
        if (pto_plan_buffer(plan, b)->role == role && pto_buffer_is_users(plan, b, logical_rank))
            return pto_buffer_bytes(plan, b, logical_rank);
    return 0;
}

static bool user_on_host(const pto_plan_t *plan, pto_role_t role) {
    for (int b = 0; b < pto_plan_buffer_count(plan); b++)
        if (pto_plan_buffer(plan, b)->role == role)
            return pto_plan_buffer(plan, b)->space == PTO_SPACE_CPU;
    return false;
}

pto_status_t pto_exec_user_allocate(const pto_plan_t *plan, const pto_device_t *device, pto_role_t role,
                                    int64_t bytes, void **memory, pto_error_t *err) {
    *memory = NULL;
    if (bytes == 0)
        return PTO_OK;
    return (user_on_host(plan, role) ? device->allocate_staging : device->allocate)((size_t)bytes, memory,
                                                                                    err);
}

void pto_exec_user_release(const pto_plan_t *plan, const pto_device_t *device, pto_role_t role,
                           void *memory) {
    (user_on_host(plan, role) ? device->release_staging : device->release)(memory, NULL);
}

/* Returns how many nodes after this one describe a collective of the MPI library: they are not executed. */
static int library_span(const pto_exec_t *exec, const pto_node_t *node) {
    return pto_runs_by_library(exec, node) ? (int)node->span : 0;
}

/* Returns whether processes signal each other: in kernels if `in_kernel`, otherwise by the CPU. */
static bool has_signals(const pto_exec_t *exec, bool in_kernel) {
    for (int n = 0; n < pto_plan_node_count(exec->plan); n++) {
        const pto_node_t *node = pto_plan_node(exec->plan, n);
        n += library_span(exec, node);
        if (node->kind != PTO_NODE_STAGE)
            continue;
        const pto_stage_t *stage = pto_plan_stage(exec->plan, node->stage);
        for (int i = 0; i < stage->step_count; i++) {
            const pto_step_t *step = pto_plan_step(exec->plan, stage->step_first + i);
            if (step->kind == PTO_STEP_SIGNAL && step->in_kernel == in_kernel)
                return true;
        }
    }
    return false;
}

/* Numbers the slice's buffer as one that other processes access, if it is. */
static void mark_shared(pto_exec_t *exec, const pto_slice_t *slice) {
    if (slice && slice->holder != PTO_HOLDER_SELF && exec->bound[slice->buffer].shared < 0)
        exec->bound[slice->buffer].shared = exec->shared_count++;
}

static void mark_shared_in_stage(pto_exec_t *exec, const pto_stage_t *stage) {
    for (int i = 0; i < stage->step_count; i++) {
        const pto_step_t *step = pto_plan_step(exec->plan, stage->step_first + i);
        mark_shared(exec, pto_step_source(step));
        mark_shared(exec, pto_step_target(step));
    }
}

int64_t pto_exec_memory_bytes(const pto_exec_t *exec, int buffer, int64_t rank) {
    int64_t bytes = pto_buffer_bytes(exec->plan, buffer, rank);
    int64_t lines_bytes = 0;
    if (buffer != exec->lines || bytes == 0)
        return bytes;
    for (int64_t block = 0; block < pto_plan_buffer(exec->plan, buffer)->block_count; block++)
        lines_bytes += pto_spot_bytes(true, pto_buffer_block_bytes(exec->plan, buffer, rank, block));
    return lines_bytes;
}

int64_t pto_exec_copy_stride_bytes(const pto_exec_t *exec, int buffer, int64_t rank) {
    return pto_plan_buffer(exec->plan, buffer)->double_buffered
               ? (int64_t)aligned(pto_exec_memory_bytes(exec, buffer, rank))
               : 0;
}

static arena_t arena_of(const pto_exec_t *exec, int buffer) {
    if (pto_plan_buffer(exec->plan, buffer)->space == PTO_SPACE_GPU)
        return ARENA_DEVICE;
    return exec->bound[buffer].shared >= 0 ? ARENA_SEGMENT : ARENA_STAGING;
}

bool pto_exec_in_segment(const pto_exec_t *exec, int buffer) {
    return arena_of(exec, buffer) == ARENA_SEGMENT;
}

/* Returns the bytes that a rank's buffer takes in an arena. An empty buffer takes some, too: messages without
 * bytes are sent from its address, which must lie in its space. */
static size_t arena_bytes_of(const pto_exec_t *exec, int buffer, int64_t rank) {
    if (pto_buffer_is_users(exec->plan, buffer, rank) || !pto_buffer_holds(exec->plan, buffer, rank))
        return 0;
    const int64_t bytes = pto_exec_memory_bytes(exec, buffer, rank);
    return aligned(bytes > 0 ? bytes : 1) + (size_t)pto_exec_copy_stride_bytes(exec, buffer, rank);
}

/* In symmetric memory, all ranks must reserve the same bytes for a buffer, even those that do not have it. */
static size_t arena_bytes(const pto_exec_t *exec, int buffer) {
    if (!exec->job.team->reach)
        return arena_bytes_of(exec, buffer, exec->job.logical);
    const int64_t ranks = pto_layout_rank_count(&pto_plan_request(exec->plan)->layout);
    size_t max_bytes = 0;
    for (int64_t rank = 0; rank < ranks; rank++) {
        const size_t bytes = arena_bytes_of(exec, buffer, rank);
        max_bytes = bytes > max_bytes ? bytes : max_bytes;
    }
    return max_bytes;
}

/* Places the temporary buffers of one arena from `memory` on; NULL: nowhere. Returns their total size. */
static size_t lay_out(pto_exec_t *exec, arena_t arena, char *memory) {
    size_t total = 0;
    for (int b = 0; b < pto_plan_buffer_count(exec->plan); b++) {
        if (arena_of(exec, b) != arena || pto_buffer_stands_in(exec->plan, b))
            continue;
        const size_t bytes = arena_bytes(exec, b);
        if (memory && bytes > 0 && !pto_buffer_is_users(exec->plan, b, exec->job.logical))
            exec->bound[b].memory = memory + total;
        total += bytes;
    }
    return total;
}

static pto_status_t allocate_arenas(pto_exec_t *exec, pto_error_t *err) {
    size_t device_bytes = lay_out(exec, ARENA_DEVICE, NULL);
    size_t staging_bytes = lay_out(exec, ARENA_STAGING, NULL);
    pto_status_t status = PTO_OK;
    if (device_bytes > 0)
        status = exec->device->allocate(device_bytes, &exec->device_arena, err);
    if (status == PTO_OK && staging_bytes > 0)
        status = exec->device->allocate_staging(staging_bytes, &exec->staging_arena, err);
    if (status != PTO_OK)
        return status;
    lay_out(exec, ARENA_DEVICE, exec->device_arena);
    lay_out(exec, ARENA_STAGING, exec->staging_arena);
    return PTO_OK;
}

static pto_status_t set_user_memory(pto_exec_t *exec, int b, const void *user, int64_t bytes,
                                    pto_error_t *err) {
    memcpy(&exec->bound[b].memory, &user, sizeof user); /* a plan never writes its input */
    if (bytes == 0 || user)
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_RANGE, "rank %lld holds user data, but its '%s' buffer is NULL",
                         (long long)exec->job.logical, pto_plan_buffer(exec->plan, b)->name);
}

/* Binds to the user's memory, or to a shadow buffer if `shadow`, or if other processes or NCCL access the
 * buffer and cannot access the user's memory. */
static pto_status_t bind_user(pto_exec_t *exec, int b, const void *user, bool shadow, void **shadow_memory,
                              pto_error_t *err) {
    int64_t bytes = pto_buffer_bytes(exec->plan, b, exec->job.logical);
    pto_status_t status = set_user_memory(exec, b, user, bytes, err);
    if (status != PTO_OK || bytes == 0)
        return status;
    bool shared = exec->bound[b].shared >= 0;
    bool nccl =
        pto_plan_uses_nccl(exec->plan) && !exec->options.nccl_windows; /* NCCL checks windows itself */
    if ((shared || nccl) && !shadow) {
        pto_memory_handle_t handle;
        pto_error_t reason;
        status = exec->device->export_memory(user, &handle, &reason);
        /* NCCL accepts only the device's own memory, whether or not other processes can open it. */
        shadow = status == PTO_ERR_NOT_APPLICABLE || (status != PTO_OK && !shared);
        if (status != PTO_OK && !shadow) {
            if (err)
                *err = reason;
            return status;
        }
    }
    if (!shadow)
        return PTO_OK;
    status = pto_exec_user_allocate(exec->plan, exec->device, pto_plan_buffer(exec->plan, b)->role, bytes,
                                    shadow_memory, err);
    exec->bound[b].memory = *shadow_memory;
    return status;
}

/* User buffers in host memory (of a second pattern) are always used directly. */
static pto_status_t bind_host(pto_exec_t *exec, int b, pto_role_t role, pto_error_t *err) {
    const void *in = exec->options.host_in, *out = exec->options.host_out;
    if (in && in == out)
        return pto_error_set(err, PTO_ERR_RANGE, "a pattern in host memory cannot run in place");
    return set_user_memory(exec, b, role == PTO_ROLE_HOST_IN ? in : out,
                           pto_buffer_bytes(exec->plan, b, exec->job.logical), err);
}

/* The result of an average has a shadow buffer for the sum, which other processes may still read when this
 * one divides it. If the device cannot write the quotient to the user's memory, it has a buffer, too. */
static pto_status_t bind_divided(pto_exec_t *exec, int b, void *out, pto_error_t *err) {
    int64_t bytes = pto_buffer_bytes(exec->plan, b, exec->job.logical);
    pto_memory_handle_t handle;
    pto_status_t status = bind_user(exec, b, out, true, &exec->shadow_out, err);
    if (status != PTO_OK || bytes == 0 || exec->device->export_memory(out, &handle, NULL) == PTO_OK)
        return status;
    return pto_exec_user_allocate(exec->plan, exec->device, PTO_ROLE_OUT, bytes, &exec->quotient, err);
}

static pto_status_t bind_own(pto_exec_t *exec, const void *in, void *out, pto_error_t *err) {
    bool in_place = in == out;
    bool shadow = in_place && !pto_plan_may_be_in_place(exec->plan);
    exec->copies_input = shadow;
    exec->user_in = in;
    exec->user_out = out;
    pto_status_t status = allocate_arenas(exec, err);
    for (int b = 0; b < pto_plan_buffer_count(exec->plan) && status == PTO_OK; b++) {
        pto_role_t role = pto_plan_buffer(exec->plan, b)->role;
        if (!pto_buffer_is_users(exec->plan, b, exec->job.logical))
            continue;
        if (pto_role_is_host(role))
            status = bind_host(exec, b, role, err);
        else if (role == PTO_ROLE_IN)
            status = bind_user(exec, b, in, shadow, &exec->shadow_in, err);
        else
            status = exec->divisor != 0 ? bind_divided(exec, b, out, err)
                                        : bind_user(exec, b, out, false, &exec->shadow_out, err);
    }
    return status;
}

/* The segment has a row of counters for each sending process, by flag and receiver, in its own cache
 * lines. */
atomic_uint_fast64_t *pto_exec_counter(const pto_exec_t *exec, int64_t from, int64_t to, int flag) {
    int sender = exec->job.place_in_node[from], receiver = exec->job.place_in_node[to];
    char *row = (char *)exec->segment + (size_t)sender * exec->flag_row_bytes;
    return (atomic_uint_fast64_t *)(void *)row + (size_t)flag * (size_t)exec->job.node_size + receiver;
}

/* The segment's layout: flags, then each process's host buffers, which begin on a page. */
typedef struct {
    size_t flags_bytes;
    size_t own_offset_bytes;
    size_t own_bytes;
    size_t bytes;
} segment_t;

static pto_status_t plan_segment(pto_exec_t *exec, segment_t *segment, pto_error_t *err) {
    uint64_t own = rounded_up(lay_out(exec, ARENA_SEGMENT, NULL), PAGE_BYTES);
    pto_status_t status = pto_team_allgather(exec->job.node, &own, sizeof own, exec->segment_bytes, err);
    size_t flags = rounded_up((size_t)exec->job.node_size * exec->flag_row_bytes, PAGE_BYTES);
    *segment = (segment_t){.flags_bytes = flags, .own_offset_bytes = flags, .own_bytes = own, .bytes = flags};
    for (int i = 0; i < exec->job.node_size; i++) {
        segment->bytes += exec->segment_bytes[i];
        segment->own_offset_bytes += i < exec->job.node->rank ? exec->segment_bytes[i] : 0;
    }
    return status;
}

static pto_status_t create_segment(pto_exec_t *exec, const segment_t *segment, pto_error_t *err) {
    pto_shared_handle_t *handle = &exec->segment_handle;
    pto_status_t status = pto_shared_create_sparse(segment->bytes, &exec->segment, handle, err);
    exec->segment_own = status == PTO_OK;
    return status == PTO_OK ? pto_shared_reserve(handle, 0, segment->flags_bytes, err) : status;
}

/* Collective. The node's first process creates the segment, and every process maps the whole of it. */
static pto_status_t map_segment(pto_exec_t *exec, const segment_t *segment, pto_status_t status,
                                pto_error_t *err) {
    struct {
        pto_shared_handle_t handle;
        bool created;
    } sent = {.created = false};
    pto_error_t ignored;
    const int place = exec->job.node->rank;
    if (status == PTO_OK && place == 0)
        status = create_segment(exec, segment, err);
    sent.handle = exec->segment_handle;
    sent.created = status == PTO_OK;
    pto_status_t broadcast =
        pto_team_broadcast(exec->job.node, &sent, sizeof sent, 0, status == PTO_OK ? err : &ignored);
    status = status == PTO_OK ? broadcast : status;
    exec->peer_failed = !sent.created;
    if (status != PTO_OK || place == 0 || !sent.created)
        return status;
    exec->segment_handle = sent.handle;
    return pto_shared_open(&exec->segment_handle, &exec->segment, err);
}

static bool shares_host_memory(const pto_exec_t *exec) {
    for (int b = 0; b < pto_plan_buffer_count(exec->plan); b++)
        if (pto_exec_in_segment(exec, b))
            return true;
    return false;
}

/* Allocates the pages of this process's part, places its host buffers there and pins the segment. */
static pto_status_t use_segment(pto_exec_t *exec, const segment_t *segment, bool buffers, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    if (segment->own_bytes > 0)
        status =
            pto_shared_reserve(&exec->segment_handle, segment->own_offset_bytes, segment->own_bytes, err);
    if (status != PTO_OK || !buffers)
        return status;
    lay_out(exec, ARENA_SEGMENT, (char *)exec->segment + segment->own_offset_bytes);
    if (!exec->device->pin)
        return PTO_OK;
    status = exec->device->pin(exec->segment, segment->bytes, err);
    exec->segment_pinned = status == PTO_OK;
    return status;
}

/* Collective. */
static pto_status_t make_segment(pto_exec_t *exec, pto_status_t status, pto_error_t *err) {
    bool flags = has_signals(exec, false), buffers = shares_host_memory(exec);
    pto_error_t ignored;
    segment_t segment;
    if (!flags && !buffers)
        return status;
    if (flags)
        exec->flag_row_bytes = aligned((int64_t)sizeof(atomic_uint_fast64_t) *
                                       pto_plan_flag_count(exec->plan) * exec->job.node_size);
    pto_status_t planned = plan_segment(exec, &segment, status == PTO_OK ? err : &ignored);
    status = map_segment(exec, &segment, status == PTO_OK ? planned : status, err);
    return status == PTO_OK && !exec->peer_failed ? use_segment(exec, &segment, buffers, err) : status;
}

static void leave_segment(pto_exec_t *exec) {
    if (exec->segment_pinned)
        exec->device->unpin(exec->segment, NULL);
    if (exec->segment)
        (exec->segment_own ? pto_shared_destroy : pto_shared_close)(exec->segment, &exec->segment_handle);
}

pto_status_t pto_exec_prepare_binding(pto_exec_t *exec, pto_error_t *err) {
    exec->bound = calloc((size_t)pto_plan_buffer_count(exec->plan), sizeof *exec->bound);
    exec->segment_bytes = calloc((size_t)exec->job.node_size, sizeof *exec->segment_bytes);
    if (!exec->bound || !exec->segment_bytes)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for buffers");
    for (int b = 0; b < pto_plan_buffer_count(exec->plan); b++)
        exec->bound[b].shared = -1;
    for (int n = 0; n < pto_plan_node_count(exec->plan); n++) {
        const pto_node_t *node = pto_plan_node(exec->plan, n);
        n += library_span(exec, node);
        if (node->kind == PTO_NODE_STAGE)
            mark_shared_in_stage(exec, pto_plan_stage(exec->plan, node->stage));
    }
    return pto_offers_prepare(exec, (size_t)(exec->shared_count + has_signals(exec, true)), err);
}

pto_status_t pto_exec_bind(pto_exec_t *exec, const void *in, void *out, pto_status_t status,
                           pto_error_t *err) {
    exec->offer_count = exec->shared_count + has_signals(exec, true);
    if (status == PTO_OK)
        status = bind_own(exec, in, out, err);
    status = make_segment(exec, status, err);
    return pto_offers_share(exec, status, err);
}

/* No process may free memory that another has open. This barrier polls: one that blocks has no time-out. */
static bool all_have_closed(pto_exec_t *exec) {
    const pto_team_t *team = exec->job.team;
    int spins = 0;
    bool all = false;
    if (exec->offer_count == 0 || exec->failed)
        return true;
    pto_status_t status = team->enter(team->context, NULL);
    while (status == PTO_OK && !all) {
        status = team->entered(team->context, &all, NULL);
        if (status == PTO_OK && !all)
            status = pto_job_rest(&exec->job, &spins, NULL);
        if (status == PTO_OK && !all)
            status = pto_exec_deadline(exec, NULL);
    }
    return status == PTO_OK;
}

static void close_opened(pto_exec_t *exec) {
    const pto_opened_t *opened = exec->opened.item;
    for (int i = 0; i < exec->opened.count; i++)
        exec->device->close_memory(opened[i].start, NULL);
    free(exec->opened.item);
    free(exec->offered.item);
    free(exec->peer_buffers.item);
    free(exec->peer_buffer_index);
    free(exec->next_peer_memory);
    free(exec->gathered);
    free(exec->relocations);
    free(exec->offers);
    free(exec->segment_bytes);
}

bool pto_exec_unbind(pto_exec_t *exec) {
    close_opened(exec);
    if (!all_have_closed(exec))
        return false;
    leave_segment(exec);
    pto_register_free(exec);
    pto_exec_user_release(exec->plan, exec->device, PTO_ROLE_IN, exec->shadow_in);
    pto_exec_user_release(exec->plan, exec->device, PTO_ROLE_OUT, exec->shadow_out);
    pto_exec_user_release(exec->plan, exec->device, PTO_ROLE_OUT, exec->quotient);
    exec->device->release(exec->kernel_flags, NULL);
    exec->device->release(exec->device_arena, NULL);
    exec->device->release_staging(exec->staging_arena, NULL);
    free(exec->bound);
    return true;
}
