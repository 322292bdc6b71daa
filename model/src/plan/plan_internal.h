/* The representation of a plan (portolan/plan.h), and functions on plans that the builder and the
 * interpreters of this library share. Words of this folder:
 * - place: the (node, GPU, core) of a rank. A core is one of the processes of a GPU.
 * - held: a rank holds a buffer if it has a copy of it, of its own size and with its own blocks.
 * - table: the blocks of a buffer differ in size, following the request's byte counts.
 * - dealt out: each core of a GPU holds other blocks of a buffer, in cyclic order (pto_cyclic_t). */
#ifndef PTO_PLAN_INTERNAL_H
#define PTO_PLAN_INTERNAL_H

#include "portolan/plan.h"
#include "scenario/skew.h"

/* A growing array. */
typedef struct {
    void *item; /* `count` elements of the type that struct pto_plan names */
    int count;
    size_t capacity; /* in elements */
} pto_list_t;

struct pto_plan {
    pto_request_t request;
    pto_list_t nodes;   /* pto_node_t */
    pto_list_t calls;   /* pto_call_slices_t */
    pto_list_t stages;  /* pto_stage_t */
    pto_list_t steps;   /* pto_step_t */
    pto_list_t buffers; /* pto_buffer_t */
    pto_list_t groups;  /* pto_group_t */
    pto_list_t flags;   /* const char * */
    pto_plan_t *fixed;  /* owned: the plan that is priced instead (pto_plan_fixed); NULL: this one */
};

/* Inline versions of pto_plan_node, pto_plan_stage, ... of plan.h. */
static inline const pto_node_t *pto_node_at(const pto_plan_t *plan, int index) {
    return (const pto_node_t *)plan->nodes.item + index;
}
static inline const pto_stage_t *pto_stage_at(const pto_plan_t *plan, int index) {
    return (const pto_stage_t *)plan->stages.item + index;
}
static inline const pto_step_t *pto_step_at(const pto_plan_t *plan, int index) {
    return (const pto_step_t *)plan->steps.item + index;
}
static inline const pto_buffer_t *pto_buffer_at(const pto_plan_t *plan, int index) {
    return (const pto_buffer_t *)plan->buffers.item + index;
}
static inline const pto_group_t *pto_group_at(const pto_plan_t *plan, int index) {
    return (const pto_group_t *)plan->groups.item + index;
}

/* Returns the stage of a stage node; NULL for other kinds of nodes. */
static inline const pto_stage_t *pto_node_stage(const pto_plan_t *plan, int index) {
    const pto_node_t *node = pto_node_at(plan, index);
    return node->kind == PTO_NODE_STAGE ? pto_stage_at(plan, node->stage) : NULL;
}

/* Returns whether a collective node's call reads and writes one buffer. */
static inline bool pto_call_in_place(const pto_plan_t *plan, const pto_node_t *node) {
    const pto_call_slices_t *call = pto_plan_call(plan, node->call);
    return call->in.buffer == call->out.buffer;
}

/* A range of bytes in a rank's buffer. */
typedef struct {
    int64_t offset_bytes;
    int64_t bytes;
} pto_extent_t;

int64_t pto_floor_mod(int64_t value, int64_t modulus);

/* pto_expr_value for the inner loops. */
static inline int64_t pto_expr_at(const pto_expr_t *expr, int64_t k, int64_t core, int64_t peer) {
    int64_t value = expr->constant + expr->loop * k + expr->core * core + expr->peer * peer;
    if (expr->power)
        value += expr->power * ((int64_t)1 << k);
    if (expr->inverse)
        value += expr->inverse / ((int64_t)1 << k);
    return value;
}

/* Returns whether an expression has the same value in all iterations, for all cores and peers. */
static inline bool pto_expr_is_constant(const pto_expr_t *expr) {
    return !expr->loop && !expr->power && !expr->inverse && !expr->core && !expr->peer;
}

static inline bool pto_expr_is(const pto_expr_t *expr, int64_t constant) {
    return expr->constant == constant && pto_expr_is_constant(expr);
}

/* Returns whether two expressions are equal. */
static inline bool pto_expr_same(const pto_expr_t *a, const pto_expr_t *b) {
    return a->constant == b->constant && a->loop == b->loop && a->power == b->power &&
           a->inverse == b->inverse && a->core == b->core && a->peer == b->peer;
}

/* Returns whether a range is the same in all iterations, for all cores and peers. */
static inline bool pto_range_is_constant(const pto_expr_t *first, const pto_expr_t *stride,
                                         const pto_expr_t *until) {
    return pto_expr_is_constant(first) && pto_expr_is_constant(stride) && pto_expr_is_constant(until);
}

/* Returns whether a range always contains all `count` members. */
static inline bool pto_range_is_all(const pto_expr_t *first, const pto_expr_t *stride,
                                    const pto_expr_t *until, int64_t count) {
    return pto_range_is_constant(first, stride, until) && first->constant == 0 && stride->constant == 1 &&
           until->constant >= count;
}

/* Returns the number of values below `until` in [first, first + run), [first + stride, first + stride + run),
 * ... `until` is above `first`. */
static inline int64_t pto_run_values(int64_t first, int64_t run, int64_t stride, int64_t until) {
    if (until - first <= stride) /* the usual case, without a division */
        return until - first < run ? until - first : run;
    int64_t whole_runs = (until - first - 1) / stride;
    int64_t last = until - (first + whole_runs * stride);
    return whole_runs * run + (last < run ? last : run);
}

/* Returns the bytes of chunk k of a block. */
int64_t pto_chunk_bytes_at(int64_t bytes, int64_t chunks, int64_t k);

/* pto_group_index for a rank given by its place; the group need not belong to the plan. */
int64_t pto_group_index_at(const pto_layout_t *layout, const pto_group_t *group, pto_rank_t place);

/* Bits for the coordinates of a place. */
enum { PTO_BY_NODE = 1, PTO_BY_GPU = 2, PTO_BY_CORE = 4 };

/* Traits of a kind of group. A coordinate that is neither in `index` nor in `color` is 0 for all members. */
typedef struct {
    const char *member[2];      /* what a member is called: in a whole group, in a folded one */
    unsigned index;             /* PTO_BY_...: the coordinates that number the members */
    unsigned color;             /* the coordinates that all members of a group share, as in MPI_Comm_split */
    bool owners_only;           /* only the cores that hold user data */
    pto_group_kind_t levels[2]; /* of a group with several members on several nodes: its members on one node,
                                   and the first ones of all nodes; else both PTO_GROUP_OWNERS */
} pto_group_traits_t;

extern const pto_group_traits_t pto_group_traits[PTO_GROUP_COUNT];

/* Returns whether `level` is the kind `whole` or one of its levels. */
static inline bool pto_group_is_level_of(pto_group_kind_t level, pto_group_kind_t whole) {
    const pto_group_kind_t *levels = pto_group_traits[whole].levels;
    return level == whole || (levels[0] != levels[1] && (level == levels[0] || level == levels[1]));
}

/* Returns whether all members of a group are processes of one GPU, or of one node. */
static inline bool pto_group_is_on_gpu(pto_group_kind_t kind) {
    return pto_group_traits[kind].index == PTO_BY_CORE;
}
static inline bool pto_group_is_on_node(pto_group_kind_t kind) {
    return !(pto_group_traits[kind].index & PTO_BY_NODE);
}

/* Members of one group that are processes of one GPU. */
int64_t pto_group_members_per_gpu(const pto_layout_t *layout, pto_group_kind_t kind);
/* Processes of one GPU that are members of any group of the kind. */
int64_t pto_group_ranks_per_gpu(const pto_layout_t *layout, pto_group_kind_t kind);

/* Index arithmetic of folded groups: the member before folding, and the reverse (-1 for a member folded
 * away). */
static inline int64_t pto_fold_out(int64_t fold, int64_t index) {
    return index < fold ? 2 * index + 1 : index + fold;
}
int64_t pto_fold_in(int64_t fold, int64_t base_index);

/* Returns whether the body of this kind of node is executed for each k in [from, to). */
bool pto_node_repeats(pto_node_kind_t kind);

/* Checks that nodes are nested as plan.h allows, and that no node has too many lanes. Errors:
 * PTO_ERR_INVALID_PLAN. */
pto_status_t pto_lanes_check(const pto_plan_t *plan, pto_error_t *err);

/* Returns whether a buffer's blocks differ in size, following the user's byte counts. */
static inline bool pto_blocks_are_table(const pto_buffer_t *buffer) {
    return buffer->blocks != PTO_BLOCKS_EQUAL && buffer->blocks != PTO_BLOCKS_SHARE;
}

/* Returns the mean of the bytes that each owner contributes to an allgatherv. */
double pto_request_mean_bytes(const pto_request_t *request);

/* Finds the number of processes of a request's first collective node, and the bytes of the first block of its
 * member 0. Only the strategy's nodes are built, without the algorithm's stages. Both are left unchanged if
 * there is no such node. Returns false if the algorithm does not apply, or if out of memory. */
bool pto_request_first_call(const pto_request_t *request, int64_t *procs, int64_t *bytes);

/* Returns whether the plan's byte counts come from a table, so that every rank differs. */
bool pto_plan_has_tables(const pto_plan_t *plan);

/* Returns whether all nodes of the layout do the same in a step (symmetry.c). `ordered`: the peers must come
 * in the same order, too. */
bool pto_step_is_alike_on_nodes(const pto_plan_t *plan, const pto_step_t *step, bool ordered);

/* Enumerates the actions of a step that have `rank` as a peer, and makes it their current peer. Call with
 * `*next` 0 first, until it returns false. Actions are in rank order if all members are peers of each other.
 */
bool pto_step_next_reaching(const pto_plan_t *plan, const pto_step_t *step, int64_t rank, int64_t k,
                            int64_t *next, pto_action_t *action);

/* Returns whether processes copy into or out of their peers' memory. */
bool pto_plan_uses_peers_memory(const pto_plan_t *plan);

/* Returns the slice of blocks that a slice of cells (pto_cells_t) means for an action. */
pto_slice_t pto_slice_in_grid(const pto_plan_t *plan, const pto_slice_t *slice, const pto_action_t *action);

/* Returns the slice whose bytes a step moves: its source, or its target if it has none. */
const pto_slice_t *pto_message_slice(const pto_step_t *step);

/* Returns whether a step copies from the user's input to the output within a process, and both are one buffer
 * (a request in place). */
bool pto_copy_joins_user_buffers(const pto_plan_t *plan, const pto_step_t *step);

/* Returns the bytes that a copy moves: 0 if its source and target are the same memory (a request in place).
 */
int64_t pto_copy_bytes(const pto_plan_t *plan, const pto_action_t *action);

/* Returns the kind of a copy step, by the spaces of its buffers. */
pto_copy_kind_t pto_step_copy_kind(const pto_plan_t *plan, const pto_step_t *step);

/* Returns whether a copy's bytes are non-contiguous on one side for every process, as with shares of several
 * blocks. */
bool pto_step_is_strided(const pto_step_t *step, int64_t k, int64_t core);

/* Returns the number of pieces of a copy of non-contiguous blocks, such as blocks that are dealt out. */
int64_t pto_step_pieces(const pto_step_t *step, int64_t k, int64_t core);

/* Returns the number of rows of a halo exchange's copy; 1 for other copies, whose pieces are large. */
int64_t pto_step_rows(const pto_plan_t *plan, const pto_step_t *step);

/* Returns whether a copy's host side is pageable memory. */
bool pto_step_is_pageable(const pto_plan_t *plan, const pto_step_t *step);

/* pto_buffer_bytes, or a faster function with the same result. */
typedef int64_t (*pto_bytes_of_buffer_t)(void *context, const pto_plan_t *plan, int buffer, int64_t rank);

/* pto_plan_memory, with this function. */
void pto_plan_memory_by(const pto_plan_t *plan, pto_bytes_of_buffer_t bytes_of, void *context,
                        int64_t *gpu_bytes, int64_t *host_bytes);

/* Upper bounds of pto_plan_memory, in a time that does not depend on the number of ranks. */
void pto_plan_memory_bound(const pto_plan_t *plan, double *gpu_bytes, double *host_bytes);

/* Upper bound of the messages, copies, ... of a step on all ranks: one per peer, or one if the step has no
 * peers. INT64_MAX if the count does not fit. */
int64_t pto_step_actions(const pto_plan_t *plan, const pto_step_t *step, int64_t k);

/* Returns whether the acting members of a step, or their peers, depend on the core. */
bool pto_step_depends_on_core(const pto_step_t *step);

/* Returns whether this core acts in any step. If not, its processes need not walk the stages. */
bool pto_core_acts(const pto_plan_t *plan, int64_t core);
/* Returns the number of cores of a GPU that act in any step. */
int64_t pto_acting_cores(const pto_plan_t *plan);

/* Check that the plan can be read rank by rank. `what` begins the message, as in "a plan is read". Errors:
 * PTO_ERR_TOO_LARGE with the count and the limit. */
pto_status_t pto_walk_check_size(const pto_plan_t *plan, const char *what, pto_error_t *err);

/* Check that pricing the plan, rank by rank or as pto_price does it, is within the limits. `machine`: NULL if
 * it is not known yet. Errors: PTO_ERR_TOO_LARGE with the count and the limit. */
pto_status_t pto_price_walk_check_size(const pto_plan_t *plan, const pto_machine_t *machine,
                                       pto_error_t *err);
pto_status_t pto_price_check_size(const pto_plan_t *plan, pto_error_t *err);

/* Check, before pricing, that the machine has costs for the copies from and to peers. The first process of a
 * step and the first iteration of a loop represent all others. Errors: PTO_ERR_NOT_APPLICABLE. */
pto_status_t pto_price_check_copies(const pto_plan_t *plan, const pto_machine_t *machine, pto_error_t *err);

/* Returns whether a machine's messages contend only for the injection limit of their node. Messages of a
 * table can then be priced from sums of bytes. */
bool pto_messages_are_apart(const pto_machine_t *machine, const pto_layout_t *layout);

/* Returns whether a status concerns one strategy only. A table of prices then shows the reason in the cell of
 * this strategy, and the other cells are computed. */
static inline bool pto_leaves_cell_out(pto_status_t status) {
    return status == PTO_ERR_NOT_APPLICABLE || status == PTO_ERR_TOO_LARGE || status == PTO_ERR_INTERRUPTED;
}

/* One rank's copy of a buffer, prepared for arithmetic on its blocks. */
typedef struct {
    const pto_plan_t *plan;
    const pto_buffer_t *buffer;
    pto_rank_t place;
    int64_t index;          /* of the rank in the buffer's group; -1: in none */
    int64_t core;           /* place.core */
    int64_t members;        /* of that group; 0 unless blocks are dealt out, rotated or shared among it */
    int64_t known_block;    /* of a table that is not dealt out: a block whose offset is known; */
    int64_t known_offset;   /* its offset in bytes. The offsets of later blocks are summed from here. */
    const int64_t *offsets; /* of a table: offsets in bytes, by block (pto_offsets_t); NULL: not computed */
    bool is_skewed;         /* the sizes of the blocks are random, by `skew` */
    pto_skew_t skew;
} pto_held_t;

/* Returns whether a buffer's blocks have random sizes; if so, sets `*skew`. */
bool pto_buffer_is_skewed(const pto_plan_t *plan, const pto_buffer_t *buffer, pto_skew_t *skew);

/* Work done in this thread, for tests: plans built, and blocks whose sizes were summed. */
extern _Thread_local int64_t pto_plans_made;
extern _Thread_local int64_t pto_blocks_summed;

struct pto_offsets {
    int64_t rank;
    int count;           /* buffers [0, count) may have offsets */
    int64_t **by_buffer; /* then by block, in bytes; NULL: not a table, or the rank has no such buffer */
};

/* A cursor over the actions of one rank in steps of some kinds, in the order of the plan's stages and steps.
 * Each peer of a step is an action, as in pto_step_next. */
typedef struct {
    pto_walk_t walk; /* the stage of the action */
    pto_action_t action;
    int64_t rank;
    unsigned kinds; /* of steps: bits 1 << pto_step_kind_t */
    int step;       /* number of the stage's steps that have been entered */
    bool acts;      /* the rank acts in the last one of these */
    int64_t next;   /* the state of pto_step_next in that step */
} pto_actions_t;

void pto_actions_begin(pto_actions_t *actions, const pto_plan_t *plan, int64_t rank, unsigned kinds);
/* Moves to the first action, then to the next one; false after the last. */
bool pto_actions_next(pto_actions_t *actions);

/* Returns a rank's copy of a buffer. */
pto_held_t pto_held_by(const pto_plan_t *plan, int buffer, int64_t rank);

/* Returns the bytes of a rank's buffer, unless it is the user's. */
int64_t pto_buffer_temporary_bytes(const pto_plan_t *plan, int buffer, int64_t rank);

/* Returns whether a slice is exactly the peer's block, as in most messages. Its bytes are then
 * pto_held_block_bytes of the peer's index. */
bool pto_slice_is_peers_block(const pto_slice_t *slice);
int64_t pto_held_block_bytes(const pto_held_t *held, int64_t block);

/* Returns pto_slice_bytes for the holder's copy of the buffer. */
int64_t pto_held_slice_bytes(const pto_slice_t *slice, const pto_action_t *action, pto_held_t *held);

/* Sets `*bytes` to the result of pto_held_slice_bytes, for a sparse table: only the `count` blocks listed in
 * `block` may be non-empty. Returns false for slices that it does not support. */
bool pto_held_slice_bytes_among(const pto_slice_t *slice, const pto_action_t *action, pto_held_t *held,
                                const int64_t *block, int64_t count, int64_t *bytes);

/* Returns the number of blocks that a slice selects: its values of w (pto_slice_t). */
int64_t pto_slice_block_count(const pto_slice_t *slice, int64_t k, int64_t core, int64_t peer);

#endif
