/* Gives an executor other user buffers (pto_exec_rebind).
 *
 * The schedule contains addresses. Some of them lie in a user's buffer, of this process or of another one
 * whose memory is open here. A rebinding moves these by the distance between the old and the new buffer: if
 * `in` moves from 0x1000 to 0x9000, a copy from 0x1040 then reads 0x9040. Everything else in the schedule,
 * such as sizes, offsets and the order of copies, stays valid, as long as a run in place stays in place.
 *
 * There are two ways to find the other processes' buffers. pto_exec_rebind_private does not communicate:
 * others do not access the buffers that move, or theirs move to the same place in registered memory
 * (register.c).
 *
 * pto_exec_rebind is collective. All processes exchange the handles of their new buffers in one message. They
 * keep each other's allocations open, so only an allocation that was never offered before has to be opened.
 * That may fail, so the processes agree on it. Everything else that may fail is done before the exchange, and
 * the messages include the status. So after the exchange, no process fails alone. Buffers in registered
 * memory are open already: the message goes through shared memory, and is not needed if their places are the
 * same on all processes.
 *
 * The memory that receives the messages is allocated with the executor. A process that ran out of memory
 * during a rebinding could not take part, and the others would wait for it. */
#include <stdlib.h>
#include <string.h>

#include "buffers.h"
#include "kernel_nodes.h"
#include "mpi_part.h"
#include "portolan/strategy.h"
#include "register.h"
#include "schedule_items.h"
#include "watchdog.h"

/* A process's message to the others, by side: the handle of its new buffer, zero if they do not access that,
 * and the buffer's place in registered memory. */
typedef struct {
    pto_memory_handle_t handle[PTO_SIDES];
    pto_registered_t place[PTO_SIDES];
    int status;
    bool fresh; /* some allocation has not been offered before */
} rebind_message_t;

static const pto_memory_handle_t no_handle;

static bool is_same_handle(const pto_memory_handle_t *one, const pto_memory_handle_t *other) {
    return memcmp(one, other, sizeof *one) == 0;
}

/* Returns whether any process accesses a user buffer of another one: the same on all processes. */
static bool others_use_buffers(const pto_exec_t *exec) {
    for (int b = 0; b < pto_plan_buffer_count(exec->plan); b++)
        if (pto_side_of(exec, b) >= 0 && exec->bound[b].shared >= 0)
            return true;
    return false;
}

static bool was_offered(const pto_exec_t *exec, const pto_memory_handle_t *handle) {
    const pto_memory_handle_t *offered = exec->offered.item;
    for (int i = 0; i < exec->offered.count; i++)
        if (pto_same_allocation(&offered[i], handle))
            return true;
    return false;
}

/* Returns whether only this process's own work uses the user's buffer: other processes and NCCL use its
 * shadow buffer, or do not access the buffer at all. */
static bool is_private(const pto_exec_t *exec, int buffer, int side) {
    const bool has_shadow =
        side == PTO_SIDE_IN ? exec->shadow_in || exec->copies_input : exec->shadow_out != NULL;
    return has_shadow || (exec->bound[buffer].shared < 0 && !pto_plan_uses_nccl(exec->plan));
}

/* Returns the properties of a side, when the executor has just been bound. */
static pto_user_side_t side_as_bound(const pto_exec_t *exec, int side) {
    pto_user_side_t found = {.is_private = true};
    for (int b = 0; b < pto_plan_buffer_count(exec->plan); b++) {
        if (pto_side_of(exec, b) != side || !pto_buffer_is_users(exec->plan, b, exec->job.logical))
            continue;
        found.holds = true;
        found.is_private = found.is_private && is_private(exec, b, side);
    }
    found.bytes =
        pto_exec_user_bytes(exec->plan, exec->job.logical, side == PTO_SIDE_IN ? PTO_ROLE_IN : PTO_ROLE_OUT);
    return found;
}

pto_status_t pto_rebind_prepare(pto_exec_t *exec, pto_error_t *err) {
    for (int side = 0; side < PTO_SIDES; side++)
        exec->side[side] = side_as_bound(exec, side);
    exec->next_peer_memory = calloc((size_t)exec->peer_buffers.count + 1, sizeof *exec->next_peer_memory);
    exec->relocations = calloc((size_t)exec->peer_buffers.count + PTO_SIDES, sizeof(pto_relocation_t));
    const bool others = others_use_buffers(exec);
    if (others)
        exec->gathered = calloc((size_t)exec->job.size, sizeof(rebind_message_t));
    return exec->next_peer_memory && exec->relocations && (exec->gathered || !others)
               ? PTO_OK
               : pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
}

bool pto_exec_user_is_private(const pto_exec_t *exec, pto_role_t role) {
    return (role == PTO_ROLE_IN && exec->side[PTO_SIDE_IN].is_private) ||
           (role == PTO_ROLE_OUT && exec->side[PTO_SIDE_OUT].is_private);
}

/* Puts a new buffer into the message, if other processes or NCCL access it. */
static pto_status_t offer(pto_exec_t *exec, int buffer, const void *user, int side, rebind_message_t *message,
                          pto_error_t *err) {
    if (pto_buffer_bytes(exec->plan, buffer, exec->job.logical) == 0)
        return PTO_OK;
    if (!user)
        return pto_error_set(err, PTO_ERR_RANGE, "rank %lld holds user data, but its '%s' buffer is NULL",
                             (long long)exec->job.logical, pto_plan_buffer(exec->plan, buffer)->name);
    if (is_private(exec, buffer, side))
        return PTO_OK;
    message->place[side] = pto_register_place(exec, user, exec->side[side].bytes);
    if (message->place[side].registration >= 0) {
        message->handle[side] = pto_register_handle(exec, &message->place[side]);
        return PTO_OK; /* not fresh: the others have it open */
    }
    pto_status_t status = exec->device->export_memory(user, &message->handle[side], err);
    message->fresh |=
        status == PTO_OK && exec->bound[buffer].shared >= 0 && !was_offered(exec, &message->handle[side]);
    return status;
}

static pto_status_t check_rebind(pto_exec_t *exec, const void *in, const void *out, pto_error_t *err) {
    pto_status_t status = pto_exec_check_idle(exec, err);
    if (status != PTO_OK)
        return status;
    if ((in == out) != (exec->user_in == exec->user_out))
        return pto_error_set(err, PTO_ERR_RANGE,
                             "an executor in place stays in place, and another one does not become so");
    if (exec->options.nccl_windows && (in != exec->user_in || out != exec->user_out))
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "the buffers are NCCL's symmetric windows, which stay");
    /* The device divides an average into `out`, which must then be its own memory: only that can be exported.
     */
    pto_memory_handle_t handle;
    bool divides = exec->divisor != 0 && exec->shadow_out && !exec->quotient && out != exec->user_out;
    status = divides ? exec->device->export_memory(out, &handle, err) : PTO_OK;
    return status == PTO_OK ? pto_kernels_reserve(exec, err) : status;
}

static pto_status_t fill_message(pto_exec_t *exec, const void *in, const void *out, rebind_message_t *message,
                                 pto_error_t *err) {
    memset(message, 0, sizeof *message);
    message->place[PTO_SIDE_IN].registration = message->place[PTO_SIDE_OUT].registration = -1;
    pto_status_t status = check_rebind(exec, in, out, err);
    for (int b = 0; b < pto_plan_buffer_count(exec->plan) && status == PTO_OK; b++) {
        const int side = pto_side_of(exec, b);
        if (side >= 0 && pto_buffer_is_users(exec->plan, b, exec->job.logical))
            status = offer(exec, b, side == PTO_SIDE_IN ? in : out, side, message, err);
    }
    if (status == PTO_OK && !pto_vector_reserve(&exec->offered, PTO_SIDES, sizeof(pto_memory_handle_t)))
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    message->status = status;
    return status;
}

/* Finds where the other processes' new buffers are. */
static pto_status_t open_peer_buffers(pto_exec_t *exec, const rebind_message_t *messages, pto_error_t *err) {
    const pto_peer_buffer_t *peer_buffer = exec->peer_buffers.item;
    pto_status_t status = PTO_OK;
    for (int i = 0; i < exec->peer_buffers.count && status == PTO_OK; i++) {
        const int side = pto_side_of(exec, peer_buffer[i].buffer);
        if (side < 0)
            continue;
        const pto_memory_handle_t *handle = &messages[exec->job.team_rank[peer_buffer[i].rank]].handle[side];
        if (!is_same_handle(handle, &no_handle)) /* otherwise it keeps its shadow buffer */
            status = pto_exec_open_memory(exec, peer_buffer[i].rank, handle, &exec->next_peer_memory[i], err);
    }
    return status;
}

/* fill_message has reserved the memory. */
static void remember_offers(pto_exec_t *exec, const rebind_message_t *message) {
    for (int side = 0; side < PTO_SIDES; side++) {
        if (was_offered(exec, &message->handle[side]))
            continue;
        pto_memory_handle_t *offered = pto_vector_add(&exec->offered, sizeof *offered);
        *offered = message->handle[side];
    }
}

/* Returns whether all buffers of a side that others access are at the same place in registered memory. */
static bool have_same_place(const pto_exec_t *exec, const rebind_message_t *messages, int side) {
    const pto_registered_t *first = NULL;
    for (int i = 0; i < exec->job.size; i++) {
        const pto_registered_t *place = &messages[i].place[side];
        if (is_same_handle(&messages[i].handle[side], &no_handle))
            continue;
        first = first ? first : place;
        if (place->registration < 0 || place->registration != first->registration ||
            place->offset_bytes != first->offset_bytes)
            return false;
    }
    return true;
}

/* Collective: through shared memory if there are mailboxes, otherwise through the team. */
static pto_status_t gather_messages(pto_exec_t *exec, const rebind_message_t *mine, pto_error_t *err) {
    pto_status_t status = pto_team_allgather(exec->mailboxes ? exec->mailboxes : exec->job.team, mine,
                                             sizeof *mine, exec->gathered, err);
    exec->failed |= status != PTO_OK && exec->mailboxes; /* the others may have gone on */
    return status;
}

/* Collective. If it fails, nothing in the executor has changed. The steps: gather the messages; if any has an
 * error, all fail; open buffers; if any allocation is fresh, agree on whether all could open theirs. One that
 * some process could not open is not remembered, so it counts as fresh the next time as well. */
static pto_status_t exchange(pto_exec_t *exec, const rebind_message_t *mine, pto_error_t *err) {
    const rebind_message_t *messages = exec->gathered;
    pto_status_t status = gather_messages(exec, mine, err);
    bool refused = false, fresh = false;
    for (int i = 0; i < exec->job.size && status == PTO_OK; i++) {
        refused |= messages[i].status != PTO_OK;
        fresh |= messages[i].fresh;
    }
    if (status != PTO_OK && exec->mailboxes)
        return status; /* the executor has failed for good: no agreement with processes that went on */
    if (status != PTO_OK || refused)
        return pto_agree(exec->job.team, status == PTO_OK ? (pto_status_t)mine->status : status, err);
    status = open_peer_buffers(exec, messages, err);
    if (fresh) {
        status = pto_agree(exec->job.team, status, err);
        if (status == PTO_OK)
            remember_offers(exec, mine);
    }
    for (int side = 0; side < PTO_SIDES && status == PTO_OK; side++)
        exec->same_place[side] = have_same_place(exec, messages, side);
    return status;
}

static void add_relocation(pto_relocations_t *relocations, const void *from, int64_t bytes, const void *to) {
    if (!from || bytes == 0 || from == to)
        return;
    pto_relocation_t *relocation = &relocations->item[relocations->count++];
    *relocation = (pto_relocation_t){.from = from, .bytes = bytes};
    memcpy(&relocation->to, &to, sizeof to); /* drops `const`: a plan never writes its input */
}

static void add_own_relocations(const pto_exec_t *exec, const void *in, const void *out,
                                pto_relocations_t *relocations) {
    add_relocation(relocations, exec->user_in, exec->side[PTO_SIDE_IN].bytes, in);
    add_relocation(relocations, exec->user_out, exec->side[PTO_SIDE_OUT].bytes, out);
}

static void add_peer_relocations(const pto_exec_t *exec, pto_relocations_t *relocations) {
    const pto_peer_buffer_t *peer_buffer = exec->peer_buffers.item;
    for (int i = 0; i < exec->peer_buffers.count; i++)
        if (exec->next_peer_memory[i].memory != peer_buffer[i].at.memory) /* a user's buffer that moves */
            add_relocation(relocations, peer_buffer[i].at.memory,
                           pto_buffer_bytes(exec->plan, peer_buffer[i].buffer, peer_buffer[i].rank),
                           exec->next_peer_memory[i].memory);
}

void *pto_relocated(const pto_relocations_t *relocations, const void *address) {
    const pto_relocation_t *item = relocations->item;
    const char *at = address;
    void *same; /* the address without `const` */
    for (int i = 0; i < relocations->count; i++)
        if (at >= item[i].from && at < item[i].from + item[i].bytes)
            return item[i].to + (at - item[i].from);
    memcpy(&same, &address, sizeof same);
    return same;
}

static void relocate_items(pto_exec_t *exec, const pto_relocations_t *relocations) {
    pto_exec_move_t *move = exec->moves.item;
    for (int i = 0; i < exec->moves.count; i++) {
        move[i].move.target = pto_relocated(relocations, move[i].move.target);
        move[i].move.source = pto_relocated(relocations, move[i].move.source);
    }
    pto_exec_reduction_t *reduction = exec->reductions.item;
    for (int i = 0; i < exec->reductions.count; i++)
        reduction[i].target = pto_relocated(relocations, reduction[i].target);
    const void **source = exec->sources.item;
    for (int i = 0; i < exec->sources.count; i++)
        source[i] = pto_relocated(relocations, source[i]);
}

static void relocate_calls(pto_exec_t *exec, const pto_relocations_t *relocations) {
    pto_exec_nccl_t *nccl = exec->nccl.item;
    for (int i = 0; i < exec->nccl.count; i++) {
        nccl[i].call.in = pto_relocated(relocations, nccl[i].call.in);
        nccl[i].call.out = pto_relocated(relocations, nccl[i].call.out);
    }
    if (exec->job.team->mpi)
        exec->job.team->mpi->relocate(exec, relocations);
}

static pto_status_t relocate_kernels(pto_exec_t *exec, const pto_relocations_t *relocations,
                                     pto_error_t *err) {
    pto_exec_kernel_t *kernel = exec->kernels.item;
    pto_status_t status = PTO_OK;
    for (int i = 0; i < exec->kernels.count && status == PTO_OK; i++) {
        pto_operand_t *operand = kernel[i].program.operands.item;
        for (int j = 0; j < kernel[i].program.operands.count; j++)
            operand[j].spot.at = pto_relocated(relocations, operand[j].spot.at);
        status = pto_kernel_rebind(exec, &kernel[i], err);
    }
    return status;
}

/* Fails only if the device does. This process then refuses all runs, and the others time out. */
static pto_status_t relocate_all(pto_exec_t *exec, const pto_relocations_t *relocations, const void *in,
                                 void *out, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    if (relocations->count > 0) {
        relocate_items(exec, relocations);
        relocate_calls(exec, relocations);
        status = relocate_kernels(exec, relocations, err);
    }
    exec->failed |= status != PTO_OK;
    exec->user_in = in;
    exec->user_out = out;
    return status;
}

/* Returns whether this process accesses other processes' buffers of a side. */
static bool accesses_others(const pto_exec_t *exec, int side) {
    const pto_peer_buffer_t *peer_buffer = exec->peer_buffers.item;
    for (int i = 0; i < exec->peer_buffers.count; i++)
        if (pto_side_of(exec, peer_buffer[i].buffer) == side)
            return true;
    return false;
}

/* Finds the other processes' new buffers of a side, which are all at one place. */
static pto_status_t find_peer_memory(const pto_exec_t *exec, int side, const pto_registered_t *place,
                                     pto_error_t *err) {
    const pto_peer_buffer_t *peer_buffer = exec->peer_buffers.item;
    pto_status_t status = PTO_OK;
    for (int i = 0; i < exec->peer_buffers.count && status == PTO_OK; i++)
        if (pto_side_of(exec, peer_buffer[i].buffer) == side)
            status = pto_register_peer_memory(
                exec, place, peer_buffer[i].rank, side,
                pto_buffer_bytes(exec->plan, peer_buffer[i].buffer, peer_buffer[i].rank),
                &exec->next_peer_memory[i], err);
    return status;
}

static pto_status_t refuse_place(int side, const char *reason, pto_error_t *err) {
    return pto_error_set(err, PTO_ERR_RANGE,
                         "other processes or NCCL use '%s', and %s: all must call "
                         "pto_exec_rebind",
                         side == PTO_SIDE_IN ? "in" : "out", reason);
}

/* Assumes that the other processes' buffers of a side are at the same place as this one's new buffer, `user`.
 * If this one `stays`, they stay if they are known to be at its place already. Otherwise this process cannot
 * tell whether they move to it: an error, but not outside of registered memory, which has no places. */
static pto_status_t use_common_place(const pto_exec_t *exec, int side, const void *user, bool stays,
                                     pto_error_t *err) {
    pto_registered_t place = pto_register_place(exec, user, exec->side[side].bytes);
    if (stays && (exec->same_place[side] || place.registration < 0))
        return PTO_OK;
    if (place.registration < 0)
        return refuse_place(side, "it is not in memory that pto_register knows", err);
    if (stays)
        return refuse_place(side, "the others' are not known to be at the same place", err);
    return find_peer_memory(exec, side, &place, err);
}

static void reset_next_peer_memory(const pto_exec_t *exec) {
    const pto_peer_buffer_t *peer_buffer = exec->peer_buffers.item;
    for (int i = 0; i < exec->peer_buffers.count; i++)
        exec->next_peer_memory[i] = peer_buffer[i].at;
}

/* Moves the schedule's addresses to the new buffers: this process's, and the others' in next_peer_memory. */
static pto_status_t apply_places(pto_exec_t *exec, const void *in, void *out, pto_error_t *err) {
    pto_relocations_t relocations = {.item = exec->relocations};
    pto_peer_buffer_t *peer_buffer = exec->peer_buffers.item;
    add_own_relocations(exec, in, out, &relocations);
    add_peer_relocations(exec, &relocations);
    for (int i = 0; i < exec->peer_buffers.count; i++)
        peer_buffer[i].at = exec->next_peer_memory[i];
    return relocate_all(exec, &relocations, in, out, err);
}

static pto_status_t rebind(pto_exec_t *exec, const void *in, void *out, pto_error_t *err) {
    rebind_message_t mine;
    reset_next_peer_memory(exec);
    pto_status_t status = fill_message(exec, in, out, &mine, err);
    /* The message includes an error, which ends the rebinding on all processes. */
    if (others_use_buffers(exec))
        status = exchange(exec, &mine, err);
    return status == PTO_OK ? apply_places(exec, in, out, err) : status;
}

pto_status_t pto_exec_rebind(pto_exec_t *exec, const void *in, void *out, pto_error_t *err) {
    pto_error_t ignored;
    if (!err)
        err = &ignored;
    pto_watchdog_watch(exec, true);
    pto_status_t status = rebind(exec, in, out, err);
    pto_watchdog_watch(exec, false);
    return status;
}

/* Returns whether a local change of a side implies that the other processes' buffers change likewise. A
 * process may access theirs without using its own: then it passes an address in its registered memory as the
 * place. */
static bool follows_others(const pto_exec_t *exec, int side) {
    if (exec->side[side].holds)
        return !exec->side[side].is_private;
    return accesses_others(exec, side) && pto_register_any(exec);
}

static pto_status_t rebind_local(pto_exec_t *exec, const void *in, void *out, pto_error_t *err) {
    const void *const user[PTO_SIDES] = {in, out}, *const was[PTO_SIDES] = {exec->user_in, exec->user_out};
    reset_next_peer_memory(exec);
    pto_status_t status = check_rebind(exec, in, out, err);
    for (int side = 0; side < PTO_SIDES && status == PTO_OK; side++) {
        if (!user[side] && was[side])
            status = pto_error_set(err, PTO_ERR_RANGE, "a buffer is NULL");
        else if (follows_others(exec, side))
            status = use_common_place(exec, side, user[side], user[side] == was[side], err);
    }
    if (status == PTO_OK)
        status = apply_places(exec, in, out, err);
    for (int side = 0; side < PTO_SIDES && status == PTO_OK; side++)
        exec->same_place[side] |= user[side] != was[side];
    return status;
}

pto_status_t pto_exec_rebind_private(pto_exec_t *exec, const void *in, void *out, pto_error_t *err) {
    if (in == exec->user_in && out == exec->user_out && !pto_register_any(exec))
        return PTO_OK;
    return rebind_local(exec, in, out, err);
}

pto_status_t pto_exec_enqueue_on(pto_exec_t *exec, const void *in, void *out, void *stream,
                                 pto_error_t *err) {
    pto_status_t status = pto_exec_rebind_private(exec, in, out, err);
    return status == PTO_OK ? pto_exec_enqueue(exec, stream, err) : status;
}
