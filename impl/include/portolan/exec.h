/* Executor: runs a plan on a device, and on MPI if the plan sends messages. It prints nothing and never ends
 * the job, unless the caller asks for PTO_TIMEOUT_ABORT.
 *
 * The processes find each other through a team. This part of the library links no MPI: it runs plans of
 * kernels, copies, flags and NCCL's calls. Plans with messages or MPI's collectives need a team from
 * exec_mpi.h.
 *
 * pto_exec_create_in resolves the plan once into a flat schedule for the calling process: it binds the
 * buffers, creates the persistent requests and datatypes, and opens the memory of other processes. Runs
 * allocate nothing.
 *
 * Functions marked collective must be called by every process of the team. If one fails, it fails on
 * all processes. A failure inside a run is local: the other processes notice it when their time-out expires.
 *
 * Errors: PTO_ERR_RANGE (the job does not fit the layout, or the processes passed different plans or
 * options), PTO_ERR_NOT_APPLICABLE with the reason, PTO_ERR_TOO_LARGE, PTO_ERR_MEMORY, PTO_ERR_TIMEOUT
 * (another process did not arrive in time), and PTO_ERR_IO with rank, stage and cause (a call of MPI, the
 * device or the system failed). */
#ifndef PORTOLAN_EXEC_H
#define PORTOLAN_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "portolan/api.h"
#include "portolan/plan.h"
#include "portolan/scenario.h"

PTO_API_BEGIN

/* A device is where `gpu` buffers are, with the operations on them: one table per backend, behind which
 * nothing in the executor depends on the backend. */

/* How a reduction combines two values. Integers wrap round. half and bfloat16 are combined in float and
 * rounded to nearest even when the result of a reduction of one or several sources is stored. */
typedef enum {
    PTO_OP_SUM,
    PTO_OP_PROD,
    PTO_OP_MIN,
    PTO_OP_MAX,
    PTO_OP_AVG,  /* the sum, divided at the end by the number of inputs; integers round toward zero */
    PTO_OP_LAND, /* logical: 0 or 1 */
    PTO_OP_LOR,
    PTO_OP_LXOR,
    PTO_OP_BAND, /* bitwise */
    PTO_OP_BOR,
    PTO_OP_BXOR,
    PTO_OP_COUNT
} pto_op_t;

const char *pto_op_name(pto_op_t op);

/* Returns whether an operation can combine values of a datatype; if not, PTO_ERR_NOT_APPLICABLE and why. */
pto_status_t pto_op_takes(pto_op_t op, pto_datatype_t datatype, pto_error_t *err);

/* `rows` rows of `bytes` each, the next one `pitch` bytes after the last. */
typedef struct {
    void *target;
    const void *source;
    size_t bytes;
    size_t rows;
    size_t target_pitch_bytes;
    size_t source_pitch_bytes;
} pto_move_t;

enum { PTO_HANDLE_BYTES = 96 };

/* A handle by which another process of the node can open device memory: `byte` identifies the allocation,
 * always by the same bytes, and `offset_bytes` a place in it. */
typedef struct {
    unsigned char byte[PTO_HANDLE_BYTES];
    uint64_t offset_bytes;
} pto_memory_handle_t;

/* A device's interfaces for kernels (kernel.h), NCCL (nccl.h) and benchmarks (bench.h). */
typedef struct pto_kernels pto_kernels_t;
typedef struct pto_nccl pto_nccl_t;
typedef struct pto_device_bench pto_device_bench_t;

/* Functions return PTO_ERR_IO with the call and its cause if the device fails. */
typedef struct {
    const char *name;
    const char *summary;
    /* Selects a GPU of the node by its number, modulo their count. */
    pto_status_t (*select)(int64_t gpu, pto_error_t *err);
    bool (*mpi_reaches)(void); /* whether MPI takes pointers to this device's memory */
    pto_status_t (*allocate)(size_t bytes, void **memory, pto_error_t *err);
    pto_status_t (*release)(void *memory, pto_error_t *err);
    /* Host memory that the device copies from and to at full speed. */
    pto_status_t (*allocate_staging)(size_t bytes, void **memory, pto_error_t *err);
    pto_status_t (*release_staging)(void *memory, pto_error_t *err);
    /* Page-locks memory that the processes of a node share, in whole pages, so that the device copies as fast
     * as with staging memory. Each process pins its own mapping. NULL: not needed. */
    pto_status_t (*pin)(void *memory, size_t bytes, pto_error_t *err);
    pto_status_t (*unpin)(void *memory, pto_error_t *err);
    /* Operations queued in a stream are executed in order, and are complete when `finish` returns. */
    pto_status_t (*stream_create)(void **stream, pto_error_t *err);
    pto_status_t (*stream_destroy)(void *stream, pto_error_t *err);
    /* Queue a copy, or a reduction: target[i] = target[i] `op` source[i] for `count` elements. `op` is not an
     * average, and takes the datatype (pto_op_takes). */
    pto_status_t (*copy)(const pto_move_t *move, void *stream, pto_error_t *err);
    pto_status_t (*reduce)(void *target, const void *source, size_t count, pto_datatype_t datatype,
                           pto_op_t op, void *stream, pto_error_t *err);
    /* Queues a reduction of all sources, in order, into the target. `fresh`: without the target's value. */
    pto_status_t (*reduce_many)(void *target, bool fresh, const void *const *source, int source_count,
                                size_t count, pto_datatype_t datatype, pto_op_t op, void *stream,
                                pto_error_t *err);
    /* Queues target[i] = source[i] / divisor, the end of an average. The target may be the source. */
    pto_status_t (*divide)(void *target, const void *source, size_t count, pto_datatype_t datatype,
                           int64_t divisor, void *stream, pto_error_t *err);
    pto_status_t (*finish)(void *stream, pto_error_t *err);
    pto_status_t (*poll)(void *stream, bool *finished, pto_error_t *err); /* without waiting */
    /* An event marks the position in a stream at the last call of `event_record`. `event_poll` tells whether
     * everything before it is complete; so it is for an event that was never recorded. `event_follow`:
     * `stream`, but not the process, waits for the event. Destroy a stream's events before the stream. */
    pto_status_t (*event_create)(void **event, pto_error_t *err);
    pto_status_t (*event_destroy)(void *event, pto_error_t *err);
    pto_status_t (*event_record)(void *event, void *stream, pto_error_t *err);
    pto_status_t (*event_poll)(void *event, bool *finished, pto_error_t *err);
    pto_status_t (*event_follow)(void *event, void *stream, pto_error_t *err);
    /* `export_memory` takes any address inside an allocation; PTO_ERR_NOT_APPLICABLE if the memory is not the
     * device's. `open_memory` returns where that address is in this process; close it by `close_memory`. */
    pto_status_t (*export_memory)(const void *memory, pto_memory_handle_t *handle, pto_error_t *err);
    pto_status_t (*open_memory)(const pto_memory_handle_t *handle, void **memory, pto_error_t *err);
    pto_status_t (*close_memory)(void *memory, pto_error_t *err);
    const pto_kernels_t *kernels;    /* NULL: it runs none */
    const pto_nccl_t *nccl;          /* NULL: none */
    const pto_device_bench_t *bench; /* NULL: portolan-calibrate can't measure it */
} pto_device_t;

/* Finds one of the devices of this library. Errors: PTO_ERR_NOT_FOUND with the known names. */
pto_status_t pto_device_find(const char *name, const pto_device_t **device, pto_error_t *err);

/* Copies contiguous bytes from or to the device, and waits. */
pto_status_t pto_device_copy(const pto_device_t *device, void *target, const void *source, size_t bytes,
                             pto_error_t *err);

/* A team is the processes that create an executor together, with the functions by which they exchange data,
 * as a communicator has. After that, runs of plans of kernels do not use the team.
 *
 * The library creates teams on memory that the processes of a node share (below), and on MPI's communicators
 * (exec_mpi.h). A program with other means, such as a socket or a key-value store, fills in the table. */

typedef struct pto_team pto_team_t;
struct pto_team {
    int rank; /* of this process, from 0 */
    int size;
    void *context; /* the first argument of all functions */
    /* The processes that share memory with this one, in the order of their ranks; NULL: all of them. */
    const pto_team_t *node;
    int node_first; /* the lowest rank of these; 0 if all share memory */

    /* Collective: all processes call `allgather` and `enter` in the same order. */
    /* MPI_Allgather: `bytes` of each process, in the order of ranks, into `all`. */
    pto_status_t (*allgather)(void *context, const void *mine, size_t bytes, void *all, pto_error_t *err);
    /* MPI_Ibarrier: begins a barrier and returns at once. */
    pto_status_t (*enter)(void *context, pto_error_t *err);
    /* Sets whether all processes have entered the barrier. Does not block. */
    pto_status_t (*entered)(void *context, bool *all, pto_error_t *err);

    /* All that follow may be NULL. */
    /* Collective: MPI_Allreduce in place by MPI_MIN, and MPI_Bcast. NULL: by `allgather`. */
    pto_status_t (*least)(void *context, int64_t *numbers, int count, pto_error_t *err);
    pto_status_t (*broadcast)(void *context, void *data, size_t bytes, int root, pto_error_t *err);
    /* For teams with symmetric memory: all processes allocate their device's memory in the same way, zero at
     * first, and can address that of others, so they exchange no handles. Returns where, in this process, the
     * memory of `rank` is that corresponds to this process's `memory`. */
    void *(*reach)(void *context, int rank, const void *memory);
    /* Called now and then while this process waits for others. */
    pto_status_t (*rest)(void *context, pto_error_t *err);
    /* A run has failed, and other processes may still use the team: it must not be freed. */
    void (*abandon)(void *context);
    /* Ends the processes (PTO_TIMEOUT_ABORT). NULL: abort(). */
    void (*end)(void *context);
    /* The functions for messages; set by the library's own teams of MPI. */
    const struct pto_mpi_part *mpi;
};

/* A team of processes of one node, on memory that they share and that is zero at first, such as an anonymous
 * shared mapping made before fork(). The memory is borrowed until pto_team_shared_destroy, and serves one
 * team. `timeout_s`: how long a process waits for the others in a collective function, which then fails with
 * PTO_ERR_TIMEOUT; negative: without limit. */
size_t pto_team_shared_bytes(int size);
pto_status_t pto_team_shared_create(void *memory, int rank, int size, double timeout_s, pto_team_t **team,
                                    pto_error_t *err);
void pto_team_shared_destroy(pto_team_t *team); /* NULL is legal */

typedef struct pto_exec pto_exec_t;

/* How the processes of the team, by rank in it, map to the plan's logical ranks. */
typedef enum {
    PTO_PLACEMENT_NODES,    /* process i of real node j is process i of the plan's node j */
    PTO_PLACEMENT_IDENTITY, /* logical rank = rank in the team, whatever the real nodes */
    PTO_PLACEMENT_TABLE,
    PTO_PLACEMENT_COUNT
} pto_placement_t;

/* The end of a run that exceeds the time-out.
 *
 * PTO_TIMEOUT_RETURN: pto_exec_wait and pto_exec_run return PTO_ERR_TIMEOUT with the rank, the stage and what
 * the process was waiting for. Messages, kernels and other processes may still use the buffers afterwards. So
 * the executor refuses later runs, pto_exec_destroy leaves its memory and communicators allocated until the
 * process ends, and the caller must not free `in` and `out` either. pto_exec_destroy does the same if other
 * processes have not called it within the time-out. A call that blocks inside MPI or NCCL cannot be
 * interrupted: the MPI library's own collectives (unless `own_algorithms`), pto_exec_create, pto_register and
 * pto_unregister, pto_exec_rebind where it exchanges handles, and the end of NCCL's communicators.
 *
 * PTO_TIMEOUT_ABORT: a thread watches create, runs and destroy, wherever they block. It writes what the
 * process was waiting for to standard error and ends the job by the team's `end` (MPI_Abort); an alarm ends
 * the process if that does not return. */
typedef enum { PTO_TIMEOUT_RETURN, PTO_TIMEOUT_ABORT, PTO_TIMEOUT_COUNT } pto_timeout_t;

/* How a process waits for messages, flags, its stream and its kernels.
 *
 * PTO_WAIT_YIELD: it yields its core to other processes. Where nothing limits the wait, MPI and the device
 * wait in their own way.
 *
 * PTO_WAIT_SPIN: like PTO_WAIT_YIELD, but it keeps its core.
 *
 * PTO_WAIT_SLEEP: after a first few looks it sleeps, at first for 10 us, then for twice as long each time, up
 * to 1 ms. A long wait then takes little CPU time, but may end up to 1 ms late. Calls that block inside MPI
 * or NCCL still poll: the MPI library's own collectives (unless `own_algorithms`), the first run by NCCL,
 * pto_exec_create and pto_exec_destroy. */
typedef enum { PTO_WAIT_YIELD, PTO_WAIT_SPIN, PTO_WAIT_SLEEP, PTO_WAIT_COUNT } pto_wait_t;

/* All zero: the defaults. All fields but `wait`, the seed and the buffers must be equal on all processes. */
typedef struct {
    pto_placement_t placement;
    const int64_t *table; /* PTO_PLACEMENT_TABLE: logical rank by rank in the team */
    bool own_algorithms;  /* run the plan's own stages even where the plan asks for the MPI library's
                             collective */
    double timeout_s;     /* of a run, or of a wait for it; 0: 20 s; negative: no time-out */
    pto_timeout_t on_timeout;
    pto_wait_t wait;
    bool nccl_windows; /* for a plan that only calls NCCL: `in` and `out` are from `allocate` of the device's
                          NCCL table (nccl.h; pto_exec_open allocates them so). Those that all members have in
                          the same size become NCCL's symmetric windows, until pto_exec_destroy. No run copies
                          them. PTO_ERR_NOT_APPLICABLE: NCCL before 2.27, or no buffer can be a window */
    const void *host_in; /* the user's buffers of a second pattern, in host memory (PTO_ROLE_HOST_IN, _OUT) */
    void *host_out;
    double delay_max_s; /* for tests: upper bound of a random delay before each step */
    uint64_t delay_seed;
    int64_t slice_bytes; /* for tests: a kernel's data per thread block and slice; 0: the device's choice */
} pto_exec_options_t;

/* Collective. Yields the calling process's logical rank. `options` may be NULL. */
pto_status_t pto_exec_place_in(const pto_layout_t *layout, const pto_team_t *team,
                               const pto_exec_options_t *options, int64_t *logical_rank, pto_error_t *err);

/* Size of the user's input or output buffer on a logical rank; 0 if the rank has none. */
int64_t pto_exec_user_bytes(const pto_plan_t *plan, int64_t logical_rank, pto_role_t role);

/* Allocates memory for the user's buffers of this role: the device's, or pinned host memory if the plan has
 * them on the host. 0 bytes yield NULL; releasing NULL is legal. Errors: the device's. */
pto_status_t pto_exec_user_allocate(const pto_plan_t *plan, const pto_device_t *device, pto_role_t role,
                                    int64_t bytes, void **memory, pto_error_t *err);
void pto_exec_user_release(const pto_plan_t *plan, const pto_device_t *device, pto_role_t role, void *memory);

/* Collective. `plan`, `team`, `device`, `in` and `out` are borrowed until pto_exec_destroy returns. Processes
 * without user data (helpers) pass NULL buffers. `in == out` means in place. Elements have the plan's
 * datatype, and `op` is the operation of the plan's reductions; the size of a reduction must be a whole
 * number of elements.
 *
 * The buffers should be the device's own memory. Other memory is accepted, but if other processes or
 * NCCL must access it, every run copies it to or from device memory; so does alltoall(v) in place. */
pto_status_t pto_exec_create_in(const pto_plan_t *plan, const pto_team_t *team, const pto_device_t *device,
                                const void *in, void *out, pto_op_t op, const pto_exec_options_t *options,
                                pto_exec_t **exec, pto_error_t *err);

/* Collective. Like pto_exec_create_in, but also finds the device by name, selects this process's GPU and
 * allocates the user buffers there, those of a second pattern in host memory. pto_exec_destroy frees them. */
pto_status_t pto_exec_open_in(const pto_plan_t *plan, const pto_team_t *team, const char *device, pto_op_t op,
                              const pto_exec_options_t *options, pto_exec_t **exec, pto_error_t *err);

/* The user's buffers on the device; NULL if this process has none. pto_exec_put copies `host` into the input
 * buffer that pto_exec_open allocated, pto_exec_get copies the output buffer to `host`. Both copy the whole
 * buffer, and do nothing if there is none. No run may be active. */
const void *pto_exec_in(const pto_exec_t *exec);
void *pto_exec_out(const pto_exec_t *exec);
/* Return the buffers of a second pattern, in host memory. The caller may access them between runs. */
void *pto_exec_host_in(const pto_exec_t *exec);
void *pto_exec_host_out(const pto_exec_t *exec);
pto_status_t pto_exec_put(pto_exec_t *exec, const void *host, pto_error_t *err);
pto_status_t pto_exec_get(const pto_exec_t *exec, void *host, pto_error_t *err);

/* Start a run and advance it as far as possible without blocking. At most one run may be active. */
pto_status_t pto_exec_start(pto_exec_t *exec, pto_error_t *err);
/* Advance the run without blocking; `*finished` tells whether it has completed. The MPI library's own
 * collectives block, so they make progress only in pto_exec_wait. */
pto_status_t pto_exec_test(pto_exec_t *exec, bool *finished, pto_error_t *err);
/* Complete the run, or all queued ones. Errors: PTO_ERR_TIMEOUT after the options' `timeout_s`. */
pto_status_t pto_exec_wait(pto_exec_t *exec, pto_error_t *err);
/* pto_exec_start and pto_exec_wait in one call. */
pto_status_t pto_exec_run(pto_exec_t *exec, pto_error_t *err);

/* Enqueue another run behind those in flight and return at once. pto_exec_wait waits for all of them, and
 * pto_exec_test tests all of them. Queued runs cannot be mixed with an active run that pto_exec_start began.
 * All processes must queue the same number of runs before they wait. Each run reads what the buffers contain
 * when it begins, and the caller must not touch them before all runs have completed.
 *
 * Errors: PTO_ERR_NOT_APPLICABLE, on all processes and before anything starts, if a run is more than one
 * kernel per GPU or one NCCL call, or if the user's buffers must be copied before or after each run. */
pto_status_t pto_exec_queue(pto_exec_t *exec, pto_error_t *err);

/* Enqueue a run in a stream of the caller's (on `cuda`, a cudaStream_t of the selected GPU; on `host`, a
 * stream of the device) and return at once. The run is ordered in the stream like any other work. All
 * processes enqueue the same runs in the same order.
 *
 * A stream that is captured into a CUDA graph is legal, and a graph may hold any number of runs and be
 * launched any number of times: the GPU counts the runs. Such a graph uses the executor's memory, and its
 * buffers at the time of the capture.
 *
 * Runs of one executor must not overlap. Those in one stream follow one another. The caller orders runs in
 * different streams by events, calls pto_exec_follow before pto_exec_start, _run or _queue, and pto_exec_wait
 * before it enqueues again. Before pto_exec_destroy, all enqueued runs must be complete, and graphs that hold
 * some be destroyed: NCCL waits for that.
 *
 * Runs of several executors may be concurrent, in streams of their own, only if all their thread blocks fit
 * on the GPU at once; otherwise all processes need the same order, as in a single stream.
 *
 * An enqueued run is complete when the stream says so; pto_exec_wait and pto_exec_test do not include it. A
 * kernel that waits for other GPUs for longer than the options' `timeout_s` gives up: it and all later runs
 * end without right results, and the next call for this executor, or the end of a run that follows in it,
 * returns PTO_ERR_TIMEOUT (with PTO_TIMEOUT_ABORT, the watchdog ends the job). It no longer stores or
 * signals, so other processes that need its results give up as well; only copies by the engine between two
 * kernels (copy_engine) still reach the outputs of others. NCCL's calls have no time-out. Errors:
 * PTO_ERR_NOT_APPLICABLE, on all processes and before anything starts, unless pto_exec_is_stream_ordered. */
pto_status_t pto_exec_enqueue(pto_exec_t *exec, void *stream, pto_error_t *err);
/* Returns whether the device executes whole runs on all processes, so that they can be enqueued: plans of
 * kernels, calls of NCCL and copies, with copies of the user's buffers, if necessary. */
bool pto_exec_is_stream_ordered(const pto_exec_t *exec);

/* Make enqueued runs that wait for other processes give up, unless the options' `timeout_s` is negative: they
 * and all later ones end with wrong results. Any thread may call it while the executor exists. */
void pto_exec_stop(pto_exec_t *exec);

/* Make the next run wait for the work that is now queued in `stream`, one of the device's: the caller need
 * not wait for a kernel that computes the input. No run may be active. */
pto_status_t pto_exec_follow(pto_exec_t *exec, void *stream, pto_error_t *err);

/* Collective. Later runs use other buffers, of the same sizes; as in pto_exec_create, they are borrowed. An
 * executor in place stays in place. Runs enqueued before, and graphs that captured them, keep the earlier
 * buffers. Returns as soon as all processes have called it, and exchanges one short message. If an
 * allocation is used for the first time and other processes access it, they open it and agree on that. They
 * keep it open, so it must not be freed before pto_exec_destroy. pto_exec_put and _get keep to the buffers
 * of pto_exec_open.
 *
 * Errors, on all processes if others access any user's buffer, after which the earlier buffers stay:
 * PTO_ERR_RANGE (a run is active; in place and not; NULL), PTO_ERR_MEMORY, and PTO_ERR_NOT_APPLICABLE or the
 * device's error if other processes or NCCL need memory that the device did not allocate, unless each run
 * copied the earlier buffer for this reason. A device that fails once all processes know each other's buffers
 * is an error of its process alone, whose executor refuses all runs then. */
pto_status_t pto_exec_rebind(pto_exec_t *exec, const void *in, void *out, pto_error_t *err);
/* Returns whether only this process's own work uses its buffer of this role (PTO_ROLE_IN, PTO_ROLE_OUT):
 * copies and kernels of its GPU, and messages. The same on all processes whose buffers are device memory. */
bool pto_exec_user_is_private(const pto_exec_t *exec, pto_role_t role);
/* Change private buffers, and buffers in registered memory (pto_register), without the other processes: no
 * exchange. All processes that have a buffer of the role, or access another process's, call it alike and name
 * the same place: the same offset in the same registration. If their buffers have not been at the same place
 * so far (as after pto_exec_create), each of them changes its own, or pto_exec_rebind comes first. A private
 * buffer may be anywhere, and may be freed after the next rebinding, once all runs on it are complete. Other
 * buffers must stay. After an error, nothing has changed: PTO_ERR_RANGE with the reason or PTO_ERR_MEMORY. */
pto_status_t pto_exec_rebind_private(pto_exec_t *exec, const void *in, void *out, pto_error_t *err);
/* pto_exec_rebind_private and pto_exec_enqueue in one call, on private buffers or registered memory. */
pto_status_t pto_exec_enqueue_on(pto_exec_t *exec, const void *in, void *out, void *stream, pto_error_t *err);

/* Collective: all processes of the executor register an allocation, part of one, or a pool, each its own and
 * of any size. `*registration` is its number, the same on all processes. Those who may access each other's
 * user buffers open the allocations once. From then on, buffers in registered memory are known to all:
 * pto_exec_rebind_private and pto_exec_enqueue_on take them without the other processes, and pto_exec_rebind,
 * on one node, without MPI and at any places. A process that has no such buffers may pass NULL and 0. The
 * memory must stay allocated until pto_unregister or pto_exec_destroy has returned.
 *
 * Errors, on all processes, after which nothing is registered: PTO_ERR_RANGE (a run is active; no memory, or
 * memory that overlaps with a registration); PTO_ERR_NOT_APPLICABLE or the device's error, with the reason,
 * if it cannot export the memory: on `cuda`, memory of cudaMallocAsync, virtual memory management
 * (cuMemCreate) and host memory. */
pto_status_t pto_register(pto_exec_t *exec, void *memory, size_t bytes, int *registration, pto_error_t *err);
/* Collective: the opposite. No process accesses the memory after it has returned, once all runs that were
 * enqueued on it are complete. Graphs that captured runs on it must not be launched any more, on any process.
 * Errors, on all processes, after which it stays registered: PTO_ERR_RANGE (a run is active; processes name
 * different registrations, or one that does not exist; the buffers of a process are in it). */
pto_status_t pto_unregister(pto_exec_t *exec, int registration, pto_error_t *err);

/* Statistics of the choices in an either node (plan.h) so far, as known to member 0 of the node's group. */
typedef struct {
    int members;                              /* the number of members that take one of the two branches */
    int last;                                 /* how many of them took branch B in the last run */
    int64_t runs[PTO_POLICY_MEMBERS_MAX + 1]; /* by that number */
    int64_t timed;                            /* runs whose times a learning policy has used */
} pto_exec_choices_t;

/* Sets the choices of the plan's index-th either node. False: none, or not member 0. */
bool pto_exec_choices(const pto_exec_t *exec, int index, pto_exec_choices_t *choices);

/* Collective. NULL is legal. No run may be active. Before it frees memory that other processes may have open,
 * it waits for them, at most for the time-out: then the memory stays allocated until the process ends. */
void pto_exec_destroy(pto_exec_t *exec);

PTO_API_END

#endif
