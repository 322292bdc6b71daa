/* Gives an executor other user buffers.
 *
 * The schedule holds addresses, and only those that lie in a user's buffer change: this process's, or another
 * one's that is open here. So each of them is moved by as much as its buffer. What else the schedule depends
 * on, such as sizes, distances and the order of copies, stays, as long as a run in place stays in place.
 *
 * All processes exchange their new buffers in one message. Allocations are known by their handles and stay
 * open, so only those that were never offered before have to be opened, which may fail and has to be agreed
 * on. */
#include <stdlib.h>
#include <string.h>

#include "buffers.h"
#include "kernel_nodes.h"
#include "portolan/strategy.h"
#include "schedule_items.h"
#include "watchdog.h"

enum { IN, OUT, SIDES };

/* What a process tells the others. */
typedef struct {
    pto_memory_handle_t handle[SIDES];
    int status;
    bool fresh; /* some allocation may not be open yet */
} visit_t;

typedef struct {
    const char *from;
    int64_t bytes;
    char *to;
} moved_t;

/* Where this process's and the others' user buffers were and are. */
typedef struct {
    pto_vector_t list; /* moved_t */
    bool failed;
} moves_t;

static bool side_of(const pto_exec_t *exec, int buffer, int *side) {
    pto_role_t role = pto_plan_buffer(exec->plan, buffer)->role;
    *side = role == PTO_ROLE_IN ? IN : OUT;
    return role == PTO_ROLE_IN || role == PTO_ROLE_OUT;
}

/* --- the exchange --------------------------------------------------------------------------------------- */

static bool was_offered(const pto_exec_t *exec, const pto_memory_handle_t *handle) {
    const pto_memory_handle_t *offered = exec->offered.item;
    for (int i = 0; i < exec->offered.count; i++)
        if (memcmp(offered[i].byte, handle->byte, sizeof handle->byte) == 0)
            return true;
    return false;
}

/* Whether only this process's own work uses the buffer: its substitute is what the others access. */
static bool is_private(const pto_exec_t *exec, int buffer, int side) {
    return (side == IN ? exec->shadow_in : exec->shadow_out) ||
           (exec->bound[buffer].shared < 0 && !pto_plan_uses_nccl(exec->plan));
}

bool pto_exec_user_is_private(const pto_exec_t *exec, pto_role_t role) {
    for (int b = 0, side; b < pto_plan_buffer_count(exec->plan); b++)
        if (pto_plan_buffer(exec->plan, b)->role == role && side_of(exec, b, &side) &&
            pto_buffer_is_users(exec->plan, b, exec->job.logical) && !is_private(exec, b, side))
            return false;
    return role == PTO_ROLE_IN || role == PTO_ROLE_OUT;
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
    pto_memory_handle_t handle; /* the device divides an average into `out`, which must be its own memory */
    bool divides = exec->divisor != 0 && exec->shadow_out && !exec->quotient && out != exec->user_out;
    return divides ? exec->device->export_memory(out, &handle, err) : PTO_OK;
}

static pto_status_t make_visit(pto_exec_t *exec, const void *in, const void *out, visit_t *visit,
                               pto_error_t *err) {
    memset(visit, 0, sizeof *visit);
    pto_status_t status = may_rebind(exec, in, out, err);
    for (int b = 0; b < pto_plan_buffer_count(exec->plan) && status == PTO_OK; b++) {
        int side;
        if (side_of(exec, b, &side) && pto_buffer_is_users(exec->plan, b, exec->job.logical))
            status = offer(exec, b, side == IN ? in : out, side, visit, err);
    }
    visit->status = status;
    return status;
}

/* Where the other processes' buffers are now, in the order of `reached`. */
static pto_status_t open_visits(pto_exec_t *exec, const visit_t *visits, char **memory, pto_error_t *err) {
    const pto_reached_t *reached = exec->reached.item;
    pto_status_t status = PTO_OK;
    for (int i = 0; i < exec->reached.count && status == PTO_OK; i++) {
        int side;
        if (reached[i].buffer < 0 || !side_of(exec, reached[i].buffer, &side))
            continue;
        const pto_memory_handle_t *handle = &visits[exec->job.mpi_of[reached[i].rank]].handle[side];
        static const pto_memory_handle_t none;
        if (memcmp(handle, &none, sizeof none) != 0) /* else it has a substitute, which stays */
            status = pto_exec_open_memory(exec, reached[i].rank, handle, &memory[i], err);
    }
    return status;
}

static pto_status_t note_offers(pto_exec_t *exec, const visit_t *visit, pto_error_t *err) {
    for (int side = 0; side < SIDES; side++) {
        if (was_offered(exec, &visit->handle[side]))
            continue;
        pto_memory_handle_t *offered = pto_vector_add(&exec->offered, sizeof *offered);
        if (!offered)
            return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
        *offered = visit->handle[side];
    }
    return PTO_OK;
}

/* All processes see the same in their plan. */
static bool others_use_buffers(const pto_exec_t *exec) {
    bool use = false;
    for (int b = 0, side; b < pto_plan_buffer_count(exec->plan); b++)
        use |= side_of(exec, b, &side) && exec->bound[b].shared >= 0;
    return use;
}

/* Collective. Nothing of the executor has changed where it fails. */
static pto_status_t exchange(pto_exec_t *exec, const visit_t *mine, visit_t *visits, char **memory,
                             pto_error_t *err) {
    pto_status_t status = PTO_MPI(
        MPI_Allgather(mine, (int)sizeof *mine, MPI_BYTE, visits, (int)sizeof *mine, MPI_BYTE, exec->job.comm),
        err);
    bool refused = false, fresh = false;
    for (int i = 0; i < exec->job.size && status == PTO_OK; i++) {
        refused |= visits[i].status != PTO_OK;
        fresh |= visits[i].fresh;
    }
    if (status != PTO_OK || refused)
        return pto_agree(exec->job.comm, status == PTO_OK ? (pto_status_t)mine->status : status, err);
    status = open_visits(exec, visits, memory, err);
    if (status == PTO_OK && fresh)
        status = note_offers(exec, mine, err);
    return fresh ? pto_agree(exec->job.comm, status, err) : status;
}

/* --- moving addresses ----------------------------------------------------------------------------------- */

static void note(moves_t *moves, const void *from, int64_t bytes, const void *to) {
    if (!from || bytes == 0 || from == to)
        return;
    moved_t *moved = pto_vector_add(&moves->list, sizeof *moved);
    moves->failed |= !moved;
    if (!moved)
        return;
    *moved = (moved_t){.from = from, .bytes = bytes};
    memcpy(&moved->to, &to, sizeof to); /* a plan never writes its input */
}

static void note_own(const pto_exec_t *exec, const void *in, const void *out, moves_t *moves) {
    int64_t rank = exec->job.logical;
    note(moves, exec->user_in, pto_exec_user_bytes(exec->plan, rank, PTO_ROLE_IN), in);
    note(moves, exec->user_out, pto_exec_user_bytes(exec->plan, rank, PTO_ROLE_OUT), out);
}

static void note_others(const pto_exec_t *exec, char *const *memory, moves_t *moves) {
    const pto_reached_t *reached = exec->reached.item;
    for (int i = 0; i < exec->reached.count; i++)
        if (memory[i] != reached[i].memory) /* so it is a user's */
            note(moves, reached[i].memory, pto_buffer_bytes(exec->plan, reached[i].buffer, reached[i].rank),
                 memory[i]);
}

/* Where an address is now; itself if it lies in no user's buffer. */
static void *moved(const moves_t *moves, const void *address) {
    const moved_t *item = moves->list.item;
    const char *at = address;
    void *same;
    for (int i = 0; i < moves->list.count; i++)
        if (at >= item[i].from && at < item[i].from + item[i].bytes)
            return item[i].to + (at - item[i].from);
    memcpy(&same, &address, sizeof same);
    return same;
}

static void move_items(pto_exec_t *exec, const moves_t *moves) {
    pto_exec_move_t *move = exec->moves.item;
    for (int i = 0; i < exec->moves.count; i++) {
        move[i].move.target = moved(moves, move[i].move.target);
        move[i].move.source = moved(moves, move[i].move.source);
    }
    pto_exec_reduction_t *reduction = exec->reductions.item;
    for (int i = 0; i < exec->reductions.count; i++)
        reduction[i].target = moved(moves, reduction[i].target);
    const void **source = exec->sources.item;
    for (int i = 0; i < exec->sources.count; i++)
        source[i] = moved(moves, source[i]);
}

static void move_calls(pto_exec_t *exec, const moves_t *moves) {
    pto_library_call_t *call = exec->calls.item;
    for (int i = 0; i < exec->calls.count; i++) {
        call[i].in = moved(moves, call[i].in);
        call[i].out = moved(moves, call[i].out);
        for (int side = 0; call[i].neighbors && side < 2; side++)
            call[i].neighbors[side].base = moved(moves, call[i].neighbors[side].base);
    }
    pto_nccl_part_t *part = exec->nccl.item;
    for (int i = 0; i < exec->nccl.count; i++) {
        part[i].call.in = moved(moves, part[i].call.in);
        part[i].call.out = moved(moves, part[i].call.out);
    }
}

static pto_status_t move_requests(pto_exec_t *exec, const moves_t *moves, pto_error_t *err) {
    pto_exec_end_t *end = exec->ends.item;
    pto_status_t status = PTO_OK;
    for (int i = 0; i < exec->ends.count && status == PTO_OK; i++) {
        void *at = moved(moves, end[i].at);
        bool same = at == end[i].at;
        end[i].at = at;
        status = same ? PTO_OK : pto_request_make(exec, i, err);
    }
    return status;
}

static pto_status_t move_kernels(pto_exec_t *exec, const moves_t *moves, pto_error_t *err) {
    pto_exec_kernel_t *kernel = exec->kernels.item;
    pto_status_t status = PTO_OK;
    for (int i = 0; i < exec->kernels.count && status == PTO_OK; i++) {
        pto_operand_t *operand = kernel[i].program.operands.item;
        for (int j = 0; j < kernel[i].program.operands.count; j++)
            operand[j].spot.at = moved(moves, operand[j].spot.at);
        status = pto_kernel_rebind(exec, &kernel[i], err);
    }
    return status;
}

static pto_status_t move_addresses(pto_exec_t *exec, const moves_t *moves, pto_error_t *err) {
    for (int b = 0; b < pto_plan_buffer_count(exec->plan); b++)
        exec->bound[b].memory = moved(moves, exec->bound[b].memory);
    move_items(exec, moves);
    move_calls(exec, moves);
    pto_status_t status = move_requests(exec, moves, err);
    return status == PTO_OK ? move_kernels(exec, moves, err) : status;
}

/* Frees the list. If it fails, the other processes use buffers that this one does not know. */
static pto_status_t move_all(pto_exec_t *exec, moves_t *moves, const void *in, void *out, pto_error_t *err) {
    pto_status_t status = moves->failed ? pto_error_set(err, PTO_ERR_MEMORY, "out of memory") : PTO_OK;
    if (status == PTO_OK && moves->list.count > 0)
        status = move_addresses(exec, moves, err);
    free(moves->list.item);
    exec->failed |= status != PTO_OK;
    exec->user_in = in;
    exec->user_out = out;
    return status;
}

/* --- all of it ------------------------------------------------------------------------------------------ */

static pto_status_t rebind(pto_exec_t *exec, const void *in, void *out, visit_t *visits, char **memory,
                           pto_error_t *err) {
    visit_t mine;
    moves_t moves = {.failed = false};
    const pto_reached_t *was = exec->reached.item;
    for (int i = 0; i < exec->reached.count; i++)
        memory[i] = was[i].memory;
    pto_status_t status = make_visit(exec, in, out, &mine, err);
    if (others_use_buffers(exec))
        status = exchange(exec, &mine, visits, memory, err);
    if (status != PTO_OK)
        return status;
    note_own(exec, in, out, &moves);
    note_others(exec, memory, &moves);
    pto_reached_t *reached = exec->reached.item;
    for (int i = 0; i < exec->reached.count; i++)
        reached[i].memory = memory[i];
    return move_all(exec, &moves, in, out, err);
}

pto_status_t pto_exec_rebind(pto_exec_t *exec, const void *in, void *out, pto_error_t *err) {
    pto_error_t ignored;
    visit_t *visits = calloc((size_t)exec->job.size, sizeof *visits);
    char **memory = calloc((size_t)exec->reached.count + 1, sizeof *memory);
    if (!err)
        err = &ignored;
    if (!exec->under_way)
        atomic_store(&exec->watchdog.began_ns, pto_now_ns());
    pto_status_t status = visits && memory ? rebind(exec, in, out, visits, memory, err)
                                           : pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    if (!exec->under_way)
        atomic_store(&exec->watchdog.began_ns, 0);
    free(visits);
    free(memory);
    return status;
}

pto_status_t pto_exec_rebind_private(pto_exec_t *exec, const void *in, void *out, pto_error_t *err) {
    moves_t moves = {.failed = false};
    if (in == exec->user_in && out == exec->user_out)
        return PTO_OK;
    pto_status_t status = may_rebind(exec, in, out, err);
    if (status != PTO_OK)
        return status;
    if ((in != exec->user_in && !pto_exec_user_is_private(exec, PTO_ROLE_IN)) ||
        (out != exec->user_out && !pto_exec_user_is_private(exec, PTO_ROLE_OUT)))
        return pto_error_set(err, PTO_ERR_RANGE,
                             "other processes or NCCL use the buffer, so all must call pto_exec_rebind");
    if ((!in && exec->user_in) || (!out && exec->user_out))
        return pto_error_set(err, PTO_ERR_RANGE, "a buffer is NULL");
    note_own(exec, in, out, &moves);
    return move_all(exec, &moves, in, out, err);
}

pto_status_t pto_exec_enqueue_on(pto_exec_t *exec, const void *in, void *out, void *stream,
                                 pto_error_t *err) {
    pto_status_t status = pto_exec_rebind_private(exec, in, out, err);
    return status == PTO_OK ? pto_exec_enqueue(exec, stream, err) : status;
}
