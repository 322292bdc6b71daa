/* A call from beginning to end. */

#include "base/clock.h"
#include "base/hash.h"
#include "dropin.h"

/* --- routes that a communicator keeps ------------------------------------------------------------------- */

static uint64_t cell_digest(const drop_cell_t *cell) {
    const uint64_t fields[] = {
        (uint64_t)cell->collective, (uint64_t)cell->datatype, (uint64_t)cell->op, (uint64_t)cell->root,
        (uint64_t)cell->bytes,      cell->in_place,           cell->in_host};
    uint64_t digest = PTO_HASH_START;
    if (cell->collective == PTO_COLLECTIVE_ALLGATHERV)
        digest = pto_hash_add(digest, cell->counts);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        digest = pto_hash_add(digest, fields[i]);
    return digest | 1;
}

static bool is_same(const drop_cell_t *a, const drop_cell_t *b) {
    return a->collective == b->collective && a->datatype == b->datatype && a->op == b->op &&
           a->root == b->root && a->bytes == b->bytes && a->in_place == b->in_place &&
           a->in_host == b->in_host && a->counts == b->counts;
}

static drop_route_t *find_route(const drop_comm_t *comm, const drop_cell_t *cell) {
    drop_route_t *route = comm->routes;
    while (route && !is_same(&route->cell, cell))
        route = route->next;
    return route;
}

/* Collective: all processes use routes in the same order, so that the oldest is the same for all. */
static void drop_oldest(drop_comm_t *comm) {
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
        bytes += route->held_bytes;
        count++;
    }
    return count > 1 && (count > drop.plans_max || bytes > drop.bytes_max);
}

/* Collective, unless processes act alone. */
static drop_route_t *add_route(drop_comm_t *comm, const drop_call_t *call, const drop_cell_t *cell) {
    drop_route_t *made = NULL;
    if (drop.by_threads)
        made = drop_route_create_alone(comm, cell);
    else if (!cell->in_host || drop_host_may_plan(comm, call))
        made = drop_route_create(comm, call, cell);
    if (!made)
        return NULL;
    if (cell->in_host && made->way == DROP_BY_MPI)
        drop_host_leave(comm, call);
    made->number = ++comm->routes_made;
    made->used = comm->calls;
    made->next = comm->routes;
    comm->routes = made;
    while (comm->routes && is_full(comm))
        drop_oldest(comm);
    return made;
}

/* Returns whether an alltoallv or allgatherv has had this process's counts before: a plan that is used once
 * does not pay. */
static bool is_repeated(drop_comm_t *comm, uint64_t counts) {
    for (int i = 0; i < DROP_COUNTS_KEPT; i++)
        if (comm->counts_seen[i] == counts)
            return true;
    comm->counts_seen[comm->counts_next++ % DROP_COUNTS_KEPT] = counts;
    return false;
}

/* --- agreement ------------------------------------------------------------------------------------------ */

/* Between nodes agreement takes a message, which small calls on GPU buffers cannot pay for. */
enum { AGREE_BYTES_LEAST = 65536 };

/* Returns whether some process may offer to take the call. All processes know the same of it: its bytes, and
 * nothing of the others' memory. */
static bool may_be_offered(const drop_comm_t *comm, const drop_call_t *call) {
    int64_t bytes = drop_call_bytes(call, comm->size);
    bool on_gpus = (comm->kinds & DROP_KIND_GPU) && !drop.assumes_host && !comm->gpus.why;
    if (on_gpus && (drop.by_messages || bytes < 0 || bytes >= AGREE_BYTES_LEAST))
        return true;
    return !call->why_not_host;
}

static bool agree(const drop_comm_t *comm, const drop_call_t *call, bool can, drop_offer_t offer,
                  bool *have_plan) {
    if (comm->board && can)
        return drop_board_offer(comm->board, comm->comm, offer, have_plan);
    if (comm->board) {
        drop_board_decline(comm->board, comm->comm);
        return false;
    }
    bool promised = drop.assumes_gpu || drop.assumes_host;
    if (promised && drop_call_bytes(call, comm->size) >= 0 && !drop.by_messages) {
        *have_plan = offer.plan != 0;
        return can;
    }
    if (!may_be_offered(comm, call))
        return false;
    bool all = drop_messages_offer(comm->comm, can ? offer : (drop_offer_t){0}, have_plan);
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
        return out + drop_row_place(&call->out_rows, call->out_type, comm->rank);
    return call->collective == PTO_COLLECTIVE_ALLGATHER ? out + comm->rank * route->cell.bytes : out;
}

static pto_status_t copy(const drop_route_t *route, void *to, const void *from, int64_t bytes,
                         pto_error_t *err) {
    pto_move_t move = {to, from, (size_t)bytes, 1, (size_t)bytes, (size_t)bytes};
    return bytes > 0 ? route->device->copy(&move, route->stream, err) : PTO_OK;
}

/* Between the program's buffer, with gaps and in any order, and the executor's, where the blocks
 * are one after the other. Neighbors in both are one copy. */
static pto_status_t copy_rows(const drop_route_t *route, const drop_rows_t *rows, MPI_Datatype type, int size,
                              char *to, const char *from, bool inwards, pto_error_t *err) {
    int64_t own_at = 0, user_at = 0, bytes = 0;
    pto_status_t status = PTO_OK;
    for (int i = 0; i <= size && status == PTO_OK; i++) {
        int64_t more = i < size ? drop_row_bytes(rows, type, i) : 0;
        int64_t place = more > 0 ? drop_row_place(rows, type, i) : user_at + bytes;
        if ((i == size || place != user_at + bytes) && bytes > 0)
            status = copy(route, to + (inwards ? own_at : user_at), from + (inwards ? user_at : own_at),
                          bytes, err);
        if (i == size || place != user_at + bytes) {
            own_at += bytes;
            user_at = place;
            bytes = 0;
        }
        bytes += more;
    }
    return status;
}

/* Copies equal blocks, one for each process. They are in the order of ranks in the program's buffer, and in
 * that of places in the executor's. */
static pto_status_t copy_blocks(const drop_route_t *route, const drop_comm_t *comm, int64_t all_bytes,
                                char *to, const char *from, bool inwards, pto_error_t *err) {
    const drop_layout_t *layout = drop_layout_for(comm, &route->cell);
    size_t bytes = (size_t)(all_bytes / comm->size);
    pto_status_t status = PTO_OK;
    int apart, count;
    for (int place = 0; place < comm->size && status == PTO_OK; place += count) {
        count = drop_layout_run(layout, comm->size, place, &apart);
        size_t own_at = (size_t)place * bytes, user_at = (size_t)layout->rank_at[place] * bytes;
        size_t pitch = count > 1 ? (size_t)apart * bytes : bytes;
        pto_move_t move = {to + (inwards ? own_at : user_at),
                           from + (inwards ? user_at : own_at),
                           bytes,
                           (size_t)count,
                           inwards ? bytes : pitch,
                           inwards ? pitch : bytes};
        status = route->device->copy(&move, route->stream, err);
    }
    return status;
}

static pto_status_t copy_in(const drop_call_t *call, const drop_comm_t *comm, const drop_route_t *route,
                            pto_error_t *err) {
    const char *from = input_of(call, comm, route);
    bool in_place = call->in == MPI_IN_PLACE;
    if (call->collective == PTO_COLLECTIVE_ALLTOALLV)
        return copy_rows(route, in_place ? &call->out_rows : &call->in_rows,
                         in_place ? call->out_type : call->in_type, comm->size, route->own[0], from, true,
                         err);
    if (route->own[0] && route->permuted[0])
        return copy_blocks(route, comm, route->own_bytes[0], route->own[0], from, true, err);
    return route->own[0] ? copy(route, route->own[0], from, route->own_bytes[0], err) : PTO_OK;
}

static pto_status_t copy_out(const drop_call_t *call, const drop_comm_t *comm, const drop_route_t *route,
                             pto_error_t *err) {
    if (drop_has_rows(&call->out_rows))
        return copy_rows(route, &call->out_rows, call->out_type, comm->size, call->out, route->own[1], false,
                         err);
    if (route->own[1] && route->permuted[1])
        return copy_blocks(route, comm, route->own_bytes[1], call->out, route->own[1], false, err);
    return route->own[1] ? copy(route, call->out, route->own[1], route->own_bytes[1], err) : PTO_OK;
}

/* A process whose run failed cannot go on as if nothing had happened: the others wait for it. The program's
 * error handler decides what becomes of it. */
static int fail(const drop_taken_t *taken, const pto_error_t *err) {
    fprintf(stderr, "portolan: %s by %s: %s\n", taken->given.routine, taken->route->name, err->message);
    MPI_Comm_call_errhandler(taken->given.comm, MPI_ERR_OTHER);
    return MPI_ERR_OTHER;
}

/* --- all of it ------------------------------------------------------------------------------------------ */

static bool is_root_of_bcast(const drop_call_t *call, const drop_comm_t *comm) {
    return call->collective == PTO_COLLECTIVE_BROADCAST && call->root == comm->rank;
}

/* Choose the buffers that the executor reads and writes: the program's where possible, and its own elsewhere.
 * In place, blocks must be read before they are overwritten. */
static void choose_buffers(const drop_call_t *call, const drop_comm_t *comm, const drop_route_t *route,
                           const void **in, void **out) {
    bool one_buffer = route->own[0] && route->own[0] == route->own[1];
    bool direct = route->direct[0] && route->direct[1];
    bool is_same = call->in == call->out && call->collective != PTO_COLLECTIVE_BROADCAST;
    bool in_place = call->in == MPI_IN_PLACE || is_same;
    bool reads_in = one_buffer ? direct : route->direct[0] && !in_place;
    bool writes_out = one_buffer ? direct : route->direct[1];
    *in = route->own[0] && reads_in && drop_call_packed(call, 0, comm->size) ? input_of(call, comm, route)
                                                                             : route->own[0];
    *out = route->own[1] && writes_out && drop_call_packed(call, 1, comm->size) ? call->out : route->own[1];
}

static pto_status_t run(const drop_call_t *call, const drop_comm_t *comm, const drop_route_t *route,
                        pto_error_t *err) {
    const void *in;
    void *out;
    choose_buffers(call, comm, route, &in, &out);
    bool copies_in = in && in == route->own[0];
    bool copies_out = out && out == route->own[1] && !is_root_of_bcast(call, comm);
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

/* MPI gets copies in host memory instead of the program's buffers. In place stays in place, as the arguments
 * for the input may be garbage; a reduce_scatter has none, and a copy of its output that is too small. */
static pto_status_t stage(drop_taken_t *taken, pto_error_t *err) {
    const drop_call_t *given = &taken->given;
    const drop_route_t *route = taken->route;
    bool in_place = given->in == MPI_IN_PLACE && given->collective != PTO_COLLECTIVE_REDUCE_SCATTER;
    const char *from = input_of(given, taken->comm, route);
    char *to = route->own[in_place ? 1 : 0];
    pto_status_t status = PTO_OK;
    taken->call.out = route->own[is_root_of_bcast(given, taken->comm) ? 0 : 1];
    if (!in_place)
        taken->call.in = route->own[0];
    else if (given->collective == PTO_COLLECTIVE_ALLGATHER)
        to += taken->comm->rank * route->cell.bytes;
    if (to)
        status = copy(route, to, from, route->own_bytes[0], err);
    return status == PTO_OK ? route->device->finish(route->stream, err) : status;
}

/* After MPI's function on these copies. */
static pto_status_t unstage(const drop_taken_t *taken, pto_error_t *err) {
    if (is_root_of_bcast(&taken->given, taken->comm))
        return PTO_OK;
    pto_status_t status = copy_out(&taken->given, taken->comm, taken->route, err);
    return status == PTO_OK ? taken->route->device->finish(taken->route->stream, err) : status;
}

/* The program's memory that tells the GPU. */
static const void *buffer_of(const drop_call_t *call, const drop_comm_t *comm) {
    bool by_in = call->in != MPI_IN_PLACE && call->collective != PTO_COLLECTIVE_BROADCAST &&
                 call->collective != PTO_COLLECTIVE_ALLGATHERV;
    return by_in && (call->collective != PTO_COLLECTIVE_REDUCE || comm->rank != call->root) ? call->in
                                                                                            : call->out;
}

/* A call that this process knows to be MPI's is, whatever the others can do: it does not wait for them. */
static bool is_known_as_mpis(const drop_comm_t *comm, drop_route_t *known, drop_taken_t *taken) {
    if (!known || known->way != DROP_BY_MPI)
        return false;
    bool have_plan;
    agree(comm, &taken->given, false, (drop_offer_t){0}, &have_plan);
    taken->route = known;
    return true;
}

/* `known` is this process's route for the cell; NULL: none. */
static drop_route_t *agreed_route(drop_comm_t *comm, const drop_cell_t *cell, drop_route_t *known, bool can,
                                  uint64_t gpu, drop_taken_t *taken) {
    const drop_call_t *call = &taken->given;
    drop_route_t *route = can ? known : NULL;
    drop_offer_t offer = {cell_digest(cell), route ? route->number : 0};
    bool have_plan = false;
    if (!agree(comm, call, can, offer, &have_plan)) {
        taken->why = taken->why ? taken->why : "other processes cannot take it";
        return NULL;
    }
    if (!cell->in_host && !comm->gpus.found)
        drop_comm_find_gpus(comm, gpu);
    taken->why = drop_layout_for(comm, cell)->why;
    if (taken->why && !drop.takes_host)
        comm->why = taken->why;
    if (!taken->why && !have_plan)
        route = add_route(comm, call, cell);
    if (!taken->why && !route)
        taken->why = "no more plans";
    if (taken->why)
        return NULL;
    route->used = comm->calls;
    return route;
}

static void act(drop_taken_t *taken) {
    pto_error_t err = {.message = "failed"};
    if (taken->route->way == DROP_BY_MPI || taken->turn == DROP_TURN_MPI)
        return;
    bool by_plan = taken->route->way == DROP_BY_PLAN;
    pto_status_t status = by_plan ? run(&taken->given, taken->comm, taken->route, &err) : stage(taken, &err);
    taken->done = by_plan || status != PTO_OK;
    taken->code = status == PTO_OK ? MPI_SUCCESS : fail(taken, &err);
}

/* Returns whether the memory is on the GPU that this process had in the communicator's first call. */
static bool enter_gpu(const drop_taken_t *taken, uint64_t *gpu) {
    if (!drop_gpu_enter(buffer_of(&taken->given, taken->comm), gpu))
        return false;
    if (!taken->comm->gpus.found || taken->comm->gpu == *gpu)
        return true;
    drop_gpu_leave();
    return false;
}

/* Returns whether this process, by itself, can take the call. */
static bool can_take(drop_taken_t *taken, drop_cell_t *cell) {
    drop_comm_t *comm = taken->comm;
    if (!drop_call_cell(comm, &taken->given, cell, &taken->why))
        return false;
    if (cell->in_host)
        return true;
    taken->why = comm->gpus.why;
    if (!taken->why && cell->counts != 0 && !is_repeated(comm, cell->counts))
        taken->why = "counts not seen before";
    return !taken->why;
}

/* MPI gets copies in host memory in the place of this process's buffers, and no other process notices. The
 * output of a reduce_scatter in place has no room for a copy of its input. */
static bool can_stage_alone(drop_taken_t *taken, drop_cell_t *cell) {
    const drop_call_t *call = &taken->given;
    if (!drop_call_cell(taken->comm, call, cell, &taken->why))
        return false;
    if (cell->counts != 0)
        taken->why = "several threads, and counts that differ";
    else if (cell->collective == PTO_COLLECTIVE_REDUCE_SCATTER && call->in == MPI_IN_PLACE)
        taken->why = "several threads, and a reduce_scatter in place";
    return !taken->why;
}

/* Where several threads of a process call collectives, calls that meet in kernels or shared memory could wait
 * for each other in a circle. So this process does what no other one need know. */
static void take_alone(drop_taken_t *taken) {
    drop_comm_t *comm = taken->comm;
    drop_cell_t cell;
    uint64_t gpu = 0;
    taken->given.why_not_host = "buffers in host memory";
    if (!can_stage_alone(taken, &cell))
        return;
    drop_route_t *route = find_route(comm, &cell);
    if (route && route->way == DROP_BY_MPI) {
        taken->route = route;
        return;
    }
    if (!enter_gpu(taken, &gpu)) {
        taken->why = "memory of another GPU or of none";
        return;
    }
    if (!comm->gpus.found && !drop_comm_guess_gpus(comm, gpu))
        comm->why = "out of memory";
    taken->why = comm->gpus.why;
    if (!taken->why && !route)
        route = add_route(comm, &taken->given, &cell);
    if (!taken->why && route) {
        route->used = comm->calls;
        taken->route = route;
        act(taken);
    }
    drop_gpu_leave();
}

/* Time the route, including the preparation that each call by a plan pays before it runs. */
static void try_route(drop_taken_t *taken, const drop_cell_t *cell) {
    drop_route_t *route = taken->route;
    const char *why;
    drop_cell_t again;
    bool have_plan;
    taken->turn = drop_trial_begin(taken->comm, route);
    if (taken->turn != DROP_TURN_PLAN)
        return;
    drop_call_cell(taken->comm, &taken->given, &again, &why);
    agree(taken->comm, &taken->given, true, (drop_offer_t){cell_digest(cell), route->number}, &have_plan);
}

/* A kind of call that is MPI's on GPU buffers, while all calls on host buffers are, needs no question where
 * the buffers are, which CUDA's driver takes longest for. The cell of a call without numbers is known without
 * them. */
static drop_route_t *find_left(const drop_comm_t *comm, const drop_call_t *call) {
    bool plain = call->collective == PTO_COLLECTIVE_BROADCAST ||
                 call->collective == PTO_COLLECTIVE_ALLGATHER || call->collective == PTO_COLLECTIVE_ALLTOALL;
    if (!plain || !call->why_not_host || drop_reports || !comm->routes)
        return NULL;
    const drop_cell_t cell = {.collective = call->collective,
                              .datatype = PTO_DATATYPE_BYTE,
                              .op = PTO_OP_SUM,
                              .root = call->root,
                              .bytes = drop_call_bytes(call, comm->size)};
    drop_route_t *route = find_route(comm, &cell);
    return route && route->way == DROP_BY_MPI ? route : NULL;
}

void drop_take(drop_taken_t *taken) {
    drop_cell_t cell;
    uint64_t gpu = 0;
    drop_comm_t *comm = drop_comm_of(taken->given.comm);
    taken->comm = comm;
    taken->began_s = drop_reports ? pto_now_s() : 0;
    if (!comm || comm->why) {
        taken->call = taken->given;
        taken->why = comm ? comm->why : "no communicator";
        return;
    }
    comm->calls++;
    if (drop.by_threads) {
        taken->call = taken->given;
        take_alone(taken);
        return;
    }
    /* Every process of the call comes here: nothing above depends on what it passes. */
    taken->given.why_not_host = drop_host_why_not(comm, &taken->given);
    taken->call = taken->given;
    /* Without GPU buffers all processes know this, and no process waits for an offer. */
    if (!(comm->kinds & DROP_KIND_GPU) && taken->given.why_not_host) {
        taken->why = taken->given.why_not_host;
        return;
    }
    if (is_known_as_mpis(comm, find_left(comm, &taken->given), taken))
        return;
    bool can = can_take(taken, &cell);
    drop_route_t *known = can ? find_route(comm, &cell) : NULL;
    if (is_known_as_mpis(comm, known, taken))
        return;
    bool enters = can && !cell.in_host;
    if (enters && !enter_gpu(taken, &gpu)) {
        taken->why = "memory of another GPU or of none";
        enters = can = false;
    }
    taken->route = agreed_route(comm, &cell, known, can, gpu, taken);
    if (taken->route && drop_trial_is_on(taken->route))
        try_route(taken, &cell);
    if (taken->route)
        act(taken);
    if (enters)
        drop_gpu_leave();
}

static bool is_staged(const drop_taken_t *taken) {
    return !taken->done && taken->route && taken->route->way == DROP_STAGED && taken->turn != DROP_TURN_MPI;
}

int drop_finish(drop_taken_t *taken, int code) {
    pto_error_t err = {.message = "failed"};
    uint64_t gpu;
    if (is_staged(taken) && code == MPI_SUCCESS) {
        bool entered = drop_gpu_enter(buffer_of(&taken->given, taken->comm), &gpu);
        if (!entered || unstage(taken, &err) != PTO_OK)
            code = fail(taken, &err);
        if (entered)
            drop_gpu_leave();
    }
    if (taken->turn != DROP_NO_TRIAL && code == MPI_SUCCESS)
        drop_trial_end(taken->comm, taken->route);
    if (drop_reports)
        drop_report(taken, pto_now_s());
    return code;
}
