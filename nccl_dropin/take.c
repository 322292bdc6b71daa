/* A call that is taken: its place in the communicator's order, its executor, and the run. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "tap.h"

/* --- the communicator's order --------------------------------------------------------------------------- */

/* NCCL orders all calls of a communicator, in whatever streams they are. Its own calls and those that run
 * here do not know of each other, so calls that follow in another stream wait for the last one. What a
 * capture holds is ordered within it. */
void tap_follow(tap_comm_t *comm, void *stream, uint64_t capture) {
    const bool in_graph = capture != 0;
    if (!comm->last[in_graph].is_recorded || comm->last[in_graph].stream == stream ||
        comm->last[in_graph].capture != capture)
        return;
    tap_settings()->device->event_follow(comm->last[in_graph].event, stream, NULL);
}

void tap_note(tap_comm_t *comm, void *stream, uint64_t capture) {
    const bool in_graph = capture != 0;
    comm->last[in_graph].is_recorded =
        tap_settings()->device->event_record(comm->last[in_graph].event, stream, NULL) == PTO_OK;
    comm->last[in_graph].stream = stream;
    comm->last[in_graph].capture = capture;
}

static void in_order(const tap_call_t *call, void (*act)(tap_comm_t *comm, void *stream, uint64_t capture)) {
    tap_comm_t *comm = tap_enter(call->comm);
    uint64_t capture = 0;
    if (!comm)
        return;
    if (tap_gpu_capture(call->stream, &capture))
        act(comm, call->stream, capture);
    tap_leave(comm);
}

/* What is queued in `stream` from now on happens after what `after` holds. */
static pto_status_t follow_stream(void *stream, void *after, pto_error_t *err) {
    const pto_device_t *device = tap_settings()->device;
    void *event = NULL;
    pto_status_t status = device->event_create(&event, err);
    if (status == PTO_OK)
        status = device->event_record(event, after, err);
    if (status == PTO_OK)
        status = device->event_follow(event, stream, err);
    if (event)
        device->event_destroy(event, NULL);
    return status;
}

void tap_before_pass(const tap_call_t *call) { in_order(call, tap_follow); }

void tap_after_pass(const tap_call_t *call) { in_order(call, tap_note); }

/* --- buffers -------------------------------------------------------------------------------------------- */

/* The call without a buffer that this process has no part in. */
static tap_call_t part_of(const tap_call_t *call, const tap_pick_t *pick) {
    tap_call_t part = *call;
    part.in = pick->in_bytes > 0 ? call->in : NULL;
    part.out = pick->out_bytes > 0 ? call->out : NULL;
    return part;
}

/* Buffers of which the executor can tell the addresses apart, or those of a vector in place. */
static bool is_apart(const tap_call_t *call, const tap_pick_t *pick) {
    const char *in = call->in, *out = call->out;
    if (pick->in_bytes == 0 || pick->out_bytes == 0)
        return true;
    return in >= out + pick->out_bytes || out >= in + pick->in_bytes;
}

static bool is_in_place(const tap_cell_t *cell, const tap_call_t *call) {
    return pto_collective_is_vector(cell->collective) && call->in == call->out;
}

static pto_status_t copy(void *to, const void *from, int64_t bytes, void *stream, pto_error_t *err) {
    const pto_move_t move = {to, from, (size_t)bytes, 1, (size_t)bytes, (size_t)bytes};
    return tap_settings()->device->copy(&move, stream, err);
}

/* --- executors ------------------------------------------------------------------------------------------ */

/* Longer than any job: aborting the communicator ends kernels that wait. */
static const double patience_s = 30.0 * 24 * 3600;

/* Room for the input of a call whose buffers overlap. */
static pto_status_t make_aside(tap_run_t *run, const tap_pick_t *pick, pto_error_t *err) {
    return run->aside ? PTO_OK : tap_settings()->device->allocate((size_t)pick->in_bytes, &run->aside, err);
}

static pto_status_t create(tap_comm_t *comm, const tap_pick_t *pick, tap_run_t *run, const tap_call_t *call,
                           pto_error_t *err) {
    int64_t logical[TAP_SIZE_MAX]; /* the root is the first */
    for (int i = 0; i < comm->size; i++)
        logical[i] = (i - pick->cell.root + comm->size) % comm->size;
    const pto_exec_options_t options = {
        .placement = PTO_PLACEMENT_TABLE, .table = logical, .timeout_s = patience_s};
    const bool aside = !run->in_place && !is_apart(call, pick);
    pto_status_t status = aside ? make_aside(run, pick, err) : PTO_OK;
    tap_symmetric_enter(&comm->symmetric);
    if (status == PTO_OK)
        status = pto_exec_create_in(pick->plan, &comm->symmetric.team, &comm->symmetric.pieces,
                                    aside ? run->aside : call->in, call->out, pick->cell.op, &options,
                                    &run->exec, err);
    tap_symmetric_leave();
    return status;
}

/* How long a process waits for the others' first call of a kind. */
static const double meeting_s = 20;

/* A digest that must be the same on all processes: the plan, and where the executor's pieces are. */
static uint64_t digest_of(const tap_comm_t *comm, const tap_pick_t *pick) {
    return pto_hash_add(pto_plan_digest(pick->plan), comm->symmetric.used) | 1;
}

/* The executor, if all processes have made it. Until then no kernel writes to its pieces, so where one has
 * failed they are as they were. */
static void create_with_all(tap_comm_t *comm, const tap_pick_t *pick, tap_run_t *run,
                            const tap_call_t *call) {
    pto_error_t err = {0};
    const size_t used = comm->symmetric.used;
    const bool made = create(comm, pick, run, call, &err) == PTO_OK;
    if (tap_door_pass(comm, made ? digest_of(comm, pick) : 0, meeting_s))
        return;
    if (tap_settings()->explains || tap_settings()->informs)
        tap_say(comm->rank, "%s of %lld bytes is left to NCCL: %s",
                pto_collective_name(pick->cell.collective), (long long)pick->cell.bytes,
                made ? "not all processes made the same executor in time" : err.message);
    tap_symmetric_enter(&comm->symmetric);
    if (made)
        pto_exec_destroy(run->exec);
    tap_symmetric_leave();
    run->exec = NULL;
    comm->symmetric.used = used;
}

/* All processes make the same ones in the same order, whether or not their own buffers are in place. NULL:
 * out of memory. This process makes none from then on, so nor do the others. */
static tap_run_t *run_of(tap_comm_t *comm, tap_pick_t *pick, uint64_t capture, const tap_call_t *call) {
    tap_run_t *run = pick->runs;
    while (run && run->capture != capture)
        run = run->next;
    if (run)
        return run;
    run = calloc(1, sizeof *run);
    if (!run) {
        comm->doors_seen = TAP_DOORS;
        return NULL;
    }
    run->capture = capture;
    run->in_place = is_in_place(&pick->cell, call);
    create_with_all(comm, pick, run, call);
    run->next = pick->runs;
    pick->runs = run;
    return run;
}

/* An executor stays in place or apart, as in its first call. Other calls are copied: a process may be in
 * place where others are not. */
static pto_status_t enqueue(const tap_pick_t *pick, tap_run_t *run, const tap_call_t *call,
                            pto_error_t *err) {
    const void *in = call->in;
    pto_status_t status = PTO_OK;
    if (run->in_place && call->in != call->out) {
        status = copy(call->out, call->in, pick->in_bytes, call->stream, err);
        in = call->out;
    } else if (!run->in_place && !is_apart(call, pick)) {
        status = make_aside(run, pick, err);
        if (status == PTO_OK)
            status = copy(run->aside, call->in, pick->in_bytes, call->stream, err);
        in = run->aside;
    }
    return status == PTO_OK ? pto_exec_enqueue_on(run->exec, in, call->out, call->stream, err) : status;
}

/* --- calls ---------------------------------------------------------------------------------------------- */

bool tap_takes(const tap_call_t *call) {
    tap_comm_t *comm = tap_comm_of(call->comm);
    if (!comm)
        return false;
    pthread_mutex_lock(&comm->lock);
    bool takes = tap_pick_of(comm, call) != NULL;
    pthread_mutex_unlock(&comm->lock);
    return takes;
}

/* Whether the i-th call is the first of the communicator in its stream. */
static bool is_first_in_stream(const tap_call_t *calls, int i, const void *comm) {
    for (int j = 0; j < i; j++)
        if (calls[j].comm == comm && calls[j].stream == calls[i].stream)
            return false;
    return calls[i].comm == comm;
}

pto_status_t tap_begin_aside(void **stream, const void *comm, const tap_call_t *calls, int count,
                             pto_error_t *err) {
    pto_status_t status = *stream ? PTO_OK : tap_settings()->device->stream_create(stream, err);
    for (int i = 0; i < count && status == PTO_OK; i++)
        if (is_first_in_stream(calls, i, comm))
            status = follow_stream(*stream, calls[i].stream, err);
    return status;
}

/* False: it is NCCL's. With `aside`, which it sets, it runs beside the other calls of a group. */
static bool do_here(tap_comm_t *comm, const tap_call_t *call, const tap_call_t *calls, int count,
                    void **aside, int *result) {
    pto_error_t err = {0};
    uint64_t capture = 0;
    const double began_s = tap_reports(comm) ? pto_now_s() : 0;
    tap_pick_t *pick = tap_pick_of(comm, call);
    if (!pick || !tap_gpu_capture(call->stream, &capture))
        return false;
    tap_call_t part = part_of(call, pick);
    tap_run_t *run = run_of(comm, pick, capture, &part);
    if (!run || !run->exec)
        return false;
    pto_status_t status = aside ? tap_begin_aside(&run->stream, call->comm, calls, count, &err) : PTO_OK;
    if (aside)
        *aside = part.stream = run->stream;
    tap_follow(comm, part.stream, capture);
    if (status == PTO_OK)
        status = enqueue(pick, run, &part, &err);
    if (status == PTO_OK)
        tap_note(comm, part.stream, capture);
    else
        tap_say(0, "%s on rank %d: %s", pto_collective_name(pick->cell.collective), comm->rank, err.message);
    pick->calls++;
    if (tap_reports(comm))
        tap_report(comm, call, pick, true, began_s);
    *result = status == PTO_OK ? TAP_SUCCESS : TAP_SYSTEM_ERROR;
    return true;
}

int tap_do(const tap_call_t *call) {
    tap_comm_t *comm = tap_enter(call->comm);
    int result = TAP_SUCCESS;
    const bool done = comm && do_here(comm, call, NULL, 0, NULL, &result);
    if (comm)
        tap_leave(comm);
    if (done)
        return result;
    const double began_s = pto_now_s();
    tap_before_pass(call);
    result = tap_pass(call);
    tap_after_pass(call);
    tap_report_passed(call, began_s);
    return result;
}

bool tap_do_aside(tap_call_t *call, const tap_call_t *calls, int count, int *result) {
    tap_comm_t *comm = tap_enter(call->comm);
    if (!comm)
        return false;
    const bool done = do_here(comm, call, calls, count, &call->aside, result);
    tap_leave(comm);
    return done;
}

/* The order knows one stream alone, so the call's own is behind all others in the end. */
static void join(tap_comm_t *comm, const tap_call_t *call, const tap_call_t *calls, int count,
                 uint64_t capture) {
    for (int i = 0; i < count; i++)
        if (is_first_in_stream(calls, i, call->comm))
            follow_stream(calls[i].stream, call->aside, NULL);
    tap_follow(comm, call->stream, capture);
    tap_note(comm, call->stream, capture);
}

void tap_join(const tap_call_t *call, const tap_call_t *calls, int count) {
    tap_comm_t *comm = tap_enter(call->comm);
    uint64_t capture = 0;
    if (!comm)
        return;
    if (tap_gpu_capture(call->stream, &capture))
        join(comm, call, calls, count, capture);
    tap_leave(comm);
}
