/* Writing a simulation's spans in the Chrome trace format. */
#ifndef PTO_TRACE_H
#define PTO_TRACE_H

#include "portolan/simulate.h"

typedef struct pto_trace pto_trace_t;

/* Create a trace file; the trace owns it until pto_trace_close. At most `events_max` spans are written.
 * Errors: PTO_ERR_IO, PTO_ERR_MEMORY. */
pto_status_t pto_trace_create(const char *path, const pto_layout_t *layout, int64_t events_max,
                              pto_trace_t **trace, pto_error_t *err);

/* A pto_span_visit_t; `context` is the trace. */
void pto_trace_visit(void *context, const pto_span_t *span);

/* Finish the file, or delete it unless `keep`; report in it and on standard error how many spans were
 * omitted; and free the trace. Errors: PTO_ERR_IO. */
pto_status_t pto_trace_close(pto_trace_t *trace, bool keep, pto_error_t *err);

#endif
