/* What the executor's files share: the flat schedule of one process and the memory it is bound to. */
#ifndef PTO_EXEC_INTERNAL_H
#define PTO_EXEC_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "lines.h"
#include "portolan/exec.h"
#include "portolan/kernel.h"
#include "portolan/nccl.h"
#include "program.h"
#include "shm.h"
#include "vector.h"

/* --- the schedule -------------------------------------------------------------------------------------- */

typedef enum {
    PTO_TASK_POST,   /* start requests */
    PTO_TASK_FINISH, /* wait for them */
    PTO_TASK_MOVE,
    PTO_TASK_REDUCE,
    PTO_TASK_SIGNAL,
    PTO_TASK_WAIT,
    PTO_TASK_LIBRARY,
    PTO_TASK_KERNEL,
    PTO_TASK_NCCL,
    PTO_TASK_COUNT
} pto_task_kind_t;

/* One entry of the schedule: `count` items from `first` on, in the list of its kind. */
typedef struct {
    pto_task_kind_t kind;
    int first;
    int count;
    const char *stage;
    int64_t k;
} pto_task_t;

typedef struct {
    pto_move_t move;
    bool on_device; /* source or target is device memory */
} pto_exec_move_t;

typedef struct {
    void *target;
    int source_first; /* in `sources` */
    int source_count;
    bool fresh; /* overwrite the target instead of accumulating */
    size_t count;
    bool on_device;
} pto_exec_reduction_t;

/* A signal or a wait. The counter holds the number of signals sent from one sender to one receiver by one
 * flag, over all runs. */
typedef struct {
    atomic_uint_fast64_t *counter;
    uint64_t seen;   /* signals of this counter that earlier waits consumed */
    uint64_t stride; /* signals per run on this counter */
    int peer;        /* MPI rank */
} pto_exec_signal_t;

typedef struct {
    bool sends;
    int peer; /* MPI rank */
} pto_exec_end_t;

/* A collective that the MPI library runs, with this process's arguments. */
typedef struct {
    MPI_Comm comm; /* MPI_COMM_NULL: this process is not a member */
    pto_collective_t collective;
    bool equal; /* equal blocks in order: no tables of counts */
    const void *in;
    void *out;
    int count; /* equal blocks: elements of each; vectors: elements of the whole */
    int *send_counts;
    int *send_places;
    int *receive_counts;
    int *receive_places;
} pto_library_call_t;

/* A kernel: this process's program, and the device's handle for it. */
typedef struct {
    pto_program_t program;
    void *made;
} pto_exec_kernel_t;

/* Whether runs can be queued (pto_exec_queue), and if not, why. */
typedef enum { PTO_QUEUE_YES, PTO_QUEUE_BY_PROCESSES, PTO_QUEUE_STANDS_IN } pto_queue_t;
/* A collective that NCCL runs, with this process's arguments. */
typedef struct {
    int node;      /* index of the plan's node */
    MPI_Comm comm; /* MPI_COMM_NULL: this process is not a member */
    void *group;   /* the device's handle */
    pto_nccl_call_t call;
    pto_nccl_block_t *blocks; /* alltoall(v): blocks to send, then blocks to receive */
} pto_nccl_part_t;

/* --- the executor -------------------------------------------------------------------------------------- */

typedef struct {
    char *memory; /* in this process; NULL: not here */
    int shared;   /* index among the buffers that other processes access; -1: private */
} pto_bound_t;

/* Another process's buffer, opened here. */
typedef struct {
    int buffer;
    int64_t rank; /* logical */
    char *memory;
} pto_reached_t;

/* The mapping between logical ranks, MPI ranks and nodes; filled on every process. */
typedef struct {
    MPI_Comm comm; /* our duplicate */
    MPI_Comm node; /* the processes that share memory with this one */
    int size;
    int rank;           /* in comm */
    int64_t logical;    /* this process's logical rank */
    int *mpi_of;        /* by logical rank */
    int *node_of;       /* by logical rank: the lowest MPI rank on its real node */
    int *place_in_node; /* by logical rank: rank in its `node` */
} pto_job_t;

typedef struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool running;
    bool stop;
    double timeout_s;
    atomic_int_fast64_t began_ns; /* 0: no run active */
} pto_watchdog_t;

struct pto_exec {
    const pto_plan_t *plan;
    const pto_device_t *device;
    pto_op_t op;
    pto_exec_options_t options;
    pto_job_t job;
    pto_bound_t *bound; /* by buffer */
    int shared_count;
    pto_vector_t reached; /* pto_reached_t */
    void *device_arena;   /* temporary buffers */
    void *staging_arena;
    void *shadow_in; /* replaces the user's input if that cannot be used directly */
    void *shadow_out;
    const void *user_in;
    void *user_out;
    void *flags; /* one segment per node */
    pto_shared_handle_t flags_handle;
    bool flags_own;
    int flag_rows; /* processes on this node */
    size_t flag_row_bytes;
    void *kernel_flags; /* flags that this process's GPU waits for; NULL: none */
    int kernel_blocks;  /* thread blocks of every kernel; 0: the plan has no kernel */
    int kernel_slices;  /* slices per block */
    int lines;          /* the buffer in line format, which needs no flags; -1: none */
    int offer_count;    /* memory that this process exports to its node: shared buffers, kernel flags */
    void *stream;
    pto_vector_t tasks;      /* pto_task_t */
    pto_vector_t requests;   /* MPI_Request */
    pto_vector_t ends;       /* pto_exec_end_t, by request */
    pto_vector_t moves;      /* pto_exec_move_t */
    pto_vector_t reductions; /* pto_exec_reduction_t */
    pto_vector_t sources;    /* const void *, of reductions */
    pto_vector_t signals;    /* pto_exec_signal_t */
    pto_vector_t calls;      /* pto_library_call_t */
    pto_vector_t kernels;    /* pto_exec_kernel_t */
    pto_vector_t nccl;       /* pto_nccl_part_t */
    MPI_Status *statuses;    /* as many as the largest batch of requests */
    atomic_int next;         /* index of the current item of `task` */
    bool pending;            /* the stream holds work that nothing has waited for */
    void *kernel;            /* the last kernel in the stream, the device's handle; NULL: none */
    uint64_t run;            /* the last run that began, counted from 1 */
    uint64_t ended;          /* the last run that the current kernel has completed */
    pto_queue_t queue;
    bool queued;  /* the active runs were queued */
    bool waiting; /* inside pto_exec_wait, so blocking calls are allowed */
    bool under_way;
    bool failed;
    void *own_in; /* the user buffers that pto_exec_open allocated */
    void *own_out;
    uint64_t random;
    pto_watchdog_t watchdog;
};

/* --- job.c -------------------------------------------------------------------------------------------- */

/* Translate an MPI result: PTO_OK, or PTO_ERR_IO with the call and MPI's message. */
pto_status_t pto_mpi(int code, const char *call, pto_error_t *err);
#define PTO_MPI(call, err) pto_mpi((call), #call, (err))

/* Collective: PTO_OK if every process passed PTO_OK, else the first failing process's error on all of
 * them. */
pto_status_t pto_agree(MPI_Comm comm, pto_status_t status, pto_error_t *err);

/* Collective. The caller frees the job. */
pto_status_t pto_job_create(const pto_layout_t *layout, MPI_Comm comm, const pto_exec_options_t *options,
                            pto_job_t *job, pto_error_t *err);
void pto_job_free(pto_job_t *job);

/* Collective: PTO_ERR_RANGE if processes passed different numbers. */
pto_status_t pto_same_everywhere(MPI_Comm comm, uint64_t number, pto_error_t *err);

/* --- buffers.c --------------------------------------------------------------------------------------------
 */

/* Collective: bind every buffer of the plan to memory, open other processes' buffers, create the flags. */
pto_status_t pto_exec_bind(pto_exec_t *exec, const void *in, void *out, pto_error_t *err);
void pto_exec_unbind(pto_exec_t *exec);

/* Address of a logical rank's buffer in this process; NULL if it is not accessible. */
char *pto_exec_memory(const pto_exec_t *exec, int buffer, int64_t rank);

/* Distance between the two copies of a double-buffered buffer; 0 if it has one copy. */
int64_t pto_exec_apart_bytes(const pto_exec_t *exec, int buffer, int64_t rank);

/* Address of a kernel's flag from one logical rank to another, one of which is this process: the flag of
 * block 0 and the distance to the next block's. NULL if it is not accessible. */
void *pto_exec_kernel_flag(const pto_exec_t *exec, int64_t from, int64_t to, int flag);
int64_t pto_exec_flag_pitch_bytes(const pto_exec_t *exec);

/* The counter of a flag from one logical rank to another; both must be on this process's node. */
atomic_uint_fast64_t *pto_exec_counter(const pto_exec_t *exec, int64_t from, int64_t to, int flag);

/* --- mpi_collective.c
 * ----------------------------------------------------------------------------------------- */

/* Collective: prepare the library calls, one for each collective node that MPI runs. */
pto_status_t pto_library_prepare(pto_exec_t *exec, pto_error_t *err);
pto_status_t pto_library_call(const pto_exec_t *exec, const pto_library_call_t *call, pto_error_t *err);
void pto_library_free(pto_exec_t *exec);

/* Whether the MPI library runs this PTO_NODE_COLLECTIVE. */
bool pto_runs_by_library(const pto_exec_t *exec, const pto_node_t *node);

/* This process's membership in the collective at node `at`. */
typedef struct {
    const pto_node_t *node;
    const pto_group_t *group;
    int index; /* among the members */
    bool acts; /* this process is a member */
} pto_membership_t;

pto_membership_t pto_find_membership(const pto_exec_t *exec, int at);

/* Collective: a communicator for the members of each group, in the group's order. Other processes get
 * MPI_COMM_NULL. */
pto_status_t pto_members_comm(const pto_exec_t *exec, const pto_membership_t *member, MPI_Comm *comm,
                              pto_error_t *err);

/* Range of the slice's block for a peer, or of the whole vector, in this process's buffer. */
pto_nccl_block_t pto_exec_block(const pto_exec_t *exec, const pto_slice_t *slice, int64_t peer);

MPI_Datatype pto_mpi_datatype(pto_datatype_t datatype);
MPI_Op pto_mpi_op(pto_op_t op);

/* --- nccl.c -------------------------------------------------------------------------------------------- */

/* Collective: create the NCCL groups, one for each collective node that NCCL runs. */
pto_status_t pto_nccl_prepare(pto_exec_t *exec, pto_error_t *err);
void pto_nccl_free(pto_exec_t *exec);

/* Whether NCCL runs this PTO_NODE_COLLECTIVE; index of this process's part in it, or -1. */
bool pto_runs_by_nccl(const pto_node_t *node);
int pto_nccl_part(const pto_exec_t *exec, int node);

/* Start the collective; with `wait`, also complete it. */
pto_status_t pto_nccl_run(pto_exec_t *exec, int index, bool wait, bool *finished, pto_error_t *err);
/* Enqueue it in the stream. Blocks only if the device's call does. */
pto_status_t pto_nccl_queue(pto_exec_t *exec, int index, pto_error_t *err);

/* --- schedule.c ---------------------------------------------------------------------------------------- */

/* Resolve this process's part of the plan into the schedule. Local. */
pto_status_t pto_schedule_build(pto_exec_t *exec, pto_error_t *err);
void pto_schedule_free(pto_exec_t *exec);

/* --- kernel.c ------------------------------------------------------------------------------------------ */

/* Collective: agree on the number of blocks and on the buffer in line format, if the plan has kernels. */
pto_status_t pto_kernels_agree(pto_exec_t *exec, pto_error_t *err);
/* Collective: create the kernels on the device. */
pto_status_t pto_kernels_make(pto_exec_t *exec, pto_error_t *err);
void pto_kernels_free(pto_exec_t *exec);

/* Start kernel `index` of this run, once no other kernel is active. */
pto_status_t pto_kernel_start(pto_exec_t *exec, int index, bool wait, bool *finished, pto_error_t *err);
/* Complete the active kernel, on which everything else depends. */
pto_status_t pto_kernel_settle(pto_exec_t *exec, bool wait, bool *finished, pto_error_t *err);

/* --- exec.c -------------------------------------------------------------------------------------------- */

/* One iteration of a wait loop: spin at first, later let MPI and other processes make progress. */
pto_status_t pto_exec_rest(const pto_exec_t *exec, int *spins, pto_error_t *err);

/* --- watchdog.c ---------------------------------------------------------------------------------------- */

int64_t pto_now_ns(void);

/* With PTO_TIMEOUT_ABORT: from now on, a run (or create) that exceeds the time-out ends the job. */
pto_status_t pto_watchdog_begin(pto_exec_t *exec, pto_error_t *err);
void pto_watchdog_end(pto_exec_t *exec);

/* With PTO_TIMEOUT_RETURN: PTO_ERR_TIMEOUT if the run has exceeded the time-out. */
pto_status_t pto_exec_deadline(const pto_exec_t *exec, pto_error_t *err);

/* Describe where this process is, as "rank 3 (node 0, GPU 1, core 1), stage 'round', k 2". */
void pto_exec_where(const pto_exec_t *exec, char *text, size_t text_size);

#endif
