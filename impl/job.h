/* The job of an executor: logical ranks, ranks in the team, and nodes. */
#ifndef PTO_JOB_H
#define PTO_JOB_H

#include "portolan/exec.h"
#include "team.h"

/* A process's report about itself. */
typedef struct {
    int64_t logical;   /* if the caller places processes */
    int node;          /* lowest rank on its node */
    int place_in_node; /* by rank */
    int processes;     /* on its node */
} pto_who_t;

/* The mapping between logical ranks, MPI ranks and nodes; filled on every process. */
typedef struct {
    const pto_team_t *team;
    const pto_team_t *node;
    void (*release)(pto_team_t *team); /* the team is the job's own; NULL: the caller's */
    int size;
    int rank;           /* in the team */
    int64_t logical;    /* this process's logical rank */
    int *mpi_of;        /* by logical rank: its rank in the team */
    int *node_of;       /* by logical rank: the lowest rank on its real node */
    int *place_in_node; /* by logical rank: rank in its `node` */
    int node_size;
    pto_who_t *who;  /* by rank, until all are placed */
    uint64_t *parts; /* by rank: room for pto_job_is_balanced */
    pto_wait_t wait;
} pto_job_t;

/* Making a job, in three steps. The team is borrowed. The caller frees the job. */
void pto_job_init(const pto_team_t *team, pto_wait_t wait, pto_job_t *job);
/* Not collective: the memory for the next step. Errors must be agreed on. */
pto_status_t pto_job_allocate(const pto_layout_t *layout, pto_job_t *job, pto_error_t *err);
/* Collective: who is where. Fails on all processes or on none. */
pto_status_t pto_job_place(const pto_layout_t *layout, const pto_exec_options_t *options, pto_job_t *job,
                           pto_error_t *err);
/* Collective: the processes' parts add up to 0 (pto_plan_matrix_sum); if not: PTO_ERR_RANGE on all of them.
 */
pto_status_t pto_job_is_balanced(pto_job_t *job, uint64_t part, pto_error_t *err);
void pto_job_free(pto_job_t *job);

/* One turn of a wait loop: the first turns spin, later ones let the team and other processes make progress,
 * or sleep. `*spins` counts them, from 0. */
pto_status_t pto_job_rest(const pto_job_t *job, int *spins, pto_error_t *err);

#endif
