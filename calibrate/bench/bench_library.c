/* The MPI library's own collectives, from which the fit infers the library's algorithms and whether it stages
 * GPU buffers through the host. Each is measured at a few sizes: on host buffers among all processes of the
 * job; and among one process per GPU, on GPU buffers and on host buffers. The last two differ only by the
 * staging. All members start together; a sample is the time until the last one has returned. In the samples,
 * `procs` is the number of members on all nodes and `messages` the number of nodes. */
#include "fatal.h"
#include "memory.h"
#include "pairs.h"
#include "part.h"
#include "portolan/samples.h"

enum { FLOAT_BYTES = 4 };

/* Three sizes, unless --bytes excludes some of them. */
static const int64_t min_bytes = INT64_C(1) << 8, max_bytes = INT64_C(1) << 20;
static const int64_t factor = 64;

/* Limit of the input buffer and of the output buffer of each member. */
static const int64_t buffer_bytes_max = INT64_C(1) << 28;

static const pto_collective_t collectives[] = {
#define TIMED(name, text) PTO_COLLECTIVE_##name,
    PTO_MPI_TABLE(TIMED)
#undef TIMED
};
enum { COLLECTIVE_COUNT = sizeof collectives / sizeof *collectives };

/* Lists the collectives on buffers of one space. `members`: all processes (cpu), or one per GPU (gpu). */
static void list_buffers(const job_t *job, pto_space_t members, pto_space_t buffers, case_list_t *list) {
    int per_node = pairs_fewest(job, members);
    if (per_node * job->node_count < 2)
        case_skip(list, "there is one GPU alone", "library_%s", pto_space_name(buffers));
    for (int i = 0; i < COLLECTIVE_COUNT && per_node * job->node_count > 1; i++) {
        case_t *added = pairs_collective_case(job, "mpi", collectives[i], members, buffers, job->node_count,
                                              per_node, buffer_bytes_max, list);
        added->min_bytes = min_bytes;
        added->max_bytes = added->max_bytes < max_bytes ? added->max_bytes : max_bytes;
        added->factor = factor;
    }
}

/* If each GPU has one process, its cases on host buffers are those among all processes. */
static void list_cases(const job_t *job, pto_space_t space, case_list_t *list) {
    if (space == PTO_SPACE_GPU && pairs_fewest(job, PTO_SPACE_GPU) < pairs_fewest(job, PTO_SPACE_CPU))
        list_buffers(job, PTO_SPACE_GPU, PTO_SPACE_CPU, list);
    list_buffers(job, space, space, list);
}

static void open_case(const work_t *work) {
    pto_library_call_t *call = work->state;
    size_t members = (size_t)work->bench_case->member_count;
    pto_collective_t collective = (pto_collective_t)work->bench_case->detail[0];
    int *counts = memory_array(work, 2 * members, sizeof *counts);
    *call = (pto_library_call_t){.comm = work->comm,
                                 .collective = collective,
                                 .equal = collective == PTO_COLLECTIVE_ALLTOALL,
                                 .in = memory_zeroed(work, work->bench_case->buffers, work->room_bytes),
                                 .out = memory_zeroed(work, work->bench_case->buffers, work->room_bytes),
                                 .send_counts = counts,
                                 .send_displs = counts + members,
                                 .receive_counts = counts,
                                 .receive_displs = counts + members};
    if (pto_collective_reduces(collective))
        GPU_DO(pto_mpi_reduction(PTO_DATATYPE_FLOAT, PTO_OP_SUM, &call->reduction, &gpu_error));
}

/* Calls MPI as the executor does. */
static void make_call(const work_t *work, int64_t bytes) {
    (void)bytes;
    GPU_DO(pto_library_call(work->state, &gpu_error));
}

static void set_counts(const work_t *work, int64_t bytes) {
    pto_library_call_t *call = work->state;
    call->count = (int)(bytes / (pto_collective_reduces(call->collective) ? FLOAT_BYTES : 1));
    for (int i = 0; i < work->bench_case->member_count; i++) {
        call->send_counts[i] = (int)bytes;
        call->send_displs[i] = i * (int)bytes;
    }
}

static void close_case(const work_t *work) {
    pto_library_call_t *call = work->state;
    pto_mpi_reduction_free(&call->reduction);
}

const benchmark_t bench_library = {
    .name = "library",
    .rows = "mpi_allreduce, mpi_reduce, mpi_broadcast, mpi_reduce_scatter, mpi_allgather, mpi_allgatherv, "
            "mpi_gather, mpi_scatter, mpi_alltoall, mpi_alltoallv",
    .summary = "the MPI library's own collectives of three sizes, host and GPU buffers",
    .share = 1.0 / 3.0,
    .state_bytes = sizeof(pto_library_call_t),
    .list_in = list_cases,
    .open = open_case,
    .resize = set_counts,
    .once = make_call,
    .times = TIMES_TOGETHER,
    .close = close_case,
};
