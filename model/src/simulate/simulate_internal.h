/* The state of the simulator, and the functions that its files share.
 *
 *     simulate.c  the ranks and their stages
 *     passages.c  the sequence of stages, which all ranks pass, and what is the same for all of them
 *     messages.c  sending, matching, receiving
 *     pool.c      records of messages in flight, their queues and heaps
 *     links.c     injection and ejection of nodes
 *     routes.c    links within nodes, and between them
 *     engines.c   copy engines of GPUs
 *     nccl.c      NCCL's own collectives, which all members enter and leave together
 *     lanes.c     the order of a rank's lanes, and what they share
 *     either.c    the choices of either nodes
 *     memory.c    what is allocated, and where ranks are
 *     at_once.c   several plans at once, on the processes of one job
 *     size.c      how much of a plan is simulated
 *     symmetry.c  plans in which one node stands for all
 *     moves.c     what a rank sends and receives in its stage
 *     costs.c     the cost of one operation, computed by price's own functions
 *     report.c    spans and sums of the time spent
 *     events.c    the event queue
 *
 * decide/simulate_all.c simulates all strategies at all points.
 *
 * Each lane of a rank is simulated as a process of its own, at index lane * ranks + rank of sim->proc. In
 * this folder, `rank` is that index, except in actions and spans. In a plan without lanes it is the rank. */
#ifndef PTO_SIMULATE_INTERNAL_H
#define PTO_SIMULATE_INTERNAL_H

#include "plan/plan_internal.h"
#include "portolan/simulate.h"
#include "price/paths.h"
#include "price/pricing.h"
#include "simulate/events.h"

/* --- costs ---------------------------------------------------------------------------------------------- */

typedef struct {
    double alpha_s;
    double alone_s; /* beta s, at the rate of the two processes alone */
    double bytes_s; /* the same, with what slows it */
} pto_sim_cost_t;

/* The key of a cost: messages that agree in all of it cost the same. The step determines its stage. */
typedef struct {
    int64_t bytes;
    unsigned step : 24;
    unsigned level : 3;
    unsigned in_lanes : 1;
    unsigned known : 1; /* 0: an unused entry */
    unsigned rest : 3;  /* 0 */
    uint32_t moved;     /* by the side, earlier in its stage: see pto_side_t */
} pto_cost_key_t;

enum { PTO_KNOWN_COSTS_BITS = 8 };

/* Costs computed lately, by a hash of their keys. */
typedef struct {
    pto_cost_key_t key;
    pto_space_t space;
    bool held_back;
    pto_sim_cost_t cost;
} pto_known_cost_t;

/* Properties of a step, computed before any rank reaches it. */
typedef struct {
    bool alike;    /* all messages of an iteration have equal bytes, and all ranks equally many */
    bool by_index; /* ranks are the group's members in order, and peers are reached by shift or XOR */
    double injection_s_per_byte; /* of an off-node send, on its node's links; 0: not limited */
    double rate_s;
} pto_step_view_t;

/* The kinds of steps in a stage. */
typedef struct {
    bool messages;
    bool sends;
    bool locals;
    bool signals_first; /* raised before all else, because its steps run at once */
} pto_stage_view_t;

/* The links that a node's messages pass, in the order of their pto_resource_t; those of the sender's node are
 * injection and rate. */
typedef enum {
    PTO_LINK_INJECTION,
    PTO_LINK_EJECTION,
    PTO_LINK_RATE,
    PTO_LINK_ROUTES, /* all links within the node, which have flows (routes.c) instead of jobs */
    PTO_LINK_FABRIC, /* the same between nodes: one for all, which counts as node 0's */
    PTO_LINKS_PER_NODE
} pto_link_kind_t;

/* --- messages ------------------------------------------------------------------------------------------- */

enum { PTO_MESSAGE_STEP_BITS = 24, PTO_MESSAGE_STEP_MASK = (1 << PTO_MESSAGE_STEP_BITS) - 1 };

/* One message in flight, or held back until its receive is posted. 40 bytes, since there may be many. */
typedef struct {
    double start_s; /* when its sender began, or would have */
    int64_t bytes;
    uint32_t source;
    uint32_t target;
    uint32_t instance; /* of the stage */
    uint32_t next;     /* in a queue, or the left child in a heap */
    uint32_t right;
    unsigned step : PTO_MESSAGE_STEP_BITS; /* the plan's step that sends it */
    unsigned space : 2;
    unsigned level : 3;
    bool waits : 1;   /* held back */
    bool one_end : 1; /* one of sender and receiver is done with it */
} pto_message_t;

_Static_assert(sizeof(pto_cost_key_t) == 16, "a key has no padding");
_Static_assert(sizeof(pto_message_t) <= 40, "a message is to stay within 40 bytes");

/* Messages by number, from 1; their addresses are stable. */
typedef struct {
    pto_message_t **block;
    uint32_t block_count;
    uint32_t used;
    uint32_t free_first;
    int64_t in_flight;
    int64_t most_in_flight;
} pto_pool_t;

enum { PTO_POOL_BLOCK_BITS = 12 };

static inline pto_message_t *pto_message_at(const pto_pool_t *pool, uint32_t number) {
    return &pool->block[number >> PTO_POOL_BLOCK_BITS][number & ((1u << PTO_POOL_BLOCK_BITS) - 1)];
}

/* --- stages --------------------------------------------------------------------------------------------- */

/* A step with messages, in one iteration. The numbers are those of all ranks, if its messages are alike. */
typedef struct {
    const pto_step_t *step;
    const pto_step_view_t *view;
    int64_t who_first; /* the members of its group that act */
    int64_t who_stride;
    int64_t who_until;
    int64_t peer_first;
    int64_t peer_stride;
    int64_t peer_count;
    int64_t bytes; /* -1: not computed yet, or not alike */
    int64_t group_size;
    bool sends;
    bool receives;
} pto_move_t;

/* A stage of one iteration. All ranks pass the same ones, each at its own pace. */
typedef struct {
    pto_walk_t walk;
    const pto_stage_view_t *view;
    pto_move_t *move; /* one for each step; zero for those without messages */
} pto_passage_t;

enum { PTO_PASSAGES_PER_BLOCK = 64 };

/* Consecutive passages. A block is freed when all ranks are past it. */
typedef struct {
    uint32_t procs; /* that are in it */
    int count;
    pto_passage_t passage[PTO_PASSAGES_PER_BLOCK];
    pto_move_t move[];
} pto_passage_block_t;

typedef struct {
    pto_walk_t walk; /* the cursor that makes them */
    pto_passage_t start;
    pto_passage_block_t **block; /* NULL: freed */
    int64_t block_count;
    int64_t block_room;
    int64_t oldest;    /* the first block that is not freed */
    uint32_t starting; /* processes that are at `start` */
    int most_steps;    /* of a stage */
    bool ended;        /* no more can be made */
} pto_passages_t;

/* --- ranks ---------------------------------------------------------------------------------------------- */

typedef enum {
    PTO_PROC_BETWEEN,  /* stages */
    PTO_PROC_LANE,     /* waiting for other lanes of its rank */
    PTO_PROC_MESSAGES, /* sending and receiving */
    PTO_PROC_LOCAL,    /* at its own copies, reductions, signals */
    PTO_PROC_FLAGS,    /* waiting for signals */
    PTO_PROC_RESOURCE, /* waiting for what another lane of its rank uses */
    PTO_PROC_NCCL,     /* in an NCCL collective, or waiting for the others to enter */
    PTO_PROC_ENDED
} pto_proc_state_t;

typedef struct {
    uint32_t first;
    uint32_t last;
} pto_message_queue_t;

/* One side, sending or receiving, of a rank: a cache line. */
typedef struct {
    uint32_t message; /* the current message; 0: none */
    uint8_t waits;    /* the pto_link_kind_t that it waits for; PTO_LINKS_PER_NODE: none */
    uint8_t moved;    /* a bit for each pto_level_t of which it has moved a message in this stage */
    double start_s;
    double alpha_s; /* of the message, to this side */
    double bytes_s;
    double through_s[2]; /* when links let the message through; INFINITY: unknown. Sending: the injection and
                            the message rate of its node. Receiving: its ejection, and the sender's injection
                            once the sender is done with the message */
    double stage_busy_s;
    pto_message_queue_t queue; /* sends that were held back; arrivals not yet received */
} pto_side_t;

_Static_assert(sizeof(pto_side_t) == 64, "a side is to stay within a cache line");

typedef struct {
    double busy_s;
    double waiting_s;
} pto_side_use_t;

/* A rank's copies, reductions and lanes. Ranks that only send and receive never touch it. */
typedef struct {
    uint32_t rank;
    bool in_branch; /* of an either node, whose current stage it passes */
    int holds;      /* 1 + the pto_lane_resource_t that it uses now; 0: none */
    int wants;      /* the same for one that it waits for, */
    double wants_s; /* and since when */
    int local_step;
    int64_t local_peer;  /* of a copy or reduction done for each peer: the next peer's number */
    pto_behind_t behind; /* what its current copy follows; in lanes, those of the stage */
    bool streams;        /* whether its last copy is in its stream, and not waited for */
    int64_t copy_bytes;
    int64_t copy_pieces;
    int64_t copy_rows;
    int64_t copy_most_bytes;                     /* of a kernel's accesses: the maximum for one other GPU */
    double copy_held_s[PTO_COPY_RESOURCE_COUNT]; /* until when others still count its last copy there */
    pto_path_t copy_path;                        /* what it shares once its turn has come, */
    double copy_end_s;                           /* and when it ends, if it waits for its turn; else 0 */
    double copy_left;                            /* remaining fraction of its copy, from 1 to 0 */
    double copy_alone_s;
    int64_t copy_gpu; /* the GPU whose engine or link it uses */
    pto_copy_kind_t copy_kind;
    pto_reach_t copy_reach;
    pto_remote_t copy_how; /* a kernel's */
    uint32_t copy_engine;  /* which of its engines */
    uint32_t copy_next;    /* in its engine's list, as its first */
    bool copy_pageable;
    bool copy_queued;
    bool copy_strided;
    bool copy_between_gpus;
    bool copy_in_kernel; /* by a kernel's threads */
    bool copy_waits;     /* only for its flows; */
    int copy_flows;      /* those that have not ended */
    double busy_s;
    double waiting_s;
} pto_local_t;

/* A rank. The first cache line is its stage, the next two are its sides; an event touches the first one and
 * one of the others. The last one is read and written when a stage or a side's messages end. */
typedef struct {
    _Alignas(64) const pto_passage_t *at; /* the stage that it has reached */
    double stage_s;    /* when its messages were posted, its current local step began, or it ended */
    uint64_t expected; /* sum over the outstanding messages, 0 at the end: see message_digest */
    int64_t send_next; /* the number of the next peer to send to, of send_count, */
    int64_t send_count;
    uint32_t send_me;  /* by the group's member with this index, */
    int16_t send_step; /* in this step of the stage */
    uint8_t state;     /* a pto_proc_state_t */
    bool sends_made_all;
    uint32_t sends_open; /* generated but not finished */
    uint32_t recvs_open;
    uint32_t rank; /* of the plan */
    int32_t node;
    pto_side_t out;
    pto_side_t in;
    int32_t place_in_node;
    uint32_t lane;
    uint32_t early;       /* heap of messages to later stages, held back or arrived */
    uint8_t waits_sender; /* as `waits`, for a link of the sender of its received message */
    pto_side_use_t sending;
    pto_side_use_t receiving;
} pto_proc_t;

_Static_assert(sizeof(pto_proc_t) == 256, "a rank is to stay within four cache lines");

/* --- shared resources ----------------------------------------------------------------------------------- */

/* A job is a message at one of its ends; a rank has at most one. It is through once `progress_s` of the link,
 * which grows by dt / jobs, has reached `until_s`. */
typedef struct {
    double until_s;
    uint32_t proc; /* its number among all */
} pto_engine_job_t;

typedef struct {
    double progress_s;
    double at_s; /* the time of the last update of progress_s */
    double busy_since_s;
    double busy_s;
    double waiting_s;
    int32_t jobs;
    int32_t waiting;        /* sides that wait for the end of a job */
    int64_t bytes;          /* since it was idle */
    bool held_up;           /* the last job was delayed by the others */
    pto_engine_job_t job[]; /* a heap, with room for the ranks of a node */
} pto_link_t;

/* The user of a node's links that waits for a flow's end. */
typedef enum { PTO_FLOW_SEND, PTO_FLOW_RECV, PTO_FLOW_COPY } pto_flow_use_t;

/* Bytes on their way over links of a node, or of the fabric. */
typedef struct {
    pto_path_t path; /* by number in sim->capacity */
    pto_flow_use_t use;
    uint32_t proc; /* its number among all */
    bool slowed; /* by others, or by a link slower than the flow; until then it ends at the time of its own */
    bool fixed;  /* while rates are computed */
    double alone_until_s; /* its end if nothing slows it */
    double most_bytes_per_s;
    double left_bytes;
    double bytes_per_s;
} pto_flow_t;

/* The flows of one node, or between nodes, in no order. */
typedef struct {
    pto_flow_t *flow;
    int32_t room;
} pto_routes_t;

/* A link within all nodes, or of the fabric, while rates are computed. */
typedef struct {
    double bytes_per_s;
    double left_bytes_per_s;
    int32_t flows; /* whose rates are not known yet */
} pto_capacity_t;

/* A GPU's engines: one for each kind of copy, and its link to the other GPUs, inwards and outwards. */
enum { PTO_ENGINE_IN = PTO_COPY_COUNT, PTO_ENGINE_OUT, PTO_ENGINES_PER_GPU };

/* The copies of one GPU in one direction. Copies that the machine's sharing queues are counted here, but
 * timed by their GPU's queues. */
typedef struct {
    uint32_t first; /* number of a process among all + 1, of copies that are not queued */
    int32_t active; /* number of copies, queued ones included */
    int32_t procs;
    int64_t total_bytes;
    int64_t busy_bytes; /* since it was idle */
    double next_s;      /* when its next copy ends */
    double at_s;
    double busy_since_s;
    double busy_s;
    double waiting_s;
} pto_engine_t;

/* --- either nodes --------------------------------------------------------------------------------------- */

typedef enum { PTO_SIM_UNKNOWN, PTO_SIM_PASSES, PTO_SIM_SKIPS } pto_sim_gate_t;

typedef struct {
    bool begun;
    pto_policy_t policy;
    bool arrived[PTO_LANES_MAX]; /* by lane */
    int branch[PTO_LANES_MAX];   /* by lane: 1 + the branch that it takes; 0: not known yet */
    int first_lane[PTO_BRANCH_COUNT];
    bool once_passed[PTO_BRANCH_COUNT];
} pto_sim_either_t;

/* --- all of it ------------------------------------------------------------------------------------------ */

/* Slots of the agenda: four for each process, then one for each link, and one for each GPU. LOOK is the
 * second check of a message whose receive was not posted, after all other events of the same time. */
typedef enum { PTO_SLOT_RUN, PTO_SLOT_SEND, PTO_SLOT_RECV, PTO_SLOT_LOOK, PTO_SLOTS_PER_RANK } pto_slot_t;

struct pto_sim;

/* Plans that run at once on the processes of one job, each with a pto_sim_t of its own (at_once.c). What
 * they share is in all of them. A process of the job is in one plan of each call; processes of plans are
 * numbered over all plans. */
typedef struct {
    struct pto_sim *sim;
    uint32_t count;
    uint32_t procs; /* of all plans */
    pto_proc_t *proc;
    pto_local_t *local; /* one per process */
    uint32_t *owner;    /* of each process, the number of its sim; NULL if there is only one */
    int calls;
    int64_t ranks;        /* of the job that are simulated */
    uint32_t lanes;       /* of a rank of the job, over all calls */
    uint32_t *first_lane; /* of each call, among these */
    uint32_t *member;     /* [call][rank of the job]: the process that is it, in its first lane */
    pto_simulation_t *simulation;
    double *end_s; /* of each call; NULL: not asked for */
} pto_sims_t;

typedef struct pto_sim {
    const pto_plan_t *plan;
    const pto_machine_t *machine;
    const pto_layout_t *layout; /* of the job, as are nodes and GPUs below; the ranks are the plan's */
    pto_sims_t *all;
    int call;
    uint32_t first_proc;  /* its first process's number among all */
    const int64_t *place; /* the job's rank of each rank; NULL: the same */
    struct pto_sim *next; /* each rank begins it when it has ended this one; NULL: none */
    bool follows;         /* another: its ranks do not begin by themselves */
    const pto_simulate_options_t *options;
    double now_s;
    int64_t nodes;  /* that are simulated: all, or one that stands for all */
    uint32_t ranks; /* on these */
    uint32_t lanes; /* of each rank */
    uint32_t ranks_per_node;
    uint32_t first_link_slot;
    uint32_t first_gpu_slot;
    uint32_t in_nccl;    /* ranks that have entered the current NCCL collective */
    double nccl_began_s; /* when the last of them entered */
    int64_t gpus;        /* on these nodes */
    int64_t messages;
    int64_t events;
    pto_agenda_t *agenda;
    pto_pool_t pool;
    pto_proc_t *proc;
    char *links; /* PTO_LINKS_PER_NODE per node, link_size bytes each */
    size_t link_size;
    pto_links_t shared_links; /* none: there are no flows within nodes */
    pto_routes_t *routes;     /* one per node, then the fabric's */
    pto_capacity_t *capacity; /* one per shared link, then one per directed link of the fabric */
    int first_fabric_link;
    pto_engine_t *engine;     /* PTO_ENGINES_PER_GPU per GPU */
    double *line_s;           /* when the last copy in a GPU's queue ends; PTO_COPY_RESOURCE_COUNT per GPU */
    pto_step_view_t *view;    /* one per step */
    pto_stage_view_t *stage;  /* one per stage */
    int32_t *raised;          /* pending signals: [flag][rank][place in node of the sender] */
    pto_sim_either_t *either; /* one per either node */
    pto_local_t *local;       /* one per rank and lane */
    pto_fabric_path_t *fabric_path; /* of the message that each process sends, then receives */
    pto_passages_t passages;
    pto_known_cost_t cost[1 << PTO_KNOWN_COSTS_BITS];
    bool limited[PTO_LINKS_PER_NODE]; /* whether a link can ever delay a message */
    bool has_locals;                  /* any copies, reductions, signals or waits */
    pto_status_t status;
    pto_error_t *err;
} pto_sim_t;

/* Times this close are equal: equal sums can differ by rounding. */
static inline bool pto_sim_before(double a_s, double b_s) { return a_s < b_s - 4e-15 * b_s; }

/* How much later a is than b; 0 if the difference is rounding. */
static inline double pto_sim_excess(double a_s, double b_s) {
    return pto_sim_before(b_s, a_s) ? a_s - b_s : 0;
}

static inline void pto_sim_set(pto_sim_t *sim, uint32_t rank, pto_slot_t slot, double time_s) {
    pto_agenda_set(sim->agenda, (sim->first_proc + rank) * PTO_SLOTS_PER_RANK + (uint32_t)slot, time_s,
                   slot == PTO_SLOT_LOOK);
}

/* The simulation of a process by its number among all, at the same time; the number becomes its own. */
static inline pto_sim_t *pto_sim_owner(const pto_sim_t *sim, uint32_t *number) {
    if (!sim->all->owner)
        return sim->all->sim;
    pto_sim_t *owner = &sim->all->sim[sim->all->owner[*number]];
    owner->now_s = sim->now_s;
    *number -= owner->first_proc;
    return owner;
}

static inline int64_t pto_sim_place(const pto_sim_t *sim, int64_t rank) {
    return sim->place ? sim->place[rank] : rank;
}

static inline pto_link_t *pto_link_at(const pto_sim_t *sim, uint32_t index) {
    return (pto_link_t *)(void *)(sim->links + index * sim->link_size);
}

static inline uint32_t pto_link_number(pto_link_kind_t kind, int32_t node) {
    return (kind == PTO_LINK_FABRIC ? 0 : (uint32_t)node * PTO_LINKS_PER_NODE) + (uint32_t)kind;
}

static inline pto_link_t *pto_link_of(const pto_sim_t *sim, pto_link_kind_t kind, int32_t node) {
    return pto_link_at(sim, pto_link_number(kind, node));
}

static inline bool pto_link_has_flows(pto_link_kind_t kind) { return kind >= PTO_LINK_ROUTES; }

/* Record a failure, naming `rank` and its stage; only the first one counts. */
void pto_sim_fail(pto_sim_t *sim, pto_status_t status, uint32_t rank, const char *what);

/* The GPU of a rank of the plan, numbered across the job's nodes, and its node. */
static inline int64_t pto_sim_gpu(const pto_sim_t *sim, int64_t rank) {
    return pto_sim_place(sim, rank) / sim->layout->procs_per_gpu;
}

static inline int64_t pto_sim_node(const pto_sim_t *sim, int64_t rank) {
    int64_t per_node = sim->layout->gpus_per_node * sim->layout->procs_per_gpu;
    return per_node == 1 ? pto_sim_place(sim, rank) : pto_sim_place(sim, rank) / per_node;
}

/* The rank that stands for a rank of the plan. */
static inline int64_t pto_sim_stand_in(const pto_sim_t *sim, int64_t rank) {
    return sim->nodes < sim->layout->nodes ? rank % sim->ranks : rank;
}

/* --- symmetry.c ----------------------------------------------------------------------------------------- */

/* Whether one node can stand for all. */
bool pto_sim_nodes_act_alike(const pto_plan_t *plan, const pto_machine_t *machine);

/* --- passages.c ----------------------------------------------------------------------------------------- */

/* Prepare for `procs` processes, all before the first stage. */
void pto_passages_begin(pto_sim_t *sim, uint32_t procs);
void pto_passages_fini(pto_passages_t *passages);
/* Let a process go to the next stage of its lane; false if there is none, or out of memory. */
bool pto_sim_next_stage(pto_sim_t *sim, pto_proc_t *proc);

/* --- simulate.c ----------------------------------------------------------------------------------------- */

/* Run all plans to their end and set all->simulation. */
pto_status_t pto_sims_run(pto_sims_t *all, pto_error_t *err);

/* --- memory.c ------------------------------------------------------------------------------------------- */

/* Allocate all that the plans in `all` need, and place their ranks; false if out of memory. Release is valid
 * even then. */
bool pto_sims_allocate(pto_sims_t *all, pto_agenda_t *agenda);
void pto_sims_release(pto_sims_t *all, pto_agenda_t *agenda);

/* --- at_once.c ------------------------------------------------------------------------------------------ */

/* A plan on the processes of a job, before anything is allocated. */
pto_sim_t pto_sim_of(const pto_plan_t *plan, const pto_machine_t *machine, const pto_layout_t *job,
                     const pto_simulate_options_t *options, pto_error_t *err);

/* --- either.c ------------------------------------------------------------------------------------------- */

/* Whether a process passes the stage that it has reached, in a branch of an either node. */
pto_sim_gate_t pto_sim_gate(pto_sim_t *sim, uint32_t rank);
/* A process has ended such a stage. */
void pto_sim_leave_branch(pto_sim_t *sim, uint32_t rank);

/* --- simulate_costs.c ----------------------------------------------------------------------------------- */

/* The distance of a rank of the plan from a process. */
pto_level_t pto_sim_level(const pto_sim_t *sim, const pto_proc_t *proc, int64_t peer_rank);
/* The cost of a message at one of its ends, whose process is in the passage and has moved other messages in
 * that stage. It is valid until the next call. A failure sets sim->status. */
const pto_known_cost_t *pto_sim_message_cost(pto_sim_t *sim, const pto_passage_t *at, uint8_t moved,
                                             uint32_t step, pto_level_t level, int64_t bytes);
/* Whether a link can never delay a message: ranks_per_node messages that share it take no longer than one
 * takes alone. */
bool pto_sim_is_limited(const pto_sim_t *sim, pto_link_kind_t kind);
/* Seconds of a link's time per byte, or per message; 0: not limited. */
double pto_sim_injection_s_per_byte(const pto_sim_t *sim, const pto_step_t *step);
double pto_sim_rate_s(const pto_sim_t *sim, const pto_step_t *step);
double pto_sim_ejection_s_per_byte(const pto_sim_t *sim, pto_space_t space);
/* The time of a rank's copy while its GPU's processes together copy `engine_bytes` in that direction. */
double pto_sim_copy_s(pto_sim_t *sim, const pto_local_t *local, int64_t engine_bytes);
/* Whether copies of this kind queue, and the cost that one more adds to those waiting. */
bool pto_sim_copy_is_queued(const pto_sim_t *sim, pto_copy_kind_t kind);
pto_copy_resource_t pto_sim_copy_resource(const pto_sim_t *sim, const pto_local_t *local);
double pto_sim_copy_hold_s(const pto_sim_t *sim, const pto_local_t *local);
double pto_sim_queued_copy_s(const pto_sim_t *sim, const pto_local_t *local, int64_t waiting);
/* What a queued copy takes of its rank's CPU. */
double pto_sim_queueing_s(const pto_sim_t *sim, pto_copy_kind_t kind);
double pto_sim_reduce_s(const pto_sim_t *sim, const pto_action_t *action);
/* The time of a kernel's copies within its GPU's memory. */
double pto_sim_kernel_bytes_s(const pto_sim_t *sim, int64_t bytes);
double pto_sim_launch_s(const pto_sim_t *sim);
double pto_sim_signal_s(const pto_sim_t *sim, const pto_step_t *step);

/* --- simulate_messages.c -------------------------------------------------------------------------------- */

/* Post the receives of the stage that a rank has entered, and begin its sends. */
void pto_sim_post(pto_sim_t *sim, uint32_t rank);
bool pto_sim_messages_ended(const pto_proc_t *proc);
/* The side may be done with its message. Returns whether the stage's messages may have ended. */
bool pto_sim_send_event(pto_sim_t *sim, uint32_t rank);
bool pto_sim_recv_event(pto_sim_t *sim, uint32_t rank);
/* The CPU of a rank puts a copy into a queue meanwhile: the message that it moves takes longer. */
void pto_sim_interrupt(pto_sim_t *sim, uint32_t rank, double seconds);
void pto_sim_look_event(pto_sim_t *sim, uint32_t rank);

/* --- moves.c -------------------------------------------------------------------------------------------- */

/* Go to the next non-empty send of the rank's stage; false if there is none left. */
bool pto_sim_next_send(const pto_sim_t *sim, pto_proc_t *proc, int64_t *peer_rank, int64_t *bytes);
/* Count the receives of the stage, and sum up what is expected. */
void pto_sim_count_receives(const pto_sim_t *sim, pto_proc_t *proc);
/* Added for each message that a rank expects and subtracted for each that arrives. A sum of 0 at a stage's
 * end shows that they are the same messages, in any order, without a list of them. */
uint64_t pto_sim_message_digest(int64_t source, int64_t bytes);

/* --- pool.c --------------------------------------------------------------------------------------------- */

/* The number of an unused message; 0 when out of memory. */
uint32_t pto_pool_take(pto_pool_t *pool);
void pto_pool_fini(pto_pool_t *pool);

static inline void pto_pool_give(pto_pool_t *pool, uint32_t number) {
    pto_message_at(pool, number)->next = pool->free_first;
    pool->free_first = number;
    pool->in_flight--;
}

static inline void pto_queue_add(pto_pool_t *pool, pto_message_queue_t *queue, uint32_t number) {
    pto_message_at(pool, number)->next = 0;
    if (queue->first)
        pto_message_at(pool, queue->last)->next = number;
    else
        queue->first = number;
    queue->last = number;
}

/* The first message; 0: none. */
static inline uint32_t pto_queue_take(pto_pool_t *pool, pto_message_queue_t *queue) {
    uint32_t number = queue->first;
    if (number)
        queue->first = pto_message_at(pool, number)->next;
    return number;
}

/* Heaps by stage, time and source. The heap that is taken from must not be empty. */
void pto_heap_add(pto_pool_t *pool, uint32_t *heap, uint32_t number);
uint32_t pto_heap_take(pto_pool_t *pool, uint32_t *heap);

/* --- simulate_links.c ----------------------------------------------------------------------------------- */

/* Put a rank's message of `bytes` on a link of its node, where it takes work_s alone. Returns false if the
 * link cannot delay it. */
bool pto_link_join(pto_sim_t *sim, pto_link_kind_t kind, uint32_t rank, double work_s, int64_t bytes);
double pto_link_busy_s(const pto_sim_t *sim, pto_link_kind_t kind, const pto_link_t *link);
/* Update a link for a job of `bytes` that begins now; schedule its next end as an event, if a side waits for
 * it; account for the period that ended with its last job. */
pto_link_t *pto_link_begin(pto_sim_t *sim, pto_link_kind_t kind, int32_t node, int64_t bytes);
void pto_link_schedule(pto_sim_t *sim, pto_link_kind_t kind, int32_t node);
void pto_link_idle(pto_sim_t *sim, pto_link_kind_t kind, int32_t node);
/* Update a link to the present: jobs that are through notify their messages. */
void pto_link_advance(pto_sim_t *sim, pto_link_kind_t kind, int32_t node);
/* Register a side that waits for the end of a job on this link. */
void pto_link_wait(pto_sim_t *sim, pto_link_kind_t kind, int32_t node);
void pto_link_event(pto_sim_t *sim, uint32_t index);
/* messages.c: the message that a rank sends, or receives, is through a link at time_s. */
void pto_sim_through(pto_sim_t *sim, pto_link_kind_t kind, bool sends, uint32_t rank, double time_s);

/* --- routes.c ------------------------------------------------------------------------------------------- */

/* Put bytes of a rank on the links of a path, of its node or of the fabric, which need alone_s where nothing
 * slows them. Returns false if the path is empty. */
bool pto_flow_begin(pto_sim_t *sim, pto_link_kind_t kind, pto_flow_use_t use, uint32_t rank, pto_path_t path,
                    int64_t bytes, double alone_s);
/* Put the message of a rank's sending or receiving side on the links that the side counts. Returns false if
 * there are none. */
bool pto_routes_join(pto_sim_t *sim, bool sends, uint32_t rank, const pto_message_t *message);

/* Whether messages of a distance are flows on links that routes.c shares. */
static inline bool pto_sim_flows(const pto_sim_t *sim, pto_level_t level) {
    return level == PTO_LEVEL_OFF_NODE ? sim->machine->fabric.levels > 0 : sim->shared_links.count > 0;
}

/* Pending flows of a node, or of the fabric: the time when the first ends; update them to the present. */
double pto_routes_next_s(const pto_sim_t *sim, pto_link_kind_t kind, int32_t node);
void pto_routes_advance(pto_sim_t *sim, pto_link_kind_t kind, int32_t node);
/* Whether all flows of a rank's copy have ended; if not, it waits for them. */
bool pto_copy_is_through(pto_sim_t *sim, uint32_t rank);

/* --- lanes.c -------------------------------------------------------------------------------------------- */

/* Whether that stage belongs to a pipeline's second or a later chunk. */
bool pto_sim_is_later_chunk(const pto_sim_t *sim, const pto_proc_t *proc);
/* Whether the other lanes have come far enough for that stage. */
bool pto_sim_may_start(const pto_sim_t *sim, uint32_t rank);
/* The rank's other lanes that are in this state check again. */
void pto_sim_wake_lanes(pto_sim_t *sim, uint32_t rank, pto_proc_state_t state);
/* Take what a copy or reduction needs; false if another lane uses it. Give it back. */
bool pto_sim_take_resource(pto_sim_t *sim, uint32_t rank, pto_lane_resource_t resource);
void pto_sim_give_resource(pto_sim_t *sim, uint32_t rank);
/* A lane of a rank of the job, in whatever call. */
typedef struct {
    pto_sim_t *sim;
    uint32_t rank;
} pto_sim_lane_t;

/* One of the lanes, by number, of a rank of the job. */
pto_sim_lane_t pto_sim_lane_at(const pto_sim_t *sim, int64_t job_rank, uint32_t lane);

/* The one `further` lanes after this one, cyclically over all calls; there are sim->all->lanes. */
static inline pto_sim_lane_t pto_sim_other_lane(pto_sim_t *sim, uint32_t rank, uint32_t further) {
    if (sim->all->lanes == 1)
        return (pto_sim_lane_t){sim, rank};
    const pto_proc_t *proc = &sim->proc[rank];
    uint32_t own = proc->lane + (sim->all->owner ? sim->all->first_lane[sim->call] : 0);
    return pto_sim_lane_at(sim, pto_sim_place(sim, proc->rank), (own + further) % sim->all->lanes);
}

/* Whether any lane of the rank sends, or receives, a message now. */
static inline bool pto_sim_side_is_busy(pto_sim_t *sim, uint32_t rank, bool sends) {
    for (uint32_t i = 0; i < sim->all->lanes; i++) {
        pto_sim_lane_t lane = pto_sim_other_lane(sim, rank, i);
        const pto_proc_t *proc = &lane.sim->proc[lane.rank];
        if (sends ? proc->out.message : proc->in.message)
            return true;
    }
    return false;
}

/* --- simulate_engines.c --------------------------------------------------------------------------------- */

/* A copy of a rank, with the current peer. */
void pto_engine_join(pto_sim_t *sim, uint32_t rank, const pto_action_t *action, int64_t bytes);
/* The copies of a kernel's step with all its peers; false if they take no time. */
bool pto_engine_join_kernel(pto_sim_t *sim, pto_action_t *action);
/* Whether a rank's copy in a queue has its turn only now; its end is set. */
bool pto_engine_begin_turn(pto_sim_t *sim, uint32_t rank);
/* A rank's copy has ended, of any kind, and no longer counts. */
void pto_engine_leave(pto_sim_t *sim, uint32_t rank);
void pto_gpu_event(pto_sim_t *sim, uint32_t gpu);

/* --- simulate_nccl.c ------------------------------------------------------------------------------------ */

/* A rank has reached an NCCL collective: the last one starts it for all. */
void pto_sim_nccl_enter(pto_sim_t *sim, uint32_t rank);
/* The collective has ended for a rank. */
void pto_sim_nccl_leave(pto_sim_t *sim, uint32_t rank);

/* --- simulate_report.c ---------------------------------------------------------------------------------- */

void pto_sim_span(pto_sim_t *sim, pto_resource_t resource, uint32_t rank, int64_t peer_rank, int64_t bytes,
                  double start_s);
/* Record a busy period of a node's link or a GPU's engine (by its number). */
void pto_sim_shared_span(pto_sim_t *sim, pto_resource_t resource, int64_t index, int64_t bytes,
                         double start_s, double end_s);
void pto_sim_report(const pto_sims_t *all, pto_simulation_t *simulation);

#endif
