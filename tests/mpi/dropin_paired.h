/* What a library in front of MPI changes, measured in one job: blocks of calls that it may take alternate
 * with blocks of the same calls by the MPI library itself. Two programs differ by more than what is looked
 * for. */
#ifndef DROPIN_PAIRED_H
#define DROPIN_PAIRED_H

#include <stddef.h>

/* Collectives on GPU memory, of 8 bytes to `bytes_max` a process, in about `budget_s` seconds. Ranks are in
 * the order of `gpus` GPUs, process r of MPI_COMM_WORLD having GPU r modulo those; 1: as they are there.
 * Process 0 prints a CSV table: of each collective and size, for the mean of the processes and for the
 * slowest one, medians of both ways and of their difference with its 95 percent interval, and what it shows.
 */
void run_paired(size_t bytes_max, double budget_s, int gpus);

#endif
