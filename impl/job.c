/* Where the processes of an executor are (job.h), and how a process waits for others. */
#include <assert.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "job.h"

enum { SPINS_BEFORE_YIELD = 200, NAP_FIRST_NS = 10000, NAP_LONGEST_NS = 1000000 };

pto_status_t pto_job_is_balanced(pto_job_t *job, uint64_t share, pto_error_t *err) {
    uint64_t sum = 0;
    pto_status_t status = pto_team_allgather(job->team, &share, sizeof share, job->shares, err);
    for (int i = 0; i < job->size; i++)
        sum += job->shares[i];
    if (status != PTO_OK || sum == 0)
        return status;
    return pto_error_set(err, PTO_ERR_RANGE,
                         "the processes were given different plans: some have other byte counts than others");
}

/* Process i of real node j becomes process i of node j in the plan. Every real node must have as many
 * processes as a node of the layout. All processes find the same error. */
static pto_status_t place_by_nodes(const pto_layout_t *layout, pto_location_t *locations, int size,
                                   pto_error_t *err) {
    int64_t per_node = layout->gpus_per_node * layout->procs_per_gpu, nodes = 0;
    /* Number the nodes in the order of their lowest ranks. */
    for (int i = 0; i < size; i++)
        if (locations[i].node == i)
            locations[i].logical = per_node * nodes++;
    for (int i = 0; i < size; i++) {
        if (locations[i].processes != per_node)
            return pto_error_set(
                err, PTO_ERR_RANGE,
                "the layout has %lld processes per node, but rank %d's node has %d; place them "
                "by identity or table to emulate nodes (portolan-validate --placement identity)",
                (long long)per_node, i, locations[i].processes);
        if (locations[i].node != i)
            locations[i].logical = locations[locations[i].node].logical + locations[i].place_in_node;
    }
    return PTO_OK;
}

/* Checks that every logical rank has one process, and fills the maps by logical rank. */
static pto_status_t fill_maps(pto_job_t *job, const pto_location_t *locations, pto_error_t *err) {
    for (int i = 0; i < job->size; i++)
        job->team_rank[i] = -1;
    for (int i = 0; i < job->size; i++) {
        int64_t logical = locations[i].logical;
        if (logical < 0 || logical >= job->size)
            return pto_error_set(err, PTO_ERR_RANGE, "the table places rank %d at %lld of %d", i,
                                 (long long)logical, job->size);
        if (job->team_rank[logical] >= 0)
            return pto_error_set(err, PTO_ERR_RANGE, "ranks %d and %d are both placed at %lld",
                                 job->team_rank[logical], i, (long long)logical);
        job->team_rank[logical] = i;
        job->node_of[logical] = locations[i].node;
        job->place_in_node[logical] = locations[i].place_in_node;
    }
    return PTO_OK;
}

/* On one node, each process can compute all locations, so nothing is exchanged. */
static void locate_on_one_node(const pto_job_t *job, const pto_exec_options_t *options,
                               pto_location_t *locations) {
    for (int i = 0; i < job->size; i++) {
        locations[i] = (pto_location_t){.logical = i, .place_in_node = i, .processes = job->size};
        if (options->placement == PTO_PLACEMENT_TABLE)
            locations[i].logical = options->table[i];
    }
}

pto_status_t pto_job_place(const pto_layout_t *layout, const pto_exec_options_t *options, pto_job_t *job,
                           pto_error_t *err) {
    pto_location_t *locations = job->locations;
    pto_status_t status = PTO_OK;
    assert(locations); /* pto_job_allocate made it */
    pto_location_t mine = {.logical = job->rank,
                           .node = job->team->node_first,
                           .place_in_node = job->node->rank,
                           .processes = job->node_size};
    if (options->placement == PTO_PLACEMENT_TABLE)
        mine.logical = options->table[job->rank];
    if (job->team->node)
        status = pto_team_allgather(job->team, &mine, sizeof mine, locations, err);
    else
        locate_on_one_node(job, options, locations);
    if (status == PTO_OK && options->placement == PTO_PLACEMENT_NODES)
        status = place_by_nodes(layout, locations, job->size, err);
    if (status == PTO_OK)
        status = fill_maps(job, locations, err);
    job->logical = status == PTO_OK ? locations[job->rank].logical : -1;
    free(job->locations);
    job->locations = NULL;
    return status;
}

void pto_job_init(const pto_team_t *team, pto_wait_t wait, pto_job_t *job) {
    const pto_team_t *node = team->node ? team->node : team;
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
    job->locations = calloc(size, sizeof(pto_location_t));
    job->team_rank = calloc(3 * size, sizeof *job->team_rank);
    job->shares = calloc(size, sizeof *job->shares);
    if (!job->locations || !job->team_rank || !job->shares)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for %d processes", job->size);
    job->node_of = job->team_rank + size;
    job->place_in_node = job->team_rank + 2 * size;
    return PTO_OK;
}

void pto_job_free(pto_job_t *job) {
    free(job->locations);
    free(job->team_rank);
    free(job->shares);
    if (job->release)
        job->release((pto_team_t *)job->team);
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

/* Doubles the sleep each time, up to a limit. This bounds the delay of short waits and the CPU time of long
 * ones. */
static void nap(int earlier_naps) {
    long ns = NAP_FIRST_NS;
    for (int i = 0; i < earlier_naps && ns < NAP_LONGEST_NS; i++)
        ns *= 2;
    nanosleep(&(struct timespec){.tv_nsec = ns < NAP_LONGEST_NS ? ns : NAP_LONGEST_NS}, NULL);
}

/* The team's `rest` lets MPI make progress on messages of other processes. */
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
