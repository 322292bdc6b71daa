/* Calls that the drop-in must leave to MPI, with results that the program knows. */
#ifndef DROPIN_SPECIAL_H
#define DROPIN_SPECIAL_H

#include <stdbool.h>

/* test_dropin.c: in MPI_COMM_WORLD; and note a wrong result, of which the first ones are printed. */
extern int rank, size;
void expect(bool right, const char *what);

/* In GPU memory, on MPI_COMM_WORLD of at least 2 processes. */
void run_special(void);

/* Sums of host and of GPU memory on a communicator whose memory the program asserts to be of these kinds
 * (MPI 4.1's), in process 0 alone or in all processes. */
void run_kinds(const char *kinds, bool first_only);

/* Eight sums of host memory; after four of them the last process loads a library. */
void run_load(const char *library);

/* Allgathers in which process 0 passes one buffer for input and output, which MPI does not allow. */
void run_alias(void);

/* Sums of GPU memory while the program captures a stream; with CUDA's driver only. */
void run_capture(void);

/* Two processes more of `program`, which run_child, and sums between them and the others, and of each. */
void run_spawn(char *program);
void run_child(void);

/* Sums of so many sizes on one communicator, of all of which the library needs two communicators. */
void run_plans(int count);

/* A sum on each of so many communicators, of which the library gives few plans. */
void run_live(int count);

#endif
