/* Steps and stages of a plan as a simulation uses them: values that are the same for all ranks are computed
 * once, before the first rank needs them (views.c, passages.c), and costs are cached (costs.c). A view has
 * the values that hold in all iterations of the plan's loops; a move or a passage those of one iteration. Let
 * a loop have 10 iterations of a stage with a send and a receive. Then the stage has one view and its steps
 * have two, but the ranks pass 10 passages, each with two moves. */
#ifndef PTO_SIMULATE_STAGES_H
#define PTO_SIMULATE_STAGES_H

#include "plan/plan_internal.h"
#include "price/paths.h"
#include "price/pricing.h"
#include "simulate/message_pool.h"

/* The cost of a message at one of its ends. */
typedef struct {
    double alpha_s;
    double alone_s;   /* beta times its bytes, at the rate of the two processes alone */
    double bytes_s;   /* the same, with the slowdown of messages between copies (messages.staged) */
    double link_s[2]; /* its time on the link of its receiver's node [0], and of its sender's [1] */
} pto_sim_cost_t;

enum { PTO_KNOWN_COSTS_BITS = 8 };

/* An entry of a cache of messages' costs, by a hash of all that they depend on. */
typedef struct {
    int64_t bytes;
    uint64_t rest; /* see pto_cost_rest; 0: an unused entry */
    pto_space_t space;
    bool held_back; /* until its receive is posted: it uses the rendezvous protocol */
    pto_sim_cost_t cost;
} pto_known_cost_t;

/* A copy of a rank. */
typedef struct {
    int64_t bytes;
    int64_t pieces;
    int64_t rows;
    int64_t most_bytes; /* of a kernel's accesses: the maximum to or from one other GPU */
    double alone_s;     /* its time if it shares nothing */
    int32_t gpu;        /* the GPU whose engine or link it uses */
    pto_copy_kind_t kind;
    pto_reach_t reach;
    pto_remote_t how; /* a kernel's */
    uint8_t engine;   /* of that GPU */
    bool pageable;
    bool queued;
    bool strided;
    bool between_gpus;
    bool in_kernel; /* by a kernel's threads */
} pto_sim_copy_t;

_Static_assert(sizeof(pto_sim_copy_t) == 64, "a copy is to stay within a cache line");

/* An entry of a cache of copies within a GPU, reductions, and times of copies that share an engine, by a hash
 * of what they depend on. */
enum { PTO_KNOWN_COPIES_BITS = 7 };
typedef struct {
    int64_t bytes[2]; /* its own, and those of a reduction's target, or of all that share the engine */
    uint64_t rest;    /* see pto_sim_known_copy */
    bool is_known;
    pto_sim_copy_t copy; /* the copy; of a reduction, and of a shared engine, only alone_s */
} pto_known_copy_t;

/* How the bytes of a slice are found quickly: in a table by the number of its only block or part, which holds
 * for all iterations; or as the random block between a rank and its peer. */
typedef struct {
    bool from_peer; /* the random block from the peer */
    bool to_peer;   /* the random block to the peer */
    int64_t *bytes; /* [core][number]; -1: not computed yet; NULL: no table */
    int64_t count;  /* numbers */
} pto_slice_view_t;

/* Properties of a step, computed before any rank reaches it. */
typedef struct {
    bool same_bytes[2]; /* its source [0], target [1] has equal bytes for all ranks, peers of an iteration */
    bool same_peers;    /* all ranks have equally many peers in an iteration */
    bool same_for_all;  /* all copies or reductions of an iteration are equal, within a rank's own memory */
    bool on_gpu;        /* copies of equal bytes by one core are the same, within its GPU's memory */
    bool joins;         /* pto_copy_joins_user_buffers */
    bool for_each_peer; /* copies or reductions, one peer after another; a kernel does those of all at once */
    bool of_all;        /* its group's members are all ranks, in order */
    bool by_index;      /* of_all, and peers are reached by shift or XOR */
    pto_slice_view_t slice[2];
    double injection_s_per_byte; /* of an off-node send, on its node's links; 0: not limited */
    double rate_s;               /* the least time of such a message on its node; 0: not limited */
} pto_step_view_t;

/* The kinds of steps in a stage. */
typedef struct {
    bool messages;
    bool sends;
    int first_send; /* steps [first_send, last_send] of the stage contain all sends, */
    int last_send;
    int first_recv; /* and [first_recv, last_recv] all receives */
    int last_recv;
    bool locals;
    bool signals_early; /* its steps run at once, so its flags are raised before all else */
} pto_stage_view_t;

/* A slice's table of bytes in one iteration: those of member `me` are bytes[core_count * core + number],
 * where number = me * stride + first, modulo count. If the bytes are the same for all, the table has one
 * entry, `of_all`. */
typedef struct {
    int64_t *bytes; /* of the view, or &of_all; an entry of -1: not computed yet; NULL: no table */
    int64_t of_all;
    int64_t first;
    int64_t stride;
    int64_t count;
    int64_t core_count; /* entries of one core */
} pto_sizes_t;

/* A move: a step in one iteration, with the values of its expressions then. */
typedef struct {
    const pto_step_t *step;
    const pto_step_view_t *view;
    int64_t who_first; /* the members of its group that act */
    int64_t who_stride;
    int64_t who_until;
    int64_t peer_first; /* peer i: what is added to a rank, or combined with it by XOR, is first + i stride */
    int64_t peer_stride;
    int64_t peer_count;
    pto_sizes_t sizes[2]; /* of its source, of its target */
    int64_t group_size;
    bool sends;
    bool receives;
    bool by_index;       /* as in its view */
    bool all_act;        /* its view is of_all, and all members act */
    bool by_xor;         /* its peers are reached by XOR; else by shift */
    bool streams;        /* a copy that may be left in its stream without draining it (price's rule) */
    bool known;          /* of a stage's only local step: the fields below are set */
    pto_sim_copy_t copy; /* that copy; of a reduction, only alone_s */
    pto_behind_t behind; /* the operation that the copy follows, for which `copy` has the time */
    bool takes_time;
    bool joins; /* a copy that an engine carries, not a queue */
} pto_sim_move_t;

/* A passage: a stage in one iteration. All ranks pass the same ones, each at its own pace. */
typedef struct pto_passage {
    struct pto_passage *next; /* NULL: none, or not made yet */
    uint32_t procs;           /* that are at it */
    const pto_stage_view_t *view;
    pto_sim_move_t *move;       /* one for each step */
    pto_sim_move_t *only_local; /* its only local step, if it is the same for all ranks, each in its own
                                   memory, and nothing can slow it; else NULL */
    uint64_t cost_key;          /* what the costs of its messages have in common: see pto_cost_rest */
    bool ends_streams;          /* all ranks send or receive there, so all drain their streams */
    bool plain;                 /* a stage of the only lane, in no branch, and no collective of NCCL */
    pto_walk_t walk;
    pto_walk_after_t after;
} pto_passage_t;

/* All that a message's cost depends on but its bytes, in one number. From the low bits: the message's step,
 * its level, the levels of the earlier messages of its side (`moved`); then 2, or 3 if its stage is in lanes.
 * So the number is never 0, which marks an unused entry of the cache. */
enum { PTO_COST_LEVEL_BITS = 3, PTO_COST_MOVED_BITS = 8 };
static inline uint64_t pto_cost_key(bool in_lanes) {
    return (uint64_t)(2 + in_lanes) << (PTO_MESSAGE_STEP_BITS + PTO_COST_LEVEL_BITS + PTO_COST_MOVED_BITS);
}
static inline uint64_t pto_cost_rest(const pto_passage_t *passage, uint8_t moved, uint32_t step,
                                     pto_level_t level) {
    uint32_t low = (uint32_t)level << PTO_MESSAGE_STEP_BITS | step;
    return passage->cost_key | (uint64_t)moved << (PTO_MESSAGE_STEP_BITS + PTO_COST_LEVEL_BITS) | low;
}

typedef struct {
    pto_walk_t walk;     /* the cursor that makes them */
    pto_passage_t start; /* before the first stage; `next` is the oldest that is not freed */
    pto_passage_t *last; /* that was made */
    bool ended;          /* no more can be made */
} pto_passages_t;

#endif
