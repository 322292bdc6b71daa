/* Gives an executor other user buffers.
 *
 * The schedule holds addresses, and only those that lie in a user's buffer change: this process's, or another
 * one's that is open here. So each of them is moved by as much as its buffer. What else the schedule depends
 * on, such as sizes, distances and the order of copies, stays, as long as a run in place stays in place.
 *
 * All processes exchange their new buffers in one message. Allocations are known by their handles and stay
 * open, so only those that were never offered before have to be opened, which may fail and has to be agreed
 * on. What else may fail is done before the exchange, which tells it: after it, no process fails alone.
 * Buffers in registered memory (register.c) need no handles: their places are told through shared memory, or
 * are the same on all processes. */
#include <stdlib.h>
#include <string.h>

#include "buffers.h"
#include "kernel_nodes.h"
#include "mpi_part.h"
#include "portolan/strategy.h"
#include "register.h"
#include "schedule_items.h"
#include "watchdog.h"

/* A process's message to the others. */
typedef struct {
    pto_memory_handle_t handle[PTO_SIDES];
    int status;
    bool fresh; /* some allocation may not be open yet */
} visit_t;

/* exec->told: room for what all processes tell. It is made with the executor, as a process that had none
 * later could not take part, and the others would wait for it. */
typedef union {
    visit_t visit;
    pto_meeting_t meeting;
} told_t;

static bool side_of(const pto_exec_t *exec, int buffer, int *side) {
    pto_role_t role = pto_plan_buffer(exec->plan, buffer)->role;
    *side = role == PTO_ROLE_IN ? PTO_SIDE_IN : PTO_SIDE_OUT;
    return role == PTO_ROLE_IN || role == PTO_ROLE_OUT;
}

/* All processes see the same in their plan. */
static bool others_use_buffers(const pto_exec_t *exec) {
    bool use = false;
    for (int b = 0, side; b < pto_plan_buffer_count(exec->plan); b++)
        use |= side_of(exec, b, &side) && exec->bound[b].shared >= 0;
    return use;
}

/* --- the exchange --------------------------------------------------------------------------------------- */

static bool was_offered(const pto_exec_t *exec, const pto_memory_handle_t *handle) {
    const pto_memory_handle_t *offered = exec->offered.item;
    for (int i = 0; i < exec->offered.count; i++)
        if (memcmp(offered[i].byte, handle->byte, sizeof handle->byte) == 0)
            return true;
    return false;
}

/* Returns whether only this process's own work uses the buffer: its substitute is what the others access. */
static bool is_private(const pto_exec_t *exec, int buffer, int side) {
    return (side == PTO_SIDE_IN ? exec->shadow_in || exec->copies_aside : exec->shadow_out != NULL) ||
           (exec->bound[buffer].shared < 0 && !pto_plan_uses_nccl(exec->plan));
}

static pto_user_side_t side_as_bound(const pto_exec_t *exec, int wanted) {
    pto_user_side_t found = {.is_private = true};
    for (int b = 0, side; b < pto_plan_buffer_count(exec->plan); b++) {
        if (!side_of(exec, b, &side) || side != wanted ||
            !pto_buffer_is_users(exec->plan, b, exec->job.logical))
            continue;
        found.holds = true;
        found.is_private = found.is_private && is_private(exec, b, side);
    }
    found.bytes = pto_exec_user_bytes(exec->plan, exec->job.logical,
                                      wanted == PTO_SIDE_IN ? PTO_ROLE_IN : PTO_ROLE_OUT);
    return found;
}

pto_status_t pto_rebind_prepare(pto_exec_t *exec, pto_error_t *err) {
    for (int side = 0; side < PTO_SIDES; side++)
        exec->side[side] = side_as_bound(exec, side);
    exec->places = calloc((size_t)exec->reached.count + 1, sizeof *exec->places);
    exec->moved = calloc((size_t)exec->reached.count + PTO_SIDES, sizeof(pto_moved_t));
    const bool others = others_use_buffers(exec);
    if (others)
        exec->told = calloc((size_t)exec->job.size, sizeof(told_t));
    return exec->places && exec->moved && (exec->told || !others)
               ? PTO_OK
               : pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
}

bool pto_exec_user_is_private(const pto_exec_t *exec, pto_role_t role) {
    return (role == PTO_ROLE_IN && exec->side[PTO_SIDE_IN].is_private) ||
           (role == PTO_ROLE_OUT && exec->side[PTO_SIDE_OUT].is_private);
}

static pto_status_t offer(pto_exec_t *exec, int buffer, const void *user, int side, visit_t *visit,
                          pto_error_t *err) {
    if (pto_buffer_bytes(exec->plan, buffer, exec->job.logical) == 0)
        return PTO_OK;
    if (!user)
        return pto_error_set(err, PTO_ERR_RANGE, "rank %lld holds user data, but its '%s' buffer is NULL",
                             (long long)exec->job.logical, pto_plan_buffer(exec->plan, buffer)->name);
    if (is_private(exec, buffer, side))
        return PTO_OK;
    pto_status_t status = exec->device->export_memory(user, &visit->handle[side], err);
    visit->fresh |=
        status == PTO_OK && exec->bound[buffer].shared >= 0 && !was_offered(exec, &visit->handle[side]);
    return status;
}

static pto_status_t may_rebind(pto_exec_t *exec, const void *in, const void *out, pto_error_t *err) {
    pto_status_t status = pto_exec_check_idle(exec, err);
    if (status != PTO_OK)
        return status;
    if ((in == out) != (exec->user_in == exec->user_out))
        return pto_error_set(err, PTO_ERR_RANGE,
                             "an executor in place stays in place, and another one does not become so");
    if (exec->options.nccl_windows && (in != exec->user_in || out != exec->user_out))
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "the buffers are NCCL's symmetric windows, which stay");
    pto_memory_handle_t handle; /* the device divides an average into `out`, which must be its own memory */
    bool divides = exec->divisor != 0 && exec->shadow_out && !exec->quotient && out != exec->user_out;
    status = divides ? exec->device->export_memory(out, &handle, err) : PTO_OK;
    return status == PTO_OK ? pto_kernels_reserve(exec, err) : status;
}

static pto_status_t make_visit(pto_exec_t *exec, const void *in, const void *out, visit_t *visit,
                               pto_error_t *err) {
    memset(visit, 0, sizeof *visit);
    pto_status_t status = may_rebind(exec, in, out, err);
    for (int b = 0; b < pto_plan_buffer_count(exec->plan) && status == PTO_OK; b++) {
        int side;
        if (side_of(exec, b, &side) && pto_buffer_is_users(exec->plan, b, exec->job.logical))
            status = offer(exec, b, side == PTO_SIDE_IN ? in : out, side, visit, err);
    }
    if (status == PTO_OK && !pto_vector_reserve(&exec->offered, PTO_SIDES, sizeof(pto_memory_handle_t)))
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    visit->status = status;
    return status;
}

/* Where the other processes' buffers are now, in the order of `reached`. */
static pto_status_t open_visits(pto_exec_t *exec, const visit_t *visits, pto_peer_memory_t *at,
                                pto_error_t *err) {
    const pto_reached_t *reached = exec->reached.item;
    pto_status_t status = PTO_OK;
    for (int i = 0; i < exec->reached.count && status == PTO_OK; i++) {
        int side;
        if (reached[i].buffer < 0 || !side_of(exec, reached[i].buffer, &side))
            continue;
        const pto_memory_handle_t *handle = &visits[exec->job.mpi_of[reached[i].rank]].handle[side];
        static const pto_memory_handle_t none;
        if (memcmp(handle, &none, sizeof none) != 0) /* else it has a substitute, which stays */
            status = pto_exec_open_memory(exec, reached[i].rank, handle, &at[i], err);
    }
    return status;
}

/* make_visit has made room. */
static void note_offers(pto_exec_t *exec, const visit_t *visit) {
    for (int side = 0; side < PTO_SIDES; side++) {
        if (was_offered(exec, &visit->handle[side]))
            continue;
        pto_memory_handle_t *offered = pto_vector_add(&exec->offered, sizeof *offered);
        *offered = visit->handle[side];
    }
}

/* Collective. Nothing of the executor has changed where it fails. What some process could not open stays
 * new: the next time may be another process's to fail. */
static pto_status_t exchange(pto_exec_t *exec, const visit_t *mine, pto_peer_memory_t *at, pto_error_t *err) {
    visit_t *visits = exec->told;
    pto_status_t status = pto_team_allgather(exec->job.team, mine, sizeof *mine, visits, err);
    bool refused = false, fresh = false;
    for (int i = 0; i < exec->job.size && status == PTO_OK; i++) {
        refused |= visits[i].status != PTO_OK;
        fresh |= visits[i].fresh;
    }
    if (status != PTO_OK || refused)
        return pto_agree(exec->job.team, status == PTO_OK ? (pto_status_t)mine->status : status, err);
    status = open_visits(exec, visits, at, err);
    if (fresh) {
        status = pto_agree(exec->job.team, status, err);
        if (status == PTO_OK)
            note_offers(exec, mine);
    }
    return status;
}

/* --- moving addresses ----------------------------------------------------------------------------------- */

static void note(pto_moves_t *moves, const void *from, int64_t bytes, const void *to) {
    if (!from || bytes == 0 || from == to)
        return;
    pto_moved_t *moved = &moves->item[moves->count++];
    *moved = (pto_moved_t){.from = from, .bytes = bytes};
    memcpy(&moved->to, &to, sizeof to); /* a plan never writes its input */
}

static void note_own(const pto_exec_t *exec, const void *in, const void *out, pto_moves_t *moves) {
    note(moves, exec->user_in, exec->side[PTO_SIDE_IN].bytes, in);
    note(moves, exec->user_out, exec->side[PTO_SIDE_OUT].bytes, out);
}

static void note_others(const pto_exec_t *exec, const pto_peer_memory_t *at, pto_moves_t *moves) {
    const pto_reached_t *reached = exec->reached.item;
    for (int i = 0; i < exec->reached.count; i++)
        if (at[i].memory != reached[i].at.memory) /* so it is a user's */
            note(moves, reached[i].at.memory,
                 pto_buffer_bytes(exec->plan, reached[i].buffer, reached[i].rank), at[i].memory);
}

/* Where an address is now; itself if it lies in no user's buffer. */
void *pto_moved(const pto_moves_t *moves, const void *address) {
    const pto_moved_t *item = moves->item;
    const char *at = address;
    void *same;
    for (int i = 0; i < moves->count; i++)
        if (at >= item[i].from && at < item[i].from + item[i].bytes)
            return item[i].to + (at - item[i].from);
    memcpy(&same, &address, sizeof same);
    return same;
}

static void move_items(pto_exec_t *exec, const pto_moves_t *moves) {
    pto_exec_move_t *move = exec->moves.item;
    for (int i = 0; i < exec->moves.count; i++) {
        move[i].move.target = pto_moved(moves, move[i].move.target);
        move[i].move.source = pto_moved(moves, move[i].move.source);
    }
    pto_exec_reduction_t *reduction = exec->reductions.item;
    for (int i = 0; i < exec->reductions.count; i++)
        reduction[i].target = pto_moved(moves, reduction[i].target);
    const void **source = exec->sources.item;
    for (int i = 0; i < exec->sources.count; i++)
        source[i] = pto_moved(moves, source[i]);
}

static void move_calls(pto_exec_t *exec, const pto_moves_t *moves) {
    pto_nccl_part_t *part = exec->nccl.item;
    for (int i = 0; i < exec->nccl.count; i++) {
        part[i].call.in = pto_moved(moves, part[i].call.in);
        part[i].call.out = pto_moved(moves, part[i].call.out);
    }
    if (exec->job.team->mpi)
        exec->job.team->mpi->move(exec, moves);
}

static pto_status_t move_kernels(pto_exec_t *exec, const pto_moves_t *moves, pto_error_t *err) {
    pto_exec_kernel_t *kernel = exec->kernels.item;
    pto_status_t status = PTO_OK;
    for (int i = 0; i < exec->kernels.count && status == PTO_OK; i++) {
        pto_operand_t *operand = kernel[i].program.operands.item;
        for (int j = 0; j < kernel[i].program.operands.count; j++)
            operand[j].spot.at = pto_moved(moves, operand[j].spot.at);
        status = pto_kernel_rebind(exec, &kernel[i], err);
    }
    return status;
}

/* Only a device that has failed altogether fails here. The other processes then use buffers that this one
 * does not know, and wait for it in vain. */
static pto_status_t move_all(pto_exec_t *exec, const pto_moves_t *moves, const void *in, void *out,
                             pto_error_t *err) {
    pto_status_t status = PTO_OK;
    if (moves->count > 0) {
        move_items(exec, moves);
        move_calls(exec, moves);
        status = move_kernels(exec, moves, err);
    }
    exec->failed |= status != PTO_OK;
    exec->user_in = in;
    exec->user_out = out;
    return status;
}

/* --- registered memory ---------------------------------------------------------------------------------- */

/* Returns whether this process reaches others' buffers of a side. */
static bool reaches(const pto_exec_t *exec, int wanted) {
    const pto_reached_t *reached = exec->reached.item;
    for (int i = 0, side; i < exec->reached.count; i++)
        if (reached[i].buffer >= 0 && side_of(exec, reached[i].buffer, &side) && side == wanted)
            return true;
    return false;
}

/* Where the others' buffers of a side are: the place of each by its MPI rank, or one for all. */
static pto_status_t reach_places(const pto_exec_t *exec, int wanted, const pto_meeting_t *everyone,
                                 const pto_registered_t *for_all, pto_peer_memory_t *at, pto_error_t *err) {
    const pto_reached_t *reached = exec->reached.item;
    pto_status_t status = PTO_OK;
    for (int i = 0, side; i < exec->reached.count && status == PTO_OK; i++) {
        if (reached[i].buffer < 0 || !side_of(exec, reached[i].buffer, &side) || side != wanted)
            continue;
        const pto_registered_t *place =
            for_all ? for_all : &everyone[exec->job.mpi_of[reached[i].rank]].place[wanted];
        if (place->registration >= 0) /* else it has a substitute, which stays */
            status = pto_register_reach(exec, place, reached[i].rank, wanted,
                                        pto_buffer_bytes(exec->plan, reached[i].buffer, reached[i].rank),
                                        &at[i], err);
    }
    return status;
}

/* Returns whether all buffers of a side that are at registered places are at the same one. */
static bool are_together(const pto_exec_t *exec, const pto_meeting_t *everyone, int side) {
    const pto_registered_t *first = NULL;
    for (int i = 0; i < exec->job.size; i++) {
        const pto_registered_t *place = &everyone[i].place[side];
        if (place->registration < 0)
            continue;
        first = first ? first : place;
        if (place->registration != first->registration || place->offset_bytes != first->offset_bytes)
            return false;
    }
    return true;
}

static pto_meeting_t meeting_of(const pto_exec_t *exec, const visit_t *visit, const void *const *user) {
    pto_meeting_t mine = {.status = (pto_status_t)visit->status};
    for (int side = 0; side < PTO_SIDES; side++) {
        bool is_own = exec->side[side].holds && !exec->side[side].is_private;
        mine.place[side] = is_own ? pto_register_place(exec, user[side], exec->side[side].bytes)
                                  : (pto_registered_t){.registration = -1};
        mine.unknown[side] = is_own && exec->side[side].bytes > 0 && mine.place[side].registration < 0;
    }
    return mine;
}

/* Collective, through shared memory. `*met`: all buffers that others access are in registered memory; else
 * nothing has been changed. */
static pto_status_t meet(pto_exec_t *exec, const visit_t *visit, const void *const *user,
                         pto_peer_memory_t *at, bool *met, pto_error_t *err) {
    const pto_meeting_t mine = meeting_of(exec, visit, user);
    pto_meeting_t *everyone = exec->told;
    pto_status_t status = pto_register_meet(exec, &mine, everyone, err);
    bool refused = false, unknown = false;
    for (int i = 0; i < exec->job.size && status == PTO_OK; i++) {
        refused |= everyone[i].status != PTO_OK;
        unknown |= everyone[i].unknown[PTO_SIDE_IN] || everyone[i].unknown[PTO_SIDE_OUT];
    }
    *met = status == PTO_OK && !refused && !unknown;
    for (int side = 0; side < PTO_SIDES && *met; side++)
        exec->together[side] = are_together(exec, everyone, side);
    for (int side = 0; side < PTO_SIDES && status == PTO_OK && *met; side++)
        status = reach_places(exec, side, everyone, NULL, at, err);
    return status == PTO_OK && refused ? pto_agree(exec->job.team, (pto_status_t)visit->status, err) : status;
}

static pto_status_t refuse_place(int side, const char *reason, pto_error_t *err) {
    return pto_error_set(err, PTO_ERR_RANGE,
                         "other processes or NCCL use '%s', and %s: all must call "
                         "pto_exec_rebind",
                         side == PTO_SIDE_IN ? "in" : "out", reason);
}

/* Without the other processes, whose buffers are at the same place as this one's. If that has not been so,
 * and this process's buffer stays, the others' may or may not be meant to come here. */
static pto_status_t follow_place(const pto_exec_t *exec, int side, const void *user, bool stays,
                                 pto_peer_memory_t *at, pto_error_t *err) {
    pto_registered_t place = pto_register_place(exec, user, exec->side[side].bytes);
    if (stays && (exec->together[side] || place.registration < 0))
        return PTO_OK;
    if (place.registration < 0)
        return refuse_place(side, "it is not in memory that pto_register knows", err);
    if (stays)
        return refuse_place(side, "the others' are not known to be at the same place", err);
    return reach_places(exec, side, NULL, &place, at, err);
}

/* --- all of it ------------------------------------------------------------------------------------------ */

/* Returns where the others' buffers are, to be changed. */
static pto_peer_memory_t *reached_now(const pto_exec_t *exec) {
    const pto_reached_t *reached = exec->reached.item;
    for (int i = 0; i < exec->reached.count; i++)
        exec->places[i] = reached[i].at;
    return exec->places;
}

static pto_status_t take_places(pto_exec_t *exec, const void *in, void *out, const pto_peer_memory_t *at,
                                pto_error_t *err) {
    pto_moves_t moves = {.item = exec->moved};
    pto_reached_t *reached = exec->reached.item;
    note_own(exec, in, out, &moves);
    note_others(exec, at, &moves);
    for (int i = 0; i < exec->reached.count; i++)
        reached[i].at = at[i];
    return move_all(exec, &moves, in, out, err);
}

static pto_status_t rebind(pto_exec_t *exec, const void *in, void *out, pto_peer_memory_t *at,
                           pto_error_t *err) {
    visit_t mine;
    const void *const user[PTO_SIDES] = {in, out};
    pto_status_t status = make_visit(exec, in, out, &mine, err);
    bool others = others_use_buffers(exec), met = false;
    if (others && exec->mailboxes)
        status = meet(exec, &mine, user, at, &met, err);
    if (others && !met && (!exec->mailboxes || status == PTO_OK)) {
        status = exchange(exec, &mine, at, err);
        if (status == PTO_OK)
            exec->together[PTO_SIDE_IN] = exec->together[PTO_SIDE_OUT] = false;
    }
    return status == PTO_OK ? take_places(exec, in, out, at, err) : status;
}

pto_status_t pto_exec_rebind(pto_exec_t *exec, const void *in, void *out, pto_error_t *err) {
    pto_error_t ignored;
    if (!err)
        err = &ignored;
    pto_watchdog_watch(exec, true);
    pto_status_t status = rebind(exec, in, out, reached_now(exec), err);
    pto_watchdog_watch(exec, false);
    return status;
}

/* Returns whether a change of a side takes the others' buffers along. A process that has no buffer of its own
 * but accesses theirs names their place by one in its own registered memory. */
static bool takes_others(const pto_exec_t *exec, int side) {
    if (exec->side[side].holds)
        return !exec->side[side].is_private;
    return reaches(exec, side) && pto_register_any(exec);
}

static pto_status_t rebind_alone(pto_exec_t *exec, const void *in, void *out, pto_peer_memory_t *at,
                                 pto_error_t *err) {
    const void *const user[PTO_SIDES] = {in, out}, *const was[PTO_SIDES] = {exec->user_in, exec->user_out};
    pto_status_t status = may_rebind(exec, in, out, err);
    for (int side = 0; side < PTO_SIDES && status == PTO_OK; side++) {
        if (!user[side] && was[side])
            status = pto_error_set(err, PTO_ERR_RANGE, "a buffer is NULL");
        else if (takes_others(exec, side))
            status = follow_place(exec, side, user[side], user[side] == was[side], at, err);
    }
    if (status == PTO_OK)
        status = take_places(exec, in, out, at, err);
    for (int side = 0; side < PTO_SIDES && status == PTO_OK; side++)
        exec->together[side] |= user[side] != was[side];
    return status;
}

pto_status_t pto_exec_rebind_private(pto_exec_t *exec, const void *in, void *out, pto_error_t *err) {
    if (in == exec->user_in && out == exec->user_out && !pto_register_any(exec))
        return PTO_OK;
    return rebind_alone(exec, in, out, reached_now(exec), err);
}

pto_status_t pto_exec_enqueue_on(pto_exec_t *exec, const void *in, void *out, void *stream,
                                 pto_error_t *err) {
    pto_status_t status = pto_exec_rebind_private(exec, in, out, err);
    return status == PTO_OK ? pto_exec_enqueue(exec, stream, err) : status;
}
