/* The functions of portolan/exec_mpi.h: those of exec.h with a communicator instead of a team. Each executor
 * creates a team of the communicator's processes and frees it when it is destroyed. */
#include "executor.h"
#include "mpi_team.h"

pto_status_t pto_exec_place(const pto_layout_t *layout, MPI_Comm comm, const pto_exec_options_t *options,
                            int64_t *logical_rank, pto_error_t *err) {
    pto_team_t *team = NULL;
    pto_status_t status = pto_team_mpi_create(comm, &team, err);
    if (status == PTO_OK)
        status = pto_exec_place_in(layout, team, options, logical_rank, err);
    pto_team_mpi_destroy(team);
    return status;
}

/* Passes the team's ownership to the executor that was created with it. */
static pto_status_t give_team(pto_team_t *team, pto_status_t status, pto_exec_t *const *exec) {
    if (status == PTO_OK)
        (*exec)->job.release = pto_team_mpi_destroy;
    else
        pto_team_mpi_destroy(team);
    return status;
}

pto_status_t pto_exec_create(const pto_plan_t *plan, MPI_Comm comm, const pto_device_t *device,
                             const void *in, void *out, pto_op_t op, const pto_exec_options_t *options,
                             pto_exec_t **exec, pto_error_t *err) {
    pto_team_t *team = NULL;
    pto_status_t status = pto_team_mpi_create(comm, &team, err);
    if (status == PTO_OK)
        status =
            give_team(team, pto_exec_create_in(plan, team, device, in, out, op, options, exec, err), exec);
    return status;
}

pto_status_t pto_exec_open(const pto_plan_t *plan, MPI_Comm comm, const char *device, pto_op_t op,
                           const pto_exec_options_t *options, pto_exec_t **exec, pto_error_t *err) {
    pto_team_t *team = NULL;
    pto_status_t status = pto_team_mpi_create(comm, &team, err);
    if (status == PTO_OK)
        status = give_team(team, pto_exec_open_in(plan, team, device, op, options, exec, err), exec);
    return status;
}
