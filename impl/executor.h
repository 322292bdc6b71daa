/* The state of an executor (portolan/exec.h) in one process: the schedule, which is its part of the plan as
 * flat lists of tasks, and the memory that the plan's buffers are bound to. */
#ifndef PTO_EXECUTOR_H
#define PTO_EXECUTOR_H

#include <pthread.h>
#include <stdatomic.h>

#include "device/vector.h"
#include "job.h"
#include "kernels/program.h"
#include "portolan/kernel.h"
#include "portolan/lines.h"
#include "portolan/nccl.h"
#include "portolan/policy.h"
#include "shm.h"

typedef enum {
    PTO_TASK_POST,   /* start requests */
    PTO_TASK_FINISH, /* wait for them */
    PTO_TASK_MOVE,   /* copies */
    PTO_TASK_REDUCE,
    PTO_TASK_SIGNAL,
    PTO_TASK_WAIT,
    PTO_TASK_LIBRARY, /* a collective of the MPI library */
    PTO_TASK_KERNEL,
    PTO_TASK_NCCL,
    PTO_TASK_MARK,   /* record event `first`, for other lanes to wait for */
    PTO_TASK_AFTER,  /* wait until lane `first` has passed its mark, which is its task number `count` */
    PTO_TASK_CHOOSE, /* begin either node `first` (choices.h) */
    PTO_TASK_CHOSEN, /* the branch taken for choice `first` has ended */
    PTO_TASK_COUNT
} pto_task_kind_t;

/* One entry of the schedule: `count` items from `first` on, in the list of its kind. */
typedef struct {
    pto_task_kind_t kind;
    int first;
    int count;
    const char *stage;
    int64_t k;  /* of the plan's loop or pipeline */
    int lanes;  /* index of the plan's node in one of whose lanes the task is; -1: none */
    int choice; /* 1 + index in `choices`: the task is done only if `branch` is chosen there; 0: always */
    int branch;
    bool once; /* only the first lane that takes the branch does the task */
} pto_task_t;

/* A lane: tasks that are executed in order, with a stream of their own. Lanes are concurrent. Each branch of
 * a parallel node, and each stage of a pipeline, is a lane (docs/decisions/0010). */
typedef struct {
    pto_vector_t tasks; /* pto_task_t */
    atomic_int next;    /* index of the current task */
    void *stream;
    bool pending; /* the stream may hold work that has not completed */
} pto_lane_t;

typedef struct {
    void *event;   /* of the device */
    bool recorded; /* the last mark recorded it; otherwise the stream was empty */
} pto_exec_event_t;

typedef struct {
    pto_move_t move;
    bool on_device;  /* source or target is device memory */
    int64_t divisor; /* divide the values by it; 0: an ordinary copy */
} pto_exec_move_t;

typedef struct {
    void *target;
    int source_first; /* in `sources` */
    int source_count;
    bool fresh; /* overwrite the target instead of accumulating */
    size_t count;
    bool on_device;
} pto_exec_reduction_t;

/* A signal or a wait. The counter holds all signals of one flag from one sender to one receiver. */
typedef struct {
    atomic_uint_fast64_t *counter;
    uint64_t seen;   /* of a wait: the signals that earlier waits on this counter consumed */
    uint64_t stride; /* signals per run on this counter */
    int peer;        /* rank in the team */
} pto_exec_signal_t;

/* One member's choice in an either node (choices.h), with counters as in pto_exec_signal_t. */
typedef struct {
    int either; /* index in `eithers` */
    atomic_uint_fast64_t *arrived;
    atomic_uint_fast64_t *chosen[PTO_BRANCH_COUNT];
    uint64_t seen[PTO_BRANCH_COUNT]; /* signals of `chosen` that this process, the member, has seen */
    int branch;                      /* in this run; -1: not known yet */
    bool has_arrived;                /* in this run, as seen by member 0 */
} pto_exec_choice_t;

/* An either node, as seen by member 0, which chooses, or by another member. */
typedef struct {
    int node;     /* index in the plan */
    bool chooses; /* this process is member 0 */
    int first; /* of its `count` entries in `choices`: for member 0 one of each other member, else its own */
    int count;
    int arrived;                        /* number of members that have arrived in this run */
    int completed;                      /* number of those that have ended their branch */
    bool chosen_early;                  /* the policy chose for this run when the last one ended */
    bool waited;                        /* a task of a branch has had to wait in this run (choices.h) */
    int first_lane[PTO_BRANCH_COUNT];   /* the first one to take the branch; 0: none yet */
    bool once_passed[PTO_BRANCH_COUNT]; /* that lane has passed the stages marked `once` */
    int64_t began_ns;                   /* when the node began, or the last member arrived; 0: not timed */
    pto_policy_t policy;
    pto_exec_choices_t statistics;
} pto_exec_either_t;

/* A kernel: this process's program, and the device's handle for it. */
typedef struct {
    pto_program_t program;
    void *handle; /* NULL: the process takes no part */
} pto_exec_kernel_t;

/* Whether runs can be queued (pto_exec_queue), and if not, why: processes take part in every run, or user
 * buffers are copied before or after it. */
typedef enum { PTO_QUEUE_YES, PTO_QUEUE_BY_PROCESSES, PTO_QUEUE_SHADOWED } pto_queue_t;

/* A collective node that NCCL runs, with this process's arguments. */
typedef struct {
    int node;               /* index of the plan's node */
    const pto_team_t *team; /* the members; NULL: this process is not one */
    void *group;            /* the device's handle */
    pto_nccl_call_t call;
    pto_nccl_block_t *blocks; /* alltoall(v): blocks to send, then blocks to receive */
    void *window[2];          /* of the input and output, where they are symmetric windows */
} pto_exec_nccl_t;

typedef struct {
    char *memory; /* this process's memory for the buffer when the executor was made; NULL: none */
    int shared;   /* index among the buffers that other processes access; -1: private */
} pto_bound_t;

/* Memory of another process as addressed here, and the start of its allocation (NULL: the node's segment). */
typedef struct {
    char *memory;
    char *start;
} pto_peer_memory_t;

/* Another process's buffer. */
typedef struct {
    int buffer;
    int64_t rank; /* logical */
    pto_peer_memory_t at;
} pto_peer_buffer_t;

/* Another process's allocation, opened through the device. Closed when unregistered or with the executor. */
typedef struct {
    int64_t rank; /* logical */
    pto_memory_handle_t handle;
    void *start;
} pto_opened_t;

/* What never changes of this process's user buffer of one side, input or output (register.h). */
typedef struct {
    int64_t bytes;
    bool holds;      /* the process has one, however small */
    bool is_private; /* only its own work uses it */
} pto_user_side_t;

/* The value of `began_ns` when a run has begun and the watchdog has not yet set the time. */
enum { PTO_BEGAN_NOW = -1 };

/* The time-out of this executor's runs, and the thread that watches it (watchdog.h). */
typedef struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool running;
    bool stop;
    bool at_end; /* pto_exec_destroy frees what runs needed */
    double timeout_s;
    atomic_int_fast64_t began_ns; /* of the run, or create or destroy; 0: none is active */
} pto_watchdog_t;

struct pto_exec {
    const pto_plan_t *plan;
    const pto_device_t *device;
    pto_op_t op;     /* of the plan's steps; for an average, the sum */
    int64_t divisor; /* of the whole result at the end of a run; 0: none */
    pto_exec_options_t options;
    pto_job_t job;
    pto_bound_t *bound;        /* by buffer */
    pto_offsets_t *offsets;    /* of this process's blocks, while the executor is made */
    pto_vector_t peer_buffers; /* pto_peer_buffer_t */
    int *peer_buffer_index;    /* by offer and rank in the node: 1 + index in `peer_buffers`; 0: not open */
    void *offers;              /* what the node's processes share, until it is open (offers.c) */
    int offer_count;           /* of each process: shared buffers, kernel flags */
    int shared_count;
    pto_vector_t opened;        /* pto_opened_t */
    pto_vector_t offered;       /* pto_memory_handle_t: allocations that pto_exec_rebind has offered */
    pto_vector_t registrations; /* by number (register.c) */
    pto_team_t *mailboxes;      /* all processes, in shared memory; NULL: none (register.c) */
    void *mailbox_memory;
    pto_shared_handle_t mailbox_handle;
    pto_user_side_t side[2];
    /* Scratch memory of a rebinding (rebind.c): */
    pto_peer_memory_t *next_peer_memory; /* the new places of `peer_buffers` */
    void *gathered;                      /* the messages of all processes; NULL: none are exchanged */
    void *relocations;                   /* the user buffers that change */
    /* This process's memory (buffers.c): */
    void *device_arena; /* temporary buffers */
    void *staging_arena;
    void *shadow_in; /* replaces the user's input where that cannot be used directly; runs copy the data */
    void *shadow_out;
    void *quotient; /* a divided result, where the device cannot write to the user's output */
    const void *user_in;
    void *user_out;
    void *segment; /* one per node: flags, then the host buffers that its processes share */
    pto_shared_handle_t segment_handle;
    uint64_t *segment_bytes; /* by rank in the node: size of its host buffers in the segment */
    size_t flag_row_bytes;   /* of one sender's flags in the segment */
    bool segment_own;        /* this process created it */
    bool segment_pinned;
    bool same_place[2]; /* by side: all processes' buffers are known to be at one registered place */
    bool copies_input;  /* in place, to `shadow_in`, for a plan that cannot work in place */
    bool peer_failed; /* another process of the node failed while the executor is made; reported at the end */
    void *kernel_flags; /* flags that this process's GPU waits for; NULL: none */
    int kernel_blocks;  /* thread blocks of every kernel; 0: the plan has no kernel */
    int kernel_slices;  /* slices per block */
    int lines;          /* the buffer in line format, which needs no flags; -1: none */
    pto_lane_t *lane;   /* lane 0 also has the tasks that are in no lane of the plan */
    int lane_count;
    void *follow_event;      /* of pto_exec_follow; NULL: none yet */
    pto_vector_t events;     /* pto_exec_event_t */
    pto_vector_t requests;   /* MPI_Request, of messages (mpi/part.h) */
    pto_vector_t messages;   /* pto_exec_message_t, by request */
    pto_vector_t statuses;   /* MPI_Status, enough for any task */
    pto_vector_t moves;      /* pto_exec_move_t */
    pto_vector_t reductions; /* pto_exec_reduction_t */
    pto_vector_t sources;    /* const void *, of reductions */
    pto_vector_t signals;    /* pto_exec_signal_t */
    pto_vector_t calls;      /* collectives that MPI runs (mpi/part.h) */
    pto_vector_t eithers;    /* pto_exec_either_t */
    pto_vector_t choices;    /* pto_exec_choice_t */
    pto_vector_t kernels;    /* pto_exec_kernel_t */
    pto_vector_t nccl;       /* pto_exec_nccl_t */
    void *kernel;            /* the last kernel in lane 0's stream, the device's handle; NULL: none */
    uint64_t run;            /* the last run that began, counted from 1 */
    uint64_t ended;          /* the last run that the current kernel has completed */
    pto_queue_t queue;
    bool stream_ordered; /* runs can be enqueued (pto_exec_enqueue) */
    bool enqueued;       /* some were */
    bool queued;         /* the active runs were queued */
    bool waiting;        /* inside pto_exec_wait, so blocking calls are allowed */
    bool active;         /* a run is */
    bool failed;
    void *own[PTO_ROLE_COUNT]; /* the user buffers that pto_exec_open allocated */
    uint64_t random;
    pto_watchdog_t watchdog;
};

/* Returns whether a run may begin. Errors: PTO_ERR_TIMEOUT (an enqueued run gave up), PTO_ERR_RANGE. */
pto_status_t pto_exec_check_idle(pto_exec_t *exec, pto_error_t *err);

/* Free what pto_exec_open allocated, by role. */
void pto_exec_own_release(const pto_plan_t *plan, const pto_device_t *device,
                          const pto_exec_options_t *options, void **own);

#endif
