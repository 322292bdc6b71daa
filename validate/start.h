/* A common beginning of all processes. */
#ifndef PTO_VALIDATE_START_H
#define PTO_VALIDATE_START_H

/* Wait until all processes of MPI_COMM_WORLD may begin, and return the time at which they do, on this
 * process's own clock (now_s). On several nodes it is a moment that all agree on. A barrier would not do:
 * processes leave it up to as many latencies of the network apart as it has rounds, so that those that leave
 * last would have their messages before they begin. On one node it is the end of a barrier in shared memory,
 * which all leave at once: to wait for a moment would leave the GPUs idle, and calls take longer on an idle
 * GPU. */
double start_together(void);

/* Returns how much later than the last moment this process came to it, 0 if in time. What begins then is not
 * to be counted. The next moment is further ahead. */
double start_late_s(void);

/* Collective, before MPI_Finalize. */
void start_end(void);

#endif
