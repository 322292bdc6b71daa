/* Steps and stages as all ranks see them: what is the same for each rank that passes, and what their messages
 * cost (passages.c, moves.c, costs.c). */
#ifndef PTO_SIMULATE_STAGES_H
#define PTO_SIMULATE_STAGES_H

#include "plan/plan_internal.h"
#include "price/paths.h"
#include "price/pricing.h"
#include "simulate/message_pool.h"

typedef struct {
    double alpha_s;
    double alone_s;   /* beta s, at the rate of the two processes alone */
    double bytes_s;   /* the same, with what slows it */
    double link_s[2]; /* of the link of its receiver's node, and of its sender's */
} pto_sim_cost_t;

enum { PTO_KNOWN_COSTS_BITS = 8 };

/* Costs computed lately, by a hash of what they depend on: messages that agree in all of it cost the same. */
typedef struct {
    int64_t bytes;
    uint64_t rest; /* see pto_cost_rest; 0: an unused entry */
    pto_space_t space;
    bool held_back;
    pto_sim_cost_t cost;
} pto_known_cost_t;

/* A copy of a rank. */
typedef struct {
    int64_t bytes;
    int64_t pieces;
    int64_t rows;
    int64_t most_bytes; /* of a kernel's accesses: the maximum for one other GPU */
    double alone_s;
    int32_t gpu; /* the GPU whose engine or link it uses, and which of its engines */
    pto_copy_kind_t kind;
    pto_reach_t reach;
    pto_remote_t how; /* a kernel's */
    uint8_t engine;
    bool pageable;
    bool queued;
    bool strided;
    bool between_gpus;
    bool in_kernel; /* by a kernel's threads */
} pto_sim_copy_t;

_Static_assert(sizeof(pto_sim_copy_t) == 64, "a copy is to stay within a cache line");

/* Copies within a GPU and reductions made lately, and what copies take that share an engine, by a hash of
 * what they depend on. */
enum { PTO_KNOWN_COPIES_BITS = 7 };
typedef struct {
    int64_t bytes[2]; /* its own, and those of a reduction's target, or of all that share the engine */
    uint64_t rest;    /* see pto_sim_known_copy */
    bool is_known;
    pto_sim_copy_t copy; /* of a step; else only its time */
} pto_known_copy_t;

/* The bytes of a slice of one part, by its number, which are the same in all iterations; or of the random
 * block between a rank and its peer. */
typedef struct {
    bool from_peer;
    bool to_peer;
    int64_t *bytes; /* [core][number]; -1: not computed yet; NULL: not such a slice, or alike */
    int64_t count;
} pto_slice_view_t;

/* Properties of a step, computed before any rank reaches it. */
typedef struct {
    bool is_alike[2]; /* its source, its target has as many bytes for all ranks and peers of an iteration */
    bool same_peers;  /* all ranks have equally many peers in an iteration */
    bool alike;       /* all copies and reductions of an iteration are the same, within a rank's own memory */
    bool on_gpu;      /* all copies of equal bytes by one core are the same, within its GPU's memory */
    bool joins;       /* pto_copy_joins_user_buffers */
    bool for_each_peer; /* copies or reductions, one peer after another; a kernel's threads do all together */
    bool of_all;        /* its group's members are all ranks, in order */
    bool by_index;      /* ranks are the group's members in order, and peers are reached by shift or XOR */
    pto_slice_view_t slice[2];
    double injection_s_per_byte; /* of an off-node send, on its node's links; 0: not limited */
    double rate_s;
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
    bool signals_early; /* it raises flags before all else, because its steps run at once */
} pto_stage_view_t;

/* --- passages ------------------------------------------------------------------------------------------- */

/* Where the bytes of a slice are, in one iteration: at bytes[core_count * core + number], where the number
 * of member `me` is me * stride + first, modulo count. A slice that is alike has one number. */
typedef struct {
    int64_t *bytes; /* -1: not computed yet; NULL: they depend on more */
    int64_t of_all;
    int64_t first;
    int64_t stride;
    int64_t count;
    int64_t core_count;
} pto_sizes_t;

/* A step in one iteration. The numbers are those of all ranks, if all have the same peers. */
typedef struct {
    const pto_step_t *step;
    const pto_step_view_t *view;
    int64_t who_first; /* the members of its group that act */
    int64_t who_stride;
    int64_t who_until;
    int64_t peer_first; /* as added to a rank, or combined with it by XOR */
    int64_t peer_stride;
    int64_t peer_count;
    pto_sizes_t sizes[2]; /* of its source, of its target */
    int64_t group_size;
    bool sends;
    bool receives;
    bool by_index;       /* of its view */
    bool all_act;        /* its group's members are all ranks, in order, and all of them act */
    bool by_xor;         /* ranks are combined with peer_first */
    bool streams;        /* a copy that a rank may leave in its stream (price's rule) */
    bool known;          /* of the only local step of a stage: a rank has made it */
    pto_sim_copy_t copy; /* that copy; of a reduction, only its time */
    pto_behind_t behind; /* what the copy followed */
    bool takes_time;
    bool joins; /* a copy carried by an engine, not in a queue */
} pto_move_t;

/* A stage of one iteration. All ranks pass the same ones, each at its own pace. */
typedef struct pto_passage {
    struct pto_passage *next;        /* NULL: none, or not made yet */
    struct pto_passage *straight;    /* the same, if it is plain and in the same block; else NULL */
    struct pto_passage_block *block; /* NULL: before the first stage */
    const pto_stage_view_t *view;
    pto_move_t *move;  /* one for each step */
    pto_move_t *alone; /* its only local step, if all ranks do the same there, each in its own memory, and
                          nothing else can slow them; NULL: otherwise */
    uint64_t cost_key; /* what the costs of its messages have in common: see pto_cost_rest */
    bool ends_streams; /* all ranks send or receive there, which ends a stream of copies */
    bool plain;        /* a stage of the only lane, in no branch, and no collective of NCCL */
    pto_walk_t walk;
    pto_walk_after_t after;
} pto_passage_t;

/* All that a cost depends on but the bytes, in one number: the stage's part of it, and the whole. What a side
 * has moved earlier in its stage counts too (see pto_side_t). */
enum { PTO_COST_LEVEL_BITS = 3, PTO_COST_MOVED_BITS = 8 };
static inline uint64_t pto_cost_key(bool in_lanes) {
    return (uint64_t)(2 + in_lanes) << (PTO_MESSAGE_STEP_BITS + PTO_COST_LEVEL_BITS + PTO_COST_MOVED_BITS);
}
static inline uint64_t pto_cost_rest(const pto_passage_t *at, uint8_t moved, uint32_t step,
                                     pto_level_t level) {
    uint32_t low = (uint32_t)level << PTO_MESSAGE_STEP_BITS | step;
    return at->cost_key | (uint64_t)moved << (PTO_MESSAGE_STEP_BITS + PTO_COST_LEVEL_BITS) | low;
}

enum { PTO_PASSAGES_PER_BLOCK = 64 };

/* Consecutive passages. A block is freed when all ranks are past it. */
typedef struct pto_passage_block {
    uint32_t procs; /* that are in it */
    int count;
    pto_passage_t passage[PTO_PASSAGES_PER_BLOCK];
    pto_move_t move[];
} pto_passage_block_t;

typedef struct {
    pto_walk_t walk; /* the cursor that makes them */
    pto_passage_t start;
    pto_passage_t *last;         /* that was made */
    pto_passage_block_t **block; /* NULL: freed */
    int64_t block_count;
    size_t block_room;
    int64_t oldest;    /* the first block that is not freed */
    uint32_t starting; /* processes that are at `start` */
    int most_steps;    /* of a stage */
    bool ended;        /* no more can be made */
} pto_passages_t;

#endif
