/* simulate: what a plan costs when contention, matching and overlap matter, by discrete events, all ranks.
 *
 * The same plan and the same parameters as price has, but every rank goes through its stages by itself and
 * competes for resources: its own sending and its own receiving side, one message each at a time; its node's
 * injection and ejection, which the messages under way share fluidly (max-rate, Gropp, Olson, Samfass 2016,
 * one message at a time); its GPU's copy engines. Messages are matched: one is received when its receive has
 * been posted, and by rendezvous it does not start before. docs/simulating.md gives the equations.
 *
 * Where all ranks of a node act alike the time is that of price; docs/simulating.md says where it is not.
 * Messages exist while they are under way, so memory grows with the ranks and with what is in flight. */
#ifndef PORTOLAN_SIMULATE_H
#define PORTOLAN_SIMULATE_H

#include "portolan/api.h"
#include "portolan/price.h"

PTO_API_BEGIN

/* name, what a file calls it, what a table calls it, what there is one of */
#define PTO_RESOURCE_TABLE(X)                                                                                \
    X(SEND, "send", "send", "rank")                                                                          \
    X(RECV, "receive", "receive", "rank")                                                                    \
    X(LOCAL, "local", "local", "rank")                                                                       \
    X(INJECTION, "injection", "inject", "node")                                                              \
    X(EJECTION, "ejection", "eject", "node")                                                                 \
    X(RATE, "message_rate", "rate", "node")                                                                  \
    X(COPY_H2D, "copy_h2d", "h2d", "GPU")                                                                    \
    X(COPY_D2H, "copy_d2h", "d2h", "GPU")                                                                    \
    X(COPY_D2D, "copy_d2d", "d2d", "GPU")                                                                    \
    X(COPY_H2H, "copy_h2h", "h2h", "GPU")                                                                    \
    X(PEER_IN, "peer_in", "in", "GPU")                                                                       \
    X(PEER_OUT, "peer_out", "out", "GPU")

/* In the order of pto_copy_kind_t where they are copies; copies between two GPUs are on the link of the one
 * whose memory others use. A rank's local work is its copies, reductions and the flags it waits for. */
typedef enum {
#define PTO_RESOURCE_ENUM(name, text, short_text, owner) PTO_RESOURCE_##name,
    PTO_RESOURCE_TABLE(PTO_RESOURCE_ENUM)
#undef PTO_RESOURCE_ENUM
        PTO_RESOURCE_COUNT
} pto_resource_t;

const char *pto_resource_name(pto_resource_t resource);
const char *pto_resource_short_name(pto_resource_t resource);
const char *pto_resource_owner(pto_resource_t resource);

/* What the resources of one kind did. Busy: a message, copy or reduction was under way. Waiting, of a rank's
 * sides: there was work in its stage, but no message to move (the partner was not ready); of its local work:
 * for flags; of injection, ejection and copies: how much later than alone the messages or copies of one of
 * the node's (GPU's) ranks ended, on average over its ranks. */
typedef struct {
    int64_t count; /* resources */
    double busy_s; /* of all */
    double waiting_s;
    double most_busy_s; /* of the busiest one */
    int64_t busiest;    /* its rank, node or GPU, the GPUs of all nodes numbered one after another */
    double most_waiting_s;
    int64_t most_waiting;
} pto_resource_use_t;

typedef struct {
    double seconds; /* until the last rank has ended */
    int64_t ranks;
    int64_t slowest_rank;
    int64_t messages;
    int64_t events;
    int64_t most_in_flight; /* messages */
    pto_resource_use_t use[PTO_RESOURCE_COUNT];
} pto_simulation_t;

/* Something that lasted: a message at one of its ends, a copy, a reduction, a wait, or a shared resource's
 * time between idle and idle. */
typedef struct {
    pto_resource_t resource;
    int64_t node;
    int64_t index;     /* rank, node or GPU */
    const char *name;  /* of the stage; NULL for shared resources */
    int64_t peer_rank; /* of a message; else -1 */
    int64_t bytes;
    double start_s;
    double end_s;
} pto_span_t;

typedef void (*pto_span_visit_t)(void *context, const pto_span_t *span);

/* A simulation that begins: that of one plan, for cell number `cell` of `cells`. */
typedef struct {
    int64_t cell;
    int64_t cells;
    const char *strategy;
    const char *algorithm;
    int64_t messages;
} pto_simulate_progress_t;

typedef void (*pto_simulate_begin_t)(const pto_simulate_progress_t *progress);

enum { PTO_SIMULATE_RANKS_MAX = 1 << 20, PTO_SIMULATE_LIMIT = 100000000 };

typedef struct {
    int64_t limit; /* messages, and likewise ranks times stages, of one plan; 0: PTO_SIMULATE_LIMIT */
    pto_span_visit_t visit; /* NULL, or called at the end of every span, in the order of their ends */
    void *context;
    pto_simulate_begin_t begin; /* NULL, or called by pto_simulate_scenario before each simulation */
} pto_simulate_options_t;

/* `options` may be NULL. Errors: PTO_ERR_NOT_APPLICABLE where the machine has no cost for what the plan does,
 * PTO_ERR_TOO_LARGE above the limit or PTO_SIMULATE_RANKS_MAX ranks, PTO_ERR_INVALID_PLAN with rank and stage
 * where the plan's messages or signals do not meet, PTO_ERR_MEMORY. */
pto_status_t pto_simulate(const pto_plan_t *plan, const pto_machine_t *machine,
                          const pto_simulate_options_t *options, pto_simulation_t *simulation,
                          pto_error_t *err);

PTO_API_END

#endif
