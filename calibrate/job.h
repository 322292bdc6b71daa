/* The MPI job: the node, socket and GPU of each process, and a description of rank 0's node. Nodes come from
 * MPI_COMM_TYPE_SHARED, sockets from hwloc, a GPU's socket from NVML. */
#ifndef PORTOLAN_CALIBRATE_JOB_H
#define PORTOLAN_CALIBRATE_JOB_H

#include <mpi.h>
#include <stdbool.h>

#include "gpu.h"
#include "portolan/machine.h"

enum { JOB_TEXT_MAX = 256 };

typedef struct {
    int node;
    int node_rank;             /* among the processes of the node */
    int socket;                /* hwloc's package; -1: unknown */
    int device;                /* the GPU that it uses; -1: none */
    int gpu_socket;            /* that GPU's; -1: unknown */
    char bus[PTO_GPU_BUS_MAX]; /* that GPU's PCI address, which identifies it on the node */
    uint64_t gpus_hash; /* of the PCI addresses of all GPUs that it sees, in the order of their numbers */
} process_t;

typedef struct {
    MPI_Comm world; /* calibrate's own duplicate of MPI_COMM_WORLD */
    int rank;
    int size;
    process_t *process; /* by rank */
    int node_count;

    /* Rank 0's view of its node, the same in all processes: */
    int sockets;
    int cores;
    int device_count;
    int device_socket[GPU_COUNT_MAX];
    bool reach[GPU_COUNT_MAX][GPU_COUNT_MAX]; /* peer access between devices */
    int gpu_blocks;                           /* thread blocks that fill a device */
    pto_mps_t mps;                            /* whether NVIDIA's Multi-Process Service runs */
    pto_runs_t runs;                          /* the option --runs */
    bool bound_here; /* calibrate bound processes to their GPUs' sockets, because the launcher had not */
    bool cuda_aware;
    char no_gpu[JOB_TEXT_MAX]; /* why no GPU benchmark can run; empty where they can */
    char cpu[JOB_TEXT_MAX];
    char gpu[JOB_TEXT_MAX];
    char driver[JOB_TEXT_MAX];
    char cuda[JOB_TEXT_MAX];
} job_t;

/* Collective. Selects each process's GPU: its rank on the node modulo the number of devices. */
void job_init(job_t *job);
void job_fini(job_t *job);
/* Returns the number of processes on a node. Nodes are numbered by their lowest ranks. */
int job_processes_on(const job_t *job, int node);
/* Returns the index-th process of node 0 that uses a device; -1: none. */
int job_process_of_device(const job_t *job, int device, int index);

/* Returns the level of a pair of processes: by their own sockets for the space `cpu`, by those of their GPUs
 * for `gpu`. Two unknown sockets count as the same one, an unknown and a known one as different. */
pto_level_t job_level(const job_t *job, pto_space_t space, int a, int b);

/* Return whether a process of node 0 and a device, or two devices, share a socket. An
 * unknown socket counts as shared here. */
bool job_on_socket(const job_t *job, int rank, int device);
bool job_devices_share_socket(const job_t *job, int device, int other);
/* Returns why messages between buffers of `space` can't be measured; NULL: they can. */
const char *job_no_messages(const job_t *job, pto_space_t space);

#endif
