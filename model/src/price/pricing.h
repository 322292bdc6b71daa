/* A plan's price while it is computed. Actors go through the stages one after another, each with a ledger of
 * how far it has come: price.c has the control flow. What a step moves is counted process by process where
 * the actors are all members of its group (by_rank.c, copies.c), else by arithmetic (by_class.c). */
#ifndef PTO_PRICE_PRICING_H
#define PTO_PRICE_PRICING_H

#include "plan/plan_internal.h"
#include "price/bounded.h"
#include "price/copies.h"
#include "price/paths.h"
#include "price/runs.h"
#include "price/table.h"
#include "price/traffic.h"

/* The processes that an actor represents. */
typedef enum {
    PTO_ACTORS_CLASSES, /* a range of cores, of every GPU, that all steps and splits treat alike */
    PTO_ACTORS_PLACES,  /* a process of the first node and its counterparts on all others */
    PTO_ACTORS_RANKS    /* one process */
} pto_actor_kind_t;

typedef struct {
    pto_rank_t place; /* of the first process that it represents */
    int64_t cores;    /* of one GPU that it represents */
    int64_t gpus;     /* of one node that it represents, from that of `place` on */
} pto_actor_t;

/* A resource that an actor has only one of, so that its lanes share it. */
typedef enum {
    PTO_LANE_OUT,  /* its GPU's copies to the host */
    PTO_LANE_IN,   /* from the host */
    PTO_LANE_GPU,  /* copies and reductions in the memory of GPUs */
    PTO_LANE_CPU,  /* copies and reductions in host memory, and flags */
    PTO_LANE_SEND, /* messages that it sends */
    PTO_LANE_RECV,
    PTO_LANE_MEMORY, /* its node's host memory, which all processes of the node share */
    PTO_LANE_RESOURCE_COUNT
} pto_lane_resource_t;

/* The load of the links of nodes in a stage: a node's messages and its copies (with reductions by CPUs),
 * which follow each other. */
typedef enum { PTO_LOAD_MESSAGES, PTO_LOAD_COPIES, PTO_LOAD_KINDS } pto_load_kind_t;

typedef struct {
    pto_shared_links_t links;
    int64_t nodes;
    double *bytes;       /* [kind][node][link] */
    pto_time_t *longest; /* per node: of the stage's copies and reductions */
    const pto_fabric_t *fabric;
    double *fabric_bytes; /* of rank by rank's messages between nodes: [directed link]; NULL: unknown */
} pto_link_loads_t;

/* How far an actor had come when it raised a flag, at all of its peers at once. */
typedef struct {
    pto_ledger_t at;
    int64_t uses;
    int64_t repeat; /* the number of the pto_raises_repeat that shifted it last */
} pto_raised_at_t;

/* A raise of a flag. */
typedef struct {
    int64_t from;  /* the actor that raised it */
    int64_t round; /* the pricing's, then */
    pto_raised_at_t *by;
    bool taken;
} pto_raise_t;

/* Those of one flag for one actor, oldest first. Taken ones stay until all are. */
typedef struct {
    pto_raise_t *item;
    int count;
    size_t capacity;
    int pending;   /* not taken */
    bool unsorted; /* not in the order of the actors that raised them */
} pto_raises_t;

/* The request; it does not change while the plan is priced. */
typedef struct {
    const pto_plan_t *plan;
    const pto_machine_t *machine;
    const pto_cost_row_t *lines; /* of pto_runs_by_lines */
    double most_s;               /* a bound on prices that matter; INFINITY: none */
    pto_price_cache_t *cache;
    pto_tables_t *tables; /* the cache's; NULL: there is no table */
    pto_error_t *err;
} pto_asked_t;

/* Who is priced. */
typedef struct {
    const pto_plan_t *plan;
    pto_actor_kind_t kind;
    int64_t count;
    int64_t per_gpu;
    int64_t gpu_count;
    int64_t node_count;
    pto_actor_t *actor;
    int64_t walked_count;
    int64_t *walked;  /* those that are priced, in order: of all GPUs that are not like one before */
    int64_t *like;    /* per GPU: the first that does the same, whose actors stand for its own; NULL: none is
                         like another */
    bool *takes_part; /* [step][actor]; where an actor is not exact, as pto_actor_acts has it */
    bool any_alone;   /* some step is of one member; not known of ranks */
} pto_actors_t;

/* How far actors have come, a ledger for each. */
typedef struct {
    int64_t actors; /* their number */
    bool explain;
    pto_ledger_t terms[4];  /* of an actor's stage, and of one step in a lane, while they are charged */
    pto_ledger_t *lane;     /* per lane and actor */
    pto_ledger_t *ledger;   /* those of the current lane */
    pto_ledger_t *before;   /* before the stage */
    pto_ledger_t *snapshot; /* before a loop's measured iterations */
    pto_behind_t *behind;   /* what an actor's next copy follows; in lanes, of a stage that follows the same
                               one of the chunk before without a gap */
    int64_t *order;         /* the actors in the order in which they come to a stage */
    bool out_of_memory;
} pto_clocks_t;

/* The flags that are raised. */
typedef struct {
    int64_t count;
    pto_raises_t *raised; /* one per flag and actor */
    int64_t round;        /* number of iterations of loops so far */
    int64_t repeats;      /* number of calls of pto_raises_repeat so far */
    int64_t lag;          /* most rounds between a raise and its wait, since it was last set to 0 */
} pto_flags_t;

/* The lanes' demand on the resources that they share. */
typedef struct {
    bool active;
    bool in_branches;            /* of a parallel node */
    pto_ledger_t *base;          /* one per actor: from where `demand` is counted */
    pto_ledger_t *demand;        /* per resource and actor: what the current node's lanes have asked of it */
    pto_ledger_t *demand_before; /* the same before a loop's measured iterations */
    uint64_t *askers;            /* per resource and actor: the lanes that have asked, a bit each */
    /* In branches; NULL in plans without. */
    pto_ledger_t *first_ask; /* per resource and actor: before any lane asked */
    pto_ledger_t *last_ask;  /* per lane, resource and actor: after the last stage of the lane that asked */
    size_t ask_count;        /* of both */
    bool *asks;              /* per resource and actor: the current stage does */
} pto_lanes_t;

/* The demand of a stage on GPUs and nodes. */
typedef struct {
    pto_copies_t *engine;   /* one per GPU that has actors */
    pto_outflow_t *outflow; /* one per node that has actors */
    pto_link_loads_t loads;
} pto_shared_t;

/* Where the walk is. */
typedef struct {
    const pto_stage_t *stage;
    bool both_ways;  /* whether processes send and receive at once in it, at a cost within their node */
    bool in_library; /* whether the stage is of a collective that the library runs */
    int library_end; /* the last node of the last such one; -1: there was none */
} pto_at_t;

/* The results, besides the ledgers. */
typedef struct {
    double *occupied_s; /* what the plan occupies (occupied.c), and what it did before a loop's measured
                           iterations; NULL: no explanation is wanted */
    pto_extrapolation_t extrapolated;
    bool exceeded; /* the price is above its bound, and its walk ends with PTO_ERR_INTERRUPTED */
} pto_outcome_t;

typedef struct pto_message_rules pto_message_rules_t;
typedef struct pto_summed pto_summed_t;

typedef struct {
    pto_asked_t asked;
    const pto_message_rules_t *messages;
    pto_summed_t *summed; /* the stage that at_once.c prices */
    pto_actors_t actors;
    pto_clocks_t clocks;
    pto_flags_t flags;
    pto_lanes_t lanes;
    pto_shared_t shared;
    pto_at_t at;
    pto_outcome_t outcome;
} pto_pricing_t;

/* Work: the stages that actors have walked in this thread, and the messages, copies, reductions and signals
 * that they looked at one by one there. Tests compare it with the order that it may grow by. */
extern _Thread_local int64_t pto_price_visits;

/* For tests: price the actors of every GPU of a node, also of those that do the same (gpus.c). */
extern _Thread_local bool pto_price_each_gpu;

/* --- price.c -------------------------------------------------------------------------------------------- */

/* A way to price a node, in iteration k of the loop that it is in. Errors: those of pto_price. */
typedef struct {
    bool (*applies)(const pto_pricing_t *pricing, int node);
    pto_status_t (*price)(pto_pricing_t *pricing, int node, int64_t k);
} pto_pricer_t;

bool pto_lines_apply(const pto_pricing_t *pricing, int node);
pto_status_t pto_lines_price(pto_pricing_t *pricing, int node, int64_t k);
bool pto_nccl_applies(const pto_pricing_t *pricing, int node);
pto_status_t pto_nccl_price(pto_pricing_t *pricing, int index, int64_t k);
bool pto_lanes_apply(const pto_pricing_t *pricing, int node);
pto_status_t pto_lanes_price(pto_pricing_t *pricing, int node, int64_t k);
bool pto_pairs_apply(const pto_pricing_t *pricing, int node);
pto_status_t pto_pairs_price(pto_pricing_t *pricing, int node, int64_t k);
bool pto_loops_apply(const pto_pricing_t *pricing, int node);
pto_status_t pto_loops_price(pto_pricing_t *pricing, int node, int64_t k);
bool pto_at_once_applies(const pto_pricing_t *pricing, int node);
pto_status_t pto_at_once_price(pto_pricing_t *pricing, int node, int64_t k);
pto_status_t pto_stage_price(pto_pricing_t *pricing, int node, int64_t k);

/* Price nodes [first, first + count) in iteration k. Errors: those of pto_price. */
pto_status_t pto_price_nodes(pto_pricing_t *pricing, int first, int count, int64_t k);

/* --- loops.c -------------------------------------------------------------------------------------------- */

/* Iterations [uniform_from, uniform_to) of a loop or pipeline that cost the same, taken `period` at a time.
 */
typedef struct {
    int64_t uniform_from;
    int64_t uniform_to;
    int64_t period;
} pto_repeat_t;

pto_repeat_t pto_find_repeat(const pto_plan_t *plan, int index);

/* Whether all actors that have gained anything since `before` have gained the same, which is `*gain` then.
 */
bool pto_pricing_gain(const pto_actors_t *actors, const pto_ledger_t *now, const pto_ledger_t *before,
                      pto_time_t *gain);
/* Shift the copies in the queues of GPUs as their actors are. */
void pto_pricing_shift_queues(pto_pricing_t *pricing, const pto_ledger_t *now, const pto_ledger_t *before,
                              double times);

/* --- lanes.c -------------------------------------------------------------------------------------------- */

/* Allocate the lanes of branches; false: out of memory. */
bool pto_lanes_allocate(pto_pricing_t *pricing, int lanes);
void pto_lanes_release(pto_lanes_t *lanes);
/* Copy `demand`; add `times` what it has grown by since. */
void pto_lanes_remember_demand(pto_clocks_t *clocks, pto_lanes_t *lanes);
void pto_lanes_repeat_demand(pto_clocks_t *clocks, pto_lanes_t *lanes, double times);
/* The resource of a step that is not a message, and the actor's use of a resource in the current lane. */
pto_lane_resource_t pto_lane_resource(const pto_plan_t *plan, const pto_step_t *step);
void pto_lane_demand(pto_clocks_t *clocks, pto_lanes_t *lanes, int64_t actor, pto_lane_resource_t resource,
                     const pto_charge_t *charge, pto_time_t time);
/* An actor has ended a stage, or a part of one, in a branch. */
void pto_lane_ended(pto_clocks_t *clocks, pto_lanes_t *lanes, int64_t actor);

/* --- occupied.c ----------------------------------------------------------------------------------------- */

/* Where no explanation is wanted, none of these does anything. Returns false when out of memory. */
bool pto_occupied_allocate(pto_pricing_t *pricing);
/* Keep what is occupied; add `times` what it has grown by since. */
void pto_occupied_remember(const pto_actors_t *actors, pto_outcome_t *outcome);
void pto_occupied_repeat(const pto_actors_t *actors, pto_outcome_t *outcome, double times);
/* A step that is not a message; an actor's messages of a stage; a stage's use of all nodes, once its sends
 * are counted; a call of NCCL's. */
void pto_occupied_step(const pto_asked_t *asked, pto_outcome_t *outcome, const pto_action_t *action,
                       double seconds);
void pto_occupied_messages(pto_outcome_t *outcome, int64_t actor, pto_time_t out, pto_time_t in);
void pto_occupied_stage(pto_pricing_t *pricing);
void pto_occupied_nccl(pto_pricing_t *pricing, const pto_node_t *node, double seconds);
/* Of the busiest actor and node, and no more than the price, which is `seconds`. */
void pto_occupied_report(const pto_actors_t *actors, const pto_outcome_t *outcome, double seconds,
                         pto_explanation_t *explanation);

/* --- flags.c -------------------------------------------------------------------------------------------- */

/* Raise the step's flag at all its peers, at the actor's current time; wait for it. */
void pto_raises_raise(pto_pricing_t *pricing, pto_action_t *action);
void pto_raises_wait(pto_pricing_t *pricing, pto_action_t *action, pto_charge_t *charge);
/* Raises that have not been waited for. */
int64_t pto_raises_pending(const pto_flags_t *flags);
/* Shift those of the last `period` rounds as the actors that raised them are, relative to the snapshot. */
void pto_raises_repeat(pto_pricing_t *pricing, int64_t period, double times);
/* No raises; NULL: out of memory. Free those of a pricing. */
pto_raises_t *pto_raises_begin(const pto_flags_t *flags);
void pto_raises_fini(const pto_flags_t *flags);

/* --- gpus.c --------------------------------------------------------------------------------------------- */

/* Find the GPUs of a node that do the same, so that one of them is priced for all, once the parts of actors
 * are known. Returns false when out of memory. */
bool pto_gpus_find(pto_pricing_t *pricing);

/* The actor that is priced for one. */
static inline int64_t pto_actor_priced(const pto_actors_t *actors, int64_t actor) {
    int64_t cores = actors->per_gpu;
    return actors->like ? actors->like[actor / cores] * cores + actor % cores : actor;
}

/* Where GPUs represent others, count the demand that copies by other GPUs' processes make on each priced GPU.
 * Such GPUs have no tables. */
void pto_gpus_count_copies_with_peers(pto_pricing_t *pricing, const pto_step_t *step, int64_t k);

/* --- actors.c ------------------------------------------------------------------------------------------ */

/* The kind of actors that a plan requires. */
pto_actor_kind_t pto_actors_of(const pto_plan_t *plan);

/* Whether processes differ in what the latency of messages means to them, and are few enough to be priced one
 * by one: PTO_ACTORS_RANKS then. */
bool pto_latency_matters(const pto_plan_t *plan, const pto_machine_t *machine);

/* Fill in the actors of the pricing's kind. Returns false when out of memory. */
bool pto_actors_find(const pto_asked_t *asked, pto_actors_t *actors);
/* Then, in which steps they take part. Returns false when out of memory. */
bool pto_actors_find_parts(pto_actors_t *actors);

/* Whether the actors are all members of the step's groups, so that each is priced with the peers that it has.
 */
static inline bool pto_actors_are_exact(const pto_actors_t *actors, const pto_step_t *step) {
    const pto_plan_t *plan = actors->plan;
    if (actors->kind != PTO_ACTORS_PLACES)
        return actors->kind == PTO_ACTORS_RANKS;
    return plan->request.layout.nodes == 1 || pto_group_is_on_node(pto_group_at(plan, step->group)->kind);
}

/* Whether an actor takes part in a step; fills `action`, whose rank is the actor's number. Where the actors
 * are not exact, the cores decide, and whether the actor's first process is a member before folding; the
 * action's peer is 0 then. */
static inline bool pto_actor_acts(const pto_actors_t *actors, const pto_step_t *step, int64_t actor,
                                  int64_t k, pto_action_t *action) {
    if (pto_actors_are_exact(actors, step))
        return pto_step_acts(actors->plan, step, actor, k, action);
    int64_t index = step - pto_step_at(actors->plan, 0);
    if (!actors->takes_part[index * actors->count + actor])
        return false;
    *action = (pto_action_t){.step = step, .rank = actor, .core = actors->actor[actor].place.core, .k = k};
    return true;
}

/* Advance `ledger` to the time of `from`, if that is later. */
static inline void pto_pricing_follow(pto_clocks_t *clocks, pto_ledger_t *ledger, const pto_ledger_t *from) {
    if (!clocks->explain)
        ledger->time = pto_time_max(ledger->time, from->time);
    else if (!pto_ledger_follow(ledger, from, true))
        clocks->out_of_memory = true;
}
/* Where the latency of messages is known: an actor whose stage has messages between nodes, of which it sends
 * one at most, is as far as if it had begun one latency earlier, and no earlier than the processes that it
 * receives from did. A message then takes its whole cost from when its sender began, and occupies its ends
 * without the latency. An actor that sends several does not begin earlier: its last message arrives when it
 * has paid for all of them. Call this before the actor follows anyone. Where it returns true, let the actor
 * follow its own ledger of before when the stage has been added, since the latency may be longer than the
 * stage. */
bool pto_pricing_begin_early(pto_pricing_t *pricing, const pto_stage_t *stage, int64_t actor, int64_t k);
bool pto_latency_known(const pto_machine_t *machine);

/* Copy the current ledgers. */
static inline void pto_pricing_remember(const pto_actors_t *actors, pto_clocks_t *clocks,
                                        pto_ledger_t *copies) {
    for (int64_t i = 0; i < actors->walked_count; i++) {
        int64_t actor = actors->walked[i];
        if (!clocks->explain)
            copies[actor].time = clocks->ledger[actor].time;
        else if (!pto_ledger_copy(&copies[actor], &clocks->ledger[actor], true))
            clocks->out_of_memory = true;
    }
}

/* --- links.c ------------------------------------------------------------------------------------------- */

/* Where nothing is known to be shared, none of these does anything. Returns false when out of memory. */
bool pto_links_allocate(pto_pricing_t *pricing);
void pto_links_release(const pto_shared_t *shared);
void pto_links_begin(const pto_asked_t *asked, pto_shared_t *shared);

/* Count a message of a rank to the current peer, on its node or between nodes; the messages of a step within
 * the nodes, if actors represent several processes. */
void pto_links_count_message(const pto_asked_t *asked, pto_shared_t *shared, const pto_action_t *action,
                             int64_t bytes);
void pto_links_count_step(const pto_asked_t *asked, pto_shared_t *shared, const pto_step_t *step, int64_t k);

/* Count the copies of an exact actor, with each of its peers; those of an actor that stands for others, which
 * copy `bytes` each. */
void pto_links_count_copies(pto_pricing_t *pricing, pto_action_t *action);
void pto_links_count_copies_alike(pto_pricing_t *pricing, const pto_action_t *action, double bytes);
/* The same for an actor's reductions by its CPU. */
void pto_links_count_reductions(pto_pricing_t *pricing, pto_action_t *action);

/* The busiest of several links, and the time of its bytes. Zeroed: none. */
typedef struct {
    pto_time_t time;
    const pto_param_t *s_per_byte;
} pto_busiest_t;

/* The busiest links of an actor's messages: those of its node, and those between nodes. */
typedef struct {
    pto_busiest_t on_node;
    pto_busiest_t off_node;
} pto_busiest_links_t;

/* Look for the busiest among the links that an actor uses for a message, or for its copies; among all that
 * senders, or others, use. Of copies, memory is left to pto_links_busiest_memory. */
void pto_links_see_message(const pto_pricing_t *pricing, const pto_action_t *action,
                           pto_busiest_links_t *busiest);
void pto_links_see_copies(const pto_pricing_t *pricing, pto_action_t *action, pto_busiest_t *busiest);
void pto_links_see_all(const pto_shared_t *shared, pto_load_kind_t kind, pto_path_end_t end,
                       pto_busiest_t *busiest);

/* The busiest memory of an actor's node. */
pto_busiest_t pto_links_busiest_memory(const pto_actors_t *actors, const pto_shared_t *shared,
                                       pto_load_kind_t kind, int64_t actor);

/* Charge what the busiest link takes beyond `own`, the time of the actor's own bytes. */
void pto_charge_busiest(pto_charge_t *charge, const pto_busiest_t *busiest, pto_time_t own);

/* --- by_rank.c, by_class.c ------------------------------------------------------------------------------ */

/* How the messages of actors are counted and charged. */
struct pto_message_rules {
    /* Count the demand of a step on links, for all actors; NULL: the demand of each is counted with its
     * messages. */
    void (*count_step)(const pto_asked_t *asked, pto_shared_t *shared, const pto_step_t *step, int64_t k);
    /* Whether a process sends within its node and receives within it in one stage; NULL: each may. */
    bool (*both_ways)(const pto_plan_t *plan, const pto_stage_t *stage, int64_t k);
    /* Add what an actor sends to its node's outflow. */
    void (*count)(pto_pricing_t *pricing, pto_action_t *action);
    /* An actor's messages between nodes in a step; NULL: its processes do not have equally many. */
    int64_t (*off_node)(const pto_pricing_t *pricing, pto_action_t action);
    /* Charge what an actor sends or receives; a receive also waits for its senders. Errors: those of
     * pto_charge_messages. */
    pto_status_t (*charge)(pto_pricing_t *pricing, pto_action_t *action, pto_charge_t *charge,
                           pto_busiest_links_t *busiest);
};
/* Of one process, peer by peer; of the processes of one core, or of one place on all nodes, by arithmetic. */
extern const pto_message_rules_t pto_messages_by_rank, pto_messages_by_class;

bool pto_step_is_of_one_member(const pto_plan_t *plan, const pto_step_t *step);

/* pto_slice_bytes for an actor that represents several processes: the maximum over them. */
int64_t pto_class_slice_bytes(const pto_plan_t *plan, const pto_slice_t *slice, const pto_action_t *action);

/* pto_copy_bytes for such an actor: 0 if the copy is one of a buffer onto itself for all of its processes. */
int64_t pto_class_copy_bytes(const pto_plan_t *plan, const pto_action_t *action);

#endif
