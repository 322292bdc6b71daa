/* Streams of the host device: a list of copies and reductions that are executed later, in order. An event is
 * a number of items of a stream. */
#include "host_stream.h"

#include <stdlib.h>
#include <string.h>

#include "reduce.h"
#include "vector.h"

typedef struct stream stream_t;

/* Has happened once the stream has run this many items. */
typedef struct {
    stream_t *stream; /* NULL: has happened */
    uint64_t items;
} event_t;

/* Following an event, if that has a stream; a reduction, if it has sources; else a copy. */
typedef struct {
    event_t after;
    pto_move_t move;
    void *target;
    bool fresh;
    int source_first; /* in the stream's sources */
    int source_count;
    size_t count;
    pto_datatype_t datatype;
    pto_op_t op;
} work_t;

struct stream {
    pto_vector_t work;    /* work_t */
    pto_vector_t sources; /* const void * */
    int next;             /* the first item that has not run */
    uint64_t ran;         /* items since the stream was created */
};

pto_status_t pto_host_stream_create(void **stream, pto_error_t *err) {
    *stream = calloc(1, sizeof(stream_t));
    return *stream ? PTO_OK : pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a stream");
}

static void copy_rows(const pto_move_t *move) {
    for (size_t row = 0; row < move->rows; row++)
        memmove((char *)move->target + row * move->target_pitch_bytes,
                (const char *)move->source + row * move->source_pitch_bytes, move->bytes);
}

static void do_work(const work_t *work, const void *const *source) {
    if (work->source_count == 0)
        copy_rows(&work->move);
    else
        pto_reduce_many_host(work->target, work->fresh, source, work->source_count, work->count,
                             work->datatype, work->op);
}

static void forget_all(stream_t *stream) { stream->next = stream->work.count = stream->sources.count = 0; }

static bool has_happened(const event_t *event) {
    return !event->stream || event->stream->ran >= event->items;
}

/* Run the next item, or of the stream that it waits for. An event is recorded before it is followed, so that
 * streams never wait for each other in a circle. */
static void do_next(stream_t *stream) {
    const work_t *work = (const work_t *)stream->work.item + stream->next;
    while (!has_happened(&work->after)) {
        stream = work->after.stream;
        work = (const work_t *)stream->work.item + stream->next;
    }
    const void *const *sources = stream->sources.item; /* NULL where nothing but copies was ever queued */
    if (!work->after.stream)
        do_work(work, work->source_count > 0 ? sources + work->source_first : NULL);
    stream->ran++;
    if (++stream->next == stream->work.count)
        forget_all(stream);
}

pto_status_t pto_host_stream_finish(void *stream, pto_error_t *err) {
    stream_t *queued = stream;
    (void)err;
    while (queued && queued->next < queued->work.count)
        do_next(queued);
    return PTO_OK;
}

pto_status_t pto_host_stream_poll(void *stream, bool *finished, pto_error_t *err) {
    stream_t *queued = stream;
    (void)err;
    if (queued && queued->next < queued->work.count)
        do_next(queued);
    *finished = !queued || queued->work.count == 0;
    return PTO_OK;
}

pto_status_t pto_host_stream_destroy(void *stream, pto_error_t *err) {
    stream_t *queued = stream;
    (void)err;
    if (queued) {
        free(queued->work.item);
        free(queued->sources.item);
    }
    free(queued);
    return PTO_OK;
}

static pto_status_t enqueue(stream_t *stream, work_t work, const void *const *source, pto_error_t *err) {
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

static const void *const no_source[1];

static pto_status_t submit(void *stream, work_t work, const void *const *source, pto_error_t *err) {
    if (stream)
        return enqueue(stream, work, source, err);
    do_work(&work, source);
    return PTO_OK;
}

pto_status_t pto_host_stream_copy(const pto_move_t *move, void *stream, pto_error_t *err) {
    return submit(stream, (work_t){.move = *move}, no_source, err);
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
    if (marked)
        *(event_t *)event = (event_t){marked, marked->ran + (uint64_t)(marked->work.count - marked->next)};
    return PTO_OK;
}

pto_status_t pto_host_event_poll(void *event, bool *finished, pto_error_t *err) {
    const event_t *asked = event;
    (void)err;
    if (!has_happened(asked))
        do_next(asked->stream);
    *finished = has_happened(asked);
    return PTO_OK;
}

pto_status_t pto_host_event_follow(void *event, void *stream, pto_error_t *err) {
    const event_t *after = event;
    if (stream && !has_happened(after))
        return enqueue(stream, (work_t){.after = *after}, no_source, err);
    while (!has_happened(after))
        do_next(after->stream);
    return PTO_OK;
}
