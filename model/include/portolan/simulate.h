/* simulate: the cost of a plan under contention, matching and overlap, by discrete-event simulation of all
 * ranks.
 *
 * It uses the same plan and parameters as price, but every rank passes through its stages independently and
 * competes for resources: its sending and its receiving side, one message at a time each; its node's
 * injection and ejection, shared fluidly by the messages in flight (max-rate, Gropp, Olson, Samfass 2016, one
 * message at a time); its GPU's copy engines; the links of its node, where the machine has a topology.
 * Messages are matched: a message is received only once its receive has been posted, and a rendezvous message
 * does not start before. docs/simulating.md gives the equations.
 *
 * If all ranks of a node act alike, the time is that of price; docs/simulating.md lists the exceptions.
 * Messages exist only while in flight, so memory grows with the number of ranks and of messages in flight. If
 * a plan is above the limit and all its nodes act alike, one of them is simulated and stands for all. */
#ifndef PORTOLAN_SIMULATE_H
#define PORTOLAN_SIMULATE_H

#include <stdbool.h>

#include "portolan/api.h"
#include "portolan/price.h"

PTO_API_BEGIN

/* name, name in files, short name in tables, owner (there is one for each) */
#define PTO_RESOURCE_TABLE(X)                                                                                \
    X(SEND, "send", "send", "rank")                                                                          \
    X(RECV, "receive", "receive", "rank")                                                                    \
    X(LOCAL, "local", "local", "rank")                                                                       \
    X(INJECTION, "injection", "inject", "node")                                                              \
    X(EJECTION, "ejection", "eject", "node")                                                                 \
    X(RATE, "message_rate", "rate", "node")                                                                  \
    X(ROUTES, "routes", "routes", "node")                                                                    \
    X(FABRIC, "fabric", "fabric", "machine")                                                                 \
    X(COPY_H2D, "copy_h2d", "h2d", "GPU")                                                                    \
    X(COPY_D2H, "copy_d2h", "d2h", "GPU")                                                                    \
    X(COPY_D2D, "copy_d2d", "d2d", "GPU")                                                                    \
    X(COPY_H2H, "copy_h2h", "h2h", "GPU")                                                                    \
    X(PEER_IN, "peer_in", "in", "GPU")                                                                       \
    X(PEER_OUT, "peer_out", "out", "GPU")

/* Copies are in the order of pto_copy_kind_t. A copy between two GPUs occupies the link of the GPU whose
 * memory is accessed by another. A rank's local work is its copies, reductions and waits. */
typedef enum {
#define PTO_RESOURCE_ENUM(name, text, short_text, owner) PTO_RESOURCE_##name,
    PTO_RESOURCE_TABLE(PTO_RESOURCE_ENUM)
#undef PTO_RESOURCE_ENUM
        PTO_RESOURCE_COUNT
} pto_resource_t;

const char *pto_resource_name(pto_resource_t resource);
const char *pto_resource_short_name(pto_resource_t resource);
const char *pto_resource_owner(pto_resource_t resource);

/* Use of all resources of one kind. Busy: a message, copy or reduction was in progress. Waiting means, for a
 * rank's sides, that its stage had work left but no message could move (the partner was not ready); for its
 * local work, waiting for flags; for injection, ejection, routes (the links within a node), fabric (those
 * between nodes) and copies, the average delay over the owner's ranks, compared with running alone. */
typedef struct {
    int64_t count; /* number of resources */
    double busy_s; /* total */
    double waiting_s;
    double most_busy_s; /* of the busiest one */
    int64_t busiest;    /* its rank, node or GPU; GPUs are numbered across nodes */
    double most_waiting_s;
    int64_t most_waiting;
} pto_resource_use_t;

typedef struct {
    double seconds; /* completion time of the last rank */
    int64_t ranks;
    int64_t slowest_rank;
    int64_t messages;
    int64_t events;
    int64_t most_in_flight; /* messages */
    pto_resource_use_t use[PTO_RESOURCE_COUNT];
} pto_simulation_t;

/* An interval: a message at one of its ends, a copy, a reduction, a wait, or the use of a shared resource. */
typedef struct {
    pto_resource_t resource;
    int64_t node;
    int64_t index;     /* rank, node or GPU */
    int lane;          /* of the rank */
    const char *name;  /* of the stage; NULL for shared resources */
    int64_t peer_rank; /* of a message; else -1 */
    int64_t bytes;
    double start_s;
    double end_s;
} pto_span_t;

typedef void (*pto_span_visit_t)(void *context, const pto_span_t *span);

/* Progress: the simulation of one plan begins, for cell number `cell` of `cells`. */
typedef struct {
    int64_t cell;
    int64_t cells;
    const char *strategy;
    const char *algorithm;
    int64_t messages;
} pto_simulate_progress_t;

typedef void (*pto_simulate_begin_t)(const pto_simulate_progress_t *progress);

enum { PTO_SIMULATE_LIMIT = 100000000 };

typedef struct {
    int64_t limit;          /* of all messages, and of all ranks times stages; 0: PTO_SIMULATE_LIMIT */
    pto_span_visit_t visit; /* called at the end of every span, in order of their ends; may be NULL */
    void *context;
    pto_simulate_begin_t begin; /* called by pto_simulate_scenario before each simulation; may be NULL */
} pto_simulate_options_t;

/* Simulate one plan. `options` may be NULL. Errors: PTO_ERR_NOT_APPLICABLE if the machine has no cost for an
 * operation of the plan; PTO_ERR_TOO_LARGE above the limit; PTO_ERR_INVALID_PLAN with rank and stage if
 * messages or signals of the plan do not match; PTO_ERR_MEMORY. */
pto_status_t pto_simulate(const pto_plan_t *plan, const pto_machine_t *machine,
                          const pto_simulate_options_t *options, pto_simulation_t *simulation,
                          pto_error_t *err);

/* A call that several communicators make at the same time. */
typedef struct {
    const pto_plan_t *plan; /* of one communicator */
    int64_t communicators;
    const int64_t *rank; /* the job's rank of each communicator's rank, one communicator after another; ranks
                            of a GPU are consecutive in both, and so are GPUs of a node */
    bool repeats;        /* repeats the call before it: a rank begins when it has ended that one */
} pto_simulate_call_t;

/* Simulate calls that run at once on the processes of a job, each of which is in one communicator of every
 * call. Communicators compete for resources as ranks of one plan do, and the calls of a rank as its lanes do.
 * `end_s`, one for each call, may be NULL. `options` has no visitor. Errors: those of pto_simulate;
 * PTO_ERR_RANGE if a rank of the job is not in exactly one communicator of a call, or if a call repeats one
 * with other ranks; PTO_ERR_NOT_APPLICABLE if several plans have collectives of NCCL, whose sharing of
 * resources is not simulated. */
pto_status_t pto_simulate_at_once(const pto_layout_t *job, const pto_simulate_call_t *call, int calls,
                                  const pto_machine_t *machine, const pto_simulate_options_t *options,
                                  pto_simulation_t *simulation, double *end_s, pto_error_t *err);

PTO_API_END

#endif
