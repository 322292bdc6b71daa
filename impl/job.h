/* The job of an executor: logical ranks, MPI ranks and nodes, and how processes agree on errors. */
#ifndef PTO_JOB_H
#define PTO_JOB_H

#include "portolan/exec.h"

/* The mapping between logical ranks, MPI ranks and nodes; filled on every process. */
typedef struct {
    MPI_Comm comm; /* our duplicate */
    MPI_Comm node; /* the processes that share memory with this one */
    int size;
    int rank;           /* in comm */
    int64_t logical;    /* this process's logical rank */
    int *mpi_of;        /* by logical rank */
    int *node_of;       /* by logical rank: the lowest MPI rank on its real node */
    int *place_in_node; /* by logical rank: rank in its `node` */
    pto_wait_t wait;
} pto_job_t;

/* Translate an MPI result: PTO_OK, or PTO_ERR_IO with the call and MPI's message. */
pto_status_t pto_mpi(int code, const char *call, pto_error_t *err);
#define PTO_MPI(call, err) pto_mpi((call), #call, (err))

/* Collective: PTO_OK if every process passed PTO_OK, else the first failing process's error on all of
 * them. */
pto_status_t pto_agree(MPI_Comm comm, pto_status_t status, pto_error_t *err);

/* Collective. The caller frees the job. */
pto_status_t pto_job_create(const pto_layout_t *layout, MPI_Comm comm, const pto_exec_options_t *options,
                            pto_job_t *job, pto_error_t *err);
void pto_job_free(pto_job_t *job);

/* Collective: PTO_ERR_RANGE if processes passed different numbers. */
pto_status_t pto_same_everywhere(MPI_Comm comm, uint64_t number, pto_error_t *err);

/* One turn of a wait loop: the first turns spin, later ones let MPI and other processes make progress, or
 * sleep. `*spins` counts them, from 0. */
pto_status_t pto_job_rest(const pto_job_t *job, int *spins, pto_error_t *err);

#endif
