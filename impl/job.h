/* A job: the processes of an executor. Maps the plan's logical ranks to ranks in the team and to nodes. */
#ifndef PTO_JOB_H
#define PTO_JOB_H

#include "portolan/exec.h"
#include "team.h"

/* What each process tells all others about itself. */
typedef struct {
    int64_t logical;   /* its logical rank, if the caller places processes */
    int node;          /* lowest rank on its node */
    int place_in_node; /* rank among the node's processes */
    int processes;     /* on its node */
} pto_location_t;

typedef struct {
    const pto_team_t *team;
    const pto_team_t *node;            /* this process's */
    void (*release)(pto_team_t *team); /* destroys the team with the job; NULL: the team is the caller's */
    int size;
    int rank;           /* in the team */
    int64_t logical;    /* this process's logical rank */
    int *team_rank;     /* by logical rank: rank in the team */
    int *node_of;       /* by logical rank: the lowest rank on its real node */
    int *place_in_node; /* by logical rank: rank in its `node` */
    int node_size;
    pto_location_t *locations; /* by rank in the team, until all processes are placed */
    uint64_t *shares;          /* by rank in the team: receive buffer of pto_job_is_balanced */
    pto_wait_t wait;
} pto_job_t;

/* A job is made in three steps. The team is borrowed. The caller frees the job. */
void pto_job_init(const pto_team_t *team, pto_wait_t wait, pto_job_t *job);
/* Not collective: allocates the memory for the next step. The processes must agree on errors. */
pto_status_t pto_job_allocate(const pto_layout_t *layout, pto_job_t *job, pto_error_t *err);
/* Collective: fills the maps. Fails on all processes or on none. */
pto_status_t pto_job_place(const pto_layout_t *layout, const pto_exec_options_t *options, pto_job_t *job,
                           pto_error_t *err);
/* Collective: returns PTO_ERR_RANGE on all processes if they have different byte counts. `share` is this
 * process's pto_plan_matrix_sum; if all have the same counts, the sum of all shares is 0. */
pto_status_t pto_job_is_balanced(pto_job_t *job, uint64_t share, pto_error_t *err);
void pto_job_free(pto_job_t *job);

/* Call it in each iteration of a wait loop. At first it returns at once, later it lets others make progress,
 * or sleeps. `*spins`, 0 before the loop, counts the iterations. */
pto_status_t pto_job_rest(const pto_job_t *job, int *spins, pto_error_t *err);

#endif
