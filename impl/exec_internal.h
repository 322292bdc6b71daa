/* What the executor's files share: the flat schedule of one process, and what it is bound to. */
#ifndef PTO_EXEC_INTERNAL_H
#define PTO_EXEC_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "growing.h"
#include "lines.h"
#include "portolan/exec.h"
#include "portolan/kernel.h"
#include "portolan/nccl.h"
#include "program.h"
#include "shared.h"

/* --- the schedule -------------------------------------------------------------------------------------- */

typedef enum {
    PTO_DO_POST,   /* start requests */
    PTO_DO_FINISH, /* wait for them */
    PTO_DO_MOVE,
    PTO_DO_REDUCE,
    PTO_DO_SIGNAL,
    PTO_DO_WAIT,
    PTO_DO_LIBRARY,
    PTO_DO_KERNEL,
    PTO_DO_NCCL,
    PTO_DO_COUNT
} pto_do_kind_t;

/* One thing after another: `count` items from `first` on, in the list of its kind. */
typedef struct {
    pto_do_kind_t kind;
    int first;
    int count;
    const char *stage;
    int64_t k;
} pto_do_t;

typedef struct {
    pto_move_t move;
    bool on_device; /* one of its ends lies there */
} pto_exec_move_t;

typedef struct {
    void *target;
    int source_first; /* in `sources` */
    int source_count;
    bool fresh; /* the target's own values don't count */
    size_t count;
    bool on_device;
} pto_exec_reduction_t;

/* A signal or a wait. The counter counts the signals sent along one (sender, flag, receiver), over all runs.
 */
typedef struct {
    atomic_uint_fast64_t *counter;
    uint64_t seen;   /* signals of the counter that earlier waits have taken */
    uint64_t stride; /* signals that a run sends along it */
    int peer;        /* MPI rank */
} pto_exec_signal_t;

typedef struct {
    bool sends;
    int peer; /* MPI rank */
} pto_exec_end_t;

/* A collective of the MPI library's own, with this process's arguments. */
typedef struct {
    MPI_Comm comm; /* MPI_COMM_NULL: this process takes no part */
    pto_collective_t collective;
    bool equal; /* blocks of one size, in order: no tables */
    const void *in;
    void *out;
    int count; /* equal blocks: of each; allreduce: of all */
    int *send_counts;
    int *send_places;
    int *receive_counts;
    int *receive_places;
} pto_library_call_t;

/* A kernel: what this process's GPU does in it, and what the device made of that. */
typedef struct {
    pto_program_t program;
    void *made;
} pto_exec_kernel_t;

/* Whether runs can be queued (pto_exec_queue), and why not. */
typedef enum { PTO_QUEUE_YES, PTO_QUEUE_BY_PROCESSES, PTO_QUEUE_STANDS_IN } pto_queue_t;
/* A collective of NCCL's own, with this process's arguments. */
typedef struct {
    int node;      /* of the plan */
    MPI_Comm comm; /* MPI_COMM_NULL: this process takes no part */
    void *group;   /* the device's */
    pto_nccl_call_t call;
    pto_nccl_block_t *blocks; /* of alltoall(v): those to send, then those to receive */
} pto_nccl_part_t;

/* --- the executor -------------------------------------------------------------------------------------- */

typedef struct {
    char *memory; /* in this process; NULL: none here */
    int shared;   /* others use it: its number among such buffers; -1: nobody does */
} pto_bound_t;

/* Another process's buffer, opened here. */
typedef struct {
    int buffer;
    int64_t rank; /* logical */
    char *memory;
} pto_reached_t;

/* Who is who; valid on every process. */
typedef struct {
    MPI_Comm comm; /* our own */
    MPI_Comm node; /* the processes that share memory with this one */
    int size;
    int rank;           /* in comm */
    int64_t logical;    /* the plan's number of this process */
    int *mpi_of;        /* by logical rank */
    int *node_of;       /* by logical rank: the least MPI rank of its real node */
    int *place_in_node; /* by logical rank: rank in its `node` */
} pto_job_t;

typedef struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool running;
    bool stop;
    double timeout_s;
    atomic_int_fast64_t began_ns; /* 0: nothing under way */
} pto_watchdog_t;

struct pto_exec {
    const pto_plan_t *plan;
    const pto_device_t *device;
    pto_op_t op;
    pto_exec_options_t options;
    pto_job_t job;
    pto_bound_t *bound; /* by buffer */
    int shared_count;
    pto_growing_t reached; /* pto_reached_t */
    void *device_arena;    /* temporaries */
    void *staging_arena;
    void *shadow_in; /* stands in for the user's input where that can't be used itself */
    void *shadow_out;
    const void *user_in;
    void *user_out;
    void *flags; /* one segment a node */
    pto_shared_handle_t flags_handle;
    bool flags_own;
    int flag_rows; /* processes of the node */
    size_t flag_row_bytes;
    void *kernel_flags; /* those that this process's GPU waits for; NULL: none */
    int kernel_blocks;  /* of threads, in every kernel; 0: the plan has no kernel */
    int kernel_slices;  /* that each of them does in turn */
    int lines;          /* the buffer whose data carry their flags, so that there are no others; -1: none */
    int offer_count;    /* of memory to other processes of the node: shared buffers, kernel flags */
    void *stream;
    pto_growing_t todo;       /* pto_do_t */
    pto_growing_t requests;   /* MPI_Request */
    pto_growing_t ends;       /* pto_exec_end_t, by request */
    pto_growing_t moves;      /* pto_exec_move_t */
    pto_growing_t reductions; /* pto_exec_reduction_t */
    pto_growing_t sources;    /* const void *, of reductions */
    pto_growing_t signals;    /* pto_exec_signal_t */
    pto_growing_t calls;      /* pto_library_call_t */
    pto_growing_t kernels;    /* pto_exec_kernel_t */
    pto_growing_t nccl;       /* pto_nccl_part_t */
    MPI_Status *statuses;     /* room for the largest batch of requests */
    atomic_int next;          /* the item of `todo` at work */
    bool pending;             /* the stream holds work that was not waited for */
    void *kernel;             /* what it holds last, the device's; NULL: no kernel */
    uint64_t run;             /* the last that began, counted from 1 */
    uint64_t ended;           /* the last that the kernel at work has ended */
    pto_queue_t queue;
    bool queued;  /* what is under way was queued */
    bool waiting; /* inside pto_exec_wait, which may call what waits itself */
    bool under_way;
    bool failed;
    void *own_in; /* the user's buffers, where pto_exec_open allocated them */
    void *own_out;
    uint64_t random;
    pto_watchdog_t watchdog;
};

/* --- comm.c -------------------------------------------------------------------------------------------- */

/* PTO_OK, or PTO_ERR_IO with the call and MPI's reason. */
pto_status_t pto_mpi(int code, const char *call, pto_error_t *err);
#define PTO_MPI(call, err) pto_mpi((call), #call, (err))

/* Collective: PTO_OK where every process has it, else everywhere the first failing process's error. */
pto_status_t pto_agree(MPI_Comm comm, pto_status_t status, pto_error_t *err);

/* Collective. On success the job is the caller's to free. */
pto_status_t pto_job_create(const pto_layout_t *layout, MPI_Comm comm, const pto_exec_options_t *options,
                            pto_job_t *job, pto_error_t *err);
void pto_job_free(pto_job_t *job);

/* Collective: refuse where processes were given different numbers. */
pto_status_t pto_same_everywhere(MPI_Comm comm, uint64_t number, pto_error_t *err);

/* --- bind.c -------------------------------------------------------------------------------------------- */

/* Collective: give every buffer of the plan its memory, reach others' buffers, make the flags. */
pto_status_t pto_exec_bind(pto_exec_t *exec, const void *in, void *out, pto_error_t *err);
void pto_exec_unbind(pto_exec_t *exec);

/* Where a logical rank's buffer lies in this process; NULL where it is not within reach. */
char *pto_exec_memory(const pto_exec_t *exec, int buffer, int64_t rank);

/* How far its two copies are apart; 0 where it has one. */
int64_t pto_exec_apart_bytes(const pto_exec_t *exec, int buffer, int64_t rank);

/* A kernel's flag from one logical rank to another, one of which is this process; of block 0, and how far it
 * is to the next block's. NULL where it is not within reach. */
void *pto_exec_kernel_flag(const pto_exec_t *exec, int64_t from, int64_t to, int flag);
int64_t pto_exec_flag_pitch_bytes(const pto_exec_t *exec);

/* The counter of a flag from one logical rank to another; both share this process's node. */
atomic_uint_fast64_t *pto_exec_counter(const pto_exec_t *exec, int64_t from, int64_t to, int flag);

/* --- library.c ----------------------------------------------------------------------------------------- */

/* Collective: make the library's calls, one for each collective node that MPI is to run. */
pto_status_t pto_library_prepare(pto_exec_t *exec, pto_error_t *err);
pto_status_t pto_library_call(const pto_exec_t *exec, const pto_library_call_t *call, pto_error_t *err);
void pto_library_free(pto_exec_t *exec);

/* Whether MPI itself runs this PTO_NODE_COLLECTIVE. */
bool pto_runs_by_library(const pto_exec_t *exec, const pto_node_t *node);

/* This process in the collective that node `at` holds. */
typedef struct {
    const pto_node_t *node;
    const pto_group_t *group;
    int index; /* among the members */
    bool acts; /* it is one of them */
} pto_membership_t;

pto_membership_t pto_find_membership(const pto_exec_t *exec, int at);

/* Collective: a communicator of the members of each group, in the group's order. The others get
 * MPI_COMM_NULL. */
pto_status_t pto_members_comm(const pto_exec_t *exec, const pto_membership_t *member, MPI_Comm *comm,
                              pto_error_t *err);

/* Where the block of a call's slice for a peer, or the whole vector, lies in this process's buffer. */
pto_nccl_block_t pto_exec_block(const pto_exec_t *exec, const pto_slice_t *slice, int64_t peer);

MPI_Datatype pto_mpi_datatype(pto_datatype_t datatype);
MPI_Op pto_mpi_op(pto_op_t op);

/* --- nccl.c -------------------------------------------------------------------------------------------- */

/* Collective: make NCCL's groups, one for each collective node that is NCCL's. */
pto_status_t pto_nccl_prepare(pto_exec_t *exec, pto_error_t *err);
void pto_nccl_free(pto_exec_t *exec);

/* Whether NCCL runs this PTO_NODE_COLLECTIVE; this process's part in it, by number, or -1. */
bool pto_runs_by_nccl(const pto_node_t *node);
int pto_nccl_part(const pto_exec_t *exec, int node);

/* Start it, and with `wait` end it. */
pto_status_t pto_nccl_run(pto_exec_t *exec, int index, bool wait, bool *finished, pto_error_t *err);
/* Put it into the stream, and wait for it only where the device's call does. */
pto_status_t pto_nccl_queue(pto_exec_t *exec, int index, pto_error_t *err);

/* --- schedule.c ---------------------------------------------------------------------------------------- */

/* Resolve this process's part of the plan. Local. */
pto_status_t pto_schedule_build(pto_exec_t *exec, pto_error_t *err);
void pto_schedule_free(pto_exec_t *exec);

/* --- kernel.c ------------------------------------------------------------------------------------------ */

/* Collective: agree upon the number of blocks and what is lines, where the plan has kernels. */
pto_status_t pto_kernels_agree(pto_exec_t *exec, pto_error_t *err);
/* Collective: hand the programs to the device. */
pto_status_t pto_kernels_make(pto_exec_t *exec, pto_error_t *err);
void pto_kernels_free(pto_exec_t *exec);

/* Start kernel number `index` of this run, once no other one is at work. */
pto_status_t pto_kernel_start(pto_exec_t *exec, int index, bool wait, bool *finished, pto_error_t *err);
/* What the kernel at work does must have happened before anything else goes on. */
pto_status_t pto_kernel_settle(pto_exec_t *exec, bool wait, bool *finished, pto_error_t *err);

/* --- exec.c -------------------------------------------------------------------------------------------- */

/* One turn of waiting: at first spin, later let MPI and other processes go on. */
pto_status_t pto_exec_rest(const pto_exec_t *exec, int *spins, pto_error_t *err);

/* --- watchdog.c ---------------------------------------------------------------------------------------- */

int64_t pto_now_ns(void);

/* With PTO_TIMEOUT_ABORT: from now on, a run (or create) under way for longer than the time-out ends the job.
 */
pto_status_t pto_watchdog_begin(pto_exec_t *exec, pto_error_t *err);
void pto_watchdog_end(pto_exec_t *exec);

/* Otherwise: PTO_ERR_TIMEOUT where the run has been under way for longer. */
pto_status_t pto_exec_deadline(const pto_exec_t *exec, pto_error_t *err);

/* What the executor is at, as "rank 3 (node 0, GPU 1, core 1), stage 'round', k 2". */
void pto_exec_where(const pto_exec_t *exec, char *text, size_t text_size);

#endif
