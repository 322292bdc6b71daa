/* The job: the mapping between MPI ranks, logical ranks and nodes, and agreement on errors. */
#include <assert.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "job.h"

enum { SPINS_BEFORE_YIELD = 200, NAP_FIRST_NS = 10000, NAP_LONGEST_NS = 1000000 };

pto_status_t pto_mpi(int code, const char *call, pto_error_t *err) {
    if (code == MPI_SUCCESS)
        return PTO_OK;
    char text[MPI_MAX_ERROR_STRING] = "unknown error";
    int length = 0;
    MPI_Error_string(code, text, &length);
    int name = (int)strcspn(call, "(");
    return pto_error_set(err, PTO_ERR_IO, "%.*s: %s", name, call, text);
}

/* A failed call names its rank, since the other processes will report it too; a plan that is wrong is wrong
 * on all ranks. */
static pto_error_t own_error(pto_status_t status, int rank, const pto_error_t *err) {
    pto_error_t named = *err;
    if (status == PTO_ERR_IO || status == PTO_ERR_MEMORY)
        pto_error_set(&named, status, "MPI rank %d: %s", rank, err->message);
    return named;
}

/* The lowest status of the lowest rank is the least of these: errors are negative. */
#define RANKS_MAX ((int64_t)1 << 32)
static int64_t key_of(pto_status_t status, int rank) { return (int64_t)status * RANKS_MAX + rank; }

static pto_status_t share_error(MPI_Comm comm, int64_t key, int rank, pto_error_t *err) {
    int failed = (int)(key & (RANKS_MAX - 1));
    pto_status_t status = (pto_status_t)((key - failed) / RANKS_MAX);
    pto_error_t shared = {0};
    if (rank == failed && err)
        shared = own_error(status, rank, err);
    pto_status_t told = PTO_MPI(MPI_Bcast(&shared, (int)sizeof shared, MPI_BYTE, failed, comm), err);
    if (told == PTO_OK && err)
        *err = shared;
    return told == PTO_OK ? status : told;
}

pto_status_t pto_agree_least(MPI_Comm comm, pto_status_t status, int64_t *number, int count,
                             pto_error_t *err) {
    int64_t mine[1 + PTO_AGREE_MAX] = {0}, least[1 + PTO_AGREE_MAX] = {0};
    int rank = 0;
    assert(count <= PTO_AGREE_MAX);
    pto_status_t failed = PTO_MPI(MPI_Comm_rank(comm, &rank), err);
    mine[0] = key_of(status, rank);
    for (int i = 0; i < count; i++)
        mine[1 + i] = number[i];
    if (failed == PTO_OK)
        failed = PTO_MPI(MPI_Allreduce(mine, least, 1 + count, MPI_INT64_T, MPI_MIN, comm), err);
    if (failed != PTO_OK)
        return failed;
    for (int i = 0; i < count; i++)
        number[i] = least[1 + i];
    return least[0] < 0 ? share_error(comm, least[0], rank, err) : PTO_OK;
}

pto_status_t pto_agree(MPI_Comm comm, pto_status_t status, pto_error_t *err) {
    return pto_agree_least(comm, status, NULL, 0, err);
}

pto_status_t pto_agree_same(MPI_Comm comm, pto_status_t status, uint64_t number, pto_error_t *err) {
    int64_t least[2]; /* of the numbers and of their complements, of which the least is that of the largest */
    memcpy(&least[0], &number, sizeof number);
    least[1] = ~least[0];
    status = pto_agree_least(comm, status, least, 2, err);
    if (status != PTO_OK || least[0] == ~least[1])
        return status;
    return pto_error_set(err, PTO_ERR_RANGE,
                         "the processes were given different plans, operations or options (digests from "
                         "%016llx to %016llx)",
                         (unsigned long long)least[0], (unsigned long long)~least[1]);
}

pto_status_t pto_agree_balanced(MPI_Comm comm, uint64_t part, pto_error_t *err) {
    uint64_t sum = 0;
    pto_status_t status = PTO_MPI(MPI_Allreduce(&part, &sum, 1, MPI_UINT64_T, MPI_SUM, comm), err);
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

/* The lowest rank on this process's node. */
static pto_status_t first_on_node(const pto_job_t *job, int *first, pto_error_t *err) {
    MPI_Group all = MPI_GROUP_NULL, node = MPI_GROUP_NULL;
    pto_status_t status = PTO_MPI(MPI_Comm_group(job->comm, &all), err);
    if (status == PTO_OK)
        status = PTO_MPI(MPI_Comm_group(job->node, &node), err);
    if (status == PTO_OK)
        status = PTO_MPI(MPI_Group_translate_ranks(node, 1, (const int[]){0}, all, first), err);
    if (node != MPI_GROUP_NULL)
        MPI_Group_free(&node);
    if (all != MPI_GROUP_NULL)
        MPI_Group_free(&all);
    return status;
}

pto_status_t pto_job_place(const pto_layout_t *layout, const pto_exec_options_t *options, pto_job_t *job,
                           pto_error_t *err) {
    pto_who_t *who = job->who, mine = {.logical = job->rank, .processes = job->node_size};
    if (options->placement == PTO_PLACEMENT_TABLE)
        mine.logical = options->table[job->rank];
    pto_status_t status = PTO_MPI(MPI_Comm_rank(job->node, &mine.place_in_node), err);
    if (status == PTO_OK)
        status = first_on_node(job, &mine.node, err);
    if (status == PTO_OK)
        status = PTO_MPI(
            MPI_Allgather(&mine, (int)sizeof mine, MPI_BYTE, who, (int)sizeof mine, MPI_BYTE, job->comm),
            err);
    if (status == PTO_OK && options->placement == PTO_PLACEMENT_NODES)
        status = place_by_nodes(layout, who, job->size, err);
    if (status == PTO_OK)
        status = note_places(job, who, err);
    job->logical = who[job->rank].logical;
    free(job->who);
    job->who = NULL;
    return status;
}

/* --- communicators -------------------------------------------------------------------------------------- */

/* Unlike a duplicate, it copies no attributes of the program, which may be large or communicate. */
static pto_status_t copy_comm(MPI_Comm comm, MPI_Comm *made, pto_error_t *err) {
    MPI_Group group = MPI_GROUP_NULL;
    pto_status_t status = PTO_MPI(MPI_Comm_group(comm, &group), err);
    if (status == PTO_OK)
        status = PTO_MPI(MPI_Comm_create(comm, group, made), err);
    if (group != MPI_GROUP_NULL)
        MPI_Group_free(&group);
    return status;
}

pto_status_t pto_comms_create(MPI_Comm comm, pto_comms_t *comms, pto_error_t *err) {
    int rank = 0;
    *comms = (pto_comms_t){.comm = MPI_COMM_NULL, .node = MPI_COMM_NULL};
    pto_status_t status = copy_comm(comm, &comms->comm, err);
    if (status == PTO_OK)
        status = PTO_MPI(MPI_Comm_set_errhandler(comms->comm, MPI_ERRORS_RETURN), err);
    if (status == PTO_OK)
        status = PTO_MPI(MPI_Comm_rank(comms->comm, &rank), err);
    if (status == PTO_OK)
        status = PTO_MPI(
            MPI_Comm_split_type(comms->comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &comms->node), err);
    if (status != PTO_OK)
        pto_comms_free(comms);
    return status;
}

void pto_comms_free(pto_comms_t *comms) {
    if (comms->abandoned)
        return;
    if (comms->node != MPI_COMM_NULL)
        MPI_Comm_free(&comms->node);
    if (comms->comm != MPI_COMM_NULL)
        MPI_Comm_free(&comms->comm);
}

static pto_status_t read_sizes(pto_job_t *job, pto_error_t *err) {
    job->comm = job->comms->comm;
    job->node = job->comms->node;
    pto_status_t status = PTO_MPI(MPI_Comm_size(job->comm, &job->size), err);
    if (status == PTO_OK)
        status = PTO_MPI(MPI_Comm_rank(job->comm, &job->rank), err);
    return status == PTO_OK ? PTO_MPI(MPI_Comm_size(job->node, &job->node_size), err) : status;
}

pto_status_t pto_job_create(MPI_Comm comm, pto_comms_t *comms, pto_wait_t wait, pto_job_t *job,
                            pto_error_t *err) {
    *job = (pto_job_t){.comms = comms, .wait = wait};
    if (!comms) {
        pto_status_t status = pto_comms_create(comm, &job->own, err);
        if (status != PTO_OK)
            return status;
        job->comms = &job->own;
    }
    pto_status_t status = read_sizes(job, err);
    if (status != PTO_OK)
        pto_job_free(job);
    return status;
}

pto_status_t pto_job_allocate(const pto_layout_t *layout, pto_job_t *job, pto_error_t *err) {
    size_t size = (size_t)job->size;
    if (pto_layout_rank_count(layout) != job->size)
        return pto_error_set(
            err, PTO_ERR_RANGE, "the layout has %lld processes, the job %d: start as many (mpirun -n %lld)",
            (long long)pto_layout_rank_count(layout), job->size, (long long)pto_layout_rank_count(layout));
    job->who = calloc(size, sizeof(pto_who_t));
    job->mpi_of = calloc(3 * size, sizeof *job->mpi_of);
    if (!job->who || !job->mpi_of)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for %d processes", job->size);
    job->node_of = job->mpi_of + size;
    job->place_in_node = job->mpi_of + 2 * size;
    return PTO_OK;
}

void pto_job_free(pto_job_t *job) {
    free(job->who);
    free(job->mpi_of);
    job->who = NULL;
    job->mpi_of = NULL;
    if (job->comms == &job->own)
        pto_comms_free(&job->own);
}

pto_status_t pto_exec_place(const pto_layout_t *layout, MPI_Comm comm, const pto_exec_options_t *options,
                            int64_t *logical_rank, pto_error_t *err) {
    static const pto_exec_options_t defaults;
    pto_job_t job;
    options = options ? options : &defaults;
    pto_status_t status = pto_job_create(comm, NULL, options->wait, &job, err);
    if (status != PTO_OK)
        return status;
    status = pto_agree(job.comm, pto_job_allocate(layout, &job, err), err);
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

/* A waiting process must let MPI make progress on the messages of others. */
pto_status_t pto_job_rest(const pto_job_t *job, int *spins, pto_error_t *err) {
    int flag = 0;
    if (++*spins < SPINS_BEFORE_YIELD)
        return PTO_OK;
    pto_status_t status =
        PTO_MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, job->comm, &flag, MPI_STATUS_IGNORE), err);
    if (job->wait == PTO_WAIT_SLEEP)
        nap(*spins - SPINS_BEFORE_YIELD);
    else if (job->wait == PTO_WAIT_YIELD)
        sched_yield();
    return status;
}
