/* The MPI library's own collectives, from which the fit infers the library's algorithms and whether it stages
 * GPU buffers through the host. A few sizes each, among all processes of the job on host buffers, and among
 * one process for each GPU on GPU buffers and on host buffers, whose times differ by the staging alone. All
 * members start at one moment; a sample is the time until the last member has returned. In the samples,
 * `procs` is the number of members on all nodes and `messages` the number of nodes. */
#include <stdlib.h>
#include <string.h>

#include "fatal.h"
#include "memory.h"
#include "pairs.h"
#include "portolan/samples.h"
#include "runs.h"

enum { DETAIL_COLLECTIVE, FLOAT_BYTES = 4 };

/* Three sizes, unless --bytes excludes some. */
static const int64_t least_bytes = INT64_C(1) << 8, most_bytes = INT64_C(1) << 20;
static const int64_t factor = 64;

/* Limit of the input buffer and of the output buffer of each member. */
static const int64_t buffer_bytes_max = INT64_C(1) << 28;

typedef struct {
    MPI_Comm comm;
    void *in;
    void *out;
    int *counts; /* of the blocks of each member, in bytes */
    int *places;
} state_t;

/* --- the collectives ------------------------------------------------------------------------------------ */

static void allreduce(const state_t *state, int bytes) {
    MPI_DO(MPI_Allreduce(state->in, state->out, bytes / FLOAT_BYTES, MPI_FLOAT, MPI_SUM, state->comm));
}

static void reduce(const state_t *state, int bytes) {
    MPI_DO(MPI_Reduce(state->in, state->out, bytes / FLOAT_BYTES, MPI_FLOAT, MPI_SUM, 0, state->comm));
}

static void broadcast(const state_t *state, int bytes) {
    MPI_DO(MPI_Bcast(state->out, bytes, MPI_BYTE, 0, state->comm));
}

static void reduce_scatter(const state_t *state, int bytes) {
    MPI_DO(MPI_Reduce_scatter_block(state->in, state->out, bytes / FLOAT_BYTES, MPI_FLOAT, MPI_SUM,
                                    state->comm));
}

static void allgather(const state_t *state, int bytes) {
    MPI_DO(MPI_Allgather(state->in, bytes, MPI_BYTE, state->out, bytes, MPI_BYTE, state->comm));
}

static void allgatherv(const state_t *state, int bytes) {
    MPI_DO(MPI_Allgatherv(state->in, bytes, MPI_BYTE, state->out, state->counts, state->places, MPI_BYTE,
                          state->comm));
}

static void gather(const state_t *state, int bytes) {
    MPI_DO(MPI_Gather(state->in, bytes, MPI_BYTE, state->out, bytes, MPI_BYTE, 0, state->comm));
}

static void scatter(const state_t *state, int bytes) {
    MPI_DO(MPI_Scatter(state->in, bytes, MPI_BYTE, state->out, bytes, MPI_BYTE, 0, state->comm));
}

static void alltoall(const state_t *state, int bytes) {
    MPI_DO(MPI_Alltoall(state->in, bytes, MPI_BYTE, state->out, bytes, MPI_BYTE, state->comm));
}

static void alltoallv(const state_t *state, int bytes) {
    (void)bytes;
    MPI_DO(MPI_Alltoallv(state->in, state->counts, state->places, MPI_BYTE, state->out, state->counts,
                         state->places, MPI_BYTE, state->comm));
}

static const struct {
    void (*call)(const state_t *state, int bytes);
    pto_benchmark_t rows;
    bool reduces;
    bool by_member; /* `bytes` is one member's block, not the whole buffer */
} collectives[] = {
    {allreduce, PTO_BENCHMARK_MPI_ALLREDUCE, true, false},
    {reduce, PTO_BENCHMARK_MPI_REDUCE, true, false},
    {broadcast, PTO_BENCHMARK_MPI_BROADCAST, false, false},
    {reduce_scatter, PTO_BENCHMARK_MPI_REDUCE_SCATTER, true, true},
    {allgather, PTO_BENCHMARK_MPI_ALLGATHER, false, true},
    {allgatherv, PTO_BENCHMARK_MPI_ALLGATHERV, false, true},
    {gather, PTO_BENCHMARK_MPI_GATHER, false, true},
    {scatter, PTO_BENCHMARK_MPI_SCATTER, false, true},
    {alltoall, PTO_BENCHMARK_MPI_ALLTOALL, false, true},
    {alltoallv, PTO_BENCHMARK_MPI_ALLTOALLV, false, true},
};
enum { COLLECTIVE_COUNT = sizeof collectives / sizeof *collectives };

/* --- cases ---------------------------------------------------------------------------------------------- */

static void add_case(const job_t *job, int collective, pto_space_t members, int per_node, pto_space_t buffers,
                     case_list_t *list) {
    int *ranks = must_allocate((size_t)job->size, sizeof *ranks);
    case_t *added =
        case_add(list, pto_benchmark_name(collectives[collective].rows), job->node_count * per_node);
    int64_t room =
        collectives[collective].by_member ? buffer_bytes_max / added->member_count : buffer_bytes_max;
    added->space = pto_space_name(buffers);
    added->buffers = buffers;
    added->procs = added->member_count;
    added->messages = job->node_count;
    added->detail[DETAIL_COLLECTIVE] = collective;
    added->least_bytes = least_bytes;
    added->most_bytes = room < most_bytes ? room : most_bytes;
    added->factor = factor;
    for (int node = 0; node < job->node_count; node++) {
        pairs_on_node(job, members, node, ranks);
        memcpy(added->member + (size_t)node * (size_t)per_node, ranks, (size_t)per_node * sizeof *ranks);
    }
    free(ranks);
}

static void list_space(const job_t *job, pto_space_t members, pto_space_t buffers, case_list_t *list) {
    int per_node = pairs_fewest(job, members);
    if (per_node * job->node_count < 2)
        case_missing(list, "there is one GPU alone", "library_%s", pto_space_name(buffers));
    for (int i = 0; i < COLLECTIVE_COUNT && per_node * job->node_count > 1; i++)
        add_case(job, i, members, per_node, buffers, list);
}

static void list_cases(const job_t *job, case_list_t *list) {
    const char *no_host = job_no_messages(job, PTO_SPACE_CPU), *no_gpu = job_no_messages(job, PTO_SPACE_GPU);
    if (no_host != NULL)
        case_missing(list, no_host, "library_cpu");
    else
        list_space(job, PTO_SPACE_CPU, PTO_SPACE_CPU, list);
    if (no_gpu != NULL) {
        case_missing(list, no_gpu, "library_gpu");
        return;
    }
    if (pairs_fewest(job, PTO_SPACE_GPU) < pairs_fewest(job, PTO_SPACE_CPU))
        list_space(job, PTO_SPACE_GPU, PTO_SPACE_CPU, list);
    list_space(job, PTO_SPACE_GPU, PTO_SPACE_GPU, list);
}

/* --- measuring ------------------------------------------------------------------------------------------ */

static void open_case(const work_t *work) {
    state_t *state = work->state;
    int members = work->what->member_count;
    bool by_member = collectives[work->what->detail[DETAIL_COLLECTIVE]].by_member;
    int64_t bytes = work->most_bytes * (by_member ? members : 1);
    *state = (state_t){.comm = work->comm,
                       .in = buffer_zeroed(work->what->buffers, bytes),
                       .out = buffer_zeroed(work->what->buffers, bytes),
                       .counts = must_allocate((size_t)members, sizeof *state->counts),
                       .places = must_allocate((size_t)members, sizeof *state->places)};
}

static double trial(const work_t *work, int64_t bytes, int iterations) {
    const state_t *state = work->state;
    double seconds = 0.0;
    for (int i = 0; i < work->what->member_count; i++) {
        state->counts[i] = (int)bytes;
        state->places[i] = i * (int)bytes;
    }
    for (int i = 0; i < iterations; i++) {
        runs_meet(work);
        seconds -= now_s();
        collectives[work->what->detail[DETAIL_COLLECTIVE]].call(state, (int)bytes);
        together_wait(work->together);
        seconds += now_s();
    }
    return seconds;
}

static void close_case(const work_t *work) {
    state_t *state = work->state;
    buffer_free(work->what->buffers, state->in);
    buffer_free(work->what->buffers, state->out);
    free(state->counts);
    free(state->places);
}

const benchmark_t bench_library = {
    .name = "library",
    .rows = "mpi_allreduce, mpi_reduce, mpi_broadcast, mpi_reduce_scatter, mpi_allgather, mpi_allgatherv, "
            "mpi_gather, mpi_scatter, mpi_alltoall, mpi_alltoallv",
    .summary = "the MPI library's own collectives of three sizes, host and GPU buffers",
    .share = 1.0 / 3.0,
    .state_bytes = sizeof(state_t),
    .list = list_cases,
    .open = open_case,
    .trial = trial,
    .close = close_case,
};
