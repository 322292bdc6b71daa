/* The discrete-event simulation of a plan (portolan/simulate.h). Every rank passes through its stages at its
 * own pace. Messages, copies and reductions take the times that price charges, and wait for each other where
 * they share links, copy engines or processes. This header has the state of a simulation, and the functions
 * that its files share; the parts of the state are in message_pool.h, stages.h, ranks.h, resources.h and
 * events.h.
 *
 *     simulate.c  the local steps of ranks, and the simulation as a whole
 *     run.c       its events: sending, matching, receiving, and passing from stage to stage
 *     passages.c  the sequence of stages, which all ranks pass, and what is the same for all of them
 *     delays.c    what delays a message at its ends
 *     pool.c      records of messages in flight, their queues and heaps
 *     links.c     injection and ejection of nodes
 *     routes.c    links within nodes, and between them
 *     engines.c   copy engines of GPUs
 *     nccl.c      NCCL's own collectives, which all members leave together
 *     lanes.c     the order of a rank's lanes, and what they share
 *     either.c    the choices of either nodes
 *     views.c     what steps and stages have in common for all ranks
 *     memory.c    what is allocated, and where ranks are
 *     at_once.c   several plans at once, on the processes of one job
 *     size.c      how much of a plan is simulated
 *     symmetry.c  plans in which one node stands for all
 *     moves.c     what a rank sends and receives in its stage (moves.h)
 *     costs.c     the cost of one operation, computed by price's own functions
 *     report.c    spans and sums of the time spent
 *     events.c    the event queue
 *
 * decide/simulate_all.c simulates all strategies at all points.
 *
 * A lane is one of the parallel branches, or one of the pipeline's stages, that a rank works on at the same
 * time; a plan without these has one lane. Each lane of a rank is simulated as a process of its own, at index
 * lane * ranks + rank of sim->proc. In this folder, `rank` is that index, except in actions and spans. In a
 * plan with one lane it is the rank. The job is the MPI job whose processes are simulated. A side is the
 * sending or the receiving half of a process (pto_side_t).
 *
 * So a process has several numbers. Let a job have 4 ranks, and its second plan the job's ranks 2 and 3, with
 * 2 lanes. Lane 1 of rank 0 of that plan has the index 1 * 2 + 0 = 2 in sim->proc, the number first_proc + 2
 * over all plans, and the rank 2 of the job (pto_sim_place). */
#ifndef PTO_SIMULATE_INTERNAL_H
#define PTO_SIMULATE_INTERNAL_H

#include <assert.h>

#include "base/hash.h"
#include "portolan/simulate.h"
#include "simulate/either.h"
#include "simulate/events.h"
#include "simulate/ranks.h"
#include "simulate/resources.h"

/* --- the state of a simulation -------------------------------------------------------------------------- */

/* Slots of the agenda (events.h), each with at most one event: four for each process, then one for each link,
 * and one for each GPU. RETRY checks a message again whose receive was not posted, after all other events of
 * the same time. */
typedef enum { PTO_SLOT_RUN, PTO_SLOT_SEND, PTO_SLOT_RECV, PTO_SLOT_RETRY, PTO_SLOTS_PER_RANK } pto_slot_t;

struct pto_sim;

/* All plans that are simulated at once, on the processes of one job (at_once.c). Each has a pto_sim_t of its
 * own; this is what they share. A process of the job is in one plan of each call. The processes of the plans
 * are numbered over all plans. */
typedef struct {
    struct pto_sim *sim;
    uint32_t count;
    uint32_t procs; /* of all plans */
    pto_proc_t *proc;
    pto_local_t *local;   /* one per process */
    pto_local_hot_t *hot; /* one per process */
    double *copy_held_s;  /* of each process of the job at each pto_copy_resource_t: see engines.c */
    void **memory;        /* all that the simulation has allocated, but for what grows */
    size_t memory_count;
    size_t memory_room;
    bool out_of_memory;
    uint32_t *owner; /* of each process, the number of its sim; NULL if there is only one */
    int calls;
    int64_t ranks;        /* of the job that are simulated */
    uint32_t lanes;       /* of a rank of the job, over all calls */
    uint32_t *first_lane; /* of each call, the number of its first lane among these */
    pto_lane_sets_t *set; /* of each rank of the job; NULL: it has one lane */
    uint32_t *member;     /* [call][rank of the job]: its process in that call, of its first lane */
    pto_simulation_t *simulation;
    double *end_s;    /* of each call; NULL: not wanted */
    bool has_links;   /* false: no link can delay anything, so none is allocated */
    unsigned engines; /* a bit for each engine of a GPU that a step may use; the others are not allocated */
    int engine_place[PTO_ENGINES_PER_GPU]; /* the index of each engine among those that are allocated */
    int engines_per_gpu;
} pto_sims_t;

/* The state of the job's nodes and GPUs, and the events: the same in all plans. */
typedef struct {
    pto_agenda_t *agenda;
    uint32_t first_link_slot;
    uint32_t first_gpu_slot;
    char *links; /* PTO_LINKS_PER_NODE per node, link_size bytes each */
    size_t link_size;
    pto_routes_t *routes;     /* one per node, then the fabric's */
    pto_capacity_t *capacity; /* one per shared link, then one per directed link of the fabric */
    int first_fabric_link;
    pto_engine_t *engine; /* all->engines_per_gpu per GPU */
    uint8_t *in_use;      /* a bit for each engine that has copies, per GPU */
    double *queue_end_s;  /* when the last copy in a queue ends; PTO_COPY_RESOURCE_COUNT queues per GPU */
} pto_job_state_t;

typedef struct pto_sim {
    const pto_plan_t *plan;
    const pto_machine_t *machine;
    const pto_layout_t *layout; /* of the job, like `nodes` and `gpus`; `ranks` are the plan's */
    pto_sims_t *all;
    int call;
    uint32_t first_proc;         /* its first process's number among all */
    uint32_t first_lane;         /* its first one among a rank's of the job */
    const int64_t *place;        /* the job's rank of each rank; NULL: the same */
    struct pto_sim *next;        /* the plan that each rank begins when it has ended this one; NULL: none */
    bool follows;                /* it is the `next` of another plan */
    const pto_cost_row_t *lines; /* pto_runs_by_lines: the cost of a run in line format; or NULL */
    pto_skew_t skew;             /* of random byte counts, if there are any */
    const pto_simulate_options_t *options;
    double now_s;
    int64_t nodes;  /* that are simulated: all, or one that represents all (symmetry.c) */
    uint32_t ranks; /* on these */
    uint32_t lanes; /* of each rank */
    uint32_t ranks_per_node;
    uint32_t in_nccl;    /* ranks that have entered the current NCCL collective */
    double nccl_began_s; /* when the last of them entered */
    int64_t gpus;        /* on these nodes */
    int64_t messages;
    int64_t events;
    pto_job_state_t job;
    pto_pool_t pool;
    pto_proc_t *proc;
    pto_shared_links_t shared_links; /* none: there are no flows within nodes */
    pto_step_view_t *view;           /* one per step */
    pto_stage_view_t *stage;         /* one per stage */
    uint32_t *reached; /* [rank][lane]: 1 + the instance that a lane has reached; UINT32_MAX: its end */
    int32_t *raised;   /* pending signals: [flag][rank][place in node of the sender] */
    pto_sim_either_t *either;       /* one per either node */
    pto_local_t *local;             /* one per rank and lane */
    pto_local_hot_t *hot;           /* the same */
    pto_fabric_path_t *fabric_path; /* of the message that each process sends, then receives */
    pto_passages_t passages;
    pto_known_cost_t cost[1 << PTO_KNOWN_COSTS_BITS];
    const pto_known_cost_t *last_cost[PTO_LEVEL_COUNT]; /* of each level; NULL: none yet */
    pto_known_copy_t copy[1 << PTO_KNOWN_COPIES_BITS];
    bool limited[PTO_LINKS_PER_NODE]; /* whether a link can ever delay a message; if not, it has no jobs */
    double ejection_s_per_byte[PTO_SPACE_COUNT]; /* of each node; 0: not limited */
    bool is_free;                                /* no link can delay a message */
    bool has_flows;                              /* messages may be flows on links that routes.c shares */
    bool has_wire_latency; /* the machine has a latency that occupies neither end of a message */
    bool both_ways;        /* the machine slows processes that send and receive at once */
    bool is_plain;         /* nothing delays a message: see views.c */
    bool own_engines;      /* is_plain, and no two ranks share an engine */
    pto_status_t status;
    pto_error_t *err;
} pto_sim_t;

/* Functions that every message passes through are inlined into one loop (run.c). */
#if defined(__GNUC__)
#define PTO_SIM_HOT __attribute__((always_inline)) static inline
#else
#define PTO_SIM_HOT static inline
#endif

/* Times this close are equal: equal sums can differ by rounding. */
static inline bool pto_sim_before(double a_s, double b_s) { return a_s < b_s - 4e-15 * b_s; }

/* How much later a is than b; 0 if the difference is rounding. */
static inline double pto_sim_excess(double a_s, double b_s) {
    return pto_sim_before(b_s, a_s) ? a_s - b_s : 0;
}

static inline void pto_sim_set(pto_sim_t *sim, uint32_t rank, pto_slot_t slot, double time_s) {
    pto_agenda_set(sim->job.agenda, (sim->first_proc + rank) * PTO_SLOTS_PER_RANK + (uint32_t)slot, time_s,
                   slot == PTO_SLOT_RETRY);
}

/* Returns the simulation of a process, at the present time. `*number` is the process's number over all plans;
 * it becomes its index in that simulation. */
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
    return (pto_link_t *)(void *)(sim->job.links + index * sim->job.link_size);
}

static inline uint32_t pto_link_number(pto_link_kind_t kind, int32_t node) {
    return (kind == PTO_LINK_FABRIC ? 0 : (uint32_t)node * PTO_LINKS_PER_NODE) + (uint32_t)kind;
}

static inline pto_link_t *pto_link_of(const pto_sim_t *sim, pto_link_kind_t kind, int32_t node) {
    return pto_link_at(sim, pto_link_number(kind, node));
}

static inline pto_engine_t *pto_engine_at(const pto_sim_t *sim, int64_t gpu, int engine) {
    assert(sim->all->engines >> engine & 1);
    return &sim->job.engine[gpu * sim->all->engines_per_gpu + sim->all->engine_place[engine]];
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

/* Returns the simulated rank that represents a rank of the plan. */
static inline int64_t pto_sim_representative(const pto_sim_t *sim, int64_t rank) {
    return sim->nodes < sim->layout->nodes ? rank % sim->ranks : rank;
}

/* --- symmetry.c ----------------------------------------------------------------------------------------- */

/* Returns whether one node can represent all. */
bool pto_sim_nodes_act_alike(const pto_plan_t *plan, const pto_machine_t *machine);

/* --- passages.c ----------------------------------------------------------------------------------------- */

/* Puts `procs` processes in front of the first stage. */
void pto_passages_begin(pto_sim_t *sim, uint32_t procs);
void pto_passages_fini(pto_passages_t *passages);
/* Moves a process to the next stage of its lane; false if there is none, or out of memory. */
bool pto_sim_next_stage(pto_sim_t *sim, pto_proc_t *proc);

/* --- simulate.c ----------------------------------------------------------------------------------------- */

/* Run all plans to their end and set all->simulation. */
pto_status_t pto_sims_run(pto_sims_t *all, pto_error_t *err);

/* Prepares a stage's local steps, and raises the flags that come first. `follows`: in a pipeline, the stage
 * begins without a wait, so its first copy directly follows that of the previous chunk. */
void pto_sim_prepare_locals(pto_sim_t *sim, uint32_t rank, bool follows);
/* Continue a rank's local steps; true when the stage's last one has ended. */
bool pto_sim_run_local(pto_sim_t *sim, uint32_t rank);
/* Finds a stage's only local step and its cost after what it follows, and stores them in its move. */
void pto_sim_find_only_local(pto_sim_t *sim, uint32_t rank, pto_behind_t behind, pto_sim_move_t *move);
/* Returns the operation that a copy of a process follows, outside of lanes. */
static inline pto_behind_t pto_sim_behind(const pto_proc_t *proc, const pto_sim_move_t *move) {
    return move->streams && proc->streams ? PTO_BEHIND_COPY : PTO_BEHIND_NOTHING;
}
/* Enters the stage that a rank has reached. Returns whether the stage begins; if not, the rank waits for
 * other lanes, skips it, or is in the NCCL collective that the stage describes. */
bool pto_sim_enter_stage(pto_sim_t *sim, uint32_t rank);
void pto_sim_end_rank(pto_sim_t *sim, uint32_t rank);
/* A rank's local step has ended, or its flags may be raised now. Returns whether it may continue. */
bool pto_sim_run_event(pto_sim_t *sim, uint32_t rank);

/* --- views.c -------------------------------------------------------------------------------------------- */

/* Sets sim->view and sim->stage, the links that can delay messages, and sim->all->engines. */
void pto_sim_view_plan(pto_sim_t *sim);

/* --- memory.c ------------------------------------------------------------------------------------------- */

/* Allocates all that the plans in `all` need, and places their ranks. Returns false when out of memory;
 * release it even then. */
bool pto_sims_allocate(pto_sims_t *all, pto_agenda_t *agenda);
void pto_sims_release(pto_sims_t *all, pto_agenda_t *agenda);

/* --- at_once.c ------------------------------------------------------------------------------------------ */

/* Returns the simulation of a plan on the processes of a job, with nothing allocated. */
pto_sim_t pto_sim_of(const pto_plan_t *plan, const pto_machine_t *machine, const pto_layout_t *job,
                     const pto_simulate_options_t *options, pto_error_t *err);

/* --- costs.c -------------------------------------------------------------------------------------------- */

/* Returns the distance of a rank of the plan from a process of the same node. */
pto_level_t pto_sim_level_within(const pto_sim_t *sim, const pto_proc_t *proc, int64_t peer_rank);
/* The same for a process of any node. */
static inline pto_level_t pto_sim_level(const pto_sim_t *sim, const pto_proc_t *proc, int64_t peer_rank,
                                        bool plain) {
    bool all_nodes = plain || sim->nodes == sim->layout->nodes; /* then no division is needed */
    int64_t node = all_nodes ? sim->proc[peer_rank].node : pto_sim_node(sim, peer_rank);
    return node != proc->node ? PTO_LEVEL_OFF_NODE : pto_sim_level_within(sim, proc, peer_rank);
}

/* Returns a cache key (pto_sim_known_copy) of a step's copies by one core, or of its reductions. */
static inline uint64_t pto_sim_step_key(const pto_sim_t *sim, const pto_step_t *step, int64_t core,
                                        pto_behind_t behind) {
    enum { CORE_BITS = 30, BEHIND_BITS = 2 };
    uint64_t number = (uint64_t)(step - pto_step_at(sim->plan, 0));
    return (number << CORE_BITS | (uint64_t)core) << BEHIND_BITS | (uint64_t)behind;
}

/* Returns the cache entry of a copy, by its bytes and a key of all else that its cost depends on. */
static inline pto_known_copy_t *pto_sim_known_copy(pto_sim_t *sim, int64_t bytes, int64_t other_bytes,
                                                   uint64_t rest) {
    uint64_t both = (uint64_t)bytes + 31 * (uint64_t)other_bytes;
    uint64_t hash = ((both * PTO_GOLDEN_GAMMA) ^ rest) * PTO_GOLDEN_GAMMA;
    pto_known_copy_t *place = &sim->copy[hash >> (64 - PTO_KNOWN_COPIES_BITS)];
    if (place->bytes[0] != bytes || place->bytes[1] != other_bytes || place->rest != rest)
        *place = (pto_known_copy_t){.bytes = {bytes, other_bytes}, .rest = rest};
    return place;
}

/* Computes a cost and stores it in its cache entry. A failure sets sim->status. */
void pto_sim_compute_cost(pto_sim_t *sim, const pto_passage_t *passage, uint8_t moved, uint32_t step,
                          pto_level_t level, int64_t bytes, pto_known_cost_t *place);

/* Returns the cost of a message at one of its ends. `moved`: the levels of earlier messages of that side in
 * the stage (pto_side_t). Valid until the next call. */
static inline const pto_known_cost_t *pto_sim_message_cost(pto_sim_t *sim, const pto_passage_t *passage,
                                                           uint8_t moved, uint32_t step, pto_level_t level,
                                                           int64_t bytes) {
    uint64_t rest = pto_cost_rest(passage, moved, step, level);
    const pto_known_cost_t *last = sim->last_cost[level];
    if (last && last->bytes == bytes && last->rest == rest)
        return last;
    uint64_t hash = ((uint64_t)bytes ^ rest << 16) * PTO_GOLDEN_GAMMA;
    pto_known_cost_t *place = &sim->cost[hash >> (64 - PTO_KNOWN_COSTS_BITS)];
    if (place->bytes != bytes || place->rest != rest)
        pto_sim_compute_cost(sim, passage, moved, step, level, bytes, place);
    sim->last_cost[level] = place;
    return place;
}

/* Returns whether a link can delay messages: if all ranks of a node send or receive at once, the link may
 * take longer than each message takes alone. */
bool pto_sim_is_limited(const pto_sim_t *sim, pto_link_kind_t kind);
/* A node's least seconds per byte injected, per message, and per byte received; 0: no limit. */
double pto_sim_injection_s_per_byte(const pto_sim_t *sim, const pto_step_t *step);
double pto_sim_rate_s(const pto_sim_t *sim, const pto_step_t *step);
double pto_sim_ejection_s_per_byte(const pto_machine_t *machine, pto_space_t space);
/* The time of a rank's copy while its GPU's processes together copy `engine_bytes` in that direction. */
double pto_sim_copy_s(pto_sim_t *sim, const pto_local_t *local, int64_t engine_bytes);
/* Returns a rank's copy for price's queues. */
pto_one_copy_t pto_sim_one_copy(const pto_local_t *local);
/* Returns the time that a rank's copy adds to a queue of `waiting` others. */
double pto_sim_queued_copy_s(const pto_sim_t *sim, const pto_local_t *local, int64_t waiting);
/* Returns the CPU time that a rank needs to enqueue a copy. */
double pto_sim_queueing_s(const pto_sim_t *sim, pto_copy_kind_t kind);
double pto_sim_reduce_s(pto_sim_t *sim, const pto_step_t *step, int64_t source_bytes, int64_t target_bytes);
/* The time of a kernel's copies within its GPU's memory. */
double pto_sim_kernel_bytes_s(const pto_sim_t *sim, int64_t bytes);
double pto_sim_launch_s(const pto_sim_t *sim);
double pto_sim_signal_s(const pto_sim_t *sim, const pto_step_t *step);

/* --- delays.c ------------------------------------------------------------------------------------------- */

/* Returns the part of a message's alpha that does not occupy this side: the latency of the wire. The sender
 * does not wait for it; the receiver waits only for what is left of it since the message was sent. 0 for
 * later messages of a stage, which pay a gap without it. */
double pto_sim_wire_latency_s(const pto_sim_t *sim, const pto_proc_t *proc, const pto_side_t *side,
                              const pto_message_t *message, double alpha_s);
/* Slows a process that sends and receives at the same time: each side takes longer by a fraction of the time
 * for which both are busy. */
void pto_sim_share_both_ways(pto_sim_t *sim, uint32_t rank, pto_side_t *side, bool sends, double alone_s);
/* Delays the messages that a rank's CPU is moving while it enqueues a copy. */
void pto_sim_interrupt(pto_sim_t *sim, uint32_t rank, double seconds);

/* Puts a message on the links of its sender, or receiver, that can delay it. Returns whether that side will
 * be woken by one of them. */
bool pto_sim_leave_node(pto_sim_t *sim, uint32_t rank, const pto_message_t *message);
bool pto_sim_enter_node(pto_sim_t *sim, uint32_t rank, const pto_message_t *message);
/* Whether the links of a message's sender, or receiver, have let it through; if not, wait for the first one
 * that has not. */
bool pto_sim_wait_for_sender(pto_sim_t *sim, const pto_proc_t *sender, uint8_t *waits);
bool pto_sim_wait_for_receiver(pto_sim_t *sim, pto_proc_t *proc, const pto_message_t *message);
/* The message that a rank sends, or receives, is through a link at time_s. */
void pto_sim_through(pto_sim_t *sim, pto_link_kind_t kind, bool sends, uint32_t rank, double time_s);

/* --- run.c ---------------------------------------------------------------------------------------------- */

/* Begins a stage. `follows`: see pto_sim_prepare_locals. */
void pto_sim_open_stage(pto_sim_t *sim, uint32_t rank, bool follows);
/* Starts the ranks of all plans, and handles all events. */
void pto_sims_run_events(pto_sims_t *all, pto_agenda_t *agenda);

/* Returns a number to add to a sum for each message that a rank expects, and to subtract for each that
 * arrives. A sum of 0 at a stage's end shows, without a list, that both are the same, in any order. */
static inline uint64_t pto_sim_message_digest(int64_t source, int64_t bytes) { /* constants: SplitMix64 */
    uint64_t hash = ((uint64_t)source + 1) * PTO_GOLDEN_GAMMA + (uint64_t)bytes;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
    return hash ^ (hash >> 27);
}

/* --- links.c -------------------------------------------------------------------------------------------- */

/* Puts a rank's message of `bytes` on a link of its node, where it takes work_s alone. */
void pto_link_join(pto_sim_t *sim, pto_link_kind_t kind, uint32_t rank, double work_s, int64_t bytes);
/* Updates a link for a job of `bytes` that begins now. */
pto_link_t *pto_link_begin(pto_sim_t *sim, pto_link_kind_t kind, int32_t node, int64_t bytes);
/* Schedules the next end of a link's jobs as an event, if a side waits for it. */
void pto_link_schedule(pto_sim_t *sim, pto_link_kind_t kind, int32_t node);
/* Accounts for the busy period that a link's last job ends. */
void pto_link_idle(pto_sim_t *sim, pto_link_kind_t kind, int32_t node);
/* Updates a link to the present, and ends the jobs that are done. */
void pto_link_advance(pto_sim_t *sim, pto_link_kind_t kind, int32_t node);
/* Register a side that waits for the end of a job on this link. */
void pto_link_wait(pto_sim_t *sim, pto_link_kind_t kind, int32_t node);
void pto_link_event(pto_sim_t *sim, uint32_t index);

/* --- routes.c ------------------------------------------------------------------------------------------- */

/* Puts bytes of a rank on the links of a path, of its node or of the fabric. They need alone_s if nothing
 * slows them. Returns false if the path is empty. */
bool pto_flow_begin(pto_sim_t *sim, pto_link_kind_t kind, pto_flow_use_t use, uint32_t rank, pto_path_t path,
                    int64_t bytes, double alone_s);
/* Puts the message of a rank's sending or receiving side on the links that belong to that side. Returns false
 * if there are none. */
bool pto_routes_join(pto_sim_t *sim, bool sends, uint32_t rank, const pto_message_t *message);

/* Whether messages of a distance are flows on links that routes.c shares. */
static inline bool pto_sim_flows(const pto_sim_t *sim, pto_level_t level) {
    if (!sim->has_flows)
        return false;
    return level == PTO_LEVEL_OFF_NODE ? sim->machine->fabric.levels > 0 : sim->shared_links.count > 0;
}

/* Returns the time when the first flow of a node, or of the fabric, ends. */
double pto_routes_next_s(const pto_sim_t *sim, pto_link_kind_t kind, int32_t node);
/* Updates the flows of a node, or of the fabric, to the present. */
void pto_routes_advance(pto_sim_t *sim, pto_link_kind_t kind, int32_t node);
/* Whether all flows of a rank's copy have ended; if not, it waits for them. */
bool pto_copy_is_through(pto_sim_t *sim, uint32_t rank);

/* --- lanes.c -------------------------------------------------------------------------------------------- */

/* Returns whether a process is in the second or a later chunk of a pipeline. */
bool pto_sim_is_later_chunk(const pto_sim_t *sim, const pto_proc_t *proc);
/* Returns whether the rank's other lanes have ended the stages that this stage waits for. */
bool pto_sim_may_start(const pto_sim_t *sim, uint32_t rank);
/* Wakes the rank's other lanes that are in this state. */
void pto_sim_wake_lanes(pto_sim_t *sim, uint32_t rank, pto_proc_state_t state);
/* Takes the resource that a copy or reduction needs. False: another lane uses it. */
bool pto_sim_take_resource(pto_sim_t *sim, uint32_t rank, pto_lane_resource_t resource);
/* Releases the resource that a process has taken. */
void pto_sim_give_resource(pto_sim_t *sim, uint32_t rank);

/* A lane of a rank of the job, in any call. */
typedef struct {
    pto_sim_t *sim;
    uint32_t rank;
} pto_sim_lane_t;

/* Work done in this thread, for tests: lanes that were looked up for another one. */
extern _Thread_local int64_t pto_lanes_found;

/* One of the lanes, by number, of a rank of the job. */
pto_sim_lane_t pto_sim_lane_at(const pto_sim_t *sim, int64_t job_rank, uint32_t lane);

/* Adds a lane to a set of its rank, or removes it. Of more than 64 lanes, several share a bit, which is then
 * never cleared: a set has at least the lanes that belong to it. */
static inline void pto_sim_put_lane(const pto_sim_t *sim, const pto_proc_t *proc, pto_lane_set_t set,
                                    bool in) {
    if (sim->all->lanes == 1)
        return;
    uint64_t *lanes = &sim->all->set[pto_sim_place(sim, proc->rank)].lanes[set];
    uint64_t own = UINT64_C(1) << (sim->first_lane + proc->lane) % 64;
    if (in)
        *lanes |= own;
    else if (sim->all->lanes <= 64)
        *lanes &= ~own;
}

/* Finds the next lane of a rank that may be in a set; false: there is none. The search goes cyclically over
 * the lanes of all calls. It begins at the lane `*offset` (1 at first) after the rank's own, which comes
 * last, and advances `*offset`. */
static inline bool pto_sim_next_lane(pto_sim_t *sim, uint32_t rank, pto_lane_set_t set, uint32_t *offset,
                                     pto_sim_lane_t *lane) {
    uint32_t lanes = sim->all->lanes;
    if (lanes == 1) {
        *lane = (pto_sim_lane_t){sim, rank};
        return (*offset)++ == 1;
    }
    const pto_proc_t *proc = &sim->proc[rank];
    int64_t place = pto_sim_place(sim, proc->rank);
    uint64_t members = sim->all->set[place].lanes[set];
    for (; members && *offset <= lanes; ++*offset) {
        uint32_t number = sim->first_lane + proc->lane + *offset;
        number -= number >= lanes ? lanes : 0;
        if (!(members >> number % 64 & 1))
            continue;
        ++*offset;
        *lane = pto_sim_lane_at(sim, place, number);
        return true;
    }
    return false;
}

/* Returns the side of any lane of the rank that sends, or receives, a message now; NULL: none. Sets `*sim` to
 * its simulation. */
static inline pto_side_t *pto_sim_busy_side(pto_sim_t **sim, uint32_t rank, bool sends) {
    pto_sim_lane_t lane;
    for (uint32_t i = 1; pto_sim_next_lane(*sim, rank, sends ? PTO_LANES_SEND : PTO_LANES_RECV, &i, &lane);) {
        pto_proc_t *proc = &lane.sim->proc[lane.rank];
        pto_side_t *side = sends ? &proc->out : &proc->in;
        if (side->message) {
            *sim = lane.sim;
            return side;
        }
    }
    return NULL;
}

/* --- engines.c ------------------------------------------------------------------------------------------ */

/* Sets local->copy: what a copy of a rank is, and its time alone after the operation that it follows. */
void pto_engine_find_copy(pto_sim_t *sim, const pto_action_t *action, int64_t bytes, pto_local_t *local);
/* Begins a copy of a rank, with the current peer. */
void pto_engine_join(pto_sim_t *sim, uint32_t rank, const pto_action_t *action, bool on_gpu, int64_t bytes);
/* Begins the copies of a kernel's step with all its peers; false if they take no time. */
bool pto_engine_join_kernel(pto_sim_t *sim, pto_action_t *action);
/* Begins a rank's queued copy, whose turn has come, and sets its end; false if it has begun before. */
bool pto_engine_begin_turn(pto_sim_t *sim, uint32_t rank);
/* Ends a rank's copy, of any kind. */
void pto_engine_leave(pto_sim_t *sim, uint32_t rank);
void pto_gpu_event(pto_sim_t *sim, uint32_t gpu);

/* --- nccl.c --------------------------------------------------------------------------------------------- */

/* A rank has reached an NCCL collective: the last one starts it for all. */
void pto_sim_nccl_enter(pto_sim_t *sim, uint32_t rank);
/* The collective has ended for a rank. */
void pto_sim_nccl_leave(pto_sim_t *sim, uint32_t rank);

/* --- report.c ------------------------------------------------------------------------------------------- */

void pto_sim_span(pto_sim_t *sim, pto_resource_t resource, uint32_t rank, int64_t peer_rank, int64_t bytes,
                  double start_s);
/* Record a busy period of a node's link or a GPU's engine (by its number). */
void pto_sim_shared_span(pto_sim_t *sim, pto_resource_t resource, int64_t index, int64_t bytes,
                         double start_s, double end_s);
void pto_sim_report(const pto_sims_t *all, pto_simulation_t *simulation);

#endif
