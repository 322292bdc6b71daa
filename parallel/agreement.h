/* Command lines of an MPI job's processes, each of which may have its own (mpirun's `:`). */
#ifndef PTO_AGREEMENT_H
#define PTO_AGREEMENT_H

#include "arguments.h"

/* Collective over MPI_COMM_WORLD, with what pto_arguments_read returned, or what came of it: `code` and the
 * error. The lowest rank that is not to go on prints its error, or the help. All return the same: -1 to go
 * on, otherwise that rank's exit code. */
int agree_on_arguments(const pto_syntax_t *syntax, int code, const pto_error_t *err);

#endif
