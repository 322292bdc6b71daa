/* Collectives that run here ("taken"): the stream order of a communicator's calls, executors, and runs. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "environment.h"
#include "tap.h"

/* NCCL executes the calls of a communicator one after another, in whatever streams they are. But NCCL does
 * not know the calls that run here. So a call in another stream than the communicator's last call waits for
 * an event of that call. Within a capture, calls are ordered among themselves only. */
void tap_follow_last(tap_comm_t *comm, void *stream, uint64_t capture) {
    const bool in_graph = capture != 0;
    if (!comm->last[in_graph].is_recorded || comm->last[in_graph].stream == stream ||
        comm->last[in_graph].capture != capture)
        return;
    tap_settings()->device->event_follow(comm->last[in_graph].event, stream, NULL);
}

void tap_record_last(tap_comm_t *comm, void *stream, uint64_t capture) {
    const bool in_graph = capture != 0;
    comm->last[in_graph].is_recorded =
        tap_settings()->device->event_record(comm->last[in_graph].event, stream, NULL) == PTO_OK;
    comm->last[in_graph].stream = stream;
    comm->last[in_graph].capture = capture;
}

/* Calls `act`, tap_follow_last or tap_record_last, for the call's stream. */
static void in_order(const tap_call_t *call, void (*act)(tap_comm_t *comm, void *stream, uint64_t capture)) {
    tap_comm_t *comm = tap_enter(call->comm);
    uint64_t capture = 0;
    if (!comm)
        return;
    if (tap_gpu_capture(call->stream, &capture))
        act(comm, call->stream, capture);
    tap_leave(comm);
}

/* Let later work in `stream` wait for the work that is now in `after`. */
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

void tap_before_pass(const tap_call_t *call) { in_order(call, tap_follow_last); }

void tap_after_pass(const tap_call_t *call) { in_order(call, tap_record_last); }

/* Returns the call with NULL for a buffer that this process does not use, such as the output of a reduce. */
static tap_call_t without_unused_buffers(const tap_call_t *call, const tap_pick_t *pick) {
    tap_call_t used_call = *call;
    used_call.in = pick->in_bytes > 0 ? call->in : NULL;
    used_call.out = pick->out_bytes > 0 ? call->out : NULL;
    return used_call;
}

/* Returns whether input and output do not overlap. */
static bool are_disjoint(const tap_call_t *call, const tap_pick_t *pick) {
    const char *in = call->in, *out = call->out;
    if (pick->in_bytes == 0 || pick->out_bytes == 0)
        return true;
    return in >= out + pick->out_bytes || out >= in + pick->in_bytes;
}

static bool is_in_place(const tap_key_t *key, const tap_call_t *call) {
    return pto_collective_is_vector(key->collective) && call->in == call->out;
}

static pto_status_t copy(void *to, const void *from, int64_t bytes, void *stream, pto_error_t *err) {
    const pto_move_t move = {to, from, (size_t)bytes, 1, (size_t)bytes, (size_t)bytes};
    return tap_settings()->device->copy(&move, stream, err);
}

/* The time-out of kernels is longer than any job: only aborting the communicator ends those that wait. */
static const double patience_s = 30.0 * 24 * 3600;

/* Allocate the copy of an input that overlaps the output. */
static pto_status_t make_in_copy(tap_run_t *run, const tap_pick_t *pick, pto_error_t *err) {
    return run->in_copy ? PTO_OK
                        : tap_settings()->device->allocate((size_t)pick->in_bytes, &run->in_copy, err);
}

static pto_status_t create(tap_comm_t *comm, const tap_pick_t *pick, tap_run_t *run, const tap_call_t *call,
                           pto_error_t *err) {
    int64_t logical[TAP_SIZE_MAX]; /* the root is the first */
    for (int i = 0; i < comm->size; i++)
        logical[i] = (i - pick->key.root + comm->size) % comm->size;
    const pto_exec_options_t options = {
        .placement = PTO_PLACEMENT_TABLE, .table = logical, .timeout_s = patience_s};
    const bool copies_input = !run->in_place && !are_disjoint(call, pick);
    pto_status_t status = copies_input ? make_in_copy(run, pick, err) : PTO_OK;
    tap_symmetric_enter(&comm->symmetric);
    if (status == PTO_OK)
        status = pto_exec_create_in(pick->plan, &comm->symmetric.team, &comm->symmetric.block_device,
                                    copies_input ? run->in_copy : call->in, call->out, pick->key.op, &options,
                                    &run->exec, err);
    tap_symmetric_leave();
    return status;
}

/* How long a process waits for the others' first call of a kind. */
static const double meeting_s = 20;

/* A digest of what must be equal on all processes: the plan, and the offset of the executor's memory. Not 0,
 * with which a process says that it has no executor. */
static uint64_t digest_of(const tap_comm_t *comm, const tap_pick_t *pick) {
    return pto_hash_add(pto_plan_digest(pick->plan), comm->symmetric.used) | 1;
}

/* Collective. Creates the executor, and destroys it again unless all processes have created the same one. No
 * kernel has then written to its symmetric memory, which is still zero and can be used again. */
static void create_with_all(tap_comm_t *comm, const tap_pick_t *pick, tap_run_t *run,
                            const tap_call_t *call) {
    pto_error_t err = {0};
    const size_t used = comm->symmetric.used;
    const bool made = create(comm, pick, run, call, &err) == PTO_OK;
    if (tap_door_pass(comm, made ? digest_of(comm, pick) : 0, meeting_s))
        return;
    if (comm->rank == 0 && (tap_settings()->explains || tap_settings()->informs))
        preload_say("%s of %lld bytes is left to NCCL: %s", pto_collective_name(pick->key.collective),
                    (long long)pick->key.bytes,
                    made ? "not all processes made the same executor in time" : err.message);
    tap_symmetric_enter(&comm->symmetric);
    if (made)
        pto_exec_destroy(run->exec);
    tap_symmetric_leave();
    run->exec = NULL;
    comm->symmetric.used = used;
}

/* Returns the executor for the capture; it is created at the first call, in the same order on all processes.
 * NULL: out of memory. This process then uses up its doors, so that no other one passes them, either. */
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
    run->in_place = is_in_place(&pick->key, call);
    create_with_all(comm, pick, run, call);
    run->next = pick->runs;
    pick->runs = run;
    return run;
}

/* An executor works in place or out of place, as its first call on this process did. Calls of the other form
 * are converted by a copy: the processes of a call may differ in this. */
static pto_status_t enqueue(const tap_pick_t *pick, tap_run_t *run, const tap_call_t *call,
                            pto_error_t *err) {
    const void *in = call->in;
    pto_status_t status = PTO_OK;
    if (run->in_place && call->in != call->out) {
        status = copy(call->out, call->in, pick->in_bytes, call->stream, err);
        in = call->out;
    } else if (!run->in_place && !are_disjoint(call, pick)) {
        status = make_in_copy(run, pick, err);
        if (status == PTO_OK)
            status = copy(run->in_copy, call->in, pick->in_bytes, call->stream, err);
        in = run->in_copy;
    }
    return status == PTO_OK ? pto_exec_enqueue_on(run->exec, in, call->out, call->stream, err) : status;
}

bool tap_takes(const tap_call_t *call) {
    tap_comm_t *comm = tap_comm_of(call->comm);
    if (!comm)
        return false;
    pthread_mutex_lock(&comm->lock);
    bool takes = tap_pick_of(comm, call) != NULL;
    pthread_mutex_unlock(&comm->lock);
    return takes;
}

/* Returns whether the i-th call is the communicator's first one in its stream. */
static bool is_first_in_stream(const tap_call_t *calls, int i, const void *comm) {
    for (int j = 0; j < i; j++)
        if (calls[j].comm == comm && calls[j].stream == calls[i].stream)
            return false;
    return calls[i].comm == comm;
}

pto_status_t tap_begin_side_stream(void **stream, const void *comm, const tap_call_t *calls, int count,
                                   pto_error_t *err) {
    pto_status_t status = *stream ? PTO_OK : tap_settings()->device->stream_create(stream, err);
    for (int i = 0; i < count && status == PTO_OK; i++)
        if (is_first_in_stream(calls, i, comm))
            status = follow_stream(*stream, calls[i].stream, err);
    return status;
}

/* False: the call is left to NCCL. If `side_stream` is not NULL, the call runs in a stream of its own, which
 * is returned there, concurrently with the other calls of its group. */
static bool do_here(tap_comm_t *comm, const tap_call_t *call, const tap_call_t *calls, int count,
                    void **side_stream, int *result) {
    pto_error_t err = {0};
    uint64_t capture = 0;
    const double began_s = tap_reports(comm) ? pto_now_s() : 0;
    tap_pick_t *pick = tap_pick_of(comm, call);
    if (!pick || !tap_gpu_capture(call->stream, &capture))
        return false;
    tap_call_t used_call = without_unused_buffers(call, pick);
    tap_run_t *run = run_of(comm, pick, capture, &used_call);
    if (!run || !run->exec)
        return false;
    pto_status_t status =
        side_stream ? tap_begin_side_stream(&run->stream, call->comm, calls, count, &err) : PTO_OK;
    if (side_stream)
        *side_stream = used_call.stream = run->stream;
    tap_follow_last(comm, used_call.stream, capture);
    if (status == PTO_OK)
        status = enqueue(pick, run, &used_call, &err);
    if (status == PTO_OK)
        tap_record_last(comm, used_call.stream, capture);
    else
        preload_say("%s on rank %d: %s", pto_collective_name(pick->key.collective), comm->rank, err.message);
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

bool tap_do_beside_nccl(tap_call_t *call, const tap_call_t *calls, int count, int *result) {
    tap_comm_t *comm = tap_enter(call->comm);
    if (!comm)
        return false;
    const bool done = do_here(comm, call, calls, count, &call->side_stream, result);
    tap_leave(comm);
    return done;
}

/* Later calls wait for one stream only: the call's own, which must therefore wait for the side stream. */
static void join(tap_comm_t *comm, const tap_call_t *call, const tap_call_t *calls, int count,
                 uint64_t capture) {
    for (int i = 0; i < count; i++)
        if (is_first_in_stream(calls, i, call->comm))
            follow_stream(calls[i].stream, call->side_stream, NULL);
    tap_follow_last(comm, call->stream, capture);
    tap_record_last(comm, call->stream, capture);
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
