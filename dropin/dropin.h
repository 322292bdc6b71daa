/* The parts of the drop-in: a library that is preloaded in front of MPI into an unchanged program. It takes
 * over collectives on GPU buffers, and on host buffers where that pays, and runs the cheapest of portolan's
 * plans instead of MPI's own collective (docs/acting.md, docs/decisions/0024 and 0047). Any call that it
 * cannot take over safely is passed on to MPI unchanged.
 *
 * A call goes through these files:
 *   intercept.c  wrappers of MPI's functions
 *   take.c       the steps below in order, and the run
 *   call.c       what this process can tell about the call without the others
 *   comm.c       the communicator: its nodes, its GPUs, its routes
 *   foreign.c    AMD's and Intel's GPUs, whose memory CUDA's driver takes for host memory
 *   host.c       whether a call on host buffers is worth taking over
 *   agree.c      the vote: all processes of the communicator take the call over, or none does
 *   route.c      the choice between MPI and a plan; the plan and its executor are created once and reused
 *   trial.c      timed calls that compare the plan with MPI
 *   report.c     a line for each call, and a summary */
#ifndef DROP_DROPIN_H
#define DROP_DROPIN_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "mpi_team.h"
#include "portolan/exec_mpi.h"
#include "portolan/pick.h"

typedef struct {
    bool on;                 /* from MPI_Init to MPI_Finalize; the same on all processes */
    bool any_gpu;            /* some process has a GPU */
    bool takes_host;         /* calls on host buffers may be taken over (host.c) */
    bool defers_examination; /* communicators are examined only after their first calls (comm.c) */
    bool has_other_gpus;     /* some process has loaded AMD's or Intel's runtime, so takes_host is off */
    bool assumes_gpu;        /* PORTOLAN_ASSUME=device: the user promises that all buffers are on GPUs */
    bool assumes_host;       /* PORTOLAN_ASSUME=host: the user promises that all are in host memory */
    bool multithreaded;      /* threads of some process may call collectives concurrently: no agreement */
    bool threads_are_serial; /* PORTOLAN_THREADS=serial: the user promises that they do not */
    int emulated_gpus;       /* GPUs of a node on the device host; 0: each process has its own */
    bool forces_messages;    /* PORTOLAN_AGREE=messages: for tests, vote as between nodes */
    bool misprices;          /* PORTOLAN_MISPRICE: for tests, this process computes wrong prices */
    bool prints_summary;     /* PORTOLAN_EXPLAIN: at MPI_Finalize */
    int plans_max;           /* PORTOLAN_PLANS: kept by a communicator */
    int trials;              /* PORTOLAN_TRIALS: timed calls of a kind by its plan, and as many by MPI */
    int64_t repeats;   /* PORTOLAN_REPEATS: calls by MPI before a plan on host buffers; -1: until it pays */
    int64_t bytes_max; /* PORTOLAN_MEMORY: of the buffers of a communicator's plans, in one process */
    int rank;          /* in MPI_COMM_WORLD */
    int size;
    int *node_of;                    /* by rank in MPI_COMM_WORLD: the lowest rank on its node */
    const pto_device_t *device;      /* of GPU buffers */
    const pto_device_t *host_device; /* of host buffers */
    pto_machine_t *machine;
    const char *strategy; /* PORTOLAN_STRATEGY: used whatever it costs; NULL: the cheapest */
    double began_s;
} drop_settings_t;

extern drop_settings_t drop;

/* Collective over MPI_COMM_WORLD: read the environment and agree on whether to be on. */
void drop_begin(void);

typedef struct drop_comm drop_comm_t;

/* Counts and displacements, by rank, of one side of an alltoallv or of an allgatherv's output: arrays of int,
 * or of MPI_Count and MPI_Aint (`large`). A reduce_scatter has counts without displacements. */
typedef struct {
    const void *count;
    const void *displ;
    bool large;
} drop_counts_t;

typedef struct {
    pto_collective_t collective;
    const char *routine;
    MPI_Comm comm;
    const void *in;
    void *out;
    MPI_Count in_count; /* of the whole vector or of each block */
    MPI_Count out_count;
    MPI_Datatype in_type;
    MPI_Datatype out_type;
    MPI_Op op; /* MPI_OP_NULL: not a reduction */
    int root;  /* -1: none */
    drop_counts_t in_counts;
    drop_counts_t out_counts;
    const char *why_not_host; /* why the call is left to MPI if its buffers are in host memory; the same on
                                 all processes. NULL: it is worth taking over */
} drop_call_t;

/* What calls that are executed in the same way have in common. A communicator keeps a route under each key.
 * It is equal on all processes of a call that is taken over, but for an alltoallv's `counts`. */
typedef struct {
    pto_collective_t collective;
    pto_datatype_t datatype;
    pto_op_t op;
    int root;
    bool in_host;    /* all buffers of this process are in host memory; false: in a GPU's */
    int64_t bytes;   /* as in a scenario; 0 for an alltoallv or allgatherv */
    bool in_place;   /* an allreduce is in place on all processes */
    uint64_t counts; /* a digest: of this process's counts in an alltoallv, of all counts in an allgatherv; 0
                        for other collectives */
} drop_key_t;

static inline bool drop_has_root(pto_collective_t collective) {
    return pto_collective_is_from_root(collective) || pto_collective_is_to_root(collective);
}
/* Returns whether this process can take the call over: its buffers are in one kind of memory, its datatypes
 * are basic ones, its operation is known. Otherwise `*why_not` is the reason. */
bool drop_call_key(const drop_comm_t *comm, const drop_call_t *call, drop_key_t *key, const char **why_not);
/* Returns the size of the call among `size` processes, which all of them know; -1: unknown. */
int64_t drop_call_bytes(const drop_call_t *call, int size);
static inline bool drop_has_displs(const drop_counts_t *counts) { return counts->count && counts->displ; }
/* The elements to or from a peer, and their sum over all `size` peers. */
int64_t drop_peer_count(const drop_counts_t *counts, int peer);
int64_t drop_total_count(const drop_counts_t *counts, int size);
/* The size of a peer's block, and its offset in the buffer, in bytes. */
int64_t drop_peer_bytes(const drop_counts_t *counts, MPI_Datatype type, int peer);
int64_t drop_peer_offset(const drop_counts_t *counts, MPI_Datatype type, int peer);
/* Returns whether the blocks of a side (0: input, 1: output) are contiguous, as an executor needs them. */
bool drop_call_packed(const drop_call_t *call, int side, int size);

/* The votes of a node's processes, in shared memory. */
typedef struct drop_board drop_board_t;

/* Collective among the processes of one node. */
pto_status_t drop_board_create(MPI_Comm comm, drop_board_t **board, pto_error_t *err);
void drop_board_destroy(drop_board_t *board);

/* One process's vote on a call: the digest of its key, 0 if it cannot take the call over; and the number of
 * the route that it has for the key, 0 if it has none. */
typedef struct {
    uint64_t key;
    uint64_t plan;
} drop_vote_t;

/* Every process of the communicator calls one of these in each call, in the same order. drop_board_decline
 * does not wait for the others. The other two return whether all can take the call over, and set `*have_plan`
 * to whether all named the same route. */
bool drop_board_vote(drop_board_t *board, MPI_Comm comm, drop_vote_t vote, bool *have_plan);
void drop_board_decline(drop_board_t *board, MPI_Comm comm);
bool drop_messages_vote(MPI_Comm comm, drop_vote_t vote, bool *have_plan);

/* How the processes of a communicator are spread over nodes and GPUs. For buffers in host memory, each
 * process counts as a GPU. A process's place is its number when they are sorted by node and GPU. */
typedef struct {
    bool found;
    const char *why_not; /* why the model has no such layout; NULL: it has */
    int64_t nodes;
    int64_t gpus_per_node;
    int64_t procs_per_gpu;
    int *place;    /* by rank */
    int *rank_at;  /* by place */
    bool in_order; /* ranks and places are the same */
} drop_layout_t;

/* MPI on the program's buffers, MPI on copies in host memory, or a plan. */
typedef enum { DROP_BY_MPI, DROP_STAGED, DROP_BY_PLAN } drop_method_t;

/* Progress of a route's trial: its first calls, half of them by the plan and then half by MPI. */
typedef struct {
    int calls;        /* so far */
    double began_s;   /* of the current call */
    double best_s[2]; /* shortest call in this process: by the plan, by MPI */
} drop_trial_t;

/* A route is how a communicator executes all calls of one key. */
typedef struct drop_route drop_route_t;
struct drop_route {
    drop_route_t *next;
    uint64_t number; /* from 1 on, the same on all processes */
    drop_key_t key;
    drop_method_t method;
    const char *name;   /* the strategy, or "mpi" */
    double predicted_s; /* of a call by this route; 0: unknown */
    double library_s;   /* of MPI's own collective on the program's buffers; 0: unknown */
    drop_trial_t trial;
    uint64_t used;           /* the communicator's call that used it last */
    int64_t footprint_bytes; /* of its buffers, on the process that has most */
    pto_scenario_t scenario;
    pto_plan_t *plan;
    pto_exec_t *exec;
    void *buffer[2]; /* the route's own input and output, for the executor or for MPI on copies. At the root
                        of a broadcast, and for an allreduce in place, both are one buffer */
    int64_t buffer_bytes[2];
    bool direct[2];   /* the executor can use the program's buffer: no other process accesses it */
    bool permuted[2]; /* the executor's blocks are in the order of places, the program's in that of ranks */
    const pto_device_t *device;
    void *stream;
    void *context; /* CUDA context in which all of this was created; NULL: none */
};

/* Collective. Creates the route of the cheapest strategy that works, or of MPI. NULL: out of memory. */
drop_route_t *drop_route_create(drop_comm_t *comm, const drop_call_t *call, const drop_key_t *key);
/* Creates a route without the other processes: DROP_STAGED if that is cheaper, otherwise DROP_BY_MPI. */
drop_route_t *drop_route_create_alone(const drop_comm_t *comm, const drop_key_t *key);
/* Fills an initialized scenario, whose counts are set, from the key. The caller frees it in any case. */
pto_status_t drop_fill_scenario(const drop_layout_t *layout, const drop_key_t *key, pto_scenario_t *scenario,
                                pto_error_t *err);
/* Collective. Leaves the route's calls to MPI from now on. */
void drop_route_leave(drop_route_t *route);
/* Collective. */
void drop_route_destroy(drop_route_t *route);

typedef enum { DROP_NO_TRIAL, DROP_TURN_PLAN, DROP_TURN_MPI } drop_turn_t;

bool drop_trial_is_on(const drop_route_t *route);
/* Collective, before a call of a route on trial. Waits for all processes; returns what executes the call. */
drop_turn_t drop_trial_begin(const drop_comm_t *comm, drop_route_t *route);
/* Collective, after that call. After the last one, the route is left to MPI if the plan was slower. */
void drop_trial_end(const drop_comm_t *comm, drop_route_t *route);

/* What host.c keeps for a communicator. */
typedef struct drop_host drop_host_t;

typedef enum { DROP_KIND_HOST = 1, DROP_KIND_GPU = 2, DROP_KIND_ANY = 3 } drop_kind_t;

enum { DROP_COUNTS_KEPT = 64 };

struct drop_comm {
    MPI_Comm comm;
    int rank;
    int size;
    uint64_t id;         /* a digest of its processes */
    const char *why_not; /* why all its calls are left to MPI; NULL: they are not */
    uint64_t calls;
    unsigned kinds;      /* bits of drop_kind_t: memory that some process may pass */
    bool on_one_node;    /* votes are cast on a board */
    drop_board_t *board; /* NULL: on several nodes, or no call has needed it yet */
    int *node;           /* by rank: lowest rank in MPI_COMM_WORLD of its node */
    uint64_t gpu;        /* this process's */
    drop_layout_t gpus;
    drop_layout_t host;
    pto_team_t *team;                       /* of all its executors; NULL: none yet */
    drop_host_t *host_state;                /* NULL: calls on host buffers are left to MPI */
    uint64_t counts_seen[DROP_COUNTS_KEPT]; /* digests of this process's counts: a ring */
    unsigned counts_next;                   /* number of digests so far */
    uint64_t routes_made;
    drop_route_t *routes;
};

/* Collective the first time, unless the program is multithreaded. NULL: left to MPI. */
drop_comm_t *drop_comm_of(MPI_Comm handle);
/* Collective. Creates the board, on one node. False: that failed, and the communicator is left to MPI. */
bool drop_comm_needs_board(drop_comm_t *comm);
/* Collective. Finds out how the processes share GPUs; `gpu` is that of this process. */
void drop_comm_find_gpus(drop_comm_t *comm, uint64_t gpu);
/* Not collective. Assumes that a node's processes share its GPUs evenly. False: out of memory. */
bool drop_comm_guess_gpus(drop_comm_t *comm, uint64_t gpu);
/* Not collective. Finds the layout for buffers in host memory. False: out of memory. */
bool drop_comm_find_host(drop_comm_t *comm);
static inline const drop_layout_t *drop_layout_for(const drop_comm_t *comm, const drop_key_t *key) {
    return key->in_host ? &comm->host : &comm->gpus;
}
/* Collective. Creates `team`, once. PTO_ERR_NOT_APPLICABLE on all processes: too many have been created. */
pto_status_t drop_comm_open(drop_comm_t *comm, pto_error_t *err);
/* Returns how many blocks, from `place` on, one strided copy can move between the order of ranks and that of
 * places. Sets `*rank_stride` to the distance of their ranks. */
int drop_layout_blocks(const drop_layout_t *layout, int size, int place, int *rank_stride);
/* Fills `table` with the logical rank of each process, for an executor. The root becomes logical rank 0. */
void drop_comm_table(const drop_comm_t *comm, const drop_layout_t *layout, int root, int64_t *table);
bool drop_comms_begin(void);

/* Returns whether this job prices calls on host buffers: the environment allows it, and the machine file says
 * which algorithms the MPI library uses for them. */
bool drop_host_begin(void);

/* Not collective. Prepares a communicator for host buffers. False: out of memory. */
bool drop_host_attach(drop_comm_t *comm);
void drop_host_detach(drop_comm_t *comm);

/* Collective. Returns why calls like this one on host buffers are left to MPI; NULL: they are worth taking
 * over. Process 0 decides once for all sizes between two powers of two. The first calls with the same bytes
 * and root are left to MPI until a plan is likely to pay. */
const char *drop_host_why_not(drop_comm_t *comm, const drop_call_t *call);

/* Records the result of a vote by messages. After a failed one, the next calls of the kind are left to MPI: a
 * number that doubles with each failure. */
void drop_host_note_agreement(const drop_comm_t *comm, const drop_call_t *call, bool agreed);
/* Returns whether another plan may be created. If not, all calls of the kind are left to MPI. */
bool drop_host_may_plan(const drop_comm_t *comm, const drop_call_t *call);
/* Leaves all calls of the kind to MPI, as no plan pays at this exact size. */
void drop_host_leave(const drop_comm_t *comm, const drop_call_t *call);

/* Returns whether the upper end of the interval of portolan's cheapest algorithm, plus the vote, is below the
 * lower end of MPI's. The predictions are explained ones of one size. */
bool drop_host_gains(const drop_comm_t *comm, const pto_predictions_t *predictions);

/* Returns the library of AMD's or Intel's GPUs that this process has loaded; NULL: none. */
const char *drop_foreign_runtime(void);

/* Make the memory's context the current one, until drop_gpu_leave; `*gpu` identifies the GPU on its node. */
bool drop_gpu_enter(const void *memory, uint64_t *gpu);
void drop_gpu_leave(void);
/* The current context; NULL: none, or the device is the host. */
void *drop_gpu_context(void);
/* Make this context the current one, until drop_gpu_leave. False: there is none. */
bool drop_gpu_enter_again(void *context);

/* An intercepted call while it is in progress. */
typedef struct {
    drop_call_t call;     /* as the program made it */
    drop_call_t mpi_call; /* the same with the buffers that MPI's function must use */
    drop_comm_t *comm;
    drop_route_t *route;
    const char *why_not; /* why there is no route */
    drop_turn_t turn;
    bool done; /* MPI's function need not be called; `code` is the result */
    int code;
    double began_s;
} drop_task_t;

/* Execute `task->call`, or prepare for MPI's function. */
void drop_take(drop_task_t *task);
/* After MPI's function, or in its place. Returns the code for the program. */
int drop_finish(drop_task_t *task, int code);

void drop_report_begin(void);
void drop_report(const drop_task_t *task, double ended_s);
/* At MPI_Finalize. */
void drop_report_end(void);
extern bool drop_reports;

#endif
