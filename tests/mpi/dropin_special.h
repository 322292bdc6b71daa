/* Calls that the drop-in must leave to MPI, with results that the program knows. */
#ifndef DROPIN_SPECIAL_H
#define DROPIN_SPECIAL_H

#include <stdbool.h>

/* test_dropin.c: note a wrong result, of which the first ones are printed. */
void expect(bool right, const char *what);

/* In GPU memory, on MPI_COMM_WORLD of at least 2 processes. */
void run_special(void);

#endif
