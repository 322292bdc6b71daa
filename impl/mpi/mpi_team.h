/* Teams (portolan/exec.h) of a communicator's processes, and operations on communicators without a team. */
#ifndef PTO_MPI_TEAM_H
#define PTO_MPI_TEAM_H

#include "portolan/exec_mpi.h"
#include "team.h"

/* A team, and communicators that only its executors use. Executors that share them run one after the other on
 * all processes, so that messages match in the order in which they are sent. The object must not be moved. */
typedef struct {
    pto_team_t team;
    pto_team_t on_node;
    MPI_Comm comm; /* with the same processes in the same order, but no attributes */
    MPI_Comm node; /* the processes that share memory with this one */
    MPI_Request barrier;
    bool abandoned; /* a run failed, and its messages may still arrive: they are never freed */
} pto_comms_t;

/* Collective. On error, nothing remains to be freed. */
pto_status_t pto_comms_create(MPI_Comm comm, pto_comms_t *comms, pto_error_t *err);
/* Collective. */
void pto_comms_free(pto_comms_t *comms);

/* Returns the communicators of a team made from MPI. */
static inline const pto_comms_t *pto_comms_of(const pto_team_t *team) { return team->context; }

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
