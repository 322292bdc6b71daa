/* Timing launches that are waited for. */
#ifndef PTO_LAUNCHING_H
#define PTO_LAUNCHING_H

/* Seconds of so many launches, each until the host sees its end. Between two, which is not timed, the host
 * does something else for a while, as it does between a plan's launches: one right after another takes a
 * fifth less. */
double launching_s(const char *(*launch)(void *what), void *what, int iterations);

#endif
