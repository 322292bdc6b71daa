/* Teams (portolan/exec.h) of a communicator's processes, and operations on communicators without a team. */
#ifndef PTO_MPI_TEAM_H
#define PTO_MPI_TEAM_H

#include "portolan/exec_mpi.h"
#include "team.h"

/* Returns the communicator of a team made from MPI. */
MPI_Comm pto_comm_of(const pto_team_t *team);

/* Translates an MPI result: PTO_OK, or PTO_ERR_IO with the function's name and MPI's message. */
pto_status_t pto_mpi(int code, const char *call, pto_error_t *err);
#define PTO_MPI(call, err) pto_mpi((call), #call, (err))

/* Collective: pto_agree, pto_agree_least, pto_agree_same and pto_team_share (../team.h) on a communicator. */
pto_status_t pto_mpi_agree(MPI_Comm comm, pto_status_t status, pto_error_t *err);
pto_status_t pto_mpi_agree_least(MPI_Comm comm, pto_status_t status, int64_t *number, int count,
                                 pto_error_t *err);
pto_status_t pto_mpi_agree_same(MPI_Comm comm, pto_status_t status, uint64_t number, pto_error_t *err);
pto_status_t pto_mpi_share(MPI_Comm comm, size_t bytes, void **memory, pto_shared_handle_t *handle,
                           pto_error_t *err);

#endif
