/* NCCL's own collectives, with one process per GPU, on the GPUs of one node and of several. They are timed as
 * plans run them: all processes start at a barrier, call NCCL once and synchronize the stream, and the time
 * ends when the last process of the node has finished. With `--runs enqueued` or `--runs graph`, the calls
 * follow each other in the stream instead. In the samples, `procs` is the number of GPUs on all nodes and
 * `messages` the number of nodes. alltoall is one NCCL group of sends and receives, with the process's own
 * block; allgatherv is one NCCL group of broadcasts, one from each process. */
#include <stdio.h>

#include "fatal.h"
#include "memory.h"
#include "mpi_team.h"
#include "nccl/nccl_dl.h"
#include "pairs.h"
#include "portolan/nccl.h"

enum { FLOAT_BYTES = 4 };

/* Limit of the input buffer and of the output buffer; every GPU must have room for both. */
static const int64_t buffer_bytes_max = INT64_C(1) << 30;

typedef struct {
    pto_team_t *team; /* of the members */
    void *group;      /* NCCL's communicator */
    pto_nccl_call_t call;
    pto_nccl_block_t *block; /* by member */
} state_t;

static const pto_collective_t collectives[] = {
#define TIMED(name, text) PTO_COLLECTIVE_##name,
    PTO_NCCL_TABLE(TIMED)
#undef TIMED
};
enum { COLLECTIVE_COUNT = sizeof collectives / sizeof *collectives };

static void add_case(const job_t *job, pto_collective_t collective, int nodes, int gpus_per_node,
                     case_list_t *list) {
    case_t *added = pairs_collective_case(job, "nccl", collective, PTO_SPACE_GPU, PTO_SPACE_GPU, nodes,
                                          gpus_per_node, buffer_bytes_max, list);
    added->every_size = true;
    added->min_bytes = pto_collective_reduces(collective) ? FLOAT_BYTES : 1;
}

/* Lists the cases on `nodes` nodes. On one node, with each number of GPUs that next_count selects, from 2 on;
 * on several, only with 1 and with `max` GPUs per node. */
static void list_nodes(const job_t *job, int nodes, int max, case_list_t *list) {
    int gpus = nodes > 1 ? 1 : 2;
    while (gpus != 0 && gpus <= max) {
        for (int collective = 0; collective < COLLECTIVE_COUNT; collective++)
            add_case(job, collectives[collective], nodes, gpus, list);
        gpus = nodes > 1 && gpus < max ? max : next_count(gpus, max);
    }
}

/* Collective. Returns why some process can't load NCCL; NULL: all can. */
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
    int max = pairs_fewest(job, PTO_SPACE_GPU);
    if (why == NULL && max * job->node_count < 2)
        why = "NCCL needs two GPUs or more, each with a process of its own";
    if (why != NULL) {
        case_skip(list, why, "nccl");
        return;
    }
    for (int nodes = 1; nodes != 0; nodes = next_count(nodes, job->node_count))
        list_nodes(job, nodes, max, list);
}

static void set_counts(const work_t *work, int64_t bytes) {
    state_t *state = work->state;
    state->call.count = bytes / pto_datatype_bytes(state->call.datatype);
    for (int i = 0; i < state->call.members; i++)
        state->block[i] = (pto_nccl_block_t){.offset_bytes = i * bytes, .bytes = bytes};
}

/* Calls NCCL as the executor does. */
static void enqueue(const work_t *work, int64_t bytes) {
    const state_t *state = work->state;
    (void)bytes;
    GPU_DO(pto_nccl_cuda.run(state->group, &state->call, gpu.stream, &gpu_error));
}

static void open_case(const work_t *work) {
    state_t *state = work->state;
    int members = work->bench_case->member_count;
    pto_collective_t collective = (pto_collective_t)work->bench_case->detail[0];
    bool reduces = pto_collective_reduces(collective);
    state->block = memory_array(work, (size_t)members, sizeof *state->block);
    state->call = (pto_nccl_call_t){.collective = collective,
                                    .datatype = reduces ? PTO_DATATYPE_FLOAT : PTO_DATATYPE_BYTE,
                                    .op = PTO_OP_SUM,
                                    .members = members,
                                    .send = state->block,
                                    .receive = state->block};
    state->call.in = memory_buffer(work, PTO_SPACE_GPU, work->room_bytes);
    state->call.out = memory_buffer(work, PTO_SPACE_GPU, work->room_bytes);
    GPU_DO(pto_team_mpi_create(work->comm, &state->team, &gpu_error));
    GPU_DO(pto_nccl_cuda.create(state->team, &state->group, &gpu_error));
}

static void close_case(const work_t *work) {
    state_t *state = work->state;
    pto_nccl_cuda.destroy(state->group, false);
    pto_team_mpi_destroy(state->team);
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
    .resize = set_counts,
    .once = enqueue,
    .times = TIMES_RUNS,
    .close = close_case,
};
