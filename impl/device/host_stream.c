/* Streams of the host device. A stream is a list of items (copies, reductions, steps) that are executed
 * later, in order. An event is a position in a stream: a number of items. A graph is a stream that is never
 * executed; a launch copies its items to another stream, in the order in which they were captured.
 *
 * Capture works as on CUDA: a stream that follows an event of a captured stream joins the capture, and the
 * stream in which the capture began must in the end follow all others that joined. */
#include "host_stream.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "reduce.h"
#include "vector.h"

typedef struct stream stream_t;

/* An event has happened once its stream has completed this many items. In a capture, `items` counts what the
 * graph has captured of the stream. */
typedef struct {
    stream_t *stream; /* NULL: has happened */
    stream_t *graph;  /* of the capture; NULL: none */
    uint64_t items;
} event_t;

/* An item of a stream: a wait for `after` if that has a stream; a step if there is one; a reduction if it has
 * sources; a division if it has a divisor; otherwise a copy. */
typedef struct {
    event_t after;
    pto_host_step_t step;
    void *what; /* the step's argument */
    bool begun;
    pto_move_t move;
    void *target;
    bool fresh;
    int source_first; /* in the stream's sources */
    int source_count;
    size_t count;
    pto_datatype_t datatype;
    pto_op_t op;
    int64_t divisor; /* of the values of `move` */
} work_t;

struct stream {
    pto_vector_t work;    /* work_t */
    pto_vector_t sources; /* const void * */
    int next;             /* the first item that has not run */
    uint64_t completed;   /* items since the stream was created */
    /* If the stream is being captured: */
    stream_t *graph;    /* where its items go; NULL: it is not */
    stream_t *captured; /* list of the capture's streams: the next one; of the graph, the first */
    uint64_t in_graph;  /* number of its items in the graph */
    uint64_t followed;  /* number of those that another stream of the capture follows */
    /* Of a graph: */
    bool is_invalid;  /* a captured stream was destroyed, or followed an event that it may not follow */
    uint64_t capture; /* identifies the capture */
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
    return !event->stream || event->stream->completed >= event->items;
}

/* Runs the next item of the stream or, if that waits for an event, of the event's stream. Streams cannot wait
 * for each other in a cycle, as events are recorded first. Returns false if a step must be repeated. */
static bool run_next(stream_t *stream) {
    work_t *work = (work_t *)stream->work.item + stream->next;
    while (!has_happened(&work->after)) {
        stream = work->after.stream;
        work = (work_t *)stream->work.item + stream->next;
    }
    const void *const *sources = stream->sources.item; /* NULL where nothing but copies was ever queued */
    if (work->step && !work->step(work->what, &work->begun))
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

/* Removes a stream from a capture, which then fails. */
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
    }
    free(queued);
    return PTO_OK;
}

static pto_status_t enqueue(stream_t *stream, work_t work, const void *const *source, pto_error_t *err) {
    if (stream->graph) {
        stream->in_graph++;
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

pto_status_t pto_host_stream_step(pto_host_step_t step, void *what, void *stream, pto_error_t *err) {
    if (stream)
        return enqueue_step(stream, (work_t){.step = step, .what = what}, err);
    for (bool begun = false; !step(what, &begun);) {
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
        *(event_t *)event = (event_t){marked, marked->graph, marked->in_graph};
    else if (marked)
        *(event_t *)event = (event_t){
            .stream = marked, .items = marked->completed + (uint64_t)(marked->work.count - marked->next)};
    return PTO_OK;
}

static void join_graph(stream_t *graph, stream_t *stream) {
    stream->graph = graph;
    stream->in_graph = stream->followed = 0;
    stream->captured = graph->captured;
    graph->captured = stream;
}

/* Makes the stream's capture invalid, if there is one. */
static pto_status_t refuse(const stream_t *stream, const char *why, pto_error_t *err) {
    if (stream && stream->graph)
        stream->graph->is_invalid = true;
    return pto_error_set(err, PTO_ERR_RANGE, "%s", why);
}

/* The stream joins the capture. Nothing has to wait: a graph's items run in the order of their capture.
 * Refuses NULL, a stream of another capture, and an event whose capture has ended. */
static pto_status_t follow_in_graph(const event_t *after, stream_t *stream, pto_error_t *err) {
    if (!stream || (stream->graph && stream->graph != after->graph) || after->stream->graph != after->graph)
        return refuse(stream, "a stream outside a graph can't follow its event", err);
    if (!stream->graph)
        join_graph(after->graph, stream);
    if (stream != after->stream && after->stream->followed < after->items)
        after->stream->followed = after->items;
    return PTO_OK;
}

pto_status_t pto_host_event_poll(void *event, bool *finished, pto_error_t *err) {
    const event_t *asked = event;
    if (asked->graph)
        return pto_error_set(err, PTO_ERR_RANGE, "an event of a graph can't be polled");
    if (!has_happened(asked))
        advance_one(asked->stream);
    *finished = has_happened(asked);
    return PTO_OK;
}

pto_status_t pto_host_event_follow(void *event, void *stream, pto_error_t *err) {
    const event_t *after = event;
    const stream_t *follower = stream;
    if (after->graph)
        return follow_in_graph(after, stream, err);
    if (follower && follower->graph && after->stream)
        return refuse(follower, "a graph can't follow an event from outside", err);
    if (stream && !has_happened(after))
        return enqueue(stream, (work_t){.after = *after}, no_sources, err);
    while (!has_happened(after))
        advance_one(after->stream);
    return PTO_OK;
}

/* --- graphs -------------------------------------------------------------------------------------------- */

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
    join_graph(graph, captured);
    return PTO_OK;
}

uint64_t pto_host_stream_capture(const void *stream) {
    const stream_t *graph = stream ? ((const stream_t *)stream)->graph : NULL;
    return graph ? graph->capture : 0;
}

pto_status_t pto_host_graph_end(void *stream, void **graph, pto_error_t *err) {
    stream_t *origin = stream, *ended = origin->graph;
    if (!ended)
        return pto_error_set(err, PTO_ERR_RANGE, "the stream is not being captured");
    bool all_joined = !ended->is_invalid;
    for (stream_t *one = ended->captured, *next; one; one = next) {
        next = one->captured;
        all_joined = all_joined && (one == origin || one->followed == one->in_graph);
        one->captured = one->graph = NULL;
    }
    ended->captured = NULL;
    if (!all_joined) {
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
