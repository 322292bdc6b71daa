/* NCCL's own collectives, with one process per GPU, on the GPUs of one node and of several. They are timed
 * the way plans run them: all processes start at a barrier, call NCCL once and synchronize the stream. A
 * call's time ends when the last process of the node has finished. Calls that are not waited for (--runs)
 * follow each other. In the samples, `procs` is the number of GPUs on all nodes and `messages` the number of
 * nodes. alltoall is one group of sends and receives that includes the process's own block, and allgatherv
 * one group of broadcasts, one from each process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fatal.h"
#include "memory.h"
#include "nccl/nccl_dl.h"
#include "pairs.h"
#include "runs.h"

enum { DETAIL_COLLECTIVE, FLOAT_BYTES = 4 };

/* Limit of the input buffer and of the output buffer; every GPU must have room for both. */
static const int64_t buffer_bytes_max = INT64_C(1) << 30;

/* What open_case sets up and close_case frees, outside the timed calls. */
typedef struct {
    int members;
    runs_t runs;
    const pto_nccl_library_t *library;
    void *comm;
    void *stream;
    void *in;
    void *out;
} state_t;

static void check_nccl(const state_t *state, int result, const char *call) {
    pto_error_t err;
    if (pto_nccl_check(state->library, result, call, &err) != PTO_OK)
        die("%s", err.message);
}

/* --- the collectives ------------------------------------------------------------------------------------ */

static void all_reduce(const state_t *state, size_t bytes) {
    check_nccl(state,
               state->library->all_reduce(state->in, state->out, bytes / FLOAT_BYTES, PTO_NCCL_FLOAT32,
                                          PTO_NCCL_SUM, state->comm, state->stream),
               "ncclAllReduce");
}

static void reduce(const state_t *state, size_t bytes) {
    check_nccl(state,
               state->library->reduce(state->in, state->out, bytes / FLOAT_BYTES, PTO_NCCL_FLOAT32,
                                      PTO_NCCL_SUM, 0, state->comm, state->stream),
               "ncclReduce");
}

static void broadcast(const state_t *state, size_t bytes) {
    check_nccl(
        state,
        state->library->broadcast(state->in, state->out, bytes, PTO_NCCL_INT8, 0, state->comm, state->stream),
        "ncclBroadcast");
}

static void all_gather(const state_t *state, size_t bytes) {
    check_nccl(
        state,
        state->library->all_gather(state->in, state->out, bytes, PTO_NCCL_INT8, state->comm, state->stream),
        "ncclAllGather");
}

static void reduce_scatter(const state_t *state, size_t bytes) {
    check_nccl(state,
               state->library->reduce_scatter(state->in, state->out, bytes / FLOAT_BYTES, PTO_NCCL_FLOAT32,
                                              PTO_NCCL_SUM, state->comm, state->stream),
               "ncclReduceScatter");
}

static void all_to_all(const state_t *state, size_t bytes) {
    check_nccl(state, state->library->group_start(), "ncclGroupStart");
    for (int peer = 0; peer < state->members; peer++) {
        size_t place = (size_t)peer * bytes;
        check_nccl(state,
                   state->library->send((const char *)state->in + place, bytes, PTO_NCCL_INT8, peer,
                                        state->comm, state->stream),
                   "ncclSend");
        check_nccl(state,
                   state->library->recv((char *)state->out + place, bytes, PTO_NCCL_INT8, peer, state->comm,
                                        state->stream),
                   "ncclRecv");
    }
    check_nccl(state, state->library->group_end(), "ncclGroupEnd");
}

static void all_gather_v(const state_t *state, size_t bytes) {
    check_nccl(state, state->library->group_start(), "ncclGroupStart");
    for (int root = 0; root < state->members; root++)
        check_nccl(state,
                   state->library->broadcast(state->in, (char *)state->out + (size_t)root * bytes, bytes,
                                             PTO_NCCL_INT8, root, state->comm, state->stream),
                   "ncclBroadcast");
    check_nccl(state, state->library->group_end(), "ncclGroupEnd");
}

static const struct {
    const char *name; /* the column `benchmark` */
    void (*call)(const state_t *state, size_t bytes);
    bool reduces;
    bool by_member; /* `bytes` is one member's block, not the whole buffer */
} collectives[] = {
    {"nccl_allreduce", all_reduce, true, false},    {"nccl_reduce", reduce, true, false},
    {"nccl_broadcast", broadcast, false, false},    {"nccl_alltoall", all_to_all, false, true},
    {"nccl_allgather", all_gather, false, true},    {"nccl_reduce_scatter", reduce_scatter, true, true},
    {"nccl_allgatherv", all_gather_v, false, true},
};
enum { COLLECTIVE_COUNT = sizeof collectives / sizeof *collectives };

/* --- cases ---------------------------------------------------------------------------------------------- */

static void add_case(const job_t *job, int collective, int nodes, int gpus_per_node, case_list_t *list) {
    int *ranks = must_allocate((size_t)job->size, sizeof *ranks);
    case_t *added = case_add(list, collectives[collective].name, nodes * gpus_per_node);
    added->space = pto_space_name(PTO_SPACE_GPU);
    added->buffers = PTO_SPACE_GPU;
    added->procs = added->member_count;
    added->messages = nodes;
    added->detail[DETAIL_COLLECTIVE] = collective;
    added->every_size = true;
    added->least_bytes = collectives[collective].reduces ? FLOAT_BYTES : 1;
    added->most_bytes =
        collectives[collective].by_member ? buffer_bytes_max / added->member_count : buffer_bytes_max;
    for (int node = 0; node < nodes; node++) {
        pairs_on_node(job, PTO_SPACE_GPU, node, ranks);
        memcpy(added->member + (size_t)node * (size_t)gpus_per_node, ranks,
               (size_t)gpus_per_node * sizeof *ranks);
    }
    free(ranks);
}

/* On one node, every count that next_count selects, from 2 GPUs. On several nodes, only 1 GPU per node and
 * `most` GPUs per node. */
static void list_nodes(const job_t *job, int nodes, int most, case_list_t *list) {
    int gpus = nodes > 1 ? 1 : 2;
    while (gpus != 0 && gpus <= most) {
        for (int collective = 0; collective < COLLECTIVE_COUNT; collective++)
            add_case(job, collective, nodes, gpus, list);
        gpus = gpus == most ? 0 : nodes > 1 ? most : next_count(gpus, most);
    }
}

/* NULL if every process can load NCCL, otherwise the reason. Collective. */
static const char *why_no_nccl(const job_t *job) {
    static char reason[SKIP_REASON_MAX];
    const pto_nccl_library_t *library = NULL;
    pto_error_t err = {0};
    int found = pto_nccl_library(&library, &err) == PTO_OK;
    int everywhere = 0;
    MPI_DO(MPI_Allreduce(&found, &everywhere, 1, MPI_INT, MPI_MIN, job->world));
    snprintf(reason, sizeof reason, "%.*s", SKIP_REASON_MAX - 1,
             found ? "some processes of the job can't load NCCL" : err.message);
    return everywhere ? NULL : reason;
}

static void list_cases(const job_t *job, case_list_t *list) {
    const char *why = job->no_gpu[0] != '\0' ? job->no_gpu : why_no_nccl(job);
    int most = pairs_fewest(job, PTO_SPACE_GPU);
    if (why == NULL && most * job->node_count < 2)
        why = "NCCL needs two GPUs or more, each with a process of its own";
    if (why != NULL) {
        case_missing(list, why, "nccl");
        return;
    }
    for (int nodes = 1; nodes != 0; nodes = next_count(nodes, job->node_count))
        list_nodes(job, nodes, most, list);
}

/* --- measuring ------------------------------------------------------------------------------------------ */

static void enqueue(const work_t *work, int64_t bytes) {
    const state_t *state = work->state;
    collectives[work->what->detail[DETAIL_COLLECTIVE]].call(state, (size_t)bytes);
}

static void open_case(const work_t *work) {
    state_t *state = work->state;
    state->members = work->what->member_count;
    runs_open(&state->runs, work, enqueue);
    pto_error_t err;
    if (pto_nccl_library(&state->library, &err) != PTO_OK)
        die("%s", err.message);
    bool by_member = collectives[work->what->detail[DETAIL_COLLECTIVE]].by_member;
    int64_t bytes = work->most_bytes * (by_member ? state->members : 1);
    state->in = buffer_allocate(PTO_SPACE_GPU, bytes);
    state->out = buffer_allocate(PTO_SPACE_GPU, bytes);
    state->stream = gpu.stream;
    pto_nccl_id_t id = {{0}};
    if (work->me == 0)
        check_nccl(state, state->library->get_unique_id(&id), "ncclGetUniqueId");
    MPI_DO(MPI_Bcast(&id, (int)sizeof id, MPI_BYTE, 0, work->comm));
    check_nccl(state, state->library->comm_init_rank(&state->comm, state->members, id, work->me),
               "ncclCommInitRank");
}

static double trial(const work_t *work, int64_t bytes, int iterations) {
    state_t *state = work->state;
    double seconds = 0.0;
    if (work->job->runs != PTO_RUNS_WAITED)
        return runs_s(&state->runs, bytes, iterations);
    for (int i = 0; i < iterations; i++) {
        runs_meet(work);
        seconds -= now_s();
        enqueue(work, bytes);
        GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
        together_wait(work->together);
        seconds += now_s();
    }
    return seconds;
}

static void close_case(const work_t *work) {
    state_t *state = work->state;
    runs_close(&state->runs);
    check_nccl(state, state->library->comm_destroy(state->comm), "ncclCommDestroy");
    buffer_free(PTO_SPACE_GPU, state->in);
    buffer_free(PTO_SPACE_GPU, state->out);
}

const benchmark_t bench_nccl = {
    .name = "nccl",
    .rows = "nccl_allreduce, nccl_reduce, nccl_broadcast, nccl_alltoall, nccl_allgather, "
            "nccl_reduce_scatter, nccl_allgatherv",
    .summary = "NCCL's own collectives among GPUs of one node and of several",
    .runs = 1u << PTO_RUNS_WAITED | 1u << PTO_RUNS_ENQUEUED | 1u << PTO_RUNS_GRAPH,
    .state_bytes = sizeof(state_t),
    .list = list_cases,
    .open = open_case,
    .trial = trial,
    .close = close_case,
};
