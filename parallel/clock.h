/* The clock of the programs that measure, and sleeping. */
#ifndef PORTOLAN_PARALLEL_CLOCK_H
#define PORTOLAN_PARALLEL_CLOCK_H

/* Returns the seconds of a clock that all processes of a node share. MPI_Wtime need not be such a clock: Open
 * MPI's counts from each process's own first call (findings/wtime_origin.sh). */
double now_s(void);

void rest(double seconds); /* sleeps */

const char *clock_name(void); /* for provenance */

#endif
