/* Finds the node, socket and GPU of each process (job.h): each finds its own, and all exchange them. */
#include "job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "fatal.h"
#include "topology.h"

/* Sets this process's node (in the order of lowest ranks) and rank on it. Returns the processes on the node.
 * */
static int find_node(job_t *job, process_t *own) {
    MPI_Comm node = MPI_COMM_NULL;
    MPI_DO(MPI_Comm_split_type(job->world, MPI_COMM_TYPE_SHARED, job->rank, MPI_INFO_NULL, &node));
    MPI_DO(MPI_Comm_rank(node, &own->node_rank));
    int first = job->rank, processes = 0; /* first: the lowest rank on the node, after the broadcast */
    MPI_DO(MPI_Comm_size(node, &processes));
    MPI_DO(MPI_Bcast(&first, 1, MPI_INT, 0, node));
    MPI_DO(MPI_Comm_free(&node));
    int *firsts = must_allocate((size_t)job->size, sizeof *firsts);
    MPI_DO(MPI_Allgather(&first, 1, MPI_INT, firsts, 1, MPI_INT, job->world));
    for (int rank = 0; rank < job->size; rank++) {
        if (rank == first)
            own->node = job->node_count;
        job->node_count += firsts[rank] == rank;
    }
    free(firsts);
    return processes;
}

/* Describes the node's devices, as this process sees them. */
static void describe_devices(job_t *job, process_t *own, const topology_t *topology) {
    pto_gpu_info_t info = {.blocks = 0};
    for (int device = 0; device < job->device_count; device++) {
        GPU_DO(gpu.bench->describe(device, &info, &gpu_error));
        job->device_socket[device] = topology_gpu_socket(topology, info.bus, job->driver, sizeof job->driver);
        own->gpus_hash = pto_hash_bytes(own->gpus_hash, info.bus, strlen(info.bus) + 1);
        if (device == 0) {
            job->gpu_blocks = info.blocks;
            job->mps = info.mps;
        }
        for (int peer = 0; peer < job->device_count; peer++)
            if (peer != device)
                GPU_DO(gpu.bench->can_reach(device, peer, &job->reach[device][peer], &gpu_error));
    }
    GPU_DO(gpu.bench->versions(job->cuda, &gpu_error));
    snprintf(job->gpu, sizeof job->gpu, "%s", info.name);
}

static void find_gpu(job_t *job, process_t *own, const topology_t *topology) {
    own->device = -1;
    own->gpu_socket = -1;
    if (gpu_find(&job->device_count, &gpu_error) != PTO_OK) {
        snprintf(job->no_gpu, sizeof job->no_gpu, "%.*s", JOB_TEXT_MAX - 1, gpu_error.message);
        return;
    }
    describe_devices(job, own, topology);
    own->device = own->node_rank % job->device_count;
    own->gpu_socket = job->device_socket[own->device];
    pto_gpu_info_t info = {.blocks = 0};
    GPU_DO(gpu.bench->describe(own->device, &info, &gpu_error));
    memcpy(own->bus, info.bus, sizeof own->bus);
    gpu_select(own->device);
}

/* Returns whether the processes of each node see the same GPUs by the same numbers. Where a launcher shows
 * each process one GPU alone, all are number 0. */
static bool devices_agree(const job_t *job) {
    for (int a = 0; a < job->size; a++)
        for (int b = 0; b < a; b++)
            if (job->process[a].node == job->process[b].node &&
                job->process[a].gpus_hash != job->process[b].gpus_hash)
                return false;
    return true;
}

/* Gives all processes rank 0's view of the job, so that each makes the same list of cases. If any process has
 * no GPU, GPU benchmarks are skipped on all. */
static void agree(job_t *job, const process_t *own) {
    job_t seen = *job;
    MPI_DO(MPI_Bcast(&seen, (int)sizeof seen, MPI_BYTE, 0, job->world));
    seen.world = job->world;
    seen.rank = job->rank;
    seen.process = job->process;
    int all[2] = {own->device >= 0,
                  !job->bound_here}; /* whether all processes have a GPU; were bound before */
    MPI_DO(MPI_Allreduce(MPI_IN_PLACE, all, 2, MPI_INT, MPI_MIN, job->world));
    seen.bound_here = all[1] == 0;
    if (all[0] == 0 && seen.no_gpu[0] == '\0')
        snprintf(seen.no_gpu, sizeof seen.no_gpu, "some processes of the job see no GPU");
    *job = seen;
    MPI_DO(
        MPI_Allgather(own, (int)sizeof *own, MPI_BYTE, job->process, (int)sizeof *own, MPI_BYTE, job->world));
    if (job->no_gpu[0] == '\0' && !devices_agree(job))
        snprintf(job->no_gpu, sizeof job->no_gpu,
                 "processes of a node number its GPUs differently; each must see all of them "
                 "(srun: --gpus-per-node, not --gpus-per-task)");
}

void job_init(job_t *job) {
    memset(job, 0, sizeof *job);
    MPI_DO(MPI_Comm_dup(MPI_COMM_WORLD, &job->world));
    MPI_DO(MPI_Comm_set_errhandler(job->world, MPI_ERRORS_RETURN));
    MPI_DO(MPI_Comm_rank(job->world, &job->rank));
    MPI_DO(MPI_Comm_size(job->world, &job->size));
    job->process = must_allocate((size_t)job->size, sizeof *job->process);
    process_t own;
    memset(&own, 0, sizeof own);
    int on_node = find_node(job, &own);
    topology_t *topology = topology_create();
    job->sockets = topology_sockets(topology);
    job->cores = topology_cores(topology);
    topology_cpu_name(topology, job->cpu, sizeof job->cpu);
    find_gpu(job, &own, topology);
    int preferred = own.gpu_socket >= 0 ? own.gpu_socket : own.node_rank * job->sockets / on_node;
    own.socket = topology_own_socket(topology, preferred, &job->bound_here);
    topology_destroy(topology);
    job->cuda_aware = gpu.device != NULL && gpu.device->mpi_reaches();
    agree(job, &own);
}

void job_fini(job_t *job) {
    free(job->process);
    job->process = NULL;
    MPI_DO(MPI_Comm_free(&job->world));
}

int job_processes_on(const job_t *job, int node) {
    int count = 0;
    for (int rank = 0; rank < job->size; rank++)
        count += job->process[rank].node == node;
    return count;
}

int job_process_of_device(const job_t *job, int device, int index) {
    for (int rank = 0; rank < job->size; rank++) {
        const process_t *process = &job->process[rank];
        if (process->node == job->process[0].node && process->device == device && index-- == 0)
            return rank;
    }
    return -1;
}

pto_level_t job_level(const job_t *job, pto_space_t space, int a, int b) {
    const process_t *one = &job->process[a];
    const process_t *other = &job->process[b];
    if (one->node != other->node)
        return PTO_LEVEL_OFF_NODE;
    if (space == PTO_SPACE_GPU) {
        if (strcmp(one->bus, other->bus) == 0)
            return PTO_LEVEL_ON_GPU;
        return one->gpu_socket == other->gpu_socket ? PTO_LEVEL_ON_SOCKET : PTO_LEVEL_ON_NODE;
    }
    return one->socket == other->socket ? PTO_LEVEL_ON_SOCKET : PTO_LEVEL_ON_NODE;
}

/* A negative socket is unknown. */
static bool is_same_socket(int one, int other) { return one < 0 || other < 0 || one == other; }

bool job_on_socket(const job_t *job, int rank, int device) {
    return is_same_socket(job->process[rank].socket, job->device_socket[device]);
}

bool job_devices_share_socket(const job_t *job, int device, int other) {
    return is_same_socket(job->device_socket[device], job->device_socket[other]);
}

const char *job_no_messages(const job_t *job, pto_space_t space) {
    if (job->size < 2)
        return "the job has one process";
    if (space == PTO_SPACE_GPU) {
        if (job->no_gpu[0] != '\0')
            return job->no_gpu;
        if (!job->cuda_aware)
            return "the MPI library is not CUDA-aware";
    }
    return NULL;
}
