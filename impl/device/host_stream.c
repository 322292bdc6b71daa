/* Streams of the host device. A stream is a list of items (copies, reductions, steps) that are executed
 * later, in order. An event is a position in a stream: a number of items. A graph is a stream that is never
 * executed; a launch copies its items to another stream, in the order in which they were captured.
 *
 * Capture works as on CUDA. A stream that follows an event of a captured stream joins the capture. Only the
 * stream in which the capture began, the origin, can end it. The capture fails unless the origin then follows
 * all captured work, directly or through other streams. */
#include "host_stream.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "reduce.h"
#include "vector.h"

typedef struct stream stream_t;

/* An event has happened once its stream has completed `count` items. An event that was recorded in a capture
 * is the position after the stream's first `count` operations in that capture. */
typedef struct {
    stream_t *stream; /* NULL: has happened */
    uint64_t capture; /* the number of the capture; 0: none */
    uint64_t count;
} event_t;

/* In a capture, the operations of a stream are its items and its follows of events, numbered from 1.
 * Operation `number` of `follower` follows the first `count` operations of `followed`. */
typedef struct {
    stream_t *follower;
    uint64_t number;
    stream_t *followed;
    uint64_t count;
} follow_t;

/* An item of a stream: a wait for `after` if that has a stream; a step if there is one; a reduction if it has
 * sources; a division if it has a divisor; otherwise a copy. */
typedef struct {
    event_t after;
    pto_host_step_t step;
    void *context;   /* the step's argument */
    bool begun;      /* the step has been called */
    pto_move_t move; /* a copy, or a division's target and source */
    void *target;    /* of a reduction */
    bool fresh;
    int source_first; /* index in the stream's sources */
    int source_count;
    size_t count; /* elements of a reduction or division */
    pto_datatype_t datatype;
    pto_op_t op;
    int64_t divisor;
} work_t;

struct stream {
    pto_vector_t work;    /* work_t */
    pto_vector_t sources; /* const void * */
    int next;             /* the first item that has not run */
    uint64_t completed;   /* items since the stream was created */
    /* If the stream is being captured: */
    stream_t *graph;     /* where its items go; NULL: it is not */
    stream_t *captured;  /* list of the capture's streams: the next one; of the graph, the first */
    uint64_t operations; /* how many it has in the capture */
    uint64_t last_item;  /* the number of the last of these that is an item; 0: none */
    uint64_t joined;     /* how many of its operations the origin follows (all_joined) */
    /* Of a graph: */
    uint64_t capture;     /* number of the capture, which no other has */
    stream_t *origin;     /* the stream in which the capture began */
    pto_vector_t follows; /* follow_t, in the order of the capture */
    bool is_invalid;      /* the capture has failed: a captured stream was destroyed, or broke a rule */
    /* The list of streams that contain steps: */
    bool in_step_list;
    stream_t *next_with_steps;
};

static _Thread_local stream_t *first_with_steps;

pto_status_t pto_host_stream_create(void **stream, pto_error_t *err) {
    *stream = calloc(1, sizeof(stream_t));
    return *stream ? PTO_OK : pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a stream");
}

static void do_work(const work_t *work, const void *const *source) {
    if (work->divisor != 0)
        pto_divide_host(work->move.target, work->move.source, work->count, work->datatype, work->divisor);
    else if (work->source_count == 0)
        pto_copy_host(&work->move);
    else
        pto_reduce_many_host(work->target, work->fresh, source, work->source_count, work->count,
                             work->datatype, work->op);
}

static void leave_step_list(stream_t *stream) {
    stream_t **link = &first_with_steps;
    while (stream->in_step_list && *link != stream)
        link = &(*link)->next_with_steps;
    if (stream->in_step_list)
        *link = stream->next_with_steps;
    stream->in_step_list = false;
}

static void clear_queue(stream_t *stream) {
    stream->next = stream->work.count = stream->sources.count = 0;
    leave_step_list(stream);
}

static bool has_happened(const event_t *event) {
    return !event->stream || event->stream->completed >= event->count;
}

/* Runs the next item of the stream or, if that waits for an event, of the event's stream. Streams cannot wait
 * for each other in a cycle, as events are recorded first. Returns false if a step must be repeated. */
static bool run_next(stream_t *stream) {
    work_t *work = (work_t *)stream->work.item + stream->next;
    while (!has_happened(&work->after)) {
        stream = work->after.stream;
        work = (work_t *)stream->work.item + stream->next;
    }
    const void *const *sources = stream->sources.item; /* NULL if no reduction was ever queued */
    if (work->step && !work->step(work->context, &work->begun))
        return false;
    if (!work->step && !work->after.stream)
        do_work(work, work->source_count > 0 ? sources + work->source_first : NULL);
    stream->completed++;
    if (++stream->next == stream->work.count)
        clear_queue(stream);
    return true;
}

void pto_host_streams_advance(void) {
    for (stream_t *stream = first_with_steps, *next; stream; stream = next) {
        next = stream->next_with_steps;
        if (stream->next < stream->work.count) /* another stream may have run its last item */
            run_next(stream);
    }
}

/* Runs the next item. If it is a step that waits for another process, advances all streams with steps, since
 * that process may wait for their work. */
static void advance_one(stream_t *stream) {
    if (run_next(stream))
        return;
    pto_host_streams_advance();
    sched_yield();
}

pto_status_t pto_host_stream_finish(void *stream, pto_error_t *err) {
    stream_t *queued = stream;
    (void)err;
    while (queued && queued->next < queued->work.count)
        advance_one(queued);
    return PTO_OK;
}

pto_status_t pto_host_stream_poll(void *stream, bool *finished, pto_error_t *err) {
    stream_t *queued = stream;
    (void)err;
    if (queued && queued->next < queued->work.count)
        advance_one(queued);
    *finished = !queued || queued->work.count == 0;
    return PTO_OK;
}

/* Removes a stream from a capture, which then fails; CUDA's fails only if its work was not joined. */
static void leave_graph(stream_t *stream) {
    stream_t **link = &stream->graph->captured;
    while (*link != stream)
        link = &(*link)->captured;
    *link = stream->captured;
    stream->graph->is_invalid = true;
}

pto_status_t pto_host_stream_destroy(void *stream, pto_error_t *err) {
    stream_t *queued = stream;
    (void)err;
    if (queued) {
        leave_step_list(queued);
        if (queued->graph)
            leave_graph(queued);
        free(queued->work.item);
        free(queued->sources.item);
        free(queued->follows.item);
    }
    free(queued);
    return PTO_OK;
}

static pto_status_t enqueue(stream_t *stream, work_t work, const void *const *source, pto_error_t *err) {
    if (stream->graph) {
        stream->last_item = ++stream->operations;
        stream = stream->graph;
    }
    work.source_first = stream->sources.count;
    for (int i = 0; i < work.source_count; i++) {
        const void **slot = pto_vector_add(&stream->sources, sizeof *slot);
        if (!slot)
            return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a stream");
        *slot = source[i];
    }
    work_t *slot = pto_vector_add(&stream->work, sizeof *slot);
    if (!slot)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a stream");
    *slot = work;
    return PTO_OK;
}

static const void *const no_sources[1];

/* A graph is not in the list, because it is not executed. */
static pto_status_t enqueue_step(stream_t *stream, work_t work, pto_error_t *err) {
    pto_status_t status = enqueue(stream, work, no_sources, err);
    if (status != PTO_OK || stream->in_step_list || stream->graph)
        return status;
    stream->in_step_list = true;
    stream->next_with_steps = first_with_steps;
    first_with_steps = stream;
    return PTO_OK;
}

pto_status_t pto_host_stream_step(pto_host_step_t step, void *context, void *stream, pto_error_t *err) {
    if (stream)
        return enqueue_step(stream, (work_t){.step = step, .context = context}, err);
    for (bool begun = false; !step(context, &begun);) {
        pto_host_streams_advance();
        sched_yield();
    }
    return PTO_OK;
}

static pto_status_t submit(void *stream, work_t work, const void *const *source, pto_error_t *err) {
    if (stream)
        return enqueue(stream, work, source, err);
    do_work(&work, source);
    return PTO_OK;
}

pto_status_t pto_host_stream_copy(const pto_move_t *move, void *stream, pto_error_t *err) {
    return submit(stream, (work_t){.move = *move}, no_sources, err);
}

pto_status_t pto_host_stream_reduce(void *target, bool fresh, const void *const *source, int source_count,
                                    size_t count, pto_datatype_t datatype, pto_op_t op, void *stream,
                                    pto_error_t *err) {
    work_t work = {.target = target,
                   .fresh = fresh,
                   .source_count = source_count,
                   .count = count,
                   .datatype = datatype,
                   .op = op};
    return submit(stream, work, source, err);
}

pto_status_t pto_host_stream_divide(void *target, const void *source, size_t count, pto_datatype_t datatype,
                                    int64_t divisor, void *stream, pto_error_t *err) {
    work_t work = {.move = {.target = target, .source = source},
                   .count = count,
                   .datatype = datatype,
                   .divisor = divisor};
    return submit(stream, work, no_sources, err);
}

pto_status_t pto_host_event_create(void **event, pto_error_t *err) {
    *event = calloc(1, sizeof(event_t));
    return *event ? PTO_OK : pto_error_set(err, PTO_ERR_MEMORY, "out of memory for an event");
}

pto_status_t pto_host_event_destroy(void *event, pto_error_t *err) {
    (void)err;
    free(event);
    return PTO_OK;
}

pto_status_t pto_host_event_record(void *event, void *stream, pto_error_t *err) {
    stream_t *marked = stream;
    (void)err;
    *(event_t *)event = (event_t){0};
    if (marked && marked->graph)
        *(event_t *)event = (event_t){marked, marked->graph->capture, marked->operations};
    else if (marked)
        *(event_t *)event = (event_t){
            .stream = marked, .count = marked->completed + (uint64_t)(marked->work.count - marked->next)};
    return PTO_OK;
}

static void join_graph(stream_t *graph, stream_t *stream) {
    stream->graph = graph;
    stream->operations = stream->last_item = 0;
    stream->captured = graph->captured;
    graph->captured = stream;
}

/* Returns an error. If the stream is being captured, its capture fails. */
static pto_status_t refuse(const stream_t *stream, const char *why, pto_error_t *err) {
    if (stream && stream->graph)
        stream->graph->is_invalid = true;
    return pto_error_set(err, PTO_ERR_RANGE, "%s", why);
}

/* Returns the graph of the capture in which an event was recorded; NULL if that has ended. */
static stream_t *graph_of(const event_t *event) {
    return pto_host_stream_capture(event->stream) == event->capture ? event->stream->graph : NULL;
}

/* A stream follows an event that was recorded in a capture, and joins the capture. Nothing has to wait: a
 * graph's items run in the order of their capture. NULL, or a stream of another capture, fails both. */
static pto_status_t follow_in_graph(const event_t *after, stream_t *stream, pto_error_t *err) {
    stream_t *graph = graph_of(after);
    if (!graph || graph->is_invalid)
        return refuse(stream, "an event of a capture that has ended or failed can't be followed", err);
    if (!stream || (stream->graph && stream->graph != graph)) {
        graph->is_invalid = true;
        return refuse(stream, "a stream outside a graph can't follow its event", err);
    }
    if (!stream->graph)
        join_graph(graph, stream);
    follow_t *follow = pto_vector_add(&graph->follows, sizeof *follow);
    if (!follow) {
        graph->is_invalid = true;
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a graph");
    }
    *follow = (follow_t){stream, ++stream->operations, after->stream, after->count};
    return PTO_OK;
}

pto_status_t pto_host_event_poll(void *event, bool *finished, pto_error_t *err) {
    const event_t *asked = event;
    if (asked->capture != 0 && graph_of(asked))
        graph_of(asked)->is_invalid = true; /* as on CUDA */
    if (asked->capture != 0)
        return pto_error_set(err, PTO_ERR_RANGE, "an event of a graph can't be polled");
    if (!has_happened(asked))
        advance_one(asked->stream);
    *finished = has_happened(asked);
    return PTO_OK;
}

pto_status_t pto_host_event_follow(void *event, void *stream, pto_error_t *err) {
    const event_t *after = event;
    const stream_t *follower = stream;
    if (after->capture != 0)
        return follow_in_graph(after, stream, err);
    if (follower && follower->graph && after->stream)
        return refuse(follower, "a graph can't follow an event from outside", err);
    if (stream && !has_happened(after))
        return enqueue(stream, (work_t){.after = *after}, no_sources, err);
    while (!has_happened(after))
        advance_one(after->stream);
    return PTO_OK;
}

static atomic_uint_fast64_t captures;

pto_status_t pto_host_graph_begin(void *stream, pto_error_t *err) {
    stream_t *captured = stream;
    if (captured->graph)
        return pto_error_set(err, PTO_ERR_RANGE, "the stream is being captured");
    void *graph = NULL;
    pto_status_t status = pto_host_stream_create(&graph, err);
    if (status != PTO_OK)
        return status;
    ((stream_t *)graph)->capture = atomic_fetch_add(&captures, 1) + 1;
    ((stream_t *)graph)->origin = captured;
    join_graph(graph, captured);
    return PTO_OK;
}

uint64_t pto_host_stream_capture(const void *stream) {
    const stream_t *graph = stream ? ((const stream_t *)stream)->graph : NULL;
    return graph ? graph->capture : 0;
}

/* Returns whether the origin follows all captured items. Goes through the follows from the last to the first.
 * If the origin follows one of them, it also follows what that one follows. One pass is enough, because only
 * later follows lead from the origin to an earlier one. */
static bool all_joined(const stream_t *graph) {
    const follow_t *follows = graph->follows.item;
    bool all = true;
    for (stream_t *one = graph->captured; one; one = one->captured)
        one->joined = one == graph->origin ? one->operations : 0;
    for (int i = graph->follows.count; i-- > 0;) {
        const follow_t *follow = &follows[i];
        if (follow->follower->joined >= follow->number && follow->followed->joined < follow->count)
            follow->followed->joined = follow->count;
    }
    for (const stream_t *one = graph->captured; one; one = one->captured)
        all = all && one->joined >= one->last_item;
    return all;
}

pto_status_t pto_host_graph_end(void *stream, void **graph, pto_error_t *err) {
    stream_t *ended = ((stream_t *)stream)->graph;
    *graph = NULL;
    if (!ended)
        return pto_error_set(err, PTO_ERR_RANGE, "the stream is not being captured");
    if (ended->origin != stream)
        return refuse(stream, "the capture began in another stream", err);
    const bool is_whole = !ended->is_invalid && all_joined(ended);
    for (stream_t *one = ended->captured, *next; one; one = next) {
        next = one->captured;
        one->captured = one->graph = NULL;
    }
    ended->captured = NULL;
    if (!is_whole) {
        pto_host_stream_destroy(ended, NULL);
        return pto_error_set(err, PTO_ERR_RANGE,
                             "another stream's work was captured, which this stream does not follow");
    }
    *graph = ended;
    return PTO_OK;
}

pto_status_t pto_host_graph_launch(void *graph, void *stream, pto_error_t *err) {
    const stream_t *captured = graph;
    const work_t *work = captured->work.item;
    const void *const *sources = captured->sources.item;
    pto_status_t status = PTO_OK;
    for (int i = 0; i < captured->work.count && status == PTO_OK; i++)
        status = work[i].step
                     ? enqueue_step(stream, work[i], err)
                     : enqueue(stream, work[i],
                               work[i].source_count > 0 ? sources + work[i].source_first : no_sources, err);
    return status;
}
