/* The parts of the drop-in for NCCL: a library that is preloaded in front of NCCL into an unchanged program.
 * It "takes" a collective, and runs one of portolan's kernels in its place, where the machine file says that
 * this is cheaper; all other calls are passed on to NCCL (README.md, docs/acting.md). Calls of one kind
 * (equal in all of tap_key_t) have one choice, a tap_pick_t: NCCL, or a strategy with its plan. Such a pick
 * has a run, a tap_run_t with an executor, for all calls that are executed at once, and another run for each
 * CUDA graph into which calls are captured: an executor's kernels may not run twice at the same time, but
 * graphs may.
 *
 * A call goes through these files:
 *   intercept.c  wrappers of NCCL's functions (function_list.h), and groups of calls
 *   take.c       the stream order of a communicator's calls, the executor, and the run
 *   pick.c       the choice between NCCL and a strategy for each kind of call
 *   comm.c       communicators, and the memory that their processes share
 *   doors.c      one-shot barriers, at which all processes confirm that they have created the same executor
 *   symmetric.c  GPU memory with the same layout on all processes, so that they exchange no handles
 *   messages.c   sends and receives
 *   gpu.c        CUDA's driver: captures and contexts
 *   report.c     a row for each call
 *   settings.c   environment variables */
#ifndef TAP_TAP_H
#define TAP_TAP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nccl/nccl_dl.h"
#include "portolan/exec.h"
#include "portolan/kernel.h"
#include "portolan/machine.h"
#include "portolan/scenario.h"

typedef struct {
    bool on;
    bool explains; /* PORTOLAN_EXPLAIN: a summary when a communicator ends */
    bool informs;  /* NCCL_DEBUG=INFO */
    int rank;      /* of the process, according to its launcher; -1: unknown */
    const pto_device_t *device;
    pto_machine_t *machine;
    const char *strategy;       /* PORTOLAN_STRATEGY: used whatever it costs; NULL: the cheapest */
    int64_t memory_bytes;       /* PORTOLAN_MEMORY: for a communicator's kernels, in each process */
    unsigned takes;             /* PORTOLAN_TAKE: bit 1 << c for each pto_collective_t c that may be taken */
    int plans_max;              /* PORTOLAN_PLANS: kinds of calls of a communicator that are priced */
    int64_t messages_max_bytes; /* PORTOLAN_MESSAGES: largest message that is taken; 0: none is */
    uint64_t digest;            /* of the settings that must be equal on all processes */
} tap_settings_t;

/* Reads the environment at the first call. If it is not `on`, all calls are left to NCCL. */
const tap_settings_t *tap_settings(void);

typedef struct tap_comm tap_comm_t;

#define FUNCTION(name, ...) TAP_##name,
typedef enum {
#include "function_list.h"
} tap_function_t;
#undef FUNCTION

/* The arguments of any of these functions. */
typedef struct {
    tap_function_t function;
    const void *in;
    void *out;
    size_t count;
    int datatype; /* NCCL's numbers */
    int op;
    int peer; /* or root */
    void *comm;
    void *stream;
    void *side_stream; /* in which it runs, concurrently with the rest of its group; NULL: in `stream` */
    bool runs_here;    /* instead of in NCCL; in a group, it is held back until the group ends */
} tap_call_t;

/* By tap_function_t. */
extern const struct tap_known {
    const char *name;
    pto_collective_t collective;
} tap_functions[];
static inline pto_collective_t tap_collective_of(const tap_call_t *call) {
    return tap_functions[call->function].collective;
}
static inline bool tap_is_message(const tap_call_t *call) {
    return tap_collective_of(call) == PTO_COLLECTIVE_MESSAGES;
}

/* Call NCCL's own function. */
int tap_pass(const tap_call_t *call);
/* Find the next function of this name: in the libraries behind this one, or in libnccl.so.2. NULL: none. */
void tap_next(const char *name, void *function, size_t size);
/* NCCL's results. */
enum { TAP_SUCCESS = 0, TAP_SYSTEM_ERROR = 2, TAP_INVALID_USAGE = 5 };

enum { TAP_SIZE_MAX = 8 };

/* A block of GPU memory on each process, zero at first. All processes allocate the same sizes from it in the
 * same order. So an allocation at own + 4096 is at at[r] + 4096 for process r, and no handles are
 * exchanged. */
typedef struct {
    const pto_device_t *device;
    char *own; /* this process's block */
    size_t bytes;
    size_t used;
    size_t used_before;        /* `used` before the executor that is being created */
    char *at[TAP_SIZE_MAX];    /* by rank: that process's block, as mapped here */
    pto_device_t block_device; /* `device`, but with allocations from `own` */
    struct pto_kernels kernels;
    pto_team_t team; /* without communication, for creating executors */
} tap_symmetric_t;

/* Collective over `team`. The caller frees it in any case. */
pto_status_t tap_symmetric_create(const pto_team_t *team, const pto_device_t *device, size_t bytes,
                                  tap_symmetric_t *made, pto_error_t *err);
/* Close the others' memory, and free this process's once no other one has it open. */
void tap_symmetric_close(tap_symmetric_t *made);
void tap_symmetric_free(tap_symmetric_t *made);
/* In between, allocations of `block_device` by this thread come from this block. */
void tap_symmetric_enter(tap_symmetric_t *entered);
void tap_symmetric_leave(void);

/* What makes calls of one kind. */
typedef struct {
    pto_collective_t collective;
    pto_datatype_t datatype;
    pto_op_t op;
    int root;      /* 0 where there is none */
    int64_t bytes; /* as in a scenario */
} tap_key_t;

/* An executor for calls of one kind: for all that are not captured, or for those of one capture. */
typedef struct tap_run {
    struct tap_run *next;
    uint64_t capture; /* 0: none */
    pto_exec_t *exec; /* NULL: not all processes could create it */
    bool in_place;
    void *in_copy; /* for an input that overlaps the output; NULL: not needed yet */
    void *stream;  /* for runs concurrent with NCCL's; NULL: not needed yet */
} tap_run_t;

/* The choice for calls of one kind. */
typedef struct tap_pick {
    struct tap_pick *next;
    tap_key_t key;
    const char *why_not; /* why it is left to NCCL; NULL: it is not */
    const char *name;    /* of the strategy */
    double predicted_s;
    double nccl_s; /* 0: unknown */
    int64_t calls;
    pto_scenario_t scenario; /* borrowed by the plan */
    pto_plan_t *plan;
    int64_t in_bytes; /* of this process's buffers in the plan; 0: not used */
    int64_t out_bytes;
    tap_run_t *runs;
} tap_pick_t;

/* Returns the choice for a call, which is made at the first call of its kind. NULL: it is left to NCCL. All
 * processes of the communicator choose alike; a door verifies this when the first executor is created. */
tap_pick_t *tap_pick_of(tap_comm_t *comm, const tap_call_t *call);
/* Returns the choice if it has been made, also one for NCCL. */
tap_pick_t *tap_pick_known(const tap_comm_t *comm, const tap_call_t *call);
void tap_picks_free(tap_comm_t *comm);
/* Returns the size of an element of NCCL's datatype of this number; 0: unknown. */
int64_t tap_element_bytes(int number);

/* Pipes (portolan/messages.h) from one process to another: one for messages that are not captured, and one
 * for each capture. */
enum { TAP_PIPES_MAX = 32 };

/* The pipes of messages that are not captured, or of those of one capture. */
typedef struct tap_pipes {
    struct tap_pipes *next;
    uint64_t capture;
    int number[2][TAP_SIZE_MAX]; /* of the pipe to each process, and from it; 0: none yet */
    void *stream;                /* for messages concurrent with other calls; NULL: not needed yet */
    void *device_list[32];       /* device memory for a list of up to 2^i messages; NULL: not needed yet */
} tap_pipes_t;

typedef struct {
    char *sources, *targets; /* ends of TAP_PIPES_MAX pipes for each process; NULL: messages are NCCL's */
    uint64_t *stop;
    int used[2][TAP_SIZE_MAX]; /* pipes of captures to each process, and from it */
    tap_pipes_t *all_pipes;
    int64_t taken;
} tap_messages_t;

/* After tap_symmetric_create. */
void tap_messages_begin(tap_comm_t *comm);
/* Its messages must be complete. */
void tap_messages_free(tap_comm_t *comm);
/* Returns whether the message is taken; its other end decides the same. */
bool tap_takes_message(const tap_call_t *call);
/* Pass the taken messages among `calls` that are of the communicator of `first`, the first of them: in its
 * stream, or in a stream of their own. Returns NCCL's result. */
int tap_do_messages(tap_call_t *first, const tap_call_t *calls, int count, bool in_side_stream);

enum { TAP_DOORS = 4096 };          /* of a communicator; each executor takes one */
typedef struct tap_door tap_door_t; /* a one-shot barrier in shared memory */

size_t tap_doors_bytes(void);
/* Collective, at the communicator's next door: returns whether all processes come to it with the same digest,
 * which is not 0. A process waits at most `patience_s`. The result is the same on all, even on late ones. */
bool tap_door_pass(tap_comm_t *comm, uint64_t digest, double patience_s);

struct tap_comm {
    tap_comm_t *next;
    void *handle; /* NCCL's */
    int rank;
    int size;
    uint64_t id;     /* the same on all processes, and no other communicator's */
    uint64_t splits; /* of this communicator so far */
    pthread_mutex_t lock;
    void *context; /* CUDA context of the communicator's GPU */
    void *shared;  /* host memory shared by all processes: the doors, then the team's */
    size_t shared_bytes;
    tap_door_t *doors;
    int doors_seen; /* how many this process has come to */
    atomic_bool aborts;
    pto_team_t *team;
    tap_symmetric_t symmetric;
    tap_messages_t messages;
    int picks_made;
    tap_pick_t *picks;
    atomic_int_fast64_t passed; /* calls left to NCCL */
    /* The last call that was not captured, and that of the last capture: later calls wait for it. */
    struct {
        void *stream;
        void *event;
        bool is_recorded;
        uint64_t capture;
    } last[2];
};

/* Collective, after NCCL has created the communicator `handle` from the unique id or by splitting the parent.
 * If something fails, the communicator remains unknown here, and all its calls are left to NCCL. */
void tap_comm_begin(void *handle, const pto_nccl_id_t *id, int size, int rank);
void tap_comm_begin_split(tap_comm_t *parent, uint64_t split, int color, void *handle);
/* NULL: unknown. */
tap_comm_t *tap_comm_of(void *handle);
/* Returns the communicator, locked and with its context current until tap_leave. NULL: unknown. */
tap_comm_t *tap_enter(void *handle);
void tap_leave(tap_comm_t *comm);
/* Sleeps for 0.1 ms: a wait for other processes. */
void tap_nap(void);
/* Before NCCL destroys it. */
void tap_comm_end(void *handle);
/* End kernels that wait for other processes. Their memory is not freed. */
void tap_comm_abort(void *handle);

/* There is no driver: the device is the host. */
bool tap_gpu_is_host(void);
/* The current context; NULL: none. */
void *tap_gpu_context(void);
/* An identifier of the current GPU, the same in all processes of the node; 0: unknown. */
uint64_t tap_gpu_id(void);
/* Make the context current until tap_gpu_leave, and allow calls that CUDA forbids during a capture. */
bool tap_gpu_enter(void *context);
void tap_gpu_leave(void);
/* Call this while waiting for other processes: the host device's streams progress only in calls. */
void tap_gpu_advance(void);
/* Sets `*capture` to the identifier of the capture that the stream is in; 0: none. False: unknown. */
bool tap_gpu_capture(void *stream, uint64_t *capture);

/* Returns whether the collective is taken; all processes decide the same. */
bool tap_takes(const tap_call_t *call);
/* Run the collective here or by NCCL, in the communicator's order. Returns NCCL's result. */
int tap_do(const tap_call_t *call);
/* Run a collective of a group here, in a stream of its own, so that it does not wait for the group's other
 * calls, which NCCL runs. False: it is left to NCCL. `calls`: all calls of the group. */
bool tap_do_beside_nccl(tap_call_t *call, const tap_call_t *calls, int count, int *result);
/* After NCCL has enqueued its part: let later work in the streams of the communicator's calls wait for it. */
void tap_join(const tap_call_t *call, const tap_call_t *calls, int count);
/* A communicator's calls run one after another, in whatever streams they are: let `stream` wait for the last
 * call; record `stream` as that of the last call. */
void tap_follow_last(tap_comm_t *comm, void *stream, uint64_t capture);
void tap_record_last(tap_comm_t *comm, void *stream, uint64_t capture);
/* Let `*stream`, which is created if NULL, wait for the streams of all calls of the communicator: NCCL, too,
 * begins a group only after the earlier work in all of its streams. */
pto_status_t tap_begin_side_stream(void **stream, const void *comm, const tap_call_t *calls, int count,
                                   pto_error_t *err);
/* Before and after a call that NCCL runs: keep it in the communicator's order. */
void tap_before_pass(const tap_call_t *call);
void tap_after_pass(const tap_call_t *call);

/* Returns whether there is a report. The first call opens the file, under the process's rank according to its
 * launcher, or else under its rank in the communicator. */
bool tap_reports(const tap_comm_t *comm);
/* Report a call of a communicator whose lock is held, by the pick or by NCCL. `pick` may be NULL. */
void tap_report(tap_comm_t *comm, const tap_call_t *call, const tap_pick_t *pick, bool taken, double began_s);
/* Count and report a call that was passed on to NCCL. */
void tap_report_passed(const tap_call_t *call, double began_s);

#endif
