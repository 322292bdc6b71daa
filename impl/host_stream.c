/* Streams of the host device: a list of copies and reductions that are executed later, in order. */
#include "host_stream.h"

#include <stdlib.h>
#include <string.h>

#include "reduce.h"
#include "vector.h"

/* A reduction if it has sources, else a copy. */
typedef struct {
    pto_move_t move;
    void *target;
    bool fresh;
    int source_first; /* in the stream's sources */
    int source_count;
    size_t count;
    pto_datatype_t datatype;
    pto_op_t op;
} work_t;

typedef struct {
    pto_vector_t work;    /* work_t */
    pto_vector_t sources; /* const void * */
    int next;             /* the first item that has not run */
} stream_t;

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

static void do_next(stream_t *stream) {
    const work_t *work = (const work_t *)stream->work.item + stream->next++;
    const void *const *sources = stream->sources.item; /* NULL where nothing but copies was ever queued */
    do_work(work, work->source_count > 0 ? sources + work->source_first : NULL);
    if (stream->next == stream->work.count)
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

static pto_status_t submit(void *stream, work_t work, const void *const *source, pto_error_t *err) {
    if (stream)
        return enqueue(stream, work, source, err);
    do_work(&work, source);
    return PTO_OK;
}

pto_status_t pto_host_stream_copy(const pto_move_t *move, void *stream, pto_error_t *err) {
    static const void *const no_source[1];
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
