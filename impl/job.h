/* The job of an executor: logical ranks, MPI ranks and nodes, and how processes agree on errors. */
#ifndef PTO_JOB_H
#define PTO_JOB_H

#include "portolan/exec.h"

/* What each process reports about itself. */
typedef struct {
    int64_t logical;   /* if the caller places processes */
    int node;          /* lowest rank on its node */
    int place_in_node; /* by rank */
    int processes;     /* on its node */
} pto_who_t;

/* The communicators of executors, and no other's. Those that share them run one after the other on all
 * processes, so that messages match in the order in which they are sent. */
typedef struct {
    MPI_Comm comm;  /* with the same processes in the same order, but no attributes */
    MPI_Comm node;  /* the processes that share memory with this one */
    bool abandoned; /* a run failed, and its messages may still arrive: they are never freed */
} pto_comms_t;

/* Collective. On error nothing is left. */
pto_status_t pto_comms_create(MPI_Comm comm, pto_comms_t *comms, pto_error_t *err);
/* Collective. */
void pto_comms_free(pto_comms_t *comms);

/* Collective. pto_exec_create on communicators that must outlive the executor. */
pto_status_t pto_exec_create_on(const pto_plan_t *plan, pto_comms_t *comms, const pto_device_t *device,
                                const void *in, void *out, pto_op_t op, const pto_exec_options_t *options,
                                pto_exec_t **exec, pto_error_t *err);

/* The mapping between logical ranks, MPI ranks and nodes; filled on every process. */
typedef struct {
    MPI_Comm comm; /* these two are those of `comms` */
    MPI_Comm node;
    pto_comms_t *comms; /* shared with other executors, or `own` */
    pto_comms_t own;
    int size;
    int rank;           /* in comm */
    int64_t logical;    /* this process's logical rank */
    int *mpi_of;        /* by logical rank */
    int *node_of;       /* by logical rank: the lowest MPI rank on its real node */
    int *place_in_node; /* by logical rank: rank in its `node` */
    int node_size;
    pto_who_t *who; /* by rank, until all are placed */
    pto_wait_t wait;
} pto_job_t;

/* Translate an MPI result: PTO_OK, or PTO_ERR_IO with the call and MPI's message. */
pto_status_t pto_mpi(int code, const char *call, pto_error_t *err);
#define PTO_MPI(call, err) pto_mpi((call), #call, (err))

/* Collective: PTO_OK if every process passed PTO_OK, else the first failing process's error on all of
 * them. */
pto_status_t pto_agree(MPI_Comm comm, pto_status_t status, pto_error_t *err);

/* pto_agree, and in the same message the least of each of `count` numbers, which replaces the process's own.
 */
enum { PTO_AGREE_MAX = 6 };
pto_status_t pto_agree_least(MPI_Comm comm, pto_status_t status, int64_t *number, int count,
                             pto_error_t *err);

/* pto_agree, and in the same message: PTO_ERR_RANGE if processes passed different numbers. */
pto_status_t pto_agree_same(MPI_Comm comm, pto_status_t status, uint64_t number, pto_error_t *err);

/* All processes agree that their parts add up to 0 (pto_plan_matrix_sum); if not: PTO_ERR_RANGE. */
pto_status_t pto_agree_balanced(MPI_Comm comm, uint64_t part, pto_error_t *err);

/* Making a job, in three steps. Collective: the communicators, and the sizes. Without `comms` the job has its
 * own of `comm`. The caller frees the job, which must not be moved. */
pto_status_t pto_job_create(MPI_Comm comm, pto_comms_t *comms, pto_wait_t wait, pto_job_t *job,
                            pto_error_t *err);
/* Not collective: the memory for the next step. Errors must be agreed on. */
pto_status_t pto_job_allocate(const pto_layout_t *layout, pto_job_t *job, pto_error_t *err);
/* Collective: who is where. Fails on all processes or on none. */
pto_status_t pto_job_place(const pto_layout_t *layout, const pto_exec_options_t *options, pto_job_t *job,
                           pto_error_t *err);
void pto_job_free(pto_job_t *job);

/* One turn of a wait loop: the first turns spin, later ones let MPI and other processes make progress, or
 * sleep. `*spins` counts them, from 0. */
pto_status_t pto_job_rest(const pto_job_t *job, int *spins, pto_error_t *err);

#endif
