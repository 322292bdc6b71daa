/* The job: the mapping between ranks in the team, logical ranks and nodes. */
#include <assert.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "job.h"

enum { SPINS_BEFORE_YIELD = 200, NAP_FIRST_NS = 10000, NAP_LONGEST_NS = 1000000 };

pto_status_t pto_job_is_balanced(pto_job_t *job, uint64_t part, pto_error_t *err) {
    uint64_t sum = 0;
    pto_status_t status = pto_team_allgather(job->team, &part, sizeof part, job->parts, err);
    for (int i = 0; i < job->size; i++)
        sum += job->parts[i];
    if (status != PTO_OK || sum == 0)
        return status;
    return pto_error_set(err, PTO_ERR_RANGE,
                         "the processes were given different plans: some have other byte counts than others");
}

/* --- who is who ---------------------------------------------------------------------------------------- */

/* Every real node must have as many processes as a node of the layout. All processes find the same error. */
static pto_status_t place_by_nodes(const pto_layout_t *layout, pto_who_t *who, int size, pto_error_t *err) {
    int64_t per_node = layout->gpus_per_node * layout->procs_per_gpu, nodes = 0;
    for (int i = 0; i < size; i++) /* a node's lowest rank comes first: number the nodes there */
        if (who[i].node == i)
            who[i].logical = per_node * nodes++;
    for (int i = 0; i < size; i++) {
        if (who[i].processes != per_node)
            return pto_error_set(
                err, PTO_ERR_RANGE,
                "the layout has %lld processes per node, but rank %d's node has %d; place them "
                "by identity or table to emulate nodes (portolan-validate --placement identity)",
                (long long)per_node, i, who[i].processes);
        if (who[i].node != i)
            who[i].logical = who[who[i].node].logical + who[i].place_in_node;
    }
    return PTO_OK;
}

static pto_status_t note_places(pto_job_t *job, const pto_who_t *who, pto_error_t *err) {
    for (int i = 0; i < job->size; i++)
        job->mpi_of[i] = -1;
    for (int i = 0; i < job->size; i++) {
        int64_t logical = who[i].logical;
        if (logical < 0 || logical >= job->size)
            return pto_error_set(err, PTO_ERR_RANGE, "the table places rank %d at %lld of %d", i,
                                 (long long)logical, job->size);
        if (job->mpi_of[logical] >= 0)
            return pto_error_set(err, PTO_ERR_RANGE, "ranks %d and %d are both placed at %lld",
                                 job->mpi_of[logical], i, (long long)logical);
        job->mpi_of[logical] = i;
        job->node_of[logical] = who[i].node;
        job->place_in_node[logical] = who[i].place_in_node;
    }
    return PTO_OK;
}

/* Where all are on one node, each knows what the others would say. */
static pto_status_t know_of_one_node(const pto_job_t *job, const pto_exec_options_t *options,
                                     pto_who_t *who) {
    for (int i = 0; i < job->size; i++) {
        who[i] = (pto_who_t){.logical = i, .place_in_node = i, .processes = job->size};
        if (options->placement == PTO_PLACEMENT_TABLE)
            who[i].logical = options->table[i];
    }
    return PTO_OK;
}

pto_status_t pto_job_place(const pto_layout_t *layout, const pto_exec_options_t *options, pto_job_t *job,
                           pto_error_t *err) {
    pto_who_t *who = job->who;
    assert(who); /* pto_job_allocate made it */
    pto_who_t mine = {.logical = job->rank,
                      .node = job->team->node_first,
                      .place_in_node = job->node->rank,
                      .processes = job->node_size};
    if (options->placement == PTO_PLACEMENT_TABLE)
        mine.logical = options->table[job->rank];
    pto_status_t status = job->team->node ? pto_team_allgather(job->team, &mine, sizeof mine, who, err)
                                          : know_of_one_node(job, options, who);
    if (status == PTO_OK && options->placement == PTO_PLACEMENT_NODES)
        status = place_by_nodes(layout, who, job->size, err);
    if (status == PTO_OK)
        status = note_places(job, who, err);
    job->logical = status == PTO_OK ? who[job->rank].logical : -1;
    free(job->who);
    job->who = NULL;
    return status;
}

/* --- the whole ------------------------------------------------------------------------------------------ */

void pto_job_init(const pto_team_t *team, pto_wait_t wait, pto_job_t *job) {
    const pto_team_t *node = pto_team_node(team);
    *job = (pto_job_t){.team = team,
                       .node = node,
                       .size = team->size,
                       .rank = team->rank,
                       .node_size = node->size,
                       .wait = wait};
}

pto_status_t pto_job_allocate(const pto_layout_t *layout, pto_job_t *job, pto_error_t *err) {
    size_t size = (size_t)job->size;
    if (pto_layout_rank_count(layout) != job->size)
        return pto_error_set(
            err, PTO_ERR_RANGE, "the layout has %lld processes, the job %d: start as many (mpirun -n %lld)",
            (long long)pto_layout_rank_count(layout), job->size, (long long)pto_layout_rank_count(layout));
    job->who = calloc(size, sizeof(pto_who_t));
    job->mpi_of = calloc(3 * size, sizeof *job->mpi_of);
    job->parts = calloc(size, sizeof *job->parts);
    if (!job->who || !job->mpi_of || !job->parts)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for %d processes", job->size);
    job->node_of = job->mpi_of + size;
    job->place_in_node = job->mpi_of + 2 * size;
    return PTO_OK;
}

void pto_job_free(pto_job_t *job) {
    free(job->who);
    free(job->mpi_of);
    free(job->parts);
    job->who = NULL;
    job->mpi_of = NULL;
    job->parts = NULL;
    if (job->release)
        job->release((pto_team_t *)job->team);
    job->release = NULL;
}

pto_status_t pto_exec_place_in(const pto_layout_t *layout, const pto_team_t *team,
                               const pto_exec_options_t *options, int64_t *logical_rank, pto_error_t *err) {
    static const pto_exec_options_t defaults;
    pto_job_t job;
    options = options ? options : &defaults;
    pto_job_init(team, options->wait, &job);
    pto_status_t status = pto_agree(team, pto_job_allocate(layout, &job, err), err);
    if (status == PTO_OK)
        status = pto_job_place(layout, options, &job, err);
    if (status == PTO_OK)
        *logical_rank = job.logical;
    pto_job_free(&job);
    return status;
}

/* Naps that double bound both what a short wait loses and the CPU time of a long one. */
static void nap(int earlier_naps) {
    long ns = NAP_FIRST_NS;
    for (int i = 0; i < earlier_naps && ns < NAP_LONGEST_NS; i++)
        ns *= 2;
    nanosleep(&(struct timespec){.tv_nsec = ns < NAP_LONGEST_NS ? ns : NAP_LONGEST_NS}, NULL);
}

/* A waiting process must let its team make progress on the messages of others. */
pto_status_t pto_job_rest(const pto_job_t *job, int *spins, pto_error_t *err) {
    if (++*spins < SPINS_BEFORE_YIELD)
        return PTO_OK;
    pto_status_t status = job->team->rest ? job->team->rest(job->team->context, err) : PTO_OK;
    if (job->wait == PTO_WAIT_SLEEP)
        nap(*spins - SPINS_BEFORE_YIELD);
    else if (job->wait == PTO_WAIT_YIELD)
        sched_yield();
    return status;
}
