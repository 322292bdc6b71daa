/* A moment at which all processes begin. */
#ifndef PTO_VALIDATE_START_H
#define PTO_VALIDATE_START_H

/* Wait for a moment that all processes of MPI_COMM_WORLD agree on, and return it on this process's own clock
 * (MPI_Wtime). A barrier is no such moment: processes leave it up to as many latencies of the network apart
 * as it has rounds, so that those that leave last would have their messages before they begin. */
double start_together(void);

#endif
