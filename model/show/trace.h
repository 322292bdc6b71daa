/* Writing a simulation's spans in the Chrome trace format. */
#ifndef PTO_TRACE_H
#define PTO_TRACE_H

#include "portolan/simulate.h"

typedef struct pto_trace pto_trace_t;

/* Creates a trace file, which the trace owns until pto_trace_close. At most `events_max` spans are written.
 * `path` must outlive the trace. Errors: PTO_ERR_IO, PTO_ERR_MEMORY. */
pto_status_t pto_trace_create(const char *path, const pto_layout_t *layout, int64_t events_max,
                              pto_trace_t **trace, pto_error_t *err);

/* Writes a span: a pto_span_visit_t whose `context` is the trace. */
void pto_trace_visit(void *context, const pto_span_t *span);

/* Finishes the file, or deletes it unless `keep`, and frees the trace. The file, and a line on standard
 * error, say how many spans were omitted. Errors: PTO_ERR_IO. */
pto_status_t pto_trace_close(pto_trace_t *trace, bool keep, pto_error_t *err);

#endif
