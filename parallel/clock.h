/* The clock of measurements. */
#ifndef PORTOLAN_PARALLEL_CLOCK_H
#define PORTOLAN_PARALLEL_CLOCK_H

/* Returns seconds of a clock that all processes of a node share. MPI_Wtime need not be that: Open MPI's
 * counts from each process's own first call
 * (findings/wtime_origin.sh). */
double now_s(void);

/* Sleep. */
void rest(double seconds);

const char *clock_name(void);

#endif
