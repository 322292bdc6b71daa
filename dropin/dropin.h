/* The parts of the drop-in, a library under an unchanged MPI program: it takes collectives on GPU buffers,
 * and on host buffers where that pays, and runs the cheapest plan in their place (docs/acting.md,
 * docs/decisions/0024 and 0047). Whatever is not certainly safe goes on to MPI untouched.
 *
 * A call goes through these steps:
 *   intercept.c  wraps MPI's functions
 *   call.c       what this process can tell of the call by itself
 *   comm.c       the communicator: its nodes and GPUs, its plans
 *   foreign.c    GPUs whose memory looks like the host's
 *   host.c       whether a call on host buffers is worth taking
 *   agree.c      whether all processes of the communicator can take the call
 *   route.c      the pick, its plan and its executor, made once and kept
 *   trial.c      whether the pick is no slower than MPI
 *   take.c       the steps in order, and the run
 *   report.c     what was done with each call */
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

/* --- settings.c: the environment ------------------------------------------------------------------------ */

typedef struct {
    bool on;              /* from MPI_Init to MPI_Finalize, on all processes alike */
    bool any_gpu;         /* some process has one */
    bool takes_host;      /* calls on host buffers are priced (host.c) */
    bool waits_for_calls; /* communicators are looked at when they have had some */
    bool has_foreign;     /* but for a runtime of other GPUs in some process */
    bool assumes_gpu;     /* PORTOLAN_ASSUME=device: the user's promise about all buffers */
    bool assumes_host;    /* PORTOLAN_ASSUME=host: the same */
    bool by_threads;      /* several threads of some process may call collectives: each process acts alone */
    bool threads_are_serial;
    int emulated_gpus; /* of a node on the device host; 0: each process has its own */
    bool by_messages;  /* PORTOLAN_AGREE=messages: for tests, agree as between nodes */
    bool misprices;    /* PORTOLAN_MISPRICE: for tests, the rank of a process that prices wrongly */
    bool explains;     /* PORTOLAN_EXPLAIN: a summary at MPI_Finalize */
    int plans_max;     /* PORTOLAN_PLANS: that a communicator keeps */
    int trials;        /* PORTOLAN_TRIALS: timed calls of a kind by its plan, and as many by MPI */
    int64_t repeats;   /* PORTOLAN_REPEATS: calls of a kind before its plan is made, on host buffers; -1: as
                          many as   it takes to pay */
    int64_t bytes_max; /* PORTOLAN_MEMORY: of their buffers, in one process */
    int rank;          /* in MPI_COMM_WORLD */
    int size;
    int *node_of;                    /* by that rank: the lowest rank on its node */
    const pto_device_t *device;      /* of GPU buffers */
    const pto_device_t *host_device; /* of host buffers */
    pto_machine_t *machine;
    const char *strategy; /* PORTOLAN_STRATEGY: the only one to be used; NULL: the cheapest */
    double began_s;
} drop_settings_t;

extern drop_settings_t drop;

/* Collective over MPI_COMM_WORLD: read the environment and agree on whether to be on. */
void drop_begin(void);

/* Print a line to standard error, once for the job. */
void drop_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

typedef struct drop_comm drop_comm_t;

/* --- call.c: one call ----------------------------------------------------------------------------------- */

/* One side of an alltoallv, or the output of an allgatherv: counts and displacements are `int`, or MPI_Count
 * and MPI_Aint (`_c`). A reduce_scatter has counts without displacements. */
typedef struct {
    const void *counts;
    const void *places;
    bool large;
} drop_rows_t;

typedef struct {
    pto_collective_t collective;
    const char *routine;
    MPI_Comm comm;
    const void *in;
    void *out;
    MPI_Count in_count; /* of a vector, or of each block */
    MPI_Count out_count;
    MPI_Datatype in_type;
    MPI_Datatype out_type;
    MPI_Op op; /* MPI_OP_NULL: does not reduce */
    int root;  /* -1: none */
    drop_rows_t in_rows;
    drop_rows_t out_rows;
    const char *why_not_host; /* as all processes know it before they look at their buffers; NULL: a call on
                                 host buffers is worth taking */
} drop_call_t;

/* The key of a plan, the same on all processes of a call that is taken. */
typedef struct {
    pto_collective_t collective;
    pto_datatype_t datatype;
    pto_op_t op;
    int root;
    bool in_host;    /* all buffers of this process are in host memory, else in a GPU's */
    int64_t bytes;   /* as in a scenario; of an alltoallv or allgatherv 0 */
    bool in_place;   /* of an allreduce: on all processes */
    uint64_t counts; /* of an alltoallv: a digest of this process's counts, which may differ from others'; of
                        an allgatherv: of all counts; else 0 */
} drop_cell_t;

static inline bool drop_has_root(pto_collective_t collective) {
    return pto_collective_is_from_root(collective) || pto_collective_is_to_root(collective);
}
/* Returns whether this process can take the call: buffers in one kind of memory, plain datatypes, a known
 * operation. `*why` says why not. */
bool drop_call_cell(const drop_comm_t *comm, const drop_call_t *call, drop_cell_t *cell, const char **why);
/* Returns the size of the call among `size` processes as each of them knows it, whatever its datatype; -1:
 * not known. */
int64_t drop_call_bytes(const drop_call_t *call, int size);
/* Returns whether a side has counts and displacements. */
static inline bool drop_has_rows(const drop_rows_t *rows) { return rows->counts && rows->places; }
/* The rows of one side of a call: the elements to or from a peer, those of all `size` peers, the bytes of a
 * peer, and the place of its first byte. */
int64_t drop_row_count(const drop_rows_t *rows, int peer);
int64_t drop_rows_count(const drop_rows_t *rows, int size);
int64_t drop_row_bytes(const drop_rows_t *rows, MPI_Datatype type, int peer);
int64_t drop_row_place(const drop_rows_t *rows, MPI_Datatype type, int peer);
/* Returns whether a side's blocks lie one after the other, as an executor has them. */
bool drop_call_packed(const drop_call_t *call, int side, int size);

/* --- agree.c: all processes or none --------------------------------------------------------------------- */

typedef struct drop_board drop_board_t;

/* Collective. NULL where the processes are not all on one node, or where it cannot be made. */
pto_status_t drop_board_create(MPI_Comm comm, drop_board_t **board, pto_error_t *err);
void drop_board_destroy(drop_board_t *board);

/* One process's vote on a call: a digest of its cell, 0 if it cannot take the call, and the number of the
 * plan that it has for it, 0 if none. */
typedef struct {
    uint64_t cell;
    uint64_t plan;
} drop_offer_t;

/* Every process of the communicator calls one of these in each call, in the same order. drop_board_decline
 * does not wait for others. Both return whether all can take the call; `*have_plan`: all named the same plan.
 */
bool drop_board_offer(drop_board_t *board, MPI_Comm comm, drop_offer_t offer, bool *have_plan);
void drop_board_decline(drop_board_t *board, MPI_Comm comm);
bool drop_messages_offer(MPI_Comm comm, drop_offer_t offer, bool *have_plan);

/* --- layouts -------------------------------------------------------------------------------------------- */

/* How the processes use GPUs; for buffers in host memory, each process is a GPU of its own. */
typedef struct {
    bool found;
    const char *why; /* the model has no such layout; NULL: it has */
    int64_t nodes;
    int64_t gpus_per_node;
    int64_t procs_per_gpu;
    int *place;    /* by rank: its number in the layout */
    int *rank_at;  /* by place */
    bool in_order; /* both are the same */
} drop_layout_t;

/* --- route.c: what is done with a cell ------------------------------------------------------------------ */

typedef enum { DROP_BY_MPI, DROP_STAGED, DROP_BY_PLAN } drop_way_t;

/* The first calls of a route that moves data, of which the plan runs the first half and MPI the rest. */
typedef struct {
    int calls;         /* so far */
    double began_s;    /* the one under way */
    double least_s[2]; /* in this process: by the plan, by MPI */
} drop_trial_t;

typedef struct drop_route drop_route_t;
struct drop_route {
    drop_route_t *next;
    uint64_t number; /* from 1 on, the same on all processes */
    drop_cell_t cell;
    drop_way_t way;
    const char *name;   /* the strategy, or "mpi" */
    double predicted_s; /* by this way; 0: unknown */
    double library_s;   /* by the MPI library itself on the program's buffers; 0: unknown */
    drop_trial_t trial;
    uint64_t used;      /* the communicator's call that used it last */
    int64_t held_bytes; /* of buffers, on the process that holds most */
    pto_scenario_t scenario;
    pto_plan_t *plan;
    pto_exec_t *exec;
    void *own[2]; /* input and output of the executor, or host memory to stage in; a broadcast's root and
                     an allreduce in place have one for both */
    int64_t own_bytes[2];
    bool direct[2];   /* the executor can use the program's buffer itself: no other process accesses it */
    bool permuted[2]; /* the executor's blocks are in the order of places, the program's in that of ranks */
    const pto_device_t *device;
    void *stream;
    void *context; /* in which all of this was made, and ends; NULL: none */
};

/* Collective. Creates the route of the cheapest way that works; DROP_BY_MPI, if no other does. NULL: out of
 * memory, on all processes. */
drop_route_t *drop_route_create(drop_comm_t *comm, const drop_call_t *call, const drop_cell_t *cell);
/* Creates a route without the other processes, as this process may be alone in the call: MPI with copies
 * through host memory, if that is cheaper, otherwise DROP_BY_MPI. */
drop_route_t *drop_route_create_alone(const drop_comm_t *comm, const drop_cell_t *cell);
/* Fills an initialized scenario, whose counts are set, with the cell. The caller frees it in any case. */
pto_status_t drop_fill_scenario(const drop_layout_t *layout, const drop_cell_t *cell,
                                pto_scenario_t *scenario, pto_error_t *err);
/* Collective. Leaves the route's calls to MPI from now on. */
void drop_route_leave(drop_route_t *route);
/* Collective. */
void drop_route_destroy(drop_route_t *route);

/* --- trial.c: the plan or MPI --------------------------------------------------------------------------- */

typedef enum { DROP_NO_TRIAL, DROP_TURN_PLAN, DROP_TURN_MPI } drop_turn_t;

bool drop_trial_is_on(const drop_route_t *route);
/* Collective, in a call of a route that is on trial. Waits for all processes, and returns whose turn it is.
 */
drop_turn_t drop_trial_begin(const drop_comm_t *comm, drop_route_t *route);
/* Collective, at the end of that call. After the last one the slower way is given up. */
void drop_trial_end(const drop_comm_t *comm, drop_route_t *route);

/* --- comm.c: communicators ------------------------------------------------------------------------------ */

typedef struct drop_host drop_host_t;

typedef enum { DROP_KIND_HOST = 1, DROP_KIND_GPU = 2, DROP_KIND_ANY = 3 } drop_kind_t;

enum { DROP_COUNTS_KEPT = 64 };

struct drop_comm {
    MPI_Comm comm;
    int rank;
    int size;
    uint64_t id;     /* a digest of its processes */
    const char *why; /* it is left to MPI; NULL: it is not */
    uint64_t calls;
    unsigned kinds;      /* bits of drop_kind_t: memory that some process may pass */
    bool on_one_node;    /* they agree by a board */
    drop_board_t *board; /* NULL: on several nodes, or no call has needed it */
    int *node;           /* by rank: lowest rank in MPI_COMM_WORLD of its node */
    uint64_t gpu;        /* this process's */
    drop_layout_t gpus;
    drop_layout_t host;
    bool is_open;                           /* it has `comms` */
    pto_comms_t comms;                      /* of all executors */
    drop_host_t *hosted;                    /* about host buffers; NULL: they are left to MPI */
    uint64_t counts_seen[DROP_COUNTS_KEPT]; /* digests of this process's counts */
    unsigned counts_next;
    uint64_t routes_made;
    drop_route_t *routes;
};

/* Collective the first time, unless processes act alone. NULL: left to MPI. */
drop_comm_t *drop_comm_of(MPI_Comm handle);
/* Collective. Makes the board, on one node. False: it cannot be made, and the communicator is left to MPI. */
bool drop_comm_needs_board(drop_comm_t *comm);
/* Collective. Finds out how the processes share GPUs; `gpu` is that of this process. */
void drop_comm_find_gpus(drop_comm_t *comm, uint64_t gpu);
/* Not collective. Guesses that the processes of a node share its GPUs evenly; the machine file has their
 * number. False: out of memory. */
bool drop_comm_guess_gpus(drop_comm_t *comm, uint64_t gpu);
/* Not collective. Finds the layout for buffers in host memory. False: out of memory. */
bool drop_comm_find_host(drop_comm_t *comm);
static inline const drop_layout_t *drop_layout_for(const drop_comm_t *comm, const drop_cell_t *cell) {
    return cell->in_host ? &comm->host : &comm->gpus;
}
/* Collective. Makes `comms`, once. PTO_ERR_NOT_APPLICABLE, on all processes: too many communicators have
 * them. */
pto_status_t drop_comm_open(drop_comm_t *comm, pto_error_t *err);
/* Returns how many blocks, from `place` on, one copy can move between the order of ranks and that of places:
 * those at equal distances in both orders. Sets `*apart` to their distance in ranks. */
int drop_layout_run(const drop_layout_t *layout, int size, int place, int *apart);
/* Fills `table` with the logical rank of each process, for an executor. The root is the first one. */
void drop_comm_table(const drop_comm_t *comm, const drop_layout_t *layout, int root, int64_t *table);
bool drop_comms_begin(void);

/* --- host.c: host buffers ------------------------------------------------------------------------------- */

/* Returns whether this job prices calls on host buffers: the environment allows it, and the machine file says
 * which algorithms the MPI library uses for them. */
bool drop_host_begin(void);

/* Not collective. Prepares a communicator for host buffers. False: out of memory. */
bool drop_host_attach(drop_comm_t *comm);
void drop_host_detach(drop_comm_t *comm);

/* Collective: why calls like this one on host buffers are left to MPI, whatever the processes pass; NULL:
 * they are worth taking. All sizes between two powers of two are judged alike, by process 0. MPI has the
 * first calls of the same bytes and root, until a plan is likely to pay. */
const char *drop_host_why_not(drop_comm_t *comm, const drop_call_t *call);

/* Records whether all processes can take a call, on which they have voted by messages. If not, the next calls
 * of its kind are left to MPI: few at first, then more. */
void drop_host_note_agreement(const drop_comm_t *comm, const drop_call_t *call, bool agreed);
/* Returns whether one more plan may be made. If not, all calls of the kind are left to MPI. */
bool drop_host_may_plan(const drop_comm_t *comm, const drop_call_t *call);
/* Leaves all calls of the kind to MPI, as a plan does not pay at this exact size. */
void drop_host_leave(const drop_comm_t *comm, const drop_call_t *call);

/* Returns whether portolan's cheapest algorithm, at the end of its interval and with the agreement, is faster
 * than the library's at the beginning of its own. The predictions are explained ones of one size. */
bool drop_host_gains(const drop_comm_t *comm, const pto_predictions_t *predictions);

/* --- foreign.c: other GPUs ------------------------------------------------------------------------------ */

/* Returns the library of AMD's or Intel's GPUs that this process has loaded; NULL: none. */
const char *drop_foreign_runtime(void);

/* --- gpu.c: the context of a GPU's memory --------------------------------------------------------------- */

/* Make the memory's context the current one, until drop_gpu_leave; `*gpu` identifies the GPU on its node. */
bool drop_gpu_enter(const void *memory, uint64_t *gpu);
void drop_gpu_leave(void);
/* The current context; NULL: none, or the device is the host. */
void *drop_gpu_context(void);
/* Make it the current one, until drop_gpu_leave. False: there is none. */
bool drop_gpu_enter_again(void *context);

/* --- take.c --------------------------------------------------------------------------------------------- */

typedef struct {
    drop_call_t given;
    drop_call_t call; /* with the buffers that MPI is to use */
    drop_comm_t *comm;
    drop_route_t *route;
    const char *why; /* there is no route */
    drop_turn_t turn;
    bool done; /* MPI need not be called; `code` is the result */
    int code;
    double began_s;
} drop_taken_t;

/* Take the call `given`, or leave it to MPI. */
void drop_take(drop_taken_t *taken);
/* After MPI's function, or in its place. Returns the code for the program. */
int drop_finish(drop_taken_t *taken, int code);

/* --- report.c ------------------------------------------------------------------------------------------- */

void drop_report_begin(void);
void drop_report(const drop_taken_t *taken, double ended_s);
/* At MPI_Finalize. */
void drop_report_end(void);
extern bool drop_reports;

#endif
