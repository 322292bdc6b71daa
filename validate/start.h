/* Makes all processes start a measured run at the same time. */
#ifndef PTO_VALIDATE_START_H
#define PTO_VALIDATE_START_H

/* Collective over MPI_COMM_WORLD. Waits for the common start, and returns its time on this process's clock
 * (now_s).
 *
 * On several nodes, the processes agree on a time slightly in the future. MPI_Barrier is not precise enough:
 * processes leave it up to several network latencies apart, so the last ones would find that messages have
 * arrived before they start. On one node, the start is the end of a barrier in shared memory, which all leave
 * at almost the same time: waiting for an agreed time lets the GPUs idle, which slows down later calls. */
double start_together(void);

/* Returns by how much this process missed the last agreed time; 0: it was in time. The caller must discard a
 * measurement for which a process was late. The next time is agreed further ahead. */
double start_late_s(void);

/* Frees what start_together has created. Collective, before MPI_Finalize. */
void start_end(void);

#endif
