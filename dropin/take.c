/* An intercepted call from beginning to end: the checks, the vote of the processes, the route, and the run.
 * intercept.c calls drop_take before MPI's function and drop_finish after it. */
#include "base/clock.h"
#include "base/hash.h"
#include "dropin.h"

/* --- a communicator's routes ---------------------------------------------------------------------------- */

/* Returns a digest of the part of a key that is equal on all processes; never 0. */
static uint64_t key_digest(const drop_key_t *key) {
    const uint64_t fields[] = {
        (uint64_t)key->collective, (uint64_t)key->datatype, (uint64_t)key->op, (uint64_t)key->root,
        (uint64_t)key->bytes,      key->in_place,           key->in_host};
    uint64_t digest = PTO_HASH_START;
    if (key->collective == PTO_COLLECTIVE_ALLGATHERV)
        digest = pto_hash_add(digest, key->counts);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        digest = pto_hash_add(digest, fields[i]);
    return digest | 1;
}

static bool equal_keys(const drop_key_t *a, const drop_key_t *b) {
    return a->collective == b->collective && a->datatype == b->datatype && a->op == b->op &&
           a->root == b->root && a->bytes == b->bytes && a->in_place == b->in_place &&
           a->in_host == b->in_host && a->counts == b->counts;
}

static drop_route_t *find_route(const drop_comm_t *comm, const drop_key_t *key) {
    drop_route_t *route = comm->routes;
    while (route && !equal_keys(&route->key, key))
        route = route->next;
    return route;
}

/* Collective. All processes use routes in the same order, so all evict the same one. */
static void evict_oldest(drop_comm_t *comm) {
    drop_route_t **oldest = &comm->routes;
    for (drop_route_t **link = &comm->routes; *link; link = &(*link)->next)
        if ((*link)->used < (*oldest)->used)
            oldest = link;
    drop_route_t *route = *oldest;
    *oldest = route->next;
    drop_route_destroy(route);
}

static bool is_full(const drop_comm_t *comm) {
    int64_t bytes = 0;
    int count = 0;
    for (const drop_route_t *route = comm->routes; route; route = route->next) {
        bytes += route->footprint_bytes;
        count++;
    }
    return count > 1 && (count > drop.plans_max || bytes > drop.bytes_max);
}

/* Collective, unless the program is multithreaded. NULL: out of memory, or too many plans. */
static drop_route_t *add_route(drop_comm_t *comm, const drop_call_t *call, const drop_key_t *key) {
    drop_route_t *made = NULL;
    if (drop.multithreaded)
        made = drop_route_create_alone(comm, key);
    else if (!key->in_host || drop_host_may_plan(comm, call))
        made = drop_route_create(comm, call, key);
    if (!made)
        return NULL;
    if (key->in_host && made->method == DROP_BY_MPI)
        drop_host_leave(comm, call);
    made->number = ++comm->routes_made;
    made->used = comm->calls;
    made->next = comm->routes;
    comm->routes = made;
    while (comm->routes && is_full(comm))
        evict_oldest(comm);
    return made;
}

/* Remembers these counts. Returns whether they had been seen: a plan that is used once does not pay. */
static bool were_counts_seen(drop_comm_t *comm, uint64_t counts) {
    for (int i = 0; i < DROP_COUNTS_KEPT; i++)
        if (comm->counts_seen[i] == counts)
            return true;
    comm->counts_seen[comm->counts_next++ % DROP_COUNTS_KEPT] = counts;
    return false;
}

/* Between nodes a vote takes an allreduce, which costs more than a smaller call on GPU buffers can gain. */
enum { VOTE_BYTES_MIN = 65536 };

/* Returns whether any process may want to take the call over, so that a vote is needed. The answer depends
 * only on what all processes know: the size of the call, not the memory of its buffers. */
static bool may_be_taken(const drop_comm_t *comm, const drop_call_t *call) {
    int64_t bytes = drop_call_bytes(call, comm->size);
    bool on_gpus = (comm->kinds & DROP_KIND_GPU) && !drop.assumes_host && !comm->gpus.why_not;
    if (on_gpus && (drop.forces_messages || bytes < 0 || bytes >= VOTE_BYTES_MIN))
        return true;
    return !call->why_not_host;
}

/* Votes, and returns whether all processes can take the call over. No vote is needed where the user promises
 * that all buffers are in the same kind of memory. */
static bool agree(const drop_comm_t *comm, const drop_call_t *call, bool can, drop_vote_t vote,
                  bool *have_plan) {
    if (comm->board && can)
        return drop_board_vote(comm->board, comm->comm, vote, have_plan);
    if (comm->board) {
        drop_board_decline(comm->board, comm->comm);
        return false;
    }
    bool promised = drop.assumes_gpu || drop.assumes_host;
    if (promised && drop_call_bytes(call, comm->size) >= 0 && !drop.forces_messages) {
        *have_plan = vote.plan != 0;
        return can;
    }
    if (!may_be_taken(comm, call))
        return false;
    bool all = drop_messages_vote(comm->comm, can ? vote : (drop_vote_t){0}, have_plan);
    if (!call->why_not_host)
        drop_host_note_agreement(comm, call, all);
    return all;
}

/* --- running -------------------------------------------------------------------------------------------- */

/* Returns the input; for an allgather in place, this process's block of the output. */
static const char *input_of(const drop_call_t *call, const drop_comm_t *comm, const drop_route_t *route) {
    const char *out = call->out;
    if (call->in != MPI_IN_PLACE)
        return call->in;
    if (call->collective == PTO_COLLECTIVE_ALLGATHERV)
        return out + drop_peer_offset(&call->out_counts, call->out_type, comm->rank);
    return call->collective == PTO_COLLECTIVE_ALLGATHER ? out + comm->rank * route->key.bytes : out;
}

static pto_status_t copy(const drop_route_t *route, void *to, const void *from, int64_t bytes,
                         pto_error_t *err) {
    pto_move_t move = {to, from, (size_t)bytes, 1, (size_t)bytes, (size_t)bytes};
    return bytes > 0 ? route->device->copy(&move, route->stream, err) : PTO_OK;
}

/* A copy between the program's buffer and the executor's, in either direction. */
typedef struct {
    char *to;
    const char *from;
    bool into_executor;
} transfer_t;

/* Copies the blocks of all peers, which are contiguous in the executor's buffer and may be anywhere in the
 * program's. Blocks that are adjacent in both are one copy. */
static pto_status_t copy_peer_blocks(const drop_route_t *route, const drop_counts_t *counts,
                                     MPI_Datatype type, int size, transfer_t way, pto_error_t *err) {
    int64_t exec_at = 0;
    pto_status_t status = PTO_OK;
    for (int i = 0; i < size && status == PTO_OK;) {
        int64_t user_at = drop_peer_offset(counts, type, i), bytes = 0;
        for (; i < size; i++) {
            int64_t block_bytes = drop_peer_bytes(counts, type, i);
            if (block_bytes > 0 && drop_peer_offset(counts, type, i) != user_at + bytes)
                break;
            bytes += block_bytes;
        }
        status = copy(route, way.to + (way.into_executor ? exec_at : user_at),
                      way.from + (way.into_executor ? user_at : exec_at), bytes, err);
        exec_at += bytes;
    }
    return status;
}

/* Copies equal blocks, one for each process: in the program's buffer by rank, in the executor's by place. */
static pto_status_t copy_blocks(const drop_route_t *route, const drop_comm_t *comm, int64_t all_bytes,
                                transfer_t way, pto_error_t *err) {
    const drop_layout_t *layout = drop_layout_for(comm, &route->key);
    size_t bytes = (size_t)(all_bytes / comm->size);
    pto_status_t status = PTO_OK;
    int rank_stride, count;
    for (int place = 0; place < comm->size && status == PTO_OK; place += count) {
        count = drop_layout_blocks(layout, comm->size, place, &rank_stride);
        size_t exec_at = (size_t)place * bytes, user_at = (size_t)layout->rank_at[place] * bytes;
        size_t pitch = count > 1 ? (size_t)rank_stride * bytes : bytes;
        pto_move_t move = {way.to + user_at, way.from + exec_at, bytes, (size_t)count, pitch, bytes};
        if (way.into_executor)
            move = (pto_move_t){way.to + exec_at, way.from + user_at, bytes, (size_t)count, bytes, pitch};
        status = route->device->copy(&move, route->stream, err);
    }
    return status;
}

static pto_status_t copy_in(const drop_call_t *call, const drop_comm_t *comm, const drop_route_t *route,
                            pto_error_t *err) {
    const char *from = input_of(call, comm, route);
    const transfer_t way = {route->buffer[0], from, .into_executor = true};
    bool in_place = call->in == MPI_IN_PLACE;
    if (call->collective == PTO_COLLECTIVE_ALLTOALLV)
        return copy_peer_blocks(route, in_place ? &call->out_counts : &call->in_counts,
                                in_place ? call->out_type : call->in_type, comm->size, way, err);
    if (route->buffer[0] && route->permuted[0])
        return copy_blocks(route, comm, route->buffer_bytes[0], way, err);
    return route->buffer[0] ? copy(route, route->buffer[0], from, route->buffer_bytes[0], err) : PTO_OK;
}

static pto_status_t copy_out(const drop_call_t *call, const drop_comm_t *comm, const drop_route_t *route,
                             pto_error_t *err) {
    const transfer_t way = {call->out, route->buffer[1], .into_executor = false};
    if (drop_has_displs(&call->out_counts))
        return copy_peer_blocks(route, &call->out_counts, call->out_type, comm->size, way, err);
    if (route->buffer[1] && route->permuted[1])
        return copy_blocks(route, comm, route->buffer_bytes[1], way, err);
    return route->buffer[1] ? copy(route, call->out, route->buffer[1], route->buffer_bytes[1], err) : PTO_OK;
}

/* After a failed run, the other processes may still wait for this one. The program's error handler decides
 * what happens: by default, the job is aborted. */
static int report_failure(const drop_task_t *task, const pto_error_t *err) {
    fprintf(stderr, "portolan: %s by %s: %s\n", task->call.routine, task->route->name, err->message);
    MPI_Comm_call_errhandler(task->call.comm, MPI_ERR_OTHER);
    return MPI_ERR_OTHER;
}

static bool is_root_of_bcast(const drop_call_t *call, const drop_comm_t *comm) {
    return call->collective == PTO_COLLECTIVE_BROADCAST && call->root == comm->rank;
}

/* Chooses the buffers that the executor reads and writes: the program's where possible. An input in place is
 * copied, so that no block is overwritten before it is read, unless the plan works in place (one_buffer). */
static void choose_buffers(const drop_call_t *call, const drop_comm_t *comm, const drop_route_t *route,
                           const void **in, void **out) {
    bool one_buffer = route->buffer[0] && route->buffer[0] == route->buffer[1];
    bool direct = route->direct[0] && route->direct[1];
    bool one_user_buffer = call->in == call->out && call->collective != PTO_COLLECTIVE_BROADCAST;
    bool in_place = call->in == MPI_IN_PLACE || one_user_buffer;
    bool reads_in = one_buffer ? direct : route->direct[0] && !in_place;
    bool writes_out = one_buffer ? direct : route->direct[1];
    *in = route->buffer[0] && reads_in && drop_call_packed(call, 0, comm->size) ? input_of(call, comm, route)
                                                                                : route->buffer[0];
    *out = route->buffer[1] && writes_out && drop_call_packed(call, 1, comm->size) ? call->out
                                                                                   : route->buffer[1];
}

static pto_status_t run(const drop_call_t *call, const drop_comm_t *comm, const drop_route_t *route,
                        pto_error_t *err) {
    const void *in;
    void *out;
    choose_buffers(call, comm, route, &in, &out);
    bool copies_in = in && in == route->buffer[0];
    bool copies_out = out && out == route->buffer[1] && !is_root_of_bcast(call, comm);
    pto_status_t status = pto_exec_rebind_private(route->exec, in, out, err);
    if (status == PTO_OK && copies_in)
        status = copy_in(call, comm, route, err);
    if (status == PTO_OK && copies_in)
        status = pto_exec_follow(route->exec, route->stream, err);
    if (status == PTO_OK)
        status = pto_exec_run(route->exec, err);
    if (status == PTO_OK && copies_out)
        status = copy_out(call, comm, route, err);
    return status == PTO_OK && copies_out ? route->device->finish(route->stream, err) : status;
}

/* Gives MPI copies in host memory instead of the program's buffers. A call in place stays in place, as its
 * input's arguments may be garbage. But the output of a reduce_scatter has no room for its input. */
static pto_status_t stage(drop_task_t *task, pto_error_t *err) {
    const drop_call_t *call = &task->call;
    const drop_route_t *route = task->route;
    bool in_place = call->in == MPI_IN_PLACE && call->collective != PTO_COLLECTIVE_REDUCE_SCATTER;
    const char *from = input_of(call, task->comm, route);
    char *to = route->buffer[in_place ? 1 : 0];
    pto_status_t status = PTO_OK;
    task->mpi_call.out = route->buffer[is_root_of_bcast(call, task->comm) ? 0 : 1];
    if (!in_place)
        task->mpi_call.in = route->buffer[0];
    else if (call->collective == PTO_COLLECTIVE_ALLGATHER)
        to += task->comm->rank * route->key.bytes;
    if (to)
        status = copy(route, to, from, route->buffer_bytes[0], err);
    return status == PTO_OK ? route->device->finish(route->stream, err) : status;
}

/* Copies MPI's result back from host memory. */
static pto_status_t unstage(const drop_task_t *task, pto_error_t *err) {
    if (is_root_of_bcast(&task->call, task->comm))
        return PTO_OK;
    pto_status_t status = copy_out(&task->call, task->comm, task->route, err);
    return status == PTO_OK ? task->route->device->finish(task->route->stream, err) : status;
}

/* Returns a buffer that this process passes in any case, and which tells its GPU. */
static const void *buffer_on_gpu(const drop_call_t *call, const drop_comm_t *comm) {
    bool by_in = call->in != MPI_IN_PLACE && call->collective != PTO_COLLECTIVE_BROADCAST &&
                 call->collective != PTO_COLLECTIVE_ALLGATHERV;
    return by_in && (call->collective != PTO_COLLECTIVE_REDUCE || comm->rank != call->root) ? call->in
                                                                                            : call->out;
}

/* --- routes of calls ------------------------------------------------------------------------------------ */

/* If this process knows that the call is left to MPI, it votes no and does not wait for the others' votes. */
static bool leave_at_once(const drop_comm_t *comm, drop_route_t *known, drop_task_t *task) {
    if (!known || known->method != DROP_BY_MPI)
        return false;
    bool have_plan;
    agree(comm, &task->call, false, (drop_vote_t){0}, &have_plan);
    task->route = known;
    return true;
}

/* Votes on the call. Returns the route that all processes take, NULL if the call is left to MPI. `known` is
 * this process's route for the key; NULL: none. */
static drop_route_t *agreed_route(drop_comm_t *comm, const drop_key_t *key, drop_route_t *known, bool can,
                                  uint64_t gpu, drop_task_t *task) {
    const drop_call_t *call = &task->call;
    drop_route_t *route = can ? known : NULL;
    drop_vote_t vote = {key_digest(key), route ? route->number : 0};
    bool have_plan = false;
    if (!agree(comm, call, can, vote, &have_plan)) {
        task->why_not = task->why_not ? task->why_not : "other processes cannot take it";
        return NULL;
    }
    if (!key->in_host && !comm->gpus.found)
        drop_comm_find_gpus(comm, gpu);
    task->why_not = drop_layout_for(comm, key)->why_not;
    if (task->why_not && !drop.takes_host)
        comm->why_not = task->why_not;
    if (!task->why_not && !have_plan)
        route = add_route(comm, call, key);
    if (!task->why_not && !route)
        task->why_not = "no more plans";
    if (task->why_not)
        return NULL;
    route->used = comm->calls;
    return route;
}

static void execute(drop_task_t *task) {
    pto_error_t err = {.message = "failed"};
    if (task->route->method == DROP_BY_MPI || task->turn == DROP_TURN_MPI)
        return;
    bool by_plan = task->route->method == DROP_BY_PLAN;
    pto_status_t status = by_plan ? run(&task->call, task->comm, task->route, &err) : stage(task, &err);
    task->done = by_plan || status != PTO_OK;
    task->code = status == PTO_OK ? MPI_SUCCESS : report_failure(task, &err);
}

/* Makes the context of the call's buffers the current one. False: the buffers are not on the GPU that this
 * process had in the communicator's first call. */
static bool enter_gpu(const drop_task_t *task, uint64_t *gpu) {
    if (!drop_gpu_enter(buffer_on_gpu(&task->call, task->comm), gpu))
        return false;
    if (!task->comm->gpus.found || task->comm->gpu == *gpu)
        return true;
    drop_gpu_leave();
    return false;
}

/* Returns whether this process can take the call over; the vote tells whether the others can. */
static bool can_take(drop_task_t *task, drop_key_t *key) {
    drop_comm_t *comm = task->comm;
    if (!drop_call_key(comm, &task->call, key, &task->why_not))
        return false;
    if (key->in_host)
        return true;
    task->why_not = comm->gpus.why_not;
    if (!task->why_not && key->counts != 0 && !were_counts_seen(comm, key->counts))
        task->why_not = "counts not seen before";
    return !task->why_not;
}

/* Returns whether this process can pass copies in host memory to MPI, which the other processes do not
 * notice. The output of a reduce_scatter in place has no room for a copy of its input. */
static bool can_stage_alone(drop_task_t *task, drop_key_t *key) {
    const drop_call_t *call = &task->call;
    if (!drop_call_key(task->comm, call, key, &task->why_not))
        return false;
    if (key->counts != 0)
        task->why_not = "several threads, and counts that differ";
    else if (key->collective == PTO_COLLECTIVE_REDUCE_SCATTER && call->in == MPI_IN_PLACE)
        task->why_not = "several threads, and a reduce_scatter in place";
    return !task->why_not;
}

/* In a multithreaded program, a plan or a vote could deadlock: the threads of two processes may call
 * collectives on two communicators in different orders. So a process only does what needs no other one: it
 * stages through host memory or leaves the call to MPI. */
static void take_alone(drop_task_t *task) {
    drop_comm_t *comm = task->comm;
    drop_key_t key;
    uint64_t gpu = 0;
    task->call.why_not_host = "buffers in host memory";
    if (!can_stage_alone(task, &key))
        return;
    drop_route_t *route = find_route(comm, &key);
    if (route && route->method == DROP_BY_MPI) {
        task->route = route;
        return;
    }
    if (!enter_gpu(task, &gpu)) {
        task->why_not = "memory of another GPU or of none";
        return;
    }
    if (!comm->gpus.found && !drop_comm_guess_gpus(comm, gpu))
        comm->why_not = "out of memory";
    task->why_not = comm->gpus.why_not;
    if (!task->why_not && !route)
        route = add_route(comm, &task->call, &key);
    if (!task->why_not && route) {
        route->used = comm->calls;
        task->route = route;
        execute(task);
    }
    drop_gpu_leave();
}

/* Begins the timing of a call. On the plan's turn, the preparation of a call is repeated within the timed
 * interval, since every later call by the plan pays it. */
static void begin_trial_call(drop_task_t *task, const drop_key_t *key) {
    drop_route_t *route = task->route;
    const char *why_not;
    drop_key_t again;
    bool have_plan;
    task->turn = drop_trial_begin(task->comm, route);
    if (task->turn != DROP_TURN_PLAN)
        return;
    drop_call_key(task->comm, &task->call, &again, &why_not);
    agree(task->comm, &task->call, true, (drop_vote_t){key_digest(key), route->number}, &have_plan);
}

/* Returns the route of a call that is left to MPI wherever its buffers are; NULL: it may be taken over. This
 * avoids the slowest step, asking CUDA's driver for the memory of the buffers. It works only for collectives
 * that do not reduce, whose keys do not depend on the datatype. */
static drop_route_t *find_route_by_mpi(const drop_comm_t *comm, const drop_call_t *call) {
    bool plain = call->collective == PTO_COLLECTIVE_BROADCAST ||
                 call->collective == PTO_COLLECTIVE_ALLGATHER || call->collective == PTO_COLLECTIVE_ALLTOALL;
    if (!plain || !call->why_not_host || drop_reports || !comm->routes)
        return NULL;
    const drop_key_t key = {.collective = call->collective,
                            .datatype = PTO_DATATYPE_BYTE,
                            .op = PTO_OP_SUM,
                            .root = call->root,
                            .bytes = drop_call_bytes(call, comm->size)};
    drop_route_t *route = find_route(comm, &key);
    return route && route->method == DROP_BY_MPI ? route : NULL;
}

void drop_take(drop_task_t *task) {
    drop_key_t key;
    uint64_t gpu = 0;
    drop_comm_t *comm = drop_comm_of(task->call.comm);
    task->comm = comm;
    task->began_s = drop_reports ? pto_now_s() : 0;
    task->mpi_call = task->call;
    if (!comm || comm->why_not) {
        task->why_not = comm ? comm->why_not : "no communicator";
        return;
    }
    comm->calls++;
    if (drop.multithreaded) {
        take_alone(task);
        return;
    }
    /* Nothing above depends on a process's own arguments, so that all processes of the call come here. */
    task->call.why_not_host = drop_host_why_not(comm, &task->call);
    /* Without GPU buffers, all processes know that the call is left to MPI, and none waits for a vote. */
    if (!(comm->kinds & DROP_KIND_GPU) && task->call.why_not_host) {
        task->why_not = task->call.why_not_host;
        return;
    }
    if (leave_at_once(comm, find_route_by_mpi(comm, &task->call), task))
        return;
    bool can = can_take(task, &key);
    drop_route_t *known = can ? find_route(comm, &key) : NULL;
    if (leave_at_once(comm, known, task))
        return;
    bool enters = can && !key.in_host;
    if (enters && !enter_gpu(task, &gpu)) {
        task->why_not = "memory of another GPU or of none";
        enters = can = false;
    }
    task->route = agreed_route(comm, &key, known, can, gpu, task);
    if (task->route && drop_trial_is_on(task->route))
        begin_trial_call(task, &key);
    if (task->route)
        execute(task);
    if (enters)
        drop_gpu_leave();
}

static bool is_staged(const drop_task_t *task) {
    return !task->done && task->route && task->route->method == DROP_STAGED && task->turn != DROP_TURN_MPI;
}

int drop_finish(drop_task_t *task, int code) {
    pto_error_t err = {.message = "failed"};
    uint64_t gpu;
    if (is_staged(task) && code == MPI_SUCCESS) {
        bool entered = drop_gpu_enter(buffer_on_gpu(&task->call, task->comm), &gpu);
        if (!entered || unstage(task, &err) != PTO_OK)
            code = report_failure(task, &err);
        if (entered)
            drop_gpu_leave();
    }
    if (task->turn != DROP_NO_TRIAL && code == MPI_SUCCESS)
        drop_trial_end(task->comm, task->route);
    if (drop_reports)
        drop_report(task, pto_now_s());
    return code;
}
