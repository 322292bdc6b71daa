/* Streams of the host device. What is queued in one has not happened until the stream is finished or polled
 * often enough, so that a schedule that looks at data too early fails here as it would on a GPU. */
#ifndef PTO_HOST_STREAM_H
#define PTO_HOST_STREAM_H

#include "portolan/device.h"

/* Errors: PTO_ERR_MEMORY. */
pto_status_t pto_host_stream_create(void **stream, pto_error_t *err);

/* Drops what is still queued: after a failed run its memory may be gone. NULL is legal. */
pto_status_t pto_host_stream_destroy(void *stream, pto_error_t *err);

/* Queue a copy or a reduction; with a NULL stream it happens at once. Errors: PTO_ERR_MEMORY. */
pto_status_t pto_host_stream_copy(const pto_move_t *move, void *stream, pto_error_t *err);
pto_status_t pto_host_stream_reduce(void *target, bool fresh, const void *const *source, int source_count,
                                    size_t count, pto_datatype_t datatype, pto_op_t op, void *stream,
                                    pto_error_t *err);

/* Do all that is queued. NULL is legal. */
pto_status_t pto_host_stream_finish(void *stream, pto_error_t *err);

/* Do one more of what is queued; *finished where that was the last. */
pto_status_t pto_host_stream_poll(void *stream, bool *finished, pto_error_t *err);

#endif
