/* Streams and events of the host device. Work runs only when its stream, an event in it or another stream
 * that follows it is finished or polled, so that a schedule that reads data too early fails here as it would
 * on a GPU. */
#ifndef PTO_HOST_STREAM_H
#define PTO_HOST_STREAM_H

#include "portolan/device.h"

/* Errors: PTO_ERR_MEMORY. */
pto_status_t pto_host_stream_create(void **stream, pto_error_t *err);

/* Discards queued work, whose memory may be gone after a failed run. NULL is legal. */
pto_status_t pto_host_stream_destroy(void *stream, pto_error_t *err);

/* Queue a copy or a reduction; a NULL stream runs it at once. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_host_stream_copy(const pto_move_t *move, void *stream, pto_error_t *err);
pto_status_t pto_host_stream_reduce(void *target, bool fresh, const void *const *source, int source_count,
                                    size_t count, pto_datatype_t datatype, pto_op_t op, void *stream,
                                    pto_error_t *err);

/* Run all queued work. NULL is legal. */
pto_status_t pto_host_stream_finish(void *stream, pto_error_t *err);

/* Run the next queued item; *finished if it was the last. */
pto_status_t pto_host_stream_poll(void *stream, bool *finished, pto_error_t *err);

/* Events (device.h). Polling one runs the next item of its stream. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_host_event_create(void **event, pto_error_t *err);
pto_status_t pto_host_event_destroy(void *event, pto_error_t *err);
pto_status_t pto_host_event_record(void *event, void *stream, pto_error_t *err);
pto_status_t pto_host_event_poll(void *event, bool *finished, pto_error_t *err);
pto_status_t pto_host_event_follow(void *event, void *stream, pto_error_t *err);

#endif
