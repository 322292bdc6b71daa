/* Streams, events and graphs of the host device, and its staging memory. Work runs only when its stream, an
 * event in it or a stream that follows it is finished or polled: reading data too early fails as on a GPU. */
#ifndef PTO_HOST_STREAM_H
#define PTO_HOST_STREAM_H

#include "portolan/exec.h"

/* Memory that the device cannot export, page-aligned, as pinned memory would be. Releasing NULL is legal. */
pto_status_t pto_host_pages_allocate(size_t bytes, void **memory, pto_error_t *err);
pto_status_t pto_host_pages_release(void *memory, pto_error_t *err);

/* Errors: PTO_ERR_MEMORY. */
pto_status_t pto_host_stream_create(void **stream, pto_error_t *err);

/* Discards queued work, whose memory may be gone after a failed run. NULL is legal. */
pto_status_t pto_host_stream_destroy(void *stream, pto_error_t *err);

/* Queue a copy, a reduction or a division; a NULL stream runs it at once. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_host_stream_copy(const pto_move_t *move, void *stream, pto_error_t *err);
pto_status_t pto_host_stream_reduce(void *target, bool fresh, const void *const *source, int source_count,
                                    size_t count, pto_datatype_t datatype, pto_op_t op, void *stream,
                                    pto_error_t *err);
pto_status_t pto_host_stream_divide(void *target, const void *source, size_t count, pto_datatype_t datatype,
                                    int64_t divisor, void *stream, pto_error_t *err);

/* Queue a step: work that may have to wait for other processes. It is called, with `context`, until it
 * returns true. `*begun` is false in the first call; the step sets it. */
typedef bool (*pto_host_step_t)(void *context, bool *begun);
pto_status_t pto_host_stream_step(pto_host_step_t step, void *context, void *stream, pto_error_t *err);

/* Run the next item of each of this thread's streams that contain steps. Call it while the process waits for
 * something else: streams of a GPU make progress then, too. */
void pto_host_streams_advance(void);

/* Run all queued work. NULL is legal. */
pto_status_t pto_host_stream_finish(void *stream, pto_error_t *err);

/* Run the next queued item. Sets whether none is left. */
pto_status_t pto_host_stream_poll(void *stream, bool *finished, pto_error_t *err);

/* Events (portolan/exec.h). Polling one runs the next item of its stream. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_host_event_create(void **event, pto_error_t *err);
pto_status_t pto_host_event_destroy(void *event, pto_error_t *err);
pto_status_t pto_host_event_record(void *event, void *stream, pto_error_t *err);
pto_status_t pto_host_event_poll(void *event, bool *finished, pto_error_t *err);
pto_status_t pto_host_event_follow(void *event, void *stream, pto_error_t *err);

/* Capture what is queued in a stream, to launch it again in any. If the capture fails, pto_host_graph_end
 * sets `*graph` to NULL, and ends it unless it began in another stream. A graph is destroyed as a stream. */
pto_status_t pto_host_graph_begin(void *stream, pto_error_t *err);
pto_status_t pto_host_graph_end(void *stream, void **graph, pto_error_t *err);
/* Returns the number of the capture that the stream is in, which no other has; 0: none. NULL is legal. */
uint64_t pto_host_stream_capture(const void *stream);
pto_status_t pto_host_graph_launch(void *graph, void *stream, pto_error_t *err);

#endif
