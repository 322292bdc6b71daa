/* Checks that the processes of an MPI job make together before they continue: whether all have succeeded, and
 * whether their command lines agree, since each may have its own (mpirun's `:`). */
#ifndef PTO_AGREEMENT_H
#define PTO_AGREEMENT_H

#include <mpi.h>

#include "command_line/arguments.h"

enum { SETTING_MAX = 256 };

/* A setting that must be equal on all processes. */
typedef struct {
    const char *name;
    char value[SETTING_MAX];
} setting_t;

/* Collective. PTO_OK if `status` is PTO_OK on all processes of `comm`. Otherwise all processes return the
 * status of the lowest rank that failed, and `err`, which must not be NULL, is that rank's. */
pto_status_t agree_on_status(MPI_Comm comm, pto_status_t status, pto_error_t *err);

/* Collective over MPI_COMM_WORLD. `code` is the result of pto_arguments_read and later checks: -1 to
 * continue, otherwise an exit code. The lowest rank that must exit prints its error, or the help. Returns the
 * same on all processes: -1, or that rank's exit code. */
int agree_on_arguments(const pto_syntax_t *syntax, int code, const pto_error_t *err);

/* Collective over MPI_COMM_WORLD. Checks that all processes have the values of rank 0. The caller ensures
 * that their settings have the same number and order. Errors, on all processes: PTO_ERR_RANGE with the first
 * process that differs and its first such setting. `err` must not be NULL. */
pto_status_t agree_on_settings(const setting_t *setting, int count, pto_error_t *err);

#endif
