/* The job: the mapping between MPI ranks, logical ranks and nodes, and agreement on errors. */
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

pto_status_t pto_agree(MPI_Comm comm, pto_status_t status, pto_error_t *err) {
    int rank = 0;
    pto_error_t shared = {0};
    pto_status_t failed = PTO_MPI(MPI_Comm_rank(comm, &rank), err);
    struct {
        int status, rank;
    } mine = {status, rank}, least = {0, 0};
    if (failed == PTO_OK)
        failed = PTO_MPI(MPI_Allreduce(&mine, &least, 1, MPI_2INT, MPI_MINLOC, comm), err);
    if (failed != PTO_OK || least.status == PTO_OK)
        return failed;
    if (rank == least.rank && err)
        shared = own_error((pto_status_t)least.status, rank, err);
    failed = PTO_MPI(MPI_Bcast(&shared, (int)sizeof shared, MPI_BYTE, least.rank, comm), err);
    if (failed == PTO_OK && err)
        *err = shared;
    return failed == PTO_OK ? (pto_status_t)least.status : failed;
}

pto_status_t pto_same_everywhere(MPI_Comm comm, uint64_t number, pto_error_t *err) {
    uint64_t mine[2] = {number, ~number}, least[2];
    pto_status_t status = PTO_MPI(MPI_Allreduce(mine, least, 2, MPI_UINT64_T, MPI_MIN, comm), err);
    if (status != PTO_OK || least[0] == ~least[1])
        return status;
    return pto_error_set(err, PTO_ERR_RANGE,
                         "the processes were given different plans, operations or options (digests from "
                         "%016llx to %016llx)",
                         (unsigned long long)least[0], (unsigned long long)~least[1]);
}

/* --- who is who ---------------------------------------------------------------------------------------- */

/* What each process reports about itself. */
typedef struct {
    int64_t logical;
    int node;          /* lowest rank on its node */
    int place_in_node; /* by rank */
} who_t;

/* Every real node must have as many processes as a node of the layout. */
static pto_status_t by_nodes(const pto_layout_t *layout, const who_t *who, int rank, int size,
                             int64_t *logical, pto_error_t *err) {
    int64_t per_node = layout->gpus_per_node * layout->procs_per_gpu;
    int64_t nodes_before = 0, on_mine = 0;
    for (int i = 0; i < size; i++) {
        nodes_before += i < who[rank].node && who[i].place_in_node == 0;
        on_mine += who[i].node == who[rank].node;
    }
    if (on_mine != per_node)
        return pto_error_set(
            err, PTO_ERR_RANGE,
            "the layout has %lld processes per node, but rank %d's node has %lld; place them "
            "by identity or table to emulate nodes",
            (long long)per_node, rank, (long long)on_mine);
    *logical = nodes_before * per_node + who[rank].place_in_node;
    return PTO_OK;
}

static pto_status_t place(const pto_layout_t *layout, const pto_exec_options_t *options, const who_t *who,
                          int rank, int size, int64_t *logical, pto_error_t *err) {
    switch (options->placement) {
    case PTO_PLACEMENT_TABLE:
        *logical = options->table[rank];
        break;
    case PTO_PLACEMENT_IDENTITY:
        *logical = rank;
        break;
    case PTO_PLACEMENT_NODES:
    case PTO_PLACEMENT_COUNT:
        return by_nodes(layout, who, rank, size, logical, err);
    }
    if (*logical < 0 || *logical >= size)
        return pto_error_set(err, PTO_ERR_RANGE, "the table places rank %d at %lld of %d", rank,
                             (long long)*logical, size);
    return PTO_OK;
}

static pto_status_t note_places(pto_job_t *job, const who_t *who, pto_error_t *err) {
    for (int i = 0; i < job->size; i++)
        job->mpi_of[i] = -1;
    for (int i = 0; i < job->size; i++) {
        int64_t logical = who[i].logical;
        if (job->mpi_of[logical] >= 0)
            return pto_error_set(err, PTO_ERR_RANGE, "ranks %d and %d are both placed at %lld",
                                 job->mpi_of[logical], i, (long long)logical);
        job->mpi_of[logical] = i;
        job->node_of[logical] = who[i].node;
        job->place_in_node[logical] = who[i].place_in_node;
    }
    return PTO_OK;
}

static pto_status_t exchange_who(pto_job_t *job, who_t *who, pto_error_t *err) {
    who_t mine = who[job->rank];
    return PTO_MPI(
        MPI_Allgather(&mine, (int)sizeof mine, MPI_BYTE, who, (int)sizeof mine, MPI_BYTE, job->comm), err);
}

static pto_status_t find_places(const pto_layout_t *layout, const pto_exec_options_t *options, pto_job_t *job,
                                who_t *who, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    if (pto_layout_rank_count(layout) != job->size)
        status = pto_error_set(err, PTO_ERR_RANGE, "the layout has %lld processes, the job %d",
                               (long long)pto_layout_rank_count(layout), job->size);
    status = pto_agree(job->comm, status, err);
    if (status == PTO_OK)
        status = PTO_MPI(MPI_Comm_rank(job->node, &who[job->rank].place_in_node), err);
    who[job->rank].node = job->rank;
    if (status == PTO_OK)
        status = PTO_MPI(MPI_Bcast(&who[job->rank].node, 1, MPI_INT, 0, job->node), err);
    if (status == PTO_OK)
        status = exchange_who(job, who, err);
    if (status != PTO_OK)
        return status;
    status = place(layout, options, who, job->rank, job->size, &who[job->rank].logical, err);
    status = pto_agree(job->comm, status, err);
    if (status == PTO_OK)
        status = exchange_who(job, who, err);
    return status == PTO_OK ? note_places(job, who, err) : status;
}

pto_status_t pto_job_create(const pto_layout_t *layout, MPI_Comm comm, const pto_exec_options_t *options,
                            pto_job_t *job, pto_error_t *err) {
    *job = (pto_job_t){.comm = MPI_COMM_NULL, .node = MPI_COMM_NULL, .wait = options->wait};
    pto_status_t status = PTO_MPI(MPI_Comm_dup(comm, &job->comm), err);
    if (status == PTO_OK)
        status = PTO_MPI(MPI_Comm_set_errhandler(job->comm, MPI_ERRORS_RETURN), err);
    if (status == PTO_OK)
        status = PTO_MPI(MPI_Comm_size(job->comm, &job->size), err);
    if (status == PTO_OK)
        status = PTO_MPI(MPI_Comm_rank(job->comm, &job->rank), err);
    if (status == PTO_OK)
        status = PTO_MPI(
            MPI_Comm_split_type(job->comm, MPI_COMM_TYPE_SHARED, job->rank, MPI_INFO_NULL, &job->node), err);
    if (status != PTO_OK) {
        pto_job_free(job);
        return status;
    }
    size_t size = (size_t)job->size;
    who_t *who = calloc(size, sizeof *who);
    int *numbers = calloc(3 * size, sizeof *numbers);
    job->mpi_of = numbers;
    if (!who || !numbers)
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory for %d processes", job->size);
    status = pto_agree(job->comm, status, err);
    if (status == PTO_OK && who && numbers) {
        job->node_of = numbers + size;
        job->place_in_node = numbers + 2 * size;
        status = find_places(layout, options, job, who, err);
    }
    if (status == PTO_OK && who)
        job->logical = who[job->rank].logical;
    else
        pto_job_free(job);
    free(who);
    return status;
}

void pto_job_free(pto_job_t *job) {
    free(job->mpi_of);
    job->mpi_of = NULL;
    if (job->node != MPI_COMM_NULL)
        MPI_Comm_free(&job->node);
    if (job->comm != MPI_COMM_NULL)
        MPI_Comm_free(&job->comm);
}

pto_status_t pto_exec_place(const pto_layout_t *layout, MPI_Comm comm, const pto_exec_options_t *options,
                            int64_t *logical_rank, pto_error_t *err) {
    static const pto_exec_options_t defaults;
    pto_job_t job;
    pto_status_t status = pto_job_create(layout, comm, options ? options : &defaults, &job, err);
    if (status != PTO_OK)
        return status;
    *logical_rank = job.logical;
    pto_job_free(&job);
    return PTO_OK;
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
