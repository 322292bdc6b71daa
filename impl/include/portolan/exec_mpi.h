/* Executors in MPI programs, and teams of a communicator's processes, which plans with messages need. A
 * separate library, libportolan-exec-mpi. */
#ifndef PORTOLAN_EXEC_MPI_H
#define PORTOLAN_EXEC_MPI_H

#include <mpi.h>

#include "portolan/exec.h"

PTO_API_BEGIN

/* Collective: like exec.h's functions, with a team of the communicator's processes, which the executor
 * creates and frees. It duplicates the communicator. */
pto_status_t pto_exec_place(const pto_layout_t *layout, MPI_Comm comm, const pto_exec_options_t *options,
                            int64_t *logical_rank, pto_error_t *err);
pto_status_t pto_exec_create(const pto_plan_t *plan, MPI_Comm comm, const pto_device_t *device,
                             const void *in, void *out, pto_op_t op, const pto_exec_options_t *options,
                             pto_exec_t **exec, pto_error_t *err);
pto_status_t pto_exec_open(const pto_plan_t *plan, MPI_Comm comm, const char *device, pto_op_t op,
                           const pto_exec_options_t *options, pto_exec_t **exec, pto_error_t *err);

/* Collective: create a team for several executors. They must run one after the other on all processes, since
 * messages match in the order in which they are sent. Free it after them; after a failed run, it stays. */
pto_status_t pto_team_mpi_create(MPI_Comm comm, pto_team_t **team, pto_error_t *err);
void pto_team_mpi_destroy(pto_team_t *team); /* NULL is legal */

PTO_API_END

#endif
