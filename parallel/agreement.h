/* Agreements that the processes of an MPI job need before they go on together: whether all have succeeded,
 * and their command lines, of which each may have its own (mpirun's `:`). */
#ifndef PTO_AGREEMENT_H
#define PTO_AGREEMENT_H

#include <mpi.h>

#include "command_line/arguments.h"

enum { SETTING_MAX = 256 };

/* Settings that must be alike on all processes. */
typedef struct {
    const char *name;
    char value[SETTING_MAX];
} setting_t;

/* Collective. PTO_OK if `status` is PTO_OK on all processes of `comm`. Otherwise all processes return the
 * status of the lowest rank that failed, and `err`, which must not be NULL, is that rank's. */
pto_status_t agree_on_status(MPI_Comm comm, pto_status_t status, pto_error_t *err);

/* Collective over MPI_COMM_WORLD, with what pto_arguments_read returned, or what came of it: `code` and the
 * error. The lowest rank that is not to go on prints its error, or the help. All return the same: -1 to go
 * on, otherwise that rank's exit code. */
int agree_on_arguments(const pto_syntax_t *syntax, int code, const pto_error_t *err);

/* Whether all processes have the same settings, which must be the same in number and in order. Collective
 * over MPI_COMM_WORLD, as is its error, PTO_ERR_RANGE with the first process that differs from rank 0, and
 * its first setting that does. `err` must not be NULL. */
pto_status_t agree_on_settings(const setting_t *setting, int count, pto_error_t *err);

#endif
