/* The state of one price while it is computed (pto_pricing_t), and the functions of this folder that share
 * it. whole.c allocates the state, and price.c has the control flow.
 *
 * An actor is one process, or several that cost the same and are priced once. In each stage of the plan, the
 * actors are priced one after another. Each has a ledger (ledger.h): the time that it has reached, and the
 * terms that add up to it. If an actor is one process, its messages are counted peer by peer (by_rank.c),
 * otherwise by arithmetic (by_class.c). */
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
    PTO_ACTORS_CLASSES, /* a range of cores, of every GPU, whose processes do the same in every step */
    PTO_ACTORS_PLACES,  /* a process of the first node and its counterparts on all others */
    PTO_ACTORS_RANKS    /* one process */
} pto_actor_kind_t;

typedef struct {
    pto_rank_t place; /* the first process that the actor represents */
    int64_t cores;    /* number of processes of each GPU that it represents */
    int64_t gpus;     /* number of GPUs of each node that it represents, from that of `place` on */
} pto_actor_t;

/* The resources that an actor has only one of, so that its lanes share them. A lane is a branch of a parallel
 * node, or a stage of a pipeline: an actor executes its lanes concurrently (portolan/plan.h). */
typedef enum {
    PTO_LANE_OUT,    /* its GPU's copies to the host */
    PTO_LANE_IN,     /* its GPU's copies from the host */
    PTO_LANE_GPU,    /* copies and reductions in the memory of GPUs */
    PTO_LANE_CPU,    /* copies and reductions in host memory, and flags */
    PTO_LANE_SEND,   /* messages that it sends */
    PTO_LANE_RECV,   /* messages that it receives */
    PTO_LANE_MEMORY, /* its node's host memory, which all processes of the node share */
    PTO_LANE_RESOURCE_COUNT
} pto_lane_resource_t;

/* The bytes that a stage moves over the links of nodes. Messages are counted separately from copies (and
 * reductions by CPUs), since a process does one after the other. */
typedef enum { PTO_LOAD_MESSAGES, PTO_LOAD_COPIES, PTO_LOAD_KINDS } pto_load_kind_t;

typedef struct {
    pto_shared_links_t links;
    int64_t nodes;
    double *bytes;       /* [kind][node][link] */
    pto_time_t *longest; /* [node]: the longest of the stage's copies and reductions */
    const pto_fabric_t *fabric;
    double *fabric_bytes; /* [directed link]: of messages between nodes; NULL: the machine has no fabric */
} pto_link_loads_t;

/* A raise of a flag. */
typedef struct {
    int64_t from;    /* the actor that raised it */
    int64_t round;   /* pto_flags_t.round at that time */
    pto_ledger_t at; /* the actor's ledger at that time */
    bool consumed;   /* a wait has ended by this raise */
} pto_raise_t;

/* The raises of one flag for one actor, oldest first. Consumed ones may stay in the list for a while. */
typedef struct {
    pto_raise_t *item;
    int count;
    size_t capacity;
    int pending;   /* number of those not consumed */
    bool unsorted; /* the raises are not in the order of the actors */
} pto_raises_t;

/* The actors: which processes are priced, and which others they represent. */
typedef struct {
    pto_actor_kind_t kind;
    int64_t count;
    int64_t per_gpu;
    int64_t gpu_count;
    int64_t node_count;
    pto_actor_t *actor;
    int64_t priced_count;
    int64_t *priced;         /* the actors that are priced, in order: those that no other represents */
    int64_t *represented_by; /* [GPU]: the first GPU that does the same (gpus.c); NULL: all are priced */
    bool *takes_part;        /* [step][actor], for actors that are not exact (pto_actors_are_exact) */
} pto_actors_t;

/* Charges that an actor has at the same time. Each needs scratch of its own for its terms. */
typedef enum {
    PTO_TERMS_OUT,   /* what it sends in a stage */
    PTO_TERMS_IN,    /* what it receives */
    PTO_TERMS_OTHER, /* copies and all else */
    PTO_TERMS_EXTRA, /* one step in a lane, or a correction */
    PTO_TERMS_COUNT
} pto_terms_t;

/* The ledgers of all actors. */
typedef struct {
    bool explain;                        /* ledgers keep the terms of their times */
    pto_ledger_t terms[PTO_TERMS_COUNT]; /* scratch for the current actor's charges */
    pto_ledger_t *lane;                  /* [lane][actor] */
    pto_ledger_t *ledger;                /* [actor]: the current lane's part of `lane` */
    pto_ledger_t *before;                /* [actor]: `ledger` as it was before the stage */
    pto_ledger_t *snapshot; /* [actor]: `ledger` as it was before a loop's measured iterations (loops.c) */
    pto_behind_t *behind;   /* [actor]: the copy that its next copy follows in a stream, if any */
    int64_t *order;         /* the actors in the order in which they arrive at a stage */
    bool out_of_memory;
} pto_clocks_t;

/* The flags that are raised. */
typedef struct {
    int64_t count;
    pto_raises_t *raised; /* [flag][actor] */
    int64_t round;        /* number of iterations of loops so far */
    int64_t lag;          /* maximum number of rounds from a raise to its wait, since `lag` was set to 0 */
} pto_flags_t;

/* The lanes' use of the resources that they share (lanes.c). */
typedef struct {
    bool active;
    bool in_branches;     /* the lanes are the branches of a parallel node */
    pto_ledger_t *base;   /* [actor]: its ledger when `demand` was reset to 0 */
    pto_ledger_t *demand; /* [resource][actor]: the sum of the times for which lanes use the resource */
    pto_ledger_t *demand_before; /* `demand` as it was before a loop's measured iterations */
    uint64_t *users;             /* [resource][actor]: a bit for each lane that has used the resource */
    /* For branches: */
    pto_ledger_t *first_use; /* [resource][actor]: the ledger before the first use by any lane */
    pto_ledger_t *last_use; /* [lane][resource][actor]: the ledger after the lane's last stage that used it */
    bool *uses;             /* [resource][actor]: the current stage uses the resource */
} pto_lanes_t;

/* The demand of a stage on GPUs and nodes. */
typedef struct {
    pto_copies_t *engine;   /* one for each GPU that has actors */
    pto_outflow_t *outflow; /* one for each node that has actors */
    pto_link_loads_t loads;
} pto_shared_t;

/* The stage that is being priced. */
typedef struct {
    const pto_stage_t *stage;
    bool both_ways;  /* some process sends and receives within its node at the same time, which the machine's
                        parameter `both_ways` makes slower */
    bool in_library; /* the stage belongs to a collective that the MPI library runs */
    int library_end; /* the last node of the last such collective; -1: there was none */
} pto_at_t;

/* The results, besides the ledgers. */
typedef struct {
    /* How long the plan has occupied resources (occupied.c). The second half of the array is a copy from
     * before a loop's measured iterations. NULL: no explanation is wanted. */
    double *occupied_s;
    pto_extrapolation_t extrapolated;
    bool exceeded; /* the price is above bound_s, so pricing ends with PTO_ERR_INTERRUPTED */
} pto_outcome_t;

typedef struct pto_message_rules pto_message_rules_t;
typedef struct pto_summed pto_summed_t;

typedef struct {
    /* The request, which does not change while the plan is priced. */
    const pto_plan_t *plan;
    const pto_machine_t *machine;
    const pto_cost_row_t *run_cost; /* of a whole run (pto_runs_by_lines); NULL: its steps are priced */
    double bound_s;                 /* pricing may stop above this; INFINITY: it never does */
    pto_price_cache_t *cache;
    pto_tables_t *tables; /* the cache's; NULL: the request has no table of byte counts */
    pto_error_t *err;
    /* Its price so far. */
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

/* The work in this thread, for tests: number of (actor, stage) and (actor, peer) pairs that were priced. */
extern _Thread_local int64_t pto_price_visits;

/* For tests: prices the actors of every GPU of a node, even if another GPU does the same (gpus.c). */
extern _Thread_local bool pto_price_each_gpu;

/* A way to price a node of a plan, if it applies to it. `k` is the iteration of its loop. Errors: those of
 * pto_price. */
typedef struct {
    bool (*applies)(const pto_pricing_t *pricing, int node);
    pto_status_t (*price)(pto_pricing_t *pricing, int node, int64_t k);
} pto_pricer_t;

extern const pto_pricer_t pto_pricer_lines, pto_pricer_nccl, pto_pricer_lanes, pto_pricer_pairs,
    pto_pricer_loops, pto_pricer_at_once;

/* Prices a stage step by step. */
pto_status_t pto_stage_price(pto_pricing_t *pricing, int node, int64_t k);

/* Prices nodes [first, first + count) in iteration k. Errors: those of pto_price. */
pto_status_t pto_price_nodes(pto_pricing_t *pricing, int first, int count, int64_t k);

/* Iterations [uniform_from, uniform_to) of a loop or pipeline: each `period` of them cost the same. */
typedef struct {
    int64_t uniform_from;
    int64_t uniform_to;
    int64_t period;
} pto_repeat_t;

/* Finds them for the loop or pipeline at a node of the plan; uniform_from >= uniform_to: there are none. */
pto_repeat_t pto_find_repeat(const pto_plan_t *plan, int index);

/* Postpones each copy in the queues of GPUs by `times` what its actor has gained from `before` to `now`. */
void pto_pricing_shift_queues(pto_pricing_t *pricing, const pto_ledger_t *now, const pto_ledger_t *before,
                              double times);

/* Copies `demand` to `demand_before`. */
void pto_lanes_remember_demand(pto_pricing_t *pricing);
/* Adds `times` the growth of `demand` since pto_lanes_remember_demand. */
void pto_lanes_repeat_demand(pto_pricing_t *pricing, double times);
/* Returns the resource of a step that is not a message. */
pto_lane_resource_t pto_lane_resource(const pto_plan_t *plan, const pto_step_t *step);
/* Adds an actor's use of a resource in the current lane. */
void pto_lane_demand(pto_pricing_t *pricing, int64_t actor, pto_lane_resource_t resource,
                     const pto_charge_t *charge, pto_time_t time);
/* Records that an actor has ended a stage, or a part of one, in a branch. */
void pto_lane_ended(pto_pricing_t *pricing, int64_t actor);

/* These do nothing if no explanation is wanted. pto_occupied_allocate returns false when out of memory. */
bool pto_occupied_allocate(pto_pricing_t *pricing);
/* Copies `occupied_s` before a loop's measured iterations. */
void pto_occupied_remember(pto_pricing_t *pricing);
/* Adds `times` the growth of `occupied_s` since pto_occupied_remember. */
void pto_occupied_repeat(pto_pricing_t *pricing, double times);
/* Each adds one kind of use: by a step that is not a message; by an actor's messages of a stage; by a stage
 * on all nodes, once its sends are counted; by a call of NCCL. */
void pto_occupied_step(pto_pricing_t *pricing, const pto_action_t *action, double seconds);
void pto_occupied_messages(pto_pricing_t *pricing, int64_t actor, pto_time_t out, pto_time_t in);
void pto_occupied_stage(pto_pricing_t *pricing);
void pto_occupied_nccl(pto_pricing_t *pricing, const pto_node_t *node, double seconds);
/* Reports how long the busiest actor and the busiest node are occupied: at most `seconds`, the price. */
void pto_occupied_report(const pto_pricing_t *pricing, double seconds, pto_explanation_t *explanation);

/* Raises the step's flag at all its peers, at the actor's current time. */
void pto_raises_raise(pto_pricing_t *pricing, pto_action_t *action);
/* Waits for the step's flag from all its peers. */
void pto_raises_wait(pto_pricing_t *pricing, pto_action_t *action, pto_charge_t *charge);
/* Returns the number of raises that have not been waited for. */
int64_t pto_raises_pending(const pto_pricing_t *pricing);
/* Postpones the raises of the last `period` rounds by `times` what their actors gained since the snapshot. */
void pto_raises_repeat(pto_pricing_t *pricing, int64_t period, double times);
void pto_raises_fini(const pto_pricing_t *pricing);

/* Finds the GPUs of a node that do the same, so that one of them is priced for all. Call it after
 * pto_actors_find_participation. Returns false when out of memory. */
bool pto_gpus_find(pto_pricing_t *pricing);

/* Returns the actor that represents this one. */
static inline int64_t pto_actor_priced(const pto_pricing_t *pricing, int64_t actor) {
    int64_t cores = pricing->actors.per_gpu;
    return pricing->actors.represented_by
               ? pricing->actors.represented_by[actor / cores] * cores + actor % cores
               : actor;
}

/* If GPUs represent others, counts the copies of the processes of all other GPUs at each priced GPU. */
void pto_gpus_count_copies_with_peers(pto_pricing_t *pricing, const pto_step_t *step, int64_t k);

/* Returns the kind of actors that a plan requires. */
pto_actor_kind_t pto_actors_of(const pto_plan_t *plan);

/* Returns whether latency delays processes differently, and these are few enough to be PTO_ACTORS_RANKS. */
bool pto_latency_matters(const pto_plan_t *plan, const pto_machine_t *machine);

/* Fills in the actors of the pricing's kind. Returns false when out of memory. */
bool pto_actors_find(pto_pricing_t *pricing);
/* Finds in which steps they take part. Call it after pto_actors_find. Returns false when out of memory. */
bool pto_actors_find_participation(pto_pricing_t *pricing);

/* Returns whether the actors are all members of the step's groups, each priced with its own peers. Such
 * actors are exact. */
static inline bool pto_actors_are_exact(const pto_pricing_t *pricing, const pto_step_t *step) {
    const pto_plan_t *plan = pricing->plan;
    if (pricing->actors.kind != PTO_ACTORS_PLACES)
        return pricing->actors.kind == PTO_ACTORS_RANKS;
    return plan->request.layout.nodes == 1 || pto_group_is_on_node(pto_group_at(plan, step->group)->kind);
}

/* Returns the node of an actor's first process. */
static inline int64_t pto_actor_node(const pto_pricing_t *pricing, int64_t actor) {
    return pricing->actors.actor[actor].place.node;
}

/* Returns whether an actor takes part in a step, and fills in `action`, whose rank is the actor's number. An
 * actor that is not exact takes part if its cores do and its first process is a member before folding; the
 * action's peer is then 0. */
static inline bool pto_actor_acts(const pto_pricing_t *pricing, const pto_step_t *step, int64_t actor,
                                  int64_t k, pto_action_t *action) {
    if (pto_actors_are_exact(pricing, step))
        return pto_step_acts(pricing->plan, step, actor, k, action);
    int64_t index = step - pto_step_at(pricing->plan, 0);
    if (!pricing->actors.takes_part[index * pricing->actors.count + actor])
        return false;
    *action =
        (pto_action_t){.step = step, .rank = actor, .core = pricing->actors.actor[actor].place.core, .k = k};
    return true;
}

/* Notes that memory has run out unless a function of ledgers has succeeded. The pricing ends later then. */
static inline void pto_pricing_must(pto_pricing_t *pricing, bool succeeded) {
    pricing->clocks.out_of_memory = pricing->clocks.out_of_memory || !succeeded;
}

/* Returns scratch for the terms of a charge; NULL: no explanation is wanted. */
static inline pto_ledger_t *pto_pricing_terms(pto_pricing_t *pricing, pto_terms_t which) {
    return pricing->clocks.explain ? &pricing->clocks.terms[which] : NULL;
}

/* Adds a charge to an actor's ledger. */
static inline void pto_pricing_add(pto_pricing_t *pricing, int64_t actor, const pto_charge_t *charge,
                                   pto_time_t time) {
    pto_pricing_must(pricing, pto_ledger_add(&pricing->clocks.ledger[actor], charge, time));
}

/* Advances `ledger` to the time of `from` if that is later. */
static inline void pto_pricing_follow(pto_pricing_t *pricing, pto_ledger_t *ledger,
                                      const pto_ledger_t *from) {
    pto_pricing_must(pricing, pto_ledger_follow(ledger, from));
}

/* Lets an actor begin a stage one message latency earlier, since neither end of a message is busy during its
 * latency. Both ends are then charged the whole cost of the message. So the sender is busy for this cost less
 * the latency. The receiver also follows the sender (pto_pricing_follow), so that the message arrives its
 * whole cost after the sender began. This applies if the latency is known, the stage has messages between
 * nodes, and the actor sends at most one of them: the last of several arrives when the actor has paid for all
 * of them. Call this before the actor follows others. If it returns true, let the actor follow its ledger
 * from before the stage once the stage is added, since the latency may be longer than the stage. */
bool pto_pricing_begin_early(pto_pricing_t *pricing, const pto_stage_t *stage, int64_t actor, int64_t k);
/* Returns whether the machine has the latency of messages between nodes. */
bool pto_latency_known(const pto_machine_t *machine);

/* Copies the current ledgers of all priced actors. */
static inline void pto_pricing_save(pto_pricing_t *pricing, pto_ledger_t *copies) {
    for (int64_t i = 0; i < pricing->actors.priced_count; i++) {
        int64_t actor = pricing->actors.priced[i];
        pto_pricing_must(pricing, pto_ledger_copy(&copies[actor], &pricing->clocks.ledger[actor]));
    }
}

/* These do nothing if no link is known to be shared. pto_links_allocate returns false when out of memory. */
bool pto_links_allocate(pto_pricing_t *pricing);
void pto_links_release(const pto_shared_t *shared);
void pto_links_begin(pto_pricing_t *pricing);

/* Counts a message of a rank to its current peer, on its node or between nodes. */
void pto_links_count_message(pto_pricing_t *pricing, const pto_action_t *action, int64_t bytes);
/* Counts the messages of a step within the nodes, for actors that represent several processes. */
void pto_links_count_step(pto_pricing_t *pricing, const pto_step_t *step, int64_t k);

/* Counts the copies of an exact actor with each of its peers. */
void pto_links_count_copies(pto_pricing_t *pricing, pto_action_t *action);
/* Counts the copies of an actor that represents several processes; `bytes` is their sum on one GPU. */
void pto_links_count_class_copies(pto_pricing_t *pricing, const pto_action_t *action, double bytes);
/* Counts the reductions of an actor's CPUs. */
void pto_links_count_reductions(pto_pricing_t *pricing, pto_action_t *action);

/* The busiest of several links, and the time of its bytes; all 0 if there is none. */
typedef struct {
    pto_time_t time;
    const pto_param_t *s_per_byte;
} pto_busiest_t;

/* The busiest links of an actor's messages: those of its node, and those between nodes. */
typedef struct {
    pto_busiest_t on_node;
    pto_busiest_t off_node;
} pto_busiest_links_t;

/* Replaces `*busiest` by a busier link that an actor's message passes, if there is one. */
void pto_links_busiest_of_message(const pto_pricing_t *pricing, const pto_action_t *action,
                                  pto_busiest_links_t *busiest);
/* The same for the links, without memory, that an actor's copies pass. */
void pto_links_busiest_of_copies(const pto_pricing_t *pricing, pto_action_t *action, pto_busiest_t *busiest);
/* The same for all links that messages count at one end, or that copies pass. */
void pto_links_busiest_of_all(const pto_pricing_t *pricing, pto_load_kind_t kind, pto_path_end_t end,
                              pto_busiest_t *busiest);

/* Returns the busiest memory of an actor's node. */
pto_busiest_t pto_links_busiest_memory(const pto_pricing_t *pricing, pto_load_kind_t kind, int64_t actor);

/* Charges the time of the busiest link that exceeds `own`, the time of the actor's own bytes. */
void pto_charge_busiest(pto_charge_t *charge, const pto_busiest_t *busiest, pto_time_t own);

/* How the messages of actors are counted and charged. */
struct pto_message_rules {
    /* Counts the bytes of a step on links, for all actors; NULL: `count` does so for each actor. */
    void (*count_step)(pto_pricing_t *pricing, const pto_step_t *step, int64_t k);
    /* Returns whether a process sends and receives within its node in one stage; NULL: each may. */
    bool (*both_ways)(const pto_plan_t *plan, const pto_stage_t *stage, int64_t k);
    /* Adds what an actor sends to its node's outflow. */
    void (*count)(pto_pricing_t *pricing, pto_action_t *action);
    /* Returns the number of an actor's messages between nodes in a step; NULL: its processes differ. */
    int64_t (*off_node)(const pto_pricing_t *pricing, pto_action_t action);
    /* Charges what an actor sends or receives; a receive also waits for its senders. Errors: those of
     * pto_charge_messages. */
    pto_status_t (*charge)(pto_pricing_t *pricing, pto_action_t *action, pto_charge_t *charge,
                           pto_busiest_links_t *busiest);
};
/* For actors of one process, peer by peer; for those of several, by arithmetic. */
extern const pto_message_rules_t pto_messages_by_rank, pto_messages_by_class;

/* Returns pto_slice_bytes of an actor that represents several processes: their maximum. */
int64_t pto_class_slice_bytes(const pto_plan_t *plan, const pto_slice_t *slice, const pto_action_t *action);

/* Returns pto_copy_bytes of such an actor: 0 if all of its processes copy a buffer onto itself. */
int64_t pto_class_copy_bytes(const pto_plan_t *plan, const pto_action_t *action);

#endif
