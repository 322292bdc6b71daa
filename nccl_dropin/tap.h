/* The parts of the drop-in for NCCL, a library in front of NCCL in an unchanged program: it takes collectives
 * for which the machine file says that a kernel of portolan's is cheaper, and passes on all others untouched
 * (README.md, docs/acting.md).
 *
 * A call goes through these steps:
 *   intercept.c  NCCL's functions (function_list.h), and the next ones behind them
 *   comm.c       communicators, and what their processes share
 *   doors.c      where processes make sure that all of them have made the same executor
 *   symmetric.c  memory that all processes of a communicator use alike, so that no handles are exchanged
 *   pick.c       which strategy has a kind of call
 *   take.c       the order of calls, captures, and the run
 *   messages.c   sends and receives
 *   gpu.c        the driver: captures and contexts
 *   report.c     a row for each call
 *   settings.c   the environment, and what is told */
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

/* --- settings.c ----------------------------------------------------------------------------------------- */

typedef struct {
    bool on;
    bool explains; /* PORTOLAN_EXPLAIN: a summary when a communicator ends */
    bool informs;  /* NCCL_DEBUG=INFO */
    int rank;      /* of the process, as its launcher says; -1: unknown */
    const pto_device_t *device;
    pto_machine_t *machine;
    const char *strategy;       /* PORTOLAN_STRATEGY: the only one; NULL: the cheapest */
    int64_t memory_bytes;       /* PORTOLAN_MEMORY: of a communicator, in each process */
    unsigned takes;             /* PORTOLAN_TAKE: bits of pto_collective_t */
    int plans_max;              /* PORTOLAN_PLANS: kinds of calls of a communicator that are priced */
    int64_t messages_max_bytes; /* PORTOLAN_MESSAGES: of messages that are taken; 0: none is */
    uint64_t digest;            /* of all that must be equal on all processes */
} tap_settings_t;

/* Reads the environment at the first call. Not `on`: all is NCCL's. */
const tap_settings_t *tap_settings(void);
/* To standard error, by the process of rank 0. */
void tap_say(int rank, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef struct tap_comm tap_comm_t;

/* --- calls ---------------------------------------------------------------------------------------------- */

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
    void *aside; /* the stream in which it runs beside those of its group; NULL: its own */
    bool here;   /* of a group: held back, to be run here */
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

/* --- intercept.c ---------------------------------------------------------------------------------------- */

/* NCCL's own function for the call. */
int tap_pass(const tap_call_t *call);
/* The next function of this name: of the libraries behind this one, or of libnccl.so.2. NULL: none. */
void tap_next(const char *name, void *function, size_t size);
/* NCCL's results. */
enum { TAP_SUCCESS = 0, TAP_SYSTEM_ERROR = 2, TAP_INVALID_USAGE = 5 };

/* --- symmetric.c ---------------------------------------------------------------------------------------- */

enum { TAP_SIZE_MAX = 8 };

/* Memory of each process, of which all take the same pieces in the same order. Zero at first. */
typedef struct {
    const pto_device_t *device; /* that has it */
    char *own;
    size_t bytes;
    size_t used;
    size_t used_before;     /* the executor that is being made */
    char *at[TAP_SIZE_MAX]; /* by rank: as addressed here */
    pto_device_t pieces;    /* the device, whose memory is pieces of this one */
    struct pto_kernels kernels;
    pto_team_t team; /* which exchanges nothing: what is equal on all processes needs no exchange */
} tap_symmetric_t;

/* Collective over `team`. The caller frees it in any case. */
pto_status_t tap_symmetric_create(const pto_team_t *team, const pto_device_t *device, size_t bytes,
                                  tap_symmetric_t *made, pto_error_t *err);
/* Close the others' memory, and free this process's once no other one has it open. */
void tap_symmetric_close(tap_symmetric_t *made);
void tap_symmetric_free(tap_symmetric_t *made);
/* The device's allocations are pieces of this one, in this thread, until it is left. */
void tap_symmetric_enter(tap_symmetric_t *entered);
void tap_symmetric_leave(void);

/* --- pick.c --------------------------------------------------------------------------------------------- */

typedef struct {
    pto_collective_t collective;
    pto_datatype_t datatype;
    pto_op_t op;
    int root;      /* 0 where there is none */
    int64_t bytes; /* as in a scenario */
} tap_cell_t;

/* An executor of a kind of call: for calls outside graphs, or for those of one capture. Executors of graphs
 * differ from each other, so that launches of several graphs may overlap. */
typedef struct tap_run {
    struct tap_run *next;
    uint64_t capture; /* 0: outside graphs */
    pto_exec_t *exec; /* NULL: not all processes could make it */
    bool in_place;
    void *aside;  /* for an input that the executor cannot use where it is; NULL: not needed yet */
    void *stream; /* for runs beside NCCL's; NULL: not needed yet */
} tap_run_t;

typedef struct tap_pick {
    struct tap_pick *next;
    tap_cell_t cell;
    const char *why; /* it is left to NCCL; NULL: it is not */
    const char *name;
    double predicted_s;
    double nccl_s; /* 0: unknown */
    int64_t calls;
    pto_scenario_t scenario; /* borrowed by the plan */
    pto_plan_t *plan;
    int64_t in_bytes; /* of this process's buffers by the plan; 0: it has no part in them */
    int64_t out_bytes;
    tap_run_t *runs;
} tap_pick_t;

/* Of the call; NULL: it is left to NCCL. All processes of the communicator choose alike, and a door makes
 * sure of it when the first executor is made. */
tap_pick_t *tap_pick_of(tap_comm_t *comm, const tap_call_t *call);
/* The same if it was made before, also of those that are left to NCCL. */
tap_pick_t *tap_pick_known(const tap_comm_t *comm, const tap_call_t *call);
void tap_picks_free(tap_comm_t *comm);
int64_t tap_element_bytes(int number);

/* --- messages.c ----------------------------------------------------------------------------------------- */

/* Graphs, and what is outside of them, that have pipes of their own between two processes. */
enum { TAP_AREAS = 32 };

/* Pipes of what is outside graphs, or of one capture. */
typedef struct tap_area {
    struct tap_area *next;
    uint64_t capture;
    int number[2][TAP_SIZE_MAX]; /* of the pipe to each process, and from it; 0: none yet */
    void *stream;                /* for messages beside other calls; NULL: not needed yet */
    void *far[32];               /* device memory for long lists, by the logarithm of their lengths */
} tap_area_t;

typedef struct {
    char *sources, *targets; /* TAP_AREAS for each process; NULL: messages are NCCL's */
    uint64_t *stop;
    int used[2][TAP_SIZE_MAX]; /* pipes to each process, and from it */
    tap_area_t *areas;
    int64_t taken;
} tap_messages_t;

/* Once the communicator's memory is made. */
void tap_messages_begin(tap_comm_t *comm);
/* Its messages are complete. */
void tap_messages_free(tap_comm_t *comm);
/* Whether the message will be passed here, as its other end decides as well. */
bool tap_takes_message(const tap_call_t *call);
/* Pass the messages among a group's calls that are held back and of the communicator of `first`, the first of
 * them. With `aside`, in a stream of their own. Returns NCCL's result. */
int tap_do_messages(tap_call_t *first, const tap_call_t *calls, int count, bool aside);

/* --- doors.c -------------------------------------------------------------------------------------------- */

enum { TAP_DOORS = 4096 }; /* of a communicator: executors that can be made */
typedef struct tap_door tap_door_t;

size_t tap_doors_bytes(void);
/* Collective, at the communicator's next door: whether all processes come to it within `patience_s` with the
 * same digest, which is not 0. The same on all of them, however late they come. */
bool tap_door_pass(tap_comm_t *comm, uint64_t digest, double patience_s);
void tap_nap(void);

/* --- comm.c --------------------------------------------------------------------------------------------- */

struct tap_comm {
    tap_comm_t *next;
    void *handle; /* NCCL's */
    int rank;
    int size;
    uint64_t key; /* the same on all processes, and no other communicator's */
    uint64_t splits;
    pthread_mutex_t lock;
    void *context; /* the driver's, of the communicator's GPU */
    void *shared;  /* memory of all processes: the doors, and the team's */
    size_t shared_bytes;
    tap_door_t *doors;
    int doors_seen;
    atomic_bool aborts;
    pto_team_t *team;
    tap_symmetric_t symmetric;
    tap_messages_t messages;
    int picks_made;
    tap_pick_t *picks;
    atomic_int_fast64_t passed; /* calls */
    /* The last call outside graphs, and the last one of the last capture: later ones in other streams follow.
     */
    struct {
        void *stream;
        void *event;
        bool is_recorded;
        uint64_t capture;
    } last[2];
};

/* Collective, once NCCL has made the communicator `handle` from the unique id, or from the parent's split.
 * Where something stands in the way, the communicator is unknown here, and all its calls are NCCL's. */
void tap_comm_begin(void *handle, const pto_nccl_id_t *id, int size, int rank);
void tap_comm_begin_split(tap_comm_t *parent, uint64_t split, int color, void *handle);
/* NULL: unknown. */
tap_comm_t *tap_comm_of(void *handle);
/* Before NCCL destroys it. */
void tap_comm_end(void *handle);
/* Ends kernels that wait, and leaves the memory as it is. */
void tap_comm_abort(void *handle);

/* --- gpu.c ---------------------------------------------------------------------------------------------- */

/* There is no driver: the device is the host. */
bool tap_gpu_is_host(void);
/* The current context; NULL: none. */
void *tap_gpu_context(void);
/* A number of the current GPU, the same in all processes of the node; 0: unknown. */
uint64_t tap_gpu_id(void);
/* Make the context current, and calls legal that a capture of the program's would forbid, until left. */
bool tap_gpu_enter(void *context);
void tap_gpu_leave(void);
/* Returns the communicator of a handle, locked and entered as above, until it is left; NULL: it is unknown,
 * or its context cannot be current. */
tap_comm_t *tap_enter(void *handle);
void tap_leave(tap_comm_t *comm);
/* While this process waits for others on the host: the host device, unlike a GPU, would not go on. */
void tap_gpu_advance(void);
/* The number of the capture that the stream is in; 0: none. False: unknown. */
bool tap_gpu_capture(void *stream, uint64_t *capture);

/* --- take.c --------------------------------------------------------------------------------------------- */

/* Whether the call will be run here, as all processes decide alike. */
bool tap_takes(const tap_call_t *call);
/* Run it here, or by NCCL, in the communicator's order. Returns NCCL's result. */
int tap_do(const tap_call_t *call);
/* Run a call of a group here, in a stream of its own, so that it waits for none of the group's other calls;
 * false: it is NCCL's. `calls`: the group's, of all communicators. */
bool tap_do_aside(tap_call_t *call, const tap_call_t *calls, int count, int *result);
/* Once NCCL has enqueued its part: later work in the streams of its communicator's calls follows the call. */
void tap_join(const tap_call_t *call, const tap_call_t *calls, int count);
/* The communicator's calls follow each other in their order, whatever their streams. */
void tap_follow(tap_comm_t *comm, void *stream, uint64_t capture);
void tap_note(tap_comm_t *comm, void *stream, uint64_t capture);
/* Begin `*stream`, which is made where it is NULL, behind the streams of all calls of the communicator: NCCL,
 * too, begins none of a group before what the streams of all hold. */
pto_status_t tap_begin_aside(void **stream, const void *comm, const tap_call_t *calls, int count,
                             pto_error_t *err);
/* A call that NCCL runs: what comes before, and, once it is enqueued, after. */
void tap_before_pass(const tap_call_t *call);
void tap_after_pass(const tap_call_t *call);

/* --- report.c ------------------------------------------------------------------------------------------- */

/* Whether there is a report. The first call opens it, of a process whose launcher does not say its rank by
 * that in the communicator. */
bool tap_reports(const tap_comm_t *comm);
/* A call of a known communicator, whose lock is held: taken, or NCCL's. `pick` may be NULL. */
void tap_report(tap_comm_t *comm, const tap_call_t *call, const tap_pick_t *pick, bool taken, double began_s);
/* A call that was passed on, which is counted in any case. */
void tap_report_passed(const tap_call_t *call, double began_s);

#endif
