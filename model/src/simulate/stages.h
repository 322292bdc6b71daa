/* Steps and stages as all ranks see them: what is the same for each rank that passes, and what their messages
 * cost (passages.c, moves.c, costs.c). */
#ifndef PTO_SIMULATE_STAGES_H
#define PTO_SIMULATE_STAGES_H

#include "plan/plan_internal.h"

typedef struct {
    double alpha_s;
    double alone_s; /* beta s, at the rate of the two processes alone */
    double bytes_s; /* the same, with what slows it */
} pto_sim_cost_t;

/* What a cost depends on: messages that agree in all of it cost the same. The step determines its stage. */
typedef struct {
    int64_t bytes;
    uint32_t step;
    pto_level_t level;
    bool in_lanes;
    uint8_t moved; /* by the side, earlier in its stage: see pto_side_t */
} pto_cost_key_t;

enum { PTO_KNOWN_COSTS_BITS = 8 };

/* Costs computed lately, by a hash of their keys. */
typedef struct {
    int64_t bytes;
    uint64_t rest; /* of the key; 0: an unused entry */
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

/* --- passages ------------------------------------------------------------------------------------------- */

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

#endif
