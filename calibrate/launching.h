/* Timing launches that are waited for. */
#ifndef PTO_LAUNCHING_H
#define PTO_LAUNCHING_H

#include "portolan/status.h"

/* Seconds of `iterations` launches into the GPU's stream, each until the host sees its end. Between two,
 * which is not timed, the host does something else for a while, as it does between a plan's launches: one
 * right after another takes a fifth less. */
double launching_s(pto_status_t (*launch)(void *what, void *stream, pto_error_t *err), void *what,
                   int iterations);

#endif
